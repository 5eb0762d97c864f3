//! NumPy's .npy: one array, rows × parameters or chains × draws × parameters.

mod header;
mod layout;
mod literal;
mod stretch;

use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom, Write};

pub(crate) use self::header::{Header, Kind, malformed};
pub(crate) use self::layout::Layout;
pub use self::layout::Shape;
use self::stretch::{Blocks, Stretch};
use crate::cells::is_number;
use crate::error::refused;
use crate::frame::Frame;
use crate::origin::{Handle, Origin};
use crate::reading::{Choice, Missing, cell};
use crate::source::{Dress, ExpectedSize, FileRead, Sink, Source};
use crate::words::shown;
use crate::{Error, Note, Place, Reading, Result, Use};

/// Columns of chosen rows that are read at a time, which bounds what is held twice.
const COLUMNS_AT_ONCE: usize = 64;

/// An .npy file after its first pass.
#[derive(Debug)]
pub(crate) struct NpySource {
    origin: Origin,
    header: Header,
    layout: Layout,
}

/// Why the columns of these arrays cannot be parameters.
pub(crate) fn found(layouts: &[Layout]) -> Vec<Option<Use>> {
    let slots = layouts.iter().flat_map(|layout| &layout.slots);
    slots
        .map(|slot| match slot.entry.kind {
            _ if slot.entry.is_number() => None,
            _ if slot.entry.is_text() => Some(Use::Text),
            Kind::Object => Some(Use::NotNumbers("Python objects".to_string())),
            _ => Some(Use::NotNumbers("neither numbers nor text".to_string())),
        })
        .collect()
}

/// Refuses columns that are to be used and hold no numbers.
pub(crate) fn check_numbers(choice: &Choice, layouts: &[Layout]) -> Result<()> {
    let slots: Vec<_> = layouts.iter().flat_map(|layout| &layout.slots).collect();
    match choice.wanted().find(|&(position, _)| !slots[position].entry.is_number()) {
        None => Ok(()),
        Some((position, _)) => {
            let kind = if slots[position].entry.is_text() { "text" } else { "neither numbers nor text" };
            Err(Error::NotNumbers { column: choice.names[position].clone(), kind: kind.to_string() })
        }
    }
}

fn head(origin: &Origin, reading: &Reading<'_>) -> Result<(Header, Layout, Choice, Vec<Note>)> {
    let header = Header::read(&mut BufReader::new(origin.file()?))?;
    header.check_length(origin.len())?;
    let shape = match (reading.shape, header.shape.len()) {
        (Some(shape), _) => shape,
        (None, 0..=2) => Shape::Rows,
        (None, _) => Shape::ChainDraw,
    };
    if header.shape.len() < shape.axes() {
        let reason = format!("its shape is {:?}, which has too few axes for {shape}", header.shape);
        return Err(malformed(reason));
    }
    if header.has_objects() {
        let remedy = "load it in Python and save the numbers as an array of float64";
        return Err(Error::Foreign { kind: "an array of Python objects", remedy });
    }
    let layout = Layout::new(&header, None, shape).ok_or(Error::NoRows)?;
    // Two axes are rows and columns, unless there are fewer rows than columns: then they may be chains and draws.
    let is_doubtful = match header.shape[..] {
        [rows, columns] => rows < columns,
        _ => header.shape.len() > 2,
    };
    let note = Note::Axes { shape, sizes: header.shape.clone() };
    let notes = Vec::from_iter((is_doubtful && reading.shape.is_none()).then_some(note));
    let layouts = std::slice::from_ref(&layout);
    let choice =
        reading.choose(layout.slots.iter().map(|slot| slot.name.clone()).collect(), &found(layouts))?;
    check_numbers(&choice, layouts)?;
    Ok((header, layout, choice, notes))
}

/// Reads an .npy, a block of rows at a time.
pub(crate) fn read(
    origin: Origin,
    reading: &Reading<'_>,
    missing: Missing,
    sink: &mut dyn Sink,
) -> Result<FileRead> {
    read_in_blocks(origin, reading, missing, sink, Blocks::default())
}

