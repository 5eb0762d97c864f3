//! Errors of any subset, with those of other subsets of its size.

use extendr_api::prelude::*;
use supersample::Points;
use supersample::quality::ColumnErrors;
use supersample::task::{Problem, Subset};
use supersample::words::Names;

use crate::choose::diagnosed;
use crate::given::Given;
use crate::lists::{self, or_null};
use crate::options::{choice, rows};
use crate::refusal::{Refusal, Result, answered};
use crate::work::run;

/// Evaluates the rows `subset`, or the points `subset_points`, of the matrix `x` in `given`.
#[extendr]
fn native_evaluate(given: List, tick: Function) -> Robj {
    let given = Given::new(given);
    let names = given.names();
    answered(evaluated(&given, &names, &tick), &names)
}

fn evaluated(given: &Given, names: &Names<'_>, tick: &Function) -> Result<List> {
    let (choose, rows) = (choice(given)?, rows(given)?);
    let (numbers, weights) = (given.places("subset")?, given.numbers("subset_weight")?);
    let points = match given.matrix("subset_points")? {
        Some((values, dim)) => Some(Points::from_rows(values, dim).map_err(|error| {
            // The row is one of y.
            Refusal::Words(error.sentence(supersample::words::Style::R, &names.clone().of("y")))
        })?),
        None => None,
    };
    let functions = match given.matrix("subset_functions")? {
        Some((values, count)) => Some(Points::from_rows(values, count)?),
        None => None,
    };
    let (target, found) = run(given.count("threads")?.unwrap_or(1), tick, |watch| {
        let target = Problem::watched(rows, choose, watch)?.prepare(watch)?;
        let mut subset = match (&numbers, points) {
            (_, Some(points)) => Subset::of_points(points),
            (numbers, None) => Subset::of_rows(numbers.as_deref().unwrap_or_default()),
        };
        subset = subset.weights(weights);
        if let Some(functions) = functions {
            subset = subset.functions(functions);
        }
        let found = target.evaluate(&subset, watch)?;
        Ok((target, found))
    })?;
    let (columns, others) = (&found.quality.columns, found.comparison.as_ref());
    let each = |error: fn(&ColumnErrors) -> Option<f64>| {
        columns.iter().map(|column| error(column).unwrap_or(f64::NAN)).collect::<Vec<f64>>()
    };
    Ok(list!(
        errors = lists::errors(&found.errors),
        random = or_null(others.map(|others| lists::errors(&others.random_errors()))),
        random_mmds = or_null(others.map(|others| others.random_mmds())),
        spaced = or_null(others.map(|others| lists::errors(&others.spaced))),
        mmd_error = or_null(found.standard_error),
        mean_error = each(|column| column.mean),
        sd_error = each(|column| column.sd),
        quantile_error = each(|column| {
            column.quantiles.iter().flatten().copied().max_by(|a, b| a.abs().total_cmp(&b.abs()))
        }),
        advice = lists::advice(target.problem().advice(), names),
        draws = diagnosed(&target),
        of = lists::of(&target)
    ))
}

extendr_module! {
    mod evaluate;
    fn native_evaluate;
}
