//! Kernel sums over batches: Σⱼ wⱼ k(yᵢ, xⱼ) at fixed points y, for rows x that come in any number of batches.

use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use crate::expansion::expect_same_kernel;
use crate::sum::{Packed, Precision};
use crate::watch::{Progress, Watch};
use crate::{Device, Error, Kernel, Points, Result};

/// Cost of the kernel values between two calls of a watch, in coordinates: a few milliseconds.
const COORDINATES_AT_ONCE: usize = 1 << 30;

/// Rows packed at once: few enough for the caches, and for memory if the caller owns the rows.
const ROWS_AT_ONCE: std::ops::RangeInclusive<usize> = 1024..=65_536;

/// Rows that go to a GPU at once.
const ROWS_AT_ONCE_ON_GPU: usize = 1 << 20;

/// Kernel sums Σⱼ wⱼ k(yᵢ, xⱼ) at points y over rows x that come in batches.
///
/// For data that do not fit into memory, or are on several machines. Batches are [added](Self::update), sums of parts
/// are [merged](Self::merge), and [`means`](Self::means) is μ at the points, exact to the precision of the kernel
/// values. Rows without weights have weight 1.
///
/// ```
/// use supersample::embedding::KernelSums;
/// use supersample::{Empirical, Kernel, MeanEmbedding, Points, Precision, unwatched};
/// let rows = Points::from_vec((0..60).map(|i| (i as f64 * 0.7).sin()).collect(), 1)?;
/// let at = Points::from_rows(&[-0.5, 0.0, 0.5], 1)?;
/// let kernel = Kernel::gaussian(0.3)?;
/// let mut sums = KernelSums::new(kernel.clone(), at.clone(), Precision::Double);
/// sums.update(&rows.select(&(0..40).collect::<Vec<_>>())?, None, &unwatched)?;
/// sums.update(&rows.select(&(40..60).collect::<Vec<_>>())?, None, &unwatched)?;
/// let mut exact = [0.0; 3];
/// Empirical::new(kernel, rows)?.values_into(&at, &mut exact);
/// assert!(sums.means()?.iter().zip(exact).all(|(mean, exact)| (mean - exact).abs() < 1e-14));
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct KernelSums {
    kernel: Kernel,
    /// The given points y, and their packing.
    points: Points,
    packed: Packed,
    /// The packed points in f64, for batches that are spread too widely for f32.
    wide: Arc<OnceLock<Packed>>,
    pub(super) totals: Totals,
}

/// Totals over the batches.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Totals {
    /// Σⱼ wⱼ k(yᵢ, xⱼ) for each point.
    pub(super) sums: Vec<f64>,
    /// Σⱼ wⱼ
    pub(super) weight: f64,
    /// Σⱼ wⱼ k(xⱼ, xⱼ)
    pub(super) diagonal: f64,
    pub(super) rows: u64,
    pub(super) is_weighted: bool,
}

impl Totals {
    pub(super) fn of_nothing(points: usize) -> Totals {
        Totals { sums: vec![0.0; points], weight: 0.0, diagonal: 0.0, rows: 0, is_weighted: false }
    }

    pub(super) fn add(&mut self, other: &Totals) {
        self.sums.iter_mut().zip(&other.sums).for_each(|(sum, other)| *sum += other);
        self.weight += other.weight;
        self.diagonal += other.diagonal;
        self.rows += other.rows;
        self.is_weighted |= other.is_weighted;
    }
}

impl KernelSums {
    /// Creates empty sums. Kernel values are f32 if asked for and safe; their sums are f64.
    pub fn new(kernel: Kernel, points: Points, precision: Precision) -> KernelSums {
        let packed = Packed::new(&kernel, &points, precision);
        KernelSums::packed(kernel, points, packed)
    }

    /// Creates empty sums at other points, rounded like these, so that common errors cancel when the two are compared.
    pub fn at(&self, points: Points) -> Result<KernelSums> {
        points.expect_dim("the points", "the sums", self.points.dim())?;
        let packed = self.packed.beside(&points);
        let packed = packed.unwrap_or_else(|| {
            Packed::new(&self.kernel, &points, Precision::Double).with_device(self.packed.device())
        });
        Ok(KernelSums::packed(self.kernel.clone(), points, packed))
    }

    fn packed(kernel: Kernel, points: Points, packed: Packed) -> KernelSums {
        let totals = Totals::of_nothing(points.len());
        KernelSums { kernel, points, packed, wide: Arc::default(), totals }
    }

