//! Quantiles of numbers with or without weights.
//!
//! Every number is a step of the distribution function, and a quantile is interpolated between the middles of the steps
//! (Hazen's rule). Equal numbers are several steps at one value, so that inside of them the quantile is that value. A
//! number of weight w is w/u such steps, where u is the lower quartile of the weights: with whole-number weights, one of
//! weight 2 is two numbers.

/// Quantiles at these levels, of numbers with shares that sum to one or with equal ones. `None` if no number has
/// weight. Shares are not negative.
pub(crate) fn quantiles<const N: usize>(
    numbers: impl Iterator<Item = f64>,
    shares: Option<&[f64]>,
    levels: [f64; N],
) -> Option<[f64; N]> {
    match shares {
        None => quantiles_in_place(&mut numbers.collect::<Vec<f64>>(), None, levels),
        Some(shares) => of_weighted(numbers.zip(shares.iter().copied()), levels),
    }
}

/// The quantiles of numbers that may be put in another order for it.
pub(crate) fn quantiles_in_place<const N: usize>(
    numbers: &mut [f64],
    shares: Option<&[f64]>,
    levels: [f64; N],
) -> Option<[f64; N]> {
    if let Some(shares) = shares {
        return of_weighted(numbers.iter().copied().zip(shares.iter().copied()), levels);
    }
    if numbers.is_empty() {
        return None;
    }
    let around = levels.map(|level| around(numbers.len(), level));
    let mut wanted: Vec<usize> = around.iter().flat_map(|(below, above, _)| [*below, *above]).collect();
    wanted.sort_unstable();
    wanted.dedup();
    put_in_place(numbers, 0, &wanted);
    Some(around.map(|(below, above, part)| between(numbers[below], numbers[above], part)))
}

/// Puts the numbers at these positions there that sorting would, ascending; `first` is the position of the first number.
fn put_in_place(numbers: &mut [f64], first: usize, wanted: &[usize]) {
    let (left, right) = wanted.split_at(wanted.len() / 2);
    if let [middle, right @ ..] = right {
        let (below, _, above) = numbers.select_nth_unstable_by(middle - first, f64::total_cmp);
        put_in_place(below, first, left);
        put_in_place(above, middle + 1, right);
    }
}

/// The plain median: the number with half of the weight on either side, or the middle between two. `None` if no number
/// has weight. Unlike the quantile at 1/2, it is one of the numbers if there are ties.
pub(crate) fn median(numbers: impl Iterator<Item = f64>, shares: Option<&[f64]>) -> Option<f64> {
    let weight = |i: usize| shares.map_or(1.0, |shares| shares[i]);
    let mut steps: Vec<(f64, f64)> =
        numbers.enumerate().map(|(i, x)| (x, weight(i))).filter(|step| step.1 > 0.0).collect();
    steps.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let half = steps.iter().map(|step| step.1).sum::<f64>() / 2.0;
    let mut reached = 0.0;
    for (i, &(x, weight)) in steps.iter().enumerate() {
        reached += weight;
        // Sums of shares are right to a few units in the last place.
        if (reached - half).abs() <= 1e-12 * half {
            return Some(steps.get(i + 1).map_or(x, |next| between(x, next.0, 0.5)));
        }
        if reached > half {
            return Some(x);
        }
    }
    None
}

/// The quantile of sorted numbers of equal weight, of which the one at i has its middle at (i + 1/2)/n: the positions of
/// the numbers below and above it, and where between them it is.
fn around(count: usize, level: f64) -> (usize, usize, f64) {
    let last = count - 1;
    let wanted = (level * count as f64 - 0.5).clamp(0.0, last as f64);
    let below = wanted as usize;
    (below, (below + 1).min(last), wanted.fract())
}

/// The quantiles of numbers with shares that sum to one.
fn of_weighted<const N: usize>(
    numbers: impl Iterator<Item = (f64, f64)>,
    levels: [f64; N],
) -> Option<[f64; N]> {
    let mut steps: Vec<(f64, f64)> = numbers.filter(|step| step.1 > 0.0).collect();
    let unit = lower_quartile(steps.iter().map(|step| step.1))?;
    steps.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    steps.dedup_by(|later, first| {
        let same = later.0 == first.0;
        if same {
            first.1 += later.1;
        }
        same
    });
    // Each value with the middles of its first and of its last step.
    let mut reached = 0.0;
    let mut knots = Vec::with_capacity(2 * steps.len());
    for (value, share) in steps {
        let half = share.min(unit) / 2.0;
        knots.extend([(value, reached + half), (value, reached + share - half)]);
        reached += share;
    }
    let at = |q: f64| {
        let above = knots.partition_point(|(_, p)| *p < q);
        match (above.checked_sub(1).map(|below| knots[below]), knots.get(above)) {
            (Some((x, p)), Some((y, r))) => between(x, *y, (q - p) / (r - p)),
            (Some((x, _)), None) => x,
            (None, Some((y, _))) => *y,
            (None, None) => f64::NAN,
        }
    };
    Some(levels.map(at))
}

