//! Batches: files read a few rows at a time, as often as needed, with only one batch in memory.

use std::ops::ControlFlow;
use std::path::Path;

use super::sieve::Sieve;
use super::{Draws, Slots, format_of, read_file};
use crate::error::refused;
use crate::origin::Origin;
use crate::reading::{Choice, Missing};
use crate::source::Sink;
use crate::{Error, Format, Reading, Result};

/// Size of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BatchSize {
    /// This number of rows.
    Rows(usize),
    /// As many rows as have numbers of this number of bytes, but from 1,024 to 65,536. Packed files and pipes get the same
    /// batches as plain ones, although the number of their columns is known only once they are read.
    Bytes(usize),
}

impl From<usize> for BatchSize {
    fn from(rows: usize) -> BatchSize {
        BatchSize::Rows(rows)
    }
}

impl BatchSize {
    fn rows(self, columns: usize) -> usize {
        match self {
            BatchSize::Rows(rows) => rows.max(1),
            BatchSize::Bytes(bytes) => (bytes / 8 / columns.max(1)).clamp(1024, 65_536),
        }
    }
}

/// Consecutive rows.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Batch<'a> {
    /// The first of them, among the rows that are used.
    pub first_row: usize,
    /// The numbers of the parameter columns, row by row, all finite.
    pub values: &'a [f64],
    /// Numbers of the function columns, in row order; empty if none were asked for.
    pub functions: &'a [f64],
    /// Weights as in the files; `None` if no weight column was asked for.
    pub weights: Option<&'a [f64]>,
    /// Rows that were left out for a missing value since the last batch, some perhaps after this one: for each the number
    /// of used rows before it.
    pub left_out: &'a [usize],
    /// Number of parameters.
    pub dim: usize,
    /// Names of the parameters.
    pub names: &'a [String],
    /// Fraction of the files that has been read, from 0 to 1.
    pub fraction: f64,
}

impl Batch<'_> {
    /// Number of rows; at least 1.
    #[expect(clippy::len_without_is_empty, reason = "no batch is empty")]
    pub fn len(&self) -> usize {
        self.values.len() / self.dim
    }
}

impl Draws {
    /// Reads the files in batches, without keeping the numbers.
    ///
    /// Columns, checks and errors are those of [`read`](Self::read). Batches have this size, the last one fewer rows, for
    /// every format. Afterwards everything else is as after `read`: chosen rows can be written, ids and notes are
    /// known.
    ///
    /// [`Break`](ControlFlow::Break) ends it with [`Error::Ended`]. An .npz is an error: it is stored by column, so its
    /// first row is complete only at its end.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use supersample_io::{Draws, Reading};
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("draws.csv");
    /// std::fs::write(&path, "mu,tau\n1,2\n3,4\n5,6\n").unwrap();
    /// let mut sums = Vec::new();
    /// let draws = Draws::in_batches(&[path], &Reading::default(), 2, &mut |batch| {
    ///     sums.push((batch.first_row, batch.values.iter().sum::<f64>()));
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!((draws.len(), sums), (3, vec![(0, 10.0), (2, 11.0)]));
    /// # Ok::<(), supersample_io::Error>(())
    /// ```
    pub fn in_batches(
        paths: &[impl AsRef<Path>],
        reading: &Reading<'_>,
        size: impl Into<BatchSize>,
        each: &mut dyn FnMut(Batch<'_>) -> ControlFlow<()>,
    ) -> Result<Draws> {
        let mut regrouped = Regrouped::new(size.into(), each);
        let draws = Draws::gather(paths, reading, Missing::of(reading), &mut regrouped)?;
        regrouped.finish()?;
        Ok(draws)
    }

    /// Reads the files again, with the `reading` of the first time. A changed file is an error.
    pub fn again(
        &self,
        reading: &Reading<'_>,
        size: impl Into<BatchSize>,
        each: &mut dyn FnMut(Batch<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let missing = Missing::of(reading);
        let mut regrouped = Regrouped::new(size.into(), each);
        let mut sieve = Sieve::new(&mut regrouped, missing, self.files.len());
        for file in &self.files {
            sieve.next_file();
            let read = read_file(file.origin.clone(), file.format, reading, missing, &mut sieve);
            let left_out = sieve.take_left_out();
            let read = read.and_then(|read| match read.rows == file.read.rows && left_out == file.left_out {
                true => Ok(read),
                false => Err(Error::Changed),
            });
            read.map_err(|error| error.in_file(&file.path))?;
        }
        regrouped.finish()
    }

    /// Checks that these files can be read in batches. Files that cannot be opened are reported when they are read.
    pub fn check_batches(paths: &[impl AsRef<Path>], reading: &Reading<'_>) -> Result<()> {
        for path in paths.iter().map(AsRef::as_ref).filter(|path| path.is_file()) {
            let Ok(origin) = Origin::open(path) else { continue };
            if format_of(path, &origin, reading).ok() == Some(Format::Npz) {
                let error = refused!(
                    "an .npz holds its columns one after the other and cannot be read in batches; save it as .npy or Parquet"
                );
                return Err(error.in_file(path));
            }
        }
        Ok(())
    }
}

/// Rows regrouped to batches of the given size.
struct Regrouped<'a> {
    size: BatchSize,
    /// Rows in a batch.
    rows: usize,
    /// Columns of functions among them.
    dim: usize,
    slots: Slots,
    /// Of the parameters.
    names: Vec<String>,
    has_weights: bool,
    values: Vec<f64>,
    weights: Vec<f64>,
    left_out: Vec<usize>,
    first_row: usize,
    each: &'a mut dyn FnMut(Batch<'_>) -> ControlFlow<()>,
}

