//! Targets with independent coordinates under kernels that are products over coordinates: products of line forms.

use supersample_sum::Shape;

use super::line::{LineKernel, Marginal};
use crate::target::{GaussianMixture, IndependentNormals, UniformBox};
use crate::{Error, Kernel, Points, Result};

/// The mean embedding of independent coordinates: the mean over `kernels` of Πᵢ μᵢ(xᵢ).
#[derive(Clone, Debug)]
pub(super) struct ProductEmbedding {
    /// One for each bandwidth.
    kernels: Vec<LineKernel>,
    /// One for each coordinate.
    marginals: Vec<Marginal>,
}

impl ProductEmbedding {
    pub(super) fn uniform_box(kernel: &Kernel, target: &UniformBox) -> Result<ProductEmbedding> {
        let sides = target.lower().iter().zip(target.upper());
        let marginals = sides.map(|(&lower, &upper)| Marginal::Interval { lower, upper }).collect();
        ProductEmbedding::new(kernel, "the uniform distribution on a box", marginals)
    }

    pub(super) fn normals(kernel: &Kernel, target: &IndependentNormals) -> Result<ProductEmbedding> {
        let normals = target.means().iter().zip(target.sds());
        let marginals = normals.map(|(&mean, &sd)| Marginal::Normal { mean, sd }).collect();
        ProductEmbedding::new(kernel, "independent normals", marginals)
    }

    fn new(kernel: &Kernel, what: &'static str, marginals: Vec<Marginal>) -> Result<ProductEmbedding> {
        let refuse = |advice| {
            Err(Error::NoClosedForm { what, kernel: kernel.to_string(), dim: marginals.len(), advice })
        };
        let kernels = match *kernel.shape() {
            Shape::Gaussian { .. } | Shape::Gaussians { .. } => {
                kernel.bandwidths().iter().map(|&bandwidth| LineKernel::Gaussian { bandwidth }).collect()
            }
            Shape::Laplace { length } => vec![LineKernel::matern12(length)],
            // These are not products over coordinates.
            Shape::Matern12 { length } if marginals.len() == 1 => vec![LineKernel::matern12(length)],
            Shape::Matern32 { length } if marginals.len() == 1 => vec![LineKernel::matern32(length)],
            Shape::Matern52 { length } if marginals.len() == 1 => vec![LineKernel::matern52(length)],
            Shape::Energy if marginals.len() == 1 => vec![LineKernel::Energy],
            _ => return refuse("take gaussian or laplace, or draw samples from it and use Empirical"),
        };
        Ok(ProductEmbedding { kernels, marginals })
    }

    pub(super) fn dim(&self) -> usize {
        self.marginals.len()
    }

    pub(super) fn value(&self, x: &[f64]) -> f64 {
        let product =
            |kernel| self.marginals.iter().zip(x).map(|(m, &x)| m.embed(kernel, x).0).product::<f64>();
        self.kernels.iter().map(product).sum::<f64>() / self.kernels.len() as f64
    }

    pub(super) fn gradient_into(&self, x: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.fill(0.0);
        let scale = 1.0 / self.kernels.len() as f64;
        let mut value = 0.0;
        let mut factors = Vec::with_capacity(x.len());
        for kernel in &self.kernels {
            // ∂ᵢ Πⱼ fⱼ = (Πⱼ﹤ᵢ fⱼ)·fᵢ'·(Πⱼ﹥ᵢ fⱼ), from both ends and without a division, since a factor may be zero.
            factors.clear();
            let mut before = 1.0;
            for (marginal, &x) in self.marginals.iter().zip(x) {
                let (factor, derivative) = marginal.embed(kernel, x);
                factors.push((factor, before * derivative));
                before *= factor;
            }
            value += scale * before;
            let mut after = scale;
            for (slot, (factor, derivative)) in gradient.iter_mut().zip(&factors).rev() {
                *slot += derivative * after;
                after *= factor;
            }
        }
        value
    }

    /// ⟨μ_p, μ_q⟩ with another embedding under the same kernel.
    pub(super) fn inner_product(&self, other: &ProductEmbedding) -> f64 {
        let product = |kernel| {
            let pairs = self.marginals.iter().zip(&other.marginals);
            pairs.map(|(p, q)| p.inner_product(kernel, q)).product::<f64>()
        };
        self.kernels.iter().map(product).sum::<f64>() / self.kernels.len() as f64
    }

    /// This distribution as a mixture of one component, if every coordinate is normal.
    pub(super) fn as_mixture(&self) -> Option<Result<GaussianMixture>> {
        let dim = self.dim();
        let mut means = Vec::with_capacity(dim);
        let mut covariance = vec![0.0; dim * dim];
        for (i, marginal) in self.marginals.iter().enumerate() {
            let Marginal::Normal { mean, sd } = *marginal else { return None };
            means.push(mean);
            covariance[i * (dim + 1)] = sd * sd;
        }
        Some(
            Points::from_vec(means, dim).and_then(|means| GaussianMixture::new(&[1.0], means, &[covariance])),
        )
    }
}
