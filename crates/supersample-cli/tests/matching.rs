//! Another target than the rows, calibrated weights, and a set for each value: what is chosen, told and refused.

use serde_json::Value;

use crate::desk::{Desk, numbers};

fn cell(i: usize, by: f64) -> f64 {
    ((i as f64 * by).sin() + 0.1 * (i % 7) as f64) * 1.5
}

/// A desk with a pool, and a target with the same columns in another order, a third one and weights.
fn desk() -> Desk {
    let desk = Desk::new();
    let row = |i: usize| format!("{:.6},{:.6},{:.6},{}\n", cell(i, 0.7), cell(i, 1.3), cell(i, 2.9), i % 3);
    desk.write("pool.csv", "a,b,y,site\n".to_string() + &(0..400).map(row).collect::<String>());
    let row = |i: usize| {
        let (a, b) = (0.3 + 0.5 * cell(i, 1.9), 0.6 * cell(i, 0.4));
        format!("{b:.6},{:.6},{a:.6},text,{}\n", a * b, i % 2 + 1)
    };
    desk.write("target.csv", "b,y,a,z,w\n".to_string() + &(0..120).map(row).collect::<String>());
    desk
}

fn summary(desk: &Desk, words: &str) -> (Value, String) {
    let (_, told) = desk.ran(&format!("{words} --json s.json"));
    (serde_json::from_str(&desk.read("s.json")).unwrap(), told)
}

#[track_caller]
fn refused(desk: &Desk, words: &str) -> String {
    let output = desk.run(words);
    assert_eq!(output.status.code(), Some(2), "{words}");
    String::from_utf8(output.stderr).unwrap()
}

/// The numbers of some columns, row after row.
fn columns(text: &str, wanted: &[&str]) -> Vec<Vec<f64>> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let places: Vec<usize> =
        wanted.iter().map(|name| names.iter().position(|known| known == name).unwrap()).collect();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        places.iter().map(|&place| cells[place].parse().unwrap()).collect()
    };
    lines.map(row).collect()
}

fn mean(rows: &[Vec<f64>], column: usize, weights: Option<&[f64]>) -> f64 {
    let weight = |row: usize| weights.map_or(1.0, |weights| weights[row]);
    let total: f64 = (0..rows.len()).map(weight).sum();
    rows.iter().enumerate().map(|(row, x)| weight(row) * x[column]).sum::<f64>() / total
}

#[test]
fn rows_of_a_pool_match_the_columns_of_a_target_by_name() {
    let desk = desk();
    let (json, told) = summary(
        &desk,
        "thin pool.csv -n 40 --columns a,b --match target.csv --match-weight-column w -o o.csv",
    );
    assert!(told.contains("matched 120 rows of target.csv weighted by w"), "{told}");
    assert!(told.contains("% of the target is farther than the bandwidth from every row"), "{told}");
    assert_eq!((&json["match"]["rows"], &json["match"]["weight_column"]), (&120.into(), &"w".into()));
    assert!(
        json["match"]["overlap"]["unreached"].is_number() && json["match"]["overlap"]["floor"].is_number()
    );
    let (chosen, target) =
        (columns(&desk.read("o.csv"), &["a", "b"]), columns(&desk.read("target.csv"), &["a", "b", "w"]));
    let weights: Vec<f64> = target.iter().map(|row| row[2]).collect();
    for column in 0..2 {
        let (found, wanted) = (mean(&chosen, column, None), mean(&target, column, Some(&weights)));
        assert!((found - wanted).abs() < 0.02, "{column}: {found} {wanted}");
    }
    // Against the target the rows are as good as the run says.
    let (judged, _) =
        summary(&desk, "eval target.csv o.csv --columns a,b --weight-column w --kernel matern32");
    let near = |a: &Value, b: &Value| (a.as_f64().unwrap() / b.as_f64().unwrap() - 1.0).abs() < 1e-6;
    assert!(near(&judged["result"]["mmd"], &json["result"]["mmd"]));
    assert_eq!(judged["result"]["errors"]["mean"], json["result"]["errors"]["mean"]);
}

