//! Stop rules: the fewest rows whose error is small enough, or that are as accurate as enough independent draws.

use super::{Refined, Refiner, UnorderedSet, with_included};
use crate::watch::{Progress, Watch};
use crate::words::Opt;
use crate::{Error, Herder, Result};

/// What is asked of a set.
#[derive(Clone, Copy)]
pub(crate) struct Goal<'a> {
    /// The error of the joint part.
    pub(crate) tolerance: f64,
    /// What the rows must be in addition.
    pub(crate) and: &'a dyn Fn(&[usize]) -> bool,
    /// The size is found to the number of rows over this, or to a row.
    pub(crate) coarse: usize,
}

impl Goal<'_> {
    fn error(tolerance: f64) -> Goal<'static> {
        Goal { tolerance, and: &|_| true, coarse: usize::MAX }
    }
}

/// The smallest set found for an asked error.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Fewest {
    /// The set.
    pub set: Refined,
    /// The given error.
    pub tolerance: f64,
    /// Whether it was reached. If not, the set is the largest possible.
    pub reached: bool,
    /// Number of points that herding alone needs; `None` if it does not reach the error.
    pub herded: Option<usize>,
}

impl Refiner {
    /// Chooses the fewest rows with an error of at most `tolerance` that it can find.
    ///
    /// Herding shows how many rows are enough. From there the refined set is reduced by bisection; each trial starts
    /// from the best rows of the last set that was good enough. The error does not fall with every row, so a smaller
    /// set may exist. Each trial costs about as much as [`choose`](Self::choose).
    pub fn fewest(&self, tolerance: f64, watch: Watch) -> Result<Fewest> {
        self.fewest_of(tolerance, self.pool.points().len(), watch)
    }

    /// The fewest rows as accurate as at least `draws` iid draws of the target: those with
    /// E² ≤ (E k(x, x) − ‖μ‖²)/`draws`.
    pub fn fewest_equivalent_draws(&self, draws: f64, watch: Watch) -> Result<Fewest> {
        if !(draws > 0.0 && draws.is_finite()) {
            let advice = "ask for a positive number of draws";
            return Err(Error::BadOption { option: Opt::EquivalentDraws, value: draws, advice });
        }
        let single_draw = self.pool.embedding().single_draw().ok_or(Error::UnknownNorm)?;
        self.fewest((single_draw / draws).sqrt(), watch)
    }

    /// Chooses the fewest rows, at most `limit`, with an error of at most `tolerance`.
    pub fn fewest_of(&self, tolerance: f64, limit: usize, watch: Watch) -> Result<Fewest> {
        self.fewest_that(Goal::error(tolerance), limit, watch)
    }

    /// The fewest rows, but at most `limit`, that reach a goal.
    pub(crate) fn fewest_that(&self, goal: Goal<'_>, limit: usize, watch: Watch) -> Result<Fewest> {
        let (limit, tolerance) = (self.limit_for(goal.tolerance, limit)?, goal.tolerance);
        let mut herder = self.herder().with_fast_errors();
        herder.replay(&self.options.include)?;
        let is_enough =
            |squared: Option<f64>| squared.is_some_and(|squared| squared <= tolerance * tolerance);
        let included = herder.squared_error().filter(|_| !self.options.include.is_empty());
        let mut reached = is_enough(included);
        while !reached && herder.indices().len() < limit {
            if watch(Progress::Herding { chosen: herder.indices().len(), size: limit }).is_break() {
                if herder.indices().is_empty() {
                    return Err(Error::Interrupted);
                }
                let set = self.finish(self.unfinished(herder.indices())?, watch)?;
                return Ok(Fewest { set, tolerance, reached: false, herded: None });
            }
            let pick = herder.next();
            self.pool.check_device()?;
            let pick = pick.expect("the constraints leave a row for every place");
            reached = is_enough(pick.squared_error);
        }
        self.shrunk(herder, reached, goal, limit, watch)
    }

    /// Chooses the fewest rows, at most `limit`, with an error of at most `tolerance`, starting from the picks of a
    /// herder over the same pool.
    ///
    /// The herder has as many picks as reached that error, or as are possible.
    pub fn fewest_from(&self, herder: Herder, tolerance: f64, limit: usize, watch: Watch) -> Result<Fewest> {
        self.fewest_that_from(herder, Goal::error(tolerance), limit, watch)
    }

