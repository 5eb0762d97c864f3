//! Landmarks through the command: asked for, told of, kept in checkpoints, and refused where they have no effect.

use serde_json::Value;

use crate::desk::{Desk, json, numbers, posterior};

fn with_posterior() -> Desk {
    let desk = Desk::new();
    desk.write("draws.csv", posterior(3000));
    desk
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn landmarks_are_told_with_the_standard_error_that_they_leave() {
    let desk = with_posterior();
    for verb in ["herd", "thin --search 0"] {
        let words = format!("{verb} draws.csv -n 20 -o o.csv --json s.json --indices i.txt");
        let (_, told) = desk.ran(&format!("{words} --embedding landmarks --landmarks 150"));
        assert!(told.contains("rows compared with 150 landmarks"), "{told}");
        assert!(
            told.lines().any(|line| line.starts_with("these 20 rows ") && line.contains(" ± ")),
            "{told}"
        );
        let summary = json(&desk, "s.json");
        assert_eq!(
            (&summary["embedding"]["kind"], &summary["embedding"]["landmarks"]),
            (&"landmarks".into(), &150.into())
        );
        assert!(number(&summary["embedding"]["residual"]) >= 0.0);
        let (mmd, error) = (number(&summary["result"]["mmd"]), number(&summary["result"]["mmd_error"]));
        assert!(error > 0.0 && error < 0.05 * mmd, "{mmd} ± {error}");
        for other in ["random", "spaced"] {
            assert!(number(&summary[other]["mmd_error"]) > 0.0, "{other}");
        }
        // Held against all rows exactly, and against landmarks again.
        desk.ran("eval draws.csv o.csv --json e.json --embedding exact");
        let exact = json(&desk, "e.json");
        assert_eq!(
            (&exact["embedding"]["kind"], &exact["result"]["mmd_error"]),
            (&"exact".into(), &Value::Null)
        );
        let truth = number(&exact["result"]["mmd"]);
        assert!((mmd - truth).abs() < 5.0 * error, "{mmd} ± {error}, {truth}");
        desk.ran("eval draws.csv o.csv --json e.json --landmarks 150");
        let again = json(&desk, "e.json");
        assert!((number(&again["result"]["mmd"]) - mmd).abs() < 5.0 * error);
        // The same for any number of threads.
        let chosen = desk.read("i.txt");
        desk.ran(&format!("{words} --landmarks 150 --threads 1"));
        assert_eq!(desk.read("i.txt"), chosen);
    }
    // Few rows are compared with each other unless landmarks are asked for.
    desk.ran("herd draws.csv -n 20 -o o.csv --json s.json");
    assert_eq!(json(&desk, "s.json")["embedding"]["kind"], "exact");
    desk.ran("herd draws.csv -n 400 -o o.csv --json s.json --embedding landmarks");
    assert_eq!(json(&desk, "s.json")["embedding"]["landmarks"], 800);
}

#[test]
fn rows_that_are_drawn_to_choose_from_depend_on_the_seed() {
    let desk = with_posterior();
    for verb in ["herd", "thin --search 0"] {
        let rows = |seed: &str| {
            desk.ran(&format!("{verb} draws.csv -n 20 -q -o o.csv --indices i.txt --pool-rows 100 {seed}"));
            desk.read("i.txt")
        };
        assert_eq!(rows(""), rows("--seed 0"), "{verb}");
        assert_eq!(rows("--seed 3"), rows("--seed 3"), "{verb}");
        assert_ne!(rows("--seed 3"), rows("--seed 4"), "{verb}");
    }
}

#[test]
fn a_run_on_landmarks_goes_on_from_its_checkpoint() {
    let desk = with_posterior();
    let with = |words: &str| format!("draws.csv --landmarks 90 -o o.csv --indices i.txt {words}");
    desk.done(&with("-n 30"));
    let unbroken = numbers(&desk.read("i.txt"));
    desk.done(&with("-n 12 --checkpoint c"));
    assert_eq!(numbers(&desk.read("i.txt")), unbroken[..12]);
    desk.done(&with("-n 30 --resume c"));
    assert_eq!(numbers(&desk.read("i.txt")), unbroken);
    // Another number of landmarks is another run.
    let refused = desk.refused("draws.csv --landmarks 91 -o o.csv -n 30 --resume c");
    assert!(refused.contains("was made with 90 landmarks, and a run of this -n uses 91"), "{refused}");
}

/// More rows take more landmarks, and with these other rows are chosen.
#[test]
fn a_longer_run_on_other_landmarks_says_why_it_does_not_go_on() {
    let desk = with_posterior();
    let with = |words: &str| format!("draws.csv --embedding landmarks -o o.csv --indices i.txt {words}");
    desk.done(&with("-n 10 --checkpoint c"));
    let refused = desk.refused(&with("-n 300 --checkpoint c"));
    assert!(refused.contains("was made with 500 landmarks, and a run of this -n uses 600"), "{refused}");
    desk.done(&with("-n 300 --landmarks 500 --checkpoint c"));
    let extended = desk.read("i.txt");
    desk.done(&with("-n 300 --landmarks 500"));
    assert_eq!(desk.read("i.txt"), extended);
}

#[test]
fn too_few_landmarks_are_warned_of() {
    let desk = with_posterior();
    let (_, told) = desk.ran("thin draws.csv -n 200 --search 0 --bandwidth 0.5 --landmarks 10 -o o.csv");
    let expected = "warning: 10 landmarks are too few: ";
    assert!(
        told.contains(expected) && told.contains("try more --landmarks, a longer --bandwidth, or,"),
        "{told}"
    );
}

#[test]
fn landmarks_without_effect_are_refused() {
    let desk = with_posterior();
    let refused = desk.refused("draws.csv -n 2 --embedding exact --landmarks 5");
    let expected =
        "--landmarks is 5; an exact embedding has none; leave the number out, or ask for landmarks";
    assert_eq!(refused, expected);
    assert_eq!(desk.refused("draws.csv -n 2 --landmarks 0"), "--landmarks is 0; ask for at least one");
    let unknown = String::from_utf8(desk.herd("draws.csv -n 2 --embedding nystrom").stderr).unwrap();
    assert!(unknown.contains("auto, exact, landmarks"), "{unknown}");
}
