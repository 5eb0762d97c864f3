//! Spins: Gibbs sampling, herded Gibbs (Bornn et al. 2013) and a self-repellent walk (Doshi et al. 2023) on models that are small
//! enough for a truth by summation over all states.

use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;
use supersample::HerdedGibbs;

use super::stream;

/// p(x) ∝ exp(Σ_{i<j} Jᵢⱼ·xᵢ·xⱼ + Σ hᵢ·xᵢ) with xᵢ = ±1. Bit i of a state is set where xᵢ = 1.
pub(crate) struct Spins {
    pub(crate) name: &'static str,
    pub(crate) count: usize,
    couplings: Vec<f64>,
    fields: Vec<f64>,
    /// The bits of the neighbours of each spin.
    neighbours: Vec<usize>,
}

/// Ten models: complete graphs, on which the rate 1/T is proved, and sparse ones, on which it is not.
pub(crate) fn spin_models() -> Vec<Spins> {
    let complete = |name, count: usize, strength: f64, seed: u64| {
        let mut random = stream(&[300, seed]);
        let mut bell = || -> f64 { StandardNormal.sample(&mut random) };
        let edges = (0..count).flat_map(|i| (0..i).map(move |j| (i, j)));
        let couplings = edges.map(|(i, j)| (i, j, strength * bell() / (count as f64).sqrt())).collect();
        let fields = (0..count).map(|_| 0.5 * strength * bell()).collect();
        Spins::new(name, couplings, fields)
    };
    let lattice = |name, (rows, columns): (usize, usize), coupling: f64| {
        let at = move |r: usize, c: usize| r * columns + c;
        let mut couplings = Vec::new();
        for (r, c) in (0..rows).flat_map(|r| (0..columns).map(move |c| (r, c))) {
            if r > 0 {
                couplings.push((at(r, c), at(r - 1, c), coupling));
            }
            if c > 0 {
                couplings.push((at(r, c), at(r, c - 1), coupling));
            }
        }
        // A field that is no multiple of anything, so that no state has the weight of another.
        let fields = (0..rows * columns).map(|i| 0.2 * (1.7 * i as f64).sin()).collect();
        Spins::new(name, couplings, fields)
    };
    vec![
        lattice("independent, 8", (8, 1), 0.0),
        complete("complete, 4, weak", 4, 0.5, 1),
        complete("complete, 4, strong", 4, 1.5, 2),
        complete("complete, 8, weak", 8, 0.5, 3),
        complete("complete, 8, strong", 8, 1.5, 4),
        complete("complete, 12, strong", 12, 1.5, 5),
        lattice("chain, 10", (1, 10), 0.5),
        lattice("lattice, 3 × 3, weak", (3, 3), 0.2),
        lattice("lattice, 3 × 3, critical", (3, 3), 0.44),
        lattice("lattice, 3 × 4, critical", (3, 4), 0.44),
    ]
}

impl Spins {
    fn new(name: &'static str, edges: Vec<(usize, usize, f64)>, fields: Vec<f64>) -> Spins {
        let count = fields.len();
        let (mut couplings, mut neighbours) = (vec![0.0; count * count], vec![0; count]);
        for (i, j, coupling) in edges {
            couplings[i * count + j] = coupling;
            couplings[j * count + i] = coupling;
            if coupling != 0.0 {
                neighbours[i] |= 1 << j;
                neighbours[j] |= 1 << i;
            }
        }
        Spins { name, count, couplings, fields, neighbours }
    }

    /// P(xᵢ = 1 | the others).
    fn conditional(&self, i: usize, state: usize) -> f64 {
        let line = &self.couplings[i * self.count..(i + 1) * self.count];
        let field = self.fields[i] + line.iter().enumerate().map(|(j, c)| c * spin(state, j)).sum::<f64>();
        1.0 / (1.0 + (-2.0 * field).exp())
    }

    fn energy(&self, state: usize) -> f64 {
        let edges = (0..self.count).flat_map(|i| (0..i).map(move |j| (i, j)));
        let pairs: f64 =
            edges.map(|(i, j)| self.couplings[i * self.count + j] * spin(state, i) * spin(state, j)).sum();
        pairs + self.fields.iter().enumerate().map(|(i, h)| h * spin(state, i)).sum::<f64>()
    }
}

fn spin(state: usize, i: usize) -> f64 {
    if state >> i & 1 == 1 { 1.0 } else { -1.0 }
}

/// How a spin gets its new value.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Gibbs {
    /// By chance.
    Random,
    /// By a weight of its own for each configuration of its neighbours, so that the visits to a configuration share out
    /// the two values as the conditional does (eq. 1 and 2 of the paper with one feature).
    Herded,
    /// By chance, on π(x)·(v(x)/π(x))^(−α) for v the share of visits to x so far.
    Repelled,
}

