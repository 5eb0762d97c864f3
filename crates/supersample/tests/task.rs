//! The layer of tasks against plain formulas, and against the parts it is made of.

use crate::common;

use std::ops::ControlFlow::{self, Break, Continue};

use common::naive::Naive;
use common::{random_points, rng};
use rand::RngExt;
use supersample::quality::{Reference, every_kth, quality, random_rows, systematic_rows};
use supersample::scale::{Scale, Scaling};
use supersample::task::{
    Advice, Bandwidth, Chosen, Ended, ErrorScale, HerdOptions, Problem, ProblemOptions, RowWeights, Stop,
    ThinOptions, TypicalErrors, herd_until,
};
use supersample::weights::{WeightRule, optimal};
use supersample::{
    Domain, Empirical, Error, Family, Herder, Kernel, MeanEmbedding, Pick, Points, Precision, Progress,
    RefineOptions, Refiner, bandwidth, metrics, unwatched,
};

const ROWS: usize = 300;

fn rows() -> Points {
    let points = random_points(ROWS, 3, &mut rng(5));
    // Columns in units of their own.
    Points::from_vec(points.rows().flat_map(|x| [x[0], 100.0 * x[1] + x[0], 7.0 + x[2]]).collect(), 3)
        .unwrap()
}

fn weights() -> Vec<f64> {
    let mut rng = rng(6);
    (0..ROWS).map(|i| if i % 7 == 3 { 0.0 } else { rng.random_range(0.2..3.0) }).collect()
}

fn problem() -> Problem {
    Problem::new(rows(), ProblemOptions::default()).unwrap()
}

fn weighted() -> Problem {
    Problem::weighted(rows(), RowWeights::Weights(&weights()), ProblemOptions::default()).unwrap()
}

/// The parts of a problem, put together by hand.
fn parts(weights: Option<&[f64]>) -> (Points, Empirical) {
    let rows = rows();
    // Divided by their sum once and for all, so that every part has the very same numbers.
    let shares = weights.and_then(|weights| RowWeights::Weights(weights).shares(ROWS).unwrap());
    let scaling = Scaling::fit(Scale::Sd, rows.as_slice(), 3, shares.as_deref()).unwrap();
    let points = Points::from_vec(scaling.apply(rows.as_slice()), 3).unwrap();
    let mu = match &shares {
        None => Empirical::new(Kernel::gaussian(bandwidth::median(&points)).unwrap(), points.clone()),
        Some(shares) => {
            let length = bandwidth::MedianDistance::of(&points, Some(shares)).unwrap().length;
            Empirical::weighted(Kernel::gaussian(length).unwrap(), points.clone(), shares)
        }
    };
    (points, mu.unwrap())
}

fn after(number: usize) -> Stop {
    Stop::after(number).unwrap()
}

fn thinning(sweeps: usize) -> ThinOptions {
    ThinOptions::default().refine(RefineOptions::default().search(sweeps, 5))
}

#[test]
fn a_problem_is_its_parts() {
    for weights in [None, Some(weights())] {
        let (points, mu) = parts(weights.as_deref());
        let problem = match &weights {
            None => problem(),
            Some(_) => weighted(),
        };
        assert_eq!((problem.points(), problem.kernel()), (&points, mu.kernel()));
        assert!(problem.recalled().is_none());
        let scale = problem.error_scale().unwrap();
        let single = mu.mean_diagonal().unwrap() - mu.squared_norm().unwrap();
        assert_eq!(scale.single_draw, Some(single));
        assert_eq!(scale.worth(0.1), metrics::worth(&mu, 0.1));
        assert_eq!(problem.recalled().as_deref(), mu.recalled());
        let median = problem.median().unwrap();
        assert_eq!(problem.kernel().bandwidths(), [median.length]);
    }
    let given =
        ProblemOptions::default().scale(Scale::None).family(Family::Imq, Bandwidth::Lengths(vec![2.0]));
    let given = Problem::new(rows(), given.precision(Precision::Double)).unwrap();
    assert!(given.points().is_same_as(given.rows()) && given.median().is_none());
    assert_eq!(given.kernel(), &Family::Imq.kernel(&[2.0]).unwrap());
}

