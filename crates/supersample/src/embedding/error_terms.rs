//! Error terms: the three terms of E² (eq. 9) in the precision that its size needs. Every decision between f32 and f64
//! is made in this file.
//!
//! Under [`Precision::Mixed`] kernel values of large samples are f32 and every sum is f64. All three terms of eq. 9 use
//! the same f32 kernel values, so their common errors (the rounding of the points, the bias of the exponential) cancel
//! in E_T. What remains is the rounding of each pair, of size u = 1e-7 or so. It does not average out, because a
//! chooser takes the best of n nearly equal candidates, and with it the largest of n sums of T rounding errors: each
//! pick makes E_T² look smaller by (1/T²)·E[max of n errors of size √T·u], T picks by a few u/√T. Where this is no
//! longer negligible, μ at the chosen points and their pairs are computed in f64. ‖μ‖², the mean of all n² pairs
//! without any choice, is only biased, and the bias is measured on the pairs of some of the samples, until E_T is so
//! small that all of them are needed.
//!
//! **Products.** Squared distances of wide rows are ‖x‖² + ‖y‖² − 2x·y in f32 where a bound on the mean error allows it
//! (`Coordinates::allow_products`): half of the instructions of differences. The bound is of means over the samples, which
//! the chosen points resemble; a single value of two rows that are both far from the centre, and near each other, may be
//! off by more. Tiles, kernel rows and both orders of a pair give the same number, so errors cancel in E_T as above.
//! Landmarks use differences, a GPU has its own rule.
//!
//! **On a GPU** μ at the samples may come from products (tensor cores), while kernel rows come from differences, so
//! their errors do not cancel. So E_T never uses f32 there: its terms at the chosen points are f64, which costs a GPU
//! almost nothing, and the bias of ‖μ‖² is measured with products if these were used. With landmarks everything is
//! computed from differences, and the rules are those of the CPU.
//!
//! The points stay as f32 has rounded them ("widened"): all three terms then belong to the same points. Mixing rounded
//! and original points would lose the precision again.
//!
//! E_T² is a difference of near-equal numbers and is never clamped silently. `Pick::squared_error` is the number as
//! computed, and `Pool::error_floor` says where rounding takes over.

use std::sync::{Arc, OnceLock};

use super::{Empirical, MeanEmbedding, Values, as_landmarks, as_samples, check_definite};
use crate::row_sampling::subsample;
use crate::sum::{Packed, Precision};
use crate::watch::{Progress, Watch, unwatched};
use crate::{Error, Points, Result};

/// The error of E_T² in f32 is below this divided by √T (tests/precision.rs).
const MIXED_ERROR: f64 = 5e-7;

/// Samples on whose pairs the bias of ‖μ‖² is measured, and the error that is left: 1e-7 over the root of 3·10⁷ pairs.
const SAMPLED: usize = 8192;
const SAMPLED_ERROR: f64 = 2e-11;

/// An error of one part in 500 in E_T² is one part in 1000 in E_T, which is what we promise.
const PROMISED: f64 = 500.0;

/// Pairs summed between two calls of a watch, on the CPU and on a GPU: a few milliseconds.
const PAIRS_AT_ONCE: [usize; 2] = [1 << 22, 1 << 31];

/// Means at up to this number of points are summed by several threads together, with another rounding than those of
/// more.
const FEW: usize = 64;

/// Source of ‖μ‖² in f64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NormFrom {
    /// From f32, less its bias on some of the samples.
    SampledBias,
    /// From all pairs of samples, in f64.
    AllPairs,
}

/// Samples as f32 has rounded them, in f64, if they were needed.
#[derive(Debug, Default)]
pub(super) struct Widened {
    packed: OnceLock<Packed>,
    sampled_bias: OnceLock<f64>,
    full_norm: OnceLock<f64>,
}

