//! Other rows as a target: what is chosen, what is measured, what the rows cannot reach, and what is refused.

use crate::common;

use common::{herd, plain, random_points, ready, rng, thin};
use supersample::task::stream::{self, Gathered, Pass, PassSums, Source};
use supersample::task::{
    Advice, Bandwidth, Choose, EmbeddingChoice, KernelChoice, MATCHING_KERNEL, Measure, Problem, RowScores,
    RowWeights, Rows, Size, Stop, Subset,
};
use supersample::weights::{WeightRule, optimal};
use supersample::words::Opt;
use supersample::{Error, Family, Gram, Kernel, Marginals, Points, Precision, RefineOptions, unwatched};

fn after(number: usize) -> Stop {
    Stop::after(number).unwrap()
}

fn pool() -> Points {
    random_points(400, 2, &mut rng(1))
}

/// Narrower than the pool, and off its centre.
fn target() -> Points {
    let rows = random_points(150, 2, &mut rng(2));
    Points::from_vec(rows.as_slice().iter().map(|x| 0.4 + 0.5 * x).collect(), 2).unwrap()
}

fn weights() -> Vec<f64> {
    (0..150).map(|row| f64::from(row % 4)).collect()
}

fn weighted_target() -> Rows {
    Rows::weighted(target(), RowWeights::Weights(&weights())).unwrap()
}

/// ‖Σ a k(x, ·) − Σ b k(y, ·)‖, pair by pair.
fn naive_mmd(kernel: &Kernel, x: &Points, a: &[f64], y: &Points, b: &[f64]) -> f64 {
    let sum = |x: &Points, a: &[f64], y: &Points, b: &[f64]| -> f64 {
        let pairs = (0..x.len()).flat_map(|i| (0..y.len()).map(move |j| (i, j)));
        pairs.map(|(i, j)| a[i] * b[j] * kernel.value(x.row(i), y.row(j))).sum()
    };
    (sum(x, a, x, a) - 2.0 * sum(x, a, y, b) + sum(y, b, y, b)).max(0.0).sqrt()
}

fn shares(weights: Option<&[f64]>, count: usize) -> Vec<f64> {
    let weights = weights.map_or(vec![1.0; count], <[f64]>::to_vec);
    let total: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / total).collect()
}

#[test]
fn rows_that_match_others_have_a_kernel_of_their_own_unless_one_is_named() {
    let (pool, target) = (random_points(60, 2, &mut rng(5)), random_points(40, 2, &mut rng(6)));
    let text = |kernel: KernelChoice, is_matching: bool| {
        let rows = Rows::new(pool.clone());
        let rows = if is_matching { rows.matching(target.clone()) } else { rows };
        Problem::new(rows, Choose::thin(5).unwrap().kernel(kernel)).unwrap().kernel().to_string()
    };
    let named = |family, lengths: &[f64]| KernelChoice::Named {
        family,
        bandwidth: if lengths.is_empty() { Bandwidth::Median } else { Bandwidth::Lengths(lengths.to_vec()) },
    };
    assert!(text(KernelChoice::default(), true).starts_with("matern32("));
    assert!(text(KernelChoice::default(), false).starts_with("gaussian("));
    assert_eq!(text(named(None, &[1.5]), true), "matern32(1.5)");
    assert_eq!(text(named(Some(Family::Gaussian), &[1.5]), true), "gaussian(1.5)");
    // Only Gaussians are summed.
    assert_eq!(text(named(None, &[1.5, 3.0]), true), text(named(None, &[1.5, 3.0]), false));
}