#[test]
fn logarithms_of_weights_make_the_same_problem() {
    let plain = weights();
    let logs: Vec<f64> = plain.iter().map(|weight| weight.ln() - 50_000.0).collect();
    let by_logs = Problem::weighted(rows(), RowWeights::Logs(&logs), ProblemOptions::default()).unwrap();
    let by_weights = weighted();
    for (a, b) in by_logs.shares().unwrap().iter().zip(by_weights.shares().unwrap()) {
        // The logarithms have lost some digits to their offset.
        assert!((a - b).abs() <= 1e-10 * b, "{a} {b}");
    }
    assert_eq!(by_logs.without_weight(), by_weights.without_weight());
    let rows =
        |problem: &Problem| problem.herd(&after(10), &HerdOptions::default(), &unwatched).unwrap().rows;
    assert_eq!(rows(&by_logs), rows(&by_weights));
}

#[test]
fn the_first_rule_that_holds_ends_the_run() {
    let problem = problem();
    let run = |number, tol, worth| {
        let stop = Stop::new(number, tol, worth).unwrap();
        problem.herd(&stop, &HerdOptions::default().unique(true), &unwatched).unwrap()
    };
    let all = run(Some(60), None, None);
    let errors: Vec<f64> = all.trace.iter().map(|pick| pick.error.unwrap()).collect();
    let first = |tol: f64| 1 + errors.iter().position(|&error| error <= tol).unwrap();
    let by_tol = run(None, Some(0.05), None);
    assert_eq!((by_tol.rows.len(), by_tol.ended), (first(0.05), Ended::Tolerance));
    let single = problem.error_scale().unwrap().single_draw.unwrap();
    let by_worth = run(None, None, Some(200.0));
    assert_eq!((by_worth.rows.len(), by_worth.ended), (first((single / 200.0).sqrt()), Ended::Worth));
    let short = run(Some(2), Some(0.05), Some(200.0));
    assert_eq!((short.rows.len(), short.ended), (2, Ended::Number));
    let more = run(Some(ROWS + 9), None, None);
    assert_eq!((more.rows.len(), more.ended), (ROWS, Ended::Exhausted));
    assert_eq!(all.rows[..2], short.rows);
}

#[test]
fn a_continued_run_is_the_unbroken_one() {
    let problem = problem();
    let options = HerdOptions::default().unique(true);
    let whole = problem.herd(&after(20), &options, &unwatched).unwrap();
    let again = |number, rows: &[usize]| {
        problem.herd(&after(number), &options.clone().earlier(rows), &unwatched).unwrap()
    };
    let continued = again(20, &whole.rows[..7]);
    assert_eq!((&continued.rows, continued.ended), (&whole.rows, whole.ended));
    assert!((continued.error().unwrap() - whole.error().unwrap()).abs() < 1e-12);
    assert_eq!(again(5, &whole.rows[..7]).rows, whole.rows[..5]);
    let thinned = problem.thin(&after(12), &thinning(3), &unwatched).unwrap();
    let from = thinning(3).earlier(&whole.rows[..7]);
    assert_eq!(problem.thin(&after(12), &from, &unwatched).unwrap(), thinned);
    // μ of the first run saves the second its comparison of all rows.
    let recalled = self::problem().recall(problem.recalled().unwrap().to_vec()).unwrap();
    assert_eq!(recalled.thin(&after(12), &from, &unwatched).unwrap(), thinned);
    let impatient = |progress: Progress| match progress {
        Progress::Embedding { .. } => panic!("nothing is left to compare"),
        _ => Continue(()),
    };
    recalled.herd(&after(3), &options, &impatient).unwrap();
    assert!(matches!(self::problem().recall(vec![0.5]), Err(Error::RecalledCount { .. })));
}

