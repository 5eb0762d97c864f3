//! NumPy's .npy: one array without names, rows by parameters or chains by draws by parameters.

use std::io::{BufReader, Read, Seek, SeekFrom, Write};

use crate::draws::{Part, Source};
use crate::error::BadCell;
use crate::frame::{Column, Frame};
use crate::origin::Origin;
use crate::{Error, Place, Reading, Result};

/// No header is longer; NumPy itself refuses to parse one of more than 10,000 bytes.
const LONGEST_HEADER: usize = 1 << 20;

/// The type of an array's entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    kind: Kind,
    /// In bytes.
    pub(crate) size: usize,
    big_endian: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Float,
    Signed,
    Unsigned,
    Boolean,
    /// Text of a fixed number of characters, four bytes each.
    Unicode,
}

/// What the header says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) entry: Entry,
    pub(crate) fortran_order: bool,
    pub(crate) shape: Vec<usize>,
    /// Where the entries start.
    pub(crate) start: usize,
    text: String,
}

pub(crate) fn malformed(reason: impl Into<String>) -> Error {
    Error::Malformed { format: "npy", reason: reason.into() }
}

impl Header {
    pub(crate) fn read(stream: &mut dyn Read) -> Result<Header> {
        let mut read = |count: usize| -> Result<Vec<u8>> {
            let mut bytes = vec![0; count];
            stream.read_exact(&mut bytes).map_err(|_| malformed("its header is cut short"))?;
            Ok(bytes)
        };
        let magic = read(8)?;
        if !magic.starts_with(b"\x93NUMPY") {
            return Err(malformed("it does not start with NumPy's mark"));
        }
        let (length, start) = match magic[6] {
            1 => (usize::from(u16::from_le_bytes(read(2)?.try_into().expect("two bytes"))), 10),
            2 | 3 => (u32::from_le_bytes(read(4)?.try_into().expect("four bytes")) as usize, 12),
            version => return Err(malformed(format!("its version is {version}"))),
        };
        if length > LONGEST_HEADER {
            return Err(malformed("its header is too long"));
        }
        let text = String::from_utf8(read(length)?).map_err(|_| malformed("its header is not text"))?;
        let value = |key: &str| {
            let after = text.split_once(&format!("'{key}'"))?.1.trim_start().strip_prefix(':')?;
            Some(after.trim_start())
        };
        let quoted =
            |text: &str| text.strip_prefix('\'')?.split_once('\'').map(|(inside, _)| inside.to_string());
        let descr = value("descr")
            .and_then(quoted)
            .ok_or_else(|| malformed("its entries have fields of their own"))?;
        let fortran_order = match value("fortran_order") {
            Some(text) if text.starts_with("True") => true,
            Some(text) if text.starts_with("False") => false,
            _ => return Err(malformed("its order is not given")),
        };
        let inside =
            value("shape").and_then(|text| Some(text.strip_prefix('(')?.split_once(')')?.0.to_string()));
        let inside = inside.ok_or_else(|| malformed("its shape is not given"))?;
        let numbers = inside.split(',').map(str::trim).filter(|number| !number.is_empty());
        let shape: Option<Vec<usize>> = numbers.map(|number| number.parse().ok()).collect();
        let shape = shape.ok_or_else(|| malformed("its shape is not numbers"))?;
        Ok(Header { entry: Entry::of(&descr)?, fortran_order, shape, start: start + length, text })
    }

    /// How many entries there are.
    pub(crate) fn count(&self) -> Result<usize> {
        let product = self.shape.iter().try_fold(1_usize, |product, &n| product.checked_mul(n));
        product
            .filter(|count| count.checked_mul(self.entry.size.max(1)).is_some())
            .ok_or_else(|| malformed("its shape is impossible"))
    }

    /// Refuses a shape that the bytes do not fill, before memory is taken for it.
    pub(crate) fn check_length(&self, bytes: u64) -> Result<()> {
        let wanted = (self.count()? * self.entry.size) as u64;
        let found = bytes.saturating_sub(self.start as u64);
        match found == wanted {
            true => Ok(()),
            false => {
                Err(malformed(format!("its shape {:?} needs {wanted} bytes, but {found} follow", self.shape)))
            }
        }
    }
}

impl Entry {
    fn of(descr: &str) -> Result<Entry> {
        let unknown =
            || Error::UnknownType { column: "the array".to_string(), kind: descr.chars().take(40).collect() };
        let (order, rest) = descr.split_at_checked(1).ok_or_else(unknown)?;
        let (kind, size) = rest.split_at_checked(1).ok_or_else(unknown)?;
        let size: usize = size.parse().map_err(|_| unknown())?;
        let (kind, size) = match (kind, size) {
            ("f", 4 | 8) => (Kind::Float, size),
            ("i", 1 | 2 | 4 | 8) => (Kind::Signed, size),
            ("u", 1 | 2 | 4 | 8) => (Kind::Unsigned, size),
            ("b", 1) => (Kind::Boolean, 1),
            ("U", 1..=100_000) => (Kind::Unicode, size * 4),
            _ => return Err(unknown()),
        };
        match order {
            "<" | "|" | "=" => Ok(Entry { kind, size, big_endian: false }),
            ">" => Ok(Entry { kind, size, big_endian: true }),
            _ => Err(unknown()),
        }
    }

