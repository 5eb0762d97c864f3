//! Stein point MCMC (Chen et al. 2019): each new point is the best by kernel Stein discrepancy along a short chain that
//! starts at an earlier point.

#[cfg(test)]
use rand::RngExt;
use rand_pcg::Pcg64;

use super::chain::State;
use super::{Density, Mover, Repulsion};

/// The earlier point that the next short chain starts at.
#[derive(Clone, Copy)]
pub(crate) enum Restart {
    /// The newest.
    Last,
    /// One at random.
    #[cfg(test)]
    Random,
    /// The one without which the discrepancy would be largest.
    Influential,
}

/// `count` points, the best of `length` chain states each, and the kernel Stein discrepancy after each of them.
pub(crate) fn stein_points(
    density: &Density,
    mover: &Mover,
    restart: Restart,
    start: Vec<f64>,
    (count, length): (usize, usize),
    random: &mut Pcg64,
) -> (Vec<f64>, Vec<f64>) {
    let mut chosen: Vec<State> = Vec::with_capacity(count);
    // Σⱼ k₀(xᵢ, xⱼ) of each chosen point, over all of them.
    let mut sums: Vec<f64> = Vec::with_capacity(count);
    let mut discrepancies = Vec::with_capacity(count);
    let first = State::new(density, start);
    for n in 1..=count {
        let total: f64 = sums.iter().sum();
        let without = |i: &usize| total - 2.0 * sums[*i] + stein_kernel(&chosen[*i], &chosen[*i]);
        let from = match restart {
            _ if n == 1 => &first,
            Restart::Last => &chosen[n - 2],
            #[cfg(test)]
            Restart::Random => &chosen[random.random_range(0..n - 1)],
            Restart::Influential => {
                let by_influence = |a: &usize, b: &usize| without(a).total_cmp(&without(b));
                &chosen[(0..n - 1).max_by(by_influence).expect("there is a point")]
            }
        };
        let mut state = from.clone();
        let mut best: Option<(f64, State)> = None;
        for _ in 0..length {
            mover.advance(density, &Repulsion::None, &mut state, random);
            let others: f64 = chosen.iter().map(|other| stein_kernel(other, &state)).sum();
            let score = others + 0.5 * stein_kernel(&state, &state);
            if best.as_ref().is_none_or(|(least, _)| score < *least) {
                best = Some((score, state.clone()));
            }
        }
        let (_, new) = best.expect("a chain has a state");
        let with: Vec<f64> = chosen.iter().map(|other| stein_kernel(other, &new)).collect();
        let own = stein_kernel(&new, &new);
        sums.iter_mut().zip(&with).for_each(|(sum, with)| *sum += with);
        sums.push(with.iter().sum::<f64>() + own);
        chosen.push(new);
        discrepancies.push(sums.iter().sum::<f64>().max(0.0).sqrt() / n as f64);
    }
    (chosen.into_iter().flat_map(|state| state.x).collect(), discrepancies)
}

/// The Langevin Stein kernel of the inverse multiquadric k = (1 + r²)^(−½):
/// ∇ₓ·∇ᵧk + s(x)·∇ᵧk + s(y)·∇ₓk + s(x)·s(y)·k.
fn stein_kernel(a: &State, b: &State) -> f64 {
    let dim = a.x.len();
    let (mut square, mut along, mut product) = (0.0, 0.0, 0.0);
    for j in 0..dim {
        let gap = a.x[j] - b.x[j];
        square += gap * gap;
        along += (a.score[j] - b.score[j]) * gap;
        product += a.score[j] * b.score[j];
    }
    let base = 1.0 / (1.0 + square).sqrt();
    let cube = base * base * base;
    dim as f64 * cube - 3.0 * square * cube * base * base + along * cube + product * base
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convergence::log_log_slope;
    use crate::lab::{Sampler, stream};
    use supersample::{Points, Preconditioner, SteinBase, SteinTarget, metrics, unwatched};

    /// The kernel Stein discrepancy by the library.
    fn discrepancy(density: &Density, points: &[f64]) -> f64 {
        let scores = points
            .chunks_exact(density.dim)
            .flat_map(|x| State::new(density, x.to_vec()).score)
            .collect::<Vec<f64>>();
        let (points, scores) =
            (Points::from_rows(points, density.dim).unwrap(), Points::from_vec(scores, density.dim).unwrap());
        let target = SteinTarget::new(&points, &scores, SteinBase::Imq, Preconditioner::Identity).unwrap();
        metrics::mmd_of_points(&target, &target.rows(&points, &scores).unwrap(), None, &unwatched).unwrap()
    }

    /// The published figure: on a mixture in the plane the discrepancy of Stein points falls faster along n than that of the
    /// states of the same chain, and lies below it at the same number of evaluations.
    #[test]
    fn the_discrepancy_falls_along_n_on_a_mixture() {
        let density = &Density::all()[5];
        let mover = Mover::tuned(Sampler::Langevin, density, 500);
        for restart in [Restart::Last, Restart::Random, Restart::Influential] {
            let mut random = stream(&[11]);
            let start = density.draw(&mut random);
            let (points, discrepancies) =
                stein_points(density, &mover, restart, start.clone(), (200, 10), &mut random);
            assert!((discrepancy(density, &points) / discrepancies[199] - 1.0).abs() < 1e-6);
            let slope = log_log_slope(&discrepancies, 5, 200);
            assert!(slope < -0.6, "{slope}");
            let chain = mover.run(density, Repulsion::None, start, 2000, &mut random);
            let plain = discrepancy(density, &chain.points);
            assert!(discrepancies[199] < plain, "{} {plain}", discrepancies[199]);
        }
    }
}
