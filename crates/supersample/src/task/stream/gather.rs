//! First pass over rows that need not fit into memory: their number, weights and moments, and a uniform sample of
//! candidates.

mod functions;
mod shards;

pub(in crate::task) use self::functions::GatheredFunctions;
pub use self::shards::Shard;
use crate::points::normalised;
use crate::row_sampling::{UniformSample, WeightedDraws};
use crate::scale::{Moments, RunningMoments, Scaling};
use crate::task::{CONTROL_ROWS, RowWeights, Rows};
use crate::{Error, Points, Result};

/// Makes the control rows independent of the pool.
const CONTROL_SEED: u64 = 0x5851_f42d_4c95_7f2d;

/// Collects rows batch by batch and keeps only a sample of them. The sample does not depend on how rows are cut into
/// batches.
///
/// ```
/// use supersample::task::RowWeights;
/// use supersample::task::stream::Gatherer;
/// let mut gatherer = Gatherer::new(2, 100, 0)?;
/// for batch in 0..10 {
///     let rows: Vec<f64> = (0..2000).map(|i| f64::from(2000 * batch + i)).collect();
///     gatherer.update(&rows, RowWeights::Equal)?;
/// }
/// let gathered = gatherer.finish()?;
/// assert_eq!((gathered.rows(), gathered.pool().len()), (10_000, 100));
/// assert_eq!(gathered.pool().row(7)[0], 2.0 * gathered.pool_rows()[7] as f64);
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Gatherer {
    dim: usize,
    /// Largest number of drawn rows, over all parts together.
    pool_rows: usize,
    seed: u64,
    sample: UniformSample,
    controls: Controls,
    moments: RunningMoments,
    scale: Option<WeightScale>,
    /// Σ w and Σ w² in units of the largest weight so far.
    total: f64,
    squares: f64,
    without_weight: usize,
}

/// Rows at which μ is computed to estimate its norm, drawn by their weights and independently of the pool.
#[derive(Clone, Debug)]
enum Controls {
    Distinct(UniformSample),
    ByWeight(WeightedDraws),
}

/// Divisor of the weights that keeps their sums in range: the largest weight, or the largest logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum WeightScale {
    Equal,
    Weights { largest: f64 },
    Logs { largest: f64 },
}

impl WeightScale {
    /// Weights in units of the largest; `None` if all are one. `first` is the number of the first row.
    pub(super) fn relative(
        self,
        weights: RowWeights<'_>,
        rows: usize,
        first: usize,
    ) -> Result<Option<Vec<f64>>> {
        let counted = |found: usize| match found == rows {
            true => Ok(()),
            false => Err(Error::WeightCount { what: "rows", found, expected: rows }),
        };
        match (self, weights) {
            (WeightScale::Equal, RowWeights::Equal) => Ok(None),
            (WeightScale::Weights { largest }, RowWeights::Weights(weights)) => {
                counted(weights.len())?;
                if let Some(at) = weights.iter().position(|w| !w.is_finite() || *w < 0.0) {
                    return Err(Error::BadWeight { index: first + at, value: weights[at] });
                }
                Ok(Some(weights.iter().map(|w| if largest > 0.0 { w / largest } else { 0.0 }).collect()))
            }
            (WeightScale::Logs { largest }, RowWeights::Logs(logs)) => {
                counted(logs.len())?;
                if let Some(at) = logs.iter().position(|log| log.is_nan() || *log == f64::INFINITY) {
                    return Err(Error::BadLogWeight { index: first + at, value: logs[at] });
                }
                let weight =
                    |log: &f64| if largest > f64::NEG_INFINITY { (log - largest).exp() } else { 0.0 };
                Ok(Some(logs.iter().map(weight).collect()))
            }
            _ => Err(Error::MixedWeights { first_row: first }),
        }
    }

