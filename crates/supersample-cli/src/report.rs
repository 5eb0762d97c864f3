//! The summary of a run, and as text; it computes nothing but the worth of each error.

use std::fmt::Write;

use supersample::scale::Scale;
use supersample::{Kernel, Precision};

use crate::choose::{Ended, Stop};
use crate::compare::Comparison;
use crate::numbers::{count, ordinal, significant, with_spread};
use crate::quality::{ParameterErrors, Worst, WorstErrors, worst};

/// How many names of columns are spelled out before an ellipsis.
const NAMES_SHOWN: usize = 4;

/// Errors in mean, sd and quantiles up to this are sums in another order, nothing more.
const ROUNDING: f64 = 1e-12;

/// What a report is about.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Subject {
    /// Rows chosen by `herd` or `thin`.
    Chosen,
    /// The rows of this file, given to `eval`.
    Subset(String),
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
    pub(crate) error: Option<f64>,
    /// Errors below this are rounding noise.
    pub(crate) error_floor: f64,
    /// The expected squared error of a single iid draw, E k(x, x) − ‖μ‖², where it is known.
    pub(crate) single_draw: Option<f64>,
    /// `None` where there are too few rows for another subset.
    pub(crate) comparison: Option<Comparison>,
    /// One for each parameter, `None` for constant ones; empty for points of a mixture.
    pub(crate) errors: Vec<Option<ParameterErrors>>,
    pub(crate) warnings: Vec<String>,
}

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
        out.push_str(&self.table());
        if self.comparison.is_none() && self.single_draw.is_some() && self.rows > 0 {
            let rows = counted(self.rows, "row");
            writeln!(out, "no comparison with random or evenly spaced rows: the file has {rows}")?;
        }
        if !self.errors.is_empty() {
            writeln!(out, "\n{}", self.worst_errors())?;
        }
        Ok(())
    }

    /// Whether an error was asked for and not reached.
    pub(crate) fn missed_its_goal(&self) -> bool {
        let reached = match self.ended {
            Some(Ended::Tolerance | Ended::Worth) | None => true,
            // A set can be good enough before it is as small as it could be.
            Some(Ended::Interrupted) => self.stop.met_by(self.error, self.single_draw).is_some(),
            Some(Ended::Number | Ended::Exhausted) => false,
        };
        self.stop.has_goal() && !reached
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

    fn noun(&self) -> &'static str {
        if matches!(self.subject, Subject::Placed { .. }) { "point" } else { "row" }
    }

    pub(crate) fn worst(&self) -> Option<WorstErrors> {
        worst(&self.errors)
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
            Subject::Subset(file) => {
                format!(
                    "held the {} of {file} against {}",
                    counted(self.chosen, "row"),
                    counted(self.rows, "row")
                )
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
        };
        let weights = match &self.weight_column {
            Some(name) => format!(", rows weighted by {name}"),
            None => String::new(),
        };
        format!("kernel {}{bandwidth}{scale}{weights}", self.kernel.name())
    }

    /// The table of errors, each beside the number of independent draws it is worth.
    pub(crate) fn table(&self) -> String {
        match self.table_lines() {
            Some(lines) => aligned(&lines),
            None => "the MMD is not known for this target\n".to_string(),
        }
    }

    /// The same, cell by cell; the first line is the head.
    pub(crate) fn table_lines(&self) -> Option<Vec<[String; 4]>> {
        let error = self.error?;
        let line = |label: String, mmd: String, worth: String, remark: String| [label, mmd, worth, remark];
        let mut lines = vec![
            line(String::new(), "MMD".to_string(), "worth in iid draws".to_string(), String::new()),
            line(self.these(), self.mmd(error), self.worth(error), String::new()),
        ];
        if let Some(comparison) = &self.comparison {
            let Comparison { random_mean, random_sd, random_draws, spaced } = *comparison;
            let random = match self.is_noise(random_mean) {
                true => self.mmd(random_mean),
                false => with_spread(random_mean, random_sd),
            };
            let by_weight = if self.weight_column.is_some() { " by weight" } else { "" };
            let remark = format!("(mean ± sd of {random_draws} draws{by_weight})");
            // Worth as many as they are, by the meaning of the word.
            lines.push(line(
                format!("random {}", counted(self.chosen, "row")),
                random,
                count(self.chosen),
                remark,
            ));
            lines.push(line(self.spacing(), self.mmd(spaced), self.worth(spaced), String::new()));
        } else if let (Subject::Placed { .. }, Some(single)) = (&self.subject, self.single_draw) {
            let expected = (single.max(0.0) / self.chosen as f64).sqrt();
            let remark = "(root mean square)".to_string();
            let random = format!("random {}", counted(self.chosen, "point"));
            lines.push(line(random, self.mmd(expected), count(self.chosen), remark));
        }
        Some(lines)
    }

    pub(crate) fn these(&self) -> String {
        match self.subject {
            Subject::Subset(_) => format!("this subset of {}", count(self.chosen)),
            _ => format!("these {}", counted(self.chosen, self.noun())),
        }
    }

    fn spacing(&self) -> String {
        if self.weight_column.is_some() {
            return "evenly spaced by weight".to_string();
        }
        match self.rows.is_multiple_of(self.chosen) {
            true => format!("every {} row", ordinal(self.rows / self.chosen)),
            false => "evenly spaced rows".to_string(),
        }
    }

    pub(crate) fn is_noise(&self, error: f64) -> bool {
        error <= self.error_floor
    }

    fn mmd(&self, error: f64) -> String {
        match self.is_noise(error) {
            true => format!("< {}", significant(self.error_floor)),
            false => significant(error),
        }
    }

    /// Empty where all rows are the same, since then any number of draws is as good as one.
    fn worth(&self, error: f64) -> String {
        let noise = self.is_noise(error);
        match self.worth_of(error) {
            Some(worth) => format!("{}{}", if noise { "> " } else { "" }, significant(worth)),
            None => String::new(),
        }
    }

    /// The worth of an error, a bound where it is rounding noise.
    pub(crate) fn worth_of(&self, error: f64) -> Option<f64> {
        let single_draw = self.single_draw?;
        let noise = self.is_noise(error);
        let worth = single_draw / error.max(self.error_floor).powi(2);
        // Even the floor being worth less than one draw means that the spread of the rows is itself rounding.
        (worth.is_finite() && !(noise && worth < 1.0)).then_some(worth)
    }

    pub(crate) fn worst_errors(&self) -> String {
        let largest = |worst: &WorstErrors| worst.mean.error.max(worst.sd.error).max(worst.quantile.error);
        let Some(worst) = self.worst().filter(|worst| largest(worst) > ROUNDING) else {
            return "mean, sd and quantiles of every parameter are those of all rows".to_string();
        };
        let shown = |worst: Worst| {
            let error =
                if worst.error > ROUNDING { significant(worst.error) } else { format!("< {ROUNDING:e}") };
            (error, &self.parameters[worst.parameter])
        };
        let ((mean, mean_of), (sd, sd_of)) = (shown(worst.mean), shown(worst.sd));
        let (quantile, quantile_of) = shown(worst.quantile);
        let level = (worst.level * 100.0).round();
        format!(
            "worst error, in sds of all rows: mean {mean} ({mean_of}), sd {sd} ({sd_of}), \
             quantile {quantile} ({quantile_of}, {level} %)"
        )
    }
}

