//! The algorithm: kernel herding as an iterator of picks. Start reading here.
//!
//! Herding keeps a function w in the kernel's Hilbert space, starts it at w0 = μ, and repeats (eq. 1 and 2 of the paper)
//!
//! > x_{T+1} = argmax over x of w_T(x),  w_{T+1} = w_T + μ − φ(x_{T+1}).
//!
//! Written out over all picks so far (eq. 4), w_T = (T + 1)·μ − Σₜ φ(xₜ). So w is never stored. The herder stores the
//! sum of kernels over the picks at every candidate, and each step is one argmax (eq. 7) and one kernel row:
//!
//! > score(x) = (T + 1)·μ(x) − Σₜ k(x, xₜ)
//!
//! This is eq. 8 times T + 1, the greedy step on the error E_T of eq. 9. If k(x, x) varies (linear and Stein kernels),
//! that step also needs −k(x, x)/2 (expand E²_{T+1} in φ(x)), and the score contains it.
//!
//! A pool may have parts: terms of the objective in addition to the joint distribution. Then k in the score is the sum
//! of their kernels (`pool/sum_of_parts.rs`), and w is greedy on D. E_T, ‖w_T‖ and the margin are always those of the
//! joint part.
//!
//! There is one herding loop, `Herder::next`. Constrained sets, stop rules, greedy orders and traces all run it, and a
//! `Refiner` continues from the herder's state.

mod space;

use std::collections::HashMap;
use std::sync::Arc;

use crate::embedding::{Values, as_stein};
use crate::ledger::Ledger;
use crate::pool::{Evaluated, PoolScores};
use crate::watch::{Progress, Watch, unwatched};
use crate::{AscentOptions, Domain, Error, MeanEmbedding, Points, Pool, Result};

/// Kernel herding of a target over a domain.
///
/// The constructor computes μ on the pool, or on the starts of the ascent. Then each pick costs one kernel row over
/// them. The iterator never fails and ends only when `unique` has exhausted the pool. The first k of T picks are the
/// picks of a run of k. Ties go to the lowest index. The number of threads does not change the picks.
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
    /// How to climb from the best start; `None` if picks are rows of the pool.
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

/// One chosen point (super-sample), with the quantities of the theory.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Pick {
    /// T, the number of picks so far, this one included.
    pub t: usize,
    /// The row of the pool; `None` when herding in all of space.
    pub index: Option<usize>,
    /// The point.
    pub point: Box<[f64]>,
    /// Score of the point (eq. 7). With parts, that of the sum. Not a number where tracing was ended.
    pub score: f64,
    /// E_T, the MMD between the target and the points chosen up to here (eq. 9); `None` if ‖μ‖² is not known. It
    /// does not fall at every step. Below [`Pool::error_floor`] it is rounding noise, and 0 where
    /// `squared_error` is negative.
    pub error: Option<f64>,
    /// E_T² as computed, a difference of near-equal numbers that rounding can make slightly negative.
    pub squared_error: Option<f64>,
    /// ‖w_T‖ after this pick, which stays bounded where the rate O(1/T) holds (eq. 14). `None` under
    /// the energy kernel, which has no norm for it.
    pub weight_norm: Option<f64>,
    /// The margin of eq. 15: the cosine between w before this pick and φ(x) − μ. `None` if one of them vanishes.
    pub margin: Option<f64>,
    /// Whether the ascent reached a local maximum; always true on a pool.
    pub converged: bool,
}

impl Herder {
    /// Creates a herder that may repeat points.
    ///
    /// Costs μ at every candidate: n²/2 kernel values if the samples are their own pool.
    pub fn new(mu: impl MeanEmbedding, domain: Domain) -> Result<Herder> {
        Herder::shared(Arc::new(mu), domain)
    }

    /// Creates a herder of a shared embedding.
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

    /// Creates a herder over a shared pool, at no cost.
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

