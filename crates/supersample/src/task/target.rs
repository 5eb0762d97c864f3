//! Target: what is to be matched, prepared, with the candidates that are chosen from.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use super::candidates::Candidates;
use super::mean::{ErrorsKnown, Mean};
use super::problem::Problem;
use super::{Choose, Chosen, Ended, ErrorScale, Errors, Measure, Method, Stop};
use crate::quality::Reference;
use crate::{
    Error, Herder, Landmarks, MeanEmbedding, Pick, Points, Pool, Precision, Result, Watch, unwatched,
};

/// What is to be matched, prepared: rows are chosen to match it, and subsets are measured by it.
///
/// ```
/// use supersample::task::{Choose, Problem};
/// use supersample::{Points, unwatched};
/// let rows: Vec<f64> = (0..600).map(|i| (i as f64 * 0.7).sin()).collect();
/// let target = Problem::new(Points::from_rows(&rows, 2)?, Choose::thin(20)?)?.prepare(&unwatched)?;
/// let chosen = target.choose(&unwatched)?;
/// let found = target.summarise(&chosen, &unwatched)?;
/// assert!(chosen.rows.len() == 20 && chosen.mmd() < Some(found.comparison.unwrap().random_mean()));
/// # Ok::<(), supersample::Error>(())
/// ```
pub struct Target {
    problem: Problem,
    pub(super) mean: Mean,
    /// As many as the problem's choice asks for.
    candidates: Candidates,
    /// All rows, where those are a sample and all of them are needed after all.
    all: OnceLock<Candidates>,
    reference: OnceLock<Reference>,
}

/// An earlier run that is continued, and a look at each pick, for checkpoints.
pub struct Continued<'a> {
    /// The rows that the earlier run had herded. Sets with constraints do not start from herded rows and pass them over.
    pub rows: &'a [usize],
    /// Called after each pick; [`Break`](ControlFlow::Break) ends the run there.
    pub seen: &'a mut dyn FnMut(&Pick) -> ControlFlow<()>,
}

impl Target {
    pub(super) fn new(problem: Problem, mean: Mean, watch: Watch) -> Result<Target> {
        let candidates = Candidates::new(&problem, &mean, watch)?;
        Ok(Target { problem, mean, candidates, all: OnceLock::new(), reference: OnceLock::new() })
    }

    /// The problem that was prepared.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// Chooses rows as the problem says.
    ///
    /// A herded sequence is cut where a rule holds; any prefix of it is good too. A set is the best that herding, swaps and
    /// the search find; where an error or equivalent draws are asked for, the fewest rows that reach it. Its rows come in greedy order,
    /// so that prefixes are good sets too, and the trace is that of a herder which takes them in this order.
    ///
    /// Ended by `watch` while herding, the rows so far are the result; ended in swaps or search, the best set so far is; ended
    /// while a constrained set is first put together, there is none but [`Error::Interrupted`]. More rows than may be chosen
    /// end in [`Ended::Exhausted`] with all of them, or in [`Error::TooFewRows`] where rows must be in or out or come from
    /// groups. Where the target says [`ErrorsKnown::AfterPass`], the MMD is that to the landmarks until
    /// [`measured`](Self::measured) has restated it.
    pub fn choose(&self, watch: Watch) -> Result<Chosen> {
        self.choose_by(&self.problem.choose, watch)
    }

    /// Chooses by other rules or another method than the problem has; what is matched and by which distance stays.
    pub fn choose_by(&self, choose: &Choose, watch: Watch) -> Result<Chosen> {
        let mut unseen = |_: &Pick| ControlFlow::Continue(());
        self.continued(choose, Continued { rows: &[], seen: &mut unseen }, watch)
    }

    /// [`choose_by`](Self::choose_by) from the rows of an earlier run.
    pub fn continued(&self, choose: &Choose, from: Continued<'_>, watch: Watch) -> Result<Chosen> {
        choose.stop.check()?;
        let chosen = match &choose.method {
            Method::Herd { unique } => self.herd(choose, *unique, from, watch)?,
            Method::Thin(refine) => self.thin(choose, refine, from, watch)?,
        };
        self.device_check()?;
        self.finished(chosen, choose, watch)
    }

