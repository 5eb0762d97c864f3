//! The verbs beside `herd`, stop rules, weights, long runs, and what the shell sees.

mod desk;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use assert_cmd::cargo::cargo_bin;

use crate::desk::Desk;

const MIXTURE: &str = "[[component]]\nweight = 1\nmean = [0, 0]\ncovariance = [[1, 0.2], [0.2, 1]]\n\n\
                       [[component]]\nweight = 2\nmean = [4, 1]\ncovariance = [[0.5, 0], [0, 2]]\n";

fn numbers(text: &str) -> Vec<usize> {
    text.lines().map(|line| line.parse().unwrap()).collect()
}

fn json(desk: &Desk, name: &str) -> serde_json::Value {
    serde_json::from_str(&desk.read(name)).unwrap()
}

/// `n` rows of four parameters that hang together, with fixed numbers.
fn posterior(n: usize) -> String {
    let mut text = String::from("mu,tau,theta.1,theta.2\n");
    for i in 0..n {
        let (a, b) = ((i as f64 * 0.754_877).fract(), (i as f64 * 0.569_840).fract());
        let (x, y) = ((-2.0 * (a + 1e-9).ln()).sqrt(), std::f64::consts::TAU * b);
        let (x, y) = (x * y.cos(), x * y.sin());
        text += &format!("{x},{},{},{}\n", y.exp(), 0.5 * x + y, x * y);
    }
    text
}

#[test]
fn thin_keeps_distinct_rows_unless_told_otherwise() {
    let desk = Desk::new();
    desk.write("d.csv", posterior(300));
    let (_, summary) = desk.ran("thin d.csv -n 40 --indices i.txt --json s.json -o out.csv");
    let mut rows = numbers(&desk.read("i.txt"));
    rows.sort_unstable();
    rows.dedup();
    assert_eq!((rows.len(), desk.read("out.csv").lines().count()), (40, 41), "{summary}");
    assert_eq!(json(&desk, "s.json")["verb"], "thin");
    // Better than the rows that herding alone finds.
    desk.ran("herd d.csv -n 40 --unique -q --json h.json -o out.csv");
    let mmd = |name: &str| json(&desk, name)["result"]["mmd"].as_f64().unwrap();
    assert!(mmd("s.json") < 0.95 * mmd("h.json"), "{} {}", mmd("s.json"), mmd("h.json"));
    desk.ran("thin d.csv --tol 0.02 -q --json s.json -o out.csv");
    desk.ran("herd d.csv --tol 0.02 --unique -q --json h.json -o out.csv");
    let count = |name: &str| json(&desk, name)["result"]["count"].as_u64().unwrap();
    assert!(
        mmd("s.json") <= 0.02 && count("s.json") < count("h.json"),
        "{} {}",
        count("s.json"),
        count("h.json")
    );
    // 500 of 300 rows: with repeats there is no end.
    desk.ran("thin d.csv -n 500 --repeats -q -o out.csv");
    assert_eq!(desk.read("out.csv").lines().count(), 501);
    let (_, summary) = desk.ran("thin d.csv -n 500 -o out.csv");
    assert!(summary.contains("asked for 500, the pool has 300 rows: all of them were chosen"), "{summary}");
}

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
    let early = desk.run("sample m.toml -n 500 --worth 300 --bandwidth 1 -q");
    assert!(early.status.success() && String::from_utf8(early.stdout).unwrap().lines().count() < 60);
}

