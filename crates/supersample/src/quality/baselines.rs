//! Baseline subsets for comparison: every k-th row, and random rows.

use std::collections::HashMap;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::row_sampling::systematic;
use crate::{Error, Result};

/// Returns `size` evenly spaced rows of `n`: row ⌊i·n/size⌋ for each i. `size` may not exceed `n`.
pub fn every_kth(n: usize, size: usize) -> Result<Vec<usize>> {
    expect_rows(n, size)?;
    Ok((0..size).map(|i| (i as u128 * n as u128 / size as u128) as usize).collect())
}

/// Returns `size` rows at equal steps of the summed weights, starting with half a step: every k-th row of weighted
/// rows.
pub fn systematic_rows(weights: &[f64], size: usize) -> Result<Vec<usize>> {
    let shares = crate::points::normalised(weights, "rows", weights.len())?;
    Ok(systematic(&shares, size, 0.5))
}

/// Returns `size` of `n` rows at random: distinct ones, or, with weights, independent draws in proportion to them,
/// which may repeat.
pub fn random_rows(n: usize, weights: Option<&[f64]>, size: usize, seed: u64) -> Result<Vec<usize>> {
    let mut rng = Pcg64::seed_from_u64(seed);
    let Some(weights) = weights else {
        expect_rows(n, size)?;
        // A shuffled list of all rows that stores only the changed positions.
        let mut moved: HashMap<usize, usize> = HashMap::with_capacity(2 * size);
        let draw = |i: usize| {
            let other = rng.random_range(i..n);
            let first = moved.get(&i).copied().unwrap_or(i);
            moved.insert(other, first).unwrap_or(other)
        };
        return Ok((0..size).map(draw).collect());
    };
    let weights = crate::points::normalised(weights, "rows", n)?;
    let mut reached = 0.0;
    let ends: Vec<f64> = weights
        .iter()
        .map(|w| {
            reached += w;
            reached
        })
        .collect();
    let last = weights.iter().rposition(|w| *w > 0.0).unwrap_or(0);
    let draw = |_| {
        let target = rng.random::<f64>() * reached;
        ends.partition_point(|end| *end <= target).min(last)
    };
    Ok((0..size).map(draw).collect())
}

fn expect_rows(n: usize, size: usize) -> Result<()> {
    match size {
        0 => Err(Error::EmptySet),
        _ if size > n => Err(Error::TooFewRows { asked: size, available: n }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_rows_are_the_first_of_a_shuffled_list() {
        for (n, size) in [(1, 1), (2, 2), (50, 50), (50, 7), (1000, 400)] {
            let mut rng = Pcg64::seed_from_u64(9);
            let mut rows: Vec<usize> = (0..n).collect();
            for i in 0..size {
                let other = rng.random_range(i..n);
                rows.swap(i, other);
            }
            assert_eq!(random_rows(n, None, size, 9).unwrap(), rows[..size]);
        }
    }
}
