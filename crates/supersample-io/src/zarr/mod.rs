//! Zarr stores, versions 2 and 3, in a folder: arrays in chunks, each a file, and JSON that says what they are.

mod array;
mod blosc;
mod codec;
mod nodes;
mod write;

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use self::array::Array;
pub(crate) use self::nodes::is_store;
use self::nodes::nodes;
pub(crate) use self::write::write;
use crate::frame::Frame;
use crate::origin::Origin;
use crate::reading::Missing;
use crate::source::{Dress, ExpectedSize, FileRead, Sink};
use crate::tree::{Cells, Group, Kind, Opened, Store, Variable, of_frame};
use crate::{Error, Reading, Result, tree};

/// Chunks that are kept, in bytes.
const CACHE: usize = 64 << 20;
/// A byte of a file holds at most this many of an array. The codecs can pack equal cells more densely, but draws are not equal.
const MOST_PACKED: u64 = 1032;
const ALWAYS: u64 = 1 << 20;

fn malformed(reason: impl ToString) -> Error {
    Error::Malformed { format: "Zarr", reason: reason.to_string() }
}

#[derive(Debug)]
struct ZarrStore {
    folder: PathBuf,
    arrays: HashMap<String, Array>,
    most_bytes: u64,
    cache: Mutex<Cache>,
}

/// The chunks that were read last.
#[derive(Debug, Default)]
struct Cache {
    chunks: Vec<(String, Option<Arc<Cells>>)>,
    bytes: usize,
}

impl Cache {
    fn find(&mut self, key: &str) -> Option<Option<Arc<Cells>>> {
        let at = self.chunks.iter().position(|(other, _)| other == key)?;
        let found = self.chunks.remove(at);
        self.chunks.push(found.clone());
        Some(found.1)
    }

    fn add(&mut self, key: String, cells: Option<Arc<Cells>>) {
        let size = |cells: &Option<Arc<Cells>>| {
            64 + cells.as_ref().map_or(0, |cells| cells.len() * cells.kind().size())
        };
        self.bytes += size(&cells);
        self.chunks.push((key, cells));
        while self.bytes > CACHE && self.chunks.len() > 1 {
            self.bytes -= size(&self.chunks.remove(0).1);
        }
    }
}

fn open(origin: &Origin) -> Result<Opened> {
    let folder = origin.folder().ok_or_else(|| malformed("it is a file, and a store is a folder"))?;
    if extent(folder).map_err(Error::Unreadable)? != (origin.len(), origin.modified()) {
        return Err(Error::Changed);
    }
    let most_bytes = origin.len().saturating_mul(MOST_PACKED).saturating_add(ALWAYS);
    let (zarr_format, nodes) = nodes(folder)?;
    let (mut root, mut arrays) = (Group::default(), HashMap::new());
    for node in nodes {
        let (above, name) = node.path.rsplit_once('/').unwrap_or(("", &node.path));
        let Some(array) = node.array else {
            group_at(&mut root, &node.path).attributes = node.attributes;
            continue;
        };
        let chunk_bytes = array.chunk_bytes().unwrap_or(u64::MAX);
        group_at(&mut root, above).variables.push(Variable {
            name: name.to_string(),
            path: node.path.clone(),
            kind: array.kind,
            dims: node.dims,
            shape: array.shape.clone(),
            attributes: node.attributes,
            fixed: None,
            chunk_bytes,
        });
        arrays.insert(node.path, array);
    }
    sort(&mut root);
    let store = ZarrStore { folder: folder.to_path_buf(), arrays, most_bytes, cache: Mutex::default() };
    Ok(Opened { root, store: Box::new(store), zarr_format: Some(zarr_format) })
}

/// Arrays and groups in the order in which zarr-python lists them.
fn sort(group: &mut Group) {
    group.variables.sort_by_key(|variable| variable.name.to_lowercase());
    group.groups.sort_by_key(|group| group.name.to_lowercase());
    group.groups.iter_mut().for_each(sort);
}

/// The group of this path, made where it is missing.
fn group_at<'a>(root: &'a mut Group, path: &str) -> &'a mut Group {
    let mut group = root;
    for name in path.split('/').filter(|name| !name.is_empty()) {
        let at = group.groups.iter().position(|group| group.name == name).unwrap_or_else(|| {
            group.groups.push(Group { name: name.to_string(), ..Group::default() });
            group.groups.len() - 1
        });
        group = &mut group.groups[at];
    }
    group
}

