//! Entropy balancing: positive weights under which given features have mean zero, as near to the weights before as that allows.
//!
//! The weights w ∝ v·exp(−λ·ψ), v those before and ψ the features of a row, have the least Kullback–Leibler divergence from v of all
//! under which Σ w ψ = 0. λ is the minimum of the convex dual log Σ v·exp(−λ·ψ), whose gradient is −Σ w ψ and whose Hessian is the
//! covariance of ψ under w; Newton's method finds it, and keeps a Hessian as long as it serves.
//!
//! Features are made row by row whenever they are needed, so that memory is O(n + m²) and never n·m. Sums are over blocks of rows
//! in their order, the same for any number of threads.

use std::ops::Range;

use rayon::prelude::*;
use supersample_sum::{ABREAST, PanelProduct, add_products};

use crate::linalg::{Factor, dot};
use crate::{Error, Progress, Result, Watch};

/// Rows whose products are summed at once: some panels of them stay in the second-level cache.
const PRODUCT_ROWS: usize = 256;
/// Panels of columns on the left of a product that a thread takes at once.
const LEFT_PANELS: usize = 4;
/// Rows that a thread sums up at once.
const ROWS: usize = 512;
/// Blocks of rows between two looks at the watch.
const BLOCKS: usize = 64;
/// Steps at most, and halvings of one.
const MOST_STEPS: usize = 60;
const MOST_HALVINGS: usize = 30;
/// Means of features are zero at this part of their standard deviations.
const CLOSE: f64 = 1e-11;
/// And at this part of those that they had before.
const NEAR: f64 = 1e-8;
/// What is added to the diagonal of correlations of features, of which some may repeat others.
const JITTER: f64 = 1e-10;
/// The Hessian is computed anew where a step leaves more than this of the gradient, of few features and of many.
const LEFT: f64 = 0.1;
const LEFT_OF_MANY: f64 = 0.5;
const MANY: usize = 300;

/// Columns of numbers that are made row by row.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'a> {
    pub(crate) rows: usize,
    pub(crate) count: usize,
    /// Writes the numbers of a row.
    pub(crate) fill: &'a (dyn Fn(usize, &mut [f64]) + Sync),
}

/// Weights under which the features have mean zero.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Balanced {
    /// They sum to one.
    pub(crate) shares: Vec<f64>,
    /// How many Newton steps were taken.
    pub(crate) steps: usize,
}

/// Σ share·zᵢ·zⱼ over these rows for all pairs of columns: the lower triangle of a matrix, row after row.
pub(crate) fn products(
    columns: Columns<'_>,
    rows: Range<usize>,
    share: &(dyn Fn(usize) -> f64 + Sync),
    watch: Watch,
) -> Result<Vec<f64>> {
    let count = columns.count;
    let panels = count.div_ceil(ABREAST);
    let groups: Vec<Range<usize>> =
        (0..panels).step_by(LEFT_PANELS).map(|first| first..panels.min(first + LEFT_PANELS)).collect();
    let zero: PanelProduct = [[0.0; ABREAST]; ABREAST];
    let mut sums: Vec<Vec<PanelProduct>> =
        groups.iter().map(|group| vec![zero; group.len() * group.end]).collect();
    let mut values = vec![0.0; PRODUCT_ROWS * count];
    let mut packed = vec![0.0; PRODUCT_ROWS * panels * ABREAST];
    for first in rows.clone().step_by(PRODUCT_ROWS) {
        if watch(Progress::Correcting { done: first, total: columns.rows }).is_break() {
            return Err(Error::Interrupted);
        }
        let here = PRODUCT_ROWS.min(rows.end - first);
        values[..here * count].par_chunks_mut(count).enumerate().for_each(|(i, values)| {
            (columns.fill)(first + i, values);
            let root = share(first + i).sqrt();
            values.iter_mut().for_each(|value| *value *= root);
        });
        let size = here * ABREAST;
        packed[..panels * size].par_chunks_mut(size).enumerate().for_each(|(panel, packed)| {
            let own = panel * ABREAST..count.min((panel + 1) * ABREAST);
            for (cells, row) in packed.chunks_exact_mut(ABREAST).zip(values.chunks_exact(count)) {
                cells[..own.len()].copy_from_slice(&row[own.clone()]);
                cells[own.len()..].fill(0.0);
            }
        });
        let packed = &packed[..panels * size];
        sums.par_iter_mut().zip(&groups).for_each(|(sums, group)| {
            let (left, right) = (&packed[group.start * size..group.end * size], &packed[..group.end * size]);
            add_products(left, right, here, sums);
        });
    }
    let mut matrix = vec![0.0; count * count];
    for (group, sums) in groups.iter().zip(&sums) {
        for row in group.start * ABREAST..count.min(group.end * ABREAST) {
            let products = &sums[(row / ABREAST - group.start) * group.end..];
            for column in 0..=row {
                matrix[row * count + column] = products[column / ABREAST][row % ABREAST][column % ABREAST];
            }
        }
    }
    Ok(matrix)
}

