//! Overlap: how much of a target the rows to choose from can reach, where the target is other rows.

use rayon::prelude::*;

use super::{Advice, Chosen, Ended, Target};
use crate::bandwidth::MedianDistance;
use crate::kernel::Distance;
use crate::quality::systematic_rows;
use crate::weights::{WeightRule, optimal};
use crate::{Error, MeanEmbedding, Points, Result, Watch};

/// Rows with weights that stand in for the best weights on all rows: more change the MMD little.
const ATOMS: usize = 500;

/// Coordinate differences at most, where no row of the pool is near the target.
const DIFFERENCES: usize = 10_000_000_000;

/// Fewest rows of the target that are looked at.
const LOOKED_AT: usize = 1000;

/// Above this share of the target out of reach there is a warning.
const MUCH: f64 = 0.01;

/// How much of a target the rows to choose from can reach ([`Rows::matching`](super::Rows::matching)).
///
/// ```
/// use supersample::task::{Choose, Problem, Rows};
/// use supersample::{Points, unwatched};
/// let column = |of: fn(f64) -> f64| Points::from_vec((0..400).map(|i| of(f64::from(i))).collect(), 1);
/// // A quarter of the target is at 3, and no row is above 1.
/// let pool = column(|i| (i * 0.7).sin())?;
/// let target = column(|i| if i < 100.0 { 3.0 } else { (i * 0.9).sin() })?;
/// let rows = Rows::new(pool).matching(target);
/// let target = Problem::new(rows, Choose::thin(20)?)?.prepare(&unwatched)?;
/// let overlap = target.overlap(&unwatched)?.unwrap();
/// let (column, outside) = overlap.outside[0];
/// assert!((overlap.unreached - 0.25).abs() < 1e-9 && column == 0 && (0.25..0.26).contains(&outside));
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Overlap {
    /// Number of rows of the target.
    pub rows: usize,
    /// The share of the target's weight whose nearest row is farther than [`length`](Self::length), on the scaled columns.
    pub unreached: f64,
    /// The bandwidth, or the median distance in the target where the kernel has none.
    pub length: f64,
    /// The columns in which part of the target is outside the range of the rows, with its share, the largest first.
    pub outside: Vec<(usize, f64)>,
    /// The MMD of the best weights on all rows that may be chosen: no subset has a smaller one. It is that on 500 herded rows where
    /// there are more.
    pub floor: f64,
    /// The number of independent draws of the target with this MMD; `None` where it is zero to rounding.
    pub floor_draws: Option<f64>,
}

impl Overlap {
    /// Whether it is part of the reason why `count` rows do not match the target.
    fn is_poor(&self, count: usize) -> bool {
        self.unreached > MUCH || self.floor_draws.is_some_and(|draws| draws < count as f64)
    }
}

impl Target {
    /// How much of the target the rows to choose from can reach; `None` where they are the target.
    pub fn overlap(&self, watch: Watch) -> Result<Option<&Overlap>> {
        let problem = self.problem();
        if !problem.is_matching() {
            return Ok(None);
        }
        if self.overlap.get().is_none() {
            let (rows, shares) = problem.target_rows();
            let points = problem.samples.points();
            let length = match problem.kernel().bandwidths().iter().copied().reduce(f64::max) {
                Some(length) => length,
                None => MedianDistance::of(points, shares)?.length,
            };
            let open = self.open_points()?;
            let unreached = unreached(points, shares, &open, length)?;
            let floor = self.floor(watch)?;
            let outside = outside(rows, shares, problem.rows(), problem.without_weight());
            let floor_draws = self.error_scale().equivalent_draws(floor);
            // If two threads get here, the first wins: the values are equal.
            let _ = self.overlap.set(Overlap {
                rows: rows.len(),
                unreached,
                length,
                outside,
                floor,
                floor_draws,
            });
        }
        Ok(self.overlap.get())
    }

