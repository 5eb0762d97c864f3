//! The algorithm: kernel herding as an iterator of picks. Start reading here.
//!
//! Herding keeps a function w in the kernel's Hilbert space, starts it at w0 = μ, and repeats (eq. 1 and 2 of the paper)
//!
//! > x_{T+1} = argmax over x of w_T(x),  w_{T+1} = w_T + μ − φ(x_{T+1}).
//!
//! Written out over all picks so far (eq. 4), w_T = (T + 1)·μ − Σₜ φ(xₜ), so w itself is never stored; what is kept is
//! the sum of kernels over the picks at every candidate, and each step is one argmax (eq. 7) and one kernel row:
//!
//! > score(x) = (T + 1)·μ(x) − Σₜ k(x, xₜ)
//!
//! This is eq. 8 times T + 1, the greedy step on the error E_T of eq. 9. Where k(x, x) varies that step needs −k(x, x)/2
//! as well (expand E²_{T+1} in φ(x)), and the score then contains it.
//!
//! A pool may have parts that are matched beside the joint distribution of its rows. Then k in the score is the sum of
//! their kernels (`pool/sum_of_parts.rs`), and w is greedy on D; E_T, ‖w_T‖ and the margin are still those of the joint part.

mod space;

use std::sync::Arc;

use crate::embedding::{Values, as_stein};
use crate::ledger::Ledger;
use crate::pool::{Evaluated, PoolScores};
use crate::{AscentOptions, Domain, Error, MeanEmbedding, Points, Pool, Result};

/// Kernel herding of a target over a domain.
///
/// Building it computes μ on the pool or on the starts of the ascent; then each pick costs one kernel row over them.
/// It is an iterator that never fails and that ends only when `unique` has exhausted the pool. The first k of T picks
/// are the picks of a run of k. Ties go to the lowest index, and the number of threads changes nothing.
///
/// ```
/// use supersample::{Domain, Empirical, Herder, Kernel, Points, bandwidth};
/// let draws = Points::from_rows(&[0.1, 0.4, 0.5, 0.9, 2.0, 2.2], 1)?;
/// let kernel = Kernel::gaussian(bandwidth::median(&draws))?;
/// let mu = Empirical::new(kernel, draws.clone())?;
/// let mut herder = Herder::new(mu, Domain::Pool(draws))?.unique(true);
/// let first: Vec<_> = herder.by_ref().take(2).map(|pick| pick.index).collect();
/// assert_eq!(first, [Some(3), Some(1)]);
/// let rest = herder.run(100); // resumes; the pool has four more
/// assert_eq!((rest.len(), rest[0].t), (4, 3));
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone)]
pub struct Herder {
    /// The candidates: the pool, or the starts of the ascent.
    pool: Pool,
    /// How to climb from the best start; `None` where picks are rows of the pool.
    ascent: Option<AscentOptions>,
    /// Points that count as chosen before the first pick, and their masses.
    given: Option<(Points, Vec<f64>)>,
    /// Eq. 7 at every candidate.
    scores: PoolScores,
    /// E_T, ‖w_T‖ and the margins, and the points chosen so far.
    ledger: Ledger,
    t: usize,
}

impl Iterator for Herder {
    type Item = Pick;

    fn next(&mut self) -> Option<Pick> {
        // Eq. 7 at every candidate, after the kernel row of the last pick has been added.
        let (best, score) = self.scores.best(self.ledger.mean_factor())?;
        match self.ascent {
            None => Some(self.take_row(best, score)),
            Some(options) => Some(self.climb_from(best, options)),
        }
    }
}

