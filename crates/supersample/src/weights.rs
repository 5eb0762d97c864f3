//! Optimal weights on points that are already chosen: the least MMD that unequal weights can give.
//!
//! With weights w, eq. 9 becomes E² = ‖μ‖² − 2 wᵀz + wᵀKw, where K is the kernel matrix of the points and z = μ at each
//! of them. Its minimum is K w = z without constraints, the weights of Bayesian quadrature. With parts, K and z are
//! those of the sum, and the reported errors are those of the joint part.

pub(crate) mod balance;
mod simplex;

use std::collections::HashMap;

use rayon::prelude::*;

use crate::embedding::{ErrorTerms, Values};
use crate::kernel::distances_from_centre;
use crate::linalg::Factor;
use crate::sum::Precision;
use crate::{Error, MeanEmbedding, Part, Points, Pool, Progress, Result, Watch, linalg};

/// The smallest pivot, relative to the largest k(x, x), that is more than rounding noise.
const SMALLEST_PIVOT: f64 = 1e-13;

/// The smallest jitter, in the same units. It raises E² by at most itself times ‖w‖², w the best weights without it: little, unless
/// points nearly repeat and the best weights are large.
const SMALLEST_JITTER: f64 = 1e-12;

/// Rule for the weights of chosen points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WeightRule {
    /// Weights that are not negative and sum to one: a distribution. Some are 0.
    Simplex,
    /// Weights of either sign that sum to one, so that constants are integrated exactly.
    Signed,
    /// Weights of either sign and any sum: Bayesian quadrature. Best for integrals; not usable where a later step needs
    /// a sample.
    Unconstrained,
    /// Positive weights, as near to equal ones as possible, under which named means are exactly those of the target
    /// ([`Calibrate`](crate::task::Calibrate)). Only for rows of a [`Target`](crate::task::Target).
    Calibrated,
}

supersample_sum::words!(
    WeightRule, "a rule of weights":
    Simplex "simplex", Signed "signed", Unconstrained "unconstrained", Calibrated "calibrated",
);

/// Optimal weights of points, with their errors.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OptimalWeights {
    /// One weight for each point.
    pub weights: Vec<f64>,
    /// The MMD with these weights; `None` if ‖μ‖² is not known.
    pub error: Option<f64>,
    /// Its square as computed. The larger the weights the less exact: its rounding is about 1e-16·(Σ|w|)².
    pub squared_error: Option<f64>,
    /// The MMD of the same points with equal weights.
    pub equal_error: Option<f64>,
    /// Number added to the diagonal of K: 0 if none was needed, and always a little on the simplex. Points that nearly
    /// repeat, or more points than the kernel has features, make K singular; the jitter then picks the smallest of the
    /// weights that do equally well. Points that repeat exactly need none: they share one weight equally.
    pub jitter: f64,
    /// Whether the conditions of optimality hold. False only if a simplex problem was given up; the weights are then
    /// the best met and never worse than equal ones.
    pub optimal: bool,
}

/// Computes the weights of `points` that match the target best under a rule.
///
/// Costs T² kernel values and memory, and T³/3 for a factorisation. The simplex takes about as many steps as it has
/// positive weights, of T times that number each. If `watch` ends it, the result is [`Error::Interrupted`].
///
/// ```
/// use supersample::target::IndependentNormals;
/// use supersample::weights::{WeightRule, optimal};
/// use supersample::{ClosedForm, Kernel, Points, unwatched};
/// let normal = IndependentNormals::new(&[0.0], &[1.0])?;
/// let mu = ClosedForm::normals(Kernel::gaussian(1.0)?, normal)?;
/// let points = Points::from_rows(&[-1.5, 0.0, 1.5], 1)?;
/// let best = optimal(&mu, &points, WeightRule::Simplex, &unwatched)?;
/// assert!(best.weights[1] > best.weights[0] && best.error < best.equal_error);
/// # Ok::<(), supersample::Error>(())
/// ```
pub fn optimal(
    mu: &dyn MeanEmbedding,
    points: &Points,
    rule: WeightRule,
    watch: Watch,
) -> Result<OptimalWeights> {
    points.expect_dim("the points", "the target", mu.dim())?;
    solve(mu, points, &[], rule, watch)
}

/// Computes the weights of rows of a pool that match the target best, its parts included. The errors are those of the
/// joint part.
pub fn optimal_of_rows(
    pool: &Pool,
    rows: &[usize],
    rule: WeightRule,
    watch: Watch,
) -> Result<OptimalWeights> {
    let points = pool.points().select(rows)?;
    let select = |(part, factor): (&Part, f64)| Ok((part.select(rows)?, factor));
    let parts = pool.factored_parts().map(select).collect::<Result<Vec<_>>>()?;
    solve(&**pool.embedding(), &points, &parts, rule, watch)
}

