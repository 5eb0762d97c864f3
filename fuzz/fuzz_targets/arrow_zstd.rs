//! Arrow files compressed by zstd, a few bytes forged.
#![no_main]

mod forge;
mod read;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    read::read(&forge::forged(arrow_ipc::CompressionType::ZSTD, input), supersample_io::Format::Arrow)
});
