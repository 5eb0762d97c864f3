//! Table of a report: MMD, equivalent draws and typical errors of the result, compared with those of other rows.

use supersample::task::{Errors, Measure};

use super::text::ROUNDING;
use super::{LandmarkReport, Report, Subject};
use crate::words::{count, counted, ordinal, significant, with_error, with_spread};

/// The cells of a table, the head first, and what its columns are.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Table {
    pub(super) lines: Vec<Vec<String>>,
    pub(super) legend: String,
}

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
    /// `None` if the MMD is not known.
    pub(super) fn table(&self) -> Option<Table> {
        let result = &self.result;
        result.mmd()?;
        // A label, the MMD and the equivalent draws in words, and all errors.
        let measured = |label: String, errors: Errors| {
            let mmd = errors.get(Measure::Mmd).unwrap_or(f64::NAN);
            let bound = if result.scale.is_noise(mmd) { "> " } else { "" };
            // Empty where all rows are the same, since then any number of draws is as good as one.
            let draws = errors.get(Measure::EquivalentDraws);
            let draws = draws.map(|draws| format!("{bound}{}", significant(draws)));
            (label, self.estimated(mmd), draws.unwrap_or_default(), errors)
        };
        // Random rows are independent draws themselves.
        let random = |mmd: String, errors: Errors| {
            let of_posterior = self.draws.map(|draws| draws.of_posterior(result.count as f64));
            let errors = errors.with(Measure::PosteriorDraws, of_posterior);
            let label = format!("random {}", counted(result.count, self.about.subject.noun()));
            // Where other rows are matched they are draws of something else.
            let draws = match (&self.about.target, &self.comparison) {
                (Some(_), Some(comparison)) => result.scale.equivalent_draws(comparison.random_mean()),
                _ => None,
            };
            (label, mmd, draws.map_or_else(|| count(result.count), significant), errors)
        };
        let mut lines = vec![measured(self.these(), result.errors)];
        let equal = self.details.weighing.as_ref().map(|weighing| weighing.equal);
        if let Some(errors) = equal.filter(|errors| errors.get(Measure::Mmd).is_some()) {
            lines.push(measured("with equal weights".to_string(), errors));
        }
        let mut notes = Vec::new();
        if let Some(LandmarkReport { count: landmarks, .. }) = self.distances.landmarks {
            notes.push(format!("MMD: ± standard error ({})", counted(landmarks, "landmark")));
        }
        if let Some(comparison) = &self.comparison {
            let mean = comparison.random_mean();
            let mmd = match result.scale.is_noise(mean) {
                true => self.mmd(mean),
                false => with_spread(mean, comparison.random_sd()),
            };
            lines.push(random(mmd, comparison.random_errors()));
            lines.push(measured(self.spacing(), comparison.spaced));
            let by_weight = if self.about.effective_size.is_some() { " drawn by weight" } else { "" };
            notes.push(format!("random rows: mean ± sd over {} subsets{by_weight}", comparison.random.len()));
        } else if let (Subject::Placed { .. }, Some(single)) = (&self.about.subject, result.scale.single_draw)
        {
            let expected = (single.max(0.0) / result.count as f64).sqrt();
            lines.push(random(self.mmd(expected), Errors::default()));
        }
        // A column that has nothing to say in any line is left out.
        let is_known = |measure| lines.iter().any(|(.., errors)| errors.get(measure).is_some());
        let is_always = |measure| matches!(measure, Measure::Mmd | Measure::EquivalentDraws);
        let is_kept = |&measure: &Measure| is_always(measure) || is_known(measure);
        let kept: Vec<Measure> = Measure::ALL.into_iter().filter(is_kept).collect();
        if kept.contains(&Measure::PosteriorDraws) {
            notes.push("of the posterior: equivalent draws with the error of the draws included".to_string());
        }
        if kept.contains(&Measure::Cdf) {
            notes.push(
                "cdf: error of the distribution functions, root mean square over the columns".to_string(),
            );
        }
        if kept.iter().any(|&measure| !measure.is_of_all() && measure != Measure::Cdf) {
            notes.push("other errors: root mean square over the columns, in sds of all rows".to_string());
        }
        let name = |&measure: &Measure| match measure {
            Measure::Mmd => self.error_name().to_string(),
            Measure::PosteriorDraws => "of the posterior".to_string(),
            measure => measure.key().replace('_', " "),
        };
        let head = std::iter::once(String::new()).chain(kept.iter().map(name)).collect();
        let cells = |(label, mmd, draws, errors): &(String, String, String, Errors)| {
            let cell = |&measure: &Measure| match measure {
                Measure::Mmd => mmd.clone(),
                Measure::EquivalentDraws => draws.clone(),
                Measure::PosteriorDraws => errors.get(measure).map(significant).unwrap_or_default(),
                measure => errors.get(measure).map(shown).unwrap_or_default(),
            };
            std::iter::once(label.clone()).chain(kept.iter().map(cell)).collect()
        };
        let lines = std::iter::once(head).chain(lines.iter().map(cells)).collect();
        Some(Table { lines, legend: notes.join("; ") })
    }

    fn these(&self) -> String {
        match self.about.subject {
            Subject::Subset { .. } => format!("this subset of {}", count(self.result.count)),
            _ if self.result.count == 1 => format!("this {}", self.about.subject.noun()),
            _ => format!("these {}", counted(self.result.count, self.about.subject.noun())),
        }
    }

    /// What to know where there are more equivalent draws than the file has.
    pub(super) fn caveat(&self) -> Option<String> {
        let is_of_file = self.exceeds_the_file() && !self.distances.kernel.is_stein();
        let rows = self.about.rows_matched().filter(|_| is_of_file)?;
        let most = match self.about.effective_size {
            Some(size) => format!("the effective sample size of {}", significant(size)),
            None if self.about.target.is_some() => format!("the {} of the target", counted(rows, "row")),
            None => format!("the {}", counted(rows, "row")),
        };
        Some(format!(
            "equivalent draws exceed {most}: they compare with the file, not with the distribution behind it"
        ))
    }

    fn spacing(&self) -> String {
        if self.about.effective_size.is_some() {
            return "evenly spaced by weight".to_string();
        }
        let (rows, noun) = match self.about.sample {
            Some(sample) => (Some(sample.rows), "candidate"),
            None => (self.about.rows, "row"),
        };
        match rows {
            Some(_) if self.result.count == 1 => format!("the first {noun}"),
            Some(rows) if rows == self.result.count => format!("every {noun}"),
            Some(rows) if rows.is_multiple_of(self.result.count) => {
                format!("every {} {noun}", ordinal(rows / self.result.count))
            }
            _ => format!("evenly spaced {noun}s"),
        }
    }

    /// What the errors are relative to, where not all rows are in memory.
    pub(super) fn relative_to(&self) -> Option<String> {
        let sample = self.about.sample?;
        let own = |measure: Measure, what: &str| {
            let error = sample.errors.get(measure).filter(|error| *error > 0.0);
            error.map(|error| format!("{what} {}", significant(error)))
        };
        let own: Vec<String> = [(Measure::Quantile, "quantile"), (Measure::Correlation, "correlation")]
            .into_iter()
            .filter_map(|(measure, what)| own(measure, what))
            .collect();
        let own = match own.is_empty() {
            true => String::new(),
            false => format!(", which differ from all rows by about {}", own.join(", ")),
        };
        Some(format!(
            "{}, mean and sd are relative to all {}; quantile and correlation to the {}{own}",
            self.error_name(),
            counted(self.about.rows.unwrap_or(sample.rows), "row"),
            counted(sample.rows, "candidate")
        ))
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
}

/// An error, as a bound where it is rounding.
pub(super) fn shown(error: f64) -> String {
    if error <= ROUNDING { format!("< {ROUNDING:e}") } else { significant(error) }
}
