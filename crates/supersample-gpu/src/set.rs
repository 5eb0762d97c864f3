//! Set of chosen points on the device, which visits exchange for others.
//!
//! The *fit* of a point at a position is its sum, Tμ − Σₜ k(·, xₜ) and the host's terms, plus the kernel row of the
//! point there. A visit finds the best fit, decides, exchanges the point, and updates the sums and the row. One launch
//! makes thousands of visits in sequence (`kernels/visits.cuh`), and their outcomes come back together. Every point
//! belongs to one thread, and all blocks are on the device at once and meet once a visit to agree on the best.

use std::fmt;

use cudarc::driver::CudaSlice;
use supersample_sum::{Outcome, Shape, Visit};

use crate::device::Device;
use crate::error::{Error, Result};
use crate::launch::Arg;
use crate::points::Points;
use crate::scores::{Part, Summed, upload_padded};

/// Bit of a point that may never be chosen; the other bits count how often it is chosen.
const CLOSED: u32 = 1 << 31;

/// Steps made at once, and numbers processed: a tenth of a second, so that an end, and the driver of a screen, need not
/// wait long.
const AT_ONCE: usize = 4096;
const PASSED_AT_ONCE: usize = 1 << 36;

/// Shared memory that every kernel may have.
const SHARED: usize = 40 << 10;

/// Count of numbers of a [`Step`], of its outcome, of a part and of a block's result, as in `visits.cuh`.
const STEP: usize = 6;
const OUTCOME: usize = 4;
const PART: usize = 4;
const SEAT: usize = 4;

/// Points chosen by position, with the kernel row of each and the sums of all points.
pub struct Set {
    summed: Summed,
    /// The parts as the kernel wants them.
    parts: CudaSlice<u64>,
    sums: CudaSlice<f64>,
    /// How often each point is chosen, or [`CLOSED`].
    times: CudaSlice<u32>,
    repeats: bool,
    /// By position, there and here.
    chosen: CudaSlice<i64>,
    known: Vec<usize>,
    /// The kernel rows of all positions or, if these do not fit, of the last visited one.
    rows: Rows,
    keeps_all: bool,
    /// Number of steps made at once.
    at_once: usize,
    /// Data that blocks exchange, and the fits of visited points.
    seats: CudaSlice<u64>,
    fits: CudaSlice<f64>,
    /// Room for steps and their outcomes.
    steps: CudaSlice<u64>,
    told: CudaSlice<u64>,
}

enum Rows {
    Mixed(CudaSlice<f32>),
    Double(CudaSlice<f64>),
}

impl fmt::Debug for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Set").field("points", &self.summed).field("chosen", &self.known.len()).finish()
    }
}

/// What the kernel does at a position.
#[derive(Clone, Copy)]
enum Step {
    /// Computes the row of the point there and subtracts it from the sums.
    Begin(usize),
    /// Puts a point there.
    Put(usize, usize),
    Visit(Visit),
}

impl Step {
    fn position(self) -> usize {
        match self {
            Step::Begin(position) | Step::Put(position, _) | Step::Visit(Visit { position, .. }) => position,
        }
    }

    fn point(self) -> Option<usize> {
        match self {
            Step::Begin(_) => None,
            Step::Put(_, point) => Some(point),
            Step::Visit(visit) => visit.rival,
        }
    }

    /// As `visits.cuh` reads it.
    fn numbers(self) -> [u64; STEP] {
        let (kind, noise, threshold) = match self {
            Step::Begin(_) => (0, None, 0.0),
            Step::Put(..) => (1, None, f64::MIN),
            Step::Visit(Visit { noise, threshold, .. }) => (2, noise, threshold),
        };
        let or_none = |index: Option<usize>| index.map_or(u64::MAX, |index| index as u64);
        let scale = noise.map_or(0.0, |(_, scale)| scale);
        let noise = or_none(noise.map(|(first, _)| first));
        let point = or_none(self.point());
        [kind, self.position() as u64, point, noise, scale.to_bits(), threshold.to_bits()]
    }
}

/// Random numbers on the device.
pub struct Noise(CudaSlice<f32>);

impl Noise {
    /// Copies these numbers to the device.
    pub fn new(device: &Device, numbers: &[f32]) -> Result<Noise> {
        Ok(Noise(device.upload(numbers)?))
    }
}

