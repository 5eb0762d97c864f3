//! Scores of the rows: columns of the draws, or of a file of their own, put in the order of the parameters.

use std::path::Path;

use anyhow::{Context, Error, Result, anyhow};
use supersample_io::{Draws, Error as FileError, Reading, Selection};

use super::functions::{FunctionTable, expect_rows, joined, of_rows};
use crate::plan::{DrawsPlan, ScoreSource, Scores};
use crate::words::{as_typed, listed, printable};

/// Prefixes of names in CmdStan's diagnostic files: momenta, and the gradient of the potential.
const MOMENTUM: &str = "p_";
const GRADIENT: &str = "g_";
/// Note about such a file.
const OF_POTENTIAL: &str = "the g_ columns of a CmdStan diagnostic file are the gradient of the potential; scores \
                            are their negative";

/// What is said where the draws are constrained parameters.
const OF_UNCONSTRAINED: &str = "the unconstrained parameters of the diagnostic file are matched, and rows are written as the draws have them";

/// Where the score of each parameter is among some columns.
#[derive(Clone, Debug)]
pub(super) struct ScorePlaces {
    places: Vec<usize>,
    /// 1, or −1 where the columns have the gradient of the potential.
    sign: f64,
}

impl ScorePlaces {
    /// Scores in the order of the parameters, from rows of `columns` columns.
    pub(super) fn taken(&self, values: &[f64], columns: usize) -> Vec<f64> {
        let of_row = |row: &[f64]| self.places.iter().map(|&at| self.sign * row[at]).collect::<Vec<_>>();
        values.chunks_exact(columns.max(1)).flat_map(of_row).collect()
    }
}

/// The scores of all rows, and what was assumed about them.
pub(super) struct ScoreTable {
    pub(super) values: Vec<f64>,
    pub(super) notes: Vec<String>,
    /// The unconstrained parameters that they are of, in place of those of the draws, where these are others.
    pub(super) points: Option<Vec<f64>>,
    /// Where they are among the function columns of the draws, if they are there.
    pub(super) places: Option<ScorePlaces>,
    /// The log-density of each row, where rows of high density are preferred.
    pub(super) log_density: Option<Vec<f64>>,
    /// The function columns of the draws that hold no scores, where scores were among them.
    pub(super) functions: Option<FunctionTable>,
}

/// Reads the draws again without the momenta of a CmdStan diagnostic file, if no columns were named.
pub(super) fn without_momenta(plan: &DrawsPlan, draws: Draws) -> Result<Draws> {
    let Some(ScoreSource::Prefix(prefix)) = plan.scores.as_ref().map(|scores| &scores.source) else {
        return Ok(draws);
    };
    let scored = |name: &str| draws.function_names().contains(&format!("{prefix}{name}").as_str());
    let (with, without): (Vec<&str>, Vec<&str>) =
        draws.parameter_names().into_iter().partition(|&name| scored(name));
    let is_momentum = |name: &&str| name.strip_prefix(MOMENTUM).is_some_and(|name| with.contains(&name));
    if prefix != GRADIENT || without.is_empty() || with.is_empty() || !without.iter().all(is_momentum) {
        return Ok(draws);
    }
    let selection = Selection::new(Some(with.iter().map(|name| name.to_string()).collect()), None);
    Ok(Draws::read(&plan.files, &Reading { selection, ..plan.reading() })?)
}

impl ScoreTable {
    /// Reads the scores of these draws, and takes them out of the draws.
    pub(super) fn read(plan: &DrawsPlan, scores: &Scores, draws: &mut Draws) -> Result<ScoreTable> {
        let log_density = match &scores.regularised {
            Some(regularised) => Some(log_density(&regularised.column, draws).context("--log-density")?),
            None => None,
        };
        let table = match &scores.source {
            ScoreSource::Prefix(prefix) => ScoreTable::of_columns(prefix, draws).context("--score-prefix"),
            ScoreSource::File(path) => ScoreTable::of_file(path, plan, draws).context("--scores"),
        };
        Ok(ScoreTable { log_density, ..table? })
    }

