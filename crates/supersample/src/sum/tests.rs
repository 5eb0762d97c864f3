//! Every sum against its scalar twin: all kernels, both precisions, every instruction set, awkward sizes.

use fearless_simd::Level;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::level::{available_levels, name};
use super::*;

/// Every level of this machine.
pub(super) fn levels() -> Vec<Level> {
    available_levels()
}

const KERNELS: [&str; 9] = [
    "gaussian(1.5)",
    "gaussian(0.7,1.5,4)",
    "gaussian(4,0.7)",
    "laplace(3)",
    "matern12(2)",
    "matern32(2)",
    "matern52(2)",
    "imq(2)",
    "linear",
];

fn random_points(n: usize, dim: usize, seed: u64) -> Points {
    let mut rng = Pcg64::seed_from_u64(seed);
    // The spread of a distance stays near 2 for any dimension, so that kernel values are neither 0 nor 1.
    let scale = 2.0 / (dim as f64).sqrt();
    Points::from_vec((0..n * dim).map(|_| scale * rng.random_range(-1.0..1.0)).collect(), dim).unwrap()
}

/// Kernel values are of size 1, and so are their sums; but for the linear kernel they are also positive.
fn assert_close(got: &[f64], want: &[f64], tolerance: f64, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    let least = if what.starts_with("linear") { 1.0 } else { 1e-3 };
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() <= tolerance * want.abs().max(least), "{what}, row {i}: {got} {want}");
    }
}

/// Mean embeddings of 1, 15, 16, 17, … points, on every level, by the generic routines with an explicit level.
fn check_means(precision: Precision, tolerance: f64) {
    for (n, dim) in
        [(1, 1), (2, 3), (15, 2), (16, 5), (17, 1), (63, 4), (65, 57), (130, 129), (200, 2), (1100, 3)]
    {
        let points = random_points(n, dim, n as u64);
        let others = random_points(n / 2 + 3, dim, 99);
        let weights: Vec<f64> = (0..n).map(|i| (i % 4) as f64 / n as f64 + 1e-3).collect();
        for text in KERNELS {
            let kernel: Kernel = text.parse().unwrap();
            let packed = Packed::new(&kernel, &points, precision);
            if kernel == Kernel::linear() {
                assert_eq!(packed.precision(), Precision::Double);
            } else {
                assert_eq!(packed.precision(), precision, "{text}");
            }
            let beside = packed.beside(&others).unwrap();
            for weights in [None, Some(&weights[..])] {
                let own = scalar::means(&kernel, &points, &points, weights);
                let rectangle = scalar::means(&kernel, &others, &points, weights);
                for level in levels() {
                    let what = format!("{text} {n}×{dim} {precision:?} {}", name(level));
                    let mut out = vec![f64::NAN; n];
                    let mut out_beside = vec![f64::NAN; others.len()];
                    with_panels!(&*packed.panels, panels: T => {
                        with_profile!(&kernel, T, p => own_means(level, p, panels, weights, &mut out, &Tally::new(None, 0)));
                    });
                    match (&*beside.panels, &*packed.panels) {
                        (AnyPanels::Mixed(at), AnyPanels::Mixed(samples)) => {
                            with_profile!(&kernel, f32, p => means(level, p, at, samples, weights, &mut out_beside));
                        }
                        (AnyPanels::Double(at), AnyPanels::Double(samples)) => {
                            with_profile!(&kernel, f64, p => means(level, p, at, samples, weights, &mut out_beside));
                        }
                        _ => unreachable!("both are packed alike"),
                    }
                    assert_close(&out, &own, tolerance, &what);
                    assert_close(&out_beside, &rectangle, tolerance, &what);
                }
            }
        }
    }
}

#[test]
fn means_in_double_agree_with_their_twin_on_every_instruction_set() {
    check_means(Precision::Double, 2e-14);
}

#[test]
fn means_in_mixed_agree_with_their_twin_on_every_instruction_set() {
    check_means(Precision::Mixed, 6e-7);
}

