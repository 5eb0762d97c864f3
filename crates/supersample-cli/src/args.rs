//! What can be typed: the verbs, the flags and their help.

use std::path::PathBuf;
use std::sync::LazyLock;

use clap::builder::PossibleValuesParser;
use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use supersample::Kernel;
use supersample_io::Format;

use crate::balance::QuotaList;
use crate::names::NameList;

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
  supersample thin chain_*.csv -n 48 --per chain --weights simplex -o best.csv";

const SAMPLE_EXAMPLE: &str = "\
Example: 200 points for the mixture in m.toml, or as many as are worth 10,000 random ones
  supersample sample m.toml -n 200 --worth 10000 -o points.csv

A mixture file has one [[component]] after another, each with weight, mean and covariance.";

const EVAL_EXAMPLE: &str = "\
Example: how good are the draws another tool kept?
  supersample eval draws.csv thinned.csv

SUBSET has the rows with their columns, or a column 'row' with their numbers, or is a file of --indices.
A column 'weight' of it that DRAWS does not have is taken as the weights of its rows.";

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

#[derive(Subcommand)]
pub(crate) enum Verb {
    Herd(HerdArgs),
    Thin(ThinArgs),
    Sample(SampleArgs),
    Eval(EvalArgs),
    /// Print the completions for a shell: bash, zsh or fish
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

    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
    #[command(flatten)]
    pub(crate) result: ResultArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Choose the best rows as a set: herding, then swaps until none helps and a short search
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

    /// Annealed sweeps beyond the nearest optimum; 40 is thorough, 0 is none
    #[arg(long, value_name = "N", default_value_t = 3, allow_negative_numbers = true, value_parser = whole_number)]
    pub(crate) search: usize,

    /// The seed of the search [default: 0]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    #[command(flatten)]
    pub(crate) balance: BalanceArgs,

    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
    #[command(flatten)]
    pub(crate) result: ResultArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
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

    /// Give the points a column of weights: simplex (none negative) or free (any sign), both summing to one
    #[arg(long, value_enum, help_heading = "Results", value_name = "RULE", default_value_t = WeightsArg::Equal,
          hide_possible_values = true)]
    pub(crate) weights: WeightsArg,

    /// Write the points, columns x1, x2, …, to this file, in the format of its ending [default: CSV to stdout]
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
#[command(after_help = EVAL_EXAMPLE, override_usage = "supersample eval [OPTIONS] <DRAWS>... <SUBSET>")]
pub(crate) struct EvalArgs {
    /// The files of all draws, then the file of the subset; - is stdin
    #[arg(value_names = ["DRAWS", "SUBSET"], num_args = 2.., required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// The column of SUBSET that has the row numbers, from 0 [default: row, where parameters are missing]
    #[arg(long, value_name = "NAME")]
    pub(crate) index_column: Option<String>,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,

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

#[derive(clap::Args)]
pub(crate) struct InputArgs {
    /// Draw files, one for each chain; - is stdin
    #[arg(value_name = "DRAWS", required = true)]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct ReadingArgs {
    /// csv, tsv, stan, npy, npz, parquet or arrow [default: found out]
    #[arg(long, value_name = "NAME", hide_possible_values = true,
          value_parser = PossibleValuesParser::new(Format::NAMES))]
    pub(crate) format: Option<String>,

    /// Between the fields of text: a character or tab [default: found out]
    #[arg(long, value_name = "CHAR", value_parser = separator)]
    pub(crate) separator: Option<u8>,

    /// Choose by these columns only; theta is all of theta.1, theta.2, …
    #[arg(long, value_name = "A,B", conflicts_with = "exclude")]
    pub(crate) columns: Option<NameList>,

    /// Choose by all columns but these and ids: chain, draw, iteration, row, names ending in __
    #[arg(long, value_name = "A,B")]
    pub(crate) exclude: Option<NameList>,

    /// Keep the warm-up rows of CmdStan files [default: left out]
    #[arg(long)]
    pub(crate) warmup: bool,

    /// Weigh the rows by this column
    #[arg(long, value_name = "NAME", conflicts_with = "log_weight_column")]
    pub(crate) weight_column: Option<String>,

    /// Weigh the rows by the exponential of this column
    #[arg(long, value_name = "NAME")]
    pub(crate) log_weight_column: Option<String>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "How many")]
pub(crate) struct SizeArgs {
    /// How many; with --tol or --worth at most so many [default then: all rows]
    #[arg(short, long, value_name = "T", allow_negative_numbers = true, value_parser = whole_number)]
    pub(crate) number: Option<usize>,

    /// The fewest with an MMD of at most this
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub(crate) tol: Option<f64>,

    /// The fewest worth so many independent draws
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub(crate) worth: Option<f64>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Balance")]
pub(crate) struct BalanceArgs {
    /// Share the rows out over the values of this column; chain: over the files
    #[arg(long, value_name = "COLUMN")]
    pub(crate) per: Option<String>,

    /// So many of each value [default: in proportion to its rows]
    #[arg(long, value_name = "A=N,B=M", requires = "per")]
    pub(crate) quota: Option<QuotaList>,

    /// Rows that must be in, from 0: 3,10-20 or @FILE with one a line
    #[arg(long, value_name = "ROWS")]
    pub(crate) include_rows: Option<String>,

