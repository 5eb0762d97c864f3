//! Parsing of numbers, the hot loop: bytes of whole records into rows.

use memchr::{memchr, memchr2};

use super::records::{Dialect, End};
use crate::Use;
use crate::reading::{BadCell, Missing};

/// The position of one row in this number is kept, so that any row is found again by reading a few lines.
pub(crate) const MARK_EVERY: usize = 64;

/// Role of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Not read; its cells may be anything.
    Skipped,
    /// A coordinate of the points, or a function.
    Number,
    /// The weight of the row.
    Weight,
}

/// The numbers of some whole records.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    /// Parameters and functions, row by row.
    pub(crate) values: Vec<f64>,
    pub(crate) weights: Vec<f64>,
    pub(crate) rows: usize,
    /// Lines, those without a record included.
    pub(crate) lines: usize,
    /// Some rows (from 0, the first of the chunk) and the bytes at which they start.
    pub(crate) marks: Vec<(usize, usize)>,
}

/// What stopped the reading, and where in the chunk: rows and lines from 0.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) row: usize,
    pub(crate) line: usize,
    pub(crate) kind: TroubleKind,
}

#[derive(Debug)]
pub(crate) enum TroubleKind {
    Ragged { found: usize },
    Cell { column: usize, cell: BadCell, text: String },
    NotUtf8,
    UnclosedQuote,
}

/// Reads whole records. The last may lack its terminator where the file does.
pub(crate) fn read(
    bytes: &[u8],
    dialect: Dialect,
    roles: &[Role],
    missing: Missing,
) -> Result<Chunk, Trouble> {
    let mut chunk = Chunk::default();
    let columns = roles.iter().filter(|&&role| role == Role::Number).count();
    // About what the first line suggests; a little more than is needed costs nothing.
    let line = memchr(dialect.terminator, bytes).map_or(bytes.len(), |end| end + 1);
    chunk.values.reserve(columns * (bytes.len() / line.max(1) + 16));
    let mut at = 0;
    while at < bytes.len() {
        if dialect.is_passed_over(bytes, at) {
            let end = memchr(dialect.terminator, &bytes[at..]).map_or(bytes.len(), |end| at + end + 1);
            chunk.lines += 1;
            at = end;
            continue;
        }
        if chunk.rows.is_multiple_of(MARK_EVERY) {
            chunk.marks.push((chunk.rows, at));
        }
        let (values, weights) = (chunk.values.len(), chunk.weights.len());
        match quick_row(bytes, at, dialect, roles, &mut chunk) {
            Some(end) => {
                chunk.lines += 1;
                at = end;
            }
            None => {
                chunk.values.truncate(values);
                chunk.weights.truncate(weights);
                at = careful_row(bytes, at, dialect, roles, missing, &mut chunk)?;
            }
        }
        chunk.rows += 1;
    }
    Ok(chunk)
}

/// A row in which every wanted cell is a plain finite number and no skipped one is quoted: nearly all of them. `None`
/// where it is anything else, and then what was pushed must be taken back.
#[inline]
fn quick_row(
    bytes: &[u8],
    mut at: usize,
    dialect: Dialect,
    roles: &[Role],
    chunk: &mut Chunk,
) -> Option<usize> {
    let last = roles.len() - 1;
    for (column, role) in roles.iter().enumerate() {
        if *role == Role::Skipped {
            if bytes.get(at) == Some(&b'"') {
                return None;
            }
            at += memchr2(dialect.separator, dialect.terminator, &bytes[at..]).unwrap_or(bytes.len() - at);
        } else {
            while bytes.get(at) == Some(&b' ') && dialect.separator != b' ' {
                at += 1;
            }
            let (value, length): (f64, usize) = fast_float2::parse_partial(&bytes[at..]).ok()?;
            if !value.is_finite() {
                return None;
            }
            at += length;
            match role {
                Role::Weight => chunk.weights.push(value),
                _ => chunk.values.push(value),
            }
        }
        if column < last {
            if bytes.get(at) != Some(&dialect.separator) {
                return None;
            }
            at += 1;
        }
    }
    match &bytes[at..] {
        [] => Some(at),
        [byte, ..] if *byte == dialect.terminator => Some(at + 1),
        [b'\r', b'\n', ..] => Some(at + 2),
        _ => None,
    }
}

