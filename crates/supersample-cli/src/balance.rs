//! Balanced choices for `thin`: so many rows from each group, rows that must be in, rows that must not.

use std::collections::BTreeSet;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};
use supersample::RefineOptions;
use supersample_io::Groups;

use crate::names::NameList;
use crate::numbers::count;
use crate::report::counted;

/// What is asked of the rows, as typed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Balance {
    /// The column of the groups.
    pub(crate) per: Option<String>,
    /// How many from each group; in proportion to the groups where none are given.
    pub(crate) quotas: Option<Vec<(String, usize)>>,
    pub(crate) include: Ranges,
    pub(crate) exclude: Ranges,
}

/// What of it was met, for the report.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Balanced {
    /// The column, and how many rows were chosen of each of its values.
    pub(crate) groups: Option<(String, Vec<(String, usize)>)>,
    pub(crate) included: usize,
    pub(crate) excluded: usize,
}

impl Balance {
    pub(crate) fn is_asked_for(&self) -> bool {
        *self != Balance::default()
    }

    /// The size that the quotas fix.
    pub(crate) fn total(&self) -> Option<usize> {
        self.quotas.as_ref().map(|quotas| quotas.iter().map(|(_, quota)| quota).sum())
    }

    /// The options with all of it, found to be possible for `asked` of `rows` rows (as many as it takes where none are
    /// asked for). Checked here and in the user's words, before any work is done.
    pub(crate) fn options(
        &self,
        options: RefineOptions,
        rows: usize,
        asked: Option<usize>,
        groups: Option<&Groups>,
    ) -> Result<RefineOptions> {
        let include = self.include.rows(rows).context("--include-rows")?;
        let exclude = self.exclude.rows(rows).context("--exclude-rows")?;
        if let Some(row) = include.intersection(&exclude).next() {
            bail!("row {row} is in both --include-rows and --exclude-rows; take it out of one of them");
        }
        let open = rows - exclude.len();
        ensure!(open > 0, "--exclude-rows leaves no row to choose");
        if let Some(asked) = asked {
            ensure!(
                include.len() <= asked,
                "--include-rows has {}, but {} are to be chosen; ask for more with -n, or include fewer",
                counted(include.len(), "row"),
                count(asked)
            );
            ensure!(
                options.repeats || asked <= open,
                "{} rows are asked for, but only {} may be chosen; ask for fewer, exclude fewer, or allow --repeats",
                count(asked),
                count(open)
            );
        }
        let listed = |rows: &BTreeSet<usize>| rows.iter().copied().collect::<Vec<_>>();
        let options = options.include(&listed(&include)).exclude(&listed(&exclude));
        let Some(groups) = groups else { return Ok(options) };
        let quotas = self.quotas_of(groups, &include, &exclude, options.repeats)?;
        Ok(options.groups(&groups.of_row, quotas.as_deref()))
    }

    /// One quota for each group, 0 for those that are not named.
    fn quotas_of(
        &self,
        groups: &Groups,
        include: &BTreeSet<usize>,
        exclude: &BTreeSet<usize>,
        repeats: bool,
    ) -> Result<Option<Vec<usize>>> {
        let Some(given) = &self.quotas else { return Ok(None) };
        let column = self.per.as_deref().unwrap_or_default();
        let mut quotas = vec![0; groups.names.len()];
        for (name, quota) in given {
            let Some(place) = groups.names.iter().position(|other| other == name) else {
                bail!("--quota: column '{column}' is never '{name}'; its values are {}", few(&groups.names));
            };
            quotas[place] = *quota;
        }
        for (place, (&quota, name)) in quotas.iter().zip(&groups.names).enumerate() {
            let of_group =
                |rows: &BTreeSet<usize>| rows.iter().filter(|&&row| groups.of_row[row] == place).count();
            let open = groups.sizes()[place] - of_group(exclude);
            let is_enough = if repeats { quota == 0 || open > 0 } else { quota <= open };
            ensure!(
                is_enough,
                "--quota asks for {} with {column} '{name}', but only {} may be chosen; ask for fewer",
                counted(quota, "row"),
                count(open)
            );
            let included = of_group(include);
            ensure!(
                included <= quota,
                "--include-rows has {} with {column} '{name}', but --quota allows {}; make the two agree",
                counted(included, "row"),
                count(quota)
            );
        }
        Ok(Some(quotas))
    }

    /// What has become of it.
    pub(crate) fn of_chosen(
        &self,
        options: &RefineOptions,
        chosen: &[usize],
        groups: Option<&Groups>,
    ) -> Balanced {
        let counts = groups.map(|groups| {
            let mut counts = vec![0; groups.names.len()];
            chosen.iter().for_each(|&row| counts[groups.of_row[row]] += 1);
            (self.per.clone().unwrap_or_default(), groups.names.iter().cloned().zip(counts).collect())
        });
        Balanced { groups: counts, included: options.include.len(), excluded: options.exclude.len() }
    }
}

