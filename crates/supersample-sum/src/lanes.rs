//! Lanes: the two kinds of number the sums are made of, f32 and f64, and the exponential on vectors of them.

use fearless_simd::prelude::*;
use fearless_simd::{Simd, SimdFloatElement};

use crate::kernel_row::AnyRowMut;
use crate::launch::{AnyPanels, ByLane};
use crate::level::{dispatch, level};
use crate::panels::Panels;

/// A native-width vector of `T` on the instruction set `S`.
pub(crate) type Vector<S, T> = <T as SimdFloatElement>::Native<S>;

/// f32 or f64, with the constants of [`exp2`].
pub(crate) trait Lane: SimdFloatElement + bytemuck::Pod + Send + Sync {
    /// 1.5·2^m with m mantissa bits: adding it rounds to a whole number, which is then in the lowest bits.
    const ROUNDER: Self;
    /// m
    const MANTISSA_BITS: u32;
    /// Below this exponent the result would not be a normal number.
    const LOWEST: Self;
    /// Coordinates are cut here when packed, so that the square of a difference stays finite.
    const FAR: f64;
    /// c₁, c₂, … of 2^f ≈ 1 + c₁f + c₂f² + … for f in [−1/2, 1/2].
    const EXP2: &'static [Self];
    const ZERO: Self;
    const ONE: Self;
    fn from_f64(value: f64) -> Self;
    fn to_f64(self) -> f64;
    /// The panels of this lane, `None` if they are of the other one.
    fn panels(any: &AnyPanels) -> Option<&Panels<Self>>;
    /// The kernel row of this lane, `None` if it is of the other one.
    fn row(any: AnyRowMut<'_>) -> Option<&mut [Self]>;
    /// A kernel row of this lane.
    fn any_row(row: &mut [Self]) -> AnyRowMut<'_>;
    /// Adds each lane to one f64.
    fn add_to<S: Simd>(simd: S, lanes: Vector<S, Self>, sums: &mut [f64]);
    /// Adds `weight` times each lane to one f64, with both operations rounded.
    fn add_scaled_to<S: Simd>(simd: S, lanes: Vector<S, Self>, weight: f64, sums: &mut [f64]);
}

impl Lane for f32 {
    const ROUNDER: f32 = 12_582_912.0;
    const MANTISSA_BITS: u32 = 23;
    const LOWEST: f32 = -125.0;
    const FAR: f64 = 1e15;
    /// The best relative approximation with value 1 at 0, by linear programming on 4001 points: off by 9.2e-8 before
    /// and 1.1e-7 after rounding to f32.
    #[expect(clippy::approx_constant, reason = "c₁ is near ln 2 but is not meant to be it")]
    const EXP2: &'static [f32] = &[0.693147, 0.24022242, 0.055507336, 0.009671513, 0.0013264727];
    const ZERO: f32 = 0.0;
    const ONE: f32 = 1.0;
    #[inline(always)]
    fn from_f64(value: f64) -> f32 {
        value as f32
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    fn panels(any: &AnyPanels) -> Option<&Panels<f32>> {
        if let ByLane::Mixed(panels) = any { Some(panels) } else { None }
    }
    fn row(any: AnyRowMut<'_>) -> Option<&mut [f32]> {
        if let ByLane::Mixed(row) = any { Some(row) } else { None }
    }
    fn any_row(row: &mut [f32]) -> AnyRowMut<'_> {
        ByLane::Mixed(row)
    }
    #[inline(always)]
    fn add_to<S: Simd>(simd: S, lanes: S::f32s, sums: &mut [f64]) {
        let (low, high) = lanes.widen();
        let (low_sums, high_sums) = sums[..S::f32s::LEN].split_at_mut(S::f64s::LEN);
        (S::f64s::from_slice(simd, low_sums) + low).store_slice(low_sums);
        (S::f64s::from_slice(simd, high_sums) + high).store_slice(high_sums);
    }
    #[inline(always)]
    fn add_scaled_to<S: Simd>(simd: S, lanes: S::f32s, weight: f64, sums: &mut [f64]) {
        let (low, high) = lanes.widen();
        let (low_sums, high_sums) = sums[..S::f32s::LEN].split_at_mut(S::f64s::LEN);
        <f64 as Lane>::add_scaled_to(simd, low, weight, low_sums);
        <f64 as Lane>::add_scaled_to(simd, high, weight, high_sums);
    }
}

impl Lane for f64 {
    const ROUNDER: f64 = 6_755_399_441_055_744.0;
    const MANTISSA_BITS: u32 = 52;
    const LOWEST: f64 = -1021.0;
    const FAR: f64 = 1e150;
    /// The best relative approximation with value 1 at 0, by Remez's exchange in 50 digits: off by 2e-17.
    const EXP2: &'static [f64] = &[
        0.693_147_180_559_945_7,
        0.240_226_506_959_100_98,
        0.055_504_108_664_790_39,
        0.009_618_129_107_607_002,
        0.001_333_355_815_343_996_5,
        0.000_154_035_304_415_721_3,
        1.525_272_738_519_386_8e-5,
        1.321_544_267_532_982_2e-6,
        1.018_064_765_923_413_9e-7,
        7.072_570_412_814_423e-9,
        4.078_071_929_588_337e-10,
    ];
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
    #[inline(always)]
    fn from_f64(value: f64) -> f64 {
        value
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
    fn panels(any: &AnyPanels) -> Option<&Panels<f64>> {
        if let ByLane::Double(panels) = any { Some(panels) } else { None }
    }
    fn row(any: AnyRowMut<'_>) -> Option<&mut [f64]> {
        if let ByLane::Double(row) = any { Some(row) } else { None }
    }
    fn any_row(row: &mut [f64]) -> AnyRowMut<'_> {
        ByLane::Double(row)
    }
    #[inline(always)]
    fn add_to<S: Simd>(simd: S, lanes: S::f64s, sums: &mut [f64]) {
        let sums = &mut sums[..S::f64s::LEN];
        (S::f64s::from_slice(simd, sums) + lanes).store_slice(sums);
    }
    #[inline(always)]
    fn add_scaled_to<S: Simd>(simd: S, lanes: S::f64s, weight: f64, sums: &mut [f64]) {
        let sums = &mut sums[..S::f64s::LEN];
        (S::f64s::from_slice(simd, sums) + lanes * weight).store_slice(sums);
    }
}

