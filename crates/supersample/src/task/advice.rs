//! Advice: what a caller should know before believing a result, as data that front ends put into words.

use crate::quality::random_rows;
use crate::scale::{Scale, Scaling};
use crate::{Error, Kernel, Points};

use super::Corrected;
use super::rows::effective_size;
use super::stream::Gathered;

/// How many rows stand for all when the kernel is looked at.
const LOOKED_AT: usize = 400;

/// A smaller effective sample size of the weights is reported.
const FEW: f64 = 10.0;

/// What a caller should know before believing a result.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Advice {
    /// The weights of the rows are so uneven that their effective sample size is small.
    UnevenWeights {
        /// How many: 1/Σ w².
        effective_size: f64,
    },
    /// Some rows have no weight: they are part of the target, adding nothing to it, and are not chosen.
    RowsWithoutWeight {
        /// How many.
        count: usize,
    },
    /// Some directions have no variance of their own and were left out by the whitening.
    DirectionsDropped {
        /// How many.
        dropped: usize,
        /// Of how many columns.
        of: usize,
    },
    /// These columns have no median absolute deviation and were scaled to unit standard deviation.
    ScaledBySd {
        /// Which, from 0.
        columns: Vec<usize>,
    },
    /// Every value of the kernel between different rows is above 0.99, so all rows look alike to it.
    KernelNearlyConstant {
        /// The bandwidth that is too long, the first where there are several.
        bandwidth: f64,
    },
    /// Every value of the kernel between different rows is below 0.01, so it sees no neighbours.
    KernelNearlyDiagonal {
        /// The bandwidth that is too short, the first where there are several.
        bandwidth: f64,
    },
    /// The landmarks do not see all of the mean embedding that the chosen rows see: another choice may be better. The error
    /// that is reported is true all the same. More landmarks help, an exact embedding, or a longer bandwidth.
    LandmarksTooFew {
        /// How many there were.
        landmarks: usize,
        /// How much of the mean embedding they do not see, ‖μ − μ̃‖.
        residual: f64,
        /// The MMD of the chosen rows, beside which that is not small.
        error: f64,
    },
    /// The columns are scaled by what a sample of the rows says, because medians and whole matrices are not taken in passing.
    ScaledBySample {
        /// How many rows the sample has.
        rows: usize,
    },
    /// More points were chosen than weights are found for; they have equal ones.
    TooManyToWeigh {
        /// How many were chosen.
        count: usize,
        /// How many may be.
        most: usize,
    },
    /// No weights were found, so they are equal.
    NotWeighed {
        /// Why not.
        reason: Error,
    },
    /// In these columns scores point away from where the rows are: over draws of a density the mean of (x − mean)·score is −1 in every
    /// column, and here it is above 1/2. The sign may be wrong, as that of the gradient of a potential is.
    ScoresPointAway {
        /// Which, from 0.
        columns: Vec<usize>,
    },
    /// In these columns scores say next to nothing of where the rows are: the mean of (x − mean)·score, which is −1 over draws of a
    /// density, is near zero, and not by chance. They may be scores of other columns, or all zero.
    ScoresUnrelated {
        /// Which, from 0.
        columns: Vec<usize>,
    },
    /// The rows are not draws of the density that the scores are of, as far as the kernel sees: over pairs of different draws its mean is
    /// zero.
    NotDrawsOfDensity {
        /// The mean of the kernel over pairs of different rows, in units of its mean over pairs of a row with itself.
        mean: f64,
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
    /// The best weights were not found to the last digit; these are the best met.
    WeightsNotOptimal,
}

/// What there is to say of the rows themselves.
pub(super) fn of_rows(
    shares: Option<&[f64]>,
    without_weight: usize,
    scaling: &Scaling,
    of: usize,
) -> Vec<Advice> {
    // Few rows have a small effective sample size whatever they weigh.
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

/// What there is to say of rows that are a sample of more.
pub(super) fn of_gathered(gathered: &Gathered, scale: Scale, scaling: &Scaling) -> Vec<Advice> {
    let size = gathered.effective_size();
    let is_uneven = size < FEW && 2.0 * size < gathered.rows() as f64;
    let is_by_sample = !scale.needs_moments_alone();
    let mut advice = of_rows(None, gathered.without_weight(), scaling, gathered.pool().dim());
    advice.extend(is_uneven.then_some(Advice::UnevenWeights { effective_size: size }));
    advice.extend(is_by_sample.then_some(Advice::ScaledBySample { rows: gathered.pool().len() }));
    advice
}

/// A kernel that sees no differences, or nothing but differences, makes every choice as good as any other.
pub(super) fn of_kernel(kernel: &Kernel, points: &Points, shares: Option<&[f64]>) -> Option<Advice> {
    let &[bandwidth, ..] = kernel.bandwidths() else { return None };
    let rows = random_rows(points.len(), shares, LOOKED_AT.min(points.len()), 1).ok()?;
    let (mut smallest, mut largest) = (f64::INFINITY, f64::NEG_INFINITY);
    for (i, &a) in rows.iter().enumerate() {
        for &b in &rows[..i] {
            // A row drawn twice, or two rows that are the same, say nothing of the kernel.
            if points.row(a) != points.row(b) {
                let value = kernel.value(points.row(a), points.row(b));
                (smallest, largest) = (smallest.min(value), largest.max(value));
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
