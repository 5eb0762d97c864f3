//! Sentences of refusals that name an option, or something that has a name.

use super::{Names, Opt, Style, are, count, counted, exact, in_units};
use crate::Error;

impl Error {
    /// The refusal as one sentence, with options as `style` spells them and rows, columns, functions and groups by `names`.
    ///
    /// ```
    /// use supersample::task::Stop;
    /// use supersample::words::{Names, Style};
    /// let refusal = Stop::at_error(-1.0).unwrap_err();
    /// assert_eq!(refusal.to_string(), "tol is -1; an error is a positive number");
    /// let said = refusal.sentence(Style::Command, &Names::default());
    /// assert_eq!(said, "--tol is -1; an error is a positive number");
    /// ```
    pub fn sentence(&self, style: Style, names: &Names<'_>) -> String {
        let spelled = |option: Opt| option.spelled(style);
        match self {
            Error::BadOption { option, value, advice } => {
                format!("{} is {}; {advice}", spelled(*option), exact(*value))
            }
            Error::NotWithScores { option, advice } => {
                format!("{} and scores do not go together; {advice}", spelled(*option))
            }
            Error::NoStopRule => format!(
                "say how many: {} (a number of rows), {} (an error) or {} (a number of independent draws)",
                spelled(Opt::Number),
                spelled(Opt::Tol),
                spelled(Opt::Worth)
            ),
            Error::EmptySet => format!("{} is 0; ask for at least 1", spelled(Opt::Number)),
            Error::BadBandwidth { value } => {
                let is_length = *value > 0.0 && value.is_finite();
                let reason = if is_length { ", whose square no number can hold" } else { "" };
                format!(
                    "{} is {}{reason}; give a positive length in the units of the scaled columns",
                    spelled(Opt::Bandwidth),
                    exact(*value)
                )
            }
            Error::TooLittleMemory { needed, limit } => format!(
                "the run needs about {}, and {} allows {}; choose by fewer {}, or allow more",
                in_units(*needed),
                spelled(Opt::MaxMemory),
                in_units(*limit),
                spelled(Opt::Columns)
            ),
            Error::NonFinite { row, column, value } => format!(
                "{}, {}{} is {value}; every coordinate must be a finite number, so drop or impute it first",
                names.row(*row, style),
                names.column(*column),
                names.of_rows()
            ),
            Error::NonFiniteScore { row, column, value } => format!(
                "the score of {}, {} is {value}; every score must be a finite number, so drop the row or look at the \
                 density there",
                names.row(*row, style),
                names.column(*column)
            ),
            Error::NonFiniteFunction { row, column, value } => format!(
                "{} of {} is {value}; every function must be a finite number, so drop the row or the function",
                names.function(*column),
                names.row(*row, style)
            ),
            Error::ConstantFunction { column } => format!(
                "{} is constant on the rows that count, so its mean is matched by any of them; leave it out",
                names.function(*column)
            ),
            Error::BadWeight { index, value } => {
                let (weight, is_of_row) = names.weight(*index, style);
                format!(
                    "{}{}{weight} is {value}; weights must be finite and not negative{}",
                    names.in_weight_column(),
                    if is_of_row { "the " } else { "" },
                    if is_of_row && *value < 0.0 { logarithms(style) } else { String::new() }
                )
            }
            Error::ZeroWeights => format!(
                "{}all weights are zero; at least one must be positive{}",
                names.in_weight_column(),
                if names.weight(0, style).1 { logarithms(style) } else { String::new() }
            ),
            Error::BadLogWeight { index, value } => format!(
                "{}the log-{} is {value}; logarithms of weights must be below +inf, and -inf is no weight",
                names.in_weight_column(),
                names.weight(*index, style).0
            ),
            Error::NoLogWeights => format!(
                "{}every log-weight is -inf; at least one row must have a weight",
                names.in_weight_column()
            ),
            Error::IncludedAndExcluded { index } => format!(
                "row {} is in both {} and {}; take it out of one of them",
                names.number(*index),
                spelled(Opt::Include),
                spelled(Opt::Exclude)
            ),
            Error::TooManyIncluded { included, asked } => format!(
                "{} has {}, but {} {} to be chosen; ask for more, or include fewer",
                spelled(Opt::Include),
                counted(*included, "row"),
                count(*asked),
                are(*asked)
            ),
            Error::TooFewRows { asked, available } => format!(
                "{} {} asked for, but only {} may be chosen; ask for fewer, exclude fewer, or allow {}",
                counted(*asked, "distinct row"),
                are(*asked),
                count(*available),
                spelled(Opt::Repeats)
            ),
            Error::FixedQuotas => format!(
                "the number of rows is fixed by {}; leave out {} and {}, or the quotas",
                spelled(Opt::Quotas),
                spelled(Opt::Tol),
                spelled(Opt::Worth)
            ),
            Error::QuotaTotal { total, asked } => format!(
                "the quotas add up to {}, but {} is {}; make the two agree",
                count(*total),
                spelled(Opt::Number),
                count(*asked)
            ),
            Error::QuotaTooLarge { group, quota, available } => format!(
                "{}: {} of {} {} asked for, but only {} may be chosen; ask for fewer",
                spelled(Opt::Quotas),
                counted(*quota, "row"),
                names.group(*group),
                are(*quota),
                count(*available)
            ),
            Error::QuotaTooSmall { group, quota, included } => format!(
                "{} has {} of {}, but {} allows {}; make the two agree",
                spelled(Opt::Include),
                counted(*included, "row"),
                names.group(*group),
                spelled(Opt::Quotas),
                count(*quota)
            ),
            Error::QuotaNotKept { group, quota, found } => format!(
                "{} of {} {} given, but its quota is {}; make the two agree",
                counted(*found, "row"),
                names.group(*group),
                are(*found),
                count(*quota)
            ),
            // What has no option and no name is the same for everybody.
            error => error.to_string(),
        }
    }

    /// The sentence of the library itself.
    pub(crate) fn plain(&self) -> String {
        self.sentence(Style::Rust, &Names::default())
    }
}

/// A hint for those who have logarithms of weights.
fn logarithms(style: Style) -> String {
    format!(" (logarithms of weights go to {})", Opt::LogWeights.spelled(style))
}
