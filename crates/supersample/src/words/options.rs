//! Options named in error messages and advice, as each front end spells them.

use std::fmt;

/// Spelling of options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Style {
    /// The names of the library: `landmarks`.
    #[default]
    Rust,
    /// Flags of the command: `--landmarks`.
    Command,
    /// Keywords of the Python package: `landmarks`.
    Python,
    /// Arguments of the R package: `landmarks`.
    R,
}

/// Defines the enum and its table: the library's name, the command's flag, the keyword of Python and R.
macro_rules! options {
    ($($(#[$doc:meta])* $option:ident: $rust:literal, $command:literal, $keyword:literal;)*) => {
        /// Option that an error message or an advice names.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Opt {
            $($(#[$doc])* $option,)*
        }

        impl Opt {
            /// All options.
            pub const ALL: &[Opt] = &[$(Opt::$option,)*];

            /// Returns the option as spelled in this style.
            ///
            /// ```
            /// use supersample::words::{Opt, Style};
            /// assert_eq!(Opt::PoolRows.spelled(Style::Command), "--pool-rows");
            /// assert_eq!(Opt::PoolRows.spelled(Style::Python), "pool_rows");
            /// ```
            pub fn spelled(self, style: Style) -> &'static str {
                match (self, style) {
                    $((Opt::$option, Style::Rust) => $rust,
                      (Opt::$option, Style::Command) => $command,
                      (Opt::$option, Style::Python | Style::R) => $keyword,)*
                }
            }
        }
    };
}

options! {
    /// Number of points.
    Number: "number", "-n", "n";
    /// Largest error.
    Tol: "tol", "--tol", "tol";
    /// Number of equivalent draws.
    EquivalentDraws: "equivalent_draws", "--equivalent-draws", "equivalent_draws";
    /// How much chosen rows may add to the errors of the draws.
    Add: "add", "--add", "add";
    /// What is matched.
    Target: "target", "--target", "target";
    /// Other rows that are matched.
    Match: "matching", "--match", "match";
    /// Published numbers that are matched.
    MatchSummary: "matching_summary", "--match-summary", "match_summary";
    /// Groups that each get a set of their own.
    Each: "each", "--each", "each";
    /// The scores of the rows.
    Scores: "scores", "--scores (or --score-prefix)", "scores";
    /// The log-density of the rows.
    LogDensity: "log_density", "--log-density", "log_density";
    /// The length of the kernel.
    Bandwidth: "bandwidth", "--bandwidth", "bandwidth";
    /// The length of a Stein kernel.
    Preconditioner: "preconditioner", "--bandwidth", "preconditioner";
    /// Whether the mean embedding is exact or projected on landmarks.
    Embedding: "embedding", "--embedding", "embedding";
    /// The kernel.
    Kernel: "kernel", "--kernel", "kernel";
    /// How columns are scaled.
    Scale: "scale", "--scale", "scale";
    /// Device for long sums.
    Device: "device", "--device", "device";
    /// Number of landmarks.
    Landmarks: "landmarks", "--landmarks", "landmarks";
    /// The weight of the marginals.
    Marginals: "marginals", "--marginals", "marginals";
    /// The weight of the means and variances of the columns.
    Moments: "moments", "--moments", "moments";
    /// The functions whose means are matched.
    Functions: "functions", "--functions", "functions";
    /// The weight of the functions.
    FunctionsWeight: "functions_weight", "--functions-weight", "functions_weight";
    /// The weight of the log-density.
    Regularise: "regularisation", "--regularise", "regularise";
    /// The weights of the rows.
    RowWeights: "weights of the rows", "--weight-column (or --log-weight-column)", "sample_weight (or log_weight)";
    /// The log-weights of the rows.
    LogWeights: "log-weights", "--log-weight-column", "log_weight";
    /// The columns used as coordinates.
    Columns: "columns", "--columns", "columns";
    /// The means that calibrated weights meet.
    Calibrate: "calibrate", "--calibrate", "calibrate";
    /// Number of candidates.
    PoolRows: "pool_rows", "--pool-rows", "pool_rows";
    /// Rows that must be in the set.
    Include: "include", "--include-rows", "include";
    /// Rows that must not be in the set.
    Exclude: "exclude", "--exclude-rows", "exclude";
    /// Number of rows from each group.
    Quotas: "quotas", "--quota", "quotas";
    /// Whether a row may be chosen more than once.
    Repeats: "repeats", "--repeats", "repeats";
    /// Annealed sweeps.
    Search: "search", "--search", "search";
    /// Number of starts to climb from.
    Climbs: "climbs", "--climbs", "climbs";
    /// Memory limit.
    MaxMemory: "max_memory", "--max-memory", "max_memory";
    /// The steps of a climb; no front end sets them.
    MaxSteps: "max_steps", "max_steps", "max_steps";
    /// The slope at which climbing and polishing end; no front end sets it.
    Tolerance: "tolerance", "tolerance", "tolerance";
    /// The weight of a [`Part`](crate::Part); no front end sets it.
    PartWeight: "the weight of a part", "the weight of a part", "the weight of a part";
    /// The share of all rows that one shard of them has; no front end sets it.
    ShardShare: "the share of a shard", "the share of a shard", "the share of a shard";
    /// Number of columns of gathered rows that are functions; no front end sets it.
    FunctionCount: "the number of functions", "the number of functions", "the number of functions";
}

impl Opt {
    /// Returns the option with a value: `--embedding exact`, `embedding='exact'`, `embedding = "exact"`.
    pub fn set(self, style: Style, value: &str) -> String {
        match style {
            Style::Python => format!("{}='{value}'", self.spelled(style)),
            Style::R => format!("{} = \"{value}\"", self.spelled(style)),
            _ => format!("{} {value}", self.spelled(style)),
        }
    }

    /// Returns the option with a number: `--moments 1`, `moments=1`, `moments = 1`.
    pub fn set_number(self, style: Style, value: f64) -> String {
        match style {
            Style::Python => format!("{}={value}", self.spelled(style)),
            Style::R => format!("{} = {value}", self.spelled(style)),
            _ => format!("{} {value}", self.spelled(style)),
        }
    }
}

impl fmt::Display for Opt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.spelled(Style::Rust))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_style_sets_options_as_its_users_write_them() {
        let set = |style| (Opt::Embedding.set(style, "exact"), Opt::Moments.set_number(style, 1.0));
        let written = |text: &str, number: &str| (text.to_string(), number.to_string());
        assert_eq!(set(Style::Command), written("--embedding exact", "--moments 1"));
        assert_eq!(set(Style::Python), written("embedding='exact'", "moments=1"));
        assert_eq!(set(Style::R), written("embedding = \"exact\"", "moments = 1"));
    }
}
