//! What a figure leaves behind: a picture, a table, findings held against what they must show; and the page of all.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};

use crate::plot::{Figure, escape};

/// One figure of the paper, reproduced.
pub(crate) struct Report {
    /// `fig1`, the name of its files and of its command.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// What the paper says it shows.
    pub(crate) paper: &'static str,
    /// How it was made: sizes, bandwidths, seeds.
    pub(crate) method: String,
    pub(crate) figure: Figure,
    pub(crate) table: Table,
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
        let mut text = format!("{}: {}\n  {}\n", self.name, self.title, self.method);
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

    /// Writes `figN.svg` and `figN.csv`.
    pub(crate) fn write(&self, directory: &Path) -> Result<()> {
        write(&directory.join(format!("{}.svg", self.name)), &self.figure.to_svg())?;
        write(&directory.join(format!("{}.csv", self.name)), &self.table.to_csv())
    }

    fn section(&self, options: &str) -> String {
        let Report { name, title, paper, method, .. } = self;
        let mut rows = String::new();
        for Finding { what, measured, required } in &self.findings {
            let (class, required) = match required {
                Some((text, true)) => ("holds", format!("{text}: holds")),
                Some((text, false)) => ("fails", format!("{text}: FAILS")),
                None => ("", String::new()),
            };
            let _ = writeln!(
                rows,
                "<tr class=\"{class}\"><td>{}</td><td>{}</td><td>{}</td></tr>",
                escape(what),
                escape(measured),
                escape(&required)
            );
        }
        format!(
            "<section id=\"{name}\">\n<h2>Figure {}: {}</h2>\n<p class=\"paper\"><b>The paper:</b> {}</p>\n\
             <img src=\"{name}.svg\" alt=\"{}\">\n\
             <table><tr><th>quantity</th><th>measured</th><th>must show</th></tr>\n{rows}</table>\n\
             <p><b>Made with</b> <code>cargo run --release -p experiments -- {name}{options}</code> \
             (<a href=\"{name}.csv\">numbers</a>). {}</p>\n</section>\n",
            &name[3..],
            escape(title),
            escape(paper),
            escape(title),
            escape(method)
        )
    }
}

/// Writes `index.html`, which sets each figure beside the paper's claim. `options` are those of the command line.
pub(crate) fn write_index(directory: &Path, reports: &[Report], options: &str) -> Result<()> {
    let sections: String = reports.iter().map(|report| report.section(options)).collect();
    let page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>Super-Samples from Kernel Herding, reproduced</title>\n<style>\n{STYLE}</style>\n\
         <h1>Super-Samples from Kernel Herding, reproduced</h1>\n\
         <p>The experiments of Chen, Welling and Smola (UAI 2010) with the library <i>supersample</i>. \
         All seeds are fixed: the same machine gives the same numbers on every run.</p>\n{sections}</html>\n"
    );
    write(&directory.join("index.html"), &page)
}

const STYLE: &str = "\
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #24292f; }
img { max-width: 100%; height: auto; display: block; margin: 1rem 0; border: 1px solid #d8dee4; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { text-align: left; padding: 0.25rem 0.8rem; border-bottom: 1px solid #d8dee4; vertical-align: top; }
.paper { border-left: 4px solid #1f5fa8; padding-left: 0.8rem; }
tr.holds td:last-child { color: #1a7f37; }
tr.fails td:last-child { color: #c43c39; font-weight: bold; }
code { background: #f6f8fa; padding: 0.1rem 0.3rem; }
";

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
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
            figure: Figure { panels: Vec::new(), columns: 1, panel_size: (1.0, 1.0) },
            table,
            findings: vec![Finding::note("n", "3"), Finding::claim("slope", "-0.7", "at most -0.6", holds)],
        }
    }

    #[test]
    fn missing_values_are_empty_fields() {
        assert_eq!(report(true).table.to_csv(), "t,error\n1,0.25\n2,\n");
    }

    #[test]
    fn a_report_fails_with_one_of_its_claims_and_says_so_everywhere() {
        assert!(report(true).holds() && !report(false).holds());
        assert!(report(false).summary().contains("slope: -0.7   [FAILS: at most -0.6]"));
        let section = report(false).section(" --quick");
        assert!(section.contains("at most -0.6: FAILS") && section.contains("Figure 9: a &amp; b"));
        assert!(section.contains("experiments -- fig9 --quick"));
    }
}
