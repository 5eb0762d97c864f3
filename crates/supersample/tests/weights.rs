//! Optimal weights against a quadratic-programming solver, a linear solve worked by hand, and degenerate points.

use crate::common;

use common::naive::Naive;
use supersample::target::GaussianMixture;
use supersample::weights::{OptimalWeights, WeightRule, optimal};
use supersample::{
    ClosedForm, Empirical, Family, Kernel, MeanEmbedding, Points, bandwidth, metrics, unwatched,
};

const RULES: [WeightRule; 3] = [WeightRule::Unconstrained, WeightRule::Signed, WeightRule::Simplex];

/// The MMD of weighted points of any sign, as a double sum.
fn direct_mmd(mu: &Empirical, points: &Points, weights: &[f64]) -> f64 {
    let mut z = vec![0.0; points.len()];
    mu.values_into(points, &mut z);
    let kernel = mu.kernel();
    let mut squared = mu.squared_norm().unwrap();
    for (x, (w, z)) in points.rows().zip(weights.iter().zip(&z)) {
        let row: f64 = points.rows().zip(weights).map(|(y, v)| v * kernel.value(x, y)).sum();
        squared += w * (row - 2.0 * z);
    }
    squared.max(0.0).sqrt()
}

#[test]
fn simplex_weights_agree_with_an_independent_solver() {
    let mut cases = 0;
    let (mut kernel, mut dim) = (None, 0);
    let (mut samples, mut points): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    for line in include_str!("data/simplex.csv").lines() {
        let (kind, rest) = line.split_once(',').unwrap();
        let numbers = || rest.split(',').map(|number| number.parse::<f64>().unwrap());
        match kind {
            "case" => {
                let (text, number) = rest.split_once(',').unwrap();
                (kernel, dim) = (Some(text.parse::<Kernel>().unwrap()), number.parse().unwrap());
            }
            "s" => samples.extend(numbers()),
            "p" => points.extend(numbers()),
            _ => {
                let target = Points::from_vec(std::mem::take(&mut samples), dim).unwrap();
                let points = Points::from_vec(std::mem::take(&mut points), dim).unwrap();
                let mu = Empirical::new(kernel.clone().unwrap(), target).unwrap();
                let got = optimal(&mu, &points, WeightRule::Simplex, &unwatched).unwrap();
                let want: Vec<f64> = numbers().collect();
                assert!((got.error.unwrap() - want[0]).abs() < 1e-9, "{kernel:?} {got:?} {want:?}");
                assert!((got.equal_error.unwrap() - want[1]).abs() < 1e-12);
                assert!(got.optimal && got.weights.iter().all(|w| *w >= 0.0));
                assert!((got.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                assert!((direct_mmd(&mu, &points, &got.weights) - got.error.unwrap()).abs() < 1e-9);
                cases += 1;
            }
        }
    }
    assert_eq!(cases, 5);
}

#[test]
fn free_weights_solve_the_normal_equations() {
    let rng = &mut common::rng(3);
    let (target, points) = (common::random_points(50, 2, rng), common::random_points(12, 2, rng));
    for text in &common::KERNELS[..7] {
        let mu = Empirical::new(text.parse().unwrap(), target.clone()).unwrap();
        let free = optimal(&mu, &points, WeightRule::Unconstrained, &unwatched).unwrap();
        let mut z = vec![0.0; 12];
        mu.values_into(&points, &mut z);
        for (x, z) in points.rows().zip(&z) {
            let row: f64 = points.rows().zip(&free.weights).map(|(y, w)| w * mu.kernel().value(x, y)).sum();
            assert!((row - z).abs() < 1e-10, "{text}");
        }
        let one = optimal(&mu, &points, WeightRule::Signed, &unwatched).unwrap();
        let simplex = optimal(&mu, &points, WeightRule::Simplex, &unwatched).unwrap();
        assert!((one.weights.iter().sum::<f64>() - 1.0).abs() < 1e-10);
        let squared = |weights: &OptimalWeights| weights.squared_error.unwrap();
        assert!(
            squared(&free) <= squared(&one) + 1e-14 && squared(&one) <= squared(&simplex) + 1e-14,
            "{text}"
        );
        assert!(simplex.error <= simplex.equal_error, "{text}");
        // No small step along the constraint does better.
        for (i, j) in [(0, 1), (3, 9), (11, 5)] {
            let mut moved = one.weights.clone();
            moved[i] += 1e-3;
            moved[j] -= 1e-3;
            assert!(direct_mmd(&mu, &points, &moved) >= one.error.unwrap() - 1e-12, "{text}");
        }
    }
}

#[test]
fn two_points_worked_by_hand() {
    // K = [[1, e⁻¹], [e⁻¹, 1]] and z = (e⁻¹, e⁻²) for the target δ(−1), points 0 and 1, Laplace of bandwidth 1:
    // the free weights are (e⁻¹, 0); on the simplex w₀ − w₁ = e⁻¹.
    let line = |rows: &[f64]| Points::from_rows(rows, 1).unwrap();
    let mu = Empirical::new(Family::Laplace.kernel(&[1.0]).unwrap(), line(&[-1.0])).unwrap();
    let free = optimal(&mu, &line(&[0.0, 1.0]), WeightRule::Unconstrained, &unwatched).unwrap();
    assert!((free.weights[0] - (-1f64).exp()).abs() < 1e-15 && free.weights[1].abs() < 1e-15);
    assert!((free.squared_error.unwrap() - (1.0 - (-2f64).exp())).abs() < 1e-15);
    let simplex = optimal(&mu, &line(&[0.0, 1.0]), WeightRule::Simplex, &unwatched).unwrap();
    assert!((simplex.weights[0] - (1.0 + (-1f64).exp()) / 2.0).abs() < 1e-11);
    // The target itself among the points takes all of the weight.
    let all = optimal(&mu, &line(&[0.0, -1.0, 1.0]), WeightRule::Simplex, &unwatched).unwrap();
    assert!(all.weights == [0.0, 1.0, 0.0] && all.error.unwrap() < 1e-8 && all.optimal, "{all:?}");
}

#[test]
fn a_mean_between_points_is_matched_though_their_matrix_is_singular() {
    // Three points of the plane under the linear kernel, whose matrix has rank two.
    let plane = |rows: &[f64]| Points::from_rows(rows, 2).unwrap();
    let mu = Empirical::new(Kernel::linear(), plane(&[0.9, 1.2, 1.1, 0.8])).unwrap();
    let best =
        optimal(&mu, &plane(&[0.0, 1.0, 3.0, 0.0, 0.0, 4.0]), WeightRule::Simplex, &unwatched).unwrap();
    // (1, 1) = 5/9·(0, 1) + 1/3·(3, 0) + 1/9·(0, 4)
    for (w, want) in best.weights.iter().zip([5.0 / 9.0, 1.0 / 3.0, 1.0 / 9.0]) {
        assert!((w - want).abs() < 1e-9, "{best:?}");
    }
    assert!(best.optimal && best.error.unwrap() < 1e-7, "{best:?}");
}

#[test]
fn repeated_points_share_their_weight_and_nothing_is_nan() {
    let rng = &mut common::rng(4);
    let target = common::random_points(60, 2, rng);
    let few = common::random_points(5, 2, rng);
    let repeated = few.select(&[0, 1, 2, 3, 4, 4, 0, 4]).unwrap();
    for text in common::KERNELS {
        let mu = Empirical::new(text.parse().unwrap(), target.clone()).unwrap();
        for rule in RULES {
            let (plain, doubled) = (
                optimal(&mu, &few, rule, &unwatched).unwrap(),
                optimal(&mu, &repeated, rule, &unwatched).unwrap(),
            );
            assert!(doubled.weights.iter().all(|w| w.is_finite()), "{text} {rule:?}");
            assert_eq!(doubled.jitter, plain.jitter);
            let (a, b) = (plain.error.unwrap(), doubled.error.unwrap());
            assert!((a - b).abs() < 1e-12, "{text} {rule:?}: {a} {b}");
            assert_eq!(doubled.weights[0], doubled.weights[6]);
        }
    }
    let same = Points::from_rows(&[0.5; 40], 1).unwrap();
    let mu =
        Empirical::new(Kernel::gaussian(1.0).unwrap(), Points::from_rows(&[0.1, 0.9], 1).unwrap()).unwrap();
    for rule in RULES {
        let weights = optimal(&mu, &same, rule, &unwatched).unwrap();
        assert!(weights.weights.iter().all(|w| *w == weights.weights[0]), "{rule:?}");
    }
    let zeros =
        optimal(&mu, &Points::from_rows(&[0.0, -0.0], 1).unwrap(), WeightRule::Unconstrained, &unwatched)
            .unwrap();
    assert!(
        zeros.weights[0] == zeros.weights[1] && zeros.jitter == 0.0,
        "both zeros are one point: {zeros:?}"
    );
    let origin = Points::from_rows(&[0.0, 0.0], 1).unwrap();
    let linear = Empirical::new(Kernel::linear(), same).unwrap();
    assert!(RULES.iter().all(|rule| optimal(&linear, &origin, *rule, &unwatched).is_err()));
}

#[test]
fn where_equal_weights_are_optimal_no_others_are_given_that_are_worse() {
    // The corners of a regular polygon, the target in its middle: rounding alone tells other weights from equal ones.
    let mu = |text: &str| Empirical::new(text.parse().unwrap(), Points::from_rows(&[0.0, 0.0], 2).unwrap());
    for text in ["gaussian(1.3)", "matern12(1.7)", "matern32(1.2)", "imq(0.8)"] {
        let mu = mu(text).unwrap();
        for corners in 3..24 {
            let angle = |i: usize| i as f64 / corners as f64 * std::f64::consts::TAU;
            let numbers = (0..corners).flat_map(|i| [angle(i).cos(), angle(i).sin()]).collect();
            let points = Points::from_vec(numbers, 2).unwrap();
            for rule in [WeightRule::Signed, WeightRule::Simplex] {
                let best = optimal(&mu, &points, rule, &unwatched).unwrap();
                assert!(best.error <= best.equal_error, "{text} {rule:?} {corners}: {best:?}");
                assert!(best.weights.iter().all(|w| (w * corners as f64 - 1.0).abs() < 1e-3), "{best:?}");
            }
        }
    }
}

#[test]
fn weights_on_many_points_fulfil_the_conditions_of_optimality() {
    // More points than one thread takes at once.
    let rng = &mut common::rng(6);
    let (target, points) = (common::random_points(100, 2, rng), common::random_points(700, 2, rng));
    let mu = Empirical::new(Family::Laplace.kernel(&[0.7]).unwrap(), target).unwrap();
    let got = optimal(&mu, &points, WeightRule::Simplex, &unwatched).unwrap();
    let mut z = vec![0.0; 700];
    mu.values_into(&points, &mut z);
    let support: Vec<(usize, f64)> =
        got.weights.iter().copied().enumerate().filter(|(_, w)| *w > 0.0).collect();
    let slope = |i: usize| {
        let terms = support.iter().map(|&(j, w)| w * mu.kernel().value(points.row(i), points.row(j)));
        terms.sum::<f64>() - z[i]
    };
    let level: f64 = support.iter().map(|&(i, w)| w * slope(i)).sum();
    for i in 0..700 {
        let (above, is_in) = (slope(i) - level, got.weights[i] > 0.0);
        assert!(above > -1e-11 && !(is_in && above > 1e-11), "{i}: {above}");
    }
    assert!(got.optimal && (40..400).contains(&support.len()), "{}", support.len());
    assert!(support.iter().any(|(i, _)| *i >= 512), "the last points are in no support");
}

#[test]
fn simplex_weights_do_not_depend_on_the_unit_of_a_linear_kernel() {
    let rng = &mut common::rng(7);
    let (target, points) = (common::random_points(40, 2, rng), common::random_points(30, 2, rng));
    let weights = |unit: f64| {
        // The target lies beside the points, so that one point of their hull is the nearest to its mean.
        let scaled = |points: &Points, aside: f64| {
            let numbers = points.rows().flat_map(|x| [(x[0] + aside) * unit, x[1] * unit]).collect();
            Points::from_vec(numbers, 2).unwrap()
        };
        let mu = Empirical::new(Kernel::linear(), scaled(&target, 2.0)).unwrap();
        optimal(&mu, &scaled(&points, 0.0), WeightRule::Simplex, &unwatched).unwrap()
    };
    let plain = weights(1.0);
    assert!(plain.optimal && plain.weights.iter().filter(|w| **w > 0.0).count() == 2, "{plain:?}");
    let largest = points.rows().map(|x| x[0] * x[0] + x[1] * x[1]).fold(0.0, f64::max);
    assert!((plain.jitter / (1e-12 * largest) - 1.0).abs() < 1e-14, "{}", plain.jitter);
    for unit in [2f64.powi(-30), 2f64.powi(30)] {
        let other = weights(unit);
        assert!(other.optimal && other.jitter == plain.jitter * unit * unit);
        assert_eq!(other.weights, plain.weights);
    }
}

#[test]
fn hundreds_of_close_points_stay_stable() {
    // A smooth kernel on many points: the matrix is singular to rounding, and the error must still be right.
    let mixture = GaussianMixture::random(4, 2, 3).unwrap();
    let points = mixture.sample(300, 1).unwrap();
    let kernel = Kernel::gaussian(bandwidth::median(&points)).unwrap();
    let exact = ClosedForm::mixture(kernel.clone(), mixture.clone()).unwrap();
    let simplex = optimal(&exact, &points, WeightRule::Simplex, &unwatched).unwrap();
    assert!(simplex.optimal && simplex.error.unwrap() < 0.1 * simplex.equal_error.unwrap(), "{simplex:?}");
    let weighted = Empirical::weighted(kernel.clone(), points.clone(), &simplex.weights).unwrap();
    let direct = metrics::mmd(&exact, &weighted).unwrap();
    assert!((direct - simplex.error.unwrap()).abs() < 1e-7, "{direct} {simplex:?}");
    for rule in [WeightRule::Unconstrained, WeightRule::Signed] {
        let free = optimal(&exact, &points, rule, &unwatched).unwrap();
        assert!(free.squared_error.unwrap() <= simplex.squared_error.unwrap() + 1e-12, "{free:?}");
        assert!(free.squared_error.unwrap() > -1e-9, "{free:?}");
    }
    // The oracle's own error of equal weights.
    let equal = vec![1.0 / 300.0; 300];
    let naive = Naive { kernel: &kernel, samples: &points, weights: equal, pool: &points };
    let own = Empirical::new(kernel.clone(), points.clone()).unwrap();
    let rows: Vec<usize> = (0..300).step_by(7).collect();
    let some = optimal(&own, &points.select(&rows).unwrap(), WeightRule::Simplex, &unwatched).unwrap();
    assert!((some.equal_error.unwrap() - naive.squared_error(&rows).sqrt()).abs() < 1e-12);
}
