//! Errors of a subset by column: means, standard deviations, quantiles and correlations. All reported errors of this
//! kind come from here.

mod baselines;

use rayon::prelude::*;

pub use self::baselines::{every_kth, random_rows, systematic_rows};
use crate::columns::for_columns;
use crate::points::unit_weights;
use crate::quantile::{quantiles, quantiles_in_place};
use crate::scale::{Moments, correlations};
use crate::{Error, Points, Result};

/// The quantiles that are compared.
pub const QUANTILES: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

/// Largest number of columns for which correlations are compared: d²/2 pairs at n products each.
pub const MOST_CORRELATED: usize = 1000;

/// Number of pairs of columns kept with the largest errors of correlation.
pub const PAIRS_KEPT: usize = 6;

/// Errors of one column: subset minus data, in units of the data's standard deviation.
///
/// An error that is not defined is `None`: all of them for a constant column, and standard deviation and quantiles with
/// negative weights.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ColumnErrors {
    /// The error of the mean.
    pub mean: Option<f64>,
    /// The error of the standard deviation.
    pub sd: Option<f64>,
    /// The errors of the [`QUANTILES`].
    pub quantiles: [Option<f64>; 5],
}

/// Statistics of a column of the data, in its own units.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ColumnSummary {
    /// The mean.
    pub mean: f64,
    /// The standard deviation, without n − 1.
    pub sd: f64,
    /// The [`QUANTILES`].
    pub quantiles: [f64; 5],
}

/// Errors of a subset.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Quality {
    /// One for each column.
    pub columns: Vec<ColumnErrors>,
    /// The root mean square error of the correlations over all pairs of columns; `None` without a pair that has one,
    /// and beyond [`MOST_CORRELATED`] columns.
    pub correlation_rms: Option<f64>,
    /// The largest of these errors in size, and its pair of columns.
    pub correlation_worst: Option<(f64, usize, usize)>,
    /// The largest [`PAIRS_KEPT`] of these errors in size, each with its pair of columns, the largest first.
    pub correlation_largest: Vec<(f64, usize, usize)>,
}

impl Quality {
    /// The error of the mean that is largest in size, and its column.
    pub fn worst_mean(&self) -> Option<(f64, usize)> {
        worst(self.columns.iter().enumerate().map(|(column, errors)| (errors.mean, column)))
    }

    /// The error of the standard deviation that is largest in size, and its column.
    pub fn worst_sd(&self) -> Option<(f64, usize)> {
        worst(self.columns.iter().enumerate().map(|(column, errors)| (errors.sd, column)))
    }

    /// The error of a quantile that is largest in size, its column, and which of the [`QUANTILES`] it is.
    pub fn worst_quantile(&self) -> Option<(f64, usize, usize)> {
        let columns = self.columns.iter().enumerate();
        let all = columns.flat_map(|(column, errors)| {
            errors.quantiles.into_iter().enumerate().map(move |(which, error)| (error, (column, which)))
        });
        worst(all).map(|(error, (column, which))| (error, column, which))
    }

    /// The root mean square over the columns of the error of the mean.
    pub fn mean_rms(&self) -> Option<f64> {
        root_mean_square(self.columns.iter().filter_map(|errors| errors.mean))
    }

    /// The root mean square over the columns of the error of the standard deviation.
    pub fn sd_rms(&self) -> Option<f64> {
        root_mean_square(self.columns.iter().filter_map(|errors| errors.sd))
    }

    /// The root mean square of the errors of all quantiles of all columns.
    pub fn quantile_rms(&self) -> Option<f64> {
        root_mean_square(self.columns.iter().flat_map(|errors| errors.quantiles.into_iter().flatten()))
    }
}

/// Returns the errors of `subset` against `data`, each with weights (divided by their sum) or with equal ones. The
/// subset's weights may be negative; the data's may not.
///
/// A quantile is interpolated between the middles of the steps of the distribution function, of which every row is one:
/// inside the steps of equal rows it is their value. A row of weight 2 counts as two rows. The standard deviation is that of the weighted rows as they are, without n − 1.
///
/// ```
/// use supersample::{Points, quality::quality};
/// let data = Points::from_rows(&[0.0, 1.0, 2.0, 3.0, 4.0], 1)?;
/// let subset = Points::from_rows(&[0.0, 2.0, 3.0], 1)?;
/// let errors = quality(&data, None, &subset, None)?;
/// assert!((errors.columns[0].mean.unwrap() - (5.0 / 3.0 - 2.0) / 2f64.sqrt()).abs() < 1e-15);
/// assert_eq!(errors.columns[0].quantiles[2], Some(0.0)); // both medians are 2
/// # Ok::<(), supersample::Error>(())
/// ```
pub fn quality(
    data: &Points,
    data_weights: Option<&[f64]>,
    subset: &Points,
    subset_weights: Option<&[f64]>,
) -> Result<Quality> {
    subset.expect_dim("the subset", "the data", data.dim())?;
    Reference::new(data.as_slice(), data.dim(), data_weights)?.quality(subset.as_slice(), subset_weights)
}

