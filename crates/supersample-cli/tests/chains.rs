//! How accurate the draws themselves are, and `-n auto`.

use serde_json::Value;

use crate::desk::{Desk, json};

/// Two columns of chains, one after the other: rows that follow each other are alike, by fixed numbers.
fn rows(chains: usize, draws: usize, moved: f64) -> Vec<(usize, f64, f64)> {
    let mut rows = Vec::new();
    for chain in 0..chains {
        let (mut x, mut y) = (0.0, 0.0);
        for draw in 0..draws {
            let i = (chain * draws + draw) as f64;
            let noise =
                |rate: f64| (i * rate).fract() + (i * rate * 1.7).fract() + (i * rate * 2.9).fract() - 1.5;
            (x, y) = (0.7 * x + noise(0.754_877_666), 0.7 * y + noise(0.569_840_290));
            rows.push((chain + 1, x + moved * (chain % 2) as f64, y));
        }
    }
    rows
}

fn table(rows: &[(usize, f64, f64)], has_chain: bool) -> String {
    let line = |(chain, x, y): &(usize, f64, f64)| match has_chain {
        true => format!("{chain},{x},{y}\n"),
        false => format!("{x},{y}\n"),
    };
    let head = if has_chain { ".chain,x,y\n" } else { "x,y\n" };
    head.to_string() + &rows.iter().map(line).collect::<String>()
}

fn draws(desk: &Desk, words: &str) -> (Value, String) {
    let (_, summary) = desk.ran(&format!("{words} -n 20 -o out.csv --json s.json"));
    (json(desk, "s.json")["draws"].clone(), summary)
}

#[test]
fn chains_come_from_files_a_column_and_shapes() {
    let desk = Desk::new();
    let all = rows(2, 300, 0.0);
    desk.write("one.csv", table(&all[..300], false));
    desk.write("two.csv", table(&all[300..], false));
    desk.write("both.csv", table(&all, true));
    desk.write("plain.csv", table(&all, false));
    let mixed: Vec<_> = (0..300).flat_map(|i| [all[i], all[300 + i]]).collect();
    desk.write("mixed.csv", table(&mixed, true));
    let (files, summary) = draws(&desk, "thin one.csv two.csv");
    assert_eq!(
        (&files["chains"], &files["chains_assumed"], &files["count"]),
        (&2.into(), &false.into(), &600.into())
    );
    assert!(summary.contains("\nall 600 draws are as accurate as "), "{summary}");
    assert!(summary.contains(" independent ones (kernel ESS); the 2 chains agree\n"), "{summary}");
    assert!(files["kernel_ess"].as_f64().unwrap() < 300.0, "{files}");
    for others in ["both.csv", "mixed.csv"] {
        let (found, _) = draws(&desk, &format!("thin {others}"));
        let ratio = found["kernel_ess"].as_f64().unwrap() / files["kernel_ess"].as_f64().unwrap();
        assert!(found["chains"] == 2 && (ratio - 1.0).abs() < 1e-6, "{others}: {found} {files}");
    }
    // Taken as one chain, which the line says.
    let (plain, summary) = draws(&desk, "herd plain.csv");
    assert_eq!((&plain["chains"], &plain["chains_assumed"]), (&1.into(), &true.into()));
    assert!(
        summary.contains("all 600 rows, taken as one chain in this order, are as accurate as "),
        "{summary}"
    );
    // The number of the posterior adds the errors up, and no result exceeds the draws.
    let report = json(&desk, "s.json");
    let number = |value: &Value| value.as_f64().unwrap();
    let (file, posterior) =
        (number(&report["result"]["equivalent_draws"]), number(&report["result"]["posterior_draws"]));
    assert!((1.0 / posterior - 1.0 / file - 1.0 / number(&plain["kernel_ess"])).abs() < 1e-9);
    assert!(summary.contains("equivalent draws   of the posterior"), "{summary}");
    // By eval and info too.
    desk.ran("eval both.csv out.csv --json e.json");
    assert_eq!(json(&desk, "e.json")["draws"]["chains"], 2);
    let (told, _) = desk.ran("info both.csv --json i.json");
    assert!(String::from_utf8(told).unwrap().contains("all 600 draws are as accurate as "));
    assert_eq!(json(&desk, "i.json")["draws"]["kernel_ess"], json(&desk, "e.json")["draws"]["kernel_ess"]);
    desk.ran("thin both.csv -n 20 -o out.csv --report page.html -q");
    assert!(desk.read("page.html").contains("<p>All 600 draws are as accurate as "));
}

#[test]
fn chains_that_disagree_are_warned_of() {
    let desk = Desk::new();
    desk.write("apart.csv", table(&rows(2, 300, 5.0), true));
    let (found, summary) = draws(&desk, "thin apart.csv");
    assert!(found["disagreement"].as_f64().unwrap() > 10.0, "{found}");
    assert!(summary.contains("\nwarning: the 2 chains disagree: they differ "), "{summary}");
    desk.ran("eval apart.csv out.csv --json e.json");
    assert!(json(&desk, "e.json")["warnings"][0].as_str().unwrap().starts_with("the 2 chains disagree"));
    let (told, _) = desk.ran("info apart.csv");
    assert!(String::from_utf8(told).unwrap().contains("\nwarning: the 2 chains disagree"));
}

