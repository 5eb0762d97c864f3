//! Report of a run that chose a set for every value of a column: one table, and the JSON.

use serde_json::{Value, json};
use supersample::task::{Chosen, Measure};

use super::Run;
use super::json::SCHEMA;
use super::table::aligned;
use crate::words::{count, counted, folded, listed, significant};

/// Values that the table shows; the JSON has all of them.
const SHOWN: usize = 20;

/// What was chosen for every value of a column.
pub(crate) struct EachReport {
    pub(crate) run: Run,
    pub(crate) files: Vec<String>,
    /// Rows of the files.
    pub(crate) rows: usize,
    pub(crate) parameters: Vec<String>,
    pub(crate) column: String,
    pub(crate) groups: Vec<EachGroup>,
    pub(crate) notes: Vec<String>,
    pub(crate) warnings: Vec<String>,
}

/// What was chosen for one value.
pub(crate) struct EachGroup {
    pub(crate) value: String,
    /// Rows with this value.
    pub(crate) rows: usize,
    pub(crate) chosen: Chosen,
    /// Numbers of the chosen rows in the files.
    pub(crate) numbers: Vec<usize>,
}

/// The errors of a table, with their names in it.
const MEASURES: [(Measure, &str); 3] =
    [(Measure::Mmd, "MMD"), (Measure::EquivalentDraws, "equivalent draws"), (Measure::Cdf, "cdf")];

impl EachReport {
    /// One screen of plain text.
    pub(crate) fn to_text(&self) -> String {
        let chosen: usize = self.groups.iter().map(|group| group.numbers.len()).sum();
        let mut lines = vec![format!(
            "chose {} of {} for {} of {} by {} ({}); each has its own scales, bandwidth and errors",
            count(chosen),
            counted(self.rows, "row"),
            counted(self.groups.len(), "value"),
            self.column,
            counted(self.parameters.len(), "parameter"),
            listed(&folded(&self.parameters))
        )];
        lines.extend(self.notes.iter().map(|note| format!("note: {note}")));
        lines.extend(self.warnings.iter().map(|warning| format!("warning: {warning}")));
        lines.push(String::new());
        lines.push(self.table());
        let left = self.groups.len().saturating_sub(SHOWN);
        if left > 0 {
            lines.push(format!("and {} more; --json has all", counted(left, "value")));
        }
        if self.missed() > 0 {
            lines.push(format!(
                "{} reached for {} of {}; allow more with -n, or relax the goal",
                self.run.stop.missed_in_words("MMD"),
                count(self.missed()),
                counted(self.groups.len(), "value"),
            ));
        }
        lines.join("\n") + "\n"
    }

    fn table(&self) -> String {
        let head = [self.column.as_str(), "rows", "chosen"].into_iter().chain(MEASURES.map(|(_, name)| name));
        let mut table = vec![head.map(str::to_string).collect::<Vec<_>>()];
        let cell = |error: Option<f64>| error.map_or("-".to_string(), significant);
        table.extend(self.groups.iter().take(SHOWN).map(|group| {
            let errors = MEASURES.map(|(measure, _)| cell(group.chosen.errors.get(measure)));
            let counts = [group.value.clone(), count(group.rows), count(group.numbers.len())];
            counts.into_iter().chain(errors).collect()
        }));
        if self.groups.len() > 1 {
            let all = |measure: Measure| {
                let known = self.groups.iter().filter_map(|group| group.chosen.errors.get(measure));
                let mut known: Vec<f64> = known.collect();
                known.sort_by(f64::total_cmp);
                known
            };
            let middle = MEASURES.map(|(measure, _)| median(&all(measure)));
            // More equivalent draws are better.
            let worst = MEASURES.map(|(measure, _)| match measure {
                Measure::EquivalentDraws => all(measure).first().copied(),
                measure => all(measure).last().copied(),
            });
            for (name, errors) in [("median", middle), ("worst", worst)] {
                let line = [name.to_string(), String::new(), String::new()];
                table.push(line.into_iter().chain(errors.map(cell)).collect());
            }
        }
        aligned(&table)
    }

    /// The number of values whose set has not reached the goal of the run.
    pub(crate) fn missed(&self) -> usize {
        let is_missed = |group: &&EachGroup| self.run.stop.has_goal() && !group.chosen.ended.is_goal();
        self.groups.iter().filter(is_missed).count()
    }

    /// Numbers that are not known are null.
    pub(crate) fn to_json(&self) -> String {
        let group = |group: &EachGroup| -> Value {
            json!({
                "value": group.value,
                "rows": group.rows,
                "count": group.numbers.len(),
                "mmd": group.chosen.errors.get(Measure::Mmd),
                "equivalent_draws": group.chosen.errors.get(Measure::EquivalentDraws),
                "cdf": group.chosen.errors.get(Measure::Cdf),
                "chosen": group.numbers,
            })
        };
        let value = json!({
            "schema": SCHEMA,
            "version": self.run.version,
            "command": self.run.command,
            "verb": "thin",
            "input": { "files": self.files, "rows": self.rows, "parameters": self.parameters },
            "each": { "column": self.column, "groups": self.groups.iter().map(group).collect::<Vec<_>>() },
            "notes": self.notes,
            "warnings": self.warnings,
        });
        serde_json::to_string_pretty(&value).expect("numbers and text can be written as JSON") + "\n"
    }
}

/// The middle of sorted numbers: of an even number of them, the mean of the two.
fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(if sorted.len() % 2 == 1 { upper } else { (sorted[middle - 1] + upper) / 2.0 })
}
