//! Pairs counted by many threads at once, for whoever watches.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Who watches: is told the pairs done and all of them, from any thread, every few milliseconds;
/// [`ControlFlow::Break`] ends the work.
pub type Watch<'a> = &'a (dyn Fn(u64, u64) -> ControlFlow<()> + Sync);

/// Counts the pairs that threads have done of a total, and passes on the word to stop.
pub(crate) struct Tally<'a> {
    watch: Option<Watch<'a>>,
    done: AtomicU64,
    total: u64,
    stopped: AtomicBool,
}

impl<'a> Tally<'a> {
    /// Of so many pairs.
    pub(crate) fn new(watch: Option<Watch<'a>>, total: u64) -> Tally<'a> {
        Tally { watch, done: AtomicU64::new(0), total, stopped: AtomicBool::new(false) }
    }

    /// Whether the work is to go on.
    pub(crate) fn goes_on(&self) -> bool {
        !self.stopped.load(Ordering::Relaxed)
    }

    /// So many pairs more.
    pub(crate) fn add(&self, pairs: usize) {
        let Some(watch) = self.watch else { return };
        let done = self.done.fetch_add(pairs as u64, Ordering::Relaxed) + pairs as u64;
        if watch(done, self.total).is_break() {
            self.stopped.store(true, Ordering::Relaxed);
        }
    }

    /// What has become of the work.
    pub(crate) fn outcome(&self) -> ControlFlow<()> {
        if self.goes_on() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}
