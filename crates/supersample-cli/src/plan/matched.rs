//! Terms of the objective in addition to the joint distribution: marginals, moments and the means of functions.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use supersample::FunctionsUnit;

use super::DrawsPlan;
use crate::args::MatchArgs;

/// Refuses a weight of functions if there are none.
pub(super) fn check(args: &MatchArgs, draws: &DrawsPlan) -> Result<()> {
    ensure!(
        args.functions_weight.is_none() || draws.functions.are_asked_for(),
        "--functions-weight has no effect without functions; name them with --functions or --functions-file"
    );
    Ok(())
}

/// The unit in which errors of the functions' means count, by the name that was typed.
pub(super) fn unit(name: Option<&str>, draws: &DrawsPlan) -> Result<FunctionsUnit> {
    ensure!(
        name.is_none() || draws.functions.are_asked_for(),
        "--functions-unit has no effect without functions; name them with --functions or --functions-file"
    );
    Ok(name.map(str::parse).transpose()?.unwrap_or_default())
}

/// Where the functions of the rows come from.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Functions {
    /// Columns of the draws, listed as parameters are.
    pub(crate) columns: Vec<String>,
    /// A file of their own, all columns of it.
    pub(crate) file: Option<PathBuf>,
}

impl Functions {
    pub(crate) fn are_asked_for(&self) -> bool {
        !self.columns.is_empty() || self.file.is_some()
    }
}
