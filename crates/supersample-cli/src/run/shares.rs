//! Shares of the rows in the target, which sum to one: from their weights in the files, or from logarithms of weights.

use anyhow::{Result, ensure};

/// Shares from weights as they are in the file. Dividing by the largest first keeps the sum finite.
pub(super) fn shares(weights: &[f64]) -> Result<Vec<f64>> {
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

/// Shares from logarithms, which may all be far below the smallest number: only their differences matter. −∞ is the
/// logarithm of no weight.
pub(super) fn shares_of_logs(logs: &[f64]) -> Result<Vec<f64>> {
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    ensure!(
        largest > f64::NEG_INFINITY,
        "every row has the log-weight -inf; at least one must have a weight"
    );
    Ok(summing_to_one(logs.iter().map(|log| (log - largest).exp()).collect()))
}

fn summing_to_one(mut weights: Vec<f64>) -> Vec<f64> {
    let total: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= total);
    weights
}

/// The number of equal weights that estimate a mean as well: 1/Σ w².
pub(super) fn effective_size(shares: &[f64]) -> f64 {
    1.0 / shares.iter().map(|share| share * share).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn very_negative_logs_are_as_good_as_weights() {
        let shares = shares_of_logs(&[-100_000.0, -100_000.0 + 3.0_f64.ln(), f64::MIN]).unwrap();
        assert!((shares[0] - 0.25).abs() < 1e-9 && (shares[1] - 0.75).abs() < 1e-9 && shares[2] == 0.0);
        assert_eq!(super::shares(&[f64::MAX, f64::MAX]).unwrap(), [0.5, 0.5]);
        assert!(super::shares(&[1.0, -1.0]).unwrap_err().to_string().contains("row 2 is -1"));
        assert!(super::shares(&[0.0, 0.0]).is_err());
        let none = f64::NEG_INFINITY;
        assert_eq!(shares_of_logs(&[none, -3.0, none, -3.0]).unwrap(), [0.0, 0.5, 0.0, 0.5]);
        assert!(
            shares_of_logs(&[none, none])
                .unwrap_err()
                .to_string()
                .contains("every row has the log-weight -inf")
        );
        assert!(super::shares(&[1.0, none]).unwrap_err().to_string().contains("row 2 is -inf"));
        assert!((effective_size(&[0.25; 4]) - 4.0).abs() < 1e-12);
    }
}
