//! Kernel of a plan: known, or known but for the bandwidth that the points will give.

use anyhow::{Context, Result, ensure};
use supersample::Family;
use supersample::task::{Bandwidth, KernelChoice};

/// The kernel of this name with a bandwidth as typed.
pub(super) fn kernel_choice(family: Family, bandwidth: Option<&str>) -> Result<KernelChoice> {
    ensure!(
        bandwidth.is_none() || family.has_length(),
        "--bandwidth has no effect on the {family} kernel; leave it out or choose another kernel"
    );
    Ok(match bandwidth.and_then(length).transpose()? {
        Some(length) => KernelChoice::Given(family.kernel(&[length])?),
        None => KernelChoice::Named { family, bandwidth: Bandwidth::Median },
    })
}

/// A bandwidth as typed; `None` for the median distance.
pub(super) fn length(text: &str) -> Option<Result<f64>> {
    (text != "median").then(|| {
        let number = text.trim().parse().ok();
        number.with_context(|| format!("--bandwidth '{text}' is neither a number nor the word median"))
    })
}
