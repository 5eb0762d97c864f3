//! How good any subset is: its MMD, beside random and evenly spaced rows, and its errors column by column.

use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use rayon::prelude::*;
use supersample::quality::{self, every_kth, quality, random_rows, systematic_rows};
use supersample::{
    Domain, Empirical, Error, Herder, KernelExpansion, MeanEmbedding, Points, Precision, Result,
};

use crate::arrays::{matrix, vector};
use crate::error::refused;
use crate::samples::{Samples, rows};
use crate::work::{Watch, run};

/// How many random subsets are drawn.
const RANDOM_DRAWS: usize = 20;
/// Kernel values the random subsets may cost, T² each; beyond it fewer are drawn, never fewer than 3.
const KERNEL_VALUES: usize = 2_000_000_000;
/// Points whose sums are taken at once.
const BLOCK: usize = 1024;

/// ‖μ − Σ w φ(x)‖ with the weights as they are. Looks up between blocks of points.
pub(crate) fn mmd_to(
    mu: &dyn MeanEmbedding,
    norm: Option<f64>,
    points: Points,
    weights: Vec<f64>,
    watch: &Watch,
) -> Result<f64> {
    let norm = norm.ok_or(Error::UnknownNorm)?;
    let own = squared_norm(mu, &points, &weights, watch)?;
    let (mut product, mut values) = (0.0, Vec::new());
    for (rows, weights) in points.as_slice().chunks(BLOCK * points.dim()).zip(weights.chunks(BLOCK)) {
        if watch.goes_on().is_break() {
            return Err(Error::Interrupted);
        }
        values.resize(weights.len(), 0.0);
        mu.values_into(&Points::from_rows(rows, points.dim())?, &mut values);
        product += values.iter().zip(weights).map(|(value, weight)| value * weight).sum::<f64>();
    }
    Ok((norm - 2.0 * product + own).max(0.0).sqrt())
}

/// ‖Σ w φ(x)‖²; many points can be interrupted where no weight is negative.
fn squared_norm(mu: &dyn MeanEmbedding, points: &Points, weights: &[f64], watch: &Watch) -> Result<f64> {
    let kernel = mu.kernel().clone();
    let total: f64 = weights.iter().sum();
    if weights.iter().any(|&weight| weight < 0.0) || total == 0.0 {
        return Ok(KernelExpansion::new(kernel, points.clone(), weights.to_vec())?.squared_norm());
    }
    let own = Empirical::weighted(kernel, points.clone(), weights)?.precision(Precision::Double);
    own.prepare(&|progress| watch.saw(progress))?;
    Ok(own.squared_norm().expect("samples have a norm") * total * total)
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
        mmd_to(&*mu, mu.squared_norm(), points, weights, watch)
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
        let error = mmd_to(&*mu, mu.squared_norm(), points, weights.clone(), watch)?;
        let single_draw = mu.mean_diagonal().zip(mu.squared_norm()).map(|(diagonal, norm)| diagonal - norm);
        let herder = Herder::shared(mu, Domain::Pool(samples.points.clone()))?;
        let others = compare(&herder, samples, weights.len(), watch)?;
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
fn compare(
    herder: &Herder,
    samples: &Samples,
    size: usize,
    watch: &Watch,
) -> Result<Option<(Vec<f64>, f64)>> {
    let n = samples.points.len();
    if size >= n {
        return Ok(None);
    }
    let weights = samples.weights.as_deref();
    let error = |rows: &[usize]| match watch.goes_on().is_break() {
        true => Err(Error::Interrupted),
        false => Ok(herder.mmd_of_rows(rows)?.expect("samples have a norm")),
    };
    let draws = (KERNEL_VALUES / size.saturating_mul(size)).clamp(3, RANDOM_DRAWS);
    let random = (0..draws as u64).into_par_iter().map(|seed| error(&random_rows(n, weights, size, seed)?));
    let spaced = match weights {
        None => every_kth(n, size)?,
        Some(weights) => systematic_rows(weights, size)?,
    };
    Ok(Some((random.collect::<Result<_>>()?, error(&spaced)?)))
}
