//! The largest of many scores, and the lowest index that has it.

use std::ops::Range;

use rayon::prelude::*;

use crate::chunks::{CHUNK, LOOK, is_worth_threads, over_chunks};
use crate::level::{dispatch, level};
use crate::tile;

/// Terms of a score factor·μᵢ + sumᵢ + offsetᵢ, without the running sums.
#[derive(Clone, Copy, Debug)]
pub struct Scores<'a> {
    /// The factor of μ.
    pub factor: f64,
    /// μ at every point.
    pub mu: &'a [f64],
    /// Offset of every point, if any.
    pub offsets: Option<&'a [f64]>,
}

impl Scores<'_> {
    /// The largest score and the lowest index that has it; `None` if every score is −∞.
    pub fn argmax(&self, sums: &mut [f64]) -> Option<(usize, f64)> {
        let best = over_chunks(
            sums,
            self.mu,
            1,
            LOOK,
            &|start, sums, _| dispatch!(level(), _ => self.search(start, sums, |_, _| ())),
        );
        best_of(best)
    }

    /// Calls `update(range, sums)` for block after block of the sums, which begin at point `start`, and looks for the
    /// largest score while a block is in the first-level cache. Its position is looked up once, at the end.
    #[inline(always)]
    pub(crate) fn search(
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

/// The better of two scores with their indices: the larger one, or of equal ones the one that comes first.
pub(crate) fn better(a: (usize, f64), b: (usize, f64)) -> (usize, f64) {
    if b.1 > a.1 || (b.1 == a.1 && b.0 < a.0) { b } else { a }
}

/// The best of the results of all chunks.
pub(crate) fn best_of(found: Vec<Option<(usize, f64)>>) -> Option<(usize, f64)> {
    found.into_iter().flatten().reduce(better)
}

/// The index of the largest `score(i)` for i below `len`, for scores that are not running sums; ties go to the lowest.
/// `None` if every score is `None`.
pub fn argmax_by(len: usize, score: impl Fn(usize) -> Option<f64> + Sync) -> Option<(usize, f64)> {
    let scored = |i: usize| score(i).map(|score| (i, score));
    if !is_worth_threads(len, LOOK) {
        return (0..len).filter_map(scored).reduce(better);
    }
    (0..len).into_par_iter().with_min_len(CHUNK / 4).filter_map(scored).reduce_with(better)
}
