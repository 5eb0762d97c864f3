//! Herder of Python: picks one by one or many at a time, and keeps its picks when it is interrupted.
//!
//! The herder is taken out of its cell while a thread works on it, so that a second thread gets an error and not a
//! deadlock. It is put back with its picks, however the work ended. μ is computed with the first pick, not in the
//! constructor, so that an interrupted herder exists. A pickle holds the rows, the picks and μ; replaying the picks
//! restores the state exactly.

use std::sync::Mutex;

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use supersample::task::{Choose, Problem, Stop, Target, herd_until};
use supersample::{Herder as Inner, Pick, Progress, Result, Watch};

use crate::advice::AdviceList;
use crate::arrays::{RowNumbers, counted, numbers, vector};
use crate::chosen::{Chosen, cost, named_kernel};
use crate::error::refused;
use crate::options::Options;
use crate::work::run;

/// Herding over the rows of an array.
#[pyclass(frozen, module = "supersample._native")]
pub(crate) struct Herder {
    problem: Problem,
    unique: bool,
    /// `None` while a thread is at work on it.
    state: Mutex<Option<State>>,
}

#[derive(Default)]
struct State {
    /// Made when first needed, because the mean embedding takes the time.
    prepared: Option<(Target, Inner)>,
    /// The mean embedding as an earlier herder had computed it.
    known: Option<Vec<f64>>,
    picks: Vec<Pick>,
}

/// Picks that follow each other, in columns.
#[pyclass(frozen, get_all, module = "supersample._native")]
pub(crate) struct Picks {
    t: Vec<usize>,
    rows: Vec<usize>,
    score: Vec<f64>,
    error: Vec<Option<f64>>,
    weight_norm: Vec<Option<f64>>,
    margin: Vec<Option<f64>>,
}

impl Picks {
    fn of(picks: &[Pick]) -> Picks {
        Picks {
            t: picks.iter().map(|pick| pick.t).collect(),
            rows: picks.iter().filter_map(|pick| pick.index).collect(),
            score: picks.iter().map(|pick| pick.score).collect(),
            error: picks.iter().map(|pick| pick.error).collect(),
            weight_norm: picks.iter().map(|pick| pick.weight_norm).collect(),
            margin: picks.iter().map(|pick| pick.margin).collect(),
        }
    }
}

#[pymethods]
impl Herder {
    /// `known` are the values of the mean embedding on these very rows, computed earlier.
    #[new]
    #[pyo3(signature = (x, options, known=None))]
    fn new(
        py: Python<'_>,
        x: PyReadonlyArray2<'_, f64>,
        options: Options<'_>,
        known: Option<PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<Herder> {
        let problem = options.problem(py, &x, options.choose()?)?;
        let state = State { known: numbers(&known), ..State::default() };
        Ok(Herder { problem, unique: options.unique.unwrap_or_default(), state: Mutex::new(Some(state)) })
    }

    fn __len__(&self) -> PyResult<usize> {
        self.read(|state| state.picks.len())
    }

    /// The name of the kernel and its bandwidths, in the units of the scaled rows.
    #[getter]
    fn kernel(&self) -> (&'static str, Vec<f64>) {
        named_kernel(&self.problem)
    }

    /// What to know of the rows and the kernel before believing any pick.
    #[getter]
    fn advice<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        (&AdviceList(self.problem.advice().to_vec())).into_pyobject(py)
    }

