//! Stein targets: any density known by its score s = ∇ log p, normalised or not.
//!
//! The mean of a Stein kernel under p is zero for every p. So μ = 0 and ‖μ‖² = 0 need no samples and no pairs, and E_T
//! is the kernel Stein discrepancy (KSD) of the chosen points. The kernel needs the score at every point: a row of the
//! pool holds a point and its score, coordinate by coordinate ([`SteinTarget::rows`]). Herders, refiners, weights,
//! quotas, stop rules and checkpoints work on such rows without a change. Because k(x, x) = tr P + ‖s(x)‖² varies, the
//! greedy step contains −k(x, x)/2 (see `herder.rs`). Kernel values have no bound, so they are f64.

mod precondition;
mod space;

use std::sync::Arc;

use supersample_sum::{Shape, Stein, SteinLayout};

use self::precondition::Precision;
pub use self::precondition::Preconditioner;
use self::space::Space;
pub use self::space::{LogDensityFunction, ScoreFunction};
use crate::points::expect_rows;
use crate::{Error, Kernel, MeanEmbedding, Points, Pool, Result, SteinBase};

/// Density known by its score, as the target of a pool whose rows hold points and scores.
///
/// With a base kernel κ, which is (1+u)^(−1/2) or exp(−u/2) of u = (x−y)ᵀΓ⁻¹(x−y), the Stein kernel is
///
/// > k(x, y) = ∇ₓ·∇ᵧκ + ∇ₓκ·s(y) + ∇ᵧκ·s(x) + κ s(x)·s(y).
///
/// Only the scores define the target, so draws that are not from the density (burn-in, a wrong temperature) do not
/// change it.
///
/// ```
/// use supersample::{Herder, Points, Preconditioner, SteinBase, SteinTarget};
/// // Draws of N(0, 1), the first fifth of them far out, and the scores of N(0, 1) at each.
/// let draws: Vec<f64> = (0..500).map(|i| (i as f64 * 0.7).sin() * 1.5 + if i < 100 { 9.0 } else { 0.0 }).collect();
/// let scores: Vec<f64> = draws.iter().map(|x| -x).collect();
/// let (draws, scores) = (Points::from_vec(draws, 1)?, Points::from_vec(scores, 1)?);
/// let target = SteinTarget::new(&draws, &scores, SteinBase::Imq, Preconditioner::Identity)?;
/// let chosen = Herder::over(target.pool(&draws, &scores)?).run(20);
/// assert!(chosen.iter().all(|pick| pick.index.unwrap() >= 100));
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone)]
pub struct SteinTarget {
    kernel: Kernel,
    precision: Arc<Precision>,
    /// Subtracted from points before they become rows. Kernel values do not depend on it, but their rounding does.
    centre: Arc<[f64]>,
    mean_diagonal: f64,
    space: Option<Arc<Space>>,
}

impl SteinTarget {
    /// Creates the target from points and their scores, with a preconditioner. The mean of k(x, x) over the points is
    /// the unit of equivalent draws.
    pub fn new(
        points: &Points,
        scores: &Points,
        base: SteinBase,
        preconditioner: Preconditioner,
    ) -> Result<SteinTarget> {
        let precision = Precision::fit(preconditioner, points)?;
        let (layout, trace) = (precision.layout(), precision.trace(points.dim()));
        let mut centre = vec![0.0; points.dim()];
        for x in points.rows() {
            centre.iter_mut().zip(x).for_each(|(c, x)| *c += x / points.len() as f64);
        }
        let kernel = Kernel::stein(Stein { base, layout, trace });
        let target = SteinTarget {
            kernel,
            precision: Arc::new(precision),
            centre: centre.into(),
            mean_diagonal: 0.0,
            space: None,
        };
        let rows = target.rows(points, scores)?;
        let diagonals = rows.rows().map(|row| target.kernel.diagonal(row) / rows.len() as f64);
        let mean_diagonal: f64 = diagonals.sum();
        if !mean_diagonal.is_finite() {
            return Err(Error::Overflow { value: mean_diagonal });
        }
        Ok(SteinTarget { mean_diagonal, ..target })
    }

    /// Returns points with their scores as rows of a pool: for each coordinate the preconditioned point and the score.
    pub fn rows(&self, points: &Points, scores: &Points) -> Result<Points> {
        points.expect_dim("a point", "the points of the target", self.centre.len())?;
        scores.expect_dim("a score", "its point", points.dim())?;
        expect_rows("the scores", scores.len(), points.len())?;
        let columns = self.layout().columns();
        let mut numbers = vec![0.0; points.as_slice().len() * columns];
        let rows = numbers.chunks_exact_mut(points.dim() * columns);
        for ((x, score), row) in points.rows().zip(scores.rows()).zip(rows) {
            self.row_into(x, score, row);
        }
        Points::from_vec(numbers, points.dim() * columns).map_err(|error| match error {
            Error::NonFinite { value, .. } => Error::Overflow { value },
            error => error,
        })
    }

    /// Returns the pool of points with these scores.
    pub fn pool(&self, points: &Points, scores: &Points) -> Result<Pool> {
        Pool::new(self.clone(), self.rows(points, scores)?)
    }

    /// Returns the point of a row.
    pub fn point(&self, row: &[f64]) -> Vec<f64> {
        let columns = self.layout().columns();
        let z: Vec<f64> = row.iter().step_by(columns).copied().collect();
        let x = self.precision.unmapped(z);
        x.iter().zip(&*self.centre).map(|(x, c)| x + c).collect()
    }

    /// The length over which the base kernel falls.
    pub(crate) fn length(&self) -> f64 {
        let Shape::Stein(kernel) = self.kernel.shape() else { unreachable!("the kernel of a Stein target") };
        (self.centre.len() as f64 / kernel.trace).sqrt()
    }

    fn layout(&self) -> SteinLayout {
        self.precision.layout()
    }

    fn row_into(&self, x: &[f64], score: &[f64], row: &mut [f64]) {
        let columns = self.layout().columns();
        let centred: Vec<f64> = x.iter().zip(&*self.centre).map(|(x, c)| x - c).collect();
        let (z, v) = self.precision.mapped(&centred);
        for (i, numbers) in row.chunks_exact_mut(columns).enumerate() {
            numbers[0] = z[i];
            if let Some(v) = &v {
                numbers[1] = v[i];
            }
            numbers[columns - 1] = score[i];
        }
    }
}

impl MeanEmbedding for SteinTarget {
    fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    fn dim(&self) -> usize {
        self.centre.len() * self.layout().columns()
    }

    fn values_into(&self, _: &Points, out: &mut [f64]) {
        out.fill(0.0);
    }

    fn gradient_into(&self, _: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.fill(0.0);
        0.0
    }

    fn squared_norm(&self) -> Option<f64> {
        Some(0.0)
    }

    /// The mean of k(x, x) over the points of the constructor, an estimate of the mean over the density.
    fn mean_diagonal(&self) -> Option<f64> {
        Some(self.mean_diagonal)
    }
}

impl std::fmt::Debug for SteinTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let SteinTarget { kernel, mean_diagonal, .. } = self;
        f.debug_struct("SteinTarget")
            .field("kernel", kernel)
            .field("mean_diagonal", mean_diagonal)
            .finish_non_exhaustive()
    }
}
