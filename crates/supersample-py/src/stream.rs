//! Streams from Python: rows that come once, and at any moment the rows that stand for all so far.

use std::sync::Mutex;

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use supersample::task::stream;

use crate::arrays::{numbers, rows};
use crate::chosen::Chosen;
use crate::error::refused;
use crate::options::{Options, weights_of};
use crate::source::locked;
use crate::work::run;

/// Rows that come once.
#[pyclass(frozen, module = "supersample._native")]
pub(crate) struct Stream {
    stream: Mutex<stream::Stream>,
}

impl Stream {
    fn of(stream: supersample::Result<stream::Stream>) -> PyResult<Stream> {
        Ok(Stream { stream: Mutex::new(stream.map_err(refused)?) })
    }
}

#[pymethods]
impl Stream {
    #[new]
    fn new(options: Options<'_>) -> PyResult<Stream> {
        Stream::of(stream::Stream::new(options.choose()?))
    }

    /// What `to_bytes` has written, with the options that it had.
    #[staticmethod]
    fn from_bytes(bytes: &[u8], options: Options<'_>) -> PyResult<Stream> {
        Stream::of(stream::Stream::from_bytes(options.choose()?, bytes))
    }

    /// All but the options as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &locked(&self.stream)?.to_bytes()))
    }

    /// A stream without rows that has settled as this one.
    fn like(&self, part: u64) -> PyResult<Stream> {
        Stream::of(locked(&self.stream)?.like(part))
    }

    /// The number of rows so far.
    #[getter]
    fn rows(&self) -> PyResult<usize> {
        Ok(locked(&self.stream)?.rows())
    }

    /// The name of the kernel and its bandwidths, in the units of the scaled rows; `None` before the stream has settled.
    #[getter]
    fn kernel(&self) -> PyResult<Option<(&'static str, Vec<f64>)>> {
        let stream = locked(&self.stream)?;
        Ok(stream.kernel().map(|kernel| (kernel.name(), kernel.bandwidths().to_vec())))
    }

    /// Adds a batch of rows.
    #[pyo3(signature = (x, sample_weight, log_weight, threads=None))]
    fn update(
        &self,
        py: Python<'_>,
        x: PyReadonlyArray2<'_, f64>,
        sample_weight: Option<PyReadonlyArray1<'_, f64>>,
        log_weight: Option<PyReadonlyArray1<'_, f64>>,
        threads: Option<usize>,
    ) -> PyResult<()> {
        let (weights, logs) = (numbers(&sample_weight), numbers(&log_weight));
        let (values, dim) = rows(&x)?;
        let mut stream = locked(&self.stream)?;
        let stream = &mut *stream;
        // Landmarks may have to be chosen, however few the rows are.
        run(py, threads, f64::INFINITY, None, |watch| {
            stream.update(values, dim, weights_of(weights.as_deref(), logs.as_deref()), watch)
        })
    }

    /// Adds the rows of another stream, which come after these.
    #[pyo3(signature = (other, threads=None))]
    fn merge(&self, py: Python<'_>, other: &Bound<'_, Stream>, threads: Option<usize>) -> PyResult<()> {
        let other = locked(&other.get().stream)?.clone();
        let mut stream = locked(&self.stream)?;
        let stream = &mut *stream;
        run(py, threads, f64::INFINITY, None, |watch| stream.merge(&other, watch))
    }

    /// The rows that stand for all so far.
    fn choose(&self, py: Python<'_>, options: Options<'_>) -> PyResult<Chosen> {
        let stop = options.choose()?.stop;
        let stream = locked(&self.stream)?.clone();
        let progress = options.progress.as_ref();
        let (target, chosen) =
            run(py, options.threads, f64::INFINITY, progress, |watch| stream.choose(watch))?;
        Chosen::of(py, &target, chosen, &stop)
    }
}
