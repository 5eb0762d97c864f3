//! Small dense linear algebra: Cholesky factor, solving, inverse, eigenvectors.
//!
//! Matrices are d×d, row by row, in one slice of d² numbers. `Factor` is for thousands of rows: blocked, on the vectors
//! of `supersample-sum`, with a watch. Not part of the public promise of the library; the experiments use it too.
//!
//! Why not a library: faer 0.24 takes 150 s of processor time to build. On two cores with AVX-512 its Cholesky factor
//! took 0.28 s for 2,000 rows and 1.7 s for 4,000, ours 0.28 and 1.8 (`bench/ours`, `landmarks linalg`); its
//! eigenvectors of 384 columns 0.02 s and of 1,000 0.2 s, ours 0.09 and 1.6, once in a run with `--scale pca`.

mod eigen;
mod factor;

pub use self::eigen::symmetric_eigen;
pub(crate) use self::eigen::symmetric_eigen_watched;
pub use self::factor::Factor;

/// The lower triangular L with L·Lᵀ = `matrix`, its upper triangle zero; `None` unless `matrix` is positive definite.
///
/// Only the lower triangle of `matrix` is read.
pub fn cholesky(matrix: &[f64], dim: usize) -> Option<Vec<f64>> {
    let mut factor = matrix.to_vec();
    cholesky_in_place(&mut factor, dim).then_some(factor)
}

/// Replaces `matrix` by its Cholesky factor; `false`, and `matrix` spoilt, unless it is positive definite.
pub(crate) fn cholesky_in_place(matrix: &mut [f64], dim: usize) -> bool {
    debug_assert_eq!(matrix.len(), dim * dim);
    for row in 0..dim {
        let (above, current) = matrix.split_at_mut(row * dim);
        for column in 0..row {
            let other = &above[column * dim..column * dim + column + 1];
            current[column] = (current[column] - dot(&current[..column], other)) / other[column];
        }
        let pivot = current[row] - dot(&current[..row], &current[..row]);
        // Written so that a NaN fails too.
        if !(pivot > 0.0 && pivot.is_finite()) {
            return false;
        }
        current[row] = pivot.sqrt();
        current[row + 1..dim].fill(0.0);
    }
    true
}

/// Replaces `b` by L⁻¹·b.
pub fn solve_lower(factor: &[f64], b: &mut [f64]) {
    let dim = b.len();
    for (row, line) in factor.chunks_exact(dim).enumerate() {
        b[row] = (b[row] - dot(&line[..row], &b[..row])) / line[row];
    }
}

/// Replaces `b` by the solution x of L·Lᵀ·x = b.
pub fn solve(factor: &[f64], b: &mut [f64]) {
    solve_lower(factor, b);
    let dim = b.len();
    for row in (0..dim).rev() {
        let line = &factor[row * dim..row * dim + row + 1];
        b[row] /= line[row];
        let (before, at) = b.split_at_mut(row);
        before.iter_mut().zip(line).for_each(|(b, l)| *b -= l * at[0]);
    }
}

/// The inverse of L·Lᵀ.
pub fn inverse(factor: &[f64], dim: usize) -> Vec<f64> {
    let mut inverse = vec![0.0; dim * dim];
    for (i, row) in inverse.chunks_exact_mut(dim).enumerate() {
        row[i] = 1.0;
        solve(factor, row);
    }
    inverse
}

/// L⁻¹, lower triangular as L is.
pub fn inverse_lower(factor: &[f64], dim: usize) -> Vec<f64> {
    let mut inverse = vec![0.0; dim * dim];
    let mut unit = vec![0.0; dim];
    for column in 0..dim {
        unit.fill(0.0);
        unit[column] = 1.0;
        solve_lower(factor, &mut unit);
        for row in column..dim {
            inverse[row * dim + column] = unit[row];
        }
    }
    inverse
}

/// log |L·Lᵀ| = 2 Σ log Lᵢᵢ, a sum of logs because the determinant itself overflows in high dimension.
pub(crate) fn log_determinant(factor: &[f64], dim: usize) -> f64 {
    2.0 * diagonal(factor, dim).map(f64::ln).sum::<f64>()
}

/// The diagonal of a matrix.
pub(crate) fn diagonal(matrix: &[f64], dim: usize) -> impl Iterator<Item = f64> {
    matrix.iter().step_by(dim + 1).copied()
}

/// Σ aᵢ·bᵢ over the shorter of the two.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Σ aᵢ·bᵢ over the shorter of the two, in eight sums, which the compiler puts into vectors.
fn dot_in_parts(a: &[f64], b: &[f64]) -> f64 {
    let len = a.len().min(b.len());
    let ((a, a_rest), (b, b_rest)) = (a[..len].as_chunks::<8>(), b[..len].as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        for i in 0..8 {
            sums[i] += a[i] * b[i];
        }
    }
    sums.iter().sum::<f64>() + dot(a_rest, b_rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MATRIX: [f64; 9] = [4.0, 2.0, -2.0, 2.0, 10.0, 2.0, -2.0, 2.0, 6.0];

    #[test]
    fn the_factor_is_the_one_worked_by_hand() {
        let factor = cholesky(&MATRIX, 3).unwrap();
        assert_eq!(factor, [2.0, 0.0, 0.0, 1.0, 3.0, 0.0, -1.0, 1.0, 2.0]);
        assert!((log_determinant(&factor, 3) - 144f64.ln()).abs() < 1e-15);
    }

    #[test]
    fn solving_and_inverting_undo_the_factor() {
        let factor = cholesky(&MATRIX, 3).unwrap();
        let mut b = [2.0, 7.0, 5.0]; // L·(1, 2, 2)
        solve_lower(&factor, &mut b);
        assert_eq!(b, [1.0, 2.0, 2.0]);
        let mut b = [2.0, 7.0, 5.0];
        solve(&factor, &mut b);
        for (row, wanted) in MATRIX.chunks_exact(3).zip([2.0, 7.0, 5.0]) {
            assert!((dot(row, &b) - wanted).abs() < 1e-14);
        }
        for (i, row) in inverse(&factor, 3).chunks_exact(3).enumerate() {
            for (j, column) in MATRIX.chunks_exact(3).enumerate() {
                assert!((dot(row, column) - f64::from(u8::from(i == j))).abs() < 1e-15);
            }
        }
        let inverse = inverse_lower(&factor, 3);
        for row in 0..3 {
            for column in 0..3 {
                let product: f64 = (0..3).map(|k| factor[row * 3 + k] * inverse[k * 3 + column]).sum();
                assert!((product - f64::from(row == column)).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn what_is_not_positive_definite_has_no_factor() {
        assert_eq!(cholesky(&[1.0, 2.0, 2.0, 1.0], 2), None);
        assert_eq!(cholesky(&[1.0, 1.0, 1.0, 1.0], 2), None);
        assert_eq!(cholesky(&[-1.0], 1), None);
        assert_eq!(cholesky(&[0.0], 1), None);
        assert_eq!(cholesky(&[f64::NAN], 1), None);
        assert_eq!(cholesky(&[f64::INFINITY], 1), None);
    }
}
