//! The summary of a run: what it was about, how it ended, how good the result is. It computes nothing but worths.

mod table;
mod text;

use supersample::quality::{ColumnErrors, QUANTILES, Quality};
use supersample::scale::Scale;
use supersample::{Kernel, Precision};

use crate::balance::Balanced;
use crate::choose::{Ended, Stop};
use crate::compare::{Comparison, TypicalErrors};
use crate::weighing::Weighing;

pub(crate) use self::text::counted;

/// What a report is about.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Subject {
    /// Rows chosen by `herd` or `thin`.
    Chosen,
    /// The rows given to `eval`.
    Subset {
        file: String,
        /// Whether the file has their numbers and not the rows themselves.
        is_by_number: bool,
        /// The column of that file that they are weighted by.
        weight_column: Option<String>,
    },
    /// Points placed by `sample` for a mixture of so many components.
    Placed { components: usize },
}

/// All there is to say about a run.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    pub(crate) subject: Subject,
    pub(crate) verb: &'static str,
    /// The command as it was typed, word by word.
    pub(crate) command: Vec<String>,
    pub(crate) files: Vec<String>,
    /// How many rows the files have; 0 for a mixture.
    pub(crate) rows: usize,
    /// Warm-up rows that were left out.
    pub(crate) warmup: usize,
    pub(crate) stop: Stop,
    /// `None` where nothing was chosen.
    pub(crate) ended: Option<Ended>,
    pub(crate) chosen: usize,
    pub(crate) distinct: usize,
    pub(crate) parameters: Vec<String>,
    pub(crate) unused: Vec<String>,
    /// The column the weights of the rows came from.
    pub(crate) weight_column: Option<String>,
    pub(crate) kernel: Kernel,
    pub(crate) bandwidth_is_median: bool,
    pub(crate) scale: Scale,
    /// The precision of the kernel values that was used.
    pub(crate) precision: &'static str,
    /// How many coordinates distances are taken in.
    pub(crate) coordinates: usize,
    /// The parameters that could not be scaled.
    pub(crate) constant: Vec<usize>,
    /// The MMD, with weights where the rows were given any.
    pub(crate) error: Option<f64>,
    /// Errors below this are rounding noise.
    pub(crate) error_floor: f64,
    /// The expected squared error of a single iid draw, E k(x, x) − ‖μ‖², where it is known.
    pub(crate) single_draw: Option<f64>,
    /// `None` where there are too few rows for another subset.
    pub(crate) comparison: Option<Comparison>,
    /// The errors parameter by parameter; `None` for points of a mixture.
    pub(crate) quality: Option<Quality>,
    /// The weights that were found for the result; `None` for equal ones.
    pub(crate) weighing: Option<Weighing>,
    /// What else was asked of the rows.
    pub(crate) balanced: Option<Balanced>,
    pub(crate) polished: Option<Polish>,
    pub(crate) warnings: Vec<String>,
}

/// What the joint descent of all points has done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Polish {
    /// The MMD before it.
    pub(crate) start_error: Option<f64>,
    pub(crate) steps: usize,
    pub(crate) converged: bool,
}

/// An error that is the largest of its kind, and whose it is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Worst<'a> {
    /// Subset minus all rows.
    pub(crate) error: f64,
    /// One parameter, or the two of a correlation.
    pub(crate) parameters: Vec<&'a str>,
    /// Of a quantile.
    pub(crate) level: Option<f64>,
}

impl Report {
    /// Whether an error was asked for and not reached.
    pub(crate) fn missed_its_goal(&self) -> bool {
        let reached = match self.ended {
            Some(Ended::Tolerance | Ended::Worth) | None => true,
            // A set can be good enough before it is as small as it could be.
            Some(Ended::Interrupted) => self.stop.met_by(self.equal_error(), self.single_draw).is_some(),
            Some(Ended::Number | Ended::Exhausted) => false,
        };
        self.stop.has_goal() && !reached
    }

    /// The MMD with equal weights, which is what stop rules are about.
    pub(crate) fn equal_error(&self) -> Option<f64> {
        self.weighing.as_ref().map_or(self.error, |weighing| weighing.equal_error)
    }

    pub(crate) fn is_noise(&self, error: f64) -> bool {
        error <= self.error_floor
    }

    /// The worth of an error, a bound where it is rounding noise.
    pub(crate) fn worth_of(&self, error: f64) -> Option<f64> {
        let single_draw = self.single_draw?;
        let noise = self.is_noise(error);
        let worth = single_draw / error.max(self.error_floor).powi(2);
        // Even the floor being worth less than one draw means that the spread of the rows is itself rounding.
        (worth.is_finite() && !(noise && worth < 1.0)).then_some(worth)
    }

    /// The errors as the table has them.
    pub(crate) fn typical(&self) -> TypicalErrors {
        self.quality.as_ref().map(TypicalErrors::of).unwrap_or_default()
    }

    pub(crate) fn worst_mean(&self) -> Option<Worst<'_>> {
        let (error, column) = self.quality.as_ref()?.worst_mean()?;
        Some(Worst { error, parameters: vec![&self.parameters[column]], level: None })
    }

    pub(crate) fn worst_sd(&self) -> Option<Worst<'_>> {
        let (error, column) = self.quality.as_ref()?.worst_sd()?;
        Some(Worst { error, parameters: vec![&self.parameters[column]], level: None })
    }

    pub(crate) fn worst_quantile(&self) -> Option<Worst<'_>> {
        let (error, column, which) = self.quality.as_ref()?.worst_quantile()?;
        Some(Worst { error, parameters: vec![&self.parameters[column]], level: Some(QUANTILES[which]) })
    }

    pub(crate) fn worst_correlation(&self) -> Option<Worst<'_>> {
        let (error, a, b) = self.quality.as_ref()?.correlation_worst?;
        Some(Worst { error, parameters: vec![&self.parameters[a], &self.parameters[b]], level: None })
    }
}

/// The largest error of a parameter, by which parameters are ranked; `None` for a constant one.
pub(crate) fn largest(errors: &ColumnErrors) -> Option<f64> {
    let all = errors.quantiles.into_iter().chain([errors.mean, errors.sd]).flatten();
    all.map(f64::abs).reduce(f64::max)
}

/// The word for a precision.
pub(crate) fn precision_name(precision: Precision) -> &'static str {
    match precision {
        Precision::Double => "double",
        _ => "mixed",
    }
}

#[cfg(test)]
pub(crate) mod tests;
