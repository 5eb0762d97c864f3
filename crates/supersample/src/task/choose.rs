//! Herding until a stop rule holds, and what a run of choices gives.

use std::ops::ControlFlow;

use super::candidates::Candidates;
use super::{Advice, Ended, ErrorScale, Problem, Stop};
use crate::watch::Progress;
use crate::{Herder, Pick, Refined, Result, Watch};

/// How rows are herded.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct HerdOptions {
    /// Whether every row may be chosen only once. Off by default, as in the paper.
    pub unique: bool,
    /// The rows of an earlier run of the same problem, which this one continues.
    pub earlier: Vec<usize>,
}

impl HerdOptions {
    /// Whether every row may be chosen only once.
    pub fn unique(self, unique: bool) -> HerdOptions {
        HerdOptions { unique, ..self }
    }

    /// Continues the run that chose these rows.
    pub fn earlier(self, rows: &[usize]) -> HerdOptions {
        HerdOptions { earlier: rows.to_vec(), ..self }
    }
}

/// What was chosen, and why it ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Chosen {
    /// The rows in the order of choice; empty in space.
    pub rows: Vec<usize>,
    /// The picks, with the error after each of them.
    pub trace: Vec<Pick>,
    /// Why choosing ended.
    pub ended: Ended,
    /// What the swaps and the search have done, where there were any.
    pub refined: Option<Refined>,
    /// The standard error of the [error](Self::error), where ‖μ‖² is an estimate.
    pub standard_error: Option<f64>,
    /// What to know of this choice before believing it.
    pub advice: Option<Advice>,
    /// The root mean square over the columns of the distance between the distribution functions of what was chosen and of
    /// all rows; about 0.408/√T for T independent draws. `None` in space, and where all columns are constant.
    pub cdf: Option<f64>,
    /// The root mean square error of the means of the functions of interest, in their units; `None` where there
    /// are none.
    pub functions: Option<f64>,
    /// How many rows, drawn at random, it was chosen from; `None` where all rows could be chosen.
    pub sampled_from: Option<usize>,
}

impl Chosen {
    pub(super) fn new(trace: Vec<Pick>, ended: Ended) -> Chosen {
        let rows = trace.iter().filter_map(|pick| pick.index).collect();
        Chosen {
            rows,
            trace,
            ended,
            refined: None,
            standard_error: None,
            advice: None,
            cdf: None,
            functions: None,
            sampled_from: None,
        }
    }

    /// The MMD of all that was chosen, with equal weights; `None` where ‖μ‖² is not known.
    pub fn error(&self) -> Option<f64> {
        self.trace.last().and_then(|pick| pick.error)
    }

    /// The numbers of the chosen points, one point after the other, in the coordinates that distances are taken in.
    pub fn coordinates(&self) -> Vec<f64> {
        self.trace.iter().flat_map(|pick| pick.point.iter().copied()).collect()
    }
}