    /// [`fewest_that`](Self::fewest_that) from the picks of a herder.
    pub(crate) fn fewest_that_from(
        &self,
        herder: Herder,
        goal: Goal<'_>,
        limit: usize,
        watch: Watch,
    ) -> Result<Fewest> {
        let (limit, tolerance) = (self.limit_for(goal.tolerance, limit)?, goal.tolerance);
        let reached = herder.squared_error().is_some_and(|squared| squared <= tolerance * tolerance);
        self.shrunk(herder, reached, goal, limit, watch)
    }

    fn limit_for(&self, tolerance: f64, limit: usize) -> Result<usize> {
        if !(tolerance > 0.0 && tolerance.is_finite()) {
            let advice = "ask for a positive error";
            return Err(Error::BadOption { option: Opt::Tol, value: tolerance, advice });
        }
        self.options.check_asked(None)?;
        self.pool.squared_norm().ok_or(Error::UnknownNorm)?;
        Ok(limit.min(self.largest_size()).max(self.options.include.len()).max(1))
    }

    /// Refines the picks, then reduces their number by bisection while the error stays at most `tolerance`, or raises
    /// it up to `limit` if it is larger.
    fn shrunk(
        &self,
        herder: Herder,
        reached: bool,
        goal: Goal<'_>,
        limit: usize,
        watch: Watch,
    ) -> Result<Fewest> {
        let Goal { tolerance, and, coarse } = goal;
        let is_good = |set: &UnorderedSet| {
            set.squared.is_some_and(|squared| squared <= tolerance * tolerance) && and(&set.rows)
        };
        let herded = reached.then(|| herder.indices().len());
        // The herder ignored groups: herd again within their quotas.
        let mut best = match self.options.groups {
            None => self.refine_herded(herder, watch)?,
            Some(_) => match self.refine_size(herder.indices().len(), watch) {
                Err(Error::Interrupted) => self.unfinished(herder.indices())?,
                set => set?,
            },
        };
        let mut kernel_rows = best.kernel_rows;
        // Every size up to `short` is taken to be too small.
        let mut short = self.options.include.len().max(1) - 1;
        // Quotas can make the error larger than herding without them: add rows until it is small enough again.
        while !is_good(&best) && !best.swept.interrupted && best.rows.len() < limit {
            short = best.rows.len();
            best = match self.refine_size(limit.min(short + short / 4 + 1), watch) {
                Err(Error::Interrupted) => {
                    best.swept.interrupted = true;
                    break;
                }
                set => set?,
            };
            kernel_rows += best.kernel_rows;
        }
        let reached = is_good(&best);
        while reached
            && !best.swept.interrupted
            && best.rows.len() - short > (best.rows.len() / coarse).max(1)
        {
            let size = short + (best.rows.len() - short) / 2;
            let trial = match self.options.groups {
                None => {
                    let (ordered, is_ended) = self.greedily(&best.rows, watch)?;
                    let ordered = with_included(&ordered, &self.options.include);
                    if is_ended { Err(Error::Interrupted) } else { self.refine_rows(&ordered[..size], watch) }
                }
                // A prefix would not keep the quotas.
                Some(_) => self.refine_size(size, watch),
            };
            let trial = match trial {
                // The last set that was good enough is the best there is.
                Err(Error::Interrupted) => {
                    best.swept.interrupted = true;
                    break;
                }
                trial => trial?,
            };
            kernel_rows += trial.kernel_rows;
            let interrupted = trial.swept.interrupted;
            if is_good(&trial) {
                best = trial;
            } else {
                short = size;
            }
            best.swept.interrupted = interrupted;
        }
        let set = self.finish(UnorderedSet { kernel_rows, ..best }, watch)?;
        Ok(Fewest { set, tolerance, reached, herded })
    }

    /// Largest number of rows that may be chosen.
    fn largest_size(&self) -> usize {
        if self.options.repeats {
            return self.pool.points().len();
        }
        let mut exclude = self.options.exclude.clone();
        exclude.sort_unstable();
        exclude.dedup();
        self.pool.points().len() - exclude.len()
    }
}
