//! `supersample._native`: what the Python package needs of the library, and no more.
//!
//! Conversions, the release of Python's lock, threads, signals. What is chosen and how good it is are the library's
//! business (`supersample::task`), and so are sentences and numbers as people read them (`supersample::words`); defaults and
//! shapes of results are Python's (`python/supersample`).

mod advice;
mod arrays;
mod chosen;
mod error;
mod evaluate;
mod herder;
mod kernel;
mod landmarks;
mod mixture;
mod samples;
mod stein;
mod streamed;
mod threads;
mod words;
mod work;

/// The functions and classes behind the Python package.
#[pyo3::pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use crate::advice::Piece;
    #[pymodule_export]
    use crate::chosen::{Chosen, herd, thin};
    #[pymodule_export]
    use crate::error::Refusal;
    #[pymodule_export]
    use crate::evaluate::{Evaluation, evaluate, mmd};
    #[pymodule_export]
    use crate::herder::{Herder, Picks};
    #[pymodule_export]
    use crate::kernel::{check_kernel, kernel_values};
    #[pymodule_export]
    use crate::landmarks::LandmarkSums;
    #[pymodule_export]
    use crate::mixture::{Mixture, Placed};
    #[pymodule_export]
    use crate::samples::{Samples, device_name};
    #[pymodule_export]
    use crate::stein::{SteinPlaced, ksd, stein_place, stein_samples};
    #[pymodule_export]
    use crate::streamed::{
        Gatherer, PassSums, Unmeasured, choose_from_pool, compared_with, evaluate_measured, gathered,
        landmark_sums, pool_points, pool_rows, pool_rows_of_single, project_on,
    };
    #[pymodule_export]
    use crate::words::{counted, ordinal, significant, with_error, with_spread};

    /// The version of the workspace in Cargo.toml.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    /// How much marginals count where thinning is not told otherwise.
    #[pymodule_export]
    const MARGINALS: f64 = supersample::task::MARGINALS;

    /// Refuses to be imported where the sums could not run; and the lists of kernels and scales, whose words are the library's.
    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        supersample::check_instruction_set()
            .map_err(|error| pyo3::exceptions::PyImportError::new_err(error.to_string()))?;
        crate::kernel::add_lists(module)
    }

    /// The vector instructions that the kernel sums use on this machine.
    #[pyo3::pyfunction]
    fn instruction_set() -> &'static str {
        supersample::instruction_set()
    }
}
