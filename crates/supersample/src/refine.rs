//! The best rows as a set: herding, then sweeps of swaps, then, if asked, annealing, then a greedy order.
//!
//! Herding never takes a point back. A sweep does: it takes out the point at each position j in turn and puts in the
//! one that serves the others best, the argmax over the pool of
//!
//! > worth(x) = T·μ(x) − Σ_{t≠j} k(x, xₜ) − k(x, x)/2,
//!
//! because T²E² (eq. 9) changes by −2·(worth(new) − worth(old)). So E never rises, and ends where no single swap can
//! lower it.

mod anneal;
mod choices;
mod fewest;
mod options;
mod pool_sums;
mod sweep;

use std::ops::ControlFlow;
use std::sync::Arc;

use rand::SeedableRng;
use rand_pcg::Pcg64;

use self::choices::{Choices, Wishes};
pub use self::fewest::Fewest;
pub use self::options::{RefineOptions, Search};
use self::pool_sums::PoolSums;
use self::sweep::sweep;
use crate::candidates::{pack, pair_sum};
use crate::embedding::{Care, Form, MeanEmbedding};
use crate::sum::Packed;
use crate::watch::{Progress, Watch};
use crate::{Empirical, Error, Points, Result};

/// A refined set of rows, and what it took.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Refined {
    /// The rows of the pool, in greedy order unless that was declined.
    pub rows: Vec<usize>,
    /// The MMD between the target and these rows with equal weights; `None` where ‖μ‖² is not known.
    pub error: Option<f64>,
    /// E² as computed, which rounding can make slightly negative.
    pub squared_error: Option<f64>,
    /// The error of the set before the sweeps: the herded one, or the one that was given.
    pub start_error: Option<f64>,
    /// The error after the sweeps and before the search.
    pub swept_error: Option<f64>,
    /// Whether no single swap can lower the error; false where `max_sweeps` ended the sweeps.
    pub converged: bool,
    /// Whether the watcher has ended the work: then this is the best set there was.
    pub interrupted: bool,
    /// Sweeps made, annealed ones not counted.
    pub sweeps: usize,
    /// Swaps made by these sweeps.
    pub swaps: usize,
    /// Rows of kernel values computed over the pool, for the herding, the sweeps and the search: the cost.
    pub kernel_rows: u64,
}

/// Chooses the rows of a pool that match a target best as a set.
///
/// ```
/// use supersample::{Empirical, Kernel, Points, RefineOptions, Refiner, bandwidth};
/// let rows: Vec<f64> = (0..600).map(|i| (i as f64 * 0.7).sin()).collect();
/// let draws = Points::from_rows(&rows, 2)?;
/// let kernel = Kernel::gaussian(bandwidth::median(&draws))?;
/// let mu = Empirical::new(kernel, draws.clone())?;
/// let refiner = Refiner::new(mu, draws, RefineOptions::default())?;
/// let set = refiner.choose(20)?;
/// assert!(set.rows.len() == 20 && set.error <= set.start_error);
/// let small = refiner.fewest(0.02)?; // as few as it takes
/// assert!(small.reached && small.set.error.unwrap() <= 0.02);
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone)]
pub struct Refiner {
    mu: Arc<dyn MeanEmbedding>,
    pool: Points,
    packed: Packed,
    options: RefineOptions,
    mu_values: Vec<f64>,
    half_diagonal: Option<Vec<f64>>,
    squared_norm: Option<f64>,
    /// A bound on |k(x, y)| over the pool.
    largest_diagonal: f64,
    watch: Option<Arc<dyn Fn(Progress) -> ControlFlow<()> + Send + Sync>>,
}

/// A set that has been swept and perhaps annealed, not yet ordered.
struct Draft {
    rows: Vec<usize>,
    squared: Option<f64>,
    start_squared: Option<f64>,
    swept_squared: Option<f64>,
    swept: sweep::Swept,
    kernel_rows: u64,
}

impl Refiner {
    /// A refiner of rows of `pool` towards the target of `mu`. Costs μ on the pool, which an [`Empirical`] whose
    /// samples are the pool remembers, so that a [`Herder`](crate::Herder) beside it pays nothing again.
    pub fn new(mu: impl MeanEmbedding + 'static, pool: Points, options: RefineOptions) -> Result<Refiner> {
        Refiner::shared(Arc::new(mu), pool, options)
    }

