//! Files in and out: draws as [`Draws`] of named columns, mixtures as TOML or JSON.
//!
//! Each format is one module that reads a file into numbers and finds the chosen rows again; nothing outside this crate
//! knows which one it was.

mod error;
pub mod mixture;
mod words;

#[cfg(feature = "draws")]
mod arrow;
#[cfg(feature = "draws")]
mod cells;
#[cfg(feature = "draws")]
mod draws;
#[cfg(feature = "draws")]
mod format;
#[cfg(feature = "draws")]
mod frame;
#[cfg(feature = "draws")]
mod guard;
#[cfg(feature = "draws")]
mod note;
#[cfg(feature = "draws")]
mod npy;
#[cfg(feature = "draws")]
mod npz;
#[cfg(feature = "draws")]
mod origin;
#[cfg(feature = "draws")]
mod parquet;
#[cfg(feature = "draws")]
mod reading;
#[cfg(feature = "draws")]
mod selection;
#[cfg(feature = "draws")]
mod source;
#[cfg(feature = "draws")]
mod table;
#[cfg(feature = "draws")]
mod text;
#[cfg(feature = "draws")]
mod write;

pub use error::{Error, Place, Result};

#[cfg(feature = "draws")]
pub use self::{
    draws::{Batch, ColumnSurvey, Draws, Groups, Survey},
    format::{Format, OutputFormat, Packing},
    frame::{Column, Frame},
    note::Note,
    npy::Shape,
    reading::Reading,
    selection::{Selection, Use},
    source::ExpectedSize,
};
