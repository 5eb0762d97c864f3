//! The algorithm: kernel herding as an iterator of picks. Start reading here.
//!
//! Herding keeps a function w in the kernel's Hilbert space, starts it at w0, and repeats (eq. 1 and 2 of the paper)
//!
//! > x_{T+1} = argmax over x of w_T(x),  w_{T+1} = w_T + μ − φ(x_{T+1}).
//!
//! Written out over all picks so far (eq. 4), w_T = w0 + T·μ − Σₜ φ(xₜ), so w itself is never stored; what is kept is
//! the sum of kernels over the picks at every candidate, and each step is one argmax (eq. 7) and one kernel row:
//!
//! > score(x) = w0(x) + T·μ(x) − Σₜ k(x, xₜ)
//!
//! With w0 = μ, the default, this is eq. 8 times T+1, the greedy step on the error E_T of eq. 9. Where k(x, x) varies
//! that step needs −k(x, x)/2 as well (expand E²_{T+1} in φ(x)), and the score then contains it.

mod exact;
mod space;

use std::sync::Arc;

use crate::candidates::{Candidates, pack};
use crate::embedding::Care;
use crate::expansion::expect_same_kernel;
use crate::ledger::{Evaluated, Ledger};
use crate::{Domain, Error, KernelExpansion, MeanEmbedding, Points, Precision, Result};

/// The function w0 that herding starts from (eq. 7), and what is already chosen.
#[derive(Clone, Debug, Default)]
pub enum Start {
    /// w0 = μ, the paper's assumption 1: every step is the greedy step on E_T. The default.
    #[default]
    Mean,
    /// w0 = 0. The first pick is a tie of all candidates (where k(x, x) is constant) and goes to the lowest index.
    Zero,
    /// w0 = Σⱼ aⱼ φ(zⱼ), any function written with kernels.
    Function(KernelExpansion),
    /// w0 = μ after these points have been chosen already, whether or not they are in the domain: a warm start, or
    /// points that must be part of the set. A weight of 1 counts as one pick. E_T is the error of these points and
    /// the picks together. Rows of the pool are better given to [`Herder::replay`], which `unique` respects.
    Given {
        /// The points.
        points: Points,
        /// Their masses in picks; finite and not negative.
        weights: Vec<f64>,
    },
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
    /// The score by which it won (eq. 7).
    pub score: f64,
    /// E_T, the MMD between the target and the points chosen up to here (eq. 9); `None` where ‖μ‖² is not known. It
    /// does not fall at every step. Below [`Herder::error_floor`] it is rounding noise, and 0 where
    /// `squared_error` is negative.
    pub error: Option<f64>,
    /// E_T² as computed, a difference of near-equal numbers that rounding can make slightly negative.
    pub squared_error: Option<f64>,
    /// ‖w_T‖ after this pick, which stays bounded where the rate O(1/T) holds (eq. 14).
    pub weight_norm: Option<f64>,
    /// The margin of eq. 15: the cosine between w before this pick and φ(x) − μ. `None` where one of them vanishes.
    pub margin: Option<f64>,
    /// Whether the ascent reached a local maximum; always true on a pool.
    pub converged: bool,
}

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
    mu: Arc<dyn MeanEmbedding>,
    domain: Domain,
    start: Start,
    unique: bool,
    /// Rows of the pool that may not be picked, in ascending order.
    excluded: Arc<[usize]>,
    candidates: Candidates,
    ledger: Ledger,
    /// How the ledger is kept once E_T has become too small for f32 (see `exact.rs`).
    exact: Option<Care>,
    t: usize,
    /// The chosen points one after the other, given ones first, and their masses.
    chosen_rows: Vec<f64>,
    chosen_weights: Vec<f64>,
    /// The rows of the pool picked so far, in order.
    indices: Vec<usize>,
}

impl Herder {
    /// A herder with w0 = μ that may repeat points. Costs μ at every candidate: n²/2 kernel values when the samples
    /// are their own pool.
    pub fn new(mu: impl MeanEmbedding + 'static, domain: Domain) -> Result<Herder> {
        Herder::shared(Arc::new(mu), domain)
    }

    /// The same from an embedding that is shared with others.
    pub fn shared(mu: Arc<dyn MeanEmbedding>, domain: Domain) -> Result<Herder> {
        match &domain {
            Domain::Pool(pool) => pool.expect_dim("the pool", "the target", mu.dim())?,
            Domain::Ascent { starts, options } => {
                starts.expect_dim("the starts of the ascent", "the target", mu.dim())?;
                options.check()?;
            }
        }
        let (mu, packed) = pack(mu, domain.candidates());
        let candidates = Candidates::new(&*mu, domain.candidates().clone(), packed)?;
        let squared_norm = mu.squared_norm();
        Ok(Herder {
            mu,
            domain,
            start: Start::Mean,
            unique: false,
            excluded: Arc::default(),
            candidates,
            ledger: Ledger::new(1.0, squared_norm, 0.0, 0.0),
            exact: None,
            t: 0,
            chosen_rows: Vec::new(),
            chosen_weights: Vec::new(),
            indices: Vec::new(),
        })
    }

