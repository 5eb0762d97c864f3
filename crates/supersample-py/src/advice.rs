//! Advice of the library as dicts, which Python puts into words.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use supersample::task::Advice;

/// Advice that Python sees as a list of dicts, each with its `kind` and its numbers; kinds that are new to this module are
/// left out.
pub(crate) struct Told(pub(crate) Vec<Advice>);

impl<'py> IntoPyObject<'py> for &Told {
    type Target = PyList;
    type Output = Bound<'py, PyList>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        let known: Vec<_> =
            self.0.iter().filter_map(|advice| one(py, advice).transpose()).collect::<PyResult<_>>()?;
        PyList::new(py, known)
    }
}

fn one<'py>(py: Python<'py>, advice: &Advice) -> PyResult<Option<Bound<'py, PyDict>>> {
    let dict = PyDict::new(py);
    let kind = match advice {
        Advice::UnevenWeights { effective_size } => {
            dict.set_item("effective_size", effective_size)?;
            "uneven_weights"
        }
        Advice::RowsWithoutWeight { count } => {
            dict.set_item("count", count)?;
            "rows_without_weight"
        }
        Advice::DirectionsDropped { dropped, of } => {
            dict.set_item("dropped", dropped)?;
            dict.set_item("of", of)?;
            "directions_dropped"
        }
        Advice::ScaledBySd { columns } => {
            dict.set_item("columns", columns)?;
            "scaled_by_sd"
        }
        Advice::KernelNearlyConstant { bandwidth } => {
            dict.set_item("bandwidth", bandwidth)?;
            "kernel_nearly_constant"
        }
        Advice::KernelNearlyDiagonal { bandwidth } => {
            dict.set_item("bandwidth", bandwidth)?;
            "kernel_nearly_diagonal"
        }
        Advice::LandmarksTooFew { landmarks, residual, error } => {
            dict.set_item("landmarks", landmarks)?;
            dict.set_item("residual", residual)?;
            dict.set_item("error", error)?;
            "landmarks_too_few"
        }
        Advice::TooManyToWeigh { count, most } => {
            dict.set_item("count", count)?;
            dict.set_item("most", most)?;
            "too_many_to_weigh"
        }
        Advice::NotWeighed { reason } => {
            dict.set_item("reason", reason.to_string())?;
            "not_weighed"
        }
        Advice::WeightsNotOptimal => "weights_not_optimal",
        Advice::ScoresPointAway { columns } => {
            dict.set_item("columns", columns)?;
            "scores_point_away"
        }
        Advice::ScoresUnrelated { columns } => {
            dict.set_item("columns", columns)?;
            "scores_unrelated"
        }
        Advice::NotDrawsOfDensity { mean } => {
            dict.set_item("mean", mean)?;
            "not_draws_of_density"
        }
        _ => return Ok(None),
    };
    dict.set_item("kind", kind)?;
    Ok(Some(dict))
}
