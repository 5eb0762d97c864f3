//! Kernel of a choice: given, or named with a bandwidth that the rows may decide.

use crate::bandwidth::MedianDistance;
use crate::{Family, Kernel, Points, Result};

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
