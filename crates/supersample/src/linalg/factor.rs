//! The Cholesky factor of a kernel matrix of up to some thousands of points: blocked for the cache, shared by threads.

use std::ops::ControlFlow;

use rayon::prelude::*;
use supersample_sum::{ABREAST, PanelProduct, add_products, solve_panel};

use super::{cholesky_in_place, diagonal};
use crate::{Error, Result};

/// Columns eliminated at once.
const BLOCK: usize = 64;

/// Panels of rows a thread updates at once.
const PANELS: usize = 4;

/// L with L·Lᵀ = A + jitter·I, row by row; only its lower triangle is meaningful.
pub struct Factor {
    lower: Vec<f64>,
    dim: usize,
}

impl Factor {
    /// The factor of `matrix`, of which the lower triangle is read, with `jitter` added to its diagonal. `None` unless
    /// every pivot is at least `smallest_pivot`, below which a solution would be rounding noise.
    pub fn new(matrix: Vec<f64>, dim: usize, jitter: f64, smallest_pivot: f64) -> Option<Factor> {
        let goes_on = |_| ControlFlow::Continue(());
        Factor::watched(matrix, dim, jitter, smallest_pivot, goes_on).expect("it cannot be interrupted")
    }

    /// [`new`](Self::new), which asks after every block of columns, with the number of those that are done, whether to go
    /// on; [`Break`](ControlFlow::Break) ends it with [`Error::Interrupted`].
    pub(crate) fn watched(
        mut matrix: Vec<f64>,
        dim: usize,
        jitter: f64,
        smallest_pivot: f64,
        goes_on: impl Fn(usize) -> ControlFlow<()>,
    ) -> Result<Option<Factor>> {
        assert_eq!(matrix.len(), dim * dim);
        matrix.iter_mut().step_by(dim + 1).for_each(|diagonal| *diagonal += jitter);
        for start in (0..dim).step_by(BLOCK) {
            let width = BLOCK.min(dim - start);
            let end = start + width;
            let mut corner: Vec<f64> = Vec::with_capacity(width * width);
            (start..end).for_each(|row| corner.extend(&matrix[row * dim + start..row * dim + end]));
            if goes_on(start).is_break() {
                return Err(Error::Interrupted);
            }
            let is_definite = cholesky_in_place(&mut corner, width);
            if !is_definite || diagonal(&corner, width).any(|pivot| pivot * pivot < smallest_pivot) {
                return Ok(None);
            }
            for (row, line) in (start..end).zip(corner.chunks_exact(width)) {
                matrix[row * dim + start..row * dim + end].copy_from_slice(line);
            }
            eliminate(&mut matrix[end * dim..], dim, start, &corner);
        }
        Ok(Some(Factor { lower: matrix, dim }))
    }

    /// Replaces `b` by the solution of (A + jitter·I)·x = b.
    pub fn solve(&self, b: &mut [f64]) {
        assert_eq!(b.len(), self.dim);
        super::solve(&self.lower, b);
    }
}

/// Eliminates a block of columns that begin at `start` from the rows below it: the rows x of the block with x·Lᵀ = a
/// replace a, and their products are subtracted from the lower triangle: `a[i][j] −= Σₖ x[i][k]·x[j][k]`.
fn eliminate(below: &mut [f64], dim: usize, start: usize, corner: &[f64]) {
    let (count, width) = (below.len() / dim, corner.len().isqrt());
    let end = start + width;
    // Panel by panel, the rows side by side; rows past the end are zero.
    let mut packed = vec![0.0; count.div_ceil(ABREAST) * ABREAST * width];
    packed.par_chunks_mut(ABREAST * width).zip(below.par_chunks_mut(ABREAST * dim)).for_each(
        |(panel, rows)| {
            for (place, row) in rows.chunks_exact(dim).enumerate() {
                let cells = panel[place..].iter_mut().step_by(ABREAST);
                cells.zip(&row[start..end]).for_each(|(cell, a)| *cell = *a);
            }
            solve_panel(corner, panel);
            for (place, row) in rows.chunks_exact_mut(dim).enumerate() {
                let cells = panel[place..].iter().step_by(ABREAST);
                cells.zip(&mut row[start..end]).for_each(|(cell, x)| *x = *cell);
            }
        },
    );
    below.par_chunks_mut(PANELS * ABREAST * dim).enumerate().for_each(|(chunk, rows)| {
        let own = chunk * PANELS..chunk * PANELS + (rows.len() / dim).div_ceil(ABREAST);
        let size = ABREAST * width;
        let (left, right) = (&packed[own.start * size..own.end * size], &packed[..own.end * size]);
        let mut products: Vec<PanelProduct> = vec![[[0.0; ABREAST]; ABREAST]; own.len() * own.end];
        add_products(left, right, width, &mut products);
        for (i, row) in rows.chunks_exact_mut(dim).enumerate() {
            let columns = row[end..].chunks_mut(ABREAST);
            for (columns, product) in columns.zip(&products[i / ABREAST * own.end..][..own.end]) {
                columns.iter_mut().zip(product[i % ABREAST]).for_each(|(a, p)| *a -= p);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg;

    /// A matrix of full rank that is far from diagonal: exp(−|i − j|/3) plus a diagonal.
    fn matrix(dim: usize) -> Vec<f64> {
        let entry = |i: usize, j: usize| (-(i.abs_diff(j) as f64) / 3.0).exp() + f64::from(i == j);
        (0..dim * dim).map(|at| entry(at / dim, at % dim)).collect()
    }

    #[test]
    fn the_blocked_factor_is_the_plain_one_for_odd_sizes() {
        for dim in [1, 3, 4, 63, 64, 65, 81, 130, 201] {
            let blocked = Factor::new(matrix(dim), dim, 0.5, 0.0).unwrap();
            let mut plain = matrix(dim);
            plain.iter_mut().step_by(dim + 1).for_each(|diagonal| *diagonal += 0.5);
            let plain = linalg::cholesky(&plain, dim).unwrap();
            for row in 0..dim {
                let lower = row * dim..row * dim + row + 1;
                let pairs = blocked.lower[lower.clone()].iter().zip(&plain[lower]);
                pairs.for_each(|(a, b)| assert!((a - b).abs() < 1e-13, "{dim}: {row}"));
            }
            let wanted: Vec<f64> = (0..dim).map(|i| (i as f64).sin()).collect();
            let mut b: Vec<f64> = matrix(dim)
                .chunks_exact(dim)
                .zip(&wanted)
                .map(|(row, own)| linalg::dot(row, &wanted) + 0.5 * own)
                .collect();
            blocked.solve(&mut b);
            assert!(b.iter().zip(&wanted).all(|(got, want)| (got - want).abs() < 1e-12), "{dim}");
        }
    }

    #[test]
    fn it_can_be_ended_after_any_block() {
        for last in [0, 64, 128] {
            let ended = Factor::watched(matrix(200), 200, 0.0, 0.0, |done| {
                if done == last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            assert!(matches!(ended, Err(Error::Interrupted)), "{last}");
        }
    }

    #[test]
    fn singular_and_nearly_singular_matrices_are_told() {
        let dim = 70;
        let ones = vec![1.0; dim * dim];
        assert!(Factor::new(ones.clone(), dim, 0.0, 1e-13).is_none());
        assert!(Factor::new(ones.clone(), dim, 1e-14, 1e-13).is_none());
        assert!(Factor::new(ones, dim, 1e-6, 1e-13).is_some());
    }
}
