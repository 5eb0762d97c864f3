//! Every sum on the device against its twin, a plain double loop in f64 (that of supersample-sum's own tests). Without a device each test says that it was skipped.

#[path = "../../supersample-sum/tests/sums/scalar.rs"]
mod scalar;

use std::ops::ControlFlow;
use std::sync::Mutex;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use supersample_gpu::{Device, Error, Mean, Noise, Outcome, Part, Plan, Points, Scores, Set, Visit};
use supersample_sum::{Packed, Precision, Rows, Shape};

fn device() -> Option<Device> {
    match Device::open() {
        Ok(device) => Some(device),
        Err(error @ (Error::NoDriver | Error::NoDevice { .. })) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn kernels() -> Vec<Shape<'static>> {
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

#[test]
fn rows_scores_and_maxima_agree_with_their_twins() {
    let Some(device) = device() else { return };
    for (n, dim) in [(1, 1), (17, 3), (100, 130), (20_000, 2), (9_000, 600)] {
        let values = random(n, dim, 7);
        let rows = Rows::new(&values, dim);
        let (mu, offsets) = (random(n, 1, 8), random(n, 1, 9));
        for shape in kernels() {
            for (precision, tolerance) in [(Precision::Mixed, 2e-6), (Precision::Double, 1e-13)] {
                let points = Points::new(&device, shape.clone(), rows, precision).unwrap();
                let what = format!("{shape:?} {n}×{dim} {precision:?}");
                let want = scalar::row(&shape, rows, rows.row(n / 2));
                let kernel = points.kernel_row(n / 2).unwrap();
                assert_close(&kernel, &want, tolerance, &what);
                for offsets in [None, Some(&offsets[..])] {
                    let start = vec![0.25; n];
                    let score = |sums: &[f64], i: usize| match offsets {
                        Some(offsets) => 3.0 * mu[i] + sums[i] + offsets[i],
                        None => 3.0 * mu[i] + sums[i],
                    };
                    let mut scores = Scores::new(points.clone(), Vec::new(), &mu, offsets, true).unwrap();
                    scores.set_sums(&start).unwrap();
                    let best =
                        |sums: &[f64]| argmax(n, |i| score(sums, i)).map(|(i, score)| (i, score, sums[i]));
                    let got =
                        |scores: &mut Scores| scores.best(3.0).unwrap().map(|p| (p.index, p.score, p.sum));
                    assert_eq!(got(&mut scores), best(&start), "{what}");
                    scores.choose(n / 2).unwrap();
                    let mut sums: Vec<f64> = (0..n).map(|i| 0.25 - kernel[i]).collect();
                    sums[n / 2] = f64::NEG_INFINITY;
                    assert_eq!(got(&mut scores), best(&sums), "{what}");
                    assert_eq!(scores.sum(n / 3).unwrap(), sums[n / 3], "{what}");
                    assert!(scores.sums().unwrap() == sums, "{what}");
                }
            }
        }
    }
}

/// Kernel rows of points with a part, as the device makes them: the row of the kernel, and the part's times its factor added.
fn summed_row(points: &Points, parts: &[Part], i: usize) -> Vec<f64> {
    let mut row = points.kernel_row(i).unwrap();
    for Part { views, factor } in parts {
        for (sum, value) in row.iter_mut().zip(views.kernel_row(i).unwrap()) {
            *sum = match points.precision() {
                Precision::Mixed => f64::from((*factor as f32).mul_add(value as f32, *sum as f32)),
                _ => factor.mul_add(value, *sum),
            };
        }
    }
    row
}

#[test]
fn visits_agree_with_a_plain_loop_with_parts_and_without() {
    let Some(device) = device() else { return };
    for (n, dim, precision) in [
        (40, 2, Precision::Double),
        (3000, 5, Precision::Mixed),
        (3000, 5, Precision::Double),
        (20_011, 57, Precision::Mixed),
    ] {
        let (values, views) = (random(n, dim, 21), random(n, 3, 22));
        let (start, numbers) = (random(n, 1, 23), random(3 * n, 1, 24));
        let numbers: Vec<f32> = numbers.iter().map(|&x| x as f32).collect();
        let noise = Noise::new(&device, &numbers).unwrap();
        let points =
            Points::new(&device, Shape::Gaussian { length: 0.8 }, Rows::new(&values, dim), precision)
                .unwrap();
        let part = |shape: Shape<'static>, factor: f64| {
            let coordinates = supersample_sum::Coordinates::new(shape, Rows::new(&views, 3));
            let plan = Plan::forced(coordinates.into(), precision);
            Part { views: Points::planned(&device, &plan, Rows::new(&views, 3)).unwrap(), factor }
        };
        let manhattan = part(Shape::Manhattan { length: 6.0 }, 0.3);
        let both = vec![manhattan.clone(), part(Shape::Linear, 0.7)];
        for (parts, repeats) in [(Vec::new(), false), (vec![manhattan], false), (both, true)] {
            let what = format!("{n}×{dim} {precision:?} {} parts, repeats {repeats}", parts.len());
            let mut chosen: Vec<usize> = (0..7).map(|t| t * 5).collect();
            let closed = [1, n - 1];
            let mut set = Set::new(points.clone(), parts.clone(), &start, &chosen, &closed, repeats).unwrap();
            // The plain loop, on rows of the device.
            let mut rows: Vec<Vec<f64>> = chosen.iter().map(|&i| summed_row(&points, &parts, i)).collect();
            let mut w = start.clone();
            rows.iter().for_each(|row| w.iter_mut().zip(row).for_each(|(w, k)| *w -= k));
            let mut visits = Vec::new();
            for step in 0..60 {
                let noise = (step % 3 > 0).then_some((step * 11 % (2 * n), 0.5 / (1.0 + step as f64)));
                visits.push(Visit { position: step * 3 % 7, noise, threshold: 1e-3 * (step % 5) as f64 });
            }
            let mut want = Vec::new();
            for &Visit { position, noise, threshold } in &visits {
                let here = chosen[position];
                let is_open =
                    |i: usize| i != here && !closed.contains(&i) && (repeats || !chosen.contains(&i));
                let fit = |i: usize| w[i] + rows[position][i];
                let score = |i: usize| match noise {
                    Some((first, scale)) => fit(i) + scale * f64::from(numbers[first + i]),
                    None => fit(i),
                };
                let (best, highest) =
                    argmax(n, |i| if is_open(i) { score(i) } else { f64::NEG_INFINITY }).unwrap();
                let taken = highest > fit(here) + threshold;
                want.push(Outcome { best: Some(best), fit: fit(best), fit_here: fit(here), taken });
                if taken {
                    let row = summed_row(&points, &parts, best);
                    let mut stages = vec![rows[position].clone()];
                    for count in 0..=parts.len() {
                        stages.push(summed_row(&points, &parts[..count], best));
                    }
                    for pair in stages.windows(2) {
                        let change = pair[0].iter().zip(&pair[1]).map(|(before, after)| before - after);
                        w.iter_mut().zip(change).for_each(|(w, change)| *w += change);
                    }
                    rows[position] = row;
                    chosen[position] = best;
                }
            }
            assert!(want.iter().any(|o| o.taken) && want.iter().any(|o| !o.taken), "{what}");
            // Some at once, and some one by one.
            let mut got = set.visit(&visits[..25], Some(&noise)).unwrap();
            for visit in &visits[25..] {
                got.extend(set.visit(&[*visit], Some(&noise)).unwrap());
            }
            assert_eq!(got, want, "{what}");
            assert_eq!(set.chosen(), chosen, "{what}");
            let all: Vec<usize> = (0..n).collect();
            assert!(set.sums_of(&all).unwrap() == w, "{what}");
            // Put back where they were; a row may only have moved to another position.
            let first: Vec<usize> = (0..7).map(|t| t * 5).collect();
            set.put(&first.iter().copied().enumerate().collect::<Vec<_>>()).unwrap();
            let mut afresh =
                Set::new(points.clone(), parts.clone(), &start, &first, &closed, repeats).unwrap();
            let (back, afresh) = (set.sums_of(&all).unwrap(), afresh.sums_of(&all).unwrap());
            assert!(back.iter().zip(&afresh).all(|(a, b)| (a - b).abs() < 1e-11), "{what}");
        }
    }
}

#[test]
fn rows_that_do_not_fit_are_made_again_at_each_visit() {
    let Some(_) = device() else { return };
    let (n, dim) = (20_000, 3);
    let values = random(n, dim, 31);
    let start = random(n, 1, 32);
    let visits: Vec<Visit> =
        (0..40).map(|i| Visit { position: i % 10, noise: None, threshold: 0.0 }).collect();
    let run = |device: Device| {
        let shape = Shape::Matern32 { length: 0.7 };
        let points = Points::new(&device, shape, Rows::new(&values, dim), Precision::Mixed).unwrap();
        let chosen: Vec<usize> = (0..10).collect();
        let mut set = Set::new(points, Vec::new(), &start, &chosen, &[], false).unwrap();
        (set.visit(&visits, None).unwrap(), set.chosen().to_vec())
    };
    assert!(run(Device::open().unwrap()) == run(Device::open_with_memory(600_000).unwrap()));
}

fn argmax(n: usize, score: impl Fn(usize) -> f64) -> Option<(usize, f64)> {
    scalar::argmax(&(0..n).map(score).collect::<Vec<_>>())
}

#[test]
fn herding_agrees_with_a_plain_loop() {
    let Some(device) = device() else { return };
    for (n, dim, unique) in
        [(1, 1, false), (7, 2, true), (3000, 2, true), (3000, 2, false), (20_000, 5, true)]
    {
        let values = random(n, dim, 3);
        let rows = Rows::new(&values, dim);
        for shape in [Shape::Gaussian { length: 0.4 }, Shape::Matern12 { length: 0.5 }] {
            for precision in [Precision::Mixed, Precision::Double] {
                let points = Points::new(&device, shape.clone(), rows, precision).unwrap();
                let ControlFlow::Continue(mean) = points.own_mean(None, None).unwrap() else { panic!() };
                let mu = mean.to_vec().unwrap();
                // The plain loop, on the kernel rows of the device.
                let count = 30;
                let (mut sums, mut want) = (vec![0.0; n], Vec::new());
                for t in 0..count {
                    let factor = 1.0 + t as f64;
                    let Some((i, score)) = argmax(n, |i| factor * mu[i] + sums[i]) else { break };
                    want.push((i, score, sums[i]));
                    let row = points.kernel_row(i).unwrap();
                    sums.iter_mut().zip(row).for_each(|(sum, k)| *sum -= k);
                    if unique {
                        sums[i] = f64::NEG_INFINITY;
                    }
                }
                let what = format!("{shape:?} {n}×{dim} {precision:?}");
                assert_eq!(want.len(), if unique { n.min(count) } else { count }, "{what}");
                let mut scores = Scores::new(points.clone(), Vec::new(), &mu, None, unique).unwrap();
                let calls = Mutex::new(0);
                let watch = |_, _| {
                    *calls.lock().unwrap() += 1;
                    ControlFlow::Continue(())
                };
                // In two calls, between which the last pick waits.
                let mut picks = scores.herd(1.0, 11, None).unwrap();
                if picks.len() == 11 {
                    picks.extend(scores.herd(12.0, count - 11, Some(&watch)).unwrap());
                    assert!(*calls.lock().unwrap() > 0);
                }
                let got: Vec<_> = picks.iter().map(|pick| (pick.index, pick.score, pick.sum)).collect();
                assert_eq!(got, want, "{what}");
                assert!(scores.sums().unwrap() == sums, "{what}");
            }
        }
    }
}

#[test]
fn herding_with_parts_agrees_with_a_plain_loop() {
    let Some(device) = device() else { return };
    for (n, precision) in [(3000, Precision::Double), (20_000, Precision::Mixed)] {
        let (values, views, mu) = (random(n, 5, 41), random(n, 4, 42), random(n, 1, 43));
        let points =
            Points::new(&device, Shape::Imq { length: 0.7 }, Rows::new(&values, 5), precision).unwrap();
        let part = |shape: Shape<'static>, factor: f64| {
            let coordinates = supersample_sum::Coordinates::new(shape, Rows::new(&views, 4));
            let plan = Plan::forced(coordinates.into(), precision);
            Part { views: Points::planned(&device, &plan, Rows::new(&views, 4)).unwrap(), factor }
        };
        let parts = vec![part(Shape::Manhattan { length: 8.0 }, 0.4), part(Shape::Linear, 0.2)];
        let mut scores = Scores::new(points.clone(), parts.clone(), &mu, None, true).unwrap();
        let (mut sums, mut want) = (vec![0.0; n], Vec::new());
        for t in 0..20 {
            let (i, score) = argmax(n, |i| (1.0 + t as f64) * mu[i] + sums[i]).unwrap();
            want.push((i, score, sums[i]));
            for (row, factor) in std::iter::once((points.kernel_row(i).unwrap(), 1.0))
                .chain(parts.iter().map(|part| (part.views.kernel_row(i).unwrap(), part.factor)))
            {
                sums.iter_mut().zip(row).for_each(|(sum, k)| *sum -= factor * k);
            }
            sums[i] = f64::NEG_INFINITY;
        }
        let mut picks = scores.herd(1.0, 10, None).unwrap();
        for t in 10..20 {
            let pick = scores.best(1.0 + f64::from(t)).unwrap().unwrap();
            scores.choose_found();
            picks.push(pick);
        }
        let got: Vec<_> = picks.iter().map(|pick| (pick.index, pick.score, pick.sum)).collect();
        assert_eq!(got, want, "{n}");
        assert!(scores.sums().unwrap() == sums);
    }
}

#[test]
fn of_equal_scores_the_first_is_found_and_nothing_where_all_are_closed() {
    let Some(device) = device() else { return };
    let n = 40_000;
    let values = vec![0.5; n];
    let points =
        Points::new(&device, Shape::Gaussian { length: 1.0 }, Rows::new(&values, 1), Precision::Mixed)
            .unwrap();
    let mut scores = Scores::new(points, Vec::new(), &vec![0.5; n], None, true).unwrap();
    let best = |scores: &mut Scores| scores.best(2.0).unwrap().map(|pick| (pick.index, pick.score));
    assert_eq!(best(&mut scores), Some((0, 1.0)));
    let mut sums = vec![0.0; n];
    (sums[9_000], sums[35_000]) = (3.0, 3.0);
    scores.set_sums(&sums).unwrap();
    assert_eq!(best(&mut scores), Some((9_000, 4.0)));
    scores.set_sums(&vec![f64::NEG_INFINITY; n]).unwrap();
    assert_eq!(best(&mut scores), None);
    assert_eq!(scores.herd(1.0, 5, None).unwrap(), []);
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
