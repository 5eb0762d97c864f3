//! Files in and out: draws as a [`Table`] of named columns, mixtures as TOML or JSON.
//!
//! Each format is one module that produces a [`Table`]; nothing outside this crate knows which one it came from.
//!
//! ```
//! use supersample_io::{Selection, csv};
//! let table = csv::read_bytes(b"chain,mu,tau\n1,0.5,2\n1,0.25,3\n".to_vec(), &Selection::Default)?;
//! assert_eq!(table.parameter_names(), ["mu", "tau"]); // chain is an id
//! assert_eq!(table.values(), [0.5, 2.0, 0.25, 3.0]);
//! let mut chosen = Vec::new();
//! table.write_rows(&[1], &mut chosen).unwrap();
//! assert_eq!(chosen, b"chain,mu,tau\n1,0.25,3\n");
//! # Ok::<(), supersample_io::Error>(())
//! ```

pub mod csv;
mod error;
pub mod mixture;
mod selection;
mod table;

pub use error::{Error, Place, Result};
pub use selection::Selection;
pub use table::Table;