#[test]
fn thinning_is_herding_and_then_the_refiner() {
    for (weights, problem) in [(None, problem()), (Some(weights()), weighted())] {
        let (points, mu) = parts(weights.as_deref());
        let without: Vec<usize> = match &weights {
            None => Vec::new(),
            Some(weights) => (0..ROWS).filter(|&row| weights[row] == 0.0).collect(),
        };
        let mut herder = Herder::new(mu.clone(), Domain::Pool(points.clone()))
            .unwrap()
            .unique(true)
            .excluding(&without)
            .unwrap();
        let options = RefineOptions::default().search(3, 5).exclude(&without);
        let refiner = Refiner::new(mu, points, options).unwrap();
        // A number.
        let herded = herd_until(&mut herder, &[], &after(15), |_| Continue(())).unwrap();
        let set = refiner.improve_rows(&herded.rows, &unwatched).unwrap();
        let thinned = problem.thin(&after(15), &thinning(3), &unwatched).unwrap();
        assert_eq!(
            (&thinned.rows, &thinned.refined, thinned.ended),
            (&set.rows, &Some(set.clone()), Ended::Number)
        );
        assert!((thinned.error().unwrap() - set.error.unwrap()).abs() < 1e-9);
        assert!(thinned.error() < herded.error());
        let trace = herder.restart().replay(&set.rows).unwrap();
        assert_eq!(thinned.trace, trace);
        // An error.
        let fewest = refiner.fewest_of(0.05, ROWS - without.len(), &unwatched).unwrap();
        let thinned = problem.thin(&Stop::at_error(0.05).unwrap(), &thinning(3), &unwatched).unwrap();
        assert!(fewest.reached);
        assert_eq!((&thinned.rows, thinned.ended), (&fewest.set.rows, Ended::Tolerance));
        // An error that so few cannot have.
        let stop = Stop::new(Some(4), Some(1e-6), None).unwrap();
        let missed = problem.thin(&stop, &thinning(3), &unwatched).unwrap();
        assert_eq!((missed.rows.len(), missed.ended), (4, Ended::Number));
        assert!(stop.is_missed(missed.ended, missed.error(), &problem.error_scale().unwrap()));
    }
}

#[test]
fn a_constrained_set_starts_from_its_own_rows() {
    let (points, mu) = parts(None);
    let groups: Vec<usize> = (0..ROWS).map(|row| row % 3).collect();
    let options = RefineOptions::default().include(&[7, 8]).exclude(&[1]).groups(&groups, Some(&[2, 2, 5]));
    let set = Refiner::new(mu, points, options.clone()).unwrap().choose(9, &unwatched).unwrap();
    let thinned = problem().thin(&after(9), &ThinOptions::default().refine(options), &unwatched).unwrap();
    assert_eq!((thinned.rows, thinned.ended), (set.rows, Ended::Number));
    // Here a number is a demand.
    let few = RefineOptions::default().exclude(&(0..ROWS - 4).collect::<Vec<_>>());
    let few = problem().thin(&after(5), &ThinOptions::default().refine(few), &unwatched);
    assert_eq!(few, Err(Error::TooFewRows { asked: 5, available: 4 }));
    let all = problem().thin(&after(ROWS + 1), &ThinOptions::default(), &unwatched).unwrap();
    assert_eq!((all.rows.len(), all.ended, all.refined), (ROWS, Ended::Exhausted, None));
}

