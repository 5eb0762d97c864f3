//! What a column is by its name and by what it counts, and the notes about it: one rule for files, frames and dicts.

use super::{Style, listed, printable};

/// Names of columns that say where a row came from; a leading dot and capitals do not matter.
const ID_NAMES: [&str; 4] = ["chain", "draw", "iteration", "row"];
/// Names of the weights that this project writes; the second where the first is taken.
pub const OWN_WEIGHTS: [&str; 2] = ["weight", "supersample_weight"];
/// The log-prior that brms keeps with its draws.
const OWN_OF_BRMS: &str = "lprior";
/// Names that other tools give to ids, in lower case.
const ID_LIKE: &str = "id idx index iter iterations sample sample_id samples rownum row_number rowid step walker \
    nsamp";
/// Names that other tools give to weights and log-densities, in lower case.
const WEIGHT_LIKE: &str = "weights wt wts w log_weight log_weights logweight logweights log_wt logwt logw lnw lp \
    logp lnprob log_prob log_likelihood loglikelihood loglike logl log_posterior log_density";

/// What a column is by its name.
///
/// ```
/// use supersample::words::ColumnRole;
/// assert_eq!(ColumnRole::of("theta"), ColumnRole::Parameter);
/// assert_eq!([".chain", "Draw", "lp__", ""].map(ColumnRole::of), [ColumnRole::Id; 4]);
/// assert_eq!(ColumnRole::of("weight"), ColumnRole::OwnWeight);
/// assert_eq!(ColumnRole::of("Unnamed: 0"), ColumnRole::LooksLikeId);
/// assert_eq!(ColumnRole::of("logwt"), ColumnRole::LooksLikeWeight);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnRole {
    /// A coordinate.
    Parameter,
    /// An id, which is not a coordinate: chain, draw, iteration or row, CmdStan's own columns, whose names end in `__`,
    /// brms' `lprior`, and columns without a name, which is how R and pandas write row numbers.
    Id,
    /// Weights that this project writes, which are not a coordinate.
    OwnWeight,
    /// A coordinate with a name that other tools give to ids.
    LooksLikeId,
    /// A coordinate with a name that other tools give to weights or log-densities.
    LooksLikeWeight,
}

impl ColumnRole {
    /// Returns what a column of this name is.
    pub fn of(name: &str) -> ColumnRole {
        let bare = name.trim_start_matches('.').to_lowercase();
        let is_among = |words: &str| words.split(' ').any(|word| word == bare);
        match name {
            _ if bare.is_empty() || name.ends_with("__") || name == OWN_OF_BRMS => ColumnRole::Id,
            _ if id_name(name).is_some() => ColumnRole::Id,
            _ if OWN_WEIGHTS.contains(&name) => ColumnRole::OwnWeight,
            _ if is_among(ID_LIKE) || bare.starts_with("unnamed: ") => ColumnRole::LooksLikeId,
            _ if is_among(WEIGHT_LIKE) => ColumnRole::LooksLikeWeight,
            _ => ColumnRole::Parameter,
        }
    }

    /// Whether a column of this name is a coordinate unless it is excluded by name.
    pub fn is_coordinate(self) -> bool {
        !matches!(self, ColumnRole::Id | ColumnRole::OwnWeight)
    }
}

/// Returns which of the four ids a column is, in lower case and without a dot: chain, draw, iteration or row.
pub fn id_name(name: &str) -> Option<&'static str> {
    let bare = name.strip_prefix('.').unwrap_or(name);
    ID_NAMES.into_iter().find(|id| bare.eq_ignore_ascii_case(id))
}

/// Note about columns that may not be what they are used as.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnNote {
    /// Coordinates that look like ids.
    LookLikeIds(Vec<String>),
    /// Coordinates that look like weights or log-densities.
    LookLikeWeights(Vec<String>),
    /// Weights that this project wrote, used neither as a coordinate nor as weights.
    WeightsNotUsed(String),
}

