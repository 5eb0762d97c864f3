//! Problems whose rows are a sample of more than fit into memory: the target is all of them, and passes over batches of
//! them bring what it takes.
//!
//! 1. A [`Gatherer`](super::Gatherer) counts the rows, takes their moments and draws the pool.
//! 2. [`Problem::of_gathered`] scales the pool and finds the kernel; [`Problem::landmark_sums`] chooses landmarks and control
//!    rows from it, and the batches of a second pass, brought to scale by [`Problem::batch`], are added to the sums.
//!    [`Problem::project_on`] makes the problem ready, and rows are chosen from the pool as ever.
//! 3. A third pass sums at the chosen rows ([`Problem::sums_at`]), and [`Problem::restated`] gives their error.

use std::sync::Arc;

use super::landmarks::choose_landmarks_on;
use super::pass::Batching;
use super::{
    CONTROL_ROWS, EmbeddingChoice, FunctionValues, Gathered, MemoryEstimate, Problem, ProblemOptions,
    RowWeights, choose_controls, default_landmarks, default_pool_rows,
};
use crate::embedding::{KernelSums, LandmarkSums};
use crate::points::normalised;
use crate::scale::{Scale, Scaling};
use crate::{Error, Points, Result, Watch, unwatched};

/// A pool of fewer rows than this is not worth choosing from.
const FEWEST_POOL_ROWS: usize = 1000;

/// The most rows of a pool for which what `needs` counts stays within `limit` bytes: at least 1,000, and twice as many as
/// are to be chosen, or [`Error::TooLittleMemory`]; at most [`default_pool_rows`], where it is known how many are to be chosen.
pub fn pool_rows_within(
    limit: u64,
    chosen: Option<usize>,
    needs: impl Fn(usize) -> MemoryEstimate,
) -> Result<usize> {
    let fewest = chosen.map_or(0, |chosen| chosen.saturating_mul(2)).max(FEWEST_POOL_ROWS);
    let fits = |rows: usize| needs(rows).needed() <= limit;
    if !fits(fewest) {
        // Kernel rows that are kept give way before the run does.
        needs(fewest).kept_within(limit)?;
        return Ok(fewest);
    }
    let most = default_pool_rows(chosen).map(|most| most.max(fewest));
    if let Some(most) = most.filter(|most| fits(*most)) {
        return Ok(most);
    }
    let (mut low, mut high) = (fewest, fewest);
    while fits(high) && high < usize::MAX / 2 {
        (low, high) = (high, high * 2);
    }
    while high - low > 1 + low / 1000 {
        let middle = low + (high - low) / 2;
        if fits(middle) { low = middle } else { high = middle }
    }
    Ok(low)
}

impl Problem {
    /// The problem of choosing from the rows that were drawn, to match all that were gathered. Columns are scaled by the
    /// standard deviations of all rows; by the sample where medians or whole matrices are asked for, which the advice
    /// says. Where the sample has all rows it is the problem of these.
    ///
    /// It cannot be worked on before landmarks stand for the mean embedding ([`project_on`](Self::project_on)).
    ///
    /// ```
    /// use supersample::task::{Gatherer, Problem, ProblemOptions, RowWeights, Stop, ThinOptions};
    /// use supersample::unwatched;
    /// let batches: Vec<Vec<f64>> = (0..20)
    ///     .map(|batch| (0..1000).map(|i| (f64::from(1000 * batch + i) * 0.7).sin()).collect())
    ///     .collect();
    /// let mut gatherer = Gatherer::new(2, 3000, 0)?;
    /// for batch in &batches {
    ///     gatherer.update(batch, RowWeights::Equal)?;
    /// }
    /// let problem = Problem::of_gathered(gatherer.finish()?, ProblemOptions::default())?;
    /// let mut sums = problem.landmark_sums(Some(20), &unwatched)?;
    /// for batch in &batches {
    ///     let (points, weights) = problem.batch(batch, RowWeights::Equal)?;
    ///     sums.update(&points, weights.as_deref(), &unwatched)?;
    /// }
    /// problem.project_on(&sums)?;
    /// let chosen = problem.thin(&Stop::after(20)?, &ThinOptions::default(), &unwatched)?;
    /// let mut at_chosen = problem.sums_at(&chosen.rows)?;
    /// for batch in &batches {
    ///     let (points, weights) = problem.batch(batch, RowWeights::Equal)?;
    ///     at_chosen.update(&points, weights.as_deref(), &unwatched)?;
    /// }
    /// let chosen = problem.restated(chosen, &at_chosen.means()?)?;
    /// assert!(chosen.error().unwrap() < 0.05 && chosen.standard_error.is_some());
    /// # Ok::<(), supersample::Error>(())
    /// ```
    pub fn of_gathered(gathered: Gathered, options: ProblemOptions) -> Result<Problem> {
        if options.embedding == EmbeddingChoice::Exact && !gathered.is_whole() {
            return Err(Error::NotInMemory { what: "an exact mean embedding" });
        }
        if options.functions.is_some() {
            return Err(Error::NotInMemory { what: "a match of functions" });
        }
        if gathered.is_whole() {
            let Gathered { pool, pool_weights, functions, .. } = gathered;
            let functions = functions.map(|functions| {
                let count = functions.values.dim();
                FunctionValues::new(functions.values.as_slice().to_vec(), count).weight(functions.weight)
            });
            let options = ProblemOptions { functions, ..options };
            let weights = pool_weights.as_deref().map_or(RowWeights::Equal, RowWeights::Weights);
            return Problem::weighted(pool, weights, options);
        }
        let shares = gathered
            .pool_weights
            .as_deref()
            .map(|w| normalised(w, "rows", gathered.pool.len()))
            .transpose()?;
        let scaling = match options.scale {
            Scale::Sd => Scaling::of_moments(&gathered.moments, &gathered.firsts),
            scale => Scaling::fit(scale, gathered.pool.as_slice(), gathered.pool.dim(), shares.as_deref())?,
        };
        let rows = gathered.pool.clone();
        Problem::ready(rows, shares, scaling, Some(gathered), options)
    }

