//! Which arrays of a tree are draws: the group, the dimensions that count draws, and a column for each element.

use std::collections::HashSet;

use super::labels::labels;
use super::{Cells, FILL, Group, Kind, Opened, Store, Variable};
use crate::error::refused;
use crate::words::listed;
use crate::{Error, Note, Reading, Result, Use};

/// The group of ArviZ whose draws are read.
const GROUP: &str = "posterior";
/// The dimensions of draws: by chain, or stacked as `az.extract` does.
const CHAINS: [&str; 2] = ["chain", "draw"];
const STACKED: [&str; 1] = ["sample"];
/// The most columns that are named although the file is small.
const MOST_NAMED: u64 = 100_000;

/// The draws of a tree.
#[derive(Debug, Clone)]
pub(super) struct Drawn {
    /// The place of their group among those of the root; `None` for the root.
    pub(super) group: Option<usize>,
    /// The dimensions that count draws: chains first, where there are two.
    pub(super) dims: Vec<String>,
    pub(super) sizes: Vec<usize>,
    /// The variables that have columns, in the order of the columns.
    pub(super) variables: Vec<Part>,
    pub(super) names: Vec<String>,
    /// For each column, why it cannot be a parameter.
    pub(super) found: Vec<Option<Use>>,
    pub(super) notes: Vec<Note>,
}

/// A variable with draws.
#[derive(Debug, Clone)]
pub(super) struct Part {
    /// Its place in the group.
    pub(super) place: usize,
    /// The axes in the order of the table: those that count draws, then the others.
    pub(super) order: Vec<usize>,
    /// Number of its columns.
    pub(super) width: usize,
}

impl Drawn {
    pub(super) fn find(opened: &Opened, reading: &Reading<'_>) -> Result<Drawn> {
        let root = &opened.root;
        let group = root.groups.iter().position(|group| group.name == GROUP);
        let here = group.map_or(root, |place| &root.groups[place]);
        let dims = dims_of(root, here, reading.sample_dims.as_deref())?;
        let (sizes, mut drawn, mut left_out) = (sizes_of(here, &dims)?, Vec::new(), Vec::new());
        if sizes.contains(&0) {
            return Err(Error::NoRows);
        }
        let coordinates = coordinates(here);
        let is_drawn = |variable: &Variable| dims.iter().all(|dim| variable.dims.contains(dim));
        for (place, variable) in here.variables.iter().enumerate() {
            if coordinates.contains(variable.name.as_str()) || !is_drawn(variable) {
                continue;
            }
            match variable.kind {
                None | Some(Kind::Char) => left_out.push(variable.name.clone()),
                Some(_) if variable.shape.contains(&0) => {}
                Some(_) => drawn.push(place),
            }
        }
        let most = opened.store.most_bytes();
        let bytes = |place: &usize| here.variables[*place].bytes();
        let (all, rows) = (drawn.iter().map(bytes).try_fold(0_u64, |sum, one| sum.checked_add(one?)), &sizes);
        let rows = rows.iter().try_fold(1_u64, |rows, &n| rows.checked_mul(n as u64));
        let (Some(all), Some(rows)) = (all.filter(|&all| all <= most), rows) else {
            return Err(refused!(
                "the file claims more numbers than its bytes can hold; it is damaged, or its draws were never written"
            ));
        };
        let columns = all / rows.max(1);
        if columns > MOST_NAMED.max(most / 1024) {
            return Err(refused!("the file has {columns} columns; use an array with fewer"));
        }
        let (mut variables, mut names, mut found) = (Vec::new(), Vec::new(), Vec::new());
        for place in drawn {
            let variable = &here.variables[place];
            let axis = |dim: &String| variable.dims.iter().position(|other| other == dim).unwrap_or(0);
            let mut order: Vec<usize> = dims.iter().map(axis).collect();
            order.extend((0..variable.dims.len()).filter(|&i| !dims.contains(&variable.dims[i])));
            let axes: Vec<Vec<String>> = order[dims.len()..]
                .iter()
                .map(|&i| labels_of(opened, here, &variable.dims[i], variable.shape[i]))
                .collect();
            let elements = element_names(&variable.name, &axes);
            let why = use_of(variable);
            if why.is_some() {
                left_out.push(variable.name.clone());
            }
            variables.push(Part { place, order, width: elements.len() });
            found.extend(std::iter::repeat_n(why, elements.len()));
            names.extend(elements);
        }
        if names.is_empty() {
            return Err(refused!("no variable has the dimensions {}", dims.join(" and ")));
        }
        let notes = Vec::from_iter((!left_out.is_empty()).then_some(Note::NotNumbers { columns: left_out }));
        Ok(Drawn { group, dims, sizes, variables, names, found, notes })
    }

