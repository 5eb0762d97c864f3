//! The verb `eval`: how good a subset is, whoever made it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use supersample::{Domain, Empirical, Herder, MeanEmbedding, Points, metrics};
use supersample_io::{Draws, Reading, Selection};

use crate::choose::Stop;
use crate::compare::compare;
use crate::html;
use crate::output::Output;
use crate::plan::EvalPlan;
use crate::problem::Problem;
use crate::progress::Progress;
use crate::quality::{Rows, parameter_errors};
use crate::report::{Report, Subject, precision_name};
use crate::weights::shares;
use crate::{Outcome, command_line, say, with_threads};

/// The column of weights that `herd` and others write.
const WEIGHT: &str = "weight";

pub(crate) fn run(plan: &EvalPlan) -> Result<Outcome> {
    let create = |path: &Option<PathBuf>| path.as_deref().map(Output::create).transpose();
    let (mut json, mut page) = (create(&plan.outputs.json)?, create(&plan.outputs.report)?);
    with_threads(plan.threads, || {
        let progress = Progress::phase(plan.quiet, "reading");
        let problem = Problem::read(&plan.draws)?;
        let (subset_values, subset_shares) = read_subset(&plan.subset, &problem.draws)?;
        let subset_rows = subset_values.len() / problem.draws.dim();
        drop(progress);
        let progress = Progress::phase(plan.quiet, "comparing every row with every row");
        let points = Points::from_vec(problem.scaling.apply(&subset_values), problem.points.dim())?;
        let mu = problem.embedding()?;
        let mean_diagonal = mu.mean_diagonal();
        let chosen = match &subset_shares {
            None => Empirical::new(problem.kernel.clone(), points)?,
            Some(shares) => Empirical::weighted(problem.kernel.clone(), points, shares)?,
        };
        let error = metrics::mmd(&mu, &chosen)?;
        let herder = Herder::new(mu, Domain::Pool(problem.points.clone()))?;
        drop(progress);

        let draws = &problem.draws;
        let rows = Rows { values: &subset_values, dim: draws.dim(), shares: subset_shares.as_deref() };
        let owned = |names: Vec<&str>| names.iter().map(|name| name.to_string()).collect();
        let report = Report {
            subject: Subject::Subset(plan.subset.display().to_string()),
            verb: "eval",
            command: command_line(),
            files: plan.draws.files.iter().map(|file| file.display().to_string()).collect(),
            rows: draws.len(),
            warmup: draws.warmup(),
            stop: Stop::default(),
            ended: None,
            chosen: subset_rows,
            distinct: distinct(&subset_values, draws.dim()),
            parameters: owned(draws.parameter_names()),
            unused: owned(draws.unused_names()),
            weight_column: plan.draws.reading().weight_column.map(str::to_string),
            kernel: problem.kernel.clone(),
            bandwidth_is_median: plan.draws.kernel.is_median(),
            scale: plan.draws.scale,
            precision: precision_name(herder.precision()),
            coordinates: problem.points.dim(),
            constant: problem.scaling.constant().to_vec(),
            error: Some(error),
            error_floor: herder.error_floor(),
            single_draw: mean_diagonal.zip(herder.squared_norm()).map(|(diagonal, norm)| diagonal - norm),
            comparison: compare(&herder, draws.len(), subset_rows, problem.shares.as_deref())?,
            errors: parameter_errors(problem.rows(), rows),
            warnings: problem.warnings.clone(),
        };
        if let Some(json) = &mut json {
            json.fill(|out| Ok(out.write_all(report.to_json(&[]).as_bytes())?))?;
        }
        if let Some(page) = &mut page {
            let text = html::page(&report, problem.rows(), rows, None);
            page.fill(|out| Ok(out.write_all(text.as_bytes())?))?;
        }
        [json, page].into_iter().flatten().try_for_each(Output::finish)?;
        if !plan.quiet {
            say(&report.to_text());
        }
        Ok(Outcome::of(&report))
    })
}

/// The rows of the subset by the same columns in the same order, and the weights it brings.
fn read_subset(path: &Path, draws: &Draws) -> Result<(Vec<f64>, Option<Vec<f64>>)> {
    let columns: Vec<String> = draws.parameter_names().iter().map(|name| name.to_string()).collect();
    let plain = Reading { selection: Selection::Only(columns), keep_warmup: true, ..Reading::default() };
    let mut subset = Draws::read(&[path], &plain).context("the subset")?;
    let has = |draws: &Draws| draws.names().iter().any(|name| name == WEIGHT);
    if has(&subset) && !has(draws) {
        let weighted = Reading { weight_column: Some(WEIGHT), ..plain };
        subset = Draws::read(&[path], &weighted).context("the subset")?;
    }
    let weights = subset.weights().map(shares).transpose().context("the subset")?;
    // Another tool may have put the columns in another order.
    let names = subset.parameter_names();
    let place =
        |name: &str| names.iter().position(|other| *other == name).expect("the columns were asked for");
    let order: Vec<usize> = draws.parameter_names().iter().map(|name| place(name)).collect();
    let rows = subset.values().chunks_exact(names.len());
    Ok((rows.flat_map(|row| order.iter().map(|&j| row[j])).collect(), weights))
}

fn distinct(values: &[f64], dim: usize) -> usize {
    let rows =
        values.chunks_exact(dim).map(|row| row.iter().map(|value| value.to_bits()).collect::<Vec<_>>());
    rows.collect::<std::collections::HashSet<_>>().len()
}
