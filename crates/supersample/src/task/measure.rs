//! Errors of chosen rows that are not known while choosing: μ itself at the rows, and the errors restated with it.

use super::{Advice, Chosen, ErrorsKnown, Target};
use crate::{Herder, MeanEmbedding, Pick, Result, Watch};

/// A residual of more than this part of an error is not small against it: the two add up in squares, so that half of it costs
/// a tenth of the error and all of it two fifths.
const LARGE_RESIDUAL: f64 = 0.75;

impl Target {
    /// What was chosen, its errors restated with these values of μ at the rows, in their order: those that a pass over the
    /// rows has summed where the target says [`ErrorsKnown::AfterPass`].
    pub fn measured(&self, chosen: Chosen, means: &[f64]) -> Result<Chosen> {
        self.with_mmd(self.restated(chosen, means)?)
    }

    /// What a herder says of these rows if it picks them in this order, with μ itself at each of them.
    pub fn trace_of(&self, rows: &[usize], watch: Watch) -> Result<Vec<Pick>> {
        match self.means_at(rows, watch)? {
            _ if rows.is_empty() => Ok(Vec::new()),
            Some(means) => Herder::trace_measured(self.pool_of(rows)?, rows, &means),
            None => Herder::trace_in(self.pool_of(rows)?, rows),
        }
    }

    /// What was chosen with μ itself at each of the rows, where that can be had from the rows in memory. It costs n kernel values
    /// for each row; `watch` sees it, but what is chosen is not given up for it.
    pub(super) fn with_exact_means(&self, chosen: Chosen, watch: Watch) -> Result<Chosen> {
        match self.means_at(&chosen.rows, watch)? {
            Some(means) => self.restated(chosen, &means),
            None => Ok(chosen),
        }
    }

    /// μ itself at these rows, where errors are known afterwards.
    pub(super) fn means_at(&self, rows: &[usize], watch: Watch) -> Result<Option<Vec<f64>>> {
        if self.errors_known() != ErrorsKnown::Afterwards {
            return Ok(None);
        }
        let places = self.places(rows)?;
        if self.landmarks().is_none() {
            let values = self.pool()?.values();
            return Ok(Some(places.iter().map(|&place| values[place]).collect()));
        }
        if rows.is_empty() {
            return Ok(Some(Vec::new()));
        }
        Ok(self.mean.exact_at(&self.problem().points().select(&places)?, watch))
    }

    /// What was chosen, its trace and its story restated with μ itself at the rows.
    pub(super) fn restated(&self, mut chosen: Chosen, means: &[f64]) -> Result<Chosen> {
        if chosen.rows.is_empty() {
            return Ok(Chosen { trace: Vec::new(), ..chosen });
        }
        let (pool, places) = (self.pool_of(&chosen.rows)?, (0..chosen.rows.len()).collect::<Vec<_>>());
        let trace = Herder::trace_measured(pool.select(&places)?, &chosen.rows, means)?;
        let (error, squared) = trace.last().map_or((None, None), |pick| (pick.error, pick.squared_error));
        if let (Some(refined), Some(squared)) = (&mut chosen.refined, squared) {
            // The sets before it are gone: what landmarks did not see of them is taken to be what they did not of this.
            let shift = refined.squared_error.map_or(0.0, |known| squared - known);
            let moved = |error: f64| (error * error + shift).max(0.0).sqrt();
            refined.start_error = refined.start_error.map(moved);
            refined.swept_error = refined.swept_error.map(moved);
            (refined.error, refined.squared_error) = (error, Some(squared));
            let end = pool.squared_distance(&places, squared);
            if let (Some(objective), Some(end)) = (&mut refined.objective, end) {
                let shift = end - objective.end * objective.end;
                let moved = |distance: f64| (distance * distance + shift).max(0.0).sqrt();
                objective.start = moved(objective.start);
                objective.swept = moved(objective.swept);
                objective.end = end.max(0.0).sqrt();
            }
        }
        chosen.advice.retain(|advice| !matches!(advice, Advice::LandmarksTooFew { .. }));
        chosen.advice.extend(self.landmarks().zip(error).and_then(|(mu, error)| {
            // Against an error that is rounding alone nothing is large.
            let rounding = (32.0 * f64::EPSILON * mu.mean_diagonal().unwrap_or(1.0).max(1.0)).sqrt();
            let large = (LARGE_RESIDUAL * error).max(rounding);
            let residual = mu.residual().filter(|residual| *residual > large)?;
            Some(Advice::LandmarksTooFew { landmarks: mu.points().len(), residual, error })
        }));
        Ok(Chosen { trace, ..chosen })
    }
}
