//! The verb `herd`: read the draws, choose rows one after the other, write them out.

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};
use rayon::ThreadPoolBuilder;
use supersample::{Domain, Empirical, Herder, Kernel, MeanEmbedding, Pick, Points};
use supersample_io::{Table, csv};

use crate::args::Scale;
use crate::compare::compare;
use crate::output::{Output, to_stdout};
use crate::plan::HerdPlan;
use crate::quality::worst_errors;
use crate::report::Report;
use crate::standardise::standardised_columns;

pub(crate) fn run(plan: &HerdPlan) -> Result<()> {
    // Before the work, so that a mistyped folder costs no one an hour.
    let create = |path: &Option<PathBuf>| path.as_deref().map(Output::create).transpose();
    let (mut output, mut indices, mut trace) =
        (create(&plan.output)?, create(&plan.indices)?, create(&plan.trace)?);

    let table = csv::read_path(&plan.input, &plan.selection)?;
    // A pool of our own, 0 standing for all cores: the global one would outlive the plan.
    let threads = ThreadPoolBuilder::new().num_threads(plan.threads.unwrap_or(0)).build();
    let threads = threads.context("the threads cannot be started; try fewer --threads")?;
    let (choices, report) = threads.install(|| choose(plan, &table))?;

    let rows: Vec<usize> = choices.iter().map(|choice| choice.row).collect();
    if let Some(indices) = &mut indices {
        indices.fill(|out| rows.iter().try_for_each(|row| writeln!(out, "{row}")))?;
    }
    if let Some(trace) = &mut trace {
        trace.fill(|out| write_trace(&choices, out))?;
    }
    match &mut output {
        Some(output) => output.fill(|mut out| table.write_rows(&rows, &mut out))?,
        None => to_stdout(|mut out| table.write_rows(&rows, &mut out))?,
    }
    // Only now that every write has succeeded does any file appear.
    [output, indices, trace].into_iter().flatten().try_for_each(Output::finish)?;
    if let Some(report) = report {
        // Whoever closed stderr does not want the summary.
        let _ = io::stderr().write_all(report.to_text().as_bytes());
    }
    Ok(())
}

/// What is kept of a pick.
struct Choice {
    row: usize,
    t: usize,
    error: Option<f64>,
    weight_norm: Option<f64>,
    margin: Option<f64>,
}

impl Choice {
    fn new(pick: Pick) -> Choice {
        let row = pick.index.expect("a pick from a pool has a row number");
        let Pick { t, error, weight_norm, margin, .. } = pick;
        Choice { row, t, error, weight_norm, margin }
    }
}

fn choose(plan: &HerdPlan, table: &Table) -> Result<(Vec<Choice>, Option<Report>)> {
    let (scaled, constant) = match plan.scale {
        Scale::None => (table.values().to_vec(), Vec::new()),
        Scale::Sd => standardised_columns(table.values(), table.dim()),
    };
    let points = Points::from_vec(scaled, table.dim())?;
    let kernel = plan.kernel.for_points(&points)?;
    let mu = Empirical::new(kernel.clone(), points.clone())?;
    let mean_diagonal = mu.mean_diagonal();
    let mut herder = Herder::new(mu, Domain::Pool(points))?.unique(plan.unique);
    let choices: Vec<Choice> = herder.by_ref().take(plan.number).map(Choice::new).collect();
    if !plan.summary {
        return Ok((choices, None));
    }
    let single_draw = mean_diagonal.zip(herder.squared_norm()).map(|(diagonal, norm)| diagonal - norm);
    let herded = Herded { herder: &herder, kernel, constant, single_draw };
    let report = summarise(plan, table, &choices, herded)?;
    Ok((choices, Some(report)))
}

/// What is known once the rows are chosen.
struct Herded<'a> {
    herder: &'a Herder,
    kernel: Kernel,
    constant: Vec<usize>,
    /// The expected squared error of a single iid draw, where it is known.
    single_draw: Option<f64>,
}

fn summarise(plan: &HerdPlan, table: &Table, choices: &[Choice], herded: Herded<'_>) -> Result<Report> {
    let rows: Vec<usize> = choices.iter().map(|choice| choice.row).collect();
    let names = table.parameter_names();
    Ok(Report {
        rows: table.len(),
        asked: plan.number,
        chosen: rows.len(),
        distinct: rows.iter().collect::<HashSet<_>>().len(),
        unused: table.unused_names().iter().map(|name| name.to_string()).collect(),
        bandwidth_is_median: plan.kernel.is_median(),
        scale: plan.scale,
        constant: herded.constant,
        error: choices.last().and_then(|choice| choice.error),
        error_floor: herded.herder.error_floor(),
        single_draw: herded.single_draw,
        comparison: compare(herded.herder, table.len(), rows.len())?,
        worst: worst_errors(table.values(), table.dim(), &rows),
        parameters: names.iter().map(|name| name.to_string()).collect(),
        kernel: herded.kernel,
    })
}

fn write_trace(choices: &[Choice], out: &mut dyn Write) -> io::Result<()> {
    // Debug keeps every digit and, unlike Display, is short for tiny numbers; what is not known stays empty.
    let cell = |value: Option<f64>| value.map(|value| format!("{value:?}")).unwrap_or_default();
    writeln!(out, "t,row,error,weight_norm,margin")?;
    choices.iter().try_for_each(|Choice { row, t, error, weight_norm, margin }| {
        writeln!(out, "{t},{row},{},{},{}", cell(*error), cell(*weight_norm), cell(*margin))
    })
}
