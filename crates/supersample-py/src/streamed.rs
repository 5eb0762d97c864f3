//! Rows that come in batches from Python: gathered, summed at landmarks, and summed again at those that were chosen.

use std::sync::{Mutex, MutexGuard, PoisonError};

use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use supersample::task::{
    self, CONTROL_ROWS, HerdOptions, MemoryEstimate, Problem, ProblemOptions, RowWeights, Stop, ThinOptions,
    pool_rows_within,
};
use supersample::{Points, RefineOptions};

use crate::arrays::{RowNumbers, counted, matrix, numbers, rows, vector};
use crate::chosen::{Chosen, Refinement};
use crate::error::{named, refused};
use crate::evaluate::Evaluation;
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

/// How many herded rows ask for as many landmarks.
fn herded(n: Option<usize>, thinning: bool) -> Option<usize> {
    if thinning { task::as_many_herded(n) } else { n }
}

/// The most rows that can be chosen from within so many bytes, of rows of so many columns.
#[pyfunction]
#[pyo3(signature = (limit, columns, n, *, thinning))]
pub(crate) fn pool_rows(limit: u64, columns: usize, n: Option<usize>, thinning: bool) -> PyResult<usize> {
    let needs = |rows: usize| {
        let memory =
            MemoryEstimate::of(rows, columns).landmarks(task::default_landmarks(rows, herded(n, thinning)));
        let set = |memory: MemoryEstimate| memory.thinning(n.unwrap_or(10_000), &RefineOptions::default());
        if thinning { set(memory.marginals(true)) } else { memory }
    };
    pool_rows_within(limit, n, needs).map_err(refused)
}

/// How many rows are drawn of so many in single precision that are gone through in batches, so that they stay in it; none where
/// all of them are to be made double.
#[pyfunction]
pub(crate) fn pool_rows_of_single(
    rows: usize,
    n: Option<usize>,
    embedding: &str,
    landmarks: Option<usize>,
    device: &str,
) -> PyResult<Option<usize>> {
    let mut options = ProblemOptions::default().embedding(named(embedding)?).device(named(device)?);
    options.landmarks = landmarks;
    Ok(options.pool_rows_of_single(rows, n))
}

/// With how many points each of so many rows is compared where `n` of them are chosen: landmarks, control rows and those
/// that are chosen.
#[pyfunction]
#[pyo3(signature = (rows, n, landmarks, *, thinning))]
pub(crate) fn compared_with(
    rows: usize,
    n: Option<usize>,
    landmarks: Option<usize>,
    thinning: bool,
) -> usize {
    let landmarks = landmarks.unwrap_or_else(|| task::default_landmarks(rows, herded(n, thinning)));
    landmarks + CONTROL_ROWS + n.unwrap_or(0)
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

    /// Gathers the part of this number of rows that come in several, which is expected to have this share of them.
    #[staticmethod]
    fn of_part(columns: usize, pool_rows: usize, share: f64, seed: u64, part: u64) -> PyResult<Gatherer> {
        let gatherer = task::Gatherer::of_part(columns, pool_rows, share, seed, part).map_err(refused)?;
        Ok(Gatherer { gatherer: Mutex::new(Some(gatherer)) })
    }

    /// What `to_bytes` has written.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Gatherer> {
        let gatherer = task::Gatherer::from_bytes(bytes).map_err(refused)?;
        Ok(Gatherer { gatherer: Mutex::new(Some(gatherer)) })
    }

    /// All of it as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let gatherer = locked(&self.gatherer)?;
        Ok(PyBytes::new(py, &gatherer.as_ref().ok_or_else(over)?.to_bytes()))
    }

    /// Adds the rows of another part, which come after these; the other is empty from then on.
    fn merge(&self, other: &Bound<'_, Gatherer>) -> PyResult<()> {
        let other = locked(&other.get().gatherer)?.take().ok_or_else(over)?;
        locked(&self.gatherer)?.as_mut().ok_or_else(over)?.merge(other).map_err(refused)
    }

    /// How many rows were drawn.
    #[getter]
    fn drawn(&self) -> PyResult<usize> {
        Ok(locked(&self.gatherer)?.as_ref().map_or(0, task::Gatherer::drawn))
    }

    /// How many numbers a row has.
    #[getter]
    fn columns(&self) -> PyResult<usize> {
        Ok(locked(&self.gatherer)?.as_ref().map_or(0, task::Gatherer::columns))
    }

    /// Takes in a batch of rows.
    #[pyo3(signature = (x, sample_weight, log_weight, threads=None))]
    fn update(
        &self,
        py: Python<'_>,
        x: PyReadonlyArray2<'_, f64>,
        sample_weight: Option<PyReadonlyArray1<'_, f64>>,
        log_weight: Option<PyReadonlyArray1<'_, f64>>,
        threads: Option<usize>,
    ) -> PyResult<()> {
        let (weights, logs) = (numbers(sample_weight), numbers(log_weight));
        let (values, dim) = rows(&x)?;
        let mut gatherer = locked(&self.gatherer)?;
        let gatherer = gatherer.as_mut().ok_or_else(over)?;
        let columns = gatherer.columns();
        if dim != columns {
            let message = format!("a batch has {dim} columns, and those before had {columns}");
            return Err(PyValueError::new_err(message));
        }
        let pool = threads::pool(threads::checked(threads)?)?;
        py.detach(|| pool.install(|| gatherer.update(values, weights_of(&weights, &logs)))).map_err(refused)
    }

    /// How many rows there have been.
    #[getter]
    fn rows(&self) -> PyResult<usize> {
        Ok(locked(&self.gatherer)?.as_ref().map_or(0, task::Gatherer::rows))
    }

    /// The problem of choosing from the pool. The last so many columns are functions whose means are matched.
    #[pyo3(signature = (*, kernel, bandwidths, scale, precision, marginals, landmarks, seed, functions=0,
                        functions_weight=1.0, functions_unit="each", device="cpu"))]
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
        functions: usize,
        functions_weight: f64,
        functions_unit: &str,
        device: &str,
    ) -> PyResult<Samples> {
        let mut options = options_of(kernel, bandwidths, scale, precision)?.marginals(marginals).seed(seed);
        options.device = named(device)?;
        options.landmarks = landmarks;
        options.functions_unit = named(functions_unit)?;
        let gatherer = locked(&self.gatherer)?.take();
        let gatherer = gatherer.ok_or_else(over)?;
        let pool = threads::pool(threads::checked(None)?)?;
        let problem = py.detach(|| {
            pool.install(|| {
                let gathered = gatherer.finish()?;
                let gathered = match functions {
                    0 => gathered,
                    count => gathered.with_functions(count, functions_weight)?,
                };
                Problem::of_gathered(gathered, options)
            })
        });
        Ok(Samples { problem: problem.map_err(refused)? })
    }
}

