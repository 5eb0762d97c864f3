//! Diagnosis: how far the draws themselves are from what they were drawn from, and whether their chains agree.

use std::borrow::Cow;

use super::problem::{Kind, Problem};
use super::{Advice, Target};
use crate::chains::{Autocovariance, Chains};
use crate::quality::systematic_rows;
use crate::watch::Progress;
use crate::{Empirical, Error, Kernel, MeanEmbedding, Points, Precision, Result, Watch};

/// Fewer rows say nothing of how they follow each other.
const FEWEST: usize = 4;

/// Chains are compared with each other by at most this number of rows, evenly spaced in each.
const COMPARED: usize = 8192;

/// Rows that approximate the mean embedding of more weighted rows than that.
const APPROXIMATING: usize = 2048;

/// How far draws are from what they were drawn from.
///
/// ```
/// use supersample::task::{Choose, Problem, Rows};
/// use supersample::{Chains, Points, unwatched};
/// // Two chains of 500 draws, each of which is close to the one before it.
/// let rows: Vec<f64> = (0..1000).map(|i| (f64::from(i) * 0.1).sin() + (f64::from(i) * 0.7).cos()).collect();
/// let rows = Rows::new(Points::from_vec(rows, 1)?).chains(Chains::equal(2, 1000)?)?;
/// let found = Problem::new(rows, Choose::nothing(None))?.diagnose(&unwatched)?;
/// assert!(found.chains == 2 && found.kernel_ess < 500.0 && found.disagreement.is_some());
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Diagnosis {
    /// How many draws there are.
    pub draws: usize,
    /// In how many chains.
    pub chains: usize,
    /// Whether nothing was known of chains, so that the rows were taken as one chain in their order.
    pub is_assumed: bool,
    /// The kernel effective sample size: the number of independent draws with the same expected squared MMD to what the draws
    /// are of.
    pub kernel_ess: f64,
    /// How much chains differ (the two halves, where there is one), over what is expected of chains that have mixed: about 1, and
    /// rarely more than 2, or 4 for two chains or halves. `None` where there are too few draws in each.
    pub disagreement: Option<f64>,
}

impl Diagnosis {
    /// Whether the chains differ by more than chains that have mixed.
    pub fn disagrees(&self) -> bool {
        self.disagreement.is_some_and(|disagreement| disagreement > self.most())
    }

    /// What chains that have mixed rarely exceed: 2, and more for three or two chains, or the halves of one, whose difference varies
    /// more.
    fn most(&self) -> f64 {
        (1.0 + 3.0 / (self.chains.max(2) - 1) as f64).max(2.0)
    }

    /// How many independent draws of what the draws are of are as accurate as rows that are equivalent to this number of draws of
    /// the rows: errors add up in squares.
    pub fn of_posterior(&self, equivalent_draws: f64) -> f64 {
        1.0 / (1.0 / equivalent_draws + 1.0 / self.kernel_ess)
    }

    /// What to mind: known chains that disagree.
    pub fn advice(&self) -> Option<Advice> {
        let disagreement = self.disagreement.filter(|_| self.disagrees() && !self.is_assumed)?;
        Some(Advice::ChainsDisagree { disagreement, chains: self.chains })
    }
}

impl Problem {
    /// How far the rows, as draws in chains, are from what they were drawn from, watched. It compares each row with as many that
    /// follow it as say something of it, and no more than 8,192 rows with each other.
    ///
    /// Refuses rows that are not in memory, rows of a Gram matrix, rows with scores, which may be draws of anything, and rows
    /// that are all the same, with [`Error::NotDiagnosed`].
    pub fn diagnose(&self, watch: Watch) -> Result<Diagnosis> {
        self.diagnose_by(None, None, watch)
    }

