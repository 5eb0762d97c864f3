//! The verb `sample`: points for a density that is known, off any pool.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use supersample::scale::Scale;
use supersample::{AscentOptions, ClosedForm, Domain, Herder, MeanEmbedding};
use supersample_io::{Column, Format, Frame, Target, mixture};

use crate::choose::{Choice, herd};
use crate::choose_rows::cell;
use crate::interrupt;
use crate::output::{Output, to_stdout};
use crate::plan::SamplePlan;
use crate::progress::Progress;
use crate::report::{Report, Subject, precision_name};
use crate::{Outcome, command_line, say, with_threads};

pub(crate) fn run(plan: &SamplePlan) -> Result<Outcome> {
    let create = |path: &Option<PathBuf>| path.as_deref().map(Output::create).transpose();
    let files = &plan.outputs;
    let (mut output, mut trace, mut json) =
        (create(&files.rows)?, create(&files.trace)?, create(&files.json)?);
    let target = files.target.unwrap_or(Target::plain(Format::Text));
    ensure!(
        files.rows.is_some() || target.format.is_text() || !std::io::stdout().is_terminal(),
        "name a file with -o"
    );

    let mixture = mixture::read_path(&plan.file)?;
    with_threads(plan.threads, || {
        let (components, dim) = (mixture.len(), mixture.dim());
        let starts = mixture.sample(plan.starts, plan.seed)?;
        let kernel = plan.kernel.for_points(&starts, None)?;
        let mu = ClosedForm::mixture(kernel.clone(), mixture)?;
        let single_draw = mu.mean_diagonal().zip(mu.squared_norm()).map(|(diagonal, norm)| diagonal - norm);
        let options = AscentOptions::default().climbs(plan.climbs);
        let mut herder = Herder::new(mu, Domain::Ascent { starts, options })?;
        let limit = plan.stop.number.context("-n is needed")?;
        let progress = Progress::steps(plan.quiet, "placing", limit);
        interrupt::can_end_early(true);
        let chosen = herd(&mut herder, &[], &plan.stop, limit, single_draw, |choices| {
            progress.reached(choices.len());
            Ok(())
        })?;
        drop(progress);

        let stuck = chosen.choices.iter().filter(|choice| !choice.converged).count();
        let mut warnings = Vec::new();
        if stuck > 0 {
            warnings.push(format!(
                "{stuck} of the climbs ended before the top; see the column converged of --trace"
            ));
        }
        let report = Report {
            subject: Subject::Placed { components },
            verb: "sample",
            command: command_line(),
            files: vec![plan.file.display().to_string()],
            rows: 0,
            warmup: 0,
            stop: plan.stop,
            ended: Some(chosen.ended),
            chosen: chosen.choices.len(),
            distinct: chosen.choices.len(),
            parameters: (1..=dim).map(|j| format!("x{j}")).collect(),
            unused: Vec::new(),
            weight_column: None,
            kernel,
            bandwidth_is_median: plan.kernel.is_median(),
            scale: Scale::None,
            precision: precision_name(herder.precision()),
            coordinates: dim,
            constant: Vec::new(),
            error: chosen.error(),
            error_floor: herder.error_floor(),
            single_draw,
            comparison: None,
            quality: None,
            warnings,
        };
        let frame = points_frame(&chosen.choices, dim);
        if let Some(trace) = &mut trace {
            trace.fill(|out| write_trace(&chosen.choices, out))?;
        }
        if let Some(json) = &mut json {
            json.fill(|out| Ok(out.write_all(report.to_json(&[]).as_bytes())?))?;
        }
        match &mut output {
            Some(output) => output.fill(|out| Ok(frame.write_as(target, out)?))?,
            None => to_stdout(|out| Ok(frame.write_as(target, out)?))?,
        }
        [output, trace, json].into_iter().flatten().try_for_each(Output::finish)?;
        if !plan.quiet {
            say(&report.to_text());
        }
        Ok(Outcome::of(&report))
    })
}

fn points_frame(choices: &[Choice], dim: usize) -> Frame {
    let points: Vec<&[f64]> = choices.iter().filter_map(|choice| choice.point.as_deref()).collect();
    let column = |j: usize| (format!("x{}", j + 1), Column::doubles(points.iter().map(|point| point[j])));
    Frame { columns: (0..dim).map(column).collect() }
}

fn write_trace(choices: &[Choice], out: &mut dyn Write) -> Result<()> {
    writeln!(out, "t,error,weight_norm,margin,converged")?;
    for Choice { t, error, weight_norm, margin, converged, .. } in choices {
        writeln!(out, "{t},{},{},{},{converged}", cell(*error), cell(*weight_norm), cell(*margin))?;
    }
    Ok(())
}
