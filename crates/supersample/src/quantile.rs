//! Quantiles of numbers with or without weights.
//!
//! A quantile is interpolated between the middles of the steps of the distribution function, so that a number of weight
//! 2 counts as two numbers.

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
    numbers.sort_unstable_by(f64::total_cmp);
    (!numbers.is_empty()).then(|| levels.map(|level| of_sorted(numbers, level)))
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

/// The quantile of sorted numbers of equal weight: equal ones are one step, whose middle counts.
fn of_sorted(sorted: &[f64], level: f64) -> f64 {
    let wanted = level * sorted.len() as f64;
    let value = sorted[(wanted as usize).min(sorted.len() - 1)];
    let below = |value: f64| sorted.partition_point(|x| *x < value);
    let up_to = |value: f64| sorted.partition_point(|x| *x <= value);
    let (start, end) = (below(value), up_to(value));
    let middle = |start: usize, end: usize| (start + end) as f64 / 2.0;
    let own = middle(start, end);
    if own < wanted && end < sorted.len() {
        let next = sorted[end];
        return between(value, next, (wanted - own) / (middle(end, up_to(next)) - own));
    }
    if own > wanted && start > 0 {
        let last = sorted[start - 1];
        let before = middle(below(last), start);
        return between(last, value, (wanted - before) / (own - before));
    }
    value
}

/// The quantiles of numbers with shares that sum to one.
fn of_weighted<const N: usize>(
    numbers: impl Iterator<Item = (f64, f64)>,
    levels: [f64; N],
) -> Option<[f64; N]> {
    let mut steps: Vec<(f64, f64)> = numbers.filter(|step| step.1 > 0.0).collect();
    steps.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    steps.dedup_by(|later, first| {
        let same = later.0 == first.0;
        if same {
            first.1 += later.1;
        }
        same
    });
    // Each value with the middle of its step of the distribution function.
    let mut reached = 0.0;
    for (_, weight) in &mut steps {
        let middle = reached + *weight / 2.0;
        reached += *weight;
        *weight = middle;
    }
    let at = |q: f64| {
        let above = steps.partition_point(|(_, middle)| *middle < q);
        match (above.checked_sub(1).map(|below| steps[below]), steps.get(above)) {
            (Some((x, p)), Some((y, r))) => between(x, *y, (q - p) / (r - p)),
            (Some((x, _)), None) => x,
            (None, Some((y, _))) => *y,
            (None, None) => f64::NAN,
        }
    };
    (!steps.is_empty()).then(|| levels.map(at))
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
}
