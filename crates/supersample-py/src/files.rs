//! Draws of files for Python, read as the command reads them.

use std::path::PathBuf;

use pyo3::prelude::*;
use supersample_io::{Draws, Note, Reading, Selection};

use crate::arrays::{Column, Matrix, RowNumbers};
use crate::error::unreadable;

/// The numbers of files, by the roles of their columns.
#[pyclass(frozen, get_all, module = "supersample._native")]
pub(crate) struct FileRows {
    /// The parameters, row by row.
    values: Matrix,
    /// The names of the parameters.
    names: Vec<String>,
    /// The names of columns without a role.
    unused: Vec<String>,
    /// The functions, row by row, and their names.
    functions: Option<Matrix>,
    function_names: Vec<String>,
    /// The numbers of the weight column.
    weights: Option<Column>,
    /// The label of each row's group.
    groups: Option<Vec<String>>,
    /// The chain of each row, where there are several.
    chains: Option<RowNumbers>,
    /// The numbers of the rows that were left out.
    dropped: RowNumbers,
    /// What was assumed.
    notes: Vec<String>,
}

/// Reads files; several are several chains. The lists name columns as `--columns`, `--exclude` and `--functions` do.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "keywords of one call")]
#[pyo3(signature = (paths, *, only, excluded, functions, weight, group, drop))]
pub(crate) fn read_draws(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    only: Option<Vec<String>>,
    excluded: Option<Vec<String>>,
    functions: Vec<String>,
    weight: Option<String>,
    group: Option<String>,
    drop: bool,
) -> PyResult<FileRows> {
    py.detach(|| {
        let reading = Reading {
            selection: Selection::new(only, excluded),
            functions,
            weight_column: weight.as_deref(),
            group_column: group.as_deref(),
            drop_na: drop,
            ..Reading::default()
        };
        read(&paths, &reading)
    })
    .map_err(|error| unreadable(&error))
}

fn read(paths: &[PathBuf], reading: &Reading<'_>) -> supersample_io::Result<FileRows> {
    let mut draws = Draws::read(paths, reading)?;
    let owned = |names: Vec<&str>| names.into_iter().map(str::to_string).collect::<Vec<_>>();
    let (names, function_names) = (owned(draws.parameter_names()), owned(draws.function_names()));
    let by_chain = draws.by_chain().ok().filter(|groups| groups.names.len() > 1 || draws.has_chain_column());
    let groups = draws.groups()?.map(|groups| {
        groups.of_row.iter().map(|&place| groups.names[place].clone()).collect::<Vec<String>>()
    });
    let rows = draws.len() + draws.dropped_na();
    let dropped = match draws.dropped_na() {
        0 => Vec::new(),
        _ => (0..rows).filter(|&number| draws.row_of_number(number).is_none()).collect(),
    };
    // Python has its own words for notes about columns, and the rows that are left out were asked for.
    let notes =
        draws.notes().iter().filter(|note| !matches!(note, Note::Columns(_) | Note::MissingRows { .. }));
    Ok(FileRows {
        notes: notes.map(ToString::to_string).collect(),
        unused: owned(draws.unused_names()),
        weights: draws.weights().map(|weights| Column(weights.to_vec())),
        groups,
        chains: by_chain.map(|groups| RowNumbers(groups.of_row)),
        dropped: RowNumbers(dropped),
        functions: (!function_names.is_empty()).then(|| Matrix(draws.take_functions(), function_names.len())),
        values: Matrix(draws.take_values(), names.len()),
        names,
        function_names,
    })
}
