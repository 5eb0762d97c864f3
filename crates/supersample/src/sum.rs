//! Kernel sums: calls the crate `supersample-sum`, or one GPU, with this library's kernels and points.
//!
//! That crate has every vectorised loop and is compiled alone, so that a change of the algorithm compiles only the
//! algorithm. It knows nothing about names, errors or phases. This file translates, and decides which points go to the
//! GPU (`device/`). For a Gram matrix, `table.rs` replaces that crate. Another source of kernel values would be one
//! more arm of `Place` here and of `embedding::Values`.

mod table;

use std::ops::ControlFlow;
use std::sync::Arc;

use rayon::prelude::*;

pub(crate) use self::table::{Table, row_of};
pub(crate) use supersample_sum::{
    KernelRow, KernelRowMut, KernelRows, Outcome, Scores, Visit, add_scaled, argmax_by,
};
pub use supersample_sum::{NoSuchInstructionSet, Precision, instruction_set};

use supersample_sum::{Coordinates, Distance, Packed as OnHost, Shape, Term};

use crate::device::{Packing, Side};
use crate::part::Views;
use crate::watch::{Progress, Watch};
use crate::{Device, Kernel, Points, Result};

/// Returns the name of the instruction set for kernel sums: the best of this machine, or the one in the environment
/// variable `SUPERSAMPLE_ISA`.
///
/// Call it first if the variable may be set: where this is an error, computations panic.
///
/// ```
/// assert_eq!(supersample::check_instruction_set()?, supersample::instruction_set());
/// # Ok::<(), supersample::Error>(())
/// ```
pub fn check_instruction_set() -> Result<&'static str> {
    Ok(supersample_sum::check_instruction_set()?)
}

/// Views that are written at once, to be packed, and those whose mean is summed at once.
const VIEWS_AT_ONCE: usize = 1 << 10;
const PART: usize = 1 << 17;

/// Points packed for sums under one kernel, or rows of a matrix of kernel values, with the device for further points.
/// Clones share the packing.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    device: Device,
    place: Place,
}

/// Where points are packed.
#[derive(Clone, Debug)]
enum Place {
    Host(OnHost),
    Gpu(Arc<dyn Packing>),
    Table(Table),
}

impl Packed {
    /// Packs points in their own coordinates, in f32 if asked for and safe.
    pub(crate) fn new(kernel: &Kernel, points: &Points, precision: Precision) -> Packed {
        Packed::on_host(OnHost::new(kernel.shape().clone(), points.view(), precision))
    }

    /// [`new`](Self::new) on a device, if there are enough points for it.
    pub(crate) fn on(device: &Device, kernel: &Kernel, points: &Points, precision: Precision) -> Packed {
        let place = match device.gpu_for(points.len()) {
            Some(gpu) => Place::Gpu(gpu.pack(kernel.shape().clone(), points, precision)),
            None => Place::Host(OnHost::new(kernel.shape().clone(), points.view(), precision)),
        };
        Packed { device: device.clone(), place }
    }

    /// Packs weighted points on the CPU in f32, for distances by products; `None` if that is not faster or not safe.
    pub(crate) fn by_products(kernel: &Kernel, points: &Points, weights: Option<&[f64]>) -> Option<Packed> {
        OnHost::by_products(kernel.shape().clone(), points.view(), weights).map(Packed::on_host)
    }

    fn on_host(packed: OnHost) -> Packed {
        Packed { device: Device::cpu(), place: Place::Host(packed) }
    }

    /// Rows of a matrix of kernel values.
    pub(crate) fn of_table(table: Table) -> Packed {
        Packed { device: Device::cpu(), place: Place::Table(table) }
    }

    /// Packs other points in the coordinates and precision of these, so that sums between both are possible and a point
    /// in both is rounded alike. `None` if the other points are spread too widely for the precision.
    pub(crate) fn beside(&self, points: &Points) -> Option<Packed> {
        if let Place::Table(_) = &self.place {
            return Some(self.of_some(points));
        }
        let (coordinates, precision) = (self.coordinates(), self.precision());
        if precision == Precision::Mixed && !coordinates.allow_mixed(points.view()) {
            return None;
        }
        let place = match self.device.gpu_for(points.len()) {
            Some(gpu) => Place::Gpu(gpu.pack_in(coordinates, points, precision)),
            None => Place::Host(OnHost::in_coordinates(coordinates.clone(), points.view(), precision)),
        };
        Some(Packed { device: self.device.clone(), place })
    }

