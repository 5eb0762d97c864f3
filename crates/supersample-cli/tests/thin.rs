//! The verb `thin`: the best rows as a set, balanced and weighted.

use std::path::Path;
use std::process::Command;

use assert_cmd::cargo::cargo_bin;

use crate::desk::{Desk, json, numbers, output, posterior};

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
    assert!(summary.contains("asked for 500, but only 300 rows can be chosen"), "{summary}");
}

#[test]
fn thin_searches_by_seed_and_only_if_asked() {
    let draws = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/eight_schools.csv");
    let rows = |flags: &[&str]| {
        let mut command = Command::new(cargo_bin!("supersample"));
        let output = output(command.arg("thin").arg(&draws).args(["-n", "100"]).args(flags));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let table = String::from_utf8(output.stderr).unwrap();
        let line = table.lines().find(|line| line.starts_with("these 100 rows")).unwrap().to_string();
        let mmd: f64 = line.split_whitespace().nth(3).unwrap().parse().unwrap();
        (String::from_utf8(output.stdout).unwrap(), mmd)
    };
    let (default, searched) = (rows(&[]), rows(&["--search", "10", "--seed", "2"]));
    let plain = rows(&["--search", "0"]);
    // So few rows get the longest search.
    assert_eq!(rows(&["--search", "400", "--seed", "0"]), default);
    assert!(searched.1 < plain.1 && default.1 <= plain.1, "{} {} {}", searched.1, default.1, plain.1);
    assert_ne!(searched.0, plain.0);
    // Without a search and without landmarks nothing is random.
    assert_eq!(rows(&["--search", "0", "--seed", "1"]), plain);
}

#[test]
fn what_swaps_and_the_search_gain_is_reported() {
    let desk = Desk::new();
    desk.write("d.csv", posterior(300));
    let report = |words: &str| {
        let (_, summary) = desk.ran(&format!("{words} --json s.json --report r.html -o o.csv"));
        let result = json(&desk, "s.json")["result"].clone();
        let line = summary.lines().find(|line| line.contains("MMD 0.")).map(str::to_string);
        (result, line, desk.read("r.html"))
    };
    let (result, line, page) = report("thin d.csv -n 20 --marginals 0 --moments 0");
    let stage = |key: &str| result["refinement"][key].as_f64().unwrap();
    let (before, swapped, searched) = (stage("mmd_before"), stage("mmd_swapped"), stage("mmd_searched"));
    assert!(before > swapped && swapped >= searched, "{result}");
    assert!((searched - result["mmd"].as_f64().unwrap()).abs() < 1e-9, "{result}");
    let line = line.unwrap();
    let swaps = result["refinement"]["swaps"].as_u64().unwrap();
    assert!(
        line.starts_with("MMD 0.") && line.contains(" (herding) → 0.") && line.ends_with(" (search)"),
        "{line}"
    );
    assert!(page.contains(&format!("<p>{line}.</p>")), "{line}");
    assert!(page.contains(&format!(">{swaps} swaps in ")) && page.contains(" before the search"), "{swaps}");
    // They began with the rows that herding alone has.
    let (herded, line, _) = report("herd d.csv -n 20 --unique");
    assert!((before - herded["mmd"].as_f64().unwrap()).abs() < 1e-9, "{herded}");
    assert_eq!((line, &herded["refinement"]), (None, &serde_json::Value::Null));
    let (result, line, page) = report("thin d.csv -n 20");
    let herded =
        report("herd d.csv -n 20 --unique --marginals 0.1 --moments 0.08").0["mmd"].as_f64().unwrap();
    assert!((result["refinement"]["mmd_before"].as_f64().unwrap() - herded).abs() < 1e-9, "{result}");
    let line = line.unwrap();
    assert!(line.starts_with("objective: joint MMD + 0.1 × marginals + 0.08 × moments; MMD 0."), "{line}");
    assert!(page.contains("before the search; objective 0."), "{line}");
    let (result, line, _) = report("thin d.csv -n 20 --search 0");
    assert!(result["refinement"]["mmd_searched"].is_null() && result["refinement"]["converged"] == true);
    assert!(!line.unwrap().contains("search"));
    // The fewest rows are found by cutting a larger set down.
    let (result, line, _) = report("thin d.csv --tol 0.05");
    assert!(
        result["refinement"]["herded"] == false
            && line.unwrap().contains("; MMD 0.")
            && !desk.read("r.html").contains("herding)")
    );
    // All rows are a set that no swap can change.
    let (result, line, _) = report("thin d.csv -n 500");
    assert_eq!((line, &result["refinement"]), (None, &serde_json::Value::Null));
}

