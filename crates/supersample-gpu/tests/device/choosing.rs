//! Running scores: kernel rows, the search for the best point, and herding.

use std::ops::ControlFlow;
use std::sync::Mutex;

use supersample_gpu::{Points, Scores};
use supersample_sum::{Precision, Rows, Shape};

use crate::{argmax, assert_close, device, kernels, part, random, scalar};

#[test]
fn rows_scores_and_maxima_agree_with_their_twins() {
    let Some(device) = device() else { return };
    for (n, dim) in [(1, 1), (17, 3), (100, 130), (20_000, 2), (9_000, 600)] {
        let values = random(n, dim, 7);
        let rows = Rows::new(&values, dim);
        let (mu, offsets) = (random(n, 1, 8), random(n, 1, 9));
        for shape in kernels() {
            for (precision, tolerance) in [(Precision::Mixed, 2e-6), (Precision::Double, 1e-13)] {
                let points = Points::new(&device, shape.clone(), rows, precision).unwrap();
                let what = format!("{shape:?} {n}×{dim} {precision:?}");
                let want = scalar::row(&shape, rows, rows.row(n / 2));
                let kernel = points.kernel_row(n / 2).unwrap();
                assert_close(&kernel, &want, tolerance, &what);
                for offsets in [None, Some(&offsets[..])] {
                    let start = vec![0.25; n];
                    let score = |sums: &[f64], i: usize| match offsets {
                        Some(offsets) => 3.0 * mu[i] + sums[i] + offsets[i],
                        None => 3.0 * mu[i] + sums[i],
                    };
                    let mut scores = Scores::new(points.clone(), Vec::new(), &mu, offsets, true).unwrap();
                    scores.set_sums(&start).unwrap();
                    let best =
                        |sums: &[f64]| argmax(n, |i| score(sums, i)).map(|(i, score)| (i, score, sums[i]));
                    let got =
                        |scores: &mut Scores| scores.best(3.0).unwrap().map(|p| (p.index, p.score, p.sum));
                    assert_eq!(got(&mut scores), best(&start), "{what}");
                    scores.choose(n / 2).unwrap();
                    let mut sums: Vec<f64> = (0..n).map(|i| 0.25 - kernel[i]).collect();
                    sums[n / 2] = f64::NEG_INFINITY;
                    assert_eq!(got(&mut scores), best(&sums), "{what}");
                    assert_eq!(scores.sum(n / 3).unwrap(), sums[n / 3], "{what}");
                    assert!(scores.sums().unwrap() == sums, "{what}");
                }
            }
        }
    }
}

#[test]
fn herding_agrees_with_a_plain_loop() {
    let Some(device) = device() else { return };
    for (n, dim, unique) in
        [(1, 1, false), (7, 2, true), (3000, 2, true), (3000, 2, false), (20_000, 5, true)]
    {
        let values = random(n, dim, 3);
        let rows = Rows::new(&values, dim);
        for shape in [Shape::Gaussian { length: 0.4 }, Shape::Matern12 { length: 0.5 }] {
            for precision in [Precision::Mixed, Precision::Double] {
                let points = Points::new(&device, shape.clone(), rows, precision).unwrap();
                let ControlFlow::Continue(mean) = points.own_mean(None, None).unwrap() else { panic!() };
                let mu = mean.to_vec().unwrap();
                // The plain loop, on the kernel rows of the device.
                let count = 30;
                let (mut sums, mut want) = (vec![0.0; n], Vec::new());
                for t in 0..count {
                    let factor = 1.0 + t as f64;
                    let Some((i, score)) = argmax(n, |i| factor * mu[i] + sums[i]) else { break };
                    want.push((i, score, sums[i]));
                    let row = points.kernel_row(i).unwrap();
                    sums.iter_mut().zip(row).for_each(|(sum, k)| *sum -= k);
                    if unique {
                        sums[i] = f64::NEG_INFINITY;
                    }
                }
                let what = format!("{shape:?} {n}×{dim} {precision:?}");
                assert_eq!(want.len(), if unique { n.min(count) } else { count }, "{what}");
                let mut scores = Scores::new(points.clone(), Vec::new(), &mu, None, unique).unwrap();
                let calls = Mutex::new(0);
                let watch = |_, _| {
                    *calls.lock().unwrap() += 1;
                    ControlFlow::Continue(())
                };
                // In two calls, between which the last pick waits.
                let mut picks = scores.herd(1.0, 11, None).unwrap();
                if picks.len() == 11 {
                    picks.extend(scores.herd(12.0, count - 11, Some(&watch)).unwrap());
                    assert!(*calls.lock().unwrap() > 0);
                }
                let got: Vec<_> = picks.iter().map(|pick| (pick.index, pick.score, pick.sum)).collect();
                assert_eq!(got, want, "{what}");
                assert!(scores.sums().unwrap() == sums, "{what}");
            }
        }
    }
}

