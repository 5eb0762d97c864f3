//! Draws: names, the numbers of the parameter columns, and a way back to the rows, whatever the format.

mod groups;
mod rows;
mod survey;
mod suspects;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

pub use self::groups::Groups;
pub use self::survey::{ColumnSurvey, Survey};
use crate::format::{Format, refuse_foreign};
use crate::origin::Origin;
use crate::reading::{Choice, Missing};
use crate::source::{Part, Source, codec};
use crate::{Error, Note, Reading, Result, Use};

/// One of the files the draws came from.
#[derive(Debug)]
struct File {
    path: PathBuf,
    /// Its first row among those that are used.
    first_row: usize,
    /// How many of its rows are used.
    rows: usize,
    /// The number of its first row, where all rows count.
    first_number: usize,
    /// The rows that are used, where not all are.
    kept: Option<Vec<usize>>,
    /// The number of its first chain, from 1.
    first_chain: usize,
    /// Of all rows.
    draws_per_chain: usize,
    all_rows: usize,
    source: Box<dyn Source>,
}

impl File {
    /// The row of the file that is this one of those used.
    fn own_row(&self, row: usize) -> usize {
        let within = row - self.first_row;
        self.kept.as_ref().map_or(within, |kept| kept[within])
    }
}

/// The draws of one or more files, which are then chains.
///
/// Holds the numbers of the parameter columns; all else stays in the files, to which [`write_rows`](Self::write_rows)
/// returns for the rows that were chosen.
///
/// ```
/// use supersample_io::{Draws, Format, OutputFormat, Reading};
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("draws.csv");
/// std::fs::write(&path, "mu,tau,lp__\n0.5,2,-7\n0.25,3,-8\n").unwrap();
/// let draws = Draws::read(&[path], &Reading::default())?;
/// assert_eq!(draws.parameter_names(), ["mu", "tau"]); // names that end in __ are CmdStan's own
/// assert_eq!(draws.values(), [0.5, 2.0, 0.25, 3.0]);
/// let mut chosen = Vec::new();
/// draws.write_rows(&[1], None, OutputFormat::plain(Format::Text), &mut chosen)?;
/// assert_eq!(chosen, b"mu,tau,lp__,chain,draw,row\n0.25,3,-8,1,2,1\n");
/// # Ok::<(), supersample_io::Error>(())
/// ```
#[derive(Debug)]
pub struct Draws {
    choice: Choice,
    /// The parameters row after row; of draws that are not yet split, the functions among them.
    values: Vec<f64>,
    functions: Vec<f64>,
    weights: Option<Vec<f64>>,
    warmup: usize,
    has_warmup: bool,
    mean_rows: usize,
    dropped: usize,
    files: Vec<File>,
    notes: Vec<Note>,
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
        let missing = if reading.drop_na { Missing::Kept } else { Missing::Refused };
        let mut draws = Draws::gather(paths, reading, missing)?;
        draws.split_functions();
        Ok(draws)
    }

    /// Takes the functions out of the values. Done in the end, so that the formats need not tell the two apart.
    fn split_functions(&mut self) {
        let columns = &self.choice.columns;
        let is_function = |slot: usize| self.choice.uses[columns[slot]] == Use::Function;
        let (functions, parameters): (Vec<usize>, Vec<usize>) =
            (0..columns.len()).partition(|&slot| is_function(slot));
        if functions.is_empty() {
            return;
        }
        let of = |slots: &[usize]| {
            let rows = self.values.chunks_exact(columns.len());
            rows.flat_map(|row| slots.iter().map(|&slot| row[slot])).collect::<Vec<f64>>()
        };
        (self.functions, self.values) = (of(&functions), of(&parameters));
    }

    fn gather(paths: &[impl AsRef<Path>], reading: &Reading<'_>, missing: Missing) -> Result<Draws> {
        let mut draws: Option<Draws> = None;
        for path in paths {
            let path = path.as_ref();
            let part = read_file(path, reading, missing).map_err(|error| error.in_file(path))?;
            match &mut draws {
                None => {
                    let mut first = Draws::empty(part.choice.clone());
                    first.append(path, part, missing);
                    draws = Some(first);
                }
                Some(draws) => {
                    draws.check_columns(&part).map_err(|error| error.in_file(path))?;
                    draws.append(path, part, missing);
                }
            }
        }
        let mut draws = draws.ok_or(Error::NoFiles)?;
        if draws.len() == 0 {
            let error = Error::OnlyMissing { rows: draws.dropped };
            return Err(error.in_file(&draws.files[0].path));
        }
        if reading.group_column.is_some() {
            // Known to be there, or to be the chains, since the files were read.
            draws.group_column = Some(GroupColumn { position: reading.group_position(draws.names())? });
        }
        draws.add_notes(reading);
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
            let codec = codec(format_of(path, &origin, reading).ok()?).ok()?;
            (codec.expected)(&origin, reading).ok().flatten()
        };
        let sizes: Option<Vec<(usize, usize)>> = paths.iter().map(|path| one(path.as_ref())).collect();
        let sizes = sizes?;
        let rows = sizes.iter().fold(0_usize, |sum, &(rows, _)| sum.saturating_add(rows));
        sizes.first().map(|&(_, parameters)| (rows, parameters))
    }

    fn empty(choice: Choice) -> Draws {
        Draws {
            weights: choice.weight.map(|_| Vec::new()),
            choice,
            values: Vec::new(),
            functions: Vec::new(),
            warmup: 0,
            has_warmup: false,
            mean_rows: 0,
            dropped: 0,
            files: Vec::new(),
            notes: Vec::new(),
            group_column: None,
        }
    }

    fn check_columns(&self, part: &Part) -> Result<()> {
        let first = || self.files[0].path.clone();
        let (names, others) = (&self.choice.names, &part.choice.names);
        if names != others {
            return Err(Error::DifferentColumns { first: first(), difference: difference(names, others) });
        }
        let is_number = |choice: &Choice, i: &usize| choice.columns.binary_search(i).is_ok();
        let unlike = (0..names.len()).find(|i| is_number(&self.choice, i) != is_number(&part.choice, i));
        match unlike {
            None => Ok(()),
            Some(i) => {
                let difference =
                    format!("'{}' holds numbers in only one of them", crate::words::shown(&names[i]));
                Err(Error::DifferentColumns { first: first(), difference })
            }
        }
    }

    fn append(&mut self, path: &Path, mut part: Part, missing: Missing) {
        let (first_row, first_number, first_chain) = match self.files.last() {
            None => (0, 0, 1),
            Some(last) => (
                last.first_row + last.rows,
                last.first_number + last.all_rows,
                last.first_chain + last.all_rows.div_ceil(last.draws_per_chain),
            ),
        };
        let all_rows = part.rows;
        let kept = if missing == Missing::Kept { part.drop_missing() } else { None };
        self.dropped += all_rows - part.rows;
        self.files.push(File {
            path: path.to_path_buf(),
            first_row,
            rows: part.rows,
            first_number,
            kept,
            first_chain,
            draws_per_chain: part.draws_per_chain.unwrap_or(all_rows),
            all_rows,
            source: part.source,
        });
        match self.values.is_empty() {
            true => self.values = part.values,
            false => self.values.extend_from_slice(&part.values),
        }
        if let (Some(weights), Some(more)) = (&mut self.weights, part.weights) {
            weights.extend(more);
        }
        self.warmup += part.warmup;
        self.has_warmup |= part.has_warmup;
        self.mean_rows += part.mean_rows;
        for note in part.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }

    /// How many rows there are; at least 1.
    #[expect(clippy::len_without_is_empty, reason = "files without rows are refused")]
    pub fn len(&self) -> usize {
        self.files.iter().map(|file| file.rows).sum()
    }

    /// How many parameter columns there are; at least 1.
    pub fn dim(&self) -> usize {
        self.choice.used_as(&Use::Parameter).len()
    }

    /// How many files there are.
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// The names of all columns, in the order of the file.
    pub fn names(&self) -> &[String] {
        &self.choice.names
    }

    /// What each column is used for, in the order of the file.
    pub fn uses(&self) -> &[Use] {
        &self.choice.uses
    }

    /// The names of the parameter columns, in the order of the file.
    pub fn parameter_names(&self) -> Vec<&str> {
        self.names_of(&Use::Parameter)
    }

    /// The names of the columns of functions, in the order of the file.
    pub fn function_names(&self) -> Vec<&str> {
        self.names_of(&Use::Function)
    }

    fn names_of(&self, one: &Use) -> Vec<&str> {
        self.choice.used_as(one).into_iter().map(|i| self.names()[i].as_str()).collect()
    }

    /// The names of the other columns: ids, weights and those left out.
    pub fn unused_names(&self) -> Vec<&str> {
        let pairs = self.names().iter().zip(self.uses());
        let others = pairs.filter(|(_, one)| !matches!(one, Use::Parameter | Use::Function));
        others.map(|(name, _)| name.as_str()).collect()
    }

    /// The numbers of the parameter columns, row after row, all finite.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Hands the numbers over, so that there need not be two copies of them; [`values`](Self::values) is empty afterwards.
    pub fn take_values(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.values)
    }

    /// The numbers of the columns of functions, row after row, all finite; empty where none were asked for.
    pub fn functions(&self) -> &[f64] {
        &self.functions
    }

    /// Hands the functions over; [`functions`](Self::functions) is empty afterwards.
    pub fn take_functions(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.functions)
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

    /// How many rows were left out for a missing value in a used column; see [`Reading::drop_na`].
    pub fn dropped_na(&self) -> usize {
        self.dropped
    }

    /// What was assumed about the files.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// How many chains there are; each file is one unless it holds several.
    pub fn chains(&self) -> usize {
        let last = self.files.last().expect("there is a first file");
        last.first_chain - 1 + last.all_rows.div_ceil(last.draws_per_chain)
    }

    /// The number of a row, from 0, where rows that were left out for a missing value count as well.
    pub fn row_number(&self, row: usize) -> usize {
        let file = self.file_of(row);
        file.first_number + file.own_row(row)
    }

    /// The row of this number; `None` where there is none, or where it was left out.
    pub fn row_of_number(&self, number: usize) -> Option<usize> {
        let file = &self.files[self.files.partition_point(|file| file.first_number <= number) - 1];
        let own = number - file.first_number;
        let within = match &file.kept {
            Some(kept) => kept.binary_search(&own).ok()?,
            None => Some(own).filter(|&own| own < file.all_rows)?,
        };
        Some(file.first_row + within)
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
        let within = file.own_row(row);
        (file.first_chain + within / file.draws_per_chain, 1 + within % file.draws_per_chain)
    }

    fn file_of(&self, row: usize) -> &File {
        &self.files[self.files.partition_point(|file| file.first_row + file.rows <= row)]
    }
}

