//! Landmarks against the exact mean embedding, batch by batch, as bytes, and with an error bar that is true.

use crate::common;

use std::ops::ControlFlow;

use common::KERNELS;
use supersample::embedding::{KernelSums, LandmarkSums};
use supersample::target::GaussianMixture;
use supersample::{
    Empirical, Error, Family, Herder, Kernel, Landmarks, MeanEmbedding, Points, Pool, Precision, Progress,
    instruction_set, metrics, unwatched,
};

fn draws(n: usize, dim: usize) -> Points {
    GaussianMixture::random(4, dim, 1).unwrap().sample(n, 2).unwrap()
}

fn first(points: &Points, count: usize) -> Points {
    points.select(&(0..count).collect::<Vec<_>>()).unwrap()
}

fn uneven(n: usize) -> Vec<f64> {
    (0..n).map(|i| if i % 7 == 0 { 0.0 } else { 1.0 + (i % 5) as f64 }).collect()
}

fn samples(kernel: &Kernel, points: &Points, weights: Option<&[f64]>) -> Empirical {
    match weights {
        None => Empirical::new(kernel.clone(), points.clone()).unwrap(),
        Some(weights) => Empirical::weighted(kernel.clone(), points.clone(), weights).unwrap(),
    }
}

fn values(mu: &dyn MeanEmbedding, points: &Points) -> Vec<f64> {
    let mut values = vec![0.0; points.len()];
    mu.values_into(points, &mut values);
    values
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// ‖μ − Σ aᵢ φ(zᵢ)‖² from all kernel values, in f64.
fn squared_residual(exact: &Empirical, mu: &Landmarks) -> f64 {
    let (z, a, kernel) = (mu.points(), mu.coefficients(), exact.kernel());
    let row = |x: &[f64]| z.rows().map(|y| kernel.value(x, y)).collect::<Vec<f64>>();
    let own: f64 = z.rows().zip(a).map(|(x, weight)| weight * dot(&row(x), a)).sum();
    exact.double_squared_norm() - 2.0 * dot(a, &values(exact, z)) + own
}

/// With every row a landmark nothing is left out, whatever the kernel and the weights.
#[test]
fn all_rows_as_landmarks_give_the_exact_embedding() {
    let points = draws(250, 3);
    let elsewhere = GaussianMixture::random(4, 3, 1).unwrap().sample(40, 9).unwrap();
    let weights = uneven(250);
    for text in KERNELS.into_iter().chain(["energy"]) {
        let kernel: Kernel = text.parse().unwrap();
        for weights in [None, Some(&weights[..])] {
            let exact = samples(&kernel, &points, weights);
            let mu = Landmarks::of(&exact, points.clone(), points.clone(), &unwatched).unwrap();
            let scale = exact.mean_diagonal().unwrap().max(exact.single_draw().unwrap());
            for (got, want) in values(&mu, &elsewhere).iter().zip(values(&exact, &elsewhere)) {
                assert!((got - want).abs() < 1e-6 * scale, "{text}: {got} {want}");
            }
            let (got, want) = (mu.mean_diagonal().unwrap(), exact.mean_diagonal().unwrap());
            assert!((got - want).abs() < 1e-12 * scale, "{text}: {got} {want}");
            if weights.is_none() {
                let (got, want) = (mu.squared_norm().unwrap(), exact.squared_norm().unwrap());
                assert!((got - want).abs() < 1e-12 * scale, "{text}: {got} {want}");
                // All rows are control rows, so that nothing is estimated, and rounding is left.
                assert!(mu.squared_norm_error().unwrap() < 1e-12 * scale, "{text}");
            }
            let mut gradient = [f64::NAN; 3];
            let x = elsewhere.row(0);
            let value = mu.gradient_into(x, &mut gradient);
            assert!((value - values(&mu, &elsewhere)[0]).abs() < 1e-12 * scale, "{text}");
            for i in 0..3 {
                let at = |h: f64| {
                    let mut moved = x.to_vec();
                    moved[i] += h;
                    values(&mu, &Points::from_rows(&moved, 3).unwrap())[0]
                };
                let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!(
                    (gradient[i] - difference).abs() < 1e-6 * scale,
                    "{text}: {} {difference}",
                    gradient[i]
                );
            }
        }
    }
}

/// |μ(x) − μ̃(x)| ≤ ‖φ(x)‖·‖μ − μ̃‖, and the residual that is told is the one of the full kernel matrix.
#[test]
fn few_landmarks_are_off_by_no_more_than_their_residual() {
    let points = draws(400, 2);
    let weights = uneven(400);
    for text in KERNELS.into_iter().chain(["energy"]) {
        let kernel: Kernel = text.parse().unwrap();
        for weights in [None, Some(&weights[..])] {
            let exact = samples(&kernel, &points, weights);
            let mu = Landmarks::of(&exact, first(&points, 25), points.clone(), &unwatched).unwrap();
            let residual = squared_residual(&exact, &mu).max(0.0).sqrt();
            let size = exact.mean_diagonal().unwrap().max(exact.single_draw().unwrap()).sqrt();
            let differences =
                values(&mu, &points).into_iter().zip(values(&exact, &points)).zip(points.rows());
            // Where only differences of equal mass have a norm, a point has none.
            for ((got, want), x) in differences.filter(|_| text != "energy") {
                let most = kernel.diagonal(x).sqrt() * residual + 1e-7 * size * size;
                assert!((got - want).abs() <= most, "{text}: {got} {want} {most}");
            }
            if weights.is_none() {
                let told = mu.residual().unwrap();
                assert!((told - residual).abs() < 1e-6 * size, "{text}: {told} {residual}");
                assert!(mu.error_bound() >= told);
            }
        }
    }
}

/// Kernel values in f32: the projection is as good as in f64, but for the rounding that the ridge allows for.
#[test]
fn mixed_precision_costs_no_more_than_its_rounding() {
    let n = Precision::MIXED_FROM + 100;
    let weights = uneven(n);
    for (text, dim) in
        [("gaussian(1)", 1), ("gaussian(1)", 3), ("matern52(2)", 2), ("imq(1)", 2), ("laplace(3)", 4)]
    {
        let points = draws(n, dim);
        let kernel: Kernel = text.parse().unwrap();
        for weights in [None, Some(&weights[..])] {
            let mixed = samples(&kernel, &points, weights);
            let double = mixed.clone().precision(Precision::Double);
            let landmarks = first(&points, 300);
            let controls = first(&points, 800);
            let of = |samples: &Empirical| {
                Landmarks::of(samples, landmarks.clone(), controls.clone(), &unwatched).unwrap()
            };
            let (a, b) = (of(&mixed), of(&double));
            let (left, exact) = (squared_residual(&double, &a), squared_residual(&double, &b));
            assert!(left < 1.3 * exact + 5e-9, "{text} in {dim}: {left:e} {exact:e}");
            let (got, want) = (a.squared_norm().unwrap(), b.squared_norm().unwrap());
            assert!((got - want).abs() < 1e-7, "{text} in {dim}: {got} {want}");
        }
    }
}

/// α is fitted to means that are rounded, which makes ‖μ‖² and with it E² too large, by 4e-9 to 5e-8 here, unless what is expected of
/// it is taken off.
#[test]
fn rounded_means_do_not_make_errors_too_large() {
    let kernel = Kernel::gaussian(1.0).unwrap();
    let (mut off, mut known) = (0.0, 0.0);
    for seed in 0..3 {
        let normal =
            GaussianMixture::new(&[1.0], Points::from_rows(&[0.0], 1).unwrap(), &[vec![1.0]]).unwrap();
        let points = normal.sample(Precision::MIXED_FROM + 100, seed).unwrap();
        let samples = samples(&kernel, &points, None);
        let mu = Landmarks::of(&samples, first(&points, 400), points.clone(), &unwatched).unwrap();
        assert_eq!(mu.sums().sums().precision(), Precision::Mixed);
        known += mu.squared_norm_error().unwrap() / 3.0;
        let picks = Herder::over(Pool::new(mu, points.clone()).unwrap()).run(100);
        let rows: Vec<usize> = picks.iter().map(|pick| pick.index.unwrap()).collect();
        let chosen = Empirical::new(kernel.clone(), points.select(&rows).unwrap()).unwrap();
        let exact = metrics::squared_mmd(&samples.precision(Precision::Double), &chosen).unwrap();
        off += (picks[99].squared_error.unwrap() - exact) / 3.0;
    }
    let most = match instruction_set() {
        "avx512" => 4e-9,
        "avx2" => 9e-9,
        _ => 3e-8,
    };
    assert!(off.abs() < known && known < most, "{off:e} ± {known:e}");
}

/// Weights that leave few rows need double precision as few rows do: in single precision ‖μ‖² was too large.
#[test]
fn very_uneven_weights_are_summed_in_double_precision() {
    let points = draws(Precision::MIXED_FROM + 100, 1);
    let kernel = Kernel::gaussian(1.0).unwrap();
    let uneven: Vec<f64> = (0..points.len()).map(|i| (6.0 * (i as f64 * 0.7).sin()).exp()).collect();
    let mut even = uneven.clone();
    even.iter_mut().for_each(|w| *w = w.powf(1e-3));
    let of = |weights: &[f64]| {
        let samples = Empirical::weighted(kernel.clone(), points.clone(), weights).unwrap();
        Landmarks::of(&samples, first(&points, 200), first(&points, 1000), &unwatched).unwrap()
    };
    let mu = of(&uneven);
    assert_eq!(mu.sums().sums().precision(), Precision::Double);
    assert_eq!(of(&even).sums().sums().precision(), Precision::Mixed);
    let exact = Empirical::weighted(kernel.clone(), points.clone(), &uneven).unwrap();
    let exact = exact.precision(Precision::Double).squared_norm().unwrap();
    let (norm, known) = (mu.squared_norm().unwrap(), mu.squared_norm_error().unwrap());
    assert!((norm - exact).abs() < 3.0 * known && known < 1e-9, "{norm} {exact} ± {known:e}");
}

#[test]
fn batches_and_merged_parts_are_one_sum_in_any_precision() {
    let n = 5000;
    let (points, weights) = (draws(n, 3), uneven(n));
    let landmarks = first(&points, 70);
    let controls = first(&points, 200);
    let kernel = Family::Matern32.kernel(&[1.5]).unwrap();
    for precision in [Precision::Mixed, Precision::Double] {
        for weights in [None, Some(&weights[..])] {
            let empty = || {
                LandmarkSums::new(kernel.clone(), landmarks.clone(), Some(controls.clone()), precision)
                    .unwrap()
            };
            let part = |rows: std::ops::Range<usize>, sums: &mut LandmarkSums| {
                let weights = weights.map(|weights| &weights[rows.clone()]);
                let batch = points.select(&rows.collect::<Vec<_>>()).unwrap();
                sums.update(&batch, weights, &unwatched).unwrap();
            };
            let mut whole = empty();
            part(0..n, &mut whole);
            let (mut one, mut other) = (empty(), empty());
            for rows in [0..1, 1..18, 18..2000] {
                part(rows, &mut one);
            }
            part(2000..n, &mut other);
            let mut merged = one.clone();
            merged.merge(&other).unwrap();
            let mut again = one.clone();
            again.merge(&other).unwrap();
            assert_eq!(merged.to_bytes(), again.to_bytes());
            assert_eq!((merged.sums().rows(), merged.sums().weight()), (n as u64, whole.sums().weight()));
            let (a, b) = (merged.sums().means().unwrap(), whole.sums().means().unwrap());
            let rounding = if precision == Precision::Double { 1e-14 } else { 1e-7 };
            assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < rounding), "{precision:?}");
            let exact = samples(&kernel, &points, weights).precision(Precision::Double);
            let exact = values(&exact, whole.sums().points());
            assert!(b.iter().zip(&exact).all(|(a, b)| (a - b).abs() < 10.0 * rounding), "{precision:?}");
        }
    }
}