/// One super-sample, and what the theory says of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Pick {
    /// T, the number of picks so far, this one included.
    pub t: usize,
    /// The row of the pool; `None` when herding in all of space.
    pub index: Option<usize>,
    /// The point.
    pub point: Box<[f64]>,
    /// The score by which it won (eq. 7), that of the sum where parts are matched.
    pub score: f64,
    /// E_T, the MMD between the target and the points chosen up to here (eq. 9); `None` where ‖μ‖² is not known. It
    /// does not fall at every step. Below [`Pool::error_floor`] it is rounding noise, and 0 where
    /// `squared_error` is negative.
    pub error: Option<f64>,
    /// E_T² as computed, a difference of near-equal numbers that rounding can make slightly negative.
    pub squared_error: Option<f64>,
    /// ‖w_T‖ after this pick, which stays bounded where the rate O(1/T) holds (eq. 14). `None` under
    /// the energy kernel, which has no norm for it.
    pub weight_norm: Option<f64>,
    /// The margin of eq. 15: the cosine between w before this pick and φ(x) − μ. `None` where one of them vanishes.
    pub margin: Option<f64>,
    /// Whether the ascent reached a local maximum; always true on a pool.
    pub converged: bool,
}

impl Herder {
    /// A herder that may repeat points. Costs μ at every candidate: n²/2 kernel values when the samples
    /// are their own pool.
    pub fn new(mu: impl MeanEmbedding, domain: Domain) -> Result<Herder> {
        Herder::shared(Arc::new(mu), domain)
    }

    /// A herder of an embedding that is shared with others.
    pub fn shared(mu: Arc<dyn MeanEmbedding>, domain: Domain) -> Result<Herder> {
        match domain {
            Domain::Pool(points) => Ok(Herder::over(Pool::shared(mu, points)?)),
            Domain::Ascent { starts, options } => {
                starts.expect_dim("the starts of the ascent", "the target", mu.dim())?;
                if as_stein(&*mu).is_some_and(|stein| !stein.has_space()) {
                    return Err(Error::Scores {
                        what: "points cannot be placed anywhere: the score is known at the rows only",
                        advice: "give the score as a function",
                    });
                }
                if let Values::Gram(_) = Values::of(&*mu) {
                    return Err(Error::NotWithGram { what: "an ascent" });
                }
                options.check()?;
                let pool = Pool::shared(mu, starts)?.to_host();
                Ok(Herder { ascent: Some(options), ..Herder::over(pool) })
            }
        }
    }

    /// A herder over a pool that is shared with others, which costs nothing.
    pub fn over(pool: Pool) -> Herder {
        Herder {
            ledger: Ledger::new(pool.embedding().clone()),
            scores: PoolScores::new(pool.clone(), Arc::default(), true),
            pool,
            ascent: None,
            given: None,
            t: 0,
        }
    }

    /// Whether every row of the pool may be picked only once. Off by default, as in the paper; without effect in
    /// continuous space, where no point has a row. Forgets all picks.
    pub fn unique(self, unique: bool) -> Herder {
        let closed = self.scores.closed().into();
        self.with_scores(closed, !unique)
    }

    /// Rows of the pool that are never picked: they stay in the target, if they are in it, and out of the choice. Forgets
    /// all picks.
    ///
    /// ```
    /// use supersample::{Domain, Empirical, Herder, Kernel, Points};
    /// let draws = Points::from_rows(&[0.1, 0.4, 0.5, 0.9, 2.0, 2.2], 1)?;
    /// let mu = Empirical::new(Kernel::gaussian(1.0)?, draws.clone())?;
    /// let herder = Herder::new(mu, Domain::Pool(draws))?.unique(true).excluding(&[3])?;
    /// let picked: Vec<usize> = herder.filter_map(|pick| pick.index).collect();
    /// assert!(picked.len() == 5 && !picked.contains(&3));
    /// # Ok::<(), supersample::Error>(())
    /// ```
    pub fn excluding(self, rows: &[usize]) -> Result<Herder> {
        let len = self.pool.points().len();
        if let Some(&index) = rows.iter().find(|&&index| index >= len) {
            return Err(Error::NoSuchRow { index, len });
        }
        let repeats = self.scores.repeats();
        Ok(self.with_scores(rows.into(), repeats))
    }

