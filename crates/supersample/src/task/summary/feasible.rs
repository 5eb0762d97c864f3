//! What no rows can have, or these cannot: summaries that are refused, each by the number that is at fault.

use super::{Function, Number, Published, ROUNDED, Summary};
use crate::linalg::{Factor, dot};
use crate::weights::balance::Columns;
use crate::{Error, Points, Result};

/// Steps towards the nearest numbers that rows can have, at most and at least, and values of functions in all of them.
const STEPS: (usize, usize) = (100, 2000);
const VALUES: usize = 1_000_000_000;

/// Why a published number cannot be matched.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum SummaryFault {
    /// It is not a finite number.
    NotFinite,
    /// The number of rows behind it is not positive.
    BadCount {
        /// The number of rows.
        n: f64,
    },
    /// The level of a quantile is not between 0 and 1.
    BadLevel,
    /// It is published twice.
    Repeated,
    /// A standard deviation that is negative.
    Negative,
    /// A share that is not between 0 and 1, or a correlation that is not between −1 and 1.
    OutOfRange,
    /// The shares of a column do not sum to one.
    SharesSum {
        /// Their sum.
        sum: f64,
    },
    /// A quantile is not above that of a lower level.
    NotIncreasing {
        /// The lower level.
        level: f64,
        /// Its value.
        value: f64,
    },
    /// A standard deviation needs the mean, and a correlation the means and standard deviations.
    Needs(Number),
    /// The correlations cannot be those of any rows.
    NotCorrelations,
    /// There is no such column.
    NoColumn {
        /// Number of columns.
        columns: usize,
    },
    /// The column is constant in the rows.
    Constant {
        /// Its value.
        value: f64,
    },
    /// A mean or quantile outside of the range of the rows.
    Outside {
        /// The smallest value.
        low: f64,
        /// The largest value.
        high: f64,
    },
    /// A standard deviation that is larger than the range of the rows allows around this mean.
    TooLarge {
        /// The largest.
        most: f64,
    },
    /// No row has the category.
    NoRows,
    /// No weights of the rows meet all numbers at once; this one is missed most.
    Together {
        /// What the nearest weights give; the share of rows below it for a quantile.
        nearest: f64,
    },
}

/// Checks numbers that need no rows.
pub(super) fn check(numbers: &[Published]) -> Result<()> {
    if numbers.is_empty() {
        return Err(Error::EmptySummary);
    }
    for (place, known) in numbers.iter().enumerate() {
        if let Some(fault) = fault(known, &numbers[..place], numbers) {
            return Err(Error::of_number(known, fault));
        }
    }
    check_shares(numbers)?;
    check_correlations(numbers)
}

fn fault(known: &Published, earlier: &[Published], all: &[Published]) -> Option<SummaryFault> {
    let Published { number, value, n } = *known;
    let has = |number: Number| all.iter().any(|other| other.number == number);
    let lacks = |number: Number| (!has(number)).then_some(SummaryFault::Needs(number));
    if !value.is_finite() {
        return Some(SummaryFault::NotFinite);
    }
    if let Some(n) = n.filter(|n| !(*n > 0.0 && n.is_finite())) {
        return Some(SummaryFault::BadCount { n });
    }
    let is_same = |other: &Published| match (other.number, number) {
        (Number::Correlation(a, b), Number::Correlation(c, d)) => (a, b) == (c, d) || (a, b) == (d, c),
        (other, number) => other == number,
    };
    if earlier.iter().any(is_same) {
        return Some(SummaryFault::Repeated);
    }
    match number {
        Number::Mean(_) => None,
        Number::Sd(_) if value < 0.0 => Some(SummaryFault::Negative),
        Number::Sd(column) => lacks(Number::Mean(column)),
        Number::Quantile(_, level) if !(level > 0.0 && level < 1.0) => Some(SummaryFault::BadLevel),
        Number::Quantile(column, level) => all.iter().find_map(|other| match other.number {
            Number::Quantile(c, lower) if c == column && lower < level && other.value >= value => {
                Some(SummaryFault::NotIncreasing { level: lower, value: other.value })
            }
            _ => None,
        }),
        Number::Share(..) if !(0.0..=1.0).contains(&value) => Some(SummaryFault::OutOfRange),
        Number::Share(..) => None,
        Number::Correlation(a, b) if !(-1.0..=1.0).contains(&value) || a == b => {
            Some(SummaryFault::OutOfRange)
        }
        Number::Correlation(a, b) => {
            [Number::Mean(a), Number::Sd(a), Number::Mean(b), Number::Sd(b)].into_iter().find_map(lacks)
        }
    }
}

