//! Annealed sweeps: the search beyond the local optimum (simulated annealing).
//!
//! At temperature τ a position draws its row from all that are allowed with probability proportional to
//! exp(fit/τ), the heat bath of the energy T²E²/2, instead of taking the row that fits best. The temperature
//! falls geometrically; an ordinary sweep, the limit τ → 0, ends the search.
//!
//! The largest of fit + τ·G over independent Gumbel variables G is such a draw, and takes one pass over the pool, like
//! any other visit. The variables come from one table that is made once; each visit starts at a random position in it.

use rand::RngExt;
use rand_pcg::Pcg64;

use super::constraints::Constraints;
use crate::pool::PoolScores;
use crate::sum::{Outcome, Visit};
use crate::watch::{Progress, Watch};

/// The first temperature, in units of the energy per coordinate T²E²/(T·d) of the set it starts from. Found by trial on the
/// posteriors of docs/accuracy.md; three times as much or as little costs a few per cent of the error.
const HOT: f64 = 10.0;

/// The last temperature, in the same units. Sets of few rows gain by a colder end, and of many rows lose by it.
pub(super) fn cold(size: usize) -> f64 {
    (0.3 * (size as f64 / 50.0).sqrt()).clamp(0.3, 1.0)
}

/// Smallest number of start positions in the table of noise.
const BEGINNINGS: usize = 1 << 16;

/// Anneals for `sweeps` sweeps from `unit`·[`HOT`] down to `unit` times [`cold`], or until the watch ends it; returns the
/// rows of the lowest energy met, and whether it was ended.
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
    let last = cold(set.chosen().len());
    let (mut now, mut best) = (set.chosen().to_vec(), set.chosen().to_vec());
    // Relative to the start.
    let (mut energy, mut best_energy) = (0.0, 0.0);
    let rows = set.pool_size();
    let beginnings = rows.max(BEGINNINGS);
    let noise = set.noise((0..rows + beginnings).map(|_| gumbel(rng) as f32).collect());
    let temperature_at = |step: usize| {
        let done = step as f64 / (steps - 1).max(1) as f64;
        unit * HOT * (last / HOT).powf(done)
    };
    let at_once = set.visits_at_once();
    for first in (0..steps).step_by(at_once) {
        if watch(Progress::Searching { visits: first, total: steps }).is_break() {
            return (best, true);
        }
        let visit = |step: usize| {
            let (begins, temperature) = (rng.random_range(0..beginnings), temperature_at(step));
            Visit {
                position: free.start + step % free.len(),
                noise: Some((begins, temperature)),
                threshold: temperature * gumbel(rng),
                rival: None,
            }
        };
        let visits: Vec<Visit> = (first..steps.min(first + at_once)).map(visit).collect();
        let outcomes = set.visit(&visits, constraints.groups(), Some(&noise));
        for (visit, outcome) in visits.iter().zip(outcomes) {
            if let Some(Outcome { best: Some(next), fit, fit_here, taken: true, .. }) = outcome {
                energy -= fit - fit_here;
                now[visit.position] = next;
                if energy < best_energy {
                    best_energy = energy;
                    best.clone_from_slice(&now);
                }
            }
        }
    }
    (best, false)
}

/// A standard Gumbel variable.
fn gumbel(rng: &mut Pcg64) -> f64 {
    // Uniform on (0, 1]; 1 would be infinite.
    let uniform = 1.0 - rng.random::<f64>();
    -(-uniform.ln()).max(f64::MIN_POSITIVE).ln()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn the_largest_of_fits_with_noise_is_a_draw_by_their_exponentials() {
        let mut rng = Pcg64::seed_from_u64(3);
        let fits = [0.0, 1.0, 2.5];
        let mut drawn = [0; 3];
        for _ in 0..200_000 {
            let noisy = fits.map(|fit| fit + gumbel(&mut rng));
            let best = (0..3).max_by(|&a, &b| noisy[a].total_cmp(&noisy[b])).unwrap();
            drawn[best] += 1;
        }
        let total: f64 = fits.iter().map(|fit: &f64| fit.exp()).sum();
        for (count, fit) in drawn.into_iter().zip(fits) {
            assert!((f64::from(count) / 200_000.0 - fit.exp() / total).abs() < 0.005, "{drawn:?}");
        }
    }
}
