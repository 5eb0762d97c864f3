//! Every way a file can be refused: what is wrong, where, and what to do about it.

use std::fmt;
use std::path::{Path, PathBuf};

/// How many column names an error lists before it says how many more there are.
const NAMES_LISTED: usize = 20;

/// Where in a table: the data row counted from 1, the line of the file counted from 1, and the column's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The data row, from 1; the header and blank lines do not count.
    pub row: usize,
    /// The line of the file, from 1; it runs ahead of the row where a quoted field spans lines.
    pub line: usize,
    /// The name of the column.
    pub column: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {} (line {}), column '{}'", self.row, self.line, self.column)
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
        "line {line} is not UTF-8 text; save the file as UTF-8 (a compressed or binary file must be converted first)"
    )]
    NotUtf8 {
        /// The line with the first bad byte, from 1.
        line: usize,
    },
    /// The first line holds numbers where names are expected.
    #[error("the first line holds numbers ('{example}', …), not column names; put a header line above it")]
    NoHeader {
        /// The first of them.
        example: String,
    },
    /// Two columns have the same name.
    #[error("two columns are named '{name}'; give every column a name of its own")]
    DuplicateHeader {
        /// The name.
        name: String,
    },
    /// A row has more or fewer fields than the header.
    #[error(
        "row {row} (line {line}) has {found} fields, but the header has {expected}; fix that line or quote fields that contain commas"
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
    #[error("{place} is '{text}', not a number; fix it, or leave the column out with --exclude {}", place.column)]
    TextCell {
        /// Where.
        place: Place,
        /// What is there.
        text: String,
    },
    /// A cell of a parameter column is empty, or says that its value is missing.
    #[error("{place} is {}; drop the row or fill the value in, or leave the column out with --exclude {}", missing(text), place.column)]
    MissingCell {
        /// Where.
        place: Place,
        /// What is there: nothing, or a word such as `NA`.
        text: String,
    },
    /// A cell of a parameter column is NaN or infinite.
    #[error("{place} is {text}; every value must be a finite number, so drop the row or fix the value, or leave the column out with --exclude {}", place.column)]
    NonFiniteCell {
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
    #[error("there is no column '{name}'; the columns are {}", listed(known))]
    UnknownColumn {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// A name stands twice in a list of columns.
    #[error("column '{name}' is listed twice; list each of these once: {}", listed(known))]
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

/// A result whose error is this crate's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The same error, with the file named in front.
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
    if text.is_empty() { "empty".to_string() } else { format!("'{text}', a missing value") }
}

fn listed(names: &[String]) -> String {
    if names.len() <= NAMES_LISTED {
        return names.join(", ");
    }
    format!("{} and {} more", names[..NAMES_LISTED].join(", "), names.len() - NAMES_LISTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_of_names_is_cut_short() {
        let names: Vec<String> = (0..23).map(|i| format!("x{i}")).collect();
        assert!(listed(&names).ends_with("x18, x19 and 3 more"));
        assert_eq!(listed(&names[..2]), "x0, x1");
    }

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
