//! Figure 2: 1/E_T grows linearly with T.

use anyhow::{Context, Result};

use crate::Size;
use crate::convergence::Line;
use crate::densities::{PLANE_BANDWIDTH, PLANE_SEED, STARTS_SEED, herd, plane};
use crate::report::{Finding, Report, Table};

const STARTS: usize = 2000;
/// The line is fitted up to this T.
const FITTED: usize = 500;

pub(crate) fn run(size: Size) -> Result<Report> {
    let count = size.choose(FITTED, 2000);
    let mut herder = herd(&plane()?, PLANE_BANDWIDTH, STARTS)?;
    let squared_norm = herder.pool().squared_norm().context("a mixture has a known norm")?;
    let errors: Vec<f64> =
        herder.run(count).iter().map(|pick| pick.error.context("E_T is known")).collect::<Result<_>>()?;

    let t: Vec<f64> = (1..=count).map(|t| t as f64).collect();
    let inverse: Vec<f64> = errors.iter().map(|e| 1.0 / e).collect();
    let line = Line::fit(&t[..FITTED], &inverse[..FITTED]);
    // The expected squared MMD of T independent draws is (1 − ‖μ‖²)/T, since k(x, x) = 1.
    let iid = |t: f64| (t / (1.0 - squared_norm)).sqrt();
    let draws = inverse[FITTED - 1].powi(2) * (1.0 - squared_norm);

    let mut findings = vec![
        Finding::claim(
            format!("R² of the straight line through 1/E_T, T ≤ {FITTED}"),
            format!("{:.4}", line.r_squared),
            "above 0.98",
            line.r_squared > 0.98,
        ),
        Finding::note("its slope: 1/E_T gained with each super-sample", format!("{:.3}", line.slope)),
        Finding::note(
            format!("E_T at T = {FITTED}; of as many independent draws (root mean square)"),
            format!("{:.5}; {:.5}", errors[FITTED - 1], 1.0 / iid(FITTED as f64)),
        ),
        Finding::note(
            format!("independent draws that are as accurate as {FITTED} super-samples"),
            format!("{:.0}", draws),
        ),
    ];
    if count > FITTED {
        let whole = Line::fit(&t, &inverse);
        findings.push(Finding::note(
            format!("R² of the line over all T ≤ {count}"),
            format!("{:.4}", whole.r_squared),
        ));
    }

    let mut table = Table::new(["t", "error", "inverse_error", "inverse_error_iid", "line"]);
    for ((t, error), inverse) in t.iter().zip(&errors).zip(&inverse) {
        table.push([*t, *error, *inverse, iid(*t), line.intercept + line.slope * t].map(Some));
    }
    Ok(Report {
        name: "fig2",
        title: "1/E_T against T",
        paper: "1/E_T increases linearly with T.",
        method: format!(
            "The mixture of figure 1 (seed {PLANE_SEED}), Gaussian kernel of bandwidth {PLANE_BANDWIDTH}, ascent from the \
             best of {STARTS} draws (seed {STARTS_SEED}), T to {count}. E_T is exact (eq. 9 in closed form)."
        ),
        tables: vec![("", table)],
        findings,
    })
}
