//! Benchmarks of the sums that `supersample` spends its time on, at several sizes: best of several runs, one line each.
//!
//! `cargo bench -p supersample-sum --bench sums [-- PART]` runs those whose name contains PART. A name says what was
//! measured: `own/gaussian/n=32768/d=5/mixed/avx512`. Every kernel has its own loop, so each is listed; `SUPERSAMPLE_ISA`
//! (avx512, avx2, sse2) chooses another instruction set and `RAYON_NUM_THREADS` the threads. `-- once LOOP` runs a small case of
//! one hot loop once, for a counter of instructions (`.ci/instructions`); LOOP is pairs, wide, pick or look.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use supersample_sum::{Packed, Precision, Rows, Scores, Shape, instruction_set};

/// Pairs are some ten of these apart whatever the dimension.
const LENGTH: f64 = 0.03;

const KERNELS: [(&str, Shape); 9] = [
    ("gaussian", Shape::Gaussian { length: LENGTH }),
    ("laplace", Shape::Laplace { length: LENGTH }),
    ("matern12", Shape::Matern12 { length: LENGTH }),
    ("matern32", Shape::Matern32 { length: LENGTH }),
    ("matern52", Shape::Matern52 { length: LENGTH }),
    ("imq", Shape::Imq { length: LENGTH }),
    ("linear", Shape::Linear),
    ("energy", Shape::Energy),
    ("manhattan(60)", Shape::Manhattan { length: 60.0 }),
];

/// What a benchmark is about.
struct Case {
    name: &'static str,
    kernel: Shape,
    n: usize,
    dim: usize,
    precision: Precision,
    is_by_products: bool,
}

impl Case {
    fn name(&self, routine: &str) -> String {
        let precision = match self.is_by_products {
            true => "products".to_string(),
            false => format!("{:?}", self.precision).to_lowercase(),
        };
        let Case { name, n, dim, .. } = self;
        format!("{routine}/{name}/n={n}/d={dim}/{precision}/{}", instruction_set())
    }

    fn points(&self, seed: u128) -> Vec<f64> {
        let mut random = Pcg64Mcg::new(seed);
        let side = 1.0 / (self.dim as f64).sqrt();
        (0..self.n * self.dim).map(|_| side * random.random::<f64>()).collect()
    }

    fn packed(&self, points: &[f64]) -> Packed {
        let (kernel, rows) = (self.kernel.clone(), Rows::new(points, self.dim));
        let packed = match self.is_by_products {
            true => Packed::by_products(kernel, rows, None).expect("wide points near their centre"),
            false => Packed::new(kernel, rows, self.precision),
        };
        assert_eq!(packed.precision(), self.precision, "{}", self.name);
        packed
    }
}

fn main() {
    // `cargo bench` adds flags of its own.
    let mut words = std::env::args().skip(1).filter(|argument| !argument.starts_with('-'));
    let wanted = words.next().unwrap_or_default();
    if wanted == "once" {
        return once(&words.next().unwrap_or_default());
    }
    let threads = rayon::broadcast(|_| ()).len();
    println!("{:<58} {:>12} {:>14}", format!("best of several, {threads} threads"), "time", "Gpair/s");
    for case in cases() {
        for (routine, time) in [("own", own as fn(&Case) -> _), ("other", other), ("pick", pick)] {
            let name = case.name(routine);
            if name.contains(&wanted) {
                let (best, pairs) = time(&case);
                let rate = pairs / best.as_secs_f64() / 1e9;
                println!("{name:<58} {:>12} {rate:>14.3}", format!("{best:.3?}"));
            }
        }
    }
}

