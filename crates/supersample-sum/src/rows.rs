//! Borrowed rows of numbers: the points of this crate.

/// n rows of `dim` numbers, in row order.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    values: &'a [f64],
    dim: usize,
}

impl<'a> Rows<'a> {
    /// Numbers in row order, of which `dim` make a row.
    ///
    /// # Panics
    /// If the numbers do not fill whole rows.
    pub fn new(values: &'a [f64], dim: usize) -> Rows<'a> {
        assert!(dim > 0 && values.len().is_multiple_of(dim), "{} numbers in rows of {dim}", values.len());
        Rows { values, dim }
    }

    /// Number of rows.
    pub fn len(self) -> usize {
        self.values.len() / self.dim
    }

    /// Whether there is no row.
    pub fn is_empty(self) -> bool {
        self.values.is_empty()
    }

    /// Numbers in a row.
    pub fn dim(self) -> usize {
        self.dim
    }

    /// Iterator over the rows.
    pub fn iter(self) -> std::slice::ChunksExact<'a, f64> {
        self.values.chunks_exact(self.dim)
    }

    /// All numbers in row order.
    pub fn as_slice(self) -> &'a [f64] {
        self.values
    }

    /// Row `i`.
    pub fn row(self, i: usize) -> &'a [f64] {
        &self.values[i * self.dim..(i + 1) * self.dim]
    }
}
