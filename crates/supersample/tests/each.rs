//! A set for each group: the same as choosing from each alone.

use crate::common;

use std::ops::ControlFlow;

use common::{random_points, ready, rng};
use supersample::task::{Choose, Method, Problem, RowWeights, Rows, Stop, choose_each};
use supersample::weights::WeightRule;
use supersample::{Error, Points, RefineOptions, Search, unwatched};

const N: usize = 240;

fn groups() -> Vec<usize> {
    (0..N).map(|row| (row * 7) % 11 % 4).collect()
}

fn members(group: usize) -> Vec<usize> {
    (0..N).filter(|&row| groups()[row] == group).collect()
}

#[test]
fn each_group_gets_what_it_would_get_alone_on_any_number_of_threads() {
    let points = random_points(N, 2, &mut rng(1));
    let weights: Vec<f64> = (0..N).map(|row| 1.0 + (row % 3) as f64).collect();
    let functions: Vec<f64> = points.rows().map(|x| x[0] * x[1]).collect();
    let rows = |some: &[usize]| {
        let weights: Vec<f64> = some.iter().map(|&row| weights[row]).collect();
        let functions = some.iter().map(|&row| functions[row]).collect();
        let rows = Rows::weighted(points.select(some).unwrap(), RowWeights::Weights(&weights)).unwrap();
        rows.functions(functions, 1).unwrap()
    };
    let all: Vec<usize> = (0..N).collect();
    for choose in [Choose::thin(8).unwrap().weighed(WeightRule::Simplex), Choose::herd(8).unwrap()] {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| choose_each(&rows(&all), &groups(), &choose, &unwatched).unwrap())
        };
        let found = on(1);
        assert_eq!(found, on(3));
        assert_eq!(found.len(), 4);
        for (group, found) in found.iter().enumerate() {
            let members = members(group);
            let alone = ready(rows(&members), choose.clone()).choose(&unwatched).unwrap();
            let numbered: Vec<usize> = alone.rows.iter().map(|&row| members[row]).collect();
            assert_eq!((found.rows, &found.chosen.rows), (members.len(), &numbered));
            assert_eq!((&found.chosen.weights, found.chosen.mmd()), (&alone.weights, alone.mmd()));
            assert!(found.chosen.trace.iter().all(|pick| members.contains(&pick.index.unwrap())));
        }
    }
}

#[test]
fn the_search_of_all_groups_is_as_long_as_that_of_one_choice() {
    let rows = Rows::new(random_points(3000, 2, &mut rng(3)));
    let groups: Vec<usize> = (0..3000).map(|row| row % 10).collect();
    let sweeps = Search::sweeps_for(3000, 20, 2);
    assert!(sweeps < Search::sweeps_for(300, 20, 2));
    let chosen = |refine: Option<RefineOptions>| {
        let mut choose = Choose::thin(20).unwrap();
        if let Some(refine) = refine {
            choose.method = Method::Thin(refine);
        }
        choose_each(&rows, &groups, &choose, &unwatched).unwrap()
    };
    assert_eq!(chosen(None), chosen(Some(RefineOptions::default().search(sweeps, 0))));
}

#[test]
fn very_many_rows_together_are_searched_too() {
    // One choice from so many rows has no search.
    assert_eq!(Search::sweeps_for(120_000, 1000, 1), 0);
    let rows = Rows::new(random_points(120_000, 1, &mut rng(4)));
    let groups: Vec<usize> = (0..120_000).map(|row| row % 240).collect();
    let found = choose_each(&rows, &groups, &Choose::thin(1000).unwrap(), &unwatched).unwrap();
    assert!(found.iter().all(|group| group.chosen.rows.len() == 500));
}

#[test]
fn small_groups_are_taken_whole_and_bad_ones_are_named() {
    let points = random_points(12, 1, &mut rng(2));
    let groups = [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2];
    let found =
        choose_each(&Rows::new(points.clone()), &groups, &Choose::thin(5).unwrap(), &unwatched).unwrap();
    assert_eq!(found.iter().map(|group| group.chosen.rows.len()).collect::<Vec<_>>(), [5, 2, 1]);
    let mut weights = [1.0; 12];
    weights[11] = 0.0;
    let rows = Rows::weighted(points.clone(), RowWeights::Weights(&weights)).unwrap();
    let refused = choose_each(&rows, &groups, &Choose::thin(2).unwrap(), &unwatched).unwrap_err();
    assert_eq!(refused, Error::InGroup { group: 2, error: Box::new(Error::ZeroWeights) });
    assert_eq!(refused.to_string(), format!("group 2: {}", Error::ZeroWeights));
    // A number that no row has is a group without rows.
    let gap: Vec<usize> = groups.iter().map(|group| 2 * group).collect();
    let refused = choose_each(&Rows::new(points.clone()), &gap, &Choose::thin(2).unwrap(), &unwatched);
    assert_eq!(refused.unwrap_err(), Error::InGroup { group: 1, error: Box::new(Error::NoPoints) });
}

#[test]
fn what_refers_to_all_rows_is_refused() {
    let points = random_points(12, 1, &mut rng(2));
    let rows = || Rows::new(points.clone());
    let refused = |rows: Rows, choose: Choose| choose_each(&rows, &[0; 12], &choose, &unwatched).unwrap_err();
    let thin = || Choose::thin(3).unwrap();
    assert!(matches!(refused(rows().matching(points.clone()), thin()), Error::NotTogether { .. }));
    let mut refine = RefineOptions::default();
    refine.include = vec![1];
    let grouped = thin().refine(refine);
    assert!(matches!(refused(rows(), grouped), Error::NotTogether { .. }));
    let auto = Choose::thin_until(Stop::asked(None, true, None, None, None).unwrap()).unwrap();
    assert!(matches!(refused(rows(), auto), Error::AutoSize { .. }));
    let short = choose_each(&rows(), &[0; 3], &thin(), &unwatched);
    assert!(short.is_err());
    let stopped = choose_each(&rows(), &[0; 12], &thin(), &|_| ControlFlow::Break(()));
    assert_eq!(stopped.unwrap_err(), Error::Interrupted);
    // Alone, the same rows are fine.
    assert!(Problem::new(Points::from_vec(vec![1.0, 2.0], 1).unwrap(), thin()).is_ok());
}
