//! NetCDF: version 4 with its groups, the classic versions, and the HDF5 files of emcee.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use netcdf_reader::{
    Error as NcError, NcAttrValue, NcFile, NcFormat, NcGroup, NcOpenOptions, NcSliceInfo, NcSliceInfoElem,
    NcType, NcVariable, RangeRequestStorage,
};
use netcdf_writer::{DimensionId, NcFileBuilder, NcWriteFormat, NcWriteOptions};
use rawzip::ReaderAt;

use crate::frame::Frame;
use crate::guard::guarded;
use crate::origin::Origin;
use crate::reading::Missing;
use crate::source::{Dress, ExpectedSize, FileRead, Sink};
use crate::tree::{Attribute, Cells, Cut, FILL, Group, Kind, Opened, Store, Variable, of_frame};
use crate::{Error, Reading, Result, tree};

const TITLE: &str = "NetCDF";
/// The most that deflate can pack into a byte.
const MOST_PACKED: u64 = 1032;
/// Files are small for this number of bytes, whatever they claim.
const ALWAYS: u64 = 1 << 20;

fn malformed(reason: impl ToString) -> Error {
    Error::Malformed { format: TITLE, reason: reason.to_string() }
}

fn unread(error: NcError) -> Error {
    malformed(error)
}

struct NcStore {
    file: NcFile,
    most_bytes: u64,
}

impl std::fmt::Debug for NcStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NcStore").finish_non_exhaustive()
    }
}

/// Opens a file and reads what it says about its arrays.
fn open(origin: &Origin) -> Result<Opened> {
    guarded(TITLE, || {
        let most_bytes = origin.len().saturating_mul(MOST_PACKED).saturating_add(ALWAYS);
        let limit = usize::try_from(most_bytes).unwrap_or(usize::MAX);
        let options = NcOpenOptions {
            max_chunk_bytes: limit.min(NcOpenOptions::default().max_chunk_bytes),
            max_read_bytes: limit,
            ..NcOpenOptions::default()
        };
        let handle = origin.file()?;
        // Ranges are read as they are asked for: mapped memory would count as used.
        let storage = RangeRequestStorage::new(origin.len(), move |at, length| {
            let (mut bytes, mut filled) = (vec![0; length], 0);
            while filled < length {
                match handle.read_at(&mut bytes[filled..], at + filled as u64)? {
                    0 => break,
                    count => filled += count,
                }
            }
            bytes.truncate(filled);
            Ok(bytes)
        });
        let file = NcFile::from_storage_with_options(Arc::new(storage), options).map_err(unread)?;
        let is_classic = matches!(file.format(), NcFormat::Classic | NcFormat::Offset64 | NcFormat::Cdf5);
        let mut root = group_of(file.root_group().map_err(unread)?, "");
        if is_classic {
            root.variables.iter_mut().for_each(join_letters);
        }
        let root = emcee(&root).unwrap_or(root);
        Ok(Opened { root, store: Box::new(NcStore { file, most_bytes }), zarr_format: None })
    })
}

fn group_of(group: &NcGroup, path: &str) -> Group {
    let attributes = |all: &[netcdf_reader::NcAttribute]| {
        let known = all.iter().filter_map(|one| Some((one.name.clone(), attribute_of(&one.value)?)));
        known.collect::<Vec<_>>()
    };
    let variable = |variable: &NcVariable| Variable {
        name: variable.name.clone(),
        path: format!("{path}{}", variable.name),
        kind: kind_of(&variable.dtype),
        dims: variable.dimensions.iter().map(|dim| dim.name.clone()).collect(),
        shape: variable
            .dimensions
            .iter()
            .map(|dim| usize::try_from(dim.size).unwrap_or(usize::MAX))
            .collect(),
        attributes: attributes(&variable.attributes),
        fixed: None,
        chunk_bytes: 0,
    };
    Group {
        name: group.name.clone(),
        attributes: attributes(&group.attributes),
        variables: group.variables.iter().map(variable).collect(),
        groups: group.groups.iter().map(|one| group_of(one, &format!("{path}{}/", one.name))).collect(),
    }
}

/// The letters of a text of a classic file are its last dimension; the reader joins them.
fn join_letters(variable: &mut Variable) {
    if variable.kind == Some(Kind::Char) && variable.dims.pop().is_some() {
        variable.shape.pop();
        variable.attributes.retain(|(name, _)| name != "_Encoding");
        variable.kind = Some(Kind::Text);
    }
}