    fn with_scores(self, closed: Arc<[usize]>, repeats: bool) -> Herder {
        let scores = PoolScores::new(self.pool.clone(), closed, repeats);
        Herder { scores, ..self }.restart()
    }

    /// Counts these points as chosen already, whether or not they are in the domain: a warm start, or points that must be
    /// part of the set. A weight of 1 counts as one pick. E_T is the error of these points and the picks together. Forgets
    /// all picks. Rows of the pool are better given to [`replay`](Self::replay), which `unique` respects. Not for a pool
    /// with parts, which know the rows of the pool and nothing else.
    pub fn starting_from(mut self, points: Points, weights: Vec<f64>) -> Result<Herder> {
        let mu = self.pool.embedding().clone();
        if self.pool.has_parts() {
            return Err(Error::NotWithParts { what: "a start from given points" });
        }
        points.expect_dim("the given points", "the target", mu.dim())?;
        if weights.len() != points.len() {
            let (found, expected) = (weights.len(), points.len());
            return Err(Error::WeightCount { what: "given points", found, expected });
        }
        if let Some(index) = weights.iter().position(|w| !w.is_finite() || *w < 0.0) {
            return Err(Error::BadWeight { index, value: weights[index] });
        }
        if let Values::Gram(gram) = Values::of(&*mu) {
            gram.expect_rows(&points)?;
        }
        self.scores = self.scores.into_host();
        self.pool = self.scores.pool().clone();
        self.given = None;
        let mut herder = self.restart();
        let mut mu_values = vec![0.0; points.len()];
        mu.values_into(&points, &mut mu_values);
        for ((x, &weight), mu_value) in points.rows().zip(&weights).zip(mu_values) {
            let diagonal = Values::of(&*mu).diagonal(x);
            let known = Evaluated { mu: mu_value, chosen: herder.ledger.sum_at(x), diagonal };
            herder.ledger.choose(x, weight, known, || herder.pool.precise_value_at(x));
            herder.scores.choose_point(x, weight);
        }
        herder.given = Some((points, weights));
        Ok(herder)
    }

    /// Forgets all picks, keeps μ, the options and the given points.
    pub fn restart(mut self) -> Herder {
        self.ledger = Ledger::new(self.pool.embedding().clone());
        self.scores.restart();
        self.t = 0;
        match self.given.take() {
            None => self,
            Some((points, weights)) => self
                .starting_from(points, weights)
                .expect("points that were accepted before are accepted again"),
        }
    }

    /// Takes these rows of the pool as the next picks, in this order, whatever their scores: rows that must be
    /// included, or the picks of an earlier run that is to be continued. Nothing is picked if a row is refused.
    pub fn replay(&mut self, rows: &[usize]) -> Result<Vec<Pick>> {
        if self.ascent.is_some() {
            return Err(Error::NotAPool);
        }
        let len = self.pool.points().len();
        let mut is_taken = vec![false; len];
        self.indices().iter().for_each(|&index| is_taken[index] = true);
        let mut is_closed = vec![false; len];
        self.scores.closed().iter().for_each(|&index| is_closed[index] = true);
        for &index in rows {
            if index >= len {
                return Err(Error::NoSuchRow { index, len });
            }
            if is_closed[index] {
                return Err(Error::ExcludedRow { index });
            }
            if std::mem::replace(&mut is_taken[index], true) && !self.scores.repeats() {
                return Err(Error::RepeatedRow { index });
            }
        }
        let take = |index: &usize| {
            let score = self.scores.score_of(self.ledger.mean_factor(), *index);
            self.take_row(*index, score)
        };
        Ok(rows.iter().map(take).collect())
    }

    /// The next `n` picks; fewer once `unique` has exhausted the pool.
    pub fn run(&mut self, n: usize) -> Vec<Pick> {
        self.by_ref().take(n).collect()
    }

    /// All picks so far, in order; rows of the pool. Empty when herding in all of space.
    pub fn indices(&self) -> &[usize] {
        self.scores.chosen()
    }

