//! Arguments: what can be typed, the verbs, the flags and their help.

mod groups;
mod input;
mod lists;
mod values;

use std::path::PathBuf;
use std::sync::LazyLock;

use clap::{Parser, Subcommand};
use clap_complete::Shell;
use supersample::task::Choose;

pub(crate) use self::groups::{
    BalanceArgs, CommonArgs, EmbeddingArgs, KernelArgs, MatchArgs, ResultArgs, SizeArgs, WeightsArg,
};
pub(crate) use self::input::{FunctionArgs, InputArgs, ReadingArgs, RegularArgs, ScoreArgs};
pub(crate) use self::lists::NameList;
pub(crate) use self::values::Count;
use self::values::{memory_size, number, whole_number};

const MORE: &str = "--help shows all options, with explanations and examples.";

const EXAMPLE: &str = "\
Example: select 100 of the posterior draws in draws.csv
  supersample thin draws.csv -n 100 -o chosen.csv

The selected rows go to stdout or to the file named with -o, everything else to stderr.
'supersample VERB -h' lists the common options of a verb, 'supersample VERB --help' all of them.
Exit status: 0 success, 1 tolerance not reached, 2 error, 130 interrupted.";

const THIN_SHORT: &str = "\
Example: supersample thin draws.csv -n 100 -o chosen.csv
--help shows all options, with explanations and examples.";

const THIN_EXAMPLE: &str = "\
Examples:
  The best 100 rows of a file:
    supersample thin draws.csv -n 100 -o chosen.csv
  12 rows of each of four CmdStan chains, with weights:
    supersample thin chain_*.csv -n 48 --stratify chain --weights simplex -o best.csv
  The smallest subset that is as accurate as 1,000 independent draws of mu and tau:
    supersample thin draws.csv --equivalent-draws 1000 --columns mu,tau -o chosen.csv";

const STREAM_EXAMPLE: &str = "\
Examples:
  200 rows that stand for all that a sampler has written, every 100,000 rows:
    sampler | supersample stream - -n 200 --every 100000 -o now.csv
  500 rows of files that are read once:
    supersample stream part_*.parquet -n 500 -o chosen.parquet

thin selects better rows of files, because it can read them more than once.";

const HERD_EXAMPLE: &str = "\
Example: 100 draws of four CmdStan chains, in an order in which any first part is a good subset
  supersample herd chain_*.csv -n 100 --exclude log_lik -o chosen.csv

Use thin for the best subset of a fixed size, herd if you may use only the first rows or add more later.";

const SAMPLE_EXAMPLE: &str = "\
Example: at most 200 points, or fewer if they are as accurate as 10,000 random points
  supersample sample m.toml -n 200 --equivalent-draws 10000 -o points.csv

A mixture file has a [[component]] for each component, with weight, mean and covariance.";

const EVAL_EXAMPLE: &str = "\
Example: how good are the draws that another tool selected?
  supersample eval draws.csv thinned.csv

SUBSET has one of: the rows with their columns; a column 'row' with row numbers; nothing but row numbers (--indices, .npy).
If SUBSET has a column 'weight' that DRAWS does not have, it is used as the weights of the subset.";

const INFO_EXAMPLE: &str = "\
Example: which columns would be used, and how much memory would a run take?
  supersample info chain_*.csv --exclude log_lik";

/// Select a small representative subset of rows (MCMC draws, samples)
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
    Thin(ThinArgs),
    Herd(HerdArgs),
    Stream(StreamArgs),
    Sample(SampleArgs),
    Eval(EvalArgs),
    Info(InfoArgs),
    /// Print shell completions: bash, elvish, fish, powershell or zsh
    Completions {
        /// Name of the shell
        shell: Shell,
    },
    /// Print the manual page, or write one page per verb to DIRECTORY
    Man {
        /// Directory for all pages
        directory: Option<PathBuf>,
    },
}