    /// Weights of this kind.
    pub(super) fn as_given(self, weights: &[f64]) -> RowWeights<'_> {
        match self {
            WeightScale::Equal => RowWeights::Equal,
            WeightScale::Weights { .. } => RowWeights::Weights(weights),
            WeightScale::Logs { .. } => RowWeights::Logs(weights),
        }
    }

    /// The kind of the weights as a number above 0, and the largest of them.
    pub(super) fn to_words(self) -> (u64, f64) {
        match self {
            WeightScale::Equal => (1, 0.0),
            WeightScale::Weights { largest } => (2, largest),
            WeightScale::Logs { largest } => (3, largest),
        }
    }

    /// Inverse of [`to_words`](Self::to_words), where 0 means no weights; `None` for other numbers.
    pub(super) fn of_words(kind: u64, largest: f64) -> Option<Option<WeightScale>> {
        Some(match kind {
            0 => None,
            1 => Some(WeightScale::Equal),
            2 => Some(WeightScale::Weights { largest }),
            3 => Some(WeightScale::Logs { largest }),
            _ => return None,
        })
    }

    /// Scale that fits these weights too, and the factor for weights in units of the old one.
    pub(super) fn grown(self, weights: RowWeights<'_>) -> (WeightScale, f64) {
        let top = |weights: &[f64], least: f64| weights.iter().copied().fold(least, f64::max);
        let grown = match (self, weights) {
            (WeightScale::Weights { largest }, RowWeights::Weights(weights)) => {
                WeightScale::Weights { largest: top(weights, largest) }
            }
            (WeightScale::Logs { largest }, RowWeights::Logs(logs)) => {
                WeightScale::Logs { largest: top(logs, largest) }
            }
            (scale, _) => scale,
        };
        (grown, self.factor_to(grown))
    }

    /// Scale that fits the weights of both; `None` for weights of two kinds.
    pub(super) fn larger(self, other: WeightScale) -> Option<WeightScale> {
        match (self, other) {
            (WeightScale::Equal, WeightScale::Equal) => Some(self),
            (WeightScale::Weights { largest: a }, WeightScale::Weights { largest: b }) => {
                Some(WeightScale::Weights { largest: a.max(b) })
            }
            (WeightScale::Logs { largest: a }, WeightScale::Logs { largest: b }) => {
                Some(WeightScale::Logs { largest: a.max(b) })
            }
            _ => None,
        }
    }

    /// Factor that converts weights from this unit to a larger one.
    pub(super) fn factor_to(self, larger: WeightScale) -> f64 {
        match (self, larger) {
            (WeightScale::Weights { largest: own }, WeightScale::Weights { largest }) if largest > 0.0 => {
                own / largest
            }
            (WeightScale::Logs { largest: own }, WeightScale::Logs { largest })
                if largest > f64::NEG_INFINITY =>
            {
                (own - largest).exp()
            }
            _ => 1.0,
        }
    }

    pub(super) fn of(weights: RowWeights<'_>) -> WeightScale {
        match weights {
            RowWeights::Equal => WeightScale::Equal,
            RowWeights::Weights(_) => WeightScale::Weights { largest: 0.0 },
            RowWeights::Logs(_) => WeightScale::Logs { largest: f64::NEG_INFINITY },
        }
    }
}

impl Gatherer {
    /// Creates a gatherer of rows of `dim` numbers that draws a uniform sample of at most `pool_rows` with this seed.
    pub fn new(dim: usize, pool_rows: usize, seed: u64) -> Result<Gatherer> {
        if dim == 0 {
            return Err(Error::NoDimensions);
        }
        if pool_rows == 0 {
            return Err(Error::NoPoints);
        }
        Ok(Gatherer {
            dim,
            pool_rows,
            sample: UniformSample::new(pool_rows, dim, seed),
            controls: Controls::Distinct(UniformSample::new(CONTROL_ROWS, dim, seed ^ CONTROL_SEED)),
            seed,
            moments: RunningMoments::new(dim),
            scale: None,
            total: 0.0,
            squares: 0.0,
            without_weight: 0,
        })
    }

