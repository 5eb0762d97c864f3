//! Points on the device: packed once, in f32 or f64.

use std::fmt;
use std::sync::{Arc, OnceLock};

use cudarc::driver::CudaSlice;
use rayon::prelude::*;
use supersample_sum::{Coordinates, Precision, Rows, Shape};

use crate::device::Device;
use crate::error::{Error, Result};
use crate::launch::Arg;
use crate::products;
use crate::weights::{Weights, reach};

/// Points are padded to a multiple of this, the tile of the widest kernel.
pub(crate) const TILE: usize = 128;

/// Coordinates are cut here when packed, as on the CPU, so that the square of a difference stays finite.
const FAR_MIXED: f64 = 1e15;
const FAR_DOUBLE: f64 = 1e150;

/// Numbers that go to the device at once, and those that go while others are made ready.
const UPLOAD: usize = 1 << 24;
const SENT: usize = 1 << 22;

/// Points on the device, packed for sums under one kernel. Clones share the packing.
#[derive(Clone)]
pub struct Points(Arc<Packing>);

struct Packing {
    device: Device,
    coordinates: Arc<Coordinates>,
    len: usize,
    reach: f64,
    lanes: Lanes,
    /// Weights of 1, once they have been asked for.
    ones: OnceLock<Arc<Weights>>,
    /// (ℓ₁/ℓᵢ)² of several Gaussians, in the precision of the lanes.
    factors: Factors,
}

/// `[column][point]`, zeros where there is no point.
pub(crate) enum Lanes {
    /// With whether products are right for squared distances between all of them.
    Mixed {
        x: CudaSlice<f32>,
        products: bool,
    },
    Double {
        x: CudaSlice<f64>,
    },
}

/// Each coordinate as a high and a low half, `[point][width]`, and |x|²/2 of each point.
pub(crate) struct Halves {
    pub(crate) width: usize,
    pub(crate) high: CudaSlice<u16>,
    pub(crate) low: CudaSlice<u16>,
    pub(crate) norms: CudaSlice<f32>,
}

enum Factors {
    None,
    Mixed(CudaSlice<f32>),
    Double(CudaSlice<f64>),
}

impl fmt::Debug for Points {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Points({} × {} on {:?})", self.len(), self.dim(), self.device())
    }
}

/// Plan of packing, fixed for all parts of the points before the first.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) coordinates: Arc<Coordinates>,
    pub(crate) mixed: bool,
    pub(crate) products: bool,
}

impl Plan {
    /// Plan with the points' own coordinates, f32 if asked for and safe, and products if these are precise enough.
    pub fn new(shape: Shape, points: Rows<'_>, precision: Precision) -> Plan {
        let coordinates = Arc::new(Coordinates::new(shape, points));
        let mixed = precision == Precision::Mixed && coordinates.allow_mixed(points);
        let products = mixed && products::are_right(&coordinates, points);
        Plan { coordinates, mixed, products }
    }

    /// These coordinates and exactly this precision, without products.
    pub fn forced(coordinates: Arc<Coordinates>, precision: Precision) -> Plan {
        Plan { coordinates, mixed: precision == Precision::Mixed, products: false }
    }

    /// Coordinates of the packed points.
    pub fn coordinates(&self) -> &Arc<Coordinates> {
        &self.coordinates
    }

    /// The precision that the points are packed in.
    pub fn precision(&self) -> Precision {
        if self.mixed { Precision::Mixed } else { Precision::Double }
    }

    /// Bytes that a point takes, and what is made of it for its mean.
    pub(crate) fn bytes_per_point(&self) -> usize {
        let dim = self.coordinates.centre().len();
        match (self.mixed, self.products) {
            (true, true) => 4 * dim + 4 * products::width(dim) + 4,
            (true, false) => 4 * dim,
            (false, _) => 8 * dim,
        }
    }
}

impl Points {
    /// Packs points in their own coordinates, in f32 if asked for and safe.
    pub fn new(device: &Device, shape: Shape, points: Rows<'_>, precision: Precision) -> Result<Points> {
        Points::planned(device, &Plan::new(shape, points, precision), points)
    }

    /// Packs other points in the coordinates and precision of these. `None` if they are spread too widely for the
    /// precision.
    pub fn beside(&self, points: Rows<'_>) -> Result<Option<Points>> {
        let plan = self.plan();
        if plan.mixed && !plan.coordinates.allow_mixed(points) {
            return Ok(None);
        }
        let products = plan.products && products::are_right(&plan.coordinates, points);
        Points::planned(self.device(), &Plan { products, ..plan }, points).map(Some)
    }

