//! Panels: points as the inner loops need them: centred, in units of the kernel, sixteen points side by side.

use rayon::prelude::*;

use crate::lanes::Lane;
use crate::profile::unit;
use crate::rows::Rows;
use crate::shape::{Distance, Shape};

/// Points in a panel: a whole vector of f32 on the widest instruction set, several on narrower ones.
pub(crate) const WIDTH: usize = 16;

/// Rows processed by one thread; more are shared between threads, in an order that does not depend on their number.
const ROWS_A_THREAD: usize = 1 << 17;

/// Numbers that one thread packs alone.
const PACKED_ALONE: usize = 1 << 16;

/// Largest error of a kernel value in f32 under [`Precision::Mixed`](crate::Precision::Mixed); above it f64 is used.
const TOLERATED: f64 = 1e-5;

/// Coordinates of packed points: (x − centre)·unit, in the unit of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Coordinates {
    kernel: Shape,
    centre: Vec<f64>,
    unit: f64,
    /// Whether distances in f32 are computed by products.
    by_products: bool,
}

impl Coordinates {
    /// The coordinates for points under a kernel: centred on their mean, because digits spent on a common offset are lost.
    pub fn new(kernel: Shape, points: Rows<'_>) -> Coordinates {
        let mut centre = vec![0.0; points.dim()];
        // The linear kernel and the Stein kernels depend on the origin.
        if kernel.distance() != Distance::Dot {
            let parts: Vec<Vec<f64>> = in_parts(points).map(|rows| mean_part(rows, points.len())).collect();
            parts.iter().for_each(|part| centre.iter_mut().zip(part).for_each(|(c, part)| *c += part));
        }
        Coordinates { unit: unit(&kernel), kernel, centre, by_products: false }
    }

    /// These coordinates, with squared distances in f32 as ‖x‖² + ‖y‖² − 2x·y.
    pub(crate) fn by_products(self) -> Coordinates {
        Coordinates { by_products: true, ..self }
    }

    /// Whether distances in f32 are computed by products.
    pub fn are_by_products(&self) -> bool {
        self.by_products
    }

    pub(crate) fn dim(&self) -> usize {
        self.centre.len()
    }

    /// The kernel whose unit it is.
    pub fn kernel(&self) -> &Shape {
        &self.kernel
    }

    /// The centre of the coordinates.
    pub fn centre(&self) -> &[f64] {
        &self.centre
    }

    /// The factor by which coordinates are multiplied.
    pub fn unit(&self) -> f64 {
        self.unit
    }

    /// Whether kernel values of these points may be computed in f32: none is off by more than 1e-5.
    pub fn allow_mixed(&self, points: Rows<'_>) -> bool {
        self.mixed_error(points) <= TOLERATED
    }

    /// Whether distances to these weighted points may come from products in f32, and are faster: no mean of kernel values over
    /// them, at any point, is off by more than 1e-5.
    pub fn allow_products(&self, points: Rows<'_>, weights: Option<&[f64]>) -> bool {
        let is_faster = matches!(self.kernel, Shape::Gaussian { .. }) && self.dim() >= PRODUCTS_FROM;
        is_faster && self.product_error(points, weights) <= TOLERATED
    }

    /// Original number of a packed coordinate.
    fn unpacked<T: Lane>(&self, column: usize, coordinate: T) -> f64 {
        coordinate.to_f64() / self.unit + self.centre[column]
    }

    /// A bound on the error of a kernel value computed in f32, from how far the points lie from the centre.
    ///
    /// Rounding moves a point at distance R by at most R·u, u = 2⁻²⁴, and so the distance s of a pair by 2Ru; summing d
    /// coordinates in blocks costs another (block + d/block + 3)·u·s in the exponent. With |∂k/∂s| ≤ 1 in the units of
    /// the kernel and s·k(s) ≤ 1/(e·ln 2) for the exponential kernels, the two add up to the bound; the exponential
    /// itself adds 2.5e-7. For a plain distance, s ≤ 2R replaces s·k(s).
    pub(crate) fn mixed_error(&self, points: Rows<'_>) -> f64 {
        let kernel = &self.kernel;
        if kernel.is_double_only() || matches!(kernel, Shape::Linear) {
            return f64::INFINITY; // not bounded, so not safe
        }
        let origin = &self.centre;
        let from_origin = |x: &[f64]| match kernel.distance() {
            Distance::Manhattan => Distance::Manhattan.between(x, origin),
            _ => Distance::SquaredEuclidean.between(x, origin).sqrt(),
        };
        let radius = in_parts(points).map(|rows| rows.iter().map(from_origin).fold(0.0, f64::max));
        let radius = radius.reduce(|| 0.0, f64::max) * self.unit;
        // For several lengths the unit is that of the first; the shortest enlarges the errors.
        let enlarged = match kernel {
            Shape::Gaussians { lengths } => {
                lengths[0] / lengths.iter().copied().fold(f64::INFINITY, f64::min)
            }
            _ => 1.0,
        };
        let dim = points.dim() as f64;
        let additions = dim.min(COORDINATE_BLOCK as f64) + dim / COORDINATE_BLOCK as f64 + 3.0;
        let dampened = if matches!(kernel, Shape::Manhattan { .. }) { 2.0 * radius } else { 0.54 };
        0.5 * f64::from(f32::EPSILON) * (2.0 * radius * enlarged + dampened * additions) + 2.5e-7
    }
}

