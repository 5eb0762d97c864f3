//! Memory of a run, estimated before it is taken.

use anyhow::{Result, bail};

use crate::words::significant;

/// Two copies of the numbers (as read, as scaled), a third in single precision, and a few numbers for each row.
pub(super) fn memory_needed(rows: usize, dim: usize) -> u64 {
    let (rows, dim) = (rows as u64, dim as u64);
    rows.saturating_mul(dim).saturating_mul(20) + rows.saturating_mul(48) + (64 << 20)
}

pub(super) fn check_memory(rows: usize, dim: usize, limit: u64) -> Result<()> {
    let needed = memory_needed(rows, dim);
    if needed > limit {
        bail!(
            "the run needs about {}, and --max-memory allows {}; choose by fewer --columns, or allow more",
            in_units(needed),
            in_units(limit)
        );
    }
    Ok(())
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
        assert_eq!(memory_needed(1_000_000, 10), 200_000_000 + 48_000_000 + (64 << 20));
    }
}
