//! Page of a report that needs nothing else: no script, no network, light or dark as the reader's screen is.

mod plots;
mod svg;

use std::borrow::Cow;
use std::fmt::Write;

use supersample::quality::QUANTILES;

use self::plots::{error_curve, marginal, pair};
use self::svg::escaped;
use super::errors::largest;
use super::text::{Kind, Line};
use super::{Figures, Report, Rows};
use crate::words::{counted, significant};

/// So many parameters are paired with each other.
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
    let (count, noun) = (report.result.count, report.about.subject.noun());
    let of = report.about.rows.map(|rows| format!(" of {}", counted(rows, "row"))).unwrap_or_default();
    let title = format!("{}{of}", counted(count, noun));
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>Supersample: {title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
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
             are expected to have (<b class=\"all\">random</b>).</figcaption></figure>",
            error_curve(curve)
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
         the worst matched first. Errors are in standard deviations of all rows.{signed}</p>\n<div class=\"grid\" \
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
    let paired = &ranked[..ranked.len().min(PAIRED)];
    if paired.len() > 1 {
        out.push_str("<h2>Worst-matched pairs</h2>\n<p>All rows as a cloud, the subset as dots.</p>\n<div class=\"grid pairs\">\n");
        for (a, &j) in paired.iter().enumerate() {
            for &i in &paired[..a] {
                let (x, y) = (&parameters[i], &parameters[j]);
                writeln!(
                    out,
                    "<figure>{}<figcaption><b>{}</b> across, <b>{}</b> up</figcaption></figure>",
                    pair(all, subset, i, j, &format!("{y} against {x}")),
                    escaped(x),
                    escaped(y)
                )?;
            }
        }
        out.push_str("</div>\n");
    }
    Ok(())
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
        let errors = [(1, 0.5), (10, 0.05), (100, 0.0071)];
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
