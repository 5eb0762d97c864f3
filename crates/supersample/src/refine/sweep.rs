//! Sweeps: rounds over the positions of a set, each of which gives up its row for the one that fits best there.
//!
//! A visit looks at the whole pool, so visits are what costs. Each position therefore remembers its rival, the best
//! row it did not take (or, after a swap, the row it gave up). Swaps elsewhere can turn a rival into the better row,
//! which is seen from one kernel value: between two sweeps, positions whose rival has become better are visited until
//! there are none. Most swaps after the first sweep are found so, and two or three sweeps take the place of six.

use super::constraints::Constraints;
use crate::device::{Outcome, Visit};
use crate::pool::PoolScores;
use crate::watch::{Progress, Watch};

/// What the sweeps did.
#[derive(Clone, Copy, Default)]
pub(super) struct Swept {
    /// Positions visited, in units of whole sweeps, rounded up.
    pub(super) sweeps: usize,
    pub(super) swaps: usize,
    /// Whether every position has been visited in vain since the last swap.
    pub(super) converged: bool,
    /// Whether the watcher has ended them.
    pub(super) interrupted: bool,
}

/// Visits that a GPU makes between two looks at the watch: some milliseconds.
pub(super) const VISITS_AT_ONCE: usize = 512;

/// Sweeps over the positions that may change, in order, at most `max_sweeps` times. A swap is made only where it
/// lowers T²E² by more than `margin`, its rounding.
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
    // How many positions in a row have been visited in vain, whichever they are: a sweep goes on where the last ended.
    let (mut quiet, mut turn) = (0, 0);
    while visits.may_go_on() && quiet < count {
        let mut left = count;
        while left > 0 && visits.may_go_on() && quiet < count {
            // A GPU makes many without asking; after so many in vain there is nothing left to do.
            let many = visits.at_once(set).min(left).min(count - quiet);
            for swapped in visits.make(set, constraints, turn, many) {
                turn += 1;
                quiet = if swapped { 0 } else { quiet + 1 };
            }
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

    /// How many positions may be visited without asking whether to go on.
    fn at_once(&self, set: &PoolScores) -> usize {
        if set.is_on_gpu() { VISITS_AT_ONCE.min(self.most - self.done) } else { 1 }
    }

    /// Visits all positions, once each, whose rival has become better than the row there; whether any was given another row.
    fn make_where_rivals_are_better(&mut self, set: &mut PoolScores, constraints: &Constraints) -> bool {
        let (mut at, mut found) = (0, false);
        while at < self.count && self.may_go_on() {
            let many = self.at_once(set).min(self.count - at);
            if set.is_on_gpu() {
                let places: Vec<usize> = (at..at + many).filter(|&at| self.rivals[at].is_some()).collect();
                found |= self.make_on_gpu(set, &places, true).contains(&Some(true));
            } else if self.rival_is_better(set, constraints, at) {
                found |= self.make(set, constraints, at, 1).contains(&true);
            }
            at += many;
        }
        found
    }

    /// Whether the rival of a position has become better than the row there.
    fn rival_is_better(&self, set: &PoolScores, constraints: &Constraints, at: usize) -> bool {
        let Some(rival) = self.rivals[at] else { return false };
        let position = self.first + at;
        constraints.may_replace(set.chosen()[position], rival)
            && 2.0 * set.gain(position, rival) > self.margin
    }

    /// Visits so many positions from this one on, round and round, and says of each whether it was given another row.
    fn make(&mut self, set: &mut PoolScores, constraints: &Constraints, at: usize, many: usize) -> Vec<bool> {
        let places: Vec<usize> = (at..at + many).map(|at| at % self.count).collect();
        if set.is_on_gpu() {
            let swapped = self.make_on_gpu(set, &places, false);
            return swapped.into_iter().map(|swapped| swapped == Some(true)).collect();
        }
        let swapped: Vec<bool> = places.iter().map(|&at| self.visit(set, constraints, at)).collect();
        self.tell(&swapped);
        swapped
    }

    /// Counts visits, of each of which is known whether it was a swap, and tells of them.
    fn tell(&mut self, swapped: &[bool]) {
        self.done += swapped.len();
        self.swaps += swapped.iter().filter(|&&swapped| swapped).count();
        let progress = Progress::Sweeping { visits: self.done, swaps: self.swaps, size: self.count };
        self.interrupted = (self.watch)(progress).is_break();
    }

    /// Visits these places, or those whose rival has become better, and says of each whether it was given another row; `None`
    /// where it was not visited. Where the GPU has failed, nothing more is found.
    fn make_on_gpu(&mut self, set: &mut PoolScores, places: &[usize], if_better: bool) -> Vec<Option<bool>> {
        let threshold = self.margin / 2.0;
        let visit = |&at: &usize| {
            let rival = self.rivals[at].filter(|_| if_better);
            Visit { position: self.first + at, noise: None, threshold, rival }
        };
        let visits: Vec<Visit> = places.iter().map(visit).collect();
        let mut now = set.chosen().to_vec();
        let mut outcomes = set.visit_on_gpu(&visits, None);
        outcomes.resize(places.len(), None);
        let mut swapped = Vec::with_capacity(places.len());
        for ((&at, visit), outcome) in places.iter().zip(&visits).zip(outcomes) {
            let here = now[visit.position];
            if let Some(Outcome { best: Some(best), taken, .. }) = outcome {
                self.rivals[at] = Some(if taken { here } else { best });
                now[visit.position] = if taken { best } else { here };
            }
            swapped.push(outcome.map(|outcome| outcome.taken));
        }
        self.tell(&swapped.iter().copied().flatten().collect::<Vec<_>>());
        swapped
    }

    /// Puts the best row at a position if it is better than the one there; whether it was.
    fn visit(&mut self, set: &mut PoolScores, constraints: &Constraints, at: usize) -> bool {
        let position = self.first + at;
        let here = set.chosen()[position];
        set.lift(position);
        let found = match constraints.are_grouped() {
            false => set.best_replacement(position),
            true => {
                set.best_replacement_by(position, |i, fit| constraints.may_replace(here, i).then_some(fit))
            }
        };
        let Some((best, fit)) = found else { return false };
        // T²E² falls by twice the rise in fit.
        let is_better = 2.0 * (fit - set.fit_here(position)) > self.margin;
        self.rivals[at] = Some(if is_better { here } else { best });
        if is_better {
            set.replace(position, best);
        }
        is_better
    }
}
