//! Problems whose rows come in batches, against the same rows in memory.

use crate::common;

use common::{KERNELS, plain, random_points, ready, rng, thin};
use rand::RngExt;
use supersample::scale::{Moments, Scale};
use supersample::task::stream::{self, Each, Gathered, Gatherer, Pass, PassSums, Repeated, Shard, Source};
use supersample::task::{
    Advice, Choose, Chosen, EmbeddingChoice, ErrorsKnown, Measure, Problem, RowWeights, Rows, Size, Stop,
    Subset, Target,
};
use supersample::{Error, Kernel, Points, Precision, RefineOptions, unwatched};

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

/// The rows, in batches, as a source.
fn source(kind: Kind, batch: usize) -> impl Source<Error = Error> {
    let batches = batches(batch);
    Repeated::new(3, move |each: Each<'_>| {
        batches.iter().try_for_each(|(rows, weights, logs)| each(rows, of_kind(kind, weights, logs)))
    })
}

fn gathered(kind: Kind, batch: usize, choose: Choose) -> Problem {
    stream::problem(&mut source(kind, batch), choose).unwrap()
}

fn prepared(kind: Kind, batch: usize, choose: Choose) -> Target {
    let problem = gathered(kind, batch, choose);
    stream::prepare(&mut source(kind, batch), &problem).unwrap()
}

fn chosen(kind: Kind, batch: usize, choose: Choose) -> (Target, Chosen) {
    stream::choose(&mut source(kind, batch), choose).unwrap()
}

/// The rows in memory.
fn whole(kind: Kind) -> Rows {
    let weights = weights();
    let logs: Vec<f64> = weights.iter().map(|w| w.ln() - 1e4).collect();
    Rows::weighted(rows(), of_kind(kind, &weights, &logs)).unwrap()
}

/// A plain choice, made from 1,500 rows.
fn herding(number: usize) -> Choose {
    Choose::herd(number).unwrap().pool_rows(1500)
}

#[test]
fn the_error_that_is_told_is_that_to_all_rows() {
    let stop = Stop::after(20).unwrap();
    for (i, kernel) in KERNELS.iter().enumerate() {
        let kernel: Kernel = kernel.parse().unwrap();
        for kind in [Kind::Equal, Kind::Weights, Kind::Logs] {
            let precision = if i % 2 == 0 { Precision::Mixed } else { Precision::Double };
            let plain = |choose: Choose| {
                choose.kernel(kernel.clone()).precision(precision).marginals(0.0).moments(0.0)
            };
            let choose = match kind {
                Kind::Equal => Choose::herd_until(stop).unwrap(),
                _ => Choose::thin_until(stop).unwrap().search(Some(0)),
            };
            let (target, chosen) = chosen(kind, BATCH, plain(choose).pool_rows(1500));
            assert_eq!(target.errors_known(), ErrorsKnown::AfterPass);
            let all = ready(whole(kind), plain(herding(20)).embedding(EmbeddingChoice::Exact));
            // The pool is rows of the file, and none without weight is chosen.
            assert_eq!(target.select(&chosen.rows).unwrap(), all.select(&chosen.rows).unwrap());
            let all_weights = weights();
            assert!(kind == Kind::Equal || chosen.rows.iter().all(|&row| all_weights[row] > 0.0));
            let exact = all.mmd(&Subset::of_rows(&chosen.rows), &unwatched).unwrap();
            let (told, known) = (chosen.error().unwrap(), chosen.standard_error.unwrap());
            assert_eq!(chosen.mmd(), Some(told));
            let allowed = 4.0 * known + 1e-4 * exact + 1e-6;
            assert!((told - exact).abs() < allowed, "{kernel} {kind:?}: {told} ± {known}, it is {exact}");
            // As good as what is chosen from all rows, or nearly; the mean, which is all that the linear kernel sees, can be
            // met to any digit by luck.
            let best = thin(&all, stop, RefineOptions::default()).error().unwrap();
            let is_good = exact < 1.35 * best + 1e-3;
            assert!(
                kind == Kind::Equal || kernel == Kernel::linear() || is_good,
                "{kernel} {kind:?}: {exact}, {best}"
            );
        }
    }
}

