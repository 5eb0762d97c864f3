//! Constraints on the rows of `thin`: rows from each group, included rows, excluded rows.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// Constraints as typed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Balance {
    /// The column of the groups.
    pub(crate) stratify: Option<String>,
    /// How many from each group; in proportion to the groups if none are given.
    pub(crate) quotas: Option<Vec<(String, usize)>>,
    pub(crate) include: Ranges,
    pub(crate) exclude: Ranges,
}

impl Balance {
    pub(crate) fn is_asked_for(&self) -> bool {
        *self != Balance::default()
    }
}

/// Row numbers as typed: `3,10-20`, counted from 0 as in the column `row`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ranges(Vec<(usize, usize)>);

impl Ranges {
    /// From the words after the flag, or from the file behind an `@`.
    pub(crate) fn new(flag: &str, text: Option<&str>) -> Result<Ranges> {
        match (text, text.and_then(|text| text.strip_prefix('@'))) {
            (_, Some(path)) => {
                let lines = std::fs::read_to_string(Path::new(path))
                    .with_context(|| format!("{flag}: {path}: the file cannot be read"))?;
                let numbered = lines.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
                let of_line = |(at, line): (usize, &str)| {
                    range(line).with_context(|| format!("{flag}: {path}: line {}", at + 1))
                };
                Ok(Ranges(numbered.map(of_line).collect::<Result<_>>()?))
            }
            (Some(text), None) => Ok(Ranges(
                text.split(',').map(range).collect::<Result<_>>().with_context(|| flag.to_string())?,
            )),
            (None, None) => Ok(Ranges::default()),
        }
    }

    /// The rows themselves, of a file that has `len`.
    pub(crate) fn rows(&self, len: usize) -> Result<BTreeSet<usize>> {
        // Checked before it is expanded: a typing error must not fill the memory.
        if let Some((_, last)) = self.0.iter().find(|(_, last)| *last >= len) {
            bail!("there is no row {last}; rows are counted from 0 to {}", len - 1);
        }
        Ok(self.0.iter().flat_map(|&(first, last)| first..=last).collect())
    }
}

/// `3`, or `10-20`, both ends included.
fn range(text: &str) -> Result<(usize, usize)> {
    let text = text.trim();
    let number = |text: &str| text.trim().parse::<usize>().ok();
    let found = match text.split_once('-') {
        Some((first, last)) => number(first).zip(number(last)).filter(|(first, last)| first <= last),
        None => number(text).map(|row| (row, row)),
    };
    found.with_context(|| format!("'{text}' is not a row; write numbers and ranges, as in 3,10-20"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_as_typed() {
        let rows = |text: &str| Ranges::new("--x", Some(text)).and_then(|ranges| ranges.rows(30));
        assert_eq!(rows("3, 10-12,11").unwrap().into_iter().collect::<Vec<_>>(), [3, 10, 11, 12]);
        for bad in ["", "a", "3-", "5-4", "-3", "1,,2", "1.5"] {
            assert!(rows(bad).is_err(), "{bad}");
        }
        assert_eq!(
            rows("7-30").unwrap_err().to_string(),
            "there is no row 30; rows are counted from 0 to 29"
        );
    }
}