impl<'a> Regrouped<'a> {
    fn new(size: BatchSize, each: &'a mut dyn FnMut(Batch<'_>) -> ControlFlow<()>) -> Regrouped<'a> {
        let (rows, slots, values, weights) = (size.rows(1), Slots::default(), Vec::new(), Vec::new());
        let names = Vec::new();
        Regrouped {
            size,
            rows,
            dim: 1,
            slots,
            names,
            has_weights: false,
            values,
            weights,
            left_out: Vec::new(),
            first_row: 0,
            each,
        }
    }

    /// Passes on the rows so far, if any.
    fn hand_on(&mut self, part: f64) -> Result<()> {
        if self.values.is_empty() {
            return Ok(());
        }
        let split = self.slots.split(&self.values);
        let (values, functions) = split.as_ref().map_or((&self.values, &[][..]), |(v, f)| (v, f));
        let batch = Batch {
            first_row: self.first_row,
            values,
            functions,
            weights: self.has_weights.then_some(&self.weights),
            left_out: &self.left_out,
            dim: self.slots.parameters.len(),
            names: &self.names,
            fraction: part,
        };
        self.first_row += batch.len();
        let goes_on = (self.each)(batch);
        self.values.clear();
        self.weights.clear();
        self.left_out.clear();
        if goes_on.is_break() { Err(Error::Ended) } else { Ok(()) }
    }

    fn finish(&mut self) -> Result<()> {
        self.hand_on(1.0)
    }
}

impl Sink for Regrouped<'_> {
    fn begin(&mut self, choice: &Choice) -> Result<()> {
        self.dim = choice.columns.len();
        self.rows = self.size.rows(self.dim);
        self.slots = Slots::of(choice);
        let named = self.slots.parameters.iter().map(|&slot| &choice.names[choice.columns[slot]]);
        self.names = named.cloned().collect();
        self.has_weights = choice.weight.is_some();
        Ok(())
    }

    fn leave_out(&mut self, after: usize) {
        self.left_out.push(after);
    }

    fn take(&mut self, mut values: &[f64], mut weights: &[f64], part: f64) -> Result<()> {
        while !values.is_empty() {
            let room = self.rows - self.values.len() / self.dim;
            let count = room.min(values.len() / self.dim);
            self.values.extend_from_slice(&values[..count * self.dim]);
            values = &values[count * self.dim..];
            if self.has_weights {
                self.weights.extend_from_slice(&weights[..count]);
                weights = &weights[count..];
            }
            if self.values.len() == self.rows * self.dim {
                self.hand_on(part)?;
            }
        }
        Ok(())
    }
}
