//! How accurate draws are themselves.

use extendr_api::prelude::*;
use supersample::task::Problem;
use supersample::words::Names;

use crate::given::Given;
use crate::lists;
use crate::options::{choice, rows};
use crate::refusal::{Result, answered};
use crate::work::run;

/// How accurate the rows of the matrix `x` in `given` are as draws, and whether their chains agree.
#[extendr]
fn native_diagnose(given: List, tick: Function) -> Robj {
    let given = Given::new(given);
    let names = given.names();
    answered(diagnosed(&given, &names, &tick), &names)
}

fn diagnosed(given: &Given, names: &Names<'_>, tick: &Function) -> Result<List> {
    let (choose, rows) = (choice(given)?, rows(given)?);
    let found = run(given.count("threads")?.unwrap_or(1), tick, |watch| {
        Problem::watched(rows, choose, watch)?.diagnose(watch)
    })?;
    Ok(list!(draws = lists::diagnosis(&found), advice = lists::advice(&found.advice(), names)))
}

extendr_module! {
    mod diagnose;
    fn native_diagnose;
}
