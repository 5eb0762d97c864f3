//! Tasks on landmarks against tasks on the exact mean embedding, through the layer that the command and Python use.

use std::ops::ControlFlow;
use std::sync::Mutex;

use crate::common::{continued, herd, plain, ready, thin, thinning};
use supersample::scale::Scale;
use supersample::target::GaussianMixture;
use supersample::task::{
    Advice, Choose, Chosen, Continued, EmbeddingChoice, Ended, Measure, Problem, RowWeights, Rows, Size,
    Stop, Subset, Target, choose_landmarks,
};
use supersample::weights::WeightRule;
use supersample::{Error, Herder, Kernel, Points, Precision, Progress, RefineOptions, unwatched};

fn draws(n: usize, dim: usize) -> Points {
    GaussianMixture::random(5, dim, 1).unwrap().sample(n, 2).unwrap()
}

fn options() -> Choose {
    plain().scale(Scale::None).kernel(Kernel::gaussian(1.0).unwrap())
}

fn on_landmarks(options: Choose, count: usize, seed: u64) -> Choose {
    options.embedding(EmbeddingChoice::Landmarks).landmarks(count).seed(seed)
}

fn exact(options: Choose) -> Choose {
    options.embedding(EmbeddingChoice::Exact)
}

fn uneven(n: usize) -> Vec<f64> {
    (0..n).map(|i| if i % 7 == 0 { 0.0 } else { 1.0 + (i % 5) as f64 }).collect()
}

/// E_T² of every prefix is that of the exact embedding but for ‖μ‖², which moves all of them alike.
#[test]
fn every_error_of_a_run_is_exact_but_for_the_norm() {
    for (n, weighted) in [(3000, false), (3000, true), (Precision::MIXED_FROM + 10, false)] {
        let points = draws(n, 3);
        let weights = uneven(n);
        let weights = if weighted { RowWeights::Weights(&weights) } else { RowWeights::Equal };
        let target = |options| ready(Rows::weighted(points.clone(), weights).unwrap(), options);
        let (approximate, exact) = (target(on_landmarks(options(), 200, 3)), target(exact(options())));
        let stop = Stop::after(60).unwrap();
        let herded = herd(&approximate, stop, false);
        let thinned = thin(&approximate, stop, RefineOptions::default());
        let norm = |target: &Target| target.pool().unwrap().squared_norm().unwrap();
        let shift = norm(&approximate) - norm(&exact);
        let known = approximate.error_scale().norm_error.unwrap();
        assert!(shift.abs() < 4.0 * known && known > 0.0, "{shift:e} ± {known:e}");
        for chosen in [&herded, &thinned] {
            let truth = Herder::trace(exact.pool().unwrap(), &chosen.rows).unwrap();
            for (got, want) in chosen.trace.iter().zip(&truth) {
                let (got, want) = (got.squared_error.unwrap(), want.squared_error.unwrap());
                assert!((got - want - shift).abs() < 5e-8, "{n}: {got} {want} {shift:e}");
            }
            let error = chosen.error().unwrap();
            // The rounding of E² adds next to nothing.
            let ratio = chosen.standard_error.unwrap() / (known / (2.0 * error));
            assert!((ratio - 1.0).abs() < 1e-6, "{ratio}");
            assert_eq!(chosen.advice, []);
            // Weights, evaluations and comparisons carry it too.
            let found = approximate.summarise(chosen, &unwatched).unwrap();
            assert_eq!((found.mmd(), found.standard_error), (error, chosen.standard_error));
            let again = approximate.evaluate(&Subset::of_rows(&chosen.rows), &unwatched).unwrap();
            assert!((again.mmd() / error - 1.0).abs() < 1e-4, "{} {error}", again.mmd());
            let comparison = found.comparison.unwrap();
            assert!(comparison.random_mean() > 2.0 * error);
            let plain = exact.compare(60, &unwatched).unwrap().unwrap();
            let (random, spaced) = comparison.standard_errors.unwrap();
            assert!(random > 0.0 && random < known / (2.0 * error));
            // The means at rows spread evenly are exact, those at random rows in their mean.
            let shifted = (plain.spaced_mmd().powi(2) + shift).sqrt();
            assert!((shifted - comparison.spaced_mmd()).abs() < 1e-7 + 4.0 * spaced, "{n}: {shifted}");
            assert!((plain.random_mean() / comparison.random_mean() - 1.0).abs() < 2e-4);
            let weighed =
                approximate.weigh(&chosen.rows, WeightRule::Simplex, &unwatched).unwrap().weights.unwrap();
            assert!(weighed.error.unwrap() <= error * 1.001);
            assert!((weighed.equal_error.unwrap() / error - 1.0).abs() < 1e-3);
        }
        let refined = thinned.refined.as_ref().unwrap();
        assert_eq!(refined.error, thinned.error());
        assert!(refined.error <= refined.start_error && refined.error < herded.error());
        // The choice is as good as the exact one.
        let best = herd(&exact, stop, false).error().unwrap();
        let got = exact.mmd(&Subset::of_rows(&herded.rows), &unwatched).unwrap();
        assert!(got < 1.1 * best, "{got} {best}");
    }
}

