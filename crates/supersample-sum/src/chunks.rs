//! Passes over many points in chunks for the threads: when that pays, and how results come back in order.
//!
//! The work on a chunk is behind a reference to `dyn Fn`: one call for thousands of points costs nothing, and the code
//! that shares them between threads is compiled once, not for each kernel, precision and task. That halves the crate.

use std::ops::Range;

use rayon::prelude::*;

/// Largest number of points of one pass in a chunk.
pub(crate) const CHUNK: usize = 8192;
/// Smallest number of points of one pass in a chunk: whole panels, and enough of them.
const SMALLEST_CHUNK: usize = 128;
/// Steps that take as long as another thread takes to wake up.
const WAKING: usize = 1 << 17;

/// The cost of a kernel value, in the unit of [`is_worth_threads`], where the coordinates are few or in the cache.
pub(crate) const KERNEL_VALUE: usize = 8;
/// The cost of a kernel value in a row, for which all coordinates come from memory.
pub(crate) fn row_value(dim: usize) -> usize {
    KERNEL_VALUE + dim
}
/// The cost of looking at a score.
pub(crate) const LOOK: usize = 8;
/// The cost of adding a number to another.
pub(crate) const ADDITION: usize = 4;

/// Whether `steps` steps of this cost take longer than another thread takes to wake up.
pub(crate) fn is_worth_threads(steps: usize, cost: usize) -> bool {
    steps * cost >= WAKING
}

/// Number of points of this cost in a chunk: fewer if each has many coordinates, so that a pool of a few thousand wide
/// rows keeps all threads busy.
fn chunk_of(cost: usize) -> usize {
    (WAKING / cost).clamp(SMALLEST_CHUNK, CHUNK).next_multiple_of(SMALLEST_CHUNK)
}

/// Work on a chunk that begins at a point, with its own numbers and others.
type OnChunk<'a, A, B, R> = &'a (dyn Fn(usize, &mut [A], &[B]) -> R + Sync);

/// Work on a chunk that has two arrays of its own.
type OnPairedChunk<'a, A, B, C, R> = &'a (dyn Fn(usize, &mut [A], &mut [B], &[C]) -> R + Sync);

/// Calls `work(first point, own, other)` for chunks of two arrays that hold one and `wide` numbers for each point; the
/// second may have more at its end.
pub(crate) fn over_chunks<A: Send, B: Sync, R: Send>(
    own: &mut [A],
    other: &[B],
    wide: usize,
    cost: usize,
    work: OnChunk<'_, A, B, R>,
) -> Vec<R> {
    assert!(other.len() >= own.len() * wide);
    if !is_worth_threads(own.len(), cost) {
        return vec![work(0, own, other)];
    }
    let chunk = chunk_of(cost);
    let chunks = own.par_chunks_mut(chunk).zip(other.par_chunks(chunk * wide)).enumerate();
    chunks.map(|(i, (own, other))| work(i * chunk, own, other)).collect()
}

/// Calls `work(first point, own, paired, other)` for chunks of three arrays, of which the first two hold one number for each
/// point and the third `wide`; the third may have more at its end.
pub(crate) fn over_paired_chunks<A: Send, B: Send, C: Sync, R: Send>(
    own: &mut [A],
    paired: &mut [B],
    other: &[C],
    wide: usize,
    cost: usize,
    work: OnPairedChunk<'_, A, B, C, R>,
) -> Vec<R> {
    assert!(own.len() == paired.len() && other.len() >= own.len() * wide);
    if !is_worth_threads(own.len(), cost) {
        return vec![work(0, own, paired, other)];
    }
    let chunk = chunk_of(cost);
    let pairs = own.par_chunks_mut(chunk).zip(paired.par_chunks_mut(chunk));
    let chunks = pairs.zip(other.par_chunks(chunk * wide)).enumerate();
    chunks.map(|(i, ((own, paired), other))| work(i * chunk, own, paired, other)).collect()
}

/// Calls `look` for ranges of `len` points that are only read.
pub(crate) fn over_ranges<R: Send>(len: usize, look: &(dyn Fn(Range<usize>) -> R + Sync)) -> Vec<R> {
    if !is_worth_threads(len, LOOK) {
        return vec![look(0..len)];
    }
    let chunks = (0..len.div_ceil(CHUNK)).into_par_iter();
    chunks.map(|i| look(i * CHUNK..((i + 1) * CHUNK).min(len))).collect()
}
