//! Subset that `eval` is given: rows by their columns or by their numbers, and the weights that come with them.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use supersample_io::{Draws, Error, Reading, Selection};

use crate::words::count;

/// Columns of weights that `herd` and others write: ours where DRAWS has a column `weight` of its own, then the plain one.
const WEIGHTS: [&str; 2] = ["supersample_weight", "weight"];
/// Columns of row numbers, as `herd` writes and others spell them.
const ROWS: [&str; 4] = ["row", ".row", "Row", "ROW"];
/// A list of row numbers is a short file.
const LONGEST_LIST: usize = 1 << 30;

/// Data that need row numbers, because they are in another file than the subset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Needed {
    Functions,
    Scores,
    /// Unconstrained parameters, in the file of the scores.
    Parameters,
}

impl Needed {
    /// Message for rows without numbers.
    fn unnumbered(self) -> String {
        let (what, flag) = match self {
            Needed::Functions => ("functions", "--functions-file"),
            Needed::Scores => ("scores", "--scores"),
            Needed::Parameters => ("unconstrained parameters", "--scores"),
        };
        format!(
            "its {what} are not known; {flag} has a row for each row of the draws, so the subset must say which rows it has, in a \
             column 'row', in --index-column or as nothing but row numbers"
        )
    }
}

/// The name of a column of weights, and its weights divided by their sum.
type NamedWeights = (String, Vec<f64>);

/// Some rows.
#[derive(Debug)]
pub(super) struct Subset {
    /// The parameters in the order of the draws, row by row.
    pub(super) values: Vec<f64>,
    /// Weights that sum to one, of either sign, and the column they came from.
    pub(super) weights: Option<NamedWeights>,
    /// Whether the file gave row numbers and not the rows.
    pub(super) is_by_number: bool,
    /// The rows of the draws that these are, where the file gave their numbers.
    pub(super) rows: Option<Vec<usize>>,
    /// The functions in the order of the draws, row by row, where the file has them.
    pub(super) functions: Vec<f64>,
    /// Assumptions about the file.
    pub(super) notes: Vec<String>,
}

/// How the file of a subset is read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SubsetReading<'a> {
    /// The column that has row numbers.
    pub(super) index_column: Option<&'a str>,
    /// The functions or scores of its rows that it must have.
    pub(super) functions: &'a [String],
    /// Whether rows with a missing value are left out.
    pub(super) drop_na: bool,
    /// Why the file must say which rows it has.
    pub(super) needed: Option<Needed>,
}

impl Subset {
    /// Reads the parameters of the draws from this file; where it does not have them, the row numbers in its column
    /// `row` or in `index_column`, or one a line as `--indices` writes them. `all` are the numbers of the draws.
    pub(super) fn read(
        path: &Path,
        draws: &Draws,
        all: &[f64],
        reading: SubsetReading<'_>,
    ) -> Result<Subset> {
        if let Some(column) = reading.index_column {
            return Subset::by_column(path, draws, all, column, reading).context("the subset");
        }
        if let Some(numbers) = listed_numbers(path) {
            return Subset::by_number(draws, all, &numbers, None).context("the subset");
        }
        if let Some(needed) = reading.needed {
            let found = Subset::by_found_numbers(path, draws, all, reading);
            return found.with_context(|| needed.unnumbered()).and_then(|found| found).context("the subset");
        }
        match Subset::by_parameters(path, draws, reading) {
            Err(error) if is_unknown_column(&error) => Subset::by_found_numbers(path, draws, all, reading)
                .unwrap_or(Err(error))
                .context("the subset"),
            subset => subset.context("the subset"),
        }
    }

    /// By the numbers in a column `row`, or in the only column there is, where it holds whole numbers; `None` for a file
    /// that has neither.
    fn by_found_numbers(
        path: &Path,
        draws: &Draws,
        all: &[f64],
        reading: SubsetReading<'_>,
    ) -> Option<Result<Subset>> {
        for column in ROWS {
            match Subset::by_column(path, draws, all, column, reading) {
                Err(error) if is_unknown_column(&error) => {}
                found => return Some(found),
            }
        }
        let (only, _) = read_weighted(path, draws, vec!["*".to_string()], Vec::new(), reading).ok()?;
        let is_whole = |number: &f64| *number >= 0.0 && number.fract() == 0.0;
        if only.names().len() != 1 || !only.values().iter().all(is_whole) {
            return None;
        }
        let column = format!("column '{}'", only.names()[0]);
        Some(Subset::by_number(draws, all, only.values(), None).context(column))
    }

    /// Whether this has more rows than the draws, and all of theirs: then the two files are likely to be swapped.
    pub(super) fn holds_all_of(&self, all: &[f64], dim: usize) -> bool {
        if self.is_by_number || self.values.len() <= all.len() {
            return false;
        }
        let bits = |row: &[f64]| row.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        let own: HashSet<Vec<u64>> = self.values.chunks_exact(dim).map(bits).collect();
        all.chunks_exact(dim).all(|row| own.contains(&bits(row)))
    }

