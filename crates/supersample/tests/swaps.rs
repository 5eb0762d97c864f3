//! What a refined set promises: no single swap helps, and no kernel row of a pick is computed twice.

use crate::common;

use rand::RngExt;
use supersample::{
    Empirical, Error, Herder, Kernel, Points, Pool, RefineOptions, Refiner, bandwidth, unwatched,
};

/// The most that one swap lowers T²E² by, from the full kernel matrix.
fn best_gain(kernel: &Kernel, points: &Points, rows: &[usize]) -> f64 {
    let n = points.len();
    let k = |i: usize, j: usize| kernel.value(points.row(i), points.row(j));
    let mu: Vec<f64> = (0..n).map(|i| (0..n).map(|j| k(i, j)).sum::<f64>() / n as f64).collect();
    let t = rows.len() as f64;
    let mut best = 0.0_f64;
    for (j, &here) in rows.iter().enumerate() {
        let fit = |i: usize| {
            let others = rows.iter().enumerate().filter(|(at, _)| *at != j);
            t * mu[i] - others.map(|(_, &row)| k(i, row)).sum::<f64>() - k(i, i) / 2.0
        };
        let here = fit(here);
        let open = (0..n).filter(|i| !rows.contains(i));
        best = open.map(|i| 2.0 * (fit(i) - here)).fold(best, f64::max);
    }
    best
}

#[test]
fn after_sweeps_and_search_no_single_swap_helps() {
    for case in 0..80 {
        let rng = &mut common::rng(case);
        let (n, dim) = (rng.random_range(60..300), rng.random_range(1..5));
        let size = rng.random_range(2..n / 3);
        let points = common::random_points(n, dim, rng);
        let kernel = Kernel::gaussian(bandwidth::median(&points)).unwrap();
        let mu = Empirical::new(kernel.clone(), points.clone()).unwrap();
        let options = RefineOptions::default().search_by_size(case);
        let refiner = Refiner::new(mu, points.clone(), options).unwrap();
        let set = refiner.choose(size, &unwatched).unwrap();
        let gain = best_gain(&kernel, &points, &set.rows);
        assert!(set.converged && gain < 1e-10, "case {case}: {size} of {n} by {dim}: {gain} {set:?}");
        assert!(set.error <= set.swept_error && set.swept_error <= set.start_error);
    }
}

fn pool(n: usize) -> Pool {
    let points = common::random_points(n, 3, &mut common::rng(5));
    let kernel = Kernel::gaussian(bandwidth::median(&points)).unwrap();
    Pool::new(Empirical::new(kernel, points.clone()).unwrap(), points).unwrap()
}

#[test]
fn a_refiner_goes_on_from_a_herder_and_computes_no_row_again() {
    // Enough rows for single precision and for the parallel paths.
    let pool = pool(20_000);
    for repeats in [false, true] {
        let options = RefineOptions::default().repeats(repeats).exclude(&[3, 17]);
        let refiner = Refiner::over(pool.clone(), options.clone()).unwrap();
        let mut herder = refiner.herder();
        herder.run(40);
        let mut plain = Herder::over(pool.clone()).unique(!repeats).excluding(&[3, 17]).unwrap();
        plain.run(40);
        assert_eq!(herder.indices(), plain.indices());
        let rows = herder.indices().to_vec();
        let set = refiner.improve(herder, &unwatched).unwrap();
        assert_eq!(set, refiner.choose(40, &unwatched).unwrap());
        // One kernel row for each pick and one for each row that came in.
        assert_eq!(set.kernel_rows, 40 + set.swaps as u64, "{set:?}");
        let without = Refiner::over(pool.clone(), options.clone().memory(0)).unwrap();
        let from_rows = without.improve_rows(&rows, &unwatched).unwrap();
        assert_eq!(from_rows.rows, set.rows);
        assert!(from_rows.kernel_rows > set.kernel_rows);
        // A herder that keeps nothing serves as well, and one with other rows closed is gone on from by its rows.
        assert_eq!(refiner.improve(plain, &unwatched).unwrap().rows, set.rows);
        let mut open = Herder::over(pool.clone()).unique(!repeats);
        open.replay(&rows).unwrap();
        assert_eq!(refiner.improve(open, &unwatched).unwrap().rows, set.rows);
    }
}

