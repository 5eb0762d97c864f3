//! Input of a run: the files, with everything about their rows except the numbers.

use anyhow::{Context, Error, Result, bail};
use supersample::task::stream::Source;
use supersample::task::{Advice, Bandwidth, Choose, KernelChoice, Problem, Rows, TargetChoice};
use supersample::{Chains, Points, Precision};
use supersample_io::summary::SummaryFile;
use supersample_io::{Draws, Format, Groups};

use super::checkpoint::Fingerprint;
use super::functions::FunctionTable;
use super::other;
use super::scores::{self, ScorePlaces, ScoreTable, without_momenta};
use crate::plan::DrawsPlan;
use crate::words::{self, Names, Style};

/// Changed whenever a checkpoint of the same run would mean something else: now its rows are those of the files.
const OF_CHECKPOINTS: &[u8] = b"rows of the files";

/// The files of a run.
pub(super) struct Input<'p> {
    pub(super) plan: &'p DrawsPlan,
    pub(super) choose: &'p Choose,
    pub(super) quiet: bool,
    /// The files behind the rows; `None` before they are read.
    pub(super) draws: Option<Draws>,
    /// The rows by the column that choices are balanced over.
    pub(super) groups: Option<Groups>,
    /// The names of the functions whose means matter.
    pub(super) functions: Vec<String>,
    /// Where scores are among the columns of the draws, if they are there.
    pub(super) score_places: Option<ScorePlaces>,
    /// Whether rows are matched by unconstrained parameters that the draws do not have.
    pub(super) is_unconstrained: bool,
    /// The log-density of each row, where rows of high density are preferred.
    log_density: Option<Vec<f64>>,
    /// What was assumed about the files, and about those of scores.
    notes: Vec<String>,
    score_notes: Vec<String>,
}

