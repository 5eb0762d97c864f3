//! Thins draws: the 20 rows of 2,000 that stand in for all of them best, and how good they are.
//!
//! `cargo run --release -p supersample --example thin_draws`

use supersample::target::GaussianMixture;
use supersample::task::{Problem, ProblemOptions, Stop, ThinOptions};
use supersample::{RefineOptions, Result, unwatched};

pub(crate) fn main() -> Result<()> {
    let draws = GaussianMixture::random(4, 3, 1)?.sample(2000, 7)?; // or Points::from_rows(&numbers, columns)
    let problem = Problem::new(draws, ProblemOptions::default())?;
    for advice in problem.advice() {
        println!("take care: {advice:?}");
    }
    let options = ThinOptions::default().refine(RefineOptions::default().search_by_size(0));
    let chosen = problem.thin(&Stop::after(20)?, &options, &unwatched)?;
    let found = problem.summarise(&chosen, None, &unwatched)?;
    println!("rows {:?}", chosen.rows);
    println!("MMD {:.4}, worth {:.0} independent draws", found.error, found.worth.unwrap_or_default());
    if let Some(others) = found.comparison {
        println!("20 random rows: {:.4} ± {:.4}", others.random_mean(), others.random_sd());
        assert!(found.error < others.random_mean());
    }
    for (column, errors) in found.quality.columns.iter().enumerate() {
        println!("column {column}: the mean is off by {:.3} sd", errors.mean.unwrap_or_default());
    }
    Ok(())
}
