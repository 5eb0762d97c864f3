//! Runs: each verb carries out its plan. No other folder makes the library work.

mod advice;
mod balance;
mod checkpoint;
mod choose;
mod eval;
mod held;
mod info;
mod manual;
mod memory;
mod problem;
mod sample;
mod subset;
mod trace;
mod weigh;

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use rayon::ThreadPoolBuilder;

pub(crate) use self::choose::choose;
pub(crate) use self::eval::eval;
pub(crate) use self::info::info;
pub(crate) use self::manual::{completions, man};
pub(crate) use self::sample::sample;
use crate::args::version;
use crate::plan::{Ended, Outputs, Stop};
use crate::report::{Report, Run};
use crate::terminal::output::{Output, say, to_stdout};

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

/// What is said when all files are in place.
struct Told {
    outcome: Outcome,
    text: String,
}

/// Opens all outputs, does the work, and puts the files in place when every write of it has succeeded.
fn with_outputs(
    outputs: &Outputs,
    threads: Option<usize>,
    quiet: bool,
    work: impl FnOnce(&mut Files) -> Result<Told> + Send,
) -> Result<Outcome> {
    // Before the work, so that a mistyped folder costs no one an hour.
    let mut files = Files::create(outputs)?;
    let Told { outcome, text } = with_threads(threads, || work(&mut files))?;
    files.finish()?;
    if !quiet {
        say(&text);
    }
    Ok(outcome)
}

/// Runs on a thread pool of our own, since the global one would outlive the plan; `None` is all cores.
fn with_threads<T: Send>(threads: Option<usize>, run: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let pool = ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build();
    pool.context("the threads cannot be started; try fewer --threads")?.install(run)
}

/// The outputs of a run, open and not yet in place.
struct Files {
    rows: Option<Output>,
    indices: Option<Output>,
    trace: Option<Output>,
    json: Option<Output>,
    page: Option<Output>,
}

impl Files {
    fn create(outputs: &Outputs) -> Result<Files> {
        let create = |path: &Option<PathBuf>| path.as_deref().map(Output::create).transpose();
        Ok(Files {
            rows: create(&outputs.rows)?,
            indices: create(&outputs.indices)?,
            trace: create(&outputs.trace)?,
            json: create(&outputs.json)?,
            page: create(&outputs.report)?,
        })
    }

    /// The rows themselves, to stdout where no file is named.
    fn write_rows(&mut self, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        match &mut self.rows {
            Some(rows) => rows.fill(write),
            None => to_stdout(write),
        }
    }

    fn write_trace(&mut self, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        self.trace.as_mut().map_or(Ok(()), |trace| trace.fill(write))
    }

    /// All that is made of the report: the row numbers, the JSON, the page, and what is said in the end.
    fn write_report(&mut self, report: &Report<'_>) -> Result<Told> {
        if let (Some(indices), Some(rows)) = (&mut self.indices, &report.result.rows) {
            indices.fill(|out| Ok(rows.iter().try_for_each(|row| writeln!(out, "{row}"))?))?;
        }
        if let Some(json) = &mut self.json {
            json.fill(|out| Ok(out.write_all(report.to_json().as_bytes())?))?;
        }
        if let Some(page) = &mut self.page {
            page.fill(|out| Ok(out.write_all(report.to_html().as_bytes())?))?;
        }
        Ok(Told { outcome: Outcome::of(report), text: report.to_text() })
    }

    fn finish(self) -> Result<()> {
        let Files { rows, indices, trace, json, page } = self;
        [rows, indices, trace, json, page].into_iter().flatten().try_for_each(Output::finish)
    }
}

/// This run, for its report: the words as typed, the path of the program left out.
fn this_run(stop: Stop, ended: Option<Ended>) -> Run {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let command = std::iter::once("supersample".to_string()).chain(words).collect();
    Run { version: version().to_string(), command, stop, ended }
}
