//! NumPy's .npz: a zip archive of named arrays, each with one entry (or one row of entries) for each draw.

pub(crate) mod zip;

use std::io::Write;
use std::iter::repeat_n;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Int64Type, UInt64Type};
use arrow_schema::DataType;

use self::zip::{Archive, Array, Member, archive};
use crate::cells::is_number;
use crate::frame::{Column, Frame};
use crate::npy::{self, Header, Layout, Shape};
use crate::origin::Origin;
use crate::reading::{Missing, cell};
use crate::source::{Dress, ExpectedSize, FileRead, Sink, Source};
use crate::{Error, Note, Place, Reading, Result};

/// Meaning of the first axes of the arrays, the number of rows, and whether it is ambiguous.
struct Axes {
    shape: Shape,
    rows: usize,
    note: Option<Note>,
}

impl Axes {
    /// Decides by the shapes of the arrays of numbers. Arrays (chain, draw, …) are several, or one of three axes; they agree
    /// in the first two, the first of which is smaller; and none has the first axis alone. Else the first axis counts rows,
    /// and their number is what most arrays have. One matrix is rows by columns, as in an .npy.
    fn of(headers: &[&Header], asked: Option<Shape>) -> Option<Axes> {
        let most = |keys: Vec<[usize; 2]>| {
            let count = |key: [usize; 2]| keys.iter().filter(|&&other| other == key).count();
            keys.iter().copied().max_by_key(|&key| (count(key), key[0] * key[1].max(1)))
        };
        let pairs: Vec<[usize; 2]> = headers
            .iter()
            .filter_map(|header| Some([*header.shape.first()?, *header.shape.get(1)?]))
            .collect();
        let firsts: Vec<[usize; 2]> =
            headers.iter().filter_map(|header| Some([*header.shape.first()?, 0])).collect();
        let pair = most(pairs);
        let is_alone = |n: usize| headers.iter().any(|header| header.shape[..] == [n]);
        let deepest = headers.iter().map(|header| header.shape.len()).max().unwrap_or(0);
        let is_pair = pair.is_some_and(|pair| {
            let such = headers.iter().filter(|header| header.shape.get(..2) == Some(&pair)).count();
            pair[0] < pair[1] && !is_alone(pair[0]) && (such > 1 || deepest > 2)
        });
        let shape = asked.unwrap_or(if is_pair { Shape::ChainDraw } else { Shape::Rows });
        let rows = match shape {
            Shape::Rows => most(firsts)?[0],
            _ => pair.map(|[first, second]| first * second)?,
        };
        // More columns than rows, or several arrays or one of three axes whose first two could be draws and chains.
        let is_doubtful = shape != Shape::Rows
            || pair.is_some_and(|[first, second]| {
                let agree = headers.iter().all(|header| header.shape.get(..2) == Some(&[first, second]));
                first < second || agree && second > 1 && (headers.len() > 1 || deepest > 2)
            });
        let longest = headers.iter().filter(|header| Axes::rows_of(header, shape) == Some(rows));
        let sizes = longest.map(|header| header.shape.clone()).max_by_key(Vec::len).unwrap_or_default();
        let note = (asked.is_none() && is_doubtful).then_some(Note::Axes { shape, sizes });
        Some(Axes { shape, rows, note })
    }

    /// How many rows an array has if its first axes count that.
    fn rows_of(header: &Header, shape: Shape) -> Option<usize> {
        header.shape.get(..shape.axes()).map(|leading| leading.iter().product())
    }
}

/// An .npz file after its first pass.
#[derive(Debug)]
pub(crate) struct NpzSource {
    origin: Origin,
    /// Those with an entry for each row, and their columns.
    members: Vec<(Member, Layout)>,
    shape: Shape,
}

/// The most columns that are named before their numbers are known to be there.
const MOST_NAMED: usize = 100_000;

/// Size that the heads of the arrays give.
pub(crate) fn expected(origin: &Origin, reading: &Reading<'_>) -> Result<Option<ExpectedSize>> {
    let zip = Archive::open(origin)?;
    let header = |member: Member| zip.header(&member).ok().map(|header| (member, header));
    let headers: Vec<(Member, Header)> = zip.members()?.into_iter().filter_map(header).collect();
    let with_numbers: Vec<&Header> =
        headers.iter().map(|(_, header)| header).filter(|header| header.has_numbers()).collect();
    let Some(Axes { shape, rows, .. }) = Axes::of(&with_numbers, reading.shape) else { return Ok(None) };
    let fits = |header: &Header| header.count().is_ok() && Axes::rows_of(header, shape) == Some(rows);
    let fitting = || headers.iter().filter(|(_, header)| header.has_numbers() && fits(header));
    let numbers = fitting().map(|(_, header)| header.count().unwrap_or(0)).fold(0, usize::saturating_add);
    let columns = numbers / rows.max(1);
    if columns > MOST_NAMED {
        return Ok(Some(ExpectedSize { rows, columns, is_single: false, block_bytes: 0 }));
    }
    let layouts: Vec<Layout> =
        fitting().filter_map(|(member, header)| Layout::new(header, Some(&member.name), shape)).collect();
    let names = layouts.iter().flat_map(|layout| &layout.slots).map(|slot| slot.name.clone()).collect();
    // A column of another kind, by which rows are grouped, is not among these names.
    let columns = reading.choose(names, &npy::found(&layouts)).map_or(columns, |choice| choice.columns.len());
    Ok(Some(ExpectedSize { rows, columns, is_single: false, block_bytes: 0 }))
}

