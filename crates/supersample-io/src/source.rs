//! The formats, one row of a table for each: how a file is read, how its rows are found again, how columns are written.

use std::collections::HashMap;
use std::fmt;
use std::io::Write;

use crate::format::Format;
use crate::frame::{Column, Frame};
use crate::npy::NpySource;
use crate::npz::NpzSource;
use crate::origin::Origin;
use crate::reading::{Choice, Missing};
use crate::text::TextSource;
use crate::{Error, Note, Reading, Result, npy, npz, text};

/// The way back to the rows of one file.
pub(crate) trait Source: fmt::Debug + Send + Sync {
    fn format(&self) -> Format;

    /// The bytes of the file, to be gone through once more.
    fn origin(&self) -> &Origin;

    /// All cells of one column.
    fn column(&self, position: usize, rows: usize) -> Result<Column>;

    /// These rows of the file with all their columns.
    fn frame(&self, names: &[String], rows: &[usize]) -> Result<Frame>;

    /// What the file says of itself beside its columns, for an output of the same family.
    fn remarks(&self) -> HashMap<String, String> {
        HashMap::new()
    }

    fn as_text(&self) -> Option<&TextSource> {
        None
    }

    fn as_npy(&self) -> Option<&NpySource> {
        None
    }

    fn as_npz(&self) -> Option<&NpzSource> {
        None
    }
}

/// Where the numbers of a file go while it is read, a few rows at a time. All formats have this one way out, whether the
/// numbers are kept or looked at in passing.
pub(crate) trait Sink {
    /// The head of the file has been read, and these columns are to come.
    fn begin(&mut self, choice: &Choice) -> Result<()>;

    /// The file should hold so many numbers of parameters.
    fn expect(&mut self, _numbers: usize) {}

    /// Rows that follow those before: the parameters row after row (NaN where a missing value was to be kept), and a weight
    /// each where there is a column of them. `part` says how much of the file has been read, from 0 to 1.
    fn take(&mut self, values: &[f64], weights: &[f64], part: f64) -> Result<()>;
}

/// What is known of one file after its numbers have gone to a [`Sink`].
#[derive(Debug)]
pub(crate) struct Part {
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

impl Part {
    /// Of a format that knows neither warm-up rows nor chains within a file.
    pub(crate) fn plain(choice: Choice, rows: usize, source: Box<dyn Source>) -> Part {
        Part {
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

/// What is written beside the columns.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dress {
    /// Between the fields of text.
    pub(crate) separator: Option<u8>,
    /// Whether the cells came from text, which has no types.
    pub(crate) is_untyped: bool,
    /// What the input says of itself; only formats that came from say it again.
    #[cfg_attr(not(feature = "arrow"), expect(dead_code, reason = "only tables of Arrow say anything"))]
    pub(crate) remarks: HashMap<String, String>,
}

/// How large files are, from a look at their heads and sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExpectedSize {
    /// About how many rows there are.
    pub rows: usize,
    /// How many columns are used, those of functions among them.
    pub columns: usize,
    /// Whether all numbers of these columns have single precision or less, so that in double they would take twice the room.
    pub is_single: bool,
}

/// How one format is read and written.
pub(crate) struct Codec {
    pub(crate) format: Format,
    pub(crate) read: fn(Origin, &Reading<'_>, Missing, &mut dyn Sink) -> Result<Part>,
    /// From the head of the file; `None` where that does not say.
    pub(crate) expected: fn(&Origin, &Reading<'_>) -> Result<Option<ExpectedSize>>,
    /// Whether a column of this kind can be held, and how.
    pub(crate) holds: fn(&Column) -> Holds,
    /// Columns that can be held, typed.
    pub(crate) write: fn(&Frame, &Dress, &mut dyn Write) -> Result<()>,
}

/// How a format holds a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(feature = "arrow"), expect(dead_code, reason = "only Arrow has other types"))]
pub(crate) enum Holds {
    AsItIs,
    /// As numbers of another type.
    AsNumbers,
    /// As the words it holds.
    AsWords,
    /// As a text that stands for something else: a time, a list.
    AsText,
    Not,
}

impl Holds {
    /// In a format of numbers and text: what has a text goes out as that.
    pub(crate) fn with_text(column: &Column) -> Holds {
        match column {
            #[cfg(feature = "arrow")]
            Column::Other(carried) => carried.held_as_text(),
            _ => Holds::AsItIs,
        }
    }
}

fn unforeseen(_: &Origin, _: &Reading<'_>) -> Result<Option<ExpectedSize>> {
    Ok(None)
}

/// All formats of this build.
const CODECS: &[Codec] = &[
    Codec {
        format: Format::Text,
        read: text::read,
        expected: text::expected,
        holds: Holds::with_text,
        write: text::write_frame,
    },
    Codec {
        format: Format::Npy,
        read: npy::read,
        expected: npy::expected,
        holds: npy::holds,
        write: npy::write_frame,
    },
    Codec {
        format: Format::Npz,
        read: npz::read,
        expected: unforeseen,
        holds: Holds::with_text,
        write: npz::write_frame,
    },
    #[cfg(feature = "arrow")]
    Codec {
        format: Format::Arrow,
        read: crate::arrow::read,
        expected: crate::arrow::expected,
        holds: |_| Holds::AsItIs,
        write: crate::arrow::write_frame,
    },
    #[cfg(feature = "parquet")]
    Codec {
        format: Format::Parquet,
        read: crate::parquet::read,
        expected: crate::parquet::expected,
        holds: crate::parquet::holds,
        write: crate::parquet::write_frame,
    },
];

/// How this format is read and written, or that this build cannot.
pub(crate) fn codec(format: Format) -> Result<&'static Codec> {
    let feature = match format {
        Format::Parquet => "parquet",
        _ => "arrow",
    };
    let found = CODECS.iter().find(|codec| codec.format == format);
    found.ok_or_else(|| Error::NotBuilt { format: format.title(), feature })
}
