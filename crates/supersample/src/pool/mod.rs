//! Pool: points to choose from, with μ at each of them, packed for kernel rows; built once and shared.
//!
//! This file has the immutable half ([`Pool`]). The mutable half is in `scores.rs` ([`PoolScores`]), with the
//! operations of swaps in `swaps.rs`. With parts, rows are chosen by the sum of their kernels; only `sum_of_parts.rs`
//! adds parts up. All work proportional to the pool is in this folder, except μ on the samples themselves
//! (`embedding/empirical.rs`). This is where a GPU comes in.
//!
//! Memory is O(n·d + n), never n². Swaps also keep kernel rows of chosen points, up to `RefineOptions::memory`.

mod on_gpu;
mod preference;
mod scores;
mod sum_of_parts;
mod swaps;

use std::sync::{Arc, OnceLock};

pub use self::preference::Preference;
pub(crate) use self::scores::{Evaluated, PoolScores};
use self::sum_of_parts::SumOfParts;
use crate::embedding::{ErrorTerms, MeanEmbedding, Values, check_definite, pack};
use crate::kernel::Distance;
use crate::sum::{Packed, Precision};
use crate::{Error, Part, Points, Result};

/// Points to choose from, and the target they are to match.
///
/// Building it computes μ at every point: n²/2 kernel values when the samples are their own pool, unless they have been
/// [prepared](crate::Empirical::prepare). Clones share everything, so that any number of herders and refiners work on
/// one pool.
///
/// ```
/// use supersample::{Empirical, Herder, Kernel, Points, Pool, RefineOptions, Refiner, unwatched};
/// let draws = Points::from_vec((0..200).map(|i| (i as f64 * 0.7).sin()).collect(), 1)?;
/// let pool = Pool::new(Empirical::new(Kernel::gaussian(0.3)?, draws.clone())?, draws)?;
/// let herded: Vec<usize> = Herder::over(pool.clone()).unique(true).run(10).iter().filter_map(|p| p.index).collect();
/// let refined = Refiner::over(pool.clone(), RefineOptions::default())?.choose(10, &unwatched)?;
/// assert!(pool.mmd_of_rows(&refined.rows)? <= pool.mmd_of_rows(&herded)?);
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone)]
pub struct Pool(Arc<Contents>);

#[derive(Clone)]
struct Contents {
    /// In the precision of the points, which may be higher than that of the given embedding.
    mu: Arc<dyn MeanEmbedding>,
    points: Points,
    packed: Packed,
    /// The joint part.
    joint: Terms,
    /// The other parts.
    parts: Option<SumOfParts>,
    /// μ at every point in f64, if there are few points.
    precise_values: Option<OnceLock<Vec<f64>>>,
}

/// A kernel's mean and diagonal at the points: of the joint one, or of its sum with those of the parts.
#[derive(Clone)]
struct Terms {
    /// μ at each point.
    values: Arc<[f64]>,
    /// k(x, x)/2, where it varies.
    half_diagonal: Option<Arc<[f64]>>,
    /// A bound on |k(x, y)|; at least 1, but for a matrix.
    largest: f64,
    /// A bound on |k(x, y)| of any row x and an ordinary row y, whose k(y, y) in a part is about 1.
    usual: f64,
    squared_norm: Option<f64>,
}

impl Terms {
    /// Terms of some of the points.
    fn select(&self, rows: &[usize]) -> Terms {
        let at_rows = |values: &Arc<[f64]>| rows.iter().map(|&row| values[row]).collect();
        Terms {
            values: at_rows(&self.values),
            half_diagonal: self.half_diagonal.as_ref().map(at_rows),
            ..*self
        }
    }

    /// Checks that sums cannot overflow.
    fn check(&self) -> Result<()> {
        // This bounds every sum of up to 10¹⁵ kernel values below the largest float.
        if self.largest > 1e290 {
            return Err(Error::Overflow { value: self.largest });
        }
        match self.values.iter().copied().chain(self.squared_norm).find(|value| !value.is_finite()) {
            Some(value) => Err(Error::Overflow { value }),
            None => Ok(()),
        }
    }
}

