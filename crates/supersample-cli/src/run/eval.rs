//! Verb `eval`: the errors of any subset.

use anyhow::{Context, Result};
use supersample::task::{self, Problem, stream};
use supersample::{Points, unwatched};

use super::held::{SomeRows, hold};
use super::input::Input;
use super::subset::{Needed, Subset, SubsetReading};
use super::{Outcome, this_run, with_outputs};
use crate::plan::{EvalPlan, Scores, Stop};
use crate::report::{Details, Subject};
use crate::terminal::progress::Progress;
use crate::words::{Names, Style};

/// Carries out a plan of `eval`.
pub(crate) fn eval(plan: &EvalPlan) -> Result<Outcome> {
    with_outputs(&plan.outputs, plan.threads, plan.quiet, |files| {
        let progress = Progress::phase(plan.quiet, "reading");
        let mut input = Input::new(&plan.draws, &plan.choose, plan.quiet);
        let rows = input.read()?;
        let (dim, all) = (rows.points().dim(), rows.points().clone());
        let of_density = plan.draws.scores.as_ref().filter(|scores| scores.are_of_density());
        // Scores of the subset are asked for by a density alone.
        let functions = match of_density {
            Some(_) => input.draws().function_names().iter().map(|name| name.to_string()).collect(),
            None => input.functions.clone(),
        };
        let reading = SubsetReading {
            functions: &functions,
            index_column: plan.index_column.as_deref(),
            drop_na: plan.draws.drop_na,
            needed: match (&plan.draws.functions.file, of_density.and_then(Scores::file)) {
                (None, _) if input.is_unconstrained => Some(Needed::Parameters),
                (None, None) => None,
                (None, Some(_)) => Some(Needed::Scores),
                (Some(_), _) => Some(Needed::Functions),
            },
        };
        let mut subset = Subset::read(&plan.subset, input.draws(), all.as_slice(), reading)?;
        let may_be_swapped = subset.holds_all_of(all.as_slice(), dim);
        let points = Points::from_vec(std::mem::take(&mut subset.values), dim)?;
        // As many landmarks as suit the subset.
        let mut choose = plan.choose.clone();
        choose.stop.number = Some(points.len());
        let problem = input.problem(rows, choose)?;
        drop(progress);
        let (mut notes, mut warnings) = input.notes_and_warnings(&problem);
        notes.append(&mut subset.notes);
        if may_be_swapped {
            warnings.push(format!(
                "{} has more rows than the draws, and all of theirs; the files may be swapped (first all draws, \
                 then the subset)",
                plan.subset.display()
            ));
        }
        let target = stream::prepare(&mut input, &problem)?;
        let progress = Progress::phase(plan.quiet, "comparing with other subsets");
        let (weight_column, weights) = subset.weights.take().unzip();
        let some = of_draws(&input, &problem, &subset, &points)?.weights(weights.as_deref());
        let found = target.evaluate(&some, &unwatched)?;
        let advice = target.diagnosed().and_then(|draws| draws.advice());
        warnings.extend(advice.map(|advice| advice.sentence(Style::Command, &Names::default())));
        let some = SomeRows {
            subject: Subject::Subset {
                file: plan.subset.display().to_string(),
                is_by_number: subset.is_by_number,
                weight_column,
            },
            found,
            points,
            weights,
            chosen: None,
            is_in_order: false,
            has_page: plan.outputs.report.is_some(),
            details: Details::default(),
            notes,
            warnings,
        };
        let report = hold(&input, &target, some, this_run(Stop::default(), None))?;
        drop(progress);
        Ok(files.write_report(&report))
    })
}

/// The subset as rows of the draws, whose functions and scores are known, or as points with its own.
fn of_draws<'s>(
    input: &Input<'_>,
    problem: &Problem,
    subset: &'s Subset,
    points: &Points,
) -> Result<task::Subset<'s>> {
    if let Some(rows) = &subset.rows {
        return Ok(task::Subset::of_rows(rows));
    }
    let (own, some) = (&subset.functions, task::Subset::of_points(points.clone()));
    if problem.stein().is_some() {
        let places = input.score_places.as_ref().context("the scores of the subset are not known")?;
        let scores = places.taken(own, own.len() / points.len());
        return Ok(some.scores(Points::from_vec(scores, points.dim())?));
    }
    Ok(match problem.functions() {
        Some((functions, ..)) => some.functions(Points::from_rows(own, functions.count())?),
        None => some,
    })
}
