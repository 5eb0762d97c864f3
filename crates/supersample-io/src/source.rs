//! Traits and types of a format: reading the numbers of a file, finding its rows again, and what it can hold.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;

use crate::cells::{is_number, is_text, is_time};
use crate::frame::{Column, Frame};
use crate::reading::Choice;
use crate::{Note, Result};

/// The way back to the rows of one file.
pub(crate) trait Source: Any + fmt::Debug + Send + Sync {
    /// The columns of these positions in these rows of the file; `names` are those of all columns. Columns that are
    /// neither numbers nor text may be left out.
    fn frame(&self, names: &[String], columns: &[usize], rows: &[usize]) -> Result<Frame>;

    /// Metadata of the file, for an output of the same family.
    fn remarks(&self) -> HashMap<String, String> {
        HashMap::new()
    }
}

/// Receiver of the numbers of a file, a few rows at a time. All formats use it, whether the numbers are kept or come in
/// batches.
pub(crate) trait Sink {
    /// The head of the file has been read, and these columns are to come.
    fn begin(&mut self, choice: &Choice) -> Result<()>;

    /// Announces the expected number of parameter values.
    fn expect(&mut self, _numbers: usize) {}

    /// A row was left out, after this number of used rows of all files.
    fn leave_out(&mut self, _after: usize) {}

    /// Rows that follow those before: the parameters row by row (NaN where a missing value was to be kept), and a weight
    /// each where there is a column of them. `part` says how much of the file has been read, from 0 to 1.
    fn take(&mut self, values: &[f64], weights: &[f64], part: f64) -> Result<()>;
}

/// Result of reading one file, after its numbers have gone to a [`Sink`].
#[derive(Debug)]
pub(crate) struct FileRead {
    pub(crate) rows: usize,
    pub(crate) choice: Choice,
    /// Warm-up rows that were left out, and whether the file has any.
    pub(crate) warmup: usize,
    pub(crate) has_warmup: bool,
    /// Rows that are the mean of an approximation, left out.
    pub(crate) mean_rows: usize,
    /// Where one file holds several chains.
    pub(crate) draws_per_chain: Option<usize>,
    pub(crate) notes: Vec<Note>,
    pub(crate) source: Box<dyn Source>,
}

impl FileRead {
    /// Of a format that knows neither warm-up rows nor chains within a file.
    pub(crate) fn plain(choice: Choice, rows: usize, source: Box<dyn Source>) -> FileRead {
        FileRead {
            rows,
            choice,
            warmup: 0,
            has_warmup: false,
            mean_rows: 0,
            draws_per_chain: None,
            notes: Vec::new(),
            source,
        }
    }
}

/// Options of writing, in addition to the columns.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dress {
    /// Between the fields of text.
    pub(crate) separator: Option<u8>,
    /// Whether the cells came from text, which has no types.
    pub(crate) is_untyped: bool,
    /// Metadata of the input; only the same formats write it again.
    pub(crate) remarks: HashMap<String, String>,
}

/// Estimated size of files, from their heads and lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExpectedSize {
    /// About how many rows there are.
    pub rows: usize,
    /// Number of used columns, including functions.
    pub columns: usize,
    /// Whether all numbers of these columns have single precision or less, so that they would take twice the memory in
    /// double.
    pub is_single: bool,
    /// Bytes that are read at once in any case: the largest block of the file.
    pub block_bytes: u64,
}

/// How a format holds a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    AsItIs,
    /// As a text that says something else: a time.
    AsText,
    Not,
}

impl Holds {
    /// In a format of numbers and text.
    pub(crate) fn in_text(column: &Column) -> Holds {
        match column.kind() {
            kind if is_number(kind) || is_text(kind) || kind.is_null() => Holds::AsItIs,
            kind if is_time(kind) => Holds::AsText,
            _ => Holds::Not,
        }
    }
}
