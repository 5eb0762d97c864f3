//! Dense linear algebra of small symmetric matrices (d² numbers, row after row): Cholesky factor, inverse, eigenvectors.

/// The lower triangular L with L·Lᵀ = `matrix`, zero above the diagonal; `None` unless `matrix` is positive definite.
pub(crate) fn cholesky(matrix: &[f64], dim: usize) -> Option<Vec<f64>> {
    let mut factor = vec![0.0; dim * dim];
    for row in 0..dim {
        for column in 0..=row {
            let dot: f64 = (0..column).map(|k| factor[row * dim + k] * factor[column * dim + k]).sum();
            let rest = matrix[row * dim + column] - dot;
            if row > column {
                factor[row * dim + column] = rest / factor[column * dim + column];
            } else if rest > 0.0 && rest.is_finite() {
                factor[row * dim + row] = rest.sqrt();
            } else {
                return None;
            }
        }
    }
    Some(factor)
}

/// The solution x of L·Lᵀ·x = b.
pub(crate) fn solve(factor: &[f64], b: &[f64]) -> Vec<f64> {
    let dim = b.len();
    let mut x = b.to_vec();
    for row in 0..dim {
        let dot: f64 = (0..row).map(|k| factor[row * dim + k] * x[k]).sum();
        x[row] = (x[row] - dot) / factor[row * dim + row];
    }
    for row in (0..dim).rev() {
        let dot: f64 = (row + 1..dim).map(|k| factor[k * dim + row] * x[k]).sum();
        x[row] = (x[row] - dot) / factor[row * dim + row];
    }
    x
}

/// The inverse of L·Lᵀ.
pub(crate) fn inverse(factor: &[f64], dim: usize) -> Vec<f64> {
    let mut inverse = vec![0.0; dim * dim];
    for column in 0..dim {
        let mut unit = vec![0.0; dim];
        unit[column] = 1.0;
        for (row, value) in solve(factor, &unit).into_iter().enumerate() {
            inverse[row * dim + column] = value;
        }
    }
    inverse
}

/// The eigenvalues of a symmetric matrix, largest first, and its eigenvectors: row i belongs to value i.
///
/// Jacobi's method: rotate away one entry after the other until nothing is left beside the diagonal.
pub(crate) fn symmetric_eigen(matrix: &[f64], dim: usize) -> (Vec<f64>, Vec<f64>) {
    let mut a = matrix.to_vec();
    let mut vectors = vec![0.0; dim * dim];
    (0..dim).for_each(|i| vectors[i * (dim + 1)] = 1.0);
    let scale: f64 = a.iter().map(|v| v * v).sum();
    // Convergence is quadratic: a handful of sweeps do, and the bound is never reached.
    for _sweep in 0..60 {
        let beside: f64 = (0..dim * dim).filter(|k| k / dim != k % dim).map(|k| a[k] * a[k]).sum();
        if beside <= 1e-30 * scale {
            break;
        }
        for p in 0..dim {
            for q in p + 1..dim {
                rotate(&mut a, &mut vectors, dim, p, q);
            }
        }
    }
    let mut order: Vec<usize> = (0..dim).collect();
    order.sort_by(|&i, &j| a[j * (dim + 1)].total_cmp(&a[i * (dim + 1)]));
    let values = order.iter().map(|&i| a[i * (dim + 1)]).collect();
    let vectors = order.iter().flat_map(|&i| vectors[i * dim..(i + 1) * dim].to_vec()).collect();
    (values, vectors)
}

/// The rotation in the plane (p, q) that makes entry (p, q) vanish; `vectors` keeps one eigenvector a row.
fn rotate(a: &mut [f64], vectors: &mut [f64], dim: usize, p: usize, q: usize) {
    let off = a[p * dim + q];
    if off == 0.0 {
        return;
    }
    let ratio = (a[q * dim + q] - a[p * dim + p]) / (2.0 * off);
    // The smaller root of t² + 2·ratio·t − 1, the tangent of the angle.
    let tangent = ratio.signum() / (ratio.abs() + ratio.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    let sine = tangent * cosine;
    for k in 0..dim {
        let (left, right) = (a[k * dim + p], a[k * dim + q]);
        a[k * dim + p] = cosine * left - sine * right;
        a[k * dim + q] = sine * left + cosine * right;
    }
    for k in 0..dim {
        let (left, right) = (a[p * dim + k], a[q * dim + k]);
        a[p * dim + k] = cosine * left - sine * right;
        a[q * dim + k] = sine * left + cosine * right;
        let (left, right) = (vectors[p * dim + k], vectors[q * dim + k]);
        vectors[p * dim + k] = cosine * left - sine * right;
        vectors[q * dim + k] = sine * left + cosine * right;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AᵀA + I for a fixed A, positive definite.
    fn matrix(dim: usize) -> Vec<f64> {
        let a = |i: usize, j: usize| ((i * 7 + j * 3) as f64).sin();
        let entry = |i, j| (0..dim).map(|k| a(k, i) * a(k, j)).sum::<f64>() + f64::from(u8::from(i == j));
        (0..dim * dim).map(|k| entry(k / dim, k % dim)).collect()
    }

    fn product(a: &[f64], b: &[f64], dim: usize) -> Vec<f64> {
        let entry = |i: usize, j: usize| (0..dim).map(|k| a[i * dim + k] * b[k * dim + j]).sum::<f64>();
        (0..dim * dim).map(|k| entry(k / dim, k % dim)).collect()
    }

    fn assert_identity(a: &[f64], dim: usize) {
        for (k, value) in a.iter().enumerate() {
            let expected = f64::from(u8::from(k / dim == k % dim));
            assert!((value - expected).abs() < 1e-12, "entry {k}: {value}");
        }
    }

    #[test]
    fn the_inverse_undoes_the_matrix() {
        let dim = 6;
        let factor = cholesky(&matrix(dim), dim).unwrap();
        assert_identity(&product(&matrix(dim), &inverse(&factor, dim), dim), dim);
        assert_eq!(cholesky(&[1.0, 2.0, 2.0, 1.0], 2), None);
    }

    #[test]
    fn eigenvectors_are_orthonormal_and_rebuild_the_matrix() {
        for dim in [1, 2, 9] {
            let original = matrix(dim);
            let (values, vectors) = symmetric_eigen(&original, dim);
            assert!(values.is_sorted_by(|a, b| a >= b));
            let transposed: Vec<f64> = (0..dim * dim).map(|k| vectors[(k % dim) * dim + k / dim]).collect();
            assert_identity(&product(&vectors, &transposed, dim), dim);
            let scaled: Vec<f64> = (0..dim * dim).map(|k| values[k / dim] * vectors[k]).collect();
            let rebuilt = product(&transposed, &scaled, dim);
            for (got, want) in rebuilt.iter().zip(&original) {
                assert!((got - want).abs() < 1e-12, "{got} {want}");
            }
        }
    }
}
