//! An array of a store: its type, its chunks, and how their bytes become cells.

use serde_json::Value;

use super::codec::{Codec, unpack_texts};
use crate::tree::{Cells, Kind};

/// How cells are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stored {
    Number {
        kind: Kind,
        is_big: bool,
    },
    /// Of half precision.
    Half {
        is_big: bool,
    },
    /// Text of four bytes a letter.
    Wide {
        letters: usize,
        is_big: bool,
    },
    /// Text of one byte a letter.
    Narrow {
        letters: usize,
    },
    /// Texts behind their lengths.
    Texts,
}

#[derive(Debug, Clone)]
pub(super) struct Array {
    pub(super) shape: Vec<usize>,
    pub(super) chunks: Vec<usize>,
    /// `None` for types that are neither numbers nor text.
    pub(super) kind: Option<Kind>,
    pub(super) stored: Option<Stored>,
    /// Order of the axes in a chunk; `None` for that of the shape.
    pub(super) order: Option<Vec<usize>>,
    /// Value of cells that were not written.
    pub(super) fill: Value,
    pub(super) codecs: Vec<Codec>,
    /// Before the numbers of a chunk, and between them.
    pub(super) prefix: &'static str,
    pub(super) separator: char,
}

impl Stored {
    /// Of a type as NumPy writes it.
    pub(super) fn of_numpy(descr: &str) -> Option<Stored> {
        let is_big = descr.starts_with('>');
        let rest = descr.strip_prefix(['<', '>', '|'])?;
        let kind = match rest {
            "b1" => Kind::Bool,
            "i1" => Kind::I8,
            "i2" => Kind::I16,
            "i4" => Kind::I32,
            "i8" => Kind::I64,
            "u1" => Kind::U8,
            "u2" => Kind::U16,
            "u4" => Kind::U32,
            "u8" => Kind::U64,
            "f2" => return Some(Stored::Half { is_big }),
            "f4" => Kind::F32,
            "f8" => Kind::F64,
            "O" => return Some(Stored::Texts),
            _ => {
                let letters = rest.get(1..)?.parse().ok().filter(|&letters| letters > 0)?;
                return match rest.as_bytes()[0] {
                    b'U' => Some(Stored::Wide { letters, is_big }),
                    b'S' => Some(Stored::Narrow { letters }),
                    _ => None,
                };
            }
        };
        Some(Stored::Number { kind, is_big })
    }

    /// Of a type of version 3.
    pub(super) fn of_name(name: &Value, is_big: bool) -> Option<Stored> {
        let length = |name: &Value| {
            let bytes = name.get("configuration")?.get("length_bytes")?.as_u64()?;
            usize::try_from(bytes).ok().filter(|&bytes| bytes > 0)
        };
        let kind = match name.as_str().or_else(|| name.get("name")?.as_str())? {
            "bool" => Kind::Bool,
            "int8" => Kind::I8,
            "int16" => Kind::I16,
            "int32" => Kind::I32,
            "int64" => Kind::I64,
            "uint8" => Kind::U8,
            "uint16" => Kind::U16,
            "uint32" => Kind::U32,
            "uint64" => Kind::U64,
            "float16" => return Some(Stored::Half { is_big }),
            "float32" => Kind::F32,
            "float64" => Kind::F64,
            "string" => return Some(Stored::Texts),
            "fixed_length_utf32" => return Some(Stored::Wide { letters: length(name)? / 4, is_big }),
            "null_terminated_bytes" => return Some(Stored::Narrow { letters: length(name)? }),
            _ => return None,
        };
        Some(Stored::Number { kind, is_big })
    }

    pub(super) fn kind(self) -> Kind {
        match self {
            Stored::Number { kind, .. } => kind,
            Stored::Half { .. } => Kind::F32,
            _ => Kind::Text,
        }
    }

    /// Bytes of a cell; `None` if cells have lengths of their own.
    fn size(self) -> Option<usize> {
        match self {
            Stored::Number { kind, .. } => Some(kind.size()),
            Stored::Half { .. } => Some(2),
            Stored::Wide { letters, .. } => letters.checked_mul(4),
            Stored::Narrow { letters } => Some(letters),
            Stored::Texts => None,
        }
    }
}

impl Array {
    /// Number of cells of a chunk; `None` if they cannot be counted.
    fn cells(&self) -> Option<usize> {
        self.chunks.iter().try_fold(1_usize, |cells, &n| cells.checked_mul(n))
    }

    /// Bytes of the cells of a chunk.
    pub(super) fn chunk_bytes(&self) -> Option<u64> {
        let size = self.stored.map_or(1, |stored| stored.size().unwrap_or(4));
        Some(self.cells()?.checked_mul(size.max(self.kind.map_or(1, |_| 1)))? as u64)
    }

    /// The file of a chunk.
    pub(super) fn key(&self, path: &str, index: &[usize]) -> String {
        let numbers: Vec<String> = index.iter().map(usize::to_string).collect();
        let numbers = match (numbers.is_empty(), self.prefix) {
            (true, "") => "0".to_string(),
            (true, _) => String::new(),
            (false, _) => numbers.join(&self.separator.to_string()),
        };
        let key: String = match self.prefix {
            "" => numbers,
            prefix if numbers.is_empty() => prefix.to_string(),
            prefix => format!("{prefix}{}{numbers}", self.separator),
        };
        if path.is_empty() { key } else { format!("{path}/{key}") }
    }

