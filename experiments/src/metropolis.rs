//! Random-walk Metropolis over many chains at once, so that the likelihood of all of them is one matrix product.

use ndarray::{Array2, linalg::general_mat_mul};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;
use rayon::prelude::*;
use supersample::linalg::cholesky;

use crate::logistic::{Laplace, LogisticPosterior};

/// Chains that share a matrix product. Groups are the unit of parallel work and fixed, so threads change nothing.
const GROUP: usize = 25;

/// The best scale of a Gaussian random walk on a Gaussian target, as a multiple of its standard deviation times √d.
const WALK: f64 = 2.38;

/// Chains of θ, all at the same step.
pub(crate) struct Chains<'a> {
    posterior: &'a LogisticPosterior,
    /// Lᵀ of the proposal covariance L·Lᵀ = 2.38²/d times the Laplace covariance.
    proposal: Array2<f32>,
    groups: Vec<Group>,
}

struct Group {
    /// One θ a row.
    states: Array2<f32>,
    log_densities: Vec<f64>,
    random: Pcg64,
    proposed: Array2<f32>,
    proposed_log_densities: Vec<f64>,
    noise: Array2<f32>,
    margins: Array2<f32>,
    accepted: u64,
    steps: u64,
}

impl<'a> Chains<'a> {
    /// `count` chains (a multiple of 25), each starting from a draw of the Laplace approximation. They still need a burn-in:
    /// [`advance`](Self::advance) and forget.
    pub(crate) fn new(
        posterior: &'a LogisticPosterior,
        laplace: &Laplace,
        count: usize,
        seed: u64,
    ) -> Chains<'a> {
        assert!(count > 0 && count.is_multiple_of(GROUP), "chains come in groups of {GROUP}");
        let dim = posterior.dim();
        let factor = cholesky(&laplace.covariance, dim).expect("a covariance is definite");
        let transposed =
            |scale: f64| Array2::from_shape_fn((dim, dim), |(i, j)| (scale * factor[j * dim + i]) as f32);
        let mode = Array2::from_shape_fn((GROUP, dim), |(_, j)| laplace.mode[j] as f32);
        let spread = transposed(1.0);
        let group = |index: usize| {
            let mut random = Pcg64::seed_from_u64(seed.wrapping_mul(1_000_003).wrapping_add(index as u64));
            let noise = normals(dim, &mut random);
            let mut states = mode.clone();
            general_mat_mul(1.0, &noise, &spread, 1.0, &mut states);
            let mut margins = Array2::zeros((0, 0));
            let mut log_densities = vec![0.0; GROUP];
            posterior.log_densities(states.view(), &mut margins, &mut log_densities);
            Group {
                proposed: states.clone(),
                states,
                proposed_log_densities: log_densities.clone(),
                log_densities,
                random,
                noise,
                margins,
                accepted: 0,
                steps: 0,
            }
        };
        let groups = (0..count / GROUP).map(group).collect();
        Chains { posterior, proposal: transposed(WALK / (dim as f64).sqrt()), groups }
    }

    /// Every chain makes this many steps.
    pub(crate) fn advance(&mut self, steps: usize) {
        let (posterior, proposal) = (self.posterior, &self.proposal);
        self.groups.par_iter_mut().for_each(|group| {
            for _ in 0..steps {
                group.step(posterior, proposal);
            }
        });
    }

    /// The present θ of each chain, one a row, group after group.
    pub(crate) fn states(&self) -> impl Iterator<Item = &Array2<f32>> {
        self.groups.iter().map(|group| &group.states)
    }

    /// The share of proposals accepted so far.
    pub(crate) fn acceptance(&self) -> f64 {
        let accepted: u64 = self.groups.iter().map(|group| group.accepted).sum();
        let steps: u64 = self.groups.iter().map(|group| group.steps).sum();
        accepted as f64 / (steps * GROUP as u64) as f64
    }
}

