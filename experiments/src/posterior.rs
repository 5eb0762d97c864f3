//! Section 3.2 of the paper: the posterior of a logistic regression on spambase, herded, and its predictions.

use anyhow::Result;
use ndarray::{Array2, ArrayView2, linalg::general_mat_mul};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use rayon::prelude::*;
use supersample::unwatched;
use supersample::weights::{self, WeightRule};
use supersample::{
    Empirical, Functions, FunctionsUnit, Herder, Kernel, Part, Points, Pool, RefineOptions, Refiner,
};

use crate::Size;
use crate::logistic::{LogisticPosterior, sigmoids_in_place};
use crate::metropolis::{Chains, draw};
use crate::spambase::{self, ATTRIBUTES, Messages};
use crate::whitening::Whitening;

/// The split that is used unless another is asked for.
pub(crate) const SPLIT_SEED: u64 = 1;
pub(crate) const CHAINS_SEED: u64 = 500;
pub(crate) const REFERENCE_SEED: u64 = 501;
pub(crate) const FIRST_SUBSET_SEED: u64 = 600;
pub(crate) const BANDWIDTH: f64 = 10.0;
pub(crate) const SUBSETS: u64 = 10;
const TRAINING: usize = 3000;
const CHAINS: usize = 100;
/// The paper does not say; 1 is what one takes for whitened inputs.
pub(crate) const PRIOR_VARIANCE: f64 = 1.0;

/// How much the named predictions count beside the joint distribution.
pub(crate) const FUNCTIONS_WEIGHT: f64 = 1.0;

/// Draws whose predictions are made by one matrix product.
const BLOCK: usize = 250;

/// How large the experiment is.
pub(crate) struct Sizes {
    /// Steps that every chain makes before any is kept.
    pub(crate) burn_in: usize,
    /// |D|.
    pub(crate) draws: usize,
    /// D keeps one state in so many.
    pub(crate) every: usize,
    /// Super-samples.
    pub(crate) count: usize,
    /// Draws of the larger set p̃ that stands for the true posterior.
    pub(crate) reference_draws: usize,
    /// p̃ keeps one state in so many.
    pub(crate) reference_every: usize,
    /// Super-samples where the predictions are named as functions of interest.
    pub(crate) named: usize,
}

impl Sizes {
    pub(crate) fn of(size: Size) -> Sizes {
        size.choose(
            Sizes {
                burn_in: 1000,
                draws: 5000,
                every: 60,
                count: 2000,
                reference_draws: 25_000,
                reference_every: 20,
                named: 600,
            },
            Sizes {
                burn_in: 5000,
                draws: 100_000,
                every: 100,
                count: 10_000,
                reference_draws: 2_500_000,
                reference_every: 20,
                named: 3000,
            },
        )
    }
}

/// The herded posterior, and how its predictions and those of random subsets of D come to agree with D's.
pub(crate) struct Posterior {
    pub(crate) sizes: Sizes,
    split: u64,
    prior_variance: f64,
    pub(crate) acceptance: f64,
    pub(crate) herding: Trace,
    /// Herding that matches the test messages' predictions as functions of interest beside the joint distribution.
    pub(crate) named: Trace,
    /// As many other messages named instead, the first ones of the training set: what that does for the test messages.
    pub(crate) named_elsewhere: Trace,
    /// Bootstrap subsets of D.
    pub(crate) random: Vec<Trace>,
    /// The mean over the test messages of std(p(yₙ|xₙ, θ))/√|D|: the error D would have if its draws were independent.
    pub(crate) std_line: f64,
    /// RMSE(D, p̃).
    pub(crate) set_error: f64,
    /// The share of test messages that D gets right.
    pub(crate) accuracy: f64,
    /// How many different draws are among the super-samples.
    pub(crate) distinct: usize,
    /// What more work on the first T super-samples gives, for some T.
    pub(crate) improved: Vec<Improved>,
}

