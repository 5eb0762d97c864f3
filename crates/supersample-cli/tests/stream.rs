//! The verb `stream`: files and pipes that are read once.

use std::io::Write;
use std::process::{Command, Stdio};

use assert_cmd::cargo::cargo_bin;

use crate::desk::{Desk, Running, numbers, posterior, signal, wait_for};

/// Rows are kept up to this number, so that a stream settles.
const FEW: &str = "-n 20 --pool-rows 500 --landmarks 100 --search 0";

/// A run that reads what is written to it.
fn piped(desk: &Desk, words: &str) -> Running {
    let mut command = Command::new(cargo_bin!("supersample"));
    command.current_dir(desk.folder()).args(words.split(' ')).stdin(Stdio::piped());
    Running::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()))
}

#[test]
fn rows_that_fit_are_those_of_thin() {
    let desk = Desk::new();
    desk.write("d.csv", posterior(900));
    desk.ran("thin d.csv -n 20 --indices thin.txt -o thin.csv");
    let (_, summary) = desk.ran("stream d.csv -n 20 --indices i.txt -o o.csv");
    assert_eq!(desk.read("i.txt"), desk.read("thin.txt"));
    assert!(summary.starts_with("20 rows of 900 that were read once\n  MMD 0.0"), "{summary}");
    let rows = desk.read("o.csv");
    assert!(rows.starts_with("mu,tau,theta.1,theta.2,row\n") && rows.lines().count() == 21, "{rows}");
    for (line, number) in rows.lines().skip(1).zip(numbers(&desk.read("i.txt"))) {
        let row = posterior(900).lines().nth(number + 1).unwrap().to_string();
        let cells = |line: &str| line.split(',').map(|cell| cell.parse::<f64>().unwrap()).collect::<Vec<_>>();
        assert_eq!(cells(line)[..4], cells(&row));
        assert_eq!(cells(line)[4], number as f64);
    }
}

#[test]
fn a_file_and_a_pipe_give_the_same_rows() {
    let desk = Desk::new();
    let text = posterior(4000);
    desk.write("d.csv", &text);
    let (rows, summary) = desk.ran(&format!("stream d.csv {FEW}"));
    assert!(summary.contains("scale and bandwidth are those of the first 500 rows"), "{summary}");
    let mut child = piped(&desk, &format!("stream - {FEW} -q"));
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let found = child.wait_with_output().unwrap();
    assert_eq!((found.stdout, found.stderr), (rows, vec![]));
    // Comments may say which rows are warm-up, so that the whole is needed.
    let mut child = piped(&desk, "stream - -n 5 -q");
    child.stdin.take().unwrap().write_all(format!("# here\n{text}").as_bytes()).unwrap();
    assert_eq!(child.wait_with_output().unwrap().stdout.iter().filter(|byte| **byte == b'\n').count(), 6);
}

#[test]
fn outputs_are_written_as_rows_come_and_when_it_is_interrupted() {
    let desk = Desk::new();
    let text = posterior(1500);
    let mut child = piped(&desk, &format!("stream - {FEW} --every 600 -o now.csv --indices now.txt"));
    let mut pipe = child.stdin.take().unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    pipe.write_all(lines[..601].concat().as_bytes()).unwrap();
    wait_for("the first outputs", || desk.files().iter().any(|name| name == "now.txt"));
    let first = numbers(&desk.read("now.txt"));
    assert!(first.len() == 20 && first.iter().all(|row| *row < 600));
    pipe.write_all(lines[601..].concat().as_bytes()).unwrap();
    pipe.flush().unwrap();
    wait_for("the second outputs", || numbers(&desk.read("now.txt")).iter().any(|row| *row >= 600));
    signal(&child, "-INT");
    drop(pipe);
    let found = child.wait_with_output().unwrap();
    let said = String::from_utf8(found.stderr).unwrap();
    assert_eq!(found.status.code(), Some(130), "{said}");
    assert!(
        said.contains("600 rows so far: the outputs are written") && said.contains("interrupted"),
        "{said}"
    );
    assert!(desk.files().iter().all(|name| !name.contains("partial")), "{:?}", desk.files());
}

