//! What every format is read into: names, the numbers of the parameter columns, and the rows as they were written.

use std::io::{self, Write};

/// The draws of a file.
///
/// Holds the text of the file beside its numbers, so that chosen rows go back out exactly as they came in.
#[derive(Debug, Clone)]
pub struct Table {
    pub(crate) names: Vec<String>,
    /// Positions among the names, ascending.
    pub(crate) parameters: Vec<usize>,
    pub(crate) values: Vec<f64>,
    pub(crate) source: Source,
}

/// The file as it was, and where its rows are. A format that is not lines of text will be another kind of source.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) text: Vec<u8>,
    /// Where each row starts; the header first, one more at the end. What lies between two starts may begin or end
    /// with line breaks, which are not part of the row.
    pub(crate) starts: Vec<usize>,
}

impl Table {
    /// How many rows there are; at least 1.
    #[expect(clippy::len_without_is_empty, reason = "a table without rows is refused")]
    pub fn len(&self) -> usize {
        self.values.len() / self.dim()
    }

    /// How many parameter columns there are; at least 1.
    pub fn dim(&self) -> usize {
        self.parameters.len()
    }

    /// The names of all columns, in the order of the file.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The names of the parameter columns, in the order of the file.
    pub fn parameter_names(&self) -> Vec<&str> {
        self.parameters.iter().map(|&i| self.names[i].as_str()).collect()
    }

    /// The names of the other columns: ids and those left out.
    pub fn unused_names(&self) -> Vec<&str> {
        let unused = (0..self.names.len()).filter(|i| self.parameters.binary_search(i).is_err());
        unused.map(|i| self.names[i].as_str()).collect()
    }

    /// The numbers of the parameter columns, row after row, all finite.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Writes the header and these rows (counted from 0) with all their columns, character for character, in the
    /// order given; a row may be given more than once.
    ///
    /// # Panics
    /// If a row is not in the table.
    #[track_caller]
    pub fn write_rows(&self, rows: &[usize], out: &mut impl Write) -> io::Result<()> {
        let line_break = self.source.line_break();
        out.write_all(self.source.record(0))?;
        out.write_all(line_break)?;
        for &row in rows {
            out.write_all(self.source.record(row + 1))?;
            out.write_all(line_break)?;
        }
        Ok(())
    }
}

impl Source {
    fn record(&self, i: usize) -> &[u8] {
        let mut record = &self.text[self.starts[i]..self.starts[i + 1]];
        while let [rest @ .., b'\r' | b'\n'] = record {
            record = rest;
        }
        while let [b'\r' | b'\n', rest @ ..] = record {
            record = rest;
        }
        record
    }

    /// What ends the header; the last row of a file may lack it, and may be written first.
    fn line_break(&self) -> &'static [u8] {
        let end = self.starts[0] + self.record(0).len();
        match self.text.get(end..) {
            Some([b'\r', b'\n', ..]) => b"\r\n",
            Some([b'\r', ..]) => b"\r",
            _ => b"\n",
        }
    }
}