    /// What is known of all rows, where those of the problem are a sample of them.
    pub fn gathered(&self) -> Option<&Gathered> {
        self.gathered.as_ref()
    }

    /// Sums without rows at landmarks, as many as so many chosen rows ask for unless the options say, and at control rows.
    pub fn landmark_sums(&self, chosen: Option<usize>, watch: Watch) -> Result<LandmarkSums> {
        let asked = self.asked_landmarks.unwrap_or_else(|| default_landmarks(self.open_rows(), chosen));
        self.sums_at_landmarks(asked.min(self.open_rows()), watch)
    }

    fn sums_at_landmarks(&self, count: usize, watch: Watch) -> Result<LandmarkSums> {
        let (device, points, shares) = (self.device(), self.points(), self.shares());
        let landmarks = choose_landmarks_on(
            device,
            self.kernel(),
            points,
            shares,
            count,
            self.precision(),
            self.seed,
            watch,
        )?;
        // Drawn from all rows: in the pool landmarks, at which nothing is missing, would be more frequent.
        let controls = match &self.gathered {
            Some(gathered) => self.scaled(&gathered.controls)?,
            None => choose_controls(points, shares, self.control_rows(), self.seed)?,
        };
        let sums = LandmarkSums::new(self.kernel().clone(), landmarks, Some(controls), self.precision())?;
        Ok(sums.on(device))
    }

    fn control_rows(&self) -> usize {
        self.gathered
            .as_ref()
            .map_or(CONTROL_ROWS.min(self.points().len()), |gathered| gathered.controls.len())
    }

    /// A batch of the rows behind the sample, in their own units, as points beside those of the problem, and their weights
    /// as sums take them.
    pub fn batch(&self, rows: &[f64], weights: RowWeights<'_>) -> Result<(Points, Option<Vec<f64>>)> {
        self.batching().batch(rows, weights)
    }

    pub(super) fn batching(&self) -> Batching {
        let scaling = (self.scale() != Scale::None).then(|| self.scaling().clone());
        Batching::new(self.rows().dim(), scaling, self.gathered.as_ref().map(|gathered| gathered.scale))
    }

    /// Lets these sums, over all rows, stand for the mean embedding.
    pub fn project_on(&self, sums: &LandmarkSums) -> Result<()> {
        self.project_on_watched(sums, &unwatched)
    }

    /// What [`project_on`](Self::project_on) does, watched; ended, the problem is not ready yet.
    pub fn project_on_watched(&self, sums: &LandmarkSums, watch: Watch) -> Result<()> {
        let expected = self.gathered.as_ref().map_or(self.rows().len(), Gathered::rows);
        if sums.sums().rows() != expected as u64 {
            return Err(Error::RowsSummed { found: sums.sums().rows() as usize, expected });
        }
        // Whoever was first: both are sums over all rows.
        let _ = self.projected.set(Arc::new(sums.finish_watched(watch)?));
        self.all_candidates(watch).map(|_| ())
    }

    /// Sums without rows at these rows of the problem, rounded as those of its landmarks are.
    pub fn sums_at(&self, rows: &[usize]) -> Result<KernelSums> {
        let points = self.points().select(rows)?;
        match self.landmarks() {
            Some(landmarks) => landmarks.sums().sums().at(points),
            None => Ok(KernelSums::new(self.kernel().clone(), points, self.precision()).on(self.device())),
        }
    }

    /// The sums of the second pass, once they stand for the mean embedding.
    pub(super) fn recalled_sums(&self) -> Option<Vec<f64>> {
        self.landmarks().map(|landmarks| landmarks.sums().numbers())
    }

    /// Lets the sums of an earlier run of this very problem stand for the mean embedding.
    pub(super) fn recall_sums(&self, numbers: &[f64]) -> Result<()> {
        let (others, most) = (self.control_rows() + 2, self.open_rows());
        let count = numbers.len().checked_sub(others).filter(|count| (1..=most).contains(count));
        let count = count.ok_or(Error::RecalledCount { found: numbers.len(), expected: others + most })?;
        let rows = self.gathered.as_ref().map_or(0, Gathered::rows);
        let sums = self.sums_at_landmarks(count, &unwatched)?;
        self.project_on(&sums.recalled(numbers, rows as u64, self.shares().is_some())?)
    }
}