/// Packs points for kernel rows with a target, and returns the target in the precision of the points.
pub(crate) fn pack(mu: Arc<dyn MeanEmbedding>, points: &Points) -> (Arc<dyn MeanEmbedding>, Packed) {
    if let Some(landmarks) = as_landmarks(&*mu) {
        if let Some(packed) = landmarks.pack_beside(points) {
            return (mu, packed);
        }
        let landmarks = landmarks.in_double();
        let packed = landmarks.pack_beside(points).expect("double precision takes any points");
        return (Arc::new(landmarks), packed);
    }
    // Where μ is exact, the kernel rows must be too: their errors would no longer cancel in E_T.
    let Some(samples) = as_samples(&*mu) else {
        let packed = Values::of(&*mu).packed(points);
        return (mu, packed);
    };
    if let Some(packed) = samples.pack_beside(points) {
        return (mu, packed);
    }
    // The samples are f32, but the points are spread too widely for it: f64 for both.
    let samples = samples.in_double();
    let packed = samples.pack_beside(points).expect("double precision takes any points");
    (Arc::new(samples), packed)
}

/// Terms of E² of a target, each as exact as needed.
#[derive(Clone, Copy)]
pub(crate) struct ErrorTerms<'a> {
    mu: &'a dyn MeanEmbedding,
    /// The samples, or those behind landmarks, which give exact μ.
    samples: Option<&'a Empirical>,
    /// The samples, where their kernel values are f32.
    mixed: Option<&'a Empirical>,
    /// Whether ‖μ‖² is an estimate, which f64 does not improve.
    is_estimated: bool,
    /// Whether f32 on this device leaves errors that do not cancel.
    is_unbalanced: bool,
}

