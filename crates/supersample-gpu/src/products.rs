//! Products: when squared distances may come from tensor cores.
//!
//! A coordinate is split into two halves of 11 bits, so a product is right to a few parts in 2²²; tensor cores add up
//! sixteen products at a time and cut off what is below the last bit of a float, three times for sixteen coordinates.
//! Both errors are fractions of |x|·|y| in the exponent. The differences of `differences.cuh` do not have them: they
//! are used if the points are spread too widely, and for kernels with a square root at distance zero, which would
//! magnify the errors.

use rayon::prelude::*;
use supersample_sum::{Coordinates, Rows, Shape};

/// Below this dimension differences are as fast.
const FROM_DIM: usize = 4;

/// The largest product of |x|, the root mean square of |y|, both in the unit of the kernel, and the number of steps. Two clusters are
/// the worst case, and μ was off by at most 2.4e-8 of this product there (tests/device/means.rs), so that 1e-6 is kept.
const WIDEST: f64 = 30.0;

/// Halves that a point takes, as the kernels want them: zeros behind its coordinates.
pub(crate) fn width(dim: usize) -> usize {
    match dim {
        0..=16 => 16,
        17..=32 => 32,
        33..=64 => 64,
        _ => dim.next_multiple_of(16),
    }
}

/// The kernel for this width, and the shared memory it takes: rows 2 · 128 · (64 + 8) halves and columns twice as many, or
/// both twice where they do not stay.
pub(crate) fn kernel(width: usize) -> (&'static str, u32) {
    let bytes = |sides: u32, columns: u32| sides * 2 * 128 * (columns + 8) * 2;
    match width {
        16 => ("product_sums_16", bytes(3, 16)),
        32 => ("product_sums_32", bytes(3, 32)),
        64 => ("product_sums_64", bytes(3, 64)),
        _ => ("product_sums_any", bytes(4, 64)),
    }
}

/// Whether the kernel is a smooth function of the squared distance.
fn is_smooth(shape: &Shape) -> bool {
    matches!(
        shape,
        Shape::Gaussian { .. }
            | Shape::Gaussians { .. }
            | Shape::Matern32 { .. }
            | Shape::Matern52 { .. }
            | Shape::Imq { .. }
    )
}

/// Whether products are precise enough for these points, and faster.
pub(crate) fn are_right(coordinates: &Coordinates, points: Rows<'_>) -> bool {
    let shape = coordinates.kernel();
    if !is_smooth(shape) || points.dim() < FROM_DIM || points.is_empty() {
        return false;
    }
    let (centre, unit) = (coordinates.centre(), coordinates.unit());
    let square = |row: &[f64]| row.iter().zip(centre).map(|(x, c)| ((x - c) * unit).powi(2)).sum::<f64>();
    let rows = points.as_slice().par_chunks(points.dim() * 4096);
    let parts = rows.map(|rows| {
        rows.chunks_exact(points.dim())
            .map(square)
            .fold((0.0, 0.0), |(a, b): (f64, f64), s| (a.max(s), b + s))
    });
    let parts: Vec<_> = parts.collect();
    let (largest, total) = parts.into_iter().fold((0.0, 0.0), |(a, b): (f64, f64), (s, t)| (a.max(s), b + t));
    // For several lengths the unit is that of the first; the shortest enlarges the errors.
    let enlarged = match shape {
        Shape::Gaussians { lengths } => {
            (lengths[0] / lengths.iter().copied().fold(f64::INFINITY, f64::min)).powi(2)
        }
        _ => 1.0,
    };
    let steps = 3.0 * (width(points.dim()) / 16) as f64;
    (largest * total / points.len() as f64).sqrt() * enlarged * steps <= WIDEST
}
