//! Weights of the rows: from numbers or their logarithms to shares that sum to one, and draws by them.

use anyhow::{Result, ensure};

/// Shares from weights as they are in the file. Dividing by the largest first keeps the sum finite.
pub(crate) fn shares(weights: &[f64]) -> Result<Vec<f64>> {
    if let Some(row) = weights.iter().position(|weight| *weight < 0.0) {
        let value = weights[row];
        anyhow::bail!(
            "the weight of row {} is {value}; weights cannot be negative (logarithms of weights go to --log-weight-column)",
            row + 1
        );
    }
    let largest = weights.iter().fold(0.0_f64, |a, &b| a.max(b));
    ensure!(largest > 0.0, "all weights are zero; at least one must be positive");
    Ok(summing_to_one(weights.iter().map(|weight| weight / largest).collect()))
}

/// Shares from logarithms, which may all be far below the smallest number: only their differences matter.
pub(crate) fn shares_of_logs(logs: &[f64]) -> Vec<f64> {
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    summing_to_one(logs.iter().map(|log| (log - largest).exp()).collect())
}

fn summing_to_one(mut weights: Vec<f64>) -> Vec<f64> {
    let total: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= total);
    weights
}

/// `count` rows at equal steps of the summed weight, the first half a step in: each row is drawn as often as its weight
/// says, up to one. The offset moves them all, from 0 to 1 step.
pub(crate) fn systematic(shares: &[f64], count: usize, offset: f64) -> Vec<usize> {
    let mut rows = Vec::with_capacity(count);
    let (mut row, mut reached) = (0, shares[0]);
    for i in 0..count {
        let wanted = (i as f64 + offset) / count as f64;
        while reached <= wanted && row + 1 < shares.len() {
            row += 1;
            reached += shares[row];
        }
        // Rounding may leave the sum short of one; rows of no weight are never drawn.
        while shares[row] == 0.0 && row > 0 {
            row -= 1;
        }
        rows.push(row);
    }
    rows
}

/// The number of equal weights that estimate a mean as well: 1/Σ w².
pub(crate) fn effective_size(shares: &[f64]) -> f64 {
    1.0 / shares.iter().map(|share| share * share).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn very_negative_logs_are_as_good_as_weights() {
        let shares = shares_of_logs(&[-100_000.0, -100_000.0 + 3.0_f64.ln(), f64::MIN]);
        assert!((shares[0] - 0.25).abs() < 1e-9 && (shares[1] - 0.75).abs() < 1e-9 && shares[2] == 0.0);
        assert_eq!(super::shares(&[f64::MAX, f64::MAX]).unwrap(), [0.5, 0.5]);
        assert!(super::shares(&[1.0, -1.0]).unwrap_err().to_string().contains("row 2 is -1"));
        assert!(super::shares(&[0.0, 0.0]).is_err());
        assert!((effective_size(&[0.25; 4]) - 4.0).abs() < 1e-12);
    }

    #[test]
    fn systematic_draws_follow_the_weights() {
        assert_eq!(systematic(&[0.5, 0.0, 0.25, 0.25], 4, 0.5), [0, 0, 2, 3]);
        assert_eq!(systematic(&[0.25; 4], 2, 0.5), [1, 3]);
        assert_eq!(systematic(&[1.0, 0.0], 3, 0.999), [0, 0, 0]);
    }
}