    /// Points packed by a plan.
    pub fn planned(device: &Device, plan: &Plan, points: Rows<'_>) -> Result<Points> {
        let (len, dim) = (points.len(), points.dim());
        let padded = len.next_multiple_of(TILE);
        let wanted = padded * plan.bytes_per_point();
        let free = device.free_memory()?;
        if wanted > free {
            return Err(Error::OutOfMemory { wanted, free });
        }
        let coordinates = plan.coordinates.clone();
        let lanes = if plan.mixed {
            let x = device.zeros::<f32>(padded * dim)?;
            pack_mixed(device, &coordinates, points, device.at(&x, 0))?;
            Lanes::Mixed { x, products: plan.products }
        } else {
            let x = device.zeros::<f64>(padded * dim)?;
            pack_double(device, &coordinates, points, device.at(&x, 0))?;
            Lanes::Double { x }
        };
        let reach = reach(&coordinates, points);
        Points::of_lanes(device, coordinates, len, reach, lanes)
    }

    fn of_lanes(
        device: &Device,
        coordinates: Arc<Coordinates>,
        len: usize,
        reach: f64,
        lanes: Lanes,
    ) -> Result<Points> {
        let factors = match coordinates.kernel() {
            Shape::Gaussians { lengths } => {
                let factors: Vec<f64> = lengths.iter().map(|l| (lengths[0] / l).powi(2)).collect();
                if matches!(lanes, Lanes::Mixed { .. }) {
                    let factors: Vec<f32> = factors.iter().map(|&factor| factor as f32).collect();
                    Factors::Mixed(device.upload(&factors)?)
                } else {
                    Factors::Double(device.upload(&factors)?)
                }
            }
            _ => Factors::None,
        };
        let (device, ones) = (device.clone(), OnceLock::new());
        Ok(Points(Arc::new(Packing { device, coordinates, len, reach, lanes, ones, factors })))
    }

    /// These points, as they have been rounded, for sums in f64.
    pub fn widened(&self) -> Result<Points> {
        let Lanes::Mixed { x, .. } = &self.0.lanes else { return Ok(self.clone()) };
        let device = self.device();
        let (wanted, free) = (8 * x.len(), device.free_memory()?);
        if wanted > free {
            return Err(Error::OutOfMemory { wanted, free });
        }
        let wide = device.zeros::<f64>(x.len())?;
        let args = [device.at(x, 0), Arg::long(x.len()), device.at(&wide, 0)];
        device.launch(&device.common("widen")?, device.blocks_for_pass(x.len()), 0, &args)?;
        Points::of_lanes(
            device,
            self.0.coordinates.clone(),
            self.len(),
            self.reach(),
            Lanes::Double { x: wide },
        )
    }

    /// Plan of the packing.
    pub fn plan(&self) -> Plan {
        let coordinates = self.0.coordinates.clone();
        Plan { coordinates, mixed: self.is_mixed(), products: self.use_products() }
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.0.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.len == 0
    }

    /// The precision the points are packed in.
    pub fn precision(&self) -> Precision {
        match self.0.lanes {
            Lanes::Mixed { .. } => Precision::Mixed,
            Lanes::Double { .. } => Precision::Double,
        }
    }

    /// Whether squared distances between all points come from products on tensor cores.
    pub fn use_products(&self) -> bool {
        matches!(self.0.lanes, Lanes::Mixed { products: true, .. })
    }

