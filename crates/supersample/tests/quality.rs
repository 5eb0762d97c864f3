//! The errors of a subset: worked by hand, against weights as copies, and for columns and weights without meaning.

use crate::common;

use rand::RngExt;
use supersample::quality::{MOST_CORRELATED, Reference, every_kth, quality, random_rows};
use supersample::{Error, Points};

fn columns(rows: &[[f64; 2]]) -> Points {
    Points::from_rows(rows.as_flattened(), 2).unwrap()
}

#[test]
fn errors_worked_by_hand() {
    let data = columns(&[[0.0, 0.0], [1.0, 2.0], [2.0, 4.0], [3.0, 6.0], [4.0, 8.0]]);
    let subset = columns(&[[0.0, 8.0], [4.0, 0.0]]);
    let errors = quality(&data, None, &subset, None).unwrap();
    let unit = 2f64.sqrt();
    assert_eq!(errors.columns[0].mean, Some(0.0));
    assert!((errors.columns[0].sd.unwrap() - (2.0 - unit) / unit).abs() < 1e-15);
    // The data's steps have their middles at 0.1, 0.3, …, the subset's at 0.25 and 0.75.
    let data_quantiles = [0.0, 0.75, 2.0, 3.25, 4.0];
    let subset_quantiles = [0.0, 0.0, 2.0, 4.0, 4.0];
    for q in 0..5 {
        let want = (subset_quantiles[q] - data_quantiles[q]) / unit;
        let got = errors.columns[0].quantiles[q].unwrap();
        assert!((got - want).abs() < 1e-14, "{q}: {got} {want}");
        // The second column is twice the first.
        assert!((errors.columns[1].quantiles[q].unwrap() - want).abs() < 1e-14, "{q}");
    }
    assert!((errors.correlation_rms.unwrap() - 2.0).abs() < 1e-14);
    let (worst, a, b) = errors.correlation_worst.unwrap();
    assert!((worst + 2.0).abs() < 1e-14 && (a, b) == (0, 1));
    let (error, _, which) = errors.worst_quantile().unwrap();
    assert!((error.abs() - 0.75 / unit).abs() < 1e-14 && (which == 1 || which == 3));
    assert_eq!(errors.worst_mean().unwrap().0, 0.0);
    assert!((errors.sd_rms().unwrap() - errors.worst_sd().unwrap().0).abs() < 1e-15);
}

#[test]
fn a_weight_of_two_is_two_rows() {
    let rng = &mut common::rng(5);
    let (data, subset) = (common::random_points(40, 3, rng), common::random_points(9, 3, rng));
    let copies = |n: usize, rng: &mut rand_pcg::Pcg64| -> Vec<usize> {
        (0..n).map(|_| rng.random_range(0..3)).chain([1]).take(n).collect()
    };
    let (data_copies, subset_copies) = (copies(40, rng), copies(9, rng));
    let repeat = |points: &Points, copies: &[usize]| {
        let rows: Vec<usize> = (0..points.len()).flat_map(|i| vec![i; copies[i]]).collect();
        points.select(&rows).unwrap()
    };
    let weights = |copies: &[usize]| copies.iter().map(|c| *c as f64 * 0.7).collect::<Vec<_>>();
    let weighted =
        quality(&data, Some(&weights(&data_copies)), &subset, Some(&weights(&subset_copies))).unwrap();
    let repeated =
        quality(&repeat(&data, &data_copies), None, &repeat(&subset, &subset_copies), None).unwrap();
    for (a, b) in weighted.columns.iter().zip(&repeated.columns) {
        assert!((a.mean.unwrap() - b.mean.unwrap()).abs() < 1e-13);
        assert!((a.sd.unwrap() - b.sd.unwrap()).abs() < 1e-13);
        for (a, b) in a.quantiles.iter().zip(b.quantiles) {
            assert!((a.unwrap() - b.unwrap()).abs() < 1e-12);
        }
    }
    assert!((weighted.correlation_rms.unwrap() - repeated.correlation_rms.unwrap()).abs() < 1e-13);
    let own = quality(&data, None, &data, None).unwrap();
    assert_eq!((own.mean_rms(), own.sd_rms(), own.quantile_rms()), (Some(0.0), Some(0.0), Some(0.0)));
}

