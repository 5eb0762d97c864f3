//! Stop rules: the fewest rows whose error is small enough, or that are worth enough random draws.

use super::{Draft, Refined, Refiner, herd, with_included};
use crate::watch::{Progress, Watch};
use crate::{Error, Result};

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
    pub fn fewest(&self, tolerance: f64) -> Result<Fewest> {
        self.fewest_of(tolerance, self.pool.len())
    }

    /// The same with at most `limit` rows.
    pub fn fewest_of(&self, tolerance: f64, limit: usize) -> Result<Fewest> {
        self.fewest_watched(tolerance, limit, self.watcher())
    }

    /// [`fewest_of`](Self::fewest_of), watched from outside.
    pub(crate) fn fewest_watched(&self, tolerance: f64, limit: usize, watch: Watch) -> Result<Fewest> {
        if !(tolerance > 0.0 && tolerance.is_finite()) {
            let advice = "ask for a positive error";
            return Err(Error::BadOption { option: "the tolerance", value: tolerance, advice });
        }
        if self.options.quotas.is_some() {
            return Err(Error::FixedQuotas);
        }
        let norm = self.squared_norm.ok_or(Error::UnknownNorm)?;
        let is_enough = |squared: f64| squared <= tolerance * tolerance;
        let limit = limit.min(self.largest_size()).max(self.options.include.len()).max(1);
        let herded =
            self.herd_until(limit, |energy, size| is_enough(norm + energy / (size * size)), watch)?;
        let mut kernel_rows = herded.as_ref().map_or(limit, Vec::len) as u64;
        // A refined set may be good enough where no herded one is: try the largest too.
        let first = match &herded {
            Some(rows) => self.draft_from(rows, watch)?,
            None => self.draft_of(limit, watch)?,
        };
        let herded = herded.map(|rows| rows.len());
        let is_good = |draft: &Draft| draft.squared.is_some_and(is_enough);
        kernel_rows += first.kernel_rows;
        let mut best = first;
        // Every size up to `short` is taken to be too small.
        let mut short = self.options.include.len().max(1) - 1;
        // Quotas can cost what herding without them had reached: grow until it is enough again.
        while !is_good(&best) && !best.swept.interrupted && best.rows.len() < limit {
            short = best.rows.len();
            best = self.draft_of(limit.min(short + short / 4 + 1), watch)?;
            kernel_rows += best.kernel_rows;
        }
        let reached = is_good(&best);
        while reached && !best.swept.interrupted && best.rows.len() - short > 1 {
            let size = short + (best.rows.len() - short) / 2;
            let draft = match self.options.groups {
                None => {
                    let ordered = with_included(&self.greedy_order(&best.rows)?, &self.options.include);
                    self.draft_from(&ordered[..size], watch)
                }
                // A prefix would not keep the quotas.
                Some(_) => self.draft_of(size, watch),
            };
            let draft = match draft {
                // The last set that was good enough is the best there is.
                Err(Error::Interrupted) => {
                    best.swept.interrupted = true;
                    break;
                }
                draft => draft?,
            };
            kernel_rows += draft.kernel_rows;
            let interrupted = draft.swept.interrupted;
            if is_good(&draft) {
                best = draft;
            } else {
                short = size;
            }
            best.swept.interrupted = interrupted;
        }
        let set = self.finish(Draft { kernel_rows, ..best })?;
        Ok(Fewest { set, tolerance, reached, herded })
    }

    /// The fewest rows worth at least `draws` iid draws of the target: those with
    /// E² ≤ (E k(x, x) − ‖μ‖²)/`draws`.
    pub fn fewest_worth(&self, draws: f64) -> Result<Fewest> {
        if !(draws > 0.0 && draws.is_finite()) {
            let advice = "ask for a positive number of draws";
            return Err(Error::BadOption { option: "the number of draws", value: draws, advice });
        }
        let norm = self.squared_norm.ok_or(Error::UnknownNorm)?;
        let diagonal = self.mu.mean_diagonal().ok_or(Error::UnknownNorm)?;
        self.fewest(((diagonal - norm) / draws).sqrt())
    }

    /// The most rows that may be chosen.
    fn largest_size(&self) -> usize {
        if self.options.repeats {
            return self.pool.len();
        }
        let mut exclude = self.options.exclude.clone();
        exclude.sort_unstable();
        exclude.dedup();
        self.pool.len() - exclude.len()
    }

    /// Herds, within the constraints on rows but not on groups, until T²(E² − ‖μ‖²) is small enough.
    fn herd_until(
        &self,
        limit: usize,
        is_enough: impl Fn(f64, f64) -> bool,
        watch: Watch,
    ) -> Result<Option<Vec<usize>>> {
        let mut wishes = self.wishes();
        wishes.groups = None;
        let choices = wishes.for_size(limit)?;
        let mut set = self.empty_set(&choices, 0);
        choices.include().iter().for_each(|&row| set.push(row));
        loop {
            let size = set.chosen().len();
            if size > 0 && is_enough(set.energy(), size as f64) {
                return Ok(Some(set.chosen().to_vec()));
            }
            if size == limit {
                return Ok(None);
            }
            if watch(Progress::Herding { chosen: size, size: limit }).is_break() {
                return Err(Error::Interrupted);
            }
            set.set_share(size as f64 + 1.0);
            set.push(set.best_next().expect("the constraints leave a row for every place"));
        }
    }

    fn draft_of(&self, size: usize, watch: Watch) -> Result<Draft> {
        let choices = self.wishes().for_size(size)?;
        let mut set = self.empty_set(&choices, self.options.memory);
        herd(&mut set, &choices, watch)?;
        Ok(self.improve(set, &choices, watch))
    }

    /// From these rows, or from rows herded within the quotas where there are groups.
    fn draft_from(&self, rows: &[usize], watch: Watch) -> Result<Draft> {
        if self.options.groups.is_some() {
            return self.draft_of(rows.len(), watch);
        }
        let choices = self.wishes().for_size(rows.len())?;
        let mut set = self.empty_set(&choices, self.options.memory);
        rows.iter().for_each(|&row| set.push(row));
        Ok(self.improve(set, &choices, watch))
    }
}