    pub(crate) fn is_text(self) -> bool {
        self.kind == Kind::Unicode
    }

    pub(crate) fn is_single(self) -> bool {
        self.kind == Kind::Float && self.size == 4
    }

    /// The bits of a whole number or the bytes of a float, in this machine's order.
    fn bits(self, bytes: &[u8]) -> u64 {
        let place = |sum: u64, byte: &u8| (sum << 8) | u64::from(*byte);
        match self.big_endian {
            true => bytes.iter().fold(0, place),
            false => bytes.iter().rev().fold(0, place),
        }
    }

    fn integer(self, bytes: &[u8]) -> i64 {
        let unused = 64 - 8 * self.size as u32;
        (self.bits(bytes) << unused) as i64 >> unused
    }

    /// The entry as a number; text is not one.
    pub(crate) fn number(self, bytes: &[u8]) -> f64 {
        match (self.kind, self.size) {
            (Kind::Float, 4) => f64::from(f32::from_bits(self.bits(bytes) as u32)),
            (Kind::Float, _) => f64::from_bits(self.bits(bytes)),
            (Kind::Signed, _) => self.integer(bytes) as f64,
            (Kind::Unsigned, _) => self.bits(bytes) as f64,
            (Kind::Boolean, _) => f64::from(bytes[0]),
            (Kind::Unicode, _) => f64::NAN,
        }
    }

    pub(crate) fn text(self, bytes: &[u8]) -> String {
        let characters = bytes.chunks_exact(4).map(|four| self.bits(four) as u32);
        characters
            .take_while(|&code| code != 0)
            .map(|code| char::from_u32(code).unwrap_or('\u{fffd}'))
            .collect()
    }

    /// Entries as a column of the type that holds them best.
    pub(crate) fn column<'a>(self, entries: impl Iterator<Item = &'a [u8]>) -> Column {
        match (self.kind, self.size) {
            (Kind::Float, 4) => {
                Column::Single(entries.map(|e| Some(f32::from_bits(self.bits(e) as u32))).collect())
            }
            (Kind::Float, _) => Column::Double(entries.map(|e| Some(self.number(e))).collect()),
            (Kind::Signed, _) => Column::Integer(entries.map(|e| Some(self.integer(e))).collect()),
            (Kind::Unsigned, 8) => Column::Double(entries.map(|e| Some(self.number(e))).collect()),
            (Kind::Unsigned, _) => Column::Integer(entries.map(|e| Some(self.bits(e) as i64)).collect()),
            (Kind::Boolean, _) => Column::Boolean(entries.map(|e| Some(e[0] != 0)).collect()),
            (Kind::Unicode, _) => Column::Text(entries.map(|e| Some(self.text(e))).collect()),
        }
    }
}

/// An .npy file after its first pass.
#[derive(Debug)]
pub(crate) struct NpySource {
    origin: Origin,
    header: Header,
    rows: usize,
    width: usize,
}

pub(crate) fn read(origin: Origin, reading: &Reading<'_>) -> Result<Part> {
    let mut stream = BufReader::with_capacity(1 << 20, origin.file()?);
    let header = Header::read(&mut stream)?;
    header.check_length(origin.len())?;
    if header.entry.is_text() {
        return Err(Error::UnknownType { column: "the array".to_string(), kind: "text".to_string() });
    }
    let (chains, draws, width) = match header.shape[..] {
        [rows] => (1, rows, 1),
        [rows, width] => (1, rows, width),
        [chains, draws, width] => (chains, draws, width),
        ref shape => {
            let reason = format!(
                "its shape is {shape:?}, and rows by parameters or chains by draws by parameters is wanted"
            );
            return Err(malformed(reason));
        }
    };
    let rows = chains * draws;
    if rows == 0 || width == 0 {
        return Err(Error::NoRows);
    }
    let names: Vec<String> = (1..=width).map(|j| format!("x{j}")).collect();
    let parameters = reading.parameters(&names)?;
    let weight = reading.weight_position(&names)?;
    let dim = parameters.len();
    let mut slot = vec![None; width];
    parameters.iter().enumerate().for_each(|(at, &column)| slot[column] = Some(at));
    let mut values = vec![0.0; rows * dim];
    let mut weights = weight.map(|_| vec![0.0; rows]);

    let mut entry = vec![0; header.entry.size];
    for at in 0..rows * width {
        stream.read_exact(&mut entry).map_err(Error::Unreadable)?;
        let (row, column) = match header.fortran_order {
            false => (at / width, at % width),
            // The first index runs fastest: the chain, then the draw.
            true => ((at % chains) * draws + at / chains % draws, at / rows),
        };
        let is_weight = weight == Some(column);
        if slot[column].is_none() && !is_weight {
            continue;
        }
        let value = header.entry.number(&entry);
        if !(value.is_finite() || is_weight && value == f64::NEG_INFINITY) {
            let place = Place { row: row + 1, line: None, column: names[column].clone() };
            return Err(BadCell::NonFinite.refused(place, value.to_string(), is_weight));
        }
        match (&mut weights, slot[column]) {
            (_, Some(at)) => values[row * dim + at] = value,
            (Some(weights), None) => weights[row] = value,
            (None, None) => unreachable!("only wanted columns come here"),
        }
    }
    drop(stream);
    let draws_per_chain = (header.shape.len() == 3).then_some(draws);
    let source = Source::Npy(NpySource { origin, header, rows, width });
    Ok(Part { draws_per_chain, ..Part::plain(names, parameters, values, weights, source) })
}

