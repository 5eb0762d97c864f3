//! The verb `sample`: points for a density that is known, off any pool.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use supersample::scale::Scale;
use supersample::{
    AscentOptions, ClosedForm, Domain, Herder, MeanEmbedding, Points, PolishOptions, polish_watched,
};
use supersample_io::{Column, Format, Frame, OutputFormat, mixture};

use crate::choose::{Choice, Ended, herd};
use crate::choose_rows::cell;
use crate::interrupt;
use crate::output::{Output, to_stdout};
use crate::plan::SamplePlan;
use crate::progress::Progress;
use crate::report::{Polish, Report, Subject, precision_name};
use crate::weighing::weigh;
use crate::{Outcome, command_line, say, with_threads};

pub(crate) fn run(plan: &SamplePlan) -> Result<Outcome> {
    let create = |path: &Option<PathBuf>| path.as_deref().map(Output::create).transpose();
    let files = &plan.outputs;
    let (mut output, mut trace, mut json) =
        (create(&files.rows)?, create(&files.trace)?, create(&files.json)?);
    let target = files.target.unwrap_or(OutputFormat::plain(Format::Text));
    ensure!(
        files.rows.is_some() || target.format.is_text() || !std::io::stdout().is_terminal(),
        "name a file with -o"
    );

    let mixture = mixture::read_path(&plan.file)?;
    with_threads(plan.threads, || {
        let (components, dim) = (mixture.len(), mixture.dim());
        let starts = mixture.sample(plan.starts, plan.seed)?;
        let kernel = plan.kernel.for_points(&starts, None)?;
        let mu = Arc::new(ClosedForm::mixture(kernel.clone(), mixture)?);
        let single_draw = mu.mean_diagonal().zip(mu.squared_norm()).map(|(diagonal, norm)| diagonal - norm);
        let options = AscentOptions::default().climbs(plan.climbs);
        let mut herder = Herder::shared(mu.clone(), Domain::Ascent { starts, options })?;
        let limit = plan.stop.number.context("-n is needed")?;
        let progress = Progress::steps(plan.quiet, "placing", limit);
        interrupt::can_end_early(true);
        let mut chosen = herd(&mut herder, &[], &plan.stop, limit, single_draw, |choices| {
            progress.reached(choices.len());
            Ok(())
        })?;
        let herded = Points::from_vec(chosen.points(), dim)?;
        let polished = match plan.polish && chosen.ended != Ended::Interrupted {
            true => Some(polish_watched(&*mu, &herded, PolishOptions::default(), &|reached| {
                progress.show(reached);
                interrupt::asked_to_end()
            })?),
            false => None,
        };
        drop(progress);
        if let Some(polished) = &polished {
            // What herding alone has missed the descent may reach.
            chosen.ended = match plan.stop.met_by(polished.error, single_draw) {
                _ if polished.interrupted => Ended::Interrupted,
                Some(met) => met,
                None => chosen.ended,
            };
        }
        let points = polished.as_ref().map_or(&herded, |polished| &polished.points);

        let stuck = chosen.choices.iter().filter(|choice| !choice.converged).count();
        let mut warnings = Vec::new();
        if stuck > 0 {
            warnings.push(format!(
                "{stuck} of the climbs ended before the top; see the column converged of --trace"
            ));
        }
        let weighing = match plan.weigh {
            Some(rule) => weigh(&*mu, points, rule, &mut warnings)?,
            None => None,
        };
        let equal_error = polished.as_ref().map_or(chosen.error(), |polished| polished.error);
        let weights = weighing.as_ref().map(|weighing| weighing.weights.clone());
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
            error: weighing.as_ref().map_or(equal_error, |weighing| weighing.error),
            error_floor: herder.error_floor(),
            single_draw,
            comparison: None,
            quality: None,
            weighing,
            balanced: None,
            polished: polished.as_ref().map(|polished| Polish {
                start_error: polished.start_error,
                steps: polished.steps,
                converged: polished.converged,
            }),
            warnings,
        };
        let frame = points_frame(points, weights.as_deref());
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

fn points_frame(points: &Points, weights: Option<&[f64]>) -> Frame {
    let column = |j: usize| (format!("x{}", j + 1), Column::doubles(points.rows().map(|point| point[j])));
    let weights = weights.map(|weights| ("weight".to_string(), Column::doubles(weights.iter().copied())));
    Frame { columns: (0..points.dim()).map(column).chain(weights).collect() }
}

fn write_trace(choices: &[Choice], out: &mut dyn Write) -> Result<()> {
    writeln!(out, "t,error,weight_norm,margin,converged")?;
    for Choice { t, error, weight_norm, margin, converged, .. } in choices {
        writeln!(out, "{t},{},{},{},{converged}", cell(*error), cell(*weight_norm), cell(*margin))?;
    }
    Ok(())
}