#[test]
fn columns_are_scaled_by_all_rows_where_that_can_be_done_in_passing() {
    let all = Problem::new(rows(), plain()).unwrap();
    let problem = gathered(Kind::Equal, BATCH, plain().pool_rows(1000));
    for (a, b) in all.scaling().apply(rows().row(7)).iter().zip(problem.scaling().apply(rows().row(7))) {
        assert!((a - b).abs() < 1e-12);
    }
    assert!(!problem.advice().iter().any(|advice| matches!(advice, Advice::ScaledBySample { .. })));
    for scale in [Scale::Mad, Scale::Pca] {
        let problem = gathered(Kind::Equal, BATCH, plain().pool_rows(1000).scale(scale));
        assert!(problem.advice().contains(&Advice::ScaledBySample { rows: 1000 }));
    }
    // Errors of means and sds are those to all rows, too.
    let subset = rows().select(&(0..50).collect::<Vec<_>>()).unwrap();
    let target = prepared(Kind::Weights, BATCH, herding(20));
    let all = ready(whole(Kind::Weights), plain());
    let (some, all) = (target.quality(&subset, None).unwrap(), all.quality(&subset, None).unwrap());
    for (some, all) in some.columns.iter().zip(&all.columns) {
        assert!((some.mean.unwrap() - all.mean.unwrap()).abs() < 1e-10);
        assert!((some.sd.unwrap() - all.sd.unwrap()).abs() < 1e-10);
        assert!((some.quantiles[2].unwrap() - all.quantiles[2].unwrap()).abs() < 0.2);
    }
    let gathered = target.problem().gathered().unwrap();
    assert!((gathered.effective_size() / effective(&weights()) - 1.0).abs() < 1e-12);
}

fn effective(weights: &[f64]) -> f64 {
    weights.iter().sum::<f64>().powi(2) / weights.iter().map(|w| w * w).sum::<f64>()
}

#[test]
fn threads_and_cuts_change_no_choice() {
    let choose = |batch: usize| {
        let choose = Choose::thin(15).unwrap().search(Some(0)).pool_rows(1500);
        chosen(Kind::Weights, batch, choose).1
    };
    let on = |threads: usize| {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| choose(BATCH))
    };
    let one = on(1);
    assert_eq!(one, on(3));
    // Other batches are other sums, in their last digits.
    assert_eq!(choose(ROWS).rows, one.rows);
}

/// The sample has other means and variances than all rows.
#[test]
fn means_and_variances_are_those_of_all_rows() {
    for kind in [Kind::Equal, Kind::Weights] {
        let all = ready(whole(kind), herding(20));
        let (rows, shares) = (all.problem().rows(), all.problem().shares());
        let equal = vec![1.0 / rows.len() as f64; rows.len()];
        let shares = shares.unwrap_or(&equal);
        let of = |j: usize| Moments::of(rows.as_slice(), 3, j, Some(shares)).unwrap();
        let error = |weight: f64| {
            let choose = Choose::thin(40).unwrap().search(Some(0)).moments(weight).pool_rows(1500);
            let (target, chosen) = chosen(kind, BATCH, choose);
            assert_eq!(target.problem().moments(), weight);
            let subset = rows.select(&chosen.rows).unwrap();
            let errors = (0..3).map(|j| {
                let (all, some) = (of(j), Moments::of(subset.as_slice(), 3, j, None).unwrap());
                ((some.mean - all.mean) / all.sd).abs().max((some.sd / all.sd - 1.0).abs())
            });
            errors.fold(0.0, f64::max)
        };
        // The means of the sample are off by 0.026 sd, more or less.
        let (without, with) = (error(0.0), error(100.0));
        assert!(with < 0.5 * without && with < 0.005, "{with} {without}");
    }
}

#[test]
fn a_pool_of_all_rows_is_the_problem_of_these_rows() {
    let choose = Choose::herd(10).unwrap();
    let (target, found) = chosen(Kind::Weights, BATCH, choose.clone());
    assert!(target.problem().gathered().is_none());
    assert_eq!(found.rows, ready(whole(Kind::Weights), choose).choose(&unwatched).unwrap().rows);
}

