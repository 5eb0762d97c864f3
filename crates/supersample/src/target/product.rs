//! Targets with independent coordinates: the uniform distribution on a box, and independent normals.

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;

use super::{draw_rows, expect_finite, normal_raw_moment};
use crate::{Error, Points, Result};

/// The uniform distribution on the box Π [lowerᵢ, upperᵢ].
///
/// ```
/// use supersample::target::UniformBox;
/// let square = UniformBox::new(&[0.0, 0.0], &[1.0, 2.0])?;
/// assert_eq!(square.raw_moment(2), [1.0 / 3.0, 4.0 / 3.0]);
/// assert!(UniformBox::new(&[0.0], &[0.0]).is_err());
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct UniformBox {
    lower: Vec<f64>,
    upper: Vec<f64>,
}

impl UniformBox {
    /// Creates the box between two corners, `lower` below `upper` in every coordinate.
    pub fn new(lower: &[f64], upper: &[f64]) -> Result<UniformBox> {
        expect_same_dim("the upper corner", upper, "the lower corner", lower)?;
        expect_finite("lower bound", lower)?;
        expect_finite("upper bound", upper)?;
        let sides: Vec<f64> = lower.iter().zip(upper).map(|(a, b)| b - a).collect();
        expect_positive("the side", &sides)?;
        Ok(UniformBox { lower: lower.to_vec(), upper: upper.to_vec() })
    }

    /// The lower corner.
    pub fn lower(&self) -> &[f64] {
        &self.lower
    }

    /// The upper corner.
    pub fn upper(&self) -> &[f64] {
        &self.upper
    }

    /// The dimension of the space.
    pub fn dim(&self) -> usize {
        self.lower.len()
    }

    /// Returns `n ≥ 1` independent draws, the same on every call with this seed.
    pub fn sample(&self, n: usize, seed: u64) -> Result<Points> {
        let mut rng = Pcg64::seed_from_u64(seed);
        draw_rows(n, self.dim(), |row| {
            for (x, (a, b)) in row.iter_mut().zip(self.lower.iter().zip(&self.upper)) {
                let uniform: f64 = rng.random();
                *x = a + (b - a) * uniform;
            }
        })
    }

    /// E xᵢᵐ for each coordinate i, exact.
    pub fn raw_moment(&self, m: u32) -> Vec<f64> {
        let moment = |(a, b): (&f64, &f64)| {
            // (bᵐ⁺¹ − aᵐ⁺¹)/((m+1)(b−a)) = Σⱼ aʲ·bᵐ⁻ʲ/(m+1), which does not cancel for a narrow box.
            let (mut sum, mut power) = (1.0, 1.0);
            for _ in 0..m {
                power *= a;
                sum = sum * b + power;
            }
            sum / (f64::from(m) + 1.0)
        };
        self.lower.iter().zip(&self.upper).map(moment).collect()
    }
}

/// Independent normals, N(meanᵢ, sdᵢ²) in coordinate i.
///
/// ```
/// use supersample::target::IndependentNormals;
/// let normals = IndependentNormals::new(&[0.0, 1.0], &[1.0, 2.0])?;
/// assert_eq!(normals.raw_moment(2), [1.0, 5.0]);
/// assert!(IndependentNormals::new(&[0.0], &[-1.0]).is_err());
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct IndependentNormals {
    means: Vec<f64>,
    sds: Vec<f64>,
}

impl IndependentNormals {
    /// Creates one normal for each coordinate from its mean and standard deviation.
    pub fn new(means: &[f64], sds: &[f64]) -> Result<IndependentNormals> {
        expect_same_dim("the list of standard deviations", sds, "the means", means)?;
        expect_finite("mean", means)?;
        expect_positive("the standard deviation", sds)?;
        Ok(IndependentNormals { means: means.to_vec(), sds: sds.to_vec() })
    }

    /// The mean of each coordinate.
    pub fn means(&self) -> &[f64] {
        &self.means
    }

    /// The standard deviation of each coordinate.
    pub fn sds(&self) -> &[f64] {
        &self.sds
    }

    /// The dimension of the space.
    pub fn dim(&self) -> usize {
        self.means.len()
    }

    /// Returns `n ≥ 1` independent draws, the same on every call with this seed.
    pub fn sample(&self, n: usize, seed: u64) -> Result<Points> {
        let mut rng = Pcg64::seed_from_u64(seed);
        draw_rows(n, self.dim(), |row| {
            for (x, (mean, sd)) in row.iter_mut().zip(self.means.iter().zip(&self.sds)) {
                let normal: f64 = StandardNormal.sample(&mut rng);
                *x = mean + sd * normal;
            }
        })
    }

