//! Sums of kernel values on one NVIDIA GPU: what `supersample-sum` does on vectors, with the points and the scores on the device.
//!
//! [`Device::open`] opens the driver at run time and says in one sentence what is missing where it cannot. Points go to the
//! device once ([`Points`]); the mean of kernel rows ([`Points::own_mean`], [`Points::mean_over`], or [`Device::own_mean`] and
//! [`Device::mean`] for points that may be larger than its memory), the running scores ([`Scores`]) and a set whose points give
//! their places to better ones ([`Set`]) stay there, and only picks come back.
//!
//! # Numbers
//!
//! Kernel values are f32 or f64 ([`supersample_sum::Precision`]), decided as on the CPU. Every sum is a fixed-point number,
//! which adds up to the same bits in any order: results do not depend on which block finishes first. Squared distances are sums of squared differences; at larger dimensions and moderate spreads those of smooth kernels
//! come from products on tensor cores instead (`products.rs` says when that is right).
//!
//! # Kernels
//!
//! The folder `kernels` has the CUDA sources and the PTX made of them by `kernels/build.sh`, one file a kernel shape, which the
//! driver compiles for its device when the shape is first used.

mod device;
mod error;
mod launch;
mod means;
mod points;
mod products;
mod scores;
mod set;
mod weights;

pub use self::device::Device;
pub use self::error::{Error, Result};
pub use self::means::Mean;
pub use self::points::{Plan, Points};
pub use self::scores::{Part, Pick, Scores};
pub use self::set::{Noise, Set};
pub use supersample_sum::{Outcome, Visit};
