//! A set of chosen points on the device, whose places are given to others by visits.
//!
//! The *fit* of a point at a position is its sum, Tμ − Σₜ k(·, xₜ) and what else the host has put in, plus the kernel row of the point
//! that is there. A visit is two launches, one that looks for the best fit and one that decides, gives up the place, and brings
//! sums and row up to date, with one more for each part. The host is not asked in between, so that thousands of visits are
//! begun one after the other and their outcomes come back together.

use std::fmt;

use cudarc::driver::CudaSlice;

use crate::device::Device;
use crate::error::Result;
use crate::launch::Arg;
use crate::points::Points;
use crate::scores::{Candidates, Part, Summed, upload_padded};

/// The bit of a point that may never be chosen, beside how often it is.
const CLOSED: u32 = 1 << 31;

/// Numbers of an [`Outcome`].
const OUTCOME: usize = 5;

/// Outcomes, and looked up sums, that come back at once.
const AT_ONCE: usize = 4096;

/// Points chosen by position, with the kernel row of each and the sums of all points.
pub struct Set {
    summed: Summed,
    sums: CudaSlice<f64>,
    /// How often each point is chosen, or [`CLOSED`].
    times: CudaSlice<u32>,
    repeats: bool,
    /// By position, there and here.
    chosen: CudaSlice<i64>,
    known: Vec<usize>,
    /// The rows of all positions one after the other or, where these do not fit, of the one that was last visited.
    rows: Rows,
    keeps_all: bool,
    found: Candidates,
    fit_here: CudaSlice<f64>,
    /// Room for outcomes, and for sums that are looked up with the points they are of.
    told: CudaSlice<u64>,
    asked: CudaSlice<i64>,
    answered: CudaSlice<f64>,
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

/// One visit: the best point by fit + `scale`·noise takes the place if that is more than `threshold` above the fit of the one there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visit {
    /// Whose place.
    pub position: usize,
    /// Where in the noise it begins, and what that is multiplied by; without noise the best fit wins.
    pub noise: Option<(usize, f64)>,
    /// How much better it must be.
    pub threshold: f64,
}

/// What came of a visit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The best point besides the one that was there; `None` where no other is open.
    pub best: Option<usize>,
    /// Its fit, noise not counted.
    pub fit: f64,
    /// The fit of the one that was there.
    pub fit_here: f64,
    /// Whether it took the place.
    pub taken: bool,
}

/// Random numbers on the device.
pub struct Noise(CudaSlice<f32>);

impl Noise {
    /// These numbers.
    pub fn new(device: &Device, numbers: &[f32]) -> Result<Noise> {
        Ok(Noise(device.upload(numbers)?))
    }
}

