//! What files hold, how they would be used and what a run would take, in words and as JSON.

use serde_json::{Value, json};
use supersample::task::Diagnosis;

use crate::words::{Names, Style, are, count, counted, in_units, listed, printable, significant};

/// Result of `info`.
#[derive(Clone, Debug)]
pub(crate) struct Info {
    pub(crate) version: String,
    pub(crate) instruction_set: &'static str,
    /// cpu, or the name of the GPU.
    pub(crate) device: String,
    pub(crate) files: Vec<String>,
    pub(crate) format: String,
    pub(crate) rows: usize,
    pub(crate) chains: usize,
    pub(crate) warmup: usize,
    pub(crate) mean_rows: usize,
    /// Rows with a missing value in a used column, and whether they would be left out.
    pub(crate) incomplete: usize,
    pub(crate) drop_na: bool,
    pub(crate) columns: Vec<ColumnInfo>,
    /// The functions whose means would be matched, those of a file of their own among them.
    pub(crate) functions: Vec<String>,
    /// Bytes that herding takes.
    pub(crate) memory: u64,
    /// `None` if a run would be refused, and for stdin.
    pub(crate) rate: Option<Rate>,
    /// How accurate the draws are; `None` where that is not known.
    pub(crate) draws: Option<Diagnosis>,
    pub(crate) notes: Vec<String>,
}

/// One column, and what it is used for.
#[derive(Clone, Debug)]
pub(crate) struct ColumnInfo {
    pub(crate) name: String,
    pub(crate) is_parameter: bool,
    /// What it is used for, or why it is not.
    pub(crate) used_as: String,
    pub(crate) missing: usize,
    pub(crate) range: Option<(f64, f64)>,
}

/// Speed of kernel values on these rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    pub(crate) pairs_per_second: f64,
    /// How many kernel values were timed.
    pub(crate) timed: f64,
    /// Pairs of rows that are compared before the first is chosen, all of them or, of very many rows, those with landmarks.
    pub(crate) pairs: f64,
    /// Number of landmarks; `None` if all pairs are compared.
    pub(crate) landmarks: Option<usize>,
    /// Seconds for a thousand herded rows, from some that were herded.
    pub(crate) thousand: f64,
}

impl Rate {
    /// Seconds until all rows are compared, and for each thousand rows that are then herded.
    fn seconds(&self) -> (f64, f64) {
        (self.pairs / self.pairs_per_second, self.thousand)
    }
}

impl Info {
    fn used(&self) -> Vec<&ColumnInfo> {
        self.columns.iter().filter(|column| column.is_parameter).collect()
    }

    /// One screen of plain text.
    pub(crate) fn to_text(&self) -> String {
        let mut lines = vec![self.what_it_is()];
        let used = self.used();
        let names: Vec<&str> = used.iter().map(|column| column.name.as_str()).collect();
        lines.push(format!("used: {} ({})", counted(names.len(), "parameter"), listed(&names)));
        if !self.functions.is_empty() {
            let names = listed(&self.functions);
            lines.push(format!("functions: {} ({names})", count(self.functions.len())));
        }
        let is_function = |column: &ColumnInfo| self.functions.contains(&column.name);
        let others = self.columns.iter().filter(|column| !column.is_parameter && !is_function(column));
        let others: Vec<String> =
            others.map(|column| format!("{} ({})", named(column), column.used_as)).collect();
        if !others.is_empty() {
            lines.push(format!("not used: {}", listed(&others)));
        }
        let constant = used.iter().filter_map(|column| {
            let (least, most) = column.range?;
            (least == most).then(|| format!("{} = {least}", column.name))
        });
        let constant: Vec<String> = constant.collect();
        if !constant.is_empty() {
            lines.push(format!("constant: {}", listed(&constant)));
        }
        if self.incomplete > 0 {
            let holes = self.columns.iter().filter(|column| column.missing > 0);
            let holes: Vec<String> =
                holes.map(|column| format!("{} {}", column.name, count(column.missing))).collect();
            let then = match self.drop_na {
                true => "they are dropped",
                false => "a run would stop with an error; drop these rows with --drop-na",
            };
            lines.push(format!(
                "missing values: {}; in {}: {then}",
                listed(&holes),
                counted(self.incomplete, "row")
            ));
        }
        lines.extend(self.draws.map(|draws| draws.sentence()));
        let advice = self.draws.and_then(|draws| draws.advice());
        lines.extend(
            advice.map(|one| format!("warning: {}", one.sentence(Style::Command, &Names::default()))),
        );
        lines.extend(self.notes.iter().map(|note| format!("note: {note}")));
        if self.device != "cpu" {
            lines.push(format!("device: {}", self.device));
        }
        lines.push(format!("memory: about {} to herd or evaluate", in_units(self.memory)));
        lines.extend(self.rate.map(|rate| self.how_long(rate)));
        lines.iter().map(|line| printable(line) + "\n").collect()
    }

