//! Squared distances of all pairs of few points, counted by where they lie: for a median without a sort.

use std::ops::Range;

use fearless_simd::prelude::*;

use crate::level::{dispatch, level};

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
    /// The squared distances within the bounds, and the weight of each; 1 without weights.
    pub within: Vec<(f64, f64)>,
}

/// Tallies the pairs of each of these rows with all rows before it. `columns` has the first coordinate of all `rows` points,
/// then the second, … A pair weighs the product of its weights, or nothing without weights.
///
/// A squared distance is summed in the order of the coordinates, as [`Distance::between`](crate::Distance::between) does, so
/// that both give the same number to the last bit.
///
/// # Panics
/// If there are not as many numbers or weights as rows, or the lower bound is not positive.
pub fn tally_pairs(
    columns: &[f64],
    rows: usize,
    of: Range<usize>,
    weights: Option<&[f64]>,
    (low, high): (f64, f64),
) -> Tally {
    assert!(columns.len().is_multiple_of(rows) && of.end <= rows && low > 0.0 && high < f64::INFINITY);
    assert!(weights.is_none_or(|weights| weights.len() == rows));
    // Compiled for the most usual case apart: without weights half of the work is saved.
    match weights {
        None => dispatch!(level(), simd => tally::<_, false>(simd, columns, rows, of, &[], low, high)),
        Some(weights) => {
            dispatch!(level(), simd => tally::<_, true>(simd, columns, rows, of, weights, low, high))
        }
    }
}

/// Vectors of squared distances that are found at once, so that none waits for another.
const AT_ONCE: usize = 8;

#[inline(always)]
fn tally<S: Simd, const WEIGHED: bool>(
    simd: S,
    columns: &[f64],
    rows: usize,
    of: Range<usize>,
    weights: &[f64],
    low: f64,
    high: f64,
) -> Tally {
    let mut found = Tally::default();
    let lanes = S::f64s::LEN;
    let together = AT_ONCE * lanes;
    let mut values = vec![0.0; together];
    for row in of {
        let (mut all, mut less) = (0.0, 0.0);
        let mut first = 0;
        while first < row {
            let left = row - first;
            let size = if left >= together { together } else { left.min(lanes) };
            let (some, bounds) = (first..first + size, (low, high));
            let counted = if size == together {
                block::<S, AT_ONCE, WEIGHED>(
                    simd,
                    columns,
                    rows,
                    row,
                    first,
                    weights,
                    bounds,
                    &mut values,
                    &mut found,
                )
            } else if size == lanes {
                block::<S, 1, WEIGHED>(
                    simd,
                    columns,
                    rows,
                    row,
                    first,
                    weights,
                    bounds,
                    &mut values,
                    &mut found,
                )
            } else {
                None
            };
            first = some.end;
            if let Some((weight, below)) = counted {
                (all, less) = (all + weight, less + below);
                continue;
            }
            for other in some {
                let one = |sum: f64, column: &[f64]| {
                    sum + (column[row] - column[other]) * (column[row] - column[other])
                };
                let d = columns.chunks_exact(rows).fold(0.0, one);
                let weight = if WEIGHED { weights[other] } else { 0.0 };
                if d > 0.0 && d < f64::INFINITY {
                    found.pairs += 1;
                    all += weight;
                }
                if d > 0.0 && d < low {
                    found.below += 1;
                    less += weight;
                }
                if d >= low && d <= high {
                    found.within.push((d, if WEIGHED { weights[row] * weight } else { 1.0 }));
                }
            }
        }
        if WEIGHED {
            found.weight += weights[row] * all;
            found.weight_below += weights[row] * less;
        }
    }
    found
}

/// Tallies a row with the `V` vectors of rows from `first` on. Returns the weight of these and of those below; `None`, and nothing is
/// tallied, where a pair of them coincides or overflows.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "it is a part of the loop above")]
#[expect(clippy::needless_range_loop, reason = "over indices the compiler keeps the vectors in registers")]
fn block<S: Simd, const V: usize, const WEIGHED: bool>(
    simd: S,
    columns: &[f64],
    rows: usize,
    row: usize,
    first: usize,
    weights: &[f64],
    (low, high): (f64, f64),
    values: &mut [f64],
    found: &mut Tally,
) -> Option<(f64, f64)> {
    let lanes = S::f64s::LEN;
    let [lows, highs, zeros, infinite] =
        [low, high, 0.0, f64::INFINITY].map(|value| S::f64s::splat(simd, value));
    let mut squared = [zeros; V];
    for column in columns.chunks_exact(rows) {
        let x = S::f64s::splat(simd, column[row]);
        let others = &column[first..first + V * lanes];
        for v in 0..V {
            let from = x - S::f64s::from_slice(simd, &others[v * lanes..(v + 1) * lanes]);
            squared[v] += from * from;
        }
    }
    let (mut nearest, mut farthest) = (infinite, zeros);
    for v in 0..V {
        (nearest, farthest) = (nearest.min(squared[v]), farthest.max(squared[v]));
    }
    if (nearest.simd_le(zeros) | farthest.simd_ge(infinite)).to_bitmask() != 0 {
        return None;
    }
    let (mut below, mut up_to, mut all, mut less) = (0, 0, zeros, zeros);
    for v in 0..V {
        let d = squared[v];
        let is_below = d.simd_lt(lows);
        below |= is_below.to_bitmask() << (v * lanes);
        up_to |= d.simd_le(highs).to_bitmask() << (v * lanes);
        if WEIGHED {
            let at = first + v * lanes;
            let w = S::f64s::from_slice(simd, &weights[at..at + lanes]);
            (all, less) = (all + w, less + is_below.select(w, zeros));
        }
    }
    found.pairs += V * lanes;
    found.below += below.count_ones() as usize;
    let mut within: u64 = up_to & !below;
    if within != 0 {
        for v in 0..V {
            squared[v].store_slice(&mut values[v * lanes..(v + 1) * lanes]);
        }
    }
    while within != 0 {
        let at = within.trailing_zeros() as usize;
        let weight = if WEIGHED { weights[row] * weights[first + at] } else { 1.0 };
        found.within.push((values[at], weight));
        within &= within - 1;
    }
    Some(if WEIGHED { (sum::<S>(all), sum::<S>(less)) } else { (0.0, 0.0) })
}

/// The sum of all lanes.
#[inline(always)]
fn sum<S: Simd>(lanes: S::f64s) -> f64 {
    lanes.as_slice().iter().sum()
}