/// The α of [`Gibbs::Repelled`].
const REPULSION: f64 = 5.0;

/// One update of a spin: the state with the spin up, the state with it down, and the conditional probability of up.
type Update = (usize, usize, f64);

impl Gibbs {
    /// The states after each sweep over the spins, and all updates. One evaluation is one conditional probability.
    pub(crate) fn run(
        self,
        model: &Spins,
        start: usize,
        sweeps: usize,
        random: &mut Pcg64,
    ) -> supersample::Result<(Vec<usize>, Vec<Update>)> {
        let bits = |bits: usize| (0..model.count).filter(move |i| bits >> i & 1 == 1);
        let neighbours = model.neighbours.iter().map(|of_spin| bits(*of_spin).collect()).collect();
        let first_values = (0..model.count).map(|i| start >> i & 1).collect();
        let mut herded = HerdedGibbs::new(first_values, Some(neighbours), random.random())?;
        let mut visits = vec![0.0; 1 << model.count];
        // Visits over probability, up to a constant, with a first visit that is shared out as the density is.
        let first = model.energy(start);
        let excess = |visits: &[f64], state: usize| 1.0 + visits[state] * (first - model.energy(state)).exp();
        let mut state = start;
        let (mut states, mut updates) =
            (Vec::with_capacity(sweeps), Vec::with_capacity(sweeps * model.count));
        for _ in 0..sweeps {
            for i in 0..model.count {
                let probability = model.conditional(i, state);
                let (with, without) = (state | 1 << i, state & !(1 << i));
                let up = match self {
                    Gibbs::Random => random.random::<f64>() < probability,
                    Gibbs::Herded => herded.update(i, &[1.0 - probability, probability])? == 1,
                    Gibbs::Repelled => {
                        let ratio = excess(&visits, without) / excess(&visits, with);
                        let odds = probability / (1.0 - probability) * ratio.powf(REPULSION);
                        random.random::<f64>() * (1.0 + odds) < odds
                    }
                };
                state = if up { with } else { without };
                updates.push((with, without, probability));
            }
            visits[state] += 1.0;
            states.push(state);
        }
        Ok((states, updates))
    }
}

/// The share of the flip in the kernel of the MMD: k is the product of 1 + c·xᵢ·yᵢ over the spins, divided by k(x, x).
const FLIP: f64 = 0.5;

/// The probabilities of all states.
pub(crate) struct SpinsTruth {
    probabilities: Vec<f64>,
}

impl SpinsTruth {
    pub(crate) fn new(model: &Spins) -> SpinsTruth {
        let weights: Vec<f64> = (0..1 << model.count).map(|state| model.energy(state).exp()).collect();
        let sum: f64 = weights.iter().sum();
        SpinsTruth { probabilities: weights.into_iter().map(|w| w / sum).collect() }
    }

    /// One exact draw.
    pub(crate) fn draw(&self, random: &mut Pcg64) -> usize {
        let mut left: f64 = random.random();
        let ends_here = |p: &f64| {
            left -= p;
            left < 0.0
        };
        self.probabilities.iter().position(ends_here).unwrap_or(0)
    }

    /// Errors of equally weighted states: root mean squares over spins and pairs of spins, the total variation distance (the
    /// distribution function of a spin is its mean again), and the MMD.
    pub(crate) fn errors(&self, states: &[usize]) -> [f64; 4] {
        let mut gaps: Vec<f64> = self.probabilities.iter().map(|p| -p).collect();
        states.iter().for_each(|&state| gaps[state] += 1.0 / states.len() as f64);
        Self::errors_of_gaps(gaps)
    }

    /// Errors where both states of every update count by the conditional probability, not the one that was taken
    /// (Rao–Blackwell), which needs no more evaluations.
    pub(crate) fn errors_of_updates(&self, updates: &[Update]) -> [f64; 4] {
        let mut gaps: Vec<f64> = self.probabilities.iter().map(|p| -p).collect();
        for (with, without, probability) in updates {
            gaps[*with] += probability / updates.len() as f64;
            gaps[*without] += (1.0 - probability) / updates.len() as f64;
        }
        Self::errors_of_gaps(gaps)
    }

    fn errors_of_gaps(mut gaps: Vec<f64>) -> [f64; 4] {
        let variation = 0.5 * gaps.iter().map(|gap| gap.abs()).sum::<f64>();
        // The Walsh–Hadamard transform: entry S becomes the error of E Π_{i ∈ S} xᵢ, up to sign.
        let mut half = 1;
        while half < gaps.len() {
            for block in gaps.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                low.iter_mut().zip(high).for_each(|(l, h)| (*l, *h) = (*l + *h, *l - *h));
            }
            half *= 2;
        }
        let of_size = |size: u32| {
            let squares = gaps.iter().enumerate().filter(|(set, _)| set.count_ones() == size);
            let (sum, count) = squares.fold((0.0, 0.0), |(s, n), (_, gap)| (s + gap * gap, n + 1.0));
            f64::sqrt(sum / count)
        };
        let spins = gaps.len().trailing_zeros();
        let squares =
            gaps.iter().enumerate().map(|(set, gap)| FLIP.powi(set.count_ones() as i32) * gap * gap);
        let mmd = (squares.sum::<f64>() / (1.0 + FLIP).powi(spins as i32)).sqrt();
        [of_size(1), of_size(2), variation, mmd]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convergence::{Line, log_grid};

