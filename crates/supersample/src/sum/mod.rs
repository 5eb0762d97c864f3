//! The hot place: sums of kernel values over many points, on vectors, blocked for the cache, shared between threads.
//!
//! Everything the library spends time on passes through here: the mean of kernel rows ([`Packed::mean_into`], and
//! [`Packed::own_mean_into`] with half the work when points meet themselves), one kernel row fused with the search for
//! the next maximum ([`Packed::add_row_and_argmax`]). Points are packed once, in f32 or f64 ([`Precision`]). Every row
//! of a result is summed in a fixed order, so results do not depend on the number of threads; the pool of threads is
//! the caller's. Each routine is tested against its twin in `scalar.rs` on every instruction set of the machine.

mod lanes;
mod panels;
mod profile;
mod rows;
#[cfg(test)]
mod scalar;
mod schedule;
mod tile;

use std::ops::{ControlFlow, Range};
use std::sync::{Arc, OnceLock};

use fearless_simd::{Level, dispatch};
use rayon::prelude::*;

use self::lanes::Lane;
use self::panels::{Frame, Panels, WIDTH};
use self::profile::with_profile;
pub(crate) use self::rows::{KernelRow, add_scaled, argmax_of};
use self::tile::{Side, TILE};
use crate::watch::{Tally, Watch};
use crate::{Kernel, Points};

/// The arithmetic of kernel values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Kernel values in f32, sums in f64. Mean embeddings are right to 1e-6, E_T to 0.1 % wherever it is above 1e-5.
    /// Everything is in f64 where there are fewer than [`MIXED_FROM`](Precision::MIXED_FROM) samples, and where the
    /// points are spread so wide that a kernel value could be off by more than 1e-5.
    #[default]
    Mixed,
    /// Everything in f64; about a third of the speed.
    Double,
}

impl Precision {
    /// Below this many samples f64 takes a fraction of a second, and f32 would save nothing that anybody notices.
    pub const MIXED_FROM: usize = 16_384;
}

/// The error of a kernel value that [`Precision::Mixed`] tolerates before it turns to f64.
const TOLERATED: f64 = 1e-5;

/// Below this many kernel values a pass is over before another thread has woken up.
const SERIAL_BELOW: usize = 1 << 14;

/// Points of one row pass a thread takes at once.
const CHUNK: usize = 8192;

/// Points packed for sums under one kernel. Clones share the packing.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    kernel: Kernel,
    frame: Arc<Frame>,
    panels: Arc<AnyPanels>,
}

#[derive(Debug)]
enum AnyPanels {
    Mixed(Panels<f32>),
    Double(Panels<f64>),
}

/// Runs `$body` with `$panels` bound to the panels of `$any` and `$lane` to their number type.
macro_rules! with_panels {
    ($any:expr, $panels:ident: $lane:ident => $body:expr) => {
        match $any {
            AnyPanels::Mixed($panels) => {
                type $lane = f32;
                $body
            }
            AnyPanels::Double($panels) => {
                type $lane = f64;
                $body
            }
        }
    };
}

impl Packed {
    /// The points in a frame of their own, in f32 if that is asked for and safe.
    pub(crate) fn new(kernel: &Kernel, points: &Points, precision: Precision) -> Packed {
        let frame = Frame::new(kernel, points);
        let safe = || frame.mixed_error(kernel, points) <= TOLERATED;
        let panels = match precision {
            Precision::Mixed if safe() => AnyPanels::Mixed(Panels::new(points, &frame)),
            _ => AnyPanels::Double(Panels::new(points, &frame)),
        };
        Packed { kernel: kernel.clone(), frame: frame.into(), panels: panels.into() }
    }

    /// Other points in the same frame and precision, so that sums between the two are possible and a point that is in
    /// both is rounded alike. `None` where these points are spread too wide for the precision.
    pub(crate) fn beside(&self, points: &Points) -> Option<Packed> {
        let panels = match *self.panels {
            AnyPanels::Mixed(_) if self.frame.mixed_error(&self.kernel, points) > TOLERATED => return None,
            AnyPanels::Mixed(_) => AnyPanels::Mixed(Panels::new(points, &self.frame)),
            AnyPanels::Double(_) => AnyPanels::Double(Panels::new(points, &self.frame)),
        };
        Some(Packed { kernel: self.kernel.clone(), frame: self.frame.clone(), panels: panels.into() })
    }

