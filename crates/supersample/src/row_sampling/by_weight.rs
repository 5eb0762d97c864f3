//! Weighted sampling from a stream of rows, with repeats; the sum of the weights is not known beforehand.

use super::uniform::{part_of_one, stirred};
use crate::bytes::{Reader, Writer};

/// Independent draws from the rows so far, in proportion to their weights.
///
/// Each draw is replaced by a new row with a probability equal to that row's share of the weight so far. The random
/// numbers depend on the seed and the number of the row, not on how rows are cut into batches.
#[derive(Clone, Debug)]
pub(crate) struct WeightedDraws {
    seed: u64,
    count: usize,
    dim: usize,
    seen: u64,
    values: Vec<f64>,
}

impl WeightedDraws {
    pub(crate) fn new(count: usize, dim: usize, seed: u64) -> WeightedDraws {
        WeightedDraws { seed: stirred(seed), count, dim, seen: 0, values: Vec::new() }
    }

    /// Adds a row with this share of the weight of all rows so far.
    pub(crate) fn see(&mut self, row: &[f64], share: f64) {
        let mut state = self.seed.wrapping_add(self.seen.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        self.seen += 1;
        if share <= 0.0 {
            return;
        }
        if self.values.is_empty() {
            self.values = row.repeat(self.count);
            return;
        }
        // Number of draws until the next replaced one: a geometric number each time.
        let kept = (-share).ln_1p();
        let mut at = 0.0;
        loop {
            state = stirred(state.wrapping_add(0xd1b5_4a32_d192_ed03));
            at += (part_of_one(state).ln() / kept).floor();
            // Beyond the last draw, or NaN if the share is too small.
            if at >= self.count as f64 || at.is_nan() {
                return;
            }
            let slot = at as usize * self.dim;
            self.values[slot..slot + self.dim].copy_from_slice(row);
            at += 1.0;
        }
    }

    /// Adds the draws from other rows, which come after these and have this share of the weight of both.
    pub(crate) fn merge(&mut self, other: WeightedDraws, share: f64) {
        self.seen += other.seen;
        if self.values.is_empty() {
            self.values = other.values;
            return;
        }
        let start = self.seed.wrapping_add(self.seen.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let slots = self.values.chunks_exact_mut(self.dim).zip(other.values.chunks_exact(self.dim));
        for (slot, (own, others)) in slots.enumerate() {
            let state = stirred(start ^ stirred(slot as u64 + 1));
            if part_of_one(state) <= share {
                own.copy_from_slice(others);
            }
        }
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        let words = [self.seed, self.count as u64, self.seen, self.values.len() as u64];
        words.into_iter().for_each(|word| writer.word(word));
        writer.numbers(&self.values);
    }

    /// Reads the output of [`write`](Self::write); `None` for other bytes.
    pub(crate) fn read(reader: &mut Reader, dim: usize) -> Option<WeightedDraws> {
        let (seed, count, seen, numbers) =
            (reader.word()?, reader.word()? as usize, reader.word()?, reader.count()?);
        let is_sound = numbers == 0 || Some(numbers) == count.checked_mul(dim);
        let values = reader.numbers(numbers)?;
        is_sound.then_some(WeightedDraws { seed, count, dim, seen, values })
    }

    /// The drawn rows; none if no row had a weight.
    pub(crate) fn finish(self) -> Vec<f64> {
        self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_drawn_as_often_as_their_weights_say() {
        let weights = [0.0, 3.0, 1.0, 0.0, 0.5, 5.5];
        let (count, seeds) = (50, 2000);
        let (mut times, mut pairs) = ([0.0; 6], 0.0);
        for seed in 0..seeds {
            let (mut draws, mut total) = (WeightedDraws::new(count, 2, seed), 0.0);
            for (i, weight) in weights.iter().enumerate() {
                total += weight;
                draws.see(&[i as f64, -(i as f64)], if total > 0.0 { weight / total } else { 0.0 });
            }
            let drawn = draws.finish();
            assert_eq!(drawn.len(), 2 * count);
            drawn.chunks(2).for_each(|row| times[row[0] as usize] += 1.0);
            assert!(drawn.chunks(2).all(|row| row[1] == -row[0]));
            pairs += f64::from(u8::from(drawn[0] == 5.0 && drawn[2] == 5.0));
        }
        let all = (count as u64 * seeds) as f64;
        for (found, weight) in times.iter().zip(weights) {
            let chance = weight / 10.0;
            let sd = (all * chance * (1.0 - chance)).sqrt();
            assert!((found - all * chance).abs() <= 5.0 * sd, "{times:?}");
        }
        // Two draws are independent.
        let chance: f64 = 0.55 * 0.55;
        let sd = (seeds as f64 * chance * (1.0 - chance)).sqrt();
        assert!((pairs - seeds as f64 * chance).abs() < 5.0 * sd, "{pairs}");
    }

    #[test]
    fn draws_of_parts_are_merged_by_the_weights_of_the_parts() {
        let (weights, parts) = ([2.0, 1.0, 0.0, 0.5, 1.5, 5.0], [0..2, 2..3, 3..6]);
        let (count, seeds) = (50, 1000_u64);
        let mut times = [0.0; 6];
        for seed in 0..seeds {
            let (mut all, mut total) = (WeightedDraws::new(count, 1, seed), 0.0);
            for (i, rows) in parts.iter().enumerate() {
                let mut part = WeightedDraws::new(count, 1, 7919 * seed + i as u64 + 100_000);
                let mut own = 0.0;
                for row in rows.clone() {
                    own += weights[row];
                    part.see(&[row as f64], if own > 0.0 { weights[row] / own } else { 0.0 });
                }
                total += own;
                let mut writer = Writer::new(b"supersample ts1\n");
                part.write(&mut writer);
                let bytes = writer.finish();
                let mut reader = Reader::new(&bytes, b"supersample ts1\n").unwrap();
                all.merge(WeightedDraws::read(&mut reader, 1).unwrap(), own / total);
            }
            all.finish().iter().for_each(|&row| times[row as usize] += 1.0);
        }
        let all = (count as u64 * seeds) as f64;
        for (found, weight) in times.iter().zip(weights) {
            let chance = weight / 10.0;
            let sd = (all * chance * (1.0 - chance)).sqrt();
            assert!((found - all * chance).abs() <= 5.0 * sd, "{times:?}");
        }
    }

    #[test]
    fn nothing_is_drawn_from_rows_without_weight() {
        let mut draws = WeightedDraws::new(3, 1, 0);
        draws.see(&[1.0], 0.0);
        assert_eq!(draws.finish(), []);
        let mut draws = WeightedDraws::new(3, 1, 0);
        draws.see(&[1.0], 1.0);
        draws.see(&[2.0], 1.0);
        assert_eq!(draws.finish(), [2.0; 3]);
    }
}