    /// The slope of the total variation distance over T = 100 to 10⁵ sweeps on log-log paper, a mean over six chains.
    fn rate(model: &Spins, gibbs: Gibbs) -> f64 {
        let truth = SpinsTruth::new(model);
        let grid = log_grid(100, 100_000, 30);
        let logs = |values: &mut dyn Iterator<Item = f64>| values.map(f64::ln).collect::<Vec<f64>>();
        let x = logs(&mut grid.iter().map(|&t| t as f64));
        let slope = |chain: u64| {
            let (states, _) = gibbs.run(model, 0, 100_000, &mut stream(&[12, chain])).unwrap();
            Line::fit(&x, &logs(&mut grid.iter().map(|&t| truth.errors(&states[..t])[2]))).slope
        };
        (0..6).map(slope).sum::<f64>() / 6.0
    }

    #[test]
    fn conditionals_and_errors_are_those_of_the_joint_distribution() {
        for model in spin_models() {
            let truth = SpinsTruth::new(&model);
            let p = &truth.probabilities;
            for state in [0, 3, (1 << model.count) - 2] {
                for i in 0..model.count {
                    let (up, down) = (p[state | 1 << i], p[state & !(1 << i)]);
                    assert!((up / (up + down) - model.conditional(i, state)).abs() < 1e-12);
                }
            }
            // A single state, by sums over all pairs of states.
            let kernel = |a: usize, b: usize| {
                let flips = (a ^ b).count_ones() as i32;
                ((1.0 - FLIP) / (1.0 + FLIP)).powi(flips)
            };
            if model.count > 8 {
                continue;
            }
            let mean: f64 = (0..p.len()).map(|a| p[a] * kernel(a, 1)).sum();
            let norm: f64 =
                (0..p.len()).map(|a| (0..p.len()).map(|b| p[a] * p[b] * kernel(a, b)).sum::<f64>()).sum();
            let errors = truth.errors(&[1]);
            assert!((errors[3].powi(2) - (1.0 - 2.0 * mean + norm)).abs() < 1e-12, "{}", model.name);
            assert!((errors[2] - (1.0 - p[1])).abs() < 1e-12);
            let mean = |i: usize| (0..p.len()).map(|a| p[a] * spin(a, i)).sum::<f64>() - spin(1, i);
            let means = (0..model.count).map(|i| mean(i).powi(2)).sum::<f64>() / model.count as f64;
            assert!((errors[0] - means.sqrt()).abs() < 1e-12);
        }
    }

    /// The rate that is proved for complete graphs.
    #[test]
    fn herded_gibbs_converges_as_1_over_t_on_complete_graphs() {
        let models = spin_models();
        for model in &models[1..3] {
            let (herded, random) = (rate(model, Gibbs::Herded), rate(model, Gibbs::Random));
            assert!(herded < -0.85, "{}: {herded}", model.name);
            assert!((-0.6..-0.4).contains(&random), "{}: {random}", model.name);
        }
    }

    /// The closed form for a walk that forgets at once: the variance falls by 1 + 2α.
    #[test]
    fn the_self_repellent_walk_has_the_density_and_less_variance() {
        let model = &spin_models()[2];
        let truth = SpinsTruth::new(model);
        let mean_square = |gibbs: Gibbs| {
            let error = |r: u64| {
                let mut random = stream(&[13, r]);
                truth.errors(&gibbs.run(model, truth.draw(&mut random), 5000, &mut random).unwrap().0)[0]
            };
            (0..40).map(|r| error(r).powi(2)).sum::<f64>() / 40.0
        };
        let ratio = mean_square(Gibbs::Random) / mean_square(Gibbs::Repelled) / (1.0 + 2.0 * REPULSION);
        assert!((0.4..2.5).contains(&ratio), "{ratio}");
    }

    /// Outside the reach of the proof the joint distribution converges no faster than 1/√T. On a sparse graph a configuration
    /// of the neighbours hides the other spins, and spins without any neighbour are herded apart from each other.
    #[test]
    fn herded_gibbs_is_no_faster_than_chance_on_the_joint_distribution_of_sparse_graphs() {
        let models = spin_models();
        for k in [0, 6, 7, 8, 9] {
            let herded = rate(&models[k], Gibbs::Herded);
            assert!(herded > -0.6, "{}: {herded}", models[k].name);
        }
    }
}
