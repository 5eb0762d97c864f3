//! Running scores on the device: what the choices made so far have done to every point, and the search for the next.
//!
//! A pick costs one launch: it begins by finding out which candidate of the last search was best, adds the kernel row of that
//! one, and searches again. So a run of picks needs the host only to begin each launch, and all picks come back together.

use std::fmt;
use std::ops::ControlFlow;

use cudarc::driver::CudaSlice;
use supersample_sum::Watch;

use crate::device::Device;
use crate::error::Result;
use crate::launch::Arg;
use crate::means::Mean;
use crate::points::{Points, TILE};
use crate::row::KernelRow;

/// Numbers that are passed over between two looks at a watch: a hundredth of a second.
const WATCHED: usize = 1 << 33;

/// A point that was chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pick {
    /// Which point.
    pub index: usize,
    /// Its score, the largest of all.
    pub score: f64,
    /// Its running sum before its own kernel row was added.
    pub sum: f64,
}

/// The running sums of a set of points, with μ and what else a score is made of: factor·μᵢ + sumᵢ + offsetᵢ.
pub struct Scores {
    points: Points,
    sums: CudaSlice<f64>,
    mu: CudaSlice<f64>,
    offsets: Option<CudaSlice<f64>>,
    unique: bool,
    /// Candidates of this search and of the last.
    found: [Candidates; 2],
    /// Whether the best of `found[0]` is chosen and its row not yet added.
    pending: bool,
}

impl fmt::Debug for Scores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scores").field("points", &self.points).field("unique", &self.unique).finish()
    }
}

/// What blocks have found, three numbers each: score, sum, index.
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

    fn many(&self) -> usize {
        self.0.len() / 3
    }

    /// Puts the best of these at a place.
    fn best_to(&self, device: &Device, to: Arg) -> Result<()> {
        let args = [self.pointer(device), Arg::int(self.many()), to];
        device.launch(&device.common("best_candidate")?, (1, 1), 0, &args)
    }

    /// The best of these; `None` where there is none.
    pub(crate) fn best(&self, device: &Device) -> Result<Option<Pick>> {
        let best = Candidates::new(device, 1)?;
        self.best_to(device, best.pointer(device))?;
        Ok(best.read(device, 1)?.pop())
    }

    /// The first candidates, up to one that is none.
    fn read(&self, device: &Device, many: usize) -> Result<Vec<Pick>> {
        let numbers = device.stream().clone_dtoh(&self.0.slice(..3 * many))?;
        let picks = numbers.chunks_exact(3).map(|candidate| Pick {
            index: candidate[2] as usize,
            score: f64::from_bits(candidate[0]),
            sum: f64::from_bits(candidate[1]),
        });
        Ok(picks.take_while(|pick| pick.index != usize::MAX).collect())
    }
}

/// What a launch does besides adding a row: see `choose_step` in `rows.cuh`.
struct Step {
    y: Arg,
    weight: f64,
    kept: Arg,
    /// Where the pending pick is written to.
    pick: Arg,
    /// The factor of μ, where the best is to be found.
    search: Option<f64>,
}

impl Scores {
    /// Sums of zero. `unique`: points that are herded may not be herded again.
    pub fn new(points: Points, mu: &[f64], offsets: Option<&[f64]>, unique: bool) -> Result<Scores> {
        assert_eq!(mu.len(), points.len());
        let mu = upload_padded(points.device(), mu)?;
        Scores::from_parts(points, mu, offsets, unique)
    }

    /// Sums of zero, with a μ that is on the device.
    pub fn with_mean(points: Points, mean: Mean, offsets: Option<&[f64]>, unique: bool) -> Result<Scores> {
        assert!(mean.values.len() == points.padded(), "the mean is of other points");
        Scores::from_parts(points, mean.values, offsets, unique)
    }

    fn from_parts(
        points: Points,
        mu: CudaSlice<f64>,
        offsets: Option<&[f64]>,
        unique: bool,
    ) -> Result<Scores> {
        let device = points.device().clone();
        let offsets = offsets.map(|offsets| {
            assert_eq!(offsets.len(), points.len());
            upload_padded(&device, offsets)
        });
        let blocks = points.blocks() as usize;
        Ok(Scores {
            sums: device.zeros(points.padded())?,
            mu,
            offsets: offsets.transpose()?,
            unique,
            found: [Candidates::new(&device, blocks)?, Candidates::new(&device, blocks)?],
            pending: false,
            points,
        })
    }

    /// The running sums.
    pub fn sums(&mut self) -> Result<Vec<f64>> {
        self.add_pending()?;
        Ok(self.device().stream().clone_dtoh(&self.sums.slice(..self.points.len()))?)
    }

    /// Puts these running sums in place of the present ones.
    pub fn set_sums(&mut self, sums: &[f64]) -> Result<()> {
        assert_eq!(sums.len(), self.points.len());
        self.pending = false;
        let stream = self.device().stream().clone();
        Ok(stream.memcpy_htod(sums, &mut self.sums.slice_mut(..sums.len()))?)
    }

    /// Sets the sum of one point; −∞ closes it.
    pub fn set_sum(&mut self, i: usize, sum: f64) -> Result<()> {
        assert!(i < self.points.len(), "point {i} of {}", self.points.len());
        self.add_pending()?;
        let stream = self.device().stream().clone();
        Ok(stream.memcpy_htod(&[sum], &mut self.sums.slice_mut(i..i + 1))?)
    }

