//! Errors of a subset: one number for each measure. Tables, JSON, the HTML page and Python loop over `Measure::ALL`.

use crate::quality::Quality;

/// Kind of error of a subset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Measure {
    /// Maximum mean discrepancy: the distance from the target under the kernel.
    Mmd,
    /// Number of independent draws with the same expected squared MMD; a bound if the MMD is rounding.
    EquivalentDraws,
    /// How many independent draws of what the rows were drawn from are as accurate: the number above, with the error that the
    /// rows have themselves ([`Diagnosis`](super::Diagnosis)).
    PosteriorDraws,
    /// The distance between the distribution functions of the columns, root mean square over the columns; about 0.408/√T
    /// for T independent draws of columns without ties, and less with ties.
    Cdf,
    /// The error of the means, root mean square over the columns, in standard deviations of all rows, as are the following.
    Mean,
    /// The error of the standard deviations.
    Sd,
    /// The error of the quantiles.
    Quantile,
    /// The error of the correlations, root mean square over the pairs of columns.
    Correlation,
    /// The error of the means of the functions of interest, root mean square, in their units.
    FunctionsError,
}

impl Measure {
    /// All of them, in the order of tables.
    pub const ALL: [Measure; 9] = [
        Measure::Mmd,
        Measure::EquivalentDraws,
        Measure::PosteriorDraws,
        Measure::Cdf,
        Measure::Mean,
        Measure::Sd,
        Measure::Quantile,
        Measure::Correlation,
        Measure::FunctionsError,
    ];

    /// Whether it is of the rows as a whole, and not of their columns or functions.
    pub fn is_of_all(self) -> bool {
        matches!(self, Measure::Mmd | Measure::EquivalentDraws | Measure::PosteriorDraws)
    }

    /// The word for it in JSON and Python.
    pub fn key(self) -> &'static str {
        match self {
            Measure::Mmd => "mmd",
            Measure::EquivalentDraws => "equivalent_draws",
            Measure::PosteriorDraws => "posterior_draws",
            Measure::Cdf => "cdf",
            Measure::FunctionsError => "functions_error",
            Measure::Mean => "mean",
            Measure::Sd => "sd",
            Measure::Quantile => "quantile",
            Measure::Correlation => "correlation",
        }
    }
}

/// Errors of one subset; each is `None` if it is not known or not defined.
///
/// ```
/// use supersample::task::{Errors, Measure};
/// let errors = Errors::default().with(Measure::Mmd, 0.1).with(Measure::Cdf, None);
/// assert_eq!((errors.get(Measure::Mmd), errors.get(Measure::Cdf)), (Some(0.1), None));
/// assert_eq!(errors.iter().count(), Measure::ALL.len());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Errors {
    values: [Option<f64>; Measure::ALL.len()],
}

impl Errors {
    /// Returns the error of one measure.
    pub fn get(&self, measure: Measure) -> Option<f64> {
        self.values[measure as usize]
    }

    /// Returns the errors with this one set.
    pub fn with(mut self, measure: Measure, value: impl Into<Option<f64>>) -> Errors {
        self.values[measure as usize] = value.into();
        self
    }

    /// Iterator over each measure and its error, in the order of tables.
    pub fn iter(&self) -> impl Iterator<Item = (Measure, Option<f64>)> + '_ {
        Measure::ALL.into_iter().zip(self.values)
    }

    /// Returns the errors with those of a [`Quality`]: means, standard deviations, quantiles, correlations.
    pub fn with_quality(self, quality: &Quality) -> Errors {
        self.with(Measure::Mean, quality.mean_rms())
            .with(Measure::Sd, quality.sd_rms())
            .with(Measure::Quantile, quality.quantile_rms())
            .with(Measure::Correlation, quality.correlation_rms)
    }

    /// Returns the mean of each error over the subsets that have it.
    pub fn mean_of(all: &[Errors]) -> Errors {
        let mean = |measure: Measure| {
            let known: Vec<f64> = all.iter().filter_map(|errors| errors.get(measure)).collect();
            (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
        };
        Errors { values: Measure::ALL.map(mean) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_are_at_their_places() {
        for (place, measure) in Measure::ALL.into_iter().enumerate() {
            assert_eq!(measure as usize, place);
        }
        let some = Errors::default().with(Measure::Sd, 2.0);
        let mean = Errors::mean_of(&[some, some.with(Measure::Sd, 4.0), Errors::default()]);
        assert_eq!((mean.get(Measure::Sd), mean.get(Measure::Mean)), (Some(3.0), None));
    }
}
