//! The mean embedding μ of a target under a kernel: the one trait of the library, and which pairs are exact.
//!
//! | target | kernels | |
//! |---|---|---|
//! | weighted samples | all | [`Empirical`]: exact, n kernel values for each μ(x) |
//! | [`GaussianMixture`](crate::target::GaussianMixture) | `gaussian`, one or several bandwidths | [`ClosedForm::mixture`] |
//! | [`UniformBox`](crate::target::UniformBox) | `gaussian`, `laplace` in any dimension; `matern12`, `matern32`, `matern52` in one | [`ClosedForm::uniform_box`] |
//! | [`IndependentNormals`](crate::target::IndependentNormals) | the same | [`ClosedForm::normals`] |

mod closed_form;
mod empirical;
mod widened;

pub use closed_form::ClosedForm;
pub use empirical::Empirical;
pub(crate) use widened::Care;

use crate::{Kernel, Points};

/// The mean embedding of a target p under a kernel: μ(x) = E over p of k(x, x').
///
/// This is all a [`Herder`](crate::Herder) needs to know of the target. Points given to the methods have
/// [`dim`](Self::dim) coordinates; anything else is a programming error and may panic.
pub trait MeanEmbedding: Send + Sync {
    /// The kernel.
    fn kernel(&self) -> &Kernel;

    /// The dimension of the space.
    fn dim(&self) -> usize;

    /// Writes μ(x) for every row x of `points` to `out`.
    fn values_into(&self, points: &Points, out: &mut [f64]);

    /// Writes ∇μ(x) to `gradient` and returns μ(x).
    fn gradient_into(&self, x: &[f64], gradient: &mut [f64]) -> f64;

    /// ‖μ‖² = E over independent x, x' of k(x, x'); `None` where it is not known, and then there is no E_T either.
    fn squared_norm(&self) -> Option<f64>;

    /// E over p of k(x, x), which is 1 for every kernel but the linear one; `None` where it is not known.
    fn mean_diagonal(&self) -> Option<f64> {
        self.kernel().has_constant_diagonal().then_some(1.0)
    }

    /// What the target is made of, so that two embeddings can be compared; an embedding of your own needs not say.
    fn form(&self) -> Form<'_> {
        Form::Other
    }
}

/// What the target behind a mean embedding is made of.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Form<'a> {
    /// Points with weights that sum to one.
    Samples(&'a Empirical),
    /// A density with a closed form.
    Density(&'a ClosedForm),
    /// Anything else.
    Other,
}

/// ‖μ‖² in f64, whatever the precision of the samples.
pub(crate) fn double_squared_norm(mu: &dyn MeanEmbedding) -> Option<f64> {
    match mu.form() {
        Form::Samples(samples) => Some(samples.double_squared_norm()),
        _ => mu.squared_norm(),
    }
}

/// μ at each of the points in f64, whatever the precision of the samples.
pub(crate) fn double_values(mu: &dyn MeanEmbedding, points: &Points) -> Vec<f64> {
    let mut values = vec![0.0; points.len()];
    match mu.form() {
        Form::Samples(samples) => samples.in_double().values_into(points, &mut values),
        _ => mu.values_into(points, &mut values),
    }
    values
}
