//! When E_T becomes too small for f32: what rounding hides, computed in f64 on the very points that f32 sees.
//!
//! Under [`Precision::Mixed`] all three terms of eq. 9 are made of the same f32 kernel values, so whatever is common to
//! these values (the rounding of the points, the bias of the exponential) cancels in E_T as it would in f64. What
//! remains is the rounding of each pair, 1e-7 or so. It does not average out: a chooser takes the best of many nearly
//! equal candidates, and so those whose T rounding errors, √T·1e-7 in all, flatter them. Summed over T picks and
//! divided by T² that makes E_T² look smaller by a few 1e-7/√T. Where this is no longer negligible, μ at the chosen
//! points and their pairs are computed in f64. ‖μ‖², the mean of n² pairs that nobody chose among, is only biased, and
//! the bias is measured on the pairs of some of the samples, until E_T is so small that all of them are needed.
//!
//! The points stay as f32 has rounded them: all three terms then belong to the same points, which are as good as the
//! original ones, while mixing the two would cost what was gained.

use super::{Empirical, MeanEmbedding};
use crate::Points;
use crate::row_sampling::subsample;
use crate::sum::{Packed, Precision};

/// The error of E_T² in f32 is below this divided by √T (tests/precision.rs).
const MIXED_ERROR: f64 = 5e-7;

/// Samples on whose pairs the bias of ‖μ‖² is measured, and the error that is left: 1e-7 over the root of 3·10⁷ pairs.
const SAMPLED: usize = 8192;
const SAMPLED_ERROR: f64 = 2e-11;

/// An error of one part in 500 in E_T² is one part in 1000 in E_T, which is what we promise.
const PROMISED: f64 = 500.0;

/// How ‖μ‖² is computed beside chosen points in f64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Care {
    /// From f32, less its bias on some of the samples.
    Sampled,
    /// From all pairs of samples, in f64.
    Full,
}

impl Empirical {
    /// How the squared error of this many points must be computed to be right to what we promise; `None` where it is.
    pub(crate) fn care_needed(&self, squared_error: f64, points: f64) -> Option<Care> {
        if self.precision_in_use() == Precision::Double
            || squared_error * points.sqrt() >= PROMISED * MIXED_ERROR
        {
            None
        } else if squared_error >= PROMISED * SAMPLED_ERROR {
            Some(Care::Sampled)
        } else {
            Some(Care::Full)
        }
    }

    /// ‖μ‖² of the samples as f32 has rounded them, in f64.
    pub(crate) fn widened_squared_norm(&self, care: Care) -> f64 {
        match care {
            Care::Full => *self.known.widened_norm.get_or_init(|| {
                let mut values = vec![0.0; self.points().len()];
                self.means(None, self.widened(), &mut values);
                self.mean_of(&values)
            }),
            Care::Sampled => {
                let rows = subsample(self.points().len(), SAMPLED);
                let weights: Vec<f64> = match self.weights_in_use() {
                    Some((weights, _)) => rows.iter().map(|&row| weights[row]).collect(),
                    None => vec![1.0; rows.len()],
                };
                let total: f64 = weights.iter().sum();
                let some = self.points().select(&rows).expect("rows of the samples");
                let packed =
                    self.pack_beside(&some).expect("some of the samples are no wider spread than all");
                let mean = |packed: &Packed| {
                    let mut sums = vec![0.0; rows.len()];
                    packed.own_mean_into(Some(&weights), &mut sums);
                    sums.iter().zip(&weights).map(|(sum, w)| sum * w).sum::<f64>() / (total * total)
                };
                // Samples without weight among the many say nothing of the bias.
                let bias = if total > 0.0 { mean(&packed) - mean(&packed.widened()) } else { 0.0 };
                self.squared_norm().expect("samples know their norm") - bias
            }
        }
    }

    /// μ at points that the samples are spread as wide as, all as f32 has rounded them, in f64.
    pub(crate) fn widened_values(&self, points: &Points) -> Vec<f64> {
        let mut values = vec![0.0; points.len()];
        self.means(Some(&self.widen_beside(points)), self.widened(), &mut values);
        values
    }

    /// Σⱼ aⱼ k(xᵢ, zⱼ) at each point x, all as f32 has rounded them, in f64.
    pub(crate) fn widened_sums(&self, at: &Points, points: &Points, weights: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; at.len()];
        self.widen_beside(at).mean_into(&self.widen_beside(points), Some(weights), &mut sums);
        sums
    }

    fn widened(&self) -> &Packed {
        self.known.widened.get_or_init(|| self.packed().widened())
    }

    fn widen_beside(&self, points: &Points) -> Packed {
        self.pack_beside(points).expect("points that were packed before can be packed again").widened()
    }
}