#[test]
fn an_earlier_run_saves_the_second_pass() {
    for kind in [Kind::Equal, Kind::Weights] {
        let choose = herding(30).kernel(Kernel::gaussian(0.7).unwrap());
        let first = prepared(kind, BATCH, choose.clone());
        let numbers = first.recalled().into_owned();
        let problem = gathered(kind, BATCH, choose);
        let again = problem.recall(numbers.clone(), &unwatched).unwrap();
        assert_eq!(again.choose(&unwatched).unwrap(), first.choose(&unwatched).unwrap());
        let cut = problem.recall(numbers[..900].to_vec(), &unwatched);
        assert!(matches!(cut, Err(Error::RecalledCount { .. })));
    }
}

#[test]
fn passes_that_do_not_fit_together_are_refused() {
    let problem = gathered(Kind::Equal, BATCH, herding(5));
    assert_eq!(problem.prepare(&unwatched).err(), Some(Error::NotProjected));
    // A source that has one row in its second pass, or one that is no number.
    let prepared = |row: [f64; 3], weights: RowWeights<'static>| {
        let mut other = Repeated::new(3, move |each: Each<'_>| each(&row, weights));
        stream::prepare(&mut other, &problem).err()
    };
    let summed = prepared([1.0, 2.0, 3.0], RowWeights::Equal);
    assert_eq!(summed, Some(Error::RowsSummed { found: 1, expected: ROWS }));
    assert!(matches!(prepared([1.0, 2.0, f64::NAN], RowWeights::Equal), Some(Error::NonFinite { .. })));
    let weighted = prepared([1.0, 2.0, 3.0], RowWeights::Weights(&[1.0]));
    assert!(matches!(weighted, Some(Error::MixedWeights { .. })));
    // What needs all rows in memory.
    let groups = RefineOptions::default().groups(&[0; ROWS], None);
    let refused = [
        herding(5).embedding(EmbeddingChoice::Exact),
        herding(5).weighed(supersample::weights::WeightRule::Simplex),
        Choose::thin(5).unwrap().refine(groups),
    ];
    for choose in refused {
        let found = stream::problem(&mut source(Kind::Equal, BATCH), choose);
        assert!(matches!(found, Err(Error::NotInMemory { .. })));
    }
}

#[test]
fn the_pool_is_as_large_as_the_memory_allows() {
    let size = |rows: usize| Size { rows, columns: 10, ..Size::default() };
    let tolerance = Choose::herd_until(Stop::at_error(0.1).unwrap()).unwrap();
    for limit in [300 << 20, 1 << 30, 1 << 40] {
        let rows = tolerance.clone().max_memory(limit).drawn_rows(size(0)).unwrap();
        // What reading takes is left free, and so is nothing else.
        let reading = (96 << 20).min(limit / 4);
        let needed = |rows: usize| tolerance.clone().landmarks(2000).memory(size(rows)) + reading;
        let is_small = needed(rows + rows / 500 + 2) <= limit;
        assert!(rows > 1000 && needed(rows) <= limit && !is_small, "{limit}: {rows}");
        // No more than it takes, where it is known how many are to be chosen.
        for (chosen, most) in [(100, 200_000), (15_000, 300_000)] {
            let drawn = Choose::herd(chosen).unwrap().max_memory(limit).drawn_rows(size(0));
            let is_right = |drawn: usize| drawn <= most && (limit < 1 << 40 || drawn == most);
            // The landmarks of 15,000 rows alone take 800 MB.
            let is_too_little = chosen == 15_000 && limit < 1 << 30;
            assert_eq!(drawn.is_err(), is_too_little, "{limit} {chosen}: {drawn:?}");
            assert!(drawn.as_ref().is_ok_and(|drawn| is_right(*drawn)) || is_too_little, "{drawn:?}");
        }
    }
    let little = Choose::herd(100).unwrap().max_memory(1 << 20).drawn_rows(size(0));
    assert!(matches!(little, Err(Error::TooLittleMemory { limit: 1048576, .. })));
    // Twice as many as are chosen, at the least.
    let drawn = |chosen: usize| Choose::herd(chosen).unwrap().max_memory(190 << 20).drawn_rows(size(0));
    assert!(drawn(1000).unwrap() >= 2000 && drawn(1_000_000).is_err());
    // Rows of very many columns are fewer, without any limit.
    let wide = Size { columns: 5000, ..Size::default() };
    assert!(Choose::thin(100).unwrap().drawn_rows(wide).unwrap() < 50_000);
}

