//! Writes a tree as a Zarr store: an archive of its files, which xarray reads as it is or unpacked.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::codec::pack_texts;
use crate::npz::zip::archive;
use crate::tree::{Attribute, Cells, Cut, FILL, Kind, Variable};
use crate::{Error, Result};

/// Writes a tree in this version, by default 2, which all programs read. Each array is one chunk.
pub(crate) fn write(tree: &Cut, version: Option<u8>, out: &mut dyn Write) -> Result<()> {
    let mut files = Files { version: version.unwrap_or(2), files: Vec::new(), consolidated: Map::new() };
    files.group(tree, "")?;
    files.finish(tree);
    Ok(out.write_all(&archive(files.files))?)
}

struct Files {
    version: u8,
    files: Vec<(String, Vec<u8>)>,
    /// All JSON once more, in one place.
    consolidated: Map<String, Value>,
}

fn text(value: &Value) -> Vec<u8> {
    serde_json::to_vec_pretty(value).unwrap_or_default()
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_string() } else { format!("{path}/{name}") }
}

impl Files {
    fn add(&mut self, path: &str, name: &str, value: Value) {
        self.files.push((joined(path, name), text(&value)));
        self.consolidated.insert(joined(path, name), value);
    }

    fn group(&mut self, group: &Cut, path: &str) -> Result<()> {
        let attributes = attributes_of(&group.attributes);
        if self.version == 2 {
            self.add(path, ".zgroup", json!({"zarr_format": 2}));
            self.add(path, ".zattrs", attributes);
        } else if !path.is_empty() {
            let about = json!({"zarr_format": 3, "node_type": "group", "attributes": attributes});
            self.files.push((format!("{path}/zarr.json"), text(&about)));
            self.consolidated.insert(path.to_string(), about);
        }
        for (variable, cells) in &group.variables {
            self.array(variable, cells, &joined(path, &variable.name))?;
        }
        group.groups.iter().try_for_each(|one| self.group(one, &joined(path, &one.name)))
    }

    /// The file of the root, with all others in it.
    fn finish(&mut self, root: &Cut) {
        let all = std::mem::take(&mut self.consolidated);
        match self.version {
            2 => {
                let all = json!({"metadata": all, "zarr_consolidated_format": 1});
                self.files.push((".zmetadata".to_string(), text(&all)));
            }
            _ => {
                let all = json!({"kind": "inline", "must_understand": false, "metadata": all});
                let attributes = attributes_of(&root.attributes);
                let about = json!({
                    "zarr_format": 3, "node_type": "group", "attributes": attributes, "consolidated_metadata": all
                });
                self.files.push(("zarr.json".to_string(), text(&about)));
            }
        }
    }

    fn array(&mut self, variable: &Variable, cells: &Cells, path: &str) -> Result<()> {
        let kind = cells.kind();
        let (descr, name, bytes) = match cells {
            Cells::Raw(kind, bytes) => (descr(*kind).to_string(), name(*kind), bytes.clone()),
            Cells::Text(texts) if self.version == 2 => wide(texts),
            Cells::Text(texts) => (String::new(), "string", pack_texts(texts)),
        };
        let packed = zstd::encode_all(&bytes[..], 0).map_err(Error::Unwritable)?;
        let chunks: Vec<usize> = variable.shape.iter().map(|&n| n.max(1)).collect();
        let fill = variable.attribute(FILL).filter(|_| kind.is_number());
        let fill = fill.and_then(|fill| fill.numbers().first().copied());
        let others: Vec<(String, Attribute)> = variable
            .attributes
            .iter()
            .filter(|(name, _)| name != FILL || !kind.is_number())
            .cloned()
            .collect();
        let Value::Object(mut attributes) = attributes_of(&others) else { return Ok(()) };
        let numbers: Vec<String> = variable.shape.iter().map(|_| "0".to_string()).collect();
        let key = if self.version == 2 {
            attributes.insert("_ARRAY_DIMENSIONS".to_string(), json!(variable.dims));
            let about = json!({
                "zarr_format": 2, "shape": variable.shape, "chunks": chunks, "dtype": descr, "order": "C",
                "fill_value": fill.map_or(Value::Null, |fill| value_of(kind, fill)), "filters": null,
                "dimension_separator": ".", "compressor": {"id": "zstd", "level": 0},
            });
            self.add(path, ".zarray", about);
            self.add(path, ".zattrs", Value::Object(attributes));
            if numbers.is_empty() { "0".to_string() } else { numbers.join(".") }
        } else {
            if let Some(fill) = fill {
                let coded = if kind.is_float() {
                    Value::String(STANDARD.encode(fill.to_le_bytes()))
                } else {
                    value_of(kind, fill)
                };
                attributes.insert(FILL.to_string(), coded);
            }
            let first = match kind {
                Kind::Text => json!({"name": "vlen-utf8"}),
                _ => json!({"name": "bytes", "configuration": {"endian": "little"}}),
            };
            let unwritten = match kind {
                Kind::Text => json!(""),
                Kind::Bool => json!(false),
                kind if kind.is_float() => json!("NaN"),
                _ => json!(0),
            };
            let about = json!({
                "zarr_format": 3, "node_type": "array", "shape": variable.shape, "data_type": name,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
                "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
                "fill_value": unwritten,
                "codecs": [first, {"name": "zstd", "configuration": {"level": 0, "checksum": false}}],
                "attributes": attributes, "dimension_names": variable.dims, "storage_transformers": [],
            });
            self.files.push((format!("{path}/zarr.json"), text(&about)));
            self.consolidated.insert(path.to_string(), about);
            std::iter::once("c".to_string()).chain(numbers).collect::<Vec<_>>().join("/")
        };
        if !variable.shape.contains(&0) {
            self.files.push((joined(path, &key), packed));
        }
        Ok(())
    }
}

