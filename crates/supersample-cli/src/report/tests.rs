//! Words of a report that is made up.

use supersample::quality::Reference;

use super::*;

fn typical(size: f64) -> TypicalErrors {
    let mut errors = TypicalErrors::default();
    (errors.mean, errors.sd) = (Some(size), Some(size / 2.0));
    (errors.quantile, errors.correlation) = (Some(size * 2.0), Some(size / 4.0));
    errors
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

pub(super) fn report() -> Report<'static> {
    let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
    let about = About {
        subject: Subject::Herded,
        files: names(&["draws.csv"]),
        rows: Some(4000),
        warmup: 0,
        parameters: names(&["mu", "tau", "theta.1", "theta.2", "theta.3"]),
        unused: names(&["chain", "draw"]),
        weight_column: None,
    };
    let run = Run {
        version: "0.0.0 (plain)".to_string(),
        command: names(&["supersample", "herd", "draws.csv", "-n", "100"]),
        stop: Stop::after(100).unwrap(),
        ended: Some(Ended::Number),
    };
    let distances = Distances {
        kernel: Kernel::gaussian(3.98123).unwrap(),
        bandwidth_is_median: true,
        scale: Scale::Sd,
        precision: Precision::Double,
        coordinates: 5,
        constant: Vec::new(),
    };
    let result = Measured {
        count: 100,
        distinct: 100,
        rows: Some(vec![5, 7]),
        error: Some(0.007_123),
        scale: scale(0.5),
        quality: Some(quality()),
    };
    let mut comparison = Comparison::default();
    // Their mean is 0.0702 and their standard deviation 0.0046.
    comparison.random =
        (0..20).map(|i| 0.0702 + 0.0046 * 0.95_f64.sqrt() * if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
    (comparison.random_errors, comparison.spaced_errors) = (typical(0.1), typical(0.12));
    comparison.spaced = 0.0675;
    let (details, warnings) = (Details::default(), Vec::new());
    Report { about, run, distances, result, comparison: Some(comparison), details, figures: None, warnings }
}

#[test]
fn a_run_is_told_in_one_screen() {
    let expected = "\
chose 100 of 4,000 rows by 5 parameters (mu, tau, theta.1, …; not used: chain, draw)
kernel gaussian, bandwidth 3.98 (median distance), columns scaled to unit sd

                  MMD               worth   mean     sd       quantile   correlation
these 100 rows    0.00712           9,850   0.0305   0.0112   0.0483     0.0491
random 100 rows   0.0702 ± 0.0046   100     0.100    0.0500   0.200      0.0250
every 40th row    0.0675            110     0.120    0.0600   0.240      0.0300
worth: in independent draws; random: mean ± sd of 20 draws; the other errors: root mean square, in sds of all rows

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
        distances: Distances {
            kernel: Kernel::linear(),
            bandwidth_is_median: false,
            constant: vec![0],
            ..distances
        },
        result: Measured {
            count: 1,
            distinct: 1,
            error: Some(0.0),
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
asked for 5, the pool has 1 row: all of them were chosen
constant, so centred but not scaled: x

              MMD         worth
these 1 row   < 1.00e-8
worth: in independent draws
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
    run.distances.scale = Scale::Pca;
    run.warnings = vec!["mind the gap".to_string()];
    let text = run.to_text();
    for line in [
        "chose 100 of 4,000 rows in 2 files by 5 parameters (mu, tau, theta.1, …; not used: chain, draw; 2,000 rows \
             of warm-up left out)\n",
        "columns whitened to 5 directions, rows weighted by w\n",
        "an MMD of 0.001 was not reached with 100 rows; allow more with -n, or ask for less\n",
        "warning: mind the gap\n",
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
    assert!(
        cut.to_text().contains("interrupted: these are the first 100 rows of the run, and good as such\n")
    );
}

#[test]
fn errors_at_the_floor_are_bounds() {
    let mut run = report();
    (run.result.error, run.result.distinct, run.result.count) = (Some(3e-9), 7, 30);
    (run.distances.scale, run.distances.bandwidth_is_median) = (Scale::None, false);
    let text = run.to_text();
    assert!(text.starts_with("chose 30 of 4,000 rows (7 distinct) by"), "{text}");
    assert!(text.contains("kernel gaussian, bandwidth 3.98123, columns not scaled\n"), "{text}");
    assert!(text.contains("these 30 rows        < 1.00e-8         > 5.00e15   0.0305"), "{text}");
    assert!(text.contains("evenly spaced rows   0.0675            110         0.120"), "{text}");
}
