//! What several test files share: the naive oracle, seeded random points, and choices in few words.
#![allow(dead_code, reason = "each test file uses its own part")]

pub(crate) mod naive;

use std::ops::ControlFlow;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use supersample::task::{Choose, Chosen, Continued, Problem, Rows, Stop, Target};
use supersample::{Points, RefineOptions, unwatched};

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

/// A problem, prepared.
pub(crate) fn ready(rows: impl Into<Rows>, choose: Choose) -> Target {
    Problem::new(rows, choose).unwrap().prepare(&unwatched).unwrap()
}

/// What is chosen one after the other until a rule holds.
pub(crate) fn herd(target: &Target, stop: Stop, unique: bool) -> Chosen {
    target.choose_by(&Choose::herd_until(stop).unwrap().unique(unique), &unwatched).unwrap()
}

/// What is chosen as a set, with these swaps and this search.
pub(crate) fn thin(target: &Target, stop: Stop, refine: RefineOptions) -> Chosen {
    target.choose_by(&thinning(stop, refine), &unwatched).unwrap()
}

/// A choice of a set with these swaps and this search.
pub(crate) fn thinning(stop: Stop, refine: RefineOptions) -> Choose {
    Choose::thin_until(stop).unwrap().refine(refine)
}

/// What is chosen, from the rows of an earlier run.
pub(crate) fn continued(target: &Target, choose: &Choose, rows: &[usize]) -> supersample::Result<Chosen> {
    target.continued(choose, Continued { rows, seen: &mut |_| ControlFlow::Continue(()) }, &unwatched)
}

/// What `plain` rows are matched by: the joint distribution alone.
pub(crate) fn plain() -> Choose {
    Choose::nothing(None)
}
