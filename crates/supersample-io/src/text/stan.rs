//! Settings at the head of a CmdStan file, and the rows that they exclude.

/// The columns before the parameters in the output of the method `variational`, and of no other.
const VARIATIONAL_COLUMNS: [&str; 3] = ["lp__", "log_p__", "log_g__"];

/// Settings of a run that decide which rows are not draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct StanRun {
    is_variational: bool,
    saves_warmup: bool,
    num_warmup: usize,
    thin: usize,
}

impl StanRun {
    /// Reads the remarks above the header; `None` if they are not CmdStan's.
    pub(crate) fn of_remarks(remarks: &str) -> Option<StanRun> {
        let is_stan =
            remarks.lines().any(|line| line.trim_start_matches(['#', ' ']).starts_with("stan_version"));
        if !is_stan {
            return None;
        }
        // Each line is `#   name = value`, with ` (Default)` after values that were not given.
        let setting = |name: &str| {
            let mut pairs =
                remarks.lines().filter_map(|line| line.trim_start_matches(['#', ' ']).split_once('='));
            let (_, value) = pairs.find(|(key, _)| key.trim() == name)?;
            value.split_whitespace().next().map(str::to_string)
        };
        let number = |name: &str| setting(name).and_then(|value| value.parse().ok());
        Some(StanRun {
            is_variational: setting("method").as_deref() == Some("variational"),
            // 0 and 1 before version 2.36, false and true since.
            saves_warmup: matches!(setting("save_warmup").as_deref(), Some("1" | "true")),
            num_warmup: number("num_warmup").unwrap_or(1000),
            thin: number("thin").unwrap_or(1).max(1),
        })
    }

    /// Number of warm-up rows at the top of the file: every `thin`-th iteration is written, including the first.
    pub(crate) fn warmup_rows(&self) -> usize {
        if self.saves_warmup { self.num_warmup.div_ceil(self.thin) } else { 0 }
    }
}

/// Whether the first row is the mean of an approximation and no draw, as the method `variational` writes it. Without
/// the settings, the columns tell, and the zeros in that row.
pub(crate) fn starts_with_mean(run: Option<StanRun>, names: &[String], first_row: &[String]) -> bool {
    match run {
        Some(run) => run.is_variational,
        None => {
            let is_zero = |cell: &String| cell.parse() == Ok(0.0);
            names.len() > VARIATIONAL_COLUMNS.len()
                && names.iter().zip(VARIATIONAL_COLUMNS).all(|(name, known)| name == known)
                && first_row.iter().take(VARIATIONAL_COLUMNS.len()).all(is_zero)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warm_up_is_counted_from_the_settings() {
        let remarks = |save: &str, warmup: &str, thin: &str| {
            format!(
                "# stan_version_major = 2\n# method = sample (Default)\n#   sample\n#     num_samples = 1000 (Default)\n\
                 #     num_warmup = {warmup}\n#     save_warmup = {save}\n#     thin = {thin}\n"
            )
        };
        let rows = |text: &str| StanRun::of_remarks(text).unwrap().warmup_rows();
        assert_eq!(rows(&remarks("1", "150", "1 (Default)")), 150);
        assert_eq!(rows(&remarks("true", "150", "4")), 38);
        assert_eq!(rows(&remarks("0 (Default)", "1000 (Default)", "1")), 0);
        assert_eq!(rows(&remarks("false (Default)", "1000", "1")), 0);
        assert_eq!(StanRun::of_remarks("# made by hand\n"), None);
    }

    #[test]
    fn only_variational_output_starts_with_a_mean() {
        let owned = |words: &[&str]| words.iter().map(|word| word.to_string()).collect::<Vec<_>>();
        let run =
            |method: &str| StanRun::of_remarks(&format!("# stan_version_major = 2\n# method = {method}\n"));
        let names = owned(&["lp__", "log_p__", "log_g__", "mu"]);
        let (mean, draw) = (owned(&["0", "0", "0", "1.5"]), owned(&["0", "-7.5", "-1.25", "1.5"]));
        assert!(starts_with_mean(run("variational"), &names, &mean));
        for method in ["sample (Default)", "optimize", "laplace", "pathfinder"] {
            assert!(!starts_with_mean(run(method), &names, &mean), "{method}");
        }
        assert!(starts_with_mean(None, &names, &mean));
        assert!(!starts_with_mean(None, &names, &draw));
        assert!(!starts_with_mean(None, &owned(&["lp__", "log_p__", "log_q__", "mu"]), &mean));
    }
}
