//! Figure 6: the test accuracy of a herded posterior, of random subsets, and of all draws.

use anyhow::Result;

use crate::convergence::log_grid;
use crate::posterior::{Posterior, SUBSETS};
use crate::report::{Finding, Report, Table};

/// The claim starts here.
const FROM: usize = 60;
/// How far an accuracy may be from D's.
const NEAR: f64 = 0.002;

pub(crate) fn run(posterior: &Posterior) -> Result<Report> {
    let count = posterior.sizes.count;
    let gap = |accuracy: &[f64], from: usize| {
        accuracy[from - 1..].iter().map(|a| (a - posterior.accuracy).abs()).fold(0.0, f64::max)
    };
    let herding_gap = gap(&posterior.herding.accuracy, FROM);
    let random_gap =
        |from: usize| posterior.random.iter().map(|r| gap(&r.accuracy, from)).fold(0.0, f64::max);
    let mut settled: Vec<usize> = posterior
        .random
        .iter()
        .map(|trace| settled_from(&trace.accuracy, posterior.accuracy).unwrap_or(count + 1))
        .collect();
    settled.sort_unstable();
    let herding_settled = settled_from(&posterior.herding.accuracy, posterior.accuracy);
    let named_gap = gap(&posterior.named.accuracy, FROM);
    let findings = vec![
        Finding::claim(
            format!("largest distance of herding's accuracy from D's, T ≥ {FROM}"),
            format!("{herding_gap:.4}"),
            format!("at most {NEAR}"),
            herding_gap <= NEAR + 1e-12,
        ),
        Finding::note(
            format!("the same for the {SUBSETS} random subsets, T ≥ {FROM}; T ≥ 200"),
            format!("{:.4}; {:.4}", random_gap(FROM), random_gap(200)),
        ),
        Finding::note(
            format!(
                "T from which the accuracy stays within {NEAR} of D's: herding; random, median and last of {SUBSETS}"
            ),
            format!(
                "{}; {}, {}",
                herding_settled.map_or("never".to_owned(), |t| t.to_string()),
                settled[settled.len() / 2],
                settled[settled.len() - 1]
            ),
        ),
        Finding::note(
            format!("largest distance where the predictions are named as functions of interest, T ≥ {FROM}"),
            format!("{named_gap:.4}"),
        ),
        Finding::note("accuracy of D", format!("{:.4}", posterior.accuracy)),
    ];

    let grid = log_grid(1, count, 300);
    let mut header = vec!["t".to_owned(), "herding".to_owned(), "d".to_owned(), "named".to_owned()];
    header.extend((1..=posterior.random.len()).map(|k| format!("random{k}")));
    let mut table = Table::new(header);
    for &t in &grid {
        let random = posterior.random.iter().map(|trace| Some(trace.accuracy[t - 1]));
        let row = [t as f64, posterior.herding.accuracy[t - 1], posterior.accuracy].map(Some);
        let named = posterior.named.accuracy.get(t - 1).copied();
        table.push(row.into_iter().chain([named]).chain(random));
    }
    Ok(Report {
        name: "fig6",
        title: "Test accuracy by T super-samples",
        paper: "About 20 super-samples reach the accuracy of D, where random subsets need about 200 and fluctuate strongly.",
        method: posterior.method(),
        tables: vec![("", table)],
        findings,
    })
}

/// The first T from which on the accuracy stays within [`NEAR`] of `level`; `accuracy[0]` is T = 1.
fn settled_from(accuracy: &[f64], level: f64) -> Option<usize> {
    let last_far = accuracy.iter().rposition(|a| (a - level).abs() > NEAR + 1e-12);
    let settled = last_far.map_or(1, |i| i + 2);
    (settled <= accuracy.len()).then_some(settled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settled_means_for_good() {
        assert_eq!(settled_from(&[0.5, 0.9, 0.8, 0.9, 0.901], 0.9), Some(4));
        assert_eq!(settled_from(&[0.9, 0.8], 0.9), None);
        assert_eq!(settled_from(&[0.9], 0.9), Some(1));
    }
}
