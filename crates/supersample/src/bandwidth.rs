//! Bandwidth from the points: the median distance, the default length of a kernel.

use std::cmp::Ordering;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use rayon::prelude::*;
use supersample_sum::{Tally, tally_pairs};

use crate::kernel::Distance;
use crate::points::normalised;
use crate::quality::systematic_rows;
use crate::{Points, Result};

/// Largest number of pairs for which all are used.
pub const ALL_PAIRS: usize = 1_000_000;

/// Number of random pairs above [`ALL_PAIRS`]. They fix the median to about two parts in a thousand for most
/// distributions, in a few milliseconds.
pub const RANDOM_PAIRS: usize = 250_000;

/// Number of random pairs in a block with its own seed.
const BLOCK: usize = 10_000;

/// Number of random pairs that say about where the median of many lies.
const BRACKETING: usize = 8192;

/// Rows with weights are drawn this number of times for them.
const DRAWN: usize = 2048;

/// Blocks of rows whose pairs are counted together.
const BLOCKS: usize = 16;

/// Median distance between two different points, and the number of pairs.
///
/// It uses all pairs if there are at most [`ALL_PAIRS`] (1,414 rows), and [`RANDOM_PAIRS`] independent random pairs
/// otherwise, the same on every run and for any number of threads. Rows are drawn by their rank in the order of their
/// coordinates, not by their order in the file, and points that coincide make no pair. So rows in another order, or all
/// rows twice, give the same median. With weights, a pair counts (or is drawn) by the product of its two weights, as if
/// a row of weight two were two rows that are never paired with each other.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct MedianDistance {
    /// The distance, always positive; 1 if all points are equal.
    pub length: f64,
    /// Number of pairs of points.
    pub pairs: usize,
}

impl MedianDistance {
    /// Computes the median distance of points with weights, or with equal ones.
    ///
    /// ```
    /// use supersample::{Points, bandwidth::MedianDistance};
    /// let points = Points::from_rows(&[0.0, 1.0, 3.0, 1e6], 1)?;
    /// let found = MedianDistance::of(&points, Some(&[2.0, 2.0, 2.0, 0.0]))?;
    /// assert_eq!((found.length, found.pairs), (2.0, 3)); // of 1, 2 and 3
    /// # Ok::<(), supersample::Error>(())
    /// ```
    pub fn of(points: &Points, weights: Option<&[f64]>) -> Result<MedianDistance> {
        let shares = weights.map(|weights| normalised(weights, "points", points.len())).transpose()?;
        let Some(shares) = shares else { return Ok(of_equal(points)) };
        // Rows of no weight are in no pair.
        let rows: Vec<usize> = (0..shares.len()).filter(|&row| shares[row] > 0.0).collect();
        let shares: Vec<f64> = rows.iter().map(|&row| shares[row]).collect();
        let points = if rows.len() == points.len() { points.clone() } else { points.select(&rows)? };
        if shares.iter().all(|share| *share == shares[0]) {
            return Ok(of_equal(&points));
        }
        if all_pairs(points.len()) <= ALL_PAIRS {
            return Ok(of_few(&points, Some(&shares)).unwrap_or_else(|| weighted_by_sort(&points, &shares)));
        }
        let order = in_order(&points);
        let ends: Vec<f64> = order
            .iter()
            .scan(0.0, |reached, &row| {
                *reached += shares[row];
                Some(*reached)
            })
            .collect();
        let total = ends[ends.len() - 1];
        let place = |u: f64| ends.partition_point(|end| *end <= u * total).min(ends.len() - 1);
        Ok(plain_median_of(random_pairs(&points, &order, place)))
    }
}

/// Returns the median distance between two points; see [`MedianDistance`].
///
/// ```
/// use supersample::{Points, bandwidth};
/// let points = Points::from_rows(&[0.0, 1.0, 3.0], 1)?;
/// assert_eq!(bandwidth::median(&points), 2.0); // of 1, 2 and 3
/// # Ok::<(), supersample::Error>(())
/// ```
pub fn median(points: &Points) -> f64 {
    of_equal(points).length
}

fn all_pairs(rows: usize) -> usize {
    rows.saturating_mul(rows - 1) / 2
}

/// Squared distance. It has the same order as the distance, so one root of the median is enough.
fn squared(points: &Points, i: usize, j: usize) -> f64 {
    Distance::SquaredEuclidean.between(points.row(i), points.row(j))
}