/// The number with a quarter of the others below it; `None` if there are none.
fn lower_quartile(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let mut numbers: Vec<f64> = numbers.collect();
    let at = numbers.len() / 4;
    (!numbers.is_empty()).then(|| *numbers.select_nth_unstable_by(at, f64::total_cmp).1)
}

/// Exact at both ends and for values of any size.
fn between(x: f64, y: f64, part: f64) -> f64 {
    if x == y { x } else { x * (1.0 - part) + y * part }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_median_is_the_middle_number_or_the_middle_of_two() {
        let of = |numbers: &[f64], shares: Option<&[f64]>| median(numbers.iter().copied(), shares);
        assert_eq!(of(&[3.0, 1.0, 2.0], None), Some(2.0));
        assert_eq!(of(&[4.0, 1.0, 2.0, 3.0], None), Some(2.5));
        assert_eq!(of(&[0.0, 0.0, 0.0, 9.0], None), Some(0.0));
        assert_eq!(of(&[1.0, 5.0, 9.0], Some(&[0.5, 0.25, 0.25])), Some(3.0));
        assert_eq!(of(&[1.0, 5.0, 9.0], Some(&[0.1, 0.0, 0.9])), Some(9.0));
        assert_eq!(of(&[1.0], Some(&[0.0])), None);
        // Thirds do not sum to one.
        assert_eq!(of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], Some(&[1.0 / 6.0; 6])), Some(3.5));
    }

    /// By the definition: as many copies as the weight says, sorted, and the middles of their steps.
    fn naive(numbers: &[(f64, usize)], level: f64) -> f64 {
        let mut copies: Vec<f64> = numbers.iter().flat_map(|&(x, count)| vec![x; count]).collect();
        copies.sort_by(f64::total_cmp);
        let middle = |i: usize| (i as f64 + 0.5) / copies.len() as f64;
        let above = (0..copies.len()).find(|&i| middle(i) >= level);
        match above {
            None => copies[copies.len() - 1],
            Some(0) => copies[0],
            Some(i) => {
                let part = (level - middle(i - 1)) / (middle(i) - middle(i - 1));
                copies[i - 1] * (1.0 - part) + copies[i] * part
            }
        }
    }

    #[test]
    fn quantiles_are_those_of_copies_and_inside_of_an_atom_its_value() {
        let levels = [0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0];
        for numbers in [
            vec![(0.0, 99), (1.0, 1)],
            vec![(0.0, 3), (1.0, 7)],
            vec![(2.0, 1), (0.5, 2), (1.5, 1), (0.25, 1), (7.0, 3), (3.0, 1)],
            vec![(1.0, 1), (2.0, 1), (4.0, 1), (8.0, 1)],
        ] {
            let copies = numbers.iter().flat_map(|&(x, count)| vec![x; count]);
            let plain = quantiles(copies, None, levels).unwrap();
            let total: usize = numbers.iter().map(|one| one.1).sum();
            for (got, level) in plain.into_iter().zip(levels) {
                assert!((got - naive(&numbers, level)).abs() < 1e-12, "{numbers:?} at {level}: {got}");
            }
            // A row each for a quarter of the copies, so that the unit is known.
            if numbers.iter().filter(|one| one.1 == 1).count() * 4 > numbers.len() {
                let shares: Vec<f64> = numbers.iter().map(|one| one.1 as f64 / total as f64).collect();
                let weighted = quantiles(numbers.iter().map(|one| one.0), Some(&shares), levels).unwrap();
                for (got, want) in weighted.into_iter().zip(plain) {
                    assert!((got - want).abs() < 1e-12, "{numbers:?}: {got} {want}");
                }
            }
        }
        let rare = (0..2000).map(|i| f64::from(u8::from(i % 100 == 0)));
        assert_eq!(quantiles(rare.clone(), None, [0.05, 0.5, 0.95]), Some([0.0; 3]));
        assert_eq!(quantiles(rare, Some(&[5e-4; 2000]), [0.05, 0.5, 0.95]), Some([0.0; 3]));
        assert_eq!(quantiles([3.0].into_iter(), Some(&[0.0]), [0.5]), None);
    }
}
