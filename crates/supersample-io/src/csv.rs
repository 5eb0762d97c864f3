//! Draws in a CSV file: a header with the column names, then one line for each draw, separated by commas.

use std::collections::HashSet;
use std::path::Path;

use csv::{ByteRecord, ReaderBuilder};

use crate::error::{read_file, utf8};
use crate::table::Source;
use crate::{Error, Place, Result, Selection, Table};

/// Words other tools write where a value is missing.
const MISSING_WORDS: [&str; 4] = ["na", "n/a", "null", "none"];

/// Reads a CSV file, choosing by the columns of the selection; errors name the file.
pub fn read_path(path: &Path, selection: &Selection) -> Result<Table> {
    read_file(path).and_then(|bytes| read_bytes(bytes, selection)).map_err(|error| error.in_file(path))
}

/// Reads the contents of a CSV file, choosing by the columns of the selection.
///
/// Fields may be quoted, lines may end in any way, spaces around numbers and names do not count, blank lines are
/// passed over, and a byte order mark is dropped. Only cells of parameter columns must be numbers. Costs one pass.
pub fn read_bytes(mut bytes: Vec<u8>, selection: &Selection) -> Result<Table> {
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    utf8(&bytes)?;
    let mut records = Records::new(&bytes);
    let Some(header) = records.next() else { return Err(Error::Empty) };
    let names = header_names(&records.fields)?;
    let parameters = selection.positions(&names)?;

    let mut starts = vec![header.start];
    let mut values = Vec::new();
    while let Some(Record { start, line }) = records.next() {
        let row = starts.len();
        starts.push(start);
        let fields = &records.fields;
        if swallows_the_rest(&bytes, start, records.end()) {
            return Err(Error::UnclosedQuote { row, line });
        }
        if fields.len() != names.len() {
            return Err(Error::Ragged { row, line, found: fields.len(), expected: names.len() });
        }
        for &parameter in &parameters {
            let place = || Place { row, line, column: names[parameter].clone() };
            match number(text_of(fields, parameter)) {
                Ok(value) => values.push(value),
                // A file without any numbers is told so, rather than about its first cell.
                Err(Cell::Text) if row == 1 && all_text(&bytes, &parameters) => {
                    return Err(no_numbers(text_of(fields, parameter), &names, &parameters));
                }
                Err(cell) => return Err(cell.refused(place(), text_of(fields, parameter))),
            }
        }
    }
    if starts.len() == 1 {
        return Err(Error::NoRows);
    }
    starts.push(bytes.len());
    Ok(Table { names, parameters, values, source: Source { text: bytes, starts } })
}

/// Where a record starts; its fields are in the reader, which reuses their memory.
struct Record {
    start: usize,
    line: usize,
}

/// The records of a file, one after the other: a line each, or several lines where a quoted field spans them.
struct Records<'a> {
    bytes: &'a [u8],
    reader: csv::Reader<&'a [u8]>,
    fields: ByteRecord,
}

