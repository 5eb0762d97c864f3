//! Memory of a run, estimated before it is taken.

use anyhow::{Error, anyhow};

use crate::words::significant;

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

/// `1.5 GiB`.
pub(super) fn in_units(bytes: u64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let power =
        (0..units.len() - 1).find(|&power| bytes < 1 << (10 * (power + 1))).unwrap_or(units.len() - 1);
    format!("{} {}", significant(bytes as f64 / (1_u64 << (10 * power)) as f64), units[power])
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
