//! Means and standard deviations of columns.

use std::ops::Range;

use rayon::prelude::*;

use crate::points::normalised;
use crate::{Points, Result};

/// Columns that a thread sums up side by side, where there are enough.
const FEWEST_ABREAST: usize = 8;

/// Mean and standard deviation of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// The mean.
    pub mean: f64,
    /// The standard deviation, without n − 1.
    pub sd: f64,
}

impl Moments {
    /// The moments of each column of rows with given or equal weights.
    pub(crate) fn of_rows(rows: &Points, weights: Option<&[f64]>) -> Result<Vec<Option<Moments>>> {
        let shares = weights.map(|weights| normalised(weights, "rows", rows.len())).transpose()?;
        Ok(Moments::of_columns(rows.as_slice(), rows.dim(), shares.as_deref()))
    }

    /// [`of`](Self::of) each column, to the last bit.
    ///
    /// A sum over one column waits for every addition. Those of several columns do not wait for each other, and need no
    /// column taken out.
    pub(super) fn of_columns(values: &[f64], dim: usize, shares: Option<&[f64]>) -> Vec<Option<Moments>> {
        let abreast = dim.div_ceil(rayon::current_num_threads()).max(FEWEST_ABREAST);
        let starts: Vec<usize> = (0..dim).step_by(abreast).collect();
        let of_some = |first: usize| Moments::abreast(values, dim, first..dim.min(first + abreast), shares);
        starts.into_par_iter().flat_map_iter(of_some).collect()
    }

    fn abreast(
        values: &[f64],
        dim: usize,
        columns: Range<usize>,
        shares: Option<&[f64]>,
    ) -> Vec<Option<Moments>> {
        let equal = 1.0 / (values.len() / dim) as f64;
        let rows = || {
            let rows = values.chunks_exact(dim).map(|row| &row[columns.clone()]).enumerate();
            let rows = rows.map(|(i, row)| (row, shares.map_or(equal, |shares| shares[i])));
            rows.filter(|&(_, share)| share > 0.0)
        };
        let none = vec![0.0; columns.len()];
        let Some((first, _)) = rows().next() else { return vec![None; columns.len()] };
        let (mut differ, mut largest, mut total) = (none.clone(), none.clone(), 0.0);
        for (row, share) in rows() {
            total += share;
            for ((largest, differs), (x, first)) in
                largest.iter_mut().zip(&mut differ).zip(row.iter().zip(first))
            {
                *largest = if x.abs() > *largest { x.abs() } else { *largest };
                *differs = if x == first { *differs } else { 1.0 };
            }
        }
        let units: Vec<f64> = largest.into_iter().map(unit_of).collect();
        // Powers of two: a product with the inverse is the quotient.
        let inverse: Vec<f64> = units.iter().map(|unit| 1.0 / unit).collect();
        let mut means = none.clone();
        for _ in 0..2 {
            let mut sums = none.clone();
            for (row, share) in rows() {
                for ((sum, x), (mean, inverse)) in sums.iter_mut().zip(row).zip(means.iter().zip(&inverse)) {
                    *sum += (x * inverse - mean) * share;
                }
            }
            means.iter_mut().zip(sums).for_each(|(mean, sum)| *mean += sum / total);
        }
        let mut squares = none;
        for (row, share) in rows() {
            for ((sum, x), (mean, inverse)) in squares.iter_mut().zip(row).zip(means.iter().zip(&inverse)) {
                let x = x * inverse - mean;
                *sum += x * x * share;
            }
        }
        let moments = squares.into_iter().zip(means).zip(units);
        let moments = moments
            .map(|((square, mean), unit)| Moments { mean: mean * unit, sd: (square / total).sqrt() * unit });
        moments.zip(differ).map(|(moments, differs)| (differs > 0.0).then_some(moments)).collect()
    }

    /// Computes the moments of column `j` of numbers in row order; `None` if all values of rows with weight are equal.
    pub fn of(values: &[f64], dim: usize, j: usize, shares: Option<&[f64]>) -> Option<Moments> {
        let rows = values.len() / dim;
        let share = |i: usize| shares.map_or(1.0 / rows as f64, |shares| shares[i]);
        let column = || (0..rows).map(|i| (values[i * dim + j], share(i))).filter(|&(_, share)| share > 0.0);
        // Compared, not computed: the sd of a constant that has no exact mean would be tiny, not 0.
        let (first, _) = column().next()?;
        if column().all(|(value, _)| value == first) {
            return None;
        }
        let unit = unit_of(column().fold(0.0_f64, |largest, (value, _)| largest.max(value.abs())));
        let total: f64 = column().map(|(_, share)| share).sum();
        let mut mean = 0.0;
        // The second round removes the rounding of the first, which matters if the mean is much larger than the sd.
        for _ in 0..2 {
            mean += column().map(|(value, share)| (value / unit - mean) * share).sum::<f64>() / total;
        }
        let square = |(value, share): (f64, f64)| (value / unit - mean).powi(2) * share;
        let sd = (column().map(square).sum::<f64>() / total).sqrt();
        Some(Moments { mean: mean * unit, sd: sd * unit })
    }
}

/// A power of two near the largest number of a column: it divides without rounding, and keeps the squares of huge or tiny
/// values in range.
fn unit_of(largest: f64) -> f64 {
    largest.log2().floor().clamp(-1000.0, 1000.0).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_columns_side_by_side_are_those_of_each_to_the_last_bit() {
        let value = |i: usize, j: usize| match j % 5 {
            0 => (i as f64 * 0.7 + j as f64).sin() * 10f64.powi(9 * j as i32 - 300),
            1 => 1e9 + (i * i % 17) as f64,
            2 => [0.0, -0.0][i % 2],
            3 => {
                if i == 3 {
                    1.7e308
                } else {
                    -1.7e308
                }
            }
            _ => {
                if i == 4 {
                    1.0
                } else {
                    0.1
                }
            }
        };
        for (rows, dim) in [(1, 1), (2, 3), (500, 60), (100, 7)] {
            let values: Vec<f64> = (0..rows * dim).map(|k| value(k / dim, k % dim)).collect();
            // The fourth row alone has another number in some columns, and no weight.
            let shares: Vec<f64> = (0..rows)
                .map(|i| (i % 4) as f64 / rows as f64)
                .map(|s| if s == 0.0 { 0.0 } else { s + 0.1 })
                .collect();
            for shares in [None, Some(&shares[..])] {
                let found = Moments::of_columns(&values, dim, shares);
                let each: Vec<_> = (0..dim).map(|j| Moments::of(&values, dim, j, shares)).collect();
                assert_eq!(found, each, "{rows} × {dim}");
            }
        }
    }
}
