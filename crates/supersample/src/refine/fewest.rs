//! Stop rules: the fewest rows whose error is small enough, or that are as accurate as enough random draws.

use super::{Refined, Refiner, UnorderedSet, with_included};
use crate::watch::{Progress, Watch};
use crate::words::Opt;
use crate::{Error, Herder, Result};

/// The smallest set found for an asked error.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Fewest {
    /// The set.
    pub set: Refined,
    /// The error that was asked for.
    pub tolerance: f64,
    /// Whether it was reached; where not, the set is the largest that could be chosen.
    pub reached: bool,
    /// How many points herding alone needs; `None` where it does not get there.
    pub herded: Option<usize>,
}

impl Refiner {
    /// The fewest rows with an error of at most `tolerance`, as far as can be found.
    ///
    /// The herded curve says how many rows are enough; from there the refined set is shrunk by bisection, each trial
    /// starting from the best rows of the last set that was good enough. The error does not fall with every row, so
    /// a smaller set may exist. Each trial costs about as much as [`choose`](Self::choose).
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

    /// The fewest rows, but at most `limit`, with an error of at most `tolerance`.
    pub fn fewest_of(&self, tolerance: f64, limit: usize, watch: Watch) -> Result<Fewest> {
        let limit = self.limit_for(tolerance, limit)?;
        let mut herder = self.herder().with_fast_errors();
        herder.replay(&self.options.include)?;
        let is_enough =
            |squared: Option<f64>| squared.is_some_and(|squared| squared <= tolerance * tolerance);
        let included = herder.squared_error().filter(|_| !self.options.include.is_empty());
        let mut reached = is_enough(included);
        while !reached && herder.indices().len() < limit {
            if watch(Progress::Herding { chosen: herder.indices().len(), size: limit }).is_break() {
                return Err(Error::Interrupted);
            }
            let pick = herder.next();
            self.pool.check_device()?;
            let pick = pick.expect("the constraints leave a row for every place");
            reached = is_enough(pick.squared_error);
        }
        self.shrunk(herder, reached, tolerance, limit, watch)
    }

    /// The fewest rows, but at most `limit`, with an error of at most `tolerance`, from the picks of this herder over the
    /// pool of the refiner: as many as reached that error, or as there may be.
    pub fn fewest_from(&self, herder: Herder, tolerance: f64, limit: usize, watch: Watch) -> Result<Fewest> {
        let limit = self.limit_for(tolerance, limit)?;
        let reached = herder.squared_error().is_some_and(|squared| squared <= tolerance * tolerance);
        self.shrunk(herder, reached, tolerance, limit, watch)
    }

    fn limit_for(&self, tolerance: f64, limit: usize) -> Result<usize> {
        if !(tolerance > 0.0 && tolerance.is_finite()) {
            let advice = "ask for a positive error";
            return Err(Error::BadOption { option: Opt::Tol, value: tolerance, advice });
        }
        self.options.check_quotas(None)?;
        self.pool.squared_norm().ok_or(Error::UnknownNorm)?;
        Ok(limit.min(self.largest_size()).max(self.options.include.len()).max(1))
    }

    /// The refined picks, shrunk by bisection while their error stays at most `tolerance`; grown, up to `limit`, where it
    /// is not.
    fn shrunk(
        &self,
        herder: Herder,
        reached: bool,
        tolerance: f64,
        limit: usize,
        watch: Watch,
    ) -> Result<Fewest> {
        let is_good =
            |set: &UnorderedSet| set.squared.is_some_and(|squared| squared <= tolerance * tolerance);
        let herded = reached.then(|| herder.indices().len());
        // Groups were not looked at: herd again within their quotas.
        let mut best = match self.options.groups {
            None => self.refine_herded(herder, watch)?,
            Some(_) => self.refine_size(herder.indices().len(), watch)?,
        };
        let mut kernel_rows = best.kernel_rows;
        // Every size up to `short` is taken to be too small.
        let mut short = self.options.include.len().max(1) - 1;
        // Quotas can cost what herding without them had reached: grow until it is enough again.
        while !is_good(&best) && !best.swept.interrupted && best.rows.len() < limit {
            short = best.rows.len();
            best = self.refine_size(limit.min(short + short / 4 + 1), watch)?;
            kernel_rows += best.kernel_rows;
        }
        let reached = is_good(&best);
        while reached && !best.swept.interrupted && best.rows.len() - short > 1 {
            let size = short + (best.rows.len() - short) / 2;
            let trial = match self.options.groups {
                None => {
                    let ordered = with_included(&self.greedy_order(&best.rows)?, &self.options.include);
                    self.refine_rows(&ordered[..size], watch)
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
        let set = self.finish(UnorderedSet { kernel_rows, ..best })?;
        Ok(Fewest { set, tolerance, reached, herded })
    }

    /// The most rows that may be chosen.
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
