//! Table of a report: the MMD of the result, its worth and its typical errors, beside those of other rows.

use super::text::ROUNDING;
use super::{Landmarks, Report, Subject, TypicalErrors, Weighing};
use crate::words::{count, counted, ordinal, significant, with_error, with_spread};

/// The cells of a table, the head first, and what to know about them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Table {
    pub(super) lines: Vec<Vec<String>>,
    pub(super) note: String,
}

const HEAD: [&str; 9] = ["", "MMD", "worth", "cdf", "mean", "sd", "quantile", "correlation", "functions"];
/// Where the errors in sds begin in it.
const IN_SDS: usize = 4;

/// The lines of a table with its columns below each other.
pub(super) fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let padded = |line: &Vec<String>| {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}   "));
        cells.collect::<String>().trim_end().to_string()
    };
    lines.iter().map(padded).collect::<Vec<_>>().join("\n")
}

impl Report<'_> {
    /// `None` where the MMD is not known.
    pub(super) fn table(&self) -> Option<Table> {
        let error = self.result.error?;
        let mut lines: Vec<[String; HEAD.len()]> = vec![HEAD.map(str::to_string)];
        lines[0][1] = self.error_name().to_string();
        lines.push(self.line(self.these(), self.estimated(error), self.worth(error), self.typical()));
        if let Some(Weighing { equal_error: Some(error), equal_errors, .. }) = &self.details.weighing {
            let label = "with equal weights".to_string();
            lines.push(self.line(label, self.estimated(*error), self.worth(*error), *equal_errors));
        }
        let mut notes = vec![self.what_worth_is()];
        if let Some(Landmarks { count: landmarks, .. }) = self.distances.landmarks {
            notes.insert(0, format!("MMD: ± its standard error ({})", counted(landmarks, "landmark")));
        }
        if let Some(comparison) = &self.comparison {
            let (random_mean, random_draws, spaced) =
                (comparison.random_mean(), comparison.random.len(), comparison.spaced);
            let random = match self.result.scale.is_noise(random_mean) {
                true => self.mmd(random_mean),
                false => with_spread(random_mean, comparison.random_sd()),
            };
            let rows = format!("random {}", counted(self.result.count, "row"));
            // Worth as many as they are, by the meaning of the word.
            lines.push(self.line(rows, random, count(self.result.count), comparison.random_errors));
            let errors = comparison.spaced_errors;
            lines.push(self.line(self.spacing(), self.estimated(spaced), self.worth(spaced), errors));
            let by_weight = if self.about.weight_column.is_some() { " by weight" } else { "" };
            notes.push(format!("random: mean ± sd of {random_draws} draws{by_weight}"));
        } else if let (Subject::Placed { .. }, Some(single)) =
            (&self.about.subject, self.result.scale.single_draw)
        {
            let expected = (single.max(0.0) / self.result.count as f64).sqrt();
            let random = format!("random {}", counted(self.result.count, "point"));
            let none = TypicalErrors::default();
            lines.push(self.line(random, self.mmd(expected), count(self.result.count), none));
            notes.push("random: root mean square".to_string());
        }
        // A column that has nothing to say in any line is left out.
        let says = |column: usize| column < 3 || lines[1..].iter().any(|line| !line[column].is_empty());
        let kept: Vec<usize> = (0..HEAD.len()).filter(|&column| says(column)).collect();
        if kept.contains(&3) {
            notes.push("cdf: distance of the distribution functions, root mean square".to_string());
        }
        if kept.iter().any(|&column| column >= IN_SDS) {
            notes.push("the other errors: root mean square, in sds of all rows".to_string());
        }
        let lines =
            lines.iter().map(|line| kept.iter().map(|&column| line[column].clone()).collect()).collect();
        Some(Table { lines, note: notes.join("; ") })
    }

    fn line(&self, label: String, mmd: String, worth: String, errors: TypicalErrors) -> [String; HEAD.len()] {
        let shown = |error: Option<f64>| match error {
            Some(error) if error <= ROUNDING => format!("< {ROUNDING:e}"),
            Some(error) => significant(error),
            None => String::new(),
        };
        let TypicalErrors { cdf, mean, sd, quantile, correlation, functions, .. } = errors;
        let [cdf, mean, sd, quantile, correlation, functions] =
            [cdf, mean, sd, quantile, correlation, functions].map(shown);
        [label, mmd, worth, cdf, mean, sd, quantile, correlation, functions]
    }

    fn these(&self) -> String {
        match self.about.subject {
            Subject::Subset { .. } => format!("this subset of {}", count(self.result.count)),
            _ if self.result.count == 1 => format!("this {}", self.about.subject.noun()),
            _ => format!("these {}", counted(self.result.count, self.about.subject.noun())),
        }
    }

    fn what_worth_is(&self) -> String {
        let plain = "worth: in independent draws".to_string();
        let Some(rows) = self.about.rows.filter(|_| self.is_worth_more_than_the_file()) else { return plain };
        let weighted = match self.about.effective_size {
            Some(size) => format!(", which their weights make worth {}", significant(size)),
            None => String::new(),
        };
        format!("{plain} of these {}{weighted} (the file, not what it was drawn from)", counted(rows, "row"))
    }

    fn spacing(&self) -> String {
        if self.about.weight_column.is_some() {
            return "evenly spaced by weight".to_string();
        }
        match self.about.rows {
            Some(_) if self.result.count == 1 => "the first row".to_string(),
            Some(rows) if rows == self.result.count => "every row".to_string(),
            Some(rows) if rows.is_multiple_of(self.result.count) => {
                format!("every {} row", ordinal(rows / self.result.count))
            }
            _ => "evenly spaced rows".to_string(),
        }
    }

    /// The name of the error: the MMD of a Stein kernel is the kernel Stein discrepancy.
    pub(super) fn error_name(&self) -> &'static str {
        if self.distances.kernel.is_stein() { "KSD" } else { "MMD" }
    }

    /// An MMD with its standard error, where it has one.
    fn estimated(&self, error: f64) -> String {
        match self.result.scale.standard_error(error).filter(|_| !self.result.scale.is_noise(error)) {
            Some(standard_error) => with_error(error, standard_error),
            None => self.mmd(error),
        }
    }

    /// An MMD, as a bound where it is rounding noise.
    pub(super) fn mmd(&self, error: f64) -> String {
        match self.result.scale.is_noise(error) {
            true => format!("< {}", significant(self.result.scale.floor)),
            false => significant(error),
        }
    }

    /// Empty where all rows are the same, since then any number of draws is as good as one.
    fn worth(&self, error: f64) -> String {
        let noise = self.result.scale.is_noise(error);
        match self.result.scale.worth(error) {
            Some(worth) => format!("{}{}", if noise { "> " } else { "" }, significant(worth)),
            None => String::new(),
        }
    }
}
