//! Kernel rows that are kept in the precision they were computed in, and the searches that read them.

use crate::chunks::{ADDITION, over_chunks, over_paired_chunks, over_ranges, row_value};
use crate::lanes::Lane;
use crate::launch::{ByLane, Task};
use crate::level::{dispatch, level};
use crate::packed::Packed;
use crate::panels::{Coordinates, Panels, WIDTH};
use crate::profile::Profile;
use crate::scores::{Scores, best_of};
use crate::tile;

/// The values of either precision.
pub(crate) type AnyRow = ByLane<Vec<f32>, Vec<f64>>;

/// k(xᵢ, y) at every packed point x: f32 where the points are, which halves what a look at it has to read.
#[derive(Clone, Debug)]
pub struct KernelRow(AnyRow);

impl Packed {
    /// A row of zeros for [`fill_row`](Self::fill_row).
    pub fn empty_row(&self) -> KernelRow {
        KernelRow(match &*self.panels {
            ByLane::Mixed(panels) => ByLane::Mixed(vec![0.0; panels.len]),
            ByLane::Double(panels) => ByLane::Double(vec![0.0; panels.len]),
        })
    }

    /// Bytes that a row takes.
    pub fn row_bytes(&self) -> usize {
        match &*self.panels {
            ByLane::Mixed(panels) => panels.len * size_of::<f32>(),
            ByLane::Double(panels) => panels.len * size_of::<f64>(),
        }
    }

    /// Writes the kernel row of `y`.
    ///
    /// # Panics
    /// Where the row was not made by [`empty_row`](Self::empty_row) of these points.
    pub fn fill_row(&self, y: &[f64], row: &mut KernelRow) {
        self.launch(FillRow { coordinates: &self.coordinates, y, added: None, row: &mut row.0 });
    }

    /// Adds `factor` times the kernel row of `y` to a row that is there.
    ///
    /// # Panics
    /// Where the row is not of as many points, or of another precision.
    pub fn add_to_row(&self, y: &[f64], factor: f64, row: &mut KernelRow) {
        self.launch(FillRow { coordinates: &self.coordinates, y, added: Some(factor), row: &mut row.0 });
    }

    /// [`fill_row`](Self::fill_row), then `weight` times the row added to `sums`, and the largest score afterwards, as in
    /// [`add_row_and_argmax`](Self::add_row_and_argmax): one pass, and the row is there for later.
    ///
    /// # Panics
    /// Where the row was not made by [`empty_row`](Self::empty_row) of these points.
    pub fn keep_row_and_argmax(
        &self,
        y: &[f64],
        row: &mut KernelRow,
        weight: f64,
        sums: &mut [f64],
        scores: Scores<'_>,
    ) -> Option<(usize, f64)> {
        let row = FillRow { coordinates: &self.coordinates, y, added: None, row: &mut row.0 };
        self.launch(KeepRowAndArgmax { row, weight, sums, scores })
    }

    /// [`add_to_row`](Self::add_to_row), then `weight` times the whole row added to `sums`, and the largest score
    /// afterwards.
    ///
    /// # Panics
    /// Where the row is not of as many points, or of another precision.
    pub fn add_to_row_and_argmax(
        &self,
        y: &[f64],
        factor: f64,
        row: &mut KernelRow,
        weight: f64,
        sums: &mut [f64],
        scores: Scores<'_>,
    ) -> Option<(usize, f64)> {
        let row = FillRow { coordinates: &self.coordinates, y, added: Some(factor), row: &mut row.0 };
        self.launch(KeepRowAndArgmax { row, weight, sums, scores })
    }
}

struct FillRow<'a> {
    coordinates: &'a Coordinates,
    y: &'a [f64],
    /// The factor where the row is added to what is there, `None` where it takes its place.
    added: Option<f64>,
    row: &'a mut AnyRow,
}

