//! Problem to be solved: the draws as they were read, and the library's problem made of them.

use std::borrow::Cow;
use std::sync::Arc;

use anyhow::{Result, bail, ensure};
use supersample::task::{
    self, Bandwidth, FunctionValues, KernelChoice, MemoryEstimate, ProblemOptions, RowScores, RowWeights,
    default_landmarks,
};
use supersample::{Error, Points, Precision};
use supersample_io::{Draws, Format, Groups};

use super::checkpoint::Fingerprint;
use super::functions::FunctionTable;
use super::scores::{ScorePlaces, ScoreTable, without_momenta};
use super::{advice, memory};
use crate::plan::{DrawsPlan, Matched, WeightsPlan};
use crate::report::{Lowered, Rows};
use crate::terminal::interrupt;
use crate::terminal::progress::Progress;
use crate::words::{count, printable};

/// Draws made ready.
#[derive(Debug)]
pub(super) struct Problem {
    /// The files behind the rows; their numbers are in `task`.
    pub(super) draws: Draws,
    /// The rows by the column that choices are balanced over.
    pub(super) groups: Option<Groups>,
    /// Shared with the threads that look for weights.
    pub(super) task: Arc<task::Problem>,
    /// The names of the functions whose means matter; their numbers are in `task`.
    pub(super) functions: Vec<String>,
    /// Where scores are among the columns of the draws, if they are there.
    pub(super) score_places: Option<ScorePlaces>,
    /// The log-density of each row, where rows of high density are preferred.
    pub(super) log_density: Option<Vec<f64>>,
    /// What was assumed about the files.
    pub(super) notes: Vec<String>,
    /// What the user should know before believing the result.
    pub(super) warnings: Vec<String>,
    /// Rows at a time, where the files are gone through in batches.
    pub(super) batch_rows: usize,
}

impl Problem {
    /// Reads the draws of a plan. `needs` says what memory the run on so many rows and columns takes.
    pub(super) fn read(
        plan: &DrawsPlan,
        needs: impl Fn(MemoryEstimate) -> MemoryEstimate,
    ) -> Result<Problem> {
        let reading = plan.reading();
        let check = |rows: usize, dim: usize, functions: usize| match plan.max_memory {
            Some(limit) => {
                let memory = needs(memory_of(plan, rows, dim, functions));
                memory.kept_within(limit).map(drop).map_err(memory::refused)
            }
            None => Ok(()),
        };
        // Asked first of the heads and sizes of the files, so that no one waits for a refusal.
        if let Some(size) = plan.max_memory.and_then(|_| Draws::expected_size(&plan.files, &reading)) {
            check(size.rows, size.columns, 0)?;
        }
        let draws = checked(plan, Draws::read(&plan.files, &reading)?)?;
        let mut draws = without_momenta(plan, draws)?;
        check(draws.len(), draws.dim(), draws.function_names().len())?;
        let groups = draws.groups()?;
        let functions = FunctionTable::read(plan, &mut draws)?;
        let scores = match &plan.scores {
            Some(scores) => Some((scores, ScoreTable::read(plan, scores, &mut draws)?)),
            None => None,
        };
        check(draws.len(), draws.dim(), functions.as_ref().map_or(0, |functions| functions.names.len()))?;
        let rows = Points::from_vec(draws.take_values(), draws.dim())?;
        let weights = match (&plan.weights, draws.weights()) {
            (WeightsPlan::Column(_), Some(weights)) => RowWeights::Weights(weights),
            (WeightsPlan::LogColumn(_), Some(logs)) => RowWeights::Logs(logs),
            _ => RowWeights::Equal,
        };
        let mut options = options_of(plan);
        let (functions, of_functions) = match functions {
            Some(FunctionTable { names, values, notes }) => {
                let values = FunctionValues::new(values, names.len()).weight(plan.matched.functions);
                options.functions = Some(values);
                (names, notes)
            }
            None => (Vec::new(), Vec::new()),
        };
        let (score_places, of_scores, log_density) = match scores {
            Some((plan, ScoreTable { values, notes, places, log_density })) => {
                let mut scores = RowScores::new(values).kernel(plan.base, plan.preconditioner);
                if let (Some(regularised), Some(log_density)) = (&plan.regularised, &log_density) {
                    scores = scores.regularised(log_density.clone(), regularised.weight);
                }
                options.scores = Some(scores);
                (places, notes, log_density)
            }
            None => (None, Vec::new(), None),
        };
        let task = task::Problem::weighted(rows, weights, options)
            .map_err(|error| refused(error, plan, &draws, &functions))?;
        let (mut notes, warnings) = told_of(&task, &draws, of_functions);
        notes.extend(of_scores);
        Ok(Problem {
            groups,
            task: Arc::new(task),
            functions,
            score_places,
            log_density,
            notes,
            warnings,
            draws,
            batch_rows: 0,
        })
    }