/// A small case of one hot loop, once.
fn once(name: &str) {
    let gaussian = |length| Shape::Gaussian { length };
    let case = |n, dim, length, is_by_products| Case {
        name: "gaussian",
        kernel: gaussian(length),
        n,
        dim,
        precision: Precision::Mixed,
        is_by_products,
    };
    let own = |case: Case| {
        let mut values = vec![0.0; case.n];
        case.packed(&case.points(1)).own_mean_into(None, &mut values);
        black_box(&values);
    };
    match name {
        "pairs" => own(case(4096, 5, LENGTH, false)),
        "wide" => own(case(2048, 57, 1.0, true)),
        "pick" => {
            let case = case(8192, 5, LENGTH, false);
            let points = case.points(1);
            let (packed, mu) = (case.packed(&points), vec![0.5; case.n]);
            let (mut sums, mut chosen) = (vec![0.0; case.n], 0);
            for t in 1..=100 {
                let scores = Scores { factor: t as f64 + 1.0, mu: &mu, offsets: None };
                let y = &points[chosen * case.dim..(chosen + 1) * case.dim];
                chosen = packed.add_row_and_argmax(y, -1.0, &mut sums, scores).expect("finite scores").0;
            }
            black_box(chosen);
        }
        "look" => {
            let case = case(8192, 5, LENGTH, false);
            let points = case.points(1);
            let packed = case.packed(&points);
            let mut rows = packed.no_rows();
            for i in 0..2 {
                let row = rows.add();
                packed.fill_row(&points[i * case.dim..(i + 1) * case.dim], &[], &mut rows.row_mut(row));
            }
            let (mut sums, noise) = (vec![0.0; case.n], vec![0.25; case.n]);
            for _ in 0..200 {
                black_box(rows.row(0).argmax_with_noise(&sums, &noise, 0.1));
                rows.row(0).exchange(rows.row(1), &mut sums);
            }
        }
        other => panic!("{other} is no hot loop: pairs, wide, pick or look"),
    }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for precision in [Precision::Mixed, Precision::Double] {
        for dim in [1, 2, 5, 10, 57, 500] {
            let (name, kernel) = KERNELS[0].clone();
            let n = if dim > 100 { 16_384 } else { 32_768 };
            cases.push(Case { name, kernel, n, dim, precision, is_by_products: false });
        }
        for (name, kernel) in KERNELS.into_iter().skip(1) {
            // Kernels without a bound are f64 whatever is asked for.
            if !matches!(kernel, Shape::Linear | Shape::Energy) || precision == Precision::Double {
                cases.push(Case { name, kernel, n: 32_768, dim: 5, precision, is_by_products: false });
            }
        }
    }
    for dim in [16, 57, 500] {
        let (name, kernel) = ("gaussian", Shape::Gaussian { length: 1.0 });
        let (n, precision) = (if dim > 100 { 16_384 } else { 32_768 }, Precision::Mixed);
        cases.push(Case { name, kernel, n, dim, precision, is_by_products: true });
    }
    cases
}

/// The mean embedding of points at themselves, packing included: n²/2 pairs.
fn own(case: &Case) -> (Duration, f64) {
    let points = case.points(1);
    let mut values = vec![0.0; case.n];
    let best = fastest(|| {
        case.packed(&points).own_mean_into(None, &mut values);
        black_box(&values);
    });
    (best, case.n as f64 * case.n as f64 / 2.0)
}

/// The mean embedding of points at as many others: n² pairs.
fn other(case: &Case) -> (Duration, f64) {
    let (samples, at) = (case.packed(&case.points(1)), case.points(2));
    let mut values = vec![0.0; case.n];
    let best = fastest(|| {
        let at = samples.beside(Rows::new(&at, case.dim)).expect("points spread like the samples");
        at.mean_into(&samples, None, &mut values);
        black_box(&values);
    });
    (best, case.n as f64 * case.n as f64)
}

/// One pick: a kernel row over the pool and the search for the next maximum. n pairs.
fn pick(case: &Case) -> (Duration, f64) {
    const PICKS: usize = 50;
    let points = case.points(1);
    let packed = case.packed(&points);
    let mut mu = vec![0.0; case.n];
    packed.own_mean_into(None, &mut mu);
    let best = fastest(|| {
        let (mut sums, mut chosen) = (vec![0.0; case.n], 0);
        for t in 1..=PICKS {
            let scores = Scores { factor: t as f64 + 1.0, mu: &mu, offsets: None };
            let y = &points[chosen * case.dim..(chosen + 1) * case.dim];
            chosen = packed.add_row_and_argmax(y, -1.0, &mut sums, scores).expect("finite scores").0;
        }
        black_box(chosen);
    });
    (best / PICKS as u32, case.n as f64)
}

/// The shortest of several runs: at least three, more where they are short.
fn fastest(mut run: impl FnMut()) -> Duration {
    let (start, mut best, mut runs) = (Instant::now(), Duration::MAX, 0);
    while runs < 3 || (runs < 50 && start.elapsed() < Duration::from_millis(500)) {
        let clock = Instant::now();
        run();
        best = best.min(clock.elapsed());
        runs += 1;
    }
    best
}
