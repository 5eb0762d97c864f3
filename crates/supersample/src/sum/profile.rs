//! The kernels on vectors: how a coordinate adds to the distance, and what the kernel makes of it.
//!
//! Lengths are in units chosen so that the kernel costs least (see [`unit()`]); the distance is accumulated with a minus
//! sign, because that is what the exponential wants.

use std::f64::consts::LOG2_E;

use fearless_simd::Simd;
use fearless_simd::prelude::*;

use super::lanes::{Lane, Vector, exp2};
use crate::Kernel;

/// A kernel as the inner loops see it.
pub(super) trait Profile<T: Lane>: Copy + Send + Sync {
    /// Adds what one coordinate, x of one point and y of a vector of points, takes from the accumulator.
    fn accumulate<S: Simd>(self, acc: Vector<S, T>, x: T, y: Vector<S, T>) -> Vector<S, T>;
    /// The kernel's value from the accumulator.
    fn value<S: Simd>(self, simd: S, acc: Vector<S, T>) -> Vector<S, T>;
}

/// The factor by which coordinates are multiplied before they are packed, for the profiles below to hold.
pub(super) fn unit(kernel: &Kernel) -> f64 {
    match kernel {
        // exp(−r²/2ℓ²) = 2^(−u²) with u = r·√(log₂e/2)/ℓ.
        Kernel::Gaussian { bandwidth } => (LOG2_E / 2.0).sqrt() / bandwidth,
        Kernel::Gaussians { bandwidths } => (LOG2_E / 2.0).sqrt() / bandwidths[0],
        // e^(−v) = 2^(−u) with u = v·log₂e.
        Kernel::Laplace { bandwidth } | Kernel::Matern12 { bandwidth } => LOG2_E / bandwidth,
        Kernel::Matern32 { bandwidth } => 3f64.sqrt() * LOG2_E / bandwidth,
        Kernel::Matern52 { bandwidth } => 5f64.sqrt() * LOG2_E / bandwidth,
        Kernel::Imq { bandwidth } => 1.0 / bandwidth,
        Kernel::Linear => 1.0,
    }
}

/// Minus the squared Euclidean distance, by differences: unlike ‖x‖²+‖y‖²−2x·y this does not cancel, and on cores
/// that add and multiply side by side it costs the same.
#[inline(always)]
fn minus_square<S: Simd, T: Lane>(acc: Vector<S, T>, x: T, y: Vector<S, T>) -> Vector<S, T> {
    let difference = y - x;
    difference.mul_add(-difference, acc)
}

/// r from the accumulated −r².
#[inline(always)]
fn root<S: Simd, T: Lane>(acc: Vector<S, T>) -> Vector<S, T> {
    (-acc).sqrt()
}

#[derive(Clone, Copy)]
pub(super) struct Gaussian;

impl<T: Lane> Profile<T> for Gaussian {
    #[inline(always)]
    fn accumulate<S: Simd>(self, acc: Vector<S, T>, x: T, y: Vector<S, T>) -> Vector<S, T> {
        minus_square::<S, T>(acc, x, y)
    }
    #[inline(always)]
    fn value<S: Simd>(self, simd: S, acc: Vector<S, T>) -> Vector<S, T> {
        exp2::<S, T>(simd, acc)
    }
}

/// The mean of Gaussians; the numbers are (ℓ₁/ℓᵢ)², the first being 1.
#[derive(Clone, Copy)]
pub(super) struct Gaussians<'a, T>(pub(super) &'a [T]);

impl<T: Lane> Profile<T> for Gaussians<'_, T> {
    #[inline(always)]
    fn accumulate<S: Simd>(self, acc: Vector<S, T>, x: T, y: Vector<S, T>) -> Vector<S, T> {
        minus_square::<S, T>(acc, x, y)
    }
    #[inline(always)]
    fn value<S: Simd>(self, simd: S, acc: Vector<S, T>) -> Vector<S, T> {
        let mut sum = Vector::<S, T>::splat(simd, T::ZERO);
        for &factor in self.0 {
            sum += exp2::<S, T>(simd, acc * factor);
        }
        sum / T::from_f64(self.0.len() as f64)
    }
}

