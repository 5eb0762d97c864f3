//! Flags about what is read: the files, their columns, functions of the rows, and the scores of a density.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use supersample::task::TargetChoice;
use supersample::{FunctionsUnit, Preconditioner};
use supersample_io::{Format, Shape};

use super::lists::NameList;
use super::values::{number, separator};

#[derive(clap::Args)]
pub(crate) struct InputArgs {
    /// Files of draws, one per chain; - is stdin
    #[arg(value_name = "DRAWS", required = true)]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct ReadingArgs {
    /// Use only these columns [default: all numeric columns except ids]
    ///
    /// 'theta' also means theta.1, theta[2] and so on. '*' matches any characters, '?' one character. Ids are chain, draw,
    /// iteration, row, weight and names that end in __. The flag may be repeated.
    ///
    /// Example: --columns mu,tau,theta
    #[arg(long, value_name = "A,B")]
    pub(crate) columns: Option<Vec<NameList>>,

    /// Do not use these columns
    ///
    /// They are still written to the output. Names are matched as in --columns. The flag may be repeated.
    ///
    /// Example: --exclude lp__,'log_lik*'
    #[arg(long, value_name = "A,B")]
    pub(crate) exclude: Option<Vec<NameList>>,

    /// Weight the rows by this column
    ///
    /// The weights must not be negative and need not sum to one. Rows of weight 0 are never selected.
    #[arg(long, value_name = "NAME", conflicts_with = "log_weight_column")]
    pub(crate) weight_column: Option<String>,

    /// Weight the rows by the exponential of this column
    ///
    /// The column has the logarithms of the weights, up to a constant, as importance and nested sampling write them. -inf is
    /// a weight of 0.
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) log_weight_column: Option<String>,

    /// Drop rows with missing values in used columns [default: an error]
    #[arg(long, hide_short_help = true)]
    pub(crate) drop_na: bool,

    /// Keep the warm-up rows of CmdStan files [default: dropped]
    #[arg(long, hide_short_help = true)]
    pub(crate) warmup: bool,

    /// File format: csv, tsv, stan, npy, npz, parquet, arrow, netcdf or zarr [default: auto]
    ///
    /// The format is detected from the content of the file, also if it is compressed by gzip or Zstandard.
    #[arg(long, value_name = "NAME", hide_possible_values = true, hide_short_help = true,
          value_parser = PossibleValuesParser::new(Format::NAMES))]
    pub(crate) format: Option<String>,

    /// Character between the fields of a text file, or the word tab [default: auto]
    #[arg(long, value_name = "CHAR", value_parser = separator, hide_short_help = true)]
    pub(crate) separator: Option<u8>,

    /// First axes of NumPy arrays: rows, chain,draw or draw,chain [default: auto]
    #[arg(long, value_name = "AXES", hide_possible_values = true, hide_short_help = true,
          value_parser = PossibleValuesParser::new(Shape::NAMES))]
    pub(crate) shape: Option<String>,

    /// Dimensions of NetCDF and Zarr arrays that count the draws [default: chain,draw or sample]
    ///
    /// One dimension, or that of the chains and that of the draws. The other dimensions are the elements of a variable.
    ///
    /// Example: --sample-dims time
    #[arg(long, value_name = "A,B", hide_short_help = true)]
    pub(crate) sample_dims: Option<NameList>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Objective")]
pub(crate) struct FunctionArgs {
    /// Also match the means of these columns, for example predictions
    ///
    /// Distances do not use these columns. Names are matched as in --columns.
    ///
    /// Example: --functions 'y_hat*'
    #[arg(long, value_name = "A,B")]
    pub(crate) functions: Option<Vec<NameList>>,

    /// Also match the means of all columns of this file
    ///
    /// The file has one row for each row of the draws, in the same order.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) functions_file: Option<PathBuf>,

    /// Scale each function by its own sd (each) or by a pooled sd (common) [default: each]
    ///
    /// Use common for functions of one kind, such as probabilities, whose errors you compare with each other.
    #[arg(long, value_name = "UNIT", hide_possible_values = true, hide_short_help = true,
          value_parser = PossibleValuesParser::new(FunctionsUnit::NAMES))]
    pub(crate) functions_unit: Option<String>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Scores")]
pub(crate) struct ScoreArgs {
    /// File with the scores of the draws: the gradients of log p(x)
    ///
    /// The file has one row for each row of the draws and a column for each parameter. Scores make the rows more accurate
    /// than the draws (see --target).
    #[arg(long, value_name = "FILE", conflicts_with = "score_prefix", hide_short_help = true)]
    pub(crate) scores: Option<PathBuf>,

    /// Prefix of the columns of the draws that hold the scores: PREFIX and the name of the parameter
    ///
    /// Example: --score-prefix g_ for the diagnostic files of CmdStan
    #[arg(long, value_name = "PREFIX", hide_short_help = true)]
    pub(crate) score_prefix: Option<String>,

    /// Target of the rows: corrected, rows or density [default: corrected with scores]
    ///
    /// corrected: the draws, weighted so that they agree with the scores; they are then closer to the density. rows: the
    /// draws as they are. density: the density alone (Stein thinning), for draws that are not of it, such as chains with
    /// burn-in; the error is then the kernel Stein discrepancy (KSD).
    #[arg(long, value_name = "TARGET", hide_possible_values = true, hide_short_help = true,
          value_parser = PossibleValuesParser::new(TargetChoice::NAMES))]
    pub(crate) target: Option<String>,

    /// With --target density, the preconditioner of the Stein kernel: identity, median, scaled-median or covariance [default: identity]
    ///
    /// It sets the distances of the base kernel, which is imq (the default) or gaussian.
    #[arg(long, value_name = "NAME", hide_possible_values = true, hide_short_help = true,
          value_parser = PossibleValuesParser::new(Preconditioner::NAMES))]
    pub(crate) preconditioner: Option<String>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Scores")]
pub(crate) struct RegularArgs {
    /// With --target density, the column with log p(x), for example lp__ (regularised Stein thinning)
    ///
    /// Rows of high density are preferred.
    #[arg(long, value_name = "COLUMN", hide_short_help = true)]
    pub(crate) log_density: Option<String>,

    /// Weight of the log-density, relative to the squared KSD [default: 1/T]
    #[arg(long, value_name = "W", allow_negative_numbers = true, value_parser = number, hide_short_help = true)]
    pub(crate) regularise: Option<f64>,
}
