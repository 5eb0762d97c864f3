//! What files hold, how they would be used and what a run would take, in words and as JSON.

use serde_json::json;
use supersample::task::Diagnosis;

use crate::words::{Names, Style, are, count, counted, in_units, listed, printable};

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
    pub(crate) work: Option<Work>,
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

/// Work before the first row is chosen. Times are not foretold: they depend on what else the machine does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    /// Kernel values, of all pairs of rows or of the rows with landmarks.
    pub(crate) pairs: f64,
    /// Number of landmarks; `None` if all pairs are compared.
    pub(crate) landmarks: Option<usize>,
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
        lines.extend(self.work.map(|work| self.to_compare(work)));
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

    fn to_compare(&self, work: Work) -> String {
        let rows = self.rows - if self.drop_na { self.incomplete } else { 0 };
        match work.landmarks {
            None => format!("work: {} of rows to compare", counted(work.pairs as usize, "pair")),
            Some(landmarks) => {
                format!("work: {} to compare with {}", counted(rows, "row"), counted(landmarks, "landmark"))
            }
        }
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
        let work = |work: Work| json!({ "pairs": work.pairs, "landmarks": work.landmarks });
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
            "work": self.work.map(work),
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
            work: Some(Work { pairs: 7_998_000.0, landmarks: None }),
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
work: 7,998,000 pairs of rows to compare
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
        let work = Some(Work { pairs: 8e6, landmarks: Some(2000) });
        let told = Info { work, drop_na: true, ..info() }.to_text();
        assert!(told.contains("\nwork: 3,993 rows to compare with 2,000 landmarks\n"), "{told}");
    }
}
