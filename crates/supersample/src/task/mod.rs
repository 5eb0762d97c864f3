//! Tasks: from given rows to chosen rows and their errors. Every stage is a type:
//!
//! > [`Rows`] → [`Problem`] → [`Target`] → [`Chosen`]
//!
//! [`Choose`] holds all options of a choice. The command and the Python package translate their options into it; its
//! defaults are theirs. A [`Problem`] holds scaled rows with a kernel. A [`Target`] is prepared: the long comparison of
//! rows is done. "Not prepared yet" is another type, so no call can come too early. Rows that do not fit into memory go
//! through the passes of [`stream`]. Warnings and notes come as [`Advice`], which is data and not text.
//!
//! Rows of weight zero add nothing to the target and are not chosen: a chosen row counts 1/T of the whole, and such a
//! row counts nothing. [`Compute::pool_without_weight`] lets them in, and
//! [`RefineOptions::include`](crate::RefineOptions::include) the rows it names.
//!
//! A [`Watch`](crate::Watch) can end every long call. While rows are compared, there is no result
//! ([`Error::Interrupted`](crate::Error::Interrupted)). While herding, the result is the rows so far. In swaps or
//! search, it is the best set so far.
//!
//! ```
//! use supersample::task::{Choose, Problem};
//! use supersample::{Points, unwatched};
//!
//! let rows: Vec<f64> = (0..600).map(|i| (i as f64 * 0.7).sin()).collect();
//! let problem = Problem::new(Points::from_rows(&rows, 2)?, Choose::thin(20)?)?;
//! let target = problem.prepare(&unwatched)?;
//! let chosen = target.choose(&unwatched)?;
//! let found = target.summarise(&chosen, &unwatched)?;
//! assert!(chosen.rows.len() == 20 && found.mmd() < found.comparison.unwrap().random_mean());
//! # Ok::<(), supersample::Error>(())
//! ```

mod advice;
mod calibrate;
mod candidates;
mod choose;
mod chosen;
mod compare;
mod corrected;
mod diagnose;
mod each;
mod enough;
mod errors;
mod evaluate;
mod herd;
mod kernel_choice;
mod landmarks;
mod matched;
mod mean;
mod measure;
mod memory;
mod overlap;
mod problem;
mod rows;
mod score_check;
mod scores;
mod stop;
pub mod stream;
mod summary;
mod target;
mod thin;
mod weigh;

pub use advice::Advice;
pub use calibrate::{Calibrate, CalibratedMean};
pub use candidates::POOL_ROWS;
pub use choose::{Choose, Compute, Distance, Method, Objective, TargetChoice};
pub use chosen::Chosen;
pub use compare::Comparison;
pub use corrected::{Corrected, SteinFeatures};
pub use diagnose::Diagnosis;
pub use each::{ChosenOf, choose_each};
pub use errors::{Errors, Measure};
pub use evaluate::{Evaluation, Subset};
pub use herd::herd_until;
pub use kernel_choice::{Bandwidth, KernelChoice, MATCHING_KERNEL};
pub use landmarks::{CONTROL_ROWS, EXACT_UP_TO, EmbeddingChoice, choose_controls, choose_landmarks};
pub use mean::ErrorsKnown;
pub use memory::Size;
pub use overlap::Overlap;
pub use problem::Problem;
pub use rows::{RowWeights, Rows};
pub use score_check::ScoreFault;
pub use scores::{RowScores, STEIN_SCALE};
pub use stop::{Ended, ErrorScale, Goal, Stop};
pub use summary::{Number, Published, Reached, Summary, SummaryFault};
pub use target::{Continued, Target};
pub use weigh::{MOST_WEIGHTED, Weighed, weigh};