#[test]
fn rows_of_no_weight_are_matched_and_not_chosen() {
    let plain = weights();
    let without: Vec<usize> = (0..ROWS).filter(|&row| plain[row] == 0.0).collect();
    let problem = weighted();
    assert_eq!(problem.without_weight(), without);
    assert_eq!(problem.advice(), [Advice::RowsWithoutWeight { count: without.len() }]);
    let chosen = problem.herd(&after(30), &HerdOptions::default(), &unwatched).unwrap();
    let shares = problem.shares().unwrap().to_vec();
    let naive = Naive {
        kernel: problem.kernel(),
        samples: problem.points(),
        weights: shares,
        pool: problem.points(),
    };
    for (t, &row) in chosen.rows.iter().enumerate() {
        let open = (0..ROWS).filter(|row| !without.contains(row));
        let scored = open.map(|i| (i, naive.score(&chosen.rows[..t], problem.points().row(i))));
        assert_eq!(scored.reduce(|a, b| if b.1 > a.1 { b } else { a }).unwrap().0, row);
    }
    let all = problem.herd(&after(ROWS), &HerdOptions::default().unique(true), &unwatched).unwrap();
    assert_eq!((all.rows.len(), all.ended), (ROWS - without.len(), Ended::Exhausted));
    let all = problem.thin(&after(ROWS), &ThinOptions::default(), &unwatched).unwrap();
    assert_eq!((all.rows.len(), all.ended), (ROWS - without.len(), Ended::Exhausted));
    // One that must be in is in.
    let included = ThinOptions::default().refine(RefineOptions::default().include(&without[..1]));
    let included = problem.thin(&after(10), &included, &unwatched).unwrap();
    assert_eq!(included.rows.iter().filter(|row| without.contains(row)).collect::<Vec<_>>(), [&without[0]]);
    // All of them may be let in.
    let options = ProblemOptions::default().pool_without_weight(true);
    let open = Problem::weighted(rows(), RowWeights::Weights(&plain), options).unwrap();
    assert_eq!((open.advice(), open.open_rows()), (&[][..], ROWS));
    let all = open.herd(&after(ROWS), &HerdOptions::default().unique(true), &unwatched).unwrap();
    assert_eq!((all.rows.len(), all.ended), (ROWS, Ended::Number));
}

#[test]
fn an_evaluation_follows_the_plain_formulas() {
    for (data_weights, problem) in [(None, problem()), (Some(weights()), weighted())] {
        let subset: Vec<usize> = (0..25).map(|i| i * 11).collect();
        let signed: Vec<f64> = (0..25).map(|i| if i % 6 == 0 { -0.02 } else { 0.05 }).collect();
        let (points, kernel) = (problem.points(), problem.kernel());
        let equal = vec![1.0 / ROWS as f64; ROWS];
        let shares = problem.shares().unwrap_or(&equal);
        for weights in [None, Some(&signed[..])] {
            let found = problem.evaluate_rows(&subset, weights, &unwatched).unwrap();
            // ‖Σ a φ‖² over all rows with their shares and the subset with its weights, negated.
            let own = vec![1.0 / 25.0; 25];
            let own = weights.unwrap_or(&own);
            let terms: Vec<(usize, f64)> = (0..ROWS)
                .map(|row| (row, shares[row]))
                .chain(subset.iter().zip(own).map(|(&row, weight)| (row, -weight)))
                .collect();
            let pairs = terms.iter().flat_map(|s| terms.iter().map(move |t| (s, t)));
            let squared: f64 =
                pairs.map(|((i, a), (j, b))| a * b * kernel.value(points.row(*i), points.row(*j))).sum();
            assert!((found.error - squared.sqrt()).abs() < 1e-9, "{} {}", found.error, squared.sqrt());
            let scale = problem.error_scale().unwrap();
            assert_eq!(found.worth, Some(scale.single_draw.unwrap() / (found.error * found.error)));
            let rows = problem.rows().select(&subset).unwrap();
            let columns = quality(problem.rows(), data_weights.as_deref(), &rows, weights).unwrap();
            assert_eq!(found.quality.columns.len(), 3);
            for (a, b) in found.quality.columns.iter().zip(&columns.columns) {
                assert!((a.mean.unwrap() - b.mean.unwrap()).abs() < 1e-12);
            }
            assert_eq!(found, problem.evaluate(&rows, weights, &unwatched).unwrap());
            assert_eq!(found.error, problem.mmd(&rows, weights, &unwatched).unwrap());
        }
        let thin = problem.rows().select(&[0, 1]).unwrap();
        let plane = Points::from_rows(&[0.0, 0.0], 2).unwrap();
        assert!(matches!(problem.evaluate(&plane, None, &unwatched), Err(Error::DimensionMismatch { .. })));
        assert!(matches!(problem.evaluate(&thin, Some(&[1.0]), &unwatched), Err(Error::WeightCount { .. })));
        assert!(matches!(problem.evaluate_rows(&[ROWS], None, &unwatched), Err(Error::NoSuchRow { .. })));
    }
}

