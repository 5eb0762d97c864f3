//! Numbers of the library as NumPy arrays.

use numpy::{PyArray1, PyArray2, PyArrayMethods};
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
