//! Tables of Arrow arrays, for Arrow and Parquet files: their numbers, and chosen rows.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema};

use crate::cells::{is_number, kind_in_words, numbers};
use crate::frame::{Frame, Gathered};
use crate::reading::{Choice, Missing, cell};
use crate::source::{ExpectedSize, Sink};
use crate::{Error, Place, Reading, Result, Use};

/// The key under which pandas says which columns are its index.
const PANDAS: &str = "pandas";

/// Rows of a batch that are turned into numbers at a time.
const ROWS_AT_ONCE: usize = 8192;

/// Iterator over the batches of a file.
pub(crate) type Batches = Box<dyn Iterator<Item = Result<RecordBatch>>>;

/// Which columns of a table are read for what.
pub(crate) fn choose(schema: &Schema, reading: &Reading<'_>) -> Result<Choice> {
    let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    if names.is_empty() {
        return Err(Error::NoRows);
    }
    let indices = pandas_indices(&schema.metadata().clone().into());
    let found: Vec<Option<Use>> = schema
        .fields()
        .iter()
        .map(|field| match kind_in_words(field.data_type()) {
            _ if indices.contains(field.name()) => Some(Use::Index),
            _ if is_number(field.data_type()) => None,
            "text" => Some(Use::Text),
            "nothing" => Some(Use::Empty),
            kind => Some(Use::NotNumbers(kind.to_string())),
        })
        .collect();
    let choice = reading.choose(names, &found)?;
    for (position, _) in choice.wanted() {
        let kind = schema.field(position).data_type();
        if !is_number(kind) && *kind != DataType::Null {
            let (column, kind) = (choice.names[position].clone(), kind_in_words(kind).to_string());
            return Err(Error::NotNumbers { column, kind });
        }
    }
    Ok(choice)
}

/// Estimated size of a table.
pub(crate) fn expected(rows: usize, schema: &Schema, reading: &Reading<'_>) -> Result<ExpectedSize> {
    let columns = choose(schema, reading)?.columns;
    let is_single =
        |&column: &usize| matches!(schema.field(column).data_type(), DataType::Float32 | DataType::Float16);
    Ok(ExpectedSize {
        rows,
        columns: columns.len(),
        is_single: columns.iter().all(is_single),
        block_bytes: 0,
    })
}

/// The columns that pandas' own remark names as the index.
fn pandas_indices(remarks: &HashMap<String, String>) -> HashSet<String> {
    let remark = remarks.get(PANDAS).and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok());
    let indices = remark.as_ref().and_then(|remark| remark.get("index_columns")?.as_array());
    indices.into_iter().flatten().filter_map(|index| index.as_str()).map(str::to_string).collect()
}

/// Passes the wanted columns of the batches to the sink, and returns the number of rows. `place_of` gives the position
/// of a file's column in a batch, and `all` the number of rows in the file, for the progress.
pub(crate) fn read(
    batches: Batches,
    choice: &Choice,
    missing: Missing,
    place_of: impl Fn(usize) -> usize,
    all: u64,
    sink: &mut dyn Sink,
) -> Result<usize> {
    sink.begin(choice)?;
    let dim = choice.columns.len();
    let (mut values, mut weights) = (Vec::new(), Vec::new());
    let mut rows = 0;
    for batch in batches {
        let batch = batch?;
        // A batch can be as large as the file; its rows would be a second copy of it.
        for from in (0..batch.num_rows()).step_by(ROWS_AT_ONCE) {
            let block = batch.slice(from, ROWS_AT_ONCE.min(batch.num_rows() - from));
            // Memory is allocated for rows that exist, not for the number that the file claims.
            values.resize(block.num_rows() * dim, 0.0);
            weights.clear();
            for (slot, (position, is_weight)) in choice.wanted().enumerate() {
                let name = &choice.names[position];
                let array = block.column(place_of(position));
                if !is_weight && fill_from_floats(&mut values[slot..], dim, array) {
                    continue;
                }
                // Types without numbers have been refused; what is left without any is a column of nothing.
                let cells = numbers(array).unwrap_or_else(|| vec![None; array.len()]);
                for (row, value) in cells.into_iter().enumerate() {
                    let place = || Place { row: rows + row + 1, line: None, column: name.clone() };
                    let value = cell(value, missing, is_weight, place)?;
                    match is_weight {
                        true => weights.push(value),
                        false => values[row * dim + slot] = value,
                    }
                }
            }
            rows += block.num_rows();
            sink.take(&values, &weights, (rows as f64 / all.max(1) as f64).min(1.0))?;
        }
    }
    match rows {
        0 => Err(Error::NoRows),
        rows => Ok(rows),
    }
}

/// Writes a column of floats into every `dim`-th place, if all of them are present and finite: nearly always, and much
/// faster than one by one. If it returns false, the output is undefined.
fn fill_from_floats(places: &mut [f64], dim: usize, array: &ArrayRef) -> bool {
    fn fill(places: &mut [f64], dim: usize, cells: impl Iterator<Item = f64>) -> bool {
        let mut are_finite = true;
        for (place, value) in places.iter_mut().step_by(dim).zip(cells) {
            *place = value;
            are_finite &= value.is_finite();
        }
        are_finite
    }
    if array.null_count() > 0 {
        return false;
    }
    match array.data_type() {
        DataType::Float64 => fill(places, dim, array.as_primitive::<Float64Type>().values().iter().copied()),
        DataType::Float32 => fill(
            places,
            dim,
            array.as_primitive::<Float32Type>().values().iter().map(|&value| f64::from(value)),
        ),
        _ => false,
    }
}

/// The chosen rows of the batches, in the order given.
pub(crate) fn frame(batches: Batches, rows: &[usize]) -> Result<Frame> {
    let (mut gathered, mut first) = (Gathered::new(rows), 0);
    for batch in batches {
        let batch = batch?;
        let range = first..first + batch.num_rows();
        first = range.end;
        gathered.add(range, |places| Ok(Frame::of(&batch).pick(places)))?;
    }
    gathered.finish()
}

/// The columns as one batch, with these remarks.
pub(crate) fn batch(
    frame: &Frame,
    remarks: &HashMap<String, String>,
) -> std::result::Result<RecordBatch, ArrowError> {
    let fields: Vec<Field> = frame.columns.iter().map(|(name, column)| column.field(name)).collect();
    let schema = Arc::new(Schema::new_with_metadata(fields, remarks.clone()));
    RecordBatch::try_new(schema, frame.columns.iter().map(|(_, column)| column.array().clone()).collect())
}
