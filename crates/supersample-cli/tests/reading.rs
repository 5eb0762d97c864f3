//! What is assumed about a file and what can be said about it: notes, missing values, shapes, patterns, `info`.

use crate::desk::{Desk, json, numbers, posterior};

/// Sixty rows, of which every seventh from the fourth on has no `a`, with an id and a weight that is 0 once.
fn with_holes(desk: &Desk) {
    let mut text = String::from("iter,a,b,w\n");
    for i in 0..60 {
        let (a, b) = ((i as f64 * 0.7).sin(), (i as f64 * 1.9).cos());
        let a = if i % 7 == 3 { "NA".to_string() } else { a.to_string() };
        text += &format!("{},{a},{b},{}\n", i + 1, if i == 12 { 0 } else { 1 });
    }
    desk.write("holes.csv", text);
}

#[test]
fn what_is_assumed_is_said_in_all_reports() {
    let desk = Desk::new();
    with_holes(&desk);
    let (_, summary) =
        desk.ran("herd holes.csv -n 4 --drop-na --weight-column w -o o.csv --json s.json --report r.html");
    let notes = [
        "9 of 60 rows have a missing value in a used column and are left out",
        "column 'iter' is used, but looks like an id, not a parameter; leave out with --exclude iter",
        "1 row has weight 0 and cannot be chosen",
    ];
    for note in notes {
        assert!(summary.contains(&format!("\nnote: {note}\n")), "{summary}");
    }
    let report = json(&desk, "s.json");
    let told = report["notes"].as_array().unwrap();
    assert_eq!(told.iter().map(|note| note.as_str().unwrap()).collect::<Vec<_>>(), notes);
    assert_eq!(report["input"]["missing_left_out"], 9);
    assert!(report["instruction_set"].is_string() && report["warnings"].as_array().unwrap().is_empty());
    assert!(desk.read("r.html").contains("<p>Note: 1 row has weight 0 and cannot be chosen.</p>"));
    // What an output cannot hold is said as well, and eval has notes too.
    desk.write("t.csv", "x,note\n1,a\n2,b\n3,c\n4,d\n");
    let (_, summary) = desk.ran("herd t.csv -n 2 -o o.npy");
    assert!(summary.contains("\nnote: column 'note' is not used: not numeric\n"), "{summary}");
    let days = (0..10_i64).flat_map(|i| [(i as f64).sin().to_le_bytes(), i.to_le_bytes()]);
    desk.write("days.npy", npy_of("[('mu', '<f8'), ('day', '<M8[D]')]", "(10,)", days));
    let (_, summary) = desk.ran("herd days.npy -n 2 -o o2.csv");
    assert!(
        summary.contains("\nnote: column 'day' is not written, because csv cannot store such cells\n"),
        "{summary}"
    );
    let (_, summary) = desk.ran("eval holes.csv o.csv --drop-na --weight-column w");
    assert!(summary.contains("\nnote: column 'iter' is used"), "{summary}");
}

