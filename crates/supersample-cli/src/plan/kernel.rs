//! Kernel of a plan: known, or known but for the bandwidth that the points will give.

use anyhow::{Context, Result, bail};
use supersample::Kernel;

/// A kernel that is known, or known but for the bandwidth that the points will give.
#[derive(Debug, PartialEq)]
pub(crate) enum KernelPlan {
    Given(Kernel),
    Median { name: String },
}

impl KernelPlan {
    pub(super) fn new(name: String, bandwidth: Option<&str>) -> Result<KernelPlan> {
        let takes_bandwidth = name != Kernel::linear().name();
        match bandwidth {
            Some(_) if !takes_bandwidth => {
                bail!("--bandwidth has no effect on the {name} kernel; leave it out or choose another kernel")
            }
            None if !takes_bandwidth => Ok(KernelPlan::Given(Kernel::linear())),
            None | Some("median") => Ok(KernelPlan::Median { name }),
            Some(text) => {
                let Ok(length) = text.trim().parse::<f64>() else {
                    bail!("--bandwidth '{text}' is neither a number nor the word median")
                };
                Ok(KernelPlan::Given(Kernel::named(&name, &[length]).context("--bandwidth")?))
            }
        }
    }

    pub(crate) fn is_median(&self) -> bool {
        matches!(self, KernelPlan::Median { .. })
    }
}
