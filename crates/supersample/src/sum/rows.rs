//! Kernel rows that are kept in the precision they were computed in, and the looks at a pool that read them.

use std::ops::Range;

use fearless_simd::dispatch;
use rayon::prelude::*;

use super::lanes::Lane;
use super::panels::{Panels, WIDTH};
use super::profile::{Profile, with_profile};
use super::{AnyPanels, CHUNK, Kernel, Packed, SERIAL_BELOW, Scores, better, level, tile};

/// k(xᵢ, y) at every packed point x: f32 where the points are, which halves what a look at it has to read.
#[derive(Clone, Debug)]
pub(crate) enum KernelRow {
    Mixed(Vec<f32>),
    Double(Vec<f64>),
}

/// Runs `$body` with `$values` bound to the numbers of a row.
macro_rules! with_values {
    ($row:expr, $values:ident => $body:expr) => {
        match $row {
            KernelRow::Mixed($values) => $body,
            KernelRow::Double($values) => $body,
        }
    };
}

impl Packed {
    /// A row of zeros for [`fill_row`](Self::fill_row).
    pub(crate) fn empty_row(&self) -> KernelRow {
        match &*self.panels {
            AnyPanels::Mixed(panels) => KernelRow::Mixed(vec![0.0; panels.len]),
            AnyPanels::Double(panels) => KernelRow::Double(vec![0.0; panels.len]),
        }
    }

    /// Bytes that a row takes.
    pub(crate) fn row_bytes(&self) -> usize {
        match &*self.panels {
            AnyPanels::Mixed(panels) => panels.len * size_of::<f32>(),
            AnyPanels::Double(panels) => panels.len * size_of::<f64>(),
        }
    }

    /// Writes the kernel row of `y`.
    ///
    /// # Panics
    /// Where the row was not made by [`empty_row`](Self::empty_row) of these points.
    pub(crate) fn fill_row(&self, y: &[f64], row: &mut KernelRow) {
        match (&*self.panels, row) {
            (AnyPanels::Mixed(panels), KernelRow::Mixed(row)) => {
                let y = self.frame.point::<f32>(y);
                with_profile!(&self.kernel, f32, p => for_both_chunks(row, &panels.data, y.len(), |row, panels| {
                    dispatch!(level(), simd => tile::fill_row(simd, p, panels, &y, row));
                }));
            }
            (AnyPanels::Double(panels), KernelRow::Double(row)) => {
                let y = self.frame.point::<f64>(y);
                with_profile!(&self.kernel, f64, p => for_both_chunks(row, &panels.data, y.len(), |row, panels| {
                    dispatch!(level(), simd => tile::fill_row(simd, p, panels, &y, row));
                }));
            }
            _ => panic!("a row of another precision"),
        }
    }
}

impl Packed {
    /// Writes the kernel row of `y`, adds `weight` times it to `sums` and finds the largest score afterwards, as
    /// [`add_row_and_argmax`](Self::add_row_and_argmax) does: one pass, and the row is there for later.
    ///
    /// # Panics
    /// Where the row was not made by [`empty_row`](Self::empty_row) of these points.
    pub(crate) fn keep_row_and_argmax(
        &self,
        y: &[f64],
        row: &mut KernelRow,
        weight: f64,
        sums: &mut [f64],
        scores: Scores<'_>,
    ) -> Option<(usize, f64)> {
        match (&*self.panels, row) {
            (AnyPanels::Mixed(panels), KernelRow::Mixed(row)) => {
                let y = self.frame.point::<f32>(y);
                with_profile!(&self.kernel, f32, p => keep_row_and_argmax(p, panels, &y, row, weight, sums, scores))
            }
            (AnyPanels::Double(panels), KernelRow::Double(row)) => {
                let y = self.frame.point::<f64>(y);
                with_profile!(&self.kernel, f64, p => keep_row_and_argmax(p, panels, &y, row, weight, sums, scores))
            }
            _ => panic!("a row of another precision"),
        }
    }
}

