//! Instruction set of the sums: the best of the machine, or the one in SUPERSAMPLE_ISA. A name that the machine does
//! not have is an error, never another set. The vectors are those of `fearless_simd`, so that no `unsafe` is needed.

use std::sync::LazyLock;

use fearless_simd::Level;

/// Runs an operation on the vectors of a level, compiled for each supported level. On x86-64 these are AVX-512, AVX2
/// and SSE2. SSE4.2 was 0 to 12 % faster than SSE2 on machines without AVX2 (A and C of `bench/peers/speed.py`, three
/// runs each), and its loops were a quarter of the build.
#[cfg(target_arch = "x86_64")]
macro_rules! dispatch {
    ($level:expr, $simd:pat => $op:expr) => {{
        macro_rules! on {
            ($token:expr) => {{
                let token = $token;
                let $simd = token;
                fearless_simd::Simd::vectorize(
                    token,
                    #[inline(always)]
                    || $op,
                )
            }};
        }
        match $level {
            fearless_simd::Level::Avx512(token) => on!(token),
            fearless_simd::Level::Avx2(token) => on!(token),
            other => on!(other.as_sse2().expect("every x86-64 has SSE2")),
        }
    }};
}
#[cfg(not(target_arch = "x86_64"))]
use fearless_simd::dispatch;

pub(crate) use dispatch;

/// SUPERSAMPLE_ISA is not an instruction set of this machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "SUPERSAMPLE_ISA is {asked}, and this machine has no such instruction set; it has {}; unset the variable for the best of them",
    .available.join(", ")
)]
#[non_exhaustive]
pub struct NoSuchInstructionSet {
    /// Value of the variable.
    pub asked: String,
    /// Available instruction sets, best first.
    pub available: Vec<&'static str>,
}

static LEVEL: LazyLock<Result<Level, NoSuchInstructionSet>> = LazyLock::new(|| {
    // A name that is not UTF-8 is misspelt too.
    let asked = std::env::var_os("SUPERSAMPLE_ISA").unwrap_or_default();
    choose(&asked.to_string_lossy())
});

/// The level of this name; the best for an empty name.
fn choose(asked: &str) -> Result<Level, NoSuchInstructionSet> {
    if asked.is_empty() {
        return Ok(Level::new());
    }
    available_levels()
        .into_iter()
        .find(|level| name(*level) == asked)
        .ok_or_else(|| NoSuchInstructionSet { asked: asked.to_string(), available: instruction_sets() })
}

/// The level in use.
///
/// # Panics
/// If SUPERSAMPLE_ISA is not an instruction set of this machine: another one would falsify measurements and tests.
pub(crate) fn level() -> Level {
    match &*LEVEL {
        Ok(level) => *level,
        Err(error) => panic!("{error}"),
    }
}

/// Returns the name of the instruction set in use, or an error if SUPERSAMPLE_ISA names one that this machine does not
/// have.
pub fn check_instruction_set() -> Result<&'static str, NoSuchInstructionSet> {
    LEVEL.clone().map(name)
}

/// The name of the instruction set in use, for reports: avx512, avx2, sse2, neon or portable.
///
/// # Panics
/// If [`check_instruction_set`] is an error.
pub fn instruction_set() -> &'static str {
    name(level())
}

fn name(level: Level) -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        if level.as_avx512().is_some() {
            return "avx512";
        }
        if level.as_avx2().is_some() {
            return "avx2";
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

/// The names of the instruction sets of this machine, best first; the first is in use unless SUPERSAMPLE_ISA names another.
pub fn instruction_sets() -> Vec<&'static str> {
    available_levels().into_iter().map(name).collect()
}

fn available_levels() -> Vec<Level> {
    let best = Level::new();
    #[cfg(target_arch = "x86_64")]
    {
        let levels = [
            best.as_avx512().map(Level::Avx512),
            best.as_avx2().map(Level::Avx2),
            best.as_sse2().map(Level::Sse2),
        ];
        levels.into_iter().flatten().collect()
    }
    #[cfg(not(target_arch = "x86_64"))]
    vec![best]
}