#[test]
fn what_has_no_effect_or_cannot_be_is_refused() {
    let desk = Desk::new();
    desk.write("d.csv", posterior(300));
    desk.write("e.csv", "mu,other\n1,2\n");
    desk.write("nan.csv", "a,b\n1,2\n3,nan\n");
    let complaint = |words: &str| {
        let found = crate::desk::output(
            Command::new(cargo_bin!("supersample")).current_dir(desk.folder()).args(words.split(' ')),
        );
        assert_eq!(found.status.code(), Some(2), "{words}");
        String::from_utf8(found.stderr).unwrap()
    };
    assert!(complaint("stream d.csv -n 0").contains("-n is 0"));
    assert!(complaint("stream d.csv -n 5 --every 0 -o o.csv").contains("--every is 0"));
    assert!(complaint("stream d.csv -n 5 --every 10").contains("--output"));
    assert!(complaint("stream d.csv -n 5 -o d.csv").contains("are the same file"));
    assert!(complaint("stream d.csv e.csv -n 5").contains("e.csv"));
    assert!(complaint("stream nan.csv -n 1").contains("nan"));
    assert!(complaint("stream absent.csv -n 1").contains("absent.csv"));
    for (text, said) in [("1,2\n3,4\n", "names of the columns"), ("a,b\n1,2\n3\n", "-"), ("a,b\n", "no rows")]
    {
        let mut child = piped(&desk, "stream - -n 1");
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let found = child.wait_with_output().unwrap();
        let complaint = String::from_utf8(found.stderr).unwrap();
        assert!(found.status.code() == Some(2) && complaint.contains(said), "{complaint}");
        assert!(!complaint.contains("/tmp"), "{complaint}");
    }
}

#[test]
fn weights_and_formats_are_those_of_thin() {
    let desk = Desk::new();
    let weighted: String = posterior(1200)
        .lines()
        .enumerate()
        .map(|(i, line)| format!("{line},{}\n", if i == 0 { "w".into() } else { (i % 3).to_string() }))
        .collect();
    desk.write("d.csv", weighted);
    desk.ran(&format!("stream d.csv {FEW} --weight-column w --indices i.txt -o o.parquet"));
    assert!(numbers(&desk.read("i.txt")).iter().all(|row| (row + 1) % 3 != 0));
    let (_, said) = desk.ran("eval d.csv o.parquet --exclude w");
    assert!(said.contains("20"), "{said}");
    desk.ran(&format!("stream d.csv {FEW} --columns mu,tau -o o.npy"));
    desk.ran("info o.npy");
}

/// What a run says that reads this from a pipe.
fn fed(desk: &Desk, words: &str, text: &str) -> (Option<i32>, String) {
    let mut child = piped(desk, words);
    let mut pipe = child.stdin.take().unwrap();
    let text = text.to_string();
    let writer = std::thread::spawn(move || pipe.write_all(text.as_bytes()));
    let found = child.wait_with_output().unwrap();
    let _ = writer.join();
    (found.status.code(), String::from_utf8(found.stderr).unwrap())
}

#[test]
fn an_interrupt_is_answered_while_a_pipe_is_silent_and_half_a_row_is_no_row() {
    let desk = Desk::new();
    let mut child = piped(&desk, "stream - -n 5 -o o.csv --indices i.txt --every 300");
    let mut pipe = child.stdin.take().unwrap();
    // The last row would have a valid number with any part of its digits.
    pipe.write_all(format!("{}1,2,3,4", posterior(300)).as_bytes()).unwrap();
    pipe.flush().unwrap();
    wait_for("the first outputs", || desk.files().iter().any(|name| name == "i.txt"));
    signal(&child, "-INT");
    // The pipe stays open: nothing but the signal ends the run.
    let found = child.wait_with_output().unwrap();
    let said = String::from_utf8(found.stderr).unwrap();
    assert_eq!(found.status.code(), Some(130), "{said}");
    assert!(said.contains("5 rows of 300 that were read once; interrupted"), "{said}");
    drop(pipe);
}