    /// E xᵢᵐ for each coordinate i, exact.
    pub fn raw_moment(&self, m: u32) -> Vec<f64> {
        self.means.iter().zip(&self.sds).map(|(mean, sd)| normal_raw_moment(*mean, sd * sd, m)).collect()
    }
}

fn expect_same_dim(what: &'static str, found: &[f64], against: &'static str, expected: &[f64]) -> Result<()> {
    let (found, expected) = (found.len(), expected.len());
    if found != expected {
        return Err(Error::DimensionMismatch { what, found, against, expected });
    }
    if found == 0 { Err(Error::NoDimensions) } else { Ok(()) }
}

fn expect_positive(what: &'static str, lengths: &[f64]) -> Result<()> {
    match lengths.iter().position(|value| !(*value > 0.0 && value.is_finite())) {
        Some(coordinate) => Err(Error::NotPositive { what, coordinate, value: lengths[coordinate] }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_sampling;
    use super::*;

    #[test]
    fn draws_have_the_moments_of_the_target() {
        let uniform = UniformBox::new(&[-1.0, 2.0], &[0.5, 2.25]).unwrap();
        check_sampling(|n, seed| uniform.sample(n, seed), |m| uniform.raw_moment(m));
        let draws = uniform.sample(10_000, 1).unwrap();
        assert!(draws.rows().all(|x| (-1.0..=0.5).contains(&x[0]) && (2.0..=2.25).contains(&x[1])));
        let normals = IndependentNormals::new(&[-1.0, 3.0], &[0.5, 2.0]).unwrap();
        check_sampling(|n, seed| normals.sample(n, seed), |m| normals.raw_moment(m));
    }

    #[test]
    fn moments_of_the_uniform_agree_with_the_integral() {
        let uniform = UniformBox::new(&[-1.0, 2.0], &[0.5, 3.0]).unwrap();
        let moments = uniform.raw_moment(3);
        // (b⁴−a⁴)/(4(b−a))
        assert!((moments[0] - (0.0625 - 1.0) / 6.0).abs() < 1e-15);
        assert!((moments[1] - (81.0 - 16.0) / 4.0).abs() < 1e-14);
        assert_eq!(uniform.raw_moment(0), [1.0, 1.0]);
    }

    #[test]
    fn bad_boxes_and_normals_are_refused() {
        let side = |value| Err(Error::NotPositive { what: "the side", coordinate: 1, value });
        assert_eq!(UniformBox::new(&[0.0, 1.0], &[1.0, 1.0]), side(0.0));
        assert_eq!(UniformBox::new(&[0.0, 1.0], &[1.0, 0.5]), side(-0.5));
        assert_eq!(UniformBox::new(&[0.0, -1e308], &[1.0, 1e308]), side(f64::INFINITY));
        assert_eq!(UniformBox::new(&[], &[]), Err(Error::NoDimensions));
        let nan = UniformBox::new(&[0.0, f64::NAN], &[1.0, 1.0]);
        assert!(matches!(nan, Err(Error::NonFiniteNumber { what: "lower bound", index: 1, .. })));
        let nan = UniformBox::new(&[0.0], &[f64::INFINITY]);
        assert!(matches!(nan, Err(Error::NonFiniteNumber { what: "upper bound", index: 0, .. })));
        let mismatch = UniformBox::new(&[0.0], &[1.0, 1.0]);
        assert!(matches!(mismatch, Err(Error::DimensionMismatch { found: 2, expected: 1, .. })));

        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let refused = IndependentNormals::new(&[0.0, 0.0], &[1.0, bad]);
            assert!(matches!(refused, Err(Error::NotPositive { coordinate: 1, .. })), "{bad}");
        }
        assert_eq!(IndependentNormals::new(&[], &[]), Err(Error::NoDimensions));
        let nan = IndependentNormals::new(&[f64::NAN], &[1.0]);
        assert!(matches!(nan, Err(Error::NonFiniteNumber { what: "mean", index: 0, .. })));
        let mismatch = IndependentNormals::new(&[0.0], &[1.0, 1.0]);
        assert!(matches!(mismatch, Err(Error::DimensionMismatch { found: 2, expected: 1, .. })));
    }
}