impl Balanced {
    /// `balanced by chain (1: 25, 2: 25, …); 3 rows had to be in`.
    pub(crate) fn in_words(&self) -> String {
        let mut words = Vec::new();
        if let Some((column, counts)) = &self.groups {
            let counts: Vec<String> =
                counts.iter().map(|(name, number)| format!("{name}: {}", count(*number))).collect();
            words.push(format!("balanced by {column} ({})", few(&counts)));
        }
        for (number, what) in [(self.included, "in"), (self.excluded, "out")] {
            if number > 0 {
                words.push(format!("{} had to be {what}", counted(number, "row")));
            }
        }
        words.join("; ")
    }
}

/// Up to eight of them.
fn few(words: &[String]) -> String {
    let more = if words.len() > 8 { ", …" } else { "" };
    words[..words.len().min(8)].join(", ") + more
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

    fn rows(&self, len: usize) -> Result<BTreeSet<usize>> {
        // Looked at before it is spelled out: a slip of the pen must not fill the memory.
        if let Some((_, last)) = self.0.iter().find(|(_, last)| *last >= len) {
            bail!("there is no row {last}; the rows are counted from 0 to {}", len - 1);
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

/// Quotas as typed: `a=10,b=20`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QuotaList(pub(crate) Vec<(String, usize)>);

impl FromStr for QuotaList {
    type Err = String;

    fn from_str(text: &str) -> Result<QuotaList, String> {
        let mut quotas: Vec<(String, usize)> = Vec::new();
        for word in text.parse::<NameList>().map_err(str::to_string)?.0 {
            let quota = word.rsplit_once('=').and_then(|(name, number)| {
                Some((name.trim().to_string(), number.trim().parse::<usize>().ok()?))
            });
            let Some((name, number)) = quota else {
                return Err(format!("'{word}' is not a quota; write a=10,b=20"));
            };
            if quotas.iter().any(|(other, _)| *other == name) {
                return Err(format!("'{name}' has two quotas; give it one"));
            }
            quotas.push((name, number));
        }
        Ok(QuotaList(quotas))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_quotas_are_read_as_typed() {
        let rows = |text: &str| Ranges::new("--x", Some(text)).and_then(|ranges| ranges.rows(30));
        assert_eq!(rows("3, 10-12,11").unwrap().into_iter().collect::<Vec<_>>(), [3, 10, 11, 12]);
        for bad in ["", "a", "3-", "5-4", "-3", "1,,2", "1.5"] {
            assert!(rows(bad).is_err(), "{bad}");
        }
        assert_eq!(
            rows("7-30").unwrap_err().to_string(),
            "there is no row 30; the rows are counted from 0 to 29"
        );
        let quotas = |text: &str| text.parse::<QuotaList>().map(|list| list.0);
        let pair = |name: &str, number| (name.to_string(), number);
        assert_eq!(quotas("a=10, b = 0").unwrap(), [pair("a", 10), pair("b", 0)]);
        assert_eq!(quotas("\"a,b\"=1,x=y=2").unwrap(), [pair("a,b", 1), pair("x=y", 2)]);
        for bad in ["", "a", "a=", "a=-1", "a=1,a=2"] {
            assert!(quotas(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_in_the_words_of_the_flags() {
        let of_row = vec![0, 0, 0, 1, 1, 2];
        let groups = Groups { names: ["a", "b", "c"].map(str::to_string).to_vec(), of_row };
        let refused = |balance: &Balance, asked| {
            let options = RefineOptions::default();
            balance.options(options, 6, Some(asked), Some(&groups)).unwrap_err().to_string()
        };
        let rows = |text: &str| Ranges::new("", Some(text)).unwrap();
        let quota = |text: &str| Balance {
            per: Some("kind".to_string()),
            quotas: Some(text.parse::<QuotaList>().unwrap().0),
            ..Balance::default()
        };
        let balance = Balance { include: rows("1-3"), exclude: rows("3"), ..Balance::default() };
        assert!(refused(&balance, 4).starts_with("row 3 is in both"));
        assert!(
            refused(&Balance { include: rows("1-3"), ..Balance::default() }, 2)
                .contains("has 3 rows, but 2 are")
        );
        let balance = Balance { exclude: rows("0-2"), ..Balance::default() };
        assert!(refused(&balance, 4).starts_with("4 rows are asked for, but only 3 may be chosen"));
        assert!(refused(&quota("d=1"), 1).contains("column 'kind' is never 'd'; its values are a, b, c"));
        assert!(
            refused(&quota("b=3"), 3).contains("asks for 3 rows with kind 'b', but only 2 may be chosen")
        );
        let balance = Balance { include: rows("5"), ..quota("a=2") };
        assert!(refused(&balance, 2).contains("has 1 row with kind 'c', but --quota allows 0"));
        let options = quota("a=2,c=1").options(RefineOptions::default(), 6, Some(3), Some(&groups)).unwrap();
        assert_eq!(options.quotas, Some(vec![2, 0, 1]));
        let balanced = quota("a=2,c=1").of_chosen(&options, &[0, 1, 5], Some(&groups));
        assert_eq!(balanced.in_words(), "balanced by kind (a: 2, b: 0, c: 1)");
    }
}
