//! Ten densities whose scores, exact draws, means and covariances are known, in units of their standard deviations.

use std::f64::consts::PI;

use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};
use supersample::linalg::{cholesky, inverse};

use crate::logistic::{Laplace, LogisticPosterior};

/// How far the banana is bent, and its width across.
const BEND: f64 = 1.0;
const WIDTH: f64 = 0.5;
/// The standard deviation of the log-variance of the funnel.
const FUNNEL: f64 = 1.5;
/// Draws of the regression are those of its Laplace approximation with this many times its standard deviations, by rejection.
/// The ratio of
/// the two is bounded where the density is above this part of its height; what lies beyond is taken a little too seldom.
const ENVELOPE: f64 = 1.5;
const NEGLIGIBLE: f64 = 1e-6;

/// A density of z = (x − mean)/sd, with x from one of the [`Shape`]s.
pub(crate) struct Density {
    pub(crate) name: &'static str,
    pub(crate) dim: usize,
    shape: Shape,
    mean: Vec<f64>,
    sd: Vec<f64>,
    /// E zᵢ·zⱼ, row by row.
    pub(crate) correlations: Vec<f64>,
}

enum Shape {
    /// The Cholesky factor of the covariance, and its inverse.
    Normal { factor: Vec<f64>, precision: Vec<f64> },
    /// x₁ ~ N(0, 1), x₂ ~ N(b·(x₁² − 1), w²).
    Banana,
    /// v ~ N(0, s²), the others N(0, eᵛ) given v.
    Funnel,
    /// Unit normals at these centres of the plane, the k-th of weight proportional to k.
    Modes(Vec<[f64; 2]>),
    /// The posterior of a regression, and the highest ratio to the density that rejection starts from.
    Logistic { posterior: Box<LogisticPosterior>, laplace: Laplace, factor: Vec<f64>, ceiling: f64 },
}

impl Density {
    /// The ten densities of figure 7.
    pub(crate) fn all() -> Vec<Density> {
        let circle = |count: usize, radius: f64| {
            let angle = move |k: usize| 2.0 * PI * k as f64 / count as f64;
            Density::modes_at(
                (0..count).map(|k| [radius * angle(k).cos(), radius * angle(k).sin()]).collect(),
            )
        };
        let named = |name, density| Density { name, ..density };
        vec![
            named("normal, d = 2, correlation 0.95", Density::normal(vec![1.0, 0.95, 0.95, 1.0], 2)),
            named("normal, d = 5, condition 100", Density::normal(ill_conditioned(5, 100.0), 5)),
            named("normal, d = 20, neighbours 0.8", Density::normal(autoregressive(20, 0.8), 20)),
            named("banana, d = 2", Density::banana()),
            named("funnel, d = 4", Density::funnel(4)),
            named("two modes, near", Density::modes_at(vec![[-1.5, 0.0], [1.5, 0.0]])),
            named("two modes, far", Density::modes_at(vec![[-4.0, 0.0], [4.0, 0.0]])),
            named("five modes, near", circle(5, 3.0)),
            named("five modes, far", circle(5, 6.0)),
            named("logistic regression, d = 3", Density::logistic()),
        ]
    }

    pub(crate) fn normal(covariance: Vec<f64>, dim: usize) -> Density {
        let factor = cholesky(&covariance, dim).expect("a covariance is definite");
        let precision = inverse(&factor, dim);
        Density::of(Shape::Normal { factor, precision }, vec![0.0; dim], covariance)
    }

    pub(crate) fn banana() -> Density {
        let bent = 2.0 * BEND * BEND + WIDTH * WIDTH;
        Density::of(Shape::Banana, vec![0.0; 2], vec![1.0, 0.0, 0.0, bent])
    }

    fn funnel(dim: usize) -> Density {
        let mut covariance = vec![0.0; dim * dim];
        // E eᵛ = e^(s²/2).
        (0..dim).for_each(|i| {
            covariance[i * (dim + 1)] = if i == 0 { FUNNEL * FUNNEL } else { (FUNNEL * FUNNEL / 2.0).exp() };
        });
        Density::of(Shape::Funnel, vec![0.0; dim], covariance)
    }