impl ColumnNote {
    /// Returns the notes about columns of these names, each with whether it is used as a coordinate and whether its
    /// values count (see [`Counting`]). Columns that the user has listed by name need no note, and are left out.
    pub fn about<'a>(columns: impl IntoIterator<Item = (&'a str, bool, bool)>) -> Vec<ColumnNote> {
        let (mut ids, mut weights, mut own) = (Vec::new(), Vec::new(), None);
        for (name, is_used, counts) in columns {
            match ColumnRole::of(name) {
                ColumnRole::OwnWeight if !is_used => own = own.or(Some(name.to_string())),
                _ if !is_used => {}
                ColumnRole::LooksLikeWeight => weights.push(name.to_string()),
                role if role == ColumnRole::LooksLikeId || counts => ids.push(name.to_string()),
                _ => {}
            }
        }
        let mut notes: Vec<ColumnNote> = own.map(ColumnNote::WeightsNotUsed).into_iter().collect();
        notes.extend((!ids.is_empty()).then_some(ColumnNote::LookLikeIds(ids)));
        notes.extend((!weights.is_empty()).then_some(ColumnNote::LookLikeWeights(weights)));
        notes
    }

    /// Returns the note as a sentence without a full stop.
    pub fn sentence(&self, style: Style) -> String {
        let leave_out = |names: &[String]| {
            let each = |quote: &str| {
                let quoted = names.iter().map(|name| format!("{quote}~{}{quote}", printable(name)));
                quoted.collect::<Vec<_>>().join(", ")
            };
            match style {
                Style::Command => format!("leave out with --exclude {}", typed_list(names)),
                Style::R if names.len() == 1 => format!("leave out with columns = {}", each("\"")),
                Style::R => format!("leave out with columns = c({})", each("\"")),
                _ => format!("leave out with columns=[{}]", each("'")),
            }
        };
        let look = |names: &[String]| if names.len() == 1 { "looks" } else { "look" };
        match self {
            ColumnNote::LookLikeIds(names) => format!(
                "{} used, but {} like an id, not a parameter; {}",
                are(names),
                look(names),
                leave_out(names)
            ),
            ColumnNote::LookLikeWeights(names) => {
                let flags = match style {
                    Style::Command => "--weight-column or --log-weight-column",
                    _ => "sample_weight or log_weight",
                };
                format!(
                    "{} used as coordinates, but {} like weights or log-densities; {}, or use one with {flags}",
                    are(names),
                    look(names),
                    leave_out(names)
                )
            }
            ColumnNote::WeightsNotUsed(name) => {
                let use_it = match style {
                    Style::Command => format!("--weight-column {}", as_typed(name)),
                    Style::R => format!("sample_weight = \"{}\"", printable(name)),
                    _ => format!("sample_weight='{}'", printable(name)),
                };
                format!("{} not used; use it as weights with {use_it}", are(std::slice::from_ref(name)))
            }
        }
    }
}

/// `column 'x' is`, `columns x, y are`.
fn are(names: &[String]) -> String {
    match names {
        [name] => format!("column '{}' is", printable(&listed(std::slice::from_ref(name)))),
        names => format!("columns {} are", printable(&listed(names))),
    }
}

fn typed_list(names: &[String]) -> String {
    names.iter().map(|name| as_typed(name)).collect::<Vec<_>>().join(",")
}

/// Returns a name as it is typed after a flag: in quotes where it has a comma outside brackets or something a shell
/// would take for its own.
pub fn as_typed(name: &str) -> String {
    let (mut depth, mut splits) = (0_i32, false);
    for character in name.chars() {
        match character {
            '[' | '(' => depth += 1,
            ']' | ')' => depth -= 1,
            ',' if depth == 0 => splits = true,
            _ => {}
        }
    }
    let is_plain = |c: char| c.is_alphanumeric() || "._-+:@%/".contains(c);
    let shown = printable(&listed(&[name]));
    match (splits, name.chars().all(is_plain)) {
        (true, _) => format!("'\"{shown}\"'"),
        (false, true) => shown,
        (false, false) => format!("'{shown}'"),
    }
}

/// A column that begins again more often than this is not checked further.
const MOST_CHAINS: usize = 10_000;
/// Fewer rows than this count by chance.
const FEWEST_COUNTED: usize = 3;

/// The columns that have counted 0, 1, 2, … or 1, 2, 3, … so far, while rows go by: ids under another name.
///
/// ```
/// use supersample::words::Counting;
/// let mut counting = Counting::default();
/// counting.see(&[1.0, 0.5, 2.0, 0.5, 3.0, 0.25], 2);
/// assert_eq!(counting.columns(|row| row == 0), [0]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Counting {
    /// None before the first row.
    columns: Option<Vec<CountingColumn>>,
    rows: usize,
}

#[derive(Clone, Debug)]
struct CountingColumn {
    slot: usize,
    first: f64,
    last: f64,
    /// Rows at which it has begun again.
    starts: Vec<usize>,
}

