//! Refinement: the best set of rows, by herding, then sweeps of swaps, then annealing if asked, then a greedy order.
//!
//! Herding never takes a point back. A sweep does: it takes out the point at each position j in turn and puts in the
//! one that fits the others best, the argmax over the pool of
//!
//! > fit(x) = T·μ(x) − Σ_{t≠j} k(x, xₜ) − k(x, x)/2,
//!
//! because T²E² (eq. 9) changes by −2·(fit(new) − fit(old)). So E never rises, and the sweeps end where no single swap
//! can reduce it.
//!
//! If the pool has parts, k and μ are those of the sum, and D replaces E. D never rises; the reported error, that of
//! the joint part, may.

mod anneal;
mod constraints;
mod fewest;
mod options;
mod sweep;

use rand::SeedableRng;
use rand_pcg::Pcg64;

use self::constraints::{Constraints, ConstraintsAsked};
pub use self::fewest::Fewest;
pub(crate) use self::fewest::Goal;
pub use self::options::{RefineOptions, Search};
use self::sweep::{Swept, sweep};
use crate::embedding::{MeanEmbedding, Values, as_samples};
use crate::pool::PoolScores;
use crate::watch::{Progress, Watch, unwatched};
use crate::words::Opt;
use crate::{Error, Herder, Points, Pool, Result};

/// Refined set of rows, with its errors and cost.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Refined {
    /// Rows of the pool, in greedy order unless [`ordered`](RefineOptions::ordered) is off.
    pub rows: Vec<usize>,
    /// The MMD between the target and these rows with equal weights; `None` if ‖μ‖² is not known.
    pub error: Option<f64>,
    /// E² as computed, which rounding can make slightly negative.
    pub squared_error: Option<f64>,
    /// Error of the set before the sweeps: the herded set, or the given one.
    pub start_error: Option<f64>,
    /// The error after the sweeps and before the search.
    pub swept_error: Option<f64>,
    /// Objective D by stage, if the pool has parts; otherwise `None`, and the objective is the error.
    pub objective: Option<ObjectiveStages>,
    /// Whether no single swap can reduce the error (with parts: D); false if `max_sweeps` ended the sweeps.
    pub converged: bool,
    /// Whether the watch ended the work; this is then the best set so far.
    pub interrupted: bool,
    /// Whether a search was made. There is none if it was not asked for, if its length is 0, or if the error is at the
    /// level of rounding.
    pub searched: bool,
    /// Number of sweeps, without annealed ones.
    pub sweeps: usize,
    /// Number of swaps in these sweeps.
    pub swaps: usize,
    /// Cost: number of kernel rows over the pool that herding, sweeps and search computed.
    pub kernel_rows: u64,
}

/// Objective D by stage: the root of the sum over all parts, each in units of one independent draw.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ObjectiveStages {
    /// D before the sweeps.
    pub start: f64,
    /// D after the sweeps, before the search.
    pub swept: f64,
    /// D of the returned set.
    pub end: f64,
}

/// Chooses the rows of a pool that match a target best as a set.
///
/// Long calls take a [`Watch`], which is called after every visit of a position (one kernel row).
/// [`Break`](std::ops::ControlFlow::Break) ends the work with the best set so far, marked as
/// [`interrupted`](Refined::interrupted), or with [`Error::Interrupted`] if there is none yet.
///
/// ```
/// use std::ops::ControlFlow;
/// use supersample::{Empirical, Kernel, Points, Progress, RefineOptions, Refiner, bandwidth, unwatched};
/// let rows: Vec<f64> = (0..600).map(|i| (i as f64 * 0.7).sin()).collect();
/// let draws = Points::from_rows(&rows, 2)?;
/// let kernel = Kernel::gaussian(bandwidth::median(&draws))?;
/// let mu = Empirical::new(kernel, draws.clone())?;
/// let refiner = Refiner::new(mu, draws, RefineOptions::default())?;
/// let set = refiner.choose(20, &unwatched)?;
/// assert!(set.rows.len() == 20 && set.error <= set.start_error);
/// let small = refiner.fewest(0.02, &unwatched)?; // as few as it takes
/// assert!(small.reached && small.set.error.unwrap() <= 0.02);
/// let hasty = refiner.choose(20, &|progress| match progress {
///     Progress::Sweeping { visits: 5, .. } => ControlFlow::Break(()),
///     _ => ControlFlow::Continue(()),
/// })?;
/// assert!(hasty.interrupted && !hasty.converged && hasty.error <= hasty.start_error);
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone)]
pub struct Refiner {
    pool: Pool,
    options: RefineOptions,
}

