//! Ascent of a smooth function to a local maximum: BFGS with steps no longer than a bandwidth.

use crate::words::Opt;
use crate::{Error, Result};

/// Options of the ascent in continuous space.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct AscentOptions {
    /// Number of the best starts to climb from; the highest maximum is taken. Starts closer than half a bandwidth count
    /// as one. Default 1, as in the paper.
    pub climbs: usize,
    /// Largest number of steps of one climb. Default 200; 5 to 30 are usual.
    pub max_steps: usize,
    /// A climb ends where the slope over one bandwidth falls below this. Default 1e-6, in units in which a single
    /// kernel is 1 high.
    pub tolerance: f64,
}

impl Default for AscentOptions {
    fn default() -> AscentOptions {
        AscentOptions { climbs: 1, max_steps: 200, tolerance: 1e-6 }
    }
}

impl AscentOptions {
    /// Sets the number of starts.
    pub fn climbs(self, climbs: usize) -> AscentOptions {
        AscentOptions { climbs, ..self }
    }

    /// Sets the largest number of steps of one climb.
    pub fn max_steps(self, max_steps: usize) -> AscentOptions {
        AscentOptions { max_steps, ..self }
    }

    /// Sets the tolerance.
    pub fn tolerance(self, tolerance: f64) -> AscentOptions {
        AscentOptions { tolerance, ..self }
    }

    /// Checks that there is a start and a step, and that the tolerance is positive and finite.
    pub fn check(&self) -> Result<()> {
        let bad = |option, value, advice| Err(Error::BadOption { option, value, advice });
        if self.climbs == 0 {
            return bad(Opt::Climbs, 0.0, "climb from at least one start");
        }
        if self.max_steps == 0 {
            return bad(Opt::MaxSteps, 0.0, "allow at least one step");
        }
        if !(self.tolerance > 0.0 && self.tolerance.is_finite()) {
            return bad(Opt::Tolerance, self.tolerance, "give a small positive number such as 1e-6");
        }
        Ok(())
    }
}

/// End of a climb.
#[derive(Clone, Debug)]
pub(crate) struct Summit {
    pub(crate) point: Vec<f64>,
    pub(crate) value: f64,
    /// Whether the slope fell below the tolerance, or no step could raise the value any more.
    pub(crate) converged: bool,
}

/// Smallest rise of a step as a fraction of the slope's prediction (Armijo's rule).
const SUFFICIENT: f64 = 1e-4;

/// Climbs `f`, which writes its gradient and returns its value, from `start`. `length` is the scale on which `f`
/// changes: no step is longer, so that a climb stays on its hill. Never ends below its start.
pub(crate) fn climb(
    mut f: impl FnMut(&[f64], &mut [f64]) -> f64,
    start: &[f64],
    length: f64,
    options: &AscentOptions,
) -> Summit {
    let dim = start.len();
    let mut x = start.to_vec();
    let mut gradient = vec![0.0; dim];
    let mut value = f(&x, &mut gradient);
    let mut inverse_hessian = InverseHessian::new(dim);
    let (mut next_x, mut next_gradient) = (vec![0.0; dim], vec![0.0; dim]);
    let mut direction = vec![0.0; dim];

    for _ in 0..options.max_steps {
        if norm(&gradient) * length <= options.tolerance {
            return Summit { point: x, value, converged: true };
        }
        inverse_hessian.apply(&gradient, &mut direction);
        // Before the first step no curvature is known: try a tenth of the length uphill.
        if inverse_hessian.is_fresh {
            scale_to(&mut direction, 0.1 * length);
        } else if norm(&direction) > length {
            scale_to(&mut direction, length);
        }
        let rise = dot(&gradient, &direction);
        let mut fraction = 1.0;
        // `None` once the step is too short to change the point.
        let next_value = loop {
            if fraction * norm(&direction) <= f64::EPSILON * (norm(&x) + length) {
                break None;
            }
            for ((next, x), step) in next_x.iter_mut().zip(&x).zip(&direction) {
                *next = x + fraction * step;
            }
            let next_value = f(&next_x, &mut next_gradient);
            if next_value >= value && next_value - value >= SUFFICIENT * fraction * rise {
                break Some(next_value);
            }
            // The summit of the parabola through both values and the slope, kept off the ends of the interval.
            let parabola = 0.5 * rise * fraction * fraction / (rise * fraction - (next_value - value));
            fraction = parabola.max(0.1 * fraction).min(0.5 * fraction);
        };
        match next_value {
            Some(next_value) => {
                inverse_hessian.update(&x, &next_x, &gradient, &next_gradient);
                std::mem::swap(&mut x, &mut next_x);
                std::mem::swap(&mut gradient, &mut next_gradient);
                value = next_value;
            }
            // A direction that does not rise may come from a stale curvature: try the gradient.
            None if !inverse_hessian.is_fresh => inverse_hessian = InverseHessian::new(dim),
            None => return Summit { point: x, value, converged: true },
        }
    }
    let converged = norm(&gradient) * length <= options.tolerance;
    Summit { point: x, value, converged }
}

