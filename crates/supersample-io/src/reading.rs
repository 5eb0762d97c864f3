//! Options of reading: which columns, which weights, which format, what to do about missing values.

use std::collections::HashSet;

use supersample::words::id_name;

use crate::error::refused;
use crate::format::Format;
use crate::npy::Shape;
use crate::words::shown;
use crate::{Error, Place, Result, Selection, Use};

/// Options for reading draws.
#[derive(Debug, Clone, Default)]
pub struct Reading<'a> {
    /// Columns used as coordinates.
    pub selection: Selection,
    /// Columns of functions of the parameters, listed as in a [`Selection`], whose means are matched and which are then
    /// not parameters, without those that the selection excludes.
    pub functions: Vec<String>,
    /// A column of weights, which is then not a parameter.
    pub weight_column: Option<&'a str>,
    /// A column that rows are grouped by, which is then not a parameter unless it is listed as one; its cells may be
    /// text. `chain` means the column with that id, or otherwise the files as chains.
    pub group_column: Option<&'a str>,
    /// The format; `None` to detect it.
    pub format: Option<Format>,
    /// Separator of text fields; `None` to detect it.
    pub separator: Option<u8>,
    /// Meaning of the first axes of NumPy arrays; `None` to detect it.
    pub shape: Option<Shape>,
    /// The dimensions of NetCDF and Zarr arrays that count draws: one, or that of chains and that of draws; `None` for
    /// chain and draw, or sample.
    pub sample_dims: Option<Vec<String>>,
    /// Whether the warm-up rows of CmdStan files are kept.
    pub keep_warmup: bool,
    /// Whether rows with a missing value in a used column are left out; otherwise the first of them is an error. Row
    /// numbers still count them.
    pub drop_na: bool,
}

/// Handling of a cell that is not a finite number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// Every such cell is an error.
    Refused,
    /// A missing value becomes NaN; anything else is an error.
    Kept,
    /// Anything becomes NaN.
    AnyKept,
}

impl Missing {
    /// Handling that a reading asks for.
    pub(crate) fn of(reading: &Reading<'_>) -> Missing {
        if reading.drop_na { Missing::Kept } else { Missing::Refused }
    }
}

/// Which columns of a file are read, and for what.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub(crate) names: Vec<String>,
    pub(crate) uses: Vec<Use>,
    /// Positions of the columns that are read as numbers, ascending: the parameters, of which there is at least one, and
    /// the functions.
    pub(crate) columns: Vec<usize>,
    pub(crate) weight: Option<usize>,
}

impl Choice {
    /// The columns of numbers and then the weight, each with its position and whether it is the weight.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = (usize, bool)> + '_ {
        let columns = self.columns.iter().map(|&position| (position, false));
        columns.chain(self.weight.map(|position| (position, true)))
    }

    /// Positions of the columns of this use, ascending.
    pub(crate) fn used_as(&self, one: &Use) -> Vec<usize> {
        (0..self.names.len()).filter(|&i| self.uses[i] == *one).collect()
    }
}

impl Reading<'_> {
    /// Which columns are read for what. `found` has for each column why it cannot be a parameter, as far as the format
    /// can tell. Weights and groups are not parameters unless they are listed.
    pub(crate) fn choose(&self, names: Vec<String>, found: &[Option<Use>]) -> Result<Choice> {
        let mut seen = HashSet::new();
        if let Some(name) = names.iter().find(|name| !seen.insert(name.as_str())) {
            return Err(refused!(
                "two columns are named '{}'; give every column a name of its own",
                shown(name)
            ));
        }
        let mut uses = self.selection.uses(&names, found, &self.functions)?;
        let weight = self.weight_position(&names)?;
        if let Some(weight) = weight {
            let is_listed = self.selection.only().is_some() && uses[weight] == Use::Parameter;
            if is_listed || uses[weight] == Use::Function {
                return Err(refused!(
                    "column '{}' holds the weights and cannot be a {} as well; list it as one of the two",
                    shown(&names[weight]),
                    uses[weight]
                ));
            }
            uses[weight] = Use::Weight;
            if !uses.contains(&Use::Parameter) {
                return Err(refused!(
                    "no column is left to use: the only column that is left holds the weights"
                ));
            }
        }
        if let Some(group) = self.group_position(&names)? {
            let is_listed = self.selection.only().is_some() && uses[group] == Use::Parameter;
            if !is_listed && !matches!(uses[group], Use::Weight | Use::Function) {
                uses[group] = Use::Group;
            }
        }
        if !uses.contains(&Use::Parameter) {
            return Err(refused!("no column is left to use: the only column that is left holds the groups"));
        }
        let is_number = |i: &usize| matches!(uses[*i], Use::Parameter | Use::Function);
        let columns = (0..names.len()).filter(is_number).collect();
        Ok(Choice { names, uses, columns, weight })
    }

    /// Where the groups are; `None` for chains that no column tells.
    pub(crate) fn group_position(&self, names: &[String]) -> Result<Option<usize>> {
        let Some(wanted) = self.group_column else { return Ok(None) };
        let is_id = |name: &String| id_name(name).is_some() && id_name(name) == id_name(wanted);
        let position = names.iter().position(|name| name == wanted);
        match position.or_else(|| names.iter().position(is_id)) {
            None if id_name(wanted) != Some("chain") => {
                Err(Error::UnknownColumn { name: wanted.to_string(), known: names.to_vec() })
            }
            position => Ok(position),
        }
    }

    fn weight_position(&self, names: &[String]) -> Result<Option<usize>> {
        let Some(wanted) = self.weight_column else { return Ok(None) };
        let position = names.iter().position(|name| name == wanted);
        let unknown = || Error::UnknownColumn { name: wanted.to_string(), known: names.to_vec() };
        position.ok_or_else(unknown).map(Some)
    }
}

/// What a cell that should hold a number can hold instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadCell {
    Text,
    Missing,
    NonFinite,
}

impl BadCell {
    /// Whether a cell of text is to be kept as NaN.
    pub(crate) fn is_kept(self, text: &str, missing: Missing) -> bool {
        let is_missing = self == BadCell::Missing || text.parse::<f64>().is_ok_and(f64::is_nan);
        match missing {
            Missing::Refused => false,
            Missing::Kept => is_missing,
            Missing::AnyKept => true,
        }
    }

    pub(crate) fn refused(self, place: Place, text: String, is_weight: bool) -> Error {
        match self {
            _ if is_weight => Error::BadWeightCell { place, text },
            BadCell::Text => Error::TextCell { place, text },
            BadCell::Missing => Error::MissingCell { place, text },
            BadCell::NonFinite => Error::NonFiniteCell { place, text },
        }
    }
}

/// A number as it is to be used (a weight may be −∞, the logarithm of none; a missing value may be kept as NaN), or the
/// error that names it. `None` is a missing value.
pub(crate) fn cell(
    value: Option<f64>,
    missing: Missing,
    is_weight: bool,
    place: impl FnOnce() -> Place,
) -> Result<f64> {
    let (bad, text) = match value {
        Some(value) if value.is_finite() || is_weight && value == f64::NEG_INFINITY => return Ok(value),
        _ if missing == Missing::AnyKept => return Ok(f64::NAN),
        Some(value) if value.is_nan() && missing == Missing::Kept => return Ok(value),
        None if missing == Missing::Kept => return Ok(f64::NAN),
        Some(value) => (BadCell::NonFinite, value.to_string()),
        None => (BadCell::Missing, String::new()),
    };
    Err(bad.refused(place(), text, is_weight))
}
