//! Bayesian logistic regression with a Gaussian prior: its log density, one point or many at once, and its mode.

use ndarray::{Array2, ArrayView2, ArrayViewMut2, linalg::general_mat_mul, s};

use supersample::linalg::{cholesky, inverse, solve};

/// Rows of the data in one block of the likelihood: with 25 chains a block of margins is 25 KiB, and stays in the
/// first-level cache between the matrix product that writes it and the pass that reads it.
const BLOCK: usize = 256;

/// p(θ | data) ∝ N(θ; 0, v·I) · Πₙ σ(yₙ·θᵀxₙ) with labels y = ±1.
pub(crate) struct LogisticPosterior {
    dim: usize,
    prior_variance: f64,
    /// yₙ·xₙ, row after row: the likelihood needs nothing else of the data.
    signed: Vec<f64>,
    /// The data in single precision and one column for each row, ready for a matrix product.
    signed_columns: Array2<f32>,
}

/// The Gaussian that has the mode of a density and its curvature there.
pub(crate) struct Laplace {
    pub(crate) mode: Vec<f64>,
    pub(crate) covariance: Vec<f64>,
}

impl LogisticPosterior {
    /// `inputs` are rows of `dim` numbers, with a constant among them where an intercept is wanted.
    pub(crate) fn new(inputs: &[f64], dim: usize, labels: &[bool], prior_variance: f64) -> LogisticPosterior {
        assert_eq!(inputs.len(), dim * labels.len(), "one label for each row");
        let signs = labels.iter().map(|&label| if label { 1.0 } else { -1.0 });
        let signed: Vec<f64> = inputs
            .chunks_exact(dim)
            .zip(signs)
            .flat_map(|(row, sign)| row.iter().map(move |x| sign * x))
            .collect();
        let single = signed.iter().map(|&x| x as f32).collect();
        let rows = Array2::from_shape_vec((labels.len(), dim), single).expect("the lengths agree");
        let signed_columns = rows.reversed_axes().as_standard_layout().into_owned();
        LogisticPosterior { dim, prior_variance, signed, signed_columns }
    }

    /// The dimension of θ.
    pub(crate) fn dim(&self) -> usize {
        self.dim
    }

    /// log p(θ | data) up to a constant, in double precision.
    pub(crate) fn log_density(&self, theta: &[f64]) -> f64 {
        let prior = -0.5 * theta.iter().map(|t| t * t).sum::<f64>() / self.prior_variance;
        // log σ(s) = −log(1 + e^(−s)) = min(s, 0) − log(1 + e^(−|s|))
        let log_likelihood = self.margins(theta).map(|s| s.min(0.0) - (-s.abs()).exp().ln_1p());
        prior + log_likelihood.sum::<f64>()
    }

