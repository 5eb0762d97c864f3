//! Rows as given, in their own units, with weights, functions of interest and scores.

use super::{RowScores, Summary};
use crate::points::{expect_rows, normalised};
use crate::words::Opt;
use crate::{Chains, Error, Gram, Points, Result};

/// Rows in memory, in their own units, with weights, functions of interest and scores.
///
/// ```
/// use supersample::Points;
/// use supersample::task::{RowWeights, Rows};
/// let points = Points::from_rows(&[0.0, 1.0, 3.0], 1)?;
/// let rows = Rows::weighted(points, RowWeights::Weights(&[1.0, 1.0, 2.0]))?;
/// let rows = rows.functions(vec![0.0, 1.0, 9.0], 1)?; // squares
/// assert_eq!(rows.shares(), Some(&[0.25, 0.25, 0.5][..]));
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rows {
    pub(super) points: Points,
    pub(super) shares: Option<Vec<f64>>,
    pub(super) functions: Option<Points>,
    pub(super) scores: Option<RowScores>,
    pub(super) gram: Option<Gram>,
    pub(super) chains: Option<Chains>,
    /// The rows that are matched, where they are others than these.
    pub(super) other: Option<Box<Rows>>,
    /// Published numbers that are matched in place of rows.
    pub(super) summary: Option<Summary>,
}

impl Rows {
    /// Creates rows of equal weight.
    pub fn new(points: Points) -> Rows {
        Rows {
            points,
            shares: None,
            functions: None,
            scores: None,
            gram: None,
            chains: None,
            other: None,
            summary: None,
        }
    }

    /// Creates rows with weights. Rows of weight zero add nothing to the target and are not chosen, unless
    /// [`Compute::pool_without_weight`](super::Compute::pool_without_weight) lets them in.
    pub fn weighted(points: Points, weights: RowWeights<'_>) -> Result<Rows> {
        let shares = weights.shares(points.len())?;
        Ok(Rows { shares, ..Rows::new(points) })
    }

    /// Creates rows known only by their kernel values, with the weights of the matrix.
    ///
    /// ```
    /// use supersample::task::{Choose, Problem, Rows};
    /// use supersample::{Gram, unwatched};
    /// let x: Vec<f64> = (0..50).map(|i| (f64::from(i) * 0.7).sin()).collect();
    /// let matrix = x.iter().flat_map(|a| x.iter().map(move |b| (-(a - b).powi(2)).exp())).collect();
    /// let rows = Rows::of_gram(Gram::new(matrix, 50)?);
    /// let target = Problem::new(rows, Choose::thin(5)?)?.prepare(&unwatched)?;
    /// assert!(target.choose(&unwatched)?.mmd() < Some(0.1));
    /// # Ok::<(), supersample::Error>(())
    /// ```
    pub fn of_gram(gram: Gram) -> Rows {
        let shares = gram.weights().map(<[f64]>::to_vec);
        Rows { shares, gram: Some(gram.clone()), ..Rows::new(gram.rows().clone()) }
    }

    /// Sets functions of the rows whose means are matched, in their own units: predictions, generated quantities,
    /// costs.
    ///
    /// `values` has all `count` functions of the first row, then all of the second, …
    pub fn functions(self, values: Vec<f64>, count: usize) -> Result<Rows> {
        let values = Points::from_vec(values, count).map_err(|error| match error {
            Error::NonFinite { row, column, value } => Error::NonFiniteFunction { row, column, value },
            error => error,
        })?;
        expect_rows("the functions", values.len(), self.points.len())?;
        Ok(Rows { functions: Some(values), ..self })
    }

    /// Sets the scores of the rows: the gradients of the log-density that they are draws of.
    ///
    /// [`Choose::target`](super::Choose::target) says how they are used.
    pub fn scores(self, scores: RowScores) -> Rows {
        Rows { scores: Some(scores), ..self }
    }