/// Herds until a rule holds, over a pool or in space. Without a number it stops after as many picks as there are
/// candidates. `earlier` are the rows of a run that is continued; they count, and the rules are asked after each of them
/// too. `seen` is called after each pick; [`Break`](ControlFlow::Break) ends the run there, unless it had ended anyway.
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
    let mut earlier = earlier.iter();
    let mut trace: Vec<Pick> = Vec::new();
    while trace.len() < limit {
        let pick = match earlier.next() {
            Some(&row) => herder.replay(&[row])?.pop(),
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

impl Problem {
    /// Chooses rows one after the other by kernel herding, until a rule holds; any prefix of them is good too.
    ///
    /// `watch` sees the comparison of all rows, where that is still to be done, and each pick. Ended during the first,
    /// there is no result but [`Error::Interrupted`](crate::Error::Interrupted); ended later, the rows so far are.
    pub fn herd(&self, stop: &Stop, options: &HerdOptions, watch: Watch) -> Result<Chosen> {
        self.herd_seeing(stop, options, |_| ControlFlow::Continue(()), watch)
    }

    /// [`herd`](Self::herd) with a look at each pick, for checkpoints; [`Break`](ControlFlow::Break) ends it as
    /// `watch` would.
    pub fn herd_seeing(
        &self,
        stop: &Stop,
        options: &HerdOptions,
        seen: impl FnMut(&Pick) -> ControlFlow<()>,
        watch: Watch,
    ) -> Result<Chosen> {
        stop.check()?;
        self.prepare_for(stop.number, watch)?;
        let mut seen = seen;
        let (candidates, earlier) = self.candidates_with(stop.number, &options.earlier, watch)?;
        let mut herder = self.careless_where_measured(self.herder_over(candidates, options.unique)?);
        let herded = self.herd_on(candidates, &mut herder, &earlier, stop, &mut seen, watch)?;
        self.measured(self.settled(herded, candidates, &mut herder, stop, seen, watch)?)
    }

    /// What was chosen, with the errors that are not known while choosing.
    pub(super) fn measured(&self, chosen: Chosen) -> Result<Chosen> {
        self.device().check()?;
        if chosen.rows.is_empty() {
            return Ok(chosen);
        }
        let cdf = self.cdf_of_rows(&chosen.rows, None)?;
        Ok(Chosen { cdf, functions: self.functions_error(&chosen.rows, None)?, ..chosen })
    }

    /// What was herded with exact means, where landmarks have stood for μ: cut where a rule holds, or continued while none
    /// does that seemed to.
    fn settled(
        &self,
        herded: Chosen,
        candidates: Candidates<'_>,
        herder: &mut Herder,
        stop: &Stop,
        mut seen: impl FnMut(&Pick) -> ControlFlow<()>,
        watch: Watch,
    ) -> Result<Chosen> {
        let Some(mut means) = self.means_at(&herded.rows, watch)? else { return Ok(herded) };
        let mut chosen = self.restated(herded, &means)?;
        if !stop.has_goal() {
            return Ok(chosen);
        }
        let scale = self.error_scale()?;
        let limit = stop.number.unwrap_or(self.open_rows());
        loop {
            let met = chosen.trace.iter().find_map(|pick| Some((pick.t, stop.met_by(pick.error, &scale)?)));
            if let Some((count, ended)) = met {
                chosen.rows.truncate(count);
                return self.restated(Chosen { ended, ..chosen }, &means[..count]);
            }
            if !matches!(chosen.ended, Ended::Tolerance | Ended::Worth) {
                return Ok(chosen);
            }
            let count = chosen.rows.len();
            let more = Stop::after((count / 16 + 8).min(limit - count).max(1))?;
            let further = self.herd_on(candidates, herder, &[], &more, &mut seen, watch)?;
            let ended = match further.ended {
                Ended::Number if count + further.rows.len() < limit => chosen.ended,
                ended => ended,
            };
            means.extend(self.means_at(&further.rows, watch)?.into_iter().flatten());
            chosen.rows.extend(further.rows);
            chosen = self.restated(Chosen { ended, ..chosen }, &means)?;
        }
    }

    /// Herds until a rule holds, with a herder over these candidates; `earlier` are rows of their pool.
    pub(super) fn herd_on(
        &self,
        candidates: Candidates<'_>,
        herder: &mut Herder,
        earlier: &[usize],
        stop: &Stop,
        mut seen: impl FnMut(&Pick) -> ControlFlow<()>,
        watch: Watch,
    ) -> Result<Chosen> {
        let size = stop.number.unwrap_or(self.open_rows());
        let stop = Stop { number: Some(size), ..*stop };
        let herded = herd_until(herder, earlier, &stop, |pick| {
            let seen = seen(&candidates.told(pick));
            let watched = watch(Progress::Herding { chosen: pick.t, size });
            if seen.is_break() { seen } else { watched }
        })?;
        Ok(candidates.chosen(herded))
    }
}