impl<'p> Input<'p> {
    /// Files that have not been read.
    pub(super) fn new(plan: &'p DrawsPlan, choose: &'p Choose, quiet: bool) -> Input<'p> {
        Input {
            plan,
            choose,
            quiet,
            draws: None,
            groups: None,
            functions: Vec::new(),
            score_places: None,
            is_unconstrained: false,
            log_density: None,
            notes: Vec::new(),
            score_notes: Vec::new(),
        }
    }

    /// The files, which have been read.
    pub(super) fn draws(&self) -> &Draws {
        self.draws.as_ref().expect("a run begins with its files")
    }

    /// Reads all rows. What does not fit into the memory that is allowed is refused.
    pub(super) fn read(&mut self) -> Result<Rows> {
        let (plan, reading) = (self.plan, self.plan.reading());
        let check = |rows, columns, functions| self.choose.check_memory(plan.size(rows, columns, functions));
        // First estimated from the heads and sizes of the files, so that an error comes early.
        let limit = self.choose.compute.max_memory;
        if let Some(size) = limit.and_then(|_| Draws::expected_size(&plan.files, &reading)) {
            check(size.rows, size.columns, 0)?;
        }
        let draws =
            Draws::read(&plan.files, &reading).map_err(|error| scores::without_density(plan, error))?;
        let draws = checked(plan, draws)?;
        let mut draws = without_momenta(plan, draws)?;
        check(draws.len(), draws.dim(), draws.function_names().len())?;
        self.groups = draws.groups()?;
        let mut scores = match &plan.scores {
            Some(scores) => Some((scores, ScoreTable::read(plan, scores, &mut draws)?)),
            None => None,
        };
        let held = scores.as_mut().and_then(|(_, table)| table.functions.take());
        let functions = FunctionTable::read(plan, &mut draws, held)?;
        let unconstrained = scores.as_mut().and_then(|(_, table)| table.points.take());
        self.is_unconstrained = unconstrained.is_some();
        let points = Points::from_vec(unconstrained.unwrap_or_else(|| draws.take_values()), draws.dim())?;
        let draws = self.draws.insert(draws);
        let rows = Rows::weighted(points, plan.row_weights(draws.weights()));
        let mut rows = rows.map_err(|error| self.refused(error))?;
        let (chains, note) = chains_of(self.draws());
        if let Some(chains) = chains {
            rows = rows.chains(chains)?;
        }
        self.notes.extend(note);
        if let Some(FunctionTable { names, values, notes }) = functions {
            rows = rows.functions(values, names.len())?;
            self.functions = names;
            self.notes.extend(notes);
        }
        if let Some((plan, ScoreTable { values, notes, places, log_density, .. })) = scores {
            let mut scores = plan.options();
            (scores.values, scores.log_density) = (values, log_density.clone());
            rows = rows.scores(scores);
            (self.score_places, self.log_density, self.score_notes) = (places, log_density, notes);
        }
        if let Some(target) = self.other()? {
            rows = rows.matching(target);
        }
        if let Some(file) = &plan.summary {
            let found = SummaryFile::read(file)
                .and_then(|found| found.numbers(&self.draws().parameter_names()))
                .map_err(|error| match error {
                    supersample_io::Error::Invalid(error) => self.refused(error),
                    error => error.into(),
                });
            rows = rows.matching_summary(found.context("--match-summary")?);
        }
        Ok(rows)
    }

    /// The rows that are matched, where they are others.
    pub(super) fn other(&mut self) -> Result<Option<Rows>> {
        let Some(target) = &self.plan.other else { return Ok(None) };
        let (target, notes) = other::read(self.plan, target, self.draws(), &self.functions)?;
        self.notes.extend(notes);
        Ok(Some(target))
    }

    /// The problem of rows that were read.
    pub(super) fn problem(&mut self, rows: Rows, choose: Choose) -> Result<Problem> {
        if choose.target == Some(TargetChoice::Corrected) || self.plan.summary.is_some() {
            return self.work(|watch| Problem::watched(rows, choose, watch));
        }
        Problem::new(rows, choose).map_err(|error| self.refused(error))
    }

    /// Assumptions about the files, and warnings about the result.
    pub(super) fn notes_and_warnings(&self, problem: &Problem) -> (Vec<String>, Vec<String>) {
        let (draws, names) = (self.draws(), Names::default().columns(self.draws().parameter_names()));
        let (notes, warnings): (Vec<&Advice>, Vec<&Advice>) =
            problem.advice().iter().partition(|one| one.is_note());
        let in_words = |all: Vec<&Advice>| -> Vec<String> {
            all.into_iter().map(|one| one.sentence(Style::Command, &names)).collect()
        };
        let of_files = draws.notes().iter().map(ToString::to_string).chain(self.notes.iter().cloned());
        (
            of_files.chain(in_words(notes)).chain(self.score_notes.iter().cloned()).collect(),
            in_words(warnings),
        )
    }

    /// The weight of the log-density, where rows of high density are preferred.
    pub(super) fn regularisation(&self) -> f64 {
        let regularised = self.plan.scores.as_ref().and_then(|scores| scores.regularised.as_ref());
        regularised.map_or(0.0, |regularised| regularised.weight)
    }

    /// All that decides which rows are chosen, in one number.
    pub(super) fn fingerprint(&self, problem: &Problem) -> u64 {
        let mut print = Fingerprint::new();
        let choose = problem.choose();
        print.bytes(env!("CARGO_PKG_VERSION").as_bytes());
        print.bytes(OF_CHECKPOINTS);
        print.bytes(problem.kernel().to_string().as_bytes());
        print.word(u64::from(choose.is_unique()));
        print.word(u64::from(problem.precision() == Precision::Double));
        print.word(problem.points().dim() as u64);
        print.numbers(problem.points().as_slice());
        print.numbers(problem.shares().unwrap_or_default());
        if problem.is_matching() {
            let (rows, shares) = problem.target_rows();
            print.bytes(b"match");
            print.numbers(rows.as_slice());
            print.numbers(shares.unwrap_or_default());
        }
        if let Some(summary) = problem.summary() {
            print.bytes(b"summary");
            // What a published number counts depends on how many rows are to have it.
            print.word(choose.stop.number.map_or(0, |number| number as u64));
            for known in summary.numbers() {
                print.bytes(format!("{known:?}").as_bytes());
            }
        }
        print.word(problem.drawn().map_or(0, |drawn| drawn.rows() as u64));
        print.numbers(&[problem.marginals(), problem.moments()]);
        if let Some((functions, values, weight)) = problem.functions() {
            print.word(values.dim() as u64);
            print.bytes(functions.unit().to_string().as_bytes());
            print.numbers(&[weight]);
            print.numbers(values.as_slice());
        }
        if let Some(log_density) = &self.log_density {
            print.bytes(b"log-density");
            print.numbers(&[self.regularisation()]);
            print.numbers(log_density);
        }
        if problem.uses_landmarks() {
            // Their number is known from the checkpoint itself.
            print.bytes(b"landmarks");
            print.word(choose.compute.seed);
        }
        // μ of a GPU goes with the kernel rows of a GPU.
        if problem.device().is_gpu() {
            print.bytes(b"gpu");
        }
        print.finish()
    }

    /// Errors of the library in terms of flags and files.
    pub(super) fn refused(&self, error: supersample::Error) -> Error {
        let kernel = &self.choose.distance.kernel;
        let is_median = matches!(kernel, KernelChoice::Named { bandwidth: Bandwidth::Median, .. });
        let is_of_median = is_median && matches!(error, supersample::Error::BadBandwidth { .. });
        let (draws, number_of) = (self.draws(), |row| self.draws().row_number(row));
        let names = Names::default()
            .columns(draws.parameter_names())
            .functions(self.functions.iter().map(String::as_str))
            .weight_column(self.plan.weight_column())
            .numbered(&number_of);
        let refusal = words::refused(error, &names);
        match is_of_median {
            true => refusal.context("the median distance cannot be used; give --bandwidth"),
            false => refusal,
        }
    }
}

/// The chains of the rows, where there is a column of them or files hold several; a note where the column cannot be used.
pub(super) fn chains_of(draws: &Draws) -> (Option<Chains>, Option<String>) {
    match draws.by_chain() {
        Ok(groups) if groups.names.len() > 1 || draws.has_chain_column() => {
            (Some(Chains::of_labels(&groups.of_row)), None)
        }
        Ok(_) => (None, None),
        Err(error) => (None, Some(format!("the rows are taken as one chain: {error}"))),
    }
}

/// The draws, unless a flag has no effect on them.
pub(super) fn checked(plan: &DrawsPlan, draws: Draws) -> Result<Draws> {
    if plan.warmup && !draws.has_warmup() {
        bail!("--warmup has no effect: the files do not mark warm-up rows; leave it out");
    }
    if plan.separator.is_some() && !draws.format().is_text() {
        bail!("--separator has no effect on {} files; leave it out", draws.format());
    }
    if plan.shape.is_some() && !matches!(draws.format(), Format::Npy | Format::Npz) {
        bail!("--shape has no effect on {} files; leave it out", draws.format());
    }
    if plan.sample_dims.is_some() && !draws.format().has_dimensions() {
        bail!("--sample-dims has no effect on {} files; leave it out", draws.format());
    }
    Ok(draws)
}
