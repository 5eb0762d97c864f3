//! Kernel of a choice: given, or a family with a bandwidth from the rows.

use crate::bandwidth::MedianDistance;
use crate::{Error, Family, Kernel, Points, Result};

/// Kernel of rows that match others, unless one is named. Its energy distance to the target is smaller than a Gaussian's, by a tenth
/// in six columns and by half in two, and nearly that of the energy kernel, which takes twice the time (`bench/matching.py`).
pub const MATCHING_KERNEL: Family = Family::Matern32;

/// Below this, squares of distances lose digits.
const SMALLEST_SQUARE: f64 = 1e-290;

/// Kernel of a choice.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum KernelChoice {
    /// This kernel, with its bandwidth in the units of the scaled points.
    Given(Kernel),
    /// A kernel of a family.
    Named {
        /// The family; by default gaussian, and [`MATCHING_KERNEL`] where other rows are matched.
        family: Option<Family>,
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
        KernelChoice::Named { family: None, bandwidth: Bandwidth::Median }
    }
}

impl From<Kernel> for KernelChoice {
    fn from(kernel: Kernel) -> KernelChoice {
        KernelChoice::Given(kernel)
    }
}

impl KernelChoice {
    /// The choice where other rows are matched.
    pub(super) fn for_matching(&self) -> KernelChoice {
        match self {
            // Only Gaussians have several lengths.
            KernelChoice::Named { family: None, bandwidth: Bandwidth::Lengths(lengths) }
                if lengths.len() > 1 =>
            {
                self.clone()
            }
            KernelChoice::Named { family: None, bandwidth } => {
                KernelChoice::Named { family: Some(MATCHING_KERNEL), bandwidth: bandwidth.clone() }
            }
            given => given.clone(),
        }
    }

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
        let largest = largest_range(points);
        let square = largest * largest * points.dim() as f64;
        if largest > 0.0 && !(SMALLEST_SQUARE..f64::INFINITY).contains(&square) {
            return Err(Error::DistancesOutOfRange { largest });
        }
        let (family, bandwidth) = match self {
            KernelChoice::Given(kernel) => return Ok((kernel.clone(), None)),
            KernelChoice::Named { family, bandwidth } => (family.unwrap_or_default(), bandwidth),
        };
        match bandwidth {
            Bandwidth::Lengths(lengths) => Ok((family.kernel(lengths)?, None)),
            Bandwidth::Median if !family.has_length() => Ok((family.kernel(&[])?, None)),
            Bandwidth::Median => {
                let median = MedianDistance::of(points, weights)?;
                Ok((family.kernel(&[median.length])?, Some(median)))
            }
        }
    }
}

/// The largest difference within a column.
fn largest_range(points: &Points) -> f64 {
    let mut ranges = vec![(f64::INFINITY, f64::NEG_INFINITY); points.dim()];
    for row in points.rows() {
        for ((low, high), x) in ranges.iter_mut().zip(row) {
            (*low, *high) = (low.min(*x), high.max(*x));
        }
    }
    ranges.iter().map(|(low, high)| high - low).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_whose_squares_are_out_of_range_are_refused() {
        let numbers = [0.3, -1.0, 2.0, 0.7, -0.2, 1.1];
        for (unit, is_fine) in
            [(1e155, false), (1e-160, false), (1e-300, false), (1e140, true), (1e-140, true)]
        {
            let points = Points::from_vec(numbers.map(|x| x * unit).to_vec(), 2).unwrap();
            let found = KernelChoice::default().for_points(&points, None);
            assert_eq!(found.is_ok(), is_fine, "{unit}: {found:?}");
            let energy = KernelChoice::Named { family: Some(Family::Energy), bandwidth: Bandwidth::Median };
            assert_eq!(energy.for_points(&points, None).is_ok(), is_fine, "{unit}");
        }
        let equal = Points::from_vec(vec![1e300; 6], 2).unwrap();
        assert!(KernelChoice::default().for_points(&equal, None).is_ok());
    }
}
