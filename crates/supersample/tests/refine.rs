//! The refined set against brute force and a naive sweep, within its constraints, and with its stop rules.

use crate::common;

use common::naive::{Naive, sweep_to_rest};
use rand::RngExt;
use supersample::target::GaussianMixture;
use supersample::words::Opt;
use supersample::{
    Domain, Empirical, Error, Herder, Kernel, Points, RefineOptions, Refined, Refiner, Search, metrics,
    unwatched,
};

fn naive<'a>(kernel: &'a Kernel, points: &'a Points) -> Naive<'a> {
    let weights = vec![1.0 / points.len() as f64; points.len()];
    Naive { kernel, samples: points, weights, pool: points }
}

fn refiner(kernel: &Kernel, points: &Points, options: RefineOptions) -> Refiner {
    let mu = Empirical::new(kernel.clone(), points.clone()).unwrap();
    Refiner::new(mu, points.clone(), options).unwrap()
}

fn herded(kernel: &Kernel, points: &Points, unique: bool, t: usize) -> Vec<usize> {
    let mu = Empirical::new(kernel.clone(), points.clone()).unwrap();
    let mut herder = Herder::new(mu, Domain::Pool(points.clone())).unwrap().unique(unique);
    herder.run(t);
    herder.indices().to_vec()
}

fn refusal(options: RefineOptions, size: usize) -> Error {
    let points = common::random_points(10, 2, &mut common::rng(1));
    let mu = Empirical::new(Kernel::gaussian(1.0).unwrap(), points.clone()).unwrap();
    Refiner::new(mu, points, options).and_then(|refiner| refiner.choose(size, &unwatched)).unwrap_err()
}

fn sorted(mut rows: Vec<usize>) -> Vec<usize> {
    rows.sort_unstable();
    rows
}

#[test]
fn sweeps_end_where_those_of_the_naive_oracle_end() {
    for (case, text) in common::KERNELS.iter().enumerate() {
        let kernel: Kernel = text.parse().unwrap();
        let points = common::random_points(40, 2, &mut common::rng(case as u64));
        let naive = naive(&kernel, &points);
        for repeats in [false, true] {
            let mut want = herded(&kernel, &points, !repeats, 7);
            let may_take = |rows: &[usize], _, i| repeats || !rows.contains(&i);
            let swept = sweep_to_rest(&mut want, 0, 40, &may_take, &|rows| naive.squared_error(rows));
            for memory in [usize::MAX, 3 * 40 * 8, 0] {
                let options = RefineOptions::default().repeats(repeats).ordered(false).memory(memory);
                let got = refiner(&kernel, &points, options).choose(7, &unwatched).unwrap();
                let (a, b) = (naive.squared_error(&got.rows), naive.squared_error(&want));
                // The linear kernel sees means only, so many sets tie: there only the errors are compared.
                assert!(got.rows == want || (*text == "linear" && (a - b).abs() < 1e-3), "{text}: {a} {b}");
                assert!((got.squared_error.unwrap() - a).abs() < 1e-13, "{text}");
                assert!(got.converged && got.error <= got.start_error);
                let said = (got.sweeps, got.swaps);
                let counted = (swept.visits.div_ceil(7), swept.swaps);
                assert!(got.rows != want || said == counted, "{text}: {said:?} {counted:?}");
            }
        }
    }
}

/// Every subset of `t` of `n` rows.
fn subsets(n: usize, t: usize) -> Vec<Vec<usize>> {
    if t == 0 {
        return vec![Vec::new()];
    }
    let with_last = |mut rows: Vec<usize>| {
        let next = rows.last().map_or(0, |last| last + 1);
        (next..n).map(move |row| {
            rows.push(row);
            let longer = rows.clone();
            rows.pop();
            longer
        })
    };
    subsets(n, t - 1).into_iter().flat_map(with_last).collect()
}

