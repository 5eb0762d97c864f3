//! Landmarks: a mean embedding at linear cost, with an error bar.
//!
//! The mean embedding of n rows is projected on the span of r landmarks z:
//!
//! > mᵢ = Σⱼ wⱼ k(zᵢ, xⱼ),  α = (K + ε·I)⁻¹ m,  μ̃ = Σᵢ αᵢ k(·, zᵢ),  K = k(zᵢ, zⱼ).
//!
//! This costs n·r kernel values instead of n²/2. The error at x is a product of two residuals, |μ(x) − μ̃(x)| ≤ ‖φ(x) −
//! Pφ(x)‖·‖μ − Pμ‖, so it is far smaller than that of a subsample. ‖μ‖² is estimated: αᵀm is exactly the mean of μ̃
//! over the rows, and the difference, the mean of μ − μ̃, is taken over some random rows, the *control points*, at
//! which μ is exact too. This is a control variate, with a standard error. The samples are kept if they are in memory,
//! and reported errors use exact μ at the chosen rows, so only ‖μ‖² is an estimate.
//!
//! Sums at landmarks and control points add up over batches and machines ([`LandmarkSums`], made of [`KernelSums`]);
//! [`Landmarks`] is the resulting embedding. `solve.rs` derives ε. Landmarks, control points and rows are packed in one
//! set of coordinates, so that f32 rounds them alike. There is no second round with the chosen rows as further
//! landmarks (`bench/ours`, `landmarks quality`, measures the loss at r = 2T).

mod bytes;
mod carry;
mod numbers;
mod recall;
mod solve;
mod sums;

use std::sync::{Arc, OnceLock};

pub(crate) use self::carry::effective_size;
pub use self::sums::KernelSums;
use super::{Empirical, MeanEmbedding};
use crate::sum::{self, Packed, Precision};
use crate::watch::{Progress, Watch, unwatched};
use crate::{Device, Error, Kernel, Points, Result};

/// Rows whose values are computed between two calls of a watch.
const ROWS_AT_ONCE: usize = 16_384;

/// Kernel sums at landmarks and control points over rows that come in batches.
///
/// ```
/// use supersample::embedding::{LandmarkSums, MeanEmbedding};
/// use supersample::{Empirical, Kernel, Points, Precision, unwatched};
/// let rows = Points::from_vec((0..900).map(|i| (i as f64 * 0.7).sin()).collect(), 1)?;
/// let landmarks = rows.select(&(0..30).collect::<Vec<_>>())?;
/// let controls = rows.select(&(0..900).step_by(9).collect::<Vec<_>>())?;
/// let kernel = Kernel::gaussian(0.5)?;
/// let mut sums = LandmarkSums::new(kernel.clone(), landmarks, Some(controls), Precision::Mixed)?;
/// for batch in 0..3 {
///     let batch = rows.select(&(batch * 300..(batch + 1) * 300).collect::<Vec<_>>())?;
///     sums.update(&batch, None, &unwatched)?;
/// }
/// let sums = LandmarkSums::from_bytes(&sums.to_bytes())?; // as small as the landmarks
/// let mu = sums.finish()?;
/// let exact = Empirical::new(kernel, rows)?.squared_norm().unwrap();
/// assert!((mu.squared_norm().unwrap() - exact).abs() < 1e-6);
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LandmarkSums {
    /// At the landmarks, then at the control points.
    sums: KernelSums,
    landmarks: usize,
}

impl LandmarkSums {
    /// Creates empty sums.
    ///
    /// Control points are distinct random rows, or draws in proportion to the weights of the rows. Without them ‖μ‖² is
    /// not known. Kernel values are f32 if asked for and safe.
    pub fn new(
        kernel: Kernel,
        landmarks: Points,
        controls: Option<Points>,
        precision: Precision,
    ) -> Result<LandmarkSums> {
        let count = landmarks.len();
        let points = match controls {
            None => landmarks,
            Some(controls) => {
                controls.expect_dim("the control points", "the landmarks", landmarks.dim())?;
                Points::from_vec([landmarks.as_slice(), controls.as_slice()].concat(), landmarks.dim())?
            }
        };
        Ok(LandmarkSums { sums: KernelSums::new(kernel, points, precision), landmarks: count })
    }

