//! Long computations, watched: how far they are, and the word that ends them early.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How far a long computation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// The mean embedding on the samples themselves, in pairs of samples.
    Embedding {
        /// Pairs so far.
        done: u64,
        /// All of them.
        total: u64,
    },
    /// Herding the first set of a [`Refiner`](crate::Refiner).
    Herding {
        /// Rows so far.
        chosen: usize,
        /// Rows asked for.
        size: usize,
    },
    /// Sweeps of swaps, which end when a whole sweep changes nothing.
    Sweeping {
        /// Positions visited so far.
        visits: usize,
        /// Swaps made.
        swaps: usize,
        /// Positions in a sweep.
        size: usize,
    },
    /// Annealed sweeps.
    Searching {
        /// Positions visited so far.
        visits: usize,
        /// All visits of this round.
        total: usize,
    },
    /// Subsets that another is compared with, after [`Problem::evaluate`](crate::task::Problem::evaluate).
    Comparing {
        /// Subsets so far.
        done: usize,
        /// All of them.
        total: usize,
    },
    /// Steps of [`polish`](crate::polish()).
    Polishing {
        /// Steps taken.
        steps: usize,
        /// Steps at most.
        most: usize,
    },
}

/// Who watches. Called from any thread, every few milliseconds; [`ControlFlow::Break`] ends the work.
pub type Watch<'a> = &'a (dyn Fn(Progress) -> ControlFlow<()> + Sync);

/// Counts what threads have done of a total, and passes on the word to stop.
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
        if watch(Progress::Embedding { done, total: self.total }).is_break() {
            self.stopped.store(true, Ordering::Relaxed);
        }
    }

    /// What has become of the work.
    pub(crate) fn outcome(&self) -> ControlFlow<()> {
        if self.goes_on() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}
