//! How accurate draws are themselves.

use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use supersample::task;

use crate::advice::AdviceList;
use crate::chosen::cost;
use crate::options::Options;
use crate::work::run;

/// What is known of draws in chains.
#[pyclass(frozen, get_all, module = "supersample._native")]
pub(crate) struct Diagnosis {
    draws: usize,
    chains: usize,
    chains_assumed: bool,
    kernel_ess: f64,
    disagreement: Option<f64>,
    sentence: String,
    advice: AdviceList,
}

impl Diagnosis {
    pub(crate) fn new(found: task::Diagnosis) -> Diagnosis {
        Diagnosis {
            draws: found.draws,
            chains: found.chains,
            chains_assumed: found.is_assumed,
            kernel_ess: found.kernel_ess,
            disagreement: found.disagreement,
            sentence: found.sentence(),
            advice: AdviceList(found.advice().into_iter().collect()),
        }
    }

    /// Of a target, where it was found.
    pub(crate) fn of(py: Python<'_>, target: &task::Target) -> PyResult<Option<Py<Diagnosis>>> {
        target.diagnosed().map(|found| Py::new(py, Diagnosis::new(found))).transpose()
    }
}

/// How accurate the rows of an array are as draws, and whether their chains agree.
#[pyfunction]
pub(crate) fn diagnose(
    py: Python<'_>,
    x: PyReadonlyArray2<'_, f64>,
    options: Options<'_>,
) -> PyResult<Diagnosis> {
    let problem = options.problem(py, &x, options.choose()?)?;
    let size = cost(&problem, 0);
    let found = run(py, options.threads, size, options.progress.as_ref(), |watch| problem.diagnose(watch))?;
    Ok(Diagnosis::new(found))
}
