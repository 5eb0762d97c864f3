//! Samples: the problem of the library, made of Python's words and arrays.

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyList;
use supersample::task::{Bandwidth, CONTROL_ROWS, FunctionValues, Problem, ProblemOptions, RowWeights};
use supersample::{Device, Points, Result};

use crate::advice::Told;
use crate::arrays::{numbers, rows};
use crate::error::{named, refused};
use crate::threads;

/// The target of `herd`, `thin`, `evaluate` and `mmd`.
#[pyclass(frozen, module = "supersample._native")]
pub(crate) struct Samples {
    pub(crate) problem: Problem,
}

#[pymethods]
impl Samples {
    /// `bandwidths` is None for the median distance after scaling; `known` are the values of the mean embedding on these
    /// very samples, computed earlier.
    #[new]
    #[pyo3(signature = (x, *, kernel, bandwidths, scale, sample_weight, log_weight, precision, marginals, functions,
                        functions_weight, functions_unit, embedding, landmarks, seed=0, device="cpu", known=None))]
    #[expect(clippy::too_many_arguments, reason = "one for each keyword of the Python function")]
    fn new(
        py: Python<'_>,
        x: PyReadonlyArray2<'_, f64>,
        kernel: &str,
        bandwidths: Option<Vec<f64>>,
        scale: &str,
        sample_weight: Option<PyReadonlyArray1<'_, f64>>,
        log_weight: Option<PyReadonlyArray1<'_, f64>>,
        precision: &str,
        marginals: f64,
        functions: Option<PyReadonlyArray2<'_, f64>>,
        functions_weight: f64,
        functions_unit: &str,
        embedding: &str,
        landmarks: Option<usize>,
        seed: u64,
        device: &str,
        known: Option<PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<Samples> {
        let mut options = options_of(kernel, bandwidths, scale, precision)?
            .marginals(marginals)
            .embedding(named(embedding)?)
            .seed(seed)
            .device(named(device)?);
        options.landmarks = landmarks;
        options.functions_unit = named(functions_unit)?;
        if let Some(functions) = &functions {
            let (values, count) = rows(functions)?;
            options = options.functions(FunctionValues::new(values.to_vec(), count).weight(functions_weight));
        }
        let (values, dim) = rows(&x)?;
        let (weights, logs, known) = (numbers(sample_weight), numbers(log_weight), numbers(known));
        // Scaling and the median distance take milliseconds; on a pool of ours, since the global one dies in a fork.
        let pool = threads::pool(1)?;
        let make_ready = || -> Result<Problem> {
            let weights = match (&weights, &logs) {
                (None, None) => RowWeights::Equal,
                (Some(weights), _) => RowWeights::Weights(weights),
                (None, Some(logs)) => RowWeights::Logs(logs),
            };
            let problem = Problem::weighted(Points::from_rows(values, dim)?, weights, options)?;
            match known {
                Some(values) => problem.recall(values),
                None => Ok(problem),
            }
        };
        let problem = py.detach(|| pool.install(make_ready));
        Ok(Samples { problem: problem.map_err(refused)? })
    }

    /// The name of the kernel and its bandwidths, in the units of the scaled samples.
    #[getter]
    fn kernel(&self) -> (&'static str, Vec<f64>) {
        (self.problem.kernel().name(), self.problem.kernel().bandwidths().to_vec())
    }

    /// The precision in use.
    #[getter]
    fn precision(&self) -> &'static str {
        self.problem.precision_in_use().into()
    }

    /// The weights of the rows, which sum to one; None where they are equal.
    #[getter]
    fn shares<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.problem.shares().map(|shares| PyArray1::from_slice(py, shares))
    }

    /// What to know of the rows and the kernel before believing any result.
    #[getter]
    fn advice<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        (&Told(self.problem.advice().to_vec())).into_pyobject(py)
    }

    /// The mean embedding on the samples, where it has been computed.
    fn known<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.problem.recalled().map(|values| PyArray1::from_slice(py, &values))
    }
}

/// The name of the device that goes by this word, cpu or gpu; an error where there is none.
#[pyfunction]
pub(crate) fn device_name(py: Python<'_>, name: &str) -> PyResult<String> {
    let device: Device = py.detach(|| name.parse()).map_err(refused)?;
    Ok(device.to_string())
}

/// How rows are made ready, by Python's words.
pub(crate) fn options_of(
    kernel: &str,
    bandwidths: Option<Vec<f64>>,
    scale: &str,
    precision: &str,
) -> PyResult<ProblemOptions> {
    Ok(ProblemOptions::default()
        .scale(named(scale)?)
        .family(named(kernel)?, bandwidths.map_or(Bandwidth::Median, Bandwidth::Lengths))
        .precision(named(precision)?))
}

impl Samples {
    /// Coordinate differences that the mean embedding still takes.
    pub(crate) fn cost(&self) -> f64 {
        // The mean of a Stein kernel is zero.
        if self.problem.is_prepared() || self.problem.stein().is_some() {
            return 0.0;
        }
        let points = self.problem.points();
        if self.problem.is_projected() {
            // Sums at landmarks and control rows, and values from the landmarks; as many as there are by default.
            let landmarks = self.problem.landmarks_asked().0.unwrap_or(2000);
            return self.cost_of(2 * landmarks + CONTROL_ROWS);
        }
        0.5 * (points.len() as f64).powi(2) * points.dim() as f64
    }

    /// Coordinate differences of so many kernel rows.
    pub(crate) fn cost_of(&self, picks: usize) -> f64 {
        let points = self.problem.points();
        points.len() as f64 * points.dim() as f64 * picks as f64
    }
}
