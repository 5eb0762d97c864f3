//! Runs: each verb carries out its plan. Only this folder calls the long work of the library.
//!
//! Before the work everything that can be known is checked: outputs are opened (`Output::create`), a checkpoint is
//! claimed. After the work one output that fails does not affect the others: `Files` collects failures, and the run
//! ends with one error that lists them and what was written.

mod balance;
mod batches;
mod checkpoint;
mod choose;
mod each;
mod eval;
mod functions;
mod held;
mod info;
mod input;
mod manual;
mod other;
mod pipe;
mod sample;
mod scores;
mod stream;
mod subset;
mod trace;

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Error, Result, ensure};
use rayon::ThreadPoolBuilder;

pub(crate) use self::choose::choose;
pub(crate) use self::eval::eval;
pub(crate) use self::info::info;
pub(crate) use self::manual::{completions, man};
pub(crate) use self::sample::sample;
pub(crate) use self::stream::stream;
use crate::args::version;
use crate::plan::{Ended, Outputs, Stop};
use crate::report::{EachReport, Report, Run};
use crate::terminal::interrupt;
use crate::terminal::output::{Output, Placed, say, stdout_may_be_closed, sweep, to_stdout};

/// Message of a run that was interrupted after its rows were chosen.
const NOT_WEIGHED: &str = "interrupted before the weights were computed, so they are equal";

/// How a run that made no error ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    NotReached,
    Interrupted,
}

impl Outcome {
    fn of(report: &Report<'_>) -> Outcome {
        match report.run.ended {
            Some(Ended::Interrupted) => Outcome::Interrupted,
            _ if report.missed_its_goal() => Outcome::NotReached,
            _ => Outcome::Done,
        }
    }
}

/// Text printed when all files are in place.
struct Finished {
    outcome: Outcome,
    text: String,
}

/// Opens all outputs, does the work, and says how it went. Each file is put in place as soon as it is complete, so that
/// one that fails costs none of the others.
fn with_outputs(
    outputs: &Outputs,
    threads: Option<usize>,
    quiet: bool,
    work: impl FnOnce(&mut Files) -> Result<Finished> + Send,
) -> Result<Outcome> {
    // Before the work, so that a wrong folder is an error at once.
    let mut files = Files::create(outputs)?;
    let Finished { outcome, text } = with_threads(threads, || work(&mut files))?;
    if !quiet {
        say(&text);
    }
    // Printed even without a summary: otherwise users would look in the wrong file.
    let why = if outcome == Outcome::Interrupted { "interrupted: " } else { "" };
    for (old, new) in &files.kept {
        say(&format!("{why}{old} was kept, and the partial result is {new}\n"));
    }
    ensure!(files.failures.is_empty(), "{}", files.complaint());
    Ok(outcome)
}

/// Warns, quiet or not, if the only result goes to a stdout that may be closed.
fn check_stdout(outputs: &Outputs) {
    if outputs.are_only_stdout() && stdout_may_be_closed() {
        say(
            "warning: stdout is closed or /dev/null, so the rows are lost; name a file with -o to keep them\n",
        );
    }
}

/// Runs on a thread pool of our own, since the global one would outlive the plan; `None` is all cores.
fn with_threads<T: Send>(threads: Option<usize>, run: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let pool = ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build();
    pool.context("the threads cannot be started; try fewer --threads")?.install(run)
}

/// The outputs of a run: all are opened first, then each is put in place.
struct Files {
    rows: Option<Output>,
    indices: Option<Output>,
    trace: Option<Output>,
    json: Option<Output>,
    page: Option<Output>,
    /// Whether the run was cut short.
    is_partial: bool,
    /// What is in place, in the order of writing.
    written: Vec<String>,
    /// Older files that a run cut short has left alone, and where its own went.
    kept: Vec<(String, String)>,
    /// What could not be written.
    failures: Vec<Error>,
}

