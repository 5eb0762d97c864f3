//! A Gaussian mixture under Gaussian kernels of one or several bandwidths.

use rayon::prelude::*;
use supersample_sum::Shape;

use crate::linalg::{cholesky, cholesky_in_place, diagonal, dot, inverse_lower, solve_lower};
use crate::target::GaussianMixture;
use crate::{Error, Kernel, Result};

/// μ(x) = Σ of e^(−½‖W(x−m)‖² + log coefficient), one bump for each component and bandwidth.
#[derive(Clone, Debug)]
pub(super) struct MixtureEmbedding {
    bandwidths: Vec<f64>,
    mixture: GaussianMixture,
    bumps: Bumps,
}

/// The bumps in flat arrays, so that a pass over them reads memory in order.
#[derive(Clone, Debug, Default)]
struct Bumps {
    /// log(π·ℓᵈ·|S+ℓ²I|^(−1/2)/number of bandwidths)
    log_coefficients: Vec<f64>,
    /// m, d numbers for each bump.
    means: Vec<f64>,
    /// The rows of W = L⁻¹ where L·Lᵀ = S+ℓ²I, cut off at the diagonal: d(d+1)/2 numbers for each bump.
    whiteners: Vec<f64>,
}

impl MixtureEmbedding {
    pub(super) fn new(kernel: &Kernel, mixture: GaussianMixture) -> Result<MixtureEmbedding> {
        let dim = mixture.dim();
        if !matches!(kernel.shape(), Shape::Gaussian { .. } | Shape::Gaussians { .. }) {
            return Err(Error::NoClosedForm {
                what: "a Gaussian mixture",
                kernel: kernel.to_string(),
                dim,
                advice: "take gaussian, or draw samples from it and use Empirical",
            });
        }
        let bandwidths = kernel.bandwidths().to_vec();
        let mut bumps = Bumps::default();
        for &bandwidth in &bandwidths {
            for (component, &weight) in mixture.weights().iter().enumerate().filter(|(_, w)| **w > 0.0) {
                let mut smoothed = mixture.covariance(component).to_vec();
                add_to_diagonal(&mut smoothed, dim, bandwidth * bandwidth);
                let factor = cholesky(&smoothed, dim).ok_or(Error::NotPositiveDefinite { component })?;
                let weight = weight / bandwidths.len() as f64;
                bumps.log_coefficients.push(weight.ln() + log_ratio(&factor, dim, bandwidth));
                bumps.means.extend(mixture.means().row(component));
                let whitener = inverse_lower(&factor, dim);
                whitener
                    .chunks_exact(dim)
                    .enumerate()
                    .for_each(|(i, row)| bumps.whiteners.extend(&row[..=i]));
            }
        }
        Ok(MixtureEmbedding { bandwidths, mixture, bumps })
    }

    pub(super) fn dim(&self) -> usize {
        self.mixture.dim()
    }

    pub(super) fn value(&self, x: &[f64], scratch: &mut Vec<f64>) -> f64 {
        let mut value = 0.0;
        self.for_each_bump(x, scratch, |bump, _, _| value += bump);
        value
    }

    pub(super) fn gradient_into(&self, x: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.fill(0.0);
        let mut value = 0.0;
        self.for_each_bump(x, &mut Vec::new(), |bump, whitener, whitened| {
            value += bump;
            // ∇ e^(−½‖W(x−m)‖²) = −e^(…)·Wᵀ·W(x−m), row by row of W; nothing to add where the bump underflowed.
            if bump > 0.0 {
                let mut start = 0;
                for (i, y) in whitened.iter().enumerate() {
                    let slope = bump * y;
                    let row = &whitener[start..=start + i];
                    gradient.iter_mut().zip(row).for_each(|(g, w)| *g -= slope * w);
                    start += i + 1;
                }
            }
        });
        value
    }

