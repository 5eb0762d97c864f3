//! How far draws are from what they were drawn from: the kernel effective sample size against closed forms and all pairs,
//! chains that disagree, and the fewest rows that add little.

use rand::RngExt;
use rand_distr::StandardNormal;
use rand_pcg::Pcg64;
use supersample::scale::Scale;
use supersample::task::{Advice, Choose, Diagnosis, Ended, Measure, Problem, RowWeights, Rows, Stop};
use supersample::{Chains, Error, Gram, Kernel, Points, unwatched};

use crate::common::{ready, rng};

const D: usize = 3;
/// Of the kernel, for columns of unit variance.
const LENGTH: f64 = 2.0;

/// Autoregressive normal chains, one after the other, all with unit variance: x' = φx + √(1 − φ²)·z.
fn autoregressive(chains: usize, draws: usize, dim: usize, phi: f64, rng: &mut Pcg64) -> Vec<f64> {
    let mut values = Vec::with_capacity(chains * draws * dim);
    for _ in 0..chains {
        let mut x: Vec<f64> = (0..dim).map(|_| rng.sample(StandardNormal)).collect();
        for _ in 0..draws {
            values.extend_from_slice(&x);
            for x in &mut x {
                let z: f64 = rng.sample(StandardNormal);
                *x = phi * *x + (1.0 - phi * phi).sqrt() * z;
            }
        }
    }
    values
}

/// v/E MMD² of these chains in closed form: for normals that are correlated by c, E k = (1 + 2(1 − c)/ℓ²)^(−d/2).
fn true_ess(chains: usize, draws: usize, dim: usize, phi: f64) -> f64 {
    let mean = |c: f64| (1.0 + 2.0 * (1.0 - c) / (LENGTH * LENGTH)).powf(-0.5 * dim as f64);
    let (norm, n) = (mean(0.0), draws as f64);
    let after = |lag: usize| (n - lag as f64) * (mean(phi.powi(lag as i32)) - norm);
    let sum = n * (1.0 - norm) + 2.0 * (1..draws).map(after).sum::<f64>();
    (1.0 - norm) * n * n * chains as f64 / sum
}

fn plain() -> Choose {
    Choose::nothing(None).scale(Scale::None).kernel(Kernel::gaussian(LENGTH).unwrap())
}

fn rows(values: Vec<f64>, dim: usize) -> Rows {
    Rows::new(Points::from_vec(values, dim).unwrap())
}

fn diagnosed(rows: Rows) -> Diagnosis {
    Problem::new(rows, plain()).unwrap().diagnose(&unwatched).unwrap()
}

