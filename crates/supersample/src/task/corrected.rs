//! Corrected target: rows with scores become rows with weights that are nearer to the density than the rows are.
//!
//! Under a density p on all of ℝᵈ the Stein features gⱼ, 1 + xⱼ·gⱼ and xᵢ·gⱼ + xⱼ·gᵢ have mean zero, g = ∇ log p. Draws have other
//! means by chance. Weights that make these means zero ([`balance`]) take out the part of the draws' error that the features explain;
//! the rows are then chosen to match the weighted draws. Cross-validation says which features are used, if any.

use super::score_check;
use super::{Advice, RowScores};
use crate::quantile::quantiles;
use crate::scale::Moments;
use crate::weights::balance::{Columns, Correlations, balance, products};
use crate::{Points, Result, Watch};

/// Products of columns are features where rows are at least this many times as many as features,
const ROWS_A_FEATURE: f64 = 20.0;
/// and rows times the square of the columns that are multiplied are no more than this: a few seconds.
const MOST_WORK: f64 = 2e10;
/// Parts of the rows that are held out in turn, each a stretch of them, since neighbours in a chain are alike.
const FOLDS: usize = 5;
/// Functions of a column whose held-out errors decide: x, x², below its 5 % quantile, above its 95 % quantile.
const JUDGES: usize = 4;
/// Rows whose weights have an effective size below this part are not draws of the density.
const NOT_DRAWS: f64 = 0.5;

/// The Stein features whose means are made zero; each kind has those before it too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum SteinFeatures {
    /// gⱼ: with a normal density, the means.
    Scores,
    /// 1 + xⱼ·gⱼ: the variances.
    Squares,
    /// xᵢ·gⱼ + xⱼ·gᵢ: the covariances.
    Products,
}

supersample_sum::words!(
    SteinFeatures, "a kind of Stein features": Scores "scores", Squares "squares", Products "products",
);

impl SteinFeatures {
    /// How many there are of this number of columns.
    pub fn count(self, columns: usize) -> usize {
        match self {
            SteinFeatures::Scores => columns,
            SteinFeatures::Squares => 2 * columns,
            SteinFeatures::Products => 2 * columns + columns * columns.saturating_sub(1) / 2,
        }
    }
}

/// How rows were corrected by their scores.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Corrected {
    /// The features whose means are zero; `None` where none of them explain anything and the rows are as they were.
    pub features: Option<SteinFeatures>,
    /// How many features these are.
    pub count: usize,
    /// The features that were tried first, where these are fewer.
    pub tried: SteinFeatures,
    /// The effective size of the weights as a part of that of the rows: 1/Σ w²/v, v the weights before.
    pub effective_share: f64,
    /// What is left of the variance of functions of held-out rows, on average.
    pub left: f64,
}

/// Rows that were corrected.
pub(super) struct CorrectedRows {
    pub(super) shares: Option<Vec<f64>>,
    pub(super) record: Corrected,
    pub(super) advice: Vec<Advice>,
}

/// Weights under which the rows are nearer to the density that their scores are of. Scores that are not those of the rows are
/// refused.
pub(super) fn correct(
    rows: &Points,
    shares: Option<Vec<f64>>,
    scores: RowScores,
    watch: Watch,
) -> Result<CorrectedRows> {
    let scores = super::scores::checked(scores.values, rows)?;
    let mut advice = score_check::check(rows, &scores, shares.as_deref())?;
    let standard = Standard::new(rows, &scores, shares.as_deref());
    let start = |row: usize| shares.as_ref().map_or(1.0 / rows.len() as f64, |shares| shares[row]);
    let tried = standard.most_features(shares.as_deref());
    let moments = HeldOut::new(&standard, tried, &start, watch)?;
    let mut kinds: Vec<(SteinFeatures, f64)> = SteinFeatures::ALL
        .into_iter()
        .filter(|kind| *kind <= tried)
        .map(|kind| (kind, moments.left(kind.count(standard.dim))))
        .filter(|(_, left)| *left < 1.0)
        .collect();
    kinds.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    for (kind, left) in kinds {
        let count = kind.count(standard.dim);
        let features = Columns {
            rows: rows.len(),
            count,
            fill: &|row, out: &mut [f64]| standard.features(row, kind, out),
        };
        let Some(balanced) = balance(features, &start, &moments.total, moments.columns, watch)? else {
            continue;
        };
        let squares = balanced.shares.iter().enumerate().filter(|(_, share)| **share > 0.0);
        let effective_share = 1.0 / squares.map(|(row, share)| share * share / start(row)).sum::<f64>();
        let record = Corrected { features: Some(kind), count, tried, effective_share, left };
        advice.push(Advice::Corrected(record));
        if effective_share < NOT_DRAWS {
            advice.push(Advice::DrawsNotOfDensity { effective_share });
        }
        return Ok(CorrectedRows { shares: Some(balanced.shares), record, advice });
    }
    let record = Corrected { features: None, count: 0, tried, effective_share: 1.0, left: 1.0 };
    advice.push(Advice::Corrected(record));
    Ok(CorrectedRows { shares, record, advice })
}