#[test]
fn weights_are_written_and_lower_the_error() {
    let desk = Desk::new();
    desk.write("d.csv", posterior(400));
    desk.write("m.toml", "[[component]]\nweight = 1\nmean = [0, 0]\ncovariance = [[1, 0.2], [0.2, 1]]\n");
    let mmd = |report: &serde_json::Value| report["mmd"].as_f64().unwrap();
    for verb in ["herd", "thin"] {
        for (rule, ending) in
            [("simplex", "csv"), ("signed", "csv"), ("simplex", "parquet"), ("signed", "npz")]
        {
            let words =
                format!("{verb} d.csv -n 30 --weights {rule} -o w.{ending} --json s.json --report r.html");
            let (_, summary) = desk.ran(&words);
            let result = json(&desk, "s.json")["result"].clone();
            assert!(mmd(&result) < mmd(&result["equal_weights"]), "{summary}");
            assert!(
                result["equivalent_draws"].as_f64() > result["equal_weights"]["equivalent_draws"].as_f64()
            );
            assert!(
                summary.contains("\nwith equal weights ") && summary.contains(&format!("\n{rule} weights"))
            );
            let weights = result["weights"]["values"].as_array().unwrap();
            let weights: Vec<f64> = weights.iter().map(|weight| weight.as_f64().unwrap()).collect();
            assert!(weights.len() == 30 && (weights.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            assert!(rule == "signed" || weights.iter().all(|weight| *weight >= 0.0));
            // The column goes out with the rows, and eval believes it.
            let (_, said) = desk.ran(&format!("eval d.csv w.{ending} --json e.json"));
            assert!(
                said.starts_with(&format!("compared 30 rows of w.{ending} (weighted by its column weight)")),
                "{said}"
            );
            let found = json(&desk, "e.json");
            assert!((mmd(&found["result"]) - mmd(&result)).abs() < 1e-9, "{words}: {found}");
            assert_eq!(found["result"]["weight_column"], "weight");
            if rule == "simplex" && ending == "csv" {
                let head = desk.read("w.csv").lines().next().unwrap().to_string();
                assert_eq!(head, "mu,tau,theta.1,theta.2,chain,draw,row,weight");
                let typical = |result: &serde_json::Value| result["errors"]["quantile"].as_f64().unwrap();
                assert!((typical(&found["result"]) - typical(&result)).abs() < 1e-9, "{found}");
                assert!((typical(&result) - typical(&result["equal_weights"])).abs() > 1e-6, "{result}");
            }
        }
    }
    // Rows that repeat share their weight, and no number is lost to it.
    desk.write("two.csv", "x\n0\n1\n");
    desk.ran("herd two.csv -n 9 --weights signed --bandwidth 1 -q -o w.csv --json s.json");
    let result = json(&desk, "s.json")["result"].clone();
    assert!(mmd(&result) < 1e-6, "{result}");
    desk.ran("sample m.toml -n 12 --bandwidth 1 --weights simplex -q -o p.csv --json s.json");
    assert!(desk.read("p.csv").starts_with("x1,x2,weight\n"));
    let result = json(&desk, "s.json")["result"].clone();
    assert!(mmd(&result) < mmd(&result["equal_weights"]), "{result}");
    // An .npy has no room for them, and no one learns that after the work.
    desk.ran("sample m.toml -n 12 -q -o p.npy");
    assert!(desk.refused("p.npy -n 3 --weights simplex").contains("an .npy file cannot store --weights"));
}

#[test]
fn rows_are_balanced_over_a_column_or_the_files() {
    let desk = Desk::new();
    let lines: Vec<String> = posterior(300).lines().map(str::to_string).collect();
    let kind = |i: usize| {
        ["small", "large", "huge"][if i.is_multiple_of(10) { 2 } else { usize::from(i.is_multiple_of(3)) }]
    };
    let rows: String = (0..300).map(|i| format!("{},{},{}\n", lines[i + 1], kind(i), i % 4)).collect();
    desk.write("d.csv", format!("{},kind,class\n{rows}", lines[0]));
    let of_kind = |wanted: &str| (0..300).filter(|&i| kind(i) == wanted).count();
    let chosen = |words: &str| {
        let (_, summary) = desk.ran(&format!("thin {words} -o o.csv --indices i.txt --json s.json"));
        (numbers(&desk.read("i.txt")), summary)
    };
    let count = |rows: &[usize], wanted: &str| rows.iter().filter(|&&row| kind(row) == wanted).count();
    let (rows, summary) = chosen("d.csv -n 30 --stratify kind");
    for wanted in ["small", "large", "huge"] {
        let share = of_kind(wanted) as f64 / 10.0;
        assert!((count(&rows, wanted) as f64 - share).abs() < 1.0, "{wanted} {share}: {summary}");
    }
    assert!(summary.contains("\nstratified by kind (huge: 3, small: "), "{summary}");
    // The column of the groups is no parameter, number or not.
    assert!(
        summary.contains(" by 5 parameters (mu, tau, theta.1, theta.2, class; not used: kind)"),
        "{summary}"
    );
    let (rows, summary) = chosen("d.csv --stratify kind --quota huge=10,small=2");
    assert_eq!((rows.len(), count(&rows, "huge"), count(&rows, "small")), (12, 10, 2), "{summary}");
    let counts = json(&desk, "s.json")["result"]["balance"]["counts"].clone();
    assert_eq!(counts[0], serde_json::json!({ "value": "huge", "count": 10 }));
    let (rows, _) = chosen("d.csv --stratify class --quota 1=3,3=4 --exclude kind --repeats");
    assert_eq!((rows.len(), rows.iter().filter(|&&row| row % 4 == 1).count()), (7, 3));
    let (rows, summary) = chosen("d.csv --tol 0.05 --stratify kind");
    let report = json(&desk, "s.json");
    assert!(report["result"]["mmd"].as_f64().unwrap() <= 0.05 && rows.len() < 60, "{summary}");
    assert!(summary.contains("the tolerance was reached with "), "{summary}");
    // Several files are chains.
    for (name, part) in [("1.csv", 0..100), ("2.csv", 100..150), ("3.csv", 150..300)] {
        desk.write(
            name,
            lines[..1]
                .iter()
                .chain(&lines[part.start + 1..part.end + 1])
                .map(|line| format!("{line}\n"))
                .collect::<String>(),
        );
    }
    let (rows, summary) = chosen("1.csv 2.csv 3.csv -n 12 --stratify chain");
    assert!(summary.contains("\nstratified by chain (1: 4, 2: 2, 3: 6)\n"), "{summary}");
    assert_eq!(rows.iter().filter(|&&row| row < 100).count(), 4);
}

#[test]
fn rows_can_be_made_to_be_in_or_out() {
    let desk = Desk::new();
    desk.write("d.csv", posterior(200));
    desk.ran("thin d.csv -n 20 -q -o o.csv --indices free.txt --json free.json");
    let free = numbers(&desk.read("free.txt"));
    // What it would have taken is out, and what it would not is in.
    let out: String = free[..10].iter().map(|row| format!("{row}\n")).collect();
    desk.write("out.txt", format!("{out}\n"));
    let others: Vec<usize> = (0..200).filter(|row| !free.contains(row)).take(3).collect();
    let into = others.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    let words = format!(
        "thin d.csv -n 20 --include-rows {into} --exclude-rows @out.txt -o o.csv --indices i.txt --json s.json"
    );
    let (_, summary) = desk.ran(&words);
    let rows = numbers(&desk.read("i.txt"));
    assert!(rows.len() == 20 && others.iter().all(|row| rows.contains(row)), "{rows:?}");
    assert!(free[..10].iter().all(|row| !rows.contains(row)), "{rows:?}");
    assert!(summary.contains("\n3 rows included by request; 10 rows excluded by request\n"), "{summary}");
    // The numbers are those of the column row.
    let written: Vec<usize> = desk
        .read("o.csv")
        .lines()
        .skip(1)
        .map(|line| line.rsplit(',').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(written, rows);
    let mmd = |name: &str| json(&desk, name)["result"]["mmd"].as_f64().unwrap();
    assert!(mmd("s.json") >= mmd("free.json"));
    let (_, summary) = desk
        .ran("thin d.csv --equivalent-draws 300 --include-rows 5 --exclude-rows 0-3,100-150 -o o.csv --indices i.txt");
    let rows = numbers(&desk.read("i.txt"));
    assert!(rows.contains(&5) && !rows.iter().any(|row| *row < 4 || (100..=150).contains(row)), "{summary}");
    // A run that was kept goes on with the same demands.
    desk.ran("thin d.csv -n 9 --include-rows 5 -q -o a.csv --checkpoint ck");
    desk.ran("thin d.csv -n 9 --include-rows 5 -q -o b.csv --resume ck");
    assert_eq!(desk.read("a.csv"), desk.read("b.csv"));
}
