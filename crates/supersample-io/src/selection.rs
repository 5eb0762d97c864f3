//! Which columns are parameters: the ones named, or all that are not ids.

use std::collections::{HashMap, HashSet};

use crate::{Error, Result};

/// Names of columns that say where a row came from, not what was drawn; a leading dot and capitals do not matter.
const ID_NAMES: [&str; 4] = ["chain", "draw", "iteration", "row"];

/// Which columns of a file to choose rows by.
///
/// Left to themselves, id columns are passed over: those named chain, draw, iteration or row (`.chain` and `Chain`
/// too), CmdStan's own, whose names end in `__`, and columns without a name, which is how R and pandas write row
/// numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Selection {
    /// All but the ids.
    #[default]
    Default,
    /// Exactly these, ids or not. Their order does not matter: parameters keep the order of the file. Here and below
    /// `theta` also stands for all of `theta.1`, `theta.2.1`, `theta[1]`, … where no column has just that name.
    Only(Vec<String>),
    /// All but the ids and these.
    Except(Vec<String>),
}

impl Selection {
    /// The positions of the parameter columns among `names`, in the order of the file; at least one.
    pub(crate) fn positions(&self, names: &[String]) -> Result<Vec<usize>> {
        let chosen: Vec<usize> = match self {
            Selection::Default => (0..names.len()).filter(|&i| !is_id(&names[i])).collect(),
            Selection::Only(only) => {
                let only = positions_of(only, names)?;
                (0..names.len()).filter(|i| only.contains(i)).collect()
            }
            Selection::Except(except) => {
                let except = positions_of(except, names)?;
                (0..names.len()).filter(|i| !is_id(&names[*i]) && !except.contains(i)).collect()
            }
        };
        if chosen.is_empty() {
            let reason = match self {
                Selection::Default => {
                    "the file has only id columns (chain, draw, iteration, row, …); name those to use with --columns"
                }
                Selection::Only(_) => "the list of columns to use is empty",
                Selection::Except(_) => {
                    "every column is an id or excluded; exclude fewer, or name those to use"
                }
            };
            return Err(Error::NoNumericColumns { reason: reason.to_string() });
        }
        Ok(chosen)
    }
}

/// The id a column is, by the bare word in lower case; `None` where it is not one of the four.
pub(crate) fn id_name(name: &str) -> Option<&'static str> {
    let bare = name.strip_prefix('.').unwrap_or(name);
    ID_NAMES.into_iter().find(|id| bare.eq_ignore_ascii_case(id))
}

fn is_id(name: &str) -> bool {
    let bare = name.strip_prefix('.').unwrap_or(name);
    bare.is_empty() || name.ends_with("__") || id_name(name).is_some()
}

/// Where the listed names are. Every name must be in the file, and be listed once: anything else is a slip of the pen.
fn positions_of(listed: &[String], names: &[String]) -> Result<HashSet<usize>> {
    let places: HashMap<&str, usize> = names.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
    let mut seen = HashSet::new();
    let mut positions = HashSet::new();
    for name in listed {
        if !seen.insert(name) {
            return Err(Error::RepeatedColumn { name: name.clone(), known: names.to_vec() });
        }
        let before = positions.len();
        match places.get(name.as_str()) {
            Some(&place) => _ = positions.insert(place),
            None => positions.extend((0..names.len()).filter(|&i| is_entry_of(&names[i], name))),
        }
        if positions.len() == before && !places.contains_key(name.as_str()) {
            return Err(Error::UnknownColumn { name: name.clone(), known: names.to_vec() });
        }
    }
    Ok(positions)
}

/// Whether the column is an entry of the vector or matrix of this name.
fn is_entry_of(column: &str, name: &str) -> bool {
    let rest = column.strip_prefix(name).unwrap_or_default();
    match rest.strip_prefix('.') {
        Some(index) => index.starts_with(|c: char| c.is_ascii_digit()),
        None => rest.starts_with('[') && rest.ends_with(']'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    #[test]
    fn ids_are_passed_over_unless_named() {
        let names = owned(&["", "lp__", ".chain", "Draw", "ITERATION", "row", "rows", "mu", "chain_length"]);
        assert_eq!(Selection::Default.positions(&names).unwrap(), [6, 7, 8]);
        assert_eq!(Selection::Except(owned(&["rows", "row"])).positions(&names).unwrap(), [7, 8]);
        assert_eq!(Selection::Only(owned(&["mu", "lp__"])).positions(&names).unwrap(), [1, 7]);
    }

    #[test]
    fn a_vector_is_named_by_its_bare_name() {
        let names = owned(&["mu", "theta.1.1", "theta.1.2", "theta_raw.1", "z[1,2]", "z[2,2]", "zeta"]);
        assert_eq!(Selection::Only(owned(&["theta", "z"])).positions(&names).unwrap(), [1, 2, 4, 5]);
        assert_eq!(Selection::Except(owned(&["theta"])).positions(&names).unwrap(), [0, 3, 4, 5, 6]);
        assert!(Selection::Only(owned(&["thet"])).positions(&names).is_err());
    }

    #[test]
    fn slips_in_a_list_are_refused_with_the_known_names() {
        let names = owned(&["mu", "tau"]);
        let refused = |selection: Selection| selection.positions(&names).unwrap_err().to_string();
        assert_eq!(
            refused(Selection::Only(owned(&["mu", "sigma"]))),
            "there is no column 'sigma'; the columns are mu, tau"
        );
        assert_eq!(
            refused(Selection::Except(owned(&["mu", "mu"]))),
            "column 'mu' is listed twice; list each of these once: mu, tau"
        );
        assert!(
            refused(Selection::Except(owned(&["mu", "tau"]))).starts_with("no column is left to choose by")
        );
        assert!(Selection::Default.positions(&owned(&["chain", "lp__"])).is_err());
    }
}
