//! Means of kernel rows: the tiles of a launch, and points larger than the memory in parts.

use std::ops::ControlFlow;
use std::sync::Arc;

use cudarc::driver::CudaSlice;
use supersample_sum::{Rows, Shape, Watch};

use crate::device::Device;
use crate::error::{Error, Result};
use crate::launch::Arg;
use crate::points::{Halves, Plan, Points, TILE};
use crate::products;
use crate::weights::{Weights, reach, scale, values_a_pair};

/// Tiles of columns that a block goes through, as in `differences.cuh`.
const CHUNK_TILES: usize = 64;

/// The work of a launch, in pairs times (8 + coordinates): at most a few tenths of a second.
const LAUNCH: u64 = 1 << 40;

/// Points in a part at most, so that no launch has more chunks than a grid may.
const LONGEST_PART: usize = 1 << 27;

/// Σⱼ wⱼ k(xᵢ, yⱼ) at every point x, on the device.
pub struct Mean {
    device: Device,
    len: usize,
    values: CudaSlice<f64>,
}

impl Mean {
    /// Copies the values to `out`.
    ///
    /// # Panics
    /// If there are not as many.
    pub fn read_into(&self, out: &mut [f64]) -> Result<()> {
        assert_eq!(out.len(), self.len);
        Ok(self.device.stream().memcpy_dtoh(&self.values.slice(..self.len), out)?)
    }

    /// The values.
    pub fn to_vec(&self) -> Result<Vec<f64>> {
        let mut values = vec![0.0; self.len];
        self.read_into(&mut values)?;
        Ok(values)
    }
}

impl Points {
    /// Σⱼ wⱼ k(xᵢ, xⱼ) over the points themselves, each pair visited once; equal weights 1/n if none are given.
    /// `Break` if `watch` breaks.
    pub fn own_mean(
        &self,
        weights: Option<&[f64]>,
        watch: Option<Watch<'_>>,
    ) -> Result<ControlFlow<(), Mean>> {
        let unit = Weights::unit_of(weights);
        let scale = scale(self.coordinates(), [self.reach(); 2], self.len());
        let mut progress = Progress::new(watch, triangle(self.len()));
        let totals = Totals::new(self.device(), self.len(), self.is_mixed(), scale)?;
        let side = Side::new(self, weights, unit, true)?;
        if accumulate(&side, &side, true, totals.at(0), Some(totals.at(0)), &totals, &mut progress)?
            .is_break()
        {
            return Ok(ControlFlow::Break(()));
        }
        Ok(ControlFlow::Continue(totals.mean(self.shape(), weights.map(|_| unit), self.len())?))
    }

    /// Σⱼ wⱼ k(xᵢ, yⱼ) at every point x over the samples y, with equal weights 1/n if none are given. Always by
    /// differences: projections and errors must not have the bias of products.
    ///
    /// # Panics
    /// If the two were not packed in equal coordinates, under one kernel, and in one precision.
    pub fn mean_over(
        &self,
        samples: &Points,
        weights: Option<&[f64]>,
        watch: Option<Watch<'_>>,
    ) -> Result<ControlFlow<(), Mean>> {
        assert!(self.coordinates() == samples.coordinates(), "points packed in different coordinates");
        assert_eq!(self.precision(), samples.precision(), "points packed in different precisions");
        let unit = Weights::unit_of(weights);
        let scale = scale(self.coordinates(), [self.reach(), samples.reach()], samples.len());
        let mut progress = Progress::new(watch, (self.len() * samples.len()) as u64);
        let totals = Totals::new(self.device(), self.len(), self.is_mixed(), scale)?;
        let (at, samples_side) =
            (Side::new(self, None, 1.0, false)?, Side::new(samples, weights, unit, false)?);
        if accumulate(&at, &samples_side, false, totals.at(0), None, &totals, &mut progress)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        Ok(ControlFlow::Continue(totals.mean(self.shape(), weights.map(|_| unit), samples.len())?))
    }
}