impl Part {
    /// Takes out the rows with a NaN; gives those that are left where any went.
    fn drop_missing(&mut self) -> Option<Vec<usize>> {
        let dim = self.choice.columns.len();
        let weight = |row: usize| self.weights.as_ref().is_some_and(|weights| weights[row].is_nan());
        let is_whole = |row: usize| {
            !self.values[row * dim..(row + 1) * dim].iter().any(|value| value.is_nan()) && !weight(row)
        };
        if (0..self.rows).all(is_whole) {
            return None;
        }
        let kept: Vec<usize> = (0..self.rows).filter(|&row| is_whole(row)).collect();
        self.values =
            kept.iter().flat_map(|&row| &self.values[row * dim..(row + 1) * dim]).copied().collect();
        self.weights = self.weights.take().map(|weights| kept.iter().map(|&row| weights[row]).collect());
        self.rows = kept.len();
        Some(kept)
    }
}

/// The format that was asked for, or that the first bytes give away, or that the name promises.
fn format_of(path: &Path, origin: &Origin, reading: &Reading<'_>) -> Result<Format> {
    let start = origin.start(16)?;
    if let Some(format) = reading.format {
        return Ok(format);
    }
    refuse_foreign(&start)?;
    let format = Format::of_magic(&start).unwrap_or_else(|| {
        // Too short to tell, or text: an ending that promises another format gets that format's complaint.
        Format::of_path(path).filter(|_| !start.is_empty()).unwrap_or(Format::Text)
    });
    let begins = |with: &[u8]| start.trim_ascii_start().starts_with(with);
    if format == Format::Text && [&b"{\""[..], b"[{", b"[[", b"{\n", b"{ "].into_iter().any(begins) {
        let remedy = "write it as CSV: a header with the names of the parameters, and one line for each draw";
        return Err(Error::Foreign { kind: "JSON", remedy });
    }
    Ok(format)
}

fn read_file(path: &Path, reading: &Reading<'_>, missing: Missing) -> Result<Part> {
    let origin = Origin::open(path)?;
    let format = format_of(path, &origin, reading)?;
    if let Some(packing) = origin.packing().filter(|_| format != Format::Text) {
        let reason = format!("it is packed by {packing}, which only text may be; unpack it first");
        return Err(Error::Malformed { format: format.title(), reason });
    }
    (codec(format)?.read)(origin, reading, missing)
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
