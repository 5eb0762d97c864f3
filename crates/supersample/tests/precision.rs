//! What mixed precision promises, held against double precision: embeddings to 1e-6, E_T to 0.1 % down to 1e-5.

use crate::common;

use common::{random_points, rng};
use rand::RngExt;
use supersample::target::GaussianMixture;
use supersample::{Domain, Empirical, Herder, Kernel, Pick, Points, Pool, Precision, unwatched};

fn herders(kernel: &str, samples: &Points, pool: &Points, weights: Option<&[f64]>) -> [Herder; 2] {
    [Precision::Mixed, Precision::Double].map(|precision| {
        let kernel: Kernel = kernel.parse().unwrap();
        let mu = match weights {
            Some(weights) => Empirical::weighted(kernel, samples.clone(), weights),
            None => Empirical::new(kernel, samples.clone()),
        };
        let herder = Herder::new(mu.unwrap().precision(precision), Domain::Pool(pool.clone())).unwrap();
        assert_eq!(herder.pool().precision(), precision);
        herder
    })
}

/// Herds in mixed precision, replays the picks in double, and compares everything that is said of them. Returns the
/// smallest E_T.
fn check(kernel: &str, samples: &Points, pool: &Points, weights: Option<&[f64]>, picks: usize) -> f64 {
    let [mut mixed, mut double] = herders(kernel, samples, pool, weights);
    for (i, (a, b)) in mixed.pool().values().iter().zip(double.pool().values()).enumerate() {
        // 1e-6 is promised. Of rows far from all others, where μ is small, products keep fewer of its own digits.
        assert!((a - b).abs() < 1e-6 * b + 1e-9, "{kernel}: μ of row {i} is {a}, not {b}");
    }
    let said = mixed.run(picks);
    let rows: Vec<usize> = said.iter().map(|pick| pick.index.unwrap()).collect();
    let truth = double.replay(&rows).unwrap();
    for (said, truth) in said.iter().zip(&truth) {
        let (e, true_e) = (said.error.unwrap(), truth.error.unwrap());
        if true_e >= 1e-5 {
            assert!((e / true_e - 1.0).abs() < 1e-3, "{kernel}: E_{} is {true_e}, not {e}", said.t);
        }
    }
    // The greedy step itself: what f32 picks is as good as what f64 would have picked, to a millionth of T+1.
    let mut double = double.restart();
    let exact: Vec<Pick> = double.run(20);
    for (said, exact) in said.iter().zip(&exact) {
        assert!((said.score - exact.score).abs() < 1e-6 * (said.t + 1) as f64, "{kernel}: T={}", said.t);
        // After a near tie that went the other way the two runs are at different points.
        if said.index != exact.index {
            break;
        }
    }
    truth.iter().map(|pick| pick.error.unwrap()).fold(f64::INFINITY, f64::min)
}

/// A mixture like that of the benchmark shapes A and C.
fn mixture(n: usize, dim: usize) -> Points {
    GaussianMixture::random(10, dim, 1).unwrap().sample(n, 2).unwrap()
}

/// Whitened with heavy tails, like shape B: normals divided by the root of a chi-square, five degrees of freedom.
fn heavy_tails(n: usize, dim: usize) -> Points {
    let mut rng = rng(3);
    let mut numbers = Vec::with_capacity(n * dim);
    for _ in 0..n {
        let mut normal = || -> f64 { rng.sample(rand_distr::StandardNormal) };
        let chi_square: f64 = (0..5).map(|_| normal().powi(2)).sum();
        let scale = (3.0 / chi_square).sqrt();
        numbers.extend((0..dim).map(|_| scale * normal()));
    }
    Points::from_vec(numbers, dim).unwrap()
}

#[test]
fn the_shape_of_benchmark_a_keeps_its_promise() {
    let points = mixture(17_000, 5);
    check("gaussian(1.5)", &points, &points, None, 300);
}

#[test]
fn the_shape_of_benchmark_b_keeps_its_promise() {
    let points = heavy_tails(16_400, 57);
    check("gaussian(10)", &points, &points, None, 200);
}

#[test]
fn the_shape_of_benchmark_c_keeps_its_promise_while_the_error_becomes_tiny() {
    let points = mixture(17_000, 2);
    let smallest = check("gaussian(5)", &points, &points, None, 1700);
    assert!(smallest < 1.2e-3, "{smallest} does not test the first switch to f64");
}