    /// The cells of a chunk.
    pub(super) fn decode(&self, mut bytes: Vec<u8>) -> Result<Cells, String> {
        let (Some(stored), Some(cells)) = (self.stored, self.cells()) else {
            return Err("its type is not known".to_string());
        };
        let wanted = match stored.size() {
            Some(size) => Some(cells.checked_mul(size).ok_or("it is too large")?),
            None => None,
        };
        for codec in self.codecs.iter().rev() {
            bytes = codec.unpack(bytes, wanted)?;
        }
        if wanted.is_some_and(|wanted| wanted != bytes.len()) {
            return Err(format!("it has {} bytes in place of {}", bytes.len(), wanted.unwrap_or(0)));
        }
        let found = match stored {
            Stored::Number { kind, is_big } => {
                swap(&mut bytes, kind.size(), is_big);
                Cells::Raw(kind, bytes)
            }
            Stored::Half { is_big } => {
                swap(&mut bytes, 2, is_big);
                let single =
                    |cell: &[u8]| single_of_half(u16::from_le_bytes([cell[0], cell[1]])).to_le_bytes();
                Cells::Raw(Kind::F32, bytes.chunks_exact(2).flat_map(single).collect())
            }
            Stored::Wide { letters, is_big } => {
                swap(&mut bytes, 4, is_big);
                let letter = |cell: &[u8]| {
                    let code = u32::from_le_bytes([cell[0], cell[1], cell[2], cell[3]]);
                    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
                };
                let text = |cell: &[u8]| -> String { cell.chunks_exact(4).map(letter).collect() };
                let texts = bytes.chunks_exact(4 * letters).map(text);
                Cells::Text(texts.map(|text| text.trim_end_matches('\0').to_string()).collect())
            }
            Stored::Narrow { letters } => {
                let text = |cell: &[u8]| String::from_utf8_lossy(cell).trim_end_matches('\0').to_string();
                Cells::Text(bytes.chunks_exact(letters).map(text).collect())
            }
            Stored::Texts => Cells::Text(unpack_texts(&bytes, cells)?),
        };
        let Some(order) = &self.order else { return Ok(found) };
        let shape: Vec<usize> = order.iter().map(|&axis| self.chunks[axis]).collect();
        let mut back = vec![0; order.len()];
        order.iter().enumerate().for_each(|(i, &axis)| back[axis] = i);
        Ok(found.transposed(&shape, &back))
    }

    /// Cells that were not written.
    pub(super) fn filled(&self, count: usize) -> Cells {
        match self.kind {
            Some(kind) if kind != Kind::Text => Cells::Raw(kind, cell_of(kind, &self.fill).repeat(count)),
            _ => Cells::Text(vec![self.fill.as_str().unwrap_or_default().to_string(); count]),
        }
    }
}

/// A cell of a value in JSON; zero if there is none.
pub(super) fn cell_of(kind: Kind, value: &Value) -> Vec<u8> {
    match (kind, value) {
        (Kind::I64, Value::Number(number)) if number.is_i64() => {
            number.as_i64().unwrap_or(0).to_le_bytes().to_vec()
        }
        (Kind::U64, Value::Number(number)) if number.is_u64() => {
            number.as_u64().unwrap_or(0).to_le_bytes().to_vec()
        }
        (_, Value::Number(number)) => kind.bytes_of(number.as_f64().unwrap_or(0.0)),
        (_, Value::Bool(value)) => kind.bytes_of(f64::from(u8::from(*value))),
        (_, Value::String(text)) => kind.bytes_of(match text.as_str() {
            "NaN" => f64::NAN,
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            _ => 0.0,
        }),
        _ => kind.bytes_of(0.0),
    }
}

fn swap(bytes: &mut [u8], size: usize, is_big: bool) {
    if is_big && size > 1 {
        bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
}

/// IEEE 754 binary16.
fn single_of_half(bits: u16) -> f32 {
    let (sign, exponent, fraction) = (bits >> 15, bits >> 10 & 31, f32::from(bits & 1023));
    let size = match exponent {
        0 => fraction * 2_f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        exponent => (1.0 + fraction / 1024.0) * 2_f32.powi(i32::from(exponent) - 15),
    };
    if sign == 1 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_what_they_say() {
        for (bits, value) in [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x0001, 5.960_464_5e-8),
            (0x7bff, 65504.0),
            (0xfc00, f32::NEG_INFINITY),
        ] {
            assert_eq!(single_of_half(bits), value);
        }
        assert!(single_of_half(0x7e00).is_nan());
    }

    #[test]
    fn types_are_read_in_both_spellings() {
        assert_eq!(Stored::of_numpy("<f8"), Stored::of_name(&"float64".into(), false));
        assert_eq!(Stored::of_numpy(">i4"), Stored::of_name(&"int32".into(), true));
        assert_eq!(Stored::of_numpy("<U3"), Some(Stored::Wide { letters: 3, is_big: false }));
        for other in ["<c16", "<M8[ns]", "<U0", "f8", ""] {
            assert_eq!(Stored::of_numpy(other), None, "{other}");
        }
        assert_eq!(Stored::of_name(&"complex64".into(), false), None);
    }
}
