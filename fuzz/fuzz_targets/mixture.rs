//! Text as a mixture in TOML and in JSON.
#![no_main]

use supersample_io::mixture::{Format, from_text};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = from_text(text, Format::Toml);
    let _ = from_text(text, Format::Json);
});
