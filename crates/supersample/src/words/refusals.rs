//! Sentences for errors that name an option, a row, a column, a function or a group.

use super::summary::summary_fault;
use super::{Names, Opt, Style, are, count, counted, exact, in_units, in_units_above, significant};
use crate::Error;
use crate::task::{CalibratedMean, ScoreFault, Stop};

impl Error {
    /// Returns the error as one sentence, with options spelled in `style` and rows, columns, functions and groups named
    /// by `names`.
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
            Error::NotWithTarget { option, target, advice } => {
                let target = Opt::Target.set(style, (*target).into());
                format!("{} cannot be used with {target}; {advice}", spelled(*option))
            }
            Error::NoScores { target } => format!(
                "{} needs the scores of the rows, the gradients of their log-density; give them with {}",
                Opt::Target.set(style, (*target).into()),
                spelled(Opt::Scores)
            ),
            Error::WrongScores { column, mean, fault } => format!(
                "the scores of {} are not those of its rows: the mean of (x - mean) * score is {}, but for draws of \
                 the density it is -1; {}{}",
                names.column(*column),
                significant(*mean),
                fault_in_words(*fault, names),
                if *fault == ScoreFault::Scale {
                    format!(
                        ", or draws of another density: {} chooses by the scores alone",
                        Opt::Target.set(style, "density")
                    )
                } else {
                    String::new()
                }
            ),
            Error::InGroup { group, error } => {
                format!("{}: {}", names.group(*group), error.sentence(style, names))
            }
            Error::NotCalibrated { mean, wanted, nearest, range: (low, high), of_all } => {
                let (rows, more) = match of_all {
                    true => ("rows to choose from", "give others"),
                    false => ("chosen rows", "choose more rows"),
                };
                let name = match mean {
                    // Its function is centred, so that the means are not numbers of the publication.
                    CalibratedMean::Published(number) => {
                        return format!(
                            "no positive weights of the {rows} meet {}, alone or with the other published numbers; \
                             {more}, or leave numbers out",
                            number.described(names)
                        );
                    }
                    CalibratedMean::Column(column) => names.column(*column),
                    CalibratedMean::Function(function) => names.function(*function),
                };
                let why = match low < wanted && wanted < high {
                    true => {
                        format!("together with the other means, the nearest is {}", significant(*nearest))
                    }
                    false => format!(
                        "the {rows} have {} to {}, and the nearest is {}",
                        significant(*low),
                        significant(*high),
                        significant(*nearest)
                    ),
                };
                format!(
                    "no positive weights give {name} the mean {}: {why}; {more}, or fewer means with {}",
                    significant(*wanted),
                    spelled(Opt::Calibrate)
                )
            }
            Error::Summary { number, value, fault } => summary_fault(*number, *value, *fault, names),
            Error::NotTogether { option, with, advice } => {
                format!("{} cannot be used with {with}; {advice}", spelled(*option))
            }
            Error::NoStopRule => {
                // How much may be added goes with a number, auto.
                let goals = Stop::default().goals().into_iter().filter(|goal| goal.option != Opt::Add);
                let goals = goals.map(|goal| format!("{} ({})", spelled(goal.option), goal.meaning));
                let goals = goals.collect::<Vec<_>>().join(" or ");
                format!("give the size: {} (a number of rows, or auto), {goals}", spelled(Opt::Number))
            }
            Error::AutoSize { what, advice } => {
                let auto = Opt::Number.set(style, "auto");
                format!("{auto} cannot be used with {what}; {advice}")
            }
            Error::AutoUnknown { why } => {
                let auto = Opt::Number.set(style, "auto");
                format!("{auto} needs the errors of the draws, which are not known: {why}; give a number")
            }
            Error::EmptySet => format!("{} is 0; ask for at least 1", spelled(Opt::Number)),
            Error::DistancesOutOfRange { largest } => format!(
                "distances between the rows are about {largest:.0e}, whose squares are out of range; use {}, or other units",
                Opt::Scale.set(style, "sd")
            ),
            Error::BadBandwidth { value } => {
                let is_length = *value > 0.0 && value.is_finite();
                let reason = if is_length { ", whose square is out of range" } else { "" };
                format!(
                    "{} is {}{reason}; give a positive length in the units of the scaled columns",
                    spelled(Opt::Bandwidth),
                    exact(*value)
                )
            }
            Error::TooLittleMemory { needed, limit } => format!(
                "the run needs about {}, and {} allows {}; use fewer {}, or allow more",
                in_units_above(*needed),
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
                "{} is constant on all rows of positive weight, so any subset matches its mean; leave it out",
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
                "{}log-{} is {value}; logarithms of weights must be below +inf; -inf means weight 0",
                names.in_weight_column(),
                names.weight(*index, style).0
            ),
            Error::NoLogWeights => format!(
                "{}every log-weight is -inf; at least one row must have a positive weight",
                names.in_weight_column()
            ),
            Error::IncludedAndExcluded { index } => format!(
                "row {} is in both {} and {}; remove it from one of them",
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
            Error::TooFewRows { available: 0, .. } => {
                format!("no row may be chosen: {} has all of them; exclude fewer", spelled(Opt::Exclude))
            }
            Error::TooFewRows { asked, available } => format!(
                "{} {} asked for, but only {} may be chosen; ask for fewer, exclude fewer, or allow {}",
                counted(*asked, "distinct row"),
                are(*asked),
                count(*available),
                spelled(Opt::Repeats)
            ),
            Error::FixedQuotas => format!(
                "the number of rows is fixed by {}; leave out {}, {} and {}, or the quotas",
                spelled(Opt::Quotas),
                Opt::Number.set(style, "auto"),
                spelled(Opt::Tol),
                spelled(Opt::EquivalentDraws)
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
            // Errors without an option or a name are the same in every style.
            error => error.to_string(),
        }
    }

