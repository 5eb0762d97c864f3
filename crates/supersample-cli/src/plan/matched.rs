//! What is matched beside the joint distribution: the columns' own distributions and the means of functions.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use supersample::FunctionsUnit;
use supersample::task::FUNCTIONS;

use crate::args::MatchArgs;

/// How much each part counts beside the joint distribution; marginals of 0 do not at all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Matched {
    pub(crate) marginals: f64,
    pub(crate) functions: f64,
}

impl Matched {
    /// Nothing beside the joint distribution, but functions where there are any.
    pub(super) fn plain() -> Matched {
        Matched { marginals: 0.0, functions: FUNCTIONS }
    }

    /// What the flags say; `marginals` is what the verb does where they say nothing.
    pub(super) fn new(args: MatchArgs, marginals: f64, functions: &Functions) -> Result<Matched> {
        let MatchArgs { marginals: asked, functions_weight } = args;
        ensure!(
            asked.is_none_or(|weight| weight >= 0.0 && weight.is_finite()),
            "--marginals is {}; give a number of at least 0, of which 0 is not at all",
            asked.unwrap_or_default()
        );
        ensure!(
            functions_weight.is_none_or(|weight| weight > 0.0 && weight.is_finite()),
            "--functions-weight is {}; give a positive number, or leave the functions out",
            functions_weight.unwrap_or_default()
        );
        ensure!(
            functions_weight.is_none() || functions.are_asked_for(),
            "--functions-weight has no effect without functions; name them with --functions or --functions-file"
        );
        Ok(Matched {
            marginals: asked.unwrap_or(marginals),
            functions: functions_weight.unwrap_or(FUNCTIONS),
        })
    }
}

/// Where the functions of the rows come from.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Functions {
    /// Columns of the draws, listed as parameters are.
    pub(crate) columns: Vec<String>,
    /// A file of their own, all columns of it.
    pub(crate) file: Option<PathBuf>,
    /// The unit in which errors of their means count.
    pub(crate) unit: FunctionsUnit,
}

impl Functions {
    pub(super) fn new(columns: Vec<String>, file: Option<PathBuf>, unit: Option<&str>) -> Result<Functions> {
        let functions =
            Functions { columns, file, unit: unit.map(str::parse).transpose()?.unwrap_or_default() };
        ensure!(
            unit.is_none() || functions.are_asked_for(),
            "--functions-unit has no effect without functions; name them with --functions or --functions-file"
        );
        Ok(functions)
    }

    pub(crate) fn are_asked_for(&self) -> bool {
        !self.columns.is_empty() || self.file.is_some()
    }
}
