//! The best rows as a set: herding, swaps, a search, all in the library.

use numpy::PyArray1;
use pyo3::prelude::*;
use supersample::{RefineOptions, Refiner, Result};

use crate::error::refused;
use crate::samples::Samples;
use crate::stop::Stop;
use crate::work::run;

/// The rows in greedy order, and the rule that ended the choosing.
#[pyfunction]
#[pyo3(signature = (samples, n, *, tol, worth, repeats, search, seed, include, exclude, groups, quotas, threads, progress))]
#[expect(clippy::too_many_arguments, reason = "one for each keyword of the Python function")]
pub(crate) fn thin<'py>(
    py: Python<'py>,
    samples: &Bound<'py, Samples>,
    n: usize,
    tol: Option<f64>,
    worth: Option<f64>,
    repeats: bool,
    search: Option<usize>,
    seed: u64,
    include: Vec<usize>,
    exclude: Vec<usize>,
    groups: Option<Vec<usize>>,
    quotas: Option<Vec<usize>>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyArray1<i64>>, &'static str)> {
    let stop = Stop::new(n, tol, worth)?;
    let mut options = RefineOptions::default().repeats(repeats).include(&include).exclude(&exclude);
    options = match search {
        Some(0) => options,
        Some(sweeps) => options.search(sweeps, seed),
        None => options.search_by_size(seed),
    };
    (options.groups, options.quotas) = (groups, quotas);
    let samples = samples.get();
    // A sweep visits every place once, and there are about ten of them.
    let size = samples.cost() + samples.cost_of(n.saturating_mul(10 + search.unwrap_or(40)));
    let (chosen, outcome) = run(py, threads, size, progress.as_ref(), |watch| -> Result<_> {
        samples.prepare(watch)?;
        let watch = watch.clone();
        let refiner = Refiner::new(samples.mu.clone(), samples.points.clone(), options)?
            .watched(move |progress| watch.saw(progress));
        match stop.goal(samples.single_draw()) {
            Some((tolerance, rule)) => {
                let fewest = refiner.fewest_of(tolerance, stop.number)?;
                Ok((fewest.set.rows, if fewest.reached { rule } else { "number" }))
            }
            None => Ok((refiner.choose(stop.number)?.rows, "number")),
        }
    })?;
    outcome?;
    let (rows, ended) = chosen.map_err(refused)?;
    let rows = rows.into_iter().map(|row| row as i64).collect();
    Ok((PyArray1::from_vec(py, rows), ended))
}
