//! Options of a problem: scale, kernel, embedding, and what is matched beside the joint distribution.

use super::{EmbeddingChoice, FunctionValues, RowScores};
use crate::bandwidth::MedianDistance;
use crate::scale::Scale;
use crate::{Device, Error, Family, FunctionsUnit, Kernel, Points, Precision, Result};

/// Which kernel.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum KernelChoice {
    /// This one, its bandwidth in the units of the scaled points.
    Given(Kernel),
    /// The one of this family.
    Named {
        /// The family.
        family: Family,
        /// Its length; without effect on the linear and the energy kernel, which have none.
        bandwidth: Bandwidth,
    },
}

/// How long the bandwidth of a named kernel is.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Bandwidth {
    /// The median distance between two of the scaled points.
    #[default]
    Median,
    /// These lengths, in the units of the scaled points: one, or several for a sum of Gaussians.
    Lengths(Vec<f64>),
}

/// How rows are made ready.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ProblemOptions {
    /// How columns are brought to a common scale. Default [`Scale::Sd`].
    pub scale: Scale,
    /// The kernel. Default: gaussian, the median distance as its bandwidth.
    pub kernel: KernelChoice,
    /// The arithmetic of kernel values.
    pub precision: Precision,
    /// Whether rows of weight zero may be chosen too. Off by default: a row that stands for nothing would stand for a
    /// part of the whole.
    pub pool_without_weight: bool,
    /// Whether the mean embedding is exact, or projected on landmarks. Default: exact up to 100,000 rows.
    pub embedding: EmbeddingChoice,
    /// How many landmarks, which asks for some whatever the number of rows; by default twice the rows that are herded, and
    /// four times those of a set that is refined
    /// ([`default_landmarks`](super::default_landmarks)).
    pub landmarks: Option<usize>,
    /// How many rows, drawn at random, are chosen from where landmarks stand for the mean embedding; by default 200,000, or
    /// twenty for each that is to be chosen ([`default_pool_rows`](super::default_pool_rows)). Rows with weights, sets with
    /// constraints and runs without a number are chosen from all rows.
    pub pool_rows: Option<usize>,
    /// The seed of the rows that landmarks are chosen from, of the control rows, and of a sample to choose from.
    pub seed: u64,
    /// How much the distribution functions of the columns count beside the joint distribution (see [`Part`](crate::Part)); 0, the
    /// default, for nothing. [`MARGINALS`](super::MARGINALS) suits thinning.
    pub marginals: f64,
    /// Functions of the rows whose means are matched too. None by default.
    pub functions: Option<FunctionValues>,
    /// The unit in which the errors of their means count. Default: each in its own standard deviations.
    pub functions_unit: FunctionsUnit,
    /// The scores of the rows, where a density is to be matched and not the rows themselves. The kernel is then a Stein kernel,
    /// and [`kernel`](Self::kernel) has no effect.
    pub scores: Option<RowScores>,
    /// What long sums run on. Default: the CPU.
    pub device: Device,
}

impl Default for KernelChoice {
    fn default() -> KernelChoice {
        KernelChoice::Named { family: Family::default(), bandwidth: Bandwidth::Median }
    }
}

impl ProblemOptions {
    /// Columns brought to this scale.
    pub fn scale(self, scale: Scale) -> ProblemOptions {
        ProblemOptions { scale, ..self }
    }

    /// This kernel, its bandwidth in the units of the scaled points.
    pub fn kernel(self, kernel: Kernel) -> ProblemOptions {
        ProblemOptions { kernel: KernelChoice::Given(kernel), ..self }
    }

    /// The kernel of this family with a bandwidth that is given or the median distance.
    pub fn family(self, family: Family, bandwidth: Bandwidth) -> ProblemOptions {
        ProblemOptions { kernel: KernelChoice::Named { family, bandwidth }, ..self }
    }

    /// Kernel values in this precision.
    pub fn precision(self, precision: Precision) -> ProblemOptions {
        ProblemOptions { precision, ..self }
    }

    /// The mean embedding exact, or projected on landmarks.
    pub fn embedding(self, embedding: EmbeddingChoice) -> ProblemOptions {
        ProblemOptions { embedding, ..self }
    }

