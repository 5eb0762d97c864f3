//! Target: the prepared mean embedding, with the candidates.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use super::candidates::Candidates;
use super::mean::{ErrorsKnown, Mean};
use super::problem::Problem;
use super::{Choose, Chosen, Diagnosis, Ended, ErrorScale, Errors, Measure, Method, Overlap, Stop};
use crate::quality::Reference;
use crate::weights::WeightRule;
use crate::{
    Error, Herder, Landmarks, MeanEmbedding, Pick, Points, Pool, Precision, Result, Watch, unwatched,
};

/// Prepared target: chooses rows that match it, and evaluates subsets.
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
    /// Candidates of the problem's choice.
    candidates: Candidates,
    /// All rows as candidates, if the others are a sample and all rows are needed.
    all: OnceLock<Candidates>,
    reference: OnceLock<Reference>,
    pub(super) diagnosed: OnceLock<Result<Diagnosis>>,
    pub(super) overlap: OnceLock<Overlap>,
}

/// Earlier run to continue, and a callback for each pick, for checkpoints.
pub struct Continued<'a> {
    /// Rows herded by the earlier run. Sets with constraints do not start from herded rows and ignore them.
    pub rows: &'a [usize],
    /// Called after each pick; [`Break`](ControlFlow::Break) ends the run there.
    pub seen: &'a mut dyn FnMut(&Pick) -> ControlFlow<()>,
}

impl Target {
    pub(super) fn new(problem: Problem, mean: Mean, watch: Watch) -> Result<Target> {
        let candidates = Candidates::new(&problem, &mean, watch)?;
        Ok(Target {
            problem,
            mean,
            candidates,
            all: OnceLock::new(),
            reference: OnceLock::new(),
            diagnosed: OnceLock::new(),
            overlap: OnceLock::new(),
        })
    }

    /// The prepared problem.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// Chooses rows by the options of the problem.
    ///
    /// A herded sequence ends where a stop rule holds; any prefix of it is good too. A set is the best that herding,
    /// swaps and the search find; if a stop rule is about the error, the fewest rows that reach it. Its rows come in
    /// greedy order, so that prefixes are good sets too. The trace is that of a herder that takes them in this order.
    ///
    /// If `watch` ends it while herding, the result is the rows so far; in swaps or search, the best set so far; while
    /// the first constrained set is built, [`Error::Interrupted`]. If more rows are asked for than may be chosen, the
    /// result is all of them with [`Ended::Exhausted`], or [`Error::TooFewRows`] with constraints. If the target says
    /// [`ErrorsKnown::AfterPass`], the MMD is that to the landmarks until [`measured`](Self::measured) has restated it.
    pub fn choose(&self, watch: Watch) -> Result<Chosen> {
        self.choose_by(&self.problem.choose, watch)
    }

    /// Chooses rows with other stop rules or another method; objective and distance stay those of the problem.
    pub fn choose_by(&self, choose: &Choose, watch: Watch) -> Result<Chosen> {
        let mut unseen = |_: &Pick| ControlFlow::Continue(());
        self.continued(choose, Continued { rows: &[], seen: &mut unseen }, watch)
    }

    /// Continues an earlier run; otherwise like [`choose_by`](Self::choose_by).
    pub fn continued(&self, choose: &Choose, from: Continued<'_>, watch: Watch) -> Result<Chosen> {
        choose.stop.check()?;
        if choose.weights == Some(WeightRule::Calibrated) {
            self.check_calibrated(&choose.calibrate)?;
        }
        let chosen = match &choose.method {
            Method::Herd { unique } => self.herd(choose, *unique, from, watch)?,
            Method::Thin(refine) => self.thin(choose, refine, from, watch)?,
        };
        self.device_check()?;
        self.finished(chosen, choose, watch)
    }

    /// Turns picks of a herder over this target ([`herder`](Self::herder)) into a choice, with the weights and errors
    /// of `choose`.
    pub fn picked(&self, picks: &[Pick], choose: &Choose, watch: Watch) -> Result<Chosen> {
        let chosen = Chosen::new(picks.to_vec(), Ended::Number);
        let trace = match self.landmarks() {
            // The picks used the approximation by landmarks.
            Some(_) => self.trace_of(&chosen.rows, watch)?,
            None => chosen.trace,
        };
        self.finished(Chosen { trace, ..chosen }, choose, watch)
    }

