//! Frames: a few rows with all their columns, as Arrow arrays between two formats.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float32Array, Float64Array, Int64Array, RecordBatch, StringArray,
    UInt64Array,
};
use arrow_schema::{DataType, Field, FieldRef};
use arrow_select::concat::concat;
use arrow_select::take::take;

use crate::cells;
use crate::{Error, Result};

/// Named columns of equal length.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Frame {
    /// The columns in the order of the file.
    pub columns: Vec<(String, Column)>,
}

/// Cells of a column, possibly missing, in the type of their file. Made from doubles, integers, or a list of `Option`s.
#[derive(Debug, Clone)]
pub struct Column {
    array: ArrayRef,
    /// Field of the column in an Arrow or Parquet file.
    field: FieldRef,
}

impl PartialEq for Column {
    fn eq(&self, other: &Column) -> bool {
        self.array.as_ref() == other.array.as_ref()
    }
}

macro_rules! column_of {
    ($($cell:ty => $array:ty),*) => {
        $(impl From<Vec<Option<$cell>>> for Column {
            fn from(cells: Vec<Option<$cell>>) -> Column {
                Column::of(Arc::new(<$array>::from(cells)))
            }
        })*
    };
}

column_of!(f64 => Float64Array, f32 => Float32Array, i64 => Int64Array, bool => BooleanArray, String => StringArray);

impl Column {
    fn of(array: ArrayRef) -> Column {
        let field = Arc::new(Field::new("", array.data_type().clone(), true));
        Column { array, field }
    }

    /// Creates a column of whole numbers, none missing.
    pub fn integers(values: impl IntoIterator<Item = usize>) -> Column {
        values.into_iter().map(|value| i64::try_from(value).ok()).collect::<Vec<_>>().into()
    }

    /// Creates a column of numbers, none missing.
    pub fn doubles(values: impl IntoIterator<Item = f64>) -> Column {
        values.into_iter().map(Some).collect::<Vec<_>>().into()
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.array.len()
    }

    /// Whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn array(&self) -> &ArrayRef {
        &self.array
    }

    pub(crate) fn kind(&self) -> &DataType {
        self.array.data_type()
    }

    /// Field of the column under this name.
    pub(crate) fn field(&self, name: &str) -> Field {
        self.field.as_ref().clone().with_name(name).with_nullable(true)
    }

    /// The cells of these positions, in this order.
    pub(crate) fn pick(&self, positions: &[usize]) -> Column {
        let positions = UInt64Array::from_iter_values(positions.iter().map(|&at| at as u64));
        let array = take(&self.array, &positions, None).expect("the positions are those of cells");
        Column { array, field: self.field.clone() }
    }

    /// The cells of all these columns. Where the types differ (a whole number in one file, a fraction in another) they
    /// become text, and are typed again.
    fn joined(columns: &[Column]) -> Column {
        let arrays: Vec<&dyn Array> = columns.iter().map(|column| column.array.as_ref()).collect();
        match concat(&arrays) {
            Ok(array) => Column { array, field: columns[0].field.clone() },
            // Doubles hold every number of single and half precision.
            Err(_) if columns.iter().all(|column| column.kind().is_floating()) => {
                columns.iter().flat_map(Column::numbers).collect::<Vec<_>>().into()
            }
            Err(_) => {
                let texts =
                    columns.iter().flat_map(|column| (0..column.len()).map(|at| column.cell_text(at)));
                Column::from(texts.collect::<Vec<_>>()).typed()
            }
        }
    }

    /// All cells as numbers; `None` if one is missing or is not one.
    pub(crate) fn numbers(&self) -> Vec<Option<f64>> {
        let parsed = |at| cells::text(&self.array, at)?.trim().parse().ok();
        cells::numbers(&self.array).unwrap_or_else(|| (0..self.len()).map(parsed).collect())
    }

    /// The cell as a number; `None` if it is missing or is not one.
    pub fn number(&self, at: usize) -> Option<f64> {
        self.pick(&[at]).numbers()[0]
    }

    /// The cell as text; empty if it is missing.
    pub fn text(&self, at: usize) -> String {
        cells::text(&self.array, at).unwrap_or_default()
    }

    fn cell_text(&self, at: usize) -> Option<String> {
        Some(self.text(at)).filter(|text| !text.is_empty())
    }

    /// The cells as text; an empty one is missing.
    pub(crate) fn as_text(&self) -> Column {
        (0..self.len()).map(|at| self.cell_text(at)).collect::<Vec<_>>().into()
    }

    /// Converts text to numbers if all cells are numbers, because text files have no types and other formats need them.
    /// Empty cells are missing. Whole numbers stay whole. An empty column, and whole numbers too long for any type,
    /// stay text.
    pub(crate) fn typed(self) -> Column {
        let Some(texts) = self.array.as_string_opt::<i32>() else { return self };
        fn all<T: std::str::FromStr>(texts: &StringArray) -> Option<Vec<Option<T>>> {
            let cells = texts.iter().map(|cell| cell.map(str::trim).filter(|text| !text.is_empty()));
            let typed: Option<Vec<Option<T>>> = cells
                .map(|cell| cell.map(|text| text.parse().ok()).map_or(Some(None), |value| value.map(Some)))
                .collect();
            typed.filter(|typed| typed.iter().any(Option::is_some))
        }
        if let Some(integers) = all::<i64>(texts) {
            return integers.into();
        }
        match all::<f64>(texts) {
            Some(doubles) if all::<i128>(texts).is_none() => doubles.into(),
            _ => self,
        }
    }
}

