//! `supersample._native`: what the Python package needs of the library, and no more.
//!
//! Conversions, the release of Python's lock, threads, signals. Words, defaults and shapes of results are Python's
//! business (`python/supersample`).

mod arrays;
mod error;
mod evaluate;
mod herder;
mod kernel;
mod mixture;
mod pool;
mod samples;
mod stop;
mod thin;
mod weights;
mod work;

/// The functions and classes behind the Python package.
#[pyo3::pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use crate::evaluate::{evaluate, mmd};
    #[pymodule_export]
    use crate::herder::Herder;
    #[pymodule_export]
    use crate::kernel::{check_kernel, kernel_values};
    #[pymodule_export]
    use crate::mixture::Mixture;
    #[pymodule_export]
    use crate::samples::Samples;
    #[pymodule_export]
    use crate::thin::thin;
    #[pymodule_export]
    use crate::weights::optimal_weights;

    /// The version of the workspace in Cargo.toml.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    /// Refuses to be imported where the sums could not run.
    #[pymodule_init]
    fn init() -> pyo3::PyResult<()> {
        supersample::check_instruction_set()
            .map(|_| ())
            .map_err(|error| pyo3::exceptions::PyImportError::new_err(error.to_string()))
    }

    /// The vector instructions that the kernel sums use on this machine.
    #[pyo3::pyfunction]
    fn instruction_set() -> &'static str {
        supersample::instruction_set()
    }
}
