//! Functions of interest of the rows, whose means are matched: predictions, generated quantities, costs.

use std::sync::Arc;

use rayon::prelude::*;

use super::axes::Axes;
use crate::points::{normalised, unit_weights};
use crate::scale::Moments;
use crate::{Error, Points, Result};

/// Functions of the target's rows, with their means and standard deviations.
///
/// Each is centred and divided by its unit ([`FunctionsUnit`]); between two rows the kernel is the mean of products, so that D²
/// is the mean squared error of the means in these units. Its mean embedding is 0. Clones share the numbers.
///
/// ```
/// use supersample::{Functions, Points};
/// let values = Points::from_rows(&[0.0, 10.0, 2.0, 14.0, 4.0, 12.0], 2)?;
/// let functions = Functions::new(&values, None)?;
/// assert!(functions.error(&values, None)? < 1e-15);
/// assert!(functions.error(&values.select(&[0])?, None)? > 1.0); // the smallest of both
/// assert!(Functions::new(&values.select(&[1, 1])?, None).is_err()); // all are constant
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Functions {
    own: Arc<Vec<Unit>>,
    unit: FunctionsUnit,
}

/// Unit of functions and of the errors of their means.
///
/// ```
/// use supersample::{Functions, FunctionsUnit, Points};
/// // One function varies a hundred times as much as the other, whose mean the first row has.
/// let values = Points::from_rows(&[0.0, 0.02, 2.0, 0.01, 4.0, 0.03], 2)?;
/// let first = values.select(&[0])?;
/// let error = |unit| Functions::in_unit(&values, None, unit)?.error(&first, None);
/// assert!((error(FunctionsUnit::Each)? - 0.75f64.sqrt()).abs() < 1e-12);
/// assert!((error(FunctionsUnit::Common)? - 1.5f64.sqrt()).abs() < 1e-4);
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FunctionsUnit {
    /// Each function in its own standard deviations, because they may be of any kind.
    #[default]
    Each,
    /// All in one unit, the root mean square of their standard deviations: for functions of one kind, such as predictions,
    /// whose errors are compared as they are. Those that hardly vary hardly count.
    Common,
}

supersample_sum::words!(FunctionsUnit, "a unit of functions": Each "each", Common "common");

/// How a function is standardised.
#[derive(Clone, Copy, Debug)]
struct Unit {
    mean: f64,
    /// Half of the unit: the standard deviation of huge numbers of opposite sign may be no number. Infinite for a constant,
    /// which has no error in any unit.
    half: f64,
}

/// Spread of the same number computed in different ways, relative to it: a few units of the last place.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

impl Unit {
    fn standardised(&self, value: f64) -> f64 {
        (value * 0.5 - self.mean * 0.5) / self.half
    }
}

impl Functions {
    /// Creates functions in units of their own standard deviations.
    ///
    /// `values` has a column for each function and a row for each row of the target. Any subset matches the mean of a function
    /// that is constant on the rows with weight, so it does not count; if all are constant, that is an error.
    pub fn new(values: &Points, weights: Option<&[f64]>) -> Result<Functions> {
        Functions::in_unit(values, weights, FunctionsUnit::Each)
    }

    /// Creates functions in these units.
    pub fn in_unit(values: &Points, weights: Option<&[f64]>, unit: FunctionsUnit) -> Result<Functions> {
        let shares = weights.map(|weights| normalised(weights, "rows", values.len())).transpose()?;
        let equal = 1.0 / values.len() as f64;
        let share = |row: usize| shares.as_ref().map_or(equal, |shares| shares[row]);
        let weighed = || values.rows().enumerate().map(|(row, x)| (x, share(row))).filter(|(_, w)| *w > 0.0);
        let dim = values.dim();
        let (mut low, mut high) = (vec![f64::INFINITY; dim], vec![f64::NEG_INFINITY; dim]);
        let mut mean = vec![0.0; dim];
        for (row, weight) in weighed() {
            for (j, &x) in row.iter().enumerate() {
                (low[j], high[j]) = (low[j].min(x), high[j].max(x));
                mean[j] += weight * x;
            }
        }
        // In units of half the range, because the square of a deviation may overflow.
        let reach: Vec<f64> = (0..dim).map(|j| high[j] * 0.5 - low[j] * 0.5).collect();
        let mut variance = vec![0.0; dim];
        for (row, weight) in weighed() {
            for (j, &x) in row.iter().enumerate() {
                let deviation = (x * 0.5 - mean[j] * 0.5) / reach[j];
                variance[j] += weight * deviation * deviation;
            }
        }
        let own = |j: usize| {
            let half = variance[j].sqrt() * reach[j];
            // The rounding of a constant is not a spread.
            let rounding = ROUNDING * high[j].abs().max(low[j].abs());
            let is_constant = !(reach[j] > rounding && half > 0.0);
            Unit { mean: mean[j], half: if is_constant { 0.0 } else { half } }
        };
        Functions::of_units((0..dim).map(own).collect(), unit)
    }

