//! Mean embedding of a target: one arm for each kind of target. An arm gives the embedding that rows are chosen by, its
//! precision, the numbers that a checkpoint keeps, and when errors are known. An enum and not a trait, so that the
//! short arms can be read together.

use std::borrow::Cow;
use std::sync::Arc;

use super::problem::{Kind, Problem};
use super::{landmarks, stream};
use crate::embedding::{ErrorTerms, LandmarkSums, Landmarks};
use crate::{
    Empirical, Error, Gram, MeanEmbedding, Points, Precision, Result, SteinTarget, Watch, unwatched,
};

/// Computed mean embedding of a target.
#[derive(Clone)]
pub(super) enum Mean {
    /// Rows in memory, all pairs compared.
    Exact(Arc<Empirical>),
    /// Rows compared with landmarks, in memory or in a pass over batches.
    Landmarks(Arc<Landmarks>),
    /// A density known by its score: the mean is zero.
    Density(Arc<SteinTarget>),
    /// Rows known only by their kernel values.
    Gram(Arc<Gram>),
}

/// When the errors of chosen rows are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorsKnown {
    /// While rows are chosen.
    Now,
    /// After choosing, from the rows in memory.
    Afterwards,
    /// After another pass over the rows, which are not in memory.
    AfterPass,
}

impl Mean {
    /// Computes the mean of rows in memory. Rows in batches are an error: their mean comes from a pass
    /// ([`of_pass`](Self::of_pass)).
    pub(super) fn of_rows(problem: &Problem, watch: Watch) -> Result<Mean> {
        match &problem.kind {
            Kind::Exact => {
                problem.samples.prepare(watch)?;
                Ok(Mean::Exact(problem.samples.clone()))
            }
            Kind::Landmarks => {
                let count = problem.choose.landmark_count(problem.samples.points().len(), problem.rows.dim());
                Ok(Mean::Landmarks(Arc::new(landmarks::project(problem, count, watch)?)))
            }
            Kind::Batches(_) => Err(Error::NotProjected),
            Kind::Density(stein) => Ok(Mean::Density(stein.target.clone())),
            Kind::Gram(gram) => Ok(Mean::Gram(gram.clone())),
        }
    }

    /// Computes the mean of rows in batches from their sums at landmarks.
    pub(super) fn of_pass(sums: &LandmarkSums, watch: Watch) -> Result<Mean> {
        Ok(Mean::Landmarks(Arc::new(sums.finish_watched(watch)?)))
    }

    /// Computes the mean from sums that have an error of this expected square.
    pub(super) fn of_sums(sums: &LandmarkSums, error: f64, watch: Watch) -> Result<Mean> {
        Ok(Mean::Landmarks(Arc::new(sums.finish_watched(watch)?.with_error(error))))
    }

    /// Restores the mean from the numbers of an earlier run of the same problem.
    pub(super) fn recalled(problem: &Problem, numbers: Vec<f64>) -> Result<Mean> {
        match &problem.kind {
            Kind::Exact => Ok(Mean::Exact(Arc::new(Empirical::clone(&problem.samples).recall(numbers)?))),
            Kind::Landmarks => Ok(Mean::Landmarks(Arc::new(landmarks::recall(problem, &numbers)?))),
            Kind::Batches(gathered) => {
                let sums = stream::recalled_sums(problem, gathered, &numbers)?;
                Mean::of_pass(&sums, &unwatched)
            }
            Kind::Density(_) | Kind::Gram(_) => match numbers.len() {
                0 => Mean::of_rows(problem, &unwatched),
                found => Err(Error::RecalledCount { found, expected: 0 }),
            },
        }
    }

    /// The numbers that [`recalled`](Self::recalled) takes: μ on the rows, or the sums at landmarks.
    pub(super) fn numbers(&self) -> Cow<'_, [f64]> {
        match self {
            Mean::Exact(samples) => Cow::Borrowed(samples.recalled().unwrap_or_default()),
            Mean::Landmarks(landmarks) if landmarks.samples().is_some() => Cow::Owned(landmarks.recalled()),
            Mean::Landmarks(landmarks) => Cow::Owned(landmarks.sums().numbers()),
            Mean::Density(_) | Mean::Gram(_) => Cow::Borrowed(&[]),
        }
    }

    /// The embedding that rows are chosen by.
    pub(super) fn embedding(&self) -> Arc<dyn MeanEmbedding> {
        match self {
            Mean::Exact(samples) => samples.clone(),
            Mean::Landmarks(landmarks) => landmarks.clone(),
            Mean::Density(target) => target.clone(),
            Mean::Gram(gram) => gram.clone(),
        }
    }

    pub(super) fn landmarks(&self) -> Option<&Landmarks> {
        match self {
            Mean::Landmarks(landmarks) => Some(landmarks),
            _ => None,
        }
    }

    /// Precision in use: double instead of mixed if the rows are few or spread too widely.
    pub(super) fn precision(&self) -> Precision {
        match self {
            Mean::Exact(samples) => samples.precision_in_use(),
            Mean::Landmarks(landmarks) => match landmarks.samples() {
                Some(samples) => samples.precision_in_use(),
                None => landmarks.sums().sums().precision(),
            },
            Mean::Density(_) | Mean::Gram(_) => Precision::Double,
        }
    }

    /// When the errors of chosen rows are known, for a pool on the CPU or on a GPU.
    pub(super) fn errors_known(&self, is_on_gpu: bool) -> ErrorsKnown {
        match self {
            Mean::Landmarks(landmarks) if landmarks.samples().is_none() => ErrorsKnown::AfterPass,
            Mean::Landmarks(_) => ErrorsKnown::Afterwards,
            _ if is_on_gpu => ErrorsKnown::Afterwards,
            _ => ErrorsKnown::Now,
        }
    }

    /// Exact μ at these scaled rows, from all rows in memory, if they were chosen with landmarks.
    pub(super) fn exact_at(&self, points: &Points, watch: Watch) -> Option<Vec<f64>> {
        let samples = self.landmarks()?.samples()?;
        Some(ErrorTerms::means_told(samples, points, watch))
    }
}
