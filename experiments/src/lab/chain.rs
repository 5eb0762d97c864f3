//! Three samplers, and chains that are repelled from their own past.
//!
//! A repelled chain runs on another density at each step: p̃ₜ(x) = p(x)·e^(−bₜ(x))/Zₜ, with bₜ large where the past was. The weight of
//! its state is p/p̃ₜ = Zₜ·e^(bₜ), where 1/Zₜ = E e^(bₜ) over p̃ₜ is estimated by the mean over the past. Without Zₜ the first states, whose
//! past is short, would have nearly all of the weight.

use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;

use super::{Density, stream};

/// Leapfrog steps of one Hamiltonian trajectory.
const LEAPS: usize = 8;

/// How a chain proposes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sampler {
    /// Random-walk Metropolis.
    Walk,
    /// MALA: a step along the gradient and a random one.
    Langevin,
    /// HMC with [`LEAPS`] leapfrog steps, their length drawn from half of the step to the whole.
    Hamiltonian,
}

impl Sampler {
    pub(crate) const ALL: [Sampler; 3] = [Sampler::Walk, Sampler::Langevin, Sampler::Hamiltonian];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Sampler::Walk => "random walk",
            Sampler::Langevin => "MALA",
            Sampler::Hamiltonian => "HMC",
        }
    }

    /// Evaluations of the density or its gradient for one state.
    pub(crate) fn cost(self) -> usize {
        if self == Sampler::Hamiltonian { LEAPS } else { 1 }
    }

    /// The acceptance rate that the step is tuned to.
    fn acceptance(self) -> f64 {
        match self {
            Sampler::Walk => 0.3,
            Sampler::Langevin => 0.57,
            Sampler::Hamiltonian => 0.8,
        }
    }
}

/// A point with what was evaluated there.
#[derive(Clone)]
pub(crate) struct State {
    pub(crate) x: Vec<f64>,
    pub(crate) log_density: f64,
    pub(crate) score: Vec<f64>,
}

impl State {
    pub(crate) fn new(density: &Density, x: Vec<f64>) -> State {
        let mut score = vec![0.0; x.len()];
        let log_density = density.evaluate(&x, &mut score);
        State { x, log_density, score }
    }
}

/// What keeps a chain away from its past.
#[derive(Clone)]
pub(crate) enum Repulsion {
    None,
    /// p(x)·exp(−α·θ·s(x)), θ the mean score of the past (score-repellent Monte Carlo). Where the past mean of a normal is
    /// too high, θ is negative, and states below gain.
    Scores {
        strength: f64,
        mean: Vec<f64>,
        past: Vec<f64>,
    },
    /// p(x)·exp(−β·mean of k(x, xᵢ) over the past), k Gaussian of this bandwidth; `sums` has Σ k(xᵢ, xⱼ) over j ≠ i.
    Kernel {
        strength: f64,
        bandwidth: f64,
        past: Vec<f64>,
        sums: Vec<f64>,
    },
}

/// The density a chain runs on at one step, as seen at one point.
struct View {
    log_density: f64,
    /// Where proposals drift to: the gradient, but for the factor of the scores, whose gradient needs the Hessian. Proposals
    /// may drift anywhere; the acceptance rule knows it.
    drift: Vec<f64>,
}

impl Repulsion {
    pub(crate) fn scores(strength: f64, dim: usize) -> Repulsion {
        Repulsion::Scores { strength, mean: vec![0.0; dim], past: Vec::new() }
    }

    /// A bandwidth of half the typical distance from the mean.
    pub(crate) fn kernel(strength: f64, dim: usize) -> Repulsion {
        Repulsion::Kernel {
            strength,
            bandwidth: 0.5 * (dim as f64).sqrt(),
            past: Vec::new(),
            sums: Vec::new(),
        }
    }

    fn view(&self, state: &State) -> View {
        let mut view = View { log_density: state.log_density, drift: state.score.clone() };
        match self {
            Repulsion::None => {}
            Repulsion::Scores { strength, mean, .. } => {
                let along: f64 = mean.iter().zip(&state.score).map(|(m, s)| m * s).sum();
                view.log_density -= strength * along;
            }
            Repulsion::Kernel { past, .. } if past.is_empty() => {}
            Repulsion::Kernel { strength, bandwidth, past, .. } => {
                let (dim, inverse) = (state.x.len(), 1.0 / (bandwidth * bandwidth));
                let each = strength * dim as f64 / past.len() as f64;
                for point in past.chunks_exact(dim) {
                    let square: f64 = point.iter().zip(&state.x).map(|(p, x)| (p - x) * (p - x)).sum();
                    let value = each * (-0.5 * inverse * square).exp();
                    view.log_density -= value;
                    let towards = point.iter().zip(&state.x).map(|(p, x)| p - x);
                    view.drift.iter_mut().zip(towards).for_each(|(d, t)| *d -= value * inverse * t);
                }
            }
        }
        view
    }

