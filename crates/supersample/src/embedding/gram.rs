//! Gram matrix: rows known only by their kernel values, instead of points and a kernel.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use super::MeanEmbedding;
use crate::sum::{self, Packed, Precision, Table, row_of};
use crate::{Error, Kernel, Points, Pool, Result, linalg, points};

/// Rounding allowed in a matrix of kernel values, relative to the largest diagonal entry: more than that of f32.
const ROUNDING: f64 = 1e-6;

/// Rows and columns that are compared at once, so that both are in the cache.
const BLOCK: usize = 64;

/// Mean embedding of rows with a given matrix of kernel values k(i, j), for example a kernel of texts, graphs or
/// molecules.
///
/// The rows are the target, with equal or given weights, and the candidates.
///
/// A row is a point with one coordinate, its number ([`rows`](Self::rows)). So herders, refiners, parts and weights
/// work on its [`pool`](Self::pool), in double precision and on the CPU. Calls that need coordinates (an ascent, a
/// polish, landmarks) are not possible; [`kernel`](MeanEmbedding::kernel) and
/// [`gradient_into`](MeanEmbedding::gradient_into) panic.
///
/// Memory is the n² numbers of the matrix. Checking that it is positive definite would take n³ steps and is not done.
/// Two signs that it is not are errors: an entry larger than the diagonal allows, here, and a squared error below
/// rounding, when rows are measured ([`Pool::mmd_of_rows`], [`Refiner`](crate::Refiner),
/// [`Herder::trace`](crate::Herder::trace)).
///
/// ```
/// use supersample::{Gram, Herder};
/// let words = ["a", "an", "the", "these", "sample", "samples"];
/// let value = |a: &str, b: &str| (-(a.len().abs_diff(b.len()) as f64)).exp();
/// let matrix: Vec<f64> = words.iter().flat_map(|a| words.iter().map(|b| value(a, b))).collect();
/// let pool = Gram::new(matrix, words.len())?.pool()?;
/// let picked: Vec<_> = Herder::over(pool).take(3).map(|pick| pick.index.unwrap()).collect();
/// assert_eq!(picked, [4, 1, 2]);
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Gram {
    table: Table,
    rows: Points,
    weights: Option<Arc<[f64]>>,
    /// μ at every row.
    values: Arc<[f64]>,
    /// k(i, i), where it is the same for every row.
    constant_diagonal: Option<f64>,
    /// The largest k(i, i).
    largest: f64,
    /// Computed when a search asks for it.
    dimension: Arc<OnceLock<f64>>,
}

impl Gram {
    /// Creates the embedding of rows of equal weight.
    ///
    /// The matrix has n·n numbers, row by row: finite, symmetric up to rounding, not negative on the diagonal. Two
    /// entries that differ by rounding are replaced by their mean.
    pub fn new(matrix: Vec<f64>, n: usize) -> Result<Gram> {
        Gram::made(matrix, n, None)
    }

    /// Creates the embedding of weighted rows. Weights are finite, not negative, not all zero, and are normalised to
    /// sum to one.
    pub fn weighted(matrix: Vec<f64>, n: usize, weights: &[f64]) -> Result<Gram> {
        Gram::made(matrix, n, Some(weights))
    }

    fn made(mut matrix: Vec<f64>, n: usize, weights: Option<&[f64]>) -> Result<Gram> {
        if n.checked_mul(n) != Some(matrix.len()) {
            return Err(Error::GramShape { len: matrix.len(), rows: n });
        }
        let rows = Points::from_vec((0..n).map(|row| row as f64).collect(), 1)?;
        let weights = weights.map(|weights| points::normalised(weights, "rows of the Gram matrix", n));
        let weights: Option<Arc<[f64]>> = weights.transpose()?.map(Arc::from);
        let largest = linalg::diagonal(&matrix, n).fold(0.0, f64::max);
        if !check(&matrix, n, ROUNDING * largest)? {
            symmetrise(&mut matrix, n);
        }
        let first = matrix[0];
        let is_constant = linalg::diagonal(&matrix, n).all(|diagonal| diagonal == first);
        let table = Table::new(matrix, n);
        let mut values = vec![0.0; n];
        table.mean_at(&table, weights.as_deref(), &mut values);
        let constant_diagonal = is_constant.then_some(first);
        let (values, dimension) = (values.into(), Arc::default());
        let gram = Gram { table, rows, weights, values, constant_diagonal, largest, dimension };
        check_definite(&gram, gram.mean_of(&gram.values))?;
        Ok(gram)
    }

    /// Rows as points: the numbers 0, 1, 2, …
    pub fn rows(&self) -> &Points {
        &self.rows
    }

