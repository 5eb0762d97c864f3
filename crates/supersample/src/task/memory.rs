//! Memory of a run, estimated before it starts. One rule for the size of the pool, and kept kernel rows cut to the
//! limit.

use super::landmarks::controls_of;
use super::{Choose, Method, POOL_ROWS, TargetChoice};
use crate::columns;
use crate::part::FEW;
use crate::scale::Scale;
use crate::{Error, Precision, RefineOptions, Result};

/// Memory that does not grow with the rows: code, file buffers.
const BASE: u64 = 28 << 20;

/// Memory for batches and reader buffers: at most this, and at most a quarter of the limit.
const READING_BYTES: u64 = 96 << 20;

/// Memory limit of rows in batches if none is given.
const UNLIMITED: u64 = 8 << 30;

/// Smallest useful pool.
const FEWEST_POOL_ROWS: usize = 1000;

/// Assumed size of a set if no number is given.
const MANY: usize = 10_000;

/// Size of the rows, as far as memory depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns used as coordinates.
    pub columns: usize,
    /// Number of functions of interest.
    pub functions: usize,
    /// Whether the rows have weights.
    pub is_weighted: bool,
    /// Whether the rows have scores.
    pub has_scores: bool,
}

impl Choose {
    /// Estimates the memory in bytes of a run with all rows of this size in memory.
    ///
    /// ```
    /// use supersample::task::{Choose, Size};
    /// let million = Size { rows: 1_000_000, columns: 10, ..Size::default() };
    /// assert!(Choose::thin(1000)?.memory(million) > Choose::herd(1000)?.memory(million));
    /// # Ok::<(), supersample::Error>(())
    /// ```
    pub fn memory(&self, size: Size) -> u64 {
        self.estimate(size).needed()
    }

    /// Checks that a run with all rows of this size in memory fits the limit, if it keeps no kernel rows.
    pub fn check_memory(&self, size: Size) -> Result<()> {
        match self.compute.max_memory {
            Some(limit) => self.estimate(size).kept_within(limit).map(drop),
            None => Ok(()),
        }
    }

