//! Given points, replays and everything a herder refuses.

use crate::common;

use common::{random_points, rng};
use supersample::target::GaussianMixture;
use supersample::{AscentOptions, ClosedForm, Domain, Empirical, Error, Herder, Kernel, Points, metrics};

fn kernel() -> Kernel {
    Kernel::gaussian(0.8).unwrap()
}

fn herder(points: &Points) -> Herder {
    Herder::new(Empirical::new(kernel(), points.clone()).unwrap(), Domain::Pool(points.clone())).unwrap()
}

#[test]
fn given_points_count_as_picked() {
    let pool = random_points(50, 2, &mut rng(1));
    let plain: Vec<_> = herder(&pool).run(20);
    let first: Vec<usize> = plain[..8].iter().map(|pick| pick.index.unwrap()).collect();
    let given = |herder: Herder| herder.starting_from(pool.select(&first).unwrap(), vec![1.0; 8]).unwrap();
    let mut warm = given(herder(&pool));
    let again = warm.clone();
    let warm = warm.run(12);
    assert_eq!(again.restart().run(12), warm);
    // Points that are given take the place of those before, and picks are forgotten.
    let mut other = herder(&pool).starting_from(pool.select(&[3]).unwrap(), vec![2.0]).unwrap();
    other.run(4);
    assert_eq!(given(other).run(12), warm);
    for (warm, plain) in warm.iter().zip(&plain[8..]) {
        assert_eq!((warm.t + 8, warm.index), (plain.t, plain.index));
        assert!((warm.error.unwrap() - plain.error.unwrap()).abs() < 1e-12);
    }
}

