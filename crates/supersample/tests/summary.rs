//! Published numbers as a target: what is reached, what calibrated weights meet, and what is refused.

use crate::common;

use common::{ready, rng};
use rand::RngExt;
use supersample::task::{
    Choose, Number, Problem, Published, RowScores, RowWeights, Rows, Stop, Summary, SummaryFault,
};
use supersample::weights::WeightRule;
use supersample::words::{Names, Opt, Style};
use supersample::{Error, Gram, Points, unwatched};

/// Two correlated columns, and one of three categories.
fn pool(rows: usize) -> Points {
    let mut rng = rng(3);
    let mut normal = || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
    let values = (0..rows).flat_map(|row| {
        let (a, b) = (normal(), normal());
        [50.0 + 12.0 * a, 3.0 + 0.5 * a + b, (row % 3) as f64]
    });
    Points::from_vec(values.collect(), 3).unwrap()
}

fn of(number: Number, value: f64) -> Published {
    Published { number, value, n: None }
}

/// Other means, sds, correlations and shares than those of the pool.
fn numbers() -> Vec<Published> {
    vec![
        of(Number::Mean(0), 56.0),
        of(Number::Sd(0), 10.0),
        of(Number::Quantile(0, 0.25), 49.0),
        of(Number::Quantile(0, 0.5), 56.5),
        of(Number::Quantile(0, 0.75), 63.0),
        of(Number::Mean(1), 2.6),
        of(Number::Sd(1), 1.0),
        of(Number::Correlation(0, 1), 0.2),
        of(Number::Share(2, 0.0), 0.5),
        of(Number::Share(2, 1.0), 0.3),
        of(Number::Share(2, 2.0), 0.2),
    ]
}

fn given(rows: Points, numbers: Vec<Published>) -> Rows {
    Rows::new(rows).matching_summary(Summary::new(numbers).unwrap())
}

#[test]
fn chosen_rows_meet_the_numbers_within_a_hundredth_of_an_sd() {
    let pool = pool(5000);
    for size in [100, 300] {
        let target = ready(given(pool.clone(), numbers()), Choose::thin(size).unwrap());
        let chosen = target.choose(&unwatched).unwrap();
        assert_eq!(chosen.published.len(), numbers().len());
        for one in &chosen.published {
            eprintln!("{size} {:?} pool {:.4} reached {:.4} error {:.5}", one.published.number, one.pool, one.reached, one.error());
        }
        for one in &chosen.published {
            assert!(one.error().abs() < 0.01, "{size}: {one:?}");
        }
    }
}
