//! Rows of numbers as they stand in the files, which is how people read them: all of them, or a few.

/// Rows of numbers, each with its share where they are not equal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows<'a> {
    pub(crate) values: &'a [f64],
    pub(crate) dim: usize,
    pub(crate) shares: Option<&'a [f64]>,
}

impl Rows<'_> {
    pub(crate) fn len(&self) -> usize {
        self.values.len() / self.dim
    }

    /// Column `j`.
    pub(crate) fn column(&self, j: usize) -> Vec<f64> {
        self.values.iter().skip(j).step_by(self.dim).copied().collect()
    }

    pub(crate) fn share(&self, row: usize) -> f64 {
        self.shares.map_or(1.0 / self.len() as f64, |shares| shares[row])
    }

    /// The numbers of these rows, one row after the other.
    pub(crate) fn pick(&self, rows: &[usize]) -> Vec<f64> {
        rows.iter().flat_map(|&row| &self.values[row * self.dim..(row + 1) * self.dim]).copied().collect()
    }
}