/// The RMSE against D of the first T super-samples after more work on them.
pub(crate) struct Improved {
    pub(crate) t: usize,
    /// After swap sweeps: each super-sample in turn changed for the draw that lowers the MMD most.
    pub(crate) swapped: f64,
    /// With the best weights that are not negative and sum to one.
    pub(crate) weighted: f64,
}

/// What the first T of a sequence of draws predict, for each T.
pub(crate) struct Trace {
    /// Eq. 18, against D.
    pub(crate) rmse: Vec<f64>,
    /// Eq. 18, against p̃.
    pub(crate) rmse_reference: Vec<f64>,
    pub(crate) accuracy: Vec<f64>,
}

impl Posterior {
    /// Runs the whole experiment on the split of the messages with this seed, with this prior.
    pub(crate) fn run(size: Size, split: u64, prior_variance: f64) -> Result<Posterior> {
        let sizes = Sizes::of(size);
        let (training, test) = spambase::split(&spambase::read()?, TRAINING, split);
        let whitening = Whitening::learn(&training.attributes, ATTRIBUTES);
        let dim = whitening.dim() + 1;
        let model = LogisticPosterior::new(
            &with_intercept(&whitening, &training),
            dim,
            &training.is_spam,
            prior_variance,
        );
        let elsewhere = with_intercept(&whitening, &training);
        let elsewhere = TestSet::new(&elsewhere, dim, training.is_spam.clone()).first(test.is_spam.len());
        let test = TestSet::new(&with_intercept(&whitening, &test), dim, test.is_spam);
        let laplace = model.laplace();

        eprintln!("posterior: drawing D");
        let mut chains = Chains::new(&model, &laplace, CHAINS, CHAINS_SEED);
        let draws = draw(&mut chains, sizes.burn_in, sizes.every, sizes.draws / CHAINS);
        let acceptance = chains.acceptance();
        let draws = Array2::from_shape_vec((sizes.draws, dim), draws)?;
        let (mean, std) = test.mean_and_std(draws.view());

        eprintln!("posterior: drawing the larger set (the longest part)");
        let mut chains = Chains::new(&model, &laplace, CHAINS, REFERENCE_SEED);
        let reference = test.mean_over_chains(&mut chains, &sizes);

        eprintln!("posterior: herding");
        let pool = pool(&draws)?;
        let Herded { rows: picked, sets } = herd(&pool, sizes.count)?;
        eprintln!("posterior: herding with the predictions named");
        let named = herd_named(&pool, &test.functions(&draws)?, sizes.named)?;
        let named_elsewhere = herd_named(&pool, &elsewhere.functions(&draws)?, sizes.named / 3)?;
        let improved = sets
            .iter()
            .map(|ImprovedSet { t, swapped, weights }| Improved {
                t: *t,
                swapped: rmse(&test.weighted_mean(&draws, swapped, &vec![1.0 / *t as f64; *t]), &mean),
                weighted: rmse(&test.weighted_mean(&draws, &picked[..*t], weights), &mean),
            })
            .collect();
        let mut distinct = picked.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let random = (0..SUBSETS)
            .map(|k| {
                let mut random = Pcg64::seed_from_u64(FIRST_SUBSET_SEED + k);
                let rows: Vec<usize> =
                    (0..sizes.count).map(|_| random.random_range(0..sizes.draws)).collect();
                test.trace(&draws, &rows, &mean, &reference)
            })
            .collect();
        Ok(Posterior {
            acceptance,
            herding: test.trace(&draws, &picked, &mean, &reference),
            named: test.trace(&draws, &named, &mean, &reference),
            named_elsewhere: test.trace(&draws, &named_elsewhere, &mean, &reference),
            random,
            std_line: std.iter().sum::<f64>() / std.len() as f64 / (sizes.draws as f64).sqrt(),
            set_error: rmse(&mean, &reference),
            accuracy: test.accuracy(&mean),
            distinct: distinct.len(),
            improved,
            split,
            prior_variance,
            sizes,
        })
    }