impl Files {
    fn create(outputs: &Outputs) -> Result<Files> {
        let all = [&outputs.rows, &outputs.indices, &outputs.trace, &outputs.json, &outputs.report];
        all.into_iter().flatten().for_each(|path| sweep(path, &outputs.inputs));
        let create = |path: &Option<PathBuf>| path.as_deref().map(Output::create).transpose();
        Ok(Files {
            rows: create(&outputs.rows)?,
            indices: create(&outputs.indices)?,
            trace: create(&outputs.trace)?,
            json: create(&outputs.json)?,
            page: create(&outputs.report)?,
            is_partial: false,
            written: Vec::new(),
            kept: Vec::new(),
            failures: Vec::new(),
        })
    }

    /// The rows themselves, to stdout where no file is named. They come first: all else can be made again from them.
    fn write_rows(&mut self, write: impl FnOnce(&mut dyn Write) -> Result<()>) {
        match self.rows.take() {
            Some(rows) => self.put(rows, " (the rows)", write),
            None => match to_stdout(write) {
                Ok(()) => self.wrote("stdout (the rows)".to_string()),
                Err(error) => self.failed(error.context("the rows")),
            },
        }
    }

    fn write_trace(&mut self, write: impl FnOnce(&mut dyn Write) -> Result<()>) {
        if let Some(trace) = self.trace.take() {
            self.put(trace, "", write);
        }
    }

    /// Writes the row numbers, the JSON and the page; returns the text to print.
    fn write_report(&mut self, report: &Report<'_>) -> Finished {
        if let (Some(indices), Some(rows)) = (self.indices.take(), &report.result.rows) {
            self.put(indices, "", |out| Ok(rows.iter().try_for_each(|row| writeln!(out, "{row}"))?));
        }
        if let Some(json) = self.json.take() {
            self.put(json, "", |out| Ok(out.write_all(report.to_json().as_bytes())?));
        }
        if let Some(page) = self.page.take() {
            self.put(page, "", |out| Ok(out.write_all(report.to_html().as_bytes())?));
        }
        Finished { outcome: Outcome::of(report), text: report.to_text() }
    }

    /// Writes the row numbers of all sets, and the JSON of a set for each value.
    fn write_each(&mut self, report: &EachReport, numbers: &[usize]) {
        if let Some(indices) = self.indices.take() {
            self.put(indices, "", |out| Ok(numbers.iter().try_for_each(|row| writeln!(out, "{row}"))?));
        }
        if let Some(json) = self.json.take() {
            self.put(json, "", |out| Ok(out.write_all(report.to_json().as_bytes())?));
        }
    }

    /// Writes one file and puts it in place; `what` is added to its name in messages.
    fn put(&mut self, mut file: Output, what: &str, write: impl FnOnce(&mut dyn Write) -> Result<()>) {
        let name = file.name().display().to_string();
        match file.fill(write).and_then(|()| file.finish(self.is_partial)) {
            Err(error) => self.failed(error),
            Ok(Placed::AsNamed) => self.wrote(format!("{name}{what}")),
            Ok(Placed::BesideOld(path)) => {
                let path = path.display().to_string();
                self.wrote(format!("{path}{what}"));
                self.kept.push((name, path));
            }
        }
    }

    fn wrote(&mut self, what: String) {
        interrupt::has_written();
        self.written.push(what);
    }

    /// Records a failure: the run continues and ends with an error.
    fn failed(&mut self, error: Error) {
        self.failures.push(error);
    }

    fn complaint(&self) -> String {
        let failures: Vec<String> = self.failures.iter().map(|error| format!("{error:#}")).collect();
        let written = match self.written.is_empty() {
            true => String::new(),
            false => format!("; still written: {}", self.written.join(", ")),
        };
        format!("{}{written}", failures.join("; "))
    }
}

/// This run, for its report: the words as typed, the path of the program left out.
fn this_run(stop: Stop, ended: Option<Ended>) -> Run {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let command = std::iter::once("supersample".to_string()).chain(words).collect();
    Run { version: version().to_string(), command, date: today(), stop, ended }
}

/// The day in Greenwich, as in `2010-07-08`.
fn today() -> String {
    chrono::Utc::now().date_naive().to_string()
}