#[test]
fn herded_rows_are_those_of_the_naive_score() {
    for weighted in [false, true] {
        let (given, weights) = (weighted.then(weights), weighted.then(weights));
        let weights = shares(weights.as_deref(), 150);
        let other = if given.is_some() { weighted_target() } else { Rows::new(target()) };
        let rows = Rows::new(pool()).matching(other);
        let target = ready(rows, plain().precision(Precision::Double));
        let problem = target.problem();
        let (points, aimed, kernel) = (problem.points(), problem.samples().points(), problem.kernel());
        let mean = |x: &[f64]| -> f64 {
            weights.iter().zip(aimed.rows()).map(|(w, y)| w * kernel.value(x, y)).sum()
        };
        let chosen = herd(&target, after(12), false);
        let mut before: Vec<usize> = Vec::new();
        for &row in &chosen.rows {
            let score = |i: usize| {
                let near: f64 = before.iter().map(|&j| kernel.value(points.row(i), points.row(j))).sum();
                mean(points.row(i)) - near / (before.len() + 1) as f64
            };
            let best = (0..400).map(score).fold(f64::NEG_INFINITY, f64::max);
            assert!(score(row) > best - 1e-12, "{weighted}: {row}");
            before.push(row);
        }
        let equal = vec![1.0 / 12.0; 12];
        let naive = naive_mmd(kernel, &points.select(&chosen.rows).unwrap(), &equal, aimed, &weights);
        assert!((chosen.mmd().unwrap() - naive).abs() < 1e-9, "{:?} {naive}", chosen.mmd());
    }
}

/// The default of rows that match others.
fn own_kernel() -> KernelChoice {
    KernelChoice::Named { family: Some(MATCHING_KERNEL), bandwidth: Bandwidth::Median }
}

#[test]
fn scale_and_bandwidth_are_those_of_the_target() {
    let target = ready(Rows::new(pool()).matching(target()), plain());
    let alone = ready(self::target(), plain().kernel(own_kernel()));
    assert_eq!(target.problem().kernel(), alone.problem().kernel());
    assert_eq!(target.problem().scaled(&self::target()).unwrap(), *alone.problem().points());
    assert_eq!(target.problem().rows().len(), 400);
    assert_eq!(target.problem().target_rows().0, &self::target());
}

#[test]
fn rows_that_match_themselves_are_chosen_as_ever() {
    let choose = Choose::thin(15).unwrap().kernel(own_kernel());
    let alone = ready(pool(), choose.clone()).choose(&unwatched).unwrap();
    let matched = ready(Rows::new(pool()).matching(pool()), choose).choose(&unwatched).unwrap();
    assert_eq!(matched.rows, alone.rows);
    assert!((matched.mmd().unwrap() / alone.mmd().unwrap() - 1.0).abs() < 1e-6);
    assert!(alone.overlap.is_none() && matched.overlap.unwrap().unreached == 0.0);
    assert!(matched.advice.is_empty(), "{:?}", matched.advice);
}

#[test]
fn a_weight_of_two_is_two_rows_of_the_target() {
    let weights = weights();
    let copies: Vec<usize> = (0..150).flat_map(|row| vec![row; row % 4]).collect();
    let copied = Rows::new(pool()).matching(target().select(&copies).unwrap());
    let weighted = Rows::new(pool()).matching(weighted_target());
    let choose = Choose::thin(12).unwrap().kernel(Kernel::gaussian(1.0).unwrap());
    let (a, b) = (ready(copied, choose.clone()), ready(weighted, choose));
    let (a, b) = (a.choose(&unwatched).unwrap(), b.choose(&unwatched).unwrap());
    assert!(a.rows == b.rows && weights[0] == 0.0);
    assert!((a.mmd().unwrap() - b.mmd().unwrap()).abs() < 1e-6);
}

#[test]
fn rows_of_weight_zero_are_not_chosen() {
    let weights: Vec<f64> = (0..400).map(|row| f64::from(row % 2)).collect();
    let rows = Rows::weighted(pool(), RowWeights::Weights(&weights)).unwrap().matching(target());
    let target = ready(rows, Choose::thin(20).unwrap());
    let chosen = target.choose(&unwatched).unwrap();
    assert!(chosen.rows.iter().all(|row| row % 2 == 1));
    // Other weights say nothing of the target.
    let doubled: Vec<f64> = weights.iter().enumerate().map(|(row, w)| w * (1 + row % 3) as f64).collect();
    let rows = Rows::weighted(pool(), RowWeights::Weights(&doubled)).unwrap().matching(self::target());
    assert_eq!(ready(rows, Choose::thin(20).unwrap()).choose(&unwatched).unwrap().rows, chosen.rows);
}

