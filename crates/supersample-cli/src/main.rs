//! The command `supersample`: arguments, then a checked plan, then the run, then the report.

mod args;
mod balance;
mod checkpoint;
mod choose;
mod choose_rows;
mod compare;
mod eval;
mod html;
mod interrupt;
mod json;
mod manual;
mod names;
mod numbers;
mod output;
mod plan;
mod problem;
mod progress;
mod report;
mod rows;
mod sample;
mod subset;
mod weighing;
mod weights;

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use clap::error::ErrorKind;
use rayon::ThreadPoolBuilder;

use crate::args::{Args, Verb};
use crate::choose::Ended;
use crate::interrupt::{EXIT_INTERRUPTED, NOTHING_WRITTEN};
use crate::plan::{ChoosePlan, EvalPlan, SamplePlan};
use crate::report::Report;

/// What the shell sees when the error asked for was not reached.
const EXIT_NOT_REACHED: u8 = 1;
/// What the shell sees when anything went wrong.
const EXIT_ERROR: u8 = 2;

fn main() -> ExitCode {
    #[cfg(feature = "arrow")]
    supersample_io::hide_caught_panics();
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(refusal) => return usage(&refusal),
    };
    match run(args) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::NotReached) => ExitCode::from(EXIT_NOT_REACHED),
        Ok(Outcome::Interrupted) => ExitCode::from(EXIT_INTERRUPTED),
        Err(error) if was_interrupted(&error) => {
            say(&format!("supersample: {NOTHING_WRITTEN}\n"));
            ExitCode::from(EXIT_INTERRUPTED)
        }
        Err(error) => complain(&format!("{error:#}")),
    }
}

/// How a run that made no error ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    NotReached,
    Interrupted,
}

impl Outcome {
    fn of(report: &Report) -> Outcome {
        match report.ended {
            Some(Ended::Interrupted) => Outcome::Interrupted,
            _ if report.missed_its_goal() => Outcome::NotReached,
            _ => Outcome::Done,
        }
    }
}

fn run(args: Args) -> Result<Outcome> {
    interrupt::listen();
    match args.verb {
        Verb::Herd(args) => choose_rows::run(&ChoosePlan::herd(args)?),
        Verb::Thin(args) => choose_rows::run(&ChoosePlan::thin(args)?),
        Verb::Sample(args) => sample::run(&SamplePlan::new(args)?),
        Verb::Eval(args) => eval::run(&EvalPlan::new(args)?),
        Verb::Completions { shell } => manual::completions(shell),
        Verb::Man { directory } => manual::man(directory.as_deref()),
    }
}

/// Runs on a thread pool of our own, since the global one would outlive the plan; `None` is all cores.
fn with_threads<T: Send>(threads: Option<usize>, run: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let pool = ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build();
    pool.context("the threads cannot be started; try fewer --threads")?.install(run)
}

/// The words as typed, the path of the program left out.
fn command_line() -> Vec<String> {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    std::iter::once("supersample".to_string()).chain(words).collect()
}

/// Whether the user ended the run before it had anything to write.
fn was_interrupted(error: &anyhow::Error) -> bool {
    error.downcast_ref() == Some(&supersample::Error::Interrupted)
}

/// To stderr. Whoever closed it does not want to hear.
fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Help and version go to stdout as asked; a misused flag is an error like any other and looks like one.
fn usage(refusal: &clap::Error) -> ExitCode {
    // Without any arguments the answer is the help, but a script must still see that nothing was done.
    if refusal.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = refusal.print();
        return ExitCode::from(EXIT_ERROR);
    }
    if refusal.use_stderr() {
        let text = refusal.render().to_string();
        return complain(text.strip_prefix("error: ").unwrap_or(&text).trim_end());
    }
    // Nobody is left to tell if stdout is closed.
    let _ = refusal.print();
    ExitCode::SUCCESS
}

fn complain(message: &str) -> ExitCode {
    say(&format!("supersample: {message}\n"));
    ExitCode::from(EXIT_ERROR)
}
