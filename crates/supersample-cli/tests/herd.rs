//! The verb `herd` as a user meets it: what is written where, and what is refused with which words.

use std::process::Stdio;

use assert_cmd::cargo::cargo_bin_cmd;

use crate::desk::{Desk, LIMIT, Running};

fn numbers(text: &str) -> Vec<usize> {
    text.lines().map(|line| line.parse().unwrap()).collect()
}

#[test]
fn chosen_rows_come_out_verbatim_in_the_order_of_the_indices() {
    let desk = Desk::with_draws();
    let (rows, summary) = desk.done("draws.csv -n 12 --exclude \"no,te\" --indices i.txt --trace t.csv");
    let draws = desk.read("draws.csv");
    let lines: Vec<&str> = draws.lines().collect();
    let indices = numbers(&desk.read("i.txt"));
    let with_row = |i: &usize| format!("{},{i}", lines[i + 1]);
    let expected: Vec<String> =
        std::iter::once(format!("{},row", lines[0])).chain(indices.iter().map(with_row)).collect();
    assert_eq!(rows, expected.join("\n") + "\n");
    assert_eq!(indices.len(), 12);

    let trace = desk.read("t.csv");
    let mut trace = trace.lines();
    assert_eq!(trace.next(), Some("t,row,error,weight_norm,margin"));
    let trace: Vec<Vec<&str>> = trace.map(|line| line.split(',').collect()).collect();
    assert_eq!(trace.len(), 12);
    for (t, (cells, row)) in trace.iter().zip(&indices).enumerate() {
        assert_eq!((cells.len(), cells[0], cells[1]), (5, &*(t + 1).to_string(), &*row.to_string()));
        assert!(cells[2].parse::<f64>().unwrap() > 0.0, "{cells:?}");
    }

    assert!(summary.starts_with("chose 12 of 60 rows"), "{summary}");
    assert!(
        summary.contains(" by 2 parameters (mu, tau; not used: .chain, draw, no,te, lp__)\n"),
        "{summary}"
    );
    for text in
        ["kernel gaussian, bandwidth ", "these 12 rows", "random 12 rows", "every 5th row", "worst error"]
    {
        assert!(summary.contains(text), "no {text:?} in:\n{summary}");
    }
}

#[test]
fn files_and_stdout_get_the_same_rows_and_quiet_says_nothing() {
    let desk = Desk::with_draws();
    let (rows, nothing) = desk.done("draws.csv -n 5 --columns mu -q");
    assert_eq!(nothing, "");
    assert_eq!(desk.done("draws.csv -n 5 --columns mu -o out.csv").0, "");
    assert_eq!(desk.read("out.csv"), rows);
    assert_eq!(desk.done("draws.csv -n 5 --columns mu -o - -q").0, rows);
    assert_eq!(desk.files(), ["draws.csv", "out.csv"]);
}

#[test]
fn the_first_rows_of_a_longer_run_are_a_shorter_run() {
    let desk = Desk::with_draws();
    let (short, _) = desk.done("draws.csv -n 5 --columns mu,tau -q");
    let (long, _) = desk.done("draws.csv -n 30 --columns mu,tau -q");
    assert!(long.starts_with(&short));
}

#[test]
fn every_kernel_runs_and_threads_do_not_matter() {
    let desk = Desk::with_draws();
    for kernel in ["gaussian", "laplace", "matern12", "matern32", "matern52", "imq", "linear"] {
        let run = |flags: &str| {
            let words = format!("draws.csv -n 20 --columns mu,tau --kernel {kernel} --trace t.csv {flags}");
            (desk.done(&words), desk.read("t.csv"))
        };
        assert_eq!(run("--threads 1"), run("--threads 2"), "{kernel}");
        assert_ne!(
            run("--threads 1").0,
            run("--scale none").0,
            "{kernel}: the summary must say how it was scaled"
        );
    }
}

#[test]
fn the_order_of_named_columns_does_not_matter() {
    let desk = Desk::with_draws();
    assert_eq!(desk.done("draws.csv -n 9 --columns mu,tau"), desk.done("draws.csv -n 9 --columns tau,mu"));
}

#[test]
fn ids_are_ignored_unless_named() {
    let desk = Desk::new();
    desk.write("a.csv", "chain,x\n1,5\n900,6\n1,7\n");
    desk.write("b.csv", "chain,x\n7,5\n7,6\n7,7\n");
    let indices = |words: &str| {
        desk.done(&format!("{words} -n 6 -q --indices i.txt"));
        numbers(&desk.read("i.txt"))
    };
    assert_eq!(indices("a.csv"), indices("b.csv"));
    assert_ne!(indices("a.csv --columns chain,x --scale none --bandwidth 1"), indices("b.csv"));
    let (_, summary) = desk.done("a.csv -n 2 --columns chain");
    assert!(summary.starts_with("chose 2 of 3 rows by 1 parameter (chain; not used: x)\n"), "{summary}");
}