/// In seeded runs the exact MMD lies within a few standard errors of the one that is told, as often as it should.
#[test]
fn the_error_bar_is_true() {
    // Too many rows for all of them to be control rows.
    let points = draws(12_000, 4);
    let exact = ready(points.clone(), exact(options()));
    let pool = exact.pool().unwrap();
    let stop = Stop::after(20).unwrap();
    let mut deviations = Vec::new();
    for seed in 0..50 {
        // Few landmarks, so that there is an error to be told of.
        let chosen = herd(&ready(points.clone(), on_landmarks(options(), 40, seed)), stop, false);
        let truth = pool.mmd_of_rows(&chosen.rows).unwrap().unwrap();
        deviations.push((chosen.error().unwrap() - truth) / chosen.standard_error.unwrap());
    }
    let within = |most: f64| deviations.iter().filter(|deviation| deviation.abs() < most).count();
    let typical = (deviations.iter().map(|d| d * d).sum::<f64>() / 50.0).sqrt();
    // 34 and 50 of 50 where the deviations are normal.
    assert!((25..=43).contains(&within(1.0)) && within(3.0) >= 49, "{deviations:?}");
    assert!((0.7..1.4).contains(&typical), "{typical}");
}

/// All rows are control rows, and rounding is all that is left of the error: ± includes it for this side and for all pairs.
#[test]
fn the_error_bar_includes_what_double_precision_leaves() {
    for (bandwidth, seed) in [(1.0, 0), (1.0, 1), (1.0, 2), (0.02, 0), (0.02, 1), (0.02, 2)] {
        let some = draws(50, 3);
        let rows: Vec<usize> = (0..4000usize).map(|i| (i * (i + seed) / 7) % 50).collect();
        let points = some.select(&rows).unwrap();
        let choose = plain().scale(Scale::None).kernel(Kernel::gaussian(bandwidth).unwrap());
        let choose = choose.precision(Precision::Double);
        let target = ready(points.clone(), on_landmarks(choose.clone(), 500, seed as u64));
        let chosen = herd(&target, Stop::after(30).unwrap(), false);
        let pairs = ready(points, exact(choose));
        let truth = pairs.pool().unwrap().mmd_of_rows(&chosen.rows).unwrap().unwrap();
        let (error, known) = (chosen.error().unwrap(), chosen.standard_error.unwrap());
        assert!((error - truth).abs() < 3.0 * known, "{bandwidth}: {error} {truth} ± {known:e}");
        assert!(known < 1e-9 * error, "{known:e} of {error}");
    }
}

