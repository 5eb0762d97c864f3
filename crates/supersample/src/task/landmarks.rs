//! Landmarks of a problem: whether to use them, how many, and which.

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use rayon::prelude::*;

use super::problem::Problem;
use crate::embedding::Landmarks;
use crate::quality::random_rows;
use crate::row_sampling::subsample_by;
use crate::watch::{Progress, Watch};
use crate::{Device, Empirical, Error, Herder, Kernel, MeanEmbedding, Points, Pool, Precision, Result};

/// Largest number of rows for which all pairs are compared by default.
pub const EXACT_UP_TO: usize = 100_000;

/// Number of rows at which μ is computed to estimate ‖μ‖² with landmarks; more where rows are few.
pub const CONTROL_ROWS: usize = 1000;

/// Kernel values at control rows that take little of the whole time: up to 4,472 rows, all rows are control rows.
const CONTROL_VALUES: usize = 20_000_000;

/// Number of blocks of the rows farthest from the mean, each of which has one control row.
const FAR_BLOCKS: usize = 64;

/// Rows that a thread looks through at a time.
const ROWS: usize = 1 << 12;

/// The rows at the ends of the columns are landmarks if there are at least this many landmarks for each.
const FOR_EACH_END: usize = 10;

/// Default number of landmarks if the number of chosen rows is not known: enough for about 1,000.
const LANDMARKS: usize = 2000;

/// Bounds of the default number of landmarks.
const FEWEST: usize = 500;
const MOST: usize = 10_000;

/// Number of rows that landmarks are chosen from: ten for each, within these bounds.
const CHOSEN_FROM: std::ops::RangeInclusive<usize> = 10_000..=50_000;

/// How the mean embedding is computed: exactly or with landmarks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmbeddingChoice {
    /// Exact up to [`EXACT_UP_TO`] rows, landmarks above.
    #[default]
    Auto,
    /// All pairs of rows are compared.
    Exact,
    /// The mean embedding is projected on landmarks: [`Landmarks`].
    Landmarks,
}

supersample_sum::words!(EmbeddingChoice, "an embedding": Auto "auto", Exact "exact", Landmarks "landmarks");

impl EmbeddingChoice {
    /// Whether this number of rows is compared with landmarks, given the asked number of landmarks. Never if all rows
    /// would be landmarks: comparing all pairs is then the same, and exact.
    pub fn uses_landmarks(self, rows: usize, landmarks: Option<usize>) -> bool {
        let asked = match self {
            EmbeddingChoice::Auto => landmarks.is_some() || rows > EXACT_UP_TO,
            EmbeddingChoice::Exact => false,
            EmbeddingChoice::Landmarks => true,
        };
        asked && rows > landmarks.unwrap_or(FEWEST)
    }
}

/// Default number of landmarks for a number of rows and of herded rows: twice the herded rows, but at least 500 and at
/// most 10,000; 2,000 if the number of herded rows is not known.
pub(super) fn default_count(rows: usize, herded: Option<usize>) -> usize {
    herded.map_or(LANDMARKS, |herded| herded.saturating_mul(2).clamp(FEWEST, MOST)).min(rows)
}

/// Chooses `count` landmarks for weighted points.
///
/// They are herded from 10,000 to 50,000 points drawn at random, in proportion to the shares if given. With few columns the points at
/// both ends of each column are landmarks too: beyond the last landmark μ̃ is an extrapolation. The same seed gives the same
/// landmarks.
///
/// ```
/// use supersample::task::choose_landmarks;
/// use supersample::{Kernel, Points, Precision, unwatched};
/// let rows = Points::from_vec((0..900).map(|i| (i as f64 * 0.7).sin()).collect(), 1)?;
/// let kernel = Kernel::gaussian(0.5)?;
/// let landmarks = choose_landmarks(&kernel, &rows, None, 20, Precision::Mixed, 0, &unwatched)?;
/// assert_eq!((landmarks.len(), landmarks.dim()), (20, 1));
/// # Ok::<(), supersample::Error>(())
/// ```
pub fn choose_landmarks(
    kernel: &Kernel,
    points: &Points,
    shares: Option<&[f64]>,
    count: usize,
    precision: Precision,
    seed: u64,
    watch: Watch,
) -> Result<Points> {
    choose_landmarks_on(&Device::cpu(), kernel, points, shares, count, precision, seed, watch)
}