impl<'a> Records<'a> {
    fn new(bytes: &'a [u8]) -> Records<'a> {
        // Flexible, because our own error for ragged rows says more than the parser's.
        let reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
        Records { bytes, reader, fields: ByteRecord::new() }
    }

    fn next(&mut self) -> Option<Record> {
        let (mut start, mut line) = (self.end(), self.reader.position().line() as usize);
        let found = self.reader.read_byte_record(&mut self.fields);
        // The parser counts the blank lines it passes over as part of the record after them.
        while let Some(b'\r' | b'\n') = self.bytes.get(start) {
            line += usize::from(self.bytes[start] == b'\n');
            start += 1;
        }
        found
            .expect("bytes in memory can always be read as flexible records")
            .then_some(Record { start, line })
    }

    /// Where the last record ends.
    fn end(&self) -> usize {
        self.reader.position().byte() as usize
    }
}

/// Whether a record that ends with the file got there by a quote nobody closed: all rows below it would be lost in
/// one field, silently if that column is not used.
fn swallows_the_rest(bytes: &[u8], start: usize, end: usize) -> bool {
    let record = bytes[start..end].trim_ascii_end();
    let count = |wanted: u8| record.iter().filter(|&&byte| byte == wanted).count();
    end == bytes.len() && count(b'\n') > 0 && count(b'"') % 2 == 1
}

fn text_of(fields: &ByteRecord, position: usize) -> &str {
    std::str::from_utf8(&fields[position]).expect("the whole file was checked to be UTF-8").trim()
}

fn header_names(fields: &ByteRecord) -> Result<Vec<String>> {
    let names: Vec<String> = (0..fields.len()).map(|i| text_of(fields, i).to_string()).collect();
    let mut seen = HashSet::new();
    if let Some(name) = names.iter().find(|name| !seen.insert(name.as_str())) {
        return Err(Error::DuplicateHeader { name: name.clone() });
    }
    // pandas names the columns of a bare array 0, 1, 2, …, so whole numbers are names; 0.37 is a draw.
    let are_numbers = names.iter().all(|name| name.parse::<f64>().is_ok());
    let are_whole = names.iter().all(|name| name.parse::<u64>().is_ok());
    if are_numbers && !are_whole {
        return Err(Error::NoHeader { example: names[0].clone() });
    }
    Ok(names)
}

/// What a cell of a parameter column can be other than a finite number.
enum Cell {
    Text,
    Missing,
    NonFinite,
}

impl Cell {
    fn refused(self, place: Place, text: &str) -> Error {
        let text = text.to_string();
        match self {
            Cell::Text => Error::TextCell { place, text },
            Cell::Missing => Error::MissingCell { place, text },
            Cell::NonFinite => Error::NonFiniteCell { place, text },
        }
    }
}

fn number(text: &str) -> std::result::Result<f64, Cell> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(_) => Err(Cell::NonFinite),
        Err(_) if text.is_empty() || MISSING_WORDS.iter().any(|word| text.eq_ignore_ascii_case(word)) => {
            Err(Cell::Missing)
        }
        Err(_) => Err(Cell::Text),
    }
}

/// Whether not one cell of the parameter columns is a number, in any row. Only asked once something is wrong.
fn all_text(bytes: &[u8], parameters: &[usize]) -> bool {
    let mut records = Records::new(bytes);
    records.next();
    while records.next().is_some() {
        let fields = &records.fields;
        let is_text = |&i: &usize| i >= fields.len() || matches!(number(text_of(fields, i)), Err(Cell::Text));
        if !parameters.iter().all(is_text) {
            return false;
        }
    }
    true
}

