//! Goes on with an earlier run: 100 rows now, 50 more later, without comparing all rows a second time.
//!
//! `cargo run --release -p supersample --example resume`

use std::ops::ControlFlow;

use supersample::target::GaussianMixture;
use supersample::task::{Choose, Continued, Problem};
use supersample::{Result, unwatched};

pub(crate) fn main() -> Result<()> {
    let draws = GaussianMixture::random(4, 3, 1)?.sample(3000, 7)?;
    let problem = |n: usize| Problem::new(draws.clone(), Choose::herd(n)?.unique(true));

    // The first run: what a checkpoint keeps is μ on the rows, which took the time, and the rows so far.
    let first = problem(100)?.prepare(&unwatched)?;
    let rows = first.choose(&unwatched)?.rows;
    let mu = first.recalled().to_vec();

    // The second, in another process perhaps, of the same draws with the same options.
    let second = problem(150)?.recall(mu, &unwatched)?;
    let from = Continued { rows: &rows, seen: &mut |_| ControlFlow::Continue(()) };
    let more = second.continued(second.problem().choose(), from, &unwatched)?;
    println!("rows 101 to 150: {:?}", &more.rows[100..]);

    let unbroken = problem(150)?.prepare(&unwatched)?.choose(&unwatched)?;
    assert_eq!(more.rows, unbroken.rows);
    Ok(())
}
