//! The program as it is called: its files, its exit code, its refusals.

use std::path::Path;
use std::process::{Command, Output};

fn experiments(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_experiments")).args(arguments).output().unwrap()
}

#[test]
fn a_figure_leaves_its_numbers_and_says_whether_its_claims_hold() {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fig1");
    let output = experiments(&["fig1", "--quick", "--out", out.to_str().unwrap()]);
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && told.contains("[holds: 0]"), "{told}");
    let begins = |name: &str, with: &str| {
        let text = std::fs::read_to_string(out.join(name)).unwrap();
        assert!(text.starts_with(with), "{name}: {}", &text[..80]);
    };
    begins("fig1.csv", "t,herding_x,");
    begins("fig1_mixture.csv", "weight,x,y,");
}

#[test]
fn what_cannot_be_made_ends_with_status_2() {
    for (arguments, reason) in [
        (&["fig8"][..], "fig8"),
        (&["fig1", "--split", "3"], "--split and --prior have no effect without fig5 or fig6"),
        (&["fig1", "--replicates", "3"], "--replicates has no effect without fig7"),
        (&["fig7", "--replicates", "0"], "there is at least one"),
        (&["fig5", "--quick", "--prior=-1"], "a variance is a positive number"),
        (&["fig1", "--out", "/dev/null/here"], "cannot make the folder"),
    ] {
        let output = experiments(arguments);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), told.contains(reason)), (Some(2), true), "{told}");
    }
}