    /// Packs views of rows under a kernel of a part, in exactly this precision: reported errors of parts use no kernel
    /// values.
    pub(crate) fn forced(kernel: Shape, views: &Views, precision: Precision) -> Packed {
        if let Views::Points(points) = views {
            return Packed::on_host(OnHost::forced(kernel, points.view(), precision));
        }
        // Some at a time, so that they are never all in memory.
        let dim = views.dim();
        let mut some = vec![0.0; VIEWS_AT_ONCE.min(views.len()) * dim];
        let mut for_some = |work: &mut dyn FnMut(usize, &[f64])| {
            for first in (0..views.len()).step_by(VIEWS_AT_ONCE) {
                let some = &mut some[..VIEWS_AT_ONCE.min(views.len() - first) * dim];
                views.write(first, some);
                work(first, some);
            }
        };
        // The centre that the kernel would give all of them, summed in the same order.
        let mut parts = vec![vec![0.0; dim]];
        if kernel.distance() != Distance::Dot {
            for_some(&mut |first, some| {
                if first > 0 && first.is_multiple_of(PART) {
                    parts.push(vec![0.0; dim]);
                }
                let part = parts.last_mut().expect("there is one");
                let add = |row: &[f64]| {
                    part.iter_mut().zip(row).for_each(|(sum, x)| *sum += x / views.len() as f64);
                };
                some.chunks_exact(dim).for_each(add);
            });
        }
        let mut centre = vec![0.0; dim];
        parts.iter().for_each(|part| centre.iter_mut().zip(part).for_each(|(sum, x)| *sum += x));
        // The mean of one row is that row.
        let coordinates = Arc::new(Coordinates::new(kernel, supersample_sum::Rows::new(&centre, dim)));
        let nothing = supersample_sum::Rows::new(&[], dim);
        let mut packed = OnHost::in_coordinates(coordinates, nothing, precision);
        for_some(&mut |_, some| some.chunks_exact(dim).for_each(|row| packed.push(row)));
        Packed::on_host(packed)
    }

    /// [`forced`](Self::forced) on the device of these points.
    pub(crate) fn forced_with(&self, kernel: Shape, views: &Views) -> Packed {
        let (Place::Gpu(_), Some(gpu)) = (&self.place, self.device.gpu_for(views.len())) else {
            let packed = Packed::forced(kernel, views, self.precision());
            return if let Place::Gpu(_) = self.place { packed.with_device(&self.device) } else { packed };
        };
        let points = views.points().expect("views are finite");
        let coordinates = Arc::new(Coordinates::new(kernel, points.view()));
        let place = Place::Gpu(gpu.pack_in(&coordinates, &points, self.precision()));
        Packed { device: self.device.clone(), place }
    }

    /// Packs these points again, on the same device, in f32 if asked for and safe.
    pub(crate) fn again(&self, kernel: &Kernel, points: &Points, precision: Precision) -> Packed {
        match &self.place {
            Place::Gpu(_) => Packed::on(&self.device, kernel, points, precision),
            _ => Packed::new(kernel, points, precision),
        }
    }

    /// Some of these points, packed on the CPU.
    pub(crate) fn of_some(&self, points: &Points) -> Packed {
        if let Place::Table(table) = &self.place {
            return Packed::of_table(table.select(points));
        }
        let (coordinates, precision) = (self.coordinates().clone(), self.precision());
        Packed {
            device: self.device.clone(),
            place: Place::Host(OnHost::in_coordinates(coordinates, points.view(), precision)),
        }
    }

    /// Some of these points, for means that are computed exactly like those of all.
    pub(crate) fn some_alike(&self, points: &Points) -> Packed {
        match &self.place {
            Place::Gpu(packed) => {
                Packed { device: self.device.clone(), place: Place::Gpu(packed.some(points)) }
            }
            _ => self.of_some(points),
        }
    }

    /// Empty packing, to which points are added one by one.
    pub(crate) fn none_beside(&self) -> Packed {
        if let Place::Table(table) = &self.place {
            return Packed::of_table(table.none());
        }
        let (coordinates, precision) = (self.coordinates().clone(), self.precision());
        let nothing = supersample_sum::Rows::new(&[], coordinates.centre().len());
        Packed::on_host(OnHost::in_coordinates(coordinates, nothing, precision))
    }