/// A set that has been swept and perhaps annealed, not yet ordered.
struct UnorderedSet {
    rows: Vec<usize>,
    squared: Option<f64>,
    start_squared: Option<f64>,
    swept_squared: Option<f64>,
    objective: Option<ObjectiveStages>,
    swept: Swept,
    searched: bool,
    kernel_rows: u64,
}

/// Rows, their T²(D² − ‖μ‖²), the share of the joint part in it, and whether no single swap can reduce it.
#[derive(Clone)]
struct Scored {
    rows: Vec<usize>,
    energy: f64,
    joint_energy: f64,
    converged: bool,
}

impl Scored {
    /// Returns the better set; of two equal ones, the one known to be converged.
    fn or_better(self, other: Scored) -> Scored {
        let is_better = other.energy < self.energy || (other.energy == self.energy && !self.converged);
        if is_better { other } else { self }
    }
}

impl Refiner {
    /// Creates a refiner that chooses rows of these points to match the target of `mu`. Costs μ at each of them.
    pub fn new(mu: impl MeanEmbedding, points: Points, options: RefineOptions) -> Result<Refiner> {
        Refiner::over(Pool::new(mu, points)?, options)
    }

    /// Creates a refiner over a shared pool.
    pub fn over(pool: Pool, options: RefineOptions) -> Result<Refiner> {
        if let Some(Search { sweeps, rounds, .. }) = options.search {
            if sweeps == Some(0) || rounds == 0 {
                let advice = "search for at least one sweep and one round, or leave the search out";
                return Err(Error::BadOption { option: Opt::Search, value: 0.0, advice });
            }
            // The temperature is measured in units of E².
            pool.squared_norm().ok_or(Error::UnknownNorm)?;
        }
        // With groups, allowed rows are looked up one by one, which the GPU cannot do.
        let pool = if options.groups.is_some() { pool.to_host() } else { pool };
        let refiner = Refiner { pool, options };
        refiner.constraints().check()?;
        Ok(refiner)
    }

    /// The options.
    pub fn options(&self) -> &RefineOptions {
        &self.options
    }

    /// The pool, with μ, ‖μ‖² and the floor of errors.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Chooses a set of `size` rows by herding, sweeps and, if asked, the search. If `watch` ends the herding, the set
    /// has the rows so far.
    pub fn choose(&self, size: usize, watch: Watch) -> Result<Refined> {
        let constraints = self.constraints().for_size(size)?;
        let mut herder = self.herder().with_fast_errors();
        let set = match herd(&mut herder, &constraints, watch) {
            Err(Error::Interrupted) if !herder.indices().is_empty() => self.unfinished(herder.indices())?,
            herded => {
                herded?;
                self.refine(herder.into_scores(), &constraints, watch)?
            }
        };
        self.finish(set, watch)
    }

    /// Improves a set of rows by sweeps and, if asked, the search; the number of rows stays.
    ///
    /// Rows that must be included and are missing replace the last rows that may be removed.
    pub fn improve_rows(&self, rows: &[usize], watch: Watch) -> Result<Refined> {
        let set = self.refine_rows(rows, watch)?;
        self.finish(set, watch)
    }

    /// Improves the picks of a herder over the same pool by sweeps and, if asked, the search; their number stays.
    ///
    /// It continues from the herder's state, so kernel rows that the herder has [kept](Herder::keeping) are not
    /// computed again.
    ///
    /// ```
    /// use supersample::{Empirical, Kernel, Points, RefineOptions, Refiner, unwatched};
    /// let draws = Points::from_vec((0..200).map(|i| (i as f64 * 0.7).sin()).collect(), 1)?;
    /// let mu = Empirical::new(Kernel::gaussian(0.3)?, draws.clone())?;
    /// let refiner = Refiner::new(mu, draws, RefineOptions::default())?;
    /// let mut herder = refiner.herder();
    /// herder.run(10);
    /// assert_eq!(refiner.improve(herder, &unwatched)?, refiner.choose(10, &unwatched)?);
    /// # Ok::<(), supersample::Error>(())
    /// ```
    pub fn improve(&self, herder: Herder, watch: Watch) -> Result<Refined> {
        let set = self.refine_herded(herder, watch)?;
        self.finish(set, watch)
    }