#[test]
fn points_outside_the_pool_can_be_included_with_weights() {
    let pool = random_points(50, 2, &mut rng(2));
    let outside = Points::from_rows(&[0.2, 0.1, -0.7, 0.4], 2).unwrap();
    let mut warm = herder(&pool).starting_from(outside.clone(), vec![3.0, 0.5]).unwrap();
    let picks = warm.run(6);
    let chosen = warm.chosen().unwrap();
    assert_eq!((chosen.len(), chosen.row(0)), (8, outside.row(0)));
    let weights = [3.0, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
    let set = Empirical::weighted(kernel(), chosen, &weights).unwrap();
    let target = Empirical::new(kernel(), pool).unwrap();
    assert!((metrics::mmd(&target, &set).unwrap() - picks[5].error.unwrap()).abs() < 1e-12);
}

#[test]
fn a_margin_is_missing_where_w_or_the_point_has_no_direction() {
    // Under the linear kernel a target at the origin is the function 0: w is it before the first pick, and the origin is
    // it afterwards.
    let [target, pool] =
        [&[0.0, 0.0][..], &[3.0, 4.0, 0.0, 0.0]].map(|rows| Points::from_rows(rows, 2).unwrap());
    let mu = Empirical::new(Kernel::linear(), target).unwrap();
    let picks = Herder::new(mu, Domain::Pool(pool)).unwrap().replay(&[0, 1]).unwrap();
    assert_eq!(picks.iter().map(|pick| pick.margin).collect::<Vec<_>>(), [None, None]);
}

#[test]
fn margins_do_not_depend_on_the_unit_of_a_linear_kernel() {
    let points = random_points(30, 3, &mut rng(10));
    let margins = |unit: f64| {
        let points = Points::from_vec(points.as_slice().iter().map(|x| x * unit).collect(), 3).unwrap();
        let mu = Empirical::new(Kernel::linear(), points.clone()).unwrap();
        let picks = Herder::new(mu, Domain::Pool(points)).unwrap().run(20);
        picks.iter().map(|pick| pick.margin.unwrap()).collect::<Vec<f64>>()
    };
    // Powers of two, so that nothing is rounded otherwise.
    let plain = margins(1.0);
    assert_eq!(margins(2f64.powi(30)), plain);
    assert_eq!(margins(2f64.powi(-30)), plain);
}

#[test]
fn replay_respects_unique_and_refuses_before_it_changes_anything() {
    let pool = random_points(10, 2, &mut rng(4));
    let mut unique = herder(&pool).unique(true);
    assert_eq!(unique.replay(&[3, 3]), Err(Error::RepeatedRow { index: 3 }));
    assert_eq!(unique.replay(&[3, 10]), Err(Error::NoSuchRow { index: 10, len: 10 }));
    assert_eq!(unique.indices(), []);
    assert_eq!(unique.replay(&[3, 5]).unwrap().len(), 2);
    let rest = unique.run(100);
    assert_eq!(rest.len(), 8);
    assert!(rest.iter().all(|pick| pick.index != Some(3) && pick.index != Some(5)));
    assert!(unique.next().is_none());
    assert_eq!(herder(&pool).replay(&[3, 3]).unwrap()[1].t, 2);
}

#[test]
fn a_second_herder_over_the_same_embedding_has_the_same_values() {
    let pool = random_points(30, 3, &mut rng(5));
    let mu = Empirical::new(kernel(), pool.clone()).unwrap();
    let first = Herder::new(mu.clone(), Domain::Pool(pool.clone())).unwrap();
    let second = Herder::new(mu, Domain::Pool(pool)).unwrap();
    assert_eq!(first.pool().values(), second.pool().values());
    assert_eq!(first.pool().squared_norm(), second.pool().squared_norm());
}

#[test]
fn the_mmd_of_any_rows_is_that_of_the_points() {
    let pool = random_points(40, 2, &mut rng(9));
    let herder = herder(&pool);
    let target = Empirical::new(kernel(), pool.clone()).unwrap();
    for rows in [vec![4, 1, 1], vec![7], (0..40).collect()] {
        let set = Empirical::new(kernel(), pool.select(&rows).unwrap()).unwrap();
        let direct = metrics::mmd(&target, &set).unwrap();
        assert!((herder.pool().mmd_of_rows(&rows).unwrap().unwrap() - direct).abs() < 1e-7, "{rows:?}");
    }
    assert_eq!(herder.pool().mmd_of_rows(&[]), Err(Error::NoPoints));
    assert_eq!(herder.pool().mmd_of_rows(&[40]), Err(Error::NoSuchRow { index: 40, len: 40 }));
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let plane = random_points(10, 2, &mut rng(6));
    let line = random_points(10, 1, &mut rng(7));
    let refused = |domain| Herder::new(Empirical::new(kernel(), plane.clone()).unwrap(), domain).err();
    let mismatch = |what, against| Some(Error::DimensionMismatch { what, found: 1, against, expected: 2 });
    assert_eq!(refused(Domain::Pool(line.clone())), mismatch("the pool", "the target"));
    let options = AscentOptions::default();
    let ascent = |starts: &Points, options| Domain::Ascent { starts: starts.clone(), options };
    assert_eq!(refused(ascent(&line, options)), mismatch("the starts of the ascent", "the target"));
    assert!(matches!(refused(ascent(&plane, options.climbs(0))), Some(Error::BadOption { .. })));
    let mixture = ClosedForm::mixture(kernel(), GaussianMixture::random(2, 2, 1).unwrap()).unwrap();
    let mixed = Herder::new(mixture, Domain::Pool(line.clone())).err();
    assert_eq!(mixed, mismatch("the pool", "the target"));

    let given = |points: &Points, weights| herder(&plane).starting_from(points.clone(), weights).err();
    assert_eq!(given(&line, vec![1.0; 10]), mismatch("the given points", "the target"));
    assert!(matches!(given(&plane, vec![1.0]), Some(Error::WeightCount { .. })));
    let mut negative = vec![1.0; 10];
    negative[4] = -1.0;
    assert_eq!(given(&plane, negative), Some(Error::BadWeight { index: 4, value: -1.0 }));

    let space = ascent(&plane, options);
    let mut space = Herder::new(Empirical::new(kernel(), plane.clone()).unwrap(), space).unwrap();
    assert_eq!(space.replay(&[0]), Err(Error::NotAPool));

    let huge = Points::from_rows(&[1e200, -1e200], 1).unwrap();
    let linear = Empirical::new(Kernel::linear(), huge.clone()).unwrap();
    assert!(matches!(Herder::new(linear, Domain::Pool(huge.clone())).err(), Some(Error::Overflow { .. })));
    // Sums of kernel values need room above the largest of them.
    let refused = |x: f64| {
        let points = Points::from_rows(&[x, -x], 1).unwrap();
        let linear = Empirical::new(Kernel::linear(), points.clone()).unwrap();
        Herder::new(linear, Domain::Pool(points)).err()
    };
    assert!(matches!(refused(1e146), Some(Error::Overflow { value }) if (value / 1e292 - 1.0).abs() < 1e-9));
    assert_eq!(refused(1e144), None);
    // A kernel that only sees distances takes such points: they are simply far apart.
    let far = Herder::new(Empirical::new(kernel(), huge.clone()).unwrap(), Domain::Pool(huge)).unwrap();
    assert_eq!(far.take(2).map(|pick| pick.index.unwrap()).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn picking_nothing_is_fine() {
    let pool = random_points(10, 2, &mut rng(8));
    let mut herder = herder(&pool);
    assert!(herder.run(0).is_empty() && herder.chosen().is_none());
}

#[test]
fn excluded_rows_are_never_picked_and_stay_so_after_a_restart() {
    let points = Points::from_vec((0..40).map(|i| (i as f64 * 0.618_034).fract()).collect(), 1).unwrap();
    let mu = Empirical::new(Kernel::gaussian(0.2).unwrap(), points.clone()).unwrap();
    let herder = Herder::new(mu, Domain::Pool(points.clone())).unwrap();
    let free = herder.clone().run(30);
    let barred = [free[0].index.unwrap(), free[3].index.unwrap()];
    let naive = |picks: &[usize]| {
        let weights = vec![1.0 / 40.0; 40];
        let kernel = &Kernel::gaussian(0.2).unwrap();
        let naive = common::naive::Naive { kernel, samples: &points, weights, pool: &points };
        let open = (0..40).filter(|row| !barred.contains(row));
        open.map(|row| (row, naive.score(picks, points.row(row))))
            .reduce(|a, b| if b.1 > a.1 { b } else { a })
            .unwrap()
            .0
    };
    let mut herder = herder.excluding(&barred).unwrap();
    for _ in 0..2 {
        let mut picks = Vec::new();
        for pick in herder.run(30) {
            assert_eq!(pick.index, Some(naive(&picks)));
            picks.push(pick.index.unwrap());
        }
        assert_eq!(herder.replay(&[barred[1]]).unwrap_err(), Error::ExcludedRow { index: barred[1] });
        herder = herder.restart();
    }
    let mut unique = herder.clone().unique(true);
    assert_eq!(unique.run(40).len(), 38);
    // Others in their place, or none.
    assert_eq!(herder.clone().excluding(&[]).unwrap().run(30), free);
    assert_eq!(herder.clone().excluding(&[40]).err(), Some(Error::NoSuchRow { index: 40, len: 40 }));
}
