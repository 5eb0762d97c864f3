//! What must hold for any points: permutation, translation, duplication, prefixes, and E_T as a distance.

use crate::common;

use proptest::prelude::*;
use supersample::{Domain, Empirical, Herder, Kernel, Pick, Points, Pool, metrics};

/// Points on a coarse grid plus a small irregular part: ties of scores are possible but not the rule.
fn points() -> impl Strategy<Value = Points> {
    (1usize..4, 2usize..25).prop_flat_map(|(dim, n)| {
        prop::collection::vec(-2.0f64..2.0, dim * n)
            .prop_map(move |data| Points::from_vec(data, dim).unwrap())
    })
}

fn kernel() -> impl Strategy<Value = Kernel> {
    prop::sample::select(common::KERNELS.to_vec()).prop_map(|text| text.parse().unwrap())
}

fn herd(kernel: &Kernel, points: &Points, unique: bool, n: usize) -> Vec<Pick> {
    let mu = Empirical::new(kernel.clone(), points.clone()).unwrap();
    Herder::new(mu, Domain::Pool(points.clone())).unwrap().unique(unique).run(n)
}

fn errors(picks: &[Pick]) -> Vec<f64> {
    picks.iter().map(|pick| pick.squared_error.unwrap()).collect()
}

/// Whether some pick was a near tie, after which two equally right runs may part.
fn is_tied(kernel: &Kernel, points: &Points, picks: &[Pick]) -> bool {
    let mu = Empirical::new(kernel.clone(), points.clone()).unwrap();
    let naive = common::naive::Naive {
        kernel,
        samples: mu.points(),
        weights: vec![1.0 / points.len() as f64; points.len()],
        pool: points,
    };
    let rows: Vec<usize> = picks.iter().map(|pick| pick.index.unwrap()).collect();
    (0..rows.len()).any(|t| {
        let best = naive.score(&rows[..t], points.row(rows[t]));
        (0..points.len()).any(|i| i != rows[t] && best - naive.score(&rows[..t], points.row(i)) < 1e-9)
    })
}

fn assert_close(a: &[f64], b: &[f64]) {
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() < 1e-12, "{a} {b}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(20), ..ProptestConfig::default() })]

    #[test]
    fn permuting_the_pool_permutes_the_picks(points in points(), kernel in kernel(), shift in 1usize..20) {
        let n = points.len();
        let order: Vec<usize> = (0..n).map(|i| (i + shift) % n).rev().collect();
        let shuffled = points.select(&order).unwrap();
        let picks = herd(&kernel, &points, false, 8);
        prop_assume!(!is_tied(&kernel, &points, &picks));
        let back: Vec<usize> = herd(&kernel, &shuffled, false, 8).iter().map(|p| order[p.index.unwrap()]).collect();
        let direct: Vec<usize> = picks.iter().map(|p| p.index.unwrap()).collect();
        prop_assert_eq!(back, direct);
    }

    #[test]
    fn moving_all_points_changes_nothing(points in points(), kernel in kernel(), by in -3.0f64..3.0) {
        prop_assume!(kernel != Kernel::linear()); // not a function of x − y
        let moved = Points::from_vec(points.as_slice().iter().map(|x| x + by).collect(), points.dim()).unwrap();
        let picks = herd(&kernel, &points, false, 8);
        prop_assume!(!is_tied(&kernel, &points, &picks));
        let again = herd(&kernel, &moved, false, 8);
        let rows = |picks: &[Pick]| picks.iter().map(|p| p.index).collect::<Vec<_>>();
        prop_assert_eq!(rows(&picks), rows(&again));
        assert_close(&errors(&picks), &errors(&again));
    }

    #[test]
    fn a_duplicated_sample_is_a_doubled_weight(points in points(), kernel in kernel(), which in 0usize..25) {
        let which = which % points.len();
        let rows: Vec<usize> = (0..points.len()).chain([which]).collect();
        let doubled = Empirical::new(kernel.clone(), points.select(&rows).unwrap()).unwrap();
        let weights: Vec<f64> = (0..points.len()).map(|i| if i == which { 2.0 } else { 1.0 }).collect();
        let weighted = Empirical::weighted(kernel.clone(), points.clone(), &weights).unwrap();
        let a = Herder::new(doubled, Domain::Pool(points.clone())).unwrap();
        let b = Herder::new(weighted, Domain::Pool(points.clone())).unwrap();
        assert_close(a.pool().values(), b.pool().values());
        assert_close(&[a.pool().squared_norm().unwrap()], &[b.pool().squared_norm().unwrap()]);
    }

    #[test]
    fn a_shorter_run_is_the_beginning_of_a_longer_one(
        points in points(), kernel in kernel(), unique: bool, k in 1usize..10,
    ) {
        let long = herd(&kernel, &points, unique, 20);
        let short = herd(&kernel, &points, unique, k);
        prop_assert_eq!(&long[..short.len()], &short[..]);
        let mu = Empirical::new(kernel.clone(), points.clone()).unwrap();
        let mut resumed = Herder::new(mu, Domain::Pool(points.clone())).unwrap().unique(unique);
        let mut pieces = resumed.run(k);
        pieces.extend(resumed.run(20 - k));
        prop_assert_eq!(&pieces, &long);
        // A replay of the first picks continues to the same end.
        let rows: Vec<usize> = short.iter().map(|pick| pick.index.unwrap()).collect();
        let mut replayed = resumed.restart();
        prop_assert_eq!(replayed.replay(&rows).unwrap(), short);
        prop_assert_eq!(&replayed.run(20 - k), &long[rows.len()..]);
        // So does a trace of the rows, in which a row that repeats is one.
        let rows: Vec<usize> = long.iter().map(|pick| pick.index.unwrap()).collect();
        let pool = Pool::new(Empirical::new(kernel.clone(), points.clone()).unwrap(), points.clone()).unwrap();
        let near = |a: Option<f64>, b: Option<f64>| a.unwrap_or(0.0) - b.unwrap_or(0.0);
        for (traced, pick) in Herder::trace(&pool, &rows).unwrap().iter().zip(&long) {
            prop_assert_eq!((traced.t, traced.index, &traced.point), (pick.t, pick.index, &pick.point));
            prop_assert!(near(traced.squared_error, pick.squared_error).abs() < 1e-13);
        }
    }

    #[test]
    fn the_error_is_the_mmd_of_the_picks(points in points(), kernel in kernel(), unique: bool) {
        let mu = Empirical::new(kernel.clone(), points.clone()).unwrap();
        let picks = herd(&kernel, &points, unique, 9);
        for t in 1..=picks.len() {
            let rows: Vec<usize> = picks[..t].iter().map(|pick| pick.index.unwrap()).collect();
            let chosen = Empirical::new(kernel.clone(), points.select(&rows).unwrap()).unwrap();
            let direct = metrics::squared_mmd(&mu, &chosen).unwrap();
            prop_assert!((picks[t - 1].squared_error.unwrap() - direct).abs() < 1e-13);
        }
    }

    #[test]
    fn unique_takes_every_row_once_and_ends_at_no_error(points in points(), kernel in kernel()) {
        let picks = herd(&kernel, &points, true, points.len() + 5);
        let mut rows: Vec<usize> = picks.iter().map(|pick| pick.index.unwrap()).collect();
        rows.sort_unstable();
        prop_assert_eq!(rows, (0..points.len()).collect::<Vec<_>>());
        prop_assert!(picks.last().unwrap().squared_error.unwrap().abs() < 1e-13);
    }
}