    /// The same from an embedding that is shared with others.
    pub fn shared(mu: Arc<dyn MeanEmbedding>, pool: Points, options: RefineOptions) -> Result<Refiner> {
        pool.expect_dim("the pool", "the target", mu.dim())?;
        let (mu, packed) = pack(mu, &pool);
        let kernel = mu.kernel();
        let half_diagonal: Option<Vec<f64>> = (!kernel.has_constant_diagonal())
            .then(|| pool.rows().map(|x| kernel.diagonal(x) / 2.0).collect());
        let largest_diagonal = half_diagonal.iter().flatten().fold(1.0, |a: f64, &b| a.max(2.0 * b));
        if largest_diagonal > 1e290 {
            return Err(Error::Overflow { value: largest_diagonal });
        }
        if let Some(Search { sweeps, rounds, .. }) = options.search {
            if sweeps == Some(0) || rounds == 0 {
                let advice = "search for at least one sweep and one round, or leave the search out";
                return Err(Error::BadOption { option: "the search's sweeps or rounds", value: 0.0, advice });
            }
            // The temperature is measured in units of E².
            mu.squared_norm().ok_or(Error::UnknownNorm)?;
        }
        let mut mu_values = vec![0.0; pool.len()];
        mu.values_into(&pool, &mut mu_values);
        let squared_norm = mu.squared_norm();
        if let Some(value) = mu_values.iter().copied().chain(squared_norm).find(|value| !value.is_finite()) {
            return Err(Error::Overflow { value });
        }
        let refiner = Refiner {
            mu,
            pool,
            packed,
            options,
            mu_values,
            half_diagonal,
            squared_norm,
            largest_diagonal,
            watch: None,
        };
        refiner.wishes().check()?;
        Ok(refiner)
    }

    /// The same, watched: `watch` is called after every visit of a position, the cost of one kernel row.
    /// [`Break`](ControlFlow::Break) ends the work with the best set so far, marked as
    /// [`interrupted`](Refined::interrupted), or with [`Error::Interrupted`] where there is none yet.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use supersample::{Empirical, Kernel, Points, Progress, RefineOptions, Refiner};
    /// let draws = Points::from_vec((0..200).map(|i| (i as f64 * 0.7).sin()).collect(), 1)?;
    /// let mu = Empirical::new(Kernel::gaussian(0.3)?, draws.clone())?;
    /// let set = Refiner::new(mu, draws, RefineOptions::default())?
    ///     .watched(|progress| match progress {
    ///         Progress::Sweeping { visits: 5, .. } => ControlFlow::Break(()),
    ///         _ => ControlFlow::Continue(()),
    ///     })
    ///     .choose(10)?;
    /// assert!(set.interrupted && !set.converged && set.error <= set.start_error);
    /// # Ok::<(), supersample::Error>(())
    /// ```
    pub fn watched(self, watch: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static) -> Refiner {
        Refiner { watch: Some(Arc::new(watch)), ..self }
    }

    /// The options.
    pub fn options(&self) -> &RefineOptions {
        &self.options
    }

    /// μ at each row of the pool.
    pub fn pool_values(&self) -> &[f64] {
        &self.mu_values
    }

    /// ‖μ‖², as used in every error.
    pub fn squared_norm(&self) -> Option<f64> {
        self.squared_norm
    }

    /// The best set of `size` rows that herding and sweeps, and the search if asked, find.
    pub fn choose(&self, size: usize) -> Result<Refined> {
        self.choose_watched(size, self.watcher())
    }

    /// [`choose`](Self::choose), watched from outside.
    pub(crate) fn choose_watched(&self, size: usize, watch: Watch) -> Result<Refined> {
        let choices = self.wishes().for_size(size)?;
        let mut set = self.empty_set(&choices, self.options.memory);
        herd(&mut set, &choices, watch)?;
        self.finish(self.improve(set, &choices, watch))
    }

    /// The same from these rows instead of herded ones; their number is kept. Rows that must be included are put in
    /// if they are missing, in place of the last that may go.
    pub fn improve_rows(&self, rows: &[usize]) -> Result<Refined> {
        self.improve_rows_watched(rows, self.watcher())
    }