#[test]
fn sums_that_do_not_go_together_are_refused_and_bad_batches_change_nothing() {
    let points = draws(50, 2);
    let kernel = Kernel::gaussian(1.0).unwrap();
    let sums = |kernel: &Kernel, landmarks: &Points, controls: usize, precision| {
        LandmarkSums::new(kernel.clone(), landmarks.clone(), Some(first(&points, controls)), precision)
            .unwrap()
    };
    let mut one = sums(&kernel, &first(&points, 10), 20, Precision::Double);
    assert_eq!(one.finish().err(), Some(Error::NothingSummed));
    let other_kernel = sums(&Kernel::gaussian(2.0).unwrap(), &first(&points, 10), 20, Precision::Double);
    assert!(matches!(one.merge(&other_kernel), Err(Error::KernelMismatch { .. })));
    let other_precision = sums(&kernel, &first(&points, 10), 20, Precision::Mixed);
    let fewer = sums(&kernel, &first(&points, 9), 20, Precision::Double);
    let shifted = LandmarkSums::new(kernel.clone(), points.clone(), None, Precision::Double).unwrap();
    for other in [other_precision, fewer, shifted] {
        assert_eq!(one.merge(&other), Err(Error::OtherLandmarks));
    }
    let line = Points::from_rows(&[1.0, 2.0], 1).unwrap();
    assert!(matches!(one.update(&line, None, &unwatched), Err(Error::DimensionMismatch { .. })));
    assert!(LandmarkSums::new(kernel.clone(), points.clone(), Some(line), Precision::Double).is_err());
    let before = one.to_bytes();
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        let refused = one.update(&first(&points, 2), Some(&[1.0, bad]), &unwatched);
        assert!(matches!(refused, Err(Error::BadWeight { index: 1, .. })));
    }
    assert!(matches!(one.update(&points, Some(&[1.0]), &unwatched), Err(Error::WeightCount { .. })));
    assert_eq!(one.update(&points, None, &|_| ControlFlow::Break(())), Err(Error::Interrupted));
    one.update(&first(&points, 2), Some(&[0.0, 0.0]), &unwatched).unwrap();
    assert_eq!(one.finish().err(), Some(Error::NothingSummed));
    assert_eq!(before.len(), one.to_bytes().len());
    // Weights of any size.
    for size in [1e-300, 1e300] {
        let mut huge = sums(&kernel, &first(&points, 10), 20, Precision::Mixed);
        huge.update(&points, Some(&vec![size; 50]), &unwatched).unwrap();
        let mut plain = sums(&kernel, &first(&points, 10), 20, Precision::Mixed);
        plain.update(&points, None, &unwatched).unwrap();
        let pairs = huge.sums().means().unwrap().into_iter().zip(plain.sums().means().unwrap());
        pairs.for_each(|(a, b)| assert!((a - b).abs() < 1e-6, "{a} {b}"));
    }
}

