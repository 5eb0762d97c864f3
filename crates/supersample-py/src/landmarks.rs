//! Landmark sums from Python: a mean embedding that is built from batches, merged and pickled.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use supersample::embedding::{self, Landmarks};
use supersample::task::{Bandwidth, CONTROL_ROWS, KernelChoice, choose_controls, choose_landmarks};
use supersample::{MeanEmbedding, Points};

use crate::arrays::{matrix, numbers, rows, vector};
use crate::error::{named, refused};
use crate::kernel::kernel_of;
use crate::work::run;

/// Kernel sums at landmarks and control points, over rows that are given batch by batch.
#[pyclass(frozen, module = "supersample._native")]
pub(crate) struct LandmarkSums {
    sums: Mutex<embedding::LandmarkSums>,
}

fn points_of(x: &PyReadonlyArray2<'_, f64>) -> PyResult<Points> {
    let (values, dim) = rows(x)?;
    Points::from_rows(values, dim).map_err(refused)
}

impl LandmarkSums {
    fn of(sums: embedding::LandmarkSums) -> LandmarkSums {
        LandmarkSums { sums: Mutex::new(sums) }
    }

    fn locked(&self) -> PyResult<MutexGuard<'_, embedding::LandmarkSums>> {
        match self.sums.try_lock() {
            Ok(guard) => Ok(guard),
            Err(TryLockError::Poisoned(poisoned)) => Ok(PoisonError::into_inner(poisoned)),
            Err(TryLockError::WouldBlock) => {
                Err(PyRuntimeError::new_err("another thread is working on these landmarks; wait for it"))
            }
        }
    }

    fn solved(&self) -> PyResult<Landmarks> {
        self.locked()?.finish().map_err(refused)
    }
}

#[pymethods]
impl LandmarkSums {
    /// Sums without rows at these landmarks and control points.
    #[new]
    #[pyo3(signature = (landmarks, controls, *, kernel, bandwidths, precision))]
    fn new(
        landmarks: PyReadonlyArray2<'_, f64>,
        controls: Option<PyReadonlyArray2<'_, f64>>,
        kernel: &str,
        bandwidths: Vec<f64>,
        precision: &str,
    ) -> PyResult<LandmarkSums> {
        let kernel = kernel_of(kernel, &bandwidths)?;
        let controls = controls.as_ref().map(points_of).transpose()?;
        let precision = named(precision)?;
        let sums = embedding::LandmarkSums::new(kernel, points_of(&landmarks)?, controls, precision);
        Ok(LandmarkSums::of(sums.map_err(refused)?))
    }

    /// Sums without rows at so many landmarks, and at control points, that are chosen from these rows. `bandwidths` is None
    /// for their median distance.
    #[staticmethod]
    #[pyo3(signature = (x, count, *, kernel, bandwidths, sample_weight, precision, seed, threads))]
    #[expect(clippy::too_many_arguments, reason = "one for each keyword of the Python function")]
    fn chosen_from(
        py: Python<'_>,
        x: PyReadonlyArray2<'_, f64>,
        count: usize,
        kernel: &str,
        bandwidths: Option<Vec<f64>>,
        sample_weight: Option<PyReadonlyArray1<'_, f64>>,
        precision: &str,
        seed: u64,
        threads: Option<usize>,
    ) -> PyResult<LandmarkSums> {
        let (points, weights, precision) = (points_of(&x)?, numbers(sample_weight), named(precision)?);
        let bandwidth = bandwidths.map_or(Bandwidth::Median, Bandwidth::Lengths);
        let kernel = KernelChoice::Named { family: named(kernel)?, bandwidth };
        let sums = run(py, threads, f64::INFINITY, None, |watch| {
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
        let (points, weights) = (points_of(&x)?, numbers(sample_weight));
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
        let (mu, points) = (self.solved()?, points_of(&x)?);
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