#[test]
fn others_are_compared_by_their_own_errors() {
    for (data_weights, problem) in [(None, problem()), (Some(weights()), weighted())] {
        let data_weights = data_weights.as_deref();
        let (_, mu) = parts(data_weights);
        let reference = Reference::new(problem.rows().as_slice(), 3, data_weights).unwrap();
        let of = |subset: &[usize]| {
            let points = problem.points().select(subset).unwrap();
            let rows = problem.rows().select(subset).unwrap();
            let quality = reference.quality(rows.as_slice(), None).unwrap();
            (metrics::mmd_of_points(&mu, &points, None, &unwatched).unwrap(), TypicalErrors::of(&quality))
        };
        let found = problem.compare(20, &unwatched).unwrap().unwrap();
        assert_eq!(found.random.len(), 20);
        let mut others = Vec::new();
        for (seed, error) in found.random.iter().enumerate() {
            let (want, typical) = of(&random_rows(ROWS, data_weights, 20, seed as u64).unwrap());
            assert!((error - want).abs() < 1e-9, "{error} {want}");
            others.push(typical);
        }
        let close = |a: TypicalErrors, b: TypicalErrors| {
            let pairs =
                [(a.mean, b.mean), (a.sd, b.sd), (a.quantile, b.quantile), (a.correlation, b.correlation)];
            pairs.iter().all(|(a, b)| (a.unwrap() - b.unwrap()).abs() < 1e-12)
        };
        assert!(close(found.random_errors, TypicalErrors::mean_of(&others)));
        let mean = found.random.iter().sum::<f64>() / 20.0;
        let variance = found.random.iter().map(|error| (error - mean).powi(2)).sum::<f64>() / 19.0;
        assert!(
            (found.random_mean() - mean).abs() < 1e-15 && (found.random_sd() - variance.sqrt()).abs() < 1e-15
        );
        let (spaced, errors) = of(&match data_weights {
            None => every_kth(ROWS, 20).unwrap(),
            Some(weights) => systematic_rows(weights, 20).unwrap(),
        });
        assert!((found.spaced - spaced).abs() < 1e-9 && close(found.spaced_errors, errors));
        for count in [0, ROWS, ROWS + 1] {
            assert_eq!(problem.compare(count, &unwatched).unwrap(), None);
        }
    }
}

#[test]
fn random_rows_have_the_expected_error_of_theory() {
    // E of the squared MMD of T of n rows without replacement is (1 − ‖μ‖²)·(n − T)/(T·(n − 1)).
    let (problem, t) = (problem(), 20);
    let found = problem.compare(t, &unwatched).unwrap().unwrap();
    let square = found.random.iter().map(|error| error * error).sum::<f64>() / 20.0;
    let single = problem.error_scale().unwrap().single_draw.unwrap();
    let expected = single * (ROWS - t) as f64 / (t * (ROWS - 1)) as f64;
    assert!((square / expected - 1.0).abs() < 0.3, "{square} {expected}");
}