/// Of chains one after the other.
fn in_chains(values: Vec<f64>, dim: usize, chains: usize) -> Diagnosis {
    let count = values.len() / dim;
    diagnosed(rows(values, dim).chains(Chains::equal(chains, count).unwrap()).unwrap())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn the_effective_sample_size_is_that_of_the_closed_form() {
    for phi in [-0.3, 0.0, 0.5, 0.9] {
        let truth = true_ess(4, 500, D, phi);
        let found = (0..15)
            .map(|seed| in_chains(autoregressive(4, 500, D, phi, &mut rng(seed)), D, 4).kernel_ess / truth);
        let ratio = median(found.collect());
        assert!((ratio - 1.0).abs() < 0.08, "φ = {phi}: {ratio}");
    }
}

/// The sums over all pairs that the estimate stands for, from the whole kernel matrix.
struct Naive {
    kernel: Vec<Vec<f64>>,
    weights: Vec<f64>,
    chains: Vec<std::ops::Range<usize>>,
}

impl Naive {
    fn new(values: &[f64], dim: usize, weights: Vec<f64>, lengths: &[usize]) -> Naive {
        let kernel = Kernel::gaussian(LENGTH).unwrap();
        let row = |i: usize| &values[i * dim..(i + 1) * dim];
        let count = values.len() / dim;
        let of_row = |i: usize| (0..count).map(|j| kernel.value(row(i), row(j))).collect();
        let (mut end, mut chains) = (0, Vec::new());
        for length in lengths {
            chains.push(end..end + length);
            end += length;
        }
        Naive { kernel: (0..count).map(of_row).collect(), weights, chains }
    }

    /// The weighted mean of the kernel over all pairs of these rows.
    fn norm(&self, rows: std::ops::Range<usize>) -> f64 {
        let total: f64 = self.weights[rows.clone()].iter().sum();
        let of = |i: usize| {
            rows.clone().map(|j| self.weights[i] * self.weights[j] * self.kernel[i][j]).sum::<f64>()
        };
        rows.clone().map(of).sum::<f64>() / (total * total)
    }

    /// μ at a row, of these rows.
    fn mean(&self, at: usize, rows: std::ops::Range<usize>) -> f64 {
        let total: f64 = self.weights[rows.clone()].iter().sum();
        rows.map(|j| self.weights[j] * self.kernel[at][j]).sum::<f64>() / total
    }

    /// Geyer's sum of a list of covariances, each with an offset.
    fn geyer(&self, covariances: &[f64], offset: f64) -> f64 {
        let (mut sum, mut last) = (-(covariances[0] + offset), f64::INFINITY);
        for pair in covariances.chunks_exact(2) {
            let both: f64 = pair[0] + pair[1] + 2.0 * offset;
            if both <= 0.0 {
                break;
            }
            last = last.min(both);
            sum += 2.0 * last;
        }
        sum.max((covariances[0] + offset) / (self.weights.len() as f64).log10().max(1.0))
    }

    /// Covariances by lag; `centre` is h of a row.
    fn covariances(&self, centre: impl Fn(usize) -> f64) -> Vec<f64> {
        let count = self.weights.len() as f64;
        let total: f64 = self.weights.iter().sum();
        let factor = |i: usize| self.weights[i] / total * count;
        let longest = self.chains.iter().map(|chain| chain.len()).max().unwrap();
        let at = |lag: usize| {
            let pairs = self
                .chains
                .iter()
                .flat_map(|chain| chain.clone().filter(move |i| i + lag < chain.end).map(|i| (i, i + lag)));
            let values: Vec<f64> = pairs
                .map(|(i, j)| factor(i) * factor(j) * (self.kernel[i][j] - centre(i) - centre(j)))
                .collect();
            values.iter().sum::<f64>() / values.len() as f64
        };
        (0..longest).map(at).collect()
    }

    fn is_weighted(&self) -> bool {
        self.weights.iter().any(|w| *w != self.weights[0])
    }

    fn ess(&self) -> f64 {
        let all = 0..self.weights.len();
        let norm = self.norm(all.clone());
        let means: Vec<f64> = all.clone().map(|i| self.mean(i, all.clone())).collect();
        let covariances =
            self.covariances(|i| if self.is_weighted() { means[i] - norm / 2.0 } else { norm / 2.0 });
        let count = self.weights.len() as f64;
        let plain = self.geyer(&covariances, 0.0);
        count * (1.0 - norm) / self.geyer(&covariances, 0.5 * plain / count)
    }

    fn disagreement(&self) -> f64 {
        let (all, total) = (0..self.weights.len(), self.weights.iter().sum::<f64>());
        let norms: Vec<f64> = self.chains.iter().map(|chain| self.norm(chain.clone())).collect();
        let share = |chain: &std::ops::Range<usize>| self.weights[chain.clone()].iter().sum::<f64>() / total;
        let within: f64 = self.chains.iter().zip(&norms).map(|(chain, norm)| share(chain) * norm).sum();
        let chain_of = |i: usize| self.chains.iter().position(|chain| chain.contains(&i)).unwrap();
        let own = |i: usize| self.mean(i, self.chains[chain_of(i)].clone()) - norms[chain_of(i)] / 2.0;
        let covariances = self.covariances(|i| if self.is_weighted() { own(i) } else { within / 2.0 });
        let (count, chains) = (self.weights.len() as f64, self.chains.len() as f64);
        let plain = self.geyer(&covariances, 0.0);
        let long_run = self.geyer(&covariances, plain * chains / count);
        (within - self.norm(all)) / ((chains - 1.0) * long_run / count)
    }
}

#[test]
fn both_numbers_are_those_of_all_pairs() {
    let mut rng = rng(3);
    let (lengths, dim) = ([120, 80, 100], 2);
    for phi in [-0.5, 0.0, 0.8] {
        let values = autoregressive(1, 300, dim, phi, &mut rng);
        for is_weighted in [false, true] {
            let weights: Vec<f64> =
                (0..300).map(|_| if is_weighted { rng.random_range(0.0..3.0) } else { 1.0 }).collect();
            let naive = Naive::new(&values, dim, weights.clone(), &lengths);
            let points = Points::from_rows(&values, dim).unwrap();
            let rows = match is_weighted {
                true => Rows::weighted(points, RowWeights::Weights(&weights)).unwrap(),
                false => Rows::new(points),
            };
            let rows = rows.chains(Chains::of_lengths(&lengths, 300).unwrap()).unwrap();
            let problem = Problem::new(rows, plain().precision(supersample::Precision::Double)).unwrap();
            let target = problem.prepare(&unwatched).unwrap();
            for found in [problem.diagnose(&unwatched).unwrap(), target.diagnosis(&unwatched).unwrap()] {
                assert!(
                    (found.kernel_ess / naive.ess() - 1.0).abs() < 1e-9,
                    "{phi} {found:?} {}",
                    naive.ess()
                );
                let expected = naive.disagreement();
                assert!(
                    (found.disagreement.unwrap() / expected - 1.0).abs() < 1e-9,
                    "{phi} {found:?} {expected}"
                );
            }
        }
    }
}

#[test]
fn labels_in_any_order_are_the_same_chains() {
    let values = autoregressive(2, 200, 2, 0.7, &mut rng(5));
    let apart = in_chains(values.clone(), 2, 2);
    // Draw after draw, with the chains in turn.
    let row = |i: usize| &values[2 * i..2 * i + 2];
    let mixed: Vec<f64> = (0..200).flat_map(|i| [row(200 + i), row(i)]).flatten().copied().collect();
    let labels: Vec<&str> = (0..400).map(|i| if i % 2 == 0 { "b" } else { "a" }).collect();
    let found = diagnosed(rows(mixed.clone(), 2).chains(Chains::of_labels(&labels)).unwrap());
    assert!((found.kernel_ess / apart.kernel_ess - 1.0).abs() < 1e-6, "{found:?} {apart:?}");
    assert!((found.disagreement.unwrap() / apart.disagreement.unwrap() - 1.0).abs() < 1e-5);
    // Taken as one chain in their order they are another one.
    let one = diagnosed(rows(mixed, 2));
    assert!(one.is_assumed && one.chains == 1 && (one.kernel_ess / apart.kernel_ess - 1.0).abs() > 1e-3);
}

#[test]
fn rows_in_no_order_and_single_draws_are_independent() {
    let mut values = autoregressive(1, 2000, 2, 0.95, &mut rng(6));
    assert!(diagnosed(rows(values.clone(), 2)).kernel_ess < 300.0);
    let single = diagnosed(rows(values.clone(), 2).chains(Chains::equal(2000, 2000).unwrap()).unwrap());
    assert_eq!((single.chains, single.disagreement), (2000, None));
    assert!((single.kernel_ess / 2000.0 - 1.0).abs() < 1e-3, "{single:?}");
    let mut rng = rng(7);
    for i in (1..2000).rev() {
        let j = rng.random_range(0..=i);
        (0..2).for_each(|k| values.swap(2 * i + k, 2 * j + k));
    }
    let shuffled = diagnosed(rows(values, 2)).kernel_ess;
    assert!((shuffled / 2000.0 - 1.0).abs() < 0.06, "{shuffled}");
}

/// More rows than the mean embedding is made of here, and more than are all looked at: a constant that is left in all covariances
/// would be taken for a chain that never forgets.
#[test]
fn very_many_rows_are_no_fewer_draws_than_they_are() {
    let n = 80_000;
    for seed in 0..3 {
        let mut rng = rng(seed);
        let values = autoregressive(1, n, D, 0.0, &mut rng);
        // Rows with heavy tails: μ varies much from row to row.
        let heavy = values.chunks_exact(D).flat_map(|row| {
            let by = 1.0 / rng.random::<f64>().max(0.01);
            row.iter().map(move |x| x * by)
        });
        for values in [values.clone(), heavy.collect()] {
            let ratio = diagnosed(rows(values, D)).kernel_ess / n as f64;
            assert!((ratio - 1.0).abs() < 0.05, "{seed}: {ratio}");
        }
    }
    // Chains that take steps of several lengths to look at.
    for (phi, within) in [(0.5, 0.05), (0.97, 0.15), (0.998, 0.5)] {
        let values = autoregressive(2, n, D, phi, &mut rng(5));
        let ratio = in_chains(values, D, 2).kernel_ess / true_ess(2, n, D, phi);
        assert!((ratio.ln()).abs() < within, "{phi}: {ratio}");
    }
}

/// Two-dimensional chains of which every other has the correlation r, and the others −r; the marginals are the same.
fn correlated(r: f64, rng: &mut Pcg64) -> Vec<f64> {
    let mut values = autoregressive(4, 500, 2, 0.5, rng);
    for (i, row) in values.chunks_exact_mut(2).enumerate() {
        let r = if i / 500 % 2 == 0 { r } else { -r };
        row[1] = r * row[0] + (1.0 - r * r).sqrt() * row[1];
    }
    values
}

#[test]
fn chains_that_differ_in_correlation_alone_are_seen() {
    let of = |r: f64| -> Vec<f64> {
        let one = |seed| in_chains(correlated(r, &mut rng(seed)), 2, 4).disagreement.unwrap();
        (0..11).map(one).collect()
    };
    let mixed = of(0.0);
    assert!(mixed.iter().filter(|found| **found > 2.0).count() <= 1, "{mixed:?}");
    assert!((0.6..1.4).contains(&median(mixed.clone())), "{mixed:?}");
    assert!(of(0.7).iter().all(|found| *found > 5.0));
    // Chains in different places, too: the spread of all of them does not hide it.
    let mut apart = autoregressive(4, 500, 2, 0.5, &mut rng(1));
    apart[..2000].iter_mut().for_each(|x| *x += 4.0);
    let found = in_chains(apart, 2, 4);
    assert!(found.disagrees() && found.disagreement > Some(100.0) && found.kernel_ess < 20.0, "{found:?}");
}

#[test]
fn more_rows_than_are_compared_give_the_same_numbers() {
    // Twice as many rows as are compared with each other, and longer than all lags that are looked at.
    let values = autoregressive(2, 10_000, 1, 0.9, &mut rng(9));
    let (found, truth) = (in_chains(values, 1, 2), true_ess(2, 10_000, 1, 0.9));
    assert!((found.kernel_ess / truth - 1.0).abs() < 0.1, "{found:?} {truth}");
    assert!(found.disagreement.unwrap() < 4.0, "{found:?}");
    let slow = autoregressive(2, 60_000, 1, 0.9995, &mut rng(10));
    let (found, truth) = (in_chains(slow, 1, 2), true_ess(2, 60_000, 1, 0.9995));
    assert!((0.5..2.0).contains(&(found.kernel_ess / truth)), "{found:?} {truth}");
}

#[test]
fn weights_count_as_much_as_they_lose() {
    // Weights that have nothing to do with the rows: Kish's number.
    let mut rng = rng(11);
    let values = autoregressive(1, 4000, 2, 0.0, &mut rng);
    let weights: Vec<f64> = (0..4000).map(|_| rng.random_range(0.0..1.0f64).powi(3)).collect();
    let kish = weights.iter().sum::<f64>().powi(2) / weights.iter().map(|w| w * w).sum::<f64>();
    let points = Points::from_vec(values, 2).unwrap();
    let found = diagnosed(Rows::weighted(points, RowWeights::Weights(&weights)).unwrap());
    assert!((found.kernel_ess / kish - 1.0).abs() < 0.08, "{found:?} {kish}");
}

#[test]
fn equivalent_draws_of_the_posterior_add_the_errors_up() {
    let values = autoregressive(4, 500, 2, 0.8, &mut rng(12));
    let of_chains = |chains| rows(values.clone(), 2).chains(Chains::equal(chains, 2000).unwrap()).unwrap();
    let target = ready(of_chains(4), Choose::thin(50).unwrap());
    let chosen = target.choose(&unwatched).unwrap();
    let found = target.diagnosed().unwrap();
    let (file, posterior) = (
        chosen.errors.get(Measure::EquivalentDraws).unwrap(),
        chosen.errors.get(Measure::PosteriorDraws).unwrap(),
    );
    assert!((1.0 / posterior - 1.0 / file - 1.0 / found.kernel_ess).abs() < 1e-12);
    assert!(posterior < found.kernel_ess && found.kernel_ess < 700.0, "{found:?}");
    let summary = target.summarise(&chosen, &unwatched).unwrap();
    let spaced = summary.comparison.unwrap().spaced.get(Measure::PosteriorDraws).unwrap();
    assert!(spaced < posterior);
    assert_eq!(chosen.advice, []);
    // Known chains that disagree are warned of, and rows that were only taken as a chain are not.
    let apart: Vec<f64> =
        values.iter().enumerate().map(|(i, x)| if i < 2000 { x + 3.0 } else { *x }).collect();
    let advice = |rows: Rows| ready(rows, Choose::thin(50).unwrap()).choose(&unwatched).unwrap().advice;
    assert_eq!(advice(rows(apart.clone(), 2)), []);
    let known = rows(apart, 2).chains(Chains::equal(4, 2000).unwrap()).unwrap();
    assert!(
        matches!(advice(known)[..], [Advice::ChainsDisagree { chains: 4, disagreement }] if disagreement > 10.0)
    );
}

#[test]
fn what_makes_no_chains_is_refused() {
    assert_eq!(Chains::equal(3, 10), Err(Error::UnequalChains { chains: 3, rows: 10 }));
    assert_eq!(Chains::equal(0, 10), Err(Error::UnequalChains { chains: 0, rows: 10 }));
    assert_eq!(Chains::of_lengths(&[4, 0, 6], 10), Err(Error::EmptyChain { chain: 1 }));
    assert_eq!(Chains::of_lengths(&[4, 5], 10), Err(Error::ChainLengths { found: 9, expected: 10 }));
    assert_eq!(
        Chains::of_lengths(&[usize::MAX, 2], 10),
        Err(Error::ChainLengths { found: usize::MAX, expected: 10 })
    );
    let few = rows(vec![1.0, 2.0], 1).chains(Chains::one(3)).map(|_| ());
    assert_eq!(few, Err(Error::ChainLengths { found: 3, expected: 2 }));
    let refused = |rows: Rows| Problem::new(rows, plain()).unwrap().diagnose(&unwatched);
    assert!(matches!(refused(rows(vec![1.0], 1)), Err(Error::NotDiagnosed { .. })));
    assert!(matches!(refused(rows(vec![1.0; 8], 1)), Err(Error::NotDiagnosed { .. })));
    let gram = Rows::of_gram(Gram::new(vec![1.0], 1).unwrap());
    let choose = Choose::nothing(None);
    assert!(matches!(
        Problem::new(gram, choose).unwrap().diagnose(&unwatched),
        Err(Error::NotDiagnosed { .. })
    ));
    // Rows that stay the same in long stretches, and two chains that are one point each, are no reason to panic.
    let still: Vec<f64> = (0..40).map(|i| if i < 20 { 0.0 } else { 1.0 }).collect();
    assert!(in_chains(still.clone(), 1, 2).kernel_ess > 0.0);
    assert!(diagnosed(rows(still, 1)).kernel_ess > 0.0);
    // A chain without weight.
    let weights: Vec<f64> = (0..40).map(|i| f64::from(u8::from(i < 20))).collect();
    let points = Points::from_vec((0..40).map(|i| f64::from(i).sin()).collect(), 1).unwrap();
    let weighted = Rows::weighted(points, RowWeights::Weights(&weights)).unwrap();
    let found = diagnosed(weighted.chains(Chains::equal(2, 40).unwrap()).unwrap());
    assert!(found.disagreement.is_none() && found.kernel_ess.is_finite(), "{found:?}");
}

#[test]
fn the_number_of_rows_follows_from_the_errors_of_the_draws() {
    let auto = |phi: f64, add: f64| {
        let values = autoregressive(4, 250, 2, phi, &mut rng(20));
        let draws = rows(values, 2).chains(Chains::equal(4, 1000).unwrap()).unwrap();
        let choose = Choose::thin_until(Stop::auto(Some(add)).unwrap()).unwrap().search(Some(0));
        let target = ready(draws, choose);
        let chosen = target.choose(&unwatched).unwrap();
        assert_eq!(chosen.ended, Ended::Enough);
        let ess = target.diagnosed().unwrap().kernel_ess;
        let worth = chosen.errors.get(Measure::EquivalentDraws).unwrap();
        assert!(worth >= ess / ((1.0 + add).powi(2) - 1.0) * 0.999, "{worth} {ess}");
        // The distribution functions of independent draws have 0.408/√n.
        let cdf = chosen.errors.get(Measure::Cdf).unwrap();
        assert!(cdf < 0.6 * ((1.0 + add).powi(2) - 1.0).sqrt() / ess.sqrt(), "{cdf} {ess}");
        chosen.rows.len()
    };
    let (fast, slow, generous) = (auto(0.0, 0.1), auto(0.95, 0.1), auto(0.0, 0.5));
    assert!(slow < fast && generous < fast && fast < 400 && slow > 4, "{slow} {fast} {generous}");
}

#[test]
fn a_number_that_cannot_follow_is_refused() {
    for bad in [0.0, -0.1, f64::NAN, f64::INFINITY] {
        assert!(matches!(Stop::auto(Some(bad)), Err(Error::BadOption { .. })));
    }
    let stop = Stop::auto(None).unwrap();
    let refused = |rows: Rows, choose: Choose| {
        Problem::new(rows, choose)
            .and_then(|problem| problem.prepare(&unwatched)?.choose(&unwatched))
            .unwrap_err()
    };
    let some = || rows((0..60).map(|i| f64::from(i).sin()).collect(), 1);
    let herd = Choose::herd_until(stop).unwrap();
    assert!(matches!(refused(some(), herd), Error::AutoSize { .. }));
    let thin = Choose::thin_until(stop).unwrap();
    let mut quotas = supersample::RefineOptions::default();
    (quotas.groups, quotas.quotas) = (Some((0..60).map(|i| i % 2).collect()), Some(vec![3, 3]));
    assert_eq!(refused(some(), thin.clone().refine(quotas)), Error::FixedQuotas);
    let gram = Rows::of_gram(Gram::new(vec![1.0], 1).unwrap());
    assert!(matches!(refused(gram, thin.clone()), Error::AutoSize { .. }));
    assert!(matches!(refused(rows(vec![2.0; 20], 1), thin.clone()), Error::AutoUnknown { .. }));
    assert!(matches!(refused(rows(vec![2.0], 1), thin.clone()), Error::AutoUnknown { .. }));
    assert!(matches!(thin.refuse_in_batches(), Err(Error::NotInMemory { .. })));
}