#[test]
fn rows_before_one_that_is_refused_are_written() {
    let desk = Desk::new();
    let text = posterior(1000);
    desk.write("d.csv", &text);
    desk.ran("stream d.csv -n 5 -o whole.csv --indices whole.txt");
    for (bad, reason) in [("1,2,3\n", "row 1001 (line 1002) has 3 fields"), ("1,2,nan,4\n", "is nan")] {
        desk.write("o.csv", "older\n");
        let (code, said) =
            fed(&desk, "stream - -n 5 -o o.csv --indices i.txt", &format!("{text}{bad}1,2,3,4\n"));
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("the input is used up to its first 1,000 rows"), "{said}");
        assert!(said.contains(reason) && said.contains("o.partial.csv (the rows)"), "{said}");
        assert_eq!(
            (desk.read("o.csv").as_str(), desk.read("o.partial.csv")),
            ("older\n", desk.read("whole.csv"))
        );
        assert_eq!(desk.read("i.txt"), desk.read("whole.txt"));
        assert!(said.contains("\no.csv was kept, and the partial result is o.partial.csv"), "{said}");
        for name in ["i.txt", "o.partial.csv"] {
            std::fs::remove_file(desk.path(name)).unwrap();
        }
    }
    // Nothing can be written of no rows, and a file can be read again.
    let (code, said) = fed(&desk, "stream - -n 5 -o new.csv", "a,b\n3\n");
    assert!(code == Some(2) && said.contains("has 1 fields"), "{said}");
    desk.write("bad.csv", format!("{text}1,2,3\n"));
    assert!(!desk.run("stream bad.csv -n 5 -o new.csv").status.success());
    assert!(!desk.files().iter().any(|name| name.starts_with("new")), "{:?}", desk.files());
}

#[test]
fn rows_that_are_left_out_count_in_the_numbers() {
    let desk = Desk::new();
    let holes: String = posterior(400)
        .split_inclusive('\n')
        .enumerate()
        .map(|(i, line)| format!("{line}{}", if i > 0 && i % 7 == 0 { "nan,1,2,3\n1,,2,3\n" } else { "" }))
        .collect();
    desk.write("d.csv", &holes);
    let few = "-n 20 --search 0 --drop-na";
    desk.ran(&format!("thin d.csv {few} --indices thin.txt -o thin.csv"));
    let rows = desk.read("thin.txt");
    for words in ["d.csv", "d.csv --every 30", "-", "- --every 30", "- --every 1"] {
        let (code, said) = fed(&desk, &format!("stream {words} {few} --indices i.txt -o o.csv"), &holes);
        assert_eq!((code, desk.read("i.txt")), (Some(0), rows.clone()), "{words}: {said}");
        assert!(said.contains("note: 114 of 514 rows have a missing value"), "{said}");
        let numbers: Vec<String> = desk
            .read("o.csv")
            .lines()
            .skip(1)
            .map(|line| format!("{}\n", line.rsplit(',').next().unwrap()))
            .collect();
        assert_eq!(numbers.concat(), rows);
    }
}

#[test]
fn pipes_are_cut_between_rows_and_a_part_of_them_may_be_empty() {
    let desk = Desk::new();
    let most = 16_384;
    let rows = |count: usize| (0..count).map(|i| format!("{i},x\n")).collect::<String>();
    for (text, chosen) in [
        // A last part of a blank line, of a row that is left out, and of the rest of a quoted text.
        (format!("a,t\n{}\n \n", rows(most)), most),
        (format!("a,t\n{}nan,x\n", rows(most)), most),
        (format!("a,t\n{}7,\"one\ntwo\"\n8,x\n", rows(most - 1)), most + 1),
    ] {
        let (code, said) = fed(&desk, "stream - -n 3 --search 0 --drop-na -o o.csv", &text);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains(&format!("3 rows of {},{:03}", chosen / 1000, chosen % 1000)), "{said}");
    }
}
