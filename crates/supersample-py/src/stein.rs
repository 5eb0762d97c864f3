//! Points anywhere in space for a density whose score is a Python function.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use supersample::embedding::{LogDensityFunction, ScoreFunction};
use supersample::scale::Scaling;
use supersample::task::{Advice, STEIN_SCALE};
use supersample::{Error, Pick, Points, Progress, SteinTarget};

use crate::arrays::rows;
use crate::chosen::Chosen;
use crate::error::refused;
use crate::evaluate::scores_of;
use crate::mixture::{Placed, place, stuck};
use crate::options::Options;
use crate::work::run_until;

/// Points for a density anywhere in space, from starts whose scores are known. An exception of the functions ends it.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the functions, the starts, and how climbs end")]
pub(crate) fn stein_place(
    py: Python<'_>,
    score: Py<PyAny>,
    log_density: Option<Py<PyAny>>,
    starts: PyReadonlyArray2<'_, f64>,
    start_scores: PyReadonlyArray2<'_, f64>,
    options: Options<'_>,
    climbs: usize,
    max_evaluations: u64,
) -> PyResult<Placed> {
    let ((base, preconditioner), choose) = (options.stein_kernel()?, options.choose()?);
    let (stop, rule, n) = (choose.stop, choose.weights, choose.stop.number.unwrap_or_default());
    let ((values, dim), (of_starts, score_dim)) = (rows(&starts)?, rows(&start_scores)?);
    if score_dim != dim {
        let (what, found, against) = ("a score", score_dim, "its point");
        return Err(refused(Error::DimensionMismatch { what, found, against, expected: dim }));
    }
    let scale = choose.distance.scale.unwrap_or(STEIN_SCALE);
    let scaling = Scaling::fit(scale, values, dim, None).map_err(refused)?;
    let Some(units) = scaling.units() else {
        return Err(PyValueError::new_err(
            "scale is 'pca', which is not supported for points anywhere in space; choose none, sd, mad or aad",
        ));
    };
    let asked = Asked::default();
    let score = scaled_score(score, units, asked.clone());
    let log_density = log_density.map(|log_density| scaled_log_density(log_density, units, asked.clone()));
    let by_units = |values: &[f64], scaled: fn(f64, f64) -> f64| -> Vec<f64> {
        values.iter().enumerate().map(|(i, value)| scaled(*value, units[i % dim])).collect()
    };
    let found =
        run_until(py, &asked.stop, options.threads, f64::INFINITY, options.progress.as_ref(), |watch| {
            if watch(Progress::Herding { chosen: 0, size: n }).is_break() {
                return Err(Error::Interrupted);
            }
            let starts = Points::from_vec(by_units(values, |x, unit| x / unit), dim)?;
            let scores = scores_of(&by_units(of_starts, |s, unit| s * unit), dim)?;
            let target = SteinTarget::new(&starts, &scores, base, preconditioner)?;
            let target = target.with_score(score, log_density, max_evaluations);
            let seen = |pick: &Pick| {
                let watched = watch(Progress::Herding { chosen: pick.t, size: n });
                if asked.is_over() { ControlFlow::Break(()) } else { watched }
            };
            let placed = place(&target, (target.rows(&starts, &scores)?, climbs), &stop, rule, seen, watch)?;
            if asked.is_over() {
                return Err(Error::Interrupted);
            }
            let points: Vec<f64> = placed.0.trace.iter().flat_map(|pick| target.point(&pick.point)).collect();
            let points = Points::from_vec(by_units(&points, |x, unit| x * unit), dim)?;
            // Starts need not be draws, but scores that are right lead from the outermost ones inwards.
            let is_away = |advice: &Advice| matches!(advice, Advice::ScoresPointAway { .. });
            let advice: Vec<Advice> =
                Advice::on_scores(&starts, &scores).into_iter().filter(is_away).collect();
            Ok((placed, points, target.evaluations(), advice))
        });
    if let Some(error) = asked.raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(error);
    }
    let ((placed, weighed, scale), points, evaluations, advice) = found?;
    let stuck = stuck(&placed);
    let chosen = Chosen::placed(placed, points, weighed, &scale, &stop, "KSD")?.advised(advice);
    Ok(Placed { chosen: Py::new(py, chosen)?, bandwidths: Vec::new(), stuck, evaluations })
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