impl Pool {
    /// Creates the pool of these points for a target of the same dimension.
    pub fn new(mu: impl MeanEmbedding, points: Points) -> Result<Pool> {
        Pool::shared(Arc::new(mu), points)
    }

    /// Creates the pool of these points for a shared target.
    pub fn shared(mu: Arc<dyn MeanEmbedding>, points: Points) -> Result<Pool> {
        Pool::made(mu, points, None)
    }

    /// Creates the pool of these points from known values of μ.
    pub(crate) fn of_values(mu: Arc<dyn MeanEmbedding>, points: Points, values: Vec<f64>) -> Result<Pool> {
        Pool::made(mu, points, Some(values))
    }

    fn made(mu: Arc<dyn MeanEmbedding>, points: Points, values: Option<Vec<f64>>) -> Result<Pool> {
        points.expect_dim("the pool", "the target", mu.dim())?;
        if let Values::Gram(gram) = Values::of(&*mu) {
            gram.expect_rows(&points)?;
        }
        let (mu, packed) = pack(mu, &points);
        let kernel = Values::of(&*mu);
        let half_diagonal: Option<Arc<[f64]>> = (kernel.constant_diagonal().is_none())
            .then(|| points.rows().map(|x| kernel.diagonal(x) / 2.0).collect());
        let largest = match (&kernel, &half_diagonal) {
            (Values::Gram(gram), _) => gram.largest(),
            // |k(x, y)| ≤ max k(x, x)
            (_, Some(half)) => half.iter().fold(1.0, |a: f64, &half| a.max(2.0 * half)),
            (_, None) if kernel.needs_equal_masses() => largest_distance(&points).max(1.0),
            (_, None) => 1.0,
        };
        let mut joint =
            Terms { values: Arc::default(), half_diagonal, largest, usual: largest, squared_norm: None };
        joint.check()?;
        let values = values.unwrap_or_else(|| {
            let mut values = vec![0.0; points.len()];
            mu.values_into(&points, &mut values);
            values
        });
        (joint.values, joint.squared_norm) = (values.into(), mu.squared_norm());
        packed.device().check()?;
        joint.check()?;
        Ok(Pool(Arc::new(Contents { mu, points, packed, joint, parts: None, precise_values: None })))
    }

    /// Sets the parts of the objective, in addition to the joint distribution. Each has a view of every row.
    ///
    /// The objective is then the sum D² (see [`Part`]). Errors, stop rules and equivalent draws stay those of the joint
    /// part.
    pub fn with_parts(self, parts: Vec<Part>) -> Result<Pool> {
        let Contents { mu, points, packed, joint, .. } = &*self.0;
        let parts = match parts.is_empty() {
            true => None,
            false => Some(SumOfParts::new(parts, &**mu, joint, points, packed)?),
        };
        Ok(self.changed(packed.clone(), parts))
    }

    /// Returns this pool with other packed points and parts.
    fn changed(&self, packed: Packed, parts: Option<SumOfParts>) -> Pool {
        Pool(Arc::new(Contents { packed, parts, precise_values: None, ..(*self.0).clone() }))
    }

    /// Sets a preference for some rows in the objective. Errors, stop rules, equivalent draws and weights do not
    /// include it.
    pub fn with_preference(self, preference: Preference) -> Result<Pool> {
        let Contents { mu, points, packed, joint, parts, .. } = &*self.0;
        let parts = match parts {
            Some(parts) => parts.clone(),
            None => SumOfParts::new(Vec::new(), &**mu, joint, points, packed)?,
        };
        Ok(self.changed(packed.clone(), Some(parts.preferring(preference, joint)?)))
    }

