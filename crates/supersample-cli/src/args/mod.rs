//! Arguments: what can be typed, the verbs, the flags and their help.

mod groups;
mod lists;
mod values;

use std::path::PathBuf;
use std::sync::LazyLock;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

pub(crate) use self::groups::{
    BalanceArgs, CommonArgs, EmbeddingArgs, InputArgs, KernelArgs, MatchArgs, ReadingArgs, RegularArgs,
    ResultArgs, ScoreArgs, SizeArgs, WeightsArg,
};
pub(crate) use self::lists::NameList;
use self::values::whole_number;

const EXAMPLE: &str = "\
Example: keep the 100 posterior draws that lose least
  supersample herd draws.csv -n 100 -o chosen.csv

Chosen rows go to stdout or -o, everything else to stderr.
Exit status: 0 done, 1 tolerance not reached, 2 error, 130 interrupted.";

const HERD_EXAMPLE: &str = "\
Example: 100 draws of four CmdStan chains for a costly simulator, and a page that shows how good they are
  supersample herd chain_*.csv -n 100 --exclude log_lik -o chosen.csv --report report.html";

const THIN_EXAMPLE: &str = "\
Example: the best 48 distinct rows of four chains, 12 of each, with a weight each
  supersample thin chain_*.csv -n 48 --stratify chain --weights simplex -o best.csv";

const SAMPLE_EXAMPLE: &str = "\
Example: 200 points for the mixture in m.toml, or as many as are as accurate as 10,000 random ones
  supersample sample m.toml -n 200 --equivalent-draws 10000 -o points.csv

A mixture file has one [[component]] after another, each with weight, mean and covariance.";

const EVAL_EXAMPLE: &str = "\
Example: how good are the draws another tool kept?
  supersample eval draws.csv thinned.csv

SUBSET has the rows with their columns, or a column 'row' with their numbers, or nothing but numbers (--indices, .npy).
A column 'weight' of it that DRAWS does not have is taken as the weights of its rows.";

const INFO_EXAMPLE: &str = "\
Example: which columns would be used, and how long would it take?
  supersample info chain_*.csv --exclude log_lik";

/// Choose the few rows of a draw file that stand in for all of them
#[derive(Parser)]
#[command(name = "supersample", version = version(), max_term_width = 110, after_help = EXAMPLE)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// The version, and the instructions that the kernel sums use on this machine.
pub(crate) fn version() -> &'static str {
    static VERSION: LazyLock<String> =
        LazyLock::new(|| format!("{} ({})", env!("CARGO_PKG_VERSION"), supersample::instruction_set()));
    &VERSION
}

/// How `eval` is called, by the name that the program was called by. Written out because the last of its files is another
/// thing than the others, which may have flags between them.
fn eval_usage() -> String {
    let called = std::env::args_os().next().map(PathBuf::from);
    let name =
        called.as_deref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy().into_owned());
    format!("{} eval [OPTIONS] <DRAWS>... <SUBSET>", name.as_deref().unwrap_or("supersample"))
}

#[derive(Subcommand)]
pub(crate) enum Verb {
    Herd(HerdArgs),
    Thin(ThinArgs),
    Sample(SampleArgs),
    Eval(EvalArgs),
    Info(InfoArgs),
    /// Print the completions for a shell: bash, elvish, fish, powershell or zsh
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page in roff, or with DIR write one page for each verb there
    Man {
        /// A folder for all the pages
        directory: Option<PathBuf>,
    },
}

/// Choose rows one after the other by kernel herding; any prefix is good too
#[derive(clap::Args)]
#[command(after_help = HERD_EXAMPLE)]
pub(crate) struct HerdArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) size: SizeArgs,

    /// Choose no row twice [default: rows may repeat, as in the paper]
    #[arg(long)]
    pub(crate) unique: bool,

    /// Random seed (landmarks, subsampling)
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,

    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// Choose the best rows as a set: herding, then swaps until none helps and a search
#[derive(clap::Args)]
#[command(after_help = THIN_EXAMPLE)]
pub(crate) struct ThinArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) size: SizeArgs,

    /// Allow a row to be chosen more than once [default: distinct rows]
    #[arg(long)]
    pub(crate) repeats: bool,

    /// Annealed sweeps beyond the nearest optimum; 0 is none [default: up to 400, fewer for more rows and larger sets]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number)]
    pub(crate) search: Option<usize>,

    /// Random seed (search, landmarks, subsampling)
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,

    #[command(flatten)]
    pub(crate) balance: BalanceArgs,

    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// Place points for a Gaussian mixture, anywhere in space
#[derive(clap::Args)]
#[command(after_help = SAMPLE_EXAMPLE)]
pub(crate) struct SampleArgs {
    /// Mixture file in TOML or JSON
    #[arg(value_name = "MIXTURE")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) size: SizeArgs,

    /// The kernel's length: a number, or the median distance between draws of the mixture [default: median]
    #[arg(long, value_name = "median|NUM", allow_negative_numbers = true, help_heading = "Distances")]
    pub(crate) bandwidth: Option<String>,

    /// From how many of the best starts to climb for each point
    #[arg(long, help_heading = "Search", value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = whole_number)]
    pub(crate) climbs: usize,

