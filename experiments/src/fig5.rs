//! Figure 5: how fast the predictions of a herded posterior come to those of all its draws.

use anyhow::Result;

use crate::Size;
use crate::convergence::{log_grid, log_log_slope, mean_and_sd, upper_envelope};
use crate::posterior::{Improved, Posterior, SUBSETS};
use crate::report::{Finding, Report, Table};

pub(crate) fn run(size: Size, posterior: &Posterior) -> Result<Report> {
    let count = posterior.sizes.count;
    let random = mean_rmse(posterior);
    let slope = log_log_slope(&posterior.herding.rmse, 10, count);
    let random_slope = log_log_slope(&random, 10, count);
    let below = |errors: &[f64]| errors.iter().position(|e| *e <= posterior.std_line).map(|i| i + 1);
    let in_words = |t: Option<usize>| t.map_or(format!("not by {count}"), |t| t.to_string());
    // The error goes up and down by a third, so it dives under the line some time before it stays there.
    let passes = below(&posterior.herding.rmse);
    let stays = below(&upper_envelope(&posterior.herding.rmse));
    // A smaller D has a higher line, passed sooner; fewer T make the slope less certain.
    let (latest, steepest) = size.choose((1500, -0.55), (8000, -0.6));
    let (named_latest, named_stays) = size.choose((500, 600), (1600, 2200));

    let mut findings = vec![
        Finding::claim(
            "T at which herding's RMSE passes under the std line of D",
            in_words(passes),
            format!("at most {latest}"),
            passes.is_some_and(|t| t <= latest),
        ),
        Finding::note("T from which it stays under that line", in_words(stays)),
        Finding::claim(
            format!("slope of the RMSE, T = 10 to {count}: herding; random subsets"),
            format!("{slope:.2}; {random_slope:.2}"),
            format!("herding at most {steepest}, random within 0.05 of -0.5"),
            slope <= steepest && (random_slope + 0.5).abs() <= 0.05,
        ),
        Finding::claim(
            "T at which it passes under that line where the predictions are named as functions of interest",
            in_words(below(&posterior.named.rmse)),
            format!("at most {named_latest}"),
            below(&posterior.named.rmse).is_some_and(|t| t <= named_latest),
        ),
        Finding::claim(
            "T from which it stays under that line then",
            in_words(below(&upper_envelope(&posterior.named.rmse))),
            format!("at most {named_stays}"),
            below(&upper_envelope(&posterior.named.rmse)).is_some_and(|t| t <= named_stays),
        ),
        Finding::note(
            "std line of D; RMSE(D, p̃)",
            format!("{:.2e}; {:.2e}", posterior.std_line, posterior.set_error),
        ),
    ];
    for t in [100, 1000, 10_000].into_iter().filter(|t| *t <= count) {
        let ratio = random[t - 1] / posterior.herding.rmse[t - 1];
        findings.push(Finding::note(
            format!("RMSE of random subsets (mean of {SUBSETS}) over RMSE of herding, T = {t}"),
            format!("{ratio:.1}"),
        ));
    }
    let close = posterior.herding.rmse_reference.iter().map(|e| e / posterior.set_error).collect::<Vec<_>>();
    let settled = upper_envelope(&close).iter().position(|ratio| *ratio <= 1.1).map(|i| i + 1);
    findings.push(Finding::note(
        "T from which RMSE(S, p̃) is within 10 % of RMSE(D, p̃)",
        settled.map_or(format!("not by {count}"), |t| t.to_string()),
    ));
    findings.push(Finding::note(
        format!("different draws among the first {count} super-samples"),
        posterior.distinct.to_string(),
    ));
    findings.push(Finding::note("acceptance rate of the chains", format!("{:.3}", posterior.acceptance)));

    for t in [100, 300, 1000].into_iter().filter(|t| *t <= posterior.named_elsewhere.rmse.len()) {
        let at = |errors: &[f64]| errors[t - 1];
        findings.push(Finding::note(
            format!("RMSE against D at T = {t}: herding; test predictions named; training predictions named"),
            format!(
                "{:.2e}; {:.2e}; {:.2e}",
                at(&posterior.herding.rmse),
                at(&posterior.named.rmse),
                at(&posterior.named_elsewhere.rmse)
            ),
        ));
    }

    for Improved { t, swapped, weighted } in &posterior.improved {
        let herding = posterior.herding.rmse[t - 1];
        findings.push(Finding::note(
            format!("RMSE against D at T = {t}: herding; with swap sweeps; with simplex weights"),
            format!("{herding:.2e}; {swapped:.2e}; {weighted:.2e}"),
        ));
    }

    let mut grid = log_grid(1, count, 250);
    grid.extend(posterior.improved.iter().map(|improved| improved.t));
    grid.sort_unstable();
    grid.dedup();
    let mut table = Table::new([
        "t",
        "herding",
        "random_mean",
        "herding_reference",
        "std_line",
        "d_reference",
        "swapped",
        "weighted",
        "named",
        "named_elsewhere",
    ]);
    for &t in &grid {
        let i = t - 1;
        let herding = &posterior.herding;
        let improved = posterior.improved.iter().find(|improved| improved.t == t);
        table.push([
            Some(t as f64),
            Some(herding.rmse[i]),
            Some(random[i]),
            Some(herding.rmse_reference[i]),
            Some(posterior.std_line),
            Some(posterior.set_error),
            improved.map(|improved| improved.swapped),
            improved.map(|improved| improved.weighted),
            posterior.named.rmse.get(i).copied(),
            posterior.named_elsewhere.rmse.get(i).copied(),
        ]);
    }
    Ok(Report {
        name: "fig5",
        title: "Predictions of a logistic regression by T super-samples of its posterior",
        paper: "The RMSE (eq. 18) of herding against D falls roughly as T^-0.75, that of random subsets as T^-0.5. For 10⁵ \
                draws about 7000 super-samples bring it under the standard deviation of D's own prediction; against a much \
                larger set it levels off at D's own error from about 3000.",
        method: posterior.method(),
        tables: vec![("", table)],
        findings,
    })
}

/// The RMSE of random subsets against D, averaged over the subsets.
fn mean_rmse(posterior: &Posterior) -> Vec<f64> {
    (0..posterior.sizes.count)
        .map(|i| mean_and_sd(&posterior.random.iter().map(|trace| trace.rmse[i]).collect::<Vec<_>>()).0)
        .collect()
}
