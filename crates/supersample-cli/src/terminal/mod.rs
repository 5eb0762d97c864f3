//! Terminal and files: progress, Ctrl-C, output files.

pub(crate) mod clock;
pub(crate) mod interrupt;
pub(crate) mod output;
pub(crate) mod progress;
