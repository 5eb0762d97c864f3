//! Verbs `herd` and `thin`: read the draws, choose rows, write them out.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;

use anyhow::{Error, Result, bail};
use supersample::task::{
    Calibrate, Choose, Chosen, Continued, ErrorsKnown, Method, Problem, Rows, Target, stream,
};
use supersample::weights::WeightRule;
use supersample_io::OutputFormat;

use super::balance::{balanced, options_with};
use super::checkpoint::{Checkpoint, Claim, Keeper};
use super::held::{SomeRows, hold};
use super::input::Input;
use super::{NOT_WEIGHED, Outcome, batches, check_stdout, each, this_run, trace, with_outputs};
use crate::plan::{ChoosePlan, Ended, check_room_for_weights};
use crate::report::{Details, Refinement, Report, Subject, Weighing};
use crate::terminal::clock::Clock;
use crate::terminal::interrupt;
use crate::terminal::output::say;
use crate::terminal::progress::Progress;
use crate::words::{Names, Style, count, counted, in_units, printable};

/// Carries out a plan of `herd` or `thin`.
pub(crate) fn choose(plan: &ChoosePlan) -> Result<Outcome> {
    check_stdout(&plan.outputs);
    with_outputs(&plan.outputs, plan.threads, plan.quiet, |files| {
        let mut clock = Clock::start();
        let inputs = &plan.outputs.inputs;
        let claim = plan.checkpoint.as_deref().map(|path| Claim::new(path, inputs)).transpose()?;
        let mut input = Input::new(&plan.draws, &plan.choose, plan.quiet);
        if let Some(column) = &plan.each {
            let rows = read(plan, &mut input)?;
            clock.did("read");
            let mut outcome = each::choose(plan, column, &mut input, rows, files)?;
            clock.did("chose");
            outcome.text += &clock.line(plan.timing);
            return Ok(outcome);
        }
        let problem = problem_of(plan, &mut input)?;
        clock.did("read");
        let (mut notes, warnings) = input.notes_and_warnings(&problem);
        notes.extend(batches::note(plan, &problem));
        if let (Some(_), Err(why)) = (problem.gathered(), problem.check_diagnosed()) {
            notes.push(why.to_string());
        }
        if plan.choose.compute.max_memory.is_some() && !plan.quiet {
            let size = plan.draws.size(problem.rows().len(), problem.rows().dim(), input.functions.len());
            let block = if problem.drawn().is_some() { batches::block_bytes(plan) } else { 0 };
            let needed = problem.choose().memory(size).saturating_add(block);
            say(&format!("the run needs about {} of memory\n", in_units(needed)));
        }
        let format = format_of_rows(plan, &input)?;
        if plan.choose.weights.is_some() {
            check_room_for_weights(format.format)?;
        }
        notes.extend(input.draws().check_output(format)?.iter().map(ToString::to_string));
        let (fingerprint, earlier) = earlier(plan, &input, &problem)?;
        let (target, earlier) = match earlier {
            Some(Checkpoint { mu, rows, .. }) => {
                (stream::Source::work(&mut input, |watch| problem.recall(mu, watch))?, rows)
            }
            None => (stream::prepare(&mut input, &problem)?, Vec::new()),
        };
        clock.did("compared");
        let keeper = claim.map(|claim| {
            let mu = target.recalled().into_owned();
            Keeper::new(claim, Checkpoint { fingerprint, mu, rows: earlier.clone() })
        });
        let (chosen, kept) = find(&target, &earlier, keeper, plan.quiet)
            .map_err(|error| error.downcast().map_or_else(|error| error, |refusal| input.refused(refusal)))?;
        let chosen = measured(&mut input, &target, chosen)?;
        clock.did("chose");
        let chosen = if plan.sorted { chosen.sorted() } else { chosen };
        let report = report_on(plan, &input, &target, &chosen, (notes, warnings))?;
        clock.did("evaluated");
        files.is_partial = report.run.ended == Some(Ended::Interrupted);
        let draws = input.draws();
        let weights = chosen.weights.as_ref();
        let weights: Option<Vec<f64>> =
            weights.map(|found| found.weights.iter().map(|weight| weight * plan.total).collect());
        files.write_rows(|out| Ok(draws.write_rows(&chosen.rows, weights.as_deref(), format, out)?));
        let mut outcome = files.write_report(&report);
        files.write_trace(|out| trace::write_rows(&chosen.trace, |row| draws.row_number(row), out));
        if let Err(failure) = kept {
            files.failed(failure);
        }
        if is_not_calibrated(plan, &chosen) && outcome.outcome == Outcome::Done {
            outcome.outcome = Outcome::NotReached;
        }
        // To give back the memory of many rows takes a while, which is part of the time.
        drop(report);
        drop((target, chosen, problem, input));
        clock.did("wrote");
        outcome.text += &clock.line(plan.timing);
        Ok(outcome)
    })
}