impl Coordinates {
    /// A bound on what products add to the error of a mean of Gaussian kernel values over weighted points, at any point.
    ///
    /// Of a pair at distances R and r from the centre, the product is a sum of d terms, each rounded a times at most: off by
    /// a·u·R·r, and twice that in the exponent. The norms are rounded to f32 and added: 2u·(R² + r²). The kernel changes by
    /// ln 2·k for each unit of the exponent, and k ≤ 2^(−(R−r)²), since two points are no nearer to each other than their
    /// distances from the centre. So R·k ≤ r + 0.515 and R²·k ≤ r² + 1.03·r + 0.531, for any R, and the error of a pair is
    /// at most ln 2·u·(2a·r·(r + 0.515) + 4r² + 2.06·r + 1.07). Its mean over the points needs only their mean squared
    /// distance from the centre: a few far points do no harm.
    pub(crate) fn product_error(&self, points: Rows<'_>, weights: Option<&[f64]>) -> f64 {
        let square = |x: &[f64]| -> f64 {
            x.iter().zip(&self.centre).map(|(x, c)| ((x - c) * self.unit).powi(2)).sum()
        };
        let part = |(i, rows): (usize, Rows<'_>)| -> (f64, f64) {
            let weight = |row: usize| weights.map_or(1.0, |weights| weights[i * ROWS_A_THREAD + row]);
            let pairs = rows.iter().enumerate().map(|(row, x)| (weight(row), square(x)));
            pairs.fold((0.0, 0.0), |(all, sum), (weight, square)| (all + weight, sum + weight * square))
        };
        let parts: Vec<(f64, f64)> = in_parts(points).enumerate().map(part).collect();
        let (all, sum) = parts.iter().fold((0.0, 0.0), |(a, b), (c, d)| (a + c, b + d));
        let mean = sum / all;
        let dim = self.dim() as f64;
        let additions = dim.min(COORDINATE_BLOCK as f64) + (dim / COORDINATE_BLOCK as f64).floor();
        let exponent =
            2.0 * additions * (mean + 0.515 * mean.sqrt()) + 4.0 * mean + 2.06 * mean.sqrt() + 1.07;
        0.5 * f64::from(f32::EPSILON) * std::f64::consts::LN_2 * exponent
    }
}

/// Points in parts of a fixed size, for several threads.
fn in_parts(points: Rows<'_>) -> impl IndexedParallelIterator<Item = Rows<'_>> {
    let dim = points.dim();
    points.as_slice().par_chunks(ROWS_A_THREAD * dim).map(move |rows| Rows::new(rows, dim))
}

/// Contribution of these points to the mean of `total`.
fn mean_part(points: Rows<'_>, total: usize) -> Vec<f64> {
    let mut sums = vec![0.0; points.dim()];
    for row in points.iter() {
        // Divided before they are summed, so that huge coordinates do not overflow.
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x / total as f64);
    }
    sums
}

/// Columns from which products are faster than differences.
const PRODUCTS_FROM: usize = 16;

/// Coordinates summed at once; longer sums are made of blocks, for less rounding.
pub(crate) const COORDINATE_BLOCK: usize = 128;

/// Points in panels of [`WIDTH`], coordinate by coordinate: `[panel][column][point in panel]`. The last panel is filled
/// up with copies of the centre, whose kernel values are finite and are masked out.
#[derive(Clone, Debug)]
pub(crate) struct Panels<T> {
    pub(crate) data: Vec<T>,
    pub(crate) len: usize,
    /// Columns, with that of the norms.
    pub(crate) dim: usize,
    /// Whether the last column is minus the squared norm of each point, as it has been rounded.
    pub(crate) has_norms: bool,
}