fn keep_row_and_argmax<T: Lane, P: Profile<T>>(
    profile: P,
    panels: &Panels<T>,
    y: &[T],
    row: &mut [T],
    weight: f64,
    sums: &mut [f64],
    scores: Scores<'_>,
) -> Option<(usize, f64)> {
    let dim = y.len();
    let look = |panels: &[T], row: &mut [T], start: usize, sums: &mut [f64]| {
        dispatch!(level(), simd => {
            scores.search(start, sums, |range, sums| {
                let panels = &panels[range.start * dim..range.end.next_multiple_of(WIDTH) * dim];
                let row = &mut row[range];
                tile::fill_row(simd, profile, panels, y, row);
                add(row, weight, sums);
            })
        })
    };
    if row.len() * (dim + 8) < 8 * SERIAL_BELOW {
        return look(&panels.data, row, 0, sums);
    }
    let parts = sums.par_chunks_mut(CHUNK).zip(row.par_chunks_mut(CHUNK));
    let parts = parts.zip(panels.data.par_chunks(CHUNK * dim)).enumerate();
    parts.filter_map(|(i, ((sums, row), panels))| look(panels, row, i * CHUNK, sums)).reduce_with(better)
}

fn for_both_chunks<T: Lane>(row: &mut [T], panels: &[T], dim: usize, work: impl Fn(&mut [T], &[T]) + Sync) {
    assert!(panels.len() >= row.len() * dim);
    if row.len() * (dim + 8) < 8 * SERIAL_BELOW {
        return work(row, panels);
    }
    let chunks = row.par_chunks_mut(CHUNK).zip(panels.par_chunks(CHUNK * dim));
    chunks.for_each(|(row, panels)| work(row, panels));
}

impl KernelRow {
    /// The value at point `i`.
    pub(crate) fn get(&self, i: usize) -> f64 {
        with_values!(self, values => values[i].to_f64())
    }

    /// Adds `weight` times the row to `sums`.
    pub(crate) fn add_to(&self, weight: f64, sums: &mut [f64]) {
        with_values!(self, values => add_in_chunks(values, weight, sums));
    }

    /// The largest of wᵢ + kᵢ and the lowest index that has it; `None` where all are −∞.
    pub(crate) fn argmax_with(&self, w: &[f64]) -> Option<(usize, f64)> {
        with_values!(self, values => {
            in_ranges(w.len(), |range| dispatch!(level(), _ => argmax(&w[range.clone()], &values[range.clone()])).map(
                |(i, score)| (range.start + i, score),
            ))
        })
    }

    /// All i with wᵢ + kᵢ ≥ `least`, in order, each with that sum.
    pub(crate) fn at_least(&self, w: &[f64], least: f64, found: &mut Vec<(usize, f64)>) {
        found.clear();
        let look = |range: Range<usize>, found: &mut Vec<(usize, f64)>| {
            with_values!(self, values => dispatch!(level(), _ => {
                at_least(&w[range.clone()], &values[range.clone()], range.start, least, found);
            }));
        };
        if w.len() < SERIAL_BELOW {
            return look(0..w.len(), found);
        }
        let parts: Vec<Vec<(usize, f64)>> = ranges(w.len())
            .into_par_iter()
            .map(|range| {
                let mut found = Vec::new();
                look(range, &mut found);
                found
            })
            .collect();
        parts.iter().for_each(|part| found.extend_from_slice(part));
    }
}

/// Adds `weight` times the values to `sums`.
pub(crate) fn add_scaled(values: &[f64], weight: f64, sums: &mut [f64]) {
    add_in_chunks(values, weight, sums);
}

fn add_in_chunks<T: Lane>(values: &[T], weight: f64, sums: &mut [f64]) {
    assert_eq!(values.len(), sums.len());
    if sums.len() < 2 * SERIAL_BELOW {
        return dispatch!(level(), _ => add(values, weight, sums));
    }
    let chunks = sums.par_chunks_mut(CHUNK).zip(values.par_chunks(CHUNK));
    chunks.for_each(|(sums, values)| dispatch!(level(), _ => add(values, weight, sums)));
}

fn ranges(len: usize) -> Vec<Range<usize>> {
    (0..len).step_by(CHUNK).map(|start| start..(start + CHUNK).min(len)).collect()
}

fn in_ranges(
    len: usize,
    look: impl Fn(Range<usize>) -> Option<(usize, f64)> + Send + Sync,
) -> Option<(usize, f64)> {
    if len < SERIAL_BELOW {
        return look(0..len);
    }
    ranges(len).into_par_iter().filter_map(look).reduce_with(better)
}

#[inline(always)]
fn add<T: Lane>(values: &[T], weight: f64, sums: &mut [f64]) {
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum += weight * value.to_f64();
    }
}

