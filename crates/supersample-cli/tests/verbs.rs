//! The verb `sample`, stop rules, weights, precision, and what the shell sees.

use std::fs;

use crate::desk::{Desk, json, output, posterior};

const MIXTURE: &str = "[[component]]\nweight = 1\nmean = [0, 0]\ncovariance = [[1, 0.2], [0.2, 1]]\n\n\
                       [[component]]\nweight = 2\nmean = [4, 1]\ncovariance = [[0.5, 0], [0, 2]]\n";

#[test]
fn sample_places_points_for_a_mixture() {
    let desk = Desk::new();
    desk.write("m.toml", MIXTURE);
    let (points, summary) = desk.ran("sample m.toml -n 30 --bandwidth 1 --trace t.csv --json s.json");
    let points = String::from_utf8(points).unwrap();
    assert!(points.starts_with("x1,x2\n") && points.lines().count() == 31, "{points}");
    assert!(
        summary.starts_with("placed 30 points for a mixture of 2 components in 2 dimensions\n"),
        "{summary}"
    );
    assert!(
        summary.contains("kernel gaussian, bandwidth 1\n") && summary.contains("random 30 points"),
        "{summary}"
    );
    assert!(desk.read("t.csv").starts_with("t,error,weight_norm,margin,converged\n1,"));
    // The mean of the points is the mean of the mixture: (8/3, 2/3).
    let sum = points
        .lines()
        .skip(1)
        .map(|line| line.split(',').map(|cell| cell.parse::<f64>().unwrap()).collect::<Vec<_>>());
    let sum = sum.fold([0.0, 0.0], |sum, point| [sum[0] + point[0], sum[1] + point[1]]);
    assert!((sum[0] / 30.0 - 8.0 / 3.0).abs() < 0.2 && (sum[1] / 30.0 - 2.0 / 3.0).abs() < 0.2, "{sum:?}");
    let report = json(&desk, "s.json");
    let mmd = report["result"]["mmd"].as_f64().unwrap();
    assert!(mmd < 0.05 && report["input"]["rows"].is_null(), "{report}");
    // The seed decides where climbs start; the same one gives the same points.
    assert_eq!(desk.ran("sample m.toml -n 9 -q --seed 5"), desk.ran("sample m.toml -n 9 -q --seed 5"));
    assert_ne!(desk.ran("sample m.toml -n 9 -q --seed 5").0, desk.ran("sample m.toml -n 9 -q --seed 6").0);
    desk.ran("sample m.toml -n 9 -q --climbs 3 --starts 50 -o p.npy");
    desk.ran("herd p.npy -n 2 -q");
    // A joint descent at the end is never worse, and says what it has done.
    let (_, summary) =
        desk.ran("sample m.toml -n 30 --bandwidth 1 --polish -o p.csv --trace t.csv --json p.json");
    let polished = json(&desk, "p.json");
    let (before, after) =
        (&polished["result"]["polish"]["mmd_before"], polished["result"]["mmd"].as_f64().unwrap());
    assert!((before.as_f64().unwrap() - mmd).abs() < 1e-9 && after < 0.8 * mmd, "{polished}");
    assert!(summary.contains("\npolished in ") && summary.contains(": MMD "), "{summary}");
    assert_eq!((desk.read("p.csv").lines().count(), desk.read("t.csv").lines().count()), (31, 31));
    // What herding misses the descent may reach.
    let goal = format!("{}", (mmd + after) / 2.0);
    assert_eq!(
        desk.run(&format!("sample m.toml -n 30 --bandwidth 1 -q --tol {goal}")).status.code(),
        Some(1)
    );
    let reached = desk.run(&format!("sample m.toml -n 30 --bandwidth 1 --polish -q --tol {goal}"));
    assert_eq!(reached.status.code(), Some(0));
    let early = desk.run("sample m.toml -n 500 --equivalent-draws 300 --bandwidth 1 -q");
    assert!(early.status.success() && String::from_utf8(early.stdout).unwrap().lines().count() < 60);
}

