//! Sweeps: each position in turn gives up its row for the best one, until no position wants to.

use super::choices::Choices;
use super::pool_sums::PoolSums;

/// What the sweeps did.
#[derive(Clone, Copy, Default)]
pub(super) struct Swept {
    /// Positions visited, in units of whole sweeps, rounded up.
    pub(super) sweeps: usize,
    pub(super) swaps: usize,
    /// Whether a whole round of visits changed nothing.
    pub(super) converged: bool,
}

/// Sweeps over the positions that may change, in order, at most `max_sweeps` times. A swap is made only where it
/// lowers T²E² by more than `margin`, its rounding.
pub(super) fn sweep(set: &mut PoolSums, choices: &Choices, max_sweeps: usize, margin: f64) -> Swept {
    let free = choices.include().len()..set.chosen().len();
    let (mut visits, mut quiet, mut swaps) = (0, 0, 0);
    // Done as soon as every position has been visited in vain since the last swap, which may be in mid-sweep.
    while quiet < free.len() && visits < max_sweeps.saturating_mul(free.len()) {
        let position = free.start + visits % free.len();
        visits += 1;
        quiet += 1;
        let here = set.chosen()[position];
        set.lift(position);
        let allowed = |i: usize| choices.may_replace(here, i, set.times(i));
        let (best, worth) = set.best_replacement(position, allowed).expect("the row itself is allowed");
        // T²E² falls by twice the rise in worth.
        if best != here && 2.0 * (worth - set.worth(position, here)) > margin {
            set.replace(position, best);
            (quiet, swaps) = (0, swaps + 1);
        }
    }
    Swept { sweeps: visits.div_ceil(free.len().max(1)), swaps, converged: quiet == free.len() }
}
