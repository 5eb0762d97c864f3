//! A laboratory for repulsion inside Markov chains: densities of known truth, samplers, and four ways of keeping a chain
//! away from where it has been.
//!
//! Everything is in units of the true standard deviations, so that one tuning suits all densities and errors of different
//! densities compare. One evaluation is the log density at a point, its gradient there, or both.

mod chain;
mod density;
mod spins;
mod stein_points;
mod truth;

pub(crate) use chain::{Mover, Path, Repulsion, Sampler};
pub(crate) use density::Density;
pub(crate) use spins::{Gibbs, Spins, SpinsTruth, spin_models};
pub(crate) use stein_points::{Restart, stein_points};
pub(crate) use truth::{MEASURES, Truth};

use rand::SeedableRng;
use rand_pcg::Pcg64;

/// A stream of random numbers of its own for each purpose: the same parts give the same stream.
pub(crate) fn stream(parts: &[u64]) -> Pcg64 {
    // FNV-1a over the parts; any injective-enough mixing does.
    let mix = |hash: u64, part: &u64| (hash ^ part.wrapping_add(1)).wrapping_mul(0x0100_0000_01b3);
    Pcg64::seed_from_u64(parts.iter().fold(0xcbf2_9ce4_8422_2325, mix))
}
