//! Report of a run, as data: what it was about, how it went, how good the result is. It computes only equivalent draws;
//! the text, the JSON and the page are pure functions of it.

mod details;
mod each;
mod errors;
mod figures;
mod html;
mod info;
mod json;
mod objective;
mod summary;
mod table;
mod text;

use supersample::quality::{QUANTILES, Quality};
use supersample::scale::Scale;
use supersample::task::{Comparison, Corrected, Diagnosis, ErrorScale, Errors, Measure};
use supersample::{Kernel, Precision};

pub(crate) use self::details::{Balanced, Details, Polishing, Refinement, Weighing};
pub(crate) use self::each::{EachGroup, EachReport};
pub(crate) use self::errors::Worst;
pub(crate) use self::figures::{ChainShare, Curve, Figures, Rows};
pub(crate) use self::info::{ColumnInfo, Info, Work};
pub(crate) use self::objective::{ObjectiveTerms, ObjectiveWeights};
pub(crate) use self::summary::{ComparedColumn, Summary};
use crate::plan::{Ended, Stop};

/// Report of a run.
#[derive(Clone, Debug)]
pub(crate) struct Report<'a> {
    pub(crate) about: About,
    pub(crate) run: Run,
    pub(crate) distances: Distances,
    pub(crate) terms: ObjectiveTerms,
    pub(crate) result: Measured,
    /// How accurate the draws themselves are; `None` where that is not known.
    pub(crate) draws: Option<Diagnosis>,
    /// `None` where there are too few rows for another subset.
    pub(crate) comparison: Option<Comparison>,
    pub(crate) details: Details,
    /// What the page draws; `None` for points of a mixture.
    pub(crate) figures: Option<Figures<'a>>,
    /// What was assumed about the files, and what an output does not hold.
    pub(crate) notes: Vec<String>,
    pub(crate) warnings: Vec<String>,
}

/// What a report is about.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Subject {
    /// Rows chosen by `herd`.
    Herded,
    /// Rows chosen by `thin`.
    Thinned,
    /// The rows given to `eval`.
    Subset {
        file: String,
        /// Whether the file has their numbers and not the rows themselves.
        is_by_number: bool,
        /// The column of that file that they are weighted by.
        weight_column: Option<String>,
    },
    /// Points placed by `sample` for a mixture.
    Placed { components: usize },
}

/// The subject and what it was chosen from.
#[derive(Clone, Debug)]
pub(crate) struct About {
    pub(crate) subject: Subject,
    pub(crate) files: Vec<String>,
    /// How many rows the files have; `None` for a mixture.
    pub(crate) rows: Option<usize>,
    /// The rows that stand in memory for those of the files, where these come in batches.
    pub(crate) sample: Option<Sample>,
    /// Warm-up rows that were left out.
    pub(crate) warmup: usize,
    /// Rows that were left out as the mean of an approximation, and for a missing value.
    pub(crate) mean_rows: usize,
    pub(crate) missing: usize,
    pub(crate) parameters: Vec<String>,
    pub(crate) unused: Vec<String>,
    /// The column the weights of the rows came from.
    pub(crate) weight_column: Option<String>,
    /// The effective sample size of weighted rows; `None` without weights.
    pub(crate) effective_size: Option<f64>,
    /// How the rows were corrected by their scores.
    pub(crate) corrected: Option<Corrected>,
    /// The rows that are matched, where they are others than those that were chosen from.
    pub(crate) target: Option<TargetReport>,
    /// The file of published numbers that are matched.
    pub(crate) summary: Option<String>,
    /// Where the scores came from, and what their kernel is preconditioned by.
    pub(crate) scores: Option<serde_json::Value>,
}

/// A random sample of the rows, which quantiles, correlations and distribution functions are relative to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) rows: usize,
    /// Its own errors of quantiles and correlations.
    pub(crate) errors: Errors,
}

/// Rows that are matched in place of those that were chosen from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TargetReport {
    pub(crate) file: String,
    pub(crate) rows: usize,
    pub(crate) weight_column: Option<String>,
}

impl About {
    /// How many rows are matched; `None` for a mixture.
    fn rows_matched(&self) -> Option<usize> {
        self.target.as_ref().map(|target| target.rows).or(self.rows)
    }
}

/// The run: the command, what it was asked for and how it ended.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) version: String,
    /// The command as typed, word by word.
    pub(crate) command: Vec<String>,
    /// The day it was run, as in `2010-07-08`.
    pub(crate) date: String,
    pub(crate) stop: Stop,
    /// `None` if nothing was chosen.
    pub(crate) ended: Option<Ended>,
}

