//! What landmarks cost and lose beside the exact mean embedding, as the tables of `docs/performance.md`.
//!
//! `cargo run --release -p bench-ours --bin landmarks -- quality [ROWS [SEEDS]]`: the MMD of rows herded with landmarks beside
//! that of exact herding, both from all pairs, on a mixture in five dimensions and on heavy tails in 57.
//! `… -- pool ROWS`: the same for samples of several sizes to choose from.
//! `… -- calibration [RUNS]`: in how many seeded runs the exact MMD lies within one, two and three stated errors.
//! `… -- linalg`: seconds for the Cholesky factor of landmarks and for the eigenvectors of `--scale pca`.

use std::error::Error;
use std::time::Instant;

use supersample::linalg::{Factor, symmetric_eigen};
use supersample::scale::Scale;
use supersample::target::{GaussianMixture, IndependentNormals};
use supersample::task::{Choose, Chosen, EmbeddingChoice, Problem, Target};
use supersample::{Kernel, Points, unwatched};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default: usize| match arguments.get(i) {
        Some(text) => text.parse::<usize>().map_err(|_| format!("'{text}' is not a number")),
        None => Ok(default),
    };
    match arguments.first().map(String::as_str) {
        Some("quality") => quality(number(1, 200_000)?, number(2, 3)?),
        Some("pool") => pool(number(1, 200_000)?),
        Some("calibration") => calibration(number(1, 200)?),
        Some("linalg") => linalg(),
        _ => Err("give quality, pool, calibration or linalg".into()),
    }
}

/// Data like shape A of the comparison with peers (d = 5) and like its shape B (d = 57).
#[derive(Clone, Copy)]
enum Data {
    Mixture,
    Heavy,
}

impl Data {
    const ALL: [Data; 2] = [Data::Mixture, Data::Heavy];

    fn name(self) -> &'static str {
        match self {
            Data::Mixture => "mixture, d = 5, ℓ = 1.5",
            Data::Heavy => "heavy tails, d = 57, ℓ = 10",
        }
    }

    fn herd(self, count: usize) -> Outcome<Choose> {
        let bandwidth = match self {
            Data::Mixture => 1.5,
            Data::Heavy => 10.0,
        };
        Ok(Choose::herd(count)?.scale(Scale::None).kernel(Kernel::gaussian(bandwidth)?))
    }

    fn draws(self, n: usize) -> Outcome<Points> {
        match self {
            Data::Mixture => Ok(GaussianMixture::random(10, 5, 1)?.sample(n, 3)?),
            // A multivariate t with five degrees of freedom, to unit variance.
            Data::Heavy => {
                let normal = IndependentNormals::new(&[0.0; 57], &[1.0; 57])?.sample(n, 3)?;
                let others = IndependentNormals::new(&[0.0; 5], &[1.0; 5])?.sample(n, 4)?;
                let mut values = normal.as_slice().to_vec();
                for (row, other) in values.chunks_exact_mut(57).zip(others.rows()) {
                    let radius = (3.0 / other.iter().map(|x| x * x).sum::<f64>()).sqrt();
                    row.iter_mut().for_each(|x| *x *= radius);
                }
                Ok(Points::from_vec(values, 57)?)
            }
        }
    }

    fn exact(self, draws: &Points) -> Outcome<Target> {
        let choose = self.herd(1)?.embedding(EmbeddingChoice::Exact);
        Ok(Problem::new(draws.clone(), choose)?.prepare(&unwatched)?)
    }

    fn on_landmarks(self, count: usize, seed: u64) -> Outcome<Choose> {
        Ok(self.herd(count)?.embedding(EmbeddingChoice::Landmarks).seed(seed))
    }
}

fn herded(draws: &Points, choose: Choose) -> Outcome<Chosen> {
    Ok(Problem::new(draws.clone(), choose)?.prepare(&unwatched)?.choose(&unwatched)?)
}

fn error_of(exact: &Target, rows: &[usize]) -> Outcome<f64> {
    Ok(exact.pool()?.mmd_of_rows(rows)?.ok_or("‖μ‖² is known")?)
}

/// The exact MMD after each of the rows.
fn trace(exact: &Target, rows: &[usize]) -> Outcome<Vec<f64>> {
    Ok(exact.trace_of(rows, &unwatched)?.iter().filter_map(|pick| pick.error).collect())
}

/// The mean of t·E_t over the last fifth of the picks. The MMD goes up and down from one pick to the next, so that at one T two
/// runs that are as good as each other differ.
fn level(errors: &[f64]) -> f64 {
    let from = errors.len() - errors.len() / 5;
    let last = errors.iter().enumerate().skip(from);
    last.map(|(t, error)| (t + 1) as f64 * error).sum::<f64>() / (errors.len() - from) as f64
}

