//! Progress of long computations, and ending them early.
//!
//! Every long computation takes a [`Watch`] as its last argument and calls it every few milliseconds.

use std::ops::ControlFlow;

/// Progress of a long computation.
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
    /// The eigenvectors of [`Scale::Pca`](crate::scale::Scale::Pca), in steps.
    Whitening {
        /// Steps so far.
        done: usize,
        /// All of them.
        total: usize,
    },
    /// Weights of rows that are corrected by their scores, in rows of the pass at hand.
    Correcting {
        /// Rows so far.
        done: usize,
        /// All of them.
        total: usize,
    },
    /// Choosing the landmarks of [`Landmarks`](crate::embedding::Landmarks).
    Landmarks {
        /// Landmarks so far.
        chosen: usize,
        /// Landmarks asked for.
        size: usize,
    },
    /// Rows summed up at landmarks, or at other points.
    Summing {
        /// Rows so far.
        done: u64,
        /// All of this batch.
        total: u64,
    },
    /// The equations of landmarks, in columns of their kernel matrix.
    Solving {
        /// Columns so far.
        done: usize,
        /// All of them.
        total: usize,
    },
    /// The mean embedding on the rows, projected on landmarks.
    Projecting {
        /// Rows so far.
        done: usize,
        /// All of them.
        total: usize,
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
    /// Weights of chosen points, in columns of their kernel matrix that are eliminated, or in points of positive weight.
    Weighing {
        /// Columns or points so far.
        done: usize,
        /// All of them.
        total: usize,
    },
    /// The MMD of given points.
    Measuring {
        /// Points so far.
        done: usize,
        /// All of them.
        total: usize,
    },
    /// Subsets that another is compared with, after [`Target::evaluate`](crate::task::Target::evaluate).
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

/// Function that receives the progress of a long computation. It is called from any thread, every few milliseconds, and
/// ends the work with [`ControlFlow::Break`].
pub type Watch<'a> = &'a (dyn Fn(Progress) -> ControlFlow<()> + Sync);

/// [`Watch`] that does nothing: the work runs to its end.
pub fn unwatched(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}
