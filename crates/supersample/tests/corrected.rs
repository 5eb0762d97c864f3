//! Corrected targets: weights against the conditions that define them, moments that come out exactly, fall-backs, wrong scores, and
//! rows that are nearer to the density than the draws are.

use std::ops::ControlFlow;

use crate::common::{ready, rng};
use rand::RngExt;
use rand_distr::StandardNormal;
use rand_pcg::Pcg64;
use supersample::task::{
    Advice, Choose, Corrected, Problem, RowScores, RowWeights, Rows, ScoreFault, SteinFeatures, Subset,
    TargetChoice,
};
use supersample::weights::WeightRule;
use supersample::words::{Names, Opt, Style};
use supersample::{Error, Gram, Points, Preconditioner, Progress, RefineOptions, unwatched};

/// Rows with the scores of a density that they are nearly draws of.
struct Case {
    dim: usize,
    draws: Vec<f64>,
    scores: Vec<f64>,
}

impl Case {
    fn rows(&self) -> Points {
        Points::from_rows(&self.draws, self.dim).unwrap()
    }

    fn scored(&self) -> Rows {
        Rows::new(self.rows()).scores(RowScores::new(self.scores.clone()))
    }

    fn problem(&self) -> Problem {
        Problem::new(self.scored(), Choose::thin(10).unwrap()).unwrap()
    }

    fn with_scores(&self, change: impl Fn(usize, f64) -> f64) -> Case {
        let scores = self.scores.iter().enumerate().map(|(at, score)| change(at, *score)).collect();
        Case { dim: self.dim, draws: self.draws.clone(), scores }
    }
}

fn normal(rng: &mut Pcg64) -> f64 {
    rng.sample(StandardNormal)
}

/// Draws of N(m, LLᵀ) with mⱼ = j, a little shifted and stretched, with the scores of N(m, LLᵀ).
fn normals(count: usize, dim: usize, mixed: f64, seed: u64) -> Case {
    stretched(count, dim, mixed, (0.1, 1.1), seed)
}

/// Normal draws that were shifted and stretched by this before they were mixed.
fn stretched(count: usize, dim: usize, mixed: f64, (shift, stretch): (f64, f64), seed: u64) -> Case {
    let rng = &mut rng(seed);
    let (mut draws, mut scores) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let z: Vec<f64> = (0..dim).map(|_| shift + stretch * normal(rng)).collect();
        // L has 1 on its diagonal and `mixed` below it.
        let x: Vec<f64> = (0..dim).map(|j| j as f64 + z[j] + mixed * z[..j].iter().sum::<f64>()).collect();
        // L⁻ᵀ·z, from the last column to the first.
        let mut s = vec![0.0; dim];
        for j in (0..dim).rev() {
            s[j] = -z[j] - mixed * s[j + 1..].iter().sum::<f64>();
        }
        draws.extend(x);
        scores.extend(s);
    }
    Case { dim, draws, scores }
}

/// Draws of a banana: normal but for the second column, which is bent by the square of the first.
fn bananas(count: usize, seed: u64) -> Case {
    let rng = &mut rng(seed);
    let (mut draws, mut scores) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let (a, b) = (normal(rng), normal(rng));
        draws.extend([a, b + 0.5 * (a * a - 1.0)]);
        scores.extend([-a + b * a, -b]);
    }
    Case { dim: 2, draws, scores }
}

fn moments(case: &Case, shares: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let rows = case.rows();
    let dim = case.dim;
    let mut mean = vec![0.0; dim];
    for (row, share) in rows.rows().zip(shares) {
        mean.iter_mut().zip(row).for_each(|(mean, x)| *mean += share * x);
    }
    let mut covariance = vec![0.0; dim * dim];
    for (row, share) in rows.rows().zip(shares) {
        for i in 0..dim {
            for j in 0..dim {
                covariance[i * dim + j] += share * (row[i] - mean[i]) * (row[j] - mean[j]);
            }
        }
    }
    (mean, covariance)
}

fn record(problem: &Problem) -> Corrected {
    *problem.corrected().unwrap()
}

fn close(a: f64, b: f64, by: f64) {
    assert!((a - b).abs() <= by, "{a} {b}");
}