fn of_equal(points: &Points) -> MedianDistance {
    let n = points.len();
    if all_pairs(n) > ALL_PAIRS {
        let place = |u: f64| ((u * n as f64) as usize).min(n - 1);
        return plain_median_of(random_pairs(points, &in_order(points), place));
    }
    of_few(points, None).unwrap_or_else(|| {
        let of_row = |i: usize| (0..i).map(move |j| squared(points, i, j));
        plain_median_of((0..n).into_par_iter().flat_map_iter(of_row).collect())
    })
}

/// The median by weight of all pairs, by a sort.
fn weighted_by_sort(points: &Points, shares: &[f64]) -> MedianDistance {
    let weigh = |(i, j): (usize, usize)| (squared(points, i, j), shares[i] * shares[j]);
    let of_row = |i: usize| (0..i).map(move |j| (i, j)).map(weigh);
    let weighted = (0..points.len()).into_par_iter().flat_map_iter(of_row).collect();
    median_of(weighted, |pair: &(f64, f64)| pair.0, weighted_middle)
}

/// The median of all pairs without a sort of them, to the last bit that of the sort: random pairs say between which two lengths it
/// lies, one pass counts the pairs below and keeps those between. `None` where there are too few pairs for that, where the two
/// lengths miss it, or where rounding decides between two pairs.
fn of_few(points: &Points, shares: Option<&[f64]>) -> Option<MedianDistance> {
    let n = points.len();
    if all_pairs(n) < 2 * BRACKETING {
        return None;
    }
    let bounds = bracket(bracketing_pairs(points, shares))?;
    let mut columns = vec![0.0; n * points.dim()];
    for (row, x) in points.rows().enumerate() {
        x.iter().enumerate().for_each(|(k, x)| columns[k * n + row] = *x);
    }
    // Blocks of about equal numbers of pairs: rows up to n·√(b/B).
    let end = |block: usize| (n as f64 * (block as f64 / BLOCKS as f64).sqrt()).round() as usize;
    let tallies: Vec<Tally> = (0..BLOCKS)
        .into_par_iter()
        .map(|block| tally_pairs(&columns, n, end(block)..end(block + 1), shares, bounds))
        .collect();
    let (pairs, below) = tallies.iter().fold((0, 0), |(p, b), tally| (p + tally.pairs, b + tally.below));
    let within = tallies.iter().flat_map(|tally| &tally.within);
    let squared = match shares {
        None => {
            // Positive numbers have the order of their bits.
            let mut within: Vec<u64> = within.map(|pair| pair.0.to_bits()).collect();
            let place = (pairs / 2).checked_sub(below).filter(|place| *place < within.len())?;
            f64::from_bits(*within.select_nth_unstable(place).1)
        }
        Some(_) => {
            let sum = |of: fn(&Tally) -> f64| tallies.iter().map(of).sum::<f64>();
            let (total, below) = (sum(|tally| tally.weight), sum(|tally| tally.weight_below));
            middle_within(&mut within.copied().collect::<Vec<_>>(), below, total)?
        }
    };
    Some(MedianDistance { length: squared.sqrt(), pairs })
}

/// The first value up to which there is more than half of the total weight, with the weight below all values; `None` where the
/// values do not hold it, or where rounding could decide.
fn middle_within(values: &mut [(f64, f64)], below: f64, total: f64) -> Option<f64> {
    let (half, doubt) = (total / 2.0, 1e-9 * total);
    if below > half - doubt {
        return None;
    }
    // A search by halves, and not a sort: the weight up to the middle says in which half the value is.
    let (mut rest, mut before) = (values, below);
    while rest.len() > 1 {
        let middle = rest.len() / 2;
        rest.select_nth_unstable_by(middle, |a, b| a.0.total_cmp(&b.0));
        let (low, high) = rest.split_at_mut(middle);
        let up_to = before + low.iter().map(|value| value.1).sum::<f64>();
        if (up_to - half).abs() <= doubt {
            return None;
        }
        (rest, before) = if up_to > half { (low, before) } else { (high, up_to) };
    }
    let &mut [(value, weight)] = rest else { return None };
    (before + weight > half + doubt).then_some(value)
}