/// 2^x for x ≤ 0, to a relative error of 2.5e-7 in f32 and 5e-16 in f64; exactly 1 at 0.
///
/// Below [`Lane::LOWEST`] the result stays at 2^LOWEST (2.4e-38 and 4.5e-308) instead of vanishing: sums of kernel
/// values cannot tell the difference, and no subnormal number, which would be slow, ever arises.
#[inline(always)]
pub(crate) fn exp2<S: Simd, T: Lane>(simd: S, x: Vector<S, T>) -> Vector<S, T> {
    let x = x.max(Vector::<S, T>::splat(simd, T::LOWEST));
    let rounder = Vector::<S, T>::splat(simd, T::ROUNDER);
    let rounded = x + rounder;
    let fraction = x - (rounded - rounder);
    let (last, others) = T::EXP2.split_last().expect("the polynomial has terms");
    let mut power = Vector::<S, T>::splat(simd, *last);
    for &coefficient in others.iter().rev() {
        power = power.mul_add(fraction, Vector::<S, T>::splat(simd, coefficient));
    }
    power = power.mul_add(fraction, Vector::<S, T>::splat(simd, T::ONE));
    // The whole part goes straight into the exponent bits of 2^fraction.
    let whole = rounded.to_bits() << T::MANTISSA_BITS;
    Vector::<S, T>::from_bits(power.to_bits() + whole)
}

/// 2^x of each number, a multiple of sixteen of them, on the instruction set in use. Only for the test of its error.
#[doc(hidden)]
pub fn exp2_in_single(values: &mut [f32]) {
    dispatch!(level(), simd => map_exp2(simd, values));
}

/// 2^x of each number, a multiple of sixteen of them, on the instruction set in use. Only for the test of its error.
#[doc(hidden)]
pub fn exp2_in_double(values: &mut [f64]) {
    dispatch!(level(), simd => map_exp2(simd, values));
}

#[inline(always)]
fn map_exp2<S: Simd, T: Lane>(simd: S, values: &mut [T]) {
    for chunk in values.chunks_exact_mut(Vector::<S, T>::LEN) {
        exp2::<S, T>(simd, Vector::<S, T>::from_slice(simd, chunk)).store_slice(chunk);
    }
}
