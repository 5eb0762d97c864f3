//! Kernel rows in the precision in which they were computed, and the searches that read them.

use std::ops::Range;

use fearless_simd::Simd;
use fearless_simd::prelude::*;

use crate::chunks::{ADDITION, over_chunks, over_paired_chunks, over_ranges, row_value};
use crate::lanes::Lane;
use crate::launch::{ByLane, Task};
use crate::level::{dispatch, level};
use crate::packed::Packed;
use crate::panels::{Coordinates, Panels, WIDTH};
use crate::profile::Profile;
use crate::scores::{Scores, best_of};
use crate::terms::{Term, TermsInLane};
use crate::tile;

/// The values of either precision, to be written.
pub(crate) type AnyRowMut<'a> = ByLane<&'a mut [f32], &'a mut [f64]>;

/// k(xᵢ, y) at every packed point x, one of [`KernelRows`](crate::KernelRows): f32 if the points are, which halves the
/// memory that a look reads.
#[derive(Clone, Copy, Debug)]
pub struct KernelRow<'a>(pub(crate) ByLane<&'a [f32], &'a [f64]>);

/// A [`KernelRow`] that can be written.
#[derive(Debug)]
pub struct KernelRowMut<'a>(pub(crate) AnyRowMut<'a>);

impl KernelRowMut<'_> {
    /// Reborrows the values.
    fn again(&mut self) -> AnyRowMut<'_> {
        match &mut self.0 {
            ByLane::Mixed(values) => ByLane::Mixed(values),
            ByLane::Double(values) => ByLane::Double(values),
        }
    }
}

impl KernelRowMut<'_> {
    /// The row, to be read.
    pub fn as_row(&self) -> KernelRow<'_> {
        KernelRow(match &self.0 {
            ByLane::Mixed(values) => ByLane::Mixed(values),
            ByLane::Double(values) => ByLane::Double(values),
        })
    }

    /// Adds kernel rows to values that came from elsewhere.
    ///
    /// # Panics
    /// If a term is a function of packed coordinates, which such values do not have.
    pub fn add(&mut self, terms: &[Term<'_>]) {
        match self.again() {
            ByLane::Mixed(row) => TermsInLane::new(terms).add(0..row.len(), &[], 0, row),
            ByLane::Double(row) => TermsInLane::new(terms).add(0..row.len(), &[], 0, row),
        }
    }

    /// Writes given values.
    ///
    /// # Panics
    /// If they are not as many, or the row is not of doubles.
    pub fn copy_from(&mut self, values: &[f64]) {
        let ByLane::Double(row) = self.again() else { panic!("a row of doubles") };
        row.copy_from_slice(values);
    }
}

impl Packed {
    /// Writes the kernel row of `y`, with these terms added.
    ///
    /// # Panics
    /// If the row is not of as many points, or of another precision.
    pub fn fill_row(&self, y: &[f64], terms: &[Term<'_>], row: &mut KernelRowMut<'_>) {
        self.launch(FillRow { coordinates: &self.coordinates, y, terms, row: row.again() });
    }

    /// [`fill_row`](Self::fill_row), then `weight` times the row added to `sums`, and the largest score afterwards, as
    /// in [`add_row_and_argmax`](Self::add_row_and_argmax): one pass, and the row is kept.
    ///
    /// # Panics
    /// If the row is not of as many points, or of another precision.
    pub fn keep_row_and_argmax(
        &self,
        y: &[f64],
        terms: &[Term<'_>],
        row: &mut KernelRowMut<'_>,
        weight: f64,
        sums: &mut [f64],
        scores: Scores<'_>,
    ) -> Option<(usize, f64)> {
        let row = FillRow { coordinates: &self.coordinates, y, terms, row: row.again() };
        self.launch(KeepRowAndArgmax { row, weight, sums, scores })
    }
}

struct FillRow<'a> {
    coordinates: &'a Coordinates,
    y: &'a [f64],
    terms: &'a [Term<'a>],
    row: AnyRowMut<'a>,
}

impl Task for FillRow<'_> {
    type Output = ();

    fn run<T: Lane, P: Profile<T>>(self, profile: P, panels: &Panels<T>) {
        let row = T::row(self.row).expect("a row of the precision of the points");
        assert_eq!(row.len(), panels.len);
        let (y, terms) = (&panels.point(self.y, self.coordinates)[..], TermsInLane::new(self.terms));
        over_chunks(row, &panels.data, y.len(), row_value(y.len()), &|start, row, panels| {
            dispatch!(level(), simd => tile::fill_row(simd, profile, panels, y, None, row));
            terms.add(start..start + row.len(), panels, y.len(), row);
        });
    }
}

