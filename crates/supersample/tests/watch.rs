//! Long computations can be watched and ended, and watching changes nothing.

use std::ops::ControlFlow::{Break, Continue};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use supersample::weights::{WeightRule, optimal};
use supersample::{
    Empirical, Error, Kernel, MeanEmbedding, Points, Progress, RefineOptions, Refiner, unwatched,
};

fn draws(n: usize) -> Points {
    let coordinate = |i: usize| ((i as f64 * 0.754_877).fract() - 0.5) * (i as f64 * 0.569_84).fract();
    Points::from_vec((0..2 * n).map(coordinate).collect(), 2).unwrap()
}

fn embedding(n: usize) -> Empirical {
    Empirical::new(Kernel::gaussian(0.2).unwrap(), draws(n)).unwrap()
}

fn values(mu: &Empirical) -> Vec<f64> {
    let mut values = vec![0.0; mu.points().len()];
    mu.values_into(mu.points(), &mut values);
    values
}

#[test]
fn an_embedding_reports_every_pair_and_is_the_same_when_watched() {
    for n in [1, 7, 400, 3000] {
        let mu = embedding(n);
        let (furthest, calls) = (AtomicU64::new(0), AtomicUsize::new(0));
        let watch = |progress: Progress| {
            let Progress::Embedding { done, total } = progress else { panic!("{progress:?}") };
            assert_eq!(total, (n * (n + 1) / 2) as u64);
            furthest.fetch_max(done, Ordering::SeqCst);
            calls.fetch_add(1, Ordering::SeqCst);
            Continue(())
        };
        mu.prepare(&watch).unwrap();
        assert_eq!(furthest.load(Ordering::SeqCst), (n * (n + 1) / 2) as u64);
        assert_eq!(values(&mu), values(&embedding(n)));
        // What is known is not computed again.
        let before = calls.load(Ordering::SeqCst);
        mu.prepare(&watch).unwrap();
        assert_eq!(calls.load(Ordering::SeqCst), before);
    }
}

#[test]
fn an_interrupted_embedding_starts_afresh() {
    let mu = embedding(3000);
    let calls = AtomicUsize::new(0);
    let impatient =
        |_: Progress| if calls.fetch_add(1, Ordering::SeqCst) < 20 { Continue(()) } else { Break(()) };
    assert_eq!(mu.prepare(&impatient), Err(Error::Interrupted));
    // Every thread notices at its next tile.
    assert!(calls.load(Ordering::SeqCst) < 20 + 64, "{calls:?}");
    assert_eq!(values(&mu), values(&embedding(3000)));
}

fn refiner() -> Refiner {
    let options = RefineOptions::default().search(3, 5);
    Refiner::new(embedding(500), draws(500), options).unwrap()
}

#[test]
fn a_watched_set_is_the_same_set() {
    let calls = AtomicUsize::new(0);
    let counting = |_: Progress| {
        calls.fetch_add(1, Ordering::SeqCst);
        Continue(())
    };
    let watched = refiner().choose(12, &counting).unwrap();
    assert!(!watched.interrupted && calls.load(Ordering::SeqCst) > 12);
    assert_eq!(refiner().choose(12, &unwatched).unwrap(), watched);
}

#[test]
fn a_set_ended_early_is_the_best_so_far() {
    let refiner = refiner();
    let whole = refiner.choose(12, &unwatched).unwrap();
    let herding = |progress: Progress| match progress {
        Progress::Herding { chosen: 4, .. } => Break(()),
        _ => Continue(()),
    };
    let set = refiner.choose(12, &herding).unwrap();
    assert!(set.interrupted && !set.converged && set.rows.len() == 4);
    let sweeping = |progress: Progress| match progress {
        Progress::Sweeping { visits, .. } if visits >= 3 => Break(()),
        _ => Continue(()),
    };
    let set = refiner.choose(12, &sweeping).unwrap();
    assert!(set.interrupted && !set.converged && set.rows.len() == 12);
    assert!(set.error <= set.start_error && set.error > whole.error);
    let searching = |progress: Progress| match progress {
        Progress::Searching { visits, .. } if visits >= 7 => Break(()),
        _ => Continue(()),
    };
    let set = refiner.choose(12, &searching).unwrap();
    assert!(set.interrupted && set.error <= set.swept_error && set.error >= whole.error);
}

#[test]
fn the_fewest_rows_ended_early_still_reach_the_tolerance() {
    let whole = refiner().fewest(0.01, &unwatched).unwrap();
    let searches = AtomicUsize::new(0);
    let impatient = |progress: Progress| match progress {
        // The search of the second trial: the first has given a set that is good enough.
        Progress::Searching { visits: 0, .. } if searches.fetch_add(1, Ordering::SeqCst) == 1 => Break(()),
        _ => Continue(()),
    };
    let ended = refiner().fewest(0.01, &impatient).unwrap();
    assert!(whole.reached && !whole.set.interrupted);
    assert!(ended.reached && ended.set.interrupted && ended.set.error.unwrap() <= 0.01);
    assert!(ended.set.rows.len() >= whole.set.rows.len());
}

#[test]
fn values_of_an_earlier_run_are_taken_and_counted() {
    let points = Points::from_vec((0..300).map(|i| (i as f64 * 0.7).sin()).collect(), 1).unwrap();
    let fresh = || Empirical::new(Kernel::gaussian(0.4).unwrap(), points.clone()).unwrap();
    let first = fresh();
    let mut values = vec![0.0; 300];
    first.values_into(&points, &mut values);
    let second = fresh().recall(values).unwrap();
    // Nothing is left to compute, so nobody can end it.
    second.prepare(&|_| Break(())).unwrap();
    assert_eq!(first.squared_norm(), second.squared_norm());
    assert!(matches!(
        fresh().recall(vec![0.5; 299]),
        Err(Error::RecalledCount { found: 299, expected: 300 })
    ));
}

/// Each rule asks at every block of columns or at every point that joins, and where it is ended there is no result.
#[test]
fn weights_can_be_ended_at_any_time_and_are_the_same_when_watched() {
    // In f32, and with more points than are summed at once, so that their means come in several parts.
    let mu = Empirical::new(Kernel::gaussian(0.2).unwrap(), draws(20_000)).unwrap();
    let points = draws(300);
    mu.prepare(&unwatched).unwrap();
    // Calibrated weights need the rows behind the points.
    for rule in WeightRule::ALL.into_iter().filter(|rule| *rule != WeightRule::Calibrated) {
        let (calls, steps) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let counting = |progress: Progress| {
            calls.fetch_add(1, Ordering::SeqCst);
            if let Progress::Weighing { done, total } = progress {
                assert!(done <= total && total == 300, "{rule}: {done} {total}");
                steps.fetch_add(1, Ordering::SeqCst);
            }
            Continue(())
        };
        // First, since ‖μ‖² in f64 is asked for once.
        let whole = optimal(&mu, &points, rule, &unwatched).unwrap();
        assert_eq!(optimal(&mu, &points, rule, &counting).unwrap(), whole);
        let (calls, steps) = (calls.into_inner(), steps.into_inner());
        assert!(steps >= 300_usize.div_ceil(64) && calls > steps + 4, "{rule}: {calls} {steps}");
        for last in [0, 1, 2, calls / 2, calls - 1] {
            let left = AtomicUsize::new(last);
            let ending = |_: Progress| match left
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1))
            {
                Ok(_) => Continue(()),
                Err(_) => Break(()),
            };
            assert_eq!(optimal(&mu, &points, rule, &ending), Err(Error::Interrupted), "{rule}: {last}");
        }
    }
}