    /// Creates functions of a target whose rows are not in memory, from their moments; `None` for a constant one, with
    /// its value in `row`.
    pub(crate) fn of_moments(
        moments: &[Option<Moments>],
        row: &[f64],
        unit: FunctionsUnit,
    ) -> Result<Functions> {
        let own = |(moments, &value): (&Option<Moments>, &f64)| match moments {
            // The rounding of a constant is not a spread.
            Some(Moments { mean, sd }) if *sd > ROUNDING * mean.abs() => Unit { mean: *mean, half: 0.5 * sd },
            Some(Moments { mean, .. }) => Unit { mean: *mean, half: 0.0 },
            None => Unit { mean: value, half: 0.0 },
        };
        Functions::of_units(moments.iter().zip(row).map(own).collect(), unit)
    }

    /// Functions by their means and half of their standard deviations, 0 for a constant.
    fn of_units(mut units: Vec<Unit>, unit: FunctionsUnit) -> Result<Functions> {
        if unit == FunctionsUnit::Common {
            let largest = units.iter().map(|unit| unit.half).fold(0.0, f64::max);
            // Divided by the largest, because the square of a standard deviation may overflow.
            let squares = units.iter().map(|unit| (unit.half / largest).powi(2)).sum::<f64>();
            let common = largest * (squares / units.len() as f64).sqrt();
            if common > 0.0 {
                units.iter_mut().for_each(|unit| unit.half = common);
            }
        }
        units.iter_mut().filter(|unit| unit.half == 0.0).for_each(|unit| unit.half = f64::INFINITY);
        match units.iter().all(|unit| unit.half.is_infinite()) {
            true => Err(Error::ConstantFunction { column: 0 }),
            false => Ok(Functions { own: Arc::new(units), unit }),
        }
    }

    /// Number of functions that are not constant; in a common unit that of all functions.
    fn counted(&self) -> f64 {
        self.own.iter().filter(|unit| unit.half.is_finite()).count() as f64
    }

    /// Unit of the functions.
    pub fn unit(&self) -> FunctionsUnit {
        self.unit
    }

    /// The mean of a function over the target, and its unit.
    pub(crate) fn mean_and_unit(&self, function: usize) -> (f64, f64) {
        let Unit { mean, half } = self.own[function];
        (mean, 2.0 * half)
    }

    /// Number of functions.
    pub fn count(&self) -> usize {
        self.own.len()
    }

    /// Returns the root mean square over the functions of the error of their means over a subset, in their units.
    /// `values` are the functions of its rows; weights of any sign are divided by their sum.
    pub fn error(&self, values: &Points, weights: Option<&[f64]>) -> Result<f64> {
        values.expect_dim("the functions of the subset", "the functions", self.count())?;
        let shares = unit_weights(weights, "rows of the subset", values.len())?;
        let equal = 1.0 / values.len() as f64;
        let mut errors = vec![0.0; self.count()];
        for (row, values) in values.rows().enumerate() {
            let share = shares.as_ref().map_or(equal, |shares| shares[row]);
            let standardised = self.own.iter().zip(values).map(|(unit, &value)| unit.standardised(value));
            errors.iter_mut().zip(standardised).for_each(|(error, value)| *error += share * value);
        }
        Ok((errors.iter().map(|error| error * error).sum::<f64>() / self.counted()).sqrt())
    }

