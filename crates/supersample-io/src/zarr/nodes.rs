//! Groups and arrays of a store, from its JSON: consolidated in one file, or in a file for each.

use std::fs;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::array::{Array, Stored, cell_of};
use super::codec::{Codec, name_of};
use super::malformed;
use crate::error::refused;
use crate::tree::{Attribute, Cells, FILL, Kind};
use crate::{Error, Result};

/// Groups within groups.
pub(super) const DEEPEST: usize = 32;
/// The most bytes of a file of JSON.
const MOST_JSON: u64 = 1 << 28;
const DIMS: &str = "_ARRAY_DIMENSIONS";

/// A group, or an array.
pub(super) struct Node {
    pub(super) path: String,
    pub(super) attributes: Vec<(String, Attribute)>,
    pub(super) dims: Vec<String>,
    pub(super) array: Option<Array>,
}

/// Whether a folder is a store.
pub(crate) fn is_store(folder: &Path) -> bool {
    ["zarr.json", ".zgroup", ".zmetadata", ".zarray"].iter().any(|name| folder.join(name).is_file())
}

fn json(path: &Path) -> Result<Option<Value>> {
    let metadata = match fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(Error::Unreadable)?,
    };
    if metadata.len() > MOST_JSON {
        return Err(malformed("its JSON is too long"));
    }
    let bytes = fs::read(path).map_err(Error::Unreadable)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // NumPy's words for numbers that JSON does not have.
    let text = String::from_utf8_lossy(&bytes);
    let value = serde_json::from_str(&text).or_else(|_| serde_json::from_str(&quoted_words(&text)));
    value.map(Some).map_err(|error| malformed(format!("{name} is not JSON: {error}")))
}

/// NaN and Infinity outside of strings become strings: Python writes them into JSON.
fn quoted_words(text: &str) -> String {
    let (mut out, mut is_string, mut is_escaped) = (String::new(), false, false);
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let word =
            ["NaN", "-Infinity", "Infinity"].into_iter().find(|word| !is_string && rest.starts_with(word));
        if let Some(word) = word {
            out.push_str(&format!("\"{word}\""));
            rest = &rest[word.len()..];
            continue;
        }
        if letter == '"' && !is_escaped {
            is_string = !is_string;
        }
        is_escaped = letter == '\\' && !is_escaped;
        out.push(letter);
        rest = &rest[letter.len_utf8()..];
    }
    out
}

/// The version of a store, and its groups and arrays. A group comes before what is in it.
pub(super) fn nodes(folder: &Path) -> Result<(u8, Vec<Node>)> {
    if let Some(root) = json(&folder.join("zarr.json"))? {
        let inline = root.pointer("/consolidated_metadata/metadata").and_then(Value::as_object);
        let mut all = vec![(String::new(), root.clone())];
        match inline.filter(|inline| !inline.is_empty()) {
            Some(inline) => all.extend(inline.iter().map(|(path, node)| (path.clone(), node.clone()))),
            None => walk(folder, "", DEEPEST, &mut |folder, path| {
                let node = json(&folder.join("zarr.json"))?;
                all.extend(node.map(|node| (path.to_string(), node)));
                Ok(())
            })?,
        }
        let nodes = all.into_iter().map(|(path, node)| third(checked(path)?, &node));
        return Ok((3, nodes.collect::<Result<_>>()?));
    }
    let mut all: Vec<(String, Map<String, Value>)> = Vec::new();
    let mut add = |path: &str, name: &str, value: Value| match all.iter_mut().find(|(other, _)| other == path)
    {
        Some((_, files)) => drop(files.insert(name.to_string(), value)),
        None => all.push((path.to_string(), Map::from_iter([(name.to_string(), value)]))),
    };
    match json(&folder.join(".zmetadata"))? {
        Some(all) => {
            let metadata = all.get("metadata").and_then(Value::as_object);
            for (key, value) in metadata.ok_or_else(|| malformed(".zmetadata has no metadata"))? {
                let (path, name) = key.rsplit_once('/').unwrap_or(("", key));
                add(path, name, value.clone());
            }
        }
        None => {
            let mut read = |folder: &Path, path: &str| -> Result<()> {
                for name in [".zgroup", ".zarray", ".zattrs"] {
                    if let Some(value) = json(&folder.join(name))? {
                        add(path, name, value);
                    }
                }
                Ok(())
            };
            read(folder, "")?;
            walk(folder, "", DEEPEST, &mut read)?;
        }
    }
    let nodes = all.into_iter().map(|(path, files)| second(checked(path)?, &files));
    Ok((2, nodes.collect::<Result<_>>()?))
}