#[test]
fn bytes_come_back_as_they_were_and_damage_is_refused() {
    let points = draws(60, 2);
    let kernel = Kernel::gaussians(&[0.5, 1.25]).unwrap();
    for (precision, controls) in [(Precision::Mixed, Some(first(&points, 12))), (Precision::Double, None)] {
        let mut sums = LandmarkSums::new(kernel.clone(), first(&points, 7), controls, precision).unwrap();
        sums.update(&points, Some(&uneven(60)), &unwatched).unwrap();
        let bytes = sums.to_bytes();
        let back = LandmarkSums::from_bytes(&bytes).unwrap();
        assert_eq!(back.to_bytes(), bytes);
        let (a, b) = (sums.finish().unwrap(), back.finish().unwrap());
        assert_eq!((a.coefficients(), a.squared_norm()), (b.coefficients(), b.squared_norm()));
        assert_eq!(values(&a, &points), values(&b, &points));
        for cut in 0..bytes.len() {
            assert!(
                matches!(LandmarkSums::from_bytes(&bytes[..cut]), Err(Error::BadLandmarks { .. })),
                "{cut}"
            );
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 4;
            assert!(LandmarkSums::from_bytes(&damaged).is_err(), "{at}");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(LandmarkSums::from_bytes(&longer).is_err());
    }
}

/// A rare far row does not fit f32 beside the others: it is summed in f64, and samples that have it are f64 throughout.
#[test]
fn rows_that_are_spread_too_wide_are_summed_in_double_precision() {
    let n = Precision::MIXED_FROM + 10;
    let mut numbers = draws(n, 2).as_slice().to_vec();
    (numbers[2 * n - 2], numbers[2 * n - 1]) = (1e7, -1e7);
    let points = Points::from_vec(numbers, 2).unwrap();
    let kernel = Family::Imq.kernel(&[1.0]).unwrap();
    let exact = samples(&kernel, &points, None);
    let near = first(&points, 40);
    let mut sums = KernelSums::new(kernel.clone(), near.clone(), Precision::Mixed);
    assert_eq!(sums.precision(), Precision::Mixed);
    sums.update(&points, None, &unwatched).unwrap();
    let double = values(&exact.clone().precision(Precision::Double), &near);
    assert!(sums.means().unwrap().iter().zip(&double).all(|(a, b)| (a - b).abs() < 1e-6));
    let far = sums.at(points.select(&[n - 1]).unwrap()).unwrap();
    assert_eq!(far.precision(), Precision::Double);
    let mu = Landmarks::of(&exact, near.clone(), first(&points, 100), &unwatched).unwrap();
    assert_eq!(mu.sums().sums().precision(), Precision::Double);
    let pool = Pool::new(mu, points.clone()).unwrap();
    assert_eq!(pool.precision(), Precision::Double);
    // Landmarks without the rows behind them, over a pool that has the far one.
    let mut sums =
        LandmarkSums::new(kernel, near.clone(), Some(first(&points, 100)), Precision::Mixed).unwrap();
    sums.update(&near, None, &unwatched).unwrap();
    let pool = Pool::new(sums.finish().unwrap(), points).unwrap();
    assert_eq!((pool.precision(), Herder::over(pool).run(3).len()), (Precision::Double, 3));
}

/// Nothing but ‖μ‖² is an estimate where the samples are in memory: the MMD of any points, with any weights.
#[test]
fn the_mmd_of_points_is_exact_but_for_the_norm() {
    let n = Precision::MIXED_FROM + 100;
    let points = draws(n, 3);
    for (text, precision) in [("gaussian(1)", Precision::Mixed), ("laplace(2)", Precision::Double)] {
        let exact = samples(&text.parse().unwrap(), &points, None).precision(precision);
        // The rows are draws, so that any but the landmarks are as good as rows at random.
        let controls = points.select(&(100..600).collect::<Vec<_>>()).unwrap();
        let mu = Landmarks::of(&exact, first(&points, 100), controls, &unwatched).unwrap();
        let shift = mu.squared_norm().unwrap() - exact.squared_norm().unwrap();
        assert!(shift.abs() < 4.0 * mu.squared_norm_error().unwrap(), "{shift:e}");
        for count in [3, 70] {
            let some = first(&points, count);
            let signed: Vec<f64> = (0..count).map(|i| if i % 5 == 0 { -0.1 } else { 0.4 }).collect();
            for weights in [None, Some(&signed[..])] {
                let squared = |mu: &dyn MeanEmbedding| {
                    metrics::mmd_of_points(mu, &some, weights, &unwatched).unwrap().powi(2)
                };
                let (got, want) = (squared(&mu), squared(&exact));
                // In f32 the points are rounded in coordinates of their own.
                let rounding = if precision == Precision::Double { 1e-13 } else { 5e-8 };
                assert!(
                    (got - want - shift).abs() < rounding * want.max(1.0),
                    "{text}: {got} {want} {shift:e}"
                );
            }
        }
        let other = samples(exact.kernel(), &first(&points, 50), None);
        let (a, b) = (metrics::inner_product(&mu, &other), metrics::inner_product(&other, &exact));
        assert!((a.unwrap() - b.unwrap()).abs() < 1e-9);
    }
}

#[test]
fn threads_change_nothing() {
    let points = draws(20_000, 3);
    let exact = samples(&Kernel::gaussian(1.0).unwrap(), &points, None);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mu = Landmarks::of(&exact, first(&points, 150), first(&points, 300), &unwatched).unwrap();
            let numbers = (mu.coefficients().to_vec(), mu.recalled(), mu.squared_norm());
            let picks = Herder::over(Pool::new(mu, points.clone()).unwrap()).run(30);
            (numbers, picks)
        })
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(5));
}

