//! Stein targets against the formula written out: rows and errors under every preconditioner, swaps, weights, stop rules,
//! regularisation, points anywhere, and scores that are wrong.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{continued, herd, plain, ready, thin};
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rand_pcg::Pcg64;
use supersample::scale::Scale;
use supersample::task::{
    Advice, Choose, Ended, Problem, RowScores, RowWeights, Rows, STEIN_SCALE, Stop, Subset, Target,
    TargetChoice,
};
use supersample::weights::WeightRule;
use supersample::words::Opt;
use supersample::{
    AscentOptions, Domain, Error, Herder, Points, Preconditioner, RefineOptions, SteinBase, SteinTarget,
    unwatched,
};

/// The choice with the density as its target.
fn density(choose: Choose) -> Choose {
    choose.target(TargetChoice::Density)
}

/// Draws near a normal density with correlated columns, and its scores at them.
struct Case {
    draws: Vec<f64>,
    scores: Vec<f64>,
    dim: usize,
}

impl Case {
    fn new(n: usize, dim: usize, seed: u64) -> Case {
        let mut rng = Pcg64::seed_from_u64(seed);
        // p = N(m, (I + 11ᵀ/2)⁻¹), so that s = −(x − m) − Σ(x − m)/2.
        let mut draws = Vec::new();
        let mut scores = Vec::new();
        for _ in 0..n {
            let x: Vec<f64> = (0..dim).map(|j| rng.sample::<f64, _>(StandardNormal) + j as f64).collect();
            let sum: f64 = x.iter().enumerate().map(|(j, x)| x - j as f64).sum();
            scores.extend(x.iter().enumerate().map(|(j, x)| -(x - j as f64) - 0.5 * sum));
            draws.extend(x);
        }
        Case { draws, scores, dim }
    }

    fn rows(&self) -> Points {
        Points::from_rows(&self.draws, self.dim).unwrap()
    }

    fn problem(&self, scores: RowScores, scale: Scale) -> Problem {
        Problem::new(Rows::new(self.rows()).scores(scores), density(plain()).scale(scale)).unwrap()
    }

    fn target(&self, scores: RowScores, scale: Scale) -> Target {
        self.problem(scores, scale).prepare(&unwatched).unwrap()
    }

    fn scored(&self) -> RowScores {
        RowScores::new(self.scores.clone())
    }

