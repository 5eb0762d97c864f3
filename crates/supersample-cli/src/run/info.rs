//! Verb `info`: what files hold, how they would be used, and what a run would take.

use std::time::Instant;

use anyhow::Result;
use supersample::task::{Problem as Task, ProblemOptions};
use supersample::{MeanEmbedding, Points};
use supersample_io::{Draws, Note, Survey, Use};

use super::functions::FunctionTable;
use super::problem::memory_of;
use super::{Outcome, with_threads};
use crate::args::version;
use crate::plan::{DrawsPlan, InfoPlan};
use crate::report::{ColumnInfo, Info, Rate};
use crate::terminal::output::{Output, to_stdout};

/// So many kernel values are timed: a few hundredths of a second.
const TIMED: usize = 20_000_000;

/// Carries out a plan of `info`.
pub(crate) fn info(plan: &InfoPlan) -> Result<Outcome> {
    let json = match plan.json.as_deref() {
        Some(path) if path.as_os_str() != "-" => Some(Output::create(path)?),
        _ => None,
    };
    let info = with_threads(plan.threads, || look(&plan.draws))?;
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

fn look(plan: &DrawsPlan) -> Result<Info> {
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
    // Rows that a run would refuse are not timed, nor is stdin, which can be read only once.
    let is_file = !plan.files.iter().any(|file| file.as_os_str() == "-");
    let is_whole = survey.incomplete_rows == 0 || plan.drop_na && survey.incomplete_rows < survey.rows;
    // A run would refuse them for what the functions are refused for here.
    let functions = if plan.functions.are_asked_for() && is_whole && is_file {
        let mut draws = Draws::read(&plan.files, &plan.reading())?;
        FunctionTable::read(plan, &mut draws)?.map_or(Vec::new(), |functions| functions.names)
    } else {
        let such = survey.columns.iter().filter(|column| column.used_as == Use::Function);
        such.map(|column| column.name.clone()).collect()
    };
    let kept = survey.rows - if plan.drop_na { survey.incomplete_rows } else { 0 };
    let memory = memory_of(plan, kept, dim, functions.len()).needed();
    Ok(Info {
        version: version().to_string(),
        instruction_set: supersample::instruction_set(),
        device: plan.device.name().to_string(),
        files: plan.files.iter().map(|file| file.display().to_string()).collect(),
        format: survey.format.to_string(),
        rows: survey.rows,
        chains: survey.chains,
        warmup: survey.warmup,
        mean_rows: survey.mean_rows,
        incomplete: survey.incomplete_rows,
        drop_na: plan.drop_na,
        columns,
        functions,
        memory,
        rate: if is_whole && is_file { Some(rate(plan)?) } else { None },
        notes: survey.notes.iter().filter(|note| !is_told(note)).map(ToString::to_string).collect(),
    })
}

/// Whether other lines say it already.
fn is_told(note: &Note) -> bool {
    matches!(note, Note::NotNumbers { .. } | Note::MeanRows { .. })
}

/// Times the mean embedding of all rows at a few of them, which is what a run spends its time on.
fn rate(plan: &DrawsPlan) -> Result<Rate> {
    let mut draws = Draws::read(&plan.files, &plan.reading())?;
    let rows = Points::from_vec(draws.take_values(), draws.dim())?;
    let mut options = ProblemOptions::default().scale(plan.scale).precision(plan.precision);
    (options.kernel, options.device) = (plan.kernel.clone(), plan.device.clone());
    let task = Task::new(rows, options)?;
    let all = task.points().len();
    let some: Vec<usize> = (0..(TIMED / all).clamp(1, all)).collect();
    let at = task.points().select(&some)?;
    let mut values = vec![0.0; at.len()];
    // Once to pack the points, which a run does once too.
    task.samples().values_into(&at.select(&[0])?, &mut values[..1]);
    let begun = Instant::now();
    task.samples().values_into(&at, &mut values);
    plan.device.check()?;
    let seconds = begun.elapsed().as_secs_f64().max(1e-9);
    let timed = all as f64 * at.len() as f64;
    let pairs = all as f64 * (all as f64 - 1.0) / 2.0;
    Ok(Rate { pairs_per_second: timed / seconds, timed, pairs, rows: all })
}