impl Device {
    /// `out[i]` = Σⱼ wⱼ k(xᵢ, xⱼ) over the points themselves, each pair visited once, in as many parts as the memory of the
    /// device asks for; other parts may change the last bits of an f32. After a break of `watch` `out` means nothing.
    pub fn own_mean(
        &self,
        plan: &Plan,
        points: Rows<'_>,
        weights: Option<&[f64]>,
        out: &mut [f64],
        watch: Option<Watch<'_>>,
    ) -> Result<ControlFlow<()>> {
        let unit = Weights::unit_of(weights);
        let scale = scale(&plan.coordinates, [reach(&plan.coordinates, points); 2], points.len());
        let mut progress = Progress::new(watch, triangle(points.len()));
        let totals = Totals::new(self, points.len(), plan.mixed, scale)?;
        let part = self.part(plan, points.len())?;
        let parts = points.len().div_ceil(part);
        for a in 0..parts {
            let rows = PackedPart::new(self, plan, points, weights, unit, a, part)?;
            let rows = rows.side()?;
            let at_rows = totals.at(a * part);
            let own = accumulate(&rows, &rows, true, at_rows, Some(at_rows), &totals, &mut progress)?;
            if own.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            for b in a + 1..parts {
                let columns = PackedPart::new(self, plan, points, weights, unit, b, part)?;
                let at_columns = Some(totals.at(b * part));
                let sides = (&rows, &columns.side()?);
                let both = accumulate(sides.0, sides.1, false, at_rows, at_columns, &totals, &mut progress)?;
                if both.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        totals.mean(plan.coordinates.kernel(), weights.map(|_| unit), points.len())?.read_into(out)?;
        Ok(ControlFlow::Continue(()))
    }

    /// `out[i]` = Σⱼ wⱼ k(xᵢ, yⱼ) at the points x over the samples y, in as many parts as the memory of the device asks for.
    /// After a break of `watch` `out` means nothing.
    pub fn mean(
        &self,
        plan: &Plan,
        at: Rows<'_>,
        samples: Rows<'_>,
        weights: Option<&[f64]>,
        out: &mut [f64],
        watch: Option<Watch<'_>>,
    ) -> Result<ControlFlow<()>> {
        let plan = &Plan { products: false, ..plan.clone() };
        let unit = Weights::unit_of(weights);
        let reaches = [at, samples].map(|rows| reach(&plan.coordinates, rows));
        let scale = scale(&plan.coordinates, reaches, samples.len());
        let mut progress = Progress::new(watch, (at.len() * samples.len()) as u64);
        let totals = Totals::new(self, at.len(), plan.mixed, scale)?;
        let part = self.part(plan, at.len().max(samples.len()))?;
        for a in 0..at.len().div_ceil(part) {
            let rows = PackedPart::new(self, plan, at, None, 1.0, a, part)?;
            let rows = rows.side()?;
            for b in 0..samples.len().div_ceil(part) {
                let columns = PackedPart::new(self, plan, samples, weights, unit, b, part)?;
                let at_rows = totals.at(a * part);
                let columns = columns.side()?;
                if accumulate(&rows, &columns, false, at_rows, None, &totals, &mut progress)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        totals.mean(plan.coordinates.kernel(), weights.map(|_| unit), samples.len())?.read_into(out)?;
        Ok(ControlFlow::Continue(()))
    }

    /// Points in a part: two parts with their weights fit into the free memory.
    fn part(&self, plan: &Plan, len: usize) -> Result<usize> {
        let free = self.free_memory()?;
        let bytes = plan.bytes_per_point() + 16;
        if len * bytes <= free && len <= LONGEST_PART {
            return Ok(len.max(1).next_multiple_of(TILE));
        }
        let part = (free / (2 * bytes) / TILE * TILE).min(LONGEST_PART);
        if part == 0 {
            return Err(Error::OutOfMemory { wanted: 2 * TILE * bytes, free });
        }
        Ok(part)
    }
}

fn triangle(n: usize) -> u64 {
    n as u64 * (n as u64 + 1) / 2
}

/// Some of the points of a long array, with their weights.
struct PackedPart<'a> {
    points: Points,
    weights: Option<&'a [f64]>,
    unit: f64,
}

impl<'a> PackedPart<'a> {
    fn new(
        device: &Device,
        plan: &Plan,
        points: Rows<'_>,
        weights: Option<&'a [f64]>,
        unit: f64,
        index: usize,
        part: usize,
    ) -> Result<PackedPart<'a>> {
        let range = index * part..points.len().min((index + 1) * part);
        let (dim, weights) = (points.dim(), weights.map(|weights| &weights[range.clone()]));
        let rows = Rows::new(&points.as_slice()[range.start * dim..range.end * dim], dim);
        Ok(PackedPart { points: Points::planned(device, plan, rows)?, weights, unit })
    }

    fn side(&self) -> Result<Side<'_>> {
        Side::new(&self.points, self.weights, self.unit, true)
    }
}

/// One side of the pairs: points, and what each counts.
struct Side<'a> {
    points: &'a Points,
    weights: Arc<Weights>,
    /// The points as products want them, where squared distances come from these.
    halves: Option<Halves>,
    /// For products of a Gaussian: 2^(−|x|²/2) of each point, and that times its weight.
    gaussian: Option<(CudaSlice<f32>, CudaSlice<f32>)>,
}