/// Squared distances of random pairs, drawn by their weights, that neither coincide nor overflow. Each row is in as many pairs as
/// any other, which makes their median more precise than that of independent pairs.
fn bracketing_pairs(points: &Points, shares: Option<&[f64]>) -> Vec<f64> {
    let rows = match shares {
        // Each row about as often as its weight asks.
        Some(shares) => systematic_rows(shares, DRAWN).ok(),
        None => None,
    };
    let mut rows = rows.unwrap_or_else(|| (0..points.len()).collect());
    rows.shuffle(&mut Pcg64::seed_from_u64(0));
    let count = rows.len();
    let apart = 1..=BRACKETING.div_ceil(count).min(count - 1);
    let pairs = apart.flat_map(|by| rows.iter().zip(rows[by..].iter().chain(&rows[..by])));
    pairs.map(|(&i, &j)| squared(points, i, j)).filter(|d| *d > 0.0 && d.is_finite()).collect()
}

/// Two values that the median lies between, from some of the values in random order: three standard deviations of their middle apart
/// from it. `None` of too few.
fn bracket(mut some: Vec<f64>) -> Option<(f64, f64)> {
    let (half, reach) = (some.len() / 2, 3 * some.len().isqrt() / 2);
    if some.len() < 100 {
        return None;
    }
    let (_, low, above) = some.select_nth_unstable_by(half - reach, f64::total_cmp);
    let (low, (_, high, _)) = (*low, above.select_nth_unstable_by(2 * reach - 1, f64::total_cmp));
    Some((low, *high))
}