    /// Sets the device for further rows; the CPU is the default.
    pub fn on(self, device: &Device) -> LandmarkSums {
        LandmarkSums { sums: self.sums.on(device), ..self }
    }

    /// Adds a batch of rows; see [`KernelSums::update`].
    pub fn update(&mut self, rows: &Points, weights: Option<&[f64]>, watch: Watch) -> Result<()> {
        self.sums.update(rows, weights, watch)
    }

    /// Adds the rows of other sums with the same landmarks, control points, kernel and precision. The order of merging
    /// affects only the last digits.
    pub fn merge(&mut self, other: &LandmarkSums) -> Result<()> {
        if self.landmarks != other.landmarks {
            return Err(Error::OtherLandmarks);
        }
        self.sums.merge(&other.sums)
    }

    /// The sums, with the kernel, the points, and the number and weight of the rows.
    pub fn sums(&self) -> &KernelSums {
        &self.sums
    }

    /// Number of landmarks; the other points are control points.
    pub fn landmarks(&self) -> usize {
        self.landmarks
    }

    /// Returns the embedding of the rows so far. Costs r³/3 steps. An error if no row with a weight was added.
    pub fn finish(&self) -> Result<Landmarks> {
        self.finish_watched(&unwatched)
    }

    /// [`finish`](Self::finish) with a watch: [`Break`](std::ops::ControlFlow::Break) ends it with
    /// [`Error::Interrupted`], and the sums are unchanged.
    pub fn finish_watched(&self, watch: Watch) -> Result<Landmarks> {
        solve::solve(self, watch)
    }
}

/// Mean embedding of many rows, projected on landmarks.
///
/// It is made from [sums](LandmarkSums::finish) over rows that need not be in memory, or [from samples](Self::of) in
/// memory. With samples, the MMD of chosen rows uses exact μ at these rows, and only ‖μ‖² is an estimate.
#[derive(Clone, Debug)]
pub struct Landmarks {
    kernel: Kernel,
    /// The landmarks as rounded by packing, in their own units.
    points: Points,
    packed: Packed,
    /// The packed landmarks in f64, for points that are spread too widely for f32.
    wide: Arc<OnceLock<Packed>>,
    coefficients: Vec<f64>,
    /// Constant added to the expansion for a kernel of equal masses: there μ is known up to a constant.
    offset: f64,
    ridge: f64,
    mean_diagonal: f64,
    norm: Option<EstimatedNorm>,
    sums: Arc<LandmarkSums>,
    /// The rows, if they are in memory, packed in the coordinates of the landmarks.
    samples: Option<Empirical>,
}

/// ‖μ‖² and the other estimates from control points.
#[derive(Clone, Copy, Debug, PartialEq)]
struct EstimatedNorm {
    squared: f64,
    standard_error: f64,
    /// ‖μ − μ̃‖², which noise can make slightly negative.
    squared_residual: f64,
}

impl Landmarks {
    /// Creates the embedding of samples in memory.
    ///
    /// Costs n·(r + S) kernel values for r landmarks and S control points, and r³/3 steps. If `watch` ends it, the
    /// result is [`Error::Interrupted`].
    ///
    /// ```
    /// use supersample::embedding::Landmarks;
    /// use supersample::{Empirical, Herder, Kernel, Points, Pool, unwatched};
    /// let rows = Points::from_vec((0..900).map(|i| (i as f64 * 0.7).sin()).collect(), 1)?;
    /// let samples = Empirical::new(Kernel::gaussian(0.5)?, rows.clone())?;
    /// let landmarks = rows.select(&(0..30).collect::<Vec<_>>())?;
    /// let controls = rows.select(&(0..900).step_by(9).collect::<Vec<_>>())?;
    /// let mu = Landmarks::of(&samples, landmarks, controls, &unwatched)?;
    /// let picks = Herder::over(Pool::new(mu, rows.clone())?).run(10);
    /// let exact = Herder::over(Pool::new(samples, rows)?).run(10);
    /// assert!((picks[9].error.unwrap() - exact[9].error.unwrap()).abs() < 1e-4);
    /// # Ok::<(), supersample::Error>(())
    /// ```
    pub fn of(samples: &Empirical, landmarks: Points, controls: Points, watch: Watch) -> Result<Landmarks> {
        let (mut sums, samples) = begin(samples, landmarks, controls)?;
        // Rows on the GPU are used for the sums and for the pool.
        let packed = samples.packed_on_gpu();
        sums.sums.update_packed(samples.points(), packed, samples.weights(), watch)?;
        Ok(Landmarks { samples: Some(samples), ..sums.finish_watched(watch)? })
    }

