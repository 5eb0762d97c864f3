//! The herder of Python: picks one by one or many at a time, and keeps what it has when it is interrupted.

use std::sync::Mutex;

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use supersample::task::{Ended, Problem, Stop, herd_until};
use supersample::{Herder as Inner, Pick, Progress, Result, Watch};

use crate::arrays::{RowNumbers, counted, vector};
use crate::chosen::{Chosen, rule_of};
use crate::samples::Samples;
use crate::work::run;

/// Herding over the samples themselves.
#[pyclass(frozen, module = "supersample._native")]
pub(crate) struct Herder {
    samples: Py<Samples>,
    unique: bool,
    /// `None` while a thread is at work on it.
    state: Mutex<Option<State>>,
}

#[derive(Default)]
struct State {
    /// Made when first needed, because the mean embedding takes the time.
    herder: Option<Inner>,
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

impl State {
    fn herder(&mut self, problem: &Problem, unique: bool, watch: Watch) -> Result<&mut Inner> {
        if self.herder.is_none() {
            problem.prepare(watch)?;
            self.herder = Some(problem.herder(unique)?);
        }
        Ok(self.herder.as_mut().expect("it was just made"))
    }

    /// So many more picks, fewer where all rows were picked or somebody has ended it.
    fn advance(&mut self, problem: &Problem, unique: bool, n: usize, watch: Watch) -> Result<Picks> {
        let before = self.picks.len();
        let herder = self.herder(problem, unique, watch)?;
        if n > 0 {
            let seen = |pick: &Pick| watch(Progress::Herding { chosen: pick.t - before, size: n });
            let chosen = herd_until(herder, &[], &Stop::after(n)?, seen)?;
            problem.device().check()?;
            self.picks.extend(chosen.trace);
        }
        Ok(Picks::of(&self.picks[before..]))
    }
}

#[pymethods]
impl Herder {
    #[new]
    fn new(samples: Py<Samples>, unique: bool) -> Herder {
        Herder { samples, unique, state: Mutex::new(Some(State::default())) }
    }

    fn __len__(&self) -> PyResult<usize> {
        self.read(|state| state.picks.len())
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
        self.write(py, n, threads, progress, |state, problem, watch| {
            state.advance(problem, self.unique, n, watch)
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
        self.write(py, rows.len(), threads, None, |state, problem, watch| {
            let before = state.picks.len();
            let picks = state.herder(problem, self.unique, watch)?.replay(&rows)?;
            problem.device().check()?;
            state.picks.extend(picks);
            Ok(Picks::of(&state.picks[before..]))
        })
    }

    /// Forgets the picks and keeps the mean embedding.
    fn restart(&self, py: Python<'_>) -> PyResult<()> {
        self.write(py, 0, None, None, |state, _, _| {
            state.herder = state.herder.take().map(Inner::restart);
            state.picks.clear();
            Ok(())
        })
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

    /// All picks so far, with weights by this rule.
    #[pyo3(signature = (weights, threads=None, progress=None))]
    fn chosen(
        &self,
        py: Python<'_>,
        weights: &str,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Chosen> {
        let rule = rule_of(weights)?;
        let picks = self.read(|state| state.picks.len())?;
        self.write(py, picks, threads, progress, |state, problem, watch| {
            if !problem.is_projected() {
                return Chosen::of(problem, &state.picks, Ended::Number, rule, None, watch);
            }
            // While picking, landmarks have stood for the mean embedding.
            let rows: Vec<usize> = state.picks.iter().filter_map(|pick| pick.index).collect();
            Chosen::of(problem, &problem.trace_of(&rows, watch)?, Ended::Number, rule, None, watch)
        })
    }
}

impl Herder {
    fn read<T>(&self, see: impl FnOnce(&State) -> T) -> PyResult<T> {
        let state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        state.as_ref().map(see).ok_or_else(busy)
    }

    /// Takes the state out, works on it, and puts it back whatever has happened.
    fn write<T: Send>(
        &self,
        py: Python<'_>,
        picks: usize,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
        work: impl FnOnce(&mut State, &Problem, Watch) -> Result<T> + Send,
    ) -> PyResult<T> {
        let samples = self.samples.get();
        let mut state = self.take()?;
        let is_new = state.herder.is_none();
        let size = samples.cost_of(picks + 1) + if is_new { samples.cost() } else { 0.0 };
        let done =
            run(py, threads, size, progress.as_ref(), |watch| work(&mut state, &samples.problem, watch));
        *self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(state);
        done
    }

    fn take(&self) -> PyResult<State> {
        let mut state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        state.take().ok_or_else(busy)
    }
}

fn busy() -> PyErr {
    PyRuntimeError::new_err(
        "this herder is at work in another thread; wait for it, or give each thread its own",
    )
}
