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

mod space;

use std::sync::Arc;

use crate::expansion::expect_same_kernel;
use crate::ledger::{Evaluated, Ledger};
use crate::{Domain, Empirical, Error, KernelExpansion, MeanEmbedding, Points, Result, sum};

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
    /// μ at each candidate.
    mu_values: Arc<[f64]>,
    /// f at each candidate, where w0 has a part f that is a kernel expansion.
    function_values: Option<Arc<[f64]>>,
    /// k(x, x)/2 at each candidate, where it varies.
    half_diagonal: Option<Arc<[f64]>>,
    squared_norm: Option<f64>,
    largest_diagonal: f64,
    state: State,
}

/// What changes from pick to pick.
#[derive(Clone)]
struct State {
    t: usize,
    /// Σⱼ aⱼ k(x, zⱼ) over all that is chosen, at each candidate.
    chosen_sums: Vec<f64>,
    /// Candidates that have been picked.
    is_taken: Vec<bool>,
    /// The chosen points one after the other, given ones first, and their masses.
    chosen_rows: Vec<f64>,
    chosen_weights: Vec<f64>,
    /// The rows of the pool picked so far, in order.
    indices: Vec<usize>,
    ledger: Ledger,
}

impl Herder {
    /// A herder with w0 = μ that may repeat points. Costs μ at every candidate: n² kernel values when the samples
    /// are their own pool.
    pub fn new(mu: impl MeanEmbedding + 'static, domain: Domain) -> Result<Herder> {
        Herder::shared(Arc::new(mu), domain)
    }

    /// The same from an embedding that is shared with others.
    pub fn shared(mu: Arc<dyn MeanEmbedding>, domain: Domain) -> Result<Herder> {
        let candidates = domain.candidates();
        match &domain {
            Domain::Pool(pool) => pool.expect_dim("the pool", "the target", mu.dim())?,
            Domain::Ascent { starts, options } => {
                starts.expect_dim("the starts of the ascent", "the target", mu.dim())?;
                options.check()?;
            }
        }
        let kernel = mu.kernel();
        let diagonal: Option<Vec<f64>> = (!kernel.has_constant_diagonal())
            .then(|| candidates.rows().map(|x| kernel.diagonal(x)).collect());
        // |k(x, y)| ≤ max k(x, x), so this bounds every sum of up to 10¹⁵ kernel values below the largest float.
        let largest_diagonal = diagonal.iter().flatten().fold(1.0, |a: f64, &b| a.max(b));
        if largest_diagonal > 1e290 {
            return Err(Error::Overflow { value: largest_diagonal });
        }
        let mut mu_values = vec![0.0; candidates.len()];
        mu.values_into(candidates, &mut mu_values);
        let squared_norm = mu.squared_norm();
        if let Some(value) = mu_values.iter().copied().chain(squared_norm).find(|value| !value.is_finite()) {
            return Err(Error::Overflow { value });
        }
        let state = State::new(candidates.len(), Ledger::new(1.0, squared_norm, 0.0, 0.0));
        Ok(Herder {
            start: Start::Mean,
            unique: false,
            mu_values: mu_values.into(),
            function_values: None,
            half_diagonal: diagonal.map(|values| values.iter().map(|k| k / 2.0).collect()),
            squared_norm,
            largest_diagonal,
            mu,
            domain,
            state,
        })
    }

    /// Whether every row of the pool may be picked only once. Off by default, as in the paper; without effect in
    /// continuous space, where no point has a row.
    pub fn unique(mut self, unique: bool) -> Herder {
        self.unique = unique;
        self
    }

