//! Optimal weights on points that are already chosen: the least MMD that unequal weights can give.
//!
//! With weights w, eq. 9 becomes E² = ‖μ‖² − 2 wᵀz + wᵀKw, where K is the kernel matrix of the points and z = μ at
//! each of them. Its minimum is K w = z without constraints, the weights of Bayesian quadrature.

mod factor;
mod simplex;

use rayon::prelude::*;

use self::factor::Factor;
use crate::{Error, Kernel, MeanEmbedding, Points, Result, linalg, sum};

/// The smallest pivot, relative to the largest k(x, x), that is more than rounding noise.
const SMALLEST_PIVOT: f64 = 1e-13;

/// Which weights are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WeightRule {
    /// Any weights, of either sign: Bayesian quadrature. Best for integrals, of no use where a step needs a sample.
    Free,
    /// Any weights that sum to one, so that constants are integrated exactly.
    SumToOne,
    /// Weights that are not negative and sum to one: a distribution. Some are 0.
    Simplex,
}

/// Weights for points, and how good they are.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OptimalWeights {
    /// One weight for each point.
    pub weights: Vec<f64>,
    /// The MMD with these weights; `None` where ‖μ‖² is not known.
    pub error: Option<f64>,
    /// Its square as computed. The larger the weights the less exact: its rounding is about 1e-16·(Σ|w|)².
    pub squared_error: Option<f64>,
    /// The MMD of the same points with equal weights.
    pub equal_error: Option<f64>,
    /// What was added to the diagonal of K, 0 where nothing had to be. Points that repeat, or nearly, make K singular;
    /// the jitter picks, among the weights that then do equally well, the smallest, so equal points get equal weights.
    pub jitter: f64,
    /// Whether the conditions of optimality hold; false only for a simplex problem that was given up, whose weights
    /// are the best met and never worse than equal ones.
    pub optimal: bool,
}

/// The weights on `points` under which they match the target best, by the rule. Costs T² kernel values and memory, and
/// T³/3 for a factorisation; about ten of these for the simplex.
///
/// ```
/// use supersample::target::IndependentNormals;
/// use supersample::weights::{WeightRule, optimal};
/// use supersample::{ClosedForm, Kernel, Points};
/// let normal = IndependentNormals::new(&[0.0], &[1.0])?;
/// let mu = ClosedForm::normals(Kernel::gaussian(1.0)?, normal)?;
/// let points = Points::from_rows(&[-1.5, 0.0, 1.5], 1)?;
/// let best = optimal(&mu, &points, WeightRule::Simplex)?;
/// assert!(best.weights[1] > best.weights[0] && best.error < best.equal_error);
/// # Ok::<(), supersample::Error>(())
/// ```
pub fn optimal(mu: &dyn MeanEmbedding, points: &Points, rule: WeightRule) -> Result<OptimalWeights> {
    points.expect_dim("the points", "the target", mu.dim())?;
    let count = points.len();
    let matrix = KernelMatrix::new(mu.kernel(), points);
    let mut z = vec![0.0; count];
    mu.values_into(points, &mut z);
    if let Some(&value) = matrix.values.iter().chain(&z).find(|value| !value.is_finite()) {
        return Err(Error::Overflow { value });
    }
    let (factor, jitter) = matrix.factor()?;
    let (weights, optimal) = match rule {
        WeightRule::Free => {
            let mut weights = z.clone();
            factor.solve(&mut weights);
            (weights, true)
        }
        WeightRule::SumToOne => (with_sum_one(&factor, z.clone()).0, true),
        WeightRule::Simplex => {
            drop(factor);
            simplex::weights(&matrix, &z, jitter)?
        }
    };
    let equal = vec![1.0 / count as f64; count];
    let (mut energy, equal_energy) = (matrix.energy(&weights, &z), matrix.energy(&equal, &z));
    // The jitter can cost a little, and then only where equal weights are optimal already.
    let is_worse = rule != WeightRule::Free && energy > equal_energy;
    let weights = if is_worse { equal } else { weights };
    energy = if is_worse { equal_energy } else { energy };
    let squared_error = mu.squared_norm().map(|norm| norm + energy);
    let root = |squared: f64| squared.max(0.0).sqrt();
    Ok(OptimalWeights {
        weights,
        error: squared_error.map(root),
        squared_error,
        equal_error: mu.squared_norm().map(|norm| root(norm + equal_energy)),
        jitter,
        optimal,
    })
}

/// The weights of least E² among those that sum to one, and the multiplier of that constraint: w = a + ν·b with
/// K·a = z and K·b = 1.
fn with_sum_one(factor: &Factor, mut z: Vec<f64>) -> (Vec<f64>, f64) {
    let mut ones = vec![1.0; z.len()];
    factor.solve(&mut z);
    factor.solve(&mut ones);
    let multiplier = (1.0 - z.iter().sum::<f64>()) / ones.iter().sum::<f64>();
    (z.iter().zip(&ones).map(|(a, b)| a + multiplier * b).collect(), multiplier)
}

/// k(xₛ, xₜ) for all pairs of points.
struct KernelMatrix {
    values: Vec<f64>,
    count: usize,
    /// The largest k(x, x).
    largest: f64,
}

impl KernelMatrix {
    fn new(kernel: &Kernel, points: &Points) -> KernelMatrix {
        let count = points.len();
        let mut values = vec![0.0; count * count];
        values.par_chunks_mut(count).zip(points.as_slice().par_chunks(points.dim())).for_each(|(row, y)| {
            sum::add_row_into(kernel, points, y, 1.0, row);
        });
        let largest = linalg::diagonal(&values, count).fold(0.0, f64::max);
        KernelMatrix { values, count, largest }
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.count..(i + 1) * self.count]
    }

    /// The rows and columns of these points.
    fn part(&self, rows: &[usize]) -> Vec<f64> {
        let mut part = vec![0.0; rows.len() * rows.len()];
        part.par_chunks_mut(rows.len()).zip(rows).for_each(|(part, &row)| {
            let row = self.row(row);
            part.iter_mut().zip(rows).for_each(|(out, &column)| *out = row[column]);
        });
        part
    }

    /// The factor of K with the smallest jitter that makes it positive definite: 0, or the first of 1e-12, 1e-11, …
    /// times the largest k(x, x).
    fn factor(&self) -> Result<(Factor, f64)> {
        let jitters = std::iter::once(0.0).chain((-12..=-6).map(|power| self.largest * 10f64.powi(power)));
        for jitter in jitters {
            let smallest_pivot = SMALLEST_PIVOT * self.largest;
            if let Some(factor) = Factor::new(self.values.clone(), self.count, jitter, smallest_pivot) {
                return Ok((factor, jitter));
            }
        }
        Err(Error::SingularKernelMatrix { jitter: 1e-6 * self.largest })
    }

    /// E² − ‖μ‖² = wᵀKw − 2 wᵀz.
    fn energy(&self, weights: &[f64], z: &[f64]) -> f64 {
        let rows = self.values.par_chunks(self.count).zip(weights.par_iter().zip(z));
        let terms: Vec<f64> = rows.map(|(row, (w, z))| w * (linalg::dot(row, weights) - 2.0 * z)).collect();
        terms.iter().sum()
    }
}