#[test]
fn rows_and_maxima_agree_with_their_twins() {
    for (n, dim) in [(1, 1), (17, 3), (100, 130), (20_000, 2), (9_000, 20)] {
        let points = random_points(n, dim, 7);
        let mu: Vec<f64> = random_points(n, 1, 8).as_slice().to_vec();
        let offsets: Vec<f64> = random_points(n, 1, 9).as_slice().to_vec();
        for text in KERNELS {
            let kernel: Kernel = text.parse().unwrap();
            for (precision, tolerance) in [(Precision::Mixed, 1e-6), (Precision::Double, 1e-13)] {
                let packed = Packed::new(&kernel, &points, precision);
                let y = points.row(n / 2);
                let mut sums = vec![0.25; n];
                packed.add_row(y, 2.0, &mut sums);
                let want: Vec<f64> =
                    scalar::row(&kernel, &points, y).iter().map(|k| 0.25 + 2.0 * k).collect();
                assert_close(&sums, &want, tolerance, text);
                for offsets in [None, Some(&offsets[..])] {
                    let scores = Scores { factor: 3.0, mu: &mu, offsets };
                    let mut fused = vec![0.25; n];
                    let best = packed.add_row_and_argmax(y, 2.0, &mut fused, scores);
                    assert_eq!(fused, sums, "{text}");
                    let offset = |i: usize| offsets.map_or(0.0, |offsets| offsets[i]);
                    let all: Vec<f64> = (0..n).map(|i| 3.0 * mu[i] + sums[i] + offset(i)).collect();
                    assert_eq!(best, scalar::argmax(&all), "{text}");
                    assert_eq!(scores.argmax(&mut sums), best, "{text}");
                    let (mut kept, mut fused) = (packed.empty_row(), vec![0.25; n]);
                    assert_eq!(packed.keep_row_and_argmax(y, &mut kept, 2.0, &mut fused, scores), best, "{text}");
                    assert_eq!(fused, sums, "{text}");
                    let mut row = packed.empty_row();
                    packed.fill_row(y, &mut row);
                    assert!((0..n).all(|i| kept.get(i) == row.get(i)), "{text}");
                }
            }
        }
    }
}

#[test]
fn ties_go_to_the_lowest_index_and_nothing_open_is_none() {
    for n in [1, 7, 8, 9, 40_000] {
        let mu = vec![0.5; n];
        let scores = Scores { factor: 2.0, mu: &mu, offsets: None };
        assert_eq!(scores.argmax(&mut vec![0.0; n]), Some((0, 1.0)));
        let mut sums = vec![0.0; n];
        sums[0] = f64::NEG_INFINITY;
        assert_eq!(scores.argmax(&mut sums), (n > 1).then_some((1, 1.0)));
        assert_eq!(scores.argmax(&mut vec![f64::NEG_INFINITY; n]), None);
        sums[n - 1] = 1.0;
        assert_eq!(scores.argmax(&mut sums), Some((n - 1, 2.0)));
    }
}

#[test]
fn means_do_not_depend_on_the_number_of_threads() {
    let points = random_points(3000, 3, 1);
    let weights: Vec<f64> = (0..3000).map(|i| (i % 7) as f64).collect();
    for precision in [Precision::Mixed, Precision::Double] {
        let packed = Packed::new(&Kernel::matern32(1.0).unwrap(), &points, precision);
        for weights in [None, Some(&weights[..])] {
            let run = |threads| {
                let mut out = vec![0.0; 3000];
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| packed.own_mean_into(weights, &mut out));
                out
            };
            let one = run(1);
            assert_eq!(one, run(2));
            assert_eq!(one, run(7));
        }
    }
}

#[test]
fn wide_spreads_turn_to_double_by_themselves_and_stay_right() {
    let mut numbers = random_points(50, 2, 3).as_slice().to_vec();
    numbers[0] = 1e6;
    let points = Points::from_vec(numbers, 2).unwrap();
    for text in KERNELS {
        let kernel: Kernel = text.parse().unwrap();
        let packed = Packed::new(&kernel, &points, Precision::Mixed);
        assert_eq!(packed.precision(), Precision::Double, "{text}");
        let mut out = vec![0.0; 50];
        packed.own_mean_into(None, &mut out);
        assert_close(&out, &scalar::means(&kernel, &points, &points, None), 1e-9, text);
    }
    let near = random_points(20, 2, 4);
    let packed = Packed::new(&Kernel::gaussian(1.0).unwrap(), &near, Precision::Mixed);
    assert!(packed.beside(&points).is_none());
}

#[test]
fn an_offset_costs_no_precision() {
    let kernel = Kernel::gaussian(1.0).unwrap();
    let near = random_points(100, 2, 5);
    let moved = Points::from_vec(near.as_slice().iter().map(|x| x + 1e5).collect(), 2).unwrap();
    let packed = Packed::new(&kernel, &moved, Precision::Mixed);
    assert_eq!(packed.precision(), Precision::Mixed);
    let mut out = vec![0.0; 100];
    packed.own_mean_into(None, &mut out);
    assert_close(&out, &scalar::means(&kernel, &moved, &moved, None), 6e-7, "moved");
}

#[test]
fn coordinates_near_the_largest_float_are_only_far_apart() {
    let points = Points::from_rows(&[f64::MAX, f64::MIN, 0.0], 1).unwrap();
    for text in ["gaussian(1)", "laplace(1)", "matern52(1)", "imq(1)"] {
        let packed = Packed::new(&text.parse().unwrap(), &points, Precision::Mixed);
        let mut out = vec![f64::NAN; 3];
        packed.own_mean_into(None, &mut out);
        assert!(out.iter().all(|mean| (mean - 1.0 / 3.0).abs() < 1e-15), "{text}: {out:?}");
    }
}
