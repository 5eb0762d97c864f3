//! Figures of a report: the numbers behind them, which the page draws.

use std::borrow::Cow;

use super::{About, Measured};

/// Points of a curve that the eye can tell apart.
const CURVE_POINTS: usize = 300;

/// What there is to draw.
#[derive(Clone, Debug)]
pub(crate) struct Figures<'a> {
    /// All rows, as they are in the files.
    pub(crate) all: Rows<'a>,
    /// The rows the report is about.
    pub(crate) subset: Rows<'a>,
    /// `None` where the rows were not chosen one after the other.
    pub(crate) curve: Option<Curve>,
}

/// Rows of numbers, each with its share where they are not equal.
#[derive(Clone, Debug)]
pub(crate) struct Rows<'a> {
    pub(crate) values: Cow<'a, [f64]>,
    pub(crate) dim: usize,
    pub(crate) shares: Option<Cow<'a, [f64]>>,
}

impl Rows<'_> {
    pub(crate) fn len(&self) -> usize {
        self.values.len() / self.dim
    }

    /// Column `j`.
    pub(super) fn column(&self, j: usize) -> Vec<f64> {
        self.values.iter().skip(j).step_by(self.dim).copied().collect()
    }

    pub(super) fn share(&self, row: usize) -> f64 {
        self.shares.as_ref().map_or(1.0 / self.len() as f64, |shares| shares[row])
    }
}

/// How the error fell, beside what random rows would do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Curve {
    /// T and the MMD of the first T rows.
    pub(super) errors: Vec<(f64, f64)>,
    /// T and the MMD that T random rows are expected to have.
    pub(super) random: Vec<(f64, f64)>,
    /// How many rows the result has and its MMD, where that is not where the curve ends: after swaps, or with weights.
    pub(super) result: Option<(f64, f64)>,
}

impl Curve {
    /// From T and the MMD of the first T rows, for all T.
    pub(crate) fn new(errors: impl Iterator<Item = (usize, f64)>, about: &About, result: &Measured) -> Curve {
        let mut errors: Vec<(f64, f64)> =
            errors.map(|(t, error)| (t as f64, error.max(result.scale.floor))).collect();
        if errors.len() > CURVE_POINTS {
            // Evenly spaced on the logarithm, where they are drawn; the last one always among them.
            let last = errors.len() as f64;
            let wanted = |i: usize| last.powf(i as f64 / (CURVE_POINTS - 1) as f64) as usize - 1;
            let mut kept: Vec<usize> = (0..CURVE_POINTS).map(wanted).chain([errors.len() - 1]).collect();
            kept.dedup();
            errors = kept.into_iter().map(|at| errors[at.min(errors.len() - 1)]).collect();
        }
        // The expected squared error of T of n rows is that of one draw over T, less what drawing without replacement
        // saves; with weights the draws are independent.
        let rows = about.rows.unwrap_or(0) as f64;
        let expected = |t: f64| {
            let left =
                if about.weight_column.is_some() || rows <= t { 1.0 } else { (rows - t) / (rows - 1.0) };
            result.scale.single_draw.map(|single| (single.max(0.0) / t * left).sqrt())
        };
        let random = errors.iter().filter_map(|&(t, _)| Some((t, expected(t)?))).collect();
        let (count, error) = (result.count as f64, result.error.map(|error| error.max(result.scale.floor)));
        let is_elsewhere = |(t, e): (f64, f64)| {
            errors.last().is_none_or(|&(last, end)| last != t || (end - e).abs() > 1e-6 * e)
        };
        let result = error.map(|error| (count, error)).filter(|&end| is_elsewhere(end));
        Curve { errors, random, result }
    }
}
