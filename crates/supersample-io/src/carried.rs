//! Cells of Arrow types that have no column of their own: carried from file to file as they are, or as text.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::temporal_conversions::MILLISECONDS_IN_DAY;
use arrow_array::types::{
    ArrowTimestampType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType,
    Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, UInt64Array};
use arrow_schema::{DataType, FieldRef, TimeUnit};
use arrow_select::concat::concat;
use arrow_select::take::take;
use serde_json::{Map, Value};

use crate::frame::Column;
use crate::source::Holds;

/// Cells of a type of Arrow or Parquet that has no column of its own here.
#[derive(Debug, Clone)]
pub struct Carried {
    array: ArrayRef,
    field: FieldRef,
}

impl PartialEq for Carried {
    fn eq(&self, other: &Carried) -> bool {
        self.array.as_ref() == other.array.as_ref()
    }
}

/// An array as a column: of our own where nothing is lost, else carried.
pub(crate) fn column(array: &ArrayRef, field: &FieldRef) -> Column {
    match array.data_type() {
        _ if !field.metadata().is_empty() => {}
        DataType::Float64 => return Column::Double(array.as_primitive::<Float64Type>().iter().collect()),
        DataType::Float32 => return Column::Single(array.as_primitive::<Float32Type>().iter().collect()),
        DataType::Int64 => return Column::Integer(array.as_primitive::<Int64Type>().iter().collect()),
        DataType::Boolean => return Column::Boolean(array.as_boolean().iter().collect()),
        DataType::Utf8 => {
            let texts = array.as_string::<i32>().iter();
            return Column::Text(texts.map(|cell| cell.map(str::to_string)).collect());
        }
        _ => {}
    }
    Column::Other(Carried { array: array.clone(), field: field.clone() })
}

impl Carried {
    pub(crate) fn array(&self) -> &ArrayRef {
        &self.array
    }

    pub(crate) fn field(&self) -> &FieldRef {
        &self.field
    }

    pub(crate) fn len(&self) -> usize {
        self.array.len()
    }

    pub(crate) fn pick(&self, positions: &[usize]) -> Carried {
        let positions: UInt64Array = positions.iter().map(|&at| Some(at as u64)).collect();
        let array = take(&self.array, &positions, None).expect("the positions are those of cells");
        Carried { array, field: self.field.clone() }
    }

    /// Whether the cells of the other can stand behind these.
    pub(crate) fn joins(&self, other: &Carried) -> bool {
        self.array.data_type() == other.array.data_type() && concat(&[&self.array, &other.array]).is_ok()
    }

    pub(crate) fn joined(&self, other: &Carried) -> Carried {
        let array = concat(&[&self.array, &other.array]).expect("asked before");
        Carried { array, field: self.field.clone() }
    }

    pub(crate) fn number(&self, at: usize) -> Option<f64> {
        numbers(&self.array.slice(at, 1))?[0]
    }

    pub(crate) fn text(&self, at: usize) -> Option<String> {
        match value(&self.array, at)? {
            Value::Null => None,
            Value::String(text) => Some(text),
            other => Some(other.to_string()),
        }
    }

    /// How the cells go into a format of numbers and text.
    pub(crate) fn held_as_text(&self) -> Holds {
        let kind = self.array.data_type();
        match plain(kind) {
            _ if is_number(kind) => Holds::AsNumbers,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => Holds::AsWords,
            _ if has_text(kind) => Holds::AsText,
            _ => Holds::Not,
        }
    }
}

/// The type of the values of a dictionary, or the type itself.
fn plain(kind: &DataType) -> &DataType {
    match kind {
        DataType::Dictionary(_, values) => values,
        kind => kind,
    }
}

/// Whether cells of this type are numbers to choose by.
pub(crate) fn is_number(kind: &DataType) -> bool {
    let kind = plain(kind);
    kind.is_numeric() || *kind == DataType::Boolean
}

/// What cells of this type are, in a word or two.
pub(crate) fn kind_in_words(kind: &DataType) -> &'static str {
    match plain(kind) {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "text",
        DataType::Timestamp(..) => "timestamps",
        DataType::Date32 | DataType::Date64 => "dates",
        DataType::Time32(_) | DataType::Time64(_) => "times",
        DataType::Duration(_) | DataType::Interval(_) => "durations",
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            "bytes"
        }
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::FixedSizeList(..)
        | DataType::ListView(_)
        | DataType::LargeListView(_) => "lists",
        DataType::Struct(_) => "records",
        DataType::Map(..) => "maps",
        DataType::Null => "nothing",
        kind if is_number(kind) => "numbers",
        _ => "cells of mixed types",
    }
}

