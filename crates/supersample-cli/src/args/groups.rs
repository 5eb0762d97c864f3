//! Flags that several verbs share, by what they are about.

use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::PossibleValuesParser;
use supersample::scale::Scale;
use supersample::task::{EmbeddingChoice, MATCHING_KERNEL};
use supersample::{Device, Family, Precision};

use super::input::{FunctionArgs, RegularArgs, ScoreArgs};
use super::lists::{NameList, QuotaList};
use super::values::{Count, count, memory_size, number, whole_number};

#[derive(clap::Args)]
#[command(next_help_heading = "Size")]
pub(crate) struct SizeArgs {
    /// Number of rows or points; auto (thin only): as few as are enough
    ///
    /// With --tol or --equivalent-draws it is the largest number allowed, by default all rows. With auto, thin selects the
    /// smallest subset that is nearly as accurate as all draws (see --add).
    #[arg(short, long, alias = "n", value_name = "T", allow_negative_numbers = true, value_parser = count)]
    pub(crate) number: Option<Count>,

    /// Smallest subset whose MMD is at most E
    ///
    /// The MMD is that with equal weights. If it is not reached, the best subset is written and the exit status is 1.
    ///
    /// Example: --tol 0.02
    #[arg(long, value_name = "E", allow_negative_numbers = true, value_parser = number)]
    pub(crate) tol: Option<f64>,

    /// Smallest subset as accurate as M independent draws
    ///
    /// Its MMD is at most what M random rows are expected to have. With --tol, the run ends when one of the two is reached.
    ///
    /// Example: --equivalent-draws 1000
    #[arg(long, value_name = "M", allow_negative_numbers = true, value_parser = number)]
    pub(crate) equivalent_draws: Option<f64>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Strata and fixed rows")]
pub(crate) struct BalanceArgs {
    /// Keep the proportions of the values of this column
    ///
    /// All rows are still selected together, to match all rows. 'chain' also works for several files: each file is a chain.
    ///
    /// Example: --stratify chain
    #[arg(long, value_name = "COLUMN")]
    pub(crate) stratify: Option<String>,

    /// Select a separate subset for every value of this column
    ///
    /// Each has -n rows, and its own scales, bandwidth and errors, as if its rows were a file. All go to one output, and the
    /// summary is one table.
    ///
    /// Example: --each patient
    #[arg(long, value_name = "COLUMN", conflicts_with_all = ["stratify", "include_rows", "exclude_rows"],
          hide_short_help = true)]
    pub(crate) each: Option<String>,

    /// Number of rows for each value [default: in proportion to its rows]
    ///
    /// Example: --stratify chain --quota 1=40,2=20,3=20,4=20
    #[arg(long, value_name = "A=N,B=M", requires = "stratify", hide_short_help = true)]
    pub(crate) quota: Option<QuotaList>,

    /// Rows that must be selected: numbers and ranges, counted from 0
    ///
    /// @FILE reads them from a file with one number per line.
    ///
    /// Example: --include-rows 3,10-20
    #[arg(long, value_name = "ROWS", hide_short_help = true)]
    pub(crate) include_rows: Option<String>,

    /// Rows that must not be selected; the subset still matches all rows
    ///
    /// They are written as in --include-rows.
    #[arg(long, value_name = "ROWS", hide_short_help = true)]
    pub(crate) exclude_rows: Option<String>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Objective")]
pub(crate) struct MatchArgs {
    /// Match the rows of this file, not those that are selected from
    ///
    /// TARGET has the same columns by name. Scales, bandwidth and errors are those of TARGET, and the summary says which part of
    /// it the rows cannot reach. With --functions, TARGET has these columns too.
    ///
    /// Example: supersample thin pool.csv -n 300 --match trial.csv
    #[arg(long = "match", value_name = "TARGET", hide_short_help = true)]
    pub(crate) match_file: Option<PathBuf>,

