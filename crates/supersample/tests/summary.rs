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
            assert!(one.error().abs() < 0.01, "{size}: {one:?}");
        }
    }
}

/// The number of weighted rows, written out.
fn naive(number: Number, rows: &Points, weights: &[f64]) -> f64 {
    let mean = |f: &dyn Fn(&[f64]) -> f64| rows.rows().zip(weights).map(|(row, w)| w * f(row)).sum::<f64>();
    let moments = |j: usize| {
        let m = mean(&|row| row[j]);
        (m, mean(&|row| (row[j] - m).powi(2)).sqrt())
    };
    match number {
        Number::Mean(j) => moments(j).0,
        Number::Sd(j) => moments(j).1,
        // The share below, which is what is met.
        Number::Quantile(j, level) => {
            let at = numbers().iter().find(|known| known.number == number).unwrap().value;
            let share = mean(&|row| f64::from(u8::from(row[j] < at)));
            assert!((share - level).abs() < 1e-9, "{number:?}: {share}");
            at
        }
        Number::Share(j, value) => mean(&|row| f64::from(u8::from(row[j] == value))),
        Number::Correlation(a, b) => {
            let ((ma, sa), (mb, sb)) = (moments(a), moments(b));
            mean(&|row| (row[a] - ma) * (row[b] - mb)) / (sa * sb)
        }
        _ => unreachable!(),
    }
}

#[test]
fn the_target_is_the_pool_with_weights_that_meet_all_numbers() {
    for weighted in [false, true] {
        let pool = pool(3000);
        let weights: Vec<f64> =
            (0..3000).map(|row| if row % 5 == 0 { 0.0 } else { 1.0 + (row % 2) as f64 }).collect();
        let rows = match weighted {
            true => Rows::weighted(pool.clone(), RowWeights::Weights(&weights)).unwrap(),
            false => Rows::new(pool.clone()),
        };
        let rows = rows.matching_summary(Summary::new(numbers()).unwrap());
        let problem = Problem::new(rows, Choose::thin(50).unwrap()).unwrap();
        assert_eq!(problem.summary().unwrap().numbers(), numbers());
        let shares = problem.shares().unwrap();
        for known in numbers() {
            let found = naive(known.number, &pool, shares);
            assert!((found - known.value).abs() < 1e-8 * known.value.abs().max(1.0), "{known:?}: {found}");
        }
        // Rows without weight stay without.
        assert!(shares.iter().zip(&weights).all(|(share, w)| !weighted || (*w == 0.0) == (*share == 0.0)));
        assert!(problem.check_diagnosed().is_err());
    }
}

#[test]
fn calibrated_weights_meet_all_numbers_exactly() {
    let pool = pool(3000);
    let choose = Choose::thin(100).unwrap().weighed(WeightRule::Calibrated);
    let chosen = ready(given(pool.clone(), numbers()), choose).choose(&unwatched).unwrap();
    let rows = pool.select(&chosen.rows).unwrap();
    let weights = &chosen.weights.as_ref().unwrap().weights;
    assert!(weights.iter().all(|w| *w > 0.0));
    for (known, one) in numbers().iter().zip(&chosen.published) {
        let found = naive(known.number, &rows, weights);
        assert!((found - known.value).abs() < 1e-9 * known.value.abs().max(1.0), "{known:?}: {found}");
        let is_quantile = matches!(known.number, Number::Quantile(..));
        assert!(
            is_quantile || (one.reached - known.value).abs() < 1e-9 * known.value.abs().max(1.0),
            "{one:?}"
        );
    }
}

#[test]
fn a_row_of_a_category_without_share_is_never_chosen() {
    let shares =
        vec![of(Number::Share(2, 0.0), 0.6), of(Number::Share(2, 1.0), 0.4), of(Number::Share(2, 2.0), 0.0)];
    for shares in [shares.clone(), shares[..2].to_vec()] {
        let pool = pool(600);
        let chosen =
            ready(given(pool.clone(), shares), Choose::thin(50).unwrap()).choose(&unwatched).unwrap();
        let count = |value: f64| chosen.rows.iter().filter(|&&row| pool.row(row)[2] == value).count();
        assert_eq!((count(0.0), count(1.0), count(2.0)), (30, 20, 0));
    }
}

#[test]
fn sampling_errors_are_reported_and_weigh_the_numbers() {
    let pool = pool(1000);
    let with = |n: Option<f64>| {
        let known = vec![Published { number: Number::Mean(0), value: 55.0, n }];
        ready(given(pool.clone(), known), Choose::thin(20).unwrap()).choose(&unwatched).unwrap().published[0]
    };
    assert_eq!(with(None).standard_errors, None);
    let (few, many) = (with(Some(100.0)), with(Some(10_000.0)));
    assert!((many.standard_errors.unwrap() / few.standard_errors.unwrap() - 10.0).abs() < 1e-9);
    assert!((few.standard_errors.unwrap() - few.error() * 10.0).abs() < 1e-9, "{few:?}");
    assert_eq!(few.unit, many.unit);
}

/// The refusal of these numbers, by the library's words.
fn refusal(numbers: Vec<Published>) -> (SummaryFault, String) {
    let rows = Summary::new(numbers.clone()).map(|summary| Rows::new(pool(300)).matching_summary(summary));
    let error = rows.and_then(|rows| Problem::new(rows, Choose::thin(20).unwrap())).err();
    let error = error.unwrap_or_else(|| panic!("{numbers:?}"));
    let names = Names::default().columns(["age", "bmi", "sex"]);
    let Error::Summary { fault, .. } = error else { panic!("{error:?}") };
    (fault, error.sentence(Style::Python, &names))
}