    fn by_parameters(path: &Path, draws: &Draws, reading: SubsetReading<'_>) -> Result<Subset> {
        let columns = owned(&draws.parameter_names());
        let (subset, weights) = read_weighted(path, draws, columns, reading.functions.to_vec(), reading)?;
        let values = in_order_of(&draws.parameter_names(), &subset.parameter_names(), subset.values());
        let names: Vec<&str> = reading.functions.iter().map(String::as_str).collect();
        let functions = in_order_of(&names, &subset.function_names(), subset.functions());
        Ok(Subset { values, weights, is_by_number: false, rows: None, functions, notes: notes_on(&subset) })
    }

    fn by_column(
        path: &Path,
        draws: &Draws,
        all: &[f64],
        column: &str,
        reading: SubsetReading<'_>,
    ) -> Result<Subset> {
        let (numbers, weights) = read_weighted(path, draws, vec![column.to_string()], Vec::new(), reading)?;
        let subset = Subset::by_number(draws, all, numbers.values(), weights);
        let subset = subset.with_context(|| format!("column '{column}'"))?;
        Ok(Subset { notes: notes_on(&numbers), ..subset })
    }

    fn by_number(
        draws: &Draws,
        all: &[f64],
        numbers: &[f64],
        weights: Option<NamedWeights>,
    ) -> Result<Subset> {
        // The rows 0 and 1 again and again: nobody means that.
        ensure!(
            numbers.len() <= 2 || !numbers.iter().all(|number| *number == 0.0 || *number == 1.0),
            "the {} entries are all 0 or 1, as those of a mask are; give the numbers of the rows (in NumPy: \
             np.flatnonzero(mask))",
            count(numbers.len())
        );
        let dim = draws.dim();
        let mut values = Vec::with_capacity(numbers.len() * dim);
        let mut rows = Vec::with_capacity(numbers.len());
        for (at, &number) in numbers.iter().enumerate() {
            let numbered = draws.len() + draws.dropped_na();
            let is_row = number >= 0.0 && number.fract() == 0.0 && number < numbered as f64;
            ensure!(
                is_row,
                "entry {} is {number}, which is not a row of the draws; rows are counted from 0 to {}",
                at + 1,
                numbered - 1
            );
            let row = draws.row_of_number(number as usize).with_context(|| {
                format!("entry {} is {number}, a row with a missing value that --drop-na leaves out", at + 1)
            })?;
            values.extend_from_slice(&all[row * dim..(row + 1) * dim]);
            rows.push(row);
        }
        let functions = Vec::new();
        Ok(Subset { values, weights, is_by_number: true, rows: Some(rows), functions, notes: Vec::new() })
    }
}

