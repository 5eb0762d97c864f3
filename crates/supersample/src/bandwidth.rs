//! How wide the kernel should be when the user does not say.

use crate::kernel::Distance;
use crate::points::normalised;
use crate::row_sampling::{subsample, systematic};
use crate::{Points, Result};

/// How many points the median is taken over: 1000 points make half a million pairs, which fixes the median to about
/// one part in a hundred and takes milliseconds.
pub const MEDIAN_SUBSAMPLE: usize = 1000;

/// A median distance, and how it was found.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct MedianDistance {
    /// The distance; always positive.
    pub length: f64,
    /// Over how many pairs of points.
    pub pairs: usize,
}

impl MedianDistance {
    /// Of points with a weight each, or with equal ones: [`median`] or [`weighted_median`] with the number of pairs.
    pub fn of(points: &Points, weights: Option<&[f64]>) -> Result<MedianDistance> {
        let length = match weights {
            None => median(points),
            Some(weights) => weighted_median(points, weights)?,
        };
        let rows = points.len().min(MEDIAN_SUBSAMPLE);
        Ok(MedianDistance { length, pairs: rows * (rows - 1) / 2 })
    }
}

/// The median distance between two points, over a subsample of [`MEDIAN_SUBSAMPLE`] that is the same on every run.
///
/// Always positive: where more than half of the pairs coincide it is the median over the pairs that do not, and 1
/// where all points are the same.
///
/// ```
/// use supersample::{Points, bandwidth};
/// let points = Points::from_rows(&[0.0, 1.0, 3.0], 1)?;
/// assert_eq!(bandwidth::median(&points), 2.0); // of 1, 2 and 3
/// # Ok::<(), supersample::Error>(())
/// ```
pub fn median(points: &Points) -> f64 {
    let rows = subsample(points.len(), MEDIAN_SUBSAMPLE);
    let mut distances = Vec::with_capacity(rows.len() * (rows.len() - 1) / 2);
    for (i, &a) in rows.iter().enumerate() {
        for &b in &rows[..i] {
            distances.push(Distance::SquaredEuclidean.between(points.row(a), points.row(b)).sqrt());
        }
    }
    let usable = |distance: &f64| *distance > 0.0 && distance.is_finite();
    match middle(&mut distances) {
        Some(distance) if usable(&distance) => distance,
        _ => {
            distances.retain(usable);
            middle(&mut distances).unwrap_or(1.0)
        }
    }
}

/// The median distance between two points that have weights, over rows drawn by their weight.
pub fn weighted_median(points: &Points, weights: &[f64]) -> Result<f64> {
    let shares = normalised(weights, "points", points.len())?;
    let rows = systematic(&shares, MEDIAN_SUBSAMPLE.min(points.len()), 0.5);
    Ok(median(&points.select(&rows)?))
}

/// The upper median, or `None` of nothing.
fn middle(values: &mut [f64]) -> Option<f64> {
    let half = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    Some(*values.select_nth_unstable_by(half, f64::total_cmp).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_many_points_is_that_of_their_distribution() {
        // Two uniform numbers on [0, 1] lie within t of each other with probability 2t − t², which is 1/2 at
        // t = 1 − 1/√2.
        let n = 100_000u64;
        let grid: Vec<f64> = (0..n).map(|i| (i * 61_803 % n) as f64 / n as f64).collect();
        let median = median(&Points::from_vec(grid, 1).unwrap());
        assert!((median - (1.0 - 0.5f64.sqrt())).abs() < 0.01, "{median}");
    }

    #[test]
    fn a_point_without_weight_does_not_count() {
        let points = Points::from_rows(&[0.0, 1.0, 3.0, 1e6], 1).unwrap();
        assert_eq!(weighted_median(&points, &[2.0, 2.0, 2.0, 0.0]).unwrap(), 2.0);
        assert!(weighted_median(&points, &[1.0]).is_err());
    }

    #[test]
    fn repeated_or_single_points_still_give_a_positive_length() {
        let median = |rows: &[f64]| median(&Points::from_rows(rows, 1).unwrap());
        assert_eq!(median(&[5.0]), 1.0);
        assert_eq!(median(&[5.0, 5.0, 5.0]), 1.0);
        assert_eq!(median(&[0.0, 0.0, 0.0, 0.0, 3.0]), 3.0);
        assert_eq!(median(&[-1e308, 1e308]), 1.0);
    }
}
