//! Verb `stream`: rows of files or of a pipe, each read once, and the subset of those so far.

use std::fs::File;
use std::io::{self, BufRead, Write};
use std::ops::ControlFlow;
use std::path::Path;

use anyhow::{Context, Error, Result, bail, ensure};
use supersample::task::stream::Stream;
use supersample::task::{Chosen, Ended, Measure, Target};
use supersample::{Points, Watch, unwatched};
use supersample_io::{
    Batch, BatchSize, Column, Draws, Format, Frame, Note, OutputFormat, Reading, Selection,
};
use tempfile::NamedTempFile;

use super::pipe::Pipe;
use super::{Files, Finished, Outcome, check_stdout, with_outputs};
use crate::plan::StreamPlan;
use crate::terminal::interrupt;
use crate::terminal::output::say;
use crate::terminal::progress::Progress;
use crate::words::{self, Names, Style, count, counted, significant, with_error};

/// Bytes of numbers in a batch of a file.
const BATCH_BYTES: usize = 8 << 20;

/// Most rows of a pipe that are read before they are used.
const AT_ONCE: usize = 16_384;

/// Beginnings of files that are no text, although they begin with letters.
const BINARY: [&[u8]; 4] = [b"PAR1", b"ARROW1", b"CDF", b"PK"];

/// The rows so far, with the names of their columns.
struct State<'p> {
    plan: &'p StreamPlan,
    stream: Stream,
    names: Vec<String>,
    /// Number of rows at which the outputs are written anew.
    next: Option<usize>,
    /// Whether this run has written its outputs before.
    has_written: bool,
    /// Whether rows came from a pipe, which cannot be read again.
    has_piped: bool,
    /// Rows that were left out for a missing value: for each the number of rows of the stream before it.
    left_out: Vec<usize>,
}

/// Carries out a plan of `stream`.
pub(crate) fn stream(plan: &StreamPlan) -> Result<Outcome> {
    check_stdout(&plan.outputs);
    with_outputs(&plan.outputs, plan.threads, plan.quiet, |files| {
        let stream = Stream::new(plan.choose.clone())?;
        let mut state = State {
            plan,
            stream,
            names: Vec::new(),
            next: plan.every,
            has_written: false,
            has_piped: false,
            left_out: Vec::new(),
        };
        let progress = Progress::percent(plan.quiet, "reading once");
        interrupt::can_end_early(true);
        let read = state.read(&progress);
        drop(progress);
        let is_interrupted = interrupt::requested();
        // After one that has ended the input, the next Ctrl-C ends the program.
        interrupt::can_end_early(!is_interrupted);
        let failure = if is_interrupted { None } else { read.err() };
        let failure = match failure {
            // The rows before it are gone with the pipe, unless they are written now.
            Some(error) if state.has_piped && state.stream.rows() > 0 => Some(error),
            Some(error) => return Err(error),
            None => None,
        };
        ensure!(!is_interrupted || state.stream.rows() > 0, supersample::Error::Interrupted);
        ensure!(state.stream.rows() > 0, "the input has no rows");
        let (target, chosen) = state.chosen(&|_| {
            if is_interrupted { ControlFlow::Continue(()) } else { interrupt::asked_to_end() }
        })?;
        let is_interrupted = is_interrupted || chosen.ended == Ended::Interrupted;
        // What this run has written before may be replaced.
        files.is_partial = (is_interrupted || failure.is_some()) && !state.has_written;
        state.write(files, &target, &chosen);
        if let Some(error) = failure {
            let error = anyhow::anyhow!(words::said(&error));
            let rows = counted(state.stream.rows(), "row");
            files.failed(error.context(format!("the input is used up to its first {rows}")));
        }
        let outcome = if is_interrupted { Outcome::Interrupted } else { Outcome::Done };
        Ok(Finished { outcome, text: state.summary(&target, &chosen, is_interrupted) })
    })
}