#[test]
fn functions_are_columns_of_both_files() {
    let desk = desk();
    let words = "pool.csv -n 30 --columns a,b --functions y --match target.csv -o o.csv";
    let (json, _) = summary(&desk, &format!("thin {words}"));
    let (chosen, target) = (columns(&desk.read("o.csv"), &["y"]), columns(&desk.read("target.csv"), &["y"]));
    assert!((mean(&chosen, 0, None) - mean(&target, 0, None)).abs() < 0.05);
    assert!(json["result"]["errors"]["functions_error"].as_f64().unwrap() < 0.05);
    let (_, _) = summary(&desk, &format!("herd {words}"));
}

#[test]
fn a_checkpoint_is_of_its_target() {
    let desk = desk();
    let words = "thin pool.csv -n 20 --columns a,b --match target.csv --checkpoint c --indices i -o o.csv";
    desk.ran(words);
    let first = numbers(&desk.read("i"));
    desk.ran(words);
    assert_eq!(numbers(&desk.read("i")), first);
    let other = refused(&desk, "thin pool.csv -n 20 --columns a,b --resume c -o o.csv");
    assert!(other.contains("c"), "{other}");
    // Another number of rows weights published numbers otherwise, and herds other rows.
    desk.write("table.toml", TABLE);
    desk.ran("herd pool.csv -n 5 --columns a,b,site --match-summary table.toml --checkpoint d -o o.csv");
    let longer =
        refused(&desk, "herd pool.csv -n 9 --columns a,b,site --match-summary table.toml --checkpoint d");
    assert!(longer.starts_with("supersample: d: the checkpoint belongs to other data"), "{longer}");
}

#[test]
fn a_target_out_of_reach_is_told_loudly() {
    let desk = desk();
    let row = |i: usize| format!("{:.4},{:.4}\n", 9.0 + cell(i, 0.3), cell(i, 0.4));
    desk.write("far.csv", "a,b\n".to_string() + &(0..50).map(row).collect::<String>());
    let (_, told) = desk.ran("thin pool.csv -n 10 --columns a,b --match far.csv -o o.csv");
    assert!(told.contains("warning: the rows do not cover the target: 100 % of the target"), "{told}");
    assert!(told.contains("outside the range of the rows in column 'a' (100 %)"), "{told}");
}

#[test]
fn targets_that_cannot_be_matched_are_refused() {
    let desk = desk();
    let missing = refused(&desk, "thin pool.csv -n 10 --match target.csv -o o.csv");
    assert!(missing.contains("--match") && missing.contains("site"), "{missing}");
    let text = refused(&desk, "thin target.csv -n 10 --columns a --match pool.csv --match-weight-column q");
    assert!(text.contains("q"), "{text}");
    for (words, said) in [
        ("-n auto --match target.csv", "-n auto cannot be used with another target"),
        ("-n 5 --match target.csv --pool-rows 100 --weights simplex", "--weights needs all rows in memory"),
        (
            "-n 5 --match target.csv --functions-file target.csv",
            "--functions-file cannot be used with --match",
        ),
        ("-n 5 --match target.csv --scores target.csv", "--match cannot be used with scores"),
        ("-n 5 --match-weight-column w", "--match"),
        ("-n 5 --match-summary t.toml --match-weight-column w", "cannot be used with"),
        ("-n 5 --match none.csv", "none.csv"),
    ] {
        let told = refused(&desk, &format!("thin pool.csv --columns a,b {words}"));
        assert!(told.contains(said), "{words}: {told}");
    }
    // Columns that only have a place: an array of another width, and one that lies on its side.
    for (name, columns) in [("narrow.npy", 1), ("two.npy", 2)] {
        let head = format!(
            "{:<117}\n",
            format!("{{'descr': '<f8', 'fortran_order': False, 'shape': (9, {columns})}}")
        );
        let numbers = (0..9 * columns).flat_map(|i| cell(i, 0.7).to_le_bytes());
        let start = b"\x93NUMPY\x01\x00\x76\x00".iter().copied();
        desk.write(name, start.chain(head.bytes()).chain(numbers).collect::<Vec<u8>>());
    }
    let narrow = refused(&desk, "thin narrow.npy -n 2 --match two.npy");
    assert!(narrow.contains("two.npy: the rows have 2 columns, those to choose from 1"), "{narrow}");
    desk.ran("thin narrow.npy -n 2 --columns x1 --match two.npy -q -o o.csv");
    // One row has no sd in which errors could be given.
    desk.write("one.csv", "a,b\n0.1,0.2\n");
    let (_, told) = desk.ran("thin pool.csv -n 2 --columns a,b --match one.csv -o o.csv");
    assert!(told.contains("\nno parameter varies in all rows, so there are no errors in sds\n"), "{told}");
    desk.write("holes.csv", "a,b\n1,2\n,3\n");
    let hole = refused(&desk, "thin pool.csv -n 2 --columns a,b --match holes.csv");
    assert!(hole.contains("holes.csv") && hole.contains("empty"), "{hole}");
    desk.write("negative.csv", "a,b,w\n1,2,-1\n2,3,1\n");
    let bad = refused(&desk, "thin pool.csv -n 2 --columns a,b --match negative.csv --match-weight-column w");
    assert!(bad.contains("--match") && bad.contains("-1"), "{bad}");
}

