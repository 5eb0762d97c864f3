//! Rows that do not fit into memory: the only driver of the passes over them, for files, iterators and a cluster.
//!
//! 1. A [`Gatherer`] counts the rows, computes their moments and draws a pool ([`problem`]). A row is drawn by a hash
//!    of its number, so that all sources draw the same pool for the same seed (except a cluster whose partitions do not
//!    know their sizes).
//! 2. Landmarks are chosen from the pool, and all rows are summed at them and at control rows ([`prepare`]). Rows are
//!    then chosen from the pool as usual.
//! 3. All rows are summed at the chosen ones, and their errors are restated ([`measure`]).

mod counts;
mod gather;
mod one_pass;
mod pass;

pub(super) use self::gather::GatheredFunctions;
pub use self::gather::{Gathered, Gatherer, Shard};
pub use self::one_pass::Stream;
pub use self::pass::PassSums;
use super::landmarks::of_problem;
use super::mean::Mean;
use super::problem::Problem;
use super::{Choose, Chosen, Ended, ErrorsKnown, RowWeights, Size, Target};
use crate::embedding::LandmarkSums;
use crate::{Error, Points, Result, Watch, unwatched};

/// Source of rows that can be read several times, each time the same: files, a restartable iterator, a cluster.
pub trait Source {
    /// Error of the source.
    type Error: From<Error>;

    /// First pass: sends all rows to gatherers made by [`Choose::gatherer`], or by [`Shard`]s.
    fn gather(&mut self, choose: &Choose) -> std::result::Result<Gathered, Self::Error>;

    /// Later pass: adds all rows to each of these sums.
    fn sum(&mut self, pass: Pass, sums: &mut [PassSums]) -> std::result::Result<(), Self::Error>;

    /// Runs long work between the passes. By default without a watch.
    fn work<T: Send>(
        &mut self,
        work: impl FnOnce(Watch<'_>) -> Result<T> + Send,
    ) -> std::result::Result<T, Self::Error> {
        Ok(work(&unwatched)?)
    }
}

/// Purpose of a later pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pass {
    /// The mean embedding.
    Landmarks {
        /// Number of landmarks.
        count: usize,
    },
    /// The errors of chosen rows.
    Chosen {
        /// Number of chosen rows.
        count: usize,
    },
}

impl Pass {
    /// Name: landmarks or measure.
    pub fn name(self) -> &'static str {
        match self {
            Pass::Landmarks { .. } => "landmarks",
            Pass::Chosen { .. } => "measure",
        }
    }
}

impl Choose {
    /// Returns an empty gatherer that draws the candidates of this choice. Rows have the columns of `size` and then its
    /// functions.
    pub fn gatherer(&self, size: Size) -> Result<Gatherer> {
        Gatherer::new(size.columns + size.functions, self.drawn_rows(size)?, self.compute.seed)
    }
}

/// Chooses rows of a source in three passes; returns the target and the choice.
///
/// ```
/// use supersample::task::stream::{self, Repeated};
/// use supersample::task::{Choose, RowWeights};
/// let batch = |batch: i32| -> Vec<f64> {
///     (0..1000).map(|i| (f64::from(1000 * batch + i) * 0.7).sin()).collect()
/// };
/// let mut source = Repeated::new(2, |each| (0..20).try_for_each(|i| each(&batch(i), RowWeights::Equal)));
/// let choose = Choose::thin(20)?.pool_rows(3000);
/// let (target, chosen) = stream::choose(&mut source, choose)?;
/// assert_eq!((target.problem().gathered().unwrap().rows(), chosen.rows.len()), (10_000, 20));
/// assert!(chosen.mmd().unwrap() < 0.05 && chosen.standard_error.is_some());
/// # Ok::<(), supersample::Error>(())
/// ```
pub fn choose<S: Source>(source: &mut S, choose: Choose) -> std::result::Result<(Target, Chosen), S::Error> {
    let problem = problem(source, choose)?;
    let target = prepare(source, &problem)?;
    let chosen = source.work(|watch| target.choose(watch))?;
    let chosen = measure(source, &target, chosen)?;
    Ok((target, chosen))
}

/// Runs the first pass; returns the problem whose candidates are the drawn rows and whose target is all rows.
pub fn problem<S: Source>(source: &mut S, choose: Choose) -> std::result::Result<Problem, S::Error> {
    choose.check()?;
    choose.refuse_in_batches()?;
    let gathered = source.gather(&choose)?;
    source.work(|_| Problem::of_gathered(gathered, choose))
}

/// Runs the second pass, which sums all rows at landmarks; returns the target. If all rows were drawn, this is
/// [`Problem::prepare`].
pub fn prepare<S: Source>(source: &mut S, problem: &Problem) -> std::result::Result<Target, S::Error> {
    Ok(prepare_at(source, problem, None)?.0)
}

/// Runs the second pass and also sums at these points, in the units of the rows; returns the target and μ at each
/// point.
pub fn prepare_at<S: Source>(
    source: &mut S,
    problem: &Problem,
    points: Option<&Points>,
) -> std::result::Result<(Target, Option<Vec<f64>>), S::Error> {
    if problem.gathered().is_none() {
        return Ok((source.work(|watch| problem.prepare(watch))?, None));
    }
    let landmarks = source.work(|watch| problem.pass_at_landmarks(watch))?;
    let pass = Pass::Landmarks { count: landmarks.landmarks() };
    let at_points = points.map(|points| landmarks.at(problem.scaled(points)?)).transpose()?;
    let mut sums: Vec<PassSums> = [landmarks].into_iter().chain(at_points).collect();
    source.sum(pass, &mut sums)?;
    let target = source.work(|watch| problem.prepared_by(&sums[0], watch))?;
    let means = sums.get(1).map(|sums| sums.sums().means()).transpose()?;
    Ok((target, means))
}