    /// Adds a point.
    pub(crate) fn push(&mut self, point: &[f64]) {
        match &mut self.place {
            Place::Host(packed) => packed.push(point),
            Place::Table(table) => table.push(point),
            Place::Gpu(_) => unreachable!("points that come one by one are on the host"),
        }
    }

    /// These points, as they have been rounded, for sums in f64.
    pub(crate) fn widened(&self) -> Packed {
        let place = match &self.place {
            Place::Host(packed) => Place::Host(packed.widened()),
            Place::Gpu(packed) => Place::Gpu(packed.widened()),
            Place::Table(table) => Place::Table(table.clone()),
        };
        Packed { device: self.device.clone(), place }
    }

    /// Whether they are on the CPU in single precision.
    pub(crate) fn is_single_on_host(&self) -> bool {
        matches!(&self.place, Place::Host(packed) if packed.precision() == Precision::Mixed)
    }

    /// The precision the points are packed in.
    pub(crate) fn precision(&self) -> Precision {
        match &self.place {
            Place::Host(packed) => packed.precision(),
            Place::Gpu(packed) => packed.precision(),
            Place::Table(_) => Precision::Double,
        }
    }

    pub(crate) fn coordinates(&self) -> &Arc<Coordinates> {
        match &self.place {
            Place::Host(packed) => packed.coordinates(),
            Place::Gpu(packed) => packed.coordinates(),
            Place::Table(_) => panic!("rows of a matrix have no coordinates"),
        }
    }

    /// Device for further points.
    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// Sets the device for further points.
    pub(crate) fn with_device(self, device: &Device) -> Packed {
        Packed { device: device.clone(), ..self }
    }

    /// The points as the CPU computes with them.
    ///
    /// # Panics
    /// If they are on the GPU (see [`gpu`](Self::gpu)) or rows of a matrix.
    pub(crate) fn host(&self) -> &OnHost {
        match &self.place {
            Place::Host(packed) => packed,
            Place::Gpu(_) => panic!("kernel rows on the CPU of points that are on the GPU"),
            Place::Table(_) => panic!("coordinates of rows of a matrix"),
        }
    }

    /// No kernel rows over these points yet.
    pub(crate) fn no_rows(&self) -> KernelRows {
        match &self.place {
            Place::Table(table) => table.no_rows(),
            _ => self.host().no_rows(),
        }
    }

    /// Bytes that a kernel row takes.
    pub(crate) fn row_bytes(&self) -> usize {
        match &self.place {
            Place::Table(table) => table.len() * size_of::<f64>(),
            _ => self.host().row_bytes(),
        }
    }

