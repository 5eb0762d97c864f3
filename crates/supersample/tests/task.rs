//! The layer of tasks against plain formulas, and against the parts it is made of.

use crate::common;

use std::ops::ControlFlow::{self, Break, Continue};

use common::naive::Naive;
use common::{continued, herd, plain, random_points, ready, rng, thin, thinning};
use rand::RngExt;
use supersample::quality::{Reference, every_kth, quality, random_rows, systematic_rows};
use supersample::scale::{Scale, Scaling};
use supersample::task::{
    Advice, Bandwidth, Choose, Chosen, Continued, Ended, ErrorScale, Errors, KernelChoice, Measure, Problem,
    RowWeights, Rows, Stop, Subset, Target, herd_until,
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

fn target() -> Target {
    ready(rows(), plain())
}

fn weighted() -> Target {
    ready(of_weights(&weights()), plain())
}

fn of_weights(weights: &[f64]) -> Rows {
    Rows::weighted(rows(), RowWeights::Weights(weights)).unwrap()
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

fn searching(sweeps: usize) -> RefineOptions {
    RefineOptions::default().search(sweeps, 5)
}

#[test]
fn a_problem_is_its_parts() {
    for weights in [None, Some(weights())] {
        let (points, mu) = parts(weights.as_deref());
        let target = match &weights {
            None => target(),
            Some(_) => weighted(),
        };
        let problem = target.problem();
        assert_eq!((problem.points(), problem.kernel()), (&points, mu.kernel()));
        let scale = target.error_scale();
        let single = mu.mean_diagonal().unwrap() - mu.squared_norm().unwrap();
        assert_eq!(scale.single_draw, Some(single));
        assert_eq!(scale.equivalent_draws(0.1), metrics::equivalent_draws(&mu, 0.1));
        assert_eq!(Some(&*target.recalled()), mu.recalled());
        let median = problem.median().unwrap();
        assert_eq!(problem.kernel().bandwidths(), [median.length]);
    }
    let imq = KernelChoice::Named { family: Some(Family::Imq), bandwidth: Bandwidth::Lengths(vec![2.0]) };
    let given = plain().scale(Scale::None).kernel(imq).precision(Precision::Double);
    let given = Problem::new(rows(), given).unwrap();
    assert!(given.points().is_same_as(given.rows()) && given.median().is_none());
    assert_eq!(given.kernel(), &Family::Imq.kernel(&[2.0]).unwrap());
}

#[test]
fn logarithms_of_weights_make_the_same_problem() {
    let logs: Vec<f64> = weights().iter().map(|weight| weight.ln() - 50_000.0).collect();
    let by_logs = ready(Rows::weighted(rows(), RowWeights::Logs(&logs)).unwrap(), plain());
    let by_weights = weighted();
    let shares = |target: &Target| target.problem().shares().unwrap().to_vec();
    for (a, b) in shares(&by_logs).iter().zip(shares(&by_weights)) {
        // The logarithms have lost some digits to their offset.
        assert!((a - b).abs() <= 1e-10 * b, "{a} {b}");
    }
    assert_eq!(by_logs.problem().without_weight(), by_weights.problem().without_weight());
    let rows = |target: &Target| herd(target, after(10), false).rows;
    assert_eq!(rows(&by_logs), rows(&by_weights));
}

#[test]
fn the_first_rule_that_holds_ends_the_run() {
    let target = target();
    let run = |number, tol, draws| herd(&target, Stop::new(number, tol, draws).unwrap(), true);
    let all = run(Some(60), None, None);
    let errors: Vec<f64> = all.trace.iter().map(|pick| pick.error.unwrap()).collect();
    let first = |tol: f64| 1 + errors.iter().position(|&error| error <= tol).unwrap();
    let by_tol = run(None, Some(0.05), None);
    assert_eq!((by_tol.rows.len(), by_tol.ended), (first(0.05), Ended::Tolerance));
    let single = target.error_scale().single_draw.unwrap();
    let by_draws = run(None, None, Some(200.0));
    assert_eq!(
        (by_draws.rows.len(), by_draws.ended),
        (first((single / 200.0).sqrt()), Ended::EquivalentDraws)
    );
    let short = run(Some(2), Some(0.05), Some(200.0));
    assert_eq!((short.rows.len(), short.ended), (2, Ended::Number));
    let more = run(Some(ROWS + 9), None, None);
    assert_eq!((more.rows.len(), more.ended), (ROWS, Ended::Exhausted));
    assert_eq!(all.rows[..2], short.rows);
}

#[test]
fn a_continued_run_is_the_unbroken_one() {
    let target = target();
    let whole = herd(&target, after(20), true);
    let again = |number, rows: &[usize]| {
        continued(&target, &Choose::herd(number).unwrap().unique(true), rows).unwrap()
    };
    let from_seven = again(20, &whole.rows[..7]);
    assert_eq!((&from_seven.rows, from_seven.ended), (&whole.rows, whole.ended));
    assert!((from_seven.error().unwrap() - whole.error().unwrap()).abs() < 1e-12);
    assert_eq!(again(5, &whole.rows[..7]).rows, whole.rows[..5]);
    let twelve = thinning(after(12), searching(3));
    let thinned = target.choose_by(&twelve, &unwatched).unwrap();
    assert_eq!(continued(&target, &twelve, &whole.rows[..7]).unwrap(), thinned);
    // μ of the first run saves the second its comparison of all rows.
    let impatient = |progress: Progress| match progress {
        Progress::Embedding { .. } => panic!("nothing is left to compare"),
        _ => Continue(()),
    };
    let problem = || Problem::new(rows(), plain()).unwrap();
    let recalled = problem().recall(target.recalled().to_vec(), &impatient).unwrap();
    assert_eq!(continued(&recalled, &twelve, &whole.rows[..7]).unwrap(), thinned);
    recalled.choose_by(&Choose::herd(3).unwrap(), &impatient).unwrap();
    assert!(matches!(problem().recall(vec![0.5], &unwatched), Err(Error::RecalledCount { .. })));
}

#[test]
fn thinning_is_herding_and_then_the_refiner() {
    for (weights, target) in [(None, target()), (Some(weights()), weighted())] {
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
        let thinned = thin(&target, after(15), searching(3));
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
        let thinned = thin(&target, Stop::at_error(0.05).unwrap(), searching(3));
        assert!(fewest.reached);
        assert_eq!((&thinned.rows, thinned.ended), (&fewest.set.rows, Ended::Tolerance));
        // An error that so few cannot have.
        let stop = Stop::new(Some(4), Some(1e-6), None).unwrap();
        let missed = thin(&target, stop, searching(3));
        assert_eq!((missed.rows.len(), missed.ended), (4, Ended::Number));
        assert!(stop.is_missed(missed.ended, missed.error(), &target.error_scale()));
    }
}

#[test]
fn a_constrained_set_starts_from_its_own_rows() {
    let (points, mu) = parts(None);
    let groups: Vec<usize> = (0..ROWS).map(|row| row % 3).collect();
    let options = RefineOptions::default().include(&[7, 8]).exclude(&[1]).groups(&groups, Some(&[2, 2, 5]));
    let set = Refiner::new(mu, points, options.clone()).unwrap().choose(9, &unwatched).unwrap();
    let thinned = thin(&target(), after(9), options);
    assert_eq!((thinned.rows, thinned.ended), (set.rows, Ended::Number));
    // Here a number is a demand.
    let few = RefineOptions::default().exclude(&(0..ROWS - 4).collect::<Vec<_>>());
    let few = target().choose_by(&thinning(after(5), few), &unwatched);
    assert_eq!(few, Err(Error::TooFewRows { asked: 5, available: 4 }));
    let all = thin(&target(), after(ROWS + 1), RefineOptions::default());
    assert_eq!((all.rows.len(), all.ended, all.refined), (ROWS, Ended::Exhausted, None));
}

#[test]
fn rows_of_no_weight_are_matched_and_not_chosen() {
    let weights = weights();
    let without: Vec<usize> = (0..ROWS).filter(|&row| weights[row] == 0.0).collect();
    let target = weighted();
    let problem = target.problem();
    assert_eq!(problem.without_weight(), without);
    assert_eq!(problem.advice(), [Advice::RowsWithoutWeight { count: without.len() }]);
    let chosen = herd(&target, after(30), false);
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
    let all = herd(&target, after(ROWS), true);
    assert_eq!((all.rows.len(), all.ended), (ROWS - without.len(), Ended::Exhausted));
    let all = thin(&target, after(ROWS), RefineOptions::default());
    assert_eq!((all.rows.len(), all.ended), (ROWS - without.len(), Ended::Exhausted));
    // One that must be in is in.
    let included = thin(&target, after(10), RefineOptions::default().include(&without[..1]));
    assert_eq!(included.rows.iter().filter(|row| without.contains(row)).collect::<Vec<_>>(), [&without[0]]);
    // All of them may be let in.
    let open = ready(of_weights(&weights), plain().pool_without_weight(true));
    assert_eq!((open.problem().advice(), open.problem().open_rows()), (&[][..], ROWS));
    let all = herd(&open, after(ROWS), true);
    assert_eq!((all.rows.len(), all.ended), (ROWS, Ended::Number));
}

#[test]
fn an_evaluation_follows_the_plain_formulas() {
    for (data_weights, target) in [(None, target()), (Some(weights()), weighted())] {
        let problem = target.problem();
        let subset: Vec<usize> = (0..25).map(|i| i * 11).collect();
        let signed: Vec<f64> = (0..25).map(|i| if i % 6 == 0 { -0.02 } else { 0.05 }).collect();
        let (points, kernel) = (problem.points(), problem.kernel());
        let equal = vec![1.0 / ROWS as f64; ROWS];
        let shares = problem.shares().unwrap_or(&equal);
        for weights in [None, Some(&signed[..])] {
            let found = target.evaluate(&Subset::of_rows(&subset).weights(weights), &unwatched).unwrap();
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
            let mmd = found.mmd();
            assert!((mmd - squared.sqrt()).abs() < 1e-9, "{mmd} {}", squared.sqrt());
            let draws = target.error_scale().single_draw.unwrap() / (mmd * mmd);
            assert_eq!(found.errors.get(Measure::EquivalentDraws), Some(draws));
            let rows = problem.rows().select(&subset).unwrap();
            let columns = quality(problem.rows(), data_weights.as_deref(), &rows, weights).unwrap();
            assert_eq!(found.quality.columns.len(), 3);
            for (a, b) in found.quality.columns.iter().zip(&columns.columns) {
                assert!((a.mean.unwrap() - b.mean.unwrap()).abs() < 1e-12);
            }
            let subset = Subset::of_points(rows).weights(weights);
            assert_eq!(found, target.evaluate(&subset, &unwatched).unwrap());
            assert_eq!(mmd, target.mmd(&subset, &unwatched).unwrap());
        }
        let thin = problem.rows().select(&[0, 1]).unwrap();
        let plane = Points::from_rows(&[0.0, 0.0], 2).unwrap();
        let refused = |subset: Subset<'_>| target.evaluate(&subset, &unwatched);
        assert!(matches!(refused(Subset::of_points(plane)), Err(Error::DimensionMismatch { .. })));
        let one_weight = Subset::of_points(thin).weights(Some(&[1.0]));
        assert!(matches!(refused(one_weight), Err(Error::WeightCount { .. })));
        assert!(matches!(refused(Subset::of_rows(&[ROWS])), Err(Error::NoSuchRow { .. })));
    }
}

#[test]
fn others_are_compared_by_their_own_errors() {
    for (data_weights, target) in [(None, target()), (Some(weights()), weighted())] {
        let (data_weights, problem) = (data_weights.as_deref(), target.problem());
        let (_, mu) = parts(data_weights);
        let reference = Reference::new(problem.rows().as_slice(), 3, data_weights).unwrap();
        let of = |subset: &[usize]| {
            let points = problem.points().select(subset).unwrap();
            let rows = problem.rows().select(subset).unwrap();
            let quality = reference.quality(rows.as_slice(), None).unwrap();
            let mmd = metrics::mmd_of_points(&mu, &points, None, &unwatched).unwrap();
            Errors::default().with(Measure::Mmd, mmd).with_quality(&quality)
        };
        let close = |a: Errors, b: Errors| {
            let known = b.iter().filter_map(|(measure, value)| Some((a.get(measure), value?)));
            known.map(|(a, b)| (a.unwrap() - b).abs()).fold(0.0, f64::max) < 1e-9
        };
        let found = target.compare(20, &unwatched).unwrap().unwrap();
        assert_eq!(found.random.len(), 20);
        let mut others = Vec::new();
        for (seed, errors) in found.random.iter().enumerate() {
            let want = of(&random_rows(ROWS, data_weights, 20, seed as u64).unwrap());
            assert!(close(*errors, want), "{errors:?} {want:?}");
            others.push(want);
        }
        assert!(close(found.random_errors(), Errors::mean_of(&others)));
        let mmds = found.random_mmds();
        let mean = mmds.iter().sum::<f64>() / 20.0;
        let variance = mmds.iter().map(|error| (error - mean).powi(2)).sum::<f64>() / 19.0;
        assert!(
            (found.random_mean() - mean).abs() < 1e-15 && (found.random_sd() - variance.sqrt()).abs() < 1e-15
        );
        let spaced = of(&match data_weights {
            None => every_kth(ROWS, 20).unwrap(),
            Some(weights) => systematic_rows(weights, 20).unwrap(),
        });
        assert!(close(found.spaced, spaced));
        for count in [0, ROWS, ROWS + 1] {
            assert_eq!(target.compare(count, &unwatched).unwrap(), None);
        }
    }
}

#[test]
fn random_rows_have_the_expected_error_of_theory() {
    // E of the squared MMD of T of n rows without replacement is (1 − ‖μ‖²)·(n − T)/(T·(n − 1)).
    let (target, t) = (target(), 20);
    let found = target.compare(t, &unwatched).unwrap().unwrap();
    let square = found.random_mmds().iter().map(|error| error * error).sum::<f64>() / 20.0;
    let single = target.error_scale().single_draw.unwrap();
    let expected = single * (ROWS - t) as f64 / (t * (ROWS - 1)) as f64;
    assert!((square / expected - 1.0).abs() < 0.3, "{square} {expected}");
}

#[test]
fn weights_are_found_or_the_reason_is_told() {
    let target = target();
    let rows: Vec<usize> = (0..20).collect();
    for rule in [WeightRule::Simplex, WeightRule::Signed] {
        let found = target.weigh(&rows, rule, &unwatched).unwrap();
        let points = target.problem().points().select(&rows).unwrap();
        let plain = optimal(&*target.embedding(), &points, rule, &unwatched).unwrap();
        assert_eq!((found.weights.as_ref(), found.advice), (Some(&plain), None));
        let equal = continued(&target, &Choose::herd(20).unwrap(), &rows).unwrap();
        let chosen = continued(&target, &Choose::herd(20).unwrap().weighed(rule), &rows).unwrap();
        assert_eq!((chosen.weights.as_ref(), &chosen.rows), (Some(&plain), &equal.rows));
        let told = target.summarise(&chosen, &unwatched).unwrap();
        let direct = Subset::of_rows(&rows).weights(Some(&plain.weights));
        let direct = target.evaluate(&direct, &unwatched).unwrap();
        assert!((told.mmd() - direct.mmd()).abs() < 1e-9 && told.quality == direct.quality);
        let cdf = |found: &Errors| found.get(Measure::Cdf).unwrap();
        assert_eq!(cdf(&told.errors), cdf(&direct.errors));
        assert_eq!(told.comparison, direct.comparison);
        // All the rest can be had without the comparison.
        let alone = target.summarise_alone(&chosen).unwrap();
        assert!(alone.comparison.is_none() && told.comparison.is_some());
        assert_eq!((alone.errors, &alone.quality), (told.errors, &told.quality));
        let equal = target.summarise(&equal, &unwatched).unwrap();
        assert!((equal.mmd() - plain.equal_error.unwrap()).abs() < 1e-9 && told.mmd() < equal.mmd());
        // The weights go with their rows, in whatever order.
        let sorted = chosen.clone().sorted();
        assert!(sorted.rows.is_sorted());
        let weight = |chosen: &Chosen, row: usize| {
            chosen.weights.as_ref().unwrap().weights[chosen.rows.iter().position(|&r| r == row).unwrap()]
        };
        assert!(rows.iter().all(|&row| weight(&sorted, row) == weight(&chosen, row)));
    }
    // A kernel that is 0 everywhere has no weights.
    let zeros = Points::from_vec(vec![0.0; 9], 1).unwrap();
    let flat = ready(zeros, plain().kernel(Kernel::linear()));
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
fn ended_at(is_here: impl Fn(Progress) -> bool + Sync, stop: Stop) -> supersample::Result<Chosen> {
    let watch =
        |progress: Progress| -> ControlFlow<()> { if is_here(progress) { Break(()) } else { Continue(()) } };
    let problem = Problem::new(rows(), plain()).unwrap();
    problem.prepare(&watch)?.choose_by(&thinning(stop, searching(5)), &watch)
}

#[test]
fn a_run_that_is_ended_gives_the_best_so_far() {
    let whole = thin(&target(), after(12), searching(5));
    let herded = herd(&target(), after(12), true);
    let comparing = ended_at(|progress| matches!(progress, Progress::Embedding { .. }), after(12));
    assert_eq!(comparing, Err(Error::Interrupted));
    let herding =
        ended_at(|progress| matches!(progress, Progress::Herding { chosen: 4, .. }), after(12)).unwrap();
    assert_eq!(
        (herding.ended, &herding.rows[..], &herding.refined),
        (Ended::Interrupted, &herded.rows[..4], &None)
    );
    let sweeping =
        ended_at(|progress| matches!(progress, Progress::Sweeping { visits: 3.., .. }), after(12)).unwrap();
    assert_eq!((sweeping.ended, sweeping.rows.len()), (Ended::Interrupted, 12));
    let no_worse = |a: &Chosen, b: &Chosen| a.error().unwrap() <= b.error().unwrap() + 1e-12;
    assert!(no_worse(&sweeping, &herded) && sweeping.error() > whole.error());
    let searching =
        ended_at(|progress| matches!(progress, Progress::Searching { visits: 7.., .. }), after(12)).unwrap();
    assert_eq!((searching.ended, searching.rows.len()), (Ended::Interrupted, 12));
    assert!(no_worse(&searching, &sweeping) && no_worse(&whole, &searching));
    // The last pick was asked for anyway, and then it is the swaps that are ended.
    let last =
        ended_at(|progress| matches!(progress, Progress::Herding { chosen: 12, .. }), after(12)).unwrap();
    assert_eq!(last, whole);
    // While the fewest rows are looked for, the herded ones are there from the beginning.
    let goal = Stop::at_error(0.06).unwrap();
    let enough = herd(&target(), goal, true);
    let few = ended_at(|progress| matches!(progress, Progress::Sweeping { .. }), goal).unwrap();
    assert_eq!((few.ended, few.rows.len()), (Ended::Interrupted, enough.rows.len()));
    assert!(no_worse(&few, &enough));
    let scale = target().error_scale();
    assert!(!goal.is_missed(few.ended, few.error(), &scale));
}

#[test]
fn a_look_at_each_pick_sees_them_all_and_can_end_the_run() {
    let target = target();
    let mut seen: Vec<Pick> = Vec::new();
    let mut see = |pick: &Pick| {
        seen.push(pick.clone());
        Continue(())
    };
    let from = Continued { rows: &[], seen: &mut see };
    let chosen = target.continued(&thinning(after(8), searching(2)), from, &unwatched).unwrap();
    let herded = herd(&target, after(8), true);
    assert_eq!((seen, chosen.rows.len()), (herded.trace, 8));
    let mut stop_at_3 = |pick: &Pick| if pick.t == 3 { Break(()) } else { Continue(()) };
    let mut run = |number: usize| {
        let from = Continued { rows: &[], seen: &mut stop_at_3 };
        target.continued(&Choose::herd(number).unwrap(), from, &unwatched).unwrap()
    };
    let ended = run(8);
    assert_eq!((ended.rows.len(), ended.ended), (3, Ended::Interrupted));
    let last = run(3);
    assert_eq!((last.rows.len(), last.ended), (3, Ended::Number));
    let comparing = |progress: Progress| match progress {
        Progress::Comparing { done: 2.., .. } => Break(()),
        _ => Continue(()),
    };
    assert_eq!(target.summarise(&last, &comparing), Err(Error::Interrupted));
}

#[test]
fn advice_is_given_of_rows_and_kernels() {
    let rows = rows();
    let with = |options: Choose| Problem::new(rows.clone(), options).unwrap().advice().to_vec();
    assert_eq!(with(plain()), []);
    for bandwidth in [1e7, 1e9] {
        let long = plain().kernel(Kernel::gaussian(bandwidth).unwrap());
        assert_eq!(with(long), [Advice::KernelNearlyConstant { bandwidth }]);
    }
    let short = plain().kernel(Kernel::gaussian(1e-9).unwrap());
    assert_eq!(with(short), [Advice::KernelNearlyDiagonal { bandwidth: 1e-9 }]);
    let tiny = Points::from_vec(rows.as_slice().iter().map(|x| x * 1e-7).collect(), 3).unwrap();
    let unscaled = plain().scale(Scale::None).kernel(Kernel::gaussian(1.0).unwrap());
    let found = Problem::new(tiny, unscaled).unwrap();
    assert_eq!(found.advice(), [Advice::KernelNearlyConstant { bandwidth: 1.0 }]);
    // The third column is the sum of the others, the fourth is 1 in a few rows.
    let linear: Vec<f64> = rows
        .rows()
        .enumerate()
        .flat_map(|(i, x)| [x[0], x[1], x[0] + x[1], f64::from(u8::from(i % 50 == 0))])
        .collect();
    let linear = Points::from_vec(linear, 4).unwrap();
    let with = |scale| Problem::new(linear.clone(), plain().scale(scale)).unwrap().advice().to_vec();
    assert_eq!(with(Scale::Pca), [Advice::DirectionsDropped { dropped: 1, of: 4 }]);
    let found = with(Scale::Mad);
    assert_eq!(found[0], Advice::ScaledBySd { columns: vec![3] });
    assert!(
        matches!(found[1..], [Advice::NearlyCollinear { columns: [1, 2], correlation }] if correlation > 0.99)
    );
    let mut uneven = vec![1e-6; ROWS];
    uneven[0] = 1.0;
    let uneven = Problem::new(of_weights(&uneven), plain()).unwrap();
    assert!(matches!(uneven.advice()[0], Advice::UnevenWeights { effective_size } if effective_size < 1.01));
    let few = rows.select(&[0, 1, 2, 3]).unwrap();
    let few = Rows::weighted(few, RowWeights::Weights(&[1.0, 2.0, 1.0, 2.0])).unwrap();
    assert!(
        !Problem::new(few, plain())
            .unwrap()
            .advice()
            .iter()
            .any(|advice| matches!(advice, Advice::UnevenWeights { .. }))
    );
}

#[test]
fn what_cannot_be_is_refused_by_number() {
    let of = |weights: RowWeights| Rows::weighted(rows(), weights).err();
    let mut bad = vec![1.0; ROWS];
    bad[17] = -2.0;
    assert_eq!(of(RowWeights::Weights(&bad)), Some(Error::BadWeight { index: 17, value: -2.0 }));
    bad[17] = f64::NAN;
    assert!(matches!(of(RowWeights::Logs(&bad)), Some(Error::BadLogWeight { index: 17, .. })));
    assert!("cosine".parse::<Family>().is_err());
    let linear = KernelChoice::Named { family: Some(Family::Linear), bandwidth: Bandwidth::Median };
    assert_eq!(Problem::new(rows(), plain().kernel(linear)).unwrap().kernel(), &Kernel::linear());
    assert_eq!(target().choose(&unwatched), Err(Error::NoStopRule));
    let missing = continued(&target(), &Choose::herd(3).unwrap(), &[ROWS]);
    assert_eq!(missing, Err(Error::NoSuchRow { index: ROWS, len: ROWS }));
}

#[test]
fn large_rows_in_single_precision_are_measured_as_in_double() {
    let n = Precision::MIXED_FROM + 100;
    let rows = random_points(n, 2, &mut rng(9));
    let of = |precision| ready(rows.clone(), plain().precision(precision));
    let (mixed, double) = (of(Precision::Mixed), of(Precision::Double));
    assert_eq!((mixed.precision(), double.precision()), (Precision::Mixed, Precision::Double));
    let subset: Vec<usize> = (0..50).map(|i| i * 300).collect();
    let signed: Vec<f64> = (0..50).map(|i| if i % 7 == 0 { -0.01 } else { 0.025 }).collect();
    for weights in [None, Some(&signed[..])] {
        let subset = Subset::of_rows(&subset).weights(weights);
        let error = |target: &Target| target.mmd(&subset, &unwatched).unwrap();
        assert!((error(&mixed) / error(&double) - 1.0).abs() < 1e-3);
    }
    let chosen = thin(&mixed, after(30), RefineOptions::default());
    let told = double.mmd(&Subset::of_rows(&chosen.rows), &unwatched).unwrap();
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
    assert_eq!((chosen.ended, chosen.rows.len()), (Ended::EquivalentDraws, 0));
    assert_eq!(chosen.points(), herder.chosen().unwrap().as_slice());
    let errors: Vec<f64> = chosen.trace.iter().map(|pick| pick.error.unwrap()).collect();
    let is_enough = |error: &f64| single / (error * error) >= 30.0;
    assert!(is_enough(errors.last().unwrap()) && !errors[..errors.len() - 1].iter().any(is_enough));
}
