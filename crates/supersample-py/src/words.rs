//! Numbers and counts in text.

use pyo3::prelude::*;
use supersample::words;

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
