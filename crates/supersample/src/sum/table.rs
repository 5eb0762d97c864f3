//! Kernel values from a Gram matrix, instead of points packed under a kernel.
//!
//! A row of the matrix is a point with one coordinate, its number, so that code for points works for rows.

use std::borrow::Cow;
use std::sync::Arc;

use rayon::prelude::*;
use supersample_sum::{KernelRowMut, KernelRows, Scores, add_scaled};

use crate::Points;
use crate::linalg::dot;

/// Smallest number of pairs for one thread.
const PAIRS_AT_ONCE: usize = 1 << 16;

/// Some rows of a symmetric matrix of kernel values. Clones share the matrix.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// k(i, j), row by row.
    matrix: Arc<Vec<f64>>,
    /// The number of rows of the whole matrix.
    size: usize,
    /// Which rows these are; `None` for all.
    some: Option<Vec<usize>>,
}

/// Row number of a point.
pub(crate) fn row_of(point: &[f64]) -> usize {
    point[0] as usize
}

impl Table {
    /// All rows of a symmetric matrix.
    pub(crate) fn new(matrix: Vec<f64>, size: usize) -> Table {
        Table { matrix: Arc::new(matrix), size, some: None }
    }

    /// These rows of the matrix, which are given as points.
    pub(crate) fn select(&self, points: &Points) -> Table {
        let rows: Vec<usize> = points.rows().map(row_of).collect();
        let is_all = rows.len() == self.size && rows.iter().enumerate().all(|(i, &row)| i == row);
        Table { some: (!is_all).then_some(rows), ..self.clone() }
    }

    /// Empty selection of rows.
    pub(crate) fn none(&self) -> Table {
        Table { some: Some(Vec::new()), ..self.clone() }
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, point: &[f64]) {
        self.some.get_or_insert_with(|| (0..self.size).collect()).push(row_of(point));
    }

    /// The value at a row and a column of the whole matrix.
    pub(crate) fn value(&self, row: usize, column: usize) -> f64 {
        self.matrix[row * self.size + column]
    }

    /// The kernel row of `y` at these rows.
    pub(crate) fn row(&self, y: &[f64]) -> Cow<'_, [f64]> {
        let row = &self.matrix[row_of(y) * self.size..][..self.size];
        match &self.some {
            None => Cow::Borrowed(row),
            Some(some) => some.iter().map(|&column| row[column]).collect(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.some.as_ref().map_or(self.size, Vec::len)
    }

    pub(super) fn no_rows(&self) -> KernelRows {
        KernelRows::in_double(self.len())
    }

    pub(super) fn fill_row(&self, y: &[f64], row: &mut KernelRowMut<'_>) {
        row.copy_from(&self.row(y));
    }

    pub(super) fn add_row(&self, y: &[f64], weight: f64, sums: &mut [f64]) {
        add_scaled(&self.row(y), weight, sums);
    }

    pub(super) fn add_row_and_argmax(
        &self,
        y: &[f64],
        weight: f64,
        sums: &mut [f64],
        scores: Scores<'_>,
    ) -> Option<(usize, f64)> {
        self.add_row(y, weight, sums);
        scores.argmax(sums)
    }

    /// `out[i]` = Σⱼ wⱼ k(xᵢ, yⱼ) at the rows `at` over these rows y, with equal weights 1/n if none are given.
    pub(crate) fn mean_at(&self, at: &Table, weights: Option<&[f64]>, out: &mut [f64]) {
        let equal = 1.0 / self.len() as f64;
        let mean = |(i, out): (usize, &mut f64)| {
            let row = self.row(&[at.some.as_ref().map_or(i, |some| some[i]) as f64]);
            *out = match weights {
                Some(weights) => dot(&row, weights),
                None => equal * row.iter().sum::<f64>(),
            };
        };
        let at_once = PAIRS_AT_ONCE / self.len().max(1) + 1;
        out.par_iter_mut().with_min_len(at_once).enumerate().for_each(mean);
    }
}
