//! Marginals and functions: what is matched beside the joint distribution, how it is told, and what is refused.

use serde_json::Value;

use crate::desk::Desk;

/// Draws of two parameters and two functions of them; row 7 lacks a parameter and row 11 a function where `holes` is set.
fn table(holes: bool) -> Vec<[String; 5]> {
    let one = |i: usize| {
        let (a, b) =
            ((i as f64 * 0.7).sin() + 0.1 * (i % 7) as f64, (i as f64 * 1.3).cos() * (1.0 + (i % 3) as f64));
        let mut cells =
            [a, b, (a * b).exp(), a * a - b, 1.0 + (i % 5) as f64].map(|value| format!("{value:.6}"));
        if holes && i == 7 {
            cells[1] = "NA".to_string();
        }
        if holes && i == 11 {
            cells[2] = String::new();
        }
        cells
    };
    (0..300).map(one).collect()
}

fn csv(names: &str, rows: &[[String; 5]], columns: &[usize]) -> String {
    let line =
        |row: &[String; 5]| columns.iter().map(|&j| row[j].as_str()).collect::<Vec<_>>().join(",") + "\n";
    format!("{names}\n") + &rows.iter().map(line).collect::<String>()
}

/// A desk with the draws, with the functions among them and apart.
fn with_functions() -> Desk {
    let (desk, rows) = (Desk::new(), table(false));
    desk.write("all.csv", csv("a,b,y.1,y.2,w", &rows, &[0, 1, 2, 3, 4]));
    desk.write("draws.csv", csv("a,b,w", &rows, &[0, 1, 4]));
    desk.write("functions.csv", csv("y.1,y.2", &rows, &[2, 3]));
    desk
}

