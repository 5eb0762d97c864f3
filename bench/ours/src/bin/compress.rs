//! Compresses the draws of a CSV file to a few rows and prints them as JSON: the library's side of `bench/peers`.
//!
//! `cargo run --release -p bench-ours --bin compress -- DRAWS.csv SIZE [SEARCH_SWEEPS...]`
//!
//! Columns named chain and draw are ids; the others are centred and scaled to unit variance, and the bandwidth is the
//! median distance. Prints the herded rows (which may repeat), the refined ones and those of a search for each number of
//! annealed sweeps given, what each took, and the bandwidth, so that another tool can be given the same kernel. `--synthetic N D SIZE` in place of a file takes N
//! standard normal draws in D dimensions and prints only what it took.

#[path = "../draws.rs"]
mod draws;

use std::error::Error;
use std::time::Instant;

use supersample::target::IndependentNormals;
use supersample::unwatched;
use supersample::{Domain, Empirical, Herder, Kernel, RefineOptions, Refined, Refiner, bandwidth};

#[expect(clippy::print_stdout, reason = "the result is this program's output")]
fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default: usize| match arguments.get(i) {
        Some(text) => text.parse::<usize>().map_err(|_| format!("'{text}' is not a number")),
        None => Ok(default),
    };
    let synthetic = arguments.first().is_some_and(|first| first == "--synthetic");
    let (points, rest) = if synthetic {
        let (n, dim) = (number(1, 1000)?, number(2, 5)?);
        (IndependentNormals::new(&vec![0.0; dim], &vec![1.0; dim])?.sample(n, 1)?, 3)
    } else {
        (draws::scaled(arguments.first().ok_or("give a CSV file and a size")?)?, 1)
    };
    let size = number(rest, 100)?;
    let searches = (rest + 1..arguments.len()).map(|i| number(i, 0)).collect::<Result<Vec<_>, _>>()?;
    let ell = bandwidth::median(&points);
    let mu = Empirical::new(Kernel::gaussian(ell)?, points.clone())?;
    let (mut herder, embedding_s) = timed(|| Herder::new(mu.clone(), Domain::Pool(points.clone())));
    let (picks, herd_s) = timed(|| herder.as_mut().map(|herder| herder.run(size)));
    let picks = picks.map_err(|error| error.to_string())?;
    let rows: Vec<usize> = picks.iter().filter_map(|pick| pick.index).collect();
    let refiner = Refiner::new(mu.clone(), points.clone(), RefineOptions::default())?;
    let (refined, refine_s) = timed(|| refiner.choose(size, &unwatched));
    let mut parts = vec![
        format!("\"bandwidth\": {ell}, \"embedding_s\": {embedding_s:.4}, \"n\": {}", points.len()),
        part("herded", synthetic, &rows, picks.last().and_then(|pick| pick.error), herd_s, None),
        refined_part("refined", synthetic, &refined?, refine_s),
    ];
    for sweeps in searches {
        let options = RefineOptions::default().search(sweeps, 1);
        let refiner = Refiner::new(mu.clone(), points.clone(), options)?;
        let (searched, search_s) = timed(|| refiner.choose(size, &unwatched));
        parts.push(refined_part(&format!("searched {sweeps}"), synthetic, &searched?, search_s));
    }
    println!("{{{}}}", parts.join(", "));
    Ok(())
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed().as_secs_f64())
}

fn refined_part(name: &str, brief: bool, set: &Refined, seconds: f64) -> String {
    let cost = format!(
        ", \"sweeps\": {}, \"swaps\": {}, \"kernel_rows\": {}, \"converged\": {}",
        set.sweeps, set.swaps, set.kernel_rows, set.converged
    );
    part(name, brief, &set.rows, set.error, seconds, Some(cost))
}

fn part(
    name: &str,
    brief: bool,
    rows: &[usize],
    error: Option<f64>,
    seconds: f64,
    cost: Option<String>,
) -> String {
    let rows: Vec<String> = rows.iter().filter(|_| !brief).map(usize::to_string).collect();
    let error = error.map_or("null".into(), |error| error.to_string());
    let (rows, cost) = (rows.join(", "), cost.unwrap_or_default());
    format!("\"{name}\": {{\"rows\": [{rows}], \"mmd\": {error}, \"seconds\": {seconds:.4}{cost}}}")
}
