//! Advice of the library, in the words of the command.

use supersample::task::Advice;

use crate::words::{count, counted, listed, significant};

/// Whether it says what was done, and not what to mind.
pub(super) fn is_note(advice: &Advice) -> bool {
    matches!(
        advice,
        Advice::RowsWithoutWeight { .. } | Advice::ScaledBySample { .. } | Advice::NotDrawsOfDensity { .. }
    )
}

/// What the user should know before believing the result; `None` for what is told elsewhere.
pub(super) fn in_words(advice: &Advice, columns: &[&str]) -> Option<String> {
    let words = match advice {
        Advice::UnevenWeights { effective_size } => format!(
            "the weights are so uneven that the rows are worth {} equal ones; check them",
            significant(*effective_size)
        ),
        Advice::RowsWithoutWeight { count: 1 } => "1 row has no weight and is not chosen".to_string(),
        Advice::RowsWithoutWeight { count: rows } => {
            format!("{} have no weight, and none of them is chosen", counted(*rows, "row"))
        }
        Advice::DirectionsDropped { dropped, of } => {
            format!("{dropped} of {of} directions have no variance of their own and were left out")
        }
        Advice::ScaledBySd { columns: which } => {
            let names: Vec<String> = which.iter().map(|&column| columns[column].to_string()).collect();
            format!(
                "more than half of the values are equal in {}; scaled to unit sd instead of unit mad",
                listed(&names)
            )
        }
        Advice::KernelNearlyConstant { bandwidth } => format!(
            "the kernel is nearly constant (every value is above 0.99), so all rows look alike to it; bandwidth \
             {} is too long: try --bandwidth median",
            significant(*bandwidth)
        ),
        Advice::KernelNearlyDiagonal { bandwidth } => format!(
            "the kernel is nearly diagonal (every value between two rows is below 0.01), so it sees no neighbours; \
             bandwidth {} is too short: try --bandwidth median, or fewer columns",
            significant(*bandwidth)
        ),
        Advice::LandmarksTooFew { landmarks, residual, error } => format!(
            "with {}, {} of the mean embedding is not seen, beside an MMD of {}, so \
             that other rows may be better; try more --landmarks, --embedding exact or a longer --bandwidth",
            counted(*landmarks, "landmark"),
            significant(*residual),
            significant(*error)
        ),
        Advice::TooManyToWeigh { count: points, most } => format!(
            "weights are found for at most {} points, and {} were chosen; they have equal weights",
            count(*most),
            count(*points)
        ),
        Advice::NotWeighed { reason } => format!("no weights were found, so they are equal: {reason}"),
        Advice::WeightsNotOptimal => {
            "the best weights were not found to the last digit; these are the best met".to_string()
        }
        Advice::ScoresPointAway { columns: which } => {
            let names: Vec<String> = which.iter().map(|&column| columns[column].to_string()).collect();
            format!(
                "the scores of {} point away from the rows, as the gradient of a potential does; is the sign right? (over draws of \
                 a density the mean of (x - mean) * score is -1)",
                listed(&names)
            )
        }
        Advice::ScoresUnrelated { columns: which } => {
            let names: Vec<String> = which.iter().map(|&column| columns[column].to_string()).collect();
            format!(
                "the scores of {} say next to nothing of where the rows are; are they the scores of these columns? (the mean of \
                 (x - mean) * score, -1 over draws of a density, is near 0)",
                listed(&names)
            )
        }
        Advice::NotDrawsOfDensity { mean } => format!(
            "the rows are not draws of the density as they stand: over pairs of rows the mean of its kernel, which is 0 for draws, \
             is {} of k(x, x)",
            significant(*mean)
        ),
        Advice::ScaledBySample { rows } => {
            format!(
                "the columns are scaled by the {} that were drawn, not by all rows",
                counted(*rows, "row")
            )
        }
        _ => return None,
    };
    Some(words)
}
