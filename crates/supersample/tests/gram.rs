//! Rows that are known by a Gram matrix: chosen as from the points it was made of, and what is no Gram matrix refused.

use crate::common;

use common::{random_points, rng};
use rand::RngExt;
use supersample::weights::{WeightRule, optimal_of_rows};
use supersample::{
    AscentOptions, Domain, Empirical, Error, Functions, Gram, Herder, Kernel, MeanEmbedding, Part, Pick,
    Points, Pool, Precision, RefineOptions, Refined, Refiner, bandwidth, metrics, unwatched,
};

/// One kind of each: a constant diagonal of 1, one that varies, and values of either sign.
const KERNELS: [&str; 4] = ["gaussian(1.1)", "laplace(2)", "linear", "gaussian(0.6,2)"];

fn matrix(kernel: &Kernel, points: &Points) -> Vec<f64> {
    points.rows().flat_map(|x| points.rows().map(|y| kernel.value(x, y))).collect()
}

/// The pool of points in double precision, and that of their Gram matrix.
struct Case {
    points: Pool,
    gram: Pool,
    target: Gram,
    weights: Vec<f64>,
    seed: u64,
}

fn case(seed: u64) -> Case {
    let mut rng = rng(seed);
    let (n, dim) = (rng.random_range(40..120), rng.random_range(2..6));
    let kernel: Kernel = KERNELS[seed as usize % KERNELS.len()].parse().unwrap();
    let points = random_points(n, dim, &mut rng);
    let weights: Vec<f64> = (0..n).map(|_| rng.random_range(0.1..3.0)).collect();
    let values = matrix(&kernel, &points);
    let (mu, target) = match seed % 2 {
        0 => (Empirical::new(kernel, points.clone()).unwrap(), Gram::new(values, n).unwrap()),
        _ => (
            Empirical::weighted(kernel, points.clone(), &weights).unwrap(),
            Gram::weighted(values, n, &weights).unwrap(),
        ),
    };
    let points = Pool::new(mu.precision(Precision::Double), points).unwrap();
    let gram = target.pool().unwrap();
    Case { points, gram, target, weights, seed }
}

fn assert_same_picks(case: &Case, what: &str, run: impl Fn(&Pool) -> Vec<Pick>) {
    let (one, other) = (run(&case.points), run(&case.gram));
    let rows = |picks: &[Pick]| picks.iter().map(|pick| pick.index).collect::<Vec<_>>();
    assert_eq!(rows(&one), rows(&other), "{} {what}", case.seed);
    for (a, b) in one.iter().zip(&other) {
        let close = |a: Option<f64>, b: Option<f64>| (a.unwrap() - b.unwrap()).abs() < 1e-9;
        assert!(close(a.squared_error, b.squared_error), "{} {what}", case.seed);
        assert!(close(a.weight_norm.map(|it| it * it), b.weight_norm.map(|it| it * it)));
        assert_eq!(b.point[..], [b.index.unwrap() as f64]);
    }
}

fn assert_same_sets(case: &Case, what: &str, run: impl Fn(&Pool) -> Refined) {
    let (one, other) = (run(&case.points), run(&case.gram));
    assert_eq!(one.rows, other.rows, "{} {what}", case.seed);
    let close = |a: Option<f64>, b: Option<f64>| (a.unwrap() - b.unwrap()).abs() < 1e-7;
    assert!(close(one.error, other.error) && close(one.start_error, other.start_error));
    let work = |set: &Refined| (set.sweeps, set.swaps, set.kernel_rows, set.converged);
    assert_eq!(work(&one), work(&other), "{} {what}", case.seed);
}

