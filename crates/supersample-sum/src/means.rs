//! Means of kernel rows over many points: the tiles, and the order in which threads run them.

use std::ops::Range;

use fearless_simd::Level;
use rayon::prelude::*;

use crate::chunks::{CHUNK, KERNEL_VALUE, is_worth_threads, over_ranges};
use crate::lanes::Lane;
use crate::launch::{AnyPanels, Task};
use crate::level::dispatch;
use crate::panels::{Panels, WIDTH};
use crate::profile::Profile;
use crate::tally::Tally;
use crate::tile::{Side, TILE};
use crate::{schedule, tile};

/// Points in a band: enough that a tile costs more than its overhead, few enough that two bands stay in the
/// second-level cache and that there are bands for all threads. It depends only on the points.
fn band(len: usize, dim: usize, number_size: usize) -> usize {
    let cached = (1 << 18) / (dim * number_size);
    let shared = len / 16;
    let widest = cached.min(shared).min(TILE);
    if widest < 64 { 64 } else { 1 << widest.ilog2() }
}

/// The means at some points over samples; see [`Packed::mean_into`](crate::Packed::mean_into).
pub(crate) struct Means<'a> {
    pub(crate) level: Level,
    pub(crate) samples: &'a AnyPanels,
    pub(crate) weights: Option<&'a [f64]>,
    pub(crate) out: &'a mut [f64],
}

impl Task for Means<'_> {
    type Output = ();

    fn run<T: Lane, P: Profile<T>>(self, profile: P, at: &Panels<T>) {
        let samples = T::panels(self.samples).expect("points packed in one precision");
        means(self.level, profile, at, samples, self.weights, self.out);
    }
}

/// The means at the samples themselves; see [`Packed::own_mean_watched`](crate::Packed::own_mean_watched).
pub(crate) struct OwnMeans<'a> {
    pub(crate) level: Level,
    pub(crate) weights: Option<&'a [f64]>,
    pub(crate) out: &'a mut [f64],
    pub(crate) tally: &'a Tally<'a>,
}

impl Task for OwnMeans<'_> {
    type Output = ();

    fn run<T: Lane, P: Profile<T>>(self, profile: P, panels: &Panels<T>) {
        own_means(self.level, profile, panels, self.weights, self.out, self.tally);
    }
}

fn means<T: Lane, P: Profile<T>>(
    level: Level,
    profile: P,
    at: &Panels<T>,
    samples: &Panels<T>,
    weights: Option<&[f64]>,
    out: &mut [f64],
) {
    assert_eq!(out.len(), at.len);
    if let [out] = out {
        *out = mean_at_one(level, profile, at, samples, weights);
        return;
    }
    let (is_weighted, weights) = (weights.is_some(), samples.padded_weights(weights));
    let band = band(samples.len, at.dim, size_of::<T>());
    if at.len <= 64 && is_worth_threads(at.len * samples.len, KERNEL_VALUE) {
        // Few rows: the samples are shared between the threads, and their parts added up in order.
        let rows = Side { panels: at.range(0, at.len), weights: &[] };
        let part_sums = |part: usize| {
            let mut sums = vec![0.0; at.len];
            let end = ((part + 1) * CHUNK).min(samples.len);
            for start in (part * CHUNK..end).step_by(band) {
                let range = start..(start + band).min(end);
                one_sided(level, profile, rows, samples, &weights, range, &mut sums);
            }
            sums
        };
        let part_sums: &(dyn Fn(usize) -> Vec<f64> + Sync) = &part_sums;
        let parts: Vec<Vec<f64>> = (0..samples.len.div_ceil(CHUNK)).into_par_iter().map(part_sums).collect();
        let scale = if is_weighted { 1.0 } else { 1.0 / samples.len as f64 };
        for (i, out) in out.iter_mut().enumerate() {
            *out = parts.iter().map(|part| part[i]).sum::<f64>() * scale;
        }
        return;
    }
    let band_means = |(i, out): (usize, &mut [f64])| {
        out.fill(0.0);
        let rows = Side { panels: at.range(i * 64, i * 64 + out.len()), weights: &[] };
        for start in (0..samples.len).step_by(band) {
            let end = (start + band).min(samples.len);
            one_sided(level, profile, rows, samples, &weights, start..end, out);
        }
        if !is_weighted {
            out.iter_mut().for_each(|sum| *sum /= samples.len as f64);
        }
    };
    over_bands(out, 64, !is_worth_threads(at.len * samples.len, KERNEL_VALUE), &band_means);
}

/// Samples of a kernel row that are held at once: they stay in the first-level cache.
const SPAN: usize = 1024;

/// The mean at a single point, as a kernel row over the samples: a tile computes sixteen rows, however many there are.
fn mean_at_one<T: Lane, P: Profile<T>>(
    level: Level,
    profile: P,
    at: &Panels<T>,
    samples: &Panels<T>,
    weights: Option<&[f64]>,
) -> f64 {
    let y: Vec<T> = at.data.iter().step_by(WIDTH).copied().collect();
    let part_sum = |range: Range<usize>| -> f64 {
        let spans = range.clone().step_by(SPAN).map(|start| start..(start + SPAN).min(range.end));
        let span_sum = |span: Range<usize>| {
            let values = &mut [0.0; SPAN][..span.len()];
            add_row(level, profile, samples.range(span.start, span.end), &y, 1.0, values);
            if let Some(weights) = weights {
                values.iter_mut().zip(&weights[span]).for_each(|(value, weight)| *value *= weight);
            }
            sum_of(values)
        };
        spans.map(span_sum).sum()
    };
    let sum: f64 = over_ranges(samples.len, &part_sum).into_iter().sum();
    if weights.is_some() { sum } else { sum / samples.len as f64 }
}