    /// Sets whether each row of the pool may be picked only once.
    ///
    /// Off by default, as in the paper. No effect in continuous space, where points have no row. Forgets all picks.
    pub fn unique(self, unique: bool) -> Herder {
        let closed = self.scores.closed().into();
        self.with_scores(closed, !unique)
    }

    /// Excludes rows of the pool from being picked; they stay part of the target.
    ///
    /// Forgets all picks.
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

    /// Counts these points as already chosen, inside or outside the domain.
    ///
    /// A weight of 1 counts as one pick. E_T is the error of these points and the picks together. Forgets all picks.
    /// For rows of the pool use [`replay`](Self::replay), which `unique` respects. Not for a pool with parts, which are
    /// known only at the rows of the pool.
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
            herder.ledger.choose(x, None, weight, known, || herder.pool.precise_value_at(x));
            herder.scores.choose_point(x, weight);
        }
        herder.given = Some((points, weights));
        Ok(herder)
    }

    /// Forgets all picks; keeps μ, the options and the given points.
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

    /// Takes these rows of the pool as the next picks, in this order, without regard to their scores.
    ///
    /// For rows that must be included, or to continue an earlier run. If one row is refused, none is picked.
    pub fn replay(&mut self, rows: &[usize]) -> Result<Vec<Pick>> {
        self.check_replay(rows)?;
        Ok(rows.iter().map(|&row| self.take_again(row)).collect())
    }

    /// Refuses rows that [`replay`](Self::replay) cannot take; costs a pass over the pool.
    pub(crate) fn check_replay(&self, rows: &[usize]) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
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
        Ok(())
    }

    /// Takes a row of the pool that has been checked as the next pick, without regard to its score.
    pub(crate) fn take_again(&mut self, row: usize) -> Pick {
        let score = self.scores.score_of(self.ledger.mean_factor(), row);
        self.take_row(row, score)
    }

    /// Returns the next `n` picks; fewer if `unique` exhausts the pool.
    pub fn run(&mut self, n: usize) -> Vec<Pick> {
        self.by_ref().take(n).collect()
    }

    /// Rows of all picks so far, in order. Empty when herding in all of space.
    pub fn indices(&self) -> &[usize] {
        self.scores.chosen()
    }

    /// All chosen points so far, given ones first; `None` before the first.
    pub fn chosen(&self) -> Option<Points> {
        if self.ascent.is_some() {
            return self.ledger.chosen_points();
        }
        // The ledger has each row once.
        let given = self.given.iter().flat_map(|(points, _)| points.as_slice());
        let rows = self.indices().iter().flat_map(|&row| self.pool.points().row(row));
        Points::from_vec(given.chain(rows).copied().collect(), self.pool.points().dim()).ok()
    }

    #[cfg(test)]
    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// E_T² of the points chosen so far, as computed; `None` if ‖μ‖² is not known. Before the first it is not a number.
    pub(crate) fn squared_error(&self) -> Option<f64> {
        self.ledger.squared_error()
    }

    /// The pool (or the starts of the ascent), with μ, ‖μ‖² and the floor of errors.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Returns the picks of a herder that takes these rows of a pool in this order.
    ///
    /// Costs the pairs of the rows, not a pass over the pool for each.
    pub fn trace(pool: &Pool, rows: &[usize]) -> Result<Vec<Pick>> {
        Herder::trace_in(pool.select(rows)?, rows)
    }

    /// The picks of a pool that is made of the chosen rows alone.
    pub(crate) fn trace_in(chosen: Pool, rows: &[usize]) -> Result<Vec<Pick>> {
        let traced = Herder::trace_watched(chosen, rows, &unwatched)?;
        Ok(traced.expect("nothing ends it"))
    }

    /// [`trace_in`](Self::trace_in), or `None` where `watch` ends it. A row that is there several times is in the pool once, so that
    /// the time of a long run grows with the picks times the rows, as that of herding does.
    pub(crate) fn trace_watched(chosen: Pool, rows: &[usize], watch: Watch) -> Result<Option<Vec<Pick>>> {
        let (total, mut firsts, mut known) = (rows.len(), Vec::new(), HashMap::new());
        let place = |(at, row): (usize, &usize)| {
            *known.entry(*row).or_insert_with(|| {
                firsts.push(at);
                firsts.len() - 1
            })
        };
        let places: Vec<usize> = rows.iter().enumerate().map(place).collect();
        let chosen = if firsts.len() < total { chosen.select(&firsts)? } else { chosen };
        let (mut herder, mut picks) = (Herder::over(chosen.clone()), Vec::with_capacity(total));
        for (done, &place) in places.iter().enumerate() {
            if watch(Progress::Measuring { done, total }).is_break() {
                return Ok(None);
            }
            picks.push(Pick { index: Some(rows[done]), ..herder.take_again(place) });
        }
        picks.iter().filter_map(|pick| pick.squared_error).try_for_each(|it| chosen.check_definite(it))?;
        Ok(Some(picks))
    }

    /// The picks of rows in this order where only the error of all of them is known.
    pub(crate) fn untraced(chosen: &Pool, rows: &[usize], squared_error: Option<f64>) -> Vec<Pick> {
        let one = |(at, &row): (usize, &usize)| {
            let squared_error = squared_error.filter(|_| at + 1 == rows.len());
            Pick {
                t: at + 1,
                index: Some(row),
                point: chosen.points().row(at).into(),
                score: f64::NAN,
                error: squared_error.map(|squared| squared.max(0.0).sqrt()),
                squared_error,
                weight_norm: None,
                margin: None,
                converged: true,
            }
        };
        rows.iter().enumerate().map(one).collect()
    }

    /// [`trace`](Self::trace) with better values of μ at the rows than their pool has.
    pub(crate) fn trace_measured(chosen: Pool, rows: &[usize], means: &[f64]) -> Result<Vec<Pick>> {
        if means.len() != rows.len() {
            return Err(Error::RecalledCount { found: means.len(), expected: rows.len() });
        }
        Herder::trace_in(chosen.measured(means), rows)
    }

    /// Keeps the kernel rows of its picks in at most `bytes` bytes.
    ///
    /// A [`Refiner`](crate::Refiner) that continues from them then need not compute the row that a swap takes out.
    /// Forgets all picks.
    pub fn keeping(mut self, bytes: usize) -> Herder {
        self.scores.keep(bytes);
        self.restart()
    }

    /// Computes errors in the precision of the scores, however small they become. For picks whose errors are not
    /// reported.
    pub(crate) fn with_fast_errors(mut self) -> Herder {
        self.ledger = self.ledger.with_fast_errors();
        self
    }

    /// Returns the next pick among open rows that fulfil a further condition.
    pub(crate) fn next_among(&mut self, allowed: impl Fn(usize) -> bool + Sync) -> Option<Pick> {
        let (best, score) = self.scores.best_among(self.ledger.mean_factor(), allowed)?;
        Some(self.take_row(best, score))
    }

    /// Whether there are no given points.
    pub(crate) fn starts_from_nothing(&self) -> bool {
        self.given.is_none()
    }

    /// The running scores, from which swaps continue.
    pub(crate) fn into_scores(self) -> PoolScores {
        self.scores
    }

    fn take_row(&mut self, index: usize, score: f64) -> Pick {
        let known = self.scores.evaluated(index);
        self.scores.choose_row(index);
        let pool = self.pool.clone();
        self.accept(pool.points().row(index), Some(index), score, known, || pool.precise_value(index))
    }

    /// Applies eq. 2 for a point that the scores have taken in, and returns the pick.
    fn accept(
        &mut self,
        x: &[f64],
        index: Option<usize>,
        score: f64,
        known: Evaluated,
        precise_mu: impl FnOnce() -> f64,
    ) -> Pick {
        let margin = self.ledger.choose(x, index, 1.0, known, precise_mu);
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
