//! Views: what the kernel of a part sees of each row.
//!
//! Some are written from a smaller form when they are needed: a kernel row takes the view of one row, and all of them are
//! packed once.

use std::borrow::Cow;

use rayon::prelude::*;

use super::ColumnMoments;
use super::places::Places;
use crate::{Points, Result};

/// Up to so many numbers are kept as they are; more have a form that takes less memory.
pub(crate) const FEW: usize = 1 << 22;

/// Views of all rows.
#[derive(Clone, Debug)]
pub(crate) enum Views {
    /// The numbers themselves.
    Points(Points),
    /// u in every column.
    Places(Places),
    /// Functions of the columns of these rows.
    Moments(ColumnMoments, Points),
}

impl Views {
    /// The numbers themselves where they are few, so that none is computed twice.
    pub(super) fn or_points(self) -> Result<Views> {
        match self.len() * self.dim() <= FEW {
            true => Ok(Views::Points(self.points()?)),
            false => Ok(self),
        }
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        match self {
            Views::Points(points) | Views::Moments(_, points) => points.len(),
            Views::Places(places) => places.len(),
        }
    }

    /// Numbers of a row.
    pub(crate) fn dim(&self) -> usize {
        match self {
            Views::Points(points) => points.dim(),
            Views::Places(places) => places.dim(),
            Views::Moments(moments, _) => moments.view_dim(),
        }
    }

    /// View of a row.
    pub(crate) fn row(&self, row: usize) -> Cow<'_, [f64]> {
        match self {
            Views::Points(points) => Cow::Borrowed(points.row(row)),
            Views::Places(places) => Cow::Owned(places.row(row).collect()),
            Views::Moments(moments, rows) => {
                let mut view = vec![0.0; moments.view_dim()];
                moments.write_view(rows.row(row), &mut view);
                Cow::Owned(view)
            }
        }
    }

    /// The views of rows from `first` on, as many as there is room for.
    pub(crate) fn write(&self, first: usize, out: &mut [f64]) {
        let dim = self.dim();
        match self {
            Views::Points(points) => out.copy_from_slice(&points.as_slice()[first * dim..][..out.len()]),
            Views::Places(places) => {
                // Column by column, as the places are.
                out.par_chunks_mut(64 * dim).enumerate().for_each(|(block, out)| {
                    for column in 0..dim {
                        let cells = out[column..].iter_mut().step_by(dim).enumerate();
                        cells.for_each(|(i, cell)| *cell = places.u(first + 64 * block + i, column));
                    }
                });
            }
            Views::Moments(moments, rows) => {
                let some = out.par_chunks_mut(dim).enumerate().with_min_len(64);
                some.for_each(|(i, view)| moments.write_view(rows.row(first + i), view));
            }
        }
    }

    /// All views as points.
    pub(crate) fn points(&self) -> Result<Points> {
        if let Views::Points(points) = self {
            return Ok(points.clone());
        }
        let mut all = vec![0.0; self.len() * self.dim()];
        self.write(0, &mut all);
        Points::from_vec(all, self.dim())
    }

    /// The views of some of the rows.
    pub(crate) fn select(&self, rows: &[usize]) -> Result<Views> {
        Ok(match self {
            Views::Points(points) => Views::Points(points.select(rows)?),
            Views::Places(places) => Views::Places(places.select(rows)),
            Views::Moments(moments, all) => Views::Moments(moments.clone(), all.select(rows)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use supersample_sum::Shape;

    use super::*;
    use crate::sum::{Packed, Precision};

    /// More rows than are summed in one part, so that the centre is that of points too.
    #[test]
    fn views_that_are_written_are_those_of_points_and_packed_alike() {
        let value = |i: usize, j: usize| (i as f64 * (0.7 + j as f64)).sin();
        let rows: Vec<f64> = (0..140_000).flat_map(|i| (0..2).map(move |j| value(i, j))).collect();
        let rows = Points::from_vec(rows, 2).unwrap();
        let places = Places::among(&rows, None, None).unwrap().places;
        let moments = ColumnMoments::new(&rows, None).unwrap().unwrap();
        for (kernel, views) in [
            (Shape::Manhattan { length: 4.0 }, Views::Places(places)),
            (Shape::Linear, Views::Moments(moments, rows.clone())),
        ] {
            let points = Views::Points(views.points().unwrap());
            assert_eq!((views.len(), views.dim()), (points.len(), points.dim()));
            assert_eq!(views.row(70_007), points.row(70_007));
            let [some, same] = [&views, &points].map(|all| all.select(&[9, 139_999, 9]).unwrap());
            assert_eq!(some.points(), same.points());
            for precision in [Precision::Mixed, Precision::Double] {
                let [one, other] =
                    [&views, &points].map(|all| Packed::forced(kernel.clone(), all, precision));
                assert!(one.host().rounded() == other.host().rounded(), "{kernel:?}");
            }
        }
    }
}
