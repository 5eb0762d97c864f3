//! The mean embedding of weighted samples, exact: μ(x) = Σⱼ wⱼ k(x, xⱼ).

use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use super::MeanEmbedding;
use super::error_terms::Widened;
use crate::sum::{Packed, Precision};
use crate::watch::Watch;
use crate::{Device, Error, Kernel, Points, Result, points};

/// Mean embedding of samples with equal or given weights.
///
/// μ at a point costs n kernel values. Its values on the samples themselves (n²/2 kernel values) are computed once, when
/// first needed, and shared by all clones: a second herder over the same embedding starts at once.
///
/// ```
/// use supersample::{Empirical, Kernel, MeanEmbedding, Points, Precision};
/// let draws = Points::from_rows(&[0.3, 0.25, 0.4, 0.2, 0.5, 0.125], 2)?;
/// let mu = Empirical::new(Kernel::gaussian(0.5f64.sqrt())?, draws.clone())?.precision(Precision::Double);
/// let mut values = [0.0; 3];
/// mu.values_into(&draws, &mut values);
/// assert!((values[1] - 0.9906914124997632).abs() < 1e-15);
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Empirical {
    kernel: Kernel,
    points: Points,
    weights: Option<Arc<[f64]>>,
    precision: Precision,
    device: Device,
    pub(super) cached: Arc<Cached>,
}

/// Values computed so far.
#[derive(Debug, Default)]
pub(super) struct Cached {
    packed: OnceLock<Packed>,
    /// The weights as f32 rounds them, and their sum.
    rounded_weights: OnceLock<(Vec<f64>, f64)>,
    own_values: OnceLock<Vec<f64>>,
    double_squared_norm: OnceLock<f64>,
    pub(super) widened: Widened,
}

impl Empirical {
    /// Creates the embedding of samples of equal weight.
    pub fn new(kernel: Kernel, points: Points) -> Result<Empirical> {
        Ok(Empirical {
            kernel,
            points,
            weights: None,
            precision: Precision::default(),
            device: Device::cpu(),
            cached: Arc::default(),
        })
    }

    /// Creates the embedding of weighted samples. Weights are finite, not negative, not all zero, and are normalised to
    /// sum to one.
    pub fn weighted(kernel: Kernel, points: Points, weights: &[f64]) -> Result<Empirical> {
        let weights = points::normalised(weights, "samples", points.len())?;
        Ok(Empirical { weights: Some(weights.into()), ..Empirical::new(kernel, points)? })
    }

    /// Sets the precision of kernel values; [`Precision::Mixed`] is the default.
    pub fn precision(self, precision: Precision) -> Empirical {
        Empirical { precision, cached: Arc::default(), ..self }
    }

    /// Sets the device for long sums; the CPU is the default.
    pub fn on(self, device: Device) -> Empirical {
        Empirical { device, cached: Arc::default(), ..self }
    }

    /// Device for long sums.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The samples.
    pub fn points(&self) -> &Points {
        &self.points
    }

    /// The weights, which sum to one; `None` means equal weights.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// Precision in use: double instead of mixed if the samples are few or spread too widely.
    pub fn precision_in_use(&self) -> Precision {
        self.packed().precision()
    }

    /// Computes μ on the samples themselves: n²/2 kernel values.
    ///
    /// Herding over the samples needs them. `watch` is called from the working threads every few milliseconds.
    /// [`Break`](ControlFlow::Break) ends it with [`Error::Interrupted`]; the embedding is then unchanged.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use supersample::{Empirical, Error, Kernel, Points, Progress};
    /// let draws = Points::from_rows(&[0.3, 0.4, 0.5], 1)?;
    /// let mu = Empirical::new(Kernel::gaussian(1.0)?, draws)?;
    /// assert_eq!(mu.prepare(&|_| ControlFlow::Break(())), Err(Error::Interrupted));
    /// mu.prepare(&|progress| {
    ///     assert_eq!(progress, Progress::Embedding { done: 6, total: 6 });
    ///     ControlFlow::Continue(())
    /// })?;
    /// # Ok::<(), supersample::Error>(())
    /// ```
    pub fn prepare(&self, watch: Watch) -> Result<()> {
        if self.cached.own_values.get().is_some() {
            return Ok(());
        }
        let mut values = vec![0.0; self.points.len()];
        if self.means_watched(None, self.packed(), &mut values, Some(watch)).is_break() {
            return Err(Error::Interrupted);
        }
        self.device.check()?;
        // If two threads get here, the first wins: the values are equal.
        let _ = self.cached.own_values.set(values);
        Ok(())
    }