    /// Whether every row of the pool may be picked only once. Off by default, as in the paper; without effect in
    /// continuous space, where no point has a row. Forgets all picks.
    pub fn unique(mut self, unique: bool) -> Herder {
        self.unique = unique;
        self.restart()
    }

    /// Bars these rows of the pool from being picked, and no others: rows that belong to the target but not among the
    /// chosen, such as samples of weight zero. They stay barred after a restart. Forgets all picks.
    ///
    /// ```
    /// use supersample::{Domain, Empirical, Herder, Kernel, Points};
    /// let draws = Points::from_rows(&[0.1, 0.4, 0.5, 0.9], 1)?;
    /// let mu = Empirical::new(Kernel::gaussian(0.5)?, draws.clone())?;
    /// let mut herder = Herder::new(mu, Domain::Pool(draws))?.unique(true).excluding(&[1, 2])?;
    /// assert_eq!(herder.run(4).len(), 2); // only rows 0 and 3 are left
    /// # Ok::<(), supersample::Error>(())
    /// ```
    pub fn excluding(mut self, rows: &[usize]) -> Result<Herder> {
        let Domain::Pool(pool) = &self.domain else { return Err(Error::NotAPool) };
        if let Some(&index) = rows.iter().find(|&&row| row >= pool.len()) {
            return Err(Error::NoSuchRow { index, len: pool.len() });
        }
        let mut rows = rows.to_vec();
        rows.sort_unstable();
        self.excluded = rows.into();
        Ok(self.restart())
    }

    /// Starts from this function instead of μ, with no picks yet.
    pub fn start(mut self, start: Start) -> Result<Herder> {
        let (mu, norm) = (&*self.mu, self.mu.squared_norm());
        let mut function_values = None;
        self.ledger = match &start {
            Start::Mean | Start::Given { .. } => Ledger::new(1.0, norm, 0.0, 0.0),
            Start::Zero => Ledger::new(0.0, norm, 0.0, 0.0),
            Start::Function(function) => {
                expect_same_kernel(function.kernel(), mu.kernel())?;
                let mean = function.expectation(mu)?;
                function_values = Some(function.values(self.candidates.points()));
                Ledger::new(0.0, norm, function.squared_norm(), mean)
            }
        };
        self.candidates.reset(function_values);
        self.excluded.iter().for_each(|&row| self.candidates.close(row));
        (self.exact, self.t) = (None, 0);
        (self.chosen_rows, self.chosen_weights, self.indices) = (Vec::new(), Vec::new(), Vec::new());
        if let Start::Given { points, weights } = &start {
            self.choose_given(points, weights)?;
        }
        self.start = start;
        Ok(self)
    }

    fn choose_given(&mut self, points: &Points, weights: &[f64]) -> Result<()> {
        points.expect_dim("the given points", "the target", self.mu.dim())?;
        if weights.len() != points.len() {
            let (found, expected) = (weights.len(), points.len());
            return Err(Error::WeightCount { what: "given points", found, expected });
        }
        if let Some(index) = weights.iter().position(|w| !w.is_finite() || *w < 0.0) {
            return Err(Error::BadWeight { index, value: weights[index] });
        }
        let mut mu_values = vec![0.0; points.len()];
        self.mu.values_into(points, &mut mu_values);
        for ((x, &weight), mu) in points.rows().zip(weights).zip(mu_values) {
            let known = Evaluated { mu, ..self.evaluate_chosen(x) };
            self.choose(x, weight, known);
        }
        Ok(())
    }

    /// Forgets all picks, keeps μ, the options and the starting function.
    pub fn restart(self) -> Herder {
        let start = self.start.clone();
        self.start(start).expect("a start that was accepted before is accepted again")
    }

