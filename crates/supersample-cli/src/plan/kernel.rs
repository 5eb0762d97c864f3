//! Kernel of a plan: known, or known but for the bandwidth that the points will give.

use anyhow::{Context, Result, ensure};
use supersample::Family;
use supersample::task::{Bandwidth, KernelChoice};

/// The kernel of this name, or the default, with a bandwidth as typed.
pub(super) fn kernel_choice(family: Option<Family>, bandwidth: Option<&str>) -> Result<KernelChoice> {
    let known = family.unwrap_or_default();
    ensure!(
        bandwidth.is_none() || known.has_length(),
        "--bandwidth has no effect on the {known} kernel; leave it out or choose another kernel"
    );
    let bandwidth = match bandwidth.and_then(length).transpose()? {
        Some(length) => {
            // Refused before any file is read.
            known.kernel(&[length])?;
            Bandwidth::Lengths(vec![length])
        }
        None => Bandwidth::Median,
    };
    Ok(KernelChoice::Named { family, bandwidth })
}

/// A bandwidth as typed; `None` for the median distance.
pub(super) fn length(text: &str) -> Option<Result<f64>> {
    (text != "median").then(|| {
        let number = text.trim().parse().ok();
        number.with_context(|| format!("--bandwidth '{text}' is neither a number nor the word median"))
    })
}
