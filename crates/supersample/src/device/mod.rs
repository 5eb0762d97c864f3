//! The device that long sums run on: the CPU, or one GPU.
//!
//! Work that is as long as the pool has two forms, one of which is in this folder: means of kernel rows ([`gpu::Packed`], behind
//! [`sum::Packed`](crate::sum::Packed)), and the scores of the pool with the swaps between its rows ([`gpu::Choice`], behind
//! `pool/`). Everything else, and all that is small, is done here on the host, in the same coordinates.
//!
//! **What goes wrong there.** Herding is an iterator that cannot fail, and a device can. So the first failure is kept with the
//! device, whatever is asked of it afterwards gives nothing, and every task ends by asking whether there was one
//! ([`Device::check`]): no number from after a failure leaves the library.

#[cfg(feature = "gpu")]
pub(crate) mod gpu;
#[cfg(not(feature = "gpu"))]
#[path = "no_gpu.rs"]
pub(crate) mod gpu;

use std::fmt;
use std::str::FromStr;

use self::gpu::Gpu;
use crate::{Error, Result, UnknownWord};

/// Points from which on sums run on the GPU; fewer are done before they are there.
pub(crate) const GPU_FROM: usize = 16_384;

/// What long sums run on: the CPU, the default, or the first GPU of the machine.
///
/// ```
/// use supersample::Device;
/// assert_eq!("cpu".parse::<Device>()?.to_string(), "cpu");
/// match "gpu".parse::<Device>() {
///     Ok(gpu) => println!("sums run on {gpu}"),
///     Err(error) => println!("{error}"), // says in one sentence what is missing
/// }
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Device(Option<Gpu>);

impl Device {
    /// The words for devices, the default first.
    pub const NAMES: [&'static str; 2] = ["cpu", "gpu"];

    /// The CPU.
    pub fn cpu() -> Device {
        Device(None)
    }

    /// The first GPU of the machine: an error that says why where there is none that can be used, where its driver is not
    /// installed, or where the library was built without the feature `gpu`.
    pub fn gpu() -> Result<Device> {
        Gpu::open().map(|gpu| Device(Some(gpu)))
    }

    /// Whether it is a GPU.
    pub fn is_gpu(&self) -> bool {
        self.0.is_some()
    }

    /// An error if anything has gone wrong on the device; then nothing it has computed since is of any use, and the device has
    /// to be opened anew.
    pub fn check(&self) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), Gpu::check)
    }

    /// The GPU, where there is one and so many points are worth it.
    pub(crate) fn gpu_for(&self, points: usize) -> Option<&Gpu> {
        self.0.as_ref().filter(|_| points >= GPU_FROM)
    }
}

/// `cpu`, or the name of the GPU as its driver has it.
impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0.as_ref().map_or("cpu", Gpu::name))
    }
}

/// `cpu` or `gpu`, which is opened.
impl FromStr for Device {
    type Err = Error;

    fn from_str(word: &str) -> Result<Device> {
        match word {
            "cpu" => Ok(Device::cpu()),
            "gpu" => Device::gpu(),
            _ => Err(UnknownWord { what: "a device", word: word.to_string(), known: &Device::NAMES }.into()),
        }
    }
}

/// One visit to a position of a set: the row that fits best there, by its fit plus `scale`·noise, takes the place if that is more than
/// `threshold` above the fit of the row there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Visit {
    pub(crate) position: usize,
    /// Where in the noise it begins, and its scale.
    pub(crate) noise: Option<(usize, f64)>,
    pub(crate) threshold: f64,
    /// It is made only where this row may take the place and fits better there by more than the threshold.
    pub(crate) rival: Option<usize>,
}

/// What came of a visit that was made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Outcome {
    /// The row besides the one there that fits best; `None` where no other is open.
    pub(crate) best: Option<usize>,
    /// Its fit, noise not counted.
    pub(crate) fit: f64,
    /// The fit of the row that was there.
    pub(crate) fit_here: f64,
    /// Whether it took the place.
    pub(crate) taken: bool,
}