    /// Sets μ on the samples from an earlier [`Empirical`] of the same samples, weights, kernel and precision (see
    /// [`recalled`](Self::recalled)).
    ///
    /// This saves the n²/2 kernel values. The numbers are not checked: wrong ones give wrong picks.
    ///
    /// ```
    /// use supersample::{Empirical, Kernel, MeanEmbedding, Points};
    /// let draws = Points::from_rows(&[0.3, 0.4, 0.5], 1)?;
    /// let mu = Empirical::new(Kernel::gaussian(1.0)?, draws.clone())?;
    /// assert!(mu.recalled().is_none() && mu.squared_norm().is_some());
    /// let values = mu.recalled().expect("computed for the norm").to_vec();
    /// let again = Empirical::new(Kernel::gaussian(1.0)?, draws)?.recall(values)?;
    /// assert_eq!(again.squared_norm(), mu.squared_norm());
    /// # Ok::<(), supersample::Error>(())
    /// ```
    pub fn recall(self, values: Vec<f64>) -> Result<Empirical> {
        if values.len() != self.points.len() {
            let (found, expected) = (values.len(), self.points.len());
            return Err(Error::RecalledCount { found, expected });
        }
        let what = "value of the mean embedding";
        if let Some(index) = values.iter().position(|value| !value.is_finite()) {
            return Err(Error::NonFiniteNumber { what, index, value: values[index] });
        }
        // New, so that other clones keep what they compute themselves.
        let cached = Cached { own_values: OnceLock::from(values), ..Cached::default() };
        Ok(Empirical { cached: Arc::new(cached), ..self })
    }

    /// μ on the samples, if computed.
    pub fn recalled(&self) -> Option<&[f64]> {
        self.cached.own_values.get().map(Vec::as_slice)
    }

    /// ‖μ‖² in f64 for any precision, for distances without a herder. Costs n²/2 kernel values, once.
    pub fn double_squared_norm(&self) -> f64 {
        if self.precision_in_use() == Precision::Double {
            return self.mean_of(self.own_values());
        }
        *self.cached.double_squared_norm.get_or_init(|| {
            let double = self.in_double();
            double.mean_of(double.own_values())
        })
    }

    /// These samples in f64.
    pub(crate) fn in_double(&self) -> Empirical {
        if self.precision_in_use() == Precision::Double {
            return self.clone();
        }
        self.clone().precision(Precision::Double)
    }

    /// The precision that was asked for, or double where the samples are few.
    pub(super) fn precision_asked(&self) -> Precision {
        if self.points.len() < Precision::MIXED_FROM { Precision::Double } else { self.precision }
    }

    /// Samples packed in the coordinates and precision of other points; `None` if they are spread too widely for it.
    pub(super) fn packed_beside(&self, other: &Packed) -> Option<Empirical> {
        let cached = Cached { packed: OnceLock::from(other.beside(&self.points)?), ..Cached::default() };
        Some(Empirical { cached: Arc::new(cached), ..self.clone() })
    }

    /// Points packed for sums with the samples and with each other; `None` if they are spread too widely for the
    /// precision in use.
    pub(crate) fn pack_beside(&self, points: &Points) -> Option<Packed> {
        if points.is_same_as(&self.points) {
            Some(self.packed().clone())
        } else {
            self.packed().beside(points)
        }
    }

    /// The samples packed for sums, where they are on a GPU.
    pub(super) fn packed_on_gpu(&self) -> Option<&Packed> {
        Some(self.packed()).filter(|packed| packed.gpu().is_some())
    }

    /// The weighted mean of `values`, one for each sample.
    pub(crate) fn mean_of(&self, values: &[f64]) -> f64 {
        match self.weights_in_use() {
            Some((weights, total)) => weights.iter().zip(values).map(|(w, v)| w * v).sum::<f64>() / total,
            None => values.iter().sum::<f64>() / values.len() as f64,
        }
    }

    /// The weights by which kernel values are summed, and their sum. In f32 they are rounded first, so that all terms
    /// of an error belong to the same target: rounding them in some terms only would cost what f32 otherwise keeps.
    pub(super) fn weights_in_use(&self) -> Option<(&[f64], f64)> {
        let weights = self.weights()?;
        if self.precision_in_use() == Precision::Double {
            return Some((weights, 1.0));
        }
        let (rounded, total) = self.cached.rounded_weights.get_or_init(|| {
            let rounded: Vec<f64> = weights.iter().map(|&w| f64::from(w as f32)).collect();
            let total = rounded.iter().sum();
            (rounded, total)
        });
        Some((rounded, *total))
    }

    /// μ at packed points from packed samples; at the samples themselves where no points are given.
    pub(super) fn means(&self, at: Option<&Packed>, samples: &Packed, out: &mut [f64]) {
        let _ = self.means_watched(at, samples, out, None);
    }