impl<'a> ErrorTerms<'a> {
    pub(crate) fn of(mu: &'a dyn MeanEmbedding) -> ErrorTerms<'a> {
        let landmarks = as_landmarks(mu);
        let samples = as_samples(mu).or_else(|| landmarks.and_then(|landmarks| landmarks.samples()));
        let mixed = samples.filter(|samples| samples.precision_in_use() == Precision::Mixed);
        let is_unbalanced = landmarks.is_none() && mixed.is_some_and(Empirical::is_on_gpu);
        ErrorTerms { mu, samples, mixed, is_estimated: landmarks.is_some(), is_unbalanced }
    }

    /// How ‖μ‖² must be computed, with the other terms in f64, to reach the promised precision of a squared error of
    /// this many points; `None` if the present terms are good enough.
    pub(crate) fn norm_needed(&self, squared_error: f64, points: f64) -> Option<NormFrom> {
        let is_small = self.is_unbalanced || squared_error * points.sqrt() < PROMISED * MIXED_ERROR;
        if self.mixed.is_none() || !is_small {
            None
        } else if squared_error >= PROMISED * SAMPLED_ERROR || self.is_estimated {
            Some(NormFrom::SampledBias)
        } else {
            Some(NormFrom::AllPairs)
        }
    }

    /// ‖μ‖² in f64, of the samples, rounded to f32 if f32 is in use.
    pub(crate) fn squared_norm(&self, from: NormFrom) -> Option<f64> {
        match self.mixed {
            None => self.mu.squared_norm(),
            Some(samples) if from == NormFrom::AllPairs => {
                // It is not interrupted; a failed device is reported elsewhere.
                Some(samples.widened_norm(&unwatched).unwrap_or_default())
            }
            Some(samples) => self.mu.squared_norm().map(|norm| norm - samples.sampled_bias()),
        }
    }

    /// μ in f64 at points that go with the samples, rounded to f32 if f32 is in use.
    pub(crate) fn values(&self, points: &Points) -> Vec<f64> {
        let mut values = vec![0.0; points.len()];
        match self.mixed {
            Some(samples) => samples.means(Some(&samples.widen(points)), samples.widened(), &mut values),
            None => self.exact().values_into(points, &mut values),
        }
        values
    }

    /// μ at points in the precision of the samples, in blocks; `watch` is called and cannot end it.
    pub(crate) fn means_told(samples: &Empirical, points: &Points, watch: Watch) -> Vec<f64> {
        let (total, dim) = (points.len(), points.dim());
        let at_once = (pairs_at_once(Some(samples)) / samples.points().len()).max(64);
        let mut means = vec![0.0; total];
        let chunks = points.as_slice().chunks(at_once * dim).zip(means.chunks_mut(at_once));
        for (i, (numbers, means)) in chunks.enumerate() {
            let _ = watch(Progress::Measuring { done: i * at_once, total });
            let some = Points::from_rows(numbers, dim).expect("points are finite");
            samples.values_into(&some, means);
        }
        means
    }

    /// An error if the device of the samples has failed.
    pub(crate) fn check_device(&self) -> Result<()> {
        self.samples.map_or(Ok(()), |samples| samples.device().check())
    }

    /// Exact μ, if these are landmarks of samples in memory.
    fn exact(&self) -> &dyn MeanEmbedding {
        self.samples.map_or(self.mu, |samples| samples)
    }

    /// These points packed in f64, rounded to f32 if f32 is in use: for [`sum_over`](Self::sum_over).
    pub(crate) fn precise(&self, points: &Points) -> Packed {
        match self.mixed {
            // On the host, for any number: more points are added one by one.
            Some(samples) => samples.packed().of_some(points).widened(),
            None => Values::of(self.mu).packed(points),
        }
    }

    /// One more point to those that are packed in f64.
    pub(crate) fn push(&self, points: &mut Packed, x: &[f64]) {
        match self.mixed {
            Some(samples) => points.push(&samples.widen(&one_point(x)).host().rounded()),
            None => points.push(x),
        }
    }

    /// Σⱼ aⱼ k(x, zⱼ) over points that are packed in f64.
    pub(crate) fn sum_over(&self, points: &Packed, weights: &[f64], x: &[f64]) -> f64 {
        let at = match self.mixed {
            Some(samples) => samples.widen(&one_point(x)),
            None => points.of_some(&one_point(x)),
        };
        let mut sum = [0.0];
        at.mean_into(points, Some(weights), &mut sum);
        sum[0]
    }

    /// Σⱼ aⱼ k(xᵢ, zⱼ) in f64 at each point x, the points rounded to f32 if f32 is in use.
    pub(crate) fn sums(&self, at: &Points, points: &Points, weights: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; at.len()];
        let packed = self.precise(points);
        let at = match self.mixed {
            Some(samples) => samples.widen(at),
            None => packed.beside(at).expect("double precision takes any points"),
        };
        at.mean_into(&packed, Some(weights), &mut sums);
        sums
    }

    /// E² of weighted points that go with the samples, with this ‖μ‖² and the other terms in f64.
    ///
    /// # Panics
    /// If ‖μ‖² is not known.
    pub(crate) fn squared_error_from(&self, from: NormFrom, points: &Points, weights: &[f64]) -> f64 {
        let energy = self.energy(points, weights, &unwatched).expect("it cannot be interrupted");
        self.squared_norm(from).expect("‖μ‖² is known") + energy
    }

    /// E² of any weighted points in f64, as exact as we promise.
    pub(crate) fn squared_error(&self, points: &Points, weights: &[f64], watch: Watch) -> Result<f64> {
        // The points are spread too widely for f32, and the samples are f32: all pairs in f64.
        if let Some(samples) = self.mixed.filter(|samples| samples.pack_beside(points).is_none()) {
            let double = samples.in_double();
            let terms = ErrorTerms::of(&double);
            if self.is_estimated {
                let norm = self.squared_norm(NormFrom::SampledBias).ok_or(Error::UnknownNorm)?;
                return Ok(norm + terms.energy(points, weights, watch)?);
            }
            return terms.squared_error(points, weights, watch);
        }
        if let Some(samples) = as_samples(self.mu) {
            samples.prepare(watch)?;
        }
        let energy = self.energy(points, weights, watch)?;
        let squared_error = self.squared_norm(NormFrom::SampledBias).ok_or(Error::UnknownNorm)? + energy;
        self.check_device()?;
        check_definite(self.mu, squared_error)?;
        // As for one point: with any weights, the number of points does not reduce the error.
        match (self.norm_needed(squared_error, 1.0), self.mixed) {
            (Some(NormFrom::AllPairs), Some(samples)) => Ok(samples.widened_norm(watch)? + energy),
            _ => Ok(squared_error),
        }
    }

