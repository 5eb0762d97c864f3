//! Calibrated weights: means that are met exactly, near equal weights, and means that cannot be met.

use crate::common;

use common::{plain, random_points, ready, rng};
use supersample::task::{Advice, Calibrate, CalibratedMean, Choose, Rows, weigh};
use supersample::weights::WeightRule;
use supersample::{Error, Kernel, Points, unwatched};

fn rows() -> Points {
    let rows = random_points(300, 3, &mut rng(1));
    Points::from_vec(rows.rows().flat_map(|x| [x[0], 1e6 + 3.0 * x[1], x[2].exp()]).collect(), 3).unwrap()
}

fn means(points: &Points, rows: &[usize], weights: &[f64]) -> Vec<f64> {
    let mean = |j: usize| rows.iter().zip(weights).map(|(&row, w)| w * points.row(row)[j]).sum::<f64>();
    (0..points.dim()).map(mean).collect()
}

fn sds(points: &Points) -> Vec<f64> {
    let all: Vec<usize> = (0..points.len()).collect();
    let equal = vec![1.0 / points.len() as f64; points.len()];
    let of = means(points, &all, &equal);
    let sd = |j: usize| points.rows().map(|x| (x[j] - of[j]).powi(2)).sum::<f64>() / points.len() as f64;
    (0..points.dim()).map(|j| sd(j).sqrt()).collect()
}

