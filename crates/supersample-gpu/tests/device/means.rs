//! Means of kernel rows, in each precision, by differences and by products.

use std::ops::ControlFlow;
use std::sync::Mutex;

use supersample_gpu::{Device, Error, Plan, Points};
use supersample_sum::{Packed, Precision, Rows, Shape};

use crate::{assert_close, device, kernels, mean, random, scalar};

/// Sizes around a tile, dimensions around a step of the products and beyond what stays in shared memory.
const SIZES: [(usize, usize); 12] = [
    (1, 1),
    (2, 3),
    (63, 2),
    (128, 5),
    (129, 4),
    (300, 17),
    (257, 33),
    (500, 57),
    (130, 129),
    (1100, 10),
    (9000, 3),
    (8500, 20),
];

fn check_means(precision: Precision, tolerance: f64) {
    let Some(device) = device() else { return };
    let mut products = 0;
    for (n, dim) in SIZES {
        let (values, others) = (random(n, dim, n as u64), random(n / 2 + 3, dim, 99));
        let (points, at) = (Rows::new(&values, dim), Rows::new(&others, dim));
        let weights: Vec<f64> = (0..n).map(|i| (i % 4) as f64 / n as f64 + 1e-3).collect();
        for shape in kernels() {
            let packed = Points::new(&device, shape.clone(), points, precision).unwrap();
            let on_cpu = Packed::new(shape.clone(), points, precision);
            assert_eq!(packed.precision(), on_cpu.precision(), "{shape:?}");
            products += usize::from(packed.use_products());
            let beside = packed.beside(at).unwrap().expect("no wider spread");
            let some = if n > 2000 { 40 } else { at.len() };
            for weights in [None, Some(&weights[..])] {
                let what = format!("{shape:?} {n}×{dim} {precision:?} products {}", packed.use_products());
                let own = mean(packed.own_mean(weights, None).unwrap());
                let again = mean(packed.own_mean(weights, None).unwrap());
                assert!(own == again, "{what}: not the same bits");
                let few = Rows::new(&values[..n.min(some) * dim], dim);
                assert_close(
                    &own[..n.min(some)],
                    &scalar::means(&shape, few, points, weights),
                    tolerance,
                    &what,
                );
                let last = Rows::new(&values[(n - 1) * dim..], dim);
                assert_close(&own[n - 1..], &scalar::means(&shape, last, points, weights), tolerance, &what);
                let rectangle = mean(beside.mean_over(&packed, weights, None).unwrap());
                let few = Rows::new(&others[..some * dim], dim);
                let want = scalar::means(&shape, few, points, weights);
                assert_close(&rectangle[..some], &want, tolerance, &what);
            }
        }
    }
    assert!((precision == Precision::Mixed) == (products > 0));
    println!("checked on {}; products in {products} cases", device.name());
}

#[test]
fn means_in_double_agree_with_their_twin() {
    check_means(Precision::Double, 2e-13);
}

#[test]
fn means_in_mixed_agree_with_their_twin() {
    check_means(Precision::Mixed, 1e-6);
}

#[test]
fn points_larger_than_the_memory_are_summed_in_parts() {
    let Some(whole) = device() else { return };
    for (dim, precision) in
        [(5, Precision::Mixed), (2, Precision::Mixed), (70, Precision::Mixed), (3, Precision::Double)]
    {
        let n = 3000;
        let values = random(n, dim, 5);
        let points = Rows::new(&values, dim);
        let weights: Vec<f64> = (0..n).map(|i| 1.0 + (i % 3) as f64).collect();
        let parts = Device::open_with_memory(2 * 700 * (8 * dim + 96)).unwrap();
        for weights in [None, Some(&weights[..])] {
            let shape = Shape::Gaussian { length: 1.5 };
            let run = |device: &Device| {
                let (mut own, mut rectangle) = (vec![f64::NAN; n], vec![f64::NAN; 900]);
                let plan = Plan::new(shape.clone(), points, precision);
                let own_flow = device.own_mean(&plan, points, weights, &mut own, None);
                assert!(own_flow.unwrap().is_continue());
                let at = Rows::new(&values[..900 * dim], dim);
                let flow = device.mean(&plan, at, points, weights, &mut rectangle, None);
                assert!(flow.unwrap().is_continue());
                (own, rectangle)
            };
            let (a, b) = (run(&whole), run(&parts));
            // Which rows share a float sum depends on where a part begins; the sums themselves do not depend on order.
            assert_close(&a.0, &b.0, 1e-6, "own");
            assert_close(&a.1, &b.1, 1e-6, "rectangle");
            assert!(run(&parts) == b);
            let few = Rows::new(&values[..30 * dim], dim);
            assert_close(&b.0[..30], &scalar::means(&shape, few, points, weights), 1e-6, "parts");
        }
    }
}

