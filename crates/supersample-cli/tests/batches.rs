//! Files that are gone through in batches, as users see them: what is said, what is chosen, and how runs go on.

use std::process::Command;

use supersample_io::{Column, Draws, Format, Frame, OutputFormat, Reading};

use crate::desk::{Desk, json, numbers, output, posterior, signal, spawn, wait_for};

const ROWS: usize = 6000;
const ENDINGS: [&str; 7] = ["csv", "csv.gz", "csv.zst", "npy", "parquet", "arrow", "nc"];

/// The draws as a file of each format, with the same numbers.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("d.csv", posterior(ROWS));
    let draws = Draws::read(&[desk.path("d.csv")], &Reading::default()).unwrap();
    for ending in ENDINGS {
        let columns = draws.parameter_names().into_iter().enumerate().map(|(j, name)| {
            let cells = draws.values().iter().skip(j).step_by(draws.dim()).copied();
            (name.to_string(), Column::doubles(cells))
        });
        let (path, mut bytes) = (desk.path(&format!("d.{ending}")), Vec::new());
        let frame = Frame { columns: columns.collect() };
        frame.write_as(OutputFormat::of_path(&path).unwrap(), &mut bytes).unwrap();
        desk.write(&format!("d.{ending}"), bytes);
    }
    desk
}

#[test]
fn every_format_gives_the_same_rows_and_the_error_to_all_of_them() {
    let desk = desk();
    for verb in ["herd", "thin"] {
        let mut first: Option<String> = None;
        for ending in ENDINGS {
            let words = format!("{verb} d.{ending} -n 20 --pool-rows 2000 --indices i.txt --json s.json");
            let (_, told) = desk.ran(&format!("{words} -o o.{ending}"));
            let note =
                "\nnote: 6,000 rows are read in batches; the candidates are 2,000 rows drawn with seed 0\n";
            assert!(told.contains(note) && told.matches("in batches").count() == 1, "{told}");
            assert!(told.contains("landmarks, chosen from 2,000 drawn at random\n"), "{told}");
            assert_eq!(json(&desk, "s.json")["embedding"]["pool_rows"].as_u64(), Some(2000));
            let rows = desk.read("i.txt");
            assert_eq!(first.get_or_insert_with(|| rows.clone()), &rows, "{verb} {ending}");
            // The rows are those of the file.
            let all = Draws::read(&[desk.path(&format!("d.{ending}"))], &Reading::default()).unwrap();
            let chosen = Draws::read(&[desk.path(&format!("o.{ending}"))], &Reading::default()).unwrap();
            for (row, values) in numbers(&rows).into_iter().zip(chosen.values().chunks(4)) {
                assert_eq!(values, &all.values()[4 * row..4 * row + 4], "{ending}");
            }
            desk.ran(&format!("eval d.{ending} o.{ending} --json e.json"));
            let error = |name: &str| json(&desk, name)["result"]["mmd"].as_f64().unwrap();
            // The bandwidth is the median of another sample, so that the two need not be the same.
            assert!((error("s.json") / error("e.json") - 1.0).abs() < 0.1);
        }
    }
    // With the same bandwidth the error is that to all rows.
    desk.ran("thin d.parquet -n 20 --bandwidth 2 --pool-rows 2000 -o o.csv --json s.json");
    desk.ran("eval d.csv o.csv --bandwidth 2 --json e.json");
    let error = |name: &str| json(&desk, name)["result"]["mmd"].as_f64().unwrap();
    assert!(
        (error("s.json") / error("e.json") - 1.0).abs() < 0.01,
        "{} {}",
        error("s.json"),
        error("e.json")
    );
    assert_eq!(json(&desk, "s.json")["input"]["rows"].as_u64(), Some(ROWS as u64));
}

