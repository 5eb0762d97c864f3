//! Errors: what is wrong with a file, where, and what to do about it.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::reading::Missing;
use crate::words::{as_typed, listed, meant, shown};

/// Where in a table: the data row counted from 1, the line of the file counted from 1, and the column's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The data row, from 1; the header and blank lines do not count.
    pub row: usize,
    /// The line of a file of text, from 1; it runs ahead of the row where a quoted field spans lines.
    pub line: Option<usize>,
    /// The name of the column.
    pub column: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.line.map(|line| format!(" (line {line})")).unwrap_or_default();
        write!(f, "row {}{line}, column '{}'", self.row, shown(&self.column))
    }
}

/// What this crate refuses to read or write.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Something is wrong with the file at this path.
    // The inner error is part of the text and therefore not a source too: one line says it all.
    #[error("{}: {error}", path.display())]
    InFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: Box<Error>,
    },
    /// The system would not read the file.
    #[error("the file cannot be read: {0}")]
    Unreadable(std::io::Error),
    /// What came through a pipe could not be kept for the second pass.
    #[error("the input cannot be kept in a temporary file: {0}; name a roomier folder with TMPDIR")]
    Spool(std::io::Error),
    /// The file is not the one that was read at first.
    #[error("the file was changed while it was being used; run again when nobody writes to it")]
    Changed,
    /// Whoever took the rows in batches wanted no more of them.
    #[error("the reading was ended")]
    Ended,
    /// An .npz cannot be gone through in batches.
    #[error(
        "an .npz holds its columns one after the other and cannot be read in batches; save it as .npy or Parquet, or allow more memory"
    )]
    NoBatches,
    /// A binary file is not what its format should be.
    #[error("the file is not a sound {format} file: {reason}; write it again, or convert it to CSV")]
    Malformed {
        /// The format by name.
        format: &'static str,
        /// What was met.
        reason: String,
    },
    /// This build cannot read or write the format.
    #[error("this build knows no {format}; build it with the feature {feature}, or convert the file to CSV")]
    NotBuilt {
        /// The format by name.
        format: &'static str,
        /// The cargo feature it needs.
        feature: &'static str,
    },
    /// The file is of a kind that this crate knows by sight, but does not read.
    #[error("this is {kind}; {remedy}")]
    Foreign {
        /// What it is.
        kind: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// A column that is to be used holds no numbers.
    #[error(
        "column '{}' holds {kind}, not numbers; leave it out, or cast it to numbers first",
        shown(column)
    )]
    NotNumbers {
        /// The column.
        column: String,
        /// What it holds.
        kind: String,
    },
    /// Every row has a missing value in a used column.
    #[error(
        "all {rows} rows have a missing value in a used column, so that --drop-na leaves none; leave out the columns with many of them with --exclude"
    )]
    OnlyMissing {
        /// How many rows there are.
        rows: usize,
    },
    /// A CmdStan file that ends within a line.
    #[error(
        "the file ends in the middle of line {line}, so the run that wrote it was stopped; delete that line to use the rows above"
    )]
    CutShort {
        /// The line, from 1.
        line: usize,
    },
    /// All rows of a CmdStan file are warm-up.
    #[error("all {rows} rows are warm-up, as the settings in the file say; use them with --warmup")]
    OnlyWarmup {
        /// How many there are.
        rows: usize,
    },
    /// Files that are to be chains of one run have different columns.
    #[error("the columns are not those of {}: {difference}; chains of one run have the same columns", first.display())]
    DifferentColumns {
        /// The first file.
        first: PathBuf,
        /// What differs.
        difference: String,
    },
    /// The weight column is also listed as a parameter.
    #[error(
        "column '{}' holds the weights and cannot be a parameter as well; list it as one of the two",
        shown(name)
    )]
    WeightIsParameter {
        /// The column.
        name: String,
    },
    /// The weight column is also listed as a function.
    #[error(
        "column '{}' holds the weights and cannot be a function as well; list it as one of the two",
        shown(name)
    )]
    WeightIsFunction {
        /// The column.
        name: String,
    },
    /// A function is also listed as a parameter.
    #[error(
        "column '{}' is a function, which distances do not use, and cannot be a parameter as well; list it as one of the two",
        shown(name)
    )]
    FunctionIsParameter {
        /// The column.
        name: String,
    },
    /// Every function is excluded.
    #[error("every function is also excluded; exclude fewer, or name no functions")]
    NoFunctions,
    /// A cell of the column that rows are grouped by is empty.
    #[error("{place} is empty; every row needs a value there, so that rows can be grouped by it")]
    MissingLabel {
        /// Where it is.
        place: Place,
    },
    /// No file was named.
    #[error("there is no input; name at least one file, or - for standard input")]
    NoFiles,
    /// The rows cannot be written in this format.
    #[error("column '{}' holds text, which {format} cannot; choose another ending", shown(column))]
    TextInArray {
        /// The column.
        column: String,
        /// The format by name.
        format: &'static str,
    },
    /// The system would not take what was written.
    #[error(transparent)]
    Unwritable(#[from] std::io::Error),
    /// The path names a directory.
    #[error("this is a directory; name a file in it")]
    Directory,
    /// The file has no bytes, or nothing but blank lines.
    #[error(
        "the file is empty; it should have a header line with the column names and one line for each draw"
    )]
    Empty,
    /// There is a header but nothing below it.
    #[error("the file has a header but no rows; at least one row of numbers is needed")]
    NoRows,
    /// Some bytes are not text.
    #[error(
        "line {line} is not UTF-8 text; save the file as UTF-8 (an unknown binary format must be converted first)"
    )]
    NotUtf8 {
        /// The line with the first bad byte, from 1.
        line: usize,
    },
    /// The first line holds numbers where names are expected.
    #[error(
        "the first line holds numbers ('{}', …), not column names; put a header line above it",
        shown(example)
    )]
    NoHeader {
        /// The first of them.
        example: String,
    },
    /// Two columns have the same name.
    #[error("two columns are named '{}'; give every column a name of its own", shown(name))]
    DuplicateHeader {
        /// The name.
        name: String,
    },
    /// A row has more or fewer fields than the header.
    #[error(
        "row {row} (line {line}) has {found} fields, but the header has {expected}; fix that line or quote fields that contain the separator"
    )]
    Ragged {
        /// The data row, from 1.
        row: usize,
        /// Its line, from 1.
        line: usize,
        /// How many fields it has.
        found: usize,
        /// How many the header has.
        expected: usize,
    },
    /// A quote is opened and the file ends before it is closed.
    #[error(
        "row {row} (line {line}) opens a quote that is never closed; close it, or double a quote that is meant as text"
    )]
    UnclosedQuote {
        /// The data row, from 1.
        row: usize,
        /// Its line, from 1.
        line: usize,
    },
    /// A cell of a parameter column is not a number.
    #[error("{place} is '{}', not a number; fix it, or leave the column out with --exclude {}{}", shown(text), as_typed(&place.column), comma_hint(text))]
    TextCell {
        /// Where.
        place: Place,
        /// What is there.
        text: String,
    },
    /// A cell of a parameter column is empty, or says that its value is missing.
    #[error("{place} is {}; fill it in, leave such rows out with --drop-na, or the column with --exclude {}", missing(text), as_typed(&place.column))]
    MissingCell {
        /// Where.
        place: Place,
        /// What is there: nothing, or a word such as `NA`.
        text: String,
    },
    /// A cell of a parameter column is NaN or infinite.
    #[error("{place} is {}; every value must be a finite number, so fix it, {}leave the column out with --exclude {}", shown(text), drop_hint(text), as_typed(&place.column))]
    NonFiniteCell {
        /// Where.
        place: Place,
        /// What is there.
        text: String,
    },
    /// A cell of the weight column is not a finite number.
    #[error(
        "{place} is the weight '{}'; every row needs a finite number as its weight, or -inf as the logarithm of none",
        shown(text)
    )]
    BadWeightCell {
        /// Where.
        place: Place,
        /// What is there.
        text: String,
    },
    /// Not one column holds numbers to choose by.
    #[error("no column is left to choose by: {reason}")]
    NoNumericColumns {
        /// Why each column was passed over.
        reason: String,
    },
    /// A name in a list of columns is not in the file.
    #[error(
        "there is no column '{}'; {}the columns are {}",
        shown(name),
        did_you_mean(name, known),
        listed(known)
    )]
    UnknownColumn {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// A name stands twice in a list of columns.
    #[error("column '{}' is listed twice; list each of these once: {}", shown(name), listed(known))]
    RepeatedColumn {
        /// The name given twice.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// A mixture file is not what its format or its keys should be.
    #[error(
        "line {line}, column {column}: {message}; a mixture file has one [[component]] after another, each with weight, mean and covariance"
    )]
    MixtureSyntax {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What the parser met there.
        message: String,
    },
    /// A mixture file without components.
    #[error(
        "the mixture has no components; write at least one [[component]] with weight, mean and covariance"
    )]
    NoComponents,
    /// A mean has no numbers.
    #[error("component {component} (counted from 0): the mean is empty; give one number for each dimension")]
    EmptyMean {
        /// Which component, from 0.
        component: usize,
    },
    /// Components of different dimension.
    #[error(
        "component {component} (counted from 0): the mean has {found} numbers, but that of component 0 has {expected}; all components must have one dimension"
    )]
    MeanLength {
        /// Which component, from 0.
        component: usize,
        /// How many numbers its mean has.
        found: usize,
        /// How many the first one has.
        expected: usize,
    },
    /// A covariance that does not fit its mean.
    #[error(
        "component {component} (counted from 0): the covariance has {rows} rows and its row {row} has {columns} numbers, but the mean has {dim}; write {dim} rows of {dim} numbers"
    )]
    CovarianceShape {
        /// Which component, from 0.
        component: usize,
        /// How many rows the covariance has.
        rows: usize,
        /// The row shown, from 0: the first of the wrong length, or 0.
        row: usize,
        /// How many numbers that row has.
        columns: usize,
        /// The length of the mean.
        dim: usize,
    },
    /// A number of a mixture is NaN or infinite.
    #[error("component {component} (counted from 0): {what} contains {value}; every number must be finite")]
    NonFiniteMixture {
        /// Which component, from 0.
        component: usize,
        /// Where in it.
        what: &'static str,
        /// The offending value.
        value: f64,
    },
    /// The numbers are well-formed but describe no mixture.
    #[error(transparent)]
    Mixture(#[from] supersample::Error),
}

