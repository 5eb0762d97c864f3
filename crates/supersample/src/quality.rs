//! How far a subset is from the data, parameter by parameter: means, spreads, quantiles and correlations.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::bandwidth::systematic;
use crate::{Error, Points, Result};

/// The quantiles that are compared.
pub const QUANTILES: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

/// The errors of one column: subset minus data, in units of the data's standard deviation.
///
/// A number that has no meaning is `None`: everything for a constant column, which has no unit, and spread and
/// quantiles where weights are negative.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ColumnErrors {
    /// The error of the mean.
    pub mean: Option<f64>,
    /// The error of the standard deviation.
    pub sd: Option<f64>,
    /// The errors of the [`QUANTILES`].
    pub quantiles: [Option<f64>; 5],
}

/// The errors of a subset.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Quality {
    /// One for each column.
    pub columns: Vec<ColumnErrors>,
    /// The root mean square error of the correlations over all pairs of columns; `None` without a pair that has one.
    pub correlation_rms: Option<f64>,
    /// The largest of these errors in size, and its pair of columns.
    pub correlation_worst: Option<(f64, usize, usize)>,
}

impl Quality {
    /// The error of the mean that is largest in size, and its column.
    pub fn worst_mean(&self) -> Option<(f64, usize)> {
        worst(self.columns.iter().enumerate().map(|(column, errors)| (errors.mean, column)))
    }

    /// The error of the standard deviation that is largest in size, and its column.
    pub fn worst_sd(&self) -> Option<(f64, usize)> {
        worst(self.columns.iter().enumerate().map(|(column, errors)| (errors.sd, column)))
    }

    /// The error of a quantile that is largest in size, its column, and which of the [`QUANTILES`] it is.
    pub fn worst_quantile(&self) -> Option<(f64, usize, usize)> {
        let columns = self.columns.iter().enumerate();
        let all = columns.flat_map(|(column, errors)| {
            errors.quantiles.into_iter().enumerate().map(move |(which, error)| (error, (column, which)))
        });
        worst(all).map(|(error, (column, which))| (error, column, which))
    }

    /// The root mean square over the columns of the error of the mean.
    pub fn mean_rms(&self) -> Option<f64> {
        root_mean_square(self.columns.iter().filter_map(|errors| errors.mean))
    }

    /// The same of the standard deviation.
    pub fn sd_rms(&self) -> Option<f64> {
        root_mean_square(self.columns.iter().filter_map(|errors| errors.sd))
    }

    /// The same over all quantiles of all columns.
    pub fn quantile_rms(&self) -> Option<f64> {
        root_mean_square(self.columns.iter().flat_map(|errors| errors.quantiles.into_iter().flatten()))
    }
}

