//! Sections of the page about parameters and rows: what is read of each, how it is spread, pairs, weights, chains.

use std::borrow::Cow;
use std::fmt::{Result, Write};

use supersample::quality::QUANTILES;

use super::plots::{distribution, intervals, marginal, pair, weights};
use super::svg::escaped;
use crate::report::errors::largest;
use crate::report::{ChainShare, ComparedColumn, Figures, Report, Rows, Summary};
use crate::words::{count, significant, to_unit};

/// Number of parameters that are paired with each other if no correlation is known.
const PAIRED: usize = 4;

/// Width in pixels of one marginal, with its margin.
const WIDEST_MARGINAL: usize = 290;

/// Parameters in the table and the plot of intervals; of more the worst matched are shown.
const MOST_LISTED: usize = 60;

/// The levels in the table, by their places among those of the report.
const LISTED: [usize; 3] = [0, 2, 4];

/// The numbers that people report, of all rows and of the subset, in a table and as intervals.
pub(super) fn write_intervals(out: &mut String, report: &Report<'_>, figures: &Figures<'_>) -> Result {
    // As in the file, unless there are too many.
    let mut shown = ranked(report);
    let more = shown.len().saturating_sub(MOST_LISTED);
    shown.truncate(MOST_LISTED);
    shown.sort_unstable();
    let beside =
        |&j: &usize| Some((report.about.parameters[j].as_str(), figures.summaries.get(j).copied()??));
    let shown: Vec<(&str, ComparedColumn)> = shown.iter().filter_map(beside).collect();
    if shown.is_empty() {
        return Ok(());
    }
    let left_out = match more {
        0 => String::new(),
        more => format!(
            " Only the {MOST_LISTED} with the largest errors are listed; {} more are not.",
            count(more)
        ),
    };
    writeln!(
        out,
        "<h2>Means, standard deviations and quantiles</h2>\n<p>All rows (<b class=\"all\">all</b>) and the subset (<b class=\"chosen\">subset</b>), in the \
         parameters' own units.{left_out}</p>\n<section class=\"top\">\n<div class=\"scroll\"><table class=\"summary\">"
    )?;
    let levels: String = LISTED.iter().map(|&q| format!("<th>{}</th>", percent(QUANTILES[q]))).collect();
    writeln!(out, "<thead><tr><th></th><th></th><th>mean</th><th>sd</th>{levels}</tr></thead>")?;
    for (name, beside) in &shown {
        let cells = |summary: &Summary| -> String {
            let numbers = [summary.mean, summary.sd].into_iter().chain(LISTED.map(|q| summary.quantiles[q]));
            let cell =
                |number: Option<f64>| number.map(|number| to_unit(number, beside.unit)).unwrap_or_default();
            numbers.map(|number| format!("<td>{}</td>", cell(number))).collect()
        };
        writeln!(
            out,
            "<tbody><tr><th scope=\"rowgroup\" rowspan=\"2\">{}</th><td class=\"all\">all</td>{}</tr>\n\
             <tr class=\"chosen\"><td>subset</td>{}</tr></tbody>",
            escaped(name),
            cells(&beside.all),
            cells(&beside.subset)
        )?;
    }
    writeln!(
        out,
        "</table></div>\n<figure>{}<figcaption>From the 5 % to the 95 % quantile, the median as a dot: \
         <b class=\"all\">all rows</b> above, <b class=\"chosen\">the subset</b> below.</figcaption></figure>\n</section>",
        intervals(&shown)
    )
}

/// A histogram and the distribution functions of each parameter that has a spread.
pub(super) fn write_each(out: &mut String, report: &Report<'_>, figures: &Figures<'_>) -> Result {
    let ranked = ranked(report);
    if ranked.is_empty() {
        return Ok(());
    }
    let (all, parameters) = (&figures.all, &report.about.parameters);
    let (subset, is_signed) = drawn(figures);
    let signed = match is_signed {
        true => " Some weights are negative, so the lines show equal weights.",
        false => "",
    };
    writeln!(
        out,
        "<h2>Each parameter</h2>\n<p>Histogram and distribution function of all rows (<b class=\"all\">all</b>) and of the subset \
         (<b class=\"chosen\">subset</b>), the largest errors first. Errors are in standard deviations of all rows. Beyond either \
         end of an axis lies at most 0.1 % of the weight of all rows.{signed}</p>\n<div class=\"grid\" \
         style=\"max-width: {}px\">",
        // A few figures are not blown up to fill the page.
        ranked.len().saturating_mul(WIDEST_MARGINAL)
    )?;
    for &j in &ranked {
        let name = &parameters[j];
        writeln!(
            out,
            "<figure>{}{}<figcaption><b>{}</b> {}</figcaption></figure>",
            marginal(all, &subset, j, name),
            distribution(all, &subset, j, name),
            escaped(name),
            errors_of(report, j)
        )?;
    }
    out.push_str("</div>\n");
    Ok(())
}