#[test]
fn weights_are_found_or_the_reason_is_told() {
    let problem = problem();
    let rows: Vec<usize> = (0..20).collect();
    for rule in [WeightRule::Simplex, WeightRule::Signed] {
        let found = problem.weigh(&rows, rule, &unwatched).unwrap();
        let plain =
            optimal(&*problem.embedding(), &problem.points().select(&rows).unwrap(), rule, &unwatched)
                .unwrap();
        assert_eq!((found.weights.as_ref(), found.advice), (Some(&plain), None));
        let chosen = problem.herd(&after(20), &HerdOptions::default().earlier(&rows), &unwatched).unwrap();
        let told = problem.summarise(&chosen, found.weights.as_ref(), &unwatched).unwrap();
        let direct = problem.evaluate_rows(&rows, Some(&plain.weights), &unwatched).unwrap();
        assert!((told.error - direct.error).abs() < 1e-9 && told.quality == direct.quality);
        assert_eq!(told.comparison, direct.comparison);
        // All the rest can be had without the comparison.
        let alone = problem.summarise_alone(&chosen, found.weights.as_ref()).unwrap();
        assert!(alone.comparison.is_none() && told.comparison.is_some());
        assert_eq!((alone.error, alone.worth, &alone.quality), (told.error, told.worth, &told.quality));
        let equal = problem.summarise(&chosen, None, &unwatched).unwrap();
        assert!((equal.error - plain.equal_error.unwrap()).abs() < 1e-9 && told.error < equal.error);
    }
    // A kernel that is 0 everywhere has no weights.
    let zeros = Points::from_vec(vec![0.0; 9], 1).unwrap();
    let flat = Problem::new(zeros, ProblemOptions::default().kernel(Kernel::linear())).unwrap();
    let found = flat.weigh(&[0, 1], WeightRule::Simplex, &unwatched).unwrap();
    assert!(found.weights.is_none() && matches!(found.advice, Some(Advice::NotWeighed { .. })));
    let many = Points::from_vec((0..5001).map(f64::from).collect(), 1).unwrap();
    let many = supersample::task::weigh(
        &Empirical::new(Kernel::gaussian(1.0).unwrap(), many.clone()).unwrap(),
        &many,
        WeightRule::Simplex,
        &unwatched,
    );
    assert_eq!(many.unwrap().advice, Some(Advice::TooManyToWeigh { count: 5001, most: 5000 }));
}

/// Runs that are ended when the watch first sees this.
fn ended_at(is_here: impl Fn(Progress) -> bool + Sync, stop: &Stop) -> supersample::Result<Chosen> {
    let watch =
        |progress: Progress| -> ControlFlow<()> { if is_here(progress) { Break(()) } else { Continue(()) } };
    problem().thin(stop, &thinning(5), &watch)
}

#[test]
fn a_run_that_is_ended_gives_the_best_so_far() {
    let whole = problem().thin(&after(12), &thinning(5), &unwatched).unwrap();
    let herded = problem().herd(&after(12), &HerdOptions::default().unique(true), &unwatched).unwrap();
    let comparing = ended_at(|progress| matches!(progress, Progress::Embedding { .. }), &after(12));
    assert_eq!(comparing, Err(Error::Interrupted));
    let herding =
        ended_at(|progress| matches!(progress, Progress::Herding { chosen: 4, .. }), &after(12)).unwrap();
    assert_eq!(
        (herding.ended, &herding.rows[..], &herding.refined),
        (Ended::Interrupted, &herded.rows[..4], &None)
    );
    let sweeping =
        ended_at(|progress| matches!(progress, Progress::Sweeping { visits: 3.., .. }), &after(12)).unwrap();
    assert_eq!((sweeping.ended, sweeping.rows.len()), (Ended::Interrupted, 12));
    let no_worse = |a: &Chosen, b: &Chosen| a.error().unwrap() <= b.error().unwrap() + 1e-12;
    assert!(no_worse(&sweeping, &herded) && sweeping.error() > whole.error());
    let searching =
        ended_at(|progress| matches!(progress, Progress::Searching { visits: 7.., .. }), &after(12)).unwrap();
    assert_eq!((searching.ended, searching.rows.len()), (Ended::Interrupted, 12));
    assert!(no_worse(&searching, &sweeping) && no_worse(&whole, &searching));
    // The last pick was asked for anyway, and then it is the swaps that are ended.
    let last =
        ended_at(|progress| matches!(progress, Progress::Herding { chosen: 12, .. }), &after(12)).unwrap();
    assert_eq!(last, whole);
    // While the fewest rows are looked for, the herded ones are there from the beginning.
    let goal = Stop::at_error(0.06).unwrap();
    let enough = problem().herd(&goal, &HerdOptions::default().unique(true), &unwatched).unwrap();
    let few = ended_at(|progress| matches!(progress, Progress::Sweeping { .. }), &goal).unwrap();
    assert_eq!((few.ended, few.rows.len()), (Ended::Interrupted, enough.rows.len()));
    assert!(no_worse(&few, &enough));
    let scale = problem().error_scale().unwrap();
    assert!(!goal.is_missed(few.ended, few.error(), &scale));
}

