//! Kernel of a plan: known, or known but for the bandwidth that the points will give.

use anyhow::{Context, Result, ensure};
use supersample::Kernel;
use supersample::task::{Bandwidth, KernelChoice};

/// The kernel of this name with a bandwidth as it was typed.
pub(super) fn kernel_choice(name: String, bandwidth: Option<&str>) -> Result<KernelChoice> {
    let takes_bandwidth = Kernel::takes_bandwidth(&name);
    ensure!(
        bandwidth.is_none() || takes_bandwidth,
        "--bandwidth has no effect on the {name} kernel; leave it out or choose another kernel"
    );
    Ok(match bandwidth.and_then(length).transpose()? {
        Some(length) => KernelChoice::Given(Kernel::named(&name, &[length])?),
        None if takes_bandwidth => KernelChoice::Named { name, bandwidth: Bandwidth::Median },
        None => KernelChoice::Given(Kernel::named(&name, &[])?),
    })
}

/// A bandwidth as it was typed; `None` for the median distance.
pub(super) fn length(text: &str) -> Option<Result<f64>> {
    (text != "median").then(|| {
        let number = text.trim().parse().ok();
        number.with_context(|| format!("--bandwidth '{text}' is neither a number nor the word median"))
    })
}
