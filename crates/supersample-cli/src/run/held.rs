//! Rows held against all rows of the draws: their errors, those of other subsets, and the parts of the report on them.

use anyhow::Result;
use supersample::Herder;
use supersample::quality::Reference;

use super::compare::compare;
use super::herd::Choice;
use super::problem::Problem;
use crate::plan::DrawsPlan;
use crate::report::{About, Curve, Distances, Figures, HeldRows, Measured, Rows, Subject};

/// The draws, as rows are held against them.
pub(super) struct Yardstick<'p, 'a> {
    pub(super) plan: &'p DrawsPlan,
    pub(super) problem: &'a Problem,
    /// Of all rows, for the errors of other subsets.
    pub(super) herder: &'p Herder,
    pub(super) single_draw: Option<f64>,
    pub(super) reference: Reference,
}

/// Some rows, whoever chose them, and what is known of them already.
pub(super) struct SomeRows<'p, 'a> {
    pub(super) subject: Subject,
    pub(super) rows: Rows<'a>,
    /// Their numbers, where they were chosen.
    pub(super) numbers: Option<Vec<usize>>,
    pub(super) distinct: usize,
    pub(super) error: Option<f64>,
    /// How they were chosen, one after the other.
    pub(super) choices: Option<&'p [Choice]>,
    pub(super) warnings: Vec<String>,
}

impl<'a> Yardstick<'_, 'a> {
    pub(super) fn hold(&self, some: SomeRows<'_, 'a>) -> Result<HeldRows<'a>> {
        let Yardstick { plan, problem, herder, single_draw, ref reference } = *self;
        let SomeRows { subject, rows, numbers, distinct, error, choices, warnings } = some;
        let (draws, count) = (&problem.draws, rows.len());
        let owned = |names: Vec<&str>| names.iter().map(|name| name.to_string()).collect();
        let about = About {
            subject,
            files: plan.files.iter().map(|file| file.display().to_string()).collect(),
            rows: Some(draws.len()),
            warmup: draws.warmup(),
            parameters: owned(draws.parameter_names()),
            unused: owned(draws.unused_names()),
            weight_column: plan.weight_column().map(str::to_string),
        };
        let distances = Distances {
            kernel: problem.kernel.clone(),
            bandwidth_is_median: plan.kernel.is_median(),
            scale: plan.scale,
            precision: herder.precision(),
            coordinates: problem.points.dim(),
            constant: problem.scaling.constant().to_vec(),
        };
        let comparison = compare(herder, &problem.rows(), count, reference)?;
        let result = Measured {
            count,
            distinct,
            rows: numbers,
            error,
            error_floor: herder.error_floor(),
            single_draw,
            quality: Some(reference.quality(&rows.values, rows.shares.as_deref())?),
        };
        let curve = choices.map(|choices| {
            let errors = choices.iter().filter_map(|choice| Some((choice.t, choice.error?)));
            Curve::new(errors, &about, &result)
        });
        let figures = Figures { all: problem.rows(), subset: rows, curve };
        Ok(HeldRows { about, distances, result, comparison, figures, warnings })
    }
}
