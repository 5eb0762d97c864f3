//! Sentences of a report: the lines that both the text and the page print, and the text itself.

use supersample::quality::MOST_CORRELATED;
use supersample::scale::Scale;
use supersample::task::Measure;

use super::table::{aligned, shown};
use super::{LandmarkReport, Measured, Report, Subject, TargetReport, Worst};
use crate::plan::Ended;
use crate::words::{count, counted, exact, folded, listed, printable, significant};

/// Errors in means, sds, quantiles and correlations up to this are sums in another order, nothing more.
pub(super) const ROUNDING: f64 = 1e-12;

/// One line of a report.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) kind: Kind,
    /// As plain text.
    pub(super) text: String,
}

/// What a line is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// A sentence.
    Fact,
    /// A sentence to read before the numbers.
    Warning,
    /// Several lines of cells, the head first.
    Table(Vec<Vec<String>>),
    /// What to know about the table.
    Note,
    /// Only on the page.
    Detail,
}

impl Line {
    fn fact(text: String) -> Line {
        Line { kind: Kind::Fact, text }
    }

    fn note(text: String) -> Line {
        Line { kind: Kind::Note, text }
    }

    fn detail(text: String) -> Line {
        Line { kind: Kind::Detail, text }
    }

    /// For a terminal. Names of columns and files may hold anything; a table holds none of them, but ends of lines.
    fn printable(&self) -> String {
        if matches!(self.kind, Kind::Table(_)) { self.text.clone() } else { printable(&self.text) }
    }
}

