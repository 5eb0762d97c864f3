//! Errors that are not known while choosing (landmarks, a GPU): they are restated with exact μ at the chosen rows.

use super::{Advice, Chosen, ErrorsKnown, Target};
use crate::{Herder, MeanEmbedding, Pick, Result, Watch};

/// A residual above this fraction of an error is large. The two add up in squares: a residual of half the error adds a
/// tenth to it, an equal one two fifths.
const LARGE_RESIDUAL: f64 = 0.75;

impl Target {
    /// Restates the errors of a choice with these values of μ at its rows, in their order.
    ///
    /// A pass over the rows has summed them if the target says [`ErrorsKnown::AfterPass`].
    pub fn measured(&self, chosen: Chosen, means: &[f64]) -> Result<Chosen> {
        self.with_mmd(self.judged(self.restated(chosen, means)?, self.problem().choose()))
    }

    /// Returns the picks of a herder that takes these rows in this order, with exact μ at each of them.
    pub fn trace_of(&self, rows: &[usize], watch: Watch) -> Result<Vec<Pick>> {
        match self.means_at(rows, watch)? {
            _ if rows.is_empty() => Ok(Vec::new()),
            Some(means) => Herder::trace_measured(self.pool_of(rows)?, rows, &means),
            None => Herder::trace_in(self.pool_of(rows)?, rows),
        }
    }

    /// Restates a choice with exact μ at each row, if the rows are in memory. Costs n kernel values for each row. If
    /// `watch` ends it, the choice is kept.
    pub(super) fn with_exact_means(&self, chosen: Chosen, watch: Watch) -> Result<Chosen> {
        match self.means_at(&chosen.rows, watch)? {
            Some(means) => self.restated(chosen, &means),
            None => Ok(chosen),
        }
    }

    /// Exact μ at these rows, if errors are known afterwards.
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

    /// Restates a choice, its trace and its refinement with exact μ at the rows.
    pub(super) fn restated(&self, mut chosen: Chosen, means: &[f64]) -> Result<Chosen> {
        if chosen.rows.is_empty() {
            return Ok(Chosen { trace: Vec::new(), ..chosen });
        }
        let (pool, places) = (self.pool_of(&chosen.rows)?, (0..chosen.rows.len()).collect::<Vec<_>>());
        let trace = Herder::trace_measured(pool.select(&places)?, &chosen.rows, means)?;
        let (error, squared) = trace.last().map_or((None, None), |pick| (pick.error, pick.squared_error));
        if let (Some(refined), Some(squared)) = (&mut chosen.refined, squared) {
            // The earlier sets are gone: their residual is taken to be that of this set.
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
            // No residual is large compared with an error that is only rounding.
            let rounding = (32.0 * f64::EPSILON * mu.mean_diagonal().unwrap_or(1.0).max(1.0)).sqrt();
            let large = (LARGE_RESIDUAL * error).max(rounding);
            let residual = mu.residual().filter(|residual| *residual > large)?;
            Some(Advice::LandmarksTooFew { landmarks: mu.points().len(), residual, error })
        }));
        Ok(Chosen { trace, ..chosen })
    }
}
