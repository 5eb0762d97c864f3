//! Kernel sums as plain numbers, which can be added one by one anywhere.

use super::sums::Totals;
use super::{KernelSums, LandmarkSums};
use crate::{Error, Result};

/// Count of the other numbers: the weight, the sum of k(x, x), the rows, and a flag for weights.
const OTHERS: usize = 4;

impl KernelSums {
    /// The sums at all points, and the other totals. The number of rows is a float: exact up to 2⁵³.
    pub(crate) fn all_numbers(&self) -> Vec<f64> {
        let Totals { sums, weight, diagonal, rows, is_weighted } = &self.totals;
        [&sums[..], &[*weight, *diagonal, *rows as f64, f64::from(u8::from(*is_weighted))]].concat()
    }

    /// Adds the numbers of other rows.
    pub(crate) fn add_all_numbers(&mut self, numbers: &[f64]) -> Result<()> {
        let points = self.totals.sums.len();
        if numbers.len() != points + OTHERS {
            return Err(Error::RecalledCount { found: numbers.len(), expected: points + OTHERS });
        }
        if let Some(index) = numbers.iter().position(|value| !value.is_finite()) {
            return Err(Error::NonFiniteNumber { what: "kernel sum", index, value: numbers[index] });
        }
        let (sums, others) = numbers.split_at(points);
        self.totals.add(&Totals {
            sums: sums.to_vec(),
            weight: others[0],
            diagonal: others[1],
            rows: others[2] as u64,
            is_weighted: others[3] > 0.0,
        });
        Ok(())
    }
}

impl LandmarkSums {
    /// Adds the numbers of other rows.
    pub(crate) fn add_all_numbers(&mut self, numbers: &[f64]) -> Result<()> {
        self.sums.add_all_numbers(numbers)
    }

    /// Returns empty sums at the same landmarks and control points.
    pub fn emptied(&self) -> LandmarkSums {
        let mut empty = self.clone();
        empty.sums.totals = Totals::of_nothing(self.sums.points().len());
        empty
    }
}
