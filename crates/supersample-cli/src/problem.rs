//! What is to be matched: the draws, their weights, the points they become and the kernel between them.

use anyhow::{Context, Result, bail};
use supersample::quality::{Reference, random_rows};
use supersample::scale::{Scale, Scaling};
use supersample::{Empirical, Kernel, Points, Precision};
use supersample_io::{Draws, Groups};

use crate::checkpoint::Fingerprint;
use crate::numbers::significant;
use crate::plan::{DrawsPlan, WeightsPlan};
use crate::rows::Rows;
use crate::weights::{effective_size, shares, shares_of_logs};

/// How many rows stand for all when the kernel is looked at and when the median is taken by weight.
const LOOKED_AT: usize = 400;

/// Draws made ready.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) draws: Draws,
    /// `None`: equal weights.
    pub(crate) shares: Option<Vec<f64>>,
    /// The rows by the column that choices are balanced over.
    pub(crate) groups: Option<Groups>,
    pub(crate) scaling: Scaling,
    pub(crate) points: Points,
    pub(crate) kernel: Kernel,
    pub(crate) precision: Precision,
    /// What the user should know before believing the result.
    pub(crate) warnings: Vec<String>,
}

impl Problem {
    pub(crate) fn read(plan: &DrawsPlan) -> Result<Problem> {
        // Asked first of the heads and sizes of the files, so that no one waits for a refusal.
        if let (Some(limit), Some((rows, dim))) =
            (plan.max_memory, Draws::expected_size(&plan.files, &plan.reading()))
        {
            check_memory(rows, dim, limit)?;
        }
        let draws = Draws::read(&plan.files, &plan.reading())?;
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
        let kernel = plan.kernel.for_points(&points, shares.as_deref())?;
        warnings.extend(kernel_warning(&kernel, &points, shares.as_deref()));
        Ok(Problem { draws, shares, groups, scaling, points, kernel, precision: plan.precision, warnings })
    }

    pub(crate) fn embedding(&self) -> Result<Empirical> {
        let samples = match &self.shares {
            None => Empirical::new(self.kernel.clone(), self.points.clone())?,
            Some(shares) => Empirical::weighted(self.kernel.clone(), self.points.clone(), shares)?,
        };
        Ok(samples.precision(self.precision))
    }

    /// The rows of the file, as they are compared parameter by parameter.
    pub(crate) fn rows(&self) -> Rows<'_> {
        Rows { values: self.draws.values(), dim: self.draws.dim(), shares: self.shares.as_deref() }
    }

    /// The same, gone through once so that subsets can be held against them.
    pub(crate) fn reference(&self) -> Result<Reference> {
        Ok(Reference::new(self.draws.values(), self.draws.dim(), self.shares.as_deref())?)
    }

    /// All that decides which rows are chosen, in one number.
    pub(crate) fn fingerprint(&self, unique: bool) -> u64 {
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

/// A kernel that sees no differences, or nothing but differences, makes every choice as good as any other.
fn kernel_warning(kernel: &Kernel, points: &Points, shares: Option<&[f64]>) -> Option<String> {
    let &[bandwidth, ..] = kernel.bandwidths() else { return None };
    let rows = random_rows(points.len(), shares, LOOKED_AT.min(points.len()), 1).ok()?;
    let (mut smallest, mut largest) = (f64::INFINITY, f64::NEG_INFINITY);
    for (i, &a) in rows.iter().enumerate() {
        for &b in &rows[..i] {
            // A row drawn twice, or two rows that are the same, say nothing of the kernel.
            if points.row(a) != points.row(b) {
                let value = kernel.value(points.row(a), points.row(b));
                (smallest, largest) = (smallest.min(value), largest.max(value));
            }
        }
    }
    let bandwidth = significant(bandwidth);
    if smallest > 0.99 && smallest.is_finite() {
        return Some(format!(
            "the kernel is nearly constant (every value is above 0.99), so all rows look alike to it; bandwidth \
             {bandwidth} is too long: try --bandwidth median"
        ));
    }
    (largest < 0.01 && largest.is_finite()).then(|| {
        format!(
            "the kernel is nearly diagonal (every value between two rows is below 0.01), so it sees no neighbours; \
             bandwidth {bandwidth} is too short: try --bandwidth median, or fewer columns"
        )
    })
}

/// Two copies of the numbers (as read, as scaled), a third in single precision, and a few numbers for each row.
pub(crate) fn memory_needed(rows: usize, dim: usize) -> u64 {
    let (rows, dim) = (rows as u64, dim as u64);
    rows.saturating_mul(dim).saturating_mul(20) + rows.saturating_mul(48) + (64 << 20)
}

fn check_memory(rows: usize, dim: usize, limit: u64) -> Result<()> {
    let needed = memory_needed(rows, dim);
    if needed > limit {
        bail!(
            "the run needs about {}, and --max-memory allows {}; choose by fewer --columns, or allow more",
            in_units(needed),
            in_units(limit)
        );
    }
    Ok(())
}

/// `1.5 GiB`.
pub(crate) fn in_units(bytes: u64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let power =
        (0..units.len() - 1).find(|&power| bytes < 1 << (10 * (power + 1))).unwrap_or(units.len() - 1);
    format!("{} {}", significant(bytes as f64 / (1_u64 << (10 * power)) as f64), units[power])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_that_see_nothing_are_told_apart() {
        let points = Points::from_vec((0..50).map(f64::from).collect(), 1).unwrap();
        let warning = |bandwidth| kernel_warning(&Kernel::gaussian(bandwidth).unwrap(), &points, None);
        assert!(warning(1e4).unwrap().contains("nearly constant"));
        assert!(warning(0.1).unwrap().contains("nearly diagonal"));
        assert_eq!(warning(10.0), None);
        assert_eq!(kernel_warning(&Kernel::linear(), &points, None), None);
        let same = Points::from_vec(vec![1.0; 5], 1).unwrap();
        assert_eq!(kernel_warning(&Kernel::gaussian(1.0).unwrap(), &same, None), None);
    }

    #[test]
    fn memory_is_told_in_units() {
        assert_eq!((in_units(800), in_units(3 << 29)), ("800 bytes".to_string(), "1.50 GiB".to_string()));
        assert_eq!(memory_needed(1_000_000, 10), 200_000_000 + 48_000_000 + (64 << 20));
    }
}
