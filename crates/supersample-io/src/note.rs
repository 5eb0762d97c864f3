//! Notes: what was assumed about a file, or will not be as in the file, in words a user should see.

use std::fmt;

use crate::Format;
use crate::npy::Shape;
use crate::words::{as_typed, listed, shown};

/// One thing that was assumed about the files, or that an output will not hold. Its [`Display`](fmt::Display) is a sentence
/// without a full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// What the axes of arrays were taken for, where they could have been something else.
    Axes {
        /// What they were taken for.
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
        /// How many.
        rows: usize,
    },
    /// Rows with a missing value in a used column were left out.
    MissingRows {
        /// How many.
        rows: usize,
        /// How many rows the files have.
        of: usize,
    },
    /// Columns are used as parameters but look like ids.
    LookLikeIds {
        /// The columns.
        columns: Vec<String>,
    },
    /// Columns are used as parameters but look like weights or log-densities.
    LookLikeWeights {
        /// The columns.
        columns: Vec<String>,
    },
    /// A column of weights is used neither as a coordinate nor as weights.
    WeightsNotUsed {
        /// The column.
        column: String,
    },
    /// Columns were passed over because they do not hold numbers.
    NotNumbers {
        /// The columns.
        columns: Vec<String>,
    },
    /// Arrays of an .npz are not used, since they do not have an entry for each row.
    MembersLeftOut {
        /// The arrays.
        members: Vec<String>,
        /// The rows that the others have.
        rows: usize,
    },
    /// Columns go out as text, since the format has no type of theirs.
    WrittenAsText {
        /// The columns.
        columns: Vec<String>,
        /// The format.
        format: Format,
    },
    /// Columns do not go out, since the format cannot hold them.
    NotWritten {
        /// The columns.
        columns: Vec<String>,
        /// The format.
        format: Format,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let are = |columns: &[String]| if columns.len() == 1 { "is" } else { "are" };
        let named = |columns: &[String]| match columns {
            [column] => format!("column '{}'", shown(column)),
            columns => format!("columns {}", listed(columns)),
        };
        match self {
            Note::Axes { shape, sizes } => {
                let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
                let (axes, others) = match shape {
                    Shape::Rows => ("rows first", "chain,draw or draw,chain"),
                    Shape::ChainDraw => ("chain, then draw", "draw,chain or rows"),
                    Shape::DrawChain => ("draw, then chain", "chain,draw or rows"),
                };
                write!(
                    f,
                    "arrays of shape {} are read as {axes}; --shape {others} says otherwise",
                    sizes.join(" × ")
                )
            }
            Note::CountedHeader { first } => write!(
                f,
                "the first line counts {first}, {}, … and is taken for the names of the columns, not for a draw",
                first + 1
            ),
            Note::MeanRows { rows: 1 } => f.write_str(
                "the first row is the mean of the variational approximation, not a draw, and is left out",
            ),
            Note::MeanRows { rows } => write!(
                f,
                "the first row of {rows} files is the mean of the variational approximation, not a draw, and is left out"
            ),
            Note::MissingRows { rows, of } => {
                let (have, are) = if *rows == 1 { ("has", "is") } else { ("have", "are") };
                write!(f, "{rows} of {of} rows {have} a missing value in a used column and {are} left out")
            }
            Note::LookLikeIds { columns } => write!(
                f,
                "{} {} used, but {} like an id, not a parameter; leave out with --exclude {}",
                named(columns),
                are(columns),
                if columns.len() == 1 { "looks" } else { "look" },
                exclusion(columns)
            ),
            Note::LookLikeWeights { columns } => write!(
                f,
                "{} {} used as coordinates, but {} like weights or log-densities; leave out with --exclude {}, or use one with \
                 --weight-column or --log-weight-column",
                named(columns),
                are(columns),
                if columns.len() == 1 { "looks" } else { "look" },
                exclusion(columns)
            ),
            Note::WeightsNotUsed { column } => write!(
                f,
                "column '{0}' is not used; --weight-column {1} takes it as weights",
                shown(column),
                as_typed(column)
            ),
            Note::NotNumbers { columns } => {
                write!(f, "{} {} not used, for want of numbers", named(columns), are(columns))
            }
            Note::MembersLeftOut { members, rows } => write!(
                f,
                "{} {} not used, for want of one entry for each of the {rows} rows",
                match &members[..] {
                    [member] => format!("array '{}'", shown(member)),
                    members => format!("arrays {}", listed(members)),
                },
                are(members)
            ),
            Note::WrittenAsText { columns, format } => {
                write!(f, "{} {} written to {format} as text", named(columns), are(columns))
            }
            Note::NotWritten { columns, format } => {
                write!(
                    f,
                    "{} {} not written, since {format} cannot hold such cells",
                    named(columns),
                    are(columns)
                )
            }
        }
    }
}

/// The columns as they are typed after `--exclude`.
fn exclusion(columns: &[String]) -> String {
    columns.iter().map(|column| as_typed(column)).collect::<Vec<_>>().join(",")
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
                "arrays of shape 4 × 75 × 3 are read as chain, then draw; --shape draw,chain or rows says otherwise",
            ),
            (
                Note::LookLikeIds { columns: owned(&["iter"]) },
                "column 'iter' is used, but looks like an id, not a parameter; leave out with --exclude iter",
            ),
            (
                Note::LookLikeIds { columns: owned(&["iter", "my id"]) },
                "columns iter, my id are used, but look like an id, not a parameter; leave out with --exclude iter,'my id'",
            ),
            (
                Note::MembersLeftOut { members: owned(&["logz"]), rows: 7 },
                "array 'logz' is not used, for want of one entry for each of the 7 rows",
            ),
            (
                Note::NotWritten { columns: owned(&["blob"]), format: Format::Text },
                "column 'blob' is not written, since csv cannot hold such cells",
            ),
            (
                Note::CountedHeader { first: 0 },
                "the first line counts 0, 1, … and is taken for the names of the columns, not for a draw",
            ),
        ] {
            assert_eq!(note.to_string(), text);
        }
    }
}
