//! Refusals of the library as Python exceptions, with the library's own words.

use pyo3::PyErr;
use pyo3::exceptions::{PyIsADirectoryError, PyKeyboardInterrupt, PyOSError, PyValueError};
use supersample::Error;

/// A `ValueError` with the message of the library.
pub(crate) fn refused(error: Error) -> PyErr {
    match error {
        // Met only where the exception of a signal has not taken its place.
        Error::Interrupted => PyKeyboardInterrupt::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
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
