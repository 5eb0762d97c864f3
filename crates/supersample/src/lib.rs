//! Kernel herding: a few points that represent a whole distribution.
//!
//! An implementation of Chen, Welling and Smola, *Super-Samples from Kernel Herding* (UAI 2010); "eq. 8" in this
//! documentation is equation 8 there. Herding picks points one by one, each time the one that reduces the error most:
//!
//! > E_T = ‖ μ − (1/T) Σₜ φ(xₜ) ‖,
//!
//! the maximum mean discrepancy (MMD) between the target and the points picked so far.
//!
//! ```
//! use supersample::{Domain, Empirical, Herder, Kernel, Points, bandwidth};
//!
//! let rows: Vec<f64> = (0..600).map(|i| (i as f64 * 0.7).sin()).collect();
//! let draws = Points::from_rows(&rows, 2)?; // 300 points in the plane, all finite
//! let kernel = Kernel::gaussian(bandwidth::median(&draws))?;
//! let mu = Empirical::new(kernel, draws.clone())?; // or ClosedForm::mixture(kernel, mixture)?
//! let mut herder = Herder::new(mu, Domain::Pool(draws))?.unique(true);
//! for pick in herder.by_ref().take(10) {
//!     println!("{}: row {:?}, error {:?}", pick.t, pick.index, pick.error);
//! }
//! let more = herder.run(10); // resumes: picks 11 to 20
//! assert_eq!(more[9].t, 20);
//! # Ok::<(), supersample::Error>(())
//! ```
//!
//! # Whole runs
//!
//! [`task`] goes from rows to the best of them in three lines. It scales the columns and chooses a kernel:
//!
//! ```
//! use supersample::{Points, unwatched};
//! use supersample::task::{Choose, Problem};
//!
//! # let rows: Vec<f64> = (0..600).map(|i| (i as f64 * 0.7).sin()).collect();
//! let draws = Points::from_rows(&rows, 2)?;
//! let target = Problem::new(draws, Choose::thin(20)?)?.prepare(&unwatched)?;
//! let chosen = target.choose(&unwatched)?;
//! println!("rows {:?} with an MMD of {:?}", chosen.rows, chosen.mmd());
//! # assert!(chosen.rows.len() == 20 && chosen.mmd() < Some(0.05));
//! # Ok::<(), supersample::Error>(())
//! ```
//!
//! The pieces of a [`Problem`](task::Problem) can be used alone. [`Points`] and a [`Kernel`] make a [`MeanEmbedding`]:
//! [`Empirical`] for weighted samples, [`ClosedForm`] for the densities of [`target`], [`SteinTarget`] for any density
//! whose score is known, and [`Gram`] for rows with a given matrix of kernel values. A [`Herder`] over a [`Domain`]
//! turns it into an iterator of [`Pick`]s, and [`metrics`] measures any points. For the best set of a size instead of a
//! sequence, a [`Refiner`] swaps rows until no swap helps; [`polish()`] moves points that need not be rows, [`weights`]
//! gives them unequal weights, and [`quality`](mod@quality) compares a subset with the data column by column.
//! Everything that can fail fails in a constructor; the iterator cannot.
//!
//! The objective can have more terms than the joint distribution: a [`Part`] adds the distribution functions of the
//! columns ([`Marginals`]), their means and variances ([`ColumnMoments`]) or the means of functions of interest
//! ([`Functions`]) to the objective of a pool ([`Pool::with_parts`], [`task::Objective`]).
//!
//! [`HerdedGibbs`] is a sampler of discrete variables that herds each conditional distribution.
//!
//! Kernel sums run on the rayon thread pool of the caller. The same input gives the same picks for any number of
//! threads. Memory is O(n·d) plus [`RefineOptions::memory`], never n²; [`task::Choose::memory`] estimates it before a
//! run.

mod ascent;
pub mod bandwidth;
mod bytes;
mod chains;
mod columns;
mod device;
mod domain;
pub mod embedding;
mod error;
mod expansion;
mod gibbs;
mod herder;
mod kernel;
mod ledger;
#[doc(hidden)]
pub mod linalg;
pub mod metrics;
mod part;
mod points;
mod polish;
mod pool;
pub mod quality;
mod quantile;
mod refine;
mod row_sampling;
pub mod scale;
mod special;
mod sum;
pub mod target;
pub mod task;
mod watch;
pub mod weights;
pub mod words;

pub use ascent::AscentOptions;
pub use chains::Chains;
pub use device::Device;
pub use domain::Domain;
pub use embedding::{ClosedForm, Empirical, Gram, Landmarks, MeanEmbedding, Preconditioner, SteinTarget};
pub use error::{Error, Result};
pub use expansion::KernelExpansion;
pub use gibbs::HerdedGibbs;
pub use herder::{Herder, Pick};
pub use kernel::{Family, Kernel, SteinBase};
pub use part::{ColumnMoments, Functions, FunctionsUnit, Marginals, Part};
pub use points::Points;
pub use polish::{PolishOptions, Polished, polish};
pub use pool::{Pool, Preference};
pub(crate) use refine::Goal;
pub use refine::{Fewest, ObjectiveStages, RefineOptions, Refined, Refiner, Search};
pub use sum::{NoSuchInstructionSet, Precision, check_instruction_set, instruction_set};
pub use supersample_sum::UnknownWord;
pub use watch::{Progress, Watch, unwatched};

/// The examples of the site's page on Rust are run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
struct SitePage;

/// The example of this crate's README is run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
