//! Directions of whitening: eigenvectors of the correlation matrix, each divided by its standard deviation, from the side
//! of the data that is smaller.

use rayon::prelude::*;
use supersample_sum::{ABREAST, PanelProduct, add_products};

use super::{Moments, correlations};
use crate::linalg::symmetric_eigen_watched;
use crate::watch::{Progress, Watch};

/// Directions whose variance is less than this part of the largest are rounding, not data.
const DEGENERATE: f64 = 1e-12;

/// The directions from the correlations of the columns; `None` if the watch ends it.
pub(super) fn of_columns(
    values: &[f64],
    moments: &[Option<Moments>],
    shares: Option<&[f64]>,
    watch: Watch,
) -> Option<Vec<Vec<f64>>> {
    let dim = moments.len();
    // Scaled columns have the correlations for covariances.
    let below = correlations(values, moments, shares);
    let mut covariance = vec![0.0; dim * dim];
    for (j, (row, below)) in covariance.chunks_exact_mut(dim).zip(below).enumerate() {
        row[..j].copy_from_slice(&below);
        row[j] = f64::from(u8::from(moments[j].is_some()));
    }
    let (variances, vectors) = eigen(&covariance, dim, watch)?;
    let axes = vectors.chunks_exact(dim).zip(&variances).take(count_of(&variances));
    Some(axes.map(|(axis, variance)| axis.iter().map(|x| x / variance.sqrt()).collect()).collect())
}

/// The directions from the products of the rows, which are fewer than the columns.
///
/// Row i of Z is a scaled row times the root of its share, so Zᵀ·Z is the correlation matrix. If u is an eigenvector of
/// Z·Zᵀ, Zᵀ·u is one of Zᵀ·Z, of squared length λ, which is the variance.
pub(super) fn of_rows(
    values: &[f64],
    moments: &[Option<Moments>],
    shares: Option<&[f64]>,
    watch: Watch,
) -> Option<Vec<Vec<f64>>> {
    let dim = moments.len();
    let count = values.len() / dim;
    let equal = 1.0 / count as f64;
    // Eight rows side by side, as the products want them.
    let mut panels = vec![0.0; count.div_ceil(ABREAST) * ABREAST * dim];
    let size = ABREAST * dim;
    panels.par_chunks_mut(size).zip(values.par_chunks(size)).enumerate().for_each(
        |(panel, (cells, rows))| {
            for (i, row) in rows.chunks_exact(dim).enumerate() {
                let root = shares.map_or(equal, |shares| shares[panel * ABREAST + i]).sqrt();
                for ((cell, x), moments) in cells[i..].iter_mut().step_by(ABREAST).zip(row).zip(moments) {
                    if let Some(Moments { mean, sd }) = moments {
                        // Halved first, so that the difference of two huge numbers of opposite sign stays finite.
                        *cell = (x * 0.5 - mean * 0.5) / sd * 2.0 * root;
                    }
                }
            }
        },
    );
    let lines: Vec<Vec<PanelProduct>> = panels
        .par_chunks(size)
        .enumerate()
        .map(|(panel, left)| {
            let mut products = vec![[[0.0; ABREAST]; ABREAST]; panel + 1];
            add_products(left, &panels[..(panel + 1) * size], dim, &mut products);
            products
        })
        .collect();
    let entry = |i: usize, j: usize| lines[i / ABREAST][j / ABREAST][i % ABREAST][j % ABREAST];
    let mut gram = vec![0.0; count * count];
    for (i, row) in gram.chunks_exact_mut(count).enumerate() {
        row[..=i].iter_mut().enumerate().for_each(|(j, cell)| *cell = entry(i, j));
    }
    let (variances, vectors) = eigen(&gram, count, watch)?;
    let kept: Vec<&[f64]> = vectors.chunks_exact(count).take(count_of(&variances)).collect();
    let axis = |along: &&[f64]| {
        let mut axis = vec![0.0; dim];
        for (panel, along) in panels.chunks_exact(size).zip(along.chunks(ABREAST)) {
            for (sum, cells) in axis.iter_mut().zip(panel.as_chunks::<ABREAST>().0) {
                *sum += cells.iter().zip(along).map(|(cell, u)| cell * u).sum::<f64>();
            }
        }
        let variance: f64 = axis.iter().map(|x| x * x).sum();
        axis.iter_mut().for_each(|x| *x /= variance);
        axis
    };
    Some(kept.par_iter().map(axis).collect())
}

