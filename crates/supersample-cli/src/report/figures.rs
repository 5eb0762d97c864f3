//! Figures of a report: the numbers behind them, which the page draws.

use std::borrow::Cow;

use super::{About, ComparedColumn, Comparison, Measured};

/// Points of a curve that the eye can tell apart.
const CURVE_POINTS: usize = 300;

/// What there is to draw.
#[derive(Clone, Debug)]
pub(crate) struct Figures<'a> {
    /// All rows, as they are in the files.
    pub(crate) all: Rows<'a>,
    /// The rows the report is about.
    pub(crate) subset: Rows<'a>,
    /// `None` if the rows were not chosen in sequence.
    pub(crate) curve: Option<Curve>,
    /// Whether the rows of the subset are in the order of choice, so that their first T are a subset too.
    pub(crate) is_in_order: bool,
    /// Each parameter in its own units; `None` for a constant one.
    pub(crate) summaries: Vec<Option<ComparedColumn>>,
    /// The chains that the rows are of; empty if there is one, or if it is not known.
    pub(crate) chains: Vec<ChainShare>,
}

/// What one chain is of all rows and of the subset, as parts of the whole weight.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ChainShare {
    pub(crate) name: String,
    pub(crate) all: f64,
    pub(crate) subset: f64,
    /// How many rows of the subset are of it.
    pub(crate) rows: usize,
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

    /// The values of a column and the distribution function at each of them, ascending, each value once. Shares are not
    /// negative; rows without any are passed over.
    pub(super) fn distribution(&self, j: usize) -> Vec<(f64, f64)> {
        let values = self.column(j).into_iter().enumerate();
        let mut steps: Vec<(f64, f64)> = values.map(|(row, value)| (value, self.share(row))).collect();
        steps.retain(|(_, share)| *share > 0.0);
        steps.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        steps.dedup_by(|later, first| {
            let is_same = later.0 == first.0;
            if is_same {
                first.1 += later.1;
            }
            is_same
        });
        let mut reached = 0.0;
        for (_, height) in &mut steps {
            reached += *height;
            *height = reached;
        }
        // Their sum is one but for rounding.
        steps.iter_mut().for_each(|(_, height)| *height /= reached);
        steps
    }

    /// Column `j`.
    pub(super) fn column(&self, j: usize) -> Vec<f64> {
        self.values.iter().skip(j).step_by(self.dim).copied().collect()
    }

    pub(crate) fn share(&self, row: usize) -> f64 {
        self.shares.as_ref().map_or(1.0 / self.len() as f64, |shares| shares[row])
    }
}

/// Error by number of rows, compared with random rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Curve {
    /// T and the MMD of the first T rows.
    pub(super) errors: Vec<(f64, f64)>,
    /// T and the MMD that T random rows are expected to have.
    pub(super) random: Vec<(f64, f64)>,
    /// T and between which MMDs random subsets of T rows lie, the least and the largest of those that were drawn. They were
    /// drawn of the size of the result; √T times the MMD of T random rows has nearly the same law for every T.
    pub(super) band: Vec<(f64, f64, f64)>,
    /// How many random subsets were drawn.
    pub(super) drawn: usize,
    /// How many rows the result has and its MMD, where that is not where the curve ends: after swaps, or with weights.
    pub(super) result: Option<(f64, f64)>,
}

impl Curve {
    /// From T and the MMD of the first T rows, for all T.
    pub(crate) fn new(
        errors: impl Iterator<Item = (usize, f64)>,
        about: &About,
        result: &Measured,
        comparison: Option<&Comparison>,
    ) -> Curve {
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
                if about.effective_size.is_some() || rows <= t { 1.0 } else { (rows - t) / (rows - 1.0) };
            result.scale.single_draw.map(|single| (single.max(0.0) / t * left).sqrt())
        };
        let random: Vec<(f64, f64)> = errors.iter().filter_map(|&(t, _)| Some((t, expected(t)?))).collect();
        let drawn = comparison.map_or(Vec::new(), Comparison::random_mmds);
        let least = drawn.iter().copied().reduce(f64::min).zip(drawn.iter().copied().reduce(f64::max));
        let ends = least.zip(expected(result.count as f64).filter(|typical| *typical > 0.0));
        let band = match ends {
            Some(((least, largest), typical)) => {
                random.iter().map(|&(t, e)| (t, e * least / typical, e * largest / typical)).collect()
            }
            None => Vec::new(),
        };
        let (count, error) = (result.count as f64, result.mmd().map(|error| error.max(result.scale.floor)));
        let is_elsewhere = |(t, e): (f64, f64)| {
            errors.last().is_none_or(|&(last, end)| last != t || (end - e).abs() > 1e-6 * e)
        };
        let result = error.map(|error| (count, error)).filter(|&end| is_elsewhere(end));
        Curve { errors, random, band, drawn: drawn.len(), result }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::report;

    #[test]
    fn distribution_functions_are_by_weight_and_ties_are_one_step() {
        let rows = |shares: Option<Vec<f64>>| Rows {
            values: Cow::Owned(vec![3.0, 0.0, 1.0, 0.0, 3.0, 0.0, 2.0, 0.0]),
            dim: 2,
            shares: shares.map(Cow::Owned),
        };
        assert_eq!(rows(None).distribution(0), [(1.0, 0.25), (2.0, 0.5), (3.0, 1.0)]);
        assert_eq!(rows(None).distribution(1), [(0.0, 1.0)]);
        let weighted = rows(Some(vec![0.5, 0.25, 0.25, 0.0])).distribution(0);
        assert_eq!(weighted, [(1.0, 0.25), (3.0, 1.0)]);
    }

    #[test]
    fn the_band_is_that_of_the_drawn_subsets_where_they_were_drawn() {
        let about = report();
        let errors = [(1, 0.5), (10, 0.05), (100, 0.007_123)];
        let curve = |comparison| Curve::new(errors.into_iter(), &about.about, &about.result, comparison);
        let found = curve(about.comparison.as_ref());
        let drawn = about.comparison.as_ref().unwrap().random_mmds();
        let (least, largest) = (drawn[1], drawn[0]);
        let &(t, low, high) = found.band.last().unwrap();
        assert!(t == 100.0 && (low - least).abs() < 1e-15 && (high - largest).abs() < 1e-15, "{found:?}");
        // √T times the band hardly changes: only drawing without replacement does that.
        let &(_, first, _) = found.band.first().unwrap();
        assert!((first / low / 10.0 - 1.0).abs() < 0.02, "{found:?}");
        assert_eq!((found.drawn, curve(None).band.len()), (20, 0));
    }
}
