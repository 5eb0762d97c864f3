//! Balance of the rows that `thin` chooses: the demands of the plan held against the draws, and what became of them.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail, ensure};
use supersample::RefineOptions;
use supersample_io::{Draws, Groups};

use crate::plan::Balance;
use crate::report::Balanced;
use crate::words::{count, counted, listed, printable};

/// The options with all of the demands, found to be possible for `asked` of the draws (as many as it takes where none
/// are asked for). Checked here and in the user's words, before any work is done.
pub(super) fn options_with(
    balance: &Balance,
    options: RefineOptions,
    draws: &Draws,
    asked: Option<usize>,
    groups: Option<&Groups>,
) -> Result<RefineOptions> {
    // People number the rows of the file, of which some may have been left out.
    let numbers = draws.len() + draws.dropped_na();
    let include = balance.include.rows(numbers).context("--include-rows")?;
    let exclude = balance.exclude.rows(numbers).context("--exclude-rows")?;
    if let Some(row) = include.intersection(&exclude).next() {
        bail!("row {row} is in both --include-rows and --exclude-rows; take it out of one of them");
    }
    if let Some(row) = include.iter().find(|&&number| draws.row_of_number(number).is_none()) {
        bail!("--include-rows: row {row} has a missing value and was left out by --drop-na");
    }
    let of_numbers = |numbers: BTreeSet<usize>| -> BTreeSet<usize> {
        numbers.into_iter().filter_map(|number| draws.row_of_number(number)).collect()
    };
    let (include, exclude) = (of_numbers(include), of_numbers(exclude));
    let open = draws.len() - exclude.len();
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
    if let (None, Some(column)) = (&balance.quotas, &balance.per) {
        let (values, most) = (groups.names.len(), asked.unwrap_or(draws.len() / 2).max(1));
        ensure!(
            values <= most,
            "--per {column}: the column has {} different values in {}, too many to share {} over; choose a column with \
             fewer values, or say how many of which with --quota",
            count(values),
            counted(draws.len(), "row"),
            asked.map_or("the rows".to_string(), |asked| counted(asked, "row"))
        );
    }
    let quotas = quotas_of(balance, groups, &include, &exclude, options.repeats)?;
    Ok(options.groups(&groups.of_row, quotas.as_deref()))
}

/// One quota for each group, 0 for those that are not named.
fn quotas_of(
    balance: &Balance,
    groups: &Groups,
    include: &BTreeSet<usize>,
    exclude: &BTreeSet<usize>,
    repeats: bool,
) -> Result<Option<Vec<usize>>> {
    let Some(given) = &balance.quotas else { return Ok(None) };
    let column = balance.per.as_deref().unwrap_or_default();
    let mut quotas = vec![0; groups.names.len()];
    for (name, quota) in given {
        let Some(place) = groups.names.iter().position(|other| other == name) else {
            bail!(
                "--quota: column '{column}' is never '{name}'; its values are {}",
                printable(&listed(&groups.names))
            );
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

/// What has become of the demands.
pub(super) fn balanced(
    balance: &Balance,
    options: &RefineOptions,
    chosen: &[usize],
    groups: Option<&Groups>,
) -> Balanced {
    let counts = groups.map(|groups| {
        let mut counts = vec![0; groups.names.len()];
        chosen.iter().for_each(|&row| counts[groups.of_row[row]] += 1);
        (balance.per.clone().unwrap_or_default(), groups.names.iter().cloned().zip(counts).collect())
    });
    Balanced { groups: counts, included: options.include.len(), excluded: options.exclude.len() }
}

#[cfg(test)]
mod tests {
    use supersample_io::Reading;

    use super::*;
    use crate::plan::Ranges;

    #[test]
    fn what_cannot_be_is_refused_in_the_words_of_the_flags() {
        let of_row = vec![0, 0, 0, 1, 1, 2];
        let groups = Groups { names: ["a", "b", "c"].map(str::to_string).to_vec(), of_row };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.csv");
        std::fs::write(&path, "x\n1\n2\n4\n8\n9\n7\n").unwrap();
        let draws = Draws::read(&[&path], &Reading::default()).unwrap();
        let refused = |balance: &Balance, asked| {
            let options = RefineOptions::default();
            options_with(balance, options, &draws, Some(asked), Some(&groups)).unwrap_err().to_string()
        };
        let rows = |text: &str| Ranges::new("", Some(text)).unwrap();
        let pair = |text: &str| {
            let (name, number) = text.split_once('=').unwrap();
            (name.to_string(), number.parse().unwrap())
        };
        let quota = |text: &str| Balance {
            per: Some("kind".to_string()),
            quotas: Some(text.split(',').map(pair).collect()),
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
        let per = Balance { per: Some("kind".to_string()), ..Balance::default() };
        assert_eq!(
            refused(&per, 2),
            "--per kind: the column has 3 different values in 6 rows, too many to share 2 rows over; choose a column with \
             fewer values, or say how many of which with --quota"
        );
        let wanted = quota("a=2,c=1");
        let options =
            options_with(&wanted, RefineOptions::default(), &draws, Some(3), Some(&groups)).unwrap();
        assert_eq!(options.quotas, Some(vec![2, 0, 1]));
        let balanced = balanced(&wanted, &options, &[0, 1, 5], Some(&groups));
        let counts = [("a", 2), ("b", 0), ("c", 1)].map(|(name, count)| (name.to_string(), count));
        assert_eq!(balanced.groups, Some(("kind".to_string(), counts.to_vec())));
    }
}