/// Any row, field by field; says what is wrong with it.
#[cold]
fn careful_row(
    bytes: &[u8],
    at: usize,
    dialect: Dialect,
    roles: &[Role],
    missing: Missing,
    chunk: &mut Chunk,
) -> Result<usize, Trouble> {
    let trouble = |kind| Trouble { row: chunk.rows, line: chunk.lines, kind };
    let end = match dialect.record_end(bytes, at) {
        End::At(end) => end,
        End::Beyond => bytes.len(),
        End::InQuote => return Err(trouble(TroubleKind::UnclosedQuote)),
    };
    let fields = dialect.fields(&bytes[at..end]);
    if fields.len() != roles.len() {
        return Err(trouble(TroubleKind::Ragged { found: fields.len() }));
    }
    let mut numbers = Vec::with_capacity(roles.len());
    for (column, (field, role)) in fields.iter().zip(roles).enumerate() {
        if *role == Role::Skipped {
            continue;
        }
        let Some(text) = field.text() else { return Err(trouble(TroubleKind::NotUtf8)) };
        match number(&text) {
            Ok(value) => numbers.push((*role, value)),
            // The logarithm of weight zero; the caller decides whether it is allowed.
            Err(BadCell::NonFinite) if *role == Role::Weight && text.parse() == Ok(f64::NEG_INFINITY) => {
                numbers.push((*role, f64::NEG_INFINITY));
            }
            Err(cell) if cell.is_kept(&text, missing) => numbers.push((*role, f64::NAN)),
            Err(cell) => return Err(trouble(TroubleKind::Cell { column, cell, text })),
        }
    }
    for (role, value) in numbers {
        match role {
            Role::Weight => chunk.weights.push(value),
            _ => chunk.values.push(value),
        }
    }
    chunk.lines += bytes[at..end].iter().filter(|&&byte| byte == dialect.terminator).count().max(1);
    Ok(end)
}

/// Words other tools write where a value is missing.
const MISSING_WORDS: [&str; 4] = ["na", "n/a", "null", "none"];

/// The number a cell says, or what it is instead.
pub(crate) fn number(text: &str) -> Result<f64, BadCell> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(_) => Err(BadCell::NonFinite),
        Err(_) if text.is_empty() || MISSING_WORDS.iter().any(|word| text.eq_ignore_ascii_case(word)) => {
            Err(BadCell::Missing)
        }
        Err(_) => Err(BadCell::Text),
    }
}

/// Number of rows at the top of a file that decide whether a column holds numbers.
pub(crate) const ROWS_LOOKED_AT: usize = 1000;

