//! The report as one page that needs nothing else: no script, no network, light or dark as the reader's screen is.

mod svg;

use std::fmt::Write;

use supersample::Herder;
use supersample::quality::QUANTILES;

use self::svg::{Axis, Figure, escaped};
use crate::args::version;
use crate::choose::Choice;
use crate::numbers::significant;
use crate::report::{Report, counted, largest};
use crate::rows::Rows;

/// So many parameters are paired with each other.
const PAIRED: usize = 4;
/// Cells along each side of the clouds of all rows.
const CLOUD_CELLS: usize = 28;
/// Dots of a subset; beyond it every k-th is drawn.
const MOST_DOTS: usize = 500;
/// Points of a curve that the eye can tell apart.
const CURVE_POINTS: usize = 300;

/// Pixels across for one marginal, with the space beside it.
const WIDEST_MARGINAL: usize = 290;

const STYLE: &str = include_str!("style.css");

/// How the error fell, beside what random rows would do.
pub(crate) struct Curve {
    errors: Vec<(f64, f64)>,
    random: Vec<(f64, f64)>,
}

impl Curve {
    pub(crate) fn new(choices: &[Choice], report: &Report, herder: &Herder) -> Curve {
        let floor = herder.error_floor();
        let mut errors: Vec<(f64, f64)> =
            choices.iter().filter_map(|choice| Some((choice.t as f64, choice.error?.max(floor)))).collect();
        if errors.len() > CURVE_POINTS {
            // Evenly spaced on the logarithm, where they are drawn; the last one always among them.
            let last = errors.len() as f64;
            let wanted = |i: usize| last.powf(i as f64 / (CURVE_POINTS - 1) as f64) as usize - 1;
            let mut kept: Vec<usize> = (0..CURVE_POINTS).map(wanted).chain([errors.len() - 1]).collect();
            kept.dedup();
            errors = kept.into_iter().map(|at| errors[at.min(errors.len() - 1)]).collect();
        }
        // The expected squared error of T of n rows is that of one draw over T, less what drawing without replacement
        // saves; with weights the draws are independent.
        let rows = report.rows as f64;
        let expected = |t: f64| {
            let left =
                if report.weight_column.is_some() || rows <= t { 1.0 } else { (rows - t) / (rows - 1.0) };
            report.single_draw.map(|single| (single.max(0.0) / t * left).sqrt())
        };
        let random = errors.iter().filter_map(|&(t, _)| Some((t, expected(t)?))).collect();
        Curve { errors, random }
    }
}

/// The page. `full` are all rows, `subset` the chosen ones, both as they are in the files.
pub(crate) fn page(report: &Report, full: Rows<'_>, subset: Rows<'_>, curve: Option<&Curve>) -> String {
    let mut out = String::new();
    write_page(&mut out, report, full, subset, curve).expect("text can always be written to memory");
    out
}