    /// As [`diagnose`](Self::diagnose), where ‖μ‖², and μ at all rows, may be known already.
    fn diagnose_by(&self, norm: Option<f64>, means: Option<&[f64]>, watch: Watch) -> Result<Diagnosis> {
        let (chains, spread, long_run) = self.long_run(norm, means, watch)?;
        let (draws, count) = (chains.draws(), chains.count());
        let disagreement = self.disagreement(&chains, norm, watch)?;
        Ok(Diagnosis {
            draws,
            chains: count,
            is_assumed: self.chains.is_none(),
            kernel_ess: draws as f64 * spread / long_run,
            disagreement,
        })
    }

    /// Refuses rows whose errors as draws are not known, before [`diagnose`](Self::diagnose) does.
    pub fn check_diagnosed(&self) -> Result<()> {
        let why = match self.kind {
            Kind::Batches(_) => "only a sample of the rows is in memory, in which no row has its successor",
            Kind::Density(_) => "a density is matched, and the rows may be draws of another",
            Kind::Gram(_) => "a Gram matrix has no rows",
            _ if self.is_matching() => "other rows are matched than those to choose from",
            _ if self.summary().is_some() => {
                "published numbers are matched, and the rows may be draws of another target"
            }
            _ if self.rows.len() < FEWEST => "there are fewer than four rows",
            _ if self.has_one_row() => "all rows are the same",
            // Their weights are those of the correction, not of a sampler.
            _ if self.corrected().is_some_and(|corrected| corrected.features.is_some()) => {
                "scores correct the draws, which have a smaller error than before"
            }
            _ => return Ok(()),
        };
        Err(Error::NotDiagnosed { why })
    }

    /// The chains, the expected squared MMD of one draw, and n times that of all draws.
    pub(super) fn long_run(
        &self,
        norm: Option<f64>,
        means: Option<&[f64]>,
        watch: Watch,
    ) -> Result<(Cow<'_, Chains>, f64, f64)> {
        self.check_diagnosed()?;
        go_on(watch)?;
        let points = self.points();
        let chains = match &self.chains {
            Some(chains) => Cow::Borrowed(chains),
            None => Cow::Owned(Chains::one(points.len())),
        };
        // Where μ is that of some of the rows, or is known by some of them.
        let is_exact = step(points.len()) == 1
            || match self.shares() {
                None => norm.is_some(),
                Some(_) => norm.is_some() && means.is_some(),
            };
        let norm_and_means = match (self.shares(), norm, means) {
            (None, Some(norm), _) => (norm, None),
            (None, None, _) => (self.compared(&chains.every(step(points.len())), watch)?.1, None),
            (Some(_), Some(norm), Some(means)) => (norm, Some(Cow::Borrowed(means))),
            (Some(shares), ..) => {
                let means = self.approximate_means(shares, watch)?;
                (means.iter().zip(shares).map(|(mean, share)| mean * share).sum(), Some(Cow::Owned(means)))
            }
        };
        let (norm, means) = norm_and_means;
        let centred = Centred::new(self.kernel(), points, self.shares(), norm, means.as_deref());
        let spread = self.samples.mean_diagonal().ok_or(Error::UnknownNorm)? - norm;
        go_on(watch)?;
        Ok((chains.clone(), spread, centred.long_run(&chains, is_exact)))
    }

    /// μ at all rows: exact, or of a sample of them by weight where they are many.
    fn approximate_means(&self, shares: &[f64], watch: Watch) -> Result<Vec<f64>> {
        let points = self.points();
        let samples = match points.len() > COMPARED {
            false => Empirical::weighted(self.kernel().clone(), points.clone(), shares)?,
            true => {
                let some = points.select(&systematic_rows(shares, APPROXIMATING)?)?;
                Empirical::new(self.kernel().clone(), some)?
            }
        };
        go_on(watch)?;
        let mut means = vec![0.0; points.len()];
        samples.values_into(points, &mut means);
        Ok(means)
    }

