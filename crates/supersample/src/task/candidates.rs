//! Candidates: the rows that can be chosen, and the translation between their positions and row numbers.
//!
//! Every pick goes through all candidates once. With a million candidates, choosing would cost more than comparing all
//! rows with landmarks. So above 200,000 rows the candidates are a uniform sample. The target is always all rows, and
//! so is the reported error. Herders and refiners do not know about the sample. Sets with constraints, weighted rows
//! and runs without a number have all rows as candidates.

use super::landmarks::controls_of;
use super::problem::{Kind, Problem};
use super::{Choose, Chosen, mean::Mean};
use crate::embedding::as_landmarks;
use crate::row_sampling::subsample_by;
use crate::{Herder, Pick, Pool, RefineOptions, Refined, Result, Watch};

/// Default number of candidates in a sample, at least.
pub const POOL_ROWS: usize = 200_000;

/// Number of candidates for each row to choose.
const FOR_EACH: usize = 20;

/// Makes the sample independent of the rows for landmarks and of the control rows.
const SAMPLE_SEED: u64 = 0x2545_f491_4f6c_dd1d;

impl Choose {
    /// Number of candidates to draw, if memory does not limit them: the given number, or 200,000, or 20 for each row to
    /// choose. `None` for all rows in memory.
    pub(super) fn pool_size(&self) -> Option<usize> {
        let default = |chosen: usize| chosen.saturating_mul(FOR_EACH).max(POOL_ROWS);
        self.compute.pool_rows.or_else(|| self.stop.number.map(default))
    }

    /// Number of kernel values before the first pick, given the numbers of rows and columns.
    ///
    /// ```
    /// use supersample::task::Choose;
    /// assert_eq!(Choose::herd(10)?.kernel_values(1000, 5), 499_500.0);
    /// // With 500 landmarks and 1,000 control rows; the candidates are compared with the landmarks too.
    /// assert_eq!(Choose::herd(10)?.kernel_values(1_000_000, 5), 1e6 * 1500.0 + 2e5 * 500.0);
    /// # Ok::<(), supersample::Error>(())
    /// ```
    pub fn kernel_values(&self, rows: usize, columns: usize) -> f64 {
        let all = rows as f64;
        let Some(landmarks) = self.landmarks_of(rows, columns) else { return all * (all - 1.0) / 2.0 };
        let candidates = self.pool_size().unwrap_or(POOL_ROWS).min(rows) as f64;
        all * (landmarks + controls_of(rows)) as f64 + candidates * landmarks as f64
    }

    /// Whether rows in single precision without weights are processed in batches, so that they stay in single
    /// precision.
    ///
    /// Only the sample is then held in double precision. False if all rows are needed at once: for exact comparison,
    /// constraints, weights, a GPU, or an unknown number of chosen rows, or if the sample would hold all rows.
    ///
    /// Rows in f32 are never `Points`. A second type of `Points` would double every function between the file and the
    /// sums, for rows that only sums look at.
    ///
    /// ```
    /// use supersample::task::{Choose, EmbeddingChoice};
    /// let choose = Choose::thin(500)?;
    /// assert!(choose.goes_in_batches(1_000_000) && !choose.goes_in_batches(150_000));
    /// assert!(!choose.embedding(EmbeddingChoice::Exact).goes_in_batches(1_000_000));
    /// # Ok::<(), supersample::Error>(())
    /// ```
    pub fn goes_in_batches(&self, rows: usize) -> bool {
        let uses_landmarks = self.compute.embedding.uses_landmarks(rows, self.compute.landmarks);
        let needs_all =
            self.method.is_constrained() || self.weights.is_some() || self.compute.device.is_gpu();
        !needs_all && uses_landmarks && self.pool_size().is_some_and(|drawn| drawn < rows)
    }
}

/// Row numbers by position: all rows, or some of them in ascending order.
#[derive(Clone, Debug)]
pub(super) enum Numbers {
    All,
    Some(Vec<usize>),
}

impl Numbers {
    pub(super) fn number(&self, place: usize) -> usize {
        match self {
            Numbers::All => place,
            Numbers::Some(rows) => rows[place],
        }
    }

    /// Returns the positions of these rows; `None` if one is missing.
    pub(super) fn places(&self, rows: &[usize]) -> Option<Vec<usize>> {
        match self {
            Numbers::All => Some(rows.to_vec()),
            Numbers::Some(known) => rows.iter().map(|row| known.binary_search(row).ok()).collect(),
        }
    }
}

/// The pool of rows that can be chosen.
#[derive(Clone)]
pub(super) struct Candidates {
    pub(super) pool: Pool,
    /// The numbers of its rows.
    numbers: Numbers,
    /// Positions that must not be chosen.
    closed: Vec<usize>,
    is_sample: bool,
}

