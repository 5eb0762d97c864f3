//! Kernel of a run: its bandwidth where the points give it, and a warning where it sees nothing.

use anyhow::{Context, Result};
use supersample::quality::random_rows;
use supersample::{Kernel, Points, bandwidth};

use crate::plan::KernelPlan;
use crate::words::significant;

/// How many rows stand for all when the kernel is looked at.
const LOOKED_AT: usize = 400;

/// The kernel for these points, which are scaled already.
pub(super) fn kernel_for(plan: &KernelPlan, points: &Points, shares: Option<&[f64]>) -> Result<Kernel> {
    match plan {
        KernelPlan::Given(kernel) => Ok(kernel.clone()),
        KernelPlan::Median { name } => {
            let median = match shares {
                Some(shares) => bandwidth::weighted_median(points, shares)?,
                None => bandwidth::median(points),
            };
            Kernel::named(name, &[median]).context("the median distance cannot be used; give --bandwidth")
        }
    }
}

/// A kernel that sees no differences, or nothing but differences, makes every choice as good as any other.
pub(super) fn kernel_warning(kernel: &Kernel, points: &Points, shares: Option<&[f64]>) -> Option<String> {
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
}