/// [`choose_landmarks`] on a device.
#[expect(clippy::too_many_arguments, reason = "those of the public function, and the device")]
pub(super) fn choose_landmarks_on(
    device: &Device,
    kernel: &Kernel,
    points: &Points,
    shares: Option<&[f64]>,
    count: usize,
    precision: Precision,
    seed: u64,
    watch: Watch,
) -> Result<Points> {
    if count == 0 {
        return Err(Error::EmptySet);
    }
    let from = count.saturating_mul(10).clamp(*CHOSEN_FROM.start(), *CHOSEN_FROM.end()).max(count);
    let tell = |chosen: usize| match watch(Progress::Landmarks { chosen, size: count }).is_break() {
        true => Err(Error::Interrupted),
        false => Ok(()),
    };
    let samples = match shares {
        None => {
            let some = points.select(&subsample_by(points.len(), from, seed))?;
            Empirical::new(kernel.clone(), some)?
        }
        Some(shares) => {
            // Drawn with repeats; each is one candidate with the number of its draws as weight.
            let mut times = BTreeMap::new();
            for row in random_rows(points.len(), Some(shares), from, seed)? {
                *times.entry(row).or_insert(0.0) += 1.0;
            }
            let rows: Vec<usize> = times.keys().copied().collect();
            let weights: Vec<f64> = times.into_values().collect();
            Empirical::weighted(kernel.clone(), points.select(&rows)?, &weights)?
        }
    };
    let some = samples.points().clone();
    let samples = samples.precision(precision).on(device.clone());
    samples.prepare(&|_| watch(Progress::Landmarks { chosen: 0, size: count }))?;
    // The errors of landmarks are not reported, and in f64 they would cost more than the landmarks.
    let mut herder = Herder::over(Pool::new(samples, some.clone())?).unique(true).with_fast_errors();
    while herder.indices().len() < count && herder.next().is_some() {
        tell(herder.indices().len())?;
    }
    device.check()?;
    let ends = if 2 * points.dim() * FOR_EACH_END <= count { ends(points, shares) } else { Vec::new() };
    with_ends(&some.select(herder.indices())?, &points.select(&ends).ok(), count)
}

/// The rows of the smallest and of the largest value of each column, of those with weight; of equal values the first.
fn ends(points: &Points, shares: Option<&[f64]>) -> Vec<usize> {
    let dim = points.dim();
    let has_weight = |row: usize| shares.is_none_or(|shares| shares[row] > 0.0);
    // Of each column the two values, each with its row.
    let widen = |mut ends: Vec<[(f64, usize); 2]>, others: &[[(f64, usize); 2]]| {
        ends.resize(dim, [(f64::INFINITY, 0), (f64::NEG_INFINITY, 0)]);
        for ([low, high], [other_low, other_high]) in ends.iter_mut().zip(others) {
            *low = if other_low.0 < low.0 { *other_low } else { *low };
            *high = if other_high.0 > high.0 { *other_high } else { *high };
        }
        ends
    };
    let of_some = |(at, rows): (usize, &[f64])| {
        let mut ends = widen(Vec::new(), &[]);
        let rows = rows.chunks_exact(dim).zip(at * ROWS..);
        for (row, i) in rows.filter(|(_, i)| has_weight(*i)) {
            for ([low, high], x) in ends.iter_mut().zip(row) {
                *low = if *x < low.0 { (*x, i) } else { *low };
                *high = if *x > high.0 { (*x, i) } else { *high };
            }
        }
        ends
    };
    let some: Vec<_> = points.as_slice().par_chunks(ROWS * dim).enumerate().map(of_some).collect();
    let all = some.iter().fold(Vec::new(), |all, some| widen(all, some));
    all.into_iter().flatten().map(|(_, row)| row).collect()
}

/// The herded points with the ends that are not among them, which replace the last where there are `count`.
fn with_ends(herded: &Points, ends: &Option<Points>, count: usize) -> Result<Points> {
    let mut new: Vec<&[f64]> = Vec::new();
    for end in ends.iter().flat_map(Points::rows) {
        if !new.contains(&end) && !herded.rows().any(|point| point == end) {
            new.push(end);
        }
    }
    // Uneven weights leave fewer candidates than landmarks, and perhaps fewer than ends.
    let kept = herded.len().min(count.saturating_sub(new.len()));
    let kept = &herded.as_slice()[..kept * herded.dim()];
    Points::from_vec([kept, &new.concat()].concat(), herded.dim())
}

/// Control points for ‖μ‖²: distinct points at random, with all of the far ones represented, or draws in proportion to the shares.
pub fn choose_controls(points: &Points, shares: Option<&[f64]>, count: usize, seed: u64) -> Result<Points> {
    // A different random stream from that of the landmarks.
    let seed = seed ^ 0x9e37_79b9_7f4a_7c15;
    match shares {
        None => points.select(&stratified_rows(points, count, seed)),
        Some(_) => points.select(&random_rows(points.len(), shares, count, seed)?),
    }
}

