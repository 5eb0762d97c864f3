//! Functions of the rows, whose means are matched: columns of the draws, and of a file of their own.

use std::path::Path;

use anyhow::{Context, Error, Result, anyhow, ensure};
use supersample_io::{Draws, Error as FileError, Note, Reading, Selection, Use};

use crate::plan::DrawsPlan;
use crate::words::{counted, printable};

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
                Ok(Some(own.beside(of_file, draws.len())))
            }
        }
    }

    /// All columns of a file but ids, which must have a row for each row of the files of the draws; those of rows that were
    /// left out for a missing value go with them.
    fn of_file(path: &Path, plan: &DrawsPlan, draws: &Draws) -> Result<FunctionTable> {
        let reading = Reading { shape: plan.shape, keep_warmup: plan.warmup, ..Reading::default() };
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
        let notes = table
            .notes()
            .iter()
            .filter(|note| is_about_shape(note))
            .map(|note| format!("the functions: {note}"));
        let notes = notes.collect();
        Ok(FunctionTable { names, values: of_used_rows(table.take_values(), table.dim(), draws), notes })
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

/// Those of all rows of a file that were not left out of the draws for a missing value.
pub(super) fn of_used_rows(all: Vec<f64>, dim: usize, draws: &Draws) -> Vec<f64> {
    if draws.dropped_na() == 0 {
        return all;
    }
    let numbers = (0..draws.len()).map(|row| draws.row_number(row));
    numbers.flat_map(|number| &all[number * dim..(number + 1) * dim]).copied().collect()
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
        other => other.to_string(),
    };
    anyhow!("{}: {words}", path.display())
}
