//! The default search on small problems against the best of all sets.

use crate::common;

use common::{random_points, ready, rng};
use supersample::task::{Choose, Rows};
use supersample::unwatched;

/// ⟨φᵢ − μ, φⱼ − μ⟩ of the objective of all rows, from its D of one and of two rows: D² of T rows is the sum over their pairs,
/// divided by T².
fn products(n: usize, squared: &dyn Fn(&[usize]) -> f64) -> Vec<Vec<f64>> {
    let alone: Vec<f64> = (0..n).map(|i| squared(&[i])).collect();
    let product = |i: usize, j: usize| match i == j {
        true => alone[i],
        false => 2.0 * squared(&[i, j]) - (alone[i] + alone[j]) / 2.0,
    };
    (0..n).map(|i| (0..n).map(|j| product(i, j)).collect()).collect()
}

/// The smallest T²D² of `left` more rows from `first` on, with the sum of those before and of the products with each row.
fn smallest(products: &[Vec<f64>], first: usize, left: usize, sum: f64, beside: &[f64]) -> f64 {
    if left == 0 {
        return sum;
    }
    let with = |i: usize| {
        let more: Vec<f64> = beside.iter().zip(&products[i]).map(|(a, b)| a + b).collect();
        smallest(products, i + 1, left - 1, sum + products[i][i] + 2.0 * beside[i], &more)
    };
    (first..=products.len() - left).map(with).fold(f64::INFINITY, f64::min)
}

#[test]
fn the_default_search_finds_the_best_of_all_sets() {
    let sizes = [(40, 2), (30, 3), (24, 4), (20, 5), (17, 6), (22, 5)];
    for (seed, (n, size)) in sizes.into_iter().cycle().take(18).enumerate() {
        let points = random_points(n, 1 + seed % 4, &mut rng(700 + seed as u64));
        let target = ready(Rows::new(points), Choose::thin(size).unwrap());
        let chosen = target.choose(&unwatched).unwrap();
        let pool = target.pool().unwrap();
        let squared = |rows: &[usize]| pool.distance_of_rows(rows).unwrap().unwrap().powi(2);
        let best = smallest(&products(n, &squared), 0, size, 0.0, &vec![0.0; n]) / (size * size) as f64;
        let got = squared(&chosen.rows);
        assert!(got < best + 1e-9 * (1.0 + best), "{size} of {n}: {got} {best}");
        assert!(got > best - 1e-9 * (1.0 + best), "{size} of {n}: {got} {best}");
    }
}
