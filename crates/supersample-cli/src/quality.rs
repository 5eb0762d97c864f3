//! How far a subset is off in what people read from draws: means, standard deviations and quantiles.

use rayon::prelude::*;

use supersample::scale::Moments;

/// The quantiles compared.
pub(crate) const LEVELS: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

/// Rows of numbers, each with its share where they are not equal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows<'a> {
    pub(crate) values: &'a [f64],
    pub(crate) dim: usize,
    pub(crate) shares: Option<&'a [f64]>,
}

impl Rows<'_> {
    pub(crate) fn len(&self) -> usize {
        self.values.len() / self.dim
    }

    /// Column `j`.
    pub(crate) fn column(&self, j: usize) -> Vec<f64> {
        self.values.iter().skip(j).step_by(self.dim).copied().collect()
    }

    pub(crate) fn share(&self, row: usize) -> f64 {
        self.shares.map_or(1.0 / self.len() as f64, |shares| shares[row])
    }
}

/// The errors of one parameter, in standard deviations of the full data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ParameterErrors {
    pub(crate) mean: f64,
    pub(crate) sd: f64,
    pub(crate) quantile: f64,
    /// The quantile that is worst, between 0 and 1.
    pub(crate) level: f64,
}

impl ParameterErrors {
    /// The worst of them, by which parameters are ranked.
    pub(crate) fn largest(&self) -> f64 {
        self.mean.max(self.sd).max(self.quantile)
    }
}

/// The largest errors over all parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WorstErrors {
    pub(crate) mean: Worst,
    pub(crate) sd: Worst,
    pub(crate) quantile: Worst,
    pub(crate) level: f64,
}

/// An error and the parameter that has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Worst {
    pub(crate) error: f64,
    pub(crate) parameter: usize,
}

/// Compares a subset with all rows, parameter by parameter; `None` for parameters that are constant.
///
/// Quantiles of equal weights interpolate linearly between the two nearest values, as R and NumPy do; weighted ones are
/// the smallest value that has the level's share at or below it.
pub(crate) fn parameter_errors(full: Rows<'_>, subset: Rows<'_>) -> Vec<Option<ParameterErrors>> {
    let of_parameter = |j: usize| {
        let Moments { mean, sd } = Moments::of(full.values, full.dim, j, full.shares)?;
        let standardised = |rows: Rows<'_>| -> Vec<f64> {
            rows.column(j).iter().map(|value| (value * 0.5 - mean * 0.5) / sd * 2.0).collect()
        };
        let (mut all, mut chosen) = (standardised(full), standardised(subset));
        let own_mean: f64 = chosen.iter().enumerate().map(|(i, value)| value * subset.share(i)).sum();
        let square = |(i, value): (usize, &f64)| (value - own_mean).powi(2) * subset.share(i);
        let own_sd = chosen.iter().enumerate().map(square).sum::<f64>().max(0.0).sqrt();
        let mut errors =
            ParameterErrors { mean: own_mean.abs(), sd: (own_sd - 1.0).abs(), quantile: -1.0, level: 0.0 };
        for level in LEVELS {
            let error =
                (quantile(&mut chosen, subset.shares, level) - quantile(&mut all, full.shares, level)).abs();
            if error > errors.quantile {
                (errors.quantile, errors.level) = (error, level);
            }
        }
        Some(errors)
    };
    (0..full.dim).into_par_iter().map(of_parameter).collect()
}

/// The largest of them all; `None` where every parameter is constant. Ties go to the first parameter.
pub(crate) fn worst(errors: &[Option<ParameterErrors>]) -> Option<WorstErrors> {
    let known = errors.iter().enumerate().filter_map(|(parameter, errors)| Some((parameter, (*errors)?)));
    let each = known.map(|(parameter, errors)| {
        let worst = |error| Worst { error, parameter };
        let (mean, sd, quantile) = (worst(errors.mean), worst(errors.sd), worst(errors.quantile));
        WorstErrors { mean, sd, quantile, level: errors.level }
    });
    each.reduce(|worst, other| {
        let larger = |a: Worst, b: Worst| if b.error > a.error { b } else { a };
        let level = if other.quantile.error > worst.quantile.error { other.level } else { worst.level };
        WorstErrors {
            mean: larger(worst.mean, other.mean),
            sd: larger(worst.sd, other.sd),
            quantile: larger(worst.quantile, other.quantile),
            level,
        }
    })
}

