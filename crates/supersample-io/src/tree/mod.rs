//! Trees of groups of named arrays with named dimensions: what NetCDF and Zarr hold, and how draws are read from them.
//!
//! A format is a [`Store`]: it opens a file as a [`Group`] and reads blocks of its arrays. `draws.rs` decides which
//! arrays are draws, `read.rs` reads them, and `cut.rs` reduces the tree to chosen draws.

mod cells;
mod cut;
mod draws;
mod labels;
mod read;

use std::fmt;
use std::io::Write;
use std::ops::Range;

pub(crate) use self::cells::{Cells, Kind};
pub(crate) use self::cut::{Cut, of_frame};
pub(crate) use self::read::{TreeSource, expected, read};
use crate::{Error, Format, Result};

/// A group: its arrays, its attributes and the groups in it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, Attribute)>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) groups: Vec<Group>,
}

/// An array with named dimensions.
#[derive(Debug, Clone)]
pub(crate) struct Variable {
    pub(crate) name: String,
    /// Where the store finds it.
    pub(crate) path: String,
    /// `None` for cells that are neither numbers nor text.
    pub(crate) kind: Option<Kind>,
    pub(crate) dims: Vec<String>,
    pub(crate) shape: Vec<usize>,
    pub(crate) attributes: Vec<(String, Attribute)>,
    /// The index of one more axis of the store, which is not among the dimensions.
    pub(crate) fixed: Option<usize>,
    /// Bytes of the largest part that is read at once; 0 if parts are small.
    pub(crate) chunk_bytes: u64,
}

/// Value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Attribute {
    /// One cell, or a list of cells.
    Cells { cells: Cells, is_list: bool },
    /// As Zarr stores it.
    Json(serde_json::Value),
}

/// A file whose arrays can be read in blocks.
pub(crate) trait Store: fmt::Debug + Send + Sync {
    /// The cells of these ranges, one for each dimension, in C order.
    fn read(&self, variable: &Variable, ranges: &[Range<usize>]) -> Result<Cells>;

    /// The most bytes that arrays of this store can have in memory, from the bytes that exist.
    fn most_bytes(&self) -> u64;
}

/// A store and what it holds.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) root: Group,
    pub(crate) store: Box<dyn Store>,
    /// The version of a Zarr store.
    pub(crate) zarr_format: Option<u8>,
}

/// Name of the attribute with the value of missing cells.
pub(crate) const FILL: &str = "_FillValue";

impl Attribute {
    pub(crate) fn text(text: &str) -> Attribute {
        Attribute::Cells { cells: Cells::Text(vec![text.to_string()]), is_list: false }
    }

    /// The text, if it is one.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Attribute::Cells { cells: Cells::Text(texts), .. } if texts.len() == 1 => Some(&texts[0]),
            Attribute::Json(value) => value.as_str(),
            _ => None,
        }
    }

    /// The numbers; empty if there are none.
    pub(crate) fn numbers(&self) -> Vec<f64> {
        match self {
            Attribute::Cells { cells, .. } => cells.numbers(),
            Attribute::Json(serde_json::Value::Array(values)) => {
                values.iter().filter_map(serde_json::Value::as_f64).collect()
            }
            Attribute::Json(value) => value.as_f64().into_iter().collect(),
        }
    }
}

impl Group {
    /// The variable of this name.
    pub(crate) fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|variable| variable.name == name)
    }
}

impl Variable {
    pub(crate) fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|(other, _)| other == name).map(|(_, value)| value)
    }

    /// Bytes of all cells; `None` if they cannot be counted.
    pub(crate) fn bytes(&self) -> Option<u64> {
        let size = self.kind.map_or(1, Kind::size) as u64;
        self.shape.iter().try_fold(size, |bytes, &n| bytes.checked_mul(n as u64))
    }

    /// The ranges of the whole array.
    pub(crate) fn whole(&self) -> Vec<Range<usize>> {
        self.shape.iter().map(|&n| 0..n).collect()
    }
}

/// All indices within these ranges, the last axis first.
pub(crate) fn indices(ranges: &[Range<usize>]) -> impl Iterator<Item = Vec<usize>> {
    let ranges = ranges.to_vec();
    let mut next = ranges
        .iter()
        .all(|range| !range.is_empty())
        .then(|| ranges.iter().map(|range| range.start).collect::<Vec<usize>>());
    std::iter::from_fn(move || {
        let now = next.take()?;
        let mut after = now.clone();
        for at in (0..ranges.len()).rev() {
            after[at] += 1;
            if after[at] < ranges[at].end {
                next = Some(after);
                break;
            }
            after[at] = ranges[at].start;
        }
        Some(now)
    })
}

/// The places of the cells of these ranges in an array of this shape, in C order.
pub(crate) fn places(shape: &[usize], ranges: &[Range<usize>]) -> Vec<usize> {
    let Some((last, rest)) = ranges.split_last() else { return vec![0] };
    let mut strides = vec![1; shape.len()];
    (1..shape.len()).rev().for_each(|i| strides[i - 1] = strides[i] * shape[i]);
    let mut places = Vec::with_capacity(ranges.iter().map(Range::len).product());
    for index in indices(rest) {
        let start: usize = index.iter().zip(&strides).map(|(i, stride)| i * stride).sum();
        places.extend(last.clone().map(|i| start + i));
    }
    places
}

impl TreeSource {
    /// Writes the tree with these rows alone.
    pub(crate) fn write_rows(
        &self,
        rows: &[usize],
        weights: Option<&[f64]>,
        format: Format,
        out: &mut dyn Write,
    ) -> Result<()> {
        let cut = self.cut(rows, weights)?;
        match format {
            #[cfg(feature = "netcdf")]
            Format::NetCdf => crate::netcdf::write(&cut, out),
            #[cfg(feature = "zarr")]
            Format::Zarr => crate::zarr::write(&cut, self.opened.zarr_format, out),
            _ => Err(Error::Changed),
        }
    }
}