/// Select the best subset of a given size: herding, then swaps, then a search
///
/// Rows are selected by kernel herding. Then rows are swapped until no swap helps, and a simulated-annealing search
/// follows. The rows are distinct. The objective is the joint MMD (maximum mean discrepancy) + 0.1 x marginals + 0.08 x moments.
#[derive(clap::Args)]
#[command(after_help = THIN_SHORT, after_long_help = THIN_EXAMPLE)]
pub(crate) struct ThinArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) size: SizeArgs,

    #[command(flatten)]
    pub(crate) balance: BalanceArgs,

    #[command(flatten)]
    pub(crate) common: CommonArgs,

    #[command(flatten)]
    pub(crate) set: SetArgs,
}

/// Select a sequence of rows by kernel herding; any first part is a good subset too
///
/// The rows may repeat, and the objective is the joint MMD (maximum mean discrepancy) alone, as in Chen, Welling and Smola
/// (2010).
#[derive(clap::Args)]
#[command(after_help = MORE, after_long_help = HERD_EXAMPLE)]
pub(crate) struct HerdArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) size: SizeArgs,

    /// Select no row twice [default: rows may repeat]
    #[arg(long)]
    pub(crate) unique: bool,

    #[command(flatten)]
    pub(crate) common: CommonArgs,

    /// Random seed (landmarks, subsampling)
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Run options")]
    pub(crate) seed: u64,
}

/// Keep a subset of rows that are read once, in constant memory
///
/// Rows come from files or from a pipe. Of text without comments in a pipe, each row is used when it arrives; other pipes are first copied to a
/// temporary file. The scales of the columns and the bandwidth settle by the first rows, 200,000 by default (--pool-rows), and the
/// summary says so if later rows are unlike them. Ctrl-C ends the input: the subset of the rows so far is written.
#[derive(clap::Args)]
#[command(after_help = MORE, after_long_help = STREAM_EXAMPLE)]
pub(crate) struct StreamArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// Number of rows
    #[arg(short, long, alias = "n", value_name = "T", allow_negative_numbers = true, value_parser = whole_number,
          help_heading = "Size")]
    pub(crate) number: usize,

    /// Write the outputs anew after every so many rows [default: only at the end]
    ///
    /// A file is replaced when the new one is complete.
    #[arg(long, value_name = "ROWS", allow_negative_numbers = true, value_parser = whole_number, requires = "output",
          help_heading = "Output")]
    pub(crate) every: Option<usize>,

    /// Write the selected rows to FILE [default: CSV to stdout]
    ///
    /// The columns are those that are used, and 'row', the number of the row among those that were used, from 0. The file ending sets
    /// the format.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,

    /// Write the row numbers, counted from 0 over all files
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) indices: Option<PathBuf>,

    /// Weight of the marginals, relative to the joint distribution [default: 0.1]
    #[arg(long, value_name = "W", allow_negative_numbers = true, value_parser = number, hide_short_help = true,
          help_heading = "Objective")]
    pub(crate) marginals: Option<f64>,

    /// Weight of the moments, relative to the joint distribution [default: 0.08]
    #[arg(long, value_name = "W", allow_negative_numbers = true, value_parser = number, hide_short_help = true,
          help_heading = "Objective")]
    pub(crate) moments: Option<f64>,

    #[command(flatten)]
    pub(crate) kernel: KernelArgs,

    /// Number of landmarks [default: 4 per selected row]
    #[arg(long, value_name = "R", allow_negative_numbers = true, value_parser = whole_number, hide_short_help = true,
          help_heading = "Distance")]
    pub(crate) landmarks: Option<usize>,

    /// Simulated-annealing sweeps after the swaps; 0 turns the search off
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number, hide_short_help = true,
          help_heading = "Run options")]
    pub(crate) search: Option<usize>,

    /// Random seed (search, landmarks, sample)
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Run options")]
    pub(crate) seed: u64,

    /// Number of threads; the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number,
          help_heading = "Run options")]
    pub(crate) threads: Option<usize>,

    /// Memory limit: fewer rows are kept [default: none]
    #[arg(long, value_name = "SIZE", value_parser = memory_size, hide_short_help = true, help_heading = "Run options")]
    pub(crate) max_memory: Option<u64>,

    /// Keep N rows to select from, drawn at random; scales and bandwidth settle by the first N
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number, hide_short_help = true,
          help_heading = "Run options")]
    pub(crate) pool_rows: Option<usize>,

    /// Print no summary and no progress
    #[arg(short, long, help_heading = "Run options")]
    pub(crate) quiet: bool,
}

