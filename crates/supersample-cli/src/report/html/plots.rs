//! Plots of the page: the curve of the error, the intervals and the marginals of the parameters, the clouds of their pairs.

use super::svg::{Axis, Figure};
use crate::report::{ComparedColumn, Curve, Rows, Summary};

/// Cells along each side of the clouds of all rows.
const CLOUD_CELLS: usize = 28;
/// Dots of a subset; beyond it every k-th is drawn.
const MOST_DOTS: usize = 500;

pub(super) fn error_curve(curve: &Curve) -> String {
    let ends = curve.band.iter().flat_map(|&(_, low, high)| [low, high]);
    let all = curve.errors.iter().chain(&curve.random).chain(&curve.result).map(|&(_, e)| e).chain(ends);
    let (low, high) = all.fold((f64::INFINITY, 0.0_f64), |(low, high), e| (low.min(e), high.max(e)));
    let last =
        curve.errors.last().into_iter().chain(&curve.result).fold(1.0_f64, |last, &(t, _)| last.max(t));
    let mut figure =
        Figure::new(440.0, 290.0, Axis::log(1.0, last.max(2.0)), Axis::log(low * 0.8, high * 1.2));
    figure.axes(6, 6);
    figure.x_title("T");
    figure.y_title("MMD");
    figure.told_as("T", "MMD");
    figure.band("band all", &curve.band);
    figure.line("line all", "random", &curve.random);
    figure.line("line chosen", "chosen", &curve.errors);
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

/// The distribution functions of all rows and of the subset.
pub(super) fn distribution(full: &Rows<'_>, subset: &Rows<'_>, j: usize, name: &str) -> String {
    let (low, high) = range(full, subset, j);
    let mut figure = Figure::bare(196.0, 112.0, Axis::linear(low, high), Axis::linear(0.0, 1.0));
    figure.axes(3, 0);
    figure.told_as(name, "distribution function");
    figure.staircase("line all solid", "all", &full.distribution(j));
    figure.staircase("line chosen", "subset", &subset.distribution(j));
    figure.finish(&format!("distribution function of {name}"))
}

/// Pixels from one parameter to the next in the plot of intervals.
const INTERVAL_HEIGHT: f64 = 26.0;

/// The intervals from 5 to 95 % with the medians, all rows above the subset, in standard deviations of all rows from their mean.
pub(super) fn intervals(parameters: &[(&str, ComparedColumn)]) -> String {
    let ends = |beside: &ComparedColumn| {
        let of =
            |summary: &Summary| [summary.quantiles[0], summary.quantiles[4]].into_iter().flatten().collect();
        let both: Vec<f64> =
            [of(&beside.all), of(&beside.subset)].into_iter().flat_map(|ends: Vec<f64>| ends).collect();
        both.into_iter().map(|end| in_sds(beside, end)).collect::<Vec<f64>>()
    };
    let all: Vec<f64> = parameters.iter().flat_map(|(_, beside)| ends(beside)).collect();
    let (low, high) = all.iter().fold((-1.0_f64, 1.0_f64), |(low, high), &end| (low.min(end), high.max(end)));
    let rows = parameters.len() as f64;
    let longest = parameters.iter().map(|(name, _)| cut(name).chars().count()).max().unwrap_or(0);
    let (x, y) = (Axis::linear(low - 0.15, high + 0.15), Axis::linear(0.0, rows).upside_down());
    let mut figure =
        Figure::new(440.0, 40.0 + rows * INTERVAL_HEIGHT, x, y).with_left(16.0 + 6.0 * longest as f64);
    figure.axes(6, 0);
    figure.x_title("sds of all rows from their mean");
    for (at, (name, beside)) in parameters.iter().enumerate() {
        let middle = at as f64 + 0.5;
        figure.word_beside(middle, &cut(name));
        for (class, summary, y) in
            [("all", &beside.all, middle - 0.16), ("chosen", &beside.subset, middle + 0.16)]
        {
            let [low, _, median, _, high] =
                summary.quantiles.map(|value| value.map(|value| in_sds(beside, value)));
            let (Some(low), Some(median), Some(high)) = (low, median, high) else { continue };
            figure.line(&format!("interval {class}"), "", &[(low, y), (high, y)]);
            figure.dot(&format!("dot {class}"), median, y, 3.0);
        }
    }
    figure.finish("intervals from 5 to 95 % of all rows and of the subset")
}

fn in_sds(beside: &ComparedColumn, value: f64) -> f64 {
    (value - beside.all.mean.unwrap_or(0.0)) / beside.unit
}

/// A name that leaves room for the figure.
fn cut(name: &str) -> String {
    const LONGEST: usize = 18;
    match name.chars().count() > LONGEST {
        true => name.chars().take(LONGEST - 1).chain(['…']).collect(),
        false => name.to_string(),
    }
}

/// The weights of the subset from the largest to the smallest, with equal weights for comparison.
pub(super) fn weights(shares: &[f64]) -> String {
    let mut sorted = shares.to_vec();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let equal = 1.0 / sorted.len() as f64;
    let (low, high) =
        (sorted.last().copied().unwrap_or(0.0).min(0.0), sorted.first().copied().unwrap_or(1.0).max(equal));
    let last = sorted.len() as f64;
    let mut figure = Figure::new(440.0, 200.0, Axis::linear(0.0, last), Axis::linear(low, high * 1.05));
    figure.axes(6, 4);
    figure.x_title("rows");
    figure.y_title("weight");
    figure.told_as("rows", "weight");
    let edges: Vec<f64> = (0..=sorted.len()).map(|i| i as f64).collect();
    figure.steps("area chosen", &edges, &sorted);
    figure.line("line all", "equal", &[(0.0, equal), (last, equal)]);
    figure.finish("weights of the rows, the largest first")
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

/// Two parameters against each other: `names` are those across and up.
pub(super) fn pair(full: &Rows<'_>, subset: &Rows<'_>, i: usize, j: usize, names: (&str, &str)) -> String {
    let ((x0, x1), (y0, y1)) = (range(full, subset, i), range(full, subset, j));
    let mut figure = Figure::new(300.0, 260.0, Axis::linear(x0, x1), Axis::linear(y0, y1));
    figure.axes(4, 4);
    figure.told_as(names.0, names.1);
    let (dx, dy) = ((x1 - x0) / CLOUD_CELLS as f64, (y1 - y0) / CLOUD_CELLS as f64);
    let name = format!("{} against {}", names.1, names.0);
    if !(dx.is_finite() && dy.is_finite()) {
        // Values so far apart that their difference is no number have no place in a figure.
        return figure.finish(&name);
    }
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
            figure.numbered_dot("dot chosen", at + 1, row[i], row[j], radius);
        }
    }
    figure.finish(&name)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    #[test]
    fn values_whose_difference_is_no_number_give_empty_figures() {
        for (above, below) in [(9e307, -9.5e307), (1.5e308, -1.6e308), (1.6e308, 1.6e308)] {
            let values: Vec<f64> = (0..40).map(|i| if i / 2 % 2 == 0 { above } else { below }).collect();
            let rows = || Rows { values: Cow::Owned(values.clone()), dim: 2, shares: None };
            for figure in [
                pair(&rows(), &rows(), 0, 1, ("a", "b")),
                marginal(&rows(), &rows(), 1, "b"),
                distribution(&rows(), &rows(), 1, "b"),
            ] {
                assert!(
                    figure.starts_with("<svg") && !figure.contains("NaN") && !figure.contains("inf"),
                    "{figure}"
                );
            }
        }
    }

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
