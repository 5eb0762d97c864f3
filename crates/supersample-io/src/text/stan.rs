//! What the remarks at the head of a CmdStan file say of the rows below.

/// The settings of a run that decide which rows are warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct StanRun {
    saves_warmup: bool,
    num_warmup: usize,
    thin: usize,
}

impl StanRun {
    /// Reads the remarks above the header; `None` where they are not CmdStan's.
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
            // 0 and 1 before version 2.36, false and true since.
            saves_warmup: matches!(setting("save_warmup").as_deref(), Some("1" | "true")),
            num_warmup: number("num_warmup").unwrap_or(1000),
            thin: number("thin").unwrap_or(1).max(1),
        })
    }

    /// How many rows at the top of the file are warm-up: every `thin`-th iteration is written, the first among them.
    pub(crate) fn warmup_rows(&self) -> usize {
        if self.saves_warmup { self.num_warmup.div_ceil(self.thin) } else { 0 }
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
}