    fn modes_at(centres: Vec<[f64; 2]>) -> Density {
        let weights = mode_weights(centres.len());
        let mean: Vec<f64> =
            (0..2).map(|j| centres.iter().zip(&weights).map(|(c, w)| w * c[j]).sum()).collect();
        let about = |i: usize, j: usize| -> f64 {
            centres.iter().zip(&weights).map(|(c, w)| w * (c[i] - mean[i]) * (c[j] - mean[j])).sum()
        };
        let covariance = vec![1.0 + about(0, 0), about(0, 1), about(1, 0), 1.0 + about(1, 1)];
        Density::of(Shape::Modes(centres), mean, covariance)
    }

    /// Forty messages of two inputs and a constant, not separable, prior variance 4; moments by the trapezoidal rule over
    /// the principal axes of the Laplace approximation.
    fn logistic() -> Density {
        let wave = |i: usize, k: f64| (i as f64 * k).sin();
        let inputs: Vec<f64> =
            (0..40).flat_map(|i| [1.0, 2.0 * wave(i, 1.3), wave(i, 0.7) + 0.5 * wave(i, 1.3)]).collect();
        let labels: Vec<bool> = (0..40).map(|i| wave(i, 1.3) + wave(i, 3.1) > 0.2).collect();
        let posterior = LogisticPosterior::new(&inputs, 3, &labels, 4.0);
        let laplace = posterior.laplace();
        let factor = cholesky(&laplace.covariance, 3).expect("a covariance is definite");
        let top = posterior.log_density(&laplace.mode);
        let (mut mass, mut mean, mut second, mut ceiling) = (0.0, [0.0; 3], [0.0; 9], 0.0_f64);
        // Steps of 0.4 standard deviations to ±8: for a bell this rule is exact to rounding.
        const STEPS: i32 = 20;
        for (i, j, k) in (-STEPS..=STEPS)
            .flat_map(|i| (-STEPS..=STEPS).flat_map(move |j| (-STEPS..=STEPS).map(move |k| (i, j, k))))
        {
            let bell = [i, j, k].map(|step| 0.4 * f64::from(step));
            let theta = shifted(&laplace.mode, &factor, &bell);
            let weight = (posterior.log_density(&theta) - top).exp();
            mass += weight;
            (0..3).for_each(|a| mean[a] += weight * theta[a]);
            (0..9).for_each(|a| second[a] += weight * theta[a / 3] * theta[a % 3]);
            let bells = bell.iter().map(|b| b * b).sum::<f64>();
            if weight > NEGLIGIBLE {
                ceiling = ceiling.max(weight * (0.5 * bells / (ENVELOPE * ENVELOPE)).exp());
            }
        }
        let mean: Vec<f64> = mean.iter().map(|m| m / mass).collect();
        let covariance = (0..9).map(|a| second[a] / mass - mean[a / 3] * mean[a % 3]).collect();
        let shape = Shape::Logistic { posterior: Box::new(posterior), laplace, factor, ceiling };
        Density::of(shape, mean, covariance)
    }

    fn of(shape: Shape, mean: Vec<f64>, covariance: Vec<f64>) -> Density {
        let dim = mean.len();
        let sd: Vec<f64> = (0..dim).map(|i| covariance[i * (dim + 1)].sqrt()).collect();
        let correlations =
            covariance.iter().enumerate().map(|(a, c)| c / (sd[a / dim] * sd[a % dim])).collect();
        Density { name: "", dim, shape, mean, sd, correlations }
    }

    /// The log density at z up to a constant; its gradient goes to `score`.
    pub(crate) fn evaluate(&self, z: &[f64], score: &mut [f64]) -> f64 {
        let x: Vec<f64> = (0..self.dim).map(|j| self.mean[j] + self.sd[j] * z[j]).collect();
        let value = self.shape.evaluate(&x, score);
        score.iter_mut().zip(&self.sd).for_each(|(score, sd)| *score *= sd);
        value
    }

    /// One exact draw.
    pub(crate) fn draw(&self, random: &mut impl Rng) -> Vec<f64> {
        let x = self.shape.draw(self.dim, random);
        (0..self.dim).map(|j| (x[j] - self.mean[j]) / self.sd[j]).collect()
    }

    /// Whether it is a mixture of modes.
    pub(crate) fn has_modes(&self) -> bool {
        matches!(self.shape, Shape::Modes(_))
    }

    /// The number of the mode that z is nearest to; 0 for densities of one mode.
    pub(crate) fn nearest_mode(&self, z: &[f64]) -> usize {
        let Shape::Modes(centres) = &self.shape else { return 0 };
        let distance =
            |c: &[f64; 2]| -> f64 { (0..2).map(|j| (self.mean[j] + self.sd[j] * z[j] - c[j]).powi(2)).sum() };
        let by_distance = |a: &usize, b: &usize| distance(&centres[*a]).total_cmp(&distance(&centres[*b]));
        (0..centres.len()).min_by(by_distance).expect("there is a mode")
    }
}

