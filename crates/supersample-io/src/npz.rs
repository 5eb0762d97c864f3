//! NumPy's .npz: a zip archive of named arrays, each with one entry (or one row of entries) for each draw.

use std::io::{Read, Seek, SeekFrom, Write};

use flate2::read::DeflateDecoder;
use flate2::{Crc, CrcReader};

use crate::error::cell;
use crate::format::Format;
use crate::frame::{Column, Frame};
use crate::npy::{self, Header, Layout, Shape};
use crate::origin::{Handle, Origin};
use crate::reading::Missing;
use crate::source::{Dress, Part, Source};
use crate::words::shown;
use crate::{Error, Note, Place, Reading, Result};

fn malformed(reason: impl Into<String>) -> Error {
    Error::Malformed { format: "npz", reason: reason.into() }
}

/// One file of the archive.
#[derive(Debug, Clone)]
struct Member {
    /// Without the ending .npy.
    name: String,
    is_deflated: bool,
    packed: u64,
    size: u64,
    /// The CRC-32 of what it holds.
    crc: u32,
    /// Of its local header.
    offset: u64,
}

fn number(bytes: &[u8], at: usize, count: usize) -> Result<u64> {
    let bytes = bytes.get(at..at + count).ok_or_else(|| malformed("its directory is cut short"))?;
    Ok(bytes.iter().rev().fold(0, |sum, &byte| (sum << 8) | u64::from(byte)))
}

fn read_at(file: &mut Handle, offset: u64, count: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; count];
    file.seek(SeekFrom::Start(offset)).map_err(Error::Unreadable)?;
    file.read_exact(&mut bytes).map_err(|_| malformed("it is cut short"))?;
    Ok(bytes)
}

/// The directory at the end of the archive.
fn members(file: &mut Handle, len: u64) -> Result<Vec<Member>> {
    let tail_len = len.min(22 + 65_535);
    let tail = read_at(file, len - tail_len, tail_len as usize)?;
    let end = tail
        .windows(4)
        .rposition(|four| four == b"PK\x05\x06")
        .ok_or_else(|| malformed("it has no directory"))?;
    let (mut count, mut size, mut offset) =
        (number(&tail, end + 10, 2)?, number(&tail, end + 12, 4)?, number(&tail, end + 16, 4)?);
    // Large archives keep the true numbers in a second record, found through a locator before this one.
    let is_large = count == 0xffff || size == 0xffff_ffff || offset == 0xffff_ffff;
    if is_large && end >= 20 && &tail[end - 20..end - 16] == b"PK\x06\x07" {
        let record = number(&tail, end - 12, 8)?;
        let record = read_at(file, record.min(len), 56)?;
        (count, size, offset) = (number(&record, 32, 8)?, number(&record, 40, 8)?, number(&record, 48, 8)?);
    }
    if offset.checked_add(size).is_none_or(|end| end > len) {
        return Err(malformed("its directory lies outside the file"));
    }
    let directory = read_at(file, offset, size as usize)?;
    let (mut members, mut others, mut at) = (Vec::new(), Vec::new(), 0);
    for _ in 0..count {
        if directory.get(at..at + 4) != Some(b"PK\x01\x02") {
            return Err(malformed("its directory is damaged"));
        }
        let method = number(&directory, at + 10, 2)?;
        let (mut packed, mut size) = (number(&directory, at + 20, 4)?, number(&directory, at + 24, 4)?);
        let crc = number(&directory, at + 16, 4)? as u32;
        let lengths = [28, 30, 32].map(|field| number(&directory, at + field, 2));
        let [name_len, extra_len, remark_len] = lengths;
        let (name_len, extra_len, remark_len) =
            (name_len? as usize, extra_len? as usize, remark_len? as usize);
        let mut offset = number(&directory, at + 42, 4)?;
        let name = directory
            .get(at + 46..at + 46 + name_len)
            .ok_or_else(|| malformed("its directory is cut short"))?;
        let mut extra = at + 46 + name_len;
        let extra_end = extra + extra_len;
        while extra + 4 <= extra_end {
            let (tag, length) = (number(&directory, extra, 2)?, number(&directory, extra + 2, 2)? as usize);
            if tag == 1 {
                // The numbers that did not fit, in this order.
                let mut field = extra + 4;
                for value in [&mut size, &mut packed, &mut offset] {
                    if *value == 0xffff_ffff {
                        *value = number(&directory, field, 8)?;
                        field += 8;
                    }
                }
            }
            extra += 4 + length;
        }
        let name = String::from_utf8_lossy(name).into_owned();
        match (name.strip_suffix(".npy"), method) {
            (Some(array), 0 | 8) => {
                let (name, is_deflated) = (array.to_string(), method == 8);
                members.push(Member { name, is_deflated, packed, size, crc, offset });
            }
            (Some(_), _) => {
                return Err(malformed(format!("'{}' is packed by method {method}", shown(&name))));
            }
            (None, _) => others.push(name),
        }
        at = extra_end + remark_len;
    }
    match members.is_empty() {
        true => Err(foreign(&others)),
        false => Ok(members),
    }
}

