//! Kernel rows that are kept on the device, and the searches that read them.

use std::fmt;

use cudarc::driver::CudaSlice;

use crate::device::Device;
use crate::error::Result;
use crate::launch::Arg;
use crate::points::Points;
use crate::scores::{Candidates, Scores};

/// k(xᵢ, y) at every point x, in the precision of the points.
pub struct KernelRow {
    device: Device,
    len: usize,
    values: Values,
}

enum Values {
    Mixed(CudaSlice<f32>),
    Double(CudaSlice<f64>),
}

impl fmt::Debug for KernelRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KernelRow({} on {:?})", self.len, self.device)
    }
}

impl Points {
    /// A row of zeros for [`fill_row`](Self::fill_row).
    pub fn empty_row(&self) -> Result<KernelRow> {
        let (device, padded) = (self.device().clone(), self.padded());
        let values = if self.is_mixed() {
            Values::Mixed(device.zeros(padded)?)
        } else {
            Values::Double(device.zeros(padded)?)
        };
        Ok(KernelRow { device, len: self.len(), values })
    }

    /// Bytes that a row takes.
    pub fn row_bytes(&self) -> usize {
        self.padded() * if self.is_mixed() { size_of::<f32>() } else { size_of::<f64>() }
    }

    /// Writes the kernel row of `y`.
    ///
    /// # Panics
    /// Where the row was not made by [`empty_row`](Self::empty_row) of these points.
    pub fn fill_row(&self, y: &[f64], row: &mut KernelRow) -> Result<()> {
        let y = self.upload_point(y)?;
        self.fill(y.pointer(self.device()), 1, row)
    }

    /// Writes the kernel row of point `i`, which need not come from the host.
    ///
    /// # Panics
    /// Where there is no such point, or the row was not made by [`empty_row`](Self::empty_row) of these points.
    pub fn fill_row_of(&self, i: usize, row: &mut KernelRow) -> Result<()> {
        assert!(i < self.len(), "point {i} of {}", self.len());
        self.fill(self.pointer(i), self.padded(), row)
    }

    fn fill(&self, y: Arg, y_stride: usize, row: &mut KernelRow) -> Result<()> {
        let device = self.device();
        let function = device.for_shape(self.shape(), &format!("fill_row_{}", self.suffix()))?;
        let [factors, factor_count] = self.factors();
        let args = [
            self.pointer(0),
            Arg::long(self.padded()),
            Arg::int(self.dim()),
            Arg::long(self.len()),
            y,
            Arg::long(y_stride),
            row.pointer_for(self),
            factors,
            factor_count,
        ];
        device.launch(&function, device.blocks_for_pass(self.len()), 0, &args)
    }

    /// One point in the coordinates of these, on the device.
    pub(crate) fn upload_point(&self, y: &[f64]) -> Result<OnePoint> {
        assert_eq!(y.len(), self.dim());
        let (centre, unit) = (self.coordinates().centre(), self.coordinates().unit());
        let packed = y.iter().zip(centre).map(|(y, c)| (y - c) * unit);
        Ok(if self.is_mixed() {
            let packed: Vec<f32> = packed.map(|y| y.clamp(-1e15, 1e15) as f32).collect();
            OnePoint::Mixed(self.device().upload(&packed)?)
        } else {
            let packed: Vec<f64> = packed.map(|y| y.clamp(-1e150, 1e150)).collect();
            OnePoint::Double(self.device().upload(&packed)?)
        })
    }
}

/// The coordinates of one point on the device.
pub(crate) enum OnePoint {
    Mixed(CudaSlice<f32>),
    Double(CudaSlice<f64>),
}

impl OnePoint {
    pub(crate) fn pointer(&self, device: &Device) -> Arg {
        match self {
            OnePoint::Mixed(y) => device.at(y, 0),
            OnePoint::Double(y) => device.at(y, 0),
        }
    }
}

/// Random numbers on the device, one for each point, for [`KernelRow::argmax_with_noise`].
pub struct Noise(CudaSlice<f32>);

impl Noise {
    /// These numbers.
    pub fn new(device: &Device, numbers: &[f32]) -> Result<Noise> {
        Ok(Noise(device.upload(numbers)?))
    }
}

impl KernelRow {
    /// The value at point `i`.
    pub fn get(&self, i: usize) -> Result<f64> {
        assert!(i < self.len, "point {i} of {}", self.len);
        let stream = self.device.stream();
        Ok(match &self.values {
            Values::Mixed(values) => f64::from(stream.clone_dtoh(&values.slice(i..i + 1))?[0]),
            Values::Double(values) => stream.clone_dtoh(&values.slice(i..i + 1))?[0],
        })
    }