    /// The same points, as they have been rounded, for sums in f64.
    pub(crate) fn widened(&self) -> Packed {
        let AnyPanels::Mixed(panels) = &*self.panels else { return self.clone() };
        Packed { panels: Arc::new(AnyPanels::Double(panels.widened())), ..self.clone() }
    }

    /// The precision the points are packed in.
    pub(crate) fn precision(&self) -> Precision {
        match *self.panels {
            AnyPanels::Mixed(_) => Precision::Mixed,
            AnyPanels::Double(_) => Precision::Double,
        }
    }

    /// `out[i]` = Σⱼ wⱼ k(xᵢ, yⱼ) over the samples y, with equal weights 1/n where none are given.
    ///
    /// # Panics
    /// Where the two were not packed in the same frame and precision.
    pub(crate) fn mean_into(&self, samples: &Packed, weights: Option<&[f64]>, out: &mut [f64]) {
        assert!(Arc::ptr_eq(&self.frame, &samples.frame), "points packed in different frames");
        match (&*self.panels, &*samples.panels) {
            (AnyPanels::Mixed(at), AnyPanels::Mixed(samples)) => {
                with_profile!(&self.kernel, f32, p => means(level(), p, at, samples, weights, out));
            }
            (AnyPanels::Double(at), AnyPanels::Double(samples)) => {
                with_profile!(&self.kernel, f64, p => means(level(), p, at, samples, weights, out));
            }
            _ => panic!("points packed in different precisions"),
        }
    }

    /// The same at the samples themselves: k(x, y) = k(y, x) saves half of the work.
    pub(crate) fn own_mean_into(&self, weights: Option<&[f64]>, out: &mut [f64]) {
        let _ = self.own_mean_watched(weights, out, None);
    }

    /// The same, watched; after a break `out` means nothing.
    pub(crate) fn own_mean_watched(
        &self,
        weights: Option<&[f64]>,
        out: &mut [f64],
        watch: Option<Watch>,
    ) -> ControlFlow<()> {
        let pairs = |n: usize| (n as u64 * (n as u64 + 1)) / 2;
        let tally = Tally::new(watch, pairs(out.len()));
        with_panels!(&*self.panels, panels: T => {
            with_profile!(&self.kernel, T, p => own_means(level(), p, panels, weights, out, &tally));
        });
        tally.outcome()
    }

    /// Adds `weight`·k(xᵢ, y) to `sums[i]`.
    pub(crate) fn add_row(&self, y: &[f64], weight: f64, sums: &mut [f64]) {
        with_panels!(&*self.panels, panels: T => {
            let y = self.frame.point::<T>(y);
            with_profile!(&self.kernel, T, p => {
                for_chunks(panels, sums, |panels, _, sums| {
                    dispatch!(level(), simd => tile::add_row(simd, p, panels, &y, weight, sums));
                });
            });
        });
    }

    /// The same, and the largest of share·μᵢ − sumᵢ + offsetᵢ afterwards with the lowest index that has it: one pass
    /// over the points for each pick. `None` where every score is −∞.
    pub(crate) fn add_row_and_argmax(
        &self,
        y: &[f64],
        weight: f64,
        sums: &mut [f64],
        scores: Scores<'_>,
    ) -> Option<(usize, f64)> {
        with_panels!(&*self.panels, panels: T => {
            let y = self.frame.point::<T>(y);
            with_profile!(&self.kernel, T, p => {
                let best = for_chunks(panels, sums, |panels, start, sums| {
                    dispatch!(level(), simd => {
                        scores.search(start, sums, |range, sums| {
                            let panels = &panels[range.start * y.len()..range.end.next_multiple_of(WIDTH) * y.len()];
                            tile::add_row(simd, p, panels, &y, weight, sums);
                        })
                    })
                });
                best.into_iter().flatten().reduce(better)
            })
        })
    }
}

