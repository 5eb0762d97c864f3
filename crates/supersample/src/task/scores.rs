//! Scores of the rows: with them the target is the density instead of the rows.

use std::sync::Arc;

use super::problem::{Kind, Problem};
use super::{Advice, Choose, EmbeddingChoice, TargetChoice};
use crate::points::expect_rows;
use crate::quality::random_rows;
use crate::scale::{Scale, Scaling};
use crate::words::Opt;
use crate::{
    Error, Kernel, MeanEmbedding, Points, Preconditioner, Preference, Result, SteinBase, SteinTarget,
};

/// Default scale of columns with scores, the usual one in Stein thinning.
pub const STEIN_SCALE: Scale = Scale::Aad;

/// Number of rows in the sample that scores are checked on.
const LOOKED_AT: usize = 400;
/// With fewer rows, scores are not checked.
const FEWEST: usize = 20;
/// Scores point away where the mean of (x − mean)·score is above this.
const AWAY: f64 = 0.5;
/// Rows lie far out if the mean of that over the columns is below this.
const FAR: f64 = -1.5;
/// Scores are unrelated to the rows if it is above this, and above −1 by this number of standard errors. Draws at a
/// fifth of the temperature are still below.
const LITTLE: f64 = -0.2;
const SURE: f64 = 6.0;
/// Rows give a warning if they differ from draws of the density by this fraction of k(x, x). For 400 draws it is below
/// 0.01.
const TOLERATED: f64 = 0.05;

/// Scores s(x) = ∇ log p(x) of rows, in their own units, with the options of the Stein kernel.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RowScores {
    /// Score of the first row, one number for each column, then that of the second, …
    pub values: Vec<f64>,
    /// Base of the Stein kernel. Default: the inverse multiquadric.
    pub base: SteinBase,
    /// Matrix of its distances, in the units of the scaled points. Default: the identity.
    pub preconditioner: Preconditioner,
    /// Log-density of each row up to a constant, for a regularised choice.
    pub log_density: Option<Vec<f64>>,
    /// The weight λ of the log-density (see [`Preference::for_density`]).
    pub regularisation: f64,
    /// ∂² log p/∂xⱼ² at each row, one number for each column in the units of the rows, for a choice that is also
    /// regularised by their sum.
    pub second_derivatives: Option<Vec<f64>>,
}

impl RowScores {
    /// Creates scores with the default kernel.
    pub fn new(values: Vec<f64>) -> RowScores {
        RowScores { values, ..RowScores::default() }
    }

    /// Sets the Stein kernel.
    pub fn kernel(self, base: SteinBase, preconditioner: Preconditioner) -> RowScores {
        RowScores { base, preconditioner, ..self }
    }

    /// Regularises the choice by the log-density of each row with this weight.
    pub fn regularised(self, log_density: Vec<f64>, weight: f64) -> RowScores {
        RowScores { log_density: Some(log_density), regularisation: weight, ..self }
    }

    /// Also regularises the choice by the sum of these second derivatives of the log-density.
    pub fn second_derivatives(self, values: Vec<f64>) -> RowScores {
        RowScores { second_derivatives: Some(values), ..self }
    }
}

/// Checked scores of the rows.
#[derive(Clone)]
pub(super) struct OfRows {
    pub(super) target: Arc<SteinTarget>,
    /// The scaled rows with their scores.
    pub(super) points: Points,
    pub(super) preference: Option<Preference>,
    pub(super) advice: Vec<Advice>,
}

impl OfRows {
    pub(super) fn new(given: RowScores, rows: &Points, scaled: &Points, scaling: &Scaling) -> Result<OfRows> {
        let RowScores { values, base, preconditioner, log_density, regularisation, second_derivatives } =
            given;
        let scores = checked(values, rows)?;
        let mut advice = advice_on(rows, &scores);
        let scores = Points::from_vec(scaling.apply_to_scores(scores.as_slice()), scaled.dim())
            .map_err(|_| Error::Overflow { value: f64::INFINITY })?;
        let target = SteinTarget::new(scaled, &scores, base, preconditioner)?;
        let points = target.rows(scaled, &scores)?;
        let preference = match (&log_density, &second_derivatives) {
            (Some(log_density), derivatives) => {
                expect_rows("the log-densities", log_density.len(), rows.len())?;
                let laplacian = derivatives.as_ref().map(|values| laplacians(values, rows, scaling));
                Some(Preference::for_density(log_density, regularisation, laplacian.transpose()?.as_deref())?)
            }
            (None, Some(_)) => {
                return Err(Error::Scores {
                    what: "second derivatives regularise together with log-densities",
                    advice: "give the log-density of each row too",
                });
            }
            (None, None) => None,
        };
        advice.extend(not_draws(target.kernel(), &points));
        Ok(OfRows { target: Arc::new(target), points, preference, advice })
    }
}