#[test]
fn on_tiny_pools_the_search_finds_the_best_of_all_subsets() {
    let mut found = 0;
    let mut refined_found = 0;
    for case in 0..200 {
        let rng = &mut common::rng(case);
        let (n, t) = (rng.random_range(5..=12), rng.random_range(2..=4));
        let kernel: Kernel = common::KERNELS[rng.random_range(0..7)].parse().unwrap();
        let points = common::random_points(n, rng.random_range(1..4), rng);
        let naive = naive(&kernel, &points);
        let best = subsets(n, t).into_iter().map(|rows| naive.squared_error(&rows)).fold(f64::MAX, f64::min);
        let plain = refiner(&kernel, &points, RefineOptions::default()).choose(t, &unwatched).unwrap();
        let searched = refiner(&kernel, &points, RefineOptions::default().search(40, case))
            .choose(t, &unwatched)
            .unwrap();
        let error = |rows: &[usize]| naive.squared_error(rows);
        assert!(error(&plain.rows) <= error(&herded(&kernel, &points, true, t)) + 1e-14, "case {case}");
        assert!(error(&searched.rows) <= error(&plain.rows) + 1e-14, "case {case}");
        refined_found += usize::from(error(&plain.rows) < best + 1e-12);
        found += usize::from(error(&searched.rows) < best + 1e-12);
    }
    assert!(found >= 190, "the search found {found} of 200, the sweeps alone {refined_found}");
    // Were the sweeps alone as good, this test would say nothing of the search.
    assert!(refined_found < 190, "the sweeps alone found {refined_found}");
}

fn posterior_like(n: usize, dim: usize) -> (Kernel, Points) {
    let points = GaussianMixture::random(4, dim, 3).unwrap().sample(n, 5).unwrap();
    (Kernel::gaussian(supersample::bandwidth::median(&points)).unwrap(), points)
}

#[test]
fn refinement_beats_herding_and_the_search_beats_refinement() {
    let (kernel, points) = posterior_like(1500, 3);
    for t in [25, 50, 100] {
        let plain = refiner(&kernel, &points, RefineOptions::default()).choose(t, &unwatched).unwrap();
        let searched =
            refiner(&kernel, &points, RefineOptions::default().search(20, 1)).choose(t, &unwatched).unwrap();
        let herded = plain.start_error.unwrap();
        assert!(plain.error.unwrap() < 0.9 * herded, "{t}: {plain:?}");
        assert!(searched.error.unwrap() < 0.95 * plain.error.unwrap(), "{t}: {searched:?}");
        assert_eq!(searched.swept_error, plain.error);
        assert!(searched.searched && !plain.searched);
        let rows = sorted(searched.rows.clone());
        assert!(rows.len() == t && rows.windows(2).all(|pair| pair[0] < pair[1]));
        let target = Empirical::new(kernel.clone(), points.clone()).unwrap();
        let set = Empirical::new(kernel.clone(), points.select(&searched.rows).unwrap()).unwrap();
        let direct = metrics::mmd(&target, &set).unwrap();
        assert!((direct - searched.error.unwrap()).abs() < 1e-12);
    }
}

#[test]
fn a_front_end_asks_for_so_many_sweeps_for_none_or_by_size() {
    let (kernel, points) = posterior_like(300, 2);
    let choose = |options| refiner(&kernel, &points, options).choose(10, &unwatched).unwrap();
    let none = choose(RefineOptions::default());
    assert_eq!(choose(RefineOptions::default().search_asked(Some(0), 1)), none);
    let asked = |sweeps| choose(RefineOptions::default().search_asked(sweeps, 1));
    assert_eq!(asked(Some(3)), choose(RefineOptions::default().search(3, 1)));
    assert_eq!(asked(None), choose(RefineOptions::default().search_by_size(1)));
    assert!(asked(None).searched && !none.searched);
}

#[test]
fn a_search_is_as_long_as_ten_thousand_million_steps_allow() {
    for (n, size, dim, sweeps) in [
        (0, 0, 0, 4000),
        (60, 6, 3, 4000),
        (2000, 50, 5, 769),
        (2000, 100, 5, 400),
        (10_000, 156, 5, 400),
        (10_000, 192, 5, 400),
        (10_000, 193, 5, 398),
        (100_000, 1000, 5, 7),
        (100_000, 5000, 5, 3),
        (100_001, 1000, 5, 0),
        (200_000, 384, 5, 10),
        (200_000, 385, 5, 0),
        (usize::MAX, usize::MAX, usize::MAX, 0),
    ] {
        assert_eq!(Search::sweeps_for(n, size, dim), sweeps, "{size} of {n} by {dim}");
    }
}

#[test]
fn the_same_seed_gives_the_same_set_on_any_number_of_threads() {
    let (kernel, points) = posterior_like(33_000, 2); // enough rows for the parallel paths
    let subsample = Points::from_rows(&points.as_slice()[..500], 2).unwrap();
    let on = |threads: usize, seed: u64| -> Refined {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            // The samples are few, so that μ on the large pool costs little.
            let mu = Empirical::new(kernel.clone(), subsample.clone()).unwrap();
            let options = RefineOptions::default().search(3, seed).memory(4 * 33_000 * 8);
            Refiner::new(mu, points.clone(), options).unwrap().choose(16, &unwatched).unwrap()
        })
    };
    let once = on(1, 7);
    assert_eq!(once, on(2, 7));
    assert_eq!(once, on(5, 7));
    assert_ne!(once.rows, on(1, 8).rows);
}

