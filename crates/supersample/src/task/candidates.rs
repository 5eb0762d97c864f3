//! Candidates: the rows that are chosen from, and the one translation between their places and the numbers of the rows.
//!
//! Every pick goes through all candidates once, so that among a million rows choosing costs more than comparing them with
//! landmarks does. So of very many rows a uniform sample is chosen from. All rows are matched whatever is chosen from, and the
//! error that is reported is that to all rows.

use super::problem::{Kind, Problem};
use super::{CONTROL_ROWS, Choose, Chosen, mean::Mean};
use crate::embedding::as_landmarks;
use crate::row_sampling::subsample_by;
use crate::{Herder, Pick, Pool, RefineOptions, Refined, Result, Watch};

/// The fewest rows of a sample to choose from, where no number is given.
pub const POOL_ROWS: usize = 200_000;

/// Rows of a sample for each that is to be chosen.
const FOR_EACH: usize = 20;

/// So that the sample has nothing to do with the rows that landmarks are chosen from, nor with the control rows.
const SAMPLE_SEED: u64 = 0x2545_f491_4f6c_dd1d;

impl Choose {
    /// How many rows are drawn to choose from where there are more, if memory does not limit them: what was asked for, or
    /// 200,000, or twenty for each row that is to be chosen. `None`, for all rows in memory, where neither is known.
    pub(super) fn pool_size(&self) -> Option<usize> {
        let default = |chosen: usize| chosen.saturating_mul(FOR_EACH).max(POOL_ROWS);
        self.compute.pool_rows.or_else(|| self.stop.number.map(default))
    }

    /// How many kernel values are computed before the first row is chosen, and for each row that is then herded, where there
    /// are this number of rows.
    ///
    /// ```
    /// use supersample::task::Choose;
    /// assert_eq!(Choose::herd(10)?.kernel_values(1000), (499_500.0, 1000.0));
    /// let (compared, each) = Choose::herd(10)?.kernel_values(1_000_000); // with 500 landmarks and 1,000 control rows
    /// assert_eq!((compared, each), (1e6 * 1500.0 + 2e5 * 500.0, 1.2e6));
    /// # Ok::<(), supersample::Error>(())
    /// ```
    pub fn kernel_values(&self, rows: usize) -> (f64, f64) {
        let all = rows as f64;
        let Some(landmarks) = self.landmarks_of(rows) else { return (all * (all - 1.0) / 2.0, all) };
        let candidates = self.pool_size().unwrap_or(POOL_ROWS).min(rows) as f64;
        // Once chosen, a row is compared with all of them.
        (all * (landmarks + CONTROL_ROWS) as f64 + candidates * landmarks as f64, all + candidates)
    }

    /// Whether rows in single precision, without weights, are to be gone through in batches, so that they stay in it: no more
    /// than the sample is ever double at once. Not where all of them are needed: to be compared with each other, for
    /// constraints or weights, on a GPU, where it is not known how many are to be chosen, and where a sample would have them all.
    ///
    /// ```
    /// use supersample::task::{Choose, EmbeddingChoice};
    /// let choose = Choose::thin(500)?;
    /// assert!(choose.goes_in_batches(1_000_000) && !choose.goes_in_batches(150_000));
    /// assert!(!choose.embedding(EmbeddingChoice::Exact).goes_in_batches(1_000_000));
    /// # Ok::<(), supersample::Error>(())
    /// ```
    pub fn goes_in_batches(&self, rows: usize) -> bool {
        let needs_all =
            self.method.is_constrained() || self.weights.is_some() || self.compute.device.is_gpu();
        !needs_all && self.landmarks_of(rows).is_some() && self.pool_size().is_some_and(|drawn| drawn < rows)
    }
}

/// Row numbers by their places: every row in its own, or some of them in ascending order.
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

    /// The places of these rows; `None` where one is not among them.
    pub(super) fn places(&self, rows: &[usize]) -> Option<Vec<usize>> {
        match self {
            Numbers::All => Some(rows.to_vec()),
            Numbers::Some(known) => rows.iter().map(|row| known.binary_search(row).ok()).collect(),
        }
    }
}

