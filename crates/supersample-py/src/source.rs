//! Rows in batches from Python: its objects gather and sum them, the library drives the passes. They are called on the
//! thread that Python called from.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use supersample::task::Choose;
use supersample::task::stream::{self, Gathered, Pass, Shard, Source};
use supersample::{Error, Result, Watch};

use crate::arrays::{numbers, rows, vector};
use crate::error::refused;
use crate::options::{Options, target, weights_of};
use crate::threads;
use crate::work::run;

/// An object of Python with rows in batches. Its `gather()` gives a gatherer that has seen all rows and how many of their
/// last columns are functions; its `sum(name, points, sums)` adds all rows to each of the sums.
pub(crate) struct PySource<'a, 'py> {
    object: &'a Bound<'py, PyAny>,
    options: &'a Options<'py>,
}

/// Rows that are matched in place of those in batches.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Other<'py> {
    match_rows: PyReadonlyArray2<'py, f64>,
    match_weight: Option<PyReadonlyArray1<'py, f64>>,
    match_functions: Option<PyReadonlyArray2<'py, f64>>,
}

/// An exception, or what the library refuses.
pub(crate) struct Raised(PyErr);

impl From<Error> for Raised {
    fn from(error: Error) -> Raised {
        Raised(refused(error))
    }
}

impl From<PyErr> for Raised {
    fn from(error: PyErr) -> Raised {
        Raised(error)
    }
}

impl From<Raised> for PyErr {
    fn from(Raised(error): Raised) -> PyErr {
        error
    }
}

impl<'a, 'py> PySource<'a, 'py> {
    pub(crate) fn new(object: &'a Bound<'py, PyAny>, options: &'a Options<'py>) -> PySource<'a, 'py> {
        PySource { object, options }
    }
}

impl Source for PySource<'_, '_> {
    type Error = Raised;

    fn gather(&mut self, _: &Choose) -> std::result::Result<Gathered, Raised> {
        let found = self.object.call_method0("gather")?;
        let (gatherer, functions): (Py<Gatherer>, usize) = found.extract()?;
        let gatherer = gatherer.get().taken()?;
        let gathered = self.work(|_| gatherer.finish()?.with_functions(functions))?;
        let Some(later) = &self.options.match_later else { return Ok(gathered) };
        let other: Other<'_> = later.bind(self.object.py()).call0()?.extract()?;
        let (values, dim) = rows(&other.match_rows)?;
        let functions = other.match_functions.as_ref().map(rows).transpose()?;
        Ok(gathered.matching(target(values, dim, numbers(&other.match_weight).as_deref(), functions)?))
    }

    fn sum(&mut self, pass: Pass, sums: &mut [stream::PassSums]) -> std::result::Result<(), Raised> {
        let py = self.object.py();
        let given = sums.iter().map(|sums| Py::new(py, PassSums { sums: Mutex::new(sums.clone()) }));
        let given = given.collect::<PyResult<Vec<_>>>()?;
        let shared: Vec<_> = given.iter().map(|sums| sums.clone_ref(py)).collect();
        self.object.call_method1("sum", (pass.name(), shared))?;
        for (sums, given) in sums.iter_mut().zip(given) {
            *sums = locked(&given.get().sums)?.clone();
        }
        Ok(())
    }

    fn work<T: Send>(
        &mut self,
        work: impl FnOnce(Watch<'_>) -> Result<T> + Send,
    ) -> std::result::Result<T, Raised> {
        let Options { threads, progress, .. } = self.options;
        Ok(run(self.object.py(), *threads, f64::INFINITY, progress.as_ref(), work)?)
    }
}

/// What is behind a lock, unless another thread is at work on it.
pub(crate) fn locked<T>(cell: &Mutex<T>) -> PyResult<MutexGuard<'_, T>> {
    match cell.try_lock() {
        Ok(guard) => Ok(guard),
        Err(TryLockError::Poisoned(poisoned)) => Ok(PoisonError::into_inner(poisoned)),
        Err(TryLockError::WouldBlock) => {
            Err(PyRuntimeError::new_err("this object is in use by another thread; wait for it"))
        }
    }
}

fn expect_columns(found: usize, columns: usize) -> PyResult<()> {
    match found == columns {
        true => Ok(()),
        false => Err(PyValueError::new_err(format!(
            "a batch has {found} columns, but the batches before it have {columns}"
        ))),
    }
}