/// The chain of an emcee backend as ArviZ converts it: a variable for each parameter, and the log-density. Steps that were
/// not written are left out.
fn emcee(root: &Group) -> Option<Group> {
    let mcmc = root.groups.iter().find(|group| group.name == "mcmc")?;
    let (_, iteration) = mcmc.attributes.iter().find(|(name, _)| name == "iteration")?;
    let iteration = *iteration.numbers().first()? as usize;
    let chain = mcmc.variable("chain").filter(|chain| chain.shape.len() == 3)?;
    let &[steps, walkers, parameters] = &chain.shape[..] else { return None };
    if parameters > 1_000_000 {
        return None;
    }
    let variable = |name: &str, of: &Variable, fixed: Option<usize>| Variable {
        name: name.to_string(),
        dims: vec!["draw".to_string(), "chain".to_string()],
        shape: vec![steps.min(iteration), walkers],
        fixed,
        ..of.clone()
    };
    let names = (0..parameters).map(|i| variable(&format!("var_{i}"), chain, Some(i))).collect();
    let posterior = Group { name: "posterior".to_string(), variables: names, ..Group::default() };
    let log_prob = mcmc.variable("log_prob").filter(|one| one.shape == chain.shape[..2]);
    let stats = log_prob.map(|one| Group {
        name: "sample_stats".to_string(),
        variables: vec![variable("lp", one, None)],
        ..Group::default()
    });
    let groups = std::iter::once(posterior).chain(stats).collect();
    Some(Group { groups, ..Group::default() })
}

fn kind_of(kind: &NcType) -> Option<Kind> {
    Some(match kind {
        NcType::Byte => Kind::I8,
        NcType::Char => Kind::Char,
        NcType::Short => Kind::I16,
        NcType::Int => Kind::I32,
        NcType::Float => Kind::F32,
        NcType::Double => Kind::F64,
        NcType::UByte => Kind::U8,
        NcType::UShort => Kind::U16,
        NcType::UInt => Kind::U32,
        NcType::Int64 => Kind::I64,
        NcType::UInt64 => Kind::U64,
        NcType::String => Kind::Text,
        _ => return None,
    })
}

fn attribute_of(value: &NcAttrValue) -> Option<Attribute> {
    macro_rules! raw {
        ($kind:ident, $values:expr) => {
            Cells::Raw(Kind::$kind, $values.iter().flat_map(|value| value.to_le_bytes()).collect())
        };
    }
    let cells = match value {
        NcAttrValue::Bytes(values) => raw!(I8, values),
        NcAttrValue::Chars(text) => Cells::Text(vec![text.clone()]),
        NcAttrValue::Shorts(values) => raw!(I16, values),
        NcAttrValue::Ints(values) => raw!(I32, values),
        NcAttrValue::Floats(values) => raw!(F32, values),
        NcAttrValue::Doubles(values) => raw!(F64, values),
        NcAttrValue::UBytes(values) => raw!(U8, values),
        NcAttrValue::UShorts(values) => raw!(U16, values),
        NcAttrValue::UInts(values) => raw!(U32, values),
        NcAttrValue::Int64s(values) => raw!(I64, values),
        NcAttrValue::UInt64s(values) => raw!(U64, values),
        NcAttrValue::Strings(texts) => Cells::Text(texts.clone()),
        NcAttrValue::UserDefined { .. } => return None,
    };
    let is_list = cells.len() != 1;
    Some(Attribute::Cells { cells, is_list })
}

