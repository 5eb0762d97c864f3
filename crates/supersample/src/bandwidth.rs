//! How wide the kernel should be when the user does not say.

use rand::RngExt;
use rand::SeedableRng;
use rand_pcg::Pcg64;

use crate::kernel::Distance;
use crate::points::normalised;
use crate::{Points, Result};

/// How many points the median is taken over: 1000 points make half a million pairs, which fixes the median to about
/// one part in a hundred and takes milliseconds.
pub const MEDIAN_SUBSAMPLE: usize = 1000;

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

/// The same where points have weights: over rows drawn by their weight.
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

/// `size` of the numbers below `n`, all distinct and the same on every run; all of them where there are no more.
pub(crate) fn subsample(n: usize, size: usize) -> Vec<usize> {
    if n <= size {
        return (0..n).collect();
    }
    // Floyd's method: distinct without a list of all n numbers.
    let mut rng = Pcg64::seed_from_u64(0);
    let mut chosen = std::collections::BTreeSet::new();
    for top in n - size..n {
        let candidate = rng.random_range(0..=top);
        if !chosen.insert(candidate) {
            chosen.insert(top);
        }
    }
    chosen.into_iter().collect()
}

/// `count` rows at equal steps of the summed weight, the first half a step in: each row is drawn as often as its weight
/// says, up to one. The offset moves them all, from 0 to 1 step.
pub(crate) fn systematic(shares: &[f64], count: usize, offset: f64) -> Vec<usize> {
    let mut rows = Vec::with_capacity(count);
    let (mut row, mut reached) = (0, shares[0]);
    for i in 0..count {
        let wanted = (i as f64 + offset) / count as f64;
        while reached <= wanted && row + 1 < shares.len() {
            row += 1;
            reached += shares[row];
        }
        // Rounding may leave the sum short of one; rows of no weight are never drawn.
        while shares[row] == 0.0 && row > 0 {
            row -= 1;
        }
        rows.push(row);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subsample_is_distinct_complete_and_fixed() {
        assert_eq!(subsample(5, 10), [0, 1, 2, 3, 4]);
        let drawn = subsample(100_000, 1000);
        assert_eq!((drawn.len(), &drawn), (1000, &subsample(100_000, 1000)));
        assert!(drawn.windows(2).all(|pair| pair[0] < pair[1]) && drawn[999] < 100_000);
        let mean = drawn.iter().sum::<usize>() as f64 / 1000.0;
        assert!((mean - 50_000.0).abs() < 3_000.0, "{mean}");
    }

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
    fn systematic_draws_follow_the_weights() {
        assert_eq!(systematic(&[0.5, 0.0, 0.25, 0.25], 4, 0.5), [0, 0, 2, 3]);
        assert_eq!(systematic(&[0.25; 4], 2, 0.5), [1, 3]);
        assert_eq!(systematic(&[1.0, 0.0], 3, 0.999), [0, 0, 0]);
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
