//! Evaluation of any subset: its MMD, its errors by column, and those of other subsets.

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use supersample::quality::QUANTILES;
use supersample::task::stream::Source;
use supersample::task::{self, Advice, Target, stream};
use supersample::{Error, Points, Result, Watch};

use crate::advice::AdviceList;
use crate::arrays::{Column, Matrix, numbers, points, rows};
use crate::chosen::{ErrorsByName, Of, cost};
use crate::diagnose::Diagnosis;
use crate::options::Options;
use crate::source::PySource;
use crate::work::run;

/// Points that somebody has chosen, in the units of the rows, with weights that are used as they are for the MMD, or equal
/// ones; with the functions or the scores of each where rows have some.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Subset<'py> {
    points: PyReadonlyArray2<'py, f64>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    functions: Option<PyReadonlyArray2<'py, f64>>,
    scores: Option<PyReadonlyArray2<'py, f64>>,
}

/// The MMD between the rows of an array and a subset, and what makes it doubtful; the KSD where the rows have scores.
#[pyfunction]
pub(crate) fn mmd(
    x: &Bound<'_, PyAny>,
    options: Options<'_>,
    subset: &Bound<'_, PyAny>,
) -> PyResult<(f64, AdviceList)> {
    let look = |target: &Target, subset: &task::Subset<'_>, watch: Watch<'_>| target.mmd(subset, watch);
    let (target, found) = measured(x, &options, subset, 1, look)?;
    Ok((found, doubts(&target)))
}

/// All about a subset of the rows of an array, or of a source of batches. The subset may be a function that gives it after
/// the first pass.
#[pyfunction]
pub(crate) fn evaluate(
    x: &Bound<'_, PyAny>,
    options: Options<'_>,
    subset: &Bound<'_, PyAny>,
) -> PyResult<Evaluation> {
    let look = |target: &Target, subset: &task::Subset<'_>, watch: Watch<'_>| target.evaluate(subset, watch);
    // Other subsets are about twenty.
    let (target, found) = measured(x, &options, subset, 20, look)?;
    let (columns, others) = (&found.quality.columns, found.comparison.as_ref());
    let or_nan = |error: Option<f64>| error.unwrap_or(f64::NAN);
    let quantiles = columns.iter().flat_map(|column| column.quantiles.map(or_nan)).collect();
    Ok(Evaluation {
        errors: ErrorsByName(found.errors),
        random_errors: others.map(|others| ErrorsByName(others.random_errors())),
        spaced_errors: others.map(|others| ErrorsByName(others.spaced)),
        mmd_error: found.standard_error,
        random: others.map(|others| Column(others.random_mmds())),
        mean_error: Column(columns.iter().map(|column| or_nan(column.mean)).collect()),
        sd_error: Column(columns.iter().map(|column| or_nan(column.sd)).collect()),
        quantile_error: Matrix(quantiles, QUANTILES.len()),
        draws: Diagnosis::of(x.py(), &target)?,
        of: Py::new(x.py(), Of::new(&target))?,
        advice: doubts(&target),
    })
}

/// What is to be said of a kernel that does not distinguish rows.
fn doubts(target: &Target) -> AdviceList {
    let is_of_kernel = |one: &&Advice| {
        matches!(one, Advice::KernelNearlyConstant { .. } | Advice::KernelNearlyDiagonal { .. })
    };
    AdviceList(target.problem().advice().iter().filter(is_of_kernel).cloned().collect())
}

/// Prepares the target of the rows, and looks at the subset by it; points are compared among themselves this number of times.
fn measured<T: Send>(
    x: &Bound<'_, PyAny>,
    options: &Options<'_>,
    subset: &Bound<'_, PyAny>,
    times: usize,
    look: impl Fn(&Target, &task::Subset<'_>, Watch<'_>) -> Result<T> + Send + Sync,
) -> PyResult<(Target, T)> {
    let (py, choose) = (x.py(), options.choose()?);
    let source = &mut PySource::new(x, options);
    let array = x.extract::<PyReadonlyArray2<'_, f64>>().ok();
    let problem = match &array {
        Some(x) => options.problem(py, x, choose)?,
        None => stream::problem(source, choose)?,
    };
    let subset: Subset<'_> =
        if subset.is_callable() { subset.call0()?.extract()? } else { subset.extract()? };
    let given = points(&subset.points).inspect_err(|error| {
        // So that the column that is refused is called one of y.
        let _ = error.value(py).setattr("of", "y");
    })?;
    let (weights, functions) = (numbers(&subset.weights), subset.functions.as_ref().map(points).transpose()?);
    let scores = subset.scores.as_ref().map(rows).transpose()?;
    let subset_with = |means| -> Result<task::Subset<'_>> {
        let mut subset = task::Subset::of_points(given.clone()).weights(weights.as_deref());
        if let Some(functions) = &functions {
            subset = subset.functions(functions.clone());
        }
        if let Some((values, dim)) = scores {
            subset = subset.scores(scores_of(values, dim)?);
        }
        Ok(if let Some(means) = means { subset.means(means) } else { subset })
    };
    if array.is_none() {
        let (target, means) = stream::prepare_at(source, &problem, Some(&given))?;
        let found = source.work(|watch| look(&target, &subset_with(means.as_deref())?, watch))?;
        return Ok((target, found));
    }
    let among = times as f64 * (given.len() as f64).powi(2) * problem.points().dim() as f64;
    let size = cost(&problem, given.len()) + among;
    run(py, options.threads, size, options.progress.as_ref(), |watch| {
        let target = problem.prepare(watch)?;
        let found = look(&target, &subset_with(None)?, watch)?;
        Ok((target, found))
    })
}

/// The scores of points.
pub(crate) fn scores_of(values: &[f64], dim: usize) -> Result<Points> {
    Points::from_rows(values, dim).map_err(|error| match error {
        Error::NonFinite { row, column, value } => Error::NonFiniteScore { row, column, value },
        error => error,
    })
}

/// What `evaluate` has found; errors of columns that are not known are NaN.
#[pyclass(frozen, get_all, module = "supersample._native")]
pub(crate) struct Evaluation {
    errors: ErrorsByName,
    random_errors: Option<ErrorsByName>,
    spaced_errors: Option<ErrorsByName>,
    mmd_error: Option<f64>,
    random: Option<Column>,
    mean_error: Column,
    sd_error: Column,
    /// One row for each column.
    quantile_error: Matrix,
    draws: Option<Py<Diagnosis>>,
    of: Py<Of>,
    /// What makes all of it doubtful.
    advice: AdviceList,
}