/// What a cell that should hold a number can hold instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadCell {
    Text,
    Missing,
    NonFinite,
}

impl BadCell {
    /// Whether a cell of text is to be kept as NaN.
    pub(crate) fn is_kept(self, text: &str, missing: Missing) -> bool {
        let is_missing = self == BadCell::Missing || text.parse::<f64>().is_ok_and(f64::is_nan);
        match missing {
            Missing::Refused => false,
            Missing::Kept => is_missing,
            Missing::AnyKept => true,
        }
    }

    pub(crate) fn refused(self, place: Place, text: String, is_weight: bool) -> Error {
        match self {
            _ if is_weight => Error::BadWeightCell { place, text },
            BadCell::Text => Error::TextCell { place, text },
            BadCell::Missing => Error::MissingCell { place, text },
            BadCell::NonFinite => Error::NonFiniteCell { place, text },
        }
    }
}

/// A number as it is to be used (a weight may be −∞, the logarithm of none; a missing value may be kept as NaN), or the
/// error that names it. `None` is a missing value.
pub(crate) fn cell(
    value: Option<f64>,
    missing: Missing,
    is_weight: bool,
    place: impl FnOnce() -> Place,
) -> Result<f64> {
    let (bad, text) = match value {
        Some(value) if value.is_finite() || is_weight && value == f64::NEG_INFINITY => return Ok(value),
        _ if missing == Missing::AnyKept => return Ok(f64::NAN),
        Some(value) if value.is_nan() && missing == Missing::Kept => return Ok(value),
        None if missing == Missing::Kept => return Ok(f64::NAN),
        Some(value) => (BadCell::NonFinite, value.to_string()),
        None => (BadCell::Missing, String::new()),
    };
    Err(bad.refused(place(), text, is_weight))
}

