//! Files gone through in batches, with a uniform sample of their rows to choose from: those larger than the memory that is
//! allowed, and very many rows in single precision, which would take twice the room of their files.

use std::ops::ControlFlow;
use std::sync::Arc;

use anyhow::{Result, bail, ensure};
use supersample::task::{
    self, Chosen, EmbeddingChoice, Ended, Gatherer, MemoryEstimate, RowWeights, default_landmarks,
    pool_rows_within,
};
use supersample::{Error, Points};
use supersample_io::{Batch, Draws, ExpectedSize};

use super::problem::{Problem, checked, memory_of, refused, told_of};
use crate::plan::{ChoosePlan, DrawsPlan, WeightsPlan};
use crate::terminal::interrupt;
use crate::terminal::output::say;
use crate::terminal::progress::Progress;
use crate::words::{count, counted};

/// Bytes of numbers in a batch, and how many rows that may be.
const BATCH_BYTES: usize = 8 << 20;
const BATCH_ROWS: std::ops::RangeInclusive<usize> = 1024..=65_536;
/// Rows in a batch of files whose heads do not say how many columns they have.
const BATCH_OF_UNKNOWN: usize = 8192;
/// Memory for batches and the buffers of the readers: at most this, and no more than a quarter of what is allowed.
const READING_BYTES: u64 = 96 << 20;
/// So few rows are not worth a sample.
const FEW: usize = 1000;

/// How many rows the pool may have.
#[derive(Clone, Copy, Debug)]
enum Room {
    Rows(usize),
    Bytes(u64),
}