/// Whether the chosen rows could not have the means that their weights were to give them.
pub(super) fn is_not_calibrated(plan: &ChoosePlan, chosen: &Chosen) -> bool {
    plan.choose.weights == Some(WeightRule::Calibrated) && chosen.weights.is_none()
}

/// The problem of the files, gone through in batches or read whole.
fn problem_of(plan: &ChoosePlan, input: &mut Input<'_>) -> Result<Problem> {
    if batches::are_wanted(plan)? {
        return stream::problem(input, batches::without_blocks(plan)?);
    }
    let (rows, choose) = read(plan, input)?;
    input.problem(rows, choose)
}

/// All rows of the files, and the choice with what refers to their numbers and names.
fn read(plan: &ChoosePlan, input: &mut Input<'_>) -> Result<(Rows, Choose)> {
    let mut choose = plan.choose.clone();
    let _progress = Progress::phase(plan.quiet, "reading");
    let rows = input.read()?;
    if let Some(names) = &plan.calibrate {
        choose.calibrate = calibrated(names, input)?;
    }
    if let (Method::Thin(refine), true) = (&mut choose.method, plan.balance.is_asked_for()) {
        let (draws, stop, groups) = (input.draws(), choose.stop, input.groups.as_ref());
        *refine = options_with(&plan.balance, refine.clone(), draws, &stop, groups)?;
    }
    Ok((rows, choose))
}