fn write_page(
    out: &mut String,
    report: &Report,
    full: Rows<'_>,
    subset: Rows<'_>,
    curve: Option<&Curve>,
) -> std::fmt::Result {
    // Negative weights make no densities: then the figures show the rows as they are.
    let is_signed = subset.shares.is_some_and(|shares| shares.iter().any(|share| *share < 0.0));
    let subset = if is_signed { Rows { shares: None, ..subset } } else { subset };
    let text = report.to_text();
    let mut lines = text.lines();
    let title = format!("{} of {}", counted(report.chosen, "row"), counted(report.rows, "row"));
    let head = lines.next().unwrap_or_default();
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>Supersample: {title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n\
         <p>{}.</p>\n",
        escaped(&capitalised(head))
    )?;
    for line in lines.take_while(|line| !line.is_empty()) {
        let class = if line.starts_with("warning: ") { " class=\"warning\"" } else { "" };
        writeln!(out, "<p{class}>{}.</p>", escaped(&capitalised(line)))?;
    }
    out.push_str("<section class=\"top\">\n<div>\n");
    table(out, report)?;
    if report.quality.is_some() {
        writeln!(out, "<p>{}.</p>", escaped(&capitalised(&report.worst_errors())))?;
    }
    out.push_str("</div>\n");
    if let Some(curve) = curve.filter(|curve| !curve.errors.is_empty()) {
        writeln!(
            out,
            "<figure>{}<figcaption>The MMD of the first T rows (<b class=\"chosen\">chosen</b>) and what T random rows \
             are expected to have (<b class=\"all\">random</b>).</figcaption></figure>",
            error_curve(curve)
        )?;
    }
    out.push_str("</section>\n");

    let ranked = ranked(report);
    if !ranked.is_empty() {
        out.push_str("<h2>Each parameter</h2>\n");
        writeln!(
            out,
            "<p>All rows (<b class=\"all\">filled</b>) and the subset (<b class=\"chosen\">line</b>), the worst matched \
             first. Errors are in standard deviations of all rows.{}</p>\n<div class=\"grid\" style=\"max-width: {}px\">",
            if is_signed {
                " Some weights are negative, so the lines are those of equal weights."
            } else {
                ""
            },
            // A few figures are not blown up to fill the page.
            ranked.len().saturating_mul(WIDEST_MARGINAL)
        )?;
        for &j in &ranked {
            writeln!(
                out,
                "<figure>{}<figcaption><b>{}</b> {}</figcaption></figure>",
                marginal(full, subset, j, &report.parameters[j]),
                escaped(&report.parameters[j]),
                errors_of(report, j)
            )?;
        }
        out.push_str("</div>\n");
    }
    let paired = &ranked[..ranked.len().min(PAIRED)];
    if paired.len() > 1 {
        out.push_str("<h2>Worst-matched pairs</h2>\n<p>All rows as a cloud, the subset as dots.</p>\n<div class=\"grid pairs\">\n");
        for (a, &j) in paired.iter().enumerate() {
            for &i in &paired[..a] {
                let (x, y) = (&report.parameters[i], &report.parameters[j]);
                writeln!(
                    out,
                    "<figure>{}<figcaption><b>{}</b> across, <b>{}</b> up</figcaption></figure>",
                    pair(full, subset, i, j, &format!("{y} against {x}")),
                    escaped(x),
                    escaped(y)
                )?;
            }
        }
        out.push_str("</div>\n");
    }
    let command = report.command.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ");
    write!(
        out,
        "<footer>\n<pre>{}</pre>\n<p>Supersample {}. MMD: the distance between the subset and all rows as the kernel sees \
         it. Worth: the number of independent draws whose expected squared MMD is the same.</p>\n</footer>\n</main>\n\
         </body>\n</html>\n",
        escaped(&command),
        escaped(version())
    )
}

fn table(out: &mut String, report: &Report) -> std::fmt::Result {
    let Some(table) = report.table() else { return Ok(()) };
    out.push_str("<div class=\"scroll\"><table>\n");
    for (i, line) in table.lines.iter().enumerate() {
        out.push_str("<tr>");
        for (j, text) in line.iter().enumerate() {
            match j {
                0 => write!(out, "<th scope=\"row\">{}</th>", escaped(text))?,
                _ if i == 0 => write!(out, "<th>{}</th>", escaped(text))?,
                // On a narrow screen each cell stands under its own name.
                _ => {
                    write!(out, "<td data-name=\"{}\">{}</td>", escaped(&table.lines[0][j]), escaped(text))?;
                }
            }
        }
        out.push_str("</tr>\n");
    }
    writeln!(out, "</table></div>\n<p class=\"note\">{}.</p>", escaped(&capitalised(&table.note)))
}

/// The parameters that have a spread, the worst matched first.
fn ranked(report: &Report) -> Vec<usize> {
    let columns = report.quality.iter().flat_map(|quality| &quality.columns);
    let mut ranked: Vec<(usize, f64)> =
        columns.enumerate().filter_map(|(j, errors)| Some((j, largest(errors)?))).collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    ranked.into_iter().map(|(j, _)| j).collect()
}

