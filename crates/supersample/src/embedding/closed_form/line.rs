//! The closed forms on the line, of which those of independent coordinates are products.
//!
//! Lengths are measured in bandwidths before anything is computed, so that no scale of the data over- or underflows.

use std::f64::consts::{FRAC_1_PI, SQRT_2};

use crate::special::{exponential_moments, gauss_legendre, gaussian_moments, half_normal_moments};

/// Distances are cut here, in bandwidths: every kernel is zero long before, and products of three are still finite.
const FAR: f64 = 1e100;

/// A kernel on the line, as a function of the distance of its two arguments.
#[derive(Clone, Copy, Debug)]
pub(super) enum LineKernel {
    /// exp(−r²/(2ℓ²))
    Gaussian { bandwidth: f64 },
    /// p(v)·e^(−v) with v = c·r
    Matern { rate: f64, form: &'static MaternForm },
    /// −r
    Energy,
}

/// The polynomials of a Matérn kernel on the line, coefficients of 1, v, v².
#[derive(Debug)]
pub(super) struct MaternForm {
    /// k = p(v)·e^(−v)
    value: [f64; 3],
    /// −dk/dv = q(v)·e^(−v)
    slope: [f64; 3],
    /// ∫₀ᵛ k = g(0) − g(v)·e^(−v)
    integral: [f64; 3],
}

/// p = 1; this is also the Laplace kernel.
const MATERN_12: MaternForm =
    MaternForm { value: [1.0, 0.0, 0.0], slope: [1.0, 0.0, 0.0], integral: [1.0, 0.0, 0.0] };

/// p = 1 + v
const MATERN_32: MaternForm =
    MaternForm { value: [1.0, 1.0, 0.0], slope: [0.0, 1.0, 0.0], integral: [2.0, 1.0, 0.0] };

/// p = 1 + v + v²/3
const MATERN_52: MaternForm = MaternForm {
    value: [1.0, 1.0, 1.0 / 3.0],
    slope: [0.0, 1.0 / 3.0, 1.0 / 3.0],
    integral: [8.0 / 3.0, 5.0 / 3.0, 1.0 / 3.0],
};

impl LineKernel {
    pub(super) fn matern12(bandwidth: f64) -> LineKernel {
        LineKernel::Matern { rate: 1.0 / bandwidth, form: &MATERN_12 }
    }

    pub(super) fn matern32(bandwidth: f64) -> LineKernel {
        LineKernel::Matern { rate: 3f64.sqrt() / bandwidth, form: &MATERN_32 }
    }

    pub(super) fn matern52(bandwidth: f64) -> LineKernel {
        LineKernel::Matern { rate: 5f64.sqrt() / bandwidth, form: &MATERN_52 }
    }

    /// [∫₀¹ k(near + length·w) dw, ∫₀¹ w·k(near + length·w) dw]: the mean over a stretch that starts `near` from the
    /// origin, plain and weighted by a ramp.
    fn stretch(&self, near: f64, length: f64) -> [f64; 2] {
        match *self {
            LineKernel::Gaussian { bandwidth } => {
                let unit = SQRT_2 * bandwidth;
                gaussian_moments((near / unit).min(FAR), (length / unit).min(FAR))
            }
            LineKernel::Matern { rate, form } => {
                let (v, delta) = ((rate * near).min(FAR), (rate * length).min(FAR));
                let moments = exponential_moments(delta);
                [0, 1].map(|j| (-v).exp() * dot(&shifted(&form.value, v, delta), &moments[j..]))
            }
            LineKernel::Energy => [-near - length / 2.0, -near / 2.0 - length / 3.0],
        }
    }

    /// k(near) − k(near + step), for step ≥ 0, without the cancellation when the step is short.
    fn drop(&self, near: f64, step: f64) -> f64 {
        match *self {
            LineKernel::Gaussian { bandwidth } => {
                let unit = SQRT_2 * bandwidth;
                let (a, delta) = ((near / unit).min(FAR), (step / unit).min(FAR));
                -(-a * a).exp() * (-delta * (2.0 * a + delta)).exp_m1()
            }
            LineKernel::Matern { rate, form } => {
                let (v, delta) = ((rate * near).min(FAR), (rate * step).min(FAR));
                // ∫ q(v)·e^(−v) over the step
                (-v).exp() * delta * dot(&shifted(&form.slope, v, delta), &exponential_moments(delta))
            }
            LineKernel::Energy => step,
        }
    }
}

/// The distribution of one coordinate.
#[derive(Clone, Copy, Debug)]
pub(super) enum Marginal {
    /// Uniform on [lower, upper].
    Interval { lower: f64, upper: f64 },
    /// N(mean, sd²)
    Normal { mean: f64, sd: f64 },
}

impl Marginal {
    /// μ(x) and its derivative.
    pub(super) fn embed(&self, kernel: &LineKernel, x: f64) -> (f64, f64) {
        match *self {
            Marginal::Interval { lower, upper } => interval(kernel, lower, upper, x),
            Marginal::Normal { mean, sd } => normal(kernel, x - mean, sd),
        }
    }

