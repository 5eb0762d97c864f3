//! The rows of another file that are matched in place of those that are chosen from.

use anyhow::{Context, Result, ensure};
use supersample::Points;
use supersample::task::{RowWeights, Rows};
use supersample_io::{Draws, Format, Selection};

use crate::plan::{DrawsPlan, OtherPlan};
use crate::words::{self, Names, count, counted};

/// Rows that are matched, with the columns and functions of the draws in their order, and what was assumed about their file.
pub(super) fn read(
    plan: &DrawsPlan,
    other: &OtherPlan,
    draws: &Draws,
    functions: &[String],
) -> Result<(Rows, Vec<String>)> {
    read_by_name(plan, other, draws, functions).context("--match")
}

fn read_by_name(
    plan: &DrawsPlan,
    other: &OtherPlan,
    draws: &Draws,
    functions: &[String],
) -> Result<(Rows, Vec<String>)> {
    let names = draws.parameter_names();
    let reading = plan.reading_other(other, &names);
    let advice = "the target needs the columns of the rows, by name; choose those of both with --columns";
    let mut found = Draws::read(&[&other.file], &reading).map_err(|error| match &error {
        supersample_io::Error::InFile { error: cause, .. }
            if matches!(**cause, supersample_io::Error::UnknownColumn { .. }) =>
        {
            anyhow::Error::new(error).context(advice)
        }
        _ => error.into(),
    })?;
    let file = other.file.display();
    ensure!(
        found.dim() == names.len() && names.iter().all(|name| found.parameter_names().contains(name)),
        "{file}: the columns are {}, but those of the rows are {}; choose those of both with --columns",
        found.parameter_names().join(", "),
        names.join(", ")
    );
    // Columns that are only counted are matched by place; another number of them is another thing, or lies on its side.
    let wide = found.names().len() - usize::from(other.weight_column.is_some());
    let are_counted =
        [draws.format(), found.format()] == [Format::Npy; 2] && plan.selection == Selection::default();
    ensure!(
        !are_counted || wide == names.len(),
        "{file}: the rows have {}, those to choose from {}; is the array transposed? If not, name the columns with \
         --columns",
        counted(wide, "column"),
        count(names.len())
    );
    let values = in_order(&found.take_values(), &found.parameter_names(), &names);
    let points = Points::from_vec(values, names.len())?;
    let weights = found.weights().map_or(RowWeights::Equal, RowWeights::Weights);
    let of_file =
        Names::default().columns(names.iter().copied()).weight_column(other.weight_column.as_deref());
    let mut rows = Rows::weighted(points, weights).map_err(|error| words::refused(error, &of_file))?;
    if !functions.is_empty() {
        let own: Vec<String> = found.function_names().iter().map(|name| name.to_string()).collect();
        ensure!(
            own.len() == functions.len() && functions.iter().all(|name| own.contains(name)),
            "{file}: the functions are {}, but those of the rows are {}",
            own.join(", "),
            functions.join(", ")
        );
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        let wanted: Vec<&str> = functions.iter().map(String::as_str).collect();
        rows = rows.functions(in_order(&found.take_functions(), &own, &wanted), functions.len())?;
    }
    Ok((rows, found.notes().iter().map(|note| format!("the target: {note}")).collect()))
}

/// Rows of numbers with their columns in the order of these names.
fn in_order(values: &[f64], own: &[&str], wanted: &[&str]) -> Vec<f64> {
    let places: Vec<usize> =
        wanted.iter().filter_map(|name| own.iter().position(|found| found == name)).collect();
    values.chunks_exact(own.len()).flat_map(|row| places.iter().map(|&place| row[place])).collect()
}