// What `thin` alone has. No doc comment: it would become its help.
#[derive(clap::Args)]
pub(crate) struct SetArgs {
    /// With -n auto: how much the selection may add to each error of the draws [default: 0.1]
    ///
    /// 0.1 allows total errors that are 10 % larger than those of all draws.
    #[arg(long, value_name = "A", allow_negative_numbers = true, value_parser = number, hide_short_help = true,
          help_heading = "Size")]
    pub(crate) add: Option<f64>,

    /// Allow a row to be selected more than once [default: distinct rows]
    #[arg(long, hide_short_help = true, help_heading = "Size")]
    repeats: bool,

    /// Simulated-annealing sweeps after the swaps; 0 turns the search off
    ///
    /// The default is up to 400, fewer for more rows and for larger subsets.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number, hide_short_help = true,
          help_heading = "Run options")]
    search: Option<usize>,

    /// Random seed (search, landmarks, subsampling)
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Run options")]
    seed: u64,
}

impl SetArgs {
    /// The choice of a set with what these flags say.
    pub(crate) fn of(self, choose: Choose) -> Choose {
        choose.unique(!self.repeats).search(self.search).seed(self.seed)
    }
}

/// Place points for a Gaussian mixture, anywhere in space
///
/// The points are placed one after the other by kernel herding. Each one is found by gradient ascent from draws of the
/// mixture.
#[derive(clap::Args)]
#[command(after_help = MORE, after_long_help = SAMPLE_EXAMPLE)]
pub(crate) struct SampleArgs {
    /// Mixture file in TOML or JSON
    #[arg(value_name = "MIXTURE")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) size: SizeArgs,

    /// Length of the kernel: a number, or the median distance between draws of the mixture [default: median]
    #[arg(
        long,
        value_name = "median|NUM",
        allow_negative_numbers = true,
        help_heading = "Distance",
        hide_short_help = true
    )]
    pub(crate) bandwidth: Option<String>,

    /// Number of starts to climb from for each point: the best ones
    #[arg(long, help_heading = "Search", value_name = "N", default_value_t = 1, allow_negative_numbers = true,
          value_parser = whole_number, hide_short_help = true)]
    pub(crate) climbs: usize,

    /// Number of draws of the mixture that serve as starts
    #[arg(long, help_heading = "Search", value_name = "N", default_value_t = 1000, allow_negative_numbers = true,
          value_parser = whole_number, hide_short_help = true)]
    pub(crate) starts: usize,

    /// Random seed of the starts
    #[arg(long, help_heading = "Search", value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,

    /// Minimise the MMD over all points together at the end
    #[arg(long, help_heading = "Search")]
    pub(crate) polish: bool,

    /// Number of threads; the result does not depend on it [default: all cores]
    #[arg(long, help_heading = "Run options", value_name = "N", allow_negative_numbers = true, value_parser = whole_number)]
    pub(crate) threads: Option<usize>,

    /// Print no summary and no progress
    #[arg(short, long, help_heading = "Run options")]
    pub(crate) quiet: bool,

    /// Write the points to FILE [default: CSV to stdout]
    ///
    /// The columns are x1, x2 and so on. The file ending sets the format.
    #[arg(short, long, help_heading = "Output", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Weights of the points: equal, simplex or signed
    ///
    /// simplex and signed are the weights with the smallest MMD that sum to one, without and with negative ones. They are
    /// written to a column 'weight'.
    #[arg(long, value_enum, help_heading = "Output", value_name = "RULE", default_value_t = WeightsArg::Equal,
          hide_possible_values = true)]
    pub(crate) weights: WeightsArg,

    /// Write the summary as JSON
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) json: Option<PathBuf>,

    /// Write the error after each point as CSV: t,error,weight_norm,margin,converged
    #[arg(long, help_heading = "Output", value_name = "FILE", hide_short_help = true)]
    pub(crate) trace: Option<PathBuf>,
}