    /// Match the numbers of this file, not the rows: published means, sds, quantiles, shares, correlations
    ///
    /// FILE is TOML: a table [columns.NAME] for each column with any of mean, sd, quantiles = { "0.25" = 46 } and
    /// shares = { 0 = 0.4, 1 = 0.6 }; [correlations] with age = { bmi = 0.3 }; and n, the number of rows that were published. The rows are
    /// weighted so that they have these numbers, and then matched. The summary shows what was published and what the rows reach.
    ///
    /// Example: supersample thin pool.csv -n 300 --match-summary table1.toml
    #[arg(long, value_name = "FILE", conflicts_with = "match_file", hide_short_help = true)]
    pub(crate) match_summary: Option<PathBuf>,

    /// Weight the rows of TARGET by this column of it
    #[arg(
        long,
        value_name = "NAME",
        requires = "match_file",
        conflicts_with = "match_summary",
        hide_short_help = true
    )]
    pub(crate) match_weight_column: Option<String>,

    /// Weight of the functions, relative to the joint distribution [default: 1]
    #[arg(long, value_name = "V", allow_negative_numbers = true, value_parser = number, hide_short_help = true)]
    pub(crate) functions_weight: Option<f64>,

    /// Weight of the marginals, relative to the joint distribution [default: 0.1 for thin, 0 for herd]
    ///
    /// The marginals are the distributions of the single columns. A larger weight gives closer intervals and a larger MMD. 0
    /// matches the joint distribution alone.
    #[arg(long, value_name = "W", allow_negative_numbers = true, value_parser = number, hide_short_help = true)]
    pub(crate) marginals: Option<f64>,

    /// Weight of the moments, relative to the joint distribution [default: 0.08 for thin, 0 for herd]
    ///
    /// The moments are the means and the variances of the columns, and of up to 5 columns their covariances. Without them selected rows are too narrow. A larger weight gives
    /// closer standard deviations, also of heavy tails, and a larger MMD.
    #[arg(long, value_name = "W", allow_negative_numbers = true, value_parser = number, hide_short_help = true)]
    pub(crate) moments: Option<f64>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Distance")]
pub(crate) struct KernelArgs {
    #[arg(long, value_name = "SCALE", hide_possible_values = true, hide_short_help = true, help = scale_help(),
          value_parser = PossibleValuesParser::new(Scale::NAMES))]
    pub(crate) scale: Option<String>,

    #[arg(long, value_name = "NAME", hide_possible_values = true, hide_short_help = true, help = kernel_help(),
          long_help = kernel_long_help(), value_parser = PossibleValuesParser::new(Family::NAMES))]
    pub(crate) kernel: Option<String>,

    /// Length of the kernel: a number, or the median distance between rows [default: median]
    ///
    /// A number is in the units of the scaled columns.
    #[arg(long, value_name = "median|NUM", allow_negative_numbers = true, hide_short_help = true)]
    pub(crate) bandwidth: Option<String>,

    /// Single precision where that is safe (mixed), or double precision throughout (double)
    #[arg(long, default_value_t = Precision::default().to_string(), hide_possible_values = true,
          hide_short_help = true, value_parser = PossibleValuesParser::new(Precision::NAMES))]
    pub(crate) precision: String,

    /// Run long sums on the CPU (cpu) or on an NVIDIA GPU (gpu)
    #[arg(long, value_name = "DEVICE", default_value = "cpu", hide_possible_values = true, hide_short_help = true,
          value_parser = PossibleValuesParser::new(Device::NAMES), help_heading = "Run options")]
    pub(crate) device: String,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Distance")]
