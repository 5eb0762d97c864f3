//! Which mean embedding a problem has, exact or projected on landmarks, and how landmarks are chosen.

use std::collections::BTreeMap;

use super::{Advice, Chosen, Problem};
use crate::embedding::{ErrorTerms, Landmarks};
use crate::quality::random_rows;
use crate::row_sampling::subsample_by;
use crate::watch::{Progress, Watch};
use crate::{Device, Empirical, Error, Herder, Kernel, MeanEmbedding, Pick, Points, Pool, Precision, Result};

/// Up to so many rows every row is compared with every other unless landmarks are asked for.
pub const EXACT_UP_TO: usize = 100_000;

/// Rows at which μ is computed to estimate ‖μ‖² where landmarks stand for it.
pub const CONTROL_ROWS: usize = 1000;

/// Landmarks where nobody says how many, nor how many rows are to be chosen: enough for about 1,000 of these.
const LANDMARKS: usize = 2000;

/// The fewest and the most landmarks that the number of chosen rows asks for.
const FEWEST: usize = 500;
const MOST: usize = 10_000;

/// Rows that landmarks are chosen from: ten for each, within these bounds.
const CHOSEN_FROM: std::ops::RangeInclusive<usize> = 10_000..=50_000;

/// A residual of more than this part of an error is not small beside it: the two add up in squares, so that half of it costs
/// a tenth of the error and all of it two fifths.
const LARGE_RESIDUAL: f64 = 0.75;

/// How the mean embedding is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmbeddingChoice {
    /// Exactly up to [`EXACT_UP_TO`] rows, on landmarks beyond.
    #[default]
    Auto,
    /// Every row compared with every other.
    Exact,
    /// Projected on landmarks: [`Landmarks`].
    Landmarks,
}

supersample_sum::words!(EmbeddingChoice, "an embedding": Auto "auto", Exact "exact", Landmarks "landmarks");

impl EmbeddingChoice {
    /// Whether the mean embedding of so many rows is projected on landmarks, where so many of these are asked for. Never
    /// where all rows would be landmarks: to compare each with each other is the same, and exact.
    pub fn is_projected(self, rows: usize, landmarks: Option<usize>) -> bool {
        let asked = match self {
            EmbeddingChoice::Auto => landmarks.is_some() || rows > EXACT_UP_TO,
            EmbeddingChoice::Exact => false,
            EmbeddingChoice::Landmarks => true,
        };
        asked && rows > landmarks.unwrap_or(FEWEST)
    }
}

/// How many landmarks a problem of so many rows has where so many are to be chosen: twice as many as these, with which
/// nothing is lost, but at least 500 and at most 10,000; 2,000 where the number is not known.
pub fn default_landmarks(rows: usize, chosen: Option<usize>) -> usize {
    chosen.map_or(LANDMARKS, |chosen| chosen.saturating_mul(2).clamp(FEWEST, MOST)).min(rows)
}

/// How many herded rows ask for as many landmarks as a set of so many that is refined: twice as many. Swaps go on until they
/// find what landmarks do not see, so that a set is worth four landmarks a row where a herded sequence is worth two.
pub fn as_many_herded(refined: Option<usize>) -> Option<usize> {
    refined.map(|refined| refined.saturating_mul(2))
}

/// `count` landmarks for weighted points: super-samples of some of them, herded from 10,000 to 50,000 that are drawn at
/// random, in proportion to the shares where there are some. The same for the same seed.
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

/// What [`choose_landmarks`] does, on a device.
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
            // Drawn with repeats; each is one candidate, as heavy as it was drawn often.
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
    // Nobody reports the errors of landmarks, and in f64 they would cost more than the landmarks.
    let mut herder = Herder::over(Pool::new(samples, some.clone())?).unique(true).careless();
    while herder.indices().len() < count && herder.next().is_some() {
        tell(herder.indices().len())?;
    }
    device.check()?;
    some.select(herder.indices())
}

