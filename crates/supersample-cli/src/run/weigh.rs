//! Weights that a result is given: those with the least MMD, beside equal ones.

use anyhow::Result;
use supersample::task::{TypicalErrors, Weighed};
use supersample::weights::{OptimalWeights, WeightRule};
use supersample::{Error, Watch};

use super::advice;
use crate::report::Weighing;
use crate::terminal::interrupt;
use crate::terminal::progress::Progress;

/// The best weights, which `find` finds; `None` where there are none to be had, or a Ctrl-C came first, and then the warning
/// says why.
pub(super) fn weigh(
    find: impl FnOnce(Watch<'_>) -> supersample::Result<Weighed>,
    quiet: bool,
    warnings: &mut Vec<String>,
) -> Result<Found> {
    let _progress = Progress::phase(quiet, "finding the weights");
    match find(&|_| interrupt::asked_to_end()) {
        Err(Error::Interrupted) => {
            warnings.push("interrupted before the weights were found, so they are equal".to_string());
            Ok(Found { weights: None, is_interrupted: true })
        }
        found => {
            let Weighed { weights, advice, .. } = found?;
            warnings.extend(advice.and_then(|advice| advice::in_words(&advice, &[])));
            Ok(Found { weights, is_interrupted: false })
        }
    }
}

/// What came of the search for weights.
pub(super) struct Found {
    pub(super) weights: Option<OptimalWeights>,
    /// Whether a Ctrl-C has ended it.
    pub(super) is_interrupted: bool,
}

/// What the report says of weights that were found; `equal_errors` are those of equal ones.
pub(super) fn weighing(rule: WeightRule, found: &OptimalWeights, equal_errors: TypicalErrors) -> Weighing {
    let OptimalWeights { weights, error, equal_error, jitter, optimal, .. } = found.clone();
    Weighing { rule, weights, error, equal_error, equal_errors, jitter, is_optimal: optimal }
}
