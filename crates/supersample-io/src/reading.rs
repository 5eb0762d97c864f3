//! How draws are to be read: which columns, which weights, which format.

use crate::format::Format;
use crate::selection::id_name;
use crate::{Error, Result, Selection};

/// How draws are to be read.
#[derive(Debug, Clone, Default)]
pub struct Reading<'a> {
    /// Which columns to choose by.
    pub selection: Selection,
    /// A column of weights, which is then not a parameter.
    pub weight_column: Option<&'a str>,
    /// A column that rows are grouped by, which is then not a parameter unless it is listed as one; its cells may be
    /// text. `chain` stands for a column that is that id, or else for the chains that the files are.
    pub group_column: Option<&'a str>,
    /// The format, where it is not to be found out.
    pub format: Option<Format>,
    /// What separates the fields of text, where it is not to be found out.
    pub separator: Option<u8>,
    /// Whether the warm-up rows of CmdStan files are kept.
    pub keep_warmup: bool,
}

impl Reading<'_> {
    /// The positions of the parameters; weights and groups are not among them unless they are listed.
    pub(crate) fn parameters(&self, names: &[String]) -> Result<Vec<usize>> {
        let mut parameters = self.selection.positions(names)?;
        if let Some(weight) = self.weight_position(names)? {
            if let (Selection::Only(_), Ok(_)) = (&self.selection, parameters.binary_search(&weight)) {
                return Err(Error::WeightIsParameter { name: names[weight].clone() });
            }
            parameters.retain(|&parameter| parameter != weight);
            if parameters.is_empty() {
                let reason = "the only column that is left holds the weights".to_string();
                return Err(Error::NoNumericColumns { reason });
            }
        }
        let group = self.group_position(names)?;
        if !matches!(self.selection, Selection::Only(_)) {
            parameters.retain(|&parameter| Some(parameter) != group);
        }
        if parameters.is_empty() {
            let reason = "the only column that is left holds the groups".to_string();
            return Err(Error::NoNumericColumns { reason });
        }
        Ok(parameters)
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

    pub(crate) fn weight_position(&self, names: &[String]) -> Result<Option<usize>> {
        let Some(wanted) = self.weight_column else { return Ok(None) };
        let position = names.iter().position(|name| name == wanted);
        let unknown = || Error::UnknownColumn { name: wanted.to_string(), known: names.to_vec() };
        position.ok_or_else(unknown).map(Some)
    }

    pub(crate) fn is_weight(&self, name: &str) -> bool {
        self.weight_column == Some(name)
    }
}