/// Control points for ‖μ‖²: distinct points at random, or draws in proportion to the shares.
pub fn choose_controls(points: &Points, shares: Option<&[f64]>, count: usize, seed: u64) -> Result<Points> {
    // Another stream than that of the landmarks.
    let seed = seed ^ 0x9e37_79b9_7f4a_7c15;
    match shares {
        None => points.select(&subsample_by(points.len(), count, seed)),
        Some(_) => points.select(&random_rows(points.len(), shares, count, seed)?),
    }
}

/// The samples projected on so many landmarks of their own.
pub(super) fn project(
    samples: &Empirical,
    precision: Precision,
    count: usize,
    seed: u64,
    watch: Watch,
) -> Result<Landmarks> {
    let (landmarks, controls) = landmarks_and_controls(samples, precision, count, seed, watch)?;
    Landmarks::of(samples, landmarks, controls, watch)
}

/// What [`project`] gives, with the numbers of an earlier run.
pub(super) fn recall(
    samples: &Empirical,
    precision: Precision,
    numbers: &[f64],
    seed: u64,
) -> Result<Landmarks> {
    let rows = samples.points().len();
    let other = 2 + controls_of(rows);
    let count = numbers.len().checked_sub(other).filter(|count| (1..=rows).contains(count));
    let Some(count) = count else {
        return Err(Error::RecalledCount { found: numbers.len(), expected: other + LANDMARKS.min(rows) });
    };
    let (landmarks, controls) =
        landmarks_and_controls(samples, precision, count, seed, &crate::watch::unwatched)?;
    Landmarks::recall(samples, landmarks, controls, numbers)
}

fn controls_of(rows: usize) -> usize {
    CONTROL_ROWS.min(rows)
}

fn landmarks_and_controls(
    samples: &Empirical,
    precision: Precision,
    count: usize,
    seed: u64,
    watch: Watch,
) -> Result<(Points, Points)> {
    let (kernel, points, shares) = (samples.kernel(), samples.points(), samples.weights());
    let device = samples.device();
    let landmarks = choose_landmarks_on(device, kernel, points, shares, count, precision, seed, watch)?;
    Ok((landmarks, choose_controls(points, shares, controls_of(points.len()), seed)?))
}

impl Problem {
    /// What was chosen with μ itself at each of the rows, where landmarks have stood for it while choosing and the rows
    /// are in memory. It costs n kernel values for each row; `watch` is told, but what is chosen is not given up for it.
    pub(super) fn with_exact_means(&self, chosen: Chosen, watch: Watch) -> Result<Chosen> {
        match self.means_at(&chosen.rows, watch)? {
            Some(means) => self.restated(chosen, &means),
            None => Ok(chosen),
        }
    }

    /// What a herder says of these rows if it picks them in this order, with μ itself at each of them whatever stands for
    /// it while choosing.
    pub fn trace_of(&self, rows: &[usize], watch: Watch) -> Result<Vec<Pick>> {
        self.prepare_for(Some(rows.len()), watch)?;
        match self.means_at(rows, watch)? {
            _ if rows.is_empty() => Ok(Vec::new()),
            Some(means) => Herder::trace_measured(self.pool_of(rows)?, rows, &means),
            None => Herder::trace_in(self.pool_of(rows)?, rows),
        }
    }

    /// μ itself at these rows, where landmarks stand for it and the rows are in memory, or where errors are not known while
    /// choosing because a GPU chooses.
    pub(super) fn means_at(&self, rows: &[usize], watch: Watch) -> Result<Option<Vec<f64>>> {
        let Some(samples) = self.landmarks().and_then(|landmarks| landmarks.samples()) else {
            if self.is_projected() || !self.is_measured_afterwards() {
                return Ok(None);
            }
            let values = self.pool()?.values();
            return Ok(Some(rows.iter().map(|&row| values[row]).collect()));
        };
        if rows.is_empty() {
            return Ok(Some(Vec::new()));
        }
        Ok(Some(ErrorTerms::means_told(samples, &self.points().select(rows)?, watch)))
    }