/// What a score is made of besides the running sums: share·μᵢ − sumᵢ + offsetᵢ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scores<'a> {
    pub(crate) share: f64,
    pub(crate) mu: &'a [f64],
    pub(crate) offsets: Option<&'a [f64]>,
}

impl Scores<'_> {
    /// The largest score and the lowest index that has it; `None` where every score is −∞.
    pub(crate) fn argmax(&self, sums: &mut [f64]) -> Option<(usize, f64)> {
        if sums.len() < SERIAL_BELOW {
            return dispatch!(level(), _ => self.search(0, sums, |_, _| ()));
        }
        let chunks = sums.par_chunks_mut(CHUNK).enumerate();
        let best = chunks.map(|(i, sums)| dispatch!(level(), _ => self.search(i * CHUNK, sums, |_, _| ())));
        best.flatten().reduce_with(better)
    }

    /// Calls `update(range, sums)` for block after block of the sums, which begin at point `start`, and looks for the
    /// largest score while a block is in the first-level cache. Where it stands is looked up once, at the end.
    #[inline(always)]
    fn search(
        &self,
        start: usize,
        sums: &mut [f64],
        mut update: impl FnMut(Range<usize>, &mut [f64]),
    ) -> Option<(usize, f64)> {
        const BLOCK: usize = 1024;
        let offsets = |range: Range<usize>| self.offsets.map(|offsets| &offsets[range]);
        let (mut best, mut best_block) = (f64::NEG_INFINITY, 0);
        for (i, sums) in sums.chunks_mut(BLOCK).enumerate() {
            let range = i * BLOCK..i * BLOCK + sums.len();
            let points = start + range.start..start + range.end;
            update(range, sums);
            let largest = tile::largest(self.share, &self.mu[points.clone()], sums, offsets(points));
            if largest > best {
                (best, best_block) = (largest, i);
            }
        }
        let block = best_block * BLOCK..sums.len().min((best_block + 1) * BLOCK);
        let score = |i: &usize| {
            let score = self.share * self.mu[start + i] - sums[*i];
            self.offsets.map_or(score, |offsets| score + offsets[start + i])
        };
        let index = block.into_iter().find(|i| score(i) == best)?;
        (best > f64::NEG_INFINITY).then_some((start + index, best))
    }
}

fn better(a: (usize, f64), b: (usize, f64)) -> (usize, f64) {
    if b.1 > a.1 || (b.1 == a.1 && b.0 < a.0) { b } else { a }
}

/// The index of the largest `score(i)` for i below `len`, for scores that are not running sums; ties go to the lowest.
/// `None` where every score is `None`.
pub(crate) fn argmax_by(len: usize, score: impl Fn(usize) -> Option<f64> + Sync) -> Option<(usize, f64)> {
    let scored = |i: usize| score(i).map(|score| (i, score));
    if len < SERIAL_BELOW {
        return (0..len).filter_map(scored).reduce(better);
    }
    (0..len).into_par_iter().with_min_len(SERIAL_BELOW / 8).filter_map(scored).reduce_with(better)
}

/// Σⱼ wⱼ k(x, yⱼ) over flat rows y, and its gradient times `scale` added to `gradient`.
pub(crate) fn add_gradient_into(
    kernel: &Kernel,
    x: &[f64],
    rows: &[f64],
    weights: &[f64],
    scale: f64,
    gradient: &mut [f64],
) -> f64 {
    let rows = rows.chunks_exact(x.len()).zip(weights);
    rows.map(|(y, w)| w * kernel.add_gradient(x, y, scale * w, gradient)).sum()
}

