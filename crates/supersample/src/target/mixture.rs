//! A mixture of Gaussians with full covariances.

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;

use super::{draw_rows, normal_raw_moment};
use crate::linalg::{cholesky, diagonal, dot, log_determinant, solve_lower};
use crate::points::normalised;
use crate::{Error, Points, Result};

/// How far entries (i, j) and (j, i) of a covariance may differ, in units of √(Sᵢᵢ·Sⱼⱼ): enough for a covariance
/// that went through single precision or a text file of seven digits.
const SYMMETRY_TOLERANCE: f64 = 1e-6;

/// A mixture Σᵢ πᵢ·N(mᵢ, Sᵢ).
///
/// ```
/// use supersample::{Points, target::GaussianMixture};
/// let means = Points::from_rows(&[-2.0, 0.0, 2.0, 1.0], 2)?;
/// let covariances = [vec![1.0, 0.5, 0.5, 1.0], vec![0.3, 0.0, 0.0, 0.3]];
/// let mixture = GaussianMixture::new(&[1.0, 3.0], means, &covariances)?;
/// assert_eq!(mixture.weights(), [0.25, 0.75]);
/// assert_eq!(mixture.raw_moment(1), [1.0, 0.75]);
/// assert_eq!(mixture.sample(10, 42)?, mixture.sample(10, 42)?);
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GaussianMixture {
    weights: Vec<f64>,
    means: Points,
    /// d² numbers for each component.
    covariances: Vec<f64>,
    /// The Cholesky factors of the covariances, d² numbers each.
    factors: Vec<f64>,
}

impl GaussianMixture {
    /// Creates a mixture with one component for each row of `means`.
    ///
    /// The weights are not negative and are divided by their sum. A covariance is d×d, row by row, positive definite,
    /// and symmetric up to rounding: the mean of the two triangles is taken. An error about an entry that is not finite
    /// gives its position in the concatenation of all covariances.
    pub fn new(weights: &[f64], means: Points, covariances: &[Vec<f64>]) -> Result<GaussianMixture> {
        let dim = means.dim();
        let weights = normalised(weights, "components", means.len())?;
        if covariances.len() != weights.len() {
            let (found, expected) = (weights.len(), covariances.len());
            return Err(Error::WeightCount { what: "covariances", found, expected });
        }
        let mut symmetric = Vec::with_capacity(weights.len() * dim * dim);
        let mut factors = Vec::with_capacity(weights.len() * dim * dim);
        for (component, covariance) in covariances.iter().enumerate() {
            let covariance = symmetrised(component, covariance, dim)?;
            let factor = cholesky(&covariance, dim).ok_or(Error::NotPositiveDefinite { component })?;
            symmetric.extend(covariance);
            factors.extend(factor);
        }
        Ok(GaussianMixture { weights, means, covariances: symmetric, factors })
    }

    /// Returns a random mixture for experiments, as in fig. 1 of the paper (which has 20 components in 2 dimensions).
    ///
    /// Means are uniform on [−5, 5]ᵈ; covariances are 0.16·(G·Gᵀ/d + I/4) with G a d×d matrix of standard normals,
    /// so that standard deviations lie between 0.2 and about 0.8; weights are uniform on [1/2, 3/2] before they are
    /// normalised. Most modes of 20 in the plane are then separate, and none is negligible.
    pub fn random(components: usize, dim: usize, seed: u64) -> Result<GaussianMixture> {
        let mut rng = Pcg64::seed_from_u64(seed);
        let means = (0..components * dim).map(|_| rng.random_range(-5.0..5.0)).collect();
        let means = Points::from_vec(means, dim)?;
        let covariances: Vec<Vec<f64>> = (0..components)
            .map(|_| {
                let g: Vec<f64> = (0..dim * dim).map(|_| StandardNormal.sample(&mut rng)).collect();
                let entry = |i: usize, j: usize| {
                    let product = dot(&g[i * dim..(i + 1) * dim], &g[j * dim..(j + 1) * dim]);
                    0.16 * (product / dim as f64 + if i == j { 0.25 } else { 0.0 })
                };
                (0..dim * dim).map(|k| entry(k / dim, k % dim)).collect()
            })
            .collect();
        let weights: Vec<f64> = (0..components).map(|_| rng.random_range(0.5..1.5)).collect();
        GaussianMixture::new(&weights, means, &covariances)
    }

    /// π, which sums to one.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// m, one row for each component.
    pub fn means(&self) -> &Points {
        &self.means
    }

    /// Sᵢ, row by row.
    #[track_caller]
    pub fn covariance(&self, component: usize) -> &[f64] {
        let size = self.dim() * self.dim();
        &self.covariances[component * size..(component + 1) * size]
    }