/// A source that gathers its rows in parts, as a cluster does, and sums them by numbers that travel.
struct Cluster {
    kind: Kind,
    /// Whether the parts know where they begin.
    is_sized: bool,
    batches: Vec<(Vec<f64>, Vec<f64>, Vec<f64>)>,
}

impl Source for Cluster {
    type Error = Error;

    fn gather(&mut self, choose: &Choose) -> supersample::Result<Gathered> {
        let (mut all, mut first) = (None::<Gatherer>, 0);
        for (number, (rows, weights, logs)) in self.batches.iter().enumerate() {
            let share = rows.len() as f64 / (3 * ROWS) as f64;
            let part = Shard { number: number as u64, share, first_row: self.is_sized.then_some(first) };
            let drawn = choose.drawn_rows(Size { columns: 3, ..Size::default() })?;
            let mut part = Gatherer::of_shard(3, drawn, choose.compute.seed, part)?;
            part.update(rows, of_kind(self.kind, weights, logs))?;
            first += rows.len() / 3;
            let part = Gatherer::from_bytes(&part.to_bytes())?;
            match &mut all {
                None => all = Some(part),
                Some(all) => all.merge(part)?,
            }
        }
        all.expect("there are parts").finish()
    }

    fn sum(&mut self, _: Pass, sums: &mut [PassSums]) -> supersample::Result<()> {
        for sums in sums {
            let bytes = sums.to_bytes();
            for (rows, weights, logs) in &self.batches {
                let mut part = PassSums::from_bytes(&bytes)?;
                part.update(rows, of_kind(self.kind, weights, logs), &unwatched)?;
                part.update(&[], RowWeights::Equal, &unwatched)?;
                sums.add_numbers(&part.numbers())?;
            }
            assert_eq!(sums.rows(), ROWS as u64);
        }
        Ok(())
    }
}

/// Parts that know where they begin draw the rows that one gatherer of all rows draws, and the same are chosen.
#[test]
fn a_cluster_chooses_what_one_machine_does() {
    for kind in [Kind::Equal, Kind::Weights] {
        // A long search magnifies the last digits of sums in another order.
        let thinning = Choose::thin(20).unwrap().pool_rows(1500).search(Some(100)).seed(3);
        for choose in [herding(20), thinning] {
            let cluster = |is_sized| {
                stream::choose(&mut Cluster { kind, is_sized, batches: batches(BATCH) }, choose.clone())
            };
            let ((target, here), (there, found)) =
                (chosen(kind, BATCH, choose.clone()), cluster(true).unwrap());
            let pool = |target: &Target| target.problem().gathered().unwrap().pool_rows().to_vec();
            assert_eq!(pool(&target), pool(&there));
            let is_same = kind == Kind::Weights || here.rows == found.rows;
            assert!(is_same, "{:?} {:?}", here.rows, found.rows);
            assert!((found.mmd().unwrap() / here.mmd().unwrap() - 1.0).abs() < 0.05);
            // Parts that do not know draw others, as good.
            let (unsized_target, unsized_found) = cluster(false).unwrap();
            assert_ne!(pool(&unsized_target), pool(&there));
            assert!((unsized_found.mmd().unwrap() / here.mmd().unwrap() - 1.0).abs() < 0.5);
        }
    }
}

#[test]
fn points_are_measured_in_the_pass_of_the_landmarks() {
    for (kind, scale) in [(Kind::Equal, Scale::Sd), (Kind::Weights, Scale::Pca), (Kind::Logs, Scale::None)] {
        let choose = herding(20).scale(scale);
        let (_, found) = chosen(kind, BATCH, choose.clone());
        let mut cluster = Cluster { kind, is_sized: true, batches: batches(BATCH) };
        let problem = stream::problem(&mut cluster, choose).unwrap();
        let subset = rows().select(&found.rows).unwrap();
        let (target, means) = stream::prepare_at(&mut cluster, &problem, Some(&subset)).unwrap();
        let means = means.unwrap();
        let judged = Subset::of_points(subset.clone()).means(&means);
        let judged = target.evaluate(&judged, &unwatched).unwrap();
        assert!((judged.mmd() / found.mmd().unwrap() - 1.0).abs() < 1e-4);
        assert_eq!(judged.standard_error.is_some(), found.standard_error.is_some());
        let short = target.mmd(&Subset::of_points(subset).means(&means[1..]), &unwatched);
        assert!(matches!(short, Err(Error::RecalledCount { found: 19, expected: 20 })));
    }
}

