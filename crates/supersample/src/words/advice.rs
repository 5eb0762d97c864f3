//! Sentences for [`Advice`].

use super::{Names, Opt, Style, are, count, counted, significant};
use crate::task::{Advice, Corrected, Overlap, SteinFeatures};

impl Advice {
    /// Whether this is a note about what was done, and not a warning.
    pub fn is_note(&self) -> bool {
        matches!(
            self,
            Advice::RowsWithoutWeight { .. }
                | Advice::ScaledBySample { .. }
                | Advice::HeavyTails { .. }
                | Advice::NearlyCollinear { .. }
                | Advice::NotDrawsOfDensity { .. }
                | Advice::Corrected(_)
        )
    }

    /// Returns the advice as one sentence, with options spelled in `style` and columns named by `names`.
    pub fn sentence(&self, style: Style, names: &Names<'_>) -> String {
        match self {
            Advice::UnevenWeights { effective_size } => format!(
                "the weights are very uneven: the effective sample size of the rows is {}; check them",
                significant(*effective_size)
            ),
            Advice::RowsWithoutWeight { count: 1 } => "1 row has weight 0 and cannot be chosen".to_string(),
            Advice::RowsWithoutWeight { count: rows } => {
                format!("{} have weight 0 and cannot be chosen", counted(*rows, "row"))
            }
            Advice::DirectionsDropped { dropped, of } => {
                format!("{dropped} of {of} directions have no variance of their own and were dropped")
            }
            Advice::ScaledBySd { columns } => format!(
                "more than half of the values are equal in {}; scaled to unit sd instead of unit mad",
                names.these_columns(columns)
            ),
            Advice::KernelNearlyConstant { bandwidth } => format!(
                "the kernel is nearly constant (every value is above 0.99), so it does not distinguish the rows; \
                 bandwidth {} is too large; try {}",
                significant(*bandwidth),
                Opt::Bandwidth.set(style, "median")
            ),
            Advice::KernelNearlyDiagonal { bandwidth } => format!(
                "the kernel is nearly diagonal (every value between two rows is below 0.01), so no two rows are \
                 similar; bandwidth {} is too small; try {}, or fewer columns",
                significant(*bandwidth),
                Opt::Bandwidth.set(style, "median")
            ),
            Advice::LandmarksTooFew { landmarks, residual, error } => format!(
                "{} {} too few: {} of the mean embedding is not covered, and the MMD is {}, so better rows may exist; \
                 try more {}, a longer {}, or, if all rows fit into memory, {}",
                counted(*landmarks, "landmark"),
                are(*landmarks),
                significant(*residual),
                significant(*error),
                Opt::Landmarks.spelled(style),
                Opt::Bandwidth.spelled(style),
                Opt::Embedding.set(style, "exact")
            ),
            Advice::HeavyTails { columns, one_in, share } => {
                let [has, its, up_to, sds] = match columns.len() {
                    1 => ["has a heavy tail", "its", "", "its sd may be no better than that"],
                    _ => ["have heavy tails", "their", "up to ", "their sds may be no better than those"],
                };
                format!(
                    "{} {has}: {its} most extreme rows, 1 in {}, have {up_to}{} % of the variance; {sds} of random rows, whatever \
                     the equivalent draws; try {} or {}",
                    names.these_columns(columns),
                    count(*one_in),
                    (100.0 * share).round(),
                    Opt::Kernel.set(style, "energy"),
                    Opt::Moments.set_number(style, 1.0),
                )
            }
            Advice::NearlyCollinear { columns, correlation } => format!(
                "{} are nearly collinear (correlation {}): their correlation may be worse than that of random rows; try {}",
                names.these_columns(columns),
                significant(*correlation),
                Opt::Scale.set(style, "pca")
            ),
            Advice::ScaledBySample { rows } => {
                format!(
                    "the columns are scaled by the {} of the sample, not by all rows",
                    counted(*rows, "row")
                )
            }
            Advice::RowsMoved { columns, median } => {
                let columns = (!columns.is_empty()).then(|| {
                    format!("the sd of {} has changed more than twofold", names.these_columns(columns))
                });
                let median = median.map(|(then, now)| {
                    format!("the median distance was {} and is {}", significant(then), significant(now))
                });
                let what: Vec<String> = columns.into_iter().chain(median).collect();
                format!(
                    "the first rows, by which the scaling and the bandwidth have settled, are unlike those since: {}; give rows in \
                     random order, a larger {}, or {} and {}",
                    what.join(", and "),
                    Opt::PoolRows.spelled(style),
                    Opt::Scale.set(style, "none"),
                    Opt::Bandwidth.spelled(style)
                )
            }
            Advice::TooManyToWeigh { count: points, most } => format!(
                "weights are computed for at most {} points, but {} were chosen; their weights are equal",
                count(*most),
                count(*points)
            ),
            Advice::NotWeighed { reason } => {
                format!("the weights could not be computed and are equal: {}", reason.sentence(style, names))
            }
            Advice::ScoresPointAway { columns } => format!(
                "the scores of {} point away from the rows, as the gradient of a potential does; check the sign \
                 (for draws of the density the mean of (x - mean) * score is -1)",
                names.these_columns(columns)
            ),
            Advice::ScoresUnrelated { columns } => format!(
                "the scores of {} are unrelated to the rows; check that they belong to these columns (the mean of \
                 (x - mean) * score is near 0; for draws of the density it is -1)",
                names.these_columns(columns)
            ),
            Advice::NotDrawsOfDensity { mean } => format!(
                "the rows are not draws of the density: the mean of the Stein kernel over pairs of rows is {} of \
                 k(x, x), and for draws it is 0",
                significant(*mean)
            ),
            Advice::ChainsDisagree { disagreement, chains: 1 } => format!(
                "the two halves of the chain disagree: they differ {} times as much as those of a chain that has mixed, and the \
                 rows represent a chain that has not",
                significant(*disagreement)
            ),
            Advice::ChainsDisagree { disagreement, chains } => format!(
                "the {chains} chains disagree: they differ {} times as much as chains that have mixed, and the rows \
                 represent chains that have not",
                significant(*disagreement)
            ),
            Advice::Corrected(corrected) => corrected.sentence(),
            Advice::DrawsNotOfDensity { effective_share } => format!(
                "the rows are not draws of the density that the scores are of: the weights that correct them have an effective size \
                 of {} of the rows; use {}, which chooses by the scores alone",
                significant(*effective_share),
                Opt::Target.set(style, "density")
            ),
            Advice::ScoresDoubtful { columns, mean } => format!(
                "the scores of {} may not be those of the rows: the mean of (x - mean) * score is {}, but for draws of \
                 the density it is -1",
                names.these_columns(columns),
                significant(*mean)
            ),
            Advice::OutOfReach(overlap) => overlap.warning(names),
            Advice::WeightsNotOptimal => {
                "the weights did not converge to full precision; these are the best that were found"
                    .to_string()
            }
        }
    }
}

