//! Profiles: the kernels on vectors. A profile says how a coordinate adds to its sums, and gives the kernel value from
//! them.
//!
//! Lengths are in units that make the kernel cheapest (see [`unit()`]). The distance is accumulated with a minus sign,
//! as the exponential needs it. A profile owns its accumulator, because some kernels (Stein) need several sums for each
//! pair.

use std::f64::consts::LOG2_E;

use fearless_simd::Simd;
use fearless_simd::prelude::*;

use crate::lanes::{Lane, Vector, exp2};
use crate::shape::Shape;

/// Largest number of columns accumulated together.
pub(crate) const MOST_COLUMNS: usize = 3;

/// Kernel for the inner loops.
pub(crate) trait Profile<T: Lane>: Copy + Send + Sync {
    /// Number of columns accumulated together, at most [`MOST_COLUMNS`]: one, unless points have several numbers in
    /// each coordinate.
    const COLUMNS: usize = 1;
    /// Whether a last column holds minus the squared norm of each point.
    const NORMS: bool = false;
    /// Running sums of a pair.
    type Acc<S: Simd>: Accumulator<S>;
    /// Adds one coordinate, x of one point and y of a vector of points, to the accumulator. Of either the first
    /// [`COLUMNS`](Self::COLUMNS) numbers count.
    fn accumulate<S: Simd>(
        self,
        acc: Self::Acc<S>,
        x: [T; MOST_COLUMNS],
        y: [Vector<S, T>; MOST_COLUMNS],
    ) -> Self::Acc<S>;
    /// The kernel's value from the accumulator.
    fn value<S: Simd>(self, simd: S, acc: Self::Acc<S>) -> Vector<S, T>;
    /// The kernel's value from the accumulator and, if there are [`NORMS`](Self::NORMS), those of x and y.
    #[inline(always)]
    fn value_with<S: Simd>(self, simd: S, acc: Self::Acc<S>, _x: T, _y: Vector<S, T>) -> Vector<S, T> {
        self.value(simd, acc)
    }
}

/// Running sums over the coordinates of a pair.
pub(crate) trait Accumulator<S: Simd>: Copy {
    /// Before the first coordinate.
    fn zero(simd: S) -> Self;
    /// Two blocks of coordinates together.
    fn plus(self, other: Self) -> Self;
}

/// One running sum, for a vector of pairs.
#[derive(Clone, Copy)]
pub(crate) struct One<S: Simd, T: Lane>(Vector<S, T>);

impl<S: Simd, T: Lane> Accumulator<S> for One<S, T> {
    #[inline(always)]
    fn zero(simd: S) -> Self {
        One(Vector::<S, T>::splat(simd, T::ZERO))
    }
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        One(self.0 + other.0)
    }
}

/// The factor by which coordinates are multiplied before they are packed, for the profiles below to hold.
pub(crate) fn unit(kernel: &Shape) -> f64 {
    match kernel {
        // exp(−r²/2ℓ²) = 2^(−u²) with u = r·√(log₂e/2)/ℓ.
        Shape::Gaussian { length } => (LOG2_E / 2.0).sqrt() / length,
        Shape::Gaussians { lengths } => (LOG2_E / 2.0).sqrt() / lengths[0],
        // e^(−v) = 2^(−u) with u = v·log₂e.
        Shape::Laplace { length } | Shape::Matern12 { length } => LOG2_E / length,
        Shape::Matern32 { length } => 3f64.sqrt() * LOG2_E / length,
        Shape::Matern52 { length } => 5f64.sqrt() * LOG2_E / length,
        Shape::Imq { length } | Shape::Manhattan { length } => 1.0 / length,
        Shape::Linear | Shape::Energy | Shape::Stein(_) => 1.0,
    }
}

/// A kernel that is a function of one sum over the coordinates.
pub(crate) trait OfOneSum<T: Lane>: Copy + Send + Sync {
    /// Term of the sum.
    type Term: Term;
    /// The kernel's value from the sum.
    fn value<S: Simd>(self, simd: S, sum: Vector<S, T>) -> Vector<S, T>;
}

/// Term that a coordinate adds to the sum of a kernel.
pub(crate) trait Term {
    fn add<S: Simd, T: Lane>(sum: Vector<S, T>, x: T, y: Vector<S, T>) -> Vector<S, T>;
}

/// The profile of a kernel that is a function of one sum.
#[derive(Clone, Copy)]
pub(crate) struct Of<K>(pub(crate) K);

impl<T: Lane, K: OfOneSum<T>> Profile<T> for Of<K> {
    type Acc<S: Simd> = One<S, T>;
    #[inline(always)]
    fn accumulate<S: Simd>(
        self,
        acc: One<S, T>,
        [x, ..]: [T; MOST_COLUMNS],
        [y, ..]: [Vector<S, T>; MOST_COLUMNS],
    ) -> One<S, T> {
        One(K::Term::add::<S, T>(acc.0, x, y))
    }
    #[inline(always)]
    fn value<S: Simd>(self, simd: S, acc: One<S, T>) -> Vector<S, T> {
        self.0.value(simd, acc.0)
    }
}

