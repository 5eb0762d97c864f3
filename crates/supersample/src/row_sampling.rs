//! Sampling of rows: without repeats, or at equal steps of the summed weight.

mod by_weight;
mod uniform;

use std::collections::BTreeSet;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

pub(crate) use self::by_weight::WeightedDraws;
pub(crate) use self::uniform::UniformSample;

/// Independent seed for one of several parts of the rows.
pub(crate) fn seed_of_shard(seed: u64, part: u64) -> u64 {
    uniform::stirred(seed ^ uniform::stirred(part.wrapping_add(0x9e37_79b9_7f4a_7c15)))
}

/// Returns `size` distinct numbers below `n`, the same on every run; all of them if there are no more.
pub(crate) fn subsample(n: usize, size: usize) -> Vec<usize> {
    subsample_by(n, size, 0)
}

/// Returns `size` distinct numbers below `n`, the same for the same seed; all of them if there are no more.
pub(crate) fn subsample_by(n: usize, size: usize, seed: u64) -> Vec<usize> {
    if n <= size {
        return (0..n).collect();
    }
    // Floyd's method: distinct without a list of all n numbers.
    let mut rng = Pcg64::seed_from_u64(seed);
    let mut chosen = BTreeSet::new();
    for top in n - size..n {
        let candidate = rng.random_range(0..=top);
        if !chosen.insert(candidate) {
            chosen.insert(top);
        }
    }
    chosen.into_iter().collect()
}

/// `count` rows at equal steps of the summed weight, the first half a step in: each row is drawn in proportion to its
/// weight, up to one. The offset, from 0 to 1 step, moves them all.
pub(crate) fn systematic(shares: &[f64], count: usize, offset: f64) -> Vec<usize> {
    let mut rows = Vec::with_capacity(count);
    let (mut row, mut reached) = (0, shares[0]);
    for i in 0..count {
        let wanted = (i as f64 + offset) / count as f64;
        while reached <= wanted && row + 1 < shares.len() {
            row += 1;
            reached += shares[row];
        }
        // Rounding may make the sum smaller than one; rows of weight zero are never drawn.
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
    fn systematic_draws_follow_the_weights() {
        assert_eq!(systematic(&[0.5, 0.0, 0.25, 0.25], 4, 0.5), [0, 0, 2, 3]);
        assert_eq!(systematic(&[0.25; 4], 2, 0.5), [1, 3]);
        assert_eq!(systematic(&[1.0, 0.0], 3, 0.999), [0, 0, 0]);
    }
}
