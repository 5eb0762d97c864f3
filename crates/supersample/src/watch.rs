//! Progress of long computations, and the answer that ends them early.

use std::ops::ControlFlow;

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
    /// Steps of [`polish`](crate::polish()).
    Polishing {
        /// Steps taken.
        steps: usize,
        /// Steps at most.
        most: usize,
    },
}

/// Who watches. Called from any thread, every few milliseconds; [`ControlFlow::Break`] ends the work.
pub(crate) type Watch<'a> = &'a (dyn Fn(Progress) -> ControlFlow<()> + Sync);
