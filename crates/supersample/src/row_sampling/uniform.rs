//! Uniform sampling from a stream of rows of unknown length.

use std::collections::BinaryHeap;

use crate::bytes::{Reader, Writer};

/// Uniform sample of the rows so far.
///
/// Each row has a hash of its position and the seed, and the rows with the smallest hashes are kept. So one seed draws
/// the same rows for any batches. Samples of parts of the rows, each with its own seed, are [merged](Self::merge) into
/// one of all rows.
#[derive(Clone, Debug)]
pub(crate) struct UniformSample {
    seed: u64,
    capacity: usize,
    dim: usize,
    /// The place of the first row among all rows, where these are a part of them.
    first: usize,
    seen: usize,
    /// Smallest hash that was dropped: all rows with smaller hashes are kept.
    bound: Option<u64>,
    /// The kept rows, that of the largest number on top.
    kept: BinaryHeap<Kept>,
    values: Vec<f64>,
    weights: Vec<f64>,
}

/// A kept row: its hash first, because the heap orders by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Kept {
    number: u64,
    row: usize,
    /// Where its values are.
    slot: usize,
}

/// Drawn rows, in the order of the stream.
#[derive(Debug, PartialEq)]
pub(crate) struct Drawn {
    /// Positions of the rows, from 0.
    pub(crate) rows: Vec<usize>,
    pub(crate) values: Vec<f64>,
    /// Empty without weights.
    pub(crate) weights: Vec<f64>,
}

impl UniformSample {
    /// At most `capacity` rows of `dim` numbers.
    pub(crate) fn new(capacity: usize, dim: usize, seed: u64) -> UniformSample {
        let (values, weights) = (Vec::new(), Vec::new());
        UniformSample {
            seed: stirred(seed),
            capacity,
            dim,
            first: 0,
            seen: 0,
            bound: None,
            kept: BinaryHeap::new(),
            values,
            weights,
        }
    }

    /// Sets the position of the first row of this part among all rows. Merged with the other parts, the sample is then
    /// that of all rows.
    pub(crate) fn starting_at(self, first: usize) -> UniformSample {
        UniformSample { first, ..self }
    }

    /// Adds rows, all with weights or all without.
    pub(crate) fn see(&mut self, values: &[f64], weights: Option<&[f64]>) {
        for (i, row) in values.chunks_exact(self.dim).enumerate() {
            let (number, place) = (self.number(self.first + self.seen), self.seen);
            self.seen += 1;
            if self.bound.is_some_and(|bound| number >= bound) {
                continue;
            }
            let weight = weights.map(|weights| weights[i]);
            if self.kept.len() < self.capacity {
                self.kept.push(Kept { number, row: place, slot: self.kept.len() });
                self.values.extend_from_slice(row);
                self.weights.extend(weight);
                continue;
            }
            let Some(mut top) = self.kept.peek_mut().filter(|top| number < top.number) else {
                self.bound = Some(number);
                continue;
            };
            self.bound = Some(top.number);
            let slot = top.slot;
            *top = Kept { number, row: place, slot };
            self.values[slot * self.dim..(slot + 1) * self.dim].copy_from_slice(row);
            if let Some(weight) = weight {
                self.weights[slot] = weight;
            }
        }
    }

    /// Adds the sample of other rows, which come after these, so that the result is a sample of all. Its size is
    /// limited by `capacity` and by a part that kept few of many rows.
    pub(crate) fn merge(&mut self, other: UniformSample, capacity: usize) {
        let dim = self.dim;
        let bound = self.bound.into_iter().chain(other.bound).min();
        let own = std::mem::take(&mut self.kept).into_iter().map(|kept| (kept, false));
        let others = other.kept.into_iter().map(|kept| (kept, true));
        let mut all: Vec<(Kept, bool)> =
            own.chain(others).filter(|(kept, _)| bound.is_none_or(|bound| kept.number < bound)).collect();
        all.sort_unstable_by_key(|(kept, is_other)| (kept.number, *is_other));
        self.bound = all.get(capacity).map(|(kept, _)| kept.number).or(bound);
        all.truncate(capacity);
        let (mut values, mut weights) = (Vec::with_capacity(all.len() * dim), Vec::new());
        for (slot, (kept, is_other)) in all.into_iter().enumerate() {
            let (from, of, seen) = match is_other {
                true => (&other.values, &other.weights, self.seen),
                false => (&self.values, &self.weights, 0),
            };
            values.extend_from_slice(&from[kept.slot * dim..(kept.slot + 1) * dim]);
            weights.extend(of.get(kept.slot));
            self.kept.push(Kept { number: kept.number, row: seen + kept.row, slot });
        }
        (self.values, self.weights, self.capacity) = (values, weights, capacity);
        self.seen += other.seen;
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        let (count, words) =
            (self.kept.len() as u64, [self.seed, self.capacity as u64, self.first as u64, self.seen as u64]);
        words.into_iter().for_each(|word| writer.word(word));
        writer.word(u64::from(self.bound.is_some()));
        writer.word(self.bound.unwrap_or(0));
        writer.word(count);
        // By slots, because the order of the heap is arbitrary.
        let mut kept: Vec<&Kept> = self.kept.iter().collect();
        kept.sort_unstable_by_key(|kept| kept.slot);
        kept.iter().for_each(|kept| {
            writer.word(kept.number);
            writer.word(kept.row as u64);
        });
        writer.numbers(&self.values);
        writer.word(u64::from(!self.weights.is_empty()));
        writer.numbers(&self.weights);
    }