/// Content of columns without numbers, from the first rows: text if no cell is a number and one is a word, empty if all
/// are missing. `None` for columns with numbers. Also returns the first cell of the first column of text.
pub(crate) fn found(
    bytes: &[u8],
    dialect: Dialect,
    columns: usize,
) -> (Vec<Option<Use>>, Option<(usize, String)>) {
    // Undecided until a row has a number there; a row of the wrong length decides nothing.
    let mut found: Vec<Option<Use>> = vec![Some(Use::Empty); columns];
    let mut example = None;
    let mut undecided: Vec<usize> = (0..columns).collect();
    let (mut at, mut rows, mut has_trouble) = (0, 0, false);
    while at < bytes.len() && rows < ROWS_LOOKED_AT && !undecided.is_empty() {
        let end = match dialect.record_end(bytes, at) {
            End::At(end) => end,
            End::Beyond => bytes.len(),
            End::InQuote => {
                has_trouble = true;
                break;
            }
        };
        if !dialect.is_passed_over(bytes, at) {
            rows += 1;
            let fields = dialect.fields(&bytes[at..end]);
            has_trouble |= fields.len() != columns;
            if fields.len() == columns {
                undecided.retain(|&column| {
                    has_trouble |= fields[column].text().is_none();
                    let text = fields[column].lossy_text();
                    match number(&text) {
                        Ok(_) | Err(BadCell::NonFinite) => found[column] = None,
                        Err(BadCell::Missing) => {}
                        Err(BadCell::Text) => {
                            found[column] = Some(Use::Text);
                            example.get_or_insert((column, text));
                        }
                    }
                    found[column].is_some()
                });
            }
        }
        at = end;
    }
    // If there seem to be no numbers because the rows are broken, the reader reports how.
    if rows == 0 || has_trouble && !found.contains(&None) {
        return (vec![None; columns], None);
    }
    (found, example)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const COMMA: Dialect = Dialect { separator: b',', terminator: b'\n', has_remarks: false };

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        /// The quick way is tried first, so reading rows one by one through the careful way is its oracle.
        #[test]
        fn the_quick_and_the_careful_row_agree(
            cells in prop::collection::vec("[ ]?[-+]?[0-9]{0,3}[.]?[0-9]{0,20}(e[-+]?[0-9]{1,2})?[ ]?|nan|\"1\"", 3),
        ) {
            let text = cells.join(",") + "\n";
            let roles = [Role::Number, Role::Weight, Role::Number];
            let mut careful = Chunk::default();
            let expected = careful_row(text.as_bytes(), 0, COMMA, &roles, Missing::Refused, &mut careful);
            match read(text.as_bytes(), COMMA, &roles, Missing::Refused) {
                Ok(chunk) => {
                    prop_assert!(expected.is_ok());
                    prop_assert_eq!(chunk.values, careful.values);
                    prop_assert_eq!(chunk.weights, careful.weights);
                }
                Err(_) => prop_assert!(expected.is_err()),
            }
        }
    }

    #[test]
    fn skipped_columns_may_hold_anything() {
        let roles = [Role::Skipped, Role::Number, Role::Skipped];
        let chunk = read(b"x y,1.5,\n\n\"a,\n\",2,z\r\n,3,", COMMA, &roles, Missing::Refused).unwrap();
        assert_eq!((chunk.values, chunk.rows, chunk.lines), (vec![1.5, 2.0, 3.0], 3, 5));
        assert_eq!(chunk.marks, [(0, 0)]);
    }

    #[test]
    fn columns_of_words_are_told_from_numbers_with_a_word_in_them() {
        let text = b"1,x,,NA,y,nan\nx,y,,2,NA,z\n3,z,NA,4,,w\n";
        let (found, example) = found(text, COMMA, 6);
        let (word, none) = (Some(Use::Text), Some(Use::Empty));
        assert_eq!(found, [None, word.clone(), none, None, word, None]);
        assert_eq!(example, Some((1, "x".to_string())));
    }

    #[test]
    fn missing_cells_are_kept_only_where_asked() {
        let roles = [Role::Number, Role::Number];
        let values =
            |text: &str, missing| read(text.as_bytes(), COMMA, &roles, missing).map(|chunk| chunk.values);
        for text in ["1,\n", "1,NA\n", "1,nan\n", "1, NaN\n"] {
            assert!(values(text, Missing::Refused).is_err(), "{text}");
            assert!(values(text, Missing::Kept).unwrap()[1].is_nan(), "{text}");
        }
        for text in ["1,x\n", "1,inf\n"] {
            assert!(values(text, Missing::Kept).is_err(), "{text}");
            assert!(values(text, Missing::AnyKept).unwrap()[1].is_nan(), "{text}");
        }
    }
}