    /// Rows that must not be in; they are still part of what is matched
    #[arg(long, value_name = "ROWS")]
    pub(crate) exclude_rows: Option<String>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Distances")]
pub(crate) struct KernelArgs {
    /// Columns to unit variance (sd), uncorrelated too (pca), as is (none)
    #[arg(long, value_enum, default_value_t = ScaleArg::Sd, hide_possible_values = true)]
    pub(crate) scale: ScaleArg,

    /// gaussian, laplace, matern12, matern32, matern52, imq or linear
    #[arg(long, value_name = "NAME", default_value = "gaussian", hide_possible_values = true,
          value_parser = PossibleValuesParser::new(Kernel::NAMES))]
    pub(crate) kernel: String,

    /// The kernel's length: a number, or the median distance [default: median]
    #[arg(long, value_name = "median|NUM", allow_negative_numbers = true)]
    pub(crate) bandwidth: Option<String>,

    /// Single where that is safe (mixed), or double throughout (double)
    #[arg(long, value_enum, default_value_t = PrecisionArg::Mixed, hide_possible_values = true)]
    pub(crate) precision: PrecisionArg,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Results")]
pub(crate) struct ResultArgs {
    /// Write the rows, all their columns, in the format of the ending [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Give them weights that sum to one: simplex (not negative) or free
    #[arg(long, value_enum, value_name = "RULE", default_value_t = WeightsArg::Equal, hide_possible_values = true)]
    pub(crate) weights: WeightsArg,

    /// Write the row numbers, from 0 over all files, in order of choice
    #[arg(long, value_name = "FILE")]
    pub(crate) indices: Option<PathBuf>,

    /// Write t,row,error,weight_norm,margin of each choice as CSV
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,

    /// Write the summary as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write one self-contained HTML page with figures
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "The run")]
pub(crate) struct RunArgs {
    /// How many threads; the result is the same for any [default: all cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number)]
    pub(crate) threads: Option<usize>,

    /// Keep what is needed to go on after a stop in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,

    /// Go on from this checkpoint, to the same rows as an unbroken run
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,

    /// Refuse a run that needs more memory than this, as in 500M or 2G
    #[arg(long, value_name = "SIZE", value_parser = memory_size)]
    pub(crate) max_memory: Option<u64>,

    /// Print no summary and no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// What is done to the columns before distances are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScaleArg {
    None,
    Sd,
    Pca,
}

/// Which weights the chosen rows are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WeightsArg {
    Equal,
    Simplex,
    Free,
}

/// The precision of the kernel values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PrecisionArg {
    Mixed,
    Double,
}

/// The parser of the standard library says "invalid digit found in string", which helps nobody.
fn whole_number(text: &str) -> Result<usize, &'static str> {
    text.parse().map_err(|_| "write a whole number of at least 1")
}

fn separator(text: &str) -> Result<u8, &'static str> {
    match (text, text.as_bytes()) {
        ("tab" | "\\t", _) => Ok(b'\t'),
        (_, [b'"' | b'\n' | b'\r']) => Err("quotes and line breaks cannot separate fields"),
        (_, [byte]) if byte.is_ascii() => Ok(*byte),
        _ => Err("write one character, or the word tab"),
    }
}

/// `500M`, `2G`, `1.5GiB`, or a plain number of bytes; powers of 1024.
fn memory_size(text: &str) -> Result<u64, &'static str> {
    let advice = "write a number with K, M, G or T behind it, as in 500M or 2G";
    let lower = text.trim().to_ascii_lowercase();
    let bare = lower.trim_end_matches("ib").trim_end_matches('b');
    let (number, unit) = match bare.char_indices().next_back() {
        Some((at, unit @ ('k' | 'm' | 'g' | 't'))) => (&bare[..at], unit),
        _ => (bare, ' '),
    };
    let power = [' ', 'k', 'm', 'g', 't'].iter().position(|&known| known == unit).expect("one of these");
    let bytes = number.trim().parse::<f64>().map_err(|_| advice)? * 1024_f64.powi(power as i32);
    if bytes.is_finite() && bytes >= 1.0 { Ok(bytes as u64) } else { Err(advice) }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound_and_the_help_fits_a_page() {
        let mut command = Args::command();
        command.clone().debug_assert();
        for verb in ["herd", "thin", "eval", "sample"] {
            let help = command.find_subcommand_mut(verb).unwrap().render_help().to_string();
            assert!(help.contains("\nExample: "), "{verb}");
            assert!(help.lines().count() <= 66, "{}\n{help}", help.lines().count());
            if verb != "sample" {
                Kernel::NAMES
                    .iter()
                    .for_each(|name| assert!(help.contains(name), "{name} is missing:\n{help}"));
            }
        }
        assert!(command.render_help().to_string().lines().count() <= 24);
    }

    #[test]
    fn sizes_are_read_in_powers_of_1024() {
        assert_eq!(memory_size("500M"), Ok(500 << 20));
        assert_eq!(memory_size("1.5 GiB"), Ok(3 << 29));
        assert_eq!(memory_size("4096"), Ok(4096));
        assert!(memory_size("much").is_err() && memory_size("0").is_err() && memory_size("M").is_err());
        assert_eq!((separator("tab"), separator(";")), (Ok(b'\t'), Ok(b';')));
        assert!(separator("\"").is_err() && separator(";;").is_err() && separator("").is_err());
    }
}
