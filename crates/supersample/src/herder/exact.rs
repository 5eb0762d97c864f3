//! The ledger restated in f64 where E_T has become too small for f32. The picks do not change: only what is said of them.

use super::{Herder, Start};
use crate::Points;
use crate::embedding::{Form, double_values};
use crate::ledger::{ChosenTotals, Evaluated};

impl Herder {
    /// Restates the ledger if E_T² is within reach of the rounding of f32 (see `embedding/widened.rs`).
    pub(super) fn turn_exact_if_needed(&mut self) {
        let (Form::Samples(samples), Some(squared)) = (self.mu.form(), self.ledger.squared_error()) else {
            return;
        };
        let needed = samples.care_needed(squared, self.ledger.mass());
        let Some(care) = needed.filter(|_| needed > self.exact) else { return };
        let chosen = self.chosen().expect("something has been chosen");
        let weighted =
            |values: &[f64], weights: &[f64]| values.iter().zip(weights).map(|(v, w)| v * w).sum::<f64>();
        let pairs = samples.widened_sums(&chosen, &chosen, &self.chosen_weights);
        let totals = ChosenTotals {
            mean: weighted(&samples.widened_values(&chosen), &self.chosen_weights),
            norm: weighted(&pairs, &self.chosen_weights),
        };
        let function_mean = match &self.start {
            Start::Function(f) => weighted(&double_values(samples, f.points()), f.coefficients()),
            _ => 0.0,
        };
        self.ledger = self.ledger.restated(samples.widened_squared_norm(care), totals, function_mean);
        self.exact = Some(care);
    }

    /// What is known of a point, in f64, once the ledger is.
    pub(super) fn exactly(&self, x: &[f64]) -> Option<Evaluated> {
        let (Form::Samples(samples), Some(_)) = (self.mu.form(), self.exact) else { return None };
        let point = Points::from_rows(x, x.len()).expect("a pick is finite");
        let chosen = self.chosen().expect("something has been chosen");
        let mu = samples.widened_values(&point)[0];
        let among = samples.widened_sums(&point, &chosen, &self.chosen_weights)[0];
        Some(Evaluated { mu, chosen: among, ..self.evaluate_chosen(x) })
    }
}