#[test]
fn what_has_no_meaning_is_none() {
    let data = columns(&[[0.0, 7.0], [1.0, 7.0], [2.0, 7.0]]);
    let errors = quality(&data, None, &columns(&[[1.0, 7.0], [2.0, 7.0]]), None).unwrap();
    assert!(errors.columns[0].mean.is_some() && errors.columns[1].mean.is_none());
    assert!(errors.columns[1].sd.is_none() && errors.columns[1].quantiles == [None; 5]);
    assert!(errors.correlation_rms.is_none() && errors.correlation_worst.is_none());
    let single = quality(&data, None, &columns(&[[1.0, 7.0]]), None).unwrap();
    assert_eq!(single.columns[0].sd, Some(-1.0));
    let signed = quality(&data, None, &columns(&[[0.0, 7.0], [2.0, 7.0]]), Some(&[1.5, -0.5])).unwrap();
    assert!((signed.columns[0].mean.unwrap() + 2.0 / (2f64 / 3.0).sqrt()).abs() < 1e-14);
    assert!(signed.columns[0].sd.is_none() && signed.columns[0].quantiles == [None; 5]);
}

#[test]
fn bad_weights_and_sizes_are_refused() {
    let data = columns(&[[0.0, 1.0], [1.0, 3.0]]);
    let with = |data_weights: Option<&[f64]>, weights: &[f64]| {
        quality(&data, data_weights, &data, Some(weights)).unwrap_err()
    };
    assert!(matches!(with(None, &[1.0]), Error::WeightCount { .. }));
    assert!(matches!(with(None, &[1.0, f64::NAN]), Error::NonFiniteNumber { .. }));
    assert_eq!(with(None, &[1.0, -1.0]), Error::ZeroWeights);
    assert_eq!(with(None, &[0.0, 0.0]), Error::ZeroWeights);
    assert!(matches!(with(Some(&[2.0, -1.0]), &[1.0, 1.0]), Error::BadWeight { index: 1, .. }));
    let line = Points::from_rows(&[1.0], 1).unwrap();
    assert!(matches!(quality(&data, None, &line, None), Err(Error::DimensionMismatch { .. })));
    assert_eq!(every_kth(3, 4), Err(Error::TooFewRows { asked: 4, available: 3 }));
    assert_eq!(every_kth(3, 0), Err(Error::EmptySet));
    assert_eq!(random_rows(3, None, 4, 1), Err(Error::TooFewRows { asked: 4, available: 3 }));
    assert_eq!(random_rows(2, Some(&[0.0, 0.0]), 4, 1), Err(Error::ZeroWeights));
}

#[test]
fn baselines_are_spread_seeded_and_follow_the_weights() {
    assert_eq!(every_kth(10, 4).unwrap(), [0, 2, 5, 7]);
    assert_eq!(every_kth(3, 3).unwrap(), [0, 1, 2]);
    let mut rows = random_rows(50, None, 50, 3).unwrap();
    assert_eq!(rows, random_rows(50, None, 50, 3).unwrap());
    assert_ne!(rows, random_rows(50, None, 50, 4).unwrap());
    rows.sort_unstable();
    assert_eq!(rows, (0..50).collect::<Vec<_>>());
    let drawn = random_rows(4, Some(&[0.0, 3.0, 1.0, 0.0]), 4000, 1).unwrap();
    let count = |row: usize| drawn.iter().filter(|drawn| **drawn == row).count();
    assert_eq!(count(0) + count(3), 0);
    assert!(count(1).abs_diff(3000) < 120, "{}", count(1));
}