#[test]
fn many_rows_have_landmarks_by_themselves_and_few_do_not() {
    let many = Problem::new(draws(100_001, 1), options().landmarks(30)).unwrap();
    assert!(many.uses_landmarks());
    let phases = Mutex::new(Vec::new());
    let many = many.prepare(&|progress| {
        phases.lock().unwrap().push(std::mem::discriminant(&progress));
        ControlFlow::Continue(())
    });
    assert_eq!(many.unwrap().landmarks().unwrap().points().len(), 30);
    let mut phases = phases.into_inner().unwrap();
    phases.dedup();
    let of = |progress: Progress| std::mem::discriminant(&progress);
    let expected = [
        of(Progress::Landmarks { chosen: 0, size: 0 }),
        of(Progress::Summing { done: 0, total: 0 }),
        of(Progress::Solving { done: 0, total: 0 }),
        of(Progress::Projecting { done: 0, total: 0 }),
    ];
    assert_eq!(phases, expected);
    let few = Problem::new(draws(1000, 1), options()).unwrap();
    assert!(!few.uses_landmarks());
    // The number of landmarks follows from what is chosen: a set has twice as many as a sequence.
    for (choose, count) in [(Choose::herd(400), 800), (Choose::thin(400), 1600)] {
        let target = ready(draws(3000, 1), choose.unwrap().embedding(EmbeddingChoice::Landmarks));
        assert_eq!(target.landmarks().unwrap().points().len(), count);
    }
    let none = Problem::new(draws(1000, 1), on_landmarks(options(), 0, 0)).err();
    assert!(matches!(none, Some(Error::BadOption { .. })));
    // As many as there are rows: each is compared with each other, and one row is enough.
    for rows in [1, 50] {
        let all = ready(draws(rows, 1), on_landmarks(options(), 1000, 0));
        let chosen = herd(&all, Stop::after(5).unwrap(), false);
        assert_eq!(
            (all.problem().uses_landmarks(), chosen.rows.len(), chosen.standard_error),
            (false, 5, None)
        );
    }
    // Rows that are all one leave nothing unseen, and have no marginals.
    let one = Points::from_vec(vec![2.5; 600], 1).unwrap();
    let one = ready(one, on_landmarks(options(), 3, 0).marginals(0.1).moments(0.1));
    let chosen = herd(&one, Stop::after(2).unwrap(), false);
    let problem = one.problem();
    assert_eq!((problem.uses_landmarks(), chosen.advice), (true, Vec::new()));
    assert_eq!((problem.marginals(), problem.moments()), (0.0, 0.0));
}

#[test]
fn a_seed_gives_the_same_run_on_any_number_of_threads_and_another_seed_another() {
    let points = draws(20_000, 3);
    let run = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let target = ready(points.clone(), on_landmarks(options(), 120, seed));
            thin(&target, Stop::after(25).unwrap(), RefineOptions::default())
        })
    };
    let one = run(1, 5);
    assert_eq!(one, run(3, 5));
    assert_ne!(one.standard_error, run(1, 6).standard_error);
}

#[test]
fn an_error_that_is_asked_for_is_reached_by_its_measure() {
    let points = draws(4000, 2);
    let exact = ready(points.clone(), exact(options()));
    for landmarks in [8, 25, 400] {
        let target = ready(points.clone(), on_landmarks(options(), landmarks, 1));
        let norm_error = target.error_scale().norm_error.unwrap();
        for stop in [Stop::at_error(0.03).unwrap(), Stop::at_equivalent_draws(500.0).unwrap()] {
            let goal = stop.goal(&target.error_scale()).unwrap().0;
            let herded = herd(&target, stop, false);
            let thinned = thin(&target, stop, RefineOptions::default());
            let groups: Vec<usize> = (0..4000).map(|i| i % 2).collect();
            let grouped = thin(&target, stop, RefineOptions::default().groups(&groups, None));
            for chosen in [&herded, &thinned, &grouped] {
                let error = chosen.error().unwrap();
                let is_reached = matches!(chosen.ended, Ended::Tolerance | Ended::EquivalentDraws);
                assert!(!is_reached || error <= goal, "{landmarks}: {error} {goal}");
                let truth = exact.pool().unwrap().mmd_of_rows(&chosen.rows).unwrap().unwrap();
                assert!((truth * truth - error * error).abs() < 4.0 * norm_error + 1e-12, "{truth} {error}");
            }
            // Eight landmarks do not see enough of the rows to get there, and say so.
            let is_reached = matches!(herded.ended, Ended::Tolerance | Ended::EquivalentDraws);
            assert_eq!(is_reached, landmarks > 8, "{landmarks}: {:?}", herded.ended);
            assert!(is_reached || matches!(herded.advice[..], [Advice::LandmarksTooFew { .. }]));
            // Cut at the first that is enough.
            let earlier: Vec<f64> = herded.trace.iter().rev().skip(1).filter_map(|pick| pick.error).collect();
            assert!(
                earlier.iter().all(|error| *error > goal * (1.0 - 1e-9)),
                "{landmarks}: {goal} {earlier:?}"
            );
            if landmarks == 400 {
                assert!(thinned.rows.len() <= herded.rows.len());
                assert!(matches!(thinned.ended, Ended::Tolerance | Ended::EquivalentDraws));
            }
        }
    }
}

