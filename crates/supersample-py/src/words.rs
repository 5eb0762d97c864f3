//! Numbers and counts in text, and what columns are by their names.

use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use supersample::words::{self, ColumnNote, ColumnRole, Counting, Style};

use crate::arrays::rows;

/// Whether a column of this name is a coordinate, an id, or holds weights that this project writes: parameter, id or weight.
#[pyfunction]
pub(crate) fn column_role(name: &str) -> &'static str {
    match ColumnRole::of(name) {
        ColumnRole::Id => "id",
        ColumnRole::OwnWeight => "weight",
        _ => "parameter",
    }
}

/// Notes about columns of these names, each with whether it is used as a coordinate and whether it counts.
#[pyfunction]
pub(crate) fn column_notes(columns: Vec<(String, bool, bool)>) -> Vec<String> {
    let notes = ColumnNote::about(columns.iter().map(|(name, used, counts)| (name.as_str(), *used, *counts)));
    notes.iter().map(|note| note.sentence(Style::Python)).collect()
}

/// The places of the columns that count rows, from the first one or from each of `starts`.
#[pyfunction]
pub(crate) fn counting_columns(x: PyReadonlyArray2<'_, f64>, starts: Vec<usize>) -> PyResult<Vec<usize>> {
    let (values, dim) = rows(&x)?;
    let mut counting = Counting::default();
    counting.see(values, dim);
    Ok(counting.columns(|row| starts.contains(&row)))
}

/// Three significant digits: 0.00712, 3.98, 9,800; powers of ten where the zeros would be many.
#[pyfunction]
pub(crate) fn significant(value: f64) -> String {
    words::significant(value)
}

/// The mean to three significant digits, the spread to as many decimals: 0.0702 ± 0.0046.
#[pyfunction]
pub(crate) fn with_spread(mean: f64, spread: f64) -> String {
    words::with_spread(mean, spread)
}

/// Three significant digits and the standard error to as many decimals, or to one digit: 0.00222 ± 1e-6.
#[pyfunction]
pub(crate) fn with_error(value: f64, error: f64) -> String {
    words::with_error(value, error)
}

/// 1st, 2nd, 3rd, 4th, ….
#[pyfunction]
pub(crate) fn ordinal(number: usize) -> String {
    words::ordinal(number)
}

/// 1 row, 4,000 rows.
#[pyfunction]
pub(crate) fn counted(number: usize, noun: &str) -> String {
    words::counted(number, noun)
}
