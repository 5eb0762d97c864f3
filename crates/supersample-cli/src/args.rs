//! What can be typed: the verbs, the flags and their help.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Parser, Subcommand, ValueEnum};
use supersample::Kernel;

use crate::names::NameList;

const EXAMPLE: &str = "\
Example: keep the 100 posterior draws that lose least
  supersample herd draws.csv -n 100 -o chosen.csv

Chosen rows go to stdout or -o, everything else to stderr. Exit status: 0 done, 2 error.";

const HERD_EXAMPLE: &str = "\
Example: 100 draws for a costly simulator, and how the error fell on the way
  supersample herd draws.csv -n 100 --exclude log_lik -o chosen.csv --trace trace.csv";

/// Choose the few rows of a draw file that stand in for all of them
#[derive(Parser)]
#[command(name = "supersample", version, max_term_width = 110, after_help = EXAMPLE)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Subcommand)]
pub(crate) enum Verb {
    Herd(HerdArgs),
}

/// Choose rows one after the other by kernel herding; any prefix of the result is good too
#[derive(clap::Args)]
#[command(after_help = HERD_EXAMPLE)]
pub(crate) struct HerdArgs {
    /// CSV file: a header with the column names, then one line for each draw
    pub(crate) file: PathBuf,

    /// How many rows to choose
    #[arg(short, long, value_name = "T", allow_negative_numbers = true, value_parser = whole_number)]
    pub(crate) number: usize,

    /// Choose by these columns only [default: all but ids (chain, draw, iteration, row, names ending in __)]
    #[arg(long, value_name = "A,B", conflicts_with = "exclude")]
    pub(crate) columns: Option<NameList>,

    /// Choose by all columns but the ids and these [default: none excluded]
    #[arg(long, value_name = "A,B")]
    pub(crate) exclude: Option<NameList>,

    /// Bring every column to mean 0 and standard deviation 1 (sd), or take it as it is (none)
    #[arg(long, value_enum, default_value_t = Scale::Sd, hide_possible_values = true)]
    pub(crate) scale: Scale,

    /// gaussian, laplace, matern12, matern32, matern52, imq or linear
    #[arg(long, value_name = "NAME", default_value = "gaussian", hide_possible_values = true,
          value_parser = PossibleValuesParser::new(Kernel::NAMES))]
    pub(crate) kernel: String,

    /// The kernel's length: a number, or the median distance between rows; after scaling [default: median]
    #[arg(long, value_name = "median|NUM", allow_negative_numbers = true)]
    pub(crate) bandwidth: Option<String>,

    /// Choose no row twice [default: rows may repeat, as in the paper]
    #[arg(long)]
    pub(crate) unique: bool,

    /// How many threads to use; the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number)]
    pub(crate) threads: Option<usize>,

    /// Write the chosen rows, all columns as they were, to this file [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Write the chosen row numbers, counted from 0, one a line, in order of choice [default: not written]
    #[arg(long, value_name = "FILE")]
    pub(crate) indices: Option<PathBuf>,

    /// Write t,row,error,weight_norm,margin of each choice as CSV [default: not written]
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,

    /// Print no summary [default: a summary on stderr]
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// What is done to the columns before distances are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scale {
    None,
    Sd,
}

/// The parser of the standard library says "invalid digit found in string", which helps nobody.
fn whole_number(text: &str) -> Result<usize, &'static str> {
    text.parse().map_err(|_| "write a whole number of at least 1")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound_and_the_help_names_every_kernel_in_one_screen() {
        let mut command = Args::command();
        command.clone().debug_assert();
        let herd = command.find_subcommand_mut("herd").unwrap();
        let help = herd.render_help().to_string();
        assert!(help.contains("[default: gaussian]") && help.contains("[default: sd]"), "{help}");
        Kernel::NAMES.iter().for_each(|name| assert!(help.contains(name), "{name} is missing:\n{help}"));
        assert!(help.lines().count() <= 40, "{help}");
        assert!(command.render_help().to_string().lines().count() <= 24);
    }
}
