//! Headers of NumPy arrays: the type of the entries, the shape, and the order.

use std::io::Read;

use arrow_array::types::{ArrowPrimitiveType, Float16Type};
use serde_json::Value;

use super::literal::{numbers, parse, written};
use crate::frame::Column;
use crate::{Error, Result};

type Half = <Float16Type as ArrowPrimitiveType>::Native;

/// No header is longer; NumPy itself refuses to parse one of more than 10,000 bytes.
const LONGEST_HEADER: usize = 1 << 20;

/// The type of an array's entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) kind: Kind,
    /// In bytes.
    pub(crate) size: usize,
    big_endian: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Float,
    Signed,
    Unsigned,
    Boolean,
    /// Text of a fixed number of characters, four bytes each.
    Unicode,
    /// Text of a fixed number of bytes.
    Bytes,
    /// Bytes that mean something else: dates, complex numbers.
    Opaque,
    /// A pickled object, which only Python can read.
    Object,
}

/// One field of an entry; a plain array has one without a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) entry: Entry,
    /// Where in the entry it starts.
    pub(crate) offset: usize,
    /// Of an array within the entry.
    pub(crate) shape: Vec<usize>,
}

/// What the header says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    /// The type as Python writes it, to be written again.
    pub(crate) descr: String,
    pub(crate) fields: Vec<Field>,
    /// Bytes of one entry, all its fields together.
    pub(crate) size: usize,
    pub(crate) fortran_order: bool,
    pub(crate) shape: Vec<usize>,
    /// Where the entries start.
    pub(crate) start: usize,
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
        let dictionary = parse(&text).ok_or_else(|| malformed("its header is no dictionary"))?;
        let descr = dictionary.get("descr").ok_or_else(|| malformed("its type is not given"))?;
        let (mut fields, mut size) = (Vec::new(), 0);
        add_fields(descr, None, &[], &mut size, &mut fields)?;
        let fortran_order = dictionary.get("fortran_order").and_then(Value::as_bool);
        let fortran_order = fortran_order.ok_or_else(|| malformed("its order is not given"))?;
        let shape = dictionary.get("shape").and_then(numbers);
        let shape = shape.ok_or_else(|| malformed("its shape is not given"))?;
        Ok(Header { descr: written(descr, false), fields, size, fortran_order, shape, start: start + length })
    }

    /// Number of entries.
    pub(crate) fn count(&self) -> Result<usize> {
        let product = self.shape.iter().try_fold(1_usize, |product, &n| product.checked_mul(n));
        product
            .filter(|count| count.checked_mul(self.size.max(1)).is_some())
            .ok_or_else(|| malformed("its shape is invalid"))
    }

    /// Refuses a shape that the bytes do not fill, before memory is taken for it.
    pub(crate) fn check_length(&self, bytes: u64) -> Result<()> {
        let wanted = (self.count()? * self.size) as u64;
        let found = bytes.saturating_sub(self.start as u64);
        match found == wanted {
            true => Ok(()),
            false => {
                Err(malformed(format!("its shape {:?} needs {wanted} bytes, but {found} follow", self.shape)))
            }
        }
    }

    /// Whether every entry is one value.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(&self.fields[..], [field] if field.name.is_empty())
    }

    pub(crate) fn has_objects(&self) -> bool {
        self.fields.iter().any(|field| field.entry.kind == Kind::Object)
    }

    pub(crate) fn has_numbers(&self) -> bool {
        self.fields.iter().any(|field| field.entry.is_number())
    }
}