    /// Number of components; at least 1.
    #[expect(clippy::len_without_is_empty, reason = "a mixture is never empty")]
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// The dimension of the space.
    pub fn dim(&self) -> usize {
        self.means.dim()
    }

    /// Returns `n ≥ 1` independent draws, the same on every call with this seed.
    pub fn sample(&self, n: usize, seed: u64) -> Result<Points> {
        let mut rng = Pcg64::seed_from_u64(seed);
        let cumulative: Vec<f64> = self
            .weights
            .iter()
            .scan(0.0, |sum, weight| {
                *sum += weight;
                Some(*sum)
            })
            .collect();
        // If rounding makes the sum smaller than one, the draws above it belong to the last component with weight.
        let last = self.weights.iter().rposition(|&weight| weight > 0.0).expect("the weights sum to one");
        let mut normals = vec![0.0; self.dim()];
        draw_rows(n, self.dim(), |row| {
            let uniform: f64 = rng.random();
            let component = cumulative.partition_point(|&sum| sum <= uniform).min(last);
            normals.fill_with(|| StandardNormal.sample(&mut rng));
            // x = m + L·z has covariance L·Lᵀ = S.
            let lines = self.factor(component).chunks_exact(normals.len());
            for ((x, mean), line) in row.iter_mut().zip(self.means.row(component)).zip(lines) {
                *x = mean + dot(line, &normals);
            }
        })
    }

    /// The density at `x`, which has [`dim`](Self::dim) coordinates.
    #[track_caller]
    pub fn density(&self, x: &[f64]) -> f64 {
        assert_eq!(x.len(), self.dim(), "x has the wrong dimension");
        let log_two_pi = (2.0 * std::f64::consts::PI).ln();
        let component_density = |component: usize| {
            let mut whitened: Vec<f64> =
                x.iter().zip(self.means.row(component)).map(|(a, mean)| a - mean).collect();
            solve_lower(self.factor(component), &mut whitened);
            // log N(x; m, S) = −½(x−m)ᵀS⁻¹(x−m) − ½ log|S| − (d/2) log 2π
            let log_determinant = log_determinant(self.factor(component), self.dim());
            (-0.5 * (dot(&whitened, &whitened) + log_determinant + self.dim() as f64 * log_two_pi)).exp()
        };
        self.weights.iter().enumerate().map(|(i, weight)| weight * component_density(i)).sum()
    }

    /// E xᵢᵐ for each coordinate i, exact.
    pub fn raw_moment(&self, m: u32) -> Vec<f64> {
        let mut moments = vec![0.0; self.dim()];
        for (component, weight) in self.weights.iter().enumerate() {
            // Each coordinate of a Gaussian is N(mᵢ, Sᵢᵢ).
            let variances = diagonal(self.covariance(component), self.dim());
            for ((moment, mean), variance) in moments.iter_mut().zip(self.means.row(component)).zip(variances)
            {
                *moment += weight * normal_raw_moment(*mean, variance, m);
            }
        }
        moments
    }

    fn factor(&self, component: usize) -> &[f64] {
        let size = self.dim() * self.dim();
        &self.factors[component * size..(component + 1) * size]
    }
}