#[test]
fn eval_says_of_a_subset_what_herd_says_of_its_own() {
    let desk = Desk::new();
    desk.write("d.csv", posterior(400));
    desk.ran("herd d.csv -n 25 -q -o best.csv --json h.json");
    let (nothing, summary) = desk.ran("eval d.csv best.csv --json e.json");
    assert!(nothing.is_empty());
    assert!(
        summary.starts_with("held the 25 rows of best.csv against 400 rows by 4 parameters ("),
        "{summary}"
    );
    let (herd, eval) = (json(&desk, "h.json"), json(&desk, "e.json"));
    let mmd = |value: &serde_json::Value| value["result"]["mmd"].as_f64().unwrap();
    assert!((mmd(&herd) - mmd(&eval)).abs() < 1e-9, "{} {}", mmd(&herd), mmd(&eval));
    assert_eq!((&herd["random"], &herd["worst"]), (&eval["random"], &eval["worst"]));
    // A subset of other points with weights: all the mass on one row is that row alone.
    let lines: Vec<String> = desk.read("d.csv").lines().map(str::to_string).collect();
    desk.write("w.csv", format!("{},weight\n{},0\n{},2\n", lines[0], lines[1], lines[2]));
    desk.write("one.csv", format!("{}\n{}\n", lines[0], lines[2]));
    desk.ran("eval d.csv w.csv -q --json w.json");
    desk.ran("eval d.csv one.csv -q --json one.json");
    assert!((mmd(&json(&desk, "w.json")) - mmd(&json(&desk, "one.json"))).abs() < 1e-12);
    // The columns in another order, and some more, are the same subset.
    let turned: String = desk
        .read("best.csv")
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            format!("{},{},{},{},{}\n", cells[3], cells[4], cells[1], cells[0], cells[2])
        })
        .collect();
    desk.write("turned.csv", turned);
    desk.ran("eval d.csv turned.csv -q --json t.json");
    assert!((mmd(&json(&desk, "t.json")) - mmd(&eval)).abs() < 1e-12);
    // By their numbers: as --indices lists them, in the column row, or in any other.
    desk.ran("herd d.csv -n 25 -q -o best.csv --indices i.txt");
    let numbered = format!(
        "row,note\n{}",
        desk.read("i.txt").lines().map(|row| format!("{row},x\n")).collect::<String>()
    );
    desk.write("numbered.csv", &numbered);
    desk.write("other_name.csv", numbered.replace("row,", "which,"));
    for subset in ["i.txt", "numbered.csv", "other_name.csv --index-column which"] {
        let (_, summary) = desk.ran(&format!("eval d.csv {subset} --json n.json"));
        assert!(summary.starts_with("held the 25 rows numbered in "), "{summary}");
        let found = json(&desk, "n.json");
        assert_eq!(
            (&found["result"]["errors"], &found["parameters"]),
            (&eval["result"]["errors"], &eval["parameters"])
        );
        assert!((mmd(&found) - mmd(&eval)).abs() < 1e-12);
    }
    let said = eval["parameters"][0]["quantiles"].as_array().unwrap();
    assert!(said.len() == 5 && eval["worst"]["correlation"]["error"].is_number(), "{eval}");
    desk.write("other.csv", "mu,tau\n1,2\n");
    let output = desk.run("eval d.csv other.csv");
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        message.starts_with("supersample: the subset: other.csv: there is no column 'theta.1'"),
        "{message}"
    );
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
        text.contains(
            "an MMD of 0.000001 was not reached with 5 rows; allow more with -n, or ask for less\n"
        ),
        "{text}"
    );
    assert_eq!(json(&desk, "s.json")["result"]["goal_reached"], false);

    let (_, _) = desk.ran("herd d.csv --worth 400 -q -o o.csv --json s.json");
    let report = json(&desk, "s.json");
    let (count, worth) =
        (report["result"]["count"].as_u64().unwrap(), report["result"]["worth"].as_f64().unwrap());
    let previous = errors[count as usize - 2];
    assert!(worth >= 400.0 && report["result"]["ended_by"] == "worth", "{report}");
    let single = worth * report["result"]["mmd"].as_f64().unwrap().powi(2);
    assert!(single / previous.powi(2) < 400.0, "one row fewer was enough");
    assert_eq!(desk.refused("d.csv --tol 0"), "--tol is 0; an error is a positive number");
    assert_eq!(desk.refused("d.csv --worth -3"), "--worth is -3; give a positive number of draws");
    assert!(desk.refused("d.csv").starts_with("say how many: a number with -n,"));
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
        summary.contains(", rows weighted by w\n") && summary.contains("of 20 draws by weight; "),
        "{summary}"
    );
    assert!(desk.refused("weighted.csv -n 1 --weight-column logw").contains("weights cannot be negative"));
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
        summary.contains("warning: 1 of 5 directions have no variance of their own and were left out"),
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