    /// Whether rows of this size are processed in batches: they do not fit into the limit, and a sample of them takes
    /// less. [`Error::TooLittleMemory`] if neither fits, with the smaller of both.
    pub fn needs_batches(&self, size: Size) -> Result<bool> {
        let Err(whole) = self.check_memory(size) else { return Ok(false) };
        match (self.drawn_rows(size), whole) {
            (Ok(drawn), _) => Ok(drawn < size.rows),
            (Err(Error::TooLittleMemory { needed, limit }), Error::TooLittleMemory { needed: whole, .. }) => {
                Err(Error::TooLittleMemory { needed: needed.min(whole), limit })
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Number of candidates for rows of this size that come in batches.
    ///
    /// It is the given number, or 200,000, or 20 for each row to choose, and no more than fit into the memory limit or
    /// 8 GiB. If fewer than 1,000, or than twice the rows to choose, would fit: [`Error::TooLittleMemory`]. The number
    /// of rows in `size` has no effect.
    ///
    /// ```
    /// use supersample::task::{Choose, Size};
    /// let size = Size { columns: 5, ..Size::default() };
    /// assert_eq!(Choose::thin(100)?.drawn_rows(size)?, 200_000);
    /// assert!(Choose::thin(100)?.max_memory(150 << 20).drawn_rows(size)? < 200_000);
    /// # Ok::<(), supersample::Error>(())
    /// ```
    pub fn drawn_rows(&self, size: Size) -> Result<usize> {
        self.drawn_rows_of(size, |choose, size| choose.estimate(size))
    }

    /// [`drawn_rows`](Self::drawn_rows) for a [stream](super::stream::Stream).
    pub(super) fn stream_rows(&self, size: Size) -> Result<usize> {
        self.drawn_rows_of(size, Choose::stream_estimate)
    }

    /// Estimates the memory in bytes of a stream of rows of this size, whatever their number, while it chooses.
    ///
    /// ```
    /// use supersample::task::{Choose, Size};
    /// let size = Size { columns: 10, ..Size::default() };
    /// assert!(Choose::thin(500)?.stream_memory(size)? < 1 << 30);
    /// # Ok::<(), supersample::Error>(())
    /// ```
    pub fn stream_memory(&self, size: Size) -> Result<u64> {
        let rows = self.stream_rows(size)?;
        let estimate = self.stream_estimate(Size { rows, ..size });
        Ok(MemoryEstimate { landmarks: self.landmark_count(rows, size.columns) as u64, ..estimate }.needed())
    }

    fn stream_estimate(&self, size: Size) -> MemoryEstimate {
        // The sample of the stream, its copy, and that which sums are carried over by, scaled and packed.
        MemoryEstimate { copies: 4, ..self.estimate(size) }
    }

    fn drawn_rows_of(&self, size: Size, estimate: impl Fn(&Choose, Size) -> MemoryEstimate) -> Result<usize> {
        if let Some(rows) = self.compute.pool_rows {
            return Ok(rows);
        }
        let limit = self.compute.max_memory.unwrap_or(UNLIMITED);
        let reading = READING_BYTES.min(limit / 4);
        let most = match self.compute.max_memory {
            Some(_) => self.pool_size(),
            None => Some(self.pool_size().unwrap_or(POOL_ROWS)),
        };
        let needs = |rows: usize| MemoryEstimate {
            landmarks: self.landmark_count(rows, size.columns) as u64,
            ..estimate(self, Size { rows, ..size })
        };
        rows_within(limit.saturating_sub(reading), self.stop.number, most, needs).map_err(|error| match error
        {
            Error::TooLittleMemory { needed, .. } => {
                // The limit that leaves this when its part for reading is taken off.
                let needed = (needed.saturating_add(READING_BYTES)).min((needed / 3).saturating_mul(4) + 4);
                Error::TooLittleMemory { needed, limit }
            }
            error => error,
        })
    }

    /// Returns the choice with a limit that leaves room for a target of this size, which is in memory where the rows to choose from
    /// come in batches.
    pub fn with_room_for(mut self, target: Size) -> Result<Choose> {
        let Some(limit) = self.compute.max_memory else { return Ok(self) };
        // The rows, scaled and packed; twice, because the problem counts them again.
        let needed = (target.rows as u64).saturating_mul(48 * (target.columns + target.functions) as u64);
        if needed > limit / 2 {
            return Err(Error::TooLittleMemory { needed: needed.saturating_mul(2), limit });
        }
        self.compute.max_memory = Some(limit - needed);
        Ok(self)
    }

    /// Returns the choice with as many kept kernel rows as fit into the memory limit.
    pub(super) fn within_memory(self, size: Size) -> Result<Choose> {
        let Some(limit) = self.compute.max_memory else { return Ok(self) };
        let kept = self.estimate(size).kept_within(limit)?;
        let Method::Thin(refine) = &self.method else { return Ok(self) };
        let refine = refine.clone().memory(kept);
        Ok(Choose { method: Method::Thin(refine), ..self })
    }

    fn estimate(&self, size: Size) -> MemoryEstimate {
        let Size { rows, columns, functions, is_weighted, has_scores } = size;
        let target = self.target_in_use(has_scores);
        let (is_density, is_corrected) =
            (has_scores && target == TargetChoice::Density, has_scores && target == TargetChoice::Corrected);
        // What -n auto measures rows by.
        let measured = if self.stop.add.is_some() { 2 * columns } else { 0 };
        let landmarks = self.landmarks_of(rows, columns).filter(|_| !is_density);
        let number = self.stop.number.unwrap_or(MANY) as u64;
        let set = |refine: &RefineOptions| Set {
            size: number,
            is_grouped: refine.groups.is_some(),
            budget: refine.memory as u64,
        };
        let has_marginals = !is_density && self.marginals_weight() > 0.0;
        let has_moments = !is_density && self.moments_weight() > 0.0;
        MemoryEstimate {
            rows: rows as u64,
            dim: columns as u64,
            // Unscaled columns are not copied.
            is_scaled: self.scale_in_use() != Scale::None,
            is_weighted: is_weighted || is_corrected,
            precision: if is_density { Precision::Double } else { self.distance.precision },
            threads: rayon::current_num_threads() as u64,
            set: self.method.refine().map(set),
            weighed: if self.weights.is_some() { number } else { 0 },
            chosen: self.stop.number.map_or(0, |number| number.min(rows) as u64),
            landmarks: landmarks.unwrap_or(0) as u64,
            parts: MatchedColumns {
                marginals: if has_marginals { columns as u64 } else { 0 },
                // With at most as many products of columns.
                moments: if has_moments { 2 * (2 * columns as u64 + 1) } else { 0 },
                are_apart: self.scale_in_use() != Scale::Pca,
                // Scores, and the scaled rows with their scores.
                functions: if is_density { 2 * columns } else { functions + measured } as u64,
            },
            is_corrected,
            copies: 0,
        }
    }
}

/// Largest number of pool rows for which `needs` stays within `limit` bytes.
fn rows_within(
    limit: u64,
    chosen: Option<usize>,
    most: Option<usize>,
    needs: impl Fn(usize) -> MemoryEstimate,
) -> Result<usize> {
    let fewest = chosen.map_or(0, |chosen| chosen.saturating_mul(2)).max(FEWEST_POOL_ROWS);
    let fits = |rows: usize| needs(rows).needed() <= limit;
    if !fits(fewest) {
        // Kept kernel rows are reduced before the run is refused.
        needs(fewest).kept_within(limit)?;
        return Ok(fewest);
    }
    if let Some(most) = most.map(|most| most.max(fewest)).filter(|most| fits(*most)) {
        return Ok(most);
    }
    let (mut low, mut high) = (fewest, fewest);
    while fits(high) && high < usize::MAX / 2 {
        (low, high) = (high, high * 2);
    }
    while high - low > 1 + low / 1000 {
        let middle = low + (high - low) / 2;
        if fits(middle) { low = middle } else { high = middle }
    }
    Ok(low)
}

/// Estimate of the memory of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct MemoryEstimate {
    rows: u64,
    dim: u64,
    is_scaled: bool,
    is_weighted: bool,
    precision: Precision,
    threads: u64,
    /// For a set.
    set: Option<Set>,
    /// Number of points with optimised weights.
    weighed: u64,
    /// Number of chosen rows, where it is given.
    chosen: u64,
    landmarks: u64,
    parts: MatchedColumns,
    /// Whether the rows are corrected by their scores.
    is_corrected: bool,
    /// Number of further copies of the rows.
    copies: u64,
}

/// Columns whose distribution functions are matched, and functions of them and others whose means are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MatchedColumns {
    marginals: u64,
    moments: u64,
    /// Whether scaled columns are multiples of columns.
    are_apart: bool,
    functions: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Set {
    size: u64,
    is_grouped: bool,
    /// Bytes that kept kernel rows may take.
    budget: u64,
}

impl MemoryEstimate {
    /// Estimated memory in bytes.
    fn needed(&self) -> u64 {
        self.without_kept_rows().saturating_add(self.set.map_or(0, |set| self.kept_rows(set)))
    }

    /// Largest [`RefineOptions::memory`], up to the given one, with which the run stays within `limit` bytes. An error
    /// if it does not fit without kept rows.
    fn kept_within(&self, limit: u64) -> Result<usize> {
        let needed = self.without_kept_rows();
        if needed > limit {
            return Err(Error::TooLittleMemory { needed, limit });
        }
        let budget = self.set.map_or(0, |set| set.budget).min(limit - needed);
        Ok(usize::try_from(budget).unwrap_or(usize::MAX))
    }

    fn without_kept_rows(&self) -> u64 {
        let number = self.number();
        // Panels are filled up to whole vectors of sixteen.
        let packed = self.rows.div_ceil(16).saturating_mul(16).saturating_mul(self.dim);
        let values = self.rows.saturating_mul(self.dim);
        let coordinates = values
            .saturating_mul(8)
            .saturating_mul(1 + u64::from(self.is_scaled) + self.copies)
            .saturating_add(packed.saturating_mul(number))
            // When an error is too small for single precision, its points are packed in double too.
            .saturating_add(if number == 4 { packed.saturating_mul(8) } else { 0 });
        // μ twice (known and in the pool), the sums of two herders, k(x, x) where it varies.
        let mut each = 40;
        if self.is_weighted {
            each += 32;
        }
        if let Some(set) = self.set {
            // μ, w and how often each row is chosen, the current kernel row, k(x, x), and which rows may be chosen.
            each += 8 + 8 + 4 + number + 8 + 9 + if set.is_grouped { 24 } else { 0 };
        }
        // Columns are sorted for their quantiles and distribution functions, each thread with a second buffer as long as its column, or more
        // with weights, and random rows are drawn from a list of all.
        let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let taken_out = columns::at_once(size(self.rows), size(self.dim), size(self.threads)) as u64;
        let scratch = self.threads.min(self.dim) * if self.is_weighted { 32 } else { 8 };
        each += (taken_out * 8 + scratch).max(self.threads.min(20) * 8);
        // Of few columns their values and what is reached with them, their view and that packed, of many a place and their view
        // packed; of few moments their view and that packed, of many half of that. In single precision many take less, but rows that
        // are spread too widely for it are known only later. Of each function its value too; of the sum the mean and k(x, x).
        let MatchedColumns { marginals, moments, functions, are_apart } = self.parts;
        let is_many = |columns: u64| number == 4 && self.rows.saturating_mul(columns) > FEW as u64;
        let of_marginals = if is_many(marginals) { 4 + 8 } else { 16 + 8 + number };
        // There are products of few columns alone: of many, half as many moments as are counted.
        let of_moments = if is_many(moments / 2) && are_apart { 4 } else { 8 + number };
        let parts = marginals
            .saturating_mul(of_marginals)
            .saturating_add(moments.saturating_mul(of_moments))
            .saturating_add(functions.saturating_mul(8 + 8 + number))
            .saturating_add(if self.has_parts() { 16 + 8 * 16 } else { 0 })
            .saturating_mul(self.rows);
        // The kernel matrix and its factor, and that of the joint part where there are others.
        let matrices = if self.has_parts() { 24 } else { 16 };
        let weights = self.weighed.saturating_mul(self.weighed).saturating_mul(matrices);
        // The kernel matrix, which becomes its factor, and the landmarks and control points in several forms.
        let points = if self.landmarks > 0 {
            self.landmarks.saturating_add(controls_of(size(self.rows)) as u64)
        } else {
            0
        };
        let landmarks = self.landmarks.saturating_mul(self.landmarks).saturating_mul(8);
        let landmarks = landmarks.saturating_add(points.saturating_mul(self.dim).saturating_mul(40));
        // Scores as they are given, rows and scores in standard units.
        let corrected = match self.is_corrected {
            true => values.saturating_mul(24).saturating_add(super::corrected::bytes(self.rows, self.dim)),
            false => 0,
        };
        // The chosen rows in their trace, in the report and packed, and a random subset on each thread.
        let copies = 4 + self.threads.min(20);
        let chosen = self.chosen.saturating_mul(self.dim).saturating_mul(8 * copies);
        coordinates
            .saturating_add(chosen)
            .saturating_add(corrected)
            .saturating_add(parts)
            .saturating_add(landmarks)
            .saturating_add(self.rows.saturating_mul(each))
            .saturating_add(weights)
            .saturating_add(BASE)
    }

    fn has_parts(&self) -> bool {
        let MatchedColumns { marginals, moments, functions, .. } = self.parts;
        marginals.max(moments).max(functions) > 0
    }

    fn kept_rows(&self, set: Set) -> u64 {
        let row = self.rows.saturating_mul(self.number()).max(1);
        set.size.min(set.budget / row).saturating_mul(row)
    }

    /// Bytes of a kernel value.
    fn number(&self) -> u64 {
        let is_mixed = self.precision == Precision::Mixed && self.rows >= Precision::MIXED_FROM as u64;
        if is_mixed { 4 } else { 8 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Herding or evaluating rows, scaled and in mixed precision, on two threads.
    fn of(rows: usize, dim: usize) -> MemoryEstimate {
        MemoryEstimate {
            rows: rows as u64,
            dim: dim as u64,
            is_scaled: true,
            is_weighted: false,
            precision: Precision::Mixed,
            threads: 2,
            set: None,
            weighed: 0,
            chosen: 0,
            landmarks: 0,
            parts: MatchedColumns { marginals: 0, moments: 0, functions: 0, are_apart: true },
            is_corrected: false,
            copies: 0,
        }
    }

    fn thinning(plain: MemoryEstimate, size: u64, budget: u64) -> MemoryEstimate {
        MemoryEstimate { set: Some(Set { size, is_grouped: false, budget }), ..plain }
    }

    #[test]
    fn every_part_is_counted() {
        let values = 8 * 100_000 * 10;
        let plain = of(100_000, 10);
        let small = of(1000, 10);
        // As read, scaled, packed in f32 and in f64; or as read, scaled and packed in f64.
        assert_eq!(plain.needed(), 3 * values + values / 2 + 100_000 * (40 + 64 + 16) + BASE);
        assert_eq!(small.needed(), 2 * 80_000 + 8 * 1008 * 10 + 1000 * (40 + 64 + 16) + BASE);
        assert_eq!(plain.needed() - MemoryEstimate { is_scaled: false, ..plain }.needed(), values);
        let more = |estimate: MemoryEstimate| estimate.needed() - plain.needed();
        let double = MemoryEstimate { precision: Precision::Double, ..plain };
        assert_eq!(plain.needed() - double.needed(), values / 2);
        assert_eq!(more(MemoryEstimate { weighed: 1000, ..plain }), 16_000_000);
        assert_eq!(more(MemoryEstimate { chosen: 1000, ..plain }), 6 * 8 * 1000 * 10);
        assert_eq!(more(MemoryEstimate { landmarks: 1000, ..plain }), 8_000_000 + 2000 * 10 * 40);
        assert_eq!(more(MemoryEstimate { is_weighted: true, ..plain }), 100_000 * (32 + 64 - 16));
        let parts = MatchedColumns { marginals: 10, moments: 42, functions: 3, are_apart: true };
        assert_eq!(more(MemoryEstimate { parts, ..plain }), 100_000 * (10 * 28 + 42 * 12 + 3 * 20 + 144));
        let many = MatchedColumns { marginals: 57, moments: 230, functions: 0, are_apart: true };
        assert_eq!(more(MemoryEstimate { parts: many, ..plain }), 100_000 * (57 * 12 + 230 * 4 + 144));
        let mixed = MatchedColumns { are_apart: false, ..many };
        assert_eq!(more(MemoryEstimate { parts: mixed, ..plain }), 100_000 * (57 * 12 + 230 * 12 + 144));
        // 65 features, a constant and 40 functions.
        let corrected = MemoryEstimate { is_corrected: true, ..plain };
        assert_eq!(more(corrected), 3 * values + 9 * 8 * 106 * 106);
        assert_eq!(more(MemoryEstimate { copies: 4, ..plain }), 4 * values);
        let budget = RefineOptions::default().memory as u64;
        // A hundred rows of 400,000 bytes are kept, or as many as the options allow.
        let (many, few) = (thinning(plain, 100, budget), thinning(plain, 100, 1_000_000));
        assert_eq!(many.needed() - few.needed(), 98 * 400_000);
        assert_eq!(thinning(plain, 1_000_000, budget).needed() - few.needed(), (1342 - 2) * 400_000);
    }

    #[test]
    fn kept_rows_give_way_and_only_then_is_a_run_refused() {
        let bare = thinning(of(100_000, 10), 1000, 0).needed();
        let thinning = thinning(of(100_000, 10), 1000, RefineOptions::default().memory as u64);
        assert_eq!(thinning.kept_within(1 << 40).unwrap(), 512 << 20);
        assert_eq!(thinning.kept_within(bare).unwrap(), 0);
        assert_eq!(thinning.kept_within(bare + 5).unwrap(), 5);
        assert_eq!(
            thinning.kept_within(bare - 1),
            Err(Error::TooLittleMemory { needed: bare, limit: bare - 1 })
        );
        // Herding keeps none.
        assert_eq!(of(100_000, 10).kept_within(1 << 40).unwrap(), 0);
        assert_eq!(of(usize::MAX, usize::MAX).needed(), u64::MAX);
    }
}