impl Candidates {
    /// Candidates of a choice: all rows in memory, or a sample of them. There is no sample of weighted rows, which
    /// differ too much for a uniform one, and none with constraints, which refer to all rows.
    pub(super) fn new(problem: &Problem, mean: &Mean, watch: Watch) -> Result<Candidates> {
        match problem.sample_size(&problem.choose) {
            None => Candidates::all(problem, mean, watch),
            Some(size) => {
                let rows = subsample_by(problem.rows.len(), size, problem.choose.compute.seed ^ SAMPLE_SEED);
                let pool = pool_at(problem, mean, Some(&rows), watch)?;
                Ok(Candidates { pool, numbers: Numbers::Some(rows), closed: Vec::new(), is_sample: true })
            }
        }
    }

    /// All rows in memory as candidates.
    pub(super) fn all(problem: &Problem, mean: &Mean, watch: Watch) -> Result<Candidates> {
        let pool = pool_at(problem, mean, None, watch)?;
        let closed = problem.closed.clone();
        Ok(Candidates { pool, numbers: problem.numbers(), closed, is_sample: false })
    }

    /// Number of candidates, if they are a sample of the rows in memory.
    pub(super) fn sampled(&self) -> Option<usize> {
        self.is_sample.then(|| self.pool.points().len())
    }

    pub(super) fn places(&self, rows: &[usize]) -> Option<Vec<usize>> {
        self.numbers.places(rows)
    }

    /// Returns a herder over the candidates, without picks.
    pub(super) fn herder(&self, unique: bool) -> Result<Herder> {
        Herder::over(self.pool.clone()).unique(unique).excluding(&self.closed)
    }

    /// Translates the options of a set to positions of the pool, and excludes rows of weight zero unless they must be
    /// in.
    pub(super) fn options(&self, options: &RefineOptions) -> RefineOptions {
        let mut exclude = options.exclude.clone();
        exclude.extend(self.closed.iter().filter(|row| !options.include.contains(row)));
        RefineOptions { exclude, ..options.clone() }
    }

    /// Translates a pick to its row number.
    pub(super) fn numbered(&self, pick: &Pick) -> Pick {
        Pick { index: pick.index.map(|place| self.numbers.number(place)), ..pick.clone() }
    }

    /// Translates a choice to row numbers, without a copy of its trace.
    pub(super) fn with_row_numbers(&self, mut chosen: Chosen) -> Chosen {
        let number = |place: &mut usize| *place = self.numbers.number(*place);
        chosen.trace.iter_mut().filter_map(|pick| pick.index.as_mut()).for_each(number);
        chosen.rows.iter_mut().for_each(number);
        Chosen { sampled_from: self.sampled(), ..chosen }
    }

    /// Translates a set to row numbers.
    pub(super) fn set(&self, set: Refined) -> Refined {
        Refined { rows: set.rows.iter().map(|&place| self.numbers.number(place)).collect(), ..set }
    }
}

impl Problem {
    /// Numbers of the rows in memory, among all rows if they are a sample.
    pub(super) fn numbers(&self) -> Numbers {
        self.drawn().map_or(Numbers::All, |gathered| Numbers::Some(gathered.pool_rows().to_vec()))
    }

    /// Number of candidates to draw for a choice; `None` if all rows in memory are candidates.
    pub(super) fn sample_size(&self, choose: &Choose) -> Option<usize> {
        let is_possible = matches!(self.kind, Kind::Landmarks)
            && self.shares.is_none()
            && self.drawn().is_none()
            && !choose.method.is_constrained();
        choose.pool_size().filter(|size| is_possible && *size < self.rows.len())
    }
}

/// Builds the pool of these rows, or of all in memory.
fn pool_at(problem: &Problem, mean: &Mean, rows: Option<&[usize]>, watch: Watch) -> Result<Pool> {
    let points = match rows {
        Some(rows) => problem.points().select(rows)?,
        None => problem.points().clone(),
    };
    let mu = mean.embedding();
    let values = as_landmarks(&*mu).map(|landmarks| landmarks.values_at(&points, watch)).transpose()?;
    let pool = match values {
        Some(values) => Pool::of_values(mu, points.clone(), values)?,
        None => Pool::shared(mu, points.clone())?,
    };
    let parts = problem.matched.parts(problem.aimed(), &problem.rows, rows, &points)?;
    let pool = pool.with_parts(parts)?;
    match &problem.kind {
        Kind::Density(stein) if stein.preference.is_some() => {
            pool.with_preference(stein.preference.clone().expect("it was just seen"))
        }
        _ => Ok(pool),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twenty_rows_are_drawn_for_each_that_is_chosen_by_either_method() {
        for chosen in [100, 6000, 20_000] {
            let expected = Some((20 * chosen).max(POOL_ROWS));
            assert_eq!(Choose::thin(chosen).unwrap().pool_size(), expected);
            assert_eq!(Choose::herd(chosen).unwrap().pool_size(), expected);
        }
        assert_eq!(Choose::thin(6000).unwrap().pool_rows(7000).pool_size(), Some(7000));
        assert_eq!(Choose::nothing(None).pool_size(), None);
    }
}
