//! Points: n rows of d finite numbers, stored row by row and cheap to clone.

use std::sync::Arc;

use rayon::prelude::*;
use supersample_sum::Rows;

use crate::{Error, Result};

/// Numbers that one thread checks or copies alone; more are shared between threads.
const CHECKED_AT_ONCE: usize = 1 << 18;

/// `n ≥ 1` points in `d ≥ 1` dimensions, every coordinate finite.
///
/// Clones share one buffer, so a pool and the samples it came from can be the same `Points` at no cost, and the
/// library notices when they are.
///
/// ```
/// use supersample::Points;
/// let points = Points::from_rows(&[0.3, 0.25, 0.4, 0.2], 2)?;
/// assert_eq!((points.len(), points.dim()), (2, 2));
/// assert_eq!(points.row(1), [0.4, 0.2]);
/// assert!(Points::from_rows(&[0.3, f64::NAN], 2).is_err());
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    data: Arc<Vec<f64>>,
    dim: usize,
}

impl Points {
    /// Copies numbers in row order into points; `dim` numbers make a row.
    pub fn from_rows(rows: &[f64], dim: usize) -> Result<Points> {
        Points::from_vec(rows.to_vec(), dim)
    }

    /// Takes numbers in row order as points, without a copy; `dim` numbers make a row.
    pub fn from_vec(data: Vec<f64>, dim: usize) -> Result<Points> {
        Points::check(&data, dim)?;
        Ok(Points { data: Arc::new(data), dim })
    }

    /// Checks that these numbers can be points.
    pub(crate) fn check(data: &[f64], dim: usize) -> Result<()> {
        if dim == 0 {
            return Err(Error::NoDimensions);
        }
        if data.is_empty() {
            return Err(Error::NoPoints);
        }
        if !data.len().is_multiple_of(dim) {
            return Err(Error::RaggedRows { len: data.len(), dim });
        }
        if let Some(at) = first_not_finite(data) {
            return Err(Error::NonFinite { row: at / dim, column: at % dim, value: data[at] });
        }
        Ok(())
    }

    /// Number of points; at least 1.
    #[expect(clippy::len_without_is_empty, reason = "points are never empty")]
    pub fn len(&self) -> usize {
        self.data.len() / self.dim
    }

    /// Number of coordinates of each point; at least 1.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Point `i`, counted from 0.
    #[track_caller]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.data[i * self.dim..(i + 1) * self.dim]
    }

    /// Iterator over the points.
    pub fn rows(&self) -> std::slice::ChunksExact<'_, f64> {
        self.data.chunks_exact(self.dim)
    }

    /// All numbers in row order.
    pub fn as_slice(&self) -> &[f64] {
        &self.data
    }

    /// The points as kernel sums see them.
    pub(crate) fn view(&self) -> Rows<'_> {
        Rows::new(&self.data, self.dim)
    }

    /// Copies the given rows, in the given order, into new points.
    pub fn select(&self, rows: &[usize]) -> Result<Points> {
        if let Some(&index) = rows.iter().find(|&&index| index >= self.len()) {
            return Err(Error::NoSuchRow { index, len: self.len() });
        }
        if rows.is_empty() {
            return Err(Error::NoPoints);
        }
        let mut data = vec![0.0; rows.len() * self.dim];
        let copy = |data: &mut [f64], rows: &[usize]| {
            let pairs = data.chunks_exact_mut(self.dim).zip(rows);
            pairs.for_each(|(out, &index)| out.copy_from_slice(self.row(index)));
        };
        match CHECKED_AT_ONCE / self.dim {
            some if some < rows.len() && some > 0 => {
                let copies = data.par_chunks_mut(some * self.dim).zip(rows.par_chunks(some));
                copies.for_each(|(data, rows)| copy(data, rows));
            }
            _ => copy(&mut data, rows),
        }
        // They have been checked.
        Ok(Points { data: Arc::new(data), dim: self.dim })
    }

    /// Whether both share one buffer, as clones do. A cheap test for a pool that is the samples themselves.
    pub fn is_same_as(&self, other: &Points) -> bool {
        Arc::ptr_eq(&self.data, &other.data) && self.dim == other.dim
    }

    pub(crate) fn expect_dim(
        &self,
        what: &'static str,
        against: &'static str,
        expected: usize,
    ) -> Result<()> {
        if self.dim == expected {
            return Ok(());
        }
        Err(Error::DimensionMismatch { what, found: self.dim, against, expected })
    }
}

