//! Sums of kernel values over many points: vectorised, blocked for the cache, shared between threads.
//!
//! `supersample` spends nearly all its time here: the mean of kernel rows ([`Packed::mean_into`], and
//! [`Packed::own_mean_into`] with half the work for the points themselves), one kernel row fused with the search for
//! the next maximum ([`Packed::add_row_and_argmax`]); and the products of columns that correlations and Cholesky
//! factors are made of ([`add_products`]). Points are packed once, in f32 or f64 ([`Precision`]). Every row of a result
//! is summed in a fixed order, so results do not depend on the number of threads; the pool of threads is the caller's.
//! Each routine is tested against its twin in `tests/sums` on every instruction set of the machine.
//!
//! # Where the crate ends
//!
//! Each loop is compiled for every kernel, precision and instruction set, which takes a minute, so it is compiled
//! alone: nothing here changes when the library does. The crate takes plain data without checks: numbers ([`Rows`]) and
//! the shape of a kernel with its lengths ([`Shape`]). The library checks both, and has the names, error messages and
//! phases of progress; only the two enums of this crate have their words here ([`words!`]). The formula of a kernel is
//! only here ([`Shape::value`] and its gradient), because the loops are tested against it. Only [`argmax_by`] is
//! generic and public, and it has no vectors, so no loop is compiled again in a calling crate. The interface follows
//! the needs of `supersample` and is not stable.

mod chunks;
mod kernel_row;
mod lanes;
mod launch;
mod level;
mod means;
mod packed;
mod pairs;
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
mod terms;
mod tile;
mod visit;
mod word;

pub use self::kernel_row::{KernelRow, KernelRowMut, add_scaled};
#[doc(hidden)]
pub use self::lanes::{exp2_in_double, exp2_in_single};
pub use self::level::{NoSuchInstructionSet, check_instruction_set, instruction_set, instruction_sets};
pub use self::packed::{Packed, Precision};
pub use self::pairs::{Tally, tally_pairs};
pub use self::panels::Coordinates;
pub use self::products::{ABREAST, PanelProduct, add_products, solve_panel};
pub use self::row_store::KernelRows;
pub use self::rows::Rows;
pub use self::scores::{Scores, argmax_by};
pub use self::shape::{Distance, Shape, add_gradient_into};
pub use self::stein::{Stein, SteinBase, SteinLayout};
pub use self::tally::Watch;
pub use self::terms::{Levels, Quadratic, Term};
pub use self::visit::{Outcome, Visit};
pub use self::word::{UnknownWord, either};