    /// Returns a herder over the pool that keeps kernel rows for [`improve`](Self::improve).
    ///
    /// It respects `repeats` and excluded rows, but not groups and included rows.
    pub fn herder(&self) -> Herder {
        let herder = Herder::over(self.pool.clone()).unique(!self.options.repeats);
        let herder = herder.excluding(&self.options.exclude).expect("the rows have been checked");
        herder.keeping(self.options.memory)
    }

    /// Returns these rows in greedy order: each prefix is extended by the row that reduces its error most. Costs the
    /// pairs of the rows.
    pub fn greedy_order(&self, rows: &[usize]) -> Result<Vec<usize>> {
        self.greedily(rows, &unwatched).map(|(ordered, _)| ordered)
    }

    /// The rows in greedy order, and whether `watch` ended that: then those after some of them are in the given order.
    fn greedily(&self, rows: &[usize], watch: Watch) -> Result<(Vec<usize>, bool)> {
        let total = rows.len();
        let mut herder = Herder::over(self.pool.select(rows)?).unique(true).with_fast_errors();
        let goes_on = |done: usize| watch(Progress::Measuring { done, total }).is_continue();
        while goes_on(herder.indices().len()) && herder.next().is_some() {}
        let mut order = herder.indices().to_vec();
        let is_ended = order.len() < total;
        if is_ended {
            let mut is_taken = vec![false; total];
            order.iter().for_each(|&at| is_taken[at] = true);
            order.extend((0..total).filter(|&at| !is_taken[at]));
        }
        Ok((order.into_iter().map(|at| rows[at]).collect(), is_ended))
    }

