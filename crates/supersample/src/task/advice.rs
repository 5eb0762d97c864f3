//! Advice: warnings and notes about a result, as data. `words` makes sentences of them.

use rayon::prelude::*;

use crate::columns::for_columns;
use crate::points::normalised;
use crate::quality::{MOST_CORRELATED, random_rows};
use crate::row_sampling::subsample;
use crate::scale::{Moments, Scale, Scaling, correlations};
use crate::{Error, Kernel, Points};

use super::matched::Aimed;
use super::rows::effective_size;
use super::stream::Gathered;
use super::{Corrected, Overlap};

/// Number of rows in the sample that the kernel is checked on.
const LOOKED_AT: usize = 400;

/// Effective sample sizes below this give a warning.
const FEW: f64 = 10.0;

/// A column has a heavy tail if its most extreme rows, one for each chosen row, have more than this part of its variance.
const HEAVY: f64 = 0.3;

/// For fewer chosen rows than this, those of one part in this number count as extreme. Of a normal column they have a seventh of the
/// variance.
const FEWEST_EXTREME: usize = 50;

/// Columns of a larger correlation than this are nearly collinear.
const COLLINEAR: f64 = 0.99;

/// Rows that correlations are computed on.
const CORRELATED_ROWS: usize = 1000;

/// Rows that one thread adds up at a time.
const ROWS: usize = 1 << 12;

/// Warning or note about a result.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Advice {
    /// The weights of the rows are so uneven that their effective sample size is small.
    UnevenWeights {
        /// Effective sample size: 1/Σ w².
        effective_size: f64,
    },
    /// Some rows have weight zero: they add nothing to the target and are not chosen.
    RowsWithoutWeight {
        /// Count.
        count: usize,
    },
    /// Some directions have no variance of their own and were left out by the whitening.
    DirectionsDropped {
        /// Count.
        dropped: usize,
        /// Number of columns.
        of: usize,
    },
    /// These columns have no median absolute deviation and were scaled to unit standard deviation.
    ScaledBySd {
        /// The columns, from 0.
        columns: Vec<usize>,
    },
    /// Every kernel value between different rows is above 0.99, so the kernel cannot tell rows apart.
    KernelNearlyConstant {
        /// The bandwidth that is too long; the first if there are several.
        bandwidth: f64,
    },
    /// Every kernel value between different rows is below 0.01, so no row has neighbours.
    KernelNearlyDiagonal {
        /// The bandwidth that is too short; the first if there are several.
        bandwidth: f64,
    },
    /// The landmarks miss part of the mean embedding, so a better choice may exist. The reported error is still
    /// correct. More landmarks, an exact embedding or a longer bandwidth help.
    LandmarksTooFew {
        /// Number of landmarks.
        landmarks: usize,
        /// Size of the missing part, ‖μ − μ̃‖.
        residual: f64,
        /// MMD of the chosen rows; the residual is not small compared with it.
        error: f64,
    },
    /// These columns have heavy tails, so that their standard deviations may be no better than those of random rows. The energy kernel
    /// and a larger weight of the moments help.
    HeavyTails {
        /// The columns, from 0.
        columns: Vec<usize>,
        /// The most extreme rows are one part in this number.
        one_in: usize,
        /// The largest part of a column's variance that they have.
        share: f64,
    },
    /// Two columns are nearly collinear, so that the kernel does not see the direction in which they differ. Whitening helps.
    NearlyCollinear {
        /// The columns of the largest correlation, from 0.
        columns: [usize; 2],
        /// Their correlation.
        correlation: f64,
    },
    /// The columns are scaled by a sample of the rows, because a pass in batches gives no medians and no whole
    /// matrices.
    ScaledBySample {
        /// Number of rows in the sample.
        rows: usize,
    },
    /// The rows of a stream have moved since its scaling and its bandwidth have settled.
    RowsMoved {
        /// The columns whose standard deviations have changed more than twofold, from 0.
        columns: Vec<usize>,
        /// The median distance then and now, if that has changed more than twofold.
        median: Option<(f64, f64)>,
    },
    /// Too many points were chosen to optimise weights; they have equal weights.
    TooManyToWeigh {
        /// Number of chosen points.
        count: usize,
        /// Largest number allowed.
        most: usize,
    },
    /// The weights could not be optimised and are equal.
    NotWeighed {
        /// Why not.
        reason: Error,
    },
    /// In these columns scores point away from the rows: over draws of a density the mean of (x − mean)·score is −1 in
    /// every column, and here it is above 1/2. The sign may be wrong, for example if the gradient of a potential was
    /// given.
    ScoresPointAway {
        /// The columns, from 0.
        columns: Vec<usize>,
    },
    /// In these columns scores are unrelated to the rows: the mean of (x − mean)·score, which is −1 over draws of a
    /// density, is near zero, and not by chance. They may be scores of other columns, or all zero.
    ScoresUnrelated {
        /// The columns, from 0.
        columns: Vec<usize>,
    },
    /// The rows are not draws of the density of the scores, as far as the kernel can tell: over pairs of different
    /// draws its mean is zero.
    NotDrawsOfDensity {
        /// The mean of the kernel over pairs of different rows, in units of its mean over pairs of a row with itself.
        mean: f64,
    },
    /// Chains differ by more than chains that have mixed, so that the chosen rows represent chains that have not.
    ChainsDisagree {
        /// The difference over what is expected of chains that have mixed.
        disagreement: f64,
        /// How many chains there are.
        chains: usize,
    },
    /// How the rows were corrected by their scores.
    Corrected(Corrected),
    /// Weights that correct the rows are so uneven that the rows are not draws of the density that the scores are of.
    DrawsNotOfDensity {
        /// The effective size of the weights as a part of that of the rows.
        effective_share: f64,
    },
    /// In these columns the mean of (x − mean)·score, which is −1 over draws of a density, is something else, and not by chance.
    ScoresDoubtful {
        /// Which, from 0.
        columns: Vec<usize>,
        /// The mean that is farthest from −1.
        mean: f64,
    },
    /// Part of the target is out of reach of the rows to choose from.
    OutOfReach(Overlap),
    /// The best weights were not found to the last digit; these are the best met.
    WeightsNotOptimal,
}