    /// The rows of these chains as samples, with ‖μ‖² of them; their weights are those of the rows.
    fn compared(&self, chains: &Chains, watch: Watch) -> Result<(Empirical, f64)> {
        let rows: Vec<usize> = chains.iter().flatten().copied().collect();
        let points = self.points().select(&rows)?;
        let samples = match self.shares() {
            None => Empirical::new(self.kernel().clone(), points)?,
            Some(shares) => {
                let weights: Vec<f64> = rows.iter().map(|&row| shares[row]).collect();
                Empirical::weighted(self.kernel().clone(), points, &weights)?
            }
        };
        let samples = samples.precision(Precision::Double);
        samples.prepare(watch)?;
        let norm = samples.squared_norm().ok_or(Error::UnknownNorm)?;
        Ok((samples, norm))
    }

    /// The part of the spread that is between chains, Σ w ‖μ_c − μ‖², over its expectation (m − 1)·v·τ/n, with the long-run
    /// variance vτ within chains, so that chains which stay where they are do not hide that. Of one chain the halves.
    fn disagreement(&self, chains: &Chains, norm: Option<f64>, watch: Watch) -> Result<Option<f64>> {
        let step = step(self.points().len());
        let some = chains.every(step);
        let some = if some.count() == 1 { some.halved() } else { some };
        let share_of = |rows: &[usize]| match self.shares() {
            None => rows.len() as f64,
            Some(shares) => rows.iter().map(|&row| shares[row]).sum(),
        };
        let total: f64 = some.iter().map(share_of).sum();
        // A chain without weight says nothing, and one of a single draw nothing of itself.
        if some.count() < 2
            || some.lengths().any(|length| length < 2)
            || some.iter().any(|rows| share_of(rows) == 0.0)
        {
            return Ok(None);
        }
        let norm = match norm.filter(|_| step == 1) {
            Some(norm) => norm,
            None => self.compared(&some, watch)?.1,
        };
        let (mut within, mut means) = (0.0, vec![0.0; self.points().len()]);
        for rows in some.iter() {
            let (samples, own_norm) = self.compared(&Chains::of_rows(vec![rows.to_vec()]), watch)?;
            within += share_of(rows) / total * own_norm;
            let values = samples.recalled().unwrap_or_default();
            // So that means and norms of all chains can stand in one list.
            rows.iter().zip(values).for_each(|(&row, value)| means[row] = value - own_norm / 2.0);
        }
        let between = within - norm;
        let draws = some.draws() as f64;
        let centred = match self.shares() {
            None => Centred::new(self.kernel(), self.points(), None, within, None),
            Some(_) => Centred {
                factors: self
                    .shares()
                    .map(|shares| shares.iter().map(|share| share * draws / total).collect()),
                halves: Halves::Each(Cow::Owned(means)),
                ..Centred::new(self.kernel(), self.points(), None, 0.0, None)
            },
        };
        go_on(watch)?;
        let long_run = centred.within(&some);
        let expected = (some.count() - 1) as f64 * long_run / draws;
        Ok((expected > 0.0).then(|| between.max(0.0) / expected))
    }
}

impl Target {
    /// As [`Problem::diagnose`], with what the target knows of the mean embedding; kept for the next call.
    pub fn diagnosis(&self, watch: Watch) -> Result<Diagnosis> {
        if let Some(known) = self.diagnosed.get() {
            return known.clone();
        }
        let found = self.with_means(|norm, means| self.problem().diagnose_by(norm, means, watch));
        if found == Err(Error::Interrupted) {
            return found;
        }
        self.diagnosed.get_or_init(|| found).clone()
    }

    /// What [`diagnosis`](Self::diagnosis) has found, if it was asked and could be said.
    pub fn diagnosed(&self) -> Option<Diagnosis> {
        self.diagnosed.get().and_then(|found| found.clone().ok())
    }

    /// What is known of μ: its squared norm, and its values at all rows where these have weights.
    pub(super) fn with_means<T>(
        &self,
        work: impl FnOnce(Option<f64>, Option<&[f64]>) -> Result<T>,
    ) -> Result<T> {
        let problem = self.problem();
        problem.check_diagnosed()?;
        let norm = self.embedding().squared_norm();
        match problem.shares() {
            None => work(norm, None),
            Some(_) => work(norm, Some(self.pool()?.values())),
        }
    }
}

