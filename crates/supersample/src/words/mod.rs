//! Text for users, written once for all front ends: numbers, spelling of options, error messages, advice.
//!
//! A front end gives its spelling of options ([`Style`]) and its names of rows, columns, functions and groups, which
//! the library numbers ([`Names`]). The sentences are those of [`Error::sentence`](crate::Error::sentence) and
//! [`Advice::sentence`](crate::task::Advice::sentence).

mod advice;
mod columns;
mod diagnosis;
mod names;
mod numbers;
mod options;
mod refusals;
mod summary;

pub use columns::{ColumnNote, ColumnRole, Counting, OWN_WEIGHTS, as_typed, id_name};
pub use names::Names;
pub use numbers::{
    are, count, counted, exact, folded, in_units, in_units_above, listed, ordinal, printable, significant,
    to_unit, with_error, with_spread,
};
pub use options::{Opt, Style};