/// A path that stays within the store.
fn checked(path: String) -> Result<String> {
    let is_plain =
        |name: &str| !name.is_empty() && name != "." && name != ".." && !name.contains(['\\', ':', '\0']);
    match path.is_empty() || path.split('/').all(is_plain) && path.split('/').count() <= DEEPEST {
        true => Ok(path),
        false => Err(malformed(format!("it has an array of the name '{}'", crate::words::shown(&path)))),
    }
}

/// Visits the folders of a store that are groups or arrays, in the order of their names.
fn walk(
    folder: &Path,
    path: &str,
    depth: usize,
    each: &mut dyn FnMut(&Path, &str) -> Result<()>,
) -> Result<()> {
    let entries = fs::read_dir(folder).map_err(Error::Unreadable)?;
    let mut names: Vec<String> = Vec::new();
    for entry in entries {
        let entry = entry.map_err(Error::Unreadable)?;
        names.extend(entry.file_name().into_string().ok().filter(|_| entry.path().is_dir()));
    }
    names.sort();
    for name in names {
        let below = folder.join(&name);
        let is_array = below.join(".zarray").is_file();
        if !is_store(&below) || depth == 0 {
            continue;
        }
        let path = if path.is_empty() { name } else { format!("{path}/{name}") };
        each(&below, &path)?;
        if !is_array {
            walk(&below, &path, depth - 1, each)?;
        }
    }
    Ok(())
}

fn sizes(value: Option<&Value>, path: &str) -> Result<Vec<usize>> {
    let sizes = value.and_then(Value::as_array).and_then(|sizes| {
        sizes.iter().map(|size| usize::try_from(size.as_u64()?).ok()).collect::<Option<Vec<usize>>>()
    });
    sizes
        .filter(|sizes| sizes.len() <= 32)
        .ok_or_else(|| malformed(format!("the array {path} has no shape or no chunks")))
}

fn attributes_of(value: Option<&Value>) -> Vec<(String, Attribute)> {
    let attributes = value.and_then(Value::as_object).into_iter().flatten();
    attributes.map(|(name, value)| (name.clone(), Attribute::Json(value.clone()))).collect()
}

fn dims_of(given: Option<&Value>, axes: usize) -> Vec<String> {
    let given = given.and_then(Value::as_array);
    let name = |i: usize| given.and_then(|all| all.get(i)?.as_str()).map(str::to_string);
    (0..axes).map(|i| name(i).unwrap_or_else(|| format!("dim_{i}"))).collect()
}

fn not_read(path: &str, codec: &str) -> Error {
    refused!(
        "the array '{}' is packed by '{}', which is not read; write it with zstd, gzip or Blosc (lz4, zstd), without shards",
        crate::words::shown(path),
        crate::words::shown(codec)
    )
}

/// Chunks have at least one cell along each axis.
fn checked_chunks(chunks: Vec<usize>, shape: &[usize], path: &str) -> Result<Vec<usize>> {
    match chunks.len() == shape.len() && !chunks.contains(&0) {
        true => Ok(chunks),
        false => Err(malformed(format!("the chunks of {path} do not fit its shape"))),
    }
}

