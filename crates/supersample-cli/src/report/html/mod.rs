//! Page of a report that needs nothing else: no script, no network, light or dark as the reader's screen is.

mod plots;
mod svg;

use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

use supersample::quality::QUANTILES;

use self::plots::{error_curve, marginal, pair};
use self::svg::escaped;
use super::errors::largest;
use super::text::{Kind, Line};
use super::{About, Figures, Report, Rows, Subject};
use crate::words::{count, counted, significant};

/// So many parameters are paired with each other where no correlation is known.
const PAIRED: usize = 4;

/// Pixels across for one marginal, with the space beside it.
const WIDEST_MARGINAL: usize = 290;

const STYLE: &str = include_str!("style.css");

impl Report<'_> {
    /// One self-contained page with figures.
    pub(crate) fn to_html(&self) -> String {
        let mut out = String::new();
        write_page(&mut out, self).expect("text can always be written to memory");
        out
    }
}

fn write_page(out: &mut String, report: &Report<'_>) -> std::fmt::Result {
    let title = escaped(&title(report));
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>Supersample {title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
    )?;
    let mut paragraphs = report.paragraphs().into_iter();
    for line in paragraphs.next().unwrap_or_default() {
        write_line(out, &line)?;
    }
    out.push_str("<section class=\"top\">\n<div>\n");
    for line in paragraphs.flatten() {
        write_line(out, &line)?;
    }
    out.push_str("</div>\n");
    let curve = report.figures.as_ref().and_then(|figures| figures.curve.as_ref());
    if let Some(curve) = curve.filter(|curve| !curve.errors.is_empty()) {
        writeln!(
            out,
            "<figure>{}<figcaption>The MMD of the first T rows (<b class=\"chosen\">chosen</b>) and what T random rows \
             are expected to have (<b class=\"all\">random</b>).{}</figcaption></figure>",
            error_curve(curve),
            curve.result.map_or("", |_| " The ring is the result, after swaps and with its weights.")
        )?;
    }
    out.push_str("</section>\n");
    if let Some(figures) = &report.figures {
        write_parameters(out, report, figures)?;
    }
    let command = report.run.command.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ");
    write!(
        out,
        "<footer>\n<pre>{}</pre>\n<p>Supersample {}. MMD: the distance between the subset and all rows as the kernel sees \
         it. Worth: the number of independent draws whose expected squared MMD is the same.</p>\n</footer>\n</main>\n\
         </body>\n</html>\n",
        escaped(&command),
        escaped(&report.run.version)
    )
}

fn write_line(out: &mut String, line: &Line) -> std::fmt::Result {
    let class = match &line.kind {
        Kind::Table(lines) => return write_table(out, lines),
        Kind::Fact => "",
        Kind::Warning => " class=\"warning\"",
        Kind::Note => " class=\"note\"",
    };
    writeln!(out, "<p{class}>{}.</p>", escaped(&capitalised(&line.text)))
}

fn write_table(out: &mut String, lines: &[Vec<String>]) -> std::fmt::Result {
    out.push_str("<div class=\"scroll\"><table>\n");
    for (i, line) in lines.iter().enumerate() {
        out.push_str("<tr>");
        for (j, text) in line.iter().enumerate() {
            match j {
                0 => write!(out, "<th scope=\"row\">{}</th>", escaped(text))?,
                _ if i == 0 => write!(out, "<th>{}</th>", escaped(text))?,
                // On a narrow screen each cell stands under its own name.
                _ => write!(out, "<td data-name=\"{}\">{}</td>", escaped(&lines[0][j]), escaped(text))?,
            }
        }
        out.push_str("</tr>\n");
    }
    writeln!(out, "</table></div>")
}

