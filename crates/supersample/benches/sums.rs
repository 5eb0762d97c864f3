//! The three sums the library spends its time on, each at several sizes: best of several runs, one line each.
//!
//! `cargo bench -p supersample --bench sums [-- PART]` runs those whose name contains PART. A name says what was
//! measured: `own/gaussian/n=32768/d=5/mixed/avx512`. Every kernel has its own loop, so each is listed; `SUPERSAMPLE_ISA`
//! (avx512, avx2, sse4.2, sse2) chooses another instruction set and `RAYON_NUM_THREADS` the threads.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use supersample::{
    Domain, Empirical, Herder, Kernel, MeanEmbedding, Points, Precision, Result, instruction_set,
};

/// What a benchmark is about, and its name.
struct Case {
    kernel: &'static str,
    n: usize,
    dim: usize,
    precision: Precision,
}

impl Case {
    fn name(&self, routine: &str) -> String {
        let precision = format!("{:?}", self.precision).to_lowercase();
        let Case { kernel, n, dim, .. } = self;
        format!("{routine}/{kernel}/n={n}/d={dim}/{precision}/{}", instruction_set())
    }

    /// Pairs are some ten bandwidths apart whatever the dimension, so that E_T is far above where the herder looks up
    /// its last digits in f64, once, at the cost of a whole embedding.
    fn points(&self, seed: u128) -> Result<Points> {
        let mut random = Pcg64Mcg::new(seed);
        let side = 1.0 / (self.dim as f64).sqrt();
        Points::from_vec((0..self.n * self.dim).map(|_| side * random.random::<f64>()).collect(), self.dim)
    }

    fn embedding(&self, points: &Points) -> Result<Empirical> {
        let bandwidth = if self.kernel == "linear" { &[][..] } else { &[0.03] };
        let kernel = Kernel::named(self.kernel, bandwidth)?;
        Ok(Empirical::new(kernel, points.clone())?.precision(self.precision))
    }
}

fn main() -> Result<()> {
    // `cargo bench` adds flags of its own.
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    let threads = rayon::broadcast(|_| ()).len();
    println!("{:<58} {:>12} {:>14}", format!("best of several, {threads} threads"), "time", "Gpair/s");
    for case in cases() {
        own(&case, &wanted)?;
        other(&case, &wanted)?;
        pick(&case, &wanted)?;
    }
    Ok(())
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for precision in [Precision::Mixed, Precision::Double] {
        for dim in [1, 2, 5, 10, 57, 500] {
            cases.push(Case {
                kernel: "gaussian",
                n: if dim > 100 { 16_384 } else { 32_768 },
                dim,
                precision,
            });
        }
        for kernel in Kernel::NAMES.iter().filter(|name| **name != "gaussian") {
            // The linear kernel is f64 whatever is asked for.
            if *kernel != "linear" || precision == Precision::Double {
                cases.push(Case { kernel, n: 32_768, dim: 5, precision });
            }
        }
    }
    cases
}

/// The mean embedding of points at themselves: n²/2 pairs.
fn own(case: &Case, wanted: &str) -> Result<()> {
    let name = case.name("own");
    if !name.contains(wanted) {
        return Ok(());
    }
    let points = case.points(1)?;
    let mut values = vec![0.0; case.n];
    let best = fastest(|| {
        // A new one each time, since an embedding remembers its values.
        let mu = case.embedding(&points)?;
        let clock = Instant::now();
        mu.values_into(&points, &mut values);
        black_box(&values);
        assert_eq!(mu.precision_in_use(), case.precision, "{name}");
        Ok(clock.elapsed())
    })?;
    show(&name, best, case.n as f64 * case.n as f64 / 2.0);
    Ok(())
}

/// The mean embedding of points at as many others: n² pairs.
fn other(case: &Case, wanted: &str) -> Result<()> {
    let name = case.name("other");
    if !name.contains(wanted) {
        return Ok(());
    }
    let (mu, at) = (case.embedding(&case.points(1)?)?, case.points(2)?);
    let mut values = vec![0.0; case.n];
    let best = fastest(|| {
        let clock = Instant::now();
        mu.values_into(&at, &mut values);
        black_box(&values);
        Ok(clock.elapsed())
    })?;
    show(&name, best, case.n as f64 * case.n as f64);
    Ok(())
}

/// One pick: a kernel row over the pool and the search for the next maximum. n pairs.
fn pick(case: &Case, wanted: &str) -> Result<()> {
    const PICKS: usize = 50;
    let name = case.name("pick");
    if !name.contains(wanted) {
        return Ok(());
    }
    let points = case.points(1)?;
    let herder = Herder::new(case.embedding(&points)?, Domain::Pool(points))?;
    let best = fastest(|| {
        let mut herder = herder.clone();
        let clock = Instant::now();
        black_box(herder.by_ref().take(PICKS).last());
        Ok(clock.elapsed() / PICKS as u32)
    })?;
    show(&name, best, case.n as f64);
    Ok(())
}

/// The shortest of several runs: at least three, more where they are short.
fn fastest(mut run: impl FnMut() -> Result<Duration>) -> Result<Duration> {
    let (start, mut best, mut runs) = (Instant::now(), Duration::MAX, 0);
    while runs < 3 || (runs < 50 && start.elapsed() < Duration::from_millis(500)) {
        best = best.min(run()?);
        runs += 1;
    }
    Ok(best)
}

fn show(name: &str, time: Duration, pairs: f64) {
    println!("{name:<58} {:>12} {:>14.3}", format!("{time:.3?}"), pairs / time.as_secs_f64() / 1e9);
}
