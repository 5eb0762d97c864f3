//! The command `supersample`: arguments, then a checked plan, then the run, then the report.

mod args;
mod compare;
mod herd;
mod names;
mod numbers;
mod output;
mod plan;
mod quality;
mod report;
mod standardise;

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use clap::error::ErrorKind;

use crate::args::{Args, Verb};
use crate::plan::HerdPlan;

/// What the shell sees when anything went wrong; 1 is kept for "asked tolerance not reached".
const EXIT_ERROR: u8 = 2;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(refusal) => return usage(&refusal),
    };
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&format!("{error:#}")),
    }
}

fn run(args: Args) -> Result<()> {
    match args.verb {
        Verb::Herd(args) => herd::run(&HerdPlan::new(args)?),
    }
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
    // eprintln! would panic where stderr is closed.
    let _ = writeln!(std::io::stderr(), "supersample: {message}");
    ExitCode::from(EXIT_ERROR)
}