    /// E² − ‖μ‖² of weighted points in f64, in blocks.
    fn energy(&self, points: &Points, weights: &[f64], watch: Watch) -> Result<f64> {
        let (total, samples) = (points.len(), self.samples.map_or(1, |samples| samples.points().len()));
        let at_once = (pairs_at_once(self.samples) / total.max(samples)).max(64);
        let energy_of = |at: &Points, weights_at: &[f64]| {
            let against = |values: Vec<f64>| values.iter().zip(weights_at).map(|(v, w)| v * w).sum::<f64>();
            against(self.sums(at, points, weights)) - 2.0 * against(self.values(at))
        };
        if total <= at_once {
            return Ok(energy_of(points, weights));
        }
        let mut energy = 0.0;
        for (i, weights_at) in weights.chunks(at_once).enumerate() {
            if watch(Progress::Measuring { done: i * at_once, total }).is_break() {
                return Err(Error::Interrupted);
            }
            let rows: Vec<usize> = (i * at_once..).take(weights_at.len()).collect();
            energy += energy_of(&points.select(&rows)?, weights_at);
        }
        Ok(energy)
    }

    /// E² of weighted points from their E² − ‖μ‖² in f64; `None` if ‖μ‖² is not known.
    pub(crate) fn squared_error_of_energy(
        &self,
        points: &Points,
        weights: &[f64],
        energy: f64,
        watch: Watch,
    ) -> Result<Option<f64>> {
        if self.mixed.is_none() {
            return Ok(self.mu.squared_norm().map(|norm| norm + energy));
        }
        // ‖μ‖² in f64 would cost all pairs of the samples once more.
        match self.squared_error(points, weights, watch) {
            Err(Error::Interrupted) => Err(Error::Interrupted),
            known => Ok(known.ok()),
        }
    }

    /// ‖μ‖² in f64 of the given samples, from all of their pairs.
    pub(crate) fn double_squared_norm(&self) -> Option<f64> {
        match self.mixed {
            Some(samples) if !self.is_estimated => Some(samples.double_squared_norm()),
            _ => self.squared_norm(NormFrom::SampledBias),
        }
    }

    /// μ in f64 at any points, of the samples as given; in blocks, so that `watch` can end it.
    pub(crate) fn double_values(&self, points: &Points, watch: Watch) -> Result<Vec<f64>> {
        let double = self.mixed.map(Empirical::in_double);
        let mu = double.as_ref().map_or(self.exact(), |samples| samples);
        let (total, dim) = (points.len(), points.dim());
        let at_once = match self.samples {
            Some(samples) if !samples.is_on_gpu() => pairs_at_once(None) / samples.points().len(),
            _ => total,
        };
        // Never a small block alone, which would be summed in another order.
        let at_once = at_once.max(2 * FEW);
        let mut values = vec![0.0; total];
        let mut done = 0;
        while done < total {
            if watch(Progress::Measuring { done, total }).is_break() {
                return Err(Error::Interrupted);
            }
            let end = if total - done <= at_once + FEW { total } else { done + at_once };
            match end - done == total {
                true => mu.values_into(points, &mut values),
                false => {
                    let some = Points::from_rows(&points.as_slice()[done * dim..end * dim], dim)?;
                    mu.values_into(&some, &mut values[done..end]);
                }
            }
            done = end;
        }
        Ok(values)
    }
}