    /// Iterator over the parts other than the joint distribution.
    pub fn parts(&self) -> impl Iterator<Item = &Part> {
        self.0.parts.iter().flat_map(SumOfParts::parts)
    }

    /// Returns D, the root of the objective, of rows with equal weights; `None` without parts, where the objective is
    /// the MMD.
    ///
    /// T independent draws have an expected D² of (1 + the weights of the parts)/T.
    pub fn distance_of_rows(&self, rows: &[usize]) -> Result<Option<f64>> {
        let Some(error) = self.mmd_of_rows(rows)? else { return Ok(None) };
        Ok(self.squared_distance(rows, error * error).map(f64::sqrt))
    }

    /// The points.
    pub fn points(&self) -> &Points {
        &self.0.points
    }

    /// Dimension that sets the temperatures of a search.
    pub(crate) fn dimension(&self) -> f64 {
        match Values::of(&*self.0.mu) {
            Values::Kernel(_) => self.points().dim() as f64,
            Values::Gram(gram) => gram.dimension(),
        }
    }

    /// μ at each point.
    pub fn values(&self) -> &[f64] {
        &self.0.joint.values
    }

    /// The mean embedding that is to be matched.
    pub fn embedding(&self) -> &Arc<dyn MeanEmbedding> {
        &self.0.mu
    }

    /// ‖μ‖², in the precision of the kernel values; `None` if not known.
    pub fn squared_norm(&self) -> Option<f64> {
        self.0.joint.squared_norm
    }

    /// The precision of the kernel values: that of the samples, double for a density.
    pub fn precision(&self) -> Precision {
        self.0.packed.precision()
    }

    /// Smallest meaningful E_T: the level of rounding, or the error bound of the embedding.
    ///
    /// E_T² is a difference of numbers near ‖μ‖² and k(x, x), each right to a few units in the last place; about 1e-7
    /// for kernels with k(x, x) = 1.
    pub fn error_floor(&self) -> f64 {
        self.rounding_floor().max(self.0.mu.error_bound())
    }

    /// E_T at the level of rounding.
    pub(crate) fn rounding_floor(&self) -> f64 {
        let size = self.0.joint.largest.max(self.squared_norm().unwrap_or(0.0));
        (32.0 * f64::EPSILON * size).sqrt()
    }

    /// Returns the MMD between the target and rows with equal weights; `None` if ‖μ‖² is not known. Costs only the
    /// pairs of rows, because μ at each is known.
    pub fn mmd_of_rows(&self, rows: &[usize]) -> Result<Option<f64>> {
        let energy = self.joint_energy(rows)?;
        let Some(norm) = self.squared_norm() else { return Ok(None) };
        let squared = norm + energy / (rows.len() as f64).powi(2);
        self.check_definite(squared)?;
        Ok(Some(squared.max(0.0).sqrt()))
    }

    /// Checks that a squared error is possible for a positive definite kernel.
    pub(crate) fn check_definite(&self, squared_error: f64) -> Result<()> {
        check_definite(&*self.0.mu, squared_error)
    }

    /// T²(E² − ‖μ‖²) of T rows from their pairs, with kernel values in the precision of the scores.
    pub(crate) fn joint_energy(&self, rows: &[usize]) -> Result<f64> {
        let (sums, size) = (self.joint_sums_among(rows)?, rows.len() as f64);
        let mean = rows.iter().map(|&row| self.values()[row]).sum::<f64>();
        Ok(sums.iter().sum::<f64>() - 2.0 * size * mean)
    }

    /// E² of these rows, in f64 if f32 is not precise enough for an error as small as `squared_error`.
    pub(crate) fn squared_error(&self, rows: &[usize], energy: f64, squared_error: f64) -> Option<f64> {
        let (size, norm) = (rows.len() as f64, self.squared_norm()?);
        let terms = ErrorTerms::of(&*self.0.mu);
        Some(match terms.norm_needed(squared_error, size) {
            None => norm + energy / (size * size),
            Some(from) => {
                let points = self.points().select(rows).expect("rows of the pool");
                terms.squared_error_from(from, &points, &vec![1.0 / size; rows.len()])
            }
        })
    }