/// The steps at which chains of this number of rows together are compared.
fn step(rows: usize) -> usize {
    rows.div_ceil(COMPARED).max(1)
}

/// Looks at the watch between two parts of the work, each of which is short.
fn go_on(watch: Watch) -> Result<()> {
    match watch(Progress::Measuring { done: 0, total: 1 }).is_break() {
        true => Err(Error::Interrupted),
        false => Ok(()),
    }
}

/// ⟨aᵢ(φ(xᵢ) − μ), aⱼ(φ(xⱼ) − μ)⟩ = aᵢaⱼ (k(xᵢ, xⱼ) − hᵢ − hⱼ), with h = μ(x) − ‖μ‖²/2 and a the weight of a row over the mean
/// weight. Where all are equal h is ‖μ‖²/2, which has the same mean over the rows: then μ is not needed at each of them.
struct Centred<'a> {
    kernel: &'a Kernel,
    points: &'a Points,
    factors: Option<Vec<f64>>,
    halves: Halves<'a>,
}

enum Halves<'a> {
    All(f64),
    Each(Cow<'a, [f64]>),
}

impl<'a> Centred<'a> {
    fn new(
        kernel: &'a Kernel,
        points: &'a Points,
        shares: Option<&[f64]>,
        norm: f64,
        means: Option<&[f64]>,
    ) -> Centred<'a> {
        let count = points.len() as f64;
        let factors = shares.map(|shares| shares.iter().map(|share| share * count).collect());
        let halves = match means {
            None => Halves::All(norm / 2.0),
            Some(means) => Halves::Each(means.iter().map(|mean| mean - norm / 2.0).collect()),
        };
        Centred { kernel, points, factors, halves }
    }

    fn half(&self, row: usize) -> f64 {
        match &self.halves {
            Halves::All(half) => *half,
            Halves::Each(halves) => halves[row],
        }
    }

    fn factor(&self, row: usize) -> f64 {
        self.factors.as_ref().map_or(1.0, |factors| factors[row])
    }

    fn pair(&self, a: usize, b: usize) -> f64 {
        let value = self.kernel.value(self.points.row(a), self.points.row(b));
        self.factor(a) * self.factor(b) * (value - self.half(a) - self.half(b))
    }

    fn variance(&self, chains: &Chains) -> f64 {
        let of = |&row: &usize| {
            self.factor(row).powi(2) * (self.kernel.diagonal(self.points.row(row)) - 2.0 * self.half(row))
        };
        chains.iter().flatten().map(of).sum::<f64>() / chains.draws() as f64
    }

    /// The long-run variance of all draws around their common mean; `is_exact` where μ is that of all draws.
    fn long_run(&self, chains: &Chains, is_exact: bool) -> f64 {
        long_run(chains, self.variance(chains), |a, b| self.pair(a, b), is_exact)
    }

    /// The long-run variance of the draws of each chain around its own mean. That mean follows its draws, which takes σ²/N off each
    /// covariance.
    fn within(&self, chains: &Chains) -> f64 {
        let pair = |a, b| self.pair(a, b);
        Autocovariance::new(chains, self.variance(chains), pair, true).long_run(chains.count() as f64)
    }
}

/// The long-run variance of draws around their common mean; `pair` is centred where its mean over all pairs of draws is 0. The mean
/// follows the draws, which takes σ²/n off each covariance; the noise that Geyer's rule lets through adds about half as much, so that
/// half of it is added back (`bench/kernel_ess.py`: without it chains of few independent draws seem up to 7 % better than they
/// are, with all of it 12 % worse).
pub(super) fn long_run(
    chains: &Chains,
    variance: f64,
    pair: impl Fn(usize, usize) -> f64 + Sync,
    is_centred: bool,
) -> f64 {
    Autocovariance::new(chains, variance, pair, is_centred).long_run(0.5)
}
