//! The verb `eval`: subsets by columns, numbers and weights.

use crate::desk::{Desk, json, output, posterior};

#[test]
fn eval_says_of_a_subset_what_herd_says_of_its_own() {
    let desk = Desk::new();
    desk.write("d.csv", posterior(400));
    desk.ran("herd d.csv -n 25 -q -o best.csv --json h.json");
    let (nothing, summary) = desk.ran("eval d.csv best.csv --json e.json");
    assert!(nothing.is_empty());
    assert!(summary.starts_with("compared 25 rows of best.csv with all 400 by 4 parameters ("), "{summary}");
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
        assert!(summary.starts_with("compared 25 rows numbered in "), "{summary}");
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
fn large_draws_are_measured_as_exactly_as_small_ones() {
    // Enough rows for single precision, where the MMD of any points is put together differently.
    let desk = Desk::new();
    desk.write("d.csv", posterior(17_000));
    desk.ran("herd d.csv -n 40 -q -o best.csv --json h.json");
    desk.ran("eval d.csv best.csv -q --json mixed.json");
    desk.ran("eval d.csv best.csv --precision double -q --json double.json");
    let report = |name: &str| json(&desk, name);
    let mmd = |name: &str| report(name)["result"]["mmd"].as_f64().unwrap();
    let precision = |name: &str| report(name)["precision"].as_str().unwrap().to_string();
    assert_eq!((precision("mixed.json"), precision("double.json")), ("mixed".into(), "double".into()));
    assert!((mmd("mixed.json") / mmd("double.json") - 1.0).abs() < 1e-3);
    assert!((mmd("mixed.json") / mmd("h.json") - 1.0).abs() < 2e-3);
    assert_eq!(report("mixed.json")["parameters"], report("h.json")["parameters"]);
    // All of it against itself has no error.
    desk.ran("eval d.csv d.csv -q --json whole.json");
    assert!(mmd("whole.json") < 1e-6);
}

#[test]
fn thousands_of_columns_are_compared_but_for_their_correlations() {
    let desk = Desk::new();
    let line = |i: usize| {
        (0..1200).map(|j| ((i * 7 + j * j) as f64 * 0.37).sin().to_string()).collect::<Vec<_>>().join(",")
    };
    let head = (0..1200).map(|j| format!("x{j}")).collect::<Vec<_>>().join(",");
    desk.write("d.csv", format!("{head}\n{}", (0..30).map(|i| line(i) + "\n").collect::<String>()));
    let (_, summary) = desk.ran("herd d.csv -n 5 -o o.csv --json s.json");
    assert!(summary.contains("; correlations are compared for at most 1,000 parameters\n"), "{summary}");
    let report = json(&desk, "s.json");
    assert!(
        report["worst"]["correlation"].is_null() && report["result"]["errors"]["sd"].is_number(),
        "{report}"
    );
    assert_eq!(report["parameters"].as_array().unwrap().len(), 1200);
}

#[test]
fn a_mask_is_not_a_list_of_rows() {
    let desk = Desk::new();
    desk.write("d.csv", posterior(40));
    desk.write("mask", (0..40).map(|i| format!("{}\n", u8::from(i < 5))).collect::<String>());
    let output = desk.run("eval d.csv mask");
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("the 40 entries are all 0 or 1, as those of a mask are"), "{told}");
}

#[cfg(unix)]
#[test]
fn a_pipe_can_be_read_as_often_as_it_takes() {
    let desk = Desk::new();
    desk.write("d.csv", posterior(40));
    desk.write("i.txt", "3\n7\n11\n");
    desk.write("float.txt", "3.0\n7.000000000000000000e+00\n11\n");
    desk.ran("eval d.csv i.txt -q --json want.json");
    let binary = assert_cmd::cargo::cargo_bin!("supersample");
    let mmd = |name: &str| json(&desk, name)["result"]["mmd"].as_f64().unwrap();
    for feed in
        ["cat i.txt", "cat float.txt", "(echo row; cat i.txt)", "(echo row,weight; sed 's/$/,1/' i.txt)"]
    {
        let line = format!("{feed} | {} eval d.csv - -q --json got.json", binary.display());
        let done = output(std::process::Command::new("sh").current_dir(desk.folder()).args(["-c", &line]));
        assert!(done.status.success(), "{feed}: {}", String::from_utf8_lossy(&done.stderr));
        assert!((mmd("got.json") - mmd("want.json")).abs() < 1e-12, "{feed}");
    }
}

/// One value has 99 % of the rows, and every quantile that is compared is that value.
#[test]
fn quantiles_of_a_column_with_few_values_are_among_them() {
    let desk = Desk::new();
    let line = |i: usize| format!("{},{}\n", (i as f64 * 0.7).sin(), u8::from(i.is_multiple_of(100)));
    desk.write("d.csv", "x,div\n".to_string() + &(0..1000).map(line).collect::<String>());
    desk.write("i.txt", "1\n20\n77\n");
    desk.ran("eval d.csv i.txt -q --json s.json");
    let quantiles = &json(&desk, "s.json")["parameters"][1]["quantiles"];
    assert_eq!(quantiles, &serde_json::json!([0.0, 0.0, 0.0, 0.0, 0.0]));
}