/// Position of the first number that is not finite.
fn first_not_finite(data: &[f64]) -> Option<usize> {
    let of_chunk = |chunk: &[f64]| chunk.iter().position(|value| !value.is_finite());
    if data.len() <= CHECKED_AT_ONCE {
        return of_chunk(data);
    }
    let chunks = data.par_chunks(CHECKED_AT_ONCE).enumerate();
    let found = chunks.map(|(i, chunk)| of_chunk(chunk).map(|at| i * CHECKED_AT_ONCE + at));
    found.find_first(Option::is_some).flatten()
}

/// Divides weights by their sum, or returns the error that names a bad one.
///
/// Dividing by the largest first keeps the sum finite for weights up to the largest float.
pub(crate) fn normalised(weights: &[f64], what: &'static str, expected: usize) -> Result<Vec<f64>> {
    if weights.len() != expected {
        return Err(Error::WeightCount { what, found: weights.len(), expected });
    }
    if let Some(index) = weights.iter().position(|w| !w.is_finite() || *w < 0.0) {
        return Err(Error::BadWeight { index, value: weights[index] });
    }
    let largest = weights.iter().fold(0.0, |a: f64, &b| a.max(b));
    if largest == 0.0 {
        return Err(Error::ZeroWeights);
    }
    let total: f64 = weights.iter().map(|w| w / largest).sum();
    Ok(weights.iter().map(|w| w / largest / total).collect())
}

/// Divides weights of either sign by their sum; `None` if all are equal.
pub(crate) fn unit_weights(
    weights: Option<&[f64]>,
    what: &'static str,
    expected: usize,
) -> Result<Option<Vec<f64>>> {
    let Some(weights) = weights else { return Ok(None) };
    if weights.len() != expected {
        return Err(Error::WeightCount { what, found: weights.len(), expected });
    }
    if let Some(index) = weights.iter().position(|w| !w.is_finite()) {
        return Err(Error::NonFiniteNumber { what: "weight", index, value: weights[index] });
    }
    let largest = weights.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
    let total: f64 = weights.iter().map(|w| w / largest).sum();
    if largest == 0.0 || total <= 0.0 {
        return Err(Error::ZeroWeights);
    }
    Ok(Some(weights.iter().map(|w| w / largest / total).collect()))
}

/// Checks that something has as many rows as the pool.
pub(crate) fn expect_rows(what: &'static str, found: usize, expected: usize) -> Result<()> {
    if found == expected { Ok(()) } else { Err(Error::RowCount { what, found, expected }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_points_are_refused_with_the_place_named() {
        assert_eq!(Points::from_rows(&[], 2), Err(Error::NoPoints));
        assert_eq!(Points::from_rows(&[1.0], 0), Err(Error::NoDimensions));
        assert_eq!(Points::from_rows(&[1.0, 2.0, 3.0], 2), Err(Error::RaggedRows { len: 3, dim: 2 }));
        let infinite = Points::from_rows(&[1.0, 2.0, 3.0, f64::INFINITY], 2);
        assert_eq!(infinite, Err(Error::NonFinite { row: 1, column: 1, value: f64::INFINITY }));
        let nan = Points::from_rows(&[1.0, 2.0, f64::NAN, 4.0], 2).unwrap_err().to_string();
        assert!(nan.starts_with("row 1, column 0 is NaN"), "{nan}");
    }

    #[test]
    fn selecting_rows_keeps_their_order_and_repeats() {
        let points = Points::from_rows(&[1.0, 2.0, 3.0], 1).unwrap();
        assert_eq!(points.select(&[2, 0, 2]).unwrap().as_slice(), [3.0, 1.0, 3.0]);
        assert_eq!(points.select(&[3]), Err(Error::NoSuchRow { index: 3, len: 3 }));
    }

    #[test]
    fn weights_are_normalised_and_checked() {
        assert_eq!(normalised(&[1.0, 3.0], "samples", 2).unwrap(), [0.25, 0.75]);
        assert_eq!(normalised(&[f64::MAX, f64::MAX], "samples", 2).unwrap(), [0.5, 0.5]);
        assert_eq!(normalised(&[0.0, 0.0], "samples", 2), Err(Error::ZeroWeights));
        assert_eq!(normalised(&[1.0, -1.0], "samples", 2), Err(Error::BadWeight { index: 1, value: -1.0 }));
        assert!(normalised(&[f64::NAN], "samples", 1).is_err());
        assert!(normalised(&[1.0], "samples", 2).is_err());
    }
}
