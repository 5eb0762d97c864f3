//! Points anywhere in space: the score as a function, and the gradient of a Stein kernel with it.
//!
//! A function F of the row of x is a function of x and of s(x). Its gradient in x needs the derivative of the score
//! along one vector b only, the gradient of F in the score: (∂s/∂x)ᵀb, and the Jacobian of a score is a Hessian and so
//! its own transpose. That is one difference of two scores in any dimension.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::SteinTarget;
use crate::linalg::dot;
use crate::{Points, Result};

/// Function that writes ∇ log p at a point to its second argument; numbers that are not finite if there is none.
pub type ScoreFunction = Arc<dyn Fn(&[f64], &mut [f64]) + Send + Sync>;

/// Function that returns log p at a point, up to a constant; −∞ outside the support.
pub type LogDensityFunction = Arc<dyn Fn(&[f64]) -> f64 + Send + Sync>;

/// The step of differences, in lengths of the kernel: the error of a central difference is least near the cube root of
/// the rounding of a score.
const STEP: f64 = 1e-5;

/// The density as a function, away from the rows.
pub(super) struct Space {
    score: ScoreFunction,
    log_density: Option<LogDensityFunction>,
    /// Largest number of evaluations of the score.
    most: u64,
    asked: AtomicU64,
}

impl SteinTarget {
    /// Sets the score as a function, so that points can be chosen anywhere in space
    /// ([`Domain::Ascent`](crate::Domain::Ascent), whose starts are [rows](Self::rows) of this target). Points with a
    /// log-density of −∞, if given, are not chosen. After `most` evaluations of the score, climbs end where they are,
    /// and their picks are not converged.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use supersample::{AscentOptions, Domain, Herder, Points, Preconditioner, SteinBase, SteinTarget};
    /// let starts = Points::from_vec((0..40).map(|i| i as f64 * 0.1 - 1.95).collect(), 1)?;
    /// let scores = Points::from_vec(starts.as_slice().iter().map(|x| -x).collect(), 1)?;
    /// let target = SteinTarget::new(&starts, &scores, SteinBase::Imq, Preconditioner::Identity)?;
    /// let target = target.with_score(Arc::new(|x: &[f64], score: &mut [f64]| score[0] = -x[0]), None, 100_000);
    /// let domain = Domain::Ascent { starts: target.rows(&starts, &scores)?, options: AscentOptions::default() };
    /// let first = Herder::new(target.clone(), domain)?.next().expect("space is never exhausted");
    /// assert!(target.point(&first.point)[0].abs() < 1e-6); // the mode of N(0, 1)
    /// # Ok::<(), supersample::Error>(())
    /// ```
    pub fn with_score(
        self,
        score: ScoreFunction,
        log_density: Option<LogDensityFunction>,
        most: u64,
    ) -> SteinTarget {
        SteinTarget {
            space: Some(Arc::new(Space { score, log_density, most, asked: AtomicU64::new(0) })),
            ..self
        }
    }

    /// Number of evaluations of the score so far; 0 without a function.
    pub fn evaluations(&self) -> u64 {
        self.space.as_ref().map_or(0, |space| space.asked.load(Ordering::Relaxed))
    }

    /// Whether the score is known as a function.
    pub(crate) fn has_space(&self) -> bool {
        self.space.is_some()
    }

    /// Whether no evaluations of the score are left.
    pub(crate) fn is_spent(&self) -> bool {
        self.space.as_ref().is_some_and(|space| space.asked.load(Ordering::Relaxed) >= space.most)
    }

    /// Whether evaluations are limited.
    pub(crate) fn is_capped(&self) -> bool {
        self.space.as_ref().is_some_and(|space| space.most < u64::MAX)
    }

    /// Returns the row of any point; `None` if it has no score or no density.
    pub(crate) fn row_at(&self, x: &[f64]) -> Option<Vec<f64>> {
        let score = self.space.as_ref()?.score_at(x)?;
        let point = Points::from_rows(x, x.len()).ok()?;
        let row: Result<Points> = self.rows(&point, &Points::from_vec(score, x.len()).ok()?);
        row.ok().map(|row| row.row(0).to_vec())
    }