#[test]
fn prefixes_of_the_greedy_order_are_better_than_those_in_row_order() {
    let (kernel, points) = posterior_like(800, 2);
    let refiner = refiner(&kernel, &points, RefineOptions::default());
    let rows = refiner.choose(60, &unwatched).unwrap().rows;
    let error = |rows: &[usize]| {
        let mu = Empirical::new(kernel.clone(), points.clone()).unwrap();
        let set = Empirical::new(kernel.clone(), points.select(rows).unwrap()).unwrap();
        metrics::mmd(&mu, &set).unwrap()
    };
    // The draws are iid, so that the order of their rows is a random order of the set.
    let by_row = sorted(rows.clone());
    let mean_error = |rows: &[usize]| (5..50).map(|t| error(&rows[..t])).sum::<f64>() / 45.0;
    assert!(mean_error(&rows) < 0.6 * mean_error(&by_row), "{} {}", mean_error(&rows), mean_error(&by_row));
    assert_eq!(refiner.greedy_order(&by_row).unwrap(), rows);
    // Each step is the greedy one.
    for t in 0..59 {
        let with = |row: usize| error(&[&rows[..t], &[row]].concat());
        assert!(rows[t..].iter().all(|&row| with(rows[t]) <= with(row) + 1e-12), "{t}");
    }
}

#[test]
fn quotas_and_lists_of_rows_are_kept() {
    let (kernel, points) = posterior_like(600, 2);
    let groups: Vec<usize> = (0..600).map(|i| if i < 300 { 0 } else { 1 + i % 2 }).collect();
    let count = |rows: &[usize]| {
        let mut counts = [0; 3];
        rows.iter().for_each(|&row| counts[groups[row]] += 1);
        counts
    };
    let include = [3, 301, 5];
    let exclude: Vec<usize> = (100..200).collect();
    let base = || RefineOptions::default().include(&include).exclude(&exclude).search(3, 1);
    for (options, want) in [
        (base().groups(&groups, None), [20, 10, 10]),
        (base().groups(&groups, Some(&[2, 30, 8])), [2, 30, 8]),
    ] {
        let set = refiner(&kernel, &points, options).choose(40, &unwatched).unwrap();
        assert_eq!(count(&set.rows), want);
        assert!(include.iter().all(|row| set.rows.contains(row)));
        assert!(set.rows.iter().all(|row| !exclude.contains(row)));
        assert!(set.error < set.start_error);
    }
    // Weighted data share the places out by weight: group 0 has three quarters of the mass here.
    let weights: Vec<f64> = groups.iter().map(|&group| if group == 0 { 3.0 } else { 1.0 }).collect();
    let mu = Empirical::weighted(kernel.clone(), points.clone(), &weights).unwrap();
    let weighted = Refiner::new(mu, points.clone(), RefineOptions::default().groups(&groups, None)).unwrap();
    assert_eq!(count(&weighted.choose(40, &unwatched).unwrap().rows), [30, 5, 5]);
    // Given rows are improved within the same constraints.
    let given: Vec<usize> = (0..10).chain(300..310).collect();
    let options = RefineOptions::default().include(&[599]).groups(&groups, Some(&[10, 5, 5]));
    let improved = refiner(&kernel, &points, options).improve_rows(&given, &unwatched).unwrap();
    assert!(improved.rows.contains(&599) && improved.error < improved.start_error);
    assert_eq!(count(&improved.rows), [10, 5, 5]);
}

#[test]
fn a_group_may_be_taken_whole_and_with_repeats_gives_more_than_it_has() {
    let (kernel, points) = posterior_like(30, 2);
    let groups: Vec<usize> = (0..30).map(|i| if i < 3 { 0 } else { 1 }).collect();
    let choose = |options: RefineOptions, size: usize| {
        Refiner::new(Empirical::new(kernel.clone(), points.clone()).unwrap(), points.clone(), options)
            .and_then(|refiner| refiner.choose(size, &unwatched))
            .map(|set| sorted(set.rows))
    };
    let grouped = |quotas: &[usize]| RefineOptions::default().groups(&groups, Some(quotas));
    assert_eq!(choose(grouped(&[3, 2]), 5).unwrap()[..3], [0, 1, 2]);
    let repeated = choose(grouped(&[5, 2]).repeats(true), 7).unwrap();
    assert!(repeated[4] < 3 && repeated[5] >= 3, "{repeated:?}");
    // But nothing where all of its rows are out.
    let none = choose(grouped(&[1, 4]).repeats(true).exclude(&[0, 1, 2]), 5);
    assert_eq!(none, Err(Error::QuotaTooLarge { group: 0, quota: 1, available: 0 }));
    let twice = choose(RefineOptions::default().repeats(true).include(&[7, 7]), 4).unwrap();
    assert!(twice.iter().filter(|&&row| row == 7).count() >= 2, "{twice:?}");
}

