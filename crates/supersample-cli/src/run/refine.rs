//! Refinement of herded rows: the one place where they are made better as a set.

use std::sync::Arc;

use anyhow::Result;
use supersample::{Herder, MeanEmbedding, Points, RefineOptions, Refiner};

use super::herd::{Choice, Chosen};
use crate::plan::Ended;
use crate::terminal::interrupt;
use crate::terminal::progress::Progress;

/// What a set is refined towards.
pub(super) struct Aim {
    pub(super) mu: Arc<dyn MeanEmbedding>,
    pub(super) pool: Points,
    pub(super) options: RefineOptions,
    /// The error that is enough, and the rule that says so.
    pub(super) goal: Option<(f64, Ended)>,
    /// At most so many rows.
    pub(super) limit: usize,
    /// What the user sees of it.
    pub(super) progress: Progress,
}

/// Herded rows made better as a set: swaps until none helps, fewer rows where an error was asked for, then in greedy
/// order, so that prefixes stay useful. What the herder says of them is what it says of any rows in that order.
pub(super) fn refine(herder: Herder, chosen: Chosen, aim: Aim) -> Result<(Herder, Chosen)> {
    // All rows are a set that no swap can change, and an interrupted run has no time to lose.
    if matches!(chosen.ended, Ended::Interrupted | Ended::Exhausted) {
        return Ok((herder, chosen));
    }
    let Aim { mu, pool, options, goal, limit, progress } = aim;
    let refiner = Refiner::shared(mu, pool, options)?.watched(move |reached| {
        progress.show(reached);
        interrupt::asked_to_end()
    });
    let refined = match goal {
        Some((tolerance, rule)) => refiner.fewest_of(tolerance, limit).map(|fewest| {
            let ended = if fewest.reached { rule } else { Ended::Number };
            (fewest.set, ended)
        }),
        // Herded rows need not be balanced, so a balanced set starts from its own.
        None if chosen.choices.is_empty() => refiner.choose(limit).map(|set| (set, Ended::Number)),
        None => refiner.improve_rows(&chosen.rows()).map(|set| (set, chosen.ended)),
    };
    let (set, ended) = match refined {
        // Ended before there was a set: the herded rows are what there is.
        Err(supersample::Error::Interrupted) if !chosen.choices.is_empty() => {
            return Ok((herder, Chosen { ended: Ended::Interrupted, ..chosen }));
        }
        refined => refined?,
    };
    let ended = if set.interrupted { Ended::Interrupted } else { ended };
    let mut herder = herder.restart();
    let choices = herder.replay(&set.rows)?.into_iter().map(Choice::new).collect();
    Ok((herder, Chosen { choices, ended, refined: Some(set) }))
}

#[cfg(test)]
mod tests {
    use supersample::{Domain, Empirical, Kernel};

    use super::*;
    use crate::plan::Stop;
    use crate::run::herd::herd;

    #[test]
    fn a_set_is_no_worse_than_the_herded_rows_and_fewer_for_the_same_error() {
        let points = Points::from_vec((0..60).map(|i| (i as f64 * 0.618_034).fract()).collect(), 1).unwrap();
        let mu: Arc<dyn MeanEmbedding> =
            Arc::new(Empirical::new(Kernel::gaussian(0.2).unwrap(), points.clone()).unwrap());
        let refined = |stop: Stop| {
            let mut herder = Herder::shared(mu.clone(), Domain::Pool(points.clone())).unwrap().unique(true);
            let limit = stop.number.unwrap_or(60);
            let chosen = herd(&mut herder, &[], &stop, limit, None, |_| Ok(())).unwrap();
            let before = (chosen.choices.len(), chosen.error().unwrap());
            let (pool, options) = (points.clone(), RefineOptions::default());
            let (goal, progress) = (stop.goal(None), Progress::phase(true, ""));
            let aim = Aim { mu: mu.clone(), pool, options, goal, limit, progress };
            let (_, set) = refine(herder, chosen, aim).unwrap();
            let told = set.refined.as_ref().unwrap();
            // The herder and the refiner agree on the error, and no stage is worse than the one before.
            assert!((told.error.unwrap() - set.error().unwrap()).abs() < 1e-9, "{told:?}");
            assert!(told.error <= told.swept_error && told.swept_error <= told.start_error, "{told:?}");
            (before, (set.choices.len(), set.error().unwrap()), set.ended)
        };
        let (before, after, ended) = refined(Stop::new(Some(7), None, None).unwrap());
        assert_eq!((after.0, ended), (7, Ended::Number));
        assert!(after.1 < before.1, "{before:?} {after:?}");
        let (before, after, ended) = refined(Stop::new(None, Some(0.02), None).unwrap());
        assert!(after.0 <= before.0 && after.1 <= 0.02 && ended == Ended::Tolerance, "{before:?} {after:?}");
    }
}
