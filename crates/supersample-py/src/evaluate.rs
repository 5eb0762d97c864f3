//! How good any subset is: its MMD, its errors column by column, and those of other subsets.

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use supersample::Points;
use supersample::quality::QUANTILES;
use supersample::task::{self, ErrorScale, Problem, TypicalErrors};

use crate::arrays::{Column, Matrix, numbers, rows};
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

/// What `evaluate` tells; errors that are not known are NaN.
#[pyclass(frozen, get_all, module = "supersample._native")]
pub(crate) struct Evaluation {
    mmd: f64,
    mmd_error: Option<f64>,
    landmarks: Option<usize>,
    worth: Option<f64>,
    random: Option<Column>,
    spaced: Option<f64>,
    spaced_worth: Option<f64>,
    mean_error: Column,
    sd_error: Column,
    /// One row for each column.
    quantile_error: Matrix,
    correlation_rms: Option<f64>,
    typical: Typical,
    random_typical: Option<Typical>,
    spaced_typical: Option<Typical>,
}

/// The errors that columns typically have; a dict for Python.
#[derive(Clone, IntoPyObject)]
struct Typical {
    cdf: Option<f64>,
    mean: Option<f64>,
    sd: Option<f64>,
    quantile: Option<f64>,
    correlation: Option<f64>,
    functions: Option<f64>,
}

impl Typical {
    fn new(TypicalErrors { cdf, mean, sd, quantile, correlation, functions, .. }: TypicalErrors) -> Typical {
        Typical { cdf, mean, sd, quantile, correlation, functions }
    }
}

impl Evaluation {
    /// What the problem has found.
    pub(crate) fn of(problem: &Problem, found: task::Evaluation) -> supersample::Result<Evaluation> {
        let landmarks = problem.landmarks().map(|landmarks| landmarks.points().len());
        Ok(Evaluation { landmarks, ..Evaluation::new(found, problem.error_scale()?) })
    }

    fn new(found: task::Evaluation, scale: ErrorScale) -> Evaluation {
        let (columns, others) = (&found.quality.columns, found.comparison.as_ref());
        let or_nan = |error: Option<f64>| error.unwrap_or(f64::NAN);
        let quantiles = columns.iter().flat_map(|column| column.quantiles.map(or_nan)).collect();
        Evaluation {
            mmd: found.error,
            mmd_error: found.standard_error,
            landmarks: None,
            worth: found.worth,
            random: others.map(|others| Column(others.random.clone())),
            spaced: others.map(|others| others.spaced),
            spaced_worth: others.and_then(|others| scale.worth(others.spaced)),
            mean_error: Column(columns.iter().map(|column| or_nan(column.mean)).collect()),
            sd_error: Column(columns.iter().map(|column| or_nan(column.sd)).collect()),
            quantile_error: Matrix(quantiles, QUANTILES.len()),
            correlation_rms: found.quality.correlation_rms,
            typical: Typical {
                cdf: found.cdf,
                functions: found.functions,
                ..Typical::new(TypicalErrors::of(&found.quality))
            },
            random_typical: others.map(|others| Typical::new(others.random_errors)),
            spaced_typical: others.map(|others| Typical::new(others.spaced_errors)),
        }
    }
}

/// All about a subset with weights, which are used as they are for the MMD, or equal ones, and with the functions of its
/// rows where the samples have some.
#[pyfunction]
#[pyo3(signature = (samples, points, weights, functions, threads=None, progress=None))]
pub(crate) fn evaluate(
    py: Python<'_>,
    samples: &Bound<'_, Samples>,
    points: PyReadonlyArray2<'_, f64>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    functions: Option<PyReadonlyArray2<'_, f64>>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Evaluation> {
    let samples = samples.get();
    let ((values, dim), weights) = (rows(&points)?, numbers(weights));
    let functions = functions.as_ref().map(rows).transpose()?;
    // Other subsets are about twenty.
    let size = samples.cost() + cost_of(samples, values.len() / dim.max(1), 20.0);
    run(py, threads, size, progress.as_ref(), |watch| {
        let problem = &samples.problem;
        let (points, weights) = (Points::from_rows(values, dim)?, weights.as_deref());
        let found = match functions {
            Some((values, count)) => {
                let functions = Points::from_rows(values, count)?;
                problem.evaluate_with_functions(&points, &functions, weights, watch)?
            }
            None => problem.evaluate(&points, weights, watch)?,
        };
        Evaluation::of(problem, found)
    })
}