/// Sum in eight partial sums, which the compiler puts into vectors.
fn sum_of(values: &[f64]) -> f64 {
    let (eights, rest) = values.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for eight in eights {
        sums.iter_mut().zip(eight).for_each(|(sum, value)| *sum += value);
    }
    sums.iter().sum::<f64>() + rest.iter().sum::<f64>()
}

fn own_means<T: Lane, P: Profile<T>>(
    level: Level,
    profile: P,
    panels: &Panels<T>,
    weights: Option<&[f64]>,
    out: &mut [f64],
    tally: &Tally,
) {
    assert_eq!(out.len(), panels.len);
    out.fill(0.0);
    let (is_weighted, weights) = (weights.is_some(), panels.padded_weights(weights));
    let weights = &weights;
    let band = band(panels.len, panels.dim, size_of::<T>());
    let range = |i: usize| i * band..((i + 1) * band).min(panels.len);
    let bands = panels.len.div_ceil(band);

    // The tiles on the diagonal, in full.
    let diagonal = |(i, out): (usize, &mut [f64])| {
        if !tally.goes_on() {
            return;
        }
        let rows = Side { panels: panels.range(range(i).start, range(i).end), weights: &[] };
        one_sided(level, profile, rows, panels, weights, range(i), out);
        tally.add(out.len() * (out.len() + 1) / 2);
    };
    // The tiles above it, each for the rows of both of its bands.
    let pair = |(a, b, out_a, out_b): (usize, usize, &mut [f64], &mut [f64])| {
        if !tally.goes_on() {
            return;
        }
        let side = |i: usize| Side {
            panels: panels.range(range(i).start, range(i).end),
            weights: &weights[range(i).start..range(i).end.next_multiple_of(WIDTH)],
        };
        tile(level, profile, panels.dim, side(a), side(b), out_a, Some(out_b));
        tally.add(out_a.len() * out_b.len());
    };
    let serial = !is_worth_threads(panels.len * panels.len, KERNEL_VALUE);
    over_bands(out, band, serial, &diagonal);
    let pair: OnPair<'_> = &pair;
    for round in schedule::rounds(bands).take_while(|_| tally.goes_on()) {
        let mut chunks: Vec<Option<&mut [f64]>> = out.chunks_mut(band).map(Some).collect();
        let mut take = |i: usize| chunks[i].take().expect("a band plays once in a round");
        let pairs: Vec<_> = round.into_iter().map(|(a, b)| (a, b, take(a), take(b))).collect();
        if serial {
            pairs.into_iter().for_each(pair);
        } else {
            pairs.into_par_iter().for_each(pair);
        }
    }
    if !is_weighted {
        out.iter_mut().for_each(|sum| *sum /= panels.len as f64);
    }
}

/// Work with the number and the means of a band.
type OnBand<'a> = &'a (dyn Fn((usize, &mut [f64])) + Sync);

/// Work with the numbers and the means of two bands.
type OnPair<'a> = &'a (dyn Fn((usize, usize, &mut [f64], &mut [f64])) + Sync);

/// Calls `work` with the number and the means of each band, on one thread or on all; see `chunks.rs` for why it is behind a
/// reference.
fn over_bands(out: &mut [f64], band: usize, serial: bool, work: OnBand<'_>) {
    if serial {
        out.chunks_mut(band).enumerate().for_each(work);
    } else {
        out.par_chunks_mut(band).enumerate().for_each(work);
    }
}

/// Sums over the samples of one range, for rows that need no sums in return.
fn one_sided<T: Lane, P: Profile<T>>(
    level: Level,
    profile: P,
    rows: Side<T>,
    samples: &Panels<T>,
    weights: &[T],
    range: Range<usize>,
    out: &mut [f64],
) {
    let panels = samples.range(range.start, range.end);
    let columns = Side { panels, weights: &weights[range.start..range.end.next_multiple_of(WIDTH)] };
    tile(level, profile, samples.dim, rows, columns, out, None);
}

/// One kernel row on the instruction set in use. Never inlined, like `tile`: several tasks need it.
#[inline(never)]
pub(crate) fn add_row<T: Lane, P: Profile<T>>(
    level: Level,
    profile: P,
    panels: &[T],
    y: &[T],
    weight: f64,
    sums: &mut [f64],
) {
    dispatch!(level, simd => tile::add_row(simd, profile, panels, y, weight, sums));
}

/// One tile on the instruction set in use. Never inlined: its loops are most of the compiled code and are needed once
/// for each instruction set, not at each call.
#[inline(never)]
fn tile<T: Lane, P: Profile<T>>(
    level: Level,
    profile: P,
    dim: usize,
    rows: Side<T>,
    columns: Side<T>,
    row_sums: &mut [f64],
    column_sums: Option<&mut [f64]>,
) {
    dispatch!(level, simd => {
        tile::tile(simd, profile, dim, rows, columns, row_sums, column_sums);
    });
}