fn read_in_blocks(
    origin: Origin,
    reading: &Reading<'_>,
    missing: Missing,
    sink: &mut dyn Sink,
    blocks: Blocks,
) -> Result<FileRead> {
    let (header, layout, choice, notes) = head(&origin, reading)?;
    sink.begin(&choice)?;
    let (rows, dim) = (layout.rows(), choice.columns.len());
    sink.expect(rows * dim);
    let wanted: Vec<(usize, bool)> = choice.wanted().collect();
    let stretch = Stretch::new(&header, &layout, &wanted, blocks);
    let mut ahead =
        Ahead { stretch, file: origin.file()?, layout: &layout, choice: &choice, wanted: &wanted, missing };
    let (mut block, mut spare) = (ahead.read(0, Block::default())?, Block::default());
    loop {
        let (end, mut next) = (block.end, None);
        // The next rows are read while these are taken.
        let taken = rayon::in_place_scope(|scope| {
            if end < rows {
                let (ahead, next, spare) = (&mut ahead, &mut next, std::mem::take(&mut spare));
                scope.spawn(move |_| *next = Some(ahead.read(end, spare)));
            }
            sink.take(&block.values, &block.weights, end as f64 / rows as f64)
        });
        taken?;
        let Some(next) = next else { break };
        spare = std::mem::replace(&mut block, next?);
    }
    let draws_per_chain = (layout.chains > 1).then_some(layout.draws);
    let source = Box::new(NpySource { origin, header, layout });
    Ok(FileRead { draws_per_chain, notes, ..FileRead::plain(choice, rows, source) })
}

/// Rows as numbers, up to this one.
#[derive(Default)]
struct Block {
    values: Vec<f64>,
    weights: Vec<f64>,
    end: usize,
}

/// What reads rows and makes numbers of them.
struct Ahead<'a> {
    stretch: Stretch<'a>,
    file: Handle,
    layout: &'a Layout,
    choice: &'a Choice,
    wanted: &'a [(usize, bool)],
    missing: Missing,
}

impl Ahead<'_> {
    /// The rows from this one on, in the memory of a block that is done with.
    fn read(&mut self, first: usize, mut block: Block) -> Result<Block> {
        let Ahead { stretch, file, layout, choice, wanted, missing } = self;
        block.end = stretch.read(file, first)?;
        block.values.clear();
        block.weights.clear();
        for row in first..block.end {
            for run in stretch.runs() {
                let (position, is_weight) = wanted[run.start];
                let numbers = if is_weight { &mut block.weights } else { &mut block.values };
                let before = numbers.len();
                layout.slots[position].entry.numbers(stretch.cells(row, run.clone()), numbers);
                let numbers = &mut numbers[before..];
                // Without an early exit, so that the loop is vectorised.
                if numbers.iter().fold(true, |are_finite, x| are_finite & x.is_finite()) {
                    continue;
                }
                for (value, &(position, is_weight)) in numbers.iter_mut().zip(&wanted[run.clone()]) {
                    let place = || Place { row: row + 1, line: None, column: choice.names[position].clone() };
                    *value = cell(Some(*value), *missing, is_weight, place)?;
                }
            }
        }
        Ok(block)
    }
}

/// Size that the header gives.
pub(crate) fn expected(origin: &Origin, reading: &Reading<'_>) -> Result<Option<ExpectedSize>> {
    let (_, layout, choice, _) = head(origin, reading)?;
    let is_single = choice.columns.iter().all(|&column| layout.slots[column].entry.is_single());
    Ok(Some(ExpectedSize { rows: layout.rows(), columns: choice.columns.len(), is_single, block_bytes: 0 }))
}