fn descr(kind: Kind) -> &'static str {
    match kind {
        Kind::I8 => "|i1",
        Kind::I16 => "<i2",
        Kind::I32 => "<i4",
        Kind::I64 => "<i8",
        Kind::U8 => "|u1",
        Kind::U16 => "<u2",
        Kind::U32 => "<u4",
        Kind::U64 => "<u8",
        Kind::F32 => "<f4",
        Kind::F64 => "<f8",
        Kind::Bool => "|b1",
        Kind::Char | Kind::Text => "|S1",
    }
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::I8 => "int8",
        Kind::I16 => "int16",
        Kind::I32 => "int32",
        Kind::I64 => "int64",
        Kind::U8 | Kind::Char | Kind::Text => "uint8",
        Kind::U16 => "uint16",
        Kind::U32 => "uint32",
        Kind::U64 => "uint64",
        Kind::F32 => "float32",
        Kind::F64 => "float64",
        Kind::Bool => "bool",
    }
}

/// Texts of four bytes a letter, all as long as the longest.
fn wide(texts: &[String]) -> (String, &'static str, Vec<u8>) {
    let width = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(1);
    let codes = |text: &String| {
        let codes: Vec<u32> =
            text.chars().map(u32::from).chain(std::iter::repeat_n(0, width)).take(width).collect();
        codes.into_iter().flat_map(u32::to_le_bytes)
    };
    (format!("<U{width}"), "string", texts.iter().flat_map(codes).collect())
}

/// A number in JSON, which has no words for NaN and infinity.
fn value_of(kind: Kind, number: f64) -> Value {
    match number {
        _ if kind == Kind::Bool => json!(number != 0.0),
        _ if !kind.is_float() && number.abs() < 9e15 => json!(number as i64),
        number if number.is_nan() => json!("NaN"),
        number if number == f64::INFINITY => json!("Infinity"),
        number if number == f64::NEG_INFINITY => json!("-Infinity"),
        number => json!(number),
    }
}

fn attributes_of(attributes: &[(String, Attribute)]) -> Value {
    let one = |value: &Attribute| match value {
        Attribute::Json(value) => value.clone(),
        Attribute::Cells { cells: Cells::Text(texts), is_list } => match (is_list, &texts[..]) {
            (false, [text]) => json!(text),
            _ => json!(texts),
        },
        Attribute::Cells { cells, is_list } => {
            let values: Vec<Value> =
                cells.numbers().into_iter().map(|number| value_of(cells.kind(), number)).collect();
            match (is_list, &values[..]) {
                (false, [value]) => value.clone(),
                _ => Value::Array(values),
            }
        }
    };
    Value::Object(attributes.iter().map(|(name, value)| (name.clone(), one(value))).collect())
}