/// Correlations of features, which have been divided by their standard deviations, ready to be solved with.
pub(crate) struct Correlations {
    factor: Factor,
    /// 1/sd of each feature, 0 for a constant one.
    scales: Vec<f64>,
}

impl Correlations {
    /// Of features with this mean square matrix, of which the lower triangle of the first `means.len()` columns is read, and these means.
    /// `None` where rounding leaves no positive definite matrix.
    pub(crate) fn new(squares: &[f64], dim: usize, means: &[f64]) -> Option<Correlations> {
        let count = means.len();
        let covariance = |i: usize, j: usize| squares[i * dim + j] - means[i] * means[j];
        let scales: Vec<f64> = (0..count)
            .map(|i| {
                let variance = covariance(i, i);
                // What is left of a constant is rounding.
                if variance > 1e-24 * squares[i * dim + i] { variance.sqrt().recip() } else { 0.0 }
            })
            .collect();
        let mut matrix = vec![0.0; count * count];
        for (i, row) in matrix.chunks_exact_mut(count.max(1)).enumerate() {
            for (j, cell) in row[..i].iter_mut().enumerate() {
                *cell = covariance(i, j) * scales[i] * scales[j];
            }
            row[i] = 1.0;
        }
        let factor =
            [1.0, 1e2, 1e4].iter().find_map(|times| Factor::new(matrix.clone(), count, JITTER * times, 0.0));
        Some(Correlations { factor: factor?, scales })
    }

    /// Replaces covariances of something with the features by the coefficients of the features.
    pub(crate) fn solve(&self, b: &mut [f64]) {
        b.iter_mut().zip(&self.scales).for_each(|(b, scale)| *b *= scale);
        self.factor.solve(b);
        b.iter_mut().zip(&self.scales).for_each(|(b, scale)| *b *= scale);
    }
}

/// The dual at λ.
struct Dual {
    /// log Σ v·exp(−λ·ψ).
    value: f64,
    /// Σ w ψ.
    means: Vec<f64>,
    /// log v − λ·ψ of each row.
    logs: Vec<f64>,
}

impl Dual {
    fn at(
        features: Columns<'_>,
        lambda: &[f64],
        start: &(dyn Fn(usize) -> f64 + Sync),
        watch: Watch,
    ) -> Result<Dual> {
        let Columns { rows, count, fill } = features;
        let (mut largest, mut sum, mut means) = (f64::NEG_INFINITY, 0.0, vec![0.0; count]);
        let mut logs = Vec::with_capacity(rows);
        let blocks: Vec<Range<usize>> = (0..rows).step_by(ROWS).map(|at| at..rows.min(at + ROWS)).collect();
        for some in blocks.chunks(BLOCKS) {
            if watch(Progress::Correcting { done: some[0].start, total: rows }).is_break() {
                return Err(Error::Interrupted);
            }
            let found: Vec<(f64, f64, Vec<f64>, Vec<f64>)> = some
                .par_iter()
                .map(|block| {
                    let mut values = vec![0.0; block.len() * count];
                    let mut logs = Vec::with_capacity(block.len());
                    for (row, values) in block.clone().zip(values.chunks_exact_mut(count.max(1))) {
                        fill(row, values);
                        logs.push(start(row).ln() - dot(values, lambda));
                    }
                    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    let (mut sum, mut means) = (0.0, vec![0.0; count]);
                    if largest > f64::NEG_INFINITY {
                        for (log, values) in logs.iter().zip(values.chunks_exact(count.max(1))) {
                            let weight = (log - largest).exp();
                            sum += weight;
                            means.iter_mut().zip(values).for_each(|(mean, value)| *mean += weight * value);
                        }
                    }
                    (largest, sum, means, logs)
                })
                .collect();
            for (own, own_sum, own_means, own_logs) in found {
                logs.extend(own_logs);
                if own == f64::NEG_INFINITY {
                    continue;
                }
                let most = largest.max(own);
                let (before, here) = ((largest - most).exp(), (own - most).exp());
                sum = sum * before + own_sum * here;
                means.iter_mut().zip(own_means).for_each(|(mean, own)| *mean = *mean * before + own * here);
                largest = most;
            }
        }
        means.iter_mut().for_each(|mean| *mean /= sum);
        Ok(Dual { value: largest + sum.ln(), means, logs })
    }