/// Columns that a warning names at most.
const COLUMNS_NAMED: usize = 5;

impl Overlap {
    /// What the rows can reach of the target, in a sentence without a full stop.
    pub fn sentence(&self) -> String {
        let percent = significant(100.0 * self.unreached);
        let floor = match self.floor_draws {
            Some(draws) => {
                format!("{}, that of {} draws of the target", significant(self.floor), significant(draws))
            }
            None => "0 to rounding".to_string(),
        };
        format!(
            "{percent} % of the target is farther than the bandwidth from every row; the best weights on all rows have an MMD of {floor}"
        )
    }

    fn warning(&self, names: &Names<'_>) -> String {
        let named = self.outside.iter().take(COLUMNS_NAMED);
        let columns: Vec<String> = named
            .map(|(column, share)| format!("{} ({} %)", names.column(*column), significant(100.0 * share)))
            .collect();
        let outside = match columns.is_empty() {
            true => String::new(),
            false => {
                format!("; parts of the target are outside the range of the rows in {}", columns.join(", "))
            }
        };
        format!("the rows do not cover the target: {}{outside}", self.sentence())
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
            SteinFeatures::Scores => "scores",
            SteinFeatures::Squares => "scores and squares",
            SteinFeatures::Products => "scores, squares and products",
        };
        let fewer = match self.tried == features {
            true => String::new(),
            false => "; cross-validation preferred these to more".to_string(),
        };
        format!(
            "the draws are weighted so that {} ({what}) have mean 0, as under the density{fewer}; the effective size of the \
             weights is {} of the rows",
            counted(self.count, "Stein feature"),
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
            (Advice::RowsWithoutWeight { count: 1 }, "1 row has weight 0 and cannot be chosen", ""),
            (Advice::RowsWithoutWeight { count: 1234 }, "1,234 rows have weight 0 and cannot be chosen", ""),
            (
                Advice::DirectionsDropped { dropped: 1, of: 5 },
                "1 of 5 directions have no variance of their own and were dropped",
                "",
            ),
            (
                Advice::ScaledBySd { columns: vec![1] },
                " are equal in column tau; scaled",
                " in column 1; scaled",
            ),
            (
                Advice::KernelNearlyConstant { bandwidth: 1000.0 },
                "bandwidth 1,000 is too large; try --bandwidth median",
                "bandwidth 1,000 is too large; try bandwidth='median'",
            ),
            (
                Advice::KernelNearlyDiagonal { bandwidth: 0.5 },
                "bandwidth 0.500 is too small; try --bandwidth median, or fewer columns",
                "bandwidth 0.500 is too small; try bandwidth='median', or fewer columns",
            ),
            (
                Advice::LandmarksTooFew { landmarks: 1, residual: 0.25, error: 0.125 },
                "1 landmark is too few: 0.250 of the mean embedding is not covered, and the MMD is 0.125, so better rows may \
                 exist; try more --landmarks, a longer --bandwidth, or, if all rows fit into memory, --embedding exact",
                "try more landmarks, a longer bandwidth, or, if all rows fit into memory, embedding='exact'",
            ),
            (
                Advice::ScaledBySample { rows: 2000 },
                "the columns are scaled by the 2,000 rows of the sample, not by all rows",
                "",
            ),
            (
                Advice::RowsMoved { columns: vec![1], median: Some((1.0, 4.0)) },
                "the sd of column tau has changed more than twofold, and the median distance was 1.00 and is 4.00; give rows \
                 in random order, a larger --pool-rows, or --scale none and --bandwidth",
                "a larger pool_rows, or scale='none' and bandwidth",
            ),
            (
                Advice::TooManyToWeigh { count: 5001, most: 5000 },
                "weights are computed for at most 5,000 points, but 5,001 were chosen; their weights are equal",
                "",
            ),
            (
                Advice::NotWeighed { reason: Error::EmptySet },
                "and are equal: -n is 0; ask for at least 1",
                "and are equal: n is 0; ask for at least 1",
            ),
            (
                Advice::ScoresPointAway { columns: vec![0, 1] },
                "the scores of columns mu, tau point away from the rows",
                "the scores of columns 0, 1 point away from the rows",
            ),
            (
                Advice::ScoresUnrelated { columns: vec![0] },
                "the scores of column mu are unrelated to the rows",
                "the scores of column 0 are unrelated to the rows",
            ),
            (
                Advice::NotDrawsOfDensity { mean: 0.3 },
                "over pairs of rows is 0.300 of k(x, x), and for draws it is 0",
                "",
            ),
            (
                Advice::ChainsDisagree { disagreement: 21.64, chains: 4 },
                "the 4 chains disagree: they differ 21.6 times as much as chains that have mixed",
                "",
            ),
            (
                Advice::ChainsDisagree { disagreement: 3.0, chains: 1 },
                "the two halves of the chain disagree",
                "",
            ),
            (
                Advice::OutOfReach(Overlap {
                    rows: 100,
                    unreached: 0.125,
                    length: 2.0,
                    outside: vec![(1, 0.25)],
                    floor: 0.1,
                    floor_draws: Some(60.0),
                }),
                "the rows do not cover the target: 12.5 % of the target is farther than the bandwidth from every row; the best \
                 weights on all rows have an MMD of 0.100, that of 60.0 draws of the target; parts of the target are outside the \
                 range of the rows in column 'tau' (25.0 %)",
                "the range of the rows in column 1 (25.0 %)",
            ),
            (
                Advice::HeavyTails { columns: vec![1], one_in: 156, share: 0.7412 },
                "column tau has a heavy tail: its most extreme rows, 1 in 156, have 74 % of the variance",
                "try kernel='energy' or moments=1",
            ),
            (
                Advice::HeavyTails { columns: vec![0, 1], one_in: 50, share: 0.4 },
                "columns mu, tau have heavy tails: their most extreme rows, 1 in 50, have up to 40 % of the variance",
                "; their sds may be no better than those of random rows",
            ),
            (
                Advice::NearlyCollinear { columns: [0, 1], correlation: -0.9991 },
                "columns mu, tau are nearly collinear (correlation -0.999)",
                "try scale='pca'",
            ),
            (Advice::WeightsNotOptimal, "these are the best that were found", ""),
        ];
        for (advice, command, python) in cases {
            let said = advice.sentence(Style::Command, &names);
            assert!(said.contains(command), "{said}");
            let said = advice.sentence(Style::Python, &Names::default());
            assert!(said.contains(python), "{said}");
        }
    }
}