#[test]
fn a_look_at_each_pick_sees_them_all_and_can_end_the_run() {
    let problem = problem();
    let mut seen: Vec<Pick> = Vec::new();
    let chosen = problem
        .thin_seeing(
            &after(8),
            &thinning(2),
            |pick| {
                seen.push(pick.clone());
                Continue(())
            },
            &unwatched,
        )
        .unwrap();
    let herded = problem.herd(&after(8), &HerdOptions::default().unique(true), &unwatched).unwrap();
    assert_eq!((seen, chosen.rows.len()), (herded.trace, 8));
    let stop_at_3 = |pick: &Pick| if pick.t == 3 { Break(()) } else { Continue(()) };
    let options = HerdOptions::default();
    let ended = problem.herd_seeing(&after(8), &options, stop_at_3, &unwatched).unwrap();
    assert_eq!((ended.rows.len(), ended.ended), (3, Ended::Interrupted));
    let last = problem.herd_seeing(&after(3), &options, stop_at_3, &unwatched).unwrap();
    assert_eq!((last.rows.len(), last.ended), (3, Ended::Number));
    let comparing = |progress: Progress| match progress {
        Progress::Comparing { done: 2.., .. } => Break(()),
        _ => Continue(()),
    };
    assert_eq!(problem.summarise(&last, None, &comparing), Err(Error::Interrupted));
}

#[test]
fn advice_is_given_of_rows_and_kernels() {
    let rows = rows();
    let with = |options: ProblemOptions| Problem::new(rows.clone(), options).unwrap().advice().to_vec();
    assert_eq!(with(ProblemOptions::default()), []);
    for bandwidth in [1e7, 1e9] {
        let long = ProblemOptions::default().kernel(Kernel::gaussian(bandwidth).unwrap());
        assert_eq!(with(long), [Advice::KernelNearlyConstant { bandwidth }]);
    }
    let short = ProblemOptions::default().kernel(Kernel::gaussian(1e-9).unwrap());
    assert_eq!(with(short), [Advice::KernelNearlyDiagonal { bandwidth: 1e-9 }]);
    let tiny = Points::from_vec(rows.as_slice().iter().map(|x| x * 1e-7).collect(), 3).unwrap();
    let unscaled = ProblemOptions::default().scale(Scale::None).kernel(Kernel::gaussian(1.0).unwrap());
    let found = Problem::new(tiny, unscaled).unwrap();
    assert_eq!(found.advice(), [Advice::KernelNearlyConstant { bandwidth: 1.0 }]);
    // The third column is the sum of the others, the fourth is 1 in a few rows.
    let linear: Vec<f64> = rows
        .rows()
        .enumerate()
        .flat_map(|(i, x)| [x[0], x[1], x[0] + x[1], f64::from(u8::from(i % 50 == 0))])
        .collect();
    let linear = Points::from_vec(linear, 4).unwrap();
    let with = |scale| {
        Problem::new(linear.clone(), ProblemOptions::default().scale(scale)).unwrap().advice().to_vec()
    };
    assert_eq!(with(Scale::Pca), [Advice::DirectionsDropped { dropped: 1, of: 4 }]);
    assert_eq!(with(Scale::Mad), [Advice::ScaledBySd { columns: vec![3] }]);
    let mut uneven = vec![1e-6; ROWS];
    uneven[0] = 1.0;
    let uneven =
        Problem::weighted(rows.clone(), RowWeights::Weights(&uneven), ProblemOptions::default()).unwrap();
    assert!(matches!(uneven.advice()[0], Advice::UnevenWeights { effective_size } if effective_size < 1.01));
    let few = rows.select(&[0, 1, 2, 3]).unwrap();
    let even = Problem::weighted(few, RowWeights::Weights(&[1.0, 2.0, 1.0, 2.0]), ProblemOptions::default());
    assert!(!even.unwrap().advice().iter().any(|advice| matches!(advice, Advice::UnevenWeights { .. })));
}

