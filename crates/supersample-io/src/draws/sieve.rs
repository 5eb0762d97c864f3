//! Filter between the files and the consumer of their rows: drops rows with missing values, and checks what all files
//! share.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use supersample::words::Counting;

use crate::Result;
use crate::error::refused;
use crate::reading::{Choice, Missing};
use crate::source::Sink;

/// Passes on the rows of all files in order.
pub(super) struct Sieve<'a> {
    sink: &'a mut dyn Sink,
    missing: Missing,
    dim: usize,
    /// Number of files, and how many have been begun.
    files: usize,
    begun: usize,
    /// The first file and its columns, once it has been read.
    first: Option<(PathBuf, Choice)>,
    /// Rows of this file so far, and those of them that were left out.
    rows: usize,
    left_out: Vec<usize>,
    /// Used rows of all files so far.
    used: usize,
    values: Vec<f64>,
    weights: Vec<f64>,
    counting: Counting,
}

impl<'a> Sieve<'a> {
    pub(super) fn new(sink: &'a mut dyn Sink, missing: Missing, files: usize) -> Sieve<'a> {
        Sieve {
            sink,
            missing,
            dim: 0,
            files,
            begun: 0,
            first: None,
            rows: 0,
            left_out: Vec::new(),
            used: 0,
            values: Vec::new(),
            weights: Vec::new(),
            counting: Counting::default(),
        }
    }

    /// The next file begins.
    pub(super) fn next_file(&mut self) {
        self.begun += 1;
        self.rows = 0;
        self.left_out.clear();
    }

    /// From here on the columns must be those of this file.
    pub(super) fn expect_columns(&mut self, path: &Path, choice: &Choice) {
        self.first = Some((path.to_path_buf(), choice.clone()));
    }

    /// The rows of the file that were left out.
    pub(super) fn take_left_out(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.left_out)
    }

    /// Which columns count their rows.
    pub(super) fn counting(self) -> Counting {
        self.counting
    }
}

impl Sink for Sieve<'_> {
    fn begin(&mut self, choice: &Choice) -> Result<()> {
        if let Some((path, first)) = &self.first {
            check_columns(path, first, choice)?;
        }
        self.dim = choice.columns.len();
        self.sink.begin(choice)
    }

    fn expect(&mut self, numbers: usize) {
        self.sink.expect(numbers);
    }

    fn take(&mut self, values: &[f64], weights: &[f64], part: f64) -> Result<()> {
        let part = (self.begun as f64 - 1.0 + part) / self.files as f64;
        let is_missing = |value: &f64| value.is_nan();
        let are_whole = !values.iter().any(is_missing) && !weights.iter().any(is_missing);
        if self.missing != Missing::Kept || are_whole {
            self.rows += values.len() / self.dim;
            self.used += values.len() / self.dim;
            self.counting.see(values, self.dim);
            return self.sink.take(values, weights, part);
        }
        self.values.clear();
        self.weights.clear();
        for (i, row) in values.chunks_exact(self.dim).enumerate() {
            let weight = weights.get(i);
            match row.iter().chain(weight).any(is_missing) {
                true => {
                    self.left_out.push(self.rows);
                    self.sink.leave_out(self.used);
                }
                false => {
                    self.used += 1;
                    self.values.extend_from_slice(row);
                    self.weights.extend(weight);
                }
            }
            self.rows += 1;
        }
        self.counting.see(&self.values, self.dim);
        self.sink.take(&self.values, &self.weights, part)
    }
}

fn check_columns(path: &Path, first: &Choice, other: &Choice) -> Result<()> {
    let is_number = |choice: &Choice, i: &usize| choice.columns.binary_search(i).is_ok();
    let difference = match (0..first.names.len()).find(|i| is_number(first, i) != is_number(other, i)) {
        _ if first.names != other.names => difference(&first.names, &other.names),
        Some(i) => format!("'{}' holds numbers in only one of them", crate::words::shown(&first.names[i])),
        None => return Ok(()),
    };
    let first = path.display();
    Err(refused!(
        "the columns are not those of {first}: {difference}; chains of one run have the same columns"
    ))
}

/// In what two lists of names differ, in a few words.
fn difference(first: &[String], other: &[String]) -> String {
    let missing = |from: &[String], of: &[String]| {
        let known: HashSet<&String> = from.iter().collect();
        of.iter().find(|name| !known.contains(name)).cloned()
    };
    match (missing(other, first), missing(first, other)) {
        (Some(name), _) => format!("'{name}' is missing"),
        (None, Some(name)) => format!("'{name}' is new"),
        (None, None) => "their order differs".to_string(),
    }
}
