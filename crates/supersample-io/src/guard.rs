//! Turns panics of external readers on broken files into errors, because user data must not stop a program. The panic
//! hook, which would print them, belongs to the program.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{Error, Result};

/// Runs the reader of a format. Its state is not used after a panic.
pub(crate) fn guarded<T>(format: &'static str, read: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|panic| Err(Error::Malformed { format, reason: reason(&*panic) }))
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
            "the file is not a valid Parquet file: row 3 is odd; write it again, or convert it to CSV"
        );
        assert_eq!(guarded("Parquet", || Ok(5)).unwrap(), 5);
    }
}
