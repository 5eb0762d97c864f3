//! Kernel of a choice: given, or a family with a bandwidth from the rows.

use crate::bandwidth::MedianDistance;
use crate::{Family, Kernel, Points, Result};

/// Kernel of a choice.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum KernelChoice {
    /// This kernel, with its bandwidth in the units of the scaled points.
    Given(Kernel),
    /// A kernel of this family.
    Named {
        /// The family.
        family: Family,
        /// Its bandwidth; no effect on the linear and energy kernels, which have none.
        bandwidth: Bandwidth,
    },
}

/// Rule for the bandwidth.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Bandwidth {
    /// The median distance between two of the scaled points.
    #[default]
    Median,
    /// These lengths, in the units of the scaled points: one, or several for a sum of Gaussians.
    Lengths(Vec<f64>),
}

impl Default for KernelChoice {
    fn default() -> KernelChoice {
        KernelChoice::Named { family: Family::default(), bandwidth: Bandwidth::Median }
    }
}

impl From<Kernel> for KernelChoice {
    fn from(kernel: Kernel) -> KernelChoice {
        KernelChoice::Given(kernel)
    }
}

impl KernelChoice {
    /// Returns the kernel for these scaled points, and the median distance if that is the bandwidth.
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