/// Statistics of the data, computed once, with which many subsets are compared.
///
/// ```
/// use supersample::quality::Reference;
/// let reference = Reference::new(&[0.0, 1.0, 2.0, 3.0, 4.0], 1, None)?;
/// let (all, some) = (reference.quality(&[4.0, 3.0, 2.0, 1.0, 0.0], None)?, reference.quality(&[1.0, 2.0], None)?);
/// assert!(all.worst_sd().unwrap().0.abs() < 1e-15 && some.worst_sd().unwrap().0 < -0.5);
/// assert_eq!(reference.column(0).unwrap().quantiles[2], 2.0); // the median of the data
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Reference {
    /// `None` for constant columns.
    columns: Vec<Option<Column>>,
    /// Below the diagonal, row by row; `None` if there are too many columns.
    correlations: Option<Vec<Vec<f64>>>,
}

#[derive(Clone, Copy, Debug)]
struct Column {
    moments: Moments,
    quantiles: [f64; 5],
}

impl Reference {
    /// Computes the statistics of rows of `dim` numbers, in row order, with given or equal weights.
    pub fn new(values: &[f64], dim: usize, weights: Option<&[f64]>) -> Result<Reference> {
        Points::check(values, dim)?;
        Reference::of_checked(values, dim, weights, None)
    }

    /// The statistics of rows whose means and standard deviations are known.
    pub(crate) fn of_rows(
        rows: &Points,
        weights: Option<&[f64]>,
        moments: Option<&[Option<Moments>]>,
    ) -> Result<Reference> {
        Reference::of_checked(rows.as_slice(), rows.dim(), weights, moments)
    }

    fn of_checked(
        values: &[f64],
        dim: usize,
        weights: Option<&[f64]>,
        known: Option<&[Option<Moments>]>,
    ) -> Result<Reference> {
        let shares = unit_weights(weights, "rows of the data", values.len() / dim)?;
        let shares = shares.as_deref();
        if let Some(index) = shares.and_then(|shares| shares.iter().position(|w| *w < 0.0)) {
            return Err(Error::BadWeight { index, value: weights.map_or(0.0, |weights| weights[index]) });
        }
        let columns: Vec<Option<Column>> = for_columns(
            values,
            dim,
            |x| x,
            |index, column| {
                let moments =
                    known.map_or_else(|| Moments::of(column, 1, 0, shares), |known| known[index])?;
                Some(Column { moments, quantiles: quantiles_in_place(column, shares, QUANTILES)? })
            },
        );
        let moments: Vec<Option<Moments>> =
            columns.iter().map(|column| column.map(|column| column.moments)).collect();
        let correlations = (dim <= MOST_CORRELATED).then(|| correlations(values, &moments, shares));
        Ok(Reference { columns, correlations })
    }

    /// Sets better means and standard deviations, if these rows are a sample of more; quantiles and correlations stay
    /// those of the rows. `first` is a row of the sample, which has the quantiles of columns that vary only elsewhere.
    pub(crate) fn with_moments(mut self, moments: &[Option<Moments>], first: &[f64]) -> Reference {
        for (j, ((column, known), value)) in self.columns.iter_mut().zip(moments).zip(first).enumerate() {
            if let Some(known) = known {
                if column.is_none() {
                    // The sample does not say how it varies with others.
                    let pairs = self.correlations.iter_mut().flatten().enumerate();
                    pairs.for_each(|(a, row)| {
                        row.iter_mut()
                            .enumerate()
                            .filter(|&(b, _)| a == j || b == j)
                            .for_each(|(_, one)| *one = f64::NAN);
                    });
                }
                let quantiles = column.map_or([*value; 5], |column| column.quantiles);
                *column = Some(Column { moments: *known, quantiles });
            }
        }
        self
    }

    /// Statistics of a column; `None` for a constant one.
    pub fn column(&self, column: usize) -> Option<ColumnSummary> {
        let Column { moments: Moments { mean, sd }, quantiles } = self.columns[column]?;
        Some(ColumnSummary { mean, sd, quantiles })
    }

