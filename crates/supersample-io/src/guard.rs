//! Panics of other people's readers on broken files: they become errors, as user data must never stop a program.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};

use crate::{Error, Result};

thread_local! {
    /// Whether a panic of this thread will be caught and need not be shown.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs the reader of a format. Nothing it leaves behind is used after a panic, so no broken state can be seen.
pub(crate) fn guarded<T>(format: &'static str, read: impl FnOnce() -> Result<T>) -> Result<T> {
    let outer = IS_GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(read));
    IS_GUARDED.set(outer);
    result.unwrap_or_else(|panic| Err(Error::Malformed { format, reason: reason(&*panic) }))
}

/// Keeps the process from printing panics that this crate catches and returns as errors. For programs, once at their start:
/// it wraps the panic hook of the process, which a library must not do unasked.
pub fn hide_caught_panics() {
    let before = take_hook();
    set_hook(Box::new(move |panic| {
        if !IS_GUARDED.get() {
            before(panic);
        }
    }));
}

fn reason(panic: &(dyn Any + Send)) -> String {
    let text =
        panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("its parts do not fit together").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_of_the_file() {
        let found: Result<()> = guarded("Parquet", || panic!("row {} is odd", 3));
        assert_eq!(
            found.unwrap_err().to_string(),
            "the file is not a sound Parquet file: row 3 is odd; write it again, or convert it to CSV"
        );
        assert_eq!(guarded("Parquet", || Ok(5)).unwrap(), 5);
    }
}
