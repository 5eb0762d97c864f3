//! Chains: which rows follow each other, and how much of what they say the next ones repeat.
//!
//! The error of a mean over n draws in a chain is, as an expected square, σ²/n with the *long-run variance*
//! σ² = γ(0) + 2 Σ γ(l), where γ(l) is the covariance of draws that are l steps apart. In the space of a kernel
//! γ(l) = E k(x_t, x_{t+l}) − ‖μ‖², so that one number says how far the draws are from what they were drawn from, in
//! the unit of the MMD. The sum is cut by Geyer's initial monotone sequence: γ(2j) + γ(2j+1) is positive and falls in j for
//! a reversible chain, and what is not is noise.

use std::collections::HashMap;
use std::hash::Hash;

use rayon::prelude::*;

use crate::{Error, Result};

/// Most rows that are all looked at for lags in longer steps too; of more, those at the steps.
const FEW: usize = 1 << 16;

/// Pairs of rows that are looked at, and the lags that this makes, at least and at most; a chain that needs more lags is looked at in
/// longer steps.
const PAIRS: usize = 1 << 24;
const LAGS: (usize, usize) = (16, 1024);

/// How much longer the steps become each time.
const LONGER: usize = 4;

/// Lags whose covariances are computed at once.
const AT_ONCE: usize = 8;

/// Distances at which rows are taken to be independent of each other, as parts of all rows.
const FAR: usize = 16;

/// The golden ratio.
const GOLDEN: f64 = 1.618_033_988_749_895;

/// Which rows are successive draws of one chain.
///
/// ```
/// use supersample::Chains;
/// assert_eq!(Chains::equal(2, 6)?, Chains::of_lengths(&[3, 3], 6)?);
/// let labels = ["b", "a", "b", "a", "a"]; // grouped in the order in which they first come
/// assert_eq!(Chains::of_labels(&labels).lengths().collect::<Vec<_>>(), [2, 3]);
/// assert!(Chains::of_lengths(&[3, 4], 6).is_err());
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chains {
    /// The rows, chain after chain.
    rows: Vec<usize>,
    /// Where each chain ends among them.
    ends: Vec<usize>,
}

impl Chains {
    /// All rows as one chain.
    pub fn one(rows: usize) -> Chains {
        Chains { rows: (0..rows).collect(), ends: vec![rows] }
    }

    /// This number of chains of equal length, one after the other. As many chains as rows are independent draws.
    pub fn equal(count: usize, rows: usize) -> Result<Chains> {
        if count == 0 || !rows.is_multiple_of(count) {
            return Err(Error::UnequalChains { chains: count, rows });
        }
        Chains::of_lengths(&vec![rows / count; count], rows)
    }

    /// Chains of these lengths, one after the other, which make up all rows.
    pub fn of_lengths(lengths: &[usize], rows: usize) -> Result<Chains> {
        if let Some(chain) = lengths.iter().position(|length| *length == 0) {
            return Err(Error::EmptyChain { chain });
        }
        let mut end = 0usize;
        let ends: Vec<usize> = lengths
            .iter()
            .map(|length| {
                end = end.saturating_add(*length);
                end
            })
            .collect();
        if end != rows {
            return Err(Error::ChainLengths { found: end, expected: rows });
        }
        Ok(Chains { rows: (0..rows).collect(), ends })
    }

    /// Chains of the rows that have the same label, each in the order of the rows.
    pub fn of_labels<T: Eq + Hash>(labels: &[T]) -> Chains {
        let mut places: HashMap<&T, usize> = HashMap::new();
        let mut chains: Vec<Vec<usize>> = Vec::new();
        for (row, label) in labels.iter().enumerate() {
            let place = *places.entry(label).or_insert(chains.len());
            if place == chains.len() {
                chains.push(Vec::new());
            }
            chains[place].push(row);
        }
        Chains::of_rows(chains)
    }

    pub(crate) fn of_rows(chains: Vec<Vec<usize>>) -> Chains {
        let mut end = 0;
        let ends = chains.iter().map(|chain| {
            end += chain.len();
            end
        });
        Chains { ends: ends.collect(), rows: chains.concat() }
    }

    /// How many chains there are.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// How many rows they have together.
    pub fn draws(&self) -> usize {
        self.rows.len()
    }

    /// How many rows each has.
    pub fn lengths(&self) -> impl Iterator<Item = usize> + '_ {
        self.iter().map(<[usize]>::len)
    }

    /// The rows of each.
    pub fn iter(&self) -> impl Iterator<Item = &[usize]> + '_ {
        let firsts = std::iter::once(0).chain(self.ends.iter().copied());
        firsts.zip(&self.ends).map(|(first, &end)| &self.rows[first..end])
    }

    /// Whether no row follows another.
    pub fn are_single_draws(&self) -> bool {
        self.count() == self.draws()
    }

    /// Rows of each chain at this step.
    pub(crate) fn every(&self, step: usize) -> Chains {
        Chains::of_rows(self.iter().map(|chain| chain.iter().copied().step_by(step).collect()).collect())
    }

    /// Each chain as two: its first half and its second.
    pub(crate) fn halved(&self) -> Chains {
        let halves = self.iter().flat_map(|chain| [&chain[..chain.len() / 2], &chain[chain.len() / 2..]]);
        Chains::of_rows(halves.filter(|half| !half.is_empty()).map(<[usize]>::to_vec).collect())
    }

    fn longest(&self) -> usize {
        self.lengths().max().unwrap_or(0)
    }

    /// The mean of a function of the two rows over all pairs that are `lag` steps apart; 0 where there is none.
    fn mean_at(&self, lag: usize, pair: &(impl Fn(usize, usize) -> f64 + Sync)) -> f64 {
        let (mut sum, mut count) = (0.0, 0);
        for chain in self.iter().filter(|chain| chain.len() > lag) {
            count += chain.len() - lag;
            sum += chain.iter().zip(&chain[lag..]).map(|(&a, &b)| pair(a, b)).sum::<f64>();
        }
        if count == 0 { 0.0 } else { sum / count as f64 }
    }

    /// The mean of a function of the two rows over pairs that are far apart. Every row is in as many of them as any other, so that
    /// what is only of one row has the mean that it has over all rows.
    fn mean_far(&self, pair: &(impl Fn(usize, usize) -> f64 + Sync)) -> f64 {
        let rows = &self.rows;
        let of = |place: usize| {
            // Between an eighth of the rows and seven eighths, and never at regular distances.
            let part = 0.125 + 0.75 * ((place as f64 + 0.5) * GOLDEN).fract();
            let by = (part * rows.len() as f64) as usize;
            let partners = rows[by..].iter().chain(&rows[..by]);
            rows.iter().zip(partners).map(|(&a, &b)| pair(a, b)).sum::<f64>() / rows.len() as f64
        };
        let means: Vec<f64> = (0..FAR).into_par_iter().map(of).collect();
        means.iter().sum::<f64>() / FAR as f64
    }
}