#[test]
fn unique_ends_with_the_pool_and_says_so() {
    let desk = Desk::with_draws();
    let (rows, summary) = desk.done("draws.csv -n 500 --columns mu,tau --unique --indices i.txt");
    assert_eq!(rows.lines().count(), 61);
    let mut indices = numbers(&desk.read("i.txt"));
    indices.sort_unstable();
    assert_eq!(indices, (0..60).collect::<Vec<_>>());
    assert!(summary.contains("asked for 500, but only 60 rows can be chosen\n"), "{summary}");
    assert!(
        summary.contains("no comparison with random or evenly spaced rows: the file has 60 rows\n"),
        "{summary}"
    );
}

#[test]
fn more_rows_than_there_are_can_be_chosen_with_repeats() {
    let desk = Desk::with_draws();
    let (rows, summary) = desk.done("draws.csv -n 61 --columns mu,tau");
    assert_eq!(rows.lines().count(), 62);
    assert!(summary.starts_with("chose 61 times among 60 rows ("), "{summary}");
    assert!(!summary.contains("\nrandom"), "{summary}");
}

#[test]
fn the_smallest_and_the_flattest_files_work() {
    let desk = Desk::new();
    let run = |text: &str, number: usize| {
        desk.write("small.csv", text);
        desk.done(&format!("small.csv -n {number}"))
    };
    let (rows, summary) = run("x\n5\n", 3);
    assert_eq!(rows, "x,chain,draw,row\n5,1,1,0\n5,1,1,0\n5,1,1,0\n");
    assert!(summary.starts_with("chose 3 times among 1 row (1 distinct) by 1 parameter (x)\n"), "{summary}");
    assert!(summary.contains("constant columns, centred and not scaled: x\n"), "{summary}");

    let (rows, summary) = run("x\n1\n2\n3\n4\n5\n", 1);
    assert_eq!(rows, "x,chain,draw,row\n3,1,3,2\n");
    assert!(summary.contains("\nthis row ") && summary.contains("\nthe first row "), "{summary}");

    let (_, summary) = run("x,y\n1,7\n2,7\n3,7\n", 2);
    assert!(summary.contains("constant columns, centred and not scaled: y\n"), "{summary}");
    assert!(summary.contains("worst error") && !summary.contains("NaN"), "{summary}");

    let (rows, summary) = run("x,y\n0.1,7\n0.1,7\n0.1,7\n", 2);
    assert_eq!(rows, "x,y,chain,draw,row\n0.1,7,1,1,0\n0.1,7,1,1,0\n");
    assert!(summary.contains("mean, sd and quantiles of every parameter are those of all rows"), "{summary}");
    assert!(!summary.contains("NaN") && !summary.contains("inf"), "{summary}");
}

#[test]
fn files_that_cannot_be_used_are_refused_in_a_sentence() {
    let desk = Desk::new();
    assert_eq!(
        desk.refused("none.csv -n 1"),
        "none.csv: the file cannot be read: No such file or directory (os error 2)"
    );
    assert_eq!(desk.refused(". -n 1"), ".: this is a directory; name a file in it");
    let table =
        "the file is empty; it should have a header line with the column names and one line for each draw";
    assert_eq!(desk.refused_file(""), format!("bad.csv: {table}"));
    assert_eq!(
        desk.refused_file("a,b\n"),
        "bad.csv: the file has a header but no rows; at least one row of numbers is needed"
    );
    assert_eq!(
        desk.refused_file("a,b,a\n1,2,3\n"),
        "bad.csv: two columns are named 'a'; give every column a name of its own"
    );
    assert!(desk.refused_file(b"a\n\xff\n").starts_with("bad.csv: line 2 is not UTF-8 text;"));
    assert!(desk.refused_file("chain,draw\n1,2\n").starts_with("bad.csv: no column is left to use: "));
    assert!(desk.refused_file("a,b\nx,y\n").starts_with("bad.csv: no column is left to use: no cell"));
}

#[test]
fn bad_cells_are_refused_by_row_and_column() {
    let desk = Desk::new();
    let mut rows: Vec<String> = (0..1000).map(|i| format!("{i},{}", i * i)).collect();
    rows[811] = "811,NaN".to_string();
    assert_eq!(
        desk.refused_file(format!("mu,tau\n{}\n", rows.join("\n"))),
        "bad.csv: row 812 (line 813), column 'tau' is NaN; every value must be a finite number, so fix it, leave such \
         rows out with --drop-na, or leave the column out with --exclude tau"
    );
    assert!(
        desk.refused_file("a,b\n1,2\n3,-inf\n").starts_with("bad.csv: row 2 (line 3), column 'b' is -inf;")
    );
    assert_eq!(
        desk.refused_file("a,b\n1,2\n3,4,5\n"),
        "bad.csv: row 2 (line 3) has 3 fields, but the header has 2; fix that line or quote fields that contain the \
         separator"
    );
    assert_eq!(
        desk.refused_file("a,b\n1,2\n3,high\n"),
        "bad.csv: row 2 (line 3), column 'b' is 'high', not a number; fix it, or leave the column out with \
         --exclude b"
    );
    assert_eq!(
        desk.refused_file("a,b\n1,2\n1,\n"),
        "bad.csv: row 2 (line 3), column 'b' is empty; fill it in, leave such rows out with --drop-na, or the column \
         with --exclude b"
    );
}