#[test]
fn stop_rules_end_the_run_or_say_that_they_did_not() {
    let desk = Desk::new();
    desk.write("d.csv", posterior(300));
    desk.ran("herd d.csv -n 300 -q --trace t.csv -o o.csv");
    let trace = desk.read("t.csv");
    let errors: Vec<f64> =
        trace.lines().skip(1).map(|line| line.split(',').nth(2).unwrap().parse().unwrap()).collect();
    let first = |tol: f64| 1 + errors.iter().position(|&error| error <= tol).unwrap();

    let (_, summary) = desk.ran("herd d.csv --tol 0.05 -o o.csv --json s.json");
    assert_eq!(desk.read("o.csv").lines().count(), 1 + first(0.05));
    assert!(summary.contains(&format!("the tolerance was reached with {} rows\n", first(0.05))), "{summary}");
    assert_eq!(json(&desk, "s.json")["result"]["ended_by"], "tolerance");

    let missed = desk.run("herd d.csv -n 5 --tol 0.000001 -o o.csv --json s.json");
    assert_eq!((missed.status.code(), desk.read("o.csv").lines().count()), (Some(1), 6));
    let text = String::from_utf8(missed.stderr).unwrap();
    assert!(
        text.contains("an MMD of 1e-6 was not reached with 5 rows; allow more with -n, or relax the goal\n"),
        "{text}"
    );
    assert_eq!(json(&desk, "s.json")["result"]["goal_reached"], false);

    let (_, _) = desk.ran("herd d.csv --equivalent-draws 400 -q -o o.csv --json s.json");
    let report = json(&desk, "s.json");
    let (count, draws) =
        (report["result"]["count"].as_u64().unwrap(), report["result"]["equivalent_draws"].as_f64().unwrap());
    let previous = errors[count as usize - 2];
    assert!(draws >= 400.0 && report["result"]["ended_by"] == "equivalent_draws", "{report}");
    let single = draws * report["result"]["mmd"].as_f64().unwrap().powi(2);
    assert!(single / previous.powi(2) < 400.0, "one row fewer was enough");
    assert_eq!(desk.refused("d.csv --tol 0"), "--tol is 0; an error is a positive number");
    assert_eq!(
        desk.refused("d.csv --equivalent-draws -3"),
        "--equivalent-draws is -3; give a positive number of draws"
    );
    assert!(desk.refused("d.csv").starts_with(
        "give the size: -n (a number of rows, or auto), --tol (an error) or --equivalent-draws "
    ));
}

