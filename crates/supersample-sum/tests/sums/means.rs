//! Means of kernel rows against their twins.

use supersample_sum::{Packed, Precision, Rows, Shape, instruction_set};

use crate::{assert_close, is_unbounded, kernels_for, random_points, scalar};

/// Mean embeddings of 1, 15, 16, 17, … points.
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
                let what = format!("{text} {n}×{dim} {precision:?} {}", instruction_set());
                let mut out = vec![f64::NAN; n];
                let mut out_beside = vec![f64::NAN; others.rows().len()];
                packed.own_mean_into(weights, &mut out);
                beside.mean_into(&packed, weights, &mut out_beside);
                assert_close(&out, &own, tolerance, &what);
                assert_close(&out_beside, &rectangle, tolerance, &what);
                // A single point has a loop of its own.
                let alone = packed.beside(Rows::new(others.rows().row(1), dim)).unwrap();
                let mut out_alone = [f64::NAN];
                alone.mean_into(&packed, weights, &mut out_alone);
                assert_close(&out_alone, &rectangle[1..2], tolerance, &what);
            }
        }
    }
}

#[test]
fn means_in_double_agree_with_their_twin() {
    check_means(Precision::Double, 2e-14);
}

#[test]
fn means_in_mixed_agree_with_their_twin() {
    check_means(Precision::Mixed, 6e-7);
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
fn the_mean_at_one_point_does_not_depend_on_the_number_of_threads() {
    let points = random_points(20_000, 3, 1);
    let weights: Vec<f64> = (0..20_000).map(|i| (i % 7) as f64).collect();
    for precision in [Precision::Mixed, Precision::Double] {
        let kernel = Shape::Gaussian { length: 1.0 };
        let packed = Packed::new(kernel.clone(), points.rows(), precision);
        let at = Rows::new(points.rows().row(77), 3);
        for weights in [None, Some(&weights[..])] {
            let run = |threads| {
                let mut out = [0.0];
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| packed.beside(at).unwrap().mean_into(&packed, weights, &mut out));
                out
            };
            let one = run(1);
            assert_eq!((one, one), (run(2), run(7)));
            assert_close(&one, &scalar::means(&kernel, at, points.rows(), weights), 6e-7, "one point");
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

/// Wide points of which some lie far from the others.
fn wide_points(n: usize, dim: usize, seed: u64) -> crate::Points {
    let mut points = random_points(n, dim, seed);
    // A few far from all others, in two groups, whose distances would cancel.
    for i in (0..n).step_by(29) {
        let far = if i % 2 == 0 { 8.0 } else { -6.0 } / (dim as f64).sqrt();
        points.values[i * dim..(i + 1) * dim].iter_mut().for_each(|x| *x = far + 0.1 * *x);
    }
    points
}

#[test]
fn means_by_products_agree_with_their_twin_and_with_kernel_rows() {
    for (n, dim) in [(1, 16), (65, 57), (130, 129), (150, 300), (1100, 20)] {
        let (points, others) = (wide_points(n, dim, n as u64), random_points(n / 2 + 3, dim, 99));
        let weights: Vec<f64> = (0..n).map(|i| (i % 4) as f64 / n as f64 + 1e-3).collect();
        let kernel = Shape::Gaussian { length: 3.0 };
        let what = format!("{n}×{dim} {}", instruction_set());
        for weights in [None, Some(&weights[..])] {
            let packed = Packed::by_products(kernel.clone(), points.rows(), weights).expect(&what);
            assert!(packed.coordinates().are_by_products() && packed.precision() == Precision::Mixed);
            let beside = packed.beside(others.rows()).unwrap();
            let (mut own, mut rectangle) = (vec![f64::NAN; n], vec![f64::NAN; others.rows().len()]);
            packed.own_mean_into(weights, &mut own);
            beside.mean_into(&packed, weights, &mut rectangle);
            assert_close(&own, &scalar::means(&kernel, points.rows(), points.rows(), weights), 2e-6, &what);
            let twin = scalar::means(&kernel, others.rows(), points.rows(), weights);
            assert_close(&rectangle, &twin, 2e-6, &what);
            // The points as rounded, in f64, for which there are no products.
            let mut widened = vec![f64::NAN; others.rows().len()];
            beside.widened().mean_into(&packed.widened(), weights, &mut widened);
            assert_close(&widened, &twin, 2e-6, &what);
        }
        // A kernel row, a tile of one column, the other order and a point that is pushed: the same numbers.
        let packed = Packed::by_products(kernel.clone(), points.rows(), None).expect(&what);
        let y = others.rows().row(1);
        let one = packed.beside(Rows::new(y, dim)).unwrap();
        let mut pushed = packed.none_beside();
        pushed.push(y);
        for column in [&one, &pushed] {
            let (mut row, mut tile) = (vec![0.0; n], vec![0.0; n]);
            packed.add_row(y, 1.0, &mut row);
            packed.mean_into(column, None, &mut tile);
            assert_eq!(row, tile, "{what}");
            let mut back = [0.0];
            column.add_row(points.rows().row(n - 1), 1.0, &mut back);
            assert_eq!(back[0], row[n - 1], "{what}");
        }
    }
}

#[test]
fn products_are_for_wide_points_that_are_near_the_centre_on_average() {
    let points = wide_points(400, 57, 3);
    let by_products = |kernel: Shape, points: Rows<'_>, weights: Option<&[f64]>| {
        Packed::by_products(kernel, points, weights)
    };
    let gaussian = |length| Shape::Gaussian { length };
    assert!(by_products(gaussian(3.0), points.rows(), None).is_some());
    // A shorter length, weights on the far points, another kernel, few columns.
    assert!(by_products(gaussian(1.0), points.rows(), None).is_none());
    let far: Vec<f64> = (0..400).map(|i| f64::from(u8::from(i % 29 == 0))).collect();
    assert!(by_products(gaussian(3.0), points.rows(), Some(&far)).is_none());
    assert!(by_products(Shape::Matern32 { length: 3.0 }, points.rows(), None).is_none());
    assert!(by_products(gaussian(3.0), wide_points(400, 15, 3).rows(), None).is_none());
    // Points that f32 cannot hold.
    let mut wide = wide_points(400, 57, 3);
    wide.values[0] = 1e6;
    assert!(by_products(gaussian(3.0), wide.rows(), None).is_none());
}

/// The worst that the bound allows: all points far from the centre, in two tight groups.
#[test]
fn a_mean_by_products_is_never_off_by_more_than_is_tolerated() {
    let (n, dim) = (600, 64);
    let mut largest: f64 = 0.0;
    for radius in [0.5, 1.0, 2.0, 3.0, 4.0, 6.0] {
        let mut points = random_points(n, dim, 17);
        for (i, x) in points.values.iter_mut().enumerate() {
            let side = if i / dim % 2 == 0 { radius } else { -radius };
            *x = (side + 0.05 * *x) / (dim as f64).sqrt();
        }
        let kernel = Shape::Gaussian { length: 2.0 };
        let Some(packed) = Packed::by_products(kernel.clone(), points.rows(), None) else { continue };
        let mut out = vec![0.0; n];
        packed.own_mean_into(None, &mut out);
        for (got, want) in out.iter().zip(scalar::means(&kernel, points.rows(), points.rows(), None)) {
            largest = largest.max((got - want).abs());
        }
    }
    assert!((1e-9..1e-5).contains(&largest), "{largest}");
}

#[test]
fn means_by_products_do_not_depend_on_the_number_of_threads() {
    let points = wide_points(3000, 20, 1);
    let packed = Packed::by_products(Shape::Gaussian { length: 3.0 }, points.rows(), None).unwrap();
    let run = |threads| {
        let mut out = vec![0.0; 3000];
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| packed.own_mean_into(None, &mut out));
        out
    };
    let one = run(1);
    assert_eq!((&one, &one), (&run(2), &run(7)));
}
