//! Vectorised products of columns, for correlation matrices and blocked Cholesky factors.
//!
//! Columns are in *panels* of eight, row by row: `[row][column in the panel]`. A product of two panels is 8 × 8
//! numbers, each of them added up in the order of the rows, so a result does not depend on the number of threads.

use fearless_simd::Simd;
use fearless_simd::prelude::*;

use crate::level::{dispatch, level};

/// Columns side by side in a panel: a whole vector of f64 on the widest instruction set, several on narrower ones.
pub const ABREAST: usize = 8;

/// Product of two panels, column by column of the left one.
pub type PanelProduct = [[f64; ABREAST]; ABREAST];

/// Adds Σₖ left\[k\]\[i\]·right\[k\]\[j\] to `products[l·R + r][i][j]` for each of the L panels on the left and of the R on
/// the right, all of `rows` rows.
///
/// # Panics
/// If the numbers do not fill whole panels, or there are not as many products as pairs of panels.
pub fn add_products(left: &[f64], right: &[f64], rows: usize, products: &mut [PanelProduct]) {
    let size = rows * ABREAST;
    if size == 0 {
        return;
    }
    assert!(left.len().is_multiple_of(size) && right.len().is_multiple_of(size), "whole panels");
    assert_eq!(products.len(), left.len() / size * (right.len() / size));
    dispatch!(level(), simd => add_all(simd, left, right, size, products));
}

#[inline(always)]
fn add_all<S: Simd>(simd: S, left: &[f64], right: &[f64], size: usize, products: &mut [PanelProduct]) {
    let rights = right.len() / size;
    // One panel of the right stays in the first-level cache for all of the left.
    for (r, right) in right.chunks_exact(size).enumerate() {
        for (l, left) in left.chunks_exact(size).enumerate() {
            let product = &mut products[l * rights + r];
            match S::f64s::LEN {
                8.. => add_product::<S, 8, 1>(simd, left, right, product),
                4 => add_product::<S, 4, 2>(simd, left, right, product),
                _ => add_product::<S, 2, 4>(simd, left, right, product),
            }
        }
    }
}

/// R columns of the left at a time, V vectors for the eight of the right: eight chains of sums, which hides the latency.
#[inline(always)]
fn add_product<S: Simd, const R: usize, const V: usize>(
    simd: S,
    left: &[f64],
    right: &[f64],
    product: &mut PanelProduct,
) {
    let lanes = S::f64s::LEN;
    for (group, product) in product.chunks_exact_mut(R).enumerate() {
        let mut sums = [[S::f64s::splat(simd, 0.0); V]; R];
        let rows = left.as_chunks::<ABREAST>().0.iter().zip(right.as_chunks::<ABREAST>().0);
        for (x, y) in rows {
            let y: [S::f64s; V] =
                std::array::from_fn(|v| S::f64s::from_slice(simd, &y[v * lanes..(v + 1) * lanes]));
            for r in 0..R {
                let x = S::f64s::splat(simd, x[group * R + r]);
                for v in 0..V {
                    sums[r][v] = y[v].mul_add(x, sums[r][v]);
                }
            }
        }
        for (out, sums) in product.iter_mut().zip(sums) {
            for (out, sum) in out.chunks_exact_mut(lanes).zip(sums) {
                (S::f64s::from_slice(simd, out) + sum).store_slice(out);
            }
        }
    }
}

/// Replaces the eight columns b of a panel by the solutions of L·x = b, L lower triangular, row by row.
///
/// # Panics
/// If L is not square, or the panel has not as many rows.
pub fn solve_panel(lower: &[f64], panel: &mut [f64]) {
    let rows = panel.len() / ABREAST;
    if rows == 0 {
        return;
    }
    assert!(panel.len() == rows * ABREAST && lower.len() == rows * rows, "L has as many rows as the panel");
    dispatch!(level(), simd => solve(simd, lower, panel));
}

#[inline(always)]
fn solve<S: Simd>(simd: S, lower: &[f64], panel: &mut [f64]) {
    match S::f64s::LEN {
        8.. => solve_on::<S, 1>(simd, lower, panel),
        4 => solve_on::<S, 2>(simd, lower, panel),
        _ => solve_on::<S, 4>(simd, lower, panel),
    }
}

/// With V vectors for the eight columns; the sum over the rows above has four accumulators, which hides the latency.
#[inline(always)]
fn solve_on<S: Simd, const V: usize>(simd: S, lower: &[f64], panel: &mut [f64]) {
    const CHAINS: usize = 4;
    let (lanes, zero) = (S::f64s::LEN, S::f64s::splat(simd, 0.0));
    let load = |row: &[f64; ABREAST]| -> [S::f64s; V] {
        std::array::from_fn(|v| S::f64s::from_slice(simd, &row[v * lanes..(v + 1) * lanes]))
    };
    let rows = panel.as_chunks_mut::<ABREAST>().0;
    for (at, line) in lower.chunks_exact(rows.len()).enumerate() {
        let (above, here) = rows.split_at_mut(at);
        let mut sums = [[zero; V]; CHAINS];
        let (fours, rest) = above.as_chunks::<CHAINS>();
        let (factors, rest_factors) = line[..at].as_chunks::<CHAINS>();
        for (four, factors) in fours.iter().zip(factors) {
            for chain in 0..CHAINS {
                let (x, factor) = (load(&four[chain]), S::f64s::splat(simd, factors[chain]));
                for v in 0..V {
                    sums[chain][v] = x[v].mul_add(factor, sums[chain][v]);
                }
            }
        }
        for (row, &factor) in rest.iter().zip(rest_factors) {
            let x = load(row);
            for v in 0..V {
                sums[0][v] = x[v].mul_add(S::f64s::splat(simd, factor), sums[0][v]);
            }
        }
        let (b, pivot) = (load(&here[0]), S::f64s::splat(simd, line[at]));
        for v in 0..V {
            let sum = (sums[0][v] + sums[1][v]) + (sums[2][v] + sums[3][v]);
            ((b[v] - sum) / pivot).store_slice(&mut here[0][v * lanes..(v + 1) * lanes]);
        }
    }
}
