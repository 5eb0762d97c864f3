//! NumPy's .npz: a zip archive of named arrays, each with one entry (or one row of entries) for each draw.

use std::io::{Read, Seek, SeekFrom, Write};

use flate2::{Crc, CrcReader};
use flate2::read::DeflateDecoder;

use crate::draws::{Part, Source};
use crate::error::BadCell;
use crate::frame::{Column, Frame};
use crate::npy::{self, Header};
use crate::origin::{Handle, Origin};
use crate::{Error, Place, Reading, Result};

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
    let (mut members, mut at) = (Vec::new(), 0);
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
        let is_deflated = match method {
            0 => false,
            8 => true,
            _ => return Err(malformed(format!("'{name}' is packed by method {method}"))),
        };
        if let Some(array) = name.strip_suffix(".npy") {
            members.push(Member { name: array.to_string(), is_deflated, packed, size, crc, offset });
        }
        at = extra_end + remark_len;
    }
    match members.is_empty() {
        true => Err(malformed("it holds no arrays")),
        false => Ok(members),
    }
}

/// An array in memory.
struct Array {
    header: Header,
    bytes: Vec<u8>,
}

impl Member {
    fn load(&self, file: &mut Handle, len: u64) -> Result<Array> {
        if self.offset.checked_add(30 + self.packed).is_none_or(|end| end > len) {
            return Err(malformed(format!("'{}' lies outside the file", self.name)));
        }
        let local = read_at(file, self.offset, 30)?;
        if !local.starts_with(b"PK\x03\x04") {
            return Err(malformed(format!("'{}' is not where the directory says", self.name)));
        }
        let start = self.offset + 30 + number(&local, 26, 2)? + number(&local, 28, 2)?;
        file.seek(SeekFrom::Start(start)).map_err(Error::Unreadable)?;
        let packed = file.take(self.packed);
        let stream: Box<dyn Read> =
            if self.is_deflated { Box::new(DeflateDecoder::new(packed)) } else { Box::new(packed) };
        let mut stream = CrcReader::new(stream);
        let header = Header::read(&mut stream)?;
        header.check_length(self.size)?;
        let mut bytes = Vec::new();
        let wanted = (header.count()? * header.entry.size) as u64;
        let got = (&mut stream)
            .take(wanted)
            .read_to_end(&mut bytes)
            .map_err(|error| malformed(error.to_string()))?;
        if got as u64 != wanted {
            return Err(malformed(format!("'{}' is cut short", self.name)));
        }
        match stream.crc().sum() == self.crc {
            true => Ok(Array { header, bytes }),
            false => Err(malformed(format!("'{}' is damaged: its CRC-32 does not fit", self.name))),
        }
    }
}

impl Array {
    fn rows(&self) -> usize {
        self.header.shape.first().copied().unwrap_or(0)
    }

    /// Entries for each row.
    fn width(&self) -> usize {
        self.header.shape.iter().skip(1).product()
    }

    /// Entry `j` of a row, counted in C order.
    fn entry(&self, row: usize, j: usize) -> &[u8] {
        let mut at = row * self.width() + j;
        if self.header.fortran_order {
            // The indices of the entry, last first, weighed the other way round.
            let mut indices = vec![0; self.header.shape.len()];
            for (index, &n) in indices.iter_mut().zip(&self.header.shape).rev() {
                (*index, at) = (at % n, at / n);
            }
            at = indices.iter().zip(&self.header.shape).rev().fold(0, |sum, (index, n)| sum * n + index);
        }
        &self.bytes[at * self.header.entry.size..(at + 1) * self.header.entry.size]
    }

    /// The names of its columns: its own, or `theta.2.1` as CmdStan has it.
    fn names(&self, name: &str) -> Vec<String> {
        let shape = &self.header.shape[1..];
        if shape.is_empty() {
            return vec![name.to_string()];
        }
        let one = |j: usize| {
            let (mut rest, mut indices) = (j, Vec::new());
            for &n in shape.iter().rev() {
                indices.push((1 + rest % n).to_string());
                rest /= n;
            }
            indices.reverse();
            format!("{name}.{}", indices.join("."))
        };
        (0..self.width()).map(one).collect()
    }
}

/// An .npz file after its first pass.
#[derive(Debug)]
pub(crate) struct NpzSource {
    origin: Origin,
    members: Vec<Member>,
}

