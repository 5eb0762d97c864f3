//! Tasks: from rows as they are given to the chosen ones, and to how good they are. Every stage is a type:
//!
//! > [`Rows`] → [`Problem`] → [`Target`] → [`Chosen`]
//!
//! [`Choose`] is the one value that says what is chosen and how; the command and the Python package translate their words into it,
//! and its defaults are theirs. A [`Problem`] is the rows made ready: scaled, with a kernel. A [`Target`] is prepared: the
//! long comparison of the rows is done. Rows that do not fit into memory go through the passes of [`stream`]. Everything a caller
//! should know before believing a result comes as [`Advice`], which is data and not text.
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
mod candidates;
mod choose;
mod chosen;
mod compare;
mod corrected;
mod errors;
mod evaluate;
mod herd;
mod kernel_choice;
mod landmarks;
mod matched;
mod mean;
mod measure;
mod memory;
mod problem;
mod rows;
mod score_check;
mod scores;
mod stop;
pub mod stream;
mod target;
mod thin;
mod weigh;

pub use advice::Advice;
pub use candidates::POOL_ROWS;
pub use choose::{Choose, Compute, Distance, Method, Objective, TargetChoice};
pub use chosen::Chosen;
pub use compare::Comparison;
pub use corrected::{Corrected, SteinFeatures};
pub use errors::{Errors, Measure};
pub use evaluate::{Evaluation, Subset};
pub use herd::herd_until;
pub use kernel_choice::{Bandwidth, KernelChoice};
pub use landmarks::{CONTROL_ROWS, EXACT_UP_TO, EmbeddingChoice, choose_controls, choose_landmarks};
pub use mean::ErrorsKnown;
pub use memory::Size;
pub use problem::Problem;
pub use rows::{RowWeights, Rows};
pub use score_check::ScoreFault;
pub use scores::{RowScores, STEIN_SCALE};
pub use stop::{Ended, ErrorScale, Stop};
pub use target::{Continued, Target};
pub use weigh::{MOST_WEIGHTED, Weighed, weigh};
