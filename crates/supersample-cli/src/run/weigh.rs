//! Weights that a result is given: those with the least MMD, beside equal ones.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Result, anyhow};
use supersample::task::{TypicalErrors, Weighed};
use supersample::weights::{OptimalWeights, WeightRule};

use super::with_threads;
use crate::report::Weighing;
use crate::terminal::interrupt;
use crate::terminal::progress::Progress;
use crate::words::{Names, Style};

/// How long a Ctrl-C may wait to be noticed.
const LOOK_UP: Duration = Duration::from_millis(20);

/// The best weights, which `find` finds; `None` where there are none to be had, and then the warning says why. The library
/// does not let itself be watched here, so it works on threads of its own; after a Ctrl-C nobody waits for them, and they
/// end with the process.
pub(super) fn weigh(
    find: impl FnOnce() -> supersample::Result<Weighed> + Send + 'static,
    quiet: bool,
    warnings: &mut Vec<String>,
) -> Result<Found> {
    let _progress = Progress::phase(quiet, "finding the weights");
    let (sender, receiver) = channel();
    let threads = rayon::current_num_threads();
    if !interrupt::requested() {
        std::thread::Builder::new().name("weights".to_string()).spawn(move || {
            let found = with_threads(Some(threads), || Ok(find()?));
            // Nobody listens any more after a Ctrl-C.
            let _ = sender.send(found);
        })?;
    }
    loop {
        if interrupt::requested() {
            warnings.push("interrupted before the weights were found, so they are equal".to_string());
            return Ok(Found { weights: None, is_interrupted: true });
        }
        match receiver.recv_timeout(LOOK_UP) {
            Ok(found) => {
                let Weighed { weights, advice, .. } = found?;
                warnings.extend(advice.map(|advice| advice.sentence(Style::Command, &Names::default())));
                return Ok(Found { weights, is_interrupted: false });
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(anyhow!("the weights could not be found")),
        }
    }
}

/// What came of the search for weights.
pub(super) struct Found {
    pub(super) weights: Option<OptimalWeights>,
    /// Whether a Ctrl-C has ended it.
    pub(super) is_interrupted: bool,
}

/// What the report says of weights that were found; `equal_errors` are those of equal ones.
pub(super) fn weighing(rule: WeightRule, found: &OptimalWeights, equal_errors: TypicalErrors) -> Weighing {
    let OptimalWeights { weights, error, equal_error, jitter, optimal, .. } = found.clone();
    Weighing { rule, weights, error, equal_error, equal_errors, jitter, is_optimal: optimal }
}