/// The columns of a file, and the weights where it has a column of them that the draws do not have.
fn read_weighted(
    path: &Path,
    draws: &Draws,
    columns: Vec<String>,
    functions: Vec<String>,
    reading: SubsetReading<'_>,
) -> Result<(Draws, Option<NamedWeights>)> {
    let selection = Selection::new(Some(columns), None);
    let drop_na = reading.drop_na;
    let plain = Reading { selection, functions, keep_warmup: true, drop_na, ..Reading::default() };
    let subset = Draws::read(&[path], &plain)?;
    let has = |draws: &Draws, name: &str| draws.names().iter().any(|other| other == name);
    let Some(column) = WEIGHTS.into_iter().find(|name| has(&subset, name) && !has(draws, name)) else {
        return Ok((subset, None));
    };
    let weighted = Draws::read(&[path], &Reading { weight_column: Some(column), ..plain })?;
    let weights = summing_to_one(weighted.weights().unwrap_or_default())
        .with_context(|| format!("column '{column}'"))?;
    Ok((weighted, Some((column.to_string(), weights))))
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

/// Rows of columns of these names in the order of others: another tool may have put them in another one.
fn in_order_of(wanted: &[&str], names: &[&str], values: &[f64]) -> Vec<f64> {
    if wanted.is_empty() {
        return Vec::new();
    }
    let place =
        |name: &&str| names.iter().position(|other| other == name).expect("the columns were asked for");
    let order: Vec<usize> = wanted.iter().map(place).collect();
    values.chunks_exact(names.len()).flat_map(|row| order.iter().map(|&j| row[j])).collect()
}

/// What was assumed about the file of the subset.
fn notes_on(subset: &Draws) -> Vec<String> {
    subset.notes().iter().map(|note| format!("the subset: {note}")).collect()
}

/// Weights of either sign, divided by their sum.
fn summing_to_one(weights: &[f64]) -> Result<Vec<f64>> {
    let largest = weights.iter().fold(0.0_f64, |largest, weight| largest.max(weight.abs()));
    ensure!(largest.is_finite(), "a weight is -inf; logarithms of weights are not read here");
    let sum: f64 = weights.iter().map(|weight| weight / largest).sum();
    ensure!(sum > 0.0, "the weights do not have a positive sum; weights of a subset must");
    Ok(weights.iter().map(|weight| weight / largest / sum).collect())
}

/// The numbers of a file that has nothing else, one a line and no name above them; `None` for any other file.
fn listed_numbers(path: &Path) -> Option<Vec<f64>> {
    // A look at the first bytes spares a large file of another kind.
    let is_listed =
        |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_whitespace() || b"+-.eE".contains(byte);
    let start = Draws::start_of(path, 64).ok().filter(|start| !start.is_empty())?;
    if !start.iter().all(is_listed) {
        return None;
    }
    let bytes = Draws::start_of(path, LONGEST_LIST + 1).ok().filter(|bytes| bytes.len() <= LONGEST_LIST)?;
    let text = String::from_utf8(bytes).ok()?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let whole = |line: &str| line.parse::<f64>().ok().filter(|number| number.fract() == 0.0);
    lines.map(whole).collect::<Option<Vec<f64>>>().filter(|numbers| !numbers.is_empty())
}

fn is_unknown_column(error: &anyhow::Error) -> bool {
    let unknown = |error: &Error| matches!(error, Error::UnknownColumn { .. });
    error.chain().filter_map(|cause| cause.downcast_ref::<Error>()).any(|error| match error {
        Error::InFile { error, .. } => unknown(error),
        error => unknown(error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_columns_by_numbers_and_in_lists() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let draws = Draws::read(&[write("d.csv", "a,b\n1,10\n2,20\n3,30\n")], &Reading::default()).unwrap();
        let read = |text: &str, index_column| {
            let reading = SubsetReading { index_column, ..SubsetReading::default() };
            Subset::read(&write("s.csv", text), &draws, draws.values(), reading)
        };
        let turned = read("b,x,a\n20,0,2\n10,0,1\n", None).unwrap();
        assert_eq!((turned.values, turned.is_by_number), (vec![2.0, 20.0, 1.0, 10.0], false));
        for (text, column) in [("2\n0\n", None), ("row,x\n2,7\n0,7\n", None), ("i\n2\n0\n", Some("i"))] {
            let subset = read(text, column).unwrap();
            assert_eq!((subset.values, subset.is_by_number), (vec![3.0, 30.0, 1.0, 10.0], true), "{text}");
        }
        let weighted = read("row,weight\n2,3\n0,-1\n", None).unwrap().weights.unwrap();
        assert!(weighted.0 == "weight" && (weighted.1[0] - 1.5).abs() < 1e-15, "{weighted:?}");
        assert!((weighted.1[1] + 0.5).abs() < 1e-15);
        let refused = |text: &str, column| format!("{:#}", read(text, column).unwrap_err());
        assert_eq!(
            refused("3\n", None),
            "the subset: entry 1 is 3, which is not a row of the draws; rows are counted from 0 to 2"
        );
        assert!(refused("i\n0.5\n", Some("i")).contains("column 'i': entry 1 is 0.5, which is not a row"));
        assert!(refused("c\n0.5\n", None).contains("there is no column 'a'"));
        assert!(refused("row,weight\n1,-1\n", None).contains("column 'weight': the weights do not have"));
        for (entry, text) in
            [("4000", "row\n1\n2\n4000\n"), ("1.5", ".row\n1\n2\n1.5\n"), ("-1", "Row\n1\n2\n-1\n")]
        {
            let message = refused(text, None);
            assert!(
                message.contains(&format!("entry 3 is {entry}, which is not a row of the draws")),
                "{message}"
            );
            assert!(message.starts_with("the subset: column '"), "{message}");
        }
        assert!(refused("c\n1\n7\n", None).contains("column 'c': entry 2 is 7, which is not a row"));
        let found = read("c\n2\n0\n", None).unwrap();
        assert_eq!((found.values, found.is_by_number), (vec![3.0, 30.0, 1.0, 10.0], true));
        let more = read("a,b\n1,10\n2,20\n0,0\n3,30\n", None).unwrap();
        assert!(more.holds_all_of(draws.values(), 2));
        let other = read("a,b\n1,10\n2,20\n0,0\n3,31\n", None).unwrap();
        assert!(!other.holds_all_of(draws.values(), 2));
        assert!(!read("a,b\n1,10\n2,20\n3,30\n", None).unwrap().holds_all_of(draws.values(), 2));
        let holes = Reading { drop_na: true, ..Reading::default() };
        let draws = Draws::read(&[write("h.csv", "a,b\n1,10\n2,NA\n3,30\n")], &holes).unwrap();
        let read = |text: &str| {
            let reading = SubsetReading { drop_na: true, ..SubsetReading::default() };
            Subset::read(&write("s.csv", text), &draws, draws.values(), reading)
        };
        assert_eq!(read("2\n0\n").unwrap().values, [3.0, 30.0, 1.0, 10.0]);
        assert!(
            format!("{:#}", read("1\n").unwrap_err()).contains("entry 1 is 1, a row with a missing value")
        );
        assert!(refused("a,b,weight\n1,2,-1\n", None).contains("do not have a positive sum"));
    }
}