/// Measure how well a subset matches all draws
///
/// The errors are compared with those of random rows and of every k-th row.
#[derive(clap::Args)]
#[command(after_help = MORE, after_long_help = EVAL_EXAMPLE, override_usage = eval_usage())]
pub(crate) struct EvalArgs {
    /// The files of all draws, then the file of the subset; - is stdin
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,

    /// Column of SUBSET with the row numbers, counted from 0 [default: row, if parameters are missing]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) index_column: Option<String>,

    #[command(flatten)]
    pub(crate) functions: FunctionArgs,
    #[command(flatten)]
    pub(crate) scores: ScoreArgs,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
    #[command(flatten)]
    pub(crate) embedding: EmbeddingArgs,

    /// Number of threads; the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number,
          help_heading = "Run options")]
    pub(crate) threads: Option<usize>,

    /// Print no summary [default: a summary on stderr]
    #[arg(short, long, help_heading = "Run options")]
    pub(crate) quiet: bool,

    /// Write the summary as JSON
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) json: Option<PathBuf>,

    /// Write an HTML page with figures
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) report: Option<PathBuf>,
}

/// Show what files contain, and estimate the memory of a run
#[derive(clap::Args)]
#[command(after_help = MORE, after_long_help = INFO_EXAMPLE)]
pub(crate) struct InfoArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) functions: FunctionArgs,

    #[command(flatten)]
    pub(crate) kernel: KernelArgs,

    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number,
          help_heading = "Run options")]
    pub(crate) threads: Option<usize>,

    /// Write the same as JSON; - is stdout, instead of the text
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) json: Option<PathBuf>,
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
    fn the_definition_is_sound_and_the_short_help_is_short() {
        let mut command = Args::command();
        command.clone().debug_assert();
        for verb in ["herd", "thin", "stream", "eval", "sample", "info"] {
            let verb_command = command.find_subcommand_mut(verb).unwrap();
            let short = verb_command.render_help().to_string();
            assert!(short.lines().count() <= 40, "{}\n{short}", short.lines().count());
            assert!(short.trim_end().ends_with(MORE), "{verb}");
            let help = verb_command.render_long_help().to_string();
            assert!(help.contains("\nExample"), "{verb}");
            if ["herd", "thin"].contains(&verb) {
                let (thin, herd) = (Choose::thin(1).unwrap(), Choose::herd(1).unwrap());
                for (flag, weight) in [
                    ("--marginals", Choose::marginals_weight as fn(&Choose) -> f64),
                    ("--moments", Choose::moments_weight),
                ] {
                    let default =
                        format!("[default: {} for thin, {} for herd]", weight(&thin), weight(&herd));
                    let about = help.split(&format!("{flag} <W>")).nth(1).unwrap();
                    let about: String = about.split_whitespace().collect::<Vec<_>>().join(" ");
                    let about = about.split(" --").next().unwrap();
                    assert!(about.contains(&default), "{default} is missing:\n{help}");
                }
            }
            if verb != "sample" {
                for family in Family::ALL {
                    assert!(help.contains(&family.to_string()), "{family} is missing:\n{help}");
                }
            }
        }
        assert!(command.render_help().to_string().lines().count() <= 30);
    }
}
