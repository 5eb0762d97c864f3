//! A Halton set for a Gaussian mixture: the quasi-Monte Carlo rival of figure 3.

use supersample::linalg::cholesky;
use supersample::target::GaussianMixture;
use supersample::{Points, Result};

use crate::normal::quantile;

const PRIMES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];

/// The radical inverse of `i` in base `b`: its digits mirrored at the point, a number of (0, 1) for i ≥ 1.
fn radical_inverse(mut i: u64, base: u64) -> f64 {
    let (mut value, mut place) = (0.0, 1.0 / base as f64);
    while i > 0 {
        value += place * (i % base) as f64;
        place /= base as f64;
        i /= base;
    }
    value
}

/// The first `n` Halton points carried to the mixture: the first coordinate chooses the component (by inversion of the
/// cumulated weights), the others become normals by their quantile function and get the component's mean and spread.
///
/// # Panics
/// In more than 11 dimensions, where plain Halton sets are no good anyway.
pub(crate) fn mixture_points(mixture: &GaussianMixture, n: usize) -> Result<Points> {
    let dim = mixture.dim();
    assert!(dim < PRIMES.len(), "no prime base for {dim} dimensions");
    let factors: Vec<Vec<f64>> = (0..mixture.len())
        .map(|i| cholesky(mixture.covariance(i), dim).expect("a mixture has definite covariances"))
        .collect();
    let mut rows = Vec::with_capacity(n * dim);
    for i in 1..=n as u64 {
        let component = component_at(mixture.weights(), radical_inverse(i, PRIMES[0]));
        let normals: Vec<f64> =
            PRIMES[1..=dim].iter().map(|&base| quantile(radical_inverse(i, base))).collect();
        let lines = factors[component].chunks_exact(dim);
        rows.extend(
            mixture
                .means()
                .row(component)
                .iter()
                .zip(lines)
                .map(|(mean, line)| mean + line.iter().zip(&normals).map(|(l, z)| l * z).sum::<f64>()),
        );
    }
    Points::from_vec(rows, dim)
}

fn component_at(weights: &[f64], u: f64) -> usize {
    let mut sum = 0.0;
    let found = weights.iter().position(|weight| {
        sum += weight;
        u < sum
    });
    // Rounding can leave the sum below one.
    found.unwrap_or(weights.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn radical_inverses_are_those_worked_by_hand() {
        let base_two: Vec<f64> = (1..=6).map(|i| radical_inverse(i, 2)).collect();
        assert_eq!(base_two, [0.5, 0.25, 0.75, 0.125, 0.625, 0.375]);
        assert!((radical_inverse(5, 3) - (2.0 / 3.0 + 1.0 / 9.0)).abs() < 1e-15);
    }

    #[test]
    fn halton_points_have_the_moments_of_the_mixture_better_than_random_ones() {
        let mixture = GaussianMixture::random(5, 3, 1).unwrap();
        let error = |points: &Points| {
            let moments = (1..=3).map(|m| {
                supersample::metrics::moment_error(points, None, m, &mixture.raw_moment(m)).unwrap()
            });
            moments.collect::<Vec<_>>()
        };
        let halton = error(&mixture_points(&mixture, 20_000).unwrap());
        let random = error(&mixture.sample(20_000, 3).unwrap());
        for (m, (h, r)) in halton.iter().zip(&random).enumerate() {
            assert!(3.0 * h < *r, "moment {}: {h} {r}", m + 1);
        }
    }
}