    /// Calls `visit(bump value, W, W(x−m))` for each bump in order.
    fn for_each_bump(&self, x: &[f64], scratch: &mut Vec<f64>, mut visit: impl FnMut(f64, &[f64], &[f64])) {
        let dim = self.dim();
        scratch.resize(2 * dim, 0.0);
        let (difference, whitened) = scratch.split_at_mut(dim);
        let means = self.bumps.means.chunks_exact(dim);
        let whiteners = self.bumps.whiteners.chunks_exact(dim * (dim + 1) / 2);
        for ((log_coefficient, mean), whitener) in
            self.bumps.log_coefficients.iter().zip(means).zip(whiteners)
        {
            for ((slot, a), b) in difference.iter_mut().zip(x).zip(mean) {
                *slot = a - b;
            }
            let (mut start, mut squared) = (0, 0.0);
            for (i, slot) in whitened.iter_mut().enumerate() {
                let y = dot(&whitener[start..=start + i], difference);
                *slot = y;
                squared += y * y;
                start += i + 1;
            }
            visit(bump(*log_coefficient, squared), whitener, whitened);
        }
    }

    /// ‖μ‖², using the symmetry of the pairs.
    pub(super) fn squared_norm(&self) -> Result<f64> {
        self.pair_sum(&self.mixture, true)
    }

    /// ⟨μ_p, μ_q⟩ with another mixture under the same kernel.
    pub(super) fn inner_product(&self, other: &GaussianMixture) -> Result<f64> {
        self.pair_sum(other, false)
    }

    pub(super) fn mixture(&self) -> &GaussianMixture {
        &self.mixture
    }

    /// Σᵢⱼ πᵢ·ρⱼ·ℓᵈ·|Sᵢ+Rⱼ+ℓ²I|^(−1/2)·exp(−½(mᵢ−nⱼ)ᵀ(Sᵢ+Rⱼ+ℓ²I)⁻¹(mᵢ−nⱼ)), and the mean over the bandwidths ℓ.
    fn pair_sum(&self, other: &GaussianMixture, symmetric: bool) -> Result<f64> {
        // One sum for each component of ours, added up in order: the same for any number of threads.
        let rows = (0..self.mixture.len()).into_par_iter().map(|i| {
            let last = if symmetric { i + 1 } else { other.len() };
            let mut scratch = PairScratch::default();
            let mut sum = 0.0;
            for j in 0..last {
                let twice = if symmetric && j < i { 2.0 } else { 1.0 };
                let weight = twice * self.mixture.weights()[i] * other.weights()[j];
                if weight > 0.0 {
                    sum += weight * self.pair(i, other, j, &mut scratch)?;
                }
            }
            Ok(sum)
        });
        let rows: Vec<Result<f64>> = rows.collect();
        rows.into_iter().sum::<Result<f64>>().map(|sum| sum / self.bandwidths.len() as f64)
    }

    /// The sum over bandwidths of one pair of components, without their weights.
    fn pair(&self, i: usize, other: &GaussianMixture, j: usize, scratch: &mut PairScratch) -> Result<f64> {
        let dim = self.dim();
        let mut sum = 0.0;
        for &bandwidth in &self.bandwidths {
            let PairScratch { matrix, difference } = scratch;
            matrix.clear();
            matrix.extend(self.mixture.covariance(i).iter().zip(other.covariance(j)).map(|(a, b)| a + b));
            add_to_diagonal(matrix, dim, bandwidth * bandwidth);
            if !cholesky_in_place(matrix, dim) {
                // Both are positive definite, so this is their sum overflowing.
                return Err(Error::NotPositiveDefinite { component: i });
            }
            let means = self.mixture.means().row(i).iter().zip(other.means().row(j));
            difference.clear();
            difference.extend(means.map(|(a, b)| a - b));
            solve_lower(matrix, difference);
            sum += bump(log_ratio(matrix, dim, bandwidth), dot(difference, difference));
        }
        Ok(sum)
    }
}

#[derive(Default)]
struct PairScratch {
    matrix: Vec<f64>,
    difference: Vec<f64>,
}

/// e^(log coefficient − squared/2); zero also where `squared` is NaN, which is the difference of two infinities, from
/// points more than 1e150 apart.
fn bump(log_coefficient: f64, squared: f64) -> f64 {
    if squared <= f64::MAX { (log_coefficient - 0.5 * squared).exp() } else { 0.0 }
}

/// log(ℓᵈ·|L·Lᵀ|^(−1/2)) = Σ log(ℓ/Lᵢᵢ): in logs, coordinate by coordinate, so that neither ℓᵈ nor the determinant can
/// over- or underflow.
fn log_ratio(factor: &[f64], dim: usize, bandwidth: f64) -> f64 {
    diagonal(factor, dim).map(|pivot| (bandwidth / pivot).ln()).sum()
}