/// Calls `work(panels, first point, sums)` for chunks of the points, in parallel where there is enough to do.
fn for_chunks<T: Lane, R: Send>(
    panels: &Panels<T>,
    sums: &mut [f64],
    work: impl Fn(&[T], usize, &mut [f64]) -> R + Sync,
) -> Vec<R> {
    assert_eq!(sums.len(), panels.len);
    if panels.len * (panels.dim + 8) < 8 * SERIAL_BELOW {
        return vec![work(&panels.data, 0, sums)];
    }
    let chunks = sums.par_chunks_mut(CHUNK).zip(panels.data.par_chunks(CHUNK * panels.dim)).enumerate();
    chunks.map(|(i, (sums, panels))| work(panels, i * CHUNK, sums)).collect()
}

/// Points in a band: wide enough that a tile outweighs its handling, narrow enough that two bands stay in the
/// second-level cache and that there are bands for all threads. It depends on nothing but the points.
fn band(len: usize, dim: usize, number_size: usize) -> usize {
    let cached = (1 << 18) / (dim * number_size);
    let shared = len / 16;
    let widest = cached.min(shared).min(TILE);
    if widest < 64 { 64 } else { 1 << widest.ilog2() }
}

fn means<T: Lane, P: profile::Profile<T>>(
    level: Level,
    profile: P,
    at: &Panels<T>,
    samples: &Panels<T>,
    weights: Option<&[f64]>,
    out: &mut [f64],
) {
    assert_eq!(out.len(), at.len);
    let weights = weights.map(|weights| samples.padded_weights(weights));
    let band = band(samples.len, at.dim, size_of::<T>());
    if at.len <= 64 && at.len * samples.len >= SERIAL_BELOW {
        // Few rows: the samples are shared between the threads, and their parts added up in order.
        let rows = Side { panels: at.range(0, at.len), weights: &[] };
        let parts: Vec<Vec<f64>> = (0..samples.len.div_ceil(CHUNK))
            .into_par_iter()
            .map(|part| {
                let mut sums = vec![0.0; at.len];
                let end = ((part + 1) * CHUNK).min(samples.len);
                for start in (part * CHUNK..end).step_by(band) {
                    let range = start..(start + band).min(end);
                    one_sided(level, profile, rows, samples, weights.as_deref(), range, &mut sums);
                }
                sums
            })
            .collect();
        let scale = if weights.is_some() { 1.0 } else { 1.0 / samples.len as f64 };
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
            one_sided(level, profile, rows, samples, weights.as_deref(), start..end, out);
        }
        if weights.is_none() {
            out.iter_mut().for_each(|sum| *sum /= samples.len as f64);
        }
    };
    if at.len * samples.len < SERIAL_BELOW {
        out.chunks_mut(64).enumerate().for_each(band_means);
    } else {
        out.par_chunks_mut(64).enumerate().for_each(band_means);
    }
}

fn own_means<T: Lane, P: profile::Profile<T>>(
    level: Level,
    profile: P,
    panels: &Panels<T>,
    weights: Option<&[f64]>,
    out: &mut [f64],
    tally: &Tally,
) {
    assert_eq!(out.len(), panels.len);
    out.fill(0.0);
    let weights = weights.map(|weights| panels.padded_weights(weights));
    let weights = weights.as_deref();
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
            weights: weights.map_or(&[][..], |w| &w[range(i).start..range(i).end.next_multiple_of(WIDTH)]),
        };
        let (rows, columns) = (side(a), side(b));
        match weights {
            Some(_) => dispatch!(level, simd => {
                tile::tile::<_, T, P, true>(simd, profile, panels.dim, rows, columns, out_a, Some(out_b));
            }),
            None => two_sided_unweighted(level, profile, panels.dim, rows, columns, out_a, out_b),
        }
        tally.add(out_a.len() * out_b.len());
    };
    let serial = panels.len * panels.len < SERIAL_BELOW;
    if serial {
        out.chunks_mut(band).enumerate().for_each(diagonal);
    } else {
        out.par_chunks_mut(band).enumerate().for_each(diagonal);
    }
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
    if weights.is_none() {
        out.iter_mut().for_each(|sum| *sum /= panels.len as f64);
    }
}

