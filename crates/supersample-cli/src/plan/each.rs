//! A set for every value of a column: the flags that do not go with it.

use anyhow::{Result, ensure};

use crate::args::CommonArgs;

/// Refuses flags that are about one set, or about rows that are not all in memory.
pub(super) fn check(common: &CommonArgs, is_auto: bool) -> Result<()> {
    let CommonArgs { matched, scores, run, result, .. } = common;
    let given = [
        (is_auto, "-n auto"),
        (matched.match_file.is_some(), "--match"),
        (matched.match_summary.is_some(), "--match-summary"),
        (scores.scores.is_some() || scores.score_prefix.is_some(), "--scores or --score-prefix"),
        (run.checkpoint.is_some(), "--checkpoint"),
        (run.resume.is_some(), "--resume"),
        (run.pool_rows.is_some(), "--pool-rows"),
        (run.max_memory.is_some(), "--max-memory"),
        (result.report.is_some(), "--report"),
        (result.trace.is_some(), "--trace"),
    ];
    let refused = given.iter().find(|(is_given, _)| *is_given);
    ensure!(
        refused.is_none(),
        "{} cannot be used with --each; leave one of them out",
        refused.map_or("", |(_, flag)| flag)
    );
    Ok(())
}
