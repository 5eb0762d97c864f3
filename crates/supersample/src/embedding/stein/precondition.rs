//! Preconditioners: the matrix Γ in the distances of a Stein kernel's base, computed from points.

use std::fmt;
use std::str::FromStr;

use supersample_sum::{SteinLayout, UnknownWord};

use crate::kernel::Distance;
use crate::linalg::{cholesky, diagonal, dot, inverse_lower};
use crate::words::Opt;
use crate::{Error, Points, Result};

/// Number of evenly spaced points for the median distance.
const MOST_POINTS: usize = 1000;

/// The matrix Γ of the base kernel, a function of (x−y)ᵀΓ⁻¹(x−y).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Preconditioner {
    /// Γ = I. The default.
    #[default]
    Identity,
    /// Γ = m²·I, m the median distance of two points, over at most 1,000 evenly spaced points.
    Median,
    /// Γ = m²/ln(n)·I, n the number of points in the median.
    ScaledMedian,
    /// Γ = the covariance of the points, which divides by n − 1.
    Covariance,
    /// Γ = ℓ²·I, with ℓ in the units of the points.
    Length(f64),
}

impl Preconditioner {
    /// Names of those without a number, the simplest first.
    pub const NAMES: [&'static str; 4] = ["identity", "median", "scaled-median", "covariance"];
}

/// The name, or the length.
impl fmt::Display for Preconditioner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Preconditioner::Identity => f.pad("identity"),
            Preconditioner::Median => f.pad("median"),
            Preconditioner::ScaledMedian => f.pad("scaled-median"),
            Preconditioner::Covariance => f.pad("covariance"),
            Preconditioner::Length(length) => length.fmt(f),
        }
    }
}

/// A name, or a length as a number.
///
/// ```
/// use supersample::Preconditioner;
/// assert_eq!("scaled-median".parse(), Ok(Preconditioner::ScaledMedian));
/// assert_eq!("2.5".parse(), Ok(Preconditioner::Length(2.5)));
/// assert!("sclmed".parse::<Preconditioner>().is_err());
/// ```
impl FromStr for Preconditioner {
    type Err = UnknownWord;

    fn from_str(word: &str) -> std::result::Result<Preconditioner, UnknownWord> {
        match word {
            "identity" => Ok(Preconditioner::Identity),
            "median" => Ok(Preconditioner::Median),
            "scaled-median" => Ok(Preconditioner::ScaledMedian),
            "covariance" => Ok(Preconditioner::Covariance),
            _ => word.parse().map(Preconditioner::Length).map_err(|_| UnknownWord {
                what: "a preconditioner",
                word: word.to_string(),
                known: &Preconditioner::NAMES,
            }),
        }
    }
}

impl Preconditioner {
    /// Checks that a length is positive and its square finite.
    pub(crate) fn check(self) -> Result<()> {
        match self {
            Preconditioner::Length(value) if !(value > 0.0 && (value * value).is_normal()) => {
                let advice = "give a positive length in the units of the scaled columns";
                Err(Error::BadOption { option: Opt::Preconditioner, value, advice })
            }
            _ => Ok(()),
        }
    }
}

/// P = Γ⁻¹.
#[derive(Debug)]
pub(super) enum Precision {
    /// root²·I
    Isotropic { root: f64 },
    /// Any matrix, row by row, and with it L⁻¹, where Γ = L·Lᵀ and so P = L⁻ᵀ·L⁻¹.
    Full { matrix: Vec<f64>, inverse_factor: Vec<f64>, factor: Vec<f64> },
}

impl Precision {
    pub(super) fn fit(preconditioner: Preconditioner, points: &Points) -> Result<Precision> {
        preconditioner.check()?;
        let root = match preconditioner {
            Preconditioner::Identity => 1.0,
            Preconditioner::Length(length) => 1.0 / length,
            Preconditioner::Median => 1.0 / median_distance(points)?,
            Preconditioner::ScaledMedian => {
                (points.len().min(MOST_POINTS) as f64).ln().sqrt() / median_distance(points)?
            }
            Preconditioner::Covariance => return Precision::of_covariance(points),
        };
        match root.is_finite() && root > 0.0 {
            true => Ok(Precision::Isotropic { root }),
            false => {
                Err(Error::NoPreconditioner { reason: "the median distance of the points is too small" })
            }
        }
    }