    /// k(x, y) of all pairs under P, from points divided and scores multiplied by the units.
    fn matrix(&self, units: &[f64], p: &[Vec<f64>], base: SteinBase) -> Vec<Vec<f64>> {
        let dim = self.dim;
        let scaled = |values: &[f64], by: &dyn Fn(f64, f64) -> f64| -> Vec<Vec<f64>> {
            values
                .chunks_exact(dim)
                .map(|row| row.iter().zip(units).map(|(x, u)| by(*x, *u)).collect())
                .collect()
        };
        let (x, s) = (scaled(&self.draws, &|x, u| x / u), scaled(&self.scores, &|s, u| s * u));
        let times = |v: &[f64]| -> Vec<f64> { p.iter().map(|row| dot(row, v)).collect() };
        let trace: f64 = (0..dim).map(|j| p[j][j]).sum();
        let value = |i: usize, j: usize| {
            let delta: Vec<f64> = x[i].iter().zip(&x[j]).map(|(a, b)| a - b).collect();
            let pd = times(&delta);
            let u = dot(&delta, &pd);
            // φ, φ′ and φ″ of κ = φ(u).
            let (f, f1, f2) = match base {
                SteinBase::Imq => {
                    ((1.0 + u).powf(-0.5), -0.5 * (1.0 + u).powf(-1.5), 0.75 * (1.0 + u).powf(-2.5))
                }
                SteinBase::Gaussian => ((-u / 2.0).exp(), -0.5 * (-u / 2.0).exp(), 0.25 * (-u / 2.0).exp()),
            };
            let gradient_x: Vec<f64> = pd.iter().map(|pd| 2.0 * f1 * pd).collect();
            -4.0 * f2 * dot(&pd, &pd) - 2.0 * f1 * trace + dot(&gradient_x, &s[j]) - dot(&gradient_x, &s[i])
                + f * dot(&s[i], &s[j])
        };
        let n = x.len();
        (0..n).map(|i| (0..n).map(|j| value(i, j)).collect()).collect()
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn scalar(p: f64, dim: usize) -> Vec<Vec<f64>> {
    (0..dim).map(|i| (0..dim).map(|j| if i == j { p } else { 0.0 }).collect()).collect()
}

/// The greedy choice written out: argmin of k(x, x)/2 + penalty(x) + Σ k(x, xₜ) − (T+1)·reward(x), the first of equal ones.
fn greedy(
    matrix: &[Vec<f64>],
    count: usize,
    reward: &dyn Fn(usize) -> f64,
    penalty: &dyn Fn(usize) -> f64,
) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    for t in 0..count {
        let cost = |i: usize| {
            matrix[i][i] / 2.0 + penalty(i) + chosen.iter().map(|&j| matrix[i][j]).sum::<f64>()
                - (t + 1) as f64 * reward(i)
        };
        let costs: Vec<f64> = (0..matrix.len()).map(cost).collect();
        chosen.push((0..costs.len()).reduce(|a, b| if costs[b] < costs[a] { b } else { a }).unwrap());
    }
    chosen
}

fn ksd(matrix: &[Vec<f64>], rows: &[usize]) -> f64 {
    let sum: f64 = rows.iter().flat_map(|&i| rows.iter().map(move |&j| matrix[i][j])).sum();
    sum.sqrt() / rows.len() as f64
}

fn assert_near(got: f64, want: f64, relative: f64) {
    assert!((got - want).abs() <= relative * want.abs(), "{got} {want}");
}

#[test]
fn rows_and_errors_are_those_of_the_formula_under_every_kernel() {
    for (seed, dim) in [(1, 1), (2, 3), (3, 5)] {
        let case = Case::new(150, dim, seed);
        // Mean absolute deviations from the mean.
        let units: Vec<f64> = (0..dim)
            .map(|j| {
                let column: Vec<f64> = case.draws.iter().skip(j).step_by(dim).copied().collect();
                let mean = column.iter().sum::<f64>() / 150.0;
                column.iter().map(|x| (x - mean).abs()).sum::<f64>() / 150.0
            })
            .collect();
        let scaled: Vec<Vec<f64>> = case
            .draws
            .chunks_exact(dim)
            .map(|x| x.iter().zip(&units).map(|(x, u)| x / u).collect())
            .collect();
        let mut distances: Vec<f64> = (0..150)
            .flat_map(|i| (0..i).map(move |j| (i, j)))
            .map(|(i, j)| scaled[i].iter().zip(&scaled[j]).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt())
            .collect();
        distances.sort_by(f64::total_cmp);
        // 11,175 pairs: an odd number.
        let squared = distances[distances.len() / 2].powi(2);
        for base in [SteinBase::Imq, SteinBase::Gaussian] {
            let mut kinds = vec![
                (Preconditioner::Identity, 1.0),
                (Preconditioner::Median, 1.0 / squared),
                (Preconditioner::ScaledMedian, 150f64.ln() / squared),
                (Preconditioner::Length(0.7), 1.0 / 0.49),
            ];
            if dim == 1 {
                // The inverse of the variance with n − 1.
                let mean = scaled.iter().map(|x| x[0]).sum::<f64>() / 150.0;
                let variance = scaled.iter().map(|x| (x[0] - mean).powi(2)).sum::<f64>() / 149.0;
                kinds.push((Preconditioner::Covariance, 1.0 / variance));
            }
            for (preconditioner, p) in kinds {
                let matrix = case.matrix(&units, &scalar(p, dim), base);
                let problem = case.target(case.scored().kernel(base, preconditioner), STEIN_SCALE);
                let chosen = herd(&problem, Stop::after(25).unwrap(), false);
                assert_eq!(
                    chosen.rows,
                    greedy(&matrix, 25, &|_| 0.0, &|_| 0.0),
                    "{base:?} {preconditioner:?}"
                );
                for pick in &chosen.trace {
                    assert_near(pick.error.unwrap(), ksd(&matrix, &chosen.rows[..pick.t]), 1e-9);
                }
                let all: Vec<usize> = (0..150).collect();
                let scores = Points::from_rows(&case.scores, dim).unwrap();
                let of_all = problem.mmd(&Subset::of_points(case.rows()).scores(scores), &unwatched);
                assert_near(of_all.unwrap(), ksd(&matrix, &all), 1e-9);
                let mean = (0..150).map(|i| matrix[i][i]).sum::<f64>() / 150.0;
                assert_near(problem.error_scale().single_draw.unwrap(), mean, 1e-12);
            }
        }
    }
}

#[test]
fn a_full_matrix_is_the_formula_too_and_is_not_the_same_as_whitening() {
    let case = Case::new(120, 2, 7);
    let (n, x): (f64, Vec<&[f64]>) = (120.0, case.draws.chunks_exact(2).collect());
    let mean = |j: usize| x.iter().map(|x| x[j]).sum::<f64>() / n;
    let covariance =
        |i: usize, j: usize| x.iter().map(|x| (x[i] - mean(i)) * (x[j] - mean(j))).sum::<f64>() / (n - 1.0);
    let (a, b, c) = (covariance(0, 0), covariance(0, 1), covariance(1, 1));
    let det = a * c - b * b;
    let p = vec![vec![c / det, -b / det], vec![-b / det, a / det]];
    for base in [SteinBase::Imq, SteinBase::Gaussian] {
        let matrix = case.matrix(&[1.0; 2], &p, base);
        let problem = case.target(case.scored().kernel(base, Preconditioner::Covariance), Scale::None);
        let chosen = herd(&problem, Stop::after(20).unwrap(), false);
        assert_eq!(chosen.rows, greedy(&matrix, 20, &|_| 0.0, &|_| 0.0));
        assert_near(chosen.error().unwrap(), ksd(&matrix, &chosen.rows), 1e-9);
    }
}

#[test]
fn swaps_weights_quotas_and_stop_rules_lower_the_ksd_of_the_formula() {
    let case = Case::new(200, 2, 11);
    let matrix = case.matrix(&[1.0; 2], &scalar(1.0, 2), SteinBase::Imq);
    let problem = case.target(case.scored(), Scale::None);
    let herded = herd(&problem, Stop::after(12).unwrap(), true);
    let thinned = thin(&problem, Stop::after(12).unwrap(), RefineOptions::default());
    let (before, after) = (ksd(&matrix, &herded.rows), ksd(&matrix, &thinned.rows));
    assert!(after < before, "{after} {before}");
    assert_near(thinned.error().unwrap(), after, 1e-9);
    // No single swap helps.
    for position in 0..12 {
        for row in (0..200).filter(|row| !thinned.rows.contains(row)) {
            let mut other = thinned.rows.clone();
            other[position] = row;
            assert!(ksd(&matrix, &other) >= after * (1.0 - 1e-12));
        }
    }
    for rule in [WeightRule::Simplex, WeightRule::Signed] {
        let weights = problem.weigh(&thinned.rows, rule, &unwatched).unwrap().weights.unwrap();
        let w = &weights.weights;
        assert!((w.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        let rows = || thinned.rows.iter().zip(w);
        let squared: f64 = rows()
            .flat_map(|(&i, a)| rows().map(move |(&j, b)| (i, j, a * b)))
            .map(|(i, j, w)| w * matrix[i][j])
            .sum();
        assert_near(weights.error.unwrap(), squared.sqrt(), 1e-9);
        assert!(weights.error.unwrap() < after);
    }
    let groups: Vec<usize> = (0..200).map(|row| row % 4).collect();
    let balanced = RefineOptions::default().groups(&groups, Some(&[3, 3, 3, 3]));
    let balanced = thin(&problem, Stop::after(12).unwrap(), balanced);
    assert!((0..4).all(|group| balanced.rows.iter().filter(|row| *row % 4 == group).count() == 3));
    let fewest = thin(&problem, Stop::at_error(after * 1.5).unwrap(), RefineOptions::default());
    assert!(
        fewest.ended == Ended::Tolerance && fewest.rows.len() < 12 && fewest.error().unwrap() <= after * 1.5
    );
    // A run that is continued is the same run.
    let twenty = Choose::herd(20).unwrap();
    let first = herd(&problem, Stop::after(10).unwrap(), false);
    let again = case.problem(case.scored(), Scale::None);
    let again = again.recall(problem.recalled().to_vec(), &unwatched).unwrap();
    let rest = continued(&again, &twenty, &first.rows).unwrap();
    assert_eq!(rest, problem.choose_by(&twenty, &unwatched).unwrap());
}

#[test]
fn evaluation_is_the_ksd_of_any_subset_beside_random_ones() {
    let case = Case::new(100, 2, 13);
    let problem = case.target(case.scored(), Scale::Sd);
    let rows = [3, 14, 15, 92, 65];
    let by_number = problem.evaluate(&Subset::of_rows(&rows), &unwatched).unwrap();
    let subset = case.rows().select(&rows).unwrap();
    let scores = Points::from_rows(&case.scores, 2).unwrap().select(&rows).unwrap();
    let scored = Subset::of_points(subset.clone()).scores(scores);
    let with_scores = problem.evaluate(&scored, &unwatched).unwrap();
    assert_eq!(by_number, with_scores);
    assert_eq!(
        problem.pool().unwrap().mmd_of_rows(&rows).unwrap().map(|e| (e * 1e9).round()),
        Some((by_number.mmd() * 1e9).round())
    );
    assert_eq!(by_number.comparison.unwrap().random.len(), 20);
    assert!(matches!(problem.evaluate(&Subset::of_points(subset), &unwatched), Err(Error::Scores { .. })));
    let plain = ready(case.rows(), plain());
    assert!(matches!(plain.mmd(&scored, &unwatched), Err(Error::Scores { .. })));
}

#[test]
fn a_regularised_choice_is_the_greedy_one_and_its_error_is_the_plain_ksd() {
    let case = Case::new(120, 2, 17);
    let units = [1.0; 2];
    let matrix = case.matrix(&units, &scalar(1.0, 2), SteinBase::Imq);
    let log_density: Vec<f64> =
        case.draws.chunks_exact(2).map(|x| 3.0 - (x[0] * x[0] + 2.0 * x[1]).sin() * 4.0).collect();
    let second: Vec<f64> = (0..240).map(|i| (f64::from(i) * 0.37).sin() * 3.0).collect();
    let largest = log_density.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weight = 0.05;
    let reward = |i: usize| weight / 2.0 * (log_density[i] - largest);
    let penalty = |i: usize| (second[2 * i] + second[2 * i + 1]).max(0.0) / 2.0;
    let plain = greedy(&matrix, 15, &|_| 0.0, &|_| 0.0);
    for (with_second, want) in
        [(false, greedy(&matrix, 15, &reward, &|_| 0.0)), (true, greedy(&matrix, 15, &reward, &penalty))]
    {
        assert_ne!(want, plain);
        let mut scores = case.scored().regularised(log_density.clone(), weight);
        if with_second {
            scores = scores.second_derivatives(second.clone());
        }
        let problem = case.target(scores, Scale::None);
        let chosen = herd(&problem, Stop::after(15).unwrap(), false);
        assert_eq!(chosen.rows, want);
        for pick in &chosen.trace {
            assert_near(pick.error.unwrap(), ksd(&matrix, &want[..pick.t]), 1e-9);
        }
        // What swaps lower is the sum, and no single swap lowers it further.
        let thinned = thin(&problem, Stop::after(8).unwrap(), RefineOptions::default());
        let objective = |rows: &[usize]| {
            let (size, second) = (rows.len() as f64, if with_second { 1.0 } else { 0.0 });
            let terms =
                rows.iter().map(|&i| 2.0 * second * penalty(i) / (size * size) - 2.0 * reward(i) / size);
            ksd(&matrix, rows).powi(2) + terms.sum::<f64>()
        };
        let unit = (0..120).map(|i| matrix[i][i]).sum::<f64>() / 120.0;
        let end = thinned.refined.as_ref().unwrap().objective.as_ref().unwrap().end;
        assert_near(end * end * unit, objective(&thinned.rows), 1e-9);
        assert_near(thinned.error().unwrap(), ksd(&matrix, &thinned.rows), 1e-9);
        for position in 0..8 {
            for row in (0..120).filter(|row| !thinned.rows.contains(row)) {
                let mut other = thinned.rows.clone();
                other[position] = row;
                assert!(objective(&other) >= objective(&thinned.rows) - 1e-12);
            }
        }
    }
    // Derivatives in other units: with columns divided by u, second derivatives grow by u².
    let halved = Case {
        draws: case.draws.iter().map(|x| x * 2.0).collect(),
        scores: case.scores.iter().map(|s| s / 2.0).collect(),
        dim: 2,
    };
    let scaled = |case: &Case, by: f64| {
        let second = second.iter().map(|value| value * by).collect();
        let scores = case.scored().regularised(log_density.clone(), weight).second_derivatives(second);
        let problem = case.target(scores, Scale::Aad);
        herd(&problem, Stop::after(15).unwrap(), false).rows
    };
    assert_eq!(scaled(&case, 1.0), scaled(&halved, 0.25));
}

#[test]
fn a_density_whose_score_is_a_function_has_points_anywhere() {
    let case = Case::new(60, 2, 19);
    let (starts, scores) = (case.rows(), Points::from_rows(&case.scores, 2).unwrap());
    let score = |x: &[f64], score: &mut [f64]| {
        let sum = x[0] + x[1] - 1.0;
        score[0] = -x[0] - 0.5 * sum;
        score[1] = -(x[1] - 1.0) - 0.5 * sum;
    };
    for preconditioner in [Preconditioner::Identity, Preconditioner::Covariance] {
        let fixed = SteinTarget::new(&starts, &scores, SteinBase::Imq, preconditioner).unwrap();
        let rows = fixed.rows(&starts, &scores).unwrap();
        let ascent = |options: AscentOptions| Domain::Ascent { starts: rows.clone(), options };
        let options = AscentOptions::default().climbs(3);
        assert!(matches!(Herder::new(fixed.clone(), ascent(options)), Err(Error::Scores { .. })));
        let on_pool = Herder::over(fixed.pool(&starts, &scores).unwrap()).run(20);
        let target = fixed.clone().with_score(Arc::new(score), None, u64::MAX);
        let anywhere = Herder::new(target.clone(), ascent(options)).unwrap().run(20);
        assert!(anywhere.iter().all(|pick| pick.converged && pick.index.is_none()));
        let (free, bound) = (anywhere[19].error.unwrap(), on_pool[19].error.unwrap());
        assert!(free < bound, "{preconditioner:?}: {free} {bound}");
        // The first is the mode, where k(x, x) is least.
        let mode = target.point(&anywhere[0].point);
        assert!(mode[0].abs() < 1e-5 && (mode[1] - 1.0).abs() < 1e-5, "{mode:?}");
        // E_T is that of the points and their scores by the formula.
        let points: Vec<f64> = anywhere.iter().flat_map(|pick| target.point(&pick.point)).collect();
        let at: Vec<f64> = points
            .chunks_exact(2)
            .flat_map(|x| {
                let mut s = [0.0; 2];
                score(x, &mut s);
                s
            })
            .collect();
        let (points, at) = (Points::from_vec(points, 2).unwrap(), Points::from_vec(at, 2).unwrap());
        let again = Herder::trace(&fixed.pool(&points, &at).unwrap(), &(0..20).collect::<Vec<_>>()).unwrap();
        assert_near(again[19].error.unwrap(), anywhere[19].error.unwrap(), 1e-7);
        // A cap on evaluations ends climbs and says so.
        let capped = fixed.clone().with_score(Arc::new(score), None, 200);
        let picks = Herder::new(capped.clone(), ascent(options)).unwrap().run(20);
        assert!(picks.len() == 20 && !picks[19].converged && picks[0].converged);
        assert!(capped.evaluations() >= 200 && capped.evaluations() < 300, "{}", capped.evaluations());
        // …after the same evaluations on any number of threads.
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let capped = fixed.clone().with_score(Arc::new(score), None, 200);
            pool.install(|| Herder::new(capped, ascent(options)).unwrap().run(8))
        };
        assert_eq!(on(1), on(3));
        // Nothing is chosen where there is no density, or no score.
        let outside = Arc::new(AtomicBool::new(false));
        let seen = outside.clone();
        let half = move |x: &[f64]| if x[0] > 0.5 { 0.0 } else { f64::NEG_INFINITY };
        let watched = move |x: &[f64], s: &mut [f64]| {
            if x[0] <= 0.5 {
                seen.store(true, Ordering::Relaxed);
            }
            score(x, s);
        };
        let right: Vec<usize> = (0..60).filter(|&i| starts.row(i)[0] > 0.6).collect();
        let right = rows.select(&right).unwrap();
        let bounded = fixed.clone().with_score(Arc::new(watched), Some(Arc::new(half)), u64::MAX);
        let domain = Domain::Ascent { starts: right.clone(), options };
        let picks = Herder::new(bounded.clone(), domain).unwrap().run(10);
        assert!(
            picks.iter().all(|pick| bounded.point(&pick.point)[0] > 0.5) && !outside.load(Ordering::Relaxed)
        );
        let nowhere =
            fixed.clone().with_score(Arc::new(|_: &[f64], s: &mut [f64]| s.fill(f64::NAN)), None, u64::MAX);
        let picks = Herder::new(nowhere, Domain::Ascent { starts: right, options }).unwrap().run(3);
        assert!(picks.iter().all(|pick| !pick.converged && pick.error.unwrap().is_finite()));
    }
}

#[test]
fn scores_that_are_wrong_are_named() {
    let case = Case::new(300, 3, 23);
    let refused = |scores: RowScores, choose: Choose| {
        Problem::new(Rows::new(case.rows()).scores(scores), choose).expect_err("it is refused")
    };
    // What thinning matches of its own accord goes without saying.
    assert!(
        Problem::new(Rows::new(case.rows()).scores(case.scored()), density(Choose::thin(5).unwrap())).is_ok()
    );
    let mut bad = case.scores.clone();
    bad[3 * 41 + 2] = f64::NAN;
    let error = refused(RowScores::new(bad), density(plain()));
    assert!(matches!(error, Error::NonFiniteScore { row: 41, column: 2, .. }), "{error}");
    let error = refused(RowScores::new(case.scores[..3 * 299].to_vec()), density(plain()));
    assert!(matches!(error, Error::RowCount { what: "the scores", found: 299, expected: 300 }), "{error}");
    assert!(matches!(refused(RowScores::new(vec![1.0; 10]), density(plain())), Error::RaggedRows { .. }));
    assert!(matches!(
        refused(case.scored(), density(plain()).marginals(0.1)),
        Error::NotWithTarget { option: Opt::Marginals, .. }
    ));
    assert!(matches!(
        refused(case.scored(), density(plain()).moments(0.1)),
        Error::NotWithTarget { option: Opt::Moments, .. }
    ));
    assert!(matches!(refused(case.scored(), density(plain()).landmarks(10)), Error::NotWithTarget { .. }));
    let uneven: Vec<f64> = (0..300).map(f64::from).collect();
    let weights = RowWeights::Weights(&uneven);
    let weighted = Rows::weighted(case.rows(), weights).unwrap().scores(case.scored());
    let weighted = Problem::new(weighted, density(plain()));
    assert!(matches!(weighted, Err(Error::NotWithTarget { .. })));
    let huge = RowScores::new(vec![1e200; 900]);
    assert!(matches!(refused(huge, density(plain())), Error::Overflow { .. }));
    let short = case.scored().regularised(vec![0.0; 20], 0.1);
    assert!(matches!(refused(short, density(plain())), Error::RowCount { .. }));
    assert!(matches!(
        refused(case.scored().regularised(vec![0.0; 300], 0.0), density(plain())),
        Error::BadOption { .. }
    ));
    assert!(matches!(
        refused(case.scored().second_derivatives(vec![0.0; 900]), density(plain())),
        Error::Scores { .. }
    ));
    let pca = case.scored().regularised(vec![0.0; 300], 0.1).second_derivatives(vec![0.0; 900]);
    assert!(matches!(refused(pca, density(plain()).scale(Scale::Pca)), Error::Scores { .. }));
}

#[test]
fn a_wrong_sign_and_rows_that_are_no_draws_are_told_of() {
    // Independent normal draws with their own scores.
    let mut rng = Pcg64::seed_from_u64(29);
    let draws: Vec<f64> = (0..2000).map(|_| 3.0 + 0.5 * rng.sample::<f64, _>(StandardNormal)).collect();
    let own: Vec<f64> = draws.iter().map(|x| -(x - 3.0) / 0.25).collect();
    let advice = |draws: &[f64], scores: Vec<f64>| {
        let rows = Points::from_rows(draws, 2).unwrap();
        let problem = Problem::new(Rows::new(rows).scores(RowScores::new(scores)), density(plain())).unwrap();
        assert_eq!(problem.scale(), STEIN_SCALE);
        problem.advice().to_vec()
    };
    assert_eq!(advice(&draws, own.clone()), []);
    let turned: Vec<f64> = own.iter().map(|s| -s).collect();
    let found = advice(&draws, turned);
    assert_eq!(found[0], Advice::ScoresPointAway { columns: vec![0, 1] });
    assert!(matches!(found[1], Advice::NotDrawsOfDensity { mean } if mean > 0.1), "{found:?}");
    let one: Vec<f64> = own.iter().enumerate().map(|(i, s)| if i % 2 == 1 { -s } else { *s }).collect();
    assert_eq!(advice(&draws, one)[0], Advice::ScoresPointAway { columns: vec![1] });
    // No scores at all, those of another column, and too few rows to say.
    let flat = advice(&draws, vec![0.0; 2000]);
    assert_eq!(flat[0], Advice::ScoresUnrelated { columns: vec![0, 1] });
    let wide: Vec<f64> =
        draws.iter().enumerate().map(|(i, x)| if i % 2 == 1 { 100.0 * x } else { *x }).collect();
    let own_of_wide: Vec<f64> =
        own.iter().enumerate().map(|(i, s)| if i % 2 == 1 { s / 100.0 } else { *s }).collect();
    assert_eq!(advice(&wide, own_of_wide.clone()), []);
    let mut swapped = own_of_wide;
    swapped.chunks_exact_mut(2).for_each(|s| s.swap(0, 1));
    let found = advice(&wide, swapped);
    assert!(found.contains(&Advice::ScoresUnrelated { columns: vec![0] }), "{found:?}");
    assert_eq!(advice(&draws[..38], vec![0.0; 38]), []);
    // Draws that are too narrow are something else, and so is one row that is far out.
    let narrow: Vec<f64> = draws.iter().map(|x| 3.0 + (x - 3.0) * 0.6).collect();
    let of_narrow = narrow.iter().map(|x| -(x - 3.0) / 0.25).collect();
    assert_eq!(advice(&narrow, of_narrow), []);
    let mut outlying = draws.clone();
    outlying[77] = 1e6;
    let of_outlying: Vec<f64> = outlying.iter().map(|x| -(x - 3.0) / 0.25).collect();
    assert!(
        !advice(&outlying, of_outlying).iter().any(|advice| matches!(advice, Advice::ScoresUnrelated { .. }))
    );
    // A burn-in of columns that go together: the products of the second are far above zero, and the sign is right.
    let joined: Vec<f64> = (0..500)
        .flat_map(|i| {
            let (common, own): (f64, f64) = (rng.sample(StandardNormal), rng.sample(StandardNormal));
            let away = if i < 100 { 8.0 } else { 0.0 };
            [common + away, 0.9 * common + 0.3 * own + 0.5 * away]
        })
        .collect();
    let of_joined: Vec<f64> = joined
        .chunks_exact(2)
        .flat_map(|x| {
            let rest = (x[1] - 0.9 * x[0]) / 0.09;
            [-x[0] + 0.9 * rest, -rest]
        })
        .collect();
    let products = |j: usize| (0..500).map(|i| joined[2 * i + j] * of_joined[2 * i + j]).sum::<f64>() / 500.0;
    assert!(products(0) < -1.0 && products(1) > 0.5, "{} {}", products(0), products(1));
    assert!(matches!(advice(&joined, of_joined)[..], [Advice::NotDrawsOfDensity { .. }]));
    // The first fifth far out.
    let burnt: Vec<f64> = draws.iter().enumerate().map(|(i, x)| if i < 400 { x + 4.0 } else { *x }).collect();
    let scores = burnt.iter().map(|x| -(x - 3.0) / 0.25).collect();
    let found = advice(&burnt, scores);
    assert!(matches!(found[..], [Advice::NotDrawsOfDensity { .. }]), "{found:?}");
}