#[test]
fn a_run_goes_on_from_its_checkpoint_to_the_same_rows() {
    let desk = Desk::new();
    // Enough rows for single precision, so that both paths through the precisions are the same.
    desk.write("d.csv", posterior(17_000));
    desk.ran("herd d.csv -n 60 -q --indices whole.txt -o whole.csv --trace whole.t");
    desk.ran("herd d.csv -n 20 -q --checkpoint ck -o part.csv");
    desk.ran("herd d.csv -n 60 -q --resume ck --checkpoint ck --indices i.txt -o o.csv --trace t.t");
    assert_eq!(desk.read("i.txt"), desk.read("whole.txt"));
    assert_eq!((desk.read("o.csv"), desk.read("t.t")), (desk.read("whole.csv"), desk.read("whole.t")));
    // Fewer than are kept: a prefix.
    desk.ran("herd d.csv -n 7 -q --resume ck --indices i.txt -o o.csv");
    assert!(desk.read("whole.txt").starts_with(&desk.read("i.txt")));
    for other in ["--unique", "--bandwidth 2", "--scale none", "--kernel imq", "--columns mu,tau"] {
        let message = desk.refused(&format!("d.csv -n 60 --resume ck {other}"));
        assert!(
            message.starts_with("ck: the checkpoint belongs to other data, another kernel or other options"),
            "{message}"
        );
    }
    desk.write("other.csv", posterior(17_001));
    assert!(desk.refused("other.csv -n 60 --resume ck").contains("belongs to other data"));
    desk.write("half", &fs::read(desk.path("ck")).unwrap()[..100]);
    assert_eq!(
        desk.refused("d.csv -n 60 --resume half"),
        "half: this is not a whole checkpoint; start again without --resume"
    );
    assert!(desk.refused("d.csv -n 60 --resume none").starts_with("none: the checkpoint cannot be read"));
    assert!(!desk.files().iter().any(|name| name.ends_with(".lock") || name.starts_with(".supersample")));
}

