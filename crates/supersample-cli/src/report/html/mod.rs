//! Page of a report that needs nothing else, no network either; light or dark as the reader's screen is. Its script adds
//! values under the pointer and a slider, and nothing is missing without it.

mod parameters;
mod plots;
mod svg;

use std::fmt::Write;
use std::path::Path;

use self::parameters::{write_chains, write_each, write_intervals, write_pairs, write_weights};
use self::plots::error_curve;
use self::svg::escaped;
use super::text::{Kind, Line};
use super::{About, Curve, Report, Subject};
use crate::words::{count, counted};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("page.js");

impl Report<'_> {
    /// One self-contained page with figures.
    pub(crate) fn to_html(&self) -> String {
        let mut out = String::new();
        write_page(&mut out, self).expect("text can always be written to memory");
        out
    }
}

fn write_page(out: &mut String, report: &Report<'_>) -> std::fmt::Result {
    let (title, date) = (escaped(&title(report)), escaped(&report.run.date));
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>Supersample {title}, {date}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>{title} <small>{date}</small></h1>\n"
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
            "<figure>{}<figcaption>The MMD of the first T rows (<b class=\"chosen\">chosen</b>) and the expected MMD of T random \
             rows (<b class=\"all\">random</b>).{}{}</figcaption></figure>",
            error_curve(curve),
            what_the_band_is(curve),
            curve.result.map_or("", |_| " The ring is the final subset, after swaps and with its weights.")
        )?;
    }
    out.push_str("</section>\n");
    if let Some(figures) = &report.figures {
        write_intervals(out, report, figures)?;
        write_each(out, report, figures)?;
        write_pairs(out, report, figures)?;
        write_weights(out, figures)?;
        write_chains(out, figures)?;
    }
    let command = report.run.command.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ");
    write!(
        out,
        "<footer>\n<pre>{}</pre>\n<p>Supersample {}. MMD (maximum mean discrepancy): the distance \
         between the subset and all rows, as the kernel measures it. Equivalent draws: the number of independent draws with the \
         same expected squared MMD.</p>\n</footer>\n</main>\n\
         <script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        escaped(&command),
        escaped(&report.run.version)
    )
}

fn what_the_band_is(curve: &Curve) -> String {
    match curve.band.is_empty() {
        true => String::new(),
        false => {
            format!(" The band is the range of {} random subsets.", curve.drawn)
        }
    }
}

fn write_line(out: &mut String, line: &Line) -> std::fmt::Result {
    let class = match &line.kind {
        Kind::Table(lines) => return write_table(out, lines),
        Kind::Fact => "",
        Kind::Warning => " class=\"warning\"",
        Kind::Note | Kind::Detail => " class=\"note\"",
    };
    writeln!(out, "<p{class}>{}.</p>", escaped(&capitalised(&line.text)))
}