    /// How the draws were made, for the reports of both figures.
    pub(crate) fn method(&self) -> String {
        let Sizes { burn_in, draws, every, count, reference_draws, reference_every, .. } = self.sizes;
        format!(
            "Spambase, {TRAINING} training messages (seed {}), inputs whitened by PCA and an intercept, prior \
             N(0, {}·I); {CHAINS} Metropolis chains, proposal 2.38²/58 times the Laplace covariance, {burn_in} \
             steps of burn-in; D: {draws} draws, one in {every} (seed {CHAINS_SEED}); p̃: {reference_draws} draws, one in \
             {reference_every} (seed {REFERENCE_SEED}). D whitened by PCA, Gaussian kernel of bandwidth {BANDWIDTH}, \
             herding with repeats to T = {count}; {SUBSETS} bootstrap subsets (seeds from {FIRST_SUBSET_SEED}).",
            self.split, self.prior_variance
        )
    }
}

fn with_intercept(whitening: &Whitening, messages: &Messages) -> Vec<f64> {
    let whitened = whitening.apply(&messages.attributes);
    whitened
        .chunks_exact(whitening.dim())
        .flat_map(|row| std::iter::once(1.0).chain(row.iter().copied()))
        .collect()
}

/// The T at which more work is done on the first T super-samples.
const IMPROVED: [usize; 5] = [10, 30, 100, 300, 1000];

/// At most so many sweeps.
const SWEEPS: usize = 20;

/// Rows of D.
struct Herded {
    rows: Vec<usize>,
    sets: Vec<ImprovedSet>,
}

struct ImprovedSet {
    t: usize,
    /// T rows of D after swap sweeps.
    swapped: Vec<usize>,
    /// Weights on the simplex for the first T rows.
    weights: Vec<f64>,
}

/// D, whitened, to choose from.
fn pool(draws: &Array2<f32>) -> Result<Pool> {
    let rows: Vec<f64> = draws.iter().map(|&v| f64::from(v)).collect();
    let whitening = Whitening::learn(&rows, draws.ncols());
    let points = Points::from_vec(whitening.apply(&rows), whitening.dim())?;
    let mu = Empirical::new(Kernel::gaussian(BANDWIDTH)?, points.clone())?;
    Ok(Pool::new(mu, points)?)
}

/// The rows of D that herding picks, and what more work makes of them.
fn herd(pool: &Pool, count: usize) -> Result<Herded> {
    let mut herder = Herder::over(pool.clone());
    herder.run(count);
    let rows = herder.indices().to_vec();

    let options = RefineOptions::default().repeats(true).max_sweeps(SWEEPS).ordered(false);
    let refiner = Refiner::over(pool.clone(), options)?;
    let improve = |t: usize| {
        let swapped = refiner.improve_rows(&rows[..t], &unwatched)?.rows;
        let points = pool.points().select(&rows[..t])?;
        let weights =
            weights::optimal(&**pool.embedding(), &points, WeightRule::Simplex, &supersample::unwatched)?
                .weights;
        Ok(ImprovedSet { t, swapped, weights })
    };
    let sets = IMPROVED.into_iter().filter(|&t| t <= count).map(improve).collect::<Result<_>>()?;
    Ok(Herded { rows, sets })
}

/// The rows of D that herding picks where the means of these functions are matched beside the joint distribution. Errors of
/// probabilities are compared as they are, so that they have one unit.
fn herd_named(pool: &Pool, values: &Points, count: usize) -> Result<Vec<usize>> {
    let part =
        Part::functions(&Functions::in_unit(values, None, FunctionsUnit::Common)?, values, FUNCTIONS_WEIGHT)?;
    let mut herder = Herder::over(pool.clone().with_parts(vec![part])?);
    herder.run(count);
    Ok(herder.indices().to_vec())
}

/// The test messages, ready to be predicted by many θ at once.
struct TestSet {
    /// One column for each message.
    columns: Array2<f32>,
    is_spam: Vec<bool>,
}

impl TestSet {
    fn new(inputs: &[f64], dim: usize, is_spam: Vec<bool>) -> TestSet {
        let columns = Array2::from_shape_fn((dim, is_spam.len()), |(i, n)| inputs[n * dim + i] as f32);
        TestSet { columns, is_spam }
    }

