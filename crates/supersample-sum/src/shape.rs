//! Kernels as plain data, and their formulas: value, slope and gradient, one pair at a time in f64.

use std::sync::Arc;

use crate::stein::Stein;

const SQRT_3: f64 = 1.732_050_807_568_877_2;
const SQRT_5: f64 = 2.236_067_977_499_79;

/// The shape of a kernel with its lengths, which are positive and have a square that is a normal number.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// exp(−r²/(2ℓ²))
    Gaussian {
        /// ℓ
        length: f64,
    },
    /// The mean of several Gaussians, one for each length.
    Gaussians {
        /// ℓ₁, ℓ₂, …; at least one.
        lengths: Arc<[f64]>,
    },
    /// exp(−|x−y|₁/ℓ)
    Laplace {
        /// ℓ
        length: f64,
    },
    /// exp(−r/ℓ)
    Matern12 {
        /// ℓ
        length: f64,
    },
    /// (1+√3 r/ℓ)·exp(−√3 r/ℓ)
    Matern32 {
        /// ℓ
        length: f64,
    },
    /// (1+√5 r/ℓ+5r²/(3ℓ²))·exp(−√5 r/ℓ)
    Matern52 {
        /// ℓ
        length: f64,
    },
    /// (1+r²/ℓ²)^(−1/2)
    Imq {
        /// ℓ
        length: f64,
    },
    /// x·y
    Linear,
    /// −r, which is positive definite only on differences of equal mass.
    Energy,
    /// −|x−y|₁/ℓ, which is positive definite only on differences of equal mass.
    Manhattan {
        /// ℓ
        length: f64,
    },
    /// A Stein kernel, whose rows hold points and their scores.
    Stein(Stein),
}

/// Distance that a kernel is a function of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distance {
    /// r² = Σ (xᵢ−yᵢ)²
    SquaredEuclidean,
    /// |x−y|₁ = Σ |xᵢ−yᵢ|
    Manhattan,
    /// x·y
    Dot,
}

impl Distance {
    /// The distance of x and y.
    // Of a few coordinates, and called by the hundred thousand from another crate.
    #[inline]
    pub fn between(self, x: &[f64], y: &[f64]) -> f64 {
        debug_assert_eq!(x.len(), y.len());
        let pairs = x.iter().zip(y);
        match self {
            Distance::SquaredEuclidean => pairs.map(|(a, b)| (a - b) * (a - b)).sum(),
            Distance::Manhattan => pairs.map(|(a, b)| (a - b).abs()).sum(),
            Distance::Dot => pairs.map(|(a, b)| a * b).sum(),
        }
    }
}

impl Shape {
    /// The distance this kernel is a function of. A Stein kernel is a function of several sums, and one of these is a
    /// product, which depends on the origin.
    pub fn distance(&self) -> Distance {
        match self {
            Shape::Laplace { .. } | Shape::Manhattan { .. } => Distance::Manhattan,
            Shape::Linear | Shape::Stein(_) => Distance::Dot,
            _ => Distance::SquaredEuclidean,
        }
    }

    /// k(x, y). Costs d.
    pub fn value(&self, x: &[f64], y: &[f64]) -> f64 {
        if let Shape::Stein(stein) = self {
            return stein.value(x, y);
        }
        self.profile(self.distance().between(x, y))
    }

    /// k(x, x).
    pub fn diagonal(&self, x: &[f64]) -> f64 {
        if let Shape::Stein(stein) = self {
            return stein.diagonal(x);
        }
        self.constant_diagonal().unwrap_or_else(|| Distance::Dot.between(x, x))
    }

    /// Whether it is summed only in f64: its values have no bound.
    pub(crate) fn is_double_only(&self) -> bool {
        matches!(self, Shape::Energy | Shape::Stein(_))
    }

    /// k(x, x), where it is the same for every x: 0 for distances with a minus sign, 1 for all others but the linear
    /// and the Stein kernels.
    pub fn constant_diagonal(&self) -> Option<f64> {
        match self {
            Shape::Linear | Shape::Stein(_) => None,
            Shape::Energy | Shape::Manhattan { .. } => Some(0.0),
            _ => Some(1.0),
        }
    }

