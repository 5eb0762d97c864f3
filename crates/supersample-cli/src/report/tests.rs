//! Words of a report that is made up.

use supersample::quality::Reference;
use supersample::task::{self, Choose, Chosen, Overlap, Problem};
use supersample::weights::WeightRule;
use supersample::{Points, Refined, unwatched};

use super::*;

/// A set with weights that was chosen in earnest; tests put in the numbers they are about.
fn chosen() -> Chosen {
    let points = Points::from_vec((0..60).map(|i| f64::from(i * i % 37)).collect(), 1).unwrap();
    let choose = Choose::thin(4).unwrap().weighed(WeightRule::Simplex);
    Problem::new(points, choose).unwrap().prepare(&unwatched).unwrap().choose(&unwatched).unwrap()
}

/// Draws that are nearly independent, with numbers of their own.
pub(super) fn diagnosis() -> Diagnosis {
    let points = Points::from_vec((0..60).map(|i| f64::from(i * i % 37)).collect(), 1).unwrap();
    let problem = Problem::new(points, Choose::nothing(None)).unwrap();
    let mut found = problem.diagnose(&unwatched).unwrap();
    (found.draws, found.chains, found.is_assumed) = (4000, 4, false);
    (found.kernel_ess, found.disagreement) = (1150.0, Some(0.9));
    found
}

pub(super) fn refined() -> Refined {
    chosen().refined.unwrap()
}

pub(super) fn weighing(rule: WeightRule, weights: Vec<f64>) -> Weighing {
    let mut found = chosen().weights.unwrap();
    (found.weights, found.jitter) = (weights, 0.0);
    Weighing { rule, found, equal: Errors::default() }
}

/// Errors of columns of about this size.
fn typical(size: f64) -> Errors {
    Errors::default()
        .with(Measure::Mean, size)
        .with(Measure::Sd, size / 2.0)
        .with(Measure::Quantile, size * 2.0)
        .with(Measure::Correlation, size / 4.0)
        .with(Measure::Cdf, size / 5.0)
}

/// Errors with this MMD and its equivalent draws.
fn with_mmd(errors: Errors, mmd: f64, scale: &ErrorScale) -> Errors {
    errors.with(Measure::Mmd, mmd).with(Measure::EquivalentDraws, scale.equivalent_draws(mmd))
}

impl Measured {
    /// The result with this MMD.
    fn set_mmd(&mut self, mmd: f64) {
        self.errors = with_mmd(self.errors, mmd, &self.scale);
    }
}

/// Of five parameters, the third of them constant.
fn quality() -> Quality {
    let value =
        |i: usize, j: usize| if j == 2 { 7.0 } else { (i as f64 * [0.7, 1.9, 0.0, 2.3, 0.3][j]).sin() };
    let rows = |rows: std::ops::Range<usize>| -> Vec<f64> {
        rows.flat_map(|i| (0..5).map(move |j| value(i, j))).collect()
    };
    Reference::new(&rows(0..400), 5, None).unwrap().quality(&rows(17..60), None).unwrap()
}

fn scale(single_draw: f64) -> ErrorScale {
    let mut scale = ErrorScale::default();
    (scale.single_draw, scale.floor) = (Some(single_draw), 1e-8);
    scale
}

/// What rows to choose from reach of a target that is partly elsewhere.
pub(super) fn overlap() -> Overlap {
    let column =
        |from: f64| Points::from_vec((0..40).map(|i| from + f64::from(i) / 10.0).collect(), 1).unwrap();
    let rows = task::Rows::new(column(0.0)).matching(column(2.0));
    let target = Problem::new(rows, Choose::thin(4).unwrap()).unwrap().prepare(&unwatched).unwrap();
    target.overlap(&unwatched).unwrap().cloned().unwrap()
}

/// Published numbers, and what four rows reach of them.
pub(super) fn published_numbers() -> Vec<task::Reached> {
    let of = |number, value| task::Published { number, value, n: Some(100.0) };
    let numbers = vec![of(task::Number::Mean(0), 2.5), of(task::Number::Quantile(0, 0.25), 1.25)];
    let points = Points::from_vec((0..40).map(|i| f64::from(i) / 10.0).collect(), 1).unwrap();
    let rows = task::Rows::new(points).matching_summary(task::Summary::new(numbers).unwrap());
    let target = Problem::new(rows, Choose::thin(4).unwrap()).unwrap().prepare(&unwatched).unwrap();
    target.choose(&unwatched).unwrap().published
}

