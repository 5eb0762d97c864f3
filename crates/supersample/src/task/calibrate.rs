//! Calibrated weights: positive ones, as near to equal as possible, under which named means are exactly those of the target.
//!
//! Of all weights with these means they have the least Kullback–Leibler divergence from equal ones (`weights/balance.rs`).

use super::{Advice, Chosen, Ended, Number, Subset, Target};
use crate::scale::Moments;
use crate::weights::balance::{Columns, balance, products};
use crate::weights::{OptimalWeights, WeightRule, optimal};
use crate::{Empirical, Error, Kernel, Points, Result, Watch};

/// The means that calibrated weights meet: all columns and functions, unless some are named. Where published numbers are the
/// target, these and all functions.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Calibrate {
    /// Columns, from 0.
    pub columns: Option<Vec<usize>>,
    /// Functions of interest, from 0.
    pub functions: Option<Vec<usize>>,
}

impl Calibrate {
    /// Creates a list of these columns and functions alone.
    pub fn only(columns: Vec<usize>, functions: Vec<usize>) -> Calibrate {
        Calibrate { columns: Some(columns), functions: Some(functions) }
    }
}

/// A column or a function whose mean is met.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum CalibratedMean {
    /// A column, from 0.
    Column(usize),
    /// A function of interest, from 0.
    Function(usize),
    /// A published number.
    Published(Number),
}

/// One mean that is met: its values at the chosen rows, and its mean and unit in the target.
struct Met {
    mean: CalibratedMean,
    values: Vec<f64>,
    wanted: f64,
    unit: f64,
}

impl Target {
    /// Refuses, before anything is chosen, means that do not exist and those that no rows can have.
    pub(super) fn check_calibrated(&self, asked: &Calibrate) -> Result<()> {
        let problem = self.problem();
        let (numbers, closed) = (problem.numbers(), problem.without_weight());
        let is_open = |place: &usize| closed.binary_search(place).is_err();
        let open = (0..problem.rows().len()).filter(is_open).map(|place| numbers.number(place));
        self.means_to_meet(&open.collect::<Vec<_>>(), asked)?.iter().try_for_each(|met| met.check_range(true))
    }

    /// Adds calibrated weights to a choice, or equal ones with advice where the chosen rows cannot have the means.
    pub(super) fn calibrated(&self, mut chosen: Chosen, asked: &Calibrate, watch: Watch) -> Result<Chosen> {
        match self.calibrate(&chosen.rows, asked, watch) {
            Err(Error::Interrupted) => chosen.ended = Ended::Interrupted,
            // What took the time is not lost.
            Err(reason @ Error::NotCalibrated { .. }) => chosen.advice.push(Advice::NotWeighed { reason }),
            found => chosen.weights = Some(found?),
        }
        Ok(chosen)
    }

    /// Computes calibrated weights of rows, which sum to one.
    ///
    /// ```
    /// use supersample::task::{Calibrate, Choose, Problem};
    /// use supersample::{Points, unwatched};
    /// let rows: Vec<f64> = (0..600).map(|i| (i as f64 * 0.7).sin()).collect();
    /// let points = Points::from_rows(&rows, 2)?;
    /// let mean = |j: usize| points.rows().map(|row| row[j]).sum::<f64>() / 300.0;
    /// let target = Problem::new(points.clone(), Choose::thin(20)?)?.prepare(&unwatched)?;
    /// let chosen = target.choose(&unwatched)?.rows;
    /// let found = target.calibrate(&chosen, &Calibrate::default(), &unwatched)?;
    /// for j in 0..2 {
    ///     let weighted = chosen.iter().zip(&found.weights).map(|(&row, w)| w * points.row(row)[j]);
    ///     assert!((weighted.sum::<f64>() - mean(j)).abs() < 1e-9);
    /// }
    /// # Ok::<(), supersample::Error>(())
    /// ```
    pub fn calibrate(&self, rows: &[usize], asked: &Calibrate, watch: Watch) -> Result<OptimalWeights> {
        let all = self.means_to_meet(rows, asked)?;
        // Standardised, so that no unit decides when the means are met.
        let feature = |met: &Met, row: usize| (met.values[row] * 0.5 - met.wanted * 0.5) / met.unit * 2.0;
        let fill = |row: usize, out: &mut [f64]| {
            out.iter_mut().zip(&all).for_each(|(out, met)| *out = feature(met, row));
        };
        let features = Columns { rows: rows.len(), count: all.len(), fill: &fill };
        let equal = 1.0 / rows.len() as f64;
        for met in &all {
            met.check_range(false)?;
        }
        let weights = match all.is_empty() {
            true => vec![equal; rows.len()],
            false => {
                let squares = products(features, 0..rows.len(), &|_| equal, watch)?;
                match balance(features, &|_| equal, &squares, all.len(), watch)? {
                    Some(found) => found.shares,
                    None => return Err(nearest(&all, feature, rows.len(), watch)?),
                }
            }
        };
        let mmd = |weights: Option<&[f64]>| self.mmd(&Subset::of_rows(rows).weights(weights), watch);
        let error = mmd(Some(&weights))?;
        Ok(OptimalWeights {
            weights,
            error: Some(error),
            squared_error: Some(error * error),
            equal_error: Some(mmd(None)?),
            jitter: 0.0,
            optimal: true,
        })
    }

