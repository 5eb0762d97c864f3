//! Weights that a result is given: those with the least MMD, beside equal ones.

use anyhow::Result;
use supersample::task::{TypicalErrors, Weighed, weigh as weigh_points};
use supersample::weights::{OptimalWeights, WeightRule};
use supersample::{MeanEmbedding, Points};

use super::advice;
use crate::report::Weighing;

/// The best weights on these points; `None` where there are none to be had, and then the warning says why.
pub(super) fn weigh(
    mu: &dyn MeanEmbedding,
    points: &Points,
    rule: WeightRule,
    warnings: &mut Vec<String>,
) -> Result<Option<OptimalWeights>> {
    let Weighed { weights, advice, .. } = weigh_points(mu, points, rule)?;
    warnings.extend(advice.and_then(|advice| advice::in_words(&advice, &[])));
    Ok(weights)
}

/// What the report says of weights that were found; `equal_errors` are those of equal ones.
pub(super) fn weighing(rule: WeightRule, found: &OptimalWeights, equal_errors: TypicalErrors) -> Weighing {
    let OptimalWeights { weights, error, equal_error, jitter, optimal, .. } = found.clone();
    Weighing { rule, weights, error, equal_error, equal_errors, jitter, is_optimal: optimal }
}
