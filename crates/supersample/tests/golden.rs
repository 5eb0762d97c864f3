//! A worked example with every digit: three points, k = exp(−‖x−y‖²).

use supersample::{Domain, Empirical, Herder, Kernel, Points};

fn herder(unique: bool) -> Herder {
    let points = Points::from_rows(&[0.3, 0.25, 0.4, 0.2, 0.5, 0.125], 2).unwrap();
    // exp(−r²) is a Gaussian of bandwidth 1/√2.
    let mu = Empirical::new(Kernel::gaussian(0.5f64.sqrt()).unwrap(), points.clone()).unwrap();
    Herder::new(mu, Domain::Pool(points)).unwrap().unique(unique)
}

fn rows(herder: &mut Herder, n: usize) -> Vec<usize> {
    herder.run(n).iter().map(|pick| pick.index.unwrap()).collect()
}

#[test]
fn the_mean_embedding_has_the_published_digits() {
    let published = [0.9778238600172561, 0.9906914124997632, 0.9767967388544317];
    for (got, want) in herder(false).pool().values().iter().zip(published) {
        assert!((got - want).abs() < 1e-15, "{got} {want}");
    }
}

#[test]
fn unique_picks_come_in_the_published_order() {
    assert_eq!(rows(&mut herder(true), 5), [1, 2, 0]);
}

#[test]
fn picks_with_repeats_come_in_the_published_order() {
    assert_eq!(rows(&mut herder(false), 14), [1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 0, 1, 2, 0]);
}

#[test]
fn the_error_is_not_monotone() {
    let picks = herder(false).run(12);
    assert!(picks[11].error > picks[10].error, "{:?} {:?}", picks[11].error, picks[10].error);
}