    /// Adds `scale`·∇ₓk(x, y) to `gradient` and returns k(x, y). Costs d.
    pub fn add_gradient(&self, x: &[f64], y: &[f64], scale: f64, gradient: &mut [f64]) -> f64 {
        if let Shape::Stein(stein) = self {
            return stein.add_gradient(x, y, scale, gradient);
        }
        let (value, slope) = self.profile_and_slope(self.distance().between(x, y));
        let slope = scale * slope;
        let coordinates = gradient.iter_mut().zip(x.iter().zip(y));
        match self.distance() {
            Distance::SquaredEuclidean => coordinates.for_each(|(g, (a, b))| *g += slope * 2.0 * (a - b)),
            Distance::Manhattan => coordinates.for_each(|(g, (a, b))| {
                // f64::signum(0.0) is 1; at the kink the gradient is taken as 0.
                if a != b {
                    *g += slope * (a - b).signum();
                }
            }),
            Distance::Dot => coordinates.for_each(|(g, (_, b))| *g += slope * b),
        }
        value
    }

    /// The kernel as a function of its [`Distance`].
    ///
    /// # Panics
    /// For a Stein kernel, which is a function of more.
    pub fn profile(&self, s: f64) -> f64 {
        match self {
            Shape::Gaussian { length } => (-0.5 * s / (length * length)).exp(),
            Shape::Gaussians { lengths } => {
                lengths.iter().map(|l| (-0.5 * s / (l * l)).exp()).sum::<f64>() / lengths.len() as f64
            }
            Shape::Laplace { length } => (-s / length).exp(),
            Shape::Matern12 { length } => (-s.sqrt() / length).exp(),
            Shape::Matern32 { length } => {
                let v = SQRT_3 * s.sqrt() / length;
                (1.0 + v) * (-v).exp()
            }
            Shape::Matern52 { length } => {
                let v = SQRT_5 * s.sqrt() / length;
                (1.0 + v + v * v / 3.0) * (-v).exp()
            }
            Shape::Imq { length } => (1.0 + s / (length * length)).sqrt().recip(),
            Shape::Linear => s,
            Shape::Energy => -s.sqrt(),
            Shape::Manhattan { length } => -s / length,
            Shape::Stein(_) => unreachable!("a Stein kernel has no profile"),
        }
    }

    /// [`profile`](Self::profile) and its derivative, which is taken as 0 at the kinks of `Matern12` and `Energy`.
    pub fn profile_and_slope(&self, s: f64) -> (f64, f64) {
        let value = self.profile(s);
        let slope = match self {
            Shape::Gaussian { length } => -0.5 / (length * length) * value,
            Shape::Gaussians { lengths } => {
                let slopes = lengths.iter().map(|l| -0.5 / (l * l) * (-0.5 * s / (l * l)).exp());
                slopes.sum::<f64>() / lengths.len() as f64
            }
            Shape::Laplace { length } => -value / length,
            Shape::Matern12 { .. } | Shape::Energy if s == 0.0 => 0.0,
            Shape::Matern12 { length } => -0.5 * value / (length * s.sqrt()),
            // With v = c·r, the polynomial in front of the exponential is divided out of the value again.
            Shape::Matern32 { length } => {
                let c = SQRT_3 / length;
                -0.5 * c * c * value / (1.0 + c * s.sqrt())
            }
            Shape::Matern52 { length } => {
                let c = SQRT_5 / length;
                let v = c * s.sqrt();
                -(c * c / 6.0) * (1.0 + v) * value / (1.0 + v + v * v / 3.0)
            }
            Shape::Imq { length } => -0.5 / (length * length) * value.powi(3),
            Shape::Linear => 1.0,
            Shape::Energy => -0.5 / s.sqrt(),
            Shape::Manhattan { length } => -1.0 / length,
            Shape::Stein(_) => unreachable!("a Stein kernel has no profile"),
        };
        (value, slope)
    }
}

/// Σⱼ wⱼ k(x, yⱼ) over flat rows y, and its gradient times `scale` added to `gradient`.
pub fn add_gradient_into(
    kernel: &Shape,
    x: &[f64],
    rows: &[f64],
    weights: &[f64],
    scale: f64,
    gradient: &mut [f64],
) -> f64 {
    let rows = rows.chunks_exact(x.len()).zip(weights);
    rows.map(|(y, w)| w * kernel.add_gradient(x, y, scale * w, gradient)).sum()
}
