//! How often the default search finds the best of all sets.
//!
//! `cargo run --release -p bench-ours --bin optimum -- [PROBLEMS]`
//!
//! Problems have 20 to 60 rows in one to five columns, normal or with heavy tails, of which 2 to 6 are chosen with the defaults of
//! `thin`. The best set is found by trying all. Prints the number of problems in which the search found it, with the mean and the
//! largest of what its D was above the best.

use std::error::Error;

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StudentT};
use rand_pcg::Pcg64;
use supersample::task::{Choose, Problem, Rows};
use supersample::{Points, Pool, unwatched};

#[expect(clippy::print_stdout, reason = "the table is this program's output")]
fn main() -> Result<(), Box<dyn Error>> {
    let problems: u64 = std::env::args().nth(1).map_or(Ok(100), |text| text.parse())?;
    let mut gaps = Vec::new();
    for seed in 0..problems {
        let mut rng = Pcg64::seed_from_u64(seed);
        let (n, dim, size) =
            (rng.random_range(20..=60), rng.random_range(1..=5), rng.random_range(2..=6usize));
        let tails = StudentT::new(if seed % 2 == 0 { 1e6 } else { 3.0 })?;
        let points = Points::from_vec((0..n * dim).map(|_| tails.sample(&mut rng)).collect(), dim)?;
        let choose = Choose::thin(size)?;
        let target = Problem::new(Rows::new(points), choose)?.prepare(&unwatched)?;
        let rows = target.choose(&unwatched)?.rows;
        let pool = target.pool()?;
        let (found, best) = (squared(pool, &rows)?, best_of_all(pool, n, size)?);
        let gap = (found / best).sqrt() - 1.0;
        if gap > 1e-6 {
            println!("problem {seed}: {size} of {n} rows, {dim} columns: D is {gap:.4} above the best");
        }
        gaps.push(gap);
    }
    let (missed, count) = (gaps.iter().filter(|gap| **gap > 1e-6).count(), gaps.len());
    let mean = gaps.iter().sum::<f64>() / count as f64;
    println!(
        "best set in {} of {count}; gap of D {mean:.2e}, largest {:.2e}",
        count - missed,
        gaps.iter().fold(0.0, |a: f64, b| a.max(*b))
    );
    Ok(())
}

fn squared(pool: &Pool, rows: &[usize]) -> supersample::Result<f64> {
    Ok(pool.distance_of_rows(rows)?.map_or(f64::NAN, |distance| distance * distance))
}

/// The smallest D² of all sets of `size` rows, from the products ⟨φᵢ − μ, φⱼ − μ⟩, which D of one and of two rows gives.
fn best_of_all(pool: &Pool, n: usize, size: usize) -> supersample::Result<f64> {
    let alone = (0..n).map(|i| squared(pool, &[i])).collect::<supersample::Result<Vec<f64>>>()?;
    let mut products = vec![vec![0.0; n]; n];
    for i in 0..n {
        products[i][i] = alone[i];
        for j in 0..i {
            let product = 2.0 * squared(pool, &[i, j])? - (alone[i] + alone[j]) / 2.0;
            (products[i][j], products[j][i]) = (product, product);
        }
    }
    let mut chosen = Vec::with_capacity(size);
    Ok(smallest(&products, 0, size, 0.0, &mut chosen) / (size * size) as f64)
}

/// The smallest sum over pairs with `left` more rows from `first` on.
fn smallest(products: &[Vec<f64>], first: usize, left: usize, sum: f64, chosen: &mut Vec<usize>) -> f64 {
    if left == 0 {
        return sum;
    }
    let mut best = f64::INFINITY;
    for i in first..=products.len() - left {
        let beside: f64 = chosen.iter().map(|&j| products[i][j]).sum();
        chosen.push(i);
        best = best.min(smallest(products, i + 1, left - 1, sum + products[i][i] + 2.0 * beside, chosen));
        chosen.pop();
    }
    best
}
