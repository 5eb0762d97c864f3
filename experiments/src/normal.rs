//! The standard normal distribution function and its inverse.

use std::f64::consts::{PI, SQRT_2};

/// P(Z ≤ z).
fn cumulative(z: f64) -> f64 {
    0.5 * libm::erfc(-z / SQRT_2)
}

/// The z with P(Z ≤ z) = u, for u strictly between 0 and 1.
///
/// Newton's method on the logarithm of the lower tail, which is concave: from the left of the root it never overshoots
/// by much, and in the tail, where the distribution function itself is flat, it is nearly a parabola.
pub(crate) fn quantile(u: f64) -> f64 {
    assert!(u > 0.0 && u < 1.0, "no quantile at {u}");
    if u > 0.5 {
        return -quantile(1.0 - u);
    }
    // P(Z ≤ z) ≤ ½·exp(−z²/2) for z ≤ 0, so the root is at or right of this.
    let mut z = -(-2.0 * (2.0 * u).ln()).max(0.0).sqrt();
    for _ in 0..50 {
        let below = cumulative(z);
        let density = (-0.5 * z * z).exp() / (2.0 * PI).sqrt();
        let step = (u.ln() - below.ln()) * below / density;
        z += step;
        if step.abs() <= 1e-14 * (1.0 + z.abs()) {
            break;
        }
    }
    z
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_the_tabulated_ones_and_invert_the_distribution() {
        assert!(quantile(0.5).abs() < 1e-15);
        assert!((quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-12);
        assert!((quantile(0.01) + 2.326_347_874_040_841).abs() < 1e-12);
        for u in [1e-300, 1e-20, 1e-5, 0.1, 0.3, 0.49, 0.7, 0.999, 1.0 - 1e-12] {
            let back = cumulative(quantile(u));
            assert!((back - u).abs() < 1e-11 * u, "{u}: {back}");
        }
    }
}