fn spawn(desk: &Desk, words: &str) -> std::process::Child {
    let mut command = Command::new(cargo_bin!("supersample"));
    command.current_dir(desk.folder()).args(words.split(' '));
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn signal(child: &std::process::Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_there() {
        assert!(start.elapsed() < Duration::from_secs(120), "waited for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_writes_its_prefix_and_says_so() {
    let desk = Desk::new();
    desk.write("d.csv", posterior(3000));
    // So many rows that it cannot be over before the signal comes; the checkpoint shows that choosing has begun.
    let child = spawn(&desk, "herd d.csv -n 3000000 -o o.csv --indices i.txt --checkpoint ck --json s.json");
    wait_for("the checkpoint", || desk.path("ck").exists());
    std::thread::sleep(Duration::from_millis(300));
    // A second run on the same checkpoint is turned away meanwhile.
    assert_eq!(
        desk.refused("d.csv -n 5 --checkpoint ck"),
        "ck: another run is using this checkpoint; wait for it, or name another file"
    );
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{text}");
    let rows = numbers(&desk.read("i.txt"));
    assert!(!rows.is_empty() && rows.len() < 3_000_000);
    assert!(text.contains("interrupted: these are the first "), "{text}");
    let report = json(&desk, "s.json");
    assert_eq!(
        (&report["result"]["complete"], report["result"]["ended_by"].as_str()),
        (&serde_json::json!(false), Some("interrupt"))
    );
    // And it goes on to the rows of an unbroken run.
    let more = rows.len() + 10;
    desk.ran(&format!("herd d.csv -n {more} -q --resume ck --indices j.txt -o o.csv"));
    desk.ran(&format!("herd d.csv -n {more} -q --indices k.txt -o o.csv"));
    assert_eq!(desk.read("j.txt"), desk.read("k.txt"));
    assert!(desk.read("j.txt").starts_with(&desk.read("i.txt")));
}

#[cfg(unix)]
#[test]
fn an_interrupted_search_ends_with_the_best_set_so_far() {
    let desk = Desk::new();
    desk.write("d.csv", posterior(3000));
    // A search that would take days; herding and the first sweeps are over in a fraction of a second.
    let words = "thin d.csv -n 60 --search 100000000 -o o.csv --indices i.txt --checkpoint ck --json s.json";
    let child = spawn(&desk, words);
    wait_for("the checkpoint", || desk.path("ck").exists());
    std::thread::sleep(Duration::from_millis(2500));
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{text}");
    assert!(text.contains("\ninterrupted: the best set so far has these 60 rows\n"), "{text}");
    let mut rows = numbers(&desk.read("i.txt"));
    rows.sort_unstable();
    rows.dedup();
    assert_eq!((rows.len(), desk.read("o.csv").lines().count()), (60, 61));
    let report = json(&desk, "s.json");
    assert_eq!(
        (&report["result"]["complete"], report["result"]["ended_by"].as_str()),
        (&serde_json::json!(false), Some("interrupt"))
    );
    // The search was under way: the set is better than herding and sweeps of no more than one moment would give.
    desk.ran("herd d.csv -n 60 --unique -q -o o.csv --json h.json");
    let mmd = |report: &serde_json::Value| report["result"]["mmd"].as_f64().unwrap();
    assert!(mmd(&report) < mmd(&json(&desk, "h.json")), "{text}");
    assert_eq!(desk.files(), ["ck", "d.csv", "h.json", "i.txt", "o.csv", "s.json"]);
}

#[cfg(unix)]
#[test]
fn an_interrupt_while_rows_are_compared_ends_at_once_and_leaves_nothing() {
    use std::io::{BufRead, BufReader, Read};
    let desk = Desk::new();
    desk.write("d.csv", posterior(150_000));
    for words in [
        "herd d.csv -n 5 -o o.csv --checkpoint ck --max-memory 9G --precision double",
        "thin d.csv -n 5 -o o.csv --report r.html --max-memory 9G --precision double",
    ] {
        let mut child = spawn(&desk, words);
        let mut words_of_it = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        // Said after the file is read and before its ten thousand million pairs are visited.
        words_of_it.read_line(&mut line).unwrap();
        assert!(line.starts_with("the run needs about "), "{line}");
        std::thread::sleep(Duration::from_millis(300));
        signal(&child, "-INT");
        let mut rest = String::new();
        words_of_it.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "supersample: interrupted; nothing was written\n");
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert_eq!(desk.files(), ["d.csv"], "{words}");
    }
}

#[cfg(unix)]
#[test]
fn a_killed_run_leaves_the_old_file() {
    let desk = Desk::new();
    desk.write("d.csv", posterior(3000));
    desk.write("o.csv", "precious\n");
    let child = spawn(&desk, "herd d.csv -n 3000000 -q -o o.csv --checkpoint ck");
    wait_for("the checkpoint", || desk.path("ck").exists());
    signal(&child, "-KILL");
    child.wait_with_output().unwrap();
    assert_eq!(desk.read("o.csv"), "precious\n");
    // The lock of a dead run holds nobody up, and its checkpoint is whole.
    desk.ran("herd d.csv -n 5 -q --resume ck --checkpoint ck -o o.csv");
    assert_eq!(desk.read("o.csv").lines().count(), 6);
}

/// Kills the command while it writes, again and again: each time the file is the old one or the new one.
#[cfg(unix)]
#[test]
fn a_file_is_never_half_written() {
    let desk = Desk::new();
    desk.write("d.csv", "x,y\n1,2\n3,4\n5,7\n");
    desk.ran("herd d.csv -n 40000 -q -o whole.csv");
    let whole = desk.read("whole.csv");
    for delay in [0, 5, 10, 20, 40, 60, 90, 130] {
        desk.write("o.csv", "old\n");
        let mut child = spawn(&desk, "herd d.csv -n 40000 -q -o o.csv");
        std::thread::sleep(Duration::from_millis(delay));
        let _ = child.kill();
        child.wait().unwrap();
        let found = desk.read("o.csv");
        assert!(found == "old\n" || found == whole, "{} bytes after {delay} ms", found.len());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_and_leaves_nothing() {
    let desk = Desk::new();
    desk.write("d.csv", posterior(300));
    // A device that is always full stands for the disk; a real small one is tried where mounting is allowed.
    let message = desk.refused("d.csv -n 300 -q --trace /dev/full -o o.csv");
    assert_eq!(message, "/dev/full cannot be written: No space left on device (os error 28)");
    assert_eq!(desk.files(), ["d.csv"]);
    fs::create_dir(desk.path("small")).unwrap();
    let mount = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=16k", "tmpfs"])
        .arg(desk.path("small"))
        .output();
    if !mount.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped the small disk: a tmpfs cannot be mounted here");
        return;
    }
    desk.write("small/o.csv", "precious\n");
    let message = desk.refused("d.csv -n 300 -q -o small/o.csv");
    let left = (desk.read("small/o.csv"), fs::read_dir(desk.path("small")).unwrap().count());
    assert!(Command::new("umount").arg(desk.path("small")).status().unwrap().success());
    assert!(
        message.ends_with("small/o.csv cannot be written: No space left on device (os error 28)"),
        "{message}"
    );
    assert_eq!(left, ("precious\n".to_string(), 1));
}

#[cfg(unix)]
#[test]
fn files_without_permission_are_named() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::new();
    desk.write("d.csv", posterior(20));
    let shut = |name: &str, mode: u32| {
        fs::set_permissions(desk.path(name), fs::Permissions::from_mode(mode)).unwrap()
    };
    desk.write("o.csv", "precious\n");
    shut("o.csv", 0o444);
    assert_eq!(desk.refused("d.csv -n 2 -o o.csv"), "o.csv cannot be written: it is read-only");
    shut("d.csv", 0o000);
    // The administrator may read everything, and containers often run as one.
    if fs::File::open(desk.path("d.csv")).is_ok() {
        eprintln!("skipped the unreadable file: this user may read everything");
    } else {
        assert!(desk.refused("d.csv -n 2").starts_with("d.csv: the file cannot be read: Permission denied"));
    }
    shut("d.csv", 0o644);
}

#[test]
fn memory_is_estimated_and_limited() {
    let desk = Desk::new();
    desk.write("d.csv", posterior(300));
    let (_, summary) = desk.ran("herd d.csv -n 3 --max-memory 1G -o o.csv");
    assert!(summary.starts_with("the run needs about 64.0 MiB of memory\nchose 3 of 300 rows"), "{summary}");
    assert_eq!(
        desk.refused("d.csv -n 3 --max-memory 10M"),
        "the run needs about 64.0 MiB, and --max-memory allows 10.0 MiB; choose by fewer --columns, or allow more"
    );
}

#[test]
fn pages_and_completions_are_printed() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish"] {
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
fn thin_searches_by_seed_and_only_if_asked() {
    let draws = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/eight_schools.csv");
    let rows = |flags: &[&str]| {
        let mut command = Command::new(cargo_bin!("supersample"));
        let output = command.arg("thin").arg(&draws).args(["-n", "100"]).args(flags).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let table = String::from_utf8(output.stderr).unwrap();
        let line = table.lines().find(|line| line.starts_with("these 100 rows")).unwrap().to_string();
        let mmd: f64 = line.split_whitespace().nth(3).unwrap().parse().unwrap();
        (output.stdout, mmd)
    };
    let (default, searched) = (rows(&[]), rows(&["--search", "10", "--seed", "2"]));
    let plain = rows(&["--search", "0"]);
    assert_eq!(rows(&["--search", "3", "--seed", "0"]), default);
    assert!(searched.1 < plain.1 && default.1 <= plain.1, "{} {} {}", searched.1, default.1, plain.1);
    assert_ne!(searched.0, plain.0);
    let refused = Command::new(cargo_bin!("supersample"));
    let refused = { refused }
        .arg("thin")
        .arg(&draws)
        .args(["-n", "3", "--search", "0", "--seed", "1"])
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--seed has no effect with --search 0"));
}
