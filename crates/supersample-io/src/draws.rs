//! What every format is read into: names, the numbers of the parameter columns, and a way back to the rows.

mod groups;
mod rows;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

pub use self::groups::Groups;
use crate::format::Format;
use crate::frame::{Column, Frame};
#[cfg(any(feature = "parquet", feature = "arrow"))]
use crate::guard::guarded;
use crate::npy::NpySource;
use crate::npz::NpzSource;
use crate::origin::Origin;
use crate::text::TextSource;
use crate::{Error, Reading, Result, npy, npz, text};

/// What one file gave.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) rows: usize,
    pub(crate) names: Vec<String>,
    /// Positions among the names, ascending.
    pub(crate) parameters: Vec<usize>,
    pub(crate) values: Vec<f64>,
    pub(crate) weights: Option<Vec<f64>>,
    /// Warm-up rows that were left out, and whether the file has any.
    pub(crate) warmup: usize,
    pub(crate) has_warmup: bool,
    /// Rows that are the mean of an approximation, left out.
    pub(crate) mean_rows: usize,
    /// Where one file holds several chains.
    pub(crate) draws_per_chain: Option<usize>,
    pub(crate) source: Source,
}

impl Part {
    /// Of a format that knows neither warm-up rows nor chains within a file.
    pub(crate) fn plain(
        names: Vec<String>,
        parameters: Vec<usize>,
        values: Vec<f64>,
        weights: Option<Vec<f64>>,
        source: Source,
    ) -> Part {
        let rows = values.len() / parameters.len();
        Part {
            rows,
            names,
            parameters,
            values,
            weights,
            warmup: 0,
            has_warmup: false,
            mean_rows: 0,
            draws_per_chain: None,
            source,
        }
    }
}

/// The way back to the rows of one file.
#[derive(Debug)]
pub(crate) enum Source {
    Text(TextSource),
    Npy(NpySource),
    Npz(NpzSource),
    #[cfg(feature = "parquet")]
    Parquet(crate::parquet::ParquetSource),
    #[cfg(feature = "arrow")]
    Arrow(crate::arrow::ArrowSource),
}

impl Source {
    fn format(&self) -> Format {
        match self {
            Source::Text(_) => Format::Text,
            Source::Npy(_) => Format::Npy,
            Source::Npz(_) => Format::Npz,
            #[cfg(feature = "parquet")]
            Source::Parquet(_) => Format::Parquet,
            #[cfg(feature = "arrow")]
            Source::Arrow(_) => Format::Arrow,
        }
    }

    /// All cells of one column.
    #[cfg_attr(
        not(any(feature = "parquet", feature = "arrow")),
        expect(unused_variables, reason = "only these two name a column in what they refuse")
    )]
    fn column(&self, name: &str, position: usize, rows: usize) -> Result<Column> {
        match self {
            Source::Text(text) => text.column(position, rows),
            Source::Npy(npy) => npy.column(position, &(0..rows).collect::<Vec<_>>()),
            Source::Npz(npz) => npz.column(position),
            #[cfg(feature = "parquet")]
            Source::Parquet(parquet) => guarded("Parquet", || parquet.column(name, position)),
            #[cfg(feature = "arrow")]
            Source::Arrow(arrow) => guarded("Arrow IPC", || arrow.column(name, position)),
        }
    }

    /// These rows of the file with all their columns.
    fn frame(&self, names: &[String], rows: &[usize]) -> Result<Frame> {
        match self {
            Source::Text(text) => text.frame(names, rows),
            Source::Npy(npy) => npy.frame(names, rows),
            Source::Npz(npz) => npz.frame(names, rows),
            #[cfg(feature = "parquet")]
            Source::Parquet(parquet) => guarded("Parquet", || parquet.frame(rows)),
            #[cfg(feature = "arrow")]
            Source::Arrow(arrow) => guarded("Arrow IPC", || arrow.frame(rows)),
        }
    }
}

/// One of the files the draws came from.
#[derive(Debug)]
struct File {
    path: PathBuf,
    first_row: usize,
    rows: usize,
    /// The number of its first chain, from 1.
    first_chain: usize,
    draws_per_chain: usize,
    source: Source,
}