impl Counting {
    /// Checks the next rows of `dim` numbers. The first that does not count removes its column from the list, so this
    /// costs almost nothing.
    pub fn see(&mut self, values: &[f64], dim: usize) {
        if values.is_empty() {
            return;
        }
        let counts = |slot: usize| values[slot] == 0.0 || values[slot] == 1.0;
        let column = |slot: usize| {
            let first = values[slot];
            CountingColumn { slot, first, last: first - 1.0, starts: Vec::new() }
        };
        let columns =
            self.columns.get_or_insert_with(|| (0..dim).filter(|&slot| counts(slot)).map(column).collect());
        let first_row = self.rows;
        self.rows += values.len() / dim;
        columns.retain_mut(|column| {
            let cells = values.iter().skip(column.slot).step_by(dim).enumerate();
            for (i, &value) in cells {
                if value != column.last + 1.0 {
                    if value != column.first || column.starts.len() == MOST_CHAINS {
                        return false;
                    }
                    column.starts.push(first_row + i);
                }
                column.last = value;
            }
            true
        });
    }

    /// Returns the positions of the columns that count: over all rows, or from each row on that `is_start` of a chain.
    pub fn columns(&self, is_start: impl Fn(usize) -> bool) -> Vec<usize> {
        let counting = self.columns.iter().flatten().filter(|_| self.rows >= FEWEST_COUNTED);
        counting
            .filter(|column| column.starts.iter().all(|&row| is_start(row)))
            .map(|column| column.slot)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_as_every_front_end_takes_them() {
        let role = ColumnRole::of;
        for id in ["", ".", "lp__", "lprior", ".chain", "Draw", "ITERATION", "row"] {
            assert_eq!(role(id), ColumnRole::Id, "{id}");
        }
        for name in ["rows", "mu", "chain_length", "weighted", "w1", "Weight"] {
            assert_eq!(role(name), ColumnRole::Parameter, "{name}");
        }
        assert_eq!((role("Index"), role(".Iter")), (ColumnRole::LooksLikeId, ColumnRole::LooksLikeId));
        assert_eq!(
            (role("LogL"), role("weights")),
            (ColumnRole::LooksLikeWeight, ColumnRole::LooksLikeWeight)
        );
        assert!(!role("supersample_weight").is_coordinate() && role("wt").is_coordinate());
    }

    #[test]
    fn notes_name_the_columns_and_the_remedy_of_each_front_end() {
        let columns = [("mu", true, false), ("iter", true, false), ("nr", true, true), ("lp", true, false)];
        let notes =
            ColumnNote::about(columns.into_iter().chain([("weight", false, false), ("chain", false, true)]));
        let command: Vec<String> = notes.iter().map(|note| note.sentence(Style::Command)).collect();
        assert_eq!(
            command,
            [
                "column 'weight' is not used; use it as weights with --weight-column weight",
                "columns iter, nr are used, but look like an id, not a parameter; leave out with --exclude iter,nr",
                "column 'lp' is used as coordinates, but looks like weights or log-densities; leave out with --exclude \
                 lp, or use one with --weight-column or --log-weight-column",
            ]
        );
        assert_eq!(
            notes[1].sentence(Style::Python),
            "columns iter, nr are used, but look like an id, not a parameter; leave out with columns=['~iter', '~nr']"
        );
        assert!(notes[2].sentence(Style::Python).ends_with("or use one with sample_weight or log_weight"));
        let of_r: Vec<String> = notes.iter().map(|note| note.sentence(Style::R)).collect();
        assert!(of_r[0].ends_with("use it as weights with sample_weight = \"weight\""), "{of_r:?}");
        assert!(of_r[1].ends_with("leave out with columns = c(\"~iter\", \"~nr\")"), "{of_r:?}");
        assert!(
            of_r[2].contains("leave out with columns = \"~lp\", or use one with sample_weight"),
            "{of_r:?}"
        );
        assert_eq!(ColumnNote::about([("mu", true, false)]), []);
    }

    #[test]
    fn counting_begins_again_only_with_a_chain() {
        let mut counting = Counting::default();
        counting.see(&[0.0, 1.0, 1.0, 2.0], 2);
        counting.see(&[2.0, 1.0, 3.0, 2.0], 2);
        assert_eq!(counting.columns(|row| row == 0), [0]);
        assert_eq!(counting.columns(|row| row % 2 == 0), [0, 1]);
        let mut few = Counting::default();
        few.see(&[0.0, 1.0], 1);
        assert_eq!(few.columns(|_| true), [0; 0]);
    }

    #[test]
    fn names_are_given_as_a_shell_takes_them() {
        assert_eq!(as_typed("theta.1"), "theta.1");
        assert_eq!(as_typed("theta[1,2]"), "'theta[1,2]'");
        assert_eq!(as_typed("no,te"), "'\"no,te\"'");
    }
}