fn check_shares(numbers: &[Published]) -> Result<()> {
    for known in numbers {
        if let Number::Share(column, _) = known.number {
            let of = |other: &&Published| matches!(other.number, Number::Share(c, _) if c == column);
            let sum: f64 = numbers.iter().filter(of).map(|other| other.value).sum();
            if (sum - 1.0).abs() > ROUNDED {
                return Err(Error::of_number(known, SummaryFault::SharesSum { sum }));
            }
        }
    }
    Ok(())
}

/// Checks every set of columns between which all correlations are published and which ends in one of these: its matrix must be
/// positive semidefinite.
fn check_correlations(numbers: &[Published]) -> Result<()> {
    let value = |a: usize, b: usize| {
        numbers.iter().find_map(|known| match known.number {
            Number::Correlation(c, d) if (a, b) == (c, d) || (a, b) == (d, c) => Some(known.value),
            _ => None,
        })
    };
    for known in numbers {
        let Number::Correlation(a, b) = known.number else { continue };
        let mut columns = vec![a, b];
        for other in numbers.iter().filter_map(|other| match other.number {
            Number::Sd(column) => Some(column),
            _ => None,
        }) {
            let is_new = !columns.contains(&other);
            if is_new && columns.iter().all(|&column| value(column, other).is_some()) {
                columns.push(other);
            }
        }
        let cell =
            |i: usize, j: usize| if i == j { 1.0 } else { value(columns[i], columns[j]).unwrap_or(0.0) };
        let count = columns.len();
        let matrix = (0..count * count).map(|at| cell(at / count, at % count)).collect();
        // Correlations are rounded when they are published.
        if Factor::new(matrix, count, 1e-9, 0.0).is_none() {
            return Err(Error::of_number(known, SummaryFault::NotCorrelations));
        }
    }
    Ok(())
}

/// Checks that all columns are there.
pub(super) fn check_columns(summary: &Summary, columns: usize) -> Result<()> {
    let is_beyond = |known: &&Published| match known.number {
        Number::Mean(c) | Number::Sd(c) | Number::Quantile(c, _) | Number::Share(c, _) => c >= columns,
        Number::Correlation(a, b) => a.max(b) >= columns,
    };
    match summary.numbers.iter().find(is_beyond) {
        Some(known) => Err(Error::of_number(known, SummaryFault::NoColumn { columns })),
        None => Ok(()),
    }
}

/// Checks each number alone against the rows with weight.
pub(super) fn check_rows(summary: &Summary, rows: &Points, start: &[f64]) -> Result<()> {
    for column in summary.shared_columns() {
        for known in &summary.numbers {
            let has = |value: f64| rows.rows().any(|row| row[column] == value);
            if let Number::Share(c, value) = known.number
                && c == column
                && known.value > 0.0
                && !has(value)
            {
                return Err(Error::of_number(known, SummaryFault::NoRows));
            }
        }
    }
    if start.iter().all(|share| *share == 0.0) {
        let first = summary.numbers.iter().find(|known| matches!(known.number, Number::Share(..)));
        return Err(first.map_or(Error::ZeroWeights, |known| Error::of_number(known, SummaryFault::NoRows)));
    }
    for known in &summary.numbers {
        let fault = match known.number {
            Number::Mean(column) | Number::Sd(column) | Number::Quantile(column, _) => {
                let of_level = match known.number {
                    Number::Quantile(_, level) => {
                        let kind = super::Kind::Below { column, at: known.value };
                        let function = Function { place: 0, kind, wanted: level, n: None };
                        range(rows, start, |row| function.at(row))
                    }
                    _ => (-1.0, 1.0),
                };
                fault_of_column(summary, known, column, range(rows, start, |row| row[column]), of_level)
            }
            Number::Share(..) | Number::Correlation(..) => None,
        };
        if let Some(fault) = fault {
            return Err(Error::of_number(known, fault));
        }
    }
    Ok(())
}

