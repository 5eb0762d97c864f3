//! The two random mixtures of section 3.1 of the paper, and herding on them in all of space.

use supersample::target::GaussianMixture;
use supersample::{AscentOptions, ClosedForm, Domain, Herder, Kernel, Result};

/// The seeds of the mixtures of figures 1 and 2, and of figures 3 and 4.
pub(crate) const PLANE_SEED: u64 = 4;
pub(crate) const SPACE_SEED: u64 = 7;

/// The seed of the auxiliary draws from which the ascent starts.
pub(crate) const STARTS_SEED: u64 = 101;

/// Figures 1 and 2: 20 components in the plane.
pub(crate) fn plane() -> Result<GaussianMixture> {
    GaussianMixture::random(20, 2, PLANE_SEED)
}

/// The bandwidth of figures 1 and 2: about the width of a component, so that modes are told apart.
pub(crate) const PLANE_BANDWIDTH: f64 = 0.5;

/// Figures 3 and 4: 100 components in five dimensions.
pub(crate) fn space() -> Result<GaussianMixture> {
    GaussianMixture::random(100, 5, SPACE_SEED)
}

/// The bandwidth of figures 3 and 4, two thirds of the standard deviation of a coordinate (2.9). Longer ones serve the first
/// moment better and lose sin‖x‖, which changes sign within π; figure 3 shows it.
pub(crate) const SPACE_BANDWIDTH: f64 = 2.0;

/// Herding on the density itself, by ascent from auxiliary draws (section 3.1.1).
pub(crate) fn herd(mixture: &GaussianMixture, bandwidth: f64, starts: usize) -> Result<Herder> {
    let mu = ClosedForm::mixture(Kernel::gaussian(bandwidth)?, mixture.clone())?;
    let starts = mixture.sample(starts, STARTS_SEED)?;
    Herder::new(mu, Domain::Ascent { starts, options: AscentOptions::default() })
}
