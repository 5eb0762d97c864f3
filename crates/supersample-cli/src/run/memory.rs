//! Memory of a run, estimated before it is taken.

use anyhow::{Error, anyhow};

use crate::words::in_units;

/// A refusal of the library for want of memory in the words of the flag; other errors as they are.
pub(super) fn refused(error: supersample::Error) -> Error {
    match error {
        supersample::Error::TooLittleMemory { needed, limit } => anyhow!(
            "the run needs about {}, and --max-memory allows {}; choose by fewer --columns, or allow more",
            in_units(needed),
            in_units(limit)
        ),
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_told_in_units() {
        assert_eq!((in_units(800), in_units(3 << 29)), ("800 bytes".to_string(), "1.50 GiB".to_string()));
        let refusal = refused(supersample::Error::TooLittleMemory { needed: 3 << 29, limit: 1 << 30 });
        assert!(
            refusal
                .to_string()
                .starts_with("the run needs about 1.50 GiB, and --max-memory allows 1.00 GiB;")
        );
    }
}
