//! Comparison with other subsets: random rows, and rows spread evenly over the file.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::Problem;
use crate::quality::{Quality, every_kth, random_rows, systematic_rows};
use crate::watch::Progress;
use crate::{Error, Result, Watch};

/// How many random subsets are drawn.
const RANDOM_DRAWS: usize = 20;
/// Kernel values the random subsets may cost, T² each; beyond it fewer are drawn, never fewer than 3.
const KERNEL_VALUES: usize = 2_000_000_000;

/// Errors in what people read from draws, each the root mean square over the columns (or their pairs), in standard
/// deviations of all rows; `None` where there are none to compare.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct TypicalErrors {
    /// Of the means.
    pub mean: Option<f64>,
    /// Of the standard deviations.
    pub sd: Option<f64>,
    /// Of the quantiles.
    pub quantile: Option<f64>,
    /// Of the correlations.
    pub correlation: Option<f64>,
    /// Of the distribution functions: the root mean square over the columns of their distance
    /// ([`Marginals::distance`](crate::Marginals::distance)).
    pub cdf: Option<f64>,
    /// Of the means of the functions of interest, where there are some.
    pub functions: Option<f64>,
}

impl TypicalErrors {
    /// Of one subset, but for the distribution functions and the functions of interest, which are not in its quality.
    pub fn of(quality: &Quality) -> TypicalErrors {
        TypicalErrors {
            mean: quality.mean_rms(),
            sd: quality.sd_rms(),
            quantile: quality.quantile_rms(),
            correlation: quality.correlation_rms,
            cdf: None,
            functions: None,
        }
    }

    /// The means over several subsets, each over those that have the error.
    pub fn mean_of(all: &[TypicalErrors]) -> TypicalErrors {
        let mean = |one: fn(&TypicalErrors) -> Option<f64>| {
            let known: Vec<f64> = all.iter().filter_map(one).collect();
            (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
        };
        TypicalErrors {
            mean: mean(|errors| errors.mean),
            sd: mean(|errors| errors.sd),
            quantile: mean(|errors| errors.quantile),
            correlation: mean(|errors| errors.correlation),
            cdf: mean(|errors| errors.cdf),
            functions: mean(|errors| errors.functions),
        }
    }
}

/// The errors of other subsets of the same size.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// The MMDs of random rows: drawn without replacement, or by their weights. At least 3, at most 20.
    pub random: Vec<f64>,
    /// The means of their other errors.
    pub random_errors: TypicalErrors,
    /// The MMD of rows spread evenly over the file, or over the sum of the weights.
    pub spaced: f64,
    /// The other errors of these.
    pub spaced_errors: TypicalErrors,
    /// The standard errors of the mean MMD of random rows and of the MMD of those spread evenly, as far as they come from
    /// ‖μ‖², where that is an estimate.
    pub standard_errors: Option<(f64, f64)>,
}

impl Comparison {
    /// The mean MMD of random rows.
    pub fn random_mean(&self) -> f64 {
        self.random.iter().sum::<f64>() / self.random.len() as f64
    }

    /// The standard deviation of the MMD of random rows.
    pub fn random_sd(&self) -> f64 {
        let mean = self.random_mean();
        let squares: f64 = self.random.iter().map(|error| (error - mean) * (error - mean)).sum();
        (squares / (self.random.len() - 1) as f64).sqrt()
    }
}

impl Problem {
    /// The errors of other subsets of `count` rows. `None` where there are not more rows than that, since then no subset
    /// of distinct rows is left to compare with but all of them. The problem is prepared first, where it is not yet.
    pub fn compare(&self, count: usize, watch: Watch) -> Result<Option<Comparison>> {
        let n = self.rows().len();
        if count >= n || count == 0 {
            return Ok(None);
        }
        self.prepare_for(Some(count), watch)?;
        let reference = self.reference()?;
        let draws = (KERNEL_VALUES / count.saturating_mul(count)).clamp(3, RANDOM_DRAWS);
        let done = AtomicUsize::new(0);
        let errors_of = |subset: &[usize]| -> Result<(f64, TypicalErrors)> {
            let done = done.fetch_add(1, Ordering::Relaxed);
            if watch(Progress::Comparing { done, total: draws + 1 }).is_break() {
                return Err(Error::Interrupted);
            }
            let error = self.mmd_by_pool(subset)?;
            let rows = self.rows().select(subset)?;
            let quality = TypicalErrors::of(&reference.quality(rows.as_slice(), None)?);
            Ok((error, TypicalErrors { functions: self.functions_error(subset, None)?, ..quality }))
        };
        let random = |seed| random_rows(n, self.shares(), count, seed);
        let mut subsets = (0..draws as u64).map(random).collect::<Result<Vec<_>>>()?;
        subsets.push(match self.shares() {
            None => every_kth(n, count)?,
            Some(shares) => systematic_rows(shares, count)?,
        });
        let measured = subsets.par_iter().map(|subset| errors_of(subset)).collect::<Result<Vec<_>>>()?;
        let (mut random, mut errors): (Vec<f64>, Vec<TypicalErrors>) = measured.into_iter().unzip();
        // All at once, since every column has to be sorted for any.
        for (errors, cdf) in errors.iter_mut().zip(self.cdfs_of_rows(&subsets)?) {
            errors.cdf = cdf;
        }
        let scale = self.error_scale()?;
        let (spaced, spaced_errors) = (random.pop(), errors.pop());
        Ok(spaced.zip(spaced_errors).map(|(spaced, spaced_errors)| {
            let random_errors = TypicalErrors::mean_of(&errors);
            let found = Comparison { random, random_errors, spaced, spaced_errors, standard_errors: None };
            let standard_errors = scale.standard_error(found.random_mean()).zip(scale.standard_error(spaced));
            Comparison { standard_errors, ..found }
        }))
    }
}
