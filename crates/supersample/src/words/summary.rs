//! Published numbers by name, and why they cannot be matched.

use super::{Names, exact, significant};
use crate::task::{Number, SummaryFault};

impl Number {
    /// Describes the number: `the mean of column 'age'`, `the 25 % quantile of column 'age'`.
    pub fn described(&self, names: &Names<'_>) -> String {
        match *self {
            Number::Mean(column) => format!("the mean of {}", names.column(column)),
            Number::Sd(column) => format!("the sd of {}", names.column(column)),
            Number::Quantile(column, level) => {
                format!("the {} quantile of {}", percent(level), names.column(column))
            }
            Number::Share(column, value) => {
                format!("the share of {} in {}", exact(value), names.column(column))
            }
            Number::Correlation(a, b) => {
                format!("the correlation of {} with {}", names.column(a), names.column(b))
            }
        }
    }

    /// The kind of number in a word, as in a summary file: `mean`, `sd`, `quantile`, `share`, `correlation`.
    pub fn kind(&self) -> &'static str {
        match self {
            Number::Mean(_) => "mean",
            Number::Sd(_) => "sd",
            Number::Quantile(..) => "quantile",
            Number::Share(..) => "share",
            Number::Correlation(..) => "correlation",
        }
    }

    /// The number in a table, after the name of its column: `mean`, `25 %`, `= 1`, `with bmi`.
    pub fn short(&self, name: impl Fn(usize) -> String) -> String {
        match *self {
            Number::Quantile(_, level) => percent(level),
            Number::Share(_, value) => format!("= {}", exact(value)),
            Number::Correlation(_, other) => format!("with {}", name(other)),
            Number::Mean(_) | Number::Sd(_) => self.kind().to_string(),
        }
    }

    /// Its column; the first of a correlation.
    pub fn column(&self) -> usize {
        match *self {
            Number::Mean(column) | Number::Sd(column) | Number::Quantile(column, _) => column,
            Number::Share(column, _) | Number::Correlation(column, _) => column,
        }
    }
}

/// `25 %`, `2.5 %`.
fn percent(level: f64) -> String {
    // 0.07 times 100 is 7.000000000000001.
    let rounded = (level * 1e10).round() / 1e8;
    format!("{} %", exact(rounded))
}

/// The sentence of a refusal.
pub(super) fn summary_fault(number: Number, value: f64, fault: SummaryFault, names: &Names<'_>) -> String {
    let (what, value) = (number.described(names), exact(value));
    let column = names.column(number.column());
    let why = match fault {
        SummaryFault::NotFinite => "give a finite number".to_string(),
        SummaryFault::BadCount { n } => {
            return format!("{what}: n is {}; give the number of rows that were published", exact(n));
        }
        SummaryFault::BadLevel => return format!("{what}: its level must be between 0 and 1, such as 0.5 for the median"),
        SummaryFault::Repeated => return format!("{what} is given twice; give it once"),
        SummaryFault::Negative => "a standard deviation is not negative".to_string(),
        SummaryFault::OutOfRange => match number {
            Number::Correlation(a, b) if a == b => "give the correlation of two columns".to_string(),
            Number::Correlation(..) => "a correlation is between -1 and 1".to_string(),
            _ => "a share is between 0 and 1".to_string(),
        },
        SummaryFault::SharesSum { sum } => {
            return format!("the shares of {column} sum to {}, not to 1; give those of all its values", significant(sum));
        }
        SummaryFault::NotIncreasing { level, value: lower } => {
            format!("but the {} quantile is {}; quantiles must increase", percent(level), exact(lower))
        }
        SummaryFault::Needs(other) => return format!("{what} needs {} too; give both", other.described(names)),
        SummaryFault::NotCorrelations => {
            "no rows have it together with the other correlations, whose matrix is not positive semidefinite; look for a wrong sign"
                .to_string()
        }
        SummaryFault::NoColumn { columns } => {
            return format!("{what}: there is no such column; there are {columns}, from 0");
        }
        SummaryFault::Constant { value } => {
            format!("but all rows to choose from have {} there; leave the column out", exact(value))
        }
        SummaryFault::Outside { low, high } => format!(
            "but the rows to choose from have {} to {}; leave it out, or choose from other rows",
            significant(low),
            significant(high)
        ),
        SummaryFault::TooLarge { most } => format!(
            "but with this mean and the range of the rows it is less than {}; leave it out, or choose from other rows",
            significant(most)
        ),
        SummaryFault::NoRows => {
            "but no row to choose from has this value; leave it out, or choose from other rows".to_string()
        }
        SummaryFault::Together { nearest } => {
            let nearest = match number {
                Number::Quantile(_, level) => format!(
                    "the nearest has {} of the rows below it, not {}",
                    significant(nearest),
                    exact(level)
                ),
                _ => format!("the nearest is {}", significant(nearest)),
            };
            format!(
                "but no weights of the rows to choose from meet it together with the other numbers: {nearest}; leave out what \
                 contradicts it, or choose from other rows"
            )
        }
    };
    format!("{what} is {value}; {why}").replace("; but", ", but")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_described_by_column() {
        let names = Names::default().columns(["age", "bmi"]);
        let all = [
            (Number::Mean(0), "the mean of column 'age'", "mean"),
            (Number::Sd(1), "the sd of column 'bmi'", "sd"),
            (Number::Quantile(0, 0.07), "the 7 % quantile of column 'age'", "7 %"),
            (Number::Quantile(0, 0.025), "the 2.5 % quantile of column 'age'", "2.5 %"),
            (Number::Share(0, 1.0), "the share of 1 in column 'age'", "= 1"),
            (Number::Correlation(0, 1), "the correlation of column 'age' with column 'bmi'", "with bmi"),
        ];
        for (number, described, short) in all {
            assert_eq!(number.described(&names), described);
            assert_eq!(number.short(|column| ["age", "bmi"][column].to_string()), short);
        }
    }
}
