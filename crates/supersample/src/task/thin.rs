//! Thinning: the best rows as a set, herded first, then swapped and searched.

use std::ops::ControlFlow;

use super::{Chosen, Ended, Problem, Stop, as_many_herded};
use crate::{Error, Fewest, Herder, Pick, RefineOptions, Refined, Refiner, Result, Watch};

/// How a set of rows is thinned.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ThinOptions {
    /// Which rows the set may have, and how long to look for it.
    pub refine: RefineOptions,
    /// The herded rows of an earlier run of the same problem, from which this one goes on. Sets that are constrained
    /// (rows in or out, groups) do not start from herded rows and pass them over.
    pub earlier: Vec<usize>,
}

impl ThinOptions {
    /// Rows that may be in the set, and how long to look for it.
    pub fn refine(self, refine: RefineOptions) -> ThinOptions {
        ThinOptions { refine, ..self }
    }

    /// Goes on from the run that had herded these rows.
    pub fn earlier(self, rows: &[usize]) -> ThinOptions {
        ThinOptions { earlier: rows.to_vec(), ..self }
    }

    fn is_constrained(&self) -> bool {
        let RefineOptions { include, exclude, groups, quotas, .. } = &self.refine;
        !include.is_empty() || !exclude.is_empty() || groups.is_some() || quotas.is_some()
    }
}

impl Problem {
    /// Chooses the best rows as a set: herding, then swaps until none helps, then the search if one is asked for. Where
    /// an error or a worth is asked for, the fewest rows that reach it are looked for. The rows come in greedy order, so
    /// that prefixes are good sets too, and the trace is that of a herder which takes them in this order. Where marginals or
    /// functions are matched too, [`Refined::lowered`] says what was lowered; errors are those of the joint part.
    ///
    /// `watch` sees every phase. Ended while rows are compared with each other, or while a constrained set is first put
    /// together, there is no result but [`Error::Interrupted`]; ended while herding, the rows so far are; ended later,
    /// the best set so far is. More rows than may be chosen end in [`Ended::Exhausted`] with all of them, or in
    /// [`Error::TooFewRows`] where rows must be in or out or are balanced over groups.
    pub fn thin(&self, stop: &Stop, options: &ThinOptions, watch: Watch) -> Result<Chosen> {
        self.thin_seeing(stop, options, |_| ControlFlow::Continue(()), watch)
    }

    /// [`thin`](Self::thin) with a look at each herded pick, for checkpoints; [`Break`](ControlFlow::Break) ends it as
    /// `watch` would.
    pub fn thin_seeing(
        &self,
        stop: &Stop,
        options: &ThinOptions,
        seen: impl FnMut(&Pick) -> ControlFlow<()>,
        watch: Watch,
    ) -> Result<Chosen> {
        stop.check()?;
        self.prepare_for(as_many_herded(stop.number), watch)?;
        let (candidates, earlier) = match options.is_constrained() {
            // Which rows must be in, or of which groups, is said of all of them.
            true => (self.all_candidates(watch)?, Vec::new()),
            false => self.candidates_with(stop.number, &options.earlier, watch)?,
        };
        let refiner = Refiner::over(candidates.pool.clone(), self.without_weightless(&options.refine))?;
        let limit = stop.number.unwrap_or(self.open_rows());
        let goal = stop.goal(&self.error_scale()?);
        // Herded rows need not be balanced, so a constrained set starts from its own.
        if options.is_constrained() {
            return self.constrained(&refiner, limit, goal, watch);
        }
        let mut herder = self.careless_where_measured(refiner.herder());
        let herded = self.herd_on(candidates, &mut herder, &earlier, stop, seen, watch)?;
        // All rows are a set that no swap can change, and an interrupted run has no time to lose.
        if matches!(herded.ended, Ended::Interrupted | Ended::Exhausted) {
            return self.measured(self.with_exact_means(herded, watch)?);
        }
        let refined = match goal {
            Some((tolerance, rule)) => self
                .reaching(tolerance, watch, |aimed, is_first| {
                    let fewest = match is_first {
                        true => refiner.fewest_from(herder.clone(), aimed, limit, watch)?,
                        false => refiner.fewest_of(aimed, limit, watch)?,
                    };
                    Ok(Fewest { set: candidates.set(fewest.set), ..fewest })
                })
                .map(|fewest| (fewest.set, if fewest.reached { rule } else { Ended::Number })),
            None => refiner.improve(herder, watch).map(|set| (candidates.set(set), herded.ended)),
        };
        match refined {
            // Ended before there was a set: the herded rows are what there is.
            Err(Error::Interrupted) => {
                let herded = Chosen { ended: Ended::Interrupted, ..herded };
                self.measured(self.with_exact_means(herded, watch)?)
            }
            refined => {
                let chosen = refined.and_then(|(set, ended)| self.chosen_set(set, ended, watch))?;
                Ok(Chosen { sampled_from: candidates.sampled(), ..chosen })
            }
        }
    }