    pub(super) fn of<'a>(&self, root: &'a Group) -> &'a Group {
        self.group.map_or(root, |place| &root.groups[place])
    }

    pub(super) fn rows(&self) -> usize {
        self.sizes.iter().product()
    }

    /// Number of draws in each chain.
    pub(super) fn draws(&self) -> usize {
        *self.sizes.last().expect("there is a dimension of draws")
    }

    /// The chain and the draw of a row; the chain is 0 where there are none.
    pub(super) fn place(&self, row: usize) -> (usize, usize) {
        (row / self.draws(), row % self.draws())
    }
}

/// Names of the variables that are coordinates and not data.
pub(super) fn coordinates(group: &Group) -> HashSet<&str> {
    let listed = group.variables.iter().map(|variable| &variable.attributes).chain([&group.attributes]);
    let listed = listed.flatten().filter(|(name, _)| name == "coordinates");
    let listed = listed.filter_map(|(_, value)| value.as_text()).flat_map(str::split_whitespace);
    let own = group.variables.iter().filter(|variable| variable.dims.contains(&variable.name));
    own.map(|variable| variable.name.as_str()).chain(listed).collect()
}

fn dims_of(root: &Group, here: &Group, asked: Option<&[String]>) -> Result<Vec<String>> {
    let mut all: Vec<&str> = Vec::new();
    for dim in here.variables.iter().flat_map(|variable| &variable.dims) {
        if !all.contains(&dim.as_str()) {
            all.push(dim);
        }
    }
    let have = |dims: &[&str]| dims.iter().all(|dim| all.contains(dim));
    let known: Vec<String> = all.iter().map(|dim| dim.to_string()).collect();
    let owned = |dims: &[&str]| dims.iter().map(|dim| dim.to_string()).collect();
    match asked {
        Some(asked) => match asked.iter().find(|dim| !known.contains(dim)) {
            Some(dim) => Err(refused!(
                "there is no dimension '{dim}'; the dimensions are {}; name others with --sample-dims",
                listed(&known)
            )),
            None => Ok(asked.to_vec()),
        },
        None if have(&CHAINS) => Ok(owned(&CHAINS)),
        None if have(&STACKED) => Ok(owned(&STACKED)),
        None if known.is_empty() => {
            let groups: Vec<String> = root.groups.iter().map(|group| group.name.clone()).collect();
            Err(match groups.is_empty() {
                true => refused!("the file has no arrays with dimensions"),
                false => {
                    refused!("there is no group '{GROUP}' with arrays; the groups are {}", listed(&groups))
                }
            })
        }
        None => Err(refused!(
            "no dimensions are named chain and draw; the dimensions are {}; name those that count the draws with \
             --sample-dims",
            listed(&known)
        )),
    }
}

/// The sizes of these dimensions, which must be the same in all variables.
pub(super) fn sizes_of(group: &Group, dims: &[String]) -> Result<Vec<usize>> {
    let size = |dim: &String| {
        let mut sizes = group.variables.iter().filter_map(|variable| {
            let at = variable.dims.iter().position(|other| other == dim)?;
            variable.shape.get(at).copied()
        });
        let first = sizes.next().unwrap_or(0);
        match sizes.all(|size| size == first) {
            true => Ok(first),
            false => Err(refused!("the dimension '{dim}' has several sizes; the file is damaged")),
        }
    };
    dims.iter().map(size).collect()
}

/// Why a variable cannot be a parameter.
fn use_of(variable: &Variable) -> Option<Use> {
    match variable.kind {
        Some(Kind::Text) => Some(Use::Text),
        _ if is_time(variable) => Some(Use::NotNumbers("times".to_string())),
        _ => None,
    }
}

fn is_time(variable: &Variable) -> bool {
    let units = variable.attribute("units").and_then(|units| units.as_text());
    units.is_some_and(|units| units.contains(" since "))
}