    /// What was chosen, its errors restated with these values of μ at the chosen rows, in the order of the rows: for
    /// landmarks of rows that are not in memory, at which [`KernelSums`](crate::embedding::KernelSums) gives them.
    pub fn restated(&self, mut chosen: Chosen, means: &[f64]) -> Result<Chosen> {
        if chosen.rows.is_empty() {
            return Ok(Chosen { trace: Vec::new(), ..chosen });
        }
        let (pool, places) = (self.pool_of(&chosen.rows)?, (0..chosen.rows.len()).collect::<Vec<_>>());
        let trace = Herder::trace_measured(pool.select(&places)?, &chosen.rows, means)?;
        let (error, squared) = trace.last().map_or((None, None), |pick| (pick.error, pick.squared_error));
        if let (Some(refined), Some(squared)) = (&mut chosen.refined, squared) {
            // The sets before it are gone: what landmarks did not see of them is taken to be what they did not of this.
            let shift = refined.squared_error.map_or(0.0, |known| squared - known);
            let moved = |error: f64| (error * error + shift).max(0.0).sqrt();
            refined.start_error = refined.start_error.map(moved);
            refined.swept_error = refined.swept_error.map(moved);
            (refined.error, refined.squared_error) = (error, Some(squared));
            let end = pool.squared_distance(&places, squared);
            if let (Some(lowered), Some(end)) = (&mut refined.lowered, end) {
                let shift = end - lowered.end * lowered.end;
                let moved = |distance: f64| (distance * distance + shift).max(0.0).sqrt();
                lowered.start = moved(lowered.start);
                lowered.swept = moved(lowered.swept);
                lowered.end = end.max(0.0).sqrt();
            }
        }
        let scale = self.error_scale()?;
        let standard_error = error.and_then(|error| scale.standard_error(error));
        let advice = self.landmarks().zip(error).and_then(|(mu, error)| {
            // Beside an error that is rounding alone nothing is large.
            let rounding = (32.0 * f64::EPSILON * mu.mean_diagonal().unwrap_or(1.0).max(1.0)).sqrt();
            let large = (LARGE_RESIDUAL * error).max(rounding);
            let residual = mu.residual().filter(|residual| *residual > large)?;
            Some(Advice::LandmarksTooFew { landmarks: mu.points().len(), residual, error })
        });
        Ok(Chosen { trace, standard_error, advice, ..chosen })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn landmarks_are_twice_the_rows_within_bounds() {
        assert_eq!(default_landmarks(1_000_000, Some(1000)), 2000);
        assert_eq!(default_landmarks(1_000_000, Some(3)), 500);
        assert_eq!(default_landmarks(1_000_000, Some(usize::MAX)), 10_000);
        assert_eq!(default_landmarks(1_000_000, None), 2000);
        assert_eq!(default_landmarks(300, Some(1000)), 300);
        assert_eq!(default_landmarks(1_000_000, as_many_herded(Some(512))), 2048);
        assert_eq!(default_landmarks(1_000_000, as_many_herded(None)), 2000);
        let is_projected = EmbeddingChoice::is_projected;
        assert!(is_projected(EmbeddingChoice::Auto, 100_001, None));
        assert!(!is_projected(EmbeddingChoice::Auto, 100_000, None));
        assert!(is_projected(EmbeddingChoice::Auto, 100, Some(99)));
        assert!(!is_projected(EmbeddingChoice::Landmarks, 100, Some(100)));
        assert!(is_projected(EmbeddingChoice::Landmarks, 501, None));
        assert!(!is_projected(EmbeddingChoice::Landmarks, 1, None));
        assert!(!is_projected(EmbeddingChoice::Exact, 1 << 40, None));
    }
}
