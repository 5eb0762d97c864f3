//! Choosing, one pick after the other, until a stop rule holds; and the place where a set is improved afterwards.

use std::sync::Arc;

use anyhow::{Result, ensure};
use supersample::{Herder, MeanEmbedding, Pick, Points, RefineOptions, Refiner};

use crate::interrupt;
use crate::progress::Progress;

/// When to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Stop {
    /// At most so many.
    pub(crate) number: Option<usize>,
    /// At the first error of at most this.
    pub(crate) tol: Option<f64>,
    /// At the first error that as many independent draws would have.
    pub(crate) worth: Option<f64>,
}

/// Why choosing ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Number,
    Tolerance,
    Worth,
    /// Every row was chosen once.
    Exhausted,
    Interrupted,
}

impl Stop {
    pub(crate) fn new(number: Option<usize>, tol: Option<f64>, worth: Option<f64>) -> Result<Stop> {
        ensure!(number != Some(0), "-n is 0; ask for at least 1 row");
        ensure!(
            number.or(tol.map(|_| 1)).or(worth.map(|_| 1)).is_some(),
            "say how many: a number with -n, an error with --tol, or a number of independent draws with --worth"
        );
        let positive = |value: Option<f64>| value.is_none_or(|value| value > 0.0 && value.is_finite());
        ensure!(positive(tol), "--tol is {}; an error is a positive number", tol.unwrap_or_default());
        ensure!(positive(worth), "--worth is {}; give a positive number of draws", worth.unwrap_or_default());
        Ok(Stop { number, tol, worth })
    }

    /// Whether an error was asked for, which may or may not be reached.
    pub(crate) fn has_goal(&self) -> bool {
        self.tol.is_some() || self.worth.is_some()
    }

    /// The error that is enough and the rule that says so; of two rules the easier.
    pub(crate) fn goal(&self, single_draw: Option<f64>) -> Option<(f64, Ended)> {
        let tolerance = self.tol.map(|tol| (tol, Ended::Tolerance));
        let worth =
            self.worth.zip(single_draw).map(|(worth, single)| ((single / worth).sqrt(), Ended::Worth));
        [tolerance, worth].into_iter().flatten().max_by(|(a, _), (b, _)| a.total_cmp(b))
    }

    /// The rule that this error meets; `single_draw` is the expected squared error of one independent draw.
    pub(crate) fn met_by(&self, error: Option<f64>, single_draw: Option<f64>) -> Option<Ended> {
        let error = error?;
        if self.tol.is_some_and(|tol| error <= tol) {
            return Some(Ended::Tolerance);
        }
        // Multiplied out, so that an error of 0 needs no special word.
        let is_worth = |worth: f64| single_draw.is_some_and(|single| worth * error * error <= single);
        self.worth.is_some_and(is_worth).then_some(Ended::Worth)
    }
}

impl Ended {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Ended::Number => "number",
            Ended::Tolerance => "tolerance",
            Ended::Worth => "worth",
            Ended::Exhausted => "exhausted",
            Ended::Interrupted => "interrupt",
        }
    }
}

/// What is kept of a pick.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    /// The row of the pool; `None` in space.
    pub(crate) row: Option<usize>,
    /// The point, where there is no row to find it by.
    pub(crate) point: Option<Box<[f64]>>,
    pub(crate) t: usize,
    pub(crate) error: Option<f64>,
    pub(crate) weight_norm: Option<f64>,
    pub(crate) margin: Option<f64>,
    pub(crate) converged: bool,
}

impl Choice {
    fn new(pick: Pick) -> Choice {
        let Pick { t, error, weight_norm, margin, index, point, converged, .. } = pick;
        let point = index.is_none().then_some(point);
        Choice { row: index, point, t, error, weight_norm, margin, converged }
    }
}

/// The choices of a run and why it ended.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    pub(crate) choices: Vec<Choice>,
    pub(crate) ended: Ended,
}

impl Chosen {
    /// The rows in the order of choice; empty in space.
    pub(crate) fn rows(&self) -> Vec<usize> {
        self.choices.iter().filter_map(|choice| choice.row).collect()
    }

    /// The points, one after the other; empty for rows of a pool.
    pub(crate) fn points(&self) -> Vec<f64> {
        self.choices.iter().filter_map(|choice| choice.point.as_deref()).flatten().copied().collect()
    }

    pub(crate) fn error(&self) -> Option<f64> {
        self.choices.last().and_then(|choice| choice.error)
    }
}

/// Herds until a rule holds. `earlier` are the rows of a run that is continued; `watch` sees the rows after each choice.
pub(crate) fn herd(
    herder: &mut Herder,
    earlier: &[usize],
    stop: &Stop,
    limit: usize,
    single_draw: Option<f64>,
    mut watch: impl FnMut(&[Choice]) -> Result<()>,
) -> Result<Chosen> {
    let mut choices: Vec<Choice> = Vec::new();
    let mut earlier = earlier.iter();
    while choices.len() < limit {
        if interrupt::requested() && !choices.is_empty() {
            return Ok(Chosen { choices, ended: Ended::Interrupted });
        }
        let pick = match earlier.next() {
            Some(&row) => herder.replay(&[row])?.pop(),
            None => herder.next(),
        };
        let Some(pick) = pick else { return Ok(Chosen { choices, ended: Ended::Exhausted }) };
        let met = stop.met_by(pick.error, single_draw);
        choices.push(Choice::new(pick));
        watch(&choices)?;
        if let Some(ended) = met {
            return Ok(Chosen { choices, ended });
        }
    }
    Ok(Chosen { choices, ended: Ended::Number })
}

