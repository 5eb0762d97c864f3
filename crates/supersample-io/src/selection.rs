//! Columns used as coordinates: the named ones, or all numbers that are neither ids nor our own weights.

use std::collections::{HashMap, HashSet};
use std::fmt;

use supersample::words::ColumnRole;

use crate::error::refused;
use crate::words::shown;
use crate::{Error, Result};

/// Columns of a file used as coordinates.
///
/// By default, columns without numbers are skipped, and so are ids: those named chain, draw, iteration or row (`.chain`
/// and `Chain` too), CmdStan's own, whose names end in `__`, the index of a pandas table, and columns without a name,
/// which is how R and pandas write row numbers. So is `weight`, which this project writes.
///
/// In a list, `theta` also means all of `theta.1`, `theta.2.1`, `theta[1]`, … if no column has exactly that name. In
/// patterns such as `theta*` and `x?`, a star matches any characters and a question mark one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Selection {
    /// All but the ids.
    #[default]
    Default,
    /// Exactly these, ids or not. Their order does not matter: parameters keep the order of the file.
    Only(Vec<String>),
    /// All but the ids and these.
    Except(Vec<String>),
    /// The first without the second.
    OnlyExcept(Vec<String>, Vec<String>),
}

/// Use of a column of a file, or why it is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Use {
    /// A coordinate of the points.
    Parameter,
    /// A function of interest, whose mean is matched; not a coordinate.
    Function,
    /// The weights of the rows.
    Weight,
    /// The groups of the rows.
    Group,
    /// Nothing: it says where a row came from.
    Id,
    /// Nothing: it is the index of a pandas table.
    Index,
    /// Nothing: it holds weights of a chosen subset and was not asked for.
    OwnWeight,
    /// Nothing: it holds text.
    Text,
    /// Nothing: it holds neither numbers nor text, but this.
    NotNumbers(String),
    /// Nothing: its cells are empty.
    Empty,
    /// Nothing: it was excluded, or is not among those that were listed.
    NotAsked,
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Use::Parameter => "parameter",
            Use::Function => "function",
            Use::Weight => "weights",
            Use::Group => "groups",
            Use::Id => "id",
            Use::Index => "index of a pandas table",
            Use::OwnWeight => "weights of a subset",
            Use::Text => "text",
            Use::NotNumbers(kind) => kind,
            Use::Empty => "empty",
            Use::NotAsked => "not selected",
        })
    }
}

impl Selection {
    /// Creates a selection from two lists of names; `None` for a list that was not given.
    pub fn new(only: Option<Vec<String>>, except: Option<Vec<String>>) -> Selection {
        match (only, except) {
            (None, None) => Selection::Default,
            (Some(only), None) => Selection::Only(only),
            (None, Some(except)) => Selection::Except(except),
            (Some(only), Some(except)) => Selection::OnlyExcept(only, except),
        }
    }

    /// The columns that were listed by name; `None` if none were.
    pub(crate) fn only(&self) -> Option<&[String]> {
        match self {
            Selection::Only(only) | Selection::OnlyExcept(only, _) => Some(only),
            _ => None,
        }
    }

    fn except(&self) -> &[String] {
        match self {
            Selection::Except(except) | Selection::OnlyExcept(_, except) => except,
            _ => &[],
        }
    }

    /// What each column is used for. `found` has for each column why it cannot be a parameter, as far as the format can
    /// tell; one that is listed by name is used anyway, and its cells give an error. `functions` lists columns that are
    /// not parameters and whose means are matched.
    pub(crate) fn uses(
        &self,
        names: &[String],
        found: &[Option<Use>],
        functions: &[String],
    ) -> Result<Vec<Use>> {
        let except = positions_of(self.except(), names)?;
        let only = self.only().map(|only| positions_of(only, names)).transpose()?;
        let functions = positions_of(functions, names)?;
        let both = |i: &usize| functions.contains(i) && only.as_ref().is_some_and(|only| only.contains(i));
        if let Some(both) = (0..names.len()).filter(|i| !except.contains(i)).find(both) {
            return Err(refused!(
                "column '{}' is a function, which distances do not use, and cannot be a parameter as well; list it \
                 as one of the two",
                shown(&names[both])
            ));
        }
        if !functions.is_empty() && functions.is_subset(&except) {
            return Err(refused!("every function is also excluded; exclude fewer, or name no functions"));
        }
        let one = |i: usize| match &only {
            _ if except.contains(&i) => Use::NotAsked,
            _ if functions.contains(&i) => Use::Function,
            Some(only) if only.contains(&i) => Use::Parameter,
            Some(_) => Use::NotAsked,
            None => match ColumnRole::of(&names[i]) {
                ColumnRole::Id => Use::Id,
                ColumnRole::OwnWeight => Use::OwnWeight,
                _ => found[i].clone().unwrap_or(Use::Parameter),
            },
        };
        let uses: Vec<Use> = (0..names.len()).map(one).collect();
        match uses.contains(&Use::Parameter) {
            true => Ok(uses),
            false => Err(refused!("no column is left to use: {}", self.none_left(&uses, names))),
        }
    }

