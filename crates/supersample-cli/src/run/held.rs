//! Rows held against all rows of the draws: the parts of the report on them.

use std::collections::HashSet;

use anyhow::Result;
use supersample::task::Evaluation;
use supersample::{FunctionsUnit, Pick};
use supersample_io::Groups;

use super::problem::Problem;
use crate::plan::DrawsPlan;
use crate::report::{
    About, Beside, ChainShare, Curve, Distances, Figures, HeldRows, Landmarks, Lowered, Measured, Parts,
    Rows, Subject,
};

/// Some rows, whoever chose them, and what is known of them.
pub(super) struct SomeRows<'p, 'a> {
    pub(super) subject: Subject,
    pub(super) rows: Rows<'a>,
    /// Their numbers, where they were chosen.
    pub(super) numbers: Option<Vec<usize>>,
    /// How many different ones; `None` where only their values are known.
    pub(super) distinct: Option<usize>,
    pub(super) found: Evaluation,
    /// How many rows, drawn at random, they were chosen from; `None` where all could be chosen.
    pub(super) sampled_from: Option<usize>,
    /// What choosing them has lowered; `None` where they were not chosen.
    pub(super) lowered: Option<Lowered>,
    /// How they were chosen, one after the other.
    pub(super) trace: Option<&'p [Pick]>,
    /// Whether the rows are in the order of the trace.
    pub(super) is_in_order: bool,
    /// Whether a page will be drawn, which takes another look at the files.
    pub(super) has_page: bool,
    pub(super) notes: Vec<String>,
    pub(super) warnings: Vec<String>,
}

/// What the report says of some rows of these draws.
pub(super) fn hold<'a>(
    plan: &DrawsPlan,
    problem: &'a Problem,
    some: SomeRows<'_, 'a>,
) -> Result<HeldRows<'a>> {
    let SomeRows {
        subject,
        rows,
        numbers,
        distinct,
        found,
        sampled_from,
        lowered,
        trace,
        is_in_order,
        has_page,
        notes,
        warnings,
    } = some;
    let (draws, task) = (&problem.draws, &problem.task);
    let owned = |names: Vec<&str>| names.iter().map(|name| name.to_string()).collect();
    let about = About {
        subject,
        files: plan.files.iter().map(|file| file.display().to_string()).collect(),
        rows: Some(draws.len()),
        warmup: draws.warmup(),
        mean_rows: draws.mean_rows(),
        missing: draws.dropped_na(),
        parameters: owned(draws.parameter_names()),
        unused: owned(draws.unused_names()),
        weight_column: plan.weight_column().map(str::to_string),
        effective_size: task.shares().map(|shares| match task.gathered() {
            Some(gathered) => gathered.effective_size(),
            None => 1.0 / shares.iter().map(|share| share * share).sum::<f64>(),
        }),
    };
    let distances = Distances {
        kernel: task.kernel().clone(),
        median_pairs: task.median().map(|median| median.pairs),
        scale: task.scale(),
        precision: task.precision_in_use(),
        instruction_set: supersample::instruction_set(),
        device: task.device().to_string(),
        coordinates: task.scaling().out_dim(),
        constant: task.scaling().constant().to_vec(),
        landmarks: task.landmarks().map(|mu| Landmarks {
            count: mu.points().len(),
            residual: mu.residual(),
            pool_rows: sampled_from.or(task.gathered().map(|gathered| gathered.pool().len())),
        }),
    };
    let distinct_points = distinct_points(&rows);
    let result = Measured {
        count: rows.len(),
        distinct: distinct.unwrap_or(distinct_points),
        distinct_points,
        rows: numbers,
        error: Some(found.error),
        scale: task.error_scale()?,
        cdf: found.cdf,
        functions: found.functions,
        quality: Some(found.quality),
    };
    let curve = trace.map(|trace| {
        let errors = trace.iter().filter_map(|pick| Some((pick.t, pick.error?)));
        Curve::new(errors, &about, &result, found.comparison.as_ref())
    });
    let reference = task.reference()?;
    let columns = result.quality.iter().flat_map(|quality| &quality.columns).enumerate();
    let summaries = columns.map(|(j, errors)| Some(Beside::new(reference.column(j)?, errors))).collect();
    // The chains of all rows are not counted where all rows are not at hand.
    let numbers = result.rows.as_deref().filter(|_| has_page && task.gathered().is_none());
    let chains = numbers.map_or(Vec::new(), |numbers| chains(problem, numbers, &rows));
    let figures = Figures { all: problem.rows(), subset: rows, curve, is_in_order, summaries, chains };
    let functions_unit = task.functions().map_or(FunctionsUnit::Each, |(functions, ..)| functions.unit());
    let parts = Parts { functions: problem.functions.clone(), functions_unit, lowered };
    Ok(HeldRows { about, distances, parts, result, comparison: found.comparison, figures, notes, warnings })
}

fn distinct_points(rows: &Rows<'_>) -> usize {
    let bits = |row: &[f64]| row.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    rows.values.chunks_exact(rows.dim).map(bits).collect::<HashSet<_>>().len()
}

/// More chains than this make no table.
const MOST_CHAINS: usize = 64;

/// What each chain is of all rows and of those of these numbers; nothing where there is one chain, or where the files do
/// not say.
fn chains(problem: &Problem, numbers: &[usize], subset: &Rows<'_>) -> Vec<ChainShare> {
    let draws = &problem.draws;
    let is_several = |groups: &Groups| (2..=MOST_CHAINS).contains(&groups.names.len());
    let Some(groups) = draws.by_chain().ok().filter(is_several) else { return Vec::new() };
    let named = |name: &String| ChainShare { name: name.clone(), all: 0.0, subset: 0.0, rows: 0 };
    let mut chains: Vec<ChainShare> = groups.names.iter().map(named).collect();
    let all = problem.rows();
    groups.of_row.iter().enumerate().for_each(|(row, &chain)| chains[chain].all += all.share(row));
    for (at, row) in numbers.iter().enumerate() {
        let Some(row) = draws.row_of_number(*row) else { continue };
        let chain = &mut chains[groups.of_row[row]];
        chain.subset += subset.share(at);
        chain.rows += 1;
    }
    chains
}
