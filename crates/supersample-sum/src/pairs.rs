//! Squared distances of all pairs of few points, counted by where they lie: for a median without a sort.

use std::ops::Range;

use crate::level::{dispatch, level};

/// Values that are looked at together for one within the bounds.
const TOGETHER: usize = 16;
/// Sums side by side.
const SUMS: usize = 8;

/// Squared distances of pairs of points, of which those within two bounds are kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Pairs that neither coincide nor overflow.
    pub pairs: usize,
    /// Those of them below the lower bound.
    pub below: usize,
    /// The weight of all pairs that count, and of those below.
    pub weight: f64,
    /// The weight of those below.
    pub weight_below: f64,
    /// The squared distances within the bounds, and the rows of each.
    pub within: Vec<(f64, u32, u32)>,
}

/// Tallies the pairs of each of these rows with all rows before it. `columns` has the first coordinate of all `rows` points,
/// then the second, … A pair weighs the product of its weights, or nothing without weights.
///
/// A squared distance is summed in the order of the coordinates, as [`Distance::between`](crate::Distance::between) does, so
/// that both give the same number to the last bit.
///
/// # Panics
/// If there are not as many numbers or weights as rows.
pub fn tally_pairs(
    columns: &[f64],
    rows: usize,
    of: Range<usize>,
    weights: Option<&[f64]>,
    (low, high): (f64, f64),
) -> Tally {
    assert!(columns.len().is_multiple_of(rows) && of.end <= rows && u32::try_from(rows).is_ok());
    assert!(weights.is_none_or(|weights| weights.len() == rows));
    dispatch!(level(), _simd => tally(columns, rows, of, weights, low, high))
}

// Plain loops, which the compiler makes vectors of for each instruction set.
#[inline(always)]
fn tally(
    columns: &[f64],
    rows: usize,
    of: Range<usize>,
    weights: Option<&[f64]>,
    low: f64,
    high: f64,
) -> Tally {
    let mut found = Tally::default();
    let mut buffer = vec![0.0; of.end];
    for row in of {
        let squared = &mut buffer[..row];
        for (k, column) in columns.chunks_exact(rows).enumerate() {
            let x = column[row];
            if k == 0 {
                squared.iter_mut().zip(column).for_each(|(sum, y)| *sum = (x - y) * (x - y));
            } else {
                squared.iter_mut().zip(column).for_each(|(sum, y)| *sum += (x - y) * (x - y));
            }
        }
        let (mut pairs, mut below) = (0_u64, 0_u64);
        for &d in &*squared {
            let counts = (d > 0.0) & (d < f64::INFINITY);
            pairs += u64::from(counts);
            below += u64::from(counts & (d < low));
        }
        (found.pairs, found.below) = (found.pairs + pairs as usize, found.below + below as usize);
        if let Some(weights) = weights {
            let (all, less) = weigh(squared, &weights[..row], low);
            found.weight += weights[row] * all;
            found.weight_below += weights[row] * less;
        }
        for (at, some) in squared.chunks(TOGETHER).enumerate() {
            let mut any = false;
            some.iter().for_each(|&d| any |= (d >= low) & (d <= high));
            if any {
                let near = some.iter().enumerate().filter(|(_, d)| **d >= low && **d <= high);
                let numbered = near.map(|(i, &d)| (d, row as u32, (at * TOGETHER + i) as u32));
                found.within.extend(numbered);
            }
        }
    }
    found
}

/// The sum of the weights of values that count, and of those below a bound.
#[inline(always)]
fn weigh(squared: &[f64], weights: &[f64], low: f64) -> (f64, f64) {
    let (mut all, mut less) = ([0.0; SUMS], [0.0; SUMS]);
    let add = |all: &mut f64, less: &mut f64, d: f64, w: f64| {
        let w = if (d > 0.0) & (d < f64::INFINITY) { w } else { 0.0 };
        *all += w;
        *less += if d < low { w } else { 0.0 };
    };
    let (eights, rest) = squared.as_chunks::<SUMS>();
    let (weights_of_eights, weights_of_rest) = weights.as_chunks::<SUMS>();
    for (d, w) in eights.iter().zip(weights_of_eights) {
        for i in 0..SUMS {
            add(&mut all[i], &mut less[i], d[i], w[i]);
        }
    }
    for (d, w) in rest.iter().zip(weights_of_rest) {
        add(&mut all[0], &mut less[0], *d, *w);
    }
    (all.iter().sum(), less.iter().sum())
}