impl Group {
    fn step(&mut self, posterior: &LogisticPosterior, proposal: &Array2<f32>) {
        let random = &mut self.random;
        self.noise.mapv_inplace(|_| StandardNormal.sample(random));
        self.proposed.assign(&self.states);
        general_mat_mul(1.0, &self.noise, proposal, 1.0, &mut self.proposed);
        posterior.log_densities(self.proposed.view(), &mut self.margins, &mut self.proposed_log_densities);
        for chain in 0..GROUP {
            let rise = self.proposed_log_densities[chain] - self.log_densities[chain];
            // The proposal is symmetric: accept with probability min(1, p(θ')/p(θ)).
            if random.random::<f64>() < rise.exp() {
                self.states.row_mut(chain).assign(&self.proposed.row(chain));
                self.log_densities[chain] = self.proposed_log_densities[chain];
                self.accepted += 1;
            }
        }
        self.steps += 1;
    }
}

fn normals(dim: usize, random: &mut Pcg64) -> Array2<f32> {
    Array2::from_shape_simple_fn((GROUP, dim), || StandardNormal.sample(random))
}

/// Draws of all chains, kept one in `every` after a burn-in: `rounds` rows of each chain, as they were in one round.
pub(crate) fn draw(chains: &mut Chains<'_>, burn_in: usize, every: usize, rounds: usize) -> Vec<f32> {
    chains.advance(burn_in);
    let mut draws = Vec::new();
    for _ in 0..rounds {
        chains.advance(every);
        draws.extend(chains.states().flatten());
    }
    draws
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logistic::tests::small_case;
    use crate::whitening::mean_and_covariance;

    /// Mean and covariance of a density in the plane, by sums over a fine grid of ±7 Laplace standard deviations.
    fn by_quadrature(posterior: &LogisticPosterior, laplace: &Laplace) -> (Vec<f64>, Vec<f64>) {
        let n = 280;
        let axis = |k: usize, i: usize| {
            laplace.mode[k] + laplace.covariance[3 * k].sqrt() * (i as f64 / n as f64 - 0.5) * 14.0
        };
        let top = posterior.log_density(&laplace.mode);
        let (mut mass, mut mean, mut second) = (0.0, [0.0; 2], [0.0; 4]);
        for i in 0..=n {
            for j in 0..=n {
                let theta = [axis(0, i), axis(1, j)];
                let weight = (posterior.log_density(&theta) - top).exp();
                mass += weight;
                (0..2).for_each(|k| mean[k] += weight * theta[k]);
                (0..4).for_each(|k| second[k] += weight * theta[k / 2] * theta[k % 2]);
            }
        }
        let mean: Vec<f64> = mean.iter().map(|m| m / mass).collect();
        let covariance = (0..4).map(|k| second[k] / mass - mean[k / 2] * mean[k % 2]).collect();
        (mean, covariance)
    }

    #[test]
    fn the_chains_have_the_mean_and_covariance_of_the_posterior() {
        let posterior = small_case(2);
        let laplace = posterior.laplace();
        let (mean, covariance) = by_quadrature(&posterior, &laplace);
        let mut chains = Chains::new(&posterior, &laplace, 50, 11);
        let draws: Vec<f64> = draw(&mut chains, 200, 20, 2000).into_iter().map(f64::from).collect();
        let (drawn_mean, drawn_covariance) = mean_and_covariance(&draws, 2);
        for k in 0..2 {
            // 10⁵ draws, nearly independent: standard error 0.003 of a standard deviation.
            let gap = (drawn_mean[k] - mean[k]).abs() / covariance[3 * k].sqrt();
            assert!(gap < 0.02, "mean {k}: {gap}");
            // The Laplace approximation is further from the truth than the chains are.
            assert!((laplace.mode[k] - mean[k]).abs() / covariance[3 * k].sqrt() > 2.0 * gap);
        }
        for k in 0..4 {
            let scale = (covariance[3 * (k / 2)] * covariance[3 * (k % 2)]).sqrt();
            let gap = (drawn_covariance[k] - covariance[k]).abs() / scale;
            assert!(gap < 0.03, "covariance {k}: {gap}");
        }
        assert!((0.2..0.6).contains(&chains.acceptance()), "{}", chains.acceptance());
    }

    #[test]
    fn the_same_seed_gives_the_same_draws_for_any_number_of_threads() {
        let posterior = small_case(3);
        let laplace = posterior.laplace();
        let run = |seed: u64, threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| draw(&mut Chains::new(&posterior, &laplace, 75, seed), 10, 5, 4))
        };
        assert_eq!(run(1, 1), run(1, 3));
        assert_ne!(run(1, 1), run(2, 1));
        assert_eq!(run(1, 1).len(), 75 * 4 * 3);
    }
}