impl Report<'_> {
    /// One screen of plain text: the lines, with an empty one before the table.
    pub(crate) fn to_text(&self) -> String {
        let spelled = |lines: &Vec<Line>| {
            let lines = lines.iter().filter(|line| line.kind != Kind::Detail);
            lines.map(|line| format!("{}\n", line.printable())).collect()
        };
        self.paragraphs().iter().map(spelled).collect::<Vec<String>>().join("\n")
    }

    /// All that is said: what was done, then the table and the worst errors.
    pub(super) fn paragraphs(&self) -> Vec<Vec<Line>> {
        let mut quality = self.how_good_it_is();
        if self.result.quality.is_some() {
            quality.push(Line::fact(self.worst_errors()));
        }
        [self.what_was_done(), quality].into_iter().chain(self.published()).collect()
    }

    fn what_was_done(&self) -> Vec<Line> {
        let details = &self.details;
        let mut facts = vec![self.what_was_chosen()];
        facts.extend(self.what_was_matched());
        facts.push(self.how());
        facts.extend(self.terms.functions_in_words());
        facts.extend(details.balanced.as_ref().map(|balanced| balanced.in_words()));
        let refined = details.refinement.as_ref();
        let stages = refined.map(|refined| refined.in_words(self.error_name(), |error| self.mmd(error)));
        let published = if self.about.summary.is_some() { " + published numbers" } else { "" };
        let terms = self.terms.in_words().map(|terms| terms + published);
        let objective: Vec<String> = terms.into_iter().chain(stages).collect();
        facts.extend((!objective.is_empty()).then(|| objective.join("; ")));
        facts.extend(details.polishing.map(|polishing| polishing.in_words(self.equal_error())));
        facts.extend(details.weighing.as_ref().map(|weighing| weighing.in_words(self.about.subject.noun())));
        facts.extend(self.draws.map(|draws| draws.sentence()));
        facts.extend(self.how_it_ended());
        if !self.distances.constant.is_empty() {
            let names: Vec<&String> =
                self.distances.constant.iter().map(|&i| &self.about.parameters[i]).collect();
            facts.push(format!("constant columns, centred and not scaled: {}", listed(&names)));
        }
        facts.extend(self.notes.iter().map(|note| format!("note: {note}")));
        let warnings = self
            .warnings
            .iter()
            .map(|warning| Line { kind: Kind::Warning, text: format!("warning: {warning}") });
        let effort = refined.map(|refined| Line::detail(refined.effort()));
        facts.into_iter().map(Line::fact).chain(effort).chain(warnings).collect()
    }

    fn how_good_it_is(&self) -> Vec<Line> {
        let mut lines = match self.table() {
            Some(table) => {
                let text = aligned(&table.lines);
                let table_and_legend =
                    [Line { kind: Kind::Table(table.lines), text }, Line::detail(table.legend)];
                table_and_legend.into_iter().filter(|line| !line.text.is_empty()).collect()
            }
            None => vec![Line::note("the MMD is not known for this target".to_string())],
        };
        lines.extend(self.relative_to().filter(|_| self.result.quality.is_some()).map(Line::note));
        lines.extend(self.caveat().map(Line::note));
        if let (None, Some(_), Some(rows)) =
            (&self.comparison, self.result.scale.single_draw, self.about.rows)
        {
            let why = match self.run.ended {
                Some(Ended::Interrupted) => "the run was interrupted".to_string(),
                _ => match self.about.sample {
                    Some(sample) => format!("there are {}", counted(sample.rows, "candidate")),
                    None => format!("the file has {}", counted(rows, "row")),
                },
            };
            let text = format!("no comparison with random or evenly spaced rows: {why}");
            lines.push(Line::note(text));
        }
        lines
    }

    fn how_it_ended(&self) -> Vec<String> {
        let chosen = counted(self.result.count, self.about.subject.noun());
        let mut lines = Vec::new();
        match self.run.ended {
            Some(Ended::Interrupted) if self.about.subject == Subject::Thinned => {
                lines.push(format!("interrupted: these {chosen} are the best subset so far"));
            }
            Some(Ended::Interrupted) => {
                lines.push(format!("interrupted: these are the first {chosen}, a valid shorter result"));
            }
            Some(Ended::Exhausted) => {
                // Rows without weight are in the file and not in the pool; all of the pool was chosen once.
                let all = counted(self.result.distinct, "row");
                lines.push(match self.run.stop.number {
                    Some(asked) => format!("asked for {}, but only {all} can be chosen", count(asked)),
                    None => format!("all rows that can be chosen were chosen ({all})"),
                });
            }
            Some(Ended::Enough) => {
                let added = percent(self.run.stop.add);
                lines.push(format!(
                    "{chosen} are enough: they add at most {added} to each error of the draws"
                ));
            }
            Some(ended) if ended.is_goal() => {
                let goals = self.run.stop.goals();
                let met = goals.iter().filter(|goal| goal.ended == ended).map(|goal| goal.name);
                let others = goals.iter().filter(|goal| goal.ended != ended && goal.value.is_some());
                let others: Vec<&str> = others.map(|goal| goal.name).collect();
                let first = match others.is_empty() {
                    true => String::new(),
                    false => format!(", before the {}", others.join(" and the ")),
                };
                let equal = if self.details.weighing.is_some() { " with equal weights" } else { "" };
                let met = met.collect::<String>();
                lines.push(format!("the {met} was reached with {chosen}{equal}{first}"));
            }
            _ => {}
        }
        if self.missed_its_goal() && self.run.ended != Some(Ended::Interrupted) {
            let name = self.error_name();
            let missed = self.run.stop.missed_in_words(name);
            let equal = match (self.equal_error(), self.result.mmd(), &self.details.weighing) {
                (Some(equal), Some(weighted), Some(_)) => format!(
                    " with equal weights ({name} {}; {} with the computed weights)",
                    self.mmd(equal),
                    self.mmd(weighted)
                ),
                _ => String::new(),
            };
            let remedy = match self.run.ended {
                Some(Ended::Exhausted) => "relax the goal",
                _ => "allow more with -n, or relax the goal",
            };
            lines.push(format!("{missed} reached with {chosen}{equal}; {remedy}"));
        }
        lines
    }

    fn what_was_chosen(&self) -> String {
        if let Subject::Placed { components } = self.about.subject {
            let (points, components) =
                (counted(self.result.count, "point"), counted(components, "component"));
            let dimensions = counted(self.about.parameters.len(), "dimension");
            return format!("placed {points} for a mixture of {components} in {dimensions}");
        }
        let Measured { count: all, distinct, distinct_points: points, .. } = self.result;
        let repeats = match (distinct < all, points < distinct) {
            (false, false) => String::new(),
            (true, false) => format!(" ({} distinct)", count(distinct)),
            (false, true) => format!(" ({})", counted(points, "distinct point")),
            (true, true) => format!(" ({} distinct, {})", count(distinct), counted(points, "distinct point")),
        };
        let rows = self.about.rows.unwrap_or(0);
        let of = if self.result.count > rows { "times among" } else { "of" };
        let chosen = match &self.about.subject {
            Subject::Subset { file, is_by_number, weight_column } => {
                let of = if *is_by_number { "numbered in" } else { "of" };
                let weighted = match weight_column {
                    Some(column) => format!(" (weighted by its column {column})"),
                    None => String::new(),
                };
                let chosen = counted(self.result.count, "row");
                format!("compared {chosen} {of} {file}{weighted} with all {}", count(rows))
            }
            _ => format!("chose {} {of} {}{repeats}", count(self.result.count), counted(rows, "row")),
        };
        let files = if self.about.files.len() > 1 {
            format!(" in {} files", count(self.about.files.len()))
        } else {
            String::new()
        };
        let unused = match self.about.unused.as_slice() {
            [] => String::new(),
            unused => format!("; not used: {}", listed(&folded(unused))),
        };
        let warmup = match self.about.warmup {
            0 => String::new(),
            rows => format!("; {} of warm-up dropped", counted(rows, "row")),
        };
        let parameters = counted(self.about.parameters.len(), "parameter");
        let names = listed(&folded(&self.about.parameters));
        format!("{chosen}{files} by {parameters} ({names}{unused}{warmup})")
    }

    /// Published numbers and what the rows reach of them; `None` where rows are matched.
    fn published(&self) -> Option<Vec<Line>> {
        let all = &self.details.published;
        let name = |column: usize| printable(&self.about.parameters[column]);
        let has_counts = all.iter().any(|one| one.standard_errors.is_some());
        let head = ["", "published", "reached", "error", "all rows"].map(str::to_string);
        let mut lines =
            vec![head.into_iter().chain(has_counts.then(|| "standard errors".to_string())).collect()];
        lines.extend(all.iter().map(|one| {
            let label =
                format!("{} {}", name(one.published.number.column()), one.published.number.short(name));
            let standard = || one.standard_errors.map(significant).unwrap_or_default();
            let cells = [
                label,
                exact(one.published.value),
                significant(one.reached),
                signed(one.error()),
                significant(one.pool),
            ];
            cells.into_iter().chain(has_counts.then(standard)).collect()
        }));
        let text = aligned(&lines);
        let legend = "error: reached less published, of means, sds and quantiles in sds of the column";
        (!all.is_empty())
            .then(|| vec![Line { kind: Kind::Table(lines), text }, Line::note(legend.to_string())])
    }

    /// What is matched in place of the rows: other rows and how much of them can be reached, or published numbers.
    fn what_was_matched(&self) -> Option<String> {
        if let Some(file) = &self.about.summary {
            let numbers = counted(self.details.published.len(), "published number");
            let effective = self.about.effective_size.map(|size| {
                format!("; weighted to have them, the rows are as {} of equal weight", significant(size))
            });
            return Some(format!("matched {numbers} of {file}{}", effective.unwrap_or_default()));
        }
        let TargetReport { file, rows, weight_column } = self.about.target.as_ref()?;
        let weighted = weight_column.as_ref().map(|name| format!(" weighted by {name}")).unwrap_or_default();
        let overlap = self.details.overlap.as_ref().map(|overlap| format!("; {}", overlap.sentence()));
        let rows = counted(*rows, "row");
        Some(format!("matched {rows} of {file}{weighted} (all rows, below){}", overlap.unwrap_or_default()))
    }

    fn how(&self) -> String {
        let bandwidth = match (self.distances.kernel.bandwidths(), self.distances.median_pairs) {
            ([], _) => String::new(),
            ([median, ..], Some(pairs)) => {
                let all =
                    self.about.rows_matched().map(|rows| rows.saturating_mul(rows.saturating_sub(1)) / 2);
                let of_sample = if self.about.sample.is_some() { " of candidates" } else { "" };
                let of = match all.is_some_and(|all| pairs < all) {
                    true => format!(" of {}{of_sample}", counted(pairs, "pair")),
                    false => String::new(),
                };
                format!(", bandwidth {} (median distance{of})", significant(*median))
            }
            ([given, ..], None) => format!(", bandwidth {given}"),
        };
        let scale = match self.distances.scale {
            _ if self.about.rows.is_none() => String::new(),
            Scale::Pca => {
                format!(", columns whitened to {}", counted(self.distances.coordinates, "direction"))
            }
            scale => format!(", columns {}", scale.effect()),
        };
        let weights = match &self.about.weight_column {
            Some(name) => format!(", rows weighted by {name}"),
            None => String::new(),
        };
        let weights = match self.about.corrected.is_some_and(|corrected| corrected.features.is_some()) {
            true => format!("{weights}, corrected by scores"),
            false => weights,
        };
        let landmarks = match self.distances.landmarks {
            Some(LandmarkReport { count: landmarks, pool_rows, .. }) => {
                let pool = pool_rows.map(|rows| format!(", chosen from {} drawn at random", count(rows)));
                format!(", rows compared with {}{}", counted(landmarks, "landmark"), pool.unwrap_or_default())
            }
            None => String::new(),
        };
        format!("kernel {}{bandwidth}{scale}{weights}{landmarks}", self.distances.kernel.name())
    }

    fn worst_errors(&self) -> String {
        let worst = self.worst();
        let part = |(measure, worst): &(Measure, Option<Worst<'_>>)| {
            let Worst { error, parameters, level } = worst.as_ref()?;
            let level = level.map(|level| format!(", {} %", (level * 100.0).round())).unwrap_or_default();
            Some(format!("{} {} ({}{level})", measure.key(), shown(error.abs()), parameters.join(" with ")))
        };
        let is_rounding = |worst: &Worst<'_>| worst.error.abs() <= ROUNDING;
        let has_errors = worst.iter().any(|(_, worst)| worst.is_some());
        let mut text = match worst.iter().filter_map(|(_, worst)| worst.as_ref()).all(is_rounding) {
            _ if !has_errors && self.about.target.is_some() => {
                "no parameter varies in all rows, so there are no errors in sds".to_string()
            }
            true if self.about.sample.is_some() => {
                "mean and sd of every parameter are those of all rows, quantiles those of the candidates"
                    .to_string()
            }
            true => "mean, sd and quantiles of every parameter are those of all rows".to_string(),
            false => {
                let parts: Vec<String> = worst.iter().filter_map(part).collect();
                format!("worst error, in sds of all rows: {}", parts.join(", "))
            }
        };
        if self.about.parameters.len() > MOST_CORRELATED {
            text += &format!("; correlations are compared for at most {} parameters", count(MOST_CORRELATED));
        }
        text
    }
}

/// An error with its sign.
fn signed(error: f64) -> String {
    let is_negative = error < -ROUNDING;
    format!("{}{}", if is_negative { "-" } else { "" }, shown(error.abs()))
}

/// A part in hundredths: `10 %`.
fn percent(part: Option<f64>) -> String {
    // Twelve digits, because 1e-9 · 100 is not quite 1e-7.
    let twelve = format!("{:.11e}", part.unwrap_or_default() * 100.0);
    format!("{} %", twelve.parse().map(exact).unwrap_or(twelve))
}
