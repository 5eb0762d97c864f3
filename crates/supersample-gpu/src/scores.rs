//! Running scores on the device, updated at each choice, and the search for the next.
//!
//! A pick costs one launch, and one more for each part: it takes the best candidate of the last search, adds its kernel
//! row, and searches again. So a run of picks needs the host only to start each launch, and all picks come back
//! together.

use std::fmt;
use std::ops::ControlFlow;

use cudarc::driver::CudaSlice;
use supersample_sum::Watch;

use crate::device::Device;
use crate::error::Result;
use crate::launch::Arg;
use crate::points::{Points, TILE};

/// Numbers processed between two calls of a watch: a hundredth of a second.
const WATCHED: usize = 1 << 33;

/// A point that was chosen, or could be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pick {
    /// Which point.
    pub index: usize,
    /// Its score, the largest of all.
    pub score: f64,
    /// Its running sum before its own kernel row was added.
    pub sum: f64,
}

/// Kernel that is added to that of the points: a kernel of views of the points, times a factor.
#[derive(Clone, Debug)]
pub struct Part {
    /// Views of the points, in their precision.
    pub views: Points,
    /// Factor of its values.
    pub factor: f64,
}

/// The points with their parts: the kernel rows that are added up.
#[derive(Clone, Debug)]
pub(crate) struct Summed {
    pub(crate) points: Points,
    pub(crate) parts: Vec<Part>,
}

impl Summed {
    /// # Panics
    /// If a part has not a view of every point in the precision of the points.
    pub(crate) fn new(points: Points, parts: Vec<Part>) -> Summed {
        let fits =
            |part: &Part| part.views.len() == points.len() && part.views.precision() == points.precision();
        assert!(parts.iter().all(fits), "views of other points, or in another precision");
        Summed { points, parts }
    }

    /// The points and what their kernel is multiplied by, then those of each part.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&Points, f64)> {
        let parts = self.parts.iter().map(|part| (&part.views, part.factor));
        std::iter::once((&self.points, 1.0)).chain(parts)
    }
}

/// Running sums of a set of points, with the other terms of a score factor·μᵢ + sumᵢ + offsetᵢ.
pub struct Scores {
    summed: Summed,
    sums: CudaSlice<f64>,
    mu: CudaSlice<f64>,
    offsets: Option<CudaSlice<f64>>,
    unique: bool,
    /// Candidates of this search and of the last.
    found: [Candidates; 2],
    /// Number of candidates in `found[0]` whose best is chosen but not yet added.
    pending: Option<usize>,
}

impl fmt::Debug for Scores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scores").field("points", &self.summed).field("unique", &self.unique).finish()
    }
}

/// Results of blocks, three numbers each: score, sum, index.
pub(crate) struct Candidates(CudaSlice<u64>);

impl Candidates {
    pub(crate) fn new(device: &Device, many: usize) -> Result<Candidates> {
        Ok(Candidates(device.zeros(3 * many)?))
    }

    pub(crate) fn pointer(&self, device: &Device) -> Arg {
        device.at(&self.0, 0)
    }

    fn place(&self, device: &Device, i: usize) -> Arg {
        device.at(&self.0, 3 * i)
    }

    pub(crate) fn many(&self) -> usize {
        self.0.len() / 3
    }

    /// Puts one candidate, whose score is above every other, in the first place.
    pub(crate) fn put(&mut self, device: &Device, index: usize) -> Result<()> {
        let numbers = [f64::INFINITY.to_bits(), 0, index as u64];
        Ok(device.stream().memcpy_htod(&numbers, &mut self.0.slice_mut(..3))?)
    }

    /// The best of these, and of equal ones that of the lowest index; `None` if there is none.
    fn best(&self, device: &Device) -> Result<Option<Pick>> {
        let better = |a: Pick, b: Pick| {
            if b.score > a.score || (b.score == a.score && b.index < a.index) { b } else { a }
        };
        let numbers = device.stream().clone_dtoh(&self.0)?;
        Ok(picks(&numbers).filter(|pick| pick.index != usize::MAX).reduce(better))
    }
}

