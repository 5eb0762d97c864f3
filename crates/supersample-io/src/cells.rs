//! Cells of Arrow arrays as numbers and as text.

use std::fmt::Write as _;

use arrow_array::cast::AsArray;
use arrow_array::temporal_conversions::{
    MILLISECONDS_IN_DAY, date32_to_datetime, date64_to_datetime, time32ms_to_time, time32s_to_time,
    time64ns_to_time, time64us_to_time, timestamp_ms_to_datetime, timestamp_ns_to_datetime,
    timestamp_s_to_datetime, timestamp_us_to_datetime,
};
use arrow_array::types::{
    Date32Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type, Float32Type,
    Float64Type, Time32MillisecondType, Time32SecondType,
};
use arrow_array::{Array, ArrayRef, downcast_integer_array};
use arrow_schema::{DataType, TimeUnit};
use arrow_select::take::take;

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

/// Whether cells of this type are text.
pub(crate) fn is_text(kind: &DataType) -> bool {
    matches!(plain(kind), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// Whether cells of this type are times, which have a text in ISO 8601.
pub(crate) fn is_time(kind: &DataType) -> bool {
    let kind = plain(kind);
    kind.is_temporal() && !matches!(kind, DataType::Interval(_))
}

/// Description of cells of this type.
pub(crate) fn kind_in_words(kind: &DataType) -> &'static str {
    match plain(kind) {
        kind if is_number(kind) => "numbers",
        kind if is_text(kind) => "text",
        DataType::Timestamp(..) => "timestamps",
        DataType::Date32 | DataType::Date64 => "dates",
        DataType::Time32(_) | DataType::Time64(_) => "times",
        DataType::Duration(_) | DataType::Interval(_) => "durations",
        DataType::Null => "nothing",
        DataType::Struct(_) => "records",
        DataType::Map(..) => "maps",
        kind if kind.is_list() => "lists",
        kind if kind.is_binary() || matches!(kind, DataType::FixedSizeBinary(_)) => "bytes",
        _ => "cells of mixed types",
    }
}

/// The values of a dictionary, cell by cell.
fn unpacked(array: &ArrayRef) -> Option<ArrayRef> {
    let dictionary = array.as_any_dictionary();
    take(dictionary.values(), dictionary.keys(), None).ok()
}

/// All cells as numbers; `None` if the type has none.
pub(crate) fn numbers(array: &ArrayRef) -> Option<Vec<Option<f64>>> {
    Some(downcast_integer_array! {
        array => array.iter().map(|cell| cell.map(|value| value as f64)).collect(),
        DataType::Float64 => array.as_primitive::<Float64Type>().iter().collect(),
        DataType::Float32 => array.as_primitive::<Float32Type>().iter().map(|cell| cell.map(f64::from)).collect(),
        DataType::Float16 => array.as_primitive::<Float16Type>().iter().map(|cell| cell.map(f64::from)).collect(),
        DataType::Boolean => array.as_boolean().iter().map(|cell| cell.map(|value| f64::from(u8::from(value)))).collect(),
        DataType::Dictionary(_, _) => return numbers(&unpacked(array)?),
        // The digits are read rather than the whole number divided: 0.1 is then what it is elsewhere.
        kind if is_number(kind) => (0..array.len()).map(|at| text(array, at)?.parse().ok()).collect(),
        _ => return None,
    })
}

/// One cell as text: every digit of a number, ISO 8601 for times. `None` if it is missing, or its type has no text.
pub(crate) fn text(array: &ArrayRef, at: usize) -> Option<String> {
    if array.is_null(at) {
        return None;
    }
    // Times are whole numbers of 64 bits.
    let whole = || array.to_data().buffer::<i64>(0)[at];
    downcast_integer_array! {
        array => Some(array.value(at).to_string()),
        // Debug is short for tiny numbers, which Display is not.
        DataType::Float64 => Some(format!("{:?}", array.as_primitive::<Float64Type>().value(at))),
        DataType::Float32 => Some(format!("{:?}", array.as_primitive::<Float32Type>().value(at))),
        DataType::Float16 => Some(array.as_primitive::<Float16Type>().value(at).to_string()),
        DataType::Boolean => Some(array.as_boolean().value(at).to_string()),
        DataType::Utf8 => Some(array.as_string::<i32>().value(at).to_string()),
        DataType::LargeUtf8 => Some(array.as_string::<i64>().value(at).to_string()),
        DataType::Utf8View => Some(array.as_string_view().value(at).to_string()),
        DataType::Decimal32(_, _) => Some(array.as_primitive::<Decimal32Type>().value_as_string(at)),
        DataType::Decimal64(_, _) => Some(array.as_primitive::<Decimal64Type>().value_as_string(at)),
        DataType::Decimal128(_, _) => Some(array.as_primitive::<Decimal128Type>().value_as_string(at)),
        DataType::Decimal256(_, _) => Some(array.as_primitive::<Decimal256Type>().value_as_string(at)),
        DataType::Dictionary(_, _) => text(&unpacked(&array.slice(at, 1))?, 0),
        DataType::Date32 => {
            date32_to_datetime(array.as_primitive::<Date32Type>().value(at)).map(|time| format!("{:?}", time.date()))
        }
        DataType::Date64 => date64_to_datetime(whole()).map(|time| match whole() % MILLISECONDS_IN_DAY {
            0 => format!("{:?}", time.date()),
            _ => format!("{time:?}"),
        }),
        DataType::Time32(unit) => match unit {
            TimeUnit::Second => time32s_to_time(array.as_primitive::<Time32SecondType>().value(at)),
            _ => time32ms_to_time(array.as_primitive::<Time32MillisecondType>().value(at)),
        }
        .map(|time| format!("{time:?}")),
        DataType::Time64(unit) => match unit {
            TimeUnit::Microsecond => time64us_to_time(whole()),
            _ => time64ns_to_time(whole()),
        }
        .map(|time| format!("{time:?}")),
        DataType::Timestamp(unit, zone) => match unit {
            TimeUnit::Second => timestamp_s_to_datetime(whole()),
            TimeUnit::Millisecond => timestamp_ms_to_datetime(whole()),
            TimeUnit::Microsecond => timestamp_us_to_datetime(whole()),
            TimeUnit::Nanosecond => timestamp_ns_to_datetime(whole()),
        }
        // All that is stored is UTC; the zone is only how it is shown elsewhere.
        .map(|time| format!("{time:?}{}", if zone.is_some() { "Z" } else { "" })),
        DataType::Duration(unit) => Some(seconds(whole(), *unit)),
        _ => None,
    }
}

/// A duration in seconds, as ISO 8601 writes it.
fn seconds(count: i64, unit: TimeUnit) -> String {
    let digits = match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    };
    let (sign, count, per_second) =
        (if count < 0 { "-" } else { "" }, count.unsigned_abs(), 10_u64.pow(digits));
    let mut text = format!("{sign}PT{}", count / per_second);
    if !count.is_multiple_of(per_second) {
        let _ = write!(text, ".{:0width$}", count % per_second, width = digits as usize);
    }
    text + "S"
}
