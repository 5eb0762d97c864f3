//! Plots of the page: the curve of the error, the marginals of the parameters, the clouds of their pairs.

use super::svg::{Axis, Figure};
use crate::report::{Curve, Rows};

/// Cells along each side of the clouds of all rows.
const CLOUD_CELLS: usize = 28;
/// Dots of a subset; beyond it every k-th is drawn.
const MOST_DOTS: usize = 500;

pub(super) fn error_curve(curve: &Curve) -> String {
    let all = || curve.errors.iter().chain(&curve.random).chain(&curve.result);
    let (low, high) = all().fold((f64::INFINITY, 0.0_f64), |(low, high), &(_, e)| (low.min(e), high.max(e)));
    let last =
        curve.errors.last().into_iter().chain(&curve.result).fold(1.0_f64, |last, &(t, _)| last.max(t));
    let mut figure =
        Figure::new(440.0, 290.0, Axis::log(1.0, last.max(2.0)), Axis::log(low * 0.8, high * 1.2));
    figure.axes(6, 6);
    figure.x_title("T");
    figure.y_title("MMD");
    figure.line("line all", &curve.random);
    figure.line("line chosen", &curve.errors);
    if let Some(&(t, error)) = curve.errors.last() {
        figure.dot("dot chosen", t, error, 3.0);
    }
    if let Some((t, error)) = curve.result {
        figure.dot("ring chosen", t, error, 5.0);
    }
    figure.finish("MMD against the number of rows")
}

/// The part of the weight of all rows that lies beyond either end of an axis.
const CUT: f64 = 1e-3;

/// The range that holds all but [`CUT`] of the weight at either end, wide enough for the rows of the subset that have any.
fn range(full: &Rows<'_>, subset: &Rows<'_>, j: usize) -> (f64, f64) {
    let mut values: Vec<(f64, f64)> =
        full.column(j).into_iter().enumerate().map(|(row, value)| (value, full.share(row))).collect();
    values.retain(|(_, share)| *share > 0.0);
    values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let end = |from_the_top: bool| {
        let mut beyond = 0.0;
        let is_within = |&at: &usize| {
            beyond += values[at].1;
            // A little more, so that sums of equal shares do not decide by their rounding.
            beyond > CUT + 1e-12
        };
        let last = values.len().saturating_sub(1);
        let found = (0..values.len()).map(|i| if from_the_top { last - i } else { i }).find(is_within);
        found.map_or(0.0, |at| values[at].0)
    };
    let (mut low, mut high) = (end(false), end(true));
    for (row, value) in subset.column(j).into_iter().enumerate() {
        if subset.share(row) > 0.0 {
            (low, high) = (low.min(value), high.max(value));
        }
    }
    (low, high)
}

/// The shares of the rows in each of the bins, as densities.
fn histogram(rows: &Rows<'_>, j: usize, edges: &[f64]) -> Vec<f64> {
    let bins = edges.len() - 1;
    let (low, width) = (edges[0], (edges[bins] - edges[0]) / bins as f64);
    let mut heights = vec![0.0; bins];
    for (row, value) in rows.column(j).into_iter().enumerate() {
        let bin = ((value - low) / width).floor();
        if (0.0..=bins as f64).contains(&bin) {
            heights[(bin as usize).min(bins - 1)] += rows.share(row) / width;
        }
    }
    heights
}

pub(super) fn marginal(full: &Rows<'_>, subset: &Rows<'_>, j: usize, name: &str) -> String {
    let (low, high) = range(full, subset, j);
    let axis = Axis::linear(low, high);
    // Enough bins for the shape, few enough that a small subset fills them.
    let bins = ((subset.len() as f64).sqrt() * 2.0).round().clamp(8.0, 30.0) as usize;
    let edges: Vec<f64> = (0..=bins).map(|i| low + (high - low) * i as f64 / bins as f64).collect();
    if !(high > low && (high - low).is_finite()) {
        return Figure::bare(196.0, 104.0, axis, Axis::linear(0.0, 1.0)).finish(name);
    }
    let (all, chosen) = (histogram(full, j, &edges), histogram(subset, j, &edges));
    let top = all.iter().chain(&chosen).fold(0.0_f64, |top, &height| top.max(height));
    let mut figure = Figure::bare(196.0, 104.0, axis, Axis::linear(0.0, top * 1.05));
    figure.steps("area all", &edges, &all);
    figure.steps("outline chosen", &edges, &chosen);
    figure.axes(3, 0);
    figure.finish(name)
}