/// The errors of `subset` against `data`, either with a weight for each row (divided by their sum) or with equal ones.
/// The subset's weights may be negative, as free weights are; the data's may not.
///
/// A quantile is interpolated between the middles of the steps of the distribution function, so that a row of weight 2
/// counts as two rows. The standard deviation is that of the weighted rows as they are, without n − 1.
///
/// ```
/// use supersample::{Points, quality::quality};
/// let data = Points::from_rows(&[0.0, 1.0, 2.0, 3.0, 4.0], 1)?;
/// let subset = Points::from_rows(&[0.0, 2.0, 3.0], 1)?;
/// let errors = quality(&data, None, &subset, None)?;
/// assert!((errors.columns[0].mean.unwrap() - (5.0 / 3.0 - 2.0) / 2f64.sqrt()).abs() < 1e-15);
/// assert_eq!(errors.columns[0].quantiles[2], Some(0.0)); // both medians are 2
/// # Ok::<(), supersample::Error>(())
/// ```
pub fn quality(
    data: &Points,
    data_weights: Option<&[f64]>,
    subset: &Points,
    subset_weights: Option<&[f64]>,
) -> Result<Quality> {
    subset.expect_dim("the subset", "the data", data.dim())?;
    let data_weights = unit_weights(data_weights, "rows of the data", data.len())?;
    if let Some(index) = data_weights.iter().position(|w| *w < 0.0) {
        return Err(Error::BadWeight { index, value: data_weights[index] });
    }
    let subset_weights = unit_weights(subset_weights, "rows of the subset", subset.len())?;
    let (whole, part) = (Moments::new(data, &data_weights), Moments::new(subset, &subset_weights));
    let mut columns = Vec::with_capacity(data.dim());
    for column in 0..data.dim() {
        let unit = whole.sd(column);
        let in_units = |error: f64| unit.map(|unit| error / unit);
        let (own, given) =
            (quantiles(subset, &subset_weights, column), quantiles(data, &data_weights, column));
        columns.push(ColumnErrors {
            mean: in_units(part.mean[column] - whole.mean[column]),
            sd: part.spread(column).and_then(|own| in_units(own - whole.spread(column)?)),
            quantiles: std::array::from_fn(|q| in_units(own?[q] - given?[q])),
        });
    }
    let mut pairs = Vec::new();
    for a in 0..data.dim() {
        for b in 0..a {
            if let (Some(own), Some(given)) = (part.correlation(a, b), whole.correlation(a, b)) {
                pairs.push((Some(own - given), (b, a)));
            }
        }
    }
    Ok(Quality {
        columns,
        correlation_rms: root_mean_square(pairs.iter().filter_map(|pair| pair.0)),
        correlation_worst: worst(pairs.into_iter()).map(|(error, (a, b))| (error, a, b)),
    })
}

/// Every k-th of `n` rows, `size` of them: row ⌊i·n/size⌋ for each i. `size` may not exceed `n`.
pub fn every_kth(n: usize, size: usize) -> Result<Vec<usize>> {
    expect_rows(n, size)?;
    Ok((0..size).map(|i| (i as u128 * n as u128 / size as u128) as usize).collect())
}

/// `size` rows at equal steps of the summed weights, the first half a step in: every k-th row where rows have weights.
pub fn systematic_rows(weights: &[f64], size: usize) -> Result<Vec<usize>> {
    let shares = crate::points::normalised(weights, "rows", weights.len())?;
    Ok(systematic(&shares, size, 0.5))
}

/// `size` of `n` rows at random: distinct ones, or with weights iid draws in proportion to them, which may repeat.
pub fn random_rows(n: usize, weights: Option<&[f64]>, size: usize, seed: u64) -> Result<Vec<usize>> {
    let mut rng = Pcg64::seed_from_u64(seed);
    let Some(weights) = weights else {
        expect_rows(n, size)?;
        let mut rows: Vec<usize> = (0..n).collect();
        for i in 0..size {
            let other = rng.random_range(i..n);
            rows.swap(i, other);
        }
        rows.truncate(size);
        return Ok(rows);
    };
    let weights = crate::points::normalised(weights, "rows", n)?;
    let mut reached = 0.0;
    let ends: Vec<f64> = weights
        .iter()
        .map(|w| {
            reached += w;
            reached
        })
        .collect();
    let last = weights.iter().rposition(|w| *w > 0.0).unwrap_or(0);
    let draw = |_| {
        let target = rng.random::<f64>() * reached;
        ends.partition_point(|end| *end <= target).min(last)
    };
    Ok((0..size).map(draw).collect())
}

fn expect_rows(n: usize, size: usize) -> Result<()> {
    match size {
        0 => Err(Error::EmptySet),
        _ if size > n => Err(Error::TooFewRows { asked: size, available: n }),
        _ => Ok(()),
    }
}