    /// Writes the kernel row of `y`, with these terms added.
    pub(crate) fn fill_row(&self, y: &[f64], terms: &[Term<'_>], row: &mut KernelRowMut<'_>) {
        match &self.place {
            Place::Table(table) => {
                table.fill_row(y, row);
                row.add(terms);
            }
            _ => self.host().fill_row(y, terms, row),
        }
    }

    /// Adds `weight`·k(xᵢ, y) to `sums[i]`.
    pub(crate) fn add_row(&self, y: &[f64], weight: f64, sums: &mut [f64]) {
        match &self.place {
            Place::Table(table) => table.add_row(y, weight, sums),
            _ => self.host().add_row(y, weight, sums),
        }
    }

    /// [`add_row`](Self::add_row), and the largest score afterwards.
    pub(crate) fn add_row_and_argmax(
        &self,
        y: &[f64],
        weight: f64,
        sums: &mut [f64],
        scores: Scores<'_>,
    ) -> Option<(usize, f64)> {
        match &self.place {
            Place::Table(table) => table.add_row_and_argmax(y, weight, sums, scores),
            _ => self.host().add_row_and_argmax(y, weight, sums, scores),
        }
    }

    /// [`fill_row`](Self::fill_row), then `weight` times the row added to `sums`, and the largest score afterwards.
    pub(crate) fn keep_row_and_argmax(
        &self,
        y: &[f64],
        terms: &[Term<'_>],
        row: &mut KernelRowMut<'_>,
        weight: f64,
        sums: &mut [f64],
        scores: Scores<'_>,
    ) -> Option<(usize, f64)> {
        match &self.place {
            Place::Table(_) => {
                self.fill_row(y, terms, row);
                row.as_row().add_to(weight, sums);
                scores.argmax(sums)
            }
            _ => self.host().keep_row_and_argmax(y, terms, row, weight, sums, scores),
        }
    }

    /// Σᵢ k(xᵢ, y) over all points x.
    pub(crate) fn row_sum(&self, y: &[f64]) -> f64 {
        match &self.place {
            Place::Table(table) => table.row(y).iter().sum(),
            _ => self.host().row_sum(y),
        }
    }

    /// The points on the GPU, if they are there.
    pub(crate) fn gpu(&self) -> Option<&dyn Packing> {
        match &self.place {
            Place::Gpu(packed) => Some(&**packed),
            _ => None,
        }
    }

    /// The mean of the kernel rows of the points at the points, watched; after a break `out` is undefined.
    pub(crate) fn own_mean_watched(
        &self,
        weights: Option<&[f64]>,
        out: &mut [f64],
        watch: Option<Watch>,
    ) -> ControlFlow<()> {
        let pairs = |done, total| {
            watch.map_or(ControlFlow::Continue(()), |watch| watch(Progress::Embedding { done, total }))
        };
        let pairs: Option<supersample_sum::Watch> = if watch.is_some() { Some(&pairs) } else { None };
        match &self.place {
            Place::Host(packed) => packed.own_mean_watched(weights, out, pairs),
            Place::Gpu(packed) => packed.own_mean(weights, out, pairs),
            Place::Table(table) => {
                table.mean_at(table, weights, out);
                ControlFlow::Continue(())
            }
        }
    }

    /// `out[i]` = Σⱼ wⱼ k(xᵢ, xⱼ) over the points themselves.
    pub(crate) fn own_mean_into(&self, weights: Option<&[f64]>, out: &mut [f64]) {
        let _ = self.own_mean_watched(weights, out, None);
    }

    /// `out[i]` = Σⱼ wⱼ k(xᵢ, yⱼ) over the samples y, with equal weights 1/n if none are given. On the GPU if one of
    /// the two is there; the other is then sent there.
    pub(crate) fn mean_into(&self, samples: &Packed, weights: Option<&[f64]>, out: &mut [f64]) {
        let _ = self.mean_watched(samples, weights, out, &|_, _| ControlFlow::Continue(()));
    }

    /// [`mean_into`](Self::mean_into), watched by pairs on the GPU; after a break `out` is undefined.
    pub(crate) fn mean_watched(
        &self,
        samples: &Packed,
        weights: Option<&[f64]>,
        out: &mut [f64],
        watch: supersample_sum::Watch,
    ) -> ControlFlow<()> {
        let gpu = match (&self.place, &samples.place) {
            (Place::Host(at), Place::Host(samples)) => {
                at.mean_into(samples, weights, out);
                return ControlFlow::Continue(());
            }
            (Place::Table(at), Place::Table(samples)) => {
                samples.mean_at(at, weights, out);
                return ControlFlow::Continue(());
            }
            (Place::Gpu(packed), _) | (_, Place::Gpu(packed)) => packed,
            _ => panic!("means between points and rows of a matrix"),
        };
        assert!(self.coordinates() == samples.coordinates(), "points packed in different coordinates");
        assert_eq!(self.precision(), samples.precision(), "points packed in different precisions");
        gpu.mean((self.side(), samples.side()), weights, out, Some(watch))
    }

    fn side(&self) -> Side<'_> {
        match &self.place {
            Place::Gpu(packed) => Side::There(&**packed),
            _ => {
                let (packed, dim) = (self.host(), self.coordinates().centre().len());
                Side::Here(Points::from_vec(packed.rounded(), dim).expect("packed points are finite"))
            }
        }
    }
}

/// k(xₛ, xₜ) for all pairs of points in f64, row by row.
pub(crate) fn kernel_matrix(kernel: &Kernel, points: &Points) -> Vec<f64> {
    let count = points.len();
    let mut values = vec![0.0; count * count];
    let packed = Packed::new(kernel, points, Precision::Double);
    let rows = values.par_chunks_mut(count).zip(points.as_slice().par_chunks(points.dim()));
    rows.for_each(|(row, y)| packed.host().add_row(y, 1.0, row));
    values
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
    supersample_sum::add_gradient_into(kernel.shape(), x, rows, weights, scale, gradient)
}