/// Solves for the best weights of points, with the parts' views of them and factors.
fn solve(
    mu: &dyn MeanEmbedding,
    points: &Points,
    parts: &[(Part, f64)],
    rule: WeightRule,
    watch: Watch,
) -> Result<OptimalWeights> {
    if rule == WeightRule::Calibrated {
        return Err(Error::CalibratedPoints);
    }
    if Values::of(mu).needs_equal_masses() && rule == WeightRule::Unconstrained {
        return Err(Error::UnequalMasses {
            kernel: mu.kernel().to_string(),
            what: "unconstrained weights sum to anything",
            advice: "ask for weights that sum to one, or take another kernel",
        });
    }
    let (distinct, place) = distinct_rows(points, parts);
    let mut copies = vec![0.0; distinct.len()];
    place.iter().for_each(|&at| copies[at] += 1.0);
    let points = &points.select(&distinct)?;
    let terms = ErrorTerms::of(mu);
    let mut z = terms.double_values(points, watch)?;
    terms.check_device()?;
    let mut matrix = KernelMatrix::new(Values::of(mu), points);
    if Values::of(mu).needs_equal_masses() {
        // The energy of weights that sum to one does not change.
        matrix.complete(1.0, &distances_from_centre(points), &mut z);
    }
    let joint = (!parts.is_empty()).then(|| (matrix.clone(), z.clone()));
    for (part, factor) in parts {
        matrix.add_part(&part.select(&distinct)?, *factor, &mut z);
    }
    if let Some(&value) = matrix.values.iter().chain(&z).find(|value| !value.is_finite()) {
        return Err(Error::Overflow { value });
    }
    if matrix.largest <= 0.0 {
        return Err(Error::SingularKernelMatrix { jitter: 0.0 });
    }
    let (weights, jitter, optimal) = match rule {
        WeightRule::Unconstrained => {
            let (factor, jitter) = matrix.factor(watch)?;
            let mut weights = z.clone();
            factor.solve(&mut weights);
            (weights, jitter, true)
        }
        WeightRule::Signed => {
            let (factor, jitter) = matrix.factor(watch)?;
            (with_sum_one(&z, |b| factor.solve(b)), jitter, true)
        }
        WeightRule::Simplex => {
            // Always some jitter, because the support is not known beforehand.
            let jitter = SMALLEST_JITTER * matrix.largest;
            let (weights, optimal) = simplex::weights(&matrix, &z, jitter, watch)?;
            (weights, jitter, optimal)
        }
        WeightRule::Calibrated => unreachable!("refused above"),
    };
    let equal: Vec<f64> = copies.iter().map(|copies| copies / place.len() as f64).collect();
    let (energy, equal_energy) = (matrix.energy(&weights, &z), matrix.energy(&equal, &z));
    // The jitter can cost a little, and then only where equal weights are optimal already.
    let is_worse = rule != WeightRule::Unconstrained && energy > equal_energy;
    let weights = if is_worse { equal.clone() } else { weights };
    let energy = if is_worse { equal_energy } else { energy };
    let squared = |weights: &[f64], energy: f64| {
        let joint_energy = joint.as_ref().map_or(energy, |(matrix, z)| matrix.energy(weights, z));
        terms.squared_error_of_energy(points, weights, joint_energy, watch)
    };
    let squared_error = squared(&weights, energy)?;
    let equal_squared = squared(&equal, equal_energy)?;
    let root = |squared: f64| squared.max(0.0).sqrt();
    Ok(OptimalWeights {
        weights: place.iter().map(|&at| weights[at] / copies[at]).collect(),
        error: squared_error.map(root),
        squared_error,
        equal_error: equal_squared.map(root),
        jitter,
        optimal,
    })
}

/// The first row of each distinct point, and for each row the place of its point among them. Points are equal if their
/// views in all parts are.
fn distinct_rows(points: &Points, parts: &[(Part, f64)]) -> (Vec<usize>, Vec<usize>) {
    let (mut distinct, mut places) = (Vec::new(), HashMap::new());
    let mut place_of = |(row, x): (usize, &[f64])| {
        let views = parts.iter().flat_map(|(part, _)| part.view(row).into_owned());
        // Adding 0 makes the two zeros one.
        let bits: Vec<u64> = x.iter().copied().chain(views).map(|x| (x + 0.0).to_bits()).collect();
        *places.entry(bits).or_insert_with(|| {
            distinct.push(row);
            distinct.len() - 1
        })
    };
    let places = points.rows().enumerate().map(&mut place_of).collect();
    (distinct, places)
}

