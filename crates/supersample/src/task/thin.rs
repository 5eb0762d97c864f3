//! Thinning: the best set of rows, by herding, swaps and a search.

use super::candidates::Candidates;
use super::target::{Continued, is_final};
use super::{Choose, Chosen, Ended, Measure, Stop, Target};
use crate::{Error, Fewest, Goal, Herder, RefineOptions, Refined, Refiner, Result, Watch};

/// A number of rows that follows from estimated errors is not looked for more closely than one in this number.
const COARSE: usize = 50;

impl Target {
    /// Chooses the best set of rows: herding, swaps until none helps, then the search if asked; the fewest rows if a
    /// stop rule is about the error.
    pub(super) fn thin(
        &self,
        choose: &Choose,
        refine: &RefineOptions,
        from: Continued<'_>,
        watch: Watch,
    ) -> Result<Chosen> {
        let Continued { rows, seen } = from;
        // Where rows are to add little to the errors of the draws, that says which error is small enough.
        let enough = choose.stop.add.map(|add| self.enough(add, watch)).transpose()?;
        let stop = match &enough {
            Some(enough) => &Stop { tol: enough.allowed.get(Measure::Mmd), ..Stop::default() },
            None => &choose.stop,
        };
        let is_constrained = choose.method.is_constrained();
        let rows = if is_constrained { &[] } else { rows };
        let (candidates, earlier) = self.candidates(choose, rows, watch)?;
        let refiner = Refiner::over(candidates.pool.clone(), candidates.options(refine))?;
        let limit = stop.limit(self.problem().open_rows());
        let holds = |rows: &[usize]| enough.as_ref().is_none_or(|enough| enough.holds(rows));
        let goal = stop.goal(&self.error_scale()).map(|(tolerance, rule)| {
            let (coarse, rule) = if enough.is_some() { (COARSE, Ended::Enough) } else { (usize::MAX, rule) };
            (Goal { tolerance, and: &holds, coarse }, rule)
        });
        // Herded rows need not be balanced, so a constrained set starts from its own.
        if is_constrained {
            return self.constrained(candidates, &refiner, limit, goal, watch);
        }
        let mut herder = self.with_errors_as_known(refiner.herder());
        let herded = self.herd_on(candidates, &mut herder, &earlier, stop, seen, watch)?;
        if is_final(herded.ended) {
            return self.with_exact_means(herded, watch);
        }
        let refined = match goal {
            Some((goal, rule)) => self
                .reaching(goal, watch, |goal, is_first| {
                    let fewest = match is_first {
                        true => refiner.fewest_that_from(herder.clone(), goal, limit, watch)?,
                        false => refiner.fewest_that(goal, limit, watch)?,
                    };
                    Ok(Fewest { set: candidates.set(fewest.set), ..fewest })
                })
                .map(|fewest| (fewest.set, if fewest.reached { rule } else { Ended::Number })),
            None => refiner.improve(herder, watch).map(|set| (candidates.set(set), herded.ended)),
        };
        match refined {
            // Ended before there was a set: the result is the herded rows.
            Err(Error::Interrupted) => {
                self.with_exact_means(Chosen { ended: Ended::Interrupted, ..herded }, watch)
            }
            refined => {
                let chosen = refined.and_then(|(set, ended)| self.chosen_set(set, ended, watch))?;
                Ok(Chosen { sampled_from: candidates.sampled(), ..chosen })
            }
        }
    }

    /// The fewest rows that reach a goal, their error measured. What landmarks do not see is known only of rows that
    /// are chosen, so a set that falls short of the error is looked for once more, with the difference allowed for.
    fn reaching(
        &self,
        goal: Goal<'_>,
        watch: Watch,
        mut fewest: impl FnMut(Goal<'_>, bool) -> Result<Fewest>,
    ) -> Result<Fewest> {
        let (found, tolerance) = (fewest(goal, true)?, goal.tolerance);
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
        let again = fewest(Goal { tolerance: aimed.max(tolerance / 2.0), ..goal }, false)?;
        if again.set.interrupted {
            let set = Refined { interrupted: true, ..found.set };
            return Ok(Fewest { set, reached: false, ..found });
        }
        let reached = again.reached && !missed(error_of(&again.set)?);
        Ok(Fewest { reached, ..again })
    }

    /// Chooses a set with included rows, excluded rows or groups.
    fn constrained(
        &self,
        candidates: &Candidates,
        refiner: &Refiner,
        limit: usize,
        goal: Option<(Goal<'_>, Ended)>,
        watch: Watch,
    ) -> Result<Chosen> {
        let (set, ended) = match goal {
            None => (candidates.set(refiner.choose(limit, watch)?), Ended::Number),
            Some((goal, rule)) => {
                let fewest = self.reaching(goal, watch, |goal, _| {
                    let fewest = refiner.fewest_that(goal, limit, watch)?;
                    Ok(Fewest { set: candidates.set(fewest.set), ..fewest })
                })?;
                (fewest.set, if fewest.reached { rule } else { Ended::Number })
            }
        };
        self.chosen_set(set, ended, watch)
    }

    fn chosen_set(&self, set: Refined, ended: Ended, watch: Watch) -> Result<Chosen> {
        let pool = self.pool_of(&set.rows)?;
        // To trace the errors takes all pairs of the rows.
        let traced = match set.interrupted {
            true => None,
            false => Herder::trace_watched(pool.clone(), &set.rows, watch)?,
        };
        let ended = if traced.is_none() { Ended::Interrupted } else { ended };
        let trace = traced.unwrap_or_else(|| Herder::untraced(&pool, &set.rows, set.squared_error));
        let chosen = Chosen { refined: Some(set), ..Chosen::new(trace, ended) };
        match self.landmarks() {
            Some(_) => self.with_exact_means(chosen, watch),
            None => Ok(chosen),
        }
    }
}