#[test]
fn marginals_and_functions_are_those_of_the_target() {
    let product = |rows: &Points| rows.rows().map(|x| x[0] * x[1]).collect::<Vec<f64>>();
    let other = weighted_target().functions(product(&target()), 1).unwrap();
    let rows = Rows::new(pool()).functions(product(&pool()), 1).unwrap().matching(other);
    let target = ready(rows, plain().marginals(0.4));
    let chosen = thin(&target, after(20), RefineOptions::default());
    let picked = pool().select(&chosen.rows).unwrap();
    let marginals = Marginals::new(&self::target(), Some(&weights())).unwrap().unwrap();
    let cdf = marginals.distance(&picked, None).unwrap();
    assert!((chosen.errors.get(Measure::Cdf).unwrap() - cdf).abs() < 1e-12);
    // In standard deviations of the function over the target.
    let (values, w) = (product(&self::target()), shares(Some(&weights()), 150));
    let mean: f64 = values.iter().zip(&w).map(|(v, w)| v * w).sum();
    let sd = values.iter().zip(&w).map(|(v, w)| w * (v - mean).powi(2)).sum::<f64>().sqrt();
    let error = (product(&picked).iter().sum::<f64>() / 20.0 - mean).abs() / sd;
    let found = chosen.errors.get(Measure::FunctionsError).unwrap();
    assert!((found - error).abs() < 1e-9 && found < 0.01, "{found} {error}");
    // Errors of the columns are relative to the target too.
    let evaluation = target.evaluate(&Subset::of_rows(&chosen.rows), &unwatched).unwrap();
    let alone = ready(weighted_target(), plain().kernel(own_kernel()));
    let of_points = alone.evaluate(&Subset::of_points(picked), &unwatched).unwrap();
    for measure in [Measure::Mean, Measure::Sd, Measure::Quantile, Measure::Correlation] {
        assert_eq!(evaluation.errors.get(measure), of_points.errors.get(measure), "{measure:?}");
    }
    assert!((evaluation.mmd() - of_points.mmd()).abs() < 1e-9);
}

#[test]
fn landmarks_of_the_target_choose_nearly_the_same() {
    let exact = ready(Rows::new(pool()).matching(target()), Choose::thin(15).unwrap());
    let choose = Choose::thin(15).unwrap().embedding(EmbeddingChoice::Landmarks).landmarks(60);
    let approximate = ready(Rows::new(pool()).matching(target()), choose);
    assert!(approximate.landmarks().is_some());
    let (a, b) = (exact.choose(&unwatched).unwrap(), approximate.choose(&unwatched).unwrap());
    assert!(b.mmd().unwrap() < 1.3 * a.mmd().unwrap(), "{:?} {:?}", a.mmd(), b.mmd());
}

#[test]
fn a_recalled_target_chooses_the_same() {
    let problem = Problem::new(Rows::new(pool()).matching(target()), Choose::thin(15).unwrap()).unwrap();
    let target = problem.prepare(&unwatched).unwrap();
    let recalled = problem.recall(target.recalled().into_owned(), &unwatched).unwrap();
    assert_eq!(recalled.choose(&unwatched).unwrap(), target.choose(&unwatched).unwrap());
}

