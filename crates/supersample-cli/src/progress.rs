//! What a waiting person sees: the phase, how far it is and how long it will take, on a terminal only.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// One line on stderr that is wiped when the phase is over.
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A phase of unknown length.
    pub(crate) fn phase(quiet: bool, what: &str) -> Progress {
        let bar = Progress::bar(quiet, None, "{spinner} {msg} {elapsed}");
        bar.set_message(what.to_string());
        bar.enable_steady_tick(Duration::from_millis(120));
        Progress { bar }
    }

    /// A phase of so many steps.
    pub(crate) fn steps(quiet: bool, what: &str, total: usize) -> Progress {
        let bar =
            Progress::bar(quiet, Some(total as u64), "{msg} {pos}/{len} {wide_bar} {per_sec} eta {eta}");
        bar.set_message(what.to_string());
        Progress { bar }
    }

    fn bar(quiet: bool, total: Option<u64>, template: &str) -> ProgressBar {
        // indicatif draws nothing where stderr is not a terminal.
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let style = ProgressStyle::with_template(template).expect("the template is sound");
        ProgressBar::with_draw_target(total, target).with_style(style)
    }

    pub(crate) fn reached(&self, step: usize) {
        self.bar.set_position(step as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