#[expect(clippy::print_stdout, reason = "the tables are this program's output")]
fn quality(n: usize, seeds: usize) -> Outcome<()> {
    println!("| {n} rows | T | exact | s | landmarks | s | ratio | ratio of levels | stated | deviation |");
    println!("{}|", "|---".repeat(10));
    for data in Data::ALL {
        let draws = data.draws(n)?;
        let clock = Instant::now();
        let exact = data.exact(&draws)?;
        let prepared = clock.elapsed().as_secs_f64();
        for count in [100, 300, 1000] {
            let clock = Instant::now();
            let best = trace(&exact, &exact.choose_by(&data.herd(count)?, &unwatched)?.rows)?;
            let exact_seconds = prepared + clock.elapsed().as_secs_f64();
            for seed in 0..seeds as u64 {
                let clock = Instant::now();
                let chosen = herded(&draws, data.on_landmarks(count, seed)?)?;
                let seconds = clock.elapsed().as_secs_f64();
                let (error, truth) = (chosen.error().ok_or("known")?, trace(&exact, &chosen.rows)?);
                let stated = chosen.standard_error.ok_or("an estimate")?;
                let (least, reached) = (best[count - 1], truth[count - 1]);
                let (ratio, of_levels) = (reached / least, level(&truth) / level(&best));
                let (part, deviation) = (100.0 * stated / error, (error - reached) / stated);
                println!(
                    "| {} | {count} | {least:.6} | {exact_seconds:.1} | {reached:.6} | {seconds:.1} | {ratio:.3} \
                     | {of_levels:.3} | {part:.2} % | {deviation:.1} |",
                    data.name()
                );
            }
        }
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the table is this program's output")]
fn pool(n: usize) -> Outcome<()> {
    println!("| {n} rows | T | chosen from | MMD | times all rows |");
    println!("{}|", "|---".repeat(5));
    for data in Data::ALL {
        let draws = data.draws(n)?;
        for count in [100, 1000] {
            let mut all = None;
            for rows in [n, 200_000, 100_000, 50_000, 20_000] {
                let chosen = herded(&draws, data.on_landmarks(count, 0)?.pool_rows(rows))?;
                let error = chosen.error().ok_or("known")?;
                let all = *all.get_or_insert(error);
                println!("| {} | {count} | {rows} | {error:.6} | {:.3} |", data.name(), error / all);
            }
        }
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the table is this program's output")]
fn calibration(runs: usize) -> Outcome<()> {
    const ROWS: usize = 20_000;
    println!("| {ROWS} rows, {runs} runs | T | landmarks | within 1 | within 2 | within 3 | rms deviation |");
    println!("{}|", "|---".repeat(7));
    for data in Data::ALL {
        let draws = data.draws(ROWS)?;
        let exact = data.exact(&draws)?;
        for count in [50, 200] {
            let mut deviations = Vec::with_capacity(runs);
            for seed in 0..runs as u64 {
                let chosen = herded(&draws, data.on_landmarks(count, seed)?.landmarks(2 * count))?;
                let (error, stated) = (chosen.error().ok_or("known")?, chosen.standard_error.ok_or("known")?);
                deviations.push((error - error_of(&exact, &chosen.rows)?) / stated);
            }
            let within = |most: f64| deviations.iter().filter(|deviation| deviation.abs() <= most).count();
            let rms = (deviations.iter().map(|d| d * d).sum::<f64>() / runs as f64).sqrt();
            let [one, two, three] = [1.0, 2.0, 3.0].map(within);
            println!("| {} | {count} | {} | {one} | {two} | {three} | {rms:.2} |", data.name(), 2 * count);
        }
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the table is this program's output")]
fn linalg() -> Outcome<()> {
    println!("| | d | s |\n|---|---|---|");
    let matrix = |dim: usize| -> Vec<f64> {
        let entry = |i: usize, j: usize| (-(i.abs_diff(j) as f64) / 3.0).exp() + f64::from(u8::from(i == j));
        (0..dim * dim).map(|at| entry(at / dim, at % dim)).collect()
    };
    for dim in [1000, 2000, 4000] {
        let (a, clock) = (matrix(dim), Instant::now());
        let factor = Factor::new(a, dim, 0.0, 1e-12).ok_or("a definite matrix")?;
        factor.solve(&mut vec![1.0; dim]);
        println!("| Cholesky factor | {dim} | {:.3} |", clock.elapsed().as_secs_f64());
    }
    for dim in [57, 384, 1000] {
        let (a, clock) = (matrix(dim), Instant::now());
        let (values, _) = symmetric_eigen(&a, dim);
        println!("| eigenvectors | {dim} | {:.3} |", clock.elapsed().as_secs_f64());
        debug_assert_eq!(values.len(), dim);
    }
    Ok(())
}
