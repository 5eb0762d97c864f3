//! Our side of `bench/peers/speed.py`: herds through the public API and prints what it took as one line of JSON.

mod ceilings;
mod process;

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use clap::{Parser, Subcommand, ValueEnum};
use serde_json::{Value, json};
use supersample::{
    Domain, Empirical, Herder, Kernel, Pick, Points, Precision, Progress, RefineOptions, Refiner,
    instruction_set,
};
use supersample_io::{Draws, Reading};

use crate::process::{cpu_seconds, peak_bytes};

/// Our side of the comparison: one line of JSON to stdout
#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Herd the rows of a .npy file (f64, two-dimensional) with a Gaussian kernel
    Herd {
        file: PathBuf,
        #[arg(long)]
        bandwidth: f64,
        #[arg(short, long)]
        number: usize,
        #[arg(long, value_enum, default_value_t = Arithmetic::Mixed)]
        precision: Arithmetic,
        /// Herd this many of the rows, from the first on [default: all]
        #[arg(long)]
        rows: Option<usize>,
        /// Write the chosen row numbers here, one a line
        #[arg(long)]
        picks: Option<PathBuf>,
    },
    /// Refine a set of rows of such a file: herding, then sweeps until no swap helps, then a search if asked
    Thin {
        file: PathBuf,
        #[arg(long)]
        bandwidth: f64,
        #[arg(short, long)]
        number: usize,
        /// Annealed sweeps after that
        #[arg(long, default_value_t = 0)]
        search: usize,
        /// Bytes for kernel rows that are kept [default: the library's]
        #[arg(long)]
        memory: Option<usize>,
    },
    /// The squared norm of the mean embedding in f64
    Norm {
        file: PathBuf,
        #[arg(long)]
        bandwidth: f64,
    },
    /// What the machine can do at best: f32 multiply-adds and exponentials a second, on all threads
    Ceilings,
}

#[derive(Clone, Copy, ValueEnum)]
enum Arithmetic {
    Mixed,
    Double,
}

fn main() -> Result<()> {
    let result = match Args::parse().verb {
        Verb::Herd { file, bandwidth, number, precision, rows, picks } => {
            let points = read(&file, rows)?;
            let precision = match precision {
                Arithmetic::Mixed => Precision::Mixed,
                Arithmetic::Double => Precision::Double,
            };
            let (result, chosen) = herd(points, bandwidth, number, precision)?;
            if let Some(path) = picks {
                let lines: String = chosen.iter().map(|row| format!("{row}\n")).collect();
                fs::write(&path, lines).with_context(|| format!("{} cannot be written", path.display()))?;
            }
            result
        }
        Verb::Thin { file, bandwidth, number, search, memory } => {
            let options = RefineOptions::default();
            let memory = memory.unwrap_or(options.memory);
            thin(read(&file, None)?, bandwidth, number, options.memory(memory), search)?
        }
        Verb::Norm { file, bandwidth } => {
            let mu = Empirical::new(Kernel::gaussian(bandwidth)?, read(&file, None)?)?;
            json!({ "squared_norm": mu.double_squared_norm() })
        }
        Verb::Ceilings => ceilings::measure(),
    };
    println!("{result}");
    Ok(())
}

