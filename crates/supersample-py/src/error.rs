//! Errors of the library as Python exceptions, with sentences that name keywords.

use std::str::FromStr;

use pyo3::exceptions::{PyIsADirectoryError, PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use supersample::Error;
use supersample::words::{Names, Style};

/// A `ValueError` with the sentence of the library, and as its attribute `refusal` what the sentence was made of, so that it
/// can be said again with names. A device that is not there or stops working is a `RuntimeError`.
pub(crate) fn refused(error: Error) -> PyErr {
    let sentence = error.sentence(Style::Python, &Names::default());
    match error {
        // Only if the exception of a signal has not replaced it.
        Error::Interrupted => PyKeyboardInterrupt::new_err(sentence),
        Error::Device { .. } => PyRuntimeError::new_err(sentence),
        error => {
            let refusal = PyValueError::new_err(sentence);
            let set = Python::attach(|py| refusal.value(py).setattr("refusal", Refusal(error)));
            set.err().unwrap_or(refusal)
        }
    }
}

/// What was refused.
#[pyclass(frozen, module = "supersample._native")]
pub(crate) struct Refusal(Error);

#[pymethods]
impl Refusal {
    /// The sentence with names: of what the rows are, of columns, functions and groups. `dropped` are the numbers of rows that
    /// were left out, in ascending order.
    fn sentence(
        &self,
        of: Option<&str>,
        columns: Option<Vec<String>>,
        functions: Option<Vec<String>>,
        groups: Vec<String>,
        dropped: Vec<usize>,
    ) -> String {
        fn each(names: &Option<Vec<String>>) -> impl Iterator<Item = &str> {
            names.iter().flatten().map(String::as_str)
        }
        let mut names = Names::default()
            .columns(each(&columns))
            .functions(each(&functions))
            .groups(None, groups.iter().map(String::as_str));
        if let Some(of) = of {
            names = names.of(of);
        }
        let before: Vec<usize> = dropped.iter().enumerate().map(|(at, row)| row - at).collect();
        let number_of = |row: usize| row + before.partition_point(|&kept| kept <= row);
        if !dropped.is_empty() {
            names = names.numbered(&number_of);
        }
        self.0.sentence(Style::Python, &names)
    }

    /// A pickle, as of an exception on its way from another process, keeps the words alone.
    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, (String,)) {
        (py.get_type::<PyString>(), (self.0.sentence(Style::Python, &Names::default()),))
    }
}

/// What a word of Python names.
pub(crate) fn named<T: FromStr<Err: Into<Error>>>(word: &str) -> PyResult<T> {
    word.parse().map_err(|error: T::Err| refused(error.into()))
}

/// An `OSError` of the kind that fits (`FileNotFoundError`, …), or a `ValueError` for what a file says.
pub(crate) fn unreadable(error: &supersample_io::Error) -> PyErr {
    use supersample_io::Error::{Directory, InFile, Unreadable};
    let inner = if let InFile { error, .. } = error { error } else { error };
    match inner {
        // With an errno Python itself chooses the subclass.
        Unreadable(io) => match io.raw_os_error() {
            Some(code) => PyOSError::new_err((code, error.to_string())),
            None => PyOSError::new_err(error.to_string()),
        },
        Directory => PyIsADirectoryError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}