/// The draws of one or more files, which are then chains.
///
/// Holds the numbers of the parameter columns; all else stays in the files, to which [`write_rows`](Self::write_rows)
/// returns for the rows that were chosen.
///
/// ```
/// use supersample_io::{Draws, Format, Reading, Target};
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("draws.csv");
/// std::fs::write(&path, "mu,tau,lp__\n0.5,2,-7\n0.25,3,-8\n").unwrap();
/// let draws = Draws::read(&[path], &Reading::default())?;
/// assert_eq!(draws.parameter_names(), ["mu", "tau"]); // names that end in __ are CmdStan's own
/// assert_eq!(draws.values(), [0.5, 2.0, 0.25, 3.0]);
/// let mut chosen = Vec::new();
/// draws.write_rows(&[1], None, Target::plain(Format::Text), &mut chosen)?;
/// assert_eq!(chosen, b"mu,tau,lp__,chain,draw,row\n0.25,3,-8,1,2,1\n");
/// # Ok::<(), supersample_io::Error>(())
/// ```
#[derive(Debug)]
pub struct Draws {
    names: Vec<String>,
    parameters: Vec<usize>,
    values: Vec<f64>,
    weights: Option<Vec<f64>>,
    warmup: usize,
    has_warmup: bool,
    mean_rows: usize,
    files: Vec<File>,
    /// The column that rows are grouped by, where that was asked for.
    group_column: Option<GroupColumn>,
}

/// A column to group by: its place, or none for the chains that the files are.
#[derive(Debug, Clone, Copy)]
struct GroupColumn {
    position: Option<usize>,
}

impl Draws {
    /// Reads the files; `-` is standard input. They must have the same columns. Errors name the file.
    pub fn read(paths: &[impl AsRef<Path>], reading: &Reading<'_>) -> Result<Draws> {
        let mut draws: Option<Draws> = None;
        for path in paths {
            let path = path.as_ref();
            let part = read_file(path, reading).map_err(|error| error.in_file(path))?;
            match &mut draws {
                None => draws = Some(Draws::new(path, part)),
                Some(draws) => draws.append(path, part).map_err(|error| error.in_file(path))?,
            }
        }
        let mut draws = draws.ok_or(Error::NoFiles)?;
        if reading.group_column.is_some() {
            // Known to be there, or to be the chains, since the files were read.
            draws.group_column = Some(GroupColumn { position: reading.group_position(&draws.names)? });
        }
        Ok(draws)
    }

    /// About how many rows and how many parameters these files have, from a look at their heads and sizes; `None` where
    /// that does not say (pipes, compressed text, .npz and Arrow). Errors are left to [`read`](Self::read).
    pub fn expected_size(paths: &[impl AsRef<Path>], reading: &Reading<'_>) -> Option<(usize, usize)> {
        let one = |path: &Path| -> Option<(usize, usize)> {
            if !path.is_file() {
                return None;
            }
            let origin = Origin::open(path).ok()?;
            let size = match format_of(path, &origin, reading).ok()? {
                Format::Text => text::expected(&origin, reading),
                Format::Npy => npy::expected(&origin, reading),
                #[cfg(feature = "parquet")]
                Format::Parquet => guarded("Parquet", || crate::parquet::expected(&origin, reading)),
                _ => Ok(None),
            };
            size.ok().flatten()
        };
        let sizes: Option<Vec<(usize, usize)>> = paths.iter().map(|path| one(path.as_ref())).collect();
        let sizes = sizes?;
        let rows = sizes.iter().fold(0_usize, |sum, &(rows, _)| sum.saturating_add(rows));
        sizes.first().map(|&(_, parameters)| (rows, parameters))
    }

    fn new(path: &Path, part: Part) -> Draws {
        let file = File {
            path: path.to_path_buf(),
            first_row: 0,
            rows: part.rows,
            first_chain: 1,
            draws_per_chain: part.draws_per_chain.unwrap_or(part.rows),
            source: part.source,
        };
        Draws {
            names: part.names,
            parameters: part.parameters,
            values: part.values,
            weights: part.weights,
            warmup: part.warmup,
            has_warmup: part.has_warmup,
            mean_rows: part.mean_rows,
            files: vec![file],
            group_column: None,
        }
    }

    fn append(&mut self, path: &Path, part: Part) -> Result<()> {
        if part.names != self.names {
            let first = self.files[0].path.clone();
            return Err(Error::DifferentColumns { first, difference: difference(&self.names, &part.names) });
        }
        let last = self.files.last().expect("there is a first file");
        self.files.push(File {
            path: path.to_path_buf(),
            first_row: last.first_row + last.rows,
            rows: part.rows,
            first_chain: last.first_chain + last.rows.div_ceil(last.draws_per_chain),
            draws_per_chain: part.draws_per_chain.unwrap_or(part.rows),
            source: part.source,
        });
        self.values.extend_from_slice(&part.values);
        if let (Some(weights), Some(more)) = (&mut self.weights, part.weights) {
            weights.extend(more);
        }
        self.warmup += part.warmup;
        self.has_warmup |= part.has_warmup;
        self.mean_rows += part.mean_rows;
        Ok(())
    }