    /// Adds the overlap to a choice, and a warning where it is poor.
    pub(super) fn overlapping(&self, mut chosen: Chosen, watch: Watch) -> Result<Chosen> {
        if chosen.ended == Ended::Interrupted {
            return Ok(chosen);
        }
        match self.overlap(watch) {
            Err(Error::Interrupted) => chosen.ended = Ended::Interrupted,
            found => {
                if let Some(overlap) = found? {
                    let is_poor = overlap.is_poor(chosen.rows.len());
                    chosen.advice.extend(is_poor.then(|| Advice::OutOfReach(overlap.clone())));
                    chosen.overlap = Some(overlap.clone());
                }
            }
        }
        Ok(chosen)
    }

    /// The scaled rows that may be chosen.
    fn open_points(&self) -> Result<Points> {
        let problem = self.problem();
        let closed = problem.without_weight();
        if closed.is_empty() {
            return Ok(problem.points().clone());
        }
        let open: Vec<usize> =
            (0..problem.points().len()).filter(|row| closed.binary_search(row).is_err()).collect();
        problem.points().select(&open)
    }

    /// The MMD of the best weights on all rows, or on herded ones where there are many.
    fn floor(&self, watch: Watch) -> Result<f64> {
        let open = self.open_points()?;
        let atoms = match open.len() > ATOMS {
            false => open,
            true => {
                let mut herder = self.herder(true)?;
                while herder.indices().len() < ATOMS && herder.next().is_some() {}
                self.problem().points().select(herder.indices())?
            }
        };
        let mu = self.embedding();
        let found = optimal(&*mu as &dyn MeanEmbedding, &atoms, WeightRule::Simplex, watch)?;
        found.error.ok_or(Error::UnknownNorm)
    }
}

/// The share of the target's weight with no row within this length: of all its rows, or of a sample where they are many.
fn unreached(target: &Points, shares: Option<&[f64]>, rows: &Points, length: f64) -> Result<f64> {
    let most = (DIFFERENCES / rows.len().saturating_mul(rows.dim())).max(LOOKED_AT);
    let equal = vec![1.0 / target.len() as f64; target.len()];
    let shares = shares.unwrap_or(&equal);
    let is_near =
        |x: &[f64]| rows.rows().any(|row| Distance::SquaredEuclidean.between(x, row) <= length * length);
    if target.len() <= most {
        let far = |row: usize| if shares[row] > 0.0 && !is_near(target.row(row)) { shares[row] } else { 0.0 };
        let each: Vec<f64> = (0..target.len()).into_par_iter().map(far).collect();
        return Ok(each.iter().sum());
    }
    let some = systematic_rows(shares, most)?;
    let far = some.par_iter().filter(|&&row| !is_near(target.row(row))).count();
    Ok(far as f64 / some.len() as f64)
}

/// The columns in which part of the target is outside the range of the rows, with its share, the largest first.
fn outside(target: &Points, shares: Option<&[f64]>, rows: &Points, closed: &[usize]) -> Vec<(usize, f64)> {
    let mut range = vec![(f64::INFINITY, f64::NEG_INFINITY); rows.dim()];
    for (row, values) in rows.rows().enumerate() {
        if closed.binary_search(&row).is_err() {
            for ((low, high), &x) in range.iter_mut().zip(values) {
                (*low, *high) = (low.min(x), high.max(x));
            }
        }
    }
    let equal = 1.0 / target.len() as f64;
    let share_outside = |(j, &(low, high)): (usize, &(f64, f64))| {
        let is_outside = |row: &usize| !(low..=high).contains(&target.row(*row)[j]);
        let share = |row: usize| shares.map_or(equal, |shares| shares[row]);
        (j, (0..target.len()).filter(is_outside).map(share).sum::<f64>())
    };
    let mut found: Vec<(usize, f64)> =
        range.iter().enumerate().map(share_outside).filter(|(_, share)| *share > 0.0).collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    found
}