impl Set {
    /// Creates a set of chosen points; `closed` ones may not be chosen. `start` are the sums of all points before any
    /// kernel row is subtracted. With `repeats` a point may be chosen more than once. Parts have Manhattan or linear
    /// kernels.
    ///
    /// # Panics
    /// If an index is out of range, there is not one number for each point, or a part is not of these points in their precision.
    pub fn new(
        points: Points,
        parts: Vec<Part>,
        start: &[f64],
        chosen: &[usize],
        closed: &[usize],
        repeats: bool,
    ) -> Result<Set> {
        assert_eq!(start.len(), points.len());
        let device = points.device().clone();
        let mut times = vec![0; points.padded()];
        closed.iter().for_each(|&i| times[i] = CLOSED);
        chosen.iter().for_each(|&i| times[i] += 1);
        let indices: Vec<i64> = chosen.iter().map(|&i| i as i64).collect();
        let row_bytes = points.padded() * if points.is_mixed() { size_of::<f32>() } else { size_of::<f64>() };
        let (times, sums) = (device.upload(&times)?, upload_padded(&device, start)?);
        let keeps_all = chosen.len().saturating_mul(row_bytes) <= device.free_memory()? / 4 * 3;
        let many = points.padded() * if keeps_all { chosen.len() } else { 1 };
        let rows = if points.is_mixed() {
            Rows::Mixed(device.zeros(many)?)
        } else {
            Rows::Double(device.zeros(many)?)
        };
        let (blocks, _) = device.together_for(points.len()).blocks;
        let summed = Summed::new(points, parts);
        let numbers: usize = summed.all().map(|(points, _)| points.len() * (points.dim() + 8)).sum();
        let at_once = (PASSED_AT_ONCE / numbers.max(1)).clamp(1, AT_ONCE);
        let mut set = Set {
            parts: device.upload(&numbers_of_parts(&summed)?)?,
            sums,
            times,
            repeats,
            chosen: device.upload(&indices)?,
            known: chosen.to_vec(),
            rows,
            keeps_all,
            at_once,
            seats: device.zeros(2 * SEAT * blocks as usize)?,
            fits: device.zeros(2)?,
            steps: device.zeros(STEP * at_once)?,
            told: device.zeros(OUTCOME * at_once)?,
            summed,
        };
        let begins: Vec<Step> = (0..chosen.len()).map(Step::Begin).collect();
        for steps in begins.chunks(at_once) {
            set.make(steps, None)?;
        }
        Ok(set)
    }

    /// The chosen points by position.
    pub fn chosen(&self) -> &[usize] {
        &self.known
    }

    /// The sums of all points.
    pub fn sums(&self) -> Result<Vec<f64>> {
        Ok(self.device().stream().clone_dtoh(&self.sums.slice(..self.summed.points.len()))?)
    }

    /// Makes these visits in order; `None` for skipped ones.
    ///
    /// # Panics
    /// If a position or a rival is out of range, or noise is asked for that is not there.
    pub fn visit(&mut self, visits: &[Visit], noise: Option<&Noise>) -> Result<Vec<Option<Outcome>>> {
        let len = self.summed.points.len();
        let mut outcomes = Vec::with_capacity(visits.len());
        for visits in visits.chunks(self.at_once) {
            for &Visit { noise: begins, .. } in visits {
                let is_there = |first: usize| noise.is_some_and(|noise| first + len <= noise.0.len());
                assert!(begins.is_none_or(|(first, _)| is_there(first)), "less noise than points");
            }
            let steps: Vec<Step> = visits.iter().copied().map(Step::Visit).collect();
            self.make(&steps, noise)?;
            let told = self.device().stream().clone_dtoh(&self.told.slice(..OUTCOME * visits.len()))?;
            for (visit, numbers) in visits.iter().zip(told.chunks_exact(OUTCOME)) {
                let outcome = outcome(numbers, self.known[visit.position]);
                if let Some(Outcome { best: Some(best), taken: true, .. }) = outcome {
                    self.known[visit.position] = best;
                }
                outcomes.push(outcome);
            }
        }
        Ok(outcomes)
    }

    /// Replaces points by others, without regard to their fit.
    ///
    /// # Panics
    /// If a position or a point is out of range.
    pub fn put(&mut self, places: &[(usize, usize)]) -> Result<()> {
        for places in places.chunks(self.at_once) {
            let steps: Vec<Step> =
                places.iter().map(|&(position, point)| Step::Put(position, point)).collect();
            self.make(&steps, None)?;
            places.iter().for_each(|&(position, point)| self.known[position] = point);
        }
        // The driver reports errors at synchronisation.
        self.device().synchronize()
    }