/// `mean 0.0120, sd 0.0340, 95 % quantile 0.0900`, as far as they are known.
fn errors_of(report: &Report, j: usize) -> String {
    let Some(errors) = report.quality.as_ref().map(|quality| &quality.columns[j]) else {
        return String::new();
    };
    let shown = |name: &str, error: Option<f64>| Some(format!("{name} {}", significant(error?.abs())));
    let levels =
        QUANTILES.iter().zip(errors.quantiles).filter_map(|(level, error)| Some((level, error?.abs())));
    let quantile = levels
        .reduce(|a, b| if b.1 > a.1 { b } else { a })
        .map(|(level, error)| format!("{} % quantile {}", (level * 100.0).round(), significant(error)));
    let all = [shown("mean", errors.mean), shown("sd", errors.sd), quantile];
    all.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn error_curve(curve: &Curve) -> String {
    let all = || curve.errors.iter().chain(&curve.random);
    let (low, high) = all().fold((f64::INFINITY, 0.0_f64), |(low, high), &(_, e)| (low.min(e), high.max(e)));
    let last = curve.errors.last().map_or(1.0, |&(t, _)| t);
    let mut figure =
        Figure::new(440.0, 290.0, Axis::log(1.0, last.max(2.0)), Axis::log(low * 0.8, high * 1.2));
    figure.axes(6, 6);
    figure.x_title("T");
    figure.y_title("MMD");
    figure.line("line all", &curve.random);
    figure.line("line chosen", &curve.errors);
    if let Some(&(t, error)) = curve.errors.last() {
        figure.dot("dot chosen", t, error, 3.0);
    }
    figure.finish("MMD against the number of rows")
}

/// The range that holds all but a thousandth of the rows at either end, wide enough for the subset.
fn range(full: Rows<'_>, subset: Rows<'_>, j: usize) -> (f64, f64) {
    let mut values = full.column(j);
    values.sort_unstable_by(f64::total_cmp);
    let cut = values.len() / 1000;
    let (mut low, mut high) = (values[cut], values[values.len() - 1 - cut]);
    for value in subset.column(j) {
        (low, high) = (low.min(value), high.max(value));
    }
    (low, high)
}

/// The shares of the rows in each of the bins, as densities.
fn histogram(rows: Rows<'_>, j: usize, edges: &[f64]) -> Vec<f64> {
    let bins = edges.len() - 1;
    let (low, width) = (edges[0], (edges[bins] - edges[0]) / bins as f64);
    let mut heights = vec![0.0; bins];
    for (row, value) in rows.column(j).into_iter().enumerate() {
        let bin = ((value - low) / width).floor();
        if (0.0..=bins as f64).contains(&bin) {
            heights[(bin as usize).min(bins - 1)] += rows.share(row) / width;
        }
    }
    heights
}

fn marginal(full: Rows<'_>, subset: Rows<'_>, j: usize, name: &str) -> String {
    let (low, high) = range(full, subset, j);
    let axis = Axis::linear(low, high);
    // Enough bins for the shape, few enough that a small subset fills them.
    let bins = ((subset.len() as f64).sqrt() * 2.0).round().clamp(8.0, 30.0) as usize;
    let edges: Vec<f64> = (0..=bins).map(|i| low + (high - low) * i as f64 / bins as f64).collect();
    if !(high > low && (high - low).is_finite()) {
        return Figure::bare(196.0, 104.0, axis, Axis::linear(0.0, 1.0)).finish(name);
    }
    let (all, chosen) = (histogram(full, j, &edges), histogram(subset, j, &edges));
    let top = all.iter().chain(&chosen).fold(0.0_f64, |top, &height| top.max(height));
    let mut figure = Figure::bare(196.0, 104.0, axis, Axis::linear(0.0, top * 1.05));
    figure.steps("area all", &edges, &all);
    figure.steps("outline chosen", &edges, &chosen);
    figure.axes(3, 0);
    figure.finish(name)
}

fn pair(full: Rows<'_>, subset: Rows<'_>, i: usize, j: usize, name: &str) -> String {
    let ((x0, x1), (y0, y1)) = (range(full, subset, i), range(full, subset, j));
    let mut figure = Figure::new(300.0, 260.0, Axis::linear(x0, x1), Axis::linear(y0, y1));
    figure.axes(4, 4);
    let (dx, dy) = ((x1 - x0) / CLOUD_CELLS as f64, (y1 - y0) / CLOUD_CELLS as f64);
    let mut cells = vec![0.0; CLOUD_CELLS * CLOUD_CELLS];
    for (row, values) in full.values.chunks_exact(full.dim).enumerate() {
        let (a, b) = (((values[i] - x0) / dx).floor(), ((values[j] - y0) / dy).floor());
        let side = CLOUD_CELLS as f64;
        if (0.0..=side).contains(&a) && (0.0..=side).contains(&b) {
            let (a, b) = ((a as usize).min(CLOUD_CELLS - 1), (b as usize).min(CLOUD_CELLS - 1));
            cells[b * CLOUD_CELLS + a] += full.share(row);
        }
    }
    let most = cells.iter().copied().fold(0.0, f64::max);
    for (at, &share) in cells.iter().enumerate().filter(|(_, share)| **share > 0.0) {
        let (a, b) = ((at % CLOUD_CELLS) as f64, (at / CLOUD_CELLS) as f64);
        let corner = (x0 + a * dx, y0 + b * dy);
        // The root shows the thin outskirts, which are what a subset tends to miss.
        figure.cell("cell", corner, (corner.0 + dx, corner.1 + dy), 0.08 + 0.72 * (share / most).sqrt());
    }
    let every = subset.len().div_ceil(MOST_DOTS).max(1);
    for (at, row) in subset.values.chunks_exact(subset.dim).enumerate().step_by(every) {
        // The area of a dot is its weight, within what the eye can tell.
        let radius = 2.2 * (subset.share(at) * subset.len() as f64).sqrt().min(3.0);
        if radius > 0.2 {
            figure.dot("dot chosen", row[i], row[j], radius);
        }
    }
    figure.finish(name)
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

/// A word as a shell takes it.
fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./,:=+@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use supersample::quality::Reference;

    use super::*;
    use crate::report::tests::report;

    #[test]
    fn the_page_holds_every_figure_and_nothing_from_outside() {
        let full: Vec<f64> = (0..400 * 5).map(|i| ((i * i) as f64 * 0.37).sin()).collect();
        let subset = full[..50 * 5].to_vec();
        let rows = |values| Rows { values, dim: 5, shares: None };
        let mut about = report();
        about.parameters[1] = "<tau>".to_string();
        let errors = vec![(1.0_f64, 0.5), (10.0, 0.05), (100.0, 0.0071)];
        let curve = Curve { random: errors.iter().map(|&(t, _)| (t, 0.7 / t.sqrt())).collect(), errors };
        let text = page(&about, rows(&full), rows(&subset), Some(&curve));
        // One curve, four marginals (the fifth parameter is constant) and the six pairs of four.
        assert_eq!(text.matches("<svg ").count(), 1 + 4 + 6);
        assert!(
            text.contains("supersample herd draws.csv -n 100")
                && text.contains("<td data-name=\"worth\">9,850</td>")
        );
        assert!(!text.contains("<tau>") && text.contains("&lt;tau&gt;"));
        for outside in ["http", "<script", "<link", "src=", "url(", "@import", "NaN", "inf\""] {
            assert!(!text.contains(outside), "{outside}");
        }
        let figures = text.matches("<figure>").count();
        assert_eq!(figures, 11);
    }

    #[test]
    fn words_with_spaces_are_quoted_for_the_shell() {
        assert_eq!(shell_word("a b"), "'a b'");
        assert_eq!(shell_word("it's"), "'it'\\''s'");
        assert_eq!(shell_word("theta.1,mu"), "theta.1,mu");
    }

    #[test]
    fn flat_columns_and_single_rows_still_make_a_page() {
        let mut about = report();
        about.parameters.truncate(2);
        let values = [1.0, 2.0];
        about.quality =
            Some(Reference::new(&[1.0, 2.0, 1.0, 3.0], 2, None).unwrap().quality(&values, None).unwrap());
        let rows = Rows { values: &values, dim: 2, shares: None };
        let text = page(&about, rows, rows, None);
        assert!(text.contains("</html>") && !text.contains("NaN"), "{text}");
    }
}
