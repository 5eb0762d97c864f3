//! Verb `info`: what files hold, how they would be used, and the memory and work of a run.

use anyhow::Result;
use supersample::task::{Choose, Diagnosis, Problem, Rows};
use supersample::{Points, unwatched};
use supersample_io::{Draws, Note, Survey, Use};

use super::functions::FunctionTable;
use super::input::chains_of;
use super::{Outcome, with_threads};
use crate::args::version;
use crate::plan::{DrawsPlan, InfoPlan, is_stdout};
use crate::report::{ColumnInfo, Info, Work};
use crate::terminal::output::{Output, to_stdout};

/// Carries out a plan of `info`.
pub(crate) fn info(plan: &InfoPlan) -> Result<Outcome> {
    let json = match plan.json.as_deref() {
        Some(path) if !is_stdout(path) => Some(Output::create(path)?),
        _ => None,
    };
    let info = with_threads(plan.threads, || look(plan))?;
    match (json, &plan.json) {
        (Some(mut json), _) => {
            json.fill(|out| Ok(out.write_all(info.to_json().as_bytes())?))?;
            json.finish(false)?;
            to_stdout(|out| Ok(out.write_all(info.to_text().as_bytes())?))?;
        }
        (None, Some(_)) => to_stdout(|out| Ok(out.write_all(info.to_json().as_bytes())?))?,
        (None, None) => to_stdout(|out| Ok(out.write_all(info.to_text().as_bytes())?))?,
    }
    Ok(Outcome::Done)
}

fn look(InfoPlan { draws: plan, choose, .. }: &InfoPlan) -> Result<Info> {
    let survey = Survey::read(&plan.files, &plan.reading())?;
    let columns: Vec<ColumnInfo> = survey
        .columns
        .iter()
        .map(|column| ColumnInfo {
            name: column.name.clone(),
            is_parameter: column.used_as == Use::Parameter,
            used_as: column.used_as.to_string(),
            missing: column.missing,
            range: column.range,
        })
        .collect();
    let dim = columns.iter().filter(|column| column.is_parameter).count();
    // Stdin can be read only once.
    let is_file = !plan.files.iter().any(|file| file.as_os_str() == "-");
    let is_whole = survey.incomplete_rows == 0 || plan.drop_na && survey.incomplete_rows < survey.rows;
    // A run would refuse them for what the functions are refused for here.
    let functions = if plan.functions.are_asked_for() && is_whole && is_file {
        let mut draws = Draws::read(&plan.files, &plan.reading())?;
        FunctionTable::read(plan, &mut draws, None)?.map_or(Vec::new(), |functions| functions.names)
    } else {
        let such = survey.columns.iter().filter(|column| column.used_as == Use::Function);
        such.map(|column| column.name.clone()).collect()
    };
    let kept = survey.rows - if plan.drop_na { survey.incomplete_rows } else { 0 };
    let memory = choose.memory(plan.size(kept, dim, functions.len()));
    let landmarks = choose.landmarks_of(kept, dim);
    let work = is_whole.then(|| Work { pairs: choose.kernel_values(kept, dim), landmarks });
    let draws = if is_whole && is_file && landmarks.is_none() { diagnosis(plan, choose)? } else { None };
    Ok(Info {
        version: version().to_string(),
        instruction_set: supersample::instruction_set(),
        device: choose.compute.device.to_string(),
        files: plan.files.iter().map(|file| file.display().to_string()).collect(),
        format: survey.format.to_string(),
        rows: survey.rows,
        chains: draws.filter(|draws| !draws.is_assumed).map_or(survey.chains, |draws| draws.chains),
        warmup: survey.warmup,
        mean_rows: survey.mean_rows,
        incomplete: survey.incomplete_rows,
        drop_na: plan.drop_na,
        columns,
        functions,
        memory,
        work,
        draws,
        notes: survey.notes.iter().filter(|note| !is_told(note)).map(ToString::to_string).collect(),
    })
}

/// Whether other lines say it already.
fn is_told(note: &Note) -> bool {
    matches!(note, Note::NotNumbers { .. } | Note::MeanRows { .. })
}

/// Diagnoses all rows as draws: their kernel ESS, and whether chains agree. `None` where that is not known.
fn diagnosis(plan: &DrawsPlan, choose: &Choose) -> Result<Option<Diagnosis>> {
    let mut draws = Draws::read(&plan.files, &plan.reading())?;
    let points = Points::from_vec(draws.take_values(), draws.dim())?;
    let mut rows = Rows::weighted(points, plan.row_weights(draws.weights()))?;
    if let Some(chains) = chains_of(&draws).0 {
        rows = rows.chains(chains)?;
    }
    Ok(Problem::new(rows, choose.clone())?.diagnose(&unwatched).ok())
}
