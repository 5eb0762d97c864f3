//! Mean embeddings known in closed form: a density as the target, exact and without samples.

mod line;
mod mixture;
mod product;
#[cfg(test)]
mod tests;

use rayon::prelude::*;

use self::mixture::MixtureEmbedding;
use self::product::ProductEmbedding;
use super::MeanEmbedding;
use crate::target::{GaussianMixture, IndependentNormals, UniformBox};
use crate::{Error, Kernel, Points, Result};

/// Number of points in one task for a thread.
const BLOCK: usize = 64;

/// Mean embedding of a density in closed form.
///
/// The table at the head of [`embedding`](crate::embedding) lists the possible pairs of target and kernel. Values have
/// a relative error of about 1e-14, for bandwidths much shorter or much longer than the target too; of 1e-12 far out,
/// where they are below 1e-100.
///
/// ```
/// use supersample::{Family, embedding::{ClosedForm, MeanEmbedding}, target::UniformBox};
/// let unit = UniformBox::new(&[0.0], &[1.0])?;
/// let mu = ClosedForm::uniform_box(Family::Laplace.kernel(&[1.0])?, unit)?;
/// let mut gradient = [f64::NAN];
/// let value = mu.gradient_into(&[0.5], &mut gradient);
/// assert!((value - 2.0 * (1.0 - (-0.5f64).exp())).abs() < 1e-15);
/// assert_eq!(gradient, [0.0]);
/// assert!((mu.squared_norm().unwrap() - 2.0 * (-1.0f64).exp()).abs() < 1e-15);
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ClosedForm {
    kernel: Kernel,
    density: Density,
    squared_norm: f64,
}

#[derive(Clone, Debug)]
enum Density {
    Mixture(MixtureEmbedding),
    Product(ProductEmbedding),
}

impl ClosedForm {
    /// Creates the embedding of a Gaussian mixture, for `gaussian` kernels of one or several bandwidths. Costs d³ for
    /// each pair of components.
    pub fn mixture(kernel: Kernel, target: GaussianMixture) -> Result<ClosedForm> {
        let embedding = MixtureEmbedding::new(&kernel, target)?;
        let squared_norm = embedding.squared_norm()?;
        Ok(ClosedForm { kernel, density: Density::Mixture(embedding), squared_norm })
    }

    /// Creates the embedding of the uniform distribution on a box, for `gaussian` and `laplace`, and in one dimension
    /// the Matérn kernels and `energy`.
    pub fn uniform_box(kernel: Kernel, target: UniformBox) -> Result<ClosedForm> {
        let embedding = ProductEmbedding::uniform_box(&kernel, &target)?;
        Ok(ClosedForm::product(kernel, embedding))
    }

    /// Creates the embedding of independent normals, for `gaussian` and `laplace`, and in one dimension the Matérn
    /// kernels and `energy`.
    pub fn normals(kernel: Kernel, target: IndependentNormals) -> Result<ClosedForm> {
        let embedding = ProductEmbedding::normals(&kernel, &target)?;
        Ok(ClosedForm::product(kernel, embedding))
    }

    fn product(kernel: Kernel, embedding: ProductEmbedding) -> ClosedForm {
        let squared_norm = embedding.inner_product(&embedding);
        ClosedForm { kernel, density: Density::Product(embedding), squared_norm }
    }

    /// ⟨μ_p, μ_q⟩ of two targets under one kernel, which turns two squared norms into an MMD.
    pub(crate) fn inner_product(&self, other: &ClosedForm) -> Result<f64> {
        if self.kernel != other.kernel {
            let (left, right) = (self.kernel.to_string(), other.kernel.to_string());
            return Err(Error::KernelMismatch { left, right });
        }
        if self.dim() != other.dim() {
            return Err(Error::DimensionMismatch {
                what: "the first target",
                found: self.dim(),
                against: "the second",
                expected: other.dim(),
            });
        }
        match (&self.density, &other.density) {
            (Density::Mixture(p), Density::Mixture(q)) => p.inner_product(q.mixture()),
            (Density::Product(p), Density::Product(q)) => Ok(p.inner_product(q)),
            (Density::Mixture(p), Density::Product(q)) | (Density::Product(q), Density::Mixture(p)) => {
                // Normals are a mixture of one component; a box is not a mixture.
                let single = q.as_mixture().ok_or_else(|| Error::NoClosedForm {
                    what: "a Gaussian mixture beside a uniform distribution on a box",
                    kernel: self.kernel.to_string(),
                    dim: self.dim(),
                    advice: "draw samples from one of them and use Empirical for it",
                })?;
                p.inner_product(&single?)
            }
        }
    }
}

impl MeanEmbedding for ClosedForm {
    fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    fn dim(&self) -> usize {
        match &self.density {
            Density::Mixture(mixture) => mixture.dim(),
            Density::Product(product) => product.dim(),
        }
    }

    fn values_into(&self, points: &Points, out: &mut [f64]) {
        assert_eq!(
            (points.dim(), points.len()),
            (self.dim(), out.len()),
            "points or output of the wrong size"
        );
        // Each value is computed by itself, so the split over threads cannot change it.
        let blocks = points.as_slice().par_chunks(BLOCK * self.dim()).zip(out.par_chunks_mut(BLOCK));
        blocks.for_each_init(Vec::new, |scratch, (rows, out)| {
            for (x, slot) in rows.chunks_exact(self.dim()).zip(out) {
                *slot = match &self.density {
                    Density::Mixture(mixture) => mixture.value(x, scratch),
                    Density::Product(product) => product.value(x),
                };
            }
        });
    }

    fn gradient_into(&self, x: &[f64], gradient: &mut [f64]) -> f64 {
        assert_eq!(
            (x.len(), gradient.len()),
            (self.dim(), self.dim()),
            "x or gradient of the wrong dimension"
        );
        match &self.density {
            Density::Mixture(mixture) => mixture.gradient_into(x, gradient),
            Density::Product(product) => product.gradient_into(x, gradient),
        }
    }

    fn squared_norm(&self) -> Option<f64> {
        Some(self.squared_norm)
    }
}
