//! Refinement: the best rows as a set, by herding, then sweeps of swaps, then, if asked, annealing, then a greedy order.
//!
//! Herding never takes a point back. A sweep does: it takes out the point at each position j in turn and puts in the
//! one that fits best beside the others, the argmax over the pool of
//!
//! > fit(x) = T·μ(x) − Σ_{t≠j} k(x, xₜ) − k(x, x)/2,
//!
//! because T²E² (eq. 9) changes by −2·(fit(new) − fit(old)). So E never rises, and ends where no single swap can lower it.
//!
//! Where the pool has parts, k and μ are those of the sum, and D takes the place of E: it never rises, while the error
//! that is reported, that of the joint part, may.

mod anneal;
mod constraints;
mod fewest;
mod options;
mod sweep;

use rand::SeedableRng;
use rand_pcg::Pcg64;

use self::constraints::{Constraints, ConstraintsAsked};
pub use self::fewest::Fewest;
pub use self::options::{RefineOptions, Search};
use self::sweep::{Swept, sweep};
use crate::embedding::{MeanEmbedding, Values, as_samples};
use crate::pool::PoolScores;
use crate::watch::{Progress, Watch};
use crate::words::Opt;
use crate::{Error, Herder, Points, Pool, Result};

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
    /// D, the objective, where the pool has parts; `None` where it has none, and the error is the objective.
    pub objective: Option<ObjectiveStages>,
    /// Whether no single swap can lower the error, or D where the pool has parts; false where `max_sweeps` ended the sweeps.
    pub converged: bool,
    /// Whether the watcher has ended the work: then this is the best set there was.
    pub interrupted: bool,
    /// Whether a search was made: not where none was asked for or its length comes to nothing, and not below rounding, where
    /// nothing is left to be found.
    pub searched: bool,
    /// Sweeps made, annealed ones not counted.
    pub sweeps: usize,
    /// Swaps made by these sweeps.
    pub swaps: usize,
    /// Rows of kernel values computed over the pool, for the herding, the sweeps and the search: the cost.
    pub kernel_rows: u64,
}

/// D on the way: the root of the sum over the joint part and all others, in units of one independent draw of each.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ObjectiveStages {
    /// Of the set before the sweeps.
    pub start: f64,
    /// After the sweeps and before the search.
    pub swept: f64,
    /// Of the set that is returned.
    pub end: f64,
}

/// Chooses the rows of a pool that match a target best as a set.
///
/// Whatever takes long takes a [`Watch`], which is told after every visit of a position, the cost of one kernel row.
/// [`Break`](std::ops::ControlFlow::Break) ends the work with the best set so far, marked as
/// [`interrupted`](Refined::interrupted), or with [`Error::Interrupted`] where there is none yet.
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

/// Rows, their T²(D² − ‖μ‖²) and what of it is the joint part's, and whether no single swap can lower it.
#[derive(Clone)]
struct Scored {
    rows: Vec<usize>,
    energy: f64,
    joint_energy: f64,
    converged: bool,
}

impl Scored {
    /// Of two that are equally good, one that is known to be at rest.
    fn or_better(self, other: Scored) -> Scored {
        let is_better = other.energy < self.energy || (other.energy == self.energy && !self.converged);
        if is_better { other } else { self }
    }
}

impl Refiner {
    /// A refiner of rows of these points towards the target of `mu`. Costs μ at each of them.
    pub fn new(mu: impl MeanEmbedding, points: Points, options: RefineOptions) -> Result<Refiner> {
        Refiner::over(Pool::new(mu, points)?, options)
    }

    /// A refiner of rows of a pool that is shared with others.
    pub fn over(pool: Pool, options: RefineOptions) -> Result<Refiner> {
        if let Some(Search { sweeps, rounds, .. }) = options.search {
            if sweeps == Some(0) || rounds == 0 {
                let advice = "search for at least one sweep and one round, or leave the search out";
                return Err(Error::BadOption { option: Opt::Search, value: 0.0, advice });
            }
            // The temperature is measured in units of E².
            pool.squared_norm().ok_or(Error::UnknownNorm)?;
        }
        // Which rows may take whose place is then looked up one by one.
        let pool = if options.groups.is_some() { pool.to_host() } else { pool };
        let refiner = Refiner { pool, options };
        refiner.constraints().check()?;
        Ok(refiner)
    }

    /// The options.
    pub fn options(&self) -> &RefineOptions {
        &self.options
    }

