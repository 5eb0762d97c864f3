//! Ctrl-C: the first ends the run with the result so far, the second ends it at once. Signals that were ignored at the
//! start get no handler.

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
#[cfg(unix)]
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::Result;

/// Exit status of an interrupted run: 128 plus the number of the signal.
pub(crate) const EXIT_INTERRUPTED: u8 = 130;

/// Message of a run that ends without a result.
pub(crate) const NOTHING_WRITTEN: &str = "interrupted; nothing was written";

static REQUESTED: AtomicBool = AtomicBool::new(false);
/// Whether there is something that a run could end with.
static CAN_END_EARLY: AtomicBool = AtomicBool::new(false);
/// Whether one of the results is in place already.
static HAS_WRITTEN: AtomicBool = AtomicBool::new(false);
/// Files that must not be left behind.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Installs the handler. Without one Ctrl-C ends the process as usual, so a failure is not reported.
#[cfg(unix)]
pub(crate) fn listen() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::iterator::Signals;
    // With a handler, a file beyond the limit on sizes is an error of writing and not the end of the process.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    let ignored = ignored_signals();
    let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !ignored.contains(signal));
    let Ok(mut signals) = Signals::new(wanted) else { return };
    std::thread::spawn(move || signals.forever().for_each(|_| pressed()));
}

/// Installs the handler. Without one Ctrl-C ends the process as usual, so a failure is not reported.
#[cfg(not(unix))]
pub(crate) fn listen() {
    let _ = ctrlc::set_handler(pressed);
}

/// Signals that were ignored when the process started: `nohup` ignores the hangup, and shells ignore Ctrl-C for
/// background jobs. A handler would undo that.
#[cfg(unix)]
fn ignored_signals() -> Vec<i32> {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
        // If the system does not tell: without a terminal, the hangup keeps its setting.
        let is_attended = std::io::stdin().is_terminal()
            || std::io::stdout().is_terminal()
            || std::io::stderr().is_terminal();
        return if is_attended { Vec::new() } else { vec![signal_hook::consts::SIGHUP] };
    };
    ignored_in(&status)
}

/// The signals in the mask of ignored ones, whose lowest bit is the first signal.
#[cfg(unix)]
fn ignored_in(status: &str) -> Vec<i32> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    (1..=64).filter(|signal| mask >> (signal - 1) & 1 == 1).collect()
}

fn pressed() {
    let again = REQUESTED.swap(true, Ordering::SeqCst);
    if again || !CAN_END_EARLY.load(Ordering::SeqCst) {
        // Locked until the process has ended, so that no file is made after the last one is removed.
        let unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
        for path in unfinished.iter() {
            let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        }
        // The line of progress may still stand there.
        let wipe = if std::io::stderr().is_terminal() { "\r\x1b[K" } else { "" };
        let end = match HAS_WRITTEN.load(Ordering::SeqCst) {
            true => "interrupted; not all of the results were written",
            false => NOTHING_WRITTEN,
        };
        // A closed stderr must not keep the process alive.
        let _ = writeln!(std::io::stderr(), "{wipe}supersample: {end}");
        std::process::exit(i32::from(EXIT_INTERRUPTED));
    }
}

/// Whether the user has pressed Ctrl-C.
pub(crate) fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}

/// Whether a long computation should continue.
pub(crate) fn asked_to_end() -> ControlFlow<()> {
    if requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// From now on the first Ctrl-C is answered by the run itself, at the next choice or in the next moment of a long
/// computation.
pub(crate) fn can_end_early(can: bool) {
    CAN_END_EARLY.store(can, Ordering::SeqCst);
}

/// Records that a result is in place.
pub(crate) fn has_written() {
    HAS_WRITTEN.store(true, Ordering::SeqCst);
}

/// Makes a file or a folder that is removed when the process ends at once. A signal is answered when its path is listed.
pub(crate) fn unfinished<T>(make: impl FnOnce() -> Result<T>, path: impl FnOnce(&T) -> PathBuf) -> Result<T> {
    let mut unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    let made = make()?;
    unfinished.push(path(&made));
    Ok(made)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_mask() {
        assert_eq!(ignored_in("Name:\tx\nSigIgn:\t0000000000001003\n"), [1, 2, 13]);
        assert_eq!(ignored_in("Name:\tx\n"), [0; 0]);
    }
}