    /// Adds rows. All batches have weights of one kind, or none has weights. An error leaves the gatherer unchanged; an
    /// empty batch changes nothing.
    pub fn update(&mut self, rows: &[f64], weights: RowWeights<'_>) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let (scale, factor, relative) = self.check(rows, weights)?;
        let (count, relative) = (rows.len() / self.dim, relative.as_deref());
        self.scale = Some(scale);
        if factor != 1.0 {
            self.moments.reweigh(factor);
            self.total *= factor;
            self.squares *= factor * factor;
        }
        self.moments.see(rows, relative);
        if let (Some(_), Controls::Distinct(sample)) = (relative, &self.controls) {
            // The first weights have just arrived.
            debug_assert_eq!(sample.seen(), 0);
            let draws = WeightedDraws::new(CONTROL_ROWS, self.dim, self.seed ^ CONTROL_SEED);
            self.controls = Controls::ByWeight(draws);
        }
        match &mut self.controls {
            Controls::Distinct(sample) => sample.see(rows, None),
            Controls::ByWeight(draws) => {
                let mut total = self.total;
                for (row, weight) in rows.chunks_exact(self.dim).zip(relative.unwrap_or_default()) {
                    total += weight;
                    draws.see(row, if total > 0.0 { weight / total } else { 0.0 });
                }
            }
        }
        match (relative, weights) {
            (Some(relative), RowWeights::Weights(given) | RowWeights::Logs(given)) => {
                self.total += relative.iter().sum::<f64>();
                self.squares += relative.iter().map(|w| w * w).sum::<f64>();
                let none = if matches!(weights, RowWeights::Logs(_)) { f64::NEG_INFINITY } else { 0.0 };
                self.without_weight += given.iter().filter(|w| **w == none).count();
                // As given, because their divisor may still grow.
                self.sample.see(rows, Some(given));
            }
            _ => {
                self.total += count as f64;
                self.squares += count as f64;
                self.sample.see(rows, None);
            }
        }
        Ok(())
    }

    /// Checks rows that are to be added; returns the divisor of the weights with them, the factor for the weights so far, and their
    /// own weights in units of the divisor.
    pub(super) fn check(
        &self,
        rows: &[f64],
        weights: RowWeights<'_>,
    ) -> Result<(WeightScale, f64, Option<Vec<f64>>)> {
        let first = self.sample.seen();
        Points::check(rows, self.dim).map_err(|error| match error {
            Error::NonFinite { row, column, value } => Error::NonFinite { row: first + row, column, value },
            error => error,
        })?;
        let (scale, factor) = self.scale.unwrap_or(WeightScale::of(weights)).grown(weights);
        Ok((scale, factor, scale.relative(weights, rows.len() / self.dim, first)?))
    }

    /// The divisor of the weights so far; `None` before any row.
    pub(super) fn weight_scale(&self) -> Option<WeightScale> {
        self.scale
    }

    /// The drawn rows in their order, with their weights as they were given.
    pub(super) fn kept(self) -> (Vec<f64>, Vec<f64>) {
        let drawn = self.sample.finish();
        (drawn.values, drawn.weights)
    }

    /// Largest number of drawn rows.
    pub(super) fn pool_rows(&self) -> usize {
        self.pool_rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.dim
    }

    /// Number of rows so far.
    pub fn rows(&self) -> usize {
        self.sample.seen()
    }

    /// Finishes the pass. No rows, or rows without any weight, are an error.
    pub fn finish(self) -> Result<Gathered> {
        let Gatherer { dim, sample, controls, moments, scale, total, squares, without_weight, .. } = self;
        let rows = sample.seen();
        let scale = scale.ok_or(Error::NoPoints)?;
        if total == 0.0 {
            return Err(match scale {
                WeightScale::Logs { .. } => Error::NoLogWeights,
                _ => Error::ZeroWeights,
            });
        }
        let drawn = sample.finish();
        let weights = match scale {
            WeightScale::Equal => None,
            WeightScale::Weights { .. } => {
                scale.relative(RowWeights::Weights(&drawn.weights), drawn.rows.len(), 0)?
            }
            WeightScale::Logs { .. } => {
                scale.relative(RowWeights::Logs(&drawn.weights), drawn.rows.len(), 0)?
            }
        };
        if weights.as_ref().is_some_and(|weights| weights.iter().all(|w| *w == 0.0)) {
            return Err(Error::WeightlessPool { drawn: drawn.rows.len(), rows });
        }
        Ok(Gathered {
            rows,
            pool: Points::from_vec(drawn.values, dim)?,
            controls: Points::from_vec(
                match controls {
                    Controls::Distinct(sample) => sample.finish().values,
                    Controls::ByWeight(draws) => draws.finish(),
                },
                dim,
            )?,
            pool_rows: drawn.rows,
            pool_weights: weights,
            columns: Columns { moments: moments.moments(), firsts: moments.firsts() },
            scale,
            effective_size: total * total / squares,
            without_weight,
            functions: None,
            other: None,
        })
    }
}