/// The covariances of draws at every lag, as far as they were asked for.
///
/// They are means of a function of two rows. Where it is centred, its mean over all pairs of rows is 0. Where it is not, or where only
/// some of the rows are looked at, whose own mean is another one, the mean over pairs that are far apart is taken off: a constant that
/// is left in all covariances is taken for a chain that never forgets.
pub(crate) struct Autocovariance<'a, F> {
    chains: &'a Chains,
    /// γ(0).
    variance: f64,
    pair: F,
    step: usize,
    /// The rows that are looked at where these are not all.
    some: Option<Chains>,
    /// The mean over pairs that are far apart, where it is taken off.
    far: Option<f64>,
    /// γ at 1, 2, … steps.
    known: Vec<f64>,
}

impl<'a, F: Fn(usize, usize) -> f64 + Sync> Autocovariance<'a, F> {
    /// With γ(0), what the mean over pairs of rows is taken of, and whether that is centred.
    pub(crate) fn new(chains: &'a Chains, variance: f64, pair: F, is_centred: bool) -> Autocovariance<'a, F> {
        let far = (!is_centred).then(|| chains.mean_far(&pair));
        Autocovariance { chains, variance, pair, step: 1, some: None, far, known: Vec::new() }
    }

    /// The long-run variance around the mean of all draws. This mean follows them, which takes σ²/n off each covariance; this `part`
    /// of it is added back.
    pub(crate) fn long_run(&mut self, part: f64) -> f64 {
        let plain = self.summed_up(0.0);
        // Pairs that are far apart do not have the part of pairs that are near, σ²/n, in their mean.
        let missing = if self.far.is_some() { part - 1.0 } else { part };
        self.summed_up(missing * plain / self.chains.draws() as f64)
    }

    /// γ(0) + 2 Σ γ(l), with `offset` added to each covariance. It is no less than γ(0)/log₁₀ n, since what antithetic chains
    /// gain beyond that is noise.
    fn summed_up(&mut self, offset: f64) -> f64 {
        let draws = self.chains.draws() as f64;
        loop {
            let (rows, spacing) = self.rows();
            let (fewest, most) = LAGS;
            let lags = (rows.longest().max(1) - 1) / spacing;
            let most = (PAIRS / rows.draws().max(1)).clamp(fewest, most);
            let (sum, has_ended) = self.summed(offset, lags.min(most));
            if has_ended || lags <= most {
                let least = (self.at(0, 0) + offset) / draws.log10().max(1.0);
                return (sum * self.step as f64).max(least);
            }
            // The last lags that were looked at still have something to say.
            self.step *= LONGER;
            self.known.clear();
            if self.chains.draws() > FEW {
                let some = self.chains.every(self.step);
                self.far = Some(some.mean_far(&self.pair));
                self.some = Some(some);
            }
        }
    }

    /// The rows that are looked at, and how many of them are a step.
    fn rows(&self) -> (&Chains, usize) {
        match &self.some {
            Some(some) => (some, 1),
            None => (self.chains, self.step),
        }
    }

    /// The sum over pairs of lags while these are positive, none larger than the one before, and whether one ended it that
    /// is not, before `most` lags did.
    fn summed(&mut self, offset: f64, most: usize) -> (f64, bool) {
        let own = self.at(0, most) + offset;
        if most == 0 {
            return (own, true);
        }
        let (mut sum, mut last, mut lag) = (-own, f64::INFINITY, 0);
        while lag < most {
            let both = self.at(lag, most) + self.at(lag + 1, most) + 2.0 * offset;
            // Not a number, too, ends it.
            if both.is_nan() || both <= 0.0 {
                return (sum, true);
            }
            last = both.min(last);
            sum += 2.0 * last;
            lag += 2;
        }
        (sum, false)
    }

    fn at(&mut self, lag: usize, most: usize) -> f64 {
        let far = self.far.unwrap_or(0.0);
        if lag == 0 {
            return self.variance - far;
        }
        if lag > self.known.len() {
            let from = self.known.len() + 1;
            // Of independent draws the first few say enough: lag 1, then pairs of lags.
            let more = match self.known.len() {
                0 => 3,
                known if known < AT_ONCE => 2,
                _ => AT_ONCE,
            };
            let to = (from + more).max(lag + 1).min(most + 1);
            let (rows, spacing) = self.rows();
            let of = |lag: usize| rows.mean_at(lag * spacing, &self.pair) - far;
            let more: Vec<f64> = (from..to).into_par_iter().map(of).collect();
            self.known.extend(more);
        }
        self.known[lag - 1]
    }
}
