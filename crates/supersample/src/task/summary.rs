//! Published numbers as a target: means, standard deviations, quantiles, shares and correlations of rows that are not known.
//!
//! Each number is the mean of a function of a row: x; (x − m)², with m the published mean; 1 below a quantile and 1/2 at it; 1 in
//! a category; the product of two columns in their published units. The rows to choose from get the weights under which all
//! these means are as published and which are nearest to those before (`weights/balance.rs`). These weighted rows are the target: the
//! published numbers with the shape that the rows have. The functions are also a part of the objective, so that few rows
//! meet their means closely.

mod feasible;
mod reached;

use crate::points::normalised;
use crate::weights::balance::{Columns, balance, products};
use crate::{Error, Part, Points, Result, Watch};

pub use self::feasible::SummaryFault;
pub use self::reached::Reached;

/// Weight of the published numbers in the objective, relative to the joint distribution.
pub(super) const WEIGHT: f64 = 10.0;

/// Size of a set that is not known when its functions are made.
const USUAL: usize = 100;

/// Shares of categories are rounded when they are published: their sum may be off by this.
const ROUNDED: f64 = 0.011;

/// A number that a publication has. Columns are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Number {
    /// The mean of a column.
    Mean(usize),
    /// The standard deviation of a column.
    Sd(usize),
    /// The quantile of a column at a level between 0 and 1.
    Quantile(usize, f64),
    /// The share of rows that have this value in a column.
    Share(usize, f64),
    /// The correlation of two columns.
    Correlation(usize, usize),
}

/// A published number with its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// What it is.
    pub number: Number,
    /// Its value.
    pub value: f64,
    /// Number of rows that it was computed from, where that is known.
    pub n: Option<f64>,
}

/// Published numbers that are matched in place of rows ([`Rows::matching_summary`](super::Rows::matching_summary)).
///
/// ```
/// use supersample::task::{Choose, Number, Problem, Published, Rows, Summary};
/// use supersample::{Points, unwatched};
/// let pool = Points::from_vec((0..1000).map(|i| (f64::from(i) * 0.7).sin()).collect(), 1)?;
/// let of = |number, value| Published { number, value, n: None };
/// let summary = Summary::new(vec![of(Number::Mean(0), 0.3), of(Number::Quantile(0, 0.5), 0.4)])?;
/// let rows = Rows::new(pool.clone()).matching_summary(summary);
/// let chosen = Problem::new(rows, Choose::thin(50)?)?.prepare(&unwatched)?.choose(&unwatched)?;
/// for number in &chosen.published {
///     assert!(number.error().abs() < 0.01);
/// }
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    numbers: Vec<Published>,
}

impl Summary {
    /// Creates a summary. Numbers that contradict each other, whatever the rows, are an error.
    pub fn new(numbers: Vec<Published>) -> Result<Summary> {
        feasible::check(&numbers)?;
        Ok(Summary { numbers })
    }

    /// The numbers.
    pub fn numbers(&self) -> &[Published] {
        &self.numbers
    }

    /// The value of a number, where it is published.
    fn value(&self, number: Number) -> Option<f64> {
        self.numbers.iter().find(|known| known.number == number).map(|known| known.value)
    }

    /// The numbers with a function of their own, by place, as functions whose mean is zero. The last category of a column has
    /// what the others leave.
    fn functions(&self) -> Vec<Function> {
        let of = |(place, known): (usize, &Published)| {
            let Published { number, value, .. } = *known;
            let mean = |column| self.value(Number::Mean(column)).unwrap_or_default();
            let kind = match number {
                Number::Mean(column) => Kind::Value { column },
                Number::Sd(column) => Kind::Square { column, mean: mean(column) },
                Number::Quantile(column, _) => Kind::Below { column, at: value },
                Number::Share(column, is) => {
                    let later = &self.numbers[place + 1..];
                    let is_last =
                        !later.iter().any(|other| matches!(other.number, Number::Share(c, _) if c == column));
                    if is_last {
                        return None;
                    }
                    Kind::Is { column, value: is }
                }
                Number::Correlation(a, b) => Kind::Product {
                    columns: [a, b],
                    means: [mean(a), mean(b)],
                    sds: [a, b].map(|column| self.value(Number::Sd(column)).unwrap_or(1.0)),
                },
            };
            let wanted = match number {
                Number::Sd(_) => value * value,
                Number::Quantile(_, level) => level,
                Number::Share(column, _) => value / self.sum_of_shares(column),
                _ => value,
            };
            Some(Function { place, kind, wanted, n: known.n })
        };
        self.numbers.iter().enumerate().filter_map(of).collect()
    }