    /// [`improve_rows`](Self::improve_rows), watched from outside.
    pub(crate) fn improve_rows_watched(&self, rows: &[usize], watch: Watch) -> Result<Refined> {
        let choices = self.wishes().for_size(rows.len())?;
        let rows = with_included(rows, choices.include());
        choices.check(&rows, self.pool.len())?;
        let mut set = self.empty_set(&choices, self.options.memory);
        rows.iter().for_each(|&row| set.push(row));
        self.finish(self.improve(set, &choices, watch))
    }

    /// These rows in greedy order: each prefix is extended by the row that lowers its error most. Costs the pairs of
    /// the rows.
    pub fn greedy_order(&self, rows: &[usize]) -> Result<Vec<usize>> {
        let points = self.pool.select(rows)?;
        let mu_values: Vec<f64> = rows.iter().map(|&row| self.mu_values[row]).collect();
        let half: Option<Vec<f64>> =
            self.half_diagonal.as_ref().map(|half| rows.iter().map(|&row| half[row]).collect());
        // The set is a pool of its own, in which equal rows are distinct.
        let packed = self.packed.beside(&points).expect("rows of the pool are no wider spread than all");
        let mut order =
            PoolSums::new(self.mu.kernel(), &points, packed, &mu_values, half.as_deref(), false, 0);
        for _ in rows {
            order.set_share(order.chosen().len() as f64 + 1.0);
            let next = order.best_next().expect("one is left");
            order.push(next);
        }
        Ok(order.chosen().iter().map(|&i| rows[i]).collect())
    }

    fn wishes(&self) -> Wishes<'_> {
        let masses = match self.mu.form() {
            Form::Samples(samples) if samples.points().is_same_as(&self.pool) => samples.weights(),
            _ => None,
        };
        Wishes {
            len: self.pool.len(),
            repeats: self.options.repeats,
            include: &self.options.include,
            exclude: &self.options.exclude,
            groups: self.options.groups.as_deref(),
            quotas: self.options.quotas.as_deref(),
            masses,
        }
    }

    fn watcher(&self) -> Watch<'_> {
        self.watch.as_deref().map_or(&|_| ControlFlow::Continue(()), |watch| watch)
    }

    fn empty_set(&self, choices: &Choices, budget: usize) -> PoolSums<'_> {
        let (kernel, half, repeats) = (self.mu.kernel(), self.half_diagonal.as_deref(), self.options.repeats);
        let mut set =
            PoolSums::new(kernel, &self.pool, self.packed.clone(), &self.mu_values, half, repeats, budget);
        choices.excluded().for_each(|row| set.close(row));
        set
    }

    /// Sweeps and, if asked, anneals; never returns a worse set than it is given.
    fn improve(&self, mut set: PoolSums, choices: &Choices, watch: Watch) -> Draft {
        let size = choices.size() as f64;
        // A worth is a difference of numbers up to T, each right to a few units in the last place.
        let margin = 32.0 * f64::EPSILON * size * self.largest_diagonal;
        let start = self.scored(set.chosen().to_vec());
        set.set_share(size);
        let mut swept = sweep(&mut set, choices, self.options.max_sweeps, margin, watch);
        let after_sweeps = better(start.clone(), self.scored(set.chosen().to_vec()));
        let mut best = after_sweeps.clone();
        if let (Some(search), Some(norm)) = (self.options.search, self.squared_norm) {
            let mut rng = Pcg64::seed_from_u64(search.seed);
            let sweeps = search.sweeps.unwrap_or_else(|| Search::sweeps_for(self.pool.len(), choices.size()));
            for round in 0..search.rounds {
                let squared = best.squared(norm, size);
                let unit = size * squared / self.pool.dim() as f64;
                // Nothing is left to be found below rounding.
                if unit * size <= margin || swept.interrupted {
                    break;
                }
                if round > 0 {
                    set.become_rows(&best.rows);
                }
                let (met, ended) = anneal::anneal(&mut set, choices, sweeps, unit, &mut rng, watch);
                let most = if ended { 0 } else { self.options.max_sweeps };
                let quench = sweep(&mut set, choices, most, margin, watch);
                let quenched = self.scored(set.chosen().to_vec());
                let met = self.scored(met);
                if quenched.energy < best.energy.min(met.energy) {
                    swept.converged = quench.converged;
                } else if met.energy < best.energy {
                    swept.converged = false;
                }
                best = better(better(best, met), quenched);
                swept.interrupted = ended || quench.interrupted;
                swept.sweeps += quench.sweeps;
                swept.swaps += quench.swaps;
            }
        }
        let squared = |scored: &Scored| self.squared_norm.map(|norm| scored.squared(norm, size));
        // All three in f64 where one is too small for f32, so that they can be compared.
        let care = match (self.mu.form(), squared(&best)) {
            (Form::Samples(samples), Some(squared)) => {
                samples.care_needed(squared, size).map(|care| (samples, care))
            }
            _ => None,
        };
        let squared = |scored: &Scored| match care {
            Some((samples, care)) => Some(self.widened_squared(samples, care, &scored.rows)),
            None => squared(scored),
        };
        Draft {
            squared: squared(&best),
            start_squared: squared(&start),
            swept_squared: squared(&after_sweeps),
            rows: best.rows,
            swept,
            kernel_rows: set.kernel_rows,
        }
    }

    fn finish(&self, draft: Draft) -> Result<Refined> {
        let root = |squared: f64| squared.max(0.0).sqrt();
        let rows = if self.options.ordered { self.greedy_order(&draft.rows)? } else { draft.rows };
        Ok(Refined {
            rows,
            error: draft.squared.map(root),
            squared_error: draft.squared,
            start_error: draft.start_squared.map(root),
            swept_error: draft.swept_squared.map(root),
            converged: draft.swept.converged,
            interrupted: draft.swept.interrupted,
            sweeps: draft.swept.sweeps,
            swaps: draft.swept.swaps,
            kernel_rows: draft.kernel_rows,
        })
    }

    /// E² of these rows in f64 (see `embedding/widened.rs`).
    fn widened_squared(&self, samples: &Empirical, care: Care, rows: &[usize]) -> f64 {
        let points = self.pool.select(rows).expect("rows of the pool");
        let size = rows.len() as f64;
        let equal = vec![1.0 / size; rows.len()];
        let mean = samples.widened_values(&points).iter().sum::<f64>() / size;
        let pairs = samples.widened_sums(&points, &points, &equal).iter().sum::<f64>() / size;
        samples.widened_squared_norm(care) - 2.0 * mean + pairs
    }

    /// The rows with T²(E² − ‖μ‖²) computed afresh from their pairs, free of the drift of running sums.
    fn scored(&self, rows: Vec<usize>) -> Scored {
        let size = rows.len() as f64;
        let points = self.pool.select(&rows).expect("rows of the pool");
        let mean = rows.iter().map(|&row| self.mu_values[row]).sum::<f64>();
        Scored { energy: pair_sum(&self.packed, &points) - 2.0 * size * mean, rows }
    }
}

