//! Apache Arrow IPC, files and streams: flat columns of numbers, truth values and text, dictionaries resolved.

mod check;

use std::io::{BufReader, Write};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, Float32Array, Float64Array, Int64Array, RecordBatch,
    StringArray,
};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};

use crate::draws::{Part, Source};
use crate::error::cell;
use crate::frame::{Column, Frame};
use crate::origin::Origin;
use crate::{Error, Place, Reading, Result};

fn malformed(error: &ArrowError) -> Error {
    Error::Malformed { format: "Arrow IPC", reason: error.to_string() }
}

/// An Arrow file after its first pass.
#[derive(Debug)]
pub(crate) struct ArrowSource {
    origin: Origin,
}

type Batches = Box<dyn Iterator<Item = Result<RecordBatch>>>;

/// The batches of a file or stream one after the other, and the names of their columns.
fn batches(origin: &Origin) -> Result<(Vec<String>, Batches)> {
    check::check(origin)?;
    let file = BufReader::new(origin.file()?);
    let names = |schema: &Schema| schema.fields().iter().map(|field| field.name().clone()).collect();
    if origin.start(6)? == b"ARROW1" {
        let reader = FileReader::try_new(file, None).map_err(|error| malformed(&error))?;
        return Ok((
            names(&reader.schema()),
            Box::new(reader.map(|batch| batch.map_err(|error| malformed(&error)))),
        ));
    }
    let reader = StreamReader::try_new(file, None).map_err(|error| malformed(&error))?;
    Ok((names(&reader.schema()), Box::new(reader.map(|batch| batch.map_err(|error| malformed(&error))))))
}

pub(crate) fn read(origin: Origin, reading: &Reading<'_>) -> Result<Part> {
    let (names, batches) = batches(&origin)?;
    if names.is_empty() {
        return Err(Error::NoRows);
    }
    let parameters = reading.parameters(&names)?;
    let weight = reading.weight_position(&names)?;
    let dim = parameters.len();
    let (mut values, mut weights) = (Vec::new(), weight.map(|_| Vec::new()));
    let mut rows = 0;
    for batch in batches {
        let batch = batch?;
        values.resize((rows + batch.num_rows()) * dim, 0.0);
        let wanted =
            parameters.iter().copied().map(|column| (column, false)).chain(weight.map(|w| (w, true)));
        for (slot, (position, is_weight)) in wanted.enumerate() {
            let column = column(batch.column(position), &names[position])?;
            for row in 0..batch.num_rows() {
                let place = || Place { row: rows + row + 1, line: None, column: names[position].clone() };
                let value = cell(&column, row, place, is_weight)?;
                match (&mut weights, is_weight) {
                    (Some(weights), true) => weights.push(value),
                    _ => values[(rows + row) * dim + slot] = value,
                }
            }
        }
        rows += batch.num_rows();
    }
    if rows == 0 {
        return Err(Error::NoRows);
    }
    Ok(Part::plain(names, parameters, values, weights, Source::Arrow(ArrowSource { origin })))
}