#[test]
fn rows_that_do_not_fit_are_read_in_batches_and_those_that_do_are_not() {
    let desk = Desk::new();
    desk.write("d.csv", posterior(200_000));
    let (_, told) = desk.ran("herd d.csv -n 10 --max-memory 45M -o o.csv");
    assert!(told.contains("200,000 rows are read in batches; the candidates are "), "{told}");
    let (_, told) = desk.ran("herd d.csv -n 10 --max-memory 2G -o o.csv");
    assert!(!told.contains("in batches"), "{told}");
    // All rows after all, whatever was allowed: the run is that of the rows in memory.
    desk.write("few.csv", posterior(3000));
    let (_, told) = desk.ran("herd few.csv -n 10 --pool-rows 3000 --indices a.txt -o o.csv");
    assert!(!told.contains("in batches"), "{told}");
    desk.ran("herd few.csv -n 10 --indices b.txt -o o.csv");
    assert_eq!(desk.read("a.txt"), desk.read("b.txt"));
}

/// A Parquet or Arrow file of 210,000 rows, which may be in single precision.
fn many(desk: &Desk, name: &str, is_single: bool) {
    let wave = |i: usize, step: f64| 2.0 + (i as f64 * step).sin() as f32;
    let column = |step: f64| {
        let cells = (0..210_000).map(|i| wave(i, step));
        match is_single {
            true => cells.map(Some).collect::<Vec<_>>().into(),
            false => Column::doubles(cells.map(f64::from)),
        }
    };
    let columns = vec![("a".to_string(), column(0.7)), ("b".to_string(), column(1.3))];
    let mut bytes = Vec::new();
    let format = if name.ends_with("arrow") { Format::Arrow } else { Format::Parquet };
    Frame { columns }.write_as(OutputFormat::plain(format), &mut bytes).unwrap();
    desk.write(name, bytes);
}

/// A record batch is read at once, whatever is allowed.
#[test]
fn a_large_record_batch_counts() {
    let desk = Desk::new();
    many(&desk, "d.arrow", false);
    let refused = desk.refused("d.arrow -n 5 --pool-rows 2000 --max-memory 6M");
    assert!(refused.contains("a record batch of the files takes 3.2"), "{refused}");
    assert!(refused.contains("write smaller record batches or a Parquet file, or allow 6.4"), "{refused}");
    // What is named is enough.
    let (_, enough) = refused.split_once("or allow ").unwrap();
    let enough: f64 = enough.trim().strip_suffix(" MiB").unwrap().parse().unwrap();
    let output = desk.run(&format!("herd d.arrow -n 5 --pool-rows 2000 --max-memory {enough}M -o o.csv"));
    assert!(!String::from_utf8(output.stderr).unwrap().contains("a record batch"));
    let (_, told) = desk.ran("herd d.arrow -n 5 --pool-rows 2000 --max-memory 100M -o o.csv");
    let (_, of_parquet) = {
        many(&desk, "d.parquet", false);
        desk.ran("herd d.parquet -n 5 --pool-rows 2000 --max-memory 100M -o o.csv")
    };
    let needed = |told: &str| -> f64 {
        let (_, rest) = told.split_once("needs about ").unwrap();
        rest.split_once(" MiB").unwrap().0.parse().unwrap()
    };
    assert!((needed(&told) - needed(&of_parquet) - 3.2).abs() < 0.2, "{told} {of_parquet}");
}

