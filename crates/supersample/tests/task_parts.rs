//! Marginals and functions through the layer of tasks: what is matched, what is told of it, and what is refused.

use crate::common;

use common::{continued, herd, plain, random_points, ready, rng, thin};
use supersample::task::{Choose, Errors, Measure, Problem, RowWeights, Rows, Stop, Subset, Target};
use supersample::weights::WeightRule;
use supersample::{ColumnMoments, Error, Functions, Marginals, Points, RefineOptions, unwatched};

const N: usize = 300;

fn rows() -> Points {
    let rows = random_points(N, 3, &mut rng(1));
    // One column has few values, and one is far from the unit scale.
    let rows = rows.rows().flat_map(|x| [x[0], (2.0 * x[1]).round(), 1e4 * x[2].exp()]).collect();
    Points::from_vec(rows, 3).unwrap()
}

fn functions() -> Vec<f64> {
    rows().rows().flat_map(|x| [x[0] * x[1], (5.0 * x[0]).sin()]).collect()
}

/// Marginals, moments and functions are matched too.
fn parts() -> Choose {
    plain().marginals(0.1).moments(0.01)
}

fn weights() -> Vec<f64> {
    (0..N).map(|i| (i % 4) as f64).collect()
}

fn given(weighted: bool) -> Rows {
    let weights = weights();
    let weights = if weighted { RowWeights::Weights(&weights) } else { RowWeights::Equal };
    Rows::weighted(rows(), weights).unwrap()
}

fn with_functions(weighted: bool) -> Rows {
    given(weighted).functions(functions(), 2).unwrap()
}

fn cdf(errors: &Errors) -> Option<f64> {
    errors.get(Measure::Cdf)
}

fn of_functions(errors: &Errors) -> Option<f64> {
    errors.get(Measure::FunctionsError)
}

fn after(number: usize) -> Stop {
    Stop::after(number).unwrap()
}