/// The columns and functions of these names.
fn calibrated(names: &[String], input: &Input<'_>) -> Result<Calibrate> {
    let (parameters, functions) = (input.draws().parameter_names(), &input.functions);
    let (mut columns, mut others) = (Vec::new(), Vec::new());
    for name in names {
        let column = parameters.iter().position(|known| known == name);
        match (column, functions.iter().position(|known| known == name)) {
            (Some(column), _) => columns.push(column),
            (None, Some(function)) => others.push(function),
            (None, None) => bail!(
                "--calibrate: there is no column or function '{}'; there are {}",
                printable(name),
                parameters
                    .iter()
                    .copied()
                    .chain(functions.iter().map(String::as_str))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        }
    }
    Ok(Calibrate::only(columns, others))
}

/// The format of the rows: what the ending asks for, else the input's.
pub(super) fn format_of_rows(plan: &ChoosePlan, input: &Input<'_>) -> Result<OutputFormat> {
    let format = input.draws().format();
    let target = plan.outputs.target.unwrap_or(OutputFormat::plain(format));
    if plan.outputs.rows.is_none() && !target.format.is_text() && std::io::stdout().is_terminal() {
        bail!("{format} cannot be printed on a terminal; name a file with -o, or use a pipe");
    }
    Ok(target)
}

/// The fingerprint of this run, if needed, and the checkpoint of an earlier run: μ and its rows.
fn earlier(plan: &ChoosePlan, input: &Input<'_>, problem: &Problem) -> Result<(u64, Option<Checkpoint>)> {
    if plan.resume.is_none() && plan.checkpoint.is_none() {
        return Ok((0, None));
    }
    let fingerprint = input.fingerprint(problem);
    let is_regularised = plan.draws.scores.as_ref().is_some_and(|scores| scores.regularised.is_some());
    // The weight of the log-density is 1/T by default, so that another number of rows is another run.
    let explained = |error: Error| match is_regularised {
        true => error.context(
            "a run with --log-density is extended only with the same --regularise, which is 1/n by default",
        ),
        false => error,
    };
    let resumed = plan
        .resume
        .as_deref()
        .map(|path| Checkpoint::read(path, fingerprint))
        .transpose()
        .map_err(explained)?;
    let in_the_way = plan.checkpoint.as_deref().filter(|path| plan.resume.as_deref() != Some(*path));
    let left =
        in_the_way.map(|path| Checkpoint::left(path, fingerprint)).transpose().map_err(explained)?.flatten();
    let is_said = resumed.is_none() && left.is_some() && !plan.quiet;
    // Two checkpoints of one run begin alike: the longer has all of the other.
    let longest = resumed.into_iter().chain(left).max_by_key(|checkpoint| checkpoint.rows.len());
    if let Some(checkpoint) = &longest {
        let (kept, wanted) = (problem.landmarks_recalled(checkpoint.mu.len()), problem.landmark_count());
        if let (Some(kept), Some(wanted), false) = (kept, wanted, kept == wanted) {
            let path = plan.resume.as_deref().or(plan.checkpoint.as_deref()).unwrap_or(Path::new("-"));
            bail!(
                "{}: the checkpoint was made with {}, and a run of this -n uses {}, which choose other rows; continue \
                 with --landmarks {kept}, or name another file",
                path.display(),
                counted(kept, "landmark"),
                count(wanted)
            );
        }
    }
    if let (Some(path), Some(left), true) = (in_the_way, &longest, is_said) {
        let rows = counted(left.rows.len(), "row");
        say(&format!("{}: continuing from the {rows} of an earlier run\n", path.display()));
    }
    Ok((fingerprint, longest))
}

/// Chooses the rows, with a checkpoint where one is kept; `earlier` rows come first. Also returns whether the
/// checkpoint could be written.
fn find(
    target: &Target,
    earlier: &[usize],
    keeper: Option<Keeper>,
    quiet: bool,
) -> Result<(Chosen, Result<()>)> {
    let keeper = Mutex::new(keeper);
    let with_keeper = |work: fn(&mut Keeper, Option<usize>), row: Option<usize>| {
        if let Some(keeper) = &mut *keeper.lock().expect("no keeper panics") {
            work(keeper, row);
        }
    };
    let choose = target.problem().choose();
    let limit = choose.stop.number.unwrap_or(target.problem().rows().len());
    let progress = Progress::steps(quiet, "choosing", limit);
    interrupt::can_end_early(true);
    let watch = |reached: supersample::Progress| {
        if !matches!(reached, supersample::Progress::Herding { .. }) {
            with_keeper(|keeper, _| keeper.herded(), None);
        }
        progress.show(reached);
        interrupt::asked_to_end()
    };
    let mut seen = |pick: &supersample::Pick| {
        with_keeper(Keeper::saw, pick.index);
        ControlFlow::Continue(())
    };
    let chosen = target.continued(choose, Continued { rows: earlier, seen: &mut seen }, &watch);
    let kept = keeper.into_inner().expect("no keeper panics").map_or(Ok(()), Keeper::finish);
    Ok((chosen?, kept))
}

/// Measures the error to all rows, which may take another pass over the files. Skipped if the run was interrupted.
fn measured(input: &mut Input<'_>, target: &Target, chosen: Chosen) -> Result<Chosen> {
    if target.errors_known() != ErrorsKnown::AfterPass {
        return stream::measure(input, target, chosen);
    }
    let mut unmeasured = chosen.clone();
    let found = match stream::measure(input, target, chosen) {
        Err(_) if interrupt::requested() => {
            unmeasured.ended = Ended::Interrupted;
            Ok(unmeasured)
        }
        found => found,
    };
    // A pass ends without a word to the rest of the run.
    interrupt::can_end_early(true);
    found
}

fn report_on<'a>(
    plan: &ChoosePlan,
    input: &'a Input<'_>,
    target: &'a Target,
    chosen: &Chosen,
    (notes, mut warnings): (Vec<String>, Vec<String>),
) -> Result<Report<'a>> {
    let is_interrupted = chosen.ended == Ended::Interrupted;
    if is_interrupted && target.errors_known() == ErrorsKnown::AfterPass && !chosen.rows.is_empty() {
        warnings.push(
            "the MMD is the distance to the landmarks, because the run was interrupted before its last \
                       pass over the files"
                .to_string(),
        );
    }
    let names = Names::default().columns(input.draws().parameter_names());
    warnings.extend(chosen.advice.iter().map(|advice| advice.sentence(Style::Command, &names)));
    if is_interrupted && plan.choose.weights.is_some() && chosen.weights.is_none() {
        warnings.push(NOT_WEIGHED.to_string());
    }
    let weighing = match (plan.choose.weights, &chosen.weights) {
        (Some(rule), Some(found)) => {
            let equal = target.errors_of_rows(&chosen.rows)?;
            Some(Weighing::new(rule, found.clone(), equal, &target.error_scale(), target.diagnosed()))
        }
        _ => None,
    };
    let progress = Progress::phase(plan.quiet, "comparing with other subsets");
    // The comparison is made only if it is shown.
    let is_seen = !plan.quiet || plan.outputs.json.is_some() || plan.outputs.report.is_some();
    let (found, ended) = match is_seen.then(|| target.summarise(chosen, &|_| interrupt::asked_to_end())) {
        Some(Err(supersample::Error::Interrupted)) => (target.summarise_alone(chosen)?, Ended::Interrupted),
        Some(found) => (found?, chosen.ended),
        None => (target.summarise_alone(chosen)?, chosen.ended),
    };
    drop(progress);
    let refinement = chosen.refined.clone();
    let refinement = refinement.map(|set| Refinement { is_herded: !plan.choose.stop.has_goal(), set });
    let refine = target.problem().choose().method.refine();
    let balanced = refine
        .filter(|_| plan.balance.is_asked_for())
        .map(|refine| balanced(&plan.balance, refine, &chosen.rows, input.groups.as_ref()));
    let some = SomeRows {
        subject: if refine.is_some() { Subject::Thinned } else { Subject::Herded },
        points: target.select(&chosen.rows)?,
        weights: chosen.weights.as_ref().map(|found| found.weights.clone()),
        found,
        chosen: Some(chosen),
        is_in_order: !plan.sorted,
        has_page: plan.outputs.report.is_some(),
        details: Details {
            refinement,
            weighing,
            balanced,
            polishing: None,
            overlap: chosen.overlap.clone(),
            published: chosen.published.clone(),
        },
        notes,
        warnings,
    };
    hold(input, target, some, this_run(plan.choose.stop, Some(ended)))
}
