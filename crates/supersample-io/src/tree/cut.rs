//! Trees reduced to chosen draws, as `supersample.arviz.thin` reduces them in Python: one chain of the draws in their
//! order, in every group with the same draws.

use arrow_array::cast::AsArray;
use arrow_schema::DataType;

use super::draws::{Part, coordinates, sizes_of};
use super::{Attribute, Cells, Group, Kind, TreeSource, Variable};
use crate::error::refused;
use crate::frame::{Column, Frame};
use crate::{Error, Result};

/// The prefix of the attributes and the names of the weights that Python writes.
const PREFIX: &str = "supersample_";
const WEIGHTS: [&str; 2] = ["weight", "supersample_weight"];

/// A group in memory, to be written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cut {
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, Attribute)>,
    pub(crate) variables: Vec<(Variable, Cells)>,
    pub(crate) groups: Vec<Cut>,
}

/// Which groups hold the same draws.
fn family(group: &str) -> &'static str {
    match group {
        "prior" | "prior_predictive" | "sample_stats_prior" => "prior",
        group if group.starts_with("warmup_") => "warmup",
        _ => "posterior",
    }
}

/// A variable that is made here.
fn made(name: &str, dim: &str, cells: Cells) -> (Variable, Cells) {
    let variable = Variable {
        name: name.to_string(),
        path: String::new(),
        kind: Some(cells.kind()),
        dims: vec![dim.to_string()],
        shape: vec![cells.len()],
        attributes: Vec::new(),
        fixed: None,
        chunk_bytes: 0,
    };
    (variable, cells)
}

impl TreeSource {
    /// The tree with these rows alone, in this order, and their weights as a coordinate.
    pub(crate) fn cut(&self, rows: &[usize], weights: Option<&[f64]>) -> Result<Cut> {
        let (root, dims) = (&self.opened.root, &self.drawn.dims);
        let Some(main) = self.drawn.group else {
            let mut cut = self.cut_group(root, rows, weights, true)?;
            cut.groups = root.groups.iter().map(|group| self.kept(group)).collect::<Result<_>>()?;
            return Ok(cut);
        };
        let own = family(&root.groups[main].name);
        let mut groups = Vec::new();
        for (at, group) in root.groups.iter().enumerate() {
            let has = |dim: &String| group.variables.iter().any(|variable| variable.dims.contains(dim));
            if at != main && !(family(&group.name) == own && dims.iter().all(has)) {
                groups.push(self.kept(group)?);
                continue;
            }
            let sizes = sizes_of(group, dims)?;
            if sizes != self.drawn.sizes {
                return Err(refused!(
                    "the group '{}' has {sizes:?} draws ({}), but '{}' has {:?}; remove it first, or choose another \
                     output format",
                    group.name,
                    dims.join(", "),
                    root.groups[main].name,
                    self.drawn.sizes
                ));
            }
            let mut cut = self.cut_group(group, rows, weights, at == main)?;
            cut.groups = group.groups.iter().map(|group| self.kept(group)).collect::<Result<_>>()?;
            groups.push(cut);
        }
        // Coordinates of the root with draws are those of all draws.
        let is_kept = |variable: &&Variable| !variable.dims.iter().any(|dim| dims.contains(dim));
        let variables = self.whole(root.variables.iter().filter(is_kept))?;
        Ok(Cut { name: root.name.clone(), attributes: root.attributes.clone(), variables, groups })
    }

    /// Names of the arrays that cannot be written again.
    pub(crate) fn not_written(&self) -> Vec<String> {
        fn of(group: &Group, before: &str, all: &mut Vec<String>) {
            let lost = group.variables.iter().filter(|variable| variable.kind.is_none());
            all.extend(lost.map(|variable| format!("{before}{}", variable.name)));
            group.groups.iter().for_each(|group| of(group, &format!("{before}{}/", group.name), all));
        }
        let mut all = Vec::new();
        of(&self.opened.root, "", &mut all);
        all
    }