/// The first pass: how many rows there are, their moments, and the rows that are chosen from.
#[pyclass(frozen, module = "supersample._native")]
pub(crate) struct Gatherer {
    /// None once it is finished.
    gatherer: Mutex<Option<stream::Gatherer>>,
}

impl Gatherer {
    fn of(gatherer: Result<stream::Gatherer>) -> PyResult<Gatherer> {
        Ok(Gatherer { gatherer: Mutex::new(Some(gatherer.map_err(refused)?)) })
    }

    fn taken(&self) -> PyResult<stream::Gatherer> {
        locked(&self.gatherer)?.take().ok_or_else(over)
    }

    fn with<T>(&self, see: impl FnOnce(&mut stream::Gatherer) -> T) -> PyResult<T> {
        locked(&self.gatherer)?.as_mut().map(see).ok_or_else(over)
    }
}

/// What is said of a first pass that is over.
fn over() -> PyErr {
    PyValueError::new_err("the first pass is over")
}

#[pymethods]
impl Gatherer {
    /// Draws this number of rows. A part of the rows has its number, the share of all rows that is expected in it, and the
    /// number of its first row where that is known.
    #[new]
    #[pyo3(signature = (columns, pool_rows, seed, part=None))]
    fn new(
        columns: usize,
        pool_rows: usize,
        seed: u64,
        part: Option<(u64, f64, Option<usize>)>,
    ) -> PyResult<Gatherer> {
        Gatherer::of(match part {
            None => stream::Gatherer::new(columns, pool_rows, seed),
            Some((number, share, first_row)) => {
                stream::Gatherer::of_shard(columns, pool_rows, seed, Shard { number, share, first_row })
            }
        })
    }

    /// What `to_bytes` has written.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Gatherer> {
        Gatherer::of(stream::Gatherer::from_bytes(bytes))
    }

    /// All of it as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.with(|gatherer| gatherer.to_bytes())?))
    }

    /// Adds the rows of another part, which come after these; the other is empty from then on.
    fn merge(&self, other: &Bound<'_, Gatherer>) -> PyResult<()> {
        let other = other.get().taken()?;
        self.with(|gatherer| gatherer.merge(other))?.map_err(refused)
    }

    /// How many rows were drawn.
    #[getter]
    fn drawn(&self) -> PyResult<usize> {
        self.with(|gatherer| gatherer.drawn())
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
        let (weights, logs) = (numbers(&sample_weight), numbers(&log_weight));
        let (values, dim) = rows(&x)?;
        let mut gatherer = locked(&self.gatherer)?;
        let gatherer = gatherer.as_mut().ok_or_else(over)?;
        expect_columns(dim, gatherer.columns())?;
        let weights = weights_of(weights.as_deref(), logs.as_deref());
        let pool = threads::pool(threads::checked(threads)?)?;
        py.detach(|| pool.install(|| gatherer.update(values, weights))).map_err(refused)
    }
}

/// Sums of a later pass.
#[pyclass(frozen, module = "supersample._native")]
pub(crate) struct PassSums {
    sums: Mutex<stream::PassSums>,
}

#[pymethods]
impl PassSums {
    /// What `to_bytes` has written.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<PassSums> {
        Ok(PassSums { sums: Mutex::new(stream::PassSums::from_bytes(bytes).map_err(refused)?) })
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

    /// Adds a batch of rows, in their own units.
    #[pyo3(signature = (x, sample_weight, log_weight, threads=None))]
    fn update(
        &self,
        py: Python<'_>,
        x: PyReadonlyArray2<'_, f64>,
        sample_weight: Option<PyReadonlyArray1<'_, f64>>,
        log_weight: Option<PyReadonlyArray1<'_, f64>>,
        threads: Option<usize>,
    ) -> PyResult<()> {
        let (weights, logs) = (numbers(&sample_weight), numbers(&log_weight));
        let (values, dim) = rows(&x)?;
        let mut sums = locked(&self.sums)?;
        expect_columns(dim, sums.columns())?;
        let size = values.len() as f64 * sums.sums().points().len() as f64;
        let (sums, weights) = (&mut *sums, weights_of(weights.as_deref(), logs.as_deref()));
        run(py, threads, size, None, |watch| sums.update(values, weights, watch))
    }
}
