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