    /// Picks of a herder over this target ([`herder`](Self::herder)) as a choice, with weights and errors as `choose` asks for.
    pub fn picked(&self, picks: &[Pick], choose: &Choose, watch: Watch) -> Result<Chosen> {
        let chosen = Chosen::new(picks.to_vec(), Ended::Number);
        let trace = match self.landmarks() {
            // While picking, landmarks have approximated the mean embedding.
            Some(_) => self.trace_of(&chosen.rows, watch)?,
            None => chosen.trace,
        };
        self.finished(Chosen { trace, ..chosen }, choose, watch)
    }

    /// What was chosen with its weights and errors.
    fn finished(&self, chosen: Chosen, choose: &Choose, watch: Watch) -> Result<Chosen> {
        if chosen.rows.is_empty() {
            return Ok(chosen);
        }
        let chosen = match choose.weights {
            // A run that was interrupted has no time for them.
            Some(rule) if chosen.ended != Ended::Interrupted => self.weighed(chosen, rule, watch)?,
            _ => chosen,
        };
        self.with_errors(chosen)
    }

    /// What was chosen with the errors of its rows, weighted as they are.
    pub(super) fn with_errors(&self, chosen: Chosen) -> Result<Chosen> {
        let weights = chosen.weights.as_ref().map(|found| found.weights.as_slice());
        let errors = Errors::default()
            .with(Measure::Cdf, self.cdf_of_rows(&chosen.rows, weights)?)
            .with(Measure::FunctionsError, self.functions_error(&chosen.rows, weights)?);
        self.with_mmd(Chosen { errors, ..chosen })
    }

    /// What was chosen with its MMD and its equivalent draws.
    pub(super) fn with_mmd(&self, chosen: Chosen) -> Result<Chosen> {
        let mmd = chosen.weights.as_ref().map_or(chosen.error(), |found| found.error);
        let scale = self.error_scale();
        let errors = chosen
            .errors
            .with(Measure::Mmd, mmd)
            .with(Measure::EquivalentDraws, mmd.and_then(|mmd| scale.equivalent_draws(mmd)));
        let standard_error = mmd.and_then(|mmd| scale.standard_error(mmd));
        Ok(Chosen { errors, standard_error, ..chosen })
    }

    /// When the errors of chosen rows are known.
    pub fn errors_known(&self) -> ErrorsKnown {
        self.mean.errors_known(self.candidates.pool.is_on_gpu())
    }

    /// The landmarks that approximate the mean embedding, where there are some.
    pub fn landmarks(&self) -> Option<&Landmarks> {
        self.mean.landmarks()
    }