    /// The mean embedding on the rows, where it has been computed.
    fn known<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        let known = self.read(|state| match &state.prepared {
            Some((target, _)) => Some(target.recalled().into_owned()),
            None => state.known.clone(),
        })?;
        Ok(known.map(|values| vector(py, values)))
    }

    /// Picks `n` more, fewer where every row was picked.
    #[pyo3(signature = (n, threads=None, progress=None))]
    fn advance(
        &self,
        py: Python<'_>,
        n: usize,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Picks> {
        self.write(py, n, threads, progress, |target, herder, picks, watch| {
            let before = picks.len();
            if n > 0 {
                let seen = |pick: &Pick| watch(Progress::Herding { chosen: pick.t - before, size: n });
                let chosen = herd_until(herder, &[], &Stop::after(n)?, seen)?;
                target.problem().device().check()?;
                picks.extend(chosen.trace);
            }
            Ok(Picks::of(&picks[before..]))
        })
    }

    /// Takes these rows as the next picks, whatever their scores.
    #[pyo3(signature = (rows, threads=None))]
    fn replay(
        &self,
        py: Python<'_>,
        rows: PyReadonlyArray1<'_, i64>,
        threads: Option<usize>,
    ) -> PyResult<Picks> {
        let rows = counted(&rows);
        self.write(py, rows.len(), threads, None, |target, herder, picks, _| {
            let before = picks.len();
            let more = herder.replay(&rows)?;
            target.problem().device().check()?;
            picks.extend(more);
            Ok(Picks::of(&picks[before..]))
        })
    }

    /// Forgets the picks and keeps the mean embedding.
    fn restart(&self) -> PyResult<()> {
        let State { prepared, known, .. } = self.take()?;
        let prepared = prepared.map(|(target, herder)| (target, herder.restart()));
        self.put(State { prepared, known, picks: Vec::new() });
        Ok(())
    }

    /// The rows picked so far.
    fn indices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let rows = self.read(|state| state.picks.iter().filter_map(|pick| pick.index).collect())?;
        Ok((&RowNumbers(rows)).into_pyobject(py)?)
    }

    /// E_T after each pick.
    fn errors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(vector(py, self.read(|state| state.picks.iter().filter_map(|pick| pick.error).collect())?))
    }

    /// All picks so far, with weights by the rule of these options.
    fn chosen(&self, py: Python<'_>, options: Options<'_>) -> PyResult<Chosen> {
        let count = self.read(|state| state.picks.len())?;
        let mut choose = Choose::herd(count).map_err(refused)?;
        choose.weights = options.rule()?;
        let picked =
            self.write(py, count, options.threads, options.progress, |target, _, picks, watch| {
                target.picked(picks, &choose, watch)
            })?;
        self.read(|state| {
            let (target, _) = state.prepared.as_ref().expect("it was just needed");
            Chosen::of(py, target, picked, &choose.stop)
        })?
    }
}

impl Herder {
    fn read<T>(&self, see: impl FnOnce(&State) -> T) -> PyResult<T> {
        let state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        state.as_ref().map(see).ok_or_else(busy)
    }

    /// Takes the state out, prepares it if needed, works on it, and puts it back however the work ended.
    fn write<T: Send>(
        &self,
        py: Python<'_>,
        picks: usize,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
        work: impl FnOnce(&Target, &mut Inner, &mut Vec<Pick>, Watch) -> Result<T> + Send,
    ) -> PyResult<T> {
        let mut state = self.take()?;
        let is_new = state.prepared.is_none() && state.known.is_none();
        let points = self.problem.points();
        let later = points.as_slice().len() as f64 * (picks + 1) as f64;
        let size = if is_new { cost(&self.problem, picks + 1) } else { later };
        let done = run(py, threads, size, progress.as_ref(), |watch| {
            if state.prepared.is_none() {
                let target = match &state.known {
                    Some(values) => self.problem.recall(values.clone(), watch)?,
                    None => self.problem.prepare(watch)?,
                };
                let herder = target.herder(self.unique)?;
                (state.prepared, state.known) = (Some((target, herder)), None);
            }
            let (target, herder) = state.prepared.as_mut().expect("it was just made");
            work(target, herder, &mut state.picks, watch)
        });
        self.put(state);
        done
    }

    fn take(&self) -> PyResult<State> {
        let mut state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        state.take().ok_or_else(busy)
    }

    fn put(&self, state: State) {
        *self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(state);
    }
}

fn busy() -> PyErr {
    PyRuntimeError::new_err(
        "this herder is in use by another thread; wait for it, or give each thread its own herder",
    )
}