    fn kept(&self, group: &Group) -> Result<Cut> {
        Ok(Cut {
            name: group.name.clone(),
            attributes: group.attributes.clone(),
            variables: self.whole(group.variables.iter())?,
            groups: group.groups.iter().map(|group| self.kept(group)).collect::<Result<_>>()?,
        })
    }

    fn whole<'a>(&self, variables: impl Iterator<Item = &'a Variable>) -> Result<Vec<(Variable, Cells)>> {
        let known = variables.filter(|variable| variable.kind.is_some());
        known.map(|variable| Ok((variable.clone(), self.all_of(variable)?))).collect()
    }

    fn all_of(&self, variable: &Variable) -> Result<Cells> {
        if variable.bytes().is_none_or(|bytes| bytes > self.opened.store.most_bytes()) {
            return Err(refused!("the array '{}' claims more cells than the file can hold", variable.name));
        }
        let cells = self.opened.store.read(variable, &variable.whole())?;
        let count: usize = variable.shape.iter().product();
        if cells.len() == count { Ok(cells) } else { Err(Error::Changed) }
    }

    fn cut_group(
        &self,
        group: &Group,
        rows: &[usize],
        weights: Option<&[f64]>,
        is_main: bool,
    ) -> Result<Cut> {
        let dims = &self.drawn.dims;
        let (is_paired, last) = (dims.len() > 1, &dims[dims.len() - 1]);
        let coordinates = coordinates(group);
        let main = self.drawn.of(&self.opened.root);
        let had_weights = main.attributes.iter().any(|(name, _)| name == "supersample_weights");
        let stale = WEIGHTS.iter().rev().find(|name| had_weights && coordinates.contains(**name));
        let (mut variables, mut listed) = (Vec::new(), Vec::new());
        for variable in group.variables.iter().filter(|variable| variable.kind.is_some()) {
            let is_index = is_paired && dims.contains(&variable.name) && variable.dims.len() == 1;
            if is_index || stale.is_some_and(|stale| variable.name == **stale) {
                continue;
            }
            if !variable.dims.iter().any(|dim| dims.contains(dim)) {
                variables.push((variable.clone(), self.all_of(variable)?));
                continue;
            }
            let is_coordinate = coordinates.contains(variable.name.as_str());
            variables.push(self.picked(variable, rows, is_paired && !is_coordinate)?);
        }
        if is_paired {
            let numbers = Cells::integers((0..rows.len()).map(|i| i as i64));
            variables.push(made(&dims[0], &dims[0], Cells::integers([0])));
            variables.push(made(last, last, numbers));
            // Draws that were chosen from chosen ones keep the place where they came from first.
            let sources: Vec<String> = dims.iter().map(|dim| format!("source_{dim}")).collect();
            if !sources.iter().all(|name| coordinates.contains(name.as_str())) {
                for (axis, name) in sources.into_iter().enumerate() {
                    let labels = self.labels(group, axis)?;
                    let places = rows.iter().map(|&row| match self.drawn.place(row) {
                        (chain, _) if axis == 0 => chain,
                        (_, draw) => draw,
                    });
                    variables.push(made(&name, last, labels.runs(1, places)));
                    listed.push(name);
                }
            }
        }
        let is_own = |name: &str| name.starts_with(PREFIX);
        let mut attributes: Vec<(String, Attribute)> =
            group.attributes.iter().filter(|(name, _)| !is_own(name)).cloned().collect();
        if let Some(weights) = weights {
            let is_taken = variables.iter().any(|(variable, _)| variable.name == WEIGHTS[0]);
            let name = WEIGHTS[usize::from(is_taken)];
            variables.push(made(name, last, Cells::doubles(weights.iter().copied())));
            listed.push(name.to_string());
            if is_main {
                attributes.push((format!("{PREFIX}weights"), Attribute::text("given")));
            }
        }
        if !listed.is_empty() {
            let at = attributes.iter().position(|(name, _)| name == "coordinates");
            let before = at.map(|at| attributes.remove(at).1);
            let before = before.as_ref().and_then(|value| value.as_text()).map(str::to_string);
            let all: Vec<String> = before.into_iter().chain(listed).collect();
            attributes.push(("coordinates".to_string(), Attribute::text(&all.join(" "))));
        }
        Ok(Cut { name: group.name.clone(), attributes, variables, groups: Vec::new() })
    }

    /// The labels of the chains or of the draws.
    fn labels(&self, group: &Group, axis: usize) -> Result<Cells> {
        let (dim, size) = (&self.drawn.dims[axis], self.drawn.sizes[axis]);
        let fits = |variable: &&Variable| variable.shape == [size] && variable.kind.is_some();
        let coordinate =
            [group, &self.opened.root].into_iter().find_map(|group| group.variable(dim).filter(fits));
        match coordinate {
            Some(coordinate) => self.all_of(coordinate),
            None => Ok(Cells::integers((0..size).map(|i| i as i64))),
        }
    }

    /// A variable at the chosen rows: as one chain, or with the draws in place of the dimensions that count them.
    fn picked(&self, variable: &Variable, rows: &[usize], as_chain: bool) -> Result<(Variable, Cells)> {
        let dims = &self.drawn.dims;
        let at = |dim: &String| variable.dims.iter().position(|other| other == dim);
        let own: Vec<usize> = dims.iter().filter_map(at).collect();
        let rest: Vec<usize> = (0..variable.dims.len()).filter(|axis| !own.contains(axis)).collect();
        let order: Vec<usize> = own.iter().chain(&rest).copied().collect();
        let width = rest.iter().map(|&axis| variable.shape[axis]).product();
        let cells = if own.len() == dims.len() {
            self.rows_of(variable, &Part { place: 0, order, width }, rows)?
        } else {
            let by_chain = at(&dims[0]).is_some();
            let places = rows.iter().map(|&row| self.drawn.place(row));
            let places = places.map(|(chain, draw)| if by_chain { chain } else { draw });
            self.all_of(variable)?.transposed(&variable.shape, &order).runs(width, places)
        };
        let last = &dims[dims.len() - 1];
        let mut cut = variable.clone();
        cut.dims = rest.iter().map(|&axis| variable.dims[axis].clone()).collect();
        cut.shape = rest.iter().map(|&axis| variable.shape[axis]).collect();
        if dims.len() == 1 {
            // The dimension stays where it was.
            let place = own[0];
            let shape: Vec<usize> = std::iter::once(rows.len()).chain(cut.shape.iter().copied()).collect();
            let back: Vec<usize> = (1..=place).chain([0]).chain(place + 1..shape.len()).collect();
            cut.dims.insert(place, last.clone());
            cut.shape.insert(place, rows.len());
            return Ok((cut, cells.transposed(&shape, &back)));
        }
        cut.dims.insert(0, last.clone());
        cut.shape.insert(0, rows.len());
        if as_chain {
            cut.dims.insert(0, dims[0].clone());
            cut.shape.insert(0, 1);
        }
        Ok((cut, cells))
    }
}

/// Columns as arrays along the dimension `sample`.
pub(crate) fn of_frame(frame: &Frame) -> Cut {
    let variables = frame.columns.iter().map(|(name, column)| made(name, "sample", cells_of(column)));
    Cut { variables: variables.collect(), ..Cut::default() }
}

fn cells_of(column: &Column) -> Cells {
    let array = column.array();
    let numbers = || column.numbers().into_iter().map(|cell| cell.unwrap_or(f64::NAN));
    match column.kind() {
        DataType::Int64 if array.null_count() == 0 => {
            let cells = array.as_primitive::<arrow_array::types::Int64Type>();
            Cells::integers(cells.values().iter().copied())
        }
        DataType::Boolean if array.null_count() == 0 => {
            Cells::Raw(Kind::Bool, numbers().map(|cell| u8::from(cell != 0.0)).collect())
        }
        DataType::Float32 => {
            Cells::Raw(Kind::F32, numbers().flat_map(|cell| (cell as f32).to_le_bytes()).collect())
        }
        kind if crate::cells::is_number(kind) => Cells::doubles(numbers()),
        _ => Cells::Text((0..column.len()).map(|at| column.text(at)).collect()),
    }
}