#[test]
fn bad_flags_are_refused_in_a_sentence() {
    let desk = Desk::with_draws();
    let refused = |flags: &str| desk.refused(&format!("draws.csv --columns mu {flags}"));
    assert_eq!(refused("-n 0"), "-n is 0; ask for at least 1");
    assert!(refused("-n -3").starts_with("invalid value '-3' for '--number <T>'"));
    for (given, shown) in [("0", "0"), ("-1", "-1"), ("nan", "NaN")] {
        let refusal =
            format!("--bandwidth is {shown}; give a positive length in the units of the scaled columns");
        assert_eq!(refused(&format!("-n 1 --bandwidth {given}")), refusal);
    }
    assert_eq!(refused("-n 1 --bandwidth abc"), "--bandwidth 'abc' is neither a number nor the word median");
    assert!(refused("-n 1 --kernel linear --bandwidth median").contains("no effect on the linear kernel"));
    assert!(
        refused("-n 1 --kernel cosine")
            .contains("gaussian, laplace, matern12, matern32, matern52, imq, linear, energy")
    );
    assert!(refused("-n 1 --scale log").starts_with("invalid value 'log' for '--scale"));
    assert!(refused("-n 1 --threads 0").starts_with("--threads is 0;"));
    assert!(refused("-n 1 --exclude mu").contains("every column that is listed is also excluded"));
    assert_eq!(
        desk.refused("draws.csv -n 1 --columns mu,sigma"),
        "draws.csv: there is no column 'sigma'; the columns are .chain, draw, mu, tau, no,te, lp__"
    );
    assert!(desk.refused("draws.csv -n 1 --exclude mu,mu").contains("column 'mu' is listed twice;"));
    assert!(desk.refused("draws.csv -n 1 --columns mu,").contains("a name is empty"));
}

#[test]
fn outputs_never_overwrite_the_input_or_each_other() {
    let desk = Desk::with_draws();
    let before = desk.read("draws.csv");
    assert_eq!(
        desk.refused("draws.csv -n 1 --columns mu -o ./draws.csv"),
        "-o and the input are the same file, ./draws.csv; name another"
    );
    assert!(
        desk.refused("draws.csv -n 1 --columns mu --trace draws.csv").starts_with("--trace and the input")
    );
    assert!(
        desk.refused("draws.csv -n 1 --columns mu -o a --indices ./a").starts_with("--indices and -o are")
    );
    assert_eq!((desk.read("draws.csv"), desk.files()), (before, vec!["draws.csv".to_string()]));
}

#[test]
fn a_failure_leaves_old_files_untouched_and_nothing_behind() {
    let desk = Desk::with_draws();
    desk.write("out.csv", "precious\n");
    desk.write("bad.csv", "a\n1\nx\n");
    desk.refused("bad.csv -n 1 -o out.csv --indices i.txt --trace t.csv");
    assert_eq!((desk.read("out.csv").as_str(), desk.files().len()), ("precious\n", 3), "{:?}", desk.files());

    let folder = "draws.csv -n 1 --columns mu -o out.csv --trace";
    assert_eq!(
        desk.refused(&format!("{folder} nowhere/t.csv")),
        "nowhere/t.csv cannot be written: No such file or directory (os error 2)"
    );
    assert_eq!(
        desk.refused(&format!("{folder} out.csv/t.csv")),
        "out.csv/t.csv cannot be written: out.csv is not a directory"
    );
    assert!(
        desk.refused(&format!("{folder} ."))
            .ends_with("cannot be written: it is a directory; name a file in it")
    );
    assert_eq!((desk.read("out.csv").as_str(), desk.files().len()), ("precious\n", 3), "{:?}", desk.files());

    desk.done("draws.csv -n 1 --columns mu -o out.csv");
    assert!(desk.read("out.csv").starts_with(".chain,draw,mu,tau"));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let desk = Desk::with_draws();
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("supersample"));
    command
        .current_dir(desk.folder())
        .args("herd draws.csv -n 5000 --columns mu -q --indices i.txt".split(' '));
    let mut child = Running::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
    assert_eq!(numbers(&desk.read("i.txt")).len(), 5000);
}

#[test]
fn help_answers_on_stdout_and_its_absence_on_stderr() {
    let run = |words: &[&str]| cargo_bin_cmd!("supersample").timeout(LIMIT).args(words).output().unwrap();
    for words in [&["--help"][..], &["herd", "--help"]] {
        let output = run(words);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.contains("\nExample: "), "{text}");
    }
    let output = run(&[]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    assert!(String::from_utf8(output.stderr).unwrap().contains("Usage: supersample <COMMAND>"));
}
