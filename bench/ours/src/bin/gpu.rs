//! Whole tasks on one GPU beside two threads of the CPU: `cargo run --release -p bench-ours --bin gpu -- [thin] [landmarks]`.
//!
//! thin: the best 1,000 of 100,000 × 5 (ten normals, shape A of the comparison) with marginals and search as the command has them.
//! landmarks: 1,000 herded rows of 10⁷ × 57 normal draws, with 2,000 landmarks; by phases, from rows in memory to the chosen
//! ones with their MMD, its standard error and the distance of their distribution functions, which is timed once more alone.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::Instant;

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;
use rayon::prelude::*;
use supersample::scale::Scale;
use supersample::task::{Choose, Chosen, Measure, Problem};
use supersample::{Device, Kernel, Marginals, Points, Progress, Result};

#[expect(clippy::print_stdout, reason = "the tables are this program's output")]
fn main() -> Result<()> {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |name: &str| asked.is_empty() || asked.iter().any(|word| word == name);
    let gpu = Device::gpu()?;
    println!("{gpu} and {}", supersample::instruction_set());
    if wanted("thin") {
        time_thin(&gpu)?;
    }
    if wanted("landmarks") {
        time_landmarks(&gpu)?;
    }
    Ok(())
}

fn normal(rng: &mut Pcg64) -> f64 {
    StandardNormal.sample(rng)
}

/// Ten normals of different weights, means and widths.
fn ten_normals(n: usize, dim: usize) -> Vec<f64> {
    let mut rng = Pcg64::seed_from_u64(65);
    let means: Vec<f64> = (0..10 * dim).map(|_| 3.0 * normal(&mut rng)).collect();
    let mut rows = Vec::with_capacity(n * dim);
    for _ in 0..n {
        let component: usize = rng.random_range(0..10);
        for column in 0..dim {
            let width = 0.5 + (component * dim + column) as f64 / (10 * dim) as f64;
            rows.push(means[component * dim + column] + width * normal(&mut rng));
        }
    }
    rows
}

fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(f64, T)> {
    let start = Instant::now();
    let result = work()?;
    Ok((start.elapsed().as_secs_f64(), result))
}

#[expect(clippy::print_stdout, reason = "the tables are this program's output")]
fn time_thin(gpu: &Device) -> Result<()> {
    let rows = Points::from_vec(ten_normals(100_000, 5), 5)?;
    let thinned = |device: &Device, rows: &Points, count: usize| -> Result<(f64, f64, Chosen, String)> {
        let phases = Phases::new();
        let watch = |progress: Progress| phases.see(progress);
        let choose = Choose::thin(count)?.scale(Scale::None).kernel(Kernel::gaussian(1.5)?);
        let problem = Problem::new(rows.clone(), choose.device(device.clone()))?;
        let (compared, target) = timed(|| problem.prepare(&watch))?;
        let (chosen, set) = timed(|| target.choose(&watch))?;
        Ok((compared, chosen, set, phases.told()))
    };
    // Kernels are compiled when first used.
    thinned(gpu, &rows.select(&(0..20_000).collect::<Vec<_>>())?, 10)?;
    let two = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("two threads");
    println!("thin 100,000 × 5 to 1,000: seconds to compare, to choose, together; MMD, D");
    let mut together = Vec::new();
    for (name, (compared, chosen, set, phases)) in [
        ("two threads of the CPU", two.install(|| thinned(&Device::cpu(), &rows, 1000))?),
        ("GPU", thinned(gpu, &rows, 1000)?),
        ("GPU, again", thinned(gpu, &rows, 1000)?),
    ] {
        let objective =
            set.refined.as_ref().and_then(|set| set.objective).map_or(0.0, |objective| objective.end);
        let error = set.error().unwrap_or_default();
        println!(
            "  {name:<24} {compared:.4} {chosen:.4} {:.4}; {error:.6} {objective:.6}",
            compared + chosen
        );
        println!("    {phases}");
        together.push(compared + chosen);
    }
    println!("  {:.1} times as fast", together[0] / together[1].min(together[2]));
    Ok(())
}

/// Which phase it is.
fn phase(progress: Progress) -> &'static str {
    match progress {
        Progress::Embedding { .. } => "pairs",
        Progress::Landmarks { .. } => "landmarks chosen",
        Progress::Summing { .. } => "rows summed at them",
        Progress::Solving { .. } => "solved",
        Progress::Projecting { .. } => "projected",
        Progress::Herding { .. } => "herded",
        Progress::Sweeping { .. } => "swept",
        Progress::Searching { .. } => "searched",
        Progress::Measuring { .. } => "measured",
        _ => "other",
    }
}

/// When each phase has begun, in seconds from the start; a phase that comes again is told of again.
struct Phases {
    start: Instant,
    begun: Mutex<Vec<(&'static str, f64)>>,
}

impl Phases {
    fn new() -> Phases {
        Phases { start: Instant::now(), begun: Mutex::default() }
    }

    fn see(&self, progress: Progress) -> ControlFlow<()> {
        let mut begun = self.begun.lock().expect("no panic");
        if begun.last().is_none_or(|(last, _)| *last != phase(progress)) {
            begun.push((phase(progress), self.start.elapsed().as_secs_f64()));
        }
        ControlFlow::Continue(())
    }

    fn told(&self) -> String {
        let begun = self.begun.lock().expect("no panic");
        begun.iter().map(|(name, at)| format!("{name} from {at:.3}")).collect::<Vec<_>>().join(", ")
    }
}

#[expect(clippy::print_stdout, reason = "the tables are this program's output")]
fn time_landmarks(gpu: &Device) -> Result<()> {
    let (n, dim) = (10_000_000, 57);
    let parts: Vec<Vec<f64>> = (0..64u64)
        .into_par_iter()
        .map(|part| {
            let mut rng = Pcg64::seed_from_u64(part);
            let rows = n * (part as usize + 1) / 64 - n * part as usize / 64;
            (0..rows * dim).map(|_| normal(&mut rng)).collect()
        })
        .collect();
    let rows = Points::from_vec(parts.concat(), dim)?;
    drop(parts);
    let choose = Choose::herd(1000)?.unique(true).scale(Scale::None).kernel(Kernel::gaussian(10.0)?);
    let choose = choose.device(gpu.clone());
    println!("landmarks: 1,000 of {n} × {dim}; seconds");
    for run in 0..2 {
        let (made, problem) = timed(|| Problem::new(rows.clone(), choose.clone()))?;
        let phases = Phases::new();
        let watch = |progress: Progress| phases.see(progress);
        let (compared, target) = timed(|| problem.prepare(&watch))?;
        let (chosen, set) = timed(|| target.choose(&watch))?;
        let subset = rows.select(&set.rows)?;
        let (functions, _) = timed(|| Marginals::distances(&rows, None, 0.0, &[(&subset, None)]))?;
        let told = (set.error().unwrap_or_default(), set.standard_error.unwrap_or_default());
        println!(
            "  run {run}: made ready {made:.3}, compared {compared:.3}, chosen with all errors {chosen:.3}; together {:.3}; the \
             distribution functions once more {functions:.3}",
            made + compared + chosen
        );
        println!(
            "    {}; MMD {:.6} ± {:.6}, cdf {:.6}",
            phases.told(),
            told.0,
            told.1,
            set.errors.get(Measure::Cdf).unwrap_or_default()
        );
    }
    Ok(())
}