    /// Adds weights and errors to a choice.
    fn finished(&self, chosen: Chosen, choose: &Choose, watch: Watch) -> Result<Chosen> {
        if chosen.rows.is_empty() {
            return Ok(chosen);
        }
        let chosen = self.judged(chosen, choose);
        // What is chosen is not given up for it.
        let mut chosen = chosen;
        if chosen.ended != Ended::Interrupted
            && !choose.compute.no_diagnosis
            && let Ok(found) = self.diagnosis(watch)
        {
            chosen.advice.extend(found.advice());
        }
        let chosen = match choose.weights {
            // Not after an interruption.
            Some(WeightRule::Calibrated) if chosen.ended != Ended::Interrupted => {
                self.calibrated(chosen, &choose.calibrate, watch)?
            }
            Some(rule) if chosen.ended != Ended::Interrupted => self.weighed(chosen, rule, watch)?,
            _ => chosen,
        };
        self.with_errors(self.overlapping(chosen, watch)?)
    }

    /// Says once, by the error that is reported, whether a goal was reached, and whether any row is left.
    pub(super) fn judged(&self, chosen: Chosen, choose: &Choose) -> Chosen {
        let stop = &choose.stop;
        if matches!(chosen.ended, Ended::Interrupted | Ended::Enough) {
            return chosen;
        }
        let is_all = choose.is_unique() && chosen.rows.len() >= self.problem.open_rows();
        let left_over = match is_all && stop.number.is_none() {
            true => Ended::Exhausted,
            false if chosen.ended.is_goal() => Ended::Number,
            false => chosen.ended,
        };
        let ended = stop.met_by(chosen.error(), &self.error_scale()).unwrap_or(left_over);
        Chosen { ended, ..chosen }
    }

    /// Adds the errors of the rows with their weights.
    pub(super) fn with_errors(&self, chosen: Chosen) -> Result<Chosen> {
        let weights = chosen.weights.as_ref().map(|found| found.weights.as_slice());
        let errors = Errors::default()
            .with(Measure::Cdf, self.cdf_of_rows(&chosen.rows, weights)?)
            .with(Measure::FunctionsError, self.functions_error(&chosen.rows, weights)?);
        let published = match &self.problem.matched.fitted {
            Some(fitted) => fitted.reached(&self.select(&chosen.rows)?, weights)?,
            None => Vec::new(),
        };
        self.with_mmd(Chosen { errors, published, ..chosen })
    }

    /// Adds the MMD and the equivalent draws to a choice.
    pub(super) fn with_mmd(&self, chosen: Chosen) -> Result<Chosen> {
        let mmd = chosen.weights.as_ref().map_or(chosen.error(), |found| found.error);
        let scale = self.error_scale();
        let errors = self.with_equivalents(chosen.errors.with(Measure::Mmd, mmd), &scale);
        let standard_error = mmd.and_then(|mmd| scale.standard_error(mmd));
        Ok(Chosen { errors, standard_error, ..chosen })
    }

    /// These errors with what their MMD is equivalent to, in draws of the rows and of what these were drawn from.
    pub(super) fn with_equivalents(&self, errors: Errors, scale: &ErrorScale) -> Errors {
        let equivalent = errors.get(Measure::Mmd).and_then(|mmd| scale.equivalent_draws(mmd));
        let of_posterior = self.diagnosed().zip(equivalent).map(|(found, draws)| found.of_posterior(draws));
        errors.with(Measure::EquivalentDraws, equivalent).with(Measure::PosteriorDraws, of_posterior)
    }

    /// When the errors of chosen rows are known.
    pub fn errors_known(&self) -> ErrorsKnown {
        self.mean.errors_known(self.candidates.pool.is_on_gpu())
    }

    /// Landmarks that approximate the mean embedding, if any.
    pub fn landmarks(&self) -> Option<&Landmarks> {
        self.mean.landmarks()
    }

