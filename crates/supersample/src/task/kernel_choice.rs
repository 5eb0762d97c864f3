//! Kernel of a choice: given, or named with a bandwidth that the rows may decide.

use crate::bandwidth::MedianDistance;
use crate::{Kernel, Points, Result};

/// Which kernel.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum KernelChoice {
    /// This one, its bandwidth in the units of the scaled points.
    Given(Kernel),
    /// The one of this name ([`Kernel::NAMES`]).
    Named {
        /// The name.
        name: String,
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
        KernelChoice::Named { name: "gaussian".to_string(), bandwidth: Bandwidth::Median }
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
            KernelChoice::Named { name, bandwidth: Bandwidth::Lengths(lengths) } => {
                Ok((Kernel::named(name, lengths)?, None))
            }
            KernelChoice::Named { name, .. } if !Kernel::takes_bandwidth(name) => {
                Ok((Kernel::named(name, &[])?, None))
            }
            KernelChoice::Named { name, bandwidth: Bandwidth::Median } => {
                // A name that is none is refused before the distances are taken.
                Kernel::named(name, &[1.0])?;
                let median = MedianDistance::of(points, weights)?;
                Ok((Kernel::named(name, &[median.length])?, Some(median)))
            }
        }
    }
}
