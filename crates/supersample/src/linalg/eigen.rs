//! The eigenvalues and eigenvectors of a symmetric matrix: reflections to three diagonals, then rotations that shrink the
//! outer two (the QL method with implicit shifts). About 4·d³ steps, along rows throughout.

use std::ops::ControlFlow;

use super::dot_in_parts as dot;

/// Work on the eigenvectors: reflections, then eigenvalues, each as often as there are rows.
type GoesOn<'a> = &'a dyn Fn(usize) -> ControlFlow<()>;

/// Rotations for each eigenvalue are two or three; this many only where rounding keeps the last digit moving.
const MOST_ROUNDS: usize = 60;

/// The eigenvalues of a symmetric matrix, largest first, and its eigenvectors: row i belongs to value i. Only the lower
/// triangle of the matrix is read.
pub fn symmetric_eigen(matrix: &[f64], dim: usize) -> (Vec<f64>, Vec<f64>) {
    symmetric_eigen_watched(matrix, dim, &|_| ControlFlow::Continue(())).expect("it cannot be interrupted")
}

/// [`symmetric_eigen`], which calls `goes_on` with the number of steps so far, 2·`dim` at the end; `None` if that ends it.
pub(crate) fn symmetric_eigen_watched(
    matrix: &[f64],
    dim: usize,
    goes_on: GoesOn<'_>,
) -> Option<(Vec<f64>, Vec<f64>)> {
    assert_eq!(matrix.len(), dim * dim);
    let (mut values, mut beside, mut vectors) = tridiagonal(matrix, dim, goes_on)?;
    if diagonalise(&mut values, &mut beside, &mut vectors, goes_on).is_break() {
        return None;
    }
    let mut order: Vec<usize> = (0..dim).collect();
    order.sort_by(|&i, &j| values[j].total_cmp(&values[i]));
    let rows = order.iter().flat_map(|&i| vectors[i * dim..(i + 1) * dim].iter().copied()).collect();
    Some((order.iter().map(|&i| values[i]).collect(), rows))
}

/// T = Q·A·Qᵀ with three diagonals, for an orthogonal Q: the middle one, the one next to it, and Q row by row.
fn tridiagonal(matrix: &[f64], dim: usize, goes_on: GoesOn<'_>) -> Option<(Vec<f64>, Vec<f64>, Vec<f64>)> {
    let mut a = matrix.to_vec();
    for i in 0..dim {
        (0..i).for_each(|j| a[j * dim + i] = a[i * dim + j]);
    }
    let mut beside = vec![0.0; dim.saturating_sub(1)];
    // I − v·vᵀ for each column, |v|² = 2, which maps what is below the diagonal to its first entry.
    let mut reflections: Vec<Vec<f64>> = Vec::with_capacity(dim);
    for k in 0..dim.saturating_sub(2) {
        if goes_on(k / 2).is_break() {
            return None;
        }
        let below = k + 1;
        // The matrix is symmetric: what is below the diagonal is what is right of it.
        let mut v = a[k * dim + below..(k + 1) * dim].to_vec();
        let largest = v.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
        if v[1..].iter().all(|x| *x == 0.0) {
            beside[k] = v[0];
            reflections.push(Vec::new());
            continue;
        }
        // In units of the largest, so that no square leaves the range.
        v.iter_mut().for_each(|x| *x /= largest);
        let length = dot(&v, &v).sqrt();
        // Away from the first entry, so that nothing cancels.
        let target = if v[0] > 0.0 { -length } else { length };
        beside[k] = target * largest;
        v[0] -= target;
        let factor = (2.0 / dot(&v, &v)).sqrt();
        v.iter_mut().for_each(|x| *x *= factor);
        // A − v·wᵀ − w·vᵀ with w = A·v − v·(vᵀ·A·v)/2.
        let mut w: Vec<f64> = (below..dim).map(|i| dot(&a[i * dim + below..(i + 1) * dim], &v)).collect();
        let half = 0.5 * dot(&v, &w);
        w.iter_mut().zip(&v).for_each(|(w, v)| *w -= half * v);
        for (i, (vi, wi)) in (below..dim).zip(v.iter().zip(&w)) {
            let row = &mut a[i * dim + below..(i + 1) * dim];
            row.iter_mut().zip(v.iter().zip(&w)).for_each(|(a, (v, w))| *a -= vi * w + wi * v);
        }
        reflections.push(v);
    }
    if dim > 1 {
        beside[dim - 2] = a[(dim - 2) * dim + dim - 1];
    }
    let mut q = vec![0.0; dim * dim];
    q.iter_mut().step_by(dim + 1).for_each(|diagonal| *diagonal = 1.0);
    // From the last on: a row is first touched by the reflection that begins right above it.
    for (k, v) in reflections.iter().enumerate().rev().filter(|(_, v)| !v.is_empty()) {
        if goes_on(dim - k / 2 - 1).is_break() {
            return None;
        }
        for row in q.chunks_exact_mut(dim).skip(k + 1) {
            let row = &mut row[k + 1..];
            let along = dot(row, v);
            row.iter_mut().zip(v).for_each(|(x, v)| *x -= along * v);
        }
    }
    Some(((0..dim).map(|i| a[i * dim + i]).collect(), beside, q))
}

