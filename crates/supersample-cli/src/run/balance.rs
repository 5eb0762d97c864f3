//! Constraints of `thin`: the plan applied to the draws, and the outcome.

use anyhow::{Context, Result, bail, ensure};
use supersample::RefineOptions;
use supersample_io::{Draws, Groups};

use crate::plan::{Balance, Stop};
use crate::report::Balanced;
use crate::words::{Names, count, counted, listed, printable, refused};

/// Adds the constraints to the options, and checks that these draws can fulfil them before rows are compared.
pub(super) fn options_with(
    balance: &Balance,
    mut options: RefineOptions,
    draws: &Draws,
    stop: &Stop,
    groups: Option<&Groups>,
) -> Result<RefineOptions> {
    // People number the rows of the file, of which some may have been left out.
    let numbers = draws.len() + draws.dropped_na();
    let include = balance.include.rows(numbers).context("--include-rows")?;
    let include = include.into_iter().map(|number| {
        let row = draws.row_of_number(number);
        row.with_context(|| {
            format!("--include-rows: row {number} has a missing value and was left out by --drop-na")
        })
    });
    let exclude = balance.exclude.rows(numbers).context("--exclude-rows")?;
    let exclude = exclude.into_iter().filter_map(|number| draws.row_of_number(number));
    options = options.include(&include.collect::<Result<Vec<_>>>()?).exclude(&exclude.collect::<Vec<_>>());
    if let (Some(groups), Some(column)) = (groups, &balance.stratify) {
        match &balance.quotas {
            Some(given) => {
                options = options.groups(&groups.of_row, Some(&quotas_of(given, groups, column)?));
            }
            None => {
                check_values(groups, column, stop.number)?;
                options = options.groups(&groups.of_row, None);
            }
        }
    }
    let number_of = |row| draws.row_number(row);
    let labels = groups.iter().flat_map(|groups| groups.names.iter().map(String::as_str));
    let names = Names::default().numbered(&number_of).groups(balance.stratify.as_deref(), labels);
    let size = stop.number.filter(|_| !stop.has_goal());
    options.check(draws.len(), size).map_err(|error| refused(error, &names))?;
    Ok(options)
}

/// Refuses a column with more values than rows to share out, as one of numbers has.
fn check_values(groups: &Groups, column: &str, asked: Option<usize>) -> Result<()> {
    let (rows, values) = (groups.of_row.len(), groups.names.len());
    ensure!(
        values <= asked.unwrap_or(rows / 2).max(1),
        "--stratify {column}: the column has {} different values in {}, too many for {}; use a column with fewer \
         values, or give the numbers with --quota",
        count(values),
        counted(rows, "row"),
        asked.map_or("strata".to_string(), |asked| counted(asked, "row"))
    );
    Ok(())
}

/// One quota for each group, 0 for those that are not named.
fn quotas_of(given: &[(String, usize)], groups: &Groups, column: &str) -> Result<Vec<usize>> {
    let mut quotas = vec![0; groups.names.len()];
    for (name, quota) in given {
        let Some(place) = groups.names.iter().position(|other| other == name) else {
            bail!(
                "--quota: column '{column}' has no value '{name}'; its values are {}",
                printable(&listed(&groups.names))
            );
        };
        quotas[place] = *quota;
    }
    Ok(quotas)
}

/// Outcome of the constraints.
pub(super) fn balanced(
    balance: &Balance,
    options: &RefineOptions,
    chosen: &[usize],
    groups: Option<&Groups>,
) -> Balanced {
    let counts = groups.map(|groups| {
        let mut counts = vec![0; groups.names.len()];
        chosen.iter().for_each(|&row| counts[groups.of_row[row]] += 1);
        (balance.stratify.clone().unwrap_or_default(), groups.names.iter().cloned().zip(counts).collect())
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
            let stop = Stop::after(asked).unwrap();
            options_with(balance, options, &draws, &stop, Some(&groups)).unwrap_err().to_string()
        };
        let rows = |text: &str| Ranges::new("", Some(text)).unwrap();
        let pair = |text: &str| {
            let (name, number) = text.split_once('=').unwrap();
            (name.to_string(), number.parse().unwrap())
        };
        let quota = |text: &str| Balance {
            stratify: Some("kind".to_string()),
            quotas: Some(text.split(',').map(pair).collect()),
            ..Balance::default()
        };
        let balance = Balance { include: rows("1-3"), exclude: rows("3"), ..Balance::default() };
        assert!(refused(&balance, 4).starts_with("row 3 is in both --include-rows and --exclude-rows;"));
        assert!(
            refused(&Balance { include: rows("1-3"), ..Balance::default() }, 2)
                .contains("has 3 rows, but 2 are")
        );
        let balance = Balance { exclude: rows("0-2"), ..Balance::default() };
        assert!(refused(&balance, 4).starts_with("4 distinct rows are asked for, but only 3 may be chosen;"));
        assert!(refused(&quota("d=1"), 1).contains("column 'kind' has no value 'd'; its values are a, b, c"));
        assert!(
            refused(&quota("b=3"), 3)
                .starts_with("--quota: 3 rows of kind 'b' are asked for, but only 2 may be chosen;")
        );
        let balance = Balance { include: rows("5"), ..quota("a=2") };
        assert!(refused(&balance, 2).contains("--include-rows has 1 row of kind 'c', but --quota allows 0"));
        let balance = Balance { stratify: Some("kind".to_string()), ..Balance::default() };
        assert_eq!(
            refused(&balance, 2),
            "--stratify kind: the column has 3 different values in 6 rows, too many for 2 rows; use a column with \
             fewer values, or give the numbers with --quota"
        );
        let wanted = quota("a=2,c=1");
        let options =
            options_with(&wanted, RefineOptions::default(), &draws, &Stop::after(3).unwrap(), Some(&groups))
                .unwrap();
        assert_eq!(options.quotas, Some(vec![2, 0, 1]));
        let balanced = balanced(&wanted, &options, &[0, 1, 5], Some(&groups));
        let counts = [("a", 2), ("b", 0), ("c", 1)].map(|(name, count)| (name.to_string(), count));
        assert_eq!(balanced.groups, Some(("kind".to_string(), counts.to_vec())));
    }
}