/// The smallest and the largest value of a function of the rows with weight.
fn range(rows: &Points, start: &[f64], of: impl Fn(&[f64]) -> f64) -> (f64, f64) {
    let values = rows.rows().zip(start).filter(|(_, share)| **share > 0.0).map(|(row, _)| of(row));
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
}

/// What is wrong with a number of a column with this range. `of_level` is the range of the function of a quantile, whose mean is to be zero.
fn fault_of_column(
    summary: &Summary,
    known: &Published,
    column: usize,
    (low, high): (f64, f64),
    of_level: (f64, f64),
) -> Option<SummaryFault> {
    let value = known.value;
    match known.number {
        Number::Mean(_) if low == high && value == low => None,
        _ if low == high => Some(SummaryFault::Constant { value: low }),
        Number::Mean(_) => (!(low < value && value < high)).then_some(SummaryFault::Outside { low, high }),
        Number::Sd(_) => {
            let mean = summary.value(Number::Mean(column))?;
            // The largest variance of numbers in a range with this mean has all of them at its ends.
            let most = ((high - mean) * (mean - low)).max(0.0).sqrt();
            (value >= most).then_some(SummaryFault::TooLarge { most })
        }
        Number::Quantile(..) => {
            let is_between = of_level.0 < 0.0 && 0.0 < of_level.1;
            (!is_between).then_some(SummaryFault::Outside { low, high })
        }
        _ => None,
    }
}

/// Why no weights meet all numbers: the one that the nearest weights miss most. These are the weights under which the mean of the
/// features, which is to be zero, is shortest; each step mixes in the row that leads down fastest (Gilbert's algorithm).
pub(super) fn nearest(
    summary: &Summary,
    functions: &[Function],
    units: &[f64],
    features: Columns<'_>,
    start: &[f64],
) -> Error {
    let open: Vec<usize> = (0..features.rows).filter(|&row| start[row] > 0.0).collect();
    let (mut values, mut mean) = (vec![0.0; features.count], vec![0.0; features.count]);
    (features.fill)(open[0], &mut mean);
    let steps = (VALUES / (open.len() * features.count.max(1))).clamp(STEPS.0, STEPS.1);
    for _ in 0..steps {
        let (mut best, mut least) = (open[0], f64::INFINITY);
        for &row in &open {
            (features.fill)(row, &mut values);
            let slope = dot(&values, &mean);
            if slope < least {
                (best, least) = (row, slope);
            }
        }
        (features.fill)(best, &mut values);
        let towards: Vec<f64> = mean.iter().zip(&values).map(|(mean, value)| mean - value).collect();
        let part = (dot(&mean, &towards) / dot(&towards, &towards)).clamp(0.0, 1.0);
        if part.is_nan() || part <= 0.0 {
            break;
        }
        mean.iter_mut().zip(&towards).for_each(|(mean, towards)| *mean -= part * towards);
    }
    let worst = (0..functions.len()).max_by(|&a, &b| mean[a].abs().total_cmp(&mean[b].abs())).unwrap_or(0);
    let known = &summary.numbers[functions[worst].place];
    let nearest = functions[worst].wanted + mean[worst] * units[worst];
    let nearest = if let Number::Sd(_) = known.number { nearest.max(0.0).sqrt() } else { nearest };
    Error::of_number(known, SummaryFault::Together { nearest })
}
