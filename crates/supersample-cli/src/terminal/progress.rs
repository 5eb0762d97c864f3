//! Progress on a terminal: the phase, its progress and the remaining time.

use std::fmt::Write;
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::words::significant;

/// A phase that has no known end.
const SPINNER: &str = "{spinner} {msg} {elapsed}";
/// A phase with a known number of steps.
const STEPS: &str = "{msg} {pos}/{len} {wide_bar} {rate}/s eta {eta}";
/// A phase that goes through all rows.
const ROWS: &str = "{msg} {percent} % {wide_bar} {rate} rows/s eta {eta}";
/// A phase whose steps mean nothing to the reader.
const PERCENT: &str = "{msg} {percent} % {wide_bar} eta {eta}";

/// A phase that goes through chosen rows.
const MEASURED: &str = "{msg} {pos}/{len} {wide_bar} eta {eta}";
/// Steps of a phase of which only the part that is done is known.
const PARTS: u64 = 10_000;

/// One line on stderr that is wiped when the phase is over.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// The template in use; changed when the library passes from one phase to the next.
    template: Mutex<&'static str>,
}

impl Progress {
    /// A phase of unknown length.
    pub(crate) fn phase(quiet: bool, what: &str) -> Progress {
        let progress = Progress::new(quiet, None, SPINNER, what);
        progress.bar.enable_steady_tick(Duration::from_millis(120));
        progress
    }

    /// A phase with a known number of steps.
    pub(crate) fn steps(quiet: bool, what: &str, total: usize) -> Progress {
        Progress::new(quiet, Some(total as u64), STEPS, what)
    }

    /// A phase over a known number of rows.
    pub(crate) fn rows(quiet: bool, what: &str, total: usize) -> Progress {
        Progress::new(quiet, Some(total as u64), ROWS, what)
    }

    /// A phase of which the part that is done is known.
    pub(crate) fn percent(quiet: bool, what: &str) -> Progress {
        Progress::new(quiet, Some(PARTS), PERCENT, what)
    }

    /// Sets the fraction of the phase that is done, from 0 to 1.
    pub(crate) fn part(&self, part: f64) {
        self.bar.set_position((part.clamp(0.0, 1.0) * PARTS as f64) as u64);
    }

    fn new(quiet: bool, total: Option<u64>, template: &'static str, what: &str) -> Progress {
        // indicatif draws nothing where stderr is not a terminal.
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(total, target).with_style(style(template));
        bar.set_message(what.to_string());
        Progress { bar, template: Mutex::new(template) }
    }

    pub(crate) fn reached(&self, step: usize) {
        self.bar.set_position(step as u64);
    }

    /// Shows the progress of the library. Called often and from any thread; the bar limits its redraws.
    pub(crate) fn show(&self, progress: supersample::Progress) {
        use supersample::Progress as Library;
        match progress {
            Library::Embedding { done, total } => {
                // Counted in rows, which people have, not in pairs.
                let rows = self.bar.length().unwrap_or(0);
                self.bar
                    .set_position((u128::from(done) * u128::from(rows) / u128::from(total.max(1))) as u64);
            }
            Library::Correcting { done, total } => {
                self.turn_to(PERCENT, "correcting the rows by their scores", Some(total));
                self.reached(done);
            }
            Library::Whitening { done, total } => {
                self.turn_to(PERCENT, "whitening the columns", Some(total));
                self.reached(done);
            }
            Library::Landmarks { chosen, size } => {
                self.turn_to(STEPS, "choosing landmarks", Some(size));
                self.reached(chosen);
            }
            Library::Summing { done, total } => {
                self.turn_to(ROWS, "comparing the rows with landmarks", Some(total as usize));
                self.reached(done as usize);
            }
            Library::Solving { done, total } => {
                self.turn_to(MEASURED, "solving for the landmarks", Some(total));
                self.reached(done);
            }
            Library::Projecting { done, total } => {
                self.turn_to(PERCENT, "projecting the rows on landmarks", Some(total));
                self.reached(done);
            }
            Library::Measuring { done, total } => {
                self.turn_to(MEASURED, "measuring the rows", Some(total));
                self.reached(done);
            }
            Library::Herding { chosen, size } => {
                self.turn_to(STEPS, "choosing", Some(size));
                self.reached(chosen);
            }
            Library::Sweeping { visits, swaps, size } => {
                let sweep = visits / size.max(1) + 1;
                self.turn_to(SPINNER, "swapping", None);
                self.bar.set_message(format!("swapping rows: sweep {sweep}, {swaps} swaps"));
                self.bar.tick();
            }
            Library::Searching { visits, total } => {
                self.turn_to(PERCENT, "searching for a better subset", Some(total));
                self.reached(visits);
            }
            Library::Polishing { steps, most } => {
                self.turn_to(PERCENT, "polishing", Some(most));
                self.reached(steps);
            }
            _ => {}
        }
    }

    /// Begins another phase, unless it is this one.
    fn turn_to(&self, template: &'static str, what: &str, total: Option<usize>) {
        let Ok(mut current) = self.template.lock() else { return };
        if *current != template {
            *current = template;
            self.bar.reset();
            self.bar.set_style(style(template));
            self.bar.set_message(what.to_string());
        }
        if let Some(total) = total {
            self.bar.set_length(total as u64);
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).expect("the template is sound");
    style.with_key("rate", |state: &ProgressState, out: &mut dyn Write| {
        // If a line cannot be written there is nothing to do.
        let _ = out.write_str(&significant(state.per_sec()));
    })
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use supersample::Progress as Library;

    use super::*;

    #[test]
    fn the_phases_of_the_library_are_told_in_their_own_units() {
        let progress = Progress::new(true, Some(1000), STEPS, "comparing");
        progress.show(Library::Embedding { done: 250_000, total: 500_000 });
        assert_eq!((progress.bar.position(), progress.bar.length()), (500, Some(1000)));
        progress.show(Library::Herding { chosen: 3, size: 7 });
        assert_eq!((progress.bar.position(), progress.bar.length()), (3, Some(7)));
        progress.show(Library::Correcting { done: 20, total: 90 });
        assert_eq!(progress.bar.message(), "correcting the rows by their scores");
        progress.show(Library::Landmarks { chosen: 5, size: 9 });
        progress.show(Library::Summing { done: 60, total: 80 });
        assert_eq!((progress.bar.position(), progress.bar.length()), (60, Some(80)));
        assert_eq!(progress.bar.message(), "comparing the rows with landmarks");
        progress.show(Library::Projecting { done: 10, total: 90 });
        assert_eq!(progress.bar.message(), "projecting the rows on landmarks");
        progress.show(Library::Measuring { done: 2, total: 7 });
        assert_eq!((progress.bar.position(), progress.bar.length()), (2, Some(7)));
        progress.show(Library::Sweeping { visits: 15, swaps: 4, size: 7 });
        assert_eq!(progress.bar.message(), "swapping rows: sweep 3, 4 swaps");
        progress.show(Library::Searching { visits: 5, total: 20 });
        assert_eq!((progress.bar.position(), progress.bar.length()), (5, Some(20)));
        assert_eq!(progress.bar.message(), "searching for a better subset");
    }
}
