//! Which instruction set the sums run on.

use std::sync::OnceLock;

use fearless_simd::Level;

/// The instruction set in use: the best the machine has, or the one named by SUPERSAMPLE_ISA.
pub(super) fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| {
        let best = Level::new();
        let wanted = std::env::var("SUPERSAMPLE_ISA").unwrap_or_default();
        available_levels().into_iter().find(|level| name(*level) == wanted).unwrap_or(best)
    })
}

/// The name of the instruction set in use, for reports: avx512, avx2, sse4.2, sse2, neon or portable.
pub fn instruction_set() -> &'static str {
    name(level())
}

pub(super) fn name(level: Level) -> &'static str {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    {
        if level.as_avx512().is_some() {
            return "avx512";
        }
        if level.as_avx2().is_some() {
            return "avx2";
        }
        if level.as_sse4_2().is_some() {
            return "sse4.2";
        }
        if level.as_sse2().is_some() {
            return "sse2";
        }
    }
    #[cfg(target_arch = "aarch64")]
    if level.as_neon().is_some() {
        return "neon";
    }
    "portable"
}

/// Every level this machine can run, best first.
pub(super) fn available_levels() -> Vec<Level> {
    let best = Level::new();
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    {
        let levels = [
            best.as_avx512().map(Level::Avx512),
            best.as_avx2().map(Level::Avx2),
            best.as_sse4_2().map(Level::Sse4_2),
            best.as_sse2().map(Level::Sse2),
        ];
        levels.into_iter().flatten().collect()
    }
    #[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
    vec![best]
}