impl State<'_> {
    /// Reads all inputs, each once.
    fn read(&mut self, progress: &Progress) -> Result<()> {
        let files = &self.plan.draws.files;
        let is_pipe =
            |path: &Path| path.as_os_str() == "-" || path.exists() && !path.is_file() && !path.is_dir();
        if !files.iter().any(|path| is_pipe(path)) {
            return self.read_files(files, &self.plan.draws.reading(), progress);
        }
        for path in files {
            match is_pipe(path) {
                true if path.as_os_str() == "-" => self.read_pipe(path, Pipe::new(io::stdin()), progress)?,
                true => {
                    let file = File::open(path).with_context(|| path.display().to_string())?;
                    self.read_pipe(path, Pipe::new(file), progress)?;
                }
                false => self.read_files(&[path], &self.plan.draws.reading(), progress)?,
            }
        }
        Ok(())
    }

    /// Adds the rows of files. How far it has come is said unless a file is a part of something longer.
    fn read_files(
        &mut self,
        files: &[impl AsRef<Path>],
        reading: &Reading<'_>,
        progress: &Progress,
    ) -> Result<()> {
        Draws::check_batches(files, reading)?;
        let mut outcome = Ok(());
        let (first, known) = (self.stream.rows(), self.left_out.len());
        let read = Draws::in_batches(files, reading, BatchSize::Bytes(BATCH_BYTES), &mut |batch| {
            progress.part(batch.fraction);
            self.left_out.extend(batch.left_out.iter().map(|after| first + after));
            outcome = self.add(&batch);
            if outcome.is_ok() { interrupt::asked_to_end() } else { ControlFlow::Break(()) }
        });
        outcome?;
        // Those after the last batch.
        let left_out = known + read?.dropped_na();
        self.left_out.resize(left_out, self.stream.rows());
        Ok(())
    }

    /// Adds the rows of a pipe as they come if they are text, which can be cut at the ends of lines.
    fn read_pipe(&mut self, path: &Path, mut pipe: Pipe, progress: &Progress) -> Result<()> {
        self.has_piped = true;
        let is_text = is_plain_text(pipe.fill_buf()?) && self.plan.draws.format.is_none_or(Format::is_text);
        if !is_text {
            let mut copy = NamedTempFile::new().context("a temporary file cannot be made")?;
            io::copy(&mut pipe, copy.as_file_mut())
                .context("the pipe cannot be copied to a temporary file")?;
            return self
                .read_files(&[copy.path()], &self.plan.draws.reading(), progress)
                .map_err(|error| named(&error, copy.path(), path, 0));
        }
        let mut head = Vec::new();
        pipe.read_until(b'\n', &mut head)?;
        if has_numbers(&head) {
            bail!("{}: the first line of a pipe must have the names of the columns", path.display());
        }
        let piped = Piped { head, path, progress };
        let mut reading = self.plan.draws.reading();
        loop {
            let first = self.stream.rows();
            let wanted = self.next.map_or(AT_ONCE, |next| (next - first).clamp(1, AT_ONCE));
            let Some(lines) = Lines::read(&mut pipe, wanted)? else { return Ok(()) };
            if let Err(error) = self.read_lines(&piped, &reading, &lines.text) {
                if self.stream.rows() == first && !interrupt::requested() {
                    self.read_before_fault(&piped, &reading, &lines);
                }
                return Err(error);
            }
            if interrupt::requested() {
                return Ok(());
            }
            if !self.names.is_empty() {
                // A column may hold nothing but missing values in some lines.
                reading.selection = Selection::Only(self.names.clone());
            }
        }
    }

    /// Adds the rows of some lines of a pipe.
    fn read_lines(&mut self, pipe: &Piped<'_>, reading: &Reading<'_>, lines: &[u8]) -> Result<()> {
        let first = self.stream.rows() + self.left_out.len();
        let mut part = NamedTempFile::new().context("a temporary file cannot be made")?;
        part.write_all(&pipe.head)
            .and_then(|()| part.write_all(lines))
            .context("a temporary file cannot be written")?;
        let Err(error) = self.read_files(&[part.path()], reading, pipe.progress) else { return Ok(()) };
        match all_missing(&error) {
            Some(rows) => {
                self.left_out.resize(self.left_out.len() + rows, self.stream.rows());
                Ok(())
            }
            None => Err(named(&error, part.path(), pipe.path, first)),
        }
    }

    /// Adds the rows before the first line that is refused, by halves.
    fn read_before_fault(&mut self, pipe: &Piped<'_>, reading: &Reading<'_>, lines: &Lines) {
        let (mut from, mut to) = (0, lines.ends.len());
        while to - from > 1 {
            let middle = from.midpoint(to);
            let before = self.stream.rows();
            match self.read_lines(pipe, reading, lines.between(from, middle)) {
                Ok(()) => from = middle,
                Err(_) if self.stream.rows() == before => to = middle,
                Err(_) => return,
            }
        }
    }

    fn add(&mut self, batch: &Batch<'_>) -> Result<()> {
        if self.names.is_empty() {
            self.names = batch.names.to_vec();
        }
        ensure!(
            self.names == batch.names,
            "the inputs have different columns: {} and {}",
            self.names.join(", "),
            batch.names.join(", ")
        );
        let mut done = 0;
        while done < batch.len() {
            let rows = self.stream.rows();
            let end = self.next.map_or(batch.len(), |next| batch.len().min(done + next - rows));
            let values = &batch.values[done * batch.dim..end * batch.dim];
            let weights = self.plan.draws.row_weights(batch.weights.map(|weights| &weights[done..end]));
            let added = self.stream.update(values, batch.dim, weights, &unwatched);
            added.map_err(|error| self.refused(error))?;
            done = end;
            if self.next == Some(self.stream.rows()) {
                self.write_now()?;
                self.next = self.plan.every.map(|every| self.stream.rows() + every);
            }
        }
        Ok(())
    }

    /// Writes the outputs for the rows so far.
    fn write_now(&mut self) -> Result<()> {
        let (target, chosen) = self.chosen(&unwatched)?;
        let mut files = Files::create(&self.plan.outputs)?;
        self.write(&mut files, &target, &chosen);
        ensure!(files.failures.is_empty(), "{}", files.complaint());
        self.has_written = true;
        if !self.plan.quiet {
            let mmd = chosen.mmd().map_or(String::new(), |mmd| format!(", MMD {}", significant(mmd)));
            say(&format!("{} so far: the outputs are written{mmd}\n", counted(self.stream.rows(), "row")));
        }
        Ok(())
    }

    fn chosen(&self, watch: Watch<'_>) -> Result<(Target, Chosen)> {
        let _progress = Progress::phase(self.plan.quiet, "choosing");
        self.stream.choose(watch).map_err(|error| self.refused(error))
    }

    /// The number of a row among those of the input; rows that were left out count as well.
    fn row_number(&self, row: usize) -> usize {
        row + self.left_out.partition_point(|&after| after <= row)
    }

    fn write(&self, files: &mut Files, target: &Target, chosen: &Chosen) {
        let format = self.plan.outputs.target.unwrap_or(OutputFormat::plain(Format::Text));
        files.write_rows(|out| {
            let points = target.select(&chosen.rows)?;
            Ok(self.frame(&points, &chosen.rows, format.format).write_as(format, out)?)
        });
        if let Some(indices) = files.indices.take() {
            files.put(indices, "", |out| {
                let numbers = chosen.rows.iter().map(|&row| self.row_number(row));
                Ok(numbers.into_iter().try_for_each(|row| writeln!(out, "{row}"))?)
            });
        }
    }

    /// The used columns of the rows, and their numbers where the format has names.
    fn frame(&self, points: &Points, rows: &[usize], format: Format) -> Frame {
        let column = |j: usize| Column::doubles(points.rows().map(move |row| row[j]));
        let named = self.names.iter().enumerate().map(|(j, name)| (name.clone(), column(j)));
        let mut columns: Vec<(String, Column)> = named.collect();
        if format != Format::Npy && !self.names.iter().any(|name| name == "row") {
            columns.push(("row".to_string(), Column::integers(rows.iter().map(|&row| self.row_number(row)))));
        }
        Frame { columns }
    }

    fn summary(&self, target: &Target, chosen: &Chosen, is_interrupted: bool) -> String {
        let (problem, rows) = (target.problem(), self.stream.rows());
        let mut lines = vec![format!(
            "{} of {} that were read once{}",
            counted(chosen.rows.len(), "row"),
            count(rows),
            if is_interrupted { "; interrupted, there may be more" } else { "" }
        )];
        if !self.left_out.is_empty() {
            let note = Note::MissingRows { rows: self.left_out.len(), of: rows + self.left_out.len() };
            lines.push(format!("note: {note}"));
        }
        if let Some(mmd) = chosen.mmd() {
            let mmd = chosen.standard_error.map_or_else(|| significant(mmd), |error| with_error(mmd, error));
            let draws = chosen.errors.get(Measure::EquivalentDraws);
            let draws = draws
                .map_or(String::new(), |draws| format!(", equivalent to {} random rows", significant(draws)));
            lines.push(format!("MMD {mmd}{draws}"));
        }
        lines.push(format!("kernel {}, scale {}", problem.kernel(), problem.scale()));
        if self.stream.kernel().is_some() {
            let pool = problem.rows().len();
            lines.push(format!(
                "scale and bandwidth are those of the first {pool} rows; the rows are selected from {pool} drawn with seed {}",
                problem.choose().compute.seed,
                pool = count(pool)
            ));
        }
        let names = Names::default().columns(self.names.iter().map(String::as_str));
        for advice in problem.advice().iter().chain(&chosen.advice) {
            let kind = if advice.is_note() { "note" } else { "warning" };
            lines.push(format!("{kind}: {}", advice.sentence(Style::Command, &names)));
        }
        if chosen.ended == Ended::Exhausted {
            lines.push("warning: there are no more rows".to_string());
        }
        lines.join("\n  ") + "\n"
    }

    fn refused(&self, error: supersample::Error) -> Error {
        let names = Names::default().columns(self.names.iter().map(String::as_str));
        words::refused(error, &names.weight_column(self.plan.draws.weight_column()))
    }
}