#[test]
fn matching_marginals_and_functions_lowers_their_errors_and_all_tell_the_same() {
    for weighted in [false, true] {
        let (plain, parts) = (ready(given(weighted), plain()), ready(with_functions(weighted), parts()));
        let problem = parts.problem();
        assert_eq!((problem.marginals(), problem.functions().unwrap().2), (0.1, 1.0));
        let choose = |target: &Target| thin(target, after(15), RefineOptions::default());
        let (without, with) = (choose(&plain), choose(&parts));
        let (cdf_without, cdf_with) = (cdf(&without.errors).unwrap(), cdf(&with.errors).unwrap());
        assert!(cdf_with < 0.8 * cdf_without, "{cdf_with} {cdf_without}");
        assert_eq!((of_functions(&without.errors), without.refined.unwrap().objective), (None, None));
        let shares = problem.shares();
        let of = Functions::new(&Points::from_vec(functions(), 2).unwrap(), shares).unwrap();
        let error =
            |rows: &[usize]| of.error(&Points::from_vec(functions(), 2).unwrap().select(rows).unwrap(), None);
        assert!(of_functions(&with.errors).unwrap() < 0.8 * error(&without.rows).unwrap());
        assert_eq!(of_functions(&with.errors).unwrap(), error(&with.rows).unwrap());
        let distance = |rows: &[usize], weights: Option<&[f64]>| {
            let marginals = Marginals::new(problem.rows(), shares).unwrap().unwrap();
            marginals.distance(&problem.rows().select(rows).unwrap(), weights).unwrap()
        };
        assert!((cdf_with - distance(&with.rows, None)).abs() < 1e-15);
        let found = parts.summarise(&with, &unwatched).unwrap();
        assert_eq!((found.mmd(), cdf(&found.errors)), (with.error().unwrap(), Some(cdf_with)));
        assert_eq!(of_functions(&found.errors), of_functions(&with.errors));
        let evaluated = parts.evaluate(&Subset::of_rows(&with.rows), &unwatched).unwrap();
        assert_eq!(cdf(&evaluated.errors), Some(cdf_with));
        assert_eq!(of_functions(&evaluated.errors), of_functions(&with.errors));
        assert!((evaluated.mmd() - found.mmd()).abs() < 1e-12);
        let (subset, of_subset) = (parts.select(&with.rows).unwrap(), problem.functions().unwrap().1);
        let of_subset = of_subset.select(&with.rows).unwrap();
        let given = Subset::of_points(subset.clone()).functions(of_subset);
        assert_eq!(parts.evaluate(&given, &unwatched).unwrap(), evaluated);
        let without_functions = parts.evaluate(&Subset::of_points(subset), &unwatched).unwrap();
        assert_eq!(of_functions(&without_functions.errors), None);
        let others = found.comparison.as_ref().unwrap();
        let (random, spaced) = (others.random_errors(), others.spaced);
        assert!(cdf(&found.errors) < cdf(&random) && cdf(&found.errors) < cdf(&spaced));
        assert!(of_functions(&found.errors) < of_functions(&random) && of_functions(&spaced).is_some());
        // The MMD is that of the joint part, as without parts.
        let same = plain.evaluate(&Subset::of_rows(&with.rows), &unwatched).unwrap();
        let draws = |errors: &Errors| errors.get(Measure::EquivalentDraws).unwrap();
        assert!(
            (same.mmd() - found.mmd()).abs() < 1e-12
                && (draws(&same.errors) / draws(&found.errors) - 1.0).abs() < 1e-9
        );
        let weighed = Choose::thin(15).unwrap().search(Some(0)).weighed(WeightRule::Simplex);
        let weighed = parts.choose_by(&weighed, &unwatched).unwrap();
        let weights = &weighed.weights.as_ref().unwrap().weights;
        let found = parts.summarise_alone(&weighed).unwrap();
        assert!((cdf(&found.errors).unwrap() - distance(&weighed.rows, Some(weights))).abs() < 1e-15);
        assert_eq!(Some(found.mmd()), weighed.weights.as_ref().unwrap().error);
    }
}

/// Without moments the rows are narrower than all rows in every column, and with them hardly.
#[test]
fn moments_keep_rows_from_being_narrow() {
    for weighted in [false, true] {
        let target = |weight: f64| ready(given(weighted), plain().marginals(0.1).moments(weight));
        let of = |weight: f64| {
            let target = target(weight);
            assert_eq!(target.problem().moments(), weight);
            let chosen = thin(&target, after(15), RefineOptions::default().search(30, 1));
            let moments =
                ColumnMoments::new(target.problem().rows(), target.problem().shares()).unwrap().unwrap();
            let error = moments.distance(&target.select(&chosen.rows).unwrap(), None).unwrap();
            (error, chosen.errors.get(Measure::Sd), chosen.mmd().unwrap())
        };
        let (without, with) = (of(0.0), of(10.0));
        assert!(with.0 < 0.6 * without.0 && with.2 < 3.0 * without.2, "{with:?} {without:?}");
    }
}

#[test]
fn no_single_swap_lowers_the_objective() {
    let parts = ready(with_functions(true), parts());
    let chosen = thin(&parts, after(12), RefineOptions::default());
    let refined = chosen.refined.unwrap();
    assert!(refined.converged);
    let pool = parts.pool().unwrap();
    let distance = |rows: &[usize]| pool.distance_of_rows(rows).unwrap().unwrap();
    let objective = refined.objective.unwrap();
    assert!((objective.end - distance(&chosen.rows)).abs() < 1e-10 && objective.end <= objective.start);
    for position in 0..12 {
        for row in (0..N).filter(|row| row % 4 != 0 && !chosen.rows.contains(row)) {
            let mut other = chosen.rows.clone();
            other[position] = row;
            assert!(distance(&other) > objective.end - 1e-10, "{position} {row}");
        }
    }
}

