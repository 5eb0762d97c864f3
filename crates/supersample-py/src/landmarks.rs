//! Landmark sums from Python: a mean embedding that is built from batches, merged and pickled.

use std::sync::{Mutex, MutexGuard};

use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use supersample::MeanEmbedding;
use supersample::embedding::{self, Landmarks};
use supersample::task::{CONTROL_ROWS, choose_controls, choose_landmarks};

use crate::arrays::{matrix, numbers, points, vector};
use crate::error::refused;
use crate::options::Options;
use crate::source::locked;
use crate::work::run;

/// Kernel sums at landmarks and control points, over rows that are given batch by batch.
#[pyclass(frozen, module = "supersample._native")]
pub(crate) struct LandmarkSums {
    sums: Mutex<embedding::LandmarkSums>,
}

impl LandmarkSums {
    fn of(sums: embedding::LandmarkSums) -> LandmarkSums {
        LandmarkSums { sums: Mutex::new(sums) }
    }

    fn locked(&self) -> PyResult<MutexGuard<'_, embedding::LandmarkSums>> {
        locked(&self.sums)
    }

    fn solved(&self) -> PyResult<Landmarks> {
        self.locked()?.finish().map_err(refused)
    }
}

#[pymethods]
impl LandmarkSums {
    /// Sums without rows at these landmarks and control points.
    #[new]
    fn new(
        landmarks: PyReadonlyArray2<'_, f64>,
        controls: Option<PyReadonlyArray2<'_, f64>>,
        options: Options<'_>,
    ) -> PyResult<LandmarkSums> {
        let (landmarks, controls) = (points(&landmarks)?, controls.as_ref().map(points).transpose()?);
        let (kernel, precision) = (options.kernel()?, options.precision()?);
        let sums = kernel
            .for_points(&landmarks, None)
            .and_then(|(kernel, _)| embedding::LandmarkSums::new(kernel, landmarks, controls, precision));
        Ok(LandmarkSums::of(sums.map_err(refused)?))
    }

    /// Sums without rows at this number of landmarks, and at control points, that are chosen from these rows.
    #[staticmethod]
    fn chosen_from(
        py: Python<'_>,
        x: PyReadonlyArray2<'_, f64>,
        count: usize,
        options: Options<'_>,
    ) -> PyResult<LandmarkSums> {
        let (points, weights) = (points(&x)?, numbers(&options.sample_weight));
        let (kernel, precision, seed) =
            (options.kernel()?, options.precision()?, options.seed.unwrap_or_default());
        let sums = run(py, options.threads, f64::INFINITY, None, |watch| {
            let shares = weights.as_deref();
            let (kernel, _) = kernel.for_points(&points, shares)?;
            let landmarks = choose_landmarks(&kernel, &points, shares, count, precision, seed, watch)?;
            let controls = choose_controls(&points, shares, CONTROL_ROWS.min(points.len()), seed)?;
            embedding::LandmarkSums::new(kernel, landmarks, Some(controls), precision)
        })?;
        Ok(LandmarkSums::of(sums))
    }

    /// What `to_bytes` has written.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<LandmarkSums> {
        Ok(LandmarkSums::of(embedding::LandmarkSums::from_bytes(bytes).map_err(refused)?))
    }

    /// All of it as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.locked()?.to_bytes()))
    }

    /// Adds a batch of rows.
    fn update(
        &self,
        py: Python<'_>,
        x: PyReadonlyArray2<'_, f64>,
        sample_weight: Option<PyReadonlyArray1<'_, f64>>,
        threads: Option<usize>,
    ) -> PyResult<()> {
        let (points, weights) = (points(&x)?, numbers(&sample_weight));
        let mut sums = self.locked()?;
        let sums = &mut *sums;
        let size = points.as_slice().len() as f64 * sums.sums().points().len() as f64;
        run(py, threads, size, None, |watch| sums.update(&points, weights.as_deref(), watch))
    }

    /// Adds the rows that another of the same landmarks has been given.
    fn merge(&self, other: &Bound<'_, LandmarkSums>) -> PyResult<()> {
        let other = other.get().locked()?.clone();
        self.locked()?.merge(&other).map_err(refused)
    }

    /// Sums without rows at the same landmarks and control points.
    fn emptied(&self) -> PyResult<LandmarkSums> {
        Ok(LandmarkSums::of(self.locked()?.emptied()))
    }

    /// How many rows there have been.
    #[getter]
    fn rows(&self) -> PyResult<u64> {
        Ok(self.locked()?.sums().rows())
    }

    /// The sum of their weights.
    #[getter]
    fn weight(&self) -> PyResult<f64> {
        Ok(self.locked()?.sums().weight())
    }

    /// The name of the kernel and its bandwidths.
    #[getter]
    fn kernel(&self) -> PyResult<(&'static str, Vec<f64>)> {
        let sums = self.locked()?;
        Ok((sums.sums().kernel().name(), sums.sums().kernel().bandwidths().to_vec()))
    }

    /// The landmarks.
    #[getter]
    fn landmarks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let sums = self.locked()?;
        let (points, count) = (sums.sums().points(), sums.landmarks());
        matrix(py, points.as_slice()[..count * points.dim()].to_vec(), points.dim())
    }

    /// The mean embedding of the rows so far at these points.
    fn values<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'_, f64>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (mu, points) = (self.solved()?, points(&x)?);
        let values = run(py, threads, f64::INFINITY, None, |_| {
            if points.dim() != mu.dim() {
                let (found, expected) = (points.dim(), mu.dim());
                let (what, against) = ("x", "the landmarks");
                return Err(supersample::Error::DimensionMismatch { what, found, against, expected });
            }
            let mut values = vec![0.0; points.len()];
            mu.values_into(&points, &mut values);
            Ok(values)
        })?;
        Ok(vector(py, values))
    }

    /// ‖μ‖², its standard error, and what the landmarks do not see of μ; each None without control points.
    fn norm(&self) -> PyResult<(Option<f64>, Option<f64>, Option<f64>)> {
        let mu = self.solved()?;
        Ok((mu.squared_norm(), mu.squared_norm_error(), mu.residual()))
    }
}