/// The word for a precision.
pub(crate) fn precision_name(precision: Precision) -> &'static str {
    match precision {
        Precision::Double => "double",
        _ => "mixed",
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

fn aligned<const COLUMNS: usize>(lines: &[[String; COLUMNS]]) -> String {
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    let mut text = String::new();
    for line in lines {
        let cells = line.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}   "));
        text.push_str(cells.collect::<String>().trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn report() -> Report {
        let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        let errors = |mean, sd, quantile| Some(ParameterErrors { mean, sd, quantile, level: 0.95 });
        Report {
            subject: Subject::Chosen,
            verb: "herd",
            command: names(&["supersample", "herd", "draws.csv", "-n", "100"]),
            files: names(&["draws.csv"]),
            rows: 4000,
            warmup: 0,
            stop: Stop { number: Some(100), ..Stop::default() },
            ended: Some(Ended::Number),
            chosen: 100,
            distinct: 100,
            parameters: names(&["mu", "tau", "theta.1", "theta.2", "theta.3"]),
            unused: names(&["chain", "draw"]),
            weight_column: None,
            kernel: Kernel::gaussian(3.98123).unwrap(),
            bandwidth_is_median: true,
            scale: Scale::Sd,
            precision: "double",
            coordinates: 5,
            constant: Vec::new(),
            error: Some(0.007_123),
            error_floor: 1e-8,
            single_draw: Some(0.5),
            comparison: Some(Comparison {
                random_mean: 0.0702,
                random_sd: 0.0046,
                random_draws: 20,
                spaced: 0.0675,
            }),
            errors: vec![
                errors(0.01, 0.02, 0.03),
                errors(0.012, 0.034, 0.05),
                None,
                errors(0.0, 0.0, 0.0),
                errors(0.001, 0.002, 0.09),
            ],
            warnings: Vec::new(),
        }
    }

    #[test]
    fn a_run_is_told_in_one_screen() {
        let expected = "\
chose 100 of 4,000 rows by 5 parameters (mu, tau, theta.1, …; not used: chain, draw)
kernel gaussian, bandwidth 3.98 (median distance), columns scaled to unit sd

                  MMD               worth in iid draws
these 100 rows    0.00712           9,850
random 100 rows   0.0702 ± 0.0046   100                  (mean ± sd of 20 draws)
every 40th row    0.0675            110

worst error, in sds of all rows: mean 0.0120 (tau), sd 0.0340 (tau), quantile 0.0900 (theta.3, 95 %)
";
        assert_eq!(report().to_text(), expected);
    }

    #[test]
    fn what_cannot_be_compared_is_said_and_not_invented() {
        let run = Report {
            rows: 1,
            stop: Stop { number: Some(5), ..Stop::default() },
            ended: Some(Ended::Exhausted),
            chosen: 1,
            distinct: 1,
            parameters: vec!["x".to_string()],
            unused: vec![String::new()],
            kernel: Kernel::linear(),
            bandwidth_is_median: false,
            scale: Scale::Sd,
            constant: vec![0],
            error: Some(0.0),
            single_draw: Some(0.0),
            comparison: None,
            errors: vec![None],
            ..report()
        };
        let expected = "\
chose 1 of 1 row by 1 parameter (x; not used: (no name))
kernel linear, columns scaled to unit sd
asked for 5, the pool has 1 row: all of them were chosen
constant, so centred but not scaled: x

              MMD         worth in iid draws
these 1 row   < 1.00e-8
no comparison with random or evenly spaced rows: the file has 1 row

mean, sd and quantiles of every parameter are those of all rows
";
        assert_eq!(run.to_text(), expected);
    }

    #[test]
    fn goals_chains_weights_and_warnings_are_told() {
        let stop = Stop { number: Some(100), tol: Some(0.001), worth: None };
        let run = Report {
            stop,
            files: vec!["1.csv".to_string(), "2.csv".to_string()],
            warmup: 2000,
            weight_column: Some("w".to_string()),
            scale: Scale::Pca,
            warnings: vec!["mind the gap".to_string()],
            ..report()
        };
        let text = run.to_text();
        for line in [
            "chose 100 of 4,000 rows in 2 files by 5 parameters (mu, tau, theta.1, …; not used: chain, draw; 2,000 rows \
             of warm-up left out)\n",
            "columns whitened to 5 directions, rows weighted by w\n",
            "an MMD of 0.001 was not reached with 100 rows; allow more with -n, or ask for less\n",
            "warning: mind the gap\n",
            "evenly spaced by weight   0.0675",
        ] {
            assert!(text.contains(line), "no {line:?} in\n{text}");
        }
        assert!(run.missed_its_goal());
        let met = Report { ended: Some(Ended::Tolerance), ..run.clone() };
        assert!(
            !met.missed_its_goal() && met.to_text().contains("the tolerance was reached with 100 rows\n")
        );
        let cut = Report { ended: Some(Ended::Interrupted), stop: Stop::default(), ..run };
        assert!(
            cut.to_text()
                .contains("interrupted: these are the first 100 rows of the run, and good as such\n")
        );
    }

    #[test]
    fn errors_at_the_floor_are_bounds() {
        let run = Report { error: Some(3e-9), distinct: 7, chosen: 30, scale: Scale::None, ..report() };
        let run = Report { bandwidth_is_median: false, ..run };
        let text = run.to_text();
        assert!(text.starts_with("chose 30 of 4,000 rows (7 distinct) by"), "{text}");
        assert!(text.contains("kernel gaussian, bandwidth 3.98123, columns not scaled\n"), "{text}");
        assert!(text.contains("these 30 rows        < 1.00e-8         > 5.00e15\n"), "{text}");
        assert!(text.contains("evenly spaced rows   0.0675            110\n"), "{text}");
    }
}
