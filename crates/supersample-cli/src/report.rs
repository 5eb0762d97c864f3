//! The summary of a run as text; it computes nothing but the worth of each error.

use std::fmt::Write;

use supersample::Kernel;

use crate::args::Scale;
use crate::compare::Comparison;
use crate::numbers::{count, ordinal, significant, with_spread};
use crate::quality::{Worst, WorstErrors};

/// How many names of columns are spelled out before an ellipsis.
const NAMES_SHOWN: usize = 4;

/// Errors in mean, sd and quantiles up to this are sums in another order, nothing more.
const ROUNDING: f64 = 1e-12;

/// All there is to say about a run.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    pub(crate) rows: usize,
    pub(crate) asked: usize,
    pub(crate) chosen: usize,
    pub(crate) distinct: usize,
    pub(crate) parameters: Vec<String>,
    pub(crate) unused: Vec<String>,
    pub(crate) kernel: Kernel,
    pub(crate) bandwidth_is_median: bool,
    pub(crate) scale: Scale,
    /// The parameters that could not be scaled.
    pub(crate) constant: Vec<usize>,
    pub(crate) error: Option<f64>,
    /// Errors below this are rounding noise.
    pub(crate) error_floor: f64,
    /// The expected squared error of a single iid draw, E k(x, x) − ‖μ‖², where it is known.
    pub(crate) single_draw: Option<f64>,
    /// `None` where there are too few rows for another subset.
    pub(crate) comparison: Option<Comparison>,
    /// `None` where every parameter is constant.
    pub(crate) worst: Option<WorstErrors>,
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
        if self.chosen < self.asked {
            let (asked, rows) = (count(self.asked), counted(self.rows, "row"));
            writeln!(out, "asked for {asked}, the pool has {rows}: all of them were chosen")?;
        }
        if !self.constant.is_empty() {
            let names: Vec<&String> = self.constant.iter().map(|&i| &self.parameters[i]).collect();
            writeln!(out, "constant, so centred but not scaled: {}", shortened(&names))?;
        }
        writeln!(out)?;
        out.push_str(&self.errors());
        if self.comparison.is_none() && self.single_draw.is_some() {
            let rows = counted(self.rows, "row");
            writeln!(out, "no comparison with random or evenly spaced rows: the file has {rows}")?;
        }
        writeln!(out, "\n{}", self.worst_errors())
    }

    fn what_was_chosen(&self) -> String {
        let repeats = match self.distinct {
            distinct if distinct == self.chosen => String::new(),
            distinct => format!(" ({} distinct)", count(distinct)),
        };
        let of = if self.chosen > self.rows { "times among" } else { "of" };
        let chosen = format!("chose {} {of} {}{repeats}", count(self.chosen), counted(self.rows, "row"));
        let unused = match self.unused.as_slice() {
            [] => String::new(),
            unused => format!("; not used: {}", shortened(unused)),
        };
        let parameters = counted(self.parameters.len(), "parameter");
        format!("{chosen} by {parameters} ({}{unused})", shortened(&self.parameters))
    }

    fn how(&self) -> String {
        let bandwidth = match (self.kernel.bandwidths(), self.bandwidth_is_median) {
            ([], _) => String::new(),
            ([median, ..], true) => format!(", bandwidth {} (median distance)", significant(*median)),
            ([given, ..], false) => format!(", bandwidth {given}"),
        };
        let scale = match self.scale {
            Scale::Sd => "scaled to unit sd",
            Scale::None => "not scaled",
        };
        format!("kernel {}{bandwidth}, columns {scale}", self.kernel.name())
    }

    /// The table of errors, each beside the number of independent draws it is worth.
    fn errors(&self) -> String {
        let Some(error) = self.error else { return "the MMD is not known for this target\n".to_string() };
        let line = |label: String, mmd: String, worth: String, remark: String| [label, mmd, worth, remark];
        let mut lines = vec![
            line(String::new(), "MMD".to_string(), "worth in iid draws".to_string(), String::new()),
            line(
                format!("these {}", counted(self.chosen, "row")),
                self.mmd(error),
                self.worth(error),
                String::new(),
            ),
        ];
        if let Some(comparison) = &self.comparison {
            let Comparison { random_mean, random_sd, random_draws, spaced } = *comparison;
            let random = match self.is_noise(random_mean) {
                true => self.mmd(random_mean),
                false => with_spread(random_mean, random_sd),
            };
            let remark = format!("(mean ± sd of {random_draws} draws)");
            // Worth as many as they are, by the meaning of the word.
            lines.push(line(
                format!("random {}", counted(self.chosen, "row")),
                random,
                count(self.chosen),
                remark,
            ));
            lines.push(line(self.spacing(), self.mmd(spaced), self.worth(spaced), String::new()));
        }
        aligned(&lines)
    }

    fn spacing(&self) -> String {
        match self.rows.is_multiple_of(self.chosen) {
            true => format!("every {} row", ordinal(self.rows / self.chosen)),
            false => "evenly spaced rows".to_string(),
        }
    }

    fn is_noise(&self, error: f64) -> bool {
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
        let Some(single_draw) = self.single_draw else { return String::new() };
        let noise = self.is_noise(error);
        let worth = single_draw / error.max(self.error_floor).powi(2);
        // Even the floor being worth less than one draw means that the spread of the rows is itself rounding.
        if !worth.is_finite() || (noise && worth < 1.0) {
            return String::new();
        }
        format!("{}{}", if noise { "> " } else { "" }, significant(worth))
    }

    fn worst_errors(&self) -> String {
        let largest = |worst: &WorstErrors| worst.mean.error.max(worst.sd.error).max(worst.quantile.error);
        let Some(worst) = self.worst.as_ref().filter(|worst| largest(worst) > ROUNDING) else {
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

/// `1 row`, `4,000 rows`.
fn counted(number: usize, noun: &str) -> String {
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
mod tests {
    use super::*;

    fn report() -> Report {
        let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        Report {
            rows: 4000,
            asked: 100,
            chosen: 100,
            distinct: 100,
            parameters: names(&["mu", "tau", "theta.1", "theta.2", "theta.3"]),
            unused: names(&["chain", "draw"]),
            kernel: Kernel::gaussian(3.98123).unwrap(),
            bandwidth_is_median: true,
            scale: Scale::Sd,
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
            worst: Some(WorstErrors {
                mean: Worst { error: 0.012, parameter: 1 },
                sd: Worst { error: 0.034, parameter: 1 },
                quantile: Worst { error: 0.09, parameter: 4 },
                level: 0.95,
            }),
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
            asked: 5,
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
            worst: None,
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
