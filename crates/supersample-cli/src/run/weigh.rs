//! Weights that a result is given: those with the least MMD, beside equal ones.

use anyhow::Result;
use supersample::weights::{OptimalWeights, WeightRule, optimal};
use supersample::{Error, MeanEmbedding, Points};

use crate::plan::MOST_WEIGHTED;
use crate::report::{TypicalErrors, Weighing};
use crate::words::count;

/// The best weights on these points. `None` where there are none to be had: the warning says why, and the points are as
/// good with equal weights as they were. A run of hours should not end in an error over its last second.
pub(super) fn weigh(
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
    let equal_errors = TypicalErrors::default();
    Ok(Some(Weighing { rule, weights, error, equal_error, equal_errors, jitter, is_optimal: optimal }))
}

#[cfg(test)]
mod tests {
    use supersample::{Empirical, Kernel};

    use super::*;

    #[test]
    fn weights_lower_the_error_and_what_has_none_is_warned_of() {
        let draws = Points::from_vec((0..60).map(|i| (i as f64 * 0.618_034).fract()).collect(), 1).unwrap();
        let mu = Empirical::new(Kernel::gaussian(0.2).unwrap(), draws.clone()).unwrap();
        let some = draws.select(&(0..20).collect::<Vec<_>>()).unwrap();
        let mut warnings = Vec::new();
        for rule in [WeightRule::Simplex, WeightRule::SumToOne] {
            let found = weigh(&mu, &some, rule, &mut warnings).unwrap().unwrap();
            assert!(
                (found.weights.iter().sum::<f64>() - 1.0).abs() < 1e-9 && found.error < found.equal_error
            );
            assert!(found.rule == rule && found.weights.len() == 20);
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
