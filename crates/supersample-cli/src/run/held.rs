//! Report on some rows, compared with all rows of the draws.

use std::borrow::Cow;
use std::collections::HashSet;

use anyhow::Result;
use supersample::task::{Chosen, Evaluation, Target};
use supersample::{FunctionsUnit, Points};
use supersample_io::{Draws, Groups};

use super::input::Input;
use crate::plan::ScoreSource;
use crate::report::{
    About, ChainShare, ComparedColumn, Curve, Details, Distances, Figures, LandmarkReport, Measured,
    ObjectiveTerms, ObjectiveWeights, Report, Rows, Run, Sample, Subject, TargetReport,
};

/// Some rows, with their weights and how they were chosen.
pub(super) struct SomeRows<'p> {
    pub(super) subject: Subject,
    /// In their own units.
    pub(super) points: Points,
    pub(super) weights: Option<Vec<f64>>,
    pub(super) found: Evaluation,
    /// How they were chosen; `None` if only their values are known.
    pub(super) chosen: Option<&'p Chosen>,
    /// Whether the rows are in the order of choice.
    pub(super) is_in_order: bool,
    /// Whether a page will be drawn, which takes another look at the files.
    pub(super) has_page: bool,
    pub(super) details: Details,
    pub(super) notes: Vec<String>,
    pub(super) warnings: Vec<String>,
}

/// The report on some rows of these draws.
pub(super) fn hold<'a>(
    input: &Input<'_>,
    target: &'a Target,
    some: SomeRows<'_>,
    run: Run,
) -> Result<Report<'a>> {
    let SomeRows { subject, points, weights, found, chosen, is_in_order, has_page, details, notes, warnings } =
        some;
    let (plan, draws, problem) = (input.plan, input.draws(), target.problem());
    let (choose, gathered) = (problem.choose(), problem.gathered());
    let owned = |names: Vec<&str>| names.iter().map(|name| name.to_string()).collect();
    let about = About {
        subject,
        files: plan.files.iter().map(|file| file.display().to_string()).collect(),
        rows: Some(draws.len()),
        sample: target.sample_errors()?.map(|errors| Sample { rows: problem.rows().len(), errors }),
        warmup: draws.warmup(),
        mean_rows: draws.mean_rows(),
        missing: draws.dropped_na(),
        parameters: owned(draws.parameter_names()),
        unused: owned(draws.unused_names()),
        weight_column: plan.weight_column().map(str::to_string),
        effective_size: problem.effective_size(),
        corrected: problem.corrected().copied(),
        target: plan.other.as_ref().map(|other| TargetReport {
            file: other.file.display().to_string(),
            rows: problem.target_rows().0.len(),
            weight_column: other.weight_column.clone(),
        }),
        summary: plan.summary.as_ref().map(|file| file.display().to_string()),
        scores: plan.scores.as_ref().map(|scores| {
            let (file, prefix) = match &scores.source {
                ScoreSource::File(path) => (Some(path.display().to_string()), None),
                ScoreSource::Prefix(prefix) => (None, Some(prefix)),
            };
            let preconditioner = scores.are_of_density().then(|| scores.preconditioner.to_string());
            serde_json::json!({ "file": file, "prefix": prefix, "preconditioner": preconditioner })
        }),
    };
    let distances = Distances {
        kernel: problem.kernel().clone(),
        median_pairs: problem.median().map(|median| median.pairs),
        scale: problem.scale(),
        precision: target.precision(),
        instruction_set: supersample::instruction_set(),
        device: problem.device().to_string(),
        coordinates: problem.scaling().out_dim(),
        constant: problem.scaling().constant().to_vec(),
        landmarks: target.landmarks().map(|mu| LandmarkReport {
            count: mu.points().len(),
            residual: mu.residual(),
            pool_rows: chosen
                .and_then(|chosen| chosen.sampled_from)
                .or(gathered.map(|gathered| gathered.pool().len())),
        }),
    };
    let subset = Rows {
        values: Cow::Owned(points.as_slice().to_vec()),
        dim: points.dim(),
        shares: weights.map(Cow::Owned),
    };
    let (target_rows, target_shares) = problem.target_rows();
    let all = Rows {
        values: Cow::Borrowed(target_rows.as_slice()),
        dim: points.dim(),
        shares: target_shares.map(Cow::Borrowed),
    };
    let distinct_points = distinct_points(&subset);
    let result = Measured {
        count: points.len(),
        distinct: chosen.map_or(distinct_points, |chosen| chosen.rows.iter().collect::<HashSet<_>>().len()),
        distinct_points,
        rows: chosen.map(|chosen| chosen.rows.iter().map(|&row| draws.row_number(row)).collect()),
        errors: found.errors,
        scale: target.error_scale(),
        quality: Some(found.quality),
    };
    let curve = chosen.map(|chosen| {
        let errors = chosen.trace.iter().filter_map(|pick| Some((pick.t, pick.error?)));
        Curve::new(errors, &about, &result, found.comparison.as_ref())
    });
    let reference = target.reference()?;
    let columns = result.quality.iter().flat_map(|quality| &quality.columns).enumerate();
    let summaries =
        columns.map(|(j, errors)| Some(ComparedColumn::new(reference.column(j)?, errors))).collect();
    // Chains are not counted if not all rows are in memory, or other rows are matched.
    let chains = match chosen.filter(|_| has_page && gathered.is_none() && !problem.is_matching()) {
        Some(chosen) => chains(draws, &chosen.rows, &all, &subset),
        None => Vec::new(),
    };
    let terms = ObjectiveTerms {
        functions: input.functions.clone(),
        functions_unit: problem.functions().map_or(FunctionsUnit::Each, |(functions, ..)| functions.unit()),
        objective: chosen.map(|_| ObjectiveWeights {
            marginals: choose.marginals_weight(),
            moments: problem.moments(),
            functions: problem.functions().map_or(0.0, |(_, _, weight)| weight),
            log_density: input.regularisation(),
        }),
    };
    let figures = Some(Figures { all, subset, curve, is_in_order, summaries, chains });
    let comparison = found.comparison;
    let draws = target.diagnosed();
    Ok(Report { about, run, distances, terms, result, draws, comparison, details, figures, notes, warnings })
}

fn distinct_points(rows: &Rows<'_>) -> usize {
    let bits = |row: &[f64]| row.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    rows.values.chunks_exact(rows.dim).map(bits).collect::<HashSet<_>>().len()
}

/// More chains than this make no table.
const MOST_CHAINS: usize = 64;

/// Share of each chain in all rows and in the chosen ones; empty for one chain, or if the files do not tell.
fn chains(draws: &Draws, chosen: &[usize], all: &Rows<'_>, subset: &Rows<'_>) -> Vec<ChainShare> {
    let is_several = |groups: &Groups| (2..=MOST_CHAINS).contains(&groups.names.len());
    let Some(groups) = draws.by_chain().ok().filter(is_several) else { return Vec::new() };
    let named = |name: &String| ChainShare { name: name.clone(), all: 0.0, subset: 0.0, rows: 0 };
    let mut chains: Vec<ChainShare> = groups.names.iter().map(named).collect();
    groups.of_row.iter().enumerate().for_each(|(row, &chain)| chains[chain].all += all.share(row));
    for (at, &row) in chosen.iter().enumerate() {
        let chain = &mut chains[groups.of_row[row]];
        chain.subset += subset.share(at);
        chain.rows += 1;
    }
    chains
}