/// Result of the first pass over all rows.
#[derive(Clone, Debug)]
pub struct Gathered {
    rows: usize,
    pool: Points,
    /// Distinct rows at random, or draws by the weights, of all rows.
    controls: Points,
    pool_rows: Vec<usize>,
    pool_weights: Option<Vec<f64>>,
    columns: Columns,
    scale: WeightScale,
    effective_size: f64,
    without_weight: usize,
    pub(in crate::task) functions: Option<GatheredFunctions>,
    /// The rows that are matched, where they are others than these.
    pub(in crate::task) other: Option<Box<Rows>>,
}

/// The columns of all rows.
#[derive(Clone, Debug)]
struct Columns {
    /// `None` for constant columns, of which the first value is in `firsts`.
    moments: Vec<Option<Moments>>,
    firsts: Vec<f64>,
}

impl Gathered {
    /// Sets other rows as the target, which are in memory: the gathered rows are then only chosen from ([`Rows::matching`]).
    pub fn matching(self, other: impl Into<Rows>) -> Gathered {
        Gathered { other: Some(Box::new(other.into())), ..self }
    }

    /// Number of all rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Whether the sample holds all rows.
    pub fn is_whole(&self) -> bool {
        self.pool.len() == self.rows
    }

    /// Drawn rows in the order of the source; all rows if there was room.
    pub fn pool(&self) -> &Points {
        &self.pool
    }

    /// Numbers of the drawn rows among all rows, from 0.
    pub fn pool_rows(&self) -> &[usize] {
        &self.pool_rows
    }

    /// Weights of the drawn rows, in units of the largest weight of all rows; `None` if all are equal.
    pub fn pool_weights(&self) -> Option<&[f64]> {
        self.pool_weights.as_deref()
    }

    /// Weights of the drawn rows, which sum to one.
    pub(in crate::task) fn pool_shares(&self) -> Result<Option<Vec<f64>>> {
        self.pool_weights().map(|weights| normalised(weights, "rows", self.pool.len())).transpose()
    }

    /// Effective sample size of all rows: (Σ w)²/Σ w².
    pub fn effective_size(&self) -> f64 {
        self.effective_size
    }

    /// Number of rows of weight zero.
    pub fn without_weight(&self) -> usize {
        self.without_weight
    }

    /// Mean and standard deviation of each column over all rows; `None` for a constant one.
    pub fn moments(&self) -> &[Option<Moments>] {
        &self.columns.moments
    }

    /// Rows at which μ is computed to estimate its norm, drawn from all rows.
    pub(in crate::task) fn controls(&self) -> &Points {
        &self.controls
    }

    /// Divisor of the weights.
    pub(super) fn weight_scale(&self) -> WeightScale {
        self.scale
    }

    /// Columns scaled to unit standard deviation over all rows.
    pub(in crate::task) fn scaling(&self) -> Scaling {
        Scaling::of_moments(&self.columns.moments, &self.columns.firsts)
    }

    /// The drawn rows with their weights and functions, and the rows that they are to match.
    pub(in crate::task) fn drawn(&self) -> Result<Rows> {
        let weights = self.pool_weights.as_deref().map_or(RowWeights::Equal, RowWeights::Weights);
        let rows = Rows::weighted(self.pool.clone(), weights)?;
        let rows = match &self.functions {
            None => rows,
            Some(functions) => {
                rows.functions(functions.values.as_slice().to_vec(), functions.values.dim())?
            }
        };
        Ok(match &self.other {
            None => rows,
            Some(other) => rows.matching(Rows::clone(other)),
        })
    }

