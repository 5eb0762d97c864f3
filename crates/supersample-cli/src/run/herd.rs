//! Herding, one pick after the other, until a stop rule holds.

use anyhow::Result;
use supersample::{Herder, MeanEmbedding, Pick, Refined};

use crate::plan::{Ended, Stop};
use crate::terminal::interrupt;

/// What is kept of a pick.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    /// The row of the pool; `None` in space.
    pub(super) row: Option<usize>,
    /// The point, where there is no row to find it by.
    pub(super) point: Option<Box<[f64]>>,
    pub(super) t: usize,
    pub(super) error: Option<f64>,
    pub(super) weight_norm: Option<f64>,
    pub(super) margin: Option<f64>,
    pub(super) converged: bool,
}

impl Choice {
    pub(super) fn new(pick: Pick) -> Choice {
        let Pick { t, error, weight_norm, margin, index, point, converged, .. } = pick;
        let point = index.is_none().then_some(point);
        Choice { row: index, point, t, error, weight_norm, margin, converged }
    }
}

/// The choices of a run and why it ended.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    pub(super) choices: Vec<Choice>,
    pub(super) ended: Ended,
    /// What swaps and the search have made of them, where there were any.
    pub(super) refined: Option<Refined>,
}

impl Chosen {
    /// The rows in the order of choice; empty in space.
    pub(super) fn rows(&self) -> Vec<usize> {
        self.choices.iter().filter_map(|choice| choice.row).collect()
    }

    /// The points, one after the other; empty for rows of a pool.
    pub(super) fn points(&self) -> Vec<f64> {
        self.choices.iter().filter_map(|choice| choice.point.as_deref()).flatten().copied().collect()
    }

    pub(super) fn error(&self) -> Option<f64> {
        self.choices.last().and_then(|choice| choice.error)
    }
}

/// Herds until a rule holds. `earlier` are the rows of a run that is continued; `watch` sees the rows after each choice.
pub(super) fn herd(
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
            return Ok(Chosen { choices, ended: Ended::Interrupted, refined: None });
        }
        let pick = match earlier.next() {
            Some(&row) => herder.replay(&[row])?.pop(),
            None => herder.next(),
        };
        let Some(pick) = pick else { return Ok(Chosen { choices, ended: Ended::Exhausted, refined: None }) };
        let met = stop.met_by(pick.error, single_draw);
        choices.push(Choice::new(pick));
        watch(&choices)?;
        if let Some(ended) = met {
            return Ok(Chosen { choices, ended, refined: None });
        }
    }
    Ok(Chosen { choices, ended: Ended::Number, refined: None })
}

/// The expected squared error of one independent draw, E k(x, x) − ‖μ‖², where it is known.
pub(super) fn single_draw(mu: &dyn MeanEmbedding, squared_norm: Option<f64>) -> Option<f64> {
    mu.mean_diagonal().zip(squared_norm).map(|(diagonal, norm)| diagonal - norm)
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
}
