//! Kernel of a plan: known, or known but for the bandwidth that the points will give.

use anyhow::{Context, Result, bail};
use supersample::Kernel;
use supersample::task::{Bandwidth, KernelChoice};

/// The kernel of this name with a bandwidth as it was typed.
pub(super) fn kernel_choice(name: String, bandwidth: Option<&str>) -> Result<KernelChoice> {
    let takes_bandwidth = name != Kernel::linear().name();
    match bandwidth {
        Some(_) if !takes_bandwidth => {
            bail!("--bandwidth has no effect on the {name} kernel; leave it out or choose another kernel")
        }
        None if !takes_bandwidth => Ok(KernelChoice::Given(Kernel::linear())),
        None | Some("median") => Ok(KernelChoice::Named { name, bandwidth: Bandwidth::Median }),
        Some(text) => {
            let Ok(length) = text.trim().parse::<f64>() else {
                bail!("--bandwidth '{text}' is neither a number nor the word median")
            };
            Ok(KernelChoice::Given(Kernel::named(&name, &[length]).context("--bandwidth")?))
        }
    }
}