    /// Returns the errors of a subset: rows with the data's columns, with given or equal weights.
    pub fn quality(&self, values: &[f64], weights: Option<&[f64]>) -> Result<Quality> {
        let dim = self.columns.len();
        Points::check(values, dim)?;
        let shares = unit_weights(weights, "rows of the subset", values.len() / dim)?;
        let shares = shares.as_deref();
        let is_signed = shares.is_some_and(|shares| shares.iter().any(|w| *w < 0.0));
        let own: Vec<Option<Moments>> = match is_signed {
            // Variances may be negative with negative weights.
            true => vec![None; dim],
            false => (0..dim).into_par_iter().map(|j| Moments::of(values, dim, j, shares)).collect(),
        };
        let of_column = |j: usize| -> ColumnErrors {
            let Some(Column { moments: Moments { mean, sd }, quantiles: given }) = self.columns[j] else {
                return ColumnErrors { mean: None, sd: None, quantiles: [None; 5] };
            };
            let known = |error: f64| Some(error).filter(|error| error.is_finite());
            // Halved first, so that the difference of two huge numbers of opposite sign stays finite.
            let in_units = |value: f64, from: f64| (value * 0.5 - from * 0.5) / sd * 2.0;
            if is_signed {
                let rows = values.iter().skip(j).step_by(dim).zip(shares.unwrap_or_default());
                let mean = rows.map(|(value, share)| share * in_units(*value, mean)).sum();
                return ColumnErrors { mean: known(mean), sd: None, quantiles: [None; 5] };
            }
            let quantiles = column_quantiles(values, dim, j, shares);
            let own = own[j].unwrap_or_else(|| {
                // All rows with weight are equal, and so are their quantiles.
                Moments { mean: quantiles.map_or(f64::NAN, |quantiles| quantiles[0]), sd: 0.0 }
            });
            ColumnErrors {
                mean: known(in_units(own.mean, mean)),
                sd: known((own.sd - sd) / sd),
                quantiles: std::array::from_fn(|q| known(in_units(quantiles?[q], given[q]))),
            }
        };
        let columns = (0..dim).into_par_iter().map(of_column).collect();
        let pairs = self.correlation_errors(values, &own, shares);
        let correlation_largest = largest(pairs.iter().filter_map(|&(error, (a, b))| Some((error?, a, b))));
        Ok(Quality {
            columns,
            correlation_largest,
            correlation_rms: root_mean_square(pairs.iter().filter_map(|pair| pair.0)),
            correlation_worst: worst(pairs.into_iter()).map(|(error, (a, b))| (error, a, b)),
        })
    }

    /// Error of each correlation that is defined for both, with its columns.
    fn correlation_errors(
        &self,
        values: &[f64],
        own: &[Option<Moments>],
        shares: Option<&[f64]>,
    ) -> Vec<(Option<f64>, (usize, usize))> {
        let Some(given) = &self.correlations else { return Vec::new() };
        let mut pairs = Vec::new();
        let is_known = |j: usize| own[j].is_some() && self.columns[j].is_some();
        let found = correlations(values, own, shares);
        for a in (0..own.len()).filter(|&a| is_known(a)) {
            for b in (0..a).filter(|&b| is_known(b)) {
                let error = found[a][b] - given[a][b];
                pairs.push((Some(error).filter(|error| error.is_finite()), (b, a)));
            }
        }
        pairs
    }
}

/// Quantiles of a column; `None` if no row has weight. Shares are not negative.
fn column_quantiles(values: &[f64], dim: usize, j: usize, shares: Option<&[f64]>) -> Option<[f64; 5]> {
    quantiles(values.iter().skip(j).step_by(dim).copied(), shares, QUANTILES)
}

fn worst<T>(errors: impl Iterator<Item = (Option<f64>, T)>) -> Option<(f64, T)> {
    let known = errors.filter_map(|(error, place)| Some((error?, place)));
    known.reduce(|a, b| if b.0.abs() > a.0.abs() { b } else { a })
}

/// The errors that are largest in size, the first of equals before the others.
fn largest(errors: impl Iterator<Item = (f64, usize, usize)>) -> Vec<(f64, usize, usize)> {
    let mut kept: Vec<(f64, usize, usize)> = Vec::with_capacity(PAIRS_KEPT + 1);
    for error in errors {
        let place = kept.partition_point(|other| other.0.abs() >= error.0.abs());
        if place < PAIRS_KEPT {
            kept.insert(place, error);
            kept.truncate(PAIRS_KEPT);
        }
    }
    kept
}

fn root_mean_square(errors: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = errors.fold((0.0, 0), |(sum, count), error| (sum + error * error, count + 1));
    (count > 0).then(|| (sum / f64::from(count)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pairs_that_are_off_most_are_kept_in_order() {
        let value = |i: usize, j: usize| ((i * (j + 3)) as f64 * 0.7 + (j * j) as f64).sin();
        let rows = |rows: std::ops::Range<usize>| -> Vec<f64> {
            rows.flat_map(|i| (0..6).map(move |j| value(i, j))).collect()
        };
        let quality = Reference::new(&rows(0..300), 6, None).unwrap().quality(&rows(5..25), None).unwrap();
        let kept = &quality.correlation_largest;
        assert_eq!((kept.len(), Some(kept[0])), (PAIRS_KEPT, quality.correlation_worst));
        assert!(kept.windows(2).all(|pair| pair[0].0.abs() >= pair[1].0.abs()), "{kept:?}");
        // None of the fifteen pairs is larger than the last that was kept and yet missing.
        let square = quality.correlation_rms.unwrap().powi(2) * 15.0;
        let of_kept: f64 = kept.iter().map(|pair| pair.0 * pair.0).sum();
        assert!((square - of_kept) / 9.0 <= kept[5].0 * kept[5].0, "{kept:?}");
        let two = Reference::new(&rows(0..300)[..600], 2, None).unwrap().quality(&[0.0, 1.0, 2.0, 0.5], None);
        assert_eq!(two.unwrap().correlation_largest.len(), 1);
    }
}