/// How many rows and parameters the header promises.
pub(crate) fn expected(origin: &Origin, reading: &Reading<'_>) -> Result<Option<(usize, usize)>> {
    let header = Header::read(&mut BufReader::new(origin.file()?))?;
    header.check_length(origin.len())?;
    let width = if header.shape.len() > 1 { header.shape[header.shape.len() - 1] } else { 1 };
    let names: Vec<String> = (1..=width).map(|j| format!("x{j}")).collect();
    let parameters = reading.parameters(&names)?.len();
    Ok(Some((header.count()? / width.max(1), parameters)))
}

impl NpySource {
    pub(crate) fn is_single(&self) -> bool {
        self.header.entry.is_single()
    }

    pub(crate) fn frame(&self, names: &[String], rows: &[usize]) -> Result<Frame> {
        let column = |(position, name): (usize, &String)| Ok((name.clone(), self.column(position, rows)?));
        Ok(Frame { columns: names.iter().enumerate().map(column).collect::<Result<_>>()? })
    }

    /// The cells of these rows in one column.
    pub(crate) fn column(&self, column: usize, rows: &[usize]) -> Result<Column> {
        let mut file = self.origin.file()?;
        let size = self.header.entry.size;
        let mut entry = |row: usize| -> Result<Vec<u8>> {
            let chains = if self.header.shape.len() == 3 { self.header.shape[0] } else { 1 };
            let draws = self.rows / chains;
            let at = match self.header.fortran_order {
                false => row * self.width + column,
                true => row / draws + chains * (row % draws) + column * self.rows,
            };
            let mut bytes = vec![0; size];
            file.seek(SeekFrom::Start((self.header.start + at * size) as u64)).map_err(Error::Unreadable)?;
            file.read_exact(&mut bytes).map_err(Error::Unreadable)?;
            Ok(bytes)
        };
        let entries: Vec<Vec<u8>> = rows.iter().map(|&row| entry(row)).collect::<Result<_>>()?;
        Ok(self.header.entry.column(entries.iter().map(Vec::as_slice)))
    }
}

/// The head of an .npy of this type and shape, padded as NumPy does so that the entries start at a multiple of 64.
pub(crate) fn header(descr: &str, shape: &[usize]) -> Vec<u8> {
    let shape: String = shape.iter().map(|n| format!("{n},")).collect();
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    text.push_str(&" ".repeat(63 - (10 + text.len()) % 64));
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes
}

/// The same type as in another file, in this machine's usual order.
pub(crate) fn descr_of(header: &Header) -> String {
    let descr = header.text.split('\'').nth(3).unwrap_or("<f8");
    descr.to_string()
}

/// Rows of a matrix.
pub(crate) fn write_rows(
    values: &[f64],
    dim: usize,
    rows: &[usize],
    single: bool,
    out: &mut dyn Write,
) -> Result<()> {
    out.write_all(&header(if single { "<f4" } else { "<f8" }, &[rows.len(), dim]))?;
    for &row in rows {
        for value in &values[row * dim..(row + 1) * dim] {
            match single {
                true => out.write_all(&(*value as f32).to_le_bytes())?,
                false => out.write_all(&value.to_le_bytes())?,
            }
        }
    }
    Ok(())
}

/// All columns side by side; they must be numbers. A missing one is NaN, NumPy's own word for it.
pub(crate) fn write_frame(frame: &Frame, out: &mut dyn Write) -> Result<()> {
    if let Some((name, _)) = frame.columns.iter().find(|(_, column)| matches!(column, Column::Text(_))) {
        return Err(Error::TextInArray { column: name.clone(), format: "npy" });
    }
    out.write_all(&header("<f8", &[frame.len(), frame.columns.len()]))?;
    for row in 0..frame.len() {
        for (_, column) in &frame.columns {
            out.write_all(&column.number(row).unwrap_or(f64::NAN).to_le_bytes())?;
        }
    }
    Ok(())
}