    /// log Zₜ, from the past.
    fn log_constant(&self) -> f64 {
        match self {
            Repulsion::None => 0.0,
            Repulsion::Scores { strength, mean, past } => {
                let along = |s: &[f64]| strength * mean.iter().zip(s).map(|(m, s)| m * s).sum::<f64>();
                -log_mean_exp(&past.chunks_exact(mean.len()).map(along).collect::<Vec<f64>>())
            }
            Repulsion::Kernel { strength, sums, .. } => {
                let each = strength / sums.len() as f64;
                -log_mean_exp(&sums.iter().map(|sum| each * sum).collect::<Vec<f64>>())
            }
        }
    }

    fn remember(&mut self, state: &State) {
        let dim = state.x.len();
        match self {
            Repulsion::None => {}
            Repulsion::Scores { mean, past, .. } => {
                past.extend(&state.score);
                let count = (past.len() / dim) as f64;
                mean.iter_mut().zip(&state.score).for_each(|(m, s)| *m += (s - *m) / count);
            }
            Repulsion::Kernel { bandwidth, past, sums, .. } => {
                let mut own = 0.0;
                for (point, sum) in past.chunks_exact(dim).zip(sums.iter_mut()) {
                    let square: f64 = point.iter().zip(&state.x).map(|(p, x)| (p - x) * (p - x)).sum();
                    let value = (-0.5 * square / (*bandwidth * *bandwidth)).exp();
                    *sum += value;
                    own += value;
                }
                past.extend(&state.x);
                sums.push(own);
            }
        }
    }
}

/// The logarithm of the mean of exponentials; 0 of none.
fn log_mean_exp(logs: &[f64]) -> f64 {
    if logs.is_empty() {
        return 0.0;
    }
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    top + (logs.iter().map(|log| (log - top).exp()).sum::<f64>() / logs.len() as f64).ln()
}

/// A sampler with its step, which is a length in standard deviations.
#[derive(Clone, Copy)]
pub(crate) struct Mover {
    pub(crate) sampler: Sampler,
    pub(crate) step: f64,
}

/// The states of a chain after each step; rejections repeat a state.
#[derive(Default)]
pub(crate) struct Path {
    pub(crate) points: Vec<f64>,
    pub(crate) scores: Vec<f64>,
    /// log p/p̃ of each state.
    pub(crate) log_weights: Vec<f64>,
}

impl Path {
    /// The weights of the first `count` states, which sum to one.
    pub(crate) fn shares(&self, count: usize) -> Vec<f64> {
        let logs = &self.log_weights[..count];
        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = logs.iter().map(|log| (log - top).exp()).collect();
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(|w| w / sum).collect()
    }
}

impl Mover {
    /// The step at which proposals from exact draws are accepted at the sampler's rate, by bisection.
    pub(crate) fn tuned(sampler: Sampler, density: &Density, draws: usize) -> Mover {
        let acceptance = |step: f64| {
            let mut random = stream(&[200]);
            let mover = Mover { sampler, step };
            let rate = |_| {
                let state = State::new(density, density.draw(&mut random));
                let view = Repulsion::None.view(&state);
                let (_, _, rise) = mover.propose(density, &Repulsion::None, &state, &view, &mut random);
                // A NaN is a rejection.
                if rise >= 0.0 { 1.0 } else { rise.exp().max(0.0) }
            };
            (0..draws).map(rate).sum::<f64>() / draws as f64
        };
        let (mut low, mut high) = (0.01_f64, 10.0_f64);
        for _ in 0..12 {
            let middle = (low * high).sqrt();
            if acceptance(middle) > sampler.acceptance() { low = middle } else { high = middle }
        }
        Mover { sampler, step: (low * high).sqrt() }
    }

    /// A chain of `states` states from `start`, which is not one of them.
    pub(crate) fn run(
        &self,
        density: &Density,
        mut repulsion: Repulsion,
        start: Vec<f64>,
        states: usize,
        random: &mut Pcg64,
    ) -> Path {
        let mut state = State::new(density, start);
        let mut path = Path::default();
        for _ in 0..states {
            let log_density = self.advance(density, &repulsion, &mut state, random);
            path.points.extend(&state.x);
            path.scores.extend(&state.score);
            path.log_weights.push(state.log_density - log_density + repulsion.log_constant());
            repulsion.remember(&state);
        }
        path
    }