    /// Evaluates a function of rows at a point: writes its gradient in x and returns its value. NaN, which no value
    /// exceeds, if there is no score, no density or no evaluation left.
    pub(crate) fn at_point(
        &self,
        x: &[f64],
        gradient: &mut [f64],
        of_row: impl FnOnce(&[f64], &mut [f64]) -> f64,
    ) -> f64 {
        gradient.fill(0.0);
        let row = if self.is_spent() { None } else { self.row_at(x) };
        let (Some(row), Some(space)) = (row, &self.space) else { return f64::NAN };
        let mut by_row = vec![0.0; row.len()];
        let value = of_row(&row, &mut by_row);
        let columns = self.layout().columns();
        let column = |c: usize| by_row.iter().skip(c).step_by(columns).copied().collect::<Vec<f64>>();
        let by_score = column(columns - 1);
        let through_score = space.slope(x, &by_score, STEP * self.length());
        let direct = self.precision.pulled_back(&column(0), &column(1));
        for (g, (direct, through)) in gradient.iter_mut().zip(direct.iter().zip(&through_score)) {
            *g = direct + through;
        }
        value
    }
}

impl Space {
    fn score_at(&self, x: &[f64]) -> Option<Vec<f64>> {
        let has_density = |log_density: &LogDensityFunction| log_density(x) > f64::NEG_INFINITY;
        if !self.log_density.as_ref().is_none_or(has_density) {
            return None;
        }
        let mut score = vec![0.0; x.len()];
        self.asked.fetch_add(1, Ordering::Relaxed);
        (self.score)(x, &mut score);
        score.iter().all(|s| s.is_finite()).then_some(score)
    }

    /// Derivative of the score at x along b, by a central difference; 0 if it is not finite.
    fn slope(&self, x: &[f64], b: &[f64], step: f64) -> Vec<f64> {
        let norm = dot(b, b).sqrt();
        let none = || vec![0.0; x.len()];
        if !(norm > 0.0 && norm.is_finite()) {
            return none();
        }
        let moved =
            |sign: f64| -> Vec<f64> { x.iter().zip(b).map(|(x, b)| x + sign * step * b / norm).collect() };
        let (Some(up), Some(down)) = (self.score_at(&moved(1.0)), self.score_at(&moved(-1.0))) else {
            return none();
        };
        up.iter().zip(&down).map(|(up, down)| (up - down) * norm / (2.0 * step)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MeanEmbedding, Preconditioner, SteinBase};

    /// A density in the plane that is not normal: log p = −x⁴/4 − x²y²/2 − y²/2 + xy/3.
    fn score(x: &[f64], score: &mut [f64]) {
        score[0] = -x[0].powi(3) - x[0] * x[1] * x[1] + x[1] / 3.0;
        score[1] = -x[0] * x[0] * x[1] - x[1] + x[0] / 3.0;
    }

    #[test]
    fn the_gradient_in_a_point_agrees_with_central_differences() {
        let numbers: Vec<f64> = (0..60).map(|i| (f64::from(i) * 0.77).sin()).collect();
        let points = Points::from_rows(&numbers, 2).unwrap();
        let scores: Vec<f64> = points
            .rows()
            .flat_map(|x| {
                let mut s = [0.0; 2];
                score(x, &mut s);
                s
            })
            .collect();
        let scores = Points::from_vec(scores, 2).unwrap();
        for base in [SteinBase::Imq, SteinBase::Gaussian] {
            for preconditioner in [Preconditioner::Median, Preconditioner::Covariance] {
                let target = SteinTarget::new(&points, &scores, base, preconditioner).unwrap();
                let target = target.with_score(Arc::new(score), None, u64::MAX);
                let rows = target.rows(&points, &scores).unwrap();
                let kernel = target.kernel().clone();
                let sum = |row: &[f64], gradient: &mut [f64]| {
                    kernel.add_gradient(row, rows.row(3), 1.0, gradient)
                        - kernel.add_gradient(row, rows.row(8), -1.0, gradient)
                };
                let (x, h) = ([0.4, -0.6], 1e-5);
                let mut gradient = [0.0; 2];
                target.at_point(&x, &mut gradient, sum);
                for i in 0..2 {
                    let at = |step: f64| {
                        let mut moved = x;
                        moved[i] += step;
                        let row = target.row_at(&moved).unwrap();
                        kernel.value(&row, rows.row(3)) - kernel.value(&row, rows.row(8))
                    };
                    let difference = (at(h) - at(-h)) / (2.0 * h);
                    assert!(
                        (gradient[i] - difference).abs() < 1e-7,
                        "{base:?} {preconditioner:?} {i}: {gradient:?} {difference}"
                    );
                }
                let back = target.point(rows.row(5));
                assert!(back.iter().zip(points.row(5)).all(|(a, b)| (a - b).abs() < 1e-12));
            }
        }
    }
}
