//! Frames: a few rows with all their columns, in memory, on their way from one format to another.

#[cfg(feature = "arrow")]
pub use crate::carried::Carried;

/// Named columns of equal length.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Frame {
    /// The columns in the order of the file.
    pub columns: Vec<(String, Column)>,
}

/// The cells of a column; a missing cell is `None`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Column {
    /// 64-bit floating point.
    Double(Vec<Option<f64>>),
    /// 32-bit floating point.
    Single(Vec<Option<f32>>),
    /// Whole numbers.
    Integer(Vec<Option<i64>>),
    /// Yes or no.
    Boolean(Vec<Option<bool>>),
    /// Text, or anything as written.
    Text(Vec<Option<String>>),
    /// Cells of another type of Arrow or Parquet (whole numbers of other sizes, times, decimals, lists, …), kept as they are.
    #[cfg(feature = "arrow")]
    Other(Carried),
}

impl Column {
    /// Whole numbers, none missing.
    pub fn integers(values: impl IntoIterator<Item = usize>) -> Column {
        Column::Integer(values.into_iter().map(|value| i64::try_from(value).ok()).collect())
    }

    /// Numbers, none missing.
    pub fn doubles(values: impl IntoIterator<Item = f64>) -> Column {
        Column::Double(values.into_iter().map(Some).collect())
    }

    /// How many cells there are.
    pub fn len(&self) -> usize {
        match self {
            Column::Double(cells) => cells.len(),
            Column::Single(cells) => cells.len(),
            Column::Integer(cells) => cells.len(),
            Column::Boolean(cells) => cells.len(),
            Column::Text(cells) => cells.len(),
            #[cfg(feature = "arrow")]
            Column::Other(carried) => carried.len(),
        }
    }

    /// Whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The cells of these positions, in this order.
    pub(crate) fn pick(&self, positions: &[usize]) -> Column {
        fn picked<T: Clone>(cells: &[Option<T>], positions: &[usize]) -> Vec<Option<T>> {
            positions.iter().map(|&at| cells[at].clone()).collect()
        }
        match self {
            Column::Double(cells) => Column::Double(picked(cells, positions)),
            Column::Single(cells) => Column::Single(picked(cells, positions)),
            Column::Integer(cells) => Column::Integer(picked(cells, positions)),
            Column::Boolean(cells) => Column::Boolean(picked(cells, positions)),
            Column::Text(cells) => Column::Text(picked(cells, positions)),
            #[cfg(feature = "arrow")]
            Column::Other(carried) => Column::Other(carried.pick(positions)),
        }
    }

    /// The cell as a number; `None` where it is missing or is not one.
    pub fn number(&self, at: usize) -> Option<f64> {
        match self {
            Column::Double(cells) => cells[at],
            Column::Single(cells) => cells[at].map(f64::from),
            Column::Integer(cells) => cells[at].map(|value| value as f64),
            Column::Boolean(cells) => cells[at].map(|value| f64::from(u8::from(value))),
            Column::Text(cells) => cells[at].as_ref().and_then(|text| text.trim().parse().ok()),
            #[cfg(feature = "arrow")]
            Column::Other(carried) => carried.number(at),
        }
    }

    /// The cell as text; empty where it is missing. Debug keeps every digit of a number and, unlike Display, is short
    /// for tiny ones.
    pub fn text(&self, at: usize) -> String {
        match self {
            Column::Double(cells) => cells[at].map(|value| format!("{value:?}")).unwrap_or_default(),
            Column::Single(cells) => cells[at].map(|value| format!("{value:?}")).unwrap_or_default(),
            Column::Integer(cells) => cells[at].map(|value| value.to_string()).unwrap_or_default(),
            Column::Boolean(cells) => cells[at].map(|value| value.to_string()).unwrap_or_default(),
            Column::Text(cells) => cells[at].clone().unwrap_or_default(),
            #[cfg(feature = "arrow")]
            Column::Other(carried) => carried.text(at).unwrap_or_default(),
        }
    }

