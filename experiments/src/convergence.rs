//! How an error falls with T: its upper envelope, the slope on log-log paper, grids of T, a straight-line fit.

/// The least non-increasing curve above `errors`: at T, the largest error at T or later.
///
/// This is the "upper bound of the error" whose speed the paper prints above its figures 3 and 4. Its end knows nothing
/// of the errors that would have followed.
pub(crate) fn upper_envelope(errors: &[f64]) -> Vec<f64> {
    let mut envelope = errors.to_vec();
    for i in (0..envelope.len().saturating_sub(1)).rev() {
        envelope[i] = envelope[i].max(envelope[i + 1]);
    }
    envelope
}

/// The slope of the upper envelope between T = 10 and half of the length, on log-log paper; `errors[0]` is T = 1.
///
/// The first ten points are not the limit yet, and the second half of the envelope bends down for want of successors.
pub(crate) fn envelope_slope(errors: &[f64]) -> f64 {
    let envelope = upper_envelope(errors);
    log_log_slope(&envelope, 10, errors.len() / 2)
}

/// The slope of `errors` (`errors[0]` is T = 1) over T from `first` to `last` on log-log paper: least squares at T
/// spaced evenly in log T, so that each decade counts the same.
pub(crate) fn log_log_slope(errors: &[f64], first: usize, last: usize) -> f64 {
    let grid = log_grid(first, last, 100);
    let x: Vec<f64> = grid.iter().map(|&t| (t as f64).ln()).collect();
    let y: Vec<f64> = grid.iter().map(|&t| errors[t - 1].ln()).collect();
    Line::fit(&x, &y).slope
}

/// Whole numbers from `first` to `last`, about `count` of them, evenly spaced in the logarithm and without repeats.
pub(crate) fn log_grid(first: usize, last: usize, count: usize) -> Vec<usize> {
    assert!(first >= 1 && first <= last && count >= 2, "no grid from {first} to {last}");
    let ratio = (last as f64 / first as f64).ln() / (count - 1) as f64;
    let mut grid: Vec<usize> =
        (0..count).map(|i| (first as f64 * (ratio * i as f64).exp()).round() as usize).collect();
    grid.dedup();
    grid
}

/// A straight line through points, by least squares.
pub(crate) struct Line {
    pub(crate) slope: f64,
    pub(crate) intercept: f64,
    /// The share of the variance of y that the line explains.
    pub(crate) r_squared: f64,
}

impl Line {
    pub(crate) fn fit(x: &[f64], y: &[f64]) -> Line {
        let n = x.len() as f64;
        let (mean_x, mean_y) = (x.iter().sum::<f64>() / n, y.iter().sum::<f64>() / n);
        let product = |a: &[f64], ma: f64, b: &[f64], mb: f64| -> f64 {
            a.iter().zip(b).map(|(u, v)| (u - ma) * (v - mb)).sum()
        };
        let (xx, xy) = (product(x, mean_x, x, mean_x), product(x, mean_x, y, mean_y));
        let yy = product(y, mean_y, y, mean_y);
        Line { slope: xy / xx, intercept: mean_y - mean_x * xy / xx, r_squared: xy * xy / (xx * yy) }
    }
}

/// The mean and the standard deviation (divisor n − 1) of some numbers.
pub(crate) fn mean_and_sd(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (mean, (squares / (n - 1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_envelope_is_the_least_falling_curve_above() {
        assert_eq!(upper_envelope(&[5.0, 1.0, 3.0, 2.0, 0.5, 0.7]), [5.0, 3.0, 3.0, 2.0, 0.7, 0.7]);
        assert_eq!(upper_envelope(&[]), Vec::<f64>::new());
    }

    #[test]
    fn slopes_of_powers_are_their_exponents() {
        let power: Vec<f64> = (1..=5000).map(|t| 3.0 * (t as f64).powf(-0.8)).collect();
        assert!((log_log_slope(&power, 10, 5000) + 0.8).abs() < 1e-12);
        assert!((envelope_slope(&power) + 0.8).abs() < 1e-12);
        // Dips that touch the bound now and then leave the slope of the envelope nearly alone, and spoil the plain one.
        let dipping: Vec<f64> =
            power.iter().enumerate().map(|(i, e)| e * (i as f64 * 0.7).sin().abs().max(0.01)).collect();
        assert!((envelope_slope(&dipping) + 0.8).abs() < 0.03, "{}", envelope_slope(&dipping));
    }

    #[test]
    fn a_grid_has_its_ends_and_no_repeats() {
        assert_eq!(log_grid(1, 8, 4), [1, 2, 4, 8]);
        let grid = log_grid(1, 10_000, 300);
        assert_eq!((grid[0], *grid.last().unwrap()), (1, 10_000));
        assert!(grid.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn a_line_is_found_and_its_fit_judged() {
        let line = Line::fit(&[0.0, 1.0, 2.0], &[1.0, 3.0, 5.0]);
        assert_eq!((line.slope, line.intercept, line.r_squared), (2.0, 1.0, 1.0));
        let poor = Line::fit(&[0.0, 1.0, 2.0], &[0.0, 1.0, 0.0]);
        assert_eq!((poor.slope, poor.r_squared), (0.0, 0.0));
        assert_eq!(mean_and_sd(&[1.0, 3.0]), (2.0, 2f64.sqrt()));
    }
}