/// A result whose error is this crate's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// This error with the file named in front.
    pub(crate) fn in_file(self, path: &Path) -> Error {
        Error::InFile { path: path.to_path_buf(), error: Box::new(self) }
    }
}

/// The bytes of a file, or why they cannot be had.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>> {
    // Reading a directory fails too, but each system words it differently and none says what to do.
    if path.is_dir() {
        return Err(Error::Directory);
    }
    std::fs::read(path).map_err(Error::Unreadable)
}

/// The bytes as text, or the line that is not.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|error| {
        let valid = &bytes[..error.valid_up_to()];
        Error::NotUtf8 { line: 1 + valid.iter().filter(|&&byte| byte == b'\n').count() }
    })
}

fn missing(text: &str) -> String {
    if text.is_empty() { "empty".to_string() } else { format!("'{}', a missing value", shown(text)) }
}

/// NaN counts as missing; infinity does not.
fn drop_hint(text: &str) -> &'static str {
    match text.parse::<f64>().is_ok_and(f64::is_nan) {
        true => "leave such rows out with --drop-na, or ",
        false => "or ",
    }
}

/// What to do about `0,5`.
fn comma_hint(text: &str) -> &'static str {
    match text.contains(',') && text.replacen(',', ".", 1).parse::<f64>().is_ok() {
        true => " (decimal commas are not read: write points)",
        false => "",
    }
}

fn did_you_mean(name: &str, known: &[String]) -> String {
    meant(name, known).map(|meant| format!("did you mean '{}'? ", shown(meant))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bad_byte_names_its_line() {
        assert_eq!(
            utf8(b"a\nb\n\xff").unwrap_err().to_string().split(';').next(),
            Some("line 3 is not UTF-8 text")
        );
        assert!(utf8("µ\n".as_bytes()).is_ok());
    }

    #[test]
    fn the_file_is_named_once_and_first() {
        let error = Error::Empty.in_file(Path::new("dir/draws.csv"));
        assert!(error.to_string().starts_with("dir/draws.csv: the file is empty;"));
        assert!(std::error::Error::source(&error).is_none());
    }
}