    fn none_left(&self, uses: &[Use], names: &[String]) -> String {
        match self {
            Selection::Only(_) => "the list of columns to use is empty".to_string(),
            Selection::OnlyExcept(..) => "every column that is listed is also excluded; exclude fewer".to_string(),
            Selection::Except(_) => {
                "every column is an id, not numbers, or excluded; exclude fewer, or name those to use with --columns".to_string()
            }
            Selection::Default if uses.contains(&Use::Function) => {
                "every column of numbers is a function; distances need at least one other".to_string()
            }
            Selection::Default => match uses.iter().position(|one| !matches!(one, Use::Id | Use::OwnWeight)) {
                None => "the file has only id columns (chain, draw, iteration, row, …); name those to use with \
                         --columns".to_string(),
                Some(at) => format!("no column holds numbers (column '{}' holds: {})", shown(&names[at]), uses[at]),
            },
        }
    }
}

/// Where the listed names are. Every name must be in the file, and be listed once: anything else is an error.
fn positions_of(listed: &[String], names: &[String]) -> Result<HashSet<usize>> {
    let places: HashMap<&str, usize> = names.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
    let mut seen = HashSet::new();
    let mut positions = HashSet::new();
    for name in listed {
        if !seen.insert(name) {
            let known = crate::words::listed(names);
            return Err(refused!(
                "column '{}' is listed twice; list each of these once: {known}",
                shown(name)
            ));
        }
        let found: Vec<usize> = match places.get(name.as_str()) {
            Some(&place) => vec![place],
            None if name.contains(['*', '?']) => {
                (0..names.len()).filter(|&i| matches(name, &names[i])).collect()
            }
            None => (0..names.len()).filter(|&i| is_entry_of(&names[i], name)).collect(),
        };
        if found.is_empty() {
            return Err(Error::UnknownColumn { name: name.clone(), known: names.to_vec() });
        }
        positions.extend(found);
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

/// Whether the pattern fits the name: a star is any characters, a question mark one.
fn matches(pattern: &str, name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    // Whether what has been seen of the pattern fits the first characters of the name, for each number of them.
    let mut fits = vec![false; name.len() + 1];
    fits[0] = true;
    for character in pattern.chars() {
        if character == '*' {
            (0..name.len()).for_each(|i| fits[i + 1] |= fits[i]);
        } else {
            (0..name.len())
                .rev()
                .for_each(|i| fits[i + 1] = fits[i] && (character == '?' || character == name[i]));
            fits[0] = false;
        }
    }
    fits[name.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    fn positions(selection: &Selection, names: &[String]) -> Result<Vec<usize>> {
        let uses = selection.uses(names, &vec![None; names.len()], &[])?;
        Ok((0..names.len()).filter(|&i| uses[i] == Use::Parameter).collect())
    }

    #[test]
    fn ids_are_passed_over_unless_named() {
        let names = owned(&["", "lp__", ".chain", "Draw", "ITERATION", "row", "rows", "mu", "chain_length"]);
        assert_eq!(positions(&Selection::Default, &names).unwrap(), [6, 7, 8]);
        assert_eq!(positions(&Selection::Except(owned(&["rows", "row"])), &names).unwrap(), [7, 8]);
        assert_eq!(positions(&Selection::Only(owned(&["mu", "lp__"])), &names).unwrap(), [1, 7]);
    }

    #[test]
    fn our_own_weights_are_no_coordinate_unless_named() {
        let names = owned(&["mu", "weight", "supersample_weight", "weights"]);
        assert_eq!(positions(&Selection::Default, &names).unwrap(), [0, 3]);
        assert_eq!(positions(&Selection::Except(owned(&["weights"])), &names).unwrap(), [0]);
        assert_eq!(positions(&Selection::Only(owned(&["weight"])), &names).unwrap(), [1]);
    }

    #[test]
    fn columns_that_cannot_be_parameters_are_passed_over_unless_named() {
        let names = owned(&["mu", "note"]);
        let found = [None, Some(Use::Text)];
        assert_eq!(Selection::Default.uses(&names, &found, &[]).unwrap(), [Use::Parameter, Use::Text]);
        let named = Selection::Only(owned(&["note"])).uses(&names, &found, &[]).unwrap();
        assert_eq!(named, [Use::NotAsked, Use::Parameter]);
        let error = Selection::Except(owned(&["mu"])).uses(&names, &found, &[]).unwrap_err().to_string();
        assert!(
            error.starts_with("no column is left to use: every column is an id, not numbers, or excluded")
        );
    }

    #[test]
    fn functions_are_no_parameters_and_can_be_excluded() {
        let names = owned(&["mu", "tau", "y.1", "y.2", "note", "lp__"]);
        let found = [None, None, None, None, Some(Use::Text), None];
        let uses = |selection: Selection, functions: &[&str]| {
            let uses =
                selection.uses(&names, &found, &owned(functions)).map_err(|error| error.to_string())?;
            let all = uses.iter().map(|one| match one {
                Use::Parameter => 'p',
                Use::Function => 'f',
                _ => '-',
            });
            Ok::<String, String>(all.collect())
        };
        assert_eq!(uses(Selection::Default, &["y"]).unwrap(), "ppff--");
        assert_eq!(uses(Selection::Default, &["y*", "lp__"]).unwrap(), "ppff-f");
        assert_eq!(uses(Selection::Except(owned(&["y.2"])), &["y"]).unwrap(), "ppf---");
        assert_eq!(uses(Selection::Only(owned(&["mu"])), &["y.?"]).unwrap(), "p-ff--");
        // Listed by name it is taken, and refused where its cells are read.
        assert_eq!(uses(Selection::Default, &["note"]).unwrap(), "ppppf-");
        let refused = |selection: Selection, functions: &[&str]| uses(selection, functions).unwrap_err();
        assert!(
            refused(Selection::Only(owned(&["mu", "y"])), &["y.1"]).starts_with("column 'y.1' is a function")
        );
        assert!(
            refused(Selection::Except(owned(&["y"])), &["y"]).starts_with("every function is also excluded")
        );
        assert!(refused(Selection::Default, &["z"]).starts_with("there is no column 'z'"));
        assert!(
            refused(Selection::Default, &["mu", "tau", "y"])
                .contains("every column of numbers is a function")
        );
    }

    #[test]
    fn a_vector_is_named_by_its_bare_name() {
        let names = owned(&["mu", "theta.1.1", "theta.1.2", "theta_raw.1", "z[1,2]", "z[2,2]", "zeta"]);
        assert_eq!(positions(&Selection::Only(owned(&["theta", "z"])), &names).unwrap(), [1, 2, 4, 5]);
        assert_eq!(positions(&Selection::Except(owned(&["theta"])), &names).unwrap(), [0, 3, 4, 5, 6]);
        assert!(positions(&Selection::Only(owned(&["thet"])), &names).is_err());
    }

    #[test]
    fn patterns_and_both_lists_together() {
        let names = owned(&["mu", "theta.1", "theta_raw.1", "z[1,2]", "x1", "x2", "x10", "µx"]);
        let only = |list: &[&str]| positions(&Selection::Only(owned(list)), &names).unwrap();
        assert_eq!(only(&["theta*"]), [1, 2]);
        assert_eq!(only(&["z[*]", "x?"]), [3, 4, 5]);
        assert_eq!(only(&["*1*"]), [1, 2, 3, 4, 6]);
        assert_eq!(only(&["?x"]), [7]);
        assert!(positions(&Selection::Only(owned(&["y*"])), &names).is_err());
        let both = Selection::new(Some(owned(&["x*", "mu"])), Some(owned(&["x1?"])));
        assert_eq!(positions(&both, &names).unwrap(), [0, 4, 5]);
        assert!(positions(&Selection::new(Some(owned(&["mu"])), Some(owned(&["mu"]))), &names).is_err());
    }

    #[test]
    fn slips_in_a_list_are_refused_with_the_known_names() {
        let names = owned(&["mu", "tau"]);
        let refused = |selection: Selection| positions(&selection, &names).unwrap_err().to_string();
        assert_eq!(
            refused(Selection::Only(owned(&["mu", "sigma"]))),
            "there is no column 'sigma'; the columns are mu, tau"
        );
        assert_eq!(
            refused(Selection::Only(owned(&["Mu"]))),
            "there is no column 'Mu'; did you mean 'mu'? the columns are mu, tau"
        );
        assert_eq!(
            refused(Selection::Except(owned(&["mu", "mu"]))),
            "column 'mu' is listed twice; list each of these once: mu, tau"
        );
        assert!(refused(Selection::Except(owned(&["mu", "tau"]))).starts_with("no column is left to use"));
        assert!(positions(&Selection::Default, &owned(&["chain", "lp__"])).is_err());
    }
}