/// The running BFGS estimate of the inverse of the negative Hessian, row-major and symmetric.
struct InverseHessian {
    matrix: Vec<f64>,
    is_fresh: bool,
}

impl InverseHessian {
    fn new(dim: usize) -> InverseHessian {
        let mut matrix = vec![0.0; dim * dim];
        matrix.iter_mut().step_by(dim + 1).for_each(|diagonal| *diagonal = 1.0);
        InverseHessian { matrix, is_fresh: true }
    }

    fn apply(&self, vector: &[f64], out: &mut [f64]) {
        for (out, row) in out.iter_mut().zip(self.matrix.chunks_exact(vector.len())) {
            *out = dot(row, vector);
        }
    }

    /// The BFGS update for the step s = b − a, with y = ∇f(a) − ∇f(b) because we climb.
    fn update(&mut self, a: &[f64], b: &[f64], gradient_a: &[f64], gradient_b: &[f64]) {
        let s: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
        let y: Vec<f64> = gradient_a.iter().zip(gradient_b).map(|(a, b)| a - b).collect();
        let curvature = dot(&s, &y);
        // Where the function is not concave along the step, the estimate would lose its definiteness.
        if curvature <= 1e-10 * norm(&s) * norm(&y) {
            return;
        }
        if self.is_fresh {
            let scale = curvature / dot(&y, &y);
            self.matrix.iter_mut().for_each(|entry| *entry *= scale);
            self.is_fresh = false;
        }
        let mut hy = vec![0.0; s.len()];
        self.apply(&y, &mut hy);
        let stretch = (1.0 + dot(&y, &hy) / curvature) / curvature;
        for (i, row) in self.matrix.chunks_exact_mut(s.len()).enumerate() {
            for (j, entry) in row.iter_mut().enumerate() {
                *entry += stretch * s[i] * s[j] - (hy[i] * s[j] + s[i] * hy[j]) / curvature;
            }
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

fn scale_to(vector: &mut [f64], length: f64) {
    let factor = length / norm(vector);
    vector.iter_mut().for_each(|v| *v *= factor);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hill at (1, −2, 3) whose curvatures differ by a factor of 10⁴, with exponential flanks.
    fn narrow_hill(x: &[f64], gradient: &mut [f64]) -> f64 {
        let (centre, stiffness) = ([1.0, -2.0, 3.0], [1.0, 100.0, 10_000.0]);
        let q: f64 = (0..3).map(|i| stiffness[i] * (x[i] - centre[i]).powi(2)).sum();
        let value = -(1.0 + q).ln();
        for i in 0..3 {
            gradient[i] = -2.0 * stiffness[i] * (x[i] - centre[i]) / (1.0 + q);
        }
        value
    }

    #[test]
    fn an_ill_conditioned_hill_is_climbed_to_the_top_in_few_steps() {
        let mut calls = 0;
        let counted = |x: &[f64], g: &mut [f64]| {
            calls += 1;
            narrow_hill(x, g)
        };
        let summit = climb(counted, &[0.5, -1.8, 3.3], 1.0, &AscentOptions::default());
        assert!(summit.converged && summit.value > -1e-9, "{summit:?}");
        assert!((summit.point[2] - 3.0).abs() < 1e-6);
        assert!(calls < 120, "{calls} evaluations");
    }

    #[test]
    fn a_climb_stays_on_its_own_hill_and_never_ends_lower() {
        // Two Gaussian hills of different height, 10 apart; the climb starts on the lower one.
        let two = |x: &[f64], g: &mut [f64]| {
            let hill = |c: f64, h: f64| h * (-0.5 * (x[0] - c).powi(2)).exp();
            let (low, high) = (hill(0.0, 1.0), hill(10.0, 5.0));
            g[0] = -x[0] * low - (x[0] - 10.0) * high;
            low + high
        };
        for start in [-2.5, -0.1, 0.0, 1.9] {
            let summit = climb(two, &[start], 1.0, &AscentOptions::default());
            assert!(summit.converged && summit.point[0].abs() < 1e-5, "{start}: {summit:?}");
            assert!(summit.value >= two(&[start], &mut [0.0]));
        }
    }

    #[test]
    fn too_few_steps_are_reported_as_not_converged() {
        let options = AscentOptions::default().max_steps(2);
        assert!(!climb(narrow_hill, &[0.5, -1.8, 3.3], 1.0, &options).converged);
    }

    #[test]
    fn options_out_of_range_are_refused() {
        let options = AscentOptions::default();
        assert!(options.check().is_ok());
        for bad in
            [options.climbs(0), options.max_steps(0), options.tolerance(0.0), options.tolerance(f64::NAN)]
        {
            assert!(matches!(bad.check(), Err(Error::BadOption { .. })), "{bad:?}");
        }
    }
}
