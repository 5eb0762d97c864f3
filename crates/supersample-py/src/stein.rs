//! Scores from Python: rows whose density is matched, the KSD of any points, and points anywhere for a score that is a function.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use supersample::embedding::{LogDensityFunction, ScoreFunction};
use supersample::scale::Scaling;
use supersample::task::{
    Advice, Ended, ErrorScale, Problem, ProblemOptions, RowScores, Stop, herd_until, weigh,
};
use supersample::{
    AscentOptions, Domain, Error, Herder, Pick, Points, Preconditioner, Progress, Result, SteinTarget,
};

use crate::advice::Told;
use crate::arrays::{Matrix, numbers, rows};
use crate::chosen::{Chosen, rule_of};
use crate::error::{named, refused};
use crate::samples::Samples;
use crate::threads;
use crate::work::{run, run_until};

/// Points that were placed for a density.
#[pyclass(frozen, get_all, module = "supersample._native")]
pub(crate) struct SteinPlaced {
    points: Matrix,
    /// How many climbs stopped short.
    stuck: usize,
    /// How often the score was asked for while climbing.
    evaluations: u64,
    /// How good they are.
    chosen: Py<Chosen>,
    /// What to know of the scores at the starts.
    advice: Told,
}

/// Rows with their scores, whose density is the target of `herd` and `thin`.
#[pyfunction]
#[pyo3(signature = (x, scores, *, base, preconditioner, length, scale, log_density, regularisation, second_derivatives))]
#[expect(clippy::too_many_arguments, reason = "one for each keyword of the Python function")]
pub(crate) fn stein_samples(
    py: Python<'_>,
    x: PyReadonlyArray2<'_, f64>,
    scores: PyReadonlyArray2<'_, f64>,
    base: &str,
    preconditioner: &str,
    length: Option<f64>,
    scale: &str,
    log_density: Option<PyReadonlyArray1<'_, f64>>,
    regularisation: f64,
    second_derivatives: Option<PyReadonlyArray2<'_, f64>>,
) -> PyResult<Samples> {
    let (values, dim) = rows(&x)?;
    let (of_rows, score_dim) = rows(&scores)?;
    expect_dim(score_dim, dim).map_err(refused)?;
    let mut given =
        RowScores::new(of_rows.to_vec()).kernel(named(base)?, preconditioner_of(preconditioner, length)?);
    if let Some(log_density) = numbers(log_density) {
        given = given.regularised(log_density, regularisation);
    }
    if let Some(second) = &second_derivatives {
        given = given.second_derivatives(rows(second)?.0.to_vec());
    }
    let options = ProblemOptions::default().scale(named(scale)?).scores(given);
    let pool = threads::pool(1)?;
    let problem = py.detach(|| pool.install(|| Problem::new(Points::from_rows(values, dim)?, options)));
    Ok(Samples { problem: problem.map_err(refused)? })
}

/// The KSD of points with their scores and weights, which are used as they are, or equal ones.
#[pyfunction]
#[pyo3(signature = (samples, points, scores, weights, threads=None))]
pub(crate) fn ksd(
    py: Python<'_>,
    samples: &Bound<'_, Samples>,
    points: PyReadonlyArray2<'_, f64>,
    scores: PyReadonlyArray2<'_, f64>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    threads: Option<usize>,
) -> PyResult<f64> {
    let ((values, dim), (of_points, score_dim), weights) = (rows(&points)?, rows(&scores)?, numbers(weights));
    let size = (values.len() / dim.max(1)) as f64 * values.len() as f64;
    let problem = &samples.get().problem;
    run(py, threads, size, None, |watch| {
        expect_dim(score_dim, dim)?;
        let (points, scores) = (Points::from_rows(values, dim)?, Points::from_rows(of_points, dim));
        let scores = scores.map_err(|error| match error {
            Error::NonFinite { row, column, value } => Error::NonFiniteScore { row, column, value },
            error => error,
        })?;
        problem.ksd(&points, &scores, weights.as_deref(), watch)
    })
}

/// Points for a density anywhere in space, from starts whose scores are known. An exception of the functions ends it.
#[pyfunction]
#[pyo3(signature = (score, log_density, starts, start_scores, n, *, base, preconditioner, length, scale, tol, climbs,
                    max_evaluations, weights, threads, progress))]
