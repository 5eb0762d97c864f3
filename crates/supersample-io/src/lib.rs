//! Files in and out: draws as [`Draws`] of named columns, mixtures as TOML or JSON.
//!
//! Each format is one module that reads a file into numbers and finds the chosen rows again; nothing outside this crate
//! knows which one it was.

#[cfg(feature = "arrow")]
mod arrow;
mod draws;
mod error;
mod format;
mod frame;
#[cfg(any(feature = "parquet", feature = "arrow"))]
mod guard;
pub mod mixture;
mod npy;
mod npz;
mod origin;
#[cfg(feature = "parquet")]
mod parquet;
mod reading;
mod selection;
mod text;
mod write;

pub use draws::{Draws, Groups};
pub use error::{Error, Place, Result};
pub use format::{Format, Target};
pub use frame::{Column, Frame};
pub use reading::Reading;
pub use selection::Selection;
