//! Notes for the user: assumptions about a file, and differences of an output.

use std::fmt;
use std::path::PathBuf;

use supersample::words::{ColumnNote, Style};

use crate::Format;
use crate::npy::Shape;
use crate::words::{listed, shown};

/// Assumption about the files, or something that an output will not hold. Its [`Display`](fmt::Display) is a sentence
/// without a full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// The meaning of the axes of arrays was assumed.
    Axes {
        /// Assumed meaning.
        shape: Shape,
        /// The sizes of the axes.
        sizes: Vec<usize>,
    },
    /// The header counts 0, 1, 2, … or 1, 2, 3, … and was taken for names.
    CountedHeader {
        /// The first number.
        first: usize,
    },
    /// Rows that are the mean of a variational approximation were left out.
    MeanRows {
        /// Count.
        rows: usize,
    },
    /// Rows with a missing value in a used column were left out.
    MissingRows {
        /// Count.
        rows: usize,
        /// Number of rows in the files.
        of: usize,
    },
    /// Columns may not be what they are used as.
    Columns(ColumnNote),
    /// Columns are not used because they do not hold numbers.
    NotNumbers {
        /// The columns.
        columns: Vec<String>,
    },
    /// Arrays of an .npz are not used, because they do not have an entry for each row.
    MembersLeftOut {
        /// The arrays.
        members: Vec<String>,
        /// The rows that the others have.
        rows: usize,
    },
    /// Columns are written as text, because the format does not have their type.
    WrittenAsText {
        /// The columns.
        columns: Vec<String>,
        /// The format.
        format: Format,
    },
    /// A file is named more than once.
    Repeated {
        /// The file, as it is named the second time.
        path: PathBuf,
    },
    /// Columns are not written, because the format cannot hold them.
    NotWritten {
        /// The columns.
        columns: Vec<String>,
        /// The format.
        format: Format,
    },
}

/// "column 'x' is", "columns x, y are".
fn are(what: &str, names: &[String]) -> String {
    match names {
        [name] => format!("{what} '{}' is", shown(name)),
        names => format!("{what}s {} are", listed(names)),
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Note::Axes { shape, sizes } => {
                let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
                let (axes, others) = match shape {
                    Shape::Rows => ("rows first", "chain,draw or draw,chain"),
                    Shape::ChainDraw => ("chain, then draw", "draw,chain or rows"),
                    Shape::DrawChain => ("draw, then chain", "chain,draw or rows"),
                };
                let sizes = sizes.join(" × ");
                format!("arrays of shape {sizes} are read as {axes}; if that is wrong, set --shape {others}")
            }
            Note::CountedHeader { first } => {
                let second = first + 1;
                format!("the first line is {first}, {second}, … and is read as column names, not as a draw")
            }
            Note::MeanRows { rows } => {
                let of = if *rows == 1 { String::new() } else { format!(" of {rows} files") };
                format!(
                    "the first row{of} is the mean of the variational approximation, not a draw, and is left out"
                )
            }
            Note::MissingRows { rows, of } => {
                let (have, are) = if *rows == 1 { ("has", "is") } else { ("have", "are") };
                format!("{rows} of {of} rows {have} a missing value in a used column and {are} left out")
            }
            Note::Columns(note) => note.sentence(Style::Command),
            Note::NotNumbers { columns } => {
                format!("{} not used: not numeric", are("column", columns))
            }
            Note::MembersLeftOut { members, rows } => {
                format!(
                    "{} not used: there must be one entry for each of the {rows} rows",
                    are("array", members)
                )
            }
            Note::WrittenAsText { columns, format } => {
                format!("{} written to {format} as text", are("column", columns))
            }
            Note::Repeated { path } => {
                format!("{} is named more than once, and its rows count as often", path.display())
            }
            Note::NotWritten { columns, format } => {
                format!("{} not written, because {format} cannot store such cells", are("column", columns))
            }
        };
        f.write_str(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_say_what_was_assumed_and_how_to_say_otherwise() {
        let owned = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        for (note, text) in [
            (
                Note::Axes { shape: Shape::ChainDraw, sizes: vec![4, 75, 3] },
                "arrays of shape 4 × 75 × 3 are read as chain, then draw; if that is wrong, set --shape draw,chain or rows",
            ),
            (
                Note::MembersLeftOut { members: owned(&["logz"]), rows: 7 },
                "array 'logz' is not used: there must be one entry for each of the 7 rows",
            ),
            (
                Note::NotWritten { columns: owned(&["blob"]), format: Format::Text },
                "column 'blob' is not written, because csv cannot store such cells",
            ),
            (
                Note::CountedHeader { first: 0 },
                "the first line is 0, 1, … and is read as column names, not as a draw",
            ),
        ] {
            assert_eq!(note.to_string(), text);
        }
    }
}
