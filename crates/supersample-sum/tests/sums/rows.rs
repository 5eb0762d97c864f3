//! Single kernel rows and the search for the best score against their twins.

use supersample_sum::{Levels, Packed, Precision, Quadratic, Scores, Shape, Term};

use crate::{assert_close, kernels_for, random_points, scalar};

#[test]
fn rows_and_maxima_agree_with_their_twins() {
    // The last: few points that are wide enough to be shared between threads in small chunks, the last of them not full.
    for (n, dim) in [(1, 1), (17, 3), (100, 130), (20_000, 2), (9_000, 20), (1_100, 300)] {
        let points = random_points(n, dim, 7);
        let mu: Vec<f64> = random_points(n, 1, 8).values;
        let offsets: Vec<f64> = random_points(n, 1, 9).values;
        for (text, kernel) in kernels_for(dim) {
            // Of the sign of the kernel, so that nothing cancels.
            let start = if kernel.constant_diagonal() == Some(0.0) { -0.25 } else { 0.25 };
            for (precision, tolerance) in [(Precision::Mixed, 1e-6), (Precision::Double, 1e-13)] {
                let packed = Packed::new(kernel.clone(), points.rows(), precision);
                let y = points.rows().row(n / 2);
                let mut sums = vec![start; n];
                packed.add_row(y, 2.0, &mut sums);
                let want: Vec<f64> =
                    scalar::row(&kernel, points.rows(), y).iter().map(|k| start + 2.0 * k).collect();
                assert_close(&sums, &want, tolerance, &text);
                for offsets in [None, Some(&offsets[..])] {
                    let scores = Scores { factor: 3.0, mu: &mu, offsets };
                    let mut fused = vec![start; n];
                    let best = packed.add_row_and_argmax(y, 2.0, &mut fused, scores);
                    assert_eq!(fused, sums, "{text}");
                    let offset = |i: usize| offsets.map_or(0.0, |offsets| offsets[i]);
                    let all: Vec<f64> = (0..n).map(|i| 3.0 * mu[i] + sums[i] + offset(i)).collect();
                    assert_eq!(best, scalar::argmax(&all), "{text}");
                    assert_eq!(scores.argmax(&mut sums), best, "{text}");
                    let (mut rows, mut fused) = (packed.no_rows(), vec![start; n]);
                    let [kept, row] = [rows.add(), rows.add()];
                    let mut kept_row = rows.row_mut(kept);
                    let found = packed.keep_row_and_argmax(y, &[], &mut kept_row, 2.0, &mut fused, scores);
                    assert_eq!(found, best, "{text}");
                    assert_eq!(fused, sums, "{text}");
                    packed.fill_row(y, &[], &mut rows.row_mut(row));
                    assert!((0..n).all(|i| rows.row(kept).get(i) == rows.row(row).get(i)), "{text}");
                    // With the row of another point added to it.
                    let z = points.rows().row(n / 3);
                    let alone: Vec<f64> = (0..n).map(|i| rows.row(kept).get(i)).collect();
                    let more = scalar::row(&kernel, points.rows(), z);
                    let terms = [Term::Kernel { points: &packed, y: z, factor: 0.5 }];
                    packed.fill_row(y, &terms, &mut rows.row_mut(row));
                    let sum: Vec<f64> = (0..n).map(|i| rows.row(row).get(i)).collect();
                    let want: Vec<f64> = (0..n).map(|i| alone[i] + 0.5 * more[i]).collect();
                    assert_close(&sum, &want, 2.0 * tolerance, &text);
                    let mut fused = vec![start; n];
                    let mut kept_row = rows.row_mut(kept);
                    let best = packed.keep_row_and_argmax(y, &terms, &mut kept_row, 2.0, &mut fused, scores);
                    assert!((0..n).all(|i| rows.row(kept).get(i) == sum[i]), "{text}");
                    assert!((0..n).all(|i| fused[i] == start + 2.0 * sum[i]), "{text}");
                    assert_eq!(best, scores.argmax(&mut fused), "{text}");
                }
            }
        }
    }
}

