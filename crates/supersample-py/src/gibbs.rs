//! Herded Gibbs sampling with conditional distributions that a Python function returns.

use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;
use supersample::HerdedGibbs;

use crate::error::refused;

/// The states after each of `n` sweeps that follow `burn_in` others. The function runs on the calling thread, so its
/// exceptions and Ctrl-C end it.
#[pyfunction]
pub(crate) fn herded_gibbs<'py>(
    py: Python<'py>,
    conditional: &Bound<'py, PyAny>,
    start: Vec<usize>,
    neighbours: Option<Vec<Vec<usize>>>,
    sweeps: (usize, usize),
    seed: u64,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let (count, (n, burn_in)) = (start.len(), sweeps);
    let mut gibbs = HerdedGibbs::new(start, neighbours, seed).map_err(refused)?;
    let mut states = Vec::new();
    for sweep in 0..burn_in.saturating_add(n) {
        py.check_signals()?;
        for variable in 0..count {
            let state = PyArray1::from_iter(py, gibbs.state().iter().map(|value| *value as i64));
            let found = conditional.call1((variable, state))?;
            let found: PyReadonlyArray1<'_, f64> = found.extract()?;
            gibbs.update(variable, &found.as_array().to_vec()).map_err(refused)?;
        }
        if sweep >= burn_in {
            states.extend(gibbs.state().iter().map(|value| *value as i64));
        }
    }
    let states = Array2::from_shape_vec((n, count), states).expect("one value of each variable in each row");
    Ok(states.into_pyarray(py))
}