#[test]
fn numbers_of_any_size_have_errors() {
    // Squares and differences of these do not fit a double; in units of the spread nothing has changed.
    let rng = &mut common::rng(8);
    let (data, subset) = (common::random_points(60, 2, rng), common::random_points(11, 2, rng));
    let want = quality(&data, None, &subset, None).unwrap();
    let largest = data.as_slice().iter().chain(subset.as_slice()).fold(0.0_f64, |a, b| a.max(b.abs()));
    for scale in [1.0 / largest, 2f64.powi(-900), 2f64.powi(900), 0.99 * f64::MAX / largest] {
        let scaled = |points: &Points| -> Vec<f64> { points.as_slice().iter().map(|x| x * scale).collect() };
        let got = Reference::new(&scaled(&data), 2, None).unwrap().quality(&scaled(&subset), None).unwrap();
        for (got, want) in got.columns.iter().zip(&want.columns) {
            assert!((got.mean.unwrap() - want.mean.unwrap()).abs() < 1e-12, "{scale:e}");
            assert!((got.sd.unwrap() - want.sd.unwrap()).abs() < 1e-12, "{scale:e}");
            for (got, want) in got.quantiles.iter().zip(want.quantiles) {
                assert!((got.unwrap() - want.unwrap()).abs() < 1e-12, "{scale:e}");
            }
        }
        assert!((got.correlation_rms.unwrap() - want.correlation_rms.unwrap()).abs() < 1e-12, "{scale:e}");
    }
    // A mean that dwarfs the spread.
    let far = |points: &Points| -> Vec<f64> { points.as_slice().iter().map(|x| x + 2f64.powi(40)).collect() };
    let got = Reference::new(&far(&data), 2, None).unwrap().quality(&far(&subset), None).unwrap();
    assert!((got.columns[0].mean.unwrap() - want.columns[0].mean.unwrap()).abs() < 1e-2);
    // A row of no weight may be anywhere.
    let wild = Reference::new(&[0.0, 1.0, 2.0, f64::MAX], 1, Some(&[1.0, 1.0, 1.0, 0.0])).unwrap();
    let same = wild.quality(&[0.0, 2.0, 1.0], None).unwrap();
    assert!(same.mean_rms().unwrap() < 1e-15 && same.sd_rms().unwrap() < 1e-15, "{same:?}");
    assert!(same.quantile_rms().unwrap() < 1e-15);
}

/// Each pair on its own, as the formula says.
#[test]
fn correlations_are_those_of_the_formula() {
    let rng = &mut common::rng(2);
    // More rows than one block, and not a multiple of it.
    let (data, subset) = (common::random_points(1100, 4, rng), common::random_points(30, 4, rng));
    let weights: Vec<f64> = (0..30).map(|i| f64::from(i % 5)).collect();
    let correlation = |points: &Points, weights: &[f64], a: usize, b: usize| {
        let total: f64 = weights.iter().sum();
        let mean = |f: &dyn Fn(&[f64]) -> f64| {
            points.rows().zip(weights).map(|(row, w)| w * f(row)).sum::<f64>() / total
        };
        let (x, y) = (mean(&|row| row[a]), mean(&|row| row[b]));
        let product = mean(&|row| (row[a] - x) * (row[b] - y));
        product / (mean(&|row| (row[a] - x).powi(2)) * mean(&|row| (row[b] - y).powi(2))).sqrt()
    };
    let (mut squares, mut worst) = (0.0, (0.0_f64, 0, 0));
    for a in 0..4 {
        for b in a + 1..4 {
            let error = correlation(&subset, &weights, a, b) - correlation(&data, &[1.0; 1100], a, b);
            squares += error * error;
            if error.abs() > worst.0.abs() {
                worst = (error, a, b);
            }
        }
    }
    let errors = quality(&data, None, &subset, Some(&weights)).unwrap();
    assert!((errors.correlation_rms.unwrap() - (squares / 6.0).sqrt()).abs() < 1e-13);
    let (error, a, b) = errors.correlation_worst.unwrap();
    assert!((error - worst.0).abs() < 1e-13 && (a, b) == (worst.1, worst.2));
}

#[test]
fn many_columns_have_errors_but_no_correlations() {
    let dim = MOST_CORRELATED + 1;
    let data: Vec<f64> = (0..3 * dim).map(|i| ((i * i) as f64).sin()).collect();
    let errors = Reference::new(&data, dim, None).unwrap().quality(&data[..2 * dim], None).unwrap();
    assert!(errors.mean_rms().is_some() && errors.columns.len() == dim);
    assert!(errors.correlation_rms.is_none() && errors.correlation_worst.is_none());
}