    /// The chains that the rows are successive draws of, which say how far the draws themselves are from what they were drawn
    /// from ([`Problem::diagnose`](super::Problem::diagnose)). Where none are given, the rows are taken as one chain in their
    /// order.
    pub fn chains(self, chains: Chains) -> Result<Rows> {
        if chains.draws() != self.points.len() {
            return Err(Error::ChainLengths { found: chains.draws(), expected: self.points.len() });
        }
        Ok(Rows { chains: Some(chains), ..self })
    }

    /// Sets other rows as the target: these rows are then chosen from, and the `other` ones are matched.
    ///
    /// Both have the same columns, and the same functions of interest where they have any. Columns are scaled by the target, and
    /// the bandwidth is the target's. Weights of these rows then say only which may be chosen: those above zero.
    ///
    /// ```
    /// use supersample::task::{Choose, Problem, Rows};
    /// use supersample::{Points, unwatched};
    /// let column = |of: fn(f64) -> f64| Points::from_vec((0..500).map(|i| of(f64::from(i))).collect(), 1);
    /// let (pool, target) = (column(|i| (i * 0.7).sin())?, column(|i| 0.3 + 0.5 * (i * 0.9).sin())?);
    /// let rows = Rows::new(pool.clone()).matching(target);
    /// let chosen = Problem::new(rows, Choose::thin(20)?)?.prepare(&unwatched)?.choose(&unwatched)?;
    /// let mean = chosen.rows.iter().map(|&row| pool.row(row)[0]).sum::<f64>() / 20.0;
    /// assert!((mean - 0.3).abs() < 0.01);
    /// # Ok::<(), supersample::Error>(())
    /// ```
    pub fn matching(self, other: impl Into<Rows>) -> Rows {
        Rows { other: Some(Box::new(other.into())), ..self }
    }

    /// Sets published numbers as the target: these rows are chosen from, and nothing is known of the target but its numbers.
    ///
    /// The rows are matched with weights under which all numbers are as published, nearest to those that they have.
    pub fn matching_summary(self, summary: Summary) -> Rows {
        Rows { summary: Some(summary), ..self }
    }

    /// Refuses what has no meaning where published numbers are matched.
    pub(super) fn check_summary(&self) -> Result<()> {
        let given = [
            (self.gram.is_some(), "a Gram matrix", "its rows have no columns; leave one out"),
            (self.scores.is_some(), "scores", "they are of another target; leave one out"),
            (self.other.is_some(), "other rows as a target", "name one target"),
        ];
        match given.into_iter().find(|(is_given, ..)| *is_given) {
            Some((_, with, advice)) => Err(Error::NotTogether { option: Opt::MatchSummary, with, advice }),
            None => Ok(()),
        }
    }

    /// Refuses a target that these rows cannot be compared with.
    pub(super) fn check_other(&self, other: &Rows) -> Result<()> {
        other.points.expect_dim("the target", "the rows to choose from", self.points.dim())?;
        let refuse = |option, with, advice| Err(Error::NotTogether { option, with, advice });
        if self.gram.is_some() || other.gram.is_some() {
            let advice = "it has no values between the rows and the target; leave it out";
            return refuse(Opt::Match, "a Gram matrix", advice);
        }
        if self.scores.is_some() || other.scores.is_some() {
            return refuse(Opt::Match, "scores", "they are of another target; leave one out");
        }
        if other.other.is_some() {
            return refuse(Opt::Match, "a target that has one itself", "name one target");
        }
        match (&self.functions, &other.functions) {
            (None, None) => Ok(()),
            (Some(own), Some(others)) => {
                others.expect_dim("the functions of the target", "those of the rows", own.dim())
            }
            (Some(_), None) => {
                refuse(Opt::Functions, "a target that has none", "give them for the target too")
            }
            (None, Some(_)) => refuse(Opt::Functions, "rows that have none", "give them for the rows too"),
        }
    }

    /// The rows themselves.
    pub fn points(&self) -> &Points {
        &self.points
    }

    /// The weights, which sum to one; `None` for equal ones.
    pub fn shares(&self) -> Option<&[f64]> {
        self.shares.as_deref()
    }
}

impl From<Points> for Rows {
    fn from(points: Points) -> Rows {
        Rows::new(points)
    }
}