/// The most features that are tried for this number of equal rows and of columns.
fn most_features(rows: f64, dim: usize) -> SteinFeatures {
    // In floating point, since very many columns have more pairs than can be counted.
    let columns = dim as f64;
    let all = 2.0 * columns + columns * (columns - 1.0) / 2.0;
    let work = rows * (all + 1.0 + JUDGES as f64 * columns).powi(2);
    match dim > 1 && rows >= ROWS_A_FEATURE * all && work <= MOST_WORK {
        true => SteinFeatures::Products,
        false => SteinFeatures::Squares,
    }
}

/// Estimated bytes to correct rows, without the rows themselves: products of columns, of all rows and of the
/// parts that are held out.
pub(super) fn bytes(rows: u64, dim: u64) -> u64 {
    let columns = match most_features(rows as f64, usize::try_from(dim).unwrap_or(usize::MAX)) {
        SteinFeatures::Products => {
            SteinFeatures::Products.count(dim as usize) as u64 + 1 + JUDGES as u64 * dim
        }
        _ => dim.saturating_mul(2 + JUDGES as u64).saturating_add(1),
    };
    columns.saturating_mul(columns).saturating_mul(8 * (FOLDS as u64 + 4))
}

/// Rows of mean 0 and variance 1 and scores in these units, without constant columns.
struct Standard {
    dim: usize,
    /// Of each row its numbers, then its scores.
    values: Vec<f64>,
    /// The 5 % and 95 % quantiles of each column.
    tails: Vec<[f64; 2]>,
}

impl Standard {
    fn new(rows: &Points, scores: &Points, shares: Option<&[f64]>) -> Standard {
        let moments: Vec<(usize, Moments)> = (0..rows.dim())
            .filter_map(|j| Some((j, Moments::of(rows.as_slice(), rows.dim(), j, shares)?)))
            .collect();
        let dim = moments.len();
        let mut values = Vec::with_capacity(2 * dim * rows.len());
        for (x, g) in rows.rows().zip(scores.rows()) {
            values.extend(moments.iter().map(|(j, of)| (x[*j] - of.mean) / of.sd));
            values.extend(moments.iter().map(|(j, of)| g[*j] * of.sd));
        }
        let tails = (0..dim)
            .map(|j| {
                let column = values.iter().skip(j).step_by(2 * dim).copied();
                quantiles(column, shares, [0.05, 0.95]).unwrap_or_default()
            })
            .collect();
        Standard { dim, values, tails }
    }

    fn row(&self, row: usize) -> (&[f64], &[f64]) {
        self.values[row * 2 * self.dim..(row + 1) * 2 * self.dim].split_at(self.dim)
    }

    fn rows(&self) -> usize {
        self.values.len() / (2 * self.dim).max(1)
    }

    /// The most features that are tried.
    fn most_features(&self, shares: Option<&[f64]>) -> SteinFeatures {
        most_features(shares.map_or(self.rows() as f64, super::rows::effective_size), self.dim)
    }

    fn features(&self, row: usize, kind: SteinFeatures, out: &mut [f64]) {
        let (dim, (x, g)) = (self.dim, self.row(row));
        out[..dim].copy_from_slice(g);
        if kind >= SteinFeatures::Squares {
            for (out, (x, g)) in out[dim..2 * dim].iter_mut().zip(x.iter().zip(g)) {
                *out = 1.0 + x * g;
            }
        }
        if kind >= SteinFeatures::Products {
            let mut rest = &mut out[2 * dim..];
            for i in 1..dim {
                let (here, next) = rest.split_at_mut(i);
                let (xi, gi) = (x[i], g[i]);
                for (out, (xj, gj)) in here.iter_mut().zip(x.iter().zip(g)) {
                    *out = xi * gj + xj * gi;
                }
                rest = next;
            }
        }
    }