#[test]
fn runs_go_on_stop_and_are_recalled_with_parts() {
    let problem = Problem::new(with_functions(false), parts()).unwrap();
    let parts = problem.prepare(&unwatched).unwrap();
    let whole = herd(&parts, after(30), false);
    let again = problem.recall(parts.recalled().to_vec(), &unwatched).unwrap();
    assert_eq!(continued(&again, &Choose::herd(30).unwrap(), &whole.rows[..12]).unwrap(), whole);
    // A rule of errors is about the joint part.
    let plain = ready(given(false), plain());
    let stopped = thin(&parts, Stop::at_error(0.05).unwrap(), RefineOptions::default());
    let error = plain.mmd(&Subset::of_rows(&stopped.rows), &unwatched).unwrap();
    assert!(error <= 0.05 && (stopped.error().unwrap() - error).abs() < 1e-12);
    let groups: Vec<usize> = (0..N).map(|i| i % 3).collect();
    let set = thin(&parts, after(9), RefineOptions::default().groups(&groups, Some(&[2, 3, 4])));
    let counts: Vec<usize> =
        (0..3).map(|group| set.rows.iter().filter(|row| *row % 3 == group).count()).collect();
    assert_eq!((counts, cdf(&set.errors).is_some()), (vec![2, 3, 4], true));
}

#[test]
fn without_weight_for_parts_nothing_changes() {
    let chosen = |choose| thin(&ready(given(true), choose), after(10), RefineOptions::default());
    assert_eq!(chosen(plain()), chosen(plain().marginals(0.0).moments(0.0)));
    // Columns that are all constant have no marginals.
    let constant = Points::from_vec(vec![3.0; 40], 2).unwrap();
    let choose = plain().scale(supersample::scale::Scale::None).marginals(1.0).moments(1.0);
    let target = ready(constant, choose.kernel(supersample::Kernel::gaussian(1.0).unwrap()));
    assert_eq!(target.pool().unwrap().parts().count(), 0);
}

#[test]
fn bad_weights_and_functions_are_refused_by_number() {
    let of = |rows: Rows, choose: Choose| Problem::new(rows, choose).unwrap_err();
    for weight in [-0.1, f64::NAN, f64::INFINITY] {
        for choose in [plain().marginals(weight), plain().moments(weight)] {
            assert!(matches!(of(given(true), choose), Error::BadOption { .. }), "{weight}");
        }
        let refused = of(with_functions(true), plain().functions_weight(weight));
        assert!(matches!(refused, Error::BadOption { .. }), "{weight}");
    }
    let functions = |values: Vec<f64>, count: usize| {
        given(true).functions(values, count).and_then(|rows| Problem::new(rows, plain())).unwrap_err()
    };
    let mut bad = self::functions();
    bad[2 * 17 + 1] = f64::NAN;
    assert!(matches!(functions(bad, 2), Error::NonFiniteFunction { row: 17, column: 1, .. }));
    let mut constant = vec![0.1; N];
    assert_eq!(functions(constant.clone(), 1), Error::ConstantFunction { column: 0 });
    // Row 4 has no weight, so what it has does not make a function vary.
    constant[4] = 5.0;
    assert_eq!(functions(constant, 1), Error::ConstantFunction { column: 0 });
    let what = "the functions";
    assert_eq!(functions(vec![1.0, 2.0, 3.0], 1), Error::RowCount { what, found: 3, expected: N });
    assert_eq!(functions(vec![1.0, 2.0, 3.0], 2), Error::RaggedRows { len: 3, dim: 2 });
    assert_eq!(functions(vec![1.0], 0), Error::NoDimensions);
    let (subset, values) = (rows().select(&[1]).unwrap(), Points::from_rows(&[1.0, 2.0], 2).unwrap());
    let subset = Subset::of_points(subset).functions(values);
    assert_eq!(ready(given(false), plain()).evaluate(&subset, &unwatched), Err(Error::NoFunctions));
}
