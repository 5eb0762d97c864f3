//! Arrow files compressed by lz4, a few bytes forged.
#![no_main]

mod forge;
mod read;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    read::read(&forge::forged(arrow_ipc::CompressionType::LZ4_FRAME, input), supersample_io::Format::Arrow)
});