#[test]
fn the_promise_holds_below_what_a_sample_of_the_pairs_can_correct() {
    // All points but a few, which is as close to the target as a subset can come.
    let points = mixture(16_400, 2);
    let weights: Vec<f64> = (0..16_400).map(|i| 1.0 + 1e-3 * f64::from(i % 3)).collect();
    let [mut mixed, mut double] = herders("gaussian(1)", &points, &points, Some(&weights));
    let rows: Vec<usize> = (0..16_398).collect();
    let said = mixed.replay(&rows).unwrap();
    let truth = double.replay(&rows).unwrap();
    let mut smallest = f64::INFINITY;
    for (said, truth) in said.iter().zip(&truth).filter(|(_, truth)| truth.error.unwrap() >= 1e-5) {
        let (e, true_e) = (said.error.unwrap(), truth.error.unwrap());
        assert!((e / true_e - 1.0).abs() < 1e-3, "E_{} is {true_e}, not {e}", said.t);
        smallest = smallest.min(true_e);
    }
    assert!(smallest < 9e-5, "{smallest} does not test the second switch to f64");
}

#[test]
fn every_kernel_keeps_its_promise_with_weights_and_another_pool() {
    let samples = random_points(16_400, 3, &mut rng(7));
    let pool = random_points(700, 3, &mut rng(8));
    let weights: Vec<f64> = (0..16_400).map(|i| f64::from(i % 5)).collect();
    for kernel in
        ["gaussian(1.3)", "gaussian(0.5,1,2)", "laplace(2.5)", "matern12(1.7)", "matern32(1.2)", "imq(0.8)"]
    {
        check(kernel, &samples, &pool, Some(&weights), 60);
    }
    check("matern52(0.9)", &samples, &samples, Some(&weights), 60);
}

#[test]
fn rows_that_repeat_keep_the_promise_when_their_errors_become_tiny() {
    let samples = random_points(16_400, 1, &mut rng(17));
    let pool = random_points(40, 1, &mut rng(18));
    // 300 picks of 40 rows; in double precision the sums of the ledger are not used.
    let smallest = check("gaussian(4)", &samples, &pool, None, 300);
    assert!(smallest < 2e-3, "{smallest} does not test sums in f64 over repeated rows");
}

#[test]
fn given_points_with_masses_keep_the_promise_when_their_errors_become_tiny() {
    let (samples, pool) = (random_points(16_400, 2, &mut rng(11)), random_points(200, 2, &mut rng(12)));
    let herders = || herders("gaussian(4)", &samples, &pool, None);
    // The switch to f64 is where E²·√(mass) falls below 2.5e-4 (`embedding/error_terms.rs`).
    let is_small =
        |pick: &Pick, mass: f64| pick.error.unwrap().powi(2) * (mass + pick.t as f64).sqrt() < 2.5e-4;
    // Given points that are no good, so that it comes among the picks, and herded ones, so that it comes among them.
    let herded: Vec<usize> = herders()[0].run(150).iter().map(|pick| pick.index.unwrap()).collect();
    for (given, spread, is_early) in [((0..60).collect(), 0.25, false), (herded, 0.03, true)] {
        let points = pool.select(&given).unwrap();
        let weights: Vec<f64> = (0..given.len()).map(|i| 1.0 + spread * ((i % 7) as f64 - 3.0)).collect();
        let given = |herder: Herder| herder.starting_from(points.clone(), weights.clone()).unwrap();
        let [mut mixed, mut double] = herders().map(given);
        let said = mixed.run(100);
        let rows: Vec<usize> = said.iter().map(|pick| pick.index.unwrap()).collect();
        let truth = double.replay(&rows).unwrap();
        for (said, truth) in said.iter().zip(&truth) {
            let (e, true_e) = (said.error.unwrap(), truth.error.unwrap());
            assert!((e / true_e - 1.0).abs() < 1e-3, "E_{} is {true_e}, not {e}", said.t);
            let (norm, true_norm) = (said.weight_norm.unwrap(), truth.weight_norm.unwrap());
            assert!((norm / true_norm - 1.0).abs() < 1e-3, "‖w_{}‖ is {true_norm}, not {norm}", said.t);
        }
        let mass = weights.iter().sum();
        assert_eq!(is_small(&truth[0], mass), is_early, "{:?}", truth[0]);
        assert!(truth[80..].iter().all(|pick| is_small(pick, mass)), "{:?}", truth[80]);
    }
}