impl Shape {
    fn evaluate(&self, x: &[f64], score: &mut [f64]) -> f64 {
        match self {
            Shape::Normal { precision, .. } => {
                for (line, score) in precision.chunks_exact(x.len()).zip(score.iter_mut()) {
                    *score = -line.iter().zip(x).map(|(p, x)| p * x).sum::<f64>();
                }
                0.5 * score.iter().zip(x).map(|(s, x)| s * x).sum::<f64>()
            }
            Shape::Banana => {
                let off = (x[1] - BEND * (x[0] * x[0] - 1.0)) / (WIDTH * WIDTH);
                score[0] = -x[0] + off * 2.0 * BEND * x[0];
                score[1] = -off;
                -0.5 * (x[0] * x[0] + off * off * WIDTH * WIDTH)
            }
            Shape::Funnel => {
                let (v, others) = (x[0], &x[1..]);
                let squares = others.iter().map(|x| x * x).sum::<f64>() * (-v).exp();
                score[0] = -v / (FUNNEL * FUNNEL) + 0.5 * squares - 0.5 * others.len() as f64;
                score[1..].iter_mut().zip(others).for_each(|(s, x)| *s = -x * (-v).exp());
                -0.5 * (v * v / (FUNNEL * FUNNEL) + squares + others.len() as f64 * v)
            }
            Shape::Modes(centres) => {
                let weights = mode_weights(centres.len());
                let logs: Vec<f64> = centres
                    .iter()
                    .zip(&weights)
                    .map(|(c, w)| w.ln() - 0.5 * ((x[0] - c[0]).powi(2) + (x[1] - c[1]).powi(2)))
                    .collect();
                let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let shares: Vec<f64> = logs.iter().map(|log| (log - top).exp()).collect();
                let sum: f64 = shares.iter().sum();
                for (j, score) in score.iter_mut().enumerate() {
                    *score = centres.iter().zip(&shares).map(|(c, share)| share / sum * (c[j] - x[j])).sum();
                }
                top + sum.ln()
            }
            Shape::Logistic { posterior, .. } => posterior.log_density_and_gradient(x, score),
        }
    }

    fn draw(&self, dim: usize, random: &mut impl Rng) -> Vec<f64> {
        let mut normal = || -> f64 { StandardNormal.sample(random) };
        match self {
            Shape::Normal { factor, .. } => {
                let bell: Vec<f64> = (0..dim).map(|_| normal()).collect();
                shifted(&vec![0.0; dim], factor, &bell)
            }
            Shape::Banana => {
                let first = normal();
                vec![first, BEND * (first * first - 1.0) + WIDTH * normal()]
            }
            Shape::Funnel => {
                let v = FUNNEL * normal();
                let spread = (0.5 * v).exp();
                (0..dim).map(|j| if j == 0 { v } else { spread * normal() }).collect()
            }
            Shape::Modes(centres) => {
                let (first, second) = (normal(), normal());
                let mut left: f64 = random.random();
                let weights = mode_weights(centres.len());
                let ends_here = |w: &f64| {
                    left -= w;
                    left < 0.0
                };
                let centre = centres[weights.iter().position(ends_here).unwrap_or(centres.len() - 1)];
                vec![centre[0] + first, centre[1] + second]
            }
            Shape::Logistic { posterior, laplace, factor, ceiling } => {
                let top = posterior.log_density(&laplace.mode);
                loop {
                    let bell: Vec<f64> = random.sample_iter(StandardNormal).take(dim).collect();
                    let bell: Vec<f64> = bell.iter().map(|b: &f64| ENVELOPE * b).collect();
                    let theta = shifted(&laplace.mode, factor, &bell);
                    let bells = bell.iter().map(|b| b * b).sum::<f64>();
                    let ratio =
                        (posterior.log_density(&theta) - top + 0.5 * bells / (ENVELOPE * ENVELOPE)).exp();
                    if random.random::<f64>() * ceiling < ratio {
                        return theta;
                    }
                }
            }
        }
    }
}

