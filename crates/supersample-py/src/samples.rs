//! Samples made ready: scaled, weighted, with a kernel whose bandwidth is known.

use std::sync::Arc;

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use supersample::scale::{Scale, Scaling};
use supersample::{Empirical, Kernel, MeanEmbedding, Points, Precision, Result, bandwidth};

use crate::error::refused;
use crate::work::Watch;

/// The target of `herd`, `thin`, `evaluate` and `mmd`: rows as they are given, scaled, and their mean embedding.
#[pyclass(frozen, module = "supersample._native")]
pub(crate) struct Samples {
    pub(crate) scaling: Scaling,
    pub(crate) points: Points,
    pub(crate) mu: Empirical,
    pub(crate) weights: Option<Vec<f64>>,
}

/// All rows of a C-contiguous array, read where they are.
pub(crate) fn rows<'a>(x: &'a PyReadonlyArray2<'_, f64>) -> PyResult<(&'a [f64], usize)> {
    let dim = x.as_array().ncols();
    let values = x.as_slice().map_err(|_| PyValueError::new_err("the array is not C-contiguous"))?;
    Ok((values, dim))
}

pub(crate) fn numbers(weights: Option<PyReadonlyArray1<'_, f64>>) -> Option<Vec<f64>> {
    weights.map(|weights| weights.as_array().to_vec())
}

#[pymethods]
impl Samples {
    /// `bandwidths` is None for the median distance after scaling; `known` are the values of the mean embedding on these
    /// very samples, computed earlier.
    #[new]
    #[pyo3(signature = (x, kernel, bandwidths, scale, sample_weight, precision, known=None))]
    #[expect(clippy::too_many_arguments, reason = "one for each keyword of the Python function")]
    fn new(
        py: Python<'_>,
        x: PyReadonlyArray2<'_, f64>,
        kernel: &str,
        bandwidths: Option<Vec<f64>>,
        scale: &str,
        sample_weight: Option<PyReadonlyArray1<'_, f64>>,
        precision: &str,
        known: Option<PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<Samples> {
        let scale = match scale {
            "none" => Scale::None,
            "sd" => Scale::Sd,
            "pca" => Scale::Pca,
            _ => return Err(PyValueError::new_err(format!("scale is '{scale}'; choose none, sd or pca"))),
        };
        let precision = match precision {
            "mixed" => Precision::Mixed,
            "double" => Precision::Double,
            _ => {
                let message = format!("precision is '{precision}'; choose mixed or double");
                return Err(PyValueError::new_err(message));
            }
        };
        let (values, dim) = rows(&x)?;
        let weights = numbers(sample_weight);
        let known = numbers(known);
        let samples = py.detach(|| -> Result<Samples> {
            let scaling = Scaling::fit(scale, values, dim, weights.as_deref())?;
            let scaled = match scale {
                Scale::None => values.to_vec(),
                _ => scaling.apply(values),
            };
            let points = Points::from_vec(scaled, scaling.out_dim())?;
            let kernel = match bandwidths {
                Some(bandwidths) => Kernel::named(kernel, &bandwidths)?,
                None => {
                    let median = match &weights {
                        None => bandwidth::median(&points),
                        Some(weights) => bandwidth::weighted_median(&points, weights)?,
                    };
                    Kernel::named(kernel, &[median])?
                }
            };
            let mu = match &weights {
                None => Empirical::new(kernel, points.clone())?,
                Some(weights) => Empirical::weighted(kernel, points.clone(), weights)?,
            };
            let mu = mu.precision(precision);
            let mu = match known {
                Some(values) => mu.recall(values)?,
                None => mu,
            };
            Ok(Samples { scaling, points, mu, weights })
        });
        samples.map_err(refused)
    }

    /// The name of the kernel and its bandwidths, in the units of the scaled samples.
    #[getter]
    fn kernel(&self) -> (&'static str, Vec<f64>) {
        (self.mu.kernel().name(), self.mu.kernel().bandwidths().to_vec())
    }

    /// The precision in use: double, although mixed was asked for, where the samples are few or spread too wide.
    #[getter]
    fn precision(&self) -> &'static str {
        match self.mu.precision_in_use() {
            Precision::Double => "double",
            _ => "mixed",
        }
    }

    /// The columns that are constant, and how many directions `pca` dropped beyond those.
    #[getter]
    fn degenerate(&self) -> (Vec<usize>, usize) {
        (self.scaling.constant().to_vec(), self.scaling.dropped())
    }

    /// The mean embedding on the samples, where it has been computed.
    fn known<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.mu.recalled().map(|values| PyArray1::from_slice(py, values))
    }
}

impl Samples {
    /// Coordinate differences that the mean embedding still takes.
    pub(crate) fn cost(&self) -> f64 {
        if self.mu.recalled().is_some() {
            return 0.0;
        }
        0.5 * (self.points.len() as f64).powi(2) * self.points.dim() as f64
    }

    /// Coordinate differences of so many kernel rows.
    pub(crate) fn cost_of(&self, picks: usize) -> f64 {
        self.points.len() as f64 * self.points.dim() as f64 * picks as f64
    }

    pub(crate) fn prepare(&self, watch: &Watch) -> Result<()> {
        self.mu.prepare(&|progress| watch.saw(progress))
    }

    /// E k(x, x) − ‖μ‖², the expected squared error of one independent draw; the embedding must be prepared.
    pub(crate) fn single_draw(&self) -> Option<f64> {
        self.mu.mean_diagonal().zip(self.mu.squared_norm()).map(|(diagonal, norm)| diagonal - norm)
    }

    /// The same in double precision, prepared: for errors that do not go through a herder.
    pub(crate) fn in_double(&self, watch: &Watch) -> Result<Arc<Empirical>> {
        let mu = match self.mu.precision_in_use() {
            Precision::Double => self.mu.clone(),
            _ => self.mu.clone().precision(Precision::Double),
        };
        mu.prepare(&|progress| watch.saw(progress))?;
        Ok(Arc::new(mu))
    }
}
