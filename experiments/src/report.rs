//! What an experiment leaves behind: the numbers of its figure as tables, and findings compared with what they must show.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};

/// One figure of the paper, reproduced.
pub(crate) struct Report {
    /// `fig1`, the name of its files and of its command.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// What the paper says it shows.
    pub(crate) paper: &'static str,
    /// How it was made: sizes, bandwidths, seeds.
    pub(crate) method: String,
    /// The numbers of the figure. The first is `figN.csv`, the others have a name: `figN_name.csv`.
    pub(crate) tables: Vec<(&'static str, Table)>,
    pub(crate) findings: Vec<Finding>,
}

/// A number that was measured and, where it is a claim, what it had to be.
pub(crate) struct Finding {
    what: String,
    measured: String,
    required: Option<(String, bool)>,
}

impl Finding {
    /// A number worth knowing.
    pub(crate) fn note(what: impl Into<String>, measured: impl Into<String>) -> Finding {
        Finding { what: what.into(), measured: measured.into(), required: None }
    }

    /// A claim: it holds, or the whole run fails.
    pub(crate) fn claim(
        what: impl Into<String>,
        measured: impl Into<String>,
        required: impl Into<String>,
        holds: bool,
    ) -> Finding {
        Finding { what: what.into(), measured: measured.into(), required: Some((required.into(), holds)) }
    }

    fn holds(&self) -> bool {
        self.required.as_ref().is_none_or(|(_, holds)| *holds)
    }
}

/// Columns of numbers under names; what is missing is left empty.
#[derive(Default)]
pub(crate) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<Option<f64>>>,
}

impl Table {
    pub(crate) fn new(header: impl IntoIterator<Item = impl Into<String>>) -> Table {
        Table { header: header.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    pub(crate) fn push(&mut self, row: impl IntoIterator<Item = Option<f64>>) {
        let row: Vec<Option<f64>> = row.into_iter().collect();
        assert_eq!(row.len(), self.header.len(), "a row has one value for each column");
        self.rows.push(row);
    }

    fn to_csv(&self) -> String {
        let mut csv = self.header.join(",") + "\n";
        for row in &self.rows {
            let fields: Vec<String> =
                row.iter().map(|v| v.map_or(String::new(), |v| format!("{v}"))).collect();
            csv += &(fields.join(",") + "\n");
        }
        csv
    }
}

impl Report {
    /// Whether every claim holds.
    pub(crate) fn holds(&self) -> bool {
        self.findings.iter().all(Finding::holds)
    }

    /// The findings as lines of text.
    pub(crate) fn summary(&self) -> String {
        let Report { name, title, paper, method, .. } = self;
        let mut text = format!("{name}: {title}\n  the paper: {paper}\n  {method}\n");
        for Finding { what, measured, required } in &self.findings {
            let verdict = match required {
                Some((required, true)) => format!("   [holds: {required}]"),
                Some((required, false)) => format!("   [FAILS: {required}]"),
                None => String::new(),
            };
            let _ = writeln!(text, "  {what}: {measured}{verdict}");
        }
        text
    }

    /// Writes the tables.
    pub(crate) fn write(&self, directory: &Path) -> Result<()> {
        for (name, table) in &self.tables {
            let path = directory.join(format!("{}{name}.csv", self.name));
            std::fs::write(&path, table.to_csv())
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(holds: bool) -> Report {
        let mut table = Table::new(["t", "error"]);
        table.push([Some(1.0), Some(0.25)]);
        table.push([Some(2.0), None]);
        Report {
            name: "fig9",
            title: "a & b",
            paper: "says so",
            method: "seed 1".into(),
            tables: vec![("", table)],
            findings: vec![Finding::note("n", "3"), Finding::claim("slope", "-0.7", "at most -0.6", holds)],
        }
    }

    #[test]
    fn missing_values_are_empty_fields() {
        assert_eq!(report(true).tables[0].1.to_csv(), "t,error\n1,0.25\n2,\n");
    }

    #[test]
    fn a_report_fails_with_one_of_its_claims_and_says_so() {
        assert!(report(true).holds() && !report(false).holds());
        assert!(report(false).summary().contains("slope: -0.7   [FAILS: at most -0.6]"));
    }
}