/// Minus the squared Euclidean distance, by differences, which are precise for points of any spread.
pub(crate) struct MinusSquare;

impl Term for MinusSquare {
    #[inline(always)]
    fn add<S: Simd, T: Lane>(sum: Vector<S, T>, x: T, y: Vector<S, T>) -> Vector<S, T> {
        let difference = y - x;
        difference.mul_add(-difference, sum)
    }
}

/// Minus the distance along the coordinates.
pub(crate) struct MinusAbsolute;

impl Term for MinusAbsolute {
    #[inline(always)]
    fn add<S: Simd, T: Lane>(sum: Vector<S, T>, x: T, y: Vector<S, T>) -> Vector<S, T> {
        sum - (y - x).abs()
    }
}

/// The scalar product.
pub(crate) struct Product;

impl Term for Product {
    #[inline(always)]
    fn add<S: Simd, T: Lane>(sum: Vector<S, T>, x: T, y: Vector<S, T>) -> Vector<S, T> {
        y.mul_add(Vector::<S, T>::splat(y.token(), x), sum)
    }
}

/// A kernel of minus the squared distance by products, 2x·y − ‖x‖² − ‖y‖²: half of the instructions, and errors that grow
/// with the norms (see [`Coordinates::allow_products`](crate::Coordinates::allow_products)). Both orders of a pair, and
/// tiles and rows, give the same number to the last bit.
#[derive(Clone, Copy)]
pub(crate) struct ByProducts<K>(pub(crate) K);