#[test]
fn a_kernel_that_landmarks_do_not_see_is_told_of() {
    let points = draws(5000, 5);
    let short = plain().scale(Scale::None).kernel(Kernel::gaussian(0.25).unwrap());
    let stop = Stop::after(300).unwrap();
    let run =
        |options, landmarks| herd(&ready(points.clone(), on_landmarks(options, landmarks, 1)), stop, true);
    let chosen = run(short.clone(), 5);
    let [Advice::LandmarksTooFew { landmarks: 5, residual, error }] = chosen.advice[..] else {
        panic!("{:?}", chosen.advice)
    };
    assert!(residual > 0.75 * error && Some(error) == chosen.error());
    let long = plain().scale(Scale::None).kernel(Kernel::gaussian(3.0).unwrap());
    assert_eq!(run(long, 600).advice, []);
}

#[test]
fn a_problem_is_recalled_with_its_landmarks() {
    let points = draws(3000, 2);
    let problem = || Problem::new(points.clone(), on_landmarks(options(), 150, 4)).unwrap();
    let target = problem().prepare(&unwatched).unwrap();
    let choose = Choose::herd(20).unwrap();
    let chosen = target.choose_by(&choose, &unwatched).unwrap();
    let again = problem().recall(target.recalled().into_owned(), &unwatched).unwrap();
    assert_eq!(continued(&again, &choose, &chosen.rows[..7]).unwrap(), chosen);
    assert!(matches!(problem().recall(vec![0.5; 10], &unwatched), Err(Error::RecalledCount { .. })));
}