impl Frame {
    /// The columns of a table.
    pub(crate) fn of(batch: &RecordBatch) -> Frame {
        let schema = batch.schema();
        let columns = schema.fields().iter().zip(batch.columns());
        let column = |(field, array): (&FieldRef, &ArrayRef)| {
            (field.name().clone(), Column { array: array.clone(), field: field.clone() })
        };
        Frame { columns: columns.map(column).collect() }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// These rows, in this order.
    pub(crate) fn pick(&self, rows: &[usize]) -> Frame {
        let columns = self.columns.iter().map(|(name, column)| (name.clone(), column.pick(rows)));
        Frame { columns: columns.collect() }
    }

    /// The rows of all these frames, which must have the same columns.
    fn joined(frames: &[Frame]) -> Frame {
        let Some(first) = frames.first() else { return Frame::default() };
        let column = |(at, (name, _)): (usize, &(String, Column))| {
            let parts: Vec<Column> = frames.iter().map(|frame| frame.columns[at].1.clone()).collect();
            (name.clone(), Column::joined(&parts))
        };
        Frame { columns: first.columns.iter().enumerate().map(column).collect() }
    }
}

/// Collects rows from batches or files, in the order in which they were asked for.
pub(crate) struct Gathered<'a> {
    rows: &'a [usize],
    /// Positions in that list, in the order of the parts.
    order: Vec<usize>,
    /// Number of rows found.
    found: usize,
    parts: Vec<Frame>,
}

impl<'a> Gathered<'a> {
    pub(crate) fn new(rows: &'a [usize]) -> Gathered<'a> {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|&at| rows[at]);
        Gathered { rows, order, found: 0, parts: Vec::new() }
    }

    /// Adds the wanted rows of the next part, which has the rows of this range: `find` gets their places in it.
    pub(crate) fn add(
        &mut self,
        range: Range<usize>,
        find: impl FnOnce(&[usize]) -> Result<Frame>,
    ) -> Result<()> {
        let end = self.order.partition_point(|&at| self.rows[at] < range.end);
        let places: Vec<usize> =
            self.order[self.found..end].iter().map(|&at| self.rows[at] - range.start).collect();
        if !places.is_empty() {
            self.parts.push(find(&places)?);
            self.found = end;
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<Frame> {
        if self.found != self.rows.len() {
            return Err(Error::Changed);
        }
        let mut places = vec![0; self.rows.len()];
        self.order.iter().enumerate().for_each(|(place, &at)| places[at] = place);
        Ok(Frame::joined(&self.parts).pick(&places))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(cells: &[&str]) -> Column {
        cells.iter().map(|cell| Some(cell.to_string())).collect::<Vec<_>>().into()
    }

    #[test]
    fn text_becomes_what_all_its_cells_are() {
        assert_eq!(texts(&["1", " 2", ""]).typed(), vec![Some(1_i64), Some(2), None].into());
        assert_eq!(texts(&["1", "0.5"]).typed(), Column::doubles([1.0, 0.5]));
        assert_eq!(texts(&["1", "x"]).typed(), texts(&["1", "x"]));
        assert_eq!(texts(&["", ""]).typed(), texts(&["", ""]));
        let longest = u64::MAX.to_string();
        assert_eq!(texts(&["1", &longest]).typed(), texts(&["1", &longest]));
    }

    #[test]
    fn rows_of_several_parts_come_in_the_order_asked_for() {
        let parts = [Column::integers([10, 11]), Column::doubles([0.5]), Column::integers([12])];
        let rows = [3, 0, 2, 3];
        let (mut gathered, mut first) = (Gathered::new(&rows), 0);
        for column in parts {
            let frame = Frame { columns: vec![("a".to_string(), column)] };
            gathered.add(first..first + frame.len(), |places| Ok(frame.pick(places))).unwrap();
            first += frame.len();
        }
        // Whole numbers and fractions make fractions.
        assert_eq!(gathered.finish().unwrap().columns[0].1, Column::doubles([12.0, 10.0, 0.5, 12.0]));
        assert!(matches!(Gathered::new(&rows).finish(), Err(Error::Changed)));
    }
}
