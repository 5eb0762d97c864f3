//! Numbers of the library as NumPy arrays, and the other way.

use std::convert::Infallible;

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use supersample::Points;

use crate::error::refused;

/// Numbers that Python sees as a vector.
pub(crate) struct Column(pub(crate) Vec<f64>);

impl<'py> IntoPyObject<'py> for &Column {
    type Target = PyArray1<f64>;
    type Output = Bound<'py, Self::Target>;
    type Error = Infallible;

    fn into_pyobject(self, py: Python<'py>) -> Result<Self::Output, Infallible> {
        Ok(PyArray1::from_slice(py, &self.0))
    }
}

/// Row numbers that Python sees as a vector.
pub(crate) struct RowNumbers(pub(crate) Vec<usize>);

impl<'py> IntoPyObject<'py> for &RowNumbers {
    type Target = PyArray1<i64>;
    type Output = Bound<'py, Self::Target>;
    type Error = Infallible;

    fn into_pyobject(self, py: Python<'py>) -> Result<Self::Output, Infallible> {
        Ok(PyArray1::from_iter(py, self.0.iter().map(|&row| row as i64)))
    }
}

/// Numbers that Python sees as a matrix, with the length of a row.
pub(crate) struct Matrix(pub(crate) Vec<f64>, pub(crate) usize);

impl<'py> IntoPyObject<'py> for &Matrix {
    type Target = PyArray2<f64>;
    type Output = Bound<'py, Self::Target>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        matrix(py, self.0.clone(), self.1)
    }
}

/// A vector.
pub(crate) fn vector(py: Python<'_>, values: Vec<f64>) -> Bound<'_, PyArray1<f64>> {
    PyArray1::from_vec(py, values)
}

/// A matrix of rows of `dim` numbers.
pub(crate) fn matrix(py: Python<'_>, values: Vec<f64>, dim: usize) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let rows = values.len() / dim;
    PyArray1::from_vec(py, values).reshape([rows, dim])
}

/// Numbers of rows or groups, which Python has found not to be negative.
pub(crate) fn counted(numbers: &PyReadonlyArray1<'_, i64>) -> Vec<usize> {
    numbers.as_array().iter().map(|&number| number as usize).collect()
}

/// One number for each row, where there are any.
pub(crate) fn numbers(values: &Option<PyReadonlyArray1<'_, f64>>) -> Option<Vec<f64>> {
    values.as_ref().map(|values| values.as_array().to_vec())
}

/// All rows of a C-contiguous array as points.
pub(crate) fn points(x: &PyReadonlyArray2<'_, f64>) -> PyResult<Points> {
    let (values, dim) = rows(x)?;
    Points::from_rows(values, dim).map_err(refused)
}

/// All rows of a C-contiguous array, read where they are, and their dimension.
pub(crate) fn rows<'a>(x: &'a PyReadonlyArray2<'_, f64>) -> PyResult<(&'a [f64], usize)> {
    let dim = x.as_array().ncols();
    let values = x.as_slice().map_err(|_| PyValueError::new_err("the array is not C-contiguous"))?;
    Ok((values, dim))
}
