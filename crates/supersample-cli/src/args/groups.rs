//! Flags that several verbs share, by what they are about.

use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::PossibleValuesParser;
use supersample::scale::Scale;
use supersample::task::{EmbeddingChoice, TargetChoice};
use supersample::{Device, Family, FunctionsUnit, Precision, Preconditioner};
use supersample_io::{Format, Shape};

use super::lists::{NameList, QuotaList};
use super::values::{memory_size, number, separator, whole_number};

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
    /// csv, tsv, stan, npy, npz, parquet or arrow [default: auto]
    #[arg(long, value_name = "NAME", hide_possible_values = true,
          value_parser = PossibleValuesParser::new(Format::NAMES))]
    pub(crate) format: Option<String>,

    /// Between fields of text: a character or tab [default: auto]
    #[arg(long, value_name = "CHAR", value_parser = separator)]
    pub(crate) separator: Option<u8>,

    /// Choose by these columns only; theta is all of theta.1, theta.2, and so on, x* whatever begins with x
    #[arg(long, value_name = "A,B")]
    pub(crate) columns: Option<Vec<NameList>>,

    /// Choose by none of these, nor by ids: chain, draw, iteration, row, weight, names ending in __
    #[arg(long, value_name = "A,B")]
    pub(crate) exclude: Option<Vec<NameList>>,

    /// Match the means of these columns too, predictions for one; distances do not use them
    #[arg(long, value_name = "A,B")]
    pub(crate) functions: Option<Vec<NameList>>,

    /// Match the means of all columns of this file too, which has a row for each row of the draws
    #[arg(long, value_name = "FILE")]
    pub(crate) functions_file: Option<PathBuf>,

    /// Whether errors of functions count in the sds of each, or in one common unit [default: each]
    #[arg(long, value_name = "UNIT", hide_possible_values = true,
          value_parser = PossibleValuesParser::new(FunctionsUnit::NAMES))]
    pub(crate) functions_unit: Option<String>,

    /// Drop rows with missing values in used columns [default: an error]
    #[arg(long)]
    pub(crate) drop_na: bool,

    /// The first axes of NumPy arrays: rows, chain,draw or draw,chain [default: auto]
    #[arg(long, value_name = "AXES", hide_possible_values = true,
          value_parser = PossibleValuesParser::new(Shape::NAMES))]
    pub(crate) shape: Option<String>,

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
#[command(next_help_heading = "What is matched")]
pub(crate) struct MatchArgs {
    /// How much each column's own distribution counts beside the joint one [default: 0.1 for thin, 0 for herd]
    #[arg(long, value_name = "W", allow_negative_numbers = true, value_parser = number)]
    pub(crate) marginals: Option<f64>,

    /// How much the means of the functions count beside it [default: 1]
    #[arg(long, value_name = "V", allow_negative_numbers = true, value_parser = number)]
    pub(crate) functions_weight: Option<f64>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "How many")]
pub(crate) struct SizeArgs {
    /// How many; with --tol or --equivalent-draws at most so many [default then: all rows]
    #[arg(short, long, alias = "n", value_name = "T", allow_negative_numbers = true, value_parser = whole_number)]
    pub(crate) number: Option<usize>,

    /// The fewest with an MMD of at most this, with equal weights
    #[arg(long, value_name = "E", allow_negative_numbers = true, value_parser = number)]
    pub(crate) tol: Option<f64>,

    /// The fewest that are as accurate as M independent draws; with --tol, the first that is met ends
    #[arg(long, value_name = "M", allow_negative_numbers = true, value_parser = number)]
    pub(crate) equivalent_draws: Option<f64>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Balance")]
pub(crate) struct BalanceArgs {
    /// Share the rows out over the values of this column; chain: over the files
    #[arg(long, value_name = "COLUMN")]
    pub(crate) stratify: Option<String>,

    /// So many of each value [default: in proportion to its rows]
    #[arg(long, value_name = "A=N,B=M", requires = "stratify")]
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
    #[arg(long, value_name = "SCALE", hide_possible_values = true, help = scale_help(),
          value_parser = PossibleValuesParser::new(Scale::NAMES))]
    pub(crate) scale: Option<String>,

    #[arg(long, value_name = "NAME", hide_possible_values = true, help = kernel_help(),
          value_parser = PossibleValuesParser::new(Family::NAMES))]
    pub(crate) kernel: Option<String>,

    /// The kernel's length: a number, or the median distance [default: median]
    #[arg(long, value_name = "median|NUM", allow_negative_numbers = true)]
    pub(crate) bandwidth: Option<String>,

    /// Single where that is safe (mixed), or double throughout (double)
    #[arg(long, default_value_t = Precision::default().to_string(), hide_possible_values = true,
          value_parser = PossibleValuesParser::new(Precision::NAMES))]
    pub(crate) precision: String,

    /// Run long sums on the CPU (cpu) or on an NVIDIA GPU (gpu)
    #[arg(long, value_name = "DEVICE", default_value = "cpu", hide_possible_values = true,
          value_parser = PossibleValuesParser::new(Device::NAMES), help_heading = "The run")]
    pub(crate) device: String,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Scores")]
