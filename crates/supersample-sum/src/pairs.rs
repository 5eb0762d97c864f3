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

// Plain loops over arrays of fixed size, which the compiler makes vectors of for each instruction set.
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
    for row in of {
        let whole = row - row % TOGETHER;
        let mut sums = Sums::default();
        for first in (0..whole).step_by(TOGETHER) {
            let squared = squared_distances(columns, rows, row, first);
            match weights {
                None => sums.count(&squared, low),
                Some(weights) => {
                    sums.count(&squared, low);
                    sums.weigh(&squared, &block(weights, first), low);
                }
            }
            for (at, four) in squared.as_chunks::<4>().0.iter().enumerate() {
                let [a, b, c, d] = four.map(|d| (d >= low) & (d <= high));
                if a | b | c | d {
                    keep(four, first + 4 * at, row, low, high, &mut found.within);
                }
            }
        }
        let (pairs, below) = sums.counted();
        (found.pairs, found.below) = (found.pairs + pairs, found.below + below);
        let (mut all, mut less) = sums.weighed();
        for other in whole..row {
            let one = |sum: f64, column: &[f64]| {
                sum + (column[row] - column[other]) * (column[row] - column[other])
            };
            let d = columns.chunks_exact(rows).fold(0.0, one);
            if d > 0.0 && d < f64::INFINITY {
                let weight = weights.map_or(0.0, |weights| weights[other]);
                found.pairs += 1;
                all += weight;
                if d < low {
                    found.below += 1;
                    less += weight;
                }
            }
            keep(&[d], other, row, low, high, &mut found.within);
        }
        if let Some(weights) = weights {
            found.weight += weights[row] * all;
            found.weight_below += weights[row] * less;
        }
    }
    found
}

/// These numbers from `first` on.
#[inline(always)]
fn block(numbers: &[f64], first: usize) -> [f64; TOGETHER] {
    numbers[first..first + TOGETHER].try_into().expect("a whole block")
}

/// The squared distances of a row from the rows of a block.
#[inline(always)]
fn squared_distances(columns: &[f64], rows: usize, row: usize, first: usize) -> [f64; TOGETHER] {
    let mut squared = [0.0; TOGETHER];
    for column in columns.chunks_exact(rows) {
        let (x, others) = (column[row], block(column, first));
        for (sum, y) in squared.iter_mut().zip(others) {
            *sum += (x - y) * (x - y);
        }
    }
    squared
}

/// Keeps the values within the bounds, with the rows of each.
#[inline(always)]
fn keep(squared: &[f64], first: usize, row: usize, low: f64, high: f64, kept: &mut Vec<(f64, u32, u32)>) {
    for (at, &d) in squared.iter().enumerate() {
        if d >= low && d <= high {
            kept.push((d, row as u32, (first + at) as u32));
        }
    }
}

/// Counts and weights of pairs, as many side by side as vectors hold.
#[derive(Default)]
struct Sums {
    /// Pairs that coincide or overflow, which do not count.
    apart: [i64; SUMS],
    seen: usize,
    below: [i64; SUMS],
    all: [f64; SUMS],
    less: [f64; SUMS],
}

impl Sums {
    #[inline(always)]
    fn count(&mut self, squared: &[f64; TOGETHER], low: f64) {
        self.seen += TOGETHER;
        for eight in squared.as_chunks::<SUMS>().0 {
            let sums = self.apart.iter_mut().zip(&mut self.below);
            for ((apart, below), &d) in sums.zip(eight) {
                let counts = (d > 0.0) & (d < f64::INFINITY);
                *apart = apart.wrapping_add(i64::from(!counts));
                *below = below.wrapping_add(i64::from(counts & (d < low)));
            }
        }
    }

    #[inline(always)]
    fn weigh(&mut self, squared: &[f64; TOGETHER], weights: &[f64; TOGETHER], low: f64) {
        let eights = squared.as_chunks::<SUMS>().0.iter().zip(weights.as_chunks::<SUMS>().0);
        for (eight, weights) in eights {
            let sums = self.all.iter_mut().zip(&mut self.less);
            for ((all, less), (&d, &w)) in sums.zip(eight.iter().zip(weights)) {
                let w = if (d > 0.0) & (d < f64::INFINITY) { w } else { 0.0 };
                *all += w;
                *less += if d < low { w } else { 0.0 };
            }
        }
    }

    /// Pairs that count, and those below.
    fn counted(&self) -> (usize, usize) {
        let sum = |counts: &[i64; SUMS]| counts.iter().sum::<i64>() as usize;
        (self.seen - sum(&self.apart), sum(&self.below))
    }

    fn weighed(&self) -> (f64, f64) {
        (self.all.iter().sum(), self.less.iter().sum())
    }
}
