//! The Cholesky factor of a kernel matrix of up to some thousands of points: blocked for the cache, shared by threads.

use std::ops::ControlFlow;

use rayon::prelude::*;

use super::{cholesky_in_place, diagonal, solve_lower};
use crate::{Error, Result};

/// Columns eliminated at once: a packed tile of 4 × 64 numbers is 2 KiB.
const BLOCK: usize = 64;

/// Rows and columns of the tile that is accumulated in registers.
const TILE: usize = 4;

/// Rows a thread updates at once.
const ROWS: usize = 16;

/// L with L·Lᵀ = A + jitter·I, row after row; only its lower triangle is meaningful.
pub struct Factor {
    lower: Vec<f64>,
    dim: usize,
}

impl Factor {
    /// The factor of `matrix`, of which the lower triangle is read, with `jitter` added to its diagonal. `None` unless
    /// every pivot is at least `smallest_pivot`, below which a solution would be rounding noise.
    pub fn new(matrix: Vec<f64>, dim: usize, jitter: f64, smallest_pivot: f64) -> Option<Factor> {
        let goes_on = |_| ControlFlow::Continue(());
        Factor::watched(matrix, dim, jitter, smallest_pivot, goes_on).expect("nobody ends it")
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
            // Below the corner: the rows x with x·Lᵀ = a, each a forward substitution.
            let below = &mut matrix[end * dim..];
            below.par_chunks_mut(dim).with_min_len(8).for_each(|row| {
                solve_lower(&corner, &mut row[start..end]);
            });
            subtract_products(below, dim, start, width, end);
        }
        Ok(Some(Factor { lower: matrix, dim }))
    }

    /// Replaces `b` by the solution of (A + jitter·I)·x = b.
    pub fn solve(&self, b: &mut [f64]) {
        assert_eq!(b.len(), self.dim);
        super::solve(&self.lower, b);
    }
}

/// From the lower triangle of the rows `below`, which start at column `end`, subtracts the products of their panels:
/// `a[i][j] −= Σₖ p[i][k]·p[j][k]` over the `width` columns k from `start`.
fn subtract_products(below: &mut [f64], dim: usize, start: usize, width: usize, end: usize) {
    let count = below.len() / dim;
    let tiles = count.div_ceil(TILE);
    // Tile by tile, and column by column within a tile; rows past the end are zero.
    let mut packed = vec![0.0; tiles * TILE * width];
    packed.par_chunks_mut(TILE * width).enumerate().for_each(|(tile, packed)| {
        for row in tile * TILE..count.min((tile + 1) * TILE) {
            let panel = &below[row * dim + start..row * dim + start + width];
            packed[row % TILE..].iter_mut().step_by(TILE).zip(panel).for_each(|(out, p)| *out = *p);
        }
    });
    let tile_at = |tile: usize| &packed[tile * TILE * width..(tile + 1) * TILE * width];
    below.par_chunks_mut(ROWS * dim).enumerate().for_each(|(chunk, rows)| {
        let first = chunk * ROWS / TILE;
        let own = first..first + (rows.len() / dim).div_ceil(TILE);
        for right in 0..own.end {
            // The right tile stays in the first-level cache for all left tiles of the chunk.
            for left in own.clone().filter(|left| *left >= right) {
                let product = tile_product(tile_at(left), tile_at(right));
                for (row, product) in (left * TILE..).zip(product) {
                    let at = (row - chunk * ROWS) * dim + end + right * TILE;
                    if at - end - right * TILE >= rows.len() {
                        break;
                    }
                    let columns = TILE.min(count - right * TILE);
                    rows[at..at + columns].iter_mut().zip(product).for_each(|(a, p)| *a -= p);
                }
            }
        }
    });
}

fn tile_product(left: &[f64], right: &[f64]) -> [[f64; TILE]; TILE] {
    let mut product = [[0.0; TILE]; TILE];
    for (left, right) in left.as_chunks::<TILE>().0.iter().zip(right.as_chunks::<TILE>().0) {
        for (product, l) in product.iter_mut().zip(left) {
            product.iter_mut().zip(right).for_each(|(product, r)| *product += l * r);
        }
    }
    product
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
