//! Published numbers as files: TOML, or the same keys in JSON. Columns are named here, and numbered in the library.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use supersample::task::{Number, Published, Summary};

use crate::error::{read_file, refused, utf8};
use crate::mixture::{Format, parsed};
use crate::words::{listed, meant, shown};
use crate::{Error, Result};

/// What a summary file is.
const FORM: &str =
    "a summary has n, tables [columns.NAME] with mean, sd, quantiles, shares or n, and [correlations]";

/// Published numbers by the names of their columns.
///
/// ```
/// use supersample_io::summary::SummaryFile;
/// let text = "n = 400\n[columns.age]\nmean = 54\nsd = 11\nquantiles = { \"0.5\" = 55 }\n";
/// let file = SummaryFile::from_text(text)?;
/// assert_eq!(file.numbers(&["bmi", "age"])?.numbers().len(), 3);
/// assert!(file.numbers(&["bmi"]).is_err()); // there is no age
/// # Ok::<(), supersample_io::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SummaryFile {
    /// Number of rows behind the numbers, where nothing else is said.
    n: Option<f64>,
    #[serde(default)]
    columns: BTreeMap<String, Column>,
    /// By the names of both columns.
    #[serde(default)]
    correlations: BTreeMap<String, BTreeMap<String, f64>>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Column {
    n: Option<f64>,
    mean: Option<f64>,
    sd: Option<f64>,
    /// By their levels.
    #[serde(default)]
    quantiles: BTreeMap<String, f64>,
    /// By the values of the column.
    #[serde(default)]
    shares: BTreeMap<String, f64>,
}

impl SummaryFile {
    /// Reads a file; its format is that of its name, otherwise of its content. Errors name the file.
    pub fn read(path: &Path) -> Result<SummaryFile> {
        let read = || {
            let bytes = read_file(path)?;
            let text = utf8(&bytes)?;
            parsed(text, Format::of_path(path).unwrap_or_else(|| Format::of_text(text)), FORM)
        };
        read().map_err(|error: Error| error.in_file(path))
    }

    /// Reads TOML, or JSON, which begins with a brace.
    pub fn from_text(text: &str) -> Result<SummaryFile> {
        parsed(text, Format::of_text(text), FORM)
    }

    /// The numbers, with the columns by their places among these names.
    pub fn numbers(&self, names: &[&str]) -> Result<Summary> {
        let mut all = Vec::new();
        for (name, column) in &self.columns {
            let (place, n) = (place_of(name, names)?, column.n.or(self.n));
            let mut add = |number: Number, value: f64| all.push(Published { number, value, n });
            if let Some(mean) = column.mean {
                add(Number::Mean(place), mean);
            }
            if let Some(sd) = column.sd {
                add(Number::Sd(place), sd);
            }
            for (level, value) in by_number(&column.quantiles, name, "quantiles", "levels such as \"0.5\"")? {
                add(Number::Quantile(place, level), value);
            }
            for (value, share) in
                by_number(&column.shares, name, "shares", "values of the column, which are numbers")?
            {
                add(Number::Share(place, value), share);
            }
        }
        for (first, others) in &self.correlations {
            for (second, value) in others {
                let number = Number::Correlation(place_of(first, names)?, place_of(second, names)?);
                all.push(Published { number, value: *value, n: self.n });
            }
        }
        Ok(Summary::new(all)?)
    }
}

