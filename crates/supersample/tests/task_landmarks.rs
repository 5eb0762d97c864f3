//! Tasks on landmarks against tasks on the exact mean embedding, through the layer that the command and Python use.

use std::ops::ControlFlow;
use std::sync::Mutex;

use supersample::scale::Scale;
use supersample::target::GaussianMixture;
use supersample::task::{
    Advice, Chosen, EmbeddingChoice, Ended, FunctionValues, HerdOptions, MemoryEstimate, Problem,
    ProblemOptions, RowWeights, Stop, ThinOptions, choose_landmarks,
};
use supersample::weights::WeightRule;
use supersample::{Error, Herder, Kernel, Points, Precision, Progress, RefineOptions, unwatched};

fn draws(n: usize, dim: usize) -> Points {
    GaussianMixture::random(5, dim, 1).unwrap().sample(n, 2).unwrap()
}

fn options() -> ProblemOptions {
    ProblemOptions::default().scale(Scale::None).kernel(Kernel::gaussian(1.0).unwrap())
}

fn on_landmarks(options: ProblemOptions, count: usize, seed: u64) -> ProblemOptions {
    options.embedding(EmbeddingChoice::Landmarks).landmarks(count).seed(seed)
}

fn exact(options: ProblemOptions) -> ProblemOptions {
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
        let problem = |options| Problem::weighted(points.clone(), weights, options).unwrap();
        let (approximate, exact) = (problem(on_landmarks(options(), 200, 3)), problem(exact(options())));
        exact.prepare(&unwatched).unwrap();
        let stop = Stop::after(60).unwrap();
        let herded = approximate.herd(&stop, &HerdOptions::default(), &unwatched).unwrap();
        let thinned = approximate.thin(&stop, &ThinOptions::default(), &unwatched).unwrap();
        let norm = |problem: &Problem| problem.pool().unwrap().squared_norm().unwrap();
        let shift = norm(&approximate) - norm(&exact);
        let known = approximate.error_scale().unwrap().norm_error.unwrap();
        assert!(shift.abs() < 4.0 * known && known > 0.0, "{shift:e} ± {known:e}");
        for chosen in [&herded, &thinned] {
            let truth = Herder::trace(exact.pool().unwrap(), &chosen.rows).unwrap();
            for (got, want) in chosen.trace.iter().zip(&truth) {
                let (got, want) = (got.squared_error.unwrap(), want.squared_error.unwrap());
                assert!((got - want - shift).abs() < 5e-8, "{n}: {got} {want} {shift:e}");
            }
            let error = chosen.error().unwrap();
            assert_eq!(chosen.standard_error, Some(known / (2.0 * error)));
            assert_eq!(chosen.advice, None);
            // Weights, evaluations and comparisons carry it too.
            let found = approximate.summarise(chosen, None, &unwatched).unwrap();
            assert_eq!((found.error, found.standard_error), (error, chosen.standard_error));
            let again = approximate.evaluate_rows(&chosen.rows, None, &unwatched).unwrap();
            assert!((again.error / error - 1.0).abs() < 1e-4, "{} {error}", again.error);
            let comparison = found.comparison.unwrap();
            let (random, spaced) = comparison.standard_errors.unwrap();
            assert!(random > 0.0 && random < known / (2.0 * error) && spaced < known / (2.0 * error));
            assert!(comparison.random_mean() > 2.0 * error);
            let plain = exact.compare(60, &unwatched).unwrap().unwrap();
            assert!((plain.random_mean() / comparison.random_mean() - 1.0).abs() < 1e-3);
            let weighed =
                approximate.weigh(&chosen.rows, WeightRule::Simplex, &unwatched).unwrap().weights.unwrap();
            assert!(weighed.error.unwrap() <= error * 1.001);
            assert!((weighed.equal_error.unwrap() / error - 1.0).abs() < 1e-3);
        }
        let refined = thinned.refined.as_ref().unwrap();
        assert_eq!(refined.error, thinned.error());
        assert!(refined.error <= refined.start_error && refined.error < herded.error());
        // The choice is as good as the exact one.
        let best = exact.herd(&stop, &HerdOptions::default(), &unwatched).unwrap().error().unwrap();
        let got = exact.mmd(&points.select(&herded.rows).unwrap(), None, &unwatched).unwrap();
        assert!(got < 1.1 * best, "{got} {best}");
    }
}

