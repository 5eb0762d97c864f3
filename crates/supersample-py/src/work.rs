//! Long work: other threads compute, while the calling one checks for Ctrl-C every 20 ms and reports progress. Only the
//! calling thread sees Python's signals.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pyo3::prelude::*;
use supersample::{Progress, Result, Watch};

use crate::error::refused;
use crate::threads::{checked, pool};

/// How often the calling thread looks up.
const LOOK: Duration = Duration::from_millis(20);

/// Work of at most this number of coordinate differences takes about 10 ms: it runs at once, on one thread, without a
/// check for signals.
const SMALL: f64 = 4e6;

/// Before the first news.
const BEGINNING: (&str, u64, u64) = ("comparing", 0, 0);

/// Where the work is, and whether it is to stop. Written by the workers, read by the calling thread, and the other way.
struct Outlook {
    stop: Arc<AtomicBool>,
    /// The phase, what is done of it, and all of it.
    at: Mutex<(&'static str, u64, u64)>,
}

impl Outlook {
    /// Takes in what the library reports, and says whether the work is to go on.
    fn saw(&self, progress: Progress) -> ControlFlow<()> {
        if let (Some(steps), Ok(mut at)) = (progress.steps(), self.at.lock()) {
            *at = steps;
        }
        if self.stop.load(Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Tells a Python function `(phase, done, total)`.
    fn tell(&self, py: Python<'_>, listener: &Py<PyAny>) -> PyResult<()> {
        let at = self.at.lock().map_or(BEGINNING, |at| *at);
        listener.call1(py, at)?;
        Ok(())
    }
}

/// Runs `work` on this many threads with Python free to do something else. `size` is about how many coordinate differences
/// it takes. An exception raised by a signal or by `listener` tells the work to stop, and is raised whatever it then
/// returns.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    size: f64,
    listener: Option<&Py<PyAny>>,
    work: impl FnOnce(Watch<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    run_until(py, &Arc::default(), threads, size, listener, work)
}

/// As [`run`], with a flag that goes up as soon as the work is to stop, for functions of Python that it calls between its looks at
/// the watch.
pub(crate) fn run_until<T: Send>(
    py: Python<'_>,
    stop: &Arc<AtomicBool>,
    threads: Option<usize>,
    size: f64,
    listener: Option<&Py<PyAny>>,
    work: impl FnOnce(Watch<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    let outlook = Outlook { stop: stop.clone(), at: Mutex::new(BEGINNING) };
    let watch = |progress: Progress| outlook.saw(progress);
    let threads = checked(threads)?;
    if size <= SMALL && listener.is_none() {
        let pool = pool(1)?;
        return py.detach(|| pool.install(|| work(&watch))).map_err(refused);
    }
    let pool = pool(threads)?;
    let (result, outcome) = py.detach(|| {
        std::thread::scope(|scope| {
            let (finished, news) = channel::<()>();
            let worker = scope.spawn(|| {
                // Dropped when the work ends, also after a panic.
                let _finished = finished;
                pool.install(|| work(&watch))
            });
            let mut outcome = Ok(());
            while let Err(RecvTimeoutError::Timeout) = news.recv_timeout(LOOK) {
                if outcome.is_ok() {
                    outcome = Python::attach(|py| {
                        py.check_signals()?;
                        listener.map_or(Ok(()), |listener| outlook.tell(py, listener))
                    });
                    outlook.stop.store(outcome.is_err(), Relaxed);
                }
            }
            (worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), outcome)
        })
    });
    // Once more, so that the listener sees the end.
    outcome.and_then(|()| listener.map_or(Ok(()), |listener| outlook.tell(py, listener)))?;
    result.map_err(refused)
}
