//! Verbs `herd` and `thin`: read the draws, choose rows, write them out.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::Mutex;

use anyhow::{Result, bail};
use supersample::task::{Chosen, HerdOptions, MemoryEstimate, ThinOptions, TypicalErrors};
use supersample::weights::OptimalWeights;
use supersample::{RefineOptions, Watch};
use supersample_io::OutputFormat;

use super::advice::in_words;
use super::balance::{balanced, options_with};
use super::batches::gather;
use super::checkpoint::{Checkpoint, Claim, Keeper};
use super::held::{SomeRows, hold};
use super::memory::refused;
use super::problem::Problem;
use super::weigh::{weigh, weighing};
use super::{Outcome, check_stdout, this_run, trace, with_outputs};
use crate::plan::{ChoosePlan, Ended, check_room_for_weights};
use crate::report::{Balanced, Details, Refinement, Report, Rows, Subject};
use crate::terminal::clock::Clock;
use crate::terminal::interrupt;
use crate::terminal::output::say;
use crate::terminal::progress::Progress;
use crate::words::{counted, in_units};

/// Carries out a plan of `herd` or `thin`.
pub(crate) fn choose(plan: &ChoosePlan) -> Result<Outcome> {
    check_stdout(&plan.outputs)?;
    with_outputs(&plan.outputs, plan.threads, plan.quiet, |files| {
        let mut clock = Clock::start();
        let claim = plan.checkpoint.as_deref().map(Claim::new).transpose()?;
        let needs = |memory| memory_of(plan, memory, set_options(plan));
        let mut problem = match gather(plan, &needs)? {
            Some(problem) => problem,
            None => {
                let _progress = Progress::phase(plan.quiet, "reading");
                Problem::read(&plan.draws, needs)?
            }
        };
        clock.did("read");
        let options = refine_options(plan, &problem)?;
        if plan.draws.max_memory.is_some() && !plan.quiet {
            let needed = memory_of(plan, problem.memory(&plan.draws), options.as_ref()).needed();
            say(&format!("the run needs about {} of memory\n", in_units(needed)));
        }
        let target = target(plan, &problem)?;
        if plan.weigh.is_some() {
            check_room_for_weights(target.format)?;
        }
        problem.notes.extend(problem.draws.check_output(target)?.iter().map(ToString::to_string));
        let (mut problem, earlier) = begun(plan, problem)?;
        problem.sum_batches(plan)?;
        problem.compare_all(plan.draws.chosen, plan.quiet)?;
        clock.did("compared");
        let (chosen, kept) = find(plan, &problem, options.as_ref(), &earlier, claim)?;
        let mut chosen = problem.restate(plan, chosen)?;
        clock.did("chose");
        if plan.sorted {
            chosen.rows.sort_unstable();
        }
        let report = report_on(plan, &problem, &chosen, options.as_ref())?;
        clock.did("evaluated");
        files.is_partial = report.run.ended == Some(Ended::Interrupted);
        let weights = report.details.weighing.as_ref().map(|weighing| weighing.weights.as_slice());
        let rows = problem.file_rows(&chosen.rows);
        files.write_rows(|out| Ok(problem.draws.write_rows(&rows, weights, target, out)?));
        let mut told = files.write_report(&report);
        let number = |row| problem.draws.row_number(problem.file_row(row));
        files.write_trace(|out| trace::write_rows(&chosen.trace, number, out));
        if let Err(failure) = kept {
            files.failed(failure);
        }
        clock.did("wrote");
        told.text += &clock.line(plan.timing);
        Ok(told)
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

fn set_options(plan: &ChoosePlan) -> Option<&RefineOptions> {
    plan.set.as_ref().map(|set| &set.options)
}

/// What memory the whole run takes.
fn memory_of(plan: &ChoosePlan, memory: MemoryEstimate, options: Option<&RefineOptions>) -> MemoryEstimate {
    // Without a number there may be as many rows as there are; a set of more than this is rare.
    const MANY: usize = 10_000;
    let size = plan.stop.number.unwrap_or(MANY);
    let memory = options.map_or(memory, |options| memory.thinning(size, options));
    if plan.weigh.is_some() { memory.weighing(size) } else { memory }
}

/// How rows are made better as a set, where they are, with what else is asked of them and within the memory there is.
fn refine_options(plan: &ChoosePlan, problem: &Problem) -> Result<Option<RefineOptions>> {
    let Some(set) = &plan.set else { return Ok(None) };
    let mut options = set.options.clone();
    if set.balance.is_asked_for() {
        let groups = problem.groups.as_ref();
        options = options_with(&set.balance, options, &problem.draws, plan.stop.number, groups)?;
    }
    if let Some(limit) = plan.draws.max_memory {
        let memory = memory_of(plan, problem.memory(&plan.draws), Some(&options));
        options = options.memory(memory.kept_within(limit).map_err(refused)?);
    }
    Ok(Some(options))
}

/// The problem with what an earlier run has left in its checkpoint: μ, and the rows that it had chosen.
fn begun(plan: &ChoosePlan, problem: Problem) -> Result<(Problem, Vec<usize>)> {
    if plan.resume.is_none() && plan.checkpoint.is_none() {
        return Ok((problem, Vec::new()));
    }
    let fingerprint = problem.fingerprint(&plan.draws, plan.unique);
    let resumed = plan.resume.as_deref().map(|path| Checkpoint::read(path, fingerprint)).transpose()?;
    let in_the_way = plan.checkpoint.as_deref().filter(|path| plan.resume.as_deref() != Some(*path));
    let left = in_the_way.map(|path| Checkpoint::left(path, fingerprint)).transpose()?.flatten();
    if let (Some(path), Some(left), None, false) = (in_the_way, &left, &resumed, plan.quiet) {
        let rows = counted(left.rows.len(), "row");
        say(&format!("{}: going on from the {rows} of an earlier run\n", path.display()));
    }
    // Two checkpoints of one run begin alike: the longer has all of the other.
    let longest = resumed.into_iter().chain(left).max_by_key(|checkpoint| checkpoint.rows.len());
    Ok(match longest {
        Some(Checkpoint { mu, rows, .. }) => (problem.recall(mu)?, rows),
        None => (problem, Vec::new()),
    })
}

/// Chooses the rows, keeping a checkpoint where one is claimed; `earlier` rows come first. With them comes whether the
/// checkpoint could be kept.
fn find(
    plan: &ChoosePlan,
    problem: &Problem,
    options: Option<&RefineOptions>,
    earlier: &[usize],
    claim: Option<Claim>,
) -> Result<(Chosen, Result<()>)> {
    let keeper = claim.map(|claim| {
        let mu = problem.task.recalled().unwrap_or_default().into_owned();
        let fingerprint = problem.fingerprint(&plan.draws, plan.unique);
        Keeper::new(claim, Checkpoint { fingerprint, mu, rows: earlier.to_vec() })
    });
    let keeper = Mutex::new(keeper);
    let with_keeper = |work: fn(&mut Keeper, Option<usize>), row: Option<usize>| {
        if let Some(keeper) = &mut *keeper.lock().expect("no keeper panics") {
            work(keeper, row);
        }
    };
    let limit = plan.stop.number.unwrap_or(problem.task.rows().len());
    let progress = Progress::steps(plan.quiet, "choosing", limit);
    interrupt::can_end_early(true);
    let watch = |reached: supersample::Progress| {
        if !matches!(reached, supersample::Progress::Herding { .. }) {
            with_keeper(|keeper, _| keeper.herded(), None);
        }
        progress.show(reached);
        interrupt::asked_to_end()
    };
    let seen = |pick: &supersample::Pick| {
        with_keeper(Keeper::saw, pick.index);
        ControlFlow::Continue(())
    };
    let chosen = match options {
        None => {
            let options = HerdOptions::default().unique(plan.unique).earlier(earlier);
            problem.task.herd_seeing(&plan.stop, &options, seen, &watch)
        }
        Some(options) => {
            let options = ThinOptions::default().refine(options.clone()).earlier(earlier);
            problem.task.thin_seeing(&plan.stop, &options, seen, &watch)
        }
    };
    let kept = keeper.into_inner().expect("no keeper panics").map_or(Ok(()), Keeper::finish);
    Ok((chosen?, kept))
}

fn report_on<'a>(
    plan: &ChoosePlan,
    problem: &'a Problem,
    chosen: &Chosen,
    options: Option<&RefineOptions>,
) -> Result<Report<'a>> {
    let mut warnings = problem.warnings.clone();
    warnings.extend(chosen.advice.as_ref().and_then(|advice| in_words(advice, &[])));
    let subset = problem.task.rows().select(&chosen.rows)?;
    let mut ended = chosen.ended;
    let weights = match plan.weigh {
        Some(rule) => {
            let find = |watch: Watch<'_>| problem.task.weigh(&chosen.rows, rule, watch);
            let found = weigh(find, plan.quiet, &mut warnings)?;
            if found.is_interrupted {
                ended = Ended::Interrupted;
            }
            found.weights
        }
        None => None,
    };
    let weighing = match (plan.weigh, &weights) {
        (Some(rule), Some(found)) => {
            let mut equal = TypicalErrors::of(&problem.task.quality(&subset, None)?);
            (equal.cdf, equal.functions) = (chosen.cdf, chosen.functions);
            Some(weighing(rule, found, equal))
        }
        _ => None,
    };
    let progress = Progress::phase(plan.quiet, "comparing with other subsets");
    // A comparison that nobody will see is not made.
    let is_seen = !plan.quiet || plan.outputs.json.is_some() || plan.outputs.report.is_some();
    let alone = || problem.task.summarise_alone(chosen, weights.as_ref());
    let compared = || problem.task.summarise(chosen, weights.as_ref(), &|_| interrupt::asked_to_end());
    let found = match if is_seen { compared() } else { alone() } {
        // The rows are there, and so is their own error: only what others would have done is not known.
        Err(supersample::Error::Interrupted) => {
            ended = Ended::Interrupted;
            alone()?
        }
        found => found?,
    };
    drop(progress);
    let shares = weights.map(|OptimalWeights { weights, .. }| Cow::Owned(weights));
    let some = SomeRows {
        subject: if plan.set.is_some() { Subject::Thinned } else { Subject::Herded },
        rows: Rows { values: Cow::Owned(subset.as_slice().to_vec()), dim: problem.draws.dim(), shares },
        distinct: Some(chosen.rows.iter().collect::<HashSet<_>>().len()),
        numbers: Some(
            problem.file_rows(&chosen.rows).iter().map(|&row| problem.draws.row_number(row)).collect(),
        ),
        found,
        sampled_from: chosen.sampled_from,
        lowered: Some(problem.lowered(&plan.draws)),
        trace: Some(&chosen.trace),
        is_in_order: !plan.sorted,
        has_page: plan.outputs.report.is_some(),
        notes: problem.notes.clone(),
        warnings,
    };
    let details = Details {
        refinement: refinement(plan, problem, chosen)?,
        weighing,
        balanced: plan_balanced(plan, problem, chosen, options),
        polishing: None,
    };
    let held = hold(&plan.draws, problem, some)?;
    Ok(Report::on_choice(held, this_run(plan.stop, Some(ended)), details))
}

fn plan_balanced(
    plan: &ChoosePlan,
    problem: &Problem,
    chosen: &Chosen,
    options: Option<&RefineOptions>,
) -> Option<Balanced> {
    let balance = plan.set.as_ref().map(|set| &set.balance).filter(|balance| balance.is_asked_for())?;
    Some(balanced(balance, options?, &chosen.rows, problem.groups.as_ref()))
}

/// What swaps and the search have gained.
fn refinement(plan: &ChoosePlan, problem: &Problem, chosen: &Chosen) -> Result<Option<Refinement>> {
    let Some(refined) = &chosen.refined else { return Ok(None) };
    Ok(Some(Refinement {
        is_herded: plan.stop.goal(&problem.task.error_scale()?).is_none(),
        start_error: refined.start_error,
        swapped_error: refined.swept_error,
        searched_error: refined.error.filter(|_| refined.searched),
        sweeps: refined.sweeps,
        swaps: refined.swaps,
        lowered: refined.lowered.map(|lowered| (lowered.start, lowered.swept, lowered.end)),
        kernel_rows: refined.kernel_rows,
        converged: refined.converged,
    }))
}
