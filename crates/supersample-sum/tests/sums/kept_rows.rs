//! Kernel rows that are kept, and what swaps look up in them, against plain loops.

use supersample_sum::{Packed, Precision, Rows, Shape};

/// The larger score, the earlier of equal ones.
fn first_largest(a: (usize, f64), b: (usize, f64)) -> (usize, f64) {
    if b.1 > a.1 { b } else { a }
}

fn numbers(n: usize, factor: f64) -> Vec<f64> {
    (0..n).map(|i| (i as f64 * factor).sin()).collect()
}

#[test]
fn a_row_is_the_kernel_and_looks_agree_with_plain_loops() {
    for n in [1, 15, 16, 17, 700, 40_000] {
        let coordinates = numbers(3 * n, 12.9898);
        let points = Rows::new(&coordinates, 3);
        let kernel = Shape::Matern32 { length: 0.9 };
        let mut w = numbers(n, 78.233);
        w[n / 2] = f64::NEG_INFINITY;
        for (precision, tolerance) in [(Precision::Mixed, 1e-5), (Precision::Double, 1e-14)] {
            let packed = Packed::new(kernel.clone(), points, precision);
            let mut row = packed.empty_row();
            packed.fill_row(points.row(n / 3), &mut row);
            for i in 0..n {
                assert!((row.get(i) - kernel.value(points.row(i), points.row(n / 3))).abs() < tolerance);
            }
            let plain = (0..n).map(|i| (i, w[i] + row.get(i))).filter(|(_, s)| *s > f64::NEG_INFINITY);
            assert_eq!(row.argmax_with(&w), plain.clone().reduce(first_largest));
            let noise: Vec<f32> = numbers(n + 1, 37.719).iter().map(|&x| x as f32).collect();
            let noisy = plain.map(|(i, sum)| (i, sum + 0.7 * f64::from(noise[i])));
            assert_eq!(row.argmax_with_noise(&w, &noise, 0.7), noisy.reduce(first_largest));
            let mut sums = w.clone();
            row.add_to(-2.0, &mut sums);
            assert!((0..n).all(|i| sums[i] == w[i] - 2.0 * row.get(i)));
            let mut other = packed.empty_row();
            packed.fill_row(points.row(n / 2), &mut other);
            sums.clone_from(&w);
            row.exchange(&other, &mut sums);
            assert!((0..n).all(|i| sums[i] == w[i] + (row.get(i) - other.get(i))));
        }
    }
}

#[test]
fn of_equal_scores_the_first_is_found_and_nothing_where_all_are_closed() {
    let coordinates = vec![0.5; 40_000];
    let points = Rows::new(&coordinates, 1);
    let packed = Packed::new(Shape::Gaussian { length: 1.0 }, points, Precision::Double);
    let mut row = packed.empty_row();
    packed.fill_row(points.row(0), &mut row);
    let mut w = vec![0.0; 40_000];
    (w[9_000], w[35_000]) = (3.0, 3.0);
    assert_eq!(row.argmax_with(&w), Some((9_000, 4.0)));
    assert_eq!(row.argmax_with(&vec![f64::NEG_INFINITY; 40_000]), None);
}