#[test]
fn the_target_is_the_weighted_mean_of_the_matrix() {
    for seed in [1, 2] {
        let case = case(seed);
        let n = case.weights.len();
        let weights: Vec<f64> = match case.target.weights() {
            Some(weights) => weights.to_vec(),
            None => vec![1.0 / n as f64; n],
        };
        let k = |i: usize, j: usize| {
            let kernel = case.points.embedding().kernel();
            kernel.value(case.points.points().row(i), case.points.points().row(j))
        };
        let mut norm = 0.0;
        for i in 0..n {
            let mu: f64 = (0..n).map(|j| weights[j] * k(i, j)).sum();
            assert!((case.gram.values()[i] - mu).abs() < 1e-13);
            norm += weights[i] * mu;
        }
        assert!((case.gram.squared_norm().unwrap() - norm).abs() < 1e-13);
        let diagonal: f64 = (0..n).map(|i| weights[i] * k(i, i)).sum();
        assert!((case.target.single_draw().unwrap() - (diagonal - norm)).abs() < 1e-12);
        assert_eq!((case.gram.precision(), case.gram.points().len()), (Precision::Double, n));
    }
}

#[test]
fn rows_are_herded_as_from_the_points() {
    for seed in 0..24 {
        let case = case(seed);
        assert_same_picks(&case, "plain", |pool| Herder::over(pool.clone()).run(12));
        assert_same_picks(&case, "unique", |pool| {
            Herder::over(pool.clone()).unique(true).excluding(&[3, 8]).unwrap().run(12)
        });
        assert_same_picks(&case, "continued", |pool| {
            let mut herder = Herder::over(pool.clone()).keeping(1 << 20);
            herder.replay(&[5, 1, 5]).unwrap();
            herder.run(6)
        });
        assert_same_picks(&case, "given", |pool| {
            let given = pool.points().select(&[2, 9]).unwrap();
            Herder::over(pool.clone()).starting_from(given, vec![1.5, 0.5]).unwrap().run(6)
        });
        assert_same_picks(&case, "trace", |pool| Herder::trace(pool, &[7, 0, 11, 7]).unwrap());
    }
}

#[test]
fn sets_are_refined_as_from_the_points() {
    for seed in 0..24 {
        let case = case(100 + seed);
        let groups: Vec<usize> = (0..case.weights.len()).map(|i| i % 3).collect();
        let plain = RefineOptions::default;
        for (what, options) in [
            ("plain", plain()),
            ("no memory", plain().memory(0).ordered(false)),
            ("repeats", plain().repeats(true)),
            ("in and out", plain().include(&[1, 4]).exclude(&[0, 7])),
            ("groups by mass", plain().groups(&groups, None)),
            ("groups with quotas", plain().groups(&groups, Some(&[2, 3, 4]))),
        ] {
            let refiner = |pool: &Pool| Refiner::over(pool.clone(), options.clone()).unwrap();
            assert_same_sets(&case, what, |pool| refiner(pool).choose(9, &unwatched).unwrap());
        }
        assert_same_sets(&case, "fewest", |pool| {
            let start = Refiner::over(pool.clone(), plain()).unwrap();
            let goal = 0.3 * pool.embedding().single_draw().unwrap().sqrt();
            start.fewest(goal, &unwatched).unwrap().set
        });
    }
}

#[test]
fn weights_errors_and_parts_are_those_of_the_points() {
    for seed in 0..8 {
        let case = case(200 + seed);
        let rows = [4, 9, 9, 17, 30];
        for rule in [WeightRule::Unconstrained, WeightRule::Signed, WeightRule::Simplex] {
            let of = |pool: &Pool| optimal_of_rows(pool, &rows, rule, &unwatched).unwrap();
            let (one, other) = (of(&case.points), of(&case.gram));
            // More points than the linear kernel has features: many weights are as good.
            let is_close = one.weights.iter().zip(&other.weights).all(|(a, b)| (a - b).abs() < 1e-6);
            assert!(is_close || KERNELS[seed as usize % 4] == "linear", "{seed} {rule:?}");
            let measured = |pool: &Pool, weights: &[f64]| {
                let points = pool.points().select(&rows).unwrap();
                metrics::mmd_of_points(&**pool.embedding(), &points, Some(weights), &unwatched).unwrap()
            };
            let error = measured(&case.gram, &one.weights);
            assert!((error - measured(&case.points, &one.weights)).abs() < 1e-7);
            assert!((error - other.error.unwrap()).abs() < 1e-6, "{seed} {rule:?}");
        }
        let seen = Points::from_vec((0..case.weights.len()).map(|i| (i as f64).sin()).collect(), 1).unwrap();
        let functions = Functions::new(&seen, None).unwrap();
        let with = |pool: &Pool| {
            let part = Part::functions(&functions, &seen, 0.7).unwrap();
            pool.clone().with_parts(vec![part]).unwrap()
        };
        assert_same_picks(&case, "parts", |pool| Herder::over(with(pool)).run(8));
        assert_same_sets(&case, "parts", |pool| {
            Refiner::over(with(pool), RefineOptions::default()).unwrap().choose(8, &unwatched).unwrap()
        });
    }
}

