//! Sentences of advice.

use super::{Names, Opt, Style, count, counted, significant};
use crate::task::Advice;

impl Advice {
    /// Whether it says what was done, and not what to mind.
    pub fn is_note(&self) -> bool {
        matches!(
            self,
            Advice::RowsWithoutWeight { .. }
                | Advice::ScaledBySample { .. }
                | Advice::NotDrawsOfDensity { .. }
        )
    }

    /// The advice as one sentence, with options as `style` spells them and columns by `names`.
    pub fn sentence(&self, style: Style, names: &Names<'_>) -> String {
        match self {
            Advice::UnevenWeights { effective_size } => format!(
                "the weights are so uneven that the rows are worth {} equal ones; check them",
                significant(*effective_size)
            ),
            Advice::RowsWithoutWeight { count: 1 } => "1 row has no weight and is not chosen".to_string(),
            Advice::RowsWithoutWeight { count: rows } => {
                format!("{} have no weight, and none of them is chosen", counted(*rows, "row"))
            }
            Advice::DirectionsDropped { dropped, of } => {
                format!("directions without variance of their own were left out: {dropped} of {of}")
            }
            Advice::ScaledBySd { columns } => format!(
                "more than half of the values are equal in {}; scaled to unit sd instead of unit mad",
                names.these_columns(columns)
            ),
            Advice::KernelNearlyConstant { bandwidth } => format!(
                "the kernel is nearly constant (every value is above 0.99), so all rows look alike to it; bandwidth {} is \
                 too long: try {}",
                significant(*bandwidth),
                Opt::Bandwidth.set(style, "median")
            ),
            Advice::KernelNearlyDiagonal { bandwidth } => format!(
                "the kernel is nearly diagonal (every value between two rows is below 0.01), so it sees no neighbours; \
                 bandwidth {} is too short: try {}, or fewer columns",
                significant(*bandwidth),
                Opt::Bandwidth.set(style, "median")
            ),
            Advice::LandmarksTooFew { landmarks, residual, error } => format!(
                "{} {} {} of the mean embedding out, and the MMD is {}, so other rows may be better; try more {}, {} or a \
                 longer {}",
                counted(*landmarks, "landmark"),
                if *landmarks == 1 { "leaves" } else { "leave" },
                significant(*residual),
                significant(*error),
                Opt::Landmarks.spelled(style),
                Opt::Embedding.set(style, "exact"),
                Opt::Bandwidth.spelled(style)
            ),
            Advice::ScaledBySample { rows } => {
                format!(
                    "the columns are scaled by the {} that were drawn, not by all rows",
                    counted(*rows, "row")
                )
            }
            Advice::TooManyToWeigh { count: points, most } => format!(
                "weights are found for at most {} points, and {} were chosen; they have equal weights",
                count(*most),
                count(*points)
            ),
            Advice::NotWeighed { reason } => {
                format!("no weights were found, so they are equal: {}", reason.sentence(style, names))
            }
            Advice::ScoresPointAway { columns } => format!(
                "the scores of {} point away from the rows, as the gradient of a potential does; is the sign right? (over \
                 draws of a density the mean of (x - mean) * score is -1)",
                names.these_columns(columns)
            ),
            Advice::ScoresUnrelated { columns } => format!(
                "the scores of {} say next to nothing of where the rows are; are they the scores of these columns? (the \
                 mean of (x - mean) * score, -1 over draws of a density, is near 0)",
                names.these_columns(columns)
            ),
            Advice::NotDrawsOfDensity { mean } => format!(
                "the rows are not draws of the density as they stand: over pairs of rows the mean of its kernel, which is \
                 0 for draws, is {} of k(x, x)",
                significant(*mean)
            ),
            Advice::WeightsNotOptimal => {
                "the best weights were not found to the last digit; these are the best met".to_string()
            }
        }
    }
}