/// Runs the third pass, which measures the errors of the chosen rows against all rows.
///
/// It does nothing if they are known already, or if the run was interrupted: the MMD then stays that to the landmarks.
pub fn measure<S: Source>(
    source: &mut S,
    target: &Target,
    chosen: Chosen,
) -> std::result::Result<Chosen, S::Error> {
    let is_known = target.errors_known() != ErrorsKnown::AfterPass;
    if is_known || chosen.rows.is_empty() || chosen.ended == Ended::Interrupted {
        return Ok(chosen);
    }
    let mut sums = [target.pass_at_rows(&chosen.rows)?];
    source.sum(Pass::Chosen { count: chosen.rows.len() }, &mut sums)?;
    let means = sums[0].sums().means()?;
    source.work(|_| target.measured(chosen, &means))
}

impl Choose {
    /// Checks that no option needs all rows in memory.
    pub fn refuse_in_batches(&self) -> Result<()> {
        let needs_all = [
            (self.method.is_constrained(), "a choice with included or excluded rows, or with groups,"),
            (self.weights.is_some(), "a search for unequal weights"),
            (self.stop.add.is_some(), "a number of rows that follows from the errors of all rows"),
            (self.compute.embedding == super::EmbeddingChoice::Exact, "an exact mean embedding"),
        ];
        match needs_all.into_iter().find(|(is_asked, _)| *is_asked) {
            Some((_, what)) => Err(Error::NotInMemory { what }),
            None => Ok(()),
        }
    }
}

impl Problem {
    /// Empty sums for a pass at landmarks and control rows.
    fn pass_at_landmarks(&self, watch: Watch) -> Result<PassSums> {
        let gathered = self.gathered().ok_or(Error::NotProjected)?;
        let count = self.choose.landmark_count(self.open_rows(), self.rows.dim());
        Ok(PassSums::at_landmarks(self.batching(), landmark_sums(self, gathered, count, watch)?))
    }

    /// Returns the target, after all rows have been summed at landmarks.
    fn prepared_by(&self, sums: &PassSums, watch: Watch) -> Result<Target> {
        let sums = sums.landmark_sums().ok_or(Error::NotProjected)?;
        let expected = self.gathered().map_or(self.rows.len(), Gathered::rows);
        if sums.sums().rows() != expected as u64 {
            return Err(Error::RowsSummed { found: sums.sums().rows() as usize, expected });
        }
        Target::new(self.clone(), Mean::of_pass(sums, watch)?, watch)
    }
}

impl Target {
    /// Empty sums for a pass at these rows, rounded like those at the landmarks.
    fn pass_at_rows(&self, rows: &[usize]) -> Result<PassSums> {
        let problem = self.problem();
        let landmarks = self.landmarks().ok_or(Error::NotProjected)?.sums();
        let points = problem.points().select(&self.places(rows)?)?;
        PassSums::at_landmarks(problem.batching(), landmarks.clone()).at(points)
    }
}

fn landmark_sums(problem: &Problem, gathered: &Gathered, count: usize, watch: Watch) -> Result<LandmarkSums> {
    let landmarks = of_problem(problem, problem.shares(), count, watch)?;
    // Drawn from all rows. In the pool, landmarks (with residual zero) would be too frequent.
    let controls = problem.scaled(gathered.controls())?;
    let sums = LandmarkSums::new(problem.kernel().clone(), landmarks, Some(controls), problem.precision())?;
    Ok(sums.on(problem.device()))
}

/// Sums of an earlier run of the same problem.
pub(super) fn recalled_sums(problem: &Problem, gathered: &Gathered, numbers: &[f64]) -> Result<LandmarkSums> {
    let (others, most) = (gathered.controls().len() + 2, problem.open_rows());
    let count = numbers.len().checked_sub(others).filter(|count| (1..=most).contains(count));
    let count = count.ok_or(Error::RecalledCount { found: numbers.len(), expected: others + most })?;
    let sums = landmark_sums(problem, gathered, count, &unwatched)?;
    sums.recalled(numbers, gathered.rows() as u64, problem.shares().is_some())
}

/// Source whose batches come from a function that can be called several times.
pub struct Repeated<F> {
    size: Size,
    pass: F,
}

/// Callback for each batch: rows in their own units, in row order, and their weights.
pub type Each<'a> = &'a mut dyn FnMut(&[f64], RowWeights<'_>) -> Result<()>;

impl<F: FnMut(Each<'_>) -> Result<()>> Repeated<F> {
    /// Creates a source of rows with this number of columns; `pass` goes through all of them once.
    pub fn new(columns: usize, pass: F) -> Repeated<F> {
        Repeated { size: Size { columns, ..Size::default() }, pass }
    }
}

impl<F: FnMut(Each<'_>) -> Result<()>> Source for Repeated<F> {
    type Error = Error;

    fn gather(&mut self, choose: &Choose) -> Result<Gathered> {
        let mut gatherer = choose.gatherer(self.size)?;
        (self.pass)(&mut |rows, weights| gatherer.update(rows, weights))?;
        gatherer.finish()
    }

    fn sum(&mut self, _: Pass, sums: &mut [PassSums]) -> Result<()> {
        (self.pass)(&mut |rows, weights| {
            sums.iter_mut().try_for_each(|sums| sums.update(rows, weights, &unwatched))
        })
    }
}
