//! Candidates: the rows that are chosen from, all of them or, of very many, a uniform sample.
//!
//! Every pick goes through all candidates once, so that among a million rows choosing costs more than comparing them with
//! landmarks does. What is matched is all rows whatever is chosen from, and so is the error that is reported.

use super::{Chosen, Problem, ProblemOptions};
use crate::embedding::as_landmarks;
use crate::row_sampling::subsample_by;
use crate::{Error, Herder, Pick, Pool, Refined, Result, Watch};

/// The fewest rows of a sample to choose from, where nobody says how many.
pub const POOL_ROWS: usize = 200_000;

/// Rows of a sample for each that is to be chosen.
const FOR_EACH: usize = 20;

/// So that the sample has nothing to do with the rows that landmarks are chosen from, nor with the control rows.
const SAMPLE_SEED: u64 = 0x2545_f491_4f6c_dd1d;

/// How many rows are drawn to choose so many from where there are more: 200,000, or twenty for each of them. `None`, for
/// all rows, where it is not known how many are to be chosen.
///
/// ```
/// use supersample::task::default_pool_rows;
/// assert_eq!(default_pool_rows(Some(1000)), Some(200_000));
/// assert_eq!(default_pool_rows(Some(50_000)), Some(1_000_000));
/// assert_eq!(default_pool_rows(None), None);
/// ```
pub fn default_pool_rows(chosen: Option<usize>) -> Option<usize> {
    chosen.map(|chosen| chosen.saturating_mul(FOR_EACH).max(POOL_ROWS))
}

impl ProblemOptions {
    /// How many rows are drawn to choose so many from, of rows in single precision that are gone through in batches so that
    /// they stay in it: no more than the sample is ever double at once. `None` where all of them are to be made double: where
    /// they are compared with each other, or needed whole for something else, where a GPU holds them, where it is not known how
    /// many are to be chosen, and where a sample would have them all.
    ///
    /// ```
    /// use supersample::task::{EmbeddingChoice, ProblemOptions};
    /// let options = ProblemOptions::default();
    /// assert_eq!(options.pool_rows_of_single(1_000_000, Some(500)), Some(200_000));
    /// assert_eq!(options.pool_rows_of_single(150_000, Some(500)), None);
    /// assert_eq!(options.embedding(EmbeddingChoice::Exact).pool_rows_of_single(1_000_000, Some(500)), None);
    /// ```
    pub fn pool_rows_of_single(&self, rows: usize, chosen: Option<usize>) -> Option<usize> {
        let needs_all = self.functions.is_some() || self.scores.is_some() || self.device.is_gpu();
        let drawn = self.pool_rows.or_else(|| default_pool_rows(chosen))?;
        let is_worth_it = drawn < rows && self.embedding.is_projected(rows, self.landmarks);
        (is_worth_it && !needs_all).then_some(drawn)
    }
}

/// A sample of the rows, with their numbers in ascending order.
pub(super) struct Sample {
    rows: Vec<usize>,
    pool: Pool,
}

/// What is chosen from. Row numbers of the pool and of the problem differ where it is a sample.
#[derive(Clone, Copy)]
pub(super) struct Candidates<'a> {
    pub(super) pool: &'a Pool,
    sample: Option<&'a Sample>,
}

impl Candidates<'_> {
    /// How many there are, where they are a sample.
    pub(super) fn sampled(&self) -> Option<usize> {
        self.sample.map(|sample| sample.rows.len())
    }

    /// These rows of the problem as rows of the pool; `None` where one is not among them.
    fn places(&self, rows: &[usize]) -> Option<Vec<usize>> {
        match self.sample {
            None => Some(rows.to_vec()),
            Some(sample) => sample.places(rows),
        }
    }

    /// A pick with the number of its row in the problem.
    pub(super) fn told(&self, pick: &Pick) -> Pick {
        let row = |index: usize| self.sample.map_or(index, |sample| sample.rows[index]);
        Pick { index: pick.index.map(row), ..pick.clone() }
    }

    /// What was chosen, with the numbers of the rows in the problem.
    pub(super) fn chosen(&self, chosen: Chosen) -> Chosen {
        let sampled_from = self.sampled();
        match self.sample {
            None => chosen,
            Some(_) => {
                let trace = chosen.trace.iter().map(|pick| self.told(pick)).collect();
                Chosen { sampled_from, ..Chosen::new(trace, chosen.ended) }
            }
        }
    }

    /// A set with the numbers of its rows in the problem.
    pub(super) fn set(&self, set: Refined) -> Refined {
        match self.sample {
            None => set,
            Some(sample) => Refined { rows: set.rows.iter().map(|&row| sample.rows[row]).collect(), ..set },
        }
    }
}

impl Sample {
    fn places(&self, rows: &[usize]) -> Option<Vec<usize>> {
        rows.iter().map(|row| self.rows.binary_search(row).ok()).collect()
    }
}