#[derive(Clone, Copy)]
pub(super) struct Laplace;

impl<T: Lane> Profile<T> for Laplace {
    #[inline(always)]
    fn accumulate<S: Simd>(self, acc: Vector<S, T>, x: T, y: Vector<S, T>) -> Vector<S, T> {
        acc - (y - x).abs()
    }
    #[inline(always)]
    fn value<S: Simd>(self, simd: S, acc: Vector<S, T>) -> Vector<S, T> {
        exp2::<S, T>(simd, acc)
    }
}

/// Matérn kernels by their degree: (1 + c₁u + c₂u²)·2^(−u) with u = v·log₂e.
#[derive(Clone, Copy)]
pub(super) struct Matern<const DEGREE: usize>;

impl<T: Lane, const DEGREE: usize> Profile<T> for Matern<DEGREE> {
    #[inline(always)]
    fn accumulate<S: Simd>(self, acc: Vector<S, T>, x: T, y: Vector<S, T>) -> Vector<S, T> {
        minus_square::<S, T>(acc, x, y)
    }
    #[inline(always)]
    fn value<S: Simd>(self, simd: S, acc: Vector<S, T>) -> Vector<S, T> {
        let u = root::<S, T>(acc);
        let decay = exp2::<S, T>(simd, -u);
        let ln2 = std::f64::consts::LN_2;
        let one = Vector::<S, T>::splat(simd, T::ONE);
        // Beyond the range of the exponential u is cut, so that the polynomial does not blow the tail up again.
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
pub(super) struct Imq;

impl<T: Lane> Profile<T> for Imq {
    #[inline(always)]
    fn accumulate<S: Simd>(self, acc: Vector<S, T>, x: T, y: Vector<S, T>) -> Vector<S, T> {
        minus_square::<S, T>(acc, x, y)
    }
    #[inline(always)]
    fn value<S: Simd>(self, simd: S, acc: Vector<S, T>) -> Vector<S, T> {
        let one = Vector::<S, T>::splat(simd, T::ONE);
        one / (one - acc).sqrt()
    }
}

#[derive(Clone, Copy)]
pub(super) struct Linear;

impl<T: Lane> Profile<T> for Linear {
    #[inline(always)]
    fn accumulate<S: Simd>(self, acc: Vector<S, T>, x: T, y: Vector<S, T>) -> Vector<S, T> {
        y.mul_add(Vector::<S, T>::splat(y.token(), x), acc)
    }
    #[inline(always)]
    fn value<S: Simd>(self, _: S, acc: Vector<S, T>) -> Vector<S, T> {
        acc
    }
}

/// Runs `$body` with `$profile` bound to the profile of `$kernel`, once for each kind of kernel: the kernel is chosen
/// outside the loops.
macro_rules! with_profile {
    ($kernel:expr, $lane:ty, $profile:ident => $body:expr) => {
        match $kernel {
            Kernel::Gaussian { .. } => {
                let $profile = $crate::sum::profile::Gaussian;
                $body
            }
            Kernel::Gaussians { bandwidths } => {
                let factor =
                    |b: &f64| <$lane as $crate::sum::lanes::Lane>::from_f64((bandwidths[0] / b).powi(2));
                let factors: Vec<$lane> = bandwidths.iter().map(factor).collect();
                let $profile = $crate::sum::profile::Gaussians(&factors);
                $body
            }
            Kernel::Laplace { .. } => {
                let $profile = $crate::sum::profile::Laplace;
                $body
            }
            Kernel::Matern12 { .. } => {
                let $profile = $crate::sum::profile::Matern::<0>;
                $body
            }
            Kernel::Matern32 { .. } => {
                let $profile = $crate::sum::profile::Matern::<1>;
                $body
            }
            Kernel::Matern52 { .. } => {
                let $profile = $crate::sum::profile::Matern::<2>;
                $body
            }
            Kernel::Imq { .. } => {
                let $profile = $crate::sum::profile::Imq;
                $body
            }
            Kernel::Linear => {
                let $profile = $crate::sum::profile::Linear;
                $body
            }
        }
    };
}
pub(super) use with_profile;
