//! How far the chosen rows are off in what people read from draws: means, standard deviations and quantiles.

use rayon::prelude::*;

use crate::standardise::{column, standardised};

/// The quantiles compared.
const LEVELS: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

/// The largest errors over all parameters, in standard deviations of the full data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WorstErrors {
    pub(crate) mean: Worst,
    pub(crate) sd: Worst,
    pub(crate) quantile: Worst,
    /// The quantile that is worst, between 0 and 1.
    pub(crate) level: f64,
}

/// An error and the parameter that has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Worst {
    pub(crate) error: f64,
    pub(crate) parameter: usize,
}

/// Compares the chosen rows (each as often as it was chosen) with all rows of `values`, which are in row order.
///
/// Constant columns have no error; `None` where there are no others. Quantiles interpolate linearly between the two
/// nearest values, as R and NumPy do. Ties go to the first parameter and the lowest quantile.
pub(crate) fn worst_errors(values: &[f64], dim: usize, rows: &[usize]) -> Option<WorstErrors> {
    let of_parameter = |j: usize| {
        let errors = ColumnErrors::new(standardised(&column(values, dim, j))?, rows);
        let worst = |error| Worst { error, parameter: j };
        let (mean, sd, quantile) = (worst(errors.mean), worst(errors.sd), worst(errors.quantile));
        Some(WorstErrors { mean, sd, quantile, level: errors.level })
    };
    // Collected in order before they are compared, so that ties do not depend on the threads.
    let all: Vec<WorstErrors> = (0..dim).into_par_iter().filter_map(of_parameter).collect();
    all.into_iter().reduce(|worst, other| {
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

struct ColumnErrors {
    mean: f64,
    sd: f64,
    quantile: f64,
    level: f64,
}

impl ColumnErrors {
    /// The errors of one column that has mean 0 and standard deviation 1 over all rows.
    fn new(mut full: Vec<f64>, rows: &[usize]) -> ColumnErrors {
        let mut chosen: Vec<f64> = rows.iter().map(|&row| full[row]).collect();
        let count = chosen.len() as f64;
        let mean = chosen.iter().sum::<f64>() / count;
        let variance = chosen.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / count;
        let mut errors =
            ColumnErrors { mean: mean.abs(), sd: (variance.sqrt() - 1.0).abs(), quantile: -1.0, level: 0.0 };
        for level in LEVELS {
            let error = (quantile(&mut chosen, level) - quantile(&mut full, level)).abs();
            if error > errors.quantile {
                (errors.quantile, errors.level) = (error, level);
            }
        }
        errors
    }
}

/// A quantile by linear interpolation; shuffles the values, and costs one pass rather than a sort.
fn quantile(values: &mut [f64], level: f64) -> f64 {
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

    #[test]
    fn quantiles_are_those_of_numpy() {
        let values = [3.0, 1.0, 4.0, 1.0, 5.0];
        let of = |level| quantile(&mut values.to_vec(), level);
        assert_eq!((of(0.0), of(0.25), of(0.5), of(1.0)), (1.0, 1.0, 3.0, 5.0));
        assert!((of(0.95) - 4.8).abs() < 1e-12);
        assert_eq!(quantile(&mut [7.0], 0.95), 7.0);
    }

    #[test]
    fn all_rows_have_no_error_whatever_their_order() {
        let values = [0.3, 5.0, -1.0, 2.0, 7.0, 9.0, 0.0, 0.0];
        let worst = worst_errors(&values, 2, &[3, 1, 0, 2]).unwrap();
        for error in [worst.mean.error, worst.sd.error, worst.quantile.error] {
            assert!(error < 1e-15, "{worst:?}");
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
    fn repeats_count_and_constant_columns_do_not() {
        let values = [1.0, 5.0, 3.0, 5.0];
        let worst = worst_errors(&values, 2, &[0, 1, 1, 1]).unwrap();
        assert!((worst.mean.error - 0.5).abs() < 1e-15 && worst.mean.parameter == 0);
        assert_eq!(worst_errors(&[5.0, 5.0], 1, &[0]), None);
        assert_eq!(worst_errors(&[5.0], 1, &[0, 0]), None);
    }
}