/// The report of rows that match others.
pub(super) fn matched(report: Report<'static>) -> Report<'static> {
    let target = Some(TargetReport { file: "trial.csv".to_string(), rows: 40, weight_column: None });
    Report { about: About { target, ..report.about }, ..report }
}

pub(super) fn report() -> Report<'static> {
    let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
    let about = About {
        subject: Subject::Herded,
        files: names(&["draws.csv"]),
        rows: Some(4000),
        sample: None,
        warmup: 0,
        mean_rows: 0,
        missing: 0,
        parameters: names(&["mu", "tau", "theta.1", "theta.2", "theta.3"]),
        unused: names(&["chain", "draw"]),
        weight_column: None,
        effective_size: None,
        corrected: None,
        target: None,
        summary: None,
        scores: None,
    };
    let run = Run {
        version: "0.0.0 (plain)".to_string(),
        command: names(&["supersample", "herd", "draws.csv", "-n", "100"]),
        date: "2010-07-08".to_string(),
        stop: Stop::after(100).unwrap(),
        ended: Some(Ended::Number),
    };
    let distances = Distances {
        kernel: Kernel::gaussian(3.98123).unwrap(),
        median_pairs: Some(4000 * 3999 / 2),
        scale: Scale::Sd,
        precision: Precision::Double,
        instruction_set: "plain",
        device: "cpu".to_string(),
        coordinates: 5,
        constant: Vec::new(),
        landmarks: None,
    };
    let (scale, quality) = (scale(0.5), quality());
    let errors = Errors::default().with(Measure::Cdf, 0.0123).with_quality(&quality);
    let result = Measured {
        count: 100,
        distinct: 100,
        distinct_points: 100,
        rows: Some(vec![5, 7]),
        errors: with_mmd(errors, 0.007_123, &scale),
        scale,
        quality: Some(quality),
    };
    let mut comparison = Comparison::default();
    // Their mean is 0.0702 and their standard deviation 0.0046.
    let random = |i| 0.0702 + 0.0046 * 0.95_f64.sqrt() * if i % 2 == 0 { 1.0 } else { -1.0 };
    comparison.random = (0..20).map(|i| with_mmd(typical(0.1), random(i), &scale)).collect();
    comparison.spaced = with_mmd(typical(0.12), 0.0675, &scale);
    let (details, terms, comparison, figures) =
        (Details::default(), ObjectiveTerms::default(), Some(comparison), None);
    let (notes, warnings) = (Vec::new(), Vec::new());
    let draws = None;
    Report { about, run, distances, terms, result, draws, comparison, details, figures, notes, warnings }
}

#[test]
fn the_error_of_the_draws_is_in_the_summary_and_the_table() {
    let mut run = Report { draws: Some(diagnosis()), ..report() };
    run.result.errors = run.result.errors.with(Measure::PosteriorDraws, 1029.0);
    let text = run.to_text();
    let line =
        "\nall 4,000 draws are as accurate as 1,150 independent ones (kernel ESS); the 4 chains agree\n";
    assert!(text.contains(line) && text.contains("equivalent draws   of the posterior   cdf"), "{text}");
    // 1/(1/100 + 1/1150) for random rows.
    assert!(text.contains("1,030") && text.contains("100                92.0"), "{text}");
    let alone = Report { comparison: None, ..run.clone() };
    assert!(alone.to_html().contains("Of the posterior: equivalent draws with"), "{}", alone.to_html());
    let page = run.to_html();
    assert!(page.contains("All 4,000 draws are as accurate as 1,150 independent ones"), "{page}");
    run.run.stop = Stop::auto(Some(0.25)).unwrap();
    run.run.ended = Some(Ended::Enough);
    assert!(run.to_text().contains("100 rows are enough: they add at most 25 % to each error"));
    run.run.ended = Some(Ended::Number);
    assert!(
        run.to_text()
            .contains("an added error of at most 0.25 of that of the draws was not reached with 100 rows")
    );
}

#[test]
fn a_run_is_reported_on_one_screen() {
    let expected = "\
chose 100 of 4,000 rows by 5 parameters (mu, tau, theta.1, theta.2, theta.3; not used: chain, draw)
kernel gaussian, bandwidth 3.98 (median distance), columns scaled to unit sd

                  MMD               equivalent draws   cdf      mean     sd       quantile   correlation
these 100 rows    0.00712           9,850              0.0123   0.0305   0.0112   0.0483     0.0491
random 100 rows   0.0702 ± 0.0046   100                0.0200   0.100    0.0500   0.200      0.0250
every 40th row    0.0675            110                0.0240   0.120    0.0600   0.240      0.0300
equivalent draws exceed the 4,000 rows: they compare with the file, not with the distribution behind it
worst error, in sds of all rows: mean 0.0484 (mu), sd 0.0182 (mu), quantile 0.153 (mu, 25 %), correlation 0.0999 (mu with theta.3)
";
    assert_eq!(report().to_text(), expected);
}