#[test]
fn the_overlap_is_that_of_all_pairs_and_the_floor_that_of_all_weights() {
    // A third of the target is beyond the pool in the first column.
    let far = Points::from_vec(
        target()
            .rows()
            .enumerate()
            .flat_map(|(i, x)| [x[0] + if i % 3 == 0 { 20.0 } else { 0.0 }, x[1]])
            .collect(),
        2,
    )
    .unwrap();
    let choose = Choose::thin(20).unwrap().kernel(Kernel::gaussian(1.0).unwrap());
    let target = ready(Rows::new(pool()).matching(far.clone()), choose);
    let overlap = target.overlap(&unwatched).unwrap().unwrap();
    let problem = target.problem();
    let (points, aimed) = (problem.points(), problem.samples().points());
    let near = |x: &[f64]| {
        let squared = |y: &[f64]| x.iter().zip(y).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        points.rows().map(squared).fold(f64::INFINITY, f64::min).sqrt() <= overlap.length
    };
    let unreached = aimed.rows().filter(|x| !near(x)).count() as f64 / 150.0;
    assert!((overlap.unreached - unreached).abs() < 1e-12 && unreached > 0.3);
    assert_eq!(overlap.outside[0].0, 0);
    assert!((overlap.outside[0].1 - 1.0 / 3.0).abs() < 1e-12, "{:?}", overlap.outside);
    let all = optimal(&*target.embedding(), points, WeightRule::Simplex, &unwatched).unwrap();
    assert!((overlap.floor - all.error.unwrap()).abs() < 1e-6);
    let chosen = target.choose(&unwatched).unwrap();
    assert!(overlap.floor <= chosen.mmd().unwrap());
    assert!(matches!(chosen.advice[..], [Advice::OutOfReach(_)]), "{:?}", chosen.advice);
    assert_eq!(chosen.overlap.as_ref(), Some(overlap));
    // Of more rows than have weights at once, the floor is nearly that of all.
    let many = random_points(1500, 2, &mut rng(5));
    let target = ready(Rows::new(many).matching(far), plain());
    let floor = target.overlap(&unwatched).unwrap().unwrap().floor;
    let all =
        optimal(&*target.embedding(), target.problem().points(), WeightRule::Simplex, &unwatched).unwrap();
    let best = all.error.unwrap();
    assert!(floor < 1.01 * best && floor > best - 1e-6, "{floor} {best}");
}

#[test]
fn the_linear_kernel_has_a_length_too() {
    let target = ready(Rows::new(pool()).matching(target()), plain().kernel(Kernel::linear()));
    let overlap = target.overlap(&unwatched).unwrap().unwrap();
    assert!(overlap.length > 0.0 && overlap.unreached == 0.0);
}

#[test]
fn what_cannot_be_matched_is_refused() {
    let refused = |rows: Rows, choose: Choose| Problem::new(rows, choose).unwrap_err();
    let one = Points::from_vec(vec![1.0, 2.0, 3.0], 1).unwrap();
    let mismatch = refused(Rows::new(pool()).matching(one), plain());
    assert!(matches!(mismatch, Error::DimensionMismatch { found: 1, expected: 2, .. }), "{mismatch}");
    let matrix = Gram::new(vec![1.0, 0.5, 0.5, 1.0], 2).unwrap();
    let pair = Points::from_vec(vec![0.0, 1.0], 1).unwrap();
    let gram = refused(Rows::of_gram(matrix).matching(pair.clone()), plain());
    assert!(matches!(gram, Error::NotTogether { option: Opt::Match, with: "a Gram matrix", .. }), "{gram}");
    let scored = Rows::new(pair.clone()).scores(RowScores::new(vec![1.0, -1.0]));
    let scores = refused(scored.matching(pair.clone()), plain());
    assert!(matches!(scores, Error::NotTogether { option: Opt::Match, with: "scores", .. }), "{scores}");
    let functions = Rows::new(pool()).functions(vec![1.0; 400], 1).unwrap();
    let one_sided = refused(functions.clone().matching(target()), plain());
    assert!(matches!(one_sided, Error::NotTogether { option: Opt::Functions, .. }), "{one_sided}");
    let other_side = refused(Rows::new(target()).matching(functions.clone()), plain());
    assert!(matches!(other_side, Error::NotTogether { option: Opt::Functions, .. }), "{other_side}");
    let counts = functions.matching(Rows::new(target()).functions(vec![1.0; 300], 2).unwrap());
    assert!(matches!(refused(counts, plain()), Error::DimensionMismatch { found: 2, expected: 1, .. }));
    let nested = Rows::new(pair.clone()).matching(Rows::new(pair.clone()).matching(pair));
    assert!(matches!(refused(nested, plain()), Error::NotTogether { option: Opt::Match, .. }));
    let auto = Choose::thin_until(Stop::asked(None, true, None, None, None).unwrap()).unwrap();
    let auto = refused(Rows::new(pool()).matching(target()), auto);
    assert!(matches!(auto, Error::AutoSize { .. }), "{auto}");
    let problem = Problem::new(Rows::new(pool()).matching(target()), plain()).unwrap();
    assert!(matches!(problem.diagnose(&unwatched), Err(Error::NotDiagnosed { .. })));
}

