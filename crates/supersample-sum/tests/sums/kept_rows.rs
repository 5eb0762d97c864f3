//! Kernel rows that are kept, and what swaps look up in them, against plain loops.

use supersample_sum::{KernelRows, Packed, Precision, Rows, Shape};

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
            let mut rows = packed.no_rows();
            let numbers_of_two = [rows.add(), rows.add()];
            for (number, y) in numbers_of_two.into_iter().zip([n / 3, n / 2]) {
                packed.fill_row(points.row(y), &[], &mut rows.row_mut(number));
            }
            let [row, other] = numbers_of_two.map(|number| rows.row(number));
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
            sums.clone_from(&w);
            row.exchange(other, &mut sums);
            assert!((0..n).all(|i| sums[i] == w[i] + (row.get(i) - other.get(i))));
        }
    }
}

#[test]
fn of_equal_scores_the_first_is_found_and_nothing_where_all_are_closed() {
    let coordinates = vec![0.5; 40_000];
    let points = Rows::new(&coordinates, 1);
    let packed = Packed::new(Shape::Gaussian { length: 1.0 }, points, Precision::Double);
    let mut rows = packed.no_rows();
    let first = rows.add();
    packed.fill_row(points.row(0), &[], &mut rows.row_mut(first));
    let row = rows.row(first);
    let mut w = vec![0.0; 40_000];
    (w[9_000], w[35_000]) = (3.0, 3.0);
    assert_eq!(row.argmax_with(&w), Some((9_000, 4.0)));
    assert_eq!(row.argmax_with(&vec![f64::NEG_INFINITY; 40_000]), None);
}

/// Many rows, in small pieces of memory and large ones, each filled and read by its number; then fewer in their place.
#[test]
fn rows_are_kept_apart_however_many_there_are() {
    let coordinates = numbers(100_000, 12.9898);
    let points = Rows::new(&coordinates, 1);
    let kernel = Shape::Gaussian { length: 0.3 };
    for precision in [Precision::Mixed, Precision::Double] {
        let packed = Packed::new(kernel.clone(), points, precision);
        let looks = [0, 1, 15, 99_999];
        let values = |y: usize| looks.map(|i| kernel.value(points.row(i), points.row(y)));
        let mut rows = packed.no_rows();
        // More than a piece of 8 MiB holds in either precision.
        for number in 0..120 {
            assert_eq!(rows.add(), number);
            packed.fill_row(points.row(7 * number), &[], &mut rows.row_mut(number));
        }
        let assert_values = |rows: &KernelRows, number: usize, y: usize| {
            for (i, want) in looks.into_iter().zip(values(y)) {
                assert!((rows.row(number).get(i) - want).abs() < 1e-5, "{number} {i}");
            }
        };
        let copy = rows.clone();
        rows.clear();
        for number in 0..50 {
            assert_eq!(rows.add(), number);
            packed.fill_row(points.row(3 * number + 1), &[], &mut rows.row_mut(number));
        }
        (0..120).for_each(|number| assert_values(&copy, number, 7 * number));
        (0..50).for_each(|number| assert_values(&rows, number, 3 * number + 1));
    }
}

#[test]
#[should_panic(expected = "there are 1 rows, not 1")]
fn a_row_that_was_not_added_is_not_there() {
    let packed = Packed::new(Shape::Linear, Rows::new(&[1.0, 2.0], 1), Precision::Double);
    let mut rows = packed.no_rows();
    rows.add();
    rows.add();
    rows.clear();
    rows.add();
    let _ = rows.row(1);
}

#[test]
fn a_row_that_was_computed_elsewhere_is_kept_as_it_is() {
    let (values, w) = (numbers(700, 12.9898), numbers(700, 78.233));
    let mut rows = KernelRows::in_double(700);
    let number = rows.add();
    rows.row_mut(number).copy_from(&values);
    let row = rows.row(number);
    assert!((0..700).all(|i| row.get(i) == values[i]));
    let plain = (0..700).map(|i| (i, w[i] + values[i]));
    assert_eq!(row.argmax_with(&w), plain.reduce(first_largest));
}

#[test]
#[should_panic(expected = "a row of doubles")]
fn doubles_are_not_kept_in_a_row_of_f32() {
    let coordinates = numbers(20, 3.1);
    let packed =
        Packed::forced(Shape::Gaussian { length: 1.0 }, Rows::new(&coordinates, 1), Precision::Mixed);
    let mut rows = packed.no_rows();
    let number = rows.add();
    rows.row_mut(number).copy_from(&coordinates);
}