fn summary(desk: &Desk, words: &str) -> (Value, String) {
    let (_, told) = desk.ran(&format!("{words} --json s.json"));
    (serde_json::from_str(&desk.read("s.json")).unwrap(), told)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[track_caller]
fn refused(desk: &Desk, words: &str) -> String {
    let output = desk.run(words);
    assert_eq!(output.status.code(), Some(2), "{words}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn thin_matches_marginals_and_herd_only_when_told() {
    let desk = with_functions();
    let run = |words: &str| summary(&desk, &format!("{words} draws.csv -n 20 --exclude w -o o.csv"));
    let (thin, told) = run("thin");
    let weights = serde_json::json!({ "joint": 1.0, "marginals": 0.1, "moments": 0.08, "functions": 0.0, "log_density": 0.0 });
    assert_eq!(thin["objective"], weights);
    assert!(told.contains("\nobjective: joint MMD + 0.1 × marginals + 0.08 × moments; MMD 0."), "{told}");
    let (alone, told) = run("thin --marginals 0 --moments 0");
    assert!(!told.contains("objective") && alone["result"]["refinement"]["objective"].is_null(), "{told}");
    let cdf = |summary: &Value| number(&summary["result"]["errors"]["cdf"]);
    assert!(cdf(&thin) < 0.8 * cdf(&alone), "{} {}", cdf(&thin), cdf(&alone));
    // The MMD is that of the joint part with either.
    assert!(number(&alone["result"]["mmd"]) < number(&thin["result"]["mmd"]));
    assert!(cdf(&thin) < number(&thin["random"]["errors"]["cdf"]));
    let stages = &thin["result"]["refinement"]["objective"];
    assert!(number(&stages["before"]) > number(&stages["swapped"]), "{stages}");
    assert!(number(&stages["swapped"]) >= number(&stages["searched"]), "{stages}");
    let (herd, told) = run("herd");
    assert!(!told.contains("objective") && herd["objective"]["marginals"] == 0.0, "{told}");
    let (more, _) = run("herd --marginals 1");
    assert!(cdf(&more) < cdf(&herd) && more["result"]["rows"] != herd["result"]["rows"]);
}

#[test]
fn functions_are_matched_and_take_no_part_in_distances() {
    let desk = with_functions();
    let flags = "-n 15 -o o.csv --exclude w";
    let (plain, _) = summary(&desk, &format!("thin draws.csv {flags}"));
    let (named, told) = summary(&desk, &format!("thin all.csv {flags} --functions y"));
    assert!(
        told.contains(
            "\nfunctions: y.1, y.2\nobjective: joint MMD + 0.1 × marginals + 0.08 × moments + 1 × functions; MMD 0."
        ),
        "{told}"
    );
    assert!(told.contains("correlation   functions error\n"), "{told}");
    assert_eq!(named["input"]["functions"], serde_json::json!(["y.1", "y.2"]));
    assert_eq!(
        (&named["input"]["parameters"], &named["kernel"]),
        (&plain["input"]["parameters"], &plain["kernel"])
    );
    // All columns go out, and eval says the same of them, by columns and by numbers.
    assert!(desk.read("o.csv").starts_with("a,b,y.1,y.2,w,"));
    let (subset, told) = summary(&desk, "eval all.csv o.csv --exclude w --functions y*");
    assert!(told.contains("\nfunctions: y.1, y.2\n") && !told.contains("objective"), "{told}");
    let error = |summary: &Value| number(&summary["result"]["errors"]["functions_error"]);
    assert!((error(&subset) - error(&named)).abs() < 1e-12 && subset["objective"].is_null());
    assert!(error(&named) < 0.5 * number(&named["random"]["errors"]["functions_error"]));
    desk.ran("thin draws.csv -n 15 --exclude w -o plain.csv --indices plain.txt");
    let (others, _) = summary(&desk, "eval all.csv plain.txt --exclude w --functions y.1,y.2");
    assert!(error(&named) < 0.5 * error(&others), "{} {}", error(&named), error(&others));
    // More weight, less error.
    let (heavy, _) = summary(&desk, &format!("thin all.csv {flags} --functions y --functions-weight 50"));
    assert!(error(&heavy) < error(&named));
    // Both kinds of weights, and a sequence.
    for verb in ["thin --weights simplex", "herd --unique --weights signed", "herd --marginals 0.4"] {
        let (weighted, _) =
            summary(&desk, &format!("{verb} all.csv -n 15 -o o.csv --weight-column w --functions y"));
        assert!(error(&weighted) < number(&weighted["random"]["errors"]["functions_error"]), "{verb}");
    }
}

#[test]
fn in_a_common_unit_what_varies_most_counts_most_and_a_constant_may_be_among_them() {
    let desk = Desk::new();
    let row = |i: usize| {
        let [a, b, c] = [0.7, 1.3, 2.9].map(|rate| (i as f64 * rate).sin());
        format!("{a},{b},{},{},5\n", (a + b).powi(3), 0.01 * (c + 2.0 * a * b).exp())
    };
    desk.write("all.csv", format!("a,b,large,small,same\n{}", (0..300).map(row).collect::<String>()));
    let run = "thin all.csv -n 15 -o o.csv --functions large,small,same --functions-weight 20";
    // In units of their own a constant does not count either.
    let (each, _) = summary(&desk, run);
    let (without, _) = summary(&desk, &format!("{} --exclude same", run.replace(",same", "")));
    let [with, without] = [&each, &without].map(|one| number(&one["result"]["errors"]["functions_error"]));
    assert!((with / without - 1.0).abs() < 1e-3, "{with} and {without}");
    let (common, told) = summary(&desk, &format!("{run} --functions-unit common"));
    assert!(told.contains("\nfunctions: large, small, same, scaled by a pooled sd\n"), "{told}");
    assert_eq!(common["input"]["functions_unit"], "common");
    let (each, _) = summary(
        &desk,
        "thin all.csv -n 15 -o e.csv --exclude same --functions large,small --functions-weight 20",
    );
    assert_eq!(each["input"]["functions_unit"], "each");
    let error = |file: &str, name: &str| {
        let flags = format!("--columns a,b --functions {name}");
        number(
            &summary(&desk, &format!("eval all.csv {file} {flags}")).0["result"]["errors"]["functions_error"],
        )
    };
    assert!(error("o.csv", "large") < error("e.csv", "large"));
    assert!(error("o.csv", "small") > error("e.csv", "small"));
}

#[test]
fn a_file_of_functions_is_as_good_as_columns_with_weights_and_missing_values() {
    let desk = with_functions();
    let rows = table(true);
    // In a file of their own functions cannot be missing, so only the row without a parameter goes.
    let mut apart = table(true);
    apart[11][2] = "5.5".to_string();
    desk.write("holes.csv", csv("a,b,y.1,y.2,w", &apart, &[0, 1, 2, 3, 4]));
    desk.write("draws_holes.csv", csv("a,b,w", &apart, &[0, 1, 4]));
    desk.write("functions_holes.csv", csv("y.1,y.2", &apart, &[2, 3]));
    let flags = "-n 12 --weight-column w --drop-na -o o.csv --indices i.txt";
    let (columns, _) = summary(&desk, &format!("thin holes.csv --functions y.1,y.2 {flags}"));
    let chosen = desk.read("i.txt");
    let (file, told) =
        summary(&desk, &format!("thin draws_holes.csv --functions-file functions_holes.csv {flags}"));
    assert_eq!((desk.read("i.txt"), &file["result"]["errors"]), (chosen, &columns["result"]["errors"]));
    assert!(
        told.contains("1 of 300 rows has a missing value") && told.contains("functions: y.1, y.2\n"),
        "{told}"
    );
    // Half of each is the same again, in another order of the functions.
    desk.write("half.csv", csv("a,b,y.2,w", &apart, &[0, 1, 3, 4]));
    desk.write("other_half.csv", csv("y.1", &apart, &[2]));
    let (halves, _) =
        summary(&desk, &format!("thin half.csv --functions y.2 --functions-file other_half.csv {flags}"));
    assert_eq!(halves["result"]["rows"], file["result"]["rows"]);
    assert_eq!(halves["input"]["functions"], serde_json::json!(["y.2", "y.1"]));
    // With --drop-na a row without a function goes as well.
    desk.write("both.csv", csv("a,b,y.1,y.2,w", &rows, &[0, 1, 2, 3, 4]));
    let (both, _) = summary(&desk, "thin both.csv -n 5 --functions y --exclude w --drop-na -o o.csv");
    assert_eq!(both["input"]["missing_left_out"], 2);
    // The subset of a run with a file of functions says which rows it has.
    let flags = "--functions-file functions_holes.csv --drop-na --weight-column w";
    desk.ran(&format!("thin draws_holes.csv -n 12 {flags} -o o.csv"));
    let (found, _) = summary(&desk, &format!("eval draws_holes.csv o.csv {flags}"));
    let error = number(&found["result"]["errors"]["functions_error"]);
    assert!((error - number(&file["result"]["errors"]["functions_error"])).abs() < 1e-12);
    desk.write("bare.csv", "a,b\n0.1,0.2\n");
    let message = refused(&desk, &format!("eval draws_holes.csv bare.csv {flags}"));
    assert!(message.contains("the subset: its functions are not known;"), "{message}");
}

#[test]
fn functions_that_cannot_be_are_refused_before_the_work() {
    let desk = with_functions();
    desk.write("short.csv", "y\n1\n2\n");
    desk.write("text.csv", csv("y,note", &table(false), &[2, 3]).replace("y,note\n", "note,y\nx,1\n"));
    let rows = table(false);
    let lines = |line: &str, at: usize| {
        let body = rows
            .iter()
            .enumerate()
            .map(|(i, row)| if i == at { format!("{line}\n") } else { format!("{}\n", row[2]) });
        format!("y\n{}", body.collect::<String>())
    };
    desk.write("nan.csv", lines("nan", 3));
    desk.write("empty.csv", lines("\"\"", 4));
    desk.write("word.csv", lines("x", 5));
    desk.write("flat.csv", format!("k\n{}", "2\n".repeat(rows.len())));
    let words = |file: &str| refused(&desk, &format!("thin draws.csv -n 5 --functions-file {file}"));
    for (file, told) in [
        (
            "short.csv",
            "short.csv: there are 2 rows, but the draws have 300 rows; write one row of functions for each row",
        ),
        ("nan.csv", "nan.csv: row 4 (line 5), column 'y' is nan; every function needs a number in every row"),
        (
            "empty.csv",
            "empty.csv: row 5 (line 6), column 'y' is empty; every function needs a number in every row",
        ),
        (
            "word.csv",
            "word.csv: row 6 (line 7), column 'y' is 'x', not a number; every function needs a number",
        ),
        ("flat.csv", "function 'k' is constant on all rows of positive weight"),
        ("missing.csv", "missing.csv: the file cannot be read"),
        (
            "text.csv",
            "text.csv: row 1 (line 2), column 'note' is 'x', not a number; every function needs a number",
        ),
    ] {
        let message = words(file);
        assert!(message.contains(told), "{file}: {message}");
    }
    let mut rows = table(true);
    rows[7][1] = "0.5".to_string();
    desk.write("holes.csv", csv("a,b,y,k,note", &rows, &[0, 1, 2, 3, 4]));
    for (flags, told) in [
        (
            "--functions y",
            "row 12 (line 13), column 'y' is empty; fill it in, leave such rows out with --drop-na",
        ),
        ("--functions z", "there is no column 'z'; the columns are a, b, y, k, note"),
        ("--functions y --columns a,y", "column 'y' is a function, which distances do not use"),
        ("--functions y --exclude y", "every function is also excluded"),
        ("--functions y --weight-column y", "column 'y' holds the weights and cannot be a function as well"),
        ("--functions y,y", "column 'y' is listed twice"),
        ("--functions-weight 2", "--functions-weight has no effect without functions"),
        ("--functions y --functions-weight 0", "--functions-weight is 0; give a positive number"),
        ("--functions-unit common", "--functions-unit has no effect without functions"),
        ("--functions y --functions-unit sd", "[possible values: each, common]"),
        ("--marginals -0.1", "--marginals is -0.1; give a number of at least 0"),
        ("--marginals nan", "--marginals is NaN; give a number of at least 0"),
        ("--marginals x", "write a number, as in 0.02"),
    ] {
        let message = refused(&desk, &format!("thin holes.csv -n 5 {flags}"));
        assert!(message.contains(told), "{flags}: {message}");
    }
    assert_eq!(desk.files().iter().filter(|name| name.starts_with('.')).count(), 0);
}

#[test]
fn checkpoints_know_their_parts() {
    let desk = with_functions();
    let run = "thin all.csv -n 10 --exclude w -o o.csv --checkpoint c";
    desk.ran(&format!("{run} --functions y"));
    desk.ran(&format!("{run} --functions y"));
    for other in [
        "",
        "--functions y.1",
        "--functions y --functions-weight 2",
        "--functions y --functions-unit common",
        "--functions y --marginals 0.3 --moments 0.2",
    ] {
        let message = refused(&desk, &format!("{run} {other}"));
        assert!(message.contains("the checkpoint belongs to other data"), "{other}: {message}");
    }
    let rows = |words: &str| {
        desk.ran(&format!("{words} --indices i.txt"));
        desk.read("i.txt")
    };
    let whole = rows("herd all.csv -n 30 --exclude w -o o.csv --functions y --marginals 0.4 --moments 0.3");
    desk.ran(
        "herd all.csv -n 10 --exclude w -o o.csv --functions y --marginals 0.4 --moments 0.3 --checkpoint h",
    );
    let resumed = rows(
        "herd all.csv -n 30 --exclude w -o o.csv --functions y --marginals 0.4 --moments 0.3 --resume h",
    );
    assert_eq!(whole, resumed);
}

#[test]
fn info_and_the_page_tell_of_functions() {
    let desk = with_functions();
    let (told, _) = desk.ran("info draws.csv --exclude w --functions-file functions.csv");
    let told = String::from_utf8(told).unwrap();
    assert!(told.contains("\nfunctions: 2 (y.1, y.2)\n"), "{told}");
    let (told, _) = desk.ran("info all.csv --exclude w --functions y --json -");
    let told: Value = serde_json::from_str(&String::from_utf8(told).unwrap()).unwrap();
    assert_eq!(
        (&told["functions"], &told["columns"][2]["use"]),
        (&serde_json::json!(["y.1", "y.2"]), &"function".into())
    );
    desk.ran("thin all.csv -n 10 --exclude w --functions y -o o.csv --report r.html");
    let page = desk.read("r.html");
    for part in [
        "Objective: joint MMD + 0.1 × marginals + 0.08 × moments + 1 × functions; MMD 0.",
        "Means, standard deviations and quantiles",
        "distribution function of a",
        "data-t=\"10\"",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn functions_in_another_order_are_found_by_the_ids_of_both_files() {
    let (desk, rows) = (Desk::new(), table(false));
    let numbered = |names: &str, columns: &[usize], order: &[usize]| {
        let line = |&i: &usize| {
            let cells = columns.iter().map(|&j| rows[i][j].as_str()).collect::<Vec<_>>().join(",");
            format!("{},{},{cells}\n", 1 + i / 100, 1 + i % 100)
        };
        format!("chain,draw,{names}\n") + &order.iter().map(line).collect::<String>()
    };
    let in_order: Vec<usize> = (0..300).collect();
    let by_draw: Vec<usize> = (0..100).flat_map(|draw| [draw, 100 + draw, 200 + draw]).collect();
    desk.write("d.csv", numbered("a,b", &[0, 1], &in_order));
    desk.write("same.csv", numbered("y.1,y.2", &[2, 3], &in_order));
    desk.write("other.csv", numbered("y.1,y.2", &[2, 3], &by_draw));
    let (same, _) = summary(&desk, "herd d.csv -n 12 -o o.csv --functions-file same.csv");
    let (other, told) = summary(&desk, "herd d.csv -n 12 -o o.csv --functions-file other.csv");
    assert_eq!(same["result"], other["result"]);
    assert!(
        told.contains("note: the functions: rows are matched by chain and draw, not by their order"),
        "{told}"
    );
    assert!(told.contains("note: the functions: not used: chain, draw"), "{told}");
    // Twice the same ids: nobody knows which is which.
    desk.write("twice.csv", desk.read("other.csv").replace("\n2,1,", "\n1,1,"));
    let refused = desk.refused("d.csv -n 12 --functions-file twice.csv");
    assert!(
        refused.contains("its rows are in another order than the draws: row 2 has chain, draw 1, 1"),
        "{refused}"
    );
}

#[test]
fn functions_that_are_ids_or_named_twice_are_refused() {
    let desk = with_functions();
    desk.write(
        "ids.csv",
        "row,lp__\n".to_string() + &(0..300).map(|i| format!("{i},{i}\n")).collect::<String>(),
    );
    let refused = desk.refused("draws.csv -n 5 --functions-file ids.csv");
    assert!(refused.contains("no column is a function: each is an id, weights or not numbers"), "{refused}");
    let refused = desk.refused("all.csv -n 5 --functions y.1 --functions-file functions.csv");
    assert_eq!(refused, "function 'y.1' is in --functions and in --functions-file; name it once");
}
