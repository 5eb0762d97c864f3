//! Draws: names, the numbers of the parameter columns, and a way back to the rows, for every format.

mod batches;
mod groups;
mod joined;
mod rows;
mod sieve;
mod survey;
mod suspects;

use std::any::Any;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

pub use self::batches::{Batch, BatchSize};
pub use self::groups::Groups;
pub use self::joined::Joined;
use self::sieve::Sieve;
pub use self::survey::{ColumnSurvey, Survey};
use crate::error::refused;
use crate::format::{Format, refuse_foreign};
use crate::origin::Origin;
use crate::reading::{Choice, Missing};
use crate::source::{ExpectedSize, FileRead, Sink, Source};
use crate::{Error, Note, Reading, Result, Use};

/// Numbers that one thread copies alone.
const COPIED_ALONE: usize = 1 << 16;

/// One of the files the draws came from.
#[derive(Debug)]
struct File {
    path: PathBuf,
    origin: Origin,
    format: Format,
    /// Its first row among those that are used.
    first_row: usize,
    /// The number of its first row, where all rows count.
    first_number: usize,
    /// The rows that are not used, ascending.
    left_out: Vec<usize>,
    /// The number of its first chain, from 1.
    first_chain: usize,
    read: FileRead,
}

impl File {
    /// Number of used rows.
    fn rows(&self) -> usize {
        self.read.rows - self.left_out.len()
    }

    /// Of all rows.
    fn draws_per_chain(&self) -> usize {
        self.read.draws_per_chain.unwrap_or(self.read.rows)
    }

    fn chains(&self) -> usize {
        self.read.rows.div_ceil(self.draws_per_chain())
    }

    fn source(&self) -> &dyn Source {
        &*self.read.source
    }

    /// The way back to its rows, if it is one of this format.
    fn source_as<T: Source>(&self) -> Option<&T> {
        (self.source() as &dyn Any).downcast_ref()
    }

    /// The row of the file that is this one of those used.
    fn own_row(&self, row: usize) -> usize {
        let within = row - self.first_row;
        // Number of left-out rows before it: each of them has at most `within` used rows above it.
        let mut below = 0;
        let mut above = self.left_out.len();
        while below < above {
            let middle = usize::midpoint(below, above);
            if self.left_out[middle] - middle <= within { below = middle + 1 } else { above = middle }
        }
        within + below
    }
}

/// Draws of one or more files; several files are chains.
///
/// Holds the numbers of the parameter columns. Everything else stays in the files; [`write_rows`](Self::write_rows)
/// reads the chosen rows from there.
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
    /// Parameters in row order; before the split, with the functions among them.
    values: Vec<f64>,
    functions: Vec<f64>,
    weights: Option<Vec<f64>>,
    files: Vec<File>,
    notes: Vec<Note>,
    /// If asked for, the position of the column that rows are grouped by, or `None` for the files as chains.
    group_column: Option<Option<usize>>,
}

/// Positions of parameters and functions in a row of numbers.
#[derive(Debug, Default)]
struct Slots {
    parameters: Vec<usize>,
    functions: Vec<usize>,
}

impl Slots {
    fn of(choice: &Choice) -> Slots {
        let is_function = |&slot: &usize| choice.uses[choice.columns[slot]] == Use::Function;
        let (functions, parameters) = (0..choice.columns.len()).partition(is_function);
        Slots { parameters, functions }
    }

    /// The parameters and the functions of these rows; `None` if there are no functions.
    fn split(&self, values: &[f64]) -> Option<(Vec<f64>, Vec<f64>)> {
        let Slots { parameters, functions } = self;
        let of = |slots: &[usize]| {
            let rows = values.chunks_exact(parameters.len() + functions.len());
            rows.flat_map(|row| slots.iter().map(|&slot| row[slot])).collect()
        };
        (!functions.is_empty()).then(|| (of(parameters), of(functions)))
    }
}

impl Draws {
    /// Reads the files; `-` is standard input. They must have the same columns. Errors name the file.
    pub fn read(paths: &[impl AsRef<Path>], reading: &Reading<'_>) -> Result<Draws> {
        let mut draws = Draws::read_with(paths, reading, Missing::of(reading))?;
        draws.split_functions();
        Ok(draws)
    }

    /// Splits the functions from the values. Done at the end, so that the formats need not distinguish them.
    fn split_functions(&mut self) {
        if let Some((values, functions)) = Slots::of(&self.choice).split(&self.values) {
            (self.values, self.functions) = (values, functions);
        }
    }

    fn read_with(paths: &[impl AsRef<Path>], reading: &Reading<'_>, missing: Missing) -> Result<Draws> {
        let mut all = Collected::default();
        let mut draws = Draws::gather(paths, reading, missing, &mut all)?;
        draws.values = all.values;
        draws.weights = draws.choice.weight.map(|_| all.weights);
        Ok(draws)
    }

