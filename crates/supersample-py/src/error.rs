//! Refusals of the library as Python exceptions, with the library's own words.

use std::str::FromStr;

use pyo3::exceptions::{PyIsADirectoryError, PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use supersample::Error;

/// A `ValueError` with the message of the library. What Python can name has its number as an attribute: the `column`, the
/// `function`, the `group` or the `weight` that is refused, 0 where all weights are. A device that is not there or stops working
/// is a `RuntimeError`.
pub(crate) fn refused(error: Error) -> PyErr {
    if error == Error::Interrupted {
        // Met only where the exception of a signal has not taken its place.
        return PyKeyboardInterrupt::new_err(error.to_string());
    }
    if let Error::Device { .. } = error {
        return PyRuntimeError::new_err(error.to_string());
    }
    let refusal = PyValueError::new_err(error.to_string());
    let numbered = Python::attach(|py| {
        let exception = refusal.value(py);
        match error {
            Error::NonFinite { column, .. } | Error::NonFiniteScore { column, .. } => {
                exception.setattr("column", column)
            }
            Error::ConstantFunction { column } | Error::NonFiniteFunction { column, .. } => {
                exception.setattr("function", column)
            }
            Error::BadWeight { value, .. } => exception.setattr("weight", value),
            Error::ZeroWeights => exception.setattr("weight", 0.0),
            Error::QuotaTooLarge { group, .. } | Error::QuotaTooSmall { group, .. } => {
                exception.setattr("group", group)
            }
            _ => Ok(()),
        }
    });
    numbered.err().unwrap_or(refusal)
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
