//! Ctrl-C: the first asks the run to end with what it has, the second ends it at once.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the shell sees of a run that was interrupted: 128 and the number of the signal.
pub(crate) const EXIT_INTERRUPTED: u8 = 130;

/// What is said of a run that ends without a result.
pub(crate) const NOTHING_WRITTEN: &str = "interrupted; nothing was written";

static REQUESTED: AtomicBool = AtomicBool::new(false);
/// Whether there is something that a run could end with.
static CAN_END_EARLY: AtomicBool = AtomicBool::new(false);
/// Files that must not be left behind.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Starts to listen. Without a handler Ctrl-C ends the process as ever, so a failure is not worth a word.
pub(crate) fn listen() {
    let _ = ctrlc::set_handler(|| {
        let again = REQUESTED.swap(true, Ordering::SeqCst);
        if again || !CAN_END_EARLY.load(Ordering::SeqCst) {
            if let Ok(unfinished) = UNFINISHED.lock() {
                unfinished.iter().for_each(|path| _ = std::fs::remove_file(path));
            }
            // The line of progress may still stand there.
            let wipe = if std::io::stderr().is_terminal() { "\r\x1b[K" } else { "" };
            eprintln!("{wipe}supersample: {NOTHING_WRITTEN}");
            std::process::exit(i32::from(EXIT_INTERRUPTED));
        }
    });
}

/// Whether the user has asked for an end.
pub(crate) fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}

/// Whether a long computation of the library should go on.
pub(crate) fn asked_to_end() -> ControlFlow<()> {
    if requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// From now on the first Ctrl-C is answered by the run itself, at the next choice or in the next moment of a long
/// computation.
pub(crate) fn can_end_early(can: bool) {
    CAN_END_EARLY.store(can, Ordering::SeqCst);
}

pub(crate) fn unfinished(path: &Path) {
    if let Ok(mut unfinished) = UNFINISHED.lock() {
        unfinished.push(path.to_path_buf());
    }
}
