//! Draws as text: a header with the column names, then one line for each draw; CmdStan's files are a dialect of it.
//!
//! A file is read in blocks. While the next block comes in, the records of the last are parsed by all threads, and only
//! numbers stay in memory. Chosen rows are fetched by a second pass, for which the place of one row in 64 is kept.

mod chunk;
mod found_rows;
mod head;
mod records;
mod stan;

use std::io::{Read, Write};

use memchr::{memchr, memchr_iter, memrchr};
use rayon::prelude::*;

use self::chunk::Role;
use self::chunk::{Chunk, Trouble, TroubleKind};
pub(crate) use self::found_rows::TextSource;
use self::head::Head;
pub(crate) use self::records::quoted;
use self::records::{Dialect, End};
use crate::error::refused;
use crate::frame::Frame;
use crate::origin::Origin;
use crate::reading::{Choice, Missing};
use crate::source::{Dress, ExpectedSize, FileRead, Sink};
use crate::words::shown;
use crate::{Error, Note, Place, Reading, Result};

/// Bytes read at a time: many pieces, and little next to any limit on memory, since two blocks and the numbers of one are
/// in memory at once.
const BLOCK: usize = 4 << 20;
/// The most that is read of a file of long lines before the use of its columns is decided.
const FIRST_BLOCK: usize = 4 * BLOCK;
/// Bytes read to estimate the size of a file, repeated while they hold fewer lines than [`LINES_OF_LOOK`].
const LOOK: usize = 256 << 10;
const LINES_OF_LOOK: usize = 20;
/// Bytes parsed at a time: about a millisecond of work, so that threads end together.
const PIECE: usize = 128 << 10;
/// Longest record; a longer one has lost a quote or is not text.
const LONGEST_RECORD: usize = 256 << 20;

/// Reads a file of text.
pub(crate) fn read(
    origin: Origin,
    reading: &Reading<'_>,
    missing: Missing,
    sink: &mut dyn Sink,
) -> Result<FileRead> {
    let mut blocks = Blocks { stream: origin.reader(0)?, size: BLOCK, is_over: false };
    let mut block = Vec::new();
    blocks.extend(&mut block)?;
    let head = Head::new(&mut block, &mut blocks, reading)?;
    let Head { dialect, names, line: header, line_break, start, lines, stan } = head;
    let rows_seen = |block: &[u8]| memchr_iter(dialect.terminator, &block[start..]).count();
    while !blocks.is_over && block.len() < FIRST_BLOCK && rows_seen(&block) < chunk::ROWS_LOOKED_AT {
        blocks.extend(&mut block)?;
    }
    let mut notes = Vec::new();
    if head::are_counted(&names) {
        notes.push(Note::CountedHeader { first: usize::from(names[0] != "0") });
    }
    let first_row = first_record(&block[start..], dialect);
    let mean_rows = usize::from(!first_row.is_empty() && stan::starts_with_mean(stan, &names, &first_row));
    let choice = choose(names, &block[start..], dialect, reading)?;
    sink.begin(&choice)?;
    let mut roles = vec![Role::Skipped; choice.names.len()];
    for (column, is_weight) in choice.wanted() {
        roles[column] = if is_weight { Role::Weight } else { Role::Number };
    }
    let warmup_rows = if reading.keep_warmup { 0 } else { stan.map_or(0, |run| run.warmup_rows()) };
    let mut read = Rows {
        columns: choice.columns.len(),
        has_weights: choice.weight.is_some(),
        left_out: warmup_rows + mean_rows,
        lines,
        ..Rows::default()
    };
    let (mut offset, mut at) = (start as u64, start);
    loop {
        let is_last = blocks.is_over;
        let pieces = split(&block[at..], dialect, is_last);
        let end = at + pieces.last().map_or(0, |piece| piece.1);
        if end == at && !is_last {
            // Not one whole record: more is needed, unless it never ends.
            if block.len() - at > LONGEST_RECORD {
                let (row, line) = (read.rows + 1, read.lines + 1);
                return Err(endless(dialect.record_end(&block, at), row, line));
            }
            blocks.extend(&mut block)?;
            continue;
        }
        let mut next = block[end..].to_vec();
        let (chunks, more) = rayon::join(
            || parse(&block[at..end], &pieces, dialect, &roles, missing),
            || if is_last { Ok(()) } else { blocks.extend(&mut next) },
        );
        let bytes_of_file = origin.len().max(1) as f64;
        for ((chunk, trouble), (piece, end)) in chunks.into_iter().zip(&pieces) {
            // A packed file does not say how far it is but by what has been taken of it.
            let part = match origin.packing() {
                None => (offset + *end as u64) as f64 / bytes_of_file,
                Some(_) => origin.unpacked() as f64 / bytes_of_file,
            };
            read.append(&chunk, offset + *piece as u64, part.min(1.0), sink)?;
            if let Some(trouble) = trouble {
                return Err(read.explain(trouble, &choice));
            }
        }
        more?;
        offset += (end - at) as u64;
        if origin.packing().is_none() && offset > 0 {
            // Reserved, so that the numbers are not moved repeatedly.
            let rows = read.rows as f64 * (origin.len() as f64 / offset as f64) * 1.01;
            sink.expect((rows as usize).saturating_mul(read.columns));
        }
        if is_last {
            break;
        }
        (block, at) = (next, 0);
    }
    let warmup = warmup_rows.min(read.rows);
    let skipped = warmup + mean_rows;
    // CmdStan ends every line; a file that ends within one was cut, and its last number may be wrong.
    if stan.is_some() && block.last().is_some_and(|&byte| byte != dialect.terminator) {
        let line = read.lines + usize::from(read.rows == 0);
        return Err(refused!(
            "the file ends in the middle of line {line}, so the run that wrote it was stopped; delete that line to \
             use the rows above"
        ));
    }
    if read.rows == skipped {
        let all_warmup = refused!(
            "all {warmup} rows are warm-up, as the settings in the file say; use them with --warmup"
        );
        return Err(if warmup == 0 { Error::NoRows } else { all_warmup });
    }
    let source = TextSource { header, line_break, origin, dialect, marks: read.marks, skipped };
    Ok(FileRead {
        rows: read.rows - skipped,
        has_warmup: stan.is_some_and(|run| run.warmup_rows() > 0),
        choice,
        warmup,
        mean_rows,
        draws_per_chain: None,
        notes,
        source: Box::new(source),
    })
}