/// In seeded runs the exact MMD lies within a few standard errors of the one that is told, as often as it should.
#[test]
fn the_error_bar_is_true() {
    let points = draws(4000, 4);
    let exact = Problem::new(points.clone(), exact(options())).unwrap();
    let pool = exact.pool().unwrap();
    let stop = Stop::after(20).unwrap();
    let mut deviations = Vec::new();
    for seed in 0..50 {
        // Few landmarks, so that there is an error to be told of.
        let problem = Problem::new(points.clone(), on_landmarks(options(), 40, seed)).unwrap();
        let chosen = problem.herd(&stop, &HerdOptions::default(), &unwatched).unwrap();
        let truth = pool.mmd_of_rows(&chosen.rows).unwrap().unwrap();
        deviations.push((chosen.error().unwrap() - truth) / chosen.standard_error.unwrap());
    }
    let within = |most: f64| deviations.iter().filter(|deviation| deviation.abs() < most).count();
    let typical = (deviations.iter().map(|d| d * d).sum::<f64>() / 50.0).sqrt();
    // 34 and 50 of 50 where the deviations are normal.
    assert!((25..=43).contains(&within(1.0)) && within(3.0) >= 49, "{deviations:?}");
    assert!((0.7..1.4).contains(&typical), "{typical}");
}

#[test]
fn many_rows_have_landmarks_by_themselves_and_few_do_not() {
    let many = Problem::new(draws(100_001, 1), options().landmarks(30)).unwrap();
    assert!(many.is_projected() && many.landmarks().is_none() && !many.is_prepared());
    let phases = Mutex::new(Vec::new());
    many.prepare(&|progress| {
        phases.lock().unwrap().push(std::mem::discriminant(&progress));
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(many.landmarks().unwrap().points().len(), 30);
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
    assert!(!few.is_projected());
    // The number of landmarks follows from what is chosen first.
    let by_number = Problem::new(draws(3000, 1), options().embedding(EmbeddingChoice::Landmarks)).unwrap();
    by_number.herd(&Stop::after(400).unwrap(), &HerdOptions::default(), &unwatched).unwrap();
    assert_eq!(by_number.landmarks().unwrap().points().len(), 800);
    let none = Problem::new(draws(1000, 1), on_landmarks(options(), 0, 0)).err();
    assert!(matches!(none, Some(Error::BadOption { .. })));
    // As many as there are rows: each is compared with each other, and one row is enough.
    for rows in [1, 50] {
        let all = Problem::new(draws(rows, 1), on_landmarks(options(), 1000, 0)).unwrap();
        let chosen = all.herd(&Stop::after(5).unwrap(), &HerdOptions::default(), &unwatched).unwrap();
        assert_eq!((all.is_projected(), chosen.rows.len(), chosen.standard_error), (false, 5, None));
    }
    // Rows that are all one leave nothing unseen, and have no marginals.
    let one = Points::from_vec(vec![2.5; 600], 1).unwrap();
    let one = Problem::new(one, on_landmarks(options(), 3, 0).marginals(0.1)).unwrap();
    let chosen = one.herd(&Stop::after(2).unwrap(), &HerdOptions::default(), &unwatched).unwrap();
    assert_eq!((one.is_projected(), chosen.advice, one.marginals()), (true, None, 0.0));
}

#[test]
fn a_seed_gives_the_same_run_on_any_number_of_threads_and_another_seed_another() {
    let points = draws(20_000, 3);
    let run = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let problem = Problem::new(points.clone(), on_landmarks(options(), 120, seed)).unwrap();
            problem.thin(&Stop::after(25).unwrap(), &ThinOptions::default(), &unwatched).unwrap()
        })
    };
    let one = run(1, 5);
    assert_eq!(one, run(3, 5));
    assert_ne!(one.standard_error, run(1, 6).standard_error);
}