#[test]
fn calibrated_weights_meet_the_means_and_sum_to_the_total() {
    let desk = desk();
    let words = "thin pool.csv -n 30 --columns a,b,y --weights calibrated";
    let (json, told) = summary(&desk, &format!("{words} --total 1000 -o o.csv"));
    assert!(
        told.contains("calibrated weights") && json["result"]["weights"]["rule"] == "calibrated",
        "{told}"
    );
    let (chosen, pool) = (
        columns(&desk.read("o.csv"), &["a", "b", "y", "weight"]),
        columns(&desk.read("pool.csv"), &["a", "b", "y"]),
    );
    let weights: Vec<f64> = chosen.iter().map(|row| row[3]).collect();
    assert!((weights.iter().sum::<f64>() - 1000.0).abs() < 1e-6);
    for column in 0..3 {
        assert!((mean(&chosen, column, Some(&weights)) - mean(&pool, column, None)).abs() < 1e-9);
    }
    // Of some columns, and of a target.
    desk.ran(&format!("{words} --calibrate b --match target.csv -o o.csv"));
    let chosen = columns(&desk.read("o.csv"), &["b", "weight"]);
    let weights: Vec<f64> = chosen.iter().map(|row| row[1]).collect();
    let target = columns(&desk.read("target.csv"), &["b"]);
    assert!((mean(&chosen, 0, Some(&weights)) - mean(&target, 0, None)).abs() < 1e-9);
    for (words, said) in [
        ("--weights simplex --calibrate a", "--calibrate has no effect without --weights calibrated"),
        ("--total 5", "--total has no effect on equal weights"),
        ("--weights calibrated --total 0", "--total is 0; give a positive number"),
        ("--weights calibrated --calibrate q", "there is no column or function 'q'"),
        ("--weights calibrated --pool-rows 50", "--weights needs all rows in memory"),
    ] {
        let told = refused(&desk, &format!("thin pool.csv -n 5 --columns a,b {words} -o o.csv"));
        assert!(told.contains(said), "{words}: {told}");
    }
    desk.write("far.csv", "a,b\n90,0\n91,1\n95,0\n");
    let told =
        refused(&desk, "thin pool.csv -n 5 --columns a,b --match far.csv --weights calibrated -o o.csv");
    assert!(
        told.contains("no positive weights give column 'a' the mean 92.0: the rows to choose from have"),
        "{told}"
    );
    // What the chosen rows alone cannot have costs the weights, not the rows.
    for each in ["", " --each site"] {
        let words = format!("thin pool.csv -n 2 --columns a,b,y --weights calibrated{each} -o few.csv");
        let out = desk.run(&words);
        assert_eq!(out.status.code(), Some(1), "{each}");
        let told = String::from_utf8(out.stderr).unwrap();
        assert!(told.contains("the weights could not be computed and are equal"), "{told}");
        assert!(desk.read("few.csv").lines().count() > 2);
    }
    desk.write("m.toml", "[[component]]\nweight = 1\nmean = [0]\ncovariance = [[1]]\n");
    let told = refused(&desk, "sample m.toml -n 5 --weights calibrated");
    assert!(told.contains("--weights calibrated is for rows of a file"), "{told}");
}

