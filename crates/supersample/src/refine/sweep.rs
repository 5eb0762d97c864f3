//! Sweeps: rounds over the positions of a set, each of which gives up its row for the one that fits best there.
//!
//! A visit looks at the whole pool, so visits are what costs. Each position therefore remembers its rival, the best
//! row it did not take (or, after a swap, the row it gave up). Swaps elsewhere can turn a rival into the better row,
//! which is seen from one kernel value: between two sweeps, positions whose rival has become better are visited until
//! there are none. Most swaps after the first sweep are found so, and two or three sweeps take the place of six.

use super::constraints::Constraints;
use crate::device::Visit;
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
            let many = match set.is_on_gpu() {
                true => left.min(count - quiet).min(most - visits.done).min(VISITS_AT_ONCE),
                false => 1,
            };
            for swapped in visits.make(set, constraints, turn, many) {
                turn = (turn + 1) % count;
                quiet = if swapped { 0 } else { quiet + 1 };
            }
            left -= many;
        }
        let mut found = quiet < count;
        while found && visits.may_go_on() {
            found = false;
            for at in 0..count {
                if visits.may_go_on() && visits.rival_is_better(set, constraints, at) {
                    let swapped = visits.make(set, constraints, at, 1).contains(&true);
                    found |= swapped;
                    quiet = if swapped { 0 } else { quiet };
                }
            }
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

    /// Whether the rival of a position has become better than the row there.
    fn rival_is_better(&self, set: &mut PoolScores, constraints: &Constraints, at: usize) -> bool {
        let Some(rival) = self.rivals[at] else { return false };
        set.look_up(self.first, &self.rivals);
        let position = self.first + at;
        constraints.may_replace(set.chosen()[position], rival, set.times(rival))
            && 2.0 * set.gain(position, rival) > self.margin
    }

    /// Visits so many positions from this one on, round and round, and says of each whether it was given another row.
    fn make(&mut self, set: &mut PoolScores, constraints: &Constraints, at: usize, many: usize) -> Vec<bool> {
        let places: Vec<usize> = (at..at + many).map(|at| at % self.count).collect();
        let outcomes = match set.is_on_gpu() {
            true => self.make_on_gpu(set, &places),
            false => places.iter().map(|&at| self.visit(set, constraints, at)).collect(),
        };
        self.done += many;
        self.swaps += outcomes.iter().filter(|&&swapped| swapped).count();
        let progress = Progress::Sweeping { visits: self.done, swaps: self.swaps, size: self.count };
        self.interrupted = (self.watch)(progress).is_break();
        outcomes
    }

    fn make_on_gpu(&mut self, set: &mut PoolScores, places: &[usize]) -> Vec<bool> {
        let threshold = self.margin / 2.0;
        let visit = |at: &usize| Visit { position: self.first + at, noise: None, threshold };
        let visits: Vec<Visit> = places.iter().map(visit).collect();
        let mut now = set.chosen().to_vec();
        let mut swapped = vec![false; places.len()];
        for (i, outcome) in set.visit_on_gpu(&visits, None).into_iter().enumerate() {
            let Some(best) = outcome.best else { continue };
            let here = std::mem::replace(&mut now[visits[i].position], best);
            if !outcome.taken {
                now[visits[i].position] = here;
            }
            self.rivals[places[i]] = Some(if outcome.taken { here } else { best });
            swapped[i] = outcome.taken;
        }
        swapped
    }

    /// Puts the best row at a position if it is better than the one there; whether it was.
    fn visit(&mut self, set: &mut PoolScores, constraints: &Constraints, at: usize) -> bool {
        let position = self.first + at;
        let here = set.chosen()[position];
        set.lift(position);
        let found = match constraints.are_grouped() {
            false => set.best_replacement(position),
            true => set.best_replacement_by(position, |i, fit| {
                constraints.may_replace(here, i, set.times(i)).then_some(fit)
            }),
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