    /// The cells as text; an empty one is missing.
    pub(crate) fn as_text(&self) -> Column {
        let cell = |at| Some(self.text(at)).filter(|text| !text.is_empty());
        Column::Text((0..self.len()).map(cell).collect())
    }

    /// Text that is numbers throughout, as numbers: a file of text has no types, and other formats want them. Empty
    /// cells are missing. Whole numbers stay whole, and a column of nothing stays text, as do whole numbers that are too
    /// long for any type.
    pub(crate) fn typed(self) -> Column {
        let Column::Text(cells) = self else { return self };
        fn all<T>(cells: &[Option<String>], parse: impl Fn(&str) -> Option<T>) -> Option<Vec<Option<T>>> {
            let mut found = false;
            let mut typed = Vec::with_capacity(cells.len());
            for cell in cells {
                match cell.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
                    Some(text) => typed.push(Some(parse(text)?)),
                    None => typed.push(None),
                }
                found |= typed.last().is_some_and(Option::is_some);
            }
            found.then_some(typed)
        }
        if let Some(integers) = all(&cells, |text| text.parse().ok()) {
            return Column::Integer(integers);
        }
        match all(&cells, |text| text.parse().ok()) {
            Some(doubles) if all::<i128>(&cells, |text| text.parse().ok()).is_none() => {
                Column::Double(doubles)
            }
            _ => Column::Text(cells),
        }
    }
}

impl Frame {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows of the other after those of this one; the columns must be the same. Where the types differ between the
    /// two (a whole number in one file, a fraction in the other) the column becomes text and is typed again.
    pub(crate) fn append(&mut self, other: Frame) {
        if self.columns.is_empty() {
            *self = other;
            return;
        }
        for ((_, column), (_, more)) in self.columns.iter_mut().zip(other.columns) {
            match (&mut *column, more) {
                (Column::Double(cells), Column::Double(more)) => cells.extend(more),
                (Column::Single(cells), Column::Single(more)) => cells.extend(more),
                (Column::Integer(cells), Column::Integer(more)) => cells.extend(more),
                (Column::Boolean(cells), Column::Boolean(more)) => cells.extend(more),
                (Column::Text(cells), Column::Text(more)) => cells.extend(more),
                #[cfg(feature = "arrow")]
                (Column::Other(cells), Column::Other(more)) if cells.joins(&more) => {
                    *cells = cells.joined(&more)
                }
                (column, more) => {
                    let (Column::Text(mut joined), Column::Text(more)) = (column.as_text(), more.as_text())
                    else {
                        unreachable!("both are text now")
                    };
                    joined.extend(more);
                    *column = Column::Text(joined).typed();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(cells: &[&str]) -> Column {
        Column::Text(cells.iter().map(|cell| Some(cell.to_string())).collect())
    }

    #[test]
    fn text_becomes_what_all_its_cells_are() {
        assert_eq!(texts(&["1", " 2", ""]).typed(), Column::Integer(vec![Some(1), Some(2), None]));
        assert_eq!(texts(&["1", "0.5"]).typed(), Column::doubles([1.0, 0.5]));
        assert_eq!(texts(&["1", "x"]).typed(), texts(&["1", "x"]));
        assert_eq!(texts(&["", ""]).typed(), texts(&["", ""]));
        let longest = u64::MAX.to_string();
        assert_eq!(texts(&["1", &longest]).typed(), texts(&["1", &longest]));
    }

    #[test]
    fn files_of_different_types_can_be_joined() {
        let frame = |column| Frame { columns: vec![("a".to_string(), column)] };
        let mut joined = frame(Column::integers([1, 2]));
        joined.append(frame(Column::doubles([0.1])));
        assert_eq!(joined, frame(Column::doubles([1.0, 2.0, 0.1])));
    }
}