/// What a set is refined towards.
pub(crate) struct SetPlan {
    pub(crate) mu: Arc<dyn MeanEmbedding>,
    pub(crate) pool: Points,
    pub(crate) options: RefineOptions,
    /// The error that is enough, and the rule that says so.
    pub(crate) goal: Option<(f64, Ended)>,
    /// At most so many rows.
    pub(crate) limit: usize,
    /// What the user sees of it.
    pub(crate) progress: Progress,
}

/// Herded rows made better as a set: swaps until none helps, fewer rows where an error was asked for, then in greedy
/// order, so that prefixes stay useful. What the herder says of them is what it says of any rows in that order.
pub(crate) fn as_set(herder: Herder, chosen: Chosen, plan: SetPlan) -> Result<(Herder, Chosen)> {
    // All rows are a set that no swap can change, and an interrupted run has no time to lose.
    if matches!(chosen.ended, Ended::Interrupted | Ended::Exhausted) {
        return Ok((herder, chosen));
    }
    let SetPlan { mu, pool, options, goal, limit, progress } = plan;
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
    let (rows, ended) = (set.rows, if set.interrupted { Ended::Interrupted } else { ended });
    let mut herder = herder.restart();
    let choices = herder.replay(&rows)?.into_iter().map(Choice::new).collect();
    Ok((herder, Chosen { choices, ended }))
}

#[cfg(test)]
mod tests {
    use supersample::{Domain, Empirical, Kernel, Points};

    use super::*;

    fn herder() -> Herder {
        let points = Points::from_vec((0..60).map(|i| (i as f64 * 0.618_034).fract()).collect(), 1).unwrap();
        let mu = Empirical::new(Kernel::gaussian(0.2).unwrap(), points.clone()).unwrap();
        Herder::new(mu, Domain::Pool(points)).unwrap()
    }

    fn run(stop: Stop, earlier: &[usize]) -> Chosen {
        let mut herder = herder().unique(true);
        let single = 1.0 - herder.squared_norm().unwrap();
        herd(&mut herder, earlier, &stop, stop.number.unwrap_or(60), Some(single), |_| Ok(())).unwrap()
    }

    #[test]
    fn the_first_rule_that_holds_ends_the_run() {
        let all = run(Stop::new(Some(60), None, None).unwrap(), &[]);
        let errors: Vec<f64> = all.choices.iter().map(|choice| choice.error.unwrap()).collect();
        let first = |tol: f64| 1 + errors.iter().position(|&error| error <= tol).unwrap();
        let by_tol = run(Stop::new(None, Some(0.05), None).unwrap(), &[]);
        assert_eq!((by_tol.choices.len(), by_tol.ended), (first(0.05), Ended::Tolerance));
        let single = 1.0 - herder().squared_norm().unwrap();
        let by_worth = run(Stop::new(None, None, Some(200.0)).unwrap(), &[]);
        assert_eq!((by_worth.choices.len(), by_worth.ended), (first((single / 200.0).sqrt()), Ended::Worth));
        let short = run(Stop::new(Some(2), Some(0.05), Some(200.0)).unwrap(), &[]);
        assert_eq!((short.choices.len(), short.ended), (2, Ended::Number));
        let more = run(Stop::new(Some(99), None, None).unwrap(), &[]);
        assert_eq!((more.choices.len(), more.ended), (60, Ended::Exhausted));
    }

    #[test]
    fn a_continued_run_is_the_unbroken_one() {
        let whole = run(Stop::new(Some(20), None, None).unwrap(), &[]).rows();
        assert_eq!(run(Stop::new(Some(20), None, None).unwrap(), &whole[..7]).rows(), whole);
        assert_eq!(run(Stop::new(Some(5), None, None).unwrap(), &whole[..7]).rows(), whole[..5]);
    }

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
            let plan = SetPlan { mu: mu.clone(), pool, options, goal, limit, progress };
            let (_, set) = as_set(herder, chosen, plan).unwrap();
            (before, (set.choices.len(), set.error().unwrap()), set.ended)
        };
        let (before, after, ended) = refined(Stop::new(Some(7), None, None).unwrap());
        assert_eq!((after.0, ended), (7, Ended::Number));
        assert!(after.1 < before.1, "{before:?} {after:?}");
        let (before, after, ended) = refined(Stop::new(None, Some(0.02), None).unwrap());
        assert!(after.0 <= before.0 && after.1 <= 0.02 && ended == Ended::Tolerance, "{before:?} {after:?}");
    }

    #[test]
    fn rules_that_make_no_sense_are_refused() {
        assert!(Stop::new(Some(0), None, None).is_err());
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Stop::new(None, Some(bad), None).is_err() && Stop::new(None, None, Some(bad)).is_err());
        }
    }
}