    /// The weights, which sum to one; `None` means equal weights.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// Returns the pool of all rows, with all rows as the target.
    pub fn pool(&self) -> Result<Pool> {
        Pool::new(self.clone(), self.rows.clone())
    }

    /// The largest k(i, i), which no entry exceeds.
    pub(crate) fn largest(&self) -> f64 {
        self.largest
    }

    /// Effective dimension of the rows, by which a search sets its temperature: half the participation ratio (Σ λ)²/Σ
    /// λ² of the eigenvalues λ of the centred matrix. For normal points under a Gaussian kernel with the median
    /// distance it is within a fifth of the dimension from 1 to 20.
    pub(crate) fn dimension(&self) -> f64 {
        *self.dimension.get_or_init(|| {
            let norm = self.mean_of(&self.values);
            let trace = self.mean_diagonal().expect("known of a matrix") - norm;
            let row =
                |x: &f64| self.mean_of(&self.table.row(&[*x]).iter().map(|k| k * k).collect::<Vec<_>>());
            let squares: Vec<f64> = self.rows.as_slice().par_iter().map(row).collect();
            let means: Vec<f64> = self.values.iter().map(|mu| mu * mu).collect();
            let sum = self.mean_of(&squares) - 2.0 * self.mean_of(&means) + norm * norm;
            // If all rows are equal there is none.
            (0.5 * trace * trace / sum).max(1.0)
        })
    }

    /// Checks that points are rows of the matrix.
    pub(crate) fn expect_rows(&self, points: &Points) -> Result<()> {
        let len = self.rows.len();
        let is_row = |x: &[f64]| row_of(x) < len && row_of(x) as f64 == x[0];
        match points.rows().find(|x| !is_row(x)) {
            Some(x) => Err(Error::NoSuchRow { index: row_of(x), len }),
            None => Ok(()),
        }
    }

    /// The weighted mean of `values`, one for each row.
    fn mean_of(&self, values: &[f64]) -> f64 {
        match self.weights() {
            Some(weights) => linalg::dot(weights, values),
            None => values.iter().sum::<f64>() / values.len() as f64,
        }
    }

    /// The matrix as its rows at these points.
    fn packed(&self, points: &Points) -> Packed {
        Packed::of_table(self.table.select(points))
    }
}

/// Checks the entries of a Gram matrix; returns whether it is symmetric to the bit.
fn check(matrix: &[f64], n: usize, rounding: f64) -> Result<bool> {
    let refused =
        |row, column, reason| Error::GramEntry { row, column, value: matrix[row * n + column], reason };
    if let Err(Error::NonFinite { row, column, .. }) = Points::check(matrix, n) {
        return Err(refused(row, column, "every entry must be a finite number"));
    }
    if let Some(row) = linalg::diagonal(matrix, n).position(|diagonal| diagonal < -rounding) {
        return Err(refused(row, row, "no entry of the diagonal may be negative"));
    }
    let roots: Vec<f64> = linalg::diagonal(matrix, n).map(|diagonal| diagonal.max(0.0).sqrt()).collect();
    let is_bad = |i: usize, j: usize| {
        let (value, mirrored) = (matrix[i * n + j], matrix[j * n + i]);
        (value - mirrored).abs() > rounding || value.abs() > roots[i] * roots[j] + rounding
    };
    // The first bad pair of some rows with all that come after each, and whether the pairs are equal to the bit.
    let of_rows = |block: usize| {
        let (rows, mut bad, mut is_exact) = (block * BLOCK..n.min((block + 1) * BLOCK), None, true);
        for columns in (rows.start..n).step_by(BLOCK) {
            for i in rows.clone() {
                for j in columns.max(i + 1)..n.min(columns + BLOCK) {
                    is_exact &= matrix[i * n + j] == matrix[j * n + i];
                    if is_bad(i, j) && bad.is_none_or(|bad| (i, j) < bad) {
                        bad = Some((i, j));
                    }
                }
            }
        }
        (bad, is_exact)
    };
    let found: Vec<_> = (0..n.div_ceil(BLOCK)).into_par_iter().map(of_rows).collect();
    let Some((row, column)) = found.iter().find_map(|(bad, _)| *bad) else {
        return Ok(found.iter().all(|(_, is_exact)| *is_exact));
    };
    let (value, mirrored) = (matrix[row * n + column], matrix[column * n + row]);
    Err(match (value - mirrored).abs() > rounding {
        true => Error::GramAsymmetric { row, column, value, mirrored },
        false => {
            let reason = "a kernel gives at most the root of the product of the two diagonal entries; pass values of a \
                          kernel, not distances";
            refused(row, column, reason)
        }
    })
}

