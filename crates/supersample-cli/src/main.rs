//! The command `supersample`: arguments, then a checked plan, then the run, then the report.

mod args;
mod plan;
mod report;
mod run;
mod terminal;
mod words;

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::process::ExitCode;
use std::sync::Mutex;

use anyhow::{Result, anyhow};
use clap::Parser;
use clap::error::ErrorKind;

use crate::args::{Args, Verb};
use crate::plan::{ChoosePlan, EvalPlan, InfoPlan, SamplePlan, StreamPlan};
use crate::run::Outcome;
use crate::terminal::interrupt::{self, EXIT_INTERRUPTED, NOTHING_WRITTEN};
use crate::terminal::output::say;

/// Exit status if the error asked for was not reached.
const EXIT_NOT_REACHED: u8 = 1;
/// Exit status of an error.
const EXIT_ERROR: u8 = 2;

/// The last panic, printed only if it was not caught: a reader of broken files may panic, which becomes an error.
static PANIC: Mutex<String> = Mutex::new(String::new());

fn main() -> ExitCode {
    // Before the arguments, because the version names the instruction set.
    if let Err(error) = supersample::check_instruction_set() {
        return complain(&error.to_string());
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(refusal) => return usage(&refusal),
    };
    let last = || PANIC.lock().unwrap_or_else(|lock| lock.into_inner());
    set_hook(Box::new(move |panic| *last() = panic.to_string()));
    let ended = catch_unwind(AssertUnwindSafe(|| run(args)))
        .unwrap_or_else(|_| Err(anyhow!("this is a bug; please report it with the command: {}", last())));
    match ended {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::NotReached) => ExitCode::from(EXIT_NOT_REACHED),
        Ok(Outcome::Interrupted) => ExitCode::from(EXIT_INTERRUPTED),
        Err(error) if error.downcast_ref() == Some(&supersample::Error::Interrupted) => {
            say(&format!("supersample: {NOTHING_WRITTEN}\n"));
            ExitCode::from(EXIT_INTERRUPTED)
        }
        Err(error) => complain(&words::said(&error)),
    }
}

fn run(args: Args) -> Result<Outcome> {
    interrupt::listen();
    match args.verb {
        Verb::Herd(args) => run::choose(&ChoosePlan::herd(args)?),
        Verb::Thin(args) => run::choose(&ChoosePlan::thin(args)?),
        Verb::Stream(args) => run::stream(&StreamPlan::new(args)?),
        Verb::Sample(args) => run::sample(&SamplePlan::new(args)?),
        Verb::Eval(args) => run::eval(&EvalPlan::new(args)?),
        Verb::Info(args) => run::info(&InfoPlan::new(args)?),
        Verb::Completions { shell } => run::completions(shell),
        Verb::Man { directory } => run::man(directory.as_deref()),
    }
}

/// Help and version go to stdout as asked; a misused flag is an error like any other and looks like one.
fn usage(refusal: &clap::Error) -> ExitCode {
    if refusal.use_stderr() && refusal.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let text = refusal.render().to_string();
        return complain(text.strip_prefix("error: ").unwrap_or(&text).trim_end());
    }
    // If stdout is closed there is nothing to do.
    let _ = refusal.print();
    // Without any arguments the answer is the help, but a script must still see that nothing was done.
    if refusal.use_stderr() { ExitCode::from(EXIT_ERROR) } else { ExitCode::SUCCESS }
}

fn complain(message: &str) -> ExitCode {
    say(&format!("supersample: {message}\n"));
    ExitCode::from(EXIT_ERROR)
}