    /// How many rows there are; at least 1.
    #[expect(clippy::len_without_is_empty, reason = "files without rows are refused")]
    pub fn len(&self) -> usize {
        self.files.iter().map(|file| file.rows).sum()
    }

    /// How many parameter columns there are; at least 1.
    pub fn dim(&self) -> usize {
        self.parameters.len()
    }

    /// How many files there are.
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// The names of all columns, in the order of the file.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The names of the parameter columns, in the order of the file.
    pub fn parameter_names(&self) -> Vec<&str> {
        self.parameters.iter().map(|&i| self.names[i].as_str()).collect()
    }

    /// The names of the other columns: ids, weights and those left out.
    pub fn unused_names(&self) -> Vec<&str> {
        let used: HashSet<usize> = self.parameters.iter().copied().collect();
        (0..self.names.len()).filter(|i| !used.contains(i)).map(|i| self.names[i].as_str()).collect()
    }

    /// The numbers of the parameter columns, row after row, all finite.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The numbers of the weight column as they are in the files, finite or −∞; `None` where none was asked for.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// How many warm-up rows of CmdStan files were left out.
    pub fn warmup(&self) -> usize {
        self.warmup
    }

    /// How many rows were left out because they are the mean of an approximation, which CmdStan's method `variational`
    /// writes above its draws.
    pub fn mean_rows(&self) -> usize {
        self.mean_rows
    }

    /// Whether the files have warm-up rows, left out or not.
    pub fn has_warmup(&self) -> bool {
        self.has_warmup
    }

    /// The format of the first file.
    pub fn format(&self) -> Format {
        self.files[0].source.format()
    }

    /// The chain of a row and its draw in that chain, both from 1. Each file is a chain unless it holds several.
    pub fn chain_and_draw(&self, row: usize) -> (usize, usize) {
        let file = self.file_of(row);
        let within = row - file.first_row;
        (file.first_chain + within / file.draws_per_chain, 1 + within % file.draws_per_chain)
    }

    fn file_of(&self, row: usize) -> &File {
        &self.files[self.files.partition_point(|file| file.first_row <= row) - 1]
    }
}

/// The format that was asked for, or that the first bytes give away, or that the name promises.
fn format_of(path: &Path, origin: &Origin, reading: &Reading<'_>) -> Result<Format> {
    let start = origin.start(16)?;
    Ok(reading.format.or_else(|| Format::of_magic(&start)).unwrap_or_else(|| {
        // Too short to tell, or text: an ending that promises another format gets that format's complaint.
        Format::of_path(path).filter(|_| !start.is_empty()).unwrap_or(Format::Text)
    }))
}

fn read_file(path: &Path, reading: &Reading<'_>) -> Result<Part> {
    let origin = Origin::open(path)?;
    let format = format_of(path, &origin, reading)?;
    if origin.is_gzip() && format != Format::Text {
        return Err(Error::Malformed { format: "gzip", reason: format!("it holds {format}, not text") });
    }
    let defaults = Reading { separator: None, ..reading.clone() };
    match format {
        Format::Text => text::read(origin, reading),
        Format::Npy => npy::read(origin, &defaults),
        Format::Npz => npz::read(origin, &defaults),
        #[cfg(feature = "parquet")]
        Format::Parquet => guarded("Parquet", || crate::parquet::read(origin, &defaults)),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => Err(Error::NotBuilt { format: "Parquet", feature: "parquet" }),
        #[cfg(feature = "arrow")]
        Format::Arrow => guarded("Arrow IPC", || crate::arrow::read(origin, &defaults)),
        #[cfg(not(feature = "arrow"))]
        Format::Arrow => Err(Error::NotBuilt { format: "Arrow IPC", feature: "arrow" }),
    }
}

/// In what two lists of names differ, in a few words.
fn difference(first: &[String], other: &[String]) -> String {
    let missing = |from: &[String], of: &[String]| {
        let known: HashSet<&String> = from.iter().collect();
        of.iter().find(|name| !known.contains(name)).cloned()
    };
    match (missing(other, first), missing(first, other)) {
        (Some(name), _) => format!("'{name}' is missing"),
        (None, Some(name)) => format!("'{name}' is new"),
        (None, None) => "their order differs".to_string(),
    }
}