impl<T: Lane, K: OfOneSum<T, Term = MinusSquare>> Profile<T> for ByProducts<K> {
    const NORMS: bool = true;
    type Acc<S: Simd> = One<S, T>;
    #[inline(always)]
    fn accumulate<S: Simd>(
        self,
        acc: One<S, T>,
        [x, ..]: [T; MOST_COLUMNS],
        [y, ..]: [Vector<S, T>; MOST_COLUMNS],
    ) -> One<S, T> {
        One(Product::add::<S, T>(acc.0, x, y))
    }
    #[inline(always)]
    fn value<S: Simd>(self, simd: S, acc: One<S, T>) -> Vector<S, T> {
        // Rounding may leave a distance below zero.
        self.0.value(simd, acc.0.min(Vector::<S, T>::splat(simd, T::ZERO)))
    }
    // The norms come last: the sum of the products alone is smaller than they are, and so is its rounding.
    #[inline(always)]
    fn value_with<S: Simd>(self, simd: S, acc: One<S, T>, x: T, y: Vector<S, T>) -> Vector<S, T> {
        let two = Vector::<S, T>::splat(simd, T::from_f64(2.0));
        self.value(simd, One(acc.0.mul_add(two, y + x)))
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Gaussian;

impl<T: Lane> OfOneSum<T> for Gaussian {
    type Term = MinusSquare;
    #[inline(always)]
    fn value<S: Simd>(self, simd: S, sum: Vector<S, T>) -> Vector<S, T> {
        exp2::<S, T>(simd, sum)
    }
}

/// The mean of Gaussians; the numbers are (ℓ₁/ℓᵢ)², the first being 1.
#[derive(Clone, Copy)]
pub(crate) struct Gaussians<'a, T>(pub(crate) &'a [T]);

impl<T: Lane> OfOneSum<T> for Gaussians<'_, T> {
    type Term = MinusSquare;
    #[inline(always)]
    fn value<S: Simd>(self, simd: S, sum: Vector<S, T>) -> Vector<S, T> {
        let mut all = Vector::<S, T>::splat(simd, T::ZERO);
        for &factor in self.0 {
            all += exp2::<S, T>(simd, sum * factor);
        }
        all / T::from_f64(self.0.len() as f64)
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Laplace;

impl<T: Lane> OfOneSum<T> for Laplace {
    type Term = MinusAbsolute;
    #[inline(always)]
    fn value<S: Simd>(self, simd: S, sum: Vector<S, T>) -> Vector<S, T> {
        exp2::<S, T>(simd, sum)
    }
}

/// Matérn kernels by their degree: (1 + c₁u + c₂u²)·2^(−u) with u = v·log₂e.
#[derive(Clone, Copy)]
pub(crate) struct Matern<const DEGREE: usize>;

impl<T: Lane, const DEGREE: usize> OfOneSum<T> for Matern<DEGREE> {
    type Term = MinusSquare;
    #[inline(always)]
    fn value<S: Simd>(self, simd: S, sum: Vector<S, T>) -> Vector<S, T> {
        let u = (-sum).sqrt();
        let decay = exp2::<S, T>(simd, -u);
        let ln2 = std::f64::consts::LN_2;
        let one = Vector::<S, T>::splat(simd, T::ONE);
        // Beyond the range of the exponential u is cut, so that the polynomial does not enlarge the tail.
        let u = u.min(Vector::<S, T>::splat(simd, -T::LOWEST));
        match DEGREE {
            0 => decay,
            1 => u.mul_add(Vector::<S, T>::splat(simd, T::from_f64(ln2)), one) * decay,
            _ => {
                let square = Vector::<S, T>::splat(simd, T::from_f64(ln2 * ln2 / 3.0));
                let linear = u.mul_add(square, Vector::<S, T>::splat(simd, T::from_f64(ln2)));
                u.mul_add(linear, one) * decay
            }
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Imq;

impl<T: Lane> OfOneSum<T> for Imq {
    type Term = MinusSquare;
    #[inline(always)]
    fn value<S: Simd>(self, simd: S, sum: Vector<S, T>) -> Vector<S, T> {
        let one = Vector::<S, T>::splat(simd, T::ONE);
        one / (one - sum).sqrt()
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Linear;

impl<T: Lane> OfOneSum<T> for Linear {
    type Term = Product;
    #[inline(always)]
    fn value<S: Simd>(self, _: S, sum: Vector<S, T>) -> Vector<S, T> {
        sum
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Energy;

impl<T: Lane> OfOneSum<T> for Energy {
    type Term = MinusSquare;
    #[inline(always)]
    fn value<S: Simd>(self, _: S, sum: Vector<S, T>) -> Vector<S, T> {
        -(-sum).sqrt()
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Manhattan;

impl<T: Lane> OfOneSum<T> for Manhattan {
    type Term = MinusAbsolute;
    #[inline(always)]
    fn value<S: Simd>(self, _: S, sum: Vector<S, T>) -> Vector<S, T> {
        sum
    }
}

/// The sums of a Stein kernel (`stein.rs`), those of u and of steep with a minus sign.
#[derive(Clone, Copy)]
pub(crate) struct Four<S: Simd, T: Lane> {
    minus_u: Vector<S, T>,
    minus_steep: Vector<S, T>,
    cross: Vector<S, T>,
    dot: Vector<S, T>,
}

impl<S: Simd, T: Lane> Accumulator<S> for Four<S, T> {
    #[inline(always)]
    fn zero(simd: S) -> Self {
        let zero = Vector::<S, T>::splat(simd, T::ZERO);
        Four { minus_u: zero, minus_steep: zero, cross: zero, dot: zero }
    }
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Four {
            minus_u: self.minus_u + other.minus_u,
            minus_steep: self.minus_steep + other.minus_steep,
            cross: self.cross + other.cross,
            dot: self.dot + other.dot,
        }
    }
}

/// A Stein kernel, of points whose v is a multiple of z or is packed too (`FULL`). The base is a run-time test at each
/// value, because a loop for each would double the compile time and not be faster.
#[derive(Clone, Copy)]
pub(crate) struct SteinSums<T, const FULL: bool> {
    pub(crate) is_gaussian: bool,
    pub(crate) trace: T,
    /// v = root·z, where v is not packed.
    pub(crate) root: T,
}

impl<T: Lane, const FULL: bool> Profile<T> for SteinSums<T, FULL> {
    const COLUMNS: usize = if FULL { 3 } else { 2 };
    type Acc<S: Simd> = Four<S, T>;
    #[inline(always)]
    fn accumulate<S: Simd>(
        self,
        acc: Four<S, T>,
        x: [T; MOST_COLUMNS],
        y: [Vector<S, T>; MOST_COLUMNS],
    ) -> Four<S, T> {
        let last = Self::COLUMNS - 1;
        let (z, s) = (y[0] - x[0], y[last] - x[last]);
        let dot = y[last].mul_add(Vector::<S, T>::splat(s.token(), x[last]), acc.dot);
        let minus_u = z.mul_add(-z, acc.minus_u);
        if FULL {
            let v = y[1] - x[1];
            let minus_steep = v.mul_add(-v, acc.minus_steep);
            Four { minus_u, minus_steep, cross: v.mul_add(s, acc.cross), dot }
        } else {
            Four { minus_u, cross: z.mul_add(s, acc.cross), dot, ..acc }
        }
    }
    #[inline(always)]
    fn value<S: Simd>(self, simd: S, acc: Four<S, T>) -> Vector<S, T> {
        let Four { minus_u, minus_steep, cross, dot } = acc;
        let (minus_steep, cross) = match FULL {
            true => (minus_steep, cross),
            false => (minus_u * (self.root * self.root), cross * self.root),
        };
        let sloped = cross + Vector::<S, T>::splat(simd, self.trace);
        if self.is_gaussian {
            let phi = exp2::<S, T>(simd, minus_u * T::from_f64(LOG2_E / 2.0));
            return phi * (dot + sloped + minus_steep);
        }
        let one = Vector::<S, T>::splat(simd, T::ONE);
        let square = one / (one - minus_u);
        // φ·(dot + φ²·(sloped − 3φ²·steep))
        let three = Vector::<S, T>::splat(simd, T::from_f64(3.0));
        let inner = (minus_steep * square).mul_add(three, sloped);
        square.sqrt() * inner.mul_add(square, dot)
    }
}
