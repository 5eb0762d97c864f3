//! Files as a source of rows: read in batches, with a uniform sample as candidates, or whole. Batches are used for
//! files larger than the memory limit, and for very many rows in single precision, which would take twice the size of
//! their files.

use std::borrow::Cow;
use std::ops::ControlFlow;

use anyhow::{Context, Result, bail, ensure};
use supersample::task::stream::{Gathered, Gatherer, Pass, PassSums, Source};
use supersample::task::{Choose, EmbeddingChoice, Problem};
use supersample::{Error, Watch};
use supersample_io::{Batch, BatchSize, Draws, ExpectedSize, Reading};

use super::input::{Input, checked};
use crate::plan::{ChoosePlan, WeightsPlan};
use crate::terminal::interrupt;
use crate::terminal::progress::Progress;
use crate::words::{count, counted, in_units, in_units_above};

/// Bytes of numbers in a batch: at most this, and this part of the memory that is allowed.
const BATCH_BYTES: u64 = 8 << 20;
const PART_OF_LIMIT: u64 = 32;

/// Whether the files are read in batches: because it was asked for, because they do not fit, or because they would take
/// more memory than their size.
pub(super) fn are_wanted(plan: &ChoosePlan) -> Result<bool> {
    let (draws, choose, reading) = (&plan.draws, &plan.choose, plan.draws.reading());
    let possible = Draws::check_batches(&draws.files, &reading);
    let needs_all = needs_all_rows(plan);
    if choose.compute.pool_rows.is_some() {
        possible?;
        if let Some(flag) = needs_all {
            bail!("{flag} needs all rows in memory; leave it out, or leave out --pool-rows");
        }
        return Ok(true);
    }
    // Options that do not work in batches are refused if the rows do not fit.
    if possible.is_err() || needs_all.is_some() {
        return Ok(false);
    }
    Ok(match Draws::expected_size(&draws.files, &reading) {
        Some(size) => {
            are_single(plan, size) || choose.needs_batches(draws.size(size.rows, size.columns, 0))?
        }
        None => choose.compute.max_memory.is_some(),
    })
}

/// The choice with the memory that is left beside the largest block of the files: a block is read at once.
pub(super) fn without_blocks(plan: &ChoosePlan) -> Result<Choose> {
    let mut choose = plan.choose.clone();
    if let Some(limit) = choose.compute.max_memory {
        let block = block_bytes(plan);
        ensure!(
            block <= limit / 2,
            "a record batch of the files takes {} when it is read, more than half of what --max-memory allows; \
             write smaller record batches or a Parquet file, or allow {}",
            in_units(block),
            in_units_above(2 * block)
        );
        choose.compute.max_memory = Some(limit - block);
    }
    if let Some(other) = &plan.draws.other
        && let Some(size) = Draws::expected_size(&[&other.file], &Reading::default())
    {
        choose = choose.with_room_for(plan.draws.size(size.rows, size.columns, 0))?;
    }
    Ok(choose)
}

/// Bytes of the largest block of the files.
pub(super) fn block_bytes(plan: &ChoosePlan) -> u64 {
    Draws::expected_size(&plan.draws.files, &plan.draws.reading()).map_or(0, |size| size.block_bytes)
}

/// Whether rows in single precision are to stay in it. Rows with weights are chosen from all of them.
fn are_single(plan: &ChoosePlan, size: ExpectedSize) -> bool {
    size.is_single && plan.draws.weights == WeightsPlan::Equal && plan.choose.goes_in_batches(size.rows)
}

/// Note about reading in batches, if not all rows are in memory.
pub(super) fn note(plan: &ChoosePlan, problem: &Problem) -> Option<String> {
    let gathered = problem.drawn()?;
    let size = Draws::expected_size(&plan.draws.files, &plan.draws.reading());
    let is_single = size.is_some_and(|size| are_single(plan, size));
    Some(format!(
        "{} rows{} are read in batches; the candidates are {} drawn with seed {}",
        count(gathered.rows()),
        if is_single { " in single precision" } else { "" },
        counted(gathered.pool().len(), "row"),
        problem.choose().compute.seed
    ))
}

/// The flag that needs all rows in memory, if any.
fn needs_all_rows(plan: &ChoosePlan) -> Option<&'static str> {
    match &plan.balance {
        balance if balance.stratify.is_some() => Some("--stratify"),
        balance if balance.is_asked_for() => Some("--include-rows or --exclude-rows"),
        _ if plan.draws.functions.file.is_some() => Some("--functions-file"),
        _ if plan.draws.summary.is_some() => Some("--match-summary"),
        _ if plan.draws.scores.is_some() => Some("--scores or --score-prefix"),
        _ if plan.choose.compute.embedding == EmbeddingChoice::Exact => Some("--embedding exact"),
        _ => plan.choose.weights.map(|_| "--weights"),
    }
}