/// What is chosen from.
#[derive(Clone)]
pub(super) struct Candidates {
    pub(super) pool: Pool,
    /// The numbers of its rows.
    numbers: Numbers,
    /// The places that must not be chosen.
    closed: Vec<usize>,
    is_sample: bool,
}

impl Candidates {
    /// As many as a choice asks for: all rows at hand, or a sample of them. Rows with weights differ too much for a
    /// uniform sample, and constraints are said of all rows.
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

    /// All rows at hand.
    pub(super) fn all(problem: &Problem, mean: &Mean, watch: Watch) -> Result<Candidates> {
        let pool = pool_at(problem, mean, None, watch)?;
        let closed = problem.closed.clone();
        Ok(Candidates { pool, numbers: problem.numbers(), closed, is_sample: false })
    }

    /// How many there are, where they are a sample of the rows in memory.
    pub(super) fn sampled(&self) -> Option<usize> {
        self.is_sample.then(|| self.pool.points().len())
    }

    pub(super) fn places(&self, rows: &[usize]) -> Option<Vec<usize>> {
        self.numbers.places(rows)
    }

    /// A herder over them, without picks.
    pub(super) fn herder(&self, unique: bool) -> Result<Herder> {
        Herder::over(self.pool.clone()).unique(unique).excluding(&self.closed)
    }

    /// The options of a set in places of the pool, with the rows of no weight excluded but for those that must be in.
    pub(super) fn options(&self, options: &RefineOptions) -> RefineOptions {
        let mut exclude = options.exclude.clone();
        exclude.extend(self.closed.iter().filter(|row| !options.include.contains(row)));
        RefineOptions { exclude, ..options.clone() }
    }

    /// A pick with the number of its row.
    pub(super) fn numbered(&self, pick: &Pick) -> Pick {
        Pick { index: pick.index.map(|place| self.numbers.number(place)), ..pick.clone() }
    }

    /// What was chosen, with the numbers of the rows.
    pub(super) fn chosen(&self, chosen: Chosen) -> Chosen {
        let trace = chosen.trace.iter().map(|pick| self.numbered(pick)).collect();
        Chosen { sampled_from: self.sampled(), ..Chosen::new(trace, chosen.ended) }
    }

    /// A set with the numbers of its rows.
    pub(super) fn set(&self, set: Refined) -> Refined {
        Refined { rows: set.rows.iter().map(|&place| self.numbers.number(place)).collect(), ..set }
    }
}

impl Problem {
    /// The numbers of the rows at hand: among all rows where they are a sample.
    pub(super) fn numbers(&self) -> Numbers {
        match &self.kind {
            Kind::Batches(gathered) => Numbers::Some(gathered.pool_rows().to_vec()),
            _ => Numbers::All,
        }
    }

    /// How many rows are drawn for a choice; `None` where all rows at hand are chosen from.
    pub(super) fn sample_size(&self, choose: &Choose) -> Option<usize> {
        let is_possible =
            matches!(self.kind, Kind::Landmarks) && self.shares.is_none() && !choose.method.is_constrained();
        choose.pool_size().filter(|size| is_possible && *size < self.rows.len())
    }
}

/// The pool of these rows, or of all at hand.
fn pool_at(problem: &Problem, mean: &Mean, rows: Option<&[usize]>, watch: Watch) -> Result<Pool> {
    let points = match rows {
        Some(rows) => problem.points().select(rows)?,
        None => problem.points().clone(),
    };
    let mu = mean.embedding();
    let values = as_landmarks(&*mu).map(|landmarks| landmarks.values_at(&points, watch)).transpose()?;
    let pool = match values {
        Some(values) => Pool::of_values(mu, points, values)?,
        None => Pool::shared(mu, points)?,
    };
    let pool = pool.with_parts(problem.matched.parts(&problem.rows, problem.shares(), rows)?)?;
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