impl<'a> Side<'a> {
    fn new(
        points: &'a Points,
        weights: Option<&[f64]>,
        unit: f64,
        may_use_products: bool,
    ) -> Result<Side<'a>> {
        let (device, padded) = (points.device(), points.padded());
        let weights = points.weights(weights, unit)?;
        let halves = if may_use_products { points.halves()? } else { None };
        let gaussian = match (&halves, points.shape(), &*weights) {
            (Some(halves), Shape::Gaussian { .. }, Weights::Mixed(weights)) => {
                let (factor, weight) = (device.zeros(padded)?, device.zeros(padded)?);
                let args = [
                    device.at(&halves.norms, 0),
                    device.at(weights, 0),
                    Arg::long(padded),
                    device.at(&factor, 0),
                    device.at(&weight, 0),
                ];
                device.launch(&device.common("gaussian_factors")?, Device::blocks_for(padded), 0, &args)?;
                Some((factor, weight))
            }
            _ => None,
        };
        Ok(Side { points, weights, halves, gaussian })
    }

    fn weights(&self) -> Arg {
        match &*self.weights {
            Weights::Mixed(values) => self.points.device().at(values, 0),
            Weights::Double(values) => self.points.device().at(values, 0),
        }
    }

    /// high, low, weight, factor, as `product_sums` wants them.
    fn halves(&self) -> Option<[Arg; 4]> {
        let (halves, device) = (self.halves.as_ref()?, self.points.device());
        let (factor, weight) = match &self.gaussian {
            Some((factor, weight)) => (device.at(factor, 0), device.at(weight, 0)),
            None => (device.at(&halves.norms, 0), self.weights()),
        };
        Some([device.at(&halves.high, 0), device.at(&halves.low, 0), weight, factor])
    }
}

/// Fixed-point sums, one for each point of a whole array.
struct Totals {
    device: Device,
    limbs: CudaSlice<u64>,
    len: usize,
    stride: usize,
    two_limbs: bool,
    scale: f64,
}

impl Totals {
    fn new(device: &Device, len: usize, mixed: bool, scale: f64) -> Result<Totals> {
        // A tile of the last part may reach beyond the points.
        let stride = len.next_multiple_of(TILE) + TILE;
        let limbs = device.zeros(if mixed { stride } else { 2 * stride })?;
        Ok(Totals { device: device.clone(), limbs, len, stride, two_limbs: !mixed, scale })
    }

    fn at(&self, first: usize) -> Arg {
        self.device.at(&self.limbs, first)
    }

    /// The totals as means of a kernel: of weights in this unit, or over `over` points of equal weight.
    fn mean(self, shape: &Shape, weight_unit: Option<f64>, over: usize) -> Result<Mean> {
        let Totals { device, limbs, len, stride, two_limbs, scale } = self;
        let values = device.zeros(len.next_multiple_of(TILE))?;
        let args = [
            device.at(&limbs, 0),
            Arg::long(stride),
            Arg::Int(two_limbs.into()),
            Arg::long(len),
            Arg::Double(weight_unit.unwrap_or(1.0) / scale),
            Arg::Double(values_a_pair(shape) * if weight_unit.is_some() { 1.0 } else { over as f64 }),
            device.at(&values, 0),
        ];
        device.launch(&device.common("totals")?, Device::blocks_for(len), 0, &args)?;
        Ok(Mean { device, len, values })
    }
}

