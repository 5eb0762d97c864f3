//! Files that are not quite tables of draws, through the command: what is used, what is carried, what is said.

use std::process::Stdio;

use crate::desk::{Desk, Running};

/// Files of the temporary folder that hold what came through a pipe.
#[cfg(unix)]
#[test]
fn what_comes_through_a_pipe_has_no_name_that_could_stay_behind() {
    use std::io::Write;

    let desk = Desk::new();
    let spool = desk.folder().join("spool");
    std::fs::create_dir(&spool).unwrap();
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("supersample"));
    command.current_dir(desk.folder()).env("TMPDIR", &spool).args(["herd", "-", "-n", "1", "-q"]);
    let mut child = Running::start(command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()));
    let mut pipe = child.stdin.take().unwrap();
    // More than the pipe holds: once it is taken, the program is in the middle of reading.
    pipe.write_all(b"a\n").unwrap();
    pipe.write_all("1\n".repeat(1 << 20).as_bytes()).unwrap();
    assert_eq!(std::fs::read_dir(&spool).unwrap().count(), 0);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(std::fs::read_dir(&spool).unwrap().count(), 0);
}

#[test]
fn a_column_of_text_is_carried_along() {
    let desk = Desk::new();
    desk.write("d.csv", "mu,who\n1,x\n2,y\n5,z\n");
    desk.done("d.csv -n 2 -q -o o.csv");
    assert!(desk.read("o.csv").starts_with("mu,who,chain,draw,row\n"));
    assert!(desk.refused("d.csv -n 1 --columns who").contains("column 'who' is 'x', not a number"));
}

#[test]
fn text_goes_in_and_out_packed_by_zstandard() {
    let desk = Desk::new();
    desk.write("d.csv", "mu,tau\n1,4\n2,3\n5,1\n");
    desk.done("d.csv -n 2 --unique -q -o o.csv.zst");
    desk.done("o.csv.zst -n 2 --unique -q -o back.csv");
    desk.done("d.csv -n 2 --unique -q -o plain.csv");
    let rows = |name: &str| {
        let mut rows: Vec<String> = desk.read(name).lines().map(str::to_string).collect();
        rows.sort();
        rows
    };
    assert_eq!(rows("back.csv"), rows("plain.csv"));
    assert!(
        desk.refused("d.csv -n 1 -o o.npz.zst")
            .contains("only text can be compressed; remove .zst from the name")
    );
}

#[test]
fn the_mean_of_a_variational_run_is_not_chosen() {
    let desk = Desk::new();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../supersample-io/tests/data/variational.csv");
    desk.write("v.csv", std::fs::read(path).unwrap());
    let (_, summary) = desk.done("v.csv -n 4 --unique -o o.csv");
    assert!(summary.starts_with("chose 4 of 4 rows"), "{summary}");
    assert!(!desk.read("o.csv").contains("\n0,0,0,"));
}