    /// The device they are on.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    pub(crate) fn dim(&self) -> usize {
        self.0.coordinates.centre().len()
    }

    pub(crate) fn padded(&self) -> usize {
        self.0.len.next_multiple_of(TILE)
    }

    /// How far the points lie from the centre, where the size of a kernel value depends on it.
    pub(crate) fn reach(&self) -> f64 {
        self.0.reach
    }

    pub(crate) fn coordinates(&self) -> &Arc<Coordinates> {
        &self.0.coordinates
    }

    pub(crate) fn shape(&self) -> &Shape {
        self.0.coordinates.kernel()
    }

    pub(crate) fn is_mixed(&self) -> bool {
        matches!(self.0.lanes, Lanes::Mixed { .. })
    }

    /// These weights in a unit, or ones, which are made once.
    pub(crate) fn weights(&self, weights: Option<&[f64]>, unit: f64) -> Result<Arc<Weights>> {
        let ones = &self.0.ones;
        if let (None, Some(ones)) = (weights, ones.get()) {
            return Ok(ones.clone());
        }
        let made = Arc::new(Weights::new(self.device(), weights, unit, self.len(), self.is_mixed())?);
        Ok(if weights.is_none() { ones.get_or_init(|| made).clone() } else { made })
    }

    /// The points for products, if these are precise enough.
    pub(crate) fn halves(&self) -> Result<Option<Halves>> {
        match &self.0.lanes {
            Lanes::Mixed { x, products: true } => {
                halves(self.device(), x, self.padded(), self.dim()).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The coordinates from point `first` on.
    pub(crate) fn pointer(&self, first: usize) -> Arg {
        match &self.0.lanes {
            Lanes::Mixed { x, .. } => self.device().at(x, first),
            Lanes::Double { x } => self.device().at(x, first),
        }
    }

    /// Where the kernel's factors are, and how many.
    pub(crate) fn factors(&self) -> [Arg; 2] {
        match &self.0.factors {
            Factors::None => [Arg::NULL, Arg::Int(0)],
            Factors::Mixed(factors) => [self.device().at(factors, 0), Arg::int(factors.len())],
            Factors::Double(factors) => [self.device().at(factors, 0), Arg::int(factors.len())],
        }
    }
}

/// Rows to coordinates in f32 on the host, which are half as many bytes to send: one part goes out while all threads make the
/// next.
fn pack_mixed(device: &Device, coordinates: &Coordinates, points: Rows<'_>, x: Arg) -> Result<()> {
    let (dim, padded) = (points.dim(), points.len().next_multiple_of(TILE));
    let (centre, unit) = (coordinates.centre(), coordinates.unit());
    let function = device.common("transpose_rows")?;
    let at_once = (SENT / dim).clamp(1, points.len().max(1)) * dim;
    let (mut ready, mut next) = (device.outbox(at_once)?, device.outbox(at_once)?);
    let mut arrived = device.zeros::<f32>(at_once)?;
    for (part, rows) in points.as_slice().chunks(at_once).enumerate() {
        // Waits until its previous content is copied.
        let out = &mut ready.as_mut_slice()?[..rows.len()];
        let threads = 256 * dim;
        out.par_chunks_mut(threads).zip(rows.par_chunks(threads)).for_each(|(out, rows)| {
            for (out, row) in out.chunks_exact_mut(dim).zip(rows.chunks_exact(dim)) {
                for ((out, x), c) in out.iter_mut().zip(row).zip(centre) {
                    *out = ((x - c) * unit).clamp(-FAR_MIXED, FAR_MIXED) as f32;
                }
            }
        });
        device.stream().memcpy_htod(&ready, &mut arrived)?;
        let (first, many) = (part * (at_once / dim), rows.len() / dim);
        let (from, to) = (device.at(&arrived, 0), [x, Arg::long(padded), Arg::long(first)]);
        let args = [&[from, Arg::long(many), Arg::int(dim)][..], &to].concat();
        device.launch(&function, Device::blocks_for(many), 0, &args)?;
        std::mem::swap(&mut ready, &mut next);
    }
    Ok(())
}

/// Rows to coordinates in f64 on the device, part after part.
fn pack_double(device: &Device, coordinates: &Coordinates, points: Rows<'_>, x: Arg) -> Result<()> {
    let (dim, padded) = (points.dim(), points.len().next_multiple_of(TILE));
    let centre = device.upload(coordinates.centre())?;
    let function = device.common("pack_f64")?;
    let at_once = (UPLOAD / dim).max(1);
    for (part, rows) in points.as_slice().chunks(at_once * dim).enumerate() {
        let (first, many) = (part * at_once, rows.len() / dim);
        let rows = device.upload(rows)?;
        let args = [
            device.at(&rows, 0),
            Arg::long(many),
            Arg::int(dim),
            device.at(&centre, 0),
            Arg::Double(coordinates.unit()),
            Arg::Double(FAR_DOUBLE),
            x,
            Arg::long(padded),
            Arg::long(first),
        ];
        device.launch(&function, Device::blocks_for(many), 0, &args)?;
    }
    Ok(())
}

fn halves(device: &Device, x: &CudaSlice<f32>, padded: usize, dim: usize) -> Result<Halves> {
    let width = products::width(dim);
    let (high, low) = (device.zeros(padded * width)?, device.zeros(padded * width)?);
    let norms = device.zeros(padded)?;
    let args = [
        device.at(x, 0),
        Arg::long(padded),
        Arg::long(padded),
        Arg::int(dim),
        Arg::int(width),
        device.at(&high, 0),
        device.at(&low, 0),
        device.at(&norms, 0),
    ];
    device.launch(&device.common("pack_halves")?, Device::blocks_for(padded), 0, &args)?;
    Ok(Halves { width, high, low, norms })
}
