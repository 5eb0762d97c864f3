//! Stretches of rows of an array, read at a time: how many bytes, and where among them each cell is.

use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

use super::{Header, Layout};
use crate::origin::Handle;
use crate::{Error, Result};

/// How much is read at a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Blocks {
    /// Bytes of rows.
    pub(super) bytes: usize,
    /// Largest size in bytes of an array with non-contiguous rows that is read in one piece.
    pub(super) whole: usize,
}

impl Default for Blocks {
    fn default() -> Blocks {
        Blocks { bytes: 4 << 20, whole: 256 << 20 }
    }
}

/// How the bytes of some rows are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// With the whole array.
    Whole,
    /// Row by row, or many at once where they lie one behind the other.
    Rows,
    /// Column by column, with those of other chains in between where there are several.
    Columns,
}

/// Some rows of an array: the bytes of the wanted cells.
#[derive(Debug)]
pub(super) struct Stretch<'a> {
    layout: &'a Layout,
    /// Where the entries start.
    start: usize,
    /// Positions of the wanted columns.
    wanted: Vec<usize>,
    /// Those of them, by their places in the list, whose cells are of one type and lie one behind the other in a row.
    runs: Vec<Range<usize>>,
    way: Way,
    /// Rows at a time.
    rows: usize,
    first: usize,
    bytes: Vec<u8>,
    /// Bytes from one column to the next, where they are read one by one.
    step: usize,
}

impl<'a> Stretch<'a> {
    pub(super) fn new(
        header: &Header,
        layout: &'a Layout,
        wanted: &[(usize, bool)],
        blocks: Blocks,
    ) -> Stretch<'a> {
        let mut runs: Vec<Range<usize>> = Vec::new();
        let follows = |at: usize| {
            let ((last, last_is_weight), (this, is_weight)) = (wanted[at - 1], wanted[at]);
            let (last, this) = (&layout.slots[last], &layout.slots[this]);
            (last.entry, last_is_weight, last.offset + last.entry.size)
                == (this.entry, is_weight, this.offset)
        };
        for at in 0..wanted.len() {
            match runs.last_mut() {
                Some(run) if !header.fortran_order && follows(at) => run.end = at + 1,
                _ => runs.push(at..at + 1),
            }
        }
        let wanted: Vec<usize> = wanted.iter().map(|&(position, _)| position).collect();
        let (way, row) = match header.fortran_order {
            _ if layout.is_in_one_piece() => (Way::Rows, layout.row_bytes()),
            _ if layout.rows() * layout.row_bytes() <= blocks.whole => (Way::Whole, 0),
            false => (Way::Rows, layout.row_bytes()),
            true => (Way::Columns, layout.draw_stride() * wanted.len()),
        };
        let rows = blocks.bytes.checked_div(row).unwrap_or(usize::MAX).max(1);
        Stretch { layout, start: header.start, wanted, runs, way, rows, first: 0, bytes: Vec::new(), step: 0 }
    }

    /// Reads rows from this one on, and gives the first that it has not read.
    pub(super) fn read(&mut self, file: &mut Handle, first: usize) -> Result<usize> {
        let layout = self.layout;
        let reach = match self.way {
            Way::Columns => (first / layout.draws + 1) * layout.draws,
            _ => layout.rows(),
        };
        let end = first.saturating_add(self.rows).min(reach);
        self.first = first;
        self.bytes.clear();
        match self.way {
            Way::Whole => self.append(file, 0, layout.rows() * layout.row_bytes())?,
            Way::Rows if layout.is_in_one_piece() => {
                self.append(file, layout.start(first), (end - first) * layout.row_bytes())?;
            }
            Way::Rows => {
                (first..end).try_for_each(|row| self.append(file, layout.start(row), layout.row_bytes()))?;
            }
            Way::Columns => {
                let stride = (end - first - 1) * layout.draw_stride();
                let widest = self.wanted.iter().map(|&slot| layout.slots[slot].entry.size).max().unwrap_or(0);
                self.step = stride + widest;
                for at in 0..self.wanted.len() {
                    let slot = self.wanted[at];
                    self.append(file, layout.place(first, slot), stride + layout.slots[slot].entry.size)?;
                    self.bytes.resize((at + 1) * self.step, 0);
                }
            }
        }
        Ok(end)
    }

    /// The wanted columns, by their places in the list, in runs that can be taken at once.
    pub(super) fn runs(&self) -> &[Range<usize>] {
        &self.runs
    }

    /// The bytes of the cells of a run, of a row that was read.
    pub(super) fn cells(&self, row: usize, run: Range<usize>) -> &[u8] {
        let (layout, at, slot) = (self.layout, run.start, self.wanted[run.start]);
        let from = match self.way {
            Way::Whole => layout.place(row, slot),
            Way::Rows => (row - self.first) * layout.row_bytes() + layout.slots[slot].offset,
            Way::Columns => at * self.step + (row - self.first) * layout.draw_stride(),
        };
        &self.bytes[from..from + run.len() * layout.slots[slot].entry.size]
    }

    fn append(&mut self, file: &mut Handle, at: usize, length: usize) -> Result<()> {
        file.seek(SeekFrom::Start((self.start + at) as u64)).map_err(Error::Unreadable)?;
        // Grows with the bytes that exist, not with the length in the header.
        let got = file.take(length as u64).read_to_end(&mut self.bytes).map_err(Error::Unreadable)?;
        if got == length { Ok(()) } else { Err(Error::Changed) }
    }
}
