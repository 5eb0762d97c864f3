//! The verb `eval`: how good a subset is, whoever made it.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use supersample::{Domain, Herder, MeanEmbedding, Points, metrics};

use crate::choose::Stop;
use crate::choose_rows::compare_all;
use crate::compare::compare;
use crate::html;
use crate::output::Output;
use crate::plan::EvalPlan;
use crate::problem::Problem;
use crate::progress::Progress;
use crate::report::{Report, Subject, precision_name};
use crate::rows::Rows;
use crate::subset::Subset;
use crate::{Outcome, command_line, say, with_threads};

pub(crate) fn run(plan: &EvalPlan) -> Result<Outcome> {
    let create = |path: &Option<PathBuf>| path.as_deref().map(Output::create).transpose();
    let (mut json, mut page) = (create(&plan.outputs.json)?, create(&plan.outputs.report)?);
    with_threads(plan.threads, || {
        let progress = Progress::phase(plan.quiet, "reading");
        let problem = Problem::read(&plan.draws)?;
        let draws = &problem.draws;
        let subset = Subset::read(&plan.subset, draws, plan.index_column.as_deref())?;
        drop(progress);
        let points = Points::from_vec(problem.scaling.apply(&subset.values), problem.points.dim())?;
        let weights = subset.weights.as_ref().map(|(_, weights)| weights.as_slice());
        let mu = Arc::new(problem.embedding()?);
        compare_all(&mu, plan.quiet)?;
        let progress = Progress::phase(plan.quiet, "comparing with other subsets");
        let error = metrics::mmd_of_points(&*mu, &points, weights)?;
        let herder = Herder::shared(mu.clone(), Domain::Pool(problem.points.clone()))?;
        let reference = problem.reference()?;
        let rows = Rows { values: &subset.values, dim: draws.dim(), shares: weights };
        let owned = |names: Vec<&str>| names.iter().map(|name| name.to_string()).collect();
        let report = Report {
            subject: Subject::Subset {
                file: plan.subset.display().to_string(),
                is_by_number: subset.is_by_number,
                weight_column: subset.weights.as_ref().map(|(column, _)| column.clone()),
            },
            verb: "eval",
            command: command_line(),
            files: plan.draws.files.iter().map(|file| file.display().to_string()).collect(),
            rows: draws.len(),
            warmup: draws.warmup(),
            stop: Stop::default(),
            ended: None,
            chosen: rows.len(),
            distinct: distinct(&subset.values, draws.dim()),
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
            single_draw: mu
                .mean_diagonal()
                .zip(herder.squared_norm())
                .map(|(diagonal, norm)| diagonal - norm),
            comparison: compare(&herder, problem.rows(), rows.len(), &reference)?,
            quality: Some(reference.quality(&subset.values, weights)?),
            weighing: None,
            balanced: None,
            polished: None,
            warnings: problem.warnings.clone(),
        };
        drop(progress);
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

fn distinct(values: &[f64], dim: usize) -> usize {
    let rows =
        values.chunks_exact(dim).map(|row| row.iter().map(|value| value.to_bits()).collect::<Vec<_>>());
    rows.collect::<std::collections::HashSet<_>>().len()
}