/// The problem of files that are gone through in batches, because that is asked for, because they do not fit or because they
/// would take more room than they do as files; `None` where they are to be read whole. `needs` says what memory the run takes.
pub(super) fn gather(
    plan: &ChoosePlan,
    needs: &dyn Fn(MemoryEstimate) -> MemoryEstimate,
) -> Result<Option<Problem>> {
    let (draws, reading) = (&plan.draws, plan.draws.reading());
    let expected = Draws::expected_size(&draws.files, &reading);
    let single = expected.and_then(|size| pool_of_single(plan, size));
    let room = match (plan.pool_rows, draws.max_memory) {
        (Some(rows), _) => {
            Draws::check_batches(&draws.files, &reading)?;
            if let Some(flag) = needs_all_rows(plan) {
                bail!("{flag} needs all rows in memory; leave it out, or leave out --pool-rows");
            }
            Room::Rows(rows)
        }
        (None, Some(limit)) => {
            let fits = |size: ExpectedSize| {
                needs(memory_of(draws, size.rows, size.columns, 0)).kept_within(limit).is_ok()
            };
            // What cannot be done in batches is refused where it turns out not to fit.
            let is_whole = (expected.is_some_and(fits) && single.is_none())
                || needs_all_rows(plan).is_some()
                || Draws::check_batches(&draws.files, &reading).is_err();
            let room = Room::Bytes(limit);
            // Where a pool takes no less than all rows do, these are refused.
            let is_small = |size: ExpectedSize| match pool_rows(plan, room, size.columns, needs) {
                Ok(drawn) => drawn >= size.rows,
                Err(_) => size.rows <= FEW,
            };
            if is_whole || expected.is_some_and(is_small) {
                return Ok(None);
            }
            room
        }
        (None, None) => match single {
            Some(rows) => Room::Rows(rows),
            None => return Ok(None),
        },
    };
    let at_a_time = expected.map_or(BATCH_OF_UNKNOWN, |size| {
        (BATCH_BYTES / 8 / size.columns.max(1)).clamp(*BATCH_ROWS.start(), *BATCH_ROWS.end())
    });
    let mut gatherer = None;
    let progress = Progress::percent(plan.quiet, "reading in batches");
    let mut outcome = Ok(());
    let found = Draws::in_batches(&draws.files, &reading, at_a_time, &mut |batch| {
        progress.part(batch.part);
        outcome = gatherer_of(&mut gatherer, || {
            let rows = pool_rows(plan, room, batch.dim, needs)?;
            Ok(Gatherer::new(batch.dim, rows, draws.seed)?)
        })
        .and_then(|gatherer| Ok(gatherer.update(batch.values, weights_of(draws, &batch))?));
        if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    drop(progress);
    let found = match (found, outcome) {
        (Ok(found), Ok(())) => checked(draws, found)?,
        (_, Err(error)) => return Err(error),
        (Err(error), _) => return Err(error.into()),
    };
    let Some(gatherer) = gatherer else { bail!("the files have no rows") };
    let gathered = gatherer.finish().map_err(|error| refused(error, draws, &found, &[]))?;
    let drawn = gathered.pool().len();
    let told = match drawn == found.len() {
        // Small enough after all.
        true => None,
        false => Some(format!(
            "reading {} rows{} in batches: the pool is {} drawn with seed {}",
            count(found.len()),
            if single.is_some() { " in single precision" } else { "" },
            counted(drawn, "row"),
            draws.seed
        )),
    };
    if let (Some(told), false) = (&told, plan.quiet) {
        say(&format!("{told}\n"));
    }
    let mut options = draws.options();
    options.pool_rows = plan.pool_rows;
    let task =
        task::Problem::of_gathered(gathered, options).map_err(|error| refused(error, draws, &found, &[]))?;
    let (mut notes, warnings) = told_of(&task, &found, Vec::new());
    notes.extend(told);
    let (task, functions) = (Arc::new(task), Vec::new());
    Ok(Some(Problem {
        groups: None,
        task,
        functions,
        score_places: None,
        log_density: None,
        notes,
        warnings,
        draws: found,
        batch_rows: at_a_time,
    }))
}

/// The gatherer, which the first batch makes: only then is it known how many columns there are.
fn gatherer_of(
    gatherer: &mut Option<Gatherer>,
    make: impl FnOnce() -> Result<Gatherer>,
) -> Result<&mut Gatherer> {
    match gatherer {
        Some(gatherer) => Ok(gatherer),
        None => Ok(gatherer.insert(make()?)),
    }
}

/// What is done with a batch: its points and their weights.
type Each<'a> = &'a mut dyn FnMut(&Points, Option<&[f64]>) -> supersample::Result<()>;

/// How many rows are drawn of these files, where they hold single precision and go through batches unasked.
fn pool_of_single(plan: &ChoosePlan, size: ExpectedSize) -> Option<usize> {
    let draws = &plan.draws;
    // Rows with weights are chosen from all of them.
    let is_possible = size.is_single
        && matches!(draws.weights, WeightsPlan::Equal)
        && needs_all_rows(plan).is_none()
        && Draws::check_batches(&draws.files, &draws.reading()).is_ok();
    is_possible.then(|| draws.options().pool_rows_of_single(size.rows, plan.stop.number)).flatten()
}

/// The flag that cannot be heeded without all rows in memory, if there is one.
fn needs_all_rows(plan: &ChoosePlan) -> Option<&'static str> {
    let balance = plan.set.as_ref().map(|set| &set.balance).filter(|balance| balance.is_asked_for());
    match balance {
        Some(balance) if balance.per.is_some() => Some("--per"),
        Some(_) => Some("--include-rows or --exclude-rows"),
        None if plan.draws.functions.are_asked_for() => Some("--functions or --functions-file"),
        None if plan.draws.scores.is_some() => Some("--scores or --score-prefix"),
        None if plan.draws.embedding == EmbeddingChoice::Exact => Some("--embedding exact"),
        None => plan.weigh.map(|_| "--weights"),
    }
}

/// How many rows are drawn.
fn pool_rows(
    plan: &ChoosePlan,
    room: Room,
    dim: usize,
    needs: &dyn Fn(MemoryEstimate) -> MemoryEstimate,
) -> Result<usize> {
    let limit = match room {
        Room::Rows(rows) => return Ok(rows),
        Room::Bytes(limit) => limit,
    };
    let reading = READING_BYTES.min(limit / 4);
    let landmarks =
        |rows: usize| plan.draws.landmarks.unwrap_or_else(|| default_landmarks(rows, plan.draws.chosen));
    let needs = |rows: usize| needs(memory_of(&plan.draws, rows, dim, 0)).landmarks(landmarks(rows));
    let rows = pool_rows_within(limit.saturating_sub(reading), plan.stop.number, needs);
    rows.map_err(|error| match error {
        Error::TooLittleMemory { needed, .. } => Error::TooLittleMemory { needed: needed + reading, limit },
        error => error,
    })
    .map_err(Into::into)
}

fn weights_of<'a>(plan: &DrawsPlan, batch: &Batch<'a>) -> RowWeights<'a> {
    match (&plan.weights, batch.weights) {
        (WeightsPlan::Column(_), Some(weights)) => RowWeights::Weights(weights),
        (WeightsPlan::LogColumn(_), Some(logs)) => RowWeights::Logs(logs),
        _ => RowWeights::Equal,
    }
}

