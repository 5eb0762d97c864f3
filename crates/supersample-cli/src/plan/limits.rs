//! Limits of the account that a run has to keep.

/// The part of the address space that a run may fill: threads reserve more than they use.
const PART: u64 = 2;

/// The memory that a run may take where `ulimit -v` is set: without more of it the process would be ended by the system.
pub(super) fn of_account() -> Option<u64> {
    address_space(&std::fs::read_to_string("/proc/self/limits").ok()?).map(|bytes| bytes / PART)
}

/// The soft limit on the address space in the system's table of limits; `None` if there is none.
fn address_space(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_read_from_the_table() {
        let table = "Limit  Soft Limit  Hard Limit  Units\nMax address space         3072000000           unlimited            bytes\n";
        assert_eq!(address_space(table), Some(3_072_000_000));
        assert_eq!(address_space(&table.replace("3072000000", "unlimited")), None);
        assert_eq!(address_space(""), None);
    }
}