#[expect(clippy::too_many_arguments, reason = "one for each keyword of the Python function")]
pub(crate) fn stein_place(
    py: Python<'_>,
    score: Py<PyAny>,
    log_density: Option<Py<PyAny>>,
    starts: PyReadonlyArray2<'_, f64>,
    start_scores: PyReadonlyArray2<'_, f64>,
    n: usize,
    base: &str,
    preconditioner: &str,
    length: Option<f64>,
    scale: &str,
    tol: Option<f64>,
    climbs: usize,
    max_evaluations: u64,
    weights: &str,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<SteinPlaced> {
    let (base, preconditioner) = (named(base)?, preconditioner_of(preconditioner, length)?);
    let (stop, rule) = (Stop::new(Some(n), tol, None).map_err(refused)?, rule_of(weights)?);
    let ((values, dim), (of_starts, score_dim)) = (rows(&starts)?, rows(&start_scores)?);
    expect_dim(score_dim, dim).map_err(refused)?;
    let scaling = Scaling::fit(named(scale)?, values, dim, None).map_err(refused)?;
    let Some(units) = scaling.units() else {
        return Err(PyValueError::new_err(
            "scale is 'pca', which points anywhere do not have; choose none, sd, mad or aad",
        ));
    };
    let asked = Asked::default();
    let score = scaled_score(score, units, asked.clone());
    let log_density = log_density.map(|log_density| scaled_log_density(log_density, units, asked.clone()));
    let placed = run_until(py, &asked.stop, threads, f64::INFINITY, progress.as_ref(), |watch| {
        if watch(Progress::Herding { chosen: 0, size: n }).is_break() {
            return Err(Error::Interrupted);
        }
        let by_units = |values: &[f64], scaled: fn(f64, f64) -> f64| {
            let numbers = values.iter().enumerate().map(|(i, value)| scaled(*value, units[i % dim]));
            Points::from_vec(numbers.collect(), dim)
        };
        let (starts, scores) =
            (by_units(values, |x, unit| x / unit)?, by_units(of_starts, |s, unit| s * unit));
        let scores = scores.map_err(|error| match error {
            Error::NonFinite { row, column, value } => Error::NonFiniteScore { row, column, value },
            error => error,
        })?;
        let target = SteinTarget::new(&starts, &scores, base, preconditioner)?;
        let target = target.with_score(score, log_density, max_evaluations);
        let domain = Domain::Ascent {
            starts: target.rows(&starts, &scores)?,
            options: AscentOptions::default().climbs(climbs),
        };
        let mut herder = Herder::new(target.clone(), domain)?;
        let seen = |pick: &Pick| {
            let watched = watch(Progress::Herding { chosen: pick.t, size: n });
            if asked.is_over() { ControlFlow::Break(()) } else { watched }
        };
        let placed = herd_until(&mut herder, &[], &stop, seen)?;
        if placed.ended == Ended::Interrupted || asked.is_over() {
            return Err(Error::Interrupted);
        }
        let chosen_rows =
            Points::from_vec(placed.coordinates(), starts.dim() * target_columns(&target, dim))?;
        let weighed = rule.map(|rule| weigh(&target, &chosen_rows, rule, watch)).transpose()?;
        let chosen =
            Chosen::new(&placed.trace, placed.ended, weighed, ErrorScale::of(herder.pool()), Some(&stop))?;
        let points: Vec<f64> = placed
            .trace
            .iter()
            .flat_map(|pick| target.point(&pick.point))
            .enumerate()
            .map(|(i, x)| x * units[i % dim])
            .collect();
        // Starts need not be draws, but scores that are right lead from the outermost ones inwards.
        let is_away = |advice: &Advice| matches!(advice, Advice::ScoresPointAway { .. });
        let advice = Advice::on_scores(&starts, &scores).into_iter().filter(is_away).collect();
        let stuck = placed.trace.iter().filter(|pick| !pick.converged).count();
        Ok((points, stuck, target.evaluations(), chosen, Told(advice)))
    });
    if let Some(error) = asked.raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(error);
    }
    let (points, stuck, evaluations, chosen, advice) = placed?;
    Ok(SteinPlaced { points: Matrix(points, dim), stuck, evaluations, chosen: Py::new(py, chosen)?, advice })
}

/// How many numbers a row of the target has for each coordinate.
fn target_columns(target: &SteinTarget, dim: usize) -> usize {
    supersample::MeanEmbedding::dim(target) / dim
}

/// Functions of Python that are asked while points are placed: the first exception of any of them, after which none is asked
/// again, nor after a Ctrl-C.
#[derive(Clone, Default)]
struct Asked {
    raised: Arc<Mutex<Option<PyErr>>>,
    stop: Arc<AtomicBool>,
}

impl Asked {
    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
            || self.raised.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// What the function says; `None` where it may not be asked or has raised.
    fn ask<T>(&self, function: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        if self.is_over() {
            return None;
        }
        let keep = |error| {
            self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        };
        Python::attach(function).map_err(keep).ok()
    }
}

/// A Python function of one point in its own units as a score in units of the scaled points.
fn scaled_score(score: Py<PyAny>, units: &[f64], asked: Asked) -> ScoreFunction {
    let units = units.to_vec();
    Arc::new(move |z: &[f64], out: &mut [f64]| {
        let found = asked.ask(|py| {
            let x = PyArray1::from_iter(py, z.iter().zip(&units).map(|(z, unit)| z * unit));
            let found = score.call1(py, (x,))?;
            let found: PyReadonlyArray1<'_, f64> = found.extract(py)?;
            let found = found.as_array().to_vec();
            if found.len() != units.len() {
                let (found, expected) = (found.len(), units.len());
                return Err(PyValueError::new_err(format!(
                    "the score has {found} numbers for a point of {expected}"
                )));
            }
            Ok(found)
        });
        match found {
            Some(found) => {
                out.iter_mut().zip(found.iter().zip(&units)).for_each(|(out, (s, unit))| *out = s * unit)
            }
            None => out.fill(f64::NAN),
        }
    })
}

/// A Python function of one point in its own units as a log-density of the scaled points.
fn scaled_log_density(log_density: Py<PyAny>, units: &[f64], asked: Asked) -> LogDensityFunction {
    let units = units.to_vec();
    Arc::new(move |z: &[f64]| {
        let found = asked.ask(|py| {
            let x = PyArray1::from_iter(py, z.iter().zip(&units).map(|(z, unit)| z * unit));
            log_density.call1(py, (x,))?.extract::<f64>(py)
        });
        found.unwrap_or(f64::NAN)
    })
}

fn expect_dim(found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::DimensionMismatch { what: "a score", found, against: "its point", expected })
}

/// The preconditioner of this name, or of this length where one is given.
fn preconditioner_of(name: &str, length: Option<f64>) -> PyResult<Preconditioner> {
    match length {
        Some(length) => Ok(Preconditioner::Length(length)),
        None => named(name),
    }
}