    fn what_it_is(&self) -> String {
        let left_out = |number: usize, what: &str| match number {
            0 => String::new(),
            number => format!("; {} of {what} {} dropped", counted(number, "row"), are(number)),
        };
        format!(
            "{} ({}): {} in {}{}{}",
            listed_files(&self.files),
            self.format,
            counted(self.rows, "row"),
            counted(self.chains, "chain"),
            left_out(self.warmup, "warm-up"),
            left_out(self.mean_rows, "a variational mean")
        )
    }

    fn how_long(&self, rate: Rate) -> String {
        let (compare, choose) = rate.seconds();
        let what = match rate.landmarks {
            None => format!("{} pairs of rows", significant(rate.pairs)),
            Some(landmarks) => {
                let rows = self.rows - if self.drop_na { self.incomplete } else { 0 };
                format!("{} with {}", counted(rows, "row"), counted(landmarks, "landmark"))
            }
        };
        format!(
            "time: {} to compare {what}, plus {} per 1,000 rows herded (estimated from {} pairs per second on this \
             machine, {})",
            duration(compare),
            duration(choose),
            significant(rate.pairs_per_second),
            if self.device == "cpu" { self.instruction_set } else { &self.device }
        )
    }

    /// All facts as JSON, with every digit.
    pub(crate) fn to_json(&self) -> String {
        let column = |column: &ColumnInfo| {
            let ColumnInfo { name, is_parameter, used_as, missing, range } = column;
            let (least, most) = range.unzip();
            json!({
                "name": name, "used": is_parameter, "use": used_as, "missing": missing, "min": least, "max": most,
            })
        };
        let rate = |rate: Rate| -> Value {
            let (compare, choose) = rate.seconds();
            json!({
                "pairs": rate.pairs,
                "landmarks": rate.landmarks,
                "pairs_per_second": rate.pairs_per_second,
                "timed": rate.timed,
                "compare_seconds": compare,
                "thousand_rows_seconds": choose,
            })
        };
        let value = json!({
            "schema": super::json::SCHEMA,
            "version": self.version,
            "verb": "info",
            "instruction_set": self.instruction_set,
            "device": self.device,
            "files": self.files,
            "format": self.format,
            "rows": self.rows,
            "chains": self.chains,
            "warmup_left_out": self.warmup,
            "mean_rows_left_out": self.mean_rows,
            "incomplete_rows": self.incomplete,
            "functions": self.functions,
            "columns": self.columns.iter().map(column).collect::<Vec<_>>(),
            "memory_bytes": self.memory,
            "draws": self.draws.map(super::json::draws),
            "estimate": self.rate.map(rate),
            "notes": self.notes,
        });
        serde_json::to_string_pretty(&value).expect("numbers and text can be written as JSON") + "\n"
    }
}