/// The largest of w + values and the lowest index that has it; `None` where all are −∞.
#[inline(always)]
fn argmax<T: Lane>(w: &[f64], values: &[T]) -> Option<(usize, f64)> {
    /// What is looked through twice when it holds the largest.
    const BLOCK: usize = 512;
    /// Running maxima side by side: no chain of dependent comparisons.
    const LANES: usize = 32;
    let score = |i: usize| w[i] + values[i].to_f64();
    let (mut best, mut best_block) = (f64::NEG_INFINITY, 0..0);
    for start in (0..w.len()).step_by(BLOCK) {
        let end = (start + BLOCK).min(w.len());
        let mut lanes = [f64::NEG_INFINITY; LANES];
        let (mut i, block) = (start, start..end);
        let chunks = w[block.clone()].as_chunks::<LANES>().0.iter();
        for (w, values) in chunks.zip(values[block.clone()].as_chunks::<LANES>().0) {
            for lane in 0..LANES {
                let score = w[lane] + values[lane].to_f64();
                lanes[lane] = if score > lanes[lane] { score } else { lanes[lane] };
            }
            i += LANES;
        }
        let rest = (i..end).map(score).fold(f64::NEG_INFINITY, f64::max);
        let largest = lanes.into_iter().fold(rest, f64::max);
        if largest > best {
            (best, best_block) = (largest, block);
        }
    }
    best_block.into_iter().find(|&i| score(i) == best).map(|i| (i, best))
}

#[inline(always)]
fn at_least<T: Lane>(w: &[f64], values: &[T], first: usize, least: f64, found: &mut Vec<(usize, f64)>) {
    const BLOCK: usize = 64;
    for (b, (w, values)) in w.chunks(BLOCK).zip(values.chunks(BLOCK)).enumerate() {
        // Most blocks hold none, and are passed over without a branch for each number.
        let mut holds_some = false;
        for (w, value) in w.iter().zip(values) {
            holds_some |= w + value.to_f64() >= least;
        }
        if holds_some {
            let scores = w.iter().zip(values).map(|(w, value)| w + value.to_f64()).enumerate();
            let within = scores.filter(|(_, score)| *score >= least);
            found.extend(within.map(|(i, score)| (first + b * BLOCK + i, score)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Points, Precision};

    fn numbers(n: usize, factor: f64) -> Vec<f64> {
        (0..n).map(|i| (i as f64 * factor).sin()).collect()
    }

    #[test]
    fn a_row_is_the_kernel_and_looks_agree_with_plain_loops() {
        for n in [1, 15, 16, 17, 700, 40_000] {
            let points = Points::from_vec(numbers(3 * n, 12.9898), 3).unwrap();
            let kernel: Kernel = "matern32(0.9)".parse().unwrap();
            let mut w = numbers(n, 78.233);
            w[n / 2] = f64::NEG_INFINITY;
            for (precision, tolerance) in [(Precision::Mixed, 1e-5), (Precision::Double, 1e-14)] {
                let packed = Packed::new(&kernel, &points, precision);
                let mut row = packed.empty_row();
                packed.fill_row(points.row(n / 3), &mut row);
                for i in 0..n {
                    assert!((row.get(i) - kernel.value(points.row(i), points.row(n / 3))).abs() < tolerance);
                }
                let plain = (0..n).map(|i| (i, w[i] + row.get(i))).filter(|(_, s)| *s > f64::NEG_INFINITY);
                assert_eq!(row.argmax_with(&w), plain.clone().reduce(better));
                let mut found = vec![(9, 9.0)];
                row.at_least(&w, 0.5, &mut found);
                assert_eq!(found, plain.filter(|(_, s)| *s >= 0.5).collect::<Vec<_>>());
                let mut sums = w.clone();
                row.add_to(-2.0, &mut sums);
                assert!((0..n).all(|i| sums[i] == w[i] - 2.0 * row.get(i)));
            }
        }
    }

    #[test]
    fn of_equal_scores_the_first_is_found_and_nothing_where_all_are_closed() {
        let points = Points::from_vec(vec![0.5; 40_000], 1).unwrap();
        let packed = Packed::new(&Kernel::gaussian(1.0).unwrap(), &points, Precision::Double);
        let mut row = packed.empty_row();
        packed.fill_row(points.row(0), &mut row);
        let mut w = vec![0.0; 40_000];
        (w[9_000], w[35_000]) = (3.0, 3.0);
        assert_eq!(row.argmax_with(&w), Some((9_000, 4.0)));
        assert_eq!(row.argmax_with(&vec![f64::NEG_INFINITY; 40_000]), None);
    }
}
