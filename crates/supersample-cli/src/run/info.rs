//! Verb `info`: what files hold, how they would be used, and what a run would take.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use anyhow::Result;
use supersample::task::{Choose, Diagnosis, EmbeddingChoice, Problem, Rows};
use supersample::{MeanEmbedding, Points, unwatched};
use supersample_io::{Draws, Note, Survey, Use};

use super::functions::FunctionTable;
use super::input::chains_of;
use super::{Outcome, with_threads};
use crate::args::version;
use crate::plan::{DrawsPlan, InfoPlan, is_stdout};
use crate::report::{ColumnInfo, Info, Rate};
use crate::terminal::output::{Output, to_stdout};

/// Number of timed kernel values: a few hundredths of a second.
const TIMED: usize = 20_000_000;
/// Largest number of rows read for it: with more, a kernel value does not cost more.
const TIMED_ROWS: usize = 100_000;

/// Rows herded before those that are timed, how many are timed at most, and for how long.
const WARM_UP: usize = 3;
const MOST_HERDED: u32 = 200;
const HERDED_FOR: Duration = Duration::from_millis(100);

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
    // Rows that a run would refuse are not timed, nor is stdin, which can be read only once.
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
    let found = if is_whole && is_file { Some(rate(plan, choose, kept)?) } else { None };
    let (rate, draws) = found.unzip();
    Ok(Info {
        version: version().to_string(),
        instruction_set: supersample::instruction_set(),
        device: choose.compute.device.to_string(),
        files: plan.files.iter().map(|file| file.display().to_string()).collect(),
        format: survey.format.to_string(),
        rows: survey.rows,
        chains: draws.flatten().filter(|draws| !draws.is_assumed).map_or(survey.chains, |draws| draws.chains),
        warmup: survey.warmup,
        mean_rows: survey.mean_rows,
        incomplete: survey.incomplete_rows,
        drop_na: plan.drop_na,
        columns,
        functions,
        memory,
        rate,
        draws: draws.flatten(),
        notes: survey.notes.iter().filter(|note| !is_told(note)).map(ToString::to_string).collect(),
    })
}

/// Whether other lines say it already.
fn is_told(note: &Note) -> bool {
    matches!(note, Note::NotNumbers { .. } | Note::MeanRows { .. })
}

/// Times the mean embedding at a few rows, which is what a run spends its time on: of all rows, or of the first of very many. Of
/// all rows how accurate they are as draws, too.
fn rate(plan: &DrawsPlan, choose: &Choose, rows: usize) -> Result<(Rate, Option<Diagnosis>)> {
    let landmarks = choose.landmarks_of(rows);
    let some = match landmarks {
        Some(_) if Draws::check_batches(&plan.files, &plan.reading()).is_ok() => Rows::new(first_rows(plan)?),
        _ => {
            let mut draws = Draws::read(&plan.files, &plan.reading())?;
            if landmarks.is_some() {
                // An .npz, of which the first rows come with all others.
                let mut values = draws.take_values();
                values.truncate(TIMED_ROWS * draws.dim());
                return timed(Rows::new(Points::from_vec(values, draws.dim())?), choose, rows);
            }
            let points = Points::from_vec(draws.take_values(), draws.dim())?;
            let rows = Rows::weighted(points, plan.row_weights(draws.weights()))?;
            match chains_of(&draws).0 {
                Some(chains) => rows.chains(chains)?,
                None => rows,
            }
        }
    };
    timed(some, choose, rows)
}

/// Times the kernel values and the herding of these rows, of `rows` in all.
fn timed(some: Rows, choose: &Choose, rows: usize) -> Result<(Rate, Option<Diagnosis>)> {
    let landmarks = choose.landmarks_of(rows);
    let problem = Problem::new(some, choose.clone())?;
    let draws = (problem.points().len() == rows).then(|| problem.diagnose(&unwatched).ok()).flatten();
    let all = problem.points().len();
    let some: Vec<usize> = (0..(TIMED / all).clamp(1, all)).collect();
    let at = problem.points().select(&some)?;
    let mut values = vec![0.0; at.len()];
    // Once to pack the points, which a run does once too.
    problem.samples().values_into(&at.select(&[0])?, &mut values[..1]);
    let begun = Instant::now();
    problem.samples().values_into(&at, &mut values);
    problem.device().check()?;
    let seconds = begun.elapsed().as_secs_f64().max(1e-9);
    let timed = all as f64 * at.len() as f64;
    let (pairs, compared) = choose.kernel_values(rows);
    let (each, per_second) = (herding_seconds(&problem, choose)?, timed / seconds);
    // With landmarks each row is herded from the candidates, and compared with all rows afterwards.
    let thousand = match landmarks {
        None => 1000.0 * each * compared,
        Some(_) => 1000.0 * (each * (compared - rows as f64) + rows as f64 / per_second),
    };
    Ok((Rate { pairs_per_second: per_second, timed, pairs, landmarks, thousand }, draws))
}

/// Seconds to herd one row, for each row that it is chosen from: a few are herded over these, with means that are not theirs,
/// which take as long.
fn herding_seconds(problem: &Problem, choose: &Choose) -> Result<f64> {
    let held = problem.points().len();
    let exact = choose.clone().embedding(EmbeddingChoice::Exact);
    let problem = Problem::new(problem.rows().clone(), exact)?;
    let mut herder = problem.recall(vec![0.5; held], &unwatched)?.herder(false)?;
    // The first ones pack the points and warm the caches.
    herder.run(WARM_UP);
    let (begun, mut herded) = (Instant::now(), 0);
    while herded < MOST_HERDED && begun.elapsed() < HERDED_FOR {
        herder.run(1);
        herded += 1;
    }
    problem.device().check()?;
    Ok(begun.elapsed().as_secs_f64() / f64::from(herded) / held as f64)
}

/// The first rows of the files.
fn first_rows(plan: &DrawsPlan) -> Result<Points> {
    let (mut values, mut dim) = (Vec::new(), 1);
    let read = Draws::in_batches(&plan.files, &plan.reading(), TIMED_ROWS, &mut |batch| {
        dim = batch.dim;
        values.extend_from_slice(batch.values);
        ControlFlow::Break(())
    });
    // An early end is an error only if there are no rows.
    if values.is_empty() {
        read?;
    }
    Ok(Points::from_vec(values, dim)?)
}
