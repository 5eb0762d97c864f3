//! The projection on landmarks: α with its ridge, ‖μ‖² with its standard error, the residual.
//!
//! **The ridge.** K is nearly singular for smooth kernels, and m is known to some error η in each number only. With e
//! the vector of these errors, (K + ε·I)⁻¹ moves μ̃ by at most ‖e‖/(2√ε) ≤ η·√(r/(4ε)) in the norm of the kernel's
//! space, while the ridge itself costs at most ε·‖α‖² of squared residual, and ‖α‖² is about 1/r, because each landmark
//! represents a share of the rows. The sum η²r/(4ε) + ε/r of the two is least at ε = η·r/2, where it is η. So
//!
//! > ε = η·r·max k(z, z), with η the rounding of m
//!
//! and the squared residual, which must be small compared with E_T², grows only by about η. In f64 η is a few units in
//! the last place, which is also what the factorisation needs. In f32 the errors of single kernel values, 6e-8, average
//! out over the rows, except for their common part at a landmark; the rounding of the landmark itself is part of the
//! landmark.
//!
//! **Equal masses.** A kernel of equal masses (`energy`) is completed to k(x, y) + g(x) + g(y), which is positive
//! definite, and α must sum to one. The rest is a constant, up to which such a μ is known.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::{EstimatedNorm, LandmarkSums, Landmarks};
use crate::kernel::distances_from_centre;
use crate::linalg::{self, Factor};
use crate::sum::{self, Precision, instruction_set};
use crate::watch::{Progress, Watch};
use crate::{Error, Kernel, Points, Result};

/// η in f32: the rounding of one kernel value, 6e-8, over the root of the number of rows that f32 is used for, and less
/// because most values are well below 1.
const MIXED_ROUNDING: f64 = 1e-10;

/// η in f64.
const DOUBLE_ROUNDING: f64 = 4.0 * f64::EPSILON;

/// Random vectors for a trace; most eigenvalues of the matrix are equal, so that few are enough.
const PROBES: usize = 2;

/// Rows like the one with the largest residual that no control point hit: three at most, with a probability of 95 %.
const UNSEEN: f64 = 3.0;

/// The largest residual of rows that no draw in proportion to their weights hit, in units of the largest one seen: landmarks follow the
/// weights too, so the rows that both miss are farther from the landmarks.
const UNSEEN_OF_WEIGHTED: f64 = 10.0;

/// Number of times that the ridge is multiplied by ten if rounding makes the kernel matrix indefinite.
const TRIES: i32 = 10;

