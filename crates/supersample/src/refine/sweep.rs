//! Sweeps: rounds over the positions of a set, each of which takes the row that fits best there.
//!
//! A visit looks at the whole pool, so visits are the cost. Each position therefore remembers its rival, the best row
//! it did not take (or, after a swap, the row it gave up). Swaps elsewhere can make a rival the better row; one kernel
//! value shows it. Between two sweeps, positions whose rival has become better are visited until there are none. Most
//! swaps after the first sweep are found in this way, and two or three sweeps replace six.

use super::constraints::Constraints;
use crate::pool::PoolScores;
use crate::sum::{Outcome, Visit};
use crate::watch::{Progress, Watch};

/// Outcome of the sweeps.
#[derive(Clone, Copy, Default)]
pub(super) struct Swept {
    /// Positions visited, in units of whole sweeps, rounded up.
    pub(super) sweeps: usize,
    pub(super) swaps: usize,
    /// Whether every position has been visited without a swap since the last swap.
    pub(super) converged: bool,
    /// Whether the watch ended them.
    pub(super) interrupted: bool,
}

/// Sweeps over the positions that may change, in order, at most `max_sweeps` times. A swap is made only if it reduces
/// T²E² by more than `margin`, its rounding.
pub(super) fn sweep(
    set: &mut PoolScores,
    constraints: &Constraints,
    max_sweeps: usize,
    margin: f64,
    watch: Watch,
) -> Swept {
    let (first, count) = (constraints.include().len(), set.chosen().len() - constraints.include().len());
    let most = max_sweeps.saturating_mul(count);
    let mut visits = Visits {
        first,
        count,
        most,
        margin,
        watch,
        rivals: vec![None; count],
        done: 0,
        swaps: 0,
        interrupted: false,
    };
    // Number of consecutive visits without a swap. A sweep continues where the last one ended.
    let (mut quiet, mut turn) = (0, 0);
    while visits.may_go_on() && quiet < count {
        let mut left = count;
        while left > 0 && visits.may_go_on() && quiet < count {
            // Once every position was visited without a swap, the sweeps are done.
            let many = visits.at_once(set).min(left).min(count - quiet);
            let places: Vec<usize> = (turn..turn + many).map(|at| at % count).collect();
            for swapped in visits.make(set, constraints, &places, false) {
                quiet = if swapped == Some(true) { 0 } else { quiet + 1 };
            }
            turn += many;
            left -= many;
        }
        while quiet < count && visits.may_go_on() && visits.make_where_rivals_are_better(set, constraints) {
            quiet = 0;
        }
    }
    let Visits { done, swaps, interrupted, .. } = visits;
    Swept { sweeps: done.div_ceil(count.max(1)), swaps, converged: quiet == count, interrupted }
}

/// The visits of a sweep, and what they leave behind.
struct Visits<'a> {
    /// The first position that may change, how many there are, and how often they may be visited.
    first: usize,
    count: usize,
    most: usize,
    margin: f64,
    watch: Watch<'a>,
    rivals: Vec<Option<usize>>,
    done: usize,
    swaps: usize,
    interrupted: bool,
}

impl Visits<'_> {
    fn may_go_on(&self) -> bool {
        self.done < self.most && !self.interrupted
    }

    /// Number of positions that may be visited between two calls of the watch.
    fn at_once(&self, set: &PoolScores) -> usize {
        set.visits_at_once().min(self.most - self.done)
    }

    /// Visits every position whose rival has become better than its row; returns whether any row changed.
    fn make_where_rivals_are_better(&mut self, set: &mut PoolScores, constraints: &Constraints) -> bool {
        let (mut at, mut found) = (0, false);
        while at < self.count && self.may_go_on() {
            let many = self.at_once(set).min(self.count - at);
            let places: Vec<usize> = (at..at + many).filter(|&at| self.rivals[at].is_some()).collect();
            found |= self.make(set, constraints, &places, true).contains(&Some(true));
            at += many;
        }
        found
    }

    /// Visits these positions, or those whose rival has become better. Returns for each whether its row changed, or
    /// `None` if it was not visited. After a failure of the GPU no row changes.
    fn make(
        &mut self,
        set: &mut PoolScores,
        constraints: &Constraints,
        places: &[usize],
        if_better: bool,
    ) -> Vec<Option<bool>> {
        let visit = |&at: &usize| Visit {
            position: self.first + at,
            noise: None,
            // T²E² falls by twice the rise in fit.
            threshold: self.margin / 2.0,
            rival: self.rivals[at].filter(|_| if_better),
        };
        let visits: Vec<Visit> = places.iter().map(visit).collect();
        let mut outcomes = set.visit(&visits, constraints.groups(), None);
        outcomes.resize(places.len(), None);
        for (&at, outcome) in places.iter().zip(&outcomes) {
            if let Some(Outcome { best: Some(best), here, taken, .. }) = *outcome {
                self.rivals[at] = Some(if taken { here } else { best });
            }
        }
        let swapped: Vec<Option<bool>> = outcomes.iter().map(|made| made.map(|made| made.taken)).collect();
        self.tell(&swapped);
        swapped
    }

    /// Counts the visits and reports them to the watch.
    fn tell(&mut self, swapped: &[Option<bool>]) {
        let made = swapped.iter().flatten().count();
        if made == 0 {
            return;
        }
        self.done += made;
        self.swaps += swapped.iter().filter(|&&swapped| swapped == Some(true)).count();
        let progress = Progress::Sweeping { visits: self.done, swaps: self.swaps, size: self.count };
        self.interrupted = (self.watch)(progress).is_break();
    }
}