#[test]
fn a_weight_of_two_is_a_row_twice_and_logs_are_weights() {
    let desk = Desk::new();
    let lines: Vec<String> = posterior(60).lines().map(str::to_string).collect();
    let (head, body) = (&lines[0], &lines[1..]);
    let twice = |i: usize| i.is_multiple_of(3);
    let mut repeated = format!("{head}\n");
    let mut weighted = format!("{head},w,logw\n");
    for (i, line) in body.iter().enumerate() {
        repeated += &format!("{line}\n").repeat(1 + usize::from(twice(i)));
        let w = 1.0 + f64::from(u8::from(twice(i)));
        weighted += &format!("{line},{},{}\n", w * 0.013, w.ln() - 123_456.0);
    }
    desk.write("repeated.csv", repeated);
    desk.write("weighted.csv", weighted);
    let run = |words: &str| {
        desk.ran(&format!("herd {words} -n 12 --bandwidth 1.5 -q -o o.csv --json s.json"));
        let first = |line: &str| line.split(',').take(4).collect::<Vec<_>>().join(",");
        (
            desk.read("o.csv").lines().map(first).collect::<Vec<_>>(),
            json(&desk, "s.json")["result"]["mmd"].as_f64().unwrap(),
        )
    };
    let (rows, mmd) = run("repeated.csv");
    for flags in
        ["weighted.csv --weight-column w --exclude logw", "weighted.csv --log-weight-column logw --exclude w"]
    {
        let (found, error) = run(flags);
        assert_eq!(found, rows, "{flags}");
        assert!((error - mmd).abs() < 1e-6, "{flags}: {error} {mmd}");
    }
    // A log-weight of -inf is a row that is not there, though it may still be chosen.
    let gone = |i: usize| i % 5 == 4;
    let log = |i: usize| if gone(i) { "-Inf" } else { "-700.5" };
    let with_logs: String = body.iter().enumerate().map(|(i, line)| format!("{line},{}\n", log(i))).collect();
    desk.write("logs.csv", format!("{head},logw\n{with_logs}"));
    let left: String = (0..body.len()).filter(|&i| !gone(i)).map(|i| format!("{}\n", body[i])).collect();
    desk.write("left.csv", format!("{head}\n{left}"));
    desk.ran("eval left.csv left.csv --bandwidth 2 -q --json whole.json");
    desk.ran("eval logs.csv left.csv --log-weight-column logw --bandwidth 2 -q --json s.json");
    let (all, some) = (json(&desk, "whole.json"), json(&desk, "s.json"));
    assert!(some["result"]["mmd"].as_f64().unwrap() < 1e-7 && all["result"]["mmd"].as_f64().unwrap() < 1e-7);
    assert!(some["result"]["errors"]["mean"].as_f64().unwrap() < 1e-12, "{some}");
    let (_, summary) = desk.ran("herd weighted.csv -n 12 --weight-column w --exclude logw -o o.csv");
    assert!(
        summary.contains(", rows weighted by w\n") && summary.contains("\nevenly spaced by weight "),
        "{summary}"
    );
    assert!(
        desk.refused("weighted.csv -n 1 --weight-column logw")
            .contains("weights must be finite and not negative")
    );
    assert!(desk.refused("weighted.csv -n 1 --weight-column nope").contains("there is no column 'nope'"));
}

#[test]
fn scaling_is_said_and_makes_a_difference() {
    let desk = Desk::new();
    desk.write("d.csv", posterior(200));
    let (_, summary) = desk.ran("herd d.csv -n 10 --scale pca -o o.csv");
    assert!(summary.contains(", columns whitened to 4 directions\n"), "{summary}");
    let (_, summary) = desk.ran("herd d.csv -n 10 --bandwidth 1000 -o o.csv");
    assert!(summary.contains("warning: the kernel is nearly constant"), "{summary}");
    let (_, summary) = desk.ran("herd d.csv -n 10 --bandwidth 0.0001 -o o.csv");
    assert!(summary.contains("warning: the kernel is nearly diagonal"), "{summary}");
    // A column that is the sum of two others adds no direction, and whitening does not mind units.
    let text: String = desk
        .read("d.csv")
        .lines()
        .enumerate()
        .map(|(i, line)| {
            let cells: Vec<&str> = line.split(',').collect();
            match i {
                0 => format!("{line},sum\n"),
                _ => format!(
                    "{line},{}\n",
                    1e6 * (cells[0].parse::<f64>().unwrap() + cells[1].parse::<f64>().unwrap())
                ),
            }
        })
        .collect();
    desk.write("s.csv", text);
    let (_, summary) = desk.ran("herd s.csv -n 10 --scale pca -o o.csv");
    assert!(
        summary.contains("warning: 1 of 5 directions have no variance of their own and were dropped"),
        "{summary}"
    );
}

#[test]
fn precision_can_be_asked_for() {
    let desk = Desk::new();
    desk.write("d.csv", posterior(17_000));
    let run = |flags: &str| {
        desk.ran(&format!("herd d.csv -n 50 -q {flags} -o o.csv --json s.json"));
        let report = json(&desk, "s.json");
        (report["precision"].as_str().unwrap().to_string(), report["result"]["mmd"].as_f64().unwrap())
    };
    let ((mixed, a), (double, b)) = (run(""), run("--precision double"));
    assert_eq!((mixed.as_str(), double.as_str()), ("mixed", "double"));
    assert!((a / b - 1.0).abs() < 0.05, "{a} {b}");
    assert_eq!(
        desk.refused("d.csv -n 1 --precision half").lines().next().unwrap(),
        "invalid value 'half' for '--precision <PRECISION>'"
    );
}

