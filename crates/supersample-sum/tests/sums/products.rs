//! Products of panels and triangular systems, against plain loops.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use supersample_sum::{ABREAST, PanelProduct, add_products, instruction_set, solve_panel};

fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut rng = Pcg64::seed_from_u64(seed);
    (0..count).map(|_| rng.random_range(-1.0..1.0)).collect()
}

#[test]
fn products_of_panels_are_sums_over_the_rows() {
    for (rows, lefts, rights) in [(1, 1, 1), (2, 3, 1), (7, 1, 4), (64, 4, 5), (131, 2, 3), (5, 0, 2)] {
        let size = rows * ABREAST;
        let (left, right) = (numbers(lefts * size, 1), numbers(rights * size, 2));
        // What is there already stays.
        let mut products: Vec<PanelProduct> = vec![[[0.25; ABREAST]; ABREAST]; lefts * rights];
        add_products(&left, &right, rows, &mut products);
        for (place, product) in products.iter().enumerate() {
            let (left, right) = (&left[place / rights * size..], &right[place % rights * size..]);
            for (i, line) in product.iter().enumerate() {
                for (j, got) in line.iter().enumerate() {
                    let term = |row: usize| left[row * ABREAST + i] * right[row * ABREAST + j];
                    let wanted = 0.25 + (0..rows).map(term).sum::<f64>();
                    assert!((got - wanted).abs() < 1e-13, "{}: {rows}, {i}, {j}", instruction_set());
                }
            }
        }
    }
}

#[test]
fn panels_are_solved_column_by_column() {
    for rows in [1, 2, 3, 4, 5, 8, 63, 64] {
        let mut lower = numbers(rows * rows, 3);
        // What stands above the diagonal is nobody's business.
        lower.iter_mut().step_by(rows + 1).for_each(|pivot| *pivot = 2.0 + pivot.abs());
        let (b, mut panel) = (numbers(rows * ABREAST, 4), numbers(rows * ABREAST, 4));
        solve_panel(&lower, &mut panel);
        for (at, line) in lower.chunks_exact(rows).enumerate() {
            for column in 0..ABREAST {
                let product: f64 = (0..=at).map(|k| line[k] * panel[k * ABREAST + column]).sum();
                let wanted = b[at * ABREAST + column];
                assert!((product - wanted).abs() < 1e-12, "{}: {rows}, {at}", instruction_set());
            }
        }
    }
}

#[test]
#[should_panic(expected = "whole panels")]
fn numbers_that_fill_no_panel_are_refused() {
    add_products(&[0.0; 7], &[0.0; 8], 1, &mut []);
}