    fn of_covariance(points: &Points) -> Result<Precision> {
        let (n, dim) = (points.len() as f64, points.dim());
        let mut mean = vec![0.0; dim];
        points.rows().for_each(|x| mean.iter_mut().zip(x).for_each(|(m, x)| *m += x / n));
        let mut covariance = vec![0.0; dim * dim];
        let mut centred = vec![0.0; dim];
        for x in points.rows() {
            centred.iter_mut().zip(x.iter().zip(&mean)).for_each(|(c, (x, m))| *c = x - m);
            for (row, a) in covariance.chunks_exact_mut(dim).zip(&centred) {
                row.iter_mut().zip(&centred).for_each(|(sum, b)| *sum += a * b / (n - 1.0));
            }
        }
        let singular = Error::NoPreconditioner { reason: "the covariance of the points is singular" };
        let largest = diagonal(&covariance, dim).fold(0.0, f64::max);
        let factor = cholesky(&covariance, dim).ok_or_else(|| singular.clone())?;
        // A pivot of the size of rounding is not a variance.
        if diagonal(&factor, dim).any(|pivot| pivot * pivot <= 1e-14 * largest) {
            return Err(singular);
        }
        let inverse_factor = inverse_lower(&factor, dim);
        let mut matrix = vec![0.0; dim * dim];
        for a in 0..dim {
            for b in 0..dim {
                matrix[a * dim + b] =
                    (0..dim).map(|k| inverse_factor[k * dim + a] * inverse_factor[k * dim + b]).sum();
            }
        }
        Ok(Precision::Full { matrix, inverse_factor, factor })
    }

    pub(super) fn layout(&self) -> SteinLayout {
        match self {
            Precision::Isotropic { root } => SteinLayout::Isotropic { root: *root },
            Precision::Full { .. } => SteinLayout::Full,
        }
    }

    /// tr P
    pub(super) fn trace(&self, dim: usize) -> f64 {
        match self {
            Precision::Isotropic { root } => dim as f64 * root * root,
            Precision::Full { matrix, .. } => diagonal(matrix, dim).sum(),
        }
    }

    /// z, in whose coordinates P is the identity, and v = Px where that is not a multiple of z.
    pub(super) fn mapped(&self, x: &[f64]) -> (Vec<f64>, Option<Vec<f64>>) {
        match self {
            Precision::Isotropic { root } => (x.iter().map(|x| root * x).collect(), None),
            Precision::Full { matrix, inverse_factor, .. } => {
                let times = |matrix: &[f64]| matrix.chunks_exact(x.len()).map(|row| dot(row, x)).collect();
                (times(inverse_factor), Some(times(matrix)))
            }
        }
    }

    /// x from its z.
    pub(super) fn unmapped(&self, z: Vec<f64>) -> Vec<f64> {
        match self {
            Precision::Isotropic { root } => z.iter().map(|z| z / root).collect(),
            Precision::Full { factor, .. } => factor.chunks_exact(z.len()).map(|row| dot(row, &z)).collect(),
        }
    }

    /// The gradient in x of a function whose gradients in z and v are known.
    pub(super) fn pulled_back(&self, by_z: &[f64], by_v: &[f64]) -> Vec<f64> {
        match self {
            // That in z has that in v in it.
            Precision::Isotropic { root } => by_z.iter().map(|g| root * g).collect(),
            Precision::Full { matrix, inverse_factor, .. } => {
                let dim = by_z.len();
                let transposed = |matrix: &[f64], by: &[f64], column: usize| {
                    (0..dim).map(|row| matrix[row * dim + column] * by[row]).sum::<f64>()
                };
                (0..dim).map(|i| transposed(inverse_factor, by_z, i) + transposed(matrix, by_v, i)).collect()
            }
        }
    }
}

