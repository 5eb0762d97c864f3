//! Clock: how long each phase of a run has taken.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// The phases so far; each ends where the next begins.
#[derive(Debug)]
pub(crate) struct Clock {
    since: Instant,
    phases: Vec<(&'static str, Duration)>,
}

impl Clock {
    pub(crate) fn start() -> Clock {
        Clock { since: Instant::now(), phases: Vec::new() }
    }

    /// Ends a phase that did this.
    pub(crate) fn did(&mut self, what: &'static str) {
        self.phases.push((what, self.since.elapsed()));
        self.since = Instant::now();
    }

    /// The line at the end of the summary, for those who ask and those who have waited; empty for others.
    pub(crate) fn line(&self, is_asked_for: bool) -> String {
        if !is_asked_for && !std::io::stderr().is_terminal() {
            return String::new();
        }
        let phases = self.phases.iter().map(|(what, took)| format!("{what} {}", in_seconds(*took)));
        phases.collect::<Vec<_>>().join(", ") + "\n"
    }
}

/// `0.2 s`, `75 s`.
fn in_seconds(took: Duration) -> String {
    let seconds = took.as_secs_f64();
    if seconds < 10.0 { format!("{seconds:.1} s") } else { format!("{seconds:.0} s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_told_in_seconds() {
        let phases = vec![("read", Duration::from_millis(249)), ("compared", Duration::from_millis(75_400))];
        let clock = Clock { since: Instant::now(), phases };
        assert_eq!(clock.line(true), "read 0.2 s, compared 75 s\n");
    }
}