/// A quantile; may shuffle values that have no weights.
fn quantile(values: &mut [f64], shares: Option<&[f64]>, level: f64) -> f64 {
    if let Some(shares) = shares {
        let mut order: Vec<usize> = (0..values.len()).filter(|&i| shares[i] > 0.0).collect();
        order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
        let total: f64 = shares.iter().sum();
        let mut below = 0.0;
        for &i in &order {
            below += shares[i];
            if below >= level * total {
                return values[i];
            }
        }
        return order.last().map_or(f64::NAN, |&i| values[i]);
    }
    let position = level * (values.len() - 1) as f64;
    let below = position.floor();
    let (_, &mut lower, above) = values.select_nth_unstable_by(below as usize, f64::total_cmp);
    match above.iter().copied().min_by(f64::total_cmp) {
        Some(upper) => lower + (position - below) * (upper - lower),
        None => lower,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worst_errors(values: &[f64], dim: usize, rows: &[usize]) -> Option<WorstErrors> {
        let subset: Vec<f64> =
            rows.iter().flat_map(|&row| values[row * dim..(row + 1) * dim].to_vec()).collect();
        let errors =
            parameter_errors(Rows { values, dim, shares: None }, Rows { values: &subset, dim, shares: None });
        worst(&errors)
    }

    #[test]
    fn quantiles_are_those_of_numpy() {
        let values = [3.0, 1.0, 4.0, 1.0, 5.0];
        let of = |level| quantile(&mut values.to_vec(), None, level);
        assert_eq!((of(0.0), of(0.25), of(0.5), of(1.0)), (1.0, 1.0, 3.0, 5.0));
        assert!((of(0.95) - 4.8).abs() < 1e-12);
        assert_eq!(quantile(&mut [7.0], None, 0.95), 7.0);
        let weighted = |level| quantile(&mut [3.0, 1.0, 9.0], Some(&[0.5, 0.5, 0.0]), level);
        assert_eq!((weighted(0.25), weighted(0.75), weighted(0.95)), (1.0, 3.0, 3.0));
    }

    #[test]
    fn all_rows_have_no_error_whatever_their_order() {
        let values = [0.3, 5.0, -1.0, 2.0, 7.0, 9.0, 0.0, 0.0];
        let worst = worst_errors(&values, 2, &[3, 1, 0, 2]).unwrap();
        for error in [worst.mean.error, worst.sd.error, worst.quantile.error] {
            assert!(error < 1e-14, "{worst:?}");
        }
    }

    #[test]
    fn the_worst_parameter_is_named() {
        // Column 0 is ±1 about 10, column 1 ±3: both have chosen rows at their mean sign of +1 sd.
        let values = [9.0, -3.0, 11.0, 3.0, 9.0, 3.0, 11.0, -3.0];
        let worst = worst_errors(&values, 2, &[1, 3]).unwrap();
        assert_eq!(worst.mean, Worst { error: 1.0, parameter: 0 });
        assert_eq!(worst.sd, Worst { error: 1.0, parameter: 0 });
        // The chosen 11s are 2 sds above the lower half of column 0; of column 1 both signs are chosen.
        assert_eq!(worst.quantile, Worst { error: 2.0, parameter: 0 });
        assert_eq!(worst.level, 0.05);
    }

    #[test]
    fn repeats_and_weights_count_and_constant_columns_do_not() {
        let values = [1.0, 5.0, 3.0, 5.0];
        let repeated = worst_errors(&values, 2, &[0, 1, 1, 1]).unwrap();
        assert!((repeated.mean.error - 0.5).abs() < 1e-15 && repeated.mean.parameter == 0);
        let full = Rows { values: &values, dim: 2, shares: None };
        let weighted = worst(&parameter_errors(full, Rows { shares: Some(&[0.25, 0.75]), ..full })).unwrap();
        assert!((weighted.mean.error - 0.5).abs() < 1e-15, "{weighted:?}");
        assert_eq!(worst_errors(&[5.0, 5.0], 1, &[0]), None);
        assert_eq!(worst_errors(&[5.0], 1, &[0, 0]), None);
    }
}