/// The labels of a dimension as ArviZ shows them: its coordinate, or numbers from 0. Labels that occur twice, and times,
/// are numbered too.
fn labels_of(opened: &Opened, here: &Group, dim: &str, size: usize) -> Vec<String> {
    let numbers = || (0..size).map(|i| i.to_string()).collect();
    let coordinate = [here, &opened.root].into_iter().find_map(|group| group.variable(dim));
    let coordinate =
        coordinate.filter(|variable| variable.shape.first() == Some(&size) && !is_time(variable));
    let found = coordinate.and_then(|variable| texts(&*opened.store, variable));
    let is_distinct = |texts: &Vec<String>| texts.iter().collect::<HashSet<_>>().len() == texts.len();
    found.filter(|texts| texts.len() == size && is_distinct(texts)).unwrap_or_else(numbers)
}

/// The cells of an array of one axis as text; also of text whose letters are a second axis.
fn texts(store: &dyn Store, variable: &Variable) -> Option<Vec<String>> {
    let is_text = variable.kind == Some(Kind::Char) && variable.shape.len() == 2 && variable.shape[1] > 0;
    if variable.shape.len() != 1 && !is_text || variable.bytes()? > store.most_bytes() {
        return None;
    }
    match store.read(variable, &variable.whole()).ok()? {
        Cells::Raw(Kind::Char, bytes) if is_text => {
            let text = |letters: &[u8]| {
                String::from_utf8_lossy(letters).trim_end_matches('\0').trim_end().to_string()
            };
            Some(bytes.chunks_exact(variable.shape[1]).map(text).collect())
        }
        cells => Some(labels(&cells)),
    }
}

/// `mu`, `theta[A]`, `Sigma[0, 1]`: with the labels of each axis.
fn element_names(name: &str, axes: &[Vec<String>]) -> Vec<String> {
    if axes.is_empty() {
        return vec![name.to_string()];
    }
    let mut inner = vec![String::new()];
    for (i, labels) in axes.iter().enumerate() {
        let comma = if i == 0 { "" } else { ", " };
        inner = inner
            .iter()
            .flat_map(|before| labels.iter().map(move |label| format!("{before}{comma}{label}")))
            .collect();
    }
    inner.into_iter().map(|labels| format!("{name}[{labels}]")).collect()
}

/// How the stored numbers of a variable become values: missing ones, and the scale and offset of packed ones.
#[derive(Debug, Clone, Default)]
pub(super) struct Decoding {
    /// Added to negative numbers, which stand for unsigned ones.
    unsigned: Option<f64>,
    missing: Vec<f64>,
    scale: Option<(f64, f64)>,
    /// Whether the values are in single precision.
    is_single: bool,
}

impl Decoding {
    /// `None` if numbers are values as they are stored.
    pub(super) fn of(variable: &Variable) -> Option<Decoding> {
        let numbers =
            |name: &str| variable.attribute(name).map(|value| value.numbers()).filter(|all| !all.is_empty());
        let is_single = |name: &str| matches!(variable.attribute(name), Some(super::Attribute::Cells { cells, .. }) if cells.kind() == Kind::F32);
        let missing: Vec<f64> = [FILL, "missing_value"]
            .into_iter()
            .filter_map(numbers)
            .flatten()
            .filter(|x| !x.is_nan())
            .collect();
        let (scale, offset) = (numbers("scale_factor"), numbers("add_offset"));
        let bits = 8 * variable.kind.map_or(0, Kind::size) as i32;
        let is_unsigned = variable.attribute("_Unsigned").and_then(|value| value.as_text()) == Some("true");
        let unsigned = (is_unsigned && matches!(variable.kind, Some(Kind::I8 | Kind::I16 | Kind::I32)))
            .then(|| 2_f64.powi(bits));
        if missing.is_empty() && scale.is_none() && offset.is_none() && unsigned.is_none() {
            return None;
        }
        // As xarray decides it.
        let is_wide = matches!(variable.kind, Some(Kind::I32 | Kind::U32));
        let is_single = scale.is_some()
            && is_single("scale_factor")
            && (offset.is_none() || is_single("add_offset") && !is_wide);
        let scale = (scale.is_some() || offset.is_some())
            .then(|| (scale.map_or(1.0, |all| all[0]), offset.map_or(0.0, |all| all[0])));
        Some(Decoding { unsigned, missing, scale, is_single })
    }

    /// The value of a stored number; `None` if it is missing.
    pub(super) fn value(&self, x: f64) -> Option<f64> {
        let x = match self.unsigned {
            Some(range) if x < 0.0 => x + range,
            _ => x,
        };
        if self.missing.contains(&x) {
            return None;
        }
        Some(match self.scale {
            Some((scale, offset)) if self.is_single => f64::from(x as f32 * scale as f32 + offset as f32),
            Some((scale, offset)) => x * scale + offset,
            None => x,
        })
    }
}