    /// All points chosen so far in order, given ones first; `None` before the first.
    pub fn chosen(&self) -> Option<Points> {
        self.ledger.chosen_points()
    }

    /// E_T² of the points chosen so far, as computed; `None` where ‖μ‖² is not known. Before the first it is not a number.
    pub(crate) fn squared_error(&self) -> Option<f64> {
        self.ledger.squared_error()
    }

    /// The pool that is chosen from (or the starts of the ascent), with μ, ‖μ‖² and the floor of every error.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// What a herder says of these rows of a pool if it picks them in this order. Costs the pairs of the rows, not a pass
    /// over the pool for each.
    pub fn trace(pool: &Pool, rows: &[usize]) -> Result<Vec<Pick>> {
        Herder::trace_in(pool.select(rows)?, rows)
    }

    /// The picks of a pool that is made of the chosen rows alone.
    pub(crate) fn trace_in(chosen: Pool, rows: &[usize]) -> Result<Vec<Pick>> {
        let mut picks = Herder::over(chosen.clone()).replay(&(0..rows.len()).collect::<Vec<_>>())?;
        picks.iter().filter_map(|pick| pick.squared_error).try_for_each(|it| chosen.check_definite(it))?;
        picks.iter_mut().for_each(|pick| pick.index = pick.index.map(|index| rows[index]));
        Ok(picks)
    }

    /// What [`trace`](Self::trace) says where μ at each of the rows of a pool of their own is known better than that knows it.
    pub(crate) fn trace_measured(chosen: Pool, rows: &[usize], means: &[f64]) -> Result<Vec<Pick>> {
        if means.len() != rows.len() {
            return Err(Error::RecalledCount { found: means.len(), expected: rows.len() });
        }
        Herder::trace_in(chosen.measured(means), rows)
    }

    /// Keeps the kernel rows of its picks in up to so many bytes, for a [`Refiner`](crate::Refiner) that goes on from
    /// them: a swap then need not compute the row that it takes out. Forgets all picks.
    pub fn keeping(mut self, bytes: usize) -> Herder {
        self.scores.keep(bytes);
        self.restart()
    }

    /// This herder with errors along the way in single precision where its scores are, however small they become: for picks
    /// whose errors nobody reports.
    pub(crate) fn with_fast_errors(mut self) -> Herder {
        self.ledger = self.ledger.with_fast_errors();
        self
    }

    /// The next pick among rows that fulfil more than being open.
    pub(crate) fn next_among(&mut self, allowed: impl Fn(usize) -> bool + Sync) -> Option<Pick> {
        let (best, score) = self.scores.best_among(self.ledger.mean_factor(), allowed)?;
        Some(self.take_row(best, score))
    }

    /// Whether nothing but its picks is chosen.
    pub(crate) fn starts_from_nothing(&self) -> bool {
        self.given.is_none()
    }

    /// The running scores, for swaps to go on with.
    pub(crate) fn into_scores(self) -> PoolScores {
        self.scores
    }

    fn take_row(&mut self, index: usize, score: f64) -> Pick {
        let known = self.scores.evaluated(index);
        self.scores.choose_row(index);
        let pool = self.pool.clone();
        self.accept(pool.points().row(index), Some(index), score, known, || pool.precise_value(index))
    }

    /// Eq. 2 and what the theory says of it, for a point that the scores have taken in.
    fn accept(
        &mut self,
        x: &[f64],
        index: Option<usize>,
        score: f64,
        known: Evaluated,
        precise_mu: impl FnOnce() -> f64,
    ) -> Pick {
        let margin = self.ledger.choose(x, 1.0, known, precise_mu);
        self.t += 1;
        let squared_error = self.ledger.squared_error();
        let root = |square: f64| square.max(0.0).sqrt();
        Pick {
            t: self.t,
            index,
            point: x.into(),
            score,
            error: squared_error.map(root),
            squared_error,
            weight_norm: self.ledger.squared_weight_norm().map(root),
            margin,
            converged: true,
        }
    }
}