    /// All values.
    pub fn to_vec(&self) -> Result<Vec<f64>> {
        let stream = self.device.stream();
        Ok(match &self.values {
            Values::Mixed(values) => {
                stream.clone_dtoh(&values.slice(..self.len))?.into_iter().map(f64::from).collect()
            }
            Values::Double(values) => stream.clone_dtoh(&values.slice(..self.len))?,
        })
    }

    /// Adds `weight` times the row to the running sums.
    pub fn add_to(&self, weight: f64, scores: &mut Scores) -> Result<()> {
        let sums = scores.settled_sums()?;
        let args = [self.pointer(), Arg::long(self.len), Arg::Double(weight), sums];
        let function = self.device.common(&format!("add_row_{}", self.suffix()))?;
        self.device.launch(&function, self.device.blocks_for_pass(self.len), 0, &args)
    }

    /// Adds this row to the running sums and takes another from them.
    ///
    /// # Panics
    /// Where the two are not rows of the same points.
    pub fn exchange(&self, other: &KernelRow, scores: &mut Scores) -> Result<()> {
        assert!(self.len == other.len && self.suffix() == other.suffix(), "a row of other points");
        let sums = scores.settled_sums()?;
        let args = [self.pointer(), other.pointer(), Arg::long(self.len), sums];
        let function = self.device.common(&format!("exchange_rows_{}", self.suffix()))?;
        self.device.launch(&function, self.device.blocks_for_pass(self.len), 0, &args)
    }

    /// The largest of sumᵢ + kᵢ and the lowest index that has it; `None` where all are −∞.
    pub fn argmax_with(&self, scores: &mut Scores) -> Result<Option<(usize, f64)>> {
        self.best_with(scores, Arg::NULL, 0.0)
    }

    /// The largest of sumᵢ + kᵢ + `scale`·noiseᵢ and the lowest index that has it; `None` where all are −∞.
    ///
    /// # Panics
    /// Where there is less noise than there are points.
    pub fn argmax_with_noise(
        &self,
        scores: &mut Scores,
        noise: &Noise,
        scale: f64,
    ) -> Result<Option<(usize, f64)>> {
        assert!(noise.0.len() >= self.len);
        self.best_with(scores, self.device.at(&noise.0, 0), scale)
    }

    fn best_with(&self, scores: &mut Scores, noise: Arg, scale: f64) -> Result<Option<(usize, f64)>> {
        let sums = scores.settled_sums()?;
        let grid = self.device.blocks_for_pass(self.len);
        let found = Candidates::new(&self.device, grid.0 as usize)?;
        let args = [
            self.pointer(),
            Arg::long(self.len),
            sums,
            noise,
            Arg::Double(scale),
            found.pointer(&self.device),
        ];
        let function = self.device.common(&format!("best_with_row_{}", self.suffix()))?;
        self.device.launch(&function, grid, 0, &args)?;
        Ok(found.best(&self.device)?.map(|pick| (pick.index, pick.score)))
    }

    /// All i with sumᵢ + kᵢ ≥ `least`, in order, each with that sum.
    pub fn at_least(&self, scores: &mut Scores, least: f64, found: &mut Vec<(usize, f64)>) -> Result<()> {
        let sums = scores.settled_sums()?;
        let device = &self.device;
        let count = device.zeros::<u64>(1)?;
        let (indices, values) = (device.zeros::<i64>(self.len)?, device.zeros::<f64>(self.len)?);
        let args = [
            self.pointer(),
            Arg::long(self.len),
            sums,
            Arg::Double(least),
            device.at(&count, 0),
            device.at(&indices, 0),
            device.at(&values, 0),
        ];
        let function = device.common(&format!("at_least_{}", self.suffix()))?;
        device.launch(&function, device.blocks_for_pass(self.len), 0, &args)?;
        found.clear();
        let many = device.stream().clone_dtoh(&count)?[0] as usize;
        if many > 0 {
            let indices = device.stream().clone_dtoh(&indices.slice(..many))?;
            let values = device.stream().clone_dtoh(&values.slice(..many))?;
            found.extend(indices.into_iter().map(|i| i as usize).zip(values));
            // Blocks write as they find.
            found.sort_unstable_by_key(|&(i, _)| i);
        }
        Ok(())
    }

    pub(crate) fn pointer_for(&mut self, points: &Points) -> Arg {
        assert!(self.len == points.len() && self.suffix() == points.suffix(), "a row of other points");
        self.pointer()
    }

    fn pointer(&self) -> Arg {
        match &self.values {
            Values::Mixed(values) => self.device.at(values, 0),
            Values::Double(values) => self.device.at(values, 0),
        }
    }

    fn suffix(&self) -> &'static str {
        match self.values {
            Values::Mixed(_) => "f32",
            Values::Double(_) => "f64",
        }
    }
}
