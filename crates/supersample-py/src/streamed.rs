//! Rows that come in batches from Python: gathered, summed at landmarks, and summed again at those that were chosen.

use std::sync::{Mutex, MutexGuard, PoisonError};

use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use supersample::embedding::{KernelSums, LandmarkSums};
use supersample::task::{
    self, HerdOptions, MemoryEstimate, Problem, RowWeights, Stop, ThinOptions, pool_rows_within,
};
use supersample::{Points, RefineOptions, Watch};

use crate::arrays::{RowNumbers, counted, matrix, numbers, rows};
use crate::chosen::{Chosen, Refinement};
use crate::error::refused;
use crate::samples::{Samples, options_of};
use crate::threads;
use crate::work::run;

/// What another thread is working on, where there is one.
fn busy() -> PyErr {
    PyRuntimeError::new_err("another thread is working on this; wait for it")
}

fn locked<T>(cell: &Mutex<T>) -> PyResult<MutexGuard<'_, T>> {
    match cell.try_lock() {
        Ok(guard) => Ok(guard),
        Err(std::sync::TryLockError::Poisoned(poisoned)) => Ok(PoisonError::into_inner(poisoned)),
        Err(std::sync::TryLockError::WouldBlock) => Err(busy()),
    }
}

fn weights_of<'a>(weights: &'a Option<Vec<f64>>, logs: &'a Option<Vec<f64>>) -> RowWeights<'a> {
    match (weights, logs) {
        (None, None) => RowWeights::Equal,
        (Some(weights), _) => RowWeights::Weights(weights),
        (None, Some(logs)) => RowWeights::Logs(logs),
    }
}

/// The most rows that can be chosen from within so many bytes, of rows of so many columns.
#[pyfunction]
#[pyo3(signature = (limit, columns, n, *, thinning))]
pub(crate) fn pool_rows(limit: u64, columns: usize, n: Option<usize>, thinning: bool) -> PyResult<usize> {
    let needs = |rows: usize| {
        let memory = MemoryEstimate::of(rows, columns).landmarks(task::default_landmarks(rows, n));
        let set = |memory: MemoryEstimate| memory.thinning(n.unwrap_or(10_000), &RefineOptions::default());
        if thinning { set(memory.marginals(true)) } else { memory }
    };
    pool_rows_within(limit, n, needs).map_err(refused)
}

/// The first pass: how many rows there are, their moments, and the pool.
#[pyclass(frozen, module = "supersample._native")]
pub(crate) struct Gatherer {
    /// None once it is finished.
    gatherer: Mutex<Option<task::Gatherer>>,
}

#[pymethods]
impl Gatherer {
    #[new]
    fn new(columns: usize, pool_rows: usize, seed: u64) -> PyResult<Gatherer> {
        let gatherer = task::Gatherer::new(columns, pool_rows, seed).map_err(refused)?;
        Ok(Gatherer { gatherer: Mutex::new(Some(gatherer)) })
    }

