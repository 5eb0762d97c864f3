//! What is matched beside the joint distribution, against full kernel matrices written out naively.

use crate::common;

use common::{random_points, rng};
use rand::RngExt;
use rand_pcg::Pcg64;
use supersample::target::IndependentNormals;
use supersample::weights::{WeightRule, optimal_of_rows};
use supersample::{
    ClosedForm, ColumnMoments, Empirical, Error, Functions, Herder, Kernel, Marginals, MeanEmbedding, Part,
    Points, Pool, Precision, RefineOptions, Refiner, unwatched,
};

/// A symmetric matrix of kernel values between all rows.
type Matrix = Vec<Vec<f64>>;

fn matrix(n: usize, k: impl Fn(usize, usize) -> f64) -> Matrix {
    (0..n).map(|i| (0..n).map(|j| k(i, j)).collect()).collect()
}

/// One kernel over the rows and its mean under the shares.
struct Naive {
    k: Matrix,
    mu: Vec<f64>,
    norm: f64,
    /// E k(x, x) − ‖μ‖²
    single_draw: f64,
}

impl Naive {
    fn new(k: Matrix, shares: &[f64]) -> Naive {
        let mean = |row: &Vec<f64>| row.iter().zip(shares).map(|(k, w)| k * w).sum::<f64>();
        let mu: Vec<f64> = k.iter().map(mean).collect();
        let norm = mean(&mu);
        let diagonal: Vec<f64> = (0..mu.len()).map(|i| k[i][i]).collect();
        Naive { single_draw: mean(&diagonal) - norm, k, mu, norm }
    }

    /// This kernel plus others with factors.
    fn plus(&self, others: &[(f64, &Naive)], shares: &[f64]) -> Naive {
        let sum =
            |i: usize, j: usize| others.iter().fold(self.k[i][j], |sum, (f, other)| sum + f * other.k[i][j]);
        Naive::new(matrix(self.mu.len(), sum), shares)
    }

    fn squared_error(&self, rows: &[usize], weights: &[f64]) -> f64 {
        let mut squared = self.norm;
        for (&i, v) in rows.iter().zip(weights) {
            squared -= 2.0 * v * self.mu[i];
            squared += rows.iter().zip(weights).map(|(&j, w)| v * w * self.k[i][j]).sum::<f64>();
        }
        squared
    }

    fn equal(&self, rows: &[usize]) -> f64 {
        self.squared_error(rows, &vec![1.0 / rows.len() as f64; rows.len()])
    }

    /// Eq. 8 with −k(x, x)/2.
    fn score(&self, picks: &[usize], i: usize) -> f64 {
        let chosen: f64 = picks.iter().map(|&j| self.k[i][j]).sum();
        (picks.len() + 1) as f64 * self.mu[i] - chosen - self.k[i][i] / 2.0
    }
}

/// u of each row in one column: the share below, and half of the share of equals.
fn places(column: &[f64], shares: &[f64]) -> Vec<f64> {
    let share = |is: &dyn Fn(f64) -> bool| -> f64 {
        column.iter().zip(shares).filter(|(y, _)| is(**y)).map(|(_, w)| w).sum()
    };
    column.iter().map(|&x| share(&|y| y < x) + share(&|y| y == x) / 2.0).collect()
}

fn column(points: &Points, j: usize) -> Vec<f64> {
    points.rows().map(|row| row[j]).collect()
}

fn is_constant(column: &[f64], shares: &[f64]) -> bool {
    let mut weighed = column.iter().zip(shares).filter(|(_, w)| **w > 0.0);
    let first = weighed.next().unwrap().0;
    weighed.all(|(x, _)| x == first)
}

/// The mean over the columns of c(u, v) as the design writes it.
fn naive_marginals(points: &Points, shares: &[f64]) -> Naive {
    let columns: Vec<Vec<f64>> = (0..points.dim())
        .map(|j| column(points, j))
        .filter(|column| !is_constant(column, shares))
        .map(|column| places(&column, shares))
        .collect();
    let c = |u: f64, v: f64| 1.0 / 3.0 + (u * u + v * v) / 2.0 - u.max(v);
    let k = |i: usize, j: usize| columns.iter().map(|u| c(u[i], u[j])).sum::<f64>() / columns.len() as f64;
    Naive::new(matrix(points.len(), k), shares)
}