fn has_text(kind: &DataType) -> bool {
    match plain(kind) {
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_)
        | DataType::Interval(_)
        | DataType::Union(..)
        | DataType::RunEndEncoded(..)
        | DataType::ListView(_)
        | DataType::LargeListView(_) => false,
        DataType::List(inner) | DataType::LargeList(inner) | DataType::FixedSizeList(inner, _) => {
            has_text(inner.data_type())
        }
        DataType::Struct(fields) => fields.iter().all(|field| has_text(field.data_type())),
        DataType::Map(entries, _) => has_text(entries.data_type()),
        _ => true,
    }
}

/// All cells as numbers; `None` where the type has none.
pub(crate) fn numbers(array: &ArrayRef) -> Option<Vec<Option<f64>>> {
    macro_rules! cells {
        ($($kind:pat => $primitive:ty, $convert:expr;)*) => {
            match array.data_type() {
                $($kind => array.as_primitive::<$primitive>().iter().map(|cell| cell.map($convert)).collect(),)*
                DataType::Boolean => {
                    array.as_boolean().iter().map(|cell| cell.map(|value| f64::from(u8::from(value)))).collect()
                }
                // The digits are read rather than the whole number divided: 0.1 is then what it is elsewhere.
                DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..) => {
                    (0..array.len()).map(|at| scalar_text(array, at)?.parse().ok()).collect()
                }
                DataType::Dictionary(..) => {
                    let dictionary = array.as_any_dictionary();
                    return numbers(&take(dictionary.values(), dictionary.keys(), None).ok()?);
                }
                _ => return None,
            }
        };
    }
    Some(cells! {
        DataType::Float64 => Float64Type, |value| value;
        DataType::Float32 => Float32Type, f64::from;
        DataType::Float16 => Float16Type, f64::from;
        DataType::Int64 => Int64Type, |value| value as f64;
        DataType::Int32 => Int32Type, f64::from;
        DataType::Int16 => Int16Type, f64::from;
        DataType::Int8 => Int8Type, f64::from;
        DataType::UInt64 => UInt64Type, |value| value as f64;
        DataType::UInt32 => UInt32Type, f64::from;
        DataType::UInt16 => UInt16Type, f64::from;
        DataType::UInt8 => UInt8Type, f64::from;
    })
}