/// The fields of a type behind those there are; a plain type has one without a name.
fn add_fields(
    descr: &Value,
    name: Option<&str>,
    shape: &[usize],
    size: &mut usize,
    fields: &mut Vec<Field>,
) -> Result<()> {
    let impossible = || malformed("its type is invalid");
    match descr {
        Value::String(text) => {
            let entry = Entry::of(text)?;
            let count = shape.iter().try_fold(1_usize, |count, &n| count.checked_mul(n));
            let bytes =
                count.and_then(|count| count.checked_mul(entry.size)).filter(|&bytes| bytes < 1 << 40);
            // NumPy fills gaps with fields without a name.
            if !(entry.kind == Kind::Opaque && name == Some("")) {
                fields.push(Field {
                    name: name.unwrap_or_default().to_string(),
                    entry,
                    offset: *size,
                    shape: shape.to_vec(),
                });
            }
            *size = size.checked_add(bytes.ok_or_else(impossible)?).ok_or_else(impossible)?;
            Ok(())
        }
        Value::Array(parts) if shape.is_empty() => {
            parts.iter().try_for_each(|part| {
                let (inner_name, inner, shape) = match part.as_array().map_or(&[][..], Vec::as_slice) {
                    [name, inner] => (name, inner, Vec::new()),
                    [name, inner, shape] => (name, inner, numbers(shape).ok_or_else(impossible)?),
                    _ => return Err(impossible()),
                };
                // A title may stand before the name.
                let inner_name = inner_name.get(1).unwrap_or(inner_name).as_str().ok_or_else(impossible)?;
                let full = match name.unwrap_or_default() {
                    outer if outer.is_empty() || inner_name.is_empty() => inner_name.to_string(),
                    outer => format!("{outer}.{inner_name}"),
                };
                add_fields(inner, Some(&full), &shape, size, fields)
            })
        }
        _ => Err(malformed(
            "its entries have fields of a kind that is not read; save each as an array of its own",
        )),
    }
}

impl Entry {
    fn of(descr: &str) -> Result<Entry> {
        let unknown = || malformed(format!("its type '{}' is not known", crate::words::shown(descr)));
        let (order, rest) = descr.split_at_checked(1).ok_or_else(unknown)?;
        let (order, rest) = match order {
            "<" | ">" | "|" | "=" => (order, rest),
            _ => ("|", descr),
        };
        let (kind, size) = rest.split_at_checked(1).ok_or_else(unknown)?;
        let digits = size.split_once('[').map_or(size, |(digits, _)| digits);
        let size: usize = match digits {
            "" => 8,
            digits => digits.parse().ok().filter(|&size| size <= 1 << 20).ok_or_else(unknown)?,
        };
        let (kind, size) = match (kind, size) {
            ("f", 2 | 4 | 8) => (Kind::Float, size),
            ("i", 1 | 2 | 4 | 8) => (Kind::Signed, size),
            ("u", 1 | 2 | 4 | 8) => (Kind::Unsigned, size),
            ("b", 1) => (Kind::Boolean, 1),
            ("U", _) => (Kind::Unicode, size * 4),
            ("S" | "a", _) => (Kind::Bytes, size),
            ("O", _) => (Kind::Object, 8),
            ("f" | "c" | "V" | "M" | "m", _) => (Kind::Opaque, size),
            _ => return Err(unknown()),
        };
        Ok(Entry { kind, size, big_endian: order == ">" })
    }

    pub(crate) fn is_text(self) -> bool {
        matches!(self.kind, Kind::Unicode | Kind::Bytes)
    }

    pub(crate) fn is_number(self) -> bool {
        matches!(self.kind, Kind::Float | Kind::Signed | Kind::Unsigned | Kind::Boolean)
    }