/// Clouds of pairs of parameters, those whose correlations are off most.
pub(super) fn write_pairs(out: &mut String, report: &Report<'_>, figures: &Figures<'_>) -> Result {
    let (all, parameters) = (&figures.all, &report.about.parameters);
    let (subset, _) = drawn(figures);
    let pairs = pairs(report, &ranked(report));
    if pairs.is_empty() {
        return Ok(());
    }
    let heading = match pairs[0].2 {
        Some(_) => "Pairs with the largest errors of the correlation",
        None => "Pairs of the parameters with the largest errors",
    };
    let dots = match subset.shares {
        Some(_) => "the subset as dots (area: weight; rows of weight 0 are not shown)",
        None => "the subset as dots",
    };
    writeln!(out, "<h2>{heading}</h2>\n<p>All rows as a cloud, {dots}.</p>")?;
    write_arrival(out, figures)?;
    writeln!(out, "<div class=\"grid pairs\">")?;
    for (i, j, error) in pairs {
        let (x, y) = (&parameters[i], &parameters[j]);
        let off = error
            .map(|error| format!("; error of the correlation {}", significant(error)))
            .unwrap_or_default();
        writeln!(
            out,
            "<figure>{}<figcaption><b>{}</b> (horizontal) and <b>{}</b> (vertical){off}</figcaption></figure>",
            pair(all, &subset, i, j, (x, y)),
            escaped(x),
            escaped(y)
        )?;
    }
    out.push_str("</div>\n");
    Ok(())
}

/// The slider that shows the points in sequence; without a script there is none.
fn write_arrival(out: &mut String, figures: &Figures<'_>) -> Result {
    let (Some(curve), true) = (&figures.curve, figures.is_in_order) else { return Ok(()) };
    let count = figures.subset.len();
    if count < 2 {
        return Ok(());
    }
    let plain = |value: f64| format!("{value:.2e}").parse::<f64>().unwrap_or(value);
    let errors: Vec<String> = curve.errors.iter().map(|&(t, e)| format!("{t}:{}", plain(e))).collect();
    writeln!(
        out,
        "<div class=\"arrival\" hidden data-errors=\"{}\"><label>Rows in the order of selection <input type=\"range\" min=\"1\" \
         max=\"{count}\" value=\"{count}\"></label> <output>all {count}</output></div>",
        errors.join(" ")
    )
}

/// The weights of the subset, where they are not equal.
pub(super) fn write_weights(out: &mut String, figures: &Figures<'_>) -> Result {
    let Some(shares) = figures.subset.shares.as_deref().filter(|shares| shares.len() > 1) else {
        return Ok(());
    };
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    let effective = match shares.iter().any(|share| *share < 0.0) {
        true => String::new(),
        false => format!(" Their effective sample size is {}.", significant(1.0 / squares)),
    };
    writeln!(
        out,
        "<h2>Weights</h2>\n<figure>{}<figcaption>The weights of the rows, the largest first, and equal weights (<b \
         class=\"all\">dashed</b>).{effective}</figcaption></figure>",
        weights(shares)
    )
}

/// How the chains share the rows, where there are several.
pub(super) fn write_chains(out: &mut String, figures: &Figures<'_>) -> Result {
    if figures.chains.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "<h2>Chains</h2>\n<div class=\"scroll\"><table class=\"plain\">\n<tr><th>chain</th><th>of all rows</th><th>of the \
         subset</th><th>rows</th></tr>"
    )?;
    for ChainShare { name, all, subset, rows } in &figures.chains {
        writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{:.1} %</td><td>{:.1} %</td><td>{}</td></tr>",
            escaped(name),
            all * 100.0,
            subset * 100.0,
            count(*rows)
        )?;
    }
    writeln!(out, "</table></div>")
}

/// The subset as it is drawn, and whether that is without its weights: negative ones make no densities.
fn drawn<'f>(figures: &'f Figures<'_>) -> (Rows<'f>, bool) {
    let Rows { values, dim, shares } = &figures.subset;
    let is_signed = shares.iter().any(|shares| shares.iter().any(|share| *share < 0.0));
    let shares = shares.as_deref().filter(|_| !is_signed).map(Cow::Borrowed);
    (Rows { values: Cow::Borrowed(values), dim: *dim, shares }, is_signed)
}

/// Pairs of columns to be drawn: those whose correlations are off most, with the error; where none is known, those of the
/// worst matched.
fn pairs(report: &Report<'_>, ranked: &[usize]) -> Vec<(usize, usize, Option<f64>)> {
    let largest = report.result.quality.iter().flat_map(|quality| &quality.correlation_largest);
    let known: Vec<_> = largest.map(|&(error, a, b)| (a, b, Some(error))).collect();
    if !known.is_empty() {
        return known;
    }
    let paired = &ranked[..ranked.len().min(PAIRED)];
    let below = |(a, &j): (usize, &usize)| paired[..a].iter().map(move |&i| (i, j, None)).collect::<Vec<_>>();
    paired.iter().enumerate().flat_map(below).collect()
}

/// The parameters that have a spread, the worst matched first.
fn ranked(report: &Report<'_>) -> Vec<usize> {
    let columns = report.result.quality.iter().flat_map(|quality| &quality.columns);
    let mut ranked: Vec<(usize, f64)> =
        columns.enumerate().filter_map(|(j, errors)| Some((j, largest(errors)?))).collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    ranked.into_iter().map(|(j, _)| j).collect()
}

/// `mean 0.0120, sd 0.0340, 95 % quantile 0.0900`, as far as they are known.
fn errors_of(report: &Report<'_>, j: usize) -> String {
    let Some(errors) = report.result.quality.as_ref().map(|quality| &quality.columns[j]) else {
        return String::new();
    };
    let shown = |name: &str, error: Option<f64>| Some(format!("{name} {}", significant(error?.abs())));
    let levels =
        QUANTILES.iter().zip(errors.quantiles).filter_map(|(level, error)| Some((level, error?.abs())));
    let quantile = levels
        .reduce(|a, b| if b.1 > a.1 { b } else { a })
        .map(|(level, error)| format!("{} quantile {}", percent(*level), significant(error)));
    let all = [shown("mean", errors.mean), shown("sd", errors.sd), quantile];
    all.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// `5 %`.
fn percent(level: f64) -> String {
    format!("{} %", (level * 100.0).round())
}
