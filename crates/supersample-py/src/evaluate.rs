//! How good any subset is: its MMD, beside random and evenly spaced rows, and its errors column by column.

use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use rayon::prelude::*;
use supersample::quality::{self, every_kth, quality, random_rows, systematic_rows};
use supersample::{Domain, Error, Herder, KernelExpansion, MeanEmbedding, Points, Result};

use crate::arrays::{matrix, vector};
use crate::error::refused;
use crate::samples::{Samples, rows};
use crate::work::run;

/// How many random subsets are drawn.
const RANDOM_DRAWS: usize = 20;
/// Kernel values the random subsets may cost, T² each; beyond it fewer are drawn, never fewer than 3.
const KERNEL_VALUES: usize = 2_000_000_000;

/// ‖μ − Σ w φ(x)‖ with the weights as they are.
pub(crate) fn mmd_to(
    mu: &dyn MeanEmbedding,
    norm: Option<f64>,
    points: Points,
    weights: Vec<f64>,
) -> Result<f64> {
    let norm = norm.ok_or(Error::UnknownNorm)?;
    let sum = KernelExpansion::new(mu.kernel().clone(), points, weights)?;
    let squared = norm - 2.0 * sum.expectation(mu)? + sum.squared_norm();
    Ok(squared.max(0.0).sqrt())
}

/// The rows of a subset, scaled as the samples are, and as they came.
fn scaled(samples: &Samples, values: &[f64], dim: usize, expected: usize) -> Result<(Points, Points)> {
    if dim != expected {
        let (what, against) = ("the subset", "the data");
        return Err(Error::DimensionMismatch { what, found: dim, against, expected });
    }
    let given = Points::from_rows(values, dim)?;
    let points = Points::from_vec(samples.scaling.apply(values), samples.scaling.out_dim())?;
    Ok((points, given))
}

/// The MMD between the samples and points with these weights, which are used as they are; in double precision.
#[pyfunction]
#[pyo3(signature = (samples, columns, points, weights, threads=None, progress=None))]
pub(crate) fn mmd(
    py: Python<'_>,
    samples: &Bound<'_, Samples>,
    columns: usize,
    points: PyReadonlyArray2<'_, f64>,
    weights: PyReadonlyArray1<'_, f64>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<f64> {
    let samples = samples.get();
    let (values, dim) = rows(&points)?;
    let weights = weights.as_array().to_vec();
    let own = (weights.len() as f64).powi(2) * dim as f64;
    let size = samples.cost() + samples.cost_of(weights.len()) + own;
    let (mmd, outcome) = run(py, threads, size, progress.as_ref(), |watch| {
        let (points, _) = scaled(samples, values, dim, columns)?;
        let mu = samples.in_double(watch)?;
        mmd_to(&*mu, mu.squared_norm(), points, weights)
    })?;
    outcome?;
    mmd.map_err(refused)
}

/// What `evaluate` tells: the MMD, E k(x, x) − ‖μ‖², the error at which rounding takes over, the MMDs of random subsets and of
/// an evenly spaced one, and the errors of mean, sd and quantiles for each column (NaN where there is none), and the root
/// mean square error of the correlations.
type Evaluated<'py> =
    (f64, Option<f64>, f64, Option<(Bound<'py, PyArray1<f64>>, f64)>, Bound<'py, PyArray2<f64>>, Option<f64>);

/// All about a subset with weights, which are used as they are for the MMD.
#[pyfunction]
#[pyo3(signature = (samples, data, points, weights, threads=None, progress=None))]
pub(crate) fn evaluate<'py>(
    py: Python<'py>,
    samples: &Bound<'py, Samples>,
    data: PyReadonlyArray2<'py, f64>,
    points: PyReadonlyArray2<'py, f64>,
    weights: PyReadonlyArray1<'py, f64>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Evaluated<'py>> {
    let samples = samples.get();
    let ((all, columns), (values, dim)) = (rows(&data)?, rows(&points)?);
    let weights = weights.as_array().to_vec();
    let own = 20.0 * (weights.len() as f64).powi(2) * dim as f64;
    let size = samples.cost() + samples.cost_of(weights.len() + 20) + own;
    let (evaluated, outcome) = run(py, threads, size, progress.as_ref(), |watch| -> Result<_> {
        let (points, given) = scaled(samples, values, dim, columns)?;
        let mu = samples.in_double(watch)?;
        let error = mmd_to(&*mu, mu.squared_norm(), points, weights.clone())?;
        let single_draw = mu.mean_diagonal().zip(mu.squared_norm()).map(|(diagonal, norm)| diagonal - norm);
        let herder = Herder::shared(mu, Domain::Pool(samples.points.clone()))?;
        let others = compare(&herder, samples, weights.len())?;
        let data = Points::from_rows(all, columns)?;
        let errors = quality(&data, samples.weights.as_deref(), &given, Some(&weights))?;
        Ok((error, single_draw, herder.error_floor(), others, errors))
    })?;
    outcome?;
    let (error, single_draw, floor, others, errors) = evaluated.map_err(refused)?;
    let others = others.map(|(random, spaced)| (vector(py, random), spaced));
    let table = errors.columns.iter().flat_map(|column| {
        [column.mean, column.sd].into_iter().chain(column.quantiles).map(|error| error.unwrap_or(f64::NAN))
    });
    let table = matrix(py, table.collect(), 2 + quality::QUANTILES.len())?;
    Ok((error, single_draw, floor, others, table, errors.correlation_rms))
}

/// The MMDs of random subsets of this size and of one that is evenly spaced, by weight where there are weights; `None`
/// where there are not more rows than that.
fn compare(herder: &Herder, samples: &Samples, size: usize) -> Result<Option<(Vec<f64>, f64)>> {
    let n = samples.points.len();
    if size >= n {
        return Ok(None);
    }
    let weights = samples.weights.as_deref();
    let error = |rows: &[usize]| Ok(herder.mmd_of_rows(rows)?.expect("samples have a norm"));
    let draws = (KERNEL_VALUES / size.saturating_mul(size)).clamp(3, RANDOM_DRAWS);
    let random = (0..draws as u64).into_par_iter().map(|seed| error(&random_rows(n, weights, size, seed)?));
    let spaced = match weights {
        None => every_kth(n, size)?,
        Some(weights) => systematic_rows(weights, size)?,
    };
    Ok(Some((random.collect::<Result<_>>()?, error(&spaced)?)))
}