#[test]
fn a_herder_under_other_constraints_is_gone_on_from_by_its_rows_alone() {
    let pool = pool(150);
    let plain = RefineOptions::default;
    let rows: Vec<usize> =
        Herder::over(pool.clone()).unique(true).run(9).iter().filter_map(|pick| pick.index).collect();
    let from = |herder: Herder, options: RefineOptions| {
        let mut herder = herder.keeping(usize::MAX);
        herder.replay(&rows).unwrap();
        let refiner = Refiner::over(pool.clone(), options).unwrap();
        assert_eq!(refiner.improve(herder, &unwatched), refiner.improve_rows(&rows, &unwatched));
        refiner.improve_rows(&rows, &unwatched).unwrap().rows
    };
    let herder = || Herder::over(pool.clone());
    let free = from(herder().unique(true), plain());
    let out: Vec<usize> = free.iter().copied().filter(|row| !rows.contains(row)).collect();
    assert!(out.len() > 1, "{free:?}");
    // Rows that would have come in are out, are out of the herder alone, may repeat in one of the two, or must be in.
    assert!(from(herder().unique(true), plain().exclude(&out)).iter().all(|row| !out.contains(row)));
    assert_eq!(from(herder().unique(true).excluding(&out).unwrap(), plain()), free);
    from(herder().unique(false), plain());
    from(herder().unique(true), plain().repeats(true));
    from(herder().unique(false).excluding(&out).unwrap(), plain().repeats(true));
    assert!(from(herder().unique(true), plain().include(&rows[6..7])).contains(&rows[6]));
    // The state of one under the same constraints serves: here it is known by the kernel rows that it has not kept.
    for (repeats, out) in [(false, &[][..]), (true, &out[..])] {
        let mut herder = herder().unique(!repeats).excluding(out).unwrap();
        herder.replay(&rows).unwrap();
        let refiner = Refiner::over(pool.clone(), plain().repeats(repeats).exclude(out)).unwrap();
        let afresh = refiner.improve_rows(&rows, &unwatched).unwrap();
        assert!(refiner.improve(herder, &unwatched).unwrap().kernel_rows > afresh.kernel_rows);
    }
}

#[test]
fn herders_that_do_not_fit_a_refiner_are_refused() {
    let (one, other) = (pool(50), pool(50));
    let refiner = Refiner::over(one.clone(), RefineOptions::default().exclude(&[7])).unwrap();
    let mut herder = Herder::over(other);
    herder.run(3);
    assert_eq!(refiner.improve(herder, &unwatched), Err(Error::OtherHerder));
    let given = one.points().select(&[5]).unwrap();
    let mut herder = Herder::over(one.clone()).starting_from(given, vec![1.0]).unwrap();
    herder.run(3);
    assert_eq!(refiner.improve(herder, &unwatched), Err(Error::OtherHerder));
    let mut herder = Herder::over(one.clone());
    herder.replay(&[1, 7]).unwrap();
    assert_eq!(refiner.improve(herder, &unwatched), Err(Error::ExcludedRow { index: 7 }));
    assert_eq!(refiner.improve_rows(&[1, 7], &unwatched), Err(Error::ExcludedRow { index: 7 }));
    assert_eq!(refiner.improve_rows(&[1, 2, 1], &unwatched), Err(Error::RepeatedRow { index: 1 }));
    assert_eq!(refiner.improve_rows(&[1, 50], &unwatched), Err(Error::NoSuchRow { index: 50, len: 50 }));
    assert_eq!(refiner.improve(Herder::over(one.clone()), &unwatched), Err(Error::EmptySet));
    let groups: Vec<usize> = (0..50).map(|i| i % 2).collect();
    let balanced = Refiner::over(one, RefineOptions::default().groups(&groups, Some(&[2, 2]))).unwrap();
    let refused = balanced.improve_rows(&[0, 2, 4, 1], &unwatched);
    assert_eq!(refused, Err(Error::QuotaNotKept { group: 0, quota: 2, found: 3 }));
}

#[test]
fn a_trace_says_what_a_herder_over_the_whole_pool_says() {
    // In double precision, and in single precision with an error that must be restated in double.
    for (n, t) in [(500, 30), (20_000, 300)] {
        let pool = pool(n);
        let rows: Vec<usize> =
            Herder::over(pool.clone()).unique(true).run(t).iter().filter_map(|p| p.index).collect();
        let whole = Herder::over(pool.clone()).replay(&rows).unwrap();
        let trace = Herder::trace(&pool, &rows).unwrap();
        for (short, long) in trace.iter().zip(&whole) {
            assert_eq!((short.t, short.index, &short.point), (long.t, long.index, &long.point));
            let close = |a: Option<f64>, b: Option<f64>| (a.unwrap() - b.unwrap()).abs() <= 1e-9;
            assert!(close(short.squared_error, long.squared_error), "{short:?} {long:?}");
            assert!((short.score - long.score).abs() < 1e-6);
        }
    }
    assert!(Herder::trace(&pool(50), &[50]).is_err());
}

#[test]
fn excluded_rows_are_never_picked_and_stay_excluded() {
    let pool = pool(60);
    let out: Vec<usize> = (0..60).filter(|i| i % 3 == 0).collect();
    for unique in [false, true] {
        let mut herder = Herder::over(pool.clone()).unique(unique).excluding(&out).unwrap();
        assert_eq!(herder.replay(&[1, 3]), Err(Error::ExcludedRow { index: 3 }));
        let picks = herder.run(100);
        assert_eq!(picks.len(), if unique { 40 } else { 100 });
        let mut again = herder.unique(unique).restart();
        again.run(100);
        assert!(again.indices().iter().all(|i| i % 3 != 0));
        // The target still has them: the errors are those of the same rows in a pool that is open.
        let open = Herder::over(pool.clone()).replay(again.indices()).unwrap();
        assert_eq!(picks.last().unwrap().error, open.last().unwrap().error);
    }
    assert!(matches!(Herder::over(pool).excluding(&[60]), Err(Error::NoSuchRow { index: 60, len: 60 })));
}