#[test]
fn very_many_rows_in_single_precision_stay_in_it() {
    let desk = Desk::new();
    many(&desk, "f32.parquet", true);
    many(&desk, "f64.parquet", false);
    let words = "-n 5 --bandwidth 1 --landmarks 50 -o o.csv";
    let (_, told) = desk.ran(&format!("herd f32.parquet {words} --indices a.txt --json a.json"));
    let said = "210,000 rows in single precision are read in batches; the candidates are 200,000 rows drawn with seed 0";
    assert!(told.contains(said), "{told}");
    // What is allowed does not matter as long as it is enough, nor does the precision once the rows are asked for in batches.
    desk.ran(&format!("herd f32.parquet {words} --max-memory 2G --indices b.txt"));
    desk.ran(&format!("herd f64.parquet {words} --pool-rows 200000 --indices c.txt"));
    assert_eq!((desk.read("a.txt"), desk.read("a.txt")), (desk.read("b.txt"), desk.read("c.txt")));
    let error = json(&desk, "a.json")["result"]["mmd"].as_f64().unwrap();
    desk.ran("eval f64.parquet o.csv --bandwidth 1 --landmarks 50 --json e.json");
    let whole = json(&desk, "e.json")["result"]["mmd"].as_f64().unwrap();
    assert!((error / whole - 1.0).abs() < 0.02, "{error} {whole}");
    // Double precision is read whole, and so is a file of which something needs all rows.
    for words in [
        format!("herd f64.parquet {words}"),
        format!("thin f32.parquet {words} --exclude-rows 3 --search 0"),
        format!("herd f32.parquet {words} --columns a --weight-column b"),
    ] {
        let (_, told) = desk.ran(&words);
        assert!(!told.contains("in batches"), "{words}: {told}");
    }
}

#[test]
fn weights_missing_values_columns_and_chains_are_heeded() {
    let desk = Desk::new();
    let mut text = String::from("chain,a,b,w,logw,note\n");
    for i in 0..4000 {
        let (a, b) = ((i as f64 * 0.7).sin(), (i as f64 * 1.3).cos());
        let a = if i % 10 == 3 { "NA".to_string() } else { a.to_string() };
        let w = if i % 5 == 0 { 0.0 } else { 1.0 + f64::from(i % 3) };
        text += &format!("{},{a},{b},{w},{},x{i}\n", i / 2000, w.ln());
    }
    desk.write("d.csv", &text);
    let words = "d.csv -n 15 --columns a,b --drop-na --pool-rows 1500";
    desk.ran(&format!("thin {words} --weight-column w --indices i.txt --json s.json -o o.csv"));
    desk.ran(&format!("thin {words} --log-weight-column logw --indices j.txt -o p.csv"));
    assert_eq!((desk.read("i.txt"), desk.read("o.csv")), (desk.read("j.txt"), desk.read("p.csv")));
    let lines: Vec<&str> = text.lines().collect();
    let rows = numbers(&desk.read("i.txt"));
    assert!(rows.iter().all(|row| row % 10 != 3 && row % 5 != 0));
    for (&row, line) in rows.iter().zip(desk.read("o.csv").lines().skip(1)) {
        assert!(line.starts_with(lines[1 + row]), "{row}: {line}");
    }
    let notes = json(&desk, "s.json")["notes"].to_string();
    assert!(notes.contains("400 of 4000 rows have a missing value"), "{notes}");
    assert!(notes.contains("3,600 rows are read in batches"), "{notes}");
    // Both files are one run of two chains.
    desk.ran("herd d.csv d.csv -n 15 --columns b --pool-rows 1500 --indices i.txt -q -o o.csv");
    assert!(numbers(&desk.read("i.txt")).iter().any(|&row| row >= 4000));
}

#[test]
fn what_needs_all_rows_is_refused_with_a_sentence() {
    let desk = desk();
    for (flag, named) in [
        ("--stratify mu", "--stratify"),
        ("--include-rows 3", "--include-rows or --exclude-rows"),
        ("--exclude-rows 3", "--include-rows or --exclude-rows"),
        ("--functions-file d.csv", "--functions-file"),
        ("--embedding exact", "--embedding exact"),
        ("--weights simplex", "--weights"),
    ] {
        let output = desk.run(&format!("thin d.csv -n 9 --pool-rows 2000 {flag} -o o.csv"));
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(
            told.trim_end(),
            format!("supersample: {named} needs all rows in memory; leave it out, or leave out --pool-rows")
        );
    }
    assert_eq!(
        desk.refused("d.csv -n 9 --pool-rows 0"),
        "--pool-rows is 0; there must be rows to choose from"
    );
    let frame = Frame { columns: vec![("x".to_string(), Column::doubles((0..50).map(f64::from)))] };
    let mut bytes = Vec::new();
    frame.write_as(OutputFormat::of_path(&desk.path("d.npz")).unwrap(), &mut bytes).unwrap();
    desk.write("d.npz", bytes);
    assert!(
        desk.refused("d.npz -n 9 --pool-rows 20").starts_with("d.npz: an .npz holds its columns one after")
    );
    // A bad cell is named as ever, wherever it is.
    let mut text = posterior(5000);
    text += "1,2,x,4\n";
    desk.write("bad.csv", text);
    assert_eq!(desk.refused("bad.csv -n 9 --pool-rows 20"), desk.refused("bad.csv -n 9"));
}

