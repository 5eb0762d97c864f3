//! Problems whose rows come in batches, against the same rows in memory.

use crate::common;

use common::{KERNELS, random_points, rng};
use rand::RngExt;
use supersample::scale::Scale;
use supersample::task::{
    Advice, Bandwidth, Chosen, EmbeddingChoice, Gatherer, HerdOptions, MemoryEstimate, PassSums, Problem,
    ProblemOptions, RowWeights, Stop, ThinOptions, pool_rows_within,
};
use supersample::{Error, Family, Kernel, Points, Precision, unwatched};

const ROWS: usize = 5000;
const BATCH: usize = 700;

fn rows() -> Points {
    let points = random_points(ROWS, 3, &mut rng(5));
    // Columns in units of their own.
    Points::from_vec(points.rows().flat_map(|x| [x[0], 100.0 * x[1] + x[0], 7.0 + x[2]]).collect(), 3)
        .unwrap()
}

fn weights() -> Vec<f64> {
    let mut rng = rng(6);
    (0..ROWS).map(|i| if i % 7 == 3 { 0.0 } else { rng.random_range(0.2..3.0) }).collect()
}

/// How rows are weighted in a test.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Equal,
    Weights,
    Logs,
}

/// The rows and weights in batches.
fn batches(batch: usize) -> Vec<(Vec<f64>, Vec<f64>, Vec<f64>)> {
    let (rows, weights) = (rows(), weights());
    let parts = rows.as_slice().chunks(3 * batch).zip(weights.chunks(batch));
    parts.map(|(rows, w)| (rows.to_vec(), w.to_vec(), w.iter().map(|w| w.ln() - 1e4).collect())).collect()
}

fn of_kind<'a>(kind: Kind, weights: &'a [f64], logs: &'a [f64]) -> RowWeights<'a> {
    match kind {
        Kind::Equal => RowWeights::Equal,
        Kind::Weights => RowWeights::Weights(weights),
        Kind::Logs => RowWeights::Logs(logs),
    }
}

fn gathered(kind: Kind, batch: usize, pool: usize, options: ProblemOptions) -> Problem {
    let mut gatherer = Gatherer::new(3, pool, 0).unwrap();
    for (rows, weights, logs) in &batches(batch) {
        gatherer.update(rows, of_kind(kind, weights, logs)).unwrap();
    }
    Problem::of_gathered(gatherer.finish().unwrap(), options).unwrap()
}

fn projected(kind: Kind, batch: usize, options: ProblemOptions) -> Problem {
    let problem = gathered(kind, batch, 1500, options);
    let mut sums = problem.landmark_sums(Some(20), &unwatched).unwrap();
    for (rows, weights, logs) in &batches(batch) {
        let (points, weights) = problem.batch(rows, of_kind(kind, weights, logs)).unwrap();
        sums.update(&points, weights.as_deref(), &unwatched).unwrap();
    }
    problem.project_on(&sums).unwrap();
    problem
}

fn restated(problem: &Problem, kind: Kind, batch: usize, chosen: Chosen) -> Chosen {
    let mut sums = problem.sums_at(&chosen.rows).unwrap();
    for (rows, weights, logs) in &batches(batch) {
        let (points, weights) = problem.batch(rows, of_kind(kind, weights, logs)).unwrap();
        sums.update(&points, weights.as_deref(), &unwatched).unwrap();
    }
    problem.restated(chosen, &sums.means().unwrap()).unwrap()
}