/// Solves for the embedding.
pub(super) fn solve(sums: &LandmarkSums, watch: Watch) -> Result<Landmarks> {
    let LandmarkSums { sums: kernel_sums, landmarks: count } = sums;
    let (kernel, dim, precision) =
        (kernel_sums.kernel(), kernel_sums.points().dim(), kernel_sums.precision());
    let means = kernel_sums.means()?;
    let rounded = kernel_sums.packing().host().rounded();
    let (landmarks, controls) = rounded.split_at(count * dim);
    let points = Points::from_rows(landmarks, dim)?;
    let packed =
        kernel_sums.packing().beside(&points).expect("some of the points are no wider spread than all");
    let (m, exact) = means.split_at(*count);

    let projector = Projector::new(kernel, &points, precision, watch)?;
    let (Projection { mut coefficients, offset }, ridge) = (projector.project(m), projector.ridge);
    if precision == Precision::Mixed {
        // Rounded as in the sums at any points.
        coefficients.iter_mut().for_each(|a| *a = f64::from(*a as f32));
    }
    let totals = &kernel_sums.totals;
    let norm = (exact.len() > 1).then(|| -> Result<EstimatedNorm> {
        let controls = Points::from_rows(controls, dim)?;
        let at = kernel_sums.packing().beside(&controls).expect("no wider spread than all");
        let mut approximate = vec![0.0; exact.len()];
        at.mean_into(&packed, Some(&coefficients), &mut approximate);
        let missing: Vec<f64> = exact.iter().zip(&approximate).map(|(mu, at)| mu - at - offset).collect();
        let (mean, variance) = mean_and_variance(&missing);
        let count = missing.len() as f64;
        // The residual may be that of a few rows, of which the control points show a part or nothing.
        let largest = missing.iter().fold(0.0, |a: f64, missing| a.max((missing - mean).abs()));
        let unseen = if totals.is_weighted { UNSEEN * UNSEEN_OF_WEIGHTED } else { UNSEEN };
        let mut sampling = variance / count + (unseen * largest / count).powi(2);
        if !totals.is_weighted {
            // Correction for a finite number of distinct rows: all of them would leave no error.
            sampling *= (1.0 - count / totals.rows as f64).max(0.0);
        }
        let terms = coefficients.iter().zip(m).map(|(a, m)| (a * m).abs()).sum::<f64>() + offset.abs();
        let largest_term = terms.max(exact.iter().fold(0.0, |a, mu| a.max(mu.abs())));
        let is_measured = !totals.is_weighted && !kernel_sums.packing().device().is_gpu();
        let Rounding { bias, error } = match precision {
            Precision::Double => Rounding::in_double(totals.rows, largest_term),
            _ if is_measured => Rounding::in_mixed(projector.excess(totals.rows), largest_term),
            // With weights there are fewer rows than it seems, and a GPU adds in another order.
            _ => Rounding { bias: 0.0, error: projector.excess(totals.rows).hypot(5e-9 * largest_term) },
        };
        Ok(EstimatedNorm {
            squared: linalg::dot(&coefficients, m) + offset + mean - bias,
            standard_error: (sampling + error * error).sqrt(),
            squared_residual: mean - ridge * linalg::dot(&coefficients, &coefficients),
        })
    });
    let norm = norm.transpose()?;
    let numbers = coefficients.iter().copied().chain(norm.map(|norm| norm.squared));
    if let Some(value) = numbers.into_iter().find(|value| !value.is_finite()) {
        return Err(Error::Overflow { value });
    }
    Ok(Landmarks {
        kernel: kernel.clone(),
        points,
        packed,
        wide: Default::default(),
        coefficients,
        offset,
        ridge,
        mean_diagonal: totals.diagonal / totals.weight,
        norm,
        sums: sums.clone().into(),
        samples: None,
    })
}

/// What rounding adds to ‖μ‖², and the standard error that it leaves.
struct Rounding {
    bias: f64,
    error: f64,
}

impl Rounding {
    /// That of a sum over n rows, a random walk of n roundings of the largest term. Sums over landmarks do better than this; a sum
    /// over all pairs, with which the number is compared, does not, for example where rows repeat.
    fn in_double(rows: u64, largest_term: f64) -> Rounding {
        Rounding { bias: 0.0, error: (4.0 + (rows as f64).sqrt()) * f64::EPSILON * largest_term }
    }

    /// α is fitted to m with its rounding e, so that αᵀm is too large by `excess` = E eᵀ(K + ε·I)⁻¹e, which the control points do not
    /// show. What is left is up to 1e-9 where the largest term is near 3, and a fraction of the bias (`bench/landmark_error.py`, the
    /// cases in single precision).
    fn in_mixed(excess: f64, largest_term: f64) -> Rounding {
        Rounding { bias: excess, error: (0.5 * excess).hypot(6e-10 * largest_term) }
    }
}

/// The rounding that a kernel value has in a sum in f32, relative to the values, root mean square. It is that of the partial sums,
/// longer with fewer lanes: what the sums at landmarks and at control points share, the rounding of the value, is no part of the
/// excess. Measured (`bench/landmark_error.py`, cases of 20,000 rows).
fn rounding_of_value() -> f64 {
    match instruction_set() {
        "avx512" => 1.1e-7,
        "avx2" => 2.1e-7,
        _ => 3.9e-7,
    }
}

/// K + ε·I as its factor, completed for a kernel of equal masses.
pub(super) struct Projector {
    /// `None` where all landmarks are one point at which the kernel is zero.
    factor: Option<Factor>,
    /// g at the landmarks, where the kernel has to be completed, and (K + ε·I)⁻¹ of ones.
    completion: Option<(Vec<f64>, Vec<f64>)>,
    ridge: f64,
    count: usize,
    /// The mean of the squared entries of K.
    mean_square: f64,
}

/// α and the constant.
pub(super) struct Projection {
    pub(super) coefficients: Vec<f64>,
    pub(super) offset: f64,
}