#[test]
fn an_error_that_is_asked_for_is_reached_by_its_measure() {
    let points = draws(4000, 2);
    let exact = Problem::new(points.clone(), exact(options())).unwrap();
    for landmarks in [8, 25, 400] {
        let problem = Problem::new(points.clone(), on_landmarks(options(), landmarks, 1)).unwrap();
        let norm_error = problem.error_scale().unwrap().norm_error.unwrap();
        for stop in [Stop::at_error(0.03).unwrap(), Stop::at_worth(500.0).unwrap()] {
            let goal = stop.goal(&problem.error_scale().unwrap()).unwrap().0;
            let herded = problem.herd(&stop, &HerdOptions::default(), &unwatched).unwrap();
            let thinned = problem.thin(&stop, &ThinOptions::default(), &unwatched).unwrap();
            let groups: Vec<usize> = (0..4000).map(|i| i % 2).collect();
            let grouped = ThinOptions::default().refine(RefineOptions::default().groups(&groups, None));
            let grouped = problem.thin(&stop, &grouped, &unwatched).unwrap();
            for chosen in [&herded, &thinned, &grouped] {
                let error = chosen.error().unwrap();
                let is_reached = matches!(chosen.ended, Ended::Tolerance | Ended::Worth);
                assert!(!is_reached || error <= goal, "{landmarks}: {error} {goal}");
                let truth = exact.pool().unwrap().mmd_of_rows(&chosen.rows).unwrap().unwrap();
                assert!((truth * truth - error * error).abs() < 4.0 * norm_error + 1e-12, "{truth} {error}");
            }
            // Eight landmarks do not see enough of the rows to get there, and say so.
            let is_reached = matches!(herded.ended, Ended::Tolerance | Ended::Worth);
            assert_eq!(is_reached, landmarks > 8, "{landmarks}: {:?}", herded.ended);
            assert!(is_reached || matches!(herded.advice, Some(Advice::LandmarksTooFew { .. })));
            // Cut at the first that is enough.
            let earlier: Vec<f64> = herded.trace.iter().rev().skip(1).filter_map(|pick| pick.error).collect();
            assert!(
                earlier.iter().all(|error| *error > goal * (1.0 - 1e-9)),
                "{landmarks}: {goal} {earlier:?}"
            );
            if landmarks == 400 {
                assert!(thinned.rows.len() <= herded.rows.len());
                assert!(matches!(thinned.ended, Ended::Tolerance | Ended::Worth));
            }
        }
    }
}

#[test]
fn a_kernel_that_landmarks_do_not_see_is_told_of() {
    let points = draws(5000, 5);
    let short = ProblemOptions::default().scale(Scale::None).kernel(Kernel::gaussian(0.25).unwrap());
    let stop = Stop::after(300).unwrap();
    let run = |options, landmarks| {
        let problem = Problem::new(points.clone(), on_landmarks(options, landmarks, 1)).unwrap();
        problem.herd(&stop, &HerdOptions::default().unique(true), &unwatched).unwrap()
    };
    let chosen = run(short.clone(), 5);
    let Some(Advice::LandmarksTooFew { landmarks: 5, residual, error }) = chosen.advice else {
        panic!("{:?}", chosen.advice)
    };
    assert!(residual > 0.75 * error && Some(error) == chosen.error());
    let long = ProblemOptions::default().scale(Scale::None).kernel(Kernel::gaussian(3.0).unwrap());
    assert_eq!(run(long, 600).advice, None);
}

#[test]
fn a_problem_is_recalled_with_its_landmarks() {
    let points = draws(3000, 2);
    let make = |seed| Problem::new(points.clone(), on_landmarks(options(), 150, seed)).unwrap();
    let problem = make(4);
    let stop = Stop::after(20).unwrap();
    let chosen = problem.herd(&stop, &HerdOptions::default(), &unwatched).unwrap();
    let numbers = problem.recalled().unwrap().into_owned();
    let again = make(4).recall(numbers.clone()).unwrap();
    assert!(again.is_prepared());
    let rest = HerdOptions::default().earlier(&chosen.rows[..7]);
    assert_eq!(again.herd(&stop, &rest, &unwatched).unwrap(), chosen);
    assert!(matches!(make(4).recall(vec![0.5; 10]), Err(Error::RecalledCount { .. })));
}