impl Set {
    /// These points chosen, others closed. `start` is what the sums of all points are before any kernel row is taken from them.
    /// Where `repeats` a point may be chosen more than once.
    ///
    /// # Panics
    /// Where an index is out of range, there is not one number for each point, or a part is not of these points in their precision.
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
        let set = Set {
            sums,
            times,
            repeats,
            chosen: device.upload(&indices)?,
            known: chosen.to_vec(),
            rows,
            keeps_all,
            found: Candidates::new(&device, device.blocks_for_pass(points.len()).0 as usize)?,
            fit_here: device.zeros(1)?,
            told: device.zeros(OUTCOME * AT_ONCE)?,
            asked: device.zeros(AT_ONCE)?,
            answered: device.zeros(AT_ONCE)?,
            summed: Summed::new(points, parts),
        };
        for position in 0..chosen.len() {
            set.fill_row(position)?;
            set.add_row(position, -1.0)?;
        }
        Ok(set)
    }

    /// The chosen points by position.
    pub fn chosen(&self) -> &[usize] {
        &self.known
    }

    /// The sums of some points.
    pub fn sums_of(&mut self, points: &[usize]) -> Result<Vec<f64>> {
        assert!(points.iter().all(|&i| i < self.summed.points.len()), "a point that is none");
        let device = self.device().clone();
        let gather = device.common("gather")?;
        let mut sums = Vec::with_capacity(points.len());
        for points in points.chunks(AT_ONCE) {
            let index: Vec<i64> = points.iter().map(|&i| i as i64).collect();
            device.stream().memcpy_htod(&index, &mut self.asked.slice_mut(..index.len()))?;
            let (from, to) = (device.at(&self.sums, 0), device.at(&self.answered, 0));
            let args = [from, device.at(&self.asked, 0), Arg::long(points.len()), to];
            device.launch(&gather, Device::blocks_for(points.len()), 0, &args)?;
            sums.extend(device.stream().clone_dtoh(&self.answered.slice(..points.len()))?);
        }
        Ok(sums)
    }

    /// Makes these visits one after the other.
    ///
    /// # Panics
    /// Where a position is out of range, or noise is asked for that is not there.
    pub fn visit(&mut self, visits: &[Visit], noise: Option<&Noise>) -> Result<Vec<Outcome>> {
        // A row that is not kept is made for the point that is there, which only the outcomes tell.
        let at_once = if self.keeps_all { AT_ONCE } else { 1 };
        let mut outcomes = Vec::with_capacity(visits.len());
        for visits in visits.chunks(at_once) {
            outcomes.extend(self.visit_unasked(visits, noise)?);
        }
        Ok(outcomes)
    }

    fn visit_unasked(&mut self, visits: &[Visit], noise: Option<&Noise>) -> Result<Vec<Outcome>> {
        let device = self.device().clone();
        let (points, len) = (self.summed.points.clone(), self.summed.points.len());
        let look = device.common(points.kernel("look_f32", "look_f64"))?;
        for (i, &Visit { position, noise: begins, threshold }) in visits.iter().enumerate() {
            assert!(position < self.known.len(), "position {position} of {}", self.known.len());
            if !self.keeps_all {
                self.fill_row(position)?;
            }
            let (numbers, scale) = match begins {
                None => (Arg::NULL, 0.0),
                Some((first, scale)) => {
                    let noise = noise.expect("noise");
                    assert!(noise.0.len() - first >= len, "less noise than points");
                    (device.at(&noise.0, first), scale)
                }
            };
            let args = [
                self.row(position),
                Arg::long(len),
                device.at(&self.sums, 0),
                device.at(&self.times, 0),
                Arg::Int(self.repeats.into()),
                device.at(&self.chosen, position),
                numbers,
                Arg::Double(scale),
                self.found.pointer(&device),
                device.at(&self.fit_here, 0),
            ];
            device.launch(&look, device.blocks_for_pass(len), 0, &args)?;
            self.swap(position, self.found.many(), threshold, device.at(&self.told, OUTCOME * i))?;
        }
        let told = device.stream().clone_dtoh(&self.told.slice(..OUTCOME * visits.len()))?;
        let outcomes: Vec<Outcome> = told.chunks_exact(OUTCOME).map(outcome).collect();
        for (visit, outcome) in visits.iter().zip(&outcomes) {
            if let (Some(best), true) = (outcome.best, outcome.taken) {
                self.known[visit.position] = best;
            }
        }
        Ok(outcomes)
    }

    /// Puts points in the place of others, whatever their fit.
    ///
    /// # Panics
    /// Where a position or a point is out of range.
    pub fn put(&mut self, places: &[(usize, usize)]) -> Result<()> {
        let device = self.device().clone();
        for &(position, index) in places {
            assert!(index < self.summed.points.len(), "a point that is none");
            if !self.keeps_all {
                self.fill_row(position)?;
            }
            self.found.put(&device, index)?;
            self.swap(position, 1, f64::MIN, device.at(&self.told, 0))?;
            self.known[position] = index;
        }
        // The driver tells of what went wrong when it is asked.
        device.synchronize()
    }

    /// The launches that decide between the first candidates and the one that is there.
    fn swap(&self, position: usize, candidates: usize, threshold: f64, told: Arg) -> Result<()> {
        let device = self.device();
        for (at, (points, factor)) in self.summed.all().enumerate() {
            let function =
                device.for_shape(points.shape(), points.kernel("swap_step_f32", "swap_step_f64"))?;
            let [factors, factor_count] = points.factors();
            let args = [
                points.pointer(0),
                Arg::long(points.padded()),
                Arg::int(points.dim()),
                Arg::long(points.len()),
                self.found.pointer(device),
                Arg::int(candidates),
                device.at(&self.fit_here, 0),
                Arg::Double(threshold),
                Arg::Int((at > 0).into()),
                Arg::Double(factor),
                self.row(position),
                device.at(&self.sums, 0),
                device.at(&self.times, 0),
                device.at(&self.chosen, position),
                if at == 0 { told } else { Arg::NULL },
                factors,
                factor_count,
            ];
            device.launch(&function, (points.blocks(), 1), 0, &args)?;
        }
        Ok(())
    }

    /// Writes the kernel row of the point at a position.
    fn fill_row(&self, position: usize) -> Result<()> {
        let device = self.device();
        for (at, (points, factor)) in self.summed.all().enumerate() {
            let function = device.for_shape(points.shape(), points.kernel("fill_row_f32", "fill_row_f64"))?;
            let [factors, factor_count] = points.factors();
            let args = [
                points.pointer(0),
                Arg::long(points.padded()),
                Arg::int(points.dim()),
                Arg::long(points.len()),
                Arg::long(self.known[position]),
                Arg::Int((at > 0).into()),
                Arg::Double(factor),
                self.row(position),
                factors,
                factor_count,
            ];
            device.launch(&function, (points.blocks(), 1), 0, &args)?;
        }
        Ok(())
    }

    fn add_row(&self, position: usize, weight: f64) -> Result<()> {
        let (device, len) = (self.device(), self.summed.points.len());
        let function = device.common(self.summed.points.kernel("add_row_f32", "add_row_f64"))?;
        let args = [self.row(position), Arg::long(len), Arg::Double(weight), device.at(&self.sums, 0)];
        device.launch(&function, device.blocks_for_pass(len), 0, &args)
    }

    fn row(&self, position: usize) -> Arg {
        let first = if self.keeps_all { position * self.summed.points.padded() } else { 0 };
        match &self.rows {
            Rows::Mixed(rows) => self.device().at(rows, first),
            Rows::Double(rows) => self.device().at(rows, first),
        }
    }

    fn device(&self) -> &Device {
        self.summed.points.device()
    }
}

/// As `swap_step` of `rows.cuh` writes it.
fn outcome(numbers: &[u64]) -> Outcome {
    let index = numbers[3] as usize;
    Outcome {
        best: (index != usize::MAX).then_some(index),
        fit: f64::from_bits(numbers[1]),
        fit_here: f64::from_bits(numbers[2]),
        taken: numbers[4] != 0,
    }
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
