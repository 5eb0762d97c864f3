//! What every format is read into: names, the numbers of the parameter columns, and a way back to the rows.

use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::format::{Format, Target};
use crate::frame::{Column, Frame};
#[cfg(any(feature = "parquet", feature = "arrow"))]
use crate::guard::guarded;
use crate::npy::NpySource;
use crate::npz::NpzSource;
use crate::origin::Origin;
use crate::selection::id_name;
use crate::text::{TextSource, quoted};
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
    /// Where one file holds several chains.
    pub(crate) draws_per_chain: Option<usize>,
    pub(crate) source: Source,
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
    files: Vec<File>,
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
        draws.ok_or(Error::NoFiles)
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
            files: vec![file],
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

    /// The numbers of the weight column as they are in the files; `None` where none was asked for.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// How many warm-up rows of CmdStan files were left out.
    pub fn warmup(&self) -> usize {
        self.warmup
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

    /// These rows (counted from 0 over all files) with all their columns, in the order given.
    pub fn frame(&self, rows: &[usize]) -> Result<Frame> {
        // Each file is visited once, and its rows are put back in their places afterwards.
        let mut joined = Frame::default();
        let mut order = Vec::with_capacity(rows.len());
        for file in &self.files {
            let range = file.first_row..file.first_row + file.rows;
            let here: Vec<usize> = (0..rows.len()).filter(|&i| range.contains(&rows[i])).collect();
            if here.is_empty() {
                continue;
            }
            let local: Vec<usize> = here.iter().map(|&i| rows[i] - file.first_row).collect();
            let frame = file.source.frame(&self.names, &local).map_err(|error| error.in_file(&file.path))?;
            joined.append(frame);
            order.extend(here);
        }
        let mut positions = vec![0; rows.len()];
        order.iter().enumerate().for_each(|(at, &i)| positions[i] = at);
        joined.columns.iter_mut().for_each(|(_, column)| *column = column.pick(&positions));
        Ok(joined)
    }

    /// Writes these rows (counted from 0 over all files) with all their columns, in the order given; a row may be given
    /// more than once. From text to text of the same separator each row goes out character for character.
    ///
    /// Behind the columns of the file come `chain` and `draw` from 1 and `row` from 0, each unless the file has such a
    /// column, and `weight` where weights are given. An .npy file has no names and holds the parameters alone.
    ///
    /// # Panics
    /// If a row is not in the files.
    #[track_caller]
    pub fn write_rows(
        &self,
        rows: &[usize],
        weights: Option<&[f64]>,
        target: Target,
        out: &mut dyn Write,
    ) -> Result<()> {
        assert!(rows.iter().all(|&row| row < self.len()), "a row is not in the files");
        if target.gzip && target.format == Format::Text {
            let mut packed = GzEncoder::new(out, Compression::default());
            self.write_rows(rows, weights, Target { gzip: false, ..target }, &mut packed)?;
            packed.finish()?;
            return Ok(());
        }
        let added = self.added_columns(rows, weights);
        match (target.format, self.same_text(target)) {
            (Format::Text, Some(separator)) => self.write_verbatim(rows, &added, separator, out),
            (Format::Npy, _) => npy::write_rows(&self.values, self.dim(), rows, self.npy_is_single(), out),
            (Format::Npz, _) if self.files.iter().all(|file| matches!(file.source, Source::Npz(_))) => {
                self.write_npz(rows, &added, out)
            }
            (format, _) => {
                let mut frame = self.frame(rows)?;
                frame.columns.extend(added);
                frame.write(format, target.separator, out)
            }
        }
    }

    /// The separator of the text files that can go out as they came in; `None` where they cannot.
    fn same_text(&self, target: Target) -> Option<u8> {
        let separator = |file: &File| match &file.source {
            Source::Text(text) => Some(text.separator()),
            _ => None,
        };
        let first = separator(&self.files[0])?;
        let same = self.files.iter().all(|file| separator(file) == Some(first));
        let wanted = target.separator.is_none_or(|wanted| wanted == first);
        (same && wanted && target.format == Format::Text).then_some(first)
    }

    fn npy_is_single(&self) -> bool {
        self.files.iter().all(|file| matches!(&file.source, Source::Npy(npy) if npy.is_single()))
    }

    fn added_columns(&self, rows: &[usize], weights: Option<&[f64]>) -> Vec<(String, Column)> {
        let ids: Vec<(usize, usize)> = rows.iter().map(|&row| self.chain_and_draw(row)).collect();
        let mut added = vec![
            ("chain".to_string(), Column::integers(ids.iter().map(|&(chain, _)| chain))),
            ("draw".to_string(), Column::integers(ids.iter().map(|&(_, draw)| draw))),
            ("row".to_string(), Column::integers(rows.iter().copied())),
        ];
        // CmdStan, posterior and ArviZ call the draw an iteration as well.
        let has = |id: &str| self.names.iter().any(|name| id_name(name) == Some(id));
        added.retain(|(id, _)| !(has(id) || id == "draw" && has("iteration")));
        if let Some(weights) = weights {
            let taken = self.names.iter().any(|name| name == "weight");
            let name = if taken { "supersample_weight" } else { "weight" };
            added.push((name.to_string(), Column::doubles(weights.iter().copied())));
        }
        added
    }

    fn write_verbatim(
        &self,
        rows: &[usize],
        added: &[(String, Column)],
        separator: u8,
        out: &mut dyn Write,
    ) -> Result<()> {
        let Source::Text(first) = &self.files[0].source else {
            unreachable!("only text is written verbatim")
        };
        out.write_all(first.header())?;
        for (name, _) in added {
            out.write_all(&[separator])?;
            out.write_all(quoted(name, separator).as_bytes())?;
        }
        out.write_all(first.line_break())?;
        let mut records: Vec<Vec<u8>> = vec![Vec::new(); rows.len()];
        for file in &self.files {
            let Source::Text(text) = &file.source else { unreachable!("only text is written verbatim") };
            let range = file.first_row..file.first_row + file.rows;
            let here: Vec<usize> = (0..rows.len()).filter(|&i| range.contains(&rows[i])).collect();
            let local: Vec<usize> = here.iter().map(|&i| rows[i] - file.first_row).collect();
            let found = text.records(&local).map_err(|error| error.in_file(&file.path))?;
            here.into_iter().zip(found).for_each(|(i, record)| records[i] = record);
        }
        for (i, record) in records.iter().enumerate() {
            out.write_all(record)?;
            for (_, column) in added {
                out.write_all(&[separator])?;
                out.write_all(column.text(i).as_bytes())?;
            }
            out.write_all(first.line_break())?;
        }
        Ok(())
    }

    /// Arrays go out as they came in, each with the chosen entries; one that spans files needs one shape and type.
    fn write_npz(&self, rows: &[usize], added: &[(String, Column)], out: &mut dyn Write) -> Result<()> {
        if self.files.len() > 1 {
            let mut frame = self.frame(rows)?;
            frame.columns.extend(added.to_vec());
            return frame.write(Format::Npz, None, out);
        }
        let Source::Npz(npz) = &self.files[0].source else { unreachable!("asked before") };
        npz.write_rows(rows, added, out)
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