/// How distances between rows or points were taken.
#[derive(Clone, Debug)]
pub(crate) struct Distances {
    pub(crate) kernel: Kernel,
    /// Over how many pairs the bandwidth is the median distance; `None` if it was given.
    pub(crate) median_pairs: Option<usize>,
    pub(crate) scale: Scale,
    /// Of the kernel values: what was used, not what was asked for.
    pub(crate) precision: Precision,
    /// What the kernel sums run on.
    pub(crate) instruction_set: &'static str,
    /// cpu, or the name of the GPU that long sums ran on.
    pub(crate) device: String,
    /// Number of coordinates.
    pub(crate) coordinates: usize,
    /// The parameters that could not be scaled.
    pub(crate) constant: Vec<usize>,
    /// Landmarks that approximated the mean embedding; `None` if all pairs were compared.
    pub(crate) landmarks: Option<LandmarkReport>,
}

/// Landmarks that the mean embedding was projected on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LandmarkReport {
    pub(crate) count: usize,
    /// Part of the mean embedding that they miss.
    pub(crate) residual: Option<f64>,
    /// How many rows, drawn at random, were chosen from; `None` if all could be chosen.
    pub(crate) pool_rows: Option<usize>,
}

/// The result and its errors.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) count: usize,
    /// Different rows, and different points: rows of a chain that stood still are different and the same point.
    pub(crate) distinct: usize,
    pub(crate) distinct_points: usize,
    /// The row numbers in the order of choice; `None` if no rows were chosen.
    pub(crate) rows: Option<Vec<usize>>,
    /// The errors, with weights where the rows were given any.
    pub(crate) errors: Errors,
    /// What errors are measured against.
    pub(crate) scale: ErrorScale,
    /// The errors parameter by parameter; `None` for points of a mixture.
    pub(crate) quality: Option<Quality>,
}

impl Measured {
    /// The MMD.
    pub(crate) fn mmd(&self) -> Option<f64> {
        self.errors.get(Measure::Mmd)
    }
}

impl Subject {
    /// The verb of the command.
    fn verb(&self) -> &'static str {
        match self {
            Subject::Herded => "herd",
            Subject::Thinned => "thin",
            Subject::Subset { .. } => "eval",
            Subject::Placed { .. } => "sample",
        }
    }

    /// Noun of the result.
    fn noun(&self) -> &'static str {
        if matches!(self, Subject::Placed { .. }) { "point" } else { "row" }
    }
}

impl Report<'_> {
    /// Whether an error was asked for and not reached.
    pub(crate) fn missed_its_goal(&self) -> bool {
        let Run { stop, ended, .. } = &self.run;
        ended.is_some_and(|ended| stop.is_missed(ended, self.equal_error(), &self.result.scale))
    }

    /// The MMD with equal weights, which is what stop rules are about.
    fn equal_error(&self) -> Option<f64> {
        let errors = self.details.weighing.as_ref().map_or(&self.result.errors, |weighing| &weighing.equal);
        errors.get(Measure::Mmd)
    }

    /// Whether the result has more equivalent draws than the file has rows: then they are about the file alone.
    fn exceeds_the_file(&self) -> bool {
        let draws = self.result.errors.get(Measure::EquivalentDraws);
        let rows = self.about.rows_matched().map(|rows| rows as f64);
        let most = self.about.effective_size.or(rows);
        draws.zip(most).is_some_and(|(draws, most)| draws > most)
    }

    /// The largest errors of their kinds, as far as they are known; none for points of a mixture.
    fn worst(&self) -> Vec<(Measure, Option<Worst<'_>>)> {
        let Some(quality) = &self.result.quality else { return Vec::new() };
        let of = |error: f64, columns: &[usize], level: Option<f64>| {
            let parameters = columns.iter().map(|&column| self.about.parameters[column].as_str()).collect();
            Worst { error, parameters, level }
        };
        let quantile = |(error, column, q): (f64, usize, usize)| of(error, &[column], Some(QUANTILES[q]));
        vec![
            (Measure::Mean, quality.worst_mean().map(|(error, column)| of(error, &[column], None))),
            (Measure::Sd, quality.worst_sd().map(|(error, column)| of(error, &[column], None))),
            (Measure::Quantile, quality.worst_quantile().map(quantile)),
            (Measure::Correlation, quality.correlation_worst.map(|(error, a, b)| of(error, &[a, b], None))),
        ]
    }
}

#[cfg(test)]
mod tests;
