//! Device for long sums: the CPU, or one GPU.
//!
//! A GPU is a second `supersample-sum`. Work proportional to the pool has two forms: means of kernel rows ([`Packing`],
//! behind [`sum::Packed`](crate::sum::Packed)), and the scores of the pool with the swaps between its rows
//! ([`Choosing`], behind `pool/`). Both are private traits that a [`Backend`] implements, so that the rest of the
//! library is the same with and without the feature `gpu`. Everything else runs on the host, in the same coordinates:
//! short sums (below 16,384 points), groups, starts from given points, ascents. Means between two packings run on the
//! GPU if one of them is there.
//!
//! **Failures.** Herding is an iterator that cannot fail, but a device can. So the device keeps its first failure and
//! then computes nothing more: searches find nothing, visits change nothing. Every task ends with [`Device::check`], so
//! that no number from after a failure leaves the library.

#[cfg(feature = "gpu")]
mod gpu;

use std::any::Any;
use std::fmt::{self, Debug};
use std::ops::ControlFlow;
use std::str::FromStr;
use std::sync::Arc;

use supersample_sum::{Coordinates, Outcome, Precision, Shape, Visit, Watch};

use crate::{Error, Points, Result, UnknownWord};

/// Smallest number of points for the GPU; fewer are faster on the CPU.
const GPU_FROM: usize = 16_384;

/// Device for long sums: the CPU (the default) or the first GPU of the machine.
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

/// Equal only if they are the same opened device.
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
    /// Names of devices, the default first.
    pub const NAMES: [&'static str; 2] = ["cpu", "gpu"];

    /// The CPU.
    pub fn cpu() -> Device {
        Device(None)
    }

    /// Opens the first GPU of the machine. An error if there is none, if its driver is not installed, or if the library
    /// was built without the feature `gpu`.
    #[cfg(feature = "gpu")]
    pub fn gpu() -> Result<Device> {
        Ok(Device(Some(Arc::new(gpu::Gpu::open()?))))
    }

    /// Opens the first GPU of the machine: always an error, because the library was built without the feature `gpu`.
    #[cfg(not(feature = "gpu"))]
    pub fn gpu() -> Result<Device> {
        let reason = "no GPU: this build has no support for one (the feature `gpu`); use the device cpu";
        Err(Error::Device { reason: reason.to_string() })
    }

    /// Whether it is a GPU.
    pub fn is_gpu(&self) -> bool {
        self.0.is_some()
    }

    /// Returns an error if the device has failed. Results computed since are not valid, and the device must be opened
    /// again.
    pub fn check(&self) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |backend| backend.check())
    }

    /// The GPU, if there is one and `points` are enough for it.
    pub(crate) fn gpu_for(&self, points: usize) -> Option<&dyn Backend> {
        self.0.as_deref().filter(|_| points >= GPU_FROM)
    }
}

/// `cpu`, or the name of the GPU from its driver.
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
    /// Name from the driver.
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

/// Points packed on a device for means of their kernel rows. After a break or a failure the output is undefined.
pub(crate) trait Packing: Any + Debug + Send + Sync {
    fn precision(&self) -> Precision;

    fn coordinates(&self) -> &Arc<Coordinates>;

    /// Some of the points, packed so that their means are computed in the same way.
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

    /// Returns empty scores for rows whose kernel is that of these points plus those of parts times their factors.
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
    /// Returns empty scores for the same rows.
    fn afresh(&self) -> Box<dyn Choosing>;

    /// Whether herding has begun.
    fn is_herding(&self) -> bool;

    /// Whether the number of rows is settled.
    fn is_settled(&self) -> bool;

    /// Begins to herd: nothing is chosen, and some rows are closed.
    fn herd(&mut self, mu: &[f64], offsets: Option<&[f64]>, closed: &[usize], unique: bool);

    /// The row of the highest score, and that score.
    fn best(&mut self, factor: f64) -> Option<(usize, f64)>;

    /// The running sum of a row, including the pending kernel row.
    fn sum(&mut self, row: usize) -> f64;

    /// Chooses a row.
    fn choose(&mut self, row: usize);

    /// Settles these rows as the chosen ones; `start` is what the sums are before any kernel row is taken from them.
    fn settle(&mut self, start: &[f64], chosen: &[usize], closed: &[usize], repeats: bool);

    /// These numbers on the device, for visits.
    fn noise(&self, numbers: &[f32]) -> Box<dyn Any + Send + Sync>;

    /// Makes visits to positions in order; `None` for skipped ones. After a failure fewer outcomes come back.
    fn visit(&mut self, visits: &[Visit], noise: Option<&dyn Any>) -> Vec<Option<Outcome>>;

    /// Puts rows in the places of others: a position and a row each.
    fn put(&mut self, places: &[(usize, usize)]);
}