    fn shares(&self, column: usize) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.numbers.iter().filter_map(move |known| match known.number {
            Number::Share(c, value) if c == column => Some((value, known.value)),
            _ => None,
        })
    }

    fn sum_of_shares(&self, column: usize) -> f64 {
        self.shares(column).map(|(_, share)| share).sum()
    }

    /// Columns with shares, in ascending order.
    fn shared_columns(&self) -> Vec<usize> {
        let of = |known: &Published| if let Number::Share(c, _) = known.number { Some(c) } else { None };
        let mut columns: Vec<usize> = self.numbers.iter().filter_map(of).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// Whether a row has a category of weight in every column of categories.
    fn admits(&self, row: &[f64]) -> bool {
        let is_listed =
            |column: usize| self.shares(column).any(|(value, share)| value == row[column] && share > 0.0);
        self.shared_columns().into_iter().all(is_listed)
    }
}

/// A published number as a function of a row with a given mean.
#[derive(Clone, Copy, Debug)]
struct Function {
    /// Which of the published numbers.
    place: usize,
    kind: Kind,
    wanted: f64,
    n: Option<f64>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Value {
        column: usize,
    },
    Square {
        column: usize,
        mean: f64,
    },
    Below {
        column: usize,
        at: f64,
    },
    /// 1 below, 0 above, and linear over this width in between.
    Ramp {
        column: usize,
        at: f64,
        width: f64,
    },
    Is {
        column: usize,
        value: f64,
    },
    Product {
        columns: [usize; 2],
        means: [f64; 2],
        sds: [f64; 2],
    },
}

impl Function {
    /// Its value at a row, less the mean that it is to have.
    fn at(&self, row: &[f64]) -> f64 {
        let value = match self.kind {
            Kind::Value { column } => row[column],
            Kind::Square { column, mean } => (row[column] - mean).powi(2),
            // A tie is half below.
            Kind::Below { column, at } if row[column] == at => 0.5,
            Kind::Below { column, at } => f64::from(u8::from(row[column] < at)),
            Kind::Ramp { column, at, width } => (0.5 - (row[column] - at) / width).clamp(0.0, 1.0),
            Kind::Is { column, value } => f64::from(u8::from(row[column] == value)),
            Kind::Product { columns: [a, b], means, sds } => {
                (row[a] - means[0]) / sds[0] * ((row[b] - means[1]) / sds[1])
            }
        };
        value - self.wanted
    }
}

/// Published numbers of rows that can be chosen.
#[derive(Clone, Debug)]
pub(super) struct Fitted {
    pub(super) summary: Summary,
    functions: Vec<Function>,
    /// Standard deviation of each function over the weighted rows.
    units: Vec<f64>,
    /// The functions that few rows are chosen by, with their units.
    aims: Vec<(Function, f64)>,
    /// The numbers over the rows before they were weighted.
    pool: Vec<f64>,
    /// Standard deviation of each column over the weighted rows.
    sds: Vec<f64>,
}

/// Weights of rows under which all numbers are as published, nearest to those before.
pub(super) fn fit(
    rows: &Points,
    shares: Option<Vec<f64>>,
    summary: Summary,
    number: Option<usize>,
    watch: Watch,
) -> Result<(Vec<f64>, Fitted)> {
    let dim = rows.dim();
    feasible::check_columns(&summary, dim)?;
    let equal = 1.0 / rows.len() as f64;
    let before: Vec<f64> = shares.unwrap_or_else(|| vec![equal; rows.len()]);
    let start: Vec<f64> =
        (0..rows.len()).map(|row| if summary.admits(rows.row(row)) { before[row] } else { 0.0 }).collect();
    feasible::check_rows(&summary, rows, &start)?;
    let start = normalised(&start, "rows", rows.len())?;
    let functions = summary.functions();
    let (spread, share) = (spreads(&functions, rows, &start), |row: usize| start[row]);
    let fill = |row: usize, out: &mut [f64]| {
        for ((out, function), unit) in out.iter_mut().zip(&functions).zip(&spread) {
            *out = function.at(rows.row(row)) / unit;
        }
    };
    let features = Columns { rows: rows.len(), count: functions.len(), fill: &fill };
    let weighted = match functions.is_empty() {
        true => start.clone(),
        false => {
            let squares = products(features, 0..rows.len(), &share, watch)?;
            match balance(features, &share, &squares, functions.len(), watch)? {
                Some(found) => found.shares,
                None => return Err(feasible::nearest(&summary, &functions, &spread, features, &start)),
            }
        }
    };
    let units = spreads(&functions, rows, &weighted);
    let aim = |(function, unit): (&Function, &f64)| aim(function, *unit, rows, &weighted, number);
    let aims = functions.iter().zip(&units).map(aim).collect();
    let pool = summary.numbers.iter().map(|known| reached::of(known.number, rows, &before)).collect();
    let sd = |column: usize| reached::of(Number::Sd(column), rows, &weighted);
    let sds = (0..dim).map(sd).collect();
    Ok((weighted, Fitted { summary, functions, units, aims, pool, sds }))
}

