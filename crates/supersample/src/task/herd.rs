//! Herding until a stop rule holds.

use std::ops::ControlFlow;

use super::candidates::Candidates;
use super::target::Continued;
use super::{Choose, Chosen, Ended, ErrorScale, ErrorsKnown, Stop, Target};
use crate::watch::Progress;
use crate::{Herder, Pick, Result, Watch};

/// Herds until a stop rule holds, over a pool or in space.
///
/// Without a number it stops after as many picks as there are candidates. `earlier` are the rows of a run to continue;
/// they count, and the rules are checked after each of them too. `seen` is called after each pick;
/// [`Break`](ControlFlow::Break) ends the run there.
///
/// ```
/// use std::ops::ControlFlow;
/// use supersample::task::{Ended, Stop, herd_until};
/// use supersample::{Domain, Empirical, Herder, Kernel, Points};
/// let draws = Points::from_vec((0..200).map(|i| (i as f64 * 0.7).sin()).collect(), 1)?;
/// let mu = Empirical::new(Kernel::gaussian(0.3)?, draws.clone())?;
/// let mut herder = Herder::new(mu, Domain::Pool(draws))?;
/// let chosen = herd_until(&mut herder, &[], &Stop::at_error(0.05)?, |_| ControlFlow::Continue(()))?;
/// assert!(chosen.ended == Ended::Tolerance && chosen.error().unwrap() <= 0.05);
/// # Ok::<(), supersample::Error>(())
/// ```
pub fn herd_until(
    herder: &mut Herder,
    earlier: &[usize],
    stop: &Stop,
    mut seen: impl FnMut(&Pick) -> ControlFlow<()>,
) -> Result<Chosen> {
    stop.check()?;
    let scale = ErrorScale::of(herder.pool());
    let limit = stop.number.unwrap_or(herder.pool().points().len());
    let mut trace: Vec<Pick> = Vec::new();
    let mut earlier = &earlier[..earlier.len().min(limit)];
    herder.check_replay(earlier)?;
    while trace.len() < limit {
        let pick = match earlier.split_off_first() {
            Some(&row) => Some(herder.take_again(row)),
            None => herder.next(),
        };
        let Some(pick) = pick else { return Ok(Chosen::new(trace, Ended::Exhausted)) };
        let met = stop.met_by(pick.error, &scale);
        let goes_on = seen(&pick).is_continue();
        trace.push(pick);
        match met {
            Some(ended) => return Ok(Chosen::new(trace, ended)),
            None if !goes_on && trace.len() < limit => return Ok(Chosen::new(trace, Ended::Interrupted)),
            None => {}
        }
    }
    Ok(Chosen::new(trace, Ended::Number))
}

impl Target {
    /// Chooses rows by kernel herding until a stop rule holds.
    pub(super) fn herd(
        &self,
        choose: &Choose,
        unique: bool,
        from: Continued<'_>,
        watch: Watch,
    ) -> Result<Chosen> {
        let Continued { rows, seen } = from;
        let (candidates, earlier) = self.candidates(choose, rows, watch)?;
        let mut herder = self.with_errors_as_known(candidates.herder(unique)?);
        let herded = self.herd_on(candidates, &mut herder, &earlier, &choose.stop, seen, watch)?;
        self.settled(herded, candidates, &mut herder, &choose.stop, seen, watch)
    }

    /// Returns the herder with exact errors only if errors are known while choosing.
    pub(super) fn with_errors_as_known(&self, herder: Herder) -> Herder {
        match self.errors_known() {
            ErrorsKnown::Now => herder,
            ErrorsKnown::Afterwards | ErrorsKnown::AfterPass => herder.with_fast_errors(),
        }
    }

    /// Restates the errors of herded rows if they are known only afterwards. Then cuts the sequence where a rule holds,
    /// or continues it if a rule only seemed to hold.
    fn settled(
        &self,
        herded: Chosen,
        candidates: &Candidates,
        herder: &mut Herder,
        stop: &Stop,
        seen: &mut dyn FnMut(&Pick) -> ControlFlow<()>,
        watch: Watch,
    ) -> Result<Chosen> {
        let Some(mut means) = self.means_at(&herded.rows, watch)? else { return Ok(herded) };
        let mut chosen = self.restated(herded, &means)?;
        if !stop.has_goal() {
            return Ok(chosen);
        }
        let scale = self.error_scale();
        let limit = stop.limit(self.problem().open_rows());
        loop {
            let met = chosen.trace.iter().find_map(|pick| Some((pick.t, stop.met_by(pick.error, &scale)?)));
            if let Some((count, ended)) = met {
                chosen.rows.truncate(count);
                return self.restated(Chosen { ended, ..chosen }, &means[..count]);
            }
            if !chosen.ended.is_goal() {
                return Ok(chosen);
            }
            let count = chosen.rows.len();
            let more = Stop::after((count / 16 + 8).min(limit - count).max(1))?;
            let further = self.herd_on(candidates, herder, &[], &more, seen, watch)?;
            let ended = match further.ended {
                Ended::Number if count + further.rows.len() < limit => chosen.ended,
                ended => ended,
            };
            means.extend(self.means_at(&further.rows, watch)?.into_iter().flatten());
            chosen.rows.extend(further.rows);
            chosen = self.restated(Chosen { ended, ..chosen }, &means)?;
        }
    }

    /// Herds over these candidates until a stop rule holds; `earlier` are positions of their pool.
    pub(super) fn herd_on(
        &self,
        candidates: &Candidates,
        herder: &mut Herder,
        earlier: &[usize],
        stop: &Stop,
        seen: &mut dyn FnMut(&Pick) -> ControlFlow<()>,
        watch: Watch,
    ) -> Result<Chosen> {
        let size = stop.limit(self.problem().open_rows());
        let stop = Stop { number: Some(size), ..*stop };
        let herded = herd_until(herder, earlier, &stop, |pick| {
            let seen = seen(&candidates.numbered(pick));
            let watched = watch(Progress::Herding { chosen: pick.t, size });
            if seen.is_break() { seen } else { watched }
        })?;
        Ok(candidates.with_row_numbers(herded))
    }
}