#[test]
fn each_value_gets_the_set_of_a_file_of_its_own() {
    let desk = desk();
    let (json, told) = summary(&desk, "thin pool.csv -n 12 --columns a,b,y --each site --indices i -o o.csv");
    assert!(told.contains("chose 36 of 400 rows for 3 values of site by 3 parameters"), "{told}");
    let all = desk.read("pool.csv");
    let (head, rows) = all.split_once('\n').unwrap();
    let chosen = numbers(&desk.read("i"));
    assert_eq!(desk.read("o.csv").lines().count(), 37);
    for site in 0..3 {
        let own: Vec<(usize, &str)> =
            rows.lines().enumerate().filter(|(_, line)| line.ends_with(&format!(",{site}"))).collect();
        let text: String = own.iter().map(|(_, line)| format!("{line}\n")).collect();
        desk.write("own.csv", format!("{head}\n{text}"));
        desk.ran("thin own.csv -n 12 --columns a,b,y --indices own -o p.csv");
        let alone: Vec<usize> = numbers(&desk.read("own")).iter().map(|&row| own[row].0).collect();
        assert_eq!(alone, chosen[12 * site..12 * (site + 1)], "{site}");
        let group = &json["each"]["groups"][site];
        assert_eq!((&group["value"], &group["rows"]), (&site.to_string().into(), &own.len().into()));
    }
    // Sorted rows are in the order of the file, whatever their values.
    let by_site = desk.read("o.csv");
    desk.ran(
        "thin pool.csv -n 12 --columns a,b,y --each site --indices s -o s.csv --sorted --weights simplex --total 6",
    );
    let mut in_order = chosen.clone();
    in_order.sort_unstable();
    assert_eq!(numbers(&desk.read("s")), in_order);
    let sorted = desk.read("s.csv");
    let mut sum = 0.0;
    for (line, row) in sorted.lines().skip(1).zip(&in_order) {
        let (row_in_file, weight) = line.rsplit_once(',').unwrap();
        assert!(by_site.lines().any(|line| line == row_in_file), "{line}");
        assert!(row_in_file.ends_with(&format!(",{row}")), "{line}");
        sum += weight.parse::<f64>().unwrap();
    }
    assert!((sum - 18.0).abs() < 1e-9, "{sum}");
    for (words, said) in [
        ("-n auto", "-n auto cannot be used with --each"),
        ("-n 5 --match target.csv", "--match cannot be used with --each"),
        ("-n 5 --report r.html", "--report cannot be used with --each"),
        ("-n 5 --trace t.csv", "--trace cannot be used with --each"),
        ("-n 5 --checkpoint c", "--checkpoint cannot be used with --each"),
        ("-n 5 --resume c", "--resume cannot be used with --each"),
        ("-n 5 --max-memory 1G", "--max-memory cannot be used with --each"),
        ("-n 5 --pool-rows 50", "--pool-rows cannot be used with --each"),
        ("-n 5 --scores s.csv", "--scores or --score-prefix cannot be used with --each"),
        ("-n 5 --stratify site", "--each"),
    ] {
        let told = refused(&desk, &format!("thin pool.csv --columns a,b --each site {words} -o o.csv"));
        assert!(told.contains(said), "{words}: {told}");
    }
    let output = desk.run("thin pool.csv -n 5 --tol 0.001 --each site --columns a,b -o o.csv");
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("an MMD of 0.001 was not reached for 3 of 3 values; allow more with -n"), "{told}");
    let told = refused(&desk, "thin pool.csv -n 5 --each nowhere -o o.csv");
    assert!(told.contains("nowhere"), "{told}");
}

#[test]
fn a_pool_in_batches_chooses_the_rows_of_memory_or_a_sample() {
    let desk = desk();
    let words = "thin pool.csv -n 30 --columns a,b --functions y --match target.csv --match-weight-column w --indices i -o o.csv";
    let (held, _) = summary(&desk, words);
    let rows = numbers(&desk.read("i"));
    for limit in ["--pool-rows 400", "--max-memory 60M"] {
        let (json, _) = summary(&desk, &format!("{words} {limit}"));
        assert_eq!(numbers(&desk.read("i")), rows, "{limit}");
        assert_eq!(json["result"]["mmd"], held["result"]["mmd"]);
    }
    let (json, told) = summary(&desk, &format!("{words} --pool-rows 150"));
    assert!(
        told.contains("400 rows are read in batches; the candidates are 150 rows drawn with seed 0"),
        "{told}"
    );
    assert!(told.contains("matched 120 rows of target.csv weighted by w"), "{told}");
    assert!(json["match"]["overlap"]["unreached"].is_number());
    // The rows that are written are those that are numbered, and as good as they are said to be.
    let (judged, _) =
        summary(&desk, "eval target.csv o.csv --columns a,b --weight-column w --kernel matern32");
    let mmd = |json: &Value| json["result"]["mmd"].as_f64().unwrap();
    assert!((mmd(&judged) / mmd(&json) - 1.0).abs() < 1e-6);
}

