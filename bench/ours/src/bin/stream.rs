//! What a stream in one pass costs, and how good its rows are beside those of `thin` on the same rows, as in `docs/guide/stream.md`.
//!
//! `cargo run --release -p bench-ours --bin stream -- quality [ROWS]`: the MMD of a stream over that of `thin` on the same rows, both by the kernel and
//! the scaling that the stream has settled on.
//! `… -- speed ROWS N`: seconds and peak memory for rows of ten columns in single precision, the time to make them taken off.

use std::error::Error;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;
use supersample::scale::Scale;
use supersample::task::stream::Stream;
use supersample::task::{Choose, Problem, RowWeights, Subset, Target};
use supersample::{Points, unwatched};

#[allow(dead_code, reason = "the other programs need the rest")]
#[path = "../process.rs"]
mod process;

type Outcome<T> = Result<T, Box<dyn Error>>;

const BATCH: usize = 65_536;

/// Seeds of the search, of samples and of landmarks.
const SEEDS: u64 = 3;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |i: usize, default: usize| arguments.get(i).map_or(Ok(default), |text| text.parse::<usize>());
    match arguments.first().map(String::as_str) {
        Some("quality") => quality(number(1, 1_000_000)?),
        Some("speed") => speed(number(1, 100_000_000)?, number(2, 500)?),
        _ => Err("give quality or speed".into()),
    }
}

/// A mixture of three normal distributions.
fn rows(n: usize, dim: usize) -> Vec<f64> {
    let mut rng = Pcg64::seed_from_u64(dim as u64);
    let mut all = Vec::with_capacity(n * dim);
    for _ in 0..n {
        let mode = f64::from(rng.random_range(0..3u32));
        for j in 0..dim {
            let noise: f64 = StandardNormal.sample(&mut rng);
            all.push(noise * (0.5 + 0.25 * mode) + if j % 3 == mode as usize { 2.0 } else { 0.0 });
        }
    }
    all
}

fn sorted(rows: &[f64], dim: usize) -> Vec<f64> {
    let mut all: Vec<&[f64]> = rows.chunks(dim).collect();
    all.sort_by(|a, b| a[0].total_cmp(&b[0]));
    all.concat()
}

fn mmd(target: &Target, rows: &[usize]) -> Outcome<f64> {
    Ok(target.mmd(&Subset::of_rows(rows), &unwatched)?)
}

/// The geometric mean, and the largest over the smallest.
fn mean_and_spread(numbers: &[f64]) -> (f64, f64) {
    let mean = (numbers.iter().map(|x| x.ln()).sum::<f64>() / numbers.len() as f64).exp();
    let (low, high) = numbers.iter().fold((f64::MAX, 0.0f64), |(low, high), &x| (low.min(x), high.max(x)));
    (mean, high / low)
}

fn quality(n: usize) -> Outcome<()> {
    println!("geometric means over {SEEDS} seeds; in brackets the largest over the smallest");
    println!("rows     d    N    order     stream            told ± error         thin              ratio");
    for dim in [2, 5, 20] {
        for order in ["shuffled", "sorted"] {
            let all = rows(n, dim);
            let all = if order == "sorted" { sorted(&all, dim) } else { all };
            for chosen in [100, 500] {
                let (mut streamed, mut thinned, mut told) = (Vec::new(), Vec::new(), (0.0, 0.0));
                for seed in 0..SEEDS {
                    let choose = Choose::thin(chosen)?.diagnosis(false).seed(seed);
                    let mut stream = Stream::new(choose.clone())?;
                    for batch in all.chunks(BATCH * dim) {
                        stream.update(batch, dim, RowWeights::Equal, &unwatched)?;
                    }
                    let (target, found) = stream.choose(&unwatched)?;
                    told = (found.mmd().unwrap_or(f64::NAN), found.standard_error.unwrap_or(0.0));
                    let points = target.problem().scaled(&Points::from_rows(&all, dim)?)?;
                    let alike = choose.scale(Scale::None).kernel(target.problem().kernel().clone());
                    let thin = Problem::new(points, alike)?.prepare(&unwatched)?;
                    streamed.push(mmd(&thin, &found.rows)?);
                    thinned.push(mmd(&thin, &thin.choose(&unwatched)?.rows)?);
                }
                let ((stream, wide), (thin, range)) = (mean_and_spread(&streamed), mean_and_spread(&thinned));
                println!(
                    "{n:<8} {dim:<4} {chosen:<4} {order:<9} {stream:.6} ({wide:.2})   {:.6} ± {:.6}  {thin:.6} ({range:.2})   {:.3}",
                    told.0,
                    told.1,
                    stream / thin
                );
            }
        }
    }
    Ok(())
}

/// Numbers that are cheap to make and look uniform, in single precision.
fn fill(batch: &mut [f32], state: &mut u64) {
    for x in batch {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *x = (*state >> 40) as f32 / (1 << 24) as f32;
    }
}

fn speed(n: usize, chosen: usize) -> Outcome<()> {
    let dim = 10;
    let mut stream = Stream::new(Choose::thin(chosen)?)?;
    let (mut single, mut state) = (vec![0f32; BATCH * dim], 1);
    let (begun, mut made, mut done) = (Instant::now(), Duration::ZERO, 0);
    while done < n {
        let count = BATCH.min(n - done);
        let at = Instant::now();
        fill(&mut single[..count * dim], &mut state);
        made += at.elapsed();
        let batch: Vec<f64> = single[..count * dim].iter().map(|x| f64::from(*x)).collect();
        stream.update(&batch, dim, RowWeights::Equal, &unwatched)?;
        done += count;
    }
    let updated = begun.elapsed() - made;
    let at = Instant::now();
    let (_, found) = stream.choose(&unwatched)?;
    let (updated, choosing) = (updated.as_secs_f64(), at.elapsed().as_secs_f64());
    println!(
        "{n} x {dim} rows, {chosen} chosen: {updated:.1} s + {choosing:.1} s to choose; 1e9 rows: {:.1} min; peak memory {:.0} MiB; MMD {:.6} ± {:.6}",
        (updated * 1e9 / n as f64 + choosing) / 60.0,
        process::peak_bytes().unwrap_or(0) as f64 / (1 << 20) as f64,
        found.mmd().unwrap_or(f64::NAN),
        found.standard_error.unwrap_or(f64::NAN)
    );
    Ok(())
}
