//! Sums of kernel values on one NVIDIA GPU: the operations of `supersample-sum`, with the points and scores on the
//! device.
//!
//! [`Device::open`] opens the driver at run time; its error says in one sentence what is missing. Points go to the
//! device once ([`Points`]); the mean of kernel rows ([`Points::own_mean`], [`Points::mean_over`], or
//! [`Device::own_mean`] and [`Device::mean`] for points that may be larger than its memory), the running scores
//! ([`Scores`]) and a set whose points are exchanged ([`Set`]) stay there, and only picks come back.
//!
//! # Numbers
//!
//! Kernel values are f32 or f64 ([`supersample_sum::Precision`]), decided as on the CPU. Blocks finish in any order, so
//! every sum is a fixed-point number (64-bit integers, two of them for f64), which gives the same bits in any order.
//! Squared distances are sums of squared differences; at larger dimensions and moderate spreads those of smooth kernels
//! come from products on tensor cores instead (`products.rs` says when).
//!
//! # Kernels
//!
//! The folder `kernels` has the CUDA sources and the PTX made of them by `kernels/build.sh`, one file for each kernel
//! shape. The driver compiles it for its device when the shape is first used. Nothing is linked against CUDA.

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