#[test]
fn what_was_computed_can_be_recalled() {
    let points = draws(500, 2);
    let exact = samples(&Kernel::gaussian(1.0).unwrap(), &points, Some(&uneven(500)));
    let (z, c) = (first(&points, 30), first(&points, 90));
    let mu = Landmarks::of(&exact, z.clone(), c.clone(), &unwatched).unwrap();
    let numbers = mu.recalled();
    let again = Landmarks::recall(&exact, z.clone(), c.clone(), &numbers).unwrap();
    assert_eq!((again.squared_norm(), again.coefficients()), (mu.squared_norm(), mu.coefficients()));
    assert_eq!((values(&again, &points), again.recalled()), (values(&mu, &points), numbers.clone()));
    let short = Landmarks::recall(&exact, z.clone(), c.clone(), &numbers[1..]);
    assert!(matches!(short, Err(Error::RecalledCount { .. })));
    let bad = Landmarks::recall(&exact, z, c, &vec![f64::NAN; numbers.len()]);
    assert!(matches!(bad, Err(Error::NonFiniteNumber { .. })));
}

#[test]
fn every_phase_is_watched_and_can_be_ended() {
    let points = draws(40_000, 2);
    let exact = samples(&Kernel::gaussian(1.0).unwrap(), &points, None);
    for phase in 0..2 {
        let ended = Landmarks::of(&exact, first(&points, 100), first(&points, 60), &|progress| {
            let reached = match progress {
                Progress::Summing { done, total } => (0, done > 0 && total == 40_000),
                Progress::Solving { done, total } => (1, done == 64 && total == 100),
                other => panic!("{other:?}"),
            };
            if reached == (phase, true) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(ended.err(), Some(Error::Interrupted), "{phase}");
    }
}