pub(crate) struct EmbeddingArgs {
    /// Compare all pairs of rows (exact), or rows with landmarks (landmarks) [default: auto]
    ///
    /// The default is exact up to 100,000 rows, and landmarks above. Landmarks are much faster for many rows, and the MMD then
    /// has a small standard error.
    #[arg(long, value_name = "WAY", default_value = "auto", hide_default_value = true, hide_possible_values = true,
          hide_short_help = true, value_parser = PossibleValuesParser::new(EmbeddingChoice::NAMES))]
    pub(crate) embedding: String,

    /// Number of landmarks [default: 2 per selected row for herd, 4 for thin]
    #[arg(long, value_name = "R", allow_negative_numbers = true, value_parser = whole_number, hide_short_help = true)]
    pub(crate) landmarks: Option<usize>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct ResultArgs {
    /// Write the selected rows to FILE [default: stdout]
    ///
    /// All columns are written. The file ending sets the format: .csv, .tsv or .txt (also with .gz or .zst), .npy, .npz,
    /// .parquet or .arrow. On stdout it is the format of the input.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Weights of the rows: equal, simplex, signed or calibrated
    ///
    /// simplex and signed are the weights with the smallest MMD that sum to one, without and with negative ones. calibrated are
    /// the positive weights nearest to equal ones that give the means of all rows exactly (see --calibrate); if
    /// the chosen rows have none, their weights are equal and the exit status is 1. Weights are written to a column 'weight'.
    #[arg(long, value_enum, value_name = "RULE", default_value_t = WeightsArg::Equal, hide_possible_values = true)]
    pub(crate) weights: WeightsArg,

    /// With --weights calibrated: the columns and functions whose means are met [default: all]
    ///
    /// Example: --weights calibrated --calibrate age,income
    #[arg(long, value_name = "A,B", hide_short_help = true)]
    pub(crate) calibrate: Option<Vec<NameList>>,

    /// Write weights that sum to N, for example the size of a population [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number, hide_short_help = true)]
    pub(crate) total: Option<f64>,

    /// Write the row numbers, counted from 0 over all files
    #[arg(long, value_name = "FILE")]
    pub(crate) indices: Option<PathBuf>,

    /// Write the summary as JSON
    ///
    /// It has every digit, and the errors of each parameter.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write an HTML page with figures
    ///
    /// The page is one file and needs no network.
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,

    /// Write the error after each selected row as CSV: t,row,error,weight_norm,margin
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) trace: Option<PathBuf>,

    /// Write rows, row numbers and weights in the order of the files [default: the order of selection]
    #[arg(long, hide_short_help = true)]
    pub(crate) sorted: bool,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Run options")]
pub(crate) struct RunArgs {
    /// Number of threads; the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number)]
    pub(crate) threads: Option<usize>,

    /// Save progress to FILE; resume from it if it exists
    ///
    /// Repeat the command to continue from FILE: it selects the rows of an uninterrupted run. A file that is not a checkpoint
    /// of this run is never overwritten.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) checkpoint: Option<PathBuf>,

    /// Resume from this checkpoint without updating it
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) resume: Option<PathBuf>,

    /// Memory limit; rows that do not fit are read in batches
    ///
    /// Example: --max-memory 2G
    #[arg(long, value_name = "SIZE", value_parser = memory_size, hide_short_help = true)]
    pub(crate) max_memory: Option<u64>,

    /// Read the files in batches and select from N rows drawn at random
    ///
    /// By default this happens above 200,000 rows, or 20 for each selected row if that is more. The subset still matches all
    /// rows. With --max-memory, N is as many as fit.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number, hide_short_help = true)]
    pub(crate) pool_rows: Option<usize>,

    /// Print how long each phase took [default: on a terminal]
    #[arg(long, hide_short_help = true)]
    pub(crate) timing: bool,

    /// Print no summary and no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

// What `herd` and `thin` have in common, apart from the input and the size. No doc comment: it would become their help.
#[derive(clap::Args)]
pub(crate) struct CommonArgs {
    #[command(flatten)]
    pub(crate) functions: FunctionArgs,
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
    pub(crate) run: RunArgs,
    #[command(flatten)]
    pub(crate) result: ResultArgs,
}

/// Which weights the chosen rows are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WeightsArg {
    Equal,
    Simplex,
    Signed,
    Calibrated,
}

/// The help of `--kernel`: the families, and which is the default.
fn kernel_help() -> String {
    format!("Kernel: {} [default: {}]", Family::NAMES.join(", "), Family::default())
}

/// The list with the formula of each.
fn kernel_long_help() -> String {
    let each = Family::ALL.map(|family| format!("\n  {:10}{}", family.to_string(), family.formula()));
    format!(
        "Kernel [default: {}; {MATCHING_KERNEL} in herd and thin with --match]\n{}\n\nr is the distance between the rows x and y, l the bandwidth.",
        Family::default(),
        each.concat()
    )
}

/// The help of `--scale`: what becomes of columns, and which is the default.
fn scale_help() -> String {
    let each = Scale::ALL.map(|scale| format!("{} ({scale})", scale.effect().trim_start_matches("scaled ")));
    format!("Scale the columns: {} [default: {}]", each.join(", "), Scale::default())
}