    /// The functions that judge features.
    fn judges(&self, row: usize, out: &mut [f64]) {
        let (x, _) = self.row(row);
        for ((x, [low, high]), out) in x.iter().zip(&self.tails).zip(out.chunks_exact_mut(JUDGES)) {
            out.copy_from_slice(&[*x, x * x, f64::from(u8::from(x < low)), f64::from(u8::from(x > high))]);
        }
    }
}

/// Mean products of features, a constant and the judging functions, in this order: of all rows, and of each part of them.
struct HeldOut {
    columns: usize,
    features: usize,
    judges: usize,
    total: Vec<f64>,
    folds: Vec<Vec<f64>>,
}

impl HeldOut {
    fn new(
        standard: &Standard,
        kind: SteinFeatures,
        share: &(dyn Fn(usize) -> f64 + Sync),
        watch: Watch,
    ) -> Result<HeldOut> {
        let (features, judges) = (kind.count(standard.dim), JUDGES * standard.dim);
        let columns = features + 1 + judges;
        let rows = standard.rows();
        let fill = |row: usize, out: &mut [f64]| {
            standard.features(row, kind, out);
            out[features] = 1.0;
            standard.judges(row, &mut out[features + 1..]);
        };
        let all = Columns { rows, count: columns, fill: &fill };
        let mut total = vec![0.0; columns * columns];
        let mut folds = Vec::with_capacity(FOLDS);
        for fold in 0..FOLDS {
            let here = fold * rows / FOLDS..(fold + 1) * rows / FOLDS;
            let sums = products(all, here, share, watch)?;
            total.iter_mut().zip(&sums).for_each(|(total, sum)| *total += sum);
            folds.push(sums);
        }
        Ok(HeldOut { columns, features, judges, total, folds })
    }

    /// What is left of the variance of the judging functions over held-out rows once the first `count` features have explained
    /// what they can, on average.
    fn left(&self, count: usize) -> f64 {
        let (mut left, mut whole) = (vec![0.0; self.judges], vec![0.0; self.judges]);
        for fold in &self.folds {
            let rest: Vec<f64> = self.total.iter().zip(fold).map(|(total, fold)| total - fold).collect();
            let one = self.features;
            let (weight, held) = (rest[one * self.columns + one], fold[one * self.columns + one]);
            if weight <= 0.0 || held <= 0.0 {
                continue;
            }
            let rest: Vec<f64> = rest.iter().map(|sum| sum / weight).collect();
            let means = &rest[one * self.columns..][..count];
            let Some(solver) = Correlations::new(&rest, self.columns, means) else { return f64::INFINITY };
            for judge in 0..self.judges {
                let row = one + 1 + judge;
                let line = &rest[row * self.columns..];
                let mean = line[one];
                let mut slopes: Vec<f64> =
                    line[..count].iter().zip(means).map(|(product, own)| product - own * mean).collect();
                solver.solve(&mut slopes);
                whole[judge] += fold_square(fold, self.columns, one, row, mean, &[]);
                let at_zero = mean - crate::linalg::dot(&slopes, means);
                left[judge] += fold_square(fold, self.columns, one, row, at_zero, &slopes);
            }
        }
        let parts: Vec<f64> = left
            .iter()
            .zip(&whole)
            .filter(|(_, whole)| **whole > 0.0)
            .map(|(left, whole)| left / whole)
            .collect();
        match parts.is_empty() {
            true => 1.0,
            false => parts.iter().sum::<f64>() / parts.len() as f64,
        }
    }
}

/// Σ (f − at_zero − slopes·ψ)² over the rows of a part, f the column `row` of its products.
fn fold_square(fold: &[f64], columns: usize, one: usize, row: usize, at_zero: f64, slopes: &[f64]) -> f64 {
    let of = |i: usize, j: usize| fold[i.max(j) * columns + i.min(j)];
    let mut square = of(row, row) - 2.0 * at_zero * of(row, one) + at_zero * at_zero * of(one, one);
    for (i, slope) in slopes.iter().enumerate() {
        let line = &fold[i * columns..];
        let below: f64 = crate::linalg::dot(&line[..i], slopes);
        square += slope * (slope * line[i] + 2.0 * (below + at_zero * of(one, i) - of(row, i)));
    }
    square
}
