//! Verb `thin` with `--each`: a set of its own for every value of a column.

use anyhow::{Context, Result};
use supersample::task::{Advice, Choose, Rows, choose_each};

use super::input::Input;
use super::{Files, Finished, Outcome, this_run};
use crate::plan::{ChoosePlan, check_room_for_weights};
use crate::report::{EachGroup, EachReport};
use crate::terminal::interrupt;
use crate::terminal::progress::Progress;
use crate::words::{self, Names, Style, counted};

/// Chooses, writes the rows of all sets one after the other, and reports.
pub(super) fn choose(
    plan: &ChoosePlan,
    column: &str,
    input: &mut Input<'_>,
    (rows, choose): (Rows, Choose),
    files: &mut Files,
) -> Result<Finished> {
    let groups = input.groups.take().context("the values of --each are not known")?;
    let format = super::choose::format_of_rows(plan, input)?;
    if plan.choose.weights.is_some() {
        check_room_for_weights(format.format)?;
    }
    let mut notes: Vec<String> =
        input.draws().check_output(format)?.iter().map(ToString::to_string).collect();
    notes.splice(..0, input.draws().notes().iter().map(ToString::to_string));
    let progress = Progress::steps(plan.quiet, "choosing for each value", groups.names.len());
    interrupt::can_end_early(true);
    let found = choose_each(&rows, &groups.of_row, &choose, &|reached| {
        progress.show(reached);
        interrupt::asked_to_end()
    });
    interrupt::can_end_early(false);
    drop(progress);
    let draws = input.draws();
    let names = Names::default()
        .columns(draws.parameter_names())
        .functions(input.functions.iter().map(String::as_str))
        .groups(Some(column), groups.names.iter().map(String::as_str));
    let found = found.map_err(|error| words::refused(error, &names))?;
    let warnings = warnings(found.iter().flat_map(|group| &group.chosen.advice), &names);
    let groups: Vec<EachGroup> = groups
        .names
        .into_iter()
        .zip(found)
        .map(|(value, group)| {
            let chosen = if plan.sorted { group.chosen.sorted() } else { group.chosen };
            let numbers = chosen.rows.iter().map(|&row| draws.row_number(row)).collect();
            EachGroup { value, rows: group.rows, chosen, numbers }
        })
        .collect();
    let mut all: Vec<usize> = groups.iter().flat_map(|group| group.chosen.rows.iter().copied()).collect();
    let mut weights: Option<Vec<f64>> = plan.choose.weights.map(|_| {
        let of = |group: &EachGroup| match &group.chosen.weights {
            Some(found) => found.weights.iter().map(|weight| weight * plan.total).collect(),
            None => vec![plan.total / group.numbers.len() as f64; group.numbers.len()],
        };
        groups.iter().flat_map(of).collect()
    });
    if plan.sorted {
        // The sets are sorted each for itself; the values may take turns in the files.
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by_key(|&place| all[place]);
        weights = weights.map(|weights| order.iter().map(|&place| weights[place]).collect());
        all = order.iter().map(|&place| all[place]).collect();
    }
    files.write_rows(|out| Ok(draws.write_rows(&all, weights.as_deref(), format, out)?));
    let report = EachReport {
        run: this_run(plan.choose.stop, None),
        files: plan.draws.files.iter().map(|file| file.display().to_string()).collect(),
        rows: draws.len(),
        parameters: draws.parameter_names().iter().map(|name| name.to_string()).collect(),
        column: column.to_string(),
        groups,
        notes,
        warnings,
    };
    let numbers: Vec<usize> = all.iter().map(|&row| draws.row_number(row)).collect();
    files.write_each(&report, &numbers);
    let is_not_calibrated = |group: &EachGroup| super::choose::is_not_calibrated(plan, &group.chosen);
    let is_missed = report.missed() > 0 || report.groups.iter().any(is_not_calibrated);
    let outcome = if is_missed { Outcome::NotReached } else { Outcome::Done };
    Ok(Finished { outcome, text: report.to_text() })
}

/// Each kind of advice once, with the number of sets that it is about.
fn warnings<'a>(advice: impl Iterator<Item = &'a Advice>, names: &Names<'_>) -> Vec<String> {
    let mut kinds: Vec<(&Advice, usize)> = Vec::new();
    for one in advice.filter(|one| !one.is_note()) {
        let is_like = |(known, _): &&mut (&Advice, usize)| {
            std::mem::discriminant(*known) == std::mem::discriminant(one)
        };
        match kinds.iter_mut().find(is_like) {
            Some((_, times)) => *times += 1,
            None => kinds.push((one, 1)),
        }
    }
    let said = |(advice, times): &(&Advice, usize)| {
        format!("{}; so for {}", advice.sentence(Style::Command, names), counted(*times, "value"))
    };
    kinds.iter().map(said).collect()
}
