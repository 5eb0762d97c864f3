//! The herder of Python: picks one by one or many at a time, and keeps what it has when it is interrupted.

use std::sync::Mutex;

use numpy::PyArray1;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use supersample::{Domain, Herder as Inner, Pick, Result};

use crate::error::refused;
use crate::samples::Samples;
use crate::stop::Stop;
use crate::work::{Watch, run};

/// t, row, score, error, weight norm and margin of a pick.
type Told = (usize, Option<usize>, f64, Option<f64>, Option<f64>, Option<f64>);

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

impl State {
    fn herder(&mut self, samples: &Samples, unique: bool, watch: &Watch) -> Result<&mut Inner> {
        if self.herder.is_none() {
            samples.prepare(watch)?;
            let herder = Inner::new(samples.mu.clone(), Domain::Pool(samples.points.clone()))?;
            self.herder = Some(herder.unique(unique));
        }
        Ok(self.herder.as_mut().expect("it was just made"))
    }

    /// Picks until a rule holds, and says which.
    fn advance(
        &mut self,
        samples: &Samples,
        unique: bool,
        stop: Stop,
        watch: &Watch,
    ) -> Result<&'static str> {
        self.herder(samples, unique, watch)?;
        let State { herder, picks } = self;
        let herder = herder.as_mut().expect("it was just made");
        let single_draw = samples.single_draw();
        for taken in 0..stop.number {
            if watch.picked(taken, stop.number).is_break() {
                return Ok("interrupt");
            }
            let Some(pick) = herder.next() else { return Ok("exhausted") };
            let met = pick.error.and_then(|error| stop.met_by(error, single_draw));
            picks.push(pick);
            if let Some(rule) = met {
                return Ok(rule);
            }
        }
        let _ = watch.picked(stop.number, stop.number);
        Ok("number")
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

    /// Picks `n` more, fewer where the error falls to `tol` or the worth reaches `worth`; says which rule ended it.
    #[pyo3(signature = (n, tol=None, worth=None, threads=None, progress=None))]
    fn advance(
        &self,
        py: Python<'_>,
        n: usize,
        tol: Option<f64>,
        worth: Option<f64>,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<&'static str> {
        let stop = Stop::new(n, tol, worth)?;
        self.write(py, n, threads, progress, |state, samples, watch| {
            state.advance(samples, self.unique, stop, watch)
        })
    }

    /// Takes these rows as the next picks, whatever their scores.
    #[pyo3(signature = (rows, threads=None))]
    fn replay(&self, py: Python<'_>, rows: Vec<usize>, threads: Option<usize>) -> PyResult<()> {
        self.write(py, rows.len(), threads, None, |state, samples, watch| {
            let picks = state.herder(samples, self.unique, watch)?.replay(&rows)?;
            state.picks.extend(picks);
            Ok(())
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
        let rows = self.read(|state| {
            state.picks.iter().filter_map(|pick| pick.index).map(|row| row as i64).collect::<Vec<_>>()
        })?;
        Ok(PyArray1::from_vec(py, rows))
    }

    /// E_T after each pick.
    fn errors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let errors =
            self.read(|state| state.picks.iter().filter_map(|pick| pick.error).collect::<Vec<_>>())?;
        Ok(PyArray1::from_vec(py, errors))
    }

    /// The picks from this one on, counted from 0.
    fn picks(&self, start: usize) -> PyResult<Vec<Told>> {
        let told = |p: &Pick| (p.t, p.index, p.score, p.error, p.weight_norm, p.margin);
        self.read(|state| state.picks.iter().skip(start).map(told).collect())
    }

    /// E k(x, x) − ‖μ‖² and the error at which rounding takes over; None before the first pick.
    fn scale_of_errors(&self, py: Python<'_>) -> PyResult<Option<(Option<f64>, f64)>> {
        let samples = self.samples.get();
        let floor = self.read(|state| state.herder.as_ref().map(Inner::error_floor))?;
        Ok(py.detach(|| floor.map(|floor| (samples.single_draw(), floor))))
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
        work: impl FnOnce(&mut State, &Samples, &Watch) -> Result<T> + Send,
    ) -> PyResult<T> {
        let samples = self.samples.get();
        let mut state = self.take()?;
        let is_new = state.herder.is_none();
        let size = samples.cost_of(picks + 1) + if is_new { samples.cost() } else { 0.0 };
        let done = run(py, threads, size, progress.as_ref(), |watch| work(&mut state, samples, watch));
        *self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(state);
        let (result, outcome) = done?;
        outcome?;
        result.map_err(refused)
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
