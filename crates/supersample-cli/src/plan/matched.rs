//! What is matched beside the joint distribution: the columns' own distributions and the means of functions.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use supersample::FunctionsUnit;

use super::DrawsPlan;
use crate::args::MatchArgs;

/// Refuses weights of parts that make no sense.
pub(super) fn check(args: &MatchArgs, draws: &DrawsPlan) -> Result<()> {
    let MatchArgs { marginals, functions_weight } = *args;
    ensure!(
        draws.scores.is_none() || marginals.is_none_or(|weight| weight == 0.0),
        "--marginals and scores do not go together: they are those of the rows, faults and all; leave one of them out"
    );
    ensure!(
        marginals.is_none_or(|weight| weight >= 0.0 && weight.is_finite()),
        "--marginals is {}; give a number of at least 0, of which 0 is not at all",
        marginals.unwrap_or_default()
    );
    ensure!(
        functions_weight.is_none_or(|weight| weight > 0.0 && weight.is_finite()),
        "--functions-weight is {}; give a positive number, or leave the functions out",
        functions_weight.unwrap_or_default()
    );
    ensure!(
        functions_weight.is_none() || draws.functions.are_asked_for(),
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
    Ok(name.map(FunctionsUnit::named).transpose()?.unwrap_or_default())
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
