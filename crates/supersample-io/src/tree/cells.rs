//! Cells of an array: bytes of one type, or texts.

use crate::frame::Column;

/// Type of the cells of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
    Bool,
    /// One byte of a text whose letters are a dimension.
    Char,
    Text,
}

impl Kind {
    /// Bytes of a cell; those of a short text.
    pub(crate) fn size(self) -> usize {
        match self {
            Kind::I8 | Kind::U8 | Kind::Bool | Kind::Char => 1,
            Kind::I16 | Kind::U16 => 2,
            Kind::I32 | Kind::U32 | Kind::F32 => 4,
            Kind::I64 | Kind::U64 | Kind::F64 => 8,
            Kind::Text => size_of::<String>(),
        }
    }

    pub(crate) fn is_number(self) -> bool {
        !matches!(self, Kind::Char | Kind::Text)
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Kind::F32 | Kind::F64)
    }

    /// The cell of these bytes, in little-endian order, as a number.
    pub(crate) fn number(self, cell: &[u8]) -> f64 {
        macro_rules! of {
            ($type:ty) => {
                <$type>::from_le_bytes(cell.try_into().expect("a cell has the bytes of its type")) as f64
            };
        }
        match self {
            Kind::I8 => of!(i8),
            Kind::I16 => of!(i16),
            Kind::I32 => of!(i32),
            Kind::I64 => of!(i64),
            Kind::U8 | Kind::Bool | Kind::Char => of!(u8),
            Kind::U16 => of!(u16),
            Kind::U32 => of!(u32),
            Kind::U64 => of!(u64),
            Kind::F32 => of!(f32),
            Kind::F64 => of!(f64),
            Kind::Text => f64::NAN,
        }
    }

    /// The bytes of a number, rounded to the type.
    pub(crate) fn bytes_of(self, number: f64) -> Vec<u8> {
        match self {
            Kind::I8 => (number as i8).to_le_bytes().to_vec(),
            Kind::I16 => (number as i16).to_le_bytes().to_vec(),
            Kind::I32 => (number as i32).to_le_bytes().to_vec(),
            Kind::I64 => (number as i64).to_le_bytes().to_vec(),
            Kind::U8 | Kind::Char => vec![number as u8],
            Kind::Bool => vec![u8::from(number != 0.0)],
            Kind::U16 => (number as u16).to_le_bytes().to_vec(),
            Kind::U32 => (number as u32).to_le_bytes().to_vec(),
            Kind::U64 => (number as u64).to_le_bytes().to_vec(),
            Kind::F32 => (number as f32).to_le_bytes().to_vec(),
            Kind::F64 => number.to_le_bytes().to_vec(),
            Kind::Text => Vec::new(),
        }
    }
}

/// Cells of one type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cells {
    /// In little-endian order.
    Raw(Kind, Vec<u8>),
    Text(Vec<String>),
}

impl Cells {
    pub(crate) fn integers(numbers: impl IntoIterator<Item = i64>) -> Cells {
        Cells::Raw(Kind::I64, numbers.into_iter().flat_map(i64::to_le_bytes).collect())
    }

    pub(crate) fn doubles(numbers: impl IntoIterator<Item = f64>) -> Cells {
        Cells::Raw(Kind::F64, numbers.into_iter().flat_map(f64::to_le_bytes).collect())
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Cells::Raw(kind, _) => *kind,
            Cells::Text(_) => Kind::Text,
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Cells::Raw(kind, bytes) => bytes.len() / kind.size(),
            Cells::Text(texts) => texts.len(),
        }
    }

    /// All cells as numbers; empty for text.
    pub(crate) fn numbers(&self) -> Vec<f64> {
        match self {
            Cells::Raw(kind, bytes) if kind.is_number() => {
                bytes.chunks_exact(kind.size()).map(|cell| kind.number(cell)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Runs of `width` cells, by their numbers.
    pub(crate) fn runs(&self, width: usize, runs: impl IntoIterator<Item = usize>) -> Cells {
        match self {
            Cells::Raw(kind, bytes) => {
                let step = width * kind.size();
                Cells::Raw(
                    *kind,
                    runs.into_iter().flat_map(|i| &bytes[i * step..][..step]).copied().collect(),
                )
            }
            Cells::Text(texts) => {
                Cells::Text(runs.into_iter().flat_map(|i| &texts[i * width..][..width]).cloned().collect())
            }
        }
    }

    /// The cells with the axes in another order: axis `order[i]` of this shape becomes axis `i`.
    pub(crate) fn transposed(self, shape: &[usize], order: &[usize]) -> Cells {
        if order.iter().enumerate().all(|(i, &axis)| i == axis) {
            return self;
        }
        let mut strides = vec![1; shape.len()];
        (1..shape.len()).rev().for_each(|i| strides[i - 1] = strides[i] * shape[i]);
        let mut index = vec![0; shape.len()];
        let places = (0..self.len()).map(|_| {
            let place = order.iter().zip(&index).map(|(&axis, &i)| strides[axis] * i).sum();
            for at in (0..index.len()).rev() {
                index[at] += 1;
                if index[at] < shape[order[at]] {
                    break;
                }
                index[at] = 0;
            }
            place
        });
        self.runs(1, places)
    }

    /// Appends cells of the same type.
    pub(crate) fn extend(&mut self, other: Cells) {
        match (self, other) {
            (Cells::Raw(_, bytes), Cells::Raw(_, more)) => bytes.extend(more),
            (Cells::Text(texts), Cells::Text(more)) => texts.extend(more),
            _ => {}
        }
    }

    /// The cells as a column of a table; `decode` gives the number of a cell, or `None` for a missing one.
    pub(crate) fn column(&self, decode: Option<&dyn Fn(f64) -> Option<f64>>) -> Column {
        let numbers = || self.numbers().into_iter();
        match (self, decode) {
            (Cells::Text(texts), _) => texts.iter().cloned().map(Some).collect::<Vec<_>>().into(),
            (_, Some(decode)) => numbers().map(decode).collect::<Vec<_>>().into(),
            (Cells::Raw(Kind::F32, _), _) => numbers().map(|x| Some(x as f32)).collect::<Vec<_>>().into(),
            (Cells::Raw(Kind::Bool, _), _) => numbers().map(|x| Some(x != 0.0)).collect::<Vec<_>>().into(),
            (Cells::Raw(Kind::F64 | Kind::U64, _), _) => Column::doubles(numbers()),
            (Cells::Raw(Kind::Char, bytes), _) => {
                bytes.iter().map(|&byte| Some(char::from(byte).to_string())).collect::<Vec<_>>().into()
            }
            (Cells::Raw(Kind::I64, bytes), _) => {
                let cell = |cell: &[u8]| i64::from_le_bytes(cell.try_into().expect("eight bytes"));
                bytes.chunks_exact(8).map(|bytes| Some(cell(bytes))).collect::<Vec<_>>().into()
            }
            _ => numbers().map(|x| Some(x as i64)).collect::<Vec<_>>().into(),
        }
    }
}