/// What is said of a first pass that is over.
fn over() -> PyErr {
    PyValueError::new_err("the first pass is over")
}

/// Sums of a later pass: at landmarks, or at other points.
#[pyclass(frozen, module = "supersample._native")]
pub(crate) struct PassSums {
    sums: Mutex<task::PassSums>,
}

impl PassSums {
    fn of(sums: task::PassSums) -> PassSums {
        PassSums { sums: Mutex::new(sums) }
    }

    /// The mean embedding at the points of a pass, which has to be one at other points than landmarks.
    fn means(&self) -> PyResult<Vec<f64>> {
        let sums = locked(&self.sums)?;
        if sums.landmark_sums().is_some() {
            return Err(PyValueError::new_err(
                "these sums are at landmarks, and not at the points that are measured",
            ));
        }
        sums.sums().means().map_err(refused)
    }
}

#[pymethods]
impl PassSums {
    /// What `to_bytes` has written.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<PassSums> {
        Ok(PassSums::of(task::PassSums::from_bytes(bytes).map_err(refused)?))
    }

    /// The pass without any rows as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &locked(&self.sums)?.to_bytes()))
    }

    /// What the rows so far add up to.
    fn numbers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(vector(py, locked(&self.sums)?.numbers()))
    }

    /// Adds the numbers of other rows.
    fn add_numbers(&self, numbers: PyReadonlyArray1<'_, f64>) -> PyResult<()> {
        locked(&self.sums)?.add_numbers(&numbers.as_array().to_vec()).map_err(refused)
    }

    /// A pass over the same rows at other points, in the units of the rows.
    fn at(&self, samples: &Bound<'_, Samples>, points: PyReadonlyArray2<'_, f64>) -> PyResult<PassSums> {
        let (values, dim) = rows(&points)?;
        let sums = locked(&self.sums)?;
        let points = Points::from_rows(values, dim).and_then(|points| samples.get().problem.scaled(&points));
        Ok(PassSums::of(points.and_then(|points| sums.at(points)).map_err(refused)?))
    }

    /// Adds a batch of rows, brought to the scale of the samples.
    fn update(
        &self,
        py: Python<'_>,
        x: PyReadonlyArray2<'_, f64>,
        sample_weight: Option<PyReadonlyArray1<'_, f64>>,
        log_weight: Option<PyReadonlyArray1<'_, f64>>,
        threads: Option<usize>,
    ) -> PyResult<()> {
        let (weights, logs) = (numbers(sample_weight), numbers(log_weight));
        let (values, dim) = rows(&x)?;
        let mut sums = locked(&self.sums)?;
        let size = values.len() as f64 * sums.sums().points().len() as f64;
        let columns = sums.columns();
        if dim != columns {
            let message = format!("a batch has {dim} columns, and those before had {columns}");
            return Err(PyValueError::new_err(message));
        }
        let sums = &mut *sums;
        run(py, threads, size, None, |watch| sums.update(values, weights_of(&weights, &logs), watch))
    }

    /// How many landmarks there are; 0 for sums at other points.
    #[getter]
    fn landmarks(&self) -> PyResult<usize> {
        Ok(locked(&self.sums)?.landmark_sums().map_or(0, |sums| sums.landmarks()))
    }

    /// At how many points the rows are summed, control rows among them.
    #[getter]
    fn points(&self) -> PyResult<usize> {
        Ok(locked(&self.sums)?.sums().points().len())
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
#[pyo3(signature = (samples, n, threads, *, thinning))]
pub(crate) fn landmark_sums(
    py: Python<'_>,
    samples: &Bound<'_, Samples>,
    n: Option<usize>,
    threads: Option<usize>,
    thinning: bool,
) -> PyResult<PassSums> {
    let (problem, n) = (&samples.get().problem, herded(n, thinning));
    let sums = run(py, threads, f64::INFINITY, None, |watch| problem.pass_at_landmarks(n, watch))?;
    Ok(PassSums::of(sums))
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
    let sums =
        sums.landmark_sums().ok_or_else(|| PyValueError::new_err("these sums are not at landmarks"))?;
    run(py, threads, f64::INFINITY, None, |_| problem.project_on(sums))
}

/// What was chosen from a pool, before its error has been measured against all rows.
#[pyclass(frozen, module = "supersample._native")]
pub(crate) struct Unmeasured {
    chosen: task::Chosen,
    stop: Stop,
}

#[pymethods]
impl Unmeasured {
    /// Sums for the third pass, at the rows that were chosen.
    fn sums(&self, samples: &Bound<'_, Samples>) -> PyResult<PassSums> {
        Ok(PassSums::of(samples.get().problem.pass_at_rows(&self.chosen.rows).map_err(refused)?))
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
        let means = sums.map(|sums| sums.get().means()).transpose()?;
        run(py, threads, f64::INFINITY, None, |watch| {
            let chosen = match &means {
                Some(means) => problem.restated(self.chosen.clone(), means)?,
                None => self.chosen.clone(),
            };
            let found = Chosen::of(problem, &chosen.trace, chosen.ended, None, Some(&self.stop), watch)?;
            let found = found.advised(chosen.advice);
            Ok(found.refined(chosen.refined.map(|refined| Refinement::of(refined, &self.stop))))
        })
    }
}

/// All about points that a pass has summed at, with weights that are used as they are for the MMD, or equal ones.
#[pyfunction]
pub(crate) fn evaluate_measured(
    py: Python<'_>,
    samples: &Bound<'_, Samples>,
    points: PyReadonlyArray2<'_, f64>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    sums: &Bound<'_, PassSums>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Evaluation> {
    let (problem, weights, means) = (&samples.get().problem, numbers(weights), sums.get().means()?);
    let (values, dim) = rows(&points)?;
    run(py, threads, f64::INFINITY, progress.as_ref(), |watch| {
        let found =
            problem.evaluate_measured(&Points::from_rows(values, dim)?, weights.as_deref(), &means, watch)?;
        Evaluation::of(problem, found)
    })
}

/// Rows of a pool one after the other by kernel herding, or the best as a set; so many bytes of kernel rows are kept.
#[pyfunction]
#[pyo3(signature = (samples, n, *, tol, worth, thinning, distinct, search, seed, threads, progress, kept=None))]
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
    kept: Option<usize>,
) -> PyResult<Unmeasured> {
    let stop = Stop::new(n, tol, worth).map_err(refused)?;
    let problem = &samples.get().problem;
    let refine = RefineOptions::default().repeats(!distinct);
    let refine = refine.search_asked(search, seed);
    let refine = kept.map_or(refine.clone(), |bytes| refine.memory(bytes));
    let chosen = run(py, threads, f64::INFINITY, progress.as_ref(), |watch| match thinning {
        true => problem.thin(&stop, &ThinOptions::default().refine(refine), watch),
        false => problem.herd(&stop, &HerdOptions::default().unique(distinct), watch),
    })?;
    Ok(Unmeasured { chosen, stop })
}