fn picks(numbers: &[u64]) -> impl Iterator<Item = Pick> {
    numbers.chunks_exact(3).map(|candidate| Pick {
        index: candidate[2] as usize,
        score: f64::from_bits(candidate[0]),
        sum: f64::from_bits(candidate[1]),
    })
}

impl Scores {
    /// Sums of zero, in which the rows of points and parts add up; μ and the offsets are those of the whole. `unique`:
    /// a chosen point may not be chosen again.
    ///
    /// # Panics
    /// If there is not one number for each point, or a part is not of these points in their precision.
    pub fn new(
        points: Points,
        parts: Vec<Part>,
        mu: &[f64],
        offsets: Option<&[f64]>,
        unique: bool,
    ) -> Result<Scores> {
        let device = points.device().clone();
        let padded = |values: &[f64]| {
            assert_eq!(values.len(), points.len());
            upload_padded(&device, values)
        };
        let blocks = points.blocks() as usize;
        Ok(Scores {
            sums: device.zeros(points.padded())?,
            mu: padded(mu)?,
            offsets: offsets.map(padded).transpose()?,
            unique,
            found: [Candidates::new(&device, blocks)?, Candidates::new(&device, blocks)?],
            pending: None,
            summed: Summed::new(points, parts),
        })
    }

    /// The running sums.
    pub fn sums(&mut self) -> Result<Vec<f64>> {
        self.add_pending()?;
        Ok(self.device().stream().clone_dtoh(&self.sums.slice(..self.len()))?)
    }

    /// The running sum of one point.
    pub fn sum(&mut self, i: usize) -> Result<f64> {
        assert!(i < self.len(), "point {i} of {}", self.len());
        self.add_pending()?;
        Ok(self.device().stream().clone_dtoh(&self.sums.slice(i..i + 1))?[0])
    }

    /// Puts these running sums instead of the present ones; −∞ closes a point.
    pub fn set_sums(&mut self, sums: &[f64]) -> Result<()> {
        assert_eq!(sums.len(), self.len());
        self.pending = None;
        let stream = self.device().stream().clone();
        Ok(stream.memcpy_htod(sums, &mut self.sums.slice_mut(..sums.len()))?)
    }

    /// The point of the largest score, of equal ones that of the lowest index; `None` if every score is −∞.
    pub fn best(&mut self, factor: f64) -> Result<Option<Pick>> {
        self.step(Arg::NULL, Some(factor))?;
        self.found[0].best(self.device())
    }

    /// Chooses a point: its kernel row is taken from the sums with the next search, and `unique` closes it.
    pub fn choose(&mut self, i: usize) -> Result<()> {
        assert!(i < self.len(), "point {i} of {}", self.len());
        self.add_pending()?;
        let device = self.device().clone();
        self.found[0].put(&device, i)?;
        self.pending = Some(1);
        Ok(())
    }

    /// Chooses the point that the last search has found.
    pub fn choose_found(&mut self) {
        self.pending = Some(self.found[0].many());
    }

