//! Problem to be solved: the draws, their weights, the points they become and the kernel between them.

use std::borrow::Cow;

use anyhow::{Context, Result, bail, ensure};
use supersample::quality::Reference;
use supersample::scale::{Scale, Scaling};
use supersample::{Empirical, Kernel, Points, Precision};
use supersample_io::{Draws, Groups};

use super::checkpoint::Fingerprint;
use super::kernel::{kernel_for, kernel_warning};
use super::memory::check_memory;
use super::shares::{effective_size, shares, shares_of_logs};
use crate::plan::{DrawsPlan, WeightsPlan};
use crate::report::Rows;
use crate::terminal::interrupt;
use crate::terminal::progress::Progress;
use crate::words::{count, significant};

/// Draws made ready.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) draws: Draws,
    /// `None`: equal weights.
    pub(super) shares: Option<Vec<f64>>,
    /// The rows by the column that choices are balanced over.
    pub(super) groups: Option<Groups>,
    pub(super) scaling: Scaling,
    pub(super) points: Points,
    pub(super) kernel: Kernel,
    pub(super) precision: Precision,
    /// What the user should know before believing the result.
    pub(super) warnings: Vec<String>,
}

impl Problem {
    pub(super) fn read(plan: &DrawsPlan) -> Result<Problem> {
        let reading = plan.reading();
        // Asked first of the heads and sizes of the files, so that no one waits for a refusal.
        if let (Some(limit), Some((rows, dim))) =
            (plan.max_memory, Draws::expected_size(&plan.files, &reading))
        {
            check_memory(rows, dim, limit)?;
        }
        let draws = Draws::read(&plan.files, &reading)?;
        if plan.warmup && !draws.has_warmup() {
            bail!("--warmup has no effect: the files say nothing of warm-up rows; leave it out");
        }
        if plan.separator.is_some() && !draws.format().is_text() {
            bail!("--separator has no effect on {} files; leave it out", draws.format());
        }
        if let Some(limit) = plan.max_memory {
            check_memory(draws.len(), draws.dim(), limit)?;
        }
        let mut warnings = Vec::new();
        let shares = match (&plan.weights, draws.weights()) {
            (WeightsPlan::Column(name), Some(weights)) => {
                Some(shares(weights).with_context(|| format!("column '{name}'"))?)
            }
            (WeightsPlan::LogColumn(name), Some(logs)) => {
                Some(shares_of_logs(logs).with_context(|| format!("column '{name}'"))?)
            }
            _ => None,
        };
        if let Some(size) = shares.as_deref().map(effective_size).filter(|&size| size < 10.0) {
            warnings.push(format!(
                "the weights are so uneven that the rows are worth {} equal ones; check them",
                significant(size)
            ));
        }
        let groups = draws.groups()?;
        let scaling = Scaling::fit(plan.scale, draws.values(), draws.dim(), shares.as_deref())?;
        if scaling.dropped() > 0 {
            warnings.push(format!(
                "{} of {} directions have no variance of their own and were left out",
                scaling.dropped(),
                draws.dim()
            ));
        }
        let scaled = match plan.scale {
            Scale::None => draws.values().to_vec(),
            _ => scaling.apply(draws.values()),
        };
        let points = Points::from_vec(scaled, scaling.out_dim())?;
        let kernel = kernel_for(&plan.kernel, &points, shares.as_deref())?;
        warnings.extend(kernel_warning(&kernel, &points, shares.as_deref()));
        Ok(Problem { draws, shares, groups, scaling, points, kernel, precision: plan.precision, warnings })
    }

    pub(super) fn embedding(&self) -> Result<Empirical> {
        let samples = match &self.shares {
            None => Empirical::new(self.kernel.clone(), self.points.clone())?,
            Some(shares) => Empirical::weighted(self.kernel.clone(), self.points.clone(), shares)?,
        };
        Ok(samples.precision(self.precision))
    }

    /// The rows of the file, as they are compared parameter by parameter.
    pub(super) fn rows(&self) -> Rows<'_> {
        let shares = self.shares.as_deref().map(Cow::Borrowed);
        Rows { values: Cow::Borrowed(self.draws.values()), dim: self.draws.dim(), shares }
    }

    /// What subsets are held against, parameter by parameter: one pass over all rows.
    pub(super) fn reference(&self) -> Result<Reference> {
        Ok(Reference::new(self.draws.values(), self.draws.dim(), self.shares.as_deref())?)
    }

    /// All that decides which rows are chosen, in one number.
    pub(super) fn fingerprint(&self, unique: bool) -> u64 {
        let mut print = Fingerprint::new();
        print.bytes(env!("CARGO_PKG_VERSION").as_bytes());
        print.bytes(self.kernel.to_string().as_bytes());
        print.word(u64::from(unique));
        print.word(u64::from(self.precision == Precision::Double));
        print.word(self.points.dim() as u64);
        print.numbers(self.points.as_slice());
        print.numbers(self.shares.as_deref().unwrap_or_default());
        print.finish()
    }
}

/// The long phase: every row is compared with every other. Ctrl-C ends it at once.
pub(super) fn compare_all(mu: &Empirical, quiet: bool) -> Result<()> {
    let rows = mu.points().len();
    let what = format!("comparing {} rows with each other", count(rows));
    let progress = Progress::rows(quiet, &what, rows);
    interrupt::can_end_early(true);
    let prepared = mu.prepare(&|reached| {
        progress.show(reached);
        interrupt::asked_to_end()
    });
    interrupt::can_end_early(false);
    drop(progress);
    prepared?;
    // It may have come in the last moment.
    ensure!(!interrupt::requested(), supersample::Error::Interrupted);
    Ok(())
}