/// Reads an .npz: array after array, so that its rows are whole only at the end.
pub(crate) fn read(
    origin: Origin,
    reading: &Reading<'_>,
    missing: Missing,
    sink: &mut dyn Sink,
) -> Result<FileRead> {
    let zip = Archive::open(&origin)?;
    let all = zip.members()?;
    let header = |member: &Member| zip.header(member).ok().filter(|header| header.count().is_ok());
    let headers: Vec<Option<Header>> = all.iter().map(header).collect();
    let with_numbers: Vec<&Header> = headers.iter().flatten().filter(|header| header.has_numbers()).collect();
    let Some(axes) = Axes::of(&with_numbers, reading.shape) else {
        // Nothing but scalars, or headers that cannot be read: the first one says why.
        zip.load(&all[0])?;
        return Err(Error::NoRows);
    };
    let (mut members, mut left_out, mut objects) = (Vec::new(), Vec::new(), Vec::new());
    for (member, header) in all.into_iter().zip(&headers) {
        if header.as_ref().is_some_and(|header| {
            header.has_objects() && Axes::rows_of(header, axes.shape) == Some(axes.rows)
        }) {
            objects.push(member.name);
            continue;
        }
        let fits = header.as_ref().is_some_and(|header| Axes::rows_of(header, axes.shape) == Some(axes.rows));
        if !fits {
            left_out.push(member.name);
            continue;
        }
        // Its columns are counted only once its bytes are known to be there.
        let array = zip.load(&member)?;
        match Layout::new(&array.header, Some(&member.name), axes.shape) {
            Some(layout) => members.push((member, layout)),
            None => left_out.push(member.name),
        }
    }
    let layouts: Vec<Layout> = members.iter().map(|(_, layout)| layout.clone()).collect();
    let first = layouts.first().filter(|layout| layout.rows() > 0).ok_or(Error::NoRows)?;
    let (rows, chains, draws) = (first.rows(), first.chains, first.draws);
    let names = layouts.iter().flat_map(|layout| &layout.slots).map(|slot| slot.name.clone()).collect();
    let choice = reading.choose(names, &npy::found(&layouts))?;
    npy::check_numbers(&choice, &layouts)?;
    sink.begin(&choice)?;

    let dim = choice.columns.len();
    let mut values = Vec::new();
    let fits = values.try_reserve_exact(rows.saturating_mul(dim));
    fits.map_err(|_| Error::NoMemory { bytes: 8 * (rows as u64).saturating_mul(dim as u64) })?;
    values.resize(rows * dim, 0.0);
    let mut weights = choice.weight.map(|_| vec![0.0; rows]);
    let mut first = 0;
    for (member, layout) in &members {
        let range = first..first + layout.slots.len();
        first = range.end;
        let wanted: Vec<(usize, (usize, bool))> =
            choice.wanted().enumerate().filter(|(_, (position, _))| range.contains(position)).collect();
        if wanted.is_empty() {
            continue;
        }
        // A second time, so that only one array is in memory in addition to the numbers.
        let array = zip.load(member)?;
        for (at, (position, is_weight)) in wanted {
            let slot = position - range.start;
            for row in 0..rows {
                let value =
                    layout.slots[slot].entry.number(layout.cell(slot, &array.bytes[layout.start(row)..]));
                let place = || Place { row: row + 1, line: None, column: choice.names[position].clone() };
                let value = cell(Some(value), missing, is_weight, place)?;
                match (is_weight, &mut weights) {
                    (true, Some(weights)) => weights[row] = value,
                    _ => values[row * dim + at] = value,
                }
            }
        }
    }
    sink.take(&values, weights.as_deref().unwrap_or_default(), 1.0)?;
    let mut notes = Vec::from_iter(axes.note);
    if !left_out.is_empty() {
        notes.push(Note::MembersLeftOut { members: left_out, rows });
    }
    if !objects.is_empty() {
        notes.push(Note::NotNumbers { columns: objects });
    }
    let source = Box::new(NpzSource { origin, members, shape: axes.shape });
    let draws_per_chain = (chains > 1).then_some(draws);
    Ok(FileRead { draws_per_chain, notes, ..FileRead::plain(choice, rows, source) })
}