/// The first file, and how many more there are.
fn listed_files(files: &[String]) -> String {
    match files {
        [] => String::new(),
        [only] => only.clone(),
        [first, others @ ..] => format!("{first} and {}", counted(others.len(), "more file")),
    }
}

fn named(column: &ColumnInfo) -> &str {
    if column.name.is_empty() { "(no name)" } else { &column.name }
}

/// `about 0.4 s`, `about 12 s`, `about 3 min`, `about 5 h`.
fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 0.1 => "less than 0.1 s".to_string(),
        s if s < 10.0 => format!("about {s:.1} s"),
        s if s < 120.0 => format!("about {s:.0} s"),
        s if s < 7200.0 => format!("about {:.0} min", s / 60.0),
        s => format!("about {:.0} h", s / 3600.0),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::report) fn info() -> Info {
        let column = |name: &str, used_as: &str, missing, range| ColumnInfo {
            name: name.to_string(),
            is_parameter: used_as == "parameter",
            used_as: used_as.to_string(),
            missing,
            range,
        };
        Info {
            version: "0".to_string(),
            instruction_set: "plain",
            device: "cpu".to_string(),
            files: vec!["d.csv".to_string()],
            format: "csv".to_string(),
            rows: 4000,
            chains: 4,
            warmup: 1,
            mean_rows: 0,
            incomplete: 7,
            drop_na: false,
            columns: vec![
                column("chain", "id", 0, None),
                column("mu\u{1b}", "parameter", 5, Some((0.0, 2.0))),
                column("flat", "parameter", 2, Some((5.0, 5.0))),
                column("", "text", 0, None),
            ],
            functions: Vec::new(),
            memory: 3 << 29,
            rate: Some(Rate {
                pairs_per_second: 1e9,
                timed: 2e7,
                pairs: 5e11,
                landmarks: None,
                thousand: 1.0,
            }),
            draws: None,
            notes: vec!["mind the gap".to_string()],
        }
    }

    #[test]
    fn files_are_told_with_what_a_run_would_do() {
        let expected = "\
d.csv (csv): 4,000 rows in 4 chains; 1 row of warm-up is dropped
used: 2 parameters (mu\\u{1b}, flat)
not used: chain (id), (no name) (text)
constant: flat = 5
missing values: mu\\u{1b} 5, flat 2; in 7 rows: a run would stop with an error; drop these rows with --drop-na
note: mind the gap
memory: about 1.50 GiB to herd or evaluate
time: about 8 min to compare 5.00e11 pairs of rows, plus about 1.0 s per 1,000 rows herded (estimated from 1.00e9 pairs per second on this machine, plain)
";
        assert_eq!(info().to_text(), expected);
        let functions = vec!["flat".to_string(), "of a file".to_string()];
        let told = Info { functions, ..info() }.to_text();
        assert!(
            told.contains("\nfunctions: 2 (flat, of a file)\nnot used: chain (id), (no name) (text)\n"),
            "{told}"
        );
        let told = Info { device: "NVIDIA H200".to_string(), ..info() }.to_text();
        assert!(told.contains("\ndevice: NVIDIA H200\nmemory: about 1.50 GiB"), "{told}");
        assert!(told.contains("pairs per second on this machine, NVIDIA H200)\n"), "{told}");
        let rate = info().rate.map(|rate| Rate { landmarks: Some(2000), ..rate });
        let told = Info { rate, ..info() }.to_text();
        assert!(
            told.contains("time: about 8 min to compare 4,000 rows with 2,000 landmarks, plus about"),
            "{told}"
        );
        let told = Info { rate, drop_na: true, ..info() }.to_text();
        assert!(told.contains("to compare 3,993 rows with 2,000 landmarks"), "{told}");
        let durations = [0.01, 3.21, 50.0, 600.0, 9000.0].map(duration);
        assert_eq!(durations, ["less than 0.1 s", "about 3.2 s", "about 50 s", "about 10 min", "about 2 h"]);
    }
}
