//! Verb `stream`: rows of files or of a pipe, each read once, and the subset of those so far.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::ops::ControlFlow;
use std::path::Path;

use anyhow::{Context, Error, Result, bail, ensure};
use supersample::task::stream::Stream;
use supersample::task::{Chosen, Ended, Measure, Target};
use supersample::{Points, Watch, unwatched};
use supersample_io::{Batch, BatchSize, Column, Draws, Format, Frame, OutputFormat};
use tempfile::NamedTempFile;

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
}

/// Carries out a plan of `stream`.
pub(crate) fn stream(plan: &StreamPlan) -> Result<Outcome> {
    check_stdout(&plan.outputs);
    with_outputs(&plan.outputs, plan.threads, plan.quiet, |files| {
        let stream = Stream::new(plan.choose.clone())?;
        let mut state = State { plan, stream, names: Vec::new(), next: plan.every, has_written: false };
        let progress = Progress::percent(plan.quiet, "reading once");
        interrupt::can_end_early(true);
        let read = state.read(&progress);
        drop(progress);
        let is_interrupted = interrupt::requested();
        // After one that has ended the input, the next Ctrl-C ends the program.
        interrupt::can_end_early(!is_interrupted);
        if !is_interrupted {
            read?;
        }
        ensure!(!is_interrupted || state.stream.rows() > 0, supersample::Error::Interrupted);
        ensure!(state.stream.rows() > 0, "the input has no rows");
        let (target, chosen) = state.chosen(&|_| {
            if is_interrupted { ControlFlow::Continue(()) } else { interrupt::asked_to_end() }
        })?;
        let is_interrupted = is_interrupted || chosen.ended == Ended::Interrupted;
        // What this run has written before may be replaced.
        files.is_partial = is_interrupted && !state.has_written;
        state.write(files, &target, &chosen);
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
            return self.read_files(files, progress);
        }
        for path in files {
            match is_pipe(path) {
                true if path.as_os_str() == "-" => self.read_pipe(path, io::stdin().lock(), progress)?,
                true => {
                    let file = File::open(path).with_context(|| path.display().to_string())?;
                    self.read_pipe(path, BufReader::new(file), progress)?;
                }
                false => self.read_files(&[path], progress)?,
            }
        }
        Ok(())
    }

    /// Adds the rows of files. How far it has come is said unless a file is a part of something longer.
    fn read_files(&mut self, files: &[impl AsRef<Path>], progress: &Progress) -> Result<()> {
        let reading = self.plan.draws.reading();
        Draws::check_batches(files, &reading)?;
        let mut outcome = Ok(());
        let read = Draws::in_batches(files, &reading, BatchSize::Bytes(BATCH_BYTES), &mut |batch| {
            progress.part(batch.fraction);
            outcome = self.add(&batch);
            if outcome.is_ok() { interrupt::asked_to_end() } else { ControlFlow::Break(()) }
        });
        outcome?;
        read?;
        Ok(())
    }

    /// Adds the rows of a pipe as they come if they are text, which can be cut at the ends of lines.
    fn read_pipe(&mut self, path: &Path, mut pipe: impl BufRead, progress: &Progress) -> Result<()> {
        let mut part = NamedTempFile::new().context("a temporary file cannot be made")?;
        let is_text = is_plain_text(pipe.fill_buf()?) && self.plan.draws.format.is_none_or(Format::is_text);
        let named = |error: Error, part: &NamedTempFile, first: usize| {
            let text =
                words::said(&error).replace(&part.path().display().to_string(), &path.display().to_string());
            match first {
                0 => anyhow::anyhow!(text),
                _ => {
                    anyhow::anyhow!("{text} (lines are counted from the one after row {})", count(first - 1))
                }
            }
        };
        if !is_text {
            io::copy(&mut pipe, part.as_file_mut())
                .context("the pipe cannot be copied to a temporary file")?;
            return self.read_files(&[part.path()], progress).map_err(|error| named(error, &part, 0));
        }
        let mut head = Vec::new();
        pipe.read_until(b'\n', &mut head)?;
        if has_numbers(&head) {
            bail!("{}: the first line of a pipe must have the names of the columns", path.display());
        }
        loop {
            let first = self.stream.rows();
            let left = self.next.map_or(AT_ONCE, |next| (next - first).clamp(1, AT_ONCE));
            let mut lines = head.clone();
            let mut found = 0;
            while found < left && pipe.read_until(b'\n', &mut lines)? > 0 {
                found += 1;
            }
            if found == 0 {
                return Ok(());
            }
            part = NamedTempFile::new().context("a temporary file cannot be made")?;
            part.write_all(&lines).context("a temporary file cannot be written")?;
            self.read_files(&[part.path()], progress).map_err(|error| named(error, &part, first))?;
            if interrupt::requested() {
                return Ok(());
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

    fn write(&self, files: &mut Files, target: &Target, chosen: &Chosen) {
        let format = self.plan.outputs.target.unwrap_or(OutputFormat::plain(Format::Text));
        files.write_rows(|out| {
            let points = target.select(&chosen.rows)?;
            Ok(self.frame(&points, &chosen.rows, format.format).write_as(format, out)?)
        });
        if let Some(indices) = files.indices.take() {
            files
                .put(indices, "", |out| Ok(chosen.rows.iter().try_for_each(|row| writeln!(out, "{row}"))?));
        }
    }

    /// The used columns of the rows, and their numbers where the format has names.
    fn frame(&self, points: &Points, rows: &[usize], format: Format) -> Frame {
        let column = |j: usize| Column::doubles(points.rows().map(move |row| row[j]));
        let named = self.names.iter().enumerate().map(|(j, name)| (name.clone(), column(j)));
        let mut columns: Vec<(String, Column)> = named.collect();
        if format != Format::Npy && !self.names.iter().any(|name| name == "row") {
            columns.push(("row".to_string(), Column::integers(rows.iter().copied())));
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