    /// Picks points in sequence: the best score with a factor of μ that starts at `factor` and grows by one for each
    /// pick; then its kernel row is subtracted from the sums. Fewer come back if no point is open, or if `watch`,
    /// called with the picks done and asked for, breaks.
    pub fn herd(&mut self, factor: f64, count: usize, watch: Option<Watch<'_>>) -> Result<Vec<Pick>> {
        let device = self.device().clone();
        let found = Candidates::new(&device, count)?;
        let numbers: usize = self.summed.all().map(|(points, _)| points.len() * (points.dim() + 8)).sum();
        let watched = (WATCHED / numbers.max(1)).clamp(1, 4096);
        let mut done = 0;
        while done < count {
            // The pick before the first was returned by an earlier call.
            let pick = if done > 0 { found.place(&device, done - 1) } else { Arg::NULL };
            self.step(pick, Some(factor + done as f64))?;
            self.choose_found();
            done += 1;
            if let Some(watch) = watch
                && done.is_multiple_of(watched)
            {
                device.synchronize()?;
                if watch(done as u64, count as u64).is_break() {
                    break;
                }
            }
        }
        if done == 0 {
            return Ok(Vec::new());
        }
        let last = [self.found[0].pointer(&device), Arg::int(self.found[0].many())];
        let args = [&last[..], &[found.place(&device, done - 1)]].concat();
        device.launch(&device.common("best_candidate")?, (1, 1), 0, &args)?;
        let numbers = device.stream().clone_dtoh(&found.0.slice(..3 * done))?;
        let picks: Vec<Pick> = picks(&numbers).take_while(|pick| pick.index != usize::MAX).collect();
        if let Some(watch) = watch {
            let _: ControlFlow<()> = watch(picks.len() as u64, count as u64);
        }
        Ok(picks)
    }

    fn device(&self) -> &Device {
        self.summed.points.device()
    }

    fn len(&self) -> usize {
        self.summed.points.len()
    }

    /// Adds the row of the last pick.
    fn add_pending(&mut self) -> Result<()> {
        if self.pending.is_some() { self.step(Arg::NULL, None) } else { Ok(()) }
    }

    /// Adds the rows of a pending pick, which is written to `pick`, then searches with this factor of μ, if any; afterwards
    /// nothing is pending, and what was found is in `found[0]`.
    fn step(&mut self, pick: Arg, search: Option<f64>) -> Result<()> {
        let device = self.device();
        let candidates = self.pending.unwrap_or_default();
        let pending = self.pending.map_or(Arg::NULL, |_| self.found[0].pointer(device));
        let last = self.summed.parts.len();
        for (at, (points, part_factor)) in self.summed.all().enumerate() {
            // The last adds its row and searches; without a row to add it is the only one.
            let search = search.filter(|_| at == last);
            if search.is_none() && self.pending.is_none() {
                continue;
            }
            let function =
                device.for_shape(points.shape(), points.kernel("choose_step_f32", "choose_step_f64"))?;
            let found = if search.is_some() { self.found[1].pointer(device) } else { Arg::NULL };
            let [factors, factor_count] = points.factors();
            let args = [
                points.pointer(0),
                Arg::long(points.padded()),
                Arg::int(points.dim()),
                Arg::long(points.len()),
                Arg::Double(-part_factor),
                device.at(&self.sums, 0),
                device.at(&self.mu, 0),
                device.at_option(self.offsets.as_ref()),
                Arg::Double(search.unwrap_or_default()),
                pending,
                Arg::int(candidates),
                if at == 0 { pick } else { Arg::NULL },
                Arg::Int(self.unique.into()),
                found,
                factors,
                factor_count,
            ];
            device.launch(&function, (points.blocks(), 1), 0, &args)?;
        }
        if search.is_some() {
            self.found.swap(0, 1);
        }
        self.pending = None;
        Ok(())
    }
}

impl Points {
    /// Blocks of a pass with several points a thread.
    pub(crate) fn blocks(&self) -> u32 {
        let points_a_thread = if self.is_mixed() { 4 } else { 2 };
        self.device().blocks_for_pass(self.len().div_ceil(points_a_thread)).0
    }

    /// The kernel for the precision of the points.
    pub(crate) fn kernel(&self, mixed: &'static str, double: &'static str) -> &'static str {
        if self.is_mixed() { mixed } else { double }
    }
}

pub(crate) fn upload_padded(device: &Device, values: &[f64]) -> Result<CudaSlice<f64>> {
    let mut padded = device.zeros(values.len().next_multiple_of(TILE))?;
    device.stream().memcpy_htod(values, &mut padded.slice_mut(..values.len()))?;
    Ok(padded)
}
