//! Scores of a plan: where they come from, and the Stein kernel that is made of them.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use supersample::task::{RowScores, TargetChoice};
use supersample::{Preconditioner, SteinBase};

use super::kernel::length;
use crate::args::{KernelArgs, RegularArgs, ScoreArgs};
use crate::words::{self, Names};

/// The scores of the rows, and how they are used.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scores {
    pub(crate) source: ScoreSource,
    pub(crate) target: TargetChoice,
    pub(crate) base: SteinBase,
    pub(crate) preconditioner: Preconditioner,
    pub(crate) regularised: Option<Regularised>,
}

/// A preference for rows of high density.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Regularised {
    /// The column of the draws that has the log-density.
    pub(crate) column: String,
    /// Weight relative to the squared KSD.
    pub(crate) weight: f64,
}

/// Where the scores are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ScoreSource {
    /// In a file of their own, which has a row for each row of the draws.
    File(PathBuf),
    /// In columns of the draws: this and the name of the parameter.
    Prefix(String),
}

impl Scores {
    /// What the flags say; `None` if they name no scores.
    pub(super) fn new(args: ScoreArgs, kernel: &KernelArgs) -> Result<Option<Scores>> {
        let ScoreArgs { scores, score_prefix, target, preconditioner } = args;
        let target = target.as_deref().map(str::parse).transpose()?;
        let source = match (scores, score_prefix) {
            (Some(file), _) => ScoreSource::File(file),
            (None, Some(prefix)) => {
                ensure!(
                    !prefix.is_empty(),
                    "--score-prefix is empty; give the letters that the names of the scores begin with, for example \
                     g_"
                );
                ensure!(
                    !prefix.contains(['*', '?', ',']),
                    "--score-prefix is '{prefix}'; give the letters before the names of the parameters"
                );
                ScoreSource::Prefix(prefix)
            }
            (None, None) => {
                if let Some(target) = target.filter(|target| *target != TargetChoice::Rows) {
                    bail!(words::refused(supersample::Error::NoScores { target }, &Names::default()));
                }
                ensure!(
                    preconditioner.is_none(),
                    "--preconditioner has no effect without --scores or --score-prefix; leave it out"
                );
                return Ok(None);
            }
        };
        let target = target.unwrap_or(TargetChoice::Corrected);
        if target != TargetChoice::Density {
            ensure!(
                preconditioner.is_none(),
                "--preconditioner has no effect without --target density; leave it out"
            );
            let (base, preconditioner) = (SteinBase::default(), Preconditioner::Identity);
            return Ok(Some(Scores { source, target, base, preconditioner, regularised: None }));
        }
        let base = match kernel.kernel.as_deref() {
            None => SteinBase::default(),
            Some(name) => name.parse().ok().with_context(|| {
                let known = SteinBase::NAMES.join(" or ");
                format!("--kernel {name} has no Stein kernel; with --target density use {known}")
            })?,
        };
        let preconditioner = match (preconditioner, kernel.bandwidth.as_deref()) {
            (Some(_), Some(_)) => {
                bail!("--bandwidth is a preconditioner too; leave it or --preconditioner out")
            }
            (Some(name), None) => name.parse()?,
            (None, None) => Preconditioner::Identity,
            (None, Some(text)) => match length(text).transpose()? {
                Some(length) => Preconditioner::Length(length),
                None => Preconditioner::Median,
            },
        };
        Ok(Some(Scores { source, target, base, preconditioner, regularised: None }))
    }

    /// Whether the density itself is matched.
    pub(crate) fn are_of_density(&self) -> bool {
        self.target == TargetChoice::Density
    }

    /// Adds the preference for rows of high density to these scores, if asked for.
    pub(super) fn regularised(
        scores: Option<Scores>,
        args: RegularArgs,
        number: Option<usize>,
    ) -> Result<Option<Scores>> {
        let Some(scores) = scores else {
            let flag = if args.log_density.is_some() { "--log-density" } else { "--regularise" };
            ensure!(
                args.log_density.is_none() && args.regularise.is_none(),
                "{flag} has no effect without --scores or --score-prefix; leave it out"
            );
            return Ok(None);
        };
        if !scores.are_of_density() {
            let flag = if args.log_density.is_some() { "--log-density" } else { "--regularise" };
            ensure!(
                args.log_density.is_none() && args.regularise.is_none(),
                "{flag} has no effect without --target density; leave it out, or ask for that"
            );
        }
        let regularised = match (args.log_density, args.regularise) {
            (None, None) => None,
            (None, Some(_)) => {
                bail!(
                    "--regularise has no effect without --log-density; name the column that has the log-density"
                )
            }
            (Some(column), Some(weight)) => Some(Regularised { column, weight }),
            (Some(column), None) => {
                let number = number.filter(|&number| number > 0);
                let number = number.context(
                    "give the weight of the log-density with --regularise; the default, 1/T, needs -n",
                )?;
                Some(Regularised { column, weight: 1.0 / number as f64 })
            }
        };
        Ok(Some(Scores { regularised, ..scores }))
    }

    /// How the library uses them; the numbers are read later.
    pub(crate) fn options(&self) -> RowScores {
        let scores = RowScores::default().kernel(self.base, self.preconditioner);
        match &self.regularised {
            Some(regularised) => scores.regularised(Vec::new(), regularised.weight),
            None => scores,
        }
    }

    /// The columns of the draws that hold scores or log-densities, listed as in a selection.
    pub(crate) fn columns_of_draws(&self) -> Vec<String> {
        let scores = match &self.source {
            ScoreSource::Prefix(prefix) => Some(format!("{prefix}*")),
            ScoreSource::File(_) => None,
        };
        scores
            .into_iter()
            .chain(self.regularised.iter().map(|regularised| regularised.column.clone()))
            .collect()
    }

    /// The file of their own.
    pub(crate) fn file(&self) -> Option<&PathBuf> {
        match &self.source {
            ScoreSource::File(path) => Some(path),
            ScoreSource::Prefix(_) => None,
        }
    }
}
