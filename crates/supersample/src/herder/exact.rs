//! When E_T becomes too small for f32: the sums behind it are restated in f64.
//!
//! Under [`Precision::Mixed`] all three terms of eq. 9 are made of the same f32 kernel values, so whatever is common to
//! these values (the rounding of the points, the bias of the exponential) cancels in E_T as it would in f64. What
//! remains is the rounding of each pair, 3e-8 or so. It does not average out: the herder takes the best of many nearly
//! equal candidates, and so those whose T rounding errors, √T·3e-8 in all, flatter them. Summed over T picks and
//! divided by T² that makes E_T² look smaller by about 1e-7/√T. Where this is no longer negligible, ‖μ‖², μ at the chosen
//! points and their pairs are computed again in f64, once, and kept up from then on. The picks do not change: only what
//! is said of them.

use super::{Herder, Start};
use crate::embedding::{Form, MeanEmbedding};
use crate::ledger::{ChosenTotals, Evaluated};
use crate::sum::{Packed, Precision};
use crate::{Empirical, Points};

/// The error of E_T² in f32 is below this divided by √T (tests/precision.rs).
const MIXED_ERROR: f64 = 2e-7;

/// An error of one part in 500 in E_T² is one part in 1000 in E_T, which is what we promise.
const PROMISED: f64 = 500.0;

/// Whether E_T² of this many points is within reach of the rounding of f32.
pub(crate) fn is_too_small_for_mixed(squared_error: f64, points: f64) -> bool {
    squared_error * points.sqrt() < PROMISED * MIXED_ERROR
}

impl Herder {
    /// Restates the ledger in f64 if E_T² is within reach of the rounding of f32.
    pub(super) fn turn_exact_if_needed(&mut self) {
        let too_small = |squared: f64| is_too_small_for_mixed(squared, self.ledger.mass());
        if self.exact.is_some()
            || self.candidates.precision() == Precision::Double
            || !self.ledger.squared_error().is_some_and(too_small)
        {
            return;
        }
        let Form::Samples(samples) = self.mu.form() else { return };
        let samples = samples.in_double();
        let chosen = self.chosen().expect("something has been chosen");
        let mut mu_values = vec![0.0; chosen.len()];
        samples.values_into(&chosen, &mut mu_values);
        let weighted =
            |values: &[f64]| values.iter().zip(&self.chosen_weights).map(|(v, w)| v * w).sum::<f64>();
        let totals = ChosenTotals { mean: weighted(&mu_values), norm: weighted(&self.sums_among(&chosen)) };
        let function_mean = match &self.start {
            Start::Function(function) => function.expectation(&samples).expect("it was accepted as a start"),
            _ => 0.0,
        };
        let norm = samples.squared_norm().expect("samples know their norm");
        self.ledger = self.ledger.restated(norm, totals, function_mean);
        self.exact = Some(samples);
    }

    /// Σ aⱼ k(zᵢ, zⱼ) for each chosen point z, in f64.
    fn sums_among(&self, chosen: &Points) -> Vec<f64> {
        let packed = Packed::new(self.mu.kernel(), chosen, Precision::Double);
        let mut sums = vec![0.0; chosen.len()];
        packed.own_mean_into(Some(&self.chosen_weights), &mut sums);
        sums
    }

    /// What is known of a point, in f64, once the ledger is.
    pub(super) fn exactly(&self, x: &[f64]) -> Option<Evaluated> {
        let samples: &Empirical = self.exact.as_ref()?;
        let point = Points::from_rows(x, x.len()).expect("a pick is finite");
        let mut mu = [0.0];
        samples.values_into(&point, &mut mu);
        Some(Evaluated { mu: mu[0], ..self.evaluate_chosen(x) })
    }
}
