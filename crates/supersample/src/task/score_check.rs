//! Whether scores can be those of the rows: over draws of a density the mean of (xⱼ − m)·gⱼ is −1 in every column.

use super::Advice;
use crate::scale::Moments;
use crate::{Error, Points, Result};

/// Fewer rows say nothing of their scores.
const FEWEST: usize = 20;
/// Stretches of rows whose sums say how far the mean may be off, since neighbours in a chain are alike.
const STRETCHES: usize = 25;
/// The mean is not −1 by chance where it is off by this number of standard errors.
const SURE: f64 = 6.0;
/// Below this the mean is refused whatever its standard error: draws that are that far out are not of the density.
const FAR: f64 = -20.0;
/// Means within these give a warning; others are refused.
const BELIEVED: std::ops::RangeInclusive<f64> = -2.0..=-0.5;
/// Means within these are accepted.
const UNTOLD: std::ops::RangeInclusive<f64> = -1.15..=-0.85;
/// Above this, scores point away from the rows.
const AWAY: f64 = 0.5;

/// What is wrong with the scores of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ScoreFault {
    /// All of them are zero.
    Zero,
    /// They have the other sign.
    Sign,
    /// They are those of this column.
    OtherColumn(usize),
    /// They have nothing to do with the rows, in this column or in all of them.
    Unrelated {
        /// Whether that is so in every column, as with rows in another order.
        everywhere: bool,
    },
    /// They are of another scale, or the rows are.
    Scale,
}

/// Refuses scores that are not those of the rows; tells of columns where they may not be.
pub(super) fn check(rows: &Points, scores: &Points, shares: Option<&[f64]>) -> Result<Vec<Advice>> {
    if rows.len() < FEWEST {
        return Ok(Vec::new());
    }
    let moments: Vec<Option<Moments>> =
        (0..rows.dim()).map(|j| Moments::of(rows.as_slice(), rows.dim(), j, shares)).collect();
    let product =
        |i: usize, j: usize| moments[i].map(|of| mean_product(rows, scores, shares, (i, of.mean), j));
    let found: Vec<Option<(f64, f64)>> = (0..rows.dim()).map(|j| product(j, j)).collect();
    let is_off = |(mean, error): (f64, f64)| (mean + 1.0).abs() > SURE * error;
    // Written so that what is not finite is wrong too.
    let is_wrong = |found: (f64, f64)| {
        !(found.0 >= FAR && found.0.is_finite()) || (is_off(found) && !BELIEVED.contains(&found.0))
    };
    let wrong: Vec<(usize, (f64, f64))> = found
        .iter()
        .enumerate()
        .filter_map(|(j, found)| Some((j, (*found)?)))
        .filter(|(_, f)| is_wrong(*f))
        .collect();
    if let Some(&(column, (mean, _))) = wrong.first() {
        let is_zero = scores.rows().all(|row| row[column] == 0.0);
        let is_like =
            |i: &usize| *i != column && product(*i, column).is_some_and(|(mean, _)| BELIEVED.contains(&mean));
        let fault = if is_zero {
            ScoreFault::Zero
        } else if let Some(other) = (0..rows.dim()).find(is_like) {
            ScoreFault::OtherColumn(other)
        } else if mean > AWAY {
            ScoreFault::Sign
        } else if mean > *BELIEVED.end() && mean.abs() < *BELIEVED.end() * -0.5 {
            ScoreFault::Unrelated { everywhere: wrong.len() == found.iter().flatten().count() }
        } else {
            ScoreFault::Scale
        };
        return Err(Error::WrongScores { column, mean, fault });
    }
    let doubtful = |(j, found): (usize, &Option<(f64, f64)>)| {
        let (mean, error) = (*found)?;
        (is_off((mean, error)) && !UNTOLD.contains(&mean)).then_some((j, mean))
    };
    let doubts: Vec<(usize, f64)> = found.iter().enumerate().filter_map(doubtful).collect();
    Ok(
        match doubts
            .iter()
            .map(|(_, mean)| *mean)
            .reduce(|a, b| if (a + 1.0).abs() > (b + 1.0).abs() { a } else { b })
        {
            Some(mean) => {
                vec![Advice::ScoresDoubtful { columns: doubts.iter().map(|(j, _)| *j).collect(), mean }]
            }
            None => Vec::new(),
        },
    )
}

/// The mean of (x − centre)·g, x of one column and g of another, and its standard error from the sums over stretches of rows.
fn mean_product(
    rows: &Points,
    scores: &Points,
    shares: Option<&[f64]>,
    (column, centre): (usize, f64),
    score_column: usize,
) -> (f64, f64) {
    let count = rows.len();
    let share = |i: usize| shares.map_or(1.0 / count as f64, |shares| shares[i]);
    let stretches: Vec<(f64, f64)> = (0..STRETCHES)
        .map(|k| {
            let here = k * count / STRETCHES..(k + 1) * count / STRETCHES;
            let product = |i: usize| (rows.row(i)[column] - centre) * scores.row(i)[score_column] * share(i);
            (here.clone().map(product).sum(), here.map(share).sum())
        })
        .collect();
    let mean: f64 = stretches.iter().map(|(sum, _)| sum).sum();
    let square: f64 = stretches.iter().map(|(sum, weight)| (sum - weight * mean).powi(2)).sum();
    (mean, square.sqrt())
}