    /// Reads the output of [`write`](Self::write); `None` for other bytes.
    pub(crate) fn read(reader: &mut Reader, dim: usize) -> Option<UniformSample> {
        let (seed, capacity) = (reader.word()?, reader.word()? as usize);
        let (first, seen) = (reader.word()? as usize, reader.word()? as usize);
        let (is_bound, bound, count) = (reader.word()? == 1, reader.word()?, reader.count()?);
        let mut kept = BinaryHeap::with_capacity(count);
        for slot in 0..count {
            let (number, row) = (reader.word()?, reader.word()? as usize);
            kept.push(Kept { number, row, slot });
        }
        let values = reader.numbers(count.checked_mul(dim)?)?;
        let is_weighted = reader.word()? == 1;
        let weights = reader.numbers(if is_weighted { count } else { 0 })?;
        let bound = is_bound.then_some(bound);
        Some(UniformSample { seed, capacity, dim, first, seen, bound, kept, values, weights })
    }

    /// Number of rows so far.
    pub(crate) fn seen(&self) -> usize {
        self.seen
    }

    /// Number of kept rows.
    pub(crate) fn drawn(&self) -> usize {
        self.kept.len()
    }

    /// Returns the drawn rows, without a second copy.
    pub(crate) fn finish(self) -> Drawn {
        let UniformSample { dim, kept, mut values, mut weights, .. } = self;
        let mut order: Vec<(usize, usize)> = kept.into_iter().map(|kept| (kept.row, kept.slot)).collect();
        order.sort_unstable();
        let rows = order.iter().map(|&(row, _)| row).collect();
        // Each cycle of the permutation is followed once; a finished position holds its own number.
        let mut from: Vec<usize> = order.into_iter().map(|(_, slot)| slot).collect();
        for start in 0..from.len() {
            let mut at = start;
            while from[at] != start {
                let next = from[at];
                swap_rows(&mut values, dim, at, next);
                if !weights.is_empty() {
                    weights.swap(at, next);
                }
                from[at] = at;
                at = next;
            }
            from[at] = at;
        }
        Drawn { rows, values, weights }
    }

