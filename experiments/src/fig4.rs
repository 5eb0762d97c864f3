//! Figure 4: herding on a large set of draws stands in for the set itself, and can be no better than it.

use anyhow::{Context, Result};
use supersample::{Domain, Empirical, Herder, Kernel, Points};

use crate::Size;
use crate::convergence::{envelope_slope, log_grid, upper_envelope};
use crate::densities::{SPACE_BANDWIDTH, SPACE_SEED, space};
use crate::fig3::IidErrors;
use crate::functions::{NAMES, TITLES, Truth};
use crate::report::{Finding, Report, Table};

const DRAWS_SEED: u64 = 400;

pub(crate) fn run(size: Size) -> Result<Report> {
    let (draws, count) = size.choose((10_000, 5000), (100_000, 20_000));
    let mixture = space()?;
    let (truth, _) = Truth::of_mixture(&mixture);
    let set = mixture.sample(draws, DRAWS_SEED)?;
    let set_truth = Truth::of_points(&set, None)?;
    let own_errors = truth.errors_of(&set_truth);

    let picked = herd_on(&set, count)?;
    let on_set = set_truth.running_errors(picked.rows());
    let on_density = truth.running_errors(picked.rows());
    let grid = log_grid(1, count, 250);
    let iid = IidErrors::measure(&mixture, &truth, &grid)?;
    let slopes = on_set.each_ref().map(|errors| envelope_slope(errors));

    let mut findings = Vec::new();
    for f in 0..4 {
        // From where the error against D stays below D's own, the error against p is within a factor two of D's own.
        let settled = settled_from(&on_set[f], own_errors[f]);
        let paper = if f < 3 { "at most 2000" } else { "10⁴" };
        findings.push(Finding::claim(
            format!(
                "{}: T from which the error against D stays below D's own (the paper: {paper} for 10⁵ draws)",
                TITLES[f]
            ),
            settled.map_or(format!("not by {count}"), |t| t.to_string()),
            format!("reached by {count}"),
            settled.is_some(),
        ));
    }
    for f in 0..4 {
        let tail = &on_density[f][count / 2..];
        let level = tail.iter().sum::<f64>() / tail.len() as f64;
        let ratio = level / own_errors[f];
        findings.push(Finding::claim(
            format!("{}: mean error against p over the last half of T; D's own error", TITLES[f]),
            format!("{level:.5}; {:.5}", own_errors[f]),
            "within a factor 1.5 of each other",
            (1.0 / 1.5..=1.5).contains(&ratio),
        ));
    }
    for f in 0..4 {
        findings.push(Finding::note(
            format!("{}: slope of the upper envelope of the error against D", TITLES[f]),
            format!("{:.2}", slopes[f]),
        ));
    }

    let mut header = vec!["t".to_owned()];
    for name in NAMES {
        let kinds = ["herding_against_d", "herding_against_p", "iid_mean", "iid_sd", "own_error_of_d"];
        header.extend(kinds.map(|kind| format!("{name}_{kind}")));
    }
    let mut table = Table::new(header);
    for (i, &t) in grid.iter().enumerate() {
        let mut row = vec![t as f64];
        for f in 0..4 {
            row.extend([on_set[f][t - 1], on_density[f][t - 1], iid.mean[f][i], iid.sd[f][i], own_errors[f]]);
        }
        table.push(row.into_iter().map(Some));
    }
    Ok(Report {
        name: "fig4",
        title: "Herding on a set D of draws: errors against D and against the density p",
        paper: "The error against D keeps falling; the error against p levels off at the error of D itself. For 10⁵ draws at \
                most 2000 super-samples do for the moments and 10⁴ for sin‖x‖.",
        method: format!(
            "{draws} draws (seed {DRAWS_SEED}) of the mixture of figure 3 (seed {SPACE_SEED}), their own pool, Gaussian \
             kernel of bandwidth {SPACE_BANDWIDTH}, with repeats, T to {count}."
        ),
        tables: vec![("", table)],
        findings,
    })
}

/// The first `count` super-samples of a set that is its own pool.
fn herd_on(set: &Points, count: usize) -> Result<Points> {
    let mu = Empirical::new(Kernel::gaussian(SPACE_BANDWIDTH)?, set.clone())?;
    let mut herder = Herder::new(mu, Domain::Pool(set.clone()))?;
    herder.run(count);
    herder.chosen().context("nothing was picked")
}

/// The first T from which on all errors are at most `level`; `errors[0]` is T = 1.
fn settled_from(errors: &[f64], level: f64) -> Option<usize> {
    upper_envelope(errors).iter().position(|error| *error <= level).map(|i| i + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settled_means_for_good() {
        assert_eq!(settled_from(&[5.0, 0.5, 2.0, 1.0, 0.1], 1.0), Some(4));
        assert_eq!(settled_from(&[5.0, 0.5, 2.0], 1.0), None);
    }
}
