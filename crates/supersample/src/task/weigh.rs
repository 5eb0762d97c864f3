//! Optimal weights for chosen points, or the reason why they stay equal.

use super::{Advice, Chosen, Ended, Target};
use crate::weights::{OptimalWeights, WeightRule, optimal, optimal_of_rows};
use crate::{Error, MeanEmbedding, Points, Result, Watch};

/// Largest number of points with optimal weights; more take too much time and memory (T² numbers, T³/3 steps).
pub const MOST_WEIGHTED: usize = 5000;

/// Optimal weights, or the reason why there are none.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Weighed {
    /// The weights; `None` if they stay equal.
    pub weights: Option<OptimalWeights>,
    /// Why there are none, or a warning about them.
    pub advice: Option<Advice>,
}

/// Computes the best weights of points by a rule.
///
/// A long run should not end in an error at its last step. So if there are no weights, or too many points,
/// [`Weighed::advice`] says so. If `watch` ends it, the result is [`Error::Interrupted`].
///
/// ```
/// use supersample::task::weigh;
/// use supersample::weights::WeightRule;
/// use supersample::{Empirical, Kernel, Points, unwatched};
/// let draws = Points::from_vec((0..60).map(|i| (i as f64 * 0.7).sin()).collect(), 1)?;
/// let mu = Empirical::new(Kernel::gaussian(0.5)?, draws.clone())?;
/// let found = weigh(&mu, &draws.select(&[3, 14, 15, 40])?, WeightRule::Simplex, &unwatched)?;
/// let weights = found.weights.expect("these points have weights");
/// assert!(weights.error < weights.equal_error && found.advice.is_none());
/// # Ok::<(), supersample::Error>(())
/// ```
pub fn weigh(mu: &dyn MeanEmbedding, points: &Points, rule: WeightRule, watch: Watch) -> Result<Weighed> {
    weighed(points.len(), || optimal(mu, points, rule, watch))
}

fn weighed(count: usize, found: impl FnOnce() -> Result<OptimalWeights>) -> Result<Weighed> {
    if count > MOST_WEIGHTED {
        let advice = Advice::TooManyToWeigh { count, most: MOST_WEIGHTED };
        return Ok(Weighed { weights: None, advice: Some(advice) });
    }
    match found() {
        Err(reason @ (Error::SingularKernelMatrix { .. } | Error::Overflow { .. })) => {
            Ok(Weighed { weights: None, advice: Some(Advice::NotWeighed { reason }) })
        }
        Err(error) => Err(error),
        Ok(weights) => {
            let advice = (!weights.optimal).then_some(Advice::WeightsNotOptimal);
            Ok(Weighed { weights: Some(weights), advice })
        }
    }
}

impl Target {
    /// Computes the best weights of rows by a rule, for the whole objective; see [`weigh`](weigh()). The errors are
    /// those of the joint part.
    pub fn weigh(&self, rows: &[usize], rule: WeightRule, watch: Watch) -> Result<Weighed> {
        weighed(rows.len(), || {
            optimal_of_rows(&self.pool_of(rows)?, &(0..rows.len()).collect::<Vec<_>>(), rule, watch)
        })
    }

    /// Adds the best weights to a choice, or equal ones with advice.
    pub(super) fn weighed(&self, mut chosen: Chosen, rule: WeightRule, watch: Watch) -> Result<Chosen> {
        match self.weigh(&chosen.rows, rule, watch) {
            Err(Error::Interrupted) => chosen.ended = Ended::Interrupted,
            found => {
                let Weighed { weights, advice } = found?;
                chosen.advice.extend(advice);
                chosen.weights = weights;
            }
        }
        Ok(chosen)
    }
}
