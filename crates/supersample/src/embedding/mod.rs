//! Mean embedding μ of a target under a kernel: the trait of targets, and the table of exact (target, kernel) pairs.
//!
//! | target | kernels | |
//! |---|---|---|
//! | weighted samples | all | [`Empirical`]: exact, n kernel values for each μ(x) |
//! | samples that are too many for that, or do not fit into memory | all | [`Landmarks`]: a projection with an error bar, r kernel values for each μ̃(x) |
//! | [`GaussianMixture`](crate::target::GaussianMixture) | `gaussian`, one or several bandwidths | [`ClosedForm::mixture`] |
//! | [`UniformBox`](crate::target::UniformBox) | `gaussian`, `laplace` in any dimension; `matern12`, `matern32`, `matern52`, `energy` in one | [`ClosedForm::uniform_box`] |
//! | [`IndependentNormals`](crate::target::IndependentNormals) | the same | [`ClosedForm::normals`] |
//! | any density whose score is known at the points | Stein kernels | [`SteinTarget`]: zero |
//! | weighted rows known only by their kernel values | any | [`Gram`]: exact |

mod closed_form;
mod empirical;
mod error_terms;
mod gram;
mod landmarks;
mod stein;

pub use closed_form::ClosedForm;
pub use empirical::Empirical;
pub(crate) use error_terms::{ErrorTerms, NormFrom, pack};
pub use gram::Gram;
pub(crate) use gram::{Values, check_definite};
pub(crate) use landmarks::effective_size;
pub use landmarks::{KernelSums, LandmarkSums, Landmarks};
pub use stein::{LogDensityFunction, Preconditioner, ScoreFunction, SteinTarget};

use std::any::Any;

use crate::{Kernel, Points};

/// The mean embedding of a target p under a kernel: μ(x) = E over p of k(x, x').
///
/// This is all a [`Herder`](crate::Herder) needs to know about the target. Points given to the methods must have
/// [`dim`](Self::dim) coordinates; otherwise they may panic.
///
/// The library recognises its own embeddings by type (the trait has `Any` above it), so that two of them can be
/// compared exactly without a method that every implementation would have to write.
pub trait MeanEmbedding: Any + Send + Sync {
    /// The kernel.
    fn kernel(&self) -> &Kernel;

    /// The dimension of the space.
    fn dim(&self) -> usize;

    /// Writes μ(x) for every row x of `points` to `out`.
    fn values_into(&self, points: &Points, out: &mut [f64]);

    /// Writes ∇μ(x) to `gradient` and returns μ(x).
    fn gradient_into(&self, x: &[f64], gradient: &mut [f64]) -> f64;

    /// ‖μ‖² = E over independent x, x' of k(x, x'); `None` if not known, and then E_T is not known either.
    fn squared_norm(&self) -> Option<f64>;

    /// Standard error of [`squared_norm`](Self::squared_norm) if that is an estimate; `None` if it is exact.
    fn squared_norm_error(&self) -> Option<f64> {
        None
    }

    /// E over p of k(x, x), which is 1 for most kernels; `None` if not known.
    fn mean_diagonal(&self) -> Option<f64> {
        self.kernel().constant_diagonal()
    }

    /// E k(x, x) − ‖μ‖²: the expected squared MMD of one independent draw, the unit of equivalent draws. `None` if
    /// either is not known.
    fn single_draw(&self) -> Option<f64> {
        Some(self.mean_diagonal()? - self.squared_norm()?)
    }

    /// Bound on ‖μ − μ̂‖, if the values μ̂ of this embedding approximate the true μ. It raises
    /// [`Pool::error_floor`](crate::Pool::error_floor).
    fn error_bound(&self) -> f64 {
        0.0
    }
}

/// The samples behind an embedding, if it is made of samples.
pub(crate) fn as_samples(mu: &dyn MeanEmbedding) -> Option<&Empirical> {
    (mu as &dyn Any).downcast_ref()
}

/// The landmarks behind an embedding, if it is made of them.
pub(crate) fn as_landmarks(mu: &dyn MeanEmbedding) -> Option<&Landmarks> {
    (mu as &dyn Any).downcast_ref()
}

/// The density behind an embedding, if it has a closed form.
pub(crate) fn as_density(mu: &dyn MeanEmbedding) -> Option<&ClosedForm> {
    (mu as &dyn Any).downcast_ref()
}

/// The density behind an embedding, if it is known by its score.
pub(crate) fn as_stein(mu: &dyn MeanEmbedding) -> Option<&SteinTarget> {
    (mu as &dyn Any).downcast_ref()
}