impl Problem {
    /// What so many rows are chosen from, `earlier` ones included, which come back as rows of the pool.
    pub(super) fn candidates_with(
        &self,
        chosen: Option<usize>,
        earlier: &[usize],
        watch: Watch,
    ) -> Result<(Candidates<'_>, Vec<usize>)> {
        let candidates = self.candidates(chosen, watch)?;
        match candidates.places(earlier) {
            Some(places) => Ok((candidates, places)),
            None => Ok((self.all_candidates(watch)?, earlier.to_vec())),
        }
    }

    /// What so many rows are chosen from.
    pub(super) fn candidates(&self, chosen: Option<usize>, watch: Watch) -> Result<Candidates<'_>> {
        let Some(size) = self.sample_size(chosen) else { return self.all_candidates(watch) };
        let sample = match self.sample.get() {
            Some(sample) => sample,
            None => {
                let rows = subsample_by(self.rows().len(), size, self.seed ^ SAMPLE_SEED);
                let pool = self.pool_at(Some(&rows), watch)?;
                // Whoever was first: the sample is the same, or as good.
                self.sample.get_or_init(|| Sample { rows, pool })
            }
        };
        // One that was drawn when fewer rows were asked for has not enough of them.
        match sample.rows.len() < size {
            true => self.all_candidates(watch),
            false => Ok(Candidates { pool: &sample.pool, sample: Some(sample) }),
        }
    }

    /// All rows as candidates.
    pub(super) fn all_candidates(&self, watch: Watch) -> Result<Candidates<'_>> {
        if self.pool.get().is_none() {
            let pool = self.pool_at(None, watch)?;
            // Whoever was first: the values are the same.
            let _ = self.pool.set(pool);
        }
        Ok(Candidates { pool: self.pool.get().expect("it was just made"), sample: None })
    }

    /// How many rows are drawn to choose so many from; `None` where all rows are chosen from. Rows with weights differ too
    /// much for a uniform sample of them.
    fn sample_size(&self, chosen: Option<usize>) -> Option<usize> {
        let is_possible = self.is_projected() && self.gathered.is_none() && self.shares().is_none();
        let size = self.asked_pool_rows.or_else(|| default_pool_rows(chosen)).filter(|_| is_possible)?;
        (size < self.rows().len()).then_some(size)
    }

    /// The pool of these rows, or of all.
    fn pool_at(&self, rows: Option<&[usize]>, watch: Watch) -> Result<Pool> {
        let points = match rows {
            Some(rows) => self.points().select(rows)?,
            None => self.points().clone(),
        };
        let mu = self.embedding();
        let values = as_landmarks(&*mu).map(|landmarks| landmarks.values_at(&points, watch)).transpose()?;
        let pool = match values {
            Some(values) => Pool::of_values(mu, points, values)?,
            None => Pool::shared(mu, points)?,
        };
        let pool = pool.with_parts(self.parts(rows)?)?;
        match self.stein.as_ref().and_then(|stein| stein.preference.clone()) {
            Some(preference) => pool.with_preference(preference),
            None => Ok(pool),
        }
    }

    /// A pool that is made at all, whose ‖μ‖² and floor are those of every other.
    pub(super) fn any_pool(&self) -> Result<&Pool> {
        match self.sample.get() {
            Some(sample) => Ok(&sample.pool),
            None => self.pool(),
        }
    }

    /// The pool of these rows alone, in their order.
    pub(super) fn pool_of(&self, rows: &[usize]) -> Result<Pool> {
        let sampled = self.sample.get().and_then(|sample| Some((sample, sample.places(rows)?)));
        match sampled {
            Some((sample, places)) => sample.pool.select(&places),
            None => self.pool()?.select(rows),
        }
    }

    /// The MMD of these rows with μ as choices are made by it. Other than [`pool_of`](Self::pool_of) it needs no pool of
    /// all rows.
    pub(super) fn mmd_by_pool(&self, rows: &[usize]) -> Result<f64> {
        let error = match self.sample.get() {
            None => self.pool()?.mmd_of_rows(rows)?,
            Some(_) => {
                let points = self.points().select(rows)?;
                let all: Vec<usize> = (0..rows.len()).collect();
                Pool::shared(self.embedding(), points)?.mmd_of_rows(&all)?
            }
        };
        error.ok_or(Error::UnknownNorm)
    }

    /// A herder over candidates, without picks. Where landmarks stand for μ, errors are measured afterwards.
    pub(super) fn herder_over(&self, candidates: Candidates<'_>, unique: bool) -> Result<Herder> {
        let closed = if candidates.sample.is_some() { &[][..] } else { self.without_weight() };
        let herder = Herder::over(candidates.pool.clone()).unique(unique).excluding(closed)?;
        Ok(self.careless_on_landmarks(herder))
    }
}