/// A pipe of text, of which a part is read at a time.
struct Piped<'a> {
    /// Its first line.
    head: Vec<u8>,
    path: &'a Path,
    progress: &'a Progress,
}

/// Some whole lines of a pipe.
struct Lines {
    text: Vec<u8>,
    /// Where rows end: lines that are blank, or within quotes, belong to the row before.
    ends: Vec<usize>,
}

impl Lines {
    /// Reads up to this number of rows; `None` at the end of the pipe.
    fn read(pipe: &mut Pipe, wanted: usize) -> Result<Option<Lines>> {
        let (mut text, mut ends) = (Vec::new(), Vec::new());
        let (mut is_quoted, mut lines) = (false, 0);
        while (ends.len() < wanted || is_quoted) && lines < wanted + AT_ONCE {
            let start = text.len();
            if pipe.read_until(b'\n', &mut text)? == 0 {
                break;
            }
            let line = &text[start..];
            if interrupt::requested() && !line.ends_with(b"\n") {
                // The end of the row has not come.
                text.truncate(start);
                break;
            }
            let is_blank = !is_quoted && line.trim_ascii().is_empty();
            let goes_on = is_quoted;
            is_quoted ^= line.iter().filter(|byte| **byte == b'"').count() % 2 == 1;
            if is_blank && ends.is_empty() {
                text.truncate(start);
                continue;
            }
            lines += 1;
            match ends.last_mut() {
                Some(end) if is_blank || goes_on => *end = text.len(),
                _ => ends.push(text.len()),
            }
        }
        Ok((!ends.is_empty()).then_some(Lines { text, ends }))
    }