    fn of_columns(prefix: &str, draws: &mut Draws) -> Result<ScoreTable> {
        let columns = draws.function_names();
        let parameters = draws.parameter_names();
        let is_diagnostic = prefix == GRADIENT && has_momenta(&parameters, draws.names());
        let names: Vec<String> = parameters.iter().map(|name| format!("{prefix}{name}")).collect();
        let places = places(&names, &columns, &parameters)?;
        let places = ScorePlaces { places, sign: if is_diagnostic { -1.0 } else { 1.0 } };
        let (count, all) = (columns.len(), columns.iter().map(|name| name.to_string()).collect::<Vec<_>>());
        let others: Vec<usize> = (0..count).filter(|&at| !all[at].starts_with(prefix)).collect();
        let held = draws.take_functions();
        let values = places.taken(&held, count);
        let functions = FunctionTable {
            names: others.iter().map(|&at| all[at].clone()).collect(),
            values: ScorePlaces { places: others, sign: 1.0 }.taken(&held, count),
            notes: Vec::new(),
        };
        let notes = if is_diagnostic { vec![OF_POTENTIAL.to_string()] } else { Vec::new() };
        Ok(ScoreTable {
            values,
            notes,
            places: Some(places),
            log_density: None,
            functions: Some(functions),
            points: None,
        })
    }

    /// Columns of a file of their own: of the same names as the parameters, or those of a CmdStan diagnostic file, or, of
    /// an array without names, as many as there are parameters.
    fn of_file(path: &Path, plan: &DrawsPlan, draws: &Draws) -> Result<ScoreTable> {
        let (shape, sample_dims) = (plan.shape, plan.sample_dims.clone());
        let reading = Reading { shape, sample_dims, keep_warmup: plan.warmup, ..Reading::default() };
        let (parameters, names) = (draws.parameter_names(), Draws::names_in(path, &reading)?);
        let own: Vec<String> = parameters.iter().map(|name| name.to_string()).collect();
        let gradients: Vec<String> = parameters.iter().map(|name| format!("{GRADIENT}{name}")).collect();
        let has_all = |wanted: &[String]| wanted.iter().all(|name| names.contains(name));
        let is_diagnostic = has_momenta(&parameters, &names) && has_all(&gradients);
        // The columns of an array have no names but these.
        let is_array = names.iter().enumerate().all(|(at, name)| *name == format!("x{}", at + 1));
        let is_npy = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("npy"));
        let in_order = names.len() == parameters.len() && is_array && (is_npy || !has_all(&own));
        let wanted = match (is_diagnostic, in_order) {
            (true, _) => {
                [&own[..], &gradients].concat().into_iter().filter(|name| names.contains(name)).collect()
            }
            (false, true) => names.clone(),
            (false, false) => {
                let known: Vec<&str> = names.iter().map(String::as_str).collect();
                if let Err(unnamed) = places(&own, &known, &parameters) {
                    // A table that is turned over has other columns, because it has other rows.
                    if let Ok(table) = Draws::read(&[path], &reading) {
                        expect_rows("scores", &table, path, draws)?;
                    }
                    return Err(unnamed.context(path.display().to_string()));
                }
                own.clone()
            }
        };
        // Only what is used is read: columns of another kind never stop a run.
        let selection = Selection::new(Some(wanted), None);
        let table = Draws::read(&[path], &Reading { selection, ..reading }).map_err(refused)?;
        expect_rows("scores", &table, path, draws)?;
        let (joined, by) = joined(draws, &table, path)?;
        let mut notes: Vec<String> = by.map(|note| format!("the scores: {note}")).into_iter().collect();
        let (columns, mut points) = (table.parameter_names(), None);
        let taken = |places: &ScorePlaces| {
            of_rows(&places.taken(table.values(), columns.len()), parameters.len(), &joined)
        };
        let places = if is_diagnostic {
            notes.push(OF_POTENTIAL.to_string());
            if !are_same_points(draws, &table, &joined) {
                notes.push(OF_UNCONSTRAINED.to_string());
                points =
                    Some(taken(&ScorePlaces { places: places(&own, &columns, &parameters)?, sign: 1.0 }));
            }
            ScorePlaces { places: places(&gradients, &columns, &parameters)?, sign: -1.0 }
        } else if in_order {
            notes.push("scores are taken in the order of the parameters".to_string());
            ScorePlaces { places: (0..columns.len()).collect(), sign: 1.0 }
        } else {
            let unused: Vec<&String> = names.iter().filter(|name| !own.contains(name)).collect();
            if !unused.is_empty() {
                notes.push(format!("the scores: not used: {}", listed(&unused)));
            }
            ScorePlaces { places: places(&own, &columns, &parameters)?, sign: 1.0 }
        };
        let values = taken(&places);
        Ok(ScoreTable { values, notes, places: None, log_density: None, functions: None, points })
    }
}

