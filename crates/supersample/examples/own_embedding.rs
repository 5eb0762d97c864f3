//! A target of one's own: respondents whose averages match a census that is known by its means alone.
//!
//! `cargo run --release -p supersample --example own_embedding`

use supersample::target::IndependentNormals;
use supersample::{Domain, Herder, Kernel, MeanEmbedding, Points, Result};

/// Under the linear kernel a distribution is its mean m: μ(x) = E x·x' = x·m.
struct Census {
    kernel: Kernel,
    means: Vec<f64>,
}

impl MeanEmbedding for Census {
    fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    fn dim(&self) -> usize {
        self.means.len()
    }

    fn values_into(&self, points: &Points, out: &mut [f64]) {
        let dot = |x: &[f64]| x.iter().zip(&self.means).map(|(x, m)| x * m).sum();
        out.iter_mut().zip(points.rows()).for_each(|(value, x)| *value = dot(x));
    }

    fn gradient_into(&self, x: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.copy_from_slice(&self.means);
        x.iter().zip(&self.means).map(|(x, m)| x * m).sum()
    }

    fn squared_norm(&self) -> Option<f64> {
        Some(self.means.iter().map(|m| m * m).sum())
    }
}

pub(crate) fn main() -> Result<()> {
    // Age, income and household size, all standardised; the respondents are too young.
    let respondents = IndependentNormals::new(&[-0.5, 0.1, 0.0], &[1.0, 1.0, 1.0])?.sample(400, 2)?;
    let census = Census { kernel: Kernel::linear(), means: vec![0.0, 0.2, 0.1] };
    let mut herder = Herder::new(census, Domain::Pool(respondents))?.unique(true);
    let error = herder.run(40).last().and_then(|pick| pick.error).unwrap_or(f64::NAN);
    println!("panel {:?}", herder.indices());
    println!("its means are off by {error:.4} in all"); // ‖mean − m‖, the MMD of the linear kernel
    assert!(error < 0.05);
    Ok(())
}