    /// The first so many messages.
    fn first(&self, count: usize) -> TestSet {
        let columns = self.columns.slice(ndarray::s![.., ..count]).to_owned();
        TestSet { columns, is_spam: self.is_spam[..count].to_vec() }
    }

    /// What every draw predicts of every message: functions of the draw.
    fn functions(&self, draws: &Array2<f32>) -> Result<Points> {
        let mut values = Vec::with_capacity(draws.nrows() * self.is_spam.len());
        for block in draws.axis_chunks_iter(ndarray::Axis(0), BLOCK) {
            values.extend(self.predictions(block).iter().map(|&p| f64::from(p)));
        }
        Ok(Points::from_vec(values, self.is_spam.len())?)
    }

    /// p(spam | xₙ, θ), one row for each θ.
    fn predictions(&self, thetas: ArrayView2<f32>) -> Array2<f32> {
        let mut margins = Array2::zeros((thetas.nrows(), self.is_spam.len()));
        general_mat_mul(1.0, &thetas, &self.columns, 0.0, &mut margins);
        sigmoids_in_place(margins.as_slice_mut().expect("a new array is contiguous"));
        margins
    }

    /// Mean and standard deviation of the prediction for each message, over rows of θ with equal weights.
    fn mean_and_std(&self, thetas: ArrayView2<f32>) -> (Vec<f64>, Vec<f64>) {
        let blocks: Vec<_> = thetas.axis_chunks_iter(ndarray::Axis(0), BLOCK).collect();
        let sums: Vec<(Vec<f64>, Vec<f64>)> = blocks
            .par_iter()
            .map(|block| {
                let (mut sum, mut square) = (vec![0.0; self.is_spam.len()], vec![0.0; self.is_spam.len()]);
                for row in self.predictions(*block).rows() {
                    for (n, &p) in row.iter().enumerate() {
                        sum[n] += f64::from(p);
                        square[n] += f64::from(p) * f64::from(p);
                    }
                }
                (sum, square)
            })
            .collect();
        let count = thetas.nrows() as f64;
        let mean: Vec<f64> = (0..self.is_spam.len())
            .map(|n| sums.iter().map(|(sum, _)| sum[n]).sum::<f64>() / count)
            .collect();
        let std = (0..self.is_spam.len())
            .map(|n| {
                let square = sums.iter().map(|(_, square)| square[n]).sum::<f64>() / count;
                (square - mean[n] * mean[n]).max(0.0).sqrt()
            })
            .collect();
        (mean, std)
    }

    /// The mean prediction of some rows of D with weights that sum to one.
    fn weighted_mean(&self, draws: &Array2<f32>, rows: &[usize], weights: &[f64]) -> Vec<f64> {
        let predictions = self.predictions(draws.select(ndarray::Axis(0), rows).view());
        let mut mean = vec![0.0; self.is_spam.len()];
        for (row, weight) in predictions.rows().into_iter().zip(weights) {
            mean.iter_mut().zip(row).for_each(|(mean, &p)| *mean += weight * f64::from(p));
        }
        mean
    }

    /// The mean prediction over many states of chains, none of which is kept.
    fn mean_over_chains(&self, chains: &mut Chains<'_>, sizes: &Sizes) -> Vec<f64> {
        let mut sum = vec![0.0; self.is_spam.len()];
        chains.advance(sizes.burn_in);
        let rounds = sizes.reference_draws / CHAINS;
        for _ in 0..rounds {
            chains.advance(sizes.reference_every);
            let groups: Vec<&Array2<f32>> = chains.states().collect();
            let predictions: Vec<Array2<f32>> =
                groups.par_iter().map(|states| self.predictions(states.view())).collect();
            for row in predictions.iter().flat_map(|p| p.rows()) {
                sum.iter_mut().zip(row).for_each(|(sum, &p)| *sum += f64::from(p));
            }
        }
        sum.iter().map(|sum| sum / (rounds * CHAINS) as f64).collect()
    }