/// What is wrong with a file of scores, whose rows cannot be dropped by themselves.
fn refused(error: FileError) -> Error {
    let FileError::InFile { path, error } = &error else { return error.into() };
    let (place, what) = match &**error {
        FileError::TextCell { place, text } => (place, format!("'{}', not a number", printable(text))),
        FileError::MissingCell { place, text } if text.is_empty() => (place, "empty".to_string()),
        FileError::MissingCell { place, text } => (place, format!("'{}', a missing value", printable(text))),
        FileError::NonFiniteCell { place, text } => (place, printable(text)),
        other => return anyhow!("{}: {other}", path.display()),
    };
    anyhow!(
        "{}: {place} is {what}; every parameter needs a score in every row, so fix it, or leave the parameter out \
         with --exclude {}",
        path.display(),
        as_typed(place.column.strip_prefix(GRADIENT).unwrap_or(&place.column))
    )
}

/// Why the draws cannot be read. A row without a log-density is no draw; to exclude its column would not help.
pub(super) fn without_density(plan: &DrawsPlan, error: FileError) -> Error {
    use FileError::{InFile, MissingCell, NonFiniteCell};
    let column = plan.scores.as_ref().and_then(|scores| Some(&scores.regularised.as_ref()?.column));
    match &error {
        InFile { path, error: cause } => match &**cause {
            MissingCell { place, text } | NonFiniteCell { place, text } if Some(&place.column) == column => {
                let text = if text.is_empty() { "empty" } else { text };
                anyhow!(
                    "--log-density: {}: {place} is {}; draws of the density have a finite one, so remove the row",
                    path.display(),
                    printable(text)
                )
            }
            _ => error.into(),
        },
        _ => error.into(),
    }
}

/// Numbers of one column of the draws that is not a parameter.
fn log_density(column: &str, draws: &Draws) -> Result<Vec<f64>> {
    let names = draws.function_names();
    let at = names
        .iter()
        .position(|name| *name == column)
        .with_context(|| format!("'{}' matches several columns; give the name of one", printable(column)))?;
    Ok(draws.functions().iter().skip(at).step_by(names.len()).copied().collect())
}

/// Whether a file has a momentum for each parameter, as CmdStan's diagnostic files do.
fn has_momenta(parameters: &[&str], names: &[String]) -> bool {
    parameters.iter().all(|name| names.iter().any(|other| other.strip_prefix(MOMENTUM) == Some(*name)))
}

/// Where each of these names is among the columns.
fn places(names: &[String], columns: &[&str], parameters: &[&str]) -> Result<Vec<usize>> {
    let place = |(name, parameter): (&String, &&str)| {
        columns.iter().position(|column| column == name).with_context(|| {
            format!(
                "parameter '{}' has no score: there is no column '{}'; leave the parameter out with --exclude, or name the \
                 parameters with --columns",
                printable(parameter),
                printable(name)
            )
        })
    };
    names.iter().zip(parameters).map(place).collect()
}

/// Whether the points of a diagnostic file, which are unconstrained parameters, are those of the draws.
fn are_same_points(draws: &Draws, table: &Draws, joined: &[usize]) -> bool {
    let columns = table.parameter_names();
    draws.parameter_names().iter().enumerate().all(|(j, name)| {
        let Some(at) = columns.iter().position(|column| column == name) else { return true };
        (0..draws.len()).all(|row| {
            let ours = draws.values()[row * draws.dim() + j];
            let theirs = table.values()[joined[row] * columns.len() + at];
            (ours - theirs).abs() <= 1e-5 * ours.abs().max(theirs.abs()).max(1e-5)
        })
    })
}