impl<T: Lane> Panels<T> {
    pub(crate) fn new(points: Rows<'_>, coordinates: &Coordinates) -> Panels<T> {
        let has_norms = coordinates.by_products && size_of::<T>() == size_of::<f32>();
        let (len, dim) = (points.len(), points.dim() + usize::from(has_norms));
        let mut data = vec![T::ZERO; len.div_ceil(WIDTH) * WIDTH * dim];
        let panels = data.par_chunks_exact_mut(WIDTH * dim);
        let panels = panels.zip(points.as_slice().par_chunks(WIDTH * points.dim()));
        panels.with_min_len(PACKED_ALONE.div_ceil(WIDTH * dim)).for_each(|(panel, rows)| {
            for (i, row) in rows.chunks_exact(points.dim()).enumerate() {
                put_point(row, coordinates, &mut panel[i..], WIDTH, has_norms);
            }
        });
        Panels { data, len, dim, has_norms }
    }

    /// The numbers of a point that meets these.
    pub(crate) fn point(&self, x: &[f64], coordinates: &Coordinates) -> Vec<T> {
        let mut numbers = vec![T::ZERO; self.dim];
        put_point(x, coordinates, &mut numbers, 1, self.has_norms);
        numbers
    }

    /// The points, row by row, in the units that they had before they were packed.
    pub(crate) fn unpacked(&self, coordinates: &Coordinates) -> Vec<f64> {
        let place =
            |i: usize, column: usize| self.data[i / WIDTH * WIDTH * self.dim + column * WIDTH + i % WIDTH];
        let columns = coordinates.dim();
        let row = |i: usize| (0..columns).map(move |column| coordinates.unpacked(column, place(i, column)));
        (0..self.len).flat_map(row).collect()
    }

    /// One more point at the end.
    pub(crate) fn push(&mut self, point: &[f64], coordinates: &Coordinates) {
        let (panel, place) = (self.len / WIDTH, self.len % WIDTH);
        self.data.resize((panel + 1) * WIDTH * self.dim, T::ZERO);
        let start = panel * WIDTH * self.dim + place;
        put_point(point, coordinates, &mut self.data[start..], WIDTH, self.has_norms);
        self.len += 1;
    }

    /// The panels that hold points `start` up to `end`, where `start` begins a panel.
    pub(crate) fn range(&self, start: usize, end: usize) -> &[T] {
        debug_assert!(start.is_multiple_of(WIDTH));
        &self.data[start * self.dim..end.next_multiple_of(WIDTH) * self.dim]
    }

    /// One weight for each place in the panels, 1 without any, 0 in the places that hold no point.
    pub(crate) fn padded_weights(&self, weights: Option<&[f64]>) -> Vec<T> {
        let mut padded = match weights {
            Some(weights) => weights.iter().map(|&w| T::from_f64(w)).collect(),
            None => vec![T::ONE; self.len],
        };
        padded.resize(self.len.next_multiple_of(WIDTH), T::ZERO);
        padded
    }
}

impl Panels<f32> {
    pub(crate) fn widened(&self) -> Panels<f64> {
        let dim = self.dim - usize::from(self.has_norms);
        let panels = self.data.chunks_exact(WIDTH * self.dim);
        let data = panels.flat_map(|panel| &panel[..WIDTH * dim]).map(|&x| f64::from(x)).collect();
        Panels { data, len: self.len, dim, has_norms: false }
    }
}

/// Writes the coordinates of a point `stride` places apart, and minus their squared norm if asked for.
fn put_point<T: Lane>(x: &[f64], coordinates: &Coordinates, to: &mut [T], stride: usize, has_norm: bool) {
    let coordinate =
        |x: f64, centre: f64| T::from_f64(((x - centre) * coordinates.unit).clamp(-T::FAR, T::FAR));
    let pairs = x.iter().zip(&coordinates.centre);
    // The same numbers either way; without a stride the compiler takes several at once.
    if stride == 1 {
        to.iter_mut().zip(pairs).for_each(|(to, (x, centre))| *to = coordinate(*x, *centre));
    } else {
        to.iter_mut().step_by(stride).zip(pairs).for_each(|(to, (x, centre))| *to = coordinate(*x, *centre));
    }
    if has_norm {
        let written = to.iter().step_by(stride).take(x.len());
        let norm: f64 = written.map(|coordinate| coordinate.to_f64() * coordinate.to_f64()).sum();
        to[x.len() * stride] = T::from_f64(-norm);
    }
}