    /// The problem with μ on the rows as an earlier run had it.
    pub(super) fn recall(self, mu: Vec<f64>) -> Result<Problem> {
        let task = Arc::into_inner(self.task).expect("no thread has it before there are rows");
        Ok(Problem { task: Arc::new(task.recall(mu)?), ..self })
    }

    /// What choosing lowers.
    pub(super) fn lowered(&self, plan: &DrawsPlan) -> Lowered {
        let Matched { marginals, functions } = plan.matched;
        let functions = if self.functions.is_empty() { 0.0 } else { functions };
        let regularised = plan.scores.as_ref().and_then(|scores| scores.regularised.as_ref());
        Lowered {
            marginals,
            functions,
            log_density: regularised.map_or(0.0, |regularised| regularised.weight),
        }
    }

    /// What memory a run takes that reads these draws and does no more than herd or evaluate.
    pub(super) fn memory(&self, plan: &DrawsPlan) -> MemoryEstimate {
        memory_of(plan, self.task.rows().len(), self.draws.dim(), self.functions.len())
    }

    /// The rows of the file, as they are compared parameter by parameter.
    pub(super) fn rows(&self) -> Rows<'_> {
        let shares = self.task.shares().map(Cow::Borrowed);
        Rows { values: Cow::Borrowed(self.task.rows().as_slice()), dim: self.draws.dim(), shares }
    }

    /// All that decides which rows are chosen, in one number.
    pub(super) fn fingerprint(&self, plan: &DrawsPlan, unique: bool) -> u64 {
        let mut print = Fingerprint::new();
        print.bytes(env!("CARGO_PKG_VERSION").as_bytes());
        print.bytes(self.task.kernel().to_string().as_bytes());
        print.word(u64::from(unique));
        print.word(u64::from(self.task.precision() == Precision::Double));
        print.word(self.task.points().dim() as u64);
        print.numbers(self.task.points().as_slice());
        print.numbers(self.task.shares().unwrap_or_default());
        print.word(self.task.gathered().map_or(0, |gathered| gathered.rows() as u64));
        print.numbers(&[self.task.marginals()]);
        if let Some((functions, values, weight)) = self.task.functions() {
            print.word(values.dim() as u64);
            print.bytes(functions.unit().to_string().as_bytes());
            print.numbers(&[weight]);
            print.numbers(values.as_slice());
        }
        if let Some(log_density) = &self.log_density {
            print.bytes(b"log-density");
            print.numbers(&[self.lowered(plan).log_density]);
            print.numbers(log_density);
        }
        if self.task.is_projected() {
            let (asked, seed) = self.task.landmarks_asked();
            print.bytes(b"landmarks");
            print.word(asked.map_or(0, |asked| asked as u64));
            print.word(seed);
        }
        // μ of a GPU goes with the kernel rows of a GPU.
        if self.task.device().is_gpu() {
            print.bytes(b"gpu");
        }
        print.finish()
    }

    /// The long phase: every row is compared with every other, or with as many landmarks as so many chosen rows ask for.
    /// Ctrl-C ends it at once.
    pub(super) fn compare_all(&self, chosen: Option<usize>, quiet: bool) -> Result<()> {
        let rows = self.draws.len();
        if self.task.stein().is_some() {
            // No mean over the rows is needed.
            return Ok(self.task.prepare_for(chosen, &supersample::unwatched)?);
        }
        let others = if self.task.is_projected() { "landmarks" } else { "each other" };
        let what = format!("comparing {} rows with {others}", count(rows));
        let progress = Progress::rows(quiet, &what, rows);
        interrupt::can_end_early(true);
        let prepared = self.task.prepare_for(chosen, &|reached| {
            progress.show(reached);
            interrupt::asked_to_end()
        });
        interrupt::can_end_early(false);
        drop(progress);
        prepared?;
        // It may have come in the last moment.
        ensure!(!interrupt::requested(), Error::Interrupted);
        Ok(())
    }
}

