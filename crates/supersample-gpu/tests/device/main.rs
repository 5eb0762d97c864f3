//! Every sum on the device against its twin, a plain double loop in f64 (that of supersample-sum's own tests). Without a device each test says that it was skipped.

mod choosing;
mod means;
#[path = "../../../supersample-cli/tests/desk/required.rs"]
mod required;
#[path = "../../../supersample-sum/tests/sums/scalar.rs"]
mod scalar;
mod visits;

use std::ops::ControlFlow;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use supersample_gpu::{Device, Error, Mean, Part, Plan, Points};
use supersample_sum::{Coordinates, Precision, Rows, Shape};

fn device() -> Option<Device> {
    match Device::open() {
        Ok(device) => Some(device),
        Err(error @ (Error::NoDriver | Error::NoDevice { .. })) => {
            required::skipped("gpu", error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn kernels() -> Vec<Shape> {
    vec![
        Shape::Gaussian { length: 1.5 },
        Shape::Gaussians { lengths: vec![0.7, 1.5, 4.0].into() },
        Shape::Gaussians { lengths: vec![4.0, 0.7].into() },
        Shape::Laplace { length: 3.0 },
        Shape::Matern12 { length: 2.0 },
        Shape::Matern32 { length: 2.0 },
        Shape::Matern52 { length: 2.0 },
        Shape::Imq { length: 2.0 },
        Shape::Linear,
        Shape::Energy,
        Shape::Manhattan { length: 3.0 },
    ]
}

/// Random rows whose distances stay near 2 for any dimension, so that kernel values are neither 0 nor 1.
fn random(n: usize, dim: usize, seed: u64) -> Vec<f64> {
    let mut rng = Pcg64::seed_from_u64(seed);
    let scale = 2.0 / (dim as f64).sqrt();
    (0..n * dim).map(|_| scale * rng.random_range(-1.0..1.0)).collect()
}

fn assert_close(got: &[f64], want: &[f64], tolerance: f64, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        let unbounded = ["Linear", "Energy", "Manhattan"].iter().any(|name| what.starts_with(name));
        let scale = want.abs().max(if unbounded { 1.0 } else { 0.1 });
        assert!((got - want).abs() <= tolerance * scale, "{what}, row {i}: {got} {want}");
    }
}

fn mean(flow: ControlFlow<(), Mean>) -> Vec<f64> {
    let ControlFlow::Continue(mean) = flow else { panic!("nobody broke it") };
    mean.to_vec().unwrap()
}

fn argmax(n: usize, score: impl Fn(usize) -> f64) -> Option<(usize, f64)> {
    scalar::argmax(&(0..n).map(score).collect::<Vec<_>>())
}

/// Views with a kernel of their own, times a factor.
fn part(device: &Device, shape: Shape, views: Rows<'_>, precision: Precision, factor: f64) -> Part {
    let plan = Plan::forced(Coordinates::new(shape, views).into(), precision);
    Part { views: Points::planned(device, &plan, views).unwrap(), factor }
}
