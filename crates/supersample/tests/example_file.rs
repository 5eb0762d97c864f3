//! The example file in the repository is what its command makes.

#[path = "../examples/eight_schools.rs"]
mod eight_schools;

#[test]
fn the_committed_draws_are_the_ones_the_example_makes() {
    let committed = include_str!("../../../examples/eight_schools.csv");
    assert!(
        committed == eight_schools::csv(),
        "run the command at the top of examples/eight_schools.rs again"
    );
    assert_eq!(committed.lines().count(), 4001);
}