/// Eigenvalues, largest first, and eigenvectors.
fn eigen(matrix: &[f64], dim: usize, watch: Watch) -> Option<(Vec<f64>, Vec<f64>)> {
    symmetric_eigen_watched(matrix, dim, &|done| watch(Progress::Whitening { done, total: 2 * dim }))
}

/// Number of directions with a spread.
fn count_of(variances: &[f64]) -> usize {
    let largest = variances.iter().copied().fold(0.0, f64::max);
    variances.iter().take_while(|variance| **variance > DEGENERATE * largest).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unwatched;

    /// Rows as the directions map them: Z times the axes.
    fn mapped(values: &[f64], moments: &[Option<Moments>], axes: &[Vec<f64>]) -> Vec<f64> {
        let scaled = |row: &[f64], axis: &Vec<f64>| -> f64 {
            let columns = row.iter().zip(moments).zip(axis);
            columns.map(|((x, m), a)| m.map_or(0.0, |m| (x - m.mean) / m.sd * a)).sum()
        };
        values
            .chunks_exact(moments.len())
            .flat_map(|row| axes.iter().map(move |axis| scaled(row, axis)))
            .collect()
    }

    #[test]
    fn both_sides_give_the_same_directions_up_to_their_sign() {
        for (count, dim, is_weighted) in [(3, 7, false), (20, 33, true), (9, 64, false), (17, 18, true)] {
            let value = |k: usize| match (k % dim, k / dim) {
                // A constant column, and one in other units.
                (2, _) => 4.0,
                (column, row) => {
                    ((row * row * 7 + column * 3 + row * column) as f64).sin()
                        * if column == 1 { 1e6 } else { 1.0 }
                }
            };
            let values: Vec<f64> = (0..count * dim).map(value).collect();
            let weights: Vec<f64> = (0..count).map(|i| (i % 4) as f64).collect();
            let total: f64 = weights.iter().sum();
            let shares: Vec<f64> = weights.iter().map(|w| w / total).collect();
            let shares = is_weighted.then_some(&shares[..]);
            let moments: Vec<Option<Moments>> =
                (0..dim).map(|j| Moments::of(&values, dim, j, shares)).collect();
            assert!(moments[2].is_none() && moments[1].is_some());
            let rows = of_rows(&values, &moments, shares, &unwatched).unwrap();
            let columns = of_columns(&values, &moments, shares, &unwatched).unwrap();
            assert_eq!(rows.len(), columns.len(), "{count}×{dim}");
            let [rows, columns] = [rows, columns].map(|axes| (mapped(&values, &moments, &axes), axes.len()));
            for axis in 0..rows.1 {
                let column = |mapped: &[f64]| -> Vec<f64> {
                    mapped.iter().skip(axis).step_by(rows.1).copied().collect()
                };
                let (a, b) = (column(&rows.0), column(&columns.0));
                let sign = a.iter().zip(&b).map(|(a, b)| a * b).sum::<f64>().signum();
                for (a, b) in a.iter().zip(&b) {
                    assert!((a - sign * b).abs() < 1e-9, "{count}×{dim}, direction {axis}: {a} {b}");
                }
            }
        }
    }

    #[test]
    fn rows_without_spread_have_no_direction() {
        assert_eq!(of_rows(&[1.0; 10], &[None; 5], None, &unwatched), Some(Vec::new()));
    }
}