/// Rows and their T²(E² − ‖μ‖²).
#[derive(Clone)]
struct Scored {
    rows: Vec<usize>,
    energy: f64,
}

impl Scored {
    fn squared(&self, squared_norm: f64, size: f64) -> f64 {
        squared_norm + self.energy / (size * size)
    }
}

fn better(a: Scored, b: Scored) -> Scored {
    if b.energy < a.energy { b } else { a }
}

/// Herding within the constraints: the rows that must be in, then eq. 8 over the rows that may be.
fn herd(set: &mut PoolSums, choices: &Choices, watch: Watch) -> Result<()> {
    choices.include().iter().for_each(|&row| set.push(row));
    while set.chosen().len() < choices.size() {
        let progress = Progress::Herding { chosen: set.chosen().len(), size: choices.size() };
        if watch(progress).is_break() {
            return Err(Error::Interrupted);
        }
        set.set_share(set.chosen().len() as f64 + 1.0);
        let next = match choices.places_left(set.chosen()) {
            None => set.best_next(),
            Some(left) => set.best_next_among(|i| choices.may_add(i, set.times(i), &left)),
        };
        set.push(next.expect("the constraints leave a row for every place"));
    }
    Ok(())
}

/// The rows with those that must be included first, in place of the last of the others where some are missing.
fn with_included(rows: &[usize], include: &[usize]) -> Vec<usize> {
    let mut others = rows.to_vec();
    for row in include {
        if let Some(at) = others.iter().position(|other| other == row) {
            others.remove(at);
        }
    }
    include.iter().copied().chain(others).take(rows.len()).collect()
}