#[test]
fn a_search_does_as_well_as_among_the_points() {
    let [mut of_points, mut of_gram, mut swept] = [0.0; 3];
    for seed in 0..5 {
        let points = random_points(400, 5, &mut rng(seed));
        let kernel = Kernel::gaussian(bandwidth::median(&points)).unwrap();
        let gram = Gram::new(matrix(&kernel, &points), 400).unwrap().pool().unwrap();
        let pool = Pool::new(Empirical::new(kernel, points.clone()).unwrap(), points).unwrap();
        let search = |pool: &Pool| {
            let refiner = Refiner::over(pool.clone(), RefineOptions::default().search(60, seed)).unwrap();
            refiner.choose(20, &unwatched).unwrap()
        };
        let set = search(&gram);
        assert!(set.searched && set.converged && set == search(&gram));
        of_points += search(&pool).error.unwrap();
        of_gram += set.error.unwrap();
        swept += set.swept_error.unwrap();
    }
    assert!(of_gram < 1.03 * of_points && of_gram < 0.9 * swept, "{of_gram} {of_points} {swept}");
}

#[test]
fn what_is_no_gram_matrix_is_refused_by_row_and_column() {
    let good = vec![1.0, 0.5, 0.2, 0.5, 1.0, 0.1, 0.2, 0.1, 4.0];
    assert_eq!(Gram::new(good.clone(), 3).unwrap().rows().as_slice(), [0.0, 1.0, 2.0]);
    let with = |row: usize, column: usize, value: f64| {
        let mut matrix = good.clone();
        matrix[row * 3 + column] = value;
        Gram::new(matrix, 3).err()
    };
    assert_eq!(Gram::new(good.clone(), 2).err(), Some(Error::GramShape { len: 9, rows: 2 }));
    assert_eq!(Gram::new(Vec::new(), 0).err(), Some(Error::NoPoints));
    assert!(Gram::new(good.clone(), usize::MAX).is_err());
    let entry = |error: Option<Error>| match error {
        Some(Error::GramEntry { row, column, value, .. }) => (row, column, value.to_string()),
        other => panic!("{other:?}"),
    };
    assert_eq!(entry(with(2, 1, f64::NAN)), (2, 1, "NaN".to_string()));
    assert_eq!(entry(with(1, 1, -0.5)), (1, 1, "-0.5".to_string()));
    let asymmetric = Error::GramAsymmetric { row: 0, column: 2, value: 0.2, mirrored: 0.3 };
    assert_eq!(with(2, 0, 0.3), Some(asymmetric));
    // A matrix of distances, and entries of either sign that are too large for their diagonal.
    assert_eq!(entry(Gram::new(vec![0.0, 1.0, 1.0, 0.0], 2).err()), (0, 1, "1".to_string()));
    assert_eq!(entry(Gram::new(vec![1.0, -2.0, -2.0, 3.0], 2).err()), (0, 1, "-2".to_string()));
    // In a large matrix the first in the order of rows is named, whichever thread meets it.
    let mut large: Vec<f64> = (0..300 * 300).map(|i| f64::from(u8::from(i / 300 == i % 300))).collect();
    for (row, column) in [(299, 250), (130, 290), (131, 140)] {
        large[row * 300 + column] = 2.0;
    }
    let first = Error::GramAsymmetric { row: 130, column: 290, value: 2.0, mirrored: 0.0 };
    assert_eq!(Gram::new(large, 300).err(), Some(first));
    let weighted = |weights: &[f64]| Gram::weighted(good.clone(), 3, weights).err();
    assert!(matches!(weighted(&[1.0]), Some(Error::WeightCount { .. })));
    assert_eq!(weighted(&[1.0, -1.0, 1.0]), Some(Error::BadWeight { index: 1, value: -1.0 }));
    assert_eq!(weighted(&[0.0; 3]), Some(Error::ZeroWeights));
}