/// Weights of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum RowWeights<'a> {
    /// Equal weights.
    #[default]
    Equal,
    /// Weights: finite, not negative, not all zero.
    Weights(&'a [f64]),
    /// Logarithms of weights. Only their differences matter, so all of them may be very small. −∞ is a weight of zero.
    Logs(&'a [f64]),
}

impl RowWeights<'_> {
    /// Returns the weights of `rows` rows divided by their sum; `None` for equal weights.
    ///
    /// ```
    /// use supersample::task::RowWeights;
    /// let logs = [-100_000.0, -100_000.0 + 3f64.ln(), f64::NEG_INFINITY];
    /// let shares = RowWeights::Logs(&logs).shares(3)?.unwrap();
    /// assert!((shares[0] - 0.25).abs() < 1e-9 && shares[2] == 0.0);
    /// # Ok::<(), supersample::Error>(())
    /// ```
    pub fn shares(&self, rows: usize) -> Result<Option<Vec<f64>>> {
        match self {
            RowWeights::Equal => Ok(None),
            RowWeights::Weights(weights) => Ok(Some(normalised(weights, "rows", rows)?)),
            RowWeights::Logs(logs) => Ok(Some(shares_of_logs(logs, rows)?)),
        }
    }
}

fn shares_of_logs(logs: &[f64], rows: usize) -> Result<Vec<f64>> {
    if logs.len() != rows {
        return Err(Error::WeightCount { what: "rows", found: logs.len(), expected: rows });
    }
    if let Some(index) = logs.iter().position(|log| log.is_nan() || *log == f64::INFINITY) {
        return Err(Error::BadLogWeight { index, value: logs[index] });
    }
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return Err(Error::NoLogWeights);
    }
    let weights: Vec<f64> = logs.iter().map(|log| (log - largest).exp()).collect();
    normalised(&weights, "rows", rows)
}

/// Effective sample size of the weights: 1/Σ w².
pub(super) fn effective_size(shares: &[f64]) -> f64 {
    1.0 / shares.iter().map(|share| share * share).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn very_negative_logs_are_as_good_as_weights() {
        let of_logs = |logs: &[f64]| RowWeights::Logs(logs).shares(logs.len()).map(Option::unwrap);
        let shares = of_logs(&[-100_000.0, -100_000.0 + 3.0_f64.ln(), f64::MIN]).unwrap();
        assert!((shares[0] - 0.25).abs() < 1e-9 && (shares[1] - 0.75).abs() < 1e-9 && shares[2] == 0.0);
        let none = f64::NEG_INFINITY;
        assert_eq!(of_logs(&[none, -3.0, none, -3.0]).unwrap(), [0.0, 0.5, 0.0, 0.5]);
        assert_eq!(of_logs(&[none, none]), Err(Error::NoLogWeights));
        let infinite = of_logs(&[0.0, f64::INFINITY]);
        assert_eq!(infinite, Err(Error::BadLogWeight { index: 1, value: f64::INFINITY }));
        assert!(matches!(of_logs(&[f64::NAN]), Err(Error::BadLogWeight { index: 0, .. })));
        let short = RowWeights::Logs(&[0.0]).shares(2);
        assert_eq!(short, Err(Error::WeightCount { what: "rows", found: 1, expected: 2 }));
    }

    #[test]
    fn weights_are_shares_and_bad_ones_are_numbered() {
        let of = |weights: &[f64]| RowWeights::Weights(weights).shares(weights.len()).map(Option::unwrap);
        assert_eq!(of(&[f64::MAX, f64::MAX]).unwrap(), [0.5, 0.5]);
        assert_eq!(of(&[1.0, -1.0]), Err(Error::BadWeight { index: 1, value: -1.0 }));
        assert_eq!(of(&[0.0, 0.0]), Err(Error::ZeroWeights));
        assert_eq!(RowWeights::Equal.shares(3), Ok(None));
        assert!((effective_size(&[0.25; 4]) - 4.0).abs() < 1e-12);
    }
}