    /// [`means`](Self::means) with a watch, needed only for the samples themselves.
    pub(super) fn means_watched(
        &self,
        at: Option<&Packed>,
        samples: &Packed,
        out: &mut [f64],
        watch: Option<Watch>,
    ) -> ControlFlow<()> {
        let in_use = self.weights_in_use();
        let weights = in_use.map(|(weights, _)| weights);
        match at {
            Some(at) => at.mean_into(samples, weights, out),
            None => samples.own_mean_watched(weights, out, watch)?,
        }
        if let Some((_, total)) = in_use {
            out.iter_mut().for_each(|mean| *mean /= total);
        }
        ControlFlow::Continue(())
    }

    pub(super) fn packed(&self) -> &Packed {
        self.cached.packed.get_or_init(|| self.pack_samples())
    }

    fn own_values(&self) -> &[f64] {
        self.cached.own_values.get_or_init(|| {
            let mut values = vec![0.0; self.points.len()];
            self.means(None, self.packed(), &mut values);
            values
        })
    }
}

impl MeanEmbedding for Empirical {
    fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    fn dim(&self) -> usize {
        self.points.dim()
    }

    fn values_into(&self, points: &Points, out: &mut [f64]) {
        if points.is_same_as(&self.points) {
            return out.copy_from_slice(self.own_values());
        }
        match self.packed().beside(points) {
            Some(at) => self.means(Some(&at), self.packed(), out),
            None => self.in_double().values_into(points, out),
        }
    }

    fn gradient_into(&self, x: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.fill(0.0);
        let equal = 1.0 / self.points.len() as f64;
        let weighted_rows = self.points.rows().enumerate();
        let values = weighted_rows.map(|(j, y)| {
            let weight = self.weights().map_or(equal, |weights| weights[j]);
            weight * self.kernel.add_gradient(x, y, weight, gradient)
        });
        values.sum()
    }

    /// The weighted mean of μ over the samples: free once μ is known there, n²/2 kernel values otherwise.
    fn squared_norm(&self) -> Option<f64> {
        Some(self.mean_of(self.own_values()))
    }

    fn mean_diagonal(&self) -> Option<f64> {
        let diagonal: Vec<f64> = self.points.rows().map(|x| self.kernel.diagonal(x)).collect();
        Some(self.mean_of(&diagonal))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn gradients_agree_with_central_differences() {
        let points = Points::from_rows(&[0.1, 0.7, -0.4, 0.2, 0.9, -0.3], 2).unwrap();
        for text in ["gaussian(0.6)", "laplace(1)", "matern52(0.8)", "imq(1)", "linear"] {
            let mu = Empirical::weighted(text.parse().unwrap(), points.clone(), &[1.0, 2.0, 0.5]).unwrap();
            let mu = mu.precision(Precision::Double);
            let value = |x: [f64; 2]| {
                let mut out = [0.0];
                mu.values_into(&Points::from_rows(&x, 2).unwrap(), &mut out);
                out[0]
            };
            let mut gradient = [f64::NAN; 2];
            assert!((mu.gradient_into(&[0.3, 0.3], &mut gradient) - value([0.3, 0.3])).abs() < 1e-15);
            let h = 1e-5;
            let differences = [
                (value([0.3 + h, 0.3]) - value([0.3 - h, 0.3])) / (2.0 * h),
                (value([0.3, 0.3 + h]) - value([0.3, 0.3 - h])) / (2.0 * h),
            ];
            for (got, want) in gradient.iter().zip(differences) {
                assert!((got - want).abs() < 1e-9, "{text}: {got} {want}");
            }
        }
    }

    #[test]
    fn a_recalled_embedding_must_fit_the_samples() {
        let points = Points::from_rows(&[0.0, 1.0], 1).unwrap();
        let recall = |values| Empirical::new(Kernel::linear(), points.clone()).unwrap().recall(values);
        assert_eq!(recall(vec![0.0, 0.5]).unwrap().recalled(), Some(&[0.0, 0.5][..]));
        assert_eq!(recall(vec![0.5]).err(), Some(Error::RecalledCount { found: 1, expected: 2 }));
        assert!(matches!(recall(vec![0.5, f64::NAN]).err(), Some(Error::NonFiniteNumber { index: 1, .. })));
    }

    #[test]
    fn bad_weights_are_refused() {
        let points = Points::from_rows(&[0.0, 1.0], 1).unwrap();
        let with = |weights: &[f64]| Empirical::weighted(Kernel::linear(), points.clone(), weights).err();
        assert_eq!(with(&[1.0, -1.0]), Some(Error::BadWeight { index: 1, value: -1.0 }));
        assert_eq!(with(&[0.0, 0.0]), Some(Error::ZeroWeights));
        assert_eq!(with(&[1.0]), Some(Error::WeightCount { what: "samples", found: 1, expected: 2 }));
    }
}