/// The median distance of two points, of at most [`MOST_POINTS`] of them; points that coincide count.
fn median_distance(points: &Points) -> Result<f64> {
    let few = Error::NoPreconditioner { reason: "more than half of the pairs of points coincide" };
    let n = points.len();
    let rows: Vec<usize> = match n > MOST_POINTS {
        false => (0..n).collect(),
        true => {
            let step = (n - 1) as f64 / (MOST_POINTS - 1) as f64;
            let spread = (0..MOST_POINTS - 1).map(|i| (i as f64 * step) as usize);
            spread.chain([n - 1]).collect()
        }
    };
    let mut distances = Vec::with_capacity(rows.len() * rows.len() / 2);
    for (i, &a) in rows.iter().enumerate() {
        let to = |&b: &usize| Distance::SquaredEuclidean.between(points.row(a), points.row(b)).sqrt();
        distances.extend(rows[..i].iter().map(to));
    }
    if distances.is_empty() {
        return Err(few);
    }
    let middle = distances.len() / 2;
    let is_even = distances.len().is_multiple_of(2);
    let (below, upper, _) = distances.select_nth_unstable_by(middle, f64::total_cmp);
    let upper = *upper;
    let median = match is_even {
        true => (below.iter().copied().fold(f64::NEG_INFINITY, f64::max) + upper) / 2.0,
        false => upper,
    };
    if median > 0.0 { Ok(median) } else { Err(few) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_that_of_all_pairs_or_of_points_spread_evenly() {
        let line = |numbers: Vec<f64>| Points::from_vec(numbers, 1).unwrap();
        assert_eq!(median_distance(&line(vec![0.0, 1.0, 3.0])), Ok(2.0)); // of 1, 2, 3
        assert_eq!(median_distance(&line(vec![0.0, 1.0, 3.0, 7.0])), Ok(3.5)); // of 1, 2, 3, 4, 6, 7
        // Every second point and the last but one: the median of 1,000 even numbers, and not of all.
        let wild = |i: usize| if i.is_multiple_of(2) || i == 1999 { i as f64 } else { 1e6 };
        let many = line((0..2000).map(wild).collect());
        let found = median_distance(&many).unwrap();
        assert!((580.0..590.0).contains(&found), "{found}");
        assert!(median_distance(&line(vec![1.0, 1.0, 1.0, 1.0, 2.0])).is_err());
        assert!(median_distance(&line(vec![1.0])).is_err());
    }

    #[test]
    fn the_covariance_is_inverted_and_singular_ones_are_refused() {
        let points = Points::from_rows(&[0.0, 0.0, 2.0, 1.0, 1.0, 3.0, 5.0, 2.0], 2).unwrap();
        let precision = Precision::fit(Preconditioner::Covariance, &points).unwrap();
        let Precision::Full { matrix, .. } = &precision else { panic!("a matrix") };
        // Sxx = 14/3, Sxy = 1, Syy = 5/3 over n − 1 = 3: the inverse is adj/det.
        let det = 14.0 / 3.0 * 5.0 / 3.0 - 1.0;
        let want = [5.0 / 3.0 / det, -1.0 / det, -1.0 / det, 14.0 / 3.0 / det];
        assert!(matrix.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-14), "{matrix:?} {want:?}");
        let (z, v) = precision.mapped(&[0.3, -0.7]);
        let square = 0.09 * matrix[0] - 0.42 * matrix[1] + 0.49 * matrix[3];
        assert!((dot(&z, &z) - square).abs() < 1e-14 && v.is_some());
        let back = precision.unmapped(z);
        assert!((back[0] - 0.3).abs() < 1e-14 && (back[1] + 0.7).abs() < 1e-14);
        let flat = Points::from_rows(&[0.0, 0.0, 1.0, 2.0, 2.0, 4.0], 2).unwrap();
        for bad in [flat, Points::from_rows(&[0.0, 1.0], 2).unwrap()] {
            assert!(matches!(
                Precision::fit(Preconditioner::Covariance, &bad),
                Err(Error::NoPreconditioner { .. })
            ));
        }
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Precision::fit(Preconditioner::Length(bad), &points).is_err());
        }
    }
}
