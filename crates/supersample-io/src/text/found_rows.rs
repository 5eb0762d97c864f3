//! Rows of text found again: the second pass over a file, by the places that the first one kept.

use std::io::Read;

use memchr::memchr;

use super::records::{Dialect, End, without_break};
use crate::frame::Frame;
use crate::origin::Origin;
use crate::source::Source;
use crate::{Error, Result};

/// A file of text after its first pass.
#[derive(Debug)]
pub(crate) struct TextSource {
    pub(super) origin: Origin,
    pub(super) dialect: Dialect,
    /// The header as written, and the line break after it.
    pub(super) header: Vec<u8>,
    pub(super) line_break: &'static [u8],
    /// Rows of the file and the bytes at which they start, ascending.
    pub(super) marks: Vec<(u64, u64)>,
    /// Rows at the top that were left out.
    pub(super) skipped: usize,
}

impl TextSource {
    pub(crate) fn separator(&self) -> u8 {
        self.dialect.separator
    }

    pub(crate) fn header(&self) -> &[u8] {
        &self.header
    }

    pub(crate) fn line_break(&self) -> &'static [u8] {
        self.line_break
    }

    /// Goes through the records of these rows, in the order of the file: `each` gets the place of a row in the list, and
    /// its record as written, without the line break.
    pub(crate) fn records(&self, rows: &[usize], each: &mut dyn FnMut(usize, &[u8])) -> Result<()> {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|&i| rows[i]);
        let mut last: Option<(Cursor, Vec<u8>)> = None;
        for i in order {
            let row = (rows[i] + self.skipped) as u64;
            let mark = self.marks[self.marks.partition_point(|&(marked, _)| marked <= row) - 1];
            let (mut cursor, mut record) = match last.take() {
                // Continue from the last row, unless a mark is closer.
                Some((cursor, record)) if self.origin.packing().is_some() || cursor.row >= mark.0 => {
                    (cursor, record)
                }
                _ => (self.cursor_at(mark)?, Vec::new()),
            };
            // A row that is asked for twice is still there.
            while cursor.row <= row {
                record = cursor.next(self.dialect)?;
            }
            each(i, without_break(&record));
            last = Some((cursor, record));
        }
        Ok(())
    }

    fn cursor_at(&self, (row, offset): (u64, u64)) -> Result<Cursor> {
        if self.origin.packing().is_none() {
            return Ok(Cursor { row, stream: self.origin.reader(offset)?, buffer: Vec::new(), at: 0 });
        }
        let (row, offset) = self.marks.first().copied().unwrap_or((row, offset));
        let mut stream = self.origin.reader(0)?;
        std::io::copy(&mut (&mut stream).take(offset), &mut std::io::sink()).map_err(Error::Unreadable)?;
        Ok(Cursor { row, stream, buffer: Vec::new(), at: 0 })
    }
}

impl Source for TextSource {
    fn frame(&self, names: &[String], columns: &[usize], rows: &[usize]) -> Result<Frame> {
        let mut cells: Vec<Vec<Option<String>>> = vec![vec![None; rows.len()]; columns.len()];
        self.records(rows, &mut |row, record| {
            let fields = self.dialect.fields(record);
            for (cells, &column) in cells.iter_mut().zip(columns) {
                cells[row] = fields.get(column).map(|field| field.lossy_text());
            }
        })?;
        let columns = columns.iter().zip(cells).map(|(&column, cells)| (names[column].clone(), cells.into()));
        Ok(Frame { columns: columns.collect() })
    }
}

/// Second pass: records in order from some row on.
struct Cursor {
    row: u64,
    stream: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    at: usize,
}

impl Cursor {
    fn next(&mut self, dialect: Dialect) -> Result<Vec<u8>> {
        loop {
            if self.at < self.buffer.len() {
                let passed_over = dialect.is_passed_over(&self.buffer, self.at);
                let end = match (passed_over, dialect.record_end(&self.buffer, self.at)) {
                    (true, _) => {
                        memchr(dialect.terminator, &self.buffer[self.at..]).map(|end| self.at + end + 1)
                    }
                    (false, End::At(end)) => Some(end),
                    _ => None,
                };
                if let Some(end) = end {
                    let record = self.buffer[self.at..end].to_vec();
                    self.at = end;
                    if passed_over {
                        continue;
                    }
                    self.row += 1;
                    return Ok(record);
                }
            }
            self.buffer.drain(..self.at);
            self.at = 0;
            let got =
                (&mut self.stream).take(1 << 16).read_to_end(&mut self.buffer).map_err(Error::Unreadable)?;
            if got == 0 {
                if self.buffer.is_empty() {
                    return Err(Error::Changed);
                }
                self.row += 1;
                self.at = self.buffer.len();
                return Ok(self.buffer.clone());
            }
        }
    }
}