impl Input<'_> {
    /// Rows at a time.
    fn batch_size(&self) -> BatchSize {
        let limit = self.choose.compute.max_memory.map_or(BATCH_BYTES, |limit| limit / PART_OF_LIMIT);
        BatchSize::Bytes(limit.min(BATCH_BYTES) as usize)
    }
}

impl Source for Input<'_> {
    type Error = anyhow::Error;

    fn gather(&mut self, choose: &Choose) -> Result<Gathered> {
        let plan = self.plan;
        let progress = Progress::percent(self.quiet, "reading in batches");
        let mut gatherer: Option<Gatherer> = None;
        let mut outcome: supersample::Result<()> = Ok(());
        let found = Draws::in_batches(&plan.files, &plan.reading(), self.batch_size(), &mut |batch| {
            progress.part(batch.fraction);
            let functions = batch.functions.len() / batch.len();
            // Only now is it known how many columns there are.
            let made = match gatherer.take() {
                Some(gatherer) => Ok(gatherer),
                None => choose.gatherer(plan.size(0, batch.dim, functions)),
            };
            outcome = made.and_then(|made| {
                let weights = plan.row_weights(batch.weights);
                gatherer.insert(made).update(&with_functions(&batch), weights)
            });
            if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        drop(progress);
        outcome?;
        let draws = self.draws.insert(checked(plan, found?)?);
        self.functions = draws.function_names().iter().map(|name| name.to_string()).collect();
        let gathered = gatherer.context("the files have no rows")?.finish();
        let gathered = gathered.and_then(|gathered| gathered.with_functions(self.functions.len()));
        let gathered = gathered.map_err(|error| self.refused(error))?;
        Ok(match self.other()? {
            Some(target) => gathered.matching(target),
            None => gathered,
        })
    }

    fn sum(&mut self, pass: Pass, sums: &mut [PassSums]) -> Result<()> {
        let (plan, draws) = (self.plan, self.draws());
        let others = match pass {
            Pass::Landmarks { count: landmarks } => format!("{} landmarks", count(landmarks)),
            Pass::Chosen { count: chosen } => format!("the {} chosen ones", count(chosen)),
            _ => "others".to_string(),
        };
        let what = format!("comparing {} rows with {others}", count(draws.len()));
        let progress = Progress::percent(self.quiet, &what);
        let mut outcome = Ok(());
        interrupt::can_end_early(true);
        let read = draws.again(&plan.reading(), self.batch_size(), &mut |batch| {
            progress.part(batch.fraction);
            let weights = plan.row_weights(batch.weights);
            outcome = sums
                .iter_mut()
                .try_for_each(|sums| sums.update(batch.values, weights, &|_| interrupt::asked_to_end()));
            if outcome.is_ok() { interrupt::asked_to_end() } else { ControlFlow::Break(()) }
        });
        interrupt::can_end_early(false);
        ensure!(!interrupt::requested(), Error::Interrupted);
        outcome?;
        Ok(read?)
    }

    fn work<T: Send>(&mut self, work: impl FnOnce(Watch<'_>) -> supersample::Result<T> + Send) -> Result<T> {
        let rows = self.draws().len();
        let what = format!("comparing {} rows with each other", count(rows));
        let progress = Progress::rows(self.quiet, &what, rows);
        interrupt::can_end_early(true);
        let done = work(&|reached| {
            progress.show(reached);
            interrupt::asked_to_end()
        });
        interrupt::can_end_early(false);
        let done = done.map_err(|error| self.refused(error))?;
        // It may have come in the last moment.
        ensure!(!interrupt::requested(), Error::Interrupted);
        Ok(done)
    }
}

/// The rows of a batch, the functions of each behind its parameters.
fn with_functions<'a>(batch: &Batch<'a>) -> Cow<'a, [f64]> {
    if batch.functions.is_empty() {
        return Cow::Borrowed(batch.values);
    }
    let functions = batch.functions.chunks_exact(batch.functions.len() / batch.len());
    let rows = batch.values.chunks_exact(batch.dim).zip(functions);
    Cow::Owned(rows.flat_map(|(values, functions)| [values, functions]).flatten().copied().collect())
}
