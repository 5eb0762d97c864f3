//! Rounds of tiles: every pair of bands is visited once, in rounds in which no band appears twice.
//!
//! The tiles of one round touch disjoint rows, so they run on any number of threads without locks, and since rounds
//! follow each other in a fixed order every row receives its sums in a fixed order: the result does not depend on the
//! number of threads, and no thread needs a buffer of its own.

/// The rounds of an all-play-all tournament between `bands` players (the circle method): one stays, the others rotate.
pub(crate) fn rounds(bands: usize) -> impl Iterator<Item = Vec<(usize, usize)>> {
    // With an odd number of players one pauses in each round; the pausing place is the number `bands` itself.
    let seats = bands.next_multiple_of(2);
    (0..seats.saturating_sub(1)).map(move |round| {
        let rotated = |i: usize| (round + i) % (seats - 1);
        let first = (seats - 1, rotated(0));
        let others = (1..seats / 2).map(|i| (rotated(i), rotated(seats - 1 - i)));
        let pairs = std::iter::once(first).chain(others);
        let pairs = pairs.filter(|&(a, b)| a < bands && b < bands);
        pairs.map(|(a, b)| (a.min(b), a.max(b))).collect()
    })
}
