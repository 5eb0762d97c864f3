//! A preference for some rows over others, whatever they match: what a regularised choice adds to the objective.

use std::sync::Arc;

use crate::points::expect_rows;
use crate::words::Opt;
use crate::{Error, Result};

/// A reward and a penalty for each row of a pool. Of T rows with error E, the objective is E² − (2/T)·Σ reward + (2/T²)·Σ
/// penalty; errors that are reported stay E.
///
/// [`Preference::for_density`] makes the one of regularised Stein thinning (Bénard, Staber and Da Veiga, *Kernel Stein
/// Discrepancy thinning: a theoretical perspective of pathologies and a practical fix with regularization*, 2023).
#[derive(Clone, Debug, PartialEq)]
pub struct Preference {
    pub(super) rewards: Arc<[f64]>,
    pub(super) penalties: Option<Arc<[f64]>>,
}

impl Preference {
    /// Rows where the density is high, and none where it has a minimum or a saddle: of T rows the objective is
    ///
    /// > KSD² − (λ/T)·Σ (log p(x) − largest log p) + (1/T²)·Σ max(Δ log p(x), 0).
    ///
    /// The first term, with λ = `weight`, tells far modes of different mass apart, which the KSD alone does not see; 1/T is
    /// the weight that its authors recommend. The second keeps rows from stationary points of low density, where the
    /// score is zero as it is at a mode. Log-densities count up to a constant.
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

    /// Whether λ is positive and finite.
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

    /// What it adds to the squared error of these rows.
    pub(super) fn added(&self, rows: &[usize]) -> f64 {
        let size = rows.len() as f64;
        let sum = |values: &[f64]| rows.iter().map(|&row| values[row]).sum::<f64>();
        let penalty = self.penalties.as_ref().map_or(0.0, |penalties| sum(penalties));
        2.0 * penalty / (size * size) - 2.0 * sum(&self.rewards) / size
    }
}
