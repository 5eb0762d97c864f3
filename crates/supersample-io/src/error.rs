//! Errors: what is wrong with a file, where, and what to do about it.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use supersample::words::{as_typed, in_units};

use crate::words::{listed, meant, shown};

/// Place in a table: the data row from 1, the line of the file from 1, and the column's name.
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

/// Errors of reading and writing.
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
    /// The system could not read the file.
    #[error("the file cannot be read: {0}")]
    Unreadable(std::io::Error),
    /// The data from a pipe could not be stored for the second pass.
    #[error("the input cannot be kept in a temporary file: {0}; set TMPDIR to a folder with more space")]
    Spool(std::io::Error),
    /// The file has changed since the first pass.
    #[error("the file was changed while it was being read; run again when no other program writes to it")]
    Changed,
    /// The consumer of the batches ended the reading.
    #[error("reading was interrupted")]
    Ended,
    /// A binary file is not what its format should be.
    #[error("the file is not a valid {format} file: {reason}; write it again, or convert it to CSV")]
    Malformed {
        /// The format by name.
        format: &'static str,
        /// What was found.
        reason: String,
    },
    /// The file is of a known kind that this crate does not read.
    #[error("this is {kind}; {remedy}")]
    Foreign {
        /// What it is.
        kind: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// A used column does not hold numbers.
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
    /// The system could not write the file.
    #[error(transparent)]
    Unwritable(#[from] std::io::Error),
    /// The numbers of the used columns do not fit into memory.
    #[error(
        "the numbers of the used columns take more than {}, which cannot be had here; read the file in batches with \
         --max-memory, or use fewer --columns",
        in_units(*bytes)
    )]
    NoMemory {
        /// The bytes that were asked for.
        bytes: u64,
    },
    /// A line is so long that it is taken for damage.
    #[error("line {line} is longer than {}; the file is damaged, or it is not a table", in_units(*bytes))]
    LongLine {
        /// The line, from 1.
        line: usize,
        /// The most that is read of one.
        bytes: u64,
    },
    /// The path names a directory.
    #[error("this is a directory; name a file in it")]
    Directory,
    /// The file has no bytes, or only blank lines.
    #[error(
        "the file is empty; it should have a header line with the column names and one line for each draw"
    )]
    Empty,
    /// There is a header but nothing below it.
    #[error("the file has a header but no rows; at least one row of numbers is needed")]
    NoRows,
    /// Every row has a missing value in a used column, and such rows are left out.
    #[error(
        "all {rows} rows have a missing value in a used column, so --drop-na leaves no rows; leave out columns with many \
         missing values with --exclude"
    )]
    AllMissing {
        /// Number of rows.
        rows: usize,
    },
    /// Some bytes are not text.
    #[error(
        "line {line} is not UTF-8 text; save the file as UTF-8 (an unknown binary format must be converted first)"
    )]
    NotUtf8 {
        /// The line with the first bad byte, from 1.
        line: usize,
    },
    /// A quote is opened and the file ends before it is closed.
    #[error(
        "row {row} (line {line}) opens a quote that is never closed; close it, or double a quote that is meant as \
         text"
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
        "{place}: the weight is '{}'; every weight must be a finite number (a log-weight may also be -inf: weight 0)",
        shown(text)
    )]
    BadWeightCell {
        /// Where.
        place: Place,
        /// What is there.
        text: String,
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
    /// The numbers are well-formed but are not a mixture or a summary.
    #[error(transparent)]
    Invalid(#[from] supersample::Error),
    /// Anything else that cannot be used: what is wrong, where, and what to do.
    #[error("{0}")]
    Refused(String),
}

/// An error whose text is written where it occurs.
macro_rules! refused {
    ($($text:tt)*) => { $crate::Error::Refused(format!($($text)*)) };
}
pub(crate) use refused;

/// A result whose error is this crate's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// This error with the file named in front.
    pub(crate) fn in_file(self, path: &Path) -> Error {
        Error::InFile { path: path.to_path_buf(), error: Box::new(self) }
    }
}

/// The bytes of a file, or of stdin for `-`, or why they cannot be had.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>> {
    if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map_err(Error::Unreadable)?;
        return Ok(bytes);
    }
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
