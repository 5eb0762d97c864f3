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
    // One vector at a time has too little to do between two dependent additions.
    let (lanes, together) = (S::f64s::LEN, 2 * S::f64s::LEN);
    let [lows, highs, zeros, infinite] =
        [low, high, 0.0, f64::INFINITY].map(|value| S::f64s::splat(simd, value));
    for row in of {
        let whole = row - row % together;
        let (mut all, mut less) = (zeros, zeros);
        for first in (0..whole).step_by(together) {
            let (mut a, mut b) = (zeros, zeros);
            for column in columns.chunks_exact(rows) {
                let x = S::f64s::splat(simd, column[row]);
                let others = &column[first..first + together];
                let from_a = x - S::f64s::from_slice(simd, &others[..lanes]);
                let from_b = x - S::f64s::from_slice(simd, &others[lanes..]);
                (a, b) = (a + from_a * from_a, b + from_b * from_b);
            }
            for (d, first) in [(a, first), (b, first + lanes)] {
                let (is_apart, is_below) = (d.simd_gt(zeros) & d.simd_lt(infinite), d.simd_lt(lows));
                let (counted, below) = (is_apart.to_bitmask(), is_below.to_bitmask());
                found.pairs += counted.count_ones() as usize;
                found.below += (counted & below).count_ones() as usize;
                if WEIGHED {
                    let w = S::f64s::from_slice(simd, &weights[first..first + lanes]);
                    all += is_apart.select(w, zeros);
                    less += (is_apart & is_below).select(w, zeros);
                }
                let mut within = d.simd_le(highs).to_bitmask() & !below;
                if within != 0 {
                    let values = d.as_slice();
                    while within != 0 {
                        let at = within.trailing_zeros() as usize;
                        let weight = if WEIGHED { weights[row] * weights[first + at] } else { 1.0 };
                        found.within.push((values[at], weight));
                        within &= within - 1;
                    }
                }
            }
        }
        let (mut all, mut less) = (sum::<S>(all), sum::<S>(less));
        for other in whole..row {
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
        if WEIGHED {
            found.weight += weights[row] * all;
            found.weight_below += weights[row] * less;
        }
    }
    found
}

/// The sum of all lanes.
#[inline(always)]
fn sum<S: Simd>(lanes: S::f64s) -> f64 {
    lanes.as_slice().iter().sum()
}
