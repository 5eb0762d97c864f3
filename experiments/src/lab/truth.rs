//! Errors of weighted points against a density: means, second moments, distribution functions, MMD.

use rand_distr::{Distribution, StandardNormal};

use super::{Density, stream};

/// The names of the four errors.
pub(crate) const MEASURES: [&str; 4] = ["means", "seconds", "cdf", "mmd"];

/// Levels 1/20, …, 19/20 at which distribution functions are compared.
const LEVELS: usize = 19;
/// Frequencies of the kernel of the MMD.
const FREQUENCIES: usize = 100;

/// What a density is compared by.
///
/// Means and second moments are exact; quantiles and the characteristic function are those of many exact draws.
pub(crate) struct Truth {
    dim: usize,
    correlations: Vec<f64>,
    /// [`LEVELS`] quantiles of each coordinate.
    quantiles: Vec<f64>,
    /// k(x, y) is the mean of cos ω·(x − y) over these ω, normal with standard deviation 1/√d: nearly the Gaussian kernel
    /// of bandwidth √d, and a kernel of its own right.
    frequencies: Vec<f64>,
    /// Mean cosine and sine of ω·x for each ω.
    waves: Vec<[f64; 2]>,
}

impl Truth {
    /// The truth from this number of exact draws.
    pub(crate) fn new(density: &Density, draws: usize) -> Truth {
        let dim = density.dim;
        let mut random = stream(&[100, dim as u64]);
        let frequencies = (0..FREQUENCIES * dim)
            .map(|_| {
                let bell: f64 = StandardNormal.sample(&mut random);
                bell / (dim as f64).sqrt()
            })
            .collect();
        let points: Vec<f64> = (0..draws).flat_map(|_| density.draw(&mut random)).collect();
        let quantiles = (0..dim)
            .flat_map(|j| {
                let mut column: Vec<f64> = points.iter().skip(j).step_by(dim).copied().collect();
                column.sort_unstable_by(f64::total_cmp);
                (1..=LEVELS).map(move |k| column[k * draws / (LEVELS + 1)])
            })
            .collect();
        let mut truth =
            Truth { dim, correlations: density.correlations.clone(), quantiles, frequencies, waves: vec![] };
        truth.waves = truth.waves_of(&points, &vec![1.0 / draws as f64; draws]);
        truth
    }

    /// The four errors of points with weights that sum to one: root mean squares over coordinates, pairs of coordinates,
    /// coordinates and levels, frequencies.
    pub(crate) fn errors(&self, points: &[f64], shares: &[f64]) -> [f64; 4] {
        let dim = self.dim;
        let (mut mean, mut second) = (vec![0.0; dim], vec![0.0; dim * dim]);
        let mut below = vec![0.0; dim * (LEVELS + 1)];
        for (z, share) in points.chunks_exact(dim).zip(shares) {
            for i in 0..dim {
                mean[i] += share * z[i];
                (0..=i).for_each(|j| second[i * dim + j] += share * z[i] * z[j]);
                let quantiles = &self.quantiles[i * LEVELS..(i + 1) * LEVELS];
                below[i * (LEVELS + 1) + quantiles.partition_point(|q| *q < z[i])] += share;
            }
        }
        let gaps = (0..dim).flat_map(|i| (0..=i).map(move |j| i * dim + j));
        let second = gaps.map(|a| second[a] - self.correlations[a]);
        let cdf = below.chunks_exact(LEVELS + 1).flat_map(|cells| {
            let mut sum = 0.0;
            cells[..LEVELS].iter().enumerate().map(move |(k, cell)| {
                sum += cell;
                sum - (k + 1) as f64 / (LEVELS + 1) as f64
            })
        });
        let waves = self.waves_of(points, shares);
        let waves = waves.iter().zip(&self.waves).map(|(a, b)| (a[0] - b[0]).hypot(a[1] - b[1]));
        [
            root_mean_square(mean.into_iter()),
            root_mean_square(second),
            root_mean_square(cdf),
            root_mean_square(waves),
        ]
    }

    fn waves_of(&self, points: &[f64], shares: &[f64]) -> Vec<[f64; 2]> {
        let wave = |frequency: &[f64]| {
            points.chunks_exact(self.dim).zip(shares).fold([0.0; 2], |[cosine, sine], (z, share)| {
                let (s, c) = frequency.iter().zip(z).map(|(w, z)| w * z).sum::<f64>().sin_cos();
                [cosine + share * c, sine + share * s]
            })
        };
        self.frequencies.chunks_exact(self.dim).map(wave).collect()
    }
}

fn root_mean_square(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), v| (sum + v * v, count + 1.0));
    (sum / count).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn independent_draws_have_the_errors_of_independent_draws() {
        let density = &Density::all()[0];
        let truth = Truth::new(density, 50_000);
        let n = 400;
        let mut squares = [0.0; 4];
        for replicate in 0..100 {
            let mut random = stream(&[7, replicate]);
            let points: Vec<f64> = (0..n).flat_map(|_| density.draw(&mut random)).collect();
            let errors = truth.errors(&points, &vec![1.0 / n as f64; n]);
            (0..4).for_each(|k| squares[k] += errors[k] * errors[k] * n as f64 / 100.0);
        }
        // Variances of one draw: z has 1; z₁², z₂², z₁z₂ have 2, 2, 1 + ρ²; levels p·(1 − p); waves 1 − |φ|².
        let levels = (1..20).map(|k| f64::from(k) / 20.0).map(|p| p * (1.0 - p)).sum::<f64>() / 19.0;
        let waves = truth.waves.iter().map(|w| 1.0 - w[0] * w[0] - w[1] * w[1]).sum::<f64>() / 100.0;
        for (found, expected) in squares.iter().zip([1.0, (4.0 + 1.0 + 0.95 * 0.95) / 3.0, levels, waves]) {
            assert!((found / expected - 1.0).abs() < 0.35, "{squares:?}: {expected}");
        }
    }

    #[test]
    fn weights_count_as_repetitions() {
        let density = &Density::all()[3];
        let truth = Truth::new(density, 2000);
        let mut random = stream(&[8]);
        let (a, b) = (density.draw(&mut random), density.draw(&mut random));
        let weighted = truth.errors(&[a.clone(), b.clone()].concat(), &[0.75, 0.25]);
        let repeated = truth.errors(&[a.clone(), b, a.clone(), a].concat(), &[0.25; 4]);
        for (weighted, repeated) in weighted.iter().zip(repeated) {
            assert!((weighted - repeated).abs() < 1e-12);
        }
    }
}
