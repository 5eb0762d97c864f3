//! Thinning: the best rows as a set, herded first, then swapped and searched.

use super::candidates::Candidates;
use super::target::{Continued, is_final};
use super::{Choose, Chosen, Ended, Target};
use crate::{Error, Fewest, Herder, RefineOptions, Refined, Refiner, Result, Watch};

impl Target {
    /// The best rows as a set: herding, then swaps until none helps, then the search if one is asked for; the fewest rows where
    /// an error or equivalent draws are asked for.
    pub(super) fn thin(
        &self,
        choose: &Choose,
        refine: &RefineOptions,
        from: Continued<'_>,
        watch: Watch,
    ) -> Result<Chosen> {
        let Continued { rows, seen } = from;
        let stop = &choose.stop;
        let is_constrained = choose.method.is_constrained();
        let rows = if is_constrained { &[] } else { rows };
        let (candidates, earlier) = self.candidates(choose, rows, watch)?;
        let refiner = Refiner::over(candidates.pool.clone(), candidates.options(refine))?;
        let limit = stop.limit(self.problem().open_rows());
        let goal = stop.goal(&self.error_scale());
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
                self.with_exact_means(Chosen { ended: Ended::Interrupted, ..herded }, watch)
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

    /// A set with rows in or out, or balanced over groups.
    fn constrained(
        &self,
        candidates: &Candidates,
        refiner: &Refiner,
        limit: usize,
        goal: Option<(f64, Ended)>,
        watch: Watch,
    ) -> Result<Chosen> {
        let (set, ended) = match goal {
            None => (candidates.set(refiner.choose(limit, watch)?), Ended::Number),
            Some((tolerance, rule)) => {
                let fewest = self.reaching(tolerance, watch, |aimed, _| {
                    let fewest = refiner.fewest_of(aimed, limit, watch)?;
                    Ok(Fewest { set: candidates.set(fewest.set), ..fewest })
                })?;
                (fewest.set, if fewest.reached { rule } else { Ended::Number })
            }
        };
        self.chosen_set(set, ended, watch)
    }

    fn chosen_set(&self, set: Refined, ended: Ended, watch: Watch) -> Result<Chosen> {
        let ended = if set.interrupted { Ended::Interrupted } else { ended };
        let trace = Herder::trace_in(self.pool_of(&set.rows)?, &set.rows)?;
        let chosen = Chosen { refined: Some(set), ..Chosen::new(trace, ended) };
        match self.landmarks() {
            Some(_) => self.with_exact_means(chosen, watch),
            None => Ok(chosen),
        }
    }
}
