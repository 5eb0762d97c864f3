//! Thins draws: the 20 rows of 2,000 that represent all of them best, and how good they are.
//!
//! `cargo run --release -p supersample --example thin_draws`

use supersample::target::GaussianMixture;
use supersample::task::{Choose, Measure, Problem};
use supersample::{Result, unwatched};

pub(crate) fn main() -> Result<()> {
    let draws = GaussianMixture::random(4, 3, 1)?.sample(2000, 7)?; // or Points::from_rows(&numbers, columns)
    let problem = Problem::new(draws, Choose::thin(20)?)?;
    for advice in problem.advice() {
        println!("take care: {advice:?}");
    }
    let target = problem.prepare(&unwatched)?;
    let chosen = target.choose(&unwatched)?;
    let found = target.summarise(&chosen, &unwatched)?;
    println!("rows {:?}", chosen.rows);
    let draws = found.errors.get(Measure::EquivalentDraws).unwrap_or_default();
    println!("MMD {:.4}, {draws:.0} equivalent draws", found.mmd());
    if let Some(others) = &found.comparison {
        println!("20 random rows: {:.4} ± {:.4}", others.random_mean(), others.random_sd());
        assert!(found.mmd() < others.random_mean());
    }
    for (column, errors) in found.quality.columns.iter().enumerate() {
        println!("column {column}: the mean is off by {:.3} sd", errors.mean.unwrap_or_default());
    }
    Ok(())
}