const TABLE: &str = "n = 250
[columns.a]
mean = 0.35
sd = 0.9
quantiles = { \"0.5\" = 0.4 }
[columns.b]
mean = -0.1
sd = 0.8
[columns.site]
shares = { 0 = 0.5, 1 = 0.3, 2 = 0.2 }
[correlations]
a = { b = 0.2 }
";

#[test]
fn published_numbers_are_reached_and_shown() {
    let desk = desk();
    desk.write("table.toml", TABLE);
    let words = "thin pool.csv -n 100 --columns a,b,site --match-summary table.toml -o o.csv";
    let (json, told) = summary(&desk, words);
    assert!(
        told.contains("matched 9 published numbers of table.toml; weighted to have them, the rows are as "),
        "{told}"
    );
    let table = told.split("\n\n").last().unwrap();
    for label in ["a mean ", "a sd ", "a 50 % ", "b mean ", "site = 0 ", "a with b "] {
        assert!(table.lines().any(|line| line.starts_with(label)), "{label}: {table}");
    }
    let all = json["published"]["numbers"].as_array().unwrap();
    assert_eq!((all.len(), &json["published"]["file"]), (9, &"table.toml".into()));
    for one in all {
        assert!(one["error"].as_f64().unwrap().abs() < 0.01, "{one}");
        assert!(one["n"] == 250.0);
    }
    // All shares of a column but the last have a function of their own.
    assert_eq!(all.iter().filter(|one| one["standard_errors"].is_null()).count(), 1);
    let chosen = columns(&desk.read("o.csv"), &["a", "b", "site"]);
    assert!((mean(&chosen, 0, None) - 0.35).abs() < 0.01 && (mean(&chosen, 1, None) + 0.1).abs() < 0.01);
    assert_eq!(chosen.iter().filter(|row| row[2] == 0.0).count(), 50);
    let (exact, _) = summary(&desk, &format!("{words} --weights calibrated"));
    for one in exact["published"]["numbers"].as_array().unwrap() {
        let miss = one["reached"].as_f64().unwrap() - one["published"].as_f64().unwrap();
        assert!(one["number"] == "quantile" || miss.abs() < 1e-9, "{one}");
    }
    let (_, page) = desk.ran(&format!("{words} --report r.html"));
    assert!(desk.read("r.html").contains("published") && !page.is_empty());
}

#[test]
fn summaries_that_cannot_be_matched_are_refused() {
    let desk = desk();
    desk.write("table.toml", TABLE);
    let words = "thin pool.csv -n 5 --columns a,b,site --match-summary";
    for (flags, said) in [
        ("none.toml", "none.toml"),
        ("table.toml --match target.csv", "cannot be used with"),
        ("table.toml --pool-rows 100", "--match-summary needs all rows in memory"),
        ("table.toml --scores target.csv", "--match-summary cannot be used with scores"),
        ("table.toml --each site", "--match-summary cannot be used with --each"),
        ("table.toml --json table.toml", "--json and the input are the same file"),
    ] {
        let told = refused(&desk, &format!("{words} {flags}"));
        assert!(told.contains(said), "{flags}: {told}");
    }
    let auto = refused(&desk, "thin pool.csv -n auto --columns a,b,site --match-summary table.toml");
    assert!(auto.contains("-n auto cannot be used with another target"), "{auto}");
    for (table, said) in [
        (
            "[columns.q]\nmean = 1\n",
            "--match-summary: the summary has a column 'q', but the rows are matched by a, b, site",
        ),
        ("[columns.a]\nmedian = 1\n", "bad.toml: line 2, column 1: unknown field `median`"),
        ("[columns.a]\nmean = 90\n", "the mean of column 'a' is 90, but the rows to choose from have "),
        ("[columns.a]\nsd = 1\n", "the sd of column 'a' needs the mean of column 'a' too; give both"),
        ("[columns.site]\nshares = { 0 = 0.5 }\n", "the shares of column 'site' sum to 0.500, not to 1"),
        ("", "the summary has no numbers"),
        ("a = ", "bad.toml: line 1"),
    ] {
        desk.write("bad.toml", table);
        let told = refused(&desk, &format!("{words} bad.toml"));
        assert!(told.contains(said), "{table}: {told}");
    }
}