/// A figure for each parameter that has a spread, and one for each pair of the worst matched.
fn write_parameters(out: &mut String, report: &Report<'_>, figures: &Figures<'_>) -> std::fmt::Result {
    let ranked = ranked(report);
    if ranked.is_empty() {
        return Ok(());
    }
    let (all, parameters) = (&figures.all, &report.about.parameters);
    // Negative weights make no densities: then the figures show the rows as they are.
    let is_signed = figures.subset.shares.iter().any(|shares| shares.iter().any(|share| *share < 0.0));
    let unweighted =
        Rows { values: Cow::Borrowed(&figures.subset.values), dim: figures.subset.dim, shares: None };
    let subset = if is_signed { &unweighted } else { &figures.subset };
    let signed = match is_signed {
        true => " Some weights are negative, so the lines are those of equal weights.",
        false => "",
    };
    writeln!(
        out,
        "<h2>Each parameter</h2>\n<p>All rows (<b class=\"all\">filled</b>) and the subset (<b class=\"chosen\">line</b>), \
         the worst matched first. Errors are in standard deviations of all rows. Beyond either end of an axis lies at most 0.1 % \
         of the weight of all rows.{signed}</p>\n<div class=\"grid\" \
         style=\"max-width: {}px\">",
        // A few figures are not blown up to fill the page.
        ranked.len().saturating_mul(WIDEST_MARGINAL)
    )?;
    for &j in &ranked {
        writeln!(
            out,
            "<figure>{}<figcaption><b>{}</b> {}</figcaption></figure>",
            marginal(all, subset, j, &parameters[j]),
            escaped(&parameters[j]),
            errors_of(report, j)
        )?;
    }
    out.push_str("</div>\n");
    let pairs = pairs(report, &ranked);
    if pairs.is_empty() {
        return Ok(());
    }
    let heading = match pairs[0].2 {
        Some(_) => "Pairs whose correlations are off most",
        None => "Pairs of the worst-matched parameters",
    };
    let dots = match subset.shares {
        Some(_) => "the subset as dots whose area is their weight; rows of weight 0 have none",
        None => "the subset as dots",
    };
    writeln!(out, "<h2>{heading}</h2>\n<p>All rows as a cloud, {dots}.</p>\n<div class=\"grid pairs\">")?;
    for (i, j, error) in pairs {
        let (x, y) = (&parameters[i], &parameters[j]);
        let off =
            error.map(|error| format!("; correlation off by {}", significant(error))).unwrap_or_default();
        writeln!(
            out,
            "<figure>{}<figcaption><b>{}</b> across, <b>{}</b> up{off}</figcaption></figure>",
            pair(all, subset, i, j, &format!("{y} against {x}")),
            escaped(x),
            escaped(y)
        )?;
    }
    out.push_str("</div>\n");
    Ok(())
}