/// The draws, unless a flag has no effect on them.
pub(super) fn checked(plan: &DrawsPlan, draws: Draws) -> Result<Draws> {
    if plan.warmup && !draws.has_warmup() {
        bail!("--warmup has no effect: the files say nothing of warm-up rows; leave it out");
    }
    if plan.separator.is_some() && !draws.format().is_text() {
        bail!("--separator has no effect on {} files; leave it out", draws.format());
    }
    if plan.shape.is_some() && !matches!(draws.format(), Format::Npy | Format::Npz) {
        bail!("--shape has no effect on {} files; leave it out", draws.format());
    }
    Ok(draws)
}

/// How the library makes the rows ready, functions left aside.
pub(super) fn options_of(plan: &DrawsPlan) -> ProblemOptions {
    let mut options = ProblemOptions::default().scale(plan.scale).precision(plan.precision);
    options.kernel = plan.kernel.clone();
    options.marginals = plan.matched.marginals;
    options.functions_unit = plan.functions.unit;
    options.device = plan.device.clone();
    (options.embedding, options.landmarks, options.seed) = (plan.embedding, plan.landmarks, plan.seed);
    options
}

/// What was assumed about the files, and what the user should know before believing the result; `of_functions` was assumed
/// about those of functions.
pub(super) fn told_of(
    task: &task::Problem,
    draws: &Draws,
    of_functions: Vec<String>,
) -> (Vec<String>, Vec<String>) {
    let names = draws.parameter_names();
    let told = |is_note: bool| {
        let such = task.advice().iter().filter(move |advice| advice::is_note(advice) == is_note);
        such.filter_map(|advice| advice::in_words(advice, &names)).collect::<Vec<_>>()
    };
    let notes = draws.notes().iter().map(ToString::to_string).chain(of_functions).chain(told(true));
    (notes.collect(), told(false))
}

/// What memory a run on so many rows, columns and functions takes that does no more than herd or evaluate.
pub(super) fn memory_of(plan: &DrawsPlan, rows: usize, dim: usize, functions: usize) -> MemoryEstimate {
    let landmarks = match plan.embedding.is_projected(rows, plan.landmarks) {
        true => plan.landmarks.unwrap_or_else(|| default_landmarks(rows, plan.chosen)),
        false => 0,
    };
    // Scores, and the scaled rows with their scores beside them.
    let (precision, functions) = match plan.scores {
        Some(_) => (Precision::Double, 2 * dim),
        None => (plan.precision, functions),
    };
    let landmarks = if plan.scores.is_some() { 0 } else { landmarks };
    MemoryEstimate::of(rows, dim)
        .landmarks(landmarks)
        .scale(plan.scale)
        .precision(precision)
        .weighted(plan.weights != WeightsPlan::Equal)
        .marginals(plan.matched.marginals > 0.0)
        .functions(functions)
}

/// What the library refuses, in the words of the flags and the file.
pub(super) fn refused(error: Error, plan: &DrawsPlan, draws: &Draws, functions: &[String]) -> anyhow::Error {
    let is_median = matches!(plan.kernel, KernelChoice::Named { bandwidth: Bandwidth::Median, .. });
    let is_of_weights = matches!(
        error,
        Error::BadWeight { .. } | Error::ZeroWeights | Error::BadLogWeight { .. } | Error::NoLogWeights
    );
    let refusal = match error {
        Error::BadWeight { index, value } => anyhow::anyhow!(
            "the weight of row {} is {value}; weights cannot be negative (logarithms of weights go to --log-weight-column)",
            draws.row_number(index) + 1
        ),
        Error::ConstantFunction { column } => anyhow::anyhow!(
            "function '{}' is the same number in every row that counts, so that any rows match its mean; leave it out",
            printable(&functions[column])
        ),
        Error::NonFiniteScore { row, column, value } => anyhow::anyhow!(
            "the score of '{}' in row {} is {value}; every score must be a finite number, so drop the row or look at the density \
             there",
            printable(draws.parameter_names()[column]),
            draws.row_number(row) + 1
        ),
        Error::NoLogWeights => {
            anyhow::anyhow!("every row has the log-weight -inf; at least one must have a weight")
        }
        Error::BadBandwidth { .. } if is_median => {
            anyhow::Error::new(error).context("the median distance cannot be used; give --bandwidth")
        }
        error => error.into(),
    };
    match plan.weight_column().filter(|_| is_of_weights) {
        Some(name) => refusal.context(format!("column '{name}'")),
        None => refusal,
    }
}
