//! Errors of subsets beside the MMD, and of the subsets that a result is held against.

use supersample::quality::{ColumnErrors, Quality};

/// Errors in what people read from draws, each the root mean square over the parameters (or their pairs), in standard
/// deviations of all rows; `None` where there are none to compare.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TypicalErrors {
    pub(crate) mean: Option<f64>,
    pub(crate) sd: Option<f64>,
    pub(crate) quantile: Option<f64>,
    pub(crate) correlation: Option<f64>,
}

impl TypicalErrors {
    pub(crate) fn of(quality: &Quality) -> TypicalErrors {
        TypicalErrors {
            mean: quality.mean_rms(),
            sd: quality.sd_rms(),
            quantile: quality.quantile_rms(),
            correlation: quality.correlation_rms,
        }
    }
}

/// The errors of other subsets of the same size.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comparison {
    /// Mean and standard deviation of the MMD of random rows: drawn without replacement, or by their weights.
    pub(crate) random_mean: f64,
    pub(crate) random_sd: f64,
    pub(crate) random_draws: usize,
    /// The means of their other errors.
    pub(crate) random_errors: TypicalErrors,
    /// The MMD of rows spread evenly over the file, or over the sum of the weights, and their other errors.
    pub(crate) spaced: f64,
    pub(crate) spaced_errors: TypicalErrors,
}

/// An error that is the largest of its kind, and whose it is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Worst<'a> {
    /// Subset minus all rows.
    pub(crate) error: f64,
    /// One parameter, or the two of a correlation.
    pub(crate) parameters: Vec<&'a str>,
    /// Of a quantile.
    pub(crate) level: Option<f64>,
}

/// The largest error of a parameter, by which parameters are ranked; `None` for a constant one.
pub(super) fn largest(errors: &ColumnErrors) -> Option<f64> {
    let all = errors.quantiles.into_iter().chain([errors.mean, errors.sd]).flatten();
    all.map(f64::abs).reduce(f64::max)
}
