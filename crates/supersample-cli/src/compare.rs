//! What the chosen rows are held against: random rows, and rows spread evenly over the file.

use anyhow::Result;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use rayon::prelude::*;
use supersample::Herder;
use supersample::quality::systematic_rows;

/// How many random subsets are drawn.
const RANDOM_DRAWS: usize = 20;
/// Kernel values the random subsets may cost, T² each; beyond it fewer are drawn, never fewer than 3.
const KERNEL_VALUES: usize = 2_000_000_000;

/// The errors of other subsets of the same size.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comparison {
    /// Mean and standard deviation of the error of random rows: drawn without replacement, or by their weights.
    pub(crate) random_mean: f64,
    pub(crate) random_sd: f64,
    pub(crate) random_draws: usize,
    /// The error of rows spread evenly over the file, or over the sum of the weights.
    pub(crate) spaced: f64,
}

/// Compares with subsets of `count` rows; `None` where there are not more rows than that, since then no subset of
/// distinct rows is left to compare with but all of them, and where the error is not known.
pub(crate) fn compare(
    herder: &Herder,
    rows: usize,
    count: usize,
    shares: Option<&[f64]>,
) -> Result<Option<Comparison>> {
    if count >= rows || count == 0 || herder.squared_norm().is_none() {
        return Ok(None);
    }
    let error = |subset: &[usize]| Ok(herder.mmd_of_rows(subset)?.expect("‖μ‖² is known"));
    let draws = (KERNEL_VALUES / count.saturating_mul(count)).clamp(3, RANDOM_DRAWS);
    let random = (0..draws as u64).into_par_iter().map(|seed| error(&random_rows(rows, count, seed, shares)));
    let errors: Vec<f64> = random.collect::<Result<_>>()?;
    let mean = errors.iter().sum::<f64>() / draws as f64;
    let squares: f64 = errors.iter().map(|error| (error - mean) * (error - mean)).sum();
    let spaced = match shares {
        None => spaced_rows(rows, count),
        Some(shares) => systematic_rows(shares, count)?,
    };
    Ok(Some(Comparison {
        random_mean: mean,
        random_sd: (squares / (draws - 1) as f64).sqrt(),
        random_draws: draws,
        spaced: error(&spaced)?,
    }))
}

/// `count` rows, the same for the same seed: distinct ones by the first steps of a Fisher–Yates shuffle, or, where there
/// are weights, independent draws by them.
pub(crate) fn random_rows(rows: usize, count: usize, seed: u64, shares: Option<&[f64]>) -> Vec<usize> {
    let mut rng = Pcg64::seed_from_u64(seed);
    if let Some(shares) = shares {
        let mut total = 0.0;
        let sums: Vec<f64> = shares
            .iter()
            .map(|share| {
                total += share;
                total
            })
            .collect();
        let last = shares.iter().rposition(|&share| share > 0.0).unwrap_or(0);
        let draw = |rng: &mut Pcg64| {
            let wanted = rng.random::<f64>() * total;
            sums.partition_point(|&sum| sum <= wanted).min(last)
        };
        return (0..count).map(|_| draw(&mut rng)).collect();
    }
    let mut order: Vec<usize> = (0..rows).collect();
    for i in 0..count {
        order.swap(i, rng.random_range(i..rows));
    }
    order.truncate(count);
    order
}

/// Exactly `count` distinct rows, every k-th where `count` divides the number of rows.
pub(crate) fn spaced_rows(rows: usize, count: usize) -> Vec<usize> {
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
        let mut random = random_rows(100, 60, 3, None);
        assert_eq!(random, random_rows(100, 60, 3, None));
        assert_ne!(random, random_rows(100, 60, 4, None));
        random.sort_unstable();
        random.dedup();
        assert_eq!((random.len(), random.iter().all(|&row| row < 100)), (60, true));
        let shares = [0.0, 0.9, 0.1, 0.0];
        let drawn = random_rows(4, 1000, 1, Some(&shares));
        let often = drawn.iter().filter(|&&row| row == 1).count();
        assert!(drawn.iter().all(|row| [1, 2].contains(row)) && (850..950).contains(&often), "{often}");
    }

    #[test]
    fn random_rows_have_the_expected_error_of_theory() {
        // E of the squared MMD of T of n rows without replacement is (1 − ‖μ‖²)·(n − T)/(T·(n − 1)).
        let (n, t) = (400, 20);
        let points = Points::from_vec((0..n).map(|i| (i as f64 * 0.618_034).fract()).collect(), 1).unwrap();
        let mu = Empirical::new(Kernel::gaussian(0.2).unwrap(), points.clone()).unwrap();
        let herder = Herder::new(mu, Domain::Pool(points)).unwrap();
        let squared_norm = herder.squared_norm().unwrap();
        let found = compare(&herder, n, t, None).unwrap().unwrap();
        let square = found.random_mean.powi(2) + found.random_sd.powi(2);
        let expected = (1.0 - squared_norm) * (n - t) as f64 / (t * (n - 1)) as f64;
        assert!((square / expected - 1.0).abs() < 0.3, "{square} {expected}");
        assert_eq!(found.random_draws, 20);
        assert_eq!(compare(&herder, n, n, None).unwrap(), None);
        assert_eq!(compare(&herder, n, n + 1, None).unwrap(), None);
    }
}
