//! Sweeps: rounds over the positions of a set, each of which gives up its row for the one that fits best there.
//!
//! A visit looks at the whole pool, so visits are what costs. Each position therefore remembers its rival, the best
//! row it did not take (or, after a swap, the row it gave up). Swaps elsewhere can turn a rival into the better row,
//! which is seen from one kernel value: between two sweeps, positions whose rival has become better are visited until
//! there are none. Most swaps after the first sweep are found so, and two or three sweeps take the place of six.

use super::constraints::Constraints;
use crate::pool::{PoolScores, Visit};
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
    let mut rivals: Vec<Option<usize>> = vec![None; count];
    // How many positions in a row have been visited in vain, whichever they are: a sweep goes on where the last ended.
    let (mut visits, mut quiet, mut swaps, mut turn) = (0, 0, 0, 0);
    let mut interrupted = false;
    let mut visit = |set: &mut PoolScores, rivals: &mut [Option<usize>], at: usize| {
        visits += 1;
        let swapped = visit(set, constraints, first + at, margin, &mut rivals[at]);
        swaps += usize::from(swapped);
        interrupted = watch(Progress::Sweeping { visits, swaps, size: count }).is_break();
        (swapped, visits < most && !interrupted)
    };
    let mut may_go_on = most > 0;
    while may_go_on && quiet < count {
        for _ in 0..count {
            let (swapped, more) = visit(set, &mut rivals, turn);
            turn = (turn + 1) % count;
            quiet = if swapped { 0 } else { quiet + 1 };
            may_go_on = more;
            if !may_go_on || quiet == count {
                break;
            }
        }
        let mut found = quiet < count;
        while found && may_go_on {
            found = false;
            for at in 0..count {
                set.look_up(rivals.iter().flatten());
                let beats = |rival: usize| {
                    let here = set.chosen()[first + at];
                    constraints.may_replace(here, rival, set.times(rival))
                        && 2.0 * set.gain(first + at, rival) > margin
                };
                if may_go_on && rivals[at].is_some_and(beats) {
                    let (swapped, more) = visit(set, &mut rivals, at);
                    found |= swapped;
                    may_go_on = more;
                    quiet = if swapped { 0 } else { quiet };
                }
            }
        }
    }
    Swept { sweeps: visits.div_ceil(count.max(1)), swaps, converged: quiet == count, interrupted }
}

/// Puts the best row at `position` if it is better than the one there; whether it was.
fn visit(
    set: &mut PoolScores,
    constraints: &Constraints,
    position: usize,
    margin: f64,
    rival: &mut Option<usize>,
) -> bool {
    let here = set.chosen()[position];
    if set.is_on_gpu() {
        let visit = Visit { position, noise: None, threshold: margin / 2.0 };
        let outcome = set.visit_on_gpu(&[visit], None).pop();
        let Some((best, taken)) = outcome.and_then(|outcome| Some((outcome.best?, outcome.taken))) else {
            return false;
        };
        *rival = Some(if taken { here } else { best });
        return taken;
    }
    set.lift(position);
    let found = match constraints.are_grouped() {
        false => set.best_replacement(position),
        true => set.best_replacement_by(position, |i, fit| {
            constraints.may_replace(here, i, set.times(i)).then_some(fit)
        }),
    };
    let Some((best, fit)) = found else { return false };
    // T²E² falls by twice the rise in fit.
    let is_better = 2.0 * (fit - set.fit_here(position)) > margin;
    *rival = Some(if is_better { here } else { best });
    if is_better {
        set.replace(position, best);
    }
    is_better
}
