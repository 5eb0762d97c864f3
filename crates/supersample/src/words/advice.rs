//! Sentences of advice.

use super::{Names, Opt, Style, count, counted, significant};
use crate::task::{Advice, Corrected, SteinFeatures};

impl Advice {
    /// Whether it says what was done, and not what to mind.
    pub fn is_note(&self) -> bool {
        matches!(
            self,
            Advice::RowsWithoutWeight { .. }
                | Advice::ScaledBySample { .. }
                | Advice::NotDrawsOfDensity { .. }
                | Advice::Corrected(_)
        )
    }

    /// The advice as one sentence, with options as `style` spells them and columns by `names`.
    pub fn sentence(&self, style: Style, names: &Names<'_>) -> String {
        match self {
            Advice::UnevenWeights { effective_size } => format!(
                "the weights are so uneven that the effective sample size of the rows is {}; check them",
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
            Advice::Corrected(corrected) => corrected.sentence(),
            Advice::DrawsNotOfDensity { effective_share } => format!(
                "the rows are not draws of the density that the scores are of: weights that correct them have an effective \
                 size of {} of the rows; {} chooses by the scores alone",
                significant(*effective_share),
                Opt::Target.set(style, "density")
            ),
            Advice::ScoresDoubtful { columns, mean } => format!(
                "the scores of {} may not be those of the rows: the mean of (x - mean) * score is {}, and -1 over draws of a \
                 density",
                names.these_columns(columns),
                significant(*mean)
            ),
            Advice::WeightsNotOptimal => {
                "the best weights were not found to the last digit; these are the best met".to_string()
            }
        }
    }
}

impl Corrected {
    /// What was done, in a sentence.
    pub fn sentence(&self) -> String {
        let Some(features) = self.features else {
            return "the scores explain nothing of held-out rows, so the rows are matched as they are"
                .to_string();
        };
        let what = match features {
            SteinFeatures::Scores => "the scores",
            SteinFeatures::Squares => "the scores and their products with their own columns",
            SteinFeatures::Products => "the scores and their products with the columns",
        };
        let fewer = match self.tried == features {
            true => String::new(),
            false => ", which held-out rows prefer to more".to_string(),
        };
        format!(
            "corrected by {what}: {} with mean 0 as under the density{fewer}; the weights have an effective size of {} of the \
             rows",
            counted(self.count, "feature"),
            significant(self.effective_share)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn each_front_end_reads_its_own_options_and_names() {
        let names = Names::default().columns(["mu", "tau"]);
        let cases = [
            (
                Advice::UnevenWeights { effective_size: 1.0 },
                "the effective sample size of the rows is 1.00; check them",
                "",
            ),
            (Advice::RowsWithoutWeight { count: 1 }, "1 row has no weight and is not chosen", ""),
            (
                Advice::RowsWithoutWeight { count: 1234 },
                "1,234 rows have no weight, and none of them is chosen",
                "",
            ),
            (Advice::DirectionsDropped { dropped: 1, of: 5 }, "their own were left out: 1 of 5", ""),
            (
                Advice::ScaledBySd { columns: vec![1] },
                " are equal in column tau; scaled",
                " in column 1; scaled",
            ),
            (
                Advice::KernelNearlyConstant { bandwidth: 1000.0 },
                "bandwidth 1,000 is too long: try --bandwidth median",
                "bandwidth 1,000 is too long: try bandwidth='median'",
            ),
            (
                Advice::KernelNearlyDiagonal { bandwidth: 0.5 },
                "bandwidth 0.500 is too short: try --bandwidth median, or fewer columns",
                "bandwidth 0.500 is too short: try bandwidth='median', or fewer columns",
            ),
            (
                Advice::LandmarksTooFew { landmarks: 1, residual: 0.25, error: 0.125 },
                "1 landmark leaves 0.250 of the mean embedding out, and the MMD is 0.125, so other rows may be better; try \
                 more --landmarks, --embedding exact or a longer --bandwidth",
                "try more landmarks, embedding='exact' or a longer bandwidth",
            ),
            (
                Advice::ScaledBySample { rows: 2000 },
                "the columns are scaled by the 2,000 rows that were drawn, not by all rows",
                "",
            ),
            (
                Advice::TooManyToWeigh { count: 5001, most: 5000 },
                "weights are found for at most 5,000 points, and 5,001 were chosen; they have equal weights",
                "",
            ),
            (
                Advice::NotWeighed { reason: Error::EmptySet },
                "so they are equal: -n is 0; ask for at least 1",
                "so they are equal: n is 0; ask for at least 1",
            ),
            (
                Advice::ScoresPointAway { columns: vec![0, 1] },
                "the scores of columns mu, tau point away from the rows",
                "the scores of columns 0, 1 point away from the rows",
            ),
            (
                Advice::ScoresUnrelated { columns: vec![0] },
                "the scores of column mu say next to nothing",
                "the scores of column 0 say next to nothing",
            ),
            (Advice::NotDrawsOfDensity { mean: 0.3 }, "which is 0 for draws, is 0.300 of k(x, x)", ""),
            (Advice::WeightsNotOptimal, "these are the best met", ""),
        ];
        for (advice, command, python) in cases {
            let said = advice.sentence(Style::Command, &names);
            assert!(said.contains(command), "{said}");
            let said = advice.sentence(Style::Python, &Names::default());
            assert!(said.contains(python), "{said}");
        }
    }
}