/// What a zip archive without arrays is.
fn foreign(names: &[String]) -> Error {
    let has = |end: &str| names.iter().any(|name| name.to_ascii_lowercase().ends_with(end));
    match () {
        () if has("[content_types].xml") => Error::Foreign {
            kind: "an Excel workbook or another office file",
            remedy: "save the sheet as CSV",
        },
        () if has(".zarray") || has("zarr.json") => Error::Foreign {
            kind: "a Zarr store",
            remedy: "read it with ArviZ or xarray and save the draws as .npz, Parquet or CSV",
        },
        () if has("data.pkl") => {
            Error::Foreign { kind: "a PyTorch file", remedy: "load it in Python and save the draws as .npz" }
        }
        () if names.is_empty() => malformed("it holds no arrays"),
        () => Error::Foreign {
            kind: "a zip archive without arrays",
            remedy: "unpack it and name the file within (gzip and Zstandard are read as they are)",
        },
    }
}

/// An array in memory.
struct Array {
    header: Header,
    bytes: Vec<u8>,
}

impl Member {
    /// The bytes it holds, unpacked, with their CRC on the way.
    fn stream<'a>(&self, file: &'a mut Handle, len: u64) -> Result<CrcReader<Box<dyn Read + 'a>>> {
        if self
            .offset
            .checked_add(30)
            .and_then(|start| start.checked_add(self.packed))
            .is_none_or(|end| end > len)
        {
            return Err(malformed(format!("'{}' lies outside the file", shown(&self.name))));
        }
        let local = read_at(file, self.offset, 30)?;
        if !local.starts_with(b"PK\x03\x04") {
            return Err(malformed(format!("'{}' is not where the directory says", shown(&self.name))));
        }
        let start = self.offset + 30 + number(&local, 26, 2)? + number(&local, 28, 2)?;
        file.seek(SeekFrom::Start(start)).map_err(Error::Unreadable)?;
        let packed = file.take(self.packed);
        let stream: Box<dyn Read> =
            if self.is_deflated { Box::new(DeflateDecoder::new(packed)) } else { Box::new(packed) };
        Ok(CrcReader::new(stream))
    }

    fn header(&self, file: &mut Handle, len: u64) -> Result<Header> {
        Header::read(&mut self.stream(file, len)?)
    }

    fn load(&self, file: &mut Handle, len: u64) -> Result<Array> {
        let mut stream = self.stream(file, len)?;
        let header = Header::read(&mut stream)?;
        header.check_length(self.size)?;
        let mut bytes = Vec::new();
        let wanted = (header.count()? * header.size) as u64;
        let got = (&mut stream)
            .take(wanted)
            .read_to_end(&mut bytes)
            .map_err(|error| malformed(error.to_string()))?;
        if got as u64 != wanted {
            return Err(malformed(format!("'{}' is cut short", shown(&self.name))));
        }
        match stream.crc().sum() == self.crc {
            true => Ok(Array { header, bytes }),
            false => Err(malformed(format!("'{}' is damaged: its CRC-32 does not fit", shown(&self.name)))),
        }
    }
}

/// What the first axes of the arrays count, how many rows that gives, and whether it could be something else.
struct Axes {
    shape: Shape,
    rows: usize,
    note: Option<Note>,
}