    /// log p(θ | data) up to a constant; its gradient goes to `gradient`.
    pub(crate) fn log_density_and_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.iter_mut().zip(theta).for_each(|(g, t)| *g = -t / self.prior_variance);
        for (row, s) in self.signed.chunks_exact(self.dim).zip(self.margins(theta)) {
            let miss = sigmoid(-s);
            gradient.iter_mut().zip(row).for_each(|(g, x)| *g += miss * x);
        }
        self.log_density(theta)
    }

    fn margins<'a>(&'a self, theta: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        let dot = move |row: &[f64]| row.iter().zip(theta).map(|(x, t)| x * t).sum();
        self.signed.chunks_exact(self.dim).map(dot)
    }

    /// Log densities of many θ at once, one a row, the margins in single precision by matrix products and their sums in
    /// double; `margins` is scratch. Differs from [`log_density`](Self::log_density) by some 1e-7 of the likelihood.
    pub(crate) fn log_densities(&self, thetas: ArrayView2<f32>, margins: &mut Array2<f32>, out: &mut [f64]) {
        let many = thetas.nrows();
        if margins.dim() != (many, BLOCK) {
            *margins = Array2::zeros((many, BLOCK));
        }
        for (theta, out) in thetas.rows().into_iter().zip(out.iter_mut()) {
            *out = -0.5 * theta.iter().map(|&t| f64::from(t).powi(2)).sum::<f64>() / self.prior_variance;
        }
        let rows = self.signed_columns.ncols();
        for start in (0..rows).step_by(BLOCK) {
            let end = rows.min(start + BLOCK);
            let mut block: ArrayViewMut2<f32> = margins.slice_mut(s![.., ..end - start]);
            general_mat_mul(1.0, &thetas, &self.signed_columns.slice(s![.., start..end]), 0.0, &mut block);
            for (margins, out) in block.rows().into_iter().zip(out.iter_mut()) {
                *out += sum_log_sigmoid(margins.to_slice().expect("a row is contiguous"));
            }
        }
    }

    /// Mode and curvature, by Newton's method (the log density is strictly concave), halving steps that do not rise.
    pub(crate) fn laplace(&self) -> Laplace {
        let dim = self.dim;
        let mut mode = vec![0.0; dim];
        let mut value = self.log_density(&mode);
        loop {
            let (gradient, precision) = self.gradient_and_precision(&mode);
            let factor = cholesky(&precision, dim).expect("the prior makes the precision definite");
            let mut step = gradient.clone();
            solve(&factor, &mut step);
            let moved = |share: f64| mode.iter().zip(&step).map(|(m, s)| m + share * s).collect::<Vec<f64>>();
            let mut share = 1.0;
            while self.log_density(&moved(share)) < value && share > 1e-6 {
                share *= 0.5;
            }
            mode = moved(share);
            value = self.log_density(&mode);
            // Half the squared Newton decrement: how much higher the parabola's summit is.
            let decrement: f64 = gradient.iter().zip(&step).map(|(g, s)| g * s).sum();
            if decrement < 1e-12 {
                return Laplace { mode, covariance: inverse(&factor, dim) };
            }
        }
    }

    fn gradient_and_precision(&self, theta: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let dim = self.dim;
        let mut gradient: Vec<f64> = theta.iter().map(|t| -t / self.prior_variance).collect();
        let mut precision = vec![0.0; dim * dim];
        (0..dim).for_each(|i| precision[i * (dim + 1)] = 1.0 / self.prior_variance);
        for (row, s) in self.signed.chunks_exact(dim).zip(self.margins(theta)) {
            let miss = sigmoid(-s);
            let weight = miss * (1.0 - miss);
            for (i, x) in row.iter().enumerate() {
                gradient[i] += miss * x;
                let line = &mut precision[i * dim..(i + 1) * dim];
                line.iter_mut().zip(row).for_each(|(p, y)| *p += weight * x * y);
            }
        }
        (gradient, precision)
    }
}

/// 1/(1 + e^(−s)).
pub(crate) fn sigmoid(s: f64) -> f64 {
    1.0 / (1.0 + (-s).exp())
}

/// Replaces each margin s by 1/(1 + e^(−s)), to an absolute error of 3e-7.
pub(crate) fn sigmoids_in_place(margins: &mut [f32]) {
    for s in margins {
        let tail = exp_of_negative(s.abs());
        // The smaller of the two probabilities is e^(−|s|)/(1 + e^(−|s|)).
        let numerator = if *s < 0.0 { tail } else { 1.0 };
        *s = numerator / (1.0 + tail);
    }
}

/// Σ log σ(s) = Σ min(s, 0) − log Π (1 + e^(−|s|)). A factor lies between 1 and 2, so a lane can multiply the 16 of a
/// block of 256 and take one logarithm.
fn sum_log_sigmoid(margins: &[f32]) -> f64 {
    const LANES: usize = 16;
    debug_assert!(margins.len() <= LANES * 100, "the product of the factors would overflow");
    let mut products = [1f32; LANES];
    let mut sums = [0f32; LANES];
    let chunks = margins.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        for lane in 0..LANES {
            sums[lane] += chunk[lane].min(0.0);
            products[lane] *= 1.0 + exp_of_negative(chunk[lane].abs());
        }
    }
    for (lane, s) in rest.iter().enumerate() {
        sums[lane] += s.min(0.0);
        products[lane] *= 1.0 + exp_of_negative(s.abs());
    }
    let lanes = sums.iter().zip(&products);
    lanes.map(|(&sum, &product)| f64::from(sum) - f64::from(product).ln()).sum()
}

