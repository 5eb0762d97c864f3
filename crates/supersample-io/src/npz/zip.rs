//! Zip archives, as far as .npz needs them: the directory, members stored or deflated, and archives of stored ones.

use std::io::{Read, Seek, SeekFrom};

use flate2::read::DeflateDecoder;
use flate2::{Crc, CrcReader};

use crate::npy::Header;
use crate::origin::Handle;
use crate::words::shown;
use crate::{Error, Result};

pub(super) fn malformed(reason: impl Into<String>) -> Error {
    Error::Malformed { format: "npz", reason: reason.into() }
}

/// One file of the archive.
#[derive(Debug, Clone)]
pub(super) struct Member {
    /// Without the ending .npy.
    pub(super) name: String,
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
pub(super) fn members(file: &mut Handle, len: u64) -> Result<Vec<Member>> {
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
pub(super) struct Array {
    pub(super) header: Header,
    pub(super) bytes: Vec<u8>,
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

    pub(super) fn header(&self, file: &mut Handle, len: u64) -> Result<Header> {
        Header::read(&mut self.stream(file, len)?)
    }

    pub(super) fn load(&self, file: &mut Handle, len: u64) -> Result<Array> {
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

/// A zip archive of uncompressed files, put together in memory: the chosen rows are few.
#[derive(Default)]
pub(super) struct Archive {
    bytes: Vec<u8>,
    directory: Vec<u8>,
    count: u16,
}

impl Archive {
    pub(super) fn add(&mut self, name: &str, contents: &[u8]) {
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

    pub(super) fn finish(mut self) -> Vec<u8> {
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
