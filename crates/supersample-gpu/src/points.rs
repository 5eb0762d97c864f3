//! Points on the device: packed once, in f32 or f64, and as halves where products are right.

use std::fmt;
use std::sync::Arc;

use cudarc::driver::CudaSlice;
use supersample_sum::{Coordinates, Precision, Rows, Shape};

use crate::device::Device;
use crate::error::{Error, Result};
use crate::launch::Arg;
use crate::products;
use crate::weights::reach;

/// Points are padded to a multiple of this, the tile of the widest kernel.
pub(crate) const TILE: usize = 128;

/// Coordinates are cut here when packed, as on the CPU, so that the square of a difference stays finite.
const FAR_MIXED: f64 = 1e15;
const FAR_DOUBLE: f64 = 1e150;

/// Bytes of rows that go to the device at once.
const UPLOAD: usize = 128 << 20;

/// Points on the device, packed for sums under one kernel. Clones share the packing.
#[derive(Clone)]
pub struct Points(Arc<Packing>);

struct Packing {
    device: Device,
    coordinates: Arc<Coordinates>,
    len: usize,
    reach: f64,
    lanes: Lanes,
    /// (ℓ₁/ℓᵢ)² of several Gaussians, in the precision of the lanes.
    factors: Factors,
}

/// `[column][point]`, zeros where there is no point.
pub(crate) enum Lanes {
    Mixed { x: CudaSlice<f32>, halves: Option<Halves> },
    Double { x: CudaSlice<f64> },
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

/// What is settled for all parts of points before any is packed.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) coordinates: Arc<Coordinates>,
    pub(crate) mixed: bool,
    pub(crate) products: bool,
}

impl Plan {
    /// f32 if that is asked for and safe; products where they are right besides.
    pub(crate) fn new(shape: Shape<'_>, points: Rows<'_>, precision: Precision) -> Plan {
        let coordinates = Arc::new(Coordinates::new(shape, points));
        let mixed = precision == Precision::Mixed && coordinates.allow_mixed(points);
        let products = mixed && products::are_right(&coordinates, points);
        Plan { coordinates, mixed, products }
    }

    /// The plan for these points beside those it was made for; `None` where they are spread too wide.
    pub(crate) fn beside(&self, points: Rows<'_>) -> Option<Plan> {
        if self.mixed && !self.coordinates.allow_mixed(points) {
            return None;
        }
        Some(Plan {
            products: self.products && products::are_right(&self.coordinates, points),
            ..self.clone()
        })
    }

    /// Bytes that a point takes.
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
    /// The points in coordinates of their own, in f32 if that is asked for and safe.
    pub fn new(device: &Device, shape: Shape<'_>, points: Rows<'_>, precision: Precision) -> Result<Points> {
        Points::planned(device, &Plan::new(shape, points, precision), points)
    }

    /// Other points in the coordinates and precision of these. `None` where they are spread too wide for the precision.
    pub fn beside(&self, points: Rows<'_>) -> Result<Option<Points>> {
        let plan = Plan {
            coordinates: self.0.coordinates.clone(),
            mixed: self.precision() == Precision::Mixed,
            products: self.halves().is_some(),
        };
        plan.beside(points).map(|plan| Points::planned(self.device(), &plan, points)).transpose()
    }

    pub(crate) fn planned(device: &Device, plan: &Plan, points: Rows<'_>) -> Result<Points> {
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
            pack(device, &coordinates, points, "pack_f32", FAR_MIXED, device.at(&x, 0))?;
            let halves = plan.products.then(|| halves(device, &x, padded, dim)).transpose()?;
            Lanes::Mixed { x, halves }
        } else {
            let x = device.zeros::<f64>(padded * dim)?;
            pack(device, &coordinates, points, "pack_f64", FAR_DOUBLE, device.at(&x, 0))?;
            Lanes::Double { x }
        };
        let factors = match coordinates.kernel() {
            Shape::Gaussians { lengths } => {
                let factors: Vec<f64> = lengths.iter().map(|l| (lengths[0] / l).powi(2)).collect();
                if plan.mixed {
                    let factors: Vec<f32> = factors.iter().map(|&factor| factor as f32).collect();
                    Factors::Mixed(device.upload(&factors)?)
                } else {
                    Factors::Double(device.upload(&factors)?)
                }
            }
            _ => Factors::None,
        };
        let reach = reach(&coordinates, points);
        Ok(Points(Arc::new(Packing { device: device.clone(), coordinates, len, reach, lanes, factors })))
    }

    /// How many points there are.
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
        self.halves().is_some()
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

    pub(crate) fn shape(&self) -> &Shape<'static> {
        self.0.coordinates.kernel()
    }

    pub(crate) fn is_mixed(&self) -> bool {
        matches!(self.0.lanes, Lanes::Mixed { .. })
    }

    pub(crate) fn halves(&self) -> Option<&Halves> {
        match &self.0.lanes {
            Lanes::Mixed { halves, .. } => halves.as_ref(),
            Lanes::Double { .. } => None,
        }
    }

    /// The end of a kernel's name.
    pub(crate) fn suffix(&self) -> &'static str {
        if self.is_mixed() { "f32" } else { "f64" }
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

/// Rows to coordinates on the device, part after part.
fn pack(
    device: &Device,
    coordinates: &Coordinates,
    points: Rows<'_>,
    name: &str,
    far: f64,
    x: Arg,
) -> Result<()> {
    let (dim, padded) = (points.dim(), points.len().next_multiple_of(TILE));
    let centre = device.upload(coordinates.centre())?;
    let function = device.common(name)?;
    let at_once = (UPLOAD / (8 * dim)).max(1);
    for (part, rows) in points.as_slice().chunks(at_once * dim).enumerate() {
        let (first, many) = (part * at_once, rows.len() / dim);
        let rows = device.upload(rows)?;
        let args = [
            device.at(&rows, 0),
            Arg::long(many),
            Arg::int(dim),
            device.at(&centre, 0),
            Arg::Double(coordinates.unit()),
            Arg::Double(far),
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