/// An array as one of our columns.
fn column(array: &ArrayRef, name: &str) -> Result<Column> {
    fn numbers<T: ArrowPrimitiveType, U>(
        array: &ArrayRef,
        convert: impl Fn(T::Native) -> U,
    ) -> Vec<Option<U>> {
        array.as_primitive::<T>().iter().map(|cell| cell.map(&convert)).collect()
    }
    fn texts<'a>(cells: impl Iterator<Item = Option<&'a str>>) -> Column {
        Column::Text(cells.map(|cell| cell.map(str::to_string)).collect())
    }
    Ok(match array.data_type() {
        DataType::Float64 => Column::Double(numbers::<Float64Type, _>(array, |v| v)),
        DataType::Float32 => Column::Single(numbers::<Float32Type, _>(array, |v| v)),
        DataType::Float16 => Column::Single(numbers::<Float16Type, _>(array, |v| v.to_f32())),
        DataType::Int64 => Column::Integer(numbers::<Int64Type, _>(array, |v| v)),
        DataType::Int32 => Column::Integer(numbers::<Int32Type, _>(array, i64::from)),
        DataType::Int16 => Column::Integer(numbers::<Int16Type, _>(array, i64::from)),
        DataType::Int8 => Column::Integer(numbers::<Int8Type, _>(array, i64::from)),
        DataType::UInt64 => Column::Double(numbers::<UInt64Type, _>(array, |v| v as f64)),
        DataType::UInt32 => Column::Integer(numbers::<UInt32Type, _>(array, i64::from)),
        DataType::UInt16 => Column::Integer(numbers::<UInt16Type, _>(array, i64::from)),
        DataType::UInt8 => Column::Integer(numbers::<UInt8Type, _>(array, i64::from)),
        DataType::Boolean => Column::Boolean(array.as_boolean().iter().collect()),
        DataType::Utf8 => texts(array.as_string::<i32>().iter()),
        DataType::LargeUtf8 => texts(array.as_string::<i64>().iter()),
        DataType::Utf8View => texts(array.as_string_view().iter()),
        DataType::Null => Column::Text(vec![None; array.len()]),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let values = column(dictionary.values(), name)?;
            // Where the dictionary is empty every key is missing.
            let keys = if values.is_empty() { vec![0; array.len()] } else { dictionary.normalized_keys() };
            let present = (0..array.len()).map(|i| !array.is_null(i));
            match values {
                Column::Text(words) => {
                    let word =
                        |(key, present): (usize, bool)| if present { words[key].clone() } else { None };
                    Column::Text(keys.into_iter().zip(present).map(word).collect())
                }
                numbers => {
                    let number =
                        |(key, present): (usize, bool)| if present { numbers.number(key) } else { None };
                    Column::Double(keys.into_iter().zip(present).map(number).collect())
                }
            }
        }
        other => return Err(Error::UnknownType { column: name.to_string(), kind: other.to_string() }),
    })
}

impl ArrowSource {
    /// All cells of one column.
    pub(crate) fn column(&self, name: &str, position: usize) -> Result<Column> {
        let mut joined = Frame::default();
        for batch in batches(&self.origin)?.1 {
            let cells = column(batch?.column(position), name)?;
            joined.append(Frame { columns: vec![(name.to_string(), cells)] });
        }
        Ok(joined.columns.pop().ok_or(Error::NoRows)?.1)
    }

    pub(crate) fn frame(&self, rows: &[usize]) -> Result<Frame> {
        let (names, batches) = batches(&self.origin)?;
        let mut joined = Frame::default();
        let (mut first, mut order) = (0, Vec::new());
        for batch in batches {
            let batch = batch?;
            let range = first..first + batch.num_rows();
            let here: Vec<usize> = (0..rows.len()).filter(|&i| range.contains(&rows[i])).collect();
            if !here.is_empty() {
                let local: Vec<usize> = here.iter().map(|&i| rows[i] - first).collect();
                let pick = |(array, name): (&ArrayRef, &String)| {
                    Ok((name.clone(), column(array, name)?.pick(&local)))
                };
                let columns = batch.columns().iter().zip(&names).map(pick).collect::<Result<_>>()?;
                joined.append(Frame { columns });
                order.extend(here);
            }
            first += batch.num_rows();
        }
        let mut positions = vec![0; rows.len()];
        order.iter().enumerate().for_each(|(at, &i)| positions[i] = at);
        joined.columns.iter_mut().for_each(|(_, column)| *column = column.pick(&positions));
        Ok(joined)
    }
}

/// One batch, in the file format.
pub(crate) fn write_frame(frame: &Frame, out: &mut dyn Write) -> Result<()> {
    let mut bytes = Vec::new();
    write_bytes(frame, &mut bytes).map_err(|error| malformed(&error))?;
    Ok(out.write_all(&bytes)?)
}

fn write_bytes(frame: &Frame, bytes: &mut Vec<u8>) -> std::result::Result<(), ArrowError> {
    let array = |column: &Column| -> ArrayRef {
        match column {
            Column::Double(cells) => Arc::new(Float64Array::from(cells.clone())),
            Column::Single(cells) => Arc::new(Float32Array::from(cells.clone())),
            Column::Integer(cells) => Arc::new(Int64Array::from(cells.clone())),
            Column::Boolean(cells) => Arc::new(BooleanArray::from(cells.clone())),
            Column::Text(cells) => Arc::new(StringArray::from(cells.clone())),
        }
    };
    let arrays: Vec<ArrayRef> = frame.columns.iter().map(|(_, column)| array(column)).collect();
    let fields: Vec<Field> = frame
        .columns
        .iter()
        .zip(&arrays)
        .map(|((name, _), array)| Field::new(name, array.data_type().clone(), true))
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let mut writer = FileWriter::try_new(bytes, &schema)?;
    writer.write(&RecordBatch::try_new(schema.clone(), arrays)?)?;
    writer.finish()
}