/// What is wrong with a record that does not end within [`LONGEST_RECORD`].
fn endless(end: End, row: usize, line: usize) -> Error {
    match end {
        End::InQuote => Error::UnclosedQuote { row, line },
        _ => Error::LongLine { line, bytes: LONGEST_RECORD as u64 },
    }
}

/// Which columns are read for what, by their names and by what the first rows hold.
fn choose(names: Vec<String>, rows: &[u8], dialect: Dialect, reading: &Reading<'_>) -> Result<Choice> {
    let (found, example) = chunk::found(rows, dialect, names.len());
    let is_for_want_of_numbers = !found.contains(&None);
    let Some((column, text)) =
        example.filter(|_| is_for_want_of_numbers && reading.selection.only().is_none())
    else {
        return reading.choose(names, &found);
    };
    // A file without any numbers gets its own error, not one about its first cell.
    let has_comma = text.contains(',') && text.replacen(',', ".", 1).parse::<f64>().is_ok();
    let remedy = match (has_comma, names.len()) {
        (true, _) => "decimal commas are not read: write points",
        (false, 1) => "if another character separates the columns, name it with --separator",
        _ => "a table of draws has one number in each cell",
    };
    Err(refused!(
        "no column is left to use: no cell is a number (the first of column '{}' is '{}'); {remedy}",
        shown(&names[column]),
        shown(&text)
    ))
}

/// The fields of the first record among these bytes; none where there is no record.
fn first_record(bytes: &[u8], dialect: Dialect) -> Vec<String> {
    let mut at = 0;
    while at < bytes.len() {
        let end = match dialect.record_end(bytes, at) {
            End::At(end) => end,
            _ => bytes.len(),
        };
        if !dialect.is_passed_over(bytes, at) {
            return dialect.fields(&bytes[at..end]).iter().map(|field| field.lossy_text()).collect();
        }
        at = end;
    }
    Vec::new()
}

/// Estimated size of a file from its first lines and its length; `None` for a compressed file.
pub(crate) fn expected(origin: &Origin, reading: &Reading<'_>) -> Result<Option<ExpectedSize>> {
    if origin.packing().is_some() {
        return Ok(None);
    }
    let mut blocks = Blocks { stream: origin.reader(0)?, size: LOOK, is_over: false };
    let mut block = Vec::new();
    blocks.extend(&mut block)?;
    let head = Head::new(&mut block, &mut blocks, reading)?;
    let lines_of = |block: &[u8]| memchr_iter(head.dialect.terminator, &block[head.start..]).count();
    while lines_of(&block) < LINES_OF_LOOK && !blocks.is_over && block.len() < BLOCK {
        blocks.extend(&mut block)?;
    }
    let Some(last) = memrchr(head.dialect.terminator, &block[head.start..]) else { return Ok(None) };
    let line = (last + 1) as f64 / lines_of(&block) as f64;
    let columns = choose(head.names, &block[head.start..], head.dialect, reading)?.columns.len();
    let rows = ((origin.len() as f64 - head.start as f64) / line).round() as usize;
    Ok(Some(ExpectedSize { rows, columns, is_single: false, block_bytes: 0 }))
}