    /// Restores the result of [`of`](Self::of) from the samples, landmarks, control points and
    /// [numbers](Self::recalled) of an earlier run. The numbers are not checked.
    pub fn recall(
        samples: &Empirical,
        landmarks: Points,
        controls: Points,
        numbers: &[f64],
    ) -> Result<Landmarks> {
        let (sums, samples) = begin(samples, landmarks, controls)?;
        let (rows, is_weighted) = (samples.points().len() as u64, samples.weights().is_some());
        let sums = sums.recalled(numbers, rows, is_weighted)?;
        Ok(Landmarks { samples: Some(samples), ..sums.finish()? })
    }

    /// Numbers for [`recall`](Self::recall), which took long to compute.
    pub fn recalled(&self) -> Vec<f64> {
        self.sums.numbers()
    }

    /// The landmarks, rounded to the precision in use.
    pub fn points(&self) -> &Points {
        &self.points
    }

    /// α: the coefficients of the landmarks.
    pub fn coefficients(&self) -> &[f64] {
        &self.coefficients
    }

    /// ε: the number added to the diagonal of the landmarks' kernel matrix.
    pub fn ridge(&self) -> f64 {
        self.ridge
    }

    /// The sums behind the embedding, to which rows can be added.
    pub fn sums(&self) -> &LandmarkSums {
        &self.sums
    }

    /// Residual ‖μ − μ̃‖: the part of the mean embedding that the landmarks miss, estimated at the control points;
    /// `None` without them.
    pub fn residual(&self) -> Option<f64> {
        self.norm.map(|norm| norm.squared_residual.max(0.0).sqrt())
    }

    /// This embedding where the sums have an error of their own, of this expected square in the norm of the kernel's space.
    pub(crate) fn with_error(mut self, squared: f64) -> Landmarks {
        if let Some(norm) = &mut self.norm {
            // It is no part of μ as computed, but of the distance to the μ of the rows.
            norm.squared += squared;
            norm.standard_error = norm.standard_error.hypot(squared);
        }
        self
    }

    /// μ̃ at points, watched.
    pub(crate) fn values_at(&self, points: &Points, watch: Watch) -> Result<Vec<f64>> {
        let mut values = vec![0.0; points.len()];
        let beside = if self.packed.device().is_gpu() { self.pack_beside(points) } else { None };
        match beside.filter(|at| at.gpu().is_some()) {
            Some(at) => self.values_on_gpu(&at, &mut values, watch)?,
            None => self.values_watched(points, &mut values, watch)?,
        }
        Ok(values)
    }

    /// μ̃ at points that are on the GPU already.
    fn values_on_gpu(&self, at: &Packed, out: &mut [f64], watch: Watch) -> Result<()> {
        let (each, total) = (self.points.len().max(1) as u64, out.len());
        let watched = |done: u64, _| watch(Progress::Projecting { done: (done / each) as usize, total });
        if at.mean_watched(&self.packed, Some(&self.coefficients), out, &watched).is_break() {
            return Err(Error::Interrupted);
        }
        if self.offset != 0.0 {
            out.iter_mut().for_each(|value| *value += self.offset);
        }
        self.packed.device().check()
    }