impl Advice {
    /// Returns warnings about scores: columns in which they point away from the points, and columns in which they are
    /// unrelated to them.
    pub fn on_scores(points: &Points, scores: &Points) -> Vec<Advice> {
        match scores.len() == points.len() && scores.dim() == points.dim() {
            true => advice_on(points, scores),
            false => Vec::new(),
        }
    }
}

impl Problem {
    /// Scales rows with their scores, both in the units of the problem's rows, to points like its scaled ones.
    pub fn with_scores(&self, rows: &Points, scores: &Points) -> Result<Points> {
        let Kind::Density(stein) = &self.kind else {
            return Err(Error::Scores {
                what: "scores of a subset were given, and there are none of the rows",
                advice: "give those of the rows too, or leave them out",
            });
        };
        rows.expect_dim("the subset", "the data", self.rows().dim())?;
        let scores = checked(scores.as_slice().to_vec(), rows)?;
        let points = Points::from_vec(self.scaling().apply(rows.as_slice()), self.scaling().out_dim())?;
        let scores = Points::from_vec(self.scaling().apply_to_scores(scores.as_slice()), points.dim())
            .map_err(|_| Error::Overflow { value: f64::INFINITY })?;
        stein.target.rows(&points, &scores)
    }
}

impl Choose {
    /// Checks that the options can be used with the target that scores are given for. It does not look at the numbers.
    /// `Problem` does so too; a front end calls it before it reads any rows.
    pub fn check_scores(&self, scores: &RowScores, is_weighted: bool, has_functions: bool) -> Result<()> {
        let target = self.target_in_use(true);
        if target != TargetChoice::Density {
            let advice =
                "it belongs to a density that is matched itself; leave it out, or ask for the target density";
            let refused = [
                (scores.log_density.is_some(), Opt::LogDensity),
                (scores.preconditioner != Preconditioner::default(), Opt::Preconditioner),
            ];
            return match refused.into_iter().find(|(is_asked, _)| *is_asked) {
                Some((_, option)) => Err(Error::NotWithTarget { option, target, advice }),
                None => Ok(()),
            };
        }
        if self.compute.device.is_gpu() {
            let reason = "Stein kernels are not computed on a GPU; leave the device at cpu".to_string();
            return Err(Error::Device { reason });
        }
        scores.preconditioner.check()?;
        if scores.log_density.is_some() {
            Preference::check_weight(scores.regularisation)?;
        }
        let landmarks =
            self.compute.landmarks.is_some() || self.compute.embedding == EmbeddingChoice::Landmarks;
        let kept = "they describe the rows and not the density; leave them out";
        let refused = [
            (self.compute.pool_rows.is_some(), Opt::PoolRows, "all rows are read; leave it out"),
            (is_weighted, Opt::RowWeights, "the density needs no weights; leave them out"),
            (self.objective.marginals.is_some_and(|weight| weight > 0.0), Opt::Marginals, kept),
            (self.objective.moments.is_some_and(|weight| weight > 0.0), Opt::Moments, kept),
            (has_functions, Opt::Functions, kept),
            (landmarks, Opt::Landmarks, "no mean over the rows is needed; leave them out"),
        ];
        match refused.into_iter().find(|(is_asked, ..)| *is_asked) {
            Some((_, option, advice)) => Err(Error::NotWithTarget { option, target, advice }),
            None => Ok(()),
        }
    }
}

