//! What the chosen rows are held against: random rows, and rows spread evenly over the file.

use anyhow::Result;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use rayon::prelude::*;
use supersample::Herder;

/// How many random subsets are drawn.
const RANDOM_DRAWS: usize = 20;
/// Kernel values the random subsets may cost, T² each; beyond it fewer are drawn, never fewer than 3.
const KERNEL_VALUES: usize = 2_000_000_000;

/// The errors of other subsets of the same size.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comparison {
    /// Mean and standard deviation of the error of random rows, drawn without replacement.
    pub(crate) random_mean: f64,
    pub(crate) random_sd: f64,
    pub(crate) random_draws: usize,
    /// The error of rows spread evenly over the file.
    pub(crate) spaced: f64,
}

/// Compares with subsets of `count` rows; `None` where there are not more rows than that, since then no subset of
/// distinct rows is left to compare with but all of them, and where the error is not known.
pub(crate) fn compare(herder: &Herder, rows: usize, count: usize) -> Result<Option<Comparison>> {
    if count >= rows || herder.squared_norm().is_none() {
        return Ok(None);
    }
    let error = |subset: &[usize]| Ok(herder.mmd_of_rows(subset)?.expect("‖μ‖² is known"));
    let draws = (KERNEL_VALUES / count.saturating_mul(count)).clamp(3, RANDOM_DRAWS);
    let random = (0..draws as u64).into_par_iter().map(|seed| error(&random_rows(rows, count, seed)));
    let errors: Vec<f64> = random.collect::<Result<_>>()?;
    let mean = errors.iter().sum::<f64>() / draws as f64;
    let squares: f64 = errors.iter().map(|error| (error - mean) * (error - mean)).sum();
    Ok(Some(Comparison {
        random_mean: mean,
        random_sd: (squares / (draws - 1) as f64).sqrt(),
        random_draws: draws,
        spaced: error(&spaced_rows(rows, count))?,
    }))
}

/// `count` distinct rows, the same for the same seed: the first steps of a Fisher–Yates shuffle.
fn random_rows(rows: usize, count: usize, seed: u64) -> Vec<usize> {
    let mut rng = Pcg64::seed_from_u64(seed);
    let mut order: Vec<usize> = (0..rows).collect();
    for i in 0..count {
        order.swap(i, rng.random_range(i..rows));
    }
    order.truncate(count);
    order
}

/// Exactly `count` distinct rows, every k-th where `count` divides the number of rows.
fn spaced_rows(rows: usize, count: usize) -> Vec<usize> {
    // In 128 bits, since the product of two row numbers may not fit 64.
    (0..count).map(|j| (j as u128 * rows as u128 / count as u128) as usize).collect()
}

#[cfg(test)]
mod tests {
    use supersample::{Domain, Empirical, Kernel, Points};

    use super::*;

    #[test]
    fn subsets_are_distinct_and_of_the_size_asked_for() {
        assert_eq!(spaced_rows(12, 4), [0, 3, 6, 9]);
        assert_eq!(spaced_rows(10, 4), [0, 2, 5, 7]);
        assert_eq!(spaced_rows(7, 1), [0]);
        let mut random = random_rows(100, 60, 3);
        assert_eq!(random, random_rows(100, 60, 3));
        assert_ne!(random, random_rows(100, 60, 4));
        random.sort_unstable();
        random.dedup();
        assert_eq!((random.len(), random.iter().all(|&row| row < 100)), (60, true));
    }

    #[test]
    fn random_rows_have_the_expected_error_of_theory() {
        // E of the squared MMD of T of n rows without replacement is (1 − ‖μ‖²)·(n − T)/(T·(n − 1)).
        let (n, t) = (400, 20);
        let points = Points::from_vec((0..n).map(|i| (i as f64 * 0.618_034).fract()).collect(), 1).unwrap();
        let mu = Empirical::new(Kernel::gaussian(0.2).unwrap(), points.clone()).unwrap();
        let herder = Herder::new(mu, Domain::Pool(points)).unwrap();
        let squared_norm = herder.squared_norm().unwrap();
        let found = compare(&herder, n, t).unwrap().unwrap();
        let square = found.random_mean.powi(2) + found.random_sd.powi(2);
        let expected = (1.0 - squared_norm) * (n - t) as f64 / (t * (n - 1)) as f64;
        assert!((square / expected - 1.0).abs() < 0.3, "{square} {expected}");
        assert_eq!(found.random_draws, 20);
        assert_eq!(compare(&herder, n, n).unwrap(), None);
        assert_eq!(compare(&herder, n, n + 1).unwrap(), None);
    }
}