#[test]
fn means_and_covariances_of_normals_are_exact_whatever_the_draws() {
    let case = normals(600, 4, 0.5, 1);
    let problem = case.problem();
    let found = record(&problem);
    assert_eq!((found.features, found.count), (Some(SteinFeatures::Products), 14));
    assert!(found.effective_share > 0.5 && found.effective_share < 1.0 && found.left < 0.5, "{found:?}");
    let (mean, covariance) = moments(&case, problem.shares().unwrap());
    for i in 0..4 {
        close(mean[i], i as f64, 1e-8);
        for j in 0..4 {
            let shared = i.min(j);
            let off = if i == j { 1.0 } else { 0.5 };
            close(covariance[i * 4 + j], 0.25 * shared as f64 + off, 1e-8);
        }
    }
    close(problem.shares().unwrap().iter().sum::<f64>(), 1.0, 1e-12);
    // Too few rows for products: independent columns have exact variances all the same.
    let case = normals(200, 6, 0.0, 2);
    let problem = case.problem();
    assert_eq!(record(&problem).features, Some(SteinFeatures::Squares));
    let (mean, covariance) = moments(&case, problem.shares().unwrap());
    for j in 0..6 {
        close(mean[j], j as f64, 1e-8);
        close(covariance[j * 7], 1.0, 1e-8);
    }
}

/// The weights are the only ones with log w/v linear in the features and means of zero.
#[test]
fn weights_are_of_the_exponential_family_and_heed_those_before() {
    let case = normals(300, 1, 0.0, 3);
    let before: Vec<f64> = (0..300).map(|i| if i % 7 == 0 { 0.0 } else { 1.0 + f64::from(i % 3) }).collect();
    let total: f64 = before.iter().sum();
    let rows = Rows::weighted(case.rows(), RowWeights::Weights(&before)).unwrap();
    let rows = rows.scores(RowScores::new(case.scores.clone()));
    let problem = Problem::new(rows, Choose::herd(10).unwrap()).unwrap();
    let shares = problem.shares().unwrap();
    let (mean, covariance) = moments(&case, shares);
    close(mean[0], 0.0, 1e-9);
    close(covariance[0], 1.0, 1e-9);
    // Three rows give λ and the constant, and all others agree. The features are x and 1 − x², here.
    let logs: Vec<(f64, f64)> = (0..300)
        .filter(|i| before[*i] > 0.0)
        .map(|i| (case.draws[i], (shares[i] * total / before[i]).ln()))
        .collect();
    let (a, b, c) = (logs[0], logs[1], logs[2]);
    let slope = |p: (f64, f64), q: (f64, f64)| (q.1 - p.1) / (q.0 - p.0);
    let curve = (slope(b, c) - slope(a, b)) / (c.0 - a.0);
    for (x, log) in logs {
        close(log, a.1 + slope(a, b) * (x - a.0) + curve * (x - a.0) * (x - b.0), 1e-6);
    }
    assert!((0..300).all(|i| (shares[i] == 0.0) == (before[i] == 0.0)));
    assert_eq!(problem.without_weight().len(), 43);
    let chosen = problem.prepare(&unwatched).unwrap().choose(&unwatched).unwrap();
    assert!(chosen.rows.iter().all(|row| row % 7 != 0));
}

/// Root mean squares over these seeds of the error of the mean and of the sd of the second column, against the density.
fn errors(target: TargetChoice, number: usize) -> (f64, f64) {
    let (mut mean, mut sd) = (0.0, 0.0);
    for seed in 0..8 {
        let case = bananas(1000, 100 + seed);
        let choose = Choose::thin(number).unwrap().search(Some(5)).target(target);
        let target = ready(case.scored(), choose);
        let rows = target.select(&target.choose(&unwatched).unwrap().rows).unwrap();
        let (found, covariance) = moments(
            &Case { dim: 2, draws: rows.as_slice().to_vec(), scores: Vec::new() },
            &vec![1.0 / number as f64; number],
        );
        mean += found[1].powi(2);
        // The second column is b + (a² − 1)/2, of variance 1 + 2/4.
        sd += (covariance[3].sqrt() - 1.5_f64.sqrt()).powi(2);
    }
    (mean.sqrt(), sd.sqrt())
}