#[test]
fn rows_keep_the_numbers_of_the_file_where_some_are_left_out() {
    let desk = Desk::new();
    with_holes(&desk);
    assert!(desk.refused("holes.csv -n 4").contains("column 'a'"));
    let flags = "holes.csv --drop-na --columns a,b";
    desk.ran(&format!("herd {flags} -n 50 --unique -q -o o.csv --indices i.txt --trace t.csv --json s.json"));
    let rows = numbers(&desk.read("i.txt"));
    assert!(rows.iter().all(|row| row % 7 != 3) && rows.iter().any(|&row| row > 52), "{rows:?}");
    // The column iter counts the rows of the file from 1, and the column row, which is the last, from 0.
    let cells = |name: &str, at: usize| -> Vec<usize> {
        let text = desk.read(name);
        let cell = |line: &str| line.split(',').nth(at).unwrap().parse::<f64>().unwrap() as usize;
        text.lines().skip(1).map(cell).collect()
    };
    let head = desk.read("o.csv").lines().next().unwrap().split(',').count();
    assert_eq!((cells("o.csv", head - 1), cells("t.csv", 1)), (rows.clone(), rows.clone()));
    assert_eq!(cells("o.csv", 0), rows.iter().map(|row| row + 1).collect::<Vec<_>>());
    let report = json(&desk, "s.json");
    let told: Vec<u64> =
        report["result"]["rows"].as_array().unwrap().iter().map(|row| row.as_u64().unwrap()).collect();
    assert_eq!(told, rows.iter().map(|&row| row as u64).collect::<Vec<_>>());
    // Back in by their numbers they are the same subset.
    desk.ran(&format!("eval {flags} i.txt -q --json e.json"));
    let mmd = |name: &str| json(&desk, name)["result"]["mmd"].as_f64().unwrap();
    assert!((mmd("e.json") - mmd("s.json")).abs() < 1e-9);
    desk.write("hole.txt", "5\n3\n");
    let refused = desk.run(&format!("eval {flags} hole.txt"));
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(
        message.contains("entry 2 is 3, a row with a missing value that --drop-na leaves out"),
        "{message}"
    );
    desk.ran(&format!(
        "thin {flags} -n 5 --include-rows 58,4 --exclude-rows 3,5 -q -o o.csv --indices i.txt"
    ));
    let rows = numbers(&desk.read("i.txt"));
    assert!(rows.contains(&58) && rows.contains(&4) && !rows.contains(&5), "{rows:?}");
    let refused = desk.run(&format!("thin {flags} -n 5 --include-rows 3"));
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(message.contains("row 3 has a missing value and was left out by --drop-na"), "{message}");
}