#[test]
fn what_cannot_be_is_refused_by_number() {
    let of = |weights: RowWeights| Problem::weighted(rows(), weights, ProblemOptions::default()).err();
    let mut bad = vec![1.0; ROWS];
    bad[17] = -2.0;
    assert_eq!(of(RowWeights::Weights(&bad)), Some(Error::BadWeight { index: 17, value: -2.0 }));
    bad[17] = f64::NAN;
    assert!(matches!(of(RowWeights::Logs(&bad)), Some(Error::BadLogWeight { index: 17, .. })));
    let several = ProblemOptions::default().family(Family::Imq, Bandwidth::Lengths(vec![1.0, 2.0]));
    let refusal = Error::LengthCount { family: Family::Imq, found: 2 };
    assert_eq!(Problem::new(rows(), several).err(), Some(refusal));
    let linear = ProblemOptions::default().family(Family::Linear, Bandwidth::Median);
    assert_eq!(Problem::new(rows(), linear).unwrap().kernel(), &Kernel::linear());
    let none = Stop::default();
    assert_eq!(problem().thin(&none, &ThinOptions::default(), &unwatched), Err(Error::NoStopRule));
    let earlier = HerdOptions::default().earlier(&[ROWS]);
    let missing = problem().herd(&after(3), &earlier, &unwatched);
    assert_eq!(missing, Err(Error::NoSuchRow { index: ROWS, len: ROWS }));
}

#[test]
fn large_rows_in_single_precision_are_measured_as_in_double() {
    let n = Precision::MIXED_FROM + 100;
    let rows = random_points(n, 2, &mut rng(9));
    let of = |precision| Problem::new(rows.clone(), ProblemOptions::default().precision(precision)).unwrap();
    let (mixed, double) = (of(Precision::Mixed), of(Precision::Double));
    assert_eq!((mixed.precision_in_use(), double.precision_in_use()), (Precision::Mixed, Precision::Double));
    let subset: Vec<usize> = (0..50).map(|i| i * 300).collect();
    let signed: Vec<f64> = (0..50).map(|i| if i % 7 == 0 { -0.01 } else { 0.025 }).collect();
    for weights in [None, Some(&signed[..])] {
        let error =
            |problem: &Problem| problem.mmd(&rows.select(&subset).unwrap(), weights, &unwatched).unwrap();
        assert!((error(&mixed) / error(&double) - 1.0).abs() < 1e-3);
    }
    let chosen = mixed.thin(&after(30), &ThinOptions::default(), &unwatched).unwrap();
    let told = double.mmd(&rows.select(&chosen.rows).unwrap(), None, &unwatched).unwrap();
    assert!((chosen.error().unwrap() / told - 1.0).abs() < 1e-3);
}

#[test]
fn herding_in_space_stops_by_the_same_rules() {
    use supersample::target::IndependentNormals;
    use supersample::{AscentOptions, ClosedForm};
    let normal = IndependentNormals::new(&[0.0, 1.0], &[1.0, 2.0]).unwrap();
    let starts = normal.sample(200, 1).unwrap();
    let mu = ClosedForm::normals(Kernel::gaussian(1.0).unwrap(), normal).unwrap();
    let single = mu.mean_diagonal().unwrap() - mu.squared_norm().unwrap();
    let domain = Domain::Ascent { starts, options: AscentOptions::default() };
    let mut herder = Herder::new(mu, domain).unwrap();
    assert_eq!(ErrorScale::of(herder.pool()).single_draw, Some(single));
    let stop = Stop::new(Some(50), None, Some(30.0)).unwrap();
    let chosen = herd_until(&mut herder, &[], &stop, |_| Continue(())).unwrap();
    assert_eq!((chosen.ended, chosen.rows.len()), (Ended::Worth, 0));
    assert_eq!(chosen.coordinates(), herder.chosen().unwrap().as_slice());
    let errors: Vec<f64> = chosen.trace.iter().map(|pick| pick.error.unwrap()).collect();
    let is_worth = |error: &f64| single / (error * error) >= 30.0;
    assert!(is_worth(errors.last().unwrap()) && !errors[..errors.len() - 1].iter().any(is_worth));
}
