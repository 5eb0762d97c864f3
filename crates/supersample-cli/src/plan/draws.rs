//! Draws of a plan: their files, how they are read, and how distances between them are taken.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use supersample::scale::Scale;
use supersample::task::{EmbeddingChoice, KernelChoice, STEIN_SCALE};
use supersample::{Device, Precision};
use supersample_io::{Format, Reading, Selection, Shape};

use super::kernel::kernel_choice;
use super::matched::{Functions, Matched};
use super::scores::Scores;
use crate::args::{EmbeddingArgs, KernelArgs, MatchArgs, NameList, ReadingArgs, RegularArgs, ScoreArgs};

/// The draws, how they are read and how their distances are taken.
#[derive(Debug)]
pub(crate) struct DrawsPlan {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) selection: Selection,
    pub(crate) format: Option<Format>,
    pub(crate) separator: Option<u8>,
    pub(crate) shape: Option<Shape>,
    pub(crate) drop_na: bool,
    pub(crate) warmup: bool,
    pub(crate) weights: WeightsPlan,
    pub(crate) functions: Functions,
    pub(crate) matched: Matched,
    /// The scores of the density that is matched in place of the rows.
    pub(crate) scores: Option<Scores>,
    pub(crate) scale: Scale,
    pub(crate) kernel: KernelChoice,
    pub(crate) precision: Precision,
    /// What long sums run on, opened already.
    pub(crate) device: Device,
    pub(crate) embedding: EmbeddingChoice,
    /// How many landmarks; `None` for what suits the rows that are chosen.
    pub(crate) landmarks: Option<usize>,
    /// The seed that landmarks are chosen by.
    pub(crate) seed: u64,
    /// As how many herded rows those that are chosen ask for landmarks, where that is known.
    pub(crate) chosen: Option<usize>,
    pub(crate) max_memory: Option<u64>,
    /// The column that choices are balanced over.
    pub(crate) per: Option<String>,
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
        kernel: KernelArgs,
        scores: Option<ScoreArgs>,
        max_memory: Option<u64>,
        per: Option<String>,
    ) -> Result<DrawsPlan> {
        let scores = match scores {
            Some(args) => Scores::new(args, &kernel)?,
            None => None,
        };
        let functions_file = reading.functions_file;
        let score_file = scores.as_ref().and_then(Scores::file);
        let stdins = files
            .iter()
            .chain(&functions_file)
            .chain(score_file)
            .filter(|file| file.as_os_str() == "-")
            .count();
        ensure!(stdins <= 1, "- stands for stdin, which can be read only once");
        // A flag given twice is one longer list.
        let joined = |lists: Option<Vec<NameList>>| {
            lists.map(|lists| lists.into_iter().flat_map(|list| list.0).collect::<Vec<_>>())
        };
        let selection = Selection::new(joined(reading.columns), joined(reading.exclude));
        let columns = joined(reading.functions).unwrap_or_default();
        let functions = Functions::new(columns, functions_file, reading.functions_unit.as_deref())?;
        let weights = match (reading.weight_column, reading.log_weight_column) {
            (Some(name), _) => WeightsPlan::Column(name),
            (None, Some(name)) => WeightsPlan::LogColumn(name),
            (None, None) => WeightsPlan::Equal,
        };
        if scores.is_some() {
            ensure!(
                weights == WeightsPlan::Equal,
                "weights of the rows and scores do not go together: the density weighs for itself; leave --weight-column and \
                 --log-weight-column out"
            );
            ensure!(
                !functions.are_asked_for(),
                "functions and scores do not go together: means would be those of the rows, faults and all; leave them out"
            );
        }
        let scale = match (&kernel.scale, &scores) {
            (Some(name), _) => name.parse()?,
            (None, Some(_)) => STEIN_SCALE,
            (None, None) => Scale::default(),
        };
        let kernel_plan = match &scores {
            // The bandwidth is that of the preconditioner.
            Some(_) => KernelChoice::default(),
            None => {
                let family = kernel.kernel.map(|name| name.parse()).transpose()?.unwrap_or_default();
                kernel_choice(family, kernel.bandwidth.as_deref())?
            }
        };
        let format = reading.format.map(|name| name.parse().expect("clap has checked the name"));
        if let (Some(format), true) = (format, reading.separator.is_some()) {
            ensure!(format == Format::Text, "--separator has no effect on {format} files; leave it out");
        }
        Ok(DrawsPlan {
            files,
            selection,
            format,
            separator: reading.separator,
            shape: reading.shape.map(|name| name.parse().expect("clap has checked the name")),
            drop_na: reading.drop_na,
            warmup: reading.warmup,
            weights,
            functions,
            matched: Matched::plain(),
            scores,
            scale,
            kernel: kernel_plan,
            precision: kernel.precision.parse()?,
            device: kernel.device.parse()?,
            embedding: EmbeddingChoice::Auto,
            landmarks: None,
            seed: 0,
            chosen: None,
            max_memory,
            per,
        })
    }

    /// The plan with the mean embedding had in this way, for so many rows to be chosen.
    pub(super) fn embedded(self, args: EmbeddingArgs, seed: u64, chosen: Option<usize>) -> Result<DrawsPlan> {
        let EmbeddingArgs { embedding, landmarks } = args;
        let embedding = embedding.parse()?;
        ensure!(
            self.scores.is_none() || (landmarks.is_none() && embedding != EmbeddingChoice::Landmarks),
            "landmarks and scores do not go together: no mean over the rows is needed; leave --landmarks and --embedding out"
        );
        ensure!(landmarks != Some(0), "--landmarks is 0; at least one has to stand for the rows");
        ensure!(
            landmarks.is_none() || embedding != EmbeddingChoice::Exact,
            "--landmarks has no effect with --embedding exact; leave one of them out"
        );
        Ok(DrawsPlan { embedding, landmarks, seed, chosen, ..self })
    }

    /// The plan with a choice of at most so many rows that prefers those of high density.
    pub(super) fn regularised(self, args: RegularArgs, number: Option<usize>) -> Result<DrawsPlan> {
        let scores = match self.scores {
            Some(scores) => Some(scores.regularised(args, number)?),
            None => {
                let flag = if args.log_density.is_some() { "--log-density" } else { "--regularise" };
                ensure!(
                    args.log_density.is_none() && args.regularise.is_none(),
                    "{flag} has no effect without --scores or --score-prefix; leave it out"
                );
                None
            }
        };
        Ok(DrawsPlan { scores, ..self })
    }

    /// The column that the rows are weighted by.
    pub(crate) fn weight_column(&self) -> Option<&str> {
        match &self.weights {
            WeightsPlan::Equal => None,
            WeightsPlan::Column(name) | WeightsPlan::LogColumn(name) => Some(name),
        }
    }

    /// The plan with parts that count so much beside the joint distribution; `marginals` where the flags say nothing.
    pub(super) fn matching(self, args: MatchArgs, marginals: f64) -> Result<DrawsPlan> {
        ensure!(
            self.scores.is_none() || args.marginals.is_none_or(|weight| weight == 0.0),
            "--marginals and scores do not go together: they are those of the rows, faults and all; leave one of them out"
        );
        let marginals = if self.scores.is_some() { 0.0 } else { marginals };
        let matched = Matched::new(args, marginals, &self.functions)?;
        Ok(DrawsPlan { matched, ..self })
    }

    /// How the files are read.
    pub(crate) fn reading(&self) -> Reading<'_> {
        Reading {
            selection: self.selection.clone(),
            functions: match &self.scores {
                Some(scores) => scores.columns_of_draws(),
                None => self.functions.columns.clone(),
            },
            weight_column: self.weight_column(),
            group_column: self.per.as_deref(),
            format: self.format,
            separator: self.separator,
            shape: self.shape,
            keep_warmup: self.warmup,
            drop_na: self.drop_na,
        }
    }
}