impl Axes {
    /// Decides by the shapes of the arrays of numbers. Arrays (chain, draw, …) agree in their first two axes, the first of
    /// which is smaller, and none has the first axis alone; else the first axis counts rows, and their number is what most
    /// arrays have.
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
        let is_pair = pair.is_some_and(|[first, second]| first < second && !is_alone(first));
        let shape = asked.unwrap_or(if is_pair { Shape::ChainDraw } else { Shape::Rows });
        let rows = match shape {
            Shape::Rows => most(firsts)?[0],
            _ => pair.map(|[first, second]| first * second)?,
        };
        // Several arrays, or one of three axes, whose first two could be draws and chains.
        let deepest = headers.iter().map(|header| header.shape.len()).max().unwrap_or(0);
        let is_doubtful = shape != Shape::Rows
            || pair.is_some_and(|[first, second]| {
                let agree = headers.iter().all(|header| header.shape.get(..2) == Some(&[first, second]));
                agree && second > 1 && (headers.len() > 1 || deepest > 2)
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

pub(crate) fn read(origin: Origin, reading: &Reading<'_>, missing: Missing) -> Result<Part> {
    let mut file = origin.file()?;
    let all = members(&mut file, origin.len())?;
    let headers: Vec<Option<Header>> =
        all.iter().map(|member| member.header(&mut file, origin.len()).ok()).collect();
    let with_numbers: Vec<&Header> = headers.iter().flatten().filter(|header| header.has_numbers()).collect();
    let Some(axes) = Axes::of(&with_numbers, reading.shape) else {
        // Nothing but scalars, or headers that cannot be read: the first one says why.
        all[0].load(&mut file, origin.len())?;
        return Err(Error::NoRows);
    };
    let (mut members, mut left_out) = (Vec::new(), Vec::new());
    for (member, header) in all.into_iter().zip(&headers) {
        let fits = header.as_ref().is_some_and(|header| {
            !header.has_objects() && Axes::rows_of(header, axes.shape) == Some(axes.rows)
        });
        if !fits {
            left_out.push(member.name);
            continue;
        }
        // Its columns are counted only once its bytes are known to be there.
        let array = member.load(&mut file, origin.len())?;
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

    let dim = choice.parameters.len();
    let mut values = vec![0.0; rows * dim];
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
        // A second time, so that no more than one array is in memory beside the numbers.
        let array = member.load(&mut file, origin.len())?;
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
    let mut notes = Vec::from_iter(axes.note);
    if !left_out.is_empty() {
        notes.push(Note::MembersLeftOut { members: left_out, rows });
    }
    let source = Box::new(NpzSource { origin, members, shape: axes.shape });
    let draws_per_chain = (chains > 1).then_some(draws);
    Ok(Part { draws_per_chain, notes, ..Part::plain(choice, values, weights, source) })
}

impl Source for NpzSource {
    fn format(&self) -> Format {
        Format::Npz
    }

    fn column(&self, position: usize, rows: usize) -> Result<Column> {
        let (mut file, mut first) = (self.origin.file()?, 0);
        for (member, layout) in &self.members {
            if position < first + layout.slots.len() {
                let array = member.load(&mut file, self.origin.len())?;
                let column = array.column(layout, position - first, 0..rows);
                return column.ok_or_else(|| malformed("its cells are neither numbers nor text"));
            }
            first += layout.slots.len();
        }
        Err(Error::Changed)
    }

    fn frame(&self, names: &[String], rows: &[usize]) -> Result<Frame> {
        let mut file = self.origin.file()?;
        let (mut columns, mut names) = (Vec::with_capacity(names.len()), names.iter());
        for (member, layout) in &self.members {
            let array = member.load(&mut file, self.origin.len())?;
            for slot in 0..layout.slots.len() {
                let name = names.next().ok_or(Error::Changed)?;
                let column = array.column(layout, slot, rows.iter().copied());
                columns.extend(column.map(|column| (name.clone(), column)));
            }
        }
        Ok(Frame { columns })
    }

    fn as_npz(&self) -> Option<&NpzSource> {
        Some(self)
    }
}

impl Array {
    /// The cells of these rows in one column.
    fn column(&self, layout: &Layout, slot: usize, rows: impl Iterator<Item = usize>) -> Option<Column> {
        layout.slots[slot].entry.column(rows.map(|row| layout.cell(slot, &self.bytes[layout.start(row)..])))
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
        let mut file = self.origin.file()?;
        let mut archive = Archive::default();
        for (member, layout) in &self.members {
            let array = member.load(&mut file, self.origin.len())?;
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
            archive.add(&member.name, &bytes);
        }
        added.iter().for_each(|(name, column)| archive.add(name, &array_of(column)));
        Ok(out.write_all(&archive.finish())?)
    }
}

/// Each column as an array of its own.
pub(crate) fn write_frame(frame: &Frame, _: &Dress, out: &mut dyn Write) -> Result<()> {
    let mut archive = Archive::default();
    frame.columns.iter().for_each(|(name, column)| archive.add(name, &array_of(column)));
    Ok(out.write_all(&archive.finish())?)
}

/// Whole numbers up to here are floats too.
const LARGEST_EXACT: u64 = 1 << 53;

/// A column as an .npy file. NumPy has no missing whole numbers, so a column that has some becomes floats with NaN, or text
/// where a float would lose digits.
fn array_of(column: &Column) -> Vec<u8> {
    let rows = column.len();
    let doubles = || {
        let mut bytes = npy::header("'<f8'", &[rows]);
        (0..rows).for_each(|row| bytes.extend(column.number(row).unwrap_or(f64::NAN).to_le_bytes()));
        bytes
    };
    match column {
        Column::Single(cells) => {
            let mut bytes = npy::header("'<f4'", &[rows]);
            cells.iter().for_each(|cell| bytes.extend(cell.unwrap_or(f32::NAN).to_le_bytes()));
            bytes
        }
        Column::Integer(cells) if cells.iter().all(Option::is_some) => {
            let mut bytes = npy::header("'<i8'", &[rows]);
            cells.iter().flatten().for_each(|cell| bytes.extend(cell.to_le_bytes()));
            bytes
        }
        Column::Integer(cells) if cells.iter().flatten().any(|cell| cell.unsigned_abs() > LARGEST_EXACT) => {
            array_of(&column.as_text())
        }
        Column::Boolean(cells) if cells.iter().all(Option::is_some) => {
            let mut bytes = npy::header("'|b1'", &[rows]);
            cells.iter().flatten().for_each(|&cell| bytes.push(u8::from(cell)));
            bytes
        }
        Column::Text(cells) => {
            let length = |cell: &Option<String>| cell.as_ref().map_or(0, |text| text.chars().count());
            let width = cells.iter().map(length).max().unwrap_or(0).max(1);
            let mut bytes = npy::header(&format!("'<U{width}'"), &[rows]);
            for cell in cells {
                let codes = cell.iter().flat_map(|text| text.chars()).map(u32::from);
                codes
                    .chain(std::iter::repeat(0))
                    .take(width)
                    .for_each(|code| bytes.extend(code.to_le_bytes()));
            }
            bytes
        }
        _ => doubles(),
    }
}

/// A zip archive of uncompressed files, put together in memory: the chosen rows are few.
#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    directory: Vec<u8>,
    count: u16,
}

impl Archive {
    fn add(&mut self, name: &str, contents: &[u8]) {
        let name = format!("{name}.npy");
        let mut crc = Crc::new();
        crc.update(contents);
        let size = (contents.len() as u32).to_le_bytes();
        // Version 2.0, a name in UTF-8, stored, the first day the format knows.
        let mut common = vec![20, 0, 0, 8, 0, 0, 0, 0, 0x21, 0];
        common.extend(crc.sum().to_le_bytes());
        common.extend(size);
        common.extend(size);
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        let offset = self.bytes.len() as u32;
        self.bytes.extend(b"PK\x03\x04");
        self.bytes.extend(&common);
        self.bytes.extend(name.as_bytes());
        self.bytes.extend(contents);
        self.directory.extend(b"PK\x01\x02\x14\x00");
        self.directory.extend(&common);
        self.directory.extend([0; 10]);
        self.directory.extend(offset.to_le_bytes());
        self.directory.extend(name.as_bytes());
        self.count += 1;
    }

    fn finish(mut self) -> Vec<u8> {
        let (offset, size) = (self.bytes.len() as u32, self.directory.len() as u32);
        self.bytes.append(&mut self.directory);
        self.bytes.extend(b"PK\x05\x06\x00\x00\x00\x00");
        self.bytes.extend(self.count.to_le_bytes());
        self.bytes.extend(self.count.to_le_bytes());
        self.bytes.extend(size.to_le_bytes());
        self.bytes.extend(offset.to_le_bytes());
        self.bytes.extend([0, 0]);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::DeflateEncoder;

    use super::*;
    use crate::Draws;

    fn read(bytes: &[u8]) -> Result<Draws> {
        read_as(bytes, None)
    }

    fn read_as(bytes: &[u8], shape: Option<Shape>) -> Result<Draws> {
        let mut file = tempfile::NamedTempFile::with_suffix(".npz").unwrap();
        file.write_all(bytes).unwrap();
        Draws::read(&[file.path()], &Reading { shape, ..Reading::default() })
    }

    /// An archive of one deflated member, as `numpy.savez_compressed` writes it.
    fn deflated(name: &str, contents: &[u8], crc: u32) -> Vec<u8> {
        let mut packer = DeflateEncoder::new(Vec::new(), Compression::default());
        packer.write_all(contents).unwrap();
        let packed = packer.finish().unwrap();
        let mut common = vec![20, 0, 0, 0, 8, 0, 0, 0, 0x21, 0];
        common.extend(crc.to_le_bytes());
        common.extend((packed.len() as u32).to_le_bytes());
        common.extend((contents.len() as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        let mut bytes = [b"PK\x03\x04", &common[..], name.as_bytes(), &packed].concat();
        let start = bytes.len() as u32;
        let entry = [b"PK\x01\x02\x14\x00", &common[..], &[0; 14], name.as_bytes()].concat();
        bytes.extend(&entry);
        bytes.extend(b"PK\x05\x06\x00\x00\x00\x00\x01\x00\x01\x00");
        bytes.extend((entry.len() as u32).to_le_bytes());
        bytes.extend(start.to_le_bytes());
        bytes.extend([0, 0]);
        bytes
    }

    #[test]
    fn a_flipped_bit_is_noticed_stored_or_deflated() {
        let mut archive = Archive::default();
        let array = array_of(&Column::doubles((0..50).map(f64::from)));
        archive.add("mu", &array);
        let mut bytes = archive.finish();
        assert_eq!(read(&bytes).unwrap().len(), 50);
        // In the low bits of a number: all else about the file is sound.
        bytes[300] ^= 1;
        let error = read(&bytes).unwrap_err().to_string();
        assert!(error.contains("not a sound npz file: 'mu' is damaged: its CRC-32 does not fit"), "{error}");

        let mut crc = Crc::new();
        crc.update(&array);
        assert_eq!(read(&deflated("mu.npy", &array, crc.sum())).unwrap().len(), 50);
        let error = read(&deflated("mu.npy", &array, crc.sum() ^ 1)).unwrap_err().to_string();
        assert!(error.contains("its CRC-32 does not fit"), "{error}");
    }

    fn archive(arrays: &[(&str, &str, &[usize], Vec<u8>)]) -> Vec<u8> {
        let mut archive = Archive::default();
        for (name, descr, shape, bytes) in arrays {
            archive.add(name, &[npy::header(descr, shape), bytes.clone()].concat());
        }
        archive.finish()
    }

    fn doubles(values: impl IntoIterator<Item = usize>) -> Vec<u8> {
        values.into_iter().flat_map(|value| (value as f64).to_le_bytes()).collect()
    }

    #[test]
    fn arrays_of_chains_by_draws_are_told_from_rows() {
        let chains = archive(&[
            ("mu", "'<f8'", &[2, 3], doubles(3..9)),
            ("theta", "'<f8'", &[2, 3, 2], doubles(10..22)),
            ("obs", "'<f8'", &[8], doubles(0..8)),
        ]);
        let draws = read(&chains).unwrap();
        assert_eq!(
            (draws.len(), draws.chains(), draws.parameter_names()),
            (6, 2, vec!["mu", "theta.1", "theta.2"])
        );
        assert_eq!(draws.values()[9..12], [6.0, 16.0, 17.0]);
        assert_eq!(draws.chain_and_draw(3), (2, 1));
        assert_eq!(
            draws.notes(),
            [
                Note::Axes { shape: Shape::ChainDraw, sizes: vec![2, 3, 2] },
                Note::MembersLeftOut { members: vec!["obs".to_string()], rows: 6 },
            ]
        );
        // As rows where that is asked for, and draws before chains.
        let rows = read_as(&chains, Some(Shape::Rows)).unwrap();
        assert_eq!((rows.len(), rows.dim()), (2, 9));
        let draws = read_as(&chains, Some(Shape::DrawChain)).unwrap();
        assert_eq!(
            (draws.len(), draws.chains(), draws.values()[3..6].to_vec()),
            (6, 3, vec![6.0, 16.0, 17.0])
        );

        // One matrix, a vector beside matrices, and more rows than columns are rows.
        for (arrays, rows, dim, notes) in [
            (archive(&[("arr_0", "'<f8'", &[3, 2], doubles(0..6))]), 3, 2, 0),
            (
                archive(&[("mu", "'<f8'", &[3], doubles(0..3)), ("theta", "'<f8'", &[3, 4], doubles(0..12))]),
                3,
                5,
                0,
            ),
            (
                archive(&[("x", "'<f8'", &[3, 2], doubles(0..6)), ("y", "'<f8'", &[3, 2], doubles(0..6))]),
                3,
                4,
                1,
            ),
            (archive(&[("sigma", "'<f8'", &[5, 2, 2], doubles(0..20))]), 5, 4, 1),
        ] {
            let draws = read(&arrays).unwrap();
            let axes = draws.notes().iter().filter(|note| matches!(note, Note::Axes { .. })).count();
            assert_eq!((draws.len(), draws.dim(), axes), (rows, dim, notes));
        }
    }

    #[test]
    fn chosen_rows_of_chains_are_written_with_their_types() {
        let bytes = archive(&[
            ("theta", "'<f4'", &[2, 3, 2], (0..12_u8).flat_map(|i| f32::from(i).to_le_bytes()).collect()),
            ("n", "'<i8'", &[2, 3], (0..6_i64).flat_map(|i| (i + (1 << 60)).to_le_bytes()).collect()),
            ("day", "'<M8[D]'", &[2, 3], (0..6_i64).flat_map(i64::to_le_bytes).collect()),
        ]);
        let mut file = tempfile::NamedTempFile::with_suffix(".npz").unwrap();
        file.write_all(&bytes).unwrap();
        let draws = Draws::read(&[file.path()], &Reading::default()).unwrap();
        let mut out = Vec::new();
        draws.write_rows(&[4, 1], None, crate::OutputFormat::plain(Format::Npz), &mut out).unwrap();
        let again = read(&out).unwrap();
        assert_eq!(again.names()[..4], ["theta.1", "theta.2", "n", "day"]);
        assert_eq!(again.values()[..2], [8.0, 9.0]);
        let find = |descr: &[u8]| out.windows(descr.len()).any(|window| window == descr);
        assert!(
            find(b"'<f4'") && find(b"'<i8'") && find(b"'<M8[D]'") && find(&((1_i64 << 60) + 4).to_le_bytes())
        );
    }

    #[test]
    fn arrays_without_an_entry_for_each_row_are_left_out() {
        let bytes = archive(&[
            ("samples", "'<f8'", &[4, 2], doubles(0..8)),
            ("logwt", "'<f8'", &[4], doubles(0..4)),
            ("logz", "'<f8'", &[], doubles(0..1)),
            ("names", "'<U1'", &[2], vec![97, 0, 0, 0, 98, 0, 0, 0]),
            ("sampler", "'|O'", &[1], vec![1, 2, 3]),
        ]);
        let draws = read(&bytes).unwrap();
        assert_eq!(draws.names(), ["samples.1", "samples.2", "logwt"]);
        let members = ["logz", "names", "sampler"].map(String::from).to_vec();
        assert!(draws.notes().contains(&Note::MembersLeftOut { members, rows: 4 }), "{:?}", draws.notes());
        let error = read(&archive(&[("logz", "'<f8'", &[], doubles(0..1))])).unwrap_err();
        assert!(error.to_string().contains("no rows"), "{error}");
    }

    #[test]
    fn archives_of_other_things_are_told_what_they_are() {
        let other = |name: &str| {
            let mut bytes = archive(&[("x", "'<f8'", &[1], doubles(0..1))]);
            // Of the same length as x.npy, in both places where the name stands.
            for at in (0..bytes.len() - 5).rev() {
                if &bytes[at..at + 5] == b"x.npy" {
                    bytes[at..at + 5].copy_from_slice(name.as_bytes());
                }
            }
            read(&bytes).unwrap_err().to_string()
        };
        assert!(
            other("x.csv").contains("this is a zip archive without arrays; unpack it"),
            "{}",
            other("x.csv")
        );
        assert!(other("a.txt").contains("this is a zip archive"));
    }

    #[test]
    fn missing_whole_numbers_lose_no_digits() {
        let written = |cells: Vec<Option<i64>>| {
            let header = Header::read(&mut &array_of(&Column::Integer(cells))[..]).unwrap();
            header.descr
        };
        assert_eq!(written(vec![Some(1), Some(2)]), "'<i8'");
        assert_eq!(written(vec![Some(1), None]), "'<f8'");
        assert_eq!(written(vec![Some((1 << 53) + 1), None]), "'<U16'");
    }
}