    /// Starts from this function instead of μ, with no picks yet.
    pub fn start(mut self, start: Start) -> Result<Herder> {
        let (mu, candidates) = (&*self.mu, self.domain.candidates());
        let fresh = |share, norm, mean| {
            State::new(candidates.len(), Ledger::new(share, self.squared_norm, norm, mean))
        };
        self.function_values = None;
        self.state = match &start {
            Start::Mean => fresh(1.0, 0.0, 0.0),
            Start::Zero => fresh(0.0, 0.0, 0.0),
            Start::Function(function) => {
                expect_same_kernel(function.kernel(), mu.kernel())?;
                let mean = function.expectation(mu)?;
                self.function_values = Some(function.values(candidates).into());
                fresh(0.0, function.squared_norm(), mean)
            }
            Start::Given { points, weights } => {
                points.expect_dim("the given points", "the target", mu.dim())?;
                if weights.len() != points.len() {
                    let (found, expected) = (weights.len(), points.len());
                    return Err(Error::WeightCount { what: "given points", found, expected });
                }
                if let Some(index) = weights.iter().position(|w| !w.is_finite() || *w < 0.0) {
                    return Err(Error::BadWeight { index, value: weights[index] });
                }
                let mut state = fresh(1.0, 0.0, 0.0);
                let mut mu_values = vec![0.0; points.len()];
                mu.values_into(points, &mut mu_values);
                for ((x, &weight), mu_value) in points.rows().zip(weights).zip(mu_values) {
                    let known = state.evaluate(mu, mu_value, 0.0, x);
                    state.choose(mu, candidates, x, weight, known);
                }
                state
            }
        };
        self.start = start;
        Ok(self)
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
        let mut is_taken = self.state.is_taken.clone();
        for &index in rows {
            if index >= pool.len() {
                return Err(Error::NoSuchRow { index, len: pool.len() });
            }
            if self.unique && std::mem::replace(&mut is_taken[index], true) {
                return Err(Error::RepeatedRow { index });
            }
        }
        Ok(rows.iter().map(|&index| self.take_row(index)).collect())
    }

    /// The next `n` picks; fewer once `unique` has exhausted the pool.
    pub fn run(&mut self, n: usize) -> Vec<Pick> {
        self.by_ref().take(n).collect()
    }

    /// All picks so far, in order; rows of the pool. Empty when herding in all of space.
    pub fn indices(&self) -> &[usize] {
        &self.state.indices
    }

    /// All points chosen so far in order, given ones first; `None` before the first.
    pub fn chosen(&self) -> Option<Points> {
        Points::from_vec(self.state.chosen_rows.clone(), self.mu.dim()).ok()
    }

    /// μ at each row of the pool (or at each start of the ascent).
    pub fn candidate_values(&self) -> &[f64] {
        &self.mu_values
    }

    /// The mean embedding that is being matched.
    pub fn embedding(&self) -> &dyn MeanEmbedding {
        &*self.mu
    }

    /// ‖μ‖², as used in every E_T.
    pub fn squared_norm(&self) -> Option<f64> {
        self.squared_norm
    }

    /// The MMD between the target and these rows of the pool with equal weights, whether or not they were picked: the
    /// E_T of any other subset, for comparison. `None` where ‖μ‖² is not known. Costs the pairs of rows only, because μ
    /// on the pool is at hand.
    pub fn mmd_of_rows(&self, rows: &[usize]) -> Result<Option<f64>> {
        let Domain::Pool(pool) = &self.domain else { return Err(Error::NotAPool) };
        let subset = Empirical::new(self.mu.kernel().clone(), pool.select(rows)?)?;
        let mean = rows.iter().map(|&row| self.mu_values[row]).sum::<f64>() / rows.len() as f64;
        let squared = |norm: f64| Some(norm - 2.0 * mean + subset.squared_norm()?);
        Ok(self.squared_norm.and_then(squared).map(|squared| squared.max(0.0).sqrt()))
    }

    /// The size of E_T at which rounding takes over: E_T² is a difference of numbers near ‖μ‖² and k(x, x), each
    /// right to a few units in the last place. About 1e-7 for kernels with k(x, x) = 1.
    pub fn error_floor(&self) -> f64 {
        (32.0 * f64::EPSILON * self.largest_diagonal.max(self.squared_norm.unwrap_or(0.0))).sqrt()
    }

