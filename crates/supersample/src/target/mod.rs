//! Densities as targets: plain data with seeded sampling and exact moments.

mod mixture;
mod product;

pub use mixture::GaussianMixture;
pub use product::{IndependentNormals, UniformBox};

use crate::{Error, Points, Result};

/// E xᵐ of N(mean, variance), by M₀ = 1, M₁ = mean, Mₖ = mean·Mₖ₋₁ + (k−1)·variance·Mₖ₋₂ (integration by parts).
fn normal_raw_moment(mean: f64, variance: f64, m: u32) -> f64 {
    let (mut before, mut moment) = (0.0, 1.0);
    for k in 0..m {
        (before, moment) = (moment, mean * moment + f64::from(k) * variance * before);
    }
    moment
}

/// `n` rows, each written by `draw`.
fn draw_rows(n: usize, dim: usize, mut draw: impl FnMut(&mut [f64])) -> Result<Points> {
    if n == 0 {
        return Err(Error::NoPoints);
    }
    let mut data = vec![0.0; n * dim];
    data.chunks_exact_mut(dim).for_each(&mut draw);
    Points::from_vec(data, dim)
}

/// The error that names the first number that is NaN or infinite.
fn expect_finite(what: &'static str, numbers: &[f64]) -> Result<()> {
    match numbers.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(Error::NonFiniteNumber { what, index, value: numbers[index] }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks every target: the same draws for a seed, and moments 1 to 4 within 5 standard errors.
    #[track_caller]
    pub(super) fn check_sampling(
        sample: impl Fn(usize, u64) -> Result<Points>,
        raw_moment: impl Fn(u32) -> Vec<f64>,
    ) {
        assert_eq!(sample(0, 1), Err(Error::NoPoints));
        let draws = sample(100_000, 7).unwrap();
        assert_eq!(draws, sample(100_000, 7).unwrap());
        assert_ne!(draws, sample(100_000, 8).unwrap());
        // The first draws do not depend on how many are drawn.
        assert_eq!(draws.row(1), sample(2, 7).unwrap().row(1));
        let n = draws.len() as f64;
        for m in 1..=4 {
            let (exact, square) = (raw_moment(m), raw_moment(2 * m));
            for (i, (exact, square)) in exact.iter().zip(&square).enumerate() {
                let mean = draws.rows().map(|row| row[i].powi(m as i32)).sum::<f64>() / n;
                let standard_error = ((square - exact * exact) / n).sqrt();
                assert!((mean - exact).abs() < 5.0 * standard_error, "E x{i}^{m}: {mean} {exact}");
            }
        }
    }

    #[test]
    fn normal_moments_are_the_textbook_ones() {
        let moments: Vec<f64> = (0..=6).map(|m| normal_raw_moment(0.0, 4.0, m)).collect();
        assert_eq!(moments, [1.0, 0.0, 4.0, 0.0, 48.0, 0.0, 960.0]);
        assert_eq!(normal_raw_moment(2.0, 3.0, 3), 8.0 + 3.0 * 2.0 * 3.0);
    }
}
