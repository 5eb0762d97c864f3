//! Advice of the library as Python objects with a sentence each.

use pyo3::prelude::*;
use pyo3::types::PyList;
use supersample::task::Advice;
use supersample::words::{Names, Style};

/// Advice that Python sees as a list.
pub(crate) struct AdviceList(pub(crate) Vec<Advice>);

impl<'py> IntoPyObject<'py> for &AdviceList {
    type Target = PyList;
    type Output = Bound<'py, PyList>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        PyList::new(py, self.0.iter().cloned().map(Piece))
    }
}

impl<'py> IntoPyObject<'py> for AdviceList {
    type Target = PyList;
    type Output = Bound<'py, PyList>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        (&self).into_pyobject(py)
    }
}

/// One piece of advice.
#[pyclass(frozen, name = "Advice", module = "supersample._native")]
pub(crate) struct Piece(Advice);

#[pymethods]
impl Piece {
    /// Whether it follows from what was asked for, and is no warning.
    #[getter]
    fn is_expected(&self) -> bool {
        self.is_caution()
            || matches!(
                self.0,
                Advice::RowsWithoutWeight { .. } | Advice::NotDrawsOfDensity { .. } | Advice::Corrected(_)
            )
    }

    /// Whether it is a caution about columns, which a result shows and which is no warning.
    #[getter]
    fn is_caution(&self) -> bool {
        matches!(self.0, Advice::HeavyTails { .. } | Advice::NearlyCollinear { .. })
    }

    /// Whether it is what scores say of the rows.
    #[getter]
    fn is_of_scores(&self) -> bool {
        matches!(self.0, Advice::NotDrawsOfDensity { .. } | Advice::Corrected(_))
    }

    /// What it says, with these names of the columns.
    #[pyo3(signature = (columns=None))]
    fn sentence(&self, columns: Option<Vec<String>>) -> String {
        let columns = columns.unwrap_or_default();
        self.0.sentence(Style::Python, &Names::default().columns(columns.iter().map(String::as_str)))
    }
}