    fn constraints(&self) -> ConstraintsAsked<'_> {
        let (points, mu) = (self.pool.points(), &**self.pool.embedding());
        let (rows, masses) = match Values::of(mu) {
            Values::Gram(gram) => (Some(gram.rows()), gram.weights()),
            Values::Kernel(_) => {
                let samples = as_samples(mu);
                (samples.map(|samples| samples.points()), samples.and_then(|samples| samples.weights()))
            }
        };
        let masses = masses.filter(|_| rows.is_some_and(|rows| rows.is_same_as(points)));
        ConstraintsAsked { options: &self.options, len: points.len(), masses }
    }

    fn refine_size(&self, size: usize, watch: Watch) -> Result<UnorderedSet> {
        let constraints = self.constraints().for_size(size)?;
        let mut herder = self.herder().with_fast_errors();
        herd(&mut herder, &constraints, watch)?;
        self.refine(herder.into_scores(), &constraints, watch)
    }

    fn refine_rows(&self, rows: &[usize], watch: Watch) -> Result<UnorderedSet> {
        let constraints = self.constraints().for_size(rows.len())?;
        let rows = with_included(rows, constraints.include());
        constraints.check(&rows, self.pool.points().len())?;
        let mut set = self.herder().into_scores();
        choose_rows(&mut set, &rows, watch)?;
        self.refine(set, &constraints, watch)
    }

    fn refine_herded(&self, herder: Herder, watch: Watch) -> Result<UnorderedSet> {
        if !herder.pool().is_same_as(&self.pool) || !herder.starts_from_nothing() {
            return Err(Error::OtherHerder);
        }
        let rows = herder.indices();
        let constraints = self.constraints().for_size(rows.len())?;
        constraints.check(rows, self.pool.points().len())?;
        let set = herder.into_scores();
        // The herder's state can be used if it has the same closed rows, and the included ones in the first positions.
        let serves = set.repeats() == self.options.repeats
            && set.closed() == self.options.exclude
            && set.chosen().starts_with(constraints.include());
        match serves {
            true => self.refine(set, &constraints, watch),
            false => self.refine_rows(set.chosen(), watch),
        }
    }

    /// Sweeps and, if asked, anneals; never returns a worse set than it is given.
    fn refine(&self, mut set: PoolScores, constraints: &Constraints, watch: Watch) -> Result<UnorderedSet> {
        let size = constraints.size() as f64;
        // A fit is a difference of numbers up to T, each right to a few units in the last place.
        let margin = self.pool.rounding(size);
        let start = self.scored(set.chosen(), false)?;
        set.settle_size()?;
        let mut swept = sweep(&mut set, constraints, self.options.max_sweeps, margin, watch);
        // Without a swap they are the same rows; to score them takes all of their pairs.
        let after_sweeps = match swept.swaps {
            0 => Scored { converged: swept.converged, ..start.clone() },
            _ => start.clone().or_better(self.scored(set.chosen(), swept.converged)?),
        };
        let (mut best, mut kernel_rows, mut searched) = (after_sweeps.clone(), 0, false);
        if let (Some(search), Some(norm)) = (self.options.search, self.pool.sum_squared_norm()) {
            let mut rng = Pcg64::seed_from_u64(search.seed);
            let points = self.pool.points();
            let by_size = || Search::sweeps_for(points.len(), constraints.size(), points.dim());
            let sweeps = search.sweeps.unwrap_or_else(by_size);
            for round in 0..search.rounds {
                let unit = size * (norm + best.energy / (size * size)) / self.pool.dimension();
                // Below rounding a search finds nothing.
                if sweeps == 0 || unit * size <= margin || swept.interrupted {
                    break;
                }
                searched = true;
                if round > 0 {
                    set.become_rows(&best.rows);
                }
                let single = match self.in_single(&set, unit, watch) {
                    Err(Error::Interrupted) => {
                        swept.interrupted = true;
                        break;
                    }
                    single => single?,
                };
                let (met, ended) = match single {
                    None => anneal::anneal(&mut set, constraints, sweeps, unit, &mut rng, watch),
                    Some(mut single) => {
                        let annealed =
                            anneal::anneal(&mut single, constraints, sweeps, unit, &mut rng, watch);
                        if !annealed.1 {
                            set.become_rows(single.chosen());
                        }
                        kernel_rows += single.kernel_rows();
                        annealed
                    }
                };
                let met = self.scored(&met, false)?;
                if ended {
                    // To become another set takes a kernel row for each row that differs.
                    (best, swept.interrupted) = (best.or_better(met), true);
                    break;
                }
                // The state at the end, then the best one met on the way if that is still better: each is swept,
                // because only then no single swap can reduce its error.
                let mut found = self.swept_to_rest(&mut set, constraints, margin, &mut swept, watch)?;
                if met.energy < found.energy {
                    set.become_rows(&met.rows);
                    let met_swept = self.swept_to_rest(&mut set, constraints, margin, &mut swept, watch)?;
                    found = met.or_better(met_swept);
                }
                best = best.or_better(found);
            }
        }
        let best_squared = self.pool.squared_norm().map(|norm| norm + best.joint_energy / (size * size));
        best_squared.map_or(Ok(()), |squared| self.pool.check_definite(squared))?;
        // All three in f64 where one is too small for f32, so that they can be compared; after an interruption as they are,
        // since each takes all pairs of its rows.
        let squared = |scored: &Scored| match swept.interrupted {
            true => Some(self.pool.squared_norm()? + scored.joint_energy / (size * size)),
            false => self.pool.squared_error(&scored.rows, scored.joint_energy, best_squared?),
        };
        let three = [&best, &start, &after_sweeps];
        let [squared, start_squared, swept_squared] = three.map(squared);
        let distance = |scored: &Scored, squared: Option<f64>| {
            self.pool.squared_distance(&scored.rows, squared?).map(f64::sqrt)
        };
        let objective = || {
            Some(ObjectiveStages {
                start: distance(&start, start_squared)?,
                swept: distance(&after_sweeps, swept_squared)?,
                end: distance(&best, squared)?,
            })
        };
        Ok(UnorderedSet {
            objective: objective(),
            squared,
            start_squared,
            swept_squared,
            swept: Swept { converged: best.converged, ..swept },
            searched,
            rows: best.rows,
            kernel_rows: set.kernel_rows() + kernel_rows,
        })
    }

    /// Returns the set with kernel rows in f32, if f32 is precise enough for temperatures from this unit up.
    fn in_single(&self, set: &PoolScores, unit: f64, watch: Watch) -> Result<Option<PoolScores>> {
        let size = set.chosen().len();
        if unit * anneal::cold(size) < 10.0 * self.pool.single_rounding(size as f64) {
            return Ok(None);
        }
        let Some(pool) = self.pool.in_single() else { return Ok(None) };
        let mut single = PoolScores::new(pool, set.closed().into(), set.repeats());
        single.keep(self.options.memory);
        choose_rows(&mut single, set.chosen(), watch)?;
        single.settle_size()?;
        Ok(Some(single))
    }

    /// Sweeps the set until no swap helps; `None` if the work was ended.
    fn swept_to_rest(
        &self,
        set: &mut PoolScores,
        constraints: &Constraints,
        margin: f64,
        total: &mut Swept,
        watch: Watch,
    ) -> Result<Scored> {
        let most = if total.interrupted { 0 } else { self.options.max_sweeps };
        let swept = sweep(set, constraints, most, margin, watch);
        total.sweeps += swept.sweeps;
        total.swaps += swept.swaps;
        total.interrupted |= swept.interrupted;
        self.scored(set.chosen(), swept.converged)
    }

    /// A set of the rows so far, where herding was ended.
    fn unfinished(&self, rows: &[usize]) -> Result<UnorderedSet> {
        let (scored, size) = (self.scored(rows, false)?, rows.len() as f64);
        let squared = self.pool.squared_norm().map(|norm| norm + scored.joint_energy / (size * size));
        let swept = Swept { sweeps: 0, swaps: 0, converged: false, interrupted: true };
        Ok(UnorderedSet {
            rows: scored.rows,
            squared,
            start_squared: squared,
            swept_squared: squared,
            objective: None,
            swept,
            searched: false,
            kernel_rows: rows.len() as u64,
        })
    }

    /// Puts the rows in order, unless the work was ended: to order them takes all of their pairs.
    fn finish(&self, set: UnorderedSet, watch: Watch) -> Result<Refined> {
        let UnorderedSet {
            rows,
            squared,
            start_squared,
            swept_squared,
            objective,
            swept,
            searched,
            kernel_rows,
        } = set;
        let root = |squared: f64| squared.max(0.0).sqrt();
        let (rows, is_ended) = match self.options.ordered && !swept.interrupted {
            true => self.greedily(&rows, watch)?,
            false => (rows, false),
        };
        Ok(Refined {
            rows,
            error: squared.map(root),
            squared_error: squared,
            start_error: start_squared.map(root),
            swept_error: swept_squared.map(root),
            objective,
            converged: swept.converged,
            interrupted: swept.interrupted || is_ended,
            searched,
            sweeps: swept.sweeps,
            swaps: swept.swaps,
            kernel_rows,
        })
    }

    /// The rows with their energy computed afresh from their pairs, free of the drift of running sums.
    fn scored(&self, rows: &[usize], converged: bool) -> Result<Scored> {
        let joint_energy = self.pool.joint_energy(rows)?;
        let energy = self.pool.energy_from(rows, joint_energy);
        Ok(Scored { rows: rows.to_vec(), energy, joint_energy, converged })
    }
}