    /// The pool that is chosen from, with μ, ‖μ‖² and the floor of every error.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The best set of `size` rows that herding and sweeps, and the search if asked, find.
    pub fn choose(&self, size: usize, watch: Watch) -> Result<Refined> {
        let set = self.refine_size(size, watch)?;
        self.finish(set)
    }

    /// The best set that sweeps, and the search if asked, find from these rows; their number is kept. Rows that must be
    /// included are put in if they are missing, in place of the last that may go.
    pub fn improve_rows(&self, rows: &[usize], watch: Watch) -> Result<Refined> {
        let set = self.refine_rows(rows, watch)?;
        self.finish(set)
    }

    /// The best set that sweeps, and the search if asked, find from the picks of this herder over the pool of the refiner;
    /// their number is kept. It goes on from the herder's state, so no kernel row of a pick is computed again if the
    /// herder has [kept](Herder::keeping) it.
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
        self.finish(set)
    }

    /// A herder over the pool that may pick what the refiner may, groups and rows to be included aside, and keeps kernel
    /// rows for [`improve`](Self::improve).
    pub fn herder(&self) -> Herder {
        let herder = Herder::over(self.pool.clone()).unique(!self.options.repeats);
        let herder = herder.excluding(&self.options.exclude).expect("the rows have been checked");
        herder.keeping(self.options.memory)
    }

    /// These rows in greedy order: each prefix is extended by the row that lowers its error most. Costs the pairs of
    /// the rows.
    pub fn greedy_order(&self, rows: &[usize]) -> Result<Vec<usize>> {
        let herder = Herder::over(self.pool.select(rows)?).unique(true).with_fast_errors();
        Ok(herder.filter_map(|pick| pick.index).map(|index| rows[index]).collect())
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
        rows.iter().for_each(|&row| set.choose_row(row));
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
        // Its state serves if it has the same rows closed, and the included ones in the first positions.
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
        let after_sweeps = start.clone().or_better(self.scored(set.chosen(), swept.converged)?);
        let (mut best, mut kernel_rows, mut searched) = (after_sweeps.clone(), 0, false);
        if let (Some(search), Some(norm)) = (self.options.search, self.pool.sum_squared_norm()) {
            let mut rng = Pcg64::seed_from_u64(search.seed);
            let points = self.pool.points();
            let by_size = || Search::sweeps_for(points.len(), constraints.size(), points.dim());
            let sweeps = search.sweeps.unwrap_or_else(by_size);
            for round in 0..search.rounds {
                let unit = size * (norm + best.energy / (size * size)) / self.pool.dimension();
                // Nothing is left to be found below rounding.
                if sweeps == 0 || unit * size <= margin || swept.interrupted {
                    break;
                }
                searched = true;
                if round > 0 {
                    set.become_rows(&best.rows);
                }
                let (met, ended) = match self.in_single(&set, unit)? {
                    None => anneal::anneal(&mut set, constraints, sweeps, unit, &mut rng, watch),
                    Some(mut single) => {
                        let annealed =
                            anneal::anneal(&mut single, constraints, sweeps, unit, &mut rng, watch);
                        set.become_rows(single.chosen());
                        kernel_rows += single.kernel_rows();
                        annealed
                    }
                };
                let met = self.scored(&met, false)?;
                swept.interrupted = ended;
                // The state at the end, then the best one met on the way if that is still better: each is swept, since
                // only then no single swap can lower its error.
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
        // All three in f64 where one is too small for f32, so that they can be compared.
        let squared =
            |scored: &Scored| self.pool.squared_error(&scored.rows, scored.joint_energy, best_squared?);
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

    /// The set with kernel rows in f32, where that loses nothing at temperatures from this unit up.
    fn in_single(&self, set: &PoolScores, unit: f64) -> Result<Option<PoolScores>> {
        if unit * anneal::COLD < 10.0 * self.pool.single_rounding(set.chosen().len() as f64) {
            return Ok(None);
        }
        let Some(pool) = self.pool.in_single() else { return Ok(None) };
        let mut single = PoolScores::new(pool, set.closed().into(), set.repeats());
        single.keep(self.options.memory);
        set.chosen().iter().for_each(|&row| single.choose_row(row));
        single.settle_size()?;
        Ok(Some(single))
    }

    /// The set after sweeps until no swap helps; none where the work has been ended.
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

    fn finish(&self, set: UnorderedSet) -> Result<Refined> {
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
        Ok(Refined {
            rows: if self.options.ordered { self.greedy_order(&rows)? } else { rows },
            error: squared.map(root),
            squared_error: squared,
            start_error: start_squared.map(root),
            swept_error: swept_squared.map(root),
            objective,
            converged: swept.converged,
            interrupted: swept.interrupted,
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