fn add_to_diagonal(matrix: &mut [f64], dim: usize, value: f64) {
    matrix.iter_mut().step_by(dim + 1).for_each(|entry| *entry += value);
}

#[cfg(test)]
pub(super) mod tests {
    use rayon::prelude::*;

    use super::super::tests::{gradient, kernel, normals, value};
    use crate::embedding::{ClosedForm, MeanEmbedding};
    use crate::target::GaussianMixture;
    use crate::{Kernel, Points};

    /// Three components in the plane with full covariances.
    pub(in super::super) fn planar() -> GaussianMixture {
        let means = Points::from_rows(&[-1.0, 0.5, 2.0, 1.0, 0.0, -1.5], 2).unwrap();
        let covariances = [vec![1.0, 0.6, 0.6, 2.0], vec![0.3, -0.1, -0.1, 0.4], vec![0.5, 0.45, 0.45, 0.5]];
        GaussianMixture::new(&[1.0, 3.0, 2.0], means, &covariances).unwrap()
    }

    /// ∫ f(x, y) dx dy over a square that holds every mass, by the trapezium rule, which converges exponentially there.
    fn integrate_plane(f: impl Fn(&[f64; 2]) -> f64 + Sync) -> f64 {
        let (h, n) = (0.08, 350);
        let at = |i: usize| -14.0 + h * i as f64;
        let rows: Vec<f64> =
            (0..n).into_par_iter().map(|i| (0..n).map(|j| f(&[at(i), at(j)])).sum::<f64>()).collect();
        rows.iter().sum::<f64>() * h * h
    }

    #[test]
    fn a_mixture_agrees_with_integration_over_the_plane() {
        let mixture = planar();
        for kernel in ["gaussian(0.5)", "gaussian(2)", "gaussian(0.4,1)"].map(kernel) {
            let mu = ClosedForm::mixture(kernel.clone(), mixture.clone()).unwrap();
            for x in [[0.0, 0.0], [2.0, 1.0], [-3.0, 2.5]] {
                let expected = integrate_plane(|y| mixture.density(y) * kernel.value(&x, y));
                assert!(
                    (value(&mu, &x) - expected).abs() < 1e-13,
                    "{kernel} {x:?}: {} {expected}",
                    value(&mu, &x)
                );
                let got = gradient(&mu, &x);
                for i in 0..2 {
                    let h = 1e-5;
                    let (mut up, mut down) = (x, x);
                    up[i] += h;
                    down[i] -= h;
                    let difference = (value(&mu, &up) - value(&mu, &down)) / (2.0 * h);
                    assert!(
                        (got[i] - difference).abs() < 1e-9,
                        "{kernel} {x:?} {i}: {} {difference}",
                        got[i]
                    );
                }
            }
            let norm = integrate_plane(|x| mixture.density(x) * value(&mu, x));
            assert!((mu.squared_norm().unwrap() - norm).abs() < 1e-13, "{kernel}: {norm}");

            let other = GaussianMixture::random(5, 2, 9).unwrap();
            let nu = ClosedForm::mixture(kernel.clone(), other).unwrap();
            let expected = integrate_plane(|x| mixture.density(x) * value(&nu, x));
            assert!((mu.inner_product(&nu).unwrap() - expected).abs() < 1e-13, "{kernel}: {expected}");
            let pair = normals(&kernel, &[0.5, -1.0], &[0.8, 1.5]);
            let expected = integrate_plane(|x| mixture.density(x) * value(&pair, x));
            assert!((mu.inner_product(&pair).unwrap() - expected).abs() < 1e-13, "{kernel}: {expected}");
            assert!((pair.inner_product(&mu).unwrap() - expected).abs() < 1e-13, "{kernel}: {expected}");
        }
    }

