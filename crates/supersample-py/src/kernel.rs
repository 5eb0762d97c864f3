//! Kernels by name: the list of them, and their values between two sets of points.

use numpy::{PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::IntoPyDict;
use supersample::scale::Scale;
use supersample::{Error, Family, Kernel, SteinBase};

use crate::arrays::{matrix, rows};
use crate::error::{named, refused};

/// The matrix of k(x, y) for the rows x of one array and y of the other.
#[pyfunction]
pub(crate) fn kernel_values<'py>(
    py: Python<'py>,
    name: &str,
    bandwidths: Vec<f64>,
    x: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray2<'py, f64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let kernel = kernel_of(name, &bandwidths)?;
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
    kernel_of(name, &bandwidths).map(|_| ())
}

/// `KERNELS`: name, how many lengths at most (2 for any number) and formula; `STEIN_BASES`; `SCALES`: name and effect.
pub(crate) fn add_lists(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let row = |family: Family| (family.to_string(), family.most_lengths().min(2), family.formula());
    module.add("KERNELS", Family::ALL.map(row).to_vec())?;
    module.add("STEIN_BASES", SteinBase::NAMES.to_vec())?;
    module
        .add("SCALES", Scale::ALL.map(|scale| (scale.to_string(), scale.effect())).into_py_dict(module.py())?)
}

/// The kernel of this name with these lengths.
pub(crate) fn kernel_of(name: &str, lengths: &[f64]) -> PyResult<Kernel> {
    named::<Family>(name)?.kernel(lengths).map_err(refused)
}