/// Rotates three diagonals into one, and the rows of `vectors` with it.
fn diagonalise(
    values: &mut [f64],
    beside: &mut [f64],
    vectors: &mut [f64],
    goes_on: GoesOn<'_>,
) -> ControlFlow<()> {
    let dim = values.len();
    for first in 0..dim {
        goes_on(dim + first)?;
        for _ in 0..MOST_ROUNDS {
            // The block from `first` to the next off-diagonal entry that is zero.
            let is_nothing =
                |i: &usize| beside[*i].abs() <= f64::EPSILON * (values[*i].abs() + values[i + 1].abs());
            let last = (first..dim - 1).find(is_nothing).unwrap_or(dim - 1);
            if last == first {
                break;
            }
            // The eigenvalue of the first two rows that is closer to the first of them.
            let slope = (values[first + 1] - values[first]) / (2.0 * beside[first]);
            let root = slope.hypot(1.0);
            let shift = values[first] - beside[first] / (slope + if slope < 0.0 { -root } else { root });
            let (mut sine, mut cosine, mut moved) = (1.0, 1.0, 0.0);
            let mut bulge = values[last] - shift;
            let mut is_split = false;
            for i in (first..last).rev() {
                let (down, along) = (sine * beside[i], cosine * beside[i]);
                let length = down.hypot(bulge);
                if i + 1 < dim - 1 {
                    beside[i + 1] = length;
                }
                if length == 0.0 {
                    // The block falls into two.
                    values[i + 1] -= moved;
                    is_split = true;
                    break;
                }
                (sine, cosine) = (down / length, bulge / length);
                let value = values[i + 1] - moved;
                let rest = (values[i] - value) * sine + 2.0 * cosine * along;
                moved = sine * rest;
                values[i + 1] = value + moved;
                bulge = cosine * rest - along;
                let (upper, lower) = vectors[i * dim..(i + 2) * dim].split_at_mut(dim);
                for (x, y) in upper.iter_mut().zip(lower) {
                    (*x, *y) = (cosine * *x - sine * *y, sine * *x + cosine * *y);
                }
            }
            if !is_split {
                values[first] -= moved;
                beside[first] = bulge;
            }
            if last < dim - 1 {
                beside[last] = 0.0;
            }
        }
    }
    goes_on(2 * dim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_decomposed(matrix: &[f64], dim: usize, tolerance: f64) {
        let (values, vectors) = symmetric_eigen(matrix, dim);
        assert!(values.is_sorted_by(|a, b| a >= b));
        let row = |i: usize| &vectors[i * dim..(i + 1) * dim];
        for i in 0..dim {
            for j in 0..dim {
                let unit = f64::from(u8::from(i == j));
                assert!((dot(row(i), row(j)) - unit).abs() < 1e-13, "{dim}: {i} {j}");
                let rebuilt: f64 =
                    (0..dim).map(|k| values[k] * vectors[k * dim + i] * vectors[k * dim + j]).sum();
                assert!((rebuilt - matrix[i * dim + j]).abs() <= tolerance, "{dim}: {i} {j} {rebuilt}");
            }
        }
    }

    #[test]
    fn values_and_vectors_rebuild_the_matrix_in_all_sizes() {
        for dim in [1, 2, 3, 6, 40] {
            let hilbert: Vec<f64> = (0..dim * dim).map(|k| 1.0 / (1 + k / dim + k % dim) as f64).collect();
            assert_decomposed(&hilbert, dim, 1e-14);
            let tall = |i: usize, j: usize| ((i * 7 + j * 3) as f64).sin();
            let entry = |i, j| (0..5).map(|k| tall(k, i) * tall(k, j)).sum::<f64>();
            // Of rank five at most, so that most values are one and the same.
            let product: Vec<f64> = (0..dim * dim).map(|k| entry(k / dim, k % dim)).collect();
            assert_decomposed(&product, dim, 1e-13 * dim as f64);
            assert_decomposed(&vec![0.0; dim * dim], dim, 0.0);
            assert_decomposed(&vec![1.0; dim * dim], dim, 1e-14 * dim as f64);
        }
        let huge = [4e300, 1e300, 1e300, 3e300];
        let (values, _) = symmetric_eigen(&huge, 2);
        assert!((values.iter().sum::<f64>() / 7e300 - 1.0).abs() < 1e-15);
    }

    #[test]
    fn it_is_watched_from_the_first_step_to_the_last_and_can_be_ended_at_each() {
        let dim = 6;
        let hilbert: Vec<f64> = (0..dim * dim).map(|k| 1.0 / (1 + k / dim + k % dim) as f64).collect();
        let steps = std::cell::RefCell::new(Vec::new());
        let ended_at = |most: usize| {
            steps.borrow_mut().clear();
            symmetric_eigen_watched(&hilbert, dim, &|step| {
                steps.borrow_mut().push(step);
                if steps.borrow().len() > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
        };
        assert_eq!(ended_at(usize::MAX), Some(symmetric_eigen(&hilbert, dim)));
        let all = steps.borrow().clone();
        assert!(all.is_sorted() && all.first() == Some(&0) && all.last() == Some(&12), "{all:?}");
        for most in 0..all.len() {
            assert_eq!((ended_at(most), steps.borrow().len()), (None, most + 1));
        }
    }

    #[test]
    fn the_values_are_those_worked_by_hand() {
        // Second differences: 2 − 2·cos(k·π/(d + 1)).
        let dim = 7;
        let entry = |i: usize, j: usize| [2.0, -1.0, 0.0][i.abs_diff(j).min(2)];
        let matrix: Vec<f64> = (0..dim * dim).map(|k| entry(k / dim, k % dim)).collect();
        let (values, _) = symmetric_eigen(&matrix, dim);
        for (k, value) in values.iter().rev().enumerate() {
            let expected = 2.0 - 2.0 * ((k + 1) as f64 * std::f64::consts::PI / 8.0).cos();
            assert!((value - expected).abs() < 1e-14, "{k}");
        }
    }
}
