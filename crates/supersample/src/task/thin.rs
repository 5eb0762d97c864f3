//! Thinning: the best rows as a set, herded first, then swapped and searched.

use std::ops::ControlFlow;

use super::{Chosen, Ended, Problem, Stop};
use crate::{Error, Herder, Pick, RefineOptions, Refined, Refiner, Result, Watch};

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
        self.prepare(watch)?;
        let pool = self.pool()?;
        let refiner = Refiner::over(pool.clone(), self.without_weightless(&options.refine))?;
        let limit = stop.number.unwrap_or(self.open_rows());
        let goal = stop.goal(&self.error_scale()?);
        // Herded rows need not be balanced, so a constrained set starts from its own.
        if options.is_constrained() {
            return self.constrained(&refiner, limit, goal, watch);
        }
        let mut herder = refiner.herder();
        let herded = self.herd_on(&mut herder, &options.earlier, stop, seen, watch)?;
        // All rows are a set that no swap can change, and an interrupted run has no time to lose.
        if matches!(herded.ended, Ended::Interrupted | Ended::Exhausted) {
            return self.measured(herded);
        }
        let refined = match goal {
            Some((tolerance, rule)) => refiner.fewest_from(herder, tolerance, limit, watch).map(|fewest| {
                let ended = if fewest.reached { rule } else { Ended::Number };
                (fewest.set, ended)
            }),
            None => refiner.improve(herder, watch).map(|set| (set, herded.ended)),
        };
        match refined {
            // Ended before there was a set: the herded rows are what there is.
            Err(Error::Interrupted) => self.measured(Chosen { ended: Ended::Interrupted, ..herded }),
            refined => refined.and_then(|(set, ended)| self.chosen_set(set, ended)),
        }
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
                let fewest = refiner.fewest_of(tolerance, limit, watch)?;
                (fewest.set, if fewest.reached { rule } else { Ended::Number })
            }
        };
        self.chosen_set(set, ended)
    }

    fn chosen_set(&self, set: Refined, ended: Ended) -> Result<Chosen> {
        let ended = if set.interrupted { Ended::Interrupted } else { ended };
        let trace = Herder::trace(self.pool()?, &set.rows)?;
        self.measured(Chosen { refined: Some(set), ..Chosen::new(trace, ended) })
    }

    /// The options with the rows of no weight excluded, but for those that must be in.
    fn without_weightless(&self, options: &RefineOptions) -> RefineOptions {
        let mut exclude = options.exclude.clone();
        exclude.extend(self.without_weight().iter().filter(|row| !options.include.contains(row)));
        RefineOptions { exclude, ..options.clone() }
    }
}