    fn share(&self, row: usize) -> f64 {
        (self.logs[row] - self.value).exp()
    }
}

/// The weights nearest to those before, which sum to one, under which all features have mean zero. `squares` are the mean
/// squares of the features under those before, as [`products`] gives them, of which the first are read. `None` where no positive weights
/// do it, or none that numbers can hold.
pub(crate) fn balance(
    features: Columns<'_>,
    start: &(dyn Fn(usize) -> f64 + Sync),
    squares: &[f64],
    dim: usize,
    watch: Watch,
) -> Result<Option<Balanced>> {
    let count = features.count;
    let mut lambda = vec![0.0; count];
    let mut dual = Dual::at(features, &lambda, start, watch)?;
    let Some(mut hessian) = Correlations::new(squares, dim, &dual.means) else { return Ok(None) };
    let scales = hessian.scales.clone();
    let (left, mut is_fresh) = (if count > MANY { LEFT_OF_MANY } else { LEFT }, true);
    for steps in 0..MOST_STEPS {
        let size = distance(&dual.means, &hessian.scales);
        if size <= CLOSE {
            // Weights on few rows make features constant, which then have no error in units of their spread.
            if distance(&dual.means, &scales) > NEAR {
                return Ok(None);
            }
            let shares: Vec<f64> = (0..features.rows).map(|row| dual.share(row)).collect();
            return Ok(Some(Balanced { shares, steps }));
        }
        let mut step = dual.means.clone();
        hessian.solve(&mut step);
        let slope = dot(&step, &dual.means);
        let Some((taken, next)) = search(features, &lambda, &step, slope, &dual, start, watch)? else {
            // Not even a small step leads down: rounding, or a Hessian of somewhere else.
            if is_fresh {
                return Ok(None);
            }
            let Some(fresh) = hessian_at(features, &dual, watch)? else { return Ok(None) };
            (hessian, is_fresh) = (fresh, true);
            continue;
        };
        let after = distance(&next.means, &hessian.scales);
        (lambda, dual, is_fresh) = (taken, next, false);
        if !after.is_finite() {
            return Ok(None);
        }
        if after > left * size && after > CLOSE {
            let Some(fresh) = hessian_at(features, &dual, watch)? else { return Ok(None) };
            (hessian, is_fresh) = (fresh, true);
        }
    }
    Ok(None)
}

/// How far means are from zero, in standard deviations: the largest.
fn distance(means: &[f64], scales: &[f64]) -> f64 {
    means.iter().zip(scales).map(|(mean, scale)| (mean * scale).abs()).fold(0.0, f64::max)
}

fn hessian_at(features: Columns<'_>, dual: &Dual, watch: Watch) -> Result<Option<Correlations>> {
    let squares = products(features, 0..features.rows, &|row| dual.share(row), watch)?;
    Ok(Correlations::new(&squares, features.count, &dual.means))
}

/// The first of the step, its half, a quarter, … that lowers the dual by a part of what its slope says.
fn search(
    features: Columns<'_>,
    lambda: &[f64],
    step: &[f64],
    slope: f64,
    dual: &Dual,
    start: &(dyn Fn(usize) -> f64 + Sync),
    watch: Watch,
) -> Result<Option<(Vec<f64>, Dual)>> {
    let mut part = 1.0;
    for _ in 0..MOST_HALVINGS {
        let taken: Vec<f64> = lambda.iter().zip(step).map(|(l, s)| l + part * s).collect();
        let next = Dual::at(features, &taken, start, watch)?;
        // Near the minimum the gain is below rounding.
        if next.value <= dual.value - 1e-4 * part * slope + 1e-14 * dual.value.abs().max(1.0) {
            return Ok(Some((taken, next)));
        }
        part *= 0.5;
    }
    Ok(None)
}