/// The stream of a file, a block at a time.
struct Blocks {
    stream: Box<dyn Read + Send>,
    size: usize,
    is_over: bool,
}

impl Blocks {
    /// Adds a block to the buffer.
    fn extend(&mut self, buffer: &mut Vec<u8>) -> Result<()> {
        buffer.reserve_exact(self.size);
        let got = (&mut self.stream).take(self.size as u64).read_to_end(buffer).map_err(Error::Unreadable)?;
        self.is_over = got < self.size;
        Ok(())
    }
}

/// Pieces of whole records, as ranges of the bytes; the rest is the start of a record that continues.
fn split(bytes: &[u8], dialect: Dialect, is_last: bool) -> Vec<(usize, usize)> {
    let mut pieces = Vec::new();
    let mut start = 0;
    if memchr(b'"', bytes).is_none() {
        // Without quotes every line break ends a record.
        while start < bytes.len() {
            let reach = (start + PIECE).min(bytes.len());
            let end = match memchr(dialect.terminator, &bytes[reach..]) {
                Some(found) => reach + found + 1,
                None if is_last => bytes.len(),
                None => match memrchr(dialect.terminator, &bytes[start..]) {
                    Some(found) => start + found + 1,
                    None => break,
                },
            };
            pieces.push((start, end));
            start = end;
        }
        return pieces;
    }
    let mut at = 0;
    while at < bytes.len() {
        match dialect.record_end(bytes, at) {
            End::At(end) => at = end,
            _ if is_last => at = bytes.len(),
            _ => break,
        }
        if at - start >= PIECE {
            pieces.push((start, at));
            start = at;
        }
    }
    if at > start {
        pieces.push((start, at));
    }
    pieces
}

/// Parses the pieces; each gives the rows before any trouble, and the trouble.
fn parse(
    bytes: &[u8],
    pieces: &[(usize, usize)],
    dialect: Dialect,
    roles: &[Role],
    missing: Missing,
) -> Vec<(Chunk, Option<Trouble>)> {
    let one = |&(start, end): &(usize, usize)| match chunk::read(&bytes[start..end], dialect, roles, missing)
    {
        Ok(chunk) => (chunk, None),
        Err(trouble) => (Chunk::default(), Some(trouble)),
    };
    pieces.par_iter().map(one).collect()
}

/// Progress of the reading.
#[derive(Default)]
struct Rows {
    columns: usize,
    has_weights: bool,
    /// Rows at the top that are not passed on.
    left_out: usize,
    rows: usize,
    lines: usize,
    marks: Vec<(u64, u64)>,
}

impl Rows {
    fn append(&mut self, chunk: &Chunk, offset: u64, part: f64, sink: &mut dyn Sink) -> Result<()> {
        let marks = chunk.marks.iter().map(|&(row, at)| ((self.rows + row) as u64, offset + at as u64));
        self.marks.extend(marks);
        let skipped = self.left_out.saturating_sub(self.rows).min(chunk.rows);
        self.rows += chunk.rows;
        self.lines += chunk.lines;
        let weights = if self.has_weights { &chunk.weights[skipped..] } else { &[] };
        sink.take(&chunk.values[skipped * self.columns..], weights, part)
    }

    fn explain(&self, trouble: Trouble, choice: &Choice) -> Error {
        let (row, line) = (self.rows + trouble.row + 1, self.lines + trouble.line + 1);
        match trouble.kind {
            TroubleKind::Ragged { found } => refused!(
                "row {row} (line {line}) has {found} fields, but the header has {}; fix that line or quote fields \
                 that contain the separator",
                choice.names.len()
            ),
            TroubleKind::NotUtf8 => Error::NotUtf8 { line },
            TroubleKind::UnclosedQuote => Error::UnclosedQuote { row, line },
            TroubleKind::Cell { column, cell, text } => {
                let place = Place { row, line: Some(line), column: choice.names[column].clone() };
                cell.refused(place, text, choice.weight == Some(column))
            }
        }
    }
}

/// Writes a header and a line for each row.
pub(crate) fn write_frame(frame: &Frame, dress: &Dress, out: &mut dyn Write) -> Result<()> {
    let separator = dress.separator.unwrap_or(b',');
    let mut line = |cells: &mut dyn Iterator<Item = String>| -> Result<()> {
        for (i, cell) in cells.enumerate() {
            if i > 0 {
                out.write_all(&[separator])?;
            }
            out.write_all(quoted(&cell, separator).as_bytes())?;
        }
        Ok(out.write_all(b"\n")?)
    };
    line(&mut frame.columns.iter().map(|(name, _)| name.clone()))?;
    (0..frame.len()).try_for_each(|row| line(&mut frame.columns.iter().map(|(_, column)| column.text(row))))
}

#[cfg(test)]
mod tests;
