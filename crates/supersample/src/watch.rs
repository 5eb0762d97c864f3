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

impl Progress {
    /// The phase in one word, what is done of it and all of it; `None` for [`Polishing`](Progress::Polishing).
    ///
    /// ```
    /// use supersample::Progress;
    /// assert_eq!(Progress::Herding { chosen: 3, size: 10 }.steps(), Some(("choosing", 3, 10)));
    /// // Sweeps continue until one changes nothing, so the known end is that of this one.
    /// assert_eq!(Progress::Sweeping { visits: 12, swaps: 1, size: 10 }.steps(), Some(("swapping", 12, 20)));
    /// ```
    pub fn steps(self) -> Option<(&'static str, u64, u64)> {
        let of = |phase, done: usize, total: usize| Some((phase, done as u64, total as u64));
        match self {
            // With landmarks, rows are compared with these instead of each other.
            Progress::Embedding { done, total } | Progress::Summing { done, total } => {
                Some(("comparing", done, total))
            }
            Progress::Correcting { done, total } => of("correcting", done, total),
            Progress::Whitening { done, total } => of("whitening", done, total),
            Progress::Landmarks { chosen, size } => of("landmarks", chosen, size),
            Progress::Solving { done, total } | Progress::Projecting { done, total } => {
                of("projecting", done, total)
            }
            Progress::Herding { chosen, size } => of("choosing", chosen, size),
            Progress::Sweeping { visits, size, .. } => {
                of("swapping", visits, visits.max(1).next_multiple_of(size.max(1)))
            }
            Progress::Searching { visits, total } => of("searching", visits, total),
            Progress::Weighing { done, total } => of("weighing", done, total),
            Progress::Measuring { done, total } => of("measuring", done, total),
            Progress::Comparing { done, total } => of("evaluating", done, total),
            Progress::Polishing { .. } => None,
        }
    }
}

/// Function that receives the progress of a long computation. It is called from any thread, every few milliseconds, and
/// ends the work with [`ControlFlow::Break`].
pub type Watch<'a> = &'a (dyn Fn(Progress) -> ControlFlow<()> + Sync);

/// [`Watch`] that does nothing: the work runs to its end.
pub fn unwatched(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}