    /// What the first T of these rows of D predict, for each T.
    fn trace(&self, draws: &Array2<f32>, rows: &[usize], mean: &[f64], reference: &[f64]) -> Trace {
        let mut trace = Trace { rmse: Vec::new(), rmse_reference: Vec::new(), accuracy: Vec::new() };
        let mut sum = vec![0.0; self.is_spam.len()];
        let mut average = sum.clone();
        for block in rows.chunks(BLOCK) {
            for row in self.predictions(draws.select(ndarray::Axis(0), block).view()).rows() {
                sum.iter_mut().zip(row).for_each(|(sum, &p)| *sum += f64::from(p));
                let t = (trace.rmse.len() + 1) as f64;
                average.iter_mut().zip(&sum).for_each(|(average, sum)| *average = sum / t);
                trace.rmse.push(rmse(&average, mean));
                trace.rmse_reference.push(rmse(&average, reference));
                trace.accuracy.push(self.accuracy(&average));
            }
        }
        trace
    }

    /// The share of messages on the right side of ½.
    fn accuracy(&self, predictions: &[f64]) -> f64 {
        let right = predictions.iter().zip(&self.is_spam).filter(|(p, spam)| (**p > 0.5) == **spam).count();
        right as f64 / self.is_spam.len() as f64
    }
}

/// Eq. 18. It is the same for the probability of spam and of the true label.
fn rmse(a: &[f64], b: &[f64]) -> f64 {
    (a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f64>() / a.len() as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logistic::sigmoid;

    fn case() -> (TestSet, Array2<f32>) {
        let inputs = [1.0, 0.5, 1.0, -2.0, 1.0, 3.0];
        let draws = Array2::from_shape_fn((600, 2), |(i, j)| ((i * 2 + j) as f32 * 0.7).sin());
        (TestSet::new(&inputs, 2, vec![true, false, false]), draws)
    }

    #[test]
    fn mean_std_and_traces_agree_with_plain_sums() {
        let (test, draws) = case();
        let predict =
            |row: usize, x: f64| sigmoid(f64::from(draws[[row, 0]]) + f64::from(draws[[row, 1]]) * x);
        let (mean, std) = test.mean_and_std(draws.view());
        for (n, x) in [0.5, -2.0, 3.0].into_iter().enumerate() {
            let values: Vec<f64> = (0..600).map(|row| predict(row, x)).collect();
            let expected = values.iter().sum::<f64>() / 600.0;
            let variance = values.iter().map(|v| (v - expected).powi(2)).sum::<f64>() / 600.0;
            assert!((mean[n] - expected).abs() < 1e-6 && (std[n] - variance.sqrt()).abs() < 1e-5);
        }
        let rows = [5, 5, 599];
        let trace = test.trace(&draws, &rows, &mean, &[0.5; 3]);
        let averages = [0.5, -2.0, 3.0].map(|x| rows.iter().map(|&row| predict(row, x)).sum::<f64>() / 3.0);
        assert!((trace.rmse[2] - rmse(&averages, &mean)).abs() < 1e-6);
        assert!((trace.rmse_reference[2] - rmse(&averages, &[0.5; 3])).abs() < 1e-6);
        assert_eq!(trace.accuracy[2], test.accuracy(&averages));
        assert_eq!(trace.rmse.len(), 3);
        let weighted = test.weighted_mean(&draws, &rows[1..], &[2.0 / 3.0, 1.0 / 3.0]);
        assert!(rmse(&weighted, &averages) < 1e-6);
        // All of D, once each, predicts as D does.
        let all = test.trace(&draws, &(0..600).collect::<Vec<_>>(), &mean, &mean);
        assert!(all.rmse[599] < 1e-12 && all.rmse[10] > 1e-3);
    }

    #[test]
    fn accuracy_counts_the_right_side_of_a_half() {
        let (test, _) = case();
        assert_eq!(test.accuracy(&[0.9, 0.1, 0.2]), 1.0);
        assert_eq!(test.accuracy(&[0.9, 0.8, 0.7]), 1.0 / 3.0);
    }
}