#[test]
fn chosen_rows_are_nearer_to_the_density_than_rows_that_match_the_draws() {
    let (plain, corrected) = (errors(TargetChoice::Rows, 150), errors(TargetChoice::Corrected, 150));
    assert!(corrected.0 < 0.6 * plain.0 && corrected.1 < 1.02 * plain.1, "{plain:?} {corrected:?}");
}

#[test]
fn the_target_rows_is_that_of_rows_without_scores() {
    let case = bananas(300, 5);
    let choose = || Choose::thin(10).unwrap();
    let plain = ready(case.rows(), choose());
    let told = ready(case.scored(), choose().target(TargetChoice::Rows));
    assert_eq!(plain.choose(&unwatched).unwrap(), told.choose(&unwatched).unwrap());
    assert!(told.problem().corrected().is_none() && told.problem().shares().is_none());
    // And the corrected target is that of rows with the weights that were found.
    let corrected = ready(case.scored(), choose());
    let shares = corrected.problem().shares().unwrap();
    let weighted = ready(Rows::weighted(case.rows(), RowWeights::Weights(shares)).unwrap(), choose());
    let chosen = corrected.choose(&unwatched).unwrap();
    assert_eq!(chosen.rows, weighted.choose(&unwatched).unwrap().rows);
    let of_points =
        corrected.evaluate(&Subset::of_points(case.rows().select(&chosen.rows).unwrap()), &unwatched);
    close(of_points.unwrap().mmd(), chosen.mmd().unwrap(), 1e-9);
    let problem = corrected.problem();
    assert_eq!((problem.marginals(), problem.moments(), problem.stein().is_none()), (0.1, 0.08, true));
}

#[test]
fn weights_out_functions_groups_and_landmarks_go_together_with_it() {
    let case = bananas(400, 6);
    let groups: Vec<usize> = (0..400).map(|row| row % 4).collect();
    let refine = RefineOptions::default().groups(&groups, Some(&[3, 3, 3, 3]));
    let rows =
        || case.scored().functions(case.draws.iter().step_by(2).map(|x| x.powi(3)).collect(), 1).unwrap();
    let chosen = ready(rows(), Choose::thin(12).unwrap().refine(refine)).choose(&unwatched).unwrap();
    assert!((0..4).all(|group| chosen.rows.iter().filter(|row| *row % 4 == group).count() == 3));
    let simplex = ready(rows(), Choose::thin(12).unwrap().weighed(WeightRule::Simplex));
    let simplex = simplex.choose(&unwatched).unwrap();
    close(simplex.weights.unwrap().weights.iter().sum(), 1.0, 1e-9);
    let landmarks = ready(rows(), Choose::herd(12).unwrap().landmarks(40)).choose(&unwatched).unwrap();
    assert_eq!(landmarks.rows.len(), 12);
    // A run goes on from its numbers.
    let target = ready(rows(), Choose::herd(12).unwrap());
    let again = target.problem().recall(target.recalled().to_vec(), &unwatched).unwrap();
    assert_eq!(again.choose(&unwatched).unwrap(), target.choose(&unwatched).unwrap());
}

#[test]
fn any_number_of_threads_gives_the_same_weights() {
    let case = normals(3000, 7, 0.3, 7);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| case.problem().shares().unwrap().to_vec())
    };
    let one = run(1);
    assert!(one == run(2) && one == run(7));
}

