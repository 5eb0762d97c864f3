//! Gaussian mixtures from Python, and points placed for them.

use std::path::PathBuf;

use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3};
use pyo3::prelude::*;
use supersample::target::GaussianMixture;
use supersample::task::{Ended, ErrorScale, Stop, herd_until, weigh};
use supersample::{
    AscentOptions, ClosedForm, Domain, Error, Herder, Kernel, Pick, Points, Progress, bandwidth, metrics,
};
use supersample_io::mixture::{Format, read_path, to_text};

use crate::arrays::{Matrix, matrix, numbers, rows, vector};
use crate::chosen::{Chosen, rule_of};
use crate::error::{refused, unreadable};
use crate::threads;
use crate::work::run;

/// A mixture that has been checked.
#[pyclass(frozen, module = "supersample._native")]
pub(crate) struct Mixture {
    pub(crate) inner: GaussianMixture,
}

/// Points that were placed for a mixture.
#[pyclass(frozen, get_all, module = "supersample._native")]
pub(crate) struct Placed {
    points: Matrix,
    bandwidths: Vec<f64>,
    /// How many climbs stopped short.
    stuck: usize,
    /// How good they are.
    chosen: Py<Chosen>,
}

#[pymethods]
impl Mixture {
    #[new]
    fn new(
        weights: PyReadonlyArray1<'_, f64>,
        means: PyReadonlyArray2<'_, f64>,
        covariances: PyReadonlyArray3<'_, f64>,
    ) -> PyResult<Mixture> {
        let (values, dim) = rows(&means)?;
        let means = Points::from_rows(values, dim).map_err(refused)?;
        let covariances: Vec<Vec<f64>> = covariances
            .as_array()
            .outer_iter()
            .map(|covariance| covariance.iter().copied().collect())
            .collect();
        let weights = weights.as_array().to_vec();
        let inner = GaussianMixture::new(&weights, means, &covariances).map_err(refused)?;
        Ok(Mixture { inner })
    }

    /// From a TOML or JSON file.
    #[staticmethod]
    fn read(path: PathBuf) -> PyResult<Mixture> {
        Ok(Mixture { inner: read_path(&path).map_err(|error| unreadable(&error))? })
    }

    /// As the text of such a file, in the format that its name asks for.
    fn text(&self, path: PathBuf) -> String {
        to_text(&self.inner, Format::of_path(&path).unwrap_or(Format::Toml))
    }

    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.inner.weights())
    }

    #[getter]
    fn means<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        matrix(py, self.inner.means().as_slice().to_vec(), self.inner.dim())
    }

    /// All covariances one below the other.
    #[getter]
    fn covariances<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let all = (0..self.inner.len()).flat_map(|i| self.inner.covariance(i).iter().copied()).collect();
        matrix(py, all, self.inner.dim())
    }

    /// Independent draws.
    fn draw<'py>(&self, py: Python<'py>, n: usize, seed: u64) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let draws = py.detach(|| self.inner.sample(n, seed)).map_err(refused)?;
        matrix(py, draws.as_slice().to_vec(), self.inner.dim())
    }

    /// The density at each row of `x`.
    fn density<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'_, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let points = self.points(&x)?;
        Ok(vector(py, py.detach(|| points.rows().map(|row| self.inner.density(row)).collect())))
    }

    /// The median distance between the draws that `place` starts from.
    fn median(&self, py: Python<'_>, starts: usize, seed: u64) -> PyResult<f64> {
        let pool = threads::pool(1)?;
        py.detach(|| pool.install(|| Ok(bandwidth::median(&self.inner.sample(starts, seed)?))))
            .map_err(refused)
    }

    /// The MMD to points with these weights, which are used as they are, or equal ones.
    #[pyo3(signature = (bandwidths, points, weights, threads=None))]
    fn mmd(
        &self,
        py: Python<'_>,
        bandwidths: Vec<f64>,
        points: PyReadonlyArray2<'_, f64>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
        threads: Option<usize>,
    ) -> PyResult<f64> {
        let points = self.points(&points)?;
        let weights = numbers(weights);
        let size = points.len() as f64 * (points.len() + self.inner.len()) as f64;
        run(py, threads, size, None, |watch| {
            let mu = ClosedForm::mixture(Kernel::gaussians(&bandwidths)?, self.inner.clone())?;
            metrics::mmd_of_points(&mu, &points, weights.as_deref(), watch)
        })
    }

    /// Points for the mixture anywhere in space.
    #[pyo3(signature = (n, *, tol, worth, bandwidths, climbs, starts, seed, weights, threads, progress))]
    #[expect(clippy::too_many_arguments, reason = "one for each keyword of the Python function")]
    fn place(
        &self,
        py: Python<'_>,
        n: usize,
        tol: Option<f64>,
        worth: Option<f64>,
        bandwidths: Option<Vec<f64>>,
        climbs: usize,
        starts: usize,
        seed: u64,
        weights: &str,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Placed> {
        let stop = Stop::new(Some(n), tol, worth).map_err(refused)?;
        let rule = rule_of(weights)?;
        let dim = self.inner.dim();
        // A climb takes some twenty steps, each a look at every component and every point so far.
        let steps = 20.0 * (self.inner.len() * dim) as f64 + n as f64;
        let size = n as f64 * dim as f64 * (starts as f64 + climbs as f64 * steps);
        let (coordinates, bandwidths, stuck, chosen) = run(py, threads, size, progress.as_ref(), |watch| {
            let starts = self.inner.sample(starts, seed)?;
            let bandwidths = bandwidths.unwrap_or_else(|| vec![bandwidth::median(&starts)]);
            let mu = ClosedForm::mixture(Kernel::gaussians(&bandwidths)?, self.inner.clone())?;
            let options = AscentOptions::default().climbs(climbs);
            let mut herder = Herder::new(mu.clone(), Domain::Ascent { starts, options })?;
            let seen = |pick: &Pick| watch(Progress::Herding { chosen: pick.t, size: n });
            let placed = herd_until(&mut herder, &[], &stop, seen)?;
            if placed.ended == Ended::Interrupted {
                return Err(Error::Interrupted);
            }
            let (coordinates, scale) = (placed.coordinates(), ErrorScale::of(herder.pool()));
            let points = Points::from_rows(&coordinates, dim)?;
            let weighed = rule.map(|rule| weigh(&mu, &points, rule, watch)).transpose()?;
            let chosen = Chosen::new(&placed.trace, placed.ended, weighed, scale, Some(&stop))?;
            let stuck = placed.trace.iter().filter(|pick| !pick.converged).count();
            Ok((coordinates, bandwidths, stuck, chosen))
        })?;
        Ok(Placed { points: Matrix(coordinates, dim), bandwidths, stuck, chosen: Py::new(py, chosen)? })
    }
}

impl Mixture {
    /// Points of the dimension of the mixture.
    fn points(&self, x: &PyReadonlyArray2<'_, f64>) -> PyResult<Points> {
        let (values, found) = rows(x)?;
        let expected = self.inner.dim();
        if found != expected {
            let (what, against) = ("the array", "the mixture");
            return Err(refused(Error::DimensionMismatch { what, found, against, expected }));
        }
        Points::from_rows(values, found).map_err(refused)
    }
}