#[test]
fn what_rounding_has_made_different_is_taken_for_the_same() {
    let points = random_points(60, 2, &mut rng(7));
    let exact = matrix(&Kernel::gaussian(0.9).unwrap(), &points);
    let rows = |matrix: Vec<f64>| {
        let refiner = |pool| Refiner::over(pool, RefineOptions::default()).unwrap();
        refiner(Gram::new(matrix, 60).unwrap().pool().unwrap()).choose(8, &unwatched).unwrap().rows
    };
    let single = exact.iter().map(|&k| f64::from(k as f32)).collect();
    let skewed = exact.iter().enumerate().map(|(i, k)| k + 1e-9 * (i as f64).sin()).collect();
    assert_eq!((rows(single), rows(skewed)), (rows(exact.clone()), rows(exact.clone())));
    // Twice the kernel, half of it: the same rows, and errors in its unit.
    for unit in [1e-9, 1e9] {
        let scaled: Vec<f64> = exact.iter().map(|k| k * unit).collect();
        let error = |matrix: &[f64]| {
            Gram::new(matrix.to_vec(), 60).unwrap().pool().unwrap().mmd_of_rows(&[1, 5]).unwrap().unwrap()
        };
        assert!((error(&scaled) / error(&exact) / f64::sqrt(unit) - 1.0).abs() < 1e-9);
        assert_eq!(rows(scaled), rows(exact.clone()));
    }
}

#[test]
fn an_error_that_shows_the_matrix_to_be_indefinite_is_refused() {
    // Its eigenvalue −0.8 belongs to (1, −1, 1): no pair of rows shows it.
    let indefinite = vec![1.0, 0.9, -0.9, 0.9, 1.0, 0.9, -0.9, 0.9, 1.0];
    let pool = Gram::new(indefinite.clone(), 3).unwrap().pool().unwrap();
    let is_refused = |error: Option<Error>| {
        let Some(Error::GramIndefinite { squared_error }) = error else { panic!("{error:?}") };
        assert!((squared_error + 1.0 / 3.0).abs() < 1e-12);
    };
    is_refused(pool.mmd_of_rows(&[1]).err());
    is_refused(Herder::trace(&pool, &[1]).err());
    let refiner = Refiner::over(pool.clone(), RefineOptions::default()).unwrap();
    is_refused(refiner.choose(1, &unwatched).err());
    is_refused(
        metrics::mmd_of_points(&**pool.embedding(), &pool.points().select(&[1]).unwrap(), None, &unwatched)
            .err(),
    );
    // A herder goes on, and says what it computed.
    assert!(Herder::over(pool).next().unwrap().squared_error.unwrap() < -0.3);
    // Under these weights the target itself has a negative norm.
    let flipped = vec![1.0, -0.9, -0.9, -0.9, 1.0, -0.9, -0.9, -0.9, 1.0];
    assert!(matches!(Gram::new(flipped, 3), Err(Error::GramIndefinite { .. })));
}

#[test]
fn what_needs_points_is_refused() {
    let target = case(3).target;
    let options = AscentOptions::default();
    let ascent = Domain::Ascent { starts: target.rows().clone(), options };
    assert!(matches!(Herder::new(target.clone(), ascent), Err(Error::NotWithGram { .. })));
    let len = target.rows().len();
    for row in [len as f64, -1.0, 0.5] {
        let points = Points::from_rows(&[0.0, row], 1).unwrap();
        let is_refused =
            |error: Option<Error>| assert!(matches!(error, Some(Error::NoSuchRow { .. })), "{row}");
        is_refused(Pool::new(target.clone(), points.clone()).err());
        is_refused(Herder::over(target.pool().unwrap()).starting_from(points, vec![1.0; 2]).err());
    }
    // Some of the rows are a pool as well.
    let some = Pool::new(target.clone(), target.rows().select(&[8, 2, 5]).unwrap()).unwrap();
    assert_eq!(some.values()[1], target.pool().unwrap().values()[2]);
}