#[test]
fn chains_of_two_files_are_different_chains() {
    let desk = Desk::new();
    // Each file is one run of two chains, and the runs differ.
    let shifted: Vec<_> = rows(4, 150, 0.0).into_iter().map(|(chain, x, y)| (chain, x + 5.0, y)).collect();
    desk.write("first.csv", table(&rows(4, 150, 0.0), true));
    desk.write("second.csv", table(&shifted, true));
    let (found, summary) = draws(&desk, "thin first.csv second.csv");
    assert_eq!(found["chains"], 8);
    assert!(summary.contains("\nwarning: the 8 chains disagree: they differ "), "{summary}");
    assert!(!summary.contains("named more than once"), "{summary}");
    let (_, summary) = draws(&desk, "thin first.csv ./first.csv");
    assert!(
        summary.contains("note: ./first.csv is named more than once, and its rows count as often"),
        "{summary}"
    );
}

#[test]
fn a_column_of_chains_with_holes_is_said_not_to_be_used() {
    let desk = Desk::new();
    desk.write("d.csv", table(&rows(2, 50, 0.0), true).replacen("\n1,", "\n,", 1));
    let (found, summary) = draws(&desk, "thin d.csv");
    assert_eq!((&found["chains"], &found["chains_assumed"]), (&1.into(), &true.into()));
    assert!(summary.contains("note: the rows are taken as one chain: d.csv: row 1"), "{summary}");
    // Rows that are not in memory say why.
    desk.write("many.csv", table(&rows(2, 600, 0.0), true));
    let (found, summary) = draws(&desk, "thin many.csv --pool-rows 300");
    assert!(
        found.is_null() && summary.contains("how accurate the draws themselves are is not known: "),
        "{summary}"
    );
    let one = "x\n1\n2\n";
    desk.write("two.csv", one);
    desk.ran("herd two.csv -n 1 -o out.csv --json s.json");
    assert!(json(&desk, "s.json")["draws"].is_null());
}

#[test]
fn the_number_of_rows_can_follow_from_the_draws() {
    let desk = Desk::new();
    desk.write("d.csv", table(&rows(2, 300, 0.0), true));
    let (_, summary) = desk.ran("thin d.csv -n auto -o out.csv --json s.json --search 0");
    let report = json(&desk, "s.json");
    let count = report["result"]["count"].as_u64().unwrap();
    assert!(
        summary.contains(&format!("\n{count} rows are enough: they add at most 10 % to each error")),
        "{summary}"
    );
    assert_eq!(
        (&report["result"]["ended_by"], &report["result"]["goal_reached"]),
        (&"enough".into(), &true.into())
    );
    assert_eq!(report["result"]["asked"]["add"], 0.1);
    desk.ran("thin d.csv -n auto --add 0.4 -o out.csv --json t.json --search 0");
    assert!(json(&desk, "t.json")["result"]["count"].as_u64().unwrap() < count);
    // A second run, and one that goes on from a checkpoint, choose the same.
    desk.ran("thin d.csv -n auto -o again.csv --checkpoint c.bin --search 0 -q");
    desk.ran("thin d.csv -n auto -o third.csv --resume c.bin --search 0 -q");
    desk.ran("thin d.csv -n auto -o out.csv --search 0 -q");
    assert_eq!(
        (desk.read("again.csv"), desk.read("third.csv")),
        (desk.read("out.csv"), desk.read("out.csv"))
    );
    let refused = |words: &str| {
        let output = desk.run(words);
        assert_eq!(output.status.code(), Some(2), "{words}");
        String::from_utf8(output.stderr).unwrap()
    };
    for (words, said) in [
        ("herd d.csv -n auto", "-n auto cannot be used with a herded sequence; use thin, which chooses sets"),
        (
            "thin d.csv -n auto --tol 0.1",
            "-n auto cannot be used with a tolerance or a number of equivalent draws; leave these out",
        ),
        ("thin d.csv -n 10 --add 0.1", "--add cannot be used with a size other than auto; leave it out"),
        ("thin d.csv -n auto --add 0", "--add is 0; give a positive part of the error, such as 0.1"),
        ("thin d.csv -n auto --stratify chain --quota 1=3,2=3", "the number of rows is fixed by --quota"),
        ("thin d.csv -n many", "write a whole number of at least 1, or auto"),
        ("thin d.csv -n auto --pool-rows 100", "needs all rows in memory"),
    ] {
        let told = refused(words);
        assert!(told.contains(said), "{words}: {told}");
    }
    desk.write("same.csv", "x\n1\n1\n1\n1\n1\n");
    assert!(refused("thin same.csv -n auto").contains(
        "-n auto needs the errors of the draws, which are not known: all rows are the same; give a number"
    ));
}