pub(super) fn pair(full: &Rows<'_>, subset: &Rows<'_>, i: usize, j: usize, name: &str) -> String {
    let ((x0, x1), (y0, y1)) = (range(full, subset, i), range(full, subset, j));
    let mut figure = Figure::new(300.0, 260.0, Axis::linear(x0, x1), Axis::linear(y0, y1));
    figure.axes(4, 4);
    let (dx, dy) = ((x1 - x0) / CLOUD_CELLS as f64, (y1 - y0) / CLOUD_CELLS as f64);
    let mut cells = vec![0.0; CLOUD_CELLS * CLOUD_CELLS];
    for (row, values) in full.values.chunks_exact(full.dim).enumerate() {
        let (a, b) = (((values[i] - x0) / dx).floor(), ((values[j] - y0) / dy).floor());
        let side = CLOUD_CELLS as f64;
        if (0.0..=side).contains(&a) && (0.0..=side).contains(&b) {
            let (a, b) = ((a as usize).min(CLOUD_CELLS - 1), (b as usize).min(CLOUD_CELLS - 1));
            cells[b * CLOUD_CELLS + a] += full.share(row);
        }
    }
    let most = cells.iter().copied().fold(0.0, f64::max);
    for (at, &share) in cells.iter().enumerate().filter(|(_, share)| **share > 0.0) {
        let (a, b) = ((at % CLOUD_CELLS) as f64, (at / CLOUD_CELLS) as f64);
        let corner = (x0 + a * dx, y0 + b * dy);
        // The root shows the thin outskirts, which are what a subset tends to miss.
        figure.cell("cell", corner, (corner.0 + dx, corner.1 + dy), 0.08 + 0.72 * (share / most).sqrt());
    }
    let every = subset.len().div_ceil(MOST_DOTS).max(1);
    for (at, row) in subset.values.chunks_exact(subset.dim).enumerate().step_by(every) {
        // The area of a dot is its weight, within what the eye can tell.
        let radius = 2.2 * (subset.share(at) * subset.len() as f64).sqrt().min(3.0);
        if radius > 0.2 {
            figure.dot("dot chosen", row[i], row[j], radius);
        }
    }
    figure.finish(name)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    #[test]
    fn axes_are_cut_by_weight_and_not_by_rows() {
        // Nine tenths of the rows are draws of a wide prior that weigh next to nothing.
        let values: Vec<f64> =
            (0..1000).map(|i| if i < 900 { i as f64 * 100.0 } else { (i - 900) as f64 }).collect();
        let shares: Vec<f64> = (0..1000).map(|i| if i < 900 { 1e-7 } else { (1.0 - 9e-5) / 100.0 }).collect();
        let full = Rows { values: Cow::Owned(values), dim: 1, shares: Some(Cow::Owned(shares)) };
        let subset = |values: Vec<f64>, shares: Option<Vec<f64>>| Rows {
            values: Cow::Owned(values),
            dim: 1,
            shares: shares.map(Cow::Owned),
        };
        assert_eq!(range(&full, &subset(vec![3.0, 50.0], None), 0), (0.0, 99.0));
        assert_eq!(range(&full, &subset(vec![3.0, 200.0], None), 0), (0.0, 200.0));
        // A row of the subset without weight does not widen them.
        assert_eq!(range(&full, &subset(vec![3.0, 200.0], Some(vec![1.0, 0.0])), 0), (0.0, 99.0));
        let even = Rows { shares: None, ..full };
        assert_eq!(range(&even, &subset(vec![3.0], None), 0).1, 89_800.0);
    }
}
