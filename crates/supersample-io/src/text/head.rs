//! Heads of files of text: remarks, the names, and how the file is laid out.

use memchr::memchr;

use super::records::{Dialect, End, without_break};
use super::stan::StanRun;
use super::{Blocks, LONGEST_RECORD, endless};
use crate::error::{refused, utf8};
use crate::words::shown;
use crate::{Error, Reading, Result};

/// What stands above the first row.
pub(super) struct Head {
    pub(super) dialect: Dialect,
    pub(super) names: Vec<String>,
    pub(super) line: Vec<u8>,
    pub(super) line_break: &'static [u8],
    /// Where the first row starts, and how many lines are above it.
    pub(super) start: usize,
    pub(super) lines: usize,
    pub(super) stan: Option<StanRun>,
}

impl Head {
    pub(super) fn new(block: &mut Vec<u8>, blocks: &mut Blocks, reading: &Reading<'_>) -> Result<Head> {
        let mut at = if block.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let terminator = match (memchr(b'\n', block), memchr(b'\r', block)) {
            (None, Some(_)) => b'\r',
            _ => b'\n',
        };
        // Remarks and blank lines above the header.
        let mut lines = 0;
        let mut remarks = Vec::new();
        while at == block.len() && !blocks.is_over || matches!(block.get(at), Some(b'\n' | b'\r' | b'#')) {
            let Some(length) = memchr(terminator, &block[at..]) else {
                match blocks.is_over {
                    true => return Err(Error::Empty),
                    false if block.len() - at > LONGEST_RECORD => {
                        return Err(endless(End::Beyond, 0, lines + 1));
                    }
                    false => blocks.extend(block)?,
                }
                continue;
            };
            if block[at] == b'#' {
                remarks.extend_from_slice(&block[at..at + length + 1]);
            }
            at += length + 1;
            lines += 1;
        }
        if at == block.len() {
            return Err(Error::Empty);
        }
        let stan = StanRun::of_remarks(&String::from_utf8_lossy(&remarks));
        let has_remarks = stan.is_some() || block[at..].starts_with(b"lp__,");
        let (line, start) = loop {
            let undecided = Dialect { separator: b',', terminator, has_remarks };
            match undecided.record_end(block, at) {
                End::At(end) => break (block[at..end].to_vec(), end),
                _ if blocks.is_over => break (block[at..].to_vec(), block.len()),
                _ if block.len() > LONGEST_RECORD => {
                    return Err(endless(undecided.record_end(block, at), 0, lines + 1));
                }
                _ => blocks.extend(block)?,
            }
        };
        let text = without_break(&line);
        if text.contains(&0) {
            return Err(Error::NotUtf8 { line: lines + 1 });
        }
        utf8(text).map_err(|_| Error::NotUtf8 { line: lines + 1 })?;
        let line_break: &[u8] = match &line[text.len()..] {
            [b'\r', b'\n', ..] => b"\r\n",
            [b'\r', ..] => b"\r",
            _ => b"\n",
        };
        let separator = reading.separator.unwrap_or_else(|| separator_of(text, &block[start..], terminator));
        let dialect = Dialect { separator, terminator, has_remarks };
        let names: Vec<String> =
            dialect.fields(text).iter().map(|field| field.text().expect("the header is UTF-8")).collect();
        check_names(&names)?;
        let lines = lines + line.iter().filter(|&&byte| byte == terminator).count().max(1);
        Ok(Head { dialect, names, line: text.to_vec(), line_break, start, lines, stan })
    }
}

/// The separator under which the header and the first row agree, or else the one the header has most of.
fn separator_of(header: &[u8], rest: &[u8], terminator: u8) -> u8 {
    let first = rest
        .split(|&byte| byte == terminator)
        .map(without_break)
        .find(|line| !line.is_empty() && line[0] != b'#');
    let count = |separator, line| Dialect { separator, terminator, has_remarks: false }.fields(line).len();
    let mut best = (false, 1, b',');
    for separator in [b',', b'\t', b';', b'|', b' '] {
        let fields = count(separator, header);
        let agrees = first.is_some_and(|line| count(separator, line) == fields);
        // Names may contain spaces; only a row of as many parts says that they separate.
        if fields > 1 && (agrees || separator != b' ') && (agrees, fields) > (best.0, best.1) {
            best = (agrees, fields, separator);
        }
    }
    best.2
}

fn check_names(names: &[String]) -> Result<()> {
    // pandas names the columns of a bare array 0, 1, 2, …; any other numbers are the first draw of a file without names.
    let are_numbers = names.iter().all(|name| name.parse::<f64>().is_ok());
    if are_numbers && !are_counted(names) {
        return Err(refused!(
            "the first line holds numbers ('{}', …), not column names; put a header line above it",
            shown(&names[0])
        ));
    }
    Ok(())
}

/// Whether the names are 0, 1, 2, … or 1, 2, 3, …
pub(super) fn are_counted(names: &[String]) -> bool {
    [0, 1]
        .into_iter()
        .any(|first| names.iter().enumerate().all(|(at, name)| *name == (first + at).to_string()))
}