/// Pairs done, and the watch.
struct Progress<'a> {
    watch: Option<Watch<'a>>,
    done: u64,
    total: u64,
}

impl<'a> Progress<'a> {
    fn new(watch: Option<Watch<'a>>, total: u64) -> Progress<'a> {
        Progress { watch, done: 0, total }
    }

    /// Adds started pairs; with a watch, waits for them.
    fn add(&mut self, device: &Device, pairs: u64) -> Result<ControlFlow<()>> {
        let Some(watch) = self.watch else { return Ok(ControlFlow::Continue(())) };
        device.synchronize()?;
        self.done += pairs;
        Ok(watch(self.done, self.total))
    }
}

/// Adds the sums over the columns to the totals of the rows and, where there are totals for them, the other way round. Where
/// the two sides are the same points (`own`), each pair is visited once.
fn accumulate(
    rows: &Side<'_>,
    columns: &Side<'_>,
    own: bool,
    row_totals: Arg,
    column_totals: Option<Arg>,
    totals: &Totals,
    progress: &mut Progress<'_>,
) -> Result<ControlFlow<()>> {
    let (x, y) = (rows.points, columns.points);
    let (device, shape) = (x.device(), x.shape());
    if x.is_empty() || y.is_empty() {
        return Ok(ControlFlow::Continue(()));
    }
    let column_totals = column_totals.unwrap_or(Arg::NULL);
    let halves = rows.halves().zip(columns.halves()).zip(rows.halves.as_ref());
    let (function, tile, shared) = match &halves {
        Some((_, halves)) => {
            let (name, shared) = products::kernel(halves.width);
            let function = device.for_shape(shape, name)?;
            device.grant_shared(&function, shared)?;
            (function, TILE, shared)
        }
        None => {
            let name = match (x.is_mixed(), x.dim()) {
                (true, 1 | 2) => "few_coordinate_sums_2",
                (true, 3) => "few_coordinate_sums_3",
                (true, 4 | 5) => "few_coordinate_sums_5",
                (true, _) => "pair_sums_f32",
                (false, _) => "pair_sums_f64",
            };
            (device.for_shape(shape, name)?, if x.is_mixed() { TILE } else { TILE / 2 }, 0)
        }
    };
    let (x_tiles, y_tiles) = (x.len().div_ceil(tile), y.len().div_ceil(tile));
    let chunks = y_tiles.div_ceil(CHUNK_TILES);
    let per_pair = 8 + x.dim() as u64;
    let mut first = 0;
    while first < x_tiles {
        // As many tiles of rows as make a launch.
        let (mut end, mut work) = (first, 0);
        while end < x_tiles && (end == first || work < LAUNCH) {
            let tiles = if own { y_tiles - end } else { y_tiles };
            work += (tiles * tile * tile) as u64 * per_pair;
            end += 1;
        }
        let grid = ((end - first) as u32, chunks as u32);
        let [factors, factor_count] = x.factors();
        let tiles = [Arg::int(y_tiles), Arg::int(first), Arg::Int(own.into())];
        let scale = Arg::Double(totals.scale);
        match &halves {
            Some(((of_x, of_y), halves)) => {
                let args = [
                    &of_x[..],
                    of_y,
                    &[Arg::int(halves.width)],
                    &tiles,
                    &[row_totals, column_totals, scale, factors, factor_count],
                ];
                device.launch(&function, grid, shared, &args.concat())?;
            }
            None => {
                let stride = Arg::long(totals.stride);
                let args = [
                    &[x.pointer(0), Arg::long(x.padded()), rows.weights()][..],
                    &[y.pointer(0), Arg::long(y.padded()), columns.weights(), Arg::int(x.dim())],
                    &tiles,
                    &[row_totals, stride, column_totals, stride, scale, factors, factor_count],
                ];
                device.launch(&function, grid, shared, &args.concat())?;
            }
        }
        let rows_done = |tiles: usize| (tiles * tile).min(x.len()) as u64;
        let pairs = if own {
            let left = |tiles: usize| triangle(x.len() - rows_done(tiles) as usize);
            left(first) - left(end)
        } else {
            (rows_done(end) - rows_done(first)) * y.len() as u64
        };
        if progress.add(device, pairs)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        first = end;
    }
    Ok(ControlFlow::Continue(()))
}
