//! Annealed sweeps: the search beyond the local optimum.
//!
//! At temperature τ a position draws its row from all that are allowed with probability proportional to
//! exp(fit/τ), the heat bath of the energy T²E²/2, instead of taking the row that fits best. The temperature
//! falls geometrically; an ordinary sweep, the limit τ → 0, ends the search.

use rand::RngExt;
use rand_pcg::Pcg64;

use super::constraints::Constraints;
use crate::pool::PoolScores;
use crate::watch::{Progress, Watch};

/// The first and last temperature, in units of the energy per coordinate T²E²/(T·d) of the set it starts from. Found by
/// trial on the posteriors of docs/accuracy.md; three times as much or as little costs a few per cent of the error.
pub(super) const HOT: f64 = 10.0;
pub(super) const COLD: f64 = 1.0;

/// Rows whose fit is this many temperatures below the best are drawn once in 10⁹: they are left out.
const CUTOFF: f64 = 21.0;

/// Anneals for `sweeps` sweeps from `unit`·[`HOT`] down to `unit`·[`COLD`], or until the watcher ends it; returns
/// the rows of the lowest energy met, and whether it was ended.
pub(super) fn anneal(
    set: &mut PoolScores,
    constraints: &Constraints,
    sweeps: usize,
    unit: f64,
    rng: &mut Pcg64,
    watch: Watch,
) -> (Vec<usize>, bool) {
    let free = constraints.include().len()..set.chosen().len();
    let steps = sweeps * free.len();
    let (mut best, mut best_energy) = (set.chosen().to_vec(), 0.0);
    // The energy relative to the start.
    let mut energy = 0.0;
    let (mut candidates, mut masses): (Vec<(usize, f64)>, Vec<f64>) = (Vec::new(), Vec::new());
    for step in 0..steps {
        if watch(Progress::Searching { visits: step, total: steps }).is_break() {
            return (best, true);
        }
        let done = step as f64 / (steps - 1).max(1) as f64;
        let temperature = unit * HOT * (COLD / HOT).powf(done);
        let position = free.start + step % free.len();
        let here = set.chosen()[position];
        set.lift(position);
        let fit_here = set.fit_here(position);
        let allowed = |set: &PoolScores, i: usize| constraints.may_replace(here, i, set.times(i));
        let other = match constraints.are_grouped() {
            false => set.best_replacement(position),
            true => set.best_replacement_among(position, |i| allowed(set, i)),
        };
        let highest = other.map_or(fit_here, |(_, fit)| fit.max(fit_here));
        set.fits_at_least(position, highest - CUTOFF * temperature, &mut candidates);
        if constraints.are_grouped() {
            candidates.retain(|&(i, _)| allowed(set, i));
        }
        masses.clear();
        masses.extend(candidates.iter().map(|(_, fit)| ((fit - highest) / temperature).exp()));
        let (next, fit) = candidates[draw(&masses, rng)];
        if next != here {
            energy -= fit - fit_here;
            set.replace(position, next);
            if energy < best_energy {
                best_energy = energy;
                best.clone_from_slice(set.chosen());
            }
        }
    }
    (best, false)
}

/// The index of one of the masses, with probability proportional to it.
fn draw(masses: &[f64], rng: &mut Pcg64) -> usize {
    let mut left = rng.random::<f64>() * masses.iter().sum::<f64>();
    let drawn = masses.iter().position(|mass| {
        left -= mass;
        left < 0.0
    });
    // Rounding may leave a last sliver: it belongs to the last.
    drawn.unwrap_or(masses.len() - 1)
}
