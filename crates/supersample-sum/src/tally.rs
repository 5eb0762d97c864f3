//! Counter of pairs for many threads, for a watch.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Watch: called with the pairs done and their total, from any thread, every few milliseconds; [`ControlFlow::Break`]
/// ends the work.
pub type Watch<'a> = &'a (dyn Fn(u64, u64) -> ControlFlow<()> + Sync);

/// Counts the pairs done by all threads, and passes on the request to stop.
pub(crate) struct Tally<'a> {
    watch: Option<Watch<'a>>,
    done: AtomicU64,
    total: u64,
    stopped: AtomicBool,
}

impl<'a> Tally<'a> {
    /// Creates a counter of `total` pairs.
    pub(crate) fn new(watch: Option<Watch<'a>>, total: u64) -> Tally<'a> {
        Tally { watch, done: AtomicU64::new(0), total, stopped: AtomicBool::new(false) }
    }

    /// Whether the work continues.
    pub(crate) fn goes_on(&self) -> bool {
        !self.stopped.load(Ordering::Relaxed)
    }

    /// Adds `pairs` pairs.
    pub(crate) fn add(&self, pairs: usize) {
        let Some(watch) = self.watch else { return };
        let done = self.done.fetch_add(pairs as u64, Ordering::Relaxed) + pairs as u64;
        if watch(done, self.total).is_break() {
            self.stopped.store(true, Ordering::Relaxed);
        }
    }

    /// Outcome of the work.
    pub(crate) fn outcome(&self) -> ControlFlow<()> {
        if self.goes_on() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}
