//! The energy kernel, which has no bandwidth and compares equal masses only, against the energy distance written out.

use crate::common;

use common::{plain, ready, thin};
use common::{random_points, rng};
use rand::RngExt;
use supersample::target::{IndependentNormals, UniformBox};
use supersample::task::{Bandwidth, KernelChoice, Measure, Stop};
use supersample::weights::{WeightRule, optimal};
use supersample::{
    ClosedForm, Domain, Empirical, Error, Family, Herder, Kernel, MeanEmbedding, Points, Precision,
    RefineOptions, Refiner, metrics, unwatched,
};

fn distance(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

/// 2 E|X − Y| − E|X − X'| − E|Y − Y'| of weighted rows X and equally weighted rows Y of them.
fn energy_distance(points: &Points, shares: &[f64], rows: &[usize]) -> f64 {
    let equal = 1.0 / rows.len() as f64;
    let mut mass: Vec<f64> = shares.to_vec();
    rows.iter().for_each(|&row| mass[row] -= equal);
    let of_row = |(x, v): (&[f64], &f64)| -> f64 {
        points.rows().zip(&mass).map(|(y, w)| -v * w * distance(x, y)).sum()
    };
    points.rows().zip(&mass).map(of_row).sum()
}

#[test]
fn herding_is_greedy_on_the_energy_distance() {
    let mut rng = rng(1);
    let points = random_points(70, 3, &mut rng);
    let raw: Vec<f64> = (0..70).map(|i| 1.0 + (i % 5) as f64).collect();
    let total: f64 = raw.iter().sum();
    let shares: Vec<f64> = raw.iter().map(|w| w / total).collect();
    let mu = Empirical::weighted(Kernel::energy(), points.clone(), &raw).unwrap();
    let single_draw = mu.single_draw().unwrap();
    let expected: f64 = (0..70).map(|i| shares[i] * energy_distance(&points, &shares, &[i])).sum();
    assert!((single_draw - expected).abs() < 1e-13);
    for unique in [false, true] {
        let mut herder = Herder::new(mu.clone(), Domain::Pool(points.clone())).unwrap().unique(unique);
        let mut picks: Vec<usize> = Vec::new();
        for _ in 0..30 {
            let pick = herder.next().unwrap();
            let with = |row: usize| [&picks[..], &[row]].concat();
            let open = (0..70).filter(|row| !(unique && picks.contains(row)));
            let best = open.map(|row| energy_distance(&points, &shares, &with(row))).fold(f64::MAX, f64::min);
            let got = energy_distance(&points, &shares, &with(pick.index.unwrap()));
            assert!(got < best + 1e-13, "T={}: {got} {best}", pick.t);
            assert!((pick.squared_error.unwrap() - got).abs() < 1e-13);
            assert_eq!((pick.weight_norm, pick.margin), (None, None));
            picks.push(pick.index.unwrap());
        }
    }
}

#[test]
fn no_swap_lowers_the_energy_distance_and_the_origin_does_not_matter() {
    let mut rng = rng(2);
    let points = random_points(80, 2, &mut rng);
    let moved: Vec<f64> = points.as_slice().iter().map(|x| x + 1e4).collect();
    let moved = Points::from_vec(moved, 2).unwrap();
    let choose = |points: &Points| {
        let mu = Empirical::new(Kernel::energy(), points.clone()).unwrap();
        let refiner = Refiner::new(mu, points.clone(), RefineOptions::default().search(10, 1)).unwrap();
        refiner.choose(8, &unwatched).unwrap().rows
    };
    let rows = choose(&points);
    assert_eq!(rows, choose(&moved));
    let shares = vec![1.0 / 80.0; 80];
    let least = energy_distance(&points, &shares, &rows);
    for position in 0..8 {
        for row in (0..80).filter(|row| !rows.contains(row)) {
            let mut other = rows.clone();
            other[position] = row;
            assert!(energy_distance(&points, &shares, &other) > least - 1e-13);
        }
    }
}

#[test]
fn many_rows_stay_in_double_whatever_is_asked_for() {
    let mut rng = rng(3);
    let points = random_points(Precision::MIXED_FROM, 1, &mut rng);
    let mu = Empirical::new(Kernel::energy(), points.clone()).unwrap();
    assert_eq!(mu.precision_in_use(), Precision::Double);
}

#[test]
fn points_chosen_for_a_density_match_it() {
    let normal = IndependentNormals::new(&[0.0], &[1.0]).unwrap();
    let mu = ClosedForm::normals(Kernel::energy(), normal.clone()).unwrap();
    let pool = normal.sample(400, 1).unwrap();
    let mut herder = Herder::new(mu.clone(), Domain::Pool(pool)).unwrap();
    let error = herder.run(30).last().unwrap().error.unwrap();
    // A random point has a squared error of 2/√π; thirty herded ones less than a tenth of what thirty random ones have.
    assert!(error * error < mu.single_draw().unwrap() / 30.0 / 10.0, "{error}");
    let unit = ClosedForm::uniform_box(Kernel::energy(), UniformBox::new(&[0.0], &[1.0]).unwrap()).unwrap();
    // The Cramér distance, times two: middles of equal thirds are off by ∫ (F_S − F)² = 1/108.
    let thirds = Points::from_rows(&[1.0 / 6.0, 0.5, 5.0 / 6.0], 1).unwrap();
    let squared = metrics::mmd_of_points(&unit, &thirds, None, &unwatched).unwrap().powi(2);
    assert!((squared - 2.0 / 108.0).abs() < 1e-14, "{squared}");
}

#[test]
fn masses_that_differ_are_refused_in_words() {
    let mut rng = rng(4);
    let points = random_points(30, 2, &mut rng);
    let mu = Empirical::new(Kernel::energy(), points.clone()).unwrap();
    let some = points.select(&[1, 2, 3]).unwrap();
    let measured = metrics::mmd_of_points(&mu, &some, Some(&[0.5, 0.5, 0.5]), &unwatched);
    assert!(matches!(measured, Err(Error::UnequalMasses { .. })));
    assert!(metrics::mmd_of_points(&mu, &some, Some(&[0.5, 0.75, -0.25]), &unwatched).unwrap() > 0.0);
    let free = optimal(&mu, &some, WeightRule::Unconstrained, &unwatched).unwrap_err().to_string();
    assert!(free.starts_with("the kernel energy compares equal masses only"), "{free}");
    for rule in [WeightRule::Signed, WeightRule::Simplex] {
        let best = optimal(&mu, &some, rule, &unwatched).unwrap();
        assert!((best.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let told = metrics::mmd_of_points(&mu, &some, Some(&best.weights), &unwatched).unwrap();
        assert!((best.error.unwrap() - told).abs() < 1e-9 && best.error < best.equal_error);
        for (i, step) in [(0, 0.01), (1, 0.01), (2, 0.01), (0, -0.01)] {
            let mut other = best.weights.clone();
            other[i] += step;
            other[(i + 1) % 3] -= step;
            if rule == WeightRule::Signed || other.iter().all(|w| *w >= 0.0) {
                let changed = metrics::mmd_of_points(&mu, &some, Some(&other), &unwatched).unwrap();
                assert!(changed > told - 1e-12, "{rule:?} {changed} {told}");
            }
        }
    }
}

/// A chosen point may be the mean of the chosen points.
#[test]
fn signed_weights_of_rounded_rows_sum_to_one() {
    let mut rng = rng(6);
    for dim in 1..=3 {
        for _ in 0..60 {
            let values: Vec<f64> = (0..40 * dim).map(|_| rng.random_range(-3..=3) as f64).collect();
            let mu = Empirical::new(Kernel::energy(), Points::from_vec(values, dim).unwrap()).unwrap();
            let some: Vec<f64> = (0..5 * dim).map(|_| rng.random_range(-2..=2) as f64).collect();
            let some = Points::from_vec(
                [some.clone(), some.iter().map(|x| -x).collect(), vec![0.0; dim]].concat(),
                dim,
            )
            .unwrap();
            for rule in [WeightRule::Signed, WeightRule::Simplex] {
                let best = optimal(&mu, &some, rule, &unwatched).unwrap();
                assert!(
                    (best.weights.iter().sum::<f64>() - 1.0).abs() < 1e-11,
                    "{rule:?} {:?}",
                    best.weights
                );
            }
        }
    }
}

#[test]
fn a_problem_takes_it_by_name_without_a_bandwidth() {
    let mut rng = rng(5);
    let points = random_points(100, 2, &mut rng);
    let energy = KernelChoice::Named { family: Some(Family::Energy), bandwidth: Bandwidth::Median };
    let target = ready(points, plain().kernel(energy).marginals(0.4));
    assert_eq!((target.problem().kernel(), target.problem().median()), (&Kernel::energy(), None));
    let chosen = thin(&target, Stop::after(10).unwrap(), RefineOptions::default());
    let found = target.summarise(&chosen, &unwatched).unwrap();
    let others = found.comparison.as_ref().unwrap();
    assert!(
        found.mmd() < 0.5 * others.random_mean()
            && found.errors.get(Measure::EquivalentDraws).unwrap() > 40.0
    );
    assert!(found.errors.get(Measure::Cdf) < others.random_errors().get(Measure::Cdf));
}