    /// The sentence in the style of the library.
    pub(crate) fn plain(&self) -> String {
        self.sentence(Style::Rust, &Names::default())
    }
}

/// What is wrong with scores, and what to do.
fn fault_in_words(fault: ScoreFault, names: &Names<'_>) -> String {
    match fault {
        ScoreFault::Zero => "all of them are 0".to_string(),
        ScoreFault::Sign => {
            "they have the sign of a potential, -log p; give the gradient of log p".to_string()
        }
        ScoreFault::OtherColumn(other) => format!("they are those of {}", names.column(other)),
        ScoreFault::Unrelated { everywhere: true } => {
            "it is so in every column: are they in the order of the rows?".to_string()
        }
        ScoreFault::Unrelated { everywhere: false } => {
            "are they those of this column, with the Jacobian of its transformation?".to_string()
        }
        ScoreFault::Scale => "they are of another scale".to_string(),
    }
}

/// Hint about log-weights.
fn logarithms(style: Style) -> String {
    format!(" (logarithms of weights go to {})", Opt::LogWeights.spelled(style))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::TargetChoice;

    #[test]
    fn each_front_end_reads_its_own_options_and_names() {
        let number_of = |row: usize| row + 10;
        let names = Names::default()
            .columns(["mu", "tau"])
            .functions(["cost"])
            .groups(Some("chain"), ["a", "b"])
            .weight_column(Some("w"))
            .numbered(&number_of);
        let bad = |option, value| Error::BadOption { option, value, advice: "advice" };
        let wrong = |fault, mean| Error::WrongScores { column: 1, mean, fault };
        let cases = [
            (bad(Opt::Tol, -1.0), "--tol is -1; advice", "tol is -1; advice"),
            (bad(Opt::PartWeight, 1e300), "the weight of a part is 1e300; advice", ""),
            (
                Error::NotWithTarget {
                    option: Opt::Marginals,
                    target: TargetChoice::Density,
                    advice: "advice",
                },
                "--marginals cannot be used with --target density; advice",
                "marginals cannot be used with target='density'; advice",
            ),
            (
                Error::NoScores { target: TargetChoice::Corrected },
                "--target corrected needs the scores of the rows, the gradients of their log-density; give them with \
                 --scores (or --score-prefix)",
                "target='corrected' needs the scores of the rows, ",
            ),
            (
                wrong(ScoreFault::Sign, 1.01),
                "the scores of column 'tau' are not those of its rows: the mean of (x - mean) * score is 1.01, but for \
                 draws of the density it is -1; they have the sign of a potential, -log p; give the gradient of log p",
                "the scores of column 1 are not those of its rows: ",
            ),
            (wrong(ScoreFault::Zero, 0.0), "the scores of column 'tau' are not ", ""),
            (wrong(ScoreFault::OtherColumn(0), 0.01), "the scores of column 'tau' are not ", ""),
            (
                wrong(ScoreFault::Unrelated { everywhere: true }, 0.01),
                "the scores of column 'tau' are not ",
                "",
            ),
            (wrong(ScoreFault::Scale, -9.0), "the scores of column 'tau' are not ", ""),
            (
                Error::NoStopRule,
                "give the size: -n (a number of rows, or auto), --tol (an error) or --equivalent-draws (a \
                 number of independent draws)",
                "give the size: n (a number of rows, or auto), tol (an error) or equivalent_draws (a number of \
                 independent draws)",
            ),
            (Error::EmptySet, "-n is 0; ask for at least 1", "n is 0; ask for at least 1"),
            (
                Error::BadBandwidth { value: 0.0 },
                "--bandwidth is 0; give a positive length in the units of the scaled columns",
                "bandwidth is 0; give a positive length in the units of the scaled columns",
            ),
            (
                Error::BadBandwidth { value: 1e300 },
                "--bandwidth is 1e300, whose square is out of range; ",
                "",
            ),
            (
                Error::DistancesOutOfRange { largest: 3e155 },
                "distances between the rows are about 3e155, whose squares are out of range; use --scale sd, or other units",
                "distances between the rows are about 3e155, whose squares are out of range; use scale='sd', or other units",
            ),
            (
                Error::TooLittleMemory { needed: 3 << 29, limit: 1 << 30 },
                "the run needs about 1.50 GiB, and --max-memory allows 1.00 GiB; use fewer --columns, or allow more",
                "the run needs about 1.50 GiB, and max_memory allows 1.00 GiB; use fewer columns, or allow more",
            ),
            (
                Error::NonFinite { row: 7, column: 1, value: f64::NAN },
                "row 18, column 'tau' is NaN; ",
                "row 7, column 1 is NaN; ",
            ),
            (
                Error::NonFiniteScore { row: 7, column: 0, value: f64::INFINITY },
                "the score of row 18, column 'mu' is inf; ",
                "the score of row 7, column 0 is inf; ",
            ),
            (
                Error::NonFiniteFunction { row: 0, column: 0, value: f64::NAN },
                "function 'cost' of row 11 is NaN; ",
                "function 0 of row 0 is NaN; ",
            ),
            (
                Error::ConstantFunction { column: 0 },
                "function 'cost' is constant on ",
                "function 0 is constant on ",
            ),
            (
                Error::BadWeight { index: 1, value: -1.0 },
                "column 'w': the weight of row 12 is -1; weights must be finite and not negative (logarithms of weights \
                 go to --log-weight-column)",
                "weight 1 is -1; weights must be finite and not negative",
            ),
            (
                Error::ZeroWeights,
                "column 'w': all weights are zero; at least one must be positive (logarithms of weights go to \
                 --log-weight-column)",
                "all weights are zero; at least one must be positive",
            ),
            (
                Error::BadLogWeight { index: 1, value: f64::NAN },
                "column 'w': log-weight of row 12 is NaN; ",
                "log-weight 1 is NaN; ",
            ),
            (Error::NoLogWeights, "column 'w': every log-weight is -inf; ", "every log-weight is -inf; "),
            (
                Error::IncludedAndExcluded { index: 3 },
                "row 13 is in both --include-rows and --exclude-rows; remove it from one of them",
                "row 3 is in both include and exclude; remove it from one of them",
            ),
            (
                Error::TooManyIncluded { included: 1000, asked: 1 },
                "--include-rows has 1,000 rows, but 1 is to be chosen; ",
                "include has 1,000 rows, but 1 is to be chosen; ",
            ),
            (
                Error::TooFewRows { asked: 7, available: 0 },
                "no row may be chosen: --exclude-rows has all of them; exclude fewer",
                "no row may be chosen: exclude has all of them; exclude fewer",
            ),
            (
                Error::TooFewRows { asked: 2, available: 1 },
                "2 distinct rows are asked for, but only 1 may be chosen; ask for fewer, exclude fewer, or allow \
                 --repeats",
                "2 distinct rows are asked for, but only 1 may be chosen; ask for fewer, exclude fewer, or allow \
                 repeats",
            ),
            (
                Error::AutoSize { what: "a herded sequence", advice: "thin chooses sets" },
                "-n auto cannot be used with a herded sequence; thin chooses sets",
                "n='auto' cannot be used with a herded sequence; thin chooses sets",
            ),
            (
                Error::AutoUnknown { why: "all rows are the same" },
                "-n auto needs the errors of the draws, which are not known: all rows are the same; give a number",
                "n='auto' needs the errors of the draws, which are not known: all rows are the same; give a number",
            ),
            (
                Error::FixedQuotas,
                "the number of rows is fixed by --quota; leave out -n auto, --tol and --equivalent-draws, or the quotas",
                "the number of rows is fixed by quotas; leave out n='auto', tol and equivalent_draws, or the quotas",
            ),
            (
                Error::QuotaTotal { total: 3, asked: 9 },
                "the quotas add up to 3, but -n is 9; make the two agree",
                "the quotas add up to 3, but n is 9; make the two agree",
            ),
            (
                Error::QuotaTooLarge { group: 1, quota: 9, available: 5 },
                "--quota: 9 rows of chain 'b' are asked for, but only 5 may be chosen; ask for fewer",
                "quotas: 9 rows of group 1 are asked for, but only 5 may be chosen; ask for fewer",
            ),
            (
                Error::QuotaTooSmall { group: 0, quota: 0, included: 1 },
                "--include-rows has 1 row of chain 'a', but --quota allows 0; make the two agree",
                "include has 1 row of group 0, but quotas allows 0; make the two agree",
            ),
            (
                Error::QuotaNotKept { group: 0, quota: 2, found: 3 },
                "3 rows of chain 'a' are given, but its quota is 2; make the two agree",
                "3 rows of group 0 are given, but its quota is 2; make the two agree",
            ),
            (
                Error::NotCalibrated {
                    mean: CalibratedMean::Column(1),
                    wanted: 4.0,
                    nearest: 3.0,
                    range: (1.0, 3.0),
                    of_all: false,
                },
                "no positive weights give column 'tau' the mean 4.00: the chosen rows have 1.00 to 3.00, and the nearest is 3.00; \
                 choose more rows, or fewer means with --calibrate",
                "no positive weights give column 1 the mean 4.00: the chosen rows have 1.00 to 3.00, and the nearest is 3.00; \
                 choose more rows, or fewer means with calibrate",
            ),
            (Error::NoPoints, "there are no points; ", "there are no points; "),
        ];
        for (error, command, python) in cases {
            let said = error.sentence(Style::Command, &names);
            assert!(said.starts_with(command), "{said}");
            let said = error.sentence(Style::Python, &Names::default());
            assert!(said.starts_with(python), "{said}");
            assert_eq!(error.to_string(), error.sentence(Style::Rust, &Names::default()));
        }
        let weight =
            Error::BadWeight { index: 1, value: -1.0 }.sentence(Style::Python, &Names::default().of("x"));
        assert!(
            weight.starts_with("the weight of row 1 is -1; ") && weight.ends_with(" go to log_weight)"),
            "{weight}"
        );
        let unprintable = Names::default().columns(["a\u{1b}[31m"]);
        let said = Error::NonFinite { row: 0, column: 0, value: 1.0 }.sentence(Style::Command, &unprintable);
        assert!(said.starts_with("row 1, column 'a\\u{1b}[31m' is 1; "), "{said}");
    }
}