    /// The rows from one to before another.
    fn between(&self, from: usize, to: usize) -> &[u8] {
        let start = if from == 0 { 0 } else { self.ends[from - 1] };
        &self.text[start..self.ends[to - 1]]
    }
}

/// An error about a temporary file, said of the pipe whose rows after these it holds.
fn named(error: &Error, part: &Path, path: &Path, first: usize) -> Error {
    let text = words::said(error).replace(&part.display().to_string(), &path.display().to_string());
    match first {
        0 => anyhow::anyhow!(text),
        _ => anyhow::anyhow!("{text} (lines are counted from the one after row {})", count(first - 1)),
    }
}

/// The number of rows of a file all of which were left out.
fn all_missing(error: &Error) -> Option<usize> {
    match error.downcast_ref()? {
        supersample_io::Error::InFile { error, .. } => match **error {
            supersample_io::Error::AllMissing { rows } => Some(rows),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a pipe that begins so is text that can be cut at the ends of lines: not packed, and without comments, by which files of CmdStan say
/// which rows are warm-up.
fn is_plain_text(start: &[u8]) -> bool {
    let is_text = |byte: &u8| *byte >= 0x80 || byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    let first = start.first().is_some_and(|byte| byte.is_ascii_graphic() && *byte != b'#');
    first
        && start.iter().take(64).all(is_text)
        && !BINARY.iter().any(|binary| start.starts_with(binary))
        && !start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd])
}

/// Whether a field of the line is a number.
fn has_numbers(line: &[u8]) -> bool {
    let text = String::from_utf8_lossy(line);
    text.split([',', '\t', ';', ' ']).any(|field| field.trim().trim_matches('"').parse::<f64>().is_ok())
}
