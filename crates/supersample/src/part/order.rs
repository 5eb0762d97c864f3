//! Order of a column: its keys by the digits in which they differ, which takes a fraction of the time of comparisons.
//!
//! Of the distance of each key from the smallest, the highest 32 bits are sorted by three digits, from the lowest to the highest.
//! Keys that have all three in common are few, or equal; comparisons sort them.

/// Fewer keys are sorted by comparisons alone.
const FEW: usize = 1 << 11;

/// Where the digits start among the 32 bits, and how many values they have.
const DIGITS: [u32; 3] = [0, 11, 22];
const VALUES: usize = 1 << 11;

/// The highest 32 bits of the distance from the smallest key.
#[derive(Clone, Copy)]
struct Short {
    least: i64,
    shift: u32,
}

impl Short {
    /// `None` if comparisons sort these keys: they are few, or all the same.
    fn of(keys: &[i64]) -> Option<Short> {
        let (least, most) = keys.iter().fold((i64::MAX, i64::MIN), |(a, b), key| (a.min(*key), b.max(*key)));
        if keys.len() < FEW || least == most || u32::try_from(keys.len()).is_err() {
            return None;
        }
        let bits = u64::BITS - (most.wrapping_sub(least) as u64).leading_zeros();
        Some(Short { least, shift: bits.saturating_sub(u32::BITS) })
    }

    fn at(self, key: i64) -> u32 {
        (key.wrapping_sub(self.least) as u64 >> self.shift) as u32
    }
}

/// Sorts keys.
pub(super) fn sort(keys: &mut [i64]) {
    let Some(short) = Short::of(keys) else { return keys.sort_unstable() };
    by_digits(keys, |key| short.at(key));
    if short.shift > 0 {
        keys.chunk_by_mut(|a, b| short.at(*a) == short.at(*b)).for_each(<[i64]>::sort_unstable);
    }
}

/// Rows in the order of their keys, those of equal keys in their own.
pub(super) struct Ordered<'a> {
    keys: &'a [i64],
    /// The short form of each key, and its row in the lower half.
    rows: Vec<u64>,
}

impl<'a> Ordered<'a> {
    /// Orders rows by their keys.
    pub(super) fn new(keys: &'a [i64]) -> Ordered<'a> {
        let short = Short::of(keys);
        let of = |key: i64| short.map_or(0, |short| u64::from(short.at(key)) << u32::BITS);
        let mut rows: Vec<u64> = (0..).zip(keys).map(|(row, key)| of(*key) | row).collect();
        by_digits(&mut rows, high);
        if short.is_none_or(|short| short.shift > 0) {
            let some = rows.chunk_by_mut(|a, b| high(*a) == high(*b)).filter(|some| some.len() > 1);
            some.for_each(|some| some.sort_unstable_by_key(|row| (keys[low(*row)], *row)));
        }
        Ordered { keys, rows }
    }

    /// The rows of each key.
    pub(super) fn ties(&self) -> impl Iterator<Item = impl ExactSizeIterator<Item = usize>> {
        let keys = self.keys;
        let same = move |a: &u64, b: &u64| high(*a) == high(*b) && keys[low(*a)] == keys[low(*b)];
        self.rows.chunk_by(same).map(|ties| ties.iter().map(|row| low(*row)))
    }
}

fn high(row: u64) -> u32 {
    (row >> u32::BITS) as u32
}

fn low(row: u64) -> usize {
    row as u32 as usize
}

/// Sorts by a whole number of each item; equal ones stay in their order.
fn by_digits<T: Copy + Default>(items: &mut [T], number: impl Fn(T) -> u32) {
    let digit = |item: T, shift: u32| (number(item) >> shift) as usize % VALUES;
    let mut counts = [[0_u32; VALUES]; DIGITS.len()];
    for item in &*items {
        for (counts, shift) in counts.iter_mut().zip(DIGITS) {
            counts[digit(*item, shift)] += 1;
        }
    }
    let all = items.len() as u32;
    let mut spare = vec![T::default(); items.len()];
    let (mut from, mut to, mut is_moved) = (items, &mut spare[..], false);
    for (mut counts, shift) in counts.into_iter().zip(DIGITS) {
        // A digit that all have in common orders nothing.
        if counts.contains(&all) {
            continue;
        }
        let mut before = 0;
        for count in &mut counts {
            before += std::mem::replace(count, before);
        }
        for item in &*from {
            let next = &mut counts[digit(*item, shift)];
            to[*next as usize] = *item;
            *next += 1;
        }
        std::mem::swap(&mut from, &mut to);
        is_moved = !is_moved;
    }
    if is_moved {
        to.copy_from_slice(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::sorted::key;

    fn numbers(count: usize) -> impl Iterator<Item = u64> {
        let next =
            |x: &u64| Some(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
        std::iter::successors(Some(7), next).map(|x| x ^ (x >> 29)).take(count)
    }

    #[test]
    fn keys_and_rows_are_ordered_as_by_comparisons() {
        let unit = |x: u64| (x >> 11) as f64 / (1u64 << 53) as f64;
        let kinds: [&dyn Fn(u64) -> i64; 9] = [
            &|x| x as i64,
            &|x| key(unit(x) - 0.5),
            &|x| key(1e6 + 1e-3 * unit(x)),
            // Ties, the two zeros, and a constant.
            &|x| key((x % 7) as f64 * if x & 64 == 0 { 1.0 } else { -1.0 }),
            &|_| key(2.5),
            // Nearly all have their short form in common, or two digits of it.
            &|x| if x.is_multiple_of(1000) { key(1e300) } else { key(1.0 + 1e-9 * unit(x)) },
            &|x| (x % 2048) as i64,
            &|x| i64::MIN + ((x % 5000) << 20) as i64,
            &|x| if x & 1 == 0 { i64::MIN } else { i64::MAX - (x % 3) as i64 },
        ];
        for count in [0, 1, 2, 100, FEW - 1, FEW, 30_000] {
            for (i, kind) in kinds.iter().enumerate() {
                let keys: Vec<i64> = numbers(count).map(kind).collect();
                let mut wanted: Vec<(i64, usize)> = keys.iter().copied().zip(0..).collect();
                wanted.sort_unstable();
                let mut sorted = keys.clone();
                sort(&mut sorted);
                assert!(sorted.iter().eq(wanted.iter().map(|(key, _)| key)), "{i}: {count}");
                let ordered = Ordered::new(&keys);
                let ties: Vec<Vec<usize>> = ordered.ties().map(Iterator::collect).collect();
                let same = wanted.chunk_by(|a, b| a.0 == b.0);
                assert!(
                    ties.into_iter()
                        .eq(same.map(|ties| ties.iter().map(|(_, row)| *row).collect::<Vec<_>>())),
                    "{i}: {count}"
                );
            }
        }
    }
}
