//! Times on the device, from points that are there to means and picks: `cargo run --release -p supersample-gpu --example timings`.
//!
//! Arguments, if any, choose what is timed: any of means, herd, landmarks. Normal draws, a seed each; the best of three runs
//! after one that compiles the kernels. Errors are the worst of μ at 20 points against the plain sum in f64.
//!
//! `timings file PATH DIM LENGTH` times the mean of a Gaussian over the doubles of a file (bench/peers/gpu.py).

use std::ops::ControlFlow;
use std::time::Instant;

use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;
use rayon::prelude::*;
use supersample_gpu::{Device, Mean, Points, Scores};
use supersample_sum::{Precision, Rows, Shape};

fn normal(n: usize, dim: usize) -> Vec<f64> {
    let parts: Vec<Vec<f64>> = (0..64u64)
        .into_par_iter()
        .map(|part| {
            let mut rng = Pcg64::seed_from_u64(part);
            let rows = n * (part as usize + 1) / 64 - n * part as usize / 64;
            (0..rows * dim).map(|_| StandardNormal.sample(&mut rng)).collect()
        })
        .collect();
    parts.concat()
}

fn best_of<T>(device: &Device, runs: usize, mut work: impl FnMut() -> T) -> (f64, T) {
    let mut result = work();
    let mut best = f64::INFINITY;
    for _ in 0..runs {
        device.synchronize().expect("a device that works");
        let start = Instant::now();
        result = work();
        device.synchronize().expect("a device that works");
        best = best.min(start.elapsed().as_secs_f64());
    }
    (best, result)
}

fn worst_error(shape: &Shape, at: Rows, samples: Rows, got: &[f64]) -> f64 {
    let n = at.len();
    let errors = (0..20usize).into_par_iter().map(|q| {
        let i = q * n / 20;
        let sum: f64 = samples.iter().map(|y| shape.value(at.row(i), y)).sum();
        (got[i] - sum / samples.len() as f64).abs()
    });
    errors.reduce(|| 0.0, f64::max)
}