fn no_numbers(example: &str, names: &[String], parameters: &[usize]) -> Error {
    let name = &names[parameters[0]];
    let separator = [';', '\t'].into_iter().find(|&separator| names.len() == 1 && name.contains(separator));
    let reason = match separator {
        Some(separator) => {
            format!("the fields seem to be separated by {separator:?}; separate them by commas")
        }
        None => format!("not one cell is a number (the first of column '{name}' is '{example}')"),
    };
    Error::NoNumericColumns { reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Table> {
        read_bytes(text.as_bytes().to_vec(), &Selection::Default)
    }

    fn refused(text: &str) -> String {
        read(text).unwrap_err().to_string()
    }

    fn written(table: &Table, rows: &[usize]) -> String {
        let mut out = Vec::new();
        table.write_rows(rows, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn rows_come_back_verbatim_in_any_order() {
        let text = "chain,\"theta[1,2]\", tau ,.draw\n1, 0.50,\"1e3\",\"a,\"\"b\nc\"\n2,+.5,-2. ,x\n";
        let table = read(text).unwrap();
        assert_eq!(table.parameter_names(), ["theta[1,2]", "tau"]);
        assert_eq!(table.unused_names(), ["chain", ".draw"]);
        assert_eq!((table.len(), table.dim(), table.values()), (2, 2, &[0.5, 1000.0, 0.5, -2.0][..]));
        assert_eq!(written(&table, &[0, 1]), text);
        assert_eq!(
            written(&table, &[1, 0, 1]),
            "chain,\"theta[1,2]\", tau ,.draw\n2,+.5,-2. ,x\n1, 0.50,\"1e3\",\"a,\"\"b\nc\"\n2,+.5,-2. ,x\n"
        );
    }

    #[test]
    fn line_ends_blank_lines_and_byte_order_marks_do_not_matter() {
        for text in
            ["a,b\r\n1,2\r\n3,4\r\n", "\u{feff}a,b\r\n1,2\r\n\r\n3,4", "\r\n\r\na,b\r\n1,2\r\n3,4\r\n\r\n"]
        {
            let table = read(text).unwrap();
            assert_eq!(table.values(), [1.0, 2.0, 3.0, 4.0], "{text:?}");
            assert_eq!(written(&table, &[1, 0]), "a,b\r\n3,4\r\n1,2\r\n", "{text:?}");
        }
        assert_eq!(written(&read("a\n1\n2").unwrap(), &[1]), "a\n2\n");
        assert_eq!(written(&read("a\r1\r2\r").unwrap(), &[1]), "a\r2\r");
    }

    #[test]
    fn bad_cells_are_named_by_row_line_and_column() {
        let text = "mu,tau\n1,2\n\n\"3\n\",4\n5,";
        assert_eq!(
            refused(&format!("{text}x7\n")),
            "row 3 (line 6), column 'tau' is 'x7', not a number; fix it, or leave the column out with --exclude tau"
        );
        assert_eq!(
            refused(&format!("{text} \n")),
            "row 3 (line 6), column 'tau' is empty; drop the row or fill the value in, or leave the column out \
             with --exclude tau"
        );
        assert!(refused(&format!("{text}NA\n")).contains("column 'tau' is 'NA', a missing value;"));
        for word in ["nan", "NaN", "-inf", "Infinity", "1e999"] {
            let message = refused(&format!("{text}{word}\n"));
            assert!(
                message.starts_with(&format!("row 3 (line 6), column 'tau' is {word}; every value")),
                "{message}"
            );
        }
        assert_eq!(
            refused("mu,tau\n1,2\n3\n"),
            "row 2 (line 3) has 1 fields, but the header has 2; fix that line or quote fields that contain commas"
        );
    }

    #[test]
    fn files_that_are_no_tables_are_refused() {
        assert!(matches!(read("").unwrap_err(), Error::Empty));
        assert!(matches!(read("\u{feff}\n\n").unwrap_err(), Error::Empty));
        assert!(matches!(read("a,b\n").unwrap_err(), Error::NoRows));
        assert!(matches!(read("a,b").unwrap_err(), Error::NoRows));
        assert!(refused("a,b, a\n1,2,3\n").starts_with("two columns are named 'a'"));
        assert!(refused("0.31,0.2\n0.5,0.7\n").starts_with("the first line holds numbers ('0.31', …)"));
        assert_eq!(read("0,1\n0.5,0.7\n").unwrap().parameter_names(), ["0", "1"]);
        assert!(matches!(
            read("a,row\n1,2\n3,\"4\n5,6\n").unwrap_err(),
            Error::UnclosedQuote { row: 2, line: 3 }
        ));
        assert_eq!(read("a,row\n1,2\n3,5\"\n").unwrap().len(), 2);
        let latin = read_bytes(b"a\n1\n\xe9\n".to_vec(), &Selection::Default).unwrap_err();
        assert!(matches!(latin, Error::NotUtf8 { line: 3 }));
    }

    #[test]
    fn a_file_of_text_is_told_apart_from_a_stray_word() {
        assert_eq!(
            refused("a,b\nx,y\nz,w\n"),
            "no column is left to choose by: not one cell is a number (the first of column 'a' is 'x')"
        );
        assert!(refused("a;b\n1;2\n").ends_with("separated by ';'; separate them by commas"));
        assert!(refused("a,b\nx,y\n1,w\n").starts_with("row 1 (line 2), column 'a' is 'x'"));
        assert!(refused("a,chain\n1,x\ny,2\n").starts_with("row 2 (line 3), column 'a' is 'y'"));
    }

    #[test]
    fn only_parameter_columns_must_be_numbers() {
        let selection = Selection::Except(vec!["model".to_string()]);
        let table = read_bytes(b"model,mu\nfull,1\n,2\n".to_vec(), &selection).unwrap();
        assert_eq!(table.values(), [1.0, 2.0]);
        assert_eq!(written(&table, &[1]), "model,mu\n,2\n");
    }

    #[test]
    fn missing_files_and_directories_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let refused = |path: &Path| read_path(path, &Selection::Default).unwrap_err().to_string();
        let path = directory.path().join("none.csv");
        assert!(refused(&path).starts_with(&format!("{}: the file cannot be read: ", path.display())));
        assert!(refused(directory.path()).ends_with(": this is a directory; name a file in it"));
    }
}