/// Sums over the samples of one range, for rows that need no sums in return.
fn one_sided<T: Lane, P: profile::Profile<T>>(
    level: Level,
    profile: P,
    rows: Side<T>,
    samples: &Panels<T>,
    weights: Option<&[T]>,
    range: Range<usize>,
    out: &mut [f64],
) {
    let dim = samples.dim;
    match weights {
        Some(weights) => {
            let columns = Side {
                panels: samples.range(range.start, range.end),
                weights: &weights[range.start..range.end.next_multiple_of(WIDTH)],
            };
            dispatch!(level, simd => tile::tile::<_, T, P, true>(simd, profile, dim, rows, columns, out, None));
        }
        None => {
            let (full, last, mask) =
                split_last_panel(samples.range(range.start, range.end), dim, range.len());
            let full = Side { panels: full, weights: &[] };
            dispatch!(level, simd => tile::tile::<_, T, P, false>(simd, profile, dim, rows, full, out, None));
            if !last.is_empty() {
                let last = Side { panels: last, weights: &mask };
                dispatch!(level, simd => tile::tile::<_, T, P, true>(simd, profile, dim, rows, last, out, None));
            }
        }
    }
}

/// A tile for both of its sides where all points count alike; only the columns can have a panel that is not full.
fn two_sided_unweighted<T: Lane, P: profile::Profile<T>>(
    level: Level,
    profile: P,
    dim: usize,
    rows: Side<T>,
    columns: Side<T>,
    out_rows: &mut [f64],
    out_columns: &mut [f64],
) {
    let (full, last, mask) = split_last_panel(columns.panels, dim, out_columns.len());
    let (full_out, last_out) = out_columns.split_at_mut(full.len() / dim);
    let full = Side { panels: full, weights: &[] };
    dispatch!(level, simd => {
        tile::tile::<_, T, P, false>(simd, profile, dim, rows, full, out_rows, Some(full_out));
    });
    if !last.is_empty() {
        let ones = vec![T::ONE; out_rows.len()];
        let (rows, last) = (Side { weights: &ones, ..rows }, Side { panels: last, weights: &mask });
        dispatch!(level, simd => {
            tile::tile::<_, T, P, true>(simd, profile, dim, rows, last, out_rows, Some(last_out));
        });
    }
}

/// Panels that are full, the one that is not (if any), and the mask of its places.
fn split_last_panel<T: Lane>(panels: &[T], dim: usize, points: usize) -> (&[T], &[T], [T; WIDTH]) {
    let over = points % WIDTH;
    let (full, last) = panels.split_at((points - over) * dim);
    (full, last, std::array::from_fn(|place| if place < over { T::ONE } else { T::ZERO }))
}

/// The instruction set in use: the best the machine has, or the one named by SUPERSAMPLE_ISA.
pub(crate) fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| {
        let best = Level::new();
        let wanted = std::env::var("SUPERSAMPLE_ISA").unwrap_or_default();
        available_levels().into_iter().find(|level| name(*level) == wanted).unwrap_or(best)
    })
}

/// The name of the instruction set in use, for reports: avx512, avx2, sse4.2, sse2, neon or portable.
pub fn instruction_set() -> &'static str {
    name(level())
}

fn name(level: Level) -> &'static str {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    {
        if level.as_avx512().is_some() {
            return "avx512";
        }
        if level.as_avx2().is_some() {
            return "avx2";
        }
        if level.as_sse4_2().is_some() {
            return "sse4.2";
        }
        if level.as_sse2().is_some() {
            return "sse2";
        }
    }
    #[cfg(target_arch = "aarch64")]
    if level.as_neon().is_some() {
        return "neon";
    }
    "portable"
}

/// Every level this machine can run, best first.
fn available_levels() -> Vec<Level> {
    let best = Level::new();
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    {
        let levels = [
            best.as_avx512().map(Level::Avx512),
            best.as_avx2().map(Level::Avx2),
            best.as_sse4_2().map(Level::Sse4_2),
            best.as_sse2().map(Level::Sse2),
        ];
        levels.into_iter().flatten().collect()
    }
    #[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
    vec![best]
}

#[cfg(test)]
mod tests;
