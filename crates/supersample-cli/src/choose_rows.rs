//! The verbs `herd` and `thin`: read the draws, choose rows, write them out.

use std::collections::HashSet;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, bail, ensure};
use supersample::{Domain, Empirical, Herder, MeanEmbedding};
use supersample_io::OutputFormat;

use crate::checkpoint::{Checkpoint, Claim, Keeper};
use crate::choose::{Choice, Chosen, Ended, SetPlan, as_set, herd};
use crate::compare::{TypicalErrors, compare};
use crate::html;
use crate::interrupt;
use crate::numbers::count;
use crate::output::{Output, to_stdout};
use crate::plan::{ChoosePlan, check_room_for_weights};
use crate::problem::{Problem, in_units, memory_needed};
use crate::progress::Progress;
use crate::report::{Report, Subject, precision_name};
use crate::rows::Rows;
use crate::weighing::weigh;
use crate::{Outcome, command_line, say, with_threads};

pub(crate) fn run(plan: &ChoosePlan) -> Result<Outcome> {
    // Before the work, so that a mistyped folder costs no one an hour.
    let create = |path: &Option<PathBuf>| path.as_deref().map(Output::create).transpose();
    let files = &plan.outputs;
    let (mut output, mut indices, mut trace) =
        (create(&files.rows)?, create(&files.indices)?, create(&files.trace)?);
    let (mut json, mut page) = (create(&files.json)?, create(&files.report)?);
    let claim = plan.checkpoint.as_deref().map(Claim::new).transpose()?;

    with_threads(plan.threads, || {
        let progress = Progress::phase(plan.quiet, "reading");
        let problem = Problem::read(&plan.draws)?;
        drop(progress);
        if plan.draws.max_memory.is_some() && !plan.quiet {
            let needed = memory_needed(problem.draws.len(), problem.draws.dim());
            say(&format!("the run needs about {} of memory\n", in_units(needed)));
        }
        let target = target(plan, &problem)?;
        if plan.weigh.is_some() {
            check_room_for_weights(target.format)?;
        }
        let (chosen, herder, report) = choose(plan, &problem, claim)?;

        let rows = chosen.rows();
        let weights = report.weighing.as_ref().map(|weighing| weighing.weights.as_slice());
        if let Some(indices) = &mut indices {
            indices.fill(|out| Ok(rows.iter().try_for_each(|row| writeln!(out, "{row}"))?))?;
        }
        if let Some(trace) = &mut trace {
            trace.fill(|out| write_trace(&chosen.choices, out))?;
        }
        if let Some(json) = &mut json {
            json.fill(|out| Ok(out.write_all(report.to_json(&rows).as_bytes())?))?;
        }
        if let Some(page) = &mut page {
            let subset = problem.rows().pick(&rows);
            let subset = Rows { values: &subset, dim: problem.draws.dim(), shares: weights };
            let curve = html::Curve::new(&chosen.choices, &report, &herder);
            let text = html::page(&report, problem.rows(), subset, Some(&curve));
            page.fill(|out| Ok(out.write_all(text.as_bytes())?))?;
        }
        match &mut output {
            Some(output) => {
                output.fill(|out| Ok(problem.draws.write_rows(&rows, weights, target, out)?))?
            }
            None => to_stdout(|out| Ok(problem.draws.write_rows(&rows, weights, target, out)?))?,
        }
        // Only now that every write has succeeded does any file appear.
        [output, indices, trace, json, page].into_iter().flatten().try_for_each(Output::finish)?;
        if !plan.quiet {
            say(&report.to_text());
        }
        Ok(Outcome::of(&report))
    })
}

/// The format of the rows: what the ending asks for, else the input's.
fn target(plan: &ChoosePlan, problem: &Problem) -> Result<OutputFormat> {
    let format = problem.draws.format();
    let target = plan.outputs.target.unwrap_or(OutputFormat::plain(format));
    if plan.outputs.rows.is_none() && !target.format.is_text() && std::io::stdout().is_terminal() {
        bail!("{format} is not for a terminal; name a file with -o, or send it through a pipe");
    }
    Ok(target)
}

fn choose(plan: &ChoosePlan, problem: &Problem, claim: Option<Claim>) -> Result<(Chosen, Herder, Report)> {
    let fingerprint = problem.fingerprint(plan.unique);
    let earlier = plan.resume.as_deref().map(|path| Checkpoint::read(path, fingerprint)).transpose()?;
    let limit = plan.stop.number.unwrap_or(problem.draws.len());
    let refinement = match &plan.refinement {
        Some(options) if plan.balance.is_asked_for() => {
            let (rows, groups) = (problem.draws.len(), problem.groups.as_ref());
            Some(plan.balance.options(options.clone(), rows, plan.stop.number, groups)?)
        }
        options => options.clone(),
    };
    let (mu, mut herder, earlier) = begin(plan, problem, earlier)?;
    let single_draw = mu.mean_diagonal().zip(herder.squared_norm()).map(|(diagonal, norm)| diagonal - norm);
    let state = || Checkpoint { fingerprint, mu: herder.candidate_values().to_vec(), rows: Vec::new() };
    let mut keeper = claim.map(|claim| Keeper::new(claim, state())).transpose()?;
    let progress = Progress::steps(plan.quiet, "choosing", limit);
    interrupt::can_end_early(true);
    let chosen = match plan.balance.is_asked_for() {
        true => Chosen { choices: Vec::new(), ended: Ended::Number },
        false => herd(&mut herder, &earlier, &plan.stop, limit, single_draw, |choices| {
            progress.reached(choices.len());
            match &mut keeper {
                Some(keeper) => keeper.saw(choices.last().and_then(|choice| choice.row)),
                None => Ok(()),
            }
        })?,
    };
    if let Some(keeper) = &keeper {
        keeper.save()?;
    }
    drop(progress);
    let (herder, chosen) = match &refinement {
        None => (herder, chosen),
        Some(options) => {
            let progress = Progress::phase(plan.quiet, "swapping rows while that helps");
            let (pool, goal) = (problem.points.clone(), plan.stop.goal(single_draw));
            let options = options.clone();
            as_set(herder, chosen, SetPlan { mu: mu.clone(), pool, options, goal, limit, progress })?
        }
    };
    let balanced = refinement
        .filter(|_| plan.balance.is_asked_for())
        .map(|options| plan.balance.of_chosen(&options, &chosen.rows(), problem.groups.as_ref()));
    let report = Report { balanced, ..summarise(plan, problem, &chosen, &mu, &herder)? };
    Ok((chosen, herder, report))
}

