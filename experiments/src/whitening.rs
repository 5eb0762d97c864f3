//! PCA whitening: centre, turn to the principal axes, divide each by its standard deviation.

use supersample::linalg::symmetric_eigen;

/// Axes whose variance is below this share of the largest carry rounding only, and are dropped.
const NEGLIGIBLE: f64 = 1e-12;

/// A whitening learned from some rows and applicable to others.
pub(crate) struct Whitening {
    mean: Vec<f64>,
    /// One row for each axis kept: its eigenvector divided by its standard deviation.
    axes: Vec<f64>,
}

impl Whitening {
    /// Learns mean and axes from rows of `dim` numbers.
    pub(crate) fn learn(rows: &[f64], dim: usize) -> Whitening {
        let (mean, covariance) = mean_and_covariance(rows, dim);
        let (values, vectors) = symmetric_eigen(&covariance, dim);
        let kept = values.iter().take_while(|&&value| value > NEGLIGIBLE * values[0]);
        let axes = kept
            .zip(vectors.chunks_exact(dim))
            .flat_map(|(value, vector)| vector.iter().map(|v| v / value.sqrt()))
            .collect();
        Whitening { mean, axes }
    }

    /// How many axes there are: the dimension of whitened rows.
    pub(crate) fn dim(&self) -> usize {
        self.axes.len() / self.mean.len()
    }

    /// The rows, whitened.
    pub(crate) fn apply(&self, rows: &[f64]) -> Vec<f64> {
        let dim = self.mean.len();
        let mut whitened = Vec::with_capacity(rows.len() / dim * self.dim());
        let mut centred = vec![0.0; dim];
        for row in rows.chunks_exact(dim) {
            centred.iter_mut().zip(row).zip(&self.mean).for_each(|((c, x), m)| *c = x - m);
            whitened.extend(
                self.axes
                    .chunks_exact(dim)
                    .map(|axis| axis.iter().zip(&centred).map(|(a, c)| a * c).sum::<f64>()),
            );
        }
        whitened
    }
}

/// The mean and the covariance (divisor n) of rows of `dim` numbers.
pub(crate) fn mean_and_covariance(rows: &[f64], dim: usize) -> (Vec<f64>, Vec<f64>) {
    let n = (rows.len() / dim) as f64;
    let mut mean = vec![0.0; dim];
    for row in rows.chunks_exact(dim) {
        mean.iter_mut().zip(row).for_each(|(m, x)| *m += x / n);
    }
    let mut covariance = vec![0.0; dim * dim];
    let mut centred = vec![0.0; dim];
    for row in rows.chunks_exact(dim) {
        centred.iter_mut().zip(row).zip(&mean).for_each(|((c, x), m)| *c = x - m);
        for (line, a) in covariance.chunks_exact_mut(dim).zip(&centred) {
            line.iter_mut().zip(&centred).for_each(|(s, b)| *s += a * b / n);
        }
    }
    (mean, covariance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whitened_rows_have_mean_zero_and_identity_covariance() {
        // Three independent waves, mixed and shifted, and a fourth column that adds nothing new.
        let wave = |i: usize, k: f64| (i as f64 * k).sin();
        let row = |i| {
            let (a, b, c) = (wave(i, 1.7), wave(i, 0.9), wave(i, 2.3));
            [3.0 + 10.0 * a, a + 0.1 * b, c - b, 20.0 * a + c - b]
        };
        let rows: Vec<f64> = (0..500).flat_map(row).collect();
        let whitening = Whitening::learn(&rows, 4);
        assert_eq!(whitening.dim(), 3, "the dependent column is dropped");
        let whitened = whitening.apply(&rows);
        let (mean, covariance) = mean_and_covariance(&whitened, 3);
        for (i, value) in mean.iter().enumerate() {
            assert!(value.abs() < 1e-9, "mean {i}: {value}");
        }
        for (k, value) in covariance.iter().enumerate() {
            assert!((value - f64::from(u8::from(k / 3 == k % 3))).abs() < 1e-9, "covariance {k}: {value}");
        }
    }

    #[test]
    fn mean_and_covariance_are_those_worked_by_hand() {
        let (mean, covariance) = mean_and_covariance(&[1.0, 2.0, 3.0, 6.0], 2);
        assert_eq!(mean, [2.0, 4.0]);
        assert_eq!(covariance, [1.0, 2.0, 2.0, 4.0]);
    }
}