/// The mean of products of standardised functions.
fn naive_functions(values: &Points, shares: &[f64]) -> Naive {
    let standardised: Vec<Vec<f64>> = (0..values.dim())
        .map(|j| {
            let column = column(values, j);
            let mean =
                |f: &dyn Fn(f64) -> f64| column.iter().zip(shares).map(|(x, w)| w * f(*x)).sum::<f64>();
            let centre = mean(&|x| x);
            let sd = mean(&|x| (x - centre).powi(2)).sqrt();
            column.iter().map(|x| (x - centre) / sd).collect()
        })
        .collect();
    let k = |i: usize, j: usize| standardised.iter().map(|f| f[i] * f[j]).sum::<f64>() / values.dim() as f64;
    Naive::new(matrix(values.len(), k), shares)
}

/// Products of z, of z² − 1, of products of two z and of the sum of z² − 1 over the columns, each in its unit.
fn naive_moments(points: &Points, shares: &[f64]) -> Naive {
    let standardised = |values: Vec<f64>| -> Vec<f64> {
        let mean = |f: &dyn Fn(f64) -> f64| values.iter().zip(shares).map(|(x, w)| w * f(*x)).sum::<f64>();
        let centre = mean(&|x| x);
        let sd = mean(&|x| (x - centre).powi(2)).sqrt();
        values.iter().map(|x| (x - centre) / sd).collect()
    };
    let columns = (0..points.dim()).map(|j| column(points, j)).filter(|column| !is_constant(column, shares));
    let z: Vec<Vec<f64>> = columns.map(standardised).collect();
    let pairs = (0..z.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
    let products = pairs.map(|(a, b)| z[a].iter().zip(&z[b]).map(|(x, y)| x * y).collect());
    let products: Vec<Vec<f64>> = products.map(standardised).collect();
    let squares: Vec<Vec<f64>> = z.iter().map(|z| z.iter().map(|z| z * z).collect()).collect();
    let total: Vec<f64> = (0..points.len()).map(|i| squares.iter().map(|square| square[i]).sum()).collect();
    let sd = |values: &Vec<f64>| {
        let mean = |f: &dyn Fn(f64) -> f64| values.iter().zip(shares).map(|(x, w)| w * f(*x)).sum::<f64>();
        let centre = mean(&|x| x);
        mean(&|x| (x - centre).powi(2)).sqrt()
    };
    let (sds, sd_of_total): (Vec<f64>, f64) = (squares.iter().map(sd).collect(), sd(&total));
    let (squares, total): (Vec<Vec<f64>>, _) =
        (squares.into_iter().map(standardised).collect(), standardised(total));
    let mean = |columns: &[Vec<f64>], i: usize, j: usize| {
        columns.iter().map(|f| f[i] * f[j]).sum::<f64>() / columns.len() as f64
    };
    // In units of √(s·√2) and √(s·√(2d)), s the standard deviation.
    let dim = squares.len() as f64;
    let k = |i: usize, j: usize| {
        let squares = squares.iter().zip(&sds).map(|(f, s)| f[i] * f[j] * s / 2f64.sqrt()).sum::<f64>() / dim;
        let total = total[i] * total[j] * sd_of_total / (2.0 * dim).sqrt();
        (mean(&z, i, j) + squares + total + mean(&products, i, j)) / 4.0
    };
    Naive::new(matrix(points.len(), k), shares)
}

/// A pool with parts and the same thing naively: joint, marginals, functions, moments, and their sum.
struct Case {
    pool: Pool,
    marginals: Marginals,
    functions: Functions,
    moments: ColumnMoments,
    points: Points,
    values: Points,
    shares: Vec<f64>,
    naive: [Naive; 4],
    sum: Naive,
    weights: [f64; 3],
}

/// Rows of all kinds: continuous, rounded, discrete and constant columns, repeated rows, rows without weight.
fn rows_of_every_kind(n: usize, rng: &mut Pcg64) -> Points {
    let mut rows: Vec<f64> = Vec::new();
    for i in 0..n {
        if i % 7 == 3 {
            let again = rows[(i / 2) * 4..(i / 2 + 1) * 4].to_vec();
            rows.extend(again);
            continue;
        }
        let x: f64 = rng.random_range(-1.5..1.5);
        rows.extend([
            x,
            (rng.random_range(-1.0..1.0f64) * 5.0 + x).round() / 5.0,
            rng.random_range(0..3) as f64,
            7.0,
        ]);
    }
    Points::from_vec(rows, 4).unwrap()
}

fn case(seed: u64, kernel: &str, weighted: bool) -> Case {
    let mut rng = rng(seed);
    let n = 60;
    let points = rows_of_every_kind(n, &mut rng);
    let values: Vec<f64> = points
        .rows()
        .flat_map(|x| [x[0] * x[1], (3.0 * x[0]).sin() + 100.0, x[2].exp() - x[0], x[1].powi(3)])
        .collect();
    let values = Points::from_vec(values, 4).unwrap();
    let raw: Vec<f64> = (0..n).map(|i| if i % 9 == 4 { 0.0 } else { rng.random_range(0.1..2.0) }).collect();
    let total: f64 = raw.iter().sum();
    let shares: Vec<f64> = match weighted {
        true => raw.iter().map(|w| w / total).collect(),
        false => vec![1.0 / n as f64; n],
    };
    let given = weighted.then_some(&raw[..]);
    let kernel: Kernel = kernel.parse().unwrap();
    let mu = match given {
        Some(raw) => Empirical::weighted(kernel.clone(), points.clone(), raw).unwrap(),
        None => Empirical::new(kernel.clone(), points.clone()).unwrap(),
    };
    let weights = [0.4, 1.7, 0.6];
    let marginals = Marginals::new(&points, given).unwrap().unwrap();
    let functions = Functions::new(&values, given).unwrap();
    let moments = ColumnMoments::new(&points, given).unwrap().unwrap();
    let parts = vec![
        Part::marginals(&marginals, &points, weights[0]).unwrap(),
        Part::functions(&functions, &values, weights[1]).unwrap(),
        Part::moments(&moments, &points, weights[2]).unwrap(),
    ];
    let pool = Pool::new(mu, points.clone()).unwrap().with_parts(parts).unwrap();
    let joint = Naive::new(matrix(n, |i, j| kernel.value(points.row(i), points.row(j))), &shares);
    let of_moments = naive_moments(&points, &shares);
    let naive = [joint, naive_marginals(&points, &shares), naive_functions(&values, &shares), of_moments];
    // Moments have the unit of normal columns.
    let unit = |at: usize| if at == 2 { 1.0 } else { naive[at + 1].single_draw };
    let factor = |at: usize| weights[at] * naive[0].single_draw / unit(at);
    let others = [(factor(0), &naive[1]), (factor(1), &naive[2]), (factor(2), &naive[3])];
    let sum = naive[0].plus(&others, &shares);
    Case { pool, marginals, functions, moments, points, values, shares, naive, sum, weights }
}

impl Case {
    /// D² as the design writes it.
    fn squared_distance(&self, rows: &[usize]) -> f64 {
        let [joint, marginals, functions, moments] = &self.naive;
        let share = |naive: &Naive| naive.equal(rows) / naive.single_draw;
        let parts = self.weights[0] * share(marginals) + self.weights[1] * share(functions);
        share(joint) + parts + self.weights[2] * moments.equal(rows)
    }
}

const CASES: [(&str, bool); 6] = [
    ("gaussian(1.3)", false),
    ("gaussian(1.3)", true),
    ("imq(0.8)", true),
    ("linear", false),
    ("energy", false),
    ("energy", true),
];

#[test]
fn the_means_and_units_of_parts_are_those_of_their_kernel_matrices() {
    for (seed, (kernel, weighted)) in CASES.into_iter().enumerate() {
        let case = case(seed as u64, kernel, weighted);
        let [joint, marginals, functions, moments] = &case.naive;
        let close = |a: f64, b: f64, what: &str| assert!((a - b).abs() < 1e-13, "{kernel} {what}: {a} {b}");
        close(case.pool.embedding().single_draw().unwrap(), joint.single_draw, "joint");
        let units: Vec<f64> = case.pool.parts().map(Part::single_draw).collect();
        close(units[0], marginals.single_draw, "marginals");
        close(units[1], functions.single_draw, "functions");
        close(functions.norm, 0.0, "functions");
        close(units[2], 1.0, "moments");
        close(moments.norm, 0.0, "moments");
        for subset in [vec![0, 5, 9], vec![7; 4], (0..60).collect()] {
            let cdf = case.marginals.distance(&case.points.select(&subset).unwrap(), None).unwrap();
            close(cdf * cdf, marginals.equal(&subset), "cdf");
            let error = case.functions.error(&case.values.select(&subset).unwrap(), None).unwrap();
            close(error * error, functions.equal(&subset), "functions");
            let error = case.moments.distance(&case.points.select(&subset).unwrap(), None).unwrap();
            close(error * error, moments.equal(&subset), "moments");
            let distance = case.pool.distance_of_rows(&subset).unwrap().unwrap();
            close(distance * distance, case.squared_distance(&subset).max(0.0), "D²");
        }
    }
}

#[test]
fn herding_is_greedy_on_the_sum_and_tells_the_error_of_the_joint_part() {
    let mut ties = 0;
    for (seed, (kernel, weighted)) in CASES.into_iter().enumerate() {
        let case = case(10 + seed as u64, kernel, weighted);
        for (unique, kept) in [(false, 0), (true, 0), (true, usize::MAX), (true, 60 * 8 * 5)] {
            let mut herder = Herder::over(case.pool.clone()).unique(unique).keeping(kept);
            let mut picks: Vec<usize> = Vec::new();
            for _ in 0..40 {
                let pick = herder.next().unwrap();
                let got = pick.index.unwrap();
                let open = (0..60).filter(|i| !(unique && picks.contains(i)));
                let best = open.map(|i| case.sum.score(&picks, i)).fold(f64::MIN, f64::max);
                let score = case.sum.score(&picks, got);
                assert!(best - score < 1e-10, "{kernel} T={}: {best} {score}", pick.t);
                ties += usize::from(best > score);
                picks.push(got);
                let error = case.naive[0].equal(&picks);
                assert!((pick.squared_error.unwrap() - error).abs() < 1e-13, "{kernel} T={}", pick.t);
            }
            let trace = Herder::trace(&case.pool, &picks).unwrap();
            let last = trace.last().unwrap();
            assert!((last.squared_error.unwrap() - case.naive[0].equal(&picks)).abs() < 1e-13);
            let mut again = Herder::over(case.pool.clone()).unique(unique);
            again.replay(&picks[..20]).unwrap();
            let resumed: Vec<usize> = again.run(20).iter().filter_map(|pick| pick.index).collect();
            assert_eq!(resumed, picks[20..], "{kernel}: a replayed run goes on as it would have");
        }
    }
    assert!(ties < 100, "{ties}");
}

#[test]
fn no_swap_lowers_the_objective() {
    for (seed, (kernel, weighted)) in CASES.into_iter().enumerate() {
        let case = case(20 + seed as u64, kernel, weighted);
        let groups: Vec<usize> = (0..60).map(|i| i % 3).collect();
        let plain = RefineOptions::default();
        for options in [
            plain.clone(),
            plain.clone().memory(0),
            plain.clone().repeats(true),
            plain.clone().search(20, 1),
            plain.clone().include(&[4, 50]).exclude(&[1, 2, 3]),
            plain.groups(&groups, None),
        ] {
            let refiner = Refiner::over(case.pool.clone(), options.clone()).unwrap();
            let set = refiner.choose(9, &unwatched).unwrap();
            let squared = case.squared_distance(&set.rows);
            let objective = set.objective.unwrap();
            assert!((objective.end.powi(2) - squared).abs() < 1e-12, "{kernel}: {objective:?} {squared}");
            assert!((set.squared_error.unwrap() - case.naive[0].equal(&set.rows)).abs() < 1e-13);
            assert!(
                objective.end <= objective.swept && objective.swept <= objective.start + 1e-12,
                "{objective:?}"
            );
            assert!(set.converged);
            for position in (0..9).filter(|&at| !options.include.contains(&set.rows[at])) {
                for row in 0..60 {
                    let is_open = options.repeats || !set.rows.contains(&row);
                    let in_group = options.groups.is_none() || groups[row] == groups[set.rows[position]];
                    if is_open && in_group && !options.exclude.contains(&row) {
                        let mut other = set.rows.clone();
                        other[position] = row;
                        let changed = case.squared_distance(&other);
                        assert!(changed > squared - 1e-12, "{kernel} {position} {row}: {changed} {squared}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_fewest_rows_are_told_by_the_error_of_the_joint_part() {
    let case = case(31, "gaussian(1.3)", false);
    let refiner = Refiner::over(case.pool.clone(), RefineOptions::default()).unwrap();
    let fewest = refiner.fewest(0.05, &unwatched).unwrap();
    assert!(fewest.reached);
    let error = case.naive[0].equal(&fewest.set.rows).sqrt();
    assert!(error <= 0.05 && (fewest.set.error.unwrap() - error).abs() < 1e-9);
}

#[test]
fn weights_are_the_best_for_the_sum() {
    for (seed, (kernel, weighted)) in CASES.into_iter().enumerate() {
        let case = case(40 + seed as u64, kernel, weighted);
        let rows = [0, 8, 17, 26, 35, 44, 53, 59, 12, 12];
        let slopes = |weights: &[f64]| -> Vec<f64> {
            let slope = |&i: &usize| {
                rows.iter().zip(weights).map(|(&j, w)| w * case.sum.k[i][j]).sum::<f64>() - case.sum.mu[i]
            };
            rows.iter().map(slope).collect()
        };
        for rule in [WeightRule::Unconstrained, WeightRule::Signed, WeightRule::Simplex] {
            let found = optimal_of_rows(&case.pool, &rows, rule, &unwatched);
            if kernel == "energy" && rule == WeightRule::Unconstrained {
                assert!(matches!(found, Err(Error::UnequalMasses { .. })));
                continue;
            }
            let found = found.unwrap();
            let slopes = slopes(&found.weights);
            let level = match rule {
                WeightRule::Unconstrained => 0.0,
                _ => slopes.iter().zip(&found.weights).map(|(s, w)| s * w).sum(),
            };
            assert_eq!(found.weights[8], found.weights[9], "equal rows share their weight");
            for (slope, w) in slopes.iter().zip(&found.weights) {
                let is_flat = (slope - level).abs() < 1e-6;
                let is_out = rule == WeightRule::Simplex && *w == 0.0 && *slope > level - 1e-6;
                assert!(is_flat || is_out, "{kernel} {rule:?}: {slopes:?} {level}");
            }
            let error = case.naive[0].squared_error(&rows, &found.weights);
            assert!((found.squared_error.unwrap() - error).abs() < 1e-9, "{kernel} {rule:?}");
        }
    }
}

/// ∫ (F_S − F)² on a grid, the step functions written out in u.
#[test]
fn the_distance_of_distribution_functions_is_the_integral() {
    for weighted in [false, true] {
        let case = case(50, "gaussian(1)", weighted);
        let (rows, weights) = ([3, 3, 10, 31, 44], [0.5, 0.1, -0.2, 0.3, 0.3]);
        let subset = case.points.select(&rows).unwrap();
        for weights in [None, Some(&weights[..])] {
            let share = |at: usize| weights.map_or(0.2, |weights| weights[at]);
            let mut squared = 0.0;
            for j in 0..3 {
                let u = places(&column(&case.points, j), &case.shares);
                const GRID: usize = 40_000;
                for s in (0..GRID).map(|s| (s as f64 + 0.5) / GRID as f64) {
                    let of_all: f64 = (0..60).filter(|&i| u[i] <= s).map(|i| case.shares[i]).sum();
                    let of_subset: f64 = (0..5).filter(|&at| u[rows[at]] <= s).map(share).sum();
                    squared += (of_subset - of_all).powi(2) / GRID as f64 / 3.0;
                }
            }
            let cdf = case.marginals.distance(&subset, weights).unwrap();
            assert!((cdf * cdf - squared).abs() < 1e-4 * squared, "{cdf} {squared}");
            let shares = weighted.then_some(&case.shares[..]);
            let all_at_once = Marginals::distances(
                &case.points,
                shares,
                0.0,
                &[(&subset, weights), (&case.points, shares)],
            );
            let all_at_once = all_at_once.unwrap().unwrap();
            assert!((all_at_once[0] - cdf).abs() < 1e-15 && all_at_once[1] < 1e-8, "{all_at_once:?}");
        }
    }
}

/// Without a pass over the rows for each subset, against one: ties, constant columns, values that no row has, repeats, weights.
#[test]
fn distances_of_many_subsets_are_those_of_each() {
    let mut rng = rng(55);
    for (n, distinct) in [(1, 1), (2, 2), (40, 3), (3000, 7), (3000, 100_000)] {
        let mut cell = |column: usize| match column {
            0 => 4.0,
            1 => f64::from(rng.random_range(0..distinct)) - 1.0,
            _ => rng.random_range(-1.0..1.0),
        };
        let rows = Points::from_vec((0..3 * n).map(|i| cell(i % 3)).collect(), 3).unwrap();
        let shares: Vec<f64> = (0..n).map(|i| f64::from(u8::from(i % 4 > 0 || n < 4))).collect();
        let picked = rows.select(&(0..30).map(|i| i * 7 % n).collect::<Vec<_>>()).unwrap();
        let others = Points::from_vec((0..45).map(|i| f64::from(i) * 0.3 - 5.0).collect(), 3).unwrap();
        let signed: Vec<f64> = (0..30).map(|i| f64::from(i % 5) - 0.5).collect();
        for weights in [None, Some(&shares[..])] {
            let subsets = [(&picked, None), (&others, None), (&picked, Some(&signed[..])), (&rows, weights)];
            let together = Marginals::distances(&rows, weights, 0.0, &subsets).unwrap();
            let marginals = Marginals::new(&rows, weights).unwrap();
            assert_eq!(together.is_some(), marginals.is_some());
            let Some((together, marginals)) = together.zip(marginals) else { continue };
            for ((subset, weights), got) in subsets.iter().zip(&together) {
                let want = marginals.distance(subset, *weights).unwrap();
                assert!((got * got - want * want).abs() < 1e-13, "{n} {distinct}: {got} {want}");
            }
            let sampled = Marginals::distances(&rows, weights, 0.3, &subsets[..1]).unwrap().unwrap()[0];
            let want = together[0].powi(2) + 0.3 * marginals.single_draw();
            assert!((sampled.powi(2) - want).abs() < 1e-13, "{n} {distinct}: {sampled} {want}");
        }
    }
}

#[test]
fn random_rows_have_what_is_said_of_them() {
    let mut rng = rng(60);
    let points = random_points(2000, 3, &mut rng);
    let marginals = Marginals::new(&points, None).unwrap().unwrap();
    let squared = |_| {
        let rows: Vec<usize> = (0..50).map(|_| rng.random_range(0..2000)).collect();
        marginals.distance(&points.select(&rows).unwrap(), None).unwrap().powi(2)
    };
    let typical = ((0..2000).map(squared).sum::<f64>() / 2000.0).sqrt();
    assert!((typical * 50f64.sqrt() / 0.408 - 1.0).abs() < 0.03, "{typical}");
}

#[test]
fn a_pool_that_is_not_the_target_is_seen_through_its_distribution_functions() {
    let mut rng = rng(70);
    let (target, pool) = (random_points(80, 2, &mut rng), random_points(50, 2, &mut rng));
    let kernel = Kernel::gaussian(1.0).unwrap();
    let marginals = Marginals::new(&target, None).unwrap().unwrap();
    let part = Part::marginals(&marginals, &pool, 0.7).unwrap();
    let mu = Empirical::new(kernel, target.clone()).unwrap();
    let unit = mu.single_draw().unwrap();
    let with_parts = Pool::new(mu, pool.clone()).unwrap().with_parts(vec![part]).unwrap();
    let mut herder = Herder::over(with_parts.clone());
    let mut picks = Vec::new();
    for _ in 0..15 {
        let got = herder.next().unwrap().index.unwrap();
        // What is objective, of every possible next set, from its distances alone.
        let objective = |next: usize| {
            let rows: Vec<usize> = picks.iter().copied().chain([next]).collect();
            let cdf = marginals.distance(&pool.select(&rows).unwrap(), None).unwrap();
            let mmd = with_parts.mmd_of_rows(&rows).unwrap().unwrap();
            mmd * mmd / unit + 0.7 * cdf * cdf / marginals.single_draw()
        };
        let best = (0..50).map(objective).fold(f64::MAX, f64::min);
        assert!(objective(got) < best + 1e-12);
        picks.push(got);
    }
}

#[test]
fn a_density_in_closed_form_can_be_the_joint_part() {
    let normal = IndependentNormals::new(&[0.0, 0.0], &[1.0, 1.0]).unwrap();
    let points = normal.sample(300, 3).unwrap();
    let mu = ClosedForm::normals(Kernel::gaussian(1.0).unwrap(), normal).unwrap();
    let marginals = Marginals::new(&points, None).unwrap().unwrap();
    let alone = Pool::new(mu, points.clone()).unwrap();
    let both = alone.clone().with_parts(vec![Part::marginals(&marginals, &points, 0.5).unwrap()]).unwrap();
    let cdf = |pool: &Pool| {
        let set =
            Refiner::over(pool.clone(), RefineOptions::default()).unwrap().choose(12, &unwatched).unwrap();
        assert!((set.error.unwrap() - pool.mmd_of_rows(&set.rows).unwrap().unwrap()).abs() < 1e-12);
        marginals.distance(&points.select(&set.rows).unwrap(), None).unwrap()
    };
    assert!(cdf(&both) < 0.7 * cdf(&alone));
}

#[test]
fn single_precision_keeps_its_promise_beside_parts() {
    let mut rng = rng(80);
    let points = random_points(Precision::MIXED_FROM + 10, 2, &mut rng);
    let values = points.rows().flat_map(|x| [x[0] * x[1], (4.0 * x[0]).sin(), x[1] * x[1]]).collect();
    let values = Points::from_vec(values, 3).unwrap();
    let marginals = Marginals::new(&points, None).unwrap().unwrap();
    let functions = Functions::new(&values, None).unwrap();
    let moments = ColumnMoments::new(&points, None).unwrap().unwrap();
    let pool = |precision| {
        let mu = Empirical::new(Kernel::gaussian(1.0).unwrap(), points.clone()).unwrap().precision(precision);
        let parts = vec![
            Part::marginals(&marginals, &points, 0.4).unwrap(),
            Part::functions(&functions, &values, 1.0).unwrap(),
            Part::moments(&moments, &points, 0.1).unwrap(),
        ];
        Pool::new(mu, points.clone()).unwrap().with_parts(parts).unwrap()
    };
    let (mixed, double) = (pool(Precision::Mixed), pool(Precision::Double));
    assert_eq!(mixed.precision(), Precision::Mixed);
    let mut herder = Herder::over(mixed.clone()).unique(true);
    let picks = herder.run(300);
    let rows: Vec<usize> = picks.iter().filter_map(|pick| pick.index).collect();
    for t in [1, 30, 300] {
        let exact = double.mmd_of_rows(&rows[..t]).unwrap().unwrap();
        let told = picks[t - 1].error.unwrap();
        assert!((told / exact - 1.0).abs() < 1e-3, "T={t}: {told} {exact}");
    }
    let refine = |pool: &Pool| {
        let refiner = Refiner::over(pool.clone(), RefineOptions::default()).unwrap();
        refiner.improve_rows(&rows[..40], &unwatched).unwrap()
    };
    let (found, reference) = (refine(&mixed), refine(&double));
    let exact = double.distance_of_rows(&found.rows).unwrap().unwrap();
    assert!((found.objective.unwrap().end / exact - 1.0).abs() < 1e-3);
    assert!((exact / reference.objective.unwrap().end - 1.0).abs() < 0.05, "{exact} {reference:?}");
}

#[test]
fn a_pool_without_parts_is_the_pool_it_was() {
    let case = case(90, "gaussian(1.3)", false);
    let mu = Empirical::new(Kernel::gaussian(1.3).unwrap(), case.points.clone()).unwrap();
    let plain = Pool::new(mu, case.points.clone()).unwrap();
    let emptied = case.pool.clone().with_parts(Vec::new()).unwrap();
    let run = |pool: &Pool| Herder::over(pool.clone()).run(40);
    assert_eq!(run(&plain), run(&emptied));
    assert_eq!(plain.distance_of_rows(&[1, 2]).unwrap(), None);
    assert_ne!(run(&plain), run(&case.pool));
}

#[test]
fn what_parts_cannot_do_is_refused() {
    let case = case(91, "gaussian(1.3)", false);
    let herder = || Herder::over(case.pool.clone());
    let given = herder().starting_from(case.points.select(&[1]).unwrap(), vec![1.0]);
    assert!(matches!(given, Err(Error::NotWithParts { .. })));
    for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let part = Part::marginals(&case.marginals, &case.points, weight);
        assert!(matches!(part, Err(Error::BadOption { .. })), "{weight}");
    }
    let short = Part::functions(&case.functions, &case.values.select(&[0, 1]).unwrap(), 1.0).unwrap();
    let found = case.pool.clone().with_parts(vec![short]).err().unwrap();
    assert_eq!(found, Error::RowCount { what: "functions", found: 2, expected: 60 });
}