#[test]
fn herding_with_parts_agrees_with_a_plain_loop() {
    let Some(device) = device() else { return };
    for (n, precision) in [(3000, Precision::Double), (20_000, Precision::Mixed)] {
        let (values, views, mu) = (random(n, 5, 41), random(n, 4, 42), random(n, 1, 43));
        let points =
            Points::new(&device, Shape::Imq { length: 0.7 }, Rows::new(&values, 5), precision).unwrap();
        let part = |shape, factor| part(&device, shape, Rows::new(&views, 4), precision, factor);
        let parts = vec![part(Shape::Manhattan { length: 8.0 }, 0.4), part(Shape::Linear, 0.2)];
        let mut scores = Scores::new(points.clone(), parts.clone(), &mu, None, true).unwrap();
        let (mut sums, mut want) = (vec![0.0; n], Vec::new());
        for t in 0..20 {
            let (i, score) = argmax(n, |i| (1.0 + t as f64) * mu[i] + sums[i]).unwrap();
            want.push((i, score, sums[i]));
            for (row, factor) in std::iter::once((points.kernel_row(i).unwrap(), 1.0))
                .chain(parts.iter().map(|part| (part.views.kernel_row(i).unwrap(), part.factor)))
            {
                sums.iter_mut().zip(row).for_each(|(sum, k)| *sum -= factor * k);
            }
            sums[i] = f64::NEG_INFINITY;
        }
        let mut picks = scores.herd(1.0, 10, None).unwrap();
        for t in 10..20 {
            let pick = scores.best(1.0 + f64::from(t)).unwrap().unwrap();
            scores.choose_found();
            picks.push(pick);
        }
        let got: Vec<_> = picks.iter().map(|pick| (pick.index, pick.score, pick.sum)).collect();
        assert_eq!(got, want, "{n}");
        assert!(scores.sums().unwrap() == sums);
    }
}

#[test]
fn of_equal_scores_the_first_is_found_and_nothing_where_all_are_closed() {
    let Some(device) = device() else { return };
    let n = 40_000;
    let values = vec![0.5; n];
    let points =
        Points::new(&device, Shape::Gaussian { length: 1.0 }, Rows::new(&values, 1), Precision::Mixed)
            .unwrap();
    let mut scores = Scores::new(points, Vec::new(), &vec![0.5; n], None, true).unwrap();
    let best = |scores: &mut Scores| scores.best(2.0).unwrap().map(|pick| (pick.index, pick.score));
    assert_eq!(best(&mut scores), Some((0, 1.0)));
    let mut sums = vec![0.0; n];
    (sums[9_000], sums[35_000]) = (3.0, 3.0);
    scores.set_sums(&sums).unwrap();
    assert_eq!(best(&mut scores), Some((9_000, 4.0)));
    scores.set_sums(&vec![f64::NEG_INFINITY; n]).unwrap();
    assert_eq!(best(&mut scores), None);
    assert_eq!(scores.herd(1.0, 5, None).unwrap(), []);
}
