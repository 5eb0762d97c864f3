//! Names of rows, columns, functions and groups, which the library numbers.

use super::{Style, listed, printable};

/// A front end's names of rows, columns, functions and groups; numbers if it has none.
///
/// ```
/// use supersample::Error;
/// use supersample::words::{Names, Style};
/// let refusal = Error::NonFinite { row: 7, column: 1, value: f64::NAN };
/// let named = refusal.sentence(Style::Python, &Names::default().of("x").columns(["mu", "tau"]));
/// assert!(named.starts_with("row 7, column 'tau' of x is NaN; "));
/// assert!(refusal.to_string().starts_with("row 7, column 1 is NaN; "));
/// ```
#[derive(Clone, Default)]
pub struct Names<'a> {
    of: Option<&'a str>,
    columns: Vec<&'a str>,
    functions: Vec<&'a str>,
    groups: Vec<&'a str>,
    group_column: Option<&'a str>,
    weight_column: Option<&'a str>,
    number_of: Option<&'a dyn Fn(usize) -> usize>,
}

impl<'a> Names<'a> {
    /// Sets the name of the argument with the rows: `x`, `y`.
    pub fn of(self, what: &'a str) -> Names<'a> {
        Names { of: Some(what), ..self }
    }

    /// Sets the names of the columns.
    pub fn columns(self, names: impl IntoIterator<Item = &'a str>) -> Names<'a> {
        Names { columns: names.into_iter().collect(), ..self }
    }

    /// Sets the names of the functions whose means are matched.
    pub fn functions(self, names: impl IntoIterator<Item = &'a str>) -> Names<'a> {
        Names { functions: names.into_iter().collect(), ..self }
    }

    /// Sets the labels of the groups, and the name of their column if it has one.
    pub fn groups(self, column: Option<&'a str>, labels: impl IntoIterator<Item = &'a str>) -> Names<'a> {
        Names { groups: labels.into_iter().collect(), group_column: column, ..self }
    }

    /// Sets the name of the column with the weights of the rows.
    pub fn weight_column(self, name: Option<&'a str>) -> Names<'a> {
        Names { weight_column: name, ..self }
    }

    /// Sets the function that gives the row number in the file, from 0: some rows may have been left out.
    pub fn numbered(self, number_of: &'a dyn Fn(usize) -> usize) -> Names<'a> {
        Names { number_of: Some(number_of), ..self }
    }

    /// Number of a row in lists of rows, from 0.
    pub(super) fn number(&self, row: usize) -> usize {
        self.number_of.map_or(row, |number_of| number_of(row))
    }

    /// Describes a row. The rows of a file are counted from 1.
    pub(super) fn row(&self, row: usize, style: Style) -> String {
        format!("row {}", self.number(row) + usize::from(style == Style::Command))
    }

    /// ` of x`, or nothing.
    pub(super) fn of_rows(&self) -> String {
        self.of.map_or(String::new(), |what| format!(" of {what}"))
    }

    /// Describes a weight, and whether it is known to belong to a row.
    pub(super) fn weight(&self, index: usize, style: Style) -> (String, bool) {
        match self.of.is_some() || self.number_of.is_some() {
            true => (format!("weight of {}", self.row(index, style)), true),
            false => (format!("weight {index}"), false),
        }
    }

    /// `column 'lp__': `, or nothing if the weights are not in a column.
    pub(super) fn in_weight_column(&self) -> String {
        self.weight_column.map_or(String::new(), |name| format!("column '{}': ", printable(name)))
    }

    pub(super) fn column(&self, column: usize) -> String {
        named("column", &self.columns, column)
    }

    pub(super) fn function(&self, function: usize) -> String {
        named("function", &self.functions, function)
    }

    pub(super) fn group(&self, group: usize) -> String {
        named(&printable(self.group_column.unwrap_or("group")), &self.groups, group)
    }

    /// `column mu`, `columns mu, tau`.
    pub(super) fn these_columns(&self, columns: &[usize]) -> String {
        let name = |&column: &usize| match self.columns.get(column) {
            Some(name) => printable(name),
            None => column.to_string(),
        };
        let names: Vec<String> = columns.iter().map(name).collect();
        format!("column{} {}", if columns.len() == 1 { "" } else { "s" }, listed(&names))
    }
}

/// `column 'tau'`, or `column 1` without a name.
fn named(noun: &str, names: &[&str], at: usize) -> String {
    match names.get(at) {
        Some(name) => format!("{noun} '{}'", printable(name)),
        None => format!("{noun} {at}"),
    }
}