    fn means_to_meet(&self, rows: &[usize], asked: &Calibrate) -> Result<Vec<Met>> {
        let (problem, places) = (self.problem(), self.places(rows)?);
        let (aimed, shares) = problem.target_rows();
        let dim = if problem.is_gram() { 0 } else { aimed.dim() };
        let published = problem.matched.fitted.as_ref().filter(|_| asked.columns.is_none());
        let all_columns = || if published.is_some() { Vec::new() } else { (0..dim).collect() };
        let columns = asked.columns.clone().unwrap_or_else(all_columns);
        let mut all = Vec::new();
        if let Some(fitted) = published {
            let to_meet = fitted.to_meet(&problem.rows().select(&places)?);
            all.extend(to_meet.into_iter().map(|(number, values, unit)| Met {
                mean: CalibratedMean::Published(number),
                values,
                wanted: 0.0,
                unit,
            }));
        }
        for j in columns {
            if j >= dim {
                return Err(Error::NoColumn { column: j, columns: dim });
            }
            let Moments { mean: wanted, sd: unit } = Moments::of(aimed.as_slice(), aimed.dim(), j, shares)
                .unwrap_or_else(|| {
                    let first = (0..aimed.len()).find(|&row| shares.is_none_or(|shares| shares[row] > 0.0));
                    Moments { mean: aimed.row(first.unwrap_or(0))[j], sd: 1.0 }
                });
            let values = places.iter().map(|&place| problem.rows().row(place)[j]).collect();
            all.push(Met { mean: CalibratedMean::Column(j), values, wanted, unit });
        }
        let Some((functions, of_rows, _)) = problem.functions() else {
            return match asked.functions.as_deref() {
                None | Some([]) => Ok(all),
                Some(_) => Err(Error::NoFunctions),
            };
        };
        for f in asked.functions.clone().unwrap_or_else(|| (0..functions.count()).collect()) {
            if f >= functions.count() {
                return Err(Error::NoColumn { column: f, columns: functions.count() });
            }
            let (wanted, unit) = functions.mean_and_unit(f);
            let values = places.iter().map(|&place| of_rows.row(place)[f]).collect();
            all.push(Met { mean: CalibratedMean::Function(f), values, wanted, unit });
        }
        Ok(all)
    }
}

impl Met {
    fn range(&self) -> (f64, f64) {
        let least = self.values.iter().copied().fold(f64::INFINITY, f64::min);
        (least, self.values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    }

    /// Refuses a mean that no weights of these values have, which are those of all rows or of the chosen ones.
    fn check_range(&self, of_all: bool) -> Result<()> {
        let (low, high) = self.range();
        if (low < self.wanted && self.wanted < high) || (low == high && low == self.wanted) {
            return Ok(());
        }
        let (wanted, nearest) = (self.wanted, self.wanted.clamp(low, high));
        Err(Error::NotCalibrated { mean: self.mean, wanted, nearest, range: (low, high), of_all })
    }
}

/// Why no weights meet all means at once: the mean that the nearest weights miss most. They are those under which the
/// standardised features have the smallest mean: the weights on the simplex that match the origin by the linear kernel.
fn nearest(all: &[Met], feature: impl Fn(&Met, usize) -> f64, rows: usize, watch: Watch) -> Result<Error> {
    let values = (0..rows).flat_map(|row| all.iter().map(move |met| (met, row)));
    let points = Points::from_vec(values.map(|(met, row)| feature(met, row)).collect(), all.len())?;
    let origin = Empirical::new(Kernel::linear(), Points::from_vec(vec![0.0; all.len()], all.len())?)?;
    let weights = optimal(&origin, &points, WeightRule::Simplex, watch)?.weights;
    let reached = |met: &Met| met.values.iter().zip(&weights).map(|(value, w)| value * w).sum::<f64>();
    let miss = |met: &Met| ((reached(met) - met.wanted) / met.unit).abs();
    let worst = all.iter().max_by(|a, b| miss(a).total_cmp(&miss(b))).expect("there are some");
    let (mean, wanted, nearest) = (worst.mean, worst.wanted, reached(worst));
    Ok(Error::NotCalibrated { mean, wanted, nearest, range: worst.range(), of_all: false })
}