    /// Sets the device for further rows; the CPU is the default.
    pub fn on(self, device: &Device) -> KernelSums {
        KernelSums { packed: self.packed.with_device(device), wide: Arc::default(), ..self }
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The points y.
    pub fn points(&self) -> &Points {
        &self.points
    }

    /// The precision of the kernel values.
    pub fn precision(&self) -> Precision {
        self.packed.precision()
    }

    /// Number of rows so far.
    pub fn rows(&self) -> u64 {
        self.totals.rows
    }

    /// Sum of the weights of the rows; 1 for each row without weights.
    pub fn weight(&self) -> f64 {
        self.totals.weight
    }

    /// Adds a batch of rows, with weights (finite, not negative) or with weight 1.
    ///
    /// `watch` is called every few milliseconds with the number of rows added. If it ends the work, or a weight is bad,
    /// the sums are unchanged.
    pub fn update(&mut self, rows: &Points, weights: Option<&[f64]>, watch: Watch) -> Result<()> {
        self.update_packed(rows, None, weights, watch)
    }

    /// [`update`](Self::update) with rows that may already be packed in the coordinates of the points.
    pub(super) fn update_packed(
        &mut self,
        rows: &Points,
        packed: Option<&Packed>,
        weights: Option<&[f64]>,
        watch: Watch,
    ) -> Result<()> {
        rows.expect_dim("the batch", "the points of the sums", self.points.dim())?;
        if let Some(weights) = weights {
            if weights.len() != rows.len() {
                let (found, expected) = (weights.len(), rows.len());
                return Err(Error::WeightCount { what: "rows of the batch", found, expected });
            }
            if let Some(index) = weights.iter().position(|w| !w.is_finite() || *w < 0.0) {
                return Err(Error::BadWeight { index, value: weights[index] });
            }
        }
        let dim = rows.dim();
        let at_once = COORDINATES_AT_ONCE / self.points.len().saturating_mul(8 + dim);
        let at_once = match (packed, self.packed.device().is_gpu()) {
            (Some(_), _) => rows.len(),
            (None, true) => ROWS_AT_ONCE_ON_GPU,
            (None, false) => at_once.clamp(*ROWS_AT_ONCE.start(), *ROWS_AT_ONCE.end()),
        };
        let mut added = Totals::of_nothing(self.points.len());
        for (i, numbers) in rows.as_slice().chunks(at_once * dim).enumerate() {
            let (start, count) = (i * at_once, numbers.len() / dim);
            let batch = if count == rows.len() { rows.clone() } else { Points::from_rows(numbers, dim)? };
            let weights = weights.map(|weights| &weights[start..start + count]);
            added.add(&self.totals_of(&batch, packed, weights, watch)?);
            let (done, total) = ((start + count) as u64, rows.len() as u64);
            if watch(Progress::Summing { done, total }).is_break() {
                return Err(Error::Interrupted);
            }
        }
        self.packed.device().check()?;
        if let Some(&value) = added.sums.iter().chain([&added.weight]).find(|value| !value.is_finite()) {
            return Err(Error::Overflow { value });
        }
        self.totals.add(&added);
        Ok(())
    }

    fn totals_of(
        &self,
        batch: &Points,
        packed: Option<&Packed>,
        weights: Option<&[f64]>,
        watch: Watch,
    ) -> Result<Totals> {
        let mut totals = Totals::of_nothing(self.points.len());
        totals.rows = batch.len() as u64;
        totals.is_weighted = weights.is_some();
        let weighed = weights.map(|weights| scaled(weights, self.precision()));
        let (at, samples) = match packed.cloned().or_else(|| self.packed.beside(batch)) {
            Some(samples) => (&self.packed, samples),
            None => {
                let samples = self.wide().beside(batch).expect("double precision takes any points");
                (self.wide(), samples)
            }
        };
        // A batch on the GPU may hold all rows.
        let (points, total) = (self.points.len().max(1) as u64, batch.len() as u64);
        let watched = |done: u64, _| watch(Progress::Summing { done: done / points, total });
        let sum = |weights: Option<&[f64]>, sums: &mut [f64]| match at
            .mean_watched(&samples, weights, sums, &watched)
        {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Interrupted),
        };
        let diagonal = |j: usize| self.kernel.diagonal(batch.row(j));
        let constant = self.kernel.constant_diagonal();
        let scale = match &weighed {
            None => {
                sum(None, &mut totals.sums)?;
                totals.weight = batch.len() as f64;
                let varying = || (0..batch.len()).map(diagonal).sum();
                totals.diagonal = constant.map_or_else(varying, |diagonal| diagonal * totals.weight);
                totals.weight
            }
            Some((weights, unit)) => {
                sum(Some(weights), &mut totals.sums)?;
                totals.weight = unit * weights.iter().sum::<f64>();
                let varying = || weights.iter().enumerate().map(|(j, w)| unit * w * diagonal(j)).sum();
                totals.diagonal = constant.map_or_else(varying, |diagonal| diagonal * totals.weight);
                *unit
            }
        };
        totals.sums.iter_mut().for_each(|sum| *sum *= scale);
        Ok(totals)
    }

    /// Adds the rows of other sums at the same points, after these.
    pub fn merge(&mut self, other: &KernelSums) -> Result<()> {
        expect_same_kernel(&self.kernel, &other.kernel)?;
        other.points.expect_dim("one of the sums", "the other", self.points.dim())?;
        if self.points != other.points || self.precision() != other.precision() {
            return Err(Error::OtherLandmarks);
        }
        self.totals.add(&other.totals);
        Ok(())
    }

    /// Returns μ at each point: the sums divided by the weight of all rows. An error if no row with a weight was added.
    pub fn means(&self) -> Result<Vec<f64>> {
        if self.totals.weight <= 0.0 {
            return Err(Error::NothingSummed);
        }
        Ok(self.totals.sums.iter().map(|sum| sum / self.totals.weight).collect())
    }

    /// The packed points.
    pub(super) fn packing(&self) -> &Packed {
        &self.packed
    }

    /// The packed points in f64.
    fn wide(&self) -> &Packed {
        self.wide.get_or_init(|| {
            let rounded = Points::from_vec(self.packed.host().rounded(), self.points.dim());
            let wide =
                Packed::new(&self.kernel, &rounded.expect("packed points are finite"), Precision::Double);
            wide.with_device(self.packed.device())
        })
    }
}

/// Weights divided by a power of two near the largest, so that all fit into f32. They are rounded to f32 if the kernel
/// values are, so that all terms belong to the same target.
fn scaled(weights: &[f64], precision: Precision) -> (Vec<f64>, f64) {
    let largest = weights.iter().copied().fold(0.0, f64::max);
    let unit = if largest > 0.0 { largest.log2().floor().clamp(-1000.0, 1000.0).exp2() } else { 1.0 };
    let round = |w: f64| if precision == Precision::Double { w } else { f64::from(w as f32) };
    (weights.iter().map(|w| round(w / unit)).collect(), unit)
}
