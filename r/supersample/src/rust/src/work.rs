//! Long work: other threads compute, while the calling one lets R look for an interrupt every 50 ms and show progress. Only
//! the calling thread may use R.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use extendr_api::prelude::*;
use rayon::ThreadPoolBuilder;
use supersample::{Progress, Watch};

use crate::refusal::{Refusal, Result};

/// How often R is called.
const LOOK: Duration = Duration::from_millis(50);

/// Runs `work` on this number of threads. `tick` is a function of R that gets the phase, what is done of it and all of it, and
/// returns whether the work is to go on. A pool belongs to one call, so that a process that R has forked needs none of its
/// parent's threads.
pub(crate) fn run<T: Send>(
    threads: usize,
    tick: &Function,
    work: impl FnOnce(Watch<'_>) -> supersample::Result<T> + Send,
) -> Result<T> {
    let pool =
        ThreadPoolBuilder::new().num_threads(threads).thread_name(|i| format!("supersample-{i}")).build();
    let pool = pool.map_err(|error| {
        Refusal::Words(format!("{threads} threads cannot be started: {error}; ask for fewer with threads"))
    })?;
    let (stop, at) = (AtomicBool::new(false), Mutex::new(("comparing", 0, 0)));
    let watch = |progress: Progress| {
        if let (Some(steps), Ok(mut at)) = (progress.steps(), at.lock()) {
            *at = steps;
        }
        if stop.load(Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let result = std::thread::scope(|scope| {
        let (finished, news) = channel::<()>();
        let worker = scope.spawn(|| {
            // Dropped when the work ends, also after a panic.
            let _finished = finished;
            pool.install(|| work(&watch))
        });
        while let Err(RecvTimeoutError::Timeout) = news.recv_timeout(LOOK) {
            if !stop.load(Relaxed) {
                let (phase, done, total) = at.lock().map_or(("", 0, 0), |at| *at);
                let goes_on = tick.call(pairlist!(phase, done as f64, total as f64));
                stop.store(goes_on.ok().and_then(|goes_on| goes_on.as_bool()) != Some(true), Relaxed);
            }
        }
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    if stop.load(Relaxed) {
        return Err(Refusal::Interrupted);
    }
    Ok(result?)
}