    #[test]
    fn a_mixture_in_five_dimensions_agrees_with_a_million_draws() {
        let mixture = GaussianMixture::random(3, 5, 2).unwrap();
        let kernel = Kernel::gaussian(2.0).unwrap();
        let mu = ClosedForm::mixture(kernel.clone(), mixture.clone()).unwrap();
        let draws = mixture.sample(1_000_000, 1).unwrap();
        let x = mixture.means().row(0);
        let agrees = |exact: f64, values: &[f64]| {
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
            assert!((mean - exact).abs() < 5.0 * (variance / n).sqrt(), "{mean} {exact}");
        };
        let values: Vec<f64> = draws.rows().map(|y| kernel.value(x, y)).collect();
        agrees(value(&mu, x), &values);
        let mut values = vec![0.0; draws.len()];
        mu.values_into(&draws, &mut values);
        agrees(mu.squared_norm().unwrap(), &values);
    }

    #[test]
    fn normals_and_a_diagonal_mixture_are_the_same_in_any_dimension() {
        // In 400 dimensions the determinants and the powers of ℓ are far outside the range of a float.
        for (dim, bandwidth) in [(1, 1.0), (5, 0.7), (400, 1e3), (400, 1e-3)] {
            let means: Vec<f64> = (0..dim).map(|i| (i as f64).sin() * bandwidth * 0.01).collect();
            let sds: Vec<f64> = (0..dim).map(|i| bandwidth * (0.02 + 0.1 * (i as f64).cos().abs())).collect();
            let mut covariance = vec![0.0; dim * dim];
            sds.iter().enumerate().for_each(|(i, sd)| covariance[i * (dim + 1)] = sd * sd);
            let single =
                GaussianMixture::new(&[3.0], Points::from_rows(&means, dim).unwrap(), &[covariance]).unwrap();
            let kernel = Kernel::gaussian(bandwidth).unwrap();
            let (mu, nu) = (normals(&kernel, &means, &sds), ClosedForm::mixture(kernel, single).unwrap());
            let x: Vec<f64> = means.iter().map(|m| m + 0.05 * bandwidth).collect();
            let same = |a: f64, b: f64| assert!(a > 0.0 && (a - b).abs() < 1e-12 * a, "{dim}: {a} {b}");
            same(value(&mu, &x), value(&nu, &x));
            same(mu.squared_norm().unwrap(), nu.squared_norm().unwrap());
            same(mu.squared_norm().unwrap(), mu.inner_product(&nu).unwrap());
            same(-gradient(&mu, &x)[0], -gradient(&nu, &x)[0]);
        }
    }

    #[test]
    fn components_without_weight_do_not_count() {
        let means = Points::from_rows(&[0.0, 50.0], 1).unwrap();
        let with = GaussianMixture::new(&[1.0, 0.0], means, &[vec![1.0], vec![2.0]]).unwrap();
        let without =
            GaussianMixture::new(&[1.0], Points::from_rows(&[0.0], 1).unwrap(), &[vec![1.0]]).unwrap();
        let [mu, nu] = [with, without].map(|m| ClosedForm::mixture(kernel("gaussian(1)"), m).unwrap());
        assert_eq!(value(&mu, &[0.7]), value(&nu, &[0.7]));
        assert_eq!(mu.squared_norm(), nu.squared_norm());
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let mixture = GaussianMixture::random(50, 3, 4).unwrap();
        let points = mixture.sample(1000, 5).unwrap();
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mu = ClosedForm::mixture(kernel("gaussian(0.5)"), mixture.clone()).unwrap();
                let mut out = vec![0.0; points.len()];
                mu.values_into(&points, &mut out);
                (mu.squared_norm(), out)
            })
        };
        assert_eq!(run(1), run(3));
    }

    #[test]
    fn extreme_scales_and_places_give_finite_numbers() {
        let mixture = GaussianMixture::random(3, 4, 0).unwrap();
        for bandwidth in [1e-150, 1e-10, 1e10, 1e150] {
            let mu = ClosedForm::mixture(Kernel::gaussian(bandwidth).unwrap(), mixture.clone()).unwrap();
            for x in [[0.0; 4], [1e200; 4], [-f64::MAX; 4]] {
                assert!((0.0..=1.0 + 1e-15).contains(&value(&mu, &x)), "{bandwidth} {x:?}");
                assert!(gradient(&mu, &x).iter().all(|g| g.is_finite()), "{bandwidth} {x:?}");
            }
            assert!((0.0..=1.0 + 1e-15).contains(&mu.squared_norm().unwrap()), "{bandwidth}");
        }
    }
}
