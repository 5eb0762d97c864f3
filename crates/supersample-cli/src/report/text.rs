//! A report as one screen of plain text.

use std::fmt::Write;

use supersample::quality::MOST_CORRELATED;
use supersample::scale::Scale;

use super::{Polish, Report, Subject, Worst};
use crate::choose::Ended;
use crate::numbers::{count, significant};

/// How many names of columns are spelled out before an ellipsis.
const NAMES_SHOWN: usize = 4;

/// Errors in means, sds, quantiles and correlations up to this are sums in another order, nothing more.
pub(super) const ROUNDING: f64 = 1e-12;

impl Report {
    /// One screen of plain text.
    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text).expect("text can always be written to memory");
        text
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "{}", self.what_was_chosen())?;
        writeln!(out, "{}", self.how())?;
        if let Some(balanced) = &self.balanced {
            writeln!(out, "{}", balanced.in_words())?;
        }
        if let Some(Polish { start_error, steps, converged }) = self.polished {
            let errors = start_error.zip(self.equal_error()).map(|(before, after)| {
                format!(": MMD {} before, {} after", significant(before), significant(after))
            });
            let errors = errors.unwrap_or_default();
            let short = if converged { "" } else { ", not to the end" };
            writeln!(out, "polished in {}{short}{errors}", counted(steps, "step"))?;
        }
        if let Some(weighing) = &self.weighing {
            writeln!(out, "{}", weighing.in_words())?;
        }
        for line in self.how_it_ended() {
            writeln!(out, "{line}")?;
        }
        if !self.constant.is_empty() {
            let names: Vec<&String> = self.constant.iter().map(|&i| &self.parameters[i]).collect();
            writeln!(out, "constant, so centred but not scaled: {}", shortened(&names))?;
        }
        for warning in &self.warnings {
            writeln!(out, "warning: {warning}")?;
        }
        writeln!(out)?;
        match self.table() {
            Some(table) => out.push_str(&table.to_text()),
            None => out.push_str("the MMD is not known for this target\n"),
        }
        if self.comparison.is_none() && self.single_draw.is_some() && self.rows > 0 {
            let rows = counted(self.rows, "row");
            writeln!(out, "no comparison with random or evenly spaced rows: the file has {rows}")?;
        }
        if self.quality.is_some() {
            writeln!(out, "\n{}", self.worst_errors())?;
        }
        Ok(())
    }

    fn how_it_ended(&self) -> Vec<String> {
        let chosen = counted(self.chosen, self.noun());
        let mut lines = Vec::new();
        match self.ended {
            Some(Ended::Interrupted) if self.verb == "thin" => {
                lines.push(format!("interrupted: the best set so far has these {chosen}"));
            }
            Some(Ended::Interrupted) => {
                lines.push(format!("interrupted: these are the first {chosen} of the run, and good as such"));
            }
            Some(Ended::Exhausted) => {
                let asked =
                    self.stop.number.map(|asked| format!("asked for {}, ", count(asked))).unwrap_or_default();
                lines.push(format!(
                    "{asked}the pool has {}: all of them were chosen",
                    counted(self.rows, "row")
                ));
            }
            Some(Ended::Tolerance) => lines.push(format!("the tolerance was reached with {chosen}")),
            Some(Ended::Worth) => lines.push(format!("the worth asked for was reached with {chosen}")),
            Some(Ended::Number) | None => {}
        }
        if self.missed_its_goal() && self.ended != Some(Ended::Interrupted) {
            let what = match (self.stop.tol, self.stop.worth) {
                (Some(tol), None) => format!("an MMD of {tol}"),
                (None, Some(worth)) => format!("a worth of {worth}"),
                (Some(tol), Some(worth)) => format!("neither an MMD of {tol} nor a worth of {worth}"),
                (None, None) => unreachable!("no goal can be missed"),
            };
            let was = if what.starts_with("neither") { "was" } else { "was not" };
            lines.push(format!("{what} {was} reached with {chosen}; allow more with -n, or ask for less"));
        }
        lines
    }

    pub(super) fn noun(&self) -> &'static str {
        if matches!(self.subject, Subject::Placed { .. }) { "point" } else { "row" }
    }

    fn what_was_chosen(&self) -> String {
        if let Subject::Placed { components } = self.subject {
            let (points, components) = (counted(self.chosen, "point"), counted(components, "component"));
            let dimensions = counted(self.parameters.len(), "dimension");
            return format!("placed {points} for a mixture of {components} in {dimensions}");
        }
        let repeats = match self.distinct {
            distinct if distinct == self.chosen => String::new(),
            distinct => format!(" ({} distinct)", count(distinct)),
        };
        let of = if self.chosen > self.rows { "times among" } else { "of" };
        let chosen = match &self.subject {
            Subject::Subset { file, is_by_number, weight_column } => {
                let of = if *is_by_number { "numbered in" } else { "of" };
                let weighted = match weight_column {
                    Some(column) => format!(" with the weights in its column {column}"),
                    None => String::new(),
                };
                let (chosen, rows) = (counted(self.chosen, "row"), counted(self.rows, "row"));
                format!("held the {chosen} {of} {file}{weighted} against {rows}")
            }
            _ => format!("chose {} {of} {}{repeats}", count(self.chosen), counted(self.rows, "row")),
        };
        let files = if self.files.len() > 1 {
            format!(" in {} files", count(self.files.len()))
        } else {
            String::new()
        };
        let unused = match self.unused.as_slice() {
            [] => String::new(),
            unused => format!("; not used: {}", shortened(unused)),
        };
        let warmup = match self.warmup {
            0 => String::new(),
            rows => format!("; {} of warm-up left out", counted(rows, "row")),
        };
        let parameters = counted(self.parameters.len(), "parameter");
        format!("{chosen}{files} by {parameters} ({}{unused}{warmup})", shortened(&self.parameters))
    }

    fn how(&self) -> String {
        let bandwidth = match (self.kernel.bandwidths(), self.bandwidth_is_median) {
            ([], _) => String::new(),
            ([median, ..], true) => format!(", bandwidth {} (median distance)", significant(*median)),
            ([given, ..], false) => format!(", bandwidth {given}"),
        };
        let scale = match self.scale {
            _ if self.rows == 0 => String::new(),
            Scale::Sd => ", columns scaled to unit sd".to_string(),
            Scale::Pca => format!(", columns whitened to {}", counted(self.coordinates, "direction")),
            Scale::None => ", columns not scaled".to_string(),
            other => format!(", columns scaled by {}", other.name()),
        };
        let weights = match &self.weight_column {
            Some(name) => format!(", rows weighted by {name}"),
            None => String::new(),
        };
        format!("kernel {}{bandwidth}{scale}{weights}", self.kernel.name())
    }

    pub(crate) fn worst_errors(&self) -> String {
        let shown = |name: &str, worst: Option<Worst<'_>>| {
            let Worst { error, parameters, level } = worst?;
            let error = match error.abs() > ROUNDING {
                true => significant(error.abs()),
                false => format!("< {ROUNDING:e}"),
            };
            let level = level.map(|level| format!(", {} %", (level * 100.0).round())).unwrap_or_default();
            Some(format!("{name} {error} ({}{level})", parameters.join(" with ")))
        };
        let all = [self.worst_mean(), self.worst_sd(), self.worst_quantile(), self.worst_correlation()];
        let largest = all.iter().flatten().fold(0.0_f64, |largest, worst| largest.max(worst.error.abs()));
        let mut text = match largest > ROUNDING {
            true => {
                let names = ["mean", "sd", "quantile", "correlation"];
                let parts: Vec<String> =
                    names.into_iter().zip(all).filter_map(|(name, worst)| shown(name, worst)).collect();
                format!("worst error, in sds of all rows: {}", parts.join(", "))
            }
            false => "mean, sd and quantiles of every parameter are those of all rows".to_string(),
        };
        if self.parameters.len() > MOST_CORRELATED {
            text += &format!("; correlations are compared for at most {} parameters", count(MOST_CORRELATED));
        }
        text
    }
}

/// `1 row`, `4,000 rows`.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" })
}

/// The names, or the first of them and an ellipsis. A column without a name is shown as such.
fn shortened(names: &[impl AsRef<str>]) -> String {
    let shown = if names.len() <= NAMES_SHOWN { names.len() } else { NAMES_SHOWN - 1 };
    let mut words: Vec<&str> = names[..shown].iter().map(AsRef::as_ref).collect();
    words.iter_mut().filter(|word| word.is_empty()).for_each(|word| *word = "(no name)");
    if shown < names.len() {
        words.push("…");
    }
    words.join(", ")
}
