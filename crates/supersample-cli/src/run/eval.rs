//! Verb `eval`: how good a subset is, whoever made it.

use std::borrow::Cow;

use anyhow::Result;
use supersample::{Points, unwatched};

use super::held::{SomeRows, hold};
use super::problem::Problem;
use super::subset::{Subset, SubsetReading};
use super::{Outcome, this_run, with_outputs};
use crate::plan::{EvalPlan, Stop};
use crate::report::{Report, Rows, Subject};
use crate::terminal::progress::Progress;

/// Carries out a plan of `eval`.
pub(crate) fn eval(plan: &EvalPlan) -> Result<Outcome> {
    with_outputs(&plan.outputs, plan.threads, plan.quiet, |files| {
        let progress = Progress::phase(plan.quiet, "reading");
        let problem = Problem::read(&plan.draws, |memory| memory)?;
        let dim = problem.draws.dim();
        let all = problem.task.rows().as_slice();
        let reading =
            SubsetReading { index_column: plan.index_column.as_deref(), drop_na: plan.draws.drop_na };
        let mut subset = Subset::read(&plan.subset, &problem.draws, all, reading)?;
        drop(progress);
        let mut notes = problem.notes.clone();
        notes.append(&mut subset.notes);
        let mut warnings = problem.warnings.clone();
        if subset.holds_all_of(all, dim) {
            warnings.push(format!(
                "{} has more rows than the draws and all of theirs; the files may be swapped: first all draws, then the subset",
                plan.subset.display()
            ));
        }
        let (weight_column, weights) = subset.weights.unzip();
        let points = Points::from_vec(subset.values, dim)?;
        problem.compare_all(plan.quiet)?;
        let progress = Progress::phase(plan.quiet, "comparing with other subsets");
        let some = SomeRows {
            subject: Subject::Subset {
                file: plan.subset.display().to_string(),
                is_by_number: subset.is_by_number,
                weight_column,
            },
            distinct: None,
            found: problem.task.evaluate(&points, weights.as_deref(), &unwatched)?,
            rows: Rows { values: Cow::Borrowed(points.as_slice()), dim, shares: weights.map(Cow::Owned) },
            numbers: None,
            trace: None,
            notes,
            warnings,
        };
        let held = hold(&plan.draws, &problem, some)?;
        drop(progress);
        Ok(files.write_report(&Report::on_subset(held, this_run(Stop::default(), None))))
    })
}