#[test]
fn scores_that_are_not_those_of_the_rows_are_refused_by_column() {
    let case = normals(400, 3, 0.4, 8);
    let refused = |case: &Case| match Problem::new(case.scored(), Choose::thin(10).unwrap()) {
        Err(Error::WrongScores { column, mean, fault }) => (column, mean, fault),
        other => panic!("{other:?}"),
    };
    let (column, mean, fault) = refused(&case.with_scores(|_, score| -score));
    assert!((column, fault) == (0, ScoreFault::Sign) && mean > 0.9, "{mean}");
    let one = case.with_scores(|at, score| if at % 3 == 1 { -score } else { score });
    assert_eq!((refused(&one).0, refused(&one).2), (1, ScoreFault::Sign));
    let zero = case.with_scores(|at, score| if at % 3 == 2 { 0.0 } else { score });
    assert_eq!(refused(&zero), (2, 0.0, ScoreFault::Zero));
    // The order of rows: those of a row far away.
    let shuffled = case.with_scores(|at, _| case.scores[(at + 3 * 171) % case.scores.len()]);
    let (_, mean, fault) = refused(&shuffled);
    assert!(fault == ScoreFault::Unrelated { everywhere: true } && mean.abs() < 0.5, "{mean}");
    // The order of columns.
    let turned = case.with_scores(|at, _| case.scores[at - at % 3 + (at % 3 + 1) % 3]);
    assert_eq!((refused(&turned).0, refused(&turned).2), (0, ScoreFault::OtherColumn(1)));
    for scale in [0.1, 3.0, 100.0] {
        let scaled = case.with_scores(|at, score| if at % 3 == 1 { scale * score } else { score });
        let (column, mean, fault) = refused(&scaled);
        assert!(column == 1 && (mean + scale * 1.1).abs() < 0.3 * scale, "{scale} {mean}");
        assert!(scale < 1.0 || fault == ScoreFault::Scale, "{fault:?}");
    }
    let Err(error) =
        Problem::new(case.with_scores(|_, score| 5.0 * score).scored(), Choose::thin(10).unwrap())
    else {
        panic!("it is refused")
    };
    let said = error.sentence(Style::Command, &Names::default().columns(["a", "b", "c"]));
    assert!(said.starts_with("the scores of column 'a' are not those of its rows: the mean of "), "{said}");
    assert!(
        said.contains(", but for draws of the density it is -1; ")
            && said.ends_with("--target density chooses by the scores alone"),
        "{said}"
    );
    // A scale that may be chance or a temperature gives a warning.
    let case = stretched(2000, 3, 0.4, (0.0, 1.0), 17);
    let doubtful = case.with_scores(|at, score| if at % 3 == 2 { 1.5 * score } else { score }).problem();
    let told = |advice: &Advice| matches!(advice, Advice::ScoresDoubtful { columns, .. } if columns == &[2]);
    assert!(doubtful.advice().iter().any(told), "{:?}", doubtful.advice());
    let bad = case.with_scores(|at, score| if at == 3 * 41 + 2 { f64::NAN } else { score });
    let error = Problem::new(bad.scored(), Choose::thin(10).unwrap()).unwrap_err();
    assert!(matches!(error, Error::NonFiniteScore { row: 41, column: 2, .. }), "{error}");
}

#[test]
fn good_scores_are_not_doubted() {
    for seed in 0..10 {
        for problem in [stretched(500, 3, 0.4, (0.0, 1.0), 200 + seed), bananas(500, 200 + seed)]
            .map(|case| case.problem())
        {
            let doubted = |advice: &&Advice| !advice.is_note();
            assert_eq!(problem.advice().iter().find(doubted), None, "{seed}");
        }
    }
}

#[test]
fn what_explains_nothing_is_left_out_with_a_sentence() {
    // Fewer rows than features, of a density whose score says next to nothing about far modes.
    let case = normals(25, 20, 0.0, 9);
    let problem = case.problem();
    let found = record(&problem);
    assert!(found.features.is_none_or(|features| features < SteinFeatures::Products) && found.left <= 1.0);
    assert!(problem.prepare(&unwatched).unwrap().choose(&unwatched).is_ok());
    // A signal of the columns with scores that are right on average, with noise added.
    let rng = &mut rng(10);
    let mut draws = Vec::new();
    let mut scores = Vec::new();
    for _ in 0..60 {
        let x: Vec<f64> = (0..10).map(|_| normal(rng)).collect();
        scores.extend(x.iter().map(|x| -x + 20.0 * normal(rng)));
        draws.extend(x);
    }
    let noisy = Case { dim: 10, draws, scores }.problem();
    assert_eq!(record(&noisy).features, None);
    assert!(noisy.shares().is_none());
    let said: Vec<String> =
        noisy.advice().iter().map(|advice| advice.sentence(Style::Python, &Names::default())).collect();
    assert!(said.iter().any(|said| said.contains("so the rows are matched as they are")), "{said:?}");
    let sentence = record(&normals(600, 4, 0.5, 1).problem()).sentence();
    assert!(
        sentence.starts_with(
            "the draws are weighted so that 14 Stein features (scores, squares and products) have mean 0"
        ),
        "{sentence}"
    );
}