#[test]
fn what_does_not_fit_is_an_error_that_says_so() {
    let Some(_) = device() else { return };
    let small = Device::open_with_memory(1000).unwrap();
    let values = random(1000, 5, 1);
    let shape = Shape::Gaussian { length: 1.0 };
    let error = Points::new(&small, shape, Rows::new(&values, 5), Precision::Double).err();
    assert!(matches!(error, Some(Error::OutOfMemory { free: 1000, .. })), "{error:?}");
}

#[test]
fn a_watch_counts_every_pair_and_can_break() {
    let Some(device) = device() else { return };
    let values = random(5000, 3, 2);
    let points =
        Points::new(&device, Shape::Imq { length: 1.0 }, Rows::new(&values, 3), Precision::Mixed).unwrap();
    let seen = Mutex::new(Vec::new());
    let watch = |done, total| {
        seen.lock().unwrap().push((done, total));
        ControlFlow::Continue(())
    };
    assert!(points.own_mean(None, Some(&watch)).unwrap().is_continue());
    let pairs = 5000 * 5001 / 2;
    assert_eq!(seen.lock().unwrap().last(), Some(&(pairs, pairs)));
    assert!(points.own_mean(None, Some(&|_, _| ControlFlow::Break(()))).unwrap().is_break());
}

#[test]
fn widened_points_have_the_coordinates_of_f32_and_the_sums_of_f64() {
    let Some(device) = device() else { return };
    let (n, dim) = (5000, 7);
    let values = random(n, dim, 12);
    let rows = Rows::new(&values, dim);
    for shape in kernels() {
        let points = Points::new(&device, shape.clone(), rows, Precision::Mixed).unwrap();
        let on_cpu = Packed::new(shape.clone(), rows, Precision::Mixed);
        let (mut want, mut few) = (vec![0.0; n], vec![0.0; 30]);
        on_cpu.widened().own_mean_into(None, &mut want);
        let wide = points.widened().unwrap();
        assert_eq!(wide.precision(), Precision::Double);
        assert_close(&mean(wide.own_mean(None, None).unwrap()), &want, 2e-13, &format!("{shape:?} own"));
        let at = Rows::new(&values[..30 * dim], dim);
        let at_there = Points::planned(&device, &points.plan(), at).unwrap().widened().unwrap();
        on_cpu.beside(at).unwrap().widened().mean_into(&on_cpu.widened(), None, &mut few);
        let got = mean(at_there.mean_over(&wide, None, None).unwrap());
        assert_close(&got, &few, 2e-13, &format!("{shape:?} at some"));
    }
}

/// Two clusters far from each other, the worst there is for products: every point is far from the centre, and half of all
/// kernel values are near one.
#[test]
fn two_clusters_keep_the_promise_as_long_as_products_are_taken() {
    let Some(device) = device() else { return };
    let mut seen = [0, 0];
    for dim in [4, 8, 57, 130] {
        for half_squared in [0.5, 1.5, 3.0, 5.0, 20.0] {
            let length = 1.0;
            let shift = (half_squared / (dim as f64 * 0.5 * std::f64::consts::LOG2_E)).sqrt();
            let mut values = random(3000, dim, 11);
            for (i, row) in values.chunks_exact_mut(dim).enumerate() {
                let side = if i % 2 == 0 { shift } else { -shift };
                row.iter_mut().for_each(|x| *x = 0.1 * *x + side);
            }
            let rows = Rows::new(&values, dim);
            for shape in [Shape::Gaussian { length }, Shape::Imq { length: 0.85 }] {
                let points = Points::new(&device, shape.clone(), rows, Precision::Mixed).unwrap();
                assert_eq!(points.precision(), Precision::Mixed);
                seen[usize::from(points.use_products())] += 1;
                let got = mean(points.own_mean(None, None).unwrap());
                let few = Rows::new(&values[..300 * dim], dim);
                let want = scalar::means(&shape, few, rows, None);
                let worst = got.iter().zip(&want).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                println!("{dim} {half_squared} products {}: {worst:e}", points.use_products());
                assert!(worst < 1e-6, "{shape:?} {dim} {half_squared}: {worst:e}");
            }
        }
    }
    assert!(seen.iter().all(|&many| many > 5), "{seen:?}");
}

/// Points so close that products would be right and so far from the origin that only the centre makes them so; and points
/// spread so wide that they are not.
#[test]
fn wide_spreads_are_summed_by_differences_and_stay_right() {
    let Some(device) = device() else { return };
    let shape = Shape::Gaussian { length: 1.0 };
    for (spread, offset, products) in [(0.3, 0.0, true), (0.3, 1e4, true), (8.0, 0.0, false)] {
        let values: Vec<f64> = random(700, 8, 4).iter().map(|x| spread * x + offset).collect();
        let rows = Rows::new(&values, 8);
        let points = Points::new(&device, shape.clone(), rows, Precision::Mixed).unwrap();
        assert_eq!(points.precision(), Precision::Mixed);
        assert_eq!(points.use_products(), products, "{spread}");
        let got = mean(points.own_mean(None, None).unwrap());
        assert_close(&got, &scalar::means(&shape, rows, rows, None), 1e-6, &format!("{spread}"));
    }
}