#[test]
fn everything_may_be_fixed_or_everything_taken() {
    let (kernel, points) = posterior_like(30, 2);
    let all =
        refiner(&kernel, &points, RefineOptions::default().search(2, 1)).choose(30, &unwatched).unwrap();
    assert_eq!(sorted(all.rows), (0..30).collect::<Vec<_>>());
    assert!(all.error.unwrap() < 1e-7 && !all.searched, "below rounding there is nothing to be found");
    let fixed = RefineOptions::default().include(&[4, 9]).search(2, 1);
    let fixed = refiner(&kernel, &points, fixed).choose(2, &unwatched).unwrap();
    assert_eq!(sorted(fixed.rows), [4, 9]);
    assert!(fixed.converged && fixed.swaps == 0);
    let untouched = refiner(&kernel, &points, RefineOptions::default().max_sweeps(0).ordered(false));
    assert_eq!(untouched.choose(6, &unwatched).unwrap().rows, herded(&kernel, &points, true, 6));
    let repeated =
        refiner(&kernel, &points, RefineOptions::default().repeats(true)).choose(60, &unwatched).unwrap();
    assert_eq!(repeated.rows.len(), 60);
}

#[test]
fn what_cannot_be_met_is_refused_with_the_reason() {
    let options = RefineOptions::default;
    let groups = [0, 0, 0, 0, 0, 0, 0, 1, 1, 1];
    let with = |quotas: &[usize]| options().groups(&groups, Some(quotas));
    assert_eq!(refusal(options(), 11), Error::TooFewRows { asked: 11, available: 10 });
    assert_eq!(refusal(options().exclude(&[1, 1, 2]), 9), Error::TooFewRows { asked: 9, available: 8 });
    assert_eq!(refusal(options(), 0), Error::EmptySet);
    assert_eq!(refusal(options().include(&[10]), 2), Error::NoSuchRow { index: 10, len: 10 });
    assert_eq!(refusal(options().exclude(&[99]), 2), Error::NoSuchRow { index: 99, len: 10 });
    assert_eq!(refusal(options().include(&[1, 1]), 2), Error::RepeatedRow { index: 1 });
    let both = options().include(&[1]).exclude(&[1]);
    assert_eq!(refusal(both, 2), Error::IncludedAndExcluded { index: 1 });
    let many = options().include(&[1, 2, 3]);
    assert_eq!(refusal(many, 2), Error::TooManyIncluded { included: 3, asked: 2 });
    assert_eq!(refusal(options().groups(&[0], None), 2), Error::GroupCount { found: 1, expected: 10 });
    assert_eq!(refusal(with(&[2]), 2), Error::QuotaCount { found: 1, expected: 2 });
    assert_eq!(refusal(with(&[2, 1]), 4), Error::QuotaTotal { total: 3, asked: 4 });
    let large = Error::QuotaTooLarge { group: 1, quota: 4, available: 3 };
    assert_eq!(refusal(with(&[0, 4]), 4), large);
    let small = Error::QuotaTooSmall { group: 1, quota: 0, included: 1 };
    assert_eq!(refusal(with(&[2, 0]).include(&[8]), 2), small);
    assert!(matches!(refusal(options().search(0, 1), 2), Error::BadOption { .. }));
    assert!(matches!(refusal(options().search(2, 1).rounds(0), 2), Error::BadOption { .. }));
    let every = (0..10).collect::<Vec<_>>();
    let nothing = options().repeats(true).exclude(&every);
    assert_eq!(refusal(nothing, 2), Error::TooFewRows { asked: 2, available: 0 });
}

