//! What leaving the local optimum gains: annealed sweeps against other ways to spend the same time.
//!
//! `cargo run --release -p bench-ours --bin search -- SIZE DRAWS.csv...`
//!
//! Prints, for each way and effort, the geometric mean over the files of the error relative to plain refinement, and
//! of the time relative to it. Restarts refine random sets and keep the best; kicks replace a tenth of the best set by
//! random rows, refine, and keep what is better.

use std::error::Error;
use std::time::Instant;

use supersample::quality::random_rows;
use supersample::scale::{Scale, Scaling};
use supersample::unwatched;
use supersample::{Empirical, Kernel, Points, RefineOptions, Refiner, bandwidth};
use supersample_io::{Draws, Reading};

/// One file's error and time for every way and effort, in the order of the names.
type Outcome = Vec<(String, f64, f64)>;

#[expect(clippy::print_stdout, reason = "the table is this program's output")]
fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let size: usize = arguments.next().ok_or("give a size and CSV files")?.parse()?;
    let outcomes = arguments.map(|path| measure(&scaled(&path)?, size));
    let outcomes = outcomes.collect::<Result<Vec<Outcome>, Box<dyn Error>>>()?;
    let files = outcomes.len() as f64;
    println!("| way | error | time |\n|---|---|---|");
    for way in 0..outcomes.first().ok_or("give at least one CSV file")?.len() {
        let mean = |part: fn(&(String, f64, f64)) -> f64| {
            let logs = outcomes.iter().map(|outcome| (part(&outcome[way]) / part(&outcome[0])).ln());
            (logs.sum::<f64>() / files).exp()
        };
        println!("| {} | {:.3} | {:.1} |", outcomes[0][way].0, mean(|o| o.1), mean(|o| o.2));
    }
    Ok(())
}

/// The parameters of a file of draws, each to mean 0 and variance 1.
fn scaled(path: &str) -> Result<Points, Box<dyn Error>> {
    let draws = Draws::read(&[path], &Reading::default())?;
    let scaling = Scaling::fit(Scale::Sd, draws.values(), draws.dim(), None)?;
    Ok(Points::from_vec(scaling.apply(draws.values()), draws.dim())?)
}

fn measure(points: &Points, size: usize) -> Result<Outcome, Box<dyn Error>> {
    let mu = Empirical::new(Kernel::gaussian(bandwidth::median(points))?, points.clone())?;
    let with = |options: RefineOptions| Refiner::new(mu.clone(), points.clone(), options);
    let chosen = |options: RefineOptions| with(options)?.choose(size, &unwatched);
    let plain = with(RefineOptions::default())?;
    let mut outcome = Outcome::new();
    let mut add = |name: String, way: &dyn Fn() -> supersample::Result<Option<f64>>| {
        let start = Instant::now();
        let error = way()?.ok_or("the error is known for samples")?;
        outcome.push((name, error, start.elapsed().as_secs_f64()));
        Ok::<(), Box<dyn Error>>(())
    };
    add("refined".to_string(), &|| Ok(plain.choose(size, &unwatched)?.error))?;
    for sweeps in [5, 10, 20, 40, 80] {
        let options = RefineOptions::default().search(sweeps, 1);
        add(format!("{sweeps} annealed sweeps"), &|| Ok(chosen(options.clone())?.error))?;
    }
    for rounds in [4, 16] {
        let options = RefineOptions::default().search(40 / rounds, 1).rounds(rounds);
        let name = format!("{} annealed sweeps, {rounds} times over", 40 / rounds);
        add(name, &|| Ok(chosen(options.clone())?.error))?;
    }
    for restarts in [4, 16] {
        add(format!("{restarts} restarts"), &|| {
            let mut best = plain.choose(size, &unwatched)?;
            for seed in 0..restarts {
                let rows = random_rows(points.len(), None, size, seed)?;
                let other = plain.improve_rows(&rows, &unwatched)?;
                best = if other.squared_error < best.squared_error { other } else { best };
            }
            Ok(best.error)
        })?;
    }
    for kicks in [4, 16] {
        add(format!("{kicks} kicks"), &|| {
            let mut best = plain.choose(size, &unwatched)?;
            for seed in 0..kicks {
                let mut rows = best.rows.clone();
                let positions = random_rows(size, None, size.div_ceil(10), seed)?;
                let fresh = random_rows(points.len(), None, 2 * size, 1000 + seed)?;
                let mut fresh = fresh.into_iter().filter(|row| !best.rows.contains(row));
                positions.iter().for_each(|&at| rows[at] = fresh.next().unwrap_or(rows[at]));
                let other = plain.improve_rows(&rows, &unwatched)?;
                best = if other.squared_error < best.squared_error { other } else { best };
            }
            Ok(best.error)
        })?;
    }
    Ok(outcome)
}