impl Store for NcStore {
    fn read(&self, variable: &Variable, wanted: &[Range<usize>]) -> Result<Cells> {
        guarded(TITLE, || {
            let path = variable.path.as_str();
            let ranges = wanted.iter().cloned().chain(variable.fixed.map(|at| at..at + 1));
            let part = |range: Range<usize>| NcSliceInfoElem::Slice {
                start: range.start as u64,
                end: range.end as u64,
                step: 1,
            };
            let selection = NcSliceInfo { selections: ranges.map(part).collect() };
            macro_rules! raw {
                ($kind:ident, $type:ty) => {{
                    let values = match selection.selections.is_empty() {
                        true => self.file.read_variable::<$type>(path),
                        false => self.file.read_variable_slice::<$type>(path, &selection),
                    };
                    let values = values.map_err(unread)?;
                    Cells::Raw(Kind::$kind, values.iter().flat_map(|value| value.to_le_bytes()).collect())
                }};
            }
            Ok(match variable.kind {
                Some(Kind::I8) => raw!(I8, i8),
                Some(Kind::I16) => raw!(I16, i16),
                Some(Kind::I32) => raw!(I32, i32),
                Some(Kind::I64) => raw!(I64, i64),
                Some(Kind::U8) => raw!(U8, u8),
                Some(Kind::U16) => raw!(U16, u16),
                Some(Kind::U32) => raw!(U32, u32),
                Some(Kind::U64) => raw!(U64, u64),
                Some(Kind::F32) => raw!(F32, f32),
                Some(Kind::F64) => raw!(F64, f64),
                Some(Kind::Char) => {
                    Cells::Raw(Kind::Char, self.file.read_variable_raw_bytes(path).map_err(unread)?)
                }
                Some(Kind::Text) => {
                    let all = self.file.read_variable_as_strings(path).map_err(unread)?;
                    let (places, count) = (tree::places(&variable.shape, wanted), all.len());
                    match places.iter().all(|&place| place < count) {
                        true => Cells::Text(all).runs(1, places),
                        false => return Err(malformed("an array of text is cut short")),
                    }
                }
                _ => return Err(malformed("an array is neither numbers nor text")),
            })
        })
    }