/// Sums that travel are refused where they were cut short, or are of another pass.
#[test]
fn sums_of_another_pass_are_refused() {
    struct Spy(Vec<Vec<u8>>);
    impl Source for Spy {
        type Error = Error;
        fn gather(&mut self, choose: &Choose) -> supersample::Result<Gathered> {
            source(Kind::Equal, BATCH).gather(choose)
        }
        fn sum(&mut self, pass: Pass, sums: &mut [PassSums]) -> supersample::Result<()> {
            self.0.push(sums[0].to_bytes());
            source(Kind::Equal, BATCH).sum(pass, sums)
        }
    }
    let mut spy = Spy(Vec::new());
    stream::choose(&mut spy, herding(20)).unwrap();
    let [landmarks, chosen] = &spy.0[..] else { panic!("{} passes", spy.0.len()) };
    assert!(matches!(PassSums::from_bytes(&landmarks[..landmarks.len() - 1]), Err(Error::BadBytes { .. })));
    let (landmarks, mut chosen) =
        (PassSums::from_bytes(landmarks).unwrap(), PassSums::from_bytes(chosen).unwrap());
    assert!(landmarks.landmarks() > 0 && chosen.landmarks() == 0);
    assert!(matches!(chosen.add_numbers(&landmarks.numbers()), Err(Error::RecalledCount { .. })));
}

#[test]
fn the_distance_of_distribution_functions_counts_that_of_the_sample() {
    for kind in [Kind::Equal, Kind::Weights] {
        let all = ready(whole(kind), plain());
        let (mut told, mut known) = (0.0, 0.0);
        for seed in 0..60 {
            let target = prepared(kind, ROWS, plain().pool_rows(100).landmarks(5).seed(seed));
            // All of the sample with its weights is at no distance from the sample.
            let (sample, shares) = (target.problem().rows().clone(), target.problem().shares());
            let cdf = |target: &Target, means: &[f64]| {
                let subset = Subset::of_points(sample.clone()).weights(shares).means(means);
                target.evaluate(&subset, &unwatched).unwrap().errors.get(Measure::Cdf).unwrap()
            };
            told += cdf(&target, &[0.0; 100]).powi(2);
            known += cdf(&all, &[0.0; 100]).powi(2);
        }
        assert!((told / known - 1.0).abs() < 0.2, "{kind:?}: {told}, it is {known}");
    }
}

#[test]
fn functions_are_matched_to_their_means_over_all_rows() {
    let mut gatherer = Gatherer::new(3, 1500, 0).unwrap();
    for (rows, ..) in &batches(BATCH) {
        gatherer.update(rows, RowWeights::Equal).unwrap();
    }
    let gathered = gatherer.finish().unwrap();
    assert!(gathered.clone().with_functions(3).is_err());
    assert_eq!(gathered.clone().with_functions(0).unwrap().pool().dim(), 3);
    let gathered = gathered.with_functions(1).unwrap();
    let problem = Problem::of_gathered(gathered, plain().functions_weight(2.0)).unwrap();
    let (functions, values, weight) = problem.functions().unwrap();
    assert_eq!((functions.count(), values.len(), weight), (1, 1500, 2.0));
    assert_eq!((problem.rows().dim(), problem.rows().len()), (2, 1500));
    let all = rows();
    let (column, some) = (all.rows().map(|row| row[2]).collect::<Vec<_>>(), [3, 77, 1400]);
    let mean = column.iter().sum::<f64>() / ROWS as f64;
    let sd = (column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / ROWS as f64).sqrt();
    let of_some = some.iter().map(|&row| values.row(row)[0]).sum::<f64>() / 3.0;
    let found = functions.error(&values.select(&some).unwrap(), None).unwrap();
    assert!((found - ((of_some - mean) / sd).abs()).abs() < 1e-12);
}