/// Numbers by keys that are numbers too, the smallest first.
fn by_number(table: &BTreeMap<String, f64>, column: &str, what: &str, keys: &str) -> Result<Vec<(f64, f64)>> {
    let mut found = Vec::new();
    for (key, value) in table {
        let number = key.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        let number = number.ok_or_else(|| {
            refused!(
                "column '{}': the {what} have a key '{}'; the keys are {keys}",
                shown(column),
                shown(key)
            )
        })?;
        found.push((number, *value));
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(found)
}

fn place_of(name: &str, names: &[&str]) -> Result<usize> {
    if let Some(place) = names.iter().position(|known| *known == name) {
        return Ok(place);
    }
    let known: Vec<String> = names.iter().map(|name| name.to_string()).collect();
    let meant = meant(name, &known).map(|meant| format!("; is '{}' meant?", shown(meant)));
    Err(refused!(
        "the summary has a column '{}', but the rows are matched by {}{}",
        shown(name),
        listed(&known),
        meant.unwrap_or_else(|| "; leave it out, or rename it".to_string())
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = "n = 512

[columns.age]
mean = 54.2
sd = 11
quantiles = { \"0.75\" = 62, \"0.25\" = 46 }

[columns.sex]
n = 500
shares = { 1 = 0.59, 0 = 0.41 }

[columns.bmi]
mean = 27.5
sd = 4.5

[correlations]
age = { bmi = 0.31 }
";

    #[test]
    fn the_example_is_read_as_meant_and_json_is_the_same() {
        let file = SummaryFile::from_text(EXAMPLE).unwrap();
        let found = file.numbers(&["age", "bmi", "sex"]).unwrap();
        let of = |number, value, n| Published { number, value, n: Some(n) };
        assert_eq!(
            found.numbers(),
            [
                of(Number::Mean(0), 54.2, 512.0),
                of(Number::Sd(0), 11.0, 512.0),
                of(Number::Quantile(0, 0.25), 46.0, 512.0),
                of(Number::Quantile(0, 0.75), 62.0, 512.0),
                of(Number::Mean(1), 27.5, 512.0),
                of(Number::Sd(1), 4.5, 512.0),
                of(Number::Share(2, 0.0), 0.41, 500.0),
                of(Number::Share(2, 1.0), 0.59, 500.0),
                of(Number::Correlation(0, 1), 0.31, 512.0),
            ]
        );
        let json = r#"{"n": 512, "columns": {"age": {"mean": 54.2, "sd": 11, "quantiles": {"0.75": 62, "0.25": 46}},
            "sex": {"n": 500, "shares": {"1": 0.59, "0": 0.41}}, "bmi": {"mean": 27.5, "sd": 4.5}},
            "correlations": {"age": {"bmi": 0.31}}}"#;
        assert_eq!(SummaryFile::from_text(json).unwrap(), file);
    }

    #[test]
    fn what_is_misspelt_or_unknown_is_refused_with_its_place() {
        let refused = |text: &str, names: &[&str]| {
            SummaryFile::from_text(text).and_then(|file| file.numbers(names)).unwrap_err().to_string()
        };
        let median = refused("[columns.age]\nmedian = 4\n", &["age"]);
        assert!(median.starts_with("line 2, column 1: unknown field `median`"), "{median}");
        // A level without quotes is a table of TOML.
        let dotted = refused("[columns.age]\nquantiles = { 0.5 = 4 }\n", &["age"]);
        assert!(dotted.contains("line 2") && dotted.contains("a summary has n, tables"), "{dotted}");
        let word = refused("[columns.age]\nquantiles = { half = 4 }\n", &["age"]);
        assert_eq!(
            word,
            "column 'age': the quantiles have a key 'half'; the keys are levels such as \"0.5\""
        );
        let text = refused("[columns.sex]\nshares = { F = 1 }\n", &["sex"]);
        assert_eq!(
            text,
            "column 'sex': the shares have a key 'F'; the keys are values of the column, which are numbers"
        );
        let near = refused("[columns.Age]\nmean = 4\n", &["age", "bmi"]);
        assert_eq!(
            near,
            "the summary has a column 'Age', but the rows are matched by age, bmi; is 'age' meant?"
        );
        let none = refused("[columns.height]\nmean = 4\n", &["age", "bmi"]);
        assert!(none.ends_with("matched by age, bmi; leave it out, or rename it"), "{none}");
        let empty = refused("", &["age"]);
        assert!(empty.starts_with("the summary has no numbers"), "{empty}");
        let pair = refused(
            "[columns.a]\nmean=1\nsd=1\n[columns.b]\nmean=1\nsd=1\n[correlations]\na={c=1}\n",
            &["a", "b"],
        );
        assert!(pair.starts_with("the summary has a column 'c'"), "{pair}");
    }
}
