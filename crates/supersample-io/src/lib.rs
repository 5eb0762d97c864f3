//! Files in and out: draws as [`Draws`] of named columns, mixtures as TOML or JSON.
//!
//! Each format is one module that reads a file into numbers and finds the chosen rows again; nothing outside this crate
//! knows which one it was.

#[cfg(feature = "arrow")]
mod arrow;
#[cfg(feature = "arrow")]
mod carried;
mod draws;
mod error;
mod format;
mod frame;
#[cfg(feature = "arrow")]
mod guard;
pub mod mixture;
mod note;
mod npy;
mod npz;
mod origin;
#[cfg(feature = "parquet")]
mod parquet;
mod reading;
mod selection;
mod source;
#[cfg(feature = "arrow")]
mod table;
mod text;
mod words;
mod write;

pub use draws::{Batch, ColumnSurvey, Draws, Groups, Survey};
pub use error::{Error, Place, Result};
pub use format::{Format, OutputFormat, Packing};
#[cfg(feature = "arrow")]
pub use frame::Carried;
pub use frame::{Column, Frame};
pub use note::Note;
pub use npy::Shape;
pub use reading::Reading;
pub use selection::{Selection, Use};
pub use source::ExpectedSize;