    fn values_watched(&self, points: &Points, out: &mut [f64], watch: Watch) -> Result<()> {
        let (dim, total) = (points.dim(), points.len());
        let chunks = points.as_slice().chunks(ROWS_AT_ONCE * dim).zip(out.chunks_mut(ROWS_AT_ONCE));
        for (i, (numbers, out)) in chunks.enumerate() {
            if watch(Progress::Projecting { done: i * ROWS_AT_ONCE, total }).is_break() {
                return Err(Error::Interrupted);
            }
            let some =
                if numbers.len() == total * dim { points.clone() } else { Points::from_rows(numbers, dim)? };
            match self.packed.beside(&some) {
                Some(at) => at.mean_into(&self.packed, Some(&self.coefficients), out),
                None => {
                    let at = self.wide().beside(&some).expect("double precision takes any points");
                    at.mean_into(self.wide(), Some(&self.coefficients), out);
                }
            }
            if self.offset != 0.0 {
                out.iter_mut().for_each(|value| *value += self.offset);
            }
        }
        Ok(())
    }

    fn wide(&self) -> &Packed {
        self.wide.get_or_init(|| {
            Packed::new(&self.kernel, &self.points, Precision::Double).with_device(self.packed.device())
        })
    }

    /// The samples, if they are in memory: exact μ.
    pub(crate) fn samples(&self) -> Option<&Empirical> {
        self.samples.as_ref()
    }

    /// Points packed in the coordinates of the landmarks; `None` if they are spread too widely for their precision.
    pub(super) fn pack_beside(&self, points: &Points) -> Option<Packed> {
        match self.samples() {
            Some(samples) => samples.pack_beside(points),
            None => self.packed.beside(points),
        }
    }

    /// This embedding with the same sums and further kernel values in f64.
    pub(super) fn in_double(&self) -> Landmarks {
        let samples = self.samples().map(Empirical::in_double);
        Landmarks { packed: self.wide().clone(), samples, ..self.clone() }
    }
}

/// Empty sums, and the samples packed in the coordinates of their points.
fn begin(samples: &Empirical, landmarks: Points, controls: Points) -> Result<(LandmarkSums, Empirical)> {
    let with = |precision: Precision| {
        let kernel = samples.kernel().clone();
        let sums = LandmarkSums::new(kernel, landmarks.clone(), Some(controls.clone()), precision)?;
        Ok::<_, Error>(sums.on(samples.device()))
    };
    // In f32 the sums at landmarks have errors that average out over the rows, and α fits what is left: ‖μ‖² is too large by
    // 1e-5/ESS or so. Weights that leave few rows need f64 as few rows do.
    let is_few =
        samples.weights().is_some_and(|w| effective_size(Some(w), w.len()) < Precision::MIXED_FROM as f64);
    let sums = with(if is_few { Precision::Double } else { samples.precision_asked() })?;
    landmarks.expect_dim("the landmarks", "the samples", samples.points().dim())?;
    if let Some(samples) = samples.packed_beside(sums.sums.packing()) {
        return Ok((sums, samples));
    }
    // The samples are spread too widely for f32: f64 for both.
    let sums = with(Precision::Double)?;
    let samples = samples.packed_beside(sums.sums.packing()).expect("double precision takes any points");
    Ok((sums, samples))
}

impl MeanEmbedding for Landmarks {
    fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    fn dim(&self) -> usize {
        self.points.dim()
    }

    /// μ̃, r kernel values for each.
    fn values_into(&self, points: &Points, out: &mut [f64]) {
        self.values_watched(points, out, &unwatched).expect("it cannot be interrupted");
    }

    fn gradient_into(&self, x: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.fill(0.0);
        let (z, coefficients) = (self.points.as_slice(), &self.coefficients);
        self.offset + sum::add_gradient_into(&self.kernel, x, z, coefficients, 1.0, gradient)
    }

    /// ‖μ‖² of all rows, estimated; its standard error is [`squared_norm_error`](Self::squared_norm_error). `None`
    /// without control points.
    fn squared_norm(&self) -> Option<f64> {
        self.norm.map(|norm| norm.squared)
    }

    fn squared_norm_error(&self) -> Option<f64> {
        self.norm.map(|norm| norm.standard_error)
    }

    fn mean_diagonal(&self) -> Option<f64> {
        Some(self.mean_diagonal)
    }

    /// The [residual](Self::residual) plus three standard errors; 0 without control points, where errors are not known.
    fn error_bound(&self) -> f64 {
        self.norm.map_or(0.0, |norm| (norm.squared_residual.max(0.0) + 3.0 * norm.standard_error).sqrt())
    }
}