/// The target with μ on its rows, a herder of it, and the rows chosen by an earlier run.
fn begin(
    plan: &ChoosePlan,
    problem: &Problem,
    earlier: Option<Checkpoint>,
) -> Result<(Arc<Empirical>, Herder, Vec<usize>)> {
    let mu = problem.embedding()?;
    let (mu, rows) = match earlier {
        Some(Checkpoint { mu: values, rows, .. }) => (mu.recall(values)?, rows),
        None => {
            compare_all(&mu, plan.quiet)?;
            (mu, Vec::new())
        }
    };
    let mu = Arc::new(mu);
    let herder = Herder::shared(mu.clone(), Domain::Pool(problem.points.clone()))?.unique(plan.unique);
    Ok((mu, herder, rows))
}

/// The long phase: every row is compared with every other. Ctrl-C ends it at once.
pub(crate) fn compare_all(mu: &Empirical, quiet: bool) -> Result<()> {
    let rows = mu.points().len();
    let what = format!("comparing {} rows with each other", count(rows));
    let progress = Progress::rows(quiet, &what, rows);
    interrupt::can_end_early(true);
    let prepared = mu.prepare(&|reached| {
        progress.show(reached);
        interrupt::asked_to_end()
    });
    interrupt::can_end_early(false);
    drop(progress);
    prepared?;
    // It may have come in the last moment.
    ensure!(!interrupt::requested(), supersample::Error::Interrupted);
    Ok(())
}

fn summarise(
    plan: &ChoosePlan,
    problem: &Problem,
    chosen: &Chosen,
    mu: &Empirical,
    herder: &Herder,
) -> Result<Report> {
    let rows = chosen.rows();
    let draws = &problem.draws;
    let reference = problem.reference()?;
    let (subset, mut warnings) = (problem.rows().pick(&rows), problem.warnings.clone());
    let mut weighing = match plan.weigh {
        Some(rule) => {
            let _progress = Progress::phase(plan.quiet, "finding the weights");
            weigh(mu, &problem.points.select(&rows)?, rule, &mut warnings)?
        }
        None => None,
    };
    if let Some(weighing) = &mut weighing {
        weighing.equal_errors = TypicalErrors::of(&reference.quality(&subset, None)?);
    }
    let weights = weighing.as_ref().map(|weighing| weighing.weights.as_slice());
    let owned = |names: Vec<&str>| names.iter().map(|name| name.to_string()).collect();
    Ok(Report {
        subject: Subject::Chosen,
        verb: plan.verb,
        command: command_line(),
        files: plan.draws.files.iter().map(|file| file.display().to_string()).collect(),
        rows: draws.len(),
        warmup: draws.warmup(),
        stop: plan.stop,
        ended: Some(chosen.ended),
        chosen: rows.len(),
        distinct: rows.iter().collect::<HashSet<_>>().len(),
        unused: owned(draws.unused_names()),
        weight_column: plan.draws.reading().weight_column.map(str::to_string),
        bandwidth_is_median: plan.draws.kernel.is_median(),
        scale: plan.draws.scale,
        precision: precision_name(herder.precision()),
        coordinates: problem.points.dim(),
        constant: problem.scaling.constant().to_vec(),
        error: weighing.as_ref().map_or(chosen.error(), |weighing| weighing.error),
        error_floor: herder.error_floor(),
        single_draw: mu.mean_diagonal().zip(herder.squared_norm()).map(|(diagonal, norm)| diagonal - norm),
        comparison: compare(herder, problem.rows(), rows.len(), &reference)?,
        quality: Some(reference.quality(&subset, weights)?),
        parameters: owned(draws.parameter_names()),
        kernel: problem.kernel.clone(),
        weighing,
        balanced: None,
        polished: None,
        warnings,
    })
}

fn write_trace(choices: &[Choice], out: &mut dyn Write) -> Result<()> {
    writeln!(out, "t,row,error,weight_norm,margin")?;
    for Choice { row, t, error, weight_norm, margin, .. } in choices {
        let row = row.map(|row| row.to_string()).unwrap_or_default();
        writeln!(out, "{t},{row},{},{},{}", cell(*error), cell(*weight_norm), cell(*margin))?;
    }
    Ok(())
}

/// Debug keeps every digit and, unlike Display, is short for tiny numbers; what is not known stays empty.
pub(crate) fn cell(value: Option<f64>) -> String {
    value.map(|value| format!("{value:?}")).unwrap_or_default()
}
