//! Draws of a plan: their files and how they are read.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use supersample::task::{Choose, RowWeights, Size};
use supersample_io::{Format, Reading, Selection, Shape};

use super::matched::Functions;
use super::scores::Scores;
use crate::args::{FunctionArgs, MatchArgs, NameList, ReadingArgs};

/// The draws and how they are read.
#[derive(Debug)]
pub(crate) struct DrawsPlan {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) selection: Selection,
    pub(crate) format: Option<Format>,
    pub(crate) separator: Option<u8>,
    pub(crate) shape: Option<Shape>,
    pub(crate) sample_dims: Option<Vec<String>>,
    pub(crate) drop_na: bool,
    pub(crate) warmup: bool,
    pub(crate) weights: WeightsPlan,
    pub(crate) functions: Functions,
    /// The scores of the rows.
    pub(crate) scores: Option<Scores>,
    /// The column that choices are balanced over.
    pub(crate) stratify: Option<String>,
    /// The rows that are matched, where they are others.
    pub(crate) other: Option<OtherPlan>,
    /// The file of published numbers that are matched in place of rows.
    pub(crate) summary: Option<PathBuf>,
}

/// A file of rows that are matched in place of those that are chosen from.
#[derive(Debug, PartialEq)]
pub(crate) struct OtherPlan {
    pub(crate) file: PathBuf,
    pub(crate) weight_column: Option<String>,
}

/// Where the weights of the rows come from.
#[derive(Debug, PartialEq)]
pub(crate) enum WeightsPlan {
    Equal,
    Column(String),
    LogColumn(String),
}

impl DrawsPlan {
    pub(super) fn new(
        files: Vec<PathBuf>,
        reading: ReadingArgs,
        functions: FunctionArgs,
        scores: Option<Scores>,
        stratify: Option<String>,
    ) -> Result<DrawsPlan> {
        let functions_file = functions.functions_file;
        let score_file = scores.as_ref().and_then(Scores::file);
        let stdins = files
            .iter()
            .chain(&functions_file)
            .chain(score_file)
            .filter(|file| file.as_os_str() == "-")
            .count();
        ensure!(stdins <= 1, "- is stdin, which can be read only once");
        // A flag given twice is one longer list.
        let joined = |lists: Option<Vec<NameList>>| {
            lists.map(|lists| lists.into_iter().flat_map(|list| list.0).collect::<Vec<_>>())
        };
        let selection = Selection::new(joined(reading.columns), joined(reading.exclude));
        let functions =
            Functions { columns: joined(functions.functions).unwrap_or_default(), file: functions_file };
        let weights = match (reading.weight_column, reading.log_weight_column) {
            (Some(name), _) => WeightsPlan::Column(name),
            (None, Some(name)) => WeightsPlan::LogColumn(name),
            (None, None) => WeightsPlan::Equal,
        };
        let format = reading.format.map(|name| name.parse().expect("clap has checked the name"));
        if let (Some(format), true) = (format, reading.separator.is_some()) {
            ensure!(format == Format::Text, "--separator has no effect on {format} files; leave it out");
        }
        let sample_dims = reading.sample_dims.map(|list| list.0);
        if let Some(dims) = &sample_dims {
            let is_twice = dims.len() == 2 && dims[0] == dims[1];
            ensure!(
                dims.len() <= 2 && !is_twice,
                "--sample-dims names the dimension of the draws, or that of the chains and that of the draws"
            );
        }
        Ok(DrawsPlan {
            sample_dims,
            files,
            selection,
            format,
            separator: reading.separator,
            shape: reading.shape.map(|name| name.parse().expect("clap has checked the name")),
            drop_na: reading.drop_na,
            warmup: reading.warmup,
            weights,
            functions,
            scores,
            stratify,
            other: None,
            summary: None,
        })
    }

    /// Sets the rows or the published numbers that are matched.
    pub(super) fn matching(mut self, args: &MatchArgs, choose: &Choose) -> Result<DrawsPlan> {
        let (flag, file) = match (&args.match_file, &args.match_summary) {
            (None, None) => return Ok(self),
            (Some(file), _) => ("--match", file.clone()),
            (None, Some(file)) => ("--match-summary", file.clone()),
        };
        choose.check_match()?;
        let stdins = self.files.iter().chain([&file]).filter(|file| file.as_os_str() == "-").count();
        ensure!(stdins <= 1, "- is stdin, which can be read only once");
        ensure!(
            self.scores.is_none(),
            "{flag} cannot be used with scores; they are of another target; leave one out"
        );
        if args.match_summary.is_some() {
            self.summary = Some(file);
            return Ok(self);
        }
        ensure!(
            self.functions.file.is_none(),
            "--functions-file cannot be used with --match: the functions of the target are not known; put them into columns of both \
             files and name these with --functions"
        );
        self.other = Some(OtherPlan { file, weight_column: args.match_weight_column.clone() });
        Ok(self)
    }

    /// How the rows that are matched are read: the same parameters and functions by name.
    pub(crate) fn reading_other<'a>(&self, other: &'a OtherPlan, parameters: &[&str]) -> Reading<'a> {
        let names = parameters.iter().map(|name| name.to_string()).collect();
        Reading {
            selection: Selection::new(Some(names), None),
            functions: self.functions.columns.clone(),
            weight_column: other.weight_column.as_deref(),
            sample_dims: self.sample_dims.clone(),
            keep_warmup: self.warmup,
            drop_na: self.drop_na,
            ..Reading::default()
        }
    }

    /// Whether the density behind the scores is matched in place of the rows.
    pub(crate) fn is_density(&self) -> bool {
        self.scores.as_ref().is_some_and(Scores::are_of_density)
    }

    /// The column that the rows are weighted by.
    pub(crate) fn weight_column(&self) -> Option<&str> {
        match &self.weights {
            WeightsPlan::Equal => None,
            WeightsPlan::Column(name) | WeightsPlan::LogColumn(name) => Some(name),
        }
    }

    /// Checks the options before any row is read.
    pub(super) fn check(&self, choose: &Choose) -> Result<()> {
        choose.check()?;
        if let Some(scores) = &self.scores {
            let is_weighted = self.weights != WeightsPlan::Equal;
            choose.check_scores(&scores.options(), is_weighted, self.functions.are_asked_for())?;
        }
        Ok(())
    }

    /// Size of the rows, as far as memory depends on it.
    pub(crate) fn size(&self, rows: usize, columns: usize, functions: usize) -> Size {
        let is_weighted = self.weights != WeightsPlan::Equal;
        Size { rows, columns, functions, is_weighted, has_scores: self.scores.is_some() }
    }

    /// Weights of the rows, from the numbers of their column.
    pub(crate) fn row_weights<'a>(&self, column: Option<&'a [f64]>) -> RowWeights<'a> {
        match (&self.weights, column) {
            (WeightsPlan::Column(_), Some(weights)) => RowWeights::Weights(weights),
            (WeightsPlan::LogColumn(_), Some(logs)) => RowWeights::Logs(logs),
            _ => RowWeights::Equal,
        }
    }

    /// How the files are read.
    pub(crate) fn reading(&self) -> Reading<'_> {
        Reading {
            selection: self.selection.clone(),
            functions: self
                .functions
                .columns
                .iter()
                .cloned()
                .chain(self.scores.iter().flat_map(Scores::columns_of_draws))
                .collect(),
            weight_column: self.weight_column(),
            group_column: self.stratify.as_deref(),
            format: self.format,
            separator: self.separator,
            shape: self.shape,
            sample_dims: self.sample_dims.clone(),
            keep_warmup: self.warmup,
            drop_na: self.drop_na,
        }
    }
}
