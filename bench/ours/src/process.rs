//! What the system says of this process; nothing where it is not Linux.

use std::fs;

/// The largest amount of memory the process has had resident so far.
///
/// Read from the process itself: the figure that a parent gets when its child ends also counts the parent's own memory
/// before the child's program was loaded.
pub(crate) fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Seconds that all threads together have spent on a processor: what a busy machine leaves of the clock's meaning.
pub(crate) fn cpu_seconds() -> Option<f64> {
    let mut nanoseconds = 0;
    for task in fs::read_dir("/proc/self/task").ok()? {
        let schedule = fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        nanoseconds += schedule.split_whitespace().next()?.parse::<u64>().ok()?;
    }
    Some(nanoseconds as f64 * 1e-9)
}