impl Projector {
    pub(super) fn new(
        kernel: &Kernel,
        points: &Points,
        precision: Precision,
        watch: Watch,
    ) -> Result<Projector> {
        let rounding = if precision == Precision::Double { DOUBLE_ROUNDING } else { MIXED_ROUNDING };
        let count = points.len();
        // g, where the kernel has to be completed.
        let completion = kernel.needs_equal_masses().then(|| distances_from_centre(points));
        let diagonal =
            |(i, z): (usize, &[f64])| kernel.diagonal(z) + completion.as_ref().map_or(0.0, |g| 2.0 * g[i]);
        let largest = points.rows().enumerate().map(diagonal).fold(0.0, f64::max);
        if largest <= 0.0 {
            let completion = completion.map(|g| (g, vec![]));
            return Ok(Projector { factor: None, completion, ridge: 0.0, count, mean_square: 0.0 });
        }
        let least = rounding * count as f64 * largest;
        for power in 0..TRIES {
            let ridge = least * 10f64.powi(power);
            let mut matrix = sum::kernel_matrix(kernel, points);
            let mean_square = matrix.iter().map(|k| k * k).sum::<f64>() / matrix.len() as f64;
            if let Some(g) = &completion {
                for (row, own) in matrix.chunks_exact_mut(count).zip(g) {
                    row.iter_mut().zip(g).for_each(|(k, other)| *k += own + other);
                }
            }
            let goes_on = |done| watch(Progress::Solving { done, total: count });
            let factor = Factor::watched(matrix, count, ridge, ridge / 8.0, goes_on)?;
            let Some(factor) = factor else { continue };
            let completion = completion.map(|g| {
                let mut ones = vec![1.0; count];
                factor.solve(&mut ones);
                (g, ones)
            });
            return Ok(Projector { factor: Some(factor), completion, ridge, count, mean_square });
        }
        Err(Error::SingularKernelMatrix { jitter: least * 10f64.powi(TRIES - 1) })
    }

    /// The projection of a mean embedding with these values at the landmarks.
    pub(super) fn project(&self, m: &[f64]) -> Projection {
        let Some(factor) = &self.factor else {
            let share = self.completion.as_ref().map_or(0.0, |_| 1.0 / self.count as f64);
            let offset = self.completion.as_ref().map_or(0.0, |_| m[0]);
            return Projection { coefficients: vec![share; self.count], offset };
        };
        let mut coefficients = m.to_vec();
        let Some((g, ones)) = &self.completion else {
            factor.solve(&mut coefficients);
            return Projection { coefficients, offset: 0.0 };
        };
        coefficients.iter_mut().zip(g).for_each(|(mean, g)| *mean += g);
        factor.solve(&mut coefficients);
        let multiplier = (1.0 - coefficients.iter().sum::<f64>()) / ones.iter().sum::<f64>();
        coefficients.iter_mut().zip(ones).for_each(|(a, one)| *a += multiplier * one);
        let offset = linalg::dot(g, &coefficients) - multiplier;
        Projection { coefficients, offset }
    }

    /// E eᵀ(K + ε·I)⁻¹e for the rounding e of sums over this number of rows in f32, whose parts are independent of each other. The
    /// trace is estimated by random signs.
    fn excess(&self, rows: u64) -> f64 {
        let Some(factor) = &self.factor else { return 0.0 };
        let mut rng = Pcg64::seed_from_u64(0);
        let of_probe = |_| {
            let signs: Vec<f64> = (0..self.count).map(|_| if rng.random() { 1.0 } else { -1.0 }).collect();
            let mut solved = signs.clone();
            factor.solve(&mut solved);
            linalg::dot(&signs, &solved)
        };
        let trace = (0..PROBES).map(of_probe).sum::<f64>() / PROBES as f64;
        rounding_of_value().powi(2) * self.mean_square * trace / rows as f64
    }

    /// ‖φ − Pφ‖² for a point with these kernel values at the landmarks and with itself.
    pub(super) fn unexplained(&self, values: &[f64], own: f64) -> f64 {
        let Projection { coefficients, offset } = self.project(values);
        let known = linalg::dot(&coefficients, values) + offset;
        (own - known - self.ridge * linalg::dot(&coefficients, &coefficients)).max(0.0)
    }
}

fn mean_and_variance(numbers: &[f64]) -> (f64, f64) {
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let squares: f64 = numbers.iter().map(|number| (number - mean) * (number - mean)).sum();
    (mean, squares / (count - 1.0))
}