fn herd(points: Points, bandwidth: f64, number: usize, precision: Precision) -> Result<(Value, Vec<usize>)> {
    // The threads start here and not in the middle of what is timed.
    let threads = rayon::broadcast(|_| ()).len();
    let (n, dim) = (points.len(), points.dim());
    let peak_before = peak_bytes();

    let (clock, cpu) = (Instant::now(), cpu_seconds());
    let mu = Empirical::new(Kernel::gaussian(bandwidth)?, points.clone())?.precision(precision);
    let mut herder = Herder::new(mu, Domain::Pool(points))?;
    let embedding = Lap::since(clock, cpu);
    let peak_embedding = peak_bytes();

    let (clock, cpu) = (Instant::now(), cpu_seconds());
    let mut last: Option<Pick> = None;
    let taken = herder.by_ref().take(number).map(|pick| last = Some(pick)).count();
    let picks = Lap::since(clock, cpu);
    let Some(last) = last.filter(|_| taken == number) else { bail!("asked for {number} picks, got {taken}") };

    let result = json!({
        "n": n,
        "dim": dim,
        "picks": number,
        "seconds": embedding.wall + picks.wall,
        "embedding_seconds": embedding.wall,
        "embedding_cpu_seconds": embedding.cpu,
        "picks_seconds": picks.wall,
        "picks_cpu_seconds": picks.cpu,
        "mmd": last.error,
        "squared_norm": herder.pool().squared_norm(),
        "precision": format!("{:?}", herder.pool().precision()).to_lowercase(),
        "isa": instruction_set(),
        "threads": threads,
        "input_bytes": n * dim * size_of::<f64>(),
        "peak_bytes": peak_bytes(),
        "peak_bytes_after_embedding": peak_embedding,
        "peak_bytes_after_reading": peak_before,
    });
    Ok((result, herder.indices().to_vec()))
}

fn thin(
    points: Points,
    bandwidth: f64,
    number: usize,
    options: RefineOptions,
    search: usize,
) -> Result<Value> {
    let threads = rayon::broadcast(|_| ()).len();
    let clock = Instant::now();
    let mu = Empirical::new(Kernel::gaussian(bandwidth)?, points.clone())?;
    let options = match search {
        0 => options,
        sweeps => options.search(sweeps, 0),
    };
    let refiner = Refiner::new(mu, points, options)?;
    let embedding = clock.elapsed();
    // When each phase was last seen, in seconds from here.
    let (clock, seen) = (Instant::now(), Mutex::new([0.0; 3]));
    let set = refiner.choose(number, &|progress| {
        let phase = match progress {
            Progress::Herding { .. } => 0,
            Progress::Sweeping { .. } => 1,
            _ => 2,
        };
        seen.lock().expect("no phase panics")[phase] = clock.elapsed().as_secs_f64();
        ControlFlow::Continue(())
    })?;
    let whole = clock.elapsed().as_secs_f64();
    let [herded, swept, _] = *seen.lock().expect("no phase panics");
    Ok(json!({
        "picks": number,
        "search": search,
        "embedding_seconds": embedding.as_secs_f64(),
        "herding_seconds": herded,
        "sweeps_seconds": if search == 0 { Some(swept - herded) } else { None },
        "sweeps_and_search_seconds": swept - herded,
        "refinement_seconds": whole - herded,
        "sweeps": set.sweeps,
        "swaps": set.swaps,
        "kernel_rows": set.kernel_rows,
        "converged": set.converged,
        "mmd_herded": set.start_error,
        "mmd": set.error,
        "threads": threads,
        "peak_bytes": peak_bytes(),
    }))
}

/// What a stretch of work took: on the clock, and on all threads together (where the system tells).
struct Lap {
    wall: f64,
    cpu: Option<f64>,
}

impl Lap {
    fn since(clock: Instant, cpu: Option<f64>) -> Lap {
        let wall = clock.elapsed().as_secs_f64();
        Lap { wall, cpu: cpu_seconds().zip(cpu).map(|(now, then)| now - then) }
    }
}

/// The points of a file, or the first `rows` of them.
fn read(path: &Path, rows: Option<usize>) -> Result<Points> {
    let mut draws = Draws::read(&[path], &Reading::default())?;
    let (len, dim, mut values) = (draws.len(), draws.dim(), draws.take_values());
    ensure!(rows.is_none_or(|rows| rows <= len), "{} has {len} rows", path.display());
    values.truncate(rows.unwrap_or(len) * dim);
    Ok(Points::from_vec(values, dim)?)
}