pub(crate) struct ScoreArgs {
    /// Scores (gradients of the log-density) of the draws, a row for each row of them: rows are matched to the draws as scores correct them
    #[arg(long, value_name = "FILE", conflicts_with = "score_prefix")]
    pub(crate) scores: Option<PathBuf>,

    /// Scores are columns of the draws: this and the name of the parameter, as g_ in CmdStan's diagnostic files
    #[arg(long, value_name = "PREFIX")]
    pub(crate) score_prefix: Option<String>,

    #[arg(long, value_name = "WHAT", hide_possible_values = true, help = target_help(),
          value_parser = PossibleValuesParser::new(TargetChoice::NAMES))]
    pub(crate) target: Option<String>,

    /// Target density: distances of its kernel (imq or gaussian): identity, median, scaled-median or covariance [default: identity]
    #[arg(long, value_name = "NAME", hide_possible_values = true,
          value_parser = PossibleValuesParser::new(Preconditioner::NAMES))]
    pub(crate) preconditioner: Option<String>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Scores")]
pub(crate) struct RegularArgs {
    /// Target density: prefer rows where this column of the draws, its log, is large: lp__
    #[arg(long, value_name = "COLUMN")]
    pub(crate) log_density: Option<String>,

    /// How much that counts beside the squared KSD [default: 1/T]
    #[arg(long, value_name = "W", allow_negative_numbers = true, value_parser = number)]
    pub(crate) regularise: Option<f64>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Distances")]
pub(crate) struct EmbeddingArgs {
    /// Compare all rows with each other (exact) or with landmarks (landmarks) [default: landmarks beyond 100,000 rows]
    #[arg(long, value_name = "WAY", default_value = "auto", hide_default_value = true, hide_possible_values = true,
          value_parser = PossibleValuesParser::new(EmbeddingChoice::NAMES))]
    pub(crate) embedding: String,

    /// So many landmarks [default: twice the rows that are herded, four times those of thin]
    #[arg(long, value_name = "R", allow_negative_numbers = true, value_parser = whole_number)]
    pub(crate) landmarks: Option<usize>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Results")]
pub(crate) struct ResultArgs {
    /// Write the rows, all columns, in the format of the ending [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Weights that sum to one: simplex (not negative) or signed
    #[arg(long, value_enum, value_name = "RULE", default_value_t = WeightsArg::Equal, hide_possible_values = true)]
    pub(crate) weights: WeightsArg,

    /// Write rows, numbers and weights in the order of the files
    #[arg(long)]
    pub(crate) sorted: bool,

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

    /// Keep the run in this file, and go on from what is kept there
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,

    /// Go on from this checkpoint, to the same rows as an unbroken run
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,

    /// Take no more memory than this, as in 500M or 2G: rows that do not fit are read in batches
    #[arg(long, value_name = "SIZE", value_parser = memory_size)]
    pub(crate) max_memory: Option<u64>,

    /// Read in batches, and choose from so many rows drawn at random [default: 200000, or 20 for each that is chosen, or as many as fit]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number)]
    pub(crate) pool_rows: Option<usize>,

    /// Say how long each phase took [default: on a terminal]
    #[arg(long)]
    pub(crate) timing: bool,

    /// Print no summary and no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

// What `herd` and `thin` have in common beside the input and the size. No doc comment: it would become their help.
#[derive(clap::Args)]
pub(crate) struct CommonArgs {
    #[command(flatten)]
    pub(crate) matched: MatchArgs,
    #[command(flatten)]
    pub(crate) scores: ScoreArgs,
    #[command(flatten)]
    pub(crate) regular: RegularArgs,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
    #[command(flatten)]
    pub(crate) embedding: EmbeddingArgs,
    #[command(flatten)]
    pub(crate) result: ResultArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Which weights the chosen rows are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WeightsArg {
    Equal,
    Simplex,
    Signed,
}

/// The help of `--target`: what is matched, and which is the default.
fn target_help() -> String {
    format!(
        "Match the draws as scores correct them ({}), the draws as they are ({}), or the density alone, for draws that are \
         not of it ({}) [default: {} with scores]",
        TargetChoice::Corrected,
        TargetChoice::Rows,
        TargetChoice::Density,
        TargetChoice::Corrected
    )
}

/// The help of `--kernel`: the families, and which is the default.
fn kernel_help() -> String {
    format!("{} [default: {}]", Family::NAMES.join(", "), Family::default())
}

/// The help of `--scale`: what becomes of columns, and which is the default.
fn scale_help() -> String {
    let each = Scale::ALL.map(|scale| format!("{} ({scale})", scale.effect().trim_start_matches("scaled ")));
    format!("Columns {} [default: {}]", each.join(", "), Scale::default())
}