#[test]
fn the_error_that_is_told_is_that_to_all_rows() {
    let stop = Stop::after(20).unwrap();
    for (i, kernel) in KERNELS.iter().enumerate() {
        let kernel: Kernel = kernel.parse().unwrap();
        for kind in [Kind::Equal, Kind::Weights, Kind::Logs] {
            let precision = if i % 2 == 0 { Precision::Mixed } else { Precision::Double };
            let options = ProblemOptions::default().kernel(kernel.clone()).precision(precision);
            let problem = projected(kind, BATCH, options.clone());
            let chosen = match kind {
                Kind::Equal => problem.herd(&stop, &HerdOptions::default(), &unwatched),
                _ => problem.thin(&stop, &ThinOptions::default(), &unwatched),
            };
            let chosen = restated(&problem, kind, BATCH, chosen.unwrap());
            let all_weights = weights();
            let logs: Vec<f64> = all_weights.iter().map(|w| w.ln() - 1e4).collect();
            let weights = of_kind(kind, &all_weights, &logs);
            let whole =
                Problem::weighted(rows(), weights, options.embedding(EmbeddingChoice::Exact)).unwrap();
            // The pool is rows of the file, and none without weight is chosen.
            let gathered = problem.gathered().unwrap();
            let places: Vec<usize> = chosen.rows.iter().map(|&row| gathered.pool_rows()[row]).collect();
            let subset = problem.rows().select(&chosen.rows).unwrap();
            assert_eq!(subset, whole.rows().select(&places).unwrap());
            assert!(kind == Kind::Equal || places.iter().all(|&row| all_weights[row] > 0.0));
            let exact = whole.mmd(&subset, None, &unwatched).unwrap();
            let (told, known) = (chosen.error().unwrap(), chosen.standard_error.unwrap());
            let allowed = 4.0 * known + 1e-4 * exact + 1e-6;
            assert!((told - exact).abs() < allowed, "{kernel} {kind:?}: {told} ± {known}, it is {exact}");
            // As good as what is chosen from all rows, or nearly; the mean, which is all that the linear kernel sees, can be
            // met to any digit by luck.
            let best = whole.thin(&stop, &ThinOptions::default(), &unwatched).unwrap().error().unwrap();
            let is_good = exact < 1.35 * best + 1e-3;
            assert!(
                kind == Kind::Equal || kernel.name() == "linear" || is_good,
                "{kernel} {kind:?}: {exact}, {best}"
            );
        }
    }
}

#[test]
fn columns_are_scaled_by_all_rows_where_that_can_be_done_in_passing() {
    for scale in Scale::ALL {
        let whole = Problem::new(rows(), ProblemOptions::default().scale(scale)).unwrap();
        let problem = gathered(Kind::Equal, BATCH, 1000, ProblemOptions::default().scale(scale));
        let (all, some) = (whole.scaling().apply(rows().row(7)), problem.scaling().apply(rows().row(7)));
        let is_same = all.iter().zip(&some).all(|(a, b)| (a - b).abs() < 1e-12);
        assert_eq!(is_same, scale.needs_moments_alone(), "{scale}");
        let is_told = problem.advice().contains(&Advice::ScaledBySample { rows: 1000 });
        assert_eq!(is_told, !is_same, "{scale}");
    }
    // Errors of means and sds are held against all rows, too.
    let subset = rows().select(&(0..50).collect::<Vec<_>>()).unwrap();
    let problem = projected(Kind::Weights, BATCH, ProblemOptions::default());
    let whole =
        Problem::weighted(rows(), RowWeights::Weights(&weights()), ProblemOptions::default()).unwrap();
    let (some, all) = (problem.quality(&subset, None).unwrap(), whole.quality(&subset, None).unwrap());
    for (some, all) in some.columns.iter().zip(&all.columns) {
        assert!((some.mean.unwrap() - all.mean.unwrap()).abs() < 1e-10);
        assert!((some.sd.unwrap() - all.sd.unwrap()).abs() < 1e-10);
        assert!((some.quantiles[2].unwrap() - all.quantiles[2].unwrap()).abs() < 0.2);
    }
    assert!((problem.gathered().unwrap().effective_size() / effective(&weights()) - 1.0).abs() < 1e-12);
}

fn effective(weights: &[f64]) -> f64 {
    weights.iter().sum::<f64>().powi(2) / weights.iter().map(|w| w * w).sum::<f64>()
}

#[test]
fn threads_and_cuts_change_no_choice() {
    let choose = |batch: usize| {
        let problem = projected(Kind::Weights, batch, ProblemOptions::default());
        problem.thin(&Stop::after(15).unwrap(), &ThinOptions::default(), &unwatched).unwrap()
    };
    let on = |threads: usize| {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| choose(BATCH))
    };
    let one = on(1);
    assert_eq!(one, on(3));
    // Other batches are other sums, in their last digits.
    assert_eq!(choose(ROWS).rows, one.rows);
}

#[test]
fn a_pool_of_all_rows_is_the_problem_of_these_rows() {
    let options = ProblemOptions::default();
    let problem = gathered(Kind::Weights, BATCH, ROWS, options.clone());
    assert!(problem.gathered().is_none());
    let whole = Problem::weighted(rows(), RowWeights::Weights(&weights()), options).unwrap();
    let (stop, herd) = (Stop::after(10).unwrap(), HerdOptions::default());
    let choose = |problem: &Problem| problem.herd(&stop, &herd, &unwatched).unwrap().rows;
    assert_eq!(choose(&problem), choose(&whole));
}