#[test]
fn quadratic_functions_and_levels_are_added_as_their_twins_are() {
    for (n, dim) in [(1, 1), (17, 3), (64, 5), (1_100, 57), (20_000, 20)] {
        let points = random_points(n, dim, 31);
        let number = |i: usize, j: usize| 0.5 + 0.5 * (i as f64 * (0.37 + j as f64)).sin();
        let levels = Levels::new(n, dim, number);
        let at_y: Vec<u16> = (0..dim).map(|j| Levels::of(0.3 + 0.01 * j as f64)).collect();
        let of = Quadratic {
            constant: 0.7,
            linear: (0..dim).map(|j| 0.1 * (j as f64).cos()).collect(),
            square: (0..dim).map(|j| 0.05 * (j as f64).sin()).collect(),
        };
        let products = Packed::by_products(Shape::Gaussian { length: 1.5 }, points.rows(), None);
        let plain = |precision| Packed::new(Shape::Gaussian { length: 1.5 }, points.rows(), precision);
        let packed = [Some(plain(Precision::Mixed)), Some(plain(Precision::Double)), products];
        for packed in packed.into_iter().flatten() {
            let tolerance = if packed.precision() == Precision::Mixed { 1e-5 } else { 1e-12 };
            let (mut rows, y) = (packed.no_rows(), points.rows().row(n / 2));
            let [alone, both] = [rows.add(), rows.add()];
            packed.fill_row(y, &[], &mut rows.row_mut(alone));
            let terms = [
                Term::Quadratic(&of),
                Term::Levels { points: &levels, y: &at_y, factor: -2.0 / Levels::COUNT },
            ];
            packed.fill_row(y, &terms, &mut rows.row_mut(both));
            let coordinates = packed.coordinates();
            let added = |i: usize| -> f64 {
                let columns = points.rows().row(i).iter().zip(coordinates.centre()).enumerate();
                let term = |(j, (x, centre)): (usize, (&f64, &f64))| {
                    let c = (x - centre) * coordinates.unit();
                    let distance = f64::from(Levels::of(number(i, j)).abs_diff(at_y[j])) / Levels::COUNT;
                    c * (of.linear[j] + of.square[j] * c) - 2.0 * distance
                };
                of.constant + columns.map(term).sum::<f64>()
            };
            let got: Vec<f64> = (0..n).map(|i| rows.row(both).get(i)).collect();
            let want: Vec<f64> = (0..n).map(|i| rows.row(alone).get(i) + added(i)).collect();
            let size = 1.0 + dim as f64;
            assert!(got.iter().zip(&want).all(|(a, b)| (a - b).abs() < tolerance * size), "{n} × {dim}");
            // Fused with the sums and their maximum, over several chunks and blocks.
            let mu = vec![0.5; n];
            let (mut sums, scores) = (vec![0.1; n], Scores { factor: 2.0, mu: &mu, offsets: None });
            let best =
                packed.keep_row_and_argmax(y, &terms, &mut rows.row_mut(alone), 1.0, &mut sums, scores);
            assert!((0..n).all(|i| rows.row(alone).get(i) == got[i] && sums[i] == 0.1 + got[i]));
            assert_eq!(best, scores.argmax(&mut sums));
        }
    }
}

#[test]
fn points_that_come_one_by_one_sum_as_if_packed_at_once() {
    let points = random_points(37, 3, 21);
    for (text, kernel) in kernels_for(3) {
        for precision in [Precision::Mixed, Precision::Double] {
            let packed = Packed::forced(kernel.clone(), points.rows(), precision);
            let is_double_only = matches!(kernel, Shape::Energy | Shape::Stein(_));
            let in_use = if is_double_only { Precision::Double } else { precision };
            assert_eq!(packed.precision(), in_use);
            let mut grown = packed.none_beside();
            assert_eq!(grown.row_sum(points.rows().row(0)), 0.0);
            points.rows().iter().for_each(|point| grown.push(point));
            let y = points.rows().row(5);
            let want: f64 = scalar::row(&kernel, points.rows(), y).iter().sum();
            assert_eq!(grown.row_sum(y), packed.row_sum(y), "{text}");
            assert!((grown.row_sum(y) - want).abs() < 37.0 * 1e-6, "{text}");
        }
    }
}

#[test]
fn ties_go_to_the_lowest_index_and_nothing_open_is_none() {
    for n in [1, 7, 8, 9, 40_000] {
        let mu = vec![0.5; n];
        let scores = Scores { factor: 2.0, mu: &mu, offsets: None };
        assert_eq!(scores.argmax(&mut vec![0.0; n]), Some((0, 1.0)));
        let mut sums = vec![0.0; n];
        sums[0] = f64::NEG_INFINITY;
        assert_eq!(scores.argmax(&mut sums), (n > 1).then_some((1, 1.0)));
        assert_eq!(scores.argmax(&mut vec![f64::NEG_INFINITY; n]), None);
        sums[n - 1] = 1.0;
        assert_eq!(scores.argmax(&mut sums), Some((n - 1, 2.0)));
    }
}
