//! Terminal and files: what a waiting person sees, Ctrl-C, and where the results go.

pub(crate) mod clock;
pub(crate) mod interrupt;
pub(crate) mod output;
pub(crate) mod progress;
