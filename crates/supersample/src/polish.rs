//! Polish: all points of a set move together to reduce E², for targets whose μ has a gradient.
//!
//! T²E² = T²‖μ‖² − 2T Σₜ μ(xₜ) + Σₛₜ k(xₛ, xₜ) has the gradient −2T ∇μ(xₜ) + 2 Σₛ ∇k(xₜ, xₛ) in xₜ. Herding places one
//! point at a time and never moves it again; here all T·d coordinates move at once, by L-BFGS with steps shorter than
//! the bandwidth.

use std::collections::VecDeque;

use rayon::prelude::*;

use crate::embedding::ErrorTerms;
use crate::linalg::dot;
use crate::watch::{Progress, Watch};
use crate::words::Opt;
use crate::{Error, MeanEmbedding, Points, Result, sum};

/// Pairs of steps and gradient changes that L-BFGS remembers.
const MEMORY: usize = 10;

/// Smallest fall of a step as a fraction of the slope's prediction (Armijo's rule).
const SUFFICIENT: f64 = 1e-4;

/// Options of the polish.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PolishOptions {
    /// Largest number of steps.
    max_steps: usize,
    /// The descent ends when a step reduces E² by less than this fraction.
    tolerance: f64,
}

impl Default for PolishOptions {
    fn default() -> PolishOptions {
        PolishOptions { max_steps: 500, tolerance: 1e-7 }
    }
}

impl PolishOptions {
    /// Sets the largest number of steps. Default 500.
    pub fn max_steps(self, max_steps: usize) -> PolishOptions {
        PolishOptions { max_steps, ..self }
    }

    /// Sets the tolerance: the descent ends when a step reduces E² by less than this fraction. Default 1e-7.
    pub fn tolerance(self, tolerance: f64) -> PolishOptions {
        PolishOptions { tolerance, ..self }
    }
}

/// Polished points, with their errors.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Polished {
    /// The points, in the order they were given.
    pub points: Points,
    /// Error of the points; never more than `start_error`. `None` if ‖μ‖² is not known.
    pub error: Option<f64>,
    /// Error of the given points.
    pub start_error: Option<f64>,
    /// Steps taken.
    pub steps: usize,
    /// Whether the tolerance, not the number of steps, ended the descent.
    pub converged: bool,
    /// Whether the watch ended it.
    pub interrupted: bool,
}

/// Reduces the error of `points` by moving them all together, in all of space.
///
/// Each step costs T² kernel gradients and T gradients of μ; meant for closed-form targets, where the latter are cheap.
/// `watch` is called before each step, and [`Break`](std::ops::ControlFlow::Break) ends the descent with the points so
/// far, marked as [`interrupted`](Polished::interrupted).
///
/// ```
/// use supersample::target::IndependentNormals;
/// use supersample::{ClosedForm, Kernel, Points, PolishOptions, polish, unwatched};
/// let mu = ClosedForm::normals(Kernel::gaussian(1.0)?, IndependentNormals::new(&[0.0], &[1.0])?)?;
/// let points = Points::from_rows(&[-1.0, 0.1, 0.9], 1)?;
/// let polished = polish(&mu, &points, PolishOptions::default(), &unwatched)?;
/// assert!(polished.error < polished.start_error);
/// # Ok::<(), supersample::Error>(())
/// ```
pub fn polish(
    mu: &dyn MeanEmbedding,
    points: &Points,
    options: PolishOptions,
    watch: Watch,
) -> Result<Polished> {
    points.expect_dim("the points", "the target", mu.dim())?;
    if !(options.tolerance >= 0.0 && options.tolerance.is_finite()) {
        let advice = "give a small number that is not negative, such as 1e-7";
        return Err(Error::BadOption { option: Opt::Tolerance, value: options.tolerance, advice });
    }
    let dim = points.dim();
    let norm = ErrorTerms::of(mu).double_squared_norm();
    // Measured against ‖μ‖² the energy is E²; without it, only the end by the number of steps or by rounding is known.
    let offset = norm.unwrap_or(0.0);
    let mut x = points.as_slice().to_vec();
    let mut gradient = vec![0.0; x.len()];
    let start = offset + energy(mu, &x, &mut gradient);
    if !start.is_finite() {
        return Err(Error::Overflow { value: start });
    }
    let (mut value, mut steps, mut converged, mut interrupted) = (start, 0, false, false);
    let length = mu.kernel().bandwidths().iter().copied().reduce(f64::min).unwrap_or(1.0);
    let floor = 8.0 * f64::EPSILON * (offset.abs() + 1.0);
    let mut memory = Memory::default();
    let (mut next_x, mut next_gradient) = (x.clone(), gradient.clone());
    while steps < options.max_steps && !converged {
        if watch(Progress::Polishing { steps, most: options.max_steps }).is_break() {
            interrupted = true;
            break;
        }
        let mut direction = memory.direction(&gradient);
        // No point moves by more than half a bandwidth at once; the first step, blind to curvature, by a tenth.
        let limit = if memory.pairs.is_empty() { 0.1 } else { 0.5 } * length;
        let longest = direction.chunks_exact(dim).map(|step| dot(step, step).sqrt()).fold(0.0, f64::max);
        if memory.pairs.is_empty() || longest > limit {
            direction.iter_mut().for_each(|step| *step *= limit / longest.max(f64::MIN_POSITIVE));
        }
        let slope = dot(&gradient, &direction);
        let mut fraction = 1.0;
        let next = loop {
            // A fall below rounding does not count.
            if -fraction * slope < floor * 1e-3 || fraction < 1e-12 {
                break None;
            }
            for ((next, x), step) in next_x.iter_mut().zip(&x).zip(&direction) {
                *next = x + fraction * step;
            }
            let next = offset + energy(mu, &next_x, &mut next_gradient);
            if next <= value + SUFFICIENT * fraction * slope {
                break Some(next);
            }
            fraction *= 0.5;
        };
        match next {
            Some(next) => {
                memory.remember(&x, &next_x, &gradient, &next_gradient);
                converged = norm.is_some() && value - next <= options.tolerance * next.abs().max(floor);
                std::mem::swap(&mut x, &mut next_x);
                std::mem::swap(&mut gradient, &mut next_gradient);
                value = next;
                steps += 1;
            }
            // The curvature may be stale: try the gradient alone.
            None if !memory.pairs.is_empty() => memory = Memory::default(),
            None => converged = true,
        }
    }
    let root = |value: f64| norm.map(|_| value.max(0.0).sqrt());
    let (error, start_error) = (root(value), root(start));
    Ok(Polished { points: Points::from_vec(x, dim)?, error, start_error, steps, converged, interrupted })
}

