//! Stein kernels: formula, value and gradient, for rows that hold a point and its score.
//!
//! With κ(x, y) = φ(u), u = (x−y)ᵀP(x−y), and scores s = ∇ log p, the kernel whose mean under p is zero is
//!
//! > k(x, y) = ∇ₓ·∇ᵧκ + ∇ₓκ·s(y) + ∇ᵧκ·s(x) + κ s(x)·s(y) = φ·dot + a·(tr P + cross) − b·steep
//!
//! with a = −2φ′, b = 4φ″ and four sums over the coordinates: u = ‖Δz‖² where z is x in coordinates in which P is the
//! identity, steep = ‖Δv‖² and cross = Δv·Δs where v = Px, and dot = s(x)·s(y). Each row holds z, s (and v, where it is not
//! a multiple of z) of its first coordinate, then of its second, and so on.

/// A Stein kernel between rows that hold points and scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stein {
    /// Base kernel κ.
    pub base: SteinBase,
    /// Numbers in a row for each coordinate.
    pub layout: SteinLayout,
    /// tr P
    pub trace: f64,
}

/// Base kernel κ of a Stein kernel, as a function of u.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SteinBase {
    /// (1+u)^(−1/2)
    #[default]
    Imq,
    /// exp(−u/2)
    Gaussian,
}

crate::words!(SteinBase, "the base of a Stein kernel": Imq "imq", Gaussian "gaussian");

/// Numbers in a row for each coordinate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SteinLayout {
    /// z and s, where P is a multiple of the identity and v = `root`·z.
    Isotropic {
        /// √P
        root: f64,
    },
    /// z, v and s.
    Full,
}

impl SteinLayout {
    /// Number of numbers in a row for each coordinate.
    pub fn columns(self) -> usize {
        match self {
            SteinLayout::Isotropic { .. } => 2,
            SteinLayout::Full => 3,
        }
    }
}

/// φ(u), a = −2φ′(u), b = 4φ″(u) and c = −8φ‴(u): each is −2 times the derivative of the one before.
struct Slopes {
    phi: f64,
    a: f64,
    b: f64,
    c: f64,
}

/// The four sums of a pair.
#[derive(Default)]
struct Sums {
    u: f64,
    steep: f64,
    cross: f64,
    dot: f64,
}

impl SteinBase {
    fn slopes(self, u: f64) -> Slopes {
        match self {
            SteinBase::Imq => {
                let phi = (1.0 + u).sqrt().recip();
                let square = phi * phi;
                let a = phi * square;
                let b = 3.0 * a * square;
                Slopes { phi, a, b, c: 5.0 * b * square }
            }
            SteinBase::Gaussian => {
                let phi = (-0.5 * u).exp();
                Slopes { phi, a: phi, b: phi, c: phi }
            }
        }
    }
}

impl Stein {
    /// z, v and s of one coordinate.
    fn unpacked(&self, numbers: &[f64]) -> [f64; 3] {
        match self.layout {
            SteinLayout::Isotropic { root } => [numbers[0], root * numbers[0], numbers[1]],
            SteinLayout::Full => [numbers[0], numbers[1], numbers[2]],
        }
    }

    fn pairs<'a>(
        &'a self,
        x: &'a [f64],
        y: &'a [f64],
    ) -> impl Iterator<Item = ([f64; 3], [f64; 3])> + use<'a> {
        debug_assert_eq!(x.len(), y.len());
        let columns = self.layout.columns();
        let coordinates = x.chunks_exact(columns).zip(y.chunks_exact(columns));
        coordinates.map(|(x, y)| (self.unpacked(x), self.unpacked(y)))
    }

    fn sums(&self, x: &[f64], y: &[f64]) -> Sums {
        self.pairs(x, y).fold(Sums::default(), |sums, ([zx, vx, sx], [zy, vy, sy])| Sums {
            u: sums.u + (zx - zy) * (zx - zy),
            steep: sums.steep + (vx - vy) * (vx - vy),
            cross: sums.cross + (vx - vy) * (sx - sy),
            dot: sums.dot + sx * sy,
        })
    }

    /// k(x, y)
    pub(crate) fn value(&self, x: &[f64], y: &[f64]) -> f64 {
        let Sums { u, steep, cross, dot } = self.sums(x, y);
        let Slopes { phi, a, b, .. } = self.base.slopes(u);
        phi * dot + a * (self.trace + cross) - b * steep
    }

    /// k(x, x) = tr P + ‖s(x)‖²
    pub(crate) fn diagonal(&self, x: &[f64]) -> f64 {
        let last = self.layout.columns() - 1;
        self.trace + x.iter().skip(last).step_by(last + 1).map(|s| s * s).sum::<f64>()
    }

    /// Adds `scale` times the gradient in the numbers of the row x to `gradient` and returns k(x, y).
    pub(crate) fn add_gradient(&self, x: &[f64], y: &[f64], scale: f64, gradient: &mut [f64]) -> f64 {
        let Sums { u, steep, cross, dot } = self.sums(x, y);
        let Slopes { phi, a, b, c } = self.base.slopes(u);
        let by_u = -0.5 * (a * dot + b * (self.trace + cross) - c * steep);
        let columns = self.layout.columns();
        for (([zx, vx, sx], [zy, vy, sy]), g) in self.pairs(x, y).zip(gradient.chunks_exact_mut(columns)) {
            let by_z = 2.0 * by_u * (zx - zy);
            let by_v = a * (sx - sy) - 2.0 * b * (vx - vy);
            let by_s = phi * sy + a * (vx - vy);
            match self.layout {
                SteinLayout::Isotropic { root } => g[0] += scale * (by_z + root * by_v),
                SteinLayout::Full => {
                    g[0] += scale * by_z;
                    g[1] += scale * by_v;
                }
            }
            g[columns - 1] += scale * by_s;
        }
        phi * dot + a * (self.trace + cross) - b * steep
    }
}