struct KeepRowAndArgmax<'a> {
    row: FillRow<'a>,
    weight: f64,
    sums: &'a mut [f64],
    scores: Scores<'a>,
}

impl Task for KeepRowAndArgmax<'_> {
    type Output = Option<(usize, f64)>;

    fn run<T: Lane, P: Profile<T>>(self, profile: P, panels: &Panels<T>) -> Option<(usize, f64)> {
        let KeepRowAndArgmax { row: FillRow { coordinates, y, terms, row }, weight, sums, scores } = self;
        let row = T::row(row).expect("a row of the precision of the points");
        assert_eq!(row.len(), panels.len);
        let (y, terms) = (&panels.point(y, coordinates)[..], TermsInLane::new(terms));
        let cost = row_value(y.len());
        let best = over_paired_chunks(sums, row, &panels.data, y.len(), cost, &|start, sums, row, panels| {
            dispatch!(level(), simd => {
                scores.search(start, sums, |range, sums| {
                    let places = range.start * y.len()..range.end.next_multiple_of(WIDTH) * y.len();
                    let (panels, row) = (&panels[places], &mut row[range.clone()]);
                    tile::fill_row(simd, profile, panels, y, None, row);
                    terms.add(start + range.start..start + range.end, panels, y.len(), row);
                    add(row, weight, sums);
                })
            })
        });
        best_of(best)
    }
}

/// Writes the kernel row of `y` over the points of a range that begins a panel, or adds it with a factor.
pub(crate) fn fill_range(
    points: &Packed,
    y: &[f64],
    added: Option<f64>,
    range: Range<usize>,
    row: AnyRowMut<'_>,
) {
    points.launch(FillRange { coordinates: &points.coordinates, y, added, range, row });
}

struct FillRange<'a> {
    coordinates: &'a Coordinates,
    y: &'a [f64],
    /// The factor if the values are added to the present ones, `None` if they replace them.
    added: Option<f64>,
    range: Range<usize>,
    row: AnyRowMut<'a>,
}

impl Task for FillRange<'_> {
    type Output = ();

    fn run<T: Lane, P: Profile<T>>(self, profile: P, panels: &Panels<T>) {
        let row = T::row(self.row).expect("a row of the precision of the points");
        let y = &panels.point(self.y, self.coordinates)[..];
        let (added, panels) = (self.added.map(T::from_f64), panels.range(self.range.start, self.range.end));
        dispatch!(level(), simd => tile::fill_row(simd, profile, panels, y, added, row));
    }
}

impl KernelRow<'_> {
    /// The value at point `i`.
    pub fn get(&self, i: usize) -> f64 {
        match &self.0 {
            ByLane::Mixed(values) => values[i].to_f64(),
            ByLane::Double(values) => values[i],
        }
    }

    /// Adds `weight` times the row to `sums`.
    pub fn add_to(&self, weight: f64, sums: &mut [f64]) {
        match &self.0 {
            ByLane::Mixed(values) => add_in_chunks(values, weight, sums),
            ByLane::Double(values) => add_in_chunks(values, weight, sums),
        }
    }

    /// The largest of wᵢ + kᵢ and the lowest index that has it; `None` if all are −∞.
    pub fn argmax_with(&self, w: &[f64]) -> Option<(usize, f64)> {
        self.argmax(w, None)
    }

    /// The largest of wᵢ + kᵢ + `scale`·noiseᵢ and the lowest index that has it; `None` if all are −∞.
    ///
    /// # Panics
    /// If there is less noise than there are points.
    pub fn argmax_with_noise(&self, w: &[f64], noise: &[f32], scale: f64) -> Option<(usize, f64)> {
        self.argmax(w, Some(Noise { values: &noise[..w.len()], scale }))
    }

    fn argmax(&self, w: &[f64], noise: Option<Noise<'_>>) -> Option<(usize, f64)> {
        match &self.0 {
            ByLane::Mixed(values) => argmax_in_ranges(w, values, noise),
            ByLane::Double(values) => argmax_in_ranges(w, values, noise),
        }
    }

    /// Adds this row to `sums` and subtracts another.
    ///
    /// # Panics
    /// If the two are of different precision or length.
    pub fn exchange(&self, other: KernelRow<'_>, sums: &mut [f64]) {
        match (&self.0, &other.0) {
            (ByLane::Mixed(out), ByLane::Mixed(into)) => exchange_in_chunks(out, into, sums),
            (ByLane::Double(out), ByLane::Double(into)) => exchange_in_chunks(out, into, sums),
            _ => panic!("rows of one precision"),
        }
    }
}

/// Adds `weight` times the values to `sums`.
pub fn add_scaled(values: &[f64], weight: f64, sums: &mut [f64]) {
    add_in_chunks(values, weight, sums);
}

