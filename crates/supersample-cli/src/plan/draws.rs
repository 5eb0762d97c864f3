//! Draws of a plan: their files, how they are read, and how distances between them are taken.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use supersample::Precision;
use supersample::scale::Scale;
use supersample::task::KernelChoice;
use supersample_io::{Format, Reading, Selection};

use super::kernel::kernel_choice;
use crate::args::{KernelArgs, PrecisionArg, ReadingArgs, ScaleArg};

/// The draws, how they are read and how their distances are taken.
#[derive(Debug)]
pub(crate) struct DrawsPlan {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) selection: Selection,
    pub(crate) format: Option<Format>,
    pub(crate) separator: Option<u8>,
    pub(crate) warmup: bool,
    pub(crate) weights: WeightsPlan,
    pub(crate) scale: Scale,
    pub(crate) kernel: KernelChoice,
    pub(crate) precision: Precision,
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
        max_memory: Option<u64>,
        per: Option<String>,
    ) -> Result<DrawsPlan> {
        let stdins = files.iter().filter(|file| file.as_os_str() == "-").count();
        ensure!(stdins <= 1, "- stands for stdin, which can be read only once");
        let selection = match (reading.columns, reading.exclude) {
            (Some(only), _) => Selection::Only(only.0),
            (None, Some(except)) => Selection::Except(except.0),
            (None, None) => Selection::Default,
        };
        let weights = match (reading.weight_column, reading.log_weight_column) {
            (Some(name), _) => WeightsPlan::Column(name),
            (None, Some(name)) => WeightsPlan::LogColumn(name),
            (None, None) => WeightsPlan::Equal,
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
            warmup: reading.warmup,
            weights,
            scale: match kernel.scale {
                ScaleArg::None => Scale::None,
                ScaleArg::Sd => Scale::Sd,
                ScaleArg::Pca => Scale::Pca,
            },
            kernel: kernel_choice(kernel.kernel, kernel.bandwidth.as_deref())?,
            precision: match kernel.precision {
                PrecisionArg::Mixed => Precision::Mixed,
                PrecisionArg::Double => Precision::Double,
            },
            max_memory,
            per,
        })
    }

    /// The column that the rows are weighted by.
    pub(crate) fn weight_column(&self) -> Option<&str> {
        match &self.weights {
            WeightsPlan::Equal => None,
            WeightsPlan::Column(name) | WeightsPlan::LogColumn(name) => Some(name),
        }
    }

    /// How the files are read.
    pub(crate) fn reading(&self) -> Reading<'_> {
        Reading {
            selection: self.selection.clone(),
            weight_column: self.weight_column(),
            group_column: self.per.as_deref(),
            format: self.format,
            separator: self.separator,
            keep_warmup: self.warmup,
            ..Reading::default()
        }
    }
}