#[test]
fn what_cannot_be_compared_is_said_and_not_invented() {
    let Report { about, run, distances, result, .. } = report();
    let run = Report {
        about: About {
            rows: Some(1),
            parameters: vec!["x".to_string()],
            unused: vec![String::new()],
            ..about
        },
        run: Run { stop: Stop::after(5).unwrap(), ended: Some(Ended::Exhausted), ..run },
        distances: Distances { kernel: Kernel::linear(), median_pairs: None, constant: vec![0], ..distances },
        result: Measured {
            count: 1,
            distinct: 1,
            distinct_points: 1,
            errors: with_mmd(Errors::default(), 0.0, &scale(0.0)),
            scale: scale(0.0),
            quality: Some(Reference::new(&[1.0], 1, None).unwrap().quality(&[1.0], None).unwrap()),
            ..result
        },
        comparison: None,
        ..report()
    };
    let expected = "\
chose 1 of 1 row by 1 parameter (x; not used: (no name))
kernel linear, columns scaled to unit sd
asked for 5, but only 1 row can be chosen
constant columns, centred and not scaled: x

           MMD         equivalent draws
this row   < 1.00e-8
no comparison with random or evenly spaced rows: the file has 1 row
mean, sd and quantiles of every parameter are those of all rows
";
    assert_eq!(run.to_text(), expected);
}

#[test]
fn goals_chains_weights_and_warnings_are_told() {
    let mut run = report();
    run.run.stop = Stop::new(Some(100), Some(0.001), None).unwrap();
    run.about.files = vec!["1.csv".to_string(), "2.csv".to_string()];
    run.about.warmup = 2000;
    run.about.weight_column = Some("w".to_string());
    run.about.effective_size = Some(3000.0);
    run.distances.scale = Scale::Pca;
    run.warnings = vec!["mind the gap".to_string()];
    run.notes = vec!["the rails\u{1b} are new".to_string()];
    let text = run.to_text();
    for line in [
        "chose 100 of 4,000 rows in 2 files by 5 parameters (mu, tau, theta.1, theta.2, theta.3; not used: chain, draw; 2,000 rows \
             of warm-up dropped)\n",
        "columns whitened to 5 directions, rows weighted by w\n",
        "an MMD of 0.001 was not reached with 100 rows; allow more with -n, or relax the goal\n",
        "note: the rails\\u{1b} are new\nwarning: mind the gap\n",
        "evenly spaced by weight   0.0675",
    ] {
        assert!(text.contains(line), "no {line:?} in\n{text}");
    }
    assert!(run.missed_its_goal());
    let mut met = run.clone();
    met.run.ended = Some(Ended::Tolerance);
    assert!(!met.missed_its_goal() && met.to_text().contains("the tolerance was reached with 100 rows\n"));
    let mut cut = run;
    (cut.run.ended, cut.run.stop) = (Some(Ended::Interrupted), Stop::default());
    assert!(cut.to_text().contains("interrupted: these are the first 100 rows, a valid shorter result\n"));
}

#[test]
fn rows_that_are_the_same_point_are_told_from_rows_that_repeat() {
    let mut run = report();
    let first = |run: &Report<'_>| run.to_text().split(" by ").next().unwrap().to_string();
    (run.result.distinct, run.result.distinct_points) = (100, 82);
    assert_eq!(first(&run), "chose 100 of 4,000 rows (82 distinct points)");
    run.result.distinct = 98;
    assert_eq!(first(&run), "chose 100 of 4,000 rows (98 distinct, 82 distinct points)");
    run.distances.median_pairs = Some(499_500);
    assert!(run.to_text().contains("bandwidth 3.98 (median distance of 499,500 pairs)"), "{}", run.to_text());
}

#[test]
fn equivalent_draws_beyond_the_file_are_said_to_be_about_the_file() {
    let mut run = report();
    assert!(run.to_text().contains("\nequivalent draws exceed the 4,000 rows: they compare with the file, "));
    run.result.set_mmd(0.05);
    assert!(!run.to_text().contains("exceed"));
    run.about.effective_size = Some(94.2);
    let words = "\nequivalent draws exceed the effective sample size of 94.2: they compare with the file, ";
    assert!(run.to_text().contains(words), "{}", run.to_text());
    let (mut one, count) = (report(), 1);
    (one.result.count, one.result.distinct, one.result.distinct_points) = (count, count, count);
    assert!(
        one.to_text().contains("\nthis row ") && one.to_text().contains("\nthe first row "),
        "{}",
        one.to_text()
    );
}

