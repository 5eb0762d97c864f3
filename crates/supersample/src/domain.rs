//! Domain of super-samples: a finite pool, or all of space.

use crate::{AscentOptions, Points};

/// The set over which eq. 7 is maximised.
///
/// The pool is often the samples themselves (pass a clone: the library notices, and ‖μ‖² is free), but any points of
/// the same dimension are possible. When μ lies on a facet of the marginal polytope (corollary 3 of the paper),
/// restrict the pool, or the starts of the ascent, to the points that generate the facet: the domain is the caller's
/// choice.
///
/// ```
/// use supersample::target::GaussianMixture;
/// use supersample::{AscentOptions, ClosedForm, Domain, Herder, Kernel};
/// let mixture = GaussianMixture::random(3, 2, 7)?;
/// let starts = mixture.sample(200, 1)?;
/// let mu = ClosedForm::mixture(Kernel::gaussian(1.0)?, mixture)?;
/// let domain = Domain::Ascent { starts, options: AscentOptions::default() };
/// let first = Herder::new(mu, domain)?.next().expect("space is never exhausted");
/// assert!(first.index.is_none() && first.converged);
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Domain {
    /// One of these points, each pick being a row of them.
    Pool(Points),
    /// All of Rᵈ, by ascent from the best of these auxiliary points, as in section 3.1.1 of the paper: draw them from
    /// the target. The maximum found is local.
    Ascent {
        /// Start points: a few hundred to a few thousand draws of the target.
        starts: Points,
        /// Options of the ascent.
        options: AscentOptions,
    },
}
