//! Gaussian mixtures from Python, and points placed for them.

use std::ops::ControlFlow;
use std::path::PathBuf;

use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3};
use pyo3::prelude::*;
use supersample::target::GaussianMixture;
use supersample::task::{self, Ended, ErrorScale, Stop, Weighed, herd_until, weigh};
use supersample::weights::WeightRule;
use supersample::{
    AscentOptions, ClosedForm, Domain, Error, Herder, Kernel, MeanEmbedding, Pick, Points, Progress, Result,
    Watch, bandwidth, metrics,
};
use supersample_io::mixture::{Format, read_path, to_text};

use crate::arrays::{matrix, numbers, points, rows, vector};
use crate::chosen::Chosen;
use crate::error::{refused, unreadable};
use crate::options::Options;
use crate::threads;
use crate::work::run;

/// A mixture that has been checked.
#[pyclass(frozen, module = "supersample._native")]
pub(crate) struct Mixture {
    pub(crate) inner: GaussianMixture,
}

/// Points that were placed anywhere in space.
#[pyclass(frozen, get_all, module = "supersample._native")]
pub(crate) struct Placed {
    /// What was chosen, and how good it is.
    pub(crate) chosen: Py<Chosen>,
    /// The bandwidths of the kernel; none of a Stein kernel.
    pub(crate) bandwidths: Vec<f64>,
    /// How many climbs stopped short.
    pub(crate) stuck: usize,
    /// How often the score was asked for while climbing.
    pub(crate) evaluations: u64,
}

/// Places points for a mean embedding by climbs from the best starts, and finds weights if any are asked for.
pub(crate) fn place<M: MeanEmbedding + Clone + 'static>(
    mu: &M,
    (starts, climbs): (Points, usize),
    stop: &Stop,
    rule: Option<WeightRule>,
    seen: impl FnMut(&Pick) -> ControlFlow<()>,
    watch: Watch<'_>,
) -> Result<(task::Chosen, Option<Weighed>, ErrorScale)> {
    let (dim, options) = (starts.dim(), AscentOptions::default().climbs(climbs));
    let mut herder = Herder::new(mu.clone(), Domain::Ascent { starts, options })?;
    let placed = herd_until(&mut herder, &[], stop, seen)?;
    if placed.ended == Ended::Interrupted {
        return Err(Error::Interrupted);
    }
    let weighed =
        rule.map(|rule| weigh(mu, &Points::from_vec(placed.points(), dim)?, rule, watch)).transpose()?;
    Ok((placed, weighed, ErrorScale::of(herder.pool())))
}

/// How many climbs of a run stopped short.
pub(crate) fn stuck(placed: &task::Chosen) -> usize {
    placed.trace.iter().filter(|pick| !pick.converged).count()
}

#[pymethods]
impl Mixture {
    #[new]
    fn new(
        weights: PyReadonlyArray1<'_, f64>,
        means: PyReadonlyArray2<'_, f64>,
        covariances: PyReadonlyArray3<'_, f64>,
    ) -> PyResult<Mixture> {
        let means = points(&means)?;
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
        let weights = numbers(&weights);
        let size = points.len() as f64 * (points.len() + self.inner.len()) as f64;
        run(py, threads, size, None, |watch| {
            let mu = ClosedForm::mixture(Kernel::gaussians(&bandwidths)?, self.inner.clone())?;
            metrics::mmd_of_points(&mu, &points, weights.as_deref(), watch)
        })
    }

    /// Points for the mixture anywhere in space.
    fn place(&self, py: Python<'_>, options: Options<'_>, climbs: usize, starts: usize) -> PyResult<Placed> {
        let (choose, seed) = (options.choose()?, options.seed.unwrap_or_default());
        let (stop, rule, dim) = (choose.stop, choose.weights, self.inner.dim());
        // A climb takes some twenty steps, each a look at every component and every point so far.
        let n = stop.number.unwrap_or_default();
        let steps = 20.0 * (self.inner.len() * dim) as f64 + n as f64;
        let size = n as f64 * dim as f64 * (starts as f64 + climbs as f64 * steps);
        let lengths = options.bandwidth;
        let (bandwidths, found) = run(py, options.threads, size, options.progress.as_ref(), |watch| {
            let starts = self.inner.sample(starts, seed)?;
            let bandwidths = lengths.unwrap_or_else(|| vec![bandwidth::median(&starts)]);
            let mu = ClosedForm::mixture(Kernel::gaussians(&bandwidths)?, self.inner.clone())?;
            let seen = |pick: &Pick| watch(Progress::Herding { chosen: pick.t, size: n });
            Ok((bandwidths, place(&mu, (starts, climbs), &stop, rule, seen, watch)?))
        })?;
        let (placed, weighed, scale) = found;
        let (stuck, points) = (stuck(&placed), Points::from_vec(placed.points(), dim).map_err(refused)?);
        let chosen = Py::new(py, Chosen::placed(placed, points, weighed, &scale, &stop, "MMD")?)?;
        Ok(Placed { chosen, bandwidths, stuck, evaluations: 0 })
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