    /// Takes these rows of the pool as the next picks, in this order, whatever their scores: rows that must be
    /// included, or the picks of an earlier run that is to be continued. Nothing is picked if a row is refused.
    pub fn replay(&mut self, rows: &[usize]) -> Result<Vec<Pick>> {
        let Domain::Pool(pool) = &self.domain else { return Err(Error::NotAPool) };
        let mut is_taken = vec![false; pool.len()];
        self.indices.iter().for_each(|&index| is_taken[index] = true);
        for &index in rows {
            if index >= pool.len() {
                return Err(Error::NoSuchRow { index, len: pool.len() });
            }
            if self.excluded.binary_search(&index).is_ok() {
                return Err(Error::ExcludedRow { index });
            }
            if std::mem::replace(&mut is_taken[index], true) && self.unique {
                return Err(Error::RepeatedRow { index });
            }
        }
        let take = |index: &usize| {
            self.candidates.settle();
            let score = self.candidates.score(self.ledger.share(), *index);
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
        &self.indices
    }

    /// All points chosen so far in order, given ones first; `None` before the first.
    pub fn chosen(&self) -> Option<Points> {
        Points::from_vec(self.chosen_rows.clone(), self.mu.dim()).ok()
    }

    /// μ at each row of the pool (or at each start of the ascent).
    pub fn candidate_values(&self) -> &[f64] {
        self.candidates.mu()
    }

    /// The mean embedding that is being matched.
    pub fn embedding(&self) -> &dyn MeanEmbedding {
        &*self.mu
    }

    /// ‖μ‖², in the precision of the kernel values.
    pub fn squared_norm(&self) -> Option<f64> {
        self.mu.squared_norm()
    }

    /// The precision of the kernel values: that of the samples, double for a density.
    pub fn precision(&self) -> Precision {
        self.candidates.precision()
    }

    /// The MMD between the target and these rows of the pool with equal weights, whether or not they were picked: the
    /// E_T of any other subset, for comparison. `None` where ‖μ‖² is not known. Costs the pairs of rows only, because μ
    /// on the pool is at hand.
    pub fn mmd_of_rows(&self, rows: &[usize]) -> Result<Option<f64>> {
        if !matches!(self.domain, Domain::Pool(_)) {
            return Err(Error::NotAPool);
        }
        let pairs = self.candidates.pair_sum(rows)?;
        let n = rows.len() as f64;
        let mean = rows.iter().map(|&row| self.candidates.mu()[row]).sum::<f64>() / n;
        let squared = |norm: f64| norm - 2.0 * mean + pairs / (n * n);
        Ok(self.squared_norm().map(squared).map(|squared| squared.max(0.0).sqrt()))
    }

    /// The size of E_T at which rounding takes over: E_T² is a difference of numbers near ‖μ‖² and k(x, x), each
    /// right to a few units in the last place. About 1e-7 for kernels with k(x, x) = 1.
    pub fn error_floor(&self) -> f64 {
        let size = self.candidates.largest_diagonal().max(self.squared_norm().unwrap_or(0.0));
        (32.0 * f64::EPSILON * size).sqrt()
    }

    fn take_row(&mut self, index: usize, score: f64) -> Pick {
        let points = self.candidates.points().clone();
        let x = points.row(index);
        let known = self.candidates.evaluated(index, self.mu.kernel().diagonal(x));
        self.indices.push(index);
        let pick = self.accept(x, Some(index), score, known, true);
        if self.unique {
            self.candidates.close(index);
        }
        pick
    }

    fn accept(
        &mut self,
        x: &[f64],
        index: Option<usize>,
        score: f64,
        known: Evaluated,
        converged: bool,
    ) -> Pick {
        let known = self.exactly(x).unwrap_or(known);
        let margin = self.ledger.margin(known);
        self.choose(x, 1.0, known);
        self.t += 1;
        self.turn_exact_if_needed();
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
            converged,
        }
    }

    /// Eq. 2: puts a point with this mass among the chosen.
    fn choose(&mut self, x: &[f64], mass: f64, known: Evaluated) {
        self.ledger.choose(mass, known);
        self.candidates.choose(x, mass);
        self.chosen_rows.extend_from_slice(x);
        self.chosen_weights.push(mass);
    }

    /// Σ aⱼ k(x, zⱼ) over what is chosen, f(x) and k(x, x) at any point, in f64; μ(x) is left to the caller.
    fn evaluate_chosen(&self, x: &[f64]) -> Evaluated {
        let kernel = self.mu.kernel();
        let chosen = self.chosen_rows.chunks_exact(x.len()).zip(&self.chosen_weights);
        let chosen = chosen.map(|(y, w)| w * kernel.value(x, y)).sum();
        let function = if let Start::Function(function) = &self.start { function.value(x) } else { 0.0 };
        Evaluated { mu: f64::NAN, chosen, function, diagonal: kernel.diagonal(x) }
    }
}

impl Iterator for Herder {
    type Item = Pick;

    fn next(&mut self) -> Option<Pick> {
        // Eq. 7 at every candidate, after the kernel row of the last pick has been added.
        let (best, score) = self.candidates.best(self.ledger.share())?;
        match self.domain {
            Domain::Pool(_) => Some(self.take_row(best, score)),
            Domain::Ascent { options, .. } => Some(self.climb_from(best, options)),
        }
    }
}
