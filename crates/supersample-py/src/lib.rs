//! `supersample._native`: the part of the library that the Python package needs.
//!
//! It has conversions, the release of Python's lock, threads and signals. The library (`supersample::task`) chooses and
//! evaluates; the Python package (`python/supersample`) has the words and the shapes of results.

mod advice;
mod arrays;
mod chosen;
mod diagnose;
mod each;
mod error;
mod evaluate;
mod files;
mod gibbs;
mod herder;
mod kernel;
mod landmarks;
mod mixture;
mod options;
mod source;
mod stein;
mod stream;
mod threads;
mod words;
mod work;

/// The functions and classes behind the Python package.
#[pyo3::pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use crate::advice::Piece;
    #[pymodule_export]
    use crate::chosen::{Chosen, Of, choose};
    #[pymodule_export]
    use crate::diagnose::{Diagnosis, diagnose};
    #[pymodule_export]
    use crate::each::{ChosenEach, choose_each};
    #[pymodule_export]
    use crate::error::Refusal;
    #[pymodule_export]
    use crate::evaluate::{Evaluation, evaluate, mmd};
    #[pymodule_export]
    use crate::files::{FileRows, read_draws};
    #[pymodule_export]
    use crate::gibbs::herded_gibbs;
    #[pymodule_export]
    use crate::herder::{Herder, Picks};
    #[pymodule_export]
    use crate::kernel::{check_kernel, kernel_values};
    #[pymodule_export]
    use crate::landmarks::LandmarkSums;
    #[pymodule_export]
    use crate::mixture::{Mixture, Placed};
    #[pymodule_export]
    use crate::options::{check_in_batches, device_name, drawn_rows, goes_in_batches};
    #[pymodule_export]
    use crate::source::{Gatherer, PassSums};
    #[pymodule_export]
    use crate::stein::stein_place;
    #[pymodule_export]
    use crate::stream::Stream;
    #[pymodule_export]
    use crate::words::{
        column_notes, column_role, counted, counting_columns, ordinal, significant, with_error, with_spread,
    };

    /// The version of the workspace in Cargo.toml.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    /// Refuses to be imported where the sums could not run.
    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        supersample::check_instruction_set()
            .map(|_| ())
            .map_err(|error| pyo3::exceptions::PyImportError::new_err(error.to_string()))?;
        crate::kernel::add_lists(module)
    }

    /// The vector instructions that the kernel sums use on this machine.
    #[pyo3::pyfunction]
    fn instruction_set() -> &'static str {
        supersample::instruction_set()
    }
}
