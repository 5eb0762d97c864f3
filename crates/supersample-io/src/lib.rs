//! Files in and out: draws as [`Draws`] of named columns, mixtures as TOML or JSON.
//!
//! Each format is one module that reads a file into numbers and finds the chosen rows again; code outside this crate
//! does not depend on the format. A reader sends rows to a `Sink` as it meets them. `draws/` decides whether they are
//! all kept ([`Draws::read`]) or come in batches ([`Draws::in_batches`]), and does what all files share: rows with
//! missing values, equal columns, columns that only number the rows.
//!
//! There are two passes over a file. The first reads only the numbers of the wanted columns into memory. The second
//! reads the chosen rows, which are written as they are. A pipe is copied to a temporary file first.

mod error;
pub mod mixture;
pub mod summary;
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
#[cfg(feature = "netcdf")]
mod netcdf;
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
#[cfg(any(feature = "netcdf", feature = "zarr"))]
#[cfg_attr(
    not(all(feature = "netcdf", feature = "zarr")),
    allow(dead_code, reason = "each format uses a part")
)]
mod tree;
#[cfg(feature = "draws")]
mod write;
#[cfg(feature = "zarr")]
mod zarr;

pub use error::{Error, Place, Result};

#[cfg(feature = "draws")]
pub use self::{
    draws::{Batch, BatchSize, ColumnSurvey, Draws, Groups, Joined, Survey},
    format::{Format, OutputFormat, Packing},
    frame::{Column, Frame},
    note::Note,
    npy::Shape,
    reading::Reading,
    selection::{Selection, Use},
    source::ExpectedSize,
};
#[cfg(feature = "zarr")]
pub use zarr::unpack_store;
