//! Kernel values between two sets of points.

use numpy::{PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;
use supersample::{Error, Kernel};

use crate::arrays::{matrix, rows};
use crate::error::refused;

/// The matrix of k(x, y) for the rows x of one array and y of the other.
#[pyfunction]
pub(crate) fn kernel_values<'py>(
    py: Python<'py>,
    name: &str,
    bandwidths: Vec<f64>,
    x: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray2<'py, f64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let kernel = Kernel::named(name, &bandwidths).map_err(refused)?;
    let ((x, expected), (y, found)) = (rows(&x)?, rows(&y)?);
    if found != expected {
        let (what, against) = ("y", "x");
        return Err(refused(Error::DimensionMismatch { what, found, against, expected }));
    }
    let (dim, columns) = (expected.max(1), y.len() / expected.max(1));
    let values = py.detach(|| {
        let each = x.chunks_exact(dim).flat_map(|a| y.chunks_exact(dim).map(|b| kernel.value(a, b)));
        each.collect()
    });
    matrix(py, values, columns.max(1))
}

/// Refuses a kernel that cannot be.
#[pyfunction]
pub(crate) fn check_kernel(name: &str, bandwidths: Vec<f64>) -> PyResult<()> {
    Kernel::named(name, &bandwidths).map(|_| ()).map_err(refused)
}