#[test]
fn what_f32_cannot_hold_is_done_in_double_without_being_asked() {
    let mut numbers = random_points(16_400, 2, &mut rng(9)).as_slice().to_vec();
    let narrow = Points::from_vec(numbers.clone(), 2).unwrap();
    numbers[0] = 1e5;
    let wide = Points::from_vec(numbers, 2).unwrap();
    let precision = |samples: &Points, pool: &Points| {
        let mu = Empirical::new(Kernel::gaussian(1.0).unwrap(), samples.clone()).unwrap();
        Herder::new(mu, Domain::Pool(pool.clone())).unwrap().pool().precision()
    };
    assert_eq!(precision(&narrow, &narrow), Precision::Mixed);
    assert_eq!(precision(&wide, &wide), Precision::Double);
    assert_eq!(precision(&narrow, &wide), Precision::Double);
    let few = narrow.select(&[0, 1, 2, 3]).unwrap();
    assert_eq!(precision(&few, &few), Precision::Double);
    let linear = Empirical::new(Kernel::linear(), narrow).unwrap();
    assert_eq!(linear.precision_in_use(), Precision::Double);
}

#[test]
fn the_floor_of_errors_is_that_of_the_largest_kernel_value() {
    let scaled = |by: f64| {
        let numbers = random_points(40, 3, &mut rng(13)).as_slice().iter().map(|x| x * by).collect();
        Points::from_vec(numbers, 3).unwrap()
    };
    let floor = |kernel: &str, target: &Points, pool: &Points| {
        let mu = Empirical::new(kernel.parse().unwrap(), target.clone()).unwrap();
        Pool::new(mu, pool.clone()).unwrap().error_floor()
    };
    let (small, large) = (scaled(0.01), scaled(10.0));
    let squares = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum::<f64>();
    let largest = large.rows().map(|x| squares(x, &[0.0; 3])).fold(0.0, f64::max);
    let furthest = large.rows().map(|x| squares(x, large.row(0)).sqrt()).fold(0.0, f64::max);
    let far = Points::from_rows(&[30.0, 40.0, 0.0], 3).unwrap();
    for (kernel, target, pool, value) in [
        ("gaussian(1)", &large, &large, 1.0),
        ("linear", &small, &small, 1.0),
        ("linear", &large, &large, largest),
        ("linear", &far, &small, 2500.0),
        // No two points are further apart than twice the furthest from the first.
        ("energy", &large, &large, 2.0 * furthest),
        ("energy", &small, &small, 1.0),
    ] {
        let (got, want) = (floor(kernel, target, pool), (32.0 * f64::EPSILON * value).sqrt());
        assert!((got / want - 1.0).abs() < 1e-12, "{kernel}: {got} {want}");
    }
}

#[test]
fn other_subsets_are_measured_as_precisely() {
    let points = mixture(17_000, 3);
    let [mixed, double] = herders("gaussian(1)", &points, &points, None);
    let mut rng = rng(10);
    for size in [1, 30, 1000] {
        let rows: Vec<usize> = (0..size).map(|_| rng.random_range(0..17_000)).collect();
        let (a, b) = (
            mixed.pool().mmd_of_rows(&rows).unwrap().unwrap(),
            double.pool().mmd_of_rows(&rows).unwrap().unwrap(),
        );
        assert!((a / b - 1.0).abs() < 1e-4, "{size}: {a} {b}");
    }
}

#[test]
fn refined_sets_are_measured_as_precisely() {
    use supersample::{RefineOptions, Refiner, metrics};
    let points = mixture(17_000, 2);
    let kernel = Kernel::gaussian(2.0).unwrap();
    let mu = Empirical::new(kernel.clone(), points.clone()).unwrap();
    assert_eq!(mu.precision_in_use(), Precision::Mixed);
    let refiner = Refiner::new(mu.clone(), points.clone(), RefineOptions::default()).unwrap();
    for size in [20, 200] {
        let set = refiner.choose(size, &unwatched).unwrap();
        let rows = Empirical::new(kernel.clone(), points.select(&set.rows).unwrap()).unwrap();
        let truth = metrics::mmd(&mu, &rows).unwrap();
        // The larger set is so close that its error is measured in f64; f32 would miss it by three times as much.
        let promised = if size == 200 { 1e-5 } else { 1e-3 };
        assert!((set.error.unwrap() / truth - 1.0).abs() < promised, "{size}: {:?} {truth}", set.error);
        assert!(set.error <= set.swept_error && set.swept_error <= set.start_error);
    }
}
