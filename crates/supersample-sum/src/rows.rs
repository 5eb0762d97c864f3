//! Rows of numbers that somebody else owns: what this crate sees of points.

/// n rows of `dim` numbers each, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    values: &'a [f64],
    dim: usize,
}

impl<'a> Rows<'a> {
    /// Numbers in row order, of which `dim` make a row.
    ///
    /// # Panics
    /// Where the numbers do not fill whole rows.
    pub fn new(values: &'a [f64], dim: usize) -> Rows<'a> {
        assert!(dim > 0 && values.len().is_multiple_of(dim), "{} numbers in rows of {dim}", values.len());
        Rows { values, dim }
    }

    /// How many rows there are.
    pub fn len(self) -> usize {
        self.values.len() / self.dim
    }

    /// Whether there is no row.
    pub fn is_empty(self) -> bool {
        self.values.is_empty()
    }

    /// How many numbers make a row.
    pub fn dim(self) -> usize {
        self.dim
    }

    /// The rows one after the other.
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
