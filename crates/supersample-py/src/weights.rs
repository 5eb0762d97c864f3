//! Weights on chosen rows that match the samples best.

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use supersample::weights::{WeightRule, optimal};

use crate::arrays::vector;
use crate::error::refused;
use crate::samples::Samples;
use crate::work::run;

/// The rule of this name; `None` for equal weights.
pub(crate) fn rule_of(name: &str) -> PyResult<Option<WeightRule>> {
    match name {
        "equal" => Ok(None),
        "simplex" => Ok(Some(WeightRule::Simplex)),
        "free" => Ok(Some(WeightRule::SumToOne)),
        _ => Err(PyValueError::new_err(format!("weights is '{name}'; choose equal, simplex or free"))),
    }
}

/// The best weights on these rows of the samples by the rule `simplex` or `free`, and the MMD with them.
#[pyfunction]
#[pyo3(signature = (samples, rows, rule, threads=None, progress=None))]
pub(crate) fn optimal_weights<'py>(
    py: Python<'py>,
    samples: &Bound<'py, Samples>,
    rows: PyReadonlyArray1<'py, i64>,
    rule: &str,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyArray1<f64>>, f64)> {
    let rule = rule_of(rule)?.ok_or_else(|| PyValueError::new_err("equal weights need no rule"))?;
    let rows: Vec<usize> = rows.as_array().iter().map(|&row| row as usize).collect();
    let samples = samples.get();
    let cubes = (rows.len() as f64).powi(3);
    let size = samples.cost() + samples.cost_of(rows.len()) + cubes;
    let (best, outcome) = run(py, threads, size, progress.as_ref(), |watch| {
        let mu = samples.in_double(watch)?;
        optimal(&*mu, &samples.points.select(&rows)?, rule)
    })?;
    outcome?;
    let best = best.map_err(refused)?;
    let error = best.error.expect("samples have a norm");
    Ok((vector(py, best.weights), error))
}