impl NpySource {
    /// The bytes of these cells, row by row. Cells side by side are read at once: a call of the system for each would
    /// take longer than to choose the rows of a wide array.
    pub(crate) fn cells(&self, rows: &[usize], columns: &[usize]) -> Result<Vec<u8>> {
        let mut file = self.origin.file()?;
        let mut bytes = Vec::new();
        for &row in rows {
            let place =
                |&column: &usize| (self.layout.place(row, column), self.layout.slots[column].entry.size);
            let mut cells = columns.iter().map(place).peekable();
            while let Some((at, mut size)) = cells.next() {
                while let Some((_, more)) = cells.next_if(|&(next, _)| next == at + size) {
                    size += more;
                }
                file.seek(SeekFrom::Start((self.header.start + at) as u64)).map_err(Error::Unreadable)?;
                let from = bytes.len();
                bytes.resize(from + size, 0);
                file.read_exact(&mut bytes[from..]).map_err(|error| match error.kind() {
                    ErrorKind::UnexpectedEof => Error::Changed,
                    _ => Error::Unreadable(error),
                })?;
            }
        }
        Ok(bytes)
    }

    /// The type of the entries, where each is one value that these rows can be written as again.
    pub(crate) fn descr(&self) -> Option<&str> {
        self.header.is_plain().then_some(self.header.descr.as_str())
    }
}

impl Source for NpySource {
    fn frame(&self, names: &[String], wanted: &[usize], rows: &[usize]) -> Result<Frame> {
        let mut columns = Vec::with_capacity(wanted.len());
        for some in wanted.chunks(COLUMNS_AT_ONCE) {
            let bytes = self.cells(rows, some)?;
            let entries = || some.iter().map(|&position| self.layout.slots[position].entry);
            let (width, mut from) = (entries().map(|entry| entry.size).sum(), 0);
            for (&position, entry) in some.iter().zip(entries()) {
                let column = entry.column(bytes.chunks_exact(width).map(|row| &row[from..from + entry.size]));
                columns.extend(column.map(|column| (names[position].clone(), column)));
                from += entry.size;
            }
        }
        Ok(Frame { columns })
    }
}

/// The head of an .npy of this type (as Python writes it, in quotes) and shape, padded as NumPy does so that the entries
/// start at a multiple of 64.
pub(crate) fn header(descr: &str, shape: &[usize]) -> Vec<u8> {
    let shape: String = shape.iter().map(|n| format!("{n},")).collect();
    let mut text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': ({shape}), }}");
    // A long list of fields needs the longer length of version 2.
    let is_long = text.len() + 64 > usize::from(u16::MAX);
    let before = if is_long { 12 } else { 10 };
    text.push_str(&" ".repeat(63 - (before + text.len()) % 64));
    text.push('\n');
    let mut bytes = b"\x93NUMPY".to_vec();
    match is_long {
        false => bytes.extend([1, 0].into_iter().chain((text.len() as u16).to_le_bytes())),
        true => bytes.extend([2, 0].into_iter().chain((text.len() as u32).to_le_bytes())),
    }
    bytes.extend(text.as_bytes());
    bytes
}

/// All columns side by side; they must be numbers. A missing one is NaN, NumPy's own word for it.
pub(crate) fn write_frame(frame: &Frame, _: &Dress, out: &mut dyn Write) -> Result<()> {
    if let Some((name, _)) = frame.columns.iter().find(|(_, column)| !is_number(column.kind())) {
        return Err(refused!("column '{}' holds text, which npy cannot; choose another ending", shown(name)));
    }
    write_numbers(frame, out)
}

/// All columns side by side, for any type of number.
pub(crate) fn write_numbers(frame: &Frame, out: &mut dyn Write) -> Result<()> {
    let columns: Vec<_> = frame.columns.iter().map(|(_, column)| column.numbers()).collect();
    out.write_all(&header("'<f8'", &[frame.len(), columns.len()]))?;
    for row in 0..frame.len() {
        for column in &columns {
            out.write_all(&column[row].unwrap_or(f64::NAN).to_le_bytes())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