    /// Takes in a batch of rows.
    fn update(
        &self,
        py: Python<'_>,
        x: PyReadonlyArray2<'_, f64>,
        sample_weight: Option<PyReadonlyArray1<'_, f64>>,
        log_weight: Option<PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<()> {
        let (weights, logs) = (numbers(sample_weight), numbers(log_weight));
        let (values, dim) = rows(&x)?;
        let mut gatherer = locked(&self.gatherer)?;
        let gatherer = gatherer.as_mut().ok_or_else(|| PyValueError::new_err("the first pass is over"))?;
        let columns = gatherer.columns();
        if dim != columns {
            let message = format!("a batch has {dim} columns, and those before had {columns}");
            return Err(PyValueError::new_err(message));
        }
        let pool = threads::pool(threads::checked(None)?)?;
        py.detach(|| pool.install(|| gatherer.update(values, weights_of(&weights, &logs)))).map_err(refused)
    }

    /// How many rows there have been.
    #[getter]
    fn rows(&self) -> PyResult<usize> {
        Ok(locked(&self.gatherer)?.as_ref().map_or(0, task::Gatherer::rows))
    }

    /// The problem of choosing from the pool.
    #[pyo3(signature = (*, kernel, bandwidths, scale, precision, marginals, landmarks, seed, device))]
    #[expect(clippy::too_many_arguments, reason = "one for each keyword of the Python function")]
    fn samples(
        &self,
        py: Python<'_>,
        kernel: &str,
        bandwidths: Option<Vec<f64>>,
        scale: &str,
        precision: &str,
        marginals: f64,
        landmarks: Option<usize>,
        seed: u64,
        device: &str,
    ) -> PyResult<Samples> {
        let mut options = options_of(kernel, bandwidths, scale, precision)?.marginals(marginals).seed(seed);
        options.device = supersample::Device::named(device).map_err(refused)?;
        options.landmarks = landmarks;
        let gatherer = locked(&self.gatherer)?.take();
        let gatherer = gatherer.ok_or_else(|| PyValueError::new_err("the first pass is over"))?;
        let pool = threads::pool(threads::checked(None)?)?;
        let problem = py.detach(|| pool.install(|| Problem::of_gathered(gatherer.finish()?, options)));
        Ok(Samples { problem: problem.map_err(refused)? })
    }
}

/// Sums of a later pass: at landmarks, or at chosen rows.
#[pyclass(frozen, module = "supersample._native")]
pub(crate) struct PassSums {
    sums: Mutex<Sums>,
}

#[derive(Clone)]
enum Sums {
    AtLandmarks(LandmarkSums),
    AtRows(KernelSums),
}

impl Sums {
    fn update(&mut self, points: &Points, weights: Option<&[f64]>, watch: Watch) -> supersample::Result<()> {
        match self {
            Sums::AtLandmarks(sums) => sums.update(points, weights, watch),
            Sums::AtRows(sums) => sums.update(points, weights, watch),
        }
    }
}

#[pymethods]
impl PassSums {
    /// Adds a batch of rows, brought to the scale of the samples.
    fn update(
        &self,
        py: Python<'_>,
        samples: &Bound<'_, Samples>,
        x: PyReadonlyArray2<'_, f64>,
        sample_weight: Option<PyReadonlyArray1<'_, f64>>,
        log_weight: Option<PyReadonlyArray1<'_, f64>>,
        threads: Option<usize>,
    ) -> PyResult<()> {
        let (weights, logs) = (numbers(sample_weight), numbers(log_weight));
        let (values, dim) = rows(&x)?;
        let problem = &samples.get().problem;
        let mut sums = locked(&self.sums)?;
        let points = match &*sums {
            Sums::AtLandmarks(sums) => sums.sums().points().len(),
            Sums::AtRows(sums) => sums.points().len(),
        };
        let size = values.len() as f64 * points as f64;
        if dim != problem.rows().dim() {
            let message = format!("a batch has {dim} columns, and the pool has {}", problem.rows().dim());
            return Err(PyValueError::new_err(message));
        }
        let sums = &mut *sums;
        run(py, threads, size, None, |watch| {
            let (points, weights) = problem.batch(values, weights_of(&weights, &logs))?;
            sums.update(&points, weights.as_deref(), watch)
        })
    }

    /// How many landmarks there are; 0 for sums at rows.
    #[getter]
    fn landmarks(&self) -> PyResult<usize> {
        Ok(match &*locked(&self.sums)? {
            Sums::AtLandmarks(sums) => sums.landmarks(),
            Sums::AtRows(_) => 0,
        })
    }
}

/// How many rows there are in all and the places of the pool among them; None where all rows are at hand.
#[pyfunction]
pub(crate) fn gathered<'py>(
    py: Python<'py>,
    samples: &Bound<'py, Samples>,
) -> PyResult<Option<(usize, Bound<'py, PyArray1<i64>>)>> {
    let Some(gathered) = samples.get().problem.gathered() else { return Ok(None) };
    let places = RowNumbers(gathered.pool_rows().to_vec());
    Ok(Some((gathered.rows(), (&places).into_pyobject(py)?)))
}

/// These of the rows at hand, as they were given.
#[pyfunction]
pub(crate) fn pool_points<'py>(
    py: Python<'py>,
    samples: &Bound<'_, Samples>,
    rows: PyReadonlyArray1<'_, i64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let all = samples.get().problem.rows();
    let points = all.select(&counted(&rows)).map_err(refused)?;
    matrix(py, points.as_slice().to_vec(), all.dim())
}