    fn most_bytes(&self) -> u64 {
        self.most_bytes
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

pub(crate) fn write_frame(frame: &Frame, _: &Dress, out: &mut dyn Write) -> Result<()> {
    write(&of_frame(frame), out)
}

/// Writes a tree as NetCDF 4.
pub(crate) fn write(tree: &Cut, out: &mut dyn Write) -> Result<()> {
    let mut builder = NcFileBuilder::new();
    add(&mut builder, tree, "")?;
    let options = NcWriteOptions { format: NcWriteFormat::Nc4 };
    builder.write(out, options).map(|_| ()).map_err(unwritten)
}

fn unwritten(error: netcdf_writer::Error) -> Error {
    match error {
        netcdf_writer::Error::Io(error) => Error::Unwritable(error),
        error => {
            crate::error::refused!("the rows cannot be written as NetCDF: {error}; choose another format")
        }
    }
}

fn add(builder: &mut NcFileBuilder, group: &Cut, path: &str) -> Result<()> {
    let own = path.trim_end_matches('/');
    for (name, value) in &group.attributes {
        let Some(value) = nc_value(value) else { continue };
        match own {
            "" => builder.add_attribute(name, value),
            own => builder.add_group_attribute(own, name, value),
        }
        .map_err(unwritten)?;
    }
    let mut dims: Vec<(&str, DimensionId)> = Vec::new();
    for (variable, cells) in &group.variables {
        let mut ids = Vec::new();
        for (dim, &size) in variable.dims.iter().zip(&variable.shape) {
            let id = match dims.iter().find(|(name, _)| name == dim) {
                Some((_, id)) => *id,
                None => {
                    let id = builder.add_dimension_path(format!("{path}{dim}"), size as u64);
                    let id = id.map_err(unwritten)?;
                    dims.push((dim, id));
                    id
                }
            };
            ids.push(id);
        }
        add_variable(builder, variable, cells, &format!("{path}{}", variable.name), &ids)
            .map_err(unwritten)?;
    }
    group.groups.iter().try_for_each(|one| add(builder, one, &format!("{path}{}/", one.name)))
}

fn add_variable(
    builder: &mut NcFileBuilder,
    variable: &Variable,
    cells: &Cells,
    path: &str,
    dims: &[DimensionId],
) -> netcdf_writer::Result<()> {
    macro_rules! numbers {
        ($type:ty, $bytes:expr) => {{
            let id = builder.add_variable_path::<$type>(path, dims)?;
            let cells = $bytes.chunks_exact(size_of::<$type>());
            let cells: Vec<$type> =
                cells.map(|cell| <$type>::from_le_bytes(cell.try_into().expect("a whole cell"))).collect();
            builder.write_variable(id, &cells)?;
            id
        }};
    }
    let id = match cells {
        Cells::Text(texts) => {
            let id = builder.add_string_variable_path(path, dims)?;
            // NetCDF ends a text at a zero byte.
            let texts: Vec<String> = texts.iter().map(|text| text.replace('\0', "")).collect();
            builder.write_string_variable(id, &texts)?;
            id
        }
        Cells::Raw(Kind::Char, bytes) => {
            let id = builder.add_char_variable_path(path, dims)?;
            builder.write_char_variable(id, bytes)?;
            id
        }
        Cells::Raw(kind, bytes) => match kind {
            Kind::I8 | Kind::Bool => numbers!(i8, bytes),
            Kind::I16 => numbers!(i16, bytes),
            Kind::I32 => numbers!(i32, bytes),
            Kind::I64 => numbers!(i64, bytes),
            Kind::U8 | Kind::Char | Kind::Text => numbers!(u8, bytes),
            Kind::U16 => numbers!(u16, bytes),
            Kind::U32 => numbers!(u32, bytes),
            Kind::U64 => numbers!(u64, bytes),
            Kind::F32 => numbers!(f32, bytes),
            Kind::F64 => numbers!(f64, bytes),
        },
    };
    let kind = cells.kind();
    if kind == Kind::Bool {
        // As xarray writes it; NetCDF has no such type.
        builder.add_variable_attribute(id, "dtype", NcAttrValue::Chars("bool".to_string()))?;
    }
    for (name, value) in &variable.attributes {
        let value = match (name.as_str(), value.numbers().first()) {
            // It must have the type of the variable.
            (FILL, Some(&number)) if kind.is_number() => {
                let bytes = match value {
                    Attribute::Cells { cells: Cells::Raw(own, bytes), .. } if *own == kind => bytes.clone(),
                    _ => kind.bytes_of(number),
                };
                nc_value(&Attribute::Cells { cells: Cells::Raw(kind, bytes), is_list: false })
            }
            (FILL, _) if kind.is_number() => None,
            ("dtype", _) if kind == Kind::Bool => None,
            _ => nc_value(value),
        };
        if let Some(value) = value {
            builder.add_variable_attribute(id, name, value)?;
        }
    }
    Ok(())
}

/// An attribute as NetCDF holds it; what it has no type for becomes JSON text.
fn nc_value(value: &Attribute) -> Option<NcAttrValue> {
    macro_rules! list {
        ($variant:ident, $type:ty, $bytes:expr) => {
            NcAttrValue::$variant(
                $bytes
                    .chunks_exact(size_of::<$type>())
                    .map(|cell| <$type>::from_le_bytes(cell.try_into().expect("a whole cell")))
                    .collect(),
            )
        };
    }
    Some(match value {
        Attribute::Cells { cells: Cells::Text(texts), is_list: false } => {
            NcAttrValue::Chars(texts.first()?.replace('\0', ""))
        }
        Attribute::Cells { cells: Cells::Text(texts), .. } => {
            NcAttrValue::Strings(texts.iter().map(|text| text.replace('\0', "")).collect())
        }
        Attribute::Cells { cells: Cells::Raw(kind, bytes), .. } => match kind {
            Kind::I8 | Kind::Bool => list!(Bytes, i8, bytes),
            Kind::I16 => list!(Shorts, i16, bytes),
            Kind::I32 => list!(Ints, i32, bytes),
            Kind::I64 => list!(Int64s, i64, bytes),
            Kind::U8 | Kind::Char | Kind::Text => list!(UBytes, u8, bytes),
            Kind::U16 => list!(UShorts, u16, bytes),
            Kind::U32 => list!(UInts, u32, bytes),
            Kind::U64 => list!(UInt64s, u64, bytes),
            Kind::F32 => list!(Floats, f32, bytes),
            Kind::F64 => list!(Doubles, f64, bytes),
        },
        Attribute::Json(json) => match json {
            serde_json::Value::String(text) => NcAttrValue::Chars(text.replace('\0', "")),
            serde_json::Value::Number(number) => match number.as_i64() {
                Some(whole) => NcAttrValue::Int64s(vec![whole]),
                None => NcAttrValue::Doubles(vec![number.as_f64()?]),
            },
            serde_json::Value::Array(all) if !all.is_empty() && all.iter().all(|one| one.is_i64()) => {
                NcAttrValue::Int64s(all.iter().filter_map(|one| one.as_i64()).collect())
            }
            serde_json::Value::Array(all) if !all.is_empty() && all.iter().all(|one| one.is_number()) => {
                NcAttrValue::Doubles(all.iter().filter_map(|one| one.as_f64()).collect())
            }
            serde_json::Value::Array(all) if !all.is_empty() && all.iter().all(|one| one.is_string()) => {
                NcAttrValue::Strings(
                    all.iter().filter_map(|one| Some(one.as_str()?.replace('\0', ""))).collect(),
                )
            }
            other => NcAttrValue::Chars(other.to_string()),
        },
    })
}
