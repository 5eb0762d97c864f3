//! Numbers of the library as NumPy arrays, and the other way.

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A vector.
pub(crate) fn vector(py: Python<'_>, values: Vec<f64>) -> Bound<'_, PyArray1<f64>> {
    PyArray1::from_vec(py, values)
}

/// A matrix of rows of `dim` numbers.
pub(crate) fn matrix(py: Python<'_>, values: Vec<f64>, dim: usize) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let rows = values.len() / dim;
    PyArray1::from_vec(py, values).reshape([rows, dim])
}

/// Row numbers.
pub(crate) fn row_numbers<'py>(py: Python<'py>, rows: &[usize]) -> Bound<'py, PyArray1<i64>> {
    PyArray1::from_iter(py, rows.iter().map(|&row| row as i64))
}

/// Numbers of rows or groups, which Python has found not to be negative.
pub(crate) fn counted(numbers: &PyReadonlyArray1<'_, i64>) -> Vec<usize> {
    numbers.as_array().iter().map(|&number| number as usize).collect()
}

/// One number for each row, where there are any.
pub(crate) fn numbers(values: Option<PyReadonlyArray1<'_, f64>>) -> Option<Vec<f64>> {
    values.map(|values| values.as_array().to_vec())
}

/// All rows of a C-contiguous array, read where they are, and their dimension.
pub(crate) fn rows<'a>(x: &'a PyReadonlyArray2<'_, f64>) -> PyResult<(&'a [f64], usize)> {
    let dim = x.as_array().ncols();
    let values = x.as_slice().map_err(|_| PyValueError::new_err("the array is not C-contiguous"))?;
    Ok((values, dim))
}
