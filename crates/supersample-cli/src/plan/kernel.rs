//! Kernel of a plan: known, or known but for the bandwidth that the points will give.

use anyhow::{Result, bail, ensure};
use supersample::Family;
use supersample::task::{Bandwidth, KernelChoice};

/// The kernel of this name with a bandwidth as it was typed.
pub(super) fn kernel_choice(family: Family, bandwidth: Option<&str>) -> Result<KernelChoice> {
    match bandwidth {
        Some(_) if !family.has_length() => {
            bail!("--bandwidth has no effect on the {family} kernel; leave it out or choose another kernel")
        }
        None | Some("median") => Ok(KernelChoice::Named { family, bandwidth: Bandwidth::Median }),
        Some(text) => {
            let Ok(length) = text.trim().parse::<f64>() else {
                bail!("--bandwidth '{text}' is neither a number nor the word median")
            };
            let kernel = family.kernel(&[length]).ok().filter(|_| length > 0.0 && length.is_finite());
            ensure!(
                kernel.is_some() || !(length > 0.0 && length.is_finite()),
                "--bandwidth is {length:e}, whose square no number can hold; give a length in the units of the scaled columns"
            );
            match kernel {
                Some(kernel) => Ok(KernelChoice::Given(kernel)),
                None => bail!("--bandwidth is {text}; a length is a positive number"),
            }
        }
    }
}