    /// Eq. 7 at candidate `i`, with −k(x, x)/2 where that varies.
    fn score(&self, i: usize) -> f64 {
        let State { ledger, chosen_sums, .. } = &self.state;
        let mut score = (ledger.mean_share + ledger.mass) * self.mu_values[i] - chosen_sums[i];
        if let Some(function_values) = &self.function_values {
            score += function_values[i];
        }
        if let Some(half_diagonal) = &self.half_diagonal {
            score -= half_diagonal[i];
        }
        score
    }

    fn take_row(&mut self, index: usize) -> Pick {
        let score = self.score(index);
        let Domain::Pool(pool) = self.domain.clone() else { unreachable!("only a pool has rows") };
        let x = pool.row(index);
        let known = Evaluated {
            mu: self.mu_values[index],
            chosen: self.state.chosen_sums[index],
            function: self.function_values.as_ref().map_or(0.0, |values| values[index]),
            diagonal: self.mu.kernel().diagonal(x),
        };
        self.state.is_taken[index] = true;
        self.state.indices.push(index);
        self.accept(x, Some(index), score, known, true)
    }

    fn accept(
        &mut self,
        x: &[f64],
        index: Option<usize>,
        score: f64,
        known: Evaluated,
        converged: bool,
    ) -> Pick {
        let margin = self.state.ledger.margin(known);
        self.state.choose(&*self.mu, self.domain.candidates(), x, 1.0, known);
        self.state.t += 1;
        let squared_error = self.state.ledger.squared_error();
        let root = |square: f64| square.max(0.0).sqrt();
        Pick {
            t: self.state.t,
            index,
            point: x.into(),
            score,
            error: squared_error.map(root),
            squared_error,
            weight_norm: self.state.ledger.squared_weight_norm().map(root),
            margin,
            converged,
        }
    }
}

impl Iterator for Herder {
    type Item = Pick;

    fn next(&mut self) -> Option<Pick> {
        let candidates = self.mu_values.len();
        match &self.domain {
            Domain::Pool(_) => {
                let is_open = |i: usize| !(self.unique && self.state.is_taken[i]);
                let (index, _) = sum::argmax(candidates, |i| is_open(i).then(|| self.score(i)))?;
                Some(self.take_row(index))
            }
            Domain::Ascent { options, .. } => {
                let options = *options;
                let (best, _) = sum::argmax(candidates, |i| Some(self.score(i)))?;
                Some(self.climb_from(best, options))
            }
        }
    }
}

impl State {
    fn new(candidates: usize, ledger: Ledger) -> State {
        State {
            t: 0,
            chosen_sums: vec![0.0; candidates],
            is_taken: vec![false; candidates],
            chosen_rows: Vec::new(),
            chosen_weights: Vec::new(),
            indices: Vec::new(),
            ledger,
        }
    }

    /// What is known of a point that need not be a candidate.
    fn evaluate(&self, mu: &dyn MeanEmbedding, mu_value: f64, function: f64, x: &[f64]) -> Evaluated {
        let chosen = self.chosen_rows.chunks_exact(x.len()).zip(&self.chosen_weights);
        let chosen = chosen.map(|(y, w)| w * mu.kernel().value(x, y)).sum();
        Evaluated { mu: mu_value, chosen, function, diagonal: mu.kernel().diagonal(x) }
    }

    /// Eq. 2: puts a point with this mass among the chosen, one kernel row over the candidates.
    fn choose(
        &mut self,
        mu: &dyn MeanEmbedding,
        candidates: &Points,
        x: &[f64],
        weight: f64,
        known: Evaluated,
    ) {
        self.ledger.choose(weight, known);
        sum::add_row_into(mu.kernel(), candidates, x, weight, &mut self.chosen_sums);
        self.chosen_rows.extend_from_slice(x);
        self.chosen_weights.push(weight);
    }
}
