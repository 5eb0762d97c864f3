//! The device that long sums run on: the CPU, or one GPU.
//!
//! Work that is as long as the pool has two forms: means of kernel rows ([`Packing`], behind
//! [`sum::Packed`](crate::sum::Packed)), and the scores of the pool with the swaps between its rows ([`Choosing`], behind
//! `pool/`). Both are private traits that a [`Backend`] implements, so that the rest of the library is the same with and
//! without the feature `gpu`. Everything else, and all that is small, is done on the host, in the same coordinates.
//!
//! **What goes wrong there.** Herding is an iterator that cannot fail, and a device can. So the first failure is kept with the
//! device, whatever is asked of it afterwards gives nothing, and every task ends by asking whether there was one
//! ([`Device::check`]): no number from after a failure leaves the library.

#[cfg(feature = "gpu")]
mod gpu;

use std::any::Any;
use std::fmt::{self, Debug};
use std::ops::ControlFlow;
use std::str::FromStr;
use std::sync::Arc;

use supersample_sum::{Coordinates, Outcome, Precision, Shape, Visit, Watch};

use crate::{Error, Points, Result, UnknownWord};

/// Points from which on sums run on the GPU; fewer are done before they are there.
const GPU_FROM: usize = 16_384;

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
#[derive(Clone, Debug, Default)]
pub struct Device(Option<Arc<dyn Backend>>);

/// Two are equal that are the same: one GPU that was opened twice is two devices.
impl PartialEq for Device {
    fn eq(&self, other: &Device) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

impl Device {
    /// The words for devices, the default first.
    pub const NAMES: [&'static str; 2] = ["cpu", "gpu"];

    /// The CPU.
    pub fn cpu() -> Device {
        Device(None)
    }

    /// The first GPU of the machine: an error that says why where there is none that can be used, where its driver is not
    /// installed, or where the library was built without the feature `gpu`.
    #[cfg(feature = "gpu")]
    pub fn gpu() -> Result<Device> {
        Ok(Device(Some(Arc::new(gpu::Gpu::open()?))))
    }

    /// The first GPU of the machine: always an error, because the library was built without the feature `gpu`.
    #[cfg(not(feature = "gpu"))]
    pub fn gpu() -> Result<Device> {
        let reason = "no GPU: this build has no support for one (the feature `gpu`); use the device cpu";
        Err(Error::Device { reason: reason.to_string() })
    }

    /// Whether it is a GPU.
    pub fn is_gpu(&self) -> bool {
        self.0.is_some()
    }

    /// An error if anything has gone wrong on the device; then nothing it has computed since is of any use, and the device has
    /// to be opened anew.
    pub fn check(&self) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |backend| backend.check())
    }

    /// The GPU, where there is one and so many points are worth it.
    pub(crate) fn gpu_for(&self, points: usize) -> Option<&dyn Backend> {
        self.0.as_deref().filter(|_| points >= GPU_FROM)
    }
}

/// `cpu`, or the name of the GPU as its driver has it.
impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0.as_ref().map_or("cpu", |backend| backend.name()))
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

/// A device other than the CPU.
pub(crate) trait Backend: Debug + Send + Sync {
    /// Its name as its driver has it.
    fn name(&self) -> &str;

    /// The first failure, if there was one.
    fn check(&self) -> Result<()>;

    /// Points in coordinates of their own, in f32 if that is asked for and safe.
    fn pack(&self, kernel: Shape, points: &Points, precision: Precision) -> Arc<dyn Packing>;

    /// Points in these coordinates, in exactly this precision.
    fn pack_in(
        &self,
        coordinates: &Arc<Coordinates>,
        points: &Points,
        precision: Precision,
    ) -> Arc<dyn Packing>;
}

/// Points packed on a device for means of their kernel rows. After a break or a failure what was to be written means nothing.
pub(crate) trait Packing: Any + Debug + Send + Sync {
    fn precision(&self) -> Precision;

    fn coordinates(&self) -> &Arc<Coordinates>;

    /// Some of the points with all that decides how their means are computed.
    fn some(&self, points: &Points) -> Arc<dyn Packing>;

    /// These points, as they have been rounded, for sums in f64.
    fn widened(&self) -> Arc<dyn Packing>;

    /// `out[i]` = Σⱼ wⱼ k(xᵢ, xⱼ) over the points themselves.
    fn own_mean(&self, weights: Option<&[f64]>, out: &mut [f64], watch: Option<Watch<'_>>)
    -> ControlFlow<()>;

    /// `out[i]` = Σⱼ wⱼ k(xᵢ, yⱼ) at the points x over the samples y, at least one of which is such a packing as this.
    fn mean(
        &self,
        sides: (Side<'_>, Side<'_>),
        weights: Option<&[f64]>,
        out: &mut [f64],
        watch: Option<Watch<'_>>,
    ) -> ControlFlow<()>;

    /// Nothing begun, for rows whose kernel is the sum of that of these points and of those of parts times their factors.
    fn choosing(&self, parts: &[(&dyn Packing, f64)]) -> Box<dyn Choosing>;
}

/// One side of a rectangle of pairs: on the device or not.
#[cfg_attr(not(feature = "gpu"), expect(dead_code, reason = "read on a device alone"))]
pub(crate) enum Side<'a> {
    There(&'a dyn Packing),
    Here(Points),
}

/// The scores of a pool on a device and, once their number is settled, the set of its chosen rows.
pub(crate) trait Choosing: Send + Sync {
    /// Nothing begun, for the rows of this one.
    fn afresh(&self) -> Box<dyn Choosing>;

    /// Whether herding has begun.
    fn is_herding(&self) -> bool;

    /// Whether the number of rows is settled.
    fn is_settled(&self) -> bool;

    /// Begins to herd: nothing is chosen, and some rows are closed.
    fn herd(&mut self, mu: &[f64], offsets: Option<&[f64]>, closed: &[usize], unique: bool);

    /// The row of the highest score, and that score.
    fn best(&mut self, factor: f64) -> Option<(usize, f64)>;

    /// The running sum of a row, what is pending included.
    fn sum(&mut self, row: usize) -> f64;

    /// Chooses a row.
    fn choose(&mut self, row: usize);

    /// Settles these rows as the chosen ones; `start` is what the sums are before any kernel row is taken from them.
    fn settle(&mut self, start: &[f64], chosen: &[usize], closed: &[usize], repeats: bool);

    /// These numbers on the device, for visits.
    fn noise(&self, numbers: &[f32]) -> Box<dyn Any + Send + Sync>;

    /// Makes visits to positions one after the other; `None` for those that were not worth it. Fewer outcomes come back where
    /// something fails.
    fn visit(&mut self, visits: &[Visit], noise: Option<&dyn Any>) -> Vec<Option<Outcome>>;

    /// Puts rows in the places of others: a position and a row each.
    fn put(&mut self, places: &[(usize, usize)]);
}
