//! Twins: every sum of this crate as a plain double loop in f64, against which the fast ones are tested.

use supersample_sum::{Rows, Shape};

/// Σⱼ wⱼ k(xᵢ, yⱼ) for every row x; equal weights 1/n where none are given.
pub(crate) fn means(kernel: &Shape, at: Rows, samples: Rows, weights: Option<&[f64]>) -> Vec<f64> {
    let weight = |j: usize| weights.map_or(1.0 / samples.len() as f64, |weights| weights[j]);
    let mean = |x: &[f64]| samples.iter().enumerate().map(|(j, y)| weight(j) * kernel.value(x, y)).sum();
    at.iter().map(mean).collect()
}

/// k(xᵢ, y) for every row x.
pub(crate) fn row(kernel: &Shape, at: Rows, y: &[f64]) -> Vec<f64> {
    at.iter().map(|x| kernel.value(x, y)).collect()
}

/// The largest score and the lowest index that has it.
pub(crate) fn argmax(scores: &[f64]) -> Option<(usize, f64)> {
    let finite = scores.iter().copied().enumerate().filter(|(_, score)| *score > f64::NEG_INFINITY);
    finite.reduce(|a, b| if b.1 > a.1 { b } else { a })
}