    /// Numbers that [`Problem::recall`] takes: μ on the rows, or the sums at landmarks.
    pub fn recalled(&self) -> Cow<'_, [f64]> {
        self.mean.numbers()
    }

    /// Mean embedding of the scaled rows that rows are chosen by.
    pub fn embedding(&self) -> Arc<dyn MeanEmbedding> {
        self.mean.embedding()
    }

    /// Precision in use: double instead of mixed if the rows are few or spread too widely.
    pub fn precision(&self) -> Precision {
        self.mean.precision()
    }

    /// Scale of errors.
    pub fn error_scale(&self) -> ErrorScale {
        let pool = &self.candidates.pool;
        let scale = ErrorScale::of(pool);
        let Some(landmarks) = self.landmarks() else { return scale };
        // Errors are measured with exact μ, so they do not include the residual of the landmarks.
        let known = landmarks.squared_norm_error().map_or(0.0, |error| (3.0 * error).sqrt());
        ErrorScale { floor: pool.rounding_floor().max(known), ..scale }
    }

    /// Returns a herder over all rows that may be chosen, without picks.
    pub fn herder(&self, unique: bool) -> Result<Herder> {
        let herder = self.all_candidates(&unwatched)?.herder(unique)?;
        Ok(if self.landmarks().is_some() { herder.with_fast_errors() } else { herder })
    }

    /// Pool of all rows in memory, with μ at each.
    pub fn pool(&self) -> Result<&Pool> {
        Ok(&self.all_candidates(&unwatched)?.pool)
    }

    /// Statistics of the rows that are matched, with which subsets are compared by column.
    pub fn reference(&self) -> Result<&Reference> {
        if let Some(reference) = self.reference.get() {
            return Ok(reference);
        }
        let (rows, shares) = self.problem.target_rows();
        let mut reference = Reference::of_rows(rows, shares, self.problem.column_moments.as_deref())?;
        if let Some(gathered) = self.problem.gathered() {
            reference = reference.with_moments(gathered.moments(), &rows.as_slice()[..rows.dim()]);
        }
        Ok(self.reference.get_or_init(|| reference))
    }

    /// Returns the rows with these numbers, in their own units.
    pub fn select(&self, rows: &[usize]) -> Result<Points> {
        self.problem.rows.select(&self.places(rows)?)
    }

    /// Positions of these rows among those in memory.
    pub(super) fn places(&self, rows: &[usize]) -> Result<Vec<usize>> {
        self.problem.numbers().places(rows).ok_or(Error::NotInMemory { what: "a row that was not drawn" })
    }

    /// Candidates of a choice that contain the `earlier` rows, and the positions of these in the pool.
    pub(super) fn candidates(
        &self,
        choose: &Choose,
        earlier: &[usize],
        watch: Watch,
    ) -> Result<(&Candidates, Vec<usize>)> {
        // A sample drawn for fewer chosen rows is too small.
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

    /// All rows in memory as candidates.
    pub(super) fn all_candidates(&self, watch: Watch) -> Result<&Candidates> {
        if self.candidates.sampled().is_none() {
            return Ok(&self.candidates);
        }
        if self.all.get().is_none() {
            // If two threads get here, the first wins: the values are equal.
            let _ = self.all.set(Candidates::all(&self.problem, &self.mean, watch)?);
        }
        Ok(self.all.get().expect("it was just made"))
    }

    /// Pool of only these rows, in their order.
    pub(super) fn pool_of(&self, rows: &[usize]) -> Result<Pool> {
        match self.candidates.places(rows) {
            Some(places) => self.candidates.pool.select(&places),
            None => self.pool()?.select(&self.places(rows)?),
        }
    }

    /// MMD of rows that were taken without a look at μ. Needs no pool of all rows.
    ///
    /// By landmarks μ at such rows is too small, by ‖μ − μ̃‖² in the mean over all rows, because μ̃ is a projection. That is added.
    pub(super) fn mmd_by_pool(&self, places: &[usize]) -> Result<f64> {
        let error = match self.candidates.sampled() {
            None => self.candidates.pool.mmd_of_rows(places)?,
            Some(_) => {
                let points = self.problem.points().select(places)?;
                let all: Vec<usize> = (0..places.len()).collect();
                Pool::shared(self.embedding(), points)?.mmd_of_rows(&all)?
            }
        };
        let missed = self.landmarks().and_then(Landmarks::residual).unwrap_or(0.0);
        let corrected = |error: f64| (error * error - 2.0 * missed * missed).max(0.0).sqrt();
        error.map(corrected).ok_or(Error::UnknownNorm)
    }

    /// MMD of rows with their exact μ; `None` where that is known anyway, or where the other rows are not in memory.
    pub(super) fn mmd_by_exact_means(&self, places: &[usize], watch: Watch) -> Result<Option<f64>> {
        if self.landmarks().is_none() {
            return Ok(None);
        }
        let points = self.problem.points().select(places)?;
        let Some(means) = self.mean.exact_at(&points, watch) else { return Ok(None) };
        let all: Vec<usize> = (0..places.len()).collect();
        Pool::of_values(self.embedding(), points, means)?.mmd_of_rows(&all)
    }

    fn device_check(&self) -> Result<()> {
        self.problem.device().check()
    }
}

impl Stop {
    /// Largest number of rows to choose, of `open` rows that may be chosen.
    pub(super) fn limit(&self, open: usize) -> usize {
        self.number.unwrap_or(open)
    }
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Target").field("problem", &self.problem).finish_non_exhaustive()
    }
}

/// Whether herded rows are final: after an interruption, or if all rows were chosen and no swap is possible.
pub(super) fn is_final(ended: Ended) -> bool {
    matches!(ended, Ended::Interrupted | Ended::Exhausted)
}