impl Source for NpzSource {
    fn frame(&self, names: &[String], wanted: &[usize], rows: &[usize]) -> Result<Frame> {
        let (zip, mut columns, mut first) = (Archive::open(&self.origin)?, Vec::new(), 0);
        for (member, layout) in &self.members {
            let range = first..first + layout.slots.len();
            first = range.end;
            let here: Vec<usize> =
                wanted.iter().copied().filter(|position| range.contains(position)).collect();
            if here.is_empty() {
                continue;
            }
            let array = zip.load(member)?;
            for position in here {
                let column = array.column(layout, position - range.start, rows);
                columns.extend(column.map(|column| (names[position].clone(), column)));
            }
        }
        Ok(Frame { columns })
    }
}

impl Array {
    /// The cells of these rows in one column.
    fn column(&self, layout: &Layout, slot: usize, rows: &[usize]) -> Option<Column> {
        let cells = rows.iter().map(|&row| layout.cell(slot, &self.bytes[layout.start(row)..]));
        layout.slots[slot].entry.column(cells)
    }
}

impl NpzSource {
    /// The chosen rows of every array, type and shape kept, and the added columns as arrays of their own.
    pub(crate) fn write_rows(
        &self,
        rows: &[usize],
        added: &[(String, Column)],
        out: &mut dyn Write,
    ) -> Result<()> {
        let (zip, mut arrays) = (Archive::open(&self.origin)?, Vec::new());
        for (member, layout) in &self.members {
            let array = zip.load(member)?;
            let shape: Vec<usize> = std::iter::once(rows.len())
                .chain(array.header.shape[self.shape.axes()..].iter().copied())
                .collect();
            let mut bytes = npy::header(&array.header.descr, &shape);
            // Entry by entry, gaps between fields and all.
            let (fields, size) = (layout.slots.len() / layout.width(), array.header.size);
            for &row in rows {
                for entry in 0..layout.width() {
                    let at = layout.place(row, entry * fields) - array.header.fields[0].offset;
                    bytes.extend_from_slice(&array.bytes[at..at + size]);
                }
            }
            arrays.push((format!("{}.npy", member.name), bytes));
        }
        arrays.extend(added.iter().map(|(name, column)| (format!("{name}.npy"), array_of(column))));
        Ok(out.write_all(&archive(arrays))?)
    }
}

/// Each column as an array of its own.
pub(crate) fn write_frame(frame: &Frame, _: &Dress, out: &mut dyn Write) -> Result<()> {
    let arrays = frame.columns.iter().map(|(name, column)| (format!("{name}.npy"), array_of(column)));
    Ok(out.write_all(&archive(arrays))?)
}

/// Whole numbers up to here are floats too.
const LARGEST_EXACT: u64 = 1 << 53;

/// A column as an .npy file. NumPy has no missing whole numbers, so a column that has some becomes floats with NaN, or text
/// where a float would lose digits.
fn array_of(column: &Column) -> Vec<u8> {
    let array = column.array();
    let has_all = array.null_count() == 0;
    let (descr, cells): (&str, Vec<u8>) = match column.kind() {
        DataType::Float32 => {
            let cells = array.as_primitive::<Float32Type>().iter();
            ("'<f4'", cells.flat_map(|cell| cell.unwrap_or(f32::NAN).to_le_bytes()).collect())
        }
        DataType::Int64 if has_all => {
            let cells = array.as_primitive::<Int64Type>().values().iter();
            ("'<i8'", cells.flat_map(|cell| cell.to_le_bytes()).collect())
        }
        DataType::Boolean if has_all => {
            ("'|b1'", array.as_boolean().iter().map(|cell| u8::from(cell == Some(true))).collect())
        }
        DataType::Int64
            if array
                .as_primitive::<Int64Type>()
                .iter()
                .flatten()
                .any(|cell| cell.unsigned_abs() > LARGEST_EXACT) =>
        {
            return array_of(&column.as_text());
        }
        DataType::UInt64 if has_all => {
            let cells = array.as_primitive::<UInt64Type>().values().iter();
            ("'<u8'", cells.flat_map(|cell| cell.to_le_bytes()).collect())
        }
        DataType::Float64 | DataType::Float16 | DataType::Int64 | DataType::Boolean => {
            let cells = column.numbers().into_iter();
            ("'<f8'", cells.flat_map(|cell| cell.unwrap_or(f64::NAN).to_le_bytes()).collect())
        }
        DataType::Utf8 => {
            let cells = || array.as_string::<i32>().iter().map(Option::unwrap_or_default);
            let width = cells().map(|text| text.chars().count()).max().unwrap_or(0).max(1);
            let codes = |text: &'_ str| {
                let codes: Vec<u32> =
                    text.chars().map(u32::from).chain(repeat_n(0, width)).take(width).collect();
                codes.into_iter().flat_map(u32::to_le_bytes)
            };
            (&format!("'<U{width}'"), cells().flat_map(codes).collect())
        }
        kind if is_number(kind) => return array_of(&column.as_text().typed()),
        _ => return array_of(&column.as_text()),
    };
    [npy::header(descr, &[column.len()]), cells].concat()
}

#[cfg(test)]
mod tests;