    /// No two rows have the same number: each step below can be undone.
    fn number(&self, row: usize) -> u64 {
        stirred(self.seed.wrapping_add((row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }
}

fn swap_rows(values: &mut [f64], dim: usize, a: usize, b: usize) {
    let (low, high) = (a.min(b), a.max(b));
    if low < high {
        let (head, tail) = values.split_at_mut(high * dim);
        head[low * dim..(low + 1) * dim].swap_with_slice(&mut tail[..dim]);
    }
}

/// The last step of SplitMix64: neighbouring inputs give unrelated outputs.
pub(super) fn stirred(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Uniform number above 0 and up to 1.
pub(super) fn part_of_one(word: u64) -> f64 {
    ((word >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows (i, 2i) of weight i/2.
    fn drawn(n: usize, capacity: usize, seed: u64, batch: usize, is_weighted: bool) -> Drawn {
        let mut sample = UniformSample::new(capacity, 2, seed);
        let rows: Vec<usize> = (0..n).collect();
        for batch in rows.chunks(batch) {
            let values: Vec<f64> = batch.iter().flat_map(|&i| [i as f64, 2.0 * i as f64]).collect();
            let weights: Vec<f64> = batch.iter().map(|&i| 0.5 * i as f64).collect();
            sample.see(&values, is_weighted.then_some(&weights));
        }
        assert_eq!(sample.seen(), n);
        sample.finish()
    }

    #[test]
    fn a_seed_draws_the_same_rows_however_they_are_cut() {
        let whole = drawn(5000, 300, 7, 5000, true);
        assert!(whole.rows.len() == 300 && whole.rows.is_sorted() && whole.rows[299] < 5000);
        for (i, &row) in whole.rows.iter().enumerate() {
            assert_eq!(whole.values[2 * i..2 * i + 2], [row as f64, 2.0 * row as f64]);
            assert_eq!(whole.weights[i], 0.5 * row as f64);
        }
        for batch in [1, 3, 64, 4999] {
            assert_eq!(drawn(5000, 300, 7, batch, true), whole);
        }
        let plain = drawn(5000, 300, 7, 11, false);
        assert_eq!((plain.rows, plain.values, plain.weights), (whole.rows.clone(), whole.values, vec![]));
        assert_ne!(drawn(5000, 300, 8, 5000, true).rows, whole.rows);
    }

    #[test]
    fn all_rows_are_drawn_where_there_is_room() {
        for capacity in [20, 21, 1000] {
            assert_eq!(drawn(20, capacity, 1, 6, true).rows, (0..20).collect::<Vec<_>>());
        }
        assert_eq!(drawn(20, 0, 1, 6, false).rows, []);
    }

    fn part(rows: std::ops::Range<usize>, capacity: usize, seed: u64) -> UniformSample {
        let mut sample = UniformSample::new(capacity, 2, seed);
        for i in rows {
            sample.see(&[i as f64, 2.0 * i as f64], Some(&[0.5 * i as f64]));
        }
        sample
    }

    #[test]
    fn parts_that_know_where_they_begin_draw_what_one_sample_draws() {
        let whole = part(0..2000, 300, 5).finish();
        let mut all = part(0..900, 300, 5);
        for rows in [900..900, 900..1000, 1000..2000] {
            let mut sample = UniformSample::new(300, 2, 5).starting_at(rows.start);
            for i in rows {
                sample.see(&[i as f64, 2.0 * i as f64], Some(&[0.5 * i as f64]));
            }
            all.merge(sample, 300);
        }
        assert_eq!(all.finish(), whole);
    }

    #[test]
    fn parts_that_are_merged_draw_the_smallest_numbers_of_all_that_they_know_of() {
        // Each part as it is where it keeps all of its rows, for their numbers.
        let parts = [0..900, 900..900, 900..1000, 1000..2000];
        let mut numbers: Vec<(u64, usize)> = Vec::new();
        for (i, rows) in parts.iter().enumerate() {
            let whole = part(rows.clone(), 5000, i as u64);
            numbers.extend(whole.kept.iter().map(|kept| (kept.number, rows.start + kept.row)));
        }
        numbers.sort_unstable();
        for (each, wanted) in [(5000, 300), (300, 300), (200, 300), (20, 300)] {
            let merged = |order: &[usize]| {
                let mut samples: Vec<Option<UniformSample>> = parts
                    .iter()
                    .enumerate()
                    .map(|(i, rows)| Some(part(rows.clone(), each, i as u64)))
                    .collect();
                // Through bytes on the way.
                let mut next = |i: usize| {
                    let mut writer = Writer::new(b"supersample ts1\n");
                    samples[i].take().unwrap().write(&mut writer);
                    let bytes = writer.finish();
                    let mut reader = Reader::new(&bytes, b"supersample ts1\n").unwrap();
                    UniformSample::read(&mut reader, 2).unwrap()
                };
                let (mut left, mut right) = (next(order[0]), next(order[2]));
                left.merge(next(order[1]), wanted);
                right.merge(next(order[3]), wanted);
                left.merge(right, wanted);
                assert_eq!(left.seen(), 2000);
                left.finish()
            };
            let found = merged(&[0, 1, 2, 3]);
            let mut expected: Vec<usize> = numbers[..found.rows.len()].iter().map(|&(_, row)| row).collect();
            expected.sort_unstable();
            assert_eq!(found.rows, expected);
            for (i, &row) in found.rows.iter().enumerate() {
                assert_eq!(found.values[2 * i..2 * i + 2], [row as f64, 2.0 * row as f64]);
                assert_eq!(found.weights[i], 0.5 * row as f64);
            }
            // A part that keeps 20 of 1000 rows knows of about 40 of all 2000.
            match each {
                20 => assert!((20..70).contains(&found.rows.len()), "{}", found.rows.len()),
                _ => assert_eq!(found.rows.len(), 300),
            }
        }
    }

    #[test]
    fn every_row_and_every_pair_is_as_likely_as_any_other() {
        let (n, capacity, seeds) = (12, 4, 20_000);
        let (mut rows, mut pairs) = (vec![0.0; n], vec![0.0; n * n]);
        for seed in 0..seeds {
            let found = drawn(n, capacity, seed, 5, false).rows;
            for (i, &a) in found.iter().enumerate() {
                rows[a] += 1.0;
                found[..i].iter().for_each(|&b| pairs[a * n + b] += 1.0);
            }
        }
        // Five standard deviations of the count.
        let near = |count: f64, chance: f64| {
            let expected = seeds as f64 * chance;
            (count - expected).abs() < 5.0 * (expected * (1.0 - chance)).sqrt()
        };
        assert!(rows.iter().all(|&count| near(count, 4.0 / 12.0)), "{rows:?}");
        for a in 0..n {
            for b in 0..a {
                assert!(near(pairs[a * n + b], 4.0 * 3.0 / (12.0 * 11.0)), "{a} {b}");
            }
        }
    }
}