/// Weights of either sign divided by their sum.
fn unit_weights(weights: Option<&[f64]>, what: &'static str, expected: usize) -> Result<Vec<f64>> {
    let Some(weights) = weights else { return Ok(vec![1.0 / expected as f64; expected]) };
    if weights.len() != expected {
        return Err(Error::WeightCount { what, found: weights.len(), expected });
    }
    if let Some(index) = weights.iter().position(|w| !w.is_finite()) {
        return Err(Error::NonFiniteNumber { what: "weight", index, value: weights[index] });
    }
    let largest = weights.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
    let total: f64 = weights.iter().map(|w| w / largest).sum();
    if largest == 0.0 || total <= 0.0 {
        return Err(Error::ZeroWeights);
    }
    Ok(weights.iter().map(|w| w / largest / total).collect())
}

/// Weighted means and covariances.
struct Moments {
    mean: Vec<f64>,
    covariance: Vec<f64>,
    has_negative: bool,
}

impl Moments {
    fn new(points: &Points, weights: &[f64]) -> Moments {
        let dim = points.dim();
        let mut mean = vec![0.0; dim];
        for (row, w) in points.rows().zip(weights) {
            mean.iter_mut().zip(row).for_each(|(mean, x)| *mean += w * x);
        }
        let mut covariance = vec![0.0; dim * dim];
        for (row, w) in points.rows().zip(weights) {
            for a in 0..dim {
                let scaled = w * (row[a] - mean[a]);
                for b in 0..=a {
                    covariance[a * dim + b] += scaled * (row[b] - mean[b]);
                }
            }
        }
        Moments { mean, covariance, has_negative: weights.iter().any(|w| *w < 0.0) }
    }

    /// The standard deviation; `None` where weights are negative.
    fn spread(&self, column: usize) -> Option<f64> {
        (!self.has_negative).then(|| self.covariance[column * (self.mean.len() + 1)].sqrt())
    }

    /// The standard deviation where there is one that is more than the rounding of a constant.
    fn sd(&self, column: usize) -> Option<f64> {
        self.spread(column).filter(|sd| *sd > 1e-14 * self.mean[column].abs())
    }

    fn correlation(&self, a: usize, b: usize) -> Option<f64> {
        let (sd_a, sd_b) = (self.sd(a)?, self.sd(b)?);
        Some(self.covariance[a * self.mean.len() + b] / sd_a / sd_b)
    }
}

/// The quantiles of a column; `None` where weights are negative.
fn quantiles(points: &Points, weights: &[f64], column: usize) -> Option<[f64; 5]> {
    if weights.iter().any(|w| *w < 0.0) {
        return None;
    }
    let values = points.rows().zip(weights).map(|(row, w)| (row[column], *w));
    let mut steps: Vec<(f64, f64)> = values.filter(|step| step.1 > 0.0).collect();
    steps.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    steps.dedup_by(|later, first| {
        let same = later.0 == first.0;
        if same {
            first.1 += later.1;
        }
        same
    });
    // Each value with the middle of its step of the distribution function.
    let mut reached = 0.0;
    for (_, weight) in &mut steps {
        let middle = reached + *weight / 2.0;
        reached += *weight;
        *weight = middle;
    }
    let at = |q: f64| {
        let above = steps.partition_point(|(_, middle)| *middle < q);
        match (above.checked_sub(1).map(|below| steps[below]), steps.get(above)) {
            (Some((x, p)), Some((y, r))) => x + (y - x) * ((q - p) / (r - p)),
            (Some((x, _)), None) => x,
            (None, Some((y, _))) => *y,
            (None, None) => f64::NAN,
        }
    };
    (!steps.is_empty()).then(|| QUANTILES.map(at))
}

fn worst<T>(errors: impl Iterator<Item = (Option<f64>, T)>) -> Option<(f64, T)> {
    let known = errors.filter_map(|(error, place)| Some((error?, place)));
    known.reduce(|a, b| if b.0.abs() > a.0.abs() { b } else { a })
}

fn root_mean_square(errors: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = errors.fold((0.0, 0), |(sum, count), error| (sum + error * error, count + 1));
    (count > 0).then(|| (sum / f64::from(count)).sqrt())
}
