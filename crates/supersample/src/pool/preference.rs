//! Preference for some rows over others: the term that a regularised choice adds to the objective.

use std::sync::Arc;

use crate::points::expect_rows;
use crate::words::Opt;
use crate::{Error, Result};

/// Reward and penalty for each row of a pool.
///
/// The objective of T rows with error E is E² − (2/T)·Σ reward + (2/T²)·Σ penalty. Reported errors stay E.
///
/// [`Preference::for_density`] makes the one of regularised Stein thinning (Bénard, Staber and Da Veiga, *Kernel Stein
/// Discrepancy thinning: a theoretical perspective of pathologies and a practical fix with regularization*, 2023).
#[derive(Clone, Debug, PartialEq)]
pub struct Preference {
    pub(super) rewards: Arc<[f64]>,
    pub(super) penalties: Option<Arc<[f64]>>,
}

impl Preference {
    /// Creates the preference for rows of high density, and against minima and saddles. The objective of T rows is
    ///
    /// > KSD² − (λ/T)·Σ (log p(x) − largest log p) + (1/T²)·Σ max(Δ log p(x), 0).
    ///
    /// The first term, with λ = `weight`, distinguishes far modes of different mass, which the KSD alone does not; its
    /// authors recommend the weight 1/T. The second keeps rows from stationary points of low density, where the score
    /// is zero as at a mode. Log-densities are needed up to a constant.
    pub fn for_density(log_density: &[f64], weight: f64, laplacian: Option<&[f64]>) -> Result<Preference> {
        Preference::check_weight(weight)?;
        let finite = |what: &'static str, values: &[f64]| match values.iter().position(|v| !v.is_finite()) {
            Some(index) => Err(Error::NonFiniteNumber { what, index, value: values[index] }),
            None => Ok(()),
        };
        finite("log-density", log_density)?;
        let largest = log_density.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let rewards = log_density.iter().map(|log| weight / 2.0 * (log - largest)).collect();
        let penalties = match laplacian {
            None => None,
            Some(values) => {
                finite("Laplacian of the log-density", values)?;
                expect_rows("the Laplacians", values.len(), log_density.len())?;
                Some(values.iter().map(|value| value.max(0.0) / 2.0).collect())
            }
        };
        Ok(Preference { rewards, penalties })
    }

    /// Checks that λ is positive and finite.
    pub(crate) fn check_weight(weight: f64) -> Result<()> {
        if weight > 0.0 && weight.is_finite() {
            return Ok(());
        }
        let advice = "give a positive number, or leave the log-density out";
        Err(Error::BadOption { option: Opt::Regularise, value: weight, advice })
    }

    pub(super) fn select(&self, rows: &[usize]) -> Preference {
        let at = |values: &Arc<[f64]>| rows.iter().map(|&row| values[row]).collect();
        Preference { rewards: at(&self.rewards), penalties: self.penalties.as_ref().map(at) }
    }

    /// Term that it adds to the squared error of these rows.
    pub(super) fn added(&self, rows: &[usize]) -> f64 {
        let size = rows.len() as f64;
        let sum = |values: &[f64]| rows.iter().map(|&row| values[row]).sum::<f64>();
        let penalty = self.penalties.as_ref().map_or(0.0, |penalties| sum(penalties));
        2.0 * penalty / (size * size) - 2.0 * sum(&self.rewards) / size
    }
}