    /// Weights of a batch of a later pass, in units of the largest weight of all rows; `None` if all are equal.
    pub fn relative(&self, weights: RowWeights<'_>, rows: usize) -> Result<Option<Vec<f64>>> {
        self.scale.relative(weights, rows, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(n: usize) -> Vec<f64> {
        (0..2 * n).map(|i| (i as f64 * 0.7).sin()).collect()
    }

    fn gathered(
        n: usize,
        batch: usize,
        weights: impl Fn(usize) -> Option<f64>,
        are_logs: bool,
    ) -> Result<Gathered> {
        let (all, mut gatherer) = (rows(n), Gatherer::new(2, 50, 3)?);
        for (i, batch_rows) in all.chunks(2 * batch).enumerate() {
            let given: Option<Vec<f64>> = (0..batch_rows.len() / 2).map(|j| weights(i * batch + j)).collect();
            gatherer.update(
                batch_rows,
                match (&given, are_logs) {
                    (None, _) => RowWeights::Equal,
                    (Some(given), false) => RowWeights::Weights(given),
                    (Some(given), true) => RowWeights::Logs(given),
                },
            )?;
        }
        gatherer.finish()
    }

    #[test]
    fn batches_give_what_all_rows_give() {
        let weight = |i: usize| (i % 5) as f64 * if i < 300 { 1e-3 } else { 1.0 };
        for batch in [1, 7, 500, 1000] {
            let plain = gathered(1000, batch, |_| None, false).unwrap();
            let weighted = gathered(1000, batch, |i| Some(weight(i)), false).unwrap();
            let logs = gathered(1000, batch, |i| Some(weight(i).ln() - 1e5), true).unwrap();
            assert_eq!((plain.rows(), plain.pool().len(), plain.pool_weights()), (1000, 50, None));
            assert_eq!((plain.effective_size(), plain.without_weight()), (1000.0, 0));
            for (j, moments) in plain.moments().iter().enumerate() {
                let all = Moments::of(&rows(1000), 2, j, None).unwrap();
                assert!((moments.unwrap().sd - all.sd).abs() < 1e-14);
            }
            let shares = RowWeights::Weights(&(0..1000).map(weight).collect::<Vec<_>>())
                .shares(1000)
                .unwrap()
                .unwrap();
            let effective = 1.0 / shares.iter().map(|w| w * w).sum::<f64>();
            for found in [&weighted, &logs] {
                assert_eq!((found.without_weight(), found.pool_rows()), (200, plain.pool_rows()));
                assert!((found.effective_size() / effective - 1.0).abs() < 1e-9);
                for (&row, &weight_of_row) in found.pool_rows().iter().zip(found.pool_weights().unwrap()) {
                    assert!((weight_of_row - weight(row) / 4.0).abs() < 1e-10);
                }
                for (j, moments) in found.moments().iter().enumerate() {
                    let all = Moments::of(&rows(1000), 2, j, Some(&shares)).unwrap();
                    let found = moments.unwrap();
                    assert!((found.sd - all.sd).abs() < 1e-9 && (found.mean - all.mean).abs() < 1e-9);
                }
            }
            let later = logs.relative(RowWeights::Logs(&[-1e5, f64::NEG_INFINITY]), 2).unwrap().unwrap();
            assert!((later[0] - 0.25).abs() < 1e-9 && later[1] == 0.0);
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_the_row_of_all_rows() {
        assert_eq!(Gatherer::new(0, 5, 0).err(), Some(Error::NoDimensions));
        assert_eq!(Gatherer::new(1, 5, 0).unwrap().finish().err(), Some(Error::NoPoints));
        let mut gatherer = Gatherer::new(1, 5, 0).unwrap();
        gatherer.update(&[1.0, 2.0], RowWeights::Weights(&[1.0, 0.0])).unwrap();
        gatherer.update(&[], RowWeights::Equal).unwrap();
        let infinite = gatherer.update(&[1.0, f64::INFINITY], RowWeights::Weights(&[1.0, 1.0]));
        assert_eq!(infinite, Err(Error::NonFinite { row: 3, column: 0, value: f64::INFINITY }));
        let refused = gatherer.update(&[1.0], RowWeights::Weights(&[-1.0]));
        assert_eq!(refused, Err(Error::BadWeight { index: 2, value: -1.0 }));
        assert_eq!(gatherer.update(&[1.0], RowWeights::Equal), Err(Error::MixedWeights { first_row: 2 }));
        assert_eq!((gatherer.rows(), gatherer.finish().unwrap().pool_rows()), (2, &[0, 1][..]));
        assert_eq!(gathered(10, 3, |_| Some(0.0), false).err(), Some(Error::ZeroWeights));
        assert_eq!(gathered(10, 3, |_| Some(f64::NEG_INFINITY), true).err(), Some(Error::NoLogWeights));
        // One row of a thousand has all the weight, and it is not drawn.
        let drawn = gathered(1000, 10, |_| None, false).unwrap();
        let other = (0..1000).find(|row| !drawn.pool_rows().contains(row)).unwrap();
        let lonely = gathered(1000, 10, |i| Some(f64::from(u8::from(i == other))), false);
        assert_eq!(lonely.err(), Some(Error::WeightlessPool { drawn: 50, rows: 1000 }));
    }
}