    /// Starts steps, at most as many as are made at once; their outcomes will be in `told`.
    fn make(&mut self, steps: &[Step], noise: Option<&Noise>) -> Result<()> {
        let (device, points) = (self.device().clone(), self.summed.points.clone());
        let (positions, len) = (self.known.len(), points.len());
        let mut numbers = Vec::with_capacity(STEP * steps.len());
        for step in steps {
            assert!(step.position() < positions, "position {} of {positions}", step.position());
            assert!(step.point().is_none_or(|point| point < len), "a point that is none");
            numbers.extend(step.numbers());
        }
        device.stream().memcpy_htod(&numbers, &mut self.steps.slice_mut(..numbers.len()))?;
        // The counter of meetings starts at zero in each launch.
        device.stream().memset_zeros(&mut self.seats)?;
        let size = if points.is_mixed() { size_of::<f32>() } else { size_of::<f64>() };
        let staged = size * self.summed.all().map(|(points, _)| points.dim()).sum::<usize>();
        let stages = staged <= SHARED;
        let [factors, factor_count] = points.factors();
        let args = [
            points.pointer(0),
            Arg::long(points.padded()),
            Arg::int(points.dim()),
            Arg::long(len),
            factors,
            factor_count,
            device.at(&self.parts, 0),
            Arg::int(self.summed.parts.len()),
            Arg::Int(stages.into()),
            device.at(&self.steps, 0),
            Arg::int(steps.len()),
            match &self.rows {
                Rows::Mixed(rows) => device.at(rows, 0),
                Rows::Double(rows) => device.at(rows, 0),
            },
            Arg::long(if self.keeps_all { points.padded() } else { 0 }),
            device.at(&self.sums, 0),
            device.at(&self.times, 0),
            Arg::Int(self.repeats.into()),
            device.at(&self.chosen, 0),
            noise.map_or(Arg::NULL, |noise| device.at(&noise.0, 0)),
            device.at(&self.seats, 0),
            device.at(&self.fits, 0),
            device.at(&self.told, 0),
        ];
        let function = device.for_shape(points.shape(), points.kernel("visits_f32", "visits_f64"))?;
        let shared = if stages { staged as u32 } else { 0 };
        device.launch_grid(&function, device.together_for(len), shared, &args)
    }

    fn device(&self) -> &Device {
        self.summed.points.device()
    }
}

/// Parts as `visits.cuh` reads them; a dummy if there are none, because an empty array has no address.
fn numbers_of_parts(summed: &Summed) -> Result<Vec<u64>> {
    let mut numbers = Vec::with_capacity(PART * summed.parts.len().max(1));
    for Part { views, factor } in &summed.parts {
        let is_linear = match views.shape() {
            Shape::Manhattan { .. } => 0,
            Shape::Linear => 1,
            _ => return Err(Error::NoKernel { what: "visits with such a part" }),
        };
        let Arg::Pointer(x) = views.pointer(0) else { unreachable!("coordinates are somewhere") };
        numbers.extend([x, views.dim() as u64, is_linear, factor.to_bits()]);
    }
    numbers.resize(numbers.len().max(PART), 0);
    Ok(numbers)
}

/// As `visits.cuh` writes it.
fn outcome(numbers: &[u64], here: usize) -> Option<Outcome> {
    let index = numbers[2] as usize;
    let taken = match numbers[3] {
        0 => false,
        1 => true,
        _ => return None,
    };
    Some(Outcome {
        best: (index != usize::MAX).then_some(index),
        here,
        fit: f64::from_bits(numbers[0]),
        fit_here: f64::from_bits(numbers[1]),
        taken,
    })
}

impl Points {
    /// k(xⱼ, xᵢ) at every point xⱼ for the point i.
    pub fn kernel_row(&self, i: usize) -> Result<Vec<f64>> {
        let set = Set::new(self.clone(), Vec::new(), &vec![0.0; self.len()], &[i], &[], true)?;
        let stream = self.device().stream();
        Ok(match &set.rows {
            Rows::Mixed(rows) => {
                stream.clone_dtoh(&rows.slice(..self.len()))?.into_iter().map(f64::from).collect()
            }
            Rows::Double(rows) => stream.clone_dtoh(&rows.slice(..self.len()))?,
        })
    }
}