fn completed(flow: ControlFlow<(), Mean>) -> Mean {
    match flow {
        ControlFlow::Continue(mean) => mean,
        ControlFlow::Break(()) => unreachable!("nobody watches"),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |name: &str| asked.is_empty() || asked.iter().any(|word| word == name);
    let device = Device::open()?;
    if let [word, path, dim, length] = &asked[..]
        && word == "file"
    {
        return time_file(&device, path, dim.parse()?, length.parse()?);
    }
    println!("{}", device.name());
    println!("{:<44} {:>9} {:>12} {:>10}", "", "seconds", "Gpairs/s", "error");
    if wanted("means") {
        use Precision::{Double, Mixed};
        let median = |dim: usize| (2.0 * dim as f64).sqrt();
        for (n, dim, shape, precision) in [
            (1_000_000, 2, Shape::Gaussian { length: 1.0 }, Mixed),
            (1_000_000, 2, Shape::Gaussian { length: median(2) }, Mixed),
            (1_000_000, 5, Shape::Gaussian { length: 1.0 }, Mixed),
            (1_000_000, 5, Shape::Gaussian { length: median(5) }, Mixed),
            (1_000_000, 10, Shape::Gaussian { length: median(10) }, Mixed),
            (1_000_000, 20, Shape::Gaussian { length: median(20) }, Mixed),
            (1_000_000, 57, Shape::Gaussian { length: 10.0 }, Mixed),
            (1_000_000, 57, Shape::Gaussian { length: median(57) }, Mixed),
            (1_000_000, 57, Shape::Gaussian { length: 4.0 }, Mixed),
            (300_000, 200, Shape::Gaussian { length: median(200) }, Mixed),
            (1_000_000, 57, Shape::Gaussians { lengths: vec![5.0, 10.0, 20.0].into() }, Mixed),
            (1_000_000, 57, Shape::Matern52 { length: 10.0 }, Mixed),
            (1_000_000, 57, Shape::Matern12 { length: 10.0 }, Mixed),
            (1_000_000, 57, Shape::Imq { length: 10.0 }, Mixed),
            (1_000_000, 5, Shape::Laplace { length: 3.0 }, Mixed),
            (1_000_000, 5, Shape::Gaussian { length: 1.0 }, Double),
            (300_000, 57, Shape::Gaussian { length: 10.0 }, Double),
        ] {
            let values = normal(n, dim);
            let rows = Rows::new(&values, dim);
            let points = Points::new(&device, shape.clone(), rows, precision)?;
            let (seconds, mean) =
                best_of(&device, 3, || completed(points.own_mean(None, None).expect("memory")));
            let got = mean.to_vec()?;
            let how = match (points.precision(), points.use_products()) {
                (Double, _) => "f64",
                (_, true) => "products",
                _ => "differences",
            };
            let error = worst_error(&shape, rows, rows, &got);
            let name = format!("{n} × {dim} {} {how}", short(&shape));
            let rate = (n as f64).powi(2) / seconds / 1e9;
            println!("{name:<44} {seconds:>9.4} {rate:>12.0} {error:>10.1e}");
        }
    }
    if wanted("herd") {
        for (dim, length, precision) in
            [(5, 1.5, Precision::Mixed), (57, 10.0, Precision::Mixed), (5, 1.5, Precision::Double)]
        {
            let n = 1_000_000;
            let values = normal(n, dim);
            let shape = Shape::Gaussian { length };
            let points = Points::new(&device, shape, Rows::new(&values, dim), precision)?;
            let mu = completed(points.own_mean(None, None)?).to_vec()?;
            let (seconds, picks) = best_of(&device, 3, || {
                let mut scores = Scores::new(points.clone(), Vec::new(), &mu, None, true).expect("memory");
                device.synchronize().expect("a device that works");
                let start = Instant::now();
                let picks = scores.herd(1.0, 1000, None).expect("a device that works");
                (start.elapsed().as_secs_f64(), picks)
            });
            let name = format!("1000 picks of {n} × {dim} {precision:?}");
            println!("{name:<44} {:>9.4} (with μ sent {seconds:.4})   last {:?}", picks.0, picks.1.last());
        }
    }
    if wanted("landmarks") {
        let (n, dim) = (10_000_000, 57);
        let values = normal(n, dim);
        let rows = Rows::new(&values, dim);
        let landmarks = Rows::new(&values[..2000 * dim], dim);
        let shape = Shape::Gaussian { length: 10.0 };
        let start = Instant::now();
        let samples = Points::new(&device, shape.clone(), rows, Precision::Mixed)?;
        device.synchronize()?;
        let sent = start.elapsed().as_secs_f64();
        let at = samples.beside(landmarks)?.ok_or("spread too wide")?;
        let (seconds, mean) =
            best_of(&device, 3, || completed(at.mean_over(&samples, None, None).expect("memory")));
        let error = worst_error(&shape, landmarks, rows, &mean.to_vec()?);
        let rate = 2000.0 * n as f64 / seconds / 1e9;
        let name = format!("landmarks 2000 over {n} × {dim}");
        println!("{name:<44} {seconds:>9.4} {rate:>12.0} {error:>10.1e}   (sending and packing {sent:.2})");
    }
    Ok(())
}

/// Prints the seconds and the worst error of μ.
fn time_file(device: &Device, path: &str, dim: usize, length: f64) -> Result<(), Box<dyn std::error::Error>> {
    let bytes = std::fs::read(path)?;
    let (numbers, _) = bytes.as_chunks::<8>();
    let values: Vec<f64> = numbers.iter().map(|&number| f64::from_le_bytes(number)).collect();
    let rows = Rows::new(&values, dim);
    let shape = Shape::Gaussian { length };
    for precision in [Precision::Mixed, Precision::Double] {
        let points = Points::new(device, shape.clone(), rows, precision)?;
        let (seconds, mean) = best_of(device, 3, || completed(points.own_mean(None, None).expect("memory")));
        println!("{seconds} {}", worst_error(&shape, rows, rows, &mean.to_vec()?));
    }
    Ok(())
}

fn short(shape: &Shape) -> String {
    let text = format!("{shape:?}");
    text.replace(" { length: ", "(").replace(" { lengths: ", "(").replace(" }", ")")
}