/// Checks scores and returns them as points.
pub(super) fn checked(values: Vec<f64>, rows: &Points) -> Result<Points> {
    let dim = rows.dim();
    if values.len() != rows.as_slice().len() && values.len().is_multiple_of(dim) {
        expect_rows("the scores", values.len() / dim, rows.len())?;
    }
    Points::from_vec(values, dim).map_err(|error| match error {
        Error::NonFinite { row, column, value } => Error::NonFiniteScore { row, column, value },
        error => error,
    })
}

/// The Laplacian of the log-density at each row, in the units of the scaled points.
fn laplacians(values: &[f64], rows: &Points, scaling: &Scaling) -> Result<Vec<f64>> {
    let Some(units) = scaling.units() else {
        return Err(Error::Scores {
            what: "second derivatives cannot be used with scale pca",
            advice: "take another scale; a rotation needs the mixed derivatives too",
        });
    };
    if values.len() != rows.as_slice().len() {
        expect_rows("the second derivatives", values.len() / rows.dim(), rows.len())?;
        return Err(Error::RaggedRows { len: values.len(), dim: rows.dim() });
    }
    let sum = |row: &[f64]| row.iter().zip(units).map(|(value, unit)| value * unit * unit).sum();
    Ok(values.chunks_exact(rows.dim()).map(sum).collect())
}

/// Returns warnings about scores: columns in which they point away from the rows, and columns in which they are
/// unrelated to them. Integration by parts gives E (xⱼ − m)·sⱼ = −1 for any density and any m.
fn advice_on(rows: &Points, scores: &Points) -> Vec<Advice> {
    if rows.len() < FEWEST {
        return Vec::new();
    }
    let products: Vec<(f64, f64)> = (0..rows.dim()).map(|j| mean_product(rows, scores, j)).collect();
    // The sum over all columns is −dim for draws, and more negative with rows far out, as in a burn-in. With such rows
    // the mean of a single column says nothing.
    let total: f64 = products.iter().map(|(mean, _)| mean).sum();
    let has_far_rows = total < FAR * rows.dim() as f64;
    let (mut away, mut unrelated) = (Vec::new(), Vec::new());
    for (j, (mean, error)) in products.into_iter().enumerate() {
        if mean > AWAY {
            away.extend((!has_far_rows && mean > 2.0 * error).then_some(j));
        } else if mean > LITTLE && mean + 1.0 > SURE * error && !is_constant(rows, j) {
            unrelated.push(j);
        }
    }
    let found = [
        (!away.is_empty()).then_some(Advice::ScoresPointAway { columns: away }),
        (!unrelated.is_empty()).then_some(Advice::ScoresUnrelated { columns: unrelated }),
    ];
    found.into_iter().flatten().collect()
}

/// The mean of (x − mean)·score in a column, and its standard error as if the rows were independent.
fn mean_product(rows: &Points, scores: &Points, column: usize) -> (f64, f64) {
    let n = rows.len() as f64;
    let mean_x = rows.rows().map(|x| x[column] / n).sum::<f64>();
    let products = || rows.rows().zip(scores.rows()).map(|(x, s)| (x[column] - mean_x) * s[column]);
    let mean = products().map(|product| product / n).sum::<f64>();
    let variance = products().map(|product| (product - mean) * (product - mean) / n).sum::<f64>();
    (mean, (variance / n).sqrt())
}

fn is_constant(rows: &Points, column: usize) -> bool {
    rows.rows().all(|x| x[column] == rows.row(0)[column])
}

/// Whether the mean of the kernel over pairs of different rows is far from zero.
fn not_draws(kernel: &Kernel, points: &Points) -> Option<Advice> {
    if points.len() < FEWEST {
        return None;
    }
    let rows = random_rows(points.len(), None, LOOKED_AT.min(points.len()), 1).ok()?;
    let (mut pairs, mut own) = (0.0, 0.0);
    for (i, &a) in rows.iter().enumerate() {
        own += kernel.diagonal(points.row(a));
        pairs += rows[..i].iter().map(|&b| kernel.value(points.row(a), points.row(b))).sum::<f64>();
    }
    let count = rows.len() as f64;
    let mean = 2.0 * pairs / (count * (count - 1.0)) / (own / count);
    (mean > TOLERATED).then_some(Advice::NotDrawsOfDensity { mean })
}