/// `herd: 100 of 4,000 rows of draws.csv`, so that pages of several runs can be told apart.
fn title(report: &Report<'_>) -> String {
    let About { subject, files, rows, .. } = &report.about;
    let short = |path: &str| {
        Path::new(path).file_name().map_or(path.to_string(), |name| name.to_string_lossy().into())
    };
    let more = match files.len() {
        0 | 1 => String::new(),
        several => format!(" and {}", counted(several - 1, "more file")),
    };
    let of = format!("{}{more}", files.first().map(|file| short(file)).unwrap_or_default());
    let (verb, chosen) = (subject.verb(), report.result.count);
    let title = match (subject, rows) {
        (Subject::Subset { file, .. }, Some(rows)) => {
            format!("{} of {} beside {} of {of}", counted(chosen, "row"), short(file), counted(*rows, "row"))
        }
        (_, Some(rows)) => format!("{} of {} of {of}", count(chosen), counted(*rows, "row")),
        (_, None) => format!("{} for {of}", counted(chosen, subject.noun())),
    };
    format!("{verb}: {title}")
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
        .map(|(level, error)| format!("{} % quantile {}", (level * 100.0).round(), significant(error)));
    let all = [shown("mean", errors.mean), shown("sd", errors.sd), quantile];
    all.into_iter().flatten().collect::<Vec<_>>().join(", ")
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
    use crate::report::Curve;
    use crate::report::tests::report;

    fn rows(values: Vec<f64>, dim: usize) -> Rows<'static> {
        Rows { values: Cow::Owned(values), dim, shares: None }
    }

    #[test]
    fn the_page_holds_every_figure_and_nothing_from_outside() {
        let full: Vec<f64> = (0..400 * 5).map(|i| ((i * i) as f64 * 0.37).sin()).collect();
        let subset = full[..50 * 5].to_vec();
        let mut about = report();
        about.about.parameters[1] = "<tau>".to_string();
        let errors = [(1, 0.5), (10, 0.05), (100, 0.007_123)];
        let curve = Some(Curve::new(errors.into_iter(), &about.about, &about.result));
        about.figures = Some(Figures { all: rows(full, 5), subset: rows(subset, 5), curve });
        let text = about.to_html();
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
        assert!(text.contains("<title>Supersample herd: 100 of 4,000 rows of draws.csv</title>"), "{text}");
        // The first pair is the one whose correlation is off most, as the text has it.
        let (error, a, b) = about.result.quality.as_ref().unwrap().correlation_worst.unwrap();
        let parameters = &about.about.parameters;
        let first = format!(
            "<b>{}</b> across, <b>{}</b> up; correlation off by {}<",
            parameters[a],
            parameters[b],
            significant(error)
        );
        let at = text.find(" across, ").unwrap();
        assert!(text[at - 40..].contains(&first), "{first} in {text}");
        assert!(!text.contains("class=\"ring") && !text.contains("area is their weight"));
    }

    #[test]
    fn weights_are_explained_and_their_mmd_is_marked() {
        let mut about = report();
        let full: Vec<f64> = (0..400 * 5).map(|i| ((i * i) as f64 * 0.37).sin()).collect();
        let subset =
            Rows { values: Cow::Owned(full[..50].to_vec()), dim: 5, shares: Some(Cow::Owned(vec![0.1; 10])) };
        let errors = [(1, 0.5), (10, 0.05), (100, 0.02)];
        let curve = Some(Curve::new(errors.into_iter(), &about.about, &about.result));
        about.figures = Some(Figures { all: rows(full, 5), subset, curve });
        about.about.files = vec!["dir/1.csv".to_string(), "2.csv".to_string()];
        about.about.subject =
            Subject::Subset { file: "x/best.csv".to_string(), is_by_number: false, weight_column: None };
        let text = about.to_html();
        assert!(text.contains("class=\"ring chosen\"") && text.contains("The ring is the result"), "{text}");
        assert!(text.contains("dots whose area is their weight; rows of weight 0 have none"), "{text}");
        let title = "<h1>eval: 100 rows of best.csv beside 4,000 rows of 1.csv and 1 more file</h1>";
        assert!(text.contains(title), "{text}");
    }

    #[test]
    fn every_line_of_the_text_is_on_the_page() {
        let mut about = report();
        (about.comparison, about.warnings) = (None, vec!["a < b".to_string()]);
        let (text, page) = (about.to_text(), about.to_html());
        assert!(page.contains("<p class=\"warning\">Warning: a &lt; b.</p>"), "{page}");
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        let sentences = lines.iter().filter(|line| !line.starts_with("these ") && !line.starts_with(' '));
        for line in sentences.clone() {
            assert!(page.contains(&format!("{}.</p>", escaped(&capitalised(line)))), "{line}");
        }
        // But for the two lines of the table, whose cells stand alone.
        assert_eq!(sentences.count(), lines.len() - 2);
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
        about.about.parameters.truncate(2);
        let values = vec![1.0, 2.0];
        about.result.quality =
            Some(Reference::new(&[1.0, 2.0, 1.0, 3.0], 2, None).unwrap().quality(&values, None).unwrap());
        let (all, subset) = (rows(values.clone(), 2), rows(values, 2));
        about.figures = Some(Figures { all, subset, curve: None });
        let text = about.to_html();
        assert!(text.contains("</html>") && !text.contains("NaN"), "{text}");
    }
}
