//! Marginals and functions through the layer of tasks: what is matched, what is told of it, and what is refused.

use crate::common;

use common::{random_points, rng};
use supersample::task::{
    FUNCTIONS, FunctionValues, HerdOptions, MARGINALS, Problem, ProblemOptions, RowWeights, Stop, ThinOptions,
};
use supersample::weights::WeightRule;
use supersample::{Error, Functions, Marginals, Points, RefineOptions, unwatched};

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

fn options() -> ProblemOptions {
    ProblemOptions::default().marginals(MARGINALS).functions(FunctionValues::new(functions(), 2))
}

fn weights() -> Vec<f64> {
    (0..N).map(|i| (i % 4) as f64).collect()
}

fn problem(weighted: bool, options: ProblemOptions) -> Problem {
    let weights = weights();
    let weights = if weighted { RowWeights::Weights(&weights) } else { RowWeights::Equal };
    Problem::weighted(rows(), weights, options).unwrap()
}

fn after(number: usize) -> Stop {
    Stop::after(number).unwrap()
}

#[test]
fn matching_marginals_and_functions_lowers_their_errors_and_all_tell_the_same() {
    for weighted in [false, true] {
        let (plain, parts) = (problem(weighted, ProblemOptions::default()), problem(weighted, options()));
        assert_eq!((parts.marginals(), parts.functions().unwrap().2), (MARGINALS, FUNCTIONS));
        let thin = |problem: &Problem| problem.thin(&after(15), &ThinOptions::default(), &unwatched).unwrap();
        let (without, with) = (thin(&plain), thin(&parts));
        assert!(with.cdf < without.cdf.map(|cdf| 0.8 * cdf), "{:?} {:?}", with.cdf, without.cdf);
        assert_eq!((without.functions, without.refined.unwrap().lowered), (None, None));
        let shares = parts.shares();
        let of = Functions::new(&Points::from_vec(functions(), 2).unwrap(), shares).unwrap();
        let error =
            |rows: &[usize]| of.error(&Points::from_vec(functions(), 2).unwrap().select(rows).unwrap(), None);
        assert!(with.functions.unwrap() < 0.8 * error(&without.rows).unwrap());
        assert_eq!(with.functions.unwrap(), error(&with.rows).unwrap());
        let cdf = |rows: &[usize], weights: Option<&[f64]>| {
            let marginals = Marginals::new(&parts.rows().clone(), shares).unwrap().unwrap();
            marginals.distance(&parts.rows().select(rows).unwrap(), weights).unwrap()
        };
        assert!((with.cdf.unwrap() - cdf(&with.rows, None)).abs() < 1e-15);
        let found = parts.summarise(&with, None, &unwatched).unwrap();
        assert_eq!((found.cdf, found.functions, Some(found.error)), (with.cdf, with.functions, with.error()));
        let evaluated = parts.evaluate_rows(&with.rows, None, &unwatched).unwrap();
        assert_eq!((evaluated.cdf, evaluated.functions), (with.cdf, with.functions));
        assert!((evaluated.error - found.error).abs() < 1e-12);
        let (subset, of_subset) = (parts.rows().select(&with.rows).unwrap(), parts.functions().unwrap().1);
        let of_subset = of_subset.select(&with.rows).unwrap();
        let given = parts.evaluate_with_functions(&subset, &of_subset, None, &unwatched).unwrap();
        assert_eq!(given, evaluated);
        assert_eq!(parts.evaluate(&subset, None, &unwatched).unwrap().functions, None);
        let others = found.comparison.unwrap();
        assert!(found.cdf < others.random_errors.cdf && found.cdf < others.spaced_errors.cdf);
        assert!(found.functions < others.random_errors.functions && others.spaced_errors.functions.is_some());
        // The MMD is that of the joint part, as without parts.
        let same = plain.evaluate_rows(&with.rows, None, &unwatched).unwrap();
        assert!(
            (same.error - found.error).abs() < 1e-12
                && (same.worth.unwrap() / found.worth.unwrap() - 1.0).abs() < 1e-9
        );
        let weighed = parts.weigh(&with.rows, WeightRule::Simplex, &unwatched).unwrap().weights.unwrap();
        let found = parts.summarise_alone(&with, Some(&weighed)).unwrap();
        assert!((found.cdf.unwrap() - cdf(&with.rows, Some(&weighed.weights))).abs() < 1e-15);
        assert_eq!(Some(found.error), weighed.error);
    }
}

