//! Scores of a plan: where they come from, and the Stein kernel that is made of them.

use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use supersample::{Preconditioner, SteinBase};

use crate::args::{KernelArgs, ScoreArgs};

/// The scores of the rows, and how they are used.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scores {
    pub(crate) source: ScoreSource,
    pub(crate) base: SteinBase,
    pub(crate) preconditioner: Preconditioner,
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
    /// What the flags say; `None` where they name no scores.
    pub(super) fn new(args: ScoreArgs, kernel: &KernelArgs) -> Result<Option<Scores>> {
        let ScoreArgs { scores, score_prefix, preconditioner } = args;
        let source = match (scores, score_prefix) {
            (Some(file), _) => ScoreSource::File(file),
            (None, Some(prefix)) => {
                ensure!(
                    !prefix.is_empty(),
                    "--score-prefix is empty; say what the names of scores begin with, as g_"
                );
                ensure!(
                    !prefix.contains(['*', '?', ',']),
                    "--score-prefix is '{prefix}'; give the letters that stand before the names of the parameters"
                );
                ScoreSource::Prefix(prefix)
            }
            (None, None) => {
                ensure!(
                    preconditioner.is_none(),
                    "--preconditioner has no effect without --scores or --score-prefix; leave it out"
                );
                return Ok(None);
            }
        };
        let base = match kernel.kernel.as_deref() {
            None | Some("imq") => SteinBase::Imq,
            Some("gaussian") => SteinBase::Gaussian,
            Some(name) => bail!("--kernel {name} makes no Stein kernel; with scores choose imq or gaussian"),
        };
        let preconditioner = match (preconditioner, kernel.bandwidth.as_deref()) {
            (Some(_), Some(_)) => {
                bail!("--bandwidth is a preconditioner too; leave it or --preconditioner out")
            }
            (Some(name), None) => Preconditioner::named(&name)?,
            (None, None) => Preconditioner::Identity,
            (None, Some("median")) => Preconditioner::Median,
            (None, Some(text)) => match text.trim().parse::<f64>() {
                Ok(length) if length > 0.0 && length.is_finite() => Preconditioner::Length(length),
                Ok(_) => bail!("--bandwidth is {text}; a length is a positive number"),
                Err(_) => bail!("--bandwidth '{text}' is neither a number nor the word median"),
            },
        };
        Ok(Some(Scores { source, base, preconditioner }))
    }

    /// The file of their own.
    pub(crate) fn file(&self) -> Option<&PathBuf> {
        match &self.source {
            ScoreSource::File(path) => Some(path),
            ScoreSource::Prefix(_) => None,
        }
    }
}
