//! How good any subset is: its MMD, its errors column by column, and those of other subsets.

use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use supersample::Points;
use supersample::quality::QUANTILES;
use supersample::task::{self, TypicalErrors};

use crate::arrays::{matrix, numbers, rows, vector};
use crate::samples::Samples;
use crate::work::run;

/// The MMD between the samples and points with these weights, which are used as they are, or equal ones.
#[pyfunction]
#[pyo3(signature = (samples, points, weights, threads=None, progress=None))]
pub(crate) fn mmd(
    py: Python<'_>,
    samples: &Bound<'_, Samples>,
    points: PyReadonlyArray2<'_, f64>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<f64> {
    let samples = samples.get();
    let ((values, dim), weights) = (rows(&points)?, numbers(weights));
    let size = samples.cost() + cost_of(samples, values.len() / dim.max(1), 1.0);
    run(py, threads, size, progress.as_ref(), |watch| {
        samples.problem.mmd(&Points::from_rows(values, dim)?, weights.as_deref(), watch)
    })
}

/// Coordinate differences of so many points to the samples, and among themselves so many times.
fn cost_of(samples: &Samples, points: usize, times: f64) -> f64 {
    samples.cost_of(points) + times * (points as f64).powi(2) * samples.problem.points().dim() as f64
}

/// What `evaluate` tells.
#[pyclass(frozen, module = "supersample._native")]
pub(crate) struct Evaluation {
    inner: task::Evaluation,
    spaced_worth: Option<f64>,
}

#[pymethods]
impl Evaluation {
    #[getter]
    fn mmd(&self) -> f64 {
        self.inner.error
    }

    #[getter]
    fn worth(&self) -> Option<f64> {
        self.inner.worth
    }

    /// The MMDs of random subsets.
    #[getter]
    fn random<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.inner.comparison.as_ref().map(|others| PyArray1::from_slice(py, &others.random))
    }

    /// The MMD of an evenly spaced subset.
    #[getter]
    fn spaced(&self) -> Option<f64> {
        self.inner.comparison.as_ref().map(|others| others.spaced)
    }

    #[getter]
    fn spaced_worth(&self) -> Option<f64> {
        self.spaced_worth
    }

    #[getter]
    fn mean_error<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        vector(py, self.inner.quality.columns.iter().map(|column| or_nan(column.mean)).collect())
    }

    #[getter]
    fn sd_error<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        vector(py, self.inner.quality.columns.iter().map(|column| or_nan(column.sd)).collect())
    }

    /// One row for each column.
    #[getter]
    fn quantile_error<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let errors = self.inner.quality.columns.iter().flat_map(|column| column.quantiles.map(or_nan));
        matrix(py, errors.collect(), QUANTILES.len())
    }

    #[getter]
    fn correlation_rms(&self) -> Option<f64> {
        self.inner.quality.correlation_rms
    }

    /// The errors that columns typically have.
    #[getter]
    fn typical<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        by_name(py, TypicalErrors::of(&self.inner.quality))
    }

    /// Those of random subsets.
    #[getter]
    fn random_typical<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let others = self.inner.comparison.as_ref();
        others.map(|others| by_name(py, others.random_errors)).transpose()
    }

    /// Those of an evenly spaced subset.
    #[getter]
    fn spaced_typical<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let others = self.inner.comparison.as_ref();
        others.map(|others| by_name(py, others.spaced_errors)).transpose()
    }
}

fn or_nan(error: Option<f64>) -> f64 {
    error.unwrap_or(f64::NAN)
}

fn by_name(py: Python<'_>, errors: TypicalErrors) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("mean", errors.mean)?;
    dict.set_item("sd", errors.sd)?;
    dict.set_item("quantile", errors.quantile)?;
    dict.set_item("correlation", errors.correlation)?;
    Ok(dict)
}

/// All about a subset with weights, which are used as they are for the MMD, or equal ones.
#[pyfunction]
#[pyo3(signature = (samples, points, weights, threads=None, progress=None))]
pub(crate) fn evaluate(
    py: Python<'_>,
    samples: &Bound<'_, Samples>,
    points: PyReadonlyArray2<'_, f64>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Evaluation> {
    let samples = samples.get();
    let ((values, dim), weights) = (rows(&points)?, numbers(weights));
    // Other subsets are about twenty.
    let size = samples.cost() + cost_of(samples, values.len() / dim.max(1), 20.0);
    run(py, threads, size, progress.as_ref(), |watch| {
        let problem = &samples.problem;
        let inner = problem.evaluate(&Points::from_rows(values, dim)?, weights.as_deref(), watch)?;
        let scale = problem.error_scale()?;
        let spaced_worth = inner.comparison.as_ref().and_then(|others| scale.worth(others.spaced));
        Ok(Evaluation { inner, spaced_worth })
    })
}
