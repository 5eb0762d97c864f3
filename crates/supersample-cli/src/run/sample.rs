//! Verb `sample`: points for a known density, anywhere in space.

use std::ops::ControlFlow;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use supersample::scale::Scale;
use supersample::task::{ErrorScale, Errors, Measure, Weighed, herd_until};
use supersample::{AscentOptions, ClosedForm, Domain, Herder, Points, PolishOptions, polish};
use supersample_io::{Column, Format, Frame, OutputFormat, mixture};

use super::{NOT_WEIGHED, Outcome, check_stdout, this_run, trace, with_outputs};
use crate::plan::{Ended, SamplePlan};
use crate::report::{
    About, Details, Distances, Measured, ObjectiveTerms, Polishing, Report, Subject, Weighing,
};
use crate::terminal::interrupt;
use crate::terminal::progress::Progress;
use crate::words::{Names, Style, count, in_units};

/// The most that starts may take.
const MOST_BYTES: u64 = 2 << 30;

/// Carries out a plan of `sample`.
pub(crate) fn sample(plan: &SamplePlan) -> Result<Outcome> {
    check_stdout(&plan.outputs);
    with_outputs(&plan.outputs, plan.threads, plan.quiet, |files| {
        let target = plan.outputs.target.unwrap_or(OutputFormat::plain(Format::Text));
        let mixture = mixture::read_path(&plan.file)?;
        let (components, dim) = (mixture.len(), mixture.dim());
        // The starts, their kernel sums and what the ascent keeps of them.
        let bytes = 32 * (plan.starts as u64).saturating_mul(dim as u64);
        ensure!(
            bytes <= MOST_BYTES,
            "{} --starts in {dim} dimensions take about {}; give fewer",
            count(plan.starts),
            in_units(bytes)
        );
        let starts = mixture.sample(plan.starts, plan.seed)?;
        let (kernel, median) = plan.kernel.for_points(&starts, None)?;
        let mu = Arc::new(ClosedForm::mixture(kernel.clone(), mixture)?);
        let options = AscentOptions::default().climbs(plan.climbs);
        let mut herder = Herder::shared(mu.clone(), Domain::Ascent { starts, options })?;
        let limit = plan.stop.number.context("-n is needed")?;
        let progress = Progress::steps(plan.quiet, "placing", limit);
        interrupt::can_end_early(true);
        let scale = ErrorScale::of(herder.pool());
        let mut chosen = herd_until(&mut herder, &[], &plan.stop, |pick| -> ControlFlow<()> {
            progress.reached(pick.t);
            interrupt::asked_to_end()
        })?;
        let herded = Points::from_vec(chosen.points(), dim)?;
        let polished = match plan.polish && chosen.ended != Ended::Interrupted {
            true => Some(polish(&*mu, &herded, PolishOptions::default(), &|reached| {
                progress.show(reached);
                interrupt::asked_to_end()
            })?),
            false => None,
        };
        drop(progress);
        if let Some(polished) = &polished {
            // What herding alone has missed the descent may reach.
            chosen.ended = match plan.stop.met_by(polished.error, &scale) {
                _ if polished.interrupted => Ended::Interrupted,
                Some(met) => met,
                None => chosen.ended,
            };
        }
        let points = polished.as_ref().map_or(&herded, |polished| &polished.points);

        let stuck = chosen.trace.iter().filter(|pick| !pick.converged).count();
        let mut warnings = Vec::new();
        if stuck > 0 {
            warnings
                .push(format!("{stuck} of the climbs did not converge; see the column converged of --trace"));
        }
        let found = match plan.weigh {
            Some(rule) if chosen.ended != Ended::Interrupted => {
                let _progress = Progress::phase(plan.quiet, "computing the weights");
                match supersample::task::weigh(&*mu, points, rule, &|_| interrupt::asked_to_end()) {
                    Err(supersample::Error::Interrupted) => {
                        warnings.push(NOT_WEIGHED.to_string());
                        chosen.ended = Ended::Interrupted;
                        None
                    }
                    found => {
                        let Weighed { weights, advice, .. } = found?;
                        warnings
                            .extend(advice.map(|advice| advice.sentence(Style::Command, &Names::default())));
                        weights.map(|found| (rule, found))
                    }
                }
            }
            Some(_) => {
                warnings.push(NOT_WEIGHED.to_string());
                None
            }
            None => None,
        };
        let equal_error = polished.as_ref().map_or(chosen.error(), |polished| polished.error);
        let error = found.as_ref().map_or(equal_error, |(_, found)| found.error);
        let errors = Errors::default().with(Measure::Mmd, error);
        let errors =
            errors.with(Measure::EquivalentDraws, error.and_then(|error| scale.equivalent_draws(error)));
        let about = About {
            subject: Subject::Placed { components },
            files: vec![plan.file.display().to_string()],
            rows: None,
            sample: None,
            warmup: 0,
            mean_rows: 0,
            missing: 0,
            parameters: (1..=dim).map(|j| format!("x{j}")).collect(),
            unused: Vec::new(),
            weight_column: None,
            effective_size: None,
            corrected: None,
            target: None,
            summary: None,
            scores: None,
        };
        let distances = Distances {
            kernel,
            median_pairs: median.map(|median| median.pairs),
            scale: Scale::None,
            precision: herder.pool().precision(),
            instruction_set: supersample::instruction_set(),
            device: "cpu".to_string(),
            coordinates: dim,
            constant: Vec::new(),
            landmarks: None,
        };
        let result = Measured {
            count: chosen.trace.len(),
            distinct: chosen.trace.len(),
            distinct_points: chosen.trace.len(),
            rows: None,
            errors,
            scale,
            quality: None,
        };
        let polishing = polished.as_ref().map(|polished| Polishing {
            start_error: polished.start_error,
            steps: polished.steps,
            converged: polished.converged,
        });
        let weights = found.as_ref().map(|(_, found)| &found.weights[..]);
        let weighing = found
            .as_ref()
            .map(|(rule, found)| Weighing::new(*rule, found.clone(), Errors::default(), &scale, None));
        files.is_partial = chosen.ended == Ended::Interrupted;
        let frame = points_frame(points, weights);
        files.write_rows(|out| Ok(frame.write_as(target, out)?));
        let report = Report {
            draws: None,
            about,
            run: this_run(plan.stop, Some(chosen.ended)),
            distances,
            terms: ObjectiveTerms::default(),
            result,
            comparison: None,
            details: Details { weighing, polishing, ..Details::default() },
            figures: None,
            notes: Vec::new(),
            warnings,
        };
        let told = files.write_report(&report);
        files.write_trace(|out| trace::write_points(&chosen.trace, out));
        Ok(told)
    })
}

fn points_frame(points: &Points, weights: Option<&[f64]>) -> Frame {
    let column = |j: usize| (format!("x{}", j + 1), Column::doubles(points.rows().map(|point| point[j])));
    let weights = weights.map(|weights| ("weight".to_string(), Column::doubles(weights.iter().copied())));
    Frame { columns: (0..points.dim()).map(column).chain(weights).collect() }
}