/// The pool in batches, with the target in memory. A later pass over it is an error.
struct Batches {
    pool: Points,
    target: Rows,
}

impl Source for Batches {
    type Error = Error;

    fn gather(&mut self, choose: &Choose) -> supersample::Result<Gathered> {
        let mut gatherer = choose.gatherer(Size { columns: 2, ..Size::default() })?;
        self.pool.as_slice().chunks(2 * 70).try_for_each(|rows| gatherer.update(rows, RowWeights::Equal))?;
        Ok(gatherer.finish()?.matching(self.target.clone()))
    }

    fn sum(&mut self, _: Pass, _: &mut [PassSums]) -> supersample::Result<()> {
        Err(Error::NotProjected)
    }
}

#[test]
fn a_pool_in_batches_chooses_as_in_memory_and_from_a_sample_by_number() {
    for other in [Rows::new(target()), weighted_target()] {
        let mut source = Batches { pool: pool(), target: other.clone() };
        let whole = stream::choose(&mut source, Choose::thin(20).unwrap()).unwrap();
        let held = ready(Rows::new(pool()).matching(other.clone()), Choose::thin(20).unwrap());
        assert_eq!(whole.1, held.choose(&unwatched).unwrap());
        let (target, chosen) = stream::choose(&mut source, Choose::thin(20).unwrap().pool_rows(150)).unwrap();
        let problem = target.problem();
        assert_eq!(problem.drawn().map(|drawn| (drawn.rows(), drawn.pool().len())), Some((400, 150)));
        assert!(problem.gathered().is_none() && problem.is_matching());
        let drawn = problem.drawn().unwrap().pool_rows();
        assert!(chosen.rows.iter().all(|row| drawn.contains(row)));
        let (aimed, shares_of_target) = (problem.samples().points(), shares(problem.target_rows().1, 150));
        let rows = problem.scaled(&pool().select(&chosen.rows).unwrap()).unwrap();
        let naive = naive_mmd(problem.kernel(), &rows, &[0.05; 20], aimed, &shares_of_target);
        assert!((chosen.mmd().unwrap() - naive).abs() < 1e-6, "{:?} {naive}", chosen.mmd());
        assert_eq!(target.select(&chosen.rows).unwrap(), pool().select(&chosen.rows).unwrap());
        assert!(chosen.overlap.is_some());
    }
}

#[test]
fn a_limit_leaves_room_for_the_target() {
    let size = Size { rows: 1000, columns: 10, ..Size::default() };
    let limited = Choose::thin(20).unwrap().max_memory(10 << 20).with_room_for(size).unwrap();
    assert_eq!(limited.compute.max_memory, Some((10 << 20) - 480_000));
    let refused = Choose::thin(20).unwrap().max_memory(500_000).with_room_for(size).unwrap_err();
    assert_eq!(refused, Error::TooLittleMemory { needed: 960_000, limit: 500_000 });
    assert_eq!(Choose::thin(20).unwrap().with_room_for(size).unwrap().compute.max_memory, None);
}
