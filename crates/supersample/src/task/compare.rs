//! Comparison with other subsets: random rows, and rows spread evenly over the file.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::{Errors, Measure, Target};
use crate::quality::{every_kth, random_rows, systematic_rows};
use crate::watch::Progress;
use crate::{Error, Result, Watch};

/// Number of random subsets.
const RANDOM_DRAWS: usize = 20;
/// Largest number of kernel values for the random subsets, T² each. Above it fewer are drawn, but at least 3.
const KERNEL_VALUES: usize = 2_000_000_000;

/// Errors of other subsets of the same size.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// Errors of random rows, drawn without replacement, or by their weights: 3 to 20 subsets.
    pub random: Vec<Errors>,
    /// Errors of evenly spaced rows, over the file or over the sum of the weights.
    pub spaced: Errors,
    /// The standard errors of the mean MMD of random rows and of the MMD of those spread evenly, as far as they come from
    /// ‖μ‖², where that is an estimate.
    pub standard_errors: Option<(f64, f64)>,
}

impl Comparison {
    /// The MMDs of random rows.
    pub fn random_mmds(&self) -> Vec<f64> {
        self.random.iter().filter_map(|errors| errors.get(Measure::Mmd)).collect()
    }

    /// Means of the errors of random rows, without equivalent draws, which are by definition about the number of rows.
    pub fn random_errors(&self) -> Errors {
        Errors::mean_of(&self.random).with(Measure::EquivalentDraws, None).with(Measure::PosteriorDraws, None)
    }

    /// The mean MMD of random rows.
    pub fn random_mean(&self) -> f64 {
        let mmds = self.random_mmds();
        mmds.iter().sum::<f64>() / mmds.len() as f64
    }

    /// The standard deviation of the MMD of random rows.
    pub fn random_sd(&self) -> f64 {
        let (mean, mmds) = (self.random_mean(), self.random_mmds());
        let squares: f64 = mmds.iter().map(|error| (error - mean) * (error - mean)).sum();
        (squares / (mmds.len() - 1) as f64).sqrt()
    }

    /// The MMD of rows spread evenly.
    pub fn spaced_mmd(&self) -> f64 {
        self.spaced.get(Measure::Mmd).unwrap_or(f64::NAN)
    }
}

impl Target {
    /// Returns the errors of random and evenly spaced subsets of `count` rows. `None` if there are no more rows than
    /// that.
    pub fn compare(&self, count: usize, watch: Watch) -> Result<Option<Comparison>> {
        let problem = self.problem();
        let n = problem.rows().len();
        if count >= n || count == 0 {
            return Ok(None);
        }
        let (reference, scale) = (self.reference()?, self.error_scale());
        let draws = (KERNEL_VALUES / count.saturating_mul(count)).clamp(3, RANDOM_DRAWS);
        let done = AtomicUsize::new(0);
        let errors_of = |places: &[usize]| -> Result<Errors> {
            let done = done.fetch_add(1, Ordering::Relaxed);
            if watch(Progress::Comparing { done, total: draws + 1 }).is_break() {
                return Err(Error::Interrupted);
            }
            let mmd = self.mmd_by_pool(places)?;
            let rows = problem.rows().select(places)?;
            let errors = Errors::default()
                .with(Measure::FunctionsError, self.functions_error_at(places, None)?)
                .with_quality(&reference.quality(rows.as_slice(), None)?);
            Ok(self.with_equivalents(errors.with(Measure::Mmd, mmd), &scale))
        };
        let random = |seed| random_rows(n, problem.shares(), count, seed);
        let mut subsets = (0..draws as u64).map(random).collect::<Result<Vec<_>>>()?;
        subsets.push(match problem.shares() {
            None => every_kth(n, count)?,
            Some(shares) => systematic_rows(shares, count)?,
        });
        let mut errors = subsets.par_iter().map(|subset| errors_of(subset)).collect::<Result<Vec<_>>>()?;
        // All subsets at once, so that every column is sorted only once.
        for (errors, cdf) in errors.iter_mut().zip(self.cdfs_at(&subsets)?) {
            *errors = errors.with(Measure::Cdf, cdf);
        }
        let mut spaced = errors.pop().unwrap_or_default();
        if let Some(mmd) = self.mmd_by_exact_means(&subsets[draws], watch)? {
            spaced = self.with_equivalents(spaced.with(Measure::Mmd, mmd), &scale);
        }
        let found = Comparison { random: errors, spaced, standard_errors: None };
        let of_random = scale.standard_error(found.random_mean());
        let standard_errors = of_random.zip(scale.standard_error(found.spaced_mmd()));
        Ok(Some(Comparison { standard_errors, ..found }))
    }
}