impl ZarrStore {
    /// The cells of a chunk; `None` if it was not written.
    fn chunk(&self, array: &Array, path: &str, index: &[usize]) -> Result<Option<Arc<Cells>>> {
        let key = array.key(path, index);
        if let Some(found) = self.cache.lock().unwrap_or_else(PoisonError::into_inner).find(&key) {
            return Ok(found);
        }
        let cells = match fs::read(self.folder.join(&key)) {
            Ok(bytes) if array.chunk_bytes().is_some_and(|bytes| bytes <= self.most_bytes) => {
                let cells = array.decode(bytes);
                let damaged = |reason| malformed(format!("the chunk {key} is damaged: {reason}"));
                Some(Arc::new(cells.map_err(damaged)?))
            }
            Ok(_) => {
                return Err(malformed(format!("the chunk {key} claims more cells than the store can hold")));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(Error::Unreadable(error)),
        };
        self.cache.lock().unwrap_or_else(PoisonError::into_inner).add(key, cells.clone());
        Ok(cells)
    }
}

impl Store for ZarrStore {
    fn read(&self, variable: &Variable, ranges: &[Range<usize>]) -> Result<Cells> {
        let array = self.arrays.get(&variable.path).ok_or(Error::Changed)?;
        let kind = array.kind.ok_or_else(|| malformed("an array is neither numbers nor text"))?;
        let shape: Vec<usize> = ranges.iter().map(Range::len).collect();
        let count = shape.iter().product();
        let mut out = array.filled(count);
        if count == 0 {
            return Ok(out);
        }
        let chunks: Vec<Range<usize>> = ranges
            .iter()
            .zip(&array.chunks)
            .map(|(range, &size)| range.start / size..range.end.div_ceil(size))
            .collect();
        for index in tree::indices(&chunks) {
            let Some(cells) = self.chunk(array, &variable.path, &index)? else { continue };
            // What this chunk and the wanted ranges share, in the numbers of the array.
            let shared: Vec<Range<usize>> = (0..ranges.len())
                .map(|i| {
                    let first = index[i] * array.chunks[i];
                    ranges[i].start.max(first)..ranges[i].end.min(first + array.chunks[i])
                })
                .collect();
            let within = |from: &dyn Fn(usize) -> usize| -> Vec<Range<usize>> {
                shared
                    .iter()
                    .enumerate()
                    .map(|(i, range)| range.start - from(i)..range.end - from(i))
                    .collect()
            };
            let from = tree::places(&array.chunks, &within(&|i| index[i] * array.chunks[i]));
            let to = tree::places(&shape, &within(&|i| ranges[i].start));
            copy(kind, &cells, &from, &mut out, &to);
        }
        Ok(out)
    }

    fn most_bytes(&self) -> u64 {
        self.most_bytes
    }
}

/// Copies cells from places to places.
fn copy(kind: Kind, cells: &Cells, from: &[usize], out: &mut Cells, to: &[usize]) {
    match (cells, out) {
        (Cells::Raw(_, cells), Cells::Raw(_, out)) => {
            let size = kind.size();
            for (&from, &to) in from.iter().zip(to) {
                out[to * size..][..size].copy_from_slice(&cells[from * size..][..size]);
            }
        }
        (Cells::Text(cells), Cells::Text(out)) => {
            from.iter().zip(to).for_each(|(&from, &to)| out[to].clone_from(&cells[from]));
        }
        _ => {}
    }
}

pub(crate) fn read(
    origin: Origin,
    reading: &Reading<'_>,
    missing: Missing,
    sink: &mut dyn Sink,
) -> Result<FileRead> {
    tree::read(open(&origin)?, reading, missing, sink)
}

pub(crate) fn expected(origin: &Origin, reading: &Reading<'_>) -> Result<Option<ExpectedSize>> {
    tree::expected(&open(origin)?, reading)
}

/// Writes columns as an archive of a store.
pub(crate) fn write_frame(frame: &Frame, _: &Dress, out: &mut dyn Write) -> Result<()> {
    write(&of_frame(frame), None, out)
}

/// Bytes of all files below a folder, and when the last of them was changed.
pub(crate) fn extent(folder: &Path) -> std::io::Result<(u64, Option<std::time::SystemTime>)> {
    fn add(
        folder: &Path,
        depth: usize,
        all: &mut (u64, Option<std::time::SystemTime>),
    ) -> std::io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            if metadata.is_dir() && depth > 0 {
                add(&entry.path(), depth - 1, all)?;
            } else if metadata.is_file() {
                all.0 += metadata.len();
                all.1 = all.1.max(metadata.modified().ok());
            }
        }
        Ok(())
    }
    let mut all = (0, None);
    add(folder, nodes::DEEPEST, &mut all)?;
    Ok(all)
}

/// Unpacks the archive of a store, as rows are written in this format, to a folder.
pub fn unpack_store(archive: &Path, folder: &Path) -> Result<()> {
    crate::npz::zip::unpack(&Origin::open(archive)?, folder)
}
