//! Verb `eval`: how good a subset is, whoever made it.

use std::borrow::Cow;

use anyhow::{Context, Result};
use supersample::task::Evaluation;
use supersample::{Points, unwatched};

use super::held::{SomeRows, hold};
use super::problem::Problem;
use super::subset::{Needed, Subset, SubsetReading};
use super::{Outcome, this_run, with_outputs};
use crate::plan::{EvalPlan, Scores, Stop};
use crate::report::{Report, Rows, Subject};
use crate::terminal::progress::Progress;

/// Carries out a plan of `eval`.
pub(crate) fn eval(plan: &EvalPlan) -> Result<Outcome> {
    with_outputs(&plan.outputs, plan.threads, plan.quiet, |files| {
        let progress = Progress::phase(plan.quiet, "reading");
        let problem = Problem::read(&plan.draws, |memory| memory)?;
        let dim = problem.draws.dim();
        let all = problem.task.rows().as_slice();
        let reading = SubsetReading {
            index_column: plan.index_column.as_deref(),
            drop_na: plan.draws.drop_na,
            needed: match (&plan.draws.functions.file, plan.draws.scores.as_ref().and_then(Scores::file)) {
                (None, None) => None,
                (None, Some(_)) => Some(Needed::Scores),
                (Some(_), _) => Some(Needed::Functions),
            },
        };
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
        let of_subset = match subset.rows {
            Some(rows) => FunctionsOfSubset::Rows(rows),
            None => FunctionsOfSubset::Values(subset.functions),
        };
        problem.compare_all(Some(points.len()), plan.quiet)?;
        let progress = Progress::phase(plan.quiet, "comparing with other subsets");
        let some = SomeRows {
            subject: Subject::Subset {
                file: plan.subset.display().to_string(),
                is_by_number: subset.is_by_number,
                weight_column,
            },
            distinct: None,
            found: evaluation(&problem, &points, &of_subset, weights.as_deref())?,
            rows: Rows { values: Cow::Borrowed(points.as_slice()), dim, shares: weights.map(Cow::Owned) },
            numbers: None,
            sampled_from: None,
            lowered: None,
            trace: None,
            is_in_order: false,
            has_page: plan.outputs.report.is_some(),
            notes,
            warnings,
        };
        let held = hold(&plan.draws, &problem, some)?;
        drop(progress);
        Ok(files.write_report(&Report::on_subset(held, this_run(Stop::default(), None))))
    })
}

/// Where the functions of a subset are.
enum FunctionsOfSubset {
    /// With those of the draws, whose rows these are.
    Rows(Vec<usize>),
    /// In its own file.
    Values(Vec<f64>),
}

fn evaluation(
    problem: &Problem,
    points: &Points,
    functions: &FunctionsOfSubset,
    weights: Option<&[f64]>,
) -> Result<Evaluation> {
    let task = &problem.task;
    if task.stein().is_some() {
        return Ok(match functions {
            FunctionsOfSubset::Rows(rows) => task.evaluate_rows(rows, weights, &unwatched)?,
            FunctionsOfSubset::Values(values) => {
                let places =
                    problem.score_places.as_ref().context("the scores of the subset are not known")?;
                let scores = places.taken(values, values.len() / points.len());
                let scores = Points::from_vec(scores, points.dim())?;
                task.evaluate_with_scores(points, &scores, weights, &unwatched)?
            }
        });
    }
    let Some((_, of_all, _)) = task.functions() else {
        return Ok(task.evaluate(points, weights, &unwatched)?);
    };
    let functions = match functions {
        FunctionsOfSubset::Rows(rows) => of_all.select(rows)?,
        FunctionsOfSubset::Values(values) => Points::from_rows(values, of_all.dim())?,
    };
    Ok(task.evaluate_with_functions(points, &functions, weights, &unwatched)?)
}
