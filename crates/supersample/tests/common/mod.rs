//! What several test files share: the naive oracle and seeded random points.
#![allow(dead_code, reason = "each test file uses its own part")]

pub(crate) mod naive;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use supersample::Points;

/// One kernel of every kind, with bandwidths that suit points of unit scale.
pub(crate) const KERNELS: [&str; 8] = [
    "gaussian(1.3)",
    "gaussian(0.5,1,2)",
    "laplace(2.5)",
    "matern12(1.7)",
    "matern32(1.2)",
    "matern52(0.9)",
    "imq(0.8)",
    "linear",
];

pub(crate) fn rng(seed: u64) -> Pcg64 {
    Pcg64::seed_from_u64(seed)
}

/// Points uniform on [−1.5, 1.5]ᵈ.
pub(crate) fn random_points(n: usize, dim: usize, rng: &mut Pcg64) -> Points {
    let numbers = (0..n * dim).map(|_| rng.random_range(-1.5..1.5)).collect();
    Points::from_vec(numbers, dim).unwrap()
}
