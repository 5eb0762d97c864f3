//! The hot place: sums of kernel values over many points, on vectors, blocked for the cache, shared between threads.
//!
//! Everything the library spends time on passes through here: the mean of kernel rows ([`Packed::mean_into`], and
//! [`Packed::own_mean_into`] with half the work when points meet themselves), one kernel row fused with the search for
//! the next maximum ([`Packed::add_row_and_argmax`]). Points are packed once, in f32 or f64 ([`Precision`]). Every row
//! of a result is summed in a fixed order, so results do not depend on the number of threads; the pool of threads is
//! the caller's. Each routine is tested against its twin in `scalar.rs` on every instruction set of the machine.

mod lanes;
mod level;
mod means;
mod panels;
mod profile;
mod rows;
#[cfg(test)]
mod scalar;
mod schedule;
mod tile;

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use fearless_simd::dispatch;
use rayon::prelude::*;

use self::lanes::Lane;
pub use self::level::instruction_set;
use self::level::level;
use self::means::{means, own_means};
use self::panels::{Frame, Panels, WIDTH};
use self::profile::with_profile;
pub(crate) use self::rows::{KernelRow, add_scaled};
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

    /// Adds `weight`·k(xᵢ, y) to `sums[i]` and finds the largest of factor·μᵢ + sumᵢ + offsetᵢ afterwards with the lowest
    /// index that has it: one pass over the points for each pick. `None` where every score is −∞.
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

/// What a score is made of besides the running sums: factor·μᵢ + sumᵢ + offsetᵢ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scores<'a> {
    pub(crate) factor: f64,
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
            let largest = tile::largest(self.factor, &self.mu[points.clone()], sums, offsets(points));
            if largest > best {
                (best, best_block) = (largest, i);
            }
        }
        let block = best_block * BLOCK..sums.len().min((best_block + 1) * BLOCK);
        let score = |i: &usize| {
            let score = self.factor * self.mu[start + i] + sums[*i];
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

#[cfg(test)]
mod tests;