/// The rows in the order of their first coordinates, then of their second, and so on.
fn in_order(points: &Points) -> Vec<usize> {
    // The first coordinate is stored with the row number: most comparisons need no other.
    let mut rows: Vec<(f64, usize)> = points.rows().enumerate().map(|(row, x)| (x[0], row)).collect();
    rows.par_sort_unstable_by(|a, b| {
        let rest = || {
            let pairs = points.row(a.1).iter().zip(points.row(b.1));
            pairs.map(|(x, y)| x.total_cmp(y)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        };
        a.0.total_cmp(&b.0).then_with(rest)
    });
    rows.into_iter().map(|(_, row)| row).collect()
}

/// The squared distances of [`RANDOM_PAIRS`] random pairs of rows, 0 for a row with itself. `place` maps a number from
/// 0 to 1 to a position in the order.
fn random_pairs(points: &Points, order: &[usize], place: impl Fn(f64) -> usize + Sync) -> Vec<f64> {
    let mut pairs = vec![0.0; RANDOM_PAIRS];
    pairs.par_chunks_mut(BLOCK).enumerate().for_each(|(block, pairs)| {
        let mut rng = Pcg64::seed_from_u64(block as u64);
        for pair in pairs {
            let (i, j) = (order[place(rng.random())], order[place(rng.random())]);
            *pair = squared(points, i, j);
        }
    });
    pairs
}

fn plain_median_of(squared: Vec<f64>) -> MedianDistance {
    median_of(squared, |squared| *squared, middle)
}

/// The median, as `middle` finds it of squared distances, of the pairs that neither coincide nor overflow.
fn median_of<T>(
    mut pairs: Vec<T>,
    squared: impl Fn(&T) -> f64,
    middle: impl Fn(&mut [T]) -> Option<f64>,
) -> MedianDistance {
    pairs.retain(|pair| squared(pair) > 0.0 && squared(pair).is_finite());
    MedianDistance { length: middle(&mut pairs).map_or(1.0, f64::sqrt), pairs: pairs.len() }
}

/// The upper median, or `None` of nothing.
fn middle(values: &mut [f64]) -> Option<f64> {
    let half = values.len() / 2;
    // Of many values in random order, only those near the middle are sorted out.
    if values.len() > 4 * BRACKETING
        && let Some((low, high)) =
            bracket(values.iter().step_by(values.len() / BRACKETING).copied().collect())
    {
        let below = values.iter().filter(|value| **value < low).count();
        let mut within: Vec<f64> =
            values.iter().copied().filter(|value| (low..=high).contains(value)).collect();
        if let Some(place) = half.checked_sub(below).filter(|place| *place < within.len()) {
            return Some(*within.select_nth_unstable_by(place, f64::total_cmp).1);
        }
    }
    (!values.is_empty()).then(|| *values.select_nth_unstable_by(half, f64::total_cmp).1)
}

/// The upper median by weight: the first value with more than half of the weight up to it.
fn weighted_middle(values: &mut [(f64, f64)]) -> Option<f64> {
    values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let half = values.iter().map(|value| value.1).sum::<f64>() / 2.0;
    let mut reached = 0.0;
    let is_past = |&&(_, weight): &&(f64, f64)| {
        reached += weight;
        reached > half
    };
    values.iter().find(is_past).or(values.last()).map(|value| value.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::GaussianMixture;

    fn weighted_median(points: &Points, weights: &[f64]) -> Result<f64> {
        Ok(MedianDistance::of(points, Some(weights))?.length)
    }

    /// All pairs, in order.
    fn naive(points: &Points) -> f64 {
        let mut distances = Vec::new();
        for (i, x) in points.rows().enumerate() {
            for y in points.rows().take(i) {
                distances.push(x.iter().zip(y).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt());
            }
        }
        distances.sort_by(f64::total_cmp);
        distances[distances.len() / 2]
    }

    fn shuffled(points: &Points, seed: u64) -> Points {
        let rows = crate::quality::random_rows(points.len(), None, points.len(), seed).unwrap();
        points.select(&rows).unwrap()
    }

    #[test]
    fn few_points_are_compared_with_all_others_in_any_order() {
        for (n, dim) in [(2, 1), (3, 2), (50, 3), (1414, 2)] {
            let points = GaussianMixture::random(3, dim, 1).unwrap().sample(n, 2).unwrap();
            let found = MedianDistance::of(&points, None).unwrap();
            assert_eq!((found.length, found.pairs), (naive(&points), n * (n - 1) / 2));
            assert_eq!(MedianDistance::of(&shuffled(&points, 3), None).unwrap(), found);
        }
    }

    #[test]
    fn all_pairs_are_counted_to_the_median_of_a_sort() {
        let by_sort = |points: &Points, shares: Option<&[f64]>| match shares {
            Some(shares) => weighted_by_sort(points, shares),
            None => {
                let pairs = (0..points.len()).flat_map(|i| (0..i).map(move |j| squared(points, i, j)));
                let mut pairs: Vec<f64> = pairs.filter(|d| *d > 0.0 && d.is_finite()).collect();
                pairs.sort_by(f64::total_cmp);
                MedianDistance { length: pairs[pairs.len() / 2].sqrt(), pairs: pairs.len() }
            }
        };
        let mut fast = 0;
        for seed in 0..12_u64 {
            let (n, dim) = (200 + 100 * seed as usize, 1 + (seed % 4) as usize);
            let smooth = GaussianMixture::random(3, dim, seed).unwrap().sample(n, seed).unwrap();
            // Ties, and rows that coincide.
            let rounded = smooth.as_slice().iter().map(|x| (x * 4.0).round()).collect();
            let rounded = Points::from_vec(rounded, dim).unwrap();
            // Squares that overflow.
            let huge = smooth.as_slice().iter().map(|x| if *x > 3.0 { 1e300 } else { *x }).collect();
            let huge = Points::from_vec(huge, dim).unwrap();
            let uneven: Vec<f64> = (0..n).map(|row| ((row * 37 % 101) as f64 / 20.0).exp()).collect();
            let whole: Vec<f64> = (0..n).map(|row| (row % 3 + 1) as f64).collect();
            for points in [&smooth, &rounded, &huge] {
                for weights in [None, Some(&uneven), Some(&whole)] {
                    let shares = weights.map(|weights| normalised(weights, "points", n).unwrap());
                    let expected = by_sort(points, shares.as_deref());
                    assert_eq!(MedianDistance::of(points, shares.as_deref()).unwrap(), expected, "{seed}");
                    fast += usize::from(of_few(points, shares.as_deref()).is_some());
                }
            }
        }
        assert!(fast > 80, "{fast} of 108");
    }

    #[test]
    fn the_order_of_many_rows_does_not_matter_nor_that_they_are_all_there_twice() {
        // Separate clusters too, where the middle may fall between two kinds of distances.
        let shapes =
            [(1, 1, 20_000, 1), (3, 2, 5000, 2), (20, 2, 30_000, 3), (2, 30, 3000, 4), (5, 3, 2000, 5)];
        for (components, dim, n, seed) in shapes {
            let points = GaussianMixture::random(components, dim, seed).unwrap().sample(n, seed).unwrap();
            let found = MedianDistance::of(&points, None).unwrap();
            assert!(found.pairs > RANDOM_PAIRS - 1000 && found.pairs <= RANDOM_PAIRS);
            let reversed: Vec<usize> = (0..n).rev().collect();
            assert_eq!(MedianDistance::of(&points.select(&reversed).unwrap(), None).unwrap(), found);
            for seed in 0..3 {
                assert_eq!(MedianDistance::of(&shuffled(&points, seed), None).unwrap(), found);
            }
            let doubled: Vec<usize> = (0..2 * n).map(|row| row % n).collect();
            let repeated: Vec<usize> = (0..2 * n).map(|row| row / 2).collect();
            for rows in [doubled, repeated] {
                let twice = median(&points.select(&rows).unwrap());
                assert_eq!(twice, found.length, "{seed}");
            }
            // Scaled after another sum, the numbers differ in their last digits.
            let nearly: Vec<f64> = points.as_slice().iter().map(|x| x * (1.0 + 1e-15)).collect();
            let nearly = median(&shuffled(&Points::from_vec(nearly, dim).unwrap(), 9));
            assert!((nearly / found.length - 1.0).abs() < 0.01, "{seed}: {nearly} {found:?}");
        }
    }

    #[test]
    fn random_pairs_find_the_middle_of_all_of_them() {
        for (components, dim, n, seed) in [(1, 1, 3000, 1), (3, 2, 4000, 2), (2, 30, 2000, 4)] {
            let points = GaussianMixture::random(components, dim, seed).unwrap().sample(n, seed).unwrap();
            let found = median(&points);
            let pairs = (0..n).flat_map(|i| (0..i).map(move |j| (i, j)));
            let below = pairs.filter(|&(i, j)| squared(&points, i, j).sqrt() < found).count();
            let part = below as f64 / all_pairs(n) as f64;
            // Four times √(1/4)/√250,000.
            assert!((part - 0.5).abs() < 0.004, "{seed}: {part}");
        }
    }

    #[test]
    fn a_weight_of_two_is_two_rows() {
        let points = GaussianMixture::random(3, 2, 5).unwrap().sample(4000, 6).unwrap();
        for n in [700, 4000] {
            let rows: Vec<usize> = (0..n).collect();
            let some = points.select(&rows).unwrap();
            let weights: Vec<f64> = rows.iter().map(|row| (row % 3) as f64).collect();
            let copies: Vec<usize> = rows.iter().flat_map(|&row| vec![row; row % 3]).collect();
            let copied = points.select(&copies).unwrap();
            let (a, b) = (weighted_median(&some, &weights).unwrap(), median(&copied));
            assert!((a / b - 1.0).abs() < 0.01, "{n}: {a} {b}");
        }
        let equal = MedianDistance::of(&points, Some(&[0.3; 4000])).unwrap();
        assert_eq!(equal, MedianDistance::of(&points, None).unwrap());
    }

    #[test]
    fn threads_change_nothing() {
        let points = GaussianMixture::random(3, 2, 5).unwrap().sample(4000, 6).unwrap();
        let weights: Vec<f64> = (0..4000).map(|row| 1.0 + (row % 5) as f64).collect();
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| (median(&points), weighted_median(&points, &weights).unwrap()))
        };
        assert_eq!(on(1), on(3));
    }

    #[test]
    fn the_median_of_many_points_is_that_of_their_distribution() {
        // Two uniform numbers on [0, 1] lie within t of each other with probability 2t − t², which is 1/2 at
        // t = 1 − 1/√2.
        let n = 100_000u64;
        let grid: Vec<f64> = (0..n).map(|i| (i * 61_803 % n) as f64 / n as f64).collect();
        let median = median(&Points::from_vec(grid, 1).unwrap());
        assert!((median / (1.0 - 0.5f64.sqrt()) - 1.0).abs() < 0.01, "{median}");
    }

    #[test]
    fn a_point_without_weight_does_not_count() {
        let points = Points::from_rows(&[0.0, 1.0, 3.0, 1e6], 1).unwrap();
        assert_eq!(weighted_median(&points, &[2.0, 2.0, 2.0, 0.0]).unwrap(), 2.0);
        // Of 1, 2 and 3 with weights 6, 2 and 3.
        assert_eq!(weighted_median(&points, &[3.0, 2.0, 1.0, 0.0]).unwrap(), 1.0);
        assert_eq!(weighted_median(&points, &[0.0, 0.0, 2.0, 0.0]).unwrap(), 1.0);
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