/// Advice about the rows themselves.
pub(super) fn of_rows(
    shares: Option<&[f64]>,
    without_weight: usize,
    scaling: &Scaling,
    of: usize,
) -> Vec<Advice> {
    // Few rows always have a small effective sample size.
    let uneven = shares.and_then(|shares| {
        Some(effective_size(shares)).filter(|&size| size < FEW && 2.0 * size < shares.len() as f64)
    });
    let columns = scaling.without_mad().to_vec();
    [
        uneven.map(|effective_size| Advice::UnevenWeights { effective_size }),
        (without_weight > 0).then_some(Advice::RowsWithoutWeight { count: without_weight }),
        (scaling.dropped() > 0).then(|| Advice::DirectionsDropped { dropped: scaling.dropped(), of }),
        (!columns.is_empty()).then_some(Advice::ScaledBySd { columns }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Advice about rows that are a sample of more rows.
pub(super) fn of_gathered(gathered: &Gathered, scale: Scale, scaling: &Scaling) -> Vec<Advice> {
    let size = gathered.effective_size();
    let is_uneven = size < FEW && 2.0 * size < gathered.rows() as f64;
    let is_by_sample = !scale.needs_moments_alone();
    let mut advice = of_rows(None, gathered.without_weight(), scaling, gathered.pool().dim());
    advice.extend(is_uneven.then_some(Advice::UnevenWeights { effective_size: size }));
    advice.extend(is_by_sample.then_some(Advice::ScaledBySample { rows: gathered.pool().len() }));
    advice
}

/// Advice about columns that so few chosen rows represent badly.
///
/// The moments are those of the columns, where they are known.
pub(super) fn of_columns(
    Aimed { rows, shares }: Aimed<'_>,
    moments: Option<&[Option<Moments>]>,
    chosen: Option<usize>,
    scale: Scale,
) -> Vec<Advice> {
    let heavy = chosen.filter(|chosen| 2 * chosen <= rows.len()).and_then(|chosen| {
        let one_in = chosen.max(FEWEST_EXTREME);
        let known = moments.filter(|_| shares.is_none());
        let may_be_heavy = known.map(|moments| may_be_heavy(rows, moments, one_in));
        if may_be_heavy.as_ref().is_some_and(|columns| !columns.contains(&true)) {
            return None;
        }
        let share = |j: usize, column: &mut [f64]| match &may_be_heavy {
            Some(columns) if !columns[j] => 0.0,
            _ => extreme_share(column, shares, one_in),
        };
        let shares = for_columns(rows.as_slice(), rows.dim(), |x| x, share);
        let columns: Vec<usize> = (0..shares.len()).filter(|&j| shares[j] > HEAVY).collect();
        let share = shares.into_iter().fold(0.0, f64::max);
        (!columns.is_empty()).then_some(Advice::HeavyTails { columns, one_in, share })
    });
    let collinear = if scale == Scale::Pca { None } else { nearly_collinear(rows, shares) };
    heavy.into_iter().chain(collinear).collect()
}

/// The columns whose [`extreme_share`] may be more than [`HEAVY`], of rows without weights.
///
/// For any t, the largest k of n squares have a sum of at most k·t and what the squares have above t. A pass over the rows
/// settles most columns by that, and the order of its sums matters to none.
fn may_be_heavy(rows: &Points, moments: &[Option<Moments>], one_in: usize) -> Vec<bool> {
    let (all, dim) = (rows.len() as f64, rows.dim());
    let limit = 0.5 * HEAVY * all / (rows.len() / one_in).clamp(1, rows.len()) as f64;
    // The root of a quarter of each: halved first, so that the difference of two huge numbers of opposite sign stays finite.
    let units: Vec<[f64; 2]> =
        moments.iter().map(|m| m.map_or([0.0; 2], |m| [m.mean * 0.5, 2.0 / m.sd])).collect();
    let above = |rows: &[f64]| {
        let mut sums = vec![0.0; dim];
        for row in rows.chunks_exact(dim) {
            for ((sum, x), [half, unit]) in sums.iter_mut().zip(row).zip(&units) {
                let z = (x * 0.5 - half) * unit;
                *sum += if z * z > limit { z * z - limit } else { 0.0 };
            }
        }
        sums
    };
    let some: Vec<Vec<f64>> = rows.as_slice().par_chunks(ROWS * dim).map(above).collect();
    let sum = |j: usize| some.iter().map(|sums| sums[j]).sum::<f64>();
    // With room for rounding; a sum that is too large to be a number may be heavy.
    (0..dim).map(|j| moments[j].is_some() && sum(j) / all >= 0.49 * HEAVY).collect()
}

/// The part of a column's variance that its most extreme rows have, those of one part in `one_in` of the mass; 0 for a constant column.
fn extreme_share(column: &mut [f64], shares: Option<&[f64]>, one_in: usize) -> f64 {
    let Some(Moments { mean, sd }) = Moments::of(column, 1, 0, shares) else { return 0.0 };
    // Halved first, so that the difference of two huge numbers of opposite sign stays finite.
    let square = |x: &f64| ((x * 0.5 - mean * 0.5) / sd * 2.0).powi(2);
    let descending = |a: &f64, b: &f64| b.total_cmp(a);
    match shares {
        None => {
            let count = (column.len() / one_in).clamp(1, column.len());
            column.iter_mut().for_each(|x| *x = square(x));
            let all = column.len() as f64;
            column.select_nth_unstable_by(count - 1, descending);
            column[..count].iter().sum::<f64>() / all
        }
        Some(shares) => {
            let weighed = column.iter().zip(shares).filter(|(_, share)| **share > 0.0);
            let mut squares: Vec<(f64, f64)> = weighed.map(|(x, share)| (square(x), *share)).collect();
            squares.sort_unstable_by(|a, b| descending(&a.0, &b.0));
            let mut left = 1.0 / one_in as f64;
            let mut sum = 0.0;
            for (square, share) in squares {
                let taken = share.min(left);
                sum += taken * square;
                left -= taken;
            }
            sum
        }
    }
}

/// The two columns of the largest correlation, where that is nearly one.
fn nearly_collinear(rows: &Points, shares: Option<&[f64]>) -> Option<Advice> {
    let dim = rows.dim();
    if !(2..=MOST_CORRELATED).contains(&dim) {
        return None;
    }
    let some = subsample(rows.len(), CORRELATED_ROWS.min(rows.len()));
    let shares = shares.map(|shares| some.iter().map(|&row| shares[row]).collect::<Vec<f64>>());
    // A sample of rows that all have no weight shows nothing.
    let shares = shares.map(|shares| normalised(&shares, "rows", some.len())).transpose().ok()?;
    let some = rows.select(&some).ok()?;
    let moments: Vec<_> = (0..dim).map(|j| Moments::of(some.as_slice(), dim, j, shares.as_deref())).collect();
    let found = correlations(some.as_slice(), &moments, shares.as_deref());
    let pairs =
        found.iter().enumerate().flat_map(|(a, line)| line.iter().enumerate().map(move |(b, r)| (*r, b, a)));
    let (correlation, a, b) =
        pairs.reduce(|one, other| if other.0.abs() > one.0.abs() { other } else { one })?;
    let is_whole = some.len() > 2 && correlation.abs() > COLLINEAR;
    is_whole.then_some(Advice::NearlyCollinear { columns: [a, b], correlation })
}

/// Advice about a kernel that is nearly constant or nearly diagonal: under it, every choice is as good as any other.
pub(super) fn of_kernel(kernel: &Kernel, points: &Points, shares: Option<&[f64]>) -> Option<Advice> {
    let &[bandwidth, ..] = kernel.bandwidths() else { return None };
    let rows = random_rows(points.len(), shares, LOOKED_AT.min(points.len()), 1).ok()?;
    let (mut smallest, mut largest) = (f64::INFINITY, f64::NEG_INFINITY);
    for (i, &a) in rows.iter().enumerate() {
        for &b in &rows[..i] {
            // A row drawn twice, or two equal rows, give no information about the kernel.
            if points.row(a) != points.row(b) {
                let value = kernel.value(points.row(a), points.row(b));
                (smallest, largest) = (smallest.min(value), largest.max(value));
                // Most kernels are neither, which a few pairs show.
                if smallest <= 0.99 && largest >= 0.01 {
                    return None;
                }
            }
        }
    }
    if smallest > 0.99 && smallest.is_finite() {
        return Some(Advice::KernelNearlyConstant { bandwidth });
    }
    (largest < 0.01 && largest.is_finite()).then_some(Advice::KernelNearlyDiagonal { bandwidth })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_extreme_rows_is_that_of_their_squares() {
        // Mean 0, squares 1 × 98 and 101 × 2.
        let mut column: Vec<f64> = (0..98).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        column.extend([101f64.sqrt(), -(101f64.sqrt())]);
        let all = 98.0 + 202.0;
        for (one_in, expected) in [(100, 101.0), (50, 202.0), (25, 204.0), (1, 300.0)] {
            let found = extreme_share(&mut column.clone(), None, one_in);
            assert!((found - expected / all).abs() < 1e-12, "{one_in}: {found}");
            let found = extreme_share(&mut column.clone(), Some(&[0.01; 100]), one_in);
            assert!((found - expected / all).abs() < 1e-12, "{one_in}: {found}");
        }
        assert_eq!(extreme_share(&mut [2.0; 9], None, 3), 0.0);
        let rows = |second: &dyn Fn(f64) -> f64| {
            let x = |i: u32| f64::from(i % 101) / 101.0;
            Points::from_vec((0..900).flat_map(|i| [x(i), second(x(i))]).collect(), 2).unwrap()
        };
        let of = |rows: &Points, shares: Option<&[f64]>, chosen, scale| {
            let moments = Moments::of_rows(rows, shares).unwrap();
            let found = of_columns(Aimed { rows, shares }, Some(&moments), chosen, scale);
            assert_eq!(found, of_columns(Aimed { rows, shares }, None, chosen, scale));
            found
        };
        let heavy = rows(&|x| if x > 0.98 { 9.0 } else { (9.0 * x).sin() });
        let found = of(&heavy, None, Some(60), Scale::Sd);
        let [Advice::HeavyTails { columns, one_in: 60, share }] = &found[..] else { panic!("{found:?}") };
        assert!(columns == &[1] && *share > HEAVY);
        let line = rows(&|x| 1e-3 * (9.0 * x).sin() - x);
        let found = of(&line, None, Some(60), Scale::Sd);
        let [Advice::NearlyCollinear { columns: [0, 1], correlation }] = found[..] else {
            panic!("{found:?}")
        };
        assert!(correlation < -0.99);
        assert_eq!(of(&line, None, Some(60), Scale::Pca), []);
        assert_eq!(of(&line, Some(&[1.0 / 900.0; 900]), None, Scale::Sd).len(), 1);
    }

    #[test]
    fn every_heavy_column_may_be_heavy_and_few_others_may() {
        let n = 20_000;
        // Powers of uniform numbers, from light tails to heavy ones, of any size; and a constant.
        let value = |i: usize, j: usize| match j {
            0 => 3.0,
            _ => {
                ((i * 7919 % n + 1) as f64 / n as f64).powf(-0.07 * j as f64)
                    * 10f64.powi(40 * j as i32 - 300)
            }
        };
        let rows =
            Points::from_vec((0..n).flat_map(|i| (0..15).map(move |j| value(i, j))).collect(), 15).unwrap();
        let moments = Moments::of_rows(&rows, None).unwrap();
        for one_in in [50, 500, 3000, 1 << 20] {
            let may_be = may_be_heavy(&rows, &moments, one_in);
            let share = |j: usize| {
                let mut column: Vec<f64> = rows.rows().map(|row| row[j]).collect();
                extreme_share(&mut column, None, one_in)
            };
            let shares: Vec<f64> = (0..15).map(share).collect();
            assert!((0..15).all(|j| may_be[j] || shares[j] <= HEAVY), "{shares:?}");
            assert!(
                !may_be[0] && may_be[14] && (one_in == 50 || !may_be[1]),
                "{one_in}: {may_be:?} {shares:?}"
            );
        }
    }

    #[test]
    fn kernels_that_see_nothing_are_told_apart_at_any_size() {
        let points = Points::from_vec((0..50).map(f64::from).collect(), 1).unwrap();
        for name in ["gaussian", "laplace", "matern12", "matern32", "matern52", "imq"] {
            let advice =
                |bandwidth, points| of_kernel(&format!("{name}({bandwidth})").parse().unwrap(), points, None);
            for bandwidth in [1e4, 1e7, 1e9, 1e100] {
                let constant = Some(Advice::KernelNearlyConstant { bandwidth });
                assert_eq!(advice(bandwidth, &points), constant, "{name}");
            }
            for bandwidth in [1e-3, 1e-9, 1e-100] {
                let diagonal = Some(Advice::KernelNearlyDiagonal { bandwidth });
                assert_eq!(advice(bandwidth, &points), diagonal, "{name}");
            }
            assert_eq!(advice(10.0, &points), None, "{name}");
            let tiny = Points::from_vec((0..50).map(|i| f64::from(i) * 1e-7).collect(), 1).unwrap();
            assert_eq!(advice(1.0, &tiny), Some(Advice::KernelNearlyConstant { bandwidth: 1.0 }), "{name}");
            let same = Points::from_vec(vec![1.0; 5], 1).unwrap();
            assert_eq!(advice(1.0, &same), None, "{name}");
        }
        assert_eq!(of_kernel(&Kernel::linear(), &points, None), None);
    }
}