fn symmetrise(matrix: &mut [f64], n: usize) {
    for i in 0..n {
        for j in i + 1..n {
            let mean = 0.5 * (matrix[i * n + j] + matrix[j * n + i]);
            (matrix[i * n + j], matrix[j * n + i]) = (mean, mean);
        }
    }
}

impl MeanEmbedding for Gram {
    /// # Panics
    /// Always: only the values of the kernel are known.
    fn kernel(&self) -> &Kernel {
        panic!("a Gram matrix has no kernel of points")
    }

    fn dim(&self) -> usize {
        1
    }

    fn values_into(&self, points: &Points, out: &mut [f64]) {
        points.rows().zip(out).for_each(|(x, out)| *out = self.values[row_of(x)]);
    }

    /// # Panics
    /// Always: rows of a matrix do not move.
    fn gradient_into(&self, _: &[f64], _: &mut [f64]) -> f64 {
        panic!("a Gram matrix has no gradients")
    }

    fn squared_norm(&self) -> Option<f64> {
        Some(self.mean_of(&self.values))
    }

    fn mean_diagonal(&self) -> Option<f64> {
        let diagonal: Vec<f64> = (0..self.rows.len()).map(|row| self.table.value(row, row)).collect();
        Some(self.mean_of(&diagonal))
    }
}

/// Source of kernel values between single points: a kernel, or a matrix.
pub(crate) enum Values<'a> {
    Kernel(&'a Kernel),
    Gram(&'a Gram),
}

impl<'a> Values<'a> {
    pub(crate) fn of(mu: &'a dyn MeanEmbedding) -> Values<'a> {
        match (mu as &dyn Any).downcast_ref() {
            Some(gram) => Values::Gram(gram),
            None => Values::Kernel(mu.kernel()),
        }
    }

    /// k(x, y)
    pub(crate) fn value(&self, x: &[f64], y: &[f64]) -> f64 {
        match self {
            Values::Kernel(kernel) => kernel.value(x, y),
            Values::Gram(gram) => gram.table.value(row_of(x), row_of(y)),
        }
    }

    /// k(x, x)
    pub(crate) fn diagonal(&self, x: &[f64]) -> f64 {
        match self {
            Values::Kernel(kernel) => kernel.diagonal(x),
            Values::Gram(_) => self.value(x, x),
        }
    }

    /// k(x, x) if it is the same for every x.
    pub(crate) fn constant_diagonal(&self) -> Option<f64> {
        match self {
            Values::Kernel(kernel) => kernel.constant_diagonal(),
            Values::Gram(gram) => gram.constant_diagonal,
        }
    }

    /// Whether only distributions of equal mass can be compared.
    pub(crate) fn needs_equal_masses(&self) -> bool {
        matches!(self, Values::Kernel(kernel) if kernel.needs_equal_masses())
    }

    /// k(xₛ, xₜ) for all pairs of points in f64, row by row.
    pub(crate) fn matrix(&self, points: &Points) -> Vec<f64> {
        match self {
            Values::Kernel(kernel) => sum::kernel_matrix(kernel, points),
            Values::Gram(gram) => {
                let some = gram.table.select(points);
                points.rows().flat_map(|x| some.row(x).into_owned()).collect()
            }
        }
    }

    /// The points packed for kernel rows in f64.
    pub(crate) fn packed(&self, points: &Points) -> Packed {
        match self {
            Values::Kernel(kernel) => Packed::new(kernel, points, Precision::Double),
            Values::Gram(gram) => gram.packed(points),
        }
    }
}

/// Checks that a squared error is not so negative that the matrix cannot be positive definite.
pub(crate) fn check_definite(mu: &dyn MeanEmbedding, squared_error: f64) -> Result<()> {
    match Values::of(mu) {
        Values::Gram(gram) if squared_error < -ROUNDING * gram.largest => {
            Err(Error::GramIndefinite { squared_error })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_distr::{Distribution, StandardNormal};
    use rand_pcg::Pcg64;

    use super::*;
    use crate::bandwidth;

    #[test]
    fn the_dimension_of_a_normal_cloud_is_known_to_a_fifth() {
        for dim in [1, 2, 5, 10, 20] {
            let mut rng = Pcg64::seed_from_u64(dim as u64);
            let numbers = (0..400 * dim).map(|_| StandardNormal.sample(&mut rng)).collect();
            let cloud = Points::from_vec(numbers, dim).unwrap();
            let kernel = Kernel::gaussian(bandwidth::median(&cloud)).unwrap();
            let gram = Gram::new(sum::kernel_matrix(&kernel, &cloud), 400).unwrap();
            let ratio = gram.dimension() / dim as f64;
            assert!((0.8..1.25).contains(&ratio), "{dim}: {ratio}");
        }
        assert_eq!(Gram::new(vec![2.0; 9], 3).unwrap().dimension(), 1.0);
    }
}