    /// Reads the files; their numbers go to the sink, everything else is returned.
    fn gather(
        paths: &[impl AsRef<Path>],
        reading: &Reading<'_>,
        missing: Missing,
        sink: &mut dyn Sink,
    ) -> Result<Draws> {
        let mut sieve = Sieve::new(sink, missing, paths.len());
        let mut files: Vec<File> = Vec::new();
        for path in paths {
            let path = path.as_ref();
            let read = Origin::open(path).and_then(|origin| {
                let format = format_of(path, &origin, reading)?;
                sieve.next_file();
                let read = read_file(origin.clone(), format, reading, missing, &mut sieve)?;
                Ok((origin, format, read))
            });
            let (origin, format, read) = read.map_err(|error| error.in_file(path))?;
            let (first_row, first_number, first_chain) = files.last().map_or((0, 0, 1), |last| {
                (
                    last.first_row + last.rows(),
                    last.first_number + last.read.rows,
                    last.first_chain + last.chains(),
                )
            });
            if files.is_empty() {
                sieve.expect_columns(path, &read.choice);
            }
            let (path, left_out) = (path.to_path_buf(), sieve.take_left_out());
            files.push(File { path, origin, format, first_row, first_number, left_out, first_chain, read });
        }
        let Some(first) = files.first() else {
            return Err(refused!("there is no input; name at least one file, or - for standard input"));
        };
        let mut notes: Vec<Note> = Vec::new();
        for note in files.iter().flat_map(|file| &file.read.notes) {
            if !notes.contains(note) {
                notes.push(note.clone());
            }
        }
        notes.extend(repeated(&files));
        let choice = first.read.choice.clone();
        let (values, functions, weights) = (Vec::new(), Vec::new(), None);
        let mut draws = Draws { choice, values, functions, weights, files, notes, group_column: None };
        if draws.len() == 0 {
            let error = Error::AllMissing { rows: draws.dropped_na() };
            return Err(error.in_file(&draws.files[0].path));
        }
        if reading.group_column.is_some() {
            // Checked while the files were read.
            draws.group_column = Some(reading.group_position(draws.names())?);
        }
        draws.add_notes(reading, &sieve.counting());
        Ok(draws)
    }

    /// Estimates the size of these files together from their heads and lengths; `None` if these do not tell (pipes,
    /// compressed text and .npz). [`read`](Self::read) reports errors.
    pub fn expected_size(paths: &[impl AsRef<Path>], reading: &Reading<'_>) -> Option<ExpectedSize> {
        let one = |path: &Path| -> Option<ExpectedSize> {
            if !path.is_file() && !path.is_dir() {
                return None;
            }
            let origin = Origin::open(path).ok()?;
            (format_of(path, &origin, reading).ok()?.codec().expected)(&origin, reading).ok().flatten()
        };
        let both = |a: ExpectedSize, b: ExpectedSize| ExpectedSize {
            rows: a.rows.saturating_add(b.rows),
            is_single: a.is_single && b.is_single,
            block_bytes: a.block_bytes.max(b.block_bytes),
            ..a
        };
        let sizes: Option<Vec<ExpectedSize>> = paths.iter().map(|path| one(path.as_ref())).collect();
        sizes?.into_iter().reduce(both)
    }

    /// Number of rows; at least 1.
    #[expect(clippy::len_without_is_empty, reason = "files without rows are refused")]
    pub fn len(&self) -> usize {
        self.files.iter().map(File::rows).sum()
    }

    /// Number of parameter columns; at least 1.
    pub fn dim(&self) -> usize {
        self.choice.used_as(&Use::Parameter).len()
    }

    /// The names of all columns, in the order of the file.
    pub fn names(&self) -> &[String] {
        &self.choice.names
    }

    /// Use of each column, in the order of the file.
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