/// One row at random of each of `count` equal blocks, so that every row has the same chance.
///
/// The rows farthest from the mean are blocks of their own, in the order of that distance. Landmarks represent far rows worst, and a
/// sample without blocks may hold none of a small group that has most of the residual.
fn stratified_rows(points: &Points, count: usize, seed: u64) -> Vec<usize> {
    let n = points.len();
    if count >= n {
        return (0..n).collect();
    }
    let mut mean = vec![0.0; points.dim()];
    points.rows().for_each(|x| mean.iter_mut().zip(x).for_each(|(mean, x)| *mean += x / n as f64));
    let rows = points.as_slice().par_chunks_exact(points.dim());
    let distances: Vec<f64> =
        rows.map(|x| x.iter().zip(&mean).map(|(x, mean)| (x - mean) * (x - mean)).sum()).collect();
    let mut order: Vec<usize> = (0..n).collect();
    let by_distance = |a: &usize, b: &usize| distances[*a].total_cmp(&distances[*b]).then(a.cmp(b));
    let near = n - n.div_ceil(count) * FAR_BLOCKS.min(count / 2);
    if near < n {
        order.select_nth_unstable_by(near, by_distance);
    }
    let (rest, far) = order.split_at_mut(near);
    rest.sort_unstable();
    far.sort_unstable_by(by_distance);
    let mut rng = Pcg64::seed_from_u64(seed);
    let block = |i: usize| (i as u128 * n as u128 / count as u128) as usize;
    (0..count).map(|i| order[rng.random_range(block(i)..block(i + 1))]).collect()
}

/// Compares the rows of a problem with `count` landmarks chosen from them.
pub(super) fn project(problem: &Problem, count: usize, watch: Watch) -> Result<Landmarks> {
    let (landmarks, controls) = landmarks_and_controls(problem, count, watch)?;
    Landmarks::of(&problem.samples, landmarks, controls, watch)
}

/// Result of [`project`] from the numbers of an earlier run.
pub(super) fn recall(problem: &Problem, numbers: &[f64]) -> Result<Landmarks> {
    let rows = problem.samples.points().len();
    let other = 2 + controls_of(rows);
    let count = numbers.len().checked_sub(other).filter(|count| (1..=rows).contains(count));
    let Some(count) = count else {
        return Err(Error::RecalledCount { found: numbers.len(), expected: other + LANDMARKS.min(rows) });
    };
    let chosen = |count: usize| landmarks_and_controls(problem, count, &crate::watch::unwatched);
    // Uneven weights leave fewer landmarks than were asked for.
    let asked = problem.choose.landmark_count(rows, problem.rows.dim()).max(count);
    let (landmarks, controls) = match chosen(asked)? {
        (landmarks, _) if landmarks.len() != count && asked != count => chosen(count)?,
        found => found,
    };
    Landmarks::recall(&problem.samples, landmarks, controls, numbers)
}

/// Number of control rows for this number of rows in memory.
pub(super) fn controls_of(rows: usize) -> usize {
    CONTROL_ROWS.max(CONTROL_VALUES / rows.max(1)).min(rows)
}

/// Chooses landmarks from the rows in memory of a problem, with these weights.
pub(super) fn of_problem(
    problem: &Problem,
    shares: Option<&[f64]>,
    count: usize,
    watch: Watch,
) -> Result<Points> {
    let (samples, choose) = (&problem.samples, &problem.choose);
    choose_landmarks_on(
        samples.device(),
        samples.kernel(),
        samples.points(),
        shares,
        count,
        choose.distance.precision,
        choose.compute.seed,
        watch,
    )
}

