//! Functions of the rows, whose means are matched: columns of the draws, and of a file of their own.

use std::path::Path;

use anyhow::{Context, Error, Result, anyhow, bail, ensure};
use supersample_io::{Draws, Error as FileError, Joined, Note, Reading, Selection, Use};

use crate::plan::DrawsPlan;
use crate::words::{counted, listed, printable};

/// The functions of some rows.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FunctionTable {
    pub(super) names: Vec<String>,
    /// Row after row, in the order of the names.
    pub(super) values: Vec<f64>,
    /// What was assumed about their file.
    pub(super) notes: Vec<String>,
}

impl FunctionTable {
    /// Reads the functions of these draws and takes them out of the draws, unless `held` has them; `None` if none are
    /// asked for.
    pub(super) fn read(
        plan: &DrawsPlan,
        draws: &mut Draws,
        held: Option<FunctionTable>,
    ) -> Result<Option<FunctionTable>> {
        if !plan.functions.are_asked_for() {
            return Ok(None);
        }
        let own = held.unwrap_or_else(|| FunctionTable {
            names: draws.function_names().iter().map(|name| name.to_string()).collect(),
            values: draws.take_functions(),
            notes: Vec::new(),
        });
        match &plan.functions.file {
            None => Ok(Some(own)),
            Some(path) => {
                let of_file = FunctionTable::of_file(path, plan, draws).context("--functions-file")?;
                if let Some(twice) = of_file.names.iter().find(|name| own.names.contains(name)) {
                    bail!(
                        "function '{}' is in --functions and in --functions-file; name it once",
                        printable(twice)
                    );
                }
                Ok(Some(own.beside(of_file, draws.len())))
            }
        }
    }

    /// All columns of a file but ids and weights, which must have a row for each row of the files of the draws, found by ids
    /// that both have or else in their order; those of rows that were left out for a missing value go with them.
    fn of_file(path: &Path, plan: &DrawsPlan, draws: &Draws) -> Result<FunctionTable> {
        let (shape, sample_dims) = (plan.shape, plan.sample_dims.clone());
        let reading = Reading { shape, sample_dims, keep_warmup: plan.warmup, ..Reading::default() };
        let mut table = Draws::read(&[path], &reading).map_err(refused)?;
        // A skipped function would go unnoticed, so it is asked for by name, and its cell gives the error.
        let uses = table.names().iter().zip(table.uses());
        let is_no_number = |one: &Use| matches!(one, Use::Text | Use::Empty | Use::NotNumbers(_));
        if let Some((name, _)) = uses.clone().find(|(_, one)| is_no_number(one)) {
            let reading = Reading { selection: Selection::new(Some(vec![name.clone()]), None), ..reading };
            Draws::read(&[path], &reading).map_err(refused)?;
        }
        expect_rows("functions", &table, path, draws)?;
        let names = table.parameter_names().iter().map(|name| name.to_string()).collect();
        let of_shape = table.notes().iter().filter(|note| is_about_shape(note)).map(ToString::to_string);
        let unused = table.unused_names();
        let unused = (!unused.is_empty()).then(|| format!("not used: {}", listed(&unused)));
        let (joined, by) = joined(draws, &table, path)?;
        let notes = of_shape.chain(unused).chain(by).map(|note| format!("the functions: {note}")).collect();
        let dim = table.dim();
        Ok(FunctionTable { names, values: of_rows(&table.take_values(), dim, &joined), notes })
    }

    /// Joins these with others of the same `rows` rows.
    fn beside(self, other: FunctionTable, rows: usize) -> FunctionTable {
        let (own, others) = (self.names.len(), other.names.len());
        let row = |row: usize| {
            let own = &self.values[row * own..(row + 1) * own];
            own.iter().chain(&other.values[row * others..(row + 1) * others]).copied().collect::<Vec<_>>()
        };
        let values = (0..rows).flat_map(row).collect();
        FunctionTable {
            names: [self.names, other.names].concat(),
            values,
            notes: [self.notes, other.notes].concat(),
        }
    }
}

/// Refuses a file that has not a row for each row of the draws.
pub(super) fn expect_rows(what: &str, table: &Draws, path: &Path, draws: &Draws) -> Result<()> {
    let (expected, found) = (draws.len() + draws.dropped_na(), table.len());
    ensure!(
        found == expected,
        "{}: there are {}, but the draws have {}; write one row of {what} for each row of the draws, in their order",
        path.display(),
        counted(found, "row"),
        counted(expected, "row")
    );
    Ok(())
}

/// The row of another file for each row of the draws, and what is said where it is not the order that tells.
pub(super) fn joined(draws: &Draws, table: &Draws, path: &Path) -> Result<(Vec<usize>, Option<String>)> {
    let Joined { rows, by, .. } = draws.joined(table).with_context(|| path.display().to_string())?;
    let note =
        (!by.is_empty()).then(|| format!("rows are matched by {}, not by their order", by.join(" and ")));
    Ok((rows, note))
}

/// These rows of a file of `dim` numbers a row.
pub(super) fn of_rows(all: &[f64], dim: usize, rows: &[usize]) -> Vec<f64> {
    rows.iter().flat_map(|row| &all[row * dim..(row + 1) * dim]).copied().collect()
}

/// Whether a note says how the file was read, and not which columns should be left out.
fn is_about_shape(note: &Note) -> bool {
    matches!(
        note,
        Note::Axes { .. } | Note::CountedHeader { .. } | Note::MembersLeftOut { .. } | Note::MeanRows { .. }
    )
}

/// What is wrong with a file of functions, whose columns cannot be excluded and whose rows cannot be dropped by themselves.
fn refused(error: FileError) -> Error {
    let FileError::InFile { path, error } = &error else { return error.into() };
    let remedy = "every function needs a number in every row, so fix it, or take the column out of the file";
    let words = match &**error {
        FileError::TextCell { place, text } => {
            format!("{place} is '{}', not a number; {remedy}", printable(text))
        }
        FileError::MissingCell { place, text } if text.is_empty() => format!("{place} is empty; {remedy}"),
        FileError::MissingCell { place, text } => {
            format!("{place} is '{}', a missing value; {remedy}", printable(text))
        }
        FileError::NonFiniteCell { place, text } => format!("{place} is {}; {remedy}", printable(text)),
        FileError::Refused(text) if text.starts_with("no column is left to use") => {
            "no column is a function: each is an id, weights or not numbers; give the functions other names"
                .to_string()
        }
        other => other.to_string(),
    };
    anyhow!("{}: {words}", path.display())
}
