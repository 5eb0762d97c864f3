//! Weights that are not negative and sum to one: the least E² over the simplex, by block principal pivoting.
//!
//! With K' the Gram matrix of φ(xₜ) − μ, E² on the simplex is wᵀK'w, and its minimum is u/Σu for the u ≥ 0 that
//! minimises ½uᵀK'u − Σu: a linear complementarity problem. A guess of the support gives u there and a slope elsewhere;
//! all entries of the wrong sign change sides at once, and one by one, from the last, when that stops helping. The
//! second rule alone ends after finitely many steps (Murty 1974), the first makes them few (Júdice and Pires 1994).

use super::factor::Factor;
use super::{KernelMatrix, SMALLEST_PIVOT, with_sum_one};
use crate::{Result, linalg};

/// Guesses at the support at most; about ten are usual.
const MAX_GUESSES: usize = 300;

/// Guesses that may fail to lower the number of wrong signs before entries change sides one by one.
const PATIENCE: usize = 5;

/// The weights, and whether they satisfy the conditions of optimality; if not, they are the best of those tried.
pub(super) fn weights(matrix: &KernelMatrix, z: &[f64], jitter: f64) -> Result<(Vec<f64>, bool)> {
    let count = z.len();
    let mut in_support = vec![true; count];
    let (mut fewest_wrong, mut patience) = (count + 1, PATIENCE);
    let (mut best, mut best_energy) = (vec![1.0 / count as f64; count], f64::INFINITY);
    // Slopes are differences of sums of kernel values.
    let slope_floor = 1e-13 * matrix.largest;
    for _ in 0..MAX_GUESSES {
        let support: Vec<usize> = (0..count).filter(|&i| in_support[i]).collect();
        let factor =
            Factor::new(matrix.part(&support), support.len(), jitter, 0.5 * SMALLEST_PIVOT * matrix.largest);
        let Some(factor) = factor else { break };
        let mut guess = vec![0.0; count];
        let (on_support, multiplier) = with_sum_one(&factor, support.iter().map(|&i| z[i]).collect());
        support.iter().zip(&on_support).for_each(|(&i, w)| guess[i] = *w);
        let slope = |i: usize| linalg::dot(matrix.row(i), &guess) - z[i] - multiplier;
        let is_wrong = |i: &usize| if in_support[*i] { guess[*i] < 0.0 } else { slope(*i) < -slope_floor };
        let wrong: Vec<usize> = (0..count).filter(is_wrong).collect();
        let feasible = clipped(&guess);
        let energy = matrix.energy(&feasible, z);
        if energy < best_energy {
            (best, best_energy) = (feasible, energy);
        }
        if wrong.is_empty() {
            return Ok((clipped(&guess), true));
        }
        if wrong.len() < fewest_wrong {
            (fewest_wrong, patience) = (wrong.len(), PATIENCE);
        } else {
            patience = patience.saturating_sub(1);
        }
        let moved = if patience > 0 { &wrong[..] } else { &wrong[wrong.len() - 1..] };
        moved.iter().for_each(|&i| in_support[i] = !in_support[i]);
    }
    Ok((best, false))
}

/// The nearest thing on the simplex: negative entries at 0, the others scaled to sum to one.
fn clipped(weights: &[f64]) -> Vec<f64> {
    let total: f64 = weights.iter().filter(|w| **w > 0.0).sum();
    weights.iter().map(|w| w.max(0.0) / total).collect()
}