#[test]
fn rules_are_about_equal_weights_and_the_first_that_holds_ends() {
    let mut run = report();
    run.run.stop = Stop::new(Some(100), Some(0.03), Some(2000.0)).unwrap();
    run.run.ended = Some(Ended::EquivalentDraws);
    let text = run.to_text();
    assert!(
        text.contains("the number of equivalent draws was reached with 100 rows, before the tolerance\n"),
        "{text}"
    );
    run.run.stop = Stop::new(Some(100), Some(0.03), None).unwrap();
    run.run.ended = Some(Ended::Number);
    run.result.set_mmd(0.0298);
    let weights = [vec![0.0; 69], vec![1.0 / 31.0; 31]].concat();
    let mut simplex = weighing(WeightRule::Simplex, weights);
    simplex.equal = with_mmd(Errors::default(), 0.0311, &scale(0.5));
    run.details.weighing = Some(simplex);
    let text = run.to_text();
    assert!(text.contains("an MMD of 0.03 was not reached with 100 rows with equal weights (MMD 0.0311; 0.0298 with the computed weights); allow"), "{text}");
    assert!(text.contains("simplex weights: 69 of 100 are 0 (drop these rows, or select fewer)\n"), "{text}");
}

#[test]
fn errors_at_the_floor_are_bounds() {
    let mut run = report();
    run.result.set_mmd(3e-9);
    (run.result.distinct, run.result.count) = (7, 30);
    (run.distances.scale, run.distances.median_pairs) = (Scale::None, None);
    run.result.distinct_points = 7;
    let text = run.to_text();
    assert!(text.starts_with("chose 30 of 4,000 rows (7 distinct) by"), "{text}");
    assert!(text.contains("kernel gaussian, bandwidth 3.98123, columns not scaled\n"), "{text}");
    assert!(text.contains("these 30 rows        < 1.00e-8         > 5.00e15          0.0123"), "{text}");
    assert!(text.contains("evenly spaced rows   0.0675            110                0.0240"), "{text}");
}

#[test]
fn parts_are_told_in_a_line_and_functions_in_a_column() {
    let mut run = report();
    run.terms = ObjectiveTerms {
        functions: vec!["y.1".to_string(), "y.2".to_string()],
        objective: Some(ObjectiveWeights { marginals: 0.4, moments: 0.08, functions: 1.0, log_density: 0.0 }),
        ..ObjectiveTerms::default()
    };
    run.result.errors = run.result.errors.with(Measure::FunctionsError, 0.00123);
    let text = run.to_text();
    assert!(
        text.contains(
            "unit sd\nfunctions: y.1, y.2\nobjective: joint MMD + 0.4 × marginals + 0.08 × moments + 1 × functions\n"
        ),
        "{text}"
    );
    assert!(
        text.contains("quantile   correlation   functions error\n")
            && text.contains("0.0491        0.00123\n"),
        "{text}"
    );
}

#[test]
fn published_numbers_are_a_table_of_their_own() {
    let mut published = published_numbers();
    published[0].reached = 2.75;
    published[0].unit = 2.0;
    (published[0].standard_errors, published[1].standard_errors) = (Some(1.25), None);
    let report = report();
    let about =
        About { summary: Some("table1.toml".to_string()), effective_size: Some(31.4), ..report.about };
    let details = Details { published, ..report.details };
    let text = Report { about, details, ..report }.to_text();
    let line = "matched 2 published numbers of table1.toml; weighted to have them, the rows are as 31.4 of equal weight\n";
    assert!(text.contains(line), "{text}");
    let (_, table) = text.split_once("\n\n").unwrap().1.split_once("\n\n").unwrap();
    let lines: Vec<&str> = table.lines().collect();
    let cells = |line: &str| {
        line.split("   ")
            .map(str::trim)
            .filter(|cell| !cell.is_empty())
            .map(str::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(cells(lines[0]), ["published", "reached", "error", "all rows", "standard errors"]);
    assert_eq!(cells(lines[1])[1..], ["2.5", "2.75", "0.125", "1.95", "1.25"]);
    assert!(cells(lines[1])[0].ends_with(" mean") && cells(lines[2])[0].ends_with(" 25 %"), "{table}");
    assert!(lines[3].starts_with("error: reached less published"));
}