    /// The numbers of the parameter columns, row by row, all finite; empty if the files were only read in
    /// [batches](Self::in_batches).
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Takes the numbers out, without a copy; [`values`](Self::values) is empty afterwards.
    pub fn take_values(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.values)
    }

    /// The numbers of the columns of functions, row by row, all finite; empty if none were asked for.
    pub fn functions(&self) -> &[f64] {
        &self.functions
    }

    /// Takes the functions out; [`functions`](Self::functions) is empty afterwards.
    pub fn take_functions(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.functions)
    }

    /// Numbers of the weight column as in the files, finite or −∞; `None` if none was asked for, or if the files were
    /// only read in [batches](Self::in_batches).
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// Number of warm-up rows of CmdStan files that were left out.
    pub fn warmup(&self) -> usize {
        self.files.iter().map(|file| file.read.warmup).sum()
    }

    /// Number of rows that were left out because they are the mean of an approximation, which CmdStan's method
    /// `variational` writes above its draws.
    pub fn mean_rows(&self) -> usize {
        self.files.iter().map(|file| file.read.mean_rows).sum()
    }

    /// Number of rows that were left out for a missing value in a used column; see [`Reading::drop_na`].
    pub fn dropped_na(&self) -> usize {
        self.files.iter().map(|file| file.left_out.len()).sum()
    }

    /// Assumptions about the files.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Number of chains; each file is one unless it holds several.
    pub fn chains(&self) -> usize {
        let last = self.files.last().expect("there is a first file");
        last.first_chain - 1 + last.chains()
    }

    /// The number of a row, from 0, where rows that were left out for a missing value count as well.
    pub fn row_number(&self, row: usize) -> usize {
        let file = self.file_of(row);
        file.first_number + file.own_row(row)
    }

    /// The row of this number; `None` if there is none, or if it was left out.
    pub fn row_of_number(&self, number: usize) -> Option<usize> {
        let file = &self.files[self.files.partition_point(|file| file.first_number <= number) - 1];
        let own = number - file.first_number;
        let left_out = file.left_out.binary_search(&own).err().filter(|_| own < file.read.rows)?;
        Some(file.first_row + own - left_out)
    }

    /// Whether the files have warm-up rows, left out or not.
    pub fn has_warmup(&self) -> bool {
        self.files.iter().any(|file| file.read.has_warmup)
    }

    /// The format of the first file.
    pub fn format(&self) -> Format {
        self.files[0].format
    }

    /// The chain of a row and its draw in that chain, both from 1. Each file is a chain unless it holds several.
    pub fn chain_and_draw(&self, row: usize) -> (usize, usize) {
        let file = self.file_of(row);
        let within = file.own_row(row);
        (file.first_chain + within / file.draws_per_chain(), 1 + within % file.draws_per_chain())
    }

    fn file_of(&self, row: usize) -> &File {
        &self.files[self.files.partition_point(|file| file.first_row + file.rows() <= row)]
    }
}

/// All numbers of all files.
#[derive(Debug, Default)]
struct Collected {
    values: Vec<f64>,
    weights: Vec<f64>,
    /// Number of numbers in the earlier files.
    before: usize,
}

impl Sink for Collected {
    fn begin(&mut self, _: &Choice) -> Result<()> {
        self.before = self.values.len();
        Ok(())
    }

    fn expect(&mut self, numbers: usize) {
        let wanted = self.before.saturating_add(numbers).saturating_sub(self.values.len());
        // A reservation is a promise of the system that costs nothing until it is used.
        let _ = self.values.try_reserve_exact(wanted);
    }

    fn take(&mut self, values: &[f64], weights: &[f64], _: f64) -> Result<()> {
        // Where memory is limited, a failure is an error and not the end of the process.
        let fits =
            self.values.try_reserve(values.len()).and_then(|()| self.weights.try_reserve(weights.len()));
        fits.map_err(|_| Error::NoMemory { bytes: 8 * (self.values.len() + values.len()) as u64 })?;
        // Memory that is written to for the first time is handed out by the system, which takes longer than the copy.
        self.values.par_extend(values.par_iter().with_min_len(COPIED_ALONE).copied());
        self.weights.extend_from_slice(weights);
        Ok(())
    }
}

/// The given format, or that of the first bytes, or that of the name.
fn format_of(path: &Path, origin: &Origin, reading: &Reading<'_>) -> Result<Format> {
    #[cfg(feature = "zarr")]
    if origin.folder().is_some() {
        return Ok(reading.format.unwrap_or(Format::Zarr));
    }
    let start = origin.start(16)?;
    if let Some(format) = reading.format {
        return Ok(format);
    }
    refuse_foreign(&start)?;
    let format = Format::of_magic(&start).unwrap_or_else(|| {
        // Too short to tell, or text: if the ending is that of another format, that format reports the error.
        Format::of_path(path).filter(|_| !start.is_empty()).unwrap_or(Format::Text)
    });
    let begins = |with: &[u8]| start.trim_ascii_start().starts_with(with);
    if format == Format::Text && [&b"{\""[..], b"[{", b"[[", b"{\n", b"{ "].into_iter().any(begins) {
        let remedy = "write it as CSV: a header with the names of the parameters, and one line for each draw";
        return Err(Error::Foreign { kind: "JSON", remedy });
    }
    Ok(format)
}

/// The first file that has been read before, by this name or another.
fn repeated(files: &[File]) -> Option<Note> {
    let mut seen = HashSet::new();
    let again = files.iter().find(|file| file.path.canonicalize().is_ok_and(|path| !seen.insert(path)))?;
    Some(Note::Repeated { path: again.path.clone() })
}

fn read_file(
    origin: Origin,
    format: Format,
    reading: &Reading<'_>,
    missing: Missing,
    sink: &mut dyn Sink,
) -> Result<FileRead> {
    if let Some(packing) = origin.packing().filter(|_| format != Format::Text) {
        let reason = format!("it is compressed by {packing}, which only text files may be; unpack it first");
        return Err(Error::Malformed { format: format.codec().title, reason });
    }
    (format.codec().read)(origin, reading, missing, sink)
}