    /// Whether it is a float of single precision or less.
    pub(crate) fn is_single(self) -> bool {
        self.kind == Kind::Float && self.size < 8
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

    /// The entry as a number; NaN for what is not one.
    pub(crate) fn number(self, bytes: &[u8]) -> f64 {
        match (self.kind, self.size) {
            (Kind::Float, 2) => Half::from_bits(self.bits(bytes) as u16).to_f64(),
            (Kind::Float, 4) => f64::from(f32::from_bits(self.bits(bytes) as u32)),
            (Kind::Float, _) => f64::from_bits(self.bits(bytes)),
            (Kind::Signed, _) => self.integer(bytes) as f64,
            (Kind::Unsigned, _) => self.bits(bytes) as f64,
            (Kind::Boolean, _) => f64::from(u8::from(bytes[0] != 0)),
            _ => f64::NAN,
        }
    }

    /// Entries that lie one behind the other as numbers, added to those that are there.
    pub(crate) fn numbers(self, bytes: &[u8], numbers: &mut Vec<f64>) {
        match (self.kind, self.size, self.big_endian) {
            (Kind::Float, 4, false) => {
                numbers.extend(bytes.as_chunks().0.iter().map(|&four| f64::from(f32::from_le_bytes(four))));
            }
            (Kind::Float, 8, false) => {
                numbers.extend(bytes.as_chunks().0.iter().map(|&eight| f64::from_le_bytes(eight)));
            }
            _ => numbers.extend(bytes.chunks_exact(self.size).map(|entry| self.number(entry))),
        }
    }

    pub(crate) fn text(self, bytes: &[u8]) -> String {
        if self.kind == Kind::Bytes {
            let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            return String::from_utf8_lossy(&bytes[..end]).into_owned();
        }
        let characters = bytes.chunks_exact(4).map(|four| self.bits(four) as u32);
        characters
            .take_while(|&code| code != 0)
            .map(|code| char::from_u32(code).unwrap_or('\u{fffd}'))
            .collect()
    }

    /// Entries as a column of the type that holds them best; `None` for what is neither number nor text.
    pub(crate) fn column<'a>(self, entries: impl Iterator<Item = &'a [u8]>) -> Option<Column> {
        Some(match (self.kind, self.size) {
            (Kind::Float, 8) => Column::doubles(entries.map(|entry| self.number(entry))),
            // Exact, since half and single precision are doubles too.
            (Kind::Float, _) => {
                entries.map(|entry| Some(self.number(entry) as f32)).collect::<Vec<_>>().into()
            }
            (Kind::Unsigned, 8) => {
                let cells: Vec<u64> = entries.map(|entry| self.bits(entry)).collect();
                match cells.iter().map(|&cell| i64::try_from(cell).ok().map(Some)).collect::<Option<Vec<_>>>()
                {
                    Some(cells) => cells.into(),
                    // Text keeps every digit; a float would not.
                    None => cells.iter().map(|cell| Some(cell.to_string())).collect::<Vec<_>>().into(),
                }
            }
            (Kind::Unsigned, _) => {
                entries.map(|entry| Some(self.bits(entry) as i64)).collect::<Vec<_>>().into()
            }
            (Kind::Signed, _) => entries.map(|entry| Some(self.integer(entry))).collect::<Vec<_>>().into(),
            (Kind::Boolean, _) => entries.map(|entry| Some(entry[0] != 0)).collect::<Vec<_>>().into(),
            (Kind::Unicode | Kind::Bytes, _) => {
                entries.map(|entry| Some(self.text(entry))).collect::<Vec<_>>().into()
            }
            (Kind::Opaque | Kind::Object, _) => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn header(dictionary: &str) -> Result<Header> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((dictionary.len() as u16).to_le_bytes());
        bytes.extend(dictionary.as_bytes());
        Header::read(&mut &bytes[..])
    }

    #[test]
    fn types_of_one_and_of_many_fields_are_read_and_written_again() {
        let plain = header("{'descr': '<f2', 'fortran_order': True, 'shape': (3, 4L), }\n").unwrap();
        assert_eq!(
            (plain.descr.as_str(), plain.size, &plain.shape[..], plain.is_plain()),
            ("'<f2'", 2, &[3, 4][..], true)
        );
        let text = "[('mu', '<f8'), ('', '|V4'), ('theta', '<f4', (2,)), ('in', [('a', '<i2'), ('b', '|b1')]), \
                    ('n', '<U3')]";
        let structured =
            header(&format!("{{'descr': {text}, 'fortran_order': False, 'shape': (5,)}}")).unwrap();
        assert_eq!((structured.descr.as_str(), structured.size), (text, 8 + 4 + 8 + 3 + 12));
        let names: Vec<(&str, usize)> =
            structured.fields.iter().map(|field| (field.name.as_str(), field.offset)).collect();
        assert_eq!(names, [("mu", 0), ("theta", 12), ("in.a", 20), ("in.b", 22), ("n", 23)]);
        for bad in
            ["{}", "{'descr': '<x9'}", "[[[[[[[[[[[[[[[[[[[[[[[[", "{'descr': [('a',)], 'shape': (1,)}"]
        {
            assert!(header(bad).is_err(), "{bad}");
        }
    }
}
