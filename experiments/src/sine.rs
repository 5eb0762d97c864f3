//! E sin‖x‖ over a Gaussian mixture, by a product Gauss–Hermite rule on the principal axes of each component.
//!
//! sin‖x‖ is smooth but for the origin, so for components that keep the origin a few standard deviations away the rule
//! converges faster than any power of the number of nodes. How well it has converged is measured, not assumed: the
//! value is given together with its distance to the rule with fewer nodes.

use rayon::prelude::*;
use supersample::linalg::symmetric_eigen;
use supersample::target::GaussianMixture;

/// Nodes on each axis: 12⁵ = 248 832 points a component in five dimensions.
const NODES: usize = 12;

/// An expectation and the estimate of its error: the distance to the rule with three nodes fewer an axis.
pub(crate) struct Expectation {
    pub(crate) value: f64,
    pub(crate) error: f64,
}

/// E sin‖x‖.
pub(crate) fn expected_sine_of_norm(mixture: &GaussianMixture) -> Expectation {
    let value = by_nodes(mixture, NODES);
    Expectation { value, error: (value - by_nodes(mixture, NODES - 3)).abs() }
}

fn by_nodes(mixture: &GaussianMixture, nodes: usize) -> f64 {
    let rule = gauss_hermite(nodes);
    let component = |i: usize| mixture.weights()[i] * component_sine(mixture, i, &rule);
    let values: Vec<f64> = (0..mixture.len()).into_par_iter().map(component).collect();
    values.iter().sum()
}

/// The rule over one component. In its principal axes the squared norm is a sum over the axes,
/// ‖x‖² = Σ (cⱼ + sⱼ·zⱼ)², so the product rule needs only the squares at the nodes of each axis.
fn component_sine(mixture: &GaussianMixture, component: usize, rule: &[(f64, f64)]) -> f64 {
    let dim = mixture.dim();
    let mean = mixture.means().row(component);
    let (variances, axes) = symmetric_eigen(mixture.covariance(component), dim);
    let squares: Vec<Vec<(f64, f64)>> = variances
        .iter()
        .zip(axes.chunks_exact(dim))
        .map(|(variance, axis)| {
            let centre: f64 = axis.iter().zip(mean).map(|(a, m)| a * m).sum();
            rule.iter().map(|(z, weight)| ((centre + variance.sqrt() * z).powi(2), *weight)).collect()
        })
        .collect();
    product_rule(&squares, 0.0)
}

fn product_rule(axes: &[Vec<(f64, f64)>], square: f64) -> f64 {
    match axes {
        [] => square.sqrt().sin(),
        [axis, rest @ ..] => axis.iter().map(|(s, weight)| weight * product_rule(rest, square + s)).sum(),
    }
}

/// Nodes and weights of the rule with Σ w·f(z) = E f(Z) for Z standard normal and every polynomial of degree below 2n.
///
/// The nodes are the eigenvalues of the tridiagonal matrix of the recurrence z·h_k = √(k+1)·h_{k+1} + √k·h_{k−1}, each
/// weight the square of the first entry of the eigenvector (Golub and Welsch).
fn gauss_hermite(n: usize) -> Vec<(f64, f64)> {
    let mut matrix = vec![0.0; n * n];
    for k in 1..n {
        matrix[k * n + k - 1] = (k as f64).sqrt();
        matrix[(k - 1) * n + k] = (k as f64).sqrt();
    }
    let (nodes, vectors) = symmetric_eigen(&matrix, n);
    nodes
        .into_iter()
        .zip(vectors.chunks_exact(n))
        .map(|(node, vector)| (node, vector[0] * vector[0]))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use supersample::{Points, metrics};

    use super::*;

    #[test]
    fn the_rule_has_the_moments_of_a_normal() {
        let rule = gauss_hermite(NODES);
        let moment = |m: i32| rule.iter().map(|(z, w)| w * z.powi(m)).sum::<f64>();
        for (m, expected) in [(0, 1.0), (1, 0.0), (2, 1.0), (3, 0.0), (4, 3.0), (6, 15.0), (8, 105.0)] {
            assert!(
                (moment(m) - expected).abs() < 1e-11 * f64::max(1.0, expected),
                "moment {m}: {}",
                moment(m)
            );
        }
    }

    #[test]
    fn one_round_component_in_space_agrees_with_the_density_of_its_norm() {
        // In three dimensions r = ‖x‖, x ~ N(m, σ²I), has the density r/(|m|σ)·(φ((r−|m|)/σ) − φ((r+|m|)/σ)).
        let (mean, sigma): ([f64; 3], f64) = ([2.0, -1.0, 3.0], 0.7);
        let length = mean.iter().map(|m| m * m).sum::<f64>().sqrt();
        let phi = |z: f64| (-0.5 * z * z).exp() / (2.0 * PI).sqrt();
        let h = 1e-3;
        let density = |r: f64| r / (length * sigma) * (phi((r - length) / sigma) - phi((r + length) / sigma));
        let exact: f64 = (1..20_000).map(|i| i as f64 * h).map(|r| h * r.sin() * density(r)).sum();
        let mut covariance = vec![0.0; 9];
        (0..3).for_each(|i| covariance[4 * i] = sigma * sigma);
        let round =
            GaussianMixture::new(&[1.0], Points::from_rows(&mean, 3).unwrap(), &[covariance]).unwrap();
        let got = expected_sine_of_norm(&round);
        assert!((got.value - exact).abs() < 1e-7 && got.error < 1e-6, "{} {exact} {}", got.value, got.error);
    }

    #[test]
    fn a_random_mixture_in_five_dimensions_agrees_with_many_draws() {
        let mixture = GaussianMixture::random(10, 5, 4).unwrap();
        let got = expected_sine_of_norm(&mixture);
        let norm = |x: &[f64]| x.iter().map(|v| v * v).sum::<f64>().sqrt();
        let n = 1_000_000;
        let sampled = metrics::integral(&mixture.sample(n, 5).unwrap(), None, |x| norm(x).sin()).unwrap();
        assert!(got.error < 1e-5, "{}", got.error);
        // sin has a standard deviation below 1.
        assert!((got.value - sampled).abs() < 4.0 / (n as f64).sqrt(), "{} {sampled}", got.value);
    }
}