#[cfg(unix)]
#[test]
fn a_device_that_is_not_there_is_refused_before_anything_is_done() {
    if let Ok(device) = supersample::Device::gpu() {
        return println!("skipped: this machine has {device}");
    }
    let desk = Desk::with_draws();
    let before = desk.files();
    for words in [
        "herd draws.csv -n 5 --device gpu -o o.csv --checkpoint ck --json s.json",
        "thin draws.csv -n 5 --device gpu -o o.csv",
        "thin not-there.csv -n 5 --device gpu",
        "eval draws.csv draws.csv --device gpu --json s.json",
        "info draws.csv --device gpu",
    ] {
        let output = desk.run(words);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{words}: {told}");
        assert!(told.starts_with("supersample: no GPU: "), "{words}: {told}");
        assert!(told.ends_with("; use the device cpu\n") && told.lines().count() == 1, "{words}: {told}");
        assert_eq!(desk.files(), before, "{words}");
    }
    let (_, told) = desk.ran("herd draws.csv -n 5 --device cpu -o o.csv --json s.json");
    assert!(told.starts_with("chose 5 of"), "{told}");
    assert_eq!(json(&desk, "s.json")["device"], "cpu");
    assert!(
        desk.refused("draws.csv -n 5 --device tpu").contains("invalid value 'tpu' for '--device <DEVICE>'")
    );
}

#[test]
fn usage_has_the_name_that_the_program_was_called_by() {
    let desk = Desk::new();
    std::os::unix::fs::symlink(assert_cmd::cargo::cargo_bin!("supersample"), desk.path("ss")).unwrap();
    for verb in ["herd", "eval", "info"] {
        let help = output(std::process::Command::new(desk.path("ss")).args([verb, "--help"]));
        let help = String::from_utf8(help.stdout).unwrap();
        assert!(help.contains(&format!("\nUsage: ss {verb} [OPTIONS] <DRAWS>...")), "{help}");
    }
}

#[test]
fn pages_and_completions_are_printed() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (text, _) = desk.ran(&format!("completions {shell}"));
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("log-weight-column") && text.contains("supersample"), "{shell}");
    }
    let (page, _) = desk.ran("man");
    assert!(String::from_utf8(page).unwrap().contains(".TH supersample 1"));
    fs::create_dir(desk.path("man")).unwrap();
    desk.ran("man man");
    let page = desk.read("man/supersample-herd.1");
    assert!(page.contains("\\-\\-tol") && page.contains("Example: "), "{page}");
    let (version, _) = desk.ran("--version");
    let version = String::from_utf8(version).unwrap();
    assert!(version.starts_with(&format!("supersample {} (", env!("CARGO_PKG_VERSION"))), "{version}");
}

#[test]
fn a_pool_without_rows_of_no_weight_is_exhausted_at_its_own_size() {
    let desk = Desk::new();
    desk.write("w.csv", "a,b,w\n1,2,0\n3,1,1\n2,2,0\n5,5,1\n");
    for verb in ["thin", "herd --unique"] {
        let (_, summary) = desk.ran(&format!("{verb} w.csv -n 3 --weight-column w -o o.csv"));
        assert!(summary.contains("asked for 3, but only 2 rows can be chosen"), "{summary}");
    }
}

#[test]
fn more_starts_than_memory_holds_are_refused() {
    let desk = Desk::new();
    desk.write("m.toml", MIXTURE);
    for starts in ["18446744073709551615", "1000000000"] {
        let output = desk.run(&format!("sample m.toml -n 5 --starts {starts}"));
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains("at most 10,000,000 are drawn"), "{told}");
    }
}
