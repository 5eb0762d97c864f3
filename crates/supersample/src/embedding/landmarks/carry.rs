//! Means carried over to other points, without another pass: by what landmarks know, and by a sample of the rows for the rest.
//!
//! With μ_S the mean embedding of a uniform sample and P the projection on the landmarks,
//!
//! > μ̂ = μ_S + P(μ − μ_S),  so that  μ̂ − μ = (I − P)(μ_S − μ).
//!
//! This is a control variate: P(μ − μ_S) is known exactly from the sums at the landmarks. What is left is the error of the sample in
//! what the landmarks do not see, of expected square E‖(I − P)φ(x)‖²/S.

use super::solve::Projector;
use super::sums::Totals;
use super::{KernelSums, LandmarkSums};
use crate::sum::{Packed, Precision};
use crate::{Points, Result, Watch};

/// Sample rows on which E‖(I − P)φ(x)‖² is estimated.
const LOOKED_AT: usize = 64;

/// μ̂ at points.
pub(crate) struct Carried {
    pub(crate) means: Vec<f64>,
    /// Expected ‖μ̂ − μ‖² for a sample that is a small part of the rows.
    pub(crate) squared_error: f64,
}

impl LandmarkSums {
    /// μ̂ at points, by these sums and a sample of their rows with its weights.
    pub(crate) fn carried(
        &self,
        sample: &Points,
        weights: Option<&[f64]>,
        at: &Points,
        watch: Watch,
    ) -> Result<Carried> {
        let (kernel, count) = (self.sums.kernel(), self.landmarks);
        let rounded = self.sums.rounded()?;
        let landmarks = rounded.select(&(0..count).collect::<Vec<_>>())?;
        // In f64, because the roundings of two packings differ.
        let points = Points::from_vec([landmarks.as_slice(), at.as_slice()].concat(), at.dim())?;
        let mut of_sample = KernelSums::new(kernel.clone(), points, Precision::Double);
        of_sample = of_sample.on(self.sums.packing().device());
        of_sample.update(sample, weights, watch)?;
        let mut means = of_sample.means()?;
        let values = means.split_off(count);
        let projector = Projector::new(kernel, &landmarks, self.sums.precision(), watch)?;
        let (known, of_sample) = (projector.project(&self.sums.means()?[..count]), projector.project(&means));
        let difference: Vec<f64> =
            known.coefficients.iter().zip(&of_sample.coefficients).map(|(a, b)| a - b).collect();
        let packed = Packed::new(kernel, &landmarks, Precision::Double);
        let beside = packed.beside(at).expect("double precision takes any points");
        let mut means = vec![0.0; at.len()];
        beside.mean_into(&packed, Some(&difference), &mut means);
        let offset = known.offset - of_sample.offset;
        means.iter_mut().zip(&values).for_each(|(mean, value)| *mean += value + offset);

        let (mut unexplained, mut of) = (0.0, 0.0);
        for row in (0..sample.len()).step_by(sample.len().div_ceil(LOOKED_AT)) {
            let x = sample.row(row);
            let weight = weights.map_or(1.0, |weights| weights[row] * weights[row]);
            let values: Vec<f64> = landmarks.rows().map(|z| kernel.value(z, x)).collect();
            unexplained += weight * projector.unexplained(&values, kernel.diagonal(x));
            of += weight;
        }
        let mean = if of > 0.0 { unexplained / of } else { 1.0 };
        Ok(Carried { means, squared_error: mean / effective_size(weights, sample.len()) })
    }

    /// These points with sums that give `means`, over as many rows as `of` has.
    pub(crate) fn with_means(mut self, means: &[f64], of: &LandmarkSums) -> LandmarkSums {
        let Totals { weight, diagonal, rows, is_weighted, .. } = of.sums.totals;
        let sums = means.iter().map(|mean| mean * weight).collect();
        self.sums.totals = Totals { sums, weight, diagonal, rows, is_weighted };
        self
    }

    /// These points with the sums of a sample that stands for the rows of `of`.
    pub(crate) fn with_sample(
        mut self,
        sample: &Points,
        weights: Option<&[f64]>,
        of: &LandmarkSums,
        watch: Watch,
    ) -> Result<LandmarkSums> {
        self.sums.update(sample, weights, watch)?;
        let (means, totals) = (self.sums.means()?, &self.sums.totals);
        let diagonal = totals.diagonal / totals.weight;
        let mut found = self.with_means(&means, of);
        found.sums.totals.diagonal = diagonal * found.sums.totals.weight;
        Ok(found)
    }

    /// Multiplies all weights so far by a factor.
    pub(crate) fn reweigh(&mut self, factor: f64) {
        let Totals { sums, weight, diagonal, .. } = &mut self.sums.totals;
        sums.iter_mut().chain([weight, diagonal]).for_each(|number| *number *= factor);
    }

    /// E k(x, x) over the rows.
    pub(crate) fn mean_diagonal(&self) -> f64 {
        self.sums.totals.diagonal / self.sums.totals.weight
    }
}

impl KernelSums {
    /// The points as they are rounded in the sums.
    pub(crate) fn rounded(&self) -> Result<Points> {
        Points::from_vec(self.packing().host().rounded(), self.points().dim())
    }
}

/// (Σ w)²/Σ w²
pub(crate) fn effective_size(weights: Option<&[f64]>, count: usize) -> f64 {
    weights.map_or(count as f64, |weights| {
        weights.iter().sum::<f64>().powi(2) / weights.iter().map(|w| w * w).sum::<f64>()
    })
}