/// Sums for the second pass, at landmarks that are chosen here.
#[pyfunction]
pub(crate) fn landmark_sums(
    py: Python<'_>,
    samples: &Bound<'_, Samples>,
    n: Option<usize>,
    threads: Option<usize>,
) -> PyResult<PassSums> {
    let problem = &samples.get().problem;
    let sums = run(py, threads, f64::INFINITY, None, |watch| problem.landmark_sums(n, watch))?;
    Ok(PassSums { sums: Mutex::new(Sums::AtLandmarks(sums)) })
}

/// The second pass is over: its landmarks stand for the mean embedding of the samples.
#[pyfunction]
pub(crate) fn project_on(
    py: Python<'_>,
    samples: &Bound<'_, Samples>,
    sums: &Bound<'_, PassSums>,
    threads: Option<usize>,
) -> PyResult<()> {
    let (problem, sums) = (&samples.get().problem, locked(&sums.get().sums)?.clone());
    let Sums::AtLandmarks(sums) = sums else {
        return Err(PyValueError::new_err("these sums are not at landmarks"));
    };
    run(py, threads, f64::INFINITY, None, |_| problem.project_on(&sums))
}

/// What was chosen from a pool, before its error has been measured against all rows.
#[pyclass(frozen, module = "supersample._native")]
pub(crate) struct Unmeasured {
    chosen: task::Chosen,
    stop: Stop,
    is_searched: bool,
}

#[pymethods]
impl Unmeasured {
    /// Sums for the third pass, at the rows that were chosen.
    fn sums(&self, samples: &Bound<'_, Samples>) -> PyResult<PassSums> {
        let sums = samples.get().problem.sums_at(&self.chosen.rows).map_err(refused)?;
        Ok(PassSums { sums: Mutex::new(Sums::AtRows(sums)) })
    }

    /// The third pass is over: what was chosen, with the error that it has. No sums are needed where all rows are at hand.
    fn measured(
        &self,
        py: Python<'_>,
        samples: &Bound<'_, Samples>,
        sums: Option<&Bound<'_, PassSums>>,
        threads: Option<usize>,
    ) -> PyResult<Chosen> {
        let problem = &samples.get().problem;
        let sums = sums.map(|sums| locked(&sums.get().sums).map(|sums| sums.clone())).transpose()?;
        let means = match sums {
            None => None,
            Some(Sums::AtRows(sums)) => Some(sums.means().map_err(refused)?),
            Some(Sums::AtLandmarks(_)) => {
                return Err(PyValueError::new_err("these sums are not at the chosen rows"));
            }
        };
        run(py, threads, f64::INFINITY, None, |_| {
            let chosen = match &means {
                Some(means) => problem.restated(self.chosen.clone(), means)?,
                None => self.chosen.clone(),
            };
            let found = Chosen::of(problem, &chosen.trace, chosen.ended, None, Some(&self.stop))?;
            let found = found.advised(chosen.advice);
            Ok(found
                .refined(chosen.refined.map(|refined| Refinement::of(refined, self.is_searched, &self.stop))))
        })
    }
}

/// Rows of a pool one after the other by kernel herding, or the best as a set.
#[pyfunction]
#[pyo3(signature = (samples, n, *, tol, worth, thinning, distinct, search, seed, threads, progress))]
#[expect(clippy::too_many_arguments, reason = "one for each keyword of the Python function")]
pub(crate) fn choose_from_pool(
    py: Python<'_>,
    samples: &Bound<'_, Samples>,
    n: Option<usize>,
    tol: Option<f64>,
    worth: Option<f64>,
    thinning: bool,
    distinct: bool,
    search: Option<usize>,
    seed: u64,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Unmeasured> {
    let stop = Stop::new(n, tol, worth).map_err(refused)?;
    let problem = &samples.get().problem;
    let refine = RefineOptions::default().repeats(!distinct);
    let refine = match search {
        Some(0) => refine,
        Some(sweeps) => refine.search(sweeps, seed),
        None => refine.search_by_size(seed),
    };
    let is_searched = refine.search.is_some();
    let chosen = run(py, threads, f64::INFINITY, progress.as_ref(), |watch| match thinning {
        true => problem.thin(&stop, &ThinOptions::default().refine(refine), watch),
        false => problem.herd(&stop, &HerdOptions::default().unique(distinct), watch),
    })?;
    Ok(Unmeasured { chosen, stop, is_searched })
}