impl Task for FillRow<'_> {
    type Output = ();

    fn run<T: Lane, P: Profile<T>>(self, profile: P, panels: &Panels<T>) {
        let row = T::row(self.row).expect("a row of the precision of the points");
        assert_eq!(row.len(), panels.len);
        let y = &self.coordinates.point::<T>(self.y)[..];
        let added = self.added.map(T::from_f64);
        over_chunks(row, &panels.data, y.len(), row_value(y.len()), &|_, row, panels| {
            dispatch!(level(), simd => tile::fill_row(simd, profile, panels, y, added, row));
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
        let KeepRowAndArgmax { row: FillRow { coordinates, y, added, row }, weight, sums, scores } = self;
        let row = T::row(row).expect("a row of the precision of the points");
        assert_eq!(row.len(), panels.len);
        let y = &coordinates.point::<T>(y)[..];
        let (cost, added) = (row_value(y.len()), added.map(T::from_f64));
        let best = over_paired_chunks(sums, row, &panels.data, y.len(), cost, &|start, sums, row, panels| {
            dispatch!(level(), simd => {
                scores.search(start, sums, |range, sums| {
                    let places = range.start * y.len()..range.end.next_multiple_of(WIDTH) * y.len();
                    let row = &mut row[range];
                    tile::fill_row(simd, profile, &panels[places], y, added, row);
                    add(row, weight, sums);
                })
            })
        });
        best_of(best)
    }
}

impl KernelRow {
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

    /// The largest of wᵢ + kᵢ and the lowest index that has it; `None` where all are −∞.
    pub fn argmax_with(&self, w: &[f64]) -> Option<(usize, f64)> {
        match &self.0 {
            ByLane::Mixed(values) => argmax_in_ranges(w, values, |_, sum| sum),
            ByLane::Double(values) => argmax_in_ranges(w, values, |_, sum| sum),
        }
    }

    /// The largest of wᵢ + kᵢ + `scale`·noiseᵢ and the lowest index that has it; `None` where all are −∞.
    ///
    /// # Panics
    /// Where there is less noise than there are points.
    pub fn argmax_with_noise(&self, w: &[f64], noise: &[f32], scale: f64) -> Option<(usize, f64)> {
        let noise = &noise[..w.len()];
        let noisy = |i: usize, sum: f64| sum + scale * f64::from(noise[i]);
        match &self.0 {
            ByLane::Mixed(values) => argmax_in_ranges(w, values, noisy),
            ByLane::Double(values) => argmax_in_ranges(w, values, noisy),
        }
    }

    /// Adds this row to `sums` and takes another from them.
    ///
    /// # Panics
    /// Where the two are of different precision or length.
    pub fn exchange(&self, other: &KernelRow, sums: &mut [f64]) {
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

/// The largest of `score(i, wᵢ + valueᵢ)`.
fn argmax_in_ranges<T: Lane>(
    w: &[f64],
    values: &[T],
    score: impl Fn(usize, f64) -> f64 + Sync,
) -> Option<(usize, f64)> {
    assert_eq!(w.len(), values.len());
    let best = over_ranges(w.len(), &|range| {
        let of_range = |i: usize, sum: f64| score(range.start + i, sum);
        let best = dispatch!(level(), _ => argmax(&w[range.clone()], &values[range.clone()], of_range));
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

/// The largest of `score(i, wᵢ + valueᵢ)` and the lowest index that has it; `None` where all are −∞.
#[inline(always)]
fn argmax<T: Lane>(w: &[f64], values: &[T], score: impl Fn(usize, f64) -> f64) -> Option<(usize, f64)> {
    /// What is looked through twice when it holds the largest.
    const BLOCK: usize = 512;
    /// Running maxima side by side: no chain of dependent comparisons.
    const LANES: usize = 32;
    let score_at = |i: usize| score(i, w[i] + values[i].to_f64());
    let (mut best, mut best_block) = (f64::NEG_INFINITY, 0..0);
    for start in (0..w.len()).step_by(BLOCK) {
        let end = (start + BLOCK).min(w.len());
        let mut lanes = [f64::NEG_INFINITY; LANES];
        let (mut i, block) = (start, start..end);
        let chunks = w[block.clone()].as_chunks::<LANES>().0.iter();
        for (w, values) in chunks.zip(values[block.clone()].as_chunks::<LANES>().0) {
            for lane in 0..LANES {
                let score = score(i + lane, w[lane] + values[lane].to_f64());
                lanes[lane] = if score > lanes[lane] { score } else { lanes[lane] };
            }
            i += LANES;
        }
        let rest = (i..end).map(score_at).fold(f64::NEG_INFINITY, f64::max);
        let largest = lanes.into_iter().fold(rest, f64::max);
        if largest > best {
            (best, best_block) = (largest, block);
        }
    }
    best_block.into_iter().find(|&i| score_at(i) == best).map(|i| (i, best))
}
