//! Tests that need what not every machine has.

/// Says why a test, or a part of it, does not run here. It fails where `SUPERSAMPLE_REQUIRE`, a list with commas, names what
/// it needs: `gpu`, `strace`, `mount` (of a small disk), `user` (one who may not read everything), `files` (that are
/// not part of the repository).
pub(crate) fn skipped(need: &str, why: impl std::fmt::Display) {
    let required = std::env::var("SUPERSAMPLE_REQUIRE").unwrap_or_default();
    assert!(
        !required.split(',').any(|one| one.trim() == need),
        "SUPERSAMPLE_REQUIRE names {need}, but {why}"
    );
    eprintln!("skipped for want of {need}: {why}");
}