/// The mean of a covariance and its transpose, which must be the same but for rounding.
fn symmetrised(component: usize, covariance: &[f64], dim: usize) -> Result<Vec<f64>> {
    if covariance.len() != dim * dim {
        return Err(Error::CovarianceShape { component, found: covariance.len(), dim });
    }
    if let Some(at) = covariance.iter().position(|value| !value.is_finite()) {
        let index = component * dim * dim + at;
        return Err(Error::NonFiniteNumber { what: "covariance entry", index, value: covariance[at] });
    }
    let mut symmetric = covariance.to_vec();
    for row in 0..dim {
        for column in 0..row {
            let (below, above) = (covariance[row * dim + column], covariance[column * dim + row]);
            let scale =
                covariance[row * dim + row].abs().sqrt() * covariance[column * dim + column].abs().sqrt();
            if (below - above).abs() > SYMMETRY_TOLERANCE * scale {
                return Err(Error::NotSymmetric { component, row, column });
            }
            symmetric[row * dim + column] = 0.5 * below + 0.5 * above;
            symmetric[column * dim + row] = symmetric[row * dim + column];
        }
    }
    Ok(symmetric)
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_sampling;
    use super::*;

    fn two() -> GaussianMixture {
        let means = Points::from_rows(&[-1.0, 0.5, 2.0, 1.0], 2).unwrap();
        GaussianMixture::new(&[1.0, 3.0], means, &[vec![1.0, 0.6, 0.6, 2.0], vec![0.3, -0.1, -0.1, 0.4]])
            .unwrap()
    }

    #[test]
    fn draws_have_the_moments_of_the_mixture() {
        let mixture = two();
        check_sampling(|n, seed| mixture.sample(n, seed), |m| mixture.raw_moment(m));
        // The covariance within components: E x₀x₁ = Σ π (S₀₁ + m₀m₁) = 0.25·(0.6−0.5) + 0.75·(−0.1+2) = 1.45.
        let draws = mixture.sample(100_000, 3).unwrap();
        let product = draws.rows().map(|row| row[0] * row[1]).sum::<f64>() / 1e5;
        assert!((product - 1.45).abs() < 0.03, "{product}");
    }

    #[test]
    fn the_density_integrates_to_one_and_is_that_of_a_normal() {
        let (mixture, h) = (two(), 0.05);
        let grid = |i: usize| -8.0 + h * i as f64;
        let sum: f64 =
            (0..400).map(|i| (0..400).map(|j| mixture.density(&[grid(i), grid(j)])).sum::<f64>()).sum();
        assert!((sum * h * h - 1.0).abs() < 1e-6, "{}", sum * h * h);
        let one = GaussianMixture::new(&[5.0], Points::from_rows(&[1.0], 1).unwrap(), &[vec![4.0]]).unwrap();
        let expected = (-0.5f64).exp() / (8.0 * std::f64::consts::PI).sqrt();
        assert!((one.density(&[3.0]) - expected).abs() < 1e-16);
    }

    #[test]
    fn components_without_weight_are_never_drawn() {
        let means = Points::from_rows(&[100.0, 0.0, 100.0], 1).unwrap();
        let mixture = GaussianMixture::new(&[0.0, 1.0, 0.0], means, &vec![vec![1.0]; 3]).unwrap();
        assert!(mixture.sample(1000, 0).unwrap().as_slice().iter().all(|x| x.abs() < 10.0));
    }

    #[test]
    fn a_random_mixture_follows_its_recipe() {
        let mixture = GaussianMixture::random(20, 2, 5).unwrap();
        assert_eq!((mixture.len(), mixture.dim()), (20, 2));
        assert_eq!(mixture, GaussianMixture::random(20, 2, 5).unwrap());
        assert!(mixture.means().as_slice().iter().all(|x| x.abs() <= 5.0));
        for i in 0..20 {
            let s = mixture.covariance(i);
            assert!(s[0] >= 0.04 && s[3] >= 0.04 && s[1] == s[2] && s[1] != 0.0);
        }
        assert_eq!(GaussianMixture::random(0, 2, 5), Err(Error::NoPoints));
        assert_eq!(GaussianMixture::random(2, 0, 5), Err(Error::NoDimensions));
    }

    #[test]
    fn bad_mixtures_are_refused() {
        let new = |weights: &[f64], covariances: &[&[f64]]| {
            let means = Points::from_rows(&[0.0, 0.0, 1.0, 1.0], 2).unwrap();
            let covariances: Vec<Vec<f64>> = covariances.iter().map(|s| s.to_vec()).collect();
            GaussianMixture::new(weights, means, &covariances).map(|_| ())
        };
        let good: &[f64] = &[1.0, 0.0, 0.0, 1.0];
        assert_eq!(new(&[1.0, 1.0], &[good, good]), Ok(()));
        assert_eq!(new(&[1.0, -1.0], &[good, good]), Err(Error::BadWeight { index: 1, value: -1.0 }));
        assert!(matches!(new(&[f64::NAN, 1.0], &[good, good]), Err(Error::BadWeight { index: 0, .. })));
        assert_eq!(new(&[0.0, 0.0], &[good, good]), Err(Error::ZeroWeights));
        let count = |what, found, expected| Err(Error::WeightCount { what, found, expected });
        assert_eq!(new(&[1.0], &[good, good]), count("components", 1, 2));
        assert_eq!(new(&[1.0, 1.0], &[good]), count("covariances", 2, 1));
        let shape = Error::CovarianceShape { component: 1, found: 3, dim: 2 };
        assert_eq!(new(&[1.0, 1.0], &[good, &[1.0, 0.0, 1.0]]), Err(shape));
        let not_definite = Error::NotPositiveDefinite { component: 1 };
        assert_eq!(new(&[1.0, 1.0], &[good, &[1.0, 1.0, 1.0, 1.0]]), Err(not_definite));
        let not_symmetric = Error::NotSymmetric { component: 0, row: 1, column: 0 };
        assert_eq!(new(&[1.0, 1.0], &[&[1.0, 0.1, 0.2, 1.0], good]), Err(not_symmetric));
        let nan = new(&[1.0, 1.0], &[good, &[1.0, 0.0, 0.0, f64::NAN]]).unwrap_err();
        assert!(matches!(nan, Error::NonFiniteNumber { what: "covariance entry", index: 7, .. }), "{nan}");
        let rounded = [1.0, 0.1, 0.1 + 1e-9, 1.0];
        assert_eq!(new(&[1.0, 1.0], &[&rounded, good]), Ok(()));
    }
}