fn second(path: String, files: &Map<String, Value>) -> Result<Node> {
    let mut attributes = attributes_of(files.get(".zattrs"));
    let Some(about) = files.get(".zarray") else {
        return Ok(Node { path, attributes, dims: Vec::new(), array: None });
    };
    let shape = sizes(about.get("shape"), &path)?;
    let chunks = checked_chunks(sizes(about.get("chunks"), &path)?, &shape, &path)?;
    let mut stored = about.get("dtype").and_then(Value::as_str).and_then(Stored::of_numpy);
    let mut codecs = Vec::new();
    let filters = about.get("filters").and_then(Value::as_array);
    let mut has_texts = false;
    for filter in filters.into_iter().flatten() {
        match name_of(filter) {
            Some("vlen-utf8") => has_texts = true,
            other => return Err(not_read(&path, other.unwrap_or("?"))),
        }
    }
    if let Some(packer) = about.get("compressor").filter(|packer| !packer.is_null()) {
        let name = name_of(packer).unwrap_or("?");
        codecs.push(Codec::of_name(name).ok_or_else(|| not_read(&path, name))?);
    }
    if (stored == Some(Stored::Texts)) != has_texts {
        stored = None;
    }
    let dims = dims_of(files.get(".zattrs").and_then(|attributes| attributes.get(DIMS)), shape.len());
    attributes.retain(|(name, _)| name != DIMS);
    let fill = about.get("fill_value").cloned().unwrap_or_default();
    let kind = stored.map(Stored::kind);
    if let (Some(kind), false) = (kind.filter(|kind| kind.is_number()), fill.is_null()) {
        // As xarray takes it.
        attributes.retain(|(name, _)| name != FILL);
        attributes.push((FILL.to_string(), one(kind, cell_of(kind, &fill))));
    }
    let separator = about.get("dimension_separator").and_then(Value::as_str).unwrap_or(".");
    let is_turned = about.get("order").and_then(Value::as_str) == Some("F") && shape.len() > 1;
    let array = Array {
        order: is_turned.then(|| (0..shape.len()).rev().collect()),
        shape,
        chunks,
        kind,
        stored,
        fill,
        codecs,
        prefix: "",
        separator: if separator == "/" { '/' } else { '.' },
    };
    Ok(Node { path, attributes, dims, array: Some(array) })
}

fn one(kind: Kind, bytes: Vec<u8>) -> Attribute {
    Attribute::Cells { cells: Cells::Raw(kind, bytes), is_list: false }
}

fn third(path: String, about: &Value) -> Result<Node> {
    let mut attributes = attributes_of(about.get("attributes"));
    if about.get("node_type").and_then(Value::as_str) != Some("array") {
        return Ok(Node { path, attributes, dims: Vec::new(), array: None });
    }
    let shape = sizes(about.get("shape"), &path)?;
    let chunks = sizes(about.pointer("/chunk_grid/configuration/chunk_shape"), &path)?;
    let chunks = checked_chunks(chunks, &shape, &path)?;
    let (mut codecs, mut order, mut is_big, mut is_plain) = (Vec::new(), None, false, true);
    for codec in about.get("codecs").and_then(Value::as_array).into_iter().flatten() {
        match name_of(codec).unwrap_or("?") {
            "bytes" => {
                let endian = codec.pointer("/configuration/endian").and_then(Value::as_str);
                is_big = endian == Some("big");
            }
            "vlen-utf8" => is_plain = false,
            "transpose" => {
                let given = sizes(codec.pointer("/configuration/order"), &path)?;
                let is_order =
                    (0..shape.len()).all(|axis| given.contains(&axis)) && given.len() == shape.len();
                order = Some(given).filter(|_| is_order);
                if order.is_none() {
                    return Err(malformed(format!("the axes of {path} have no order")));
                }
            }
            name => codecs.push(Codec::of_name(name).ok_or_else(|| not_read(&path, name))?),
        }
    }
    let stored = about.get("data_type").and_then(|name| Stored::of_name(name, is_big));
    let stored = stored.filter(|stored| (*stored == Stored::Texts) != is_plain);
    let kind = stored.map(Stored::kind);
    for (name, value) in &mut attributes {
        let (FILL, Some(kind)) = (name.as_str(), kind.filter(|kind| kind.is_number())) else { continue };
        // xarray writes floats as the bytes of a double in base 64.
        let Attribute::Json(json) = &*value else { continue };
        let coded = json.as_str().and_then(|text| STANDARD.decode(text).ok());
        let coded = coded.and_then(|bytes| <[u8; 8]>::try_from(bytes).ok()).map(f64::from_le_bytes);
        *value = one(kind, coded.map_or_else(|| cell_of(kind, json), |number| kind.bytes_of(number)));
    }
    let dims = dims_of(about.get("dimension_names"), shape.len());
    let fill = about.get("fill_value").cloned().unwrap_or_default();
    let encoding = about.get("chunk_key_encoding");
    let is_old = encoding.and_then(name_of) == Some("v2");
    let separator = encoding.and_then(|encoding| encoding.pointer("/configuration/separator")?.as_str());
    let separator = match separator.unwrap_or(if is_old { "." } else { "/" }) {
        "." => '.',
        _ => '/',
    };
    let prefix = if is_old { "" } else { "c" };
    let array = Array { shape, chunks, kind, stored, order, fill, codecs, prefix, separator };
    Ok(Node { path, attributes, dims, array: Some(array) })
}