fn one_point(x: &[f64]) -> Points {
    Points::from_rows(x, x.len()).expect("a chosen point is finite")
}

fn pairs_at_once(samples: Option<&Empirical>) -> usize {
    PAIRS_AT_ONCE[usize::from(samples.is_some_and(Empirical::is_on_gpu))]
}

impl Empirical {
    /// Packs the samples: by products where that is safe and faster.
    pub(super) fn pack_samples(&self) -> Packed {
        let precision = self.precision_asked();
        let is_for_products =
            precision == Precision::Mixed && self.device().gpu_for(self.points().len()).is_none();
        let products = is_for_products
            .then(|| Packed::by_products(self.kernel(), self.points(), self.weights()))
            .flatten();
        match products {
            Some(packed) => packed.with_device(self.device()),
            None => Packed::on(self.device(), self.kernel(), self.points(), precision),
        }
    }

    /// Whether long sums are computed on a GPU.
    fn is_on_gpu(&self) -> bool {
        self.packed_on_gpu().is_some()
    }

    fn widened_norm(&self, watch: Watch) -> Result<f64> {
        if let Some(&norm) = self.cached.widened.full_norm.get() {
            return Ok(norm);
        }
        let mut values = vec![0.0; self.points().len()];
        if self.means_watched(None, self.widened(), &mut values, Some(watch)).is_break() {
            return Err(Error::Interrupted);
        }
        self.device().check()?;
        Ok(*self.cached.widened.full_norm.get_or_init(|| self.mean_of(&values)))
    }

    /// What f32 adds to ‖μ‖², measured on the pairs of some of the samples.
    fn sampled_bias(&self) -> f64 {
        *self.cached.widened.sampled_bias.get_or_init(|| {
            let rows = subsample(self.points().len(), SAMPLED);
            let weights: Vec<f64> = match self.weights_in_use() {
                Some((weights, _)) => rows.iter().map(|&row| weights[row]).collect(),
                None => vec![1.0; rows.len()],
            };
            let total: f64 = weights.iter().sum();
            let some = self.points().select(&rows).expect("rows of the samples");
            let packed = self.packed().some_alike(&some);
            let mean = |packed: &Packed| {
                let mut sums = vec![0.0; rows.len()];
                packed.own_mean_into(Some(&weights), &mut sums);
                sums.iter().zip(&weights).map(|(sum, w)| sum * w).sum::<f64>() / (total * total)
            };
            // Samples of weight zero give no information about the bias.
            if total > 0.0 { mean(&packed) - mean(&packed.widened()) } else { 0.0 }
        })
    }

    fn widened(&self) -> &Packed {
        self.cached.widened.packed.get_or_init(|| self.packed().widened())
    }

    fn widen(&self, points: &Points) -> Packed {
        self.pack_beside(points).expect("points that were packed before can be packed again").widened()
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::Kernel;

    /// Chosen weights depend on every bit of them.
    #[test]
    fn values_that_come_in_parts_are_those_that_come_at_once() {
        let draws =
            |n: usize| Points::from_vec((0..3 * n).map(|i| (i as f64 * 0.7).sin()).collect(), 3).unwrap();
        let mu = Empirical::new(Kernel::gaussian(0.8).unwrap(), draws(30_000)).unwrap();
        // Fewer than are summed at once, a part and a few more, and several parts with a few at the end.
        for (count, wanted) in [(60, 1), (200, 1), (139 * 3 + 20, 3)] {
            let (points, parts) = (draws(count), AtomicUsize::new(0));
            let found = ErrorTerms::of(&mu).double_values(&points, &|_| {
                parts.fetch_add(1, Ordering::SeqCst);
                ControlFlow::Continue(())
            });
            let mut at_once = vec![0.0; count];
            mu.in_double().values_into(&points, &mut at_once);
            assert_eq!((found.unwrap(), parts.into_inner()), (at_once, wanted));
        }
    }
}