    /// μ on the rows, or the sums at landmarks: what [`Problem::recall`] takes.
    pub fn recalled(&self) -> Cow<'_, [f64]> {
        self.mean.numbers()
    }

    /// The mean embedding of the scaled rows, in the form that rows are chosen by.
    pub fn embedding(&self) -> Arc<dyn MeanEmbedding> {
        self.mean.embedding()
    }

    /// The precision in use: double, although mixed was asked for, where the rows are few or spread too wide.
    pub fn precision(&self) -> Precision {
        self.mean.precision()
    }

    /// What errors are measured against.
    pub fn error_scale(&self) -> ErrorScale {
        let pool = &self.candidates.pool;
        let scale = ErrorScale::of(pool);
        let Some(landmarks) = self.landmarks() else { return scale };
        // Errors are measured, so that what landmarks do not see is no part of them.
        let known = landmarks.squared_norm_error().map_or(0.0, |error| (3.0 * error).sqrt());
        ErrorScale { floor: pool.rounding_floor().max(known), ..scale }
    }

    /// A herder over all rows that may be chosen, without picks.
    pub fn herder(&self, unique: bool) -> Result<Herder> {
        let herder = self.all_candidates(&unwatched)?.herder(unique)?;
        Ok(if self.landmarks().is_some() { herder.with_fast_errors() } else { herder })
    }

    /// All rows at hand with μ at each of them.
    pub fn pool(&self) -> Result<&Pool> {
        Ok(&self.all_candidates(&unwatched)?.pool)
    }

    /// The rows at hand gone through once, so that subsets can be compared with them column by column.
    pub fn reference(&self) -> Result<&Reference> {
        if let Some(reference) = self.reference.get() {
            return Ok(reference);
        }
        let rows = &self.problem.rows;
        let mut reference = Reference::new(rows.as_slice(), rows.dim(), self.problem.shares())?;
        if let Some(gathered) = self.problem.gathered() {
            reference = reference.with_moments(gathered.moments());
        }
        Ok(self.reference.get_or_init(|| reference))
    }

    /// The rows of these numbers, in their own units.
    pub fn select(&self, rows: &[usize]) -> Result<Points> {
        self.problem.rows.select(&self.places(rows)?)
    }

    /// The places of these rows among those at hand.
    pub(super) fn places(&self, rows: &[usize]) -> Result<Vec<usize>> {
        self.problem.numbers().places(rows).ok_or(Error::NotInMemory { what: "a row that was not drawn" })
    }

    /// The candidates of a choice, with `earlier` rows among them, which come back as places of the pool.
    pub(super) fn candidates(
        &self,
        choose: &Choose,
        earlier: &[usize],
        watch: Watch,
    ) -> Result<(&Candidates, Vec<usize>)> {
        // A sample that was drawn for fewer rows has not enough of them.
        let is_enough = match (self.candidates.sampled(), self.problem.sample_size(choose)) {
            (None, _) => true,
            (Some(drawn), Some(size)) => drawn >= size,
            (Some(_), None) => false,
        };
        match self.candidates.places(earlier).filter(|_| is_enough) {
            Some(places) => Ok((&self.candidates, places)),
            None => {
                let all = self.all_candidates(watch)?;
                let places =
                    all.places(earlier).ok_or(Error::NotInMemory { what: "a row that was not drawn" })?;
                Ok((all, places))
            }
        }
    }

    /// All rows at hand as candidates.
    pub(super) fn all_candidates(&self, watch: Watch) -> Result<&Candidates> {
        if self.candidates.sampled().is_none() {
            return Ok(&self.candidates);
        }
        if self.all.get().is_none() {
            // Of two threads the first: the values are the same.
            let _ = self.all.set(Candidates::all(&self.problem, &self.mean, watch)?);
        }
        Ok(self.all.get().expect("it was just made"))
    }

    /// The pool of these rows alone, in their order.
    pub(super) fn pool_of(&self, rows: &[usize]) -> Result<Pool> {
        match self.candidates.places(rows) {
            Some(places) => self.candidates.pool.select(&places),
            None => self.pool()?.select(&self.places(rows)?),
        }
    }

    /// The MMD of these rows with μ as rows are chosen by it. It needs no pool of all rows.
    pub(super) fn mmd_by_pool(&self, places: &[usize]) -> Result<f64> {
        let error = match self.candidates.sampled() {
            None => self.candidates.pool.mmd_of_rows(places)?,
            Some(_) => {
                let points = self.problem.points().select(places)?;
                let all: Vec<usize> = (0..places.len()).collect();
                Pool::shared(self.embedding(), points)?.mmd_of_rows(&all)?
            }
        };
        error.ok_or(Error::UnknownNorm)
    }

    fn device_check(&self) -> Result<()> {
        self.problem.device().check()
    }
}

impl Stop {
    /// How many rows at most, of this number that may be chosen.
    pub(super) fn limit(&self, open: usize) -> usize {
        self.number.unwrap_or(open)
    }
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Target").field("problem", &self.problem).finish_non_exhaustive()
    }
}

/// Whether nothing more can be done with rows that were herded: a run that was interrupted has no time to lose, and all rows are a
/// set that no swap can change.
pub(super) fn is_final(ended: Ended) -> bool {
    matches!(ended, Ended::Interrupted | Ended::Exhausted)
}