#[test]
fn an_earlier_run_saves_the_second_pass() {
    for kind in [Kind::Equal, Kind::Weights] {
        let options = ProblemOptions::default().family(Family::Gaussian, Bandwidth::Lengths(vec![0.7]));
        let first = projected(kind, BATCH, options.clone());
        let numbers = first.recalled().unwrap().into_owned();
        let again = gathered(kind, BATCH, 1500, options.clone());
        assert!(!again.is_prepared() && again.recalled().is_none());
        let again = again.recall(numbers.clone()).unwrap();
        let choose = |problem: &Problem| {
            problem.herd(&Stop::after(30).unwrap(), &HerdOptions::default(), &unwatched).unwrap()
        };
        assert_eq!(choose(&again), choose(&first));
        let cut = gathered(kind, BATCH, 1500, options).recall(numbers[..900].to_vec());
        assert!(matches!(cut, Err(Error::RecalledCount { .. })));
    }
}

#[test]
fn passes_that_do_not_fit_together_are_refused() {
    let problem = gathered(Kind::Equal, BATCH, 1500, ProblemOptions::default());
    let (stop, thin) = (Stop::after(5).unwrap(), ThinOptions::default());
    assert_eq!(problem.thin(&stop, &thin, &unwatched).err(), Some(Error::NotProjected));
    let mut sums = problem.landmark_sums(Some(5), &unwatched).unwrap();
    let (points, weights) = problem.batch(&[1.0, 2.0, 3.0], RowWeights::Equal).unwrap();
    sums.update(&points, weights.as_deref(), &unwatched).unwrap();
    assert_eq!(problem.project_on(&sums).err(), Some(Error::RowsSummed { found: 1, expected: ROWS }));
    assert!(problem.batch(&[1.0, 2.0, f64::NAN], RowWeights::Equal).is_err());
    assert!(problem.batch(&[1.0, 2.0, 3.0], RowWeights::Weights(&[1.0])).is_err());
    let mut gatherer = Gatherer::new(3, 1000, 0).unwrap();
    batches(BATCH).iter().for_each(|(rows, ..)| gatherer.update(rows, RowWeights::Equal).unwrap());
    let exact = ProblemOptions::default().embedding(EmbeddingChoice::Exact);
    let refused = Problem::of_gathered(gatherer.finish().unwrap(), exact);
    assert!(matches!(refused, Err(Error::NotInMemory { .. })));
}

#[test]
fn the_pool_is_as_large_as_the_memory_allows() {
    let needs = |rows: usize| MemoryEstimate::of(rows, 10).threads(2);
    for limit in [100 << 20, 1 << 30, 1 << 40] {
        let rows = pool_rows_within(limit, None, needs).unwrap();
        assert!(needs(rows).needed() <= limit && needs(rows + rows / 500 + 2).needed() > limit, "{limit}");
        // No more than it takes, where it is known how many are to be chosen.
        for (chosen, most) in [(100, 200_000), (15_000, 300_000)] {
            let rows = pool_rows_within(limit, Some(chosen), needs).unwrap();
            let is_all_that_fits = rows < most && needs(rows + rows / 500 + 2).needed() > limit;
            assert!(needs(rows).needed() <= limit && (rows == most || is_all_that_fits), "{limit}: {rows}");
        }
    }
    assert!(matches!(pool_rows_within(1 << 20, Some(100), needs), Err(Error::TooLittleMemory { .. })));
    // Twice as many as are chosen, at the least.
    let few = needs(20_000).needed() - 1;
    assert!(
        pool_rows_within(few, Some(10_000), needs).is_err()
            && pool_rows_within(few, Some(9000), needs).is_ok()
    );
}

#[test]
fn the_distance_of_distribution_functions_counts_that_of_the_sample() {
    for kind in [Kind::Equal, Kind::Weights] {
        let all_weights = weights();
        let weights = of_kind(kind, &all_weights, &[]);
        let whole = Problem::weighted(rows(), weights, ProblemOptions::default()).unwrap();
        let (mut told, mut known) = (0.0, 0.0);
        for seed in 0..60 {
            let mut gatherer = Gatherer::new(3, 100, seed).unwrap();
            gatherer.update(rows().as_slice(), weights).unwrap();
            let problem =
                Problem::of_gathered(gatherer.finish().unwrap(), ProblemOptions::default()).unwrap();
            // All of the sample with its weights is at no distance from the sample.
            let shares = problem.shares();
            told += problem.cdf(problem.rows(), shares).unwrap().unwrap().powi(2);
            known += whole.cdf(problem.rows(), shares).unwrap().unwrap().powi(2);
        }
        assert!((told / known - 1.0).abs() < 0.2, "{kind:?}: {told}, it is {known}");
    }
}