    /// ⟨μ_p, μ_q⟩ = E k(X, Y) for X of this distribution and Y of the other, independent.
    pub(super) fn inner_product(&self, kernel: &LineKernel, other: &Marginal) -> f64 {
        match (*self, *other) {
            (Marginal::Interval { lower: a, upper: b }, Marginal::Interval { lower: c, upper: d }) => {
                intervals(kernel, [a, b], [c, d])
            }
            // X − Y is normal too, with the variances added.
            (Marginal::Normal { mean, sd }, Marginal::Normal { mean: other_mean, sd: other_sd }) => {
                normal(kernel, mean - other_mean, sd.hypot(other_sd)).0
            }
            (Marginal::Interval { lower, upper }, Marginal::Normal { mean, sd })
            | (Marginal::Normal { mean, sd }, Marginal::Interval { lower, upper }) => {
                interval_and_normal(kernel, lower, upper, mean, sd)
            }
        }
    }
}

/// μ(x) = ∫ k(x, y) dy/(b−a) over [a, b] and μ'(x) = (k(x, a) − k(x, b))/(b−a).
fn interval(kernel: &LineKernel, lower: f64, upper: f64, x: f64) -> (f64, f64) {
    let length = upper - lower;
    // The distances to the two ends; negative for the end x lies beyond.
    let (from_lower, to_upper) = (x - lower, upper - x);
    if from_lower < 0.0 {
        (kernel.stretch(-from_lower, length)[0], kernel.drop(-from_lower, length) / length)
    } else if to_upper < 0.0 {
        (kernel.stretch(-to_upper, length)[0], -kernel.drop(-to_upper, length) / length)
    } else {
        let part = |side: f64| kernel.stretch(0.0, side)[0] * (side / length);
        let near = from_lower.min(to_upper);
        let drop = kernel.drop(near, (to_upper - from_lower).abs()) / length;
        (part(from_lower) + part(to_upper), if from_lower < to_upper { drop } else { -drop })
    }
}

/// E k(X, Y) for X and Y uniform on two intervals: the integral of k against the density of X − Y, a trapezium.
///
/// All terms are positive, so that short intervals keep their precision, which the usual difference of four second
/// antiderivatives of k loses.
fn intervals(kernel: &LineKernel, [a, b]: [f64; 2], [c, d]: [f64; 2]) -> f64 {
    let (long, short) = ((b - a).max(d - c), (b - a).min(d - c));
    let (start, flat) = ((a - d).max(f64::MIN), long - short);
    // The density rises from 0 to 1/long over `short`, stays for `flat`, and falls again over `short`.
    let rise = weighted_stretch(kernel, start, short, [0.0, 1.0]) * (short / long);
    let plateau = weighted_stretch(kernel, start + short, flat, [1.0, 1.0]) * (flat / long);
    let fall = weighted_stretch(kernel, start + long, short, [1.0, 0.0]) * (short / long);
    rise + plateau + fall
}

/// The mean of k(|s|)·weight(s) over s in [start, start+length], the weight linear between its values at the two ends.
fn weighted_stretch(kernel: &LineKernel, start: f64, length: f64, weights: [f64; 2]) -> f64 {
    let away = |near: f64, length: f64, [first, last]: [f64; 2]| {
        let [flat, ramp] = kernel.stretch(near, length);
        first * (flat - ramp) + last * ramp
    };
    let [first, last] = weights;
    let end = start + length;
    if start >= 0.0 {
        away(start, length, weights)
    } else if end <= 0.0 {
        away(-end, length, [last, first])
    } else {
        let before = (-start / length).min(1.0);
        let middle = first + (last - first) * before;
        away(0.0, -start, [middle, first]) * before + away(0.0, end, [middle, last]) * (1.0 - before)
    }
}

/// E k(z + sd·Z) for a standard normal Z, and its derivative in z.
fn normal(kernel: &LineKernel, z: f64, sd: f64) -> (f64, f64) {
    match *kernel {
        LineKernel::Gaussian { bandwidth } => {
            // ℓ/√(ℓ²+s²)·exp(−z²/(2(ℓ²+s²)))
            let width = bandwidth.hypot(sd);
            let ratio = (z / width).clamp(-FAR, FAR);
            let value = bandwidth / width * (-0.5 * ratio * ratio).exp();
            (value, -value * ratio / width)
        }
        LineKernel::Matern { rate, form } => {
            let [right, left] = two_sides(rate * z, rate * sd);
            let value = dot(&form.value, &right) + dot(&form.value, &left);
            (value, rate * (dot(&form.slope, &left) - dot(&form.slope, &right)))
        }
        LineKernel::Energy => {
            // E |z + sZ| = z·erf(z/(s√2)) + s·√(2/π)·exp(−z²/(2s²))
            let ratio = z / sd;
            let slope = libm::erf(ratio / SQRT_2);
            (-(z * slope + sd * (2.0 * FRAC_1_PI).sqrt() * (-0.5 * ratio * ratio).exp()), -slope)
        }
    }
}

/// E over Y ~ N(mean, sd²) of the mean of k(x, Y) over x in [lower, upper].
fn interval_and_normal(kernel: &LineKernel, lower: f64, upper: f64, mean: f64, sd: f64) -> f64 {
    let length = upper - lower;
    match *kernel {
        LineKernel::Gaussian { bandwidth } => {
            // The embedding of the normal is a Gaussian of width √(ℓ²+s²).
            let width = bandwidth.hypot(sd);
            bandwidth / width * interval(&LineKernel::Gaussian { bandwidth: width }, lower, upper, mean).0
        }
        // Over a short interval the difference below would cancel. The embedding of the normal is smooth over sd near
        // its mean and over ℓ elsewhere, so eight points in each such piece are exact to rounding.
        LineKernel::Matern { rate, .. } if length < sd || rate * length < 1.0 => {
            piecewise(kernel, lower, upper, mean, sd)
        }
        // Far from the interval the mean is smooth over sd; eight points in each such piece are exact to rounding.
        LineKernel::Energy => piecewise(kernel, lower, upper, mean, sd),
        LineKernel::Matern { rate, form } => {
            // E[G(D_b) − G(D_a)]/(c·(b−a)) with G(v) = g(0) − g(v)·e^(−v) odd, and D normal around the end. The two
            // parts of G are subtracted apart: where both ends are far from the mean the first is nothing, exactly.
            let parts = |end: f64| {
                let [right, left] = two_sides(rate * end, rate * sd);
                let decaying = dot(&form.integral, &right) - dot(&form.integral, &left);
                (form.integral[0] * libm::erf(end / (SQRT_2 * sd)), decaying)
            };
            let (a, b) = (parts(lower - mean), parts(upper - mean));
            ((b.0 - a.0) - (b.1 - a.1)) / (rate * length)
        }
    }
}

/// The mean over [lower, upper] of the embedding of a normal, by quadrature in pieces of its sd.
fn piecewise(kernel: &LineKernel, lower: f64, upper: f64, mean: f64, sd: f64) -> f64 {
    let edge = |i: i32| if i > 9 { upper } else { (mean + sd * f64::from(i)).clamp(lower, upper) };
    let pieces = (-9..=10).map(|i| (if i == -9 { lower } else { edge(i - 1) }, edge(i)));
    let integral = |(start, end): (f64, f64)| {
        (end - start) / (upper - lower)
            * gauss_legendre(|w| normal(kernel, start - mean + (end - start) * w, sd).0)
    };
    pieces.filter(|(start, end)| start < end).map(integral).sum()
}

/// E[Dʲ·e^(−D); D > 0] for D ~ N(u, t²) and for its mirror image.
fn two_sides(u: f64, t: f64) -> [[f64; 3]; 2] {
    let (u, t) = (u.clamp(-FAR, FAR), t.clamp(f64::MIN_POSITIVE, FAR));
    [half_normal_moments(u, t), half_normal_moments(-u, t)]
}

/// The coefficients in w of the polynomial at v + δ·w.
fn shifted(&[p0, p1, p2]: &[f64; 3], v: f64, delta: f64) -> [f64; 3] {
    [p0 + v * (p1 + v * p2), delta * (p1 + 2.0 * p2 * v), delta * delta * p2]
}

/// Σ of the products of three coefficients with the first three moments.
fn dot(coefficients: &[f64; 3], moments: &[f64]) -> f64 {
    coefficients.iter().zip(moments).map(|(a, b)| a * b).sum()
}