#[test]
fn functions_are_matched_in_batches_by_their_means_over_all_rows() {
    let desk = desk();
    // The functions are between the parameters.
    let words = "thin d.csv -n 20 --bandwidth 2 --functions tau,theta.1 --functions-weight 30";
    let errors = |name: &str| json(&desk, name)["result"]["errors"]["functions_error"].as_f64().unwrap();
    desk.ran(&format!("{words} --pool-rows 2000 -o o.csv --indices i.txt --json s.json"));
    assert_eq!(json(&desk, "s.json")["input"]["functions"], serde_json::json!(["tau", "theta.1"]));
    assert_eq!(json(&desk, "s.json")["objective"]["functions"], 30.0);
    desk.ran("eval d.csv o.csv --bandwidth 2 --functions tau,theta.1 --json e.json");
    assert!((errors("s.json") / errors("e.json") - 1.0).abs() < 1e-6);
    desk.ran("thin d.csv -n 20 --bandwidth 2 --columns mu,theta.2 --pool-rows 2000 -o o.csv");
    desk.ran("eval d.csv o.csv --bandwidth 2 --functions tau,theta.1 --json without.json");
    assert!(errors("s.json") < 0.5 * errors("without.json"));
    // All rows after all: the run is that of the rows in memory.
    desk.ran(&format!("{words} --pool-rows 6000 -o o.csv --indices a.txt"));
    desk.ran(&format!("{words} -o o.csv --indices b.txt"));
    assert_eq!(desk.read("a.txt"), desk.read("b.txt"));
    let constant: String = posterior(3000).lines().skip(1).map(|line| format!("{line},7\n")).collect();
    desk.write("c.csv", format!("mu,tau,theta.1,theta.2,y\n{constant}"));
    let refused = desk.refused("c.csv -n 9 --pool-rows 2000 --functions y");
    assert!(refused.starts_with("function 'y' is constant on all rows of positive weight"), "{refused}");
}