#[test]
fn runs_are_ended_in_every_phase_and_keep_what_they_have() {
    let points = draws(30_000, 2);
    let stop = Stop::after(15).unwrap();
    let options = || on_landmarks(options(), 60, 1);
    let problem = Problem::new(points, options()).unwrap();
    for phase in 0..4 {
        let ended = problem.prepare(&|progress| {
            let at = match progress {
                Progress::Landmarks { chosen, .. } if chosen > 10 => 0,
                Progress::Summing { .. } => 1,
                Progress::Solving { .. } => 2,
                Progress::Projecting { .. } => 3,
                _ => 4,
            };
            if at == phase { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(ended.err(), Some(Error::Interrupted), "{phase}");
    }
    // The problem is as it was.
    let target = problem.prepare(&unwatched).unwrap();
    let ended = |chosen_before: usize| {
        move |progress| match progress {
            Progress::Herding { chosen, .. } if chosen >= chosen_before => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    };
    let herded = target.choose_by(&Choose::herd_until(stop).unwrap(), &ended(6)).unwrap();
    assert_eq!((herded.rows.len(), herded.ended), (6, Ended::Interrupted));
    assert!(herded.standard_error.is_some());
    let searched =
        target.choose_by(
            &thinning(stop, RefineOptions::default().search(2, 0)),
            &|progress| match progress {
                Progress::Searching { .. } => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            },
        );
    let searched = searched.unwrap();
    assert_eq!((searched.rows.len(), searched.ended), (15, Ended::Interrupted));
    assert!(searched.standard_error.is_some() && searched.refined.unwrap().error == searched.trace[14].error);
}

/// Of very many rows a sample is chosen from: as from these rows alone, but to match all rows.
#[test]
fn a_sample_of_the_rows_is_chosen_from_and_all_of_them_are_matched() {
    let points = draws(6000, 3);
    let squares: Vec<f64> = points.rows().map(|x| x[0] * x[1]).collect();
    let stop = Stop::after(30).unwrap();
    let herding = Choose::herd_until(stop).unwrap().unique(true);
    for with_parts in [false, true] {
        let target = |choose: Choose| {
            let (rows, choose) = (Rows::new(points.clone()), on_landmarks(choose, 200, 1));
            match with_parts {
                true => ready(rows.functions(squares.clone(), 1).unwrap(), choose.marginals(0.4)),
                false => ready(rows, choose),
            }
        };
        let asked = || {
            let mut choose = options();
            choose.stop = stop;
            choose
        };
        let (sampled, all) = (target(asked().pool_rows(700)), target(asked()));
        let drawing = herding.clone().pool_rows(700);
        let chosen = sampled.choose_by(&drawing, &unwatched).unwrap();
        assert_eq!((chosen.rows.len(), chosen.sampled_from), (30, Some(700)));
        // The same rows, compared with all others, have the same errors; there the pool has every row.
        let trace = all.trace_of(&chosen.rows, &unwatched).unwrap();
        for (told, known) in chosen.trace.iter().zip(&trace) {
            assert_eq!((told.index, &told.point), (known.index, &known.point));
            assert!((told.error.unwrap() - known.error.unwrap()).abs() < 1e-9);
        }
        // A look at each pick sees the numbers of all rows.
        let mut seen = Vec::new();
        let mut see = |pick: &supersample::Pick| {
            seen.push(pick.index.unwrap());
            ControlFlow::Continue(())
        };
        let again = sampled.continued(&drawing, Continued { rows: &[], seen: &mut see }, &unwatched);
        assert_eq!((&seen, again.unwrap()), (&chosen.rows, chosen.clone()));
        assert_eq!(continued(&sampled, &drawing, &chosen.rows[..11]).unwrap(), chosen);
        let set = thinning(stop, RefineOptions::default()).pool_rows(700);
        let thinned = sampled.choose_by(&set, &unwatched).unwrap();
        assert_eq!((thinned.rows.len(), thinned.sampled_from), (30, Some(700)));
        assert_eq!(thinned.trace[3].index, Some(thinned.rows[3]));
        let told = sampled.summarise(&thinned, &unwatched).unwrap();
        let known = all.evaluate(&Subset::of_rows(&thinned.rows), &unwatched).unwrap();
        let cdf = |found: &supersample::task::Evaluation| found.errors.get(Measure::Cdf);
        assert!((told.mmd() - known.mmd()).abs() < 1e-9 && cdf(&told) == cdf(&known));
        let (told, known) = (told.comparison.unwrap(), known.comparison.unwrap());
        let pairs = told.random_mmds().into_iter().zip(known.random_mmds());
        assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-9));
        let weighed = |target: &Target| {
            target.weigh(&thinned.rows, WeightRule::Simplex, &unwatched).unwrap().weights.unwrap()
        };
        assert!((weighed(&sampled).error.unwrap() - weighed(&all).error.unwrap()).abs() < 1e-9);
        // Rows that are not in the sample are taken from all of them.
        let other = (0..6000).find(|row| !chosen.rows.contains(row) && !thinned.rows.contains(row)).unwrap();
        assert_eq!(continued(&sampled, &drawing, &[other]).unwrap().rows[0], other);
        let included = thin(&sampled, stop, RefineOptions::default().include(&[other]));
        assert!(included.rows.contains(&other) && included.sampled_from.is_none());
    }
    // Without a number nobody knows how many candidates it takes, and weights make some count for more than others.
    let tolerance = Stop::at_error(0.05).unwrap();
    let sampled = ready(points.clone(), on_landmarks(options(), 200, 1));
    assert_eq!(herd(&sampled, tolerance, true).sampled_from, None);
    let weighted = Rows::weighted(points, RowWeights::Weights(&[1.0; 6000])).unwrap();
    let weighted = ready(weighted, on_landmarks(options(), 200, 1).pool_rows(700));
    assert_eq!(weighted.choose_by(&herding.pool_rows(700), &unwatched).unwrap().sampled_from, None);
}

/// Twenty rows for each that is chosen, of a set as of a sequence, and at least 200,000.
#[test]
fn twenty_rows_are_drawn_for_each_that_is_chosen() {
    let size = Size { columns: 2, ..Size::default() };
    for (number, drawn) in [(100, 200_000), (10_000, 200_000), (12_000, 240_000)] {
        for choose in [Choose::thin(number).unwrap(), Choose::herd(number).unwrap()] {
            assert_eq!(choose.drawn_rows(size).unwrap(), drawn);
        }
    }
    // The same in memory: at 6,000 rows of a set 240,000 were drawn once.
    let points = Points::from_vec((0..250_000).map(|i| (f64::from(i) * 0.7).sin()).collect(), 1).unwrap();
    let choose = Choose::thin(6000).unwrap().landmarks(20).marginals(0.0).moments(0.0);
    let target = ready(points, choose.refine(RefineOptions::default().max_sweeps(0)));
    let one = Choose::herd(6000).unwrap();
    let mut first = |_: &supersample::Pick| ControlFlow::Break(());
    let chosen = target.continued(&one, Continued { rows: &[], seen: &mut first }, &unwatched).unwrap();
    assert_eq!(chosen.sampled_from, Some(200_000));
}

/// Parts need no pair sums, so they are matched beside landmarks as they are beside the exact embedding.
#[test]
fn parts_are_matched_beside_landmarks() {
    let points = draws(3000, 3);
    let squares: Vec<f64> = points.rows().map(|x| x[0] * x[1]).collect();
    let rows = || Rows::new(points.clone()).functions(squares.clone(), 1).unwrap();
    let approximate = ready(rows(), on_landmarks(options().marginals(0.4).moments(0.2), 250, 1));
    let exact = ready(rows(), exact(options().marginals(0.4).moments(0.2)));
    let stop = Stop::after(40).unwrap();
    let of = |target: &Target| thin(target, stop, RefineOptions::default());
    let (got, want) = (of(&approximate), of(&exact));
    let objective = |chosen: &Chosen| chosen.refined.as_ref().unwrap().objective.unwrap();
    let (a, b) = (objective(&got), objective(&want));
    assert!(a.end <= a.start && (a.end / b.end - 1.0).abs() < 0.1, "{a:?} {b:?}");
    let truth = Herder::trace(exact.pool().unwrap(), &got.rows).unwrap();
    let (told, truth) = (got.error().unwrap(), truth.last().unwrap().error.unwrap());
    assert!((told - truth).abs() < 4.0 * got.standard_error.unwrap(), "{told} {truth}");
    let error = |chosen: &Chosen, measure| chosen.errors.get(measure);
    assert!(error(&got, Measure::Cdf).unwrap() < 0.1 && error(&got, Measure::FunctionsError).is_some());
    let herded = herd(&approximate, stop, false);
    assert!(error(&herded, Measure::Cdf).is_some() && herded.standard_error.is_some());
}

/// The energy kernel sees differences of equal mass only.
#[test]
fn the_energy_distance_is_lowered_on_landmarks_too() {
    let points = draws(3000, 3);
    let energy = || plain().kernel(Kernel::energy());
    let approximate = ready(points.clone(), on_landmarks(energy(), 250, 1));
    let exact = ready(points.clone(), exact(energy()));
    let stop = Stop::after(40).unwrap();
    let of = |target: &Target| herd(target, stop, false);
    let (got, want) = (of(&approximate), of(&exact));
    let truth = exact.pool().unwrap().mmd_of_rows(&got.rows).unwrap().unwrap();
    assert!((got.error().unwrap() - truth).abs() < 4.0 * got.standard_error.unwrap());
    assert!(truth < 1.1 * want.error().unwrap(), "{truth} {want:?}");
}

#[test]
fn landmarks_follow_the_weights() {
    let points = Points::from_vec((0..5000).map(f64::from).collect(), 1).unwrap();
    let kernel = Kernel::gaussian(200.0).unwrap();
    let weights: Vec<f64> = (0..5000).map(|i| f64::from(u8::from(i < 1000)) / 1000.0).collect();
    let of = |shares| {
        let z = choose_landmarks(&kernel, &points, shares, 30, Precision::Mixed, 0, &unwatched).unwrap();
        z.as_slice().iter().copied().fold(0.0, f64::max)
    };
    assert!(of(Some(&weights[..])) < 1000.0 && of(None) > 4500.0);
}

#[test]
fn landmarks_are_counted_in_the_memory() {
    let million = Size { rows: 1_000_000, columns: 5, ..Size::default() };
    let needed = |choose: Choose| choose.memory(million);
    let (exact, projected) = (exact(plain()), plain().embedding(EmbeddingChoice::Landmarks).landmarks(2000));
    assert!(needed(projected) >= needed(exact) + 2000 * 2000 * 8);
}
