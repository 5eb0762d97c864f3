//! Columns in ascending order, a few at a time: the distances of subsets from very many rows.
//!
//! Between two values of a subset F_S is a constant c. Over the step of a value of mass m, from F = a to F = b, the
//! integral of (c − F)² over u is m/2·((c − a)² + (c − b)²), because F jumps in the middle, and that is
//! ∫ₐᵇ (c − t)² dt + m³/6. So all steps between two values of the subset add up to a difference of cubes and to the cubes of their
//! masses: a subset needs only its positions among the sorted values, no pass over them.

use std::borrow::Cow;

use super::order;
use crate::Points;
use crate::columns::{self, for_columns};

/// Fewer values are sorted by one thread.
const SORTED_ALONE: usize = 1 << 14;

/// One column in ascending order.
pub(super) struct SortedColumn<'a> {
    keys: Cow<'a, [i64]>,
    /// The mass of all values up to each, where rows have weights.
    reached: Option<Vec<f64>>,
    /// Σ m³ over the distinct values.
    cubes: f64,
}

/// Applies `work` to each sorted column of these rows, with shares that sum to one if rows have weights. A few columns
/// are in memory at a time.
pub(super) fn for_sorted_columns<R: Send>(
    rows: &Points,
    shares: Option<&[f64]>,
    work: impl Fn(usize, &SortedColumn<'_>) -> R + Sync,
) -> Vec<R> {
    // With more threads than columns in memory, several share the work of one column.
    let threads = rayon::current_num_threads();
    let threads = threads / columns::at_once(rows.len(), rows.dim(), threads);
    for_columns(rows.as_slice(), rows.dim(), key, |index, keys| {
        if shares.is_none() {
            sort(keys, threads);
        }
        work(index, &SortedColumn::new(keys, shares))
    })
}

/// Sorts with `threads` threads.
fn sort(keys: &mut [i64], threads: usize) {
    if threads < 2 || keys.len() < SORTED_ALONE {
        return order::sort(keys);
    }
    let (lower, _, upper) = keys.select_nth_unstable(keys.len() * (threads / 2) / threads);
    rayon::join(|| sort(lower, threads / 2), || sort(upper, threads - threads / 2));
}

/// A whole number that is ordered as the value is; the two zeros have the same.
pub(super) fn key(value: f64) -> i64 {
    let bits = (value + 0.0).to_bits() as i64;
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

impl<'a> SortedColumn<'a> {
    /// Keys that are in order, or those of rows with shares.
    fn new(keys: &'a [i64], shares: Option<&[f64]>) -> SortedColumn<'a> {
        let Some(shares) = shares else {
            let count = keys.len() as f64;
            let cubes = keys.chunk_by(i64::eq).map(|ties| (ties.len() as f64 / count).powi(3)).sum();
            return SortedColumn { keys: Cow::Borrowed(keys), reached: None, cubes };
        };
        let weighted = keys.iter().copied().zip(shares.iter().copied()).filter(|(_, share)| *share > 0.0);
        let mut weighted: Vec<(i64, f64)> = weighted.collect();
        weighted.sort_unstable_by_key(|(key, _)| *key);
        let total: f64 = weighted.iter().map(|(_, share)| share).sum();
        let mass = |ties: &[(i64, f64)]| ties.iter().map(|(_, share)| share).sum::<f64>() / total;
        let cubes = weighted.chunk_by(|a, b| a.0 == b.0).map(|ties| mass(ties).powi(3)).sum();
        let mut sum = 0.0;
        let mut reached: Vec<f64> = Vec::with_capacity(weighted.len());
        for (_, share) in &weighted {
            sum += share;
            reached.push(sum);
        }
        reached.iter_mut().for_each(|reached| *reached /= sum);
        SortedColumn {
            keys: weighted.into_iter().map(|(key, _)| key).collect(),
            reached: Some(reached),
            cubes,
        }
    }

    /// Whether all rows with weight have one value.
    pub(super) fn is_constant(&self) -> bool {
        self.keys.first() == self.keys.last()
    }

    /// The expected squared distance of one independent draw.
    pub(super) fn single_draw(&self) -> f64 {
        (1.0 - self.cubes) / 6.0
    }

    /// The mass of the first values.
    fn mass(&self, values: usize) -> f64 {
        match &self.reached {
            None => values as f64 / self.keys.len() as f64,
            Some(reached) => values.checked_sub(1).map_or(0.0, |last| reached[last]),
        }
    }

    /// ∫ (F_S − F)² du of the values of a subset, with shares that sum to one.
    pub(super) fn squared_distance_of(&self, subset: impl Iterator<Item = (f64, f64)>) -> f64 {
        let mut values: Vec<(i64, f64)> = subset.map(|(value, share)| (key(value), share)).collect();
        values.sort_unstable_by_key(|(key, _)| *key);
        // F_S and F where the last value has been passed, and the sum so far.
        let (mut of_subset, mut of_all, mut squared) = (0.0, 0.0, 0.0);
        let mut cubes = self.cubes;
        let between = |of_subset: f64, from: f64, to: f64| {
            ((to - of_subset).powi(3) - (from - of_subset).powi(3)) / 3.0
        };
        for ties in values.chunk_by(|a, b| a.0 == b.0) {
            let value = ties[0].0;
            let below = self.keys.partition_point(|key| *key < value);
            let here = self.keys[below..].partition_point(|key| *key == value);
            let (from, to) = (self.mass(below), self.mass(below + here));
            squared += between(of_subset, of_all, from);
            let after = of_subset + ties.iter().map(|(_, share)| share).sum::<f64>();
            squared += 0.5 * (to - from) * ((of_subset - from).powi(2) + (after - to).powi(2));
            cubes -= (to - from).powi(3);
            (of_subset, of_all) = (after, to);
        }
        // Rounding is all that can make it negative.
        (squared + between(of_subset, of_all, 1.0) + cubes / 6.0).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_ordered_as_values_are() {
        let values = [f64::MIN, -2.0, -1.0, -f64::MIN_POSITIVE, 0.0, f64::MIN_POSITIVE, 1.0, f64::MAX];
        assert!(values.windows(2).all(|pair| key(pair[0]) < key(pair[1])));
        assert_eq!(key(-0.0), key(0.0));
    }

    #[test]
    fn several_threads_sort_as_one_does() {
        let keys: Vec<i64> = (0..100_000).map(|i: i64| (i * 7919) % 10_007 - 5000).collect();
        let mut sorted = keys.clone();
        sorted.sort_unstable();
        for threads in [0, 1, 2, 3, 7] {
            let mut keys = keys.clone();
            sort(&mut keys, threads);
            assert!(keys == sorted, "{threads}");
        }
    }

    #[test]
    fn one_draw_of_two_values_has_an_eighth() {
        let rows = Points::from_vec(vec![1.0, 1.0, -2.0, -2.0], 1).unwrap();
        let draws = for_sorted_columns(&rows, None, |_, column| column.single_draw());
        assert_eq!(draws, [0.125]);
        let weighted = for_sorted_columns(&rows, Some(&[0.5, 0.0, 0.5, 0.0]), |_, c| c.single_draw());
        assert_eq!(weighted, [0.125]);
    }
}
