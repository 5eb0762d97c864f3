//! Plots of the page: the curve of the error, the marginals of the parameters, the clouds of their pairs.

use super::svg::{Axis, Figure};
use crate::report::{Curve, Rows};

/// Cells along each side of the clouds of all rows.
const CLOUD_CELLS: usize = 28;
/// Dots of a subset; beyond it every k-th is drawn.
const MOST_DOTS: usize = 500;

pub(super) fn error_curve(curve: &Curve) -> String {
    let all = || curve.errors.iter().chain(&curve.random);
    let (low, high) = all().fold((f64::INFINITY, 0.0_f64), |(low, high), &(_, e)| (low.min(e), high.max(e)));
    let last = curve.errors.last().map_or(1.0, |&(t, _)| t);
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
    figure.finish("MMD against the number of rows")
}

/// The range that holds all but a thousandth of the rows at either end, wide enough for the subset.
fn range(full: &Rows<'_>, subset: &Rows<'_>, j: usize) -> (f64, f64) {
    let mut values = full.column(j);
    values.sort_unstable_by(f64::total_cmp);
    let cut = values.len() / 1000;
    let (mut low, mut high) = (values[cut], values[values.len() - 1 - cut]);
    for value in subset.column(j) {
        (low, high) = (low.min(value), high.max(value));
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
