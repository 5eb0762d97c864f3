//! The two rates no fused kernel sum can pass: f32 multiply-adds and f32 exponentials a second, on all threads.
//!
//! A pair of points in d dimensions costs at least d multiply-adds (a coordinate's difference is squared and added; the
//! subtraction is given away) and one exponential, so n points that meet themselves, n²/2 pairs, cost at least
//! n²/2·(d/multiply-adds + 1/exponentials) seconds: the floor that `bench/peers/speed.py` compares with.

use std::f32::consts::LN_2;
use std::hint::black_box;
use std::time::Instant;

use fearless_simd::prelude::*;
use fearless_simd::{Level, Simd, dispatch};
use serde_json::{Value, json};

use crate::process::cpu_seconds;

/// Accumulators that do not wait for each other: more than latency times width of any core (4 cycles, 2 units).
const CHAINS: usize = 12;

/// Numbers that stay in the first-level cache.
const BUFFER: usize = 4096;

/// Both rates, the best of several tries; `_by_cpu` is what it would be if the threads had never had to wait.
pub(crate) fn measure() -> Value {
    let level = Level::new();
    let exponents: Vec<f32> = (0..BUFFER).map(|i| -0.005 * i as f32).collect();
    let (rounds, passes) = (4_000_000, 8_000);
    let fma = fastest(|| dispatch!(level, simd => multiply_adds(simd, rounds)));
    let exp = fastest(|| dispatch!(level, simd => exponentials(simd, &exponents, passes)));
    let threads = rayon::current_num_threads() as f64;
    let lanes = dispatch!(level, simd => lanes(simd));
    let fma_count = threads * (rounds * CHAINS * lanes) as f64;
    let exp_count = threads * (passes * BUFFER) as f64;
    json!({
        "fma_per_second": fma_count / fma.wall,
        "fma_per_second_by_cpu": fma.cpu.map(|cpu| fma_count * threads / cpu),
        "exp_per_second": exp_count / exp.wall,
        "exp_per_second_by_cpu": exp.cpu.map(|cpu| exp_count * threads / cpu),
        "lanes": lanes,
        "threads": threads as usize,
    })
}

struct Fastest {
    wall: f64,
    cpu: Option<f64>,
}

/// Runs the work once on every thread, several times over.
fn fastest(work: impl Fn() -> f32 + Sync) -> Fastest {
    let mut best = Fastest { wall: f64::INFINITY, cpu: None };
    for _ in 0..7 {
        let (clock, cpu) = (Instant::now(), cpu_seconds());
        black_box(rayon::broadcast(|_| work()));
        best.wall = best.wall.min(clock.elapsed().as_secs_f64());
        let cpu = cpu_seconds().zip(cpu).map(|(now, then)| now - then);
        best.cpu = best.cpu.into_iter().chain(cpu).reduce(f64::min);
    }
    best
}

#[inline(always)]
fn lanes<S: Simd>(_: S) -> usize {
    S::f32s::LEN
}

#[inline(always)]
fn multiply_adds<S: Simd>(simd: S, rounds: usize) -> f32 {
    // Constants the compiler cannot see through, or it would compute the result instead of the loop.
    let mut sums: [S::f32s; CHAINS] = std::array::from_fn(|i| S::f32s::splat(simd, black_box(i as f32)));
    let (factor, step) = (S::f32s::splat(simd, black_box(0.9999)), S::f32s::splat(simd, black_box(1e-4)));
    for _ in 0..rounds {
        for sum in &mut sums {
            *sum = sum.mul_add(factor, step);
        }
    }
    sums.iter().map(|sum| sum.reduce_sum()).sum()
}

#[inline(always)]
fn exponentials<S: Simd>(simd: S, exponents: &[f32], passes: usize) -> f32 {
    const SIDE_BY_SIDE: usize = 4;
    let lanes = S::f32s::LEN;
    let mut sums = [S::f32s::splat(simd, 0.0); SIDE_BY_SIDE];
    for _ in 0..passes {
        for chunk in black_box(exponents).chunks_exact(SIDE_BY_SIDE * lanes) {
            for (i, sum) in sums.iter_mut().enumerate() {
                *sum += exp2(simd, S::f32s::from_slice(simd, &chunk[i * lanes..(i + 1) * lanes]));
            }
        }
    }
    sums.iter().map(|sum| sum.reduce_sum()).sum()
}

/// 2^x in f32 by the library's method and degree (`sum/lanes.rs`); the coefficients do not matter to the speed.
#[inline(always)]
fn exp2<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    const COEFFICIENTS: [f32; 6] = [0.0013264727, 0.009671513, 0.055507336, 0.24022242, LN_2, 1.0];
    let x = x.max(S::f32s::splat(simd, -125.0));
    let rounder = S::f32s::splat(simd, 12_582_912.0);
    let rounded = x + rounder;
    let fraction = x - (rounded - rounder);
    let mut power = S::f32s::splat(simd, COEFFICIENTS[0]);
    for coefficient in &COEFFICIENTS[1..] {
        power = power.mul_add(fraction, S::f32s::splat(simd, *coefficient));
    }
    S::f32s::from_bits(power.to_bits() + (rounded.to_bits() << 23))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_that_is_timed_is_one() {
        let exponents: Vec<f32> = (0..64).map(|i| -0.3 * i as f32).collect();
        let sum = dispatch!(Level::new(), simd => exponentials(simd, &exponents, 1));
        let want: f32 = exponents.iter().map(|x| x.exp2()).sum();
        assert!((sum / want - 1.0).abs() < 1e-5, "{sum} {want}");
    }
}
