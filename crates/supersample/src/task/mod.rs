//! Tasks: from rows as they are given to the chosen ones, and to how good they are.
//!
//! A [`Problem`] is the rows made ready: scaled, weighted, with a kernel and a mean embedding. It herds, thins, weighs and
//! evaluates; the command and the Python package are translations of it. Everything a caller should know before
//! believing a result comes as [`Advice`], which is data and not text.
//!
//! ```
//! use supersample::{Points, unwatched};
//! use supersample::task::{Problem, ProblemOptions, Stop, ThinOptions};
//!
//! let rows: Vec<f64> = (0..600).map(|i| (i as f64 * 0.7).sin()).collect();
//! let problem = Problem::new(Points::from_rows(&rows, 2)?, ProblemOptions::default())?;
//! let chosen = problem.thin(&Stop::after(20)?, &ThinOptions::default(), &unwatched)?;
//! let found = problem.summarise(&chosen, None, &unwatched)?;
//! assert!(chosen.rows.len() == 20 && found.error < found.comparison.unwrap().random_mean());
//! # Ok::<(), supersample::Error>(())
//! ```

mod advice;
mod candidates;
mod choose;
mod compare;
mod evaluate;
mod gather;
mod landmarks;
mod matched;
mod memory;
mod options;
mod pass;
mod problem;
mod row_weights;
mod scores;
mod stop;
mod streamed;
mod thin;
mod weigh;

pub use advice::Advice;
pub use candidates::{POOL_ROWS, default_pool_rows};
pub use choose::{Chosen, HerdOptions, herd_until};
pub use compare::{Comparison, TypicalErrors};
pub use evaluate::Evaluation;
pub use gather::{Gathered, Gatherer};
pub use landmarks::{
    CONTROL_ROWS, EXACT_UP_TO, EmbeddingChoice, as_many_herded, choose_controls, choose_landmarks,
    default_landmarks,
};
pub use matched::{FUNCTIONS, FunctionValues, MARGINALS};
pub use memory::MemoryEstimate;
pub use options::{Bandwidth, KernelChoice, ProblemOptions};
pub use pass::PassSums;
pub use problem::Problem;
pub use row_weights::RowWeights;
pub use scores::{RowScores, STEIN_SCALE};
pub use stop::{Ended, ErrorScale, Stop};
pub use streamed::pool_rows_within;
pub use thin::ThinOptions;
pub use weigh::{MOST_WEIGHTED, Weighed, weigh};