#[test]
fn what_contradicts_itself_or_the_rows_is_refused_by_name() {
    let (mean, sd, r) = (Number::Mean(0), Number::Sd(0), Number::Correlation(0, 1));
    let both = |m: f64, s: f64| vec![of(mean, m), of(sd, s)];
    let mut all = vec![
        (vec![of(mean, f64::NAN)], "the mean of column 'age' is NaN; give a finite number"),
        (
            vec![Published { n: Some(0.0), ..of(mean, 50.0) }],
            "the mean of column 'age': n is 0; give the number of rows",
        ),
        (vec![of(mean, 50.0), of(mean, 51.0)], "the mean of column 'age' is given twice"),
        (vec![of(mean, 500.0)], "the mean of column 'age' is 500, but the rows to choose from have "),
        (both(50.0, -1.0), "the sd of column 'age' is -1; a standard deviation is not negative"),
        (
            both(50.0, 1000.0),
            "the sd of column 'age' is 1000, but with this mean and the range of the rows it is less than ",
        ),
        (vec![of(sd, 10.0)], "the sd of column 'age' needs the mean of column 'age' too; give both"),
        (
            vec![of(Number::Quantile(0, 1.0), 50.0)],
            "the 100 % quantile of column 'age': its level must be between 0 and 1",
        ),
        (
            vec![of(Number::Quantile(0, 0.5), -900.0)],
            "the 50 % quantile of column 'age' is -900, but the rows to choose from have ",
        ),
        (
            vec![of(Number::Quantile(0, 0.5), 50.0), of(Number::Quantile(0, 0.25), 51.0)],
            "the 50 % quantile of column 'age' is 50, but the 25 % quantile is 51; quantiles must increase",
        ),
        (
            vec![of(Number::Share(2, 0.0), 1.5)],
            "the share of 0 in column 'sex' is 1.5; a share is between 0 and 1",
        ),
        (vec![of(Number::Share(2, 0.0), 0.5)], "the shares of column 'sex' sum to 0.500, not to 1"),
        (
            vec![of(Number::Share(2, 0.0), 0.5), of(Number::Share(2, 7.0), 0.5)],
            "the share of 7 in column 'sex' is 0.5, but no row to choose from has this value",
        ),
        (vec![of(Number::Mean(5), 1.0)], "the mean of column 5: there is no such column; there are 3"),
        (
            vec![of(r, 0.5)],
            "the correlation of column 'age' with column 'bmi' needs the mean of column 'age' too",
        ),
        (
            vec![of(r, 1.5)],
            "the correlation of column 'age' with column 'bmi' is 1.5; a correlation is between -1 and 1",
        ),
        (
            vec![of(Number::Correlation(0, 0), 1.0)],
            "the correlation of column 'age' with column 'age' is 1; give the correlation of two",
        ),
        // The median of a symmetric pool far from a mean with a small spread.
        (
            vec![of(mean, 50.0), of(sd, 2.0), of(Number::Quantile(0, 0.5), 60.0)],
            "the sd of column 'age' is 2, but no weights of the rows to choose from meet it together with the other numbers: the \
             nearest is ",
        ),
    ];
    let complete = |ab: f64, ac: f64, bc: f64| {
        let mut all: Vec<Published> = (0..3).map(|j| of(Number::Mean(j), [50.0, 3.0, 1.0][j])).collect();
        all.extend((0..3).map(|j| of(Number::Sd(j), [10.0, 1.0, 0.8][j])));
        all.extend([(0, 1, ab), (0, 2, ac), (1, 2, bc)].map(|(a, b, r)| of(Number::Correlation(a, b), r)));
        all
    };
    all.push((
        complete(0.9, 0.9, -0.9),
        "the correlation of column 'age' with column 'bmi' is 0.9; no rows have it together with the other correlations",
    ));
    for (numbers, expected) in all {
        let (fault, said) = refusal(numbers);
        assert!(said.starts_with(expected), "{fault:?}: {said}\n{expected}");
    }
    assert_eq!(Summary::new(Vec::new()), Err(Error::EmptySummary));
    assert!(Summary::new(complete(0.5, 0.4, 0.3)).is_ok());
    // A constant column has no sd.
    let constant = Points::from_vec(vec![2.0; 40], 1).unwrap();
    let rows = given(constant, both(2.0, 1.0));
    let error = Problem::new(rows, Choose::thin(5).unwrap()).err().unwrap();
    assert_eq!(
        error,
        Error::Summary { number: sd, value: 1.0, fault: SummaryFault::Constant { value: 2.0 } }
    );
}

#[test]
fn what_has_no_meaning_with_published_numbers_is_refused() {
    let (rows, choose) = (|| given(pool(60), numbers()), Choose::thin(5).unwrap());
    let gram = Gram::new((0..9).map(|at| f64::from(u8::from(at % 4 == 0))).collect(), 3).unwrap();
    let summary = || Summary::new(numbers()).unwrap();
    let all = [
        (Rows::of_gram(gram).matching_summary(summary()), "a Gram matrix"),
        (rows().scores(RowScores::new(vec![0.0; 180])), "scores"),
        (rows().matching(pool(30)), "other rows as a target"),
    ];
    for (rows, expected) in all {
        match Problem::new(rows, choose.clone()).err() {
            Some(Error::NotTogether { option: Opt::MatchSummary, with, .. }) => assert_eq!(with, expected),
            other => panic!("{other:?}"),
        }
    }
    let auto = Choose::thin_until(Stop::asked(None, true, None, None, None).unwrap()).unwrap();
    assert!(matches!(Problem::new(rows(), auto).err(), Some(Error::AutoSize { .. })));
}