    /// So many landmarks, where the mean embedding is projected on landmarks.
    pub fn landmarks(self, landmarks: usize) -> ProblemOptions {
        ProblemOptions { landmarks: Some(landmarks), ..self }
    }

    /// The seed of the rows that landmarks are chosen from, and of the control rows.
    pub fn seed(self, seed: u64) -> ProblemOptions {
        ProblemOptions { seed, ..self }
    }

    /// So many rows, drawn at random, to choose from, where landmarks stand for the mean embedding.
    pub fn pool_rows(self, rows: usize) -> ProblemOptions {
        ProblemOptions { pool_rows: Some(rows), ..self }
    }

    /// Whether rows of weight zero may be chosen too.
    pub fn pool_without_weight(self, allowed: bool) -> ProblemOptions {
        ProblemOptions { pool_without_weight: allowed, ..self }
    }

    /// The distribution functions of the columns matched too, with this weight; 0 for not at all.
    pub fn marginals(self, weight: f64) -> ProblemOptions {
        ProblemOptions { marginals: weight, ..self }
    }

    /// The density with these scores matched, in place of the rows.
    pub fn scores(self, scores: RowScores) -> ProblemOptions {
        ProblemOptions { scores: Some(scores), ..self }
    }

    /// Long sums on this device.
    pub fn device(self, device: Device) -> ProblemOptions {
        ProblemOptions { device, ..self }
    }

    /// The errors of the functions' means in these units.
    pub fn functions_unit(self, unit: FunctionsUnit) -> ProblemOptions {
        ProblemOptions { functions_unit: unit, ..self }
    }

    /// The means of these functions matched too.
    pub fn functions(self, functions: FunctionValues) -> ProblemOptions {
        ProblemOptions { functions: Some(functions), ..self }
    }

    /// Refuses what no rows could be made ready with.
    pub(super) fn check(&self) -> Result<()> {
        let refuse = |option, value, advice| Err(Error::BadOption { option, value, advice });
        if self.landmarks == Some(0) {
            return refuse("the number of landmarks", 0.0, "ask for at least one");
        }
        if let (EmbeddingChoice::Exact, Some(asked)) = (self.embedding, self.landmarks) {
            let advice = "an exact embedding has none; leave the number out, or ask for landmarks";
            return refuse("the number of landmarks", asked as f64, advice);
        }
        if !(self.marginals >= 0.0 && self.marginals.is_finite()) {
            let advice = "a weight is a positive number, or 0 to match the joint distribution alone";
            return refuse("the weight of the marginals", self.marginals, advice);
        }
        if self.scores.is_some() && self.device.is_gpu() {
            let reason = "Stein kernels are not computed on a GPU; leave the device at cpu".to_string();
            return Err(Error::Device { reason });
        }
        Ok(())
    }
}

impl KernelChoice {
    /// The kernel for these points, which are scaled already, and the median distance where that was asked for.
    ///
    /// ```
    /// use supersample::Points;
    /// use supersample::task::KernelChoice;
    /// let points = Points::from_rows(&[0.0, 1.0, 3.0], 1)?;
    /// let (kernel, median) = KernelChoice::default().for_points(&points, None)?;
    /// assert_eq!((kernel.to_string().as_str(), median.unwrap().pairs), ("gaussian(2)", 3));
    /// # Ok::<(), supersample::Error>(())
    /// ```
    pub fn for_points(
        &self,
        points: &Points,
        weights: Option<&[f64]>,
    ) -> Result<(Kernel, Option<MedianDistance>)> {
        match self {
            KernelChoice::Given(kernel) => Ok((kernel.clone(), None)),
            KernelChoice::Named { family, bandwidth: Bandwidth::Lengths(lengths) } => {
                Ok((family.kernel(lengths)?, None))
            }
            KernelChoice::Named { family, .. } if !family.has_length() => Ok((family.kernel(&[])?, None)),
            KernelChoice::Named { family, bandwidth: Bandwidth::Median } => {
                let median = MedianDistance::of(points, weights)?;
                Ok((family.kernel(&[median.length])?, Some(median)))
            }
        }
    }
}
