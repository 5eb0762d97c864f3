//! Kernel sums: the crate `supersample-sum`, called with this library's kernels and points.
//!
//! That crate holds every loop on vectors and is compiled alone; it knows nothing of names, errors or phases. This file
//! is all of the library that turns one into the other.

use std::ops::{ControlFlow, Deref};

pub(crate) use supersample_sum::{KernelRow, Scores, add_scaled, argmax_by};
pub use supersample_sum::{NoSuchInstructionSet, Precision, instruction_set};

use supersample_sum::Shape;

use crate::watch::{Progress, Watch};
use crate::{Kernel, Points, Result};

/// The name of the instruction set that kernel sums run on: the best of this machine, or the one that the environment
/// variable `SUPERSAMPLE_ISA` names.
///
/// Call it before anything else where the variable may be set: whatever computes panics where this is an error.
///
/// ```
/// assert_eq!(supersample::check_instruction_set()?, supersample::instruction_set());
/// # Ok::<(), supersample::Error>(())
/// ```
pub fn check_instruction_set() -> Result<&'static str> {
    Ok(supersample_sum::check_instruction_set()?)
}

/// Points packed for sums under one kernel. Clones share the packing.
#[derive(Clone, Debug)]
pub(crate) struct Packed(supersample_sum::Packed);

impl Packed {
    /// The points in coordinates of their own, in f32 if that is asked for and safe.
    pub(crate) fn new(kernel: &Kernel, points: &Points, precision: Precision) -> Packed {
        Packed(supersample_sum::Packed::new(kernel.shape(), points.view(), precision))
    }

    /// Other points in the coordinates and precision of these, so that sums between the two are possible and a point
    /// that is in both is rounded alike. `None` where the other points are spread too wide for the precision.
    pub(crate) fn beside(&self, points: &Points) -> Option<Packed> {
        self.0.beside(points.view()).map(Packed)
    }

    /// Views of rows under a kernel of a part, in exactly this precision: what is reported of parts has no kernel
    /// values in it.
    pub(crate) fn forced(kernel: Shape<'_>, points: &Points, precision: Precision) -> Packed {
        Packed(supersample_sum::Packed::forced(kernel, points.view(), precision))
    }

    /// Some of these points as points of their own.
    pub(crate) fn of_some(&self, points: &Points) -> Packed {
        Packed(self.0.forced_beside(points.view()))
    }

    /// No points yet, packed one by one as they come.
    pub(crate) fn none_beside(&self) -> Packed {
        Packed(self.0.none_beside())
    }

    /// One more point at the end.
    pub(crate) fn push(&mut self, point: &[f64]) {
        self.0.push(point);
    }

    /// These points, as they have been rounded, for sums in f64.
    pub(crate) fn widened(&self) -> Packed {
        Packed(self.0.widened())
    }

    /// The mean of the kernel rows of the points at the points, watched; after a break `out` means nothing.
    pub(crate) fn own_mean_watched(
        &self,
        weights: Option<&[f64]>,
        out: &mut [f64],
        watch: Option<Watch>,
    ) -> ControlFlow<()> {
        match watch {
            None => self.0.own_mean_watched(weights, out, None),
            Some(watch) => {
                let pairs = |done, total| watch(Progress::Embedding { done, total });
                self.0.own_mean_watched(weights, out, Some(&pairs))
            }
        }
    }
}

/// The sums that take plain numbers are those of the crate.
impl Deref for Packed {
    type Target = supersample_sum::Packed;

    fn deref(&self) -> &supersample_sum::Packed {
        &self.0
    }
}

/// Σⱼ wⱼ k(x, yⱼ) over flat rows y, and its gradient times `scale` added to `gradient`.
pub(crate) fn add_gradient_into(
    kernel: &Kernel,
    x: &[f64],
    rows: &[f64],
    weights: &[f64],
    scale: f64,
    gradient: &mut [f64],
) -> f64 {
    supersample_sum::add_gradient_into(&kernel.shape(), x, rows, weights, scale, gradient)
}