/// One cell as JSON: numbers and truth values as such, lists and records as theirs, anything else as text. `None` for what
/// has no text.
fn value(array: &ArrayRef, at: usize) -> Option<Value> {
    if array.is_null(at) {
        return Some(Value::Null);
    }
    let items = |items: ArrayRef| (0..items.len()).map(|i| value(&items, i)).collect::<Option<Vec<_>>>();
    Some(match array.data_type() {
        DataType::Null => Value::Null,
        DataType::Boolean => Value::Bool(array.as_boolean().value(at)),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(at).into(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(at).into(),
        DataType::Int16 => array.as_primitive::<Int16Type>().value(at).into(),
        DataType::Int8 => array.as_primitive::<Int8Type>().value(at).into(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(at).into(),
        DataType::UInt32 => array.as_primitive::<UInt32Type>().value(at).into(),
        DataType::UInt16 => array.as_primitive::<UInt16Type>().value(at).into(),
        DataType::UInt8 => array.as_primitive::<UInt8Type>().value(at).into(),
        DataType::Float64 | DataType::Float32 | DataType::Float16 => {
            let text = scalar_text(array, at)?;
            let number = text.parse().ok().and_then(serde_json::Number::from_f64);
            number.map_or(Value::String(text), Value::Number)
        }
        DataType::List(_) => Value::Array(items(array.as_list::<i32>().value(at))?),
        DataType::LargeList(_) => Value::Array(items(array.as_list::<i64>().value(at))?),
        DataType::FixedSizeList(..) => Value::Array(items(array.as_fixed_size_list().value(at))?),
        DataType::Struct(fields) => {
            let columns = fields.iter().zip(array.as_struct().columns());
            let pairs = columns.map(|(field, column)| Some((field.name().clone(), value(column, at)?)));
            Value::Object(pairs.collect::<Option<Map<_, _>>>()?)
        }
        DataType::Map(..) => {
            let entries = array.as_map().value(at);
            let (keys, values) = (items(entries.column(0).clone())?, items(entries.column(1).clone())?);
            let key = |key: Value| key.as_str().map_or_else(|| key.to_string(), str::to_string);
            Value::Object(keys.into_iter().map(key).zip(values).collect())
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            value(&take(dictionary.values(), dictionary.keys(), None).ok()?, at)?
        }
        _ => Value::String(scalar_text(array, at)?),
    })
}

/// A cell of a type that JSON does not have, in ISO 8601 where that has a word for it.
fn scalar_text(array: &ArrayRef, at: usize) -> Option<String> {
    fn stamp<T: ArrowTimestampType>(array: &ArrayRef, at: usize, zone: Option<&Arc<str>>) -> Option<String> {
        // All that is stored is UTC; the zone is only how it is shown elsewhere.
        let time = array.as_primitive::<T>().value_as_datetime(at)?;
        Some(format!("{time:?}{}", if zone.is_some() { "Z" } else { "" }))
    }
    macro_rules! shown {
        ($kind:ty, $how:ident) => {
            array.as_primitive::<$kind>().$how(at).map(|value| format!("{value:?}"))
        };
    }
    let seconds = |count: i64, per_second: i64| {
        let digits = per_second.ilog10() as usize;
        let (sign, count) = (if count < 0 { "-" } else { "" }, count.unsigned_abs());
        let per_second = per_second.unsigned_abs();
        let mut text = format!("{sign}PT{}", count / per_second);
        if !count.is_multiple_of(per_second) {
            write!(text, ".{:0digits$}", count % per_second).expect("a string takes everything");
        }
        text + "S"
    };
    match array.data_type() {
        DataType::Float64 => Some(format!("{:?}", array.as_primitive::<Float64Type>().value(at))),
        DataType::Float32 => Some(format!("{:?}", array.as_primitive::<Float32Type>().value(at))),
        DataType::Float16 => Some(array.as_primitive::<Float16Type>().value(at).to_string()),
        DataType::Utf8 => Some(array.as_string::<i32>().value(at).to_string()),
        DataType::LargeUtf8 => Some(array.as_string::<i64>().value(at).to_string()),
        DataType::Utf8View => Some(array.as_string_view().value(at).to_string()),
        DataType::Decimal32(..) => Some(array.as_primitive::<Decimal32Type>().value_as_string(at)),
        DataType::Decimal64(..) => Some(array.as_primitive::<Decimal64Type>().value_as_string(at)),
        DataType::Decimal128(..) => Some(array.as_primitive::<Decimal128Type>().value_as_string(at)),
        DataType::Decimal256(..) => Some(array.as_primitive::<Decimal256Type>().value_as_string(at)),
        DataType::Date32 => shown!(Date32Type, value_as_date),
        DataType::Date64 => match array.as_primitive::<Date64Type>().value(at) % MILLISECONDS_IN_DAY {
            0 => shown!(Date64Type, value_as_date),
            _ => shown!(Date64Type, value_as_datetime),
        },
        DataType::Time32(TimeUnit::Second) => shown!(Time32SecondType, value_as_time),
        DataType::Time32(_) => shown!(Time32MillisecondType, value_as_time),
        DataType::Time64(TimeUnit::Microsecond) => shown!(Time64MicrosecondType, value_as_time),
        DataType::Time64(_) => shown!(Time64NanosecondType, value_as_time),
        DataType::Timestamp(unit, zone) => match unit {
            TimeUnit::Second => stamp::<TimestampSecondType>(array, at, zone.as_ref()),
            TimeUnit::Millisecond => stamp::<TimestampMillisecondType>(array, at, zone.as_ref()),
            TimeUnit::Microsecond => stamp::<TimestampMicrosecondType>(array, at, zone.as_ref()),
            TimeUnit::Nanosecond => stamp::<TimestampNanosecondType>(array, at, zone.as_ref()),
        },
        DataType::Duration(unit) => Some(match unit {
            TimeUnit::Second => seconds(array.as_primitive::<DurationSecondType>().value(at), 1),
            TimeUnit::Millisecond => seconds(array.as_primitive::<DurationMillisecondType>().value(at), 1000),
            TimeUnit::Microsecond => {
                seconds(array.as_primitive::<DurationMicrosecondType>().value(at), 1_000_000)
            }
            TimeUnit::Nanosecond => {
                seconds(array.as_primitive::<DurationNanosecondType>().value(at), 1_000_000_000)
            }
        }),
        _ => None,
    }
}
