//! Verbs `herd` and `thin`: read the draws, choose rows, write them out.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::HashSet;
use std::io::IsTerminal;
use std::sync::Arc;

use anyhow::{Result, bail};
use supersample::{Domain, Empirical, Herder, RefineOptions};
use supersample_io::Target;

use super::balance::{balanced, options_with};
use super::checkpoint::{Checkpoint, Claim, Keeper};
use super::held::{SomeRows, Yardstick};
use super::herd::{Chosen, herd, single_draw};
use super::memory::{in_units, memory_needed};
use super::problem::{Problem, compare_all};
use super::refine::{Aim, refine};
use super::weigh::weigh;
use super::{Outcome, this_run, trace, with_outputs};
use crate::plan::{Balance, ChoosePlan, Ended, check_room_for_weights};
use crate::report::{Balanced, Details, Refinement, Report, Rows, Subject, TypicalErrors};
use crate::terminal::interrupt;
use crate::terminal::output::say;
use crate::terminal::progress::Progress;

/// Carries out a plan of `herd` or `thin`.
pub(crate) fn choose(plan: &ChoosePlan) -> Result<Outcome> {
    with_outputs(&plan.outputs, plan.threads, plan.quiet, |files| {
        let claim = plan.checkpoint.as_deref().map(Claim::new).transpose()?;
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
        let found = find(plan, &problem, claim)?;
        files.write_trace(|out| trace::write_rows(&found.chosen.choices, out))?;
        let report = report_on(plan, &problem, &found)?;
        let told = files.write_report(&report)?;
        let weights = report.details.weighing.as_ref().map(|weighing| weighing.weights.as_slice());
        let rows = found.chosen.rows();
        files.write_rows(|out| Ok(problem.draws.write_rows(&rows, weights, target, out)?))?;
        Ok(told)
    })
}

/// The format of the rows: what the ending asks for, else the input's.
fn target(plan: &ChoosePlan, problem: &Problem) -> Result<Target> {
    let format = problem.draws.format();
    let target = plan.outputs.target.unwrap_or(Target::plain(format));
    if plan.outputs.rows.is_none() && !target.format.is_text() && std::io::stdout().is_terminal() {
        bail!("{format} is not for a terminal; name a file with -o, or send it through a pipe");
    }
    Ok(target)
}

/// The rows that were found, and what found them.
struct Found {
    mu: Arc<Empirical>,
    herder: Herder,
    single_draw: Option<f64>,
    chosen: Chosen,
    balanced: Option<Balanced>,
}

fn find(plan: &ChoosePlan, problem: &Problem, claim: Option<Claim>) -> Result<Found> {
    // It goes through all numbers, and only a checkpoint needs it.
    let fingerprint = LazyCell::new(|| problem.fingerprint(plan.unique));
    let earlier = plan.resume.as_deref().map(|path| Checkpoint::read(path, *fingerprint)).transpose()?;
    let limit = plan.stop.number.unwrap_or(problem.draws.len());
    let balance = plan.set.as_ref().map(|set| &set.balance).filter(|balance| balance.is_asked_for());
    let options = refine_options(plan, problem, balance)?;
    let (mu, mut herder, earlier) = begin(plan, problem, earlier)?;
    let single_draw = single_draw(&*mu, herder.squared_norm());
    let state =
        || Checkpoint { fingerprint: *fingerprint, mu: herder.candidate_values().to_vec(), rows: Vec::new() };
    let mut keeper = claim.map(|claim| Keeper::new(claim, state())).transpose()?;
    let progress = Progress::steps(plan.quiet, "choosing", limit);
    interrupt::can_end_early(true);
    let chosen = match balance {
        // Herded rows need not be balanced, so a balanced set starts from its own.
        Some(_) => Chosen { choices: Vec::new(), ended: Ended::Number, refined: None },
        None => herd(&mut herder, &earlier, &plan.stop, limit, single_draw, |choices| {
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
    let (herder, chosen) = match options.clone() {
        None => (herder, chosen),
        Some(options) => {
            let progress = Progress::phase(plan.quiet, "swapping rows while that helps");
            let (pool, goal) = (problem.points.clone(), plan.stop.goal(single_draw));
            refine(herder, chosen, Aim { mu: mu.clone(), pool, options, goal, limit, progress })?
        }
    };
    let balanced = balance
        .zip(options)
        .map(|(balance, options)| balanced(balance, &options, &chosen.rows(), problem.groups.as_ref()));
    Ok(Found { mu, herder, single_draw, chosen, balanced })
}

/// How rows are made better as a set, where they are, with what else is asked of them.
fn refine_options(
    plan: &ChoosePlan,
    problem: &Problem,
    balance: Option<&Balance>,
) -> Result<Option<RefineOptions>> {
    let Some(set) = &plan.set else { return Ok(None) };
    let options = set.options.clone();
    let Some(balance) = balance else { return Ok(Some(options)) };
    let (rows, groups) = (problem.draws.len(), problem.groups.as_ref());
    options_with(balance, options, rows, plan.stop.number, groups).map(Some)
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

fn report_on<'a>(plan: &ChoosePlan, problem: &'a Problem, found: &Found) -> Result<Report<'a>> {
    let Found { mu, herder, single_draw, chosen, balanced } = found;
    let numbers = chosen.rows();
    let reference = problem.reference()?;
    let (subset, mut warnings) = (problem.rows().pick(&numbers), problem.warnings.clone());
    let mut weighing = match plan.weigh {
        Some(rule) => {
            let _progress = Progress::phase(plan.quiet, "finding the weights");
            weigh(&**mu, &problem.points.select(&numbers)?, rule, &mut warnings)?
        }
        None => None,
    };
    if let Some(weighing) = &mut weighing {
        weighing.equal_errors = TypicalErrors::of(&reference.quality(&subset, None)?);
    }
    let weights = weighing.as_ref().map(|weighing| Cow::Owned(weighing.weights.clone()));
    let rows = SomeRows {
        subject: if plan.set.is_some() { Subject::Thinned } else { Subject::Herded },
        rows: Rows { values: Cow::Owned(subset), dim: problem.draws.dim(), shares: weights },
        distinct: numbers.iter().collect::<HashSet<_>>().len(),
        numbers: Some(numbers),
        error: weighing.as_ref().map_or(chosen.error(), |weighing| weighing.error),
        choices: Some(&chosen.choices),
        warnings,
    };
    let yardstick = Yardstick { plan: &plan.draws, problem, herder, single_draw: *single_draw, reference };
    let refinement = refinement(plan, found);
    let details = Details { refinement, weighing, balanced: balanced.clone(), polishing: None };
    Ok(Report::on_choice(yardstick.hold(rows)?, this_run(plan.stop, Some(chosen.ended)), details))
}

/// What swaps and the search have gained.
fn refinement(plan: &ChoosePlan, found: &Found) -> Option<Refinement> {
    let refined = found.chosen.refined.as_ref()?;
    let is_searched = plan.set.as_ref().is_some_and(|set| set.options.search.is_some());
    Some(Refinement {
        is_herded: plan.stop.goal(found.single_draw).is_none(),
        start_error: refined.start_error,
        swapped_error: refined.swept_error,
        searched_error: refined.error.filter(|_| is_searched),
        sweeps: refined.sweeps,
        swaps: refined.swaps,
        kernel_rows: refined.kernel_rows,
        converged: refined.converged,
    })
}
