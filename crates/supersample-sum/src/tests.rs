//! Every sum against its scalar twin: all kernels, both precisions, every instruction set, awkward sizes.

use fearless_simd::Level;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::level::{available_levels, name};
use crate::means::{Means, OwnMeans};
use crate::tally::Tally;
use crate::{Packed, Precision, Rows, Scores, Shape, Stein, SteinBase, SteinLayout, scalar};

/// Every level of this machine.
pub(crate) fn levels() -> Vec<Level> {
    available_levels()
}

pub(crate) fn gaussians(lengths: &[f64]) -> Shape<'static> {
    Shape::Gaussians { lengths: lengths.to_vec().into() }
}

/// Every kernel, with a name for messages.
pub(crate) fn kernels() -> Vec<(String, Shape<'static>)> {
    let kernels = [
        Shape::Gaussian { length: 1.5 },
        gaussians(&[0.7, 1.5, 4.0]),
        gaussians(&[4.0, 0.7]),
        Shape::Laplace { length: 3.0 },
        Shape::Matern12 { length: 2.0 },
        Shape::Matern32 { length: 2.0 },
        Shape::Matern52 { length: 2.0 },
        Shape::Imq { length: 2.0 },
        Shape::Linear,
        Shape::Energy,
        Shape::Manhattan { length: 60.0 },
        stein(SteinBase::Imq, SteinLayout::Isotropic { root: 1.3 }),
        stein(SteinBase::Imq, SteinLayout::Full),
        stein(SteinBase::Gaussian, SteinLayout::Isotropic { root: 0.8 }),
        stein(SteinBase::Gaussian, SteinLayout::Full),
    ];
    kernels.into_iter().map(|kernel| (format!("{kernel:?}"), kernel)).collect()
}

fn stein(base: SteinBase, layout: SteinLayout) -> Shape<'static> {
    Shape::Stein(Stein { base, layout, trace: 1.7 })
}

/// The kernels that rows of so many numbers can have.
fn kernels_for(dim: usize) -> impl Iterator<Item = (String, Shape<'static>)> {
    let fits = move |(_, kernel): &(String, Shape<'static>)| match kernel {
        Shape::Stein(stein) => dim.is_multiple_of(stein.layout.columns()),
        _ => true,
    };
    kernels().into_iter().filter(fits)
}

/// Whether a kernel has no bound and is f64 whatever is asked for.
fn is_unbounded(kernel: &Shape) -> bool {
    matches!(kernel, Shape::Linear | Shape::Energy | Shape::Stein(_))
}

/// Numbers whose owner a test keeps.
struct Points {
    values: Vec<f64>,
    dim: usize,
}

impl Points {
    fn rows(&self) -> Rows<'_> {
        Rows::new(&self.values, self.dim)
    }
}

fn random_points(n: usize, dim: usize, seed: u64) -> Points {
    let mut rng = Pcg64::seed_from_u64(seed);
    // The spread of a distance stays near 2 for any dimension, so that kernel values are neither 0 nor 1.
    let scale = 2.0 / (dim as f64).sqrt();
    Points { values: (0..n * dim).map(|_| scale * rng.random_range(-1.0..1.0)).collect(), dim }
}

