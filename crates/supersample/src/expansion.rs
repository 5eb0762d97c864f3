//! Kernel expansions: functions f = Σⱼ aⱼ k(·, zⱼ), as integrands with a known norm and as mean embeddings, exact or
//! approximate.

use std::any::Any;

use crate::sum::{self, Packed, Precision};
use crate::{Error, Kernel, MeanEmbedding, Points, Result};

/// f(x) = Σⱼ aⱼ k(x, zⱼ), a function in the kernel's Hilbert space whose norm is known.
///
/// It is also a [`MeanEmbedding`], exact or approximate. Wrap it to state its [error
/// bound](MeanEmbedding::error_bound).
///
/// ```
/// use supersample::{Kernel, KernelExpansion, Points};
/// let centre = Points::from_rows(&[0.0], 1)?;
/// let bump = KernelExpansion::new(Kernel::gaussian(1.0)?, centre, vec![3.0])?;
/// assert_eq!(bump.value(&[0.0]), 3.0);
/// assert_eq!(bump.norm(), 3.0);
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct KernelExpansion {
    kernel: Kernel,
    points: Points,
    coefficients: Vec<f64>,
}

impl KernelExpansion {
    /// Creates an expansion with one coefficient of any sign for each point.
    pub fn new(kernel: Kernel, points: Points, coefficients: Vec<f64>) -> Result<KernelExpansion> {
        if coefficients.len() != points.len() {
            let (found, expected) = (coefficients.len(), points.len());
            return Err(Error::WeightCount { what: "points of the expansion", found, expected });
        }
        if let Some(index) = coefficients.iter().position(|a| !a.is_finite()) {
            let value = coefficients[index];
            return Err(Error::NonFiniteNumber { what: "coefficient", index, value });
        }
        Ok(KernelExpansion { kernel, points, coefficients })
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The points z.
    pub fn points(&self) -> &Points {
        &self.points
    }

    /// The coefficients a.
    pub fn coefficients(&self) -> &[f64] {
        &self.coefficients
    }

    /// f(x).
    pub fn value(&self, x: &[f64]) -> f64 {
        let terms = self.points.rows().zip(&self.coefficients);
        terms.map(|(z, a)| a * self.kernel.value(x, z)).sum()
    }

    /// f at every row of `points`.
    pub(crate) fn values(&self, points: &Points) -> Vec<f64> {
        let mut values = vec![0.0; points.len()];
        let centres = Packed::new(&self.kernel, &self.points, Precision::Double);
        let at = centres.beside(points).expect("double precision takes any points");
        at.mean_into(&centres, Some(&self.coefficients), &mut values);
        values
    }

    /// ‖f‖² = Σᵢⱼ aᵢ aⱼ k(zᵢ, zⱼ).
    pub fn squared_norm(&self) -> f64 {
        self.values(&self.points).iter().zip(&self.coefficients).map(|(f, a)| a * f).sum()
    }

    /// ‖f‖; 0 if rounding makes the squared norm negative.
    pub fn norm(&self) -> f64 {
        self.squared_norm().max(0.0).sqrt()
    }

    /// Returns the exact expectation of f under the target of `mu`: ⟨f, μ⟩ = Σⱼ aⱼ μ(zⱼ).
    pub fn expectation(&self, mu: &dyn MeanEmbedding) -> Result<f64> {
        expect_same_kernel(&self.kernel, mu.kernel())?;
        self.points.expect_dim("the expansion", "the mean embedding", mu.dim())?;
        let mut values = vec![0.0; self.points.len()];
        mu.values_into(&self.points, &mut values);
        Ok(values.iter().zip(&self.coefficients).map(|(v, a)| a * v).sum())
    }
}

impl MeanEmbedding for KernelExpansion {
    fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    fn dim(&self) -> usize {
        self.points.dim()
    }

    fn values_into(&self, points: &Points, out: &mut [f64]) {
        out.copy_from_slice(&self.values(points));
    }

    fn gradient_into(&self, x: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.fill(0.0);
        sum::add_gradient_into(&self.kernel, x, self.points.as_slice(), &self.coefficients, 1.0, gradient)
    }

    fn squared_norm(&self) -> Option<f64> {
        Some(KernelExpansion::squared_norm(self))
    }
}

/// The expansion behind an embedding, if it is one.
pub(crate) fn as_expansion(mu: &dyn MeanEmbedding) -> Option<&KernelExpansion> {
    (mu as &dyn Any).downcast_ref()
}

pub(crate) fn expect_same_kernel(left: &Kernel, right: &Kernel) -> Result<()> {
    if left == right {
        return Ok(());
    }
    Err(Error::KernelMismatch { left: left.to_string(), right: right.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Empirical;

    #[test]
    fn norm_and_expectation_agree_with_direct_sums() {
        let kernel = crate::Family::Imq.kernel(&[0.8]).unwrap();
        let f = KernelExpansion::new(
            kernel.clone(),
            Points::from_rows(&[0.0, 1.0, 2.5], 1).unwrap(),
            vec![1.0, -2.0, 0.5],
        )
        .unwrap();
        let direct: f64 = f.points.rows().zip(&f.coefficients).map(|(z, a)| a * f.value(z)).sum();
        assert!((f.squared_norm() - direct).abs() < 1e-14);
        let draws = Points::from_rows(&[0.3, 0.9], 1).unwrap();
        let mu = Empirical::new(kernel, draws).unwrap();
        let mean = (f.value(&[0.3]) + f.value(&[0.9])) / 2.0;
        assert!((f.expectation(&mu).unwrap() - mean).abs() < 1e-15);
    }

    #[test]
    fn bad_coefficients_and_other_kernels_are_refused() {
        let points = Points::from_rows(&[0.0, 1.0], 1).unwrap();
        assert!(KernelExpansion::new(Kernel::linear(), points.clone(), vec![1.0]).is_err());
        assert!(KernelExpansion::new(Kernel::linear(), points.clone(), vec![1.0, f64::NAN]).is_err());
        let f = KernelExpansion::new(Kernel::linear(), points.clone(), vec![1.0, 1.0]).unwrap();
        let mu = Empirical::new(Kernel::gaussian(1.0).unwrap(), points).unwrap();
        assert!(matches!(f.expectation(&mu), Err(Error::KernelMismatch { .. })));
        let plane = Points::from_rows(&[0.0, 1.0], 2).unwrap();
        let mu = Empirical::new(Kernel::linear(), plane).unwrap();
        assert!(matches!(f.expectation(&mu), Err(Error::DimensionMismatch { .. })));
    }
}
