//! The hot place: sums of kernel values over many points, blocked for the cache and shared between threads.
//!
//! Everything the library spends time on passes through these operations. Each row of a result is summed by one
//! thread in a fixed order, so results do not depend on how many threads there are; the thread pool is the caller's.

use rayon::prelude::*;

use crate::kernel::Distance;
use crate::{Kernel, Points};

/// Samples per block: 256 distances are 2 KiB of scratch, and a block of 256 × 5 coordinates 10 KiB, so both stay in
/// the first-level cache while a chunk of rows passes over them.
const BLOCK: usize = 256;

/// Rows a thread takes at once: enough to reuse a block from cache, few enough to balance the threads.
const ROWS: usize = 64;

/// Below this many coordinates a pass over the points is cheaper than waking another thread.
const SERIAL_BELOW: usize = 1 << 15;

/// Points in column order within blocks of [`BLOCK`], so that the loop over the points of a block is contiguous.
struct Blocks<'a> {
    points: &'a Points,
    columns: Vec<f64>,
}

impl<'a> Blocks<'a> {
    fn new(points: &'a Points) -> Blocks<'a> {
        let mut columns = Vec::with_capacity(points.as_slice().len());
        for block in points.as_slice().chunks(BLOCK * points.dim()) {
            for column in 0..points.dim() {
                columns.extend(block[column..].iter().step_by(points.dim()));
            }
        }
        Blocks { points, columns }
    }

    /// The columns of each block, and the range of points it holds.
    fn iter(&self) -> impl Iterator<Item = (&[f64], std::ops::Range<usize>)> {
        self.columns.chunks(BLOCK * self.points.dim()).enumerate().map(|(i, columns)| {
            let start = i * BLOCK;
            (columns, start..start + columns.len() / self.points.dim())
        })
    }
}

/// Kernel values of `x` against one block, into `values`.
fn block_values(kernel: &Kernel, x: &[f64], columns: &[f64], values: &mut [f64]) {
    values.fill(0.0);
    let coordinates = x.iter().zip(columns.chunks_exact(values.len()));
    match kernel.distance() {
        Distance::SquaredEuclidean => coordinates.for_each(|(a, column)| {
            values.iter_mut().zip(column).for_each(|(value, b)| *value += (a - b) * (a - b));
        }),
        Distance::Manhattan => coordinates.for_each(|(a, column)| {
            values.iter_mut().zip(column).for_each(|(value, b)| *value += (a - b).abs());
        }),
        Distance::Dot => coordinates.for_each(|(a, column)| {
            values.iter_mut().zip(column).for_each(|(value, b)| *value += a * b);
        }),
    }
    values.iter_mut().for_each(|value| *value = kernel.profile(*value));
}

/// The mean of kernel rows: `out[i]` = Σⱼ wⱼ k(xᵢ, yⱼ), with equal weights 1/n where none are given.
///
/// Costs one kernel value for each pair; memory one more copy of the samples.
pub(crate) fn mean_into(
    kernel: &Kernel,
    at: &Points,
    samples: &Points,
    weights: Option<&[f64]>,
    out: &mut [f64],
) {
    assert_eq!(out.len(), at.len());
    assert_eq!(at.dim(), samples.dim());
    let blocks = Blocks::new(samples);
    let rows = at.as_slice().par_chunks(ROWS * at.dim());
    out.par_chunks_mut(ROWS).zip(rows).for_each(|(out, rows)| {
        let mut scratch = [0.0; BLOCK];
        out.fill(0.0);
        for (columns, range) in blocks.iter() {
            let values = &mut scratch[..range.len()];
            for (out, x) in out.iter_mut().zip(rows.chunks_exact(at.dim())) {
                block_values(kernel, x, columns, values);
                *out += match weights {
                    Some(weights) => {
                        values.iter().zip(&weights[range.clone()]).map(|(k, w)| k * w).sum::<f64>()
                    }
                    None => values.iter().sum::<f64>(),
                };
            }
        }
        if weights.is_none() {
            out.iter_mut().for_each(|out| *out /= samples.len() as f64);
        }
    });
}

/// One kernel row: adds `weight`·k(xᵢ, y) to `out[i]`.
pub(crate) fn add_row_into(kernel: &Kernel, at: &Points, y: &[f64], weight: f64, out: &mut [f64]) {
    assert_eq!(out.len(), at.len());
    assert_eq!(at.dim(), y.len());
    let add = |out: &mut [f64], rows: &[f64]| {
        for (out, x) in out.iter_mut().zip(rows.chunks_exact(y.len())) {
            *out += weight * kernel.value(x, y);
        }
    };
    for_chunks(at, out, add);
}

/// The index of the largest `score(i)` for i below `len`; ties go to the lowest. `None` where every score is `None`.
pub(crate) fn argmax(len: usize, score: impl Fn(usize) -> Option<f64> + Sync) -> Option<(usize, f64)> {
    let better = |a: Option<(usize, f64)>, b: Option<(usize, f64)>| match (a, b) {
        (Some((i, x)), Some((j, y))) => Some(if y > x || (y == x && j < i) { (j, y) } else { (i, x) }),
        (a, b) => a.or(b),
    };
    let scored = |i: usize| score(i).map(|score| (i, score));
    if len < SERIAL_BELOW {
        return (0..len).map(scored).fold(None, better);
    }
    let chunks = (0..len).into_par_iter().with_min_len(SERIAL_BELOW / 8);
    chunks.map(scored).reduce(|| None, better)
}

/// Σⱼ wⱼ k(x, yⱼ) over flat rows y, and its gradient times `scale` added to `gradient`.
pub(crate) fn add_gradient_into(
    kernel: &Kernel,
    x: &[f64],
    rows: &[f64],
    weights: &[f64],
    scale: f64,
    gradient: &mut [f64],
) -> f64 {
    let rows = rows.chunks_exact(x.len()).zip(weights);
    rows.map(|(y, w)| w * kernel.add_gradient(x, y, scale * w, gradient)).sum()
}

fn for_chunks(at: &Points, out: &mut [f64], work: impl Fn(&mut [f64], &[f64]) + Sync) {
    if at.as_slice().len() < SERIAL_BELOW {
        return work(out, at.as_slice());
    }
    const CHUNK: usize = 4096;
    let rows = at.as_slice().par_chunks(CHUNK * at.dim());
    out.par_chunks_mut(CHUNK).zip(rows).for_each(|(out, rows)| work(out, rows));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points that look random, without a generator.
    fn scattered(n: usize, dim: usize, phase: f64) -> Points {
        let numbers = (0..n * dim).map(|i| ((i as f64 + phase) * 12.9898).sin() * 2.0);
        Points::from_vec(numbers.collect(), dim).unwrap()
    }

    #[test]
    fn sums_agree_with_a_double_loop_for_every_kernel_and_odd_sizes() {
        for (n, m, dim) in [(1, 1, 1), (3, 257, 2), (65, 256, 5), (130, 600, 57)] {
            let (at, samples) = (scattered(n, dim, 0.1), scattered(m, dim, 0.7));
            let weights: Vec<f64> = (0..m).map(|j| (j % 3) as f64 / m as f64).collect();
            for text in [
                "gaussian(2)",
                "gaussian(1,4)",
                "laplace(3)",
                "matern12(2)",
                "matern32(2)",
                "matern52(2)",
                "imq(2)",
                "linear",
            ] {
                let kernel: Kernel = text.parse().unwrap();
                for weights in [None, Some(&weights[..])] {
                    let mut out = vec![f64::NAN; n];
                    mean_into(&kernel, &at, &samples, weights, &mut out);
                    for (x, got) in at.rows().zip(out) {
                        let weight = |j: usize| weights.map_or(1.0 / m as f64, |w| w[j]);
                        let pairs = samples.rows().enumerate();
                        let want: f64 = pairs.map(|(j, y)| weight(j) * kernel.value(x, y)).sum();
                        assert!(
                            (got - want).abs() <= 1e-13 * want.abs().max(1.0),
                            "{text} {n}×{m}: {got} {want}"
                        );
                    }
                }
                let mut row = vec![1.0; n];
                add_row_into(&kernel, &at, samples.row(0), -2.0, &mut row);
                for (x, got) in at.rows().zip(row) {
                    assert_eq!(got, 1.0 - 2.0 * kernel.value(x, samples.row(0)), "{text}");
                }
            }
        }
    }

    #[test]
    fn the_largest_score_wins_and_ties_go_to_the_lowest_index() {
        for len in [1, 7, 100_000] {
            assert_eq!(argmax(len, |_| Some(2.0)), Some((0, 2.0)));
            assert_eq!(argmax(len, |_| None), None);
            assert_eq!(argmax(len, |i| (i > 0).then_some(1.0)), (len > 1).then_some((1, 1.0)));
            assert_eq!(argmax(len, |i| Some(-((i as f64) - 5.0).abs())).unwrap().0, 5.min(len - 1));
        }
    }
}
