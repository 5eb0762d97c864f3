//! Sums of kernel values over many points: on vectors, blocked for the cache, shared between threads.
//!
//! Everything that `supersample` spends time on passes through here: the mean of kernel rows ([`Packed::mean_into`], and
//! [`Packed::own_mean_into`] with half the work when points meet themselves), one kernel row fused with the search for
//! the next maximum ([`Packed::add_row_and_argmax`]); and the products of columns that correlations and Cholesky factors
//! are made of ([`add_products`]). Points are packed once, in f32 or f64 ([`Precision`]). Every row
//! of a result is summed in a fixed order, so results do not depend on the number of threads; the pool of threads is
//! the caller's. Each routine is tested against its twin in `tests/sums` on every instruction set of the machine.
//!
//! # Where the crate ends
//!
//! Each loop is compiled for every kernel, precision and instruction set, which takes a minute, so it is compiled alone:
//! nothing here changes when the library does. The crate takes plain data on trust, numbers ([`Rows`]) and the shape of
//! a kernel with its lengths ([`Shape`]), both checked by the library, which also has the words: names, text, errors,
//! phases of progress; only its own two choices have their words here ([`words!`]). The formula of a kernel stands here and nowhere else ([`Shape::value`] and its gradient),
//! because the loops are held against it. Nothing public is generic but [`argmax_by`], which has no vectors in it, so no
//! loop is compiled a second time in a crate that calls it. The interface follows the needs of `supersample` and promises
//! nothing to others.

mod chunks;
mod kernel_row;
mod lanes;
mod launch;
mod level;
mod means;
mod packed;
mod panels;
mod products;
mod profile;
mod row_store;
mod rows;
mod schedule;
mod scores;
mod shape;
mod stein;
mod tally;
mod tile;
mod visit;
mod word;

pub use self::kernel_row::{KernelRow, KernelRowMut, add_scaled};
#[doc(hidden)]
pub use self::lanes::{exp2_in_double, exp2_in_single};
pub use self::level::{NoSuchInstructionSet, check_instruction_set, instruction_set, instruction_sets};
pub use self::packed::{Packed, Precision};
pub use self::panels::Coordinates;
pub use self::products::{ABREAST, PanelProduct, add_products, solve_panel};
pub use self::row_store::KernelRows;
pub use self::rows::Rows;
pub use self::scores::{Scores, argmax_by};
pub use self::shape::{Distance, Shape, add_gradient_into};
pub use self::stein::{Stein, SteinBase, SteinLayout};
pub use self::tally::Watch;
pub use self::visit::{Outcome, Visit};
pub use self::word::{UnknownWord, either};