#[test]
fn runs_are_ended_in_every_phase_and_keep_what_they_have() {
    let points = draws(30_000, 2);
    let stop = Stop::after(15).unwrap();
    let options = || on_landmarks(options(), 60, 1);
    for phase in 0..4 {
        let problem = Problem::new(points.clone(), options()).unwrap();
        let ended = problem.herd(&stop, &HerdOptions::default(), &|progress| {
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
        // What was summed and solved is kept.
        assert_eq!(problem.is_prepared(), phase == 3);
        let goes_on = problem.herd(&stop, &HerdOptions::default(), &unwatched).unwrap();
        assert_eq!(goes_on.rows.len(), 15);
    }
    let problem = Problem::new(points, options()).unwrap();
    let ended = |chosen_before: usize| {
        move |progress| match progress {
            Progress::Herding { chosen, .. } if chosen >= chosen_before => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    };
    let herded = problem.herd(&stop, &HerdOptions::default(), &ended(6)).unwrap();
    assert_eq!((herded.rows.len(), herded.ended), (6, Ended::Interrupted));
    assert!(herded.standard_error.is_some());
    let thin = ThinOptions::default().refine(RefineOptions::default().search(2, 0));
    let searched = problem.thin(&stop, &thin, &|progress| match progress {
        Progress::Searching { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    let searched = searched.unwrap();
    assert_eq!((searched.rows.len(), searched.ended), (15, Ended::Interrupted));
    assert!(searched.standard_error.is_some() && searched.refined.unwrap().error == searched.trace[14].error);
}

/// Of very many rows a sample is chosen from: as from these rows alone, but to match all rows.
#[test]
fn a_sample_of_the_rows_is_chosen_from_and_all_of_them_are_matched() {
    let points = draws(6000, 3);
    let squares: Vec<f64> = points.rows().map(|x| x[0] * x[1]).collect();
    let (stop, herding) = (Stop::after(30).unwrap(), HerdOptions::default().unique(true));
    for with_parts in [false, true] {
        let some = || match with_parts {
            true => options().marginals(0.4).functions(FunctionValues::new(squares.clone(), 1)),
            false => options(),
        };
        let sampled = Problem::new(points.clone(), on_landmarks(some(), 200, 1).pool_rows(700)).unwrap();
        let all = Problem::new(points.clone(), on_landmarks(some(), 200, 1)).unwrap();
        let chosen = sampled.herd(&stop, &herding, &unwatched).unwrap();
        assert_eq!((chosen.rows.len(), chosen.sampled_from), (30, Some(700)));
        // The same rows, held against all others, have the same errors; there the pool has every row.
        let trace = all.trace_of(&chosen.rows, &unwatched).unwrap();
        for (told, known) in chosen.trace.iter().zip(&trace) {
            assert_eq!((told.index, &told.point), (known.index, &known.point));
            assert!((told.error.unwrap() - known.error.unwrap()).abs() < 1e-9);
        }
        // Excluding every other row by hand gives the same choice.
        let mut seen = Vec::new();
        let again = sampled.herd_seeing(
            &stop,
            &herding,
            |pick| {
                seen.push(pick.index.unwrap());
                ControlFlow::Continue(())
            },
            &unwatched,
        );
        assert_eq!((&seen, again.unwrap()), (&chosen.rows, chosen.clone()));
        let earlier = herding.clone().earlier(&chosen.rows[..11]);
        assert_eq!(sampled.herd(&stop, &earlier, &unwatched).unwrap(), chosen);
        let thinned = sampled.thin(&stop, &ThinOptions::default(), &unwatched).unwrap();
        assert_eq!((thinned.rows.len(), thinned.sampled_from), (30, Some(700)));
        assert_eq!(thinned.trace[3].index, Some(thinned.rows[3]));
        let told = sampled.summarise(&thinned, None, &unwatched).unwrap();
        let known = all.evaluate_rows(&thinned.rows, None, &unwatched).unwrap();
        assert!((told.error - known.error).abs() < 1e-9 && told.cdf == known.cdf);
        let (told, known) = (told.comparison.unwrap(), known.comparison.unwrap());
        assert!(told.random.iter().zip(&known.random).all(|(a, b)| (a - b).abs() < 1e-9));
        let weighed = |problem: &Problem| {
            problem.weigh(&thinned.rows, WeightRule::Simplex, &unwatched).unwrap().weights.unwrap()
        };
        assert!((weighed(&sampled).error.unwrap() - weighed(&all).error.unwrap()).abs() < 1e-9);
        // Rows that are not in the sample are taken from all of them.
        let other = (0..6000).find(|row| !chosen.rows.contains(row) && !thinned.rows.contains(row)).unwrap();
        let with_other = herding.clone().earlier(&[other]);
        let chosen = sampled.herd(&stop, &with_other, &unwatched).unwrap();
        assert_eq!(chosen.rows[0], other);
        let included = ThinOptions::default().refine(RefineOptions::default().include(&[other]));
        let included = sampled.thin(&stop, &included, &unwatched).unwrap();
        assert!(included.rows.contains(&other) && included.sampled_from.is_none());
    }
    // Without a number nobody knows how many candidates it takes, and weights make some count for more than others.
    let tolerance = Stop::at_error(0.05).unwrap();
    let sampled = Problem::new(points.clone(), on_landmarks(options(), 200, 1)).unwrap();
    assert_eq!(sampled.herd(&tolerance, &herding, &unwatched).unwrap().sampled_from, None);
    let weights = vec![1.0; 6000];
    let weighted = on_landmarks(options(), 200, 1).pool_rows(700);
    let weighted = Problem::weighted(points, RowWeights::Weights(&weights), weighted).unwrap();
    assert_eq!(weighted.herd(&stop, &herding, &unwatched).unwrap().sampled_from, None);
}

/// Parts need no pair sums, so they are matched beside landmarks as they are beside the exact embedding.
#[test]
fn parts_are_matched_beside_landmarks() {
    let points = draws(3000, 3);
    let squares: Vec<f64> = points.rows().map(|x| x[0] * x[1]).collect();
    let with_parts = || options().marginals(0.4).functions(FunctionValues::new(squares.clone(), 1));
    let approximate = Problem::new(points.clone(), on_landmarks(with_parts(), 250, 1)).unwrap();
    let exact = Problem::new(points.clone(), exact(with_parts())).unwrap();
    let stop = Stop::after(40).unwrap();
    let of = |problem: &Problem| problem.thin(&stop, &ThinOptions::default(), &unwatched).unwrap();
    let (got, want) = (of(&approximate), of(&exact));
    let lowered = |chosen: &Chosen| chosen.refined.as_ref().unwrap().lowered.unwrap();
    let (a, b) = (lowered(&got), lowered(&want));
    assert!(a.end <= a.start && (a.end / b.end - 1.0).abs() < 0.1, "{a:?} {b:?}");
    let truth = Herder::trace(exact.pool().unwrap(), &got.rows).unwrap();
    let (told, truth) = (got.error().unwrap(), truth.last().unwrap().error.unwrap());
    assert!((told - truth).abs() < 4.0 * got.standard_error.unwrap(), "{told} {truth}");
    assert!(got.cdf.unwrap() < 0.1 && got.functions.is_some());
    let herded = approximate.herd(&stop, &HerdOptions::default(), &unwatched).unwrap();
    assert!(herded.cdf.is_some() && herded.standard_error.is_some());
}

/// The energy kernel sees differences of equal mass only.
#[test]
fn the_energy_distance_is_lowered_on_landmarks_too() {
    let points = draws(3000, 3);
    let energy = || ProblemOptions::default().kernel(Kernel::energy());
    let approximate = Problem::new(points.clone(), on_landmarks(energy(), 250, 1)).unwrap();
    let exact = Problem::new(points.clone(), exact(energy())).unwrap();
    let stop = Stop::after(40).unwrap();
    let of = |problem: &Problem| problem.herd(&stop, &HerdOptions::default(), &unwatched).unwrap();
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
    let exact = MemoryEstimate::of(1_000_000, 5);
    let projected = exact.landmarks(2000);
    assert!(projected.needed() >= exact.needed() + 2000 * 2000 * 8);
}