/// The weights of least E² among those that sum to one: w = a + ν·b with K·a = z and K·b = 1, where `solve` replaces
/// a right-hand side by its solution.
fn with_sum_one(z: &[f64], solve: impl Fn(&mut [f64]) + Sync) -> Vec<f64> {
    let (mut a, mut b) = (z.to_vec(), vec![1.0; z.len()]);
    rayon::join(|| solve(&mut a), || solve(&mut b));
    let multiplier = (1.0 - a.iter().sum::<f64>()) / b.iter().sum::<f64>();
    a.iter().zip(&b).map(|(a, b)| a + multiplier * b).collect()
}

/// k(xₛ, xₜ) for all pairs of points.
#[derive(Clone)]
struct KernelMatrix {
    values: Vec<f64>,
    count: usize,
    /// The largest k(x, x).
    largest: f64,
}

impl KernelMatrix {
    fn new(kernel: Values<'_>, points: &Points) -> KernelMatrix {
        let (values, count) = (kernel.matrix(points), points.len());
        let largest = linalg::diagonal(&values, count).fold(0.0, f64::max);
        KernelMatrix { values, count, largest }
    }

    /// Adds the kernel of a part times its factor, in its form that is positive definite for any masses, and its mean
    /// to z.
    fn add_part(&mut self, part: &Part, factor: f64, z: &mut [f64]) {
        let packed = part.packed(Precision::Double);
        let rows = self.values.par_chunks_mut(self.count).enumerate();
        rows.for_each(|(i, row)| packed.host().add_row(&part.view(i), factor, row));
        self.find_largest();
        if let Some(means) = part.means() {
            z.iter_mut().zip(means).for_each(|(z, mean)| *z += factor * mean);
        }
        if let Some((g, mean_g)) = part.completion() {
            self.complete(factor, &g, z);
            z.iter_mut().for_each(|z| *z += factor * mean_g);
        }
    }

    /// Adds factor·(g(x) + g(y)) to k(x, y), and factor·g(x) to z.
    fn complete(&mut self, factor: f64, g: &[f64], z: &mut [f64]) {
        for ((row, z), own) in self.values.chunks_exact_mut(self.count).zip(z).zip(g) {
            row.iter_mut().zip(g).for_each(|(k, other)| *k += factor * (own + other));
            *z += factor * own;
        }
        self.find_largest();
    }

    fn find_largest(&mut self) {
        self.largest = linalg::diagonal(&self.values, self.count).fold(0.0, f64::max);
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.count..(i + 1) * self.count]
    }

    /// The factor of K with the smallest jitter that makes it positive definite: 0, or the first of 1e-12, 1e-11, …
    /// times the largest k(x, x).
    fn factor(&self, watch: Watch) -> Result<(Factor, f64)> {
        let growing = (0..=6).map(|power| self.largest * SMALLEST_JITTER * 10f64.powi(power));
        let jitters = std::iter::once(0.0).chain(growing);
        for jitter in jitters {
            let smallest_pivot = SMALLEST_PIVOT * self.largest;
            let goes_on = |done| watch(Progress::Weighing { done, total: self.count });
            let values = self.values.clone();
            if let Some(factor) = Factor::watched(values, self.count, jitter, smallest_pivot, goes_on)? {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unwatched;

    #[test]
    fn the_jitter_is_the_first_that_is_enough_in_units_of_the_largest_value() {
        for unit in [2f64.powi(-30), 1.0, 2f64.powi(30)] {
            let jitter = |beside: f64| {
                let values = [1.0, beside, beside, 1.0].map(|k| k * unit).to_vec();
                KernelMatrix { values, count: 2, largest: unit }
                    .factor(&unwatched)
                    .map(|(_, jitter)| jitter / unit)
            };
            assert_eq!(jitter(0.5).unwrap(), 0.0);
            assert_eq!(jitter(1.0).unwrap(), 1e-12);
            // Its second pivot is 2e-14, which is rounding noise.
            assert_eq!(jitter(1.0 - 1e-14).unwrap(), 1e-12);
            // Its smaller eigenvalue is −5e-10.
            assert!((jitter(1.0 + 5e-10).unwrap() - 1e-9).abs() < 1e-20);
            let Err(Error::SingularKernelMatrix { jitter }) = jitter(1.1) else { panic!("it has no factor") };
            assert_eq!(jitter, 1e-6 * unit);
        }
    }
}
