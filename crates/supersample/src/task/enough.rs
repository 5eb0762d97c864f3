//! Enough rows: the errors that draws have of their own, and the fewest rows that add little to them.
//!
//! Errors that have nothing to do with each other add up in squares. Rows whose errors against all draws are at most
//! √((1 + a)² − 1) of what the draws have themselves raise these by a factor of at most 1 + a: for a = 0.1 that is 0.458 of
//! each error, and 4.8 times as many equivalent draws as the draws have independent ones.

use super::diagnose::long_run;
use super::{Errors, Measure, Target};
use crate::chains::Chains;
use crate::part::{Places, Views};
use crate::scale::Moments;
use crate::{Error, Points, Result, Watch};

/// What rows are held against, measure by measure, and what they may have of each.
pub(super) struct Enough {
    /// The errors that rows may have.
    pub(super) allowed: Errors,
    /// The columns that are not constant, in standard deviations from their means.
    columns: Option<Points>,
    /// In the distribution functions of the columns.
    places: Option<Places>,
    functions: Option<Points>,
}

impl Target {
    /// What rows may add to the errors of the draws, so that these grow by the part `add` at most.
    pub(super) fn enough(&self, add: f64, watch: Watch) -> Result<Enough> {
        let problem = self.problem();
        let (rows, shares) = (problem.rows(), problem.shares());
        let found = self.with_means(|norm, means| problem.long_run(norm, means, watch));
        let (chains, _, long_run) = found.map_err(|error| match error {
            Error::NotDiagnosed { why } => Error::AutoUnknown { why },
            error => error,
        })?;
        let count = rows.len() as f64;
        let factors = shares.map(|shares| shares.iter().map(|share| share * count).collect::<Vec<f64>>());
        let own = Own { chains: &chains, factors: factors.as_deref() };
        let columns = standardised(rows, shares)?;
        let places = Places::among(rows, shares, None).map(|placed| placed.places);
        let views = places.clone().map(|places| Views::Places(places).points()).transpose()?;
        let functions =
            problem.functions().map(|(functions, values, _)| functions.view(values)).transpose()?;
        let allowed = Errors::default()
            .with(Measure::Mmd, (long_run / count).sqrt())
            .with(Measure::Mean, columns.as_ref().map(|columns| own.of_products(columns, |z| z)))
            .with(
                Measure::Sd,
                columns.as_ref().map(|columns| own.of_products(columns, |z| (z * z - 1.0) / 2.0)),
            )
            .with(Measure::Cdf, views.as_ref().map(|view| own.of_marginals(view)))
            // Views are divided by the root of their number.
            .with(
                Measure::FunctionsError,
                functions.as_ref().map(|view| own.of_products(view, |f| f) * root(view)),
            );
        let part = ((1.0 + add).powi(2) - 1.0).sqrt();
        let allowed = Measure::ALL.into_iter().fold(Errors::default(), |errors, measure| {
            errors.with(measure, allowed.get(measure).map(|own| part * own))
        });
        Ok(Enough { allowed, columns, places, functions })
    }
}

fn root(view: &Points) -> f64 {
    (view.dim() as f64).sqrt()
}

impl Enough {
    /// Whether these rows, with equal weights, add no more than is allowed to anything but the joint distribution.
    pub(super) fn holds(&self, rows: &[usize]) -> bool {
        let is_allowed =
            |measure: Measure, error: f64| self.allowed.get(measure).is_none_or(|most| error <= most);
        let count = rows.len() as f64;
        if let Some(columns) = &self.columns {
            let (mut means, mut sds) = (0.0, 0.0);
            for j in 0..columns.dim() {
                let mean = rows.iter().map(|&row| columns.row(row)[j]).sum::<f64>() / count;
                let square =
                    rows.iter().map(|&row| (columns.row(row)[j] - mean).powi(2)).sum::<f64>() / count;
                means += mean * mean;
                sds += (square.sqrt() - 1.0).powi(2);
            }
            let rms = |sum: f64| (sum / columns.dim() as f64).sqrt();
            if !is_allowed(Measure::Mean, rms(means)) || !is_allowed(Measure::Sd, rms(sds)) {
                return false;
            }
        }
        if let Some(places) = &self.places {
            let equal = vec![1.0 / count; rows.len()];
            if !is_allowed(Measure::Cdf, places.squared_distance(rows, &equal).sqrt()) {
                return false;
            }
        }
        self.functions.as_ref().is_none_or(|view| {
            let mean = |j: usize| rows.iter().map(|&row| view.row(row)[j]).sum::<f64>() / count;
            is_allowed(Measure::FunctionsError, (0..view.dim()).map(|j| mean(j).powi(2)).sum::<f64>().sqrt())
        })
    }
}

/// The errors that draws have of their own, as expected root mean squares.
struct Own<'a> {
    chains: &'a Chains,
    /// The weight of each row over the mean weight.
    factors: Option<&'a [f64]>,
}

impl Own<'_> {
    /// Of the means of functions of the numbers in each column, root mean square over the columns.
    fn of_products(&self, columns: &Points, of: impl Fn(f64) -> f64 + Sync) -> f64 {
        let product = |a: usize, b: usize| -> f64 {
            let pairs = columns.row(a).iter().zip(columns.row(b));
            pairs.map(|(x, y)| of(*x) * of(*y)).sum::<f64>() / columns.dim() as f64
        };
        self.of(product)
    }

    /// Of the distribution functions, root mean square over the columns: c(u, v) = 1/3 + (u² + v²)/2 − max(u, v).
    fn of_marginals(&self, view: &Points) -> f64 {
        let c = |a: usize, b: usize| -> f64 {
            let pairs = view.row(a).iter().zip(view.row(b));
            let of = |(u, v): (&f64, &f64)| 1.0 / 3.0 + (u * u + v * v) / 2.0 - u.max(*v);
            pairs.map(of).sum::<f64>() / view.dim() as f64
        };
        self.of(c)
    }

    fn of(&self, pair: impl Fn(usize, usize) -> f64 + Sync) -> f64 {
        let factor = |row: usize| self.factors.map_or(1.0, |factors| factors[row]);
        let weighed = |a: usize, b: usize| factor(a) * factor(b) * pair(a, b);
        let count = self.chains.draws() as f64;
        let variance = self.chains.iter().flatten().map(|&row| weighed(row, row)).sum::<f64>() / count;
        (long_run(self.chains, variance, weighed, true) / count).sqrt()
    }
}

/// The columns that are not constant, in standard deviations from their means.
fn standardised(rows: &Points, shares: Option<&[f64]>) -> Result<Option<Points>> {
    let moments: Vec<(usize, Moments)> = (0..rows.dim())
        .filter_map(|j| Some((j, Moments::of(rows.as_slice(), rows.dim(), j, shares)?)))
        .collect();
    if moments.is_empty() {
        return Ok(None);
    }
    let of_row = |row: &[f64]| -> Vec<f64> {
        // Halved first, so that the difference of two huge numbers of opposite sign stays finite.
        moments.iter().map(|(j, Moments { mean, sd })| (row[*j] * 0.5 - mean * 0.5) / sd * 2.0).collect()
    };
    let values = rows.rows().flat_map(of_row).collect();
    Ok(Some(Points::from_vec(values, moments.len())?))
}
