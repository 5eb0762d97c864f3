//! Published numbers, and what chosen rows have.

use super::{Fitted, Number, Published};
use crate::points::unit_weights;
use crate::quantile::quantiles;
use crate::scale::{Moments, correlations};
use crate::{Points, Result};

/// A published number, and the same number of chosen rows.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reached {
    /// What was published.
    pub published: Published,
    /// The number over all rows to choose from, with their own weights.
    pub pool: f64,
    /// The number over the chosen rows, with their weights.
    pub reached: f64,
    /// The unit of its error: the standard deviation of the column over the target, and 1 for shares and correlations.
    pub unit: f64,
    /// The error in sampling errors of the publication; `None` where the number of its rows is not known.
    pub standard_errors: Option<f64>,
}

impl Reached {
    /// The error, in units.
    pub fn error(&self) -> f64 {
        (self.reached - self.published.value) / self.unit
    }
}

impl Fitted {
    /// What these rows have of the published numbers.
    pub(in crate::task) fn reached(&self, rows: &Points, weights: Option<&[f64]>) -> Result<Vec<Reached>> {
        let equal = vec![1.0 / rows.len() as f64; rows.len()];
        let shares = unit_weights(weights, "rows of the subset", rows.len())?.unwrap_or(equal);
        let of_number = |(place, known): (usize, &Published)| {
            let own = self.functions.iter().zip(&self.units).find(|(function, _)| function.place == place);
            let standard_errors = own.zip(known.n).map(|((function, unit), n)| {
                let mean: f64 = rows.rows().zip(&shares).map(|(row, share)| share * function.at(row)).sum();
                mean / unit * n.sqrt()
            });
            let unit = match known.number {
                Number::Mean(column) | Number::Sd(column) | Number::Quantile(column, _) => self.sds[column],
                Number::Share(..) | Number::Correlation(..) => 1.0,
            };
            Reached {
                published: *known,
                pool: self.pool[place],
                reached: of(known.number, rows, &shares),
                unit: if unit > 0.0 { unit } else { 1.0 },
                standard_errors,
            }
        };
        Ok(self.summary.numbers.iter().enumerate().map(of_number).collect())
    }
}

/// A number of weighted rows. A column that is constant has the sd 0, and its correlations are 0.
pub(super) fn of(number: Number, rows: &Points, shares: &[f64]) -> f64 {
    let dim = rows.dim();
    let moments = |column: usize| Moments::of(rows.as_slice(), dim, column, Some(shares));
    let column = |column: usize| rows.rows().map(move |row| row[column]);
    match number {
        Number::Mean(j) => moments(j).map_or_else(|| constant(rows, shares, j), |moments| moments.mean),
        Number::Sd(j) => moments(j).map_or(0.0, |moments| moments.sd),
        Number::Quantile(j, level) => {
            quantiles(column(j), Some(shares), [level]).map_or(f64::NAN, |[found]| found)
        }
        Number::Share(j, value) => {
            column(j).zip(shares).filter(|(x, _)| *x == value).map(|(_, share)| share).sum()
        }
        Number::Correlation(a, b) => {
            let pairs: Vec<f64> = rows.rows().flat_map(|row| [row[a], row[b]]).collect();
            match correlations(&pairs, &[moments(a), moments(b)], Some(shares))
                .last()
                .and_then(|row| row.first())
            {
                Some(found) if found.is_finite() => *found,
                _ => 0.0,
            }
        }
    }
}

/// The value of a column that is constant on the rows with weight.
fn constant(rows: &Points, shares: &[f64], column: usize) -> f64 {
    let first = (0..rows.len()).find(|&row| shares[row] > 0.0).unwrap_or(0);
    rows.row(first)[column]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_copies() {
        // The second row twice.
        let rows = Points::from_rows(&[1.0, 4.0, 2.0, 4.0, 5.0, 1.0], 2).unwrap();
        let copies = Points::from_rows(&[1.0, 4.0, 2.0, 4.0, 2.0, 4.0, 5.0, 1.0], 2).unwrap();
        let all = [
            (Number::Mean(0), 2.5),
            (Number::Sd(0), 2.25f64.sqrt()),
            (Number::Quantile(0, 0.5), 2.0),
            (Number::Share(1, 4.0), 0.75),
            (Number::Share(1, 9.0), 0.0),
        ];
        for (number, expected) in all {
            for (rows, shares) in [(&rows, vec![0.25, 0.5, 0.25]), (&copies, vec![0.25; 4])] {
                assert!((of(number, rows, &shares) - expected).abs() < 1e-12, "{number:?}");
            }
        }
        let naive = |shares: &[f64]| {
            let mean =
                |f: &dyn Fn(&[f64]) -> f64| rows.rows().zip(shares).map(|(row, w)| w * f(row)).sum::<f64>();
            let (a, b) = (mean(&|row| row[0]), mean(&|row| row[1]));
            let (sa, sb) =
                (mean(&|row| (row[0] - a).powi(2)).sqrt(), mean(&|row| (row[1] - b).powi(2)).sqrt());
            mean(&|row| (row[0] - a) * (row[1] - b)) / (sa * sb)
        };
        let shares = [0.2, 0.5, 0.3];
        assert!((of(Number::Correlation(0, 1), &rows, &shares) - naive(&shares)).abs() < 1e-12);
        assert!((of(Number::Correlation(1, 0), &rows, &shares) - naive(&shares)).abs() < 1e-12);
        let one = Points::from_rows(&[3.0, 1.0], 2).unwrap();
        assert_eq!(of(Number::Mean(0), &one, &[1.0]), 3.0);
        assert_eq!(of(Number::Sd(0), &one, &[1.0]), 0.0);
        assert_eq!(of(Number::Correlation(0, 1), &one, &[1.0]), 0.0);
    }
}