/// E² − ‖μ‖² of flat points, and its gradient.
fn energy(mu: &dyn MeanEmbedding, x: &[f64], gradient: &mut [f64]) -> f64 {
    let (kernel, dim) = (mu.kernel(), mu.dim());
    let count = x.len() / dim;
    let ones = vec![1.0; count];
    let (mean_scale, pair_scale) = (2.0 / count as f64, 2.0 / (count as f64).powi(2));
    let one = |(x_t, gradient): (&[f64], &mut [f64])| {
        let mean = mu.gradient_into(x_t, gradient);
        gradient.iter_mut().for_each(|g| *g *= -mean_scale);
        // Of the pair (t, t) both arguments move: twice ∇k(xₜ, ·) at xₜ, the same as for the pairs (s, t) and (t, s).
        let within = sum::add_gradient_into(kernel, x_t, x, &ones, pair_scale, gradient);
        within / (count as f64).powi(2) - mean_scale * mean
    };
    let rows = x.par_chunks(dim).zip(gradient.par_chunks_mut(dim)).with_min_len(4);
    let terms: Vec<f64> = rows.map(one).collect();
    terms.iter().sum()
}

/// The last steps s and gradient changes y of L-BFGS, the oldest first.
#[derive(Default)]
struct Memory {
    pairs: VecDeque<(Vec<f64>, Vec<f64>)>,
}

impl Memory {
    /// The direction of descent: minus the inverse Hessian estimate times the gradient, by the two loops.
    fn direction(&self, gradient: &[f64]) -> Vec<f64> {
        let mut direction: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let mut coefficients = Vec::with_capacity(self.pairs.len());
        for (s, y) in self.pairs.iter().rev() {
            let coefficient = dot(s, &direction) / dot(s, y);
            direction.iter_mut().zip(y).for_each(|(d, y)| *d -= coefficient * y);
            coefficients.push(coefficient);
        }
        if let Some((s, y)) = self.pairs.back() {
            let scale = dot(s, y) / dot(y, y);
            direction.iter_mut().for_each(|d| *d *= scale);
        }
        for ((s, y), coefficient) in self.pairs.iter().zip(coefficients.iter().rev()) {
            let back = coefficient - dot(y, &direction) / dot(s, y);
            direction.iter_mut().zip(s).for_each(|(d, s)| *d += back * s);
        }
        direction
    }

    fn remember(&mut self, from: &[f64], to: &[f64], gradient_from: &[f64], gradient_to: &[f64]) {
        let s: Vec<f64> = to.iter().zip(from).map(|(to, from)| to - from).collect();
        let y: Vec<f64> = gradient_to.iter().zip(gradient_from).map(|(to, from)| to - from).collect();
        // Where E² is not convex along the step, the estimate would lose its definiteness.
        if dot(&s, &y) > 1e-10 * (dot(&s, &s) * dot(&y, &y)).sqrt() {
            if self.pairs.len() == MEMORY {
                self.pairs.pop_front();
            }
            self.pairs.push_back((s, y));
        }
    }
}
