//! Errors of a subset, computed once and iterated by every table.

use crate::quality::Quality;

/// What is measured of a subset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Measure {
    /// The MMD: the distance from the target as the kernel sees it.
    Mmd,
    /// How many independent draws have the same expected squared MMD; a bound where the MMD is rounding.
    EquivalentDraws,
    /// The distance between the distribution functions of the columns, root mean square over the columns; about 0.408/√T
    /// for T independent draws.
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
    pub const ALL: [Measure; 8] = [
        Measure::Mmd,
        Measure::EquivalentDraws,
        Measure::Cdf,
        Measure::Mean,
        Measure::Sd,
        Measure::Quantile,
        Measure::Correlation,
        Measure::FunctionsError,
    ];

    /// The word for it in JSON and Python.
    pub fn key(self) -> &'static str {
        match self {
            Measure::Mmd => "mmd",
            Measure::EquivalentDraws => "equivalent_draws",
            Measure::Cdf => "cdf",
            Measure::FunctionsError => "functions_error",
            Measure::Mean => "mean",
            Measure::Sd => "sd",
            Measure::Quantile => "quantile",
            Measure::Correlation => "correlation",
        }
    }
}

/// The errors of one subset; each `None` where it is not known or has no meaning.
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
    /// One of them.
    pub fn get(&self, measure: Measure) -> Option<f64> {
        self.values[measure as usize]
    }

    /// The errors with this one.
    pub fn with(mut self, measure: Measure, value: impl Into<Option<f64>>) -> Errors {
        self.values[measure as usize] = value.into();
        self
    }

    /// Each measure with its error, in the order of tables.
    pub fn iter(&self) -> impl Iterator<Item = (Measure, Option<f64>)> + '_ {
        Measure::ALL.into_iter().zip(self.values)
    }

    /// The errors with those that a quality knows: means, standard deviations, quantiles, correlations.
    pub fn with_quality(self, quality: &Quality) -> Errors {
        self.with(Measure::Mean, quality.mean_rms())
            .with(Measure::Sd, quality.sd_rms())
            .with(Measure::Quantile, quality.quantile_rms())
            .with(Measure::Correlation, quality.correlation_rms)
    }

    /// The means over several subsets, each over those that have the error.
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
