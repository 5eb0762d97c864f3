//! Weights, and the unit of fixed-point sums from the largest possible total.

use cudarc::driver::CudaSlice;
use supersample_sum::{Coordinates, Distance, Rows, Shape};

use crate::device::Device;
use crate::error::Result;
use crate::points::TILE;

/// One weight for each point, at most 1 after division by [`unit_of`](Weights::unit_of), in the precision of the points.
pub(crate) enum Weights {
    Mixed(CudaSlice<f32>),
    Double(CudaSlice<f64>),
}

impl Weights {
    /// Power of two that is at least the largest weight. Dividing by it does not round.
    pub(crate) fn unit_of(weights: Option<&[f64]>) -> f64 {
        let largest = weights.unwrap_or(&[1.0]).iter().fold(0.0, |a: f64, w| a.max(w.abs()));
        if largest > 0.0 { largest.log2().ceil().exp2() } else { 1.0 }
    }

    /// Weights of some of the points, or ones; zeros for the places that hold no point.
    pub(crate) fn new(
        device: &Device,
        weights: Option<&[f64]>,
        unit: f64,
        len: usize,
        mixed: bool,
    ) -> Result<Weights> {
        let weight = |i: usize| if i < len { weights.map_or(1.0, |weights| weights[i] / unit) } else { 0.0 };
        let padded = 0..len.next_multiple_of(TILE);
        Ok(if mixed {
            Weights::Mixed(device.upload(&padded.map(|i| weight(i) as f32).collect::<Vec<_>>())?)
        } else {
            Weights::Double(device.upload(&padded.map(weight).collect::<Vec<_>>())?)
        })
    }
}

/// The power of two by which sums over `len` points of weight at most 1 are multiplied, so that all stay below 2⁶². The reaches
/// are those of the two sides.
pub(crate) fn scale(coordinates: &Coordinates, reaches: [f64; 2], len: usize) -> f64 {
    let largest = match coordinates.kernel() {
        Shape::Linear => reaches[0] * reaches[1],
        Shape::Energy | Shape::Manhattan { .. } => reaches[0] + reaches[1],
        other => values_a_pair(other),
    };
    let bits = (len.max(1) as f64 * largest.max(f64::MIN_POSITIVE)).log2().ceil();
    (61.0 - bits).exp2()
}

/// Number of values added for each pair: for several Gaussians their sum is added, and divided at the end.
pub(crate) fn values_a_pair(shape: &Shape) -> f64 {
    match shape {
        Shape::Gaussians { lengths } => lengths.len() as f64,
        _ => 1.0,
    }
}

/// Largest distance of the points from the centre, if the size of a kernel value depends on it.
pub(crate) fn reach(coordinates: &Coordinates, points: Rows<'_>) -> f64 {
    let kernel = coordinates.kernel();
    if !matches!(kernel, Shape::Linear | Shape::Energy | Shape::Manhattan { .. }) {
        return 0.0;
    }
    let centre = coordinates.centre();
    let distance = |row: &[f64]| match kernel.distance() {
        Distance::Manhattan => Distance::Manhattan.between(row, centre),
        _ => Distance::SquaredEuclidean.between(row, centre).sqrt(),
    };
    points.iter().map(distance).fold(0.0, f64::max) * coordinates.unit()
}
