//! Weights for what was chosen: the MMD that unequal weights can give it, beside that of equal ones.

use anyhow::Result;
use supersample::weights::{OptimalWeights, WeightRule, optimal};
use supersample::{Error, MeanEmbedding, Points};

use crate::compare::TypicalErrors;
use crate::numbers::{count, significant};

/// The kernel matrix of more points than this takes too much time and memory: T² numbers, T³/3 steps.
pub(crate) const MOST_WEIGHTED: usize = 5000;

/// The weights that were found, and what they are worth.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Weighing {
    /// The word of the flag.
    pub(crate) rule: &'static str,
    /// One for each point, in the order of choice; they sum to one.
    pub(crate) weights: Vec<f64>,
    /// The MMD with them.
    pub(crate) error: Option<f64>,
    /// The MMD of the same points with equal weights, and their other errors.
    pub(crate) equal_error: Option<f64>,
    pub(crate) equal_errors: TypicalErrors,
    /// What was added to the diagonal of the kernel matrix.
    pub(crate) jitter: f64,
    pub(crate) is_optimal: bool,
}

impl Weighing {
    pub(crate) fn zeros(&self) -> usize {
        self.weights.iter().filter(|weight| **weight == 0.0).count()
    }

    pub(crate) fn negatives(&self) -> usize {
        self.weights.iter().filter(|weight| **weight < 0.0).count()
    }

    /// `simplex weights (37 of 100 are 0)`.
    pub(crate) fn in_words(&self) -> String {
        let mut remarks = Vec::new();
        for (number, what) in [(self.zeros(), "0"), (self.negatives(), "negative")] {
            if number > 0 {
                remarks.push(format!("{} of {} are {what}", count(number), count(self.weights.len())));
            }
        }
        // The simplex always has a little, which says nothing of the points.
        if self.rule == "free" && self.jitter > 0.0 {
            remarks.push(format!("{} added to the diagonal of the kernel matrix", significant(self.jitter)));
        }
        let remarks = if remarks.is_empty() { String::new() } else { format!(" ({})", remarks.join("; ")) };
        format!("{} weights{remarks}", self.rule)
    }
}

/// The best weights on these points. `None` where there are none to be had: the warning says why, and the points are as
/// good with equal weights as they were. A run of hours should not end in an error over its last second.
pub(crate) fn weigh(
    mu: &dyn MeanEmbedding,
    points: &Points,
    rule: WeightRule,
    warnings: &mut Vec<String>,
) -> Result<Option<Weighing>> {
    if points.len() > MOST_WEIGHTED {
        warnings.push(format!(
            "weights are found for at most {} points, and {} were chosen; they have equal weights",
            count(MOST_WEIGHTED),
            count(points.len())
        ));
        return Ok(None);
    }
    let found = match optimal(mu, points, rule) {
        Err(error @ (Error::SingularKernelMatrix { .. } | Error::Overflow { .. })) => {
            warnings.push(format!("no weights were found, so they are equal: {error}"));
            return Ok(None);
        }
        found => found?,
    };
    let OptimalWeights { weights, error, equal_error, jitter, optimal, .. } = found;
    if !optimal {
        warnings
            .push("the best weights were not found to the last digit; these are the best met".to_string());
    }
    let rule = if rule == WeightRule::Simplex { "simplex" } else { "free" };
    let equal_errors = TypicalErrors::default();
    Ok(Some(Weighing { rule, weights, error, equal_error, equal_errors, jitter, is_optimal: optimal }))
}

#[cfg(test)]
mod tests {
    use supersample::{Empirical, Kernel};

    use super::*;

    #[test]
    fn weights_are_told_and_what_has_none_is_warned_of() {
        let draws = Points::from_vec((0..60).map(|i| (i as f64 * 0.618_034).fract()).collect(), 1).unwrap();
        let mu = Empirical::new(Kernel::gaussian(0.2).unwrap(), draws.clone()).unwrap();
        let some = draws.select(&(0..20).collect::<Vec<_>>()).unwrap();
        let mut warnings = Vec::new();
        for rule in [WeightRule::Simplex, WeightRule::SumToOne] {
            let found = weigh(&mu, &some, rule, &mut warnings).unwrap().unwrap();
            assert!(
                (found.weights.iter().sum::<f64>() - 1.0).abs() < 1e-9 && found.error < found.equal_error
            );
            assert!(found.in_words().starts_with(&format!("{} weights", found.rule)), "{}", found.in_words());
            assert_eq!(found.in_words().contains("negative"), found.negatives() > 0);
        }
        assert!(warnings.is_empty());
        // A kernel that is 0 everywhere has no weights.
        let zeros = Points::from_vec(vec![0.0; 9], 1).unwrap();
        let flat = Empirical::new(Kernel::linear(), zeros.clone()).unwrap();
        assert_eq!(weigh(&flat, &zeros, WeightRule::Simplex, &mut warnings).unwrap(), None);
        let many = Points::from_vec(vec![0.5; MOST_WEIGHTED + 1], 1).unwrap();
        assert_eq!(weigh(&mu, &many, WeightRule::Simplex, &mut warnings).unwrap(), None);
        assert_eq!(warnings.len(), 2);
        assert!(warnings[1].contains("at most 5,000 points, and 5,001 were chosen"), "{warnings:?}");
    }
}