    /// The standardised functions of each row, divided by the root of their number; or the same along the few axes in which
    /// many functions vary.
    pub(crate) fn view(&self, values: &Points) -> Result<Points> {
        values.expect_dim("the functions of the pool", "the functions", self.count())?;
        let root = self.counted().sqrt();
        let standardised = |row: usize, out: &mut [f64]| {
            for (out, (unit, &value)) in out.iter_mut().zip(self.own.iter().zip(values.row(row))) {
                *out = unit.standardised(value) / root;
            }
        };
        if let Some(axes) = Axes::find(values.len(), self.count(), standardised)
            && let Some(view) = axes.view(values.len(), standardised)?
        {
            return Ok(view);
        }
        let mut view = vec![0.0; values.as_slice().len()];
        let rows = view.par_chunks_mut(self.count()).enumerate().with_min_len(64);
        rows.for_each(|(row, view)| standardised(row, view));
        Points::from_vec(view, self.count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_standardised_with_the_weights_of_the_rows() {
        let values = Points::from_rows(&[1.0, 5.0, 3.0, 5.0, 9.0, 6.0], 2).unwrap();
        // The second is constant where there is weight, and does not count.
        let (one, shares) = (Points::from_rows(&[1.0, 3.0, 9.0], 1).unwrap(), [3.0, 1.0, 0.0]);
        let (both, alone) = (Functions::new(&values, Some(&shares)), Functions::new(&one, Some(&shares)));
        let error = both.unwrap().error(&values.select(&[1]).unwrap(), None).unwrap();
        assert_eq!(error, alone.unwrap().error(&one.select(&[1]).unwrap(), None).unwrap());
        let functions = Functions::new(&values, Some(&[2.0, 1.0, 1.0])).unwrap();
        let view = functions.view(&values).unwrap();
        let mean = |j: usize, power: i32| {
            view.rows()
                .zip([0.5, 0.25, 0.25])
                .map(|(row, w)| w * (row[j] * 2f64.sqrt()).powi(power))
                .sum::<f64>()
        };
        for j in 0..2 {
            assert!(mean(j, 1).abs() < 1e-15 && (mean(j, 2) - 1.0).abs() < 1e-15, "{j}");
        }
    }

    #[test]
    fn moments_standardise_as_the_rows_do() {
        let values = Points::from_rows(&[1.0, 5.0, 3.0, 5.5, 9.0, 6.0], 2).unwrap();
        let moments: Vec<_> = (0..2).map(|j| Moments::of(values.as_slice(), 2, j, None)).collect();
        let some = values.select(&[0, 2]).unwrap();
        let of_rows = Functions::new(&values, None).unwrap().error(&some, None).unwrap();
        let (row, each) = (some.row(0), FunctionsUnit::Each);
        let of_moments = Functions::of_moments(&moments, row, each).unwrap().error(&some, None).unwrap();
        assert!((of_rows / of_moments - 1.0).abs() < 1e-14);
        let constant = Functions::of_moments(&[moments[0], None], row, each).unwrap();
        let (one, first) = (Points::from_rows(&[1.0, 3.0, 9.0], 1).unwrap(), values.select(&[0]).unwrap());
        let alone = Functions::new(&one, None).unwrap().error(&one.select(&[0]).unwrap(), None).unwrap();
        assert!((constant.error(&first, None).unwrap() / alone - 1.0).abs() < 1e-14);
        assert_eq!(
            Functions::of_moments(&[None, None], row, each).unwrap_err(),
            Error::ConstantFunction { column: 0 }
        );
    }

    #[test]
    fn a_common_unit_leaves_errors_in_proportion_and_lets_constants_pass() {
        // Standard deviations 3 and 4 in halves of the rows, and none.
        let values = Points::from_rows(&[-3.0, 14.0, 7.0, 3.0, 6.0, 7.0], 3).unwrap();
        let common = FunctionsUnit::Common;
        let functions = Functions::in_unit(&values, None, common).unwrap();
        let unit = ((9.0 + 16.0) / 3.0_f64).sqrt();
        let view = functions.view(&values).unwrap();
        for (found, expected) in view.row(0).iter().zip([-3.0, 4.0, 0.0]) {
            assert!((found * 3f64.sqrt() * unit - expected).abs() < 1e-14, "{found}");
        }
        let first = values.select(&[0]).unwrap();
        let error = functions.error(&first, None).unwrap();
        assert!((error - (25.0 / 3.0_f64).sqrt() / unit).abs() < 1e-14);
        let moments: Vec<_> = (0..3).map(|j| Moments::of(values.as_slice(), 3, j, None)).collect();
        assert!(moments[2].is_none());
        let of_moments = Functions::of_moments(&moments, values.row(1), common).unwrap();
        assert!((of_moments.error(&first, None).unwrap() / error - 1.0).abs() < 1e-14);
        let constants = Functions::in_unit(&values.select(&[1, 1]).unwrap(), None, common).unwrap_err();
        assert_eq!(constants, Error::ConstantFunction { column: 0 });
        let huge = Points::from_rows(&[1e308, -1e308, 1.0, 2.0], 2).unwrap();
        assert!(Functions::in_unit(&huge, None, common).unwrap().error(&huge, None).unwrap() < 1e-15);
    }

    #[test]
    fn huge_numbers_are_standardised_and_constants_with_an_offset_are_refused() {
        let huge = Points::from_rows(&[1e308, -1e308, 5e307], 1).unwrap();
        assert!(Functions::new(&huge, None).unwrap().error(&huge, None).unwrap() < 1e-15);
        let constant = Points::from_rows(&[0.1 + 0.2, 0.3, 0.3], 1).unwrap();
        assert_eq!(Functions::new(&constant, None).unwrap_err(), Error::ConstantFunction { column: 0 });
        // An offset leaves few digits of a spread, but these are a spread.
        for offset in [1e15, 1e9] {
            let values: Vec<f64> = (0..50).map(|i| offset + offset * 1e-15 * f64::from(i)).collect();
            let functions = Functions::new(&Points::from_vec(values, 1).unwrap(), None).unwrap();
            assert_eq!(functions.counted(), 1.0);
        }
    }

    /// Values of `count` functions of each of 400 rows: smooth ones of three parameters, or noise.
    fn many(count: usize, is_noise: bool) -> Points {
        let value = |i: usize, j: usize| {
            let (i, j) = (i as f64, j as f64 / count as f64);
            let [a, b, c] = [0.7, 1.3, 2.9].map(|rate| (i * rate).sin());
            let noise = (i * 12.9898 + j * 78233.0).sin() * 43758.5453;
            if is_noise { noise.fract() } else { (a + b * j + c * j * j).tanh() }
        };
        let values = (0..400).flat_map(|i| (0..count).map(move |j| value(i, j))).collect();
        Points::from_vec(values, count).unwrap()
    }

    #[test]
    fn many_smooth_functions_are_seen_along_few_axes_and_noise_is_not() {
        for (count, is_noise, most) in [(63, false, 63), (200, false, 40), (200, true, 200)] {
            let values = many(count, is_noise);
            let functions = Functions::new(&values, None).unwrap();
            let view = functions.view(&values).unwrap();
            assert!(view.dim() <= most && (view.dim() == count || most == 40), "{count}: {}", view.dim());
            // The error of the means of a subset, along the axes and in full.
            let rows: Vec<usize> = (0..30).map(|i| i * 7).collect();
            let full = functions.error(&values.select(&rows).unwrap(), None).unwrap();
            let mean = |j: usize| rows.iter().map(|&row| view.row(row)[j]).sum::<f64>() / 30.0;
            let along = (0..view.dim()).map(|j| mean(j).powi(2)).sum::<f64>().sqrt();
            assert!((along / full - 1.0).abs() < 1e-4, "{count}: {along} {full}");
            let norm = view.rows().flatten().map(|f| f * f).sum::<f64>() / 400.0;
            assert!((norm - 1.0).abs() < 2e-5, "{count}: {norm}");
        }
    }
}
