//! Goes on with an earlier run: 100 rows now, 50 more later, without comparing all rows a second time.
//!
//! `cargo run --release -p supersample --example resume`

use supersample::target::GaussianMixture;
use supersample::task::{HerdOptions, Problem, ProblemOptions, Stop};
use supersample::{Points, Result, unwatched};

fn problem(draws: &Points) -> Result<Problem> {
    Problem::new(draws.clone(), ProblemOptions::default())
}

pub(crate) fn main() -> Result<()> {
    let draws = GaussianMixture::random(4, 3, 1)?.sample(3000, 7)?;
    let options = HerdOptions::default().unique(true);

    // The first run: what a checkpoint keeps is μ on the rows, which took the time, and the rows so far.
    let first = problem(&draws)?;
    let chosen = first.herd(&Stop::after(100)?, &options, &unwatched)?;
    let (mu, rows) = (first.recalled().expect("herding has computed it").to_vec(), chosen.rows);

    // The second, in another process perhaps, of the same draws with the same options.
    let second = problem(&draws)?.recall(mu)?;
    let more = second.herd(&Stop::after(150)?, &options.clone().earlier(&rows), &unwatched)?;
    println!("rows 101 to 150: {:?}", &more.rows[100..]);

    let unbroken = problem(&draws)?.herd(&Stop::after(150)?, &options, &unwatched)?;
    assert_eq!(more.rows, unbroken.rows);
    Ok(())
}