    /// One step; the log density of the chain of this step at the state it leads to.
    pub(crate) fn advance(
        &self,
        density: &Density,
        repulsion: &Repulsion,
        state: &mut State,
        random: &mut Pcg64,
    ) -> f64 {
        let view = repulsion.view(state);
        let (proposed, proposed_view, rise) = self.propose(density, repulsion, state, &view, random);
        // A NaN is a rejection.
        if random.random::<f64>() < rise.exp() {
            *state = proposed;
            return proposed_view.log_density;
        }
        view.log_density
    }

    /// A proposed state, the chain's density as seen there, and the logarithm of the acceptance ratio.
    fn propose(
        &self,
        density: &Density,
        repulsion: &Repulsion,
        state: &State,
        view: &View,
        random: &mut impl Rng,
    ) -> (State, View, f64) {
        let dim = state.x.len();
        let bell: Vec<f64> = (0..dim).map(|_| StandardNormal.sample(random)).collect();
        let step = self.step;
        let look = |x: Vec<f64>| {
            let state = State::new(density, x);
            let view = repulsion.view(&state);
            (state, view)
        };
        match self.sampler {
            Sampler::Walk => {
                let (to, seen) = look((0..dim).map(|j| state.x[j] + step * bell[j]).collect());
                let rise = seen.log_density - view.log_density;
                (to, seen, rise)
            }
            Sampler::Langevin => {
                let half = 0.5 * step * step;
                let (to, seen) =
                    look((0..dim).map(|j| state.x[j] + half * view.drift[j] + step * bell[j]).collect());
                // log q(x | x′) − log q(x′ | x); the way there took `bell`.
                let back = (0..dim).map(|j| (state.x[j] - to.x[j] - half * seen.drift[j]) / step);
                let ways: f64 = back.zip(&bell).map(|(b, f)| 0.5 * (f * f - b * b)).sum();
                let rise = seen.log_density - view.log_density + ways;
                (to, seen, rise)
            }
            Sampler::Hamiltonian => {
                let step = step * (0.5 + 0.5 * random.random::<f64>());
                let (mut x, mut momentum, mut drift) = (state.x.clone(), bell.clone(), view.drift.clone());
                let mut end = None;
                for _ in 0..LEAPS {
                    for j in 0..dim {
                        momentum[j] += 0.5 * step * drift[j];
                        x[j] += step * momentum[j];
                    }
                    let (state, seen) = look(x.clone());
                    (0..dim).for_each(|j| momentum[j] += 0.5 * step * seen.drift[j]);
                    drift.clone_from(&seen.drift);
                    end = Some((state, seen));
                }
                let (to, seen) = end.expect("there is a leap");
                let kinetic = |momentum: &[f64]| 0.5 * momentum.iter().map(|m| m * m).sum::<f64>();
                let rise = seen.log_density - view.log_density + kinetic(&bell) - kinetic(&momentum);
                (to, seen, rise)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::Truth;

    /// Root mean squares of the four errors over replicates.
    fn errors(
        density: &Density,
        mover: Mover,
        repulsion: &Repulsion,
        states: usize,
        replicates: u64,
        reweighted: bool,
    ) -> [f64; 4] {
        let truth = Truth::new(density, 50_000);
        let mut squares = [0.0; 4];
        for replicate in 0..replicates {
            let mut random = stream(&[9, replicate]);
            let start = density.draw(&mut random);
            let path = mover.run(density, repulsion.clone(), start, states, &mut random);
            let shares = if reweighted { path.shares(states) } else { vec![1.0 / states as f64; states] };
            let found = truth.errors(&path.points, &shares);
            (0..4).for_each(|k| squares[k] += found[k] * found[k] / replicates as f64);
        }
        squares.map(f64::sqrt)
    }

    fn unit_normal(dim: usize) -> Density {
        Density::normal((0..dim * dim).map(|a| f64::from(u8::from(a % (dim + 1) == 0))).collect(), dim)
    }

    #[test]
    fn long_chains_of_every_sampler_have_the_density() {
        let densities = Density::all();
        for density in [&densities[1], &densities[3], &densities[5], &densities[9]] {
            for sampler in Sampler::ALL {
                let mover = Mover::tuned(sampler, density, 300);
                let found = errors(density, mover, &Repulsion::None, 40_000, 1, false);
                let name = (density.name, sampler.name(), mover.step);
                assert!(
                    found[0] < 0.2 && found[1] < 0.3 && found[2] < 0.06 && found[3] < 0.1,
                    "{name:?} {found:?}"
                );
            }
        }
    }

    #[test]
    fn tuning_reaches_the_rate() {
        let density = unit_normal(5);
        let walk = Mover::tuned(Sampler::Walk, &density, 1000);
        // 2.38/√d is accepted at about 0.28 in five dimensions.
        assert!((0.8..1.3).contains(&(walk.step * 5f64.sqrt() / 2.38)), "{}", walk.step);
        assert!(Mover::tuned(Sampler::Langevin, &density, 1000).step > walk.step);
    }

    /// With independent draws of N(−α·x̄, 1) in place of the chain, the mean has variance σ²/((1 + 2α)·n) in the limit:
    /// x̄ₙ₊₁ = x̄ₙ + (ξ − (1 + α)·x̄ₙ)/(n + 1).
    #[test]
    fn scores_reduce_the_error_of_a_normal_mean_by_the_closed_form() {
        let density = unit_normal(5);
        let mover = Mover::tuned(Sampler::Walk, &density, 500);
        let plain = errors(&density, mover, &Repulsion::None, 2000, 40, false);
        for strength in [1.0_f64, 5.0, 20.0] {
            let found = errors(&density, mover, &Repulsion::scores(strength, 5), 2000, 40, false);
            let ratio = found[0] / plain[0] * (1.0 + 2.0 * strength).sqrt();
            assert!((0.7..1.6).contains(&ratio), "{strength}: {ratio}");
        }
        // Second moments pay for it, the more the stronger the repulsion is.
        let strong = errors(&density, mover, &Repulsion::scores(20.0, 5), 2000, 40, false);
        assert!(strong[1] > 3.0 * plain[1], "{} {}", strong[1], plain[1]);
    }

    #[test]
    fn weights_take_the_repulsion_out_again() {
        let density = &Density::all()[5];
        let mover = Mover::tuned(Sampler::Walk, density, 500);
        for repulsion in [Repulsion::kernel(10.0, 2), Repulsion::scores(3.0, 2)] {
            let repelled = errors(density, mover, &repulsion, 4000, 3, false);
            let weighted = errors(density, mover, &repulsion, 4000, 3, true);
            assert!(weighted[1] < 0.2 && weighted[2] < 0.07, "{weighted:?}");
            let by_kernel = matches!(repulsion, Repulsion::Kernel { .. });
            assert!(!by_kernel || weighted[1] < 0.5 * repelled[1], "{repelled:?} {weighted:?}");
        }
    }

    /// The tilt by scores is unbounded where scores are: on the banana the chain leaves the density.
    #[test]
    fn scores_fail_on_the_banana() {
        let density = Density::banana();
        let mover = Mover::tuned(Sampler::Walk, &density, 500);
        let plain = errors(&density, mover, &Repulsion::None, 2000, 10, false);
        for strength in [1.0, 5.0] {
            let found = errors(&density, mover, &Repulsion::scores(strength, 2), 2000, 10, false);
            assert!(
                found[0] > 2.0 * plain[0] && found[1] > 2.0 * plain[1],
                "{strength}: {plain:?} {found:?}"
            );
        }
    }

    /// A strong repulsion by the kernel carries MALA between far modes that it does not leave otherwise, and loses the
    /// density in twenty dimensions.
    #[test]
    fn a_kernel_crosses_between_far_modes_and_fails_in_many_dimensions() {
        let densities = Density::all();
        let modes = |repulsion: &Repulsion, r: u64| {
            let density = &densities[8];
            let mover = Mover { sampler: Sampler::Langevin, step: 0.37 };
            let mut random = stream(&[14, r]);
            let start = density.draw(&mut random);
            let path = mover.run(density, repulsion.clone(), start, 2500, &mut random);
            let mut seen = [false; 5];
            path.points.chunks_exact(2).for_each(|z| seen[density.nearest_mode(z)] = true);
            seen.iter().filter(|seen| **seen).count()
        };
        let total = |repulsion: Repulsion| (0..3).map(|r| modes(&repulsion, r)).sum::<usize>();
        let (plain, repelled) = (total(Repulsion::None), total(Repulsion::kernel(100.0, 2)));
        assert!(repelled >= 12 && plain <= 9, "of 15 modes: {plain}, {repelled}");

        let mover = Mover::tuned(Sampler::Langevin, &densities[2], 300);
        let plain = errors(&densities[2], mover, &Repulsion::None, 1000, 3, false);
        let repelled = errors(&densities[2], mover, &Repulsion::kernel(100.0, 20), 1000, 3, true);
        assert!(repelled[1] > 2.0 * plain[1], "{plain:?} {repelled:?}");
    }
}