/// Chooses these rows one after another: a kernel row over the pool for each.
fn choose_rows(set: &mut PoolScores, rows: &[usize], watch: Watch) -> Result<()> {
    for (done, &row) in rows.iter().enumerate() {
        if watch(Progress::Measuring { done, total: rows.len() }).is_break() {
            return Err(Error::Interrupted);
        }
        set.choose_row(row);
    }
    Ok(())
}

/// Herding within the constraints: the rows that must be in, then eq. 8 over the rows that may be.
fn herd(herder: &mut Herder, constraints: &Constraints, watch: Watch) -> Result<()> {
    herder.replay(constraints.include())?;
    while herder.indices().len() < constraints.size() {
        let (chosen, size) = (herder.indices().len(), constraints.size());
        if watch(Progress::Herding { chosen, size }).is_break() {
            return Err(Error::Interrupted);
        }
        let pick = match constraints.places_left(herder.indices()) {
            None => herder.next(),
            Some(left) => herder.next_among(|i| constraints.has_place(i, &left)),
        };
        herder.pool().check_device()?;
        pick.expect("the constraints leave a row for every place");
    }
    Ok(())
}

/// Returns the rows with included ones first; missing ones replace the last of the others.
fn with_included(rows: &[usize], include: &[usize]) -> Vec<usize> {
    let mut others = rows.to_vec();
    for row in include {
        if let Some(at) = others.iter().position(|other| other == row) {
            others.remove(at);
        }
    }
    include.iter().copied().chain(others).take(rows.len()).collect()
}
