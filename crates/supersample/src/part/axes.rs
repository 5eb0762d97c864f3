//! Axes: the few directions in which many functions vary.
//!
//! A kernel value of p functions costs p products, and predictions on a thousand inputs vary in far fewer directions.
//! The axes are those of a pivoted Cholesky factor of the functions' covariance, which takes in turn the function of
//! which most is left unexplained; they are computed from some of the rows and used only if they explain all rows.

use rayon::prelude::*;

use supersample_sum::Shape;

use super::Views;
use crate::linalg::dot;
use crate::row_sampling::subsample;
use crate::sum::{Packed, Precision};
use crate::{Points, Result};

/// Fewer functions than this are taken as they are.
const FROM: usize = 64;

/// Rows on which axes are sought.
const ROWS: usize = 4096;

/// The share of the variance of these rows that axes may leave unexplained, and that of all rows.
const SOUGHT: f64 = 1e-6;
const TOLERATED: f64 = 1e-5;

/// Orthonormal directions among functions, each with one number for each function.
pub(super) struct Axes(Points);

impl Axes {
    /// Axes that explain all but [`SOUGHT`] of some of the rows; `None` if the functions are few, or would need more
    /// than half as many axes. `standardised(row, out)` writes the functions of a row.
    pub(super) fn find(
        rows: usize,
        count: usize,
        standardised: impl Fn(usize, &mut [f64]) + Sync,
    ) -> Option<Axes> {
        if count < FROM {
            return None;
        }
        let rows = subsample(rows, ROWS);
        // Functions as points, with a coordinate for each row: their inner products are the covariance.
        let mut functions = vec![0.0; count * rows.len()];
        let mut of_row = vec![0.0; count];
        for (i, &row) in rows.iter().enumerate() {
            standardised(row, &mut of_row);
            functions[i..].iter_mut().step_by(rows.len()).zip(&of_row).for_each(|(out, f)| *out = *f);
        }
        let functions = Points::from_vec(functions, rows.len()).ok()?;
        let packed = Packed::forced(Shape::Linear, &Views::Points(functions.clone()), Precision::Double);
        let mut left: Vec<f64> = functions.rows().map(|f| dot(f, f)).collect();
        let total: f64 = left.iter().sum();
        let mut axes: Vec<Vec<f64>> = Vec::new();
        let mut factor: Vec<Vec<f64>> = Vec::new();
        while left.iter().sum::<f64>() > SOUGHT * total {
            if 2 * axes.len() >= count {
                return None;
            }
            let pivot = (0..count).reduce(|a, b| if left[b] > left[a] { b } else { a })?;
            let mut column = vec![0.0; count];
            packed.host().add_row(functions.row(pivot), 1.0, &mut column);
            for earlier in &factor {
                let at_pivot = earlier[pivot];
                column.iter_mut().zip(earlier).for_each(|(c, l)| *c -= at_pivot * l);
            }
            let root = left[pivot].sqrt();
            column.iter_mut().for_each(|c| *c /= root);
            left.iter_mut().zip(&column).for_each(|(left, l)| *left = (*left - l * l).max(0.0));
            left[pivot] = 0.0;
            axes.push(orthonormal(&column, &axes)?);
            factor.push(column);
        }
        Points::from_vec(axes.concat(), count).ok().map(Axes)
    }

    /// Every row along the axes; `None` if they leave more than [`TOLERATED`] of all rows unexplained.
    pub(super) fn view(
        &self,
        rows: usize,
        standardised: impl Fn(usize, &mut [f64]) + Sync,
    ) -> Result<Option<Points>> {
        let Axes(axes) = self;
        let packed = Packed::forced(Shape::Linear, &Views::Points(axes.clone()), Precision::Double);
        let mut view = vec![0.0; rows * axes.len()];
        let along = view.par_chunks_mut(axes.len()).enumerate().map_init(
            || vec![0.0; axes.dim()],
            |of_row, (row, along)| {
                standardised(row, of_row);
                packed.host().add_row(of_row, 1.0, along);
                (dot(of_row, of_row), dot(along, along))
            },
        );
        let squares: Vec<(f64, f64)> = along.collect();
        let (all, explained) = squares.iter().fold((0.0, 0.0), |sum, s| (sum.0 + s.0, sum.1 + s.1));
        match explained >= (1.0 - TOLERATED) * all {
            true => Points::from_vec(view, axes.len()).map(Some),
            false => Ok(None),
        }
    }
}

/// Direction of a vector orthogonal to orthonormal ones; `None` if nothing is left of it.
fn orthonormal(vector: &[f64], others: &[Vec<f64>]) -> Option<Vec<f64>> {
    let mut direction = vector.to_vec();
    // Twice, because of rounding.
    for _ in 0..2 {
        for other in others {
            let along = dot(&direction, other);
            direction.iter_mut().zip(other).for_each(|(d, o)| *d -= along * o);
        }
    }
    let length = dot(&direction, &direction).sqrt();
    direction.iter_mut().for_each(|d| *d /= length);
    (length > 0.0 && length.is_finite()).then_some(direction)
}
