//! Manual pages and completions of the shells, made from the same definition as the help.

use std::path::Path;

use anyhow::{Context, Result};
use clap::CommandFactory;
use clap_complete::Shell;

use super::Outcome;
use crate::args::Args;
use crate::terminal::output::to_stdout;

pub(crate) fn completions(shell: Shell) -> Result<Outcome> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "supersample", &mut text);
    to_stdout(|out| Ok(out.write_all(&text)?))?;
    Ok(Outcome::Done)
}

pub(crate) fn man(directory: Option<&Path>) -> Result<Outcome> {
    let command = Args::command();
    match directory {
        Some(directory) => clap_mangen::generate_to(command, directory)
            .with_context(|| format!("the pages cannot be written to {}", directory.display()))?,
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            to_stdout(|out| Ok(out.write_all(&page)?))?;
        }
    }
    Ok(Outcome::Done)
}
