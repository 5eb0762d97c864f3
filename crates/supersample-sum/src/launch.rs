//! Dispatch from run-time values to the loop compiled for them: precision and kernel here, instruction set in the task.
//!
//! A [`Task`] is written once, for any lane and profile; [`launch`] calls it with those of packed points. The
//! instruction set is chosen inside the task, by `dispatch!` within each chunk of work, because a closure that is
//! passed to another thread loses the features enabled around it.
//!
//! Kernels without a bound (energy, Stein) have no loops in f32: points under them are packed in f64.

use crate::lanes::Lane;
use crate::panels::Panels;
use crate::profile::{
    ByProducts, Energy, Gaussian, Gaussians, Imq, Laplace, Linear, Manhattan, Matern, Of, Profile, SteinSums,
};
use crate::shape::Shape;
use crate::stein::{SteinBase, SteinLayout};

/// Something that depends on the lane: f32 or f64.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ByLane<M, D> {
    /// In f32.
    Mixed(M),
    /// In f64.
    Double(D),
}

/// The panels of either precision.
pub(crate) type AnyPanels = ByLane<Panels<f32>, Panels<f64>>;

/// Work on packed points, for any lane and kernel.
pub(crate) trait Task {
    /// Result of the work.
    type Output;
    /// The work with the panels of the points.
    fn run<T: Lane, P: Profile<T>>(self, profile: P, panels: &Panels<T>) -> Self::Output;
}

/// Runs the task for points under a kernel.
pub(crate) fn launch<K: Task>(kernel: &Shape, panels: &AnyPanels, task: K) -> K::Output {
    match (panels, kernel) {
        (ByLane::Double(panels), Shape::Energy) => task.run(Of(Energy), panels),
        (ByLane::Double(panels), Shape::Stein(stein)) => {
            let (is_gaussian, trace) = (stein.base == SteinBase::Gaussian, stein.trace);
            match stein.layout {
                SteinLayout::Isotropic { root } => {
                    task.run(SteinSums::<f64, false> { is_gaussian, trace, root }, panels)
                }
                SteinLayout::Full => {
                    task.run(SteinSums::<f64, true> { is_gaussian, trace, root: 1.0 }, panels)
                }
            }
        }
        (ByLane::Mixed(panels), Shape::Gaussian { .. }) if panels.has_norms => {
            task.run(ByProducts(Gaussian), panels)
        }
        (ByLane::Mixed(panels), _) => launch_in(kernel, panels, task),
        (ByLane::Double(panels), _) => launch_in(kernel, panels, task),
    }
}

/// Runs the task for points of either precision, under a kernel that has loops for both.
fn launch_in<T: Lane, K: Task>(kernel: &Shape, panels: &Panels<T>, task: K) -> K::Output {
    match kernel {
        Shape::Gaussian { .. } => task.run(Of(Gaussian), panels),
        Shape::Gaussians { lengths } => {
            let factors: Vec<T> = lengths.iter().map(|l| T::from_f64((lengths[0] / l).powi(2))).collect();
            task.run(Of(Gaussians(&factors)), panels)
        }
        Shape::Laplace { .. } => task.run(Of(Laplace), panels),
        Shape::Matern12 { .. } => task.run(Of(Matern::<0>), panels),
        Shape::Matern32 { .. } => task.run(Of(Matern::<1>), panels),
        Shape::Matern52 { .. } => task.run(Of(Matern::<2>), panels),
        Shape::Imq { .. } => task.run(Of(Imq), panels),
        Shape::Linear => task.run(Of(Linear), panels),
        Shape::Manhattan { .. } => task.run(Of(Manhattan), panels),
        Shape::Energy | Shape::Stein(_) => {
            unreachable!("points under a kernel that is summed in f64 alone are packed in it")
        }
    }
}
