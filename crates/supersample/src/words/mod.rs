//! Words for people, written once for all front ends: numbers, the spelling of options, refusals and advice.
//!
//! A front end says how it spells options ([`Style`]) and what it calls the rows, columns, functions and groups that the library
//! numbers ([`Names`]). The sentences are those of [`Error::sentence`](crate::Error::sentence) and
//! [`Advice::sentence`](crate::task::Advice::sentence).

mod advice;
mod diagnosis;
mod names;
mod numbers;
mod options;
mod refusals;

pub use names::Names;
pub use numbers::{
    are, count, counted, exact, in_units, listed, ordinal, printable, significant, to_unit, with_error,
    with_spread,
};
pub use options::{Opt, Style};