pub(crate) fn read(origin: Origin, reading: &Reading<'_>) -> Result<Part> {
    let mut file = origin.file()?;
    let members = members(&mut file, origin.len())?;
    // Two rounds over the archive, so that no more than one array is in memory beside the numbers.
    let (mut names, mut rows) = (Vec::new(), None);
    for member in &members {
        let array = member.load(&mut file, origin.len())?;
        let (count, first) = (array.rows(), rows.get_or_insert(array.rows()));
        if array.header.shape.is_empty() || count != *first {
            let reason = format!("'{}' has {count} rows, but the first array has {first}", member.name);
            return Err(malformed(reason));
        }
        names.extend(array.names(&member.name));
    }
    let rows = rows.filter(|&rows| rows > 0 && !names.is_empty()).ok_or(Error::NoRows)?;
    let parameters = reading.parameters(&names)?;
    let weight = reading.weight_position(&names)?;
    let dim = parameters.len();
    let mut values = vec![0.0; rows * dim];
    let mut weights = weight.map(|_| vec![0.0; rows]);
    let mut first = 0;
    for member in &members {
        let array = member.load(&mut file, origin.len())?;
        for j in 0..array.width() {
            let column = first + j;
            let slot = parameters.binary_search(&column).ok();
            let is_weight = weight == Some(column);
            if slot.is_none() && !is_weight {
                continue;
            }
            for row in 0..rows {
                let entry = array.entry(row, j);
                let value = array.header.entry.number(entry);
                if !(value.is_finite() || is_weight && value == f64::NEG_INFINITY) {
                    let place = Place { row: row + 1, line: None, column: names[column].clone() };
                    let (cell, text) = match array.header.entry.is_text() {
                        true => (BadCell::Text, array.header.entry.text(entry)),
                        false => (BadCell::NonFinite, value.to_string()),
                    };
                    return Err(cell.refused(place, text, is_weight));
                }
                match (slot, &mut weights) {
                    (Some(slot), _) => values[row * dim + slot] = value,
                    (None, Some(weights)) => weights[row] = value,
                    (None, None) => unreachable!("only wanted columns come here"),
                }
            }
        }
        first += array.width();
    }
    Ok(Part::plain(names, parameters, values, weights, Source::Npz(NpzSource { origin, members })))
}

impl NpzSource {
    /// All cells of one column.
    pub(crate) fn column(&self, position: usize) -> Result<Column> {
        let (mut file, mut first) = (self.origin.file()?, 0);
        for member in &self.members {
            let array = member.load(&mut file, self.origin.len())?;
            if position < first + array.width() {
                let entries = (0..array.rows()).map(|row| array.entry(row, position - first));
                return Ok(array.header.entry.column(entries));
            }
            first += array.width();
        }
        Err(Error::Changed)
    }

    pub(crate) fn frame(&self, names: &[String], rows: &[usize]) -> Result<Frame> {
        let mut file = self.origin.file()?;
        let mut columns = Vec::with_capacity(names.len());
        for member in &self.members {
            let array = member.load(&mut file, self.origin.len())?;
            for j in 0..array.width() {
                let entries = rows.iter().map(|&row| array.entry(row, j));
                columns.push((names[columns.len()].clone(), array.header.entry.column(entries)));
            }
        }
        Ok(Frame { columns })
    }

    /// The chosen rows of every array, type and shape kept, and the added columns as arrays of their own.
    pub(crate) fn write_rows(
        &self,
        rows: &[usize],
        added: &[(String, Column)],
        out: &mut dyn Write,
    ) -> Result<()> {
        let mut file = self.origin.file()?;
        let mut archive = Archive::default();
        for member in &self.members {
            let array = member.load(&mut file, self.origin.len())?;
            let mut shape = array.header.shape.clone();
            shape[0] = rows.len();
            let mut bytes = npy::header(&npy::descr_of(&array.header), &shape);
            for &row in rows {
                (0..array.width()).for_each(|j| bytes.extend_from_slice(array.entry(row, j)));
            }
            archive.add(&member.name, &bytes);
        }
        added.iter().for_each(|(name, column)| archive.add(name, &array_of(column)));
        Ok(out.write_all(&archive.finish())?)
    }
}

/// Each column as an array of its own.
pub(crate) fn write_frame(frame: &Frame, out: &mut dyn Write) -> Result<()> {
    let mut archive = Archive::default();
    frame.columns.iter().for_each(|(name, column)| archive.add(name, &array_of(column)));
    Ok(out.write_all(&archive.finish())?)
}

/// A column as an .npy file. NumPy has no missing whole numbers, so a column that has some becomes floats with NaN.
fn array_of(column: &Column) -> Vec<u8> {
    let rows = column.len();
    let doubles = || {
        let mut bytes = npy::header("<f8", &[rows]);
        (0..rows).for_each(|row| bytes.extend(column.number(row).unwrap_or(f64::NAN).to_le_bytes()));
        bytes
    };
    match column {
        Column::Single(cells) => {
            let mut bytes = npy::header("<f4", &[rows]);
            cells.iter().for_each(|cell| bytes.extend(cell.unwrap_or(f32::NAN).to_le_bytes()));
            bytes
        }
        Column::Integer(cells) if cells.iter().all(Option::is_some) => {
            let mut bytes = npy::header("<i8", &[rows]);
            cells.iter().flatten().for_each(|cell| bytes.extend(cell.to_le_bytes()));
            bytes
        }
        Column::Boolean(cells) if cells.iter().all(Option::is_some) => {
            let mut bytes = npy::header("|b1", &[rows]);
            cells.iter().flatten().for_each(|&cell| bytes.push(u8::from(cell)));
            bytes
        }
        Column::Text(cells) => {
            let length = |cell: &Option<String>| cell.as_ref().map_or(0, |text| text.chars().count());
            let width = cells.iter().map(length).max().unwrap_or(0).max(1);
            let mut bytes = npy::header(&format!("<U{width}"), &[rows]);
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
        let mut file = tempfile::NamedTempFile::with_suffix(".npz").unwrap();
        file.write_all(bytes).unwrap();
        Draws::read(&[file.path()], &Reading::default())
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
}