#[test]
fn columns_are_named_by_patterns_and_lists_that_add_up() {
    let desk = Desk::new();
    desk.write("d.csv", posterior(80));
    let used = |flags: &str| {
        desk.ran(&format!("herd d.csv -n 3 -q -o o.csv --json s.json {flags}"));
        json(&desk, "s.json")["input"]["parameters"].to_string()
    };
    assert_eq!(used("--columns theta* --columns mu"), r#"["mu","theta.1","theta.2"]"#);
    assert_eq!(used("--columns theta,t* --exclude theta.? --exclude mu"), r#"["tau"]"#);
    let (_, summary) = desk.ran("herd d.csv -n 3 -o o.csv --scale mad --json s.json");
    assert!(summary.contains(", columns divided by 1.4826 × the median absolute deviation\n"), "{summary}");
    assert_eq!(json(&desk, "s.json")["scale"], "mad");
    assert_eq!(desk.refused("d.csv -n 3 --shape rows"), "--shape has no effect on csv files; leave it out");
    assert!(
        desk.refused("d.csv -n 3 --shape chains").starts_with("invalid value 'chains' for '--shape <AXES>'")
    );
    // Whole numbers may be written with an exponent, and --n is -n.
    assert_eq!(desk.done("d.csv --n 1e1 -q").0.lines().count(), 11);
}

/// An .npy of numbers of this shape.
fn npy(shape: &str, values: impl Iterator<Item = f64>) -> Vec<u8> {
    npy_of("'<f8'", shape, values.map(f64::to_le_bytes))
}

/// An .npy of cells of this type.
fn npy_of(descr: &str, shape: &str, cells: impl Iterator<Item = [u8; 8]>) -> Vec<u8> {
    let head = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}");
    let head = format!("{head:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((head.len() as u16).to_le_bytes());
    bytes.extend(head.as_bytes());
    cells.for_each(|cell| bytes.extend(cell));
    bytes
}

#[test]
fn shapes_of_arrays_can_be_said_and_vectors_of_numbers_are_rows() {
    let desk = Desk::new();
    let values = || (0..4 * 10 * 2).map(|i| (f64::from(i) * 0.7).sin());
    desk.write("a.npy", npy("(4, 10, 2)", values()));
    let about = |flags: &str| {
        let (_, summary) = desk.ran(&format!("herd a.npy -n 3 -o o.npy --json s.json {flags}"));
        let report = json(&desk, "s.json");
        (
            report["input"]["rows"].as_u64().unwrap(),
            report["input"]["parameters"].as_array().unwrap().len(),
            summary,
        )
    };
    assert_eq!((about("").0, about("").1), (40, 2));
    let (rows, parameters, summary) = about("--shape rows");
    assert_eq!((rows, parameters), (4, 20), "{summary}");
    assert_eq!((about("--shape draw,chain").0, about("--shape draw,chain").1), (40, 2));
    desk.write("m.npy", npy("(40, 2)", values()));
    desk.write("i.npy", npy("(3,)", [7.0, 0.0, 39.0].into_iter()));
    let (_, summary) = desk.ran("eval m.npy i.npy");
    assert!(summary.starts_with("compared 3 rows numbered in i.npy with all 40"), "{summary}");
}

#[test]
fn swapped_files_are_noticed() {
    let desk = Desk::new();
    desk.write("d.csv", posterior(80));
    desk.ran("herd d.csv -n 9 --unique -q -o best.csv");
    let (_, summary) = desk.ran("eval best.csv d.csv");
    assert!(
        summary.contains("\nwarning: d.csv has more rows than the draws, and all of theirs; "),
        "{summary}"
    );
    assert!(!desk.ran("eval d.csv best.csv").1.contains("warning: "));
    assert!(!desk.ran("eval d.csv d.csv").1.contains("warning: "));
}

#[test]
fn rows_of_one_point_are_told_from_rows_of_one_number() {
    let desk = Desk::new();
    let lines: Vec<String> = posterior(40).lines().map(str::to_string).collect();
    let twice: String = lines[1..].iter().map(|line| format!("{line}\n{line}\n")).collect();
    desk.write("chain.csv", format!("{}\n{twice}", lines[0]));
    let (_, summary) = desk.ran("thin chain.csv -n 60 -o o.csv --json s.json");
    let result = &json(&desk, "s.json")["result"];
    let points = result["distinct_points"].as_u64().unwrap();
    assert!(result["distinct"] == 60 && (30..=40).contains(&points), "{result}");
    assert!(summary.starts_with(&format!("chose 60 of 80 rows ({points} distinct points) by ")), "{summary}");
}

#[test]
fn info_says_what_files_hold_and_what_a_run_would_take() {
    let desk = Desk::new();
    with_holes(&desk);
    let (text, nothing) = desk.ran("info holes.csv --columns a,b");
    let text = String::from_utf8(text).unwrap();
    assert!(nothing.is_empty() && text.starts_with("holes.csv (csv): 60 rows in 1 chain\n"), "{text}");
    for line in [
        "used: 2 parameters (a, b)\n",
        "not used: iter (not selected), w (not selected)\n",
        "missing values: a 9; in 9 rows: a run would stop with an error; drop these rows with --drop-na\n",
        "memory: about 28.0 MiB to herd or evaluate\n",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert!(!text.contains("work: "), "{text}");
    let (text, _) = desk.ran("info holes.csv holes.csv --columns a,b --drop-na --json i.json");
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("\nwork: 5,151 pairs of rows to compare\n"), "{text}");
    let told = json(&desk, "i.json");
    let known = (&told["rows"], &told["chains"], &told["incomplete_rows"], &told["columns"][1]["missing"]);
    assert_eq!(known, (&120.into(), &2.into(), &18.into(), &18.into()));
    assert_eq!(
        (&told["columns"][0]["use"], &told["columns"][0]["used"]),
        (&"not selected".into(), &false.into())
    );
    assert_eq!(told["work"]["pairs"], 102.0 * 101.0 / 2.0);
    assert!(told["memory_bytes"].is_number());
    assert!(told["work"]["landmarks"].is_null());
    let (text, _) = desk.ran("info holes.csv --json -");
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&text).unwrap()["verb"], "info");
}

#[test]
fn info_foresees_landmarks_where_a_run_would_use_them() {
    let desk = Desk::new();
    let rows: String = (0..100_001).map(|i| format!("{}\n", (f64::from(i) * 0.7).sin())).collect();
    desk.write("many.csv", format!("x\n{rows}"));
    let (text, _) = desk.ran("info many.csv --json i.json");
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("\nwork: 100,001 rows to compare with 2,000 landmarks\n"), "{text}");
    let work = &json(&desk, "i.json")["work"];
    let pairs = 100_001.0 * (3000.0 + 2000.0);
    assert_eq!((&work["landmarks"], &work["pairs"]), (&2000.into(), &pairs.into()));
}
