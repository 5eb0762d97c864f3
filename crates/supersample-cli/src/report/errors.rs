//! Errors of a subset that are the largest of their kind.

use supersample::quality::ColumnErrors;

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