/// The root mean square of each function about the mean that it is to have; 1 for a constant.
fn spreads(functions: &[Function], rows: &Points, shares: &[f64]) -> Vec<f64> {
    let spread = |function: &Function| {
        let squares = rows.rows().zip(shares).filter(|(_, share)| **share > 0.0);
        let found = squares.map(|(row, share)| share * function.at(row).powi(2)).sum::<f64>().sqrt();
        if found > 0.0 && found.is_finite() { found } else { 1.0 }
    };
    functions.iter().map(spread).collect()
}

/// The function that `number` rows are chosen by, with its unit.
///
/// The quantile of few rows is interpolated between the two next to it. So the step at the quantile is a ramp as wide as the distance
/// between two rows there, whose sum over evenly spaced rows is the interpolated number of rows below. Its unit is the spread of the ramp about
/// the step, because that is what distinguishes sets with the right number of rows below.
fn aim(
    function: &Function,
    unit: f64,
    rows: &Points,
    shares: &[f64],
    number: Option<usize>,
) -> (Function, f64) {
    let Kind::Below { column, at } = function.kind else { return (*function, unit) };
    let one_row = 1.0 / number.unwrap_or(USUAL) as f64;
    let mut near: Vec<(f64, f64)> =
        rows.rows().zip(shares).map(|(row, share)| ((row[column] - at).abs(), *share)).collect();
    near.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut reached = 0.0;
    let half = near.iter().find_map(|&(distance, share)| {
        reached += share;
        (reached >= one_row).then_some(distance)
    });
    match half.filter(|half| *half > 0.0) {
        Some(half) => {
            let kind = Kind::Ramp { column, at, width: 2.0 * half };
            (Function { kind, ..*function }, unit.min((one_row / 12.0).sqrt()))
        }
        // Inside of an atom the quantile is its value.
        None => (*function, unit),
    }
}

impl Fitted {
    /// The part of the objective, for these rows: each function in units of its standard deviation, or of its sampling
    /// error where the numbers come from different numbers of rows.
    pub(super) fn part(&self, rows: &Points) -> Result<Option<Part>> {
        let most = self.functions.iter().filter_map(|function| function.n).fold(0.0, f64::max);
        let counts: Vec<f64> = self.functions.iter().map(|one| one.n.map_or(1.0, |n| n / most)).collect();
        let total: f64 = counts.iter().sum();
        if self.functions.is_empty() {
            return Ok(None);
        }
        let view = rows.rows().flat_map(|row| {
            let each = self.aims.iter().zip(&counts);
            each.map(move |((function, unit), count)| function.at(row) / unit * (count / total).sqrt())
        });
        let view = Points::from_vec(view.collect(), self.functions.len())?;
        Ok(Some(Part::of_means("published numbers", view, WEIGHT)?))
    }

    /// Number of functions, which take memory for every row.
    pub(super) fn count(&self) -> usize {
        self.functions.len()
    }

    /// The numbers with a function of their own: which they are, the function at each of these rows less the mean that it is to
    /// have, and its unit.
    pub(super) fn to_meet(&self, rows: &Points) -> Vec<(Number, Vec<f64>, f64)> {
        let all = self.functions.iter().zip(&self.units);
        all.map(|(function, unit)| {
            let number = self.summary.numbers[function.place].number;
            (number, rows.rows().map(|row| function.at(row)).collect(), *unit)
        })
        .collect()
    }
}

impl Error {
    fn of_number(known: &Published, fault: SummaryFault) -> Error {
        Error::Summary { number: known.number, value: known.value, fault }
    }
}