fn write_table(out: &mut String, lines: &[Vec<String>]) -> std::fmt::Result {
    out.push_str("<div class=\"scroll\"><table class=\"results\">\n");
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

/// `herd: 100 of 4,000 rows of draws.csv`, so that pages of several runs can be distinguished.
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
            format!(
                "{} of {} compared with {} of {of}",
                counted(chosen, "row"),
                short(file),
                counted(*rows, "row")
            )
        }
        (_, Some(rows)) => format!("{} of {} of {of}", count(chosen), counted(*rows, "row")),
        (_, None) => format!("{} for {of}", counted(chosen, subject.noun())),
    };
    format!("{verb}: {title}")
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
    use std::borrow::Cow;

    use supersample::quality::{Quality, Reference};

    use super::*;
    use crate::report::tests::report;
    use crate::report::{ChainShare, ComparedColumn, Figures, Rows};
    use crate::words::significant;

    /// Figures of rows that were chosen in sequence, with the errors of the report.
    fn figures(
        all: Rows<'static>,
        subset: Rows<'static>,
        curve: Option<Curve>,
        quality: &Quality,
    ) -> Figures<'static> {
        let shares = all.shares.as_deref();
        let reference = Reference::new(&all.values, all.dim, shares).unwrap();
        let beside = |j: usize| Some(ComparedColumn::new(reference.column(j)?, &quality.columns[j]));
        let summaries = (0..all.dim).map(beside).collect();
        Figures { all, subset, curve, is_in_order: true, summaries, chains: Vec::new() }
    }

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
        let curve =
            Some(Curve::new(errors.into_iter(), &about.about, &about.result, about.comparison.as_ref()));
        let quality = about.result.quality.clone().unwrap();
        about.figures = Some(figures(rows(full, 5), rows(subset, 5), curve, &quality));
        let text = about.to_html();
        // One curve, the intervals, four marginals twice (the fifth parameter is constant) and the six pairs of four.
        assert_eq!(text.matches("<svg ").count(), 1 + 1 + 4 * 2 + 6);
        assert!(
            text.contains("The band is the range of 20 random subsets")
                && text.contains("class=\"band all\"")
        );
        assert!(
            text.contains("<div class=\"arrival\" hidden data-errors=\"1:0.5 10:0.05 100:0.00712\">"),
            "{text}"
        );
        assert_eq!(text.matches("data-t=\"50\"").count(), 6);
        let distributions = text.matches("aria-label=\"distribution function of ").count();
        assert_eq!((distributions, text.matches("data-name=\"subset\"").count()), (4, 4));
        assert!(
            text.contains("supersample herd draws.csv -n 100")
                && text.contains("<td data-name=\"equivalent draws\">9,850</td>")
        );
        assert!(!text.contains("<tau>") && text.contains("&lt;tau&gt;"));
        for outside in
            ["http", "<script ", "<link", "src=", "url(", "@import", "fetch(", "import(", "NaN", "inf\""]
        {
            assert!(!text.contains(outside), "{outside}");
        }
        let figures = text.matches("<figure>").count();
        assert_eq!(figures, 12);
        assert_eq!(text.matches("<script>").count(), 1);
        let title = "<title>Supersample herd: 100 of 4,000 rows of draws.csv, 2010-07-08</title>";
        assert!(text.contains(title), "{text}");
        // The first pair is the one whose correlation is off most, as the text has it.
        let (error, a, b) = about.result.quality.as_ref().unwrap().correlation_worst.unwrap();
        let parameters = &about.about.parameters;
        let first = format!(
            "<b>{}</b> (horizontal) and <b>{}</b> (vertical); error of the correlation {}<",
            parameters[a],
            parameters[b],
            significant(error)
        );
        let at = text.find(" (horizontal) and ").unwrap();
        assert!(text[at - 40..].contains(&first), "{first} in {text}");
        assert!(!text.contains("class=\"ring") && !text.contains("(area: weight"));
    }

    #[test]
    fn weights_are_explained_and_their_mmd_is_marked() {
        let mut about = report();
        let full: Vec<f64> = (0..400 * 5).map(|i| ((i * i) as f64 * 0.37).sin()).collect();
        let subset =
            Rows { values: Cow::Owned(full[..50].to_vec()), dim: 5, shares: Some(Cow::Owned(vec![0.1; 10])) };
        let errors = [(1, 0.5), (10, 0.05), (100, 0.02)];
        let curve = Some(Curve::new(errors.into_iter(), &about.about, &about.result, None));
        let quality = about.result.quality.clone().unwrap();
        let chain = |name: &str, all, subset, rows| ChainShare { name: name.to_string(), all, subset, rows };
        let chains = vec![chain("1", 0.5, 0.4, 4), chain("2", 0.5, 0.6, 6)];
        about.figures =
            Some(Figures { chains, is_in_order: false, ..figures(rows(full, 5), subset, curve, &quality) });
        about.about.files = vec!["dir/1.csv".to_string(), "2.csv".to_string()];
        about.about.subject =
            Subject::Subset { file: "x/best.csv".to_string(), is_by_number: false, weight_column: None };
        let text = about.to_html();
        assert!(
            text.contains("class=\"ring chosen\"") && text.contains("The ring is the final subset"),
            "{text}"
        );
        assert!(text.contains("dots (area: weight; rows of weight 0 are not shown)"), "{text}");
        let title =
            "<h1>eval: 100 rows of best.csv compared with 4,000 rows of 1.csv and 1 more file <small>";
        assert!(text.contains(title), "{text}");
        assert!(text.contains("aria-label=\"weights of the rows, the largest first\""), "{text}");
        assert!(text.contains("<th scope=\"row\">2</th><td>50.0 %</td><td>60.0 %</td><td>6</td>"), "{text}");
        // Their order says nothing, so nothing arrives.
        assert!(!text.contains("class=\"arrival\""));
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
        let quality = about.result.quality.clone().unwrap();
        about.figures = Some(figures(all, subset, None, &quality));
        let text = about.to_html();
        assert!(text.contains("</html>") && !text.contains("NaN"), "{text}");
    }
}