/// Kernel values are of size 1, and so are their sums; but for the linear and the Stein kernels they are also of one sign.
fn assert_close(got: &[f64], want: &[f64], tolerance: f64, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    let least = if what.starts_with("Linear") || what.starts_with("Stein") { 1.0 } else { 1e-3 };
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
        for (text, kernel) in kernels_for(dim) {
            let packed = Packed::new(kernel.clone(), points.rows(), precision);
            if is_unbounded(&kernel) {
                assert_eq!(packed.precision(), Precision::Double);
            } else {
                assert_eq!(packed.precision(), precision, "{text}");
            }
            let beside = packed.beside(others.rows()).unwrap();
            for weights in [None, Some(&weights[..])] {
                let own = scalar::means(&kernel, points.rows(), points.rows(), weights);
                let rectangle = scalar::means(&kernel, others.rows(), points.rows(), weights);
                for level in levels() {
                    let what = format!("{text} {n}×{dim} {precision:?} {}", name(level));
                    let mut out = vec![f64::NAN; n];
                    let mut out_beside = vec![f64::NAN; others.rows().len()];
                    let tally = Tally::new(None, 0);
                    packed.launch(OwnMeans { level, weights, out: &mut out, tally: &tally });
                    beside.launch(Means { level, samples: &packed.panels, weights, out: &mut out_beside });
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
        let mu: Vec<f64> = random_points(n, 1, 8).values;
        let offsets: Vec<f64> = random_points(n, 1, 9).values;
        for (text, kernel) in kernels_for(dim) {
            // Of the sign of the kernel, so that nothing cancels.
            let start = if kernel.constant_diagonal() == Some(0.0) { -0.25 } else { 0.25 };
            for (precision, tolerance) in [(Precision::Mixed, 1e-6), (Precision::Double, 1e-13)] {
                let packed = Packed::new(kernel.clone(), points.rows(), precision);
                let y = points.rows().row(n / 2);
                let mut sums = vec![start; n];
                packed.add_row(y, 2.0, &mut sums);
                let want: Vec<f64> =
                    scalar::row(&kernel, points.rows(), y).iter().map(|k| start + 2.0 * k).collect();
                assert_close(&sums, &want, tolerance, &text);
                for offsets in [None, Some(&offsets[..])] {
                    let scores = Scores { factor: 3.0, mu: &mu, offsets };
                    let mut fused = vec![start; n];
                    let best = packed.add_row_and_argmax(y, 2.0, &mut fused, scores);
                    assert_eq!(fused, sums, "{text}");
                    let offset = |i: usize| offsets.map_or(0.0, |offsets| offsets[i]);
                    let all: Vec<f64> = (0..n).map(|i| 3.0 * mu[i] + sums[i] + offset(i)).collect();
                    assert_eq!(best, scalar::argmax(&all), "{text}");
                    assert_eq!(scores.argmax(&mut sums), best, "{text}");
                    let (mut kept, mut fused) = (packed.empty_row(), vec![start; n]);
                    assert_eq!(
                        packed.keep_row_and_argmax(y, &mut kept, 2.0, &mut fused, scores),
                        best,
                        "{text}"
                    );
                    assert_eq!(fused, sums, "{text}");
                    let mut row = packed.empty_row();
                    packed.fill_row(y, &mut row);
                    assert!((0..n).all(|i| kept.get(i) == row.get(i)), "{text}");
                    // A second row added to a kept one, alone and fused.
                    let z = points.rows().row(n / 3);
                    let more = scalar::row(&kernel, points.rows(), z);
                    packed.add_to_row(z, 0.5, &mut row);
                    let sum: Vec<f64> = (0..n).map(|i| row.get(i)).collect();
                    let want: Vec<f64> = (0..n).map(|i| kept.get(i) + 0.5 * more[i]).collect();
                    assert_close(&sum, &want, 2.0 * tolerance, &text);
                    let mut fused = vec![start; n];
                    let best = packed.add_to_row_and_argmax(z, 0.5, &mut kept, 2.0, &mut fused, scores);
                    assert!((0..n).all(|i| kept.get(i) == sum[i]), "{text}");
                    assert!((0..n).all(|i| fused[i] == start + 2.0 * sum[i]), "{text}");
                    assert_eq!(best, scores.argmax(&mut fused), "{text}");
                }
            }
        }
    }
}

#[test]
fn points_that_come_one_by_one_sum_as_if_packed_at_once() {
    let points = random_points(37, 3, 21);
    for (text, kernel) in kernels_for(3) {
        for precision in [Precision::Mixed, Precision::Double] {
            let packed = Packed::forced(kernel.clone(), points.rows(), precision);
            assert_eq!(packed.precision(), precision);
            let mut grown = packed.none_beside();
            assert_eq!(grown.row_sum(points.rows().row(0)), 0.0);
            points.rows().iter().for_each(|point| grown.push(point));
            let y = points.rows().row(5);
            let want: f64 = scalar::row(&kernel, points.rows(), y).iter().sum();
            assert_eq!(grown.row_sum(y), packed.row_sum(y), "{text}");
            assert!((grown.row_sum(y) - want).abs() < 37.0 * 1e-6, "{text}");
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
        let packed = Packed::new(Shape::Matern32 { length: 1.0 }, points.rows(), precision);
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
    let mut points = random_points(50, 2, 3);
    points.values[0] = 1e6;
    let points = points.rows();
    for (text, kernel) in kernels_for(2) {
        let packed = Packed::new(kernel.clone(), points, Precision::Mixed);
        assert_eq!(packed.precision(), Precision::Double, "{text}");
        let mut out = vec![0.0; 50];
        packed.own_mean_into(None, &mut out);
        assert_close(&out, &scalar::means(&kernel, points, points, None), 1e-9, &text);
    }
    let near = random_points(20, 2, 4);
    let packed = Packed::new(Shape::Gaussian { length: 1.0 }, near.rows(), Precision::Mixed);
    assert!(packed.beside(points).is_none());
}

#[test]
fn an_offset_costs_no_precision() {
    let kernel = Shape::Gaussian { length: 1.0 };
    let near = random_points(100, 2, 5);
    let moved: Vec<f64> = near.values.iter().map(|x| x + 1e5).collect();
    let moved = Rows::new(&moved, 2);
    let packed = Packed::new(kernel.clone(), moved, Precision::Mixed);
    assert_eq!(packed.precision(), Precision::Mixed);
    let mut out = vec![0.0; 100];
    packed.own_mean_into(None, &mut out);
    assert_close(&out, &scalar::means(&kernel, moved, moved, None), 6e-7, "moved");
}

#[test]
fn coordinates_near_the_largest_float_are_only_far_apart() {
    let points = Rows::new(&[f64::MAX, f64::MIN, 0.0], 1);
    let length = 1.0;
    for kernel in [
        Shape::Gaussian { length },
        Shape::Laplace { length },
        Shape::Matern52 { length },
        Shape::Imq { length },
    ] {
        let packed = Packed::new(kernel.clone(), points, Precision::Mixed);
        let mut out = vec![f64::NAN; 3];
        packed.own_mean_into(None, &mut out);
        assert!(out.iter().all(|mean| (mean - 1.0 / 3.0).abs() < 1e-15), "{kernel:?}: {out:?}");
    }
}

#[test]
fn points_packed_apart_in_equal_coordinates_meet_and_others_do_not() {
    let (points, others) = (random_points(40, 3, 11), random_points(30, 3, 12));
    let pack = |length| Packed::new(Shape::Imq { length }, points.rows(), Precision::Double);
    let at = pack(2.0).beside(others.rows()).unwrap();
    let mut out = vec![0.0; 30];
    at.mean_into(&pack(2.0), None, &mut out);
    let want = scalar::means(&Shape::Imq { length: 2.0 }, others.rows(), points.rows(), None);
    assert_close(&out, &want, 2e-14, "imq");
    let refused = std::panic::catch_unwind(|| at.mean_into(&pack(2.5), None, &mut [0.0; 30]));
    assert!(refused.is_err());
}

#[test]
fn a_watch_is_told_of_every_pair_and_can_end_the_work() {
    use std::ops::ControlFlow;
    use std::sync::atomic::{AtomicU64, Ordering};
    let points = random_points(300, 2, 13);
    let packed = Packed::new(Shape::Gaussian { length: 1.0 }, points.rows(), Precision::Double);
    let (most, calls) = (AtomicU64::new(0), AtomicU64::new(0));
    let count = |done, total| {
        assert_eq!(total, 300 * 301 / 2);
        most.fetch_max(done, Ordering::Relaxed);
        ControlFlow::Continue(())
    };
    assert!(packed.own_mean_watched(None, &mut [0.0; 300], Some(&count)).is_continue());
    assert_eq!(most.into_inner(), 300 * 301 / 2);
    let end = |_, _| {
        calls.fetch_add(1, Ordering::Relaxed);
        ControlFlow::Break(())
    };
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert!(one.install(|| packed.own_mean_watched(None, &mut [0.0; 300], Some(&end))).is_break());
    assert_eq!(calls.into_inner(), 1);
}