#[test]
fn what_herding_needs_is_told_where_rows_are_given() {
    let (kernel, points) = posterior_like(300, 2);
    let rows = herded(&kernel, &points, true, 40);
    let naive = naive(&kernel, &points);
    let needed = (1..=40).find(|&t| naive.squared_error(&rows[..t]) <= 0.05 * 0.05).unwrap();
    assert!(needed > 5);
    let needs = |given: usize| {
        let options = RefineOptions::default().include(&rows[..given]);
        refiner(&kernel, &points, options).fewest(0.05, &unwatched).unwrap().herded
    };
    // Rows that suffice by themselves need none beside them; fewer need those that herding would have chosen after them.
    assert_eq!(needs(needed), Some(needed));
    assert_eq!(needs(needed - 2), Some(needed));
    // A herder that has not got there is told as such, one that has with its number.
    let from = |t: usize| {
        let refiner = refiner(&kernel, &points, RefineOptions::default());
        let mut herder = refiner.herder();
        herder.run(t);
        refiner.fewest_from(herder, 0.05, 300, &unwatched).unwrap()
    };
    assert_eq!((from(needed).herded, from(needed).reached), (Some(needed), true));
    assert_eq!((from(needed - 1).herded, from(needed - 1).reached), (None, true));
}

#[test]
fn the_fewest_points_are_enough_and_one_fewer_was_not() {
    let (kernel, points) = posterior_like(700, 2);
    let refiner = refiner(&kernel, &points, RefineOptions::default());
    for tolerance in [0.05, 0.01] {
        let fewest = refiner.fewest(tolerance, &unwatched).unwrap();
        let size = fewest.set.rows.len();
        assert!(fewest.reached && fewest.set.error.unwrap() <= tolerance);
        assert!(size < fewest.herded.unwrap(), "{size} {:?}", fewest.herded);
        // One fewer, chosen afresh, is not much better than what was asked: the shrinking went far enough.
        assert!(refiner.choose(size - 1, &unwatched).unwrap().error.unwrap() > 0.9 * tolerance, "{size}");
    }
    let fewest = refiner.fewest_equivalent_draws(500.0, &unwatched).unwrap();
    let mu = Empirical::new(kernel.clone(), points.clone()).unwrap();
    assert!(metrics::equivalent_draws(&mu, fewest.set.error.unwrap()).unwrap() >= 500.0);
    assert!(fewest.set.rows.len() < 100, "{}", fewest.set.rows.len());
    let limited = refiner.fewest_of(1e-4, 12, &unwatched).unwrap();
    assert!(!limited.reached && limited.set.rows.len() == 12 && limited.herded.is_none());
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let refused = refiner.fewest(bad, &unwatched);
        assert!(matches!(refused, Err(Error::BadOption { option: Opt::Tol, .. })), "{bad}");
        let refused = refiner.fewest_equivalent_draws(bad, &unwatched);
        assert!(matches!(refused, Err(Error::BadOption { option: Opt::EquivalentDraws, .. })), "{bad}");
    }
}

#[test]
fn stop_rules_keep_the_constraints() {
    let (kernel, points) = posterior_like(300, 2);
    let groups: Vec<usize> = (0..300).map(|i| i % 3).collect();
    let options = RefineOptions::default().groups(&groups, None).include(&[7]).exclude(&[0, 1, 2]);
    let set = refiner(&kernel, &points, options).fewest(0.03, &unwatched).unwrap().set;
    let in_group = |group: usize| set.rows.iter().filter(|row| groups[**row] == group).count();
    let counts = [0, 1, 2].map(in_group);
    assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1, "{counts:?}");
    assert!(set.rows.contains(&7) && set.rows.iter().all(|row| *row > 2));
    // Sixty groups of neighbours, and so at first one point at most from each: more points than herding needs.
    let by_value: Vec<usize> = {
        let mut order: Vec<usize> = (0..300).collect();
        order.sort_by(|&a, &b| points.row(a)[0].total_cmp(&points.row(b)[0]));
        let mut groups = vec![0; 300];
        order.iter().enumerate().for_each(|(rank, &row)| groups[row] = (rank / 5) * 7 % 60);
        groups
    };
    let options = RefineOptions::default().max_sweeps(0).groups(&by_value, None);
    let grouped = refiner(&kernel, &points, options).fewest(0.05, &unwatched).unwrap();
    assert!(grouped.reached && grouped.set.error.unwrap() <= 0.05);
    assert!(grouped.set.rows.len() > grouped.herded.unwrap(), "{grouped:?}");
    let options = RefineOptions::default().include(&[7, 8]);
    let set = refiner(&kernel, &points, options).fewest(0.03, &unwatched).unwrap().set;
    assert!(set.rows.contains(&7) && set.rows.contains(&8));
    let fixed = RefineOptions::default().groups(&groups, Some(&[1, 1, 1]));
    assert_eq!(refiner(&kernel, &points, fixed).fewest(0.1, &unwatched), Err(Error::FixedQuotas));
}
