//! Choosing rows.

use extendr_api::prelude::*;
use supersample::task::{Chosen, Problem, Target};
use supersample::words::Names;

use crate::given::Given;
use crate::lists::{self, or_null};
use crate::options::{choice, rows};
use crate::refusal::{Result, answered};
use crate::work::run;

/// Chooses rows of the matrix `x` in `given`.
#[extendr]
fn native_choose(given: List, tick: Function) -> Robj {
    let given = Given::new(given);
    let names = given.names();
    answered(chosen(&given, &names, &tick), &names)
}

fn chosen(given: &Given, names: &Names<'_>, tick: &Function) -> Result<List> {
    let choose = choice(given)?;
    let (stop, rows) = (choose.stop, rows(given)?);
    let threads = given.count("threads")?.unwrap_or(1);
    let (target, chosen) = run(threads, tick, |watch| {
        let target = Problem::watched(rows, choose, watch)?.prepare(watch)?;
        let chosen = target.choose(watch)?;
        Ok((target, chosen))
    })?;
    let error = if target.problem().kernel().is_stein() { "KSD" } else { "MMD" };
    let missed = stop.is_missed(chosen.ended, chosen.error(), &target.error_scale());
    Ok(list!(
        rows = row_numbers(&chosen),
        weights = or_null(chosen.weights.as_ref().map(|found| found.weights.clone())),
        trace = chosen.trace.iter().map(|pick| pick.error.unwrap_or(f64::NAN)).collect::<Vec<f64>>(),
        errors = lists::errors(&chosen.errors),
        mmd_error = or_null(chosen.standard_error),
        ended = Into::<&'static str>::into(chosen.ended),
        missed = or_null(missed.then(|| stop.missed_in_words(error))),
        stages = or_null(chosen.refined.as_ref().map(|refined| lists::stages(refined, stop.has_goal()))),
        advice = lists::advice(target.problem().advice().iter().chain(&chosen.advice), names),
        overlap = or_null(chosen.overlap.as_ref().map(|overlap| overlap.sentence())),
        draws = diagnosed(&target),
        of = lists::of(&target)
    ))
}

/// Row numbers as R counts them.
fn row_numbers(chosen: &Chosen) -> Vec<i32> {
    chosen.rows.iter().map(|&row| row as i32 + 1).collect()
}

/// How accurate the draws are, where that is known.
pub(crate) fn diagnosed(target: &Target) -> Robj {
    or_null(target.diagnosed().as_ref().map(lists::diagnosis))
}

extendr_module! {
    mod choose;
    fn native_choose;
}