#[test]
fn means_are_met_to_a_billionth_by_weights_near_equal_ones() {
    let points = rows();
    let functions: Vec<f64> = points.rows().map(|x| x[0] * x[2]).collect();
    let given = Rows::new(points.clone()).functions(functions.clone(), 1).unwrap();
    let choose = Choose::thin(30).unwrap().calibrated(Calibrate::default());
    let target = ready(given, choose);
    let chosen = target.choose(&unwatched).unwrap();
    let found = chosen.weights.as_ref().unwrap();
    assert!((found.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    assert!(found.weights.iter().all(|w| *w > 0.0 && (w * 30.0 - 1.0).abs() < 0.5), "{:?}", found.weights);
    let all: Vec<usize> = (0..300).collect();
    let wanted = means(&points, &all, &[1.0 / 300.0; 300]);
    let sds = sds(&points);
    for (j, mean) in means(&points, &chosen.rows, &found.weights).iter().enumerate() {
        assert!(((mean - wanted[j]) / sds[j]).abs() < 1e-9, "{j}: {mean} {}", wanted[j]);
    }
    let of_function = chosen.rows.iter().zip(&found.weights).map(|(&row, w)| w * functions[row]).sum::<f64>();
    assert!((of_function - functions.iter().sum::<f64>() / 300.0).abs() < 1e-9);
    // The errors are those with the weights, and of no others.
    let naive = target
        .mmd(&supersample::task::Subset::of_rows(&chosen.rows).weights(Some(&found.weights)), &unwatched);
    assert_eq!(chosen.mmd(), naive.ok());
    assert!((found.equal_error.unwrap() - chosen.error().unwrap()).abs() < 1e-6);
}

#[test]
fn no_other_weights_with_these_means_are_nearer_to_equal_ones() {
    let points = rows();
    let target = ready(points.clone(), plain());
    let rows: Vec<usize> = (0..20).map(|i| 7 * i).collect();
    let asked = Calibrate::only(vec![0, 2], vec![]);
    let found = target.calibrate(&rows, &asked, &unwatched).unwrap().weights;
    let divergence = |w: &[f64]| w.iter().map(|w| w * (w * 20.0).ln()).sum::<f64>();
    let least = divergence(&found);
    // Directions that change neither the sum nor the two means: differences of four weights.
    for start in 0..17 {
        let some: Vec<usize> = (start..start + 4).collect();
        let line = |j: usize| -> Vec<f64> {
            some.iter().map(|&i| if j == 3 { 1.0 } else { points.row(rows[i])[j] }).collect()
        };
        let (a, b, c) = (line(3), line(0), line(2));
        // The vector normal to three others in four dimensions, by minors.
        let minor = |skip: usize| {
            let k: Vec<usize> = (0..4).filter(|k| *k != skip).collect();
            let det = a[k[0]] * (b[k[1]] * c[k[2]] - b[k[2]] * c[k[1]])
                - a[k[1]] * (b[k[0]] * c[k[2]] - b[k[2]] * c[k[0]])
                + a[k[2]] * (b[k[0]] * c[k[1]] - b[k[1]] * c[k[0]]);
            if skip.is_multiple_of(2) { det } else { -det }
        };
        let direction: Vec<f64> = (0..4).map(minor).collect();
        let size = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
        for step in [-1e-4, 1e-4] {
            let mut moved = found.clone();
            some.iter().zip(&direction).for_each(|(&i, d)| moved[i] += step * d / size);
            assert!(divergence(&moved) > least, "{start}");
        }
    }
}

#[test]
fn means_out_of_reach_are_named_with_the_nearest() {
    let points = Points::from_vec((0..40).map(f64::from).flat_map(|i| [i, -i]).collect(), 2).unwrap();
    let target = ready(points.clone(), plain());
    // All chosen rows are below the mean, which is 19.5.
    let refused = target.calibrate(&[0, 5, 9], &Calibrate::default(), &unwatched).unwrap_err();
    let Error::NotCalibrated { mean, wanted, nearest, range, .. } = refused else { panic!("{refused}") };
    assert_eq!((mean, wanted, nearest, range), (CalibratedMean::Column(0), 19.5, 9.0, (0.0, 9.0)));
    // Each mean can be met, but not both: the rows are on a line that misses the mean.
    let line = Points::from_vec(vec![0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.2, 0.9, 0.1], 2).unwrap();
    let target = ready(line, plain());
    let refused = target.calibrate(&[2, 3], &Calibrate::default(), &unwatched).unwrap_err();
    let Error::NotCalibrated { wanted, nearest, range: (low, high), .. } = refused else {
        panic!("{refused}")
    };
    assert!(low < wanted && wanted < high && (nearest - wanted).abs() > 0.01, "{wanted} {nearest}");
    let missing = target.calibrate(&[0, 1], &Calibrate::only(vec![2], vec![]), &unwatched);
    assert_eq!(missing.unwrap_err(), Error::NoColumn { column: 2, columns: 2 });
    let functions = target.calibrate(&[0, 1], &Calibrate::only(vec![], vec![0]), &unwatched);
    assert_eq!(functions.unwrap_err(), Error::NoFunctions);
}

#[test]
fn a_mean_that_no_row_reaches_is_refused_before_the_choice() {
    let far = Points::from_vec(vec![100.0, 101.0, 105.0], 1).unwrap();
    // Only a row of no weight, which is not chosen, would reach it.
    let near = Points::from_vec((0..30).map(f64::from).chain([200.0]).collect(), 1).unwrap();
    let weights: Vec<f64> = (0..31).map(|row| f64::from(u8::from(row < 30))).collect();
    let rows = Rows::weighted(near, supersample::task::RowWeights::Weights(&weights)).unwrap();
    let choose = |asked| Choose::thin(5).unwrap().calibrated(asked);
    let unreached = |_| -> std::ops::ControlFlow<()> { panic!("nothing is chosen") };
    let target = ready(rows.clone().matching(far.clone()), choose(Calibrate::default()));
    let found = target.choose(&unreached).unwrap_err();
    let Error::NotCalibrated { range, of_all, .. } = found else { panic!("{found}") };
    assert_eq!((range, of_all), ((0.0, 29.0), true));
    let target = ready(rows.matching(far), choose(Calibrate::only(vec![3], vec![])));
    assert_eq!(target.choose(&unreached).unwrap_err(), Error::NoColumn { column: 3, columns: 1 });
}

#[test]
fn rows_that_cannot_have_the_means_are_kept_with_equal_weights_and_advice() {
    let chosen = ready(rows(), Choose::thin(2).unwrap().calibrated(Calibrate::default()));
    let plain = ready(rows(), Choose::thin(2).unwrap()).choose(&unwatched).unwrap();
    let chosen = chosen.choose(&unwatched).unwrap();
    assert_eq!((&chosen.rows, &chosen.weights), (&plain.rows, &None));
    let is_said = |advice: &Advice| {
        matches!(advice, Advice::NotWeighed { reason: Error::NotCalibrated { of_all: false, .. } })
    };
    assert!(chosen.advice.iter().any(is_said), "{:?}", chosen.advice);
}

#[test]
fn constant_columns_are_met_where_they_can_be() {
    let points = Points::from_vec((0..20).flat_map(|i| [f64::from(i), 7.0]).collect(), 2).unwrap();
    let target = ready(points, plain());
    let found = target.calibrate(&[1, 4, 18], &Calibrate::default(), &unwatched).unwrap();
    let mean: f64 = [1.0, 4.0, 18.0].iter().zip(&found.weights).map(|(x, w)| x * w).sum();
    assert!((mean - 9.5).abs() < 1e-9);
}

#[test]
fn points_of_a_space_have_no_means_to_meet() {
    let points = random_points(10, 1, &mut rng(3));
    let mu = supersample::Empirical::new(Kernel::gaussian(1.0).unwrap(), points.clone()).unwrap();
    assert_eq!(weigh(&mu, &points, WeightRule::Calibrated, &unwatched).unwrap_err(), Error::CalibratedPoints);
}