#[test]
fn no_single_swap_lowers_what_thinning_has_lowered() {
    let parts = problem(true, options());
    let chosen = parts.thin(&after(12), &ThinOptions::default(), &unwatched).unwrap();
    let refined = chosen.refined.unwrap();
    assert!(refined.converged);
    let pool = parts.pool().unwrap();
    let distance = |rows: &[usize]| pool.distance_of_rows(rows).unwrap().unwrap();
    let lowered = refined.lowered.unwrap();
    assert!((lowered.end - distance(&chosen.rows)).abs() < 1e-10 && lowered.end <= lowered.start);
    for position in 0..12 {
        for row in (0..N).filter(|row| row % 4 != 0 && !chosen.rows.contains(row)) {
            let mut other = chosen.rows.clone();
            other[position] = row;
            assert!(distance(&other) > lowered.end - 1e-10, "{position} {row}");
        }
    }
}

#[test]
fn runs_go_on_stop_and_are_recalled_with_parts() {
    let parts = problem(false, options());
    let whole = parts.herd(&after(30), &HerdOptions::default(), &unwatched).unwrap();
    let values = parts.recalled().unwrap().to_vec();
    let again = problem(false, options()).recall(values).unwrap();
    let earlier = HerdOptions::default().earlier(&whole.rows[..12]);
    assert_eq!(again.herd(&after(30), &earlier, &unwatched).unwrap(), whole);
    // A rule of errors is about the joint part.
    let plain = problem(false, ProblemOptions::default());
    let stopped = parts.thin(&Stop::at_error(0.05).unwrap(), &ThinOptions::default(), &unwatched).unwrap();
    let error = plain.evaluate_rows(&stopped.rows, None, &unwatched).unwrap().error;
    assert!(error <= 0.05 && (stopped.error().unwrap() - error).abs() < 1e-12);
    let groups: Vec<usize> = (0..N).map(|i| i % 3).collect();
    let balanced = ThinOptions::default().refine(RefineOptions::default().groups(&groups, Some(&[2, 3, 4])));
    let set = parts.thin(&after(9), &balanced, &unwatched).unwrap();
    let counts: Vec<usize> =
        (0..3).map(|group| set.rows.iter().filter(|row| *row % 3 == group).count()).collect();
    assert_eq!((counts, set.cdf.is_some()), (vec![2, 3, 4], true));
}

#[test]
fn without_weight_for_parts_nothing_changes() {
    let chosen = |options| {
        let problem = problem(true, options);
        problem.thin(&after(10), &ThinOptions::default(), &unwatched).unwrap()
    };
    assert_eq!(chosen(ProblemOptions::default()), chosen(ProblemOptions::default().marginals(0.0)));
    // Columns that are all constant have no marginals.
    let constant = Points::from_vec(vec![3.0; 40], 2).unwrap();
    let options = ProblemOptions::default().scale(supersample::scale::Scale::None).marginals(1.0);
    let problem = Problem::new(constant, options.kernel(supersample::Kernel::gaussian(1.0).unwrap()));
    let problem = problem.unwrap();
    assert_eq!(problem.pool().unwrap().parts().count(), 0);
}

#[test]
fn bad_weights_and_functions_are_refused_by_number() {
    let of = |options: ProblemOptions| {
        Problem::weighted(rows(), RowWeights::Weights(&weights()), options).unwrap_err()
    };
    let functions = |values: Vec<f64>, count: usize| {
        of(ProblemOptions::default().functions(FunctionValues::new(values, count)))
    };
    for weight in [-0.1, f64::NAN, f64::INFINITY] {
        assert!(
            matches!(of(ProblemOptions::default().marginals(weight)), Error::BadOption { .. }),
            "{weight}"
        );
        let values = FunctionValues::new(self::functions(), 2).weight(weight);
        assert!(
            matches!(of(ProblemOptions::default().functions(values)), Error::BadOption { .. }),
            "{weight}"
        );
    }
    let mut bad = self::functions();
    bad[2 * 17 + 1] = f64::NAN;
    assert!(matches!(functions(bad, 2), Error::NonFiniteFunction { row: 17, column: 1, .. }));
    let mut constant = self::functions();
    constant.iter_mut().skip(1).step_by(2).for_each(|value| *value = 0.1);
    assert_eq!(functions(constant.clone(), 2), Error::ConstantFunction { column: 1 });
    // Row 4 has no weight, so what it has does not make a function vary.
    constant[2 * 4 + 1] = 5.0;
    assert_eq!(functions(constant, 2), Error::ConstantFunction { column: 1 });
    let what = "the functions";
    assert_eq!(functions(vec![1.0, 2.0, 3.0], 1), Error::RowCount { what, found: 3, expected: N });
    assert_eq!(functions(vec![1.0, 2.0, 3.0], 2), Error::RaggedRows { len: 3, dim: 2 });
    assert_eq!(functions(vec![1.0], 0), Error::NoDimensions);
    let plain = problem(false, ProblemOptions::default());
    let (subset, values) = (rows().select(&[1]).unwrap(), Points::from_rows(&[1.0, 2.0], 2).unwrap());
    let found = plain.evaluate_with_functions(&subset, &values, None, &unwatched);
    assert_eq!(found, Err(Error::NoFunctions));
}