fn add_in_chunks<T: Lane>(values: &[T], weight: f64, sums: &mut [f64]) {
    assert_eq!(values.len(), sums.len());
    over_chunks(sums, values, 1, ADDITION, &|_, sums, values| {
        dispatch!(level(), _ => add(values, weight, sums));
    });
}

fn exchange_in_chunks<T: Lane>(out: &[T], into: &[T], sums: &mut [f64]) {
    assert!(out.len() == sums.len() && into.len() == sums.len());
    over_chunks(sums, out, 1, 2 * ADDITION, &|first, sums, out| {
        let into = &into[first..first + sums.len()];
        dispatch!(level(), _ => exchange(out, into, sums));
    });
}

/// Noise added to a score before it is compared: `scale` times a value for each point.
#[derive(Clone, Copy)]
struct Noise<'a> {
    values: &'a [f32],
    scale: f64,
}

/// The largest score and the lowest index that has it; `None` if all are −∞.
fn argmax_in_ranges<T: Lane>(w: &[f64], values: &[T], noise: Option<Noise<'_>>) -> Option<(usize, f64)> {
    assert_eq!(w.len(), values.len());
    let best = over_ranges(w.len(), &|range| {
        let (w, values) = (&w[range.clone()], &values[range.clone()]);
        let noise = noise.map(|noise| Noise { values: &noise.values[range.clone()], ..noise });
        let best = dispatch!(level(), simd => argmax(simd, w, values, noise));
        best.map(|(i, score)| (range.start + i, score))
    });
    best_of(best)
}

#[inline(always)]
fn exchange<T: Lane>(out: &[T], into: &[T], sums: &mut [f64]) {
    for (sum, (out, into)) in sums.iter_mut().zip(out.iter().zip(into)) {
        *sum += out.to_f64() - into.to_f64();
    }
}

#[inline(always)]
fn add<T: Lane>(values: &[T], weight: f64, sums: &mut [f64]) {
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum += weight * value.to_f64();
    }
}

/// The largest score and the lowest index that has it; `None` if all are −∞.
#[inline(always)]
fn argmax<S: Simd, T: Lane>(
    simd: S,
    w: &[f64],
    values: &[T],
    noise: Option<Noise<'_>>,
) -> Option<(usize, f64)> {
    /// Scores in the first-level cache until their largest is known; they are computed again to find its position.
    const BLOCK: usize = 512;
    let mut scores = [0.0; BLOCK];
    let (mut best, mut best_block) = (f64::NEG_INFINITY, 0..0);
    for start in (0..w.len()).step_by(BLOCK) {
        let block = start..w.len().min(start + BLOCK);
        let scores = &mut scores[..block.len()];
        scores_of(w, values, noise, block.clone(), scores);
        let largest = largest(simd, scores);
        if largest > best {
            (best, best_block) = (largest, block);
        }
    }
    let scores = &mut scores[..best_block.len()];
    scores_of(w, values, noise, best_block.clone(), scores);
    let index = scores.iter().position(|&score| score == best)?;
    Some((best_block.start + index, best))
}

/// The scores of the points in a range.
#[inline(always)]
fn scores_of<T: Lane>(
    w: &[f64],
    values: &[T],
    noise: Option<Noise<'_>>,
    range: Range<usize>,
    scores: &mut [f64],
) {
    let sums = w[range.clone()].iter().zip(&values[range.clone()]);
    let sums = scores.iter_mut().zip(sums);
    match noise {
        None => sums.for_each(|(score, (w, value))| *score = w + value.to_f64()),
        Some(Noise { values, scale }) => {
            sums.zip(&values[range]).for_each(|((score, (w, value)), &noise)| {
                *score = w + value.to_f64() + scale * f64::from(noise);
            })
        }
    }
}

/// The largest of the scores; −∞ of nothing.
#[inline(always)]
fn largest<S: Simd>(simd: S, scores: &[f64]) -> f64 {
    /// Independent running maxima, so that none waits for another.
    const CHAINS: usize = 4;
    let lanes = S::f64s::LEN;
    let mut best = [S::f64s::splat(simd, f64::NEG_INFINITY); CHAINS];
    let mut chunks = scores.chunks_exact(CHAINS * lanes);
    for chunk in &mut chunks {
        for (best, scores) in best.iter_mut().zip(chunk.chunks_exact(lanes)) {
            *best = best.max(S::f64s::from_slice(simd, scores));
        }
    }
    let [a, b, c, d] = best;
    let best = a.max(b).max(c.max(d));
    let best = (0..lanes).fold(f64::NEG_INFINITY, |largest, lane| largest.max(best[lane]));
    chunks.remainder().iter().fold(best, |largest, &score| largest.max(score))
}
