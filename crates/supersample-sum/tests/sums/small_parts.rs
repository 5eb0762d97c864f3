//! The exponential, the order of tiles, and what is rounded how.

use supersample_sum::{Packed, Precision, Rows, Shape, exp2_in_double, exp2_in_single, instruction_set};

use self::schedule::rounds;
use crate::gaussians;

#[path = "../../src/schedule.rs"]
mod schedule;

/// Every size of argument from `lowest` on: whole numbers and their neighbours, halves, tiny ones, and a fine grid.
fn arguments(lowest: f64) -> Vec<f64> {
    let grid = (0..200_000).map(|i| lowest * f64::from(i) / 200_000.0);
    let wholes = (0..(-lowest) as i32).flat_map(|n| {
        let n = -f64::from(n);
        [n, n - 0.5, n - 0.5 - 1e-7, n - 0.5 + 1e-7, n * (1.0 + 1e-7), n * (1.0 - 1e-7)]
    });
    let tiny = (0..60).map(|e| -(0.5f64.powi(e * 5)));
    let mut all: Vec<f64> = grid.chain(wholes).chain(tiny).filter(|x| (lowest..=0.0).contains(x)).collect();
    all.resize(all.len().next_multiple_of(16), 0.0);
    all
}

fn assert_powers(arguments: impl Iterator<Item = f64>, powers: impl Iterator<Item = f64>, bound: f64) {
    for (x, got) in arguments.zip(powers) {
        let relative = (got / x.exp2() - 1.0).abs();
        assert!(relative <= bound, "{}: 2^{x} = {got}, off by {relative:e}", instruction_set());
    }
}

#[test]
fn exp2_is_right_over_its_whole_range() {
    let arguments_in_double = arguments(-1021.0);
    let mut powers = arguments_in_double.clone();
    exp2_in_double(&mut powers);
    assert_powers(arguments_in_double.into_iter(), powers.into_iter(), 5e-16);
    let arguments_in_single: Vec<f32> = arguments(-125.0).into_iter().map(|x| x as f32).collect();
    let mut powers = arguments_in_single.clone();
    exp2_in_single(&mut powers);
    let wide = |x: f32| f64::from(x);
    assert_powers(arguments_in_single.into_iter().map(wide), powers.into_iter().map(wide), 2.5e-7);
}

#[test]
fn exp2_of_far_arguments_is_the_smallest_value_and_of_zero_exactly_one() {
    let mut single = [0.0f32; 16];
    single[..8].copy_from_slice(&[-125.0, -126.0, -1e10, f32::MIN, f32::NEG_INFINITY, 0.0, -0.0, -1.0]);
    exp2_in_single(&mut single);
    let least = 0.5f32.powi(125);
    assert_eq!(single[..8], [least, least, least, least, least, 1.0, 1.0, 0.5]);
    let mut double = [0.0f64; 16];
    double[..8].copy_from_slice(&[-1021.0, -1022.0, -1e300, f64::NEG_INFINITY, 0.0, -0.0, -1.0, -1020.0]);
    exp2_in_double(&mut double);
    let least = 0.5f64.powi(1021);
    assert_eq!(double[..8], [least, least, least, least, 1.0, 1.0, 0.5, 2.0 * least]);
}

#[test]
fn every_pair_meets_once_and_nobody_plays_twice_in_a_round() {
    for bands in 0..40 {
        let mut met = vec![false; bands * bands];
        for round in rounds(bands) {
            let mut is_playing = vec![false; bands];
            for (a, b) in round {
                assert!(a < b, "{bands}: {a} {b}");
                assert!(!std::mem::replace(&mut is_playing[a], true));
                assert!(!std::mem::replace(&mut is_playing[b], true));
                assert!(!std::mem::replace(&mut met[a * bands + b], true));
            }
        }
        let pairs = met.iter().filter(|met| **met).count();
        assert_eq!(pairs, bands * bands.saturating_sub(1) / 2, "{bands}");
    }
}

#[test]
fn unpacked_points_are_the_rounded_ones_and_stay_as_they_are() {
    let numbers: Vec<f64> = (0..51).map(|i| (f64::from(i) * 0.7).sin() * 3.0 + 10.0).collect();
    let packed = Packed::new(Shape::Gaussian { length: 0.3 }, Rows::new(&numbers, 3), Precision::Mixed);
    let unpacked = packed.rounded();
    assert!(unpacked.iter().zip(&numbers).all(|(a, b)| (a - b).abs() < 1e-6) && unpacked != numbers);
    assert_eq!(packed.beside(Rows::new(&unpacked, 3)).unwrap().rounded(), unpacked);
}

#[test]
fn what_is_spread_wide_beside_the_length_is_double() {
    let precision = |kernel: Shape, rows: &[f64], dim: usize| {
        Packed::new(kernel, Rows::new(rows, dim), Precision::Mixed).precision()
    };
    let gaussian = |length: f64| Shape::Gaussian { length };
    let laplace = || Shape::Laplace { length: 1.0 };
    assert_eq!(precision(gaussian(1.0), &[0.0, 1.0], 1), Precision::Mixed);
    assert_eq!(precision(gaussian(1.0), &[0.0, 1e3], 1), Precision::Double);
    assert_eq!(precision(gaussian(1000.0), &[0.0, 1e3], 1), Precision::Mixed);
    assert_eq!(precision(gaussians(&[1000.0, 1.0]), &[0.0, 1e3], 1), Precision::Double);
    let across = |width: f64| [vec![0.0; 2000], vec![width; 2000]].concat();
    assert_eq!(precision(laplace(), &across(0.01), 2000), Precision::Mixed);
    assert_eq!(precision(laplace(), &across(1.0), 2000), Precision::Double);
    // A common offset costs nothing.
    assert_eq!(precision(gaussian(1.0), &[1e9, 1e9 + 1.0], 1), Precision::Mixed);
    assert_eq!(precision(Shape::Linear, &[0.0, 1.0], 1), Precision::Double);
}