impl Problem {
    /// The row of the files that is this one of the problem, which may be a sample of them.
    pub(super) fn file_row(&self, row: usize) -> usize {
        self.task.gathered().map_or(row, |gathered| gathered.pool_rows()[row])
    }

    /// The rows of the files that are these of the problem.
    pub(super) fn file_rows(&self, rows: &[usize]) -> Vec<usize> {
        rows.iter().map(|&row| self.file_row(row)).collect()
    }

    /// The second pass: the rows of the files are summed at landmarks, which then stand for the mean embedding. Nothing is
    /// done where it is known, or where all rows are in memory.
    pub(super) fn sum_batches(&self, plan: &ChoosePlan) -> Result<()> {
        if self.task.gathered().is_none() || self.task.is_prepared() {
            return Ok(());
        }
        interrupt::can_end_early(true);
        let progress = Progress::phase(plan.quiet, "choosing landmarks");
        let sums = self.task.landmark_sums(plan.draws.chosen, &|_| interrupt::asked_to_end());
        drop(progress);
        let mut sums = sums?;
        let what =
            format!("comparing {} rows with {} landmarks", count(self.draws.len()), count(sums.landmarks()));
        self.pass(plan, &what, &mut |points, weights| {
            sums.update(points, weights, &|_| interrupt::asked_to_end())
        })?;
        self.task.project_on_watched(&sums, &|_| interrupt::asked_to_end())?;
        interrupt::can_end_early(false);
        Ok(())
    }

    /// The third pass: μ itself at the chosen rows, and so the error that is reported. An interrupted run leaves it out,
    /// and says so.
    pub(super) fn restate(&mut self, plan: &ChoosePlan, chosen: Chosen) -> Result<Chosen> {
        if self.task.gathered().is_none() || chosen.rows.is_empty() {
            return Ok(chosen);
        }
        let unmeasured = |problem: &mut Problem, mut chosen: Chosen| {
            problem.warnings.push("the MMD is that to the landmarks, since the run was interrupted before its last pass over the files".to_string());
            chosen.ended = Ended::Interrupted;
            Ok(chosen)
        };
        if chosen.ended == Ended::Interrupted {
            return unmeasured(self, chosen);
        }
        let mut sums = self.task.sums_at(&chosen.rows)?;
        let what = format!(
            "comparing {} rows with the {} chosen ones",
            count(self.draws.len()),
            count(chosen.rows.len())
        );
        interrupt::can_end_early(true);
        let passed = self.pass(plan, &what, &mut |points, weights| {
            sums.update(points, weights, &|_| interrupt::asked_to_end())
        });
        interrupt::can_end_early(false);
        match passed {
            Err(_) if interrupt::requested() => unmeasured(self, chosen),
            Err(error) => Err(error),
            Ok(()) => Ok(self.task.restated(chosen, &sums.means()?)?),
        }
    }

    /// Goes through the files once more, each batch brought to the scale of the problem.
    fn pass(&self, plan: &ChoosePlan, what: &str, each: Each<'_>) -> Result<()> {
        let progress = Progress::percent(plan.quiet, what);
        let mut outcome = Ok(());
        let read = self.draws.again(&plan.draws.reading(), self.batch_rows, &mut |batch| {
            progress.part(batch.part);
            let ready = self.task.batch(batch.values, weights_of(&plan.draws, &batch));
            outcome = ready.and_then(|(points, weights)| each(&points, weights.as_deref()));
            if outcome.is_ok() { interrupt::asked_to_end() } else { ControlFlow::Break(()) }
        });
        ensure!(!interrupt::requested(), Error::Interrupted);
        outcome?;
        Ok(read?)
    }
}