#[test]
fn sums_that_travel_to_the_rows_are_those_of_the_passes() {
    let kinds = [Kind::Equal, Kind::Weights, Kind::Logs];
    let cases = kinds.into_iter().zip([Scale::Sd, Scale::Pca, Scale::None]);
    for (kind, scale) in cases {
        let problem = gathered(kind, BATCH, 1500, ProblemOptions::default().scale(scale));
        let summed = |empty: &PassSums| {
            let (bytes, mut all) = (empty.to_bytes(), empty.clone());
            for (rows, weights, logs) in &batches(BATCH) {
                let mut part = PassSums::from_bytes(&bytes).unwrap();
                part.update(rows, of_kind(kind, weights, logs), &unwatched).unwrap();
                part.update(&[], RowWeights::Equal, &unwatched).unwrap();
                all.add_numbers(&part.numbers()).unwrap();
            }
            assert_eq!((all.rows(), empty.rows()), (ROWS as u64, 0));
            all
        };
        let pass = summed(&problem.pass_at_landmarks(Some(20), &unwatched).unwrap());
        problem.project_on(pass.landmark_sums().unwrap()).unwrap();
        let stop = Stop::after(20).unwrap();
        let chosen = problem.herd(&stop, &HerdOptions::default(), &unwatched).unwrap();
        let twin = projected(kind, BATCH, ProblemOptions::default().scale(scale));
        assert_eq!(twin.herd(&stop, &HerdOptions::default(), &unwatched).unwrap().rows, chosen.rows);
        let at_chosen = summed(&problem.pass_at_rows(&chosen.rows).unwrap());
        assert!(at_chosen.landmark_sums().is_none());
        let means = at_chosen.sums().means().unwrap();
        let wanted = restated(&twin, kind, BATCH, chosen.clone());
        let found = problem.restated(chosen, &means).unwrap();
        assert!((found.error().unwrap() / wanted.error().unwrap() - 1.0).abs() < 1e-9);
        // Of a subset that somebody else has chosen, and of this one as if it were.
        let subset = problem.rows().select(&found.rows).unwrap();
        let elsewhere = pass.at(problem.scaled(&subset).unwrap()).unwrap();
        assert_eq!(summed(&elsewhere).sums().means().unwrap(), means);
        let judged = problem.evaluate_measured(&subset, None, &means, &unwatched).unwrap();
        assert!((judged.error / found.error().unwrap() - 1.0).abs() < 1e-4);
        assert_eq!(judged.standard_error.is_some(), found.standard_error.is_some());
        let short = problem.evaluate_measured(&subset, None, &means[1..], &unwatched);
        assert!(matches!(short, Err(Error::RecalledCount { found: 19, expected: 20 })));
        let bytes = pass.to_bytes();
        assert!(matches!(PassSums::from_bytes(&bytes[..bytes.len() - 1]), Err(Error::BadBytes { .. })));
        let mut other = elsewhere.clone();
        assert!(matches!(other.add_numbers(&pass.numbers()), Err(Error::RecalledCount { .. })));
    }
}

#[test]
fn functions_are_matched_to_their_means_over_all_rows() {
    let mut gatherer = Gatherer::new(3, 1500, 0).unwrap();
    for (rows, ..) in &batches(BATCH) {
        gatherer.update(rows, RowWeights::Equal).unwrap();
    }
    let gathered = gatherer.finish().unwrap();
    assert!(
        gathered.clone().with_functions(0, 1.0).is_err() && gathered.clone().with_functions(3, 1.0).is_err()
    );
    let gathered = gathered.with_functions(1, 2.0).unwrap();
    let problem = Problem::of_gathered(gathered, ProblemOptions::default()).unwrap();
    let (functions, values, weight) = problem.functions().unwrap();
    assert_eq!((functions.count(), values.len(), weight), (1, 1500, 2.0));
    assert_eq!((problem.rows().dim(), problem.rows().len()), (2, 1500));
    let all = rows();
    let third = |points: &Points| points.rows().map(|row| row[2]).collect::<Vec<_>>();
    let (column, some) = (third(&all), [3, 77, 1400]);
    let mean = column.iter().sum::<f64>() / ROWS as f64;
    let sd = (column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / ROWS as f64).sqrt();
    let of_some = some.iter().map(|&row| values.row(row)[0]).sum::<f64>() / 3.0;
    let found = problem.functions_error(&some, None).unwrap().unwrap();
    assert!((found - ((of_some - mean) / sd).abs()).abs() < 1e-12);
}