#[test]
fn a_run_in_batches_goes_on_from_its_checkpoint() {
    let desk = desk();
    desk.ran("herd d.parquet -n 60 -q --pool-rows 2000 --indices whole.txt -o whole.csv --trace whole.t");
    desk.ran("herd d.parquet -n 20 -q --pool-rows 2000 --checkpoint ck -o part.csv");
    let words = "herd d.parquet -n 60 -q --pool-rows 2000 --resume ck";
    desk.ran(&format!("{words} --indices i.txt -o o.csv --trace t.t"));
    // Both sizes ask for the fewest landmarks there are, which are therefore the same.
    assert_eq!(desk.read("i.txt"), desk.read("whole.txt"));
    assert_eq!((desk.read("o.csv"), desk.read("t.t")), (desk.read("whole.csv"), desk.read("whole.t")));
    desk.ran("herd d.parquet -n 20 -q --pool-rows 2000 --resume ck --indices again.txt -o o.csv");
    desk.ran("herd d.parquet -n 20 -q --pool-rows 2000 --indices plain.txt -o o.csv");
    assert_eq!(desk.read("again.txt"), desk.read("plain.txt"));
    let other = desk.refused("d.parquet -n 60 -q --pool-rows 1999 --resume ck");
    assert!(other.starts_with("ck: the checkpoint belongs to other data"), "{other}");
    let other = desk.refused("d.parquet -n 60 -q --resume ck");
    assert!(other.starts_with("ck: the checkpoint belongs to other data"), "{other}");
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_in_batches_writes_what_it_has() {
    let desk = desk();
    let child =
        spawn(&desk, "herd d.csv -n 30000000 --pool-rows 2000 -o o.csv --indices i.txt --checkpoint ck");
    wait_for("the checkpoint", || desk.path("ck").exists());
    std::thread::sleep(std::time::Duration::from_millis(300));
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{told}");
    assert!(
        told.contains("the MMD is the distance to the landmarks, because the run was interrupted"),
        "{told}"
    );
    assert!(!numbers(&desk.read("i.txt")).is_empty());
}

#[cfg(unix)]
#[test]
fn a_pipe_can_be_gone_through_in_batches() {
    let desk = desk();
    let binary = assert_cmd::cargo::cargo_bin!("supersample");
    let words = "herd - -n 20 --pool-rows 2000 -q --indices i.txt -o o.csv";
    let line = format!("cat d.csv | {} {words}", binary.display());
    assert!(output(Command::new("sh").current_dir(desk.folder()).args(["-c", &line])).status.success());
    desk.ran("herd d.csv -n 20 --pool-rows 2000 -q --indices j.txt -o p.csv");
    assert_eq!((desk.read("i.txt"), desk.read("o.csv")), (desk.read("j.txt"), desk.read("p.csv")));
}

/// A column that is constant among the candidates and varies elsewhere.
#[test]
fn what_errors_are_relative_to_is_said() {
    let desk = Desk::new();
    desk.write(
        "rare.csv",
        "a\n".to_string() + &(0..5000).map(|i| format!("{}\n", u8::from(i == 17))).collect::<String>(),
    );
    let (_, told) = desk.ran("thin rare.csv -n 5 --pool-rows 1000 -o o.csv --json s.json");
    let errors = &json(&desk, "s.json")["result"]["errors"];
    assert!((errors["sd"].as_f64().unwrap() - 1.0).abs() < 1e-9, "{told}");
    assert!(
        told.contains(
            "MMD, mean and sd are relative to all 5,000 rows; quantile and correlation to the 1,000"
        ),
        "{told}"
    );

    let desk = self::desk();
    let (_, told) = desk.ran("thin d.csv -n 20 --pool-rows 2000 -o o.csv --json s.json");
    let sample = &json(&desk, "s.json")["sample"];
    assert_eq!(sample["rows"].as_u64(), Some(2000));
    let own = sample["quantile"].as_f64().unwrap();
    // About 1.5 sds over the root of the candidates.
    assert!((0.005..0.2).contains(&own) && told.contains("every 100th candidate"), "{own} {told}");
    assert!(told.contains(" pairs of candidates)"), "{told}");
    desk.ran("thin d.csv -n 20 -o o.csv --json s.json");
    assert_eq!(json(&desk, "s.json")["sample"], serde_json::Value::Null);
}

#[test]
fn a_goal_is_judged_by_the_error_that_is_reported() {
    let desk = desk();
    let output = desk.run("thin d.csv --tol 0.02 --pool-rows 2000 --landmarks 20 -o o.csv --json s.json");
    let report = json(&desk, "s.json");
    let (mmd, reached) =
        (report["result"]["mmd"].as_f64().unwrap(), report["result"]["goal_reached"].as_bool());
    assert_eq!(reached, Some(mmd <= 0.02), "{mmd}");
    assert_eq!(output.status.code(), Some(i32::from(mmd > 0.02)));
    desk.write("few.csv", posterior(50));
    for verb in ["thin few.csv", "herd few.csv --unique"] {
        desk.run(&format!("{verb} --tol 1e-30 -o o.csv --json s.json"));
        let report = json(&desk, "s.json");
        let mmd = report["result"]["mmd"].as_f64().unwrap();
        assert_eq!(report["result"]["goal_reached"].as_bool(), Some(mmd <= 1e-30), "{verb} {mmd}");
        if mmd > 1e-30 {
            assert_eq!(report["result"]["ended_by"].as_str(), Some("exhausted"), "{verb}");
        }
    }
}
