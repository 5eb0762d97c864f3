//! The named values that an R function passes on; what is not there or NULL is the library's default.

use std::collections::HashMap;
use std::str::FromStr;

use extendr_api::prelude::*;
use supersample::Error;
use supersample::words::Names;

use crate::refusal::{Refusal, Result};

/// Named values of R.
pub(crate) struct Given(HashMap<&'static str, Robj>);

/// Numbers of a matrix, row after row, and the length of a row.
pub(crate) type RowMajor<'a> = (&'a [f64], usize);

impl Given {
    pub(crate) fn new(values: List) -> Given {
        Given(values.iter().filter(|(_, value)| !value.is_null()).collect())
    }

    fn wrong<T>(name: &str) -> Result<T> {
        Err(Refusal::Words(format!("{name} is of the wrong type; see the help page")))
    }

    /// What is called this, read by `read`.
    fn read<'a, T>(&'a self, name: &str, read: impl FnOnce(&'a Robj) -> Option<T>) -> Result<Option<T>> {
        match self.0.get(name).map(read) {
            Some(None) => Given::wrong(name),
            found => Ok(found.flatten()),
        }
    }

    pub(crate) fn text(&self, name: &str) -> Result<Option<&str>> {
        self.read(name, Robj::as_str)
    }

    /// What a word names.
    pub(crate) fn word<T: FromStr<Err: Into<Error>>>(&self, name: &str) -> Result<Option<T>> {
        let word = self.text(name)?.map(str::parse).transpose();
        word.map_err(|error: T::Err| error.into().into())
    }

    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>> {
        self.read(name, Robj::as_bool)
    }

    pub(crate) fn number(&self, name: &str) -> Result<Option<f64>> {
        self.read(name, Robj::as_real)
    }

    /// A number that R has seen to be whole and not negative.
    pub(crate) fn count(&self, name: &str) -> Result<Option<usize>> {
        Ok(self.number(name)?.map(|count| count as usize))
    }

    pub(crate) fn numbers(&self, name: &str) -> Result<Option<&[f64]>> {
        self.read(name, Robj::as_real_slice)
    }

    /// Places that R counts from 1.
    pub(crate) fn places(&self, name: &str) -> Result<Option<Vec<usize>>> {
        let places = |values: &[f64]| values.iter().map(|&place| place as usize - 1).collect();
        Ok(self.numbers(name)?.map(places))
    }

    /// A matrix that R has transposed, so that its rows lie one after the other.
    pub(crate) fn matrix(&self, name: &str) -> Result<Option<RowMajor<'_>>> {
        self.read(name, |value| Some((value.as_real_slice()?, value.nrows())))
    }

    /// A matrix that must be there.
    pub(crate) fn rows(&self, name: &str) -> Result<RowMajor<'_>> {
        self.matrix(name)?.map_or_else(|| Given::wrong(name), Ok)
    }

    fn texts(&self, name: &str) -> Vec<&str> {
        self.0.get(name).and_then(Robj::as_str_vector).unwrap_or_default()
    }

    /// The names of columns, functions and groups; rows are counted from 1.
    pub(crate) fn names(&self) -> Names<'_> {
        Names::default()
            .of("x")
            .columns(self.texts("names"))
            .functions(self.texts("function_names"))
            .groups(None, self.texts("group_names"))
            .numbered(&|row| row + 1)
    }
}