    /// Adds `weight`·k(xᵢ, y) to every sum.
    pub fn add_row(&mut self, y: &[f64], weight: f64) -> Result<()> {
        self.add_pending()?;
        let y = self.points.upload_point(y)?;
        let y = y.pointer(self.device());
        self.step(&Step { y, weight, kept: Arg::NULL, pick: Arg::NULL, search: None })
    }

    /// The largest score and the lowest index that has it; `None` where every score is −∞.
    pub fn argmax(&mut self, factor: f64) -> Result<Option<(usize, f64)>> {
        self.add_pending()?;
        self.search(&Step { search: Some(factor), ..Step::NOTHING })
    }

    /// [`add_row`](Self::add_row), and the largest score afterwards: one pass over the points.
    pub fn add_row_and_argmax(
        &mut self,
        y: &[f64],
        weight: f64,
        factor: f64,
    ) -> Result<Option<(usize, f64)>> {
        self.add_pending()?;
        let y = self.points.upload_point(y)?;
        let y = y.pointer(self.device());
        self.search(&Step { y, weight, search: Some(factor), ..Step::NOTHING })
    }

    /// [`add_row_and_argmax`](Self::add_row_and_argmax), and the row is there for later.
    pub fn keep_row_and_argmax(
        &mut self,
        y: &[f64],
        row: &mut KernelRow,
        weight: f64,
        factor: f64,
    ) -> Result<Option<(usize, f64)>> {
        self.add_pending()?;
        let y = self.points.upload_point(y)?;
        let y = y.pointer(self.device());
        let kept = row.pointer_for(&self.points);
        self.search(&Step { y, weight, kept, search: Some(factor), ..Step::NOTHING })
    }

    /// Picks one point after another: the best score with a factor of μ that begins with `factor` and grows by one a pick, then
    /// its kernel row is taken from the sums. Fewer come back where no point is open any more, or where `watch`, which is told the
    /// picks done and asked for, breaks.
    pub fn herd(&mut self, factor: f64, count: usize, watch: Option<Watch<'_>>) -> Result<Vec<Pick>> {
        let device = self.device().clone();
        let picks = Candidates::new(&device, count)?;
        let numbers = self.points.len() * (self.points.dim() + 8);
        let watched = (WATCHED / numbers.max(1)).clamp(1, 4096);
        let mut done = 0;
        while done < count {
            // The pick before the first was told of by the call that made it.
            let pick = if done > 0 { picks.place(&device, done - 1) } else { Arg::NULL };
            self.step(&Step { pick, search: Some(factor + done as f64), ..Step::NOTHING })?;
            self.pending = true;
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
        self.found[0].best_to(&device, picks.place(&device, done - 1))?;
        let picks = picks.read(&device, done)?;
        if let Some(watch) = watch {
            let _: ControlFlow<()> = watch(picks.len() as u64, count as u64);
        }
        Ok(picks)
    }

    /// Where the sums are, once nothing is pending.
    pub(crate) fn settled_sums(&mut self) -> Result<Arg> {
        self.add_pending()?;
        Ok(self.device().at(&self.sums, 0))
    }

    fn device(&self) -> &Device {
        self.points.device()
    }

    /// Adds the row of the last pick.
    fn add_pending(&mut self) -> Result<()> {
        if self.pending { self.step(&Step::NOTHING) } else { Ok(()) }
    }

    fn search(&mut self, step: &Step) -> Result<Option<(usize, f64)>> {
        self.step(step)?;
        Ok(self.found[0].best(self.device())?.map(|pick| (pick.index, pick.score)))
    }

    /// One launch. A pending pick is the row that is added; afterwards nothing is pending, and what was found is in `found[0]`.
    fn step(&mut self, step: &Step) -> Result<()> {
        let (device, points) = (self.points.device(), &self.points);
        let function = device.for_shape(points.shape(), &format!("choose_step_{}", points.suffix()))?;
        let [factors, factor_count] = points.factors();
        let pending = if self.pending { self.found[0].pointer(device) } else { Arg::NULL };
        let found = if step.search.is_some() { self.found[1].pointer(device) } else { Arg::NULL };
        let args = [
            points.pointer(0),
            Arg::long(points.padded()),
            Arg::int(points.dim()),
            Arg::long(points.len()),
            step.y,
            Arg::Double(step.weight),
            device.at(&self.sums, 0),
            device.at(&self.mu, 0),
            device.at_option(self.offsets.as_ref()),
            Arg::Double(step.search.unwrap_or_default()),
            pending,
            Arg::int(self.found[0].many()),
            step.pick,
            Arg::Int(self.unique.into()),
            step.kept,
            found,
            factors,
            factor_count,
        ];
        device.launch(&function, (points.blocks(), 1), 0, &args)?;
        self.found.swap(0, 1);
        self.pending = false;
        Ok(())
    }
}

impl Step {
    const NOTHING: Step = Step { y: Arg::NULL, weight: -1.0, kept: Arg::NULL, pick: Arg::NULL, search: None };
}

impl Points {
    /// Blocks of a pass with several points a thread.
    fn blocks(&self) -> u32 {
        let points_a_thread = if self.is_mixed() { 4 } else { 2 };
        self.device().blocks_for_pass(self.len().div_ceil(points_a_thread)).0
    }
}

fn upload_padded(device: &Device, values: &[f64]) -> Result<CudaSlice<f64>> {
    let mut padded = device.zeros(values.len().next_multiple_of(TILE))?;
    device.stream().memcpy_htod(values, &mut padded.slice_mut(..values.len()))?;
    Ok(padded)
}
