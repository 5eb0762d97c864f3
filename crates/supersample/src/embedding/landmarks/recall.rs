//! Landmark sums as numbers for a checkpoint.

use super::LandmarkSums;
use crate::{Error, Result};

impl LandmarkSums {
    /// The sums at all points, the weight of the rows and the sum of k(x, x) over them.
    pub(crate) fn numbers(&self) -> Vec<f64> {
        let totals = &self.sums.totals;
        [&totals.sums[..], &[totals.weight, totals.diagonal]].concat()
    }

    /// Sets the [`numbers`](Self::numbers) of an earlier run over `rows` rows, without a check.
    pub(crate) fn recalled(mut self, numbers: &[f64], rows: u64, is_weighted: bool) -> Result<LandmarkSums> {
        let totals = &mut self.sums.totals;
        let points = totals.sums.len();
        if numbers.len() != points + 2 {
            return Err(Error::RecalledCount { found: numbers.len(), expected: points + 2 });
        }
        if let Some(index) = numbers.iter().position(|value| !value.is_finite()) {
            let what = "value of the mean embedding";
            return Err(Error::NonFiniteNumber { what, index, value: numbers[index] });
        }
        totals.sums.copy_from_slice(&numbers[..points]);
        (totals.weight, totals.diagonal) = (numbers[points], numbers[points + 1]);
        (totals.rows, totals.is_weighted) = (rows, is_weighted);
        Ok(self)
    }
}
