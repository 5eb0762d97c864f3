//! Comparison with subsets that took no thought: random rows, and rows spread evenly over the file.

use anyhow::Result;
use rayon::prelude::*;
use supersample::Herder;
use supersample::quality::{Reference, every_kth, random_rows, systematic_rows};

use crate::report::{Comparison, Rows, TypicalErrors};

/// How many random subsets are drawn.
const RANDOM_DRAWS: usize = 20;
/// Kernel values the random subsets may cost, T² each; beyond it fewer are drawn, never fewer than 3.
const KERNEL_VALUES: usize = 2_000_000_000;

/// Compares with subsets of `count` of the rows; `None` where there are not more rows than that, since then no subset
/// of distinct rows is left to compare with but all of them, and where the MMD is not known.
pub(super) fn compare(
    herder: &Herder,
    rows: &Rows<'_>,
    count: usize,
    reference: &Reference,
) -> Result<Option<Comparison>> {
    let (n, shares) = (rows.len(), rows.shares.as_deref());
    if count >= n || count == 0 || herder.squared_norm().is_none() {
        return Ok(None);
    }
    let errors_of = |subset: Vec<usize>| -> Result<(f64, TypicalErrors)> {
        let error = herder.mmd_of_rows(&subset)?.expect("‖μ‖² is known");
        Ok((error, TypicalErrors::of(&reference.quality(&rows.pick(&subset), None)?)))
    };
    let draws = (KERNEL_VALUES / count.saturating_mul(count)).clamp(3, RANDOM_DRAWS);
    let random = (0..draws as u64)
        .into_par_iter()
        .map(|seed| errors_of(random_rows(n, shares, count, seed)?))
        .collect::<Result<Vec<_>>>()?;
    let (errors, others): (Vec<f64>, Vec<TypicalErrors>) = random.into_iter().unzip();
    let mean = errors.iter().sum::<f64>() / draws as f64;
    let squares: f64 = errors.iter().map(|error| (error - mean) * (error - mean)).sum();
    let (spaced, spaced_errors) = errors_of(match shares {
        None => every_kth(n, count)?,
        Some(shares) => systematic_rows(shares, count)?,
    })?;
    Ok(Some(Comparison {
        random_mean: mean,
        random_sd: (squares / (draws - 1) as f64).sqrt(),
        random_draws: draws,
        random_errors: mean_of(&others),
        spaced,
        spaced_errors,
    }))
}

/// The means over several subsets.
fn mean_of(all: &[TypicalErrors]) -> TypicalErrors {
    let mean = |one: fn(&TypicalErrors) -> Option<f64>| {
        let known: Vec<f64> = all.iter().filter_map(one).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    TypicalErrors {
        mean: mean(|errors| errors.mean),
        sd: mean(|errors| errors.sd),
        quantile: mean(|errors| errors.quantile),
        correlation: mean(|errors| errors.correlation),
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use supersample::{Domain, Empirical, Kernel, Points};

    use super::*;

    #[test]
    fn random_rows_have_the_expected_error_of_theory() {
        // E of the squared MMD of T of n rows without replacement is (1 − ‖μ‖²)·(n − T)/(T·(n − 1)).
        let (n, t) = (400, 20);
        let values: Vec<f64> = (0..n).map(|i| (i as f64 * 0.618_034).fract()).collect();
        let points = Points::from_vec(values.clone(), 1).unwrap();
        let mu = Empirical::new(Kernel::gaussian(0.2).unwrap(), points.clone()).unwrap();
        let herder = Herder::new(mu, Domain::Pool(points)).unwrap();
        let squared_norm = herder.squared_norm().unwrap();
        let rows = Rows { values: Cow::Borrowed(&values), dim: 1, shares: None };
        let reference = Reference::new(&values, 1, None).unwrap();
        let found = compare(&herder, &rows, t, &reference).unwrap().unwrap();
        let square = found.random_mean.powi(2) + found.random_sd.powi(2);
        let expected = (1.0 - squared_norm) * (n - t) as f64 / (t * (n - 1)) as f64;
        assert!((square / expected - 1.0).abs() < 0.3, "{square} {expected}");
        assert_eq!(found.random_draws, 20);
        // The mean of T of n values in units of their sd: √((n − T)/(T·(n − 1))), of which the mean size is 0.8.
        let unit = ((n - t) as f64 / (t * (n - 1)) as f64).sqrt();
        let mean = found.random_errors.mean.unwrap();
        assert!((mean / (0.8 * unit) - 1.0).abs() < 0.4, "{mean} {unit}");
        assert!(found.spaced_errors.sd.is_some() && found.spaced_errors.correlation.is_none());
        assert_eq!(compare(&herder, &rows, n, &reference).unwrap(), None);
        assert_eq!(compare(&herder, &rows, n + 1, &reference).unwrap(), None);
    }
}