#[test]
fn rows_that_are_not_draws_of_the_density_are_told_of() {
    // Draws of N(1.2, 1), scores of N(0, 1): (x − mean)·score has the right mean, and the weights are uneven.
    let rng = &mut rng(11);
    let draws: Vec<f64> = (0..1000).map(|_| 1.2 + normal(rng)).collect();
    let case = Case { dim: 1, scores: draws.iter().map(|x| -x).collect(), draws };
    let problem = case.problem();
    let told = |advice: &&Advice| matches!(advice, Advice::DrawsNotOfDensity { .. });
    let advice = problem.advice().iter().find(told).expect("it is told of");
    assert!(record(&problem).effective_share < 0.5 && !advice.is_note());
    let said = advice.sentence(Style::Python, &Names::default());
    assert!(said.ends_with("use target='density', which chooses by the scores alone"), "{said}");
}

#[test]
fn odd_rows_are_no_trouble() {
    // A column twice, with scores that go with it; a constant column; many columns.
    let single = normals(400, 1, 0.0, 12);
    let (mut draws, mut scores) = (Vec::new(), Vec::new());
    for (x, s) in single.draws.iter().zip(&single.scores) {
        draws.extend([*x, 2.0 * x, 7.0]);
        scores.extend([*s, 0.5 * s, 0.0]);
    }
    let case = Case { dim: 3, draws, scores };
    let problem = case.problem();
    let (mean, covariance) = moments(&case, problem.shares().unwrap());
    close(mean[0], 0.0, 1e-7);
    close(mean[1], 0.0, 1e-7);
    close(covariance[4], 4.0, 1e-6);
    let wide = normals(1500, 40, 0.0, 13).problem();
    assert_eq!(record(&wide).count, 80);
    // Too few rows to say anything.
    let few = normals(3, 2, 0.0, 14).problem();
    assert!(few.prepare(&unwatched).unwrap().choose(&unwatched).is_ok());
    let same = Case { dim: 1, draws: vec![2.0; 30], scores: vec![0.0; 30] }.problem();
    assert_eq!(record(&same).features, None);
}

#[test]
fn what_does_not_go_together_is_refused_first() {
    let case = bananas(100, 15);
    let plain = || Choose::thin(5).unwrap();
    let none = Problem::new(case.rows(), plain().target(TargetChoice::Corrected));
    assert_eq!(none.unwrap_err(), Error::NoScores { target: TargetChoice::Corrected });
    let scores = RowScores::new(case.scores.clone());
    let refused =
        |scores: RowScores| Problem::new(Rows::new(case.rows()).scores(scores), plain()).unwrap_err();
    let error = refused(scores.clone().regularised(vec![0.0; 100], 0.1));
    assert!(matches!(error, Error::NotWithTarget { option: Opt::LogDensity, .. }), "{error}");
    let error = refused(scores.clone().kernel(Default::default(), Preconditioner::Median));
    assert!(matches!(error, Error::NotWithTarget { option: Opt::Preconditioner, .. }), "{error}");
    let matrix = (0..10_000).map(|at| f64::from(u8::from(at / 100 == at % 100))).collect();
    let gram = Rows::of_gram(Gram::new(matrix, 100).unwrap()).scores(scores);
    let error = Problem::new(gram, plain()).unwrap_err();
    assert!(matches!(error, Error::NotTogether { option: Opt::Scores, .. }), "{error}");
}

#[test]
fn it_can_be_ended() {
    let case = bananas(2000, 16);
    for last in [0, 256, 1600] {
        let watch = |progress: Progress| match progress {
            Progress::Correcting { done, .. } if done >= last => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        let ended = Problem::watched(case.scored(), Choose::thin(5).unwrap(), &watch);
        assert_eq!(ended.unwrap_err(), Error::Interrupted);
    }
}