fn landmarks_and_controls(problem: &Problem, count: usize, watch: Watch) -> Result<(Points, Points)> {
    let (points, shares) = (problem.samples.points(), problem.samples.weights());
    let landmarks = of_problem(problem, shares, count, watch)?;
    Ok((landmarks, choose_controls(points, shares, controls_of(points.len()), problem.choose.compute.seed)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_rows_represent_all_rows_and_each_of_the_far_blocks() {
        // 30 of 12,000 rows are far away.
        let x: Vec<f64> =
            (0..12_000u32).map(|i| if i % 400 == 7 { 50.0 } else { f64::from(i % 11) }).collect();
        let points = Points::from_vec(x, 1).unwrap();
        let mut times = vec![0; points.len()];
        for seed in 0..400 {
            let rows = stratified_rows(&points, 1000, seed);
            let far = rows.iter().filter(|row| points.row(**row)[0] == 50.0).count();
            assert!((2..=3).contains(&far), "{far}");
            assert_eq!(std::collections::BTreeSet::from_iter(&rows).len(), 1000);
            rows.iter().for_each(|row| times[*row] += 1);
        }
        // Each row has a chance of 1/12.
        let far: i32 = (0..30).map(|i| times[400 * i + 7]).sum();
        assert!((940..1060).contains(&far), "{far}");
        assert!(times.iter().all(|count| (8..70).contains(count)));
        assert_eq!(stratified_rows(&points, 12_000, 0), (0..12_000).collect::<Vec<_>>());
        assert_eq!(stratified_rows(&points, 1, 0).len(), 1);
    }

    #[test]
    fn ends_are_the_first_rows_of_the_extreme_values() {
        let (rows, dim) = (3 * ROWS + 5, 4);
        let x = |i: usize, j: usize| if j == 3 { 2.0 } else { ((i * (7919 + j)) % 1009) as f64 - 500.0 };
        let points = Points::from_vec((0..rows * dim).map(|k| x(k / dim, k % dim)).collect(), dim).unwrap();
        let shares: Vec<f64> = (0..rows).map(|i| if i % 5 < 2 || i < 6000 { 0.0 } else { 1.0 }).collect();
        for shares in [None, Some(&shares[..])] {
            let weighed = || (0..rows).filter(|&i| shares.is_none_or(|shares| shares[i] > 0.0));
            let naive = (0..dim).flat_map(|j| {
                let low = weighed().reduce(|a, b| if x(b, j) < x(a, j) { b } else { a });
                let high = weighed().reduce(|a, b| if x(b, j) > x(a, j) { b } else { a });
                [low.unwrap(), high.unwrap()]
            });
            assert_eq!(ends(&points, shares), naive.collect::<Vec<_>>());
        }
    }

    #[test]
    fn uneven_weights_leave_fewer_landmarks_than_ends() {
        // Nearly all weight is on three rows, and ten columns have twenty ends.
        let (rows, dim, count) = (3000, 10, 200);
        let x = (0..rows * dim).map(|i| (i as f64 * 0.7).sin() + (i as f64 * 0.13).cos());
        let points = Points::from_vec(x.collect(), dim).unwrap();
        let mut shares = vec![1e-12; rows];
        shares[..3].fill((1.0 - 1e-12 * (rows - 3) as f64) / 3.0);
        let kernel = Kernel::gaussian(2.0).unwrap();
        let choose = |count| {
            choose_landmarks(&kernel, &points, Some(&shares), count, Precision::Double, 0, &crate::unwatched)
                .unwrap()
        };
        let (landmarks, without) = (choose(count), choose(2 * dim * FOR_EACH_END - 1));
        assert_eq!(without.len(), 3);
        assert_eq!(&landmarks.as_slice()[..3 * dim], without.as_slice());
        for row in ends(&points, Some(&shares)) {
            assert!(landmarks.rows().any(|landmark| landmark == points.row(row)), "{row}");
        }
        assert!((4..=23).contains(&landmarks.len()), "{}", landmarks.len());
    }

    #[test]
    fn landmarks_are_twice_the_rows_within_bounds() {
        assert_eq!(default_count(1_000_000, Some(1000)), 2000);
        assert_eq!(default_count(1_000_000, Some(3)), 500);
        assert_eq!(default_count(1_000_000, Some(usize::MAX)), 10_000);
        assert_eq!(default_count(1_000_000, None), 2000);
        assert_eq!(default_count(300, Some(1000)), 300);
        assert_eq!(default_count(1_000_000, Some(1024)), 2048);
        let uses_landmarks = EmbeddingChoice::uses_landmarks;
        assert!(uses_landmarks(EmbeddingChoice::Auto, 100_001, None));
        assert!(!uses_landmarks(EmbeddingChoice::Auto, 100_000, None));
        assert!(uses_landmarks(EmbeddingChoice::Auto, 100, Some(99)));
        assert!(!uses_landmarks(EmbeddingChoice::Landmarks, 100, Some(100)));
        assert!(uses_landmarks(EmbeddingChoice::Landmarks, 501, None));
        assert!(!uses_landmarks(EmbeddingChoice::Landmarks, 1, None));
        assert!(!uses_landmarks(EmbeddingChoice::Exact, 1 << 40, None));
    }
}
