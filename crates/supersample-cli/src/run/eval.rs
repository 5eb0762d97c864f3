//! Verb `eval`: how good a subset is, whoever made it.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use anyhow::Result;
use supersample::{Domain, Herder, Points, metrics};

use super::held::{SomeRows, Yardstick};
use super::herd::single_draw;
use super::problem::{Problem, compare_all};
use super::subset::Subset;
use super::{Outcome, this_run, with_outputs};
use crate::plan::{EvalPlan, Stop};
use crate::report::{Report, Rows, Subject};
use crate::terminal::progress::Progress;

/// Carries out a plan of `eval`.
pub(crate) fn eval(plan: &EvalPlan) -> Result<Outcome> {
    with_outputs(&plan.outputs, plan.threads, plan.quiet, |files| {
        let progress = Progress::phase(plan.quiet, "reading");
        let problem = Problem::read(&plan.draws)?;
        let dim = problem.draws.dim();
        let subset = Subset::read(&plan.subset, &problem.draws, plan.index_column.as_deref())?;
        drop(progress);
        let points = Points::from_vec(problem.scaling.apply(&subset.values), problem.points.dim())?;
        let (weight_column, weights) = subset.weights.unzip();
        let mu = Arc::new(problem.embedding()?);
        compare_all(&mu, plan.quiet)?;
        let progress = Progress::phase(plan.quiet, "comparing with other subsets");
        let error = metrics::mmd_of_points(&*mu, &points, weights.as_deref())?;
        let herder = Herder::shared(mu.clone(), Domain::Pool(problem.points.clone()))?;
        let yardstick = Yardstick {
            plan: &plan.draws,
            problem: &problem,
            herder: &herder,
            single_draw: single_draw(&*mu, herder.squared_norm()),
            reference: problem.reference()?,
        };
        let held = yardstick.hold(SomeRows {
            subject: Subject::Subset {
                file: plan.subset.display().to_string(),
                is_by_number: subset.is_by_number,
                weight_column,
            },
            distinct: distinct(&subset.values, dim),
            rows: Rows { values: Cow::Owned(subset.values), dim, shares: weights.map(Cow::Owned) },
            numbers: None,
            error: Some(error),
            choices: None,
            warnings: problem.warnings.clone(),
        })?;
        drop(progress);
        files.write_report(&Report::on_subset(held, this_run(Stop::default(), None)))
    })
}

fn distinct(values: &[f64], dim: usize) -> usize {
    let rows =
        values.chunks_exact(dim).map(|row| row.iter().map(|value| value.to_bits()).collect::<Vec<_>>());
    rows.collect::<HashSet<_>>().len()
}