/// centre + L·bell.
fn shifted(centre: &[f64], factor: &[f64], bell: &[f64]) -> Vec<f64> {
    let lines = factor.chunks_exact(bell.len());
    let moved = |(c, line): (&f64, &[f64])| c + line.iter().zip(bell).map(|(l, b)| l * b).sum::<f64>();
    centre.iter().zip(lines).map(moved).collect()
}

/// 1, 2, 3, … divided by their sum.
fn mode_weights(count: usize) -> Vec<f64> {
    let sum = (count * (count + 1)) as f64 / 2.0;
    (1..=count).map(|k| k as f64 / sum).collect()
}

/// Variances from 1 to `condition` in equal ratios along axes that are none of the coordinates' (a reflection).
fn ill_conditioned(dim: usize, condition: f64) -> Vec<f64> {
    let normal: Vec<f64> = (1..=dim).map(|j| j as f64).collect();
    let square: f64 = normal.iter().map(|v| v * v).sum();
    let reflection = |i: usize, j: usize| f64::from(u8::from(i == j)) - 2.0 * normal[i] * normal[j] / square;
    let variance = |k: usize| condition.powf(k as f64 / (dim - 1) as f64);
    let entry =
        |i: usize, j: usize| (0..dim).map(|k| reflection(i, k) * variance(k) * reflection(k, j)).sum();
    (0..dim * dim).map(|a| entry(a / dim, a % dim)).collect()
}

/// Unit variances, the correlation of coordinates i and j is ρ^|i − j|.
fn autoregressive(dim: usize, correlation: f64) -> Vec<f64> {
    (0..dim * dim).map(|a| correlation.powi((a / dim).abs_diff(a % dim) as i32)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::stream;

    #[test]
    fn scores_are_the_slopes_of_the_log_density() {
        for density in Density::all() {
            let mut random = stream(&[1]);
            for _ in 0..5 {
                let z = density.draw(&mut random);
                let (mut score, mut unused) = (vec![0.0; density.dim], vec![0.0; density.dim]);
                density.evaluate(&z, &mut score);
                for j in 0..density.dim {
                    let mut at = |h: f64| {
                        let mut moved = z.clone();
                        moved[j] += h;
                        density.evaluate(&moved, &mut unused)
                    };
                    let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                    let gap = (slope - score[j]).abs();
                    assert!(
                        gap < 1e-5 * (1.0 + score[j].abs()),
                        "{} {j}: {slope} {}",
                        density.name,
                        score[j]
                    );
                }
            }
        }
    }

    #[test]
    fn draws_have_mean_0_variance_1_the_stated_correlations_and_scores_of_mean_0() {
        let n = 100_000;
        for density in Density::all() {
            let (dim, mut random) = (density.dim, stream(&[2]));
            let (mut mean, mut second) = (vec![0.0; dim], vec![0.0; dim * dim]);
            let (mut stein, mut score) = (vec![0.0; dim * dim], vec![0.0; dim]);
            for _ in 0..n {
                let z = density.draw(&mut random);
                density.evaluate(&z, &mut score);
                (0..dim).for_each(|i| mean[i] += z[i] / f64::from(n));
                (0..dim * dim).for_each(|a| second[a] += z[a / dim] * z[a % dim] / f64::from(n));
                (0..dim * dim).for_each(|a| stein[a] += z[a / dim] * score[a % dim] / f64::from(n));
            }
            // The squares of the funnel have a standard deviation of 5.
            let tolerance = if density.name.starts_with("funnel") { 0.08 } else { 0.03 };
            assert!(mean.iter().all(|m| m.abs() < 0.02), "{}: {mean:?}", density.name);
            for a in 0..dim * dim {
                let gap = second[a] - density.correlations[a];
                assert!(gap.abs() < tolerance, "{} {a}: {gap}", density.name);
                // E zᵢ·gⱼ = −δᵢⱼ ties the score to the draws.
                let gap = stein[a] + f64::from(u8::from(a / dim == a % dim));
                assert!(gap.abs() < 0.12, "{} {a}: {gap}", density.name);
            }
        }
    }

    #[test]
    fn a_point_belongs_to_the_mode_it_was_drawn_from() {
        let density = &Density::all()[8];
        let mut random = stream(&[3]);
        let mut counts = [0.0; 5];
        (0..30_000).for_each(|_| counts[density.nearest_mode(&density.draw(&mut random))] += 1.0 / 30_000.0);
        for (share, weight) in counts.iter().zip(mode_weights(5)) {
            assert!((share - weight).abs() < 0.01, "{counts:?}");
        }
    }
}