    fn joint_sums_among(&self, rows: &[usize]) -> Result<Vec<f64>> {
        let points = self.points().select(rows)?;
        let packed = self.0.packed.of_some(&points);
        let mut sums = vec![0.0; rows.len()];
        packed.own_mean_into(None, &mut sums);
        sums.iter_mut().for_each(|sum| *sum *= rows.len() as f64);
        Ok(sums)
    }

    /// Returns a pool of only these rows, in which equal rows are distinct.
    pub(crate) fn select(&self, rows: &[usize]) -> Result<Pool> {
        let points = self.points().select(rows)?;
        let packed = self.0.packed.of_some(&points);
        Ok(Pool(Arc::new(Contents {
            mu: self.0.mu.clone(),
            points,
            packed,
            joint: self.0.joint.select(rows),
            parts: self.0.parts.as_ref().map(|parts| parts.select(rows)).transpose()?,
            precise_values: Some(OnceLock::new()),
        })))
    }

    /// Returns this pool with kernel rows in f32, for a search, which then takes a third of the time. `None` if they
    /// are f32 already, or if f32 is not safe.
    pub(crate) fn in_single(&self) -> Option<Pool> {
        let Contents { mu, points, packed, .. } = &*self.0;
        let Values::Kernel(kernel) = Values::of(&**mu) else { return None };
        if packed.precision() == Precision::Mixed {
            return None;
        }
        let packed = packed.again(kernel, points, Precision::Mixed);
        (packed.precision() == Precision::Mixed).then(|| self.packed_as(packed))
    }

    fn packed_as(&self, packed: Packed) -> Pool {
        let parts = self.0.parts.as_ref().map(|parts| parts.packed_with(&packed, self.points()));
        self.changed(packed, parts)
    }

    /// Returns this pool on the CPU, for starts, groups and ascents, which the GPU does not support.
    pub(crate) fn to_host(&self) -> Pool {
        if !self.is_on_gpu() {
            return self.clone();
        }
        self.packed_as(self.0.packed.of_some(self.points()))
    }

    /// Returns an error if the device of the pool has failed.
    pub(crate) fn check_device(&self) -> Result<()> {
        self.0.packed.device().check()
    }

    /// Sets the values of μ of a pool that is not shared yet.
    pub(crate) fn measured(mut self, values: &[f64]) -> Pool {
        let contents = Arc::get_mut(&mut self.0).expect("a pool that was just made");
        if let Some(parts) = &mut contents.parts {
            parts.joint_is(&contents.joint.values, values);
        }
        contents.joint.values = values.into();
        self
    }

    /// μ in f64 at one row, for an error that is too small for f32.
    pub(crate) fn precise_value(&self, row: usize) -> f64 {
        let terms = ErrorTerms::of(&*self.0.mu);
        match &self.0.precise_values {
            Some(values) => values.get_or_init(|| terms.values(self.points()))[row],
            None => terms.values(&self.points().select(&[row]).expect("a row of the pool"))[0],
        }
    }

    /// μ in f64 at a point that need not be in the pool, for an error that is too small for f32.
    pub(crate) fn precise_value_at(&self, x: &[f64]) -> f64 {
        let point = Points::from_rows(x, x.len()).expect("a chosen point is finite");
        ErrorTerms::of(&*self.0.mu).values(&point)[0]
    }

    /// Whether both are the same pool, not only equal.
    pub(crate) fn is_same_as(&self, other: &Pool) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A bound on the distance of any two points: twice the largest from the first.
fn largest_distance(points: &Points) -> f64 {
    let first = points.row(0);
    let squared = points.rows().map(|x| Distance::SquaredEuclidean.between(x, first)).fold(0.0, f64::max);
    2.0 * squared.sqrt()
}