    /// The fewest rows whose error is at most `tolerance`, measured. What landmarks do not see is known only of rows that
    /// are chosen, so a set that falls short of the error is looked for once more, with the difference allowed for.
    fn reaching(
        &self,
        tolerance: f64,
        watch: Watch,
        mut fewest: impl FnMut(f64, bool) -> Result<Fewest>,
    ) -> Result<Fewest> {
        let found = fewest(tolerance, true)?;
        if self.landmarks().is_none() || !found.reached || found.set.interrupted {
            return Ok(found);
        }
        let error_of = |set: &Refined| -> Result<Option<f64>> {
            Ok(self.chosen_set(set.clone(), Ended::Number, watch)?.error())
        };
        let missed = |error: Option<f64>| error.is_some_and(|error| error > tolerance);
        let (seen, measured) = (found.set.error, error_of(&found.set)?);
        let (true, Some(seen), Some(measured)) = (missed(measured), seen, measured) else { return Ok(found) };
        let aimed = (tolerance * tolerance - 1.1 * (measured * measured - seen * seen)).max(0.0).sqrt();
        let again = fewest(aimed.max(tolerance / 2.0), false)?;
        let reached = again.reached && !missed(error_of(&again.set)?);
        Ok(Fewest { reached, ..again })
    }

    /// A herder whose errors nobody reports, where landmarks stand for μ and errors are measured afterwards.
    pub(super) fn careless_on_landmarks(&self, herder: Herder) -> Herder {
        if self.landmarks().is_some() { herder.with_fast_errors() } else { herder }
    }

    /// A herder whose errors nobody reports, wherever they are measured afterwards.
    pub(super) fn careless_where_measured(&self, herder: Herder) -> Herder {
        if self.is_measured_afterwards() { herder.with_fast_errors() } else { herder }
    }

    /// A set with rows in or out, or balanced over groups.
    fn constrained(
        &self,
        refiner: &Refiner,
        limit: usize,
        goal: Option<(f64, Ended)>,
        watch: Watch,
    ) -> Result<Chosen> {
        let (set, ended) = match goal {
            None => (refiner.choose(limit, watch)?, Ended::Number),
            Some((tolerance, rule)) => {
                let fewest =
                    self.reaching(tolerance, watch, |aimed, _| refiner.fewest_of(aimed, limit, watch))?;
                (fewest.set, if fewest.reached { rule } else { Ended::Number })
            }
        };
        self.chosen_set(set, ended, watch)
    }

    fn chosen_set(&self, set: Refined, ended: Ended, watch: Watch) -> Result<Chosen> {
        let ended = if set.interrupted { Ended::Interrupted } else { ended };
        let trace = Herder::trace_in(self.pool_of(&set.rows)?, &set.rows)?;
        let chosen = Chosen { refined: Some(set), ..Chosen::new(trace, ended) };
        if self.landmarks().is_none() {
            return self.measured(chosen);
        }
        self.measured(self.with_exact_means(chosen, watch)?)
    }

    /// The options with the rows of no weight excluded, but for those that must be in.
    fn without_weightless(&self, options: &RefineOptions) -> RefineOptions {
        let mut exclude = options.exclude.clone();
        exclude.extend(self.without_weight().iter().filter(|row| !options.include.contains(row)));
        RefineOptions { exclude, ..options.clone() }
    }
}