/// e^(−u) for u ≥ 0 to a relative error of 3e-7, without branches, so that the compiler makes vectors of it.
fn exp_of_negative(u: f32) -> f32 {
    // Adding and subtracting 1.5·2²³ rounds to a whole number, which then stands in the low bits of the sum.
    const ROUND: f32 = 12_582_912.0;
    let y = -u.min(86.0) * std::f32::consts::LOG2_E;
    let rounded = y + ROUND;
    let fraction = (y - (rounded - ROUND)) * std::f32::consts::LN_2;
    // Taylor's series of e^f for |f| ≤ ½·log 2: the first term left out is below 2e-7.
    let mut series = 1.0 / 120.0 + fraction / 720.0;
    for coefficient in [1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        series = series * fraction + coefficient;
    }
    series * f32::from_bits((rounded.to_bits() << 23).wrapping_add(127 << 23))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Eighty rows of two inputs and a constant, not separable.
    pub(crate) fn small_case(dim: usize) -> LogisticPosterior {
        let wave = |i: usize, k: f64| (i as f64 * k).sin();
        let input = |i: usize| [1.0, 2.0 * wave(i, 1.3), wave(i, 0.7) + 0.5 * wave(i, 1.3)][..dim].to_vec();
        let inputs: Vec<f64> = (0..80).flat_map(input).collect();
        let labels: Vec<bool> = (0..80).map(|i| wave(i, 1.3) + wave(i, 3.1) > 0.2).collect();
        LogisticPosterior::new(&inputs, dim, &labels, 10.0)
    }

    #[test]
    fn many_at_once_agree_with_one_by_one() {
        // 600 rows: two full blocks and a part of one, and a last chunk of lanes that is not full.
        let wave = |i: usize, k: f64| (i as f64 * k).sin();
        let inputs: Vec<f64> = (0..600 * 7).map(|i| 2.0 * wave(i, 0.37)).collect();
        let labels: Vec<bool> = (0..600).map(|i| wave(i, 1.1) > 0.0).collect();
        let posterior = LogisticPosterior::new(&inputs, 7, &labels, 4.0);
        let thetas = Array2::from_shape_fn((5, 7), |(i, j)| (3.0 * wave(10 * i + j, 2.1)) as f32);
        let mut together = [0.0; 5];
        posterior.log_densities(thetas.view(), &mut Array2::zeros((0, 0)), &mut together);
        for (theta, together) in thetas.rows().into_iter().zip(together) {
            let theta: Vec<f64> = theta.iter().map(|&t| f64::from(t)).collect();
            let alone = posterior.log_density(&theta);
            assert!((together - alone).abs() < 1e-6 * alone.abs(), "{together} {alone}");
        }
    }

    #[test]
    fn the_exponential_is_right_to_seven_digits() {
        for i in 0..8600 {
            let u = i as f32 / 100.0;
            let (got, want) = (f64::from(exp_of_negative(u)), f64::from(-u).exp());
            // In the tail the argument's own rounding counts: 86·2⁻²⁴.
            assert!((got / want - 1.0).abs() < 3e-7 + 1.2e-7 * f64::from(u), "{u}: {got} {want}");
        }
        assert!(exp_of_negative(1e9) < 1e-36);
    }

    #[test]
    fn many_sigmoids_are_those_of_one() {
        let margins: Vec<f32> = (-4000..=4000).map(|i| i as f32 / 100.0).collect();
        let mut probabilities = margins.clone();
        sigmoids_in_place(&mut probabilities);
        for (s, p) in margins.iter().zip(probabilities) {
            assert!((f64::from(p) - sigmoid(f64::from(*s))).abs() < 3e-7, "{s}: {p}");
        }
    }

    #[test]
    fn the_mode_has_no_slope_and_the_curvature_is_that_of_differences() {
        let posterior = small_case(3);
        let laplace = posterior.laplace();
        let at = |i: usize, j: usize, a: f64, b: f64| {
            let mut theta = laplace.mode.clone();
            theta[i] += a;
            theta[j] += b;
            posterior.log_density(&theta)
        };
        let h = 1e-3;
        let precision = |i, j| {
            let corners = at(i, j, h, h) - at(i, j, h, -h) - at(i, j, -h, h) + at(i, j, -h, -h);
            -corners / (4.0 * h * h)
        };
        for i in 0..3 {
            assert!((at(i, i, h, 0.0) - at(i, i, -h, 0.0)).abs() / (2.0 * h) < 1e-5);
            for j in 0..3 {
                let product: f64 = (0..3).map(|k| precision(i, k) * laplace.covariance[k * 3 + j]).sum();
                assert!((product - f64::from(u8::from(i == j))).abs() < 1e-4, "{i} {j}: {product}");
            }
        }
    }
}