    /// How many draws of the mixture to start from
    #[arg(long, help_heading = "Search", value_name = "N", default_value_t = 1000, allow_negative_numbers = true, value_parser = whole_number)]
    pub(crate) starts: usize,

    /// The seed of those draws
    #[arg(long, help_heading = "Search", value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,

    /// Move all points together at the end, to where their MMD is least
    #[arg(long, help_heading = "Search")]
    pub(crate) polish: bool,

    /// Give the points a column of weights: simplex (none negative) or signed (any sign), both summing to one
    #[arg(long, value_enum, help_heading = "Results", value_name = "RULE", default_value_t = WeightsArg::Equal,
          hide_possible_values = true)]
    pub(crate) weights: WeightsArg,

    /// Write the points, columns x1, x2 and so on, to this file, in the format of its ending [default: CSV to stdout]
    #[arg(short, long, help_heading = "Results", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Write t,error,weight_norm,margin,converged of each point as CSV
    #[arg(long, help_heading = "Results", value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,

    /// Write the summary as JSON
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) json: Option<PathBuf>,

    /// How many threads; the result is the same for any [default: all cores]
    #[arg(long, help_heading = "The run", value_name = "N", allow_negative_numbers = true, value_parser = whole_number)]
    pub(crate) threads: Option<usize>,

    /// Print no summary and no progress
    #[arg(short, long, help_heading = "The run")]
    pub(crate) quiet: bool,
}

/// Say how good a subset of draws is, beside random rows and every k-th row
#[derive(clap::Args)]
#[command(after_help = EVAL_EXAMPLE, override_usage = eval_usage())]
pub(crate) struct EvalArgs {
    /// The files of all draws, then the file of the subset; - is stdin
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// The column of SUBSET that has the row numbers, from 0 [default: row, where parameters are missing]
    #[arg(long, value_name = "NAME")]
    pub(crate) index_column: Option<String>,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    #[command(flatten)]
    pub(crate) scores: ScoreArgs,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
    #[command(flatten)]
    pub(crate) embedding: EmbeddingArgs,

    /// Write the summary as JSON
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) json: Option<PathBuf>,

    /// Write one self-contained HTML page with figures
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) report: Option<PathBuf>,

    /// How many threads; the result is the same for any [default: all cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number,
          help_heading = "The run")]
    pub(crate) threads: Option<usize>,

    /// Print no summary [default: a summary on stderr]
    #[arg(short, long, help_heading = "The run")]
    pub(crate) quiet: bool,
}

/// Say what files hold, how they would be used, and what a run would take
#[derive(clap::Args)]
#[command(after_help = INFO_EXAMPLE)]
pub(crate) struct InfoArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) kernel: KernelArgs,

    /// Write the same as JSON; - is stdout, in place of the text
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) json: Option<PathBuf>,

    /// How many threads [default: all cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number,
          help_heading = "The run")]
    pub(crate) threads: Option<usize>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use supersample::Family;
    use supersample::task::Choose;

    use super::*;
    use crate::words::{Opt, Style};

    #[test]
    fn no_help_has_what_a_manual_page_cannot_show() {
        let mut command = Args::command();
        command.build();
        for verb in command.get_subcommands() {
            let mut page = Vec::new();
            clap_mangen::Man::new(verb.clone()).render(&mut page).unwrap();
            let page = String::from_utf8(page).unwrap();
            let odd: Vec<&str> = page.lines().filter(|line| !line.is_ascii()).collect();
            assert!(odd.is_empty(), "{}: {odd:?}", verb.get_name());
        }
    }

    #[test]
    fn flags_that_refusals_name_exist() {
        let command = Args::command();
        let flags: Vec<String> = command
            .get_subcommands()
            .flat_map(|verb| verb.get_arguments())
            .flat_map(|arg| {
                let short = arg.get_short().map(|letter| format!("-{letter}"));
                short.into_iter().chain(arg.get_long().map(|name| format!("--{name}")))
            })
            .collect();
        for option in Opt::ALL {
            let spelled = option.spelled(Style::Command);
            let named = spelled.split([' ', '(', ')']).filter(|word| word.starts_with('-'));
            named.for_each(|flag| assert!(flags.iter().any(|known| known == flag), "{option:?}: {flag}"));
        }
        assert!(flags.iter().any(|flag| flag == "--tol"));
    }

    #[test]
    fn the_definition_is_sound_and_the_help_fits_a_page() {
        let mut command = Args::command();
        command.clone().debug_assert();
        for verb in ["herd", "thin", "eval", "sample", "info"] {
            let help = command.find_subcommand_mut(verb).unwrap().render_help().to_string();
            assert!(help.contains("\nExample: "), "{verb}");
            assert!(help.lines().count() <= 110, "{}\n{help}", help.lines().count());
            if ["herd", "thin"].contains(&verb) {
                let weight = |choose: supersample::Result<Choose>| choose.unwrap().marginals_weight();
                let (thin, herd) = (weight(Choose::thin(1)), weight(Choose::herd(1)));
                let default = format!("[default: {thin} for thin, {herd} for herd]");
                assert!(help.contains(&default), "{default} is missing:\n{help}");
            }
            if verb != "sample" {
                for family in Family::ALL {
                    assert!(help.contains(&family.to_string()), "{family} is missing:\n{help}");
                }
            }
        }
        assert!(command.render_help().to_string().lines().count() <= 24);
    }
}
